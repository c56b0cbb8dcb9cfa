//! Weights of fine nodes and points, and the search for lattice cells.

use sinew_geometry::{Embedding, EmbeddingError};
use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;

use super::build::{CellsOfFine, Cover, FineTets, MAX_REACH};
use super::error::CoverError;
use super::lattice_cell::LatticeCell;
use super::merge::Merged;

/// Weights below this are rounding of nodes on the faces, edges and nodes of the lattice; they are left out.
const ROUNDING: f64 = 1e-12;

/// Where the cells of each cube begin, for the cubes in the box around all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CubeTable {
    low: [i32; 3],
    size: [usize; 3],
    /// First cell of each cube, x fastest, and the number of cells at the end.
    first: Vec<u32>,
}

/// The cube that the base of a cell lies in.
fn cube_of(cell: LatticeCell) -> [i32; 3] {
    cell.base.map(|n| n.div_euclid(2))
}

impl CubeTable {
    /// Cells must come in the order of their cubes, z slowest.
    pub fn new(cells: &[LatticeCell]) -> Self {
        let cubes = || cells.iter().map(|cell| cube_of(*cell));
        let low = [0, 1, 2].map(|k| cubes().map(|cube| cube[k]).min().unwrap_or(0));
        let size = [0, 1, 2].map(|k| cubes().map(|cube| (cube[k] - low[k]) as usize + 1).max().unwrap_or(0));
        let mut table = Self { low, size, first: vec![0; size[0] * size[1] * size[2] + 1] };
        for cube in cubes() {
            if let Some(index) = table.index(cube) {
                table.first[index + 1] += 1;
            }
        }
        for i in 1..table.first.len() {
            table.first[i] += table.first[i - 1];
        }
        table
    }

    fn index(&self, cube: [i32; 3]) -> Option<usize> {
        let at = [0, 1, 2].map(|k| i64::from(cube[k]) - i64::from(self.low[k]));
        let is_inside = (0..3).all(|k| at[k] >= 0 && at[k] < self.size[k] as i64);
        let [x, y, z] = at.map(|i| i as usize);
        is_inside.then(|| x + self.size[0] * (y + self.size[1] * z))
    }

    /// Range of the cells of a cube: twelve and their copies at most.
    fn cells(&self, cube: [i32; 3]) -> std::ops::Range<usize> {
        self.index(cube).map_or(0..0, |i| self.first[i] as usize..self.first[i + 1] as usize)
    }
}

impl Cover {
    /// The copies of the lattice cell that holds a point, in constant time by arithmetic on indices \[Teran05\]; none
    /// where the cover has no cell.
    pub fn locate(&self, p: Vec3) -> std::ops::Range<usize> {
        // Beyond, coordinates of the lattice do not fit; NaN fails too.
        if !(p.abs().max_component() < MAX_REACH * self.size()) {
            return 0..0;
        }
        let cell = LatticeCell::at(&self.lattice.locate(p));
        let range = self.table.cells(cube_of(cell));
        let cells = &self.cells[range.clone()];
        let first = cells.partition_point(|other| (order(*other)) < order(cell));
        let count = cells[first..].partition_point(|other| *other == cell);
        range.start + first..range.start + first + count
    }

    /// Binds points to the copies of their own fragments: point i lies in or beside the fine cell `fine_cells[i]`.
    ///
    /// Among the coarse cells of the fine cell the one is taken that holds the point, or else is the nearest.
    pub fn bind(&self, points: &[Vec3], fine_cells: &[u32]) -> Result<Embedding, CoverError> {
        if points.len() != fine_cells.len() {
            let (what, expected, found) = ("fine cells of points", points.len(), fine_cells.len());
            return Err(CoverError::WrongCount { what, expected, found });
        }
        if let Some(point) = points.iter().position(|p| !p.is_finite()) {
            return Err(EmbeddingError::NonFinitePoint { point }.into());
        }
        let count = self.cells_of_fine.count();
        if let Some(index) = fine_cells.iter().map(|cell| *cell as usize).find(|cell| *cell >= count) {
            return Err(CoverError::OutOfRange { what: "fine cell", index, count });
        }
        let scale = 2.0 / self.size();
        let bindings: Vec<Binding> = points
            .par_iter()
            .zip(fine_cells)
            .map(|(p, fine)| best(*p * scale, self.cells_of_fine.of(*fine).iter().copied(), &self.cells))
            .collect();
        Ok(rows(&bindings, |cell| self.mesh.cell_nodes(cell)))
    }
}

/// Order of the cells within a cube.
fn order(cell: LatticeCell) -> (bool, u8) {
    (cell.base[0].rem_euclid(2) == 1, cell.class)
}

/// A coarse cell and the weights of its nodes.
#[derive(Clone, Copy, Debug)]
struct Binding {
    cell: u32,
    weights: [f64; 4],
}

/// The candidate with the largest smallest weight, the first of equals. A point in half cubes.
fn best(p: Vec3, candidates: impl Iterator<Item = u32>, cells: &[LatticeCell]) -> Binding {
    let mut best = Binding { cell: 0, weights: [f64::NEG_INFINITY; 4] };
    let mut depth = f64::NEG_INFINITY;
    for cell in candidates {
        let weights = cells[cell as usize].weights(p);
        let smallest = weights.iter().copied().fold(f64::INFINITY, f64::min);
        // A point on a face is as deep in both cells up to rounding: the lower number wins.
        if smallest > depth + ROUNDING || (smallest >= depth - ROUNDING && cell < best.cell) {
            best = Binding { cell, weights };
            depth = smallest;
        }
    }
    best
}

/// Binds every fine node to a copy of the fragments around it.
pub(super) fn bind_nodes(fine: &FineTets, merged: &Merged, cells_of_fine: &CellsOfFine) -> Embedding {
    let bindings: Vec<Binding> = (0..fine.mesh.node_count())
        .into_par_iter()
        .map(|node| {
            let around = fine.node_cells.cells(node).iter().flat_map(|cell| cells_of_fine.of(*cell)).copied();
            best(fine.half_cubes[node], around, &merged.cells)
        })
        .collect();
    rows(&bindings, |cell| &merged.tets[cell])
}

/// An embedding without the weights that are rounding; the others sum to one.
fn rows<'a>(bindings: &[Binding], nodes_of: impl Fn(usize) -> &'a [u32]) -> Embedding {
    let (mut ends, mut nodes, mut weights) = (Vec::with_capacity(bindings.len()), Vec::new(), Vec::new());
    for binding in bindings {
        let kept = (0..4).filter(|i| binding.weights[*i].abs() > ROUNDING);
        let sum: f64 = kept.clone().map(|i| binding.weights[i]).sum();
        for i in kept {
            nodes.push(nodes_of(binding.cell as usize)[i]);
            weights.push(binding.weights[i] / sum);
        }
        ends.push(nodes.len() as u32);
    }
    let cells = bindings.iter().map(|binding| binding.cell).collect();
    Embedding::from_rows(&ends, nodes, weights, cells).expect("rows were appended in order")
}
