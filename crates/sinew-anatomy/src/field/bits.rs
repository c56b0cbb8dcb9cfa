//! Sets of voxels: one bit each, brick by brick.

use super::extent::{EDGE, Extent};

/// Voxels of a brick as bits: word z, bit x + 8 y.
pub(super) type Bits = [u64; EDGE];

/// No voxel.
pub(super) const NONE: Bits = [0; EDGE];
/// Every voxel.
pub(super) const ALL: Bits = [u64::MAX; EDGE];
/// Bits with x = 0.
const LOW_X: u64 = 0x0101_0101_0101_0101;
/// Bits with y = 0.
const LOW_Y: u64 = 0xff;

/// Whether a voxel is in the set.
#[inline]
pub(super) fn has(bits: &Bits, local: usize) -> bool {
    bits[local >> 6] >> (local & 63) & 1 != 0
}

/// Adds a voxel.
#[inline]
pub(super) fn set(bits: &mut Bits, local: usize) {
    bits[local >> 6] |= 1 << (local & 63);
}

/// A set of voxels within an extent, all bricks stored.
#[derive(Clone, Debug)]
pub(super) struct BitVolume {
    pub extent: Extent,
    pub bricks: Vec<Bits>,
}

impl BitVolume {
    /// Bits of a brick; none outside of the extent.
    pub fn brick(&self, brick: [i32; 3]) -> &Bits {
        self.extent.index(brick).map_or(&NONE, |index| &self.bricks[index])
    }

    /// The neighbors of the voxels of a brick in direction `way` (0 to 5: −x, +x, −y, +y, −z, +z), each at the bit of
    /// the voxel itself.
    pub fn shifted(&self, brick: [i32; 3], way: usize) -> Bits {
        let (axis, up) = (way / 2, way % 2 == 1);
        let mut beside = brick;
        beside[axis] += if up { 1 } else { -1 };
        shifted(self.brick(brick), self.brick(beside), way)
    }

    /// Voxels of a brick with a neighbor of the other kind.
    pub fn border(&self, brick: [i32; 3]) -> Bits {
        let own = self.brick(brick);
        let mut border = NONE;
        for way in 0..6 {
            let beside = self.shifted(brick, way);
            for z in 0..EDGE {
                border[z] |= own[z] ^ beside[z];
            }
        }
        border
    }

    /// Rows of 24 bits around a brick: bit 8 + x of row (y + 8, z + 8), for the brick and its 26 neighbors.
    pub fn rows(&self, brick: [i32; 3]) -> [[u32; 24]; 24] {
        let mut rows = [[0; 24]; 24];
        for (dz, dy) in (0..9).map(|i| (i / 3, i % 3)) {
            let at = |dx: i32| self.brick([brick[0] + dx, brick[1] + dy as i32 - 1, brick[2] + dz as i32 - 1]);
            let [left, own, right] = [at(-1), at(0), at(1)];
            for z in 0..EDGE {
                let words = [left[z].to_le_bytes(), own[z].to_le_bytes(), right[z].to_le_bytes()];
                for y in 0..EDGE {
                    rows[8 * dz + z][8 * dy + y] = u32::from_le_bytes([words[0][y], words[1][y], words[2][y], 0]);
                }
            }
        }
        rows
    }
}

/// As [`BitVolume::shifted`], from a brick and the one beside it.
pub(super) fn shifted(own: &Bits, beside: &Bits, way: usize) -> Bits {
    match way {
        0 => std::array::from_fn(|z| (own[z] & !(LOW_X << 7)) << 1 | (beside[z] >> 7) & LOW_X),
        1 => std::array::from_fn(|z| (own[z] & !LOW_X) >> 1 | (beside[z] & LOW_X) << 7),
        2 => std::array::from_fn(|z| own[z] << 8 | beside[z] >> 56),
        3 => std::array::from_fn(|z| own[z] >> 8 | (beside[z] & LOW_Y) << 56),
        4 => std::array::from_fn(|z| if z == 0 { beside[EDGE - 1] } else { own[z - 1] }),
        _ => std::array::from_fn(|z| if z == EDGE - 1 { beside[0] } else { own[z + 1] }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::extent::{VOLUME, brick_of, local_of, voxel_of};
    use super::*;

    #[test]
    fn shifted_bits_and_rows_are_those_of_the_neighbors() {
        let extent = Extent { low: [-1, -1, -1], size: [3, 3, 3] };
        let mut seed = 7u64;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            seed ^ seed >> 33
        };
        let bricks = (0..27).map(|_| std::array::from_fn(|_| random())).collect();
        let volume = BitVolume { extent, bricks };
        let at = |v: [i32; 3]| has(volume.brick(brick_of(v)), local_of(v));
        let rows = volume.rows([0; 3]);
        for local in 0..VOLUME {
            let v = voxel_of([0; 3], local);
            for way in 0..6 {
                let mut n = v;
                n[way / 2] += if way % 2 == 1 { 1 } else { -1 };
                assert_eq!(has(&volume.shifted([0; 3], way), local), at(n), "{v:?} {way}");
            }
        }
        for (z, y, x) in (0..24 * 24 * 24).map(|i| (i / 576, i / 24 % 24, i % 24)) {
            assert_eq!(rows[z][y] >> x & 1 != 0, at([x as i32 - 8, y as i32 - 8, z as i32 - 8]));
        }
    }
}
