//! `sinew bench abuse`: runs random extreme scenes and counts how many converge.

mod material;
mod mesh;
pub(super) mod random;
mod scene;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sinew_fem::{Simulation, StepError};
use sinew_run::compile::compile;
use sinew_scene::{Override, Scene};

pub(super) use self::mesh::medit;
use self::scene::{Case, generate};
use super::super::console::Console;
use super::Failure;

/// A scene is abandoned when a frame takes this many times the limit.
const HANG_FACTOR: u32 = 6;
/// A quasistatic body that moves by more than this many times its size is a runaway.
const FAR: f64 = 1e4;

/// Random extreme scenes: how many of them converge
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Number of scenes
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    count: u64,

    /// Seed of the first scene
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,

    /// Runs only the scene of this seed
    #[arg(long, value_name = "SEED", conflicts_with_all = ["count", "seed"])]
    only: Option<u64>,

    /// Writes the scenes that do not converge (with --only: the scene) to this folder
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,

    /// Seconds after which a scene counts as slow
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,

    /// Prints the result as one JSON object on stdout
    #[arg(long)]
    pub json: bool,

    /// Replaces a value in all scenes, for example solver.max_newton=200
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
}

/// Result of a scene.
struct Outcome {
    /// `converged`, `refused`, `failed`, `runaway`, `nan`, `panic`, `slow` or `hang`.
    verdict: &'static str,
    /// Kind of the error.
    cause: &'static str,
    /// The message.
    message: String,
    cells: usize,
    newton: usize,
    /// Largest relative residual of an accepted frame.
    residual: f64,
}

impl Outcome {
    fn new(verdict: &'static str, cause: &'static str, message: impl Into<String>) -> Self {
        Self { verdict, cause, message: message.into(), cells: 0, newton: 0, residual: 0.0 }
    }
}

/// An outcome with its scene.
struct Record {
    seed: u64,
    tags: Vec<String>,
    seconds: f64,
    outcome: Outcome,
}

/// Runs one scene per thread: each is too small for several.
pub fn measure(arguments: &Arguments, console: Console) -> Result<Value, Failure> {
    let (first, count) = arguments.only.map_or((arguments.seed, arguments.count), |seed| (seed, 1));
    let folder = std::env::temp_dir().join(format!("sinew-bench-abuse-{}", std::process::id()));
    for folder in std::iter::once(&folder).chain(&arguments.keep) {
        let failed = |source| Failure::Write { what: folder.display().to_string(), source };
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let overrides: Vec<Override> = arguments.overrides.iter().cloned().map(Override::from).collect();
    let limit = Duration::from_secs(arguments.limit);
    let next = AtomicU64::new(0);
    let records = Mutex::new(Vec::new());
    let trouble = Mutex::new(None);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..rayon::current_num_threads() {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        break;
                    }
                    match suffer(first.wrapping_add(number), arguments, &folder, &overrides, limit, console) {
                        Ok(record) => lock(&records).push(record),
                        Err(failure) => *lock(&trouble) = Some(failure),
                    }
                }
            });
        }
    });
    let _ = std::fs::remove_dir_all(&folder);
    if let Some(failure) = lock(&trouble).take() {
        return Err(failure);
    }
    let mut records = std::mem::take(&mut *lock(&records));
    records.sort_by_key(|record| record.seed);
    Ok(summary(&records, start.elapsed().as_secs_f64(), arguments.json))
}

/// Locks the list, also after a panic of another thread.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn summary(records: &[Record], seconds: f64, has_list: bool) -> Value {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for verdict in ["converged", "refused", "failed", "runaway", "nan", "panic", "slow", "hang"] {
        counts.insert(verdict, records.iter().filter(|record| record.outcome.verdict == verdict).count());
    }
    let entry = |record: &Record| {
        json!({
            "seed": record.seed,
            "verdict": record.outcome.verdict,
            "cause": record.outcome.cause,
            "message": record.outcome.message,
            "seconds": record.seconds,
            "cells": record.outcome.cells,
            "newton": record.outcome.newton,
            "residual": record.outcome.residual,
            "tags": record.tags,
        })
    };
    let mut result = json!({
        "count": records.len(),
        "share": counts["converged"] as f64 / records.len().max(1) as f64,
        "cells": records.iter().map(|record| record.outcome.cells).sum::<usize>(),
        "newton": records.iter().map(|record| record.outcome.newton).sum::<usize>(),
        "slowest_seconds": records.iter().map(|record| record.seconds).fold(0.0, f64::max),
        "seconds": seconds,
        "threads": rayon::current_num_threads(),
        "isa": super::isa_name(),
    });
    for (verdict, count) in counts {
        result[verdict] = json!(count);
    }
    if has_list {
        let failures = records.iter().filter(|record| record.outcome.verdict != "converged");
        result["failures"] = failures.map(entry).collect();
    }
    result
}

