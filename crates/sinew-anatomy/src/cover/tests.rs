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
        assert_volume(&cover, &fine, 1e-12);
    }
}
