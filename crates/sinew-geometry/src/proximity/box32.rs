//! Bounding boxes in single precision, rounded outward: half the memory, and one vector register per corner.

use sinew_math::Vec3;

use super::box_tree::Bounds;

/// Coordinates \[m\] are clamped to this, so that single precision does not overflow.
const LIMIT: f64 = 1e30;

/// A box; the fourth component is zero, so a corner fills a vector register.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(32))]
pub(super) struct Box32 {
    lower: [f32; 4],
    upper: [f32; 4],
}

impl Box32 {
    /// The smallest such box around the box from `min` to `max`.
    #[inline(always)]
    pub fn new(min: Vec3, max: Vec3) -> Self {
        let mut bounds = Self { lower: [0.0; 4], upper: [0.0; 4] };
        for axis in 0..3 {
            bounds.lower[axis] = -round_up(-min[axis]);
            bounds.upper[axis] = round_up(max[axis]);
        }
        bounds
    }

    /// For each axis, whether all of this box lies beyond the other; true for NaN.
    #[inline(always)]
    pub fn beyond(&self, other: &Self) -> [bool; 4] {
        std::array::from_fn(|axis| is_beyond(self.lower[axis], other.upper[axis]))
    }

    /// Lower and upper corner.
    #[inline(always)]
    pub const fn corners(&self) -> [[f32; 3]; 2] {
        let ([a, b, c, _], [d, e, f, _]) = (self.lower, self.upper);
        [[a, b, c], [d, e, f]]
    }

    /// The lower end along the first axis.
    pub fn lower_x(&self) -> f32 {
        self.lower[0]
    }

    /// The upper end along the first axis.
    pub fn upper_x(&self) -> f32 {
        self.upper[0]
    }
}

impl Bounds for Box32 {
    const EMPTY: Self = {
        const INF: f32 = f32::INFINITY;
        Self { lower: [INF, INF, INF, 0.0], upper: [-INF, -INF, -INF, 0.0] }
    };

    #[inline(always)]
    fn union(&self, other: &Self) -> Self {
        Self {
            lower: std::array::from_fn(|i| smaller(self.lower[i], other.lower[i])),
            upper: std::array::from_fn(|i| -smaller(-self.upper[i], -other.upper[i])),
        }
    }

    /// Touching counts.
    #[inline(always)]
    fn overlaps(&self, other: &Self) -> bool {
        // Branch-free: eight comparisons in two instructions.
        let mut is_overlapping = true;
        for i in 0..4 {
            is_overlapping &= (self.lower[i] <= other.upper[i]) & (other.lower[i] <= self.upper[i]);
        }
        is_overlapping
    }
}

#[inline(always)]
fn smaller(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// True for NaN.
#[inline(always)]
#[expect(clippy::neg_cmp_op_on_partial_ord, reason = "NaN is beyond everything, so it overlaps nothing")]
fn is_beyond(a: f32, b: f32) -> bool {
    !(a <= b)
}

/// A single-precision number not below `x`, at most two steps above it.
#[inline(always)]
fn round_up(x: f64) -> f32 {
    let nearest = x.clamp(-LIMIT, LIMIT) as f32;
    // The nearest number is off by half a step at most, and |nearest| ε is at least one step (the smallest normal
    // number where it would vanish).
    nearest + (nearest.abs() * f32::EPSILON + f32::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proximity::random::Random;

    #[test]
    fn rounding_up_is_upwards_and_small() {
        let mut random = Random::new(6);
        for case in 0..100_000 {
            let x = (random.unit() - 0.5) * 10f64.powi(case % 60 - 30);
            for x in [x, f64::from(x as f32), 0.0] {
                let up = f64::from(round_up(x));
                assert!(up >= x && up - x <= 3.0 * (x.abs() * f64::from(f32::EPSILON) + f64::from(f32::MIN_POSITIVE)));
            }
        }
        assert!(round_up(1e300).is_finite());
    }

    #[test]
    fn boxes_know_what_they_share() {
        let unit = Box32::new(Vec3::zero(), Vec3::splat(1.0));
        let moved = Box32::new(Vec3::splat(1.0), Vec3::splat(2.0));
        let far = Box32::new(Vec3::new(0.0, 0.0, 1.01), Vec3::splat(2.0));
        assert!(unit.overlaps(&moved) && !unit.overlaps(&far) && !unit.overlaps(&Box32::EMPTY));
        assert!(unit.union(&far).overlaps(&Box32::new(Vec3::splat(1.05), Vec3::splat(1.05))));
        assert_eq!(moved.beyond(&unit), [false; 4], "touching boxes are not beyond each other");
        assert_eq!(far.beyond(&unit), [false, false, true, false]);
        let broken = Box32 { lower: [f32::NAN, 0.0, 0.0, 0.0], ..unit };
        assert!(broken.beyond(&unit)[0] && !broken.overlaps(&unit));
        assert_eq!(unit.union(&Box32::EMPTY), unit);
    }
}
