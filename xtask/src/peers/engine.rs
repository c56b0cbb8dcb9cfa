//! The engines, running a script of `benches/peers/`, and its report.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::step::{root, target};
use crate::venv::Environment;

/// An engine; its script is `benches/peers/run_NAME.py`, its packages are in `benches/peers/requirements/NAME.txt`.
#[derive(Clone, Copy, Debug)]
pub struct Engine {
    /// Name, as in `--only`.
    pub name: &'static str,
    /// Values for `--setting` of the script, one row of the table each; none for a script with one setting.
    pub settings: &'static [Option<&'static str>],
}

/// All engines. The second setting of an engine solves the problem where its default does not.
pub const ENGINES: [Engine; 5] = [
    Engine { name: "felupe", settings: &[None] },
    Engine { name: "genesis", settings: &[None] },
    Engine { name: "drake", settings: &[Some("linear_corotated"), Some("corotated")] },
    Engine { name: "mujoco", settings: &[Some("discrete"), Some("explicit")] },
    Engine { name: "newton", settings: &[Some("10"), Some("20")] },
];

/// Limit on the setup time of a script \[s\]: importing packages and compiling kernels takes up to two minutes,
/// compiling the model of the mats four.
const SETUP_SECONDS: f64 = 600.0;

/// Folder of environments, engine files and reports.
pub fn folder() -> PathBuf {
    target().join("peers")
}

/// Folder of the scripts.
fn scripts() -> PathBuf {
    root().join("benches/peers")
}

/// The environment of an engine; installs it if needed.
pub fn environment(name: &str) -> Result<Environment, String> {
    let environment = Environment::new(folder().join(name));
    environment.install(&scripts().join("requirements").join(format!("{name}.txt")), &[])?;
    Ok(environment)
}

/// Vertical displacement of the free end, mean over its nodes \[m\].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tip {
    /// Minimum over all frames: the first swing.
    pub min: f64,
    /// In the last frame.
    pub end: f64,
}

impl Tip {
    /// Reads `tip_min` and `tip_end`.
    pub fn from_json(json: &Value) -> Option<Self> {
        Some(Self { min: json["tip_min"].as_f64()?, end: json["tip_end"].as_f64()? })
    }

    /// The larger of both differences \[m\]; infinite if one of them is NaN, which `max` would ignore.
    pub fn distance(&self, other: &Tip) -> f64 {
        let difference = |a: f64, b: f64| if (a - b).is_finite() { (a - b).abs() } else { f64::INFINITY };
        difference(self.min, other.min).max(difference(self.end, other.end))
    }
}

/// A script's report of its run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The engine's own spelling of its name.
    pub engine: String,
    /// Its version.
    pub version: String,
    /// Solver and its settings.
    pub solver: String,
    /// Elastic law, by our names if we have it.
    pub law: String,
    /// Whether the law uses the rotations of the previous step.
    pub is_lagged: bool,
    /// Scheme in time: `implicit_euler`, `explicit` or `newmark BETA GAMMA`.
    pub scheme: String,
    /// Steps per frame.
    pub substeps: usize,
    /// Number of tetrahedra.
    pub tets: usize,
    /// Frames computed before the time limit.
    pub frames: usize,
    /// Mean over the frames \[s\].
    pub seconds_per_frame: f64,
    /// Median over the frames \[s\].
    pub median_frame_seconds: f64,
    /// Processor time per wall-clock time.
    pub cores: f64,
    /// Motion of the tip; absent if it became non-finite.
    pub tip: Option<Tip>,
    /// Warnings of the engine.
    pub notes: Vec<String>,
}

/// Below this fraction of a core the machine was busy with something else.
const BUSY: f64 = 0.9;

/// The time that counts \[s\]: wall-clock time, or processor time if the machine was busy, which favors the engine.
pub fn counted_seconds(seconds: f64, cores: f64) -> f64 {
    if cores < BUSY { seconds * cores } else { seconds }
}

