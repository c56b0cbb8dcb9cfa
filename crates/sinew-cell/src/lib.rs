//! Elasticity inside one cell: shape functions and quadrature ([`element`]), and constitutive laws ([`material`]).
//!
//! Everything is generic over the number type and inlined into loops over cells, which live in `sinew-elastic`. Start with
//! the trait [`material::Material`], its parameters [`material::MaterialPoint`], and [`element::RestGeometry`].
//!
//! ```
//! use sinew_cell::material::{Material, MaterialPoint, StableNeoHookean};
//! use sinew_math::{Mat3, Vec3};
//!
//! let point = MaterialPoint { mu: 10e3, lambda: 90e3, ..MaterialPoint::default() };
//! let stretched = Mat3::diagonal(Vec3::new(1.1, 1.0, 1.0));
//! assert!(StableNeoHookean.stress(&stretched, &point)[(0, 0)] > 0.0);
//! assert_eq!(StableNeoHookean.energy_density(&Mat3::identity(), &point), 0.0);
//! ```

pub mod element;
pub mod material;
