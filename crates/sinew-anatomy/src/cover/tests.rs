//! Counts of \[Teran05, Fig. 9\] and invariants.

use sinew_geometry::procedural::{MuscleCells, MuscleParams, MuscleShape, TetPattern, box_tets, muscle};
use sinew_geometry::{CellMesh, Embedding};
use sinew_math::{Mat3, Vec3};

use super::*;
use crate::mesher::Lattice;

/// Lattice cells of spacing `h` whose centroid is inside, in a box of cubes around the origin.
fn body(h: f64, low: [i32; 3], high: [i32; 3], inside: impl Fn(Vec3) -> bool) -> CellMesh {
    let lattice = Lattice { cell: h };
    let mut numbers = std::collections::BTreeMap::new();
    let (mut positions, mut tets) = (Vec::new(), Vec::new());
    for x in low[0]..high[0] {
        for y in low[1]..high[1] {
            for z in low[2]..high[2] {
                for cell in lattice.cells_of([x, y, z]) {
                    let corners = cell.map(|node| lattice.position(node));
                    if inside(corners.into_iter().sum::<Vec3>() * 0.25) {
                        tets.push(cell.map(|node| {
                            *numbers.entry(node).or_insert_with(|| {
                                positions.push(lattice.position(node));
                                positions.len() as u32 - 1
                            })
                        }));
                    }
                }
            }
        }
    }
    CellMesh::from_tets(positions, &tets).unwrap().0
}

fn in_box(p: Vec3) -> bool {
    p.min_component() > 0.0 && p.x < 3.0 && p.y < 1.6 && p.z < 1.0
}

fn brick(keep: impl Fn(Vec3) -> bool) -> CellMesh {
    body(0.125, [-1; 3], [25, 14, 9], |p| in_box(p) && keep(p))
}

fn counts(cover: &Cover) -> [usize; 4] {
    [cover.report.cells, cover.report.nodes, cover.report.components, cover.report.fine_components]
}

/// Weights sum to one and reproduce every affine map: x ↦ A x + b at the coarse nodes gives A x + b at the fine ones.
fn assert_carries(cover: &Cover, fine: &CellMesh) {
    let map = Mat3::new([[1.2, 0.3, -0.1], [0.0, 0.7, 0.4], [0.2, -0.5, 1.1]]);
    let moved: Vec<Vec3> = cover.mesh.positions().iter().map(|x| map * *x + Vec3::splat(0.3)).collect();
    let mut carried = vec![Vec3::zero(); fine.node_count()];
    cover.embedding.positions(&moved, &mut carried);
    for (node, (x, y)) in fine.positions().iter().zip(&carried).enumerate() {
        let (_, weights) = cover.embedding.entries(node);
        assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-14);
        // Weights at rounding level are left out.
        assert!((map * *x + Vec3::splat(0.3)).distance(*y) < 1e-11);
    }
}

/// Every part of the material is in one coarse cell: the volumes add up.
fn assert_volume(cover: &Cover, fine: &CellMesh, tolerance: f64) {
    let sum: f64 = cover.material_volumes().iter().sum();
    assert!((sum / fine.volume() - 1.0).abs() < tolerance, "{sum} {}", fine.volume());
    assert!(cover.volume_fractions().iter().all(|f| *f > 0.0 && *f <= 1.0));
}

/// The table of TER-E7: coarse cells, nodes, components, for bodies of cells eight times smaller.
#[test]
fn counts_are_those_of_the_document() {
    let slot = |p: Vec3| p.y > 0.7 && p.y < 0.9;
    let cases: [(&str, CellMesh, [usize; 4]); 4] = [
        ("box", brick(|_| true), [116, 52, 1, 1]),
        ("slot", brick(|p| !(slot(p) && p.x > 1.0)), [132, 66, 1, 1]),
        ("cut", brick(|p| !slot(p)), [142, 78, 2, 2]),
        ("ball", body(0.125, [-13; 3], [13; 3], |p| p.norm_squared() < 2.2), [336, 113, 1, 1]),
    ];
    for (name, fine, expected) in cases {
        let cover = Cover::build(&fine, 1.0).unwrap();
        assert_eq!(counts(&cover), expected, "{name}");
        assert_carries(&cover, &fine);
        // Rounding of the sums over up to 160,000 cells.
        assert_volume(&cover, &fine, 1e-11);
    }
}

