//! Fillings of surfaces with known volume, topology and defects.

use std::f64::consts::PI;

use super::*;
use crate::procedural::{box_surface, fusiform_surface, icosphere, torus_surface};

fn kuhn() -> FillOptions {
    FillOptions { pattern: TetPattern::Kuhn, ..FillOptions::default() }
}

fn winding() -> FillOptions {
    FillOptions { repair: Repair::Winding, ..FillOptions::default() }
}

/// Two surfaces as one.
fn joined(a: &TriMesh, b: &TriMesh) -> TriMesh {
    let offset = a.vertex_count() as u32;
    let positions = a.positions().iter().chain(b.positions()).copied().collect();
    let triangles = a.triangles().iter().copied().chain(b.triangles().iter().map(|t| t.map(|v| v + offset))).collect();
    TriMesh::new(positions, triangles).unwrap()
}

/// Cells at the surface extend beyond it by a part of their size, so the excess volume is about area × cell.
fn check_covers(surface: &TriMesh, filled: &Filled, cell: f64) {
    let excess = filled.report.lattice_volume - filled.report.surface_volume;
    assert!(excess > 0.0);
    assert!(excess < surface.area() * cell, "{}", filled.report);
    assert_eq!(filled.embedding.len(), surface.vertex_count());
    // Every vertex is inside, up to the rounding tolerance of the cell selection.
    assert!(filled.embedding.report().max_distance < 1e-8 * cell);
    let mut placed = vec![Vec3::zero(); surface.vertex_count()];
    filled.embedding.positions(filled.mesh.positions(), &mut placed);
    assert!(placed.iter().zip(surface.positions()).all(|(a, b)| a.distance(*b) < 1e-12));
    assert!(filled.mesh.quality().min_dihedral.to_degrees() > 44.9);
}

#[test]
fn filled_torus_covers_the_tube_and_leaves_the_hole_open() {
    let surface = torus_surface(0.3, 0.1, 0.03).unwrap();
    for options in [FillOptions::default(), kuhn(), winding()] {
        let cell = 0.025;
        let filled = fill_surface(&surface, cell, &options).unwrap();
        check_covers(&surface, &filled, cell);
        assert!(filled.report.is_clean());
        assert_eq!(filled.report.component_count, 1);
        // The hole has radius 0.2; nothing reaches to the axis.
        assert!(filled.mesh.positions().iter().all(|x| x.x.hypot(x.y) > 0.2 - 2.0 * cell));
        let (boundary, _) = filled.mesh.boundary_surface().unwrap();
        assert_eq!(boundary.topology().euler_characteristic, 0);
    }
}

/// TER-08: every tetrahedron of the body-centered lattice of cubes of edge a has two opposite edges of length a with
/// faces at right angles, and four of length √3/2 a with faces at 60 degrees; 24 of them meet in every inner vertex.
#[test]
fn body_centered_cells_are_all_alike() {
    let cell = 0.1;
    let filled =
        fill_surface(&box_surface(Vec3::splat(0.6), [1, 1, 1]).unwrap(), cell, &FillOptions::default()).unwrap();
    let mesh = &filled.mesh;
    let a = (12.0 * mesh.cell_volumes()[0]).cbrt();
    let mut neighbors = vec![0; mesh.node_count()];
    for (_, nodes) in mesh.cells() {
        let x: Vec<Vec3> = nodes.iter().map(|node| mesh.positions()[*node as usize]).collect();
        nodes.iter().for_each(|node| neighbors[*node as usize] += 1);
        for (edge, rest) in
            [([0, 1], [2, 3]), ([0, 2], [1, 3]), ([0, 3], [1, 2]), ([1, 2], [0, 3]), ([1, 3], [0, 2]), ([2, 3], [0, 1])]
        {
            let along = x[edge[1]] - x[edge[0]];
            // Normals to the edge within both faces.
            let [p, q] = rest.map(|corner| {
                let side = x[corner] - x[edge[0]];
                (side - along * (side.dot(along) / along.norm_squared())).normalized()
            });
            let angle = p.dot(q).acos().to_degrees();
            let is_long = (along.norm() - a).abs() < 1e-12;
            assert!(is_long || (along.norm() - 0.75_f64.sqrt() * a).abs() < 1e-12, "{} of {a}", along.norm());
            assert!((angle - if is_long { 90.0 } else { 60.0 }).abs() < 1e-9, "{angle} at {}", along.norm());
        }
    }
    let bounds = mesh.bounds();
    let is_inner =
        |x: Vec3| (0..3).all(|axis| x[axis] > bounds.min[axis] + 1.01 * a && x[axis] < bounds.max[axis] - 1.01 * a);
    let inner: Vec<usize> = (0..mesh.node_count()).filter(|&node| is_inner(mesh.positions()[node])).collect();
    assert!(inner.len() > 50 && inner.iter().all(|&node| neighbors[node] == 24), "{} inner vertices", inner.len());
}

