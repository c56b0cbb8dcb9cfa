//! `cargo xtask test`: everything CI runs, cheapest checks first.
//!
//! Everything is built in the release profile: tests step real physics, and with one profile no crate is compiled
//! twice.

use std::process::{Command, ExitCode};
use std::time::Instant;

use crate::abuse;
use crate::judges;
use crate::licenses;
use crate::opensim;
use crate::python;
use crate::rustdoc;
use crate::scenes;
use crate::step::{Outcome, Verdict, cargo, has_cargo_command, refused, root, stream, target};

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

const STEPS: [(&str, fn(&Options) -> Outcome); 12] = [
    ("format", format),
    ("lint", lint),
    ("tests", tests),
    ("doc tests", doc_tests),
    ("doc pages", doc_pages),
    ("scenes", scenes::run),
    (abuse::NAME, abuse::check),
    ("examples", examples),
    (judges::NAME, judges::run),
    (opensim::NAME, opensim::run),
    (python::NAME, python::run),
    ("licenses", licenses::run),
];

/// Runs the steps, prints the table, and fails if one of them failed.
pub fn run(arguments: &[String]) -> ExitCode {
    let options = match Options::parse(arguments) {
        Ok(options) => options,
        Err(message) => return refused(&message),
    };
    let steps: Vec<_> = STEPS.iter().filter(|(name, _)| options.wants(name)).collect();
    if steps.is_empty() {
        let names: Vec<&str> = STEPS.iter().map(|(name, _)| *name).collect();
        eprintln!("error: no step has that name; there are: {}", names.join(", "));
        return ExitCode::from(2);
    }
    if options.wants(judges::NAME) {
        judges::prepare();
    }
    if options.wants(python::NAME) {
        python::prepare();
    }
    let mut outcomes = Vec::new();
    for (name, step) in steps {
        eprintln!("\n── {name} ──");
        outcomes.push(strict(step(&options)));
    }
    summary(&outcomes)
}

/// With `CI=true` a missing tool is a failure, not a skip.
fn strict(mut outcome: Outcome) -> Outcome {
    let is_ci = std::env::var("CI").is_ok_and(|value| value == "true" || value == "1");
    if let (true, Verdict::Skipped(reason)) = (is_ci, &outcome.verdict) {
        outcome = Outcome::single(&outcome.name, Verdict::Failed(format!("skipped in CI: {reason}")), outcome.seconds);
    }
    outcome
}

fn summary(outcomes: &[Outcome]) -> ExitCode {
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
    let seconds: f64 = outcomes.iter().map(|outcome| outcome.seconds).sum();
    println!("{:<12} {:>8} {:>8} {:>8} {seconds:>9.1}", "all", total[0], total[1], total[2]);
    println!("{} passed, {} failed, {} skipped", total[0], total[1], total[2]);
    if outcomes.iter().any(Outcome::is_failure) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn format(_: &Options) -> Outcome {
    stream("format", &mut cargo(["fmt", "--all", "--check"]))
}

fn lint(_: &Options) -> Outcome {
    stream(
        "lint",
        // With all features, or code that only they build would rot.
        &mut cargo([
            "clippy",
            "--quiet",
            "--workspace",
            "--all-targets",
            "--features",
            "sinew/opponents",
            "--release",
            "--",
            "-D",
            "warnings",
        ]),
    )
}

/// Unit and integration tests; also builds the program, because tests call it.
fn tests(options: &Options) -> Outcome {
    let mut command = if has_cargo_command("nextest") {
        cargo(["nextest", "run", "--workspace", "--release", "--no-fail-fast", "--status-level", "slow"])
    } else {
        cargo(["test", "--workspace", "--release", "--lib", "--bins", "--tests", "--no-fail-fast", "--quiet"])
    };
    if options.full {
        command.env("SINEW_FULL", "1");
    }
    // As many tests run side by side as there are cores: with more threads than that they would wait for one another.
    if std::env::var_os("RAYON_NUM_THREADS").is_none() {
        command.env("RAYON_NUM_THREADS", "1");
    }
    stream("tests", &mut command)
}

fn doc_tests(_: &Options) -> Outcome {
    stream("doc tests", &mut cargo(["test", "--workspace", "--release", "--doc", "--quiet", "--no-fail-fast"]))
}

fn doc_pages(_: &Options) -> Outcome {
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
