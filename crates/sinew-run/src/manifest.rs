//! `manifest.json`: contents and status of a run folder, for people and for programs that poll it.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use sinew_fem::RecordError;
use sinew_record::record::write_file;
use sinew_scene::Scene;
pub use sinew_scene::output::MANIFEST;

/// Status of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// A process is computing, or was killed during it.
    #[default]
    Running,
    /// Complete.
    Done,
    /// Ended by the user.
    Interrupted,
    /// Ended by an error.
    Failed,
}

/// One word per status.
const WORDS: [(Status, &str); 4] = [
    (Status::Running, "running"),
    (Status::Done, "done"),
    (Status::Interrupted, "interrupted"),
    (Status::Failed, "failed"),
];

impl Status {
    /// The word in the file.
    pub fn word(self) -> &'static str {
        WORDS[self as usize].1
    }
}

/// The command that started a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Command line without the name of the program; empty if a program called the library.
    pub command: Vec<String>,
    /// Folder in which it was given, absolute; paths of the command begin there.
    pub directory: String,
}

impl Origin {
    /// A command that is given now.
    pub fn here(command: Vec<String>) -> Origin {
        let directory = std::env::current_dir().unwrap_or_default();
        Origin { command, directory: directory.to_string_lossy().into_owned() }
    }
}

/// What a folder is the result of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// A run of a scene, with frames and checkpoints.
    #[default]
    Run,
    /// A protocol of the laboratory, which starts again when it is resumed.
    Lab,
    /// Many shots of `sinew skin`; its frames are shots.
    Shots,
}

/// One word per kind.
const KINDS: [(Kind, &str); 3] = [(Kind::Run, "run"), (Kind::Lab, "lab"), (Kind::Shots, "shots")];

/// Contents of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Manifest {
    /// What was started.
    pub kind: Kind,
    /// The command that started it.
    pub origin: Origin,
    /// Name of the scene file, as given.
    pub scene: String,
    /// Fingerprint of the scene, its overrides and its meshes.
    pub fingerprint: u64,
    /// Values replaced on the command line.
    pub overrides: Vec<String>,
    /// Version of the program.
    pub version: String,
    /// System, processor, instruction set and threads.
    pub machine: Machine,
    /// Status of the run.
    pub status: Status,
    /// Id of the computing process.
    pub process: u32,
    /// Start time, in seconds since 1970.
    pub started: f64,
    /// Time of writing, in seconds since 1970.
    pub updated: f64,
    /// Frames computed.
    pub frames: usize,
    /// Total number of frames.
    pub frames_planned: usize,
    /// Frame of the last checkpoint.
    pub checkpoint: Option<usize>,
    /// How many times the run was resumed.
    pub resumed: usize,
    /// Number of frames that were recomputed because of that.
    pub recomputed: usize,
    /// Whether all expectations are met; `None` while unknown.
    pub passed: Option<bool>,
    /// Fingerprint of the final state.
    pub hash: Option<u64>,
    /// Reason of a failure.
    pub error: Option<String>,
    /// Where results leave the range of their models.
    pub warnings: Vec<String>,
    /// Files it may write, relative to the folder; `*` stands for numbers and names of bodies.
    pub writes: Vec<String>,
    /// Files it wrote, relative to the folder.
    pub outputs: Vec<String>,
}

/// The machine of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// Operating system.
    pub system: String,
    /// Processor architecture.
    pub architecture: String,
    /// Vector instructions in use.
    pub instructions: String,
    /// Threads in use.
    pub threads: usize,
}

impl Machine {
    /// This machine.
    pub fn here() -> Machine {
        Machine {
            system: std::env::consts::OS.into(),
            architecture: std::env::consts::ARCH.into(),
            instructions: sinew_math::lanes::active_isa().to_string(),
            threads: rayon::current_num_threads(),
        }
    }
}

/// Seconds since 1970.
pub(crate) fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}

impl Manifest {
    /// The manifest of a run that starts now.
    pub fn of(scene: &Scene, origin: Origin) -> Manifest {
        Manifest {
            origin,
            scene: scene.source.name().into(),
            overrides: scene.source.overrides().iter().map(|set| set.text().to_string()).collect(),
            version: env!("CARGO_PKG_VERSION").into(),
            machine: Machine::here(),
            process: std::process::id(),
            started: now(),
            ..Manifest::default()
        }
    }

    /// Writes the file of a folder atomically.
    pub fn write(&mut self, folder: &Path) -> Result<(), RecordError> {
        self.updated = now();
        write_file(folder.join(MANIFEST), format!("{:#}\n", self.to_json()).as_bytes())
    }

