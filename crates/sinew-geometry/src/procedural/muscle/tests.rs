//! Each shape is a valid mesh with the anatomy of its name.

use std::collections::BTreeSet;
use std::f64::consts::PI;

use super::*;
use crate::mesh::CellKind;
use crate::shape_functions::hex8_map_gradient;

const SHAPES: [MuscleShape; 5] =
    [MuscleShape::Fusiform, MuscleShape::Unipennate, MuscleShape::Bipennate, MuscleShape::Fan, MuscleShape::TwoHeaded];

/// Every shape in both kinds of cells, at sizes from coarse to fine.
fn all_muscles() -> Vec<(MuscleParams, ProceduralMuscle)> {
    let mut muscles = Vec::new();
    for shape in SHAPES {
        for cells in [MuscleCells::Hexes, MuscleCells::Tets] {
            for scale in [1.0, 0.6] {
                let typical = MuscleParams::typical(shape);
                let params = MuscleParams { cells, cell: scale * typical.cell, ..typical };
                muscles.push((params, muscle(&params).unwrap_or_else(|e| panic!("{params:?}: {e}"))));
            }
        }
    }
    muscles
}

fn volume_of(muscle: &ProceduralMuscle, set: &str) -> f64 {
    let volumes = muscle.mesh.cell_volumes();
    muscle.mesh.cell_sets()[set].iter().map(|cell| volumes[*cell as usize]).sum()
}

fn is_pennate(shape: MuscleShape) -> bool {
    matches!(shape, MuscleShape::Unipennate | MuscleShape::Bipennate)
}

/// Midpoint rule, far finer than any layer.
fn integral([from, to]: [f64; 2], f: impl Fn(f64) -> f64) -> f64 {
    let n = 20_000;
    let step = (to - from) / n as f64;
    (0..n).map(|i| f(from + (i as f64 + 0.5) * step) * step).sum()
}

#[test]
fn cells_are_well_shaped_and_the_muscle_is_one_piece() {
    for (params, muscle) in all_muscles() {
        let mesh = &muscle.mesh;
        assert_eq!(mesh.components().count, 1, "{params:?}");
        let quality = mesh.quality();
        assert!(quality.min_dihedral.to_degrees() > 4.0, "{params:?}: {quality}");
        assert!(quality.min_edge_ratio > 0.02, "{params:?}: {quality}");
        assert!(quality.max_aspect < 16.0, "{params:?}: {quality}");
        let g = 1.0 / 3_f64.sqrt();
        for (kind, nodes) in mesh.cells().filter(|(kind, _)| *kind == CellKind::Hex8) {
            let corners: Vec<Vec3> = nodes.iter().map(|node| mesh.positions()[*node as usize]).collect();
            for at in 0..8 {
                let sign = |axis: usize| if at >> axis & 1 == 1 { g } else { -g };
                let [u, v, w] = hex8_map_gradient(&corners, Vec3::new(sign(0), sign(1), sign(2)));
                assert!(u.dot(v.cross(w)) > 0.0, "{kind:?} of {params:?}");
            }
        }
        let (surface, _) = mesh.boundary_surface().unwrap();
        assert!(surface.is_closed(), "{params:?}");
        // No holes and no handles: a sphere.
        assert_eq!(surface.topology().euler_characteristic, 2, "{params:?}");
    }
}

#[test]
fn surfaces_do_not_cross_themselves() {
    for shape in SHAPES {
        let muscle = muscle(&MuscleParams::typical(shape)).unwrap();
        let (surface, _) = muscle.mesh.boundary_surface().unwrap();
        assert!(surface.self_intersections(1).is_empty(), "{shape:?}");
    }
}

