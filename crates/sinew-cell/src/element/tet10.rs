//! Quadratic tetrahedron.

use sinew_geometry::CellKind;
use sinew_geometry::shape_functions::{barycentric, reference_node, tet10_gradients, tet10_values};
use sinew_math::Vec3;

use super::{Element, QuadraturePoint};

/// Tetrahedron with quadratic shape functions of the barycentric coordinates L₀ = 1 − ξ − η − ζ, L₁ = ξ, L₂ = η, L₃ =
/// ζ:
///
/// ```math
/// N_i = L_i (2 L_i - 1) \ \text{at corners}, \qquad N_{ij} = 4 L_i L_j \ \text{at midpoints of edges}
/// ```
///
/// in VTK node order: corners 0–3, then the midpoints of the edges 01, 12, 20, 03, 13, 23. Four points integrate
/// quadratic polynomials exactly, as the stiffness of a cell with straight edges requires. Six strains at four points
/// are 24 numbers, which distinguish all 30 − 6 deformations, so there are no zero-energy modes.
///
/// # Mass
///
/// The row sums ∫ Nₐ dX are −V/20 at corners: a negative mass. Instead, the diagonal of the consistent mass matrix is
/// scaled to the mass of the cell \[Hinton76\]: ∫ Nᵢ² = V/70 and ∫ Nᵢⱼ² = 8V/105 give each corner 1/36 of the mass and
/// each midpoint 4/27. All are positive. Total mass and center of mass are exact, and so is momentum. The inertia of a
/// cell about its own center is 11/108 Σ x xᵀ instead of 1/20 (a linear tetrahedron has 1/4). Relative to the inertia
/// of a body this error vanishes with h².
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tet10;

/// (5 − √5)/20.
const NEAR: f64 = 0.138_196_601_125_010_5;
/// (5 + 3√5)/20.
const FAR: f64 = 0.585_410_196_624_968_5;

/// The four points with barycentric coordinates (FAR, NEAR, NEAR, NEAR) in all orders.
const POINTS: [QuadraturePoint; 4] = [
    QuadraturePoint { xi: Vec3::new(NEAR, NEAR, NEAR), weight: 1.0 / 24.0 },
    QuadraturePoint { xi: Vec3::new(FAR, NEAR, NEAR), weight: 1.0 / 24.0 },
    QuadraturePoint { xi: Vec3::new(NEAR, FAR, NEAR), weight: 1.0 / 24.0 },
    QuadraturePoint { xi: Vec3::new(NEAR, NEAR, FAR), weight: 1.0 / 24.0 },
];

impl Element<10> for Tet10 {
    const NAME: &'static str = "tet10";
    const REFERENCE_VOLUME: f64 = 1.0 / 6.0;

    fn reference_nodes() -> [Vec3; 10] {
        std::array::from_fn(|node| reference_node(CellKind::Tet10, node))
    }

    fn shape_values(xi: Vec3) -> [f64; 10] {
        tet10_values(barycentric(xi))
    }

    fn shape_gradients(xi: Vec3) -> [Vec3; 10] {
        tet10_gradients(barycentric(xi))
    }

    fn quadrature() -> &'static [QuadraturePoint] {
        &POINTS
    }

    fn mass_shares() -> Option<[f64; 10]> {
        let (corner, middle) = (1.0 / 36.0, 4.0 / 27.0);
        let mut shares = [middle; 10];
        shares[..4].fill(corner);
        Some(shares)
    }
}
