//! No command loses a file of its user: it only deletes, replaces and overwrites its own files.
#![cfg(unix)]

use crate::support;
use std::path::Path;
use std::process::{Command, Output};

/// A quick scene: a block, two frames, no pictures.
const SHORT: &str = r#"
duration = "0.1 s"
frame_rate = "20 Hz"
[[body]]
name = "block"
mesh = { from = "box", size = ["4 cm", "2 cm", "2 cm"], cell = "2 cm" }
material = { type = "stable_neo_hookean", young = "40 kPa", poisson = 0.4 }
pin = [{ region = "x-min" }]
[record]
report = false
"#;

fn sinew(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sinew")).args(arguments).current_dir(folder).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or_else(|| panic!("ended by a signal: {}", text(output)))
}

fn put(path: impl AsRef<Path>, content: &str) {
    std::fs::create_dir_all(path.as_ref().parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

fn read(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    String::from_utf8_lossy(&std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))).into()
}

/// `SHORT` with more lines in `[record]`.
fn scene(folder: &Path, record: &str) {
    put(folder.join("short.toml"), &format!("{SHORT}{record}\n"));
}

/// Seen: every hidden `*.tmp` file below the output folder, also behind links, was deleted, and two links to `.` were
/// followed forever. Expected: a run removes only temporary files with its own names, in its own folders.
#[test]
fn a_run_deletes_no_temporary_file_of_anyone_else() {
    let folder = support::fresh_folder("files-temporary");
    scene(&folder, "");
    // A process id that no system assigns.
    let precious = [
        "proj/.notes.tmp",
        "proj/sub/.draft.tmp",
        "elsewhere/.data.tmp",
        "proj/sub/.probes.csv.4294967295-0.tmp",
        "proj/.surface.usda.4294967295-0.tmp",
        "elsewhere/.probes.csv.4294967295-0.tmp",
    ];
    precious.iter().for_each(|file| put(folder.join(file), "precious"));
    std::os::unix::fs::symlink("../elsewhere", folder.join("proj/link")).unwrap();
    std::os::unix::fs::symlink("../elsewhere", folder.join("proj/cells")).unwrap();
    std::os::unix::fs::symlink(".", folder.join("proj/a")).unwrap();
    std::os::unix::fs::symlink(".", folder.join("proj/b")).unwrap();
    let own = folder.join("proj/.probes.csv.4294967295-0.tmp");
    put(&own, "left by a run that was killed");
    let output = sinew(&folder, &["run", "short.toml", "-o", "proj", "-q"]);
    assert_eq!(code(&output), 0, "{}", text(&output));
    for file in precious {
        assert_eq!(read(folder.join(file)), "precious", "{file}");
    }
    assert!(!own.exists(), "our own leftovers are removed");
}

#[test]
fn a_run_does_not_disturb_one_in_a_folder_below() {
    let folder = support::fresh_folder("files-nested");
    scene(&folder, "checkpoint = 0");
    let long = ["run", "../short.toml", "-o", "nest/in", "-q", "--set", "duration=\"4 s\""]
        .map(|word| word.trim_start_matches("../"));
    let mut inner = Command::new(env!("CARGO_BIN_EXE_sinew")).args(long).current_dir(&folder).spawn().unwrap();
    for _ in 0..6 {
        let output = sinew(&folder, &["run", "short.toml", "-o", "nest", "-q"]);
        assert_eq!(code(&output), 0, "{}", text(&output));
    }
    assert!(inner.wait().unwrap().success());
}

/// Records some frames and then looks like a run that was killed: its manifest says "running".
fn unfinished(folder: &Path, recording: &str) -> Vec<u8> {
    let output = sinew(folder, &["run", "short.toml", "-o", "out", "-q"]);
    assert_eq!(code(&output), 0, "{}", text(&output));
    let manifest = folder.join("out/manifest.json");
    std::fs::write(&manifest, read(&manifest).replace("\"done\"", "\"running\"")).unwrap();
    std::fs::read(folder.join("out").join(recording)).unwrap()
}

/// Seen: with a damaged checkpoint or manifest, or a recording with another name, a new run overwrote the recording and
/// reported that it was kept.
#[test]
fn an_unfinished_recording_is_kept_whatever_lies_beside_it() {
    let damage: [(&str, &dyn Fn(&Path)); 4] = [
        ("nothing", &|_| ()),
        ("checkpoint", &|out| std::fs::write(out.join("checkpoint.bin"), "SINEW-CHECKPOINT-7\nbroken").unwrap()),
        ("no checkpoint", &|out| std::fs::remove_file(out.join("checkpoint.bin")).unwrap()),
        ("manifest", &|out| std::fs::write(out.join("manifest.json"), "{").unwrap()),
    ];
    for (what, harm) in damage {
        for recording in ["recording.sinew", "mine.sinew"] {
            let folder = support::fresh_folder("files-unfinished");
            scene(&folder, &format!("csv = false\nrecording = \"{recording}\""));
            let old = unfinished(&folder, recording);
            harm(&folder.join("out"));
            let output = sinew(&folder, &["run", "short.toml", "-o", "out", "--frames", "1"]);
            assert_eq!(code(&output), 0, "{what}: {}", text(&output));
            let kept = folder.join(format!("out/previous-{recording}"));
            assert!(std::fs::read(&kept).is_ok_and(|kept| kept == old), "{what}, {recording}: {}", text(&output));
            assert!(text(&output).contains(&format!("previous-{recording}")), "{}", text(&output));
        }
    }
}

