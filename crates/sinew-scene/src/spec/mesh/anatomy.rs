//! Cells of a tissue of a model.

use super::MeshSource;
use crate::decode::codec::{text, whole, word};
use crate::spec::anatomy::Detail;

table! {
    /// Cells of a tissue of a model, with its regions and fibers.
    pub struct AnatomyMesh as "anatomy mesh" {
        /// The folder that `sinew anatomy build` wrote, relative to the scene. Either this or `recipe`.
        model: Option<String> = text("path of a folder"), optional, example("model");
        /// A recipe, relative to the scene, whose model is built in memory.
        recipe: Option<String> = text("path of a file"), optional, example("arm.toml");
        /// The tissue.
        tissue: String = text("name of a tissue"), required, example("biceps");
        /// Whether the fine mesh is simulated, or its cover with the fine surface in it.
        detail: Detail = word(), default("fine");
        /// Order of the shape functions. 1: linear cells. 2: quadratic tetrahedra, which bend well and, with `volume =
        /// "mean"`, do not lock.
        order: usize = whole(1, 2), default(1), example(2);
    }
}

impl AnatomyMesh {
    /// The file of the tissue in its model; `None` for recipes.
    pub fn file_in_model(&self) -> Option<String> {
        let folder = match self.detail {
            Detail::Fine => "fine",
            Detail::Cover => "cover",
        };
        self.model.as_ref().map(|model| format!("{model}/{folder}/{}.vtu", self.tissue))
    }
}

impl MeshSource for AnatomyMesh {
    fn order(&self) -> usize {
        self.order
    }

    fn regions(&self) -> Option<&'static [&'static str]> {
        None
    }

    fn file(&self) -> Option<(&'static str, &str)> {
        match (&self.recipe, &self.model) {
            (Some(recipe), _) => Some(("recipe", recipe)),
            _ => None,
        }
    }

    fn has_fibers(&self) -> bool {
        true
    }
}
