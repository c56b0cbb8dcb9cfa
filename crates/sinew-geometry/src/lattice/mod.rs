//! Lattices of cubes over a body that separate parts which share a cube but no flesh.
//!
//! Two fingers that pass through one cube get separate copies of it, each with its own nodes \[Nesme09\]; so do the two
//! sides of a fold, and the cells of every coarser level. Nodes are shared exactly where flesh passes from cell to
//! cell.
//!
//! - [`HexLattice`]: cells, their nodes, neighbors and outer faces
//! - [`HexLattice::from_surface`]: the lattice over a closed surface, with the surface bound to it
//! - [`HexLattice::to_mesh`]: the cells as hexahedra
//! - [`HexLattice::coarsen`]: cells of double size, and the interpolation from them
//!
//! # Limits
//!
//! Gaps along a lattice plane are closed below 10⁻⁹ of a cell. The parts of a cube are distinguished by patches of the
//! surface and by lines through the cube, four per edge. Crooked flesh thinner than their spacing may split into too
//! many copies, but parts that no flesh connects are never joined. At the holes of an open surface, a cube is entirely
//! present or absent depending on its center. Where a surface crosses itself, the flesh is connected.

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
