//! Output of simulations: files for people and programs.
//!
//! - [`record`]: one recorder per format, which receives the frames one by one
//! - [`convert`]: the same files from a recording, later
//! - [`report`] and [`artist`]: the report of a run, with a section for artists
//! - [`still`]: single pictures of meshes, recordings and characters

pub mod artist;
pub mod convert;
pub mod record;
pub mod report;
pub mod still;
mod stopwatch;

pub use stopwatch::Stopwatch;
