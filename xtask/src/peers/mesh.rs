//! `cargo xtask bench peers mesh`: surfaces filled with tetrahedra, and distances of a labeled ball, in our program and
//! in others, in one run.
//!
//! All meshers get the same files and the same size of cells: closed, rough, self-intersecting and open surfaces from
//! `benches/peers/surfaces.py`. A mesher that gives no cells or inverted ones has failed on that surface. What counts is
//! processor time, of all threads: it hardly depends on what else the machine does, and it spares those with one thread.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use super::engine::{self, own_report, run_script, run_script_within};
use super::options;
use super::report::short;
use crate::venv::Environment;

/// Meshers as in `--only`, and the environment that each needs.
const MESHERS: [(&str, &str); 4] =
    [("tetgen", "tetgen"), ("gmsh", "gmsh"), ("gmsh-hxt", "gmsh"), ("pytetwild", "pytetwild")];

/// Programs that compute distances, as in `--only`; each has an environment of its name.
const DISTANCES: [&str; 4] = ["scipy", "edt", "scikit-fmm", "simpleitk"];

/// Surfaces in the order of the table.
const SURFACES: [&str; 5] = ["ball", "torus", "noisy", "crossing", "open"];

/// Limit of processor time per surface and mesher \[s\]: at 48 cells all peers together end within half an hour.
const CAP_SECONDS: f64 = 60.0;

/// Times the limit that a script may take by the clock: it ends itself by processor time, which hardly depends on what
/// else the machine does.
const PATIENCE: f64 = 20.0;

#[derive(Clone, Debug, PartialEq)]
struct Options {
    /// Cells along the longest side of a surface.
    cells: usize,
    /// Voxels along each edge of the labeled image.
    voxels: usize,
    only: Vec<String>,
    is_json: bool,
    cap_seconds: f64,
    program: Option<PathBuf>,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options =
            Self { cells: 48, voxels: 256, only: Vec::new(), is_json: false, cap_seconds: CAP_SECONDS, program: None };
        let names = ["--cells", "--voxels", "--only", "--cap", "--program"];
        options.is_json = options::read(arguments, &names, |name, value| options.set(name, value))?;
        Ok(options)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let whole = |least: usize, most: usize| {
            let count = value.parse().ok().filter(|count| (least..=most).contains(count));
            count.ok_or(format!("{name} is a whole number from {least} to {most}, not \"{value}\""))
        };
        match name {
            "--cells" => self.cells = whole(8, 400)?,
            "--voxels" => self.voxels = whole(32, 512)?,
            "--only" => {
                let known: Vec<&str> = MESHERS.iter().map(|(name, _)| *name).chain(DISTANCES).collect();
                self.only.extend(options::listed("peer", value, &known)?);
            }
            "--cap" => self.cap_seconds = options::seconds(name, value)?,
            _ => self.program = Some(value.into()),
        }
        Ok(())
    }

    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|wanted| wanted == name)
    }
}

