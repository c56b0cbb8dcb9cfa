//! Meshes with some of their cells taken away.

use std::collections::BTreeMap;

use super::attributes::{Attributes, MeshField};
use super::cell::CellBlock;
use super::cell_mesh::CellMesh;
use super::check::MeshError;

/// A mesh without some of the cells of another: what is left, and its numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct RemainingMesh {
    /// The remaining cells, with their labels, sets and fields.
    pub mesh: CellMesh,
    /// For each node of the whole mesh its new number; `None` when no remaining cell uses it.
    pub nodes: Vec<Option<u32>>,
    /// For each cell of the whole mesh its new number; `None` when it was taken away.
    pub cells: Vec<Option<u32>>,
}

impl CellMesh {
    /// The cells that `is_kept`, and the nodes they use, in the same order. At least one cell must remain.
    pub fn with_cells(&self, is_kept: impl Fn(usize) -> bool) -> Result<RemainingMesh, MeshError> {
        let mut next = 0..;
        let cells: Vec<Option<u32>> =
            (0..self.cell_count()).map(|cell| if is_kept(cell) { next.next() } else { None }).collect();
        let blocks = self.blocks().iter().enumerate().map(|(index, block)| {
            let kept = block.cells().zip(&cells[self.first_cell(index)..]).filter(|(_, number)| number.is_some());
            CellBlock { kind: block.kind, nodes: kept.flat_map(|(nodes, _)| nodes).copied().collect() }
        });
        let (mut mesh, report) = Self::checked(self.positions().to_vec(), blocks.collect(), self.may_branch())?;
        let nodes = match report.new_from_old_node.is_empty() {
            true => (0..self.node_count() as u32).map(Some).collect(),
            false => report.new_from_old_node,
        };
        mesh.attributes = self.attributes.remaining(&nodes, &cells);
        Ok(RemainingMesh { mesh, nodes, cells })
    }
}

impl Attributes {
    fn remaining(&self, nodes: &[Option<u32>], cells: &[Option<u32>]) -> Self {
        Self {
            labels: kept(&self.labels, cells).copied().collect(),
            node_sets: renumbered(&self.node_sets, nodes),
            cell_sets: renumbered(&self.cell_sets, cells),
            node_fields: restricted(&self.node_fields, nodes),
            cell_fields: restricted(&self.cell_fields, cells),
        }
    }
}

/// The entries of a list, one per old number, that have a new number.
fn kept<'a, T>(list: &'a [T], numbers: &'a [Option<u32>]) -> impl Iterator<Item = &'a T> {
    list.iter().zip(numbers).filter(|(_, number)| number.is_some()).map(|(entry, _)| entry)
}

fn renumbered(sets: &BTreeMap<String, Vec<u32>>, numbers: &[Option<u32>]) -> BTreeMap<String, Vec<u32>> {
    let members = |set: &Vec<u32>| set.iter().filter_map(|&member| numbers[member as usize]).collect();
    sets.iter().map(|(name, set)| (name.clone(), members(set))).collect()
}

fn restricted(fields: &BTreeMap<String, MeshField>, numbers: &[Option<u32>]) -> BTreeMap<String, MeshField> {
    let values = |field: &MeshField| {
        let rows: Vec<&[f64]> = field.values.chunks_exact(field.components.max(1)).collect();
        kept(&rows, numbers).flat_map(|row| row.iter().copied()).collect()
    };
    let field = |field: &MeshField| MeshField { components: field.components, values: values(field) };
    fields.iter().map(|(name, old)| (name.clone(), field(old))).collect()
}

#[cfg(test)]
mod tests {
    use sinew_math::Vec3;

    use super::*;
    use crate::procedural::box_hexes;

    /// A bar of four cubes without its third: two pieces, each node and cell with its label, set and field.
    #[test]
    fn what_remains_keeps_its_labels_sets_and_fields() {
        let bar = box_hexes(Vec3::new(4.0, 1.0, 1.0), [4, 1, 1]).unwrap();
        let x: Vec<f64> = bar.positions().iter().map(|p| p.x).collect();
        let bar = bar
            .with_cell_labels(vec![5, 6, 7, 8])
            .unwrap()
            .with_cell_set("end", vec![2, 3])
            .unwrap()
            .with_node_set("all", (0..20).collect())
            .unwrap()
            .with_node_field("x", MeshField { components: 1, values: x })
            .unwrap();
        let RemainingMesh { mesh, nodes, cells } = bar.with_cells(|cell| cell != 2).unwrap();
        assert_eq!(cells, [Some(0), Some(1), None, Some(2)]);
        assert_eq!(mesh.cell_labels(), [5, 6, 8]);
        assert_eq!(mesh.cell_sets()["end"], [2]);
        assert_eq!(mesh.node_sets()["all"].len(), mesh.node_count());
        assert_eq!(mesh.components().count, 2);
        assert!((mesh.volume() - 3.0).abs() < 1e-12);
        for (old, new) in nodes.iter().enumerate().filter_map(|(old, new)| Some((old, (*new)? as usize))) {
            assert_eq!(mesh.positions()[new], bar.positions()[old]);
            assert_eq!(mesh.node_fields()["x"].values[new], mesh.positions()[new].x);
        }
    }

    #[test]
    fn nodes_without_cells_go() {
        let bar = box_hexes(Vec3::new(2.0, 1.0, 1.0), [2, 1, 1]).unwrap();
        let rest = bar.with_cells(|cell| cell == 0).unwrap();
        assert_eq!((rest.mesh.node_count(), rest.nodes.iter().filter(|node| node.is_none()).count()), (8, 4));
        assert!(bar.with_cells(|_| false).is_err(), "nothing is no mesh");
    }
}
