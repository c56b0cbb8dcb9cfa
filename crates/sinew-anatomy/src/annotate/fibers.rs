//! Fibers along a potential that rises from origin to insertion, and their pennation.
//!
//! ```math
//! \nabla^2 \varphi = 0, \qquad \varphi = 0 \text{ on the origin}, \quad \varphi = 1 \text{ on the insertion}; \qquad
//! f = \nabla \varphi / |\nabla \varphi|
//! ```
//!
//! Meshes of images have corners where nothing flows: lobes between two nodes of the origin, cells with all nodes held.
//! They get the mean direction of their neighbors.

use sinew_geometry::CellMesh;
use sinew_geometry::fibers::{LaplaceParams, Pennation, laplace_potential, potential_gradients};
use sinew_math::Vec3;

use super::error::AnnotateError;
use crate::Solid;
use crate::cover::main_direction;

/// How fibers run between origin and insertion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FiberOptions {
    /// Angle of the fibers to the gradient of the potential.
    pub pennation: Pennation,
    /// Cells whose gradient is below this fraction of 1 / (size of the mesh) take the direction of their neighbors. The
    /// default of 1e-3 leaves what flows a thousandth of the mean.
    pub flat: f64,
    /// Relative residual of the linear system. The default of 1e-10 leaves directions exact to about seven digits.
    pub tolerance: f64,
    /// Largest number of iterations.
    pub max_iterations: usize,
}

impl Default for FiberOptions {
    fn default() -> Self {
        Self { pennation: Pennation::None, flat: 1e-3, tolerance: 1e-10, max_iterations: 20_000 }
    }
}

/// Fibers of a muscle.
#[derive(Clone, Debug, PartialEq)]
pub struct FiberField {
    /// Unit direction in each cell, from origin to insertion.
    pub directions: Vec<Vec3>,
    /// Potential at each node, from 0 at the origin to 1 at the insertion.
    pub potential: Vec<f64>,
    /// Cells without a gradient of their own, which took the direction of their neighbors; ascending.
    pub filled: Vec<u32>,
}

/// Fibers from the nodes of the origin to those of the insertion \[Choi13\].
pub fn fibers_between(
    mesh: &CellMesh,
    origin: &[u32],
    insertion: &[u32],
    options: &FiberOptions,
) -> Result<FiberField, AnnotateError> {
    options.pennation.check()?;
    check_connected(mesh, origin, insertion)?;
    let params = LaplaceParams {
        tolerance: options.tolerance,
        max_iterations: options.max_iterations,
        ..LaplaceParams::default()
    };
    let (potential, _) = laplace_potential(mesh, origin, insertion, &params)?;
    let size = mesh.bounds().diagonal();
    let gradients = potential_gradients(mesh, &potential);
    let flow = |(gradient, _): &(Vec3, Vec3)| (gradient.norm() * size > options.flat).then(|| gradient.normalized());
    let mut directions: Vec<Option<Vec3>> = gradients.iter().map(flow).collect();
    let filled = fill(mesh, &mut directions);
    let rotated = directions.into_iter().zip(&gradients).enumerate().map(|(cell, (direction, (_, center)))| {
        options.pennation.rotated(cell, direction.unwrap_or_else(|| Vec3::unit(0)), *center)
    });
    Ok(FiberField { directions: rotated.collect::<Result<_, _>>()?, potential, filled })
}

/// Every part of the mesh must reach from origin to insertion.
fn check_connected(mesh: &CellMesh, origin: &[u32], insertion: &[u32]) -> Result<(), AnnotateError> {
    let mut touched = vec![0_u8; mesh.node_count()];
    for (set, nodes, bit) in [("origin", origin, 1), ("insertion", insertion, 2)] {
        if nodes.is_empty() {
            return Err(AnnotateError::EmptySet { set });
        }
        for node in nodes {
            // Nodes that do not exist are reported with the potential.
            if let Some(touched) = touched.get_mut(*node as usize) {
                *touched |= bit;
            }
        }
    }
    let components = mesh.components();
    let mut bits = vec![0_u8; components.count];
    for ((_, nodes), component) in mesh.cells().zip(&components.component_of) {
        bits[*component as usize] |= nodes.iter().fold(0, |bits, node| bits | touched[*node as usize]);
    }
    let Some(part) = bits.iter().position(|bits| *bits != 3) else { return Ok(()) };
    let mut cells = (0..mesh.cell_count()).filter(|cell| components.component_of[*cell] as usize == part);
    let cell = cells.next().unwrap_or(0);
    let touches = ["neither origin nor insertion", "only the origin", "only the insertion"][usize::from(bits[part])];
    Err(AnnotateError::Disconnected { cell, cells: 1 + cells.count(), touches })
}

