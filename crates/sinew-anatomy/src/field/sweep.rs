//! Fast sweeping: distances by passes over bricks in eight directions, many bricks at once \[Zhao05\].
//!
//! In a round all bricks in the queue are swept from the state before the round until nothing changes inside; then
//! those beside a changed face make up the next queue. So the result depends on no thread. It is the same as that of
//! marching at first order, since both solve the same differences.

use sinew_math::parallel::prelude::*;

use super::bits::has;
use super::distance_field::Brick;
use super::extent::VOLUME;
use super::fresh::{Fresh, MISSING};
use super::march::{first_order, with_border};

/// Smaller changes end the sweeps: well below what single precision resolves at a distance of 8 voxels.
const LEAST_CHANGE: f32 = 1e-7;

/// Propagates known distances up to `band` voxels.
pub(super) fn run(fresh: &mut Fresh, band: f32) {
    let neighbors = fresh.neighbors();
    for inside in [true, false] {
        let mut values = one_sided(fresh, inside);
        let mut queue: Vec<usize> =
            (0..values.len()).filter(|&slot| fresh.known[slot].iter().any(|w| *w != 0)).collect();
        while !queue.is_empty() {
            let swept: Vec<Brick> = queue
                .par_iter()
                .map(|&slot| sweep_brick(fresh, &values, &neighbors[slot], slot, inside, band))
                .collect();
            let mut next = Vec::new();
            for (&slot, brick) in queue.iter().zip(swept) {
                let changed = (0..VOLUME).filter(|&local| brick[local] < values[slot][local]);
                for local in changed {
                    let at = [local & 7, local >> 3 & 7, local >> 6];
                    for way in (0..6).filter(|way| at[way / 2] == 7 * (way % 2)) {
                        next.push(neighbors[slot][way]);
                    }
                }
                values[slot] = brick;
            }
            next.sort_unstable();
            next.dedup();
            queue = next.into_iter().filter(|&slot| slot != MISSING).map(|slot| slot as usize).collect();
        }
        put_back(fresh, &values, inside);
    }
}

/// Distances of one side; infinite on the other.
fn one_sided(fresh: &Fresh, inside: bool) -> Vec<Brick> {
    let brick = |(values, bits): (&Brick, _)| {
        std::array::from_fn(|local| if has(bits, local) == inside { values[local] } else { f32::INFINITY })
    };
    fresh.values.par_iter().zip(&fresh.inside).map(brick).collect()
}

fn put_back(fresh: &mut Fresh, values: &[Brick], inside: bool) {
    fresh.values.par_iter_mut().zip(values).zip(&fresh.inside).for_each(|((out, values), bits)| {
        for local in (0..VOLUME).filter(|&local| has(bits, local) == inside) {
            out[local] = values[local];
        }
    });
}

/// Sweeps one brick until it is settled.
fn sweep_brick(fresh: &Fresh, values: &[Brick], beside: &[u32; 6], slot: usize, inside: bool, band: f32) -> Brick {
    let mut u = [0.0; 1000];
    with_border(values, beside, slot, &mut u);
    let free: Vec<bool> =
        (0..VOLUME).map(|l| has(&fresh.inside[slot], l) == inside && !has(&fresh.known[slot], l)).collect();
    let mut change = f32::INFINITY;
    while change > LEAST_CHANGE {
        change = (0..8).map(|direction| pass(&mut u, &free, direction, band)).fold(0.0, f32::max);
    }
    std::array::from_fn(|l| u[1 + (l & 7) + 10 * (1 + (l >> 3 & 7)) + 100 * (1 + (l >> 6))])
}

/// One pass; the bits of `direction` say which axes run backward.
fn pass(u: &mut [f32; 1000], free: &[bool], direction: usize, band: f32) -> f32 {
    let flip = if direction & 1 != 0 { 7 } else { 0 } | if direction & 2 != 0 { 56 } else { 0 };
    let flip = flip | if direction & 4 != 0 { 448 } else { 0 };
    let mut change = 0.0f32;
    for local in (0..VOLUME).map(|i| i ^ flip).filter(|&local| free[local]) {
        let at = 1 + (local & 7) + 10 * (1 + (local >> 3 & 7)) + 100 * (1 + (local >> 6));
        let least = [1, 10, 100].map(|stride| u[at - stride].min(u[at + stride]));
        let value = first_order(least);
        if value < u[at] && value <= band {
            change = change.max(if u[at] < f32::INFINITY { u[at] - value } else { 1.0 });
            u[at] = value;
        }
    }
    change
}
