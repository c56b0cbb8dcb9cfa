//! Shape functions Nₐ of cells at the coordinates ξ of their reference cell, their gradients ∂Nₐ/∂ξ, and the gradient
//! of the map they make:
//!
//! ```math
//! x(\xi) = \sum_a N_a(\xi)\, x_a, \qquad
//!    \frac{\partial x}{\partial \xi} = \sum_a x_a \otimes \frac{\partial N_a}{\partial \xi}
//! ```
//!
//! Reference cells are the unit corner of tetrahedra, with barycentric coordinates L = (1 − ξ − η − ζ, ξ, η, ζ), and
//! the cube \[−1, 1\]³ of hexahedra. Nodes are in the order of [`CellKind`].

use sinew_math::Vec3;

use crate::mesh::{CellKind, MAX_CELL_NODES};

/// Signs of the coordinates (ξ, η, ζ) at the nodes of a hexahedron.
pub const HEX_SIGNS: [[f64; 3]; 8] = [
    [-1.0, -1.0, -1.0],
    [1.0, -1.0, -1.0],
    [1.0, 1.0, -1.0],
    [-1.0, 1.0, -1.0],
    [-1.0, -1.0, 1.0],
    [1.0, -1.0, 1.0],
    [1.0, 1.0, 1.0],
    [-1.0, 1.0, 1.0],
];

/// ∂Lᵢ/∂ξ: the gradients of the linear shape functions of a tetrahedron.
pub const BARYCENTRIC_GRADIENTS: [Vec3; 4] =
    [Vec3::new(-1.0, -1.0, -1.0), Vec3::new(1.0, 0.0, 0.0), Vec3::new(0.0, 1.0, 0.0), Vec3::new(0.0, 0.0, 1.0)];

/// Barycentric coordinates L: the linear shape functions of a tetrahedron.
pub fn barycentric(xi: Vec3) -> [f64; 4] {
    [1.0 - xi.x - xi.y - xi.z, xi.x, xi.y, xi.z]
}

/// Quadratic shape functions of the barycentric coordinates L: Lᵢ (2Lᵢ − 1) at corners, 4 LᵢLⱼ at edge midpoints.
pub fn tet10_values(l: [f64; 4]) -> [f64; 10] {
    let mut values = [0.0; 10];
    for (value, l) in values.iter_mut().zip(l) {
        *value = l * (2.0 * l - 1.0);
    }
    for (value, [i, j]) in values[4..].iter_mut().zip(CellKind::Tet10.edges()) {
        *value = 4.0 * l[*i] * l[*j];
    }
    values
}

/// ∂N/∂ξ of the quadratic shape functions at the barycentric coordinates L.
pub fn tet10_gradients(l: [f64; 4]) -> [Vec3; 10] {
    let mut gradients = [Vec3::zero(); 10];
    for ((gradient, l), slope) in gradients.iter_mut().zip(l).zip(BARYCENTRIC_GRADIENTS) {
        *gradient = slope * (4.0 * l - 1.0);
    }
    for (gradient, [i, j]) in gradients[4..].iter_mut().zip(CellKind::Tet10.edges()) {
        *gradient = (BARYCENTRIC_GRADIENTS[*i] * l[*j] + BARYCENTRIC_GRADIENTS[*j] * l[*i]) * 4.0;
    }
    gradients
}

/// Trilinear shape functions Nₐ = (1 + ξξₐ)(1 + ηηₐ)(1 + ζζₐ)/8.
pub fn hex8_values(xi: Vec3) -> [f64; 8] {
    HEX_SIGNS.map(|[x, y, z]| 0.125 * (1.0 + x * xi.x) * (1.0 + y * xi.y) * (1.0 + z * xi.z))
}

/// ∂N/∂ξ of the trilinear shape functions.
pub fn hex8_gradients(xi: Vec3) -> [Vec3; 8] {
    HEX_SIGNS.map(|[x, y, z]| {
        let (a, b, c) = (1.0 + x * xi.x, 1.0 + y * xi.y, 1.0 + z * xi.z);
        Vec3::new(x * b * c, y * a * c, z * a * b) * 0.125
    })
}

/// Coordinates ξ of a node of a cell.
pub fn reference_node(kind: CellKind, node: usize) -> Vec3 {
    let tet_corner = |corner: usize| if corner == 0 { Vec3::zero() } else { Vec3::unit(corner - 1) };
    match kind {
        CellKind::Hex8 => Vec3::from(HEX_SIGNS[node]),
        CellKind::Tet4 | CellKind::Tet10 if node < 4 => tet_corner(node),
        CellKind::Tet4 | CellKind::Tet10 => {
            let [a, b] = kind.edges()[node - 4];
            (tet_corner(a) + tet_corner(b)) * 0.5
        }
    }
}

