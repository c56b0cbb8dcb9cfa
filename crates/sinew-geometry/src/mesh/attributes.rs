//! Mesh data beyond geometry: labels, named sets and fields.

use std::collections::BTreeMap;

use super::cell_mesh::CellMesh;
use super::check::MeshError;

/// Values at every node or cell.
#[derive(Clone, Debug, PartialEq)]
pub struct MeshField {
    /// Numbers per node or cell.
    pub components: usize,
    /// All numbers, flat.
    pub values: Vec<f64>,
}

/// Labels, sets and fields of a [`CellMesh`].
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Attributes {
    pub labels: Vec<u32>,
    pub node_sets: BTreeMap<String, Vec<u32>>,
    pub cell_sets: BTreeMap<String, Vec<u32>>,
    pub node_fields: BTreeMap<String, MeshField>,
    pub cell_fields: BTreeMap<String, MeshField>,
}

impl CellMesh {
    /// The same mesh with a label per cell, for instance its tissue.
    pub fn with_cell_labels(mut self, labels: Vec<u32>) -> Result<Self, MeshError> {
        let (expected, found) = (self.cell_count(), labels.len());
        if expected != found {
            return Err(MeshError::WrongCount { what: "cell labels", expected, found });
        }
        self.attributes.labels = labels;
        Ok(self)
    }

    /// The same mesh with one more named set of nodes, sorted and without repetitions.
    pub fn with_node_set(mut self, name: impl Into<String>, mut nodes: Vec<u32>) -> Result<Self, MeshError> {
        let set = name.into();
        nodes.sort_unstable();
        nodes.dedup();
        if let Some(node) = nodes.last().map(|node| *node as usize).filter(|node| *node >= self.node_count()) {
            return Err(MeshError::NodeSetOutOfRange { set, node, node_count: self.node_count() });
        }
        self.attributes.node_sets.insert(set, nodes);
        Ok(self)
    }

    /// The same mesh with one more named set of cells, sorted and without repetitions.
    pub fn with_cell_set(mut self, name: impl Into<String>, mut cells: Vec<u32>) -> Result<Self, MeshError> {
        let set = name.into();
        cells.sort_unstable();
        cells.dedup();
        if let Some(cell) = cells.last().map(|cell| *cell as usize).filter(|cell| *cell >= self.cell_count()) {
            return Err(MeshError::CellSetOutOfRange { set, cell, cell_count: self.cell_count() });
        }
        self.attributes.cell_sets.insert(set, cells);
        Ok(self)
    }

    /// The same mesh with one more field at its nodes.
    pub fn with_node_field(mut self, name: impl Into<String>, field: MeshField) -> Result<Self, MeshError> {
        check_field(&field, self.node_count())?;
        self.attributes.node_fields.insert(name.into(), field);
        Ok(self)
    }

    /// The same mesh with one more field at its cells.
    pub fn with_cell_field(mut self, name: impl Into<String>, field: MeshField) -> Result<Self, MeshError> {
        check_field(&field, self.cell_count())?;
        self.attributes.cell_fields.insert(name.into(), field);
        Ok(self)
    }

    /// Label of each cell; zero by default.
    pub fn cell_labels(&self) -> &[u32] {
        &self.attributes.labels
    }

    /// Named sets of nodes, each sorted.
    pub fn node_sets(&self) -> &BTreeMap<String, Vec<u32>> {
        &self.attributes.node_sets
    }

    /// Named sets of cells, each sorted.
    pub fn cell_sets(&self) -> &BTreeMap<String, Vec<u32>> {
        &self.attributes.cell_sets
    }

    /// Fields at the nodes, from the source of the mesh.
    pub fn node_fields(&self) -> &BTreeMap<String, MeshField> {
        &self.attributes.node_fields
    }

    /// Fields at the cells, from the source of the mesh.
    pub fn cell_fields(&self) -> &BTreeMap<String, MeshField> {
        &self.attributes.cell_fields
    }
}

fn check_field(field: &MeshField, count: usize) -> Result<(), MeshError> {
    let (expected, found) = (field.components * count, field.values.len());
    if expected == found { Ok(()) } else { Err(MeshError::WrongCount { what: "values of a field", expected, found }) }
}
