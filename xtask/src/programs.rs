//! The test programs of the workspace, as many side by side as there are cores.
//!
//! `cargo test` runs one program after the other, so that cores are idle at the end of each. Here unit tests run program
//! by program, on one thread each, because they share what they prepare; integration tests, which take longer, run one
//! by one. So no core waits for the last test of a program.

use std::collections::VecDeque;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::step::{Outcome, Verdict, cargo, share_recipes, target, test_counts};

/// A test that waits for ever ends after this time instead of holding up all others. No test takes a tenth of it.
const MAX_TIME: Duration = Duration::from_secs(20 * 60);

/// Integration tests that take longest, by file; they start first, so that at the end no core waits for one of them.
const LONG: [&str; 8] =
    ["cli_phantom", "bench_skin", "character_trials", "resume", "difficult", "piles", "character_contact", "scenes"];

/// Number of tests whose times are printed.
const SLOWEST: usize = 20;

/// A test program.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Program {
    name: String,
    file: PathBuf,
    /// Folder of its package, where its tests run.
    folder: PathBuf,
    is_unit: bool,
}

/// What one process runs: a test, or a whole program.
#[derive(Debug)]
struct Job {
    program: Program,
    test: Option<String>,
}

impl Job {
    /// Long tests first, then unit tests, a program of which is one job.
    fn rank(&self) -> usize {
        let Some(test) = &self.test else { return LONG.len() };
        let file = test.split("::").next().unwrap_or_default();
        LONG.iter().position(|name| *name == file).unwrap_or(LONG.len() + 1)
    }
}

/// What came of it.
#[derive(Debug)]
struct Finished {
    name: String,
    counts: [usize; 3],
    seconds: f64,
}

/// Builds and runs all unit and integration tests; also builds the program, because tests call it.
pub fn run(name: &str, is_full: bool) -> Outcome {
    let start = Instant::now();
    let jobs = match build().and_then(|programs| jobs_of(&programs)) {
        Ok(jobs) => jobs,
        Err(reason) => return Outcome::single(name, Verdict::Failed(reason), start.elapsed().as_secs_f64()),
    };
    eprintln!("built in {:.1} s", start.elapsed().as_secs_f64());
    let (jobs, ignored) = jobs;
    let mut results = run_side_by_side(jobs, is_full);
    let mut counts = [0, 0, ignored];
    for result in &results {
        counts = [0, 1, 2].map(|k| counts[k] + result.counts[k]);
    }
    results.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    for result in results.iter().take(SLOWEST) {
        eprintln!("{:>7.1} s  {}", result.seconds, result.name);
    }
    let seconds: f64 = results.iter().map(|result| result.seconds).sum();
    eprintln!("{seconds:>7.1} s  all, one after the other");
    let failed: Vec<&str> =
        results.iter().filter(|result| result.counts[1] > 0).map(|result| result.name.as_str()).collect();
    for name in &failed {
        eprintln!("FAILED {name}");
    }
    println!("test result: {} passed; {} failed; {} ignored", counts[0], counts[1], counts[2]);
    let verdict = match failed.as_slice() {
        [] => Verdict::Passed,
        failed => Verdict::Failed(failed.iter().take(3).copied().collect::<Vec<_>>().join(", ")),
    };
    Outcome { name: name.into(), verdict, counts, seconds: start.elapsed().as_secs_f64() }
}

