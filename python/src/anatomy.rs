//! `Recipe` and `Model`: from images to anatomy that can be simulated.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping, PyString};
use sinew_io::MeshData;
use sinew_run::anatomy::{self, BuildOptions, BuiltTissue};
use sinew_scene::recipe::Volumes;
use sinew_scene::recipe::model::ModelTissue;
use sinew_scene::{Attachments, Diagnostic, nearest};
use toml::Value as Toml;

use crate::error;
use crate::mesh::{Mesh, mesh_of};
use crate::values::{Meshes, from_toml, to_toml};
use crate::volume::Volume;
use crate::waiting::aside;

/// A recipe: how images and surfaces become bones, muscles, attachments, fibers and meshes. Immutable.
#[pyclass(frozen, module = "sinew")]
pub struct Recipe {
    recipe: sinew_scene::Recipe,
}

#[pymethods]
impl Recipe {
    /// Reads a recipe from TOML text or from a dict with the same keys.
    ///
    /// In a dict, a `Volume` can take the place of an image file and a `Mesh` that of a surface. `name` appears in messages,
    /// and file names are relative to `folder` (default: the current one). Raises `SceneError` with all mistakes at once.
    #[new]
    #[pyo3(signature = (source, *, name="recipe", folder=None))]
    fn new(source: &Bound<'_, PyAny>, name: &str, folder: Option<PathBuf>) -> PyResult<Self> {
        let mut found = Meshes::default();
        let text = if let Ok(text) = source.cast::<PyString>() {
            text.to_string()
        } else if source.cast::<PyMapping>().is_ok() {
            toml::to_string_pretty(&to_toml(source, &mut found)?).map_err(error::other)?
        } else {
            let kind = source.get_type().name()?.to_string();
            let message = format!("a recipe is a text or a dict, not {kind}; to read a file use Recipe.load(path)");
            return Err(PyTypeError::new_err(message));
        };
        Self::read(&text, name, &folder.unwrap_or_else(|| PathBuf::from(".")), found.named, found.volumes)
    }

    /// Reads a recipe file.
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Self> {
        let recipe = sinew_scene::Recipe::load(path).map_err(|problem| error::scene(&problem))?;
        Ok(Self { recipe })
    }

    /// A recipe for all labels of a volume: kinds and attachments are guessed from their names and from what touches what.
    #[staticmethod]
    fn draft(py: Python<'_>, volume: &Bound<'_, Volume>) -> PyResult<Self> {
        let image = volume.get().shared();
        let (text, _) = aside(py, |_| anatomy::draft_of((*image).clone(), "@image").map_err(error::volume))??;
        let volumes = Volumes::from([("image".to_string(), image)]);
        Self::read(&text, "draft", Path::new("."), Attachments::new(), volumes)
    }

    /// Builds the model. With `output`, a folder, all files are written there and stages that did not change are not made
    /// again; without one the model stays in memory. `only` are names of tissues to make.
    ///
    /// A tissue that cannot be made is in `problems` of the model; the others are made.
    #[pyo3(signature = (output=None, *, only=None))]
    fn build(&self, py: Python<'_>, output: Option<PathBuf>, only: Option<Vec<String>>) -> PyResult<Model> {
        let known: Vec<&str> = self.recipe.tissue.iter().map(|tissue| tissue.name.as_str()).collect();
        if let Some(name) = only.iter().flatten().find(|name| !known.contains(&name.as_str())) {
            return Err(unknown(name, &known));
        }
        if let Some(folder) = &output {
            anatomy::check_folder(&self.recipe, folder).map_err(error::other)?;
        }
        let only = only.map(|names| names.into_iter().collect());
        let model = aside(py, |interrupt| {
            let _entered = interrupt.enter();
            anatomy::build(&self.recipe, &BuildOptions { folder: output.as_deref(), only, ..BuildOptions::default() })
        })?;
        let model = model.map_err(|problem| error::scene(&problem))?;
        Ok(Model { model, folder: output })
    }

    /// The text of the recipe.
    #[getter]
    fn text(&self) -> &str {
        self.recipe.source.text()
    }

    /// The recipe as a dict.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let table: toml::Table = self.text().parse().map_err(error::other)?;
        from_toml(py, &Toml::Table(table))
    }

    /// Names of its tissues.
    #[getter]
    fn tissues(&self) -> Vec<&str> {
        self.recipe.tissue.iter().map(|tissue| tissue.name.as_str()).collect()
    }

    fn __repr__(&self) -> String {
        let title = self.recipe.title.as_deref().unwrap_or(self.recipe.source.name());
        format!("<Recipe {title:?}: {} tissues>", self.recipe.tissue.len())
    }
}

impl Recipe {
    fn read(text: &str, name: &str, folder: &Path, meshes: Attachments, volumes: Volumes) -> PyResult<Self> {
        let recipe = sinew_scene::Recipe::from_parts(text, name, folder, meshes, volumes);
        Ok(Self { recipe: recipe.map_err(|problem| error::scene(&problem))? })
    }
}

