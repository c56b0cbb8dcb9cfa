//! `sinew status`: the state of runs, from their manifests.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use sinew_run::manifest::{Kind, MANIFEST, Manifest, Status as Written};
use sinew_run::output::{is_busy, is_running};
use sinew_store::Recording;

use super::console::{self, Console};
use super::progress::duration;
use super::resume::run_folder;
use super::{Failure, Status};

/// Shows the state of runs and how to resume them
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Folders of runs [default: all below out/]
    #[arg(value_name = "DIR")]
    pub folders: Vec<PathBuf>,

    /// Prints a JSON list on stdout
    #[arg(long)]
    pub json: bool,

    /// Updates every second until no run is active
    #[arg(long)]
    pub watch: bool,
}

/// Maximum depth of run folders below `out/`.
const DEPTH: usize = 3;

/// Time between updates.
const INTERVAL: Duration = Duration::from_secs(1);

/// Runs the command.
pub fn execute(arguments: &Arguments, console: Console) -> Result<Status, Failure> {
    let mut shown = BTreeSet::new();
    loop {
        let folders =
            if arguments.folders.is_empty() { run_folders(Path::new("out")) } else { arguments.folders.clone() };
        if folders.is_empty() {
            console.note(
                "no runs below out/\nhint: `sinew run SCENE` starts one; `sinew status DIR` reads another folder",
            );
        }
        // An unreadable manifest does not hide the other runs.
        let (runs, errors): (Vec<_>, Vec<_>) = folders.iter().map(|folder| Run::read(folder)).partition(Result::is_ok);
        let runs: Vec<Run> = runs.into_iter().flatten().collect();
        let is_damaged = !errors.is_empty();
        for error in errors.into_iter().filter_map(Result::err) {
            if !shown.contains(&error) {
                console::message(&format!("error: {error}\nhint: give the folder of a run, the one with {MANIFEST}"));
                shown.insert(error);
            }
        }
        if arguments.json {
            console::print(&format!("{:#}\n", Value::Array(runs.iter().map(Run::to_json).collect())))?;
        } else {
            let text: String = runs.iter().map(Run::to_text).collect();
            // Redraw a terminal; append to a file.
            let clear = if arguments.watch && console.terminal { "\x1b[H\x1b[2J" } else { "" };
            console::print(&format!("{clear}{text}"))?;
        }
        if !arguments.watch || !runs.iter().any(|run| run.state == State::Running) {
            return if is_damaged { Err(Failure::Reported) } else { Ok(Status::Done) };
        }
        std::thread::sleep(INTERVAL);
    }
}

/// Folders with a manifest, sorted.
fn run_folders(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut level = vec![root.to_path_buf()];
    for _ in 0..=DEPTH {
        let mut next = Vec::new();
        for folder in level {
            if folder.join(MANIFEST).is_file() {
                found.push(folder.clone());
            }
            let Ok(entries) = std::fs::read_dir(&folder) else { continue };
            next.extend(entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir() && !path.is_symlink()));
        }
        level = next;
    }
    found.sort();
    found
}

/// State of a run, from its manifest and the lock of its folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Running,
    Killed,
    Done,
    Interrupted,
    Failed,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            State::Running => "running",
            State::Killed => "killed",
            State::Done => "done",
            State::Interrupted => "interrupted",
            State::Failed => "failed",
        }
    }
}

struct Run {
    folder: PathBuf,
    manifest: Manifest,
    state: State,
    /// Time of reading, in seconds since 1970.
    now: f64,
}

impl Run {
    fn read(folder: &Path) -> Result<Run, String> {
        let folder = run_folder(folder);
        // Check this before reading the manifest: a run that ends in between then counts as done, not as killed.
        let busy = is_busy(folder);
        let mut manifest = Manifest::read(folder).map_err(|error| error.to_string())?;
        // The laboratory does not lock its folder, since several protocols may share it; shots lock their own.
        let busy = busy || (manifest.kind != Kind::Run && is_running(manifest.process));
        let state = match manifest.status {
            Written::Running if busy => State::Running,
            Written::Running => State::Killed,
            Written::Done => State::Done,
            Written::Interrupted => State::Interrupted,
            Written::Failed => State::Failed,
        };
        if state == State::Killed {
            // Runs write the manifest once a second, but the recording after every frame.
            manifest.frames = manifest.frames.max(recorded_frames(folder));
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64());
        Ok(Run { folder: folder.into(), manifest, state, now })
    }

    /// Time left, from the mean time of a frame so far \[s\].
    fn seconds_left(&self) -> Option<f64> {
        let Manifest { frames, frames_planned, started, updated, .. } = self.manifest;
        let is_known = self.state == State::Running && frames > 0 && frames_planned > frames && updated > started;
        let since = (self.now - updated).max(0.0);
        is_known.then(|| ((updated - started) / frames as f64 * (frames_planned - frames) as f64 - since).max(0.0))
    }

