//! Muscle, flesh and skin: from anatomy to simulated tissue.
//!
//! ```text
//! scene.toml ─parse→ Scene ─validate→ Scene ─compile→ Simulation ─step→ State ─observe→ Frame ─record→ file
//! ```
//!
//! This crate is the door: it re-exports the others and holds the command line. Which crate to open for what:
//!
//! | module | says |
//! |---|---|
//! | [`math`] | numbers: `Scalar`, 3×3 matrices, batched SVD, sparse matrices and their solvers |
//! | [`geometry`] | shapes without time: meshes, embeddings, distances |
//! | [`rig`] | characters of animation programs: joints, weights, key frames |
//! | [`io`] | mesh and character files of other programs |
//! | [`muscle`] | muscle in one dimension: curves, activation, fiber and tendon in series |
//! | [`lattice`] | bodies of equal cubes: energy, forces, multigrid |
//! | [`fem`] | flesh in time: elements, materials, forces, contact, solvers |
//! | [`scene`] | the outside world: scene files, compiling, running, recording, reports |
//!
//! Scenes come from files, or from code with types and handles ([`scene::build`]). `examples/` has ten programs that
//! run in the tests.
//!
//! ```
//! use sinew::prelude::*;
//!
//! let scene = Scene::from_str(
//!     r#"
//!     duration = "0.1 s"
//!     [[body]]
//!     name = "block"
//!     mesh = { from = "box", size = ["4 cm", "1 cm", "1 cm"], cell = "1 cm" }
//!     material = { type = "stable_neo_hookean", young = "30 kPa", poisson = 0.45 }
//!     pin = [{ region = "x-min" }]
//!     "#,
//!     "block.toml",
//!     ".",
//! )?;
//! let mut simulation = compile(&scene)?;
//! for _ in 0..scene.frame_count() {
//!     simulation.step_frame()?;
//! }
//! assert!((simulation.time() - 0.1).abs() < 1e-12);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod cli;

pub use sinew_fem as fem;
pub use sinew_geometry as geometry;
pub use sinew_io as io;
pub use sinew_lattice as lattice;
pub use sinew_math as math;
pub use sinew_muscle as muscle;
pub use sinew_rig as rig;

/// Scenes and what becomes of them: reading, compiling, running, recording, reports.
pub mod scene {
    pub use sinew_raster as raster;
    pub use sinew_record::{artist, convert, record, report, still};
    pub use sinew_run::{compile, expect, history, lab, manifest, run, snapshot, study, timing};
    pub use sinew_scene::*;
    pub use sinew_store as store;

    /// Where files go: which ones a run may write, and the folder it writes them to.
    pub mod output {
        pub use sinew_run::output::*;
        pub use sinew_scene::output::*;
    }
}

/// What most programs need.
pub mod prelude {
    pub use sinew_fem::{Frame, Recorder, Simulation, StepError, StepReport};
    pub use sinew_math::{Mat3, Vec3};
    pub use sinew_run::compile::compile;
    pub use sinew_run::run::{Observer, RunOptions, RunOutcome, run};
    pub use sinew_scene::{Scene, SceneError};
}
