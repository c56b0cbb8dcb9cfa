//! Fiber directions of a muscle: one unit vector per cell.
//!
//! - [`BsplineSolid`]: a solid shaped by control points, one of whose parameters runs along the fibers \[Teran05\]
//! - [`laplace_fibers`]: the gradient of a potential that rises from origin to insertion, with optional pennation
//!   \[Choi13\]
//!
//! Muscles of [`crate::procedural`] include their fibers.

mod bspline_basis;
mod bspline_solid;
mod laplace;
mod pennation;

pub use bspline_solid::{BsplineError, BsplineSolid, ParameterAxis, SolidPlace};
pub use laplace::{LaplaceError, LaplaceFibers, LaplaceParams, laplace_fibers, laplace_potential, potential_gradients};
pub use pennation::{Pennation, PennationError};
