//! Bound points keep their place, and carry forces back without loss.

use super::*;
use crate::procedural::{
    MuscleCells, MuscleParams, MuscleShape, TetPattern, box_hexes, box_tets, muscle, sphere, sphere_surface,
};

fn scattered(n: usize, size: f64) -> Vec<Vec3> {
    (0..n)
        .map(|i| {
            let t = i as f64 + 0.5;
            Vec3::new((t * 0.618_034).fract(), (t * 0.754_877).fract(), (t * 0.569_840).fract()) * size
        })
        .collect()
}

/// A brick of hexahedra with every node moved by a smooth map: no face is flat.
fn warped_hexes() -> CellMesh {
    let brick = box_hexes(Vec3::splat(1.0), [3, 3, 3]).unwrap();
    brick.mapped(|x| x + Vec3::new((2.0 * x.y * x.z).sin(), (1.5 * x.z).cos() * x.x, x.x * x.y) * 0.15).unwrap().0
}

/// Quadratic tetrahedra with every node moved by a smooth map: no edge is straight.
fn warped_quadratic_tets() -> CellMesh {
    let brick = box_tets(Vec3::splat(1.0), [3, 3, 3], TetPattern::Kuhn).unwrap().to_quadratic().unwrap();
    brick.mapped(|x| x + Vec3::new((2.0 * x.y * x.z).sin(), (1.5 * x.z).cos() * x.x, x.x * x.y) * 0.1).unwrap().0
}

/// Straight quadratic cells reproduce quadratic functions: Σ w_i g(x_i) = g(p) for g of degree two.
#[test]
fn weights_of_quadratic_cells_reproduce_quadratic_functions() {
    let mesh = box_tets(Vec3::splat(1.0), [3, 2, 4], TetPattern::Bcc).unwrap().to_quadratic().unwrap();
    let g = |x: Vec3| 0.3 + 2.0 * x.x - 1.7 * x.y * x.z + 0.9 * x.z * x.z + x.x * x.y;
    let points = scattered(300, 1.0);
    let embedding = Embedding::bind_with(&mesh, &points, Outside::Reject).unwrap();
    for (i, p) in points.iter().enumerate() {
        let (nodes, weights) = embedding.entries(i);
        let sum: f64 = nodes.iter().zip(weights).map(|(n, w)| g(mesh.positions()[*n as usize]) * w).sum();
        assert!((sum - g(*p)).abs() < 1e-12);
    }
}

/// Linear functions are reproduced exactly: Σ w_i g(x_i) = g(p).
#[test]
fn weights_reproduce_linear_functions() {
    let meshes = [
        box_tets(Vec3::splat(1.0), [3, 4, 2], TetPattern::Kuhn).unwrap(),
        box_tets(Vec3::splat(1.0), [3, 3, 3], TetPattern::Bcc).unwrap(),
        box_hexes(Vec3::splat(1.0), [3, 2, 4]).unwrap(),
        warped_hexes(),
        box_tets(Vec3::splat(1.0), [3, 4, 2], TetPattern::Kuhn).unwrap().to_quadratic().unwrap(),
        warped_quadratic_tets(),
    ];
    let g = |x: Vec3| 0.3 + 2.0 * x.x - 1.7 * x.y + 0.9 * x.z;
    for mesh in meshes {
        // Some of the points are slightly outside the warped brick: extrapolation is linear too.
        let points = scattered(500, 1.0);
        let embedding = Embedding::bind(&mesh, &points).unwrap();
        assert_eq!(embedding.report().clamped, 0);
        for (i, p) in points.iter().enumerate() {
            let (nodes, weights) = embedding.entries(i);
            let sum: f64 = nodes.iter().zip(weights).map(|(n, w)| g(mesh.positions()[*n as usize]) * w).sum();
            assert!((sum - g(*p)).abs() < 1e-12);
            assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-13);
        }
    }
}

