//! `Simulation` and `Body`: flesh in time, frame by frame.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::Instant;

use numpy::{PyArray1, PyArray2};
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use rayon::ThreadPool;
use sinew_fem::Command;
use sinew_math::Vec3;
use sinew_record::record::encode_png;
use sinew_record::still::Portrait;
use sinew_run::snapshot::Snapshot;
use sinew_store::{Header, RecordingParams, RecordingWriter};

use crate::arrays::{as_vectors, floats, matrices, rows, vectors, view_rows, view_vectors};
use crate::control::Control;
use crate::error;
use crate::force::{PythonForce, SharedObject, WantedForce, read_forces};
use crate::mesh::{Mesh, mesh_of};
use crate::picture::{Picture, checked_size};
use crate::scene::{Scene, scene_or_path};
use crate::state::State;
use crate::step::Step;
use crate::threads::{own_pool, pool_of, with_threads};
use crate::waiting::{self, Objection};

/// A running scene: `step` computes frame after frame. In between, you can inspect and control everything.
///
/// Arrays such as `positions` are views of the simulation's memory: they cost nothing, are read-only, and show the new
/// frame after each step. Copy them (`.copy()`) to keep a frame. They stay valid as long as you hold them, even after
/// the simulation is gone. While another thread computes a step, they show intermediate values. Where a scene takes
/// cells away (`remove`), ask for them again: older views stay at the frame before.
///
/// Other Python threads can run while a step is computed. A simulation steps in one thread at a time; a second thread
/// gets an error.
#[pyclass(frozen, module = "sinew")]
pub struct Simulation {
    inner: Mutex<Inner>,
    objection: Arc<Objection>,
    /// Python forces, which may refer back to this simulation.
    forces: Vec<SharedObject>,
    /// Its own thread pool, if the scene sets the number of threads.
    pool: Option<Arc<ThreadPool>>,
    scene: Scene,
}

/// Data that steps change.
pub struct Inner {
    pub simulation: sinew_fem::Simulation,
    recorder: Option<RecordingWriter>,
}

#[pymethods]
impl Simulation {
    /// Compiles a scene, or the scene file at a path. `forces` are custom forces (see `sinew.Force`); `check` first
    /// compares their derivatives with finite differences and raises `ForceError` if they are wrong.
    #[new]
    #[pyo3(signature = (scene, *, set=None, forces=None, check=true))]
    fn new(
        py: Python<'_>,
        scene: &Bound<'_, PyAny>,
        set: Option<&Bound<'_, PyAny>>,
        forces: Option<Vec<Py<PyAny>>>,
        check: bool,
    ) -> PyResult<Self> {
        Self::make(py, &scene_or_path(scene, set)?, &forces.unwrap_or_default(), check)
    }

    /// Computes the next `frames` frames and returns statistics of the last one. Raises `StepError` if a frame cannot
    /// be computed; the simulation then stays at the frame before. Ctrl-C aborts a step the same way.
    #[pyo3(signature = (frames=1))]
    pub fn step(&self, py: Python<'_>, frames: usize) -> PyResult<Step> {
        let mut inner = self.lock(py)?;
        let Inner { simulation, recorder } = &mut *inner;
        let mut step = Step::from(*simulation.report());
        for _ in 0..frames {
            step = self.compute(py, simulation)?;
            if let Some(recorder) = recorder {
                recorder.append(&simulation.frame()).map_err(error::other)?;
            }
        }
        Ok(step)
    }

    /// Computes all frames to the end of the scene, or `frames` frames. `progress` is a function called after each
    /// frame with the number of finished frames and the total, or True for a line on stderr.
    #[pyo3(signature = (frames=None, *, progress=None))]
    fn run(&self, py: Python<'_>, frames: Option<usize>, progress: Option<Bound<'_, PyAny>>) -> PyResult<Option<Step>> {
        let (all, rate) = (self.scene.scene.frame_count(), self.scene.scene.frame_rate);
        let left = all.saturating_sub((self.time(py)? * rate).round() as usize);
        let count = frames.unwrap_or(left);
        let progress = crate::run::progress(py, progress)?;
        let mut last = None;
        for done in 1..=count {
            last = Some(self.step(py, 1)?);
            if let Some(progress) = &progress {
                progress.call1(py, (done, count))?;
            }
        }
        Ok(last)
    }

