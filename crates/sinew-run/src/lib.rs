//! From a scene to a simulation, through its frames, to what came of it.
//!
//! ```text
//! Scene ─compile→ Simulation ─step→ State ─observe→ Frame ─record→ file
//! ```
//!
//! [`compile::compile`] builds the simulation that a scene describes; [`run::run`] takes it through its frames, keeps a journal from which a
//! killed run goes on, and checks what the scene expects. [`study`] runs a scene several times, [`lab`] takes one of its muscles through a protocol.

mod checkpoint;
pub mod compile;
pub mod expect;
mod fit;
pub mod history;
mod journal;
mod json;
pub mod lab;
pub mod manifest;
pub mod output;
pub mod run;
pub mod snapshot;
pub mod study;
mod summary;
pub mod timing;
pub mod value_names;
