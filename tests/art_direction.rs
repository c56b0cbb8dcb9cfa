//! Paint, answers, jiggle and maps of characters, through scenes and through the program.

use std::f64::consts::PI;
use std::path::Path;

use crate::support::character::{arm, complaint, told, write};
use crate::support::fresh_folder;
use sinew_fem::{Command, Simulation};
use sinew_math::Vec3;
use sinew_run::compile::compile;
use sinew_scene::{Character, Scene};

/// A scene of the arm in a folder.
fn scene(folder: &Path, frame_rate: f64, rig: &str) -> Scene {
    let text = format!(
        "duration = 0.5\nframe_rate = {frame_rate}\nup = \"y\"\ngravity = 0\n\
         [solver]\ntype = \"quasistatic\"\ntolerance = 1e-6\n\
         [[body]]\nname = \"arm\"\nmesh = {{ from = \"arm.glb\", element = \"lattice\", cell = \"2.5 cm\" }}\n\
         material = {{ type = \"corotated\", young = \"20 kPa\", poisson = 0.45 }}\n[body.rig]\npreroll = 0.25\n{rig}\n"
    );
    Scene::from_str(&text, "art.toml", folder).expect("a scene")
}

fn simulation(folder: &Path, rig: &str) -> Simulation {
    compile(&scene(folder, 12.0, rig)).expect("a simulation")
}

/// The skin after some frames.
fn skin(mut simulation: Simulation, frames: usize) -> Vec<Vec3> {
    for _ in 0..frames {
        simulation.step_frame().expect("a frame");
    }
    simulation.surface_positions(0)
}

fn farthest(a: &[Vec3], b: &[Vec3]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max)
}

/// x = B + w (x̄ − B): nothing of the answer is blend skinning, all of it the flesh, half of it halfway. Recorders see it in the
/// frame.
#[test]
fn skin_shows_as_much_of_the_answer_as_painted() {
    let folder = fresh_folder("art_answer");
    write(&arm(), &folder.join("arm.glb"));
    let at = |share: f64| skin(simulation(&folder, &format!("paint = [{{ answer = {share} }}]")), 5);
    let (none, half, all, plain) = (at(0.0), at(0.5), at(1.0), skin(simulation(&folder, ""), 5));
    assert_eq!(all, plain);
    let scene = scene(&folder, 12.0, "");
    let (body, sinew_scene::spec::mesh::Mesh::Fill(mesh)) = (&scene.body[0], &scene.body[0].mesh) else { panic!() };
    let rig = body.rig.as_ref().expect("a rig");
    let character = Character::load(&folder, &mesh.surface, rig, mesh.repair).expect("a character");
    let blended = character.flesh.blend(&character.performance(rig).motions(5.0 / 12.0));
    assert!(farthest(&none, &blended) < 1e-12);
    assert!(farthest(&all, &blended) > 1e-3, "there is an answer");
    let middle: Vec<Vec3> = none.iter().zip(&all).map(|(a, b)| (*a + *b) * 0.5).collect();
    assert!(farthest(&half, &middle) < 1e-12);
    let mut painted = simulation(&folder, "paint = [{ answer = 0 }]");
    painted.step_frame().expect("a frame");
    let frame = painted.frame();
    assert!(!frame.bodies[0].is_surface_carried);
    assert_eq!(frame.bodies[0].surface_positions.to_vec(), painted.surface_positions(0));
}

