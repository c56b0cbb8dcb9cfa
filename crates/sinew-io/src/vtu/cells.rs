//! VTK's cell storage: a type and an end per cell, and the nodes of all cells.

use crate::error::{Place, ReadError};
use crate::mesh_data::{CellGroup, CellShape};

/// An error in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CellFault {
    /// Its type is not supported.
    Type {
        /// Number of the cell.
        cell: usize,
        /// VTK's number of the type.
        vtk: u32,
    },
    /// It has the wrong number of nodes for its type.
    NodeCount {
        /// Number of the cell.
        cell: usize,
        /// Its shape.
        shape: CellShape,
        /// Its nodes.
        found: usize,
    },
    /// Its nodes end before they begin, or beyond the last.
    End {
        /// Number of the cell.
        cell: usize,
        /// End of its nodes.
        end: u32,
    },
}

impl CellFault {
    /// The cell.
    pub(crate) fn cell(self) -> usize {
        match self {
            CellFault::Type { cell, .. } | CellFault::NodeCount { cell, .. } | CellFault::End { cell, .. } => cell,
        }
    }

    /// The error at the position of the cell.
    pub(crate) fn at(self, place: Place) -> ReadError {
        match self {
            CellFault::Type { cell, vtk } => ReadError::Unsupported {
                place,
                what: format!("cell {cell}, {} (VTK type {vtk}),", type_name(vtk)),
                hint: "convert such cells to plain ones in the program that made the file, \
                       in ParaView with the filters Triangulate or Tetrahedralize",
            },
            CellFault::NodeCount { cell, shape, found } => {
                let needed = shape.nodes().map_or("at least 3".into(), |nodes| nodes.to_string());
                let reason = format!("cell {cell}, a {}, has {found} nodes instead of {needed}", shape.name());
                ReadError::Syntax { place, reason }
            }
            CellFault::End { cell, end } => {
                let reason = format!("the nodes of cell {cell} end at {end}, outside the connectivity");
                ReadError::Syntax { place, reason }
            }
        }
    }
}

/// VTK's name of an unsupported type.
fn type_name(vtk: u32) -> &'static str {
    match vtk {
        0 => "an empty cell",
        2 => "a poly-vertex",
        4 => "a poly-line",
        6 => "a triangle strip",
        30 => "a quadratic linear quad",
        31 => "a quadratic linear wedge",
        32 => "a biquadratic quadratic wedge",
        33 => "a biquadratic quadratic hexahedron",
        34 => "a biquadratic triangle",
        35 => "a cubic line",
        36 => "a quadratic polygon",
        37 => "a triquadratic pyramid",
        41 => "a convex point set",
        42 => "a polyhedron",
        60..=67 => "a parametric or higher-order cell",
        68..=74 => "a Lagrange cell",
        75..=81 => "a Bezier cell",
        _ => "of an unknown kind",
    }
}

/// The shape of a type, and the node order that converts to it.
fn shape_of(vtk: u32) -> Option<(CellShape, Option<&'static [usize]>)> {
    match vtk {
        8 => Some((CellShape::Quad4, Some(&[0, 1, 3, 2]))),
        11 => Some((CellShape::Hex8, Some(&[0, 1, 3, 2, 4, 5, 7, 6]))),
        _ => CellShape::from_vtk(i64::from(vtk)).map(|shape| (shape, None)),
    }
}

/// Adds cells to the groups. `ends` are the ends of the cells in `nodes`, which are valid.
pub(crate) fn add_cells(
    groups: &mut Vec<CellGroup>,
    types: &[u32],
    ends: &[u32],
    nodes: Vec<u32>,
) -> Result<(), CellFault> {
    debug_assert_eq!(types.len(), ends.len(), "one end per type");
    let mut cell = 0;
    let mut start = 0usize;
    while let Some(&vtk) = types.get(cell) {
        let (shape, order) = shape_of(vtk).ok_or(CellFault::Type { cell, vtk })?;
        let run = types[cell..].iter().take_while(|&&other| other == vtk).count();
        let run_ends = &ends[cell..cell + run];
        check_ends(shape, cell, start, run_ends, nodes.len())?;
        let end = run_ends.last().map_or(start, |&end| end as usize);
        // Most meshes have one kind of cell: move their nodes instead of copying.
        if order.is_none()
            && shape != CellShape::Polygon
            && run == types.len()
            && end == nodes.len()
            && groups.is_empty()
        {
            groups.push(CellGroup::with_nodes(shape, nodes));
            return Ok(());
        }
        let group = group_of(groups, shape);
        let before = group.nodes.len();
        group.nodes.extend_from_slice(&nodes[start..end]);
        if shape == CellShape::Polygon {
            group.ends.extend(run_ends.iter().map(|&end| (before + end as usize - start) as u32));
        }
        if let Some(order) = order {
            for nodes in group.nodes[before..].chunks_exact_mut(order.len()) {
                let mut old = [0; 8];
                old[..nodes.len()].copy_from_slice(nodes);
                nodes.iter_mut().zip(order).for_each(|(node, &from)| *node = old[from]);
            }
        }
        cell += run;
        start = end;
    }
    Ok(())
}

