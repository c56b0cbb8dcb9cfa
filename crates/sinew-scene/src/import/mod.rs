//! Meshes of a scene, from files or memory; the formats themselves are in `sinew-io`.

use std::collections::BTreeSet;

use crate::source::Source;
use sinew_io::{CellShape, FileError, ReadError, SurfaceParts, VolumeOptions, VolumeParts};

/// Loads the surface that a scene refers to, without cells of the kinds in `skip`.
pub fn load_surface(scene: &Source, reference: &str, skip: &BTreeSet<CellShape>) -> Result<SurfaceParts, FileError> {
    let failed = |source: ReadError| FileError::Read { path: scene.resolve(reference), source };
    scene.load_mesh(reference)?.into_surface(skip).map_err(failed)
}

/// Loads the tetrahedra and hexahedra that a scene refers to, without cells of the kinds in `skip`.
pub fn load_volume(scene: &Source, reference: &str, skip: &BTreeSet<CellShape>) -> Result<VolumeParts, FileError> {
    let failed = |source: ReadError| FileError::Read { path: scene.resolve(reference), source };
    scene.load_mesh(reference)?.into_volume(&VolumeOptions { skip: skip.clone() }).map_err(failed)
}