#[test]
fn every_cell_is_of_one_tissue_and_the_ends_are_planes() {
    for (params, muscle) in all_muscles() {
        let mesh = &muscle.mesh;
        let sets = mesh.cell_sets();
        let mut count = vec![0; mesh.cell_count()];
        for set in ["belly", "tendon", "aponeurosis", "filling"] {
            let is_expected = match set {
                "aponeurosis" => is_pennate(params.shape),
                "filling" => params.shape == MuscleShape::Bipennate,
                _ => true,
            };
            assert_eq!(sets.contains_key(set), is_expected, "{set} of {params:?}");
            for cell in sets.get(set).into_iter().flatten() {
                count[*cell as usize] += 1;
            }
        }
        assert!(count.iter().all(|n| *n == 1), "{params:?}");
        for (set, x) in [("origin", 0.0), ("insertion", params.length)] {
            let nodes = &mesh.node_sets()[set];
            assert!(nodes.len() >= 9, "{set} of {params:?}");
            assert!(nodes.iter().all(|node| mesh.positions()[*node as usize].x == x));
        }
        let bounds = mesh.bounds();
        assert_eq!((bounds.min.x, bounds.max.x), (0.0, params.length), "{params:?}");
    }
}

#[test]
fn fibers_are_unit_vectors_towards_the_insertion() {
    for (params, muscle) in all_muscles() {
        assert_eq!(muscle.fibers.len(), muscle.mesh.cell_count());
        for (fiber, stored) in muscle.fibers.iter().zip(muscle.mesh.cell_fields()["fiber"].values.chunks_exact(3)) {
            assert!((fiber.norm() - 1.0).abs() < 1e-14 && fiber.x > 0.0, "{fiber:?} of {params:?}");
            assert_eq!(fiber.to_array().as_slice(), stored);
        }
    }
}

/// PCSA = V / ℓ of the belly.
#[test]
fn cross_section_times_fiber_length_is_the_volume_of_the_belly() {
    for (params, muscle) in all_muscles() {
        let volume = volume_of(&muscle, "belly");
        assert!((muscle.pcsa * muscle.fiber_length / volume - 1.0).abs() < 1e-14, "{params:?}");
        assert!(muscle.fiber_length > 0.0 && muscle.fiber_length < 1.3 * params.length, "{params:?}");
    }
}

/// V = π L (r² + ⅝ r (d_y + d_z) + 67/128 d_y d_z); inscribed polygons lose a part of it of the order of the cell size
/// squared.
#[test]
fn fusiform_volume_is_that_of_its_profile() {
    for thickness in [0.045, 0.03] {
        let params = MuscleParams { thickness, ..MuscleParams::typical(MuscleShape::Fusiform) };
        let r = 0.5 * params.tendon_width;
        let (dy, dz) = (0.5 * params.width - r, 0.5 * thickness - r);
        let exact = PI * params.belly() * (r * r + 0.625 * r * (dy + dz) + 67.0 / 128.0 * dy * dz);
        let ends = [params.tendon[0], params.length - params.tendon[1]];
        let summed = integral(ends, |x| fusiform::radii(&params, x).iter().product::<f64>() * PI);
        assert!((exact / summed - 1.0).abs() < 1e-6);
        let error = |cell: f64| 1.0 - volume_of(&muscle(&MuscleParams { cell, ..params }).unwrap(), "belly") / exact;
        let (coarse, fine) = (error(0.005), error(0.0025));
        assert!(coarse > 0.0 && coarse < 0.04, "{coarse}");
        assert!(fine < 0.35 * coarse, "{fine} after {coarse}");
    }
}

#[test]
fn fan_and_two_heads_have_the_volumes_of_their_profiles() {
    let params = MuscleParams::typical(MuscleShape::Fan);
    let exact = integral([0.0, params.length], |x| fan::half_sizes(&params, x).iter().product::<f64>() * 3.2);
    let volume = muscle(&params).unwrap().mesh.volume();
    assert!((volume / exact - 1.0).abs() < 0.03, "{volume} of {exact}");

    // Ellipse and half ellipse have the same area; shapes in between differ from it by a few hundredths.
    let params = MuscleParams::typical(MuscleShape::TwoHeaded);
    let exact =
        integral([0.0, params.length], |x| 2.0 * PI * two_headed::half_sizes(&params, x).iter().product::<f64>());
    let volume = muscle(&params).unwrap().mesh.volume();
    assert!((volume / exact - 1.0).abs() < 0.06, "{volume} of {exact}");
}

