//! Tetrahedra of the body-centered cubic lattice, split 1:8 again and again.
//!
//! Nodes have whole coordinates in units of the finest half edge, so that a midpoint is the same node from every side
//! and positions do not depend on the box around the solid.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;

use super::MeshError;
use super::lattice::{CUBE_CELLS, Cube};
use crate::solid::Solid;

/// Levels of splitting that coordinates of 32 bits allow for any sensible body.
pub(super) const MAX_DEPTH: u8 = 8;

/// Whole coordinates beyond which nodes are refused: sums of two still fit 32 bits.
const MAX_COORDINATE: f64 = 5e8;

/// Cubes around the solid beyond which blocks are not even listed.
const MAX_CUBES: f64 = 2e10;

/// Edge of the blocks that are skipped at once, in cubes.
const BLOCK: i32 = 4;

/// Radius of the sphere around a cell, in long edges, rounded up from √5/4.
pub(super) const CIRCUMRADIUS: f64 = 0.56;

/// The edges of a tetrahedron by local nodes; edges `i` and `5 - i` are opposite.
pub(super) const EDGES: [[usize; 2]; 6] = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];

/// The faces of a tetrahedron by local nodes, counterclockwise from outside; face `i` lies opposite to node `i`.
pub(super) const FACES: [[usize; 3]; 4] = [[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]];

/// Hashes numbers by multiplication: lattice coordinates need no defense against an adversary.
#[derive(Default)]
pub(super) struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_i32(&mut self, value: i32) {
        self.write_u64(value as u32 as u64);
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

/// A map that is only looked up, never walked: its order is no part of any result.
pub(super) type NumberMap<K> = HashMap<K, u32, BuildHasherDefault<NumberHasher>>;

/// Whole coordinates of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Key(pub i32, pub i32, pub i32);

impl Key {
    fn middle(self, other: Self) -> Self {
        Self((self.0 + other.0) / 2, (self.1 + other.1) / 2, (self.2 + other.2) / 2)
    }

    fn minus(self, other: Self) -> [i64; 3] {
        let less = |a: i32, b: i32| i64::from(a) - i64::from(b);
        [less(self.0, other.0), less(self.1, other.1), less(self.2, other.2)]
    }
}

/// A tetrahedron of the tree: nodes 0–1 and 2–3 are its long edges, which are perpendicular.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TreeCell {
    /// Nodes, positively oriented.
    pub nodes: [u32; 4],
    /// How often its ancestor was split.
    pub level: u8,
    /// Whether it was split itself.
    pub is_split: bool,
}

/// The lattice over a solid, cell by cell, with everything that came from splitting.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    /// Length of one step of the coordinates \[m\].
    pub unit: f64,
    /// Long edge of the coarsest cells \[m\].
    pub spacing: f64,
    /// Coordinates of the nodes.
    pub keys: Vec<Key>,
    /// Cells in the order they were made; split ones stay.
    pub cells: Vec<TreeCell>,
    ids: NumberMap<Key>,
    middles: NumberMap<(u32, u32)>,
}

impl Tree {
    /// The cells with long edge `spacing` \[m\] that may touch the solid, fit to be split `depth` times.
    ///
    /// A cell is kept if φ at its center is at most the radius of its circumscribed sphere, 0.56 of the long edge.
    pub fn cover(solid: &dyn Solid, spacing: f64, depth: u8, max_cells: usize) -> Result<Self, MeshError> {
        let (low, high) = range_of(solid, spacing, depth, max_cells)?;
        let half = 2 << depth;
        let mut tree = Self {
            unit: spacing / f64::from(2 * half),
            spacing,
            keys: Vec::new(),
            cells: Vec::new(),
            ids: NumberMap::default(),
            middles: NumberMap::default(),
        };
        for (first, last) in blocks_near(solid, spacing, low, high) {
            for z in first[2]..last[2] {
                for y in first[1]..last[1] {
                    for x in first[0]..last[0] {
                        tree.add_cube(solid, [x, y, z], half);
                    }
                }
            }
            tree.check_count(max_cells)?;
        }
        if tree.cells.is_empty() { Err(MeshError::Empty) } else { Ok(tree) }
    }