/// Compiles all test programs.
fn build() -> Result<Vec<Program>, String> {
    // Not `--lib`, which would compile the libraries too whose unit tests are in `unit-tests`.
    let mut command = cargo(["test", "--workspace", "--release", "--tests", "--no-run", "--quiet"]);
    command.arg("--message-format=json-render-diagnostics").stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = command.output().map_err(|error| format!("cannot start cargo: {error}"))?;
    if !output.status.success() {
        return Err(format!("the build: {}", output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().filter_map(program_of).collect())
}

/// The test program that a message of cargo is about.
fn program_of(message: &str) -> Option<Program> {
    let message: Value = serde_json::from_str(message).ok()?;
    if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
        return None;
    }
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_path_buf();
    let name = message["target"]["name"].as_str()?.to_string();
    // Unit tests stand in sources of libraries and programs.
    let is_unit = Path::new(message["target"]["src_path"].as_str()?).parent()?.ends_with("src");
    Some(Program { name, file: message["executable"].as_str()?.into(), folder, is_unit })
}

/// All tests in the order in which they start, and the number of ignored ones.
fn jobs_of(programs: &[Program]) -> Result<(VecDeque<Job>, usize), String> {
    let (mut jobs, mut ignored) = (Vec::new(), 0);
    for program in programs {
        if program.is_unit {
            jobs.push(Job { program: program.clone(), test: None });
            continue;
        }
        let all = tests_of(program, &[])?;
        let skipped = tests_of(program, &["--ignored"])?;
        ignored += skipped.len();
        let wanted = all.into_iter().filter(|test| !skipped.contains(test));
        jobs.extend(wanted.map(|test| Job { program: program.clone(), test: Some(test) }));
    }
    jobs.sort_by_key(Job::rank);
    Ok((jobs.into(), ignored))
}

fn tests_of(program: &Program, options: &[&str]) -> Result<Vec<String>, String> {
    let mut command = Command::new(&program.file);
    command.current_dir(&program.folder).args(["--list", "--format", "terse"]).args(options).stdin(Stdio::null());
    let output = command.output().map_err(|error| format!("{}: {error}", program.name))?;
    if !output.status.success() {
        return Err(format!("{} lists no tests: {}", program.name, String::from_utf8_lossy(&output.stderr)));
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(String::from).collect())
}

/// Workers, one per core, take jobs from a common queue.
fn run_side_by_side(jobs: VecDeque<Job>, is_full: bool) -> Vec<Finished> {
    let workers = std::thread::available_parallelism().map_or(1, |count| count.get());
    let (jobs, results) = (Mutex::new(jobs), Mutex::new(Vec::new()));
    let (jobs, results) = (&jobs, &results);
    std::thread::scope(|scope| {
        for worker in 0..workers {
            scope.spawn(move || {
                let log = target().join(format!("test-output-{worker}.txt"));
                while let Some(job) = jobs.lock().ok().and_then(|mut jobs| jobs.pop_front()) {
                    let result = run_one(&job, is_full, &log);
                    let Ok(mut results) = results.lock() else { break };
                    if result.counts[1] > 0 {
                        eprintln!("FAILED {}\n{}", result.name, std::fs::read_to_string(&log).unwrap_or_default());
                    }
                    results.push(result);
                    if results.len() % 100 == 0 {
                        eprintln!("{} tests and programs done", results.len());
                    }
                }
            });
        }
    });
    results.lock().map(|mut results| std::mem::take(&mut *results)).unwrap_or_default()
}

/// Runs a job with its output in `log`.
fn run_one(Job { program, test }: &Job, is_full: bool, log: &Path) -> Finished {
    let start = Instant::now();
    let name = match test {
        Some(test) => format!("{} {test}", program.name),
        None => format!("{} (unit tests)", program.name),
    };
    let is_passed = spawn(program, test.as_deref(), is_full, log).is_ok_and(|child| has_passed(child, start));
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let mut counts =
        text.lines().filter_map(test_counts).fold([0; 3], |sum, found| [0, 1, 2].map(|k| sum[k] + found[k]));
    // A test that broke off counts no failure; a test that was not found none at all.
    if counts[1] == 0 && (!is_passed || (test.is_some() && counts[0] != 1)) {
        counts[1] = 1;
    }
    Finished { name, counts, seconds: start.elapsed().as_secs_f64() }
}

fn spawn(program: &Program, test: Option<&str>, is_full: bool, log: &Path) -> std::io::Result<std::process::Child> {
    let file = File::create(log)?;
    let mut command = Command::new(&program.file);
    command.current_dir(&program.folder).env("CARGO_MANIFEST_DIR", &program.folder).arg("--test-threads=1");
    if let Some(test) = test {
        command.args(["--exact", test]);
    }
    if is_full {
        command.env("SINEW_FULL", "1");
    }
    share_recipes(&mut command);
    // As many tests run side by side as there are cores: with more threads than that they would wait for one another.
    if std::env::var_os("RAYON_NUM_THREADS").is_none() {
        command.env("RAYON_NUM_THREADS", "1");
    }
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).spawn()
}

/// Waits for the end, but no longer than [`MAX_TIME`].
fn has_passed(mut child: std::process::Child, start: Instant) -> bool {
    let mut pause = Duration::from_millis(1);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) if start.elapsed() < MAX_TIME => {}
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return false;
            }
        }
        std::thread::sleep(pause);
        pause = (2 * pause).min(Duration::from_millis(5));
    }
}

#[cfg(test)]
mod tests {
    use super::program_of;

    #[test]
    fn messages_of_cargo_name_test_programs() {
        let message = |source: &str, test: bool| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/p/Cargo.toml","executable":"/t/a-1",
                "target":{{"name":"a","src_path":"{source}"}},"profile":{{"test":{test}}}}}"#
            )
        };
        let unit = program_of(&message("/p/src/lib.rs", true)).expect("a program");
        assert!(unit.is_unit && unit.name == "a" && unit.folder.ends_with("p") && unit.file.ends_with("a-1"));
        assert!(!program_of(&message("/p/tests/a.rs", true)).expect("a program").is_unit);
        assert_eq!(program_of(&message("/p/src/main.rs", false)), None, "the program itself");
        assert_eq!(program_of(r#"{"reason":"build-finished","success":true}"#), None);
        assert_eq!(program_of("warning: no message"), None);
    }
}
