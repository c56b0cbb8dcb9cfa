//! `sinew resume` continues whatever ended early, with what its folder knows; `sinew status` prints commands that work.
#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::support::{fresh_folder, numbers, root};

const BLOCK: &str = r#"
duration = "1 s"
[[body]]
name = "block"
mesh = { from = "box", size = ["20 cm", "5 cm", "5 cm"], cell = "2.5 cm" }
material = { type = "stable_neo_hookean", young = "30 kPa", poisson = 0.45 }
pin = [{ region = "x-min" }]
"#;

fn sinew(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sinew"));
    command.current_dir(folder).args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn done(command: &mut Command) -> Output {
    let output = command.output().expect("the program starts");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

/// The commands that `sinew status` prints after a word, such as `continue`.
fn printed(folder: &Path, of: &str, word: &str) -> Vec<String> {
    let status = done(&mut sinew(folder, &["status", of]));
    let text = String::from_utf8_lossy(&status.stdout).into_owned();
    text.lines().filter_map(|line| line.trim().strip_prefix(word)?.strip_prefix(": ")).map(String::from).collect()
}

/// Runs a printed line as a user would who copies it into a shell.
fn type_in(folder: &Path, line: &str) {
    let programs = Path::new(env!("CARGO_BIN_EXE_sinew")).parent().expect("a folder");
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    done(Command::new("sh").args(["-e", "-c", line]).current_dir(folder).env("PATH", path));
}

/// Starts a command, interrupts it once `is_there`, and waits for its end.
fn interrupt(mut command: Command, is_there: impl Fn() -> bool) {
    let child = command.spawn().expect("the program starts");
    let start = Instant::now();
    while !is_there() {
        assert!(start.elapsed() < Duration::from_secs(120), "the program never comes there");
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
}

fn frames(folder: &Path) -> u64 {
    let text = std::fs::read_to_string(folder.join("manifest.json")).unwrap_or_default();
    serde_json::from_str::<serde_json::Value>(&text).ok().and_then(|value| value["frames"].as_u64()).unwrap_or(0)
}

#[test]
fn a_run_with_overrides_goes_on_from_anywhere() {
    let folder = fresh_folder("resume-run");
    let scene = folder.join("my block.toml");
    std::fs::write(&scene, BLOCK).expect("a scene");
    // Slow enough to be interrupted in the middle.
    let set = ["--set", "duration=4 s", "--set", "body.block.mesh.cell=\"8 mm\"", "--no-pictures"];
    done(&mut sinew(&folder, &[&["run", "my block.toml", "-o", "whole", "-q"], &set[..]].concat()));
    let started = sinew(&folder, &[&["run", "my block.toml", "-o", "it's", "--checkpoint", "0"], &set[..]].concat());
    interrupt(started, || frames(&folder.join("it's")) > 2);
    assert!(frames(&folder.join("it's")) < 240, "it was interrupted too late");
    assert_eq!(
        printed(&folder, "it's", "command"),
        [
            "sinew run 'my block.toml' -o 'it'\\''s' --checkpoint 0 --set 'duration=4 s' --set 'body.block.mesh.cell=\"8 mm\"' --no-pictures"
        ]
    );
    let elsewhere = fresh_folder("resume-elsewhere");
    let it = folder.join("it's").display().to_string();
    let lines = printed(&elsewhere, &it, "continue");
    assert_eq!(lines.len(), 1, "{lines:?}");
    type_in(&elsewhere, &lines[0]);
    let read = |name: &str| std::fs::read(folder.join(name)).expect("a file");
    let recorded = |name: &str| numbers(&folder.join(name).join("recording.sinew"));
    assert!(recorded("it's") == recorded("whole"), "the recordings differ");
    assert_eq!(read("it's/probes.csv"), read("whole/probes.csv"));
    assert!(!folder.join("it's/animation.png").exists(), "--no-pictures still holds");
    // A complete run has nothing to continue.
    assert!(printed(&elsewhere, &it, "continue").is_empty());
    let again = done(&mut sinew(&elsewhere, &["resume", &it]));
    assert!(String::from_utf8_lossy(&again.stderr).contains("is complete"), "{again:?}");
}

#[test]
fn a_character_goes_on() {
    let folder = fresh_folder("resume-skin");
    done(&mut sinew(&folder, &["character", "arm", "-o", "arm.glb"]));
    let started = sinew(&folder, &["skin", "arm.glb", "--cell", "12 mm", "--duration", "0.4 s", "--no-pictures"]);
    interrupt(started, || folder.join("out/arm/recording.sinew").exists());
    let lines = printed(&folder, "out/arm", "continue");
    let lines = if lines.is_empty() { printed(&folder, "out/arm", "start again") } else { lines };
    assert_eq!(lines, ["sinew resume out/arm"]);
    type_in(&folder, &lines[0]);
    assert!(folder.join("out/arm.usda").exists() && folder.join("out/arm/report.html").exists());
    let manifest = std::fs::read_to_string(folder.join("out/arm/manifest.json")).expect("a manifest");
    let manifest: serde_json::Value = serde_json::from_str(&manifest).expect("JSON");
    assert_eq!((&manifest["status"], &manifest["frames"]), (&"done".into(), &manifest["frames_planned"]));
}

#[test]
fn a_protocol_of_the_laboratory_starts_again() {
    let folder = fresh_folder("resume-lab");
    let scene = root().join("scenes/muscle/lab_strip.toml").display().to_string();
    let started = sinew(&folder, &["lab", "tension-length", &scene, "-o", "lab", "--set", "lab.count=6"]);
    interrupt(started, || folder.join("lab/manifest.json").exists());
    let lines = printed(&folder, "lab", "start again");
    assert_eq!(lines, ["sinew resume lab"]);
    type_in(&folder, &lines[0]);
    let table = std::fs::read_to_string(folder.join("lab/tension-length.csv")).expect("measurements");
    assert!(table.lines().count() > 6, "{table}");
    let status = done(&mut sinew(&folder, &["status", "lab"]));
    assert!(String::from_utf8_lossy(&status.stdout).starts_with("lab: done in"), "{status:?}");
}

#[test]
fn the_laboratory_keeps_the_manifest_of_a_run() {
    let folder = fresh_folder("resume-lab-beside");
    std::fs::write(folder.join("block.toml"), BLOCK).expect("a scene");
    done(&mut sinew(&folder, &["run", "block.toml", "-o", "out", "-q", "--no-pictures", "--frames", "2"]));
    let manifest = || std::fs::read(folder.join("out/manifest.json")).expect("a manifest");
    let before = manifest();
    let scene = root().join("scenes/muscle/lab_strip.toml").display().to_string();
    let lab = done(&mut sinew(&folder, &["lab", "tension-length", &scene, "-o", "out", "--set", "lab.count=4"]));
    assert!(String::from_utf8_lossy(&lab.stderr).contains("keeps the manifest of another run"), "{lab:?}");
    assert_eq!(manifest(), before);
}

#[test]
fn folders_that_cannot_be_resumed_say_why() {
    let folder = fresh_folder("resume-wrong");
    let told = |words: &[&str]| {
        let output = sinew(&folder, words).output().expect("the program starts");
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(told(&["resume", "nowhere"]).contains("give the folder of a run"));
    std::fs::write(folder.join("block.toml"), BLOCK).expect("a scene");
    done(&mut sinew(&folder, &["run", "block.toml", "-o", "out", "-q", "--no-pictures", "--frames", "2"]));
    let path: PathBuf = folder.join("out/manifest.json");
    let text = std::fs::read_to_string(&path).expect("a manifest").replace("\"done\"", "\"interrupted\"");
    // Edited by hand: other commands, and words that no command has.
    for (word, expected) in [("doctor", "cannot be resumed"), ("fly", "fly")] {
        let mut manifest: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        manifest["command"] = serde_json::json!([word]);
        std::fs::write(&path, manifest.to_string()).expect("a manifest");
        assert!(told(&["resume", "out"]).contains(expected), "{word}");
    }
}
