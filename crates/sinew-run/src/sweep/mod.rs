//! Sweeps: one scene, many values, one table.
//!
//! Every point is an ordinary run in a folder of its own, which can be killed, resumed and inspected like any other. All
//! state is on disk: `manifest.json` says whether a point is done, and the lock of its folder ensures that only one process
//! computes it. Folders have the form of those of `sinew.sweep` in Python, which reads them too.

mod plan;
pub(crate) mod workers;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value, json};
use sinew_fem::Interrupt;
use sinew_record::record::write_file;
use sinew_scene::suggest;
use sinew_scene::{Override, Scene};
use thiserror::Error;

pub use self::plan::Axis;
use self::plan::{Plan, SCENE, relative, text_of};
use crate::compile::compile;
use crate::manifest::{Manifest, Status};
use crate::run::{Observer, RunError, RunOptions, RunOutcome, run};

/// A sweep to run.
#[derive(Clone, Debug, Default)]
pub struct SweepOptions {
    /// The scene file.
    pub scene: PathBuf,
    /// Overrides of all points.
    pub overrides: Vec<String>,
    /// The parameters with their values; all combinations are run.
    pub axes: Vec<Axis>,
    /// The folder of the sweep.
    pub folder: PathBuf,
    /// Values whose final state the table has; all values if empty.
    pub measures: Vec<String>,
    /// Runs at a time, each on one thread.
    pub workers: usize,
    /// Whether points keep recordings and the outputs of `[record]`.
    pub files: bool,
}

/// Why a sweep cannot begin.
#[derive(Debug, Error)]
#[error("error: {}", .0.join("\nerror: "))]
pub struct SweepError(pub Vec<String>);

/// One point of a sweep.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    /// Its parameters, as in `--set`.
    pub settings: Vec<String>,
    /// Its values.
    pub values: Vec<Value>,
    /// `done`, `failed`, `interrupted` or `waiting`.
    pub status: &'static str,
    /// Whether all expectations of the scene hold.
    pub passed: bool,
    /// Computed frames.
    pub frames: usize,
    /// Seconds of computing.
    pub seconds: f64,
    /// Fingerprint of the final state.
    pub hash: String,
    /// Why it failed.
    pub error: String,
    /// Final values of the probes, by name.
    pub probes: Map<String, Value>,
}

/// A finished sweep.
#[derive(Clone, Debug, Default)]
pub struct SweepOutcome {
    /// Names of the parameters.
    pub parameters: Vec<String>,
    /// Names of the measures.
    pub measures: Vec<String>,
    /// The points.
    pub points: Vec<Point>,
    /// Whether an interrupt ended it.
    pub interrupted: bool,
    /// The table as a file.
    pub table: PathBuf,
}

/// Told when a point has ended: its number, the number of points, its parameters, and why it failed.
pub type Ended<'a> = dyn FnMut(usize, usize, &str, Option<&str>) + 'a;

/// Large files that are useless once a point is done.
const ONLY_TO_CONTINUE: [&str; 4] =
    ["recording.sinew", "checkpoint.bin", "previous-recording.sinew", "previous-checkpoint.bin"];

/// Most problems to show: the thirteenth rarely adds information.
const MAX_SHOWN: usize = 12;

