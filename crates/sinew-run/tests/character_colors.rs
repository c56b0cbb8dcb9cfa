//! Pictures show characters in the colors of their files.

use std::f64::consts::TAU;
use std::io::Cursor;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use sinew_math::{Mat3, Vec3};
use sinew_record::convert::{ConvertOptions, convert, open_recording};
use sinew_rig::{Affine, Appearance, Image, Material, Node, Part, Rig, Skin, Surface, Transform, Weights};
use sinew_run::run::{RunOptions, RunOutcome, run};
use sinew_scene::{Override, Scene};

const AROUND: usize = 32;
const UP: usize = 12;
const HEIGHT: f64 = 0.4;
const RADIUS: f64 = 0.06;

/// A picture of four fields: red and green above, blue and white below.
fn checker() -> Vec<u8> {
    let color = |i: usize| match (i % 64 < 32, i / 64 < 32) {
        (true, true) => [220, 20, 20],
        (false, true) => [20, 200, 20],
        (true, false) => [20, 20, 220],
        (false, false) => [230, 230, 230],
    };
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, 64, 64);
    encoder.set_color(png::ColorType::Rgb);
    let pixels: Vec<u8> = (0..64 * 64).flat_map(color).collect();
    encoder.write_header().unwrap().write_image_data(&pixels).unwrap();
    bytes
}

/// A round column along y. u goes around from +z over −x, at 0.25, to +x, at 0.75, and back to the seam at +z; v is 0 at
/// the top.
fn column() -> Part {
    let mut part = Part::default();
    let mut uvs = Vec::new();
    // The first column of vertices again at the end: a seam.
    for level in 0..=UP {
        for k in 0..=AROUND {
            let (u, v) = (k as f64 / AROUND as f64, 1.0 - level as f64 / UP as f64);
            let angle = TAU * (k % AROUND) as f64 / AROUND as f64;
            let y = HEIGHT * level as f64 / UP as f64;
            part.positions.push(Vec3::new(-RADIUS * angle.sin(), y, RADIUS * angle.cos()));
            uvs.push([u as f32, v as f32]);
        }
    }
    let row = AROUND as u32 + 1;
    for level in 0..UP as u32 {
        for k in 0..AROUND as u32 {
            let [a, b] = [level * row + k, level * row + k + 1];
            part.triangles.extend([[a, a + row, b], [b, a + row, b + row]]);
        }
    }
    for (y, v, first) in [(0.0, 1.0, 0), (HEIGHT, 0.0, UP as u32 * row)] {
        let middle = part.positions.len() as u32;
        part.positions.push(Vec3::new(0.0, y, 0.0));
        uvs.push([0.5, v]);
        for k in first..first + AROUND as u32 {
            part.triangles.push(if y == 0.0 { [middle, k, k + 1] } else { [middle, k + 1, k] });
        }
    }
    let upper = |x: &Vec3| u32::from(x.y > 0.5 * HEIGHT);
    part.weights = Weights {
        width: 1,
        joints: part.positions.iter().map(upper).collect(),
        weights: vec![1.0; part.positions.len()],
    };
    part.texcoords = vec![uvs];
    part.material = Some(0);
    part
}

/// An eye in front of the upper end, and over it a pane that is transparent.
fn eye(out: f64, size: f64, material: usize) -> Part {
    let corner = |x: f64, y: f64| Vec3::new(size * x, 0.8 * HEIGHT + size * y, RADIUS + out);
    let positions = vec![corner(-1.0, -1.0), corner(1.0, -1.0), corner(1.0, 1.0), corner(-1.0, 1.0)];
    Part {
        positions,
        triangles: vec![[0, 1, 2], [0, 2, 3]],
        weights: Weights { width: 1, joints: vec![1; 4], weights: vec![1.0; 4] },
        material: Some(material),
        ..Part::default()
    }
}

