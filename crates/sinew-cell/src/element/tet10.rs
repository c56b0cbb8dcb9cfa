//! Quadratic tetrahedron.

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

/// The corners at the ends of each edge, in the order of the midpoint nodes.
const EDGES: [[usize; 2]; 6] = [[0, 1], [1, 2], [2, 0], [0, 3], [1, 3], [2, 3]];

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

/// ∂Lᵢ/∂ξ.
const SLOPES: [Vec3; 4] =
    [Vec3::new(-1.0, -1.0, -1.0), Vec3::new(1.0, 0.0, 0.0), Vec3::new(0.0, 1.0, 0.0), Vec3::new(0.0, 0.0, 1.0)];

fn barycentric(xi: Vec3) -> [f64; 4] {
    [1.0 - xi.x - xi.y - xi.z, xi.x, xi.y, xi.z]
}

impl Element<10> for Tet10 {
    const NAME: &'static str = "tet10";
    const REFERENCE_VOLUME: f64 = 1.0 / 6.0;

    fn reference_nodes() -> [Vec3; 10] {
        let corners = [Vec3::zero(), Vec3::unit(0), Vec3::unit(1), Vec3::unit(2)];
        let mut nodes = [Vec3::zero(); 10];
        nodes[..4].copy_from_slice(&corners);
        for (node, [i, j]) in nodes[4..].iter_mut().zip(EDGES) {
            *node = (corners[i] + corners[j]) * 0.5;
        }
        nodes
    }

    fn shape_values(xi: Vec3) -> [f64; 10] {
        let l = barycentric(xi);
        let mut values = [0.0; 10];
        for (value, l) in values.iter_mut().zip(l) {
            *value = l * (2.0 * l - 1.0);
        }
        for (value, [i, j]) in values[4..].iter_mut().zip(EDGES) {
            *value = 4.0 * l[i] * l[j];
        }
        values
    }

    fn shape_gradients(xi: Vec3) -> [Vec3; 10] {
        let l = barycentric(xi);
        let mut gradients = [Vec3::zero(); 10];
        for ((gradient, l), slope) in gradients.iter_mut().zip(l).zip(SLOPES) {
            *gradient = slope * (4.0 * l - 1.0);
        }
        for (gradient, [i, j]) in gradients[4..].iter_mut().zip(EDGES) {
            *gradient = (SLOPES[i] * l[j] + SLOPES[j] * l[i]) * 4.0;
        }
        gradients
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
