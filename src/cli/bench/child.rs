//! Our program as a user starts it, with its time.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Instant;

use super::super::call;
use super::Failure;

/// Starts our program with some words in a folder.
pub(super) fn start(folder: &Path, words: &[&str]) -> Result<Child, Failure> {
    let mut command = call::program().map_err(Failure::Other)?;
    command.args(words).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map_err(|error| Failure::Other(format!("cannot start the program: {error}")))
}

/// Wall-clock time of a command \[s\].
pub(super) fn seconds(folder: &Path, words: &[&str]) -> Result<f64, Failure> {
    let begin = Instant::now();
    let ended = start(folder, words)?.wait().map_err(|error| Failure::Other(error.to_string()))?;
    match ended.success() {
        true => Ok(begin.elapsed().as_secs_f64()),
        false => Err(Failure::Other(format!("`sinew {}` failed", words.join(" ")))),
    }
}
