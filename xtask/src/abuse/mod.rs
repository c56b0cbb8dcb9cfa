//! `cargo xtask abuse`: random scenes, meshes, recordings, command lines and signals against the built program, with
//! files of a user around. Nothing may crash, hang, print NaN, leave litter, or touch a file that is not its own.

mod case;
mod dice;
mod grammar;
mod mutation;
mod precious;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::scenes::files_below;
use crate::step::{Outcome, Verdict, binary, cargo, refused, root, stream, target};
use crate::test;
use crate::turns::{self, Rank};
use case::{Bench, CaseOutcome, Fault, Home};
use grammar::Grammar;

/// Name of the step of `cargo xtask test`.
pub const NAME: &str = "abuse";

/// Cases of the chore, and of the step in the tests.
const CASES: u64 = 100_000;
const TEST_CASES: u64 = 300;

/// Scenes whose names contain one of these, or that read other files, are left out: they take a quarter of a second and
/// more to check, and thousands of their variants hours.
const LARGE: [&str; 15] = [
    "large",
    "bench/",
    "character/",
    "knot",
    "lobes",
    "hertz",
    "funnel",
    "bone_inside",
    "flex",
    "calf",
    "curl",
    "crushed",
    "scramble",
    "frog",
    "pennation",
];

/// Faults that are printed in full.
const TOLD: usize = 20;

#[derive(Clone, Debug, PartialEq)]
struct Options {
    first: u64,
    count: u64,
    program: Option<PathBuf>,
    is_json: bool,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Self { first: 0, count: CASES, program: None, is_json: false };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let mut number = || {
                let value = rest.next().and_then(|value| value.parse().ok());
                value.ok_or(format!("{argument} needs a number"))
            };
            match argument.as_str() {
                "--first" => options.first = number()?,
                "--count" => options.count = number()?,
                "--only" => (options.first, options.count) = (number()?, 1),
                "--program" => options.program = Some(rest.next().ok_or("--program needs a file")?.into()),
                "--json" => options.is_json = true,
                other => return Err(format!("unknown argument \"{other}\"")),
            }
        }
        Ok(options)
    }
}

