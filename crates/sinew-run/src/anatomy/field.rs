//! Stages `field` and `smooth`: signed distances of tissues, edited and repaired, then smoothed together.

use std::collections::BTreeSet;

use sinew_anatomy::Solid;
use sinew_anatomy::field::{
    DistanceField, EditAction, EditShape, FieldError, FieldGrid, FieldOptions, Keep, LabelOptions, SliceEdit,
    SmoothOptions, apply_edits, smooth_together,
};
use sinew_scene::recipe::shape as shape_spec;
use sinew_scene::recipe::tissue::{Repair, Tissue};
use sinew_scene::{Diagnostic, Recipe};

use super::build::Bench;
use super::cache::{Digest, KeyBuilder};
use super::cells::told;
use super::image::{self, Source};
use super::stage::{Made, Trouble};
use super::{attached, shape};

/// Version of the stages.
const VERSION: u32 = 3;

/// Edge of the voxels of all tissues \[m\].
pub(super) fn voxel_of(bench: &Bench<'_>) -> f64 {
    let of_image = || {
        let contents = bench.images.first()?.contents(&bench.shop, bench.recipe).ok()?;
        Some(image::smallest_spacing(&contents.grid))
    };
    bench.recipe.voxel.or_else(of_image).unwrap_or(0.5 * bench.recipe.mesh.cell)
}

/// A result of an earlier stage, or its problem.
pub(super) fn result(
    results: &[Result<Made<DistanceField>, Diagnostic>],
    index: usize,
) -> Result<&Made<DistanceField>, Trouble> {
    results[index].as_ref().map_err(|problem| Trouble::Told(problem.clone()))
}

/// The image of a tissue with labels.
pub(super) fn source_of<'a, 'b>(bench: &'b Bench<'a>, index: usize) -> Result<&'b Source<'a>, Trouble> {
    let tissue = &bench.recipe.tissue[index];
    image::source_of(&bench.images, tissue).ok_or_else(|| told(bench, &format!("tissue[{index}]"), "there is no image"))
}

/// The field of a tissue, edited and repaired.
pub(super) fn make(bench: &Bench<'_>, index: usize, tissue: &Tissue) -> Result<Made<DistanceField>, Trouble> {
    let mut key = KeyBuilder::new("field", VERSION).text(&own_words(tissue)).number(voxel_of(bench));
    let name = format!("field {}", tissue.name);
    if !tissue.labels.is_empty() {
        let source = source_of(bench, index)?;
        let contents = source.contents(&bench.shop, bench.recipe)?;
        let path = format!("tissue[{index}].labels");
        let labels = image::numbers(bench.recipe, &contents, &tissue.labels, &path)?;
        check_overlap(bench, index, &contents, &labels)?;
        key = labels.iter().fold(key.input(source.digest), |key, label| key.number(f64::from(*label)));
        return bench.shop.make(&name, key.finish(), || {
            let image = source.voxels(bench.recipe)?;
            let field = DistanceField::from_labels(&image.labels(), &labels, &options(bench));
            let field = field.map_err(|error| problem(bench, &path, &tissue.name, &error))?;
            let (mut field, torn_off) = repaired(bench, index, field)?;
            field.keep_voxel_volume(torn_off);
            Ok(field)
        });
    }
    if let Some(surface) = &tissue.surface {
        let path = format!("tissue[{index}].surface");
        let digest = attached::digest_of_mesh(bench.recipe, surface).map_err(|error| told(bench, &path, &error))?;
        key = key.input(digest).number(tissue.scale);
        return bench.shop.make(&name, key.finish(), || {
            let field = of_surface(bench, tissue, surface).map_err(|error| told(bench, &path, &error))?;
            Ok(repaired(bench, index, field)?.0)
        });
    }
    bench.shop.make(&name, key.finish(), || {
        let path = format!("tissue[{index}].csg");
        let solid = shape::first_part(bench, index)?;
        DistanceField::from_solid(&*solid, grid_of(bench)).map_err(|error| problem(bench, &path, &tissue.name, &error))
    })
}

/// Refuses labels that an earlier tissue is made of: two tissues cannot be in one place.
fn check_overlap(bench: &Bench<'_>, index: usize, contents: &image::Contents, labels: &[u16]) -> Result<(), Trouble> {
    let (earlier, later) = bench.recipe.tissue.split_at(index);
    let own = &later[0];
    for other in earlier.iter().filter(|other| other.image == own.image) {
        let Ok(taken) = image::numbers(bench.recipe, contents, &other.labels, "") else { continue };
        if let Some(label) = labels.iter().find(|label| taken.contains(label)) {
            let label = contents.names.get(label).map_or_else(|| label.to_string(), |name| format!("`{name}`"));
            let text = format!("{}: the label {label} is already part of `{}`", own.name, other.name);
            let hint = "tissues cannot overlap: take the label from one of them, or leave one out";
            return Err(told(bench, &format!("tissue[{index}].labels"), &format!("{text}; hint: {hint}")));
        }
    }
    Ok(())
}

/// The part of the recipe that this stage reads.
fn own_words(tissue: &Tissue) -> String {
    let csg = if tissue.labels.is_empty() && tissue.surface.is_none() { tissue.csg.clone() } else { Vec::new() };
    let part = Tissue {
        name: "tissue".into(),
        edit: tissue.edit.clone(),
        repair: tissue.repair.clone(),
        csg,
        ..Tissue::default()
    };
    Recipe::words_of_tissue(&part)
}

/// How fields are made from labels.
pub(super) fn options(bench: &Bench<'_>) -> LabelOptions {
    LabelOptions { voxel: bench.recipe.voxel, ..LabelOptions::default() }
}