/// V → 2 π² R r² with first order.
#[test]
fn volume_of_a_filled_torus_converges_to_the_exact_volume() {
    let surface = torus_surface(0.3, 0.1, 0.02).unwrap();
    let exact = 2.0 * PI * PI * 0.3 * 0.01;
    let excess = |cell: f64| fill_surface(&surface, cell, &kuhn()).unwrap().report.lattice_volume / exact - 1.0;
    let (coarse, fine) = (excess(0.04), excess(0.02));
    assert!(fine > 0.0 && fine < 0.4, "{fine}");
    let order = (coarse / fine).log2();
    assert!((0.8..1.3).contains(&order), "order {order}");
}

/// Cells weighted by their inside fractions add up to the body; sampling errors of thousands of cut cells average out.
#[test]
fn inside_fractions_give_the_volume_of_the_body() {
    let surface = icosphere(1.0, 6).unwrap();
    let filled = fill_surface(&surface, 0.25, &FillOptions::default()).unwrap();
    let fractions = filled.inside_fractions(&surface);
    let inside: f64 = filled.mesh.cell_volumes().iter().zip(&fractions).map(|(v, f)| v * f).sum();
    assert!(filled.report.lattice_volume / filled.report.surface_volume > 1.2);
    assert!((inside / filled.report.surface_volume - 1.0).abs() < 0.02, "{inside} in {}", filled.report);
    assert!(fractions.iter().all(|f| (0.05..=1.0).contains(f)));
}

#[test]
fn box_along_lattice_planes_is_filled_exactly() {
    let surface = box_surface(Vec3::new(0.4, 0.2, 0.3), [1, 1, 1]).unwrap();
    let filled = fill_surface(&surface, 0.1, &kuhn()).unwrap();
    assert_eq!(filled.mesh.cell_count(), 6 * 24);
    assert!((filled.report.lattice_volume - 0.024).abs() < 1e-15);
    check_like_a_box(&fill_surface(&surface, 0.1, &FillOptions::default()).unwrap());
}

/// The body-centered lattice cannot end in a plane, so it extends beyond the box by at most half a cell.
fn check_like_a_box(filled: &Filled) {
    let bounds = filled.mesh.bounds();
    assert!(bounds.min.min_component() > -0.0501 && bounds.max.x < 0.4501);
}

#[test]
fn cavity_stays_empty_and_parts_are_labeled() {
    let shell = joined(&icosphere(1.0, 8).unwrap(), &icosphere(0.6, 6).unwrap().flipped());
    let filled = fill_surface(&shell, 0.1, &FillOptions::default()).unwrap();
    check_covers(&shell, &filled, 0.1);
    assert!(filled.mesh.positions().iter().all(|x| x.norm() > 0.4));

    let apart = icosphere(0.5, 4).unwrap().mapped(|x| x + Vec3::new(3.0, 0.0, 0.0)).unwrap();
    let options = FillOptions { labels: CellLabels::Component, ..FillOptions::default() };
    let filled = fill_surface(&joined(&icosphere(0.5, 4).unwrap(), &apart), 0.2, &options).unwrap();
    assert_eq!(filled.report.component_count, 2);
    assert_eq!(filled.mesh.cell_labels().iter().max(), Some(&2));
    assert_eq!(filled.mesh.cell_labels().iter().min(), Some(&1));
}

