//! Labels whose voxels are no cubes along the axes of the world: blurred where they are, sampled on a grid of the
//! world.
//!
//! The blur has σ voxels of the image along each of its axes. In the world that is a Gaussian of covariance
//! Σ = σ² A Aᵀ, A the axes of the image, and behind a plane with normal n the Heaviside function becomes
//! ½ erfc(d/√(2 nᵀΣn)), which is inverted for d with n = ∇H/|∇H|.

use sinew_geometry::Aabb;
use sinew_math::parallel::prelude::*;
use sinew_math::{Mat3, Vec3};

use super::bits::set;
use super::blur::Inverse;
use super::distance_field::{Brick, DistanceField, FieldGrid, INSIDE, OUTSIDE};
use super::extent::{VOLUME, voxel_of};
use super::from_labels::{IsTissue, VoxelBox};
use super::from_solid::extent_of;
use super::options::{FieldError, LabelOptions};
use super::redistance::Trust;
use crate::Labels;

/// Width of the blur \[voxels of the image\], and its reach.
const WIDTH: f64 = 1.0;
const REACH: usize = 3;
/// Voxels around the tissue in which it is blurred.
const MARGIN: usize = 4;

/// The field of a tissue within `bounds`.
pub(super) fn field(
    labels: &Labels,
    tissue: &[u16],
    bounds: VoxelBox,
    options: &LabelOptions,
) -> Result<DistanceField, FieldError> {
    let soft = Soft::new(labels, tissue, bounds);
    let axes = labels.grid.axes;
    let smallest = (0..3).map(|a| axes.column(a).norm()).fold(f64::INFINITY, f64::min);
    let grid = FieldGrid::from(options.voxel.unwrap_or(smallest));
    let extent = extent_of(soft.world_bounds(labels).grown(4.0 * grid.voxel), grid)?;
    let band = options.field.band;
    let field = DistanceField { grid, band, extent, directory: Vec::new(), bricks: Vec::new() };
    let found: Vec<Option<Box<Brick>>> =
        (0..extent.len()).into_par_iter().map(|index| soft.brick(labels, &field, extent.brick(index))).collect();
    let inside = |index| soft.is_inside(labels, grid.position(voxel_of(extent.brick(index), 0)));
    let (mut directory, mut bricks) = (Vec::with_capacity(found.len()), Vec::new());
    for (index, brick) in found.into_iter().enumerate() {
        directory.push(match brick {
            Some(values) => {
                bricks.push(*values);
                bricks.len() as u32 - 1
            }
            None => {
                if inside(index) {
                    INSIDE
                } else {
                    OUTSIDE
                }
            }
        });
    }
    let field = DistanceField { directory, bricks, ..field }.redistanced(&options.field, Trust::Values(1.0));
    if field.is_empty() { Err(FieldError::Nothing { voxel: grid.voxel }) } else { Ok(field) }
}

/// A tissue in the voxels around it, hard and blurred.
struct Soft {
    /// First voxel; may be before the image.
    low: [i64; 3],
    size: [usize; 3],
    hard: Vec<bool>,
    soft: Vec<f32>,
    /// Voxels from a point of the world, without the origin.
    voxels_per_meter: Mat3,
    /// σ² A Aᵀ \[m²\].
    covariance: Mat3,
    inverse: Inverse,
}

impl Soft {
    fn new(labels: &Labels, tissue: &[u16], bounds: VoxelBox) -> Self {
        let low = bounds.map(|[first, _]| first as i64 - MARGIN as i64);
        let size = bounds.map(|[first, last]| last - first + 1 + 2 * MARGIN);
        let is_tissue = IsTissue::new(tissue);
        let hard: Vec<bool> = (0..size.iter().product::<usize>())
            .into_par_iter()
            .with_min_len(4096)
            .map(|index| {
                let at = unravel(index, size);
                let image = [0, 1, 2].map(|a| usize::try_from(low[a] + at[a] as i64).unwrap_or(usize::MAX));
                let within = (0..3).all(|a| image[a] < labels.grid.size[a]);
                within && is_tissue.has(labels.voxels[labels.grid.index(image)])
            })
            .collect();
        let mut soft = hard.iter().map(|is| f32::from(u8::from(*is))).collect();
        (0..3).for_each(|axis| blur_along(&mut soft, size, axis));
        let axes = labels.grid.axes;
        Self {
            low,
            size,
            hard,
            soft,
            voxels_per_meter: axes.inverse(),
            covariance: axes.mul_transpose(&axes) * (WIDTH * WIDTH),
            inverse: Inverse::new(),
        }
    }

    fn world_bounds(&self, labels: &Labels) -> Aabb {
        let corner = |i: usize| {
            let at =
                [0, 1, 2].map(|a| self.low[a] as f64 + if i >> a & 1 != 0 { self.size[a] as f64 - 1.0 } else { 0.0 });
            labels.grid.to_world(Vec3::from(at))
        };
        let corners: Vec<Vec3> = (0..8).map(corner).collect();
        Aabb::from_points(&corners)
    }

    /// A point of the world in voxels from `low`.
    fn local(&self, labels: &Labels, p: Vec3) -> Vec3 {
        self.voxels_per_meter * (p - labels.grid.origin) - Vec3::from(self.low.map(|low| low as f64))
    }

    /// Whether the nearest voxel is of the tissue.
    fn is_inside(&self, labels: &Labels, p: Vec3) -> bool {
        let local = self.local(labels, p);
        let at = [0, 1, 2].map(|a| local[a].round());
        if (0..3).any(|a| !(at[a] >= 0.0 && at[a] < self.size[a] as f64)) {
            return false;
        }
        self.hard[ravel(at.map(|a| a as usize), self.size)]
    }

