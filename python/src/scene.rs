//! `Scene`: a simulation's description, as text, file or dict.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping, PyString};
use sinew_run::compile;
use sinew_scene::{Attachments, Override};
use toml::Value as Toml;

use crate::error;
use crate::mesh::Mesh;
use crate::simulation::Simulation;
use crate::threads::with_threads;
use crate::values::{Meshes, from_toml, to_toml};

/// A parsed and checked scene. Immutable: `set` returns a new one.
#[pyclass(frozen, module = "sinew")]
#[derive(Clone)]
pub struct Scene {
    pub scene: Arc<sinew_scene::Scene>,
    /// Its file, if it was loaded.
    path: Option<PathBuf>,
}

#[pymethods]
impl Scene {
    /// Reads a scene from TOML text or from a dict with the same keys.
    ///
    /// In a dict, a `Mesh` can take the place of a mesh file. `name` appears in messages, file names are relative to
    /// `folder` (default: the current one), and `set` replaces single values like `--set` of the command line. Raises
    /// `SceneError` with all mistakes at once.
    #[new]
    #[pyo3(signature = (source, *, name="scene", folder=None, set=None, meshes=None))]
    fn new(
        source: &Bound<'_, PyAny>,
        name: &str,
        folder: Option<PathBuf>,
        set: Option<&Bound<'_, PyAny>>,
        meshes: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let mut found = Meshes::default();
        for (key, mesh) in meshes.into_iter().flatten() {
            let key: String = key.extract()?;
            let mesh =
                mesh.cast::<Mesh>().map_err(|_| PyTypeError::new_err(format!("meshes[\"{key}\"] is no Mesh")))?;
            found.named.insert(key.trim_start_matches('@').to_string(), mesh.get().shared());
        }
        let text = if let Ok(text) = source.cast::<PyString>() {
            text.to_string()
        } else if source.cast::<PyMapping>().is_ok() {
            let text = match to_toml(source, &mut found)? {
                Toml::Table(table) => toml::to_string_pretty(&table).map_err(error::other)?,
                _ => String::new(),
            };
            if !found.volumes.is_empty() {
                return Err(PyTypeError::new_err(
                    "scenes hold no volumes; a Recipe does, and its Model has the meshes",
                ));
            }
            text
        } else {
            let kind = source.get_type().name()?.to_string();
            let message = format!("a scene is a text or a dict, not {kind}; to read a file use Scene.load(path)");
            return Err(PyTypeError::new_err(message));
        };
        let overrides = overrides(set)?;
        Self::read(&text, name, &folder.unwrap_or_else(|| PathBuf::from(".")), &overrides, found.named)
    }

    /// Reads a scene file; `set` replaces single values, for example {"body.flesh.material.young": "10 kPa"}.
    #[staticmethod]
    #[pyo3(signature = (path, *, set=None))]
    fn load(path: PathBuf, set: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let overrides = overrides(set)?;
        let scene = sinew_scene::Scene::load_with(&path, &overrides).map_err(|problem| error::scene(&problem))?;
        Ok(Self { scene: Arc::new(scene), path: Some(path) })
    }

    /// The same scene with more values replaced: a dict of paths and values, or a list of strings such as "duration=2
    /// s".
    fn set(&self, values: &Bound<'_, PyAny>) -> PyResult<Self> {
        let scene = self.scene.with_overrides(&overrides(Some(values))?).map_err(|problem| error::scene(&problem))?;
        Ok(Self { scene: Arc::new(scene), path: self.path.clone() })
    }

    /// Compiles the scene without running it. This finds mistakes that parsing cannot (missing regions, open surfaces,
    /// bad meshes). Returns notes on repairs and other findings. Raises `SceneError` with all mistakes at once.
    fn validate(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let compile = || compile::compile(&self.scene).map(|simulation| simulation.notes);
        let compiled = py.detach(|| with_threads(compile))?;
        compiled.map_err(|problem| error::scene(&problem))
    }

    /// The simulation of the scene, at time zero. `forces` are custom forces; see `sinew.Force`.
    #[pyo3(signature = (*, forces=None, check=true))]
    fn simulation(&self, py: Python<'_>, forces: Option<Vec<Py<PyAny>>>, check: bool) -> PyResult<Simulation> {
        Simulation::make(py, self, &forces.unwrap_or_default(), check)
    }

    /// The text of the scene, without replaced values.
    #[getter]
    fn text(&self) -> &str {
        self.scene.source.text()
    }

