//! Mesh errors, and defects that are repaired and reported.

use std::fmt;

use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;
use thiserror::Error;

use super::adjacency::{Components, middles_of_face, rotated_face, sorted_faces};
use super::cell::{CellBlock, CellKind, HEX_CORNERS, MAX_CELL_NODES, tet10_jacobians};

/// Largest number of nodes, and of node references, of one mesh: indices stay below 2³¹ so that they also fit signed
/// file formats.
pub const MAX_ENTRIES: usize = (1 << 31) - 1;

/// Largest accepted coordinate \[m\]. Far beyond any body, and small enough that volumes and their products stay
/// finite.
pub const MAX_COORDINATE: f64 = 1e12;

/// A cell is degenerate when its volume is below this fraction of the cube of its longest edge. This is a hundred times
/// the rounding error of the determinant for a cell whose distance from the origin is a hundred times its size.
const DEGENERATE_FRACTION: f64 = 1e-12;

/// Why arrays are not a valid mesh. Cells are numbered through all blocks, from zero.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum MeshError {
    /// There are no cells, or no triangles.
    #[error("the mesh is empty: it has no cells")]
    Empty,
    /// More entries than indices can address.
    #[error("the mesh has {entries} {what}, more than the limit of {limit}")]
    TooLarge {
        /// The kind of entry.
        what: &'static str,
        /// Number of entries.
        entries: usize,
        /// Largest number allowed.
        limit: usize,
    },
    /// The flat node list of a block ends within a cell.
    #[error("block {block} has {entries} node references, not a multiple of {nodes_per_cell}")]
    IncompleteCell {
        /// Number of the block.
        block: usize,
        /// Length of its node list.
        entries: usize,
        /// Nodes of each of its cells.
        nodes_per_cell: usize,
    },
    /// A coordinate is NaN or infinite.
    #[error("node {node} has a coordinate that is not finite")]
    NonFinitePosition {
        /// The node.
        node: usize,
    },
    /// A coordinate is absurdly large.
    #[error(
        "node {node} has a coordinate of {coordinate:.3e} m, beyond {MAX_COORDINATE:.0e} m; hint: check the unit of length"
    )]
    PositionTooFar {
        /// The node.
        node: usize,
        /// Largest coordinate by magnitude \[m\].
        coordinate: f64,
    },
    /// A cell names a node that does not exist.
    #[error("cell {cell} names node {node}, but there are only {node_count} nodes")]
    NodeOutOfRange {
        /// The cell (or triangle).
        cell: usize,
        /// The missing node.
        node: usize,
        /// Number of nodes.
        node_count: usize,
    },
    /// A cell names the same node twice.
    #[error("cell {cell} names node {node} more than once")]
    RepeatedNode {
        /// The cell (or triangle).
        cell: usize,
        /// The repeated node.
        node: usize,
    },
    /// A cell has (nearly) no volume.
    #[error(
        "cell {cell} is degenerate: its volume is {volume:.3e} m³; hint: remove flat cells in the mesh generator, or move their nodes apart"
    )]
    DegenerateCell {
        /// The cell.
        cell: usize,
        /// Its volume \[m³\].
        volume: f64,
    },
    /// The corners of a hexahedron have Jacobians of both signs.
    #[error("hexahedron {cell} is folded: its corner Jacobians range from {smallest:.3e} to {largest:.3e} m³")]
    FoldedHex {
        /// The cell.
        cell: usize,
        /// Smallest corner Jacobian \[m³\].
        smallest: f64,
        /// Largest corner Jacobian \[m³\].
        largest: f64,
    },
    /// A quadratic tetrahedron is so curved that its map inverts.
    #[error(
        "quadratic tetrahedron {cell} is folded: its Jacobian ranges from {smallest:.3e} to {largest:.3e} m³; hint: move its midpoint nodes closer to the midpoints of the edges"
    )]
    FoldedTet {
        /// The cell.
        cell: usize,
        /// Smallest Jacobian at its corners and quadrature points \[m³\].
        smallest: f64,
        /// Largest of them \[m³\].
        largest: f64,
    },
    /// Two cells share the corners of a face but not the midpoint nodes of its edges.
    #[error("cells {first} and {second} share a face but not the midpoint nodes of its edges, so a gap would open")]
    GapingFace {
        /// The earlier cell.
        first: usize,
        /// The later one.
        second: usize,
    },
    /// Only tetrahedra can be made quadratic.
    #[error("cell {cell} is a hexahedron; only tetrahedra can be made quadratic")]
    NotTetrahedra {
        /// The first cell that is not a linear tetrahedron.
        cell: usize,
    },
    /// Two cells have the same nodes.
    #[error("cells {first} and {second} have the same nodes")]
    DuplicateCell {
        /// The earlier cell (or triangle).
        first: usize,
        /// The later one.
        second: usize,
    },
    /// A face belongs to three cells or more.
    #[error("cells {first}, {second} and {third} share one face; a face has only two sides")]
    FaceSharedByThree {
        /// One of the cells.
        first: usize,
        /// Another.
        second: usize,
        /// Another.
        third: usize,
    },
    /// Two cells lie on the same side of the face they share.
    #[error("cells {first} and {second} lie on the same side of the face they share, so they overlap")]
    OverlappingCells {
        /// The earlier cell.
        first: usize,
        /// The later one.
        second: usize,
    },
    /// An array does not have one entry per cell or node.
    #[error("expected {expected} {what}, got {found}")]
    WrongCount {
        /// The kind of entry.
        what: &'static str,
        /// Number of entries needed.
        expected: usize,
        /// Number of entries given.
        found: usize,
    },
    /// A cell set names a cell that does not exist.
    #[error("cell set {set:?} names cell {cell}, but there are only {cell_count} cells")]
    CellSetOutOfRange {
        /// Name of the set.
        set: String,
        /// The missing cell.
        cell: usize,
        /// Number of cells.
        cell_count: usize,
    },
    /// A node set names a node that does not exist.
    #[error("node set {set:?} names node {node}, but there are only {node_count} nodes")]
    NodeSetOutOfRange {
        /// Name of the set.
        set: String,
        /// The missing node.
        node: usize,
        /// Number of nodes.
        node_count: usize,
    },
}

