//! Elements: shape functions and quadrature on a reference cell, and their gradients on the cells of a mesh at rest.
//!
//! | element | nodes | points | properties |
//! |---|---|---|---|
//! | [`Tet4`] | 4 | 1 | linear tetrahedron: constant F; fills any shape; locks when nearly incompressible |
//! | [`Tet10`] | 10 | 4 | quadratic tetrahedron: bends well; does not lock with the mean volume ratio |
//! | [`Hex8`] | 8 | 2×2×2 | trilinear hexahedron: bends better, needs a structured mesh |
//!
//! An [`Element`] describes only its reference cell. [`RestGeometry`] evaluates it once on all cells of a block:
//! gradients ∂Nₐ/∂X and weights w det(∂X/∂ξ) per quadrature point, which give F = Σ xₐ ⊗ ∂Nₐ/∂X and all integrals.

mod hex8;
mod mean;
mod rest;
mod tet10;
mod tet4;

#[cfg(test)]
mod battery;

use sinew_math::{Mat3, Scalar, Vec3};

pub use hex8::Hex8;
pub use mean::mean_deformation_gradients;
pub use rest::{ElementError, RestGeometry};
pub use tet4::Tet4;
pub use tet10::Tet10;

/// Shape functions and quadrature of an element with N nodes on its reference cell.
pub trait Element<const N: usize>: Copy + Send + Sync + 'static {
    /// Name in reports.
    const NAME: &'static str;

    /// Volume of the reference cell: the sum of the quadrature weights.
    const REFERENCE_VOLUME: f64;

    /// Nodes of the reference cell, in VTK order.
    fn reference_nodes() -> [Vec3; N];

    /// Nₐ(ξ).
    fn shape_values(xi: Vec3) -> [f64; N];

    /// ∂Nₐ/∂ξ.
    fn shape_gradients(xi: Vec3) -> [Vec3; N];

    /// Quadrature points ξ and weights.
    fn quadrature() -> &'static [QuadraturePoint];

    /// Share of each node in the mass of a cell; `None` for ∫ Nₐ dX, where that is positive.
    fn mass_shares() -> Option<[f64; N]> {
        None
    }
}

/// A point of a quadrature rule on the reference cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuadraturePoint {
    /// Position ξ in the reference cell.
    pub xi: Vec3,
    /// Weight.
    pub weight: f64,
}

/// F = Σₐ xₐ ⊗ gₐ for node positions x and rest-space gradients g.
///
/// The gradients sum to zero, so positions may be relative to node 0. A body far from the origin then loses no digits.
#[inline(always)]
pub fn deformation_gradient<S: Scalar, const N: usize>(positions: &[Vec3<S>; N], gradients: &[Vec3<S>; N]) -> Mat3<S> {
    let mut sum = Mat3::outer(positions[1] - positions[0], gradients[1]);
    for a in 2..N {
        sum += Mat3::outer(positions[a] - positions[0], gradients[a]);
    }
    sum
}
