//! Where bodies are too thin to be smoothed: mean-curvature flow eats tendons.

use rayon::prelude::*;

use super::bits::{BitVolume, NONE, has, set};
use super::distance_field::DistanceField;
use super::extent::{Extent, VOLUME, voxel_of};
use super::options::FieldError;

/// A part is thin if it stands out of the opened body by more than this \[voxels\]: noise and edges do not.
const STANDS_OUT: f64 = 1.25;
/// Voxels around a thin part that are spared with it.
const MARGIN: usize = 3;

/// The voxels near parts thinner than `thickness` voxels, within an extent.
pub(super) fn thin_parts(field: &DistanceField, thickness: f64, extent: Extent) -> Result<BitVolume, FieldError> {
    let mut opened = field.clone();
    opened.open(0.5 * thickness * field.grid.voxel)?;
    let stands_out = (STANDS_OUT * field.grid.voxel) as f32;
    let bits = |index| {
        let brick = extent.brick(index);
        let mut bits = NONE;
        for local in 0..VOLUME {
            let voxel = voxel_of(brick, local);
            if field.value32(voxel) < 0.0 && opened.value32(voxel) > stands_out {
                set(&mut bits, local);
            }
        }
        bits
    };
    let bricks = (0..extent.len()).into_par_iter().map(bits).collect();
    Ok((0..MARGIN).fold(BitVolume { extent, bricks }, |volume, _| grown(&volume)))
}

/// All voxels of a set, and their neighbors across faces.
fn grown(volume: &BitVolume) -> BitVolume {
    let bits = |index| {
        let brick = volume.extent.brick(index);
        let mut bits = volume.bricks[index];
        for way in 0..6 {
            let beside = volume.shifted(brick, way);
            (0..8).for_each(|z| bits[z] |= beside[z]);
        }
        bits
    };
    BitVolume { extent: volume.extent, bricks: (0..volume.bricks.len()).into_par_iter().map(bits).collect() }
}

impl BitVolume {
    /// Adds all voxels of another set on the same extent.
    pub fn join(&mut self, other: &Self) {
        for (own, other) in self.bricks.iter_mut().zip(&other.bricks) {
            (0..8).for_each(|z| own[z] |= other[z]);
        }
    }

    /// Whether a voxel is in the set.
    pub fn has(&self, brick: [i32; 3], local: usize) -> bool {
        has(self.brick(brick), local)
    }
}
