//! Distances restored around the zeros of a field: needed after everything that moves them.

use sinew_math::parallel::prelude::*;

use super::bits::{ALL, BitVolume, Bits, NONE, has};
use super::distance_field::{Brick, DistanceField, INSIDE, OUTSIDE};
use super::extent::{Extent, VOLUME, voxel_of};
use super::fresh::{Fresh, SeedBrick};
use super::options::FieldOptions;

/// What the values of a field are worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Trust {
    /// Only the zeros between voxels count.
    Zeros,
    /// Values up to this many voxels from the surface are distances.
    Values(f32),
}

impl DistanceField {
    /// Computes distances anew from the zeros of φ, with the options of a new field of the same band.
    pub fn redistance(&mut self) {
        self.redistance_with(&FieldOptions { band: self.band, ..FieldOptions::default() });
    }

    /// Computes distances anew from the zeros of φ.
    pub fn redistance_with(&mut self, options: &FieldOptions) {
        *self = self.redistanced(options, Trust::Zeros);
    }

    pub(super) fn redistanced(&self, options: &FieldOptions, trust: Trust) -> Self {
        let signs = self.signs(self.extent.grown(2));
        let seeds = (0..signs.bricks.len()).into_par_iter().with_min_len(64);
        let seeds: Vec<SeedBrick> = seeds
            .filter_map(|index| {
                let brick = signs.extent.brick(index);
                let border = signs.border(brick);
                let values = || self.seed_values(brick, &border, trust);
                (border != NONE).then(|| SeedBrick { index, inside: signs.bricks[index], values: values() })
            })
            .collect();
        let (extent, directory) = fitted(&signs, &seeds);
        let seeds: Vec<SeedBrick> = seeds
            .into_iter()
            .filter_map(|seed| Some(SeedBrick { index: extent.index(signs.extent.brick(seed.index))?, ..seed }))
            .collect();
        Fresh::new(self.grid, extent, directory, &seeds, options.band).finish(options)
    }

    /// Which voxels are inside.
    pub(super) fn signs(&self, extent: Extent) -> BitVolume {
        let bits = |index| match self.entry(extent.brick(index)) {
            OUTSIDE => NONE,
            INSIDE => ALL,
            slot => negative(&self.bricks[slot as usize]),
        };
        BitVolume { extent, bricks: (0..extent.len()).into_par_iter().with_min_len(256).map(bits).collect() }
    }

    fn seed_values(&self, brick: [i32; 3], border: &Bits, trust: Trust) -> Brick {
        let near = self.neighborhood(brick);
        let scale = 1.0 / self.grid.voxel as f32;
        std::array::from_fn(|local| {
            let at = 111 + (local & 7) + 10 * (local >> 3 & 7) + 100 * (local >> 6);
            let value = near[at].abs() * scale;
            match (has(border, local), trust) {
                (true, Trust::Zeros) => distance_to_zeros(&near, at, scale),
                (true, Trust::Values(_)) => value.min(1.0),
                (false, Trust::Values(kept)) if value <= kept => value,
                _ => f32::INFINITY,
            }
        })
    }

    /// Values of a brick with one voxel around: 10³, x fastest \[m\].
    pub(super) fn neighborhood(&self, brick: [i32; 3]) -> [f32; 1000] {
        let mut out = [0.0; 1000];
        for offset in 0..27 {
            let step = [offset % 3 - 1, offset / 3 % 3 - 1, offset / 9 - 1];
            let beside = [0, 1, 2].map(|axis| brick[axis] + step[axis]);
            let uniform = match self.entry(beside) {
                OUTSIDE => Err(self.limit32()),
                INSIDE => Err(-self.limit32()),
                slot => Ok(&self.bricks[slot as usize]),
            };
            // Voxels of the neighbor that are copied, and where the first goes.
            let from = step.map(|s| if s < 0 { 7 } else { 0 });
            let count = step.map(|s| if s == 0 { 8 } else { 1 });
            let to = step.map(|s| [0, 1, 9][(s + 1) as usize]);
            for (z, y) in (0..count[1] * count[2]).map(|i| (i / count[1], i % count[1])) {
                let target = to[0] + 10 * (to[1] + y) + 100 * (to[2] + z);
                let source = from[0] + 8 * (from[1] + y) + 64 * (from[2] + z);
                let target = &mut out[target..target + count[0]];
                match uniform {
                    Ok(values) => target.copy_from_slice(&values[source..source + count[0]]),
                    Err(value) => target.fill(value),
                }
            }
        }
        out
    }
}

fn negative(brick: &Brick) -> Bits {
    std::array::from_fn(|z| {
        brick[64 * z..64 * z + 64].iter().enumerate().fold(0, |word, (bit, v)| word | u64::from(*v < 0.0) << bit)
    })
}

/// Distance \[voxels\] from a voxel to the zeros beside it: φ/|∇φ| by central differences, but no more than the plane
/// through the zeros on the axes says, which is right at edges and in thin parts.
fn distance_to_zeros(near: &[f32; 1000], at: usize, scale: f32) -> f32 {
    let value = near[at];
    let (mut gradient, mut inverse) = (0.0, 0.0);
    for stride in [1, 10, 100] {
        let beside = [near[at - stride], near[at + stride]];
        gradient += (0.5 * (beside[1] - beside[0]) * scale).powi(2);
        let crossing = |n: f32| if (n < 0.0) != (value < 0.0) { value / (value - n) } else { f32::INFINITY };
        let nearest = crossing(beside[0]).min(crossing(beside[1]));
        inverse += (1.0 / nearest.max(1e-6)).powi(2);
    }
    let plane = 1.0 / inverse.sqrt();
    if gradient > 0.01 { plane.min(value.abs() * scale / gradient.sqrt()) } else { plane }
}

/// The box of all bricks with something inside or a seed, with one brick for the ring around, and its signs.
fn fitted(signs: &BitVolume, seeds: &[SeedBrick]) -> (Extent, Vec<u32>) {
    let inside = signs.bricks.iter().enumerate().filter(|(_, bits)| **bits != NONE).map(|(index, _)| index);
    let boxed = |index| Extent { low: signs.extent.brick(index), size: [1; 3] };
    let all = inside.chain(seeds.iter().map(|seed| seed.index)).map(boxed).reduce(|a, b| a.union(&b));
    let extent = all.map_or(Extent { low: signs.extent.low, size: [1; 3] }, |all| all.grown(1));
    let sign = |index| if *signs.brick(extent.brick(index)) == ALL { INSIDE } else { OUTSIDE };
    (extent, (0..extent.len()).map(sign).collect())
}

impl DistanceField {
    /// A field on the same grid whose stored values are changed by `change`, told voxel and value \[m\]. Only the zeros
    /// are then right.
    pub(super) fn mapped(&self, change: impl Fn([i32; 3], f32) -> f32 + Sync) -> Self {
        let mut field = self.clone();
        let bricks = self.slot_bricks();
        field.bricks.par_iter_mut().zip(&bricks).for_each(|(values, brick)| {
            for local in 0..VOLUME {
                values[local] = change(voxel_of(*brick, local), values[local]);
            }
        });
        field
    }
}
