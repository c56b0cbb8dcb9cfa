//! Fast marching: distances from near to far, |∇φ| = 1 \[Sethian96\].
//!
//! Voxels wait in buckets of 1/16 voxel instead of a heap: their order within a bucket is that of their arrival, so the
//! result depends on nothing else. Blocks of bricks that fit the cache are marched one after the other, which is four
//! times faster than once around the whole surface. A voxel whose value falls after its turn, since a later block
//! reaches it, has another turn: so the result at first order is the one solution of the differences, which sweeping
//! finds too. The inside and the outside do not see each other and are marched at the same time.

use sinew_math::parallel::prelude::*;

use super::bits::{Bits, has};
use super::distance_field::{Brick, INSIDE};
use super::extent::VOLUME;
use super::fresh::{Fresh, MISSING};
use super::options::Order;

/// Buckets per voxel of distance.
const BUCKETS: f32 = 16.0;
/// Flags in the last two bits of a value, which cost it a millionth of a voxel: given at the start, or on the other
/// side; and had its turn.
const KNOWN: u32 = 1;
const DONE: u32 = 2;
const FAR: u32 = f32::INFINITY.to_bits();
/// Blocks are cubes of 2 to this power bricks.
const BLOCK_SHIFT: u32 = 2;
/// At second order a voxel has another turn only if its value falls by more \[voxels\]: its neighbors use it as it was.
const SMALL: f32 = 1e-3;

/// Propagates known distances up to `band` voxels.
pub(super) fn run(fresh: &mut Fresh, band: f32, order: Order) {
    let mut neighbors = fresh.neighbors();
    let beyond = neighbors.len() as u32;
    neighbors.iter_mut().flatten().filter(|slot| **slot == MISSING).for_each(|slot| *slot = beyond);
    let blocks = blocks(fresh);
    let side = |inside: bool| Side::new(fresh, &neighbors, &blocks, band, order, inside).run();
    let (inside, outside) = rayon::join(|| side(true), || side(false));
    let values = inside.par_chunks_exact(VOLUME).zip(outside.par_chunks_exact(VOLUME));
    fresh.values.par_iter_mut().zip(&fresh.inside).zip(values).for_each(|((brick, bits), sides)| {
        *brick = std::array::from_fn(|local| value_of(if has(bits, local) { sides.0[local] } else { sides.1[local] }));
    });
}

fn value_of(entry: u32) -> f32 {
    f32::from_bits(entry & !(KNOWN | DONE))
}

/// The block of each slot: blocks are numbered in the order of their first slots.
fn blocks(fresh: &Fresh) -> Vec<u32> {
    let extent = fresh.extent;
    let counts = extent.size.map(|size| (size >> BLOCK_SHIFT) + 1);
    let mut numbers = vec![MISSING; counts.iter().product()];
    let mut count = 0;
    let stored = (0..fresh.directory.len()).filter(|&index| fresh.directory[index] < INSIDE);
    let block = |index| {
        let brick = extent.brick(index);
        let at = [0, 1, 2].map(|a| (brick[a] - extent.low[a]) as usize >> BLOCK_SHIFT);
        let number = &mut numbers[at[0] + counts[0] * (at[1] + counts[1] * at[2])];
        if *number == MISSING {
            *number = count;
            count += 1;
        }
        *number
    };
    stored.map(block).collect()
}

/// The march on one side of the surface.
struct Side<'a> {
    /// Value and flags of each voxel, and of a last brick that stands for all that are not stored.
    entries: Vec<u32>,
    neighbors: &'a [[u32; 6]],
    /// Block of each slot.
    blocks: &'a [u32],
    /// Voxels of each block that wait for its turn.
    waiting: Vec<Vec<u32>>,
    /// Block that has its turn.
    current: u32,
    buckets: Vec<Vec<u32>>,
    band: f32,
    order: Order,
}

/// What an axis contributes: weight (u − at)² for u > at.
#[derive(Clone, Copy)]
struct Upwind {
    at: f32,
    weight: f32,
}