/// Runs all points of a sweep that are not done yet, and writes `table.csv`.
///
/// The same call again computes what is missing: finished points stay, interrupted or killed ones continue from their
/// checkpoints, failed ones are tried again.
///
/// # Errors
/// All mistakes of the scene, its parameters and the measures, before anything runs.
pub fn sweep(options: &SweepOptions, interrupt: &Interrupt, ended: &mut Ended<'_>) -> Result<SweepOutcome, SweepError> {
    let folder = &options.folder;
    let plan = prepare(options)?;
    let count = plan.points.len();
    let point_folder = |number: usize| folder.join("points").join(format!("{number:04}"));
    let missing: Vec<usize> = (0..count).filter(|&number| !is_done(&point_folder(number))).collect();
    let job = |index: usize, tell: &(dyn Fn((usize, Result<(), String>)) + Sync)| {
        let number = missing[index];
        let folder = point_folder(number);
        let result = run_point(&plan, &options.scene, number, &folder, interrupt);
        if let Err(reason) = &result
            && !interrupt.is_wanted()
        {
            // A full disk must not hide the reason.
            let _ = std::fs::write(folder.join("error.txt"), format!("{reason}\n"));
        }
        tell((number, result));
    };
    // One thread per point: what several would save is lost in waiting for one another.
    workers::share(missing.len(), options.workers, 1, interrupt, job, &mut |(number, result)| {
        if !interrupt.is_wanted() {
            ended(number, count, &plan.settings(number).join(", "), result.as_ref().err().map(String::as_str));
        }
    });
    let points: Vec<Point> = (0..count).map(|number| look(&plan, number, &point_folder(number))).collect();
    let mut outcome = SweepOutcome {
        parameters: plan.parameters.clone(),
        measures: options.measures.clone(),
        interrupted: interrupt.is_wanted() && points.iter().any(|point| point.status != "done"),
        table: folder.join(TABLE),
        points,
    };
    if outcome.measures.is_empty() {
        outcome.measures = outcome
            .points
            .iter()
            .find(|p| !p.probes.is_empty())
            .map_or_else(Vec::new, |point| point.probes.keys().cloned().collect());
    }
    write_file(&outcome.table, outcome.to_csv().as_bytes()).map_err(|error| SweepError(vec![error.to_string()]))?;
    Ok(outcome)
}

/// The file of the table.
pub const TABLE: &str = "table.csv";

/// Checks everything and writes the plan, or finds the same plan.
fn prepare(options: &SweepOptions) -> Result<Plan, SweepError> {
    let one = |text: String| SweepError(vec![text]);
    let (parameters, points) = Plan::combine(&options.axes).map_err(one)?;
    let text = std::fs::read_to_string(&options.scene)
        .map_err(|error| one(format!("{} cannot be read: {error}", options.scene.display())))?;
    let folder = &options.folder;
    let plan = Plan {
        scene: relative(&options.scene, folder),
        overrides: options.overrides.clone(),
        parameters,
        points,
        files: options.files,
        text,
    };
    let known = Plan::read(folder).map_err(one)?;
    if let Some(known) = &known {
        let differences = known.differences(&plan);
        if !differences.is_empty() {
            let differences = differences.join("; ");
            return Err(one(format!(
                "{} holds another sweep: {differences}\nhint: choose another folder with -o, or remove this one",
                folder.display()
            )));
        }
    }
    let mut problems = check_scene(options, &plan);
    if problems.is_empty() {
        problems = check_measures(options, &plan);
    }
    if !problems.is_empty() {
        return Err(SweepError(problems));
    }
    if known.is_none() {
        std::fs::create_dir_all(folder)
            .map_err(|error| one(format!("cannot write to {}: {error}", folder.display())))?;
        if let Some(foreign) = [SCENE, TABLE].iter().map(|name| folder.join(name)).find(|file| file.exists()) {
            return Err(one(format!(
                "{} exists, and no sweep wrote it\nhint: choose another folder with -o",
                foreign.display()
            )));
        }
        plan.write(folder).map_err(|error| one(error.to_string()))?;
    }
    Ok(plan)
}

/// Loads the scene with the overrides of every point. A mistake in a path is the same for all values.
fn check_scene(options: &SweepOptions, plan: &Plan) -> Vec<String> {
    let plain: Vec<Override> = options.overrides.iter().cloned().map(Override::from).collect();
    if let Err(error) = Scene::load_with(&options.scene, &plain) {
        return vec![strip(&error.to_string())];
    }
    let mut found: Vec<(String, String, usize)> = Vec::new();
    for number in 0..plan.points.len() {
        if let Err(error) = Scene::load_with(&options.scene, &plan.overrides_of(number)) {
            let text = strip(&error.to_string());
            let first = text.lines().next().unwrap_or_default().to_string();
            match found.iter_mut().find(|known| known.0 == first) {
                Some(known) => known.2 += 1,
                None => found.push((first, text, 1)),
            }
        }
    }
    let more = found.len().saturating_sub(MAX_SHOWN);
    let mut problems: Vec<String> = found
        .into_iter()
        .take(MAX_SHOWN)
        .map(|(_, text, count)| if count > 1 { format!("{text}\n{count} points have this problem") } else { text })
        .collect();
    if more > 0 {
        problems.push(format!("and {more} more problems"));
    }
    problems
}

