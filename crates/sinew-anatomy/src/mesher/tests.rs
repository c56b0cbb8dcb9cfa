//! Meshes of trial shapes against mathematics: volumes, distances, angles, topology, anchoring, threads.

use sinew_geometry::{Aabb, CellMesh};
use sinew_math::Vec3;

use super::shapes::{self, Formula, Random};
use super::*;
use crate::Solid;

fn options(cell: f64, improve: bool) -> MeshOptions {
    MeshOptions { improve, ..MeshOptions::new(cell) }
}

/// The full checks of a mesh, and a boundary that is closed.
fn check(meshed: &Meshed) {
    let nodes = |cell| meshed.mesh.cell_nodes(cell);
    let tets: Vec<[u32; 4]> =
        (0..meshed.mesh.cell_count()).map(|cell| std::array::from_fn(|k| nodes(cell)[k])).collect();
    let (checked, report) = CellMesh::from_tets(meshed.mesh.positions().to_vec(), &tets).unwrap();
    assert!(report.flipped_cells.is_empty() && report.unused_nodes == 0, "{report}");
    assert_eq!(checked, meshed.mesh);
    let (boundary, _) = meshed.mesh.boundary_surface().unwrap();
    assert!(boundary.topology().is_closed());
}

fn in_pool<T: Send>(threads: usize, f: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(f)
}

/// Twenty shapes, smooth and rough down to waves of two cells: always valid, closed, within the bound.
#[test]
fn every_trial_shape_is_filled_within_the_bound() {
    for k in 0..20 {
        let solid = shapes::trial(k);
        let cell = solid.bounds().size().max_component() / 18.0;
        let meshed = mesh_solid(&solid, &options(cell, false)).unwrap();
        check(&meshed);
        let (low, high) = (meshed.report.min_dihedral.to_degrees(), meshed.report.max_dihedral.to_degrees());
        assert!(low >= 11.81 && high <= 161.18, "{k} {} {low} {high}", solid.name);
        for node in &meshed.surface_nodes {
            let distance = solid.distance(meshed.mesh.positions()[*node as usize]);
            // The root finder stops at 1e-7 cells.
            assert!(distance.abs() < 1e-6 * cell, "{k} {distance}");
        }
    }
}

#[test]
fn improved_meshes_of_smooth_shapes_have_twenty_degrees() {
    for k in [0, 1, 2, 4, 5] {
        let solid = shapes::trial(k);
        let cell = solid.bounds().size().max_component() / 20.0;
        let meshed = mesh_solid(&solid, &options(cell, true)).unwrap();
        check(&meshed);
        let (low, high) = (meshed.report.min_dihedral.to_degrees(), meshed.report.max_dihedral.to_degrees());
        assert!(low >= 20.0 && high <= 155.0, "{} {low} {high}", solid.name);
        let quality = meshed.mesh.quality();
        assert!((quality.min_dihedral.to_degrees() - low).abs() < 1e-6);
        for node in &meshed.surface_nodes {
            let distance = solid.distance(meshed.mesh.positions()[*node as usize]);
            assert!(distance.abs() < 1.1e-3 * cell, "{distance}");
        }
    }
}

/// Improvement only gains: the worst angles of rough shapes are no worse after it.
#[test]
fn improvement_never_makes_the_worst_sine_smaller() {
    for k in [6, 8, 9] {
        let solid = shapes::trial(k);
        let cell = solid.bounds().size().max_component() / 16.0;
        let worst = |improve| {
            let report = mesh_solid(&solid, &options(cell, improve)).unwrap().report;
            report.min_dihedral.sin().min(report.max_dihedral.sin())
        };
        assert!(worst(true) >= worst(false) - 1e-12);
    }
}