    /// Simulated time [s].
    #[getter]
    fn time(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(self.lock(py)?.simulation.time())
    }

    /// Number of the current frame; 0 is the initial state.
    #[getter]
    fn frame(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.lock(py)?.simulation.frame_index())
    }

    /// Statistics of the current frame.
    #[getter]
    fn last_step(&self, py: Python<'_>) -> PyResult<Step> {
        Ok(Step::from(*self.lock(py)?.simulation.report()))
    }

    /// Its scene.
    #[getter]
    fn scene(&self) -> Scene {
        self.scene.clone()
    }

    /// Notes on repairs and other findings in the scene.
    #[getter]
    fn notes(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.lock(py)?.simulation.notes.clone())
    }

    /// Positions of all nodes of all bodies [m], shape (n, 3): a read-only view.
    #[getter]
    fn positions<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let inner = slf.get().lock(slf.py())?;
        // SAFETY: the arrays of a state keep their address and length for the life of the simulation, which the view
        // keeps alive; states of models that removals replace are kept.
        Ok(unsafe { view_vectors(&inner.simulation.state().positions, slf.clone().into_any()) })
    }

    /// Velocities of all nodes [m/s], shape (n, 3): a read-only view.
    #[getter]
    fn velocities<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let inner = slf.get().lock(slf.py())?;
        // SAFETY: as for positions.
        Ok(unsafe { view_vectors(&inner.simulation.state().velocities, slf.clone().into_any()) })
    }

    /// Residual force at each node [N], shape (n, 3): on pinned nodes the force of the pin on the flesh, nearly zero
    /// elsewhere. A read-only view.
    #[getter]
    fn reactions<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let inner = slf.get().lock(slf.py())?;
        // SAFETY: as for positions.
        Ok(unsafe { view_vectors(&inner.simulation.state().reactions, slf.clone().into_any()) })
    }

    /// Elastic forces on the nodes [N], including active muscle, shape (n, 3): a freshly computed copy.
    #[getter]
    fn forces<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let inner = self.lock(py)?;
        let (simulation, mut out) = (&inner.simulation, vec![Vec3::zero(); inner.simulation.state().positions.len()]);
        simulation.model().add_elastic_forces(simulation.state(), simulation.control(), &mut out);
        Ok(vectors(py, &out))
    }

    /// The deformable bodies by name.
    #[getter]
    fn bodies<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        let py = slf.py();
        let count = slf.get().lock(py)?.simulation.model().bodies.len();
        let bodies = PyDict::new(py);
        for index in 0..count {
            let name = slf.get().lock(py)?.simulation.model().bodies[index].name.clone();
            bodies.set_item(name, Bound::new(py, Body { simulation: slf.clone().unbind(), index })?)?;
        }
        Ok(bodies)
    }

    /// A body by name; without a name, the only one.
    #[pyo3(signature = (name=None))]
    fn body(slf: &Bound<'_, Self>, name: Option<&str>) -> PyResult<Body> {
        let inner = slf.get().lock(slf.py())?;
        let model = inner.simulation.model();
        let index = match name {
            Some(name) => model.find_body(name),
            None => (model.bodies.len() == 1).then_some(0),
        };
        let names: Vec<&str> = model.bodies.iter().map(|body| body.name.as_str()).collect();
        let index = index.ok_or_else(|| match name {
            Some(name) => PyKeyError::new_err(format!("there is no body \"{name}\"; there are {}", names.join(", "))),
            None => PyKeyError::new_err(format!("which body? There are {}", names.join(", "))),
        })?;
        Ok(Body { simulation: slf.clone().unbind(), index })
    }

    /// Names of all probes.
    #[getter]
    fn probe_names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.lock(py)?.simulation.probe_names().to_vec())
    }

    /// Values of all probes at the current frame, by name.
    #[getter]
    fn probes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let inner = self.lock(py)?;
        let frame = inner.simulation.frame();
        let dict = PyDict::new(py);
        for (name, value) in frame.probe_names.iter().zip(frame.probe_values) {
            dict.set_item(name, value)?;
        }
        Ok(dict)
    }

    /// Values of all probes at the current frame, in the order of `probe_names`: a copy.
    #[getter]
    fn probe_values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(PyArray1::from_slice(py, self.lock(py)?.simulation.frame().probe_values))
    }

    /// Value of a probe at the current frame.
    fn probe(&self, py: Python<'_>, name: &str) -> PyResult<f64> {
        let inner = self.lock(py)?;
        inner.simulation.probe(name).ok_or_else(|| {
            let known = inner.simulation.probe_names();
            let hint = sinew_scene::nearest(name, known.iter().map(String::as_str));
            let hint = hint.map(|near| format!("; did you mean \"{near}\"?")).unwrap_or_default();
            PyKeyError::new_err(format!("there is no probe \"{name}\"{hint}"))
        })
    }

    /// The control channels: a mapping to read and set.
    #[getter]
    fn control(slf: &Bound<'_, Self>) -> Control {
        Control { simulation: slf.clone().unbind() }
    }

    /// Applies a command from the next step on: {"type": "set_channel", "channel": NAME, "value": NUMBER} or {"type":
    /// "release_channel", "channel": NAME}.
    fn command(slf: &Bound<'_, Self>, command: &Bound<'_, PyDict>) -> PyResult<()> {
        let field = |key: &str| {
            command.get_item(key)?.ok_or_else(|| PyValueError::new_err(format!("a command needs \"{key}\"")))
        };
        let channel: String = field("channel")?.extract()?;
        let command = match field("type")?.extract::<String>()?.as_str() {
            "set_channel" => Command::SetChannel { channel, value: field("value")?.extract()? },
            "release_channel" => Command::ReleaseChannel { channel },
            other => {
                return Err(PyValueError::new_err(format!(
                    "there is no command \"{other}\"; there are set_channel, release_channel"
                )));
            }
        };
        Control { simulation: slf.clone().unbind() }.command(slf.py(), &command)
    }

    /// The full simulation state, as a copy. Assigning it restores that state; the next frame is the first one after
    /// its time.
    #[getter]
    fn state(&self, py: Python<'_>) -> PyResult<State> {
        Ok(State { snapshot: Snapshot::of(&self.lock(py)?.simulation) })
    }

    #[setter]
    fn set_state(&self, py: Python<'_>, state: &Bound<'_, PyAny>) -> PyResult<()> {
        let state = state.cast::<State>().map_err(|_| PyTypeError::new_err("a State is expected"))?;
        state.get().snapshot.restore(&mut self.lock(py)?.simulation).map_err(error::other)
    }

    /// Writes the state to a file; see `load`.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let bytes = self.state(py)?.snapshot.to_bytes();
        sinew_record::record::write_file(&path, &bytes).map_err(error::other)
    }

    /// Restores the state from a saved file or from the checkpoint of a run.
    fn load(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let snapshot = crate::state::read_snapshot(&path)?;
        snapshot.restore(&mut self.lock(py)?.simulation).map_err(error::other)
    }

    /// Records the current frame and all later ones to a file (.sinew), until `stop_recording`. Open it with
    /// `Recording`, or convert it for other programs with `convert`.
    fn record(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let mut inner = self.lock(py)?;
        let source = &self.scene.scene.source;
        let header = Header {
            program: env!("CARGO_PKG_VERSION").into(),
            scene_name: source.name().into(),
            scene_text: source.text().into(),
            overrides: source.overrides().iter().map(|set| set.text().to_string()).collect(),
            frame_rate: self.scene.scene.frame_rate,
            ..Header::default()
        };
        let record = &self.scene.scene.record;
        let params =
            RecordingParams { error: record.error, stress: record.stress, contacts: record.contacts, every: 1 };
        let mut writer = RecordingWriter::create(&path, header, &params).map_err(error::other)?;
        writer.append(&inner.simulation.frame()).map_err(error::other)?;
        inner.recorder = Some(writer);
        Ok(())
    }

    /// Ends the recording and completes the file.
    fn stop_recording(&self, py: Python<'_>) -> PyResult<()> {
        match self.lock(py)?.recorder.take() {
            Some(mut writer) => writer.sync().map_err(error::other),
            None => Err(error::other("nothing is being recorded")),
        }
    }

    /// A picture of the current frame, of 640 x 480 pixels by default; notebooks display it. Bodies are colored as set
    /// by `record.color` of the scene, or by the field `color`: von_mises, J, stretch, fiber_stretch, displacement,
    /// speed or label.
    #[pyo3(signature = (size=None, *, color=None))]
    fn picture(&self, py: Python<'_>, size: Option<(usize, usize)>, color: Option<&str>) -> PyResult<Picture> {
        let size = checked_size(size.unwrap_or((640, 480)))?;
        let inner = self.lock(py)?;
        let (simulation, scene) = (&inner.simulation, &self.scene.scene);
        let mut portrait = crate::picture::colored(Portrait::new(Some((**scene).clone())), color)?;
        let frame = simulation.frame();
        portrait.look(&frame);
        Ok(Picture { png: encode_png(&portrait.draw(&frame, size)), size, frames: 1 })
    }

    fn _repr_png_<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.picture(py, None, None)?.png))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let objects = self.forces.iter().filter_map(|force| force.try_lock().ok());
        objects.into_iter().try_for_each(|object| object.as_ref().map_or(Ok(()), |object| visit.call(object)))
    }

    fn __clear__(&self) {
        for force in &self.forces {
            if let Ok(mut object) = force.lock() {
                *object = None;
            }
        }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let Ok(inner) = self.lock(py) else { return Ok("<Simulation: computing in another thread>".into()) };
        let (simulation, model) = (&inner.simulation, inner.simulation.model());
        let (cells, nodes) = model
            .bodies
            .iter()
            .fold((0, 0), |(cells, nodes), body| (cells + body.mesh.cell_count(), nodes + body.mesh.node_count()));
        let names: Vec<&str> = model.bodies.iter().map(|body| body.name.as_str()).collect();
        Ok(format!(
            "<Simulation of {}: frame {} at {} s, {cells} cells, {nodes} nodes>",
            if names.is_empty() { "nothing".into() } else { names.join(", ") },
            simulation.frame_index(),
            sinew_scene::format_number(simulation.time()),
        ))
    }
}

