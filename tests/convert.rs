//! From a recording to every format, with the same numbers in all of them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use crate::support::{fresh_folder, root};
use sinew::scene::store::Recording;

fn sinew(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sinew"));
    command.current_dir(root()).stdin(Stdio::null()).args(arguments).output().expect("the program starts")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("paths of tests are plain")
}

/// The folder of one run of six frames that all tests read.
fn run_folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        // Test runners may run each test in a separate process.
        let folder = fresh_folder(&format!("convert_run_{}", std::process::id()));
        let scene = "scenes/basics/hanging_block.toml";
        let options = ["--frames", "5", "--set", "record.stress=true", "--set", "record.apng=false"];
        let output = sinew(&[&["run", "-q", scene, "-o", text(&folder)][..], &options].concat());
        // Five frames are too few for the expectations of the scene: status 1 is fine, 2 is not.
        assert_ne!(output.status.code(), Some(2), "{}", stderr(&output));
        folder
    })
}

/// Converts the run to files in a fresh folder.
fn convert(folder: &str, files: &[&str], options: &[&str]) -> (PathBuf, Output) {
    let folder = fresh_folder(folder);
    let paths: Vec<String> = files.iter().map(|file| text(&folder.join(file)).to_string()).collect();
    let mut arguments = vec!["convert", text(run_folder())];
    paths.iter().for_each(|path| arguments.extend(["-o", path]));
    arguments.extend(options);
    let output = sinew(&arguments);
    (folder, output)
}

fn converted(folder: &str, files: &[&str], options: &[&str]) -> PathBuf {
    let (folder, output) = convert(folder, files, options);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    folder
}

/// Positions of the visible surface at each frame, from the recording.
fn surfaces() -> Vec<Vec<[f32; 3]>> {
    let recording = Recording::open(&run_folder().join("recording.sinew")).expect("a recording");
    let body = &recording.header().bodies[0];
    let frame = |number| {
        let stored = recording.frame(number).expect("a frame");
        let view = stored.view(recording.header());
        assert_eq!(view.bodies[0].name, body.name);
        view.bodies[0].surface_positions.iter().map(|p| p.to_array().map(|x| x as f32)).collect()
    };
    (0..recording.frame_count()).map(frame).collect()
}

fn pc2(path: &Path) -> Vec<Vec<[f32; 3]>> {
    let bytes = std::fs::read(path).expect("a cache");
    let points = u32::from_le_bytes(bytes[16..20].try_into().expect("four bytes")) as usize;
    let floats: Vec<f32> = bytes[32..].as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
    floats.as_chunks().0.chunks(points).map(<[_]>::to_vec).collect()
}

fn mdd(path: &Path) -> Vec<Vec<[f32; 3]>> {
    let bytes = std::fs::read(path).expect("a cache");
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize;
    let (frames, points) = (number(0), number(4));
    let floats: Vec<f32> = bytes[8 + 4 * frames..].as_chunks().0.iter().map(|b| f32::from_be_bytes(*b)).collect();
    floats.as_chunks().0.chunks(points).map(<[_]>::to_vec).collect()
}

fn obj(path: &Path) -> Vec<[f32; 3]> {
    let text = std::fs::read_to_string(path).expect("an OBJ file");
    let vertices = text.lines().filter_map(|line| line.strip_prefix("v "));
    vertices.map(|line| numbers(line, ' ').as_chunks().0[0]).collect()
}

fn ply(path: &Path) -> Vec<[f32; 3]> {
    let bytes = std::fs::read(path).expect("a PLY file");
    let end = bytes.windows(11).position(|window| window == b"end_header\n").expect("a header") + 11;
    let header = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let count: usize =
        header.split("element vertex ").nth(1).and_then(|t| t.lines().next()?.parse().ok()).expect("a count");
    let floats: Vec<f32> = bytes[end..end + 12 * count].as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
    floats.as_chunks().0.to_vec()
}

/// Samples of an attribute, by time code.
fn usd(path: &Path, attribute: &str) -> Vec<(f64, Vec<[f32; 3]>)> {
    let text = std::fs::read_to_string(path).expect("a USD file");
    let Some(samples) = text.split(&format!("{attribute}.timeSamples = {{\n")).nth(1) else { return Vec::new() };
    let lines = samples.lines().take_while(|line| line.trim() != "}");
    lines
        .map(|line| {
            let (code, values) = line.trim().split_once(": ").expect("a sample");
            let plain: String = values.chars().filter(|c| !"[]()".contains(*c)).collect();
            (code.parse().expect("a time code"), numbers(plain.trim_end_matches(','), ',').as_chunks().0.to_vec())
        })
        .collect()
}

