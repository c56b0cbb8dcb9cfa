//! Excessive, distant or missing input gives a clear message in time: no abort, no hang, no NaN.
//!
//! All these cases were found by abusing the program for an hour: it ran out of memory, computed for minutes without
//! output, printed `inf` and `NaN`, or ignored a mistake.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::support::character::{arm, complaint, sinew, text, told, write};
use crate::support::{fresh_folder, root};

/// A run of a tenth of a second.
const BLOCK: &str = r#"
duration = 0.1
[[body]]
name = "b"
mesh = { from = "box", size = [0.1, 0.1, 0.1], cells = [2, 2, 2] }
material = { type = "stable_neo_hookean", young = 3e4, poisson = 0.3 }
pin = [{ region = "x-min" }]
[record]
report = false
"#;

/// Longer than any of these commands takes on a slow and busy machine; most of them used to take minutes, or forever.
const SOON: Duration = Duration::from_secs(120);

fn put(folder: &Path, name: &str, content: impl AsRef<[u8]>) {
    std::fs::write(folder.join(name), content).expect("the file is written");
}

/// The output of a command; it must end with this status, soon, and without a number that is NaN or infinite.
fn answer(folder: &Path, arguments: &[&str], status: i32) -> String {
    let start = Instant::now();
    let output = sinew(folder, arguments);
    let said = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {said}");
    assert!(start.elapsed() < SOON, "{arguments:?} took {:?}", start.elapsed());
    let mut words = said.split(|c: char| !c.is_alphanumeric());
    assert!(!words.any(|word| ["NaN", "inf", "panicked"].contains(&word)), "{arguments:?}: {said}");
    said
}

/// A command with a limit on its address space \[kB\].
fn limited(folder: &Path, kilobytes: u64, arguments: &[&str]) -> Output {
    let mut shell = Command::new("sh");
    shell.current_dir(folder).stdin(Stdio::null());
    shell.args(["-c", &format!("ulimit -v {kilobytes}; exec \"$@\""), "sh", env!("CARGO_BIN_EXE_sinew")]);
    // Each thread of the pool reserves addresses too.
    shell.args(["--threads", "2"]).args(arguments).output().expect("a shell")
}

#[test]
fn animations_without_end_are_refused_by_their_options() {
    let folder = fresh_folder("limits_keys");
    let causes = ["`--seconds`", "`--frame-rate`", "100000 are allowed", "hint: "];
    complaint(&folder, &["character", "arm", "--frame-rate", "1e12"], &causes);
    complaint(&folder, &["character", "arm", "--seconds", "1e12"], &causes);
    assert!(!folder.join("arm.glb").exists());
}

/// This many zeros in zlib format: one zero, then matches of 258 bytes at distance 1 in the fixed code of deflate, 13
/// bits each.
fn packed_zeros(count: usize) -> Vec<u8> {
    let mut bits: Vec<bool> = Vec::new();
    let mut put = |code: u32, length: u32| bits.extend((0..length).rev().map(|bit| code >> bit & 1 == 1));
    // A last block of fixed codes; a zero; matches; the end.
    put(0b110, 3);
    put(0b0011_0000, 8);
    assert_eq!((count - 1) % 258, 0, "only whole matches");
    (0..(count - 1) / 258).for_each(|_| put(0b1100_0101 << 5, 13));
    put(0, 7);
    let byte = |bits: &[bool]| bits.iter().enumerate().fold(0u8, |byte, (k, &bit)| byte | u8::from(bit) << k);
    let mut packed = vec![0x78, 0x9c];
    packed.extend(bits.chunks(8).map(byte));
    // Adler checksum of zeros: one, and their number modulo 65521.
    packed.extend(((count as u32 % 65521) << 16 | 1).to_be_bytes());
    packed
}

/// A file that really has the announced size: 2 GB of points in 17 MB.
fn honest_bomb() -> String {
    // Together a multiple of the 24 bytes of a point.
    let (blocks, size) = (96usize, 1 + 258 * 81_281);
    let packed = packed_zeros(size);
    let header: Vec<u8> = [blocks, size, 0]
        .into_iter()
        .chain(vec![packed.len(); blocks])
        .flat_map(|number| (number as u64).to_le_bytes())
        .collect();
    let data = sinew_io::base64::encode(&header) + &sinew_io::base64::encode(&packed.repeat(blocks));
    format!(
        "<?xml version=\"1.0\"?><VTKFile type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\" \
         compressor=\"vtkZLibDataCompressor\"><UnstructuredGrid><Piece NumberOfPoints=\"{}\" NumberOfCells=\"1\"><Points>\
         <DataArray type=\"Float64\" Name=\"P\" NumberOfComponents=\"3\" format=\"binary\">{data}</DataArray></Points><Cells>\
         <DataArray type=\"Int64\" Name=\"connectivity\" format=\"ascii\">0 1 2 3</DataArray>\
         <DataArray type=\"Int64\" Name=\"offsets\" format=\"ascii\">4</DataArray>\
         <DataArray type=\"UInt8\" Name=\"types\" format=\"ascii\">10</DataArray></Cells></Piece></UnstructuredGrid></VTKFile>",
        size * blocks / 24
    )
}

