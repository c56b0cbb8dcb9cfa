//! The inverse of the map of a cell: coordinates in the reference cell from a position.

use sinew_math::{Mat3, Vec3};

use crate::mesh::MAX_CELL_NODES;
use crate::shape_functions::{hex8_map_gradient, hex8_values, tet10_map_gradient, tet10_values};

/// Newton steps for the local coordinates in a hexahedron or a curved tetrahedron. Convergence is quadratic; valid
/// cells need about five.
const NEWTON_STEPS: usize = 30;

/// x(ξ) = Σ Nₐ(ξ) xₐ.
fn interpolate(nodes: &[Vec3], values: &[f64]) -> Vec3 {
    nodes.iter().zip(values).fold(Vec3::zero(), |sum, (node, value)| sum + *node * *value)
}

/// Barycentric coordinates of p: Cramer's rule relative to the last corner.
pub(super) fn tet_coordinates(p: Vec3, [a, b, c, d]: [Vec3; 4]) -> [f64; 4] {
    let (u, v, w, q) = (a - d, b - d, c - d, p - d);
    let determinant = u.dot(v.cross(w));
    let weights = [q.dot(v.cross(w)) / determinant, u.dot(q.cross(w)) / determinant, u.dot(v.cross(q)) / determinant];
    // The last weight as a difference: the sum is one to the last bit or two.
    [weights[0], weights[1], weights[2], 1.0 - weights[0] - weights[1] - weights[2]]
}

/// Barycentric coordinates L with x(L) = p in a quadratic tetrahedron: start from those of its corners, which are exact
/// for straight edges, then Newton's method. `None` when it does not converge, which happens only outside curved cells.
pub(super) fn tet10_coordinates(p: Vec3, nodes: &[Vec3; MAX_CELL_NODES]) -> Option<[f64; 4]> {
    let scale = nodes[0].distance(nodes[1]) + nodes[0].distance(nodes[2]) + nodes[0].distance(nodes[3]);
    let mut local = tet_coordinates(p, [nodes[0], nodes[1], nodes[2], nodes[3]]);
    for _ in 0..NEWTON_STEPS {
        let x = interpolate(nodes, &tet10_values(local));
        if x.distance(p) <= 1e-14 * scale + 4.0 * f64::EPSILON * p.norm() {
            return Some(local);
        }
        let [a, b, c] = tet10_map_gradient(nodes, Vec3::new(local[1], local[2], local[3]));
        let step = Mat3::from_columns(a, b, c).inverse() * (p - x);
        // Weights grow with the square of the distance: beyond two cells they are useless.
        if !step.is_finite() || local.iter().any(|l| l.abs() > 4.0) {
            return None;
        }
        for axis in 0..3 {
            local[axis + 1] += step[axis];
        }
        local[0] = 1.0 - local[1] - local[2] - local[3];
    }
    let x = interpolate(nodes, &tet10_values(local));
    (x.distance(p) <= 1e-11 * scale + 8.0 * f64::EPSILON * p.norm()).then_some(local)
}

/// Local coordinates ξ with x(ξ) = p by Newton's method; `None` when it does not converge, which happens only far
/// outside.
pub(super) fn hex8_coordinates(p: Vec3, corners: &[Vec3; MAX_CELL_NODES]) -> Option<Vec3> {
    let mut xi = Vec3::zero();
    let mut previous = f64::INFINITY;
    let scale = corners[0].distance(corners[6]) + corners[1].distance(corners[7]);
    for _ in 0..NEWTON_STEPS {
        let x = interpolate(corners, &hex8_values(xi));
        let [a, b, c] = hex8_map_gradient(corners, xi);
        let step = Mat3::from_columns(a, b, c).inverse() * (p - x);
        if !step.is_finite() {
            return None;
        }
        xi += step;
        let length = step.norm();
        // Stop at the first step that no longer halves: rounding error dominates.
        if length < 1e-9 && length > 0.5 * previous || length == 0.0 {
            break;
        }
        previous = length;
    }
    let x = interpolate(corners, &hex8_values(xi));
    (x.distance(p) <= 1e-11 * scale + 8.0 * f64::EPSILON * p.norm()).then_some(xi)
}
