//! Meshes from files.
//!
//! To add a format: a file here with `read_<format>(&[u8])`, and a line in [`load_surface`] or [`load_volume`]. Readers take
//! bytes, so that they can be tested and fuzzed without a disk; errors name the line or byte; memory is bounded by the input.

pub(crate) mod base64;
pub mod obj;
pub mod vtu;
pub mod xml;

use std::path::{Path, PathBuf};

use sinew_geometry::{CellMesh, MeshReport, TriMesh};
use thiserror::Error;

use self::obj::ObjError;
use self::vtu::VtuError;

/// Why a mesh file could not be loaded.
#[derive(Debug, Error)]
pub enum ImportError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is larger than anything we could simulate.
    #[error("{} has {bytes} bytes; at most {limit} are read", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// No reader knows the extension.
    #[error("{}: no reader for `{extension}` files; {known} can be read", path.display())]
    Extension {
        /// The file.
        path: PathBuf,
        /// Its extension.
        extension: String,
        /// What can be read.
        known: &'static str,
    },
    /// An OBJ file is wrong.
    #[error("{}: {source}", path.display())]
    Obj {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: ObjError,
    },
    /// A VTU file is wrong.
    #[error("{}: {source}", path.display())]
    Vtu {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: VtuError,
    },
}

/// 4 GiB: a mesh that large has 50 million cells, far beyond what fits in memory as a simulation.
const LARGEST: u64 = 4 << 30;

/// Loads a surface (`.obj`).
pub fn load_surface(path: &Path) -> Result<TriMesh, ImportError> {
    match extension(path).as_str() {
        "obj" => obj::read_obj(&read(path)?).map_err(|source| ImportError::Obj { path: path.into(), source }),
        other => Err(unknown(path, other, ".obj surfaces")),
    }
}

/// Loads a volume mesh (`.vtu`), with what had to be mended.
pub fn load_volume(path: &Path) -> Result<(CellMesh, MeshReport), ImportError> {
    match extension(path).as_str() {
        "vtu" => vtu::read_vtu(&read(path)?)
            .and_then(vtu::VtuGrid::into_mesh)
            .map_err(|source| ImportError::Vtu { path: path.into(), source }),
        other => Err(unknown(path, other, ".vtu volumes")),
    }
}

fn extension(path: &Path) -> String {
    path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default()
}

fn unknown(path: &Path, extension: &str, known: &'static str) -> ImportError {
    ImportError::Extension { path: path.into(), extension: format!(".{extension}"), known }
}

fn read(path: &Path) -> Result<Vec<u8>, ImportError> {
    let failed = |source| ImportError::Read { path: path.into(), source };
    let bytes = std::fs::metadata(path).map_err(failed)?.len();
    if bytes > LARGEST {
        return Err(ImportError::TooLarge { path: path.into(), bytes, limit: LARGEST });
    }
    std::fs::read(path).map_err(failed)
}
