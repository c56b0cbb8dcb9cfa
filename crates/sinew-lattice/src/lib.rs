//! Corotational elasticity on a lattice of cubes, solved by multigrid at memory speed.
//!
//! One-point quadrature with a stabilizing Laplacian needs one rotation per cell \[McAdams11\]. A smoother sweep is a
//! single pass over the state of the cells; [`Layout`] defines where that state is stored.
//!
//! Start with [`LatticeElastic`] (energy and forces) and [`Multigrid`] (linear systems; [`Multigrid::linearize`], then
//! [`Multigrid::solve`] or [`Multigrid::precondition`]). [`Fibers`] adds muscle.

// Indices into rows of lanes are clearer than iterators here.
#![allow(clippy::needless_range_loop)]

mod aligned;
mod band;
mod coarsest;
mod differential;
mod elastic;
mod embedded_springs;
mod fas;
mod fibers;
mod force;
mod inversion_barrier;
mod kernel;
mod layers;
mod layout;
mod level;
mod moments;
mod multigrid;
mod nodal_terms;
mod nonlinear;
mod pass;
mod patch;
mod precise;
mod solve;
mod spectrum;
mod tangent;
#[cfg(test)]
mod tests;
mod thickness;
mod transfer;
mod volume;

pub use elastic::LatticeElastic;
pub use embedded_springs::EmbeddedSprings;
pub use fibers::Fibers;
pub use kernel::ModeStiffness;
pub use layout::{LANES, Layout, NodeSlot};
pub use multigrid::{CoarseRule, CycleWork, Multigrid, MultigridParams, Smoother};
pub use patch::{Patch, PatchCell};
pub use solve::{Method, SolveReport};
pub use tangent::TangentKind;
pub use volume::VolumeLaw;
