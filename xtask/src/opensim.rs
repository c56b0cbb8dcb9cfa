//! Checks our muscles against OpenSim: `crates/sinew-muscle/examples/opensim_judge`, in its own environment, since its
//! packages conflict with those of the other judges.

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use crate::step::{Outcome, Verdict, cargo, root, stream, target};
use crate::test::Options;
use crate::turns::{self, Rank};
use crate::venv::{self, Background, Environment};

/// Name of the step.
pub const NAME: &str = "opensim";

static INSTALLATION: Background = Background::new();

fn folder() -> PathBuf {
    root().join("crates/sinew-muscle/examples/opensim_judge")
}

fn environment() -> Environment {
    Environment::new(target().join("opensim"))
}

/// Starts installing OpenSim in the background.
pub fn prepare() {
    INSTALLATION.start(install);
}

fn install() -> Result<(), String> {
    environment().install(&folder().join("requirements.txt"), &[])
}

/// Waits for the installation, runs OpenSim, and compares.
pub fn run(_: &Options) -> Outcome {
    let start = Instant::now();
    let environment = environment();
    let installed = INSTALLATION.wait(install);
    let _turn = turns::take(Rank::Short);
    let asked = installed.and_then(|()| {
        let samples = environment.folder().join("samples.txt");
        let output = Command::new(environment.python())
            .arg(folder().join("samples.py"))
            .env("PYTHONPYCACHEPREFIX", venv::bytecode())
            .output()
            .map_err(|error| error.to_string())?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(said.lines().last().unwrap_or("OpenSim gave no answer").to_string());
        }
        std::fs::write(&samples, output.stdout).map_err(|error| error.to_string())?;
        Ok(samples)
    });
    match asked {
        Ok(samples) => {
            let mut command =
                cargo(["run", "--release", "--quiet", "-p", "sinew-muscle", "--example", "opensim_judge", "--"]);
            stream(NAME, command.arg(samples))
        }
        Err(reason) => Outcome::single(NAME, Verdict::Skipped(reason), start.elapsed().as_secs_f64()),
    }
}