#[test]
fn inside_out_surface_is_filled_and_reported() {
    let surface = fusiform_surface(0.3, 0.05, 0.02, 0.02).unwrap();
    let filled = fill_surface(&surface, 0.02, &FillOptions::default()).unwrap();
    let reversed = fill_surface(&surface.clone().flipped(), 0.02, &FillOptions::default()).unwrap();
    assert!(reversed.report.is_inside_out && !reversed.report.is_clean());
    assert_eq!(filled.mesh, reversed.mesh);
}

#[test]
fn open_surface_is_rejected_with_its_place_or_repaired() {
    let sphere = icosphere(1.0, 6).unwrap();
    let top = |t: &[u32; 3]| t.iter().all(|v| sphere.positions()[*v as usize].z > 0.85);
    let triangles: Vec<[u32; 3]> = sphere.triangles().iter().filter(|t| !top(t)).copied().collect();
    let open = TriMesh::new(sphere.positions().to_vec(), triangles).unwrap();
    let error = fill_surface(&open, 0.2, &FillOptions::default()).unwrap_err();
    let FillError::Open { count, edge, at } = error.clone() else { panic!("{error}") };
    assert_eq!(count, open.boundary_edges().len());
    assert!(at.z > 0.7 && open.boundary_edges().contains(&edge));
    assert!(error.to_string().starts_with("the surface is open: "));

    let filled = fill_surface(&open, 0.1, &winding()).unwrap();
    assert_eq!(filled.report.boundary_edges, count);
    assert!(!filled.report.is_clean());
    // The hole is closed by a smooth cap near the original sphere.
    let ratio = filled.report.lattice_volume / (4.0 / 3.0 * PI);
    assert!((0.95..1.35).contains(&ratio), "{ratio}");
    assert!(filled.mesh.positions().iter().all(|x| x.norm() < 1.2));
}

#[test]
fn self_intersecting_surface_is_rejected_with_a_pair_or_repaired() {
    let a = icosphere(0.5, 5).unwrap();
    let b = a.mapped(|x| x + Vec3::new(0.6, 0.02, 0.01)).unwrap();
    let crossing = joined(&a, &b);
    let error = fill_surface(&crossing, 0.1, &FillOptions::default()).unwrap_err();
    let FillError::SelfIntersecting { count, triangles, at } = error else { panic!("{error}") };
    assert!(count > 5 && triangles[0] < triangles[1]);
    // They meet in the plane halfway.
    assert!((at.x - 0.3).abs() < 0.2);
    let filled = fill_surface(&crossing, 0.1, &winding()).unwrap();
    assert_eq!(filled.report.self_intersections, count);
    assert_eq!(filled.report.component_count, 1);
}

#[test]
fn inconsistently_wound_surface_is_rejected_or_repaired() {
    let sphere = icosphere(1.0, 5).unwrap();
    let mut triangles = sphere.triangles().to_vec();
    triangles[7].swap(0, 1);
    let mixed = TriMesh::new(sphere.positions().to_vec(), triangles).unwrap();
    let error = fill_surface(&mixed, 0.2, &FillOptions::default()).unwrap_err();
    assert!(matches!(error, FillError::InconsistentWinding { count: 3, .. }));
    let filled = fill_surface(&mixed, 0.2, &winding()).unwrap();
    assert_eq!(filled.report.inconsistent_edges, 3);
}

