//! Why a file could not be read or written.

use std::fmt;

use sinew_geometry::MeshError;
use thiserror::Error;

use crate::memory::MemoryShort;

/// Where in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Line of a text file, from 1.
    Line(usize),
    /// Byte of a binary file, from 0.
    Byte(usize),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line(line) => write!(f, "line {line}"),
            Place::Byte(byte) => write!(f, "byte {byte}"),
        }
    }
}

/// Why bytes are not a mesh file. Every variant says where, as far as that can be known.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ReadError {
    /// The file is of another format, whatever its name says.
    #[error("this is not a {format} file: {reason}")]
    Magic {
        /// The expected format.
        format: &'static str,
        /// What was found instead.
        reason: String,
    },
    /// The file ends too early.
    #[error("{place}: the file ends inside {what}")]
    Truncated {
        /// Where it ends.
        place: Place,
        /// What is incomplete.
        what: String,
    },
    /// A number in the file promises more, or less, than there is.
    #[error("{place}: {what}: {promised} promised, {found} found")]
    Count {
        /// Where the promise is made.
        place: Place,
        /// What is counted.
        what: String,
        /// How many there should be.
        promised: u64,
        /// How many there are, or could be at most.
        found: u64,
    },
    /// Something refers to what does not exist.
    #[error("{place}: {what} {index} does not exist")]
    Index {
        /// Where the reference is.
        place: Place,
        /// What is referred to.
        what: &'static str,
        /// Its number, as the file counts.
        index: i64,
    },
    /// A coordinate is infinite or not a number.
    #[error("{place}: {what} is not finite")]
    NotFinite {
        /// Where it is.
        place: Place,
        /// What it is.
        what: String,
    },
    /// Not written as the format demands.
    #[error("{place}: {reason}")]
    Syntax {
        /// Where.
        place: Place,
        /// What is wrong, in a sentence without capital.
        reason: String,
    },
    /// Correct, but beyond what is read here.
    #[error("{place}: {what} cannot be read\nhint: {hint}")]
    Unsupported {
        /// Where.
        place: Place,
        /// What.
        what: String,
        /// What to do instead.
        hint: &'static str,
    },
    /// Something that a mesh needs is not in the file.
    #[error("the file has no {what}")]
    Missing {
        /// What.
        what: &'static str,
    },
    /// A file that belongs to this one cannot be read.
    #[error("{place}: the file \"{name}\" that belongs to this one cannot be read: {reason}")]
    Companion {
        /// Where it is named.
        place: Place,
        /// Its name.
        name: String,
        /// Why not.
        reason: String,
    },
    /// Cells of kinds that the use of the file does not allow.
    #[error("{kinds}: {reason}\nhint: {hint}")]
    CellKinds {
        /// Names of the kinds, with number and first cell of each.
        kinds: String,
        /// Why not.
        reason: &'static str,
        /// What to do instead.
        hint: &'static str,
    },
    /// What the file holds does not fit into the memory that is free.
    #[error("{place}: {what} {short}\nhint: it can be read on a machine with more memory")]
    Memory {
        /// Where it is announced.
        place: Place,
        /// What it is.
        what: String,
        /// How much is missing.
        short: MemoryShort,
    },
    /// The cells do not make a mesh.
    #[error(transparent)]
    Mesh(#[from] MeshError),
}

impl ReadError {
    /// Not written as the format demands, at a line.
    pub fn line(line: usize, reason: impl Into<String>) -> ReadError {
        ReadError::Syntax { place: Place::Line(line), reason: reason.into() }
    }

    /// Not written as the format demands, at a byte.
    pub fn byte(byte: usize, reason: impl Into<String>) -> ReadError {
        ReadError::Syntax { place: Place::Byte(byte), reason: reason.into() }
    }
}

/// Why a mesh cannot be written in a format.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum WriteError {
    /// The format has no place for this.
    #[error("{format} cannot hold {what}\nhint: {hint}")]
    Unsupported {
        /// Name of the format.
        format: &'static str,
        /// What does not fit.
        what: String,
        /// What to do instead.
        hint: &'static str,
    },
    /// The format exists in other variants only.
    #[error("{format} is written as {known}, not as \"{asked}\"")]
    Variant {
        /// Name of the format.
        format: &'static str,
        /// What can be written.
        known: &'static str,
        /// What was asked for.
        asked: String,
    },
}