/// Power is conserved, f_p · v_p = f_i · v_i, and so are total force and torque.
#[test]
fn force_transfer_is_the_transpose_of_position_transfer() {
    let mesh = warped_hexes();
    let points = scattered(100, 0.9);
    let embedding = Embedding::bind(&mesh, &points).unwrap();
    let forces: Vec<Vec3> = scattered(100, 7.0).iter().map(|f| *f - Vec3::splat(3.0)).collect();
    let velocities: Vec<Vec3> = scattered(mesh.node_count(), 2.0);
    let mut point_velocities = vec![Vec3::zero(); 100];
    embedding.positions(&velocities, &mut point_velocities);
    let mut node_forces = vec![Vec3::zero(); mesh.node_count()];
    embedding.add_forces_back(&forces, &mut node_forces);

    let power = |f: &[Vec3], v: &[Vec3]| f.iter().zip(v).map(|(f, v)| f.dot(*v)).sum::<f64>();
    assert!((power(&forces, &point_velocities) - power(&node_forces, &velocities)).abs() < 1e-11);
    assert!((forces.iter().sum::<Vec3>() - node_forces.iter().sum::<Vec3>()).norm() < 1e-11);
    let torque = |f: &[Vec3], x: &[Vec3]| f.iter().zip(x).map(|(f, x)| x.cross(*f)).sum::<Vec3>();
    assert!((torque(&forces, &points) - torque(&node_forces, mesh.positions())).norm() < 1e-11);
}

#[test]
fn points_inside_get_weights_between_zero_and_one() {
    let mesh = sphere(1.0, 0.3).unwrap();
    let points: Vec<Vec3> = scattered(300, 1.0).iter().map(|p| *p - Vec3::splat(0.5)).collect();
    let embedding = Embedding::bind_with(&mesh, &points, Outside::Reject).unwrap();
    assert_eq!(*embedding.report(), EmbeddingReport::default());
    assert!((0..300).all(|i| embedding.entries(i).1.iter().all(|w| (-1e-10..=1.0 + 1e-10).contains(w))));
}

#[test]
fn points_just_outside_keep_their_place_and_far_points_are_clamped() {
    let ball = sphere(1.0, 0.25).unwrap();
    let skin = sphere_surface(1.02, 0.1).unwrap();
    let embedding = Embedding::bind(&ball, skin.positions()).unwrap();
    assert_eq!(embedding.report().outside, skin.vertex_count());
    assert_eq!(embedding.report().clamped, 0);
    let mut placed = vec![Vec3::zero(); skin.vertex_count()];
    embedding.positions(ball.positions(), &mut placed);
    assert!(placed.iter().zip(skin.positions()).all(|(a, b)| a.distance(*b) < 1e-12));

    let far = Embedding::bind(&ball, &[Vec3::new(50.0, 0.0, 0.0)]).unwrap();
    assert_eq!(far.report().clamped, 1);
    assert!((far.report().max_distance - 49.0).abs() < 0.05);
    assert!(far.entries(0).1.iter().all(|w| (0.0..=1.0).contains(w)));
    let error = Embedding::bind_with(&ball, &[Vec3::splat(3.0)], Outside::Reject).unwrap_err();
    assert!(matches!(error, EmbeddingError::Outside { point: 0, .. }));
}

/// Points off each boundary triangle along its normal, by fractions of the longest edge of its cell.
fn points_off_the_boundary(mesh: &CellMesh, fractions: &[f64]) -> Vec<Vec3> {
    let locator = Locator::new(mesh);
    let mut points = Vec::new();
    for (triangle, cell) in locator.boundary.iter().zip(&locator.boundary_cells) {
        let [a, b, c] = triangle.map(|node| mesh.positions()[node as usize]);
        let normal = (b - a).cross(c - a).normalized();
        let length = locator.longest_edge(*cell);
        points.extend(fractions.iter().map(|fraction| (a + b + c) / 3.0 + normal * (fraction * length)));
    }
    points
}

