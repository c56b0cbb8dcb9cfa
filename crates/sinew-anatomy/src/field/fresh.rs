//! A field in the making: signs of all voxels, distances at some, the rest to be propagated.

use sinew_math::parallel::prelude::*;

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

/// Bit dx + 1 + 3 (dy + 1) + 9 (dz + 1) for each of the 27 bricks around that may have distances within the band.
///
/// For a band of four voxels a seed reaches only beyond the faces of its own half of the brick.
fn reached(values: &Brick, band: f64) -> u32 {
    if band > 4.0 {
        return (1 << 27) - 1;
    }
    let mut octants = [false; 8];
    for (row, values) in values.chunks_exact(4).enumerate() {
        octants[row & 1 | row >> 2 & 2 | row >> 4 & 4] |= values.iter().any(|v| *v < f32::INFINITY);
    }
    (0..27).fold(0, |bits, offset| {
        let way = [offset % 3, offset / 3 % 3, offset / 9];
        // The middle goes with both halves, a side with its own.
        let fits = |octant: usize| (0..3).all(|a| way[a] == 1 || way[a] / 2 == octant >> a & 1);
        bits | u32::from((0..8).any(|octant| octants[octant] && fits(octant))) << offset
    })
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
    /// Stores the seeds, in the order of the extent, and the bricks around them that the band reaches. `directory` says
    /// the sign of all other bricks.
    pub fn new(grid: FieldGrid, extent: Extent, mut directory: Vec<u32>, seeds: &[SeedBrick], band: f64) -> Self {
        const RING: u32 = INSIDE - 1;
        const RING_INSIDE: u32 = INSIDE - 2;
        let reached: Vec<u32> = seeds.par_iter().map(|seed| reached(&seed.values, band)).collect();
        for (seed, reached) in seeds.iter().zip(reached) {
            let [x, y, z] = extent.brick(seed.index);
            for offset in (0..27).filter(|offset| reached >> offset & 1 != 0) {
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