/// What was made of a recipe: bones as surfaces, all other tissues as tetrahedra with attachments and fibers. Immutable.
#[pyclass(frozen, module = "sinew")]
pub struct Model {
    model: anatomy::Model,
    folder: Option<PathBuf>,
}

#[pymethods]
impl Model {
    /// Names of the tissues that were made.
    #[getter]
    fn tissues(&self) -> Vec<&str> {
        self.model.tissues.iter().map(|tissue| tissue.name.as_str()).collect()
    }

    /// Cells of a tissue: attachments are sets of nodes, `belly`, `tendon` and `aponeurosis` sets of cells, fibers the cell
    /// field `fiber`. The surface of a bone.
    fn mesh(&self, py: Python<'_>, tissue: &str) -> PyResult<Mesh> {
        let made = self.made(tissue)?;
        if let Some(mesh) = &made.mesh {
            return Ok(mesh_of(mesh));
        }
        if let Some(surface) = &made.surface {
            return Ok(Mesh::from(Arc::new(MeshData::from(&**surface))));
        }
        let facts = self.facts_of(tissue);
        self.file(py, facts.and_then(|facts| facts.mesh.as_deref().or(facts.surface.as_deref())), tissue)
    }

    /// The coarse mesh around a tissue. The fields `cover_nodes` and `cover_weights` of its own mesh lead from one to the
    /// other. None for bones and without `[cover]` in the recipe.
    fn cover(&self, py: Python<'_>, tissue: &str) -> PyResult<Option<Mesh>> {
        if let Some(cover) = &self.made(tissue)?.cover {
            return Ok(Some(mesh_of(cover)));
        }
        match self.facts_of(tissue).and_then(|facts| facts.cover.as_deref()) {
            Some(cover) => self.file(py, Some(cover), tissue).map(Some),
            None => Ok(None),
        }
    }

    /// Facts of all tissues by name, as in `model.toml`: volumes, numbers of cells, angles, attachments.
    #[getter]
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let table: toml::Table = self.model.file.to_toml().parse().map_err(error::other)?;
        let facts = PyDict::new(py);
        let tissues = table.get("tissue").and_then(Toml::as_array).into_iter().flatten();
        for tissue in tissues.filter_map(Toml::as_table) {
            facts.set_item(tissue.get("name").and_then(Toml::as_str), from_toml(py, &Toml::Table(tissue.clone()))?)?;
        }
        Ok(facts)
    }

    /// Why tissues are missing: messages by the name of the tissue.
    #[getter]
    fn problems(&self) -> BTreeMap<String, String> {
        let missing = self.model.file.tissue.iter().filter(|tissue| tissue.problem.is_some());
        let told = |problem: &Diagnostic| match &problem.hint {
            Some(hint) => format!("{}; hint: {hint}", problem.message),
            None => problem.message.clone(),
        };
        missing.zip(&self.model.problems).map(|(tissue, problem)| (tissue.name.clone(), told(problem))).collect()
    }

    /// What a person should know.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.model.notes.clone()
    }

    /// Stages that ran, with their time [s]; none that did not change since the last build into the same folder.
    #[getter]
    fn stages(&self) -> BTreeMap<String, f64> {
        self.model.stages.iter().map(|stage| (stage.name.clone(), stage.time.as_secs_f64())).collect()
    }

    /// Its folder; None for models in memory.
    #[getter]
    fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    fn __repr__(&self) -> String {
        let missing = match self.model.problems.len() {
            0 => String::new(),
            count => format!(", {count} missing"),
        };
        format!("<Model: {} tissues{missing}>", self.model.tissues.len())
    }
}

impl Model {
    /// A tissue that was made.
    fn made(&self, name: &str) -> PyResult<&BuiltTissue> {
        let known = self.tissues();
        if self.model.tissues.iter().all(|tissue| tissue.name != name) && self.facts_of(name).is_none() {
            return Err(unknown(name, &known));
        }
        self.model.tissue(name).map_err(PyKeyError::new_err)
    }

    fn facts_of(&self, name: &str) -> Option<&ModelTissue> {
        self.model.file.tissue.iter().find(|tissue| tissue.name == name)
    }

    /// A mesh in the folder of the model.
    fn file(&self, py: Python<'_>, file: Option<&str>, tissue: &str) -> PyResult<Mesh> {
        let (Some(folder), Some(file)) = (&self.folder, file) else {
            return Err(error::other(format!("the model has no mesh of `{tissue}`")));
        };
        let path = folder.join(file);
        Ok(Mesh::from(Arc::new(aside(py, |_| sinew_io::load(&path).map_err(error::mesh))??)))
    }
}

/// A name that nothing has.
fn unknown(name: &str, known: &[&str]) -> PyErr {
    let hint = match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => format!("there are {}", known.join(", ")),
    };
    PyKeyError::new_err(format!("there is no tissue \"{name}\"; {hint}"))
}
