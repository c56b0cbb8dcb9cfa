//! Tissues of models for the bodies and rigids of a scene: from the folder of a model, or built in memory from a recipe.
//!
//! A recipe is built once in a process, however often scenes are compiled: it is kept by the text of the recipe and the
//! folder it stands in. Where [`CACHE_VARIABLE`] names a folder, results of stages are kept there for the next process.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use sinew_geometry::embedding::Embedding;
use sinew_geometry::{CellBlock, CellKind, CellMesh, MeshField, TriMesh};
use sinew_io::{CellShape, Field, MeshData};
use sinew_scene::Recipe;
use sinew_scene::import::load_surface;
use sinew_scene::spec::Scene;
use sinew_scene::spec::anatomy::Detail;
use sinew_scene::spec::mesh::{AnatomyMesh, Mesh};
use sinew_scene::spec::rigid::{AnatomyShape, ColliderShape, RigidShape};

use super::cover::{NODES, WEIGHTS};
use super::{BuildOptions, Model, build};

/// Names a folder for results of stages of recipes that scenes build.
const CACHE_VARIABLE: &str = "SINEW_CACHE";

/// Models of this process: by folder and text of the recipe, and the tissues that were asked for.
type Key = (PathBuf, String, BTreeSet<String>);
static MODELS: Mutex<BTreeMap<Key, Arc<Model>>> = Mutex::new(BTreeMap::new());

/// A body of a model.
pub(crate) struct AnatomyBody {
    /// The cells that are simulated.
    pub mesh: CellMesh,
    /// The fine surface in a cover.
    pub surface: Option<(TriMesh, Embedding)>,
    /// Fraction of each cell of a cover that is inside the tissue; empty for fine meshes.
    pub inside: Vec<f64>,
    /// What a user should know.
    pub notes: Vec<String>,
}

/// The cells of a body, and what is embedded in them.
pub(crate) fn body_of(scene: &Scene, mesh: &AnatomyMesh) -> Result<AnatomyBody, String> {
    let [fine, cover] = meshes_of(scene, mesh)?;
    let is_bone = || format!("`{}` is a bone: it has no cells", mesh.tissue);
    let fine = fine.ok_or_else(is_bone)?;
    if mesh.detail == Detail::Fine {
        return Ok(AnatomyBody { mesh: fine, surface: None, inside: Vec::new(), notes: Vec::new() });
    }
    let cover = cover.ok_or("the model has no covers; hint: give its recipe a `[cover]`")?;
    let surface = embedded_surface(&fine, &cover)?;
    let inside = cover.cell_fields().get("inside").map(|field| field.values.clone()).unwrap_or_default();
    let note = format!("{} cells carry a surface of {} cells", cover.cell_count(), fine.cell_count());
    Ok(AnatomyBody { mesh: cover, surface: Some(surface), inside, notes: vec![note] })
}

/// Fine mesh and cover of a tissue.
fn meshes_of(scene: &Scene, mesh: &AnatomyMesh) -> Result<[Option<CellMesh>; 2], String> {
    if let Some(recipe) = &mesh.recipe {
        let model = model_of(scene, recipe)?;
        let tissue = model.tissue(&mesh.tissue)?;
        let own = |mesh: &Option<Arc<CellMesh>>| mesh.as_ref().map(|mesh| (**mesh).clone());
        return Ok([own(&tissue.mesh), own(&tissue.cover)]);
    }
    let folder = mesh.model.as_deref().unwrap_or_default();
    let file = |part: &str| scene.source.resolve(&format!("{folder}/{part}/{}.vtu", mesh.tissue));
    let cover = file("cover");
    let needs_cover = mesh.detail == Detail::Cover && cover.is_file();
    let cells = |file: &Path| {
        let data = sinew_io::load(file).map_err(|error| error.to_string())?;
        cells_of(data).map_err(|error| format!("{}: {error}", file.display()))
    };
    Ok([Some(cells(&file("fine"))?), if needs_cover { Some(cells(&cover)?) } else { None }])
}

/// The tetrahedra of a file of a model. Faces of covers may have more than two cells.
pub(super) fn cells_of(data: MeshData) -> Result<CellMesh, sinew_geometry::MeshError> {
    let tets = data.groups.iter().filter(|group| group.shape == CellShape::Tet4);
    let block = CellBlock { kind: CellKind::Tet4, nodes: tets.flat_map(|group| group.nodes.iter().copied()).collect() };
    let (mut mesh, _) = CellMesh::branching(data.points, vec![block])?;
    for (name, nodes) in data.node_sets {
        mesh = mesh.with_node_set(name, nodes)?;
    }
    for (name, cells) in data.cell_sets {
        mesh = mesh.with_cell_set(name, cells)?;
    }
    for Field { name, components, values } in data.point_fields {
        mesh = mesh.with_node_field(name, MeshField { components, values })?;
    }
    for Field { name, components, values } in data.cell_fields {
        mesh = mesh.with_cell_field(name, MeshField { components, values })?;
    }
    Ok(mesh)
}

/// The boundary of the fine mesh with its weights in the cover, as the model has them.
fn embedded_surface(fine: &CellMesh, cover: &CellMesh) -> Result<(TriMesh, Embedding), String> {
    let (surface, fine_nodes) = fine.boundary_surface().map_err(|error| error.to_string())?;
    let field = |name: &str| {
        let field = fine.node_fields().get(name).filter(|field| field.components == 4);
        field.map(|field| &field.values).ok_or_else(|| format!("the fine mesh has no field `{name}`"))
    };
    let (all_nodes, all_weights) = (field(NODES)?, field(WEIGHTS)?);
    let node_cells = cover.node_cells();
    let (mut ends, mut nodes, mut weights, mut cells) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for fine_node in fine_nodes {
        let first = nodes.len();
        for k in 4 * fine_node as usize..4 * fine_node as usize + 4 {
            if all_weights[k] != 0.0 {
                nodes.push(all_nodes[k] as u32);
                weights.push(all_weights[k]);
            }
        }
        let own: &[u32] = &nodes[first..];
        let lead = own.first().copied().filter(|node| (*node as usize) < cover.node_count());
        let around = lead.map(|node| node_cells.cells(node as usize)).unwrap_or_default();
        let holds = |cell: &&u32| own.iter().all(|node| cover.cell_nodes(**cell as usize).contains(node));
        cells.push(*around.iter().find(holds).ok_or("fine mesh and cover do not belong together")?);
        ends.push(nodes.len() as u32);
    }
    let embedding = Embedding::from_rows(&ends, nodes, weights, cells).ok_or("the weights of the cover are broken")?;
    Ok((surface, embedding))
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
    let cache = std::env::var_os(CACHE_VARIABLE).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let options = BuildOptions { only: Some(key.2.clone()), cache, ..BuildOptions::default() };
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
