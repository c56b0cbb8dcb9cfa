//! Runs of scenes: from a scene to a simulation, through its frames, to the results.
//!
//! ```text
//! Scene ─compile→ Simulation ─step→ State ─observe→ Frame ─record→ file
//! ```
//!
//! [`compile::compile`] builds the simulation of a scene. [`run::run`] takes it through its frames, keeps a journal
//! from which a killed run can continue, and checks the expectations of the scene. [`study`] runs a scene several
//! times; [`lab`] takes one of its muscles through a protocol.

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
