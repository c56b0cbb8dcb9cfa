//! MEDIT's `.mesh` (text) and `.meshb` (binary).
//!
//! References become the cell field [`LABEL`], those of vertices the point field `medit:ref`, each only if some
//! reference is nonzero. Reads vertices, edges, triangles, quadrilaterals, tetrahedra, prisms, pyramids and hexahedra,
//! and the quadratic edges, triangles and tetrahedra, whose node order MEDIT and VTK share. Skips keywords that are not
//! cells (corners, ridges, normals, …).
//!
//! The writer uses each keyword once, as readers expect, in the order of first use; so cells change their order if
//! kinds alternate. The format has one integer per cell and vertex. It holds the label, or for meshes without labels
//! the number of the cell's first named set, from 1 by name. Point elements store their label at their vertex unless
//! there is a field `medit:ref`. Other fields, and the names of sets, are lost.

mod binary;
mod keyword;
mod text;
mod write;

use crate::error::{ReadError, WriteError};
use crate::mesh_data::{CellGroup, CellShape, Field, LABEL, MeshData};

/// Point field with the references of vertices.
pub(crate) const VERTEX_REFERENCES: &str = "medit:ref";

/// Reads a `.mesh` or `.meshb` file, detected by content.
pub fn read(bytes: &[u8]) -> Result<MeshData, ReadError> {
    match bytes {
        [1, 0, 0, 0, ..] | [0, 0, 0, 1, ..] => binary::read(bytes),
        _ => text::read(bytes),
    }
}

/// Writes a `.mesh` or `.meshb` file; the module lists what the format cannot hold.
pub fn write(mesh: &MeshData, is_binary: bool) -> Result<Vec<u8>, WriteError> {
    write::write(mesh, is_binary)
}

/// Reads arbitrary bytes; a mesh among them must survive a round trip through both variants, kind by kind.
pub fn fuzz_one(bytes: &[u8]) {
    let Ok(mesh) = read(bytes) else { return };
    let of_shape = |mesh: &MeshData, shape: CellShape| -> Vec<u32> {
        let groups = mesh.groups.iter().filter(|group| group.shape == shape);
        groups.flat_map(|group| group.nodes.iter().copied()).collect()
    };
    for is_binary in [false, true] {
        let Ok(written) = write(&mesh, is_binary) else { continue };
        match read(&written) {
            Ok(back) => {
                assert_eq!(mesh.points, back.points, "points, binary: {is_binary}");
                for shape in CellShape::all() {
                    assert_eq!(of_shape(&mesh, shape), of_shape(&back, shape), "{shape:?}, binary: {is_binary}");
                }
            }
            Err(error) => panic!("our own file, binary: {is_binary}: {error}"),
        }
    }
}

/// Data that both readers collect.
#[derive(Default)]
struct Contents {
    mesh: MeshData,
    vertex_references: Vec<f64>,
    labels: Vec<f64>,
}

impl Contents {
    /// The group that cells of a shape are added to.
    fn group(&mut self, shape: CellShape) -> &mut CellGroup {
        if self.mesh.groups.last().is_none_or(|group| group.shape != shape) {
            self.mesh.groups.push(CellGroup::new(shape));
        }
        let last = self.mesh.groups.len() - 1;
        &mut self.mesh.groups[last]
    }

    /// Builds the mesh, with references if there are any.
    fn finish(mut self) -> MeshData {
        self.mesh.groups.retain(|group| !group.is_empty());
        let is_set = |values: &[f64]| values.iter().any(|&value| value != 0.0);
        if is_set(&self.vertex_references) {
            self.mesh.point_fields.push(Field::scalars(VERTEX_REFERENCES, self.vertex_references));
        }
        if is_set(&self.labels) {
            self.mesh.cell_fields.push(Field::scalars(LABEL, self.labels));
        }
        self.mesh
    }
}

/// A label as an integer, for formats that have no other labels: rounded, 0 for NaN.
pub(crate) fn whole(value: f64) -> i32 {
    value.round() as i32
}

/// The label of each cell; for meshes without labels, the number of the cell's first named set, from 1 by name.
pub(crate) fn labels_or_sets(mesh: &MeshData) -> Vec<i32> {
    let count = mesh.cell_count();
    if let Some(field) = mesh.labels().filter(|field| field.values.len() == count) {
        return field.values.iter().map(|&value| whole(value)).collect();
    }
    let mut labels = vec![0; count];
    for (number, members) in (1..).zip(mesh.cell_sets.values()) {
        for &cell in members {
            if let Some(label) = labels.get_mut(cell as usize).filter(|label| **label == 0) {
                *label = number;
            }
        }
    }
    labels
}

#[cfg(test)]
mod tests;