fn strip(text: &str) -> String {
    text.trim_start_matches("error: ").to_string()
}

/// Looks up the measures among the values of the first point.
fn check_measures(options: &SweepOptions, plan: &Plan) -> Vec<String> {
    let compiled = Scene::load_with(&options.scene, &plan.overrides_of(0)).and_then(|scene| compile(&scene));
    let simulation = match compiled {
        Ok(simulation) => simulation,
        Err(error) => return vec![strip(&error.to_string())],
    };
    let known = simulation.probe_names();
    let unknown = options.measures.iter().filter(|name| !known.contains(name));
    unknown
        .map(|name| {
            let hint = suggest::value_hint(name, known).map_or_else(String::new, |hint| format!("\nhint: {hint}"));
            format!("the scene has no value `{name}`{hint}")
        })
        .collect()
}

/// Ends a run at an interrupt.
struct Quiet<'a>(&'a Interrupt);

impl Observer for Quiet<'_> {
    fn interrupt(&self) -> Interrupt {
        self.0.clone()
    }
}

/// Completes a point from its current state.
fn run_point(plan: &Plan, scene: &Path, number: usize, folder: &Path, interrupt: &Interrupt) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot write to {}: {error}", folder.display());
    let overrides = plan.overrides_of(number);
    let loaded = Scene::load_with(scene, &overrides).map_err(|error| error.to_string())?;
    if loaded.source.text() != plan.text {
        return Err(format!("{} has changed since the sweep was planned", scene.display()));
    }
    std::fs::create_dir_all(folder).map_err(failed)?;
    let _ = std::fs::remove_file(folder.join("error.txt"));
    let mut attempts =
        std::fs::OpenOptions::new().append(true).create(true).open(folder.join("attempts.txt")).map_err(failed)?;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64());
    writeln!(attempts, "{now:.3} localhost {}", std::process::id()).map_err(failed)?;
    let options = RunOptions { output: Some(folder.into()), overrides, ..RunOptions::default() };
    let outcome = complete(&loaded, options, &mut Quiet(interrupt), || is_done(folder))?;
    let Some(outcome) = outcome else { return Ok(()) };
    if outcome.interrupted {
        return Err(format!("the run was interrupted after {} frames", outcome.frames));
    }
    let probes: Map<String, Value> =
        outcome.history.names().iter().map(|name| (name.clone(), json!(outcome.history.last(name)))).collect();
    let result = json!({ "probes": probes, "timing": { "seconds": outcome.timing.seconds } });
    write_file(folder.join("result.json"), format!("{result}\n").as_bytes()).map_err(|error| error.to_string())?;
    if !plan.files {
        ONLY_TO_CONTINUE.iter().for_each(|name| drop(std::fs::remove_file(folder.join(name))));
    }
    Ok(())
}

/// Runs a scene from its last checkpoint, or from the beginning; `None` if another process completed it meanwhile.
pub(crate) fn complete(
    scene: &Scene,
    options: RunOptions,
    observer: &mut dyn Observer,
    is_done: impl Fn() -> bool,
) -> Result<Option<RunOutcome>, String> {
    let mut options = RunOptions { resume: true, ..options };
    loop {
        match run(scene, &options, observer) {
            Ok(outcome) => return Ok(Some(outcome)),
            // Another process computes it.
            Err(RunError::Busy { .. }) if !observer.interrupt().is_wanted() => {
                std::thread::sleep(Duration::from_millis(500));
                if is_done() {
                    return Ok(None);
                }
            }
            // Useless contents, for example of another version.
            Err(RunError::Resume { .. }) if options.resume => options.resume = false,
            Err(error) => return Err(strip(&error.to_string())),
        }
    }
}

fn is_done(folder: &Path) -> bool {
    Manifest::read(folder).is_ok_and(|manifest| manifest.status == Status::Done) && folder.join("result.json").is_file()
}