/// Shape functions and their gradients; zero beyond the nodes of the cell.
pub(crate) fn values_and_gradients(kind: CellKind, xi: Vec3) -> ([f64; MAX_CELL_NODES], [Vec3; MAX_CELL_NODES]) {
    let mut values = [0.0; MAX_CELL_NODES];
    let mut gradients = [Vec3::zero(); MAX_CELL_NODES];
    let l = barycentric(xi);
    match kind {
        CellKind::Tet4 => {
            values[..4].copy_from_slice(&l);
            gradients[..4].copy_from_slice(&BARYCENTRIC_GRADIENTS);
        }
        CellKind::Tet10 => (values, gradients) = (tet10_values(l), tet10_gradients(l)),
        CellKind::Hex8 => {
            values[..8].copy_from_slice(&hex8_values(xi));
            gradients[..8].copy_from_slice(&hex8_gradients(xi));
        }
    }
    (values, gradients)
}

/// The columns ∂x/∂ξ, ∂x/∂η, ∂x/∂ζ of the quadratic map at ξ, from nodes relative to the first.
pub(crate) fn tet10_map_gradient(nodes: &[Vec3], xi: Vec3) -> [Vec3; 3] {
    let l = barycentric(xi);
    // ∂x/∂Lᵢ = Σₐ (∂Nₐ/∂Lᵢ) xₐ, then ∂/∂ξ = ∂/∂L₁ − ∂/∂L₀ and so on.
    let mut by_corner = [Vec3::zero(); 4];
    for (i, slope) in by_corner.iter_mut().enumerate() {
        *slope = (nodes[i] - nodes[0]) * (4.0 * l[i] - 1.0);
    }
    for (k, [i, j]) in CellKind::Tet10.edges().iter().enumerate() {
        let middle = (nodes[4 + k] - nodes[0]) * 4.0;
        by_corner[*i] += middle * l[*j];
        by_corner[*j] += middle * l[*i];
    }
    [by_corner[1] - by_corner[0], by_corner[2] - by_corner[0], by_corner[3] - by_corner[0]]
}

/// The columns ∂x/∂ξ, ∂x/∂η, ∂x/∂ζ of the trilinear map at ξ.
pub(crate) fn hex8_map_gradient(corners: &[Vec3], xi: Vec3) -> [Vec3; 3] {
    map_gradient(corners, &hex8_gradients(xi))
}

/// The columns ∂x/∂ξ, ∂x/∂η, ∂x/∂ζ of the map of these nodes, from the gradients of their shape functions.
pub(crate) fn map_gradient(nodes: &[Vec3], gradients: &[Vec3]) -> [Vec3; 3] {
    let mut columns = [Vec3::zero(); 3];
    for (node, gradient) in nodes.iter().zip(gradients) {
        for (axis, column) in columns.iter_mut().enumerate() {
            *column += *node * gradient[axis];
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Central differences of N, and nodes lie at their coordinates: N_i(ξ_j) = δ_ij.
    #[test]
    fn gradients_are_derivatives_of_the_shape_functions() {
        let xi = Vec3::new(0.21, 0.13, 0.34);
        for kind in [CellKind::Tet4, CellKind::Tet10, CellKind::Hex8] {
            let (_, gradients) = values_and_gradients(kind, xi);
            for axis in 0..3 {
                let h = Vec3::unit(axis) * 1e-5;
                let (ahead, behind) = (values_and_gradients(kind, xi + h).0, values_and_gradients(kind, xi - h).0);
                for i in 0..MAX_CELL_NODES {
                    assert!(((ahead[i] - behind[i]) / 2e-5 - gradients[i][axis]).abs() < 1e-9, "{kind:?}");
                }
            }
            for node in 0..kind.nodes_per_cell() {
                let values = values_and_gradients(kind, reference_node(kind, node)).0;
                assert!((0..MAX_CELL_NODES).all(|i| values[i] == f64::from(u8::from(i == node))), "{kind:?}");
            }
        }
    }

    /// Central differences of x(ξ) in cells without a flat face or a straight edge.
    #[test]
    fn map_gradients_are_derivatives_of_the_map() {
        let xi = Vec3::new(0.21, 0.13, 0.34);
        let bent = |x: Vec3| x + Vec3::new(x.y * x.z, x.z * x.x, x.x * x.y) * 0.1;
        for kind in [CellKind::Tet10, CellKind::Hex8] {
            let nodes: Vec<Vec3> = (0..kind.nodes_per_cell()).map(|node| bent(reference_node(kind, node))).collect();
            let place = |xi: Vec3| -> Vec3 {
                nodes.iter().zip(values_and_gradients(kind, xi).0).map(|(node, value)| *node * value).sum()
            };
            let columns = match kind {
                CellKind::Hex8 => hex8_map_gradient(&nodes, xi),
                _ => tet10_map_gradient(&nodes, xi),
            };
            for (axis, column) in columns.into_iter().enumerate() {
                let h = Vec3::unit(axis) * 1e-5;
                assert!((place(xi + h) - place(xi - h)).distance(column * 2e-5) < 1e-9 * 2e-5, "{kind:?}");
            }
        }
    }
}