/// All fibers of the belly at α, sheet to sheet: ℓ = w / sin α.
#[test]
fn pennate_fibers_run_straight_from_sheet_to_sheet_at_the_angle() {
    for shape in [MuscleShape::Unipennate, MuscleShape::Bipennate] {
        for degrees in [12.0, 20.0, 30.0, 45.0, 70.0] {
            for cells in [MuscleCells::Hexes, MuscleCells::Tets] {
                let pennation = f64::to_radians(degrees);
                let params = MuscleParams { pennation, cells, ..MuscleParams::typical(shape) };
                let muscle = muscle(&params).unwrap_or_else(|e| panic!("{params:?}: {e}"));
                let mut sides = BTreeSet::new();
                for cell in &muscle.mesh.cell_sets()["belly"] {
                    let fiber = muscle.fibers[*cell as usize];
                    assert!(
                        (fiber.y.abs().atan2(fiber.x) - pennation).abs() < 1e-12 && fiber.z.abs() < 1e-12,
                        "{fiber:?}"
                    );
                    let nodes = muscle.mesh.cell_nodes(*cell as usize);
                    let y = nodes.iter().map(|node| muscle.mesh.positions()[*node as usize].y).sum::<f64>();
                    if shape == MuscleShape::Bipennate {
                        assert!(y * fiber.y < 0.0, "fibers run to the central sheet");
                    }
                    sides.insert(fiber.y > 0.0);
                }
                assert_eq!(sides.len(), if shape == MuscleShape::Bipennate { 2 } else { 1 });
                let parts = if shape == MuscleShape::Bipennate { 2.0 } else { 1.0 };
                let between = params.width / parts - 0.5 * params.tendon_width;
                assert!((muscle.fiber_length * pennation.sin() / between - 1.0).abs() < 1e-12);
                // Each fiber is cut once: the cross-section is the area of the sheets seen along the fibers. The mean
                // swelling is 5/8, which sums over even steps of a trigonometric polynomial reproduce.
                let sheet_length = params.belly() - between / pennation.tan();
                let end = 0.55_f64.max(params.tendon_width / params.thickness);
                let area = parts * sheet_length * params.thickness * (end + 0.625 * (1.0 - end));
                let error = muscle.pcsa / (area * pennation.sin()) - 1.0;
                assert!(error.abs() < if cells == MuscleCells::Hexes { 1e-12 } else { 0.01 }, "{error} of {params:?}");
            }
        }
    }
}

/// The inner faces of the aponeuroses, where belly and sheet share nodes, are planes y = const.
#[test]
fn aponeuroses_are_flat_and_parallel() {
    for (shape, planes) in [(MuscleShape::Unipennate, 2), (MuscleShape::Bipennate, 4)] {
        let muscle = muscle(&MuscleParams::typical(shape)).unwrap();
        let nodes_of = |set: &str| -> BTreeSet<u32> {
            let cells = muscle.mesh.cell_sets()[set].iter();
            cells.flat_map(|cell| muscle.mesh.cell_nodes(*cell as usize).to_vec()).collect()
        };
        let shared = nodes_of("belly");
        let heights: BTreeSet<i64> = shared
            .intersection(&nodes_of("aponeurosis"))
            .map(|node| (muscle.mesh.positions()[*node as usize].y * 1e12).round() as i64)
            .collect();
        assert_eq!(heights.len(), planes, "{shape:?}: {heights:?}");
    }
}