/// A joint's weights, and the same numbers as a vertex attribute, are the same paint.
#[test]
fn names_and_maps_agree() {
    let folder = fresh_folder("art_maps");
    let mut rig = arm();
    let part = &mut rig.surfaces[0].parts[0];
    let elbow = rig.skins[0].joints.iter().position(|&node| rig.nodes[node].name == "elbow").expect("an elbow");
    let weight = |vertex: usize| {
        part.weights.of(vertex).filter(|(joint, _)| *joint == elbow).map(|(_, weight)| weight as f32).sum::<f32>()
    };
    let weights: Vec<f32> = (0..part.positions.len()).map(weight).collect();
    part.colors = weights.iter().map(|&w| [0.5, w, 0.0, 1.0]).collect();
    part.numbers.insert("_ELBOW".into(), weights);
    write(&rig, &folder.join("arm.glb"));
    let by =
        |mask: &str| skin(simulation(&folder, &format!("paint = [{{ {mask}, stiffness = 0.1, answer = 0.5 }}]")), 5);
    let by_name = by("joint = \"elbow\"");
    assert!(farthest(&by_name, &by("attribute = \"_ELBOW\"")) < 1e-6);
    // Through 8 bits or more.
    assert!(farthest(&by_name, &by("attribute = \"COLOR_0\", channel = \"g\"")) < 1e-4);
    assert!(farthest(&by_name, &skin(simulation(&folder, ""), 5)) > 1e-4, "paint does something");
}

/// Everything that is wrong is told at once, with what was probably meant.
#[test]
fn all_mistakes_of_paint_are_told() {
    let folder = fresh_folder("art_mistakes");
    write(&arm(), &folder.join("arm.glb"));
    std::fs::write(folder.join("broken.png"), "no picture").expect("a file");
    let rig = r#"
paint = [
    { joint = ["elbo", "shoulder"], fat = 0.5 },
    { material = "skn", fat = 0.5 },
    { part = "leg", fat = 0.5 },
    { attribute = "_FAT", fat = 0.5 },
    { texture = "broken.png", fat = 0.5 },
]"#;
    let Err(error) = compile(&scene(&folder, 12.0, rig)) else { panic!("it compiles") };
    let said = error.to_string();
    for cause in [
        "no joint \"elbo\"",
        "did you mean \"elbow\"?",
        "no material \"skn\"",
        "did you mean \"skin\"?",
        "no part \"leg\"",
        "\"_FAT\"",
        "broken.png",
    ] {
        assert!(said.contains(cause), "{cause}: {said}");
    }
    let wrong = [
        "--preset",
        "toon",
        "--paint",
        "joint elbow: fatt 0.5",
        "--paint",
        "bone elbow: fat 0.5",
        "--paint",
        "none.toml",
    ];
    let arguments = [&["skin", "arm.glb", "--animation", "wave"][..], &wrong].concat();
    complaint(&folder, &arguments, &["`fatt` is none of", "`bone` is none of", "none.toml", "no animation `wave`"]);
    complaint(&folder, &["skin", "arm.glb", "--jiggle", "4 Hz, 120 %"], &["at most 95 %"]);
    let wide = ["skin", "arm.glb", "--paint", "all: answer 2", "--paint", "all: fat -1"];
    complaint(&folder, &wide, &["answer", "fat"]);
}