/// The voxels of tissues that are not made of labels: those of the image, or a grid anchored at the origin.
fn grid_of(bench: &Bench<'_>) -> FieldGrid {
    let voxel = voxel_of(bench);
    let contents = bench.images.first().and_then(|image| image.contents(&bench.shop, bench.recipe).ok());
    match contents {
        Some(contents) if bench.recipe.voxel.is_none() => FieldGrid { voxel, origin: contents.grid.origin },
        _ => FieldGrid::from(voxel),
    }
}

fn problem(bench: &Bench<'_>, path: &str, name: &str, error: &FieldError) -> Trouble {
    told(bench, path, &format!("{name}: {error}"))
}

fn of_surface(bench: &Bench<'_>, tissue: &Tissue, reference: &str) -> Result<DistanceField, String> {
    let data = attached::mesh(bench.recipe, reference)?;
    let surface = data.into_surface(&BTreeSet::new()).map_err(|error| error.to_string())?.mesh;
    let surface = surface.mapped(|p| p * tissue.scale).map_err(|error| error.to_string())?;
    DistanceField::from_surface(&surface, grid_of(bench), &FieldOptions::default()).map_err(|error| error.to_string())
}

/// Distance [voxels] from what is kept up to which a speck was part of it.
const TORN_OFF: f64 = 3.0;

/// The field after the steps of repair, in order, and the volume of the specks beside it that were not kept: noise at its
/// boundary tears off as much as it digs holes, so they are part of its volume [m³].
fn repaired(bench: &Bench<'_>, index: usize, mut field: DistanceField) -> Result<(DistanceField, f64), Trouble> {
    let tissue = &bench.recipe.tissue[index];
    let mut torn_off = 0.0;
    for (k, edit) in tissue.edit.iter().enumerate() {
        let path = format!("tissue[{index}].edit[{k}]");
        apply_edits(&mut field, &[edit_of(edit)]).map_err(|error| problem(bench, &path, &tissue.name, &error))?;
    }
    for (k, step) in tissue.repair.iter().enumerate() {
        let path = format!("tissue[{index}].repair[{k}]");
        match step {
            Repair::Open(radius) => field.open(*radius),
            Repair::Close(radius) => field.close(*radius),
            Repair::FillHoles(largest) => {
                field.fill_holes(Some(*largest));
                Ok(())
            }
            Repair::KeepParts(count) => {
                let parts = field.parts();
                field.keep_parts(&Keep::Largest(*count));
                let near = TORN_OFF * field.voxel();
                let specks = parts.iter().skip(*count).filter(|part| field.distance(part.center) <= near);
                torn_off += specks.map(|part| part.volume).sum::<f64>();
                Ok(())
            }
            Repair::Grow(distance) => {
                field.offset(*distance);
                Ok(())
            }
        }
        .map_err(|error| problem(bench, &path, &tissue.name, &error))?;
        if field.is_empty() {
            return Err(told(bench, &path, &format!("nothing is left of `{}` after this step", tissue.name)));
        }
    }
    Ok((field, torn_off))
}

fn edit_of(edit: &shape_spec::SliceEdit) -> SliceEdit {
    SliceEdit {
        axis: edit.axis as usize,
        position: edit.at,
        thickness: edit.thickness,
        shape: match &edit.brush {
            Some(brush) => EditShape::Brush { path: brush.path.clone(), radius: brush.radius },
            None => EditShape::Polygon(edit.polygon.clone()),
        },
        action: match edit.kind {
            shape_spec::EditKind::Add => EditAction::Add,
            shape_spec::EditKind::Remove => EditAction::TakeAway,
        },
    }
}

/// All tissues smoothed together. Tissues without a field are left out.
pub(super) fn smooth(
    bench: &Bench<'_>,
    fields: &[Result<Made<DistanceField>, Diagnostic>],
) -> Result<Vec<Result<Made<DistanceField>, Diagnostic>>, Trouble> {
    let settings = &bench.recipe.smooth;
    let present: Vec<usize> = (0..fields.len()).filter(|&i| fields[i].is_ok()).collect();
    let unchanged = || Ok(fields.iter().map(Clone::clone).collect());
    if settings.time == 0.0 || present.is_empty() {
        bench.shop.tick(1, "smooth");
        return unchanged();
    }
    let inputs = present.iter().filter_map(|&i| fields[i].as_ref().ok());
    let numbers = [settings.time, f64::from(settings.keep_volume), settings.spare];
    let all = numbers.into_iter().fold(KeyBuilder::new("smooth", VERSION), KeyBuilder::number);
    let all = inputs.clone().fold(all, |key, made| key.input(made.digest)).finish();
    let keys: Vec<Digest> =
        (0..present.len()).map(|k| KeyBuilder::new("smoothed", VERSION).input(all).number(k as f64).finish()).collect();
    let made = bench.shop.make_all("smooth", &keys, || {
        let loaded = inputs.map(|made| bench.shop.get(made)).collect::<Result<Vec<_>, _>>()?;
        let mut values: Vec<DistanceField> = loaded.iter().map(|field| DistanceField::clone(field)).collect();
        drop(loaded);
        let defaults = SmoothOptions::default();
        let volume_rounds = if settings.keep_volume { defaults.volume_rounds } else { 0 };
        let options = SmoothOptions { time: settings.time, spare_thickness: settings.spare, volume_rounds };
        smooth_together(&mut values, &options).map_err(|error| told(bench, "smooth", &error.to_string()))?;
        Ok(values)
    })?;
    let mut results: Vec<_> = fields.to_vec();
    for (index, made) in present.into_iter().zip(made) {
        results[index] = Ok(made);
    }
    Ok(results)
}
