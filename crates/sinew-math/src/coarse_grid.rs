//! A coarse grid around a mesh: the second level of a preconditioner whose iteration count does not grow with the mesh.
//!
//! The mesh is covered by a grid of cubes about four mesh cells wide. Trilinear interpolation on the cubes, x = P c,
//! represents smooth errors well. Jacobi's method cannot reduce those, so they are solved for on the few grid nodes
//! with the Galerkin matrix Pᵀ A P. Two parts of a body that lie in one cube without touching (fingers, an arm beside
//! the trunk) get separate copies of the cube: a cube holds one piece per connected part, and neighboring pieces share
//! a corner node only where a mesh edge runs from one piece to the other.
//!
//! Grids can be nested: the nodes of one grid are the mesh of the next.

use std::collections::HashMap;
use std::sync::Arc;

use crate::parallel::ScatterPlan;
use crate::sparse::BlockPattern;
use crate::{Real, Vec3};

mod couplings;
mod galerkin;
mod precondition;
mod transfer;

pub use couplings::Coupling;
pub use galerkin::CoarseMatrix;
pub use precondition::{CoarseGridParams, CoarseGridPreconditioner};
use transfer::Groups;

/// Corners of a cube.
const CORNERS: usize = 8;
/// Marks nodes outside the coarse level.
const NONE: u32 = u32::MAX;
/// Mean edge length of a mesh of Kuhn tetrahedra (root mean inverse square) over its node spacing, (volume per node)^⅓.
/// Irregular meshes have slightly less.
const EDGE_OVER_SPACING: f64 = 1.2;

/// Trilinear interpolation from grid nodes to mesh nodes.
#[derive(Clone, Debug)]
pub struct CoarseGrid {
    /// Grid nodes of each piece, in the order of the bits x, y, z.
    corners: Vec<[u32; CORNERS]>,
    /// Piece of each mesh node; [`NONE`] for nodes outside the coarse level.
    piece_of: Vec<u32>,
    /// Weights of each mesh node on the corners of its piece.
    weights: Vec<[f32; CORNERS]>,
    /// Mesh nodes sorted by piece, and the range of each piece.
    members: Vec<u32>,
    piece_starts: Vec<u32>,
    /// The same in groups of sixteen, for the transfer between grid and mesh.
    groups: Groups,
    /// For each grid node, its corners in pieces: 8 · piece + corner.
    corner_starts: Vec<u32>,
    corners_of: Vec<u32>,
    /// Rest positions of the grid nodes.
    positions: Vec<Vec3>,
    /// Which grid nodes are coupled.
    pattern: Arc<BlockPattern>,
    /// For each block on or below the diagonal of the mesh matrix: index of the column's piece among the neighbors of
    /// the row's piece.
    neighbor_of_slot: Vec<u8>,
    /// Number of neighbors of each piece, itself included.
    neighbor_counts: Vec<u32>,
    /// Where the corner pairs of each piece and its neighbors go in the coarse matrix.
    plan: ScatterPlan,
}

