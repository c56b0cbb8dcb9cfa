//! Fast marching: distances from near to far, |∇φ| = 1 \[Sethian96\].
//!
//! Voxels wait in buckets of 1/16 voxel instead of a heap: their order within a bucket is that of their arrival, so the
//! result depends on nothing else. At first order a voxel whose value falls after its turn has another turn, and the
//! result is the one solution of the differences, which sweeping finds too. The inside and the outside do not see each
//! other and are marched at the same time.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::bits::{Bits, has, set};
use super::distance_field::Brick;
use super::extent::VOLUME;
use super::fresh::{Fresh, MISSING};
use super::options::Order;

/// Buckets per voxel of distance.
const BUCKETS: f32 = 16.0;

/// Propagates known distances up to `band` voxels.
pub(super) fn run(fresh: &mut Fresh, band: f32, order: Order) {
    let values: Vec<AtomicU32> = fresh.values.iter().flatten().map(|v| AtomicU32::new(v.to_bits())).collect();
    let neighbors = fresh.neighbors();
    let side = |inside: bool| Side::new(fresh, &values, &neighbors, band, order, inside).run();
    // Each side writes the voxels of its own sign only, so that the order of the threads does not matter.
    rayon::join(|| side(true), || side(false));
    for (brick, values) in fresh.values.iter_mut().zip(values.chunks_exact(VOLUME)) {
        *brick = std::array::from_fn(|local| f32::from_bits(values[local].load(Relaxed)));
    }
}

/// The march on one side of the surface.
struct Side<'a> {
    values: &'a [AtomicU32],
    neighbors: &'a [[u32; 6]],
    known: &'a [Bits],
    /// Voxels of this side.
    own: Vec<Bits>,
    /// Voxels that had their turn.
    done: Vec<Bits>,
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
    fn new(
        fresh: &'a Fresh,
        values: &'a [AtomicU32],
        neighbors: &'a [[u32; 6]],
        band: f32,
        order: Order,
        inside: bool,
    ) -> Self {
        let sign = |bits: &Bits| if inside { *bits } else { bits.map(|word| !word) };
        Self {
            values,
            neighbors,
            known: &fresh.known,
            own: fresh.inside.iter().map(sign).collect(),
            done: vec![[0; 8]; neighbors.len()],
            buckets: vec![Vec::new(); (band * BUCKETS) as usize + 1],
            band,
            order,
        }
    }

    fn run(mut self) {
        self.push_known();
        for bucket in 0..self.buckets.len() {
            let mut next = 0;
            while next < self.buckets[bucket].len() {
                let voxel = self.buckets[bucket][next];
                next += 1;
                let (slot, local) = (voxel as usize / VOLUME, voxel as usize % VOLUME);
                if has(&self.done[slot], local) || bucket_of(self.value(voxel)) != bucket {
                    continue;
                }
                set(&mut self.done[slot], local);
                for way in 0..6 {
                    if let Some(beside) = self.beside(voxel, way) {
                        self.update(beside);
                    }
                }
            }
            self.buckets[bucket] = Vec::new();
        }
    }

    /// Known voxels that have an unknown neighbor start the march.
    fn push_known(&mut self) {
        for slot in 0..self.own.len() {
            for z in 0..8 {
                let mut word = self.known[slot][z] & self.own[slot][z];
                while word != 0 {
                    let voxel = (slot * VOLUME + z * 64) as u32 + word.trailing_zeros();
                    word &= word - 1;
                    let value = self.value(voxel);
                    if value <= self.band && (0..6).any(|way| self.beside(voxel, way).is_some_and(|n| !self.fixed(n))) {
                        self.buckets[bucket_of(value)].push(voxel);
                    }
                }
            }
        }
    }

    fn value(&self, voxel: u32) -> f32 {
        f32::from_bits(self.values[voxel as usize].load(Relaxed))
    }

    fn fixed(&self, voxel: u32) -> bool {
        has(&self.known[voxel as usize / VOLUME], voxel as usize % VOLUME)
    }

    /// The neighbor in a direction, if it is stored and on this side.
    #[inline]
    fn beside(&self, voxel: u32, way: usize) -> Option<u32> {
        let next = step(self.neighbors, voxel, way)?;
        has(&self.own[next as usize / VOLUME], next as usize % VOLUME).then_some(next)
    }

    fn update(&mut self, voxel: u32) {
        let (slot, local) = (voxel as usize / VOLUME, voxel as usize % VOLUME);
        let second = self.order == Order::Second;
        if self.fixed(voxel) || second && has(&self.done[slot], local) {
            return;
        }
        let mut upwind = [0, 1, 2].map(|axis| self.upwind(voxel, axis));
        let value = solve(&mut upwind);
        if value < self.value(voxel) && value <= self.band {
            self.values[voxel as usize].store(value.to_bits(), Relaxed);
            self.done[slot][local >> 6] &= !(1 << (local & 63));
            self.buckets[bucket_of(value)].push(voxel);
        }
    }

    /// The smaller neighbor along an axis; extrapolated from two where the order is second.
    #[inline]
    fn upwind(&self, voxel: u32, axis: usize) -> Upwind {
        let mut best = (f32::INFINITY, MISSING, 0);
        for way in [2 * axis, 2 * axis + 1] {
            if let Some(next) = self.beside(voxel, way) {
                let value = self.value(next);
                if value < best.0 && (self.order == Order::First || self.settled(next)) {
                    best = (value, next, way);
                }
            }
        }
        let (value, next, way) = best;
        if self.order == Order::Second && next != MISSING {
            if let Some(behind) = self.beside(next, way).filter(|&behind| self.settled(behind)) {
                let second = self.value(behind);
                if second <= value {
                    // (3u − 4a + b)/2 is the derivative of second order.
                    return Upwind { at: (4.0 * value - second) / 3.0, weight: 2.25 };
                }
            }
        }
        Upwind { at: value, weight: 1.0 }
    }

    fn settled(&self, voxel: u32) -> bool {
        let (slot, local) = (voxel as usize / VOLUME, voxel as usize % VOLUME);
        has(&self.known[slot], local) || has(&self.done[slot], local)
    }
}

fn bucket_of(value: f32) -> usize {
    (value * BUCKETS) as usize
}

/// The neighbor of a voxel (slot · 512 + local) in a direction.
#[inline]
fn step(neighbors: &[[u32; 6]], voxel: u32, way: usize) -> Option<u32> {
    let shift = 3 * (way as u32 / 2);
    let coordinate = voxel >> shift & 7;
    let (edge, stride) = if way % 2 == 1 { (7, 1u32 << shift) } else { (0, (1u32 << shift).wrapping_neg()) };
    if coordinate != edge {
        return Some(voxel.wrapping_add(stride));
    }
    let slot = neighbors[voxel as usize / VOLUME][way];
    // The opposite end of the row: all three bits of the coordinate flip.
    (slot != MISSING).then_some(slot << 9 | (voxel & 511) ^ 7 << shift)
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
