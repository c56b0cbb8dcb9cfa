//! `Recording` and `Frame`: the recorded results of a run.

use std::path::{Path, PathBuf};

use numpy::{PyArray1, PyArray2, PyArray3};
use pyo3::exceptions::{PyIndexError, PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PySlice};
use sinew_math::Vec3;
use sinew_record::record::{Animation, encode_png};
use sinew_record::still::Player;
use sinew_store::{self as store, StoredFrame};

use crate::arrays::{rows, vectors};
use crate::error;
use crate::mesh::{Mesh, mesh_of};
use crate::picture::{Picture, checked_size};
use crate::simulation::fields_dict;
use crate::step::Step;

/// Pictures that determine the color palette of an animation.
const PALETTE_PICTURES: usize = 5;

/// The recording of a run: `recording.sinew`, or its folder. Reads frames on demand.
#[pyclass(frozen, module = "sinew")]
pub struct Recording {
    recording: store::Recording,
    times: Vec<f64>,
}

#[pymethods]
impl Recording {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let path = if path.is_dir() { path.join("recording.sinew") } else { path };
        let failed = |problem: store::StoreError| error::other(format!("{}: {problem}", path.display()));
        py.detach(|| {
            let recording = store::Recording::open(&path).map_err(failed)?;
            let times = recording.frames().map(|frame| frame.map(|frame| frame.time)).collect::<Result<_, _>>();
            Ok(Self { times: times.map_err(failed)?, recording })
        })
    }

    /// The file.
    #[getter]
    fn path(&self) -> &Path {
        self.recording.path()
    }

    /// Times of all frames [s].
    #[getter]
    fn times<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.times)
    }

    /// Frames per second [1/s].
    #[getter]
    fn frame_rate(&self) -> f64 {
        self.recording.header().frame_rate
    }

    /// Names of the deformable bodies.
    #[getter]
    fn bodies(&self) -> Vec<String> {
        self.recording.header().bodies.iter().map(|body| body.name.clone()).collect()
    }

    /// Text of the scene.
    #[getter]
    fn scene_text(&self) -> &str {
        &self.recording.header().scene_text
    }

    /// Probes over all frames, by name.
    #[getter]
    fn probes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let frames: Vec<StoredFrame> = self.recording.frames().collect::<Result<_, _>>().map_err(error::other)?;
        let dict = PyDict::new(py);
        for (k, name) in self.recording.header().probe_names.iter().enumerate() {
            dict.set_item(name, PyArray1::from_iter(py, frames.iter().map(|frame| frame.probes[k])))?;
        }
        Ok(dict)
    }

    /// Mesh of a body at rest, as it is in the first frame.
    #[pyo3(signature = (body=None))]
    fn mesh(&self, body: Option<&str>) -> PyResult<Mesh> {
        Ok(mesh_of(&self.recording.header().bodies[self.find(body)?].mesh))
    }

    /// Positions of the nodes of a body over all frames that have them [m], shape (frames, nodes, 3). Raises an error
    /// if the body loses cells: then frames differ in size.
    #[pyo3(signature = (body=None))]
    fn positions<'py>(&self, py: Python<'py>, body: Option<&str>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let index = self.find(body)?;
        let header = self.recording.header();
        let all = py.detach(|| -> Result<Vec<Vec<f64>>, store::StoreError> {
            let frames = self.recording.shown_frames();
            let positions = frames.into_iter().map(|number| {
                let stored = self.recording.frame(number)?;
                let frame = stored.view(header);
                Ok(Vec3::as_flattened(frame.bodies[index].positions).to_vec())
            });
            positions.collect()
        });
        let all = all.map_err(error::other)?;
        let nodes = header.bodies[index].mesh.node_count();
        if all.iter().any(|positions| positions.len() != 3 * nodes) {
            return Err(error::other("the body loses cells, so frames differ in size: read them one by one"));
        }
        let flat: Vec<f64> = all.concat();
        let array = numpy::ndarray::Array3::from_shape_vec((all.len(), nodes, 3), flat).map_err(error::other)?;
        Ok(PyArray3::from_owned_array(py, array))
    }

    /// The frame nearest to a time [s].
    fn seek(slf: &Bound<'_, Self>, time: f64) -> PyResult<Frame> {
        if !time.is_finite() {
            return Err(PyValueError::new_err(format!("there is no frame at {time} s")));
        }
        let times = &slf.get().times;
        let distance = |k: &usize| (times[*k] - time).abs();
        let nearest = (0..times.len()).min_by(|a, b| distance(a).total_cmp(&distance(b)));
        let number = nearest.ok_or_else(|| PyIndexError::new_err("the recording has no frames"))?;
        Self::frame(slf, number as isize)
    }

    /// A frame by number; -1 is the last one.
    fn frame(slf: &Bound<'_, Self>, number: isize) -> PyResult<Frame> {
        let recording = &slf.get().recording;
        let count = recording.frame_count() as isize;
        let place = if number < 0 { number + count } else { number };
        if !(0..count).contains(&place) {
            return Err(PyIndexError::new_err(format!("frame {number} of {count} does not exist")));
        }
        let stored = recording.frame(place as usize).map_err(error::other)?;
        Ok(Frame { stored, recording: slf.clone().unbind() })
    }

    fn __getitem__<'py>(slf: &Bound<'py, Self>, number: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let Ok(slice) = number.cast::<PySlice>() else {
            return Ok(Bound::new(py, Self::frame(slf, number.extract()?)?)?.into_any());
        };
        let range = slice.indices(slf.get().__len__() as isize)?;
        let frames = PyList::empty(py);
        let mut at = range.start;
        for _ in 0..range.slicelength {
            frames.append(Bound::new(py, Self::frame(slf, at)?)?)?;
            at += range.step;
        }
        Ok(frames.into_any())
    }

    fn __len__(&self) -> usize {
        self.recording.frame_count()
    }

    /// A picture of a frame that has shapes, by default the last one (-1 is the last one too), of 640 x 480 pixels by
    /// default.
    #[pyo3(signature = (frame=None, *, size=None))]
    fn picture(&self, py: Python<'_>, frame: Option<isize>, size: Option<(usize, usize)>) -> PyResult<Picture> {
        let (frame, size) = (frame.unwrap_or(-1), checked_size(size.unwrap_or((640, 480)))?);
        py.detach(|| {
            let player = Player::new(&self.recording).map_err(error::other)?;
            let count = player.frame_count() as isize;
            let place = if frame < 0 { frame + count } else { frame };
            if !(0..count).contains(&place) {
                return Err(PyIndexError::new_err(format!("picture {frame} of {count} does not exist")));
            }
            let stored = player.stored(place as usize).map_err(error::other)?;
            Ok(Picture { png: encode_png(&player.draw(&stored, size)), size, frames: 1 })
        })
    }

    /// All frames as an animated picture, of 480 x 360 pixels by default; `every=n` keeps every n-th frame.
    #[pyo3(signature = (*, size=None, every=1))]
    fn animation(&self, py: Python<'_>, size: Option<(usize, usize)>, every: usize) -> PyResult<Picture> {
        let size = checked_size(size.unwrap_or((480, 360)))?;
        if every == 0 {
            return Err(PyValueError::new_err("`every` is a number from 1"));
        }
        let seconds = every as f64 / self.frame_rate();
        py.detach(|| {
            let player = Player::new(&self.recording).map_err(error::other)?;
            let images = (0..player.frame_count())
                .step_by(every)
                .map(|number| Ok(player.draw(&player.stored(number)?, size)))
                .collect::<Result<Vec<_>, store::StoreError>>()
                .map_err(error::other)?;
            let step = images.len().div_ceil(PALETTE_PICTURES).max(1);
            let examples: Vec<_> = images.iter().step_by(step).cloned().collect();
            let mut animation = Animation::new(&examples);
            images.iter().try_for_each(|image| animation.push(image)).map_err(error::other)?;
            Ok(Picture { png: animation.encode(seconds).map_err(error::other)?, size, frames: images.len() })
        })
    }

    /// The last frame, for notebooks; none if only probes were recorded.
    fn _repr_png_<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        match self.recording.shown_frames().is_empty() {
            true => Ok(None),
            false => Ok(Some(PyBytes::new(py, &self.picture(py, None, None)?.png))),
        }
    }

    fn __repr__(&self) -> String {
        let header = self.recording.header();
        let last = self.times.last().copied().unwrap_or(0.0);
        let names: Vec<&str> = header.bodies.iter().map(|body| body.name.as_str()).collect();
        format!(
            "<Recording of {}: {} frames to {} s>",
            names.join(", "),
            self.times.len(),
            sinew_scene::format_number(last)
        )
    }
}