#[test]
fn a_second_unfinished_run_does_not_replace_the_first() {
    let folder = support::fresh_folder("files-twice-unfinished");
    scene(&folder, "");
    for _ in 0..3 {
        unfinished(&folder, "recording.sinew");
    }
    for kept in ["previous-recording.sinew", "previous-2-recording.sinew", "recording.sinew"] {
        assert!(folder.join("out").join(kept).exists(), "{kept}");
    }
    // Other commands find the new recording.
    let output = sinew(&folder, &["convert", "out", "-o", "x.csv", "-q"]);
    assert_eq!(code(&output), 0, "{}", text(&output));
}

/// Seen: `csv = "recording.sinew"` and similar keys ended with status 0 and one file instead of two.
#[test]
fn outputs_that_share_a_name_are_refused_by_check_and_run() {
    let folder = support::fresh_folder("files-shared");
    let cases = [
        ("csv = \"recording.sinew\"", "`csv` and `recording` would write the same file"),
        ("csv = \"x.usda\"\nusd = \"x.usda\"", "`usd` and `csv` would write the same file"),
        ("csv = \"checkpoint.bin\"", "`csv` has the name of a file that every run writes"),
        ("recording = \"manifest.json\"", "`recording` has the name of a file that every run writes"),
        ("csv = \"cells\"\nvtu = true", "would write the same file"),
    ];
    for (record, message) in cases {
        scene(&folder, record);
        for command in [&["check", "short.toml"][..], &["run", "short.toml", "-o", "out", "-q"]] {
            let output = sinew(&folder, command);
            assert_eq!(code(&output), 2, "{record}: {}", text(&output));
            assert!(text(&output).contains(message) && text(&output).contains("short.toml:"), "{}", text(&output));
        }
        assert!(!folder.join("out").exists());
    }
}

#[test]
fn files_that_no_run_wrote_are_not_replaced() {
    let folder = support::fresh_folder("files-strangers");
    scene(&folder, "png = true\nsize = [64, 64]");
    let precious = ["web/probes.csv", "web/manifest.json", "web/checkpoint.bin", "web/frames/frame_00001.png"];
    precious.iter().for_each(|file| put(folder.join(file), "precious"));
    put(folder.join("web/frames/other.png"), "precious");
    let output = sinew(&folder, &["run", "short.toml", "-o", "web", "-q"]);
    assert_eq!(code(&output), 2, "{}", text(&output));
    for file in precious {
        assert!(text(&output).contains(file), "{file} is named: {}", text(&output));
        assert_eq!(read(folder.join(file)), "precious", "{file}");
    }
    assert!(!text(&output).contains("other.png") && text(&output).contains("--force"), "{}", text(&output));
    let output = sinew(&folder, &["run", "short.toml", "-o", "web", "-q", "--force"]);
    assert_eq!(code(&output), 0, "{}", text(&output));
    assert_ne!(read(folder.join("web/probes.csv")), "precious");
    assert_eq!(read(folder.join("web/frames/other.png")), "precious");
    // It replaces its own files without a message.
    let output = sinew(&folder, &["run", "short.toml", "-o", "web", "-q"]);
    assert_eq!(code(&output), 0, "{}", text(&output));
}

#[test]
fn a_run_does_not_write_over_what_it_reads() {
    let folder = support::fresh_folder("files-inputs");
    scene(&folder, "csv = \"short.toml\"");
    let before = read(folder.join("short.toml"));
    for force in [&[][..], &["--force"]] {
        let arguments = [&["run", "short.toml", "-o", ".", "-q"], force].concat();
        let output = sinew(&folder, &arguments);
        assert_eq!(code(&output), 2, "{}", text(&output));
        assert!(text(&output).contains("short.toml is read by this command"), "{}", text(&output));
        assert_eq!(read(folder.join("short.toml")), before);
    }
}

