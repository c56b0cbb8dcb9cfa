//! What happens inside one cell: shape functions and quadrature ([`element`]), and what flesh answers to a deformation ([`material`]).
//!
//! All of it is generic over the number type and meant to be inlined into loops over cells, which live in `sinew-elastic`.

pub mod element;
pub mod material;
