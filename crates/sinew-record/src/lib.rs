//! Outputs of a simulation: files for people and programs.
//!
//! - [`record`]: one recorder per format, which receives frame after frame
//! - [`convert`]: the same files from a recording, later
//! - [`compare`]: two runs side by side
//! - [`report`] and [`artist`]: the page of a run, with the figures an artist needs for characters
//! - [`costume`]: characters in the colors of their files
//! - [`contact_sheet`]: pictures of many runs in one
//! - [`still`]: single pictures of meshes, recordings and characters
//!
//! Start with [`record::open`], which opens every output of a scene, and the trait
//! [`Recorder`](sinew_fem::Recorder), which `examples/own_recorder.rs` implements.

pub mod artist;
pub mod compare;
pub mod contact_sheet;
pub mod convert;
pub mod costume;
pub mod record;
pub mod report;
pub mod still;
mod stopwatch;
mod strain;

pub use stopwatch::Stopwatch;