impl Simulation {
    /// Compiles a scene with Python forces.
    pub fn make(py: Python<'_>, scene: &Scene, forces: &[Py<PyAny>], check: bool) -> PyResult<Self> {
        let objection = Arc::new(Objection::default());
        let wanted = read_forces(py, forces)?;
        let shared_forces = wanted.iter().map(WantedForce::object).collect();
        let shared = Arc::clone(&objection);
        let (compiled, problems) = py.detach(|| {
            with_threads(|| {
                let mut problems = Vec::new();
                let compiled = sinew_run::compile::compile_with(&scene.scene, |model| {
                    let made = wanted.into_iter().map(|force| force.fit(model, &shared));
                    let (made, wrong): (Vec<_>, Vec<_>) = made.partition(Result::is_ok);
                    problems.extend(wrong.into_iter().filter_map(Result::err));
                    made.into_iter()
                        .flatten()
                        .map(|force: PythonForce| Box::new(force) as Box<dyn sinew_fem::Force>)
                        .collect()
                });
                (compiled, problems)
            })
        })?;
        if let Some(error) = objection.take() {
            return Err(error);
        }
        if !problems.is_empty() {
            return Err(error::ForceError::new_err(problems.join("\n")));
        }
        let mut simulation = compiled.map_err(|problem| error::scene(&problem))?;
        let is_small = simulation.model().kinematics.point_count() < sinew_fem::Simulation::POOLED_POINTS;
        // Arrays are views of models and states, also of those that removals of cells replace.
        simulation.keep_past_models();
        simulation.set_interrupt(if is_small { objection.listening_interrupt() } else { objection.interrupt() });
        let inner = Mutex::new(Inner { simulation, recorder: None });
        let pool = match is_small {
            true => None,
            false => pool_of(scene.scene.threads)?,
        };
        let made = Self { inner, objection, forces: shared_forces, pool, scene: scene.clone() };
        if check {
            for force in forces {
                made.check(py, force.bind(py))?;
            }
        }
        Ok(made)
    }

