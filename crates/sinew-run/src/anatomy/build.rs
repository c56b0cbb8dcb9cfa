//! Which stage needs which, for all tissues of a recipe.

use std::sync::Arc;

use sinew_anatomy::field::DistanceField;
use sinew_geometry::{CellMesh, TriMesh};
use sinew_math::parallel::prelude::*;
use sinew_scene::recipe::model::{ModelAttachment, ModelFile, ModelTissue};
use sinew_scene::recipe::tissue::{Kind, Tissue};
use sinew_scene::{Diagnostic, Dimension, Recipe, SceneError, format_quantity};

use super::attach::{self, Attached};
use super::cache::{Cache, Digest};
use super::image::{self, Source};
use super::stage::{Made, Trouble, Workshop};
use super::stored::Stored;
use super::{BuildOptions, BuiltTissue, Model, annotate, cells, cover, field, morph, shape, write};

/// How often a build starts over because an entry of the cache was torn: once finds all of one kind.
const ATTEMPTS: usize = 8;

/// What was made of a tissue so far.
pub(super) struct Bench<'a> {
    pub recipe: &'a Recipe,
    pub shop: Workshop<'a>,
    pub images: Vec<Source<'a>>,
}

/// Results of one tissue.
#[derive(Default)]
pub(super) struct Parts {
    /// Its final shape.
    pub shape: Option<Made<DistanceField>>,
    /// Its surface, of bones.
    pub surface: Option<Made<TriMesh>>,
    /// Its attachments.
    pub attached: Option<Made<Attached>>,
    /// Its mesh with attachments and fibers.
    pub mesh: Option<Made<CellMesh>>,
    /// Coarse mesh.
    pub cover: Option<Made<CellMesh>>,
    /// Facts.
    pub facts: ModelTissue,
    /// What a user should know.
    pub notes: Vec<String>,
}

/// Builds a model.
///
/// # Errors
/// Problems that concern all tissues: an image that cannot be read, an interrupt. Problems of single tissues are in the
/// model.
pub fn build(recipe: &Recipe, options: &BuildOptions<'_>) -> Result<Model, SceneError> {
    let silent = |_: usize, _: usize, _: &str| {};
    let progress = options.progress.unwrap_or(&silent);
    for _ in 0..ATTEMPTS {
        let of_model = options.folder.map(|folder| folder.join("cache"));
        let cache = Cache::new(of_model.or_else(|| options.cache.clone()));
        let images = image::sources(recipe).map_err(|problems| recipe.source.error(problems))?;
        let bench = Bench { recipe, shop: Workshop::new(cache, progress), images };
        match attempt(&bench, options) {
            Ok(model) => return Ok(model),
            Err(Trouble::Torn) => {}
            Err(Trouble::Told(problem)) => return Err(recipe.source.error(vec![problem])),
            Err(Trouble::Interrupted) => return Err(SceneError::nowhere(Diagnostic::nowhere("interrupted"))),
        }
    }
    let problem = Diagnostic::nowhere("entries of the cache are torn as soon as they are written");
    Err(SceneError::nowhere(problem.hint("is the disk full, or does another build write into the same folder?")))
}

/// A result that stops the build, or one that only concerns its tissue.
fn settle<T>(result: Result<T, Trouble>) -> Result<Result<T, Diagnostic>, Trouble> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(Trouble::Told(problem)) => Ok(Err(problem)),
        Err(other) => Err(other),
    }
}

/// One result per tissue, or why there is none; stops at what stops the build.
fn settle_all<T>(results: Vec<Result<T, Trouble>>) -> Result<Vec<Result<T, Diagnostic>>, Trouble> {
    results.into_iter().map(settle).collect()
}

fn attempt(bench: &Bench<'_>, options: &BuildOptions<'_>) -> Result<Model, Trouble> {
    let tissues = &bench.recipe.tissue;
    let is_wanted = |tissue: &Tissue| options.only.as_ref().is_none_or(|only| only.contains(&tissue.name));
    // Fields, one shape, one or two meshes, attachments and a cover for each.
    bench.shop.plan(2 * tissues.len() + 1 + 4 * tissues.iter().filter(|tissue| is_wanted(tissue)).count());
    for source in &bench.images {
        source.contents(&bench.shop, bench.recipe)?;
    }
    let fields = tissues.par_iter().enumerate().map(|(i, tissue)| field::make(bench, i, tissue)).collect();
    let fields = settle_all(fields)?;
    let smooth = field::smooth(bench, &fields)?;
    let shapes = (0..tissues.len())
        .into_par_iter()
        .map(|i| shape::make(bench, i, &smooth).and_then(|shape| morph::make(bench, i, shape)))
        .collect();
    let shapes = settle_all(shapes)?;
    let wanted: Vec<usize> = (0..tissues.len()).filter(|&i| is_wanted(&tissues[i])).collect();
    let surfaces = wanted.par_iter().map(|&i| surface_of(bench, i, &shapes)).collect();
    let surfaces: Vec<Result<Option<Made<TriMesh>>, Diagnostic>> = settle_all(surfaces)?;
    let parts: Vec<Result<Parts, Trouble>> =
        wanted.par_iter().zip(surfaces).map(|(&i, surface)| finish(bench, i, &shapes, &smooth, surface)).collect();
    let parts = settle_all(parts)?;
    let mut model = assemble(bench, options, &wanted, &parts)?;
    if let Some(folder) = options.folder {
        let together = settle(cells::together(bench, &wanted, &shapes))?;
        let together = match together {
            Ok(together) => together,
            Err(problem) => {
                model.problems.push(problem);
                None
            }
        };
        write::write(bench, folder, &model, &parts, together.as_ref())?;
        bench.shop.sweep();
    }
    Ok(Model { stages: bench.shop.reports(), ..model })
}

