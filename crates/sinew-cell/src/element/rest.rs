//! Shape gradients and integration weights of all cells of a block at rest.

use sinew_math::{Mat3, Vec3};
use thiserror::Error;

use super::Element;

/// Gradients ∂Nₐ/∂X and weights w det(∂X/∂ξ) at every quadrature point of every cell of a block.
///
/// Computed once from the rest positions. Point `q` of cell `c` has index `c * points_per_cell + q`.
#[derive(Clone, Debug, PartialEq)]
pub struct RestGeometry<const N: usize> {
    /// ∂Nₐ/∂X \[1/m\] per point and node.
    pub gradients: Vec<[Vec3; N]>,
    /// Rest volume of each point \[m³\].
    pub weights: Vec<f64>,
    /// Nₐ(ξ) per point of one cell; the same in every cell.
    pub shape_values: Vec<[f64; N]>,
    /// Share of each node in the mass of a cell, for elements that do not use ∫ Nₐ dX.
    pub mass_shares: Option<[f64; N]>,
}

/// A cell on which the element cannot be evaluated.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum ElementError {
    /// The map from the reference cell is singular, inverted or not finite at a quadrature point.
    #[error("cell {cell} is degenerate or inverted at rest: volume {volume:e} m³ at quadrature point {point}")]
    NotPositive {
        /// Cell within the block.
        cell: usize,
        /// Quadrature point within the cell.
        point: usize,
        /// w det(∂X/∂ξ) \[m³\].
        volume: f64,
    },
    /// A cell refers to a node that does not exist.
    #[error("cell {cell} refers to node {node}, but there are {node_count} nodes")]
    NodeOutOfRange {
        /// Cell within the block.
        cell: usize,
        /// The node.
        node: u32,
        /// Number of nodes.
        node_count: usize,
    },
    /// The node list does not divide into cells.
    #[error("{length} node indices do not divide into cells of {nodes_per_cell} nodes")]
    RaggedCells {
        /// Length of the list.
        length: usize,
        /// Nodes per cell.
        nodes_per_cell: usize,
    },
}

impl<const N: usize> RestGeometry<N> {
    /// Evaluates the element on cells given as a flat list of node indices.
    pub fn new<E: Element<N>>(rest_positions: &[Vec3], cells: &[u32]) -> Result<Self, ElementError> {
        if !cells.len().is_multiple_of(N) {
            return Err(ElementError::RaggedCells { length: cells.len(), nodes_per_cell: N });
        }
        let points = E::quadrature();
        let shape_values = points.iter().map(|p| E::shape_values(p.xi)).collect();
        let reference: Vec<[Vec3; N]> = points.iter().map(|p| E::shape_gradients(p.xi)).collect();
        let count = cells.len() / N * points.len();
        let (mut gradients, mut weights) = (Vec::with_capacity(count), Vec::with_capacity(count));

        for (cell, nodes) in cells.chunks_exact(N).enumerate() {
            let mut corners = [Vec3::zero(); N];
            for (corner, &node) in corners.iter_mut().zip(nodes) {
                let position = rest_positions.get(node as usize);
                let node_count = rest_positions.len();
                *corner = *position.ok_or(ElementError::NodeOutOfRange { cell, node, node_count })?;
            }
            for (point, (quadrature, reference)) in points.iter().zip(&reference).enumerate() {
                let jacobian = super::deformation_gradient(&corners, reference);
                let volume = quadrature.weight * jacobian.determinant();
                // This form catches NaN too.
                if !(volume > 0.0 && volume.is_finite()) {
                    return Err(ElementError::NotPositive { cell, point, volume });
                }
                gradients.push(physical_gradients(&jacobian, reference));
                weights.push(volume);
            }
        }
        Ok(Self { gradients, weights, shape_values, mass_shares: E::mass_shares() })
    }

    /// Quadrature points per cell.
    pub fn points_per_cell(&self) -> usize {
        self.shape_values.len()
    }

    /// Cells in the block.
    pub fn cell_count(&self) -> usize {
        self.weights.len() / self.points_per_cell()
    }

    /// Rest volume of a cell \[m³\].
    pub fn cell_volume(&self, cell: usize) -> f64 {
        let points = self.points_per_cell();
        self.weights[cell * points..][..points].iter().sum()
    }

    /// Adds the lumped mass of every cell to its nodes: mₐ += ρ ∫ Nₐ dX, the row sums of the consistent mass matrix.
    ///
    /// `densities` \[kg/m³\] has one entry per cell. Row sums are positive for linear elements (Nₐ > 0 at all points of
    /// their rules) and preserve the total mass and, for affine motions, the momentum. Elements whose row sums are not
    /// positive define their own shares ([`Element::mass_shares`]): mₐ += sₐ ρ V.
    pub fn add_lumped_mass(&self, cells: &[u32], densities: &[f64], masses: &mut [f64]) {
        debug_assert_eq!(cells.len(), self.cell_count() * N, "the node list of this geometry");
        debug_assert_eq!(densities.len(), self.cell_count(), "one density per cell");
        let points = self.points_per_cell();
        for (cell, nodes) in cells.chunks_exact(N).enumerate() {
            if let Some(shares) = &self.mass_shares {
                let mass = densities[cell] * self.cell_volume(cell);
                for (&node, share) in nodes.iter().zip(shares) {
                    masses[node as usize] += mass * share;
                }
                continue;
            }
            for (weight, values) in self.weights[cell * points..].iter().zip(&self.shape_values) {
                for (&node, value) in nodes.iter().zip(values) {
                    masses[node as usize] += densities[cell] * weight * value;
                }
            }
        }
    }
}

/// ∂N/∂X = (∂X/∂ξ)⁻ᵀ ∂N/∂ξ.
fn physical_gradients<const N: usize>(jacobian: &Mat3, reference: &[Vec3; N]) -> [Vec3; N] {
    let inverse_transpose = jacobian.inverse().transpose();
    reference.map(|g| inverse_transpose * g)
}