    /// Compares the derivatives of a force with finite differences near the initial positions.
    fn check(&self, py: Python<'_>, force: &Bound<'_, PyAny>) -> PyResult<()> {
        let inner = self.lock(py)?;
        let model = inner.simulation.model();
        let points =
            read_forces(py, &[force.clone().unbind()])?.remove(0).points(model).map_err(error::ForceError::new_err)?;
        let x: Vec<Vec3> = points.iter().map(|&point| inner.simulation.state().positions[point as usize]).collect();
        drop(inner);
        py.import("sinew.force")?.call_method1("check", (force, vectors(py, &x)))?;
        Ok(())
    }

    /// Computes one frame without the interpreter lock.
    fn compute(&self, py: Python<'_>, simulation: &mut sinew_fem::Simulation) -> PyResult<Step> {
        let is_small = simulation.model().kinematics.point_count() < sinew_fem::Simulation::POOLED_POINTS;
        // The pool of the scene does not survive a fork.
        let pool = match own_pool()? {
            Some(pool) => Some(pool),
            None => self.pool.clone(),
        };
        let frame = || {
            let start = Instant::now();
            let report = simulation.step_frame()?;
            Ok(Step { report, frame_seconds: start.elapsed().as_secs_f64() })
        };
        let result = py.detach(|| match is_small {
            true => with_threads(frame),
            false => Ok(waiting::in_pool(pool.as_deref(), &self.objection, frame)),
        })?;
        match (self.objection.take(), result) {
            (Some(error), _) => Err(error),
            (None, Ok(step)) => Ok(step),
            (None, Err(error)) => Err(error::step(&error)),
        }
    }

