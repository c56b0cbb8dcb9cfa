//! Which cells of a tissue are tendon and which are aponeurosis.

use sinew_anatomy::Solid;
use sinew_anatomy::field::{DistanceField, fields_from_labels};
use sinew_anatomy::mesher;
use sinew_geometry::{CellMesh, TriMesh};
use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;
use sinew_scene::recipe::tissue::{Label, Tissue};
use sinew_scene::{Diagnostic, Recipe};

use super::build::Bench;
use super::cache::KeyBuilder;
use super::cells::told;
use super::stage::{Made, Trouble};
use super::{field, image, morph, shape};

/// Names of the sets of cells.
pub(super) const TENDON: &str = "tendon";
pub(super) const APONEUROSIS: &str = "aponeurosis";
const BELLY: &str = "belly";

type Fields = [Result<Made<DistanceField>, Diagnostic>];

/// What the sets of cells of a tissue depend on.
pub(super) fn add_inputs(
    bench: &Bench<'_>,
    index: usize,
    smooth: &Fields,
    key: KeyBuilder,
) -> Result<KeyBuilder, Trouble> {
    let tissue = &bench.recipe.tissue[index];
    let part = Tissue {
        name: "tissue".into(),
        tendon_labels: tissue.tendon_labels.clone(),
        aponeurosis_labels: tissue.aponeurosis_labels.clone(),
        tendon: tissue.tendon.clone(),
        attach: shape::padded(tissue).cloned().collect(),
        aponeurosis: tissue.aponeurosis.clone(),
        ..Tissue::default()
    };
    let mut key = key.text(&Recipe::words_of_tissue(&part));
    for name in tissue.aponeurosis.iter().filter_map(shape::name_of) {
        key = key.input(shape::named(bench, index, name, smooth)?.digest);
    }
    if tissue.tendon_labels.is_empty() && tissue.aponeurosis_labels.is_empty() {
        return Ok(key);
    }
    Ok(key.input(field::source_of(bench, index)?.digest).number(field::voxel_of(bench)))
}

/// The mesh with the sets `tendon`, `aponeurosis` and `belly`, the rest; those that the tissue has.
pub(super) fn with_sets(
    bench: &Bench<'_>,
    index: usize,
    mut mesh: CellMesh,
    smooth: &Fields,
) -> Result<CellMesh, Trouble> {
    let tissue = &bench.recipe.tissue[index];
    if !tissue.has_tendon() && !tissue.has_aponeurosis() {
        return Ok(mesh);
    }
    // Where cells were in the image: between landmarks the reversed morph is near the inverse.
    let back = morph::of(bench)?.map(|morph| morph.reversed()).transpose();
    let back = back.map_err(|error| told(bench, "morph.landmarks", &error.to_string()))?;
    let centers: Vec<Vec3> = (0..mesh.cell_count()).map(|cell| morph::place(&back, center(&mesh, cell))).collect();
    let is_aponeurosis = aponeurosis_at(bench, index, &centers, smooth)?;
    let mut is_tendon = tendon_at(bench, index, &centers, smooth)?;
    is_tendon.iter_mut().zip(&is_aponeurosis).for_each(|(tendon, sheet)| *tendon &= !sheet);
    let mut is_belly = vec![true; centers.len()];
    for (is_there, name, inside) in
        [(tissue.has_tendon(), TENDON, &is_tendon), (tissue.has_aponeurosis(), APONEUROSIS, &is_aponeurosis)]
    {
        is_belly.iter_mut().zip(inside).for_each(|(belly, inside)| *belly &= !inside);
        if is_there {
            mesh = with_set(bench, index, mesh, name, inside)?;
        }
    }
    with_set(bench, index, mesh, BELLY, &is_belly)
}

fn with_set(bench: &Bench<'_>, index: usize, mesh: CellMesh, name: &str, inside: &[bool]) -> Result<CellMesh, Trouble> {
    let cells = (0..inside.len() as u32).filter(|cell| inside[*cell as usize]).collect();
    mesh.with_cell_set(name, cells).map_err(|error| told(bench, &format!("tissue[{index}]"), &error.to_string()))
}

/// Whether points are tendon: nearer to the voxels of tendon than to the others, or in an added tendon and not in what was
/// there before.
fn tendon_at(bench: &Bench<'_>, index: usize, points: &[Vec3], smooth: &Fields) -> Result<Vec<bool>, Trouble> {
    let tissue = &bench.recipe.tissue[index];
    let mut found = vec![false; points.len()];
    if let Some([tendon, rest]) = parts_by_label(bench, index, &tissue.tendon_labels, "tendon_labels")? {
        found = points.par_iter().map(|p| tendon.distance(*p) < rest.distance(*p)).collect();
    }
    let tendons = match tissue.has_added_tendon() {
        true => shape::added(bench, index, smooth)?,
        false => Vec::new(),
    };
    if !tendons.is_empty() {
        let before = bench.shop.get(field::result(smooth, index)?)?;
        let added: Vec<bool> = points.par_iter().map(|p| is_added(&before, &tendons, *p)).collect();
        found.iter_mut().zip(added).for_each(|(tendon, added)| *tendon |= added);
    }
    Ok(found)
}

