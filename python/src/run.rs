//! `run` and `lab`: whole runs, as on the command line.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use numpy::PyArray1;
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};
use sinew_fem::{Interrupt, StepReport};
use sinew_run::lab::{LabError, LabOutcome, examine};
use sinew_run::run::{Observer, RunOptions, RunOutcome};
use sinew_scene::spec::lab::Protocol;

use crate::error;
use crate::scene::scene_or_path;
use crate::threads::pool_of;
use crate::values::from_json;
use crate::waiting;

/// Runs a scene like `sinew run`: compiles it, computes all frames, writes its records to `output`, and checks its
/// expectations.
///
/// Without `output`, writes nothing. `set` replaces single values, `frames` ends the run early, `resume` continues the
/// run in the folder, `force` replaces files there that no run wrote, `checkpoint` gives the seconds of computing
/// between checkpoints, and `threads` the number of threads (default: the scene's setting, else all cores; results do
/// not depend on it). `progress` is a function called with the number of finished frames and the total, or True for a
/// line on stderr. Ctrl-C ends the run after the last complete frame, with valid files.
#[pyfunction]
#[pyo3(signature = (scene, output=None, *, set=None, frames=None, resume=false, force=false, checkpoint=None, threads=None, progress=None))]
#[allow(clippy::too_many_arguments)]
pub fn run(
    py: Python<'_>,
    scene: &Bound<'_, PyAny>,
    output: Option<PathBuf>,
    set: Option<&Bound<'_, PyAny>>,
    frames: Option<usize>,
    resume: bool,
    force: bool,
    checkpoint: Option<f64>,
    threads: Option<usize>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Run> {
    if resume && output.is_none() {
        return Err(PyValueError::new_err("`resume` continues the run in a folder: say which one by `output`"));
    }
    let scene = scene_or_path(scene, set)?.scene;
    let options = RunOptions {
        output,
        frames,
        overrides: scene.source.overrides(),
        resume,
        checkpoint,
        replace: force,
        ..RunOptions::default()
    };
    let mut watch = Watch::new(self::progress(py, progress)?);
    let failure = Arc::clone(&watch.failure);
    let result = waiting::aside(py, |interrupt| {
        watch.interrupt = interrupt;
        in_threads(threads.or(scene.threads), || sinew_run::run::run(&scene, &options, &mut watch))
    })?;
    if let Some(error) = failure.lock().ok().and_then(|mut failure| failure.take()) {
        return Err(error);
    }
    Ok(Run { outcome: result?.map_err(|problem| error::run(&problem))? })
}

/// Tests the muscle of a scene with a physiological protocol, like `sinew lab`: tension-length, force-velocity,
/// isotonic, quick-release, twitch, tetanus or free.
///
/// Writes PROTOCOL.csv and PROTOCOL.html to the folder `output`, if given. `beside` is a CSV file of measured data, whose
/// columns are columns of the protocol with their units; the result then has the figure `data_difference`.
#[pyfunction]
#[pyo3(signature = (protocol, scene, output=None, *, beside=None, set=None, threads=None, progress=None))]
#[allow(clippy::too_many_arguments)]
pub fn lab(
    py: Python<'_>,
    protocol: &str,
    scene: &Bound<'_, PyAny>,
    output: Option<PathBuf>,
    beside: Option<PathBuf>,
    set: Option<&Bound<'_, PyAny>>,
    threads: Option<usize>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Lab> {
    let known = Protocol::words().find(|word| word.0 == protocol.replace('_', "-")).map(|word| word.1);
    let protocol = known.ok_or_else(|| {
        let words: Vec<&str> = Protocol::words().map(|word| word.0).collect();
        PyKeyError::new_err(format!("there is no protocol \"{protocol}\"; there are {}", words.join(", ")))
    })?;
    let mut scene = scene_or_path(scene, set)?.scene;
    if let Some(file) = beside {
        let path = std::path::absolute(&file)?.into_os_string().into_string();
        let path = path.map_err(|_| PyValueError::new_err("the path `beside` is not valid Unicode"))?;
        Arc::make_mut(&mut scene).lab.beside.set(protocol, path);
    }
    if let Some(folder) = &output {
        std::fs::create_dir_all(folder)?;
    }
    let mut watch = Watch::new(self::progress(py, progress)?);
    let failure = Arc::clone(&watch.failure);
    let result = waiting::aside(py, |interrupt| {
        watch.interrupt = interrupt;
        in_threads(threads.or(scene.threads), || examine(&scene, protocol, output.as_deref(), &mut watch))
    })?;
    if let Some(error) = failure.lock().ok().and_then(|mut failure| failure.take()) {
        return Err(error);
    }
    let outcome = result?.map_err(|problem| match problem {
        LabError::Scene(problem) => error::scene(&problem),
        problem => error::RunError::new_err(error::plain(&problem.to_string())),
    })?;
    Ok(Lab { outcome })
}

/// Runs work on this many threads, or on the current pool.
fn in_threads<T: Send>(threads: Option<usize>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    Ok(match pool_of(threads)? {
        Some(pool) => pool.install(work),
        None => work(),
    })
}

/// Interprets `progress`: a function, or True for a line on stderr.
pub fn progress(py: Python<'_>, progress: Option<Bound<'_, PyAny>>) -> PyResult<Option<Py<PyAny>>> {
    let Some(progress) = progress else { return Ok(None) };
    if let Ok(flag) = progress.cast::<PyBool>() {
        return match flag.is_true() {
            true => Ok(Some(py.import("sinew.progress")?.getattr("Line")?.call0()?.unbind())),
            false => Ok(None),
        };
    }
    match progress.is_callable() {
        true => Ok(Some(progress.unbind())),
        false => Err(PyTypeError::new_err("`progress` is a function of two numbers, or True")),
    }
}

/// Reports the progress of a run to Python.
struct Watch {
    progress: Option<Py<PyAny>>,
    interrupt: Interrupt,
    failure: Arc<std::sync::Mutex<Option<PyErr>>>,
}

impl Watch {
    fn new(progress: Option<Py<PyAny>>) -> Self {
        Self { progress, interrupt: Interrupt::default(), failure: Arc::default() }
    }
}

impl Observer for Watch {
    fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }

    fn frame(&mut self, done: usize, all: usize, _: &StepReport) -> ControlFlow<()> {
        if self.interrupt.is_wanted() {
            return ControlFlow::Break(());
        }
        let Some(progress) = &self.progress else { return ControlFlow::Continue(()) };
        match Python::attach(|py| progress.call1(py, (done, all))) {
            Ok(_) => ControlFlow::Continue(()),
            Err(error) => {
                if let Ok(mut failure) = self.failure.lock() {
                    failure.get_or_insert(error);
                }
                ControlFlow::Break(())
            }
        }
    }
}

/// The result of a run.
#[pyclass(frozen, module = "sinew")]
pub struct Run {
    outcome: RunOutcome,
}

#[pymethods]
impl Run {
    /// Whether the run is complete and meets all expectations of the scene.
    #[getter]
    fn passed(&self) -> bool {
        self.outcome.passed()
    }

    /// Computed frames, without the initial one.
    #[getter]
    fn frames(&self) -> usize {
        self.outcome.frames
    }

    /// Wall-clock time [s].
    #[getter]
    fn seconds(&self) -> f64 {
        self.outcome.timing.seconds
    }

    /// Fingerprint of the final positions and velocities, as 16 hexadecimal digits: equal bits, equal text.
    #[getter]
    fn hash(&self) -> String {
        format!("{:016x}", self.outcome.hash)
    }

    /// Times of all frames [s].
    #[getter]
    fn times<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.outcome.history.times())
    }

    /// Probes over all frames, by name.
    #[getter]
    fn probes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for name in self.outcome.history.names() {
            let column = self.outcome.history.column(name).unwrap_or_default();
            dict.set_item(name, PyArray1::from_vec(py, column))?;
        }
        Ok(dict)
    }

    /// The expectations of the scene and their outcomes: a dict each, with name, expected, got, time and passed (None
    /// if a shortened run did not reach it).
    #[getter]
    fn expectations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        from_json(py, &self.outcome.to_json()["expectations"])
    }

    /// The cases of `[study]`, if the scene has one.
    #[getter]
    fn study<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        from_json(py, &self.outcome.to_json()["study"])
    }

    /// Files written.
    #[getter]
    fn outputs(&self) -> Vec<PathBuf> {
        self.outcome.outputs.clone()
    }

    /// Notes on repairs and other findings.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.outcome.notes.clone()
    }

    /// Everything that `sinew run --json` prints.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        from_json(py, &self.outcome.to_json())
    }

    fn __repr__(&self) -> String {
        let checks = &self.outcome.expectations;
        let held = checks.iter().filter(|check| check.passed).count();
        format!(
            "<Run: {} frames in {:.2} s, {held} of {} expectations hold>",
            self.outcome.frames,
            self.seconds(),
            checks.len()
        )
    }
}

