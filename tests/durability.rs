//! Files that a run has reported as written survive any failure of its process, its disk and its folder.
#![cfg(unix)]

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::support;
use serde_json::Value;
use sinew::scene::store::Recording;

/// A bar with a track, friction and a rigid body: some milliseconds per frame, so that kills hit every phase.
const SCENE: &str = r#"
title = "to be killed"
duration = "0.3 s"
frame_rate = "100 Hz"
[[body]]
name = "bar"
mesh = { from = "box", size = ["16 cm", "4 cm", "4 cm"], cell = "2 cm" }
position = [0, 0, "1 cm"]
material = { type = "stable_neo_hookean", young = "40 kPa", poisson = 0.4 }
pin = [{ region = "x-min", motion = { translation = [["0 s", [0, 0, 0]], ["0.4 s", ["5 cm", 0, "-1 cm"]]] } }]
[[collider]]
name = "floor"
shape = { type = "plane" }
friction = 0.4
[record]
usd = true
vtu = true
png = false
apng = false
report = false
[expect]
"energy.total" = { min = "-1 kJ" }
"#;

fn scene(folder: &Path) -> PathBuf {
    let path = folder.join("bar.toml");
    std::fs::write(&path, SCENE).unwrap();
    path
}

fn command(scene: &Path, output: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sinew"));
    command.arg("run").arg(scene).arg("-o").arg(output).args(more);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn finished(mut command: Command) -> Output {
    command.output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The `--json` output of a run.
fn result(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(output)))
}

/// Waits until a file exists.
fn wait_for(path: &Path, child: &mut Child) {
    let start = Instant::now();
    while !path.exists() {
        assert!(start.elapsed() < Duration::from_secs(60), "{} does not appear", path.display());
        assert!(child.try_wait().unwrap().is_none(), "the run ended before {} appeared", path.display());
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Every file in a folder and below that is neither hidden nor different in every run, with its content.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap().flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            // The report and the manifest contain times; recording and checkpoint do too.
            let is_timed =
                ["report.html", "manifest.json", "checkpoint.bin", "recording.sinew"].contains(&name.as_str());
            if path.is_dir() {
                folders.push(path);
            } else if !name.starts_with('.') && !is_timed {
                found.push((path.strip_prefix(folder).unwrap().to_path_buf(), std::fs::read(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

/// No file of a killed run is half written: visible files are complete.
fn assert_whole(folder: &Path, recorded: usize) {
    for (name, content) in files(folder) {
        let end: &[u8] = match name.extension().and_then(|extension| extension.to_str()) {
            Some("vtu" | "pvd") => b"</VTKFile>\n",
            Some("usda") => b"}\n",
            Some("csv") => b"\n",
            other => panic!("what is {other:?}?"),
        };
        assert!(content.ends_with(end), "{} is half a file", name.display());
    }
    let manifest: Value = serde_json::from_slice(&std::fs::read(folder.join("manifest.json")).unwrap()).unwrap();
    let reported = manifest["frames"].as_u64().unwrap() as usize;
    assert!(recorded > reported, "{reported} frames were reported, but {recorded} with the first are there");
}

#[test]
fn fifty_kills_lose_nothing_and_the_result_has_the_same_bits() {
    let folder = support::fresh_folder("durability-kill");
    let scene = scene(&folder);
    let whole = folder.join("whole");
    let start = Instant::now();
    let output = finished(command(&scene, &whole, &["--json", "--checkpoint", "0.02"]));
    let duration = start.elapsed();
    assert!(output.status.success(), "{}", text(&output));
    let expected = result(&output);
    let expected_files = files(&whole);
    let mut seed = 0x2545_f491_4f6c_dd1du64;
    let (mut kills, mut rounds, mut recomputed) = (0, 0, 0);
    // Killed again and again until it is complete, then once more from the beginning, until fifty kills have hit.
    while kills < 50 {
        rounds += 1;
        let killed = folder.join(format!("killed-{rounds}"));
        loop {
            let mut child = command(&scene, &killed, &["--resume", "--checkpoint", "0.02"]).spawn().unwrap();
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            std::thread::sleep(duration.mul_f64((seed >> 40) as f64 / (1u64 << 24) as f64 * 0.9));
            if kills >= 50 || child.try_wait().unwrap().is_some() {
                let output = child.wait_with_output().unwrap();
                assert!(output.status.success(), "after {kills} kills: {}", text(&output));
                break;
            }
            child.kill().unwrap();
            child.wait().unwrap();
            kills += 1;
            if let Ok(recording) = Recording::open(&killed.join("recording.sinew")) {
                assert_whole(&killed, recording.frame_count());
            }
        }
        let output = finished(command(&scene, &killed, &["--resume", "--json"]));
        assert!(output.status.success(), "{}", text(&output));
        let got = result(&output);
        for key in ["hash", "frames", "probes", "expectations"] {
            assert_eq!(got[key], expected[key], "{key} after {kills} kills");
        }
        recomputed += got["recomputed"].as_u64().unwrap();
        let got_files = files(&killed);
        let names = |files: &[(PathBuf, Vec<u8>)]| files.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&got_files), names(&expected_files), "after {kills} kills");
        for ((name, got), (_, expected)) in got_files.iter().zip(&expected_files) {
            assert!(got == expected, "{} differs after {kills} kills", name.display());
        }
        let _ = std::fs::remove_dir_all(&killed);
    }
    assert!(recomputed > 0, "fifty kills never hit between two checkpoints");
}

#[test]
fn two_runs_cannot_share_a_folder() {
    let folder = support::fresh_folder("durability-two");
    let scene = scene(&folder);
    let output = folder.join("out");
    let mut first = command(&scene, &output, &[]).spawn().unwrap();
    wait_for(&output.join("manifest.json"), &mut first);
    let second = finished(command(&scene, &output, &[]));
    assert_eq!(second.status.code(), Some(2), "{}", text(&second));
    assert!(text(&second).contains("another run is writing"), "{}", text(&second));
    let first = first.wait_with_output().unwrap();
    assert!(first.status.success(), "{}", text(&first));
    assert_eq!(Recording::open(&output.join("recording.sinew")).unwrap().frame_count(), 31);
}

#[test]
fn a_folder_that_cannot_be_written_is_refused_before_anything_is_computed() {
    let folder = support::fresh_folder("durability-read-only");
    let scene = scene(&folder);
    let locked = folder.join("locked");
    std::fs::create_dir(&locked).unwrap();
    std::fs::set_permissions(&locked, Permissions::from_mode(0o555)).unwrap();
    // Root may write anywhere except in the system's own tree.
    let is_root = std::fs::write(locked.join("probe"), b"").is_ok();
    let output = if is_root { PathBuf::from("/proc/sinew-test") } else { locked.join("out") };
    let start = Instant::now();
    let run = finished(command(&scene, &output, &[]));
    assert_eq!(run.status.code(), Some(2), "{}", text(&run));
    assert!(text(&run).contains("cannot write to the output folder"), "{}", text(&run));
    assert!(start.elapsed() < Duration::from_secs(20));
    let _ = std::fs::set_permissions(&locked, Permissions::from_mode(0o755));
}

/// A small disk, if the system allows creating one.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn new(path: PathBuf, kilobytes: usize) -> Option<SmallDisk> {
        std::fs::create_dir_all(&path).ok()?;
        let size = format!("size={kilobytes}k");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&path).output().ok()?;
        mounted.status.success().then_some(SmallDisk(path))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).output();
    }
}

