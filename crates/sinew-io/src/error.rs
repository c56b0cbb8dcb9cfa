//! Errors of reading and writing files.

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
    /// Slice of a volume, from 0.
    Slice(usize),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line(line) => write!(f, "line {line}"),
            Place::Byte(byte) => write!(f, "byte {byte}"),
            Place::Slice(slice) => write!(f, "slice {slice}"),
        }
    }
}

/// Why bytes are not a valid mesh file. Every variant gives the position, if known.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ReadError {
    /// The file has another format than its name says.
    #[error("this is not a valid {format} file: {reason}")]
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
    /// A count in the file disagrees with the data.
    #[error("{place}: {what}: {promised} promised, {found} found")]
    Count {
        /// Position of the count.
        place: Place,
        /// The counted things.
        what: String,
        /// The count in the file.
        promised: u64,
        /// The actual number, or the largest possible one.
        found: u64,
    },
    /// A reference to something that does not exist.
    #[error("{place}: {what} {index} does not exist")]
    Index {
        /// Position of the reference.
        place: Place,
        /// Kind of the referenced thing.
        what: &'static str,
        /// Its number in the file.
        index: i64,
    },
    /// A coordinate is infinite or not a number.
    #[error("{place}: {what} is not finite")]
    NotFinite {
        /// Its position.
        place: Place,
        /// The quantity.
        what: String,
    },
    /// Invalid syntax.
    #[error("{place}: {reason}")]
    Syntax {
        /// Position.
        place: Place,
        /// What is wrong, as a sentence without a capital.
        reason: String,
    },
    /// Valid, but not supported.
    #[error("{place}: {what} cannot be read\nhint: {hint}")]
    Unsupported {
        /// Position.
        place: Place,
        /// The unsupported feature.
        what: String,
        /// What to do instead.
        hint: &'static str,
    },
    /// The file lacks a required part.
    #[error("the file has no {what}")]
    Missing {
        /// The missing part.
        what: &'static str,
    },
    /// A companion file cannot be read.
    #[error("{place}: the companion file \"{name}\" cannot be read: {reason}")]
    Companion {
        /// Position of its name.
        place: Place,
        /// Its name.
        name: String,
        /// The reason.
        reason: String,
    },
    /// Cell kinds that this use of the file does not allow.
    #[error("{kinds}: {reason}\nhint: {hint}")]
    CellKinds {
        /// Names of the kinds, with the number and first cell of each.
        kinds: String,
        /// The reason.
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
    /// Several things are wrong.
    #[error("{}", several(.0))]
    Several(Vec<ReadError>),
    /// The cells do not make a mesh.
    #[error(transparent)]
    Mesh(#[from] MeshError),
}

/// Most errors that are listed.
const SHOWN: usize = 12;

/// One line for each error.
fn several(errors: &[ReadError]) -> String {
    let mut lines: Vec<String> = errors.iter().take(SHOWN).map(ToString::to_string).collect();
    if errors.len() > SHOWN {
        lines.push(format!("and {} more", errors.len() - SHOWN));
    }
    lines.join("\n  ")
}

impl ReadError {
    /// Invalid syntax at a line.
    pub fn line(line: usize, reason: impl Into<String>) -> ReadError {
        ReadError::Syntax { place: Place::Line(line), reason: reason.into() }
    }

    /// Invalid syntax at a byte.
    pub fn byte(byte: usize, reason: impl Into<String>) -> ReadError {
        ReadError::Syntax { place: Place::Byte(byte), reason: reason.into() }
    }
}

/// Why a mesh cannot be written in a format.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum WriteError {
    /// The format cannot store this.
    #[error("{format} cannot hold {what}\nhint: {hint}")]
    Unsupported {
        /// Name of the format.
        format: &'static str,
        /// What does not fit.
        what: String,
        /// What to do instead.
        hint: &'static str,
    },
    /// The format does not have this variant.
    #[error("{format} is written as {known}, not as \"{asked}\"")]
    Variant {
        /// Name of the format.
        format: &'static str,
        /// Available variants.
        known: &'static str,
        /// The requested variant.
        asked: String,
    },
}
