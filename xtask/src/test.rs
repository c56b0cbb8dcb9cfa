//! `cargo xtask test`: everything CI runs, cheapest checks first.
//!
//! Everything is built in the release profile: tests step real physics, and with one profile no crate is compiled
//! twice.

use std::process::{Command, ExitCode};
use std::time::Instant;

use crate::abuse;
use crate::judges;
use crate::licenses;
use crate::lint;
use crate::opensim;
use crate::programs;
use crate::python;
use crate::rustdoc;
use crate::scenes;
use crate::step::{Outcome, Verdict, cargo, forget_recipes, refused, root, set_label, stream, target};
use crate::turns::{self, Rank};

/// Options of the chore.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Adds large scenes and large sizes inside tests (`SINEW_FULL=1`).
    pub full: bool,
    only: Vec<String>,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.as_str() {
                "--full" => options.full = true,
                "--only" => options.only.push(rest.next().ok_or("--only needs the name of a step")?.clone()),
                other => match other.strip_prefix("--only=") {
                    Some(name) => options.only.push(name.into()),
                    None => return Err(format!("unknown argument \"{other}\"")),
                },
            }
        }
        Ok(options)
    }

    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|part| name.contains(part.as_str()))
    }
}

type Step = (&'static str, fn(&Options) -> Outcome);

/// Steps that use all cores, one after the other.
const FIRST: &[Step] =
    &[("format", format), ("licenses", licenses::run), ("lint", lint), ("tests", tests), ("scenes", scenes::run)];

/// Steps that use one core each. Rows run side by side; a step, or each part of it, waits for its turn on a core, and
/// installs nothing while it has one.
const SIDE_BY_SIDE: [&[Step]; 4] = [
    // One cargo waits for the other anyway.
    &[("doc tests", doc_tests), ("doc pages", doc_pages), ("examples", examples), (opensim::NAME, opensim::run)],
    &[(python::NAME, python::run)],
    &[(judges::NAME, judges::run)],
    &[(abuse::NAME, abuse::check)],
];

/// Installations that run in the background of the steps before.
const PREPARATIONS: [(&str, fn()); 3] =
    [(judges::NAME, judges::prepare), (python::NAME, python::prepare), (opensim::NAME, opensim::prepare)];

/// Runs the steps, prints the table, and fails if one of them failed.
pub fn run(arguments: &[String]) -> ExitCode {
    let start = Instant::now();
    let options = match Options::parse(arguments) {
        Ok(options) => options,
        Err(message) => return refused(&message),
    };
    let wanted = |steps: &[Step]| steps.iter().copied().filter(|(name, _)| options.wants(name)).collect::<Vec<_>>();
    let (first, rows) = (wanted(FIRST), SIDE_BY_SIDE.map(wanted));
    if first.is_empty() && rows.iter().all(Vec::is_empty) {
        let names: Vec<&str> = FIRST.iter().chain(SIDE_BY_SIDE.concat().iter()).map(|(name, _)| *name).collect();
        eprintln!("error: no step has that name; there are: {}", names.join(", "));
        return ExitCode::from(2);
    }
    forget_recipes();
    PREPARATIONS.iter().filter(|(name, _)| options.wants(name)).for_each(|(_, prepare)| prepare());
    let mut outcomes = run_all(&first, &options);
    std::thread::scope(|scope| {
        let options = &options;
        let run_row = |row: Vec<Step>| {
            let names: Vec<&str> = row.iter().map(|(name, _)| *name).collect();
            (names, scope.spawn(move || run_row(&row, options)))
        };
        for (names, row) in rows.map(run_row) {
            outcomes.extend(row.join().unwrap_or_else(|_| {
                let broke_off = |name: &&str| Outcome::single(name, Verdict::Failed("broke off".into()), 0.0);
                names.iter().map(broke_off).collect()
            }));
        }
    });
    summary(&outcomes, start.elapsed().as_secs_f64())
}

fn run_all(steps: &[Step], options: &Options) -> Vec<Outcome> {
    let run = |(name, step): &Step| {
        eprintln!("\n── {name} ──");
        strict(step(options))
    };
    steps.iter().map(run).collect()
}

/// Runs the steps of a row, whose lines begin with their names.
fn run_row(steps: &[Step], options: &Options) -> Vec<Outcome> {
    let run = |step: &Step| {
        set_label(format!("{:<9} │ ", step.0));
        run_all(std::slice::from_ref(step), options)
    };
    steps.iter().flat_map(run).collect()
}

/// With `CI=true` a missing tool is a failure, not a skip.
fn strict(mut outcome: Outcome) -> Outcome {
    let is_ci = std::env::var("CI").is_ok_and(|value| value == "true" || value == "1");
    if let (true, Verdict::Skipped(reason)) = (is_ci, &outcome.verdict) {
        outcome = Outcome::single(&outcome.name, Verdict::Failed(format!("skipped in CI: {reason}")), outcome.seconds);
    }
    outcome
}

fn summary(outcomes: &[Outcome], seconds: f64) -> ExitCode {
    println!("\n{:<12} {:>8} {:>8} {:>8} {:>9}", "step", "passed", "failed", "skipped", "seconds");
    let mut total = [0; 3];
    for outcome in outcomes {
        let [passed, failed, skipped] = outcome.counts;
        let note = match &outcome.verdict {
            Verdict::Passed => String::new(),
            Verdict::Failed(reason) => format!("  FAILED ({reason})"),
            Verdict::Skipped(reason) => format!("  SKIP ({reason})"),
        };
        println!("{:<12} {passed:>8} {failed:>8} {skipped:>8} {:>9.1}{note}", outcome.name, outcome.seconds);
        total = [0, 1, 2].map(|i| total[i] + outcome.counts[i]);
    }
    println!("{:<12} {:>8} {:>8} {:>8} {seconds:>9.1}", "all", total[0], total[1], total[2]);
    println!("{} passed, {} failed, {} skipped", total[0], total[1], total[2]);
    if outcomes.iter().any(Outcome::is_failure) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn format(_: &Options) -> Outcome {
    stream("format", &mut cargo(["fmt", "--all", "--check"]))
}

fn lint(_: &Options) -> Outcome {
    lint::check("lint")
}

fn tests(options: &Options) -> Outcome {
    programs::run("tests", options.full)
}

fn doc_tests(_: &Options) -> Outcome {
    let _turn = turns::take(Rank::First);
    stream("doc tests", &mut cargo(["test", "--workspace", "--release", "--doc", "--quiet", "--no-fail-fast"]))
}

fn doc_pages(_: &Options) -> Outcome {
    let _turn = turns::take(Rank::Long);
    rustdoc::check("doc pages")
}

/// Builds and runs every file of `examples/`; an example gets its output folder as argument.
fn examples(_: &Options) -> Outcome {
    let start = Instant::now();
    let mut sources = scenes::files_below(&root().join("examples"), "rs");
    sources.sort();
    if sources.is_empty() {
        return Outcome::single("examples", Verdict::Skipped("there are none".into()), 0.0);
    }
    let _turn = turns::take(Rank::Short);
    let build = stream("examples", &mut cargo(["build", "--quiet", "--release", "--examples"]));
    if build.is_failure() {
        return build;
    }
    let mut counts = [0; 3];
    for source in &sources {
        let Some(name) = source.file_stem().and_then(|stem| stem.to_str()) else { continue };
        let output = target().join("examples-out").join(name);
        let program = target().join("release/examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
        let outcome = stream(name, Command::new(program).current_dir(root()).arg(output));
        eprintln!("{name}: {}", if outcome.is_failure() { "FAILED" } else { "ok" });
        counts[usize::from(outcome.is_failure())] += 1;
    }
    let verdict = match counts[1] {
        0 => Verdict::Passed,
        failed => Verdict::Failed(format!("{failed} of {}", sources.len())),
    };
    Outcome { name: "examples".into(), verdict, counts, seconds: start.elapsed().as_secs_f64() }
}
