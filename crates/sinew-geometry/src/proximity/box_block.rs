//! Boxes of moving items in blocks of sixteen, coordinate by coordinate, so that one is compared with all of a block at
//! once.

use super::box_tree::Bounds;
use super::swept_box::SweptBox;

/// Boxes of a block: one vector register of f32 with AVX-512, two or four without.
pub(super) const WIDTH: usize = 16;

/// Sixteen boxes; unused ones are empty.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct BoxBlock {
    /// In the order of [`SweptBox::coordinates`].
    coordinates: [[f32; WIDTH]; 12],
}

impl BoxBlock {
    /// Boxes that overlap nothing.
    pub const EMPTY: Self = {
        let empty = SweptBox::EMPTY.coordinates();
        let mut coordinates = [[0.0; WIDTH]; 12];
        let mut row = 0;
        while row < 12 {
            coordinates[row] = [empty[row]; WIDTH];
            row += 1;
        }
        Self { coordinates }
    };

    #[inline(always)]
    pub fn set(&mut self, lane: usize, bounds: &SweptBox) {
        let coordinates = bounds.coordinates();
        for row in 0..12 {
            self.coordinates[row][lane] = coordinates[row];
        }
    }

    /// A block with the same box in all lanes.
    #[inline(always)]
    pub fn splat(bounds: &SweptBox) -> Self {
        Self { coordinates: bounds.coordinates().map(|value| [value; WIDTH]) }
    }

    /// For each lane its bit, unless one axis separates it throughout from the box in a lane of `other`; as
    /// [`SweptBox::overlaps`]. A NaN is beyond everything.
    #[inline(always)]
    pub fn near(&self, other: &Self, lane: usize) -> [u32; WIDTH] {
        let (own, o) = (&self.coordinates, &other.coordinates);
        let mut near = [0; WIDTH];
        // One plain loop, which the compiler turns into comparisons of whole registers.
        for k in 0..WIDTH {
            let x = ((own[0][k] <= o[3][lane]) | (own[6][k] <= o[9][lane]))
                & ((o[0][lane] <= own[3][k]) | (o[6][lane] <= own[9][k]));
            let y = ((own[1][k] <= o[4][lane]) | (own[7][k] <= o[10][lane]))
                & ((o[1][lane] <= own[4][k]) | (o[7][lane] <= own[10][k]));
            let z = ((own[2][k] <= o[5][lane]) | (own[8][k] <= o[11][lane]))
                & ((o[2][lane] <= own[5][k]) | (o[8][lane] <= own[11][k]));
            near[k] = if x & y & z { 1 << k } else { 0 };
        }
        near
    }
}

/// All bits of the lanes.
#[inline(always)]
pub(super) fn union(lanes: &[u32; WIDTH]) -> u32 {
    let mut bits = 0;
    for lane in lanes {
        bits |= lane;
    }
    bits
}

#[cfg(test)]
mod tests {
    use sinew_math::Vec3;

    use super::*;
    use crate::proximity::random::Random;

    /// Each lane of a block says what its box says, broken numbers and empty lanes included.
    #[test]
    fn blocks_say_what_their_boxes_say() {
        let mut random = Random::new(31);
        let mut counts = [0; 2];
        for case in 0..2_000 {
            let mut some_box = |k: usize| {
                let [start, size, way] = [random.point(), random.point(), random.point() * 0.5];
                let broken = Vec3::new(f64::NAN, 0.0, 0.0) * f64::from(u8::from((case + k).is_multiple_of(40)));
                let [first, second] =
                    [start, start + size * 0.5].map(|x| SweptBox::of_point(x, x + way + broken, 0.05));
                if (case + k).is_multiple_of(23) { SweptBox::EMPTY } else { first.union(&second) }
            };
            let one = some_box(WIDTH);
            let boxes: [SweptBox; WIDTH - 1] = std::array::from_fn(&mut some_box);
            let mut block = BoxBlock::EMPTY;
            boxes.iter().enumerate().for_each(|(lane, bounds)| block.set(lane, bounds));
            let mut other = BoxBlock::splat(&SweptBox::EMPTY);
            other.set(case % WIDTH, &one);
            let bits = union(&block.near(&other, case % WIDTH));
            assert_eq!(bits, union(&block.near(&BoxBlock::splat(&one), 0)));
            assert_eq!(bits >> (WIDTH - 1), 0, "the unused lane");
            for (lane, bounds) in boxes.iter().enumerate() {
                let overlaps = bits >> lane & 1 == 1;
                assert_eq!(overlaps, bounds.overlaps(&one), "{case}, {lane}");
                counts[usize::from(overlaps)] += 1;
            }
        }
        assert!(counts.iter().all(|count| *count > 1_000), "{counts:?}");
    }
}
