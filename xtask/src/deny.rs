//! Licenses, banned crates and sources: `cargo deny`, built into the target folder if it is not installed.

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use crate::step::{Outcome, Verdict, cargo, has_cargo_command, root, stream, target};
use crate::test::Options;

const NAME: &str = "licenses";

/// Checks the policy of `deny.toml`.
pub fn run(_: &Options) -> Outcome {
    let start = Instant::now();
    let mut command = if has_cargo_command("deny") {
        cargo(["deny"])
    } else {
        let Some(program) = installed() else {
            return Outcome::single(
                NAME,
                Verdict::Skipped("cargo-deny is not installed".into()),
                start.elapsed().as_secs_f64(),
            );
        };
        let mut command = Command::new(program);
        command.current_dir(root());
        command
    };
    // Without `--workspace` only the tree of the root package is read, and the Python module is not in it.
    command.args(["--workspace", "check", "--hide-inclusion-graph", "licenses", "bans", "sources"]);
    let mut outcome = stream(NAME, &mut command);
    outcome.seconds = start.elapsed().as_secs_f64();
    outcome
}

/// The program below the target folder; the first time, builds it there, which takes some minutes on two cores.
fn installed() -> Option<PathBuf> {
    let tools = target().join("tools");
    let program = tools.join("bin").join(format!("cargo-deny{}", std::env::consts::EXE_SUFFIX));
    if program.is_file() {
        return Some(program);
    }
    eprintln!("cargo-deny is missing; building it once (some minutes)");
    let mut install = cargo(["install", "cargo-deny", "--locked", "--quiet", "--root"]);
    install.arg(&tools).env("CARGO_TARGET_DIR", tools.join("build"));
    // It only reads licenses: its speed and size do not matter, its build time does.
    install.args(["--config", "profile.release.opt-level=0", "--config", "profile.release.lto=false"]);
    let outcome = stream("cargo-deny", &mut install);
    (!outcome.is_failure() && program.is_file()).then_some(program)
}
