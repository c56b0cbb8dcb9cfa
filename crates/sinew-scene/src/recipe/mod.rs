//! Recipes of `sinew anatomy build`: from labeled images to bones, muscles, attachments, fibers and meshes, as plain data.
//!
//! - this file: the whole recipe, and how it is read
//! - [`image`]: where labels come from
//! - [`tissue`]: what is made of them, with repair, additions, attachments and fibers
//! - [`model`]: what was made, as scenes read it
//! - [`shape`]: primitives and slice edits
//! - `check`: values that must fit together
//! - [`draft`]: a recipe from the names of labels

mod check;
pub mod draft;
pub mod image;
pub mod model;
pub mod shape;
pub mod tissue;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sinew_io::image::ImageData;

use self::{image::Image, tissue::Tissue};
use crate::{
    decode::{
        Codec, Context,
        codec::{flag, length, number, text, word},
        compound::{list, one_or_many, vector},
        shape::Definitions,
        table::table,
        tree,
    },
    diagnostic::{Diagnostic, SceneError, SourceText},
    load::{keep_certain, read_text_of},
    source::{Attachments, Source},
};

words! {
    /// How tetrahedra are made.
    pub enum Method {
        /// Isosurface stuffing, then improved: fast, with a bound on the dihedral angles.
        "stuffed" => Stuffed,
        /// A lattice whose boundary is pushed onto the surface: the best angles, slower.
        "compressed" => Compressed,
    }
}

table! {
    /// The meshes of tissues.
    pub struct Meshing as "meshing" {
        /// Size of the cells at the surface \[m\].
        cell: f64 = length().positive(), required, example("3 mm");
        /// How tetrahedra are made.
        method: Method = word(), default("stuffed");
        /// Whether muscles, tendons and flesh also become one mesh, `together.vtu`, whose cells share faces where tissues
        /// touch; each tissue is a set of cells there.
        together: bool = flag(), default(false);
    }
}

table! {
    /// Coarse meshes around the fine ones, which carry them along: fewer cells, longer steps.
    pub struct Covering as "covering" {
        /// Size of the coarse cells \[m\]; rounded to the cells of the fine mesh times a power of two.
        cell: f64 = length().positive(), required, example("12 mm");
    }
}

table! {
    /// Smoothing of all tissues together by mean-curvature flow: neighbors get neither gap nor overlap.
    pub struct Smoothing as "smoothing" {
        /// Time of the flow in squares of a voxel: a ball of radius R would shrink to √(R² − 4 t). 0 turns it off.
        time: f64 = number().at_least(0.0).at_most(10.0), default(0.5), example(1);
        /// Whether each tissue gets the volume back that smoothing took.
        keep_volume: bool = flag(), default(true);
        /// Parts thinner than this many voxels are left alone.
        spare: f64 = number().at_least(0.0), default(3);
    }
}

table! {
    /// A place on the anatomy of the image, and the same place on another person.
    pub struct Landmark as "landmark" {
        /// Where it is in the image \[m\].
        from: [f64; 3] = vector(length()), required, example([0, 0, "30 cm"]);
        /// Where it shall be \[m\].
        to: [f64; 3] = vector(length()), required, example([0, 0, "33 cm"]);
    }
}

table! {
    /// The anatomy on another person: space is bent so that all landmarks meet, and tissues are meshed there.
    pub struct Morphing as "morphing" {
        /// At least four places that do not lie in a plane.
        landmarks: Vec<Landmark> = list(table()), required, example([{ from = [0, 0, 0], to = [0, 0, 0] }]);
    }
}

/// Images that a recipe refers to as `@NAME`, without files.
pub type Volumes = BTreeMap<String, Arc<ImageData>>;

