//! `sinew run`: runs a scene, writes its outputs, and checks its expectations.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sinew_fem::{Interrupt, StepReport};
use sinew_run::expect::Checked;
use sinew_run::manifest::Origin;
use sinew_run::run::{Observer, RunOptions, RunOutcome};
use sinew_run::timing::TimingNode;
use sinew_scene::{Override, Scene, format_number};

use super::console::Console;
use super::progress::{Progress, duration};
use super::status::shell_word;
use super::{Failure, Status, console, table, use_threads_of};

/// Runs a scene, records it, and checks its expectations
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Scene file (TOML)
    pub scene: PathBuf,

    /// Folder for the results [default: out/SCENE]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,

    /// Replaces a value of the scene, for example body.flesh.material.young="10 kPa"
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub overrides: Vec<String>,

    /// Writes no files; only checks the expectations
    #[arg(long, conflicts_with = "output")]
    pub no_files: bool,

    /// Draws no pictures, also none in the report; `sinew convert` draws them later
    #[arg(long)]
    pub no_pictures: bool,

    /// Stops after this many frames. Expectations at later times are not reached: the exit status is 1
    #[arg(long, value_name = "N")]
    pub frames: Option<usize>,

    /// Continues the run of the output folder after an interruption, crash or full disk
    #[arg(long, conflicts_with = "no_files")]
    pub resume: bool,

    /// Seconds of computing between checkpoints [default: as in the scene, else 30]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub checkpoint: Option<f64>,

    /// Also replaces files in the output folder that no run wrote
    #[arg(long, conflicts_with = "no_files")]
    pub force: bool,

    /// Prints the result as one JSON object on stdout
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
pub fn execute(arguments: &Arguments, origin: Origin, console: Console) -> Result<Status, Failure> {
    let overrides: Vec<Override> = arguments.overrides.iter().cloned().map(Override::from).collect();
    let mut scene = Scene::load_with(&arguments.scene, &overrides)?;
    scene.record.pictures &= !arguments.no_pictures;
    let output = arguments.output.clone().unwrap_or_else(|| default_output(&arguments.scene));
    let output = (!arguments.no_files).then_some(output);
    let (frames, resume, checkpoint) = (arguments.frames, arguments.resume, arguments.checkpoint);
    let options = RunOptions { output, frames, overrides, resume, checkpoint, replace: arguments.force, origin };
    simulate(&scene, &options, console, arguments.json)
}

/// A time that is not negative.
fn seconds(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "not a number".to_string())?;
    if value >= 0.0 { Ok(value) } else { Err("must not be negative".into()) }
}

/// `out/SCENE` in the current folder.
fn default_output(scene: &Path) -> PathBuf {
    Path::new("out").join(scene.file_stem().unwrap_or("scene".as_ref()))
}

/// Runs a scene; `demo` and `run` differ only in its source.
pub fn simulate(scene: &Scene, options: &RunOptions, console: Console, json: bool) -> Result<Status, Failure> {
    simulate_and(scene, options, console, json, |_| Ok(()))
}

/// Runs a scene and calls `finish` after a complete run, before the report.
pub(super) fn simulate_and(
    scene: &Scene,
    options: &RunOptions,
    console: Console,
    json: bool,
    finish: impl FnOnce(&mut RunOutcome) -> Result<(), Failure>,
) -> Result<Status, Failure> {
    use_threads_of(scene);
    let mut watch = Watch::new(console);
    let result = sinew_run::run::run(scene, options, &mut watch);
    watch.clear();
    let mut outcome = result?;
    if !outcome.interrupted {
        finish(&mut outcome)?;
    }
    if json {
        console::print(&format!("{}\n", outcome.to_json()))?;
    }
    outcome.notes.iter().for_each(|note| watch.note(note));
    outcome.warnings.iter().for_each(|warning| console::message(&format!("warning: {warning}")));
    if outcome.resumed > 0 {
        console.note(&format!("resumed; {} frames were recomputed", outcome.recomputed));
    }
    console.note(&timing_tree(&outcome.timing));
    if let Some(study) = &outcome.study {
        console.note(&study.to_string());
    }
    if !outcome.expectations.is_empty() {
        let failed = outcome.expectations.iter().any(|check| !check.passed);
        if console.notes || failed {
            console::message(expectation_table(&outcome.expectations).trim_end());
        }
    }
    for line in written(&outcome.outputs) {
        console.note(&line);
    }
    verdict(&outcome, options.output.as_deref(), console)
}

