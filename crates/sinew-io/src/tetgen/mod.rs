//! TetGen's `.node` and `.ele` files, with an optional `.face`.
//!
//! Numbers begin at 0 or 1, as the first node does. Attributes of points become the point fields `attribute-1` and so
//! on. Boundary markers of points become the node sets `marker-3` (0 marks nothing; more than a thousand become the
//! point field `marker`). Attributes of tetrahedra become the cell field [`LABEL`](crate::LABEL) if they are integers.
//! Faces follow the tetrahedra as triangles with their marker as label; quadratic faces keep only their corners.
//!
//! When writing, all components of all point fields become attributes. Labels, or the number of the cell's first named
//! set, become the attribute of tetrahedra and the marker of faces. Every node has one marker: from its first set named
//! like `marker-3`, then from the label of a point element, then a number for each other node set in order of names.
//! Other cell fields, and all other names, are lost.

mod read;
mod write;

use crate::error::{Place, ReadError, WriteError};
use crate::format::{Companions, EncodedFile};
use crate::mesh_data::MeshData;

/// Node order of a quadratic tetrahedron: entry i is TetGen's number of VTK's node i.
///
/// TetGen orders the edge midpoints 23, 03, 01, 12, 13, 02; VTK 01, 12, 02, 03, 13, 23.
const TET10: [usize; 10] = [0, 1, 2, 3, 6, 7, 9, 5, 8, 4];

/// Prefix of node sets made from boundary markers.
const MARKER: &str = "marker-";

/// Reads a `.ele` and the `.node` beside it, or vice versa, and the `.face` of the same name if there is one.
pub fn read(bytes: &[u8], extension: &str, companions: &dyn Companions) -> Result<MeshData, ReadError> {
    let place = Place::Line(1);
    let is_node = extension.eq_ignore_ascii_case("node");
    let other = if is_node { "ele" } else { "node" };
    let name = format!("{}.{other}", companions.stem());
    let beside = companions.open(&name, place)?;
    let (nodes, elements) = if is_node { (bytes, beside.as_slice()) } else { (beside.as_slice(), bytes) };
    // Line numbers of the other file would look like lines of this one.
    let of_other = |error: ReadError| {
        let (name, reason) = (name.clone(), error.to_string());
        ReadError::Companion { place, name, reason }
    };
    let (mut mesh, base) = read::nodes(nodes).map_err(|error| if is_node { error } else { of_other(error) })?;
    read::elements(elements, base, &mut mesh).map_err(|error| if is_node { of_other(error) } else { error })?;
    let face_name = format!("{}.face", companions.stem());
    if let Ok(faces) = companions.open(&face_name, place) {
        read::faces(&faces, base, &mut mesh).map_err(|error| ReadError::Companion {
            place,
            name: face_name,
            reason: error.to_string(),
        })?;
    }
    Ok(mesh)
}

/// Writes `.node` and `.ele`, and `.face` if there are triangles; the module lists what the format cannot hold.
pub fn write(mesh: &MeshData) -> Result<Vec<EncodedFile>, WriteError> {
    write::write(mesh)
}

/// Reads arbitrary bytes: those before a line `===` (or the first half) as a `.node`, the others as a `.ele`. A mesh
/// among them must survive a round trip.
pub fn fuzz_one(bytes: &[u8]) {
    let line = bytes.windows(5).position(|window| window == b"\n===\n");
    let (nodes, elements) = match line {
        Some(at) => (&bytes[..at + 1], &bytes[at + 5..]),
        None => bytes.split_at(bytes.len() / 2),
    };
    let beside = Beside(vec![("mesh.node".into(), nodes.to_vec())]);
    let Ok(mesh) = read(elements, "ele", &beside) else { return };
    let Ok(files) = write(&mesh) else { return };
    let named = files.into_iter().map(|file| (format!("mesh.{}", file.extension), file.bytes));
    let beside = Beside(named.collect());
    let written = beside.open("mesh.ele", Place::Line(1)).unwrap_or_default();
    match read(&written, "ele", &beside) {
        Ok(back) => {
            assert_eq!(mesh.points, back.points, "points");
            assert_eq!(mesh.groups, back.groups, "cells");
        }
        Err(error) => panic!("our own file: {error}"),
    }
}

/// Files in memory.
struct Beside(Vec<(String, Vec<u8>)>);

impl Companions for Beside {
    fn open(&self, name: &str, place: Place) -> Result<Vec<u8>, ReadError> {
        let found = self.0.iter().find(|file| file.0 == name).map(|file| file.1.clone());
        found.ok_or_else(|| ReadError::Companion { place, name: name.into(), reason: "it is missing".into() })
    }

    fn stem(&self) -> &str {
        "mesh"
    }
}

#[cfg(test)]
mod tests;