/// Repairs and findings of the check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeshReport {
    /// Inverted cells, whose nodes were reordered.
    pub flipped_cells: Vec<u32>,
    /// Nodes that no cell uses. They would be massless, so they were dropped and the others renumbered.
    pub unused_nodes: usize,
    /// For each input node, its number in the mesh, or `None` if it was dropped; empty when nothing was renumbered.
    pub new_from_old_node: Vec<Option<u32>>,
    /// Connected components; more than one may mean that coincident nodes should be merged.
    pub component_count: usize,
}

impl MeshReport {
    /// Whether the arrays needed no repair.
    pub fn is_clean(&self) -> bool {
        self.flipped_cells.is_empty() && self.unused_nodes == 0
    }
}

impl fmt::Display for MeshReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if let Some(first) = self.flipped_cells.first() {
            parts.push(format!("{} inverted cells flipped (first: {first})", self.flipped_cells.len()));
        }
        if self.unused_nodes > 0 {
            parts.push(format!("{} unused nodes dropped", self.unused_nodes));
        }
        if self.component_count > 1 {
            parts.push(format!("{} separate parts", self.component_count));
        }
        if parts.is_empty() {
            parts.push("nothing to repair".to_owned());
        }
        f.write_str(&parts.join(", "))
    }
}

/// Checks the number of positions, and each for NaN and magnitude.
pub(crate) fn check_positions(positions: &[Vec3]) -> Result<(), MeshError> {
    if positions.len() > MAX_ENTRIES {
        return Err(MeshError::TooLarge { what: "nodes", entries: positions.len(), limit: MAX_ENTRIES });
    }
    for (node, x) in positions.iter().enumerate() {
        if !x.is_finite() {
            return Err(MeshError::NonFinitePosition { node });
        }
        let coordinate = x.abs().max_component();
        if coordinate > MAX_COORDINATE {
            return Err(MeshError::PositionTooFar { node, coordinate });
        }
    }
    Ok(())
}

/// Checks that indices exist and do not repeat within a cell.
pub(crate) fn check_nodes(cell: usize, nodes: &[u32], node_count: usize) -> Result<(), MeshError> {
    for (i, node) in nodes.iter().enumerate() {
        let node = *node as usize;
        if node >= node_count {
            return Err(MeshError::NodeOutOfRange { cell, node, node_count });
        }
        if nodes[..i].contains(&nodes[i]) {
            return Err(MeshError::RepeatedNode { cell, node });
        }
    }
    Ok(())
}

