//! For any input arrays and numbers, the result is a value or an error, never a panic and never an endless allocation.

use proptest::collection::vec;
use proptest::prelude::*;
use sinew_geometry::embedding::{Embedding, Outside};
use sinew_geometry::fill::{FillOptions, Repair, fill_surface};
use sinew_geometry::procedural::{
    TetPattern, box_hexes, box_surface, box_tets, cylinder, fusiform, icosphere, sphere, torus, torus_surface,
};
use sinew_geometry::region::{BoxSide, Target};
use sinew_geometry::shape::{Capsule, Cuboid, Plane, Pose, Sphere};
use sinew_geometry::{CellBlock, CellKind, CellMesh, Region, TriMesh};
use sinew_math::Vec3;

/// Mostly ordinary numbers on a coarse grid, so that coincidences and degenerate cells are common; sometimes extreme
/// values.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        12 => (-3_i32..=3).prop_map(f64::from),
        6 => -2.0..2.0_f64,
        1 => Just(f64::NAN),
        1 => Just(f64::INFINITY),
        1 => Just(-1e300),
        1 => Just(1e-300),
        1 => Just(-0.0),
    ]
}

/// Ordinary numbers only: finite, but full of coincidences.
fn tame_number() -> impl Strategy<Value = f64> {
    prop_oneof![3 => (-3_i32..=3).prop_map(f64::from), 2 => -2.0..2.0_f64]
}

fn points(number: impl Strategy<Value = f64>, n: usize) -> impl Strategy<Value = Vec<Vec3>> {
    vec(number, 3 * n).prop_map(|x| x.chunks(3).map(|c| Vec3::new(c[0], c[1], c[2])).collect())
}

