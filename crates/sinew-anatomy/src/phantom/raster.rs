//! Phantoms as labeled images, with flaws on request.

use std::collections::BTreeMap;

use sinew_geometry::{Aabb, VoxelGrid};
use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;

use super::model::{Near, Owner};
use super::{Phantom, TissueKind};
use crate::{Labels, Solid};

/// Edge of the blocks of voxels that share their candidates.
const BLOCK: usize = 8;

/// What is wrong with an image. [`Default`]: nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flaws {
    /// Jitter of boundaries \[voxels\]: standard deviation, along each axis, of where a voxel takes its label. At most 2.
    pub noise: f64,
    /// Number of blobs, some voxels across, that have the label of their neighbor.
    pub wrong_labels: usize,
    /// Tendons are background, as in most images.
    pub missing_tendons: bool,
    /// Seed of noise and blobs.
    pub seed: u64,
}

/// A labeled image; 0 is background.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelVolume {
    /// Where the voxels are.
    pub grid: VoxelGrid,
    /// A label for each voxel, x fastest.
    pub voxels: Vec<u16>,
    /// Names of the labels that the image may have.
    pub names: BTreeMap<u16, String>,
}

impl LabelVolume {
    /// The image without names.
    pub fn labels(&self) -> Labels<'_> {
        Labels { grid: self.grid, voxels: &self.voxels }
    }
}

impl Phantom {
    /// A box that holds all tissues.
    pub fn bounds(&self) -> Aabb {
        let model = &self.model;
        let parts = model.firm.iter().chain(&model.soft).filter(|(_, tissue)| tissue.is_some());
        let parts = parts.map(|(part, _)| part.bounds);
        parts.chain(model.units.iter().map(|unit| unit.sweep.bounds)).fold(Aabb::EMPTY, |all, one| all.union(&one))
    }

    /// A labeled image of the phantom: tissue i has label i + 1. A voxel has the label of its center, unless `flaws` say
    /// otherwise. `voxel` \[m\] is kept between 0.2 mm and 20 mm. The same flaws give the same image.
    pub fn labels(&self, voxel: f64, flaws: &Flaws) -> LabelVolume {
        let grid = self.grid(voxel);
        let slab = grid.size[0] * grid.size[1] * BLOCK;
        let mut voxels = vec![0; grid.len()];
        let fill = |(k, part): (usize, &mut [u16])| self.fill(&grid, k * BLOCK, part, flaws, |_| true);
        voxels.par_chunks_mut(slab).enumerate().for_each(fill);
        let mut names: BTreeMap<u16, String> =
            (1..).zip(&self.tissues).map(|(label, tissue)| (label, tissue.name.clone())).collect();
        if flaws.missing_tendons {
            let is_tendon = |label: u16| self.tissues[usize::from(label) - 1].kind == TissueKind::Tendon;
            names.retain(|&label, _| !is_tendon(label));
            voxels.par_iter_mut().filter(|label| **label > 0 && is_tendon(**label)).for_each(|label| *label = 0);
        }
        spoil(&grid, &mut voxels, flaws);
        LabelVolume { grid, voxels, names }
    }

    /// Volumes \[m³\] of all tissues, counted at a spacing \[m\] (kept between 0.2 mm and 20 mm). For bodies that are
    /// several spacings thick the error falls faster than the spacing: about 0.2 % of a belly at 1 mm.
    pub fn volumes(&self, spacing: f64) -> Vec<f64> {
        self.volumes_near(&(0..self.tissues.len()).collect::<Vec<_>>(), spacing)
    }

    /// As [`volumes`](Self::volumes), but only those of some tissues are whole: space without them is not looked at.
    pub fn volumes_near(&self, tissues: &[usize], spacing: f64) -> Vec<f64> {
        let grid = self.grid(spacing);
        let slab = grid.size[0] * grid.size[1] * BLOCK;
        let cell = grid.axes[(0, 0)].powi(3);
        let rooms: Vec<Aabb> = tissues.iter().map(|&i| self.tissues[i].solid.bounds()).collect();
        let is_wanted = |block: Aabb| rooms.iter().any(|room| room.overlaps(&block));
        let count = |k: usize| {
            let mut part = vec![0; slab.min(grid.len() - k * slab)];
            self.fill(&grid, k * BLOCK, &mut part, &Flaws::default(), is_wanted);
            let mut counts = vec![0u64; self.tissues.len() + 1];
            part.iter().for_each(|&label| counts[usize::from(label)] += 1);
            counts
        };
        // Whole numbers: their sum does not depend on the order.
        let add = |a: Vec<u64>, b: Vec<u64>| a.iter().zip(&b).map(|(a, b)| a + b).collect();
        let none = || vec![0u64; self.tissues.len() + 1];
        let counts = (0..grid.len().div_ceil(slab)).into_par_iter().map(count).reduce(none, add);
        counts[1..].iter().map(|&count| count as f64 * cell).collect()
    }

    /// Voxels around everything, with a margin of two; centers are at multiples of the voxel.
    fn grid(&self, voxel: f64) -> VoxelGrid {
        // What is no number becomes the largest voxel, too.
        let voxel = if voxel < 20e-3 { voxel.max(0.2e-3) } else { 20e-3 };
        let bounds = self.bounds().grown(2.0 * voxel);
        let first = (bounds.min / voxel).map(f64::floor);
        let count = (bounds.max / voxel).map(f64::ceil) - first;
        let size = [count.x as usize + 1, count.y as usize + 1, count.z as usize + 1];
        VoxelGrid::cubic(size, first * voxel, voxel)
    }