fn character(image: Vec<u8>) -> Rig {
    let node = |name: &str, parent, y| Node {
        name: name.into(),
        parent,
        transform: Transform::from_translation(Vec3::new(0.0, y, 0.0)),
        surface: None,
        skin: None,
        morph_weights: None,
        is_shown: true,
    };
    let worn = |name: &str, surface| Node { surface: Some(surface), skin: Some(0), ..node(name, None, 0.0) };
    let bind = |y: f64| Affine { linear: Mat3::identity(), translation: Vec3::new(0.0, -y, 0.0) };
    let plain =
        |name: &str, base_color| Material { name: name.into(), base_color, metallic: 0.0, ..Material::default() };
    let skin = Material { base_color_image: Some(0), ..plain("checker", [1.0; 4]) };
    let surface = |name: &str, parts| Surface { name: name.into(), parts, morph_weights: Vec::new() };
    Rig {
        nodes: vec![
            node("lower", None, 0.02),
            node("upper", Some(0), 0.18),
            node("tip", Some(1), 0.18),
            worn("column", 0),
            worn("eyes", 1),
        ],
        surfaces: vec![
            surface("column", vec![column()]),
            surface("eyes", vec![eye(0.004, 0.016, 1), eye(0.01, 0.03, 2)]),
        ],
        skins: vec![Skin {
            name: String::new(),
            joints: vec![0, 1, 2],
            inverse_binds: [0.02, 0.2, 0.38].map(bind).to_vec(),
        }],
        appearance: Appearance {
            materials: vec![skin, plain("iris", [0.9, 0.8, 0.0, 1.0]), plain("cornea", [1.0; 4])],
            images: vec![Image { name: "checker".into(), mime: "image/png".into(), bytes: image }],
            ..Appearance::default()
        },
        ..Rig::default()
    }
}

/// The file of a character; its cornea is transparent.
fn written(folder: &Path, image: Vec<u8>) {
    let rig = character(image);
    let bytes = sinew_io::gltf::write_rig(&rig, false).unwrap();
    let mut json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    let cornea = &mut json["materials"][2];
    cornea["alphaMode"] = "BLEND".into();
    cornea["pbrMetallicRoughness"]["baseColorFactor"] = serde_json::json!([1.0, 1.0, 1.0, 0.1]);
    std::fs::write(folder.join("column.gltf"), json.to_string()).unwrap();
}

const SCENE: &str = r#"
duration = "0.1 s"
frame_rate = 10
up = "y"
solver = { type = "quasistatic" }
[[body]]
name = "column"
mesh = { from = "fill", surface = "column.gltf", element = "lattice", cell = "2 cm" }
material = { type = "corotated", young = "20 kPa", poisson = 0.45 }
rig = { still = true, preroll = 0 }
[record]
png = true
report = false
size = [120, 160]
captions = false
scale_bar = false
camera = { view = "front" }
"#;

fn fresh_folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn computed(folder: &Path, name: &str, overrides: &[&str]) -> RunOutcome {
    let overrides: Vec<Override> = overrides.iter().copied().map(Override::from).collect();
    let scene = Scene::from_text(SCENE, "column.toml", folder, &overrides).unwrap_or_else(|error| panic!("{error}"));
    let options = RunOptions { output: Some(folder.join(name)), overrides, ..RunOptions::default() };
    run(&scene, &options, &mut ()).unwrap_or_else(|error| panic!("{error}"))
}

struct Picture {
    width: usize,
    height: usize,
    bytes: Vec<u8>,
}

impl Picture {
    fn read(path: PathBuf) -> Picture {
        let file = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut reader = png::Decoder::new(Cursor::new(file)).read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut bytes).unwrap();
        assert_eq!(info.color_type, png::ColorType::Rgb);
        Picture { width: info.width as usize, height: info.height as usize, bytes }
    }

    /// The letter of the color at a place, as fractions of width and height.
    fn hue(&self, x: f64, y: f64) -> char {
        let at = |share: f64, size: usize| (share * size as f64) as usize;
        let pixel = 3 * (at(y, self.height) * self.width + at(x, self.width));
        let [r, g, b] = [0, 1, 2].map(|c| i32::from(self.bytes[pixel + c]));
        let (least, most) = (r.min(g).min(b), r.max(g).max(b));
        match () {
            () if most - least < 30 => 'w',
            () if r - b > 80 && g - b > 80 => 'y',
            // Flesh is red with more green than the red of the image.
            () if r == most && 3 * g > r => 'f',
            () if r == most => 'r',
            () if g == most => 'g',
            () => 'b',
        }
    }

    /// The letters of the upper and lower left, upper and lower right, and of the eye.
    fn hues(&self) -> String {
        [(0.43, 0.4), (0.43, 0.75), (0.57, 0.4), (0.57, 0.75), (0.5, 0.25)]
            .map(|(x, y)| self.hue(x, y))
            .iter()
            .collect()
    }
}