/// Seen: `skin a.glb --scene a.glb` and `mesh info t.obj --picture t.obj` replaced their input, with status 0.
#[test]
fn commands_do_not_write_over_what_they_read() {
    let folder = support::fresh_folder("files-commands");
    let output = sinew(&folder, &["character", "arm", "-o", "a.glb", "-q", "--edge", "20 mm"]);
    assert_eq!(code(&output), 0, "{}", text(&output));
    put(folder.join("t.obj"), "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n");
    std::os::unix::fs::symlink("t.obj", folder.join("t.png")).unwrap();
    let before = ["a.glb", "t.obj"].map(|file| std::fs::read(folder.join(file)).unwrap());
    let commands: [&[&str]; 10] = [
        &["skin", "a.glb", "--scene", "a.glb"],
        &["skin", "a.glb", "--scene", "./../files-commands/a.glb"],
        &["skin", "a.glb", "-o", "a.glb"],
        &["mesh", "info", "t.obj", "--picture", "t.obj"],
        &["mesh", "info", "t.obj", "--picture", "t.png"],
        &["mesh", "check", "t.obj", "--picture", "t.obj"],
        &["mesh", "info", "t.obj", "--picture", "x.jpg"],
        &["mesh", "convert", "t.obj", "t.obj"],
        &["mesh", "fill", "t.obj", "t.vtu", "--cell", "0.2 m", "--picture", "t.png"],
        &["character", "arm", "-o", "b.glb", "--bones", "b.glb"],
    ];
    for command in commands {
        let output = sinew(&folder, command);
        assert_eq!(code(&output), 2, "{command:?}: {}", text(&output));
        assert!(text(&output).starts_with("error: "), "{command:?}: {}", text(&output));
    }
    let after = ["a.glb", "t.obj"].map(|file| std::fs::read(folder.join(file)).unwrap());
    assert!(before == after);
    assert!(folder.join("t.png").symlink_metadata().unwrap().is_symlink());
    for absent in ["x.jpg", "b.glb", "t.vtu"] {
        assert!(!folder.join(absent).exists(), "{absent}");
    }
}

#[test]
fn the_demo_keeps_a_scene_that_was_changed() {
    let folder = support::fresh_folder("files-demo");
    put(folder.join("out/demo/fist.toml"), "# mine");
    let output = sinew(&folder, &["demo"]);
    assert_eq!(code(&output), 2, "{}", text(&output));
    assert!(text(&output).contains("sinew run out/demo/fist.toml"), "{}", text(&output));
    assert_eq!(read(folder.join("out/demo/fist.toml")), "# mine");
}

/// The keys of `[record]` that take true, false or a file name.
fn outputs() -> Vec<String> {
    let schema: serde_json::Value =
        serde_json::from_slice(&sinew(Path::new("."), &["schema"]).stdout).expect("the schema is JSON");
    let keys = schema["$defs"]["record"]["properties"].as_object().expect("the keys of `[record]`");
    let is_output = |key: &serde_json::Value| {
        let types: Vec<&str> =
            key["anyOf"].as_array().into_iter().flatten().filter_map(|t| t["type"].as_str()).collect();
        types == ["boolean", "string"]
    };
    keys.iter().filter(|(_, key)| is_output(key)).map(|(name, _)| name.clone()).collect()
}

/// The plan of a run is complete: a run with every output writes only files that its manifest announces.
#[test]
fn a_run_writes_nothing_that_it_did_not_announce() {
    let folder = support::fresh_folder("files-announced");
    let outputs = outputs();
    assert!(outputs.len() > 12, "{outputs:?}");
    let all: String = outputs.iter().map(|key| format!("{key} = true\n")).collect();
    let all = format!("{all}plots = true\nsize = [64, 64]\nclips = 1\n");
    put(folder.join("short.toml"), &SHORT.replace("report = false\n", &all));
    let output = sinew(&folder, &["run", "short.toml", "-o", "out", "-q"]);
    assert_eq!(code(&output), 0, "{}", text(&output));
    let manifest: serde_json::Value = serde_json::from_str(&read(folder.join("out/manifest.json"))).unwrap();
    let patterns: Vec<(String, String)> = manifest["writes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pattern| {
            let (start, end) = pattern.as_str().unwrap().split_once('*').unwrap_or((pattern.as_str().unwrap(), ""));
            (start.into(), end.into())
        })
        .collect();
    let listed = manifest["outputs"].as_array().unwrap();
    let mut folders = vec![folder.join("out")];
    let mut count = 0;
    while let Some(next) = folders.pop() {
        for path in std::fs::read_dir(next).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(folder.join("out")).unwrap().to_string_lossy().into_owned();
            let is_announced =
                patterns.iter().any(|(start, end)| name.starts_with(start.as_str()) && name.ends_with(end.as_str()));
            assert!(is_announced || name == ".sinew.lock", "{name}");
            let is_listed = listed.iter().any(|file| file.as_str() == Some(&name));
            assert!(is_listed || name == ".sinew.lock", "{name} is not among the outputs");
            count += 1;
        }
    }
    assert!(count > 25, "{count} files");
}
