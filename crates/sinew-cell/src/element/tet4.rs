//! Linear tetrahedron.

use sinew_geometry::shape_functions::{BARYCENTRIC_GRADIENTS, barycentric};
use sinew_math::Vec3;

use super::{Element, QuadraturePoint};

/// Tetrahedron with linear shape functions N₀ = 1 − ξ − η − ζ, N₁ = ξ, N₂ = η, N₃ = ζ on the unit corner.
///
/// F is constant in a cell, so one point at the centroid integrates every energy exactly. Positive orientation:
/// det\[x₁ − x₀, x₂ − x₀, x₃ − x₀\] > 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tet4;

const CENTROID: [QuadraturePoint; 1] = [QuadraturePoint { xi: Vec3::new(0.25, 0.25, 0.25), weight: 1.0 / 6.0 }];

impl Element<4> for Tet4 {
    const NAME: &'static str = "tet4";
    const REFERENCE_VOLUME: f64 = 1.0 / 6.0;

    fn reference_nodes() -> [Vec3; 4] {
        [Vec3::zero(), Vec3::unit(0), Vec3::unit(1), Vec3::unit(2)]
    }

    fn shape_values(xi: Vec3) -> [f64; 4] {
        barycentric(xi)
    }

    fn shape_gradients(_xi: Vec3) -> [Vec3; 4] {
        BARYCENTRIC_GRADIENTS
    }

    fn quadrature() -> &'static [QuadraturePoint] {
        &CENTROID
    }
}
