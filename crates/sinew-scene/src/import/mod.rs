//! Meshes from files, as a scene uses them; the formats themselves are in `sinew-io`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use sinew_io::{CellShape, FileError, ReadError, SurfaceParts, VolumeOptions, VolumeParts};

/// Loads the surface in a file; cells of the kinds in `skip` are left out.
pub fn load_surface(path: &Path, skip: &BTreeSet<CellShape>) -> Result<SurfaceParts, FileError> {
    sinew_io::load(path)?.into_surface(skip).map_err(|source| FileError::Read { path: path.into(), source })
}

/// Loads the tetrahedra and hexahedra in a file; cells of the kinds in `skip` are left out.
pub fn load_volume(path: &Path, skip: &BTreeSet<CellShape>) -> Result<VolumeParts, FileError> {
    let failed = |source: ReadError| FileError::Read { path: PathBuf::from(path), source };
    sinew_io::load(path)?.into_volume(&VolumeOptions { skip: skip.clone() }).map_err(failed)
}
