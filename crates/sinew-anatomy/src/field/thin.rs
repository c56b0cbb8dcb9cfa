//! Where bodies are too thin to be smoothed: mean-curvature flow eats tendons.

use sinew_math::parallel::prelude::*;

use super::bits::{BitVolume, Bits, NONE, has, set as put};
use super::distance_field::{DistanceField, INSIDE, OUTSIDE};
use super::extent::{VOLUME, voxel_of};
use super::options::FieldOptions;
use super::redistance::Trust;

/// A part is thin if it stands out of the opened body by more than this \[voxels\]: noise and edges do not.
const STANDS_OUT: f64 = 1.25;
/// Voxels around a thin part that are spared with it.
const MARGIN: usize = 3;

/// Adds the voxels of parts thinner than `thickness` voxels to a set.
pub(super) fn add_thin_parts(field: &DistanceField, thickness: f64, set: &mut BitVolume) {
    let radius = 0.5 * thickness;
    // What is farther than the radius from the eroded body is not in the opened one.
    let options = FieldOptions { band: (radius + STANDS_OUT + 0.5).clamp(2.0, 7.0), ..FieldOptions::default() };
    let shift = (radius * field.grid.voxel) as f32;
    let eroded = field.mapped(|_, value| value + shift).redistanced(&options, Trust::Values(0.0));
    let stands_out = ((radius + STANDS_OUT) * field.grid.voxel) as f32;
    let bits = |index: usize| {
        let brick = field.extent.brick(index);
        let (own, rest) = (field.directory[index], eroded.entry(brick));
        // Nothing inside, or all of it is still there.
        if own == OUTSIDE || rest == INSIDE {
            return None;
        }
        let mut bits = NONE;
        for local in 0..VOLUME {
            let voxel = voxel_of(brick, local);
            if field.value32(voxel) < 0.0 && eroded.value32(voxel) > stands_out {
                put(&mut bits, local);
            }
        }
        (bits != NONE).then_some((brick, bits))
    };
    let found: Vec<([i32; 3], Bits)> = (0..field.directory.len()).into_par_iter().filter_map(bits).collect();
    for (brick, bits) in found {
        if let Some(index) = set.extent.index(brick) {
            (0..8).for_each(|z| set.bricks[index][z] |= bits[z]);
        }
    }
}

/// A set with all voxels close to it.
pub(super) fn with_margin(set: BitVolume) -> BitVolume {
    if set.bricks.par_iter().all(|bits| *bits == NONE) {
        return set;
    }
    (0..MARGIN).fold(set, |set, _| grown(&set))
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
    /// Whether a voxel is in the set.
    pub fn has(&self, brick: [i32; 3], local: usize) -> bool {
        has(self.brick(brick), local)
    }
}
