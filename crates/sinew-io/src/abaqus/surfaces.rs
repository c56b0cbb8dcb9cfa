//! Surfaces as facets after the elements, or as node sets.

use super::blocks::Block;
use super::elements::Side;
use super::sets::{Assembly, Member, extend};
use crate::error::ReadError;
use crate::mesh_data::{CellShape, MeshData};
use crate::text::not_a;

/// Group and position of each cell.
pub(super) struct CellIndex {
    /// First cell of each group.
    starts: Vec<usize>,
}

impl CellIndex {
    pub(super) fn new(mesh: &MeshData) -> CellIndex {
        let starts = mesh.groups.iter().scan(0, |next, group| {
            let start = *next;
            *next += group.len();
            Some(start)
        });
        CellIndex { starts: starts.collect() }
    }

    /// Shape and nodes of a cell.
    pub(super) fn cell<'a>(&self, mesh: &'a MeshData, cell: u32) -> (CellShape, &'a [u32]) {
        let cell = cell as usize;
        let group = self.starts.partition_point(|&start| start <= cell) - 1;
        (mesh.groups[group].shape, mesh.groups[group].cell(cell - self.starts[group]))
    }
}

/// Facets to append after the elements.
#[derive(Default)]
pub(super) struct Facets {
    /// Shape and corners of each facet.
    cells: Vec<(CellShape, [u32; 4])>,
    /// Notes on sides that could not be created.
    pub(super) notes: Vec<String>,
}

impl Facets {
    /// Adds all facets to the mesh.
    pub(super) fn append_to(self, mesh: &mut MeshData) {
        for (shape, corners) in self.cells {
            mesh.push_cell(shape, &corners[..shape.nodes().unwrap_or(0)]);
        }
        mesh.notes.extend(self.notes);
    }

    /// Reads `*SURFACE` of a placed part. `mesh` holds the elements, without facets.
    pub(super) fn read(
        &mut self,
        assembly: &mut Assembly,
        mesh: &MeshData,
        index: &CellIndex,
        block: &Block<'_>,
        own: usize,
    ) -> Result<(), ReadError> {
        let name = block.required("NAME")?;
        let scope = assembly.scope(block, own)?;
        let kind = block.parameter("TYPE").unwrap_or("ELEMENT").to_ascii_uppercase();
        let is_nodes = kind == "NODE";
        if block.parameter("COMBINE").is_some() || !(is_nodes || kind == "ELEMENT") {
            self.notes.push(format!("the surface {name} in line {} was left out", block.line));
            return Ok(());
        }
        let mut members = Vec::new();
        let mut without_side = 0usize;
        for row in block.rows() {
            let mut fields = row.fields();
            let what = fields.next().unwrap_or_default();
            if is_nodes {
                members.extend(assembly.members(scope, Member::Node, what, row.line)?);
                continue;
            }
            let word = fields.next().unwrap_or_default();
            let side = Side::from_name(word).ok_or_else(|| not_a(row.line, word, "a side", "surface"))?;
            let cells = assembly.members(scope, Member::Element, what, row.line)?;
            // A shape and four corners each.
            assembly.budget.spend(5 * cells.len(), row.line)?;
            for cell in cells {
                let (shape, nodes) = index.cell(mesh, cell);
                let Some(corners) = side.of(shape) else {
                    without_side += 1;
                    continue;
                };
                let mut facet = [0; 4];
                for (slot, &corner) in facet.iter_mut().zip(corners) {
                    *slot = nodes[corner];
                }
                let shape = match corners.len() {
                    2 => CellShape::Line2,
                    3 => CellShape::Tri3,
                    _ => CellShape::Quad4,
                };
                members.push((mesh.cell_count() + self.cells.len()) as u32);
                self.cells.push((shape, facet));
            }
        }
        if without_side > 0 {
            let reason = format!("the surface {name} names no side of {without_side} elements, which were left out");
            self.notes.push(reason);
        }
        let is_internal = block.parameter("INTERNAL").is_some();
        let placed = &mut assembly.placed[own];
        let sets = if is_nodes { &mut placed.node_sets } else { &mut placed.surfaces };
        extend(sets, name, members, is_internal);
        Ok(())
    }
}