/// The last group if it has the shape, else a new one.
pub(crate) fn group_of(groups: &mut Vec<CellGroup>, shape: CellShape) -> &mut CellGroup {
    if groups.last().is_none_or(|group| group.shape != shape) {
        groups.push(CellGroup::new(shape));
    }
    let last = groups.len() - 1;
    &mut groups[last]
}

/// Whether cells of one shape, from number `cell` and node `start` on, end where they should.
fn check_ends(shape: CellShape, cell: usize, start: usize, ends: &[u32], node_count: usize) -> Result<(), CellFault> {
    if let Some(per_cell) = shape.nodes() {
        // One branch-free comparison per cell; finds the wrong cell only if there is one.
        let mut expected = start;
        let mut wrong = false;
        for &end in ends {
            expected += per_cell;
            wrong |= end as usize != expected;
        }
        if !wrong && expected <= node_count {
            return Ok(());
        }
    }
    let mut from = start;
    for (index, &end) in ends.iter().enumerate() {
        let cell = cell + index;
        let to = end as usize;
        if to < from || to > node_count {
            return Err(CellFault::End { cell, end });
        }
        let found = to - from;
        if shape.nodes().map_or(found < 3, |needed| needed != found) {
            return Err(CellFault::NodeCount { cell, shape, found });
        }
        from = to;
    }
    Ok(())
}

/// The first index that is not below `count`.
pub(crate) fn first_beyond(nodes: &[u32], count: usize) -> Option<usize> {
    // The maximum needs no branches; the position is computed only if needed.
    let largest = nodes.iter().fold(0, |largest, &node| largest.max(node));
    if nodes.is_empty() || (largest as usize) < count {
        return None;
    }
    nodes.iter().position(|&node| node as usize >= count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_one_shape_become_one_group() {
        let mut groups = Vec::new();
        add_cells(&mut groups, &[5, 5, 8, 9, 7, 7], &[3, 6, 10, 14, 19, 22], (0..22).collect()).unwrap();
        let shapes: Vec<CellShape> = groups.iter().map(|group| group.shape).collect();
        assert_eq!(shapes, [CellShape::Tri3, CellShape::Quad4, CellShape::Polygon]);
        assert_eq!(groups[1].nodes, [6, 7, 9, 8, 10, 11, 12, 13]);
        assert_eq!(groups[2].ends, [5, 8]);
        add_cells(&mut groups, &[7], &[4], (0..4).collect()).unwrap();
        assert_eq!((groups.len(), groups[2].ends.as_slice()), (3, &[5, 8, 12][..]));
    }

    /// A voxel orders its nodes by x, then y, then z; a hexahedron goes around each face.
    #[test]
    fn a_voxel_becomes_a_hexahedron() {
        let mut groups = Vec::new();
        add_cells(&mut groups, &[11], &[8], (0..8).collect()).unwrap();
        assert_eq!(groups, [CellGroup::with_nodes(CellShape::Hex8, vec![0, 1, 3, 2, 4, 5, 7, 6])]);
    }

    #[test]
    fn wrong_cells_are_named() {
        let fault = |types: &[u32], ends: &[u32], nodes: u32| {
            let fault = add_cells(&mut Vec::new(), types, ends, (0..nodes).collect()).unwrap_err();
            fault.at(Place::Line(3)).to_string()
        };
        assert!(fault(&[10, 42], &[4, 5], 5).contains("line 3: cell 1, a polyhedron (VTK type 42), cannot be read"));
        assert!(fault(&[6], &[4], 4).contains("triangle strip"));
        assert!(fault(&[200], &[4], 4).contains("unknown"));
        assert!(fault(&[10, 10], &[4, 7], 7).contains("cell 1, a tetrahedron, has 3 nodes instead of 4"));
        assert!(fault(&[7], &[2], 2).contains("at least 3"));
        assert!(fault(&[10, 10], &[4, 8], 7).contains("cell 1 end at 8"));
        assert!(fault(&[10, 10], &[4, 0], 7).contains("cell 1 end at 0"));
    }
}