impl Recording {
    /// The index of a body; without a name, of the only one.
    fn find(&self, body: Option<&str>) -> PyResult<usize> {
        let bodies = &self.recording.header().bodies;
        let Some(body) = body else {
            let message = || format!("which body? There are {}", self.bodies().join(", "));
            return if bodies.len() == 1 { Ok(0) } else { Err(PyKeyError::new_err(message())) };
        };
        bodies.iter().position(|known| known.name == body).ok_or_else(|| {
            PyKeyError::new_err(format!("there is no body \"{body}\"; there are {}", self.bodies().join(", ")))
        })
    }
}

/// One frame of a recording.
#[pyclass(frozen, module = "sinew")]
pub struct Frame {
    stored: StoredFrame,
    recording: Py<Recording>,
}

#[pymethods]
impl Frame {
    /// Its number in the run.
    #[getter]
    fn index(&self) -> usize {
        self.stored.index
    }

    /// Simulated time [s].
    #[getter]
    fn time(&self) -> f64 {
        self.stored.time
    }

    /// Whether shapes were recorded, not only probes.
    #[getter]
    fn has_geometry(&self) -> bool {
        self.stored.has_geometry
    }

    /// How it was computed. Recordings hold no times, so `seconds` and `timing` are 0.
    #[getter]
    fn step(&self) -> Step {
        Step::from(self.stored.report)
    }