/// The result of a protocol.
#[pyclass(frozen, module = "sinew")]
pub struct Lab {
    outcome: LabOutcome,
}

#[pymethods]
impl Lab {
    /// Whether all expectations of the scene hold.
    #[getter]
    fn passed(&self) -> bool {
        self.outcome.passed()
    }

    /// What to think of the results, in one line.
    #[getter]
    fn verdict(&self) -> &str {
        &self.outcome.verdict.text
    }

    /// What is wrong with measurements or with the muscle, each with what to do.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.outcome.warnings.clone()
    }

    /// Doubts about each measurement, in words: unstable, fast, range, pushes; empty if there are none.
    #[getter]
    fn doubts(&self) -> Vec<String> {
        (0..self.outcome.sheet.rows.len()).map(|row| self.outcome.sheet.doubt_words(row)).collect()
    }

    /// Results by name; `units` has their units.
    #[getter]
    fn figures<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        self.outcome.figures.iter().try_for_each(|figure| dict.set_item(figure.name, figure.value))?;
        Ok(dict)
    }

    /// Units of the results by name.
    #[getter]
    fn units<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        self.outcome.figures.iter().try_for_each(|figure| dict.set_item(figure.name, figure.unit))?;
        Ok(dict)
    }

    /// Measurements: one column each, with the unit in the name.
    #[getter]
    fn measurements<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (dict, sheet) = (PyDict::new(py), &self.outcome.sheet);
        for (index, name) in sheet.columns.iter().enumerate() {
            dict.set_item(name, PyArray1::from_vec(py, sheet.column(index)))?;
        }
        Ok(dict)
    }

    /// The expectations of the scene and their outcomes.
    #[getter]
    fn expectations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        from_json(py, &self.outcome.to_json()["expectations"])
    }

    /// Files written.
    #[getter]
    fn outputs(&self) -> Vec<PathBuf> {
        self.outcome.outputs.clone()
    }

    /// Notes for the user.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.outcome.notes.clone()
    }

    fn __repr__(&self) -> String {
        format!("<Lab {}: {} measurements>", self.outcome.protocol.word(), self.outcome.sheet.rows.len())
    }
}