impl CoarseGrid {
    /// Builds the grid around a mesh from its rest `positions` and the `pattern` of its matrix, with cubes `ratio` node
    /// spacings wide. Nodes with `takes_part` false are left out. Returns `None` when no node takes part, or when a
    /// piece has too many neighbors for its table.
    pub fn new(
        positions: &[Vec3],
        pattern: &BlockPattern,
        ratio: f64,
        takes_part: impl Fn(usize) -> bool,
    ) -> Option<Self> {
        let nodes = positions.len();
        let neighbors = |node: usize| pattern.row(node).map(|slot| pattern.columns()[slot] as usize);
        let mut cell_of = vec![[0u32; 3]; nodes];
        let mut fraction = vec![[0.0f64; 3]; nodes];
        let mut part_of = vec![NONE; nodes];
        let mut grids: Vec<Grid> = Vec::new();
        // One grid per connected part of the mesh, fitted to its bounding box.
        let mut stack = Vec::new();
        let mut part = Vec::new();
        for seed in 0..nodes {
            if part_of[seed] != NONE || !takes_part(seed) {
                continue;
            }
            let number = grids.len() as u32;
            part.clear();
            stack.push(seed);
            part_of[seed] = number;
            while let Some(node) = stack.pop() {
                part.push(node);
                for other in neighbors(node).filter(|&other| other != node && takes_part(other)) {
                    if part_of[other] == NONE {
                        part_of[other] = number;
                        stack.push(other);
                    }
                }
            }
            let part_of = &part_of;
            let edges = part.iter().flat_map(|&node| {
                let others = neighbors(node).filter(move |&other| other < node && part_of[other] == number);
                others.map(move |other| (positions[node], positions[other]))
            });
            let grid = Grid::around(part.iter().map(|&node| positions[node]), edges, ratio / EDGE_OVER_SPACING);
            for &node in &part {
                (cell_of[node], fraction[node]) = grid.locate(positions[node]);
            }
            grids.push(grid);
        }
        if grids.is_empty() {
            return None;
        }
        // Pieces: connected nodes within one cube.
        let mut piece_of = vec![NONE; nodes];
        let mut piece_cells: Vec<(u32, [u32; 3])> = Vec::new();
        for seed in 0..nodes {
            if piece_of[seed] != NONE || part_of[seed] == NONE {
                continue;
            }
            let number = piece_cells.len() as u32;
            let home = (part_of[seed], cell_of[seed]);
            piece_cells.push(home);
            piece_of[seed] = number;
            stack.push(seed);
            while let Some(node) = stack.pop() {
                for other in neighbors(node) {
                    if piece_of[other] == NONE && (part_of[other], cell_of[other]) == home {
                        piece_of[other] = number;
                        stack.push(other);
                    }
                }
            }
        }
        // Pieces share a grid node where a mesh edge runs between them.
        let mut union = Union::new(piece_cells.len() * CORNERS);
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        for node in (0..nodes).filter(|&node| piece_of[node] != NONE) {
            let piece = piece_of[node];
            pairs.push((piece, piece));
            for other in neighbors(node).filter(|&other| piece_of[other] != NONE && piece_of[other] != piece) {
                pairs.push((piece, piece_of[other]));
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        for &(p, q) in pairs.iter().filter(|(p, q)| p < q) {
            merge_shared_corners(&piece_cells, p, q, &mut union);
        }
        let mut number_of_root = HashMap::new();
        let mut corners = Vec::with_capacity(piece_cells.len());
        let mut grid_positions = Vec::new();
        for (piece, &(part, cell)) in piece_cells.iter().enumerate() {
            corners.push(std::array::from_fn(|corner| {
                let root = union.find(piece * CORNERS + corner);
                *number_of_root.entry(root).or_insert_with(|| {
                    grid_positions.push(grids[part as usize].corner(cell, corner));
                    (grid_positions.len() - 1) as u32
                })
            }));
        }
        let groups: Vec<[u32; 2 * CORNERS]> = pairs
            .iter()
            .map(|&(p, q)| {
                std::array::from_fn(|k| {
                    let piece = if k < CORNERS { p } else { q };
                    corners[piece as usize][k % CORNERS]
                })
            })
            .collect();
        let coarse = BlockPattern::from_elements(grid_positions.len(), &groups).ok()?;
        let weights: Vec<[f32; CORNERS]> = fraction
            .iter()
            .zip(&piece_of)
            .map(|(f, &piece)| if piece == NONE { [0.0; CORNERS] } else { trilinear(f) })
            .collect();
        let (piece_starts, members) = sort_by_piece(&piece_of, piece_cells.len());
        let (neighbor_starts, piece_neighbors) = neighbor_lists(&pairs, piece_cells.len());
        let neighbor_of_slot = number_slots(pattern, &piece_of, &neighbor_starts, &piece_neighbors)?;
        let slots = (0..piece_cells.len()).map(|piece| {
            let range = neighbor_starts[piece] as usize..neighbor_starts[piece + 1] as usize;
            let mut slots = Vec::with_capacity(range.len() * CORNERS * CORNERS);
            for &other in &piece_neighbors[range] {
                for &a in &corners[piece] {
                    for &b in &corners[other as usize] {
                        slots.push(coarse.slot(a as usize, b as usize).unwrap_or(0) as u32);
                    }
                }
            }
            slots
        });
        let plan = ScatterPlan::new(coarse.block_count(), slots).ok()?;
        let (corner_starts, corners_of) = transpose(&corners, grid_positions.len());
        let groups = Groups::new(&piece_starts, &members, &weights, nodes);
        Some(Self {
            corners,
            piece_of,
            weights,
            members,
            piece_starts,
            groups,
            corner_starts,
            corners_of,
            positions: grid_positions,
            pattern: Arc::new(coarse),
            neighbor_of_slot,
            neighbor_counts: neighbor_starts.windows(2).map(|pair| pair[1] - pair[0]).collect(),
            plan,
        })
    }

    /// Number of grid nodes.
    pub fn node_count(&self) -> usize {
        self.positions.len()
    }

    /// Which grid nodes are coupled.
    pub fn pattern(&self) -> &Arc<BlockPattern> {
        &self.pattern
    }

    /// Rest positions of the grid nodes.
    pub fn positions(&self) -> &[Vec3] {
        &self.positions
    }

    /// Number of nodes of the mesh.
    pub fn mesh_node_count(&self) -> usize {
        self.piece_of.len()
    }
}

/// Cells that fill a box, between planes across each axis.
struct Grid {
    planes: [Vec<f64>; 3],
}

impl Grid {
    /// The grid of cells `ratio` edges wide over the bounding box of the points; no cell extends beyond the box.
    ///
    /// Planes are closer together where edges are short, so a mesh graded along an axis gets a grid graded the same
    /// way.
    fn around(
        points: impl Iterator<Item = Vec3>,
        edges: impl Iterator<Item = (Vec3, Vec3)> + Clone,
        ratio: f64,
    ) -> Self {
        let mut low = Vec3::splat(f64::INFINITY);
        let mut high = -low;
        for p in points {
            (low, high) = (low.min(p), high.max(p));
        }
        Self { planes: std::array::from_fn(|axis| planes(axis, low[axis], high[axis], edges.clone(), ratio)) }
    }

    /// Cell of a point and its local coordinates there, 0 to 1 along each axis.
    fn locate(&self, point: Vec3) -> ([u32; 3], [f64; 3]) {
        let mut cell = [0; 3];
        let mut fraction = [0.0; 3];
        for axis in 0..3 {
            let planes = &self.planes[axis];
            let k = planes.partition_point(|&plane| plane <= point[axis]).clamp(1, planes.len() - 1) - 1;
            cell[axis] = k as u32;
            let width = planes[k + 1] - planes[k];
            let place = if width > 0.0 { (point[axis] - planes[k]) / width } else { 0.0 };
            fraction[axis] = place.clamp(0.0, 1.0);
        }
        (cell, fraction)
    }

    fn corner(&self, cell: [u32; 3], corner: usize) -> Vec3 {
        let vertex = vertex_of(cell, corner);
        let at = |axis: usize| self.planes[axis][vertex[axis] as usize];
        Vec3::new(at(0), at(1), at(2))
    }
}

/// Slices along an axis in which the length of edges is averaged.
const SLICES: usize = 256;

/// Planes across an axis from `low` to `high`, `ratio` edges apart.
fn planes(axis: usize, low: f64, high: f64, edges: impl Iterator<Item = (Vec3, Vec3)>, ratio: f64) -> Vec<f64> {
    let extent = high - low;
    if !(extent > 0.0) {
        return vec![low, low + 1.0];
    }
    // The mean of inverse squares favors short edges: cubes too small for the long edges cost grid nodes, cubes too
    // large for the short ones cost iterations.
    let mut sums = [(0.0f64, 0.0f64); SLICES];
    for (a, b) in edges {
        let middle = 0.5 * (a[axis] + b[axis]);
        let slice = ((middle - low) / extent * SLICES as f64) as usize;
        let (sum, count) = &mut sums[slice.min(SLICES - 1)];
        let squared = (a - b).norm_squared();
        if squared > 0.0 {
            *sum += 1.0 / squared;
            *count += 1.0;
        }
    }
    // Slices without edges take those around them, as far off as the nearest that has some.
    let mut to_edges = [SLICES; SLICES];
    let mut away = SLICES;
    for k in (0..SLICES).chain((0..SLICES).rev()) {
        away = if sums[k].1 > 0.0 { 0 } else { away + 1 };
        to_edges[k] = to_edges[k].min(away);
    }
    let lengths: [f64; SLICES] = std::array::from_fn(|k| {
        let reach = to_edges[k].max(SLICES / 64);
        let near = &sums[k.saturating_sub(reach)..(k + reach + 1).min(SLICES)];
        let (sum, count) = near.iter().fold((0.0, 0.0), |(l, c), s| (l + s.0, c + s.1));
        if count > 0.0 { (count / sum).sqrt() } else { extent }
    });
    // Cells passed from the border to the end of each slice.
    let mut passed = [0.0f64; SLICES + 1];
    for k in 0..SLICES {
        passed[k + 1] = passed[k] + extent / SLICES as f64 / (ratio * lengths[k]);
    }
    let count = passed[SLICES].round().clamp(1.0, 1e6);
    let mut planes = vec![low];
    let mut slice = 0;
    for k in 1..count as usize {
        let wanted = passed[SLICES] * k as f64 / count;
        while passed[slice + 1] < wanted {
            slice += 1;
        }
        let fraction = (wanted - passed[slice]) / (passed[slice + 1] - passed[slice]);
        planes.push(low + extent * (slice as f64 + fraction) / SLICES as f64);
    }
    planes.push(high);
    planes
}

fn vertex_of(cell: [u32; 3], corner: usize) -> [u32; 3] {
    std::array::from_fn(|axis| cell[axis] + ((corner >> axis) & 1) as u32)
}

/// Corner weights at a point of the unit cube.
fn trilinear(f: &[f64; 3]) -> [f32; CORNERS] {
    std::array::from_fn(|corner| {
        (0..3).map(|axis| if (corner >> axis) & 1 == 1 { f[axis] } else { 1.0 - f[axis] }).product::<f64>() as f32
    })
}

/// Merges the grid vertices that two pieces share into one node each.
fn merge_shared_corners(cells: &[(u32, [u32; 3])], p: u32, q: u32, union: &mut Union) {
    let ((part_p, cell_p), (part_q, cell_q)) = (cells[p as usize], cells[q as usize]);
    if part_p != part_q {
        return;
    }
    for a in 0..CORNERS {
        for b in 0..CORNERS {
            if vertex_of(cell_p, a) == vertex_of(cell_q, b) {
                union.merge(p as usize * CORNERS + a, q as usize * CORNERS + b);
            }
        }
    }
}

fn sort_by_piece(piece_of: &[u32], pieces: usize) -> (Vec<u32>, Vec<u32>) {
    let mut starts = vec![0u32; pieces + 1];
    for &piece in piece_of.iter().filter(|&&piece| piece != NONE) {
        starts[piece as usize + 1] += 1;
    }
    for piece in 0..pieces {
        starts[piece + 1] += starts[piece];
    }
    let mut next = starts.clone();
    let mut members = vec![0; starts[pieces] as usize];
    for (node, &piece) in piece_of.iter().enumerate().filter(|(_, piece)| **piece != NONE) {
        members[next[piece as usize] as usize] = node as u32;
        next[piece as usize] += 1;
    }
    (starts, members)
}

/// Neighbors of each piece from the sorted pairs; each piece is its own first neighbor.
fn neighbor_lists(pairs: &[(u32, u32)], pieces: usize) -> (Vec<u32>, Vec<u32>) {
    let mut starts = vec![0u32; pieces + 1];
    let mut neighbors = Vec::with_capacity(pairs.len());
    for piece in 0..pieces as u32 {
        neighbors.push(piece);
        let first = pairs.partition_point(|&(p, _)| p < piece);
        let others = pairs[first..].iter().take_while(|&&(p, _)| p == piece).map(|&(_, q)| q);
        neighbors.extend(others.filter(|&q| q != piece));
        starts[piece as usize + 1] = neighbors.len() as u32;
    }
    (starts, neighbors)
}

/// For each slot on or below the diagonal, the index of the column's piece among the neighbors of the row's piece.
fn number_slots(
    pattern: &BlockPattern,
    piece_of: &[u32],
    neighbor_starts: &[u32],
    neighbors: &[u32],
) -> Option<Vec<u8>> {
    let mut numbers = vec![u8::MAX; pattern.block_count()];
    for row in 0..pattern.node_count() {
        let piece = piece_of[row];
        if piece == NONE {
            continue;
        }
        let list = &neighbors[neighbor_starts[piece as usize] as usize..neighbor_starts[piece as usize + 1] as usize];
        for slot in pattern.row(row).start..=pattern.diagonal_slot(row) {
            let other = piece_of[pattern.columns()[slot] as usize];
            if other != NONE {
                let place = list.iter().position(|&q| q == other)?;
                numbers[slot] = u8::try_from(place).ok().filter(|&place| place != u8::MAX)?;
            }
        }
    }
    Some(numbers)
}

/// Corners of pieces at each grid node.
fn transpose(corners: &[[u32; CORNERS]], grid_nodes: usize) -> (Vec<u32>, Vec<u32>) {
    let mut starts = vec![0u32; grid_nodes + 1];
    for &node in corners.as_flattened() {
        starts[node as usize + 1] += 1;
    }
    for k in 0..grid_nodes {
        starts[k + 1] += starts[k];
    }
    let mut next = starts.clone();
    let mut corners_of = vec![0; starts[grid_nodes] as usize];
    for (k, &node) in corners.as_flattened().iter().enumerate() {
        corners_of[next[node as usize] as usize] = k as u32;
        next[node as usize] += 1;
    }
    (starts, corners_of)
}

/// Disjoint sets (union–find).
struct Union {
    parent: Vec<u32>,
}

impl Union {
    fn new(count: usize) -> Self {
        Self { parent: (0..count as u32).collect() }
    }

    fn find(&mut self, mut k: usize) -> usize {
        while self.parent[k] as usize != k {
            self.parent[k] = self.parent[self.parent[k] as usize];
            k = self.parent[k] as usize;
        }
        k
    }

    fn merge(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.parent[a.max(b)] = a.min(b) as u32;
    }
}

/// A vector of f32 from one of f64.
pub(super) fn narrow(v: Vec3) -> Vec3<f32> {
    Vec3::new(f32::from_f64(v.x), f32::from_f64(v.y), f32::from_f64(v.z))
}

#[cfg(test)]
mod tests;
