//! Muscle, flesh and skin: from anatomy to simulated tissue.
//!
//! ```text
//! scene.toml ─parse→ Scene ─validate→ Scene ─compile→ Simulation ─step→ State ─observe→ Frame ─record→ file
//! ```
//!
//! This crate is the facade: it re-exports the other crates and holds the command line. The front page of each crate
//! names the types to start with:
//!
//! | module | crate | content |
//! |---|---|---|
//! | [`math`] | [`sinew_math`] | numbers: `Scalar`, 3×3 matrices, batched SVD, sparse matrices and their solvers |
//! | [`geometry`] | [`sinew_geometry`] | shapes without time: meshes, embeddings, distances |
//! | [`rig`] | [`sinew_rig`] | characters of animation programs: joints, weights, keyframes |
//! | [`io`] | [`sinew_io`] | mesh and character files of other programs |
//! | [`muscle`] | [`sinew_muscle`] | muscle in one dimension: curves, activation, fiber and tendon in series |
//! | [`fem::element`], [`fem::material`] | `sinew-cell` | one cell: shape functions, quadrature, constitutive laws |
//! | [`fem::elastic`] | [`sinew_elastic`] | many cells of one law: energy, forces, stiffness |
//! | [`lattice`] | [`sinew_lattice`] | bodies of equal cubes: energy, forces, multigrid |
//! | [`fem`] | [`sinew_fem`] | flesh in time: forces, contact, solvers, gradients |
//! | [`scene`] | [`sinew_scene`] | scene files, and scenes in code ([`scene::build`]) |
//! | [`scene::compile`], [`scene::run`], [`scene::study`], [`scene::lab`] | [`sinew_run`] | compiling and running scenes |
//! | [`scene::record`], [`scene::report`], [`scene::convert`] | [`sinew_record`] | outputs and reports |
//! | [`scene::store`] | [`sinew_store`] | recordings |
//! | [`scene::raster`] | [`sinew_raster`] | pictures |
//!
//! Start with a [`Scene`](sinew_scene::Scene), [`compile`](sinew_run::compile::compile) it into a
//! [`Simulation`](sinew_fem::Simulation), and step it. `examples/` has programs for the common tasks, which run in the
//! tests.
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

/// Scenes: reading, compiling, running, recording, reports.
pub mod scene {
    pub use sinew_raster as raster;
    pub use sinew_record::{artist, convert, record, report, still};
    pub use sinew_run::{compile, expect, history, lab, manifest, run, snapshot, study, timing};
    pub use sinew_scene::*;
    pub use sinew_store as store;

    /// Output files: which ones a run may write, and its folder.
    pub mod output {
        pub use sinew_run::output::*;
        pub use sinew_scene::output::*;
    }
}

/// The names that most programs need.
pub mod prelude {
    pub use sinew_fem::{Frame, Recorder, Simulation, StepError, StepReport};
    pub use sinew_math::{Mat3, Vec3};
    pub use sinew_run::compile::compile;
    pub use sinew_run::run::{Observer, RunOptions, RunOutcome, run};
    pub use sinew_scene::{Scene, SceneError};
}