type Shapes = [Result<Made<DistanceField>, Diagnostic>];

/// The surface of a bone.
fn surface_of(bench: &Bench<'_>, index: usize, shapes: &Shapes) -> Result<Option<Made<TriMesh>>, Trouble> {
    let tissue = &bench.recipe.tissue[index];
    match (&shapes[index], tissue.kind) {
        (Ok(shape), Kind::Bone) => cells::surface(bench, index, shape).map(Some),
        (Err(problem), _) => Err(Trouble::Told(problem.clone())),
        _ => Ok(None),
    }
}

/// Mesh, attachments, fibers and cover of one tissue.
fn finish(
    bench: &Bench<'_>,
    index: usize,
    shapes: &Shapes,
    smooth: &Shapes,
    surface: Result<Option<Made<TriMesh>>, Diagnostic>,
) -> Result<Parts, Trouble> {
    let tissue = &bench.recipe.tissue[index];
    let surface = surface.map_err(Trouble::Told)?;
    let shape = shapes[index].as_ref().map_err(|problem| Trouble::Told(problem.clone()))?;
    let mut parts = Parts { shape: Some(shape.clone()), ..Parts::default() };
    if let Some(surface) = surface {
        let value = bench.shop.get(&surface)?;
        parts.facts = cells::facts_of_surface(&value);
        parts.surface = Some(surface);
        bench.shop.tick(3, &tissue.name);
    } else {
        let plain = cells::mesh(bench, index, shape, smooth)?;
        let attached = attach::make(bench, index, &plain, shapes)?;
        let annotated = annotate::make(bench, index, &plain, &attached, smooth)?;
        let cell = cells::size(bench, &plain)?;
        bench.shop.release(&plain);
        let covered = match &bench.recipe.cover {
            Some(covering) => Some(cover::make(bench, index, &annotated, cell, covering.cell)?),
            None => None,
        };
        if covered.is_none() {
            bench.shop.tick(1, &tissue.name);
        }
        let facts = cells::facts(bench, &annotated)?;
        parts.facts = ModelTissue { cell, ..bench.shop.get(&facts)?.0.clone() };
        bench.shop.get(&attached)?.describe(tissue, &mut parts.facts);
        parts.attached = Some(attached);
        match covered {
            Some([fine, coarse]) => {
                let count = cells::facts(bench, &coarse)?;
                let coarse_facts = bench.shop.get(&count)?;
                parts.facts.cover_cells = coarse_facts.0.cells;
                parts.facts.cover_min_height = coarse_facts.0.min_height;
                parts.facts.cover_components = coarse_facts.0.components;
                bench.shop.release(&annotated);
                (parts.mesh, parts.cover) = (Some(fine), Some(coarse));
            }
            None => parts.mesh = Some(annotated),
        }
    }
    parts.notes = notes(bench, index, &parts.facts)?;
    Ok(parts)
}

const CUT: &str = "cut off flat at the border of the image";

/// What a user should know of a tissue.
fn notes(bench: &Bench<'_>, index: usize, facts: &ModelTissue) -> Result<Vec<String>, Trouble> {
    let tissue = &bench.recipe.tissue[index];
    let mut notes = Vec::new();
    let wanted = cells::cell_of(bench, index);
    if facts.cell > 0.0 && facts.cell < wanted {
        let [wanted, cell] = [wanted, facts.cell].map(|size| format_quantity(size, Dimension::LENGTH));
        notes.push(format!("too thin for cells of {wanted}, made of cells of {cell}"));
    }
    if let Some(source) = image::source_of(&bench.images, tissue).filter(|_| !tissue.labels.is_empty()) {
        let contents = source.contents(&bench.shop, bench.recipe)?;
        let labels = image::numbers(bench.recipe, &contents, &tissue.labels, &format!("tissue[{index}].labels"))?;
        if labels.iter().any(|label| contents.cut.contains(label)) {
            notes.push(CUT.to_string());
        }
    }
    Ok(notes)
}

