//! Boxes of bricks, and the arithmetic of voxels in bricks.

/// Voxels along the edge of a brick.
pub(super) const EDGE: usize = 8;
/// Voxels of a brick.
pub(super) const VOLUME: usize = EDGE * EDGE * EDGE;

/// The box of bricks `low` ≤ b < `low` + `size`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub low: [i32; 3],
    pub size: [usize; 3],
}

impl Extent {
    /// Number of bricks.
    pub fn len(&self) -> usize {
        self.size.iter().product()
    }

    /// Index of a brick, x fastest; `None` outside.
    pub fn index(&self, brick: [i32; 3]) -> Option<usize> {
        let mut at = [0usize; 3];
        for axis in 0..3 {
            let offset = brick[axis].wrapping_sub(self.low[axis]);
            if offset < 0 || offset as usize >= self.size[axis] {
                return None;
            }
            at[axis] = offset as usize;
        }
        Some(at[0] + self.size[0] * (at[1] + self.size[1] * at[2]))
    }

    /// The brick of an index.
    pub fn brick(&self, index: usize) -> [i32; 3] {
        let [x, y, _] = self.size;
        let at = [index % x, index / x % y, index / (x * y)];
        [0, 1, 2].map(|axis| self.low[axis] + at[axis] as i32)
    }

    /// The box with `bricks` more on every side.
    pub fn grown(&self, bricks: i32) -> Self {
        Self { low: self.low.map(|low| low - bricks), size: self.size.map(|size| size + 2 * bricks as usize) }
    }

    /// The smallest box around both.
    pub fn union(&self, other: &Self) -> Self {
        let low = [0, 1, 2].map(|a| self.low[a].min(other.low[a]));
        let high = |e: &Self, a: usize| e.low[a] + e.size[a] as i32;
        Self { low, size: [0, 1, 2].map(|a| (high(self, a).max(high(other, a)) - low[a]) as usize) }
    }
}

/// Brick of a voxel.
pub(super) fn brick_of(voxel: [i32; 3]) -> [i32; 3] {
    voxel.map(|v| v >> 3)
}

/// Index of a voxel in its brick.
pub(super) fn local_of(voxel: [i32; 3]) -> usize {
    (voxel[0] & 7) as usize | ((voxel[1] & 7) as usize) << 3 | ((voxel[2] & 7) as usize) << 6
}

/// Voxel of a brick by its index in it.
pub(super) fn voxel_of(brick: [i32; 3], local: usize) -> [i32; 3] {
    [
        brick[0] * EDGE as i32 + (local & 7) as i32,
        brick[1] * EDGE as i32 + (local >> 3 & 7) as i32,
        brick[2] * EDGE as i32 + (local >> 6) as i32,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bricks_and_voxels_are_numbered_both_ways_also_below_zero() {
        let extent = Extent { low: [-2, 0, 5], size: [4, 3, 2] };
        for index in 0..extent.len() {
            assert_eq!(extent.index(extent.brick(index)), Some(index));
        }
        assert_eq!(extent.index([2, 0, 5]), None);
        for voxel in [[-1, 0, 7], [-9, 8, 100], [3, -16, -8]] {
            assert_eq!(voxel_of(brick_of(voxel), local_of(voxel)), voxel);
        }
    }
}
