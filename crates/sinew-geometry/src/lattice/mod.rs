//! Lattices of cubes over a body, which keep apart what shares a cube but no flesh.
//!
//! Two fingers that pass through one cube get a copy of it each, with nodes of their own [Nesme09]; so do the two sides of a
//! fold, and the cells of every coarser level. Nodes are shared exactly where flesh passes from cell to cell.
//!
//! - [`HexLattice`]: cells, their nodes, neighbours and outer faces
//! - [`HexLattice::from_surface`]: the lattice over a closed surface, with the surface bound to it
//! - [`HexLattice::to_mesh`]: the cells as hexahedra
//! - [`HexLattice::coarsen`]: cells of double size, and the interpolation from them
//!
//! # Limits
//!
//! Gaps along a lattice plane are closed below 10⁻⁹ of a cell. The parts of a cube are told apart by patches of the surface and
//! by lines through the cube, four per edge; crooked flesh thinner than their distance may fall into more copies than it
//! should, but two parts are never joined that flesh does not join. At the holes of an open surface, cubes are whole or absent
//! by their centre. Where a surface crosses itself, the flesh is one.

mod cells;
mod coarsen;
mod columns;
mod cuts;
mod hex_lattice;
mod nodes;
mod options;
mod parts;
mod surface;

pub use coarsen::{Coarsening, Prolongation};
pub use hex_lattice::{HexLattice, LatticeCell, SurfaceFace};
pub use options::{LatticeError, LatticeOptions, LatticeReport, MAX_CUBES};
pub use surface::{LatticeFilling, LatticePoint};

#[cfg(test)]
mod tests;
