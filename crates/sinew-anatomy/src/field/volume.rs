//! Volume of what is inside of a field.

use sinew_math::parallel::prelude::*;

use super::distance_field::{DistanceField, INSIDE};
use super::extent::VOLUME;

impl DistanceField {
    /// Volume inside \[m³\]: the part of each voxel below its tangent plane, of second order in the edge of the voxels.
    pub fn volume(&self) -> f64 {
        self.volume_within(0.0)
    }

    /// Volume where φ < `level` \[m³\], for levels of less than the limit.
    pub fn volume_within(&self, level: f64) -> f64 {
        let bricks = self.slot_bricks();
        let parts: Vec<f64> =
            bricks.par_iter().enumerate().map(|(slot, brick)| self.brick_voxels(slot, *brick, level)).collect();
        let whole = self.directory.iter().filter(|entry| **entry == INSIDE).count() * VOLUME;
        (whole as f64 + parts.iter().sum::<f64>()) * self.grid.voxel.powi(3)
    }

    /// Volume of a brick in voxels.
    fn brick_voxels(&self, slot: usize, brick: [i32; 3], level: f64) -> f64 {
        let (h, near) = (self.grid.voxel, (1.5 * self.grid.voxel) as f32);
        // Without a value close to the level every voxel is whole or empty.
        if !self.bricks[slot].iter().any(|v| (v - level as f32).abs() < near) {
            return self.bricks[slot].iter().filter(|v| f64::from(**v) < level).count() as f64;
        }
        let values = self.neighborhood(brick);
        let voxel = |local: usize| {
            let at = 111 + (local & 7) + 10 * (local >> 3 & 7) + 100 * (local >> 6);
            // The mean over the voxel, not its center: else curved surfaces keep the part beyond their tangent planes.
            let sum: f32 = [1, 10, 100].iter().map(|stride| values[at + stride] + values[at - stride]).sum();
            let mean = f64::from(values[at] + (sum - 6.0 * values[at]) / 24.0);
            let value = (mean - level) / h;
            let slope = |stride: usize| f64::from(values[at + stride] - values[at - stride]) / (2.0 * h);
            if value.abs() > 1.5 {
                f64::from(u8::from(value < 0.0))
            } else {
                part_below(value, [1, 10, 100].map(slope))
            }
        };
        (0..VOLUME).map(voxel).sum()
    }
}

/// The part of the unit cube around the origin where value + slope · x < 0.
///
/// With m = |slope| and α = ½ Σ m − value it is (α³ − Σ ⟨α − mᵢ⟩³ + Σ ⟨α − mᵢ − mⱼ⟩³ − ⟨α − Σ m⟩³)/(6 m₁ m₂ m₃),
/// ⟨x⟩ = max(x, 0): corners of cubes, by inclusion and exclusion.
fn part_below(value: f64, slope: [f64; 3]) -> f64 {
    let largest = slope.iter().fold(0.0f64, |a, s| a.max(s.abs()));
    if !(largest > 1e-6) {
        return f64::from(u8::from(value < 0.0));
    }
    // Slopes of less than a thousandth change the part by less than a millionth, and would divide by zero.
    let m = slope.map(|s| s.abs().max(1e-3 * largest));
    let sum: f64 = m.iter().sum();
    let alpha = 0.5 * sum - value;
    if alpha <= 0.0 || alpha >= sum {
        return f64::from(u8::from(alpha > 0.0));
    }
    let cube = |x: f64| x.max(0.0).powi(3);
    let ones: f64 = m.iter().map(|m| cube(alpha - m)).sum();
    let twos: f64 = m.iter().map(|m| cube(alpha - (sum - m))).sum();
    ((cube(alpha) - ones + twos) / (6.0 * m[0] * m[1] * m[2])).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use sinew_math::Vec3;

    use super::*;
    use crate::primitives::{Capsule, Cuboid};

    /// Against counting: a grid of 40³ points in the cube.
    #[test]
    fn part_below_a_plane_equals_counting() {
        for (value, slope) in
            [(0.1, [0.3, 0.5, 0.8]), (-0.4, [1.0, 0.0, 0.0]), (0.0, [-0.7, 0.7, 0.1]), (0.7, [0.6; 3])]
        {
            let n = 40;
            let x = |i: usize| (i as f64 + 0.5) / n as f64 - 0.5;
            let below =
                |i: usize| value + slope[0] * x(i % n) + slope[1] * x(i / n % n) + slope[2] * x(i / n / n) < 0.0;
            let counted = (0..n * n * n).filter(|&i| below(i)).count() as f64 / (n * n * n) as f64;
            // A layer of points is 1/40, half of which may be counted wrongly along an axis.
            assert!((part_below(value, slope) - counted).abs() < 0.013, "{value} {slope:?}");
        }
    }

    #[test]
    fn volume_of_a_capsule_is_right_to_a_thousandth_at_five_voxels() {
        let exact = std::f64::consts::PI * 0.01f64.powi(2) * (0.03 + 4.0 / 3.0 * 0.01);
        let body = Capsule { ends: [Vec3::zero(), Vec3::new(0.01, 0.02, 0.02)], radius: 0.01 };
        let error = |h: f64| (DistanceField::from_solid(&body, h).unwrap().volume() / exact - 1.0).abs();
        let (coarse, fine) = (error(2e-3), error(0.5e-3));
        // Of second order, with a small constant: the mean over the voxel cancels the curvature. Placement makes it jump.
        assert!(coarse < 1e-3 && fine < 1e-3 / 16.0, "{coarse} {fine}");
    }

    #[test]
    fn volume_within_a_level_is_that_of_the_grown_body() {
        let cube = Cuboid { center: Vec3::zero(), axes: sinew_math::Mat3::identity(), half: Vec3::splat(0.01) };
        let field = DistanceField::from_solid(&cube, 1e-3).unwrap();
        assert!((field.volume() / 8e-6 - 1.0).abs() < 0.01);
        // A voxel at an edge is cut by a plane: 12 edges of 16 voxels lose a quarter of a voxel each.
        assert!((field.volume_within(-2e-3) / 4.096e-6 - 1.0).abs() < 0.015, "{}", field.volume_within(-2e-3));
    }
}
