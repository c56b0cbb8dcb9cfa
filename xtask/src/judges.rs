//! Other people's programs judge what we read and write: `tests/judges/*.py` with meshio, pyvista, gmsh, trimesh, usd-core, Blender
//! and the Khronos validator, installed below the target folder.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread::JoinHandle;
use std::time::Instant;

use crate::scenes;
use crate::step::{Outcome, Verdict, binary, root, stream, target};
use crate::test::Options;

/// Name of the step.
pub const NAME: &str = "judges";

/// The installation that runs while the other steps build and test.
static INSTALLATION: Mutex<Option<JoinHandle<Result<(), String>>>> = Mutex::new(None);

fn folder() -> PathBuf {
    target().join("judges")
}

fn python() -> PathBuf {
    let venv = folder().join("venv");
    if cfg!(windows) { venv.join("Scripts/python.exe") } else { venv.join("bin/python") }
}

/// Begins to install the judges in the background: a few hundred megabytes come from the package registries.
pub fn prepare() {
    if let Ok(mut installation) = INSTALLATION.lock() {
        *installation = Some(std::thread::spawn(install));
    }
}

/// Installs what is missing; a stamp says for which list of packages that was done.
fn install() -> Result<(), String> {
    let requirements = root().join("tests/judges/requirements.txt");
    let wanted = std::fs::read_to_string(&requirements).map_err(|error| error.to_string())?;
    let stamp = folder().join("installed");
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    std::fs::create_dir_all(folder()).map_err(|error| error.to_string())?;
    if !python().is_file() {
        quietly("Python 3", Command::new("python3").args(["-m", "venv"]).arg(folder().join("venv")))?;
    }
    let mut pip = Command::new(python());
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]).arg(&requirements);
    quietly("pip", &mut pip)?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-save", "--no-audit", "--no-fund", "--prefix"])
        .arg(folder())
        .arg("gltf-validator@2.0.0-dev.3.10");
    quietly("npm", &mut npm)?;
    std::fs::write(stamp, wanted).map_err(|error| error.to_string())
}

/// Runs an installer; what it says is told only when it fails.
fn quietly(name: &str, command: &mut Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{name} cannot be started: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let last = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no reason given");
    Err(format!("{name}: {last}"))
}

/// Waits for the installation and hears every judge.
pub fn run(_: &Options) -> Outcome {
    let start = Instant::now();
    let running = INSTALLATION.lock().ok().and_then(|mut installation| installation.take());
    let installed = match running {
        Some(installation) => installation.join().unwrap_or_else(|_| Err("the installation broke off".into())),
        None => install(),
    };
    if let Err(reason) = installed {
        return Outcome::single(NAME, Verdict::Skipped(reason), start.elapsed().as_secs_f64());
    }
    let mut counts = [0; 3];
    let mut failed = Vec::new();
    let mut scripts = scenes::files_below(&root().join("tests/judges"), "py");
    scripts.retain(|script| name_of(script) != "judge");
    scripts.sort();
    for script in &scripts {
        let name = name_of(script);
        let mut command = Command::new(python());
        command.arg(script).current_dir(root());
        command
            .env("SINEW", binary("sinew"))
            .env("JUDGE_FOLDER", folder().join("work"))
            .env("NODE_PATH", folder().join("node_modules"));
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        let outcome = stream(&name, &mut command);
        counts = [0, 1, 2].map(|i| counts[i] + outcome.counts[i]);
        if outcome.is_failure() {
            failed.push(name);
        }
    }
    let verdict = if failed.is_empty() { Verdict::Passed } else { Verdict::Failed(failed.join(", ")) };
    Outcome { name: NAME.into(), verdict, counts, seconds: start.elapsed().as_secs_f64() }
}

fn name_of(script: &Path) -> String {
    script.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}