/// Cells of the coarse mesh that hold fine cells chosen by their middle.
fn coarse_cells_of(cover: &Cover, fine: &CellMesh, holds: impl Fn(Vec3) -> bool) -> Vec<u32> {
    let mut cells: Vec<u32> = (0..fine.cell_count())
        .filter(|cell| {
            let nodes = fine.cell_nodes(*cell);
            holds(nodes.iter().map(|n| fine.positions()[*n as usize]).sum::<Vec3>() * 0.25)
        })
        .flat_map(|cell| cover.cells_of_fine(cell).iter().copied())
        .collect();
    cells.sort_unstable();
    cells.dedup();
    cells
}

/// Two fingers within one lattice cell, joined at the palm: copies at the tips share no node.
#[test]
fn fingers_in_one_cell_move_apart() {
    let fingers =
        |p: Vec3| p.x > 0.0 && p.x < 3.0 && p.z.abs() < 0.2 && p.y.abs() < 0.3 && (p.x < 1.0 || p.y.abs() > 0.1);
    let fine = body(0.125, [-1, -4, -3], [26, 4, 3], fingers);
    let cover = Cover::build(&fine, 1.0).unwrap();
    assert_eq!([cover.report.components, cover.report.fine_components], [1, 1]);
    let nodes = |side: f64| {
        let cells = coarse_cells_of(&cover, &fine, |x| x.x > 2.2 && x.y * side > 0.1);
        cells.iter().flat_map(|cell| cover.mesh.cell_nodes(*cell as usize)).copied().collect::<Vec<u32>>()
    };
    let (left, right) = (nodes(1.0), nodes(-1.0));
    assert!(left.iter().all(|node| !right.contains(node)));
    assert!(cover.report.cells > cover.report.lattice_cells);
    assert_carries(&cover, &fine);
}

/// Bodies that touch without a common node, and bodies a tenth of a cell apart, stay apart however coarse the cover is.
#[test]
fn neighbors_without_a_common_node_stay_apart() {
    let brick = box_tets(Vec3::new(0.5, 0.3, 0.3), [10, 6, 6], TetPattern::Kuhn).unwrap();
    for gap in [0.0, 0.003] {
        let count = brick.node_count() as u32;
        let mut positions = brick.positions().to_vec();
        positions.extend(brick.positions().iter().map(|x| *x + Vec3::unit(1) * (0.3 + gap)));
        let mut tets: Vec<[u32; 4]> = brick.cells().map(|(_, n)| [n[0], n[1], n[2], n[3]]).collect();
        tets.extend(tets.clone().iter().map(|tet| tet.map(|n| n + count)));
        let two = CellMesh::from_tets(positions, &tets).unwrap().0;
        for size in [0.13, 0.4, 2.0] {
            let cover = Cover::build(&two, size).unwrap();
            assert_eq!([cover.report.components, cover.report.fine_components], [2, 2], "{gap} {size}");
            assert_carries(&cover, &two);
        }
    }
}

/// A thread and a sheet of one fine cell, far thinner than a coarse cell, in any direction: one piece, without copies.
#[test]
fn thin_parts_stay_in_one_piece() {
    let thread = box_tets(Vec3::new(1.0, 0.01, 0.01), [80, 1, 1], TetPattern::Kuhn).unwrap();
    let sheet = box_tets(Vec3::new(0.6, 0.6, 0.01), [24, 24, 1], TetPattern::Kuhn).unwrap();
    let turn = Mat3::from_columns(Vec3::new(0.8, 0.36, 0.48), Vec3::new(-0.6, 0.48, 0.64), Vec3::new(0.0, -0.8, 0.6));
    for mesh in [thread, sheet] {
        for turned in [mesh.clone(), mesh.mapped(|x| turn * x + Vec3::new(0.013, 0.4, -0.21)).unwrap().0] {
            let cover = Cover::build(&turned, 0.1).unwrap();
            assert_eq!([cover.report.components, cover.report.fine_components], [1, 1]);
            // A convex body: every lattice cell holds one piece of it.
            assert_eq!(cover.report.cells, cover.report.lattice_cells);
            assert_carries(&cover, &turned);
            assert_volume(&cover, &turned, 1e-6);
        }
    }
}