impl<'a> Side<'a> {
    fn new(fresh: &Fresh, neighbors: &'a [[u32; 6]], blocks: &'a [u32], band: f32, order: Order, inside: bool) -> Self {
        let mut entries = vec![FAR | KNOWN; (neighbors.len() + 1) * VOLUME];
        for (slot, entries) in entries.chunks_exact_mut(VOLUME).take(neighbors.len()).enumerate() {
            let own = if inside { fresh.inside[slot] } else { fresh.inside[slot].map(|word| !word) };
            fill(entries, &own, &fresh.known[slot], &fresh.values[slot]);
        }
        let waiting = vec![Vec::new(); blocks.iter().max().map_or(0, |last| *last as usize + 1)];
        let buckets = vec![Vec::new(); (band * BUCKETS) as usize + 1];
        Self { entries, neighbors, blocks, waiting, current: 0, buckets, band, order }
    }

    fn run(mut self) -> Vec<u32> {
        self.push_known();
        while self.waiting.iter().any(|waiting| !waiting.is_empty()) {
            for block in 0..self.waiting.len() {
                self.current = block as u32;
                for voxel in std::mem::take(&mut self.waiting[block]) {
                    let bucket = bucket_of(value_of(self.entries[voxel as usize]));
                    self.buckets[bucket].push(voxel);
                }
                self.run_block();
            }
        }
        self.entries
    }

    fn run_block(&mut self) {
        for bucket in 0..self.buckets.len() {
            let mut next = 0;
            while next < self.buckets[bucket].len() {
                let voxel = self.buckets[bucket][next];
                next += 1;
                let entry = self.entries[voxel as usize];
                if entry & DONE != 0 || bucket_of(value_of(entry)) != bucket {
                    continue;
                }
                self.entries[voxel as usize] |= DONE;
                for beside in self.around(voxel) {
                    self.update(beside, value_of(entry));
                }
            }
            self.buckets[bucket].clear();
        }
    }

    /// Known voxels that have an unknown neighbor start the march.
    fn push_known(&mut self) {
        for voxel in 0..(self.neighbors.len() * VOLUME) as u32 {
            let entry = self.entries[voxel as usize];
            if entry & KNOWN != 0 && value_of(entry) <= self.band {
                let starts = self.around(voxel).iter().any(|&beside| self.entries[beside as usize] & KNOWN == 0);
                if starts {
                    self.waiting[self.blocks[voxel as usize / VOLUME] as usize].push(voxel);
                }
            }
        }
    }

    /// The six neighbors of a voxel.
    #[inline(always)]
    fn around(&self, voxel: u32) -> [u32; 6] {
        let to = |way| self.step(voxel, way);
        [to(0), to(1), to(2), to(3), to(4), to(5)]
    }

    /// The neighbor of a voxel (slot · 512 + local) in a direction.
    #[inline(always)]
    fn step(&self, voxel: u32, way: usize) -> u32 {
        let shift = 3 * (way as u32 / 2);
        let coordinate = voxel >> shift & 7;
        let (edge, stride) = if way % 2 == 1 { (7, 1u32 << shift) } else { (0, (1u32 << shift).wrapping_neg()) };
        if coordinate != edge {
            return voxel.wrapping_add(stride);
        }
        // Beyond what is stored nothing else is.
        let slot = self.neighbors.get(voxel as usize / VOLUME).map_or(self.neighbors.len() as u32, |ways| ways[way]);
        // The opposite end of the row: all three bits of the coordinate flip.
        slot << 9 | (voxel & 511) ^ 7 << shift
    }

    #[inline]
    fn update(&mut self, voxel: u32, from: f32) {
        let entry = self.entries[voxel as usize];
        // A value is above those it comes from.
        if entry & KNOWN != 0 || value_of(entry) <= from {
            return;
        }
        let around = self.around(voxel);
        let axis = |axis: usize| self.upwind([around[2 * axis], around[2 * axis + 1]], axis);
        let mut upwind = [axis(0), axis(1), axis(2)];
        let value = solve(&mut upwind);
        let new = value.to_bits() & !(KNOWN | DONE);
        let margin = if self.order == Order::Second && entry & DONE != 0 { SMALL } else { 0.0 };
        if value_of(new) < value_of(entry) - margin && value <= self.band {
            self.entries[voxel as usize] = new;
            let block = self.blocks[voxel as usize / VOLUME];
            if block == self.current {
                self.buckets[bucket_of(value_of(new))].push(voxel);
            } else {
                self.waiting[block as usize].push(voxel);
            }
        }
    }