/// Every query of a valid mesh.
fn use_mesh(mesh: &CellMesh) {
    assert!(mesh.cell_volumes().iter().all(|volume| *volume > 0.0));
    assert!(mesh.volume().is_finite());
    let quality = mesh.quality();
    assert!(quality.min_dihedral >= 0.0 && quality.max_aspect.is_finite());
    let (surface, _) = mesh.boundary_surface().unwrap();
    // Outward triangles of cells that do not share faces: every edge is used equally often in both directions.
    assert!(surface.boundary_edges().is_empty());
    let _ = (mesh.face_adjacency(), mesh.node_cells(), mesh.components());
    let centers: Vec<Vec3> = mesh.boundary_nodes().iter().map(|node| mesh.positions()[*node as usize]).collect();
    let embedding = Embedding::bind(mesh, &centers).unwrap();
    assert_eq!(embedding.len(), centers.len());
    assert!(Region::Side(BoxSide::YMax).count(mesh).unwrap() > 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_cells_make_a_mesh_or_an_error(
        positions in points(number(), 9),
        tets in vec(0_u32..10, 0..16),
        hexes in vec(0_u32..9, 0..9),
    ) {
        let blocks = vec![
            CellBlock { kind: CellKind::Tet4, nodes: tets },
            CellBlock { kind: CellKind::Hex8, nodes: hexes },
        ];
        if let Ok((mesh, report)) = CellMesh::new(positions, blocks) {
            use_mesh(&mesh);
            prop_assert!(!report.to_string().is_empty());
        }
    }

    #[test]
    fn any_single_tet_makes_a_mesh_or_an_error(positions in points(tame_number(), 4)) {
        if let Ok((mesh, _)) = CellMesh::from_tets(positions, &[[0, 1, 2, 3]]) {
            use_mesh(&mesh);
        }
    }

    #[test]
    fn any_perturbed_brick_makes_a_mesh_or_an_error(offsets in points(-0.6..0.6_f64, 27)) {
        let brick = box_hexes(Vec3::splat(2.0), [2, 2, 2]).unwrap();
        let positions = brick.positions().iter().zip(offsets).map(|(x, d)| *x + d).collect();
        if let Ok((mesh, _)) = CellMesh::new(positions, brick.blocks().to_vec()) {
            use_mesh(&mesh);
        }
    }

    #[test]
    fn any_triangles_make_a_surface_or_an_error(
        positions in points(tame_number(), 8),
        triangles in vec([0_u32..8, 0_u32..8, 0_u32..8], 1..24),
        cell in prop_oneof![number(), 0.2..2.0_f64],
    ) {
        let Ok(surface) = TriMesh::new(positions, triangles) else { return Ok(()) };
        let _ = (surface.topology(), surface.area(), surface.volume(), surface.components());
        let _ = surface.self_intersections(5);
        prop_assert!(surface.normals(surface.positions()).iter().all(|n| n.is_finite()));
        prop_assert!(surface.winding_number(Vec3::new(0.1, 0.2, 0.3)).is_finite());
        for pattern in [TetPattern::Kuhn, TetPattern::Bcc] {
            for repair in [Repair::Reject, Repair::Winding] {
                let options = FillOptions { pattern, repair, max_cells: 20_000, ..FillOptions::default() };
                match fill_surface(&surface, cell, &options) {
                    Ok(filled) => {
                        prop_assert_eq!(filled.embedding.len(), surface.vertex_count());
                        prop_assert!(!filled.report.to_string().is_empty());
                    }
                    Err(error) => prop_assert!(!error.to_string().is_empty()),
                }
            }
        }
    }

    #[test]
    fn any_points_are_bound_or_refused(points in points(number(), 6)) {
        for mesh in [
            box_tets(Vec3::splat(1.0), [2, 1, 1], TetPattern::Bcc).unwrap(),
            box_hexes(Vec3::splat(1.0), [2, 1, 1]).unwrap(),
        ] {
            for outside in [Outside::Extrapolate, Outside::Clamp, Outside::Reject] {
                if let Ok(embedding) = Embedding::bind_with(&mesh, &points, outside) {
                    for point in 0..embedding.len() {
                        let (_, weights) = embedding.entries(point);
                        prop_assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-9);
                    }
                }
            }
        }
    }

    #[test]
    fn any_parameters_make_a_body_or_an_error(a in number(), b in number(), c in number(), d in number()) {
        // Sizes from the grid of numbers, cells no smaller than a tenth: absurd ones are rejected, the rest are small.
        let cell = if d.abs() < 0.1 && d != 1e-300 { 0.3 } else { d };
        let _ = sphere(a, cell);
        let _ = cylinder(a, b, cell);
        let _ = torus(a, b, cell);
        let _ = torus_surface(a, b, cell);
        let _ = fusiform(a, b, c, cell);
        let cells = [a as usize % 5, b as usize, c as usize % 7];
        let _ = box_tets(Vec3::new(b, c, d), cells, TetPattern::Bcc);
        let _ = box_tets(Vec3::new(b, c, d), cells, TetPattern::Kuhn);
        let _ = box_hexes(Vec3::new(b, c, d), cells);
        let _ = box_surface(Vec3::new(b, c, d), cells);
        if a < 50.0 || a.is_infinite() {
            let _ = icosphere(b, a as usize);
        }
    }

    #[test]
    fn any_region_selects_or_is_refused(x in points(number(), 3), r in number()) {
        let mesh = box_hexes(Vec3::splat(1.0), [2, 2, 2]).unwrap();
        let regions = [
            Region::Box { min: x[0], max: x[1] },
            Region::Sphere { center: x[0], radius: r },
            Region::Distance { to: Target::Point(x[0]), within: r },
            Region::Distance { to: Target::Segment(x[0], x[1]), within: r },
            Region::Distance { to: Target::Plane { point: x[0], normal: x[1] }, within: r },
        ];
        for region in regions {
            let _ = (region.nodes(&mesh), region.cells(&mesh), region.boundary_triangles(&mesh));
        }
        let _ = (Plane::new(x[0], x[1]), Sphere::new(r), Cuboid::new(x[0]), Capsule::between(x[0], x[1], r));
        let _ = Pose::along(x[0], x[1]);
    }
}
