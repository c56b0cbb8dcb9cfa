//! Results of stages as bytes: little-endian numbers, lengths before lists.
//!
//! The bytes are only read back after their hash was checked, so a reader that runs out of bytes means an entry of another
//! version: it is treated as missing.

use std::collections::BTreeMap;

use sinew_anatomy::field::DistanceField;
use sinew_geometry::{CellBlock, CellMesh, MeshField, TriMesh};
use sinew_math::Vec3;

/// A result that can be kept.
pub trait Stored: Sized + Send + Sync {
    /// The result as bytes.
    fn to_bytes(&self) -> Vec<u8>;
    /// The result; `None` if these are not its bytes.
    fn from_bytes(bytes: &[u8]) -> Option<Self>;
}

/// Collects bytes.
#[derive(Default)]
pub(super) struct Writer(pub Vec<u8>);

impl Writer {
    pub fn count(&mut self, count: usize) {
        self.0.extend((count as u64).to_le_bytes());
    }

    pub fn number(&mut self, value: f64) {
        self.0.extend(value.to_le_bytes());
    }

    pub fn text(&mut self, text: &str) {
        self.count(text.len());
        self.0.extend(text.as_bytes());
    }

    pub fn numbers(&mut self, values: &[f64]) {
        self.count(values.len());
        values.iter().for_each(|value| self.number(*value));
    }

    pub fn indices(&mut self, values: &[u32]) {
        self.count(values.len());
        values.iter().for_each(|value| self.0.extend(value.to_le_bytes()));
    }

    pub fn points(&mut self, points: &[Vec3]) {
        self.count(points.len());
        for p in points {
            [p.x, p.y, p.z].into_iter().for_each(|value| self.number(value));
        }
    }

    fn fields(&mut self, fields: &BTreeMap<String, MeshField>) {
        self.count(fields.len());
        for (name, field) in fields {
            self.text(name);
            self.count(field.components);
            self.numbers(&field.values);
        }
    }

    fn sets(&mut self, sets: &BTreeMap<String, Vec<u32>>) {
        self.count(sets.len());
        for (name, members) in sets {
            self.text(name);
            self.indices(members);
        }
    }
}

/// Takes bytes.
pub(super) struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(head)
    }

    pub fn count(&mut self) -> Option<usize> {
        let bytes = self.take(8)?.try_into().ok()?;
        usize::try_from(u64::from_le_bytes(bytes)).ok()
    }

    pub fn text(&mut self) -> Option<String> {
        let count = self.count()?;
        String::from_utf8(self.take(count)?.to_vec()).ok()
    }

    pub fn numbers(&mut self) -> Option<Vec<f64>> {
        let count = self.count()?;
        let bytes = self.take(count.checked_mul(8)?)?;
        Some(bytes.as_chunks::<8>().0.iter().map(|chunk| f64::from_le_bytes(*chunk)).collect())
    }

    pub fn indices(&mut self) -> Option<Vec<u32>> {
        let count = self.count()?;
        let bytes = self.take(count.checked_mul(4)?)?;
        Some(bytes.as_chunks::<4>().0.iter().map(|chunk| u32::from_le_bytes(*chunk)).collect())
    }

    pub fn points(&mut self) -> Option<Vec<Vec3>> {
        let count = self.count()?;
        let bytes = self.take(count.checked_mul(24)?)?;
        let number = |bytes: &[u8]| bytes.try_into().ok().map(f64::from_le_bytes);
        let point = |chunk: &[u8]| Some(Vec3::new(number(&chunk[..8])?, number(&chunk[8..16])?, number(&chunk[16..])?));
        bytes.chunks_exact(24).map(point).collect()
    }

    fn fields(&mut self) -> Option<Vec<(String, MeshField)>> {
        let count = self.count()?;
        (0..count)
            .map(|_| Some((self.text()?, MeshField { components: self.count()?, values: self.numbers()? })))
            .collect()
    }

    fn sets(&mut self) -> Option<Vec<(String, Vec<u32>)>> {
        let count = self.count()?;
        (0..count).map(|_| Some((self.text()?, self.indices()?))).collect()
    }
}

impl Stored for CellMesh {
    fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.points(self.positions());
        let tets: Vec<u32> = self.cells().flat_map(|(_, nodes)| nodes.iter().copied()).collect();
        out.indices(&tets);
        out.indices(self.cell_labels());
        out.sets(self.node_sets());
        out.sets(self.cell_sets());
        out.fields(self.node_fields());
        out.fields(self.cell_fields());
        out.0
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut input = Reader(bytes);
        let positions = input.points()?;
        let block = CellBlock { kind: sinew_geometry::CellKind::Tet4, nodes: input.indices()? };
        // Covers branch: more than two cells may share a face.
        let (mut mesh, _) = CellMesh::branching(positions, vec![block]).ok()?;
        let labels = input.indices()?;
        if !labels.is_empty() {
            mesh = mesh.with_cell_labels(labels).ok()?;
        }
        for (name, nodes) in input.sets()? {
            mesh = mesh.with_node_set(name, nodes).ok()?;
        }
        for (name, cells) in input.sets()? {
            mesh = mesh.with_cell_set(name, cells).ok()?;
        }
        for (name, field) in input.fields()? {
            mesh = mesh.with_node_field(name, field).ok()?;
        }
        for (name, field) in input.fields()? {
            mesh = mesh.with_cell_field(name, field).ok()?;
        }
        Some(mesh)
    }
}

impl Stored for TriMesh {
    fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.points(self.positions());
        out.indices(&self.triangles().concat());
        out.0
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut input = Reader(bytes);
        let positions = input.points()?;
        let corners = input.indices()?;
        TriMesh::new(positions, corners.as_chunks::<3>().0.to_vec()).ok()
    }
}

impl Stored for DistanceField {
    fn to_bytes(&self) -> Vec<u8> {
        DistanceField::to_bytes(self)
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        DistanceField::from_bytes(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meshes_survive_with_sets_and_fields() {
        let positions = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(Vec3::from).to_vec();
        let (mesh, _) = CellMesh::from_tets(positions, &[[0, 1, 2, 3]]).unwrap();
        let mesh = mesh.with_node_set("origin", vec![0, 2]).unwrap();
        let mesh = mesh.with_cell_set("belly", vec![0]).unwrap();
        let mesh = mesh.with_cell_field("fiber", MeshField { components: 3, values: vec![0.0, 0.0, 1.0] }).unwrap();
        let bytes = mesh.to_bytes();
        let back = CellMesh::from_bytes(&bytes).expect("a mesh");
        assert_eq!(
            (back.positions(), back.node_sets(), back.cell_sets()),
            (mesh.positions(), mesh.node_sets(), mesh.cell_sets())
        );
        assert_eq!((back.cell_fields(), back.to_bytes()), (mesh.cell_fields(), bytes.clone()));
        assert!(CellMesh::from_bytes(&bytes[..bytes.len() - 3]).is_none());
    }
}
