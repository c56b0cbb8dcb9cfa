//! One step of a chore: a command with streamed output, and its test counts.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use crate::turns::{self, Rank};

/// Outcome of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Passed.
    Passed,
    /// Failed, with a short reason.
    Failed(String),
    /// Skipped, with the reason.
    Skipped(String),
}

/// A finished step.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Name in the table, as in `--only`.
    pub name: String,
    /// The outcome.
    pub verdict: Verdict,
    /// Checks inside the step that passed, failed, were skipped (tests, scenes); a step without parts counts as one.
    pub counts: [usize; 3],
    /// Wall-clock seconds.
    pub seconds: f64,
}

impl Outcome {
    /// Whether the step failed.
    pub fn is_failure(&self) -> bool {
        matches!(self.verdict, Verdict::Failed(_))
    }

    /// A step without parts.
    pub fn single(name: &str, verdict: Verdict, seconds: f64) -> Self {
        let counts = match &verdict {
            Verdict::Passed => [1, 0, 0],
            Verdict::Failed(_) => [0, 1, 0],
            Verdict::Skipped(_) => [0, 0, 1],
        };
        Self { name: name.into(), verdict, counts, seconds }
    }
}

/// Reports why a chore cannot begin.
pub fn refused(message: &str) -> ExitCode {
    eprintln!("error: {message}");
    ExitCode::from(2)
}

/// Root of the repository: the folder above this package.
pub fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_path_buf()
}

/// Where cargo builds.
pub fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => root().join(folder),
        None => root().join("target"),
    }
}

/// The path of a program built in the release profile.
pub fn binary(name: &str) -> PathBuf {
    target().join("release").join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

/// Lets a command keep stages of recipes that scenes build for the other commands of this run.
pub fn share_recipes(command: &mut Command) {
    command.env("SINEW_CACHE", recipes());
}

/// Forgets stages of earlier runs: a program that has changed must not get its results from an older one.
pub fn forget_recipes() {
    let _ = std::fs::remove_dir_all(recipes());
}

fn recipes() -> PathBuf {
    target().join("recipes")
}

/// Cargo with arguments, in the root of the repository.
pub fn cargo<const N: usize>(arguments: [&str; N]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()).args(arguments);
    command
}

