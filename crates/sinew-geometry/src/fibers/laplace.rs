//! Fibers as the flow from origin to insertion: the gradient of a harmonic potential.
//!
//! ```math
//! \nabla^2 \varphi = 0, \qquad \varphi = 0 \text{ on the origin}, \quad \varphi = 1 \text{ on the insertion}, \quad
//!    \frac{\partial \varphi}{\partial n} = 0 \text{ elsewhere}; \qquad f = \nabla \varphi / |\nabla \varphi|
//! ```
//!
//! Nothing flows through the sides, so fibers follow them and spread as evenly as possible in between. \[Choi13\]
//! compares such fibers with dissected and imaged muscles.

use sinew_math::cholesky::{CholeskyError, SymmetricMatrix};
use sinew_math::{Mat3, Vec3};
use thiserror::Error;

use super::pennation::{Pennation, PennationError};
use crate::mesh::{CellKind, CellMesh};
use crate::shape_functions::{HEX_SIGNS, hex8_gradients, hex8_map_gradient};

/// A gradient below this fraction of 1 / (size of the mesh) has no direction. The mean gradient is about 1 / length;
/// the residual of the linear system contributes far less.
const FLAT: f64 = 1e-7;

/// Parameters of the potential and of the pennation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LaplaceParams {
    /// Angle of the fibers to the gradient.
    pub pennation: Pennation,
    /// Residual of the linear system, relative to its right-hand side, at which the iteration stops. The default of
    /// 1e-12 leaves directions exact to about nine digits.
    pub tolerance: f64,
    /// Largest number of iterations; a few times the number of cells along the muscle is usual.
    pub max_iterations: usize,
}

impl Default for LaplaceParams {
    fn default() -> Self {
        Self { pennation: Pennation::None, tolerance: 1e-12, max_iterations: 20_000 }
    }
}

/// Fibers by Laplace's equation.
#[derive(Clone, Debug, PartialEq)]
pub struct LaplaceFibers {
    /// Unit direction in each cell, from origin to insertion.
    pub directions: Vec<Vec3>,
    /// Potential at each node, from 0 at the origin to 1 at the insertion.
    pub potential: Vec<f64>,
    /// Iterations of the linear solver.
    pub iterations: usize,
}

