//! The cells of `POLYDATA`: four lists, numbered one after the other.

use crate::error::{Place, ReadError};
use crate::mesh_data::{CellGroup, CellShape, MeshData};
use crate::vtu::cells::{CellFault, group_of};

/// Cells, given by the ends of their nodes.
#[derive(Debug)]
pub(super) struct CellList {
    /// End of each cell in `nodes`.
    pub ends: Vec<u32>,
    /// Nodes of all cells, all valid.
    pub nodes: Vec<u32>,
    /// Position of the list in the file.
    pub place: Place,
}

/// Names of the lists, in numbering order.
const LISTS: [&[u8]; 4] = [b"VERTICES", b"LINES", b"POLYGONS", b"TRIANGLE_STRIPS"];

/// All lists of a file.
#[derive(Debug, Default)]
pub(super) struct PolyData {
    lists: [Option<CellList>; 4],
}

impl PolyData {
    /// Stores a list; returns whether it was the first of its kind.
    pub(super) fn set(&mut self, keyword: &[u8], list: CellList) -> bool {
        let at = LISTS.iter().position(|name| *name == keyword);
        match at.map(|at| &mut self.lists[at]) {
            Some(place @ None) => {
                *place = Some(list);
                true
            }
            _ => false,
        }
    }

    /// Number of cells of all lists.
    pub(super) fn cell_count(&self) -> usize {
        self.lists.iter().flatten().map(|list| list.ends.len()).sum()
    }

    /// Adds the cells to a mesh whose cell fields describe the cells of the file.
    pub(super) fn add_to(self, mesh: &mut MeshData, file_size: usize) -> Result<(), ReadError> {
        // Cell of the file for each cell of the mesh.
        let mut origins: Vec<u32> = Vec::new();
        let mut number = 0;
        for (kind, list) in self.lists.iter().enumerate() {
            let Some(list) = list else { continue };
            let mut start = 0;
            for &end in &list.ends {
                let place = list.place;
                let end = end as usize;
                let Some(nodes) = list.nodes.get(start..end) else {
                    return Err(CellFault::End { cell: number, end: end as u32 }.at(place));
                };
                let added = add_cell(&mut mesh.groups, kind, nodes)
                    .map_err(|shape| CellFault::NodeCount { cell: number, shape, found: nodes.len() }.at(place))?;
                origins.resize(origins.len() + added, number as u32);
                number += 1;
                start = end;
            }
        }
        if origins.iter().enumerate().any(|(cell, &origin)| cell as u32 != origin) || origins.len() != number {
            spread(mesh, &origins, file_size);
            let note = format!("{number} strips, poly-lines and the like were split into {} cells", origins.len());
            mesh.notes.push(note);
        }
        Ok(())
    }
}

/// Adds a cell of a list as one or more cells and returns their number. If it has too few nodes, returns the expected
/// shape.
fn add_cell(groups: &mut Vec<CellGroup>, kind: usize, nodes: &[u32]) -> Result<usize, CellShape> {
    match (kind, nodes) {
        (0, _) => {
            if !nodes.is_empty() {
                group_of(groups, CellShape::Vertex).nodes.extend_from_slice(nodes);
            }
            Ok(nodes.len())
        }
        (1, [_, _, ..]) => {
            let group = group_of(groups, CellShape::Line2);
            nodes.windows(2).for_each(|line| group.nodes.extend_from_slice(line));
            Ok(nodes.len() - 1)
        }
        (1, _) => Err(CellShape::Line2),
        (3, [_, _, _, ..]) => {
            let group = group_of(groups, CellShape::Tri3);
            for (index, triangle) in nodes.windows(3).enumerate() {
                // Every second triangle of a strip has the opposite orientation.
                let turned = [triangle[1], triangle[0], triangle[2]];
                group.nodes.extend_from_slice(if index % 2 == 1 { &turned } else { triangle });
            }
            Ok(nodes.len() - 2)
        }
        (3, _) => Err(CellShape::Tri3),
        (_, [_, _, _]) => {
            group_of(groups, CellShape::Tri3).nodes.extend_from_slice(nodes);
            Ok(1)
        }
        (_, [_, _, _, _]) => {
            group_of(groups, CellShape::Quad4).nodes.extend_from_slice(nodes);
            Ok(1)
        }
        (_, [] | [_] | [_, _]) => Err(CellShape::Polygon),
        _ => {
            let group = group_of(groups, CellShape::Polygon);
            group.nodes.extend_from_slice(nodes);
            group.ends.push(group.nodes.len() as u32);
            Ok(1)
        }
    }
}

/// Gives every cell of the mesh the data of its source cell.
fn spread(mesh: &mut MeshData, origins: &[u32], file_size: usize) {
    /// Numbers per byte of the file: one long strip with one large tensor must not fill the memory.
    const MOST: usize = 8;
    let notes = &mut mesh.notes;
    mesh.cell_fields.retain_mut(|field| {
        let components = field.components;
        if origins.len().saturating_mul(components) > file_size.saturating_mul(MOST) {
            notes.push(format!("the field \"{}\" was left out: its cells are split into too many", field.name));
            return false;
        }
        let mut values = Vec::with_capacity(origins.len() * components);
        for &origin in origins {
            let start = origin as usize * components;
            values.extend_from_slice(field.values.get(start..start + components).unwrap_or_default());
        }
        field.values = values;
        true
    });
}