/// Runs all checks, without those of faces if `may_branch`; flips inverted cells and drops unused nodes in place.
pub(crate) fn check_cells(
    positions: &mut Vec<Vec3>,
    blocks: &mut [CellBlock],
    may_branch: bool,
) -> Result<MeshReport, MeshError> {
    let mut entries = 0_usize;
    for (b, block) in blocks.iter().enumerate() {
        let nodes_per_cell = block.kind.nodes_per_cell();
        if !block.nodes.len().is_multiple_of(nodes_per_cell) {
            return Err(MeshError::IncompleteCell { block: b, entries: block.nodes.len(), nodes_per_cell });
        }
        entries = entries.saturating_add(block.nodes.len());
    }
    if entries == 0 {
        return Err(MeshError::Empty);
    }
    if entries > MAX_ENTRIES {
        return Err(MeshError::TooLarge { what: "node references", entries, limit: MAX_ENTRIES });
    }
    check_positions(positions)?;

    let mut report = MeshReport::default();
    let mut cell = 0;
    for block in blocks.iter_mut() {
        let kind = block.kind;
        for nodes in block.nodes.chunks_exact_mut(kind.nodes_per_cell()) {
            check_nodes(cell, nodes, positions.len())?;
            if is_inverted(cell, kind, nodes, positions)? {
                kind.mirror(nodes);
                report.flipped_cells.push(cell as u32);
            }
            cell += 1;
        }
    }
    if !may_branch {
        check_faces(positions.len(), blocks)?;
    }
    drop_unused_nodes(positions, blocks, &mut report);
    report.component_count = Components::new(positions.len(), blocks.iter().flat_map(CellBlock::cells)).count;
    Ok(report)
}

/// Checks counts, positions, nodes and volumes of tetrahedra, not their faces; the first bad cell is reported.
pub(crate) fn check_conforming_tets(positions: &[Vec3], tets: &[[u32; 4]]) -> Result<(), MeshError> {
    if tets.is_empty() {
        return Err(MeshError::Empty);
    }
    if tets.len() > MAX_ENTRIES / 4 {
        return Err(MeshError::TooLarge { what: "node references", entries: 4 * tets.len(), limit: MAX_ENTRIES });
    }
    check_positions(positions)?;
    let problem = tets.par_iter().enumerate().find_map_first(|(cell, nodes)| {
        let check = check_nodes(cell, nodes, positions.len());
        match check.and_then(|()| is_inverted(cell, CellKind::Tet4, nodes, positions)) {
            Ok(false) => None,
            Ok(true) => {
                let volume = CellKind::Tet4.volume(&nodes.map(|node| positions[node as usize]));
                Some(MeshError::DegenerateCell { cell, volume })
            }
            Err(error) => Some(error),
        }
    });
    problem.map_or(Ok(()), Err)
}

/// Whether the cell is inverted; an error if its Jacobians have both signs.
fn is_inverted(cell: usize, kind: CellKind, nodes: &[u32], positions: &[Vec3]) -> Result<bool, MeshError> {
    let mut corners = [Vec3::zero(); MAX_CELL_NODES];
    for (corner, node) in corners.iter_mut().zip(nodes) {
        *corner = positions[*node as usize];
    }
    let corners = &corners[..nodes.len()];
    let mut longest = 0.0_f64;
    for [a, b] in kind.edges() {
        longest = longest.max((corners[*b] - corners[*a]).norm());
    }
    let limit = DEGENERATE_FRACTION * longest * longest * longest;
    let volume = kind.volume(corners);
    if volume.abs() <= limit {
        return Err(MeshError::DegenerateCell { cell, volume });
    }
    if kind == CellKind::Tet10 {
        let [smallest, largest] = tet10_jacobians(corners);
        if smallest <= limit && largest >= -limit {
            return Err(MeshError::FoldedTet { cell, smallest, largest });
        }
    }
    if kind == CellKind::Hex8 {
        let mut smallest = f64::INFINITY;
        let mut largest = f64::NEG_INFINITY;
        for [o, a, b, c] in HEX_CORNERS {
            let x = corners;
            let jacobian = (x[a] - x[o]).dot((x[b] - x[o]).cross(x[c] - x[o]));
            smallest = smallest.min(jacobian);
            largest = largest.max(jacobian);
        }
        if smallest <= limit && largest >= -limit {
            return Err(MeshError::FoldedHex { cell, smallest, largest });
        }
    }
    Ok(volume < 0.0)
}

