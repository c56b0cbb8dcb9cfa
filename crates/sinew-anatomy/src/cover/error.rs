//! Why there is no cover.

use sinew_geometry::{EmbeddingError, MeshError};
use thiserror::Error;

/// Why a mesh cannot be covered, or a field of it not be projected.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum CoverError {
    /// The size of the lattice is not a positive number.
    #[error("the size of the cover is {size} m; hint: it must be positive and finite")]
    Size {
        /// The size \[m\].
        size: f64,
    },
    /// Only tetrahedra with straight edges can be covered.
    #[error("cell {cell} is no linear tetrahedron; hint: cover the mesh before it is made quadratic")]
    NotTets {
        /// The first such cell.
        cell: usize,
    },
    /// The lattice would have more cells than are allowed.
    #[error(
        "a cover of {size:.3e} m would need about {cells:.3e} cells, more than {limit:.0e}; hint: {fitting:.3e} m would fit"
    )]
    TooFine {
        /// The size \[m\].
        size: f64,
        /// Estimated number of cells.
        cells: f64,
        /// Largest number allowed.
        limit: f64,
        /// A size that would fit \[m\].
        fitting: f64,
    },
    /// A field does not have one value per cell or node.
    #[error("expected {expected} {what}, got {found}")]
    WrongCount {
        /// The kind of value.
        what: &'static str,
        /// Number of values needed.
        expected: usize,
        /// Number of values given.
        found: usize,
    },
    /// A set or list names a cell or node that does not exist.
    #[error("{what} {index} is named, but there are only {count}")]
    OutOfRange {
        /// The kind of entry.
        what: &'static str,
        /// The index.
        index: usize,
        /// Number of entries.
        count: usize,
    },
    /// A point to bind is NaN or infinite.
    #[error(transparent)]
    Point(#[from] EmbeddingError),
    /// The coarse cells are not a valid mesh.
    #[error(transparent)]
    Mesh(#[from] MeshError),
}
