//! Gmsh's `.msh`, versions 2.2 and 4.1, as text and binary.
//!
//! Physical ids become the cell field [`LABEL`](crate::LABEL), physical names [cell sets](crate::MeshData::cell_sets) (one
//! set for a name that exists in several dimensions), and the entities that elements lie on the cell field
//! `gmsh:geometrical`. `$NodeData` and `$ElementData` become fields, which are not a number where the file has no value;
//! time steps of one field after the first are called `name@2` and so on.
//!
//! When writing:
//! - labels become physical ids and cell sets named physical groups. Cells without label take the id of their first set as
//!   label when they are read again. Sets may overlap in version 4.1; a cell of version 2.2 has one group, so sets that
//!   overlap others, or cut through labels, are lost there.
//! - Gmsh has no node sets: their nodes become point elements, after all cells, in a named group of dimension 0.
//! - Labels that are not whole numbers from 0 become a field.
//! - Fields have 1, 3 or 9 components; others are filled up with zeros.
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

/// Writes a `.msh` file of version 4.1, or 2.2 if asked for; see the module for what the format cannot hold.
pub fn write(mesh: &MeshData, options: &WriteOptions) -> Result<Vec<u8>, WriteError> {
    match options.version.as_deref() {
        None | Some("4.1") => write::version4(mesh, options.binary),
        Some("2.2") => write::version2(mesh, options.binary),
        Some(other) => Err(WriteError::Variant { format: "Gmsh", known: "4.1 or 2.2", asked: other.into() }),
    }
}

/// Reads any bytes; what is a mesh must survive being written in every variant.
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
