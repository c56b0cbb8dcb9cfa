//! Recordings: all data of a [`sinew_fem::Frame`], over time, in one file that can be played, converted and resumed.
//!
//! Start with [`Recording`] to read a file ([`Recording::open`], [`Recording::frame`]) and [`RecordingWriter`] to write
//! one.
//!
//! A recording (`.sinew`) grows by one complete chunk per frame, so it is valid at any time: a truncated file plays up
//! to its last complete frame. Arrays are exact or rounded to a stated error (module `arrays`); every
//! [`KEY_INTERVAL`]-th frame is independent of the others, for fast access. All other outputs of a run come from the
//! frames *as recorded*: a file written during the run and one converted later are the same.

mod arrays;
pub mod bytes;
mod chunk;
mod frame;
mod header;
mod reader;
mod writer;

use thiserror::Error;

pub use chunk::MAGIC;
pub use frame::StoredFrame;
pub use header::{Header, RecordedBody, RecordedShape, TopologyChange};
pub use reader::Recording;
pub use writer::{RecordingParams, RecordingWriter};

/// Distance between two independent frames: seeking decodes half as many on average.
pub const KEY_INTERVAL: usize = 32;

/// Why a recording cannot be read.
#[derive(Debug, Error)]
pub enum StoreError {
    /// An error of the system.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The file is not a recording.
    #[error("this is not a recording of Sinew")]
    NotARecording,
    /// Another version of this program wrote the file.
    #[error("this recording has version {found}, but only version {known} can be read")]
    Version {
        /// Version of the file.
        found: u32,
        /// Version this program writes.
        known: u32,
    },
    /// The file was cut off before anything was recorded.
    #[error("the recording was cut off before its first frame")]
    Empty,
    /// The checksum of a frame is wrong.
    #[error("frame {frame} is damaged: its checksum is wrong (byte {offset} of the file)")]
    Damaged {
        /// Index of the frame in the recording.
        frame: usize,
        /// Offset of its chunk.
        offset: u64,
    },
    /// A chunk is complete, but its content is invalid.
    #[error("{what} is invalid (byte {offset} of a chunk)")]
    Broken {
        /// The invalid part.
        what: &'static str,
        /// Offset in the chunk.
        offset: u64,
    },
    /// The requested frame does not exist.
    #[error("there is no frame {frame}: the recording has {count}")]
    NoFrame {
        /// The frame.
        frame: usize,
        /// Number of frames.
        count: usize,
    },
}