    /// Values of the probes by name.
    #[getter]
    fn probes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        let names = &self.recording.get().recording.header().probe_names;
        names.iter().zip(&self.stored.probes).try_for_each(|(name, value)| dict.set_item(name, value))?;
        Ok(dict)
    }

    /// Positions of the nodes of a body [m], shape (n, 3).
    #[pyo3(signature = (body=None))]
    fn positions<'py>(&self, py: Python<'py>, body: Option<&str>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.with_body(body, |frame| vectors(py, frame.positions))
    }

    /// Velocities of the nodes of a body [m/s], shape (n, 3).
    #[pyo3(signature = (body=None))]
    fn velocities<'py>(&self, py: Python<'py>, body: Option<&str>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.with_body(body, |frame| vectors(py, frame.velocities))
    }

    /// Positions of the visible surface of a body [m], shape (v, 3).
    #[pyo3(signature = (body=None))]
    fn surface_positions<'py>(&self, py: Python<'py>, body: Option<&str>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.with_body(body, |frame| vectors(py, &frame.surface_positions))
    }

    /// Triangles of the visible surface of a body, shape (m, 3).
    #[pyo3(signature = (body=None))]
    fn surface_triangles<'py>(&self, py: Python<'py>, body: Option<&str>) -> PyResult<Bound<'py, PyArray2<u32>>> {
        self.with_body(body, |frame| rows(py, frame.surface_triangles))
    }

    /// Fields of the cells of a body; includes stresses if they were recorded.
    #[pyo3(signature = (body=None))]
    fn fields<'py>(&self, py: Python<'py>, body: Option<&str>) -> PyResult<Bound<'py, PyDict>> {
        self.with_body(body, |frame| fields_dict(py, &frame.cell_fields()))?
    }

    fn __repr__(&self) -> String {
        format!("<Frame {} at {} s>", self.stored.index, sinew_scene::format_number(self.stored.time))
    }
}

impl Frame {
    fn with_body<T>(&self, body: Option<&str>, look: impl FnOnce(&sinew_fem::BodyFrame<'_>) -> T) -> PyResult<T> {
        let recording = self.recording.get();
        let index = recording.find(body)?;
        let frame = self.stored.view(recording.recording.header());
        match frame.bodies.get(index) {
            Some(body) => Ok(look(body)),
            None => Err(error::other("only probes were recorded in this frame")),
        }
    }
}
