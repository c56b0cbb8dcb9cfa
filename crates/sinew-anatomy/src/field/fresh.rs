//! A field in the making: signs of all voxels, distances at some, the rest to be propagated.

use rayon::prelude::*;

use super::bits::{ALL, Bits, NONE, has};
use super::distance_field::{Brick, DistanceField, FieldGrid, INSIDE, OUTSIDE};
use super::extent::{Extent, VOLUME};
use super::options::{FieldOptions, Solver};
use super::{march, sweep};

/// A brick at the surface.
#[derive(Clone, Debug)]
pub(super) struct SeedBrick {
    /// Index in the extent.
    pub index: usize,
    /// Voxels inside.
    pub inside: Bits,
    /// Known distances in voxels, without sign; infinite elsewhere. Voxels with a neighbor of the other sign must be
    /// known.
    pub values: Brick,
}

/// A slot that does not exist.
pub(super) const MISSING: u32 = u32::MAX;

/// Everything that marching and sweeping need. Distances are in voxels, without sign.
pub(super) struct Fresh {
    pub grid: FieldGrid,
    pub extent: Extent,
    pub directory: Vec<u32>,
    pub inside: Vec<Bits>,
    pub known: Vec<Bits>,
    pub values: Vec<Brick>,
}

impl Fresh {
    /// Stores the seeds, in the order of the extent, and the 26 bricks around each. `directory` says the sign of all
    /// other bricks.
    pub fn new(grid: FieldGrid, extent: Extent, mut directory: Vec<u32>, seeds: &[SeedBrick]) -> Self {
        const RING: u32 = INSIDE - 1;
        const RING_INSIDE: u32 = INSIDE - 2;
        for seed in seeds {
            let [x, y, z] = extent.brick(seed.index);
            for offset in 0..27 {
                let beside = [x + offset % 3 - 1, y + offset / 3 % 3 - 1, z + offset / 9 - 1];
                if let Some(index) = extent.index(beside) {
                    match directory[index] {
                        OUTSIDE => directory[index] = RING,
                        INSIDE => directory[index] = RING_INSIDE,
                        _ => {}
                    }
                }
            }
        }
        let mut inside = Vec::new();
        for entry in directory.iter_mut().filter(|entry| **entry < INSIDE) {
            let sign = if *entry == RING_INSIDE { ALL } else { NONE };
            *entry = inside.len() as u32;
            inside.push(sign);
        }
        let mut fresh = Self {
            grid,
            extent,
            directory,
            known: vec![NONE; inside.len()],
            values: vec![[f32::INFINITY; VOLUME]; inside.len()],
            inside,
        };
        for seed in seeds {
            fresh.put(seed);
        }
        fresh
    }

    fn put(&mut self, seed: &SeedBrick) {
        let slot = self.directory[seed.index] as usize;
        self.inside[slot] = seed.inside;
        self.values[slot] = seed.values;
        for (local, value) in seed.values.iter().enumerate() {
            self.known[slot][local >> 6] |= u64::from(*value < f32::INFINITY) << (local & 63);
        }
    }

    /// Slots of the six neighbors of each slot: −x, +x, −y, +y, −z, +z; [`MISSING`] where there is none.
    pub fn neighbors(&self) -> Vec<[u32; 6]> {
        let stored = self.directory.iter().enumerate().filter(|(_, entry)| **entry < INSIDE);
        stored.map(|(index, _)| self.neighbors_of(self.extent.brick(index))).collect()
    }

    fn neighbors_of(&self, brick: [i32; 3]) -> [u32; 6] {
        std::array::from_fn(|way| {
            let mut beside = brick;
            beside[way / 2] += if way % 2 == 1 { 1 } else { -1 };
            let entry = self.extent.index(beside).map_or(OUTSIDE, |index| self.directory[index]);
            if entry < INSIDE { entry } else { MISSING }
        })
    }

    /// Propagates the distances and gives them signs.
    pub fn finish(mut self, options: &FieldOptions) -> DistanceField {
        match options.solver {
            Solver::March => march::run(&mut self, options.band as f32, options.order),
            Solver::Sweep => sweep::run(&mut self, options.band as f32),
        }
        let (voxel, band) = (self.grid.voxel as f32, options.band as f32);
        let limit = (options.band * self.grid.voxel) as f32;
        self.values.par_iter_mut().zip(&self.inside).for_each(|(values, inside)| {
            for (local, value) in values.iter_mut().enumerate() {
                let distance = if *value < band { *value * voxel } else { limit };
                *value = if has(inside, local) { -distance } else { distance };
            }
        });
        let mut field = DistanceField {
            grid: self.grid,
            band: options.band,
            extent: self.extent,
            directory: self.directory,
            bricks: self.values,
        };
        field.prune();
        field
    }
}

impl DistanceField {
    /// Drops bricks whose values are all at the limit.
    pub(super) fn prune(&mut self) {
        let limit = self.limit32();
        let full: Vec<bool> = self.bricks.par_iter().map(|brick| brick.iter().all(|v| v.abs() >= limit)).collect();
        let mut kept = 0;
        for entry in self.directory.iter_mut().filter(|entry| **entry < INSIDE) {
            let slot = *entry as usize;
            if full[slot] && self.bricks[slot].iter().all(|v| *v > 0.0) {
                *entry = OUTSIDE;
            } else if full[slot] && self.bricks[slot].iter().all(|v| *v < 0.0) {
                *entry = INSIDE;
            } else {
                self.bricks[kept] = self.bricks[slot];
                *entry = kept as u32;
                kept += 1;
            }
        }
        self.bricks.truncate(kept);
        self.bricks.shrink_to_fit();
    }
}
