//! One signal ends the program in every stage: soon, with status 2, and with files that are complete or absent.
#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::support::{fresh_folder, root};

/// The documentation promises two seconds; a busy machine with few cores gets more.
const SOON: Duration = Duration::from_secs(10);

/// A block that swings for a second: its pictures take far longer than its frames.
const BLOCK: &str = r#"
duration = "1 s"
[[body]]
name = "block"
mesh = { from = "box", size = ["20 cm", "5 cm", "5 cm"], cell = "2.5 cm" }
material = { type = "stable_neo_hookean", young = "30 kPa", poisson = 0.45 }
pin = [{ region = "x-min" }]
"#;

fn sinew(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sinew"));
    command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status().expect("kill exists");
    assert!(sent.success(), "the program still runs when it is interrupted");
}

/// Starts the program, waits until `is_there` returns true, sends one signal, and waits for the end.
fn interrupted(mut command: Command, name: &str, is_there: impl Fn() -> bool) -> String {
    let child = command.spawn().expect("the program starts");
    let start = Instant::now();
    while !is_there() {
        assert!(start.elapsed() < Duration::from_secs(120), "the program never comes there");
        std::thread::sleep(Duration::from_millis(20));
    }
    signal(&child, name);
    let start = Instant::now();
    let output = child.wait_with_output().expect("the program ends");
    assert!(start.elapsed() < SOON, "it took {:?}", start.elapsed());
    let words = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{words}");
    assert!(words.contains("interrupted"), "{words}");
    words
}

/// True once this much time has passed.
fn after(seconds: f64) -> impl Fn() -> bool {
    let start = Instant::now();
    move || start.elapsed() > Duration::from_secs_f64(seconds)
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn done(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
}

/// Every file in a folder and below, by its path from there, sorted.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for path in std::fs::read_dir(next).into_iter().flatten().flatten().map(|entry| entry.path()) {
            match path.is_dir() {
                true => folders.push(path),
                false => found.push(path.strip_prefix(folder).expect("it is below").display().to_string()),
            }
        }
    }
    found.sort();
    found
}

fn assert_nothing_unfinished(folder: &Path) {
    let left: Vec<String> = files(folder).into_iter().filter(|name| name.ends_with(".tmp")).collect();
    assert!(left.is_empty(), "{left:?}");
}

fn write_scene(folder: &Path, record: &str) -> PathBuf {
    let path = folder.join("block.toml");
    std::fs::write(&path, format!("{BLOCK}\n[record]\n{record}\n")).expect("a scene");
    path
}

/// All frames in the recording of a run: the manifest is written at least once a second.
fn frames(folder: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(folder.join("manifest.json")).ok()?;
    serde_json::from_str::<serde_json::Value>(&text).ok()?["frames"].as_u64()
}

#[test]
fn pictures_of_a_recording_hear_a_signal() {
    let folder = fresh_folder("signal_convert");
    write_scene(&folder, "report = false");
    done(&sinew(&folder).args(["run", "block.toml", "-o", "out"]).output().expect("the program starts"));
    // Large enough that all pictures take minutes.
    for (number, format) in ["x.apng", "x.png"].into_iter().enumerate() {
        let pictures = folder.join(format!("pictures{number}"));
        let mut command = sinew(&folder);
        command.args(["convert", "out", "--size", "3000x2000", "-o"]).arg(pictures.join(format));
        interrupted(command, ["-INT", "-TERM"][number], after(1.5));
        assert_eq!(files(&pictures), Vec::<String>::new());
    }
}

#[test]
fn a_run_that_is_interrupted_in_its_pictures_is_resumed() {
    let folder = fresh_folder("signal_pictures");
    // Large enough that pictures take far longer than frames.
    write_scene(&folder, "report = true\npng = true\nsize = [2400, 1800]");
    let out = folder.join("out");
    let mut command = sinew(&folder);
    command.args(["run", "block.toml", "-o", "out"]);
    // All frames are computed within a moment; pictures follow.
    interrupted(command, "-TERM", || frames(&out) == Some(60));
    assert_nothing_unfinished(&out);
    assert!(!out.join("animation.png").exists() && !files(&out).iter().any(|name| name.starts_with("frames/")));
    assert_eq!(frames(&out), Some(60));
    let status = sinew(&folder).args(["status", "out"]).output().expect("the program starts");
    assert!(String::from_utf8_lossy(&status.stdout).contains("sinew resume out"), "{status:?}");
    // Existing frames are not computed again.
    let again = sinew(&folder).args(["resume", "out", "--no-pictures"]).output().expect("it starts");
    done(&again);
    assert!(stderr(&again).contains("continuing after frame 60"), "{}", stderr(&again));
    assert!(!out.join("animation.png").exists() && out.join("report.html").exists());
}

#[test]
fn a_signal_that_comes_several_times_at_once_is_one_wish() {
    let folder = fresh_folder("signal_group");
    let path = write_scene(&folder, "report = false\nusd = true");
    let long = std::fs::read_to_string(&path).expect("the scene").replace("\"1 s\"", "\"1000 s\"");
    std::fs::write(&path, long).expect("the scene");
    let out = folder.join("out");
    let child = sinew(&folder).args(["run", "block.toml", "-o", "out"]).spawn().expect("the program starts");
    let start = Instant::now();
    while frames(&out).is_none_or(|count| count == 0) {
        assert!(start.elapsed() < Duration::from_secs(60), "no frame in a minute");
        std::thread::sleep(Duration::from_millis(50));
    }
    // As in a terminal: also the shell that passes it on, and its parent.
    let id = child.id().to_string();
    let script = format!("kill -INT {id}; kill -TERM {id}; kill -INT {id}");
    assert!(Command::new("sh").args(["-c", &script]).status().expect("a shell").success());
    let output = child.wait_with_output().expect("the program ends");
    let words = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{words}");
    assert!(
        words.contains("frames are kept, and `sinew resume out` continues after them"),
        "it ended in good order: {words}"
    );
    assert!(out.join("surface.usda").exists() && out.join("checkpoint.bin").exists(), "{:?}", files(&out));
    assert_nothing_unfinished(&out);
}

