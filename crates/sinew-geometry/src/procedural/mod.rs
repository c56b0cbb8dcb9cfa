//! Parametric bodies: boxes, spheres, cylinders, tori and muscle bellies, as volume meshes and as closed surfaces; and
//! whole muscles with tendons, sets and fibers.
//!
//! Boxes extend from the origin to `size`. Spheres and tori are centered at the origin, the torus around the z axis.
//! Cylinders and bellies start at the origin and run along x. Curved bodies have their boundary nodes exactly on the
//! surface, so their volumes converge with the square of the cell size, from below where the surface is convex.

mod boxes;
mod figure;
mod muscle;
mod sphere;
mod tube;

pub use boxes::{TetPattern, box_hexes, box_surface, box_tets};
pub(crate) use boxes::{face_offsets, kuhn_tets};
pub use figure::{FIGURE_ENDS, figure};
pub use muscle::{MuscleCells, MuscleError, MuscleParams, MuscleShape, ProceduralMuscle, muscle};
pub use sphere::{icosphere, sphere, sphere_surface};
pub use tube::{
    cylinder, cylinder_surface, fusiform, fusiform_radius, fusiform_surface, fusiform_volume, torus, torus_surface,
};

use thiserror::Error;

use crate::mesh::MeshError;

/// Largest number of cells of a procedural mesh: about 10 GB of matrices, more than any run of this program can use.
pub const MAX_CELLS: usize = 50_000_000;

/// Why a body cannot be built.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ProceduralError {
    /// A parameter is out of its range.
    #[error("{name} is {value}, but must be {expected}")]
    Parameter {
        /// Name of the parameter.
        name: &'static str,
        /// Its value.
        value: f64,
        /// Allowed values.
        expected: &'static str,
    },
    /// The cells are too small for the body.
    #[error("the mesh would have {cells:.3e} cells, more than the limit of {limit}; hint: choose larger cells")]
    TooManyCells {
        /// Estimated number of cells.
        cells: f64,
        /// Largest number allowed.
        limit: usize,
    },
    /// The result is not a valid mesh, for instance because it is so small that volumes vanish.
    #[error(transparent)]
    Mesh(#[from] MeshError),
}

/// Lengths must be positive and of a size that can be squared and cubed.
fn check_length(name: &'static str, value: f64) -> Result<(), ProceduralError> {
    if value > 0.0 && value <= crate::mesh::MAX_COORDINATE {
        return Ok(());
    }
    Err(ProceduralError::Parameter { name, value, expected: "a positive length" })
}

/// Number of cells of about `cell` along `length`, at least `least`. Saturates, so that [`check_count`] catches absurd
/// quotients.
fn divisions(length: f64, cell: f64, least: usize) -> usize {
    ((length / cell).round() as usize).max(least)
}

/// Rejects more than [`MAX_CELLS`] before any allocation.
fn check_count(cells: f64) -> Result<(), ProceduralError> {
    if cells <= MAX_CELLS as f64 {
        return Ok(());
    }
    Err(ProceduralError::TooManyCells { cells, limit: MAX_CELLS })
}