/// All bones jump aside within a frame of 1/480 s. The softest skin follows like an oscillator of the frequency and overshoot that
/// were asked for, and skin at bones at once.
#[test]
fn a_jump_swings_in_hertz_and_percent() {
    let folder = fresh_folder("art_jiggle");
    write(&arm(), &folder.join("arm.glb"));
    // Small against the depth of the flesh, which bounds the swing.
    let (frequency, overshoot, rate, jump) = (4.0, 0.2, 480.0, 0.0002);
    let rig = format!("still = true\njiggle = {{ frequency = {frequency}, overshoot = {overshoot} }}");
    let mut simulation = compile(&scene(&folder, rate, &rig)).expect("a simulation");
    let rest = simulation.surface_positions(0);
    let channels: Vec<String> = simulation.control().table().names().to_vec();
    for channel in channels.into_iter().filter(|name| name.starts_with("arm.pin.") && name.ends_with("translation.x")) {
        simulation.command(&Command::SetChannel { channel, value: jump }).expect("a channel");
    }
    let mut paths: Vec<Vec<f64>> = vec![Vec::new(); rest.len()];
    for _ in 0..(rate / frequency * 1.6) as usize {
        simulation.step_frame().expect("a frame");
        for ((path, x), rest) in paths.iter_mut().zip(simulation.surface_positions(0)).zip(&rest) {
            path.push((x.x - rest.x) / jump);
        }
    }
    // The softest skin stays behind most.
    let softest = paths.iter().min_by(|a, b| a[0].total_cmp(&b[0])).expect("a path");
    assert!(softest[0] < 0.1, "{}", softest[0]);
    let crossings: Vec<f64> = softest
        .windows(2)
        .enumerate()
        .filter(|(_, pair)| (pair[0] - 1.0) * (pair[1] - 1.0) < 0.0)
        .map(|(k, pair)| (k as f64 + (1.0 - pair[0]) / (pair[1] - pair[0])) / rate)
        .collect();
    let measured = 0.5 / (crossings[1] - crossings[0]);
    assert!((measured / frequency - 1.0).abs() < 0.03, "{measured} Hz");
    let most = softest.iter().copied().fold(0.0, f64::max) - 1.0;
    assert!((most / overshoot - 1.0).abs() < 0.05, "{most}");
    let stiffest = paths.iter().max_by(|a, b| a[0].total_cmp(&b[0])).expect("a path");
    assert!(stiffest[0] > 0.9, "{}", stiffest[0]);
    // Of an overshoot of 20 %, a whole period leaves 4 %.
    let period = (rate / frequency) as usize;
    assert!((softest[period] - 1.0).abs() < 2.0 * (-2.0 * PI * 0.456f64 / 0.89).exp());
}

/// A layer that slides passes on pressure, but hardly shear: pulled along, skin goes much farther, pressed not much.
#[test]
fn sliding_takes_shear_and_leaves_pressure() {
    let folder = fresh_folder("art_sliding");
    write(&arm(), &folder.join("arm.glb"));
    let moved = |sliding: f64, gravity: [f64; 3]| {
        let mut simulation = simulation(&folder, &format!("still = true\npaint = [{{ sliding = {sliding} }}]"));
        let rest = simulation.surface_positions(0);
        for (axis, value) in ["x", "y", "z"].into_iter().zip(gravity) {
            let command = Command::SetChannel { channel: format!("gravity.{axis}"), value };
            simulation.command(&command).expect("gravity");
        }
        let after = skin(simulation, 1);
        // Around the middle of the upper arm; the arm lies along x.
        let near = rest.iter().zip(&after).filter(|(x, _)| (x.x - 0.15).abs() < 0.05);
        let (sum, count) = near.fold((Vec3::zero(), 0.0), |(sum, count), (x, y)| (sum + (*y - *x), count + 1.0));
        sum / count
    };
    let along = moved(0.9, [1.0, 0.0, 0.0]).x / moved(0.0, [1.0, 0.0, 0.0]).x;
    let across = moved(0.9, [0.0, 1.0, 0.0]).y / moved(0.0, [0.0, 1.0, 0.0]).y;
    assert!(along > 2.0 && along > 1.2 * across, "along {along}, across {across}");
}

