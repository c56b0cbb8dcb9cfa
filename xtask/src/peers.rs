//! `cargo xtask bench peers`: the common beam in other engines and in ours, in one run, since times of different days
//! are not comparable.
//!
//! Times our program before and after the others. A time counts only if the engine solved the problem: the tip of the
//! beam is compared with a converged solve of the law, scheme and steps that the engine claims to use.
//! `docs/benchmarks.md` has the results.
//!
//! `cargo xtask bench peers contact` does the same for two mats in contact, see [`contact`], and
//! `cargo xtask bench peers mesh` for meshers and distances, see [`mesh`].

mod contact;
mod engine;
mod law;
mod mesh;
mod options;
mod others;
mod report;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use serde_json::Value;

use crate::step::{binary, cargo, stream};
use engine::{ENGINES, Engine, Run, Tip};
use report::{Ours, Report, Row};

/// Frames of the beam: one second.
const FRAMES: usize = 60;

/// Minimum runs of our own program before and after the others: they are short.
const OWN_REPEATS: usize = 3;

/// Limit on stepping per run of an engine \[s\]; all of them finish the small beam in that time.
const CAP_SECONDS: f64 = 120.0;

#[derive(Clone, Debug, PartialEq)]
struct Options {
    size: &'static str,
    only: Vec<String>,
    is_json: bool,
    repeats: usize,
    cap_seconds: f64,
    program: Option<PathBuf>,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options =
            Self { size: "S", only: Vec::new(), is_json: false, repeats: 1, cap_seconds: CAP_SECONDS, program: None };
        let names = ["--size", "--only", "--repeats", "--cap", "--program"];
        options.is_json = options::read(arguments, &names, |name, value| options.set(name, value))?;
        Ok(options)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "--size" => {
                let sizes = ["S", "L"];
                let found = sizes.into_iter().find(|size| size.eq_ignore_ascii_case(value));
                self.size = found.ok_or(format!("--size is S or L, not \"{value}\""))?;
            }
            "--only" => self.only.extend(options::listed("engine", value, &ENGINES.map(|engine| engine.name))?),
            "--repeats" => {
                let count = value.parse().ok().filter(|count| (1..=1000).contains(count));
                self.repeats = count.ok_or(format!("--repeats is a whole number from 1 to 1000, not \"{value}\""))?;
            }
            "--cap" => self.cap_seconds = options::seconds(name, value)?,
            _ => self.program = Some(value.into()),
        }
        Ok(())
    }

    fn wants(&self, engine: &Engine) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == engine.name)
    }
}