/// Meshes that do not nest in the lattice, finer and coarser than it: material and components are kept, and a convex
/// body has no copies.
#[test]
fn meshes_that_do_not_nest_are_cut() {
    let turn = Mat3::from_columns(Vec3::new(0.6, 0.8, 0.0), Vec3::new(-0.8, 0.6, 0.0), Vec3::unit(2));
    let brick = box_tets(Vec3::new(0.5, 0.3, 0.2), [10, 6, 4], TetPattern::Bcc).unwrap();
    let brick = brick.mapped(|x| turn * x + Vec3::new(0.01, 0.02, 0.03)).unwrap().0;
    for size in [0.03, 0.11, 0.3] {
        let cover = Cover::build(&brick, size).unwrap();
        assert_eq!([cover.report.components, cover.report.fine_components], [1, 1]);
        assert_eq!(cover.report.cells, cover.report.lattice_cells, "{size}");
        assert_carries(&cover, &brick);
        assert_volume(&cover, &brick, 1e-6);
    }
}

/// A ball whose boundary nodes were moved toward the sphere, as meshers do: its outer cells do not nest any more. It is
/// nearly convex, so it stays in one piece and gets no copies.
#[test]
fn a_mesh_with_a_moved_boundary_keeps_its_counts() {
    let plain = body(0.125, [-13; 3], [13; 3], |p| p.norm_squared() < 2.2);
    let mut moved = plain.positions().to_vec();
    for node in plain.boundary_nodes() {
        let x = &mut moved[node as usize];
        *x += x.normalized() * (2.2_f64.sqrt() - x.norm()).clamp(-0.025, 0.025);
    }
    let tets: Vec<[u32; 4]> = plain.cells().map(|(_, n)| [n[0], n[1], n[2], n[3]]).collect();
    let (fine, report) = CellMesh::from_tets(moved, &tets).unwrap();
    assert!(report.flipped_cells.is_empty());
    let cover = Cover::build(&fine, 1.0).unwrap();
    assert_eq!([cover.report.components, cover.report.fine_components], [1, 1]);
    assert_eq!(cover.report.cells, cover.report.lattice_cells);
    // Outer cells reach into a few more lattice cells than before.
    assert!((336..400).contains(&cover.report.cells), "{}", cover.report.cells);
    assert_carries(&cover, &fine);
    // Corners that stick out by 1e-4 of a lattice cell count as inside.
    assert_volume(&cover, &fine, 1e-6);
}

/// The heads of a biceps share no coarse node until they join in the belly.
#[test]
fn heads_of_a_biceps_are_apart_in_the_cover() {
    let typical = MuscleParams::typical(MuscleShape::TwoHeaded);
    let biceps = muscle(&MuscleParams { cells: MuscleCells::Tets, ..typical }).unwrap();
    let fine = biceps.mesh;
    for size in [0.01, 0.02, 0.04] {
        let cover = Cover::build(&fine, size).unwrap();
        assert_eq!([cover.report.components, cover.report.fine_components], [1, 1]);
        let heads: Vec<&Vec<u32>> =
            fine.node_sets().iter().filter(|(name, _)| name.starts_with("origin-")).map(|(_, n)| n).collect();
        assert_eq!(heads.len(), 2, "{:?}", fine.node_sets().keys());
        let [first, second] = [0, 1].map(|k| cover.project_nodes(heads[k]).unwrap());
        assert!(first.iter().all(|node| !second.contains(node)), "{size}");
        assert_carries(&cover, &fine);
    }
}

