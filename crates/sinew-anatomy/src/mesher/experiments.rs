//! Experiments of the documents that end in a mesh, at a size for every day.

use sinew_geometry::VoxelGrid;
use sinew_math::Vec3;

use super::compress::{CompressOptions, mesh_compressed};
use super::shapes::Random;
use crate::field::csg::Operation;
use crate::field::{DistanceField, Keep, LabelOptions, SmoothOptions, smooth_together};
use crate::primitives::Capsule;
use crate::{Labels, Solid};

const VOXEL: f64 = 1e-3;
const SIZE: [usize; 3] = [44, 44, 110];

/// The belly of the phantom, and the tendon that its labels do not have.
fn belly_and_tendon() -> (Capsule, Capsule) {
    let place = |x: f64, y: f64, z: f64| Vec3::new(x, y, z) * VOXEL;
    let belly = Capsule { ends: [place(21.2, 22.1, 22.3), place(22.4, 21.3, 60.8)], radius: 13.0 * VOXEL };
    let tendon = Capsule { ends: [place(22.2, 21.5, 56.0), place(24.0, 20.0, 98.0)], radius: 5.0 * VOXEL };
    (belly, tendon)
}

/// Labels of a solid, with a part of the voxels turned over.
fn noisy_labels(solid: &dyn Solid, noise: f64) -> Vec<u16> {
    let grid = VoxelGrid::cubic(SIZE, Vec3::zero(), VOXEL);
    let mut random = Random::new(17);
    let mut labels = Vec::with_capacity(grid.len());
    for k in 0..SIZE[2] {
        for j in 0..SIZE[1] {
            for i in 0..SIZE[0] {
                let is_in = solid.distance(grid.to_world(Vec3::new(i as f64, j as f64, k as f64))) < 0.0;
                labels.push(u16::from(is_in != (random.unit() < noise)));
            }
        }
    }
    labels
}

/// Volume of the union of two solids by counting the centers of small cubes \[m³\].
fn volume_of_union(a: &dyn Solid, b: &dyn Solid) -> f64 {
    let step = 0.5 * VOXEL;
    let [nx, ny, nz] = SIZE.map(|count| 2 * count as i32);
    let mut inside = 0_u32;
    for k in 0..nz {
        for j in 0..ny {
            for i in 0..nx {
                let p = Vec3::new(f64::from(i), f64::from(j), f64::from(k)) * step;
                inside += u32::from(a.distance(p).min(b.distance(p)) < 0.0);
            }
        }
    }
    f64::from(inside) * step.powi(3)
}

/// SIF-E1 and TER-E2: a belly from labels with 5 % of noise, its islands and holes repaired, smoothed, the missing
/// tendon added by a union: one piece from end to end, within 2 % of the volume of the union, no angle below 10°.
#[test]
fn noisy_labels_and_a_missing_tendon_become_one_muscle() {
    let (belly, tendon) = belly_and_tendon();
    let voxels = noisy_labels(&belly, 0.05);
    let labels = Labels { grid: VoxelGrid::cubic(SIZE, Vec3::zero(), VOXEL), voxels: &voxels };
    let mut field = DistanceField::from_labels(&labels, &[1], &LabelOptions::default()).unwrap();
    field.keep_parts(&Keep::Largest(1));
    field.fill_holes(None);
    let mut fields = [field];
    smooth_together(&mut fields, &SmoothOptions { time: 1.0, ..SmoothOptions::default() }).unwrap();
    let [mut field] = fields;
    field.combine(Operation::Union, &tendon).unwrap();
    let made = mesh_compressed(&field, &CompressOptions::new(2.0 * VOXEL)).unwrap();
    assert_eq!(made.mesh.components().count, 1);
    assert!(made.report.min_dihedral.to_degrees() > 10.0);
    assert!(made.mesh.boundary_surface().unwrap().0.is_closed());
    let share = made.mesh.volume() / volume_of_union(&belly, &tendon);
    assert!((share - 1.0).abs() < 0.02, "{share}");
    // Origin and insertion: the far ends of belly and tendon.
    let z = || made.mesh.positions().iter().map(|x| x.z / VOXEL);
    assert!(z().fold(f64::INFINITY, f64::min) < 10.5 && z().fold(0.0, f64::max) > 101.5);
}