/// Seen: status 153 without a message, and a file that was half written.
#[cfg(unix)]
#[test]
fn a_limit_on_the_size_of_files_is_an_error_with_a_message() {
    let folder = fresh_folder("limits_file");
    put(&folder, "block.toml", BLOCK);
    let command = "ulimit -f 16; exec \"$0\" run block.toml -q -o out --set duration=10";
    let output = Command::new("sh").args(["-c", command, env!("CARGO_BIN_EXE_sinew")]).current_dir(&folder).output();
    let output = output.expect("a shell");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("cannot write") && said.contains("File too large"), "{said}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_mesh_beyond_the_memory_is_refused_with_both_numbers() {
    let folder = fresh_folder("limits_memory");
    put(&folder, "bomb.vtu", honest_bomb());
    let output = limited(&folder, 4_000_000, &["mesh", "info", "bomb.vtu"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("needs 7.5 GiB of memory, but ") && said.contains("GiB are free"), "{said}");
    // The same message for a body that could be meshed but not simulated.
    put(&folder, "large.toml", BLOCK.replace("cells = [2, 2, 2]", "cells = [100, 100, 100]"));
    let output = limited(&folder, 4_000_000, &["check", "large.toml"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("6.000e6 cells") && said.contains("needs 8.9 GiB of memory, but "), "{said}");
}

#[test]
fn many_corners_and_many_copies_take_no_time() {
    let folder = fresh_folder("limits_faces");
    // Twenty thousand corners in one face, and each face of a tetrahedron twenty thousand times.
    let mut polygon: String = (0..20_000).fold(String::new(), |mut text, i| {
        let _ = writeln!(text, "v {i} {} 0", i * i % 7);
        text
    });
    polygon += "f";
    (1..=20_000).for_each(|i| polygon.push_str(&format!(" {i}")));
    put(&folder, "polygon.obj", polygon + "\n");
    let faces = "f 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n".repeat(20_000);
    put(&folder, "doubled.obj", format!("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n{faces}"));
    for (file, cell, cause) in [("polygon.obj", "5", "flat"), ("doubled.obj", "0.2", "more than two")] {
        answer(&folder, &["mesh", "info", file], 0);
        answer(&folder, &["mesh", "check", file], 1);
        let refused = answer(&folder, &["mesh", "fill", file, "x.vtu", "--cell", cell], 2);
        assert!(refused.contains(cause), "{refused}");
    }
    let filled = answer(&folder, &["mesh", "fill", "doubled.obj", "x.vtu", "--cell", "0.1", "--repair", "winding"], 0);
    assert!(filled.contains("tetrahedra"), "{filled}");
}

#[test]
fn two_thousand_bodies_are_checked_soon() {
    let folder = fresh_folder("limits_bodies");
    let mut scene = String::from("duration = 0.1\n");
    for i in 0..2000 {
        let (x, y, z) = (i % 20, i / 20 % 20, i / 400);
        let _ = writeln!(
            scene,
            "[[body]]\nname = \"b{i}\"\nposition = [{}, {}, {}]\nmesh = {{ from = \"box\", size = [0.1, 0.1, 0.1], cells = [1, 1, 1] }}\n\
             material = {{ type = \"stable_neo_hookean\", young = 3e4, poisson = 0.3 }}",
            0.2 * f64::from(x),
            0.2 * f64::from(y),
            0.1 + 0.2 * f64::from(z)
        );
    }
    put(&folder, "many.toml", scene);
    assert!(answer(&folder, &["check", "many.toml"], 0).contains("ok"));
}

#[test]
fn a_run_that_ends_in_its_preroll_says_that_nothing_was_written() {
    let folder = fresh_folder("limits_preroll");
    write(&arm(), &folder.join("arm.glb"));
    let options = ["--cell", "3 cm", "--contact", "none", "-o", "out.glb", "-o", "out.pc2"];
    told(&folder, &[&["skin", "arm.glb", "--scene", "scene.toml"][..], &options].concat());
    let run = ["run", "scene.toml", "-o", "run", "--set", "record.report=false", "--set", "record.apng=false"];
    let said = told(&folder, &[&run[..], &["--frames", "2"]].concat());
    for file in ["out.glb", "out.pc2"] {
        assert!(said.contains(&format!("{file} is not written: the run has no frame of the animation")), "{said}");
        assert!(!folder.join("run").join(file).exists());
    }
    let said = told(&folder, &run);
    assert!(!said.contains("not written") && folder.join("run/out.glb").exists(), "{said}");
}

#[test]
fn bones_that_are_none_are_refused_before_a_scene_is_written() {
    let folder = fresh_folder("limits_bones");
    write(&arm(), &folder.join("arm.glb"));
    put(&folder, "empty.toml", "title = \"nothing\"\n");
    put(&folder, "broken.toml", "bones = [\n");
    for (file, cause) in [("empty.toml", "the list `bones` is missing"), ("broken.toml", "TOML parse error")] {
        complaint(&folder, &["skin", "arm.glb", "--scene", "k.toml", "--bones", file], &[file, cause]);
        assert!(!folder.join("k.toml").exists());
    }
}

#[test]
fn probes_that_a_recording_has_not_are_refused() {
    let folder = fresh_folder("limits_probe");
    put(&folder, "scene.toml", BLOCK);
    told(&folder, &["run", "scene.toml", "-o", "run"]);
    complaint(
        &folder,
        &["play", "--plain", "--probe", "b.volum", "--probe", "b.volumes", "run"],
        &["no probe `b.volumes`", "did you mean `b.volume`?"],
    );
    assert!(answer(&folder, &["play", "--plain", "--probe", "volume", "run"], 0).contains("b.volume"));
}

#[test]
fn one_damaged_manifest_does_not_hide_other_runs() {
    let folder = fresh_folder("limits_status");
    put(&folder, "scene.toml", BLOCK);
    told(&folder, &["run", "scene.toml", "-o", "out/good"]);
    std::fs::create_dir_all(folder.join("out/bad")).expect("a folder");
    put(&folder, "out/bad/manifest.json", "{");
    let said = answer(&folder, &["status"], 2);
    assert!(
        said.contains("out/good: done, 6 of 6 frames") && said.contains("out/bad/manifest.json is not a manifest"),
        "{said}"
    );
}

/// The manifest of a run is written once a second, its recording after every frame.
#[test]
fn a_run_that_was_killed_at_once_shows_what_it_recorded() {
    let folder = fresh_folder("limits_killed");
    put(&folder, "scene.toml", BLOCK);
    told(&folder, &["run", "scene.toml", "-o", "run"]);
    let manifest = std::fs::read_to_string(folder.join("run/manifest.json")).expect("a manifest");
    let killed =
        manifest.replace("\"status\": \"done\"", "\"status\": \"running\"").replace("\"frames\": 6", "\"frames\": 0");
    assert_ne!(killed, manifest);
    put(&folder, "run/manifest.json", killed);
    assert!(answer(&folder, &["status", "run"], 0).contains("killed, 6 of 6 frames"));
}

#[test]
fn flat_and_far_surfaces_are_told_without_numbers_that_are_none() {
    let folder = fresh_folder("limits_shapes");
    put(&folder, "one.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    put(&folder, "square.obj", "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n");
    for file in ["one.obj", "square.obj"] {
        let fill = ["mesh", "fill", file, "x.vtu", "--cell", "0.1", "--repair", "winding"];
        assert!(answer(&folder, &fill, 2).contains("flat, so it encloses nothing"));
    }
    put(
        &folder,
        "far.obj",
        "v 1e308 0 0\nv -1e308 0 0\nv 0 1e308 0\nv 0 0 1e308\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n",
    );
    let told = answer(&folder, &["mesh", "info", "far.obj"], 0);
    assert!(told.contains("4 points beyond 1e12 m") && !told.contains("probably"), "{told}");
    assert!(answer(&folder, &["mesh", "check", "far.obj"], 1).contains("check the unit of length"));
}

#[cfg(unix)]
#[test]
fn a_pipe_is_no_mesh() {
    let folder = fresh_folder("limits_pipe");
    let made = Command::new("mkfifo").arg(folder.join("pipe.obj")).status();
    assert!(made.is_ok_and(|status| status.success()), "mkfifo");
    let mut program = Command::new(env!("CARGO_BIN_EXE_sinew"));
    let program = program.current_dir(&folder).args(["mesh", "info", "pipe.obj"]).stderr(Stdio::piped()).spawn();
    let mut program = program.expect("the program starts");
    let start = Instant::now();
    while program.try_wait().expect("a process").is_none() {
        if start.elapsed() > SOON {
            let _ = program.kill();
            panic!("the program waits for a pipe that nobody writes to");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = program.wait_with_output().expect("its words");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("pipe.obj is not a file but a pipe"), "{}", text(&output.stderr));
}

#[test]
fn expectations_of_later_times_are_not_reached() {
    let folder = fresh_folder("limits_reached");
    let expect = "[expect]\n\"b.volume\" = [{ min = 0, at = \"0.1 s\" }, { min = 0, over = [\"0.08 s\", \"0.1 s\"] }, { min = 0, over = \"all\" }]\n";
    put(&folder, "scene.toml", format!("{BLOCK}{expect}"));
    let said = answer(&folder, &["run", "scene.toml", "--no-files", "--frames", "2"], 1);
    assert_eq!(said.matches("not reached").count(), 3, "{said}");
    assert!(said.contains("2 of 3 expectations were not reached") && !said.contains("FAILED"), "{said}");
    let output = sinew(&folder, &["run", "scene.toml", "--no-files", "--frames", "2", "--json", "-q"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&json["passed"], &json["expectations"][0]["passed"]), (&false.into(), &serde_json::Value::Null));
    assert!(answer(&folder, &["run", "scene.toml", "--no-files"], 0).contains("3 expectations hold"));
}

#[test]
fn a_study_of_equal_values_says_that_it_has_no_order() {
    let folder = fresh_folder("limits_study");
    let study = "[study]\nvary = \"gravity\"\nvalues = [\"9.81 m/s^2\", \"9.81 m/s^2\"]\norder = { \"b.volume\" = { exact = 0, min = 1.9, change = 0.1 } }\n";
    put(&folder, "scene.toml", format!("{BLOCK}{study}"));
    let said = answer(&folder, &["run", "scene.toml", "--no-files"], 1);
    assert!(said.contains("b.volume has no order: `h` is the same in all cases"), "{said}");
}

#[test]
fn mistakes_of_scenes_are_refused_at_their_keys() {
    let folder = fresh_folder("limits_scenes");
    let check = |name: &str, scene: &str, causes: &[&str]| {
        put(&folder, name, scene);
        let start = Instant::now();
        complaint(&folder, &["check", name], causes);
        assert!(start.elapsed() < SOON, "{name} took {:?}", start.elapsed());
    };
    let strip = std::fs::read_to_string(root().join("scenes/muscle/lab_strip.toml")).expect("the strip");
    let curve = strip.replacen("muscle = [{ ", "muscle = [{ active_curve = [], ", 1);
    assert_ne!(curve, strip);
    check("curve.toml", &curve, &["active_curve", "needs at least one point", "hint: leave it out"]);
    let endless = strip.replacen("[lab]\n", "[lab]\nduration = \"1e9 s\"\n", 1);
    assert_ne!(endless, strip);
    check("endless.toml", &endless, &["too many steps", "at most 1e8"]);
    // Ten million cells; the mesh alone would take half a minute and a gigabyte.
    let wide = "duration = 1\ngravity = 0\n[solver]\ntype = \"quasistatic\"\n[[body]]\nname = \"m\"\n\
        mesh = { from = \"muscle\", shape = \"fusiform\", length = \"12 cm\", width = \"1000 m\", thickness = \"24 mm\", tendon = [\"3 cm\", \"3 cm\"], \
        tendon_width = \"12 mm\", cell = \"6 mm\" }\nmaterial = { type = \"muscle\" }\npin = [{ region = \"origin\" }]\n";
    check("wide.toml", wide, &["the cells of this muscle are too small", "166667 cells along its width, at most 4096"]);
    let start = "start = { shape = \"plane\", noise = 1e300 }\n[record]";
    check("noise.toml", &BLOCK.replace("[record]", start), &["noise"]);
}

/// Two blocks a centimeter apart that repel each other within five meters.
#[test]
fn a_gap_larger_than_bodies_is_explained_before_the_first_step() {
    let folder = fresh_folder("limits_gap");
    let scene = "duration = 0.1\n[contact]\nmode = \"barrier\"\ngap = 5\n";
    let body = |name: &str, z: f64| {
        format!(
            "[[body]]\nname = \"{name}\"\nposition = [0, 0, {z}]\nmesh = {{ from = \"box\", size = [0.1, 0.1, 0.1], cells = [2, 2, 2] }}\n\
             material = {{ type = \"stable_neo_hookean\", young = 3e4, poisson = 0.3 }}\n"
        )
    };
    let scene = format!("{scene}{}{}", body("low", 0.0), body("high", 0.11));
    put(&folder, "gap.toml", &scene);
    let said = answer(&folder, &["check", "gap.toml"], 0);
    assert!(said.contains("repel each other from a `gap` of 5 m on") && said.contains("an edge is usual"), "{said}");
    put(&folder, "fine.toml", scene.replace("gap = 5", "gap = 0.002"));
    assert!(!answer(&folder, &["check", "fine.toml"], 0).contains("`gap`"));
}

/// A cube of auxetic flesh under a hundred thousand times its weight: each step is hard.
const HARD: &str = r#"
duration = 0.0332
frame_rate = 60.24096385542168
gravity = 1000000.0
[solver]
type = "bdf2"
linear = "multigrid"
[[body]]
name = "b"
mesh = { from = "box", size = [0.1, 0.1, 0.1], cells = [8, 8, 8], element = "lattice" }
density = 1000.0
material = { type = "corotated", young = 2755000.0, poisson = -0.99 }
pin = [{ region = "x-min" }]
[contact]
mode = "barrier"
"#;

#[cfg(unix)]
#[test]
fn a_frame_that_takes_long_shows_that_it_is_computed_and_can_be_ended() {
    use std::io::{BufRead, BufReader};
    let folder = fresh_folder("limits_silence");
    put(&folder, "hard.toml", HARD);
    let mut program = Command::new(env!("CARGO_BIN_EXE_sinew"));
    program.current_dir(&folder).args(["run", "hard.toml", "--no-files"]).stdin(Stdio::null()).stderr(Stdio::piped());
    let start = Instant::now();
    let mut program = program.spawn().expect("the program starts");
    let mut lines = BufReader::new(program.stderr.take().expect("its words")).lines().map_while(Result::ok);
    let word = lines.find(|line| line.contains("so far")).expect("a word while it computes");
    assert!(start.elapsed() < SOON, "{word}: after {:?}", start.elapsed());
    assert!(word.starts_with("frame 1/2 has taken ") || word.starts_with("preparing has taken "), "{word}");
    let ended = Command::new("kill").args(["-INT", &program.id().to_string()]).status();
    assert!(ended.is_ok_and(|status| status.success()), "kill");
    let said: Vec<String> = lines.collect();
    assert_eq!(program.wait().expect("a process").code(), Some(2), "{said:?}");
    assert!(said.iter().any(|line| line.contains("interrupted")), "{said:?}");
    assert!(start.elapsed() < 2 * SOON, "after {:?}", start.elapsed());
}

/// Timings are in checkpoints, where a resumed run finds them; recordings can therefore be compared bytewise.
#[test]
fn two_runs_of_a_scene_have_equal_recordings() {
    let folder = fresh_folder("limits_equal");
    put(&folder, "scene.toml", BLOCK);
    let read = |name: &str| std::fs::read(folder.join(name).join("recording.sinew")).expect("a recording");
    told(&folder, &["run", "scene.toml", "-o", "a"]);
    told(&folder, &["run", "scene.toml", "-o", "b", "--threads", "1"]);
    assert!(read("a") == read("b"), "recordings of equal runs differ");
    // One half, then the rest: the same frames, and the timing of the first half is kept.
    let json = |arguments: &[&str]| -> serde_json::Value {
        let output = sinew(&folder, &[&["run", "scene.toml", "--json", "-q", "-o"][..], arguments].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    let steps = |json: &serde_json::Value| {
        let parts = json["timing"]["parts"].as_array().expect("parts");
        parts.iter().find(|part| part["name"] == "steps").expect("steps")["seconds"].as_f64().expect("a number")
    };
    let whole = json(&["a"]);
    let half = json(&["c", "--frames", "5"]);
    let resumed = json(&["c", "--resume"]);
    assert_eq!((&resumed["hash"], &resumed["resumed"]), (&whole["hash"], &1.into()));
    assert!(steps(&half) > 0.0 && steps(&resumed) > steps(&half), "{} after {}", steps(&resumed), steps(&half));
}