/// Cutting a mesh in two along its faces: the nodes of the cut are doubled, and so are the coarse ones, which stay where
/// they were.
#[test]
fn a_cut_separates_the_cover_and_keeps_positions() {
    let fine = brick(|_| true);
    let before = Cover::build(&fine, 1.0).unwrap();
    let cut_at =
        |cell: usize| fine.cell_nodes(cell).iter().map(|n| fine.positions()[*n as usize].x).sum::<f64>() * 0.25 > 1.3;
    let count = fine.node_count() as u32;
    let positions = fine.positions().iter().chain(fine.positions()).copied().collect();
    let tets: Vec<[u32; 4]> = (0..fine.cell_count())
        .map(|cell| [0, 1, 2, 3].map(|i| fine.cell_nodes(cell)[i] + if cut_at(cell) { count } else { 0 }))
        .collect();
    let (cut, _) = CellMesh::from_tets(positions, &tets).unwrap();
    let same: Vec<u32> = (0..fine.cell_count() as u32).collect();
    let after = before.redo(&cut, &same).unwrap();
    assert_eq!([after.cover.report.components, after.cover.report.fine_components], [2, 2]);
    assert!(after.cover.report.nodes > before.report.nodes);
    let bend = |x: &Vec3| Vec3::new(x.x, x.y + 0.3 * x.x * x.x, x.z);
    let moved: Vec<Vec3> = before.mesh.positions().iter().map(bend).collect();
    for (x, y) in after.cover.mesh.positions().iter().zip(after.carried(&moved)) {
        assert!(bend(x).distance(y) < 1e-12);
    }
    assert!(before.redo(&cut, &same[1..]).is_err());
    let beyond = vec![same.len() as u32; same.len()];
    assert!(matches!(before.redo(&cut, &beyond), Err(CoverError::OutOfRange { .. })));
}

/// Location by arithmetic finds the cells that a search through all finds.
#[test]
fn points_are_located_in_constant_time() {
    let fine = brick(|p| !(p.y > 0.7 && p.y < 0.9 && p.x > 1.0));
    let cover = Cover::build(&fine, 1.0).unwrap();
    let mut found_some = 0;
    for i in 0..2000_u32 {
        let part = |prime: u32| f64::from(i * prime % 1009) / 1009.0;
        let p = Vec3::new(5.0 * part(1) - 1.0, 3.0 * part(367) - 0.7, 2.0 * part(101) - 0.5);
        let inside = |cell: &usize| cover.lattice_cells()[*cell].weights(p * 2.0).iter().all(|w| *w > 1e-9);
        let all: Vec<usize> = (0..cover.mesh.cell_count()).filter(inside).collect();
        let found: Vec<usize> = cover.locate(p).collect();
        // Points on faces belong to one of their cells.
        assert!(all.is_empty() || found == all, "{p:?}: {found:?} {all:?}");
        found_some += usize::from(!all.is_empty());
    }
    assert!(found_some > 300, "{found_some}");
    assert!(cover.locate(Vec3::splat(f64::NAN)).is_empty());
    assert!(cover.locate(Vec3::splat(1e30)).is_empty());
}

/// A point on the boundary of a prong is bound to the copy of that prong, where `Embedding::bind` takes the first copy.
#[test]
fn points_are_bound_to_their_own_fragment() {
    let fine = brick(|p| !(p.y > 0.7 && p.y < 0.9));
    let cover = Cover::build(&fine, 1.0).unwrap();
    let components = fine.components();
    let coarse = cover.mesh.components();
    let (surface, nodes) = fine.boundary_surface().unwrap();
    let node_cells = fine.node_cells();
    let cells: Vec<u32> = nodes.iter().map(|node| node_cells.cells(*node as usize)[0]).collect();
    let bound = cover.bind(surface.positions(), &cells).unwrap();
    let side_of = |coarse_cell: u32| coarse.component_of[coarse_cell as usize];
    let side_of_first = side_of(cover.cells_of_fine(0)[0]);
    for (cell, coarse_cell) in cells.iter().zip(bound.cells()) {
        let is_first = components.component_of[*cell as usize] == components.component_of[0];
        assert_eq!(is_first, side_of(*coarse_cell) == side_of_first);
    }
    let mut back = vec![Vec3::zero(); bound.len()];
    bound.positions(cover.mesh.positions(), &mut back);
    assert!(back.iter().zip(surface.positions()).all(|(x, y)| x.distance(*y) < 1e-12));
    // Several points have other copies in the plain search.
    let plain = Embedding::bind(&cover.mesh, surface.positions()).unwrap();
    assert!(plain.cells().iter().zip(bound.cells()).any(|(a, b)| side_of(*a) != side_of(*b)));
    assert!(cover.bind(&[Vec3::zero()], &[]).is_err());
    assert!(cover.bind(&[Vec3::splat(f64::NAN)], &[0]).is_err());
    assert!(matches!(cover.bind(&[Vec3::zero()], &[u32::MAX]), Err(CoverError::OutOfRange { .. })));
}