table! {
    /// A recipe. Lengths without a unit are in m.
    pub struct Recipe as "recipe" {
        /// A sentence for the report.
        title: Option<String> = text("a sentence"), optional, example("Right arm of the phantom");
        /// Where labels come from; one, or a list.
        image: Vec<Image> = one_or_many(table()), default([]), example({ file = "arm.nii.gz" });
        /// Edge of the voxels in which tissues are kept while they are made \[m\]. Default: that of the image, or half a
        /// cell where there are only surfaces.
        voxel: Option<f64> = length().positive(), optional, example("1 mm");
        /// Smoothing of all tissues together.
        smooth: Smoothing = table(), default({});
        /// The meshes of tissues.
        mesh: Meshing = table(), required, example({ cell = "3 mm" });
        /// Coarse meshes around the fine ones. Default: none.
        cover: Option<Covering> = table(), optional, example({ cell = "12 mm" });
        /// The anatomy on another person. Default: as in the image. Places in the recipe stay those of the image.
        morph: Option<Morphing> = table(), optional;
        /// What is made.
        tissue: Vec<Tissue> = list(table()), default([]);
    }
    plus {
        /// The source text, for messages that point into the file.
        source: Source,
        /// Images that the recipe refers to as `@NAME`, without files.
        volumes: Volumes,
    }
}

impl Recipe {
    /// Reads a recipe from a file. Files it refers to are relative to the file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, SceneError> {
        let path = path.as_ref();
        let text = read_text_of(path, "recipe")?;
        let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        Self::from_text(&text, &path.display().to_string(), folder)
    }

    /// Reads a recipe from a text; `name` appears in messages, and files are relative to `folder`.
    pub fn from_text(text: &str, name: &str, folder: impl Into<PathBuf>) -> Result<Self, SceneError> {
        Self::from_parts(text, name, folder, Attachments::new(), Volumes::new())
    }

    /// Like [`Recipe::from_text`], with meshes and images that the text names `@NAME`.
    pub fn from_parts(
        text: &str,
        name: &str,
        folder: impl Into<PathBuf>,
        meshes: Attachments,
        volumes: Volumes,
    ) -> Result<Self, SceneError> {
        let sources = vec![SourceText::new(name, text)];
        let mut problems = Vec::new();
        let root = tree::parse_document(text, 0, &mut problems);
        let has_syntax_errors = !problems.is_empty();
        let mut cx = Context::recovering(has_syntax_errors);
        let mut recipe = table::<Self>().decode(&root, &mut cx);
        if has_syntax_errors {
            keep_certain(&sources[0], &problems, &mut cx.problems);
        }
        problems.append(&mut cx.problems);
        recipe.source = Source::new(sources.clone(), root, folder.into(), meshes);
        recipe.volumes = volumes;
        if !has_syntax_errors {
            let is_sound = problems.is_empty();
            check::check(&recipe, is_sound, &mut problems);
        }
        if problems.is_empty() { Ok(recipe) } else { Err(SceneError::new(sources, problems)) }
    }

    /// The recipe as text: SI units, without keys that have their defaults. Reading it gives the same data.
    pub fn to_toml(&self) -> String {
        table::<Self>().encode(self).to_document()
    }

    /// A problem at a value of this recipe, such as `tissue[0].labels`.
    pub fn problem(&self, path: &str, message: impl Into<String>) -> Diagnostic {
        self.source.problem(path, message)
    }

    /// A tissue by its name.
    pub fn tissue(&self, name: &str) -> Option<&Tissue> {
        self.tissue.iter().find(|tissue| tissue.name == name)
    }

    /// A part of the recipe as text, for keys of stages: the same data give the same text.
    pub fn words_of_tissue(tissue: &Tissue) -> String {
        table::<Tissue>().encode(tissue).to_toml()
    }

    /// Every file that the recipe reads, without itself.
    pub fn inputs(&self) -> Vec<PathBuf> {
        let images = self.image.iter().filter_map(|image| image.file.as_deref());
        let surfaces = self.tissue.iter().filter_map(|tissue| tissue.surface.as_deref());
        let templates = self.tissue.iter().filter_map(|tissue| match &tissue.fibers {
            Some(tissue::TissueFibers::Template(fibers)) => Some(fibers.file.as_str()),
            _ => None,
        });
        let files = images.chain(surfaces).chain(templates).filter(|file| !file.starts_with('@'));
        files.map(|file| self.source.resolve(file)).collect()
    }
}

/// All tables of a recipe, the recipe itself first.
pub(crate) fn definitions() -> Definitions {
    let mut defs = Definitions::default();
    table::<Recipe>().shape(&mut defs);
    defs
}
