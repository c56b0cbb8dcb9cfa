//! Points bound to cells: surfaces, markers and attachments that follow a volume mesh.
//!
//! ```math
//! x_p = \sum_i w_{pi}\, x_i, \qquad f_i = \sum_p w_{pi}\, f_p, \qquad \sum_i w_{pi} = 1
//! ```
//!
//! Positions are interpolated by the weights, forces are transferred by their transpose. So power is equal on both
//! sides, and total force and momentum are conserved.

mod local_coordinates;
mod locator;
#[cfg(test)]
mod tests;

use locator::{Binding, Locator};
use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;
use thiserror::Error;

use crate::mesh::{CellMesh, MAX_CELL_NODES, MAX_ENTRIES};

/// Treatment of points outside the mesh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outside {
    /// Extrapolate from the nearest cell, so that the point keeps its rest position. Points farther away than the cell
    /// is long are clamped, and so are the few beside very flat cells that would need large weights.
    #[default]
    Extrapolate,
    /// Move the point to the nearest point of the boundary.
    Clamp,
    /// Return [`EmbeddingError::Outside`].
    Reject,
}

/// Why points cannot be bound.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum EmbeddingError {
    /// A coordinate is NaN or infinite.
    #[error("point {point} has a coordinate that is not finite")]
    NonFinitePoint {
        /// The point.
        point: usize,
    },
    /// A point is outside and [`Outside::Reject`] is set.
    #[error("point {point} is outside the mesh by {distance:.3e} m")]
    Outside {
        /// The point.
        point: usize,
        /// Its distance from the mesh \[m\].
        distance: f64,
    },
    /// More points than indices can address.
    #[error("there are {points} points to bind, more than the limit of {limit}")]
    TooLarge {
        /// Number of points.
        points: usize,
        /// Largest number allowed.
        limit: usize,
    },
}

/// Summary of a binding.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EmbeddingReport {
    /// Points outside the mesh.
    pub outside: usize,
    /// Number of outside points moved to the boundary.
    pub clamped: usize,
    /// Largest distance of a point from the mesh \[m\].
    pub max_distance: f64,
}

/// Nodes and weights of each embedded point, in compressed rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Embedding {
    offsets: Vec<u32>,
    nodes: Vec<u32>,
    weights: Vec<f64>,
    cells: Vec<u32>,
    report: EmbeddingReport,
}

impl Embedding {
    /// Binds each point to the cell that contains it, or extrapolates from the nearest ([`Outside::Extrapolate`]).
    pub fn bind(mesh: &CellMesh, points: &[Vec3]) -> Result<Self, EmbeddingError> {
        Self::bind_with(mesh, points, Outside::Extrapolate)
    }

    /// Binds each point to the cell that contains it; if several do, to the one with the lowest number.
    pub fn bind_with(mesh: &CellMesh, points: &[Vec3], outside: Outside) -> Result<Self, EmbeddingError> {
        let limit = MAX_ENTRIES / MAX_CELL_NODES;
        if points.len() > limit {
            return Err(EmbeddingError::TooLarge { points: points.len(), limit });
        }
        if let Some(point) = points.iter().position(|p| !p.is_finite()) {
            return Err(EmbeddingError::NonFinitePoint { point });
        }
        let locator = Locator::new(mesh);
        let bindings: Vec<Binding> = points.par_iter().map(|p| locator.bind(*p, outside)).collect();

        let mut embedding = Self { offsets: vec![0], ..Self::default() };
        for (point, binding) in bindings.iter().enumerate() {
            if binding.distance > 0.0 {
                if outside == Outside::Reject {
                    return Err(EmbeddingError::Outside { point, distance: binding.distance });
                }
                embedding.report.outside += 1;
                embedding.report.clamped += usize::from(binding.is_clamped);
                embedding.report.max_distance = embedding.report.max_distance.max(binding.distance);
            }
            let nodes = mesh.cell_nodes(binding.cell as usize);
            for (node, weight) in nodes.iter().zip(binding.weights).filter(|(_, weight)| *weight != 0.0) {
                embedding.nodes.push(*node);
                embedding.weights.push(weight);
            }
            embedding.offsets.push(embedding.nodes.len() as u32);
            embedding.cells.push(binding.cell);
        }
        Ok(embedding)
    }

    /// Binds each point to one node, with weight one.
    pub fn from_nodes(nodes: &[u32], mesh: &CellMesh) -> Self {
        let node_cells = mesh.node_cells();
        Self {
            offsets: (0..=nodes.len() as u32).collect(),
            nodes: nodes.to_vec(),
            weights: vec![1.0; nodes.len()],
            cells: nodes.iter().map(|node| node_cells.cells(*node as usize).first().copied().unwrap_or(0)).collect(),
            report: EmbeddingReport::default(),
        }
    }

    /// An embedding from stored weights: the entries of point p end at `ends[p]`. `None` when the arrays are
    /// inconsistent.
    pub fn from_rows(ends: &[u32], nodes: Vec<u32>, weights: Vec<f64>, cells: Vec<u32>) -> Option<Self> {
        let fits = ends.is_sorted()
            && ends.last().copied().unwrap_or(0) as usize == nodes.len()
            && nodes.len() == weights.len()
            && ends.len() == cells.len();
        let offsets = std::iter::once(0).chain(ends.iter().copied()).collect();
        fits.then_some(Self { offsets, nodes, weights, cells, report: EmbeddingReport::default() })
    }

    /// End of the entries of each point.
    pub fn ends(&self) -> &[u32] {
        &self.offsets[1..]
    }

    /// Nodes of all points, one after another.
    pub fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    /// Weights of all points, one after another.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Nodes and weights of a point; zero weights are left out.
    pub fn entries(&self, point: usize) -> (&[u32], &[f64]) {
        let range = self.offsets[point] as usize..self.offsets[point + 1] as usize;
        (&self.nodes[range.clone()], &self.weights[range])
    }

    /// The cell that each point is bound to.
    pub fn cells(&self) -> &[u32] {
        &self.cells
    }

    /// How many points were outside the mesh.
    pub fn report(&self) -> &EmbeddingReport {
        &self.report
    }

    /// Positions of the points \[m\] for these node positions. Linear, so it also maps velocities and displacements.
    ///
    /// `out` must have one entry for each point.
    pub fn positions(&self, node_positions: &[Vec3], out: &mut [Vec3]) {
        debug_assert_eq!(out.len(), self.len(), "one output per embedded point");
        for (point, x) in out.iter_mut().enumerate() {
            let (nodes, weights) = self.entries(point);
            let mut sum = Vec3::zero();
            for (node, weight) in nodes.iter().zip(weights) {
                sum += node_positions[*node as usize] * *weight;
            }
            *x = sum;
        }
    }

    /// Adds forces at the points \[N\] to the forces at the nodes, by the transpose of the weights.
    pub fn add_forces_back(&self, point_forces: &[Vec3], node_forces: &mut [Vec3]) {
        debug_assert_eq!(point_forces.len(), self.len(), "one force per embedded point");
        for (point, force) in point_forces.iter().enumerate() {
            let (nodes, weights) = self.entries(point);
            for (node, weight) in nodes.iter().zip(weights) {
                node_forces[*node as usize] += *force * *weight;
            }
        }
    }
}