/// Constant fields come back, linear ones have the right total, signs of fibers do not matter, and Rᵀ f lies in the rest
/// shape as f lies in the cell.
#[test]
fn properties_are_projected_by_volume() {
    let fine = brick(|_| true);
    let cover = Cover::build(&fine, 1.0).unwrap();
    let n = fine.cell_count();
    let middles: Vec<Vec3> = (0..n)
        .map(|cell| fine.cell_nodes(cell).iter().map(|node| fine.positions()[*node as usize]).sum::<Vec3>() * 0.25)
        .collect();
    // Density 1000 + 60 x: the mass of the box is 1000 V + 60 V 1.5 up to its jagged sides, which are compared exactly.
    let density: Vec<f64> = middles.iter().map(|x| 1000.0 + 60.0 * x.x).collect();
    let mass: f64 = density.iter().zip(fine.cell_volumes()).map(|(d, v)| d * v).sum();
    // Cells of 0.83 cut those of the fine mesh into unequal parts.
    for size in [1.0, 0.83] {
        let cover = Cover::build(&fine, size).unwrap();
        let projected = cover.project_values(&density).unwrap();
        let coarse_mass: f64 = projected.iter().zip(cover.material_volumes()).map(|(d, v)| d * v).sum();
        assert!((coarse_mass / mass - 1.0).abs() < 1e-9, "{size}: {coarse_mass} {mass}");
    }

    let f = Vec3::new(1.0, 2.0, -0.5).normalized();
    let fibers: Vec<Vec3> = (0..n).map(|cell| if cell % 3 == 0 { -f } else { f }).collect();
    let projected = cover.project_fibers(&fibers).unwrap();
    assert!(projected.iter().all(|g| g.cross(f).norm() < 1e-12 && (g.norm() - 1.0).abs() < 1e-12));
    for (cell, g) in cover.reference_fibers(&projected).unwrap().iter().enumerate() {
        let nodes = cover.mesh.cell_nodes(cell);
        let x = [0, 1, 2, 3].map(|i| cover.mesh.positions()[nodes[i] as usize]);
        let edges = Mat3::from_columns(x[1] - x[0], x[2] - x[0], x[3] - x[0]);
        let (local, rest) = (edges.inverse() * projected[cell], rest_edges(1.0).inverse() * *g);
        assert!(local.distance(rest) < 1e-12);
    }

    let tendon: Vec<u32> = (0..n as u32).filter(|cell| middles[*cell as usize].x > 1.7).collect();
    let fraction = cover.project_fraction(&tendon).unwrap();
    let any = cover.project_cells(&tendon, Membership::Any).unwrap();
    let most = cover.project_cells(&tendon, Membership::Majority).unwrap();
    assert!(most.len() < any.len() && any.iter().all(|cell| fraction[*cell as usize] > 0.0));
    assert!(most.iter().all(|cell| fraction[*cell as usize] > 0.5));
    let labels: Vec<u32> = middles.iter().map(|x| if x.x > 1.7 { 9 } else { 4 }).collect();
    let labels = cover.project_labels(&labels).unwrap();
    assert!(
        (0..labels.len())
            .all(|cell| (labels[cell] == 9) == (fraction[cell] > 0.5) || (fraction[cell] - 0.5).abs() < 1e-9)
    );
    assert!(matches!(cover.project_values(&density[1..]), Err(CoverError::WrongCount { .. })));
    assert!(matches!(cover.project_fraction(&[n as u32]), Err(CoverError::OutOfRange { .. })));
    assert!(matches!(cover.project_nodes(&[u32::MAX]), Err(CoverError::OutOfRange { .. })));
}