/// Runs the comparison and prints it; exits with 1 if no peer could run, with 2 if our own program could not.
pub fn run(arguments: &[String]) -> ExitCode {
    let report = Options::parse(arguments).and_then(|options| {
        let report = compare(&options)?;
        super::keep("mesh", &report.to_json(), &report.to_markdown())?;
        if options.is_json {
            println!("{}", report.to_json())
        } else {
            print!("{}", report.to_markdown())
        }
        Ok(report)
    });
    match report {
        Ok(report) if report.rows.iter().all(|row| row.peer == OURS || row.result.is_err()) => ExitCode::FAILURE,
        Ok(_) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

fn compare(options: &Options) -> Result<Report, String> {
    let program = super::own_program(options.program.as_deref())?;
    let version = super::version(&program)?;
    // Install first: downloads must not run during timing.
    let install = |name: &'static str| {
        eprintln!("{name}: installing");
        (name, engine::environment(name).map_err(|reason| format!("cannot be installed: {reason}")))
    };
    let mut names: Vec<&'static str> =
        MESHERS.iter().filter(|(name, _)| options.wants(name)).map(|(_, environment)| *environment).collect();
    names.extend(DISTANCES.into_iter().filter(|name| options.wants(name)));
    names.dedup();
    let environments: Vec<_> = names.into_iter().map(install).collect();
    let any = environments.iter().find_map(|(_, environment)| environment.as_ref().ok());
    let files = run_script(any.ok_or("no peer can be installed")?, "surfaces.py", &[], options.cap_seconds)?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let race = Race { options, program, environments, threads };
    let mut rows = Vec::new();
    for surface in SURFACES {
        let path = files[surface]["path"].as_str().ok_or(format!("no file for \"{surface}\""))?;
        let side = files[surface]["longest_side"].as_f64().ok_or("a surface without a size")?;
        race.fill(surface, Path::new(path), side / options.cells as f64, &mut rows);
    }
    race.distances(&mut rows);
    Ok(Report { version, cells: options.cells, voxels: options.voxels, threads, rows })
}

/// Name of our own rows.
const OURS: &str = "sinew";

/// Task of the rows that are no surface.
const DISTANCE: &str = "distance";

/// What runs, and where.
struct Race<'a> {
    options: &'a Options,
    program: PathBuf,
    environments: Vec<(&'static str, Result<Environment, String>)>,
    threads: usize,
}

impl Race<'_> {
    /// Fills one surface by all, ours first and last; of ours the faster run counts.
    fn fill(&self, surface: &'static str, path: &Path, cell: f64, rows: &mut Vec<Row>) {
        let before = self.fill_ours(path, cell);
        let mut others = Vec::new();
        for (name, environment) in MESHERS.into_iter().filter(|(name, _)| self.options.wants(name)) {
            let arguments = ["--surface".into(), path.display().to_string(), "--cell".into(), cell.to_string()];
            let result = self.script(environment, "mesh_peer.py", name, &arguments);
            others.push(Row::told(surface, name, result));
        }
        let ours = faster(before, self.fill_ours(path, cell));
        rows.push(Row::told(surface, OURS, ours));
        rows.extend(others);
    }

    fn distances(&self, rows: &mut Vec<Row>) {
        let voxels = self.options.voxels.to_string();
        let ours = own_report(&self.program, "distance", &["--size".into(), voxels.clone()]);
        rows.push(Row::told(DISTANCE, OURS, ours.map(|json| distances_of_ours(&json))));
        for name in DISTANCES.into_iter().filter(|name| self.options.wants(name)) {
            let result = self.script(name, "distance_peer.py", name, &["--voxels".into(), voxels.clone()]);
            rows.push(Row::told(DISTANCE, name, result));
        }
    }

    /// Our own program on a surface; the time is what it reports, on as many cores as the whole process had.
    fn fill_ours(&self, path: &Path, cell: f64) -> Result<Value, String> {
        let output = engine::folder().join("work/sinew.vtu");
        let (begin, before) = (Instant::now(), engine::processor_seconds_of_children());
        let done = Command::new(&self.program)
            .args(["mesh", "tets"])
            .arg(path)
            .arg("-o")
            .arg(&output)
            .args(["--cell", &format!("{cell} m"), "--json", "--force"])
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("cannot be started: {error}"))?;
        let elapsed = begin.elapsed().as_secs_f64();
        if !done.status.success() {
            let text = String::from_utf8_lossy(&done.stderr);
            return Err(text.lines().next().unwrap_or("it failed without a word").to_string());
        }
        let mut json: Value = serde_json::from_slice(&done.stdout).map_err(|error| error.to_string())?;
        let processor = engine::processor_seconds_of_children().zip(before).map(|(after, before)| after - before);
        json["cores"] = json!(processor.map_or(1.0, |processor| processor / elapsed));
        json["tets"] = json["cells"].clone();
        Ok(json)
    }

    fn script(&self, environment: &str, script: &str, peer: &str, arguments: &[String]) -> Result<Value, String> {
        let (_, environment) =
            self.environments.iter().find(|(name, _)| *name == environment).ok_or("not installed")?;
        let environment = environment.as_ref().map_err(Clone::clone)?;
        let mut all: Vec<String> = ["--peer", peer, "--threads"].map(String::from).into();
        all.push(self.threads.to_string());
        all.extend_from_slice(arguments);
        let cap = self.options.cap_seconds;
        run_script_within(environment, script, &all, cap, PATIENCE * cap)
    }
}

/// Our report of distances by the keys of the scripts: the error is that of the largest ball.
fn distances_of_ours(json: &Value) -> Value {
    let rms = json["rms_error_voxels"].as_object().and_then(|by_radius| {
        let radius = |text: &str| text.parse::<f64>().unwrap_or(0.0);
        by_radius.iter().max_by(|a, b| radius(a.0).total_cmp(&radius(b.0))).map(|(_, value)| value.clone())
    });
    let seconds = json["processor_seconds"].as_f64().or(json["seconds"].as_f64());
    json!({ "seconds": seconds, "rms_error_voxels": rms, "max_error_voxels": json["max_error_voxels"] })
}

