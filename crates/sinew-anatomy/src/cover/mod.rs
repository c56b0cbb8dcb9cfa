//! A coarse mesh around a fine one, with a copy for every part that is not connected \[Teran05, Sifakis07\].
//!
//! The fine mesh has the shape, the coarse one is simulated and carries it. Cells of the coarse mesh are those of the
//! body-centered cubic lattice that hold some of the fine mesh. Where two heads of a muscle pass through one cell of the
//! lattice, each has a copy of it with nodes of its own, so that they move apart:
//!
//! 1. `overlap`: which lattice cells each fine cell reaches into, and with which volume
//! 2. `fragments`: what is connected within a lattice cell, by shared nodes, is one copy of it
//! 3. `merge`: copies share those nodes across which the material goes on; copies with the same four nodes are one
//! 4. `bind`: fine nodes and points get weights in the copy of their own fragment
//! 5. `project`: densities, fibers, labels and sets go from fine cells to coarse ones
//! 6. `redo`: all that again after a cut, and where each node was before
//!
//! All cells are one tetrahedron turned ([`LatticeCell`]), so one rest shape serves a whole muscle.

mod bind;
mod build;
mod error;
mod fragments;
mod lattice_cell;
mod merge;
mod overlap;
mod project;
mod redo;
#[cfg(test)]
mod tests;

pub use build::{Cover, CoverReport};
pub use error::CoverError;
pub use lattice_cell::{CLASS_COUNT, LatticeCell, rest_edges, rotation_of_class};
pub(crate) use project::main_direction;
pub use project::{LEAST_HELD, Membership};
pub use redo::Redone;