/// Seen along z the notch is a kite: its sides follow a smooth step from the joint to the belly, then run along the
/// fibers to the central sheet and at 45° over its edge. Only its two faces along z are visible.
#[test]
fn filling_closes_the_notch_of_a_bipennate_muscle() {
    for cells in [MuscleCells::Hexes, MuscleCells::Tets] {
        for degrees in [12.0, 30.0, 45.0, 70.0, 85.0] {
            let pennation = f64::to_radians(degrees);
            let params = MuscleParams { pennation, cells, ..MuscleParams::typical(MuscleShape::Bipennate) };
            let muscle = muscle(&params).unwrap_or_else(|e| panic!("{params:?}: {e}"));
            let mesh = &muscle.mesh;
            let filling: BTreeSet<u32> = mesh.cell_sets()["filling"].iter().copied().collect();
            assert!(filling.iter().all(|cell| muscle.fibers[*cell as usize] == Vec3::new(1.0, 0.0, 0.0)));

            let (triangles, owners) = mesh.boundary_triangles_with_cells();
            let mut area = [0.0; 2];
            for (triangle, _) in triangles.iter().zip(&owners).filter(|(_, owner)| filling.contains(owner)) {
                let [a, b, c] = triangle.map(|node| mesh.positions()[node as usize]);
                let normal = (b - a).cross(c - a) * 0.5;
                assert!(normal.z.abs() > 0.9 * normal.norm(), "{normal:?} at {a:?} of {params:?}");
                area[usize::from(normal.z > 0.0)] += normal.z.abs();
            }
            let sheet = 0.25 * params.tendon_width;
            let outer = 0.5 * params.width - sheet;
            let (joint, start) = (0.3 * params.tendon[0], params.tendon[0]);
            let run = (outer - sheet) / pennation.tan();
            let front = run * (outer + sheet) + sheet * sheet;
            let kite = outer * (start - joint) + front;
            for seen in area {
                // Chords of the smooth step.
                assert!((seen / kite - 1.0).abs() < 0.01, "{seen} of {kite} at {degrees}°");
            }

            // As wide along z as the adjacent tendons, and as the belly behind them.
            let belly = 0.5 * params.thickness * 0.55_f64.max(params.tendon_width / params.thickness);
            let tendon = 0.95 * 0.5 * params.tendon_width;
            let between_tendons = integral([joint, start], |x| {
                let t = profile::smooth_step((x - joint) / (start - joint));
                4.0 * outer * t * (tendon + (belly - tendon) * t)
            });
            let expected = between_tendons + 2.0 * belly * front;
            let volume = volume_of(&muscle, "filling");
            assert!((volume / expected - 1.0).abs() < 0.01, "{volume} of {expected} at {degrees}°");
        }
    }
}

/// The edge of the central sheet shortens its rows but rotates none of them: the sheet still pulls along the line of
/// action.
#[test]
fn central_sheet_of_a_bipennate_muscle_runs_along_the_line_of_action() {
    let params = MuscleParams::typical(MuscleShape::Bipennate);
    let muscle = muscle(&params).unwrap();
    let mesh = &muscle.mesh;
    let sheet = 0.25 * params.tendon_width;
    let mut volume = 0.0;
    for cell in &mesh.cell_sets()["aponeurosis"] {
        let nodes = mesh.cell_nodes(*cell as usize);
        if nodes.iter().all(|node| mesh.positions()[*node as usize].y.abs() < 1.001 * sheet) {
            assert!(muscle.fibers[*cell as usize].y.abs() < 1e-12);
            volume += mesh.cell_volumes()[*cell as usize];
        }
    }
    // A prism of the central sheet's section, minus its edge: triangles with the legs `sheet` and `sheet` on either
    // side.
    let sheet_length = params.belly() - (0.5 * params.width - 2.0 * sheet) / params.pennation.tan();
    let end = 0.55_f64.max(params.tendon_width / params.thickness);
    let mean_width = params.thickness * (end + 0.625 * (1.0 - end));
    let expected = mean_width * (2.0 * sheet * sheet_length - sheet * sheet);
    assert!((volume / expected - 1.0).abs() < 0.02, "{volume} of {expected}");
}