#[test]
fn one_thread_and_four_give_the_same_cover() {
    let fine = brick(|p| !(p.y > 0.7 && p.y < 0.9 && p.x > 1.0));
    let build = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| Cover::build(&fine, 0.6).unwrap())
    };
    let (one, four) = (build(1), build(4));
    assert_eq!(one.mesh, four.mesh);
    assert_eq!(one.embedding, four.embedding);
    assert_eq!(one.material_volumes(), four.material_volumes());
}

#[test]
fn what_cannot_be_covered_is_told() {
    let fine = box_tets(Vec3::splat(0.1), [2; 3], TetPattern::Kuhn).unwrap();
    for size in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(Cover::build(&fine, size), Err(CoverError::Size { .. })));
    }
    let Err(CoverError::TooFine { fitting, .. }) = Cover::build(&fine, 1e-6) else { panic!("built") };
    assert!(fitting > 1e-6 && fitting < 1e-2);
    assert!(matches!(Cover::build(&fine, 1e-12), Err(CoverError::TooFine { .. })));
    let quadratic = fine.to_quadratic().unwrap();
    assert_eq!(Cover::build(&quadratic, 0.1).unwrap_err(), CoverError::NotTets { cell: 0 });
    let far = fine.mapped(|x| x + Vec3::splat(1e9)).unwrap().0;
    assert!(matches!(Cover::build(&far, 0.1), Err(CoverError::TooFine { .. })));
}

/// What is held ends at the last nodes before the attachment ends, which are half a coarse cell apart, and not a cell beyond
/// it as the nodes that carry some of it do.
#[test]
fn attachments_are_held_no_farther_than_they_reach() {
    let fine = body(0.125, [-1; 3], [49, 17, 17], |p| p.min_component() > 0.0 && p.x < 6.0 && p.y < 2.0 && p.z < 2.0);
    let cover = Cover::build(&fine, 1.0).unwrap();
    let boundary = fine.boundary_nodes();
    let end = |nodes: &[u32]| nodes.iter().map(|n| cover.mesh.positions()[*n as usize].x).fold(f64::MIN, f64::max);
    let (mut held, mut carrying) = (0.0, 0.0);
    let ends: Vec<f64> = (0..16).map(|k| 2.0 + 0.125 * f64::from(k)).collect();
    for x in &ends {
        let set: Vec<u32> = boundary.iter().copied().filter(|n| fine.positions()[*n as usize].x <= *x).collect();
        let nodes = cover.holding_nodes(&fine, &set).unwrap();
        assert!((-0.55..0.1).contains(&(end(&nodes) - x)), "{x}: {}", end(&nodes));
        held += (end(&nodes) - x) / ends.len() as f64;
        carrying += (end(&cover.project_nodes(&set).unwrap()) - x) / ends.len() as f64;
    }
    assert!(held.abs() < 0.35 && carrying > 0.4, "{held} {carrying}");
    // All of the boundary holds all that carries it; a single node holds enough that nothing turns about it.
    let all = cover.holding_nodes(&fine, &boundary).unwrap();
    assert_eq!(all, cover.project_nodes(&boundary).unwrap());
    let single = boundary.iter().find(|n| cover.embedding.entries(**n as usize).0.len() > LEAST_HELD).unwrap();
    assert_eq!(cover.holding_nodes(&fine, &[*single]).unwrap().len(), LEAST_HELD);
    assert!(matches!(cover.holding_nodes(&fine, &[u32::MAX]), Err(CoverError::OutOfRange { .. })));
}
