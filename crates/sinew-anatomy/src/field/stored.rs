//! Fields as bytes and back, bit by bit.

use sinew_math::Vec3;

use super::distance_field::{Brick, DistanceField, FieldGrid, INSIDE};
use super::extent::{Extent, VOLUME};

/// Version of the layout.
const MAGIC: &[u8; 8] = b"sinewdf1";

impl DistanceField {
    /// The field as bytes: numbers are little-endian.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.bytes() + 128);
        out.extend(MAGIC);
        let Vec3 { x, y, z } = self.grid.origin;
        [self.grid.voxel, x, y, z, self.band].iter().for_each(|value| out.extend(value.to_le_bytes()));
        self.extent.low.iter().for_each(|value| out.extend(value.to_le_bytes()));
        self.extent.size.iter().for_each(|value| out.extend((*value as u64).to_le_bytes()));
        self.directory.iter().for_each(|entry| out.extend(entry.to_le_bytes()));
        self.bricks.iter().flatten().for_each(|value| out.extend(value.to_le_bytes()));
        out
    }

    /// The field that gave these bytes; `None` if none did.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes.strip_prefix(MAGIC)?;
        let mut numbers = [0.0; 5];
        for number in &mut numbers {
            *number = f64::from_le_bytes(take(&mut rest)?);
        }
        let mut low = [0; 3];
        for value in &mut low {
            *value = i32::from_le_bytes(take(&mut rest)?);
        }
        let mut size = [0; 3];
        for value in &mut size {
            *value = usize::try_from(u64::from_le_bytes(take(&mut rest)?)).ok()?;
        }
        let count = size.iter().try_fold(1usize, |product, side| product.checked_mul(*side))?;
        let (directory, values) = rest.split_at_checked(count.checked_mul(4)?)?;
        let directory: Vec<u32> = directory.as_chunks::<4>().0.iter().map(|entry| u32::from_le_bytes(*entry)).collect();
        let (chunks, []) = values.as_chunks::<{ 4 * VOLUME }>() else { return None };
        if directory.iter().any(|entry| *entry < INSIDE && *entry as usize >= chunks.len()) {
            return None;
        }
        let [voxel, x, y, z, band] = numbers;
        let grid = FieldGrid { voxel, origin: Vec3::new(x, y, z) };
        let bricks = chunks.iter().map(brick_of).collect();
        Some(Self { grid, band, extent: Extent { low, size }, directory, bricks })
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_first_chunk::<N>()?;
    *rest = tail;
    Some(*head)
}

fn brick_of(chunk: &[u8; 4 * VOLUME]) -> Brick {
    let mut brick = [0.0; VOLUME];
    for (value, bytes) in brick.iter_mut().zip(chunk.as_chunks::<4>().0) {
        *value = f32::from_le_bytes(*bytes);
    }
    brick
}