/// Spindle fibers lie on cones that follow the taper; fan fibers point to the tendon.
#[test]
fn fibers_follow_the_outline() {
    let params = MuscleParams::typical(MuscleShape::Fusiform);
    let spindle = muscle(&params).unwrap();
    for (cell, fiber) in spindle.fibers.iter().enumerate() {
        let nodes = spindle.mesh.cell_nodes(cell);
        let x = nodes.iter().map(|node| spindle.mesh.positions()[*node as usize]).sum::<Vec3>() / nodes.len() as f64;
        let h = 1e-6;
        let [a, b] = fusiform::radii(&params, x.x);
        let [a1, b1] = fusiform::radii(&params, x.x + h);
        let tangent = Vec3::new(1.0, x.y * (a1 / a - 1.0) / h, x.z * (b1 / b - 1.0) / h).normalized();
        // The chord of a layer against the tangent in its middle.
        assert!(fiber.cross(tangent).norm() < 0.03, "{fiber:?} against {tangent:?} at {x:?}");
    }
    let fan = muscle(&MuscleParams::typical(MuscleShape::Fan)).unwrap();
    let mut steepest = 0.0_f64;
    for cell in &fan.mesh.cell_sets()["belly"] {
        let nodes = fan.mesh.cell_nodes(*cell as usize);
        let y = nodes.iter().map(|node| fan.mesh.positions()[*node as usize].y).sum::<f64>() / nodes.len() as f64;
        let fiber = fan.fibers[*cell as usize];
        assert!(y.abs() < 1e-9 || fiber.y * y <= 0.0, "fibers converge");
        steepest = steepest.max(fiber.y.abs());
    }
    assert!(steepest > 0.4, "{steepest}");
}

#[test]
fn two_heads_are_apart_at_their_origins_and_one_at_the_insertion() {
    let params = MuscleParams::typical(MuscleShape::TwoHeaded);
    let muscle = muscle(&params).unwrap();
    let mesh = &muscle.mesh;
    let (first, second) = (&mesh.node_sets()["origin-1"], &mesh.node_sets()["origin-2"]);
    assert_eq!(first.len(), second.len());
    assert_eq!(mesh.node_sets()["origin"].len(), first.len() + second.len());
    let nodes_of = |set: &str| -> BTreeSet<u32> {
        mesh.cell_sets()[set].iter().flat_map(|cell| mesh.cell_nodes(*cell as usize).to_vec()).collect()
    };
    let (head_1, head_2) = (nodes_of("head-1"), nodes_of("head-2"));
    let shared: Vec<Vec3> = head_1.intersection(&head_2).map(|node| mesh.positions()[*node as usize]).collect();
    assert!(!shared.is_empty());
    let merged = params.tendon[0] + 0.85 * params.belly();
    assert!(shared.iter().all(|x| x.y == 0.0 && x.x > merged - 1e-12));
    // Nothing of either head reaches the plane between them before they merge.
    let proximal = mesh.positions().iter().filter(|x| x.x < merged - 1e-9);
    let nearest = proximal.clone().map(|x| x.y.abs()).fold(f64::INFINITY, f64::min);
    assert!(nearest > 0.0, "{nearest}");
    let gap = proximal.filter(|x| x.x < params.tendon[0] + 0.5 * params.belly()).map(|x| x.y.abs());
    assert!(gap.fold(f64::INFINITY, f64::min) > 0.019 * params.width);
    let heads = mesh.cell_sets()["head-1"].len() + mesh.cell_sets()["head-2"].len();
    assert_eq!(heads, mesh.cell_sets()["belly"].len());
}

