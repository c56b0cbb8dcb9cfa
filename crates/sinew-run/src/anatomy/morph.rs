//! Stage `morph`: shapes on the landmarks of another person.
//!
//! The surface of a shape is bent and becomes a shape again, so what would fold is meshed anew, and angles of cells are as
//! good as in the image.

use std::sync::Arc;

use sinew_anatomy::field::{DistanceField, FieldOptions};
use sinew_anatomy::mesher;
use sinew_anatomy::morph::Morph;
use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;
use sinew_scene::{Dimension, format_quantity};

use super::build::Bench;
use super::cache::KeyBuilder;
use super::cells::told;
use super::stage::{Made, Trouble};

/// Version of the stage.
const VERSION: u32 = 2;

/// The morph of the recipe.
pub(super) fn of(bench: &Bench<'_>) -> Result<Option<Morph>, Trouble> {
    let Some(spec) = &bench.recipe.morph else { return Ok(None) };
    let [from, to] = [0, 1].map(|side| -> Vec<Vec3> {
        let place = |mark: &sinew_scene::recipe::Landmark| Vec3::from(if side == 0 { mark.from } else { mark.to });
        spec.landmarks.iter().map(place).collect()
    });
    Morph::new(&from, &to).map(Some).map_err(|error| told(bench, "morph.landmarks", &error.to_string()))
}

/// A place of the image on the other person.
pub(super) fn place(morph: &Option<Morph>, p: Vec3) -> Vec3 {
    morph.as_ref().map_or(p, |morph| morph.apply(p))
}

/// Adds the landmarks to the key of a stage that uses places.
pub(super) fn add_inputs(bench: &Bench<'_>, key: KeyBuilder) -> KeyBuilder {
    let marks = bench.recipe.morph.iter().flat_map(|morph| &morph.landmarks);
    marks.flat_map(|mark| mark.from.into_iter().chain(mark.to)).fold(key, KeyBuilder::number)
}

/// Whether the morph turns space inside out at a place.
fn turns_over(morph: &Option<Morph>, p: Vec3) -> bool {
    morph.as_ref().is_some_and(|morph| !(morph.jacobian(p).determinant() > 0.0))
}

/// A shape on the other person.
pub(super) fn make(
    bench: &Bench<'_>,
    index: usize,
    shape: Made<DistanceField>,
) -> Result<Made<DistanceField>, Trouble> {
    if bench.recipe.morph.is_none() {
        return Ok(shape);
    }
    let key = add_inputs(bench, KeyBuilder::new("morph", VERSION).input(shape.digest)).finish();
    let name = &bench.recipe.tissue[index].name;
    bench.shop.make(&format!("morph {name}"), key, || {
        let morph = of(bench)?;
        let field: Arc<DistanceField> = bench.shop.get(&shape)?;
        let bent = || -> Result<DistanceField, String> {
            let surface = mesher::isosurface(&*field, field.voxel()).map_err(|error| error.to_string())?;
            let folded = surface.positions().par_iter().find_first(|p| turns_over(&morph, **p));
            if let Some(p) = folded {
                let at =
                    [p.x, p.y, p.z].map(|x| format_quantity((x * 1e5).round() / 1e5, Dimension::LENGTH)).join(", ");
                let hint = "landmarks near there change places: move or remove one";
                return Err(format!("{name}: the landmarks fold space at ({at}); hint: {hint}"));
            }
            let surface = surface.mapped(|p| place(&morph, p)).map_err(|error| error.to_string())?;
            let options = FieldOptions { band: field.band(), ..FieldOptions::default() };
            DistanceField::from_surface(&surface, field.grid(), &options).map_err(|error| error.to_string())
        };
        bent().map_err(|error| told(bench, "morph.landmarks", &error))
    })
}
