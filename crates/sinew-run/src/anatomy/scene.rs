//! Tissues of models for the bodies and rigids of a scene: from the folder of a model, or built in memory from a recipe.
//!
//! A recipe is built once in a process, however often scenes are compiled: it is kept by the text of the recipe and the
//! folder it stands in.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use sinew_geometry::TriMesh;
use sinew_io::VolumeParts;
use sinew_scene::Recipe;
use sinew_scene::import::{load_surface, load_volume};
use sinew_scene::spec::anatomy::Detail;
use sinew_scene::spec::mesh::{AnatomyMesh, Mesh};
use sinew_scene::spec::rigid::{AnatomyShape, ColliderShape, RigidShape};
use sinew_scene::spec::Scene;

use super::{BuildOptions, Model, build};

/// Models of this process: by folder and text of the recipe, and the tissues that were asked for.
type Key = (PathBuf, String, BTreeSet<String>);
static MODELS: Mutex<BTreeMap<Key, Arc<Model>>> = Mutex::new(BTreeMap::new());

/// The mesh of a body.
pub(crate) fn mesh_of(scene: &Scene, mesh: &AnatomyMesh) -> Result<VolumeParts, String> {
    if let Some(file) = mesh.file_in_model() {
        return load_volume(&scene.source, &file, &BTreeSet::new()).map_err(|error| error.to_string());
    }
    let model = model_of(scene, mesh.recipe.as_deref().unwrap_or_default())?;
    let tissue = model.tissue(&mesh.tissue)?;
    let made = match mesh.detail {
        Detail::Fine => &tissue.mesh,
        Detail::Cover => &tissue.cover,
    };
    let cells = made.as_ref().ok_or_else(|| match mesh.detail {
        Detail::Fine => format!("`{}` is a bone: it has no cells", mesh.tissue),
        Detail::Cover => "the recipe has no `[cover]`".to_string(),
    })?;
    Ok(VolumeParts { mesh: (**cells).clone(), report: Default::default(), notes: Vec::new() })
}

/// The surface of a bone.
pub(crate) fn surface_of(scene: &Scene, shape: &AnatomyShape) -> Result<TriMesh, String> {
    if let Some(file) = shape.file_in_model() {
        let parts = load_surface(&scene.source, &file, &BTreeSet::new()).map_err(|error| error.to_string())?;
        return Ok(parts.mesh);
    }
    let model = model_of(scene, shape.recipe.as_deref().unwrap_or_default())?;
    let surface = &model.tissue(&shape.tissue)?.surface;
    surface.as_ref().map(|surface| (**surface).clone()).ok_or_else(|| format!("`{}` is no bone", shape.tissue))
}

/// The model of a recipe, with the tissues that the scene uses.
fn model_of(scene: &Scene, reference: &str) -> Result<Arc<Model>, String> {
    let path = scene.source.resolve(reference);
    let recipe = Recipe::load(&path).map_err(|error| error.to_string())?;
    let folder = std::path::absolute(recipe.source.folder()).unwrap_or_default();
    let key = (folder, recipe.source.text().to_string(), tissues_of(scene, reference));
    let kept = |models: &BTreeMap<Key, Arc<Model>>| models.get(&key).cloned();
    if let Some(model) = kept(&MODELS.lock().unwrap_or_else(PoisonError::into_inner)) {
        return Ok(model);
    }
    let options = BuildOptions { only: Some(key.2.clone()), ..BuildOptions::default() };
    let model = Arc::new(build(&recipe, &options).map_err(|error| error.to_string())?);
    MODELS.lock().unwrap_or_else(PoisonError::into_inner).insert(key, model.clone());
    Ok(model)
}

/// The tissues of a recipe that a scene uses.
fn tissues_of(scene: &Scene, recipe: &str) -> BTreeSet<String> {
    let own = |other: &Option<String>| other.as_deref() == Some(recipe);
    let bodies = scene.body.iter().filter_map(|body| match &body.mesh {
        Mesh::Anatomy(mesh) if own(&mesh.recipe) => Some(mesh.tissue.clone()),
        _ => None,
    });
    let rigids = scene.rigid.iter().filter_map(|rigid| match &rigid.shape {
        RigidShape::Anatomy(shape) if own(&shape.recipe) => Some(shape.tissue.clone()),
        _ => None,
    });
    let colliders = scene.collider.iter().filter_map(|collider| match &collider.shape {
        ColliderShape::Anatomy(shape) if own(&shape.recipe) => Some(shape.tissue.clone()),
        _ => None,
    });
    bodies.chain(rigids).chain(colliders).collect()
}