/// Mirror images of nodes are nodes: in y and z, for a unipennate muscle in z only. Rounded to a hundred-millionth of a
/// meter.
#[test]
fn symmetric_muscles_have_symmetric_meshes() {
    for shape in SHAPES {
        let muscle = muscle(&MuscleParams::typical(shape)).unwrap();
        let key = |x: Vec3| x.to_array().map(|c| (c * 1e8 + 0.25).floor() as i64);
        let nodes: BTreeSet<[i64; 3]> = muscle.mesh.positions().iter().map(|x| key(*x)).collect();
        assert_eq!(nodes.len(), muscle.mesh.node_count());
        let has = |x: Vec3| {
            // Rounding may go either way.
            let [a, b, c] = key(x);
            (-1..=1).any(|i| (-1..=1).any(|j| (-1..=1).any(|k| nodes.contains(&[a + i, b + j, c + k]))))
        };
        for x in muscle.mesh.positions() {
            assert!(has(Vec3::new(x.x, x.y, -x.z)), "{shape:?}: {x:?}");
            assert!(shape == MuscleShape::Unipennate || has(Vec3::new(x.x, -x.y, x.z)), "{shape:?}: {x:?}");
        }
    }
    // Equal tendons make a spindle symmetric from end to end as well.
    let params = MuscleParams { tendon: [0.05, 0.05], ..MuscleParams::typical(MuscleShape::Fusiform) };
    let spindle = muscle(&params).unwrap();
    let center = spindle.mesh.positions().iter().sum::<Vec3>() / spindle.mesh.node_count() as f64;
    assert!((center - Vec3::new(0.5 * params.length, 0.0, 0.0)).norm() < 1e-9, "{center:?}");
}

/// Warped faces of hexahedra are saddles; splitting them into two triangles changes the volume to second order.
#[test]
fn tets_and_hexes_enclose_the_same_volume() {
    for shape in SHAPES {
        let params = MuscleParams::typical(shape);
        let hexes = muscle(&params).unwrap();
        let tets = muscle(&MuscleParams { cells: MuscleCells::Tets, ..params }).unwrap();
        assert_eq!(tets.mesh.cell_count(), 6 * hexes.mesh.cell_count());
        assert_eq!(tets.mesh.positions(), hexes.mesh.positions());
        let difference = tets.mesh.volume() / hexes.mesh.volume() - 1.0;
        assert!(difference.abs() < 0.01, "{shape:?}: {difference}");
        assert_eq!(tets.fiber_length, hexes.fiber_length);
    }
}

/// Halving the cell size gives eight times as many cells, and counts from five to a hundred thousand are possible.
#[test]
fn cell_counts_follow_the_cell_size() {
    for shape in SHAPES {
        let typical = MuscleParams::typical(shape);
        let count =
            |scale: f64| muscle(&MuscleParams { cell: scale * typical.cell, ..typical }).unwrap().mesh.cell_count();
        let (coarse, fine) = (count(0.8), count(0.4));
        let ratio = fine as f64 / coarse as f64;
        assert!((4.5..11.0).contains(&ratio), "{shape:?}: {coarse} to {fine}");
        let finest = count(0.25);
        assert!((40_000..500_000).contains(&finest), "{shape:?}: {finest}");
    }
}

