//! Meshes of files, or given with the scene, as a scene uses them; the formats themselves are in `sinew-io`.

use std::collections::BTreeSet;

use crate::source::Source;
use sinew_io::{CellShape, FileError, ReadError, SurfaceParts, VolumeOptions, VolumeParts};

/// Loads the surface that a scene refers to; cells of the kinds in `skip` are left out.
pub fn load_surface(scene: &Source, reference: &str, skip: &BTreeSet<CellShape>) -> Result<SurfaceParts, FileError> {
    let failed = |source: ReadError| FileError::Read { path: scene.resolve(reference), source };
    scene.load_mesh(reference)?.into_surface(skip).map_err(failed)
}

/// Loads the tetrahedra and hexahedra that a scene refers to; cells of the kinds in `skip` are left out.
pub fn load_volume(scene: &Source, reference: &str, skip: &BTreeSet<CellShape>) -> Result<VolumeParts, FileError> {
    let failed = |source: ReadError| FileError::Read { path: scene.resolve(reference), source };
    scene.load_mesh(reference)?.into_volume(&VolumeOptions { skip: skip.clone() }).map_err(failed)
}