/// Volume of an inscribed polyhedron with edges h: error of order h².
#[test]
fn volume_converges_with_second_order() {
    for solid in [shapes::ball(Vec3::splat(0.013), 0.4), shapes::torus(Vec3::splat(0.007), 0.3, 0.12)] {
        let exact = solid.volume.unwrap();
        let error = |cell| {
            let volume = mesh_solid(&solid, &options(cell, false)).unwrap().mesh.volume();
            (volume / exact - 1.0).abs()
        };
        let (coarse, fine) = (error(0.06), error(0.03));
        let order = (coarse / fine).log2();
        assert!((1.7..2.4).contains(&order), "{} {order}", solid.name);
    }
}

/// Points of the boundary are within half a cell of φ = 0.
#[test]
fn boundary_stays_within_half_a_cell() {
    for k in [0, 1, 2, 4, 6] {
        let solid = shapes::trial(k);
        let cell = solid.bounds().size().max_component() / 20.0;
        let meshed = mesh_solid(&solid, &options(cell, true)).unwrap();
        let (boundary, _) = meshed.mesh.boundary_surface().unwrap();
        let far = boundary.samples(0.3 * cell).iter().map(|(p, _)| solid.distance(*p).abs()).fold(0.0, f64::max);
        assert!(far < 0.5 * cell, "{} {}", solid.name, far / cell);
    }
}

/// The lattice is anchored to the world: larger bounds give the same bits.
#[test]
fn moving_the_bounds_changes_nothing() {
    let solid = |grow: Vec3| {
        let ball = shapes::ball(Vec3::new(0.1, -0.2, 0.05), 0.3);
        let bounds = Aabb { min: ball.bounds.min - grow, max: ball.bounds.max + grow * 0.3 };
        Formula::new("ball", bounds, move |p| ball.distance(p))
    };
    let mesh = |grow| mesh_solid(&solid(grow), &options(0.04, true)).unwrap().mesh;
    assert_eq!(mesh(Vec3::zero()), mesh(Vec3::new(0.33, 0.11, 0.77)));
}

/// Moving the solid by vectors of the lattice moves the mesh.
#[test]
fn mesh_moves_with_the_solid_along_the_lattice() {
    let cell = 1.0 / 32.0;
    // Off the lattice, so that no two cuts are equally near to a node but for rounding.
    let center = Vec3::new(0.1271, -0.2533, 0.0617);
    let shift = Vec3::new(3.0, -5.0, 2.0) * cell;
    let sorted = |center: Vec3, back: Vec3| {
        let meshed = mesh_solid(&shapes::ball(center, 0.3), &options(cell, false)).unwrap();
        let mut cells: Vec<Vec<[i64; 3]>> = (0..meshed.mesh.cell_count())
            .map(|cell| {
                let nodes = meshed.mesh.cell_nodes(cell).iter();
                let key = |node: &u32| {
                    (meshed.mesh.positions()[*node as usize] - back).to_array().map(|x| (x * 1e9).round() as i64)
                };
                let mut keys: Vec<[i64; 3]> = nodes.map(key).collect();
                keys.sort_unstable();
                keys
            })
            .collect();
        cells.sort_unstable();
        cells
    };
    assert!(sorted(center, Vec3::zero()) == sorted(center + shift, shift));
}

#[test]
fn one_thread_and_three_give_the_same_bits() {
    for k in [3, 8] {
        let solid = shapes::trial(k);
        let mesh = || mesh_solid(&solid, &options(solid.bounds().size().max_component() / 16.0, true)).unwrap().mesh;
        assert_eq!(in_pool(1, mesh), in_pool(3, mesh));
    }
}

#[test]
fn isosurfaces_are_closed_and_equal_the_boundary_of_cells() {
    for k in 0..10 {
        let solid = shapes::trial(k);
        let cell = solid.bounds().size().max_component() / 18.0;
        let surface = isosurface(&solid, cell).unwrap();
        assert!(surface.topology().is_closed(), "{k}");
        let meshed = mesh_solid(&solid, &options(cell, false)).unwrap();
        // Sums in a different order.
        assert!((surface.volume() / meshed.mesh.volume() - 1.0).abs() < 1e-9, "{k}");
    }
    assert_eq!(isosurface(&shapes::ball(Vec3::zero(), 0.4), 0.05).unwrap().topology().euler_characteristic, 2);
    assert_eq!(isosurface(&shapes::torus(Vec3::zero(), 0.3, 0.1), 0.05).unwrap().topology().euler_characteristic, 0);
}

