//! Sinew in Python: the module `sinew._sinew`, with the names of scene files and of Rust.
//!
//! Each file covers one class or topic of the Python API. Code that does not deal with the language boundary belongs in
//! the crates below; code that needs no speed is in Python (`python/sinew`).

mod anatomy;
mod arrays;
mod command;
mod control;
mod cover;
mod error;
mod force;
mod lattice;
mod material;
mod mesh;
mod picture;
mod recording;
mod run;
mod scene;
mod simulation;
mod state;
mod step;
mod threads;
mod values;
mod volume;
mod waiting;

use pyo3::prelude::*;

/// Muscle, flesh and skin: from anatomy to simulated tissue.
#[pymodule]
mod _sinew {
    #[pymodule_export]
    use crate::anatomy::{Model, Recipe};
    #[pymodule_export]
    use crate::command::{command, program};
    #[pymodule_export]
    use crate::control::Control;
    #[pymodule_export]
    use crate::cover::Cover;
    #[pymodule_export]
    use crate::lattice::Lattice;
    #[pymodule_export]
    use crate::material::Material;
    #[pymodule_export]
    use crate::mesh::Mesh;
    #[pymodule_export]
    use crate::picture::Picture;
    #[pymodule_export]
    use crate::recording::{Frame, Recording};
    #[pymodule_export]
    use crate::run::{Lab, Run, lab, run};
    #[pymodule_export]
    use crate::scene::Scene;
    #[pymodule_export]
    use crate::simulation::{Body, Simulation};
    #[pymodule_export]
    use crate::state::State;
    #[pymodule_export]
    use crate::step::Step;
    #[pymodule_export]
    use crate::volume::Volume;
    use pyo3::exceptions::PyImportError;
    use pyo3::prelude::*;

    /// Adds the version and the command line.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        sinew_math::lanes::check_processor().map_err(|error| PyImportError::new_err(error.to_string()))?;
        crate::threads::remember_process();
        crate::command::remember_program(module.py())?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