    /// Adds those cells of a cube of the lattice that may touch the solid.
    fn add_cube(&mut self, solid: &dyn Solid, cube: Cube, half: i32) {
        for cell in CUBE_CELLS {
            let keys = cell.map(|node| {
                let [x, y, z] = [0, 1, 2].map(|k| half * (node[k] + 2 * cube[k]));
                Key(x, y, z)
            });
            let center = keys.iter().map(|key| place(*key, self.unit)).sum::<Vec3>() * 0.25;
            if solid.distance(center) <= CIRCUMRADIUS * self.spacing {
                let nodes = keys.map(|key| self.node(key));
                self.push(nodes, 0);
            }
        }
    }

    /// Refuses more cells than `max_cells`.
    pub fn check_count(&self, max_cells: usize) -> Result<(), MeshError> {
        if self.cells.len() <= max_cells {
            return Ok(());
        }
        Err(too_many(self.cells.len() as f64, max_cells, self.spacing))
    }

    /// Position of a node \[m\].
    pub fn position(&self, node: u32) -> Vec3 {
        place(self.keys[node as usize], self.unit)
    }

    /// Positions of all nodes \[m\].
    pub fn positions(&self) -> Vec<Vec3> {
        self.keys.iter().map(|key| place(*key, self.unit)).collect()
    }

    /// Center of a cell \[m\].
    pub fn center(&self, cell: &TreeCell) -> Vec3 {
        cell.nodes.iter().map(|node| self.position(*node)).sum::<Vec3>() * 0.25
    }

    /// Long edge of cells of a level \[m\].
    pub fn spacing_at(&self, level: u8) -> f64 {
        self.spacing / f64::from(1_u32 << level)
    }

    /// Cells that were not split.
    pub fn leaves(&self) -> impl Iterator<Item = &TreeCell> {
        self.cells.iter().filter(|cell| !cell.is_split)
    }

    /// The node in the middle of an edge, where it was split.
    pub fn middle(&self, a: u32, b: u32) -> Option<u32> {
        self.middles.get(&(a.min(b), a.max(b))).copied()
    }

    /// Splits an edge, unless it is split already, and names the node in the middle.
    pub fn split_edge(&mut self, a: u32, b: u32) -> u32 {
        if let Some(middle) = self.middle(a, b) {
            return middle;
        }
        let middle = self.node(self.keys[a as usize].middle(self.keys[b as usize]));
        self.middles.insert((a.min(b), a.max(b)), middle);
        middle
    }

    /// Splits a cell into eight of half its size and equal shape: a corner at each node, and four around the shortest
    /// diagonal of the octahedron that is left, which joins the middles of the long edges.
    pub fn split(&mut self, cell: usize) {
        let TreeCell { nodes: [a, b, c, d], level, is_split } = self.cells[cell];
        if is_split {
            return;
        }
        self.cells[cell].is_split = true;
        let [ab, cd] = [self.split_edge(a, b), self.split_edge(c, d)];
        let [ac, ad] = [self.split_edge(a, c), self.split_edge(a, d)];
        let [bc, bd] = [self.split_edge(b, c), self.split_edge(b, d)];
        let corners = [[a, ab, ac, ad], [ab, b, bc, bd], [ac, bc, c, cd], [ad, bd, cd, d]];
        let inner = [[ab, cd, ac, bc], [ab, cd, bc, bd], [ab, cd, bd, ad], [ab, cd, ad, ac]];
        for nodes in corners.into_iter().chain(inner) {
            self.push(nodes, level + 1);
        }
    }

    /// Splits every leaf of which `wants` says so, coarsest first, down to level `depth`.
    pub fn split_where(
        &mut self,
        depth: u8,
        max_cells: usize,
        wants: impl Fn(&Self, &TreeCell) -> bool + Sync,
    ) -> Result<(), MeshError> {
        for level in 0..depth {
            let chosen: Vec<usize> = (0..self.cells.len())
                .into_par_iter()
                .filter(|i| {
                    let cell = &self.cells[*i];
                    cell.level == level && !cell.is_split && wants(self, cell)
                })
                .collect();
            chosen.into_iter().for_each(|cell| self.split(cell));
            self.check_count(max_cells)?;
        }
        Ok(())
    }