/// The chore.
pub fn run(arguments: &[String]) -> ExitCode {
    let options = match Options::parse(arguments) {
        Ok(options) => options,
        Err(message) => return refused(&message),
    };
    match measure(&options) {
        Ok(report) => {
            report.print(options.is_json);
            if report.failures() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(message) => refused(&message),
    }
}

/// The step of `cargo xtask test`: the first cases.
pub fn check(_: &test::Options) -> Outcome {
    let start = Instant::now();
    let options = Options { first: 0, count: TEST_CASES, program: None, is_json: false };
    let (verdict, counts) = match measure(&options) {
        Err(message) => (Verdict::Failed(message), [0, 1, 0]),
        Ok(report) => {
            report.print(false);
            let failed = report.failures();
            let counts = [options.count as usize - failed.min(options.count as usize), failed, 0];
            (if failed == 0 { Verdict::Passed } else { Verdict::Failed(format!("{failed} faults")) }, counts)
        }
    };
    Outcome { name: NAME.into(), verdict, counts, seconds: start.elapsed().as_secs_f64() }
}

/// What came of all cases.
#[derive(Debug)]
struct Report {
    count: u64,
    seconds: f64,
    /// Case, fault and command lines, by case.
    faults: Vec<(u64, Fault, String)>,
    /// How many commands ended with status 0, 1 and 2: a generator whose scenes are all refused would find little.
    statuses: [u64; 3],
}

impl Report {
    fn failures(&self) -> usize {
        self.faults.iter().filter(|(_, fault, _)| fault.is_failure()).count()
    }

    fn print(&self, is_json: bool) {
        for (case, fault, lines) in self.faults.iter().take(TOLD) {
            eprintln!("case {case}: {}: {}\n{lines}", fault.kind(), fault.text());
        }
        let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
        self.faults.iter().for_each(|(_, fault, _)| *kinds.entry(fault.kind()).or_default() += 1);
        if is_json {
            let cases: Vec<u64> = self.faults.iter().map(|(case, ..)| *case).collect();
            println!(
                "{}",
                serde_json::json!({
                    "cases": self.count, "seconds": self.seconds, "statuses": self.statuses, "faults": kinds, "faulty_cases": cases
                })
            );
        } else {
            let kinds: Vec<String> = kinds.iter().map(|(kind, count)| format!("{count} × {kind}")).collect();
            let kinds = if kinds.is_empty() { "no faults".into() } else { kinds.join(", ") };
            let [done, unexpected, refused] = self.statuses;
            eprintln!(
                "{} cases in {:.0} s: {kinds}; of the commands {done} were done, {unexpected} found a fault in their input, {refused} refused it",
                self.count, self.seconds
            );
        }
    }
}

/// What the workers have found so far.
#[derive(Debug)]
struct Told {
    faults: Vec<(u64, Fault, String)>,
    statuses: [u64; 3],
    done: u64,
    /// When progress was last told.
    last: Instant,
}

impl Default for Told {
    fn default() -> Self {
        Self { faults: Vec::new(), statuses: [0; 3], done: 0, last: Instant::now() }
    }
}

impl Told {
    fn add(&mut self, case: u64, outcome: CaseOutcome, options: &Options) {
        let line = |(line, status): &(String, Option<i32>)| match status {
            Some(status) => format!("  {line}   # status {status}"),
            None => format!("  {line}"),
        };
        let lines = outcome.lines.iter().map(line).collect::<Vec<_>>().join("\n");
        for status in outcome.lines.iter().filter_map(|(_, status)| *status) {
            if let Some(count) = usize::try_from(status).ok().and_then(|status| self.statuses.get_mut(status)) {
                *count += 1;
            }
        }
        if options.count == 1 {
            eprintln!("{lines}");
        }
        self.faults.extend(outcome.faults.into_iter().map(|fault| (case, fault, lines.clone())));
        self.done += 1;
        if self.last.elapsed() > Duration::from_secs(30) {
            self.last = Instant::now();
            eprintln!("{} of {} cases, {} faults", self.done, options.count, self.faults.len());
        }
    }
}

fn measure(options: &Options) -> Result<Report, String> {
    if cfg!(not(unix)) {
        return Err("abuse needs a Unix shell, signals and links".into());
    }
    let program = match &options.program {
        Some(program) => std::fs::canonicalize(program).map_err(|error| format!("{}: {error}", program.display()))?,
        None => {
            if stream("build", &mut cargo(["build", "--quiet", "--release", "--bin", "sinew"])).is_failure() {
                return Err("the program cannot be built".into());
            }
            binary("sinew")
        }
    };
    let bench = Bench { grammar: Grammar::of(&program)?, scenes: small_scenes()?, program };
    let folder = target().join("abuse");
    let kept = folder.join("faults");
    let _ = std::fs::remove_dir_all(&kept);
    let workers = std::thread::available_parallelism().map_or(1, |count| count.get());
    let (next, told) = (AtomicU64::new(options.first), Mutex::new(Told::default()));
    let end = options.first + options.count;
    let start = Instant::now();
    let results: Vec<Result<(), String>> = std::thread::scope(|scope| {
        let (bench, folder, kept, next, told) = (&bench, &folder, &kept, &next, &told);
        let work = move |number: usize| {
            let _turn = turns::take(Rank::Short);
            let mut home = Home::new(&folder.join(format!("home-{number}")), bench)?;
            loop {
                let case = next.fetch_add(1, Ordering::Relaxed);
                if case >= end {
                    return Ok(());
                }
                let outcome = home.run(bench, case)?;
                if outcome.faults.iter().any(Fault::is_failure) {
                    home.keep(&kept.join(case.to_string()));
                }
                let Ok(mut told) = told.lock() else { return Ok(()) };
                told.add(case, outcome, options);
            }
        };
        let workers: Vec<_> = (0..workers).map(|number| scope.spawn(move || work(number))).collect();
        workers.into_iter().map(|worker| worker.join().unwrap_or(Err("a worker panicked".into()))).collect()
    });
    results.into_iter().collect::<Result<(), String>>()?;
    let Told { mut faults, statuses, .. } = told.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    faults.sort_by_key(|(case, ..)| *case);
    // The folder of a single case stays for a look; those of faulty cases always do.
    if options.count > 1 {
        (0..workers).for_each(|number| drop(std::fs::remove_dir_all(folder.join(format!("home-{number}")))));
    }
    Ok(Report { count: options.count, seconds: start.elapsed().as_secs_f64(), faults, statuses })
}

/// The texts of the small scenes of the repository.
fn small_scenes() -> Result<Vec<String>, String> {
    let mut scenes = files_below(&root().join("scenes"), "toml");
    scenes.retain(|path| !LARGE.iter().any(|part| path.to_string_lossy().contains(part)));
    scenes.sort();
    let read = |path: &PathBuf| std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()));
    let mut texts = scenes.iter().map(read).collect::<Result<Vec<String>, String>>()?;
    texts.retain(|text| !text.contains("file = "));
    if texts.is_empty() { Err("there are no small scenes".into()) } else { Ok(texts) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_wrong_ones_named() {
        let parse = |line: &str| Options::parse(&line.split_whitespace().map(String::from).collect::<Vec<_>>());
        assert_eq!(parse("--only 7").map(|options| (options.first, options.count)), Ok((7, 1)));
        assert_eq!(parse("").map(|options| options.count), Ok(CASES));
        assert!(parse("--count many").is_err_and(|error| error.contains("--count needs a number")));
        assert!(parse("--sead 3").is_err_and(|error| error.contains("--sead")));
    }
}
