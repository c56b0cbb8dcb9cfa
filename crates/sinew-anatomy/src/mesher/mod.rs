//! Tetrahedra inside of a solid.
//!
//! - [`lattice`]: the body-centered cubic lattice, anchored to the world, and where a point lies in it
//! - `bricks`: which part of the lattice the surface passes through
//! - `cuts`: where it cuts edges, and which nodes move to a cut
//! - [`stencil`]: the pieces of a cut cell
//! - `stuff`: isosurface stuffing \[Labelle07\] with these
//! - `separate`: parts that only touch are taken apart
//! - `improve`: nodes moved until the worst angles are better, on the surfaces that `constraint` keeps them to
//! - `sharpen`: nodes moved to sharp edges, which faces would cut off
//! - `solid_mesh`: all of this in order; `surface`: triangles on the surface alone
//! - [`many`]: one conforming mesh of many solids that touch, with `labeled_cell`, `labeled_lattice`, `sides` and `crowd`
//! - [`quality`]: angles of tetrahedra
//! - [`shapes`]: trial shapes for tests and benchmarks
//! - [`compress`]: the other mesher: a lattice refined where detail is and pushed onto the surface \[Teran05\], with
//!   `tree` and `refine` (cells of several sizes), `condition` (which cells) and `soup` (stars, boundary, halves)
//! - [`red`]: lattices of equal cells in several sizes, with hanging nodes

mod bricks;
pub mod compress;
mod condition;
mod constraint;
mod crowd;
mod cuts;
mod improve;
mod labeled_cell;
mod labeled_lattice;
pub mod lattice;
pub mod many;
pub mod quality;
pub mod red;
mod refine;
mod separate;
pub mod shapes;
mod sharpen;
#[cfg(test)]
mod sharpen_tests;
mod sides;
mod solid_mesh;
mod soup;
pub mod stencil;
#[cfg(test)]
mod stencil_tests;
mod stuff;
mod surface;
#[cfg(test)]
mod tests;
mod tree;

#[cfg(test)]
mod experiments;

use sinew_geometry::CellMesh;
use sinew_math::Vec3;
use thiserror::Error;

pub use lattice::Lattice;
pub use many::{Many, mesh_many};
pub use solid_mesh::mesh_solid;
pub use surface::{isosurface, rough_isosurface};

/// How to fill a solid with tetrahedra.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeshOptions {
    /// Spacing h of the lattice \[m\]: its long edges, and 1/12 of h³ is the volume of a cell.
    pub cell: f64,
    /// Whether nodes move until no dihedral angle is below 22°, where that is possible.
    pub improve: bool,
    /// Whether nodes go to sharp edges, which faces would cut off.
    pub sharpen: bool,
    /// Largest number of cells that is tried: 100 M take some 10 GB.
    pub max_cells: usize,
}

impl MeshOptions {
    /// Improved cells of a size \[m\].
    pub fn new(cell: f64) -> Self {
        Self { cell, improve: true, sharpen: true, max_cells: 100_000_000 }
    }
}

/// Tetrahedra inside of a solid.
#[derive(Clone, Debug)]
pub struct Meshed {
    /// The cells.
    pub mesh: CellMesh,
    /// Nodes that lie on the surface of the solid, ascending.
    pub surface_nodes: Vec<u32>,
    /// What a user should know.
    pub report: MeshingReport,
}

/// What a user should know about a mesh that was made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeshingReport {
    /// Smallest angle between two faces of a cell \[rad\].
    pub min_dihedral: f64,
    /// Largest angle between two faces of a cell \[rad\].
    pub max_dihedral: f64,
    /// Nodes doubled because two parts of the boundary met in a point there.
    pub separated_nodes: usize,
    /// Cells left out because four faces of the boundary met in an edge there.
    pub dropped_cells: usize,
    /// Surface nodes where the solid is thinner than 1.5 cells: it may have holes there.
    pub thin_nodes: usize,
    /// Nodes that were moved to improve angles.
    pub moved_nodes: usize,
    /// Nodes that were moved to sharp edges.
    pub sharpened_nodes: usize,
}

/// Why a solid cannot be filled.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum MeshError {
    /// The size of cells is not a positive number.
    #[error("the cell size is {cell} m; hint: it must be positive and finite")]
    CellSize {
        /// The size \[m\].
        cell: f64,
    },
    /// The bounds of the solid hold nothing.
    #[error("the solid is empty")]
    Empty,
    /// The bounds of the solid are not finite.
    #[error("the solid has no finite bounds")]
    Unbounded,
    /// The solid has a size but no cell fits.
    #[error("cells of {cell:.3e} m are too coarse for a solid of {size:.3e} m; hint: choose smaller cells")]
    TooCoarse {
        /// The size of cells \[m\].
        cell: f64,
        /// Longest edge of the bounds \[m\].
        size: f64,
    },
    /// The mesh would not fit into memory.
    #[error("about {cells:.3e} cells are needed, more than {limit}; hint: cells of {fitting:.3e} m would fit")]
    TooManyCells {
        /// Estimated number of cells.
        cells: f64,
        /// Largest number allowed.
        limit: usize,
        /// A size of cells \[m\] with that number of cells.
        fitting: f64,
    },
    /// The distance is not a number somewhere.
    #[error("the distance of the solid is not finite at ({}, {}, {}) m", at.x, at.y, at.z)]
    NotFinite {
        /// Where.
        at: Vec3,
    },
    /// More solids than labels.
    #[error("{count} solids are too many for one mesh; at most {limit} are possible")]
    TooManySolids {
        /// Number of solids.
        count: usize,
        /// Largest number.
        limit: usize,
    },
    /// The result is not a valid mesh.
    #[error(transparent)]
    Mesh(#[from] sinew_geometry::MeshError),
}