    /// The simulation, unless another thread is computing with it.
    pub fn lock(&self, _py: Python<'_>) -> PyResult<MutexGuard<'_, Inner>> {
        match self.inner.try_lock() {
            Ok(inner) => Ok(inner),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => {
                Err(error::other("another thread is computing with this simulation; use one simulation per thread"))
            }
        }
    }
}

/// One deformable body of a simulation. Arrays behave like those of the simulation.
#[pyclass(frozen, module = "sinew")]
pub struct Body {
    simulation: Py<Simulation>,
    index: usize,
}

#[pymethods]
impl Body {
    /// Its name.
    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.simulation.get().lock(py)?.simulation.model().bodies[self.index].name.clone())
    }

    /// Its range among the nodes of the simulation: first and end.
    #[getter]
    fn node_range(&self, py: Python<'_>) -> PyResult<(usize, usize)> {
        let inner = self.simulation.get().lock(py)?;
        let points = &inner.simulation.model().bodies[self.index].points;
        Ok((points.start, points.end))
    }

    /// Positions of its nodes [m], shape (n, 3): a read-only view.
    #[getter]
    fn positions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.view(py, |state| &state.positions)
    }

    /// Velocities of its nodes [m/s], shape (n, 3): a read-only view.
    #[getter]
    fn velocities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.view(py, |state| &state.velocities)
    }

    /// Residual forces at its nodes [N], shape (n, 3): a read-only view.
    #[getter]
    fn reactions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.view(py, |state| &state.reactions)
    }

    /// Positions at rest [m], shape (n, 3): a read-only view.
    #[getter]
    fn rest_positions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let inner = self.simulation.get().lock(py)?;
        // SAFETY: a model never changes, those that removals replace are kept, and the array keeps the simulation
        // alive.
        Ok(unsafe { view_vectors(inner.simulation.model().bodies[self.index].mesh.positions(), self.owner(py)) })
    }

    /// Displacements of its nodes [m], shape (n, 3): a copy.
    #[getter]
    fn displacements<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let inner = self.simulation.get().lock(py)?;
        let body = &inner.simulation.model().bodies[self.index];
        let now = &inner.simulation.state().positions[body.points.clone()];
        let moved: Vec<Vec3> = now.iter().zip(body.mesh.positions()).map(|(x, rest)| *x - *rest).collect();
        Ok(vectors(py, &moved))
    }

    /// Cells by shape: arrays of node indices, shape (cells, nodes per cell): read-only views.
    #[getter]
    fn cells<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let inner = self.simulation.get().lock(py)?;
        let dict = PyDict::new(py);
        for block in inner.simulation.model().bodies[self.index].mesh.blocks() {
            let shape = crate::mesh::shape_of(block.kind);
            // SAFETY: as above.
            let cells = unsafe { view_rows(&block.nodes, block.kind.nodes_per_cell(), self.owner(py)) };
            dict.set_item(shape.name(), cells)?;
        }
        Ok(dict)
    }

    /// Its mesh at rest.
    #[getter]
    fn mesh(&self, py: Python<'_>) -> PyResult<Mesh> {
        Ok(mesh_of(&self.simulation.get().lock(py)?.simulation.model().bodies[self.index].mesh))
    }

    /// Triangles of the visible surface, shape (m, 3), indices into `surface_positions`.
    #[getter]
    fn surface_triangles<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<u32>>> {
        let inner = self.simulation.get().lock(py)?;
        Ok(rows(py, &inner.simulation.model().bodies[self.index].surface.triangles))
    }

    /// Positions of the visible surface [m], shape (v, 3): a copy.
    #[getter]
    fn surface_positions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let inner = self.simulation.get().lock(py)?;
        Ok(vectors(py, &inner.simulation.surface_positions(self.index)))
    }

    /// Fields of the cells: deformation_gradient, volume_ratio, cauchy_stress, von_mises, principal_stretches. Freshly
    /// computed copies.
    #[getter]
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let inner = self.simulation.get().lock(py)?;
        let frame = inner.simulation.frame();
        let fields = frame.bodies[self.index].cell_fields();
        fields_dict(py, &fields)
    }

    /// Sets positions and velocities of its nodes, as a fresh start: discards the history of earlier steps. Pinned or
    /// bound nodes follow their constraints at the next step.
    #[pyo3(signature = (*, positions=None, velocities=None))]
    fn place(
        &self,
        py: Python<'_>,
        positions: Option<&Bound<'_, PyAny>>,
        velocities: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let mut inner = self.simulation.get().lock(py)?;
        let points = inner.simulation.model().bodies[self.index].points.clone();
        let mut state = inner.simulation.state().clone();
        let read = |what: &str, value: Option<&Bound<'_, PyAny>>| -> PyResult<Option<Vec<Vec3>>> {
            let Some(value) = value else { return Ok(None) };
            let array = floats(value)?;
            let values = as_vectors(&array, what)?;
            if values.len() != points.len() {
                let message = format!("{what} of {} nodes are expected, not of {}", points.len(), values.len());
                return Err(PyValueError::new_err(message));
            }
            match values.iter().position(|value| !value.is_finite()) {
                Some(node) => Err(PyValueError::new_err(format!("{what} of node {node} are not finite"))),
                None => Ok(Some(values.to_vec())),
            }
        };
        let (places, speeds) = (read("positions", positions)?, read("velocities", velocities)?);
        if let Some(places) = places {
            state.positions[points.clone()].copy_from_slice(&places);
        }
        if let Some(speeds) = speeds {
            state.velocities[points].copy_from_slice(&speeds);
        }
        inner.simulation.start_from(&state);
        Ok(())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let Ok(inner) = self.simulation.get().lock(py) else { return Ok("<Body: computing in another thread>".into()) };
        let body = &inner.simulation.model().bodies[self.index];
        Ok(format!("<Body {:?}: {} cells, {} nodes>", body.name, body.mesh.cell_count(), body.mesh.node_count()))
    }
}