impl Run {
    /// Whether other programs took processor time away.
    pub fn is_disturbed(&self) -> bool {
        self.cores < BUSY
    }

    /// The time per frame that counts \[s\].
    pub fn counted_seconds(&self) -> f64 {
        counted_seconds(self.seconds_per_frame, self.cores)
    }

    /// Reads the line of a script.
    pub fn from_json(json: &Value) -> Result<Self, String> {
        let text = |key: &str| json[key].as_str().map(String::from).ok_or(format!("the report has no \"{key}\""));
        let number = |key: &str| json[key].as_f64().ok_or(format!("the report has no \"{key}\""));
        let notes = json["notes"].as_array().into_iter().flatten();
        Ok(Self {
            engine: text("engine")?,
            version: text("version")?,
            solver: text("solver")?,
            law: text("law")?,
            is_lagged: json["lagged"] == true,
            scheme: text("scheme")?,
            substeps: number("substeps")? as usize,
            tets: number("tets")? as usize,
            frames: number("frames")? as usize,
            seconds_per_frame: number("seconds_per_frame")?,
            median_frame_seconds: number("median_frame_seconds")?,
            cores: number("cores")?,
            tip: Tip::from_json(json),
            notes: notes.filter_map(Value::as_str).map(String::from).collect(),
        })
    }
}

/// Runs a script and returns its last line; stops it if it takes much longer than its steps may.
pub fn run_script(
    environment: &Environment,
    script: &str,
    arguments: &[String],
    cap_seconds: f64,
) -> Result<Value, String> {
    run_script_within(environment, script, arguments, cap_seconds, cap_seconds)
}

/// Runs a script that is told one limit and stopped at another one, by the clock, with time to set up.
pub fn run_script_within(
    environment: &Environment,
    script: &str,
    arguments: &[String],
    cap_seconds: f64,
    stop_seconds: f64,
) -> Result<Value, String> {
    let work = folder().join("work");
    std::fs::create_dir_all(&work).map_err(|error| error.to_string())?;
    let mut command = Command::new(environment.python());
    command.arg(scripts().join(script)).args(arguments);
    command.arg("--cap").arg(cap_seconds.to_string()).arg("--work").arg(&work);
    command.current_dir(&work).env("PYTHONDONTWRITEBYTECODE", "1");
    let limit = Duration::from_secs_f64(stop_seconds + SETUP_SECONDS);
    let (is_success, stdout, stderr) = output_within(&mut command, limit)?;
    if !is_success {
        return Err(complaint(&stdout, &stderr));
    }
    last_report(&stdout).ok_or_else(|| "it reported nothing".into())
}

/// The last line that is a JSON object; engines print what they like before it.
fn last_report(stdout: &str) -> Option<Value> {
    stdout.lines().rev().filter(|line| line.starts_with('{')).find_map(|line| serde_json::from_str(line).ok())
}

/// The last message of a failed script.
fn complaint(stdout: &str, stderr: &str) -> String {
    // Escape codes that reset colors contain a letter too.
    let says_something = |line: &&str| line.chars().filter(|c| c.is_alphabetic()).count() > 3;
    let line = stderr.lines().rfind(says_something).or_else(|| stdout.lines().rfind(says_something));
    line.unwrap_or("it broke off without a word").trim().chars().take(200).collect()
}

/// Processor time of all children that have ended \[s\], where the system tells.
pub fn processor_seconds_of_children() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/stat").ok()?;
    // After the name, which is in parentheses: user and system time of children are the 16th and 17th entry.
    let (_, rest) = status.rsplit_once(')')?;
    let ticks: Vec<f64> = rest.split_whitespace().skip(13).take(2).filter_map(|word| word.parse().ok()).collect();
    (ticks.len() == 2).then(|| ticks.iter().sum::<f64>() / 100.0)
}

