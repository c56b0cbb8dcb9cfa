//! Bounding boxes of moving items: one at the start and one at the end.
//!
//! Vertices move along straight lines, so the bounds at any time lie between those at the start and at the end. Two
//! boxes that one axis separates at both ends, on the same side, are separate throughout. A single box around the whole
//! motion would pair every item with all neighbors that move along with it.

use sinew_math::Vec3;

use super::box_tree::Bounds;
use super::box32::Box32;

/// The box at the start and the box at the end.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(64))]
pub(super) struct SweptBox {
    start: Box32,
    end: Box32,
}

impl SweptBox {
    /// Box of a point that moves from `start` to `end`, grown by `margin` on all sides.
    #[inline(always)]
    pub fn of_point(start: Vec3, end: Vec3, margin: f64) -> Self {
        let grown = |x: Vec3| Box32::new(x - Vec3::splat(margin), x + Vec3::splat(margin));
        Self { start: grown(start), end: grown(end) }
    }

    /// Lower and upper corner at the start, then at the end.
    #[inline(always)]
    pub const fn coordinates(&self) -> [f32; 12] {
        let [[a, b, c], [d, e, f]] = self.start.corners();
        let [[g, h, i], [j, k, l]] = self.end.corners();
        [a, b, c, d, e, f, g, h, i, j, k, l]
    }

    /// The lower end of the whole motion along the first axis.
    pub fn lower_x(&self) -> f32 {
        self.start.lower_x().min(self.end.lower_x())
    }

    /// The upper end of the whole motion along the first axis.
    pub fn upper_x(&self) -> f32 {
        self.start.upper_x().max(self.end.upper_x())
    }
}

impl Bounds for SweptBox {
    const EMPTY: Self = Self { start: Box32::EMPTY, end: Box32::EMPTY };

    #[inline(always)]
    fn union(&self, other: &Self) -> Self {
        Self { start: self.start.union(&other.start), end: self.end.union(&other.end) }
    }

    /// Whether no axis separates them throughout.
    #[inline(always)]
    fn overlaps(&self, other: &Self) -> bool {
        let (from, to) = (self.start.beyond(&other.start), self.end.beyond(&other.end));
        let (other_from, other_to) = (other.start.beyond(&self.start), other.end.beyond(&self.end));
        // Branch-free, in lanes.
        let mut is_apart = false;
        for axis in 0..4 {
            is_apart |= (from[axis] & to[axis]) | (other_from[axis] & other_to[axis]);
        }
        !is_apart
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proximity::random::Random;

    /// Items that overlap at some time are found; items that move together at a distance are not.
    #[test]
    fn boxes_that_meet_on_their_way_overlap() {
        let mut random = Random::new(11);
        let mut missed_by_one_box = 0;
        for _ in 0..20_000 {
            let [a, b, c, d] = [(); 4].map(|()| random.point());
            let margin = 0.2;
            let boxes = [SweptBox::of_point(a, b, margin), SweptBox::of_point(c, d, margin)];
            let meets = (0..=50).any(|k| {
                let t = f64::from(k) / 50.0;
                let apart = (a + (b - a) * t) - (c + (d - c) * t);
                (0..3).all(|axis| apart[axis].abs() <= 2.0 * margin)
            });
            let overlaps = boxes[0].overlaps(&boxes[1]);
            assert_eq!(overlaps, boxes[1].overlaps(&boxes[0]));
            assert!(overlaps || !meets);
            missed_by_one_box += usize::from(!overlaps);
        }
        assert!(missed_by_one_box > 1_000);
        let along = Vec3::new(5.0, -3.0, 2.0);
        let beside = Vec3::new(0.0, 0.5, 0.0);
        let (first, second) =
            (SweptBox::of_point(Vec3::zero(), along, 0.2), SweptBox::of_point(beside, beside + along, 0.2));
        assert!(!first.overlaps(&second) && first.overlaps(&first.union(&second)));
        assert!(!first.overlaps(&SweptBox::EMPTY));
    }
}