/// The faster of two runs, or the one that did not fail.
fn faster(a: Result<Value, String>, b: Result<Value, String>) -> Result<Value, String> {
    match (a, b) {
        (Ok(a), Ok(b)) => Ok(if seconds_of(&b) < seconds_of(&a) { b } else { a }),
        (Ok(one), Err(_)) | (Err(_), Ok(one)) => Ok(one),
        (Err(reason), Err(_)) => Err(reason),
    }
}

/// Processor time \[s\]; infinite without a time.
fn seconds_of(json: &Value) -> f64 {
    json["seconds"].as_f64().unwrap_or(f64::INFINITY) * json["cores"].as_f64().unwrap_or(1.0)
}

/// One program on one task.
#[derive(Clone, Debug)]
struct Row {
    task: &'static str,
    peer: &'static str,
    result: Result<Value, String>,
}

impl Row {
    /// A row, and a line about it on stderr.
    fn told(task: &'static str, peer: &'static str, result: Result<Value, String>) -> Self {
        match &result {
            Ok(json) => eprintln!("{task}, {peer}: {} s", short(seconds_of(json))),
            Err(reason) => eprintln!("{task}, {peer}: {reason}"),
        }
        Self { task, peer, result }
    }

    /// Smallest angle of a dihedral to 0° or 180°; none without a mesh or with an inverted cell.
    fn worst_angle(&self) -> Option<f64> {
        let json = self.result.as_ref().ok()?;
        let (least, most) = (json["min_dihedral_degrees"].as_f64()?, json["max_dihedral_degrees"].as_f64()?);
        (json["inverted"].as_u64().unwrap_or(0) == 0).then(|| least.min(180.0 - most))
    }

    fn has_failed(&self) -> bool {
        self.result.is_err() || (self.task != DISTANCE && self.worst_angle().is_none())
    }
}

/// A comparison.
struct Report {
    version: String,
    cells: usize,
    voxels: usize,
    threads: usize,
    rows: Vec<Row>,
}

