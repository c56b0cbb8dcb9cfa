//! Python virtual environments below the target folder, with npm packages beside them: for the programs that check our
//! files, and for engines to compare with.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock};
use std::thread::JoinHandle;

use crate::step::target;

/// Names to try for Python 3.
const INTERPRETERS: [&str; 2] = ["python3", "python"];

const UV_VERSION: &str = "uv==0.13.8";

/// Where Python keeps compiled modules (`PYTHONPYCACHEPREFIX`), so that none appear among our sources.
pub fn bytecode() -> PathBuf {
    target().join("bytecode")
}

/// A folder with `venv/` in it, and a stamp that records what was installed there.
#[derive(Clone, Debug)]
pub struct Environment {
    folder: PathBuf,
}

impl Environment {
    /// The environment of a folder; creates nothing yet.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Where the environment is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Its interpreter.
    pub fn python(&self) -> PathBuf {
        let venv = self.folder.join("venv");
        if cfg!(windows) { venv.join("Scripts/python.exe") } else { venv.join("bin/python") }
    }

    /// Where packages of npm are.
    pub fn node_modules(&self) -> PathBuf {
        self.folder.join("node_modules")
    }

    /// Installs a list of Python packages, and npm packages with their versions, unless already installed.
    pub fn install(&self, requirements: &Path, npm_packages: &[&str]) -> Result<(), String> {
        let mut wanted = std::fs::read_to_string(requirements)
            .map_err(|error| format!("cannot read {}: {error}", requirements.display()))?;
        wanted.extend(npm_packages.iter().map(|package| format!("{package}\n")));
        let stamp = self.folder.join("installed");
        if self.python().is_file() && std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
            return Ok(());
        }
        std::fs::create_dir_all(&self.folder).map_err(|error| error.to_string())?;
        if self.pip().is_err() {
            self.create()?;
        }
        self.install_packages(requirements)?;
        if !npm_packages.is_empty() {
            let mut npm = Command::new("npm");
            npm.args(["install", "--no-save", "--no-audit", "--no-fund", "--prefix"])
                .arg(&self.folder)
                .args(npm_packages);
            quietly("npm", &mut npm)?;
        }
        std::fs::write(stamp, wanted).map_err(|error| error.to_string())
    }

    /// Installs a list of Python packages with uv, which takes a fifth of the processor time of pip, or else with pip.
    fn install_packages(&self, requirements: &Path) -> Result<(), String> {
        if let Some(mut uv) = uv() {
            uv.args(["pip", "install", "--quiet", "--python"]).arg(self.python()).arg("-r").arg(requirements);
            if quietly("uv", &mut uv).is_ok() {
                return Ok(());
            }
        }
        // Most modules of these packages are never imported: Python compiles those that are.
        let mut pip = self.pip()?;
        pip.args(["install", "--quiet", "--disable-pip-version-check", "--no-compile", "-r"]).arg(requirements);
        quietly("pip", &mut pip)
    }

    /// Installs one package from a file, replacing an older one.
    pub fn pip_install(&self, package: &Path) -> Result<(), String> {
        let mut pip = self.pip()?;
        pip.args(["install", "--quiet", "--disable-pip-version-check", "--force-reinstall", "--no-deps"]);
        quietly("pip", pip.arg(package))
    }

    /// Its own pip, or else the system's.
    fn pip(&self) -> Result<Command, String> {
        let works = |python: &Path| quietly("pip", self.pip_of(python).arg("--version"));
        if works(&self.python()).is_ok() {
            return Ok(self.pip_of(&self.python()));
        }
        let python = Path::new(interpreter()?);
        works(python).map(|()| self.pip_of(python))
    }

    /// The pip of an interpreter, which installs here.
    fn pip_of(&self, python: &Path) -> Command {
        let mut pip = Command::new(python);
        pip.args(["-m", "pip"]);
        if python != self.python() {
            pip.arg("--python").arg(self.python());
        }
        pip
    }

    /// Creates the environment. A pip of its own takes most of the time, so it has one only where the system's pip cannot
    /// install there.
    fn create(&self) -> Result<(), String> {
        let python = interpreter()?;
        let venv = self.folder.join("venv");
        let make = |options: &[&str]| {
            quietly("venv", Command::new(python).args(["-m", "venv", "--clear"]).args(options).arg(&venv))
        };
        make(&["--without-pip"])?;
        if self.pip().is_ok() { Ok(()) } else { make(&[]) }
    }
}

/// The program uv, in an environment of its own; none where there is no such package.
fn uv() -> Option<Command> {
    static UV: OnceLock<Option<PathBuf>> = OnceLock::new();
    let install = || {
        let tools = Environment::new(target().join("uv"));
        let program = tools.python().with_file_name(format!("uv{}", std::env::consts::EXE_SUFFIX));
        if !program.is_file() {
            std::fs::create_dir_all(&tools.folder).ok()?;
            tools.create().ok()?;
            quietly("pip", tools.pip().ok()?.args(["install", "--quiet", UV_VERSION])).ok()?;
        }
        Some(program)
    };
    let mut uv = Command::new(UV.get_or_init(install).as_ref()?);
    // It does not read the settings of pip.
    if let Ok(index) = std::env::var("PIP_INDEX_URL") {
        uv.env("UV_DEFAULT_INDEX", index);
    }
    Some(uv)
}

/// An installation that runs while other steps build and test.
pub struct Background(Mutex<Option<JoinHandle<Result<(), String>>>>);

impl Background {
    /// Not started.
    pub const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Starts.
    pub fn start(&self, install: fn() -> Result<(), String>) {
        if let Ok(mut installation) = self.0.lock() {
            *installation = Some(std::thread::spawn(install));
        }
    }

    /// Waits for the end, or installs now if not started before.
    pub fn wait(&self, install: fn() -> Result<(), String>) -> Result<(), String> {
        let running = self.0.lock().ok().and_then(|mut installation| installation.take());
        match running {
            Some(installation) => installation.join().unwrap_or_else(|_| Err("the installation broke off".into())),
            None => install(),
        }
    }
}

/// The first of the names that runs Python 3.
fn interpreter() -> Result<&'static str, String> {
    let is_python3 = |name: &&&str| {
        let test = "import sys; sys.exit(sys.version_info[0] != 3)";
        quietly(name, Command::new(name).args(["-c", test])).is_ok()
    };
    INTERPRETERS.iter().find(is_python3).copied().ok_or_else(|| "Python 3 is not installed".into())
}

/// Runs an installer; shows its output only if it fails.
pub fn quietly(name: &str, command: &mut Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{name} cannot be started: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let last = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no reason given");
    Err(format!("{name}: {last}"))
}