/// Each face has one cell or two on opposite sides; no two cells have the same nodes.
fn check_faces(node_count: usize, blocks: &[CellBlock]) -> Result<(), MeshError> {
    let mut first_cell_of_block = Vec::with_capacity(blocks.len());
    let mut first = 0;
    for block in blocks {
        first_cell_of_block.push(first);
        first += block.cell_count();
    }
    let cell_of = |cell: usize| {
        let b = first_cell_of_block.partition_point(|first| *first <= cell) - 1;
        let n = blocks[b].kind.nodes_per_cell();
        let local = cell - first_cell_of_block[b];
        (blocks[b].kind, &blocks[b].nodes[local * n..(local + 1) * n])
    };
    let sorted_nodes = |cell: usize| {
        let nodes = cell_of(cell).1;
        let mut sorted = [u32::MAX; MAX_CELL_NODES];
        sorted[..nodes.len()].copy_from_slice(nodes);
        sorted.sort_unstable();
        sorted
    };

    let faces = sorted_faces(node_count, blocks);
    for group in faces.chunk_by(|a, b| a.key == b.key) {
        // Copies of a cell share all their faces, so they are found before any other error of the face. Three cells are
        // enough to consider: more are wrong in any case.
        let cells = &group[..group.len().min(3)];
        for (i, a) in cells.iter().enumerate() {
            for b in &cells[i + 1..] {
                let (first, second) = (a.cell as usize, b.cell as usize);
                if sorted_nodes(first) == sorted_nodes(second) {
                    return Err(MeshError::DuplicateCell { first, second });
                }
            }
        }
        if let [a, b, c, ..] = group {
            let (first, second, third) = (a.cell as usize, b.cell as usize, c.cell as usize);
            return Err(MeshError::FaceSharedByThree { first, second, third });
        }
        if let [a, b] = group {
            let (first, second) = (a.cell as usize, b.cell as usize);
            let (kind_a, nodes_a) = cell_of(first);
            let (kind_b, nodes_b) = cell_of(second);
            let (f, f_last) = rotated_face(kind_a, nodes_a, a.local);
            let (g, g_last) = rotated_face(kind_b, nodes_b, b.local);
            // Seen from outside each cell, the face runs in opposite directions.
            let is_opposite = match (f_last, g_last) {
                (Some(f3), Some(g3)) => f[1] == g3 && f[2] == g[2] && f3 == g[1],
                _ => f[1] == g[2] && f[2] == g[1],
            };
            if !is_opposite {
                return Err(MeshError::OverlappingCells { first, second });
            }
            if middles_of_face(kind_a, nodes_a, f) != middles_of_face(kind_b, nodes_b, f) {
                return Err(MeshError::GapingFace { first, second });
            }
        }
    }
    Ok(())
}

fn drop_unused_nodes(positions: &mut Vec<Vec3>, blocks: &mut [CellBlock], report: &mut MeshReport) {
    let mut is_used = vec![false; positions.len()];
    for node in blocks.iter().flat_map(|block| &block.nodes) {
        is_used[*node as usize] = true;
    }
    report.unused_nodes = is_used.iter().filter(|used| !**used).count();
    if report.unused_nodes == 0 {
        return;
    }
    let mut next = 0;
    report.new_from_old_node = is_used
        .iter()
        .map(|used| {
            used.then(|| {
                next += 1;
                next - 1
            })
        })
        .collect();
    let mut old = 0;
    positions.retain(|_| {
        old += 1;
        is_used[old - 1]
    });
    for node in blocks.iter_mut().flat_map(|block| &mut block.nodes) {
        // Every referenced node is used, so it has a new number.
        *node = report.new_from_old_node[*node as usize].unwrap_or(*node);
    }
}

#[cfg(test)]
mod tests {
    use super::super::CellMesh;
    use super::*;

    fn corners() -> Vec<Vec3> {
        vec![Vec3::zero(), Vec3::unit(0), Vec3::unit(1), Vec3::unit(2), Vec3::splat(1.0)]
    }

    fn tets(cells: &[[u32; 4]]) -> Result<(CellMesh, MeshReport), MeshError> {
        CellMesh::new(corners(), vec![CellBlock::tets(cells)])
    }

    #[test]
    fn tets_of_a_mesher_are_taken_as_they_are_but_for_inverted_and_missing_nodes() {
        let (checked, _) = tets(&[[0, 1, 2, 3]]).unwrap();
        let taken = |cells: &[[u32; 4]]| CellMesh::from_conforming_tets(checked.positions().to_vec(), cells.to_vec());
        assert_eq!(taken(&[[0, 1, 2, 3]]), Ok(checked.clone()));
        assert!(matches!(taken(&[[0, 2, 1, 3]]), Err(MeshError::DegenerateCell { cell: 0, volume }) if volume < 0.0));
        assert!(taken(&[[0, 1, 2, 9]]).is_err() && taken(&[[0, 1, 2, 2]]).is_err());
        assert_eq!(taken(&[]), Err(MeshError::Empty));
    }

