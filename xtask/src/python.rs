//! The Python module: its wheel, its generated pages, and its tests.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use crate::dist;
use crate::scenes;
use crate::step::{Outcome, Verdict, binary, root, share_recipes, side_by_side, stream, target};
use crate::test::Options;
use crate::turns::{self, Rank};
use crate::venv::{self, Background, Environment, quietly};

/// Name of the step.
pub const NAME: &str = "python";

/// Files of tests that take longest: each has a process of its own.
const LONG: [&str; 3] = ["test_docs.py", "test_scenes.py", "test_sweep.py"];

static INSTALLATION: Background = Background::new();

/// The environment of the tests, with all packages that they compare with.
fn environment() -> Environment {
    Environment::new(target().join("python"))
}

/// The environment for building wheels: only maturin.
fn workshop() -> Environment {
    Environment::new(target().join("wheel-tools"))
}

/// Starts installing the packages of the tests in the background: torch alone takes some gigabytes.
pub fn prepare() {
    INSTALLATION.start(install);
}

fn install() -> Result<(), String> {
    install_workshop()?;
    environment().install(&root().join("python/tests/requirements.txt"), &[])
}

fn install_workshop() -> Result<(), String> {
    workshop().install(&root().join("python/tools/requirements.txt"), &[])
}

/// Builds the wheel and prints its path.
pub fn wheel() -> ExitCode {
    match built_wheel("release") {
        Ok(wheel) => {
            println!("{}", wheel.display());
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("error: {reason}");
            ExitCode::FAILURE
        }
    }
}

/// The wheel by a profile of the workspace, in a folder of its own, so that it is the only one there.
pub fn built_wheel(profile: &str) -> Result<PathBuf, String> {
    let workshop = workshop();
    install_workshop()?;
    let folder = target().join("wheels");
    if let Err(error) = std::fs::remove_dir_all(&folder)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        return Err(format!("cannot empty {}: {error}", folder.display()));
    }
    let mut maturin = maturin(&workshop, "build");
    maturin.args(["--profile", profile, "--out"]).arg(&folder);
    if profile == dist::PROFILE {
        maturin.env(dist::FALLBACK, "1");
    }
    let outcome = stream("wheel", &mut maturin);
    if outcome.is_failure() {
        return Err("maturin could not build the wheel".into());
    }
    scenes::files_below(&folder, "whl").pop().ok_or_else(|| "maturin built no wheel".into())
}

fn maturin(workshop: &Environment, command: &str) -> Command {
    let mut maturin = Command::new(workshop.python());
    maturin.current_dir(root()).args(["-m", "maturin", command, "--manifest-path", "python/Cargo.toml"]);
    maturin
}

/// Rewrites the type stubs and the reference page of the module, or compares them with the existing ones.
pub fn pages(is_check: bool) -> Result<(), String> {
    let wheel = built_wheel("release")?;
    let workshop = workshop();
    workshop.pip_install(&wheel)?;
    let folder = target().join("stubs");
    let mut generator = maturin(&workshop, "generate-stubs");
    generator.args(["--profile", "release", "--out"]).arg(&folder);
    quietly("maturin", &mut generator)?;
    let found = scenes::files_below(&folder, "pyi").pop().ok_or("maturin wrote no stubs")?;
    let stubs = std::fs::read_to_string(found).map_err(|error| error.to_string())?;
    keep(Path::new("python/sinew/_sinew.pyi"), &with_arrays(&stubs), is_check)?;
    let page = Command::new(workshop.python())
        .current_dir(root())
        .arg("python/tools/reference.py")
        .env("PYTHONPYCACHEPREFIX", venv::bytecode())
        .output()
        .map_err(|error| error.to_string())?;
    if !page.status.success() {
        let said = String::from_utf8_lossy(&page.stderr);
        return Err(format!("python/tools/reference.py: {}", said.lines().last().unwrap_or("failed")));
    }
    keep(Path::new("docs/reference/python.md"), &String::from_utf8_lossy(&page.stdout), is_check)
}

/// The generated stubs mark numpy arrays as incomplete and leave dicts untyped; this fills both in.
fn with_arrays(stubs: &str) -> String {
    let mut lines: Vec<String> = vec!["# Written by `cargo xtask docs` from the documentation in Rust.".into()];
    for line in stubs.lines() {
        let line = match line.strip_prefix("from _typeshed import ") {
            Some(names) => {
                lines.push("import numpy.typing as npt".into());
                let names: Vec<&str> = names.split(", ").filter(|name| *name != "Incomplete").collect();
                if names.is_empty() {
                    continue;
                }
                format!("from _typeshed import {}", names.join(", "))
            }
            None => line.replace("Incomplete", "npt.NDArray[Any]"),
        };
        let is_signature = line.trim_start().starts_with("def ");
        lines.push(if is_signature { with_dicts(&line).replace("**parameters)", "**parameters: Any)") } else { line });
    }
    lines.push(String::new());
    lines.join("\n")
}