impl Report {
    fn ours(&self, task: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.task == task && row.peer == OURS)
    }

    /// Time of a row over ours; none if either has failed.
    fn ratio(&self, row: &Row) -> Option<f64> {
        let ours = self.ours(row.task)?.result.as_ref().ok()?;
        let ratio = seconds_of(row.result.as_ref().ok()?) / seconds_of(ours);
        ratio.is_finite().then_some(ratio)
    }

    fn others(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.peer != OURS)
    }

    /// Smallest ratio over all others, on all tasks.
    fn least_ratio(&self) -> Option<f64> {
        self.others().filter(|row| !row.has_failed()).filter_map(|row| self.ratio(row)).min_by(f64::total_cmp)
    }

    /// On how many surfaces another mesher has a better worst angle.
    fn worse_angles(&self) -> usize {
        let ours = |task: &str| self.ours(task).and_then(Row::worst_angle).unwrap_or(0.0);
        let is_better = |task: &str, row: &Row| row.worst_angle().is_some_and(|angle| angle > ours(task));
        SURFACES.iter().filter(|task| self.others().any(|row| row.task == **task && is_better(task, row))).count()
    }

    fn failures(&self, peer: &str) -> usize {
        self.rows.iter().filter(|row| row.peer == peer && row.has_failed()).count()
    }

    fn to_json(&self) -> Value {
        let row = |row: &Row| match &row.result {
            Ok(json) => json!({
                "task": row.task, "program": row.peer, "version": json["version"], "seconds": seconds_of(json),
                "ratio": self.ratio(row), "tets": json["tets"], "inverted": json["inverted"],
                "min_dihedral_degrees": json["min_dihedral_degrees"],
                "max_dihedral_degrees": json["max_dihedral_degrees"],
                "rms_error_voxels": json["rms_error_voxels"], "max_error_voxels": json["max_error_voxels"],
            }),
            Err(reason) => json!({ "task": row.task, "program": row.peer, "failed": reason }),
        };
        json!({
            "version": self.version,
            "cells": self.cells,
            "voxels": self.voxels,
            "threads": self.threads,
            "least_ratio": self.least_ratio(),
            "surfaces_with_better_angles_elsewhere": self.worse_angles(),
            "failures": self.failures(OURS),
            "rows": self.rows.iter().map(row).collect::<Vec<_>>(),
        })
    }

    fn to_markdown(&self) -> String {
        let mut text = format!(
            "{} cells over the longest side, {}³ voxels, {} threads, sinew {}\n\n\
             | task | program | processor s | × ours | tets | dihedrals [°] | rms / max [voxels] |\n|---|---|---|---|---|---|---|\n",
            self.cells, self.voxels, self.threads, self.version
        );
        for row in &self.rows {
            let _ = match &row.result {
                Ok(json) => {
                    let pair = |a: &str, b: &str, join: &str| match (json[a].as_f64(), json[b].as_f64()) {
                        (Some(a), Some(b)) => format!("{}{join}{}", short(a), short(b)),
                        _ => String::new(),
                    };
                    let cells = [
                        row.task.into(),
                        row.peer.into(),
                        short(seconds_of(json)),
                        self.ratio(row).map_or("–".into(), short),
                        json["tets"].as_u64().map_or(String::new(), |count| count.to_string()),
                        pair("min_dihedral_degrees", "max_dihedral_degrees", "–"),
                        pair("rms_error_voxels", "max_error_voxels", " / "),
                    ];
                    writeln!(text, "| {} |", cells.join(" | "))
                }
                Err(reason) => {
                    writeln!(text, "| {} | {} | failed: {} | | | | |", row.task, row.peer, reason.replace('|', "/"))
                }
            };
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        Options::parse(&line.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    fn mesh(seconds: f64, least: f64, most: f64) -> Value {
        json!({ "seconds": seconds, "tets": 10, "min_dihedral_degrees": least, "max_dihedral_degrees": most })
    }

    fn report() -> Report {
        let row = |task, peer, result| Row { task, peer, result };
        let rows = vec![
            row("ball", OURS, Ok(mesh(0.5, 22.0, 150.0))),
            row("ball", "tetgen", Ok(mesh(5.0, 2.0, 177.0))),
            row("ball", "gmsh", Ok(mesh(2.0, 25.0, 140.0))),
            row("open", OURS, Ok(mesh(0.5, 22.0, 150.0))),
            row("open", "tetgen", Err("a | b".into())),
            row(DISTANCE, OURS, Ok(json!({ "seconds": 0.2, "rms_error_voxels": 0.08, "max_error_voxels": 0.4 }))),
            row(DISTANCE, "edt", Ok(json!({ "seconds": 1.0, "rms_error_voxels": 0.2, "max_error_voxels": 0.6 }))),
        ];
        Report { version: "0.1.0".into(), cells: 48, voxels: 256, threads: 2, rows }
    }

    #[test]
    fn options_are_read_and_bad_ones_say_what_would_be_right() {
        let options = parse("--cells 32 --only tetgen,edt --voxels=64 --json").expect("valid");
        assert_eq!((options.cells, options.voxels, options.is_json), (32, 64, true));
        assert_eq!(options.only, ["tetgen", "edt"]);
        for (line, part) in [("--cells 3", "8 to 400"), ("--only netgen", "pytetwild"), ("--voxels x", "32 to 512")] {
            let error = parse(line).expect_err(line);
            assert!(error.contains(part), "{line}: {error}");
        }
    }

    #[test]
    fn the_slowest_ratio_and_better_angles_are_found() {
        let report = report();
        assert_eq!(report.least_ratio(), Some(4.0));
        assert_eq!(report.worse_angles(), 1);
        assert_eq!((report.failures(OURS), report.failures("tetgen")), (0, 1));
    }

    #[test]
    fn every_row_has_as_many_cells_as_the_head() {
        let table = report().to_markdown();
        let bars: Vec<usize> = table.lines().skip(2).map(|line| line.matches('|').count()).collect();
        assert!(bars.len() == 9 && bars.iter().all(|count| *count == bars[0]), "{table}");
        assert!(table.contains("failed: a / b") && table.contains("| ball | gmsh | 2.00 | 4.00 |"), "{table}");
    }

    #[test]
    fn an_inverted_cell_is_a_failure() {
        let mut bad = mesh(1.0, 30.0, 120.0);
        bad["inverted"] = json!(1);
        assert!(Row { task: "ball", peer: "gmsh", result: Ok(bad) }.has_failed());
    }

    #[test]
    fn the_error_of_our_largest_ball_counts() {
        let json = json!({ "seconds": 0.2, "rms_error_voxels": { "6": 0.13, "100": 0.08, "50": 0.09 } });
        assert_eq!(distances_of_ours(&json)["rms_error_voxels"], json!(0.08));
    }
}