/// Why fibers cannot be computed.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum LaplaceError {
    /// A set contains no corner of a cell.
    #[error("the {set} has no nodes")]
    EmptySet {
        /// `"origin"` or `"insertion"`.
        set: &'static str,
    },
    /// A set names a node that does not exist.
    #[error("the {set} names node {node}, but there are only {node_count} nodes")]
    NodeOutOfRange {
        /// `"origin"` or `"insertion"`.
        set: &'static str,
        /// The missing node.
        node: usize,
        /// Number of nodes.
        node_count: usize,
    },
    /// A node is both at 0 and at 1.
    #[error("node {node} is in both the origin and the insertion")]
    OverlappingSets {
        /// The first such node.
        node: usize,
    },
    /// A part of the mesh touches neither set, so its potential is undetermined.
    #[error("the part of the mesh with cell {cell} touches neither origin nor insertion")]
    FreeComponent {
        /// Its first cell.
        cell: usize,
    },
    /// The potential is constant in a cell.
    #[error(
        "the potential has no gradient in cell {cell}; hint: its part of the mesh may touch only the origin or only the insertion"
    )]
    NoGradient {
        /// The cell.
        cell: usize,
    },
    /// The iteration did not converge.
    #[error(
        "the potential has a residual of {residual:.1e} after {iterations} iterations; hint: allow more, or repair flat cells"
    )]
    NotConverged {
        /// Residual relative to the right-hand side.
        residual: f64,
        /// Number of iterations.
        iterations: usize,
    },
    /// The pennation is invalid.
    #[error(transparent)]
    Pennation(#[from] PennationError),
    /// The matrix is too large.
    #[error(transparent)]
    Matrix(#[from] CholeskyError),
}

/// Fibers from the nodes of the `origin` to those of the `insertion`: f = ∇φ / |∇φ| with ∇²φ = 0, φ = 0 on the origin,
/// φ = 1 on the insertion and no flow through the other sides \[Choi13\].
///
/// Linear elements: tetrahedra have a constant gradient, hexahedra use the one at their center. Only the corners of
/// quadratic tetrahedra count. If the mesh includes the tendons, use their ends as the sets; if it covers only the
/// belly, use the faces it ends in.
pub fn laplace_fibers(
    mesh: &CellMesh,
    origin: &[u32],
    insertion: &[u32],
    params: &LaplaceParams,
) -> Result<LaplaceFibers, LaplaceError> {
    params.pennation.check()?;
    let (potential, iterations) = laplace_potential(mesh, origin, insertion, params)?;
    let size = mesh.bounds().diagonal();
    let mut directions = Vec::with_capacity(mesh.cell_count());
    for (cell, (gradient, center)) in potential_gradients(mesh, &potential).into_iter().enumerate() {
        if !(gradient.norm() * size > FLAT) {
            return Err(LaplaceError::NoGradient { cell });
        }
        directions.push(params.pennation.rotated(cell, gradient.normalized(), center)?);
    }
    Ok(LaplaceFibers { directions, potential, iterations })
}

/// The potential of [`laplace_fibers`] at each node, and the iterations of the linear solver. Sums are serial, so the
/// bits do not depend on the number of threads.
pub fn laplace_potential(
    mesh: &CellMesh,
    origin: &[u32],
    insertion: &[u32],
    params: &LaplaceParams,
) -> Result<(Vec<f64>, usize), LaplaceError> {
    let fixed = fixed_values(mesh, origin, insertion)?;
    let (mut potential, iterations) = solve(mesh, &fixed, params)?;
    for (kind, nodes) in mesh.cells().filter(|(kind, _)| *kind == CellKind::Tet10) {
        for (edge, [a, b]) in kind.edges().iter().enumerate() {
            potential[nodes[4 + edge] as usize] = 0.5 * (potential[nodes[*a] as usize] + potential[nodes[*b] as usize]);
        }
    }
    Ok((potential, iterations))
}

/// Gradient \[1/m\] of values at the nodes in the middle of each cell, and that middle \[m\]. Only corners count.
pub fn potential_gradients(mesh: &CellMesh, values: &[f64]) -> Vec<(Vec3, Vec3)> {
    let at_center = |(kind, nodes): (CellKind, &[u32])| {
        let n = kind.corners_per_cell();
        let corners = mesh.corners(nodes);
        let gradients = center_gradients(kind, &corners);
        let gradient: Vec3 = (0..n).map(|a| gradients[a] * values[nodes[a] as usize]).sum();
        (gradient, corners[..n].iter().sum::<Vec3>() / n as f64)
    };
    mesh.cells().map(at_center).collect()
}

/// Prescribed potential of each node; corners of cells only.
fn fixed_values(mesh: &CellMesh, origin: &[u32], insertion: &[u32]) -> Result<Vec<Option<f64>>, LaplaceError> {
    let node_count = mesh.node_count();
    let mut is_corner = vec![false; node_count];
    for (kind, nodes) in mesh.cells() {
        for node in &nodes[..kind.corners_per_cell()] {
            is_corner[*node as usize] = true;
        }
    }
    let mut fixed = vec![None; node_count];
    for (set, nodes, value) in [("origin", origin, 0.0), ("insertion", insertion, 1.0)] {
        let mut is_empty = true;
        for node in nodes.iter().map(|node| *node as usize) {
            if node >= node_count {
                return Err(LaplaceError::NodeOutOfRange { set, node, node_count });
            }
            if fixed[node].is_some_and(|other| other != value) {
                return Err(LaplaceError::OverlappingSets { node });
            }
            if is_corner[node] {
                fixed[node] = Some(value);
                is_empty = false;
            }
        }
        if is_empty {
            return Err(LaplaceError::EmptySet { set });
        }
    }
    let components = mesh.components();
    let mut is_fixed = vec![false; components.count];
    for (component, (_, nodes)) in components.component_of.iter().zip(mesh.cells()) {
        is_fixed[*component as usize] |= nodes.iter().any(|node| fixed[*node as usize].is_some());
    }
    match components.component_of.iter().position(|component| !is_fixed[*component as usize]) {
        Some(cell) => Err(LaplaceError::FreeComponent { cell }),
        None => Ok(fixed),
    }
}

/// Potential at the corners of cells, and the number of iterations.
fn solve(mesh: &CellMesh, fixed: &[Option<f64>], params: &LaplaceParams) -> Result<(Vec<f64>, usize), LaplaceError> {
    let mut unknown_of = vec![u32::MAX; mesh.node_count()];
    let mut nodes_of_unknowns: Vec<u32> = Vec::new();
    for (kind, nodes) in mesh.cells() {
        for node in &nodes[..kind.corners_per_cell()] {
            if fixed[*node as usize].is_none() && unknown_of[*node as usize] == u32::MAX {
                unknown_of[*node as usize] = nodes_of_unknowns.len() as u32;
                nodes_of_unknowns.push(*node);
            }
        }
    }
    let mut triplets = Vec::new();
    let mut right = vec![0.0; nodes_of_unknowns.len()];
    for (kind, nodes) in mesh.cells() {
        let n = kind.corners_per_cell();
        let stiffness = cell_stiffness(kind, &mesh.corners(nodes));
        for a in 0..n {
            let row = unknown_of[nodes[a] as usize];
            for b in 0..n {
                match fixed[nodes[b] as usize] {
                    Some(value) if row != u32::MAX => right[row as usize] -= stiffness[a][b] * value,
                    None if row != u32::MAX && b <= a => {
                        triplets.push((row, unknown_of[nodes[b] as usize], stiffness[a][b]));
                    }
                    _ => {}
                }
            }
        }
    }
    let matrix = SymmetricMatrix::from_triplets(nodes_of_unknowns.len(), &triplets)?;
    let (values, iterations) = conjugate_gradients(&matrix, &right, params)?;
    let mut potential: Vec<f64> = fixed.iter().map(|value| value.unwrap_or(0.0)).collect();
    for (node, value) in nodes_of_unknowns.iter().zip(values) {
        potential[*node as usize] = value;
    }
    Ok((potential, iterations))
}

/// Gradients of the linear shape functions of the corners at the center of a cell \[1/m\].
fn center_gradients(kind: CellKind, corners: &[Vec3]) -> [Vec3; 8] {
    let mut gradients = [Vec3::zero(); 8];
    match kind {
        CellKind::Tet4 | CellKind::Tet10 => {
            // Rows of the inverse of the edge matrix; the gradients of all four sum to zero.
            let edges = Mat3::from_columns(corners[1] - corners[0], corners[2] - corners[0], corners[3] - corners[0]);
            let inverse = edges.inverse();
            for a in 0..3 {
                gradients[a + 1] = inverse.row(a);
                gradients[0] -= inverse.row(a);
            }
        }
        CellKind::Hex8 => gradients = hex_gradients(corners, Vec3::zero()).0,
    }
    gradients
}

/// Gradients of the trilinear shape functions at ξ \[1/m\], and the Jacobian there \[m³\].
fn hex_gradients(corners: &[Vec3], xi: Vec3) -> ([Vec3; 8], f64) {
    let [u, v, w] = hex8_map_gradient(&corners[..8], xi);
    let jacobian = Mat3::from_columns(u, v, w);
    let inverse = jacobian.inverse();
    (hex8_gradients(xi).map(|local| inverse.transpose_mul_vec(local)), jacobian.determinant())
}

/// ∫ ∇N_a · ∇N_b over a cell \[m\]; 2×2×2 Gauss points in hexahedra.
fn cell_stiffness(kind: CellKind, corners: &[Vec3]) -> [[f64; 8]; 8] {
    let mut stiffness = [[0.0; 8]; 8];
    let mut add = |gradients: &[Vec3; 8], volume: f64, n: usize| {
        for a in 0..n {
            for b in 0..n {
                stiffness[a][b] += volume * gradients[a].dot(gradients[b]);
            }
        }
    };
    match kind {
        CellKind::Tet4 | CellKind::Tet10 => {
            add(&center_gradients(kind, corners), CellKind::Tet4.volume(&corners[..4]), 4);
        }
        CellKind::Hex8 => {
            let g = 1.0 / 3_f64.sqrt();
            for s in HEX_SIGNS {
                let (gradients, jacobian) = hex_gradients(corners, Vec3::from(s) * g);
                add(&gradients, jacobian, 8);
            }
        }
    }
    stiffness
}

/// Solves A x = b with the diagonal as preconditioner \[Hestenes52\].
fn conjugate_gradients(
    matrix: &SymmetricMatrix,
    right: &[f64],
    params: &LaplaceParams,
) -> Result<(Vec<f64>, usize), LaplaceError> {
    let n = right.len();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let diagonal: Vec<f64> = (0..n).map(|row| matrix.column(row).1[0]).collect();
    let mut x = vec![0.0; n];
    let mut r = right.to_vec();
    let scale = dot(&r, &r).sqrt();
    // Nothing to solve without unknowns or with a zero right-hand side.
    if scale == 0.0 {
        return Ok((x, 0));
    }
    let mut z: Vec<f64> = r.iter().zip(&diagonal).map(|(r, d)| r / d).collect();
    let mut p = z.clone();
    let mut q = vec![0.0; n];
    let mut rz = dot(&r, &z);
    for iteration in 1..=params.max_iterations {
        matrix.multiply(&p, &mut q);
        let step = rz / dot(&p, &q);
        for i in 0..n {
            x[i] += step * p[i];
            r[i] -= step * q[i];
            z[i] = r[i] / diagonal[i];
        }
        if dot(&r, &r).sqrt() <= params.tolerance * scale {
            return Ok((x, iteration));
        }
        let next = dot(&r, &z);
        let ratio = next / rz;
        rz = next;
        for i in 0..n {
            p[i] = z[i] + ratio * p[i];
        }
    }
    Err(LaplaceError::NotConverged { residual: dot(&r, &r).sqrt() / scale, iterations: params.max_iterations })
}

#[cfg(test)]
mod tests {
    use std::f64::consts::FRAC_PI_2;

    use super::*;
    use crate::procedural::{
        MuscleCells, MuscleParams, MuscleShape, TetPattern, box_hexes, box_tets, cylinder, muscle,
    };

    fn nodes_where(mesh: &CellMesh, holds: impl Fn(Vec3) -> bool) -> Vec<u32> {
        (0..mesh.node_count() as u32).filter(|node| holds(mesh.positions()[*node as usize])).collect()
    }

    fn center(mesh: &CellMesh, cell: usize) -> Vec3 {
        let nodes = &mesh.cell_nodes(cell)[..mesh.cell_kind(cell).corners_per_cell()];
        nodes.iter().map(|node| mesh.positions()[*node as usize]).sum::<Vec3>() / nodes.len() as f64
    }

    /// Bricks of every kind, from x = 0 to 0.4.
    fn bricks() -> Vec<CellMesh> {
        let (size, cells) = (Vec3::new(0.4, 0.2, 0.1), [6, 3, 2]);
        let kuhn = box_tets(size, cells, TetPattern::Kuhn).unwrap();
        let quadratic = kuhn.to_quadratic().unwrap();
        vec![kuhn, quadratic, box_tets(size, cells, TetPattern::Bcc).unwrap(), box_hexes(size, cells).unwrap()]
    }

    fn brick_fibers(mesh: &CellMesh, pennation: Pennation) -> Result<LaplaceFibers, LaplaceError> {
        let origin = nodes_where(mesh, |x| x.x < 1e-9);
        let insertion = nodes_where(mesh, |x| x.x > 0.4 - 1e-9);
        laplace_fibers(mesh, &origin, &insertion, &LaplaceParams { pennation, ..LaplaceParams::default() })
    }

    /// φ = x / L is linear, so that every kind of cell reproduces it.
    #[test]
    fn fibers_of_a_box_are_its_axis() {
        for mesh in bricks() {
            let fibers = brick_fibers(&mesh, Pennation::None).unwrap();
            assert!(fibers.directions.iter().all(|f| (*f - Vec3::unit(0)).norm() < 1e-10));
            for (value, x) in fibers.potential.iter().zip(mesh.positions()) {
                assert!((value - x.x / 0.4).abs() < 1e-11);
            }
        }
    }

    /// A straight mesh bent around the z axis, with mean radius 1 and its ends at the angles 0 and 90°.
    fn bent(mesh: &CellMesh, length: f64) -> CellMesh {
        let bend = |x: Vec3| {
            let (sin, cos) = (FRAC_PI_2 * x.x / length).sin_cos();
            Vec3::new((1.0 + x.y) * sin, (1.0 + x.y) * cos, x.z)
        };
        mesh.mapped(bend).unwrap().0
    }

    /// Largest angle \[rad\] between fibers and the circles around the z axis, and its root mean square.
    fn error_of_bent(straight: &CellMesh, length: f64) -> (f64, f64) {
        let origin = nodes_where(straight, |x| x.x < 1e-9);
        let insertion = nodes_where(straight, |x| x.x > length - 1e-9);
        let mesh = bent(straight, length);
        let fibers = laplace_fibers(&mesh, &origin, &insertion, &LaplaceParams::default()).unwrap();
        let errors = fibers.directions.iter().enumerate().map(|(cell, fiber)| {
            let x = center(&mesh, cell);
            fiber.cross(Vec3::new(x.y, -x.x, 0.0).normalized()).norm()
        });
        let mean = (errors.clone().map(|e| e * e).sum::<f64>() / mesh.cell_count() as f64).sqrt();
        (errors.fold(0.0, f64::max), mean)
    }

    /// Between planes through an axis the potential is the angle around it, and fibers are arcs.
    #[test]
    fn fibers_of_a_wedge_are_arcs_to_first_order() {
        let tets = |n: usize| {
            let mesh = box_tets(Vec3::new(1.5, 0.4, 0.2), [8 * n, 2 * n, n], TetPattern::Kuhn).unwrap();
            error_of_bent(&mesh.mapped(|x| x - Vec3::new(0.0, 0.2, 0.1)).unwrap().0, 1.5)
        };
        let (coarse, fine) = (tets(2), tets(4));
        assert!(fine.0 < 0.06, "{fine:?}");
        assert!(fine.1 < 0.6 * coarse.1, "{fine:?} after {coarse:?}");
        let hexes = |n: usize| {
            let mesh = box_hexes(Vec3::new(1.5, 0.4, 0.2), [8 * n, 2 * n, n]).unwrap();
            error_of_bent(&mesh.mapped(|x| x - Vec3::new(0.0, 0.2, 0.1)).unwrap().0, 1.5)
        };
        // Bricks on arcs are symmetric about their centers, where the gradient is exact to rounding and the solver's
        // residual.
        assert!(hexes(2).0 < 1e-8);
    }

    #[test]
    fn fibers_follow_a_bent_tube() {
        let (worst, mean) = error_of_bent(&cylinder(0.2, 1.5, 0.06).unwrap(), 1.5);
        assert!(worst < 0.1 && mean < 0.03, "{worst}, {mean}");
    }

    /// The angle between the rotated fiber and the gradient is the pennation, in the plane of the normal, on either
    /// side.
    #[test]
    fn pennation_turns_fibers_by_the_angle() {
        for mesh in bricks() {
            for degrees in [-35.0, 0.0, 12.0, 60.0] {
                let angle = f64::to_radians(degrees);
                let (sin, cos) = angle.sin_cos();
                let normal = Vec3::new(0.7, 3.0, 0.0);
                let fibers = brick_fibers(&mesh, Pennation::Towards { normal, angle }).unwrap();
                assert!(fibers.directions.iter().all(|f| (*f - Vec3::new(cos, sin, 0.0)).norm() < 1e-9));

                let (point, normal) = (Vec3::new(0.0, 0.11, 0.0), Vec3::unit(1) * 2.0);
                let fibers = brick_fibers(&mesh, Pennation::TowardsPlane { point, normal, angle }).unwrap();
                for (cell, f) in fibers.directions.iter().enumerate() {
                    let towards = if center(&mesh, cell).y > 0.11 { -sin } else { sin };
                    assert!((*f - Vec3::new(cos, towards, 0.0)).norm() < 1e-9);
                }
            }
        }
    }

    /// The built-in fibers of a spindle nearly agree with the flow between its ends.
    #[test]
    fn flow_through_a_procedural_muscle_agrees_with_its_own_fibers() {
        for cells in [MuscleCells::Hexes, MuscleCells::Tets] {
            let typical = MuscleParams::typical(MuscleShape::Fusiform);
            let muscle = muscle(&MuscleParams { cells, ..typical }).unwrap();
            let sets = muscle.mesh.node_sets();
            let params = LaplaceParams::default();
            let fibers = laplace_fibers(&muscle.mesh, &sets["origin"], &sets["insertion"], &params).unwrap();
            let angles = fibers.directions.iter().zip(&muscle.fibers).map(|(a, b)| a.cross(*b).norm().asin());
            let mean = angles.sum::<f64>() / muscle.mesh.cell_count() as f64;
            assert!(mean.to_degrees() < 4.0, "{}°", mean.to_degrees());
        }
    }

    #[test]
    fn what_has_no_fibers_is_named() {
        let mesh = box_tets(Vec3::new(0.4, 0.2, 0.1), [4, 2, 1], TetPattern::Kuhn).unwrap();
        let params = LaplaceParams::default();
        let solve = |origin: &[u32], insertion: &[u32]| laplace_fibers(&mesh, origin, insertion, &params).unwrap_err();
        assert_eq!(solve(&[], &[1]), LaplaceError::EmptySet { set: "origin" });
        assert_eq!(solve(&[1], &[]), LaplaceError::EmptySet { set: "insertion" });
        assert_eq!(solve(&[1, 2], &[3, 2]), LaplaceError::OverlappingSets { node: 2 });
        let node_count = mesh.node_count();
        assert_eq!(solve(&[999], &[2]), LaplaceError::NodeOutOfRange { set: "origin", node: 999, node_count });

        // A second tetrahedron beside the first: first in neither set, then touching the origin only.
        let corner = [Vec3::zero(), Vec3::unit(0), Vec3::unit(1), Vec3::unit(2)];
        let positions = corner.into_iter().chain(corner.map(|x| x + Vec3::splat(3.0))).collect();
        let (two, _) = CellMesh::from_tets(positions, &[[0, 1, 2, 3], [4, 5, 6, 7]]).unwrap();
        let error = laplace_fibers(&two, &[0], &[1], &params).unwrap_err();
        assert_eq!(error, LaplaceError::FreeComponent { cell: 1 });
        let error = laplace_fibers(&two, &[0, 5], &[1], &params).unwrap_err();
        assert_eq!(error, LaplaceError::NoGradient { cell: 1 });

        let upright = Pennation::Towards { normal: Vec3::unit(1), angle: FRAC_PI_2 };
        assert!(matches!(brick_fibers(&mesh, upright), Err(LaplaceError::Pennation(PennationError::Angle { .. }))));
        let none = Pennation::Towards { normal: Vec3::zero(), angle: 0.2 };
        assert_eq!(brick_fibers(&mesh, none).unwrap_err(), LaplaceError::Pennation(PennationError::Normal));
        let along = Pennation::Towards { normal: Vec3::unit(0), angle: 0.2 };
        assert!(matches!(brick_fibers(&mesh, along), Err(LaplaceError::Pennation(PennationError::Parallel { .. }))));
        let hurried = LaplaceParams { max_iterations: 1, ..params };
        let (origin, insertion) = (nodes_where(&mesh, |x| x.x < 1e-9), nodes_where(&mesh, |x| x.x > 0.39));
        let error = laplace_fibers(&mesh, &origin, &insertion, &hurried).unwrap_err();
        assert!(matches!(error, LaplaceError::NotConverged { iterations: 1, .. }), "{error}");
    }
}