/// The corner cells of rounded sections and curved cells have no local coordinates for some points beside them.
/// There the linearized map takes over: Σ w = 1, Σ w x = p, and Σ w A(x) = A(p) for affine A.
#[test]
fn points_beside_distorted_cells_keep_their_place() {
    let typical = |shape| MuscleParams { cells: MuscleCells::Hexes, ..MuscleParams::typical(shape) };
    let meshes = [
        muscle(&typical(MuscleShape::Fusiform)).unwrap().mesh,
        muscle(&typical(MuscleShape::Unipennate)).unwrap().mesh,
        muscle(&typical(MuscleShape::Bipennate)).unwrap().mesh,
        warped_hexes(),
        warped_quadratic_tets(),
    ];
    let affine = |x: Vec3| Vec3::new(0.3 + 1.2 * x.x - 0.4 * x.y, 0.9 * x.y + 0.5 * x.z, 0.7 * x.z - 0.2 * x.x - 1.0);
    let mut by_tangent = 0;
    for mesh in &meshes {
        let points = points_off_the_boundary(mesh, &[0.1, 0.5, 0.9]);
        let embedding = Embedding::bind(mesh, &points).unwrap();
        let locator = Locator::new(mesh);
        let mapped: Vec<Vec3> = mesh.positions().iter().map(|x| affine(*x)).collect();
        let (mut placed, mut moved) = (points.clone(), points.clone());
        embedding.positions(mesh.positions(), &mut placed);
        embedding.positions(&mapped, &mut moved);
        assert_eq!(embedding.report().clamped, 0);
        for (i, p) in points.iter().enumerate() {
            let weights = embedding.entries(i).1;
            // Rounding grows with the weights.
            assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-11);
            assert!(placed[i].distance(*p) < 1e-10, "{p:?} is placed at {:?}", placed[i]);
            assert!(moved[i].distance(affine(*p)) < 1e-10);
            by_tangent += usize::from(locator.weights(embedding.cells()[i], *p).is_none());
        }
    }
    assert!(by_tangent > 100, "{by_tangent}");
}

#[test]
fn far_points_near_warped_hexes_are_bound_too() {
    let mesh = warped_hexes();
    let points: Vec<Vec3> = scattered(200, 20.0).iter().map(|p| *p - Vec3::splat(10.0)).collect();
    let embedding = Embedding::bind(&mesh, &points).unwrap();
    assert!(embedding.report().clamped > 100);
    assert!((0..200).all(|i| embedding.entries(i).1.iter().all(|w| w.is_finite() && w.abs() < 100.0)));
}

#[test]
fn every_node_is_bound_to_itself() {
    let mesh = box_tets(Vec3::splat(1.0), [2, 2, 2], TetPattern::Bcc).unwrap();
    let embedding = Embedding::bind_with(&mesh, mesh.positions(), Outside::Reject).unwrap();
    let mut out = vec![Vec3::zero(); mesh.node_count()];
    embedding.positions(mesh.positions(), &mut out);
    assert!(out.iter().zip(mesh.positions()).all(|(a, b)| a.distance(*b) < 1e-15));
    let nodes = [3, 1];
    let direct = Embedding::from_nodes(&nodes, &mesh);
    assert_eq!(direct.entries(1), ([1].as_slice(), [1.0].as_slice()));
}

#[test]
fn nan_points_are_rejected() {
    let mesh = box_hexes(Vec3::splat(1.0), [1, 1, 1]).unwrap();
    let error = Embedding::bind(&mesh, &[Vec3::zero(), Vec3::new(0.0, f64::NAN, 0.0)]).unwrap_err();
    assert_eq!(error, EmbeddingError::NonFinitePoint { point: 1 });
    assert!(Embedding::bind(&mesh, &[]).unwrap().is_empty());
}