/// The state of a point on disk.
fn look(plan: &Plan, number: usize, folder: &Path) -> Point {
    let mut point = Point {
        settings: plan.settings(number),
        values: plan.points[number].clone(),
        status: "waiting",
        seconds: f64::NAN,
        ..Point::default()
    };
    if let Ok(error) = std::fs::read_to_string(folder.join("error.txt")) {
        (point.status, point.error) = ("failed", error.trim().to_string());
    }
    let Ok(manifest) = Manifest::read(folder) else { return point };
    point.frames = manifest.frames;
    if point.error.is_empty() {
        point.status = if manifest.status == Status::Done { "done" } else { "interrupted" };
    }
    if point.status == "done" {
        point.passed = manifest.passed.unwrap_or(false);
        point.hash = manifest.hash.map_or_else(String::new, |hash| format!("{hash:016x}"));
        let result = std::fs::read(folder.join("result.json")).unwrap_or_default();
        let result: Value = serde_json::from_slice(&result).unwrap_or_default();
        point.seconds = result["timing"]["seconds"].as_f64().unwrap_or(f64::NAN);
        point.probes = result["probes"].as_object().cloned().unwrap_or_default();
    }
    point
}

impl SweepOutcome {
    /// Number of points with a status.
    pub fn count(&self, status: &str) -> usize {
        self.points.iter().filter(|point| point.status == status).count()
    }

    /// Measures for a table that people read: those asked for, else at most `most` that differ between points, those of
    /// displacement first.
    pub fn telling(&self, asked: &[String], most: usize) -> Vec<String> {
        if !asked.is_empty() {
            return asked.to_vec();
        }
        let mut telling: Vec<&String> = self
            .measures
            .iter()
            .filter(|name| {
                let mut values =
                    self.points.iter().filter_map(|point| point.probes.get(*name)).filter_map(Value::as_f64);
                let first = values.next();
                values.any(|value| Some(value) != first)
            })
            .filter(|name| !["iterations", "residual", "substeps", "cycles"].iter().any(|word| name.contains(word)))
            .collect();
        let rank =
            |name: &str| ["displacement", "force", "position", "volume"].iter().position(|word| name.contains(word));
        telling.sort_by_key(|name| rank(name).unwrap_or(usize::MAX));
        telling.into_iter().take(most).cloned().collect()
    }

    /// The table as comma-separated values, with the columns of Python's table.
    pub fn to_csv(&self) -> String {
        let quoted = |text: &str| {
            if text.contains([',', '"', '\n']) {
                format!("\"{}\"", text.replace('"', "\"\"").replace('\n', " "))
            } else {
                text.to_string()
            }
        };
        let fixed = ["status", "passed", "frames", "seconds", "hash", "error"].map(String::from);
        let names = std::iter::once("point".to_string()).chain(self.parameters.iter().cloned()).chain(fixed);
        let mut csv =
            names.chain(self.measures.iter().cloned()).map(|name| quoted(&name)).collect::<Vec<_>>().join(",") + "\n";
        for (number, point) in self.points.iter().enumerate() {
            let _ = write!(csv, "{number}");
            point.values.iter().for_each(|value| csv += &format!(",{}", quoted(&text_of(value))));
            let seconds = if point.seconds.is_finite() { point.seconds.to_string() } else { String::new() };
            let _ = write!(
                csv,
                ",{},{},{},{seconds},{},{}",
                point.status,
                point.passed,
                point.frames,
                point.hash,
                quoted(&point.error)
            );
            for name in &self.measures {
                let value = point
                    .probes
                    .get(name)
                    .and_then(Value::as_f64)
                    .map_or_else(String::new, |value| format!("{value:?}"));
                let _ = write!(csv, ",{value}");
            }
            csv.push('\n');
        }
        csv
    }

    /// One JSON object.
    pub fn to_json(&self) -> Value {
        let point = |(number, point): (usize, &Point)| {
            let parameters: Map<String, Value> =
                self.parameters.iter().cloned().zip(point.values.iter().cloned()).collect();
            let measures: Map<String, Value> = self
                .measures
                .iter()
                .map(|name| (name.clone(), point.probes.get(name).cloned().unwrap_or(Value::Null)))
                .collect();
            json!({
                "point": number,
                "parameters": parameters,
                "status": point.status,
                "passed": point.passed,
                "frames": point.frames,
                "seconds": point.seconds,
                "hash": point.hash,
                "error": point.error,
                "measures": measures,
            })
        };
        json!({
            "parameters": self.parameters,
            "points": self.points.iter().enumerate().map(point).collect::<Vec<_>>(),
            "table": self.table.to_string_lossy(),
        })
    }
}
