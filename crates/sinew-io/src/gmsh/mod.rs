//! Gmsh's `.msh` format, versions 2.2 and 4.1, text and binary.
//!
//! Physical ids become the cell field [`LABEL`](crate::LABEL), physical names [cell sets](crate::MeshData::cell_sets)
//! (one set for a name used in several dimensions), and the entities of elements the cell field `gmsh:geometrical`.
//! `$NodeData` and `$ElementData` become fields, with NaN for missing values; later time steps of a field become
//! `name@2` and so on.
//!
//! When writing:
//! - Labels become physical ids and cell sets named physical groups. Cells without a label take the id of their first
//!   set as label when read again. Sets may overlap in version 4.1. A cell of version 2.2 has one group, so sets that
//!   overlap others, or cut through labels, are lost there.
//! - Gmsh has no node sets: their nodes become point elements, after all cells, in a named group of dimension 0.
//! - Labels that are not nonnegative integers become a field.
//! - Fields have 1, 3 or 9 components; others are padded with zeros.
//! - Quotes in names become apostrophes.

mod classify;
mod data;
mod read;
mod shape;
mod source;
mod tags;
#[cfg(test)]
mod tests;
mod version2;
mod version4;
mod write;

use crate::error::{ReadError, WriteError};
use crate::format::WriteOptions;
use crate::mesh_data::MeshData;

/// Reads a `.msh` file.
pub fn read(bytes: &[u8]) -> Result<MeshData, ReadError> {
    read::read(bytes)
}

/// Writes a `.msh` file, of version 4.1 or the version in `options`; the module lists what the format cannot hold.
pub fn write(mesh: &MeshData, options: &WriteOptions) -> Result<Vec<u8>, WriteError> {
    match options.version.as_deref() {
        None | Some("4.1") => write::version4(mesh, options.binary),
        Some("2.2") => write::version2(mesh, options.binary),
        Some(other) => Err(WriteError::Variant { format: "Gmsh", known: "4.1 or 2.2", asked: other.into() }),
    }
}

/// Reads arbitrary bytes; a mesh among them must survive a round trip through every variant.
pub fn fuzz_one(bytes: &[u8]) {
    let Ok(mesh) = read(bytes) else { return };
    for version in ["2.2", "4.1"] {
        for binary in [false, true] {
            let options = WriteOptions { binary, version: Some(version.into()), ..WriteOptions::default() };
            let Ok(written) = write(&mesh, &options) else { continue };
            match read(&written) {
                Ok(back) => {
                    assert_eq!(mesh.points, back.points, "points of version {version}, binary: {binary}");
                    assert_eq!(mesh.groups, back.groups, "cells of version {version}, binary: {binary}");
                }
                Err(error) => panic!("our own file of version {version}, binary: {binary}: {error}"),
            }
        }
    }
}