/// The disk is full for the files of other programs, or for the recording itself.
#[test]
fn a_full_disk_keeps_what_was_written_and_can_be_continued_elsewhere() {
    let folder = support::fresh_folder("durability-full");
    let scene = scene(&folder);
    let only_recording = ["--set", "record.vtu=false", "--set", "record.usd=false", "--set", "duration=1.5"];
    for (name, kilobytes, settings) in [("files", 700, &[][..]), ("recording", 400, &only_recording)] {
        // Without the right to mount, /dev/full serves: it is full for everyone.
        let Some(disk) = SmallDisk::new(folder.join(name), kilobytes) else {
            eprintln!("no right to mount a small disk: only the message is checked");
            let full = finished(command(&scene, Path::new("/dev/full"), &[]));
            assert_eq!(full.status.code(), Some(2));
            return;
        };
        let output = disk.0.join("out");
        let run = finished(command(&scene, &output, &[&["--checkpoint", "0"], settings].concat()));
        let told = text(&run);
        assert_eq!(run.status.code(), Some(2), "{name}: {told}");
        assert!(told.contains("No space left") && told.contains("sinew resume"), "{name}: {told}");
        let recording = Recording::open(&output.join("recording.sinew")).unwrap();
        let line = told.lines().find_map(|line| line.split_once(" frames are in"));
        let kept: usize = line.and_then(|(count, _)| count.parse().ok()).unwrap_or_else(|| panic!("{told}"));
        assert!(recording.frame_count() > kept, "{kept} frames were reported, {} are there", recording.frame_count());
        let leftovers = files(&output).into_iter().filter(|(_, content)| content.is_empty());
        assert_eq!(leftovers.count(), 0, "empty files are half files");
        // The folder moves to a disk with space, and the run continues.
        let room = folder.join(format!("room-{name}"));
        let copied = Command::new("cp").arg("-r").arg(&output).arg(&room).status().unwrap();
        assert!(copied.success());
        let resumed = finished(command(&scene, &room, &[&["--resume", "--json"], settings].concat()));
        assert!(resumed.status.success(), "{name}: {}", text(&resumed));
        let fresh = folder.join(format!("fresh-{name}"));
        let fresh = finished(command(&scene, &fresh, &[&["--json"], settings].concat()));
        assert_eq!(result(&resumed)["hash"], result(&fresh)["hash"], "{name}");
        assert!(result(&resumed)["recomputed"].as_u64().unwrap() <= 2, "{name}: a checkpoint follows every frame");
    }
}