/// Builds the scene of a seed and runs it on its own thread, to abandon it if it hangs.
fn suffer(
    seed: u64,
    arguments: &Arguments,
    folder: &Path,
    overrides: &[Override],
    limit: Duration,
    console: Console,
) -> Result<Record, Failure> {
    let case = generate(seed).map_err(|error| Failure::Other(format!("seed {seed} makes no mesh: {error}")))?;
    write_mesh(&case, folder)?;
    let tags = case.tags.clone();
    let case = Arc::new(case);
    let is_late = Arc::new(AtomicBool::new(false));
    let (send, receive) = mpsc::channel();
    let start = Instant::now();
    {
        let (case, is_late, folder, overrides) =
            (case.clone(), is_late.clone(), folder.to_path_buf(), overrides.to_vec());
        std::thread::spawn(move || {
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
                let run = || run(&case, &folder, &overrides, &is_late);
                pool.map_or_else(|error| Outcome::new("refused", "Thread", error.to_string()), |pool| pool.install(run))
            }));
            let _ =
                send.send(outcome.unwrap_or_else(|payload| Outcome::new("panic", "Panic", panic_message(&*payload))));
        });
    }
    let outcome = receive.recv_timeout(limit).or_else(|_| {
        is_late.store(true, Ordering::Relaxed);
        receive.recv_timeout(limit * (HANG_FACTOR - 1))
    });
    let outcome = outcome.unwrap_or_else(|_| Outcome::new("hang", "Hang", "a frame does not end"));
    let record = Record { seed, tags, seconds: start.elapsed().as_secs_f64(), outcome };
    let has_failed = record.outcome.verdict != "converged";
    if has_failed {
        let first_line = record.outcome.message.lines().next().unwrap_or_default();
        let Outcome { verdict, cause, .. } = &record.outcome;
        console.note(&format!("seed {seed}: {verdict} ({cause}): {first_line} [{}]", record.tags.join(" ")));
    }
    if let Some(keep) = &arguments.keep
        && (has_failed || arguments.only.is_some())
    {
        write_mesh(&case, keep)?;
        write(&keep.join(format!("abuse-{seed}.toml")), &case.text)?;
    }
    Ok(record)
}

fn write_mesh(case: &Case, folder: &Path) -> Result<(), Failure> {
    case.mesh.as_ref().map_or(Ok(()), |(name, text)| write(&folder.join(name), text))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|source| Failure::Write { what: path.display().to_string(), source })
}

fn panic_message(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message").to_string()
}

/// Parses, compiles and steps the scene.
fn run(case: &Case, folder: &Path, overrides: &[Override], is_late: &AtomicBool) -> Outcome {
    let scene = match Scene::from_text(&case.text, "abuse.toml", folder, overrides) {
        Ok(scene) => scene,
        Err(error) => return Outcome::new("refused", "Scene", error.to_string()),
    };
    let mut simulation = match compile(&scene) {
        Ok(simulation) => simulation,
        Err(error) => return Outcome::new("refused", "Compile", error.to_string()),
    };
    let mut outcome = Outcome::new("converged", "", "");
    outcome.cells = simulation.model().bodies.iter().map(|body| body.mesh.cell_count()).sum();
    for frame in 1..=scene.frame_count() {
        match simulation.step_frame() {
            Ok(report) => {
                outcome.newton += report.newton_iterations;
                outcome.residual = outcome.residual.max(report.relative_residual);
            }
            Err(error) => {
                let message = format!("frame {frame} of {}: {error}", scene.frame_count());
                return Outcome { verdict: "failed", cause: cause(&error), message, ..outcome };
            }
        }
        if let Some((verdict, message)) = look(&simulation, case) {
            return Outcome { verdict, cause: "State", message: format!("frame {frame}: {message}"), ..outcome };
        }
        if is_late.load(Ordering::Relaxed) {
            let message = format!("frame {frame} of {} exceeds the time limit", scene.frame_count());
            return Outcome { verdict: "slow", cause: "Slow", message, ..outcome };
        }
    }
    outcome
}

fn cause(error: &StepError) -> &'static str {
    match error {
        StepError::NotConverged { .. } => "NotConverged",
        StepError::Exhausted { .. } => "Exhausted",
        StepError::Stalled { .. } => "Stalled",
        StepError::Blocked { .. } => "Blocked",
        StepError::NotFinite { .. } => "NotFinite",
        StepError::Singular { .. } => "Singular",
        StepError::Control { .. } => "Control",
        StepError::Unstable { .. } => "Unstable",
        StepError::Interrupted { .. } => "Interrupted",
    }
}

/// The problem of an accepted state, if any.
fn look(simulation: &Simulation, case: &Case) -> Option<(&'static str, String)> {
    let state = simulation.state();
    let wrong = |name: &str, values: &[sinew_math::Vec3]| {
        values.iter().position(|v| !v.is_finite()).map(|point| ("nan", format!("{name} of point {point} not finite")))
    };
    if let Some(wrong) = wrong("position", &state.positions).or_else(|| wrong("velocity", &state.velocities)) {
        return Some(wrong);
    }
    if !simulation.frame().report.energies.total().is_finite() {
        return Some(("nan", "the energy is not finite".into()));
    }
    let farthest = state.positions.iter().map(|x| x.norm()).fold(0.0, f64::max);
    (case.is_static && farthest > FAR * case.size).then(|| ("runaway", format!("a point is {farthest:.1e} m away")))
}
