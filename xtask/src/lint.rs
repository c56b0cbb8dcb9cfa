//! Lints of all code, and what later steps take over from them.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::step::{Outcome, cargo, stream};

/// All features, or code that only they build would rot.
const FEATURES: [&str; 2] = ["--features", "sinew/opponents"];

/// Not `--all-targets`: to Cargo a library is a benchmark too, so that those whose unit tests are in `unit-tests` would be checked
/// three times.
const TARGETS: [&str; 4] = ["--lib", "--bins", "--examples", "--tests"];

const ARGUMENTS: [&str; 2] = ["-D", "warnings"];

/// The step of `cargo xtask test`.
pub fn check(name: &str) -> Outcome {
    let mut command = cargo(["clippy", "--quiet", "--workspace", "--release"]);
    stream(name, command.args(TARGETS).args(FEATURES).arg("--").args(ARGUMENTS))
}

/// Lets a command of cargo read the crates that the lints have checked, in place of checking them again. Cargo takes them for
/// the same if driver, arguments and features are; otherwise it does the work twice.
pub fn reuse(command: &mut Command) {
    let Some(driver) = driver() else { return };
    let arguments: String = ARGUMENTS.iter().map(|argument| format!("{argument}__CLIPPY_HACKERY__")).collect();
    command.args(FEATURES).env("RUSTC_WORKSPACE_WRAPPER", driver).env("CLIPPY_ARGS", arguments);
}

/// The compiler that `cargo clippy` calls.
fn driver() -> Option<PathBuf> {
    let output = Command::new("rustc").args(["--print", "sysroot"]).output().ok()?;
    let name = format!("clippy-driver{}", std::env::consts::EXE_SUFFIX);
    let path = Path::new(String::from_utf8_lossy(&output.stdout).trim()).join("bin").join(name);
    path.is_file().then_some(path)
}
