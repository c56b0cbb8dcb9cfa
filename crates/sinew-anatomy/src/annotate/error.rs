//! What cannot be annotated.

use sinew_geometry::fibers::{LaplaceError, PennationError};
use sinew_geometry::{EmbeddingError, MeshError};
use thiserror::Error;

/// Why a mesh has no attachment or no fibers.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum AnnotateError {
    /// No boundary node comes near enough to the bone.
    #[error(
        "{muscle:?} comes no nearer to {bone:?} than {:.1} mm, farther than {:.1} mm; hint: attach it within a larger distance, or add the missing tendon",
        nearest * 1e3,
        within * 1e3
    )]
    NoBoneNear {
        /// The muscle.
        muscle: String,
        /// The bone.
        bone: String,
        /// Smallest distance of a boundary node \[m\].
        nearest: f64,
        /// Distance that was asked for \[m\].
        within: f64,
    },
    /// The bone is near, but the selection leaves nothing.
    #[error(
        "{muscle:?} has {near} boundary nodes near {bone:?}, but none of them is selected; hint: move or enlarge the selection"
    )]
    NothingSelected {
        /// The muscle.
        muscle: String,
        /// The bone.
        bone: String,
        /// Nodes near the bone.
        near: usize,
    },
    /// Other bones are nearer to all nodes of an attachment.
    #[error("all boundary nodes of {muscle:?} near {bone:?} are nearer to {other:?}; hint: select where each attaches")]
    Taken {
        /// The muscle.
        muscle: String,
        /// The bone.
        bone: String,
        /// The bone that has the nodes.
        other: String,
    },
    /// A distance or angle is NaN, infinite or out of range.
    #[error("{what} is {value}, which is not usable")]
    Parameter {
        /// What it is.
        what: &'static str,
        /// Its value.
        value: f64,
    },
    /// A set of nodes is empty.
    #[error("the {set} has no nodes")]
    EmptySet {
        /// `"origin"` or `"insertion"`.
        set: &'static str,
    },
    /// A part of the mesh does not reach from origin to insertion.
    #[error(
        "a part of {cells} cells, with cell {cell}, touches {touches}; hint: remove the part, or add what is missing between"
    )]
    Disconnected {
        /// First cell of the part.
        cell: usize,
        /// Cells of the part.
        cells: usize,
        /// What the part touches: `"only the origin"`, `"only the insertion"` or `"neither origin nor insertion"`.
        touches: &'static str,
    },
    /// A list does not have one entry per cell.
    #[error("expected {expected} {what}, got {found}")]
    WrongCount {
        /// The kind of entry.
        what: &'static str,
        /// Entries needed.
        expected: usize,
        /// Entries given.
        found: usize,
    },
    /// Origin and insertion have the same middle, or the muscle has no width.
    #[error("the muscle has no axes: {what} is zero")]
    NoAxes {
        /// What is zero.
        what: &'static str,
    },
    /// The potential cannot be computed.
    #[error(transparent)]
    Laplace(#[from] LaplaceError),
    /// The pennation is invalid.
    #[error(transparent)]
    Pennation(#[from] PennationError),
    /// A point cannot be looked up in the template.
    #[error(transparent)]
    Embedding(#[from] EmbeddingError),
    /// A set does not fit the mesh.
    #[error(transparent)]
    Mesh(#[from] MeshError),
}