thread_local! {
    static LABEL: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Begins each line that [`stream`] forwards on this thread, so that steps side by side can be told apart.
pub fn set_label(label: String) {
    LABEL.set(label);
}

/// The label of this thread, for those that it starts.
pub fn label() -> String {
    LABEL.with_borrow(String::clone)
}

/// Runs a command, forwards its output line by line, and counts the tests it reports.
pub fn stream(name: &str, command: &mut Command) -> Outcome {
    let start = Instant::now();
    let mut child = match command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn() {
        Ok(child) => child,
        Err(error) => return Outcome::single(name, Verdict::Failed(format!("cannot start: {error}")), 0.0),
    };
    let (label, same) = (label(), label());
    let stdout = child.stdout.take().map(|pipe| std::thread::spawn(move || pass_on(pipe, &same)));
    let stderr = child.stderr.take().map(|pipe| pass_on(pipe, &label)).unwrap_or_default();
    let stdout = stdout.and_then(|thread| thread.join().ok()).unwrap_or_default();
    let status = child.wait();
    let seconds = start.elapsed().as_secs_f64();
    let verdict = match status {
        Ok(status) if status.success() => Verdict::Passed,
        Ok(status) => Verdict::Failed(status.to_string()),
        Err(error) => Verdict::Failed(error.to_string()),
    };
    let mut outcome = Outcome::single(name, verdict, seconds);
    let counts = [0, 1, 2].map(|i| stdout[i] + stderr[i]);
    if counts.iter().sum::<usize>() > 0 {
        // A build error after some counted tests must still count as a failure.
        let unseen = usize::from(outcome.is_failure() && counts[1] == 0);
        outcome.counts = [counts[0], counts[1] + unseen, counts[2]];
    }
    outcome
}

/// Runs parts of a step side by side, each when it is its turn on a core; tells the sum of their counts and who failed.
pub fn side_by_side(name: &str, parts: Vec<(String, Rank, Command)>) -> Outcome {
    let start = Instant::now();
    let label = label();
    let run = |(part, rank, mut command): (String, Rank, Command)| {
        let label = label.clone();
        std::thread::spawn(move || {
            set_label(label);
            let _turn = turns::take(rank);
            stream(&part, &mut command)
        })
    };
    let running: Vec<_> = parts.into_iter().map(run).collect();
    let (mut counts, mut failed) = ([0; 3], Vec::new());
    for part in running {
        let outcome = part.join().unwrap_or_else(|_| Outcome::single(name, Verdict::Failed("broke off".into()), 0.0));
        counts = [0, 1, 2].map(|i| counts[i] + outcome.counts[i]);
        if outcome.is_failure() {
            failed.push(outcome.name);
        }
    }
    let verdict = if failed.is_empty() { Verdict::Passed } else { Verdict::Failed(failed.join(", ")) };
    Outcome { name: name.into(), verdict, counts, seconds: start.elapsed().as_secs_f64() }
}

/// Copies a pipe to stderr and adds up its summary lines of cargo test.
fn pass_on(pipe: impl Read, label: &str) -> [usize; 3] {
    let mut counts = [0; 3];
    for line in BufReader::new(pipe).lines() {
        let Ok(line) = line else { break };
        let mut err = std::io::stderr().lock();
        // A closed terminal is no reason to stop testing.
        let _ = writeln!(err, "{label}{line}");
        if let Some(found) = test_counts(&line) {
            counts = [0, 1, 2].map(|i| counts[i] + found[i]);
        }
    }
    counts
}

/// Passed, failed and skipped tests of a summary line, if it is one.
///
/// `test result: ok. 12 passed; 0 failed; 1 ignored; …` (a test program) or
/// `1 failed, 12 passed, 3 skipped in 1.23s` (pytest).
pub fn test_counts(line: &str) -> Option<[usize; 3]> {
    let line = line.trim();
    let rest = match line.strip_prefix("test result:") {
        Some(rest) => rest,
        None if is_pytest_summary(line) => line,
        None => return None,
    };
    let words: Vec<&str> = rest.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let mut counts = [0; 3];
    for pair in words.windows(2) {
        let index = match pair[1] {
            "passed" => 0,
            "failed" => 1,
            "ignored" | "skipped" => 2,
            _ => continue,
        };
        if let Ok(count) = pair[0].parse::<usize>() {
            counts[index] += count;
        }
    }
    Some(counts)
}

/// Whether a line begins with a count and ends with a time.
fn is_pytest_summary(line: &str) -> bool {
    let line = line.trim_matches('=').trim();
    let counts =
        line.split_once(" in ").filter(|(_, time)| time.split('s').next().is_some_and(|t| t.parse::<f64>().is_ok()));
    let words = ["passed", "failed", "skipped"];
    counts.is_some_and(|(counts, _)| {
        counts.starts_with(|c: char| c.is_ascii_digit()) && words.iter().any(|word| counts.contains(word))
    })
}

#[cfg(test)]
mod tests {
    use super::test_counts;

    #[test]
    fn summary_lines_of_both_test_runners_are_understood() {
        let cargo = "test result: FAILED. 12 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.2s";
        assert_eq!(test_counts(cargo), Some([12, 2, 1]));
        assert_eq!(test_counts("==== 1 failed, 12 passed, 3 skipped in 61.23s (0:01:01) ===="), Some([12, 1, 3]));
        assert_eq!(test_counts("7 passed in 0.02s"), Some([7, 0, 0]));
        assert_eq!(test_counts("test math::adds ... ok"), None);
        assert_eq!(test_counts("4 frames in memory"), None);
    }
}
