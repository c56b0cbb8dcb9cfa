//! Other programs check the files that we read and write: `tests/judges/*.py` with meshio, pyvista, gmsh, trimesh,
//! usd-core, Blender, glTF-Transform and the Khronos validator, installed below the target folder.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::addon;
use crate::scenes;
use crate::step::{Outcome, Verdict, binary, root, side_by_side, target};
use crate::test::Options;
use crate::turns::Rank;
use crate::venv::{self, Background, Environment};

/// Name of the step.
pub const NAME: &str = "judges";

/// Packages from npm: the validator, the parts of glTF-Transform, and the packer that it uses.
const NPM_PACKAGES: [&str; 5] = [
    "gltf-validator@2.0.0-dev.3.10",
    "@gltf-transform/core@4.5.1",
    "@gltf-transform/extensions@4.5.1",
    "@gltf-transform/functions@4.5.1",
    "meshoptimizer@1.3.0",
];

/// Scripts that take longest.
const LONG: [&str; 3] = ["blender_addon", "characters", "correctives"];

static INSTALLATION: Background = Background::new();

fn environment() -> Environment {
    Environment::new(target().join("judges"))
}

/// Starts installing the judges in the background: a few hundred megabytes from the package registries.
pub fn prepare() {
    INSTALLATION.start(install);
}

/// Installs missing packages.
fn install() -> Result<(), String> {
    environment().install(&root().join("tests/judges/requirements.txt"), &NPM_PACKAGES)
}

/// Waits for the installation and runs every judge, as many side by side as there are cores.
pub fn run(options: &Options) -> Outcome {
    let start = Instant::now();
    if let Err(reason) = INSTALLATION.wait(install) {
        return Outcome::single(NAME, Verdict::Skipped(reason), start.elapsed().as_secs_f64());
    }
    let environment = environment();
    let addon = match addon::built(&environment.folder().join("addon")) {
        Ok(path) => path,
        Err(reason) => return Outcome::single(NAME, Verdict::Failed(reason), start.elapsed().as_secs_f64()),
    };
    let mut scripts = scenes::files_below(&root().join("tests/judges"), "py");
    scripts.retain(|script| name_of(script) != "judge");
    scripts.sort();
    let part = |script: &PathBuf| {
        let name = name_of(script);
        let mut command = Command::new(environment.python());
        command.arg(script).current_dir(root());
        command
            .env("SINEW", binary("sinew"))
            .env("SINEW_BLENDER_ZIP", &addon)
            .env("JUDGE_FOLDER", environment.folder().join("work"))
            .env("NODE_PATH", environment.node_modules())
            .env("RAYON_NUM_THREADS", "1");
        command.env("PYTHONPYCACHEPREFIX", venv::bytecode());
        if options.full {
            command.env("SINEW_FULL", "1");
        }
        let rank = if LONG.contains(&name.as_str()) { Rank::Long } else { Rank::Short };
        (name, rank, command)
    };
    let outcome = side_by_side(NAME, scripts.iter().map(part).collect());
    Outcome { seconds: start.elapsed().as_secs_f64(), ..outcome }
}

fn name_of(script: &Path) -> String {
    script.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}