/// Gives cells without a direction the main one of their neighbors across nodes, ring by ring, and returns them.
fn fill(mesh: &CellMesh, directions: &mut [Option<Vec3>]) -> Vec<u32> {
    let filled: Vec<u32> = (0..directions.len() as u32).filter(|cell| directions[*cell as usize].is_none()).collect();
    if filled.is_empty() {
        return filled;
    }
    let node_cells = mesh.node_cells();
    let mut open = filled.clone();
    while !open.is_empty() {
        let around = |cell: &u32| {
            let mut cells: Vec<u32> =
                mesh.cell_nodes(*cell as usize).iter().flat_map(|n| node_cells.cells(*n as usize)).copied().collect();
            cells.sort_unstable();
            cells.dedup();
            let known = cells.into_iter().filter_map(|other| directions[other as usize]);
            let mean = main_direction(known.map(|f| (f, 1.0)));
            (mean.norm_squared() > 0.0).then_some(mean)
        };
        let found: Vec<Option<Vec3>> = open.iter().map(around).collect();
        if found.iter().all(Option::is_none) {
            break;
        }
        for (cell, direction) in open.iter().zip(&found) {
            directions[*cell as usize] = *direction;
        }
        open.retain(|cell| directions[*cell as usize].is_none());
    }
    filled
}

/// Fibers rotated by an angle \[rad\] toward an aponeurosis: f cos α + n⊥ sin α, with n⊥ the part across f of the
/// direction −∇φ to the nearest point of the aponeurosis. Fibers that run straight at it stay as they are.
///
/// `step` \[m\] is that of the differences of the distance; about a cell.
pub fn lean_toward(
    mesh: &CellMesh,
    fibers: &[Vec3],
    aponeurosis: &dyn Solid,
    angle: f64,
    step: f64,
) -> Result<Vec<Vec3>, AnnotateError> {
    if fibers.len() != mesh.cell_count() {
        let (what, expected, found) = ("fibers of cells", mesh.cell_count(), fibers.len());
        return Err(AnnotateError::WrongCount { what, expected, found });
    }
    // The plane of the fiber and the normal is checked in each cell; the angle here.
    Pennation::Towards { normal: Vec3::unit(0), angle }.check()?;
    if !(step > 0.0 && step.is_finite()) {
        return Err(AnnotateError::Parameter { what: "the step of the distance", value: step });
    }
    let (sin, cos) = angle.sin_cos();
    let lean = |(fiber, center): (&Vec3, Vec3)| {
        let toward = -aponeurosis.gradient(center, step);
        let across = toward - *fiber * fiber.dot(toward);
        // Less than half a degree from parallel there is no plane to rotate in.
        if across.norm() > 0.01 * toward.norm() {
            (*fiber * cos + across.normalized() * sin).normalized()
        } else {
            *fiber
        }
    };
    Ok(fibers.iter().zip(super::select::centers(mesh)).map(lean).collect())
}

#[cfg(test)]
mod tests {
    use std::f64::consts::FRAC_PI_2;

    use sinew_geometry::Aabb;
    use sinew_geometry::procedural::{TetPattern, box_tets, cylinder};
    use sinew_geometry::shape::Plane;

    use super::*;
    use crate::solid::Bounded;

    fn nodes_where(mesh: &CellMesh, holds: impl Fn(Vec3) -> bool) -> Vec<u32> {
        (0..mesh.node_count() as u32).filter(|node| holds(mesh.positions()[*node as usize])).collect()
    }

    fn between_ends(mesh: &CellMesh, length: f64) -> Result<FiberField, AnnotateError> {
        let origin = nodes_where(mesh, |x| x.x < 1e-9);
        let insertion = nodes_where(mesh, |x| x.x > length - 1e-9);
        fibers_between(mesh, &origin, &insertion, &FiberOptions::default())
    }

    /// φ = x / L is linear and in the space of the elements.
    #[test]
    fn fibers_of_a_cylinder_are_its_axis() {
        let mesh = cylinder(0.02, 0.1, 0.008).unwrap();
        let field = between_ends(&mesh, 0.1).unwrap();
        assert!(field.filled.is_empty());
        // The residual of the linear system.
        assert!(field.directions.iter().all(|f| f.distance(Vec3::unit(0)) < 1e-7));
    }