    /// Six times the signed volume of a cell in units of the coordinates.
    pub fn volume(&self, nodes: [u32; 4]) -> i64 {
        let [a, b, c, d] = nodes.map(|node| self.keys[node as usize]);
        let ([x, y, z], [u, v, w], [p, q, r]) = (b.minus(a), c.minus(a), d.minus(a));
        x * (v * r - w * q) + y * (w * p - u * r) + z * (u * q - v * p)
    }

    /// The same nodes, positively oriented.
    pub fn oriented(&self, [a, b, c, d]: [u32; 4]) -> [u32; 4] {
        if self.volume([a, b, c, d]) > 0 { [a, b, c, d] } else { [a, b, d, c] }
    }

    fn push(&mut self, nodes: [u32; 4], level: u8) {
        let nodes = self.oriented(nodes);
        self.cells.push(TreeCell { nodes, level, is_split: false });
    }

    fn node(&mut self, key: Key) -> u32 {
        let next = self.keys.len() as u32;
        let id = *self.ids.entry(key).or_insert(next);
        if id == next {
            self.keys.push(key);
        }
        id
    }
}

fn place(key: Key, unit: f64) -> Vec3 {
    Vec3::new(f64::from(key.0), f64::from(key.1), f64::from(key.2)) * unit
}

/// The refusal of a lattice with about `cells` cells.
fn too_many(cells: f64, limit: usize, spacing: f64) -> MeshError {
    MeshError::TooManyCells { cells, limit, fitting: spacing * (cells / limit.max(1) as f64).cbrt() }
}

/// First and last cube of the lattice along each axis, a cube beyond the bounds of the solid.
fn range_of(solid: &dyn Solid, spacing: f64, depth: u8, max_cells: usize) -> Result<(Cube, Cube), MeshError> {
    if !(spacing > 0.0 && spacing.is_finite()) {
        return Err(MeshError::CellSize { cell: spacing });
    }
    let bounds = solid.bounds();
    if !(bounds.min.is_finite() && bounds.max.is_finite()) {
        return Err(if bounds.is_empty() { MeshError::Empty } else { MeshError::Unbounded });
    }
    let (low, high) = (bounds.min / spacing, bounds.max / spacing);
    let far = low.abs().max(high.abs()).max_component() * f64::from(4_u32 << depth);
    let cubes = (high - low).map(|length| length + 3.0);
    let count = cubes.x * cubes.y * cubes.z;
    if !(far < MAX_COORDINATE && count < MAX_CUBES) {
        return Err(too_many(12.0 * count, max_cells, spacing));
    }
    let first = low.to_array().map(|x| x.floor() as i32 - 1);
    let last = high.to_array().map(|x| x.ceil() as i32 + 1);
    Ok((first, last))
}

/// Blocks of cubes whose cells may touch the solid, in order.
fn blocks_near(solid: &dyn Solid, spacing: f64, low: Cube, high: Cube) -> Vec<(Cube, Cube)> {
    let count = |axis: usize| (high[axis] - low[axis] + BLOCK - 1) / BLOCK;
    let [nx, ny, nz] = [count(0), count(1), count(2)];
    // Cells of a block reach a cube beyond it.
    let radius = spacing * 3.0_f64.sqrt() * (0.5 * f64::from(BLOCK) + 1.0);
    (0..nz)
        .into_par_iter()
        .flat_map_iter(|k| (0..ny).flat_map(move |j| (0..nx).map(move |i| [i, j, k])))
        .filter_map(|index| {
            let first: Cube = std::array::from_fn(|axis| low[axis] + BLOCK * index[axis]);
            let last: Cube = std::array::from_fn(|axis| (first[axis] + BLOCK).min(high[axis]));
            let middle = |axis: usize| (f64::from(first[axis]) + 0.5 * f64::from(BLOCK)) * spacing;
            let center = Vec3::new(middle(0), middle(1), middle(2));
            (solid.distance(center) <= radius).then_some((first, last))
        })
        .collect()
}
