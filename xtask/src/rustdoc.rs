//! `cargo xtask rustdoc`: the pages of all crates, with rendered formulas. A warning is an error.

use std::process::{Command, ExitCode};

use crate::lint;
use crate::step::{Outcome, cargo, root, stream};

/// Loads KaTeX, which renders the formulas. It is no `rustdocflags` of `.cargo/config.toml`: Cargo runs rustdoc in the
/// folder of each package from a registry, where this path leads nowhere.
const HEADER: &str = "docs/katex-header.html";

/// Builds the pages; `--private` adds private items, `--open` shows them in a browser.
pub fn run(arguments: &[String]) -> ExitCode {
    let mut command = command();
    for argument in arguments {
        match argument.as_str() {
            "--private" => command.arg("--document-private-items"),
            "--open" => command.arg("--open"),
            other => {
                eprintln!("error: unknown argument \"{other}\"; there are --private and --open");
                return ExitCode::from(2);
            }
        };
    }
    if stream("rustdoc", &mut command).is_failure() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// The step of `cargo xtask test`: public pages only.
pub fn check(name: &str) -> Outcome {
    let mut command = command();
    lint::reuse(&mut command);
    stream(name, &mut command)
}

fn command() -> Command {
    let mut command = cargo(["doc", "--quiet", "--workspace", "--no-deps", "--release"]);
    let header = root().join(HEADER);
    let flags = ["-D", "warnings", "--html-in-header", &header.to_string_lossy()];
    // This variable separates flags by a character that no path has.
    command.env("CARGO_ENCODED_RUSTDOCFLAGS", flags.join("\u{1f}"));
    command
}
