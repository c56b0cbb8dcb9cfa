//! `sinew sweep`: one scene, many values, one table.

use std::path::{Path, PathBuf};

use sinew_fem::Interrupt;
use sinew_run::sweep::{Axis, SweepOptions, sweep};
use sinew_scene::format_number;

use super::console::Console;
use super::{Failure, Status, console, table};

/// Runs a scene for all combinations of some values and prints one table
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The same command again continues: finished points stay, killed ones continue from their checkpoints, failed ones are tried again. \
Every point is a run in DIR/points; table.csv has all values. Python reads the folder too: sinew.collect(\"DIR\").")]
pub struct Arguments {
    /// Scene file (TOML)
    scene: PathBuf,

    /// Values of a parameter: KEY=A,B,C, or KEY=LOW..HIGH:COUNT with equal steps, or KEY=LOW..HIGH:COUNT:log with equal
    /// ratios. Several --over run all combinations
    #[arg(long, value_name = "KEY=VALUES", required = true, value_parser = Axis::parse)]
    over: Vec<Axis>,

    /// Values of the table at the end of each run [default: all in table.csv, some on the screen]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    measure: Vec<String>,

    /// Folder of the sweep [default: out/sweep/SCENE]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,

    /// Replaces a value of the scene in all runs, for example duration="1 s"
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,

    /// Runs at a time, each on one thread [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    workers: Option<u16>,

    /// Keeps recordings and the outputs of the scene
    #[arg(long)]
    files: bool,

    /// Prints the table as one JSON object on stdout
    #[arg(long)]
    json: bool,
}

/// Most measures on the screen.
const SHOWN: usize = 5;

/// Runs the command.
pub fn execute(arguments: &Arguments, console: Console) -> Result<Status, Failure> {
    let usual = || Path::new("out/sweep").join(arguments.scene.file_stem().unwrap_or("scene".as_ref()));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let options = SweepOptions {
        scene: arguments.scene.clone(),
        overrides: arguments.overrides.clone(),
        axes: arguments.over.clone(),
        folder: arguments.output.clone().unwrap_or_else(usual),
        measures: arguments.measure.clone(),
        workers: arguments.workers.map_or(cores, usize::from),
        files: arguments.files,
    };
    let mut done = 0;
    let outcome = sweep(&options, &Interrupt::ambient(), &mut |number, count, settings, failure| {
        done += 1;
        match failure {
            None => console.note(&format!("point {number} of {count} is done: {settings}")),
            Some(reason) => console::message(&format!(
                "point {number} of {count} failed: {settings}\n  {}",
                reason.replace('\n', "\n  ")
            )),
        }
    })
    .map_err(|error| Failure::Other(error.0.join("\nerror: ")))?;
    if arguments.json {
        console::print(&format!("{}\n", outcome.to_json()))?;
    } else {
        let measures = outcome.telling(&arguments.measure, SHOWN);
        let head = outcome.parameters.iter().map(|name| last_part(name)).chain([
            "status".into(),
            "passed".into(),
            "seconds".into(),
        ]);
        let mut rows = vec![head.chain(measures.iter().cloned()).collect::<Vec<String>>()];
        for point in &outcome.points {
            let value = |value: f64| {
                if value.is_finite() {
                    format_number(format!("{value:.4e}").parse().unwrap_or(value))
                } else {
                    "–".into()
                }
            };
            let mut row: Vec<String> = point
                .values
                .iter()
                .map(|value| value.as_str().map_or_else(|| value.to_string(), String::from))
                .collect();
            let passed = if point.status != "done" {
                "–"
            } else if point.passed {
                "yes"
            } else {
                "no"
            };
            row.extend([point.status.to_string(), passed.into(), value(point.seconds)]);
            row.extend(
                measures.iter().map(|name| value(point.probes.get(name).and_then(|v| v.as_f64()).unwrap_or(f64::NAN))),
            );
            rows.push(row);
        }
        let right: Vec<bool> = (0..rows[0].len()).map(|k| k >= outcome.parameters.len() + 2).collect();
        console::print(&table::layout(&rows, &right))?;
    }
    if done == 0 && !outcome.interrupted {
        console.note("all points were done already");
    }
    console.note(&format!("wrote {}", outcome.table.display()));
    let (failed, left) =
        (outcome.count("failed"), outcome.points.len() - outcome.count("done") - outcome.count("failed"));
    if outcome.interrupted || left > 0 {
        return Err(Failure::Other(format!(
            "interrupted; {} of {} points are done, and the same command continues",
            outcome.count("done"),
            outcome.points.len()
        )));
    }
    if failed > 0 {
        return Err(Failure::Other(format!(
            "{failed} of {} points failed; the same command tries them again",
            outcome.points.len()
        )));
    }
    Ok(if outcome.points.iter().all(|point| point.passed) { Status::Done } else { Status::Unexpected })
}

/// The last two parts of a path, which suffice in a table.
fn last_part(path: &str) -> String {
    let parts: Vec<&str> = path.split('.').collect();
    parts[parts.len().saturating_sub(2)..].join(".")
}
