//! Numbers for Sinew: scalars that are also lanes or derivatives, small vectors and matrices, batched singular values,
//! sparse matrices and their solvers.
//!
//! A formula written once over [`Scalar`] runs with `f64`, with [`ComplexStep`] numbers to differentiate it, and with
//! lanes ([`lanes::dispatch`]) to process 8 or 16 elements at a time. Start with [`Vec3`], [`Mat3`] and [`Scalar`].
//!
//! ```
//! use sinew_math::complex_step;
//!
//! // The derivative of x³ at 2, exact to rounding.
//! let slope = complex_step::derivative(|x| x * x * x, 2.0f64);
//! assert!((slope - 12.0).abs() < 1e-12);
//! ```

pub mod cholesky;
pub mod coarse_grid;
pub mod complex_step;
pub mod eigen;
mod elementary;
pub mod krylov;
pub mod lanes;
pub mod mat3;
pub mod ordering;
pub mod parallel;
pub mod quaternion;
pub mod scalar;
pub mod sparse;
pub mod svd3;
pub mod vec3;

pub use complex_step::ComplexStep;
pub use mat3::Mat3;
pub use quaternion::Quaternion;
pub use scalar::{LaneScalar, Real, Scalar, Work};
pub use vec3::Vec3;
