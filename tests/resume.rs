//! Killed runs continue with the same bits, for every scene.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::support;
use crate::support::{frames_to_resume, numbers};
use sinew::fem::StepReport;
use sinew::prelude::*;
use sinew::scene::run::Observer;
use sinew::scene::spec::record::Output;
use sinew::scene::store::Recording;
use sinew::scene::value_table::ValueKind;

/// Copies the run folder after a frame: a killed process leaves the same files behind.
struct Snapshot {
    frame: usize,
    seen: usize,
    from: PathBuf,
    to: PathBuf,
}

impl Observer for Snapshot {
    fn frame(&mut self, _done: usize, _all: usize, _report: &StepReport) -> ControlFlow<()> {
        self.seen += 1;
        if self.seen == self.frame {
            copy(&self.from, &self.to);
        }
        ControlFlow::Continue(())
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn kill_and_resume(path: &Path, seed: u64) -> Option<String> {
    let name = path.strip_prefix(support::root()).unwrap().to_string_lossy().replace(['/', '\\'], "-");
    let mut scene = Scene::load(path).unwrap_or_else(|error| panic!("{error}"));
    // Pictures are made from the same frames, and take longer than everything else.
    (scene.record.report, scene.record.apng, scene.record.png) = (Output::Off, Output::Off, Output::Off);
    let cases = scene.study.as_ref().map_or(1, |study| study.runs().len());
    let most = frames_to_resume(path, &scene)?;
    let frames = most * cases;
    let folder = support::fresh_folder(&format!("resume-{name}"));
    let (whole, killed) = (folder.join("whole"), folder.join("killed"));
    let frame = 1 + (seed as usize % (frames - 1));
    let mut watch = Snapshot { frame, seen: 0, from: whole.clone(), to: killed.clone() };
    // A checkpoint after about every other frame: some frames are recomputed, some are not.
    let options = |output: &Path, resume: bool| RunOptions {
        output: Some(output.into()),
        checkpoint: Some(if seed.is_multiple_of(2) { 0.0 } else { 0.05 }),
        frames: Some(most),
        resume,
        ..RunOptions::default()
    };
    let expected = run(&scene, &options(&whole, false), &mut watch).unwrap_or_else(|error| panic!("{name}: {error}"));
    for name in expected.history.names() {
        assert!(ValueKind::of(name).is_some(), "{path:?}: {name} is not in crates/sinew-scene/src/value_table.rs");
    }
    // A kill during the run of a scene for comparison leaves only the beginning of that scene to continue from.
    let has_checkpoint = killed.join("checkpoint.bin").exists();
    let resumed = run(&scene, &options(&killed, true), &mut ()).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(resumed.resumed, usize::from(has_checkpoint), "{name}");
    assert_eq!(resumed.hash, expected.hash, "{name}: killed after frame {frame}");
    assert_eq!(resumed.history, expected.history, "{name}: killed after frame {frame}");
    assert_eq!(resumed.passed(), expected.passed(), "{name}");
    assert_eq!(numbers(&killed.join("recording.sinew")), numbers(&whole.join("recording.sinew")), "{name}");
    let table = |folder: &Path| std::fs::read(folder.join("probes.csv")).unwrap_or_default();
    assert_eq!(table(&killed), table(&whole), "{name}");
    let _ = std::fs::remove_dir_all(folder);
    Some(name)
}

/// Every second scene of `scenes/`, from the first or the second on: friction, tracks, rigid bodies, studies, comparisons.
fn kill_and_resume_half(half: usize) {
    let mut seed = 0x9e37_79b9_7f4a_7c15u64;
    let folder = support::root().join("scenes");
    let mut resumed = Vec::new();
    let is_scene = |path: &PathBuf| {
        let is_toml = path.extension().is_some_and(|extension| extension == "toml");
        path.starts_with(&folder) && is_toml
    };
    for path in support::files().into_iter().filter(is_scene).skip(half).step_by(2) {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        resumed.extend(kill_and_resume(&path, seed >> 33));
    }
    assert!(resumed.len() >= 5, "only {resumed:?} have three frames");
}

#[test]
fn scenes_that_are_killed_continue_with_the_same_bits() {
    kill_and_resume_half(0);
}

#[test]
fn the_other_scenes_that_are_killed_continue_with_the_same_bits() {
    kill_and_resume_half(1);
}

#[test]
fn a_scene_that_has_changed_is_not_continued() {
    let folder = support::fresh_folder("resume-changed");
    let text = support::read("scenes/basics/hanging_block.toml");
    let scene = |text: &str| Scene::from_str(text, "a.toml", support::root().join("scenes/basics")).unwrap();
    let options =
        |resume: bool| RunOptions { output: Some(folder.clone()), frames: Some(2), resume, ..RunOptions::default() };
    run(&scene(&text), &options(false), &mut ()).unwrap();
    let error = run(&scene(&format!("{text}\n# changed")), &options(true), &mut ()).unwrap_err().to_string();
    assert!(error.contains("has changed") && error.contains("--resume"), "{error}");
    // The earlier run is untouched and can be continued with more frames.
    let longer = RunOptions { frames: Some(4), ..options(true) };
    let outcome = run(&scene(&text), &longer, &mut ()).unwrap();
    assert_eq!((outcome.frames, outcome.recomputed, outcome.history.frame_count()), (4, 0, 5));
}

#[test]
fn an_unfinished_run_is_put_aside_and_not_thrown_away() {
    struct Stop;
    impl Observer for Stop {
        fn frame(&mut self, done: usize, _: usize, _: &StepReport) -> ControlFlow<()> {
            if done == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    let folder = support::fresh_folder("resume-aside");
    let scene = Scene::load(support::root().join("scenes/basics/hanging_block.toml")).unwrap();
    let options = RunOptions { output: Some(folder.clone()), frames: Some(6), ..RunOptions::default() };
    let outcome = run(&scene, &options, &mut Stop).unwrap();
    assert!(outcome.interrupted && outcome.frames == 3);
    let outcome = run(&scene, &options, &mut ()).unwrap();
    assert!(outcome.notes.iter().any(|note| note.contains("previous-recording.sinew")), "{:?}", outcome.notes);
    assert_eq!(Recording::open(&folder.join("previous-recording.sinew")).unwrap().frame_count(), 4);
    assert_eq!(Recording::open(&folder.join("recording.sinew")).unwrap().frame_count(), 7);
}