/// As in a terminal: Ctrl-C reaches the shell and the program, and the shell passes it on as well.
#[test]
fn a_signal_through_a_process_group_is_one_wish() {
    use std::os::unix::process::CommandExt;
    let folder = fresh_folder("signal_process_group");
    let path = write_scene(&folder, "report = false\nusd = true");
    let long = std::fs::read_to_string(&path).expect("the scene").replace("\"1 s\"", "\"1000 s\"");
    std::fs::write(&path, long).expect("the scene");
    let out = folder.join("out");
    let script =
        "trap 'kill -TERM $child' INT TERM; \"$SINEW\" run block.toml -o out & child=$!; wait; wait $child; exit $?";
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).env("SINEW", env!("CARGO_BIN_EXE_sinew")).current_dir(&folder).process_group(0);
    let child = shell.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("a shell");
    let start = Instant::now();
    while frames(&out).is_none_or(|count| count == 0) {
        assert!(start.elapsed() < Duration::from_secs(60), "no frame in a minute");
        std::thread::sleep(Duration::from_millis(50));
    }
    let group = format!("-{}", child.id());
    assert!(Command::new("kill").args(["-TERM", "--", &group]).status().expect("kill exists").success());
    let output = child.wait_with_output().expect("the shell ends");
    let words = stderr(&output);
    assert!(words.contains("frames are kept"), "it ended in good order: {words}");
    assert!(out.join("surface.usda").exists() && out.join("checkpoint.bin").exists(), "{:?}", files(&out));
    assert_nothing_unfinished(&out);
}

#[test]
fn a_scene_that_compiles_for_long_hears_a_signal() {
    let folder = fresh_folder("signal_compile");
    // Nearly two million cells.
    let scene = BLOCK.replace("cell = \"2.5 cm\"", "cell = \"1.2 mm\"");
    std::fs::write(folder.join("block.toml"), scene).expect("a scene");
    for (command, name) in [(["check", "block.toml", "-q"], "-TERM"), (["run", "block.toml", "-q"], "-INT")] {
        let mut started = sinew(&folder);
        started.args(command);
        interrupted(started, name, after(1.0));
        assert!(files(&folder.join("out")).iter().all(|name| name.ends_with(".sinew.lock")), "{:?}", files(&folder));
    }
}

#[test]
fn meshes_that_are_filled_hear_a_signal() {
    let folder = fresh_folder("signal_fill");
    let mut text = String::new();
    for corner in 0..8 {
        let c = [corner & 1, corner >> 1 & 1, corner >> 2];
        text += &format!("v {} {} {}\n", c[0], c[1], c[2]);
    }
    for face in ["1 3 4 2", "5 6 8 7", "1 2 6 5", "3 7 8 4", "1 5 7 3", "2 4 8 6"] {
        text += &format!("f {face}\n");
    }
    std::fs::write(folder.join("cube.obj"), text).expect("a mesh");
    let mut command = sinew(&folder);
    command.args(["mesh", "fill", "cube.obj", "cube.vtu", "--cell", "15 mm"]);
    interrupted(command, "-INT", after(1.0));
    assert_eq!(files(&folder), ["cube.obj"]);
}

#[test]
fn benchmarks_hear_a_signal() {
    let folder = fresh_folder("signal_bench");
    let mut command = sinew(&folder);
    command.args(["bench", "beam", "--size", "L"]);
    interrupted(command, "-TERM", after(2.0));
    assert_eq!(files(&folder), Vec::<String>::new());
}

#[test]
fn the_laboratory_keeps_its_measurements() {
    let folder = fresh_folder("signal_lab");
    let scene = root().join("scenes/muscle/lab_strip.toml");
    let mut command = sinew(&folder);
    command.arg("lab").arg("tension-length").arg(&scene).args(["--set", "lab.count=10000", "-o", "lab"]);
    let words = interrupted(command, "-INT", after(4.0));
    assert!(words.contains("measurements were kept in lab/tension-length.csv"), "{words}");
    let csv = std::fs::read_to_string(folder.join("lab/tension-length.csv")).expect("measurements");
    assert!(csv.lines().count() > 1 && csv.ends_with('\n'), "{csv}");
    assert_nothing_unfinished(&folder);
}

#[test]
fn a_character_that_gets_flesh_hears_a_signal() {
    let folder = fresh_folder("signal_skin");
    done(&sinew(&folder).args(["character", "arm", "-o", "arm.glb"]).output().expect("the program starts"));
    // During compilation, and later, during the frames or soon after.
    for (seconds, name) in [(0.7, "-INT"), (8.0, "-TERM")] {
        let mut command = sinew(&folder);
        command.args(["skin", "arm.glb", "-o", "flesh.usda", "--cell", "6 mm", "--resume"]);
        interrupted(command, name, after(seconds));
        assert_nothing_unfinished(&folder);
    }
}
