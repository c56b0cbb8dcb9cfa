//! Compiles a scene into a simulation, runs it, and checks its expectations.
//!
//! ```text
//! Scene ─compile→ Simulation ─step→ State ─observe→ Frame ─record→ file
//! ```
//!
//! Start with [`compile::compile`], which builds the simulation of a scene, and [`run::run`], which steps it through
//! its frames, keeps a journal to resume an interrupted run, and checks the expectations. [`study`] runs a scene
//! several times, [`lab`] runs a protocol on one of its muscles, [`calibration`] fits its material to a measured
//! curve, [`sweep`] runs it for all combinations of some values, [`shots`] runs many characters through many motions.
//!
//! ```
//! use sinew_run::run::{RunOptions, run};
//! use sinew_scene::Scene;
//!
//! let text = r#"
//!     duration = "0.1 s"
//!     [[body]]
//!     name = "block"
//!     mesh = { from = "box", size = ["4 cm", "1 cm", "1 cm"], cell = "1 cm" }
//!     material = { type = "stable_neo_hookean", young = "30 kPa", poisson = 0.45 }
//!     pin = [{ region = "x-min" }]
//! "#;
//! let scene = Scene::from_str(text, "block.toml", ".")?;
//! let outcome = run(&scene, &RunOptions::default(), &mut ())?;
//! assert_eq!(outcome.frames, scene.frame_count());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod anatomy;
pub mod calibration;
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
pub mod overview;
mod ranges;
pub mod run;
pub mod shots;
pub mod snapshot;
pub mod study;
mod summary;
pub mod sweep;
pub mod timing;
pub mod value_names;
