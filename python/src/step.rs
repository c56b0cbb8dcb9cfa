//! `Step`: statistics of a frame.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use sinew_fem::StepReport;

/// Statistics of a computed frame: effort, accuracy, and time.
#[pyclass(frozen, module = "sinew")]
#[derive(Clone, Copy)]
pub struct Step {
    pub report: StepReport,
    /// Wall-clock time of the frame [s], or that of the solver if not measured.
    pub frame_seconds: f64,
}

impl From<StepReport> for Step {
    fn from(report: StepReport) -> Self {
        Self { report, frame_seconds: report.timing.total.as_secs_f64() }
    }
}

#[pymethods]
impl Step {
    /// Time at the end [s].
    #[getter]
    fn time(&self) -> f64 {
        self.report.time
    }

    /// Steps taken.
    #[getter]
    fn substeps(&self) -> usize {
        self.report.substeps
    }

    /// Steps that failed and were halved.
    #[getter]
    fn rollbacks(&self) -> usize {
        self.report.rollbacks
    }

    /// Newton iterations.
    #[getter]
    fn newton_iterations(&self) -> usize {
        self.report.newton_iterations
    }

    /// Iterations of the linear solver.
    #[getter]
    fn linear_iterations(&self) -> usize {
        self.report.linear_iterations
    }

    /// Norm of the residual at the end [N].
    #[getter]
    fn residual(&self) -> f64 {
        self.report.residual
    }

    /// The same relative to its norm at the start.
    #[getter]
    fn relative_residual(&self) -> f64 {
        self.report.relative_residual
    }

    /// Steps stopped by an iteration budget before they converged.
    #[getter]
    fn unconverged(&self) -> usize {
        self.report.unconverged
    }

    /// Points in contact.
    #[getter]
    fn contacts(&self) -> usize {
        self.report.contacts
    }

    /// Wall-clock time of the solver [s].
    #[getter]
    fn seconds(&self) -> f64 {
        self.report.timing.total.as_secs_f64()
    }

    /// Wall-clock time of the whole frame [s], including work outside the solver; for frames of a recording, that of
    /// the solver.
    #[getter]
    fn frame_seconds(&self) -> f64 {
        self.frame_seconds
    }

    /// Energies at the end [J]: elastic, kinetic, gravity, contact, other, total.
    #[getter]
    fn energies<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let energies = &self.report.energies;
        let dict = PyDict::new(py);
        dict.set_item("elastic", energies.elastic)?;
        dict.set_item("kinetic", energies.kinetic)?;
        dict.set_item("gravity", energies.gravity)?;
        dict.set_item("contact", energies.contact)?;
        dict.set_item("other", energies.other)?;
        dict.set_item("total", energies.total())?;
        Ok(dict)
    }

    /// Wall-clock time of the parts [s]: gradient, assembly, linear_solve, contact, total.
    #[getter]
    fn timing<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let timing = &self.report.timing;
        let dict = PyDict::new(py);
        dict.set_item("gradient", timing.gradient.as_secs_f64())?;
        dict.set_item("assembly", timing.assembly.as_secs_f64())?;
        dict.set_item("linear_solve", timing.linear_solve.as_secs_f64())?;
        dict.set_item("contact", timing.contact.as_secs_f64())?;
        dict.set_item("total", timing.total.as_secs_f64())?;
        Ok(dict)
    }

    fn __repr__(&self) -> String {
        format!("<Step {}>", self.report)
    }
}