/// Two balls whose cells meet in single nodes and edges for some gaps: parts are taken apart, the boundary is closed.
#[test]
fn parts_that_only_touch_are_taken_apart() {
    let mut changes = 0;
    for k in 0..24 {
        let gap = 0.004 * f64::from(k);
        let direction = Vec3::new(1.0, 0.3 * f64::from(k % 5), 0.2 * f64::from(k % 3)).normalized();
        let centers = [direction * (0.3 + 0.5 * gap), direction * -(0.3 + 0.5 * gap)];
        let bounds = Aabb { min: Vec3::splat(-0.75), max: Vec3::splat(0.75) };
        let solid = Formula::new("two balls", bounds, move |p| {
            centers.iter().map(|c| p.distance(*c) - 0.3).fold(f64::INFINITY, f64::min)
        });
        let meshed = mesh_solid(&solid, &options(0.08, true)).unwrap();
        check(&meshed);
        changes += meshed.report.separated_nodes + meshed.report.dropped_cells;
    }
    assert!(changes > 0, "the trial shows nothing");
}

#[test]
fn thin_parts_are_reported() {
    let plate = |thickness: f64| {
        let half = Vec3::new(0.4, 0.4, 0.5 * thickness);
        Formula::new("plate", Aabb { min: -half, max: half }, move |p| {
            let q = p.abs() - half;
            q.max(Vec3::zero()).norm() + q.max_component().min(0.0)
        })
    };
    let thin = |thickness| {
        let meshed = mesh_solid(&plate(thickness), &options(0.05, false)).unwrap();
        meshed.report.thin_nodes as f64 / meshed.surface_nodes.len() as f64
    };
    assert!(thin(0.06) > 0.8);
    assert!(thin(0.25) < 0.01);
}

#[test]
fn bad_input_is_an_error_with_values() {
    let ball = shapes::ball(Vec3::zero(), 0.4);
    let error = |solid: &dyn Solid, cell| mesh_solid(solid, &MeshOptions::new(cell)).unwrap_err();
    for cell in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(error(&ball, cell), MeshError::CellSize { .. }));
    }
    assert!(matches!(error(&ball, 1e-5), MeshError::TooManyCells { fitting, .. } if fitting > 1e-5));
    assert!(matches!(error(&ball, 1e-300), MeshError::TooManyCells { .. }));
    let speck = shapes::ball(Vec3::new(0.31, 0.27, 0.23), 1e-3);
    assert_eq!(error(&speck, 1.0), MeshError::TooCoarse { cell: 1.0, size: speck.bounds.size().max_component() });
    let empty = Formula::new("empty", Aabb::EMPTY, |_| 1.0);
    assert_eq!(error(&empty, 0.1), MeshError::Empty);
    let endless = Formula::new("endless", Aabb { min: Vec3::splat(-f64::INFINITY), max: Vec3::splat(1.0) }, |_| -1.0);
    assert_eq!(error(&endless, 0.1), MeshError::Unbounded);
    let holey = Formula::new("holey", ball.bounds, |p| if p.x > 0.1 { f64::NAN } else { p.norm() - 0.4 });
    assert!(matches!(error(&holey, 0.05), MeshError::NotFinite { .. }));
    assert!(matches!(mesh_many(&[], &MeshOptions::new(0.1)).unwrap_err(), MeshError::Empty));
}