    /// The scene as a dict, without replaced values.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let table: toml::Table = self.text().parse().map_err(error::other)?;
        from_toml(py, &Toml::Table(table))
    }

    /// Its name in messages: the file path for loaded scenes.
    #[getter]
    fn name(&self) -> &str {
        self.scene.source.name()
    }

    /// The path of its file; None for scenes from text and dicts.
    #[getter]
    fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The folder that files are relative to.
    #[getter]
    fn folder(&self) -> &Path {
        self.scene.source.folder()
    }

    /// The replaced values, as strings "path=value".
    #[getter]
    fn overrides(&self) -> Vec<String> {
        self.scene.source.overrides().iter().map(|set| set.text().to_string()).collect()
    }

    /// Meshes passed with the scene, by the name after the `@`.
    #[getter]
    fn meshes(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let dict = PyDict::new(py);
        for (name, mesh) in self.scene.source.attachments() {
            dict.set_item(name, Bound::new(py, Mesh::from(Arc::clone(mesh)))?)?;
        }
        Ok(dict.unbind())
    }

    /// Its title, if it has one.
    #[getter]
    fn title(&self) -> Option<&str> {
        self.scene.title.as_deref()
    }

    /// Simulated time [s].
    #[getter]
    fn duration(&self) -> f64 {
        self.scene.duration
    }

    /// Frames per second [1/s].
    #[getter]
    fn frame_rate(&self) -> f64 {
        self.scene.frame_rate
    }

    /// Number of frames after the initial one.
    #[getter]
    fn frame_count(&self) -> usize {
        self.scene.frame_count()
    }

    /// Names of the deformable bodies.
    #[getter]
    fn bodies(&self) -> Vec<&str> {
        self.scene.body.iter().map(|body| body.name.as_str()).collect()
    }

    fn __repr__(&self) -> String {
        let scene = &self.scene;
        let bodies: Vec<&str> = scene.body.iter().map(|body| body.name.as_str()).collect();
        let set = match scene.source.overrides().len() {
            0 => String::new(),
            1 => ", 1 value set".into(),
            count => format!(", {count} values set"),
        };
        format!(
            "<Scene {:?}: bodies {}, {} frames at {} Hz{set}>",
            scene.title.as_deref().unwrap_or(scene.source.name()),
            if bodies.is_empty() { "none".to_string() } else { bodies.join(", ") },
            scene.frame_count(),
            sinew_scene::format_number(scene.frame_rate),
        )
    }

    fn __eq__(&self, other: &Self) -> bool {
        let parts = |scene: &Self| {
            let source = &scene.scene.source;
            (source.text().to_string(), source.overrides(), source.folder().to_path_buf())
        };
        parts(self) == parts(other) && self.scene.source.attachments() == other.scene.source.attachments()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let source = &self.scene.source;
        let arguments = (self.text(), source.name(), source.folder(), self.overrides(), self.meshes(py)?, self.path());
        let restore = py.import("sinew._sinew")?.getattr("Scene")?.getattr("_restore")?;
        Ok((restore, arguments.into_pyobject(py)?.into_any()))
    }

    #[staticmethod]
    fn _restore(
        text: &str,
        name: &str,
        folder: PathBuf,
        set: Vec<String>,
        meshes: &Bound<'_, PyDict>,
        path: Option<PathBuf>,
    ) -> PyResult<Self> {
        let mut named = Attachments::new();
        for (key, mesh) in meshes {
            named.insert(key.extract()?, mesh.cast::<Mesh>()?.get().shared());
        }
        let set: Vec<Override> = set.into_iter().map(Override::from).collect();
        Ok(Self { path, ..Self::read(text, name, &folder, &set, named)? })
    }
}

impl Scene {
    fn read(text: &str, name: &str, folder: &Path, set: &[Override], meshes: Attachments) -> PyResult<Self> {
        let scene = sinew_scene::Scene::from_parts(text, name, folder, set, meshes);
        Ok(Self { scene: Arc::new(scene.map_err(|problem| error::scene(&problem))?), path: None })
    }
}

/// A scene, or the path of one; `set` replaces single values on top.
pub fn scene_or_path(value: &Bound<'_, PyAny>, set: Option<&Bound<'_, PyAny>>) -> PyResult<Scene> {
    if let Ok(scene) = value.cast::<Scene>() {
        return match set {
            Some(values) => scene.get().set(values),
            None => Ok(scene.get().clone()),
        };
    }
    match value.extract::<PathBuf>() {
        Ok(path) => Scene::load(path, set),
        Err(_) => {
            let kind = value.get_type().name()?.to_string();
            Err(PyTypeError::new_err(format!("a Scene or the path of one is expected, not {kind}")))
        }
    }
}

/// Overrides from a dict or a list of strings.
fn overrides(set: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<Override>> {
    let Some(set) = set else { return Ok(Vec::new()) };
    if let Ok(dict) = set.cast::<PyMapping>() {
        let mut out = Vec::new();
        for item in dict.items()? {
            let (key, value): (String, Bound<'_, PyAny>) = item.extract()?;
            let mut meshes = Meshes::default();
            let value = to_toml(&value, &mut meshes)?;
            if !meshes.named.is_empty() {
                return Err(PyTypeError::new_err("meshes cannot be set; give them to Scene(..., meshes={...})"));
            }
            out.push(Override::new(&key, &value.to_string()));
        }
        return Ok(out);
    }
    let texts: Vec<String> = set
        .extract()
        .map_err(|_| PyTypeError::new_err("`set` is a dict of paths and values, or a list of texts \"path=value\""))?;
    Ok(texts.into_iter().map(Override::from).collect())
}