    /// H and its gradient \[1/m\] by trilinear interpolation; zero outside.
    fn sample(&self, labels: &Labels, p: Vec3) -> (f64, Vec3) {
        let local = self.local(labels, p);
        let low = [0, 1, 2].map(|a| local[a].floor());
        if (0..3).any(|a| !(low[a] >= 0.0 && low[a] + 1.0 < self.size[a] as f64)) {
            return (0.0, Vec3::zero());
        }
        let t = [0, 1, 2].map(|a| local[a] - low[a]);
        let first = ravel(low.map(|a| a as usize), self.size);
        let (mut value, mut slope) = (0.0, Vec3::zero());
        for corner in 0..8 {
            let bits = [corner & 1, corner >> 1 & 1, corner >> 2];
            let offset = bits[0] + self.size[0] * (bits[1] + self.size[1] * bits[2]);
            let h = f64::from(self.soft[first + offset]);
            let w = [0, 1, 2].map(|a| if bits[a] == 1 { t[a] } else { 1.0 - t[a] });
            let d = bits.map(|bit| if bit == 1 { h } else { -h });
            value += w[0] * w[1] * w[2] * h;
            slope += Vec3::new(d[0] * w[1] * w[2], w[0] * d[1] * w[2], w[0] * w[1] * d[2]);
        }
        (value, self.voxels_per_meter.transpose_mul_vec(slope))
    }

    /// d/σ at a point with the blurred value h. The blur moved the surface by ½ Σ : ∇∇φ, which is half of σ² times the
    /// second differences along the axes of the image.
    fn unshrunk(&self, labels: &Labels, p: Vec3, h: f64) -> f64 {
        let rough = self.inverse.at(h as f32);
        if rough.abs() > 1.5 {
            return f64::from(rough);
        }
        let beside = |way: Vec3| self.inverse.at(self.sample(labels, p + way).0 as f32);
        let along = |axis: usize| labels.grid.axes.column(axis);
        let bend: f32 = (0..3).map(|axis| beside(along(axis)) + beside(-along(axis)) - 2.0 * rough).sum();
        // Less than the curvature of the smallest ball that the blur resolves.
        f64::from(rough - (0.5 * (WIDTH * WIDTH) as f32 * bend).clamp(-0.5, 0.5))
    }

    /// Signed distance \[m\]. The sign is that of the nearest voxel, so that thin parts remain.
    fn distance(&self, labels: &Labels, p: Vec3, voxel: f64, limit: f64) -> f64 {
        let (h, slope) = self.sample(labels, p);
        let inside = self.is_inside(labels, p);
        let length = slope.norm();
        let far = if inside { -limit } else { limit };
        if length * voxel < 1e-4 {
            return far;
        }
        let normal = slope / length;
        let width = normal.dot(self.covariance * normal).sqrt();
        let signed = width * self.unshrunk(labels, p, h);
        let least = 0.02 * voxel;
        let thin = 0.3 * width / WIDTH;
        match inside {
            // Taken away by more than noise: as far as half a voxel would have it.
            true if signed > thin => -0.5 * width / WIDTH,
            false if signed < -thin => 0.5 * width / WIDTH,
            true => signed.clamp(-limit, -least),
            false => signed.clamp(least, limit),
        }
    }

    /// Values of a brick of the world; `None` where it is of one sign.
    fn brick(&self, labels: &Labels, field: &DistanceField, brick: [i32; 3]) -> Option<Box<Brick>> {
        let voxel = field.grid.voxel;
        let mut bits = [0; 8];
        let mut mixed = 0;
        for z in 0..10 {
            for (y, x) in (0..100).map(|i| (i / 10, i % 10)) {
                let at = [x, y, z].map(|c: i32| c - 1);
                let p = field.grid.position([0, 1, 2].map(|a| brick[a] * 8 + at[a]));
                if self.is_inside(labels, p) {
                    mixed += 1;
                    if at.iter().all(|c| (0..8).contains(c)) {
                        set(&mut bits, (at[0] + 8 * at[1] + 64 * at[2]) as usize);
                    }
                }
            }
        }
        if mixed == 0 || mixed == 1000 {
            return None;
        }
        let value = |local| self.distance(labels, field.grid.position(voxel_of(brick, local)), voxel, field.limit());
        Some(Box::new(std::array::from_fn::<_, VOLUME, _>(|local| value(local) as f32)))
    }
}

fn ravel(at: [usize; 3], size: [usize; 3]) -> usize {
    at[0] + size[0] * (at[1] + size[1] * at[2])
}

fn unravel(index: usize, size: [usize; 3]) -> [usize; 3] {
    [index % size[0], index / size[0] % size[1], index / (size[0] * size[1])]
}

/// Blurs an array along one axis; zero outside.
fn blur_along(values: &mut Vec<f32>, size: [usize; 3], axis: usize) {
    let raw = (0..=2 * REACH).map(|i| (-(i as f64 - REACH as f64).powi(2) / (2.0 * WIDTH * WIDTH)).exp());
    let raw: Vec<f64> = raw.collect();
    let sum: f64 = raw.iter().sum();
    let stride = [1, size[0], size[0] * size[1]][axis];
    let source = std::mem::take(values);
    let blurred = |index: usize| {
        let at = index / stride % size[axis];
        let mut total = 0.0;
        for (k, weight) in raw.iter().enumerate() {
            if let Some(beside) = (at + k).checked_sub(REACH).filter(|beside| *beside < size[axis]) {
                total += weight / sum * f64::from(source[index + beside * stride - at * stride]);
            }
        }
        total as f32
    };
    *values = (0..source.len()).into_par_iter().with_min_len(4096).map(blurred).collect();
}