    /// Labels of some slices from slice `first` on, in the blocks that are wanted.
    fn fill(&self, grid: &VoxelGrid, first: usize, part: &mut [u16], flaws: &Flaws, is_wanted: impl Fn(Aabb) -> bool) {
        let [nx, ny, _] = grid.size;
        let (voxel, depth) = (grid.axes[(0, 0)], part.len() / (nx * ny));
        let noise = if flaws.noise > 0.0 { flaws.noise.min(2.0) } else { 0.0 };
        // Uniform on ±√3 has standard deviation 1, so a sample moves by at most 3 noise.
        let radius = (BLOCK as f64 * 3f64.sqrt() / 2.0 + 3.0 * noise) * voxel;
        for (j0, i0) in (0..ny).step_by(BLOCK).flat_map(|j| (0..nx).step_by(BLOCK).map(move |i| (j, i))) {
            let middle = Vec3::new(i0 as f64, j0 as f64, first as f64) + Vec3::splat((BLOCK - 1) as f64 / 2.0);
            let middle = grid.to_world(middle);
            if !is_wanted(Aabb::from_points(&[middle]).grown(0.5 * BLOCK as f64 * voxel)) {
                continue;
            }
            let near = self.model.near(middle, radius);
            if near.is_empty() {
                continue;
            }
            for (k, j) in (0..depth).flat_map(|k| (j0..(j0 + BLOCK).min(ny)).map(move |j| (k, j))) {
                for i in i0..(i0 + BLOCK).min(nx) {
                    let at = [i, j, first + k];
                    let jitter = if noise > 0.0 { jitter(grid.index(at), flaws.seed) * noise } else { Vec3::zero() };
                    part[i + nx * (j + ny * k)] = self.label(grid, at, jitter, &near);
                }
            }
        }
    }

    fn label(&self, grid: &VoxelGrid, [i, j, k]: [usize; 3], jitter: Vec3, near: &Near) -> u16 {
        let p = grid.to_world(Vec3::new(i as f64, j as f64, k as f64) + jitter);
        // Fewer than 65,535 tissues by construction.
        self.model.tissue_at(p, near).map_or(0, |tissue| tissue as u16 + 1)
    }

    /// Length of the line of a head of a muscle from bone to bone \[m\], by a tissue of it.
    pub fn line_length(&self, tissue: usize) -> Option<f64> {
        match self.model.owners[tissue] {
            Owner::Unit(i, _) => Some(self.model.units[i].sweep.length()),
            _ => None,
        }
    }
}

/// Numbers that look random, from a counter: splitmix64.
fn scramble(counter: u64) -> u64 {
    let mut z = counter.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Uniform in [0, 1).
fn fraction(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

/// Uniform on ±√3 along each axis.
fn jitter(voxel: usize, seed: u64) -> Vec3 {
    let base = scramble(seed ^ scramble(voxel as u64));
    let along = |axis: u64| (2.0 * fraction(scramble(base.wrapping_add(axis))) - 1.0) * 3f64.sqrt();
    Vec3::new(along(1), along(2), along(3))
}

/// Gives blobs at boundaries between tissues the label from across the boundary.
fn spoil(grid: &VoxelGrid, voxels: &mut [u16], flaws: &Flaws) {
    let mut counter = scramble(flaws.seed ^ 0x626c_6f62);
    let mut draw = || {
        counter = counter.wrapping_add(1);
        scramble(counter)
    };
    for _ in 0..flaws.wrong_labels {
        // A boundary is found soon; an image without one stays as it is.
        for _ in 0..100_000 {
            let center = (draw() % voxels.len() as u64) as usize;
            let radius = 1.5 + fraction(draw());
            if let Some(other) = across(grid, voxels, center, draw() as usize % 6) {
                blob(grid, voxels, center, radius, other);
                break;
            }
        }
    }
}

fn position(grid: &VoxelGrid, index: usize) -> [usize; 3] {
    let [nx, ny, _] = grid.size;
    [index % nx, index / nx % ny, index / (nx * ny)]
}

/// The other tissue on one side of a voxel.
fn across(grid: &VoxelGrid, voxels: &[u16], voxel: usize, side: usize) -> Option<u16> {
    let mut at = position(grid, voxel);
    let axis = side / 2;
    at[axis] = at[axis].checked_add_signed([1, -1][side % 2]).filter(|&i| i < grid.size[axis])?;
    let (own, other) = (voxels[voxel], voxels[grid.index(at)]);
    (own != 0 && other != 0 && own != other).then_some(other)
}

fn blob(grid: &VoxelGrid, voxels: &mut [u16], center: usize, radius: f64, other: u16) {
    let (own, at) = (voxels[center], position(grid, center));
    let range = |axis: usize| at[axis].saturating_sub(2)..(at[axis] + 3).min(grid.size[axis]);
    for (k, j, i) in range(2).flat_map(|k| range(1).flat_map(move |j| range(0).map(move |i| (k, j, i)))) {
        let squared: f64 = [i, j, k].iter().zip(&at).map(|(&a, &b)| (a as f64 - b as f64).powi(2)).sum();
        let index = grid.index([i, j, k]);
        if squared <= radius * radius && voxels[index] == own {
            voxels[index] = other;
        }
    }
}