/// A distance that breaks its promise (slope ten, steps) ends with a mesh or an error, not a panic.
#[test]
fn wild_distances_do_not_panic() {
    let mut random = Random::new(3);
    for _ in 0..4 {
        let (a, b, c) = (5.0 + 60.0 * random.unit(), 60.0 * random.unit(), random.unit());
        let bounds = Aabb { min: Vec3::splat(-0.5), max: Vec3::splat(0.5) };
        let wild = Formula::new("wild", bounds, move |p| {
            let value = 10.0 * ((a * p.x).sin() * (b * p.y).cos() + (a * p.z).sin()) + c;
            if p.x > 0.2 { value.signum() } else { value }
        });
        if let Ok(meshed) = mesh_solid(&wild, &options(0.05, true)) {
            assert!(meshed.report.min_dihedral.to_degrees() > 11.8);
        }
        drop(mesh_many(&[&wild, &shapes::ball(Vec3::zero(), 0.4)], &options(0.06, true)));
    }
}

/// Cells of neighbors share faces: the volumes of the parts add up to the ball, no inner face has one cell.
#[test]
fn many_solids_share_one_conforming_mesh() {
    for (count, cell) in [(2, 0.05), (3, 0.05), (5, 0.04)] {
        let solids = shapes::wedges(count);
        let list: Vec<&dyn Solid> = solids.iter().map(|solid| solid as &dyn Solid).collect();
        for improve in [false, true] {
            let many = mesh_many(&list, &options(cell, improve)).unwrap();
            let tets: Vec<[u32; 4]> =
                (0..many.mesh.cell_count()).map(|c| std::array::from_fn(|k| many.mesh.cell_nodes(c)[k])).collect();
            let (checked, report) = CellMesh::from_tets(many.mesh.positions().to_vec(), &tets).unwrap();
            assert!(report.is_clean() || report.flipped_cells.is_empty() && report.unused_nodes == 0);
            let (boundary, _) = checked.boundary_surface().unwrap();
            assert!(boundary.boundary_edges().is_empty());
            // Every boundary point lies on the ball around all: there are no gaps between parts.
            let far = boundary.positions().iter().map(|p| (p.norm() - 0.4).abs()).fold(0.0, f64::max);
            // A node on two parts may be an edge away from the background, and takes the boundary with it until it is
            // drawn near. Where five slices meet in a point, cells are too large to tell them apart.
            let limit = if improve { [0.3, 0.65][usize::from(count > 3)] } else { 0.9 };
            assert!(far < limit * cell, "{far}");
            let (low, high) = (many.report.min_dihedral.to_degrees(), many.report.max_dihedral.to_degrees());
            assert!(low >= 8.0 && high <= 172.0, "{low} {high}");
            assert!((many.volumes.iter().sum::<f64>() / many.mesh.volume() - 1.0).abs() < 1e-9);
            let ball = 4.0 / 3.0 * std::f64::consts::PI * 0.4_f64.powi(3);
            // Second order: (h / R)² is 1.6 %.
            assert!((many.mesh.volume() / ball - 1.0).abs() < 0.016);
            let core = solids[count].volume.unwrap();
            assert!((many.volumes[count] / core - 1.0).abs() < 0.1, "{}", many.volumes[count] / core);
        }
    }
}

/// One solid alone and the same as the only label: the same volume to the order of the method.
#[test]
fn one_label_is_like_one_solid() {
    let ball = shapes::ball(Vec3::splat(0.013), 0.4);
    let one = mesh_solid(&ball, &options(0.05, false)).unwrap();
    let many = mesh_many(&[&ball], &options(0.05, false)).unwrap();
    assert!((one.mesh.volume() / many.mesh.volume() - 1.0).abs() < 2e-3);
}

#[test]
fn many_solids_do_not_depend_on_threads_or_bounds() {
    let solids = shapes::wedges(3);
    let list: Vec<&dyn Solid> = solids.iter().map(|solid| solid as &dyn Solid).collect();
    let mesh = || mesh_many(&list, &options(0.05, true)).unwrap().mesh;
    assert_eq!(in_pool(1, mesh), in_pool(3, mesh));
}