    /// Reads the file of a folder.
    pub fn read(folder: &Path) -> Result<Manifest, ManifestError> {
        let path = folder.join(MANIFEST);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(source) => return Err(ManifestError::Open { path, source }),
        };
        let value: Value = serde_json::from_slice(&bytes)
            .map_err(|error| ManifestError::Content { path: path.clone(), reason: error.to_string() })?;
        Self::from_json(&value).ok_or_else(|| ManifestError::Content { path, reason: "a value is missing".into() })
    }

    /// The contents of the file.
    pub fn to_json(&self) -> Value {
        json!({
            "sinew": self.version,
            "kind": KINDS[self.kind as usize].1,
            "command": self.origin.command,
            "directory": self.origin.directory,
            "scene": self.scene,
            "fingerprint": format!("{:016x}", self.fingerprint),
            "overrides": self.overrides,
            "machine": {
                "system": self.machine.system,
                "architecture": self.machine.architecture,
                "instructions": self.machine.instructions,
                "threads": self.machine.threads,
            },
            "status": self.status.word(),
            "process": self.process,
            "started": self.started,
            "updated": self.updated,
            "frames": self.frames,
            "frames_planned": self.frames_planned,
            "checkpoint": self.checkpoint,
            "resumed": self.resumed,
            "recomputed": self.recomputed,
            "passed": self.passed,
            "hash": self.hash.map(|hash| format!("{hash:016x}")),
            "error": self.error,
            "warnings": self.warnings,
            "writes": self.writes,
            "outputs": self.outputs,
        })
    }

    fn from_json(value: &Value) -> Option<Manifest> {
        let text = |value: &Value| value.as_str().map(String::from);
        let texts = |value: &Value| value.as_array().map(|list| list.iter().filter_map(text).collect::<Vec<String>>());
        let count = |name: &str| value[name].as_u64().map(|count| count as usize);
        let hex = |value: &Value| value.as_str().and_then(|text| u64::from_str_radix(text, 16).ok());
        let machine = &value["machine"];
        let word = value["status"].as_str()?;
        Some(Manifest {
            // Manifests of version 0.1 may lack these three.
            kind: KINDS.iter().find(|(_, known)| value["kind"] == **known).map_or(Kind::Run, |known| known.0),
            origin: Origin {
                command: texts(&value["command"]).unwrap_or_default(),
                directory: text(&value["directory"]).unwrap_or_default(),
            },
            version: text(&value["sinew"])?,
            scene: text(&value["scene"])?,
            fingerprint: hex(&value["fingerprint"])?,
            overrides: texts(&value["overrides"])?,
            machine: Machine {
                system: text(&machine["system"])?,
                architecture: text(&machine["architecture"])?,
                instructions: text(&machine["instructions"])?,
                threads: machine["threads"].as_u64()? as usize,
            },
            status: WORDS.iter().find(|(_, known)| *known == word)?.0,
            process: u32::try_from(value["process"].as_u64()?).ok()?,
            started: value["started"].as_f64()?,
            updated: value["updated"].as_f64()?,
            frames: count("frames")?,
            frames_planned: count("frames_planned")?,
            checkpoint: count("checkpoint"),
            resumed: count("resumed")?,
            recomputed: count("recomputed")?,
            passed: value["passed"].as_bool(),
            hash: hex(&value["hash"]),
            error: text(&value["error"]),
            // Manifests of version 0.1 may lack these.
            warnings: texts(&value["warnings"]).unwrap_or_default(),
            writes: texts(&value["writes"]).unwrap_or_default(),
            outputs: texts(&value["outputs"])?,
        })
    }
}

/// Why a manifest cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// The file does not exist or cannot be opened.
    #[error("{} cannot be read: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The file is not a manifest.
    #[error("{} is not a manifest of a run: {reason}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let manifest = Manifest {
            kind: Kind::Lab,
            origin: Origin { command: vec!["lab".into(), "a b".into()], directory: "/projects/arm".into() },
            scene: "a \"quoted\" scene.toml".into(),
            fingerprint: u64::MAX,
            overrides: vec!["gravity=0".into()],
            version: "0.1.0".into(),
            machine: Machine::here(),
            status: Status::Interrupted,
            frames: 3,
            checkpoint: Some(2),
            hash: Some(5),
            error: Some("why".into()),
            warnings: vec!["fibers are too fast".into()],
            writes: vec!["frames/frame_*.png".into()],
            outputs: vec!["probes.csv".into()],
            ..Manifest::default()
        };
        assert_eq!(Manifest::from_json(&manifest.to_json()).unwrap(), manifest);
        assert_eq!(Manifest::from_json(&json!({})), None);
    }
}