/// One line per file, or one per folder with many files.
fn written(files: &[PathBuf]) -> Vec<String> {
    const MANY: usize = 4;
    let mut folders: BTreeMap<&Path, Vec<&PathBuf>> = BTreeMap::new();
    for file in files {
        folders.entry(file.parent().unwrap_or(Path::new(""))).or_default().push(file);
    }
    let mut lines = Vec::new();
    for (folder, files) in folders {
        let (frames, single): (Vec<_>, Vec<_>) = files.into_iter().partition(|file| {
            // Numbered files of a sequence, such as frame_00012.png.
            file.file_stem()
                .and_then(|stem| stem.to_str())
                .is_some_and(|stem| stem.ends_with(|c: char| c.is_ascii_digit()))
        });
        lines.extend(single.iter().map(|file| format!("wrote {}", file.display())));
        match frames.len() {
            count if count > MANY => lines.push(format!("wrote {count} numbered files in {}", folder.display())),
            _ => lines.extend(frames.iter().map(|file| format!("wrote {}", file.display()))),
        }
    }
    lines
}

fn verdict(outcome: &RunOutcome, folder: Option<&Path>, console: Console) -> Result<Status, Failure> {
    if outcome.interrupted {
        let Some(folder) = folder else { return Err(Failure::Other("interrupted".into())) };
        return Err(Failure::Other(format!(
            "interrupted; {} frames are kept, and `sinew resume {}` continues after them",
            outcome.frames,
            shell_word(&folder.to_string_lossy())
        )));
    }
    let all = outcome.expectations.len();
    let failed = outcome.expectations.iter().filter(|check| check.failed()).count();
    let missed = outcome.expectations.iter().filter(|check| !check.reached).count();
    // Status 0 means that all expectations were reached and hold.
    match (failed, missed) {
        (0, 0) if all == 1 => console.note("1 expectation holds"),
        (0, 0) if all > 0 => console.note(&format!("{all} expectations hold")),
        (0, 0) => {}
        (failed, 0) => console::message(&format!("{failed} of {all} expectations failed")),
        (0, missed) => console::message(&format!("{missed} of {all} expectations were not reached")),
        (failed, missed) => {
            console::message(&format!("{failed} of {all} expectations failed, {missed} were not reached"));
        }
    }
    if failed + missed > 0 {
        return Ok(Status::Unexpected);
    }
    Ok(Status::Done)
}

/// Shows progress and stops the run on an interrupt.
pub(super) struct Watch {
    console: Console,
    progress: Progress,
    interrupt: Interrupt,
    /// Notes already shown.
    shown: BTreeSet<String>,
}

impl Watch {
    pub(super) fn new(console: Console) -> Self {
        Self { console, progress: Progress::new(console), interrupt: Interrupt::ambient(), shown: BTreeSet::new() }
    }

    /// Clears the progress line before other output.
    pub(super) fn clear(&mut self) {
        self.progress.clear();
    }
}

impl Observer for Watch {
    fn note(&mut self, text: &str) {
        if self.shown.insert(text.into()) {
            self.progress.clear();
            self.console.note(&format!("note: {text}"));
        }
    }

    fn stage(&mut self, text: &str) {
        self.progress.clear();
        self.console.note(text);
        self.progress = Progress::new(self.console);
    }

    fn begin(&mut self, done: usize, all: usize) {
        self.progress.begin(done, all);
    }

    fn frame(&mut self, done: usize, all: usize, report: &StepReport) -> ControlFlow<()> {
        self.progress.update(done, all, &report.to_string());
        if self.interrupt.is_wanted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn pictures(&mut self, done: usize, all: usize) {
        self.progress.pictures(done, all);
    }
}

/// The expectations as a table: verdict, probe, expected and actual value, time.
fn expectation_table(checks: &[Checked]) -> String {
    let mut rows = vec![["", "probe", "expected", "got", "time"].map(String::from).to_vec()];
    for check in checks {
        let time = check.time.map(|time| format!("{} s", format_number(time))).unwrap_or_default();
        rows.push(vec![check.word().into(), check.name.clone(), check.expected.clone(), check.got_text(), time]);
    }
    table::layout(&rows, &[false, false, false, true, true])
}

/// Time per part of the run, as an indented tree with shares of the whole.
fn timing_tree(root: &TimingNode) -> String {
    fn add(node: &TimingNode, whole: f64, depth: usize, rows: &mut Vec<Vec<String>>) {
        let share = if whole > 0.0 { 100.0 * node.seconds / whole } else { 0.0 };
        let name = format!("{}{}", "  ".repeat(depth), node.name);
        rows.push(vec![name, duration(Duration::from_secs_f64(node.seconds.max(0.0))), format!("{share:.0} %")]);
        for child in &node.children {
            add(child, whole, depth + 1, rows);
        }
    }
    let mut rows = Vec::new();
    add(root, root.seconds, 0, &mut rows);
    table::layout(&rows, &[false, true, true]).trim_end().to_string()
}
