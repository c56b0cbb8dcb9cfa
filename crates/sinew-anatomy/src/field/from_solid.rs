//! Fields of anything with an inside.

use sinew_geometry::Aabb;
use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;

use super::csg::{Combined, Operation};
use super::distance_field::{Brick, DistanceField, FieldGrid, INSIDE, OUTSIDE};
use super::extent::{Extent, VOLUME, brick_of, voxel_of};
use super::options::{FieldError, FieldOptions, check_band};
use super::redistance::Trust;
use crate::Solid;

/// Bricks of the box around a body that a field may have: their directory takes half a gigabyte.
const MAX_BRICKS: f64 = 134_217_728.0;
/// Voxels have indices of 32 bits, and some room for neighbors.
const MAX_VOXEL: f64 = 1e9;

impl DistanceField {
    /// The distances of a solid, on voxels of an edge \[m\] or a given grid.
    ///
    /// # Errors
    /// When the bounds are not finite, memory would not hold the field, or nothing is inside.
    pub fn from_solid(solid: &dyn Solid, grid: impl Into<FieldGrid>) -> Result<Self, FieldError> {
        Self::from_solid_with(solid, grid, &FieldOptions::default())
    }

    /// As [`DistanceField::from_solid`], with options.
    ///
    /// # Errors
    /// As there, and when the options make no sense.
    pub fn from_solid_with(
        solid: &dyn Solid,
        grid: impl Into<FieldGrid>,
        options: &FieldOptions,
    ) -> Result<Self, FieldError> {
        let grid = grid.into();
        let field = sample(solid, grid, options, solid.bounds())?.redistanced(options, Trust::Values(1.5));
        if field.is_empty() { Err(FieldError::Nothing { voxel: grid.voxel }) } else { Ok(field) }
    }

    /// Combines the field with a body, on its own grid. The result may be empty.
    ///
    /// # Errors
    /// When the bounds of the body are not finite or memory would not hold the field.
    pub fn combine(&mut self, operation: Operation, body: &dyn Solid) -> Result<(), FieldError> {
        let combined = Combined { first: &*self, second: body, operation };
        let options = FieldOptions { band: self.band, ..FieldOptions::default() };
        let bounds = combined.bounds();
        if bounds.is_empty() {
            *self = Self::empty(self.grid, self.band);
            return Ok(());
        }
        *self = sample(&combined, self.grid, &options, bounds)?.redistanced(&options, Trust::Values(0.0));
        Ok(())
    }

    /// A field with nothing inside.
    pub fn empty(grid: FieldGrid, band: f64) -> Self {
        let extent = Extent { low: [0; 3], size: [1; 3] };
        Self { grid, band, extent, directory: vec![OUTSIDE], bricks: Vec::new() }
    }

    /// The same body on another grid.
    ///
    /// # Errors
    /// As [`DistanceField::from_solid`].
    pub fn resampled(&self, grid: impl Into<FieldGrid>) -> Result<Self, FieldError> {
        let options = FieldOptions { band: self.band, ..FieldOptions::default() };
        Self::from_solid_with(self, grid, &options)
    }
}

/// The bricks of a box on a grid.
pub(super) fn extent_of(bounds: Aabb, grid: FieldGrid) -> Result<Extent, FieldError> {
    if !(grid.voxel > 0.0 && grid.voxel.is_finite() && grid.origin.is_finite()) {
        return Err(FieldError::BadVoxel { voxel: grid.voxel });
    }
    if bounds.is_empty() || !bounds.min.is_finite() || !bounds.max.is_finite() {
        return Err(FieldError::Unbounded);
    }
    let [low, high] = [bounds.min, bounds.max].map(|corner| grid.local(corner));
    let bricks = (high - low).map(|length| length / 8.0 + 2.0).to_array().iter().product::<f64>();
    let farthest = low.abs().max(high.abs()).max_component();
    if bricks > MAX_BRICKS || farthest > MAX_VOXEL {
        let factor = (bricks / MAX_BRICKS).cbrt().max(farthest / MAX_VOXEL);
        return Err(FieldError::TooLarge { bricks, least: grid.voxel * factor });
    }
    let low = brick_of([0, 1, 2].map(|a| low[a].floor() as i32));
    let high = brick_of([0, 1, 2].map(|a| high[a].ceil() as i32));
    Ok(Extent { low, size: [0, 1, 2].map(|a| (high[a] - low[a] + 1) as usize) })
}

/// A brick of a solid: of one sign, or with values.
enum Sampled {
    Uniform(u32),
    Values(Box<Brick>),
}

/// Values of a solid in all bricks that its surface may touch.
fn sample(
    solid: &dyn Solid,
    grid: FieldGrid,
    options: &FieldOptions,
    bounds: Aabb,
) -> Result<DistanceField, FieldError> {
    check_band(options.band)?;
    let extent = extent_of(bounds.grown(grid.voxel), grid)?;
    let sampler = Sampler { solid, grid, limit: options.band * grid.voxel };
    let sampled: Vec<Sampled> =
        (0..extent.len()).into_par_iter().with_min_len(16).map(|index| sampler.brick(extent.brick(index))).collect();
    let (mut directory, mut bricks) = (Vec::with_capacity(sampled.len()), Vec::new());
    for brick in sampled {
        directory.push(match brick {
            Sampled::Uniform(sign) => sign,
            Sampled::Values(values) => {
                bricks.push(*values);
                bricks.len() as u32 - 1
            }
        });
    }
    Ok(DistanceField { grid, band: options.band, extent, directory, bricks })
}

struct Sampler<'a> {
    solid: &'a dyn Solid,
    grid: FieldGrid,
    limit: f64,
}

impl Sampler<'_> {
    fn brick(&self, brick: [i32; 3]) -> Sampled {
        let first = Vec3::from(voxel_of(brick, 0).map(f64::from));
        if let Some(sign) = self.uniform(first, 8.0).or_else(|| self.uniform_octants(first)) {
            return Sampled::Uniform(sign);
        }
        let value = |local| self.solid.distance(self.grid.position(voxel_of(brick, local)));
        let limited = |d: f64| if d.is_finite() { d.clamp(-self.limit, self.limit) as f32 } else { self.limit as f32 };
        Sampled::Values(Box::new(std::array::from_fn(|local| limited(value(local)))))
    }

    /// The sign of a cube of voxels, if no voxel of it or beside it can have another.
    fn uniform(&self, first: Vec3, edge: f64) -> Option<u32> {
        let half = 0.5 * (edge - 1.0);
        let distance = self.solid.distance(self.grid.origin + (first + Vec3::splat(half)) * self.grid.voxel);
        let reach = (half * 3f64.sqrt() + 1.0) * self.grid.voxel;
        (distance.abs() > reach).then_some(if distance < 0.0 { INSIDE } else { OUTSIDE })
    }

    /// Of the eight parts of a brick: fields know distances of four voxels only, which is too little for the whole.
    fn uniform_octants(&self, first: Vec3) -> Option<u32> {
        let part = |i: usize| Vec3::new((i & 1) as f64, (i >> 1 & 1) as f64, (i >> 2) as f64) * 4.0;
        let sign = self.uniform(first, 4.0)?;
        (1..8).all(|i| self.uniform(first + part(i), 4.0) == Some(sign)).then_some(sign)
    }
}

const _: () = assert!(VOLUME == 512);