    /// The smaller neighbor along an axis; extrapolated from two where the order is second.
    #[inline(always)]
    fn upwind(&self, beside: [u32; 2], axis: usize) -> Upwind {
        let entries = [self.entries[beside[0] as usize], self.entries[beside[1] as usize]];
        if self.order == Order::First {
            let at = value_of(entries[0]).min(value_of(entries[1]));
            return Upwind { at, weight: 1.0 };
        }
        let value = |entry: u32| if entry & (KNOWN | DONE) != 0 { value_of(entry) } else { f32::INFINITY };
        let settled = [value(entries[0]), value(entries[1])];
        let up = usize::from(settled[1] < settled[0]);
        let value = settled[up];
        if value < f32::INFINITY {
            let behind = self.entries[self.step(beside[up], 2 * axis + up) as usize];
            let second = value_of(behind);
            if behind & (KNOWN | DONE) != 0 && second <= value {
                // (3u − 4a + b)/2 is the derivative of second order. Noise must not grow: a distance changes by no more
                // than one.
                return Upwind { at: value + (value - second).min(1.0) / 3.0, weight: 2.25 };
            }
        }
        Upwind { at: value, weight: 1.0 }
    }
}

/// Entries of a brick at the start.
fn fill(entries: &mut [u32], own: &Bits, known: &Bits, values: &Brick) {
    for (local, entry) in entries.iter_mut().enumerate() {
        *entry = match (has(own, local), has(known, local)) {
            (true, true) => values[local].to_bits() & !(KNOWN | DONE) | KNOWN,
            (true, false) => FAR,
            (false, _) => FAR | KNOWN,
        };
    }
}

fn bucket_of(value: f32) -> usize {
    (value * BUCKETS) as usize
}

/// The u with Σ weight (u − at)² = 1 over the axes with at < u.
fn solve(axes: &mut [Upwind; 3]) -> f32 {
    if axes[1].at < axes[0].at {
        axes.swap(0, 1);
    }
    if axes[2].at < axes[1].at {
        axes.swap(1, 2);
    }
    if axes[1].at < axes[0].at {
        axes.swap(0, 1);
    }
    // Relative to the least, so that the squares keep their digits.
    let base = axes[0].at;
    let (mut a, mut b, mut c) = (axes[0].weight, 0.0f32, -1.0f32);
    let mut u = 1.0 / a.sqrt();
    for axis in &axes[1..] {
        let at = axis.at - base;
        // Also false for an infinite or missing neighbor.
        if !(at < u) {
            break;
        }
        a += axis.weight;
        b += axis.weight * at;
        c += axis.weight * at * at;
        u = (b + (b * b - a * c).max(0.0).sqrt()) / a;
    }
    base + u
}

/// As the march at first order: the value of a voxel whose smaller neighbors along the axes are `at`.
pub(super) fn first_order(at: [f32; 3]) -> f32 {
    solve(&mut at.map(|at| Upwind { at, weight: 1.0 }))
}

/// Copies of bricks with one voxel around: 10³ values, x fastest.
pub(super) fn with_border(values: &[Brick], neighbors: &[u32; 6], slot: usize, out: &mut [f32; 1000]) {
    out.fill(f32::INFINITY);
    let own = &values[slot];
    for (z, y) in (0..64).map(|i| (i / 8, i % 8)) {
        let (from, to) = (8 * y + 64 * z, 1 + 10 * (y + 1) + 100 * (z + 1));
        out[to..to + 8].copy_from_slice(&own[from..from + 8]);
    }
    for (way, &beside) in neighbors.iter().enumerate().filter(|(_, beside)| **beside != MISSING) {
        let (axis, up) = (way / 2, way % 2);
        let (from, to) = if up == 1 { (0, 9) } else { (7, 0) };
        let (p, q) = ((axis + 1) % 3, (axis + 2) % 3);
        const STRIDES: [[usize; 3]; 2] = [[1, 8, 64], [1, 10, 100]];
        for (i, j) in (0..64).map(|k| (k % 8, k / 8)) {
            let source = from * STRIDES[0][axis] + i * STRIDES[0][p] + j * STRIDES[0][q];
            let target = to * STRIDES[1][axis] + (i + 1) * STRIDES[1][p] + (j + 1) * STRIDES[1][q];
            out[target] = values[beside as usize][source];
        }
    }
}