    /// Seconds from the start to the last update.
    fn seconds(&self) -> f64 {
        let end = if self.state == State::Running { self.now } else { self.manifest.updated };
        (end - self.manifest.started).max(0.0)
    }

    /// The command that continues a run that ended early.
    fn resume_command(&self) -> Option<String> {
        let has_ended_early = !matches!(self.state, State::Running | State::Done);
        has_ended_early.then(|| format!("sinew resume {}", shell_word(&self.folder.to_string_lossy())))
    }

    /// The command that started it, if a command did.
    fn command(&self) -> Option<String> {
        let words: Vec<String> = self.manifest.origin.command.iter().map(|word| shell_word(word)).collect();
        (!words.is_empty()).then(|| format!("sinew {}", words.join(" ")))
    }

    fn to_text(&self) -> String {
        let manifest = &self.manifest;
        let mut text = format!("{}: {}", self.folder.display(), self.state.word());
        if manifest.kind != Kind::Lab {
            let what = if manifest.kind == Kind::Shots { "shots" } else { "frames" };
            text += &format!(", {} of {} {what}", manifest.frames, manifest.frames_planned);
        }
        text += &format!(" in {}", span(self.seconds()));
        if let Some(left) = self.seconds_left() {
            text += &format!(", {} left", span(left));
        }
        match manifest.passed {
            Some(true) => text += ", passed",
            Some(false) => text += ", expectations FAILED",
            None => {}
        }
        text += &format!("\n  scene {}", manifest.scene);
        if !manifest.overrides.is_empty() {
            text += &format!(" with {}", manifest.overrides.join(", "));
        }
        text.push('\n');
        if let Some(command) = self.command() {
            text += &format!("  command: {command}\n");
        }
        if self.state == State::Running {
            text += &format!("  process {} on {} threads\n", manifest.process, manifest.machine.threads);
        }
        if let Some(checkpoint) = manifest.checkpoint.filter(|_| self.state != State::Done) {
            text += &format!("  last checkpoint after frame {checkpoint}\n");
        }
        if manifest.resumed > 0 {
            text += &format!("  resumed {} times, {} frames were recomputed\n", manifest.resumed, manifest.recomputed);
        }
        for warning in &manifest.warnings {
            text += &format!("  warning: {warning}\n");
        }
        if let Some(error) = &manifest.error {
            let indented: Vec<String> = error.trim_end().lines().map(|line| format!("  {line}")).collect();
            text += &format!("{}\n", indented.join("\n"));
        }
        if let Some(command) = self.resume_command() {
            let what = if manifest.checkpoint.is_some() { "continue" } else { "start again" };
            text += &format!("  {what}: {command}\n");
        }
        text
    }

    fn to_json(&self) -> Value {
        let mut value = self.manifest.to_json();
        if let Value::Object(fields) = &mut value {
            fields.insert("folder".into(), json!(self.folder.to_string_lossy()));
            fields.insert("state".into(), json!(self.state.word()));
            fields.insert("seconds".into(), json!(self.seconds()));
            fields.insert("seconds_left".into(), json!(self.seconds_left()));
            fields.insert("resume".into(), json!(self.resume_command()));
        }
        value
    }
}

/// Number of frames in the recording of a folder, without the initial one.
fn recorded_frames(folder: &Path) -> usize {
    let recording = super::play::recording_of(folder).ok().and_then(|path| Recording::open(&path).ok());
    recording.map_or(0, |recording| recording.frame_count().saturating_sub(1))
}

fn span(seconds: f64) -> String {
    duration(Duration::try_from_secs_f64(seconds).unwrap_or_default())
}

/// A word quoted for a shell.
pub(super) fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/=+:,@%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.into()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use sinew_run::manifest::Origin;

    use super::*;

    fn run(state: State) -> Run {
        let command = ["run", "my scene.toml", "--set", "body.a.material.young=10 kPa"].map(String::from).to_vec();
        let manifest = Manifest {
            origin: Origin { command, directory: String::new() },
            scene: "my scene.toml".into(),
            overrides: vec!["body.a.material.young=10 kPa".into()],
            started: 100.0,
            updated: 110.0,
            frames: 10,
            frames_planned: 40,
            checkpoint: Some(8),
            ..Manifest::default()
        };
        Run { folder: "out/it's".into(), manifest, state, now: 112.0 }
    }

    #[test]
    fn time_left_counts_from_the_last_update() {
        // A second per frame, thirty frames, two seconds ago.
        assert_eq!(run(State::Running).seconds_left(), Some(28.0));
        assert_eq!(run(State::Killed).seconds_left(), None);
    }

    #[test]
    fn a_killed_run_says_how_to_continue() {
        let text = run(State::Killed).to_text();
        let lines = [
            "killed, 10 of 40 frames",
            "command: sinew run 'my scene.toml' --set 'body.a.material.young=10 kPa'",
            "continue: sinew resume 'out/it'\\''s'",
        ];
        assert!(lines.iter().all(|line| text.contains(line)), "{text}");
        assert!(!run(State::Done).to_text().contains("resume"));
    }
}
