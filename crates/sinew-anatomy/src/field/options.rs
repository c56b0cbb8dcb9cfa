//! What can be chosen when a field is made, and why it cannot be made.

use thiserror::Error;

/// Order of the differences with which distances are propagated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// One neighbor along each axis.
    First,
    /// Two neighbors along each axis where both are known.
    #[default]
    Second,
}

/// How distances are propagated from the voxels at the surface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Solver {
    /// Fast marching from near to far, one thread inside and one outside.
    #[default]
    March,
    /// Fast sweeping of bricks, many at once. Always of first order.
    Sweep,
}

/// What is known at the surface of labels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Seeds {
    /// The blurred Heaviside function, inverted and corrected for curvature: about 0.07 voxels of error.
    #[default]
    Blurred,
    /// The surface is half-way between voxels of different labels \[Teran05\]: about 0.15 voxels of error.
    HalfCell,
}

/// How a distance field is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FieldOptions {
    /// Distances are kept up to this many voxels from the surface: 2 to 7. Default 4, enough for meshers; 6 for
    /// curvatures.
    pub band: f64,
    /// Order of the differences.
    pub order: Order,
    /// How distances are propagated.
    pub solver: Solver,
}

impl Default for FieldOptions {
    fn default() -> Self {
        Self { band: 4.0, order: Order::Second, solver: Solver::March }
    }
}

/// How fields are made from labels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LabelOptions {
    /// The field.
    pub field: FieldOptions,
    /// What is known at the surface.
    pub seeds: Seeds,
    /// Edge of the voxels of the field \[m\]. By default the smallest spacing of the image, whose own voxels are
    /// then used where they are cubes along the axes of the world.
    pub voxel: Option<f64>,
}

/// Why a field cannot be made.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum FieldError {
    /// No label was asked for, or none of its voxels exist.
    #[error("no voxel has any of the labels {labels:?}; hint: check the label table of the image")]
    NoVoxels {
        /// The labels that were asked for.
        labels: Vec<u16>,
    },
    /// The image does not have as many voxels as its grid says.
    #[error("the image has {found} voxels, but its grid says {expected}")]
    WrongCount {
        /// Voxels in the array.
        found: usize,
        /// Voxels of the grid.
        expected: usize,
    },
    /// The axes of the image do not span space, or are not numbers.
    #[error("the axes of the image do not span space: their determinant is {determinant} m³")]
    FlatAxes {
        /// Determinant of the axes \[m³\].
        determinant: f64,
    },
    /// The edge of the voxels is no positive number.
    #[error("voxels must have a positive edge, not {voxel} m")]
    BadVoxel {
        /// The edge \[m\].
        voxel: f64,
    },
    /// The band is too narrow or too wide.
    #[error("the band must be 2 to 7 voxels wide, not {band}")]
    BadBand {
        /// The width \[voxels\].
        band: f64,
    },
    /// The bounds of a solid or surface are empty or not finite.
    #[error("the bounds of the body are empty or not finite")]
    Unbounded,
    /// So many voxels that memory would not hold them.
    #[error("{bricks:.3e} bricks of 8³ voxels are too many; hint: voxels of at least {least:.3e} m fit")]
    TooLarge {
        /// Bricks within the bounds.
        bricks: f64,
        /// Smallest edge that fits \[m\].
        least: f64,
    },
    /// Nothing inside, at this resolution.
    #[error("nothing is inside at voxels of {voxel:.3e} m; hint: is the surface closed, or thinner than a voxel?")]
    Nothing {
        /// Edge of the voxels \[m\].
        voxel: f64,
    },
    /// A length or time is not a number in its range.
    #[error("{what} must be {range}, not {value}")]
    OutOfRange {
        /// The parameter.
        what: &'static str,
        /// What is allowed.
        range: &'static str,
        /// What was given.
        value: f64,
    },
    /// Fields that are to be smoothed together are on different grids.
    #[error("field {field} has other voxels than the first; hint: make all from one image, or resample it")]
    OtherGrid {
        /// The field.
        field: usize,
    },
}

/// Refuses bands that the ring of bricks around the surface does not hold.
pub(super) fn check_band(band: f64) -> Result<(), FieldError> {
    if (2.0..=7.0).contains(&band) { Ok(()) } else { Err(FieldError::BadBand { band }) }
}
