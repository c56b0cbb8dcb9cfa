//! The volume of labels: that of their voxels.

use super::distance_field::{DistanceField, INSIDE};
use super::extent::VOLUME;
use super::options::FieldOptions;
use super::redistance::Trust;

/// Rounds in which the surface is moved.
const ROUNDS: usize = 3;
/// Part of the volume that may be missing.
const ERROR: f64 = 1e-3;
/// Farthest that the surface moves in a round \[voxels\].
const LARGEST_SHIFT: f64 = 0.25;
/// Distance of voxels that the surface does not pass \[voxels\].
const LEAST: f64 = 1e-3;

impl DistanceField {
    /// Volume of the voxels whose centers are inside \[m³\]: of a segmented image, the best guess there is, since noise
    /// adds as many as it takes.
    pub fn voxel_volume(&self) -> f64 {
        let whole = self.directory.iter().filter(|entry| **entry == INSIDE).count() * VOLUME;
        let stored = self.bricks.iter().flatten().filter(|value| **value < 0.0).count();
        (whole + stored) as f64 * self.grid.voxel.powi(3)
    }

    /// Moves the surface until it holds the volume of the voxels inside and some more \[m³\], that of specks which noise
    /// tore off. No voxel changes its side, so that what is one voxel thin does not vanish.
    pub fn keep_voxel_volume(&mut self, torn_off: f64) {
        let (wanted, h) = (self.voxel_volume() + torn_off, self.grid.voxel);
        let options = FieldOptions { band: self.band, ..FieldOptions::default() };
        for _ in 0..ROUNDS {
            let missing = wanted - self.volume();
            if missing.abs() <= ERROR * wanted {
                break;
            }
            let area = (self.volume_within(0.25 * h) - self.volume_within(-0.25 * h)) / (0.5 * h);
            let shift = (missing / area).clamp(-LARGEST_SHIFT * h, LARGEST_SHIFT * h);
            if !shift.is_finite() {
                break;
            }
            let (shift, limit, least) = (shift as f32, self.limit32(), (LEAST * h) as f32);
            let moved = |value: f32| match value - shift {
                _ if value.abs() >= limit => value,
                moved if (moved < 0.0) == (value < 0.0) => moved,
                _ if value < 0.0 => -least,
                _ => least,
            };
            *self = self.mapped(|_, value| moved(value)).redistanced(&options, Trust::Values(1.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use sinew_geometry::VoxelGrid;
    use sinew_math::Vec3;

    use super::*;
    use crate::Labels;
    use crate::field::LabelOptions;

    /// Balls whose boundary jumps by up to half a voxel, and a sheet of one voxel.
    fn noisy(radius: f64, count: usize) -> Vec<u16> {
        let middle = (count - 1) as f64 / 2.0;
        let jump = |i: usize| ((i as f64 * 0.754_877).fract() - 0.5) * 1.2;
        let is_inside = |i: usize| {
            let at = Vec3::new((i % count) as f64, (i / count % count) as f64, (i / count / count) as f64);
            (at - Vec3::splat(middle)).norm() < radius + jump(i)
        };
        (0..count.pow(3)).map(|i| u16::from(is_inside(i))).collect()
    }

    #[test]
    fn volume_of_noisy_labels_is_that_of_their_voxels() {
        for radius in [4.3, 9.1] {
            let voxels = noisy(radius, 28);
            let grid = VoxelGrid::cubic([28; 3], Vec3::zero(), 2e-3);
            let labels = Labels { grid, voxels: &voxels };
            let mut field = DistanceField::from_labels(&labels, &[1], &LabelOptions::default()).unwrap();
            let counted = voxels.iter().filter(|label| **label == 1).count() as f64 * 8e-9;
            assert!((field.voxel_volume() / counted - 1.0).abs() < 1e-12);
            let start = field.clone();
            field.keep_voxel_volume(0.0);
            assert!((field.volume() / counted - 1.0).abs() < 4e-3, "{} {counted}", field.volume());
            assert!((field.voxel_volume() / counted - 1.0).abs() < 1e-12, "no voxel changes its side");
            field = start;
            field.keep_voxel_volume(0.03 * counted);
            assert!((field.volume() / counted - 1.03).abs() < 4e-3, "{} {counted}", field.volume());
            assert!((field.voxel_volume() / counted - 1.0).abs() < 1e-12, "no voxel changes its side");
        }
    }

    #[test]
    fn a_sheet_of_one_voxel_stays() {
        let voxels: Vec<u16> = (0..16 * 16 * 8).map(|i| u16::from(i / 256 == 4)).collect();
        let labels = Labels { grid: VoxelGrid::cubic([16, 16, 8], Vec3::zero(), 1e-3), voxels: &voxels };
        let mut field = DistanceField::from_labels(&labels, &[1], &LabelOptions::default()).unwrap();
        field.keep_voxel_volume(0.0);
        assert_eq!(field.parts().len(), 1);
        assert!((field.volume() / 256e-9 - 1.0).abs() < 0.1, "{}", field.volume());
    }
}
