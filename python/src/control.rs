//! `Control`: the channels of a simulation, as a mapping.

use std::collections::BTreeMap;

use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use sinew_fem::{Command, ControlError};

use crate::simulation::Simulation;

/// Control channels of a simulation by name: pins, pressures, loads, activations, gravity.
///
/// Reading gives the value at the current frame. Setting holds a channel at a value from the next step on and overrides
/// its track in the scene; deleting returns it to its track.
#[pyclass(frozen, module = "sinew", mapping)]
pub struct Control {
    pub simulation: Py<Simulation>,
}

#[pymethods]
impl Control {
    fn __getitem__(&self, py: Python<'_>, name: &str) -> PyResult<f64> {
        self.find(py, name)?.ok_or_else(|| self.unknown(py, name))
    }

    /// The value of a channel, or `default` if there is no channel of that name.
    #[pyo3(signature = (name, default=None))]
    fn get(&self, py: Python<'_>, name: &str, default: Option<f64>) -> PyResult<Option<f64>> {
        Ok(self.find(py, name)?.or(default))
    }

    /// Holds several channels at values.
    fn update(&self, py: Python<'_>, values: BTreeMap<String, f64>) -> PyResult<()> {
        values.iter().try_for_each(|(name, value)| self.__setitem__(py, name, *value))
    }

    fn __setitem__(&self, py: Python<'_>, name: &str, value: f64) -> PyResult<()> {
        self.command(py, &Command::SetChannel { channel: name.into(), value })
    }

    fn __delitem__(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        self.command(py, &Command::ReleaseChannel { channel: name.into() })
    }

    fn __contains__(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        Ok(self.simulation.get().lock(py)?.simulation.control().table().find(name).is_some())
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.simulation.get().lock(py)?.simulation.control().values().len())
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.keys(py)?.into_pyobject(py)?.try_iter()?.into_any())
    }

    /// Names of all channels.
    fn keys(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.simulation.get().lock(py)?.simulation.control().table().names().to_vec())
    }

    /// Values of all channels, in the order of their names.
    fn values(&self, py: Python<'_>) -> PyResult<Vec<f64>> {
        Ok(self.simulation.get().lock(py)?.simulation.control().values().to_vec())
    }

    /// Names and values.
    fn items(&self, py: Python<'_>) -> PyResult<Vec<(String, f64)>> {
        Ok(self.keys(py)?.into_iter().zip(self.values(py)?).collect())
    }

    /// Channels that are held, with their values.
    #[getter]
    fn held(&self, py: Python<'_>) -> PyResult<Vec<(String, f64)>> {
        let inner = self.simulation.get().lock(py)?;
        Ok(inner.simulation.held().map(|(name, value)| (name.to_string(), value)).collect())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let Ok(held) = self.held(py) else { return Ok("<Control: computing in another thread>".into()) };
        let held: Vec<String> = held.iter().map(|(name, value)| format!(", {name} held at {value}")).collect();
        Ok(format!("<Control: {} channels{}>", self.__len__(py)?, held.concat()))
    }
}

impl Control {
    fn find(&self, py: Python<'_>, name: &str) -> PyResult<Option<f64>> {
        let inner = self.simulation.get().lock(py)?;
        let control = inner.simulation.control();
        Ok(control.table().find(name).map(|channel| control.get(channel)))
    }

    pub fn command(&self, py: Python<'_>, command: &Command) -> PyResult<()> {
        let result = self.simulation.get().lock(py)?.simulation.command(command);
        result.map_err(|error| match error {
            ControlError::UnknownChannel { name } => self.unknown(py, &name),
            ControlError::NotFinite { .. } => PyValueError::new_err(error.to_string()),
        })
    }

    fn unknown(&self, py: Python<'_>, name: &str) -> PyErr {
        let known = self.keys(py).unwrap_or_default();
        let hint = match sinew_scene::nearest(name, known.iter().map(String::as_str)) {
            Some(near) => format!("; did you mean \"{near}\"?"),
            None => format!("; there are {}", known.join(", ")),
        };
        PyKeyError::new_err(format!("there is no control channel \"{name}\"{hint}"))
    }
}