/// Whether a command succeeded, with its output; kills a command that takes too long.
fn output_within(command: &mut Command, limit: Duration) -> Result<(bool, String, String), String> {
    let start = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("it cannot be started: {error}"))?;
    let stdout = child.stdout.take().map(|pipe| std::thread::spawn(move || drain(pipe)));
    let stderr = child.stderr.take().map(|pipe| std::thread::spawn(move || drain(pipe)));
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if start.elapsed() > limit => {
                // It may have ended just now; wait for it in either case.
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("it was stopped after {:.0} s", limit.as_secs_f64()));
            }
            Ok(None) => std::thread::sleep(Duration::from_millis(50)),
            Err(error) => return Err(error.to_string()),
        }
    };
    let text = |thread: Option<std::thread::JoinHandle<String>>| {
        thread.and_then(|thread| thread.join().ok()).unwrap_or_default()
    };
    Ok((status.success(), text(stdout), text(stderr)))
}

fn drain(mut pipe: impl Read) -> String {
    let mut bytes = Vec::new();
    // Output before an error is still useful.
    let _ = pipe.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Runs our program's beam with overrides of the scene and returns its report.
pub fn run_ours(
    program: &Path,
    size: &str,
    repeats: usize,
    threads: Option<usize>,
    overrides: &[String],
) -> Result<Value, String> {
    let mut arguments = vec!["--size".into(), size.into(), "--repeats".into(), repeats.to_string()];
    if let Some(threads) = threads {
        arguments.extend(["--threads".into(), threads.to_string()]);
    }
    arguments.extend(overrides.iter().flat_map(|change| ["--set".into(), change.clone()]));
    own_report(program, "beam", &arguments)
}

/// Runs one of our program's benchmarks and returns its report.
pub fn own_report(program: &Path, benchmark: &str, arguments: &[String]) -> Result<Value, String> {
    let output = Command::new(program)
        .current_dir(root())
        .args(["bench", benchmark, "--json", "--quiet"])
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot start {}: {error}", program.display()))?;
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        return Err(format!("sinew bench {benchmark}: {}", complaint(&stdout, &stderr)));
    }
    last_report(&stdout).ok_or_else(|| format!("sinew bench {benchmark} reported nothing"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_is_found_behind_what_engines_print() {
        let stdout = "Warp initialised\n{not json\n{\"engine\": \"Newton\", \"tip_min\": null}\nbye\n";
        assert_eq!(
            last_report(stdout).and_then(|json| json["engine"].as_str().map(String::from)),
            Some("Newton".into())
        );
        assert_eq!(last_report("nothing\n"), None);
    }

    #[test]
    fn a_report_becomes_a_run_and_what_is_missing_is_named() {
        let line = r#"{"engine": "Drake", "version": "1", "solver": "its default", "law": "linear_corotated", "lagged": true,
            "scheme": "newmark 0.5 1.0", "substeps": 1, "tets": 5184, "frames": 60, "seconds_per_frame": 0.1,
            "median_frame_seconds": 0.09, "cores": 1.0, "tip_min": -0.36, "tip_end": -0.2, "notes": ["a", "b"]}"#;
        let run = Run::from_json(&serde_json::from_str(line).expect("valid")).expect("complete");
        assert_eq!((run.frames, run.substeps, run.is_lagged, run.notes.len()), (60, 1, true, 2));
        assert_eq!(run.tip, Some(Tip { min: -0.36, end: -0.2 }));
        let without = line.replace("frames\"", "frame\"");
        let error = Run::from_json(&serde_json::from_str(&without).expect("valid")).expect_err("incomplete");
        assert!(error.contains("\"frames\""), "{error}");
    }

    #[test]
    fn a_failed_script_is_blamed_by_its_last_words() {
        assert_eq!(
            complaint("noise", "Traceback\nImportError: no module\n\u{1b}[0m \n  ^^^\n"),
            "ImportError: no module"
        );
        assert_eq!(complaint("", ""), "it broke off without a word");
    }

    #[cfg(unix)]
    #[test]
    fn a_script_that_hangs_is_stopped() {
        let slow = output_within(Command::new("sleep").arg("30"), Duration::from_millis(100));
        assert!(slow.is_err_and(|reason| reason.contains("stopped")));
    }
}
