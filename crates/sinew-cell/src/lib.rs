//! Computations inside one cell: shape functions and quadrature ([`element`]), and the stress of flesh ([`material`]).
//!
//! Everything is generic over the number type, and inlined into the loops over cells in `sinew-elastic`.

pub mod element;
pub mod material;