impl Body {
    fn owner<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        self.simulation.bind(py).clone().into_any()
    }

    fn view<'py>(
        &self,
        py: Python<'py>,
        list: impl Fn(&sinew_fem::State) -> &Vec<Vec3>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let inner = self.simulation.get().lock(py)?;
        let points = inner.simulation.model().bodies[self.index].points.clone();
        // SAFETY: the arrays of a state keep their address and length for the life of the simulation, which the view
        // keeps alive.
        Ok(unsafe { view_vectors(&list(inner.simulation.state())[points], self.owner(py)) })
    }
}

/// Fields of cells as arrays; stresses only if known.
pub fn fields_dict<'py>(py: Python<'py>, fields: &sinew_fem::CellFields) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("deformation_gradient", matrices(py, &fields.deformation_gradient))?;
    dict.set_item("volume_ratio", PyArray1::from_slice(py, &fields.volume_ratio))?;
    dict.set_item("principal_stretches", vectors(py, &fields.principal_stretches))?;
    if !fields.cauchy_stress.is_empty() || fields.deformation_gradient.is_empty() {
        dict.set_item("cauchy_stress", matrices(py, &fields.cauchy_stress))?;
        dict.set_item("von_mises", PyArray1::from_slice(py, &fields.von_mises))?;
    }
    Ok(dict)
}