/// A child's muscle, a swimmer's and a caricature of each: rejections are due to proportions, never to a failed mesh.
#[test]
fn unusual_proportions_make_sound_muscles_or_say_why_not() {
    let mut made = 0;
    for shape in SHAPES {
        let typical = MuscleParams::typical(shape);
        for choice in 0..16_u32 {
            let factor = |bit: u32| if choice >> bit & 1 == 1 { 1.8 } else { 0.5 };
            let params = MuscleParams {
                width: typical.width * factor(0),
                thickness: typical.thickness * factor(1),
                tendon: typical.tendon.map(|length| length * factor(2)),
                tendon_width: typical.tendon_width * factor(3),
                cells: if choice.count_ones() % 2 == 0 { MuscleCells::Hexes } else { MuscleCells::Tets },
                ..typical
            };
            match muscle(&params) {
                Ok(_) => made += 1,
                Err(error @ (MuscleError::FoldedCell { .. } | MuscleError::Mesh(_) | MuscleError::FlatCell { .. })) => {
                    panic!("{error}: {params:?}")
                }
                Err(_) => {}
            }
        }
    }
    assert!(made >= 35, "{made}");
    // Wider than long.
    let disc = MuscleParams {
        tendon: [0.13, 0.13],
        width: 0.2,
        cell: 0.004,
        cells: MuscleCells::Tets,
        ..MuscleParams::typical(MuscleShape::Fusiform)
    };
    let error = muscle(&disc).unwrap_err();
    assert!(matches!(error, MuscleError::FlatCell { .. }), "{error}");
}

#[test]
fn impossible_muscles_are_refused_with_the_reason() {
    let typical = MuscleParams::typical;
    for shape in SHAPES {
        let good = typical(shape);
        for bad in [
            MuscleParams { length: 0.0, ..good },
            MuscleParams { length: f64::NAN, ..good },
            MuscleParams { width: -0.1, ..good },
            MuscleParams { thickness: f64::INFINITY, ..good },
            MuscleParams { tendon: [0.05, 0.0], ..good },
            MuscleParams { tendon_width: 0.0, ..good },
            MuscleParams { cell: 0.0, ..good },
            MuscleParams { cell: 1e-9, ..good },
        ] {
            assert!(matches!(muscle(&bad), Err(MuscleError::Procedural(_))), "{bad:?}");
        }
        let error = muscle(&MuscleParams { tendon: [0.2, 0.2], ..good }).unwrap_err();
        assert!(matches!(error, MuscleError::TendonsTooLong { .. }), "{error}");
        for degrees in [-1.0, 90.0, 120.0, f64::NAN] {
            let error = muscle(&MuscleParams { pennation: f64::to_radians(degrees), ..good }).unwrap_err();
            assert!(
                matches!(error, MuscleError::Pennation { .. }) && error.to_string().contains("cos 90° = 0"),
                "{error}"
            );
        }
        let error = muscle(&MuscleParams { cell: 0.6 * good.thickness, ..good }).unwrap_err();
        assert!(matches!(error, MuscleError::CellTooCoarse { .. }), "{error}");
        let error = muscle(&MuscleParams { tendon_width: 1.1 * good.width, ..good }).unwrap_err();
        assert!(matches!(error, MuscleError::TendonTooWide { .. }), "{error}");
    }
    let error = muscle(&MuscleParams { tendon_width: 0.002, ..typical(MuscleShape::Fusiform) }).unwrap_err();
    assert!(matches!(error, MuscleError::CellTooCoarse { largest: 0.002, .. }), "{error}");
    for shape in [MuscleShape::Unipennate, MuscleShape::Bipennate] {
        for degrees in [0.0, 3.0] {
            let error = muscle(&MuscleParams { pennation: f64::to_radians(degrees), ..typical(shape) }).unwrap_err();
            assert!(matches!(error, MuscleError::FibersDoNotFit { .. }), "{error}");
        }
    }
    let thin = MuscleParams { width: 0.02, tendon_width: 0.02, cell: 0.004, ..typical(MuscleShape::Bipennate) };
    let error = muscle(&thin).unwrap_err();
    assert!(matches!(error, MuscleError::BellyTooThin { .. }), "{error}");
    let short = MuscleParams { tendon: [0.006, 0.05], ..typical(MuscleShape::Bipennate) };
    let error = muscle(&short).unwrap_err();
    assert!(matches!(error, MuscleError::OriginTendonTooShort { .. }), "{error}");
    assert!(muscle(&MuscleParams { pennation: 0.0, ..typical(MuscleShape::Fan) }).is_ok());
}
