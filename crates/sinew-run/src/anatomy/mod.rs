//! `sinew anatomy build`: from a recipe to a model, stage by stage.
//!
//! ```text
//! image ─→ field ─→ smooth (all together) ─→ shape ─→ (morph) ─→ mesh ─→ attach ─→ annotate ─→ cover ─→ files, report
//! ```
//!
//! Every stage of every tissue has a key: the hash of its name and version, of its part of the recipe, and of its inputs.
//! What is in the cache under its key is not made again, so a second build runs no stage, a changed line runs what depends
//! on it, and a build that was killed goes on where it was. A tissue that cannot be made is reported at its key; the
//! others are made.
//!
//! - `cache`, `stored`, `stage`: results by their keys
//! - `image`, `field`, `shape`, `morph`, `cells`, `attach`, `annotate` with `parts` and `fibers`, `cover`: the stages
//! - `attached`: what stands for files in memory
//! - `build`: which stage needs which
//! - `write`, `report`: the files of a model
//! - `draft`, `phantom_recipe`: a recipe from an image, and that of a phantom
//! - `scene`: tissues of models for scenes

mod annotate;
mod attach;
mod attached;
mod build;
mod cache;
mod cells;
mod cover;
mod draft;
mod fibers;
mod field;
mod image;
mod morph;
mod parts;
mod phantom_recipe;
mod report;
mod scene;
mod shape;
mod stage;
mod stored;
mod write;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sinew_geometry::{CellMesh, TriMesh};
use sinew_scene::output::{OutputClash, check_outputs};
use sinew_scene::recipe::model::{MODEL_FILE, ModelFile};
use sinew_scene::recipe::tissue::Kind;
use sinew_scene::{Diagnostic, Recipe, nearest};

pub use build::build;
pub use draft::{draft, draft_of};
pub use image::phantom_of;
pub use phantom_recipe::phantom_recipe;
pub(crate) use scene::{AnatomyBody, body_of, surface_of};
pub use stage::StageReport;

/// How a model is built.
#[derive(Default)]
pub struct BuildOptions<'a> {
    /// Folder of the model, with its cache; without one everything stays in memory.
    pub folder: Option<&'a Path>,
    /// Folder for results of stages alone, of a model that stays in memory.
    pub cache: Option<PathBuf>,
    /// Makes meshes of these tissues only. All others still press against them.
    pub only: Option<BTreeSet<String>>,
    /// Hears how many of how many stages are done, and which was last.
    pub progress: Option<&'a (dyn Fn(usize, usize, &str) + Sync)>,
}

/// A tissue that was made. Values are there if the build had no folder, or if they were made or looked at.
#[derive(Clone, Debug)]
pub struct BuiltTissue {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// The fine mesh with attachments, fibers, and nodes and weights of the cover.
    pub mesh: Option<Arc<CellMesh>>,
    /// The coarse mesh.
    pub cover: Option<Arc<CellMesh>>,
    /// The surface, of bones.
    pub surface: Option<Arc<TriMesh>>,
    /// What it was made of: equal for equal results.
    pub fingerprint: String,
}

/// What was made of a recipe.
#[derive(Clone, Debug)]
pub struct Model {
    /// Facts of every tissue of the recipe, also of those that could not be made.
    pub file: ModelFile,
    /// Tissues that were made.
    pub tissues: Vec<BuiltTissue>,
    /// Why tissues could not be made, at their places in the recipe.
    pub problems: Vec<Diagnostic>,
    /// What a user should know.
    pub notes: Vec<String>,
    /// Stages that ran, by name; none of those that were in the cache.
    pub stages: Vec<StageReport>,
}

/// Refuses a folder in which files of the model would replace what the recipe reads.
pub fn check_folder(recipe: &Recipe, folder: &Path) -> Result<(), OutputClash> {
    let parts = [("fine", "vtu"), ("cover", "vtu"), ("bones", "ply")];
    let of_tissue = |name: &str| parts.map(|(part, end)| folder.join(part).join(format!("{name}.{end}")));
    let of_tissues = recipe.tissue.iter().flat_map(|tissue| of_tissue(&tissue.name));
    let attached = recipe.tissue.iter().flat_map(|tissue| tissue.attach.iter().map(move |at| (tissue, at)));
    let attached = attached.map(|(tissue, at)| folder.join(format!("attach/{}.{}.ply", tissue.name, at.name)));
    let others = [MODEL_FILE, "report.html", "together.vtu"].map(|name| folder.join(name));
    let own = std::iter::once(PathBuf::from(recipe.source.name()));
    check_outputs(recipe.inputs().into_iter().chain(own), of_tissues.chain(attached).chain(others))
}

impl Model {
    /// A tissue by its name; why there is none.
    pub fn tissue(&self, name: &str) -> Result<&BuiltTissue, String> {
        if let Some(tissue) = self.tissues.iter().find(|tissue| tissue.name == name) {
            return Ok(tissue);
        }
        let failed = self.file.tissue.iter().find(|tissue| tissue.name == name).and_then(|found| found.problem.clone());
        if let Some(problem) = failed {
            return Err(format!("`{name}` could not be made: {problem}"));
        }
        Err(match nearest(name, self.tissues.iter().map(|tissue| tissue.name.as_str())) {
            Some(near) => format!("the model has no tissue `{name}`; hint: did you mean `{near}`?"),
            None => format!("the model has no tissue `{name}`"),
        })
    }
}
