//! `sinew run`: from a scene file to files one can look at, and a verdict.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sinew_fem::{Interrupt, StepReport};
use sinew_run::expect::Checked;
use sinew_run::run::{Observer, RunOptions, RunOutcome};
use sinew_run::timing::TimingNode;
use sinew_scene::{Override, Scene, format_number};

use super::progress::{Progress, duration};
use super::talk::Talk;
use super::{Failure, Status, table, talk};

/// Runs a scene, writes what it records, and checks what it expects
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Scene file (TOML)
    pub scene: PathBuf,

    /// Folder for the results [default: out/<name of the scene>]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,

    /// Replaces a value of the scene, for example body.flesh.material.young="10 kPa"
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub overrides: Vec<String>,

    /// Writes nothing, only checks what the scene expects
    #[arg(long, conflicts_with = "output")]
    pub no_files: bool,

    /// Stops after this many frames; what is expected of later times is then not reached, which ends with status 1
    #[arg(long, value_name = "N")]
    pub frames: Option<usize>,

    /// Continues the run in the output folder where it stopped, was killed or ran out of disk
    #[arg(long, conflicts_with = "no_files")]
    pub resume: bool,

    /// Seconds of computing between checkpoints [default: what the scene says, else 30]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub checkpoint: Option<f64>,

    /// Replaces files in the output folder that no run wrote
    #[arg(long, conflicts_with = "no_files")]
    pub force: bool,

    /// Prints the result as one JSON object on stdout
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
pub fn execute(arguments: &Arguments, talk: Talk) -> Result<Status, Failure> {
    let overrides: Vec<Override> = arguments.overrides.iter().cloned().map(Override::from).collect();
    let scene = Scene::load_with(&arguments.scene, &overrides)?;
    let output = arguments.output.clone().unwrap_or_else(|| default_output(&arguments.scene));
    let output = (!arguments.no_files).then_some(output);
    let (frames, resume, checkpoint) = (arguments.frames, arguments.resume, arguments.checkpoint);
    let options = RunOptions { output, frames, overrides, resume, checkpoint, replace: arguments.force };
    simulate(&scene, &options, talk, arguments.json)
}

/// A time that is not negative.
fn seconds(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "not a number".to_string())?;
    if value >= 0.0 { Ok(value) } else { Err("must not be negative".into()) }
}

/// `out/<name of the scene>` in the current folder.
fn default_output(scene: &Path) -> PathBuf {
    Path::new("out").join(scene.file_stem().unwrap_or("scene".as_ref()))
}

/// Runs a scene that is already read; `demo` and `run` differ only in where the scene comes from.
pub fn simulate(scene: &Scene, options: &RunOptions, talk: Talk, json: bool) -> Result<Status, Failure> {
    simulate_and(scene, options, talk, json, |_| Ok(()))
}

/// The same with something to do before anything of a complete run is told.
pub(super) fn simulate_and(
    scene: &Scene,
    options: &RunOptions,
    talk: Talk,
    json: bool,
    finish: impl FnOnce(&mut RunOutcome) -> Result<(), Failure>,
) -> Result<Status, Failure> {
    if let Some(threads) = scene.threads {
        // Refused when `--threads` has made the pool already, which is the order of precedence we want.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    }
    let mut watch = Watch::new(talk);
    let result = sinew_run::run::run(scene, options, &mut watch);
    watch.clear();
    let mut outcome = result?;
    if !outcome.interrupted {
        finish(&mut outcome)?;
    }
    if json {
        talk::print(&format!("{}\n", outcome.to_json()))?;
    }
    outcome.notes.iter().for_each(|note| watch.note(note));
    if outcome.resumed > 0 {
        talk.note(&format!("resumed; {} frames were recomputed", outcome.recomputed));
    }
    talk.note(&timing_tree(&outcome.timing));
    if let Some(study) = &outcome.study {
        talk.note(&study.to_string());
    }
    if !outcome.expectations.is_empty() {
        let failed = outcome.expectations.iter().any(|check| !check.passed);
        if talk.notes || failed {
            talk::complain(expectation_table(&outcome.expectations).trim_end());
        }
    }
    for line in written(&outcome.outputs) {
        talk.note(&line);
    }
    verdict(&outcome, talk)
}

/// One line per file, and one per folder with many.
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

fn verdict(outcome: &RunOutcome, talk: Talk) -> Result<Status, Failure> {
    if outcome.interrupted {
        return Err(Failure::Other(format!(
            "interrupted, {} frames kept; `--resume` continues after them",
            outcome.frames
        )));
    }
    let all = outcome.expectations.len();
    let failed = outcome.expectations.iter().filter(|check| check.failed()).count();
    let missed = outcome.expectations.iter().filter(|check| !check.reached).count();
    // Status 0 promises that everything expected was seen to hold.
    match (failed, missed) {
        (0, 0) if all > 0 => talk.note(&format!("{all} expectations hold")),
        (0, 0) => {}
        (failed, 0) => talk::complain(&format!("{failed} of {all} expectations failed")),
        (0, missed) => talk::complain(&format!("{missed} of {all} expectations were not reached")),
        (failed, missed) => {
            talk::complain(&format!("{failed} of {all} expectations failed, {missed} were not reached"));
        }
    }
    if failed + missed > 0 {
        return Ok(Status::Unexpected);
    }
    Ok(Status::Done)
}

/// Shows progress and stops the run when asked to.
pub(super) struct Watch {
    talk: Talk,
    progress: Progress,
    interrupt: Interrupt,
    /// Notes that were told when they came up.
    told: BTreeSet<String>,
}

impl Watch {
    pub(super) fn new(talk: Talk) -> Self {
        Self { talk, progress: Progress::new(talk), interrupt: Interrupt::ambient(), told: BTreeSet::new() }
    }

    /// Clears the line of progress, so that what follows stands alone.
    pub(super) fn clear(&mut self) {
        self.progress.clear();
    }
}

impl Observer for Watch {
    fn note(&mut self, text: &str) {
        if self.told.insert(text.into()) {
            self.progress.clear();
            self.talk.note(&format!("note: {text}"));
        }
    }

    fn stage(&mut self, text: &str) {
        self.progress.clear();
        self.talk.note(text);
        self.progress = Progress::new(self.talk);
    }

    fn begin(&mut self, done: usize, all: usize) {
        self.progress.begin(done, all);
    }

    fn frame(&mut self, done: usize, all: usize, report: &StepReport) -> ControlFlow<()> {
        self.progress.update(done, all, &report.to_string());
        if self.interrupt.is_wanted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// The expectations as a table: what was expected, what came, and a word.
pub(super) fn expectation_table(checks: &[Checked]) -> String {
    let mut rows = vec![["", "probe", "expected", "got", "time"].map(String::from).to_vec()];
    for check in checks {
        let time = check.time.map(|time| format!("{} s", format_number(time))).unwrap_or_default();
        rows.push(vec![check.word().into(), check.name.clone(), check.expected.clone(), check.got_text(), time]);
    }
    table::layout(&rows, &[false, false, false, true, true])
}

/// Where the time went, as an indented tree with shares of the whole.
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