/// From the front the seam is in the middle. The column turns from −x over the back to +x: the left half of the image is
/// on the left, upright.
#[test]
fn skins_have_their_textures_upright_and_eyes_are_there() {
    let folder = fresh_folder("character-colors");
    written(&folder, checker());
    computed(&folder, "dressed", &[]);
    let front = Picture::read(folder.join("dressed/frames/frame_00000.png"));
    assert_eq!(front.hues(), "rbgwy");

    // The same without textures, and with a field, which wins.
    computed(&folder, "plain", &["record.textures=false"]);
    assert_eq!(Picture::read(folder.join("plain/frames/frame_00000.png")).hues(), "fffff");
    computed(&folder, "field", &["record.color=\"speed\""]);
    computed(&folder, "plain_field", &["record.color=\"speed\"", "record.textures=false"]);
    let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
    assert!(read("field/frames/frame_00000.png") == read("plain_field/frames/frame_00000.png"));
    // Frames are the same, whatever pictures show.
    let frames = |name: &str| {
        let recording = open_recording(&folder.join(name)).unwrap();
        let frames =
            recording.frames().map(|frame| frame.unwrap().view(recording.header()).bodies[0].positions.to_vec());
        frames.collect::<Vec<_>>()
    };
    assert!(frames("dressed") == frames("plain"));

    // Later, from the recording: from behind, left and right are exchanged, and there is no eye.
    let converted_from = |run: &str, name: &str, sets: &[&str]| {
        let overrides = sets.iter().map(|set| set.to_string()).collect();
        let recording = open_recording(&folder.join(run)).unwrap();
        let options = ConvertOptions { overrides, ..ConvertOptions::default() };
        let report =
            convert(&recording, &[folder.join(name)], &options, &mut |_, _| ControlFlow::Continue(())).unwrap();
        (Picture::read(folder.join(name.replace(".png", "_00000.png"))).hues(), report.notes.join("\n"))
    };
    let converted = |name: &str, sets: &[&str]| converted_from("dressed", name, sets);
    // A program that calls the library leaves no directory in the manifest; the folder of the run is searched too.
    std::fs::copy(folder.join("column.gltf"), folder.join("dressed/column.gltf")).unwrap();
    assert_eq!(converted("same.png", &[]), ("rbgwy".into(), String::new()));
    assert!(read("same_00000.png") == read("dressed/frames/frame_00000.png"));
    let (behind, _) = converted("behind.png", &["record.camera.view=\"back\""]);
    assert_eq!(&behind[..4], "gwrb");
    assert_eq!(converted("plain.png", &["record.textures=false"]), ("fffff".into(), String::new()));
    // A run without textures can have some later.
    std::fs::rename(folder.join("dressed/column.gltf"), folder.join("plain/column.gltf")).unwrap();
    assert_eq!(converted_from("plain", "later.png", &["record.textures=true"]).0, "rbgwy");
    let (hues, notes) = converted("gone.png", &[]);
    assert_eq!(hues, "fffff");
    assert!(notes.contains("column has the color of flesh in pictures: column.gltf, or another file"), "{notes}");
}

/// A damaged image leaves the base color, white here, and a note.
#[test]
fn damaged_images_leave_the_base_color() {
    let folder = fresh_folder("character-damaged");
    let mut image = checker();
    image.truncate(image.len() / 2);
    written(&folder, image);
    let outcome = computed(&folder, "run", &[]);
    let notes = outcome.notes.join("\n");
    assert!(notes.contains("image checker is not drawn, since"), "{notes}");
    assert_eq!(Picture::read(folder.join("run/frames/frame_00000.png")).hues(), "wwwwy");
}
