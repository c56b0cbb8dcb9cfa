//! Recordings: everything a [`sinew_fem::Frame`] shows, over time, in one file that can be played, converted and resumed.
//!
//! A recording (`.sinew`) grows by one whole chunk per frame, so it is valid whenever it is read: one that was cut off anywhere plays
//! up to its last whole frame. Arrays are exact or rounded to a stated error (module `arrays`); every [`KEY_INTERVAL`]-th frame
//! stands on its own, so any frame is found quickly. All other outputs of a run are made from the frames *as recorded*: a file
//! written during the run and one converted later are the same.

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

/// Frames from one that stands on its own to the next: seeking decodes half as many on average.
pub const KEY_INTERVAL: usize = 32;

/// Why a recording cannot be read.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The system refused.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The file is something else.
    #[error("this is not a recording of Sinew")]
    NotARecording,
    /// The file was written by another generation of this program.
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
        /// Number of the frame in the recording.
        frame: usize,
        /// Byte of its chunk.
        offset: u64,
    },
    /// A chunk is whole, but its content makes no sense.
    #[error("{what} makes no sense (byte {offset} of a chunk)")]
    Broken {
        /// What it is.
        what: &'static str,
        /// Byte in the chunk.
        offset: u64,
    },
    /// A frame that does not exist was asked for.
    #[error("there is no frame {frame}: the recording has {count}")]
    NoFrame {
        /// The frame.
        frame: usize,
        /// Frames there are.
        count: usize,
    },
}
