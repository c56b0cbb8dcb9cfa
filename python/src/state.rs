//! `State`: a simulation at one time, to keep, compare or send.

use std::path::{Path, PathBuf};

use numpy::PyArray2;
use pyo3::exceptions::{PyFileNotFoundError, PyOSError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sinew_record::record::write_file;
use sinew_run::snapshot::Snapshot;

use crate::arrays::view_vectors;
use crate::error;

/// The full state of a simulation, as a copy: positions, velocities, the history of contacts and muscles, and held
/// control channels.
///
/// States can be compared, pickled, saved, and restored to a simulation of the same scene.
#[pyclass(frozen, module = "sinew")]
#[derive(Clone)]
pub struct State {
    pub snapshot: Snapshot,
}

#[pymethods]
impl State {
    /// Simulated time [s].
    #[getter]
    fn time(&self) -> f64 {
        self.snapshot.state.time
    }

    /// Positions of all nodes [m], shape (n, 3), read-only.
    #[getter]
    fn positions<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray2<f64>> {
        // SAFETY: a state never changes, and the array keeps it alive.
        unsafe { view_vectors(&slf.get().snapshot.state.positions, slf.clone().into_any()) }
    }

    /// Velocities of all nodes [m/s], shape (n, 3), read-only.
    #[getter]
    fn velocities<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray2<f64>> {
        // SAFETY: as above.
        unsafe { view_vectors(&slf.get().snapshot.state.velocities, slf.clone().into_any()) }
    }

    /// Held control channels, with their values.
    #[getter]
    fn held(&self) -> Vec<(String, f64)> {
        self.snapshot.held.clone()
    }

    /// The state as bytes, identical on every machine.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.snapshot.to_bytes())
    }

    /// Restores a state from the bytes of `to_bytes`.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        Ok(Self { snapshot: Snapshot::from_bytes(bytes).map_err(error::other)? })
    }

    /// Writes the state to a file, atomically.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        write_file(&path, &self.snapshot.to_bytes()).map_err(error::other)
    }

    /// Reads a state from a file of `save`, or from the checkpoint of a run.
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Self> {
        Ok(Self { snapshot: read_snapshot(&path)? })
    }

    /// The state itself, since states are immutable.
    fn copy(slf: &Bound<'_, Self>) -> Py<Self> {
        slf.clone().unbind()
    }

    fn __repr__(&self) -> String {
        format!(
            "<State at {} s: {} nodes>",
            sinew_scene::format_number(self.time()),
            self.snapshot.state.positions.len()
        )
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.snapshot == other.snapshot
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let restore = py.import("sinew._sinew")?.getattr("State")?.getattr("from_bytes")?;
        Ok((restore, (self.to_bytes(py),)))
    }
}

/// The state in a file; errors name the file.
pub fn read_snapshot(path: &Path) -> PyResult<Snapshot> {
    let bytes = std::fs::read(path).map_err(|problem| match problem.kind() {
        std::io::ErrorKind::NotFound => PyFileNotFoundError::new_err(format!("there is no file {}", path.display())),
        _ => PyOSError::new_err(format!("cannot read {}: {problem}", path.display())),
    })?;
    Snapshot::from_bytes(&bytes).map_err(|problem| error::other(format!("{}: {problem}", path.display())))
}