#[test]
fn doubled_vertices_are_welded_for_the_inspection() {
    let sphere = icosphere(1.0, 4).unwrap();
    let positions: Vec<Vec3> = (0..sphere.triangle_count()).flat_map(|t| sphere.corners(t)).collect();
    let triangles = (0..sphere.triangle_count() as u32).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect();
    let soup = TriMesh::new(positions, triangles).unwrap();
    let filled = fill_surface(&soup, 0.25, &FillOptions::default()).unwrap();
    assert_eq!(filled.embedding.len(), soup.vertex_count());
    assert_eq!(filled.report.welded_vertices, soup.vertex_count() - sphere.vertex_count());
    assert_eq!(filled.mesh, fill_surface(&sphere, 0.25, &FillOptions::default()).unwrap().mesh);
}

#[test]
fn absurd_cell_sizes_are_refused_before_allocation() {
    let sphere = icosphere(1.0, 2).unwrap();
    for cell in [0.0, -0.1, f64::NAN, f64::INFINITY] {
        let error = fill_surface(&sphere, cell, &FillOptions::default()).unwrap_err();
        assert!(matches!(error, FillError::CellSize { .. }));
    }
    for cell in [1e-6, 1e-300] {
        let error = fill_surface(&sphere, cell, &FillOptions::default()).unwrap_err();
        assert!(matches!(error, FillError::TooManyCells { limit: MAX_CELLS, .. }));
    }
    // Cells larger than the body are coarse, not wrong.
    assert!(fill_surface(&sphere, 100.0, &FillOptions::default()).is_ok());
}

#[test]
fn surface_without_volume_is_refused() {
    let flat = box_surface(Vec3::splat(1.0), [1, 1, 1]).unwrap().mapped(|x| Vec3::new(x.x, x.y, 0.0)).unwrap();
    assert!(fill_surface(&flat, 0.3, &FillOptions::default()).is_err());
}

/// One triangle, and a square of two: they wind round nothing, and cells that they touch would be no body of theirs.
#[test]
fn flat_surfaces_are_refused_even_for_repair() {
    let corners = [[0.0, 0.0, 1.0], [0.2, 0.0, 1.1], [0.2, 0.3, 1.3], [0.0, 0.3, 1.2]].map(Vec3::from).to_vec();
    for triangles in [vec![[0, 1, 2]], vec![[0, 1, 2], [0, 2, 3]], vec![[0, 1, 2], [0, 2, 1]]] {
        let flat = TriMesh::new(corners.clone(), triangles).unwrap();
        assert_eq!(fill_surface(&flat, 0.05, &winding()).unwrap_err(), FillError::Flat);
    }
    let line = TriMesh::new(vec![Vec3::zero(), Vec3::unit(0), Vec3::unit(0) * 2.0], vec![[0, 1, 2]]).unwrap();
    assert_eq!(fill_surface(&line, 0.05, &winding()).unwrap_err(), FillError::Flat);
    // A bent sheet encloses next to nothing, which the report says without dividing by it.
    let mut bent = corners;
    bent[3].z += 0.1;
    let bent = TriMesh::new(bent, vec![[0, 1, 2], [0, 2, 3]]).unwrap();
    let told = fill_surface(&bent, 0.05, &winding()).unwrap().report.to_string();
    assert!(!told.contains("inf") && !told.contains("NaN"), "{told}");
}

/// Copies of all faces wind more often round the same inside: the lattice is the same, and it takes no longer than for one.
#[test]
fn copies_of_a_surface_are_filled_as_one() {
    let ball = icosphere(0.1, 4).unwrap();
    let copies = TriMesh::new(ball.positions().to_vec(), ball.triangles().repeat(500)).unwrap();
    // 160,000 triangles: a search that looked at all of them for each of some thousand cells would take minutes.
    let filled = fill_surface(&copies, 0.02, &winding()).unwrap();
    assert_eq!(filled.mesh, fill_surface(&ball, 0.02, &winding()).unwrap().mesh);
}