    /// A quarter of a ring of radius 1 and thickness 0.4: fibers are its tangents, to the size of the cells.
    #[test]
    fn fibers_of_a_bent_tube_are_its_tangents() {
        let straight = cylinder(0.2, 1.5, 0.06).unwrap();
        let (origin, insertion) =
            (nodes_where(&straight, |x| x.x < 1e-9), nodes_where(&straight, |x| x.x > 1.5 - 1e-9));
        let bend = |x: Vec3| {
            let (sin, cos) = (FRAC_PI_2 * x.x / 1.5).sin_cos();
            Vec3::new((1.0 + x.y) * sin, (1.0 + x.y) * cos, x.z)
        };
        let mesh = straight.mapped(bend).unwrap().0;
        let field = fibers_between(&mesh, &origin, &insertion, &FiberOptions::default()).unwrap();
        let angle = |(f, x): (&Vec3, Vec3)| f.cross(Vec3::new(x.y, -x.x, 0.0).normalized()).norm().asin().to_degrees();
        let angles: Vec<f64> = field.directions.iter().zip(super::super::select::centers(&mesh)).map(angle).collect();
        let mean = angles.iter().sum::<f64>() / angles.len() as f64;
        let worst = angles.iter().copied().fold(0.0, f64::max);
        // Cells span 3.4° of the bend.
        assert!(mean < 1.5 && worst < 6.0, "{mean}° {worst}°");
    }

    /// Cells with all nodes in the origin have no gradient; they go on in the direction of the belly.
    #[test]
    fn cells_inside_of_an_attachment_take_the_direction_of_their_neighbors() {
        let mesh = box_tets(Vec3::new(0.4, 0.1, 0.1), [16, 4, 4], TetPattern::Kuhn).unwrap();
        let origin = nodes_where(&mesh, |x| x.x < 0.1 + 1e-9);
        let insertion = nodes_where(&mesh, |x| x.x > 0.4 - 1e-9);
        let field = fibers_between(&mesh, &origin, &insertion, &FiberOptions::default()).unwrap();
        assert_eq!(field.filled.len(), 4 * 4 * 4 * 6);
        // Beyond the origin the potential is linear, exact up to the residual.
        assert!(field.directions.iter().all(|f| f.distance(Vec3::unit(0)) < 1e-6));
    }

    #[test]
    fn a_part_that_does_not_reach_both_ends_is_told() {
        let corner = [Vec3::zero(), Vec3::unit(0), Vec3::unit(1), Vec3::unit(2)];
        let positions = corner.into_iter().chain(corner.map(|x| x + Vec3::splat(3.0))).collect();
        let (two, _) = CellMesh::from_tets(positions, &[[0, 1, 2, 3], [4, 5, 6, 7]]).unwrap();
        let solve = |origin: &[u32], insertion: &[u32]| {
            fibers_between(&two, origin, insertion, &FiberOptions::default()).unwrap_err()
        };
        assert_eq!(solve(&[], &[1]), AnnotateError::EmptySet { set: "origin" });
        let touches = "only the insertion";
        assert_eq!(solve(&[0], &[1, 5]), AnnotateError::Disconnected { cell: 1, cells: 1, touches });
        let touches = "only the origin";
        assert_eq!(solve(&[0], &[5]), AnnotateError::Disconnected { cell: 0, cells: 1, touches });
        assert!(matches!(solve(&[0, 9], &[1, 5]), AnnotateError::Disconnected { .. }));
        assert!(matches!(solve(&[0, 4, 9], &[1, 5]), AnnotateError::Laplace(_)));
    }

    /// The angle between fiber and axis is that of the pennation, toward the plane of the aponeurosis.
    #[test]
    fn fibers_lean_toward_an_aponeurosis() {
        let mesh = box_tets(Vec3::new(0.4, 0.1, 0.1), [8, 2, 2], TetPattern::Kuhn).unwrap();
        let along = vec![Vec3::unit(0); mesh.cell_count()];
        let bounds = Aabb { min: Vec3::splat(-1.0), max: Vec3::splat(1.0) };
        // A half space below the muscle.
        let sheet = Bounded { shape: Plane::new(Vec3::zero(), Vec3::new(0.3, 0.0, 1.0)).unwrap(), bounds };
        let leaning = lean_toward(&mesh, &along, &sheet, 0.4, 0.01).unwrap();
        let expected = Vec3::new(0.4_f64.cos(), 0.0, -0.4_f64.sin());
        assert!(leaning.iter().all(|f| f.distance(expected) < 1e-9));
        let down = vec![-Vec3::new(0.3, 0.0, 1.0).normalized(); mesh.cell_count()];
        assert_eq!(lean_toward(&mesh, &down, &sheet, 0.4, 0.01).unwrap(), down);
        assert!(lean_toward(&mesh, &along, &sheet, 1.6, 0.01).is_err());
        assert!(lean_toward(&mesh, &along[1..], &sheet, 0.4, 0.01).is_err());
    }
}
