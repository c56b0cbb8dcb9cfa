//! Signed distances on a narrow band of voxels: from labels, surfaces and solids; repair, smoothing and edits.
//!
//! A [`DistanceField`] keeps φ in bricks of 8³ voxels near the surface, negative inside. All fields of one image share
//! a [`FieldGrid`], so that tissues are compared voxel by voxel.
//!
//! - [`FieldGrid`], [`DistanceField`]: where the voxels are, and the values; [`DistanceField::volume`],
//!   [`DistanceField::keep_voxel_volume`]
//! - [`DistanceField::from_labels`], [`fields_from_labels`]: from segmented images
//! - [`DistanceField::from_surface`], [`DistanceField::from_solid`], [`DistanceField::redistance`]
//! - [`csg`]: union, intersection and difference of anything with an inside
//! - [`Keep`], [`DistanceField::open`], [`DistanceField::close`], [`DistanceField::fill_holes`]: repair
//! - [`SliceEdit`]: polygons and brushes in slices, as data
//! - [`smooth_together`]: mean-curvature flow of all tissues at once
//! - [`DistanceField::to_bytes`], [`DistanceField::from_bytes`]: fields that are kept

mod bits;
mod blur;
pub mod csg;
mod distance_field;
mod edit;
mod extent;
mod fresh;
mod from_labels;
mod from_solid;
mod from_surface;
mod march;
mod morphology;
mod options;
mod parts;
mod redistance;
mod resample;
mod smooth;
mod stored;
mod sweep;
#[cfg(test)]
mod tests;
mod thin;
mod volume;
mod voxel_volume;

pub use distance_field::{DistanceField, FieldGrid};
pub use edit::{EditAction, EditEffect, EditShape, SliceEdit, apply_edits};
pub use from_labels::fields_from_labels;
pub use options::{FieldError, FieldOptions, LabelOptions, Order, Seeds, Solver};
pub use parts::{Keep, Part, Removed};
pub use smooth::{SmoothOptions, SmoothReport, smooth_together};