fn numbers(text: &str, separator: char) -> Vec<f32> {
    text.split(separator).map(|number| number.trim().parse().expect("a number")).collect()
}

#[test]
fn every_format_holds_the_same_surface() {
    let files = ["a.usda", "a.glb", "a.obj", "a.ply", "a.pc2", "a.mdd", "a.csv", "a.npz", "a.pvd", "a.png", "a.apng"];
    let folder = converted("convert_all", &files, &["--size", "64x48"]);
    let expected = surfaces();
    assert_eq!(expected.len(), 6);
    assert_eq!(pc2(&folder.join("a.pc2")), expected);
    assert_eq!(mdd(&folder.join("a.mdd")), expected);
    let points = usd(&folder.join("a.usda"), "points");
    assert_eq!(points.iter().map(|sample| sample.0).collect::<Vec<_>>(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    for (frame, surface) in expected.iter().enumerate() {
        assert_eq!(&points[frame].1, surface);
        assert_eq!(&obj(&folder.join(format!("a_{frame:05}.obj"))), surface);
        assert_eq!(&ply(&folder.join(format!("a_{frame:05}.ply"))), surface);
        assert!(folder.join(format!("a_{frame:05}.png")).is_file());
        assert!(folder.join(format!("a/block_{frame:05}.vtu")).is_file());
    }
    // Motion blur: x(t + dt) ≈ x(t) + v(t + dt) dt for backward Euler.
    let velocities = usd(&folder.join("a.usda"), "velocities");
    let far = |a: [f32; 3], b: [f32; 3]| (0..3).map(|k| (a[k] - b[k]).abs()).fold(0.0, f32::max);
    for (vertex, velocity) in velocities[3].1.iter().enumerate() {
        let moved: [f32; 3] = std::array::from_fn(|k| points[2].1[vertex][k] + velocity[k] / 60.0);
        assert!(far(moved, points[3].1[vertex]) < 1e-5);
    }
    assert_eq!(&std::fs::read(folder.join("a.glb")).expect("a GLB file")[..4], b"glTF");
    assert_eq!(&std::fs::read(folder.join("a.apng")).expect("a picture")[1..4], b"PNG");
    let pvd = std::fs::read_to_string(folder.join("a.pvd")).expect("an index");
    assert_eq!(pvd.matches("<DataSet").count(), 6);
    // The files of the run equal the converted ones.
    for name in ["probes.csv", "surface.usda"] {
        let extension = name.rsplit('.').next().expect("an extension");
        let during = std::fs::read(run_folder().join(name)).expect("a file of the run");
        assert!(during == std::fs::read(folder.join(format!("a.{extension}"))).expect("a converted file"), "{name}");
    }
    let left: Vec<_> = std::fs::read_dir(&folder).expect("a folder").flatten().map(|entry| entry.file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().ends_with(".tmp")), "{left:?}");
}

/// A crate holds the points of every frame as they are, in at most a third of the text; a package holds the crate.
#[test]
fn binary_usd_takes_a_third_of_the_text() {
    let folder = converted("convert_crate", &["a.usda", "a.usdc", "a.usdz"], &[]);
    let [text, binary, package] =
        ["a.usda", "a.usdc", "a.usdz"].map(|name| std::fs::read(folder.join(name)).expect("a USD file"));
    assert!(3 * binary.len() <= text.len(), "{} bytes of {}", binary.len(), text.len());
    assert_eq!(&binary[..10], b"PXR-USDC\0\x08");
    for surface in surfaces() {
        let raw: Vec<u8> = surface.as_flattened().iter().flat_map(|x| x.to_le_bytes()).collect();
        let place = binary.windows(raw.len()).position(|window| window == raw);
        assert_eq!(place.expect("the points of a frame") % 8, 0);
    }
    let place = package.windows(binary.len()).position(|window| window == binary).expect("the crate");
    assert_eq!((place % 64, &package[..4]), (0, &b"PK\x03\x04"[..]));
    // The same bits again, and no clips.
    let again = converted("convert_crate_again", &["a.usdc"], &["--frames", "0..5"]);
    assert!(std::fs::read(again.join("a.usdc")).expect("a USD file") == binary);
    let (_, refused) = convert("convert_crate_clips", &["a.usdc"], &["--clips", "2"]);
    assert!(
        stderr(&refused).contains("a.usdc is not split into clips\nhint: leave out --clips"),
        "{}",
        stderr(&refused)
    );
}

#[test]
fn cells_are_read_back_with_their_fields() {
    let folder = converted("convert_cells", &["a.vtu"], &["--fields", "von_mises,J"]);
    let mesh = sinew_io::load(&folder.join("a/block_00005.vtu")).expect("our own VTU");
    let names: Vec<&str> = mesh.cell_fields.iter().map(|field| field.name.as_str()).collect();
    assert_eq!(names, ["J", "von_mises"]);
    assert_eq!(mesh.cell_count(), 3000);
    let names: Vec<&str> = mesh.point_fields.iter().map(|field| field.name.as_str()).collect();
    assert_eq!(names, ["displacement", "velocity"]);
}

#[test]
fn clips_hold_what_the_single_file_holds() {
    let folder = converted("convert_clips", &["a.usda"], &["--clips", "2"]);
    let mut codes = Vec::new();
    let expected = surfaces();
    for clip in 0..3 {
        for (code, points) in usd(&folder.join(format!("a_clips/clip_{clip:05}.usda")), "points") {
            assert_eq!(points, expected[code as usize]);
            codes.push(code);
        }
    }
    assert_eq!(codes, [0.0, 1.0, 2.0, 2.0, 3.0, 4.0, 4.0, 5.0]);
    let main = std::fs::read_to_string(folder.join("a.usda")).expect("a stage");
    assert!(main.contains("manifestAssetPath = @./a_clips/manifest.usda@") && !main.contains("timeSamples"));
}

#[test]
fn frames_can_be_chosen() {
    let folder = converted("convert_frames", &["a.pc2", "a.csv"], &["--frames", "1..5", "--every", "2"]);
    let expected = surfaces();
    assert_eq!(pc2(&folder.join("a.pc2")), [1, 3, 5].map(|frame: usize| expected[frame].clone()));
    let csv = std::fs::read_to_string(folder.join("a.csv")).expect("a table");
    assert_eq!(csv.lines().count(), 4);
}

#[test]
fn values_can_be_chosen() {
    let chosen = ["--probe", "energy.", "--probe", "inverted"];
    let folder = converted("convert_probes", &["a.csv", "plots/a.svg", "a.pc2"], &chosen);
    let csv = std::fs::read_to_string(folder.join("a.csv")).expect("a table");
    let columns: Vec<&str> = csv.lines().next().expect("a head").split(',').collect();
    assert!(
        columns.len() > 3 && columns.contains(&"energy.total") && columns.contains(&"inverted_cells"),
        "{columns:?}"
    );
    assert!(columns[1..].iter().all(|name| name.contains("energy.") || name.contains("inverted")), "{columns:?}");
    let whole = converted("convert_all_probes", &["a.csv"], &[]);
    let whole = std::fs::read_to_string(whole.join("a.csv")).expect("a table");
    let column = |table: &str, name: &str| -> Vec<String> {
        let at =
            table.lines().next().and_then(|head| head.split(',').position(|other| other == name)).expect("a column");
        table.lines().map(|line| line.split(',').nth(at).expect("a cell").to_string()).collect()
    };
    assert_eq!(column(&csv, "energy.gravity"), column(&whole, "energy.gravity"));
    let plots = std::fs::read_dir(folder.join("plots")).expect("a folder").flatten();
    let names: Vec<String> = plots.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    assert!(names.contains(&"a_energy.svg".to_string()), "{names:?}");
    assert!(names.iter().all(|name| name.contains("energy") || name.contains("inverted")), "{names:?}");
    assert_eq!(pc2(&folder.join("a.pc2")), surfaces());
}

#[test]
fn sizes_are_told_before_and_after() {
    let files = ["a.npz", "a.pc2", "a.ply", "a.usda", "a.obj", "a.csv", "a.pvd", "a.glb"];
    let (folder, output) = convert("convert_sizes", &files, &["--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(result["frames"], 6);
    let recording = Recording::open(&run_folder().join("recording.sinew")).expect("a recording");
    let paths: Vec<PathBuf> = files.iter().map(|file| folder.join(file)).collect();
    let plan = sinew::scene::convert::plan(&recording, &paths, &Default::default()).expect("a plan");
    for (planned, written) in plan.outputs.iter().zip(result["outputs"].as_array().expect("outputs")) {
        let bytes = written["bytes"].as_u64().expect("a number") as f64;
        let ratio = planned.estimate.bytes as f64 / bytes;
        let name = planned.path.display();
        if planned.estimate.is_exact {
            assert_eq!(ratio, 1.0, "{name}");
        } else if name.to_string().ends_with("glb") {
            assert!((0.9..).contains(&ratio), "{name}: {ratio}");
        } else {
            // Text has as many digits as the numbers need.
            assert!((0.85..1.3).contains(&ratio), "{name}: {ratio}");
        }
        for file in written["files"].as_array().expect("files") {
            assert!(Path::new(file.as_str().expect("a path")).is_file(), "{file}");
        }
    }
    assert!(stderr(&output).contains("6 frames become"), "{}", stderr(&output));
    let notes = result["notes"].to_string();
    assert!(notes.contains("morph targets show"), "the error of the fit is told: {notes}");
}

#[test]
fn a_recording_that_was_cut_off_is_converted_up_to_its_last_frame() {
    let folder = fresh_folder("convert_cut");
    let bytes = std::fs::read(run_folder().join("recording.sinew")).expect("a recording");
    let cut = folder.join("cut.sinew");
    std::fs::write(&cut, &bytes[..bytes.len() - 10]).expect("a copy");
    let out = folder.join("a.pc2");
    let output = sinew(&["convert", text(&cut), "-o", text(&out)]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("the recording was cut off: its last "), "{}", stderr(&output));
    assert_eq!(pc2(&out), surfaces()[..5]);
}

#[test]
fn mistakes_are_explained() {
    let cases: [(&str, &[&str], &[&str]); 9] = [
        ("a.xyz", &[], &["unknown format of", ".usda", "for ParaView"]),
        ("a.abc", &[], &["hint: for Alembic write .usdc"]),
        ("a.usda", &["--frames", "100..200"], &["no frame is selected: the recording has frames 0 to 5"]),
        ("a.usda", &["--frames", "5..2"], &["A..B"]),
        ("a.png", &["--color", "colour"], &["there is no field `colour`", "von_mises"]),
        ("a.pvd", &["--fields", "vonmises"], &["there is no cell field `vonmises`"]),
        ("a.glb", &["--morph-targets", "99"], &["from 1 to 32"]),
        ("a.csv", &["--probe", "energy.totl"], &["no probe `energy.totl`", "did you mean `energy.total`?"]),
        ("a.obj", &["--probe", "energy"], &["--probe chooses what .csv and .svg files show, and none is written"]),
    ];
    for (file, options, expected) in cases {
        let (folder, output) = convert("convert_mistakes", &[file], options);
        assert_eq!(output.status.code(), Some(2), "{file} {options:?}: {}", stderr(&output));
        for needle in expected {
            assert!(stderr(&output).contains(needle), "{needle} is missing: {}", stderr(&output));
        }
        assert_eq!(std::fs::read_dir(&folder).expect("a folder").count(), 0, "nothing is left of {file}");
    }
    let folder = fresh_folder("convert_missing");
    let output = sinew(&["convert", text(&folder), "-o", "x.usda"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("there is no recording in"), "{}", stderr(&output));
    let output = sinew(&["convert", "Cargo.toml", "-o", "x.usda"]);
    assert!(stderr(&output).contains("this is not a recording of Sinew"), "{}", stderr(&output));
    let (_, output) = convert("convert_twice", &["a.pvd", "a.vtu"], &[]);
    assert!(stderr(&output).contains("given twice"), "{}", stderr(&output));
}

#[test]
fn gigabytes_are_written_only_when_asked_for_twice() {
    let files = ["a.png", "b.png", "c.png"];
    let (folder, output) = convert("convert_large", &files, &["--size", "8192x8192"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("the files take about 1.1 GiB\nhint: --yes"), "{}", stderr(&output));
    assert_eq!(std::fs::read_dir(&folder).expect("a folder").count(), 0);
}

/// A file that cannot be written ends the conversion; incomplete outputs are removed.
#[test]
fn an_output_is_whole_or_absent() {
    let folder = fresh_folder("convert_whole");
    std::fs::create_dir_all(folder.join("a.usda")).expect("a folder in the way");
    let paths = [folder.join("a.usda"), folder.join("a.obj")];
    let output = sinew(&["convert", text(run_folder()), "-o", text(&paths[0]), "-o", text(&paths[1])]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let left: Vec<_> = std::fs::read_dir(&folder).expect("a folder").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["a.usda"], "only what was in the way");
}