/// Files of a run that was cut off after two frames and resumed are those of one in one go, jiggle and answers included, and the
/// recording has the skin as it was shown.
#[test]
fn resumed_runs_have_the_same_bits() {
    let folder = fresh_folder("art_resume");
    write(&arm(), &folder.join("arm.glb"));
    let options = ["--cell", "2.5 cm", "--contact", "none", "--frame-rate", "12", "--preset", "stocky"];
    let paint = ["--paint", "joint elbow: answer 0.3", "--skin-maps", "peak"];
    told(&folder, &[&["skin", "arm.glb", "-o", "arm.usda", "--scene", "cut.toml"][..], &options, &paint].concat());
    told(&folder, &["run", "cut.toml", "-o", "whole", "--no-pictures"]);
    told(&folder, &["run", "cut.toml", "-o", "cut", "--frames", "4", "--no-pictures"]);
    told(&folder, &["run", "cut.toml", "-o", "cut", "--resume", "--no-pictures"]);
    let read = |path: &str| std::fs::read(folder.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    for file in ["arm.usda", "arm_maps/arm.png"] {
        assert!(read(&format!("whole/{file}")) == read(&format!("cut/{file}")), "{file}");
    }
    // Keys stand elsewhere in a recording that was continued; its frames are the same.
    let shown = |folder_of: &str| {
        let recording =
            sinew_store::Recording::open(&folder.join(folder_of).join("recording.sinew")).expect("a recording");
        let last = recording.frame(7).expect("a frame");
        let frame = last.view(recording.header());
        assert!(!frame.bodies[0].is_surface_carried);
        frame.bodies[0].surface_positions.to_vec()
    };
    assert_eq!(shown("whole"), shown("cut"));
}

/// A character whose joint doubles its size without bending: both stretches are 2 everywhere, the ratio of areas 4, and the maps
/// say so in USD, GLB and images.
#[test]
fn maps_of_a_stretched_character_are_exact() {
    let folder = fresh_folder("art_maps_exact");
    let mut rig = arm();
    // Everything hangs on the first joint, which grows along all axes.
    let part = &mut rig.surfaces[0].parts[0];
    let count = part.positions.len();
    part.weights = sinew_rig::Weights { width: 1, joints: vec![0; count], weights: vec![1.0; count] };
    let node = rig.skins[0].joints[0];
    rig.animations = vec![sinew_rig::Animation {
        name: "grow".into(),
        channels: vec![sinew_rig::Channel {
            node,
            times: vec![0.0, 0.5],
            interpolation: sinew_rig::Interpolation::Linear,
            keys: sinew_rig::Keys::Scale(vec![Vec3::splat(2.0), Vec3::splat(2.0)]),
        }],
    }];
    write(&rig, &folder.join("arm.glb"));
    let options =
        ["--cell", "3 cm", "--contact", "none", "--frame-rate", "4", "--no-pictures", "--skin-maps", "frames"];
    let paint = ["--paint", "all: answer 0"];
    told(&folder, &[&["skin", "arm.glb", "-o", "out.usda", "-o", "out.glb"][..], &options, &paint].concat());
    let text = std::fs::read_to_string(folder.join("out.usda")).expect("text");
    let strain =
        text.split("primvars:strain.timeSamples = {").nth(1).expect("strain").lines().nth(1).expect("a sample");
    let values: Vec<f64> = strain
        .split_once(": ")
        .expect("a sample")
        .1
        .split(|c: char| !"0123456789.e-".contains(c))
        .filter_map(|word| word.parse().ok())
        .collect();
    assert_eq!(values.len(), 3 * count);
    for triple in values.chunks(3) {
        assert!(
            (triple[0] - 2.0).abs() < 1e-4 && (triple[1] - 2.0).abs() < 1e-4 && (triple[2] - 4.0).abs() < 4e-4,
            "{triple:?}"
        );
    }
    // Stretch 1 / 0.5 is cut to one; nothing wrinkles.
    let written = sinew_io::load_rig(&folder.join("out.glb")).expect("a character");
    let numbers = &written.surfaces[0].parts[0].numbers;
    assert!(numbers["_STRETCH"].iter().all(|&x| x == 1.0) && numbers["_WRINKLE"].iter().all(|&x| x == 0.0));
    let images: Vec<_> = std::fs::read_dir(folder.join("out_maps")).expect("maps").flatten().collect();
    assert!(images.len() >= 2, "one per frame");
    let bytes = std::fs::read(images[0].path()).expect("an image");
    let (width, height, rgba) = sinew_record::costume::pixels(&bytes).expect("a picture");
    assert_eq!((width, height), (1024, 1024));
    let used: Vec<&[u8]> = rgba.chunks(4).filter(|pixel| pixel[3] > 0).collect();
    assert!(used.len() > 1000 && used.iter().all(|pixel| pixel[..3] == [0, 255, 0]));
}
