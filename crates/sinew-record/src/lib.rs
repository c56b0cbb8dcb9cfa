//! Frames of a simulation into files that people and programs look at.
//!
//! - [`record`]: one recorder per format, which is shown frame after frame
//! - [`convert`]: the same files from a recording, later
//! - [`report`] and [`artist`]: the page of a run, with what an artist wants to know of characters
//! - [`still`]: single pictures of meshes, recordings and characters

pub mod artist;
pub mod convert;
pub mod record;
pub mod report;
pub mod still;
mod stopwatch;

pub use stopwatch::Stopwatch;