    #[test]
    fn wrongly_wound_tet_is_turned_and_reported() {
        let (mesh, report) = tets(&[[0, 1, 3, 2], [1, 2, 3, 4]]).unwrap();
        assert_eq!(report.flipped_cells, [0]);
        assert_eq!(mesh.cell_nodes(0), [0, 1, 2, 3]);
        assert!(mesh.cell_volumes().iter().all(|v| *v > 0.0));
        assert_eq!(report.to_string(), "1 inverted cells flipped (first: 0)");
    }

    #[test]
    fn wrongly_wound_hex_is_turned_and_reported() {
        let positions: Vec<Vec3> =
            (0..8).map(|i| Vec3::new((i & 1) as f64, (i >> 1 & 1) as f64, (i >> 2) as f64)).collect();
        let (mesh, report) = CellMesh::new(positions, vec![CellBlock::hexes(&[[4, 5, 7, 6, 0, 1, 3, 2]])]).unwrap();
        assert_eq!(report.flipped_cells, [0]);
        assert!((mesh.volume() - 1.0).abs() < 1e-15);
    }

    #[test]
    fn twisted_hex_is_rejected() {
        let positions: Vec<Vec3> =
            (0..8).map(|i| Vec3::new((i & 1) as f64, (i >> 1 & 1) as f64, (i >> 2) as f64)).collect();
        // Top face rotated by a quarter turn: the classic numbering mistake.
        let error = CellMesh::new(positions, vec![CellBlock::hexes(&[[0, 1, 3, 2, 4, 5, 6, 7]])]).unwrap_err();
        assert!(matches!(error, MeshError::FoldedHex { cell: 0, .. } | MeshError::DegenerateCell { cell: 0, .. }));
    }

    #[test]
    fn unused_node_is_dropped_and_the_rest_renumbered() {
        let mut positions = corners();
        positions.insert(1, Vec3::splat(9.0));
        let (mesh, report) = CellMesh::new(positions, vec![CellBlock::tets(&[[0, 2, 3, 4]])]).unwrap();
        assert_eq!(mesh.node_count(), 4);
        assert_eq!(mesh.cell_nodes(0), [0, 1, 2, 3]);
        assert_eq!(report.unused_nodes, 2);
        assert_eq!(report.new_from_old_node, [Some(0), None, Some(1), Some(2), Some(3), None]);
    }

    #[test]
    fn each_kind_of_bad_input_names_its_culprit() {
        assert_eq!(CellMesh::new(vec![], vec![]).unwrap_err(), MeshError::Empty);
        assert_eq!(tets(&[[0, 1, 2, 7]]).unwrap_err(), MeshError::NodeOutOfRange { cell: 0, node: 7, node_count: 5 });
        assert_eq!(tets(&[[0, 1, 2, 3], [1, 2, 1, 3]]).unwrap_err(), MeshError::RepeatedNode { cell: 1, node: 1 });
        assert_eq!(tets(&[[0, 1, 2, 3], [2, 1, 0, 3]]).unwrap_err(), MeshError::DuplicateCell { first: 0, second: 1 });
        let block = CellBlock { kind: CellKind::Tet4, nodes: vec![0, 1, 2] };
        assert!(matches!(CellMesh::new(corners(), vec![block]).unwrap_err(), MeshError::IncompleteCell { .. }));

        let mut positions = corners();
        positions[3] = Vec3::new(0.0, f64::NAN, 0.0);
        let block = || vec![CellBlock::tets(&[[0, 1, 2, 3]])];
        assert_eq!(CellMesh::new(positions.clone(), block()).unwrap_err(), MeshError::NonFinitePosition { node: 3 });
        positions[3] = Vec3::new(0.5, 0.5, 0.0);
        assert_eq!(
            CellMesh::new(positions.clone(), block()).unwrap_err(),
            MeshError::DegenerateCell { cell: 0, volume: 0.0 }
        );
        positions[3] = Vec3::new(0.0, 0.0, 1e200);
        assert!(matches!(CellMesh::new(positions, block()).unwrap_err(), MeshError::PositionTooFar { node: 3, .. }));
    }

    #[test]
    fn cells_on_the_same_side_of_a_face_overlap() {
        let mut positions = corners();
        positions[4] = Vec3::new(0.1, 0.1, 2.0);
        let error = CellMesh::new(positions, vec![CellBlock::tets(&[[0, 1, 2, 3], [0, 1, 2, 4]])]).unwrap_err();
        assert_eq!(error, MeshError::OverlappingCells { first: 0, second: 1 });
    }
}