/// Whether a point of a tissue is in an added tendon and not in what was there before.
pub(super) fn is_added(before: &DistanceField, tendons: &[Box<dyn Solid>], p: Vec3) -> bool {
    before.distance(p) > 0.0 && tendons.iter().any(|tendon| tendon.distance(p) < 0.5 * before.voxel())
}

/// Whether points are aponeurosis: nearer to its voxels than to the others, or in one of its solids.
fn aponeurosis_at(bench: &Bench<'_>, index: usize, points: &[Vec3], smooth: &Fields) -> Result<Vec<bool>, Trouble> {
    let tissue = &bench.recipe.tissue[index];
    let mut found = vec![false; points.len()];
    if let Some([sheet, rest]) = parts_by_label(bench, index, &tissue.aponeurosis_labels, "aponeurosis_labels")? {
        found = points.par_iter().map(|p| sheet.distance(*p) < rest.distance(*p)).collect();
    }
    for (k, part) in tissue.aponeurosis.iter().enumerate() {
        let path = format!("tissue[{index}].aponeurosis[{k}]");
        let solid = shape::solid_of(bench, index, &path, part, smooth)?;
        let inside: Vec<bool> = points.par_iter().map(|p| solid.distance(*p) <= 0.0).collect();
        if !inside.contains(&true) {
            let text = "no cell has its middle in this aponeurosis; hint: make it as thick as a cell, or move it into the tissue";
            return Err(told(bench, &path, &format!("{}: {text}", tissue.name)));
        }
        found.iter_mut().zip(inside).for_each(|(found, inside)| *found |= inside);
    }
    Ok(found)
}

/// Surfaces of the aponeurosis of a tissue, on the other person where the recipe morphs: what fibers lean toward.
pub(super) fn aponeurosis_surfaces(bench: &Bench<'_>, index: usize, smooth: &Fields) -> Result<Vec<TriMesh>, Trouble> {
    let tissue = &bench.recipe.tissue[index];
    let morph = morph::of(bench)?;
    let path = format!("tissue[{index}].aponeurosis");
    let mut solids: Vec<Box<dyn Solid>> = Vec::new();
    if let Some([sheet, _]) = parts_by_label(bench, index, &tissue.aponeurosis_labels, "aponeurosis_labels")? {
        solids.push(Box::new(sheet));
    }
    for (k, part) in tissue.aponeurosis.iter().enumerate() {
        solids.push(shape::solid_of(bench, index, &format!("{path}[{k}]"), part, smooth)?);
    }
    let surface = |solid: &dyn Solid| {
        // Sheets may be thin: cells are halved until one fits.
        let sizes = [1.0, 0.5, 0.25, 0.125].map(|factor| factor * field::voxel_of(bench));
        let found = sizes.into_iter().find_map(|size| mesher::isosurface(solid, size).ok());
        let found =
            found.ok_or_else(|| told(bench, &path, "the aponeurosis is too thin for its surface to be found"))?;
        found.mapped(|p| morph::place(&morph, p)).map_err(|error| told(bench, &path, &error.to_string()))
    };
    solids.iter().map(|solid| surface(&**solid)).collect()
}

/// Fields of the voxels of some labels of a tissue and of the others; `None` if one of them has no voxels.
fn parts_by_label(
    bench: &Bench<'_>,
    index: usize,
    part: &[Label],
    key: &str,
) -> Result<Option<[DistanceField; 2]>, Trouble> {
    if part.is_empty() {
        return Ok(None);
    }
    let source = field::source_of(bench, index)?;
    let contents = source.contents(&bench.shop, bench.recipe)?;
    let path = format!("tissue[{index}].{key}");
    let numbers = |labels: &[Label]| image::numbers(bench.recipe, &contents, labels, &path);
    let rest: Vec<Label> =
        bench.recipe.tissue[index].labels.iter().filter(|label| !part.contains(label)).cloned().collect();
    // A tendon that the image does not show is no problem: then nothing is tendon.
    let (Ok(part), Ok(rest)) = (numbers(part), numbers(&rest)) else { return Ok(None) };
    let image = source.voxels(bench.recipe)?;
    let fields = fields_from_labels(&image.labels(), &[&part, &rest], &field::options(bench));
    let name = &bench.recipe.tissue[index].name;
    let fields = fields.map_err(|error| told(bench, &path, &format!("{name}: {error}")))?;
    let [Ok(part), Ok(rest)] = <[_; 2]>::try_from(fields).map_err(|_| Trouble::Torn)? else { return Ok(None) };
    Ok(Some([part, rest]))
}

/// The middle of a cell.
fn center(mesh: &CellMesh, cell: usize) -> Vec3 {
    let nodes = mesh.cell_nodes(cell);
    nodes.iter().map(|node| mesh.positions()[*node as usize]).sum::<Vec3>() / nodes.len() as f64
}