/// Types every bare `dict` of a signature.
fn with_dicts(line: &str) -> String {
    let mut parts = line.split("dict");
    let mut out = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let is_bare = !out.ends_with(is_word) && !part.starts_with(|c: char| is_word(c) || c == '[');
        out.push_str(if is_bare { "dict[str, Any]" } else { "dict" });
        out.push_str(part);
    }
    out
}

/// Writes a generated file, or reports the first difference from the existing one.
fn keep(path: &Path, text: &str, is_check: bool) -> Result<(), String> {
    let file = root().join(path);
    if !is_check {
        return std::fs::write(&file, text).map_err(|error| format!("cannot write {}: {error}", path.display()));
    }
    let found = std::fs::read_to_string(&file).unwrap_or_default();
    if found == text {
        return Ok(());
    }
    let line = found.lines().zip(text.lines()).take_while(|(a, b)| a == b).count() + 1;
    Err(format!("{} is out of date from line {line} on: run `cargo xtask docs`", path.display()))
}

/// Builds and installs the wheel, compares the generated pages, and runs the tests in several processes.
pub fn run(options: &Options) -> Outcome {
    let start = Instant::now();
    if let Err(reason) = INSTALLATION.wait(install) {
        return Outcome::single(NAME, Verdict::Skipped(reason), start.elapsed().as_secs_f64());
    }
    let environment = environment();
    let turn = turns::take(Rank::First);
    let installed = pages(true).and_then(|()| {
        let wheel = scenes::files_below(&target().join("wheels"), "whl").pop().ok_or("there is no wheel")?;
        environment.pip_install(&wheel)
    });
    drop(turn);
    if let Err(reason) = installed {
        return Outcome::single(NAME, Verdict::Failed(reason), start.elapsed().as_secs_f64());
    }
    let outcome = side_by_side(NAME, parts(&environment, options));
    Outcome { seconds: start.elapsed().as_secs_f64(), ..outcome }
}

/// One pytest for each of the long files, and one for all others.
fn parts(environment: &Environment, options: &Options) -> Vec<(String, Rank, Command)> {
    let pytest = |name: &str| {
        let mut command = Command::new(environment.python());
        command
            .current_dir(root())
            .args(["-m", "pytest", "--durations=8", "-p", "no:cacheprovider"])
            .env("SINEW", binary("sinew"))
            .env("SINEW_TEST_THREADS", "1")
            .env("PYTHONPYCACHEPREFIX", venv::bytecode());
        share_recipes(&mut command);
        if is_newer(&scenes::hashes(), &binary("sinew")) {
            command.env("SINEW_SCENE_HASHES", scenes::hashes());
        }
        if options.full {
            command.env("SINEW_FULL", "1");
        }
        (format!("pytest {name}"), Rank::Long, command)
    };
    let mut others = pytest("others");
    others.2.arg("python/tests");
    let mut parts = Vec::new();
    for file in LONG {
        let mut part = pytest(file);
        part.2.arg(format!("python/tests/{file}"));
        others.2.arg(format!("--ignore=python/tests/{file}"));
        parts.push(part);
    }
    parts.push(others);
    parts
}

/// Whether a file is newer than another: fingerprints of an older program are useless.
fn is_newer(file: &Path, other: &Path) -> bool {
    let written = |path: &Path| std::fs::metadata(path).and_then(|data| data.modified()).ok();
    written(file).zip(written(other)).is_some_and(|(file, other)| file > other)
}

#[cfg(test)]
mod tests {
    use super::with_arrays;

    #[test]
    fn stubs_name_arrays_and_dicts() {
        let stubs = "from _typeshed import Incomplete, SupportsGetItem\ndef a() -> Incomplete: ...\ndef to_dict(x: dict | None) -> dict:\n";
        let written = with_arrays(stubs);
        assert!(written.contains("import numpy.typing as npt\nfrom _typeshed import SupportsGetItem\n"), "{written}");
        assert!(
            written.contains(
                "def a() -> npt.NDArray[Any]: ...\ndef to_dict(x: dict[str, Any] | None) -> dict[str, Any]:\n"
            ),
            "{written}"
        );
    }
}