/// Notes of tissues: those with the same text are one.
fn gathered(notes: Vec<(&str, &String)>) -> Vec<String> {
    let mut texts: Vec<(&String, Vec<&str>)> = Vec::new();
    for (name, text) in notes {
        match texts.iter_mut().find(|(known, _)| *known == text) {
            Some((_, names)) => names.push(name),
            None => texts.push((text, vec![name])),
        }
    }
    texts.into_iter().map(|(text, names)| format!("{}: {text}", names.join(", "))).collect()
}

/// The model, with files and facts of its tissues.
fn assemble(
    bench: &Bench<'_>,
    options: &BuildOptions<'_>,
    wanted: &[usize],
    parts: &[Result<Parts, Diagnostic>],
) -> Result<Model, Trouble> {
    let promised = ModelFile::promised(bench.recipe);
    let images = bench.images.iter().filter_map(|source| source.contents(&bench.shop, bench.recipe).ok());
    let notes: Vec<String> = images.flat_map(|contents| contents.notes.clone()).collect();
    let mut model = Model {
        file: ModelFile { tissue: Vec::new(), voxel: field::voxel_of(bench), ..promised.clone() },
        tissues: Vec::new(),
        problems: Vec::new(),
        notes,
        stages: Vec::new(),
    };
    for (&index, part) in wanted.iter().zip(parts) {
        let promise = &promised.tissue[index];
        match part {
            Ok(parts) => {
                model.file.tissue.push(described(promise, parts));
                model.tissues.push(built(bench, promise, parts, options.folder.is_none())?);
            }
            Err(problem) => {
                let problem_text = Some(problem.message.clone());
                model.file.tissue.push(ModelTissue { problem: problem_text, ..promise.clone() });
                model.problems.push(problem.clone());
            }
        }
    }
    let made = wanted.iter().zip(parts).filter_map(|(&index, part)| Some((index, part.as_ref().ok()?)));
    let told = made.flat_map(|(index, parts)| {
        let name = promised.tissue[index].name.as_str();
        parts.notes.iter().map(move |note| (name, note))
    });
    model.notes.extend(gathered(told.collect()));
    model.file.step_ratio = step_ratio(&model.file);
    Ok(model)
}

/// How much longer the stable explicit steps of all covers together are than those of all fine meshes.
fn step_ratio(file: &ModelFile) -> f64 {
    let least = |height: fn(&ModelTissue) -> f64| {
        file.tissue.iter().map(height).filter(|height| *height > 0.0).fold(f64::INFINITY, f64::min)
    };
    let (fine, cover) = (least(|tissue| tissue.min_height), least(|tissue| tissue.cover_min_height));
    if cover.is_finite() { cover / fine } else { 0.0 }
}

/// What a recipe promised of a tissue, with what came of it.
fn described(promise: &ModelTissue, parts: &Parts) -> ModelTissue {
    let facts = &parts.facts;
    let attach = promise.attach.iter().map(|at| {
        let found = facts.attach.iter().find(|found| found.name == at.name).cloned().unwrap_or_default();
        ModelAttachment { name: at.name.clone(), bone: at.bone.clone(), ..found }
    });
    let name = &promise.name;
    ModelTissue {
        name: name.clone(),
        kind: promise.kind,
        material: promise.material.clone(),
        mesh: parts.mesh.as_ref().map(|_| format!("fine/{name}.vtu")),
        cover: parts.cover.as_ref().map(|_| format!("cover/{name}.vtu")),
        surface: parts.surface.as_ref().map(|_| format!("bones/{name}.ply")),
        attach: attach.collect(),
        ..facts.clone()
    }
}

/// The results of a tissue; values only where there is no folder to read them from.
fn built(bench: &Bench<'_>, promise: &ModelTissue, parts: &Parts, in_memory: bool) -> Result<BuiltTissue, Trouble> {
    let digests = [digest(&parts.mesh), digest(&parts.cover), digest(&parts.surface)];
    let fingerprint = digests.iter().flatten().map(Digest::to_string).collect::<Vec<_>>().join("-");
    let mut tissue = BuiltTissue {
        name: promise.name.clone(),
        kind: promise.kind,
        mesh: None,
        cover: None,
        surface: None,
        fingerprint,
    };
    if in_memory {
        tissue.mesh = value(bench, &parts.mesh)?;
        tissue.cover = value(bench, &parts.cover)?;
        tissue.surface = value(bench, &parts.surface)?;
    }
    Ok(tissue)
}

fn digest<T>(made: &Option<Made<T>>) -> Option<Digest> {
    made.as_ref().map(|made| made.digest)
}

fn value<T: Stored>(bench: &Bench<'_>, made: &Option<Made<T>>) -> Result<Option<Arc<T>>, Trouble> {
    made.as_ref().map(|made| bench.shop.get(made)).transpose()
}