/// Runs the comparison and prints it; exits with 1 if no engine could run, with 2 if ours could not.
pub fn run(arguments: &[String]) -> ExitCode {
    match arguments.split_first().map(|(name, rest)| (name.as_str(), rest)) {
        Some(("contact", rest)) => return contact::run(rest),
        Some(("mesh", rest)) => return mesh::run(rest),
        _ => {}
    }
    let report = Options::parse(arguments).and_then(|options| {
        let report = compare(&options)?;
        keep("report", &report.to_json(), &report.to_markdown())?;
        if options.is_json {
            println!("{}", report.to_json())
        } else {
            print!("{}", report.to_markdown())
        }
        Ok(report)
    });
    match report {
        Ok(report) if report.rows.iter().all(|row| matches!(row, Row::Skipped { .. })) => ExitCode::FAILURE,
        Ok(_) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

fn compare(options: &Options) -> Result<Report, String> {
    let program = own_program(options.program.as_deref())?;
    let version = version(&program)?;
    // Install first: downloads and compilers must not run during timing.
    let mut environments = Vec::new();
    for engine in ENGINES.iter().filter(|engine| options.wants(engine)) {
        eprintln!("{}: installing", engine.name);
        environments.push((engine, engine::environment(engine.name)));
    }
    let before = time_ours(&program, options)?;
    let mut runs = Vec::new();
    for (engine, environment) in &environments {
        for setting in engine.settings {
            let name = setting.map_or(engine.name.into(), |setting| format!("{} {setting}", engine.name));
            let result = match environment {
                Ok(environment) => time_engine(environment, engine, *setting, options),
                Err(reason) => Err(format!("cannot be installed: {reason}")),
            };
            match &result {
                Ok((run, _)) => eprintln!("{name}: {:.4} s per frame", run.seconds_per_frame),
                Err(reason) => eprintln!("{name}: SKIP ({reason})"),
            }
            runs.push((name, result));
        }
    }
    let after = time_ours(&program, options)?;
    let ours = Ours { all: before.all.min(after.all), one: before.one.min(after.one), ..before };
    let mut rows = Vec::new();
    for (name, result) in runs {
        rows.push(match result {
            Ok((run, median_seconds)) => {
                eprintln!("{name}: computing where its law ends");
                let (reference, verdict) = law::judge(&program, options.size, &run, FRAMES);
                Row::Ran { run: Box::new(run), median_seconds, reference, verdict }
            }
            Err(reason) => Row::Skipped { name, reason },
        });
    }
    Ok(Report { size: options.size, frames: FRAMES, version, ours, rows })
}

/// The given program, or ours, built from this checkout.
fn own_program(asked: Option<&Path>) -> Result<PathBuf, String> {
    if let Some(program) = asked {
        return std::path::absolute(program).map_err(|error| error.to_string());
    }
    if stream("build", &mut cargo(["build", "--quiet", "--release"])).is_failure() {
        return Err("our own program cannot be built".into());
    }
    Ok(binary("sinew"))
}

/// The text after the name in `sinew --version`.
fn version(program: &Path) -> Result<String, String> {
    let output = Command::new(program)
        .arg("--version")
        .output()
        .map_err(|error| format!("cannot start {}: {error}", program.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.split_whitespace().nth(1).unwrap_or_default().into())
}

fn time_ours(program: &Path, options: &Options) -> Result<Ours, String> {
    let repeats = options.repeats.max(OWN_REPEATS);
    let measure = |threads| engine::run_ours(program, options.size, repeats, threads, &[]);
    let (all, one) = (measure(None)?, measure(Some(1))?);
    let number = |json: &Value, key: &str| json[key].as_f64().ok_or(format!("our report has no \"{key}\""));
    let ours = Ours {
        threads: number(&all, "threads")? as usize,
        all: number(&all, "seconds_per_frame")?,
        one: number(&one, "seconds_per_frame")?,
        tip: Tip::from_json(&all).ok_or("our report has no tip")?,
    };
    eprintln!("sinew: {:.4} s per frame, on one thread {:.4}", ours.all, ours.one);
    Ok(ours)
}

/// The fastest of several runs, and the median of their times.
fn time_engine(
    environment: &crate::venv::Environment,
    engine: &Engine,
    setting: Option<&str>,
    options: &Options,
) -> Result<(Run, f64), String> {
    let frames = FRAMES.to_string();
    let mut arguments = vec!["--size", options.size, "--frames", &frames];
    if let Some(setting) = setting {
        arguments.extend(["--setting", setting]);
    }
    let arguments: Vec<String> = arguments.into_iter().map(String::from).collect();
    let script = format!("run_{}.py", engine.name);
    let mut runs = Vec::new();
    for _ in 0..options.repeats {
        let json = engine::run_script(environment, &script, &arguments, options.cap_seconds)?;
        runs.push(Run::from_json(&json)?);
    }
    runs.sort_by(|a, b| a.counted_seconds().total_cmp(&b.counted_seconds()));
    let median = runs[runs.len() / 2].counted_seconds();
    Ok((runs.swap_remove(0), median))
}

/// Writes a report beside the environments, as `NAME.json` and `NAME.md`.
fn keep(name: &str, json: &Value, table: &str) -> Result<(), String> {
    let folder = engine::folder();
    for (ending, text) in [("json", format!("{json}\n")), ("md", table.into())] {
        let path = folder.join(format!("{name}.{ending}"));
        std::fs::create_dir_all(&folder)
            .and_then(|()| std::fs::write(&path, text))
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Options;

    fn parse(line: &str) -> Result<Options, String> {
        Options::parse(&line.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_read_with_a_space_or_an_equals_sign() {
        let options = parse("--size l --only drake,mujoco --repeats=3 --cap 60 --json").expect("valid");
        assert_eq!((options.size, options.repeats, options.cap_seconds, options.is_json), ("L", 3, 60.0, true));
        assert_eq!(options.only, ["drake", "mujoco"]);
        assert_eq!(parse("").map(|options| options.size), Ok("S"));
    }

    #[test]
    fn bad_options_say_what_would_be_right() {
        let wrong = [
            ("--size XXL", "S or L"),
            ("--size", "needs a value"),
            ("--only bullet", "felupe, genesis, drake, mujoco, newton"),
            ("--only=", "no engine"),
            ("--repeats 0", "1 to 1000"),
            ("--repeats many", "1 to 1000"),
            ("--cap -1", "above 0"),
            ("--cap NaN", "above 0"),
            ("--fast", "--size, --only"),
        ];
        for (line, part) in wrong {
            let error = parse(line).expect_err(line);
            assert!(error.contains(part), "{line}: {error}");
        }
    }
}
