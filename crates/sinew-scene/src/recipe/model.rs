//! `model.toml`: what `sinew anatomy build` made, as scenes read it.

use std::path::Path;

use super::Recipe;
use super::tissue::Kind;
use crate::{
    decode::{
        Codec, Context,
        codec::{flag, length, name, number, quantity, text, whole, word},
        compound::{list, vector},
        table::table,
        tree,
    },
    diagnostic::{SceneError, SourceText},
    load::read_text_of,
    value::Dimension,
};

table! {
    /// A set of nodes near a bone.
    pub struct ModelAttachment as "attachment of a model" {
        /// Its name, a region in scenes.
        name: String = name("letters, digits, `_` and `-`"), required, example("origin");
        /// The bone.
        bone: String = text("name of a tissue"), required, example("humerus");
        /// Number of nodes.
        nodes: usize = whole(0, i64::MAX), default(0);
        /// Area \[m²\].
        area: f64 = quantity(Dimension::AREA).at_least(0.0), default(0);
        /// Its triangles, cut at its outline, in the folder of the model.
        surface: Option<String> = text("path of a file"), optional, example("attach/biceps.origin.ply");
    }
}

table! {
    /// A tissue of a model.
    pub struct ModelTissue as "tissue of a model" {
        /// Its name.
        name: String = name("letters, digits, `_` and `-`"), required, example("biceps");
        /// What it is.
        kind: Kind = word(), required, example("muscle");
        /// Its material in scenes.
        material: String = text("name of a tissue or law"), default("flesh"), example("muscle");
        /// The fine mesh, in the folder of the model.
        mesh: Option<String> = text("path of a file"), optional, example("fine/biceps.vtu");
        /// The coarse mesh.
        cover: Option<String> = text("path of a file"), optional, example("cover/biceps.vtu");
        /// The surface of a bone.
        surface: Option<String> = text("path of a file"), optional, example("bones/humerus.ply");
        /// Where it is attached.
        attach: Vec<ModelAttachment> = list(table()), default([]), example([{ name = "origin", bone = "scapula" }]);
        /// Whether its cells have fibers, as the field `fiber`.
        has_fibers: bool = flag(), default(false);
        /// Whether it has the regions `belly` and `tendon`.
        has_tendon: bool = flag(), default(false);
        /// Whether it has the regions `belly` and `aponeurosis`.
        has_aponeurosis: bool = flag(), default(false);
        /// Volume \[m³\].
        volume: f64 = quantity(Dimension::VOLUME).at_least(0.0), default(0);
        /// Size of the cells of the fine mesh \[m\]: that of the recipe, halved where the tissue is too thin for it.
        cell: f64 = length().at_least(0.0), default(0);
        /// Number of cells of the fine mesh.
        cells: usize = whole(0, i64::MAX), default(0);
        /// Number of cells of the cover.
        cover_cells: usize = whole(0, i64::MAX), default(0);
        /// Number of connected parts of the fine mesh or the surface.
        components: usize = whole(0, i64::MAX), default(0);
        /// Number of connected parts of the cover: as many, or what moves apart would hang together.
        cover_components: usize = whole(0, i64::MAX), default(0);
        /// Smallest dihedral angle of its cells \[rad\].
        min_dihedral: f64 = quantity(Dimension::ANGLE), default(0);
        /// Largest dihedral angle of its cells \[rad\].
        max_dihedral: f64 = quantity(Dimension::ANGLE), default(0);
        /// Smallest height of a cell \[m\]: stable explicit steps are proportional to it.
        min_height: f64 = length().at_least(0.0), default(0);
        /// Smallest height of a cell of the cover \[m\].
        cover_min_height: f64 = length().at_least(0.0), default(0);
        /// Two opposite corners of its bounding box: the lowest \[m\].
        low: [f64; 3] = vector(length()), default([0, 0, 0]);
        /// And the highest \[m\].
        high: [f64; 3] = vector(length()), default([0, 0, 0]);
        /// Why it is missing, if it could not be built.
        problem: Option<String> = text("a sentence"), optional;
    }
}

table! {
    /// A model.
    pub struct ModelFile as "model" {
        /// A sentence about it.
        title: Option<String> = text("a sentence"), optional, example("Right arm of the phantom");
        /// Edge of the voxels in which tissues were made \[m\].
        voxel: f64 = length().at_least(0.0), default(0), example("1 mm");
        /// Factor by which stable explicit steps of the covers are longer than those of the fine meshes; 0 without covers.
        step_ratio: f64 = number().at_least(0.0), default(0);
        /// Its tissues.
        tissue: Vec<ModelTissue> = list(table()), default([]);
    }
}

/// The name of the file in the folder of a model.
pub const MODEL_FILE: &str = "model.toml";

impl ModelFile {
    /// Reads the file of a model in its folder.
    pub fn load(folder: &Path) -> Result<Self, SceneError> {
        let path = folder.join(MODEL_FILE);
        let text = read_text_of(&path, "model")?;
        Self::from_text(&text, &path.display().to_string())
    }

    /// Reads the text of such a file; `name` appears in messages.
    pub fn from_text(text: &str, name: &str) -> Result<Self, SceneError> {
        let mut problems = Vec::new();
        let root = tree::parse_document(text, 0, &mut problems);
        let mut cx = Context::default();
        let model = table::<Self>().decode(&root, &mut cx);
        problems.append(&mut cx.problems);
        match problems.is_empty() {
            true => Ok(model),
            false => Err(SceneError::new(vec![SourceText::new(name, text)], problems)),
        }
    }

    /// The file as text.
    pub fn to_toml(&self) -> String {
        table::<Self>().encode(self).to_document()
    }

    /// What a recipe promises, before it is built: names, kinds, materials and attachments.
    pub fn promised(recipe: &Recipe) -> Self {
        let tissue = recipe.tissue.iter().map(|tissue| ModelTissue {
            name: tissue.name.clone(),
            kind: tissue.kind,
            material: tissue.material_word().to_string(),
            attach: (tissue.attach.iter())
                .map(|at| ModelAttachment {
                    name: at.name.clone(),
                    bone: at.bone.clone(),
                    ..ModelAttachment::default()
                })
                .collect(),
            has_fibers: tissue.has_fibers(),
            has_tendon: tissue.has_tendon() && tissue.kind == Kind::Muscle,
            has_aponeurosis: tissue.has_aponeurosis() && tissue.kind == Kind::Muscle,
            ..ModelTissue::default()
        });
        Self { title: recipe.title.clone(), tissue: tissue.collect(), ..Self::default() }
    }
}
