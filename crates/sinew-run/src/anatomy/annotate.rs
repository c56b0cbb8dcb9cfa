//! Stage `annotate`: where a tissue is attached to bones, which of its cells are tendon, and where its fibers run.

use sinew_anatomy::Solid;
use sinew_anatomy::field::DistanceField;
use sinew_geometry::fibers::{LaplaceParams, Pennation, laplace_fibers};
use sinew_geometry::{CellMesh, MeshField};
use sinew_math::Vec3;
use sinew_scene::Diagnostic;
use sinew_scene::recipe::tissue::{AttachedTo, Kind, LaplaceFibers, Tissue, TissueFibers};
use sinew_scene::{Dimension, Recipe, format_quantity};

use super::build::Bench;
use super::cache::KeyBuilder;
use super::cells::{SizedMesh, told};
use super::field;
use super::stage::{Made, Trouble};

/// Version of the stage.
const VERSION: u32 = 1;
/// Name of the field of fiber directions.
pub(super) const FIBER: &str = "fiber";
/// Names of the sets of cells.
pub(super) const TENDON: &str = "tendon";
const BELLY: &str = "belly";

/// The mesh of a tissue with its sets and fields.
pub(super) fn make(
    bench: &Bench<'_>,
    index: usize,
    mesh: &Made<SizedMesh>,
    shapes: &[Result<Made<DistanceField>, Diagnostic>],
    smooth: &[Result<Made<DistanceField>, Diagnostic>],
) -> Result<Made<CellMesh>, Trouble> {
    let tissue = &bench.recipe.tissue[index];
    let bones = bones_of(bench, index, shapes)?;
    let mut key = KeyBuilder::new("annotate", VERSION).input(mesh.digest).text(&own_words(tissue));
    key = bones.iter().fold(key, |key, bone| key.input(bone.digest));
    key = field::add_tendon_inputs(bench, index, key)?;
    bench.shop.make(&format!("annotate {}", tissue.name), key.finish(), || {
        let sized = bench.shop.get(mesh)?;
        let mesh = &sized.mesh;
        let fields = bones.iter().map(|bone| bench.shop.get(bone)).collect::<Result<Vec<_>, _>>()?;
        let solids: Vec<&dyn Solid> = fields.iter().map(|field| &**field as &dyn Solid).collect();
        let sets = attached(bench.recipe, index, mesh, &solids)?;
        let mut made = mesh.clone();
        let failed = |error: sinew_geometry::MeshError| told(bench, &format!("tissue[{index}]"), &error.to_string());
        for (attach, nodes) in tissue.attach.iter().zip(&sets) {
            made = made.with_node_set(&attach.name, nodes.clone()).map_err(failed)?;
        }
        if let Some(is_tendon) = field::tendon_cells(bench, index, mesh, smooth)? {
            let cells = |wanted: bool| {
                let all = is_tendon.iter().enumerate().filter(move |(_, tendon)| **tendon == wanted);
                all.map(|(cell, _)| cell as u32).collect::<Vec<u32>>()
            };
            made = made.with_cell_set(TENDON, cells(true)).map_err(failed)?;
            made = made.with_cell_set(BELLY, cells(false)).map_err(failed)?;
        }
        if let Some(directions) = fibers(bench.recipe, index, mesh, &sets)? {
            let values = directions.iter().flat_map(|f| [f.x, f.y, f.z]).collect();
            made = made.with_cell_field(FIBER, MeshField { components: 3, values }).map_err(failed)?;
        }
        Ok(made)
    })
}

/// The part of the recipe that this stage reads.
fn own_words(tissue: &Tissue) -> String {
    let part = Tissue {
        name: "tissue".into(),
        kind: tissue.kind,
        attach: tissue.attach.clone(),
        fibers: tissue.fibers.clone(),
        ..Tissue::default()
    };
    Recipe::words_of_tissue(&part)
}

/// The shapes of the bones of the attachments, in their order.
fn bones_of(
    bench: &Bench<'_>,
    index: usize,
    shapes: &[Result<Made<DistanceField>, Diagnostic>],
) -> Result<Vec<Made<DistanceField>>, Trouble> {
    let tissues = &bench.recipe.tissue;
    let shape = |(k, attach): (usize, &AttachedTo)| {
        let path = format!("tissue[{index}].attach[{k}].bone");
        let bone = tissues.iter().position(|bone| bone.name == attach.bone).and_then(|at| shapes.get(at));
        match bone {
            Some(Ok(shape)) => Ok(shape.clone()),
            _ => Err(told(bench, &path, &format!("the bone `{}` could not be made", attach.bone))),
        }
    };
    tissues[index].attach.iter().enumerate().map(shape).collect()
}

/// Nodes of each attachment: on the surface, near the bone and near the point, if one is given. A node that fits several
/// belongs to the one whose bone is nearest, so that no node is held twice.
fn attached(recipe: &Recipe, index: usize, mesh: &CellMesh, bones: &[&dyn Solid]) -> Result<Vec<Vec<u32>>, Trouble> {
    let attachments = &recipe.tissue[index].attach;
    let mut sets = vec![Vec::new(); attachments.len()];
    let mut nearest = vec![f64::INFINITY; attachments.len()];
    for node in mesh.boundary_nodes() {
        let p = mesh.positions()[node as usize];
        let mut best: Option<(f64, usize)> = None;
        for (k, (attach, bone)) in attachments.iter().zip(bones).enumerate() {
            let distance = bone.distance(p);
            nearest[k] = nearest[k].min(distance);
            let is_near = attach.near.is_none_or(|near| (p - Vec3::from(near)).norm() <= attach.radius);
            if distance <= attach.within && is_near && best.is_none_or(|(found, _)| distance < found) {
                best = Some((distance, k));
            }
        }
        if let Some((_, k)) = best {
            sets[k].push(node);
        }
    }
    match sets.iter().position(Vec::is_empty) {
        None => Ok(sets),
        Some(k) => Err(Trouble::Told(nothing_near(recipe, index, k, nearest[k]))),
    }
}

/// Tells how near a tissue comes to a bone to which it should be attached.
fn nothing_near(recipe: &Recipe, index: usize, k: usize, nearest: f64) -> Diagnostic {
    let tissue = &recipe.tissue[index];
    let attach = &tissue.attach[k];
    let length = |value: f64| format_quantity(format!("{value:.2e}").parse().unwrap_or(value), Dimension::LENGTH);
    let message = format!("`{}` has no free node within {} of `{}`", tissue.name, length(attach.within), attach.bone);
    let problem = recipe.problem(&format!("tissue[{index}].attach[{k}]"), message);
    let problem = problem.label(format!("comes as near as {}", length(nearest.max(0.0))));
    problem.hint(match attach.near {
        Some(_) => "is `near` where they meet, and `radius` large enough?".to_string(),
        None => format!("raise `within`, or add the tendon that the image does not show: `tendon = [{{ to = {:?} }}]`", attach.bone),
    })
}

/// Fiber directions of the cells; `None` for tissues without fibers.
fn fibers(
    recipe: &Recipe,
    index: usize,
    mesh: &CellMesh,
    sets: &[Vec<u32>],
) -> Result<Option<Vec<Vec3>>, Trouble> {
    let tissue = &recipe.tissue[index];
    if !tissue.has_fibers() || tissue.kind != Kind::Muscle {
        return Ok(None);
    }
    let spec = match &tissue.fibers {
        Some(TissueFibers::Direction(fibers)) => {
            return Ok(Some(vec![Vec3::from(fibers.direction); mesh.cell_count()]));
        }
        Some(TissueFibers::Laplace(fibers)) => fibers.clone(),
        None => LaplaceFibers::default(),
    };
    let [from, to] = ends(tissue, &spec, sets);
    let fixed = [free_of_whole_cells(mesh, &from), free_of_whole_cells(mesh, &to)];
    let pennation = match spec.pennation {
        0.0 => Pennation::None,
        angle => Pennation::Towards { normal: Vec3::from(spec.lean), angle },
    };
    let params = LaplaceParams { pennation, tolerance: 1e-9, ..LaplaceParams::default() };
    let found = laplace_fibers(mesh, &fixed[0], &fixed[1], &params).map_err(|error| {
        let path = if tissue.fibers.is_some() { "fibers" } else { "attach" };
        Trouble::Told(recipe.problem(&format!("tissue[{index}].{path}"), format!("{}: {error}", tissue.name)))
    })?;
    Ok(Some(found.directions))
}

/// Nodes where fibers start and end.
fn ends(tissue: &Tissue, spec: &LaplaceFibers, sets: &[Vec<u32>]) -> [Vec<u32>; 2] {
    let last = tissue.attach.len().saturating_sub(1);
    let nodes = |names: &[String], default: usize| -> Vec<u32> {
        let is_meant = |k: usize| match names {
            [] => k == default,
            names => names.contains(&tissue.attach[k].name),
        };
        (0..sets.len()).filter(|&k| is_meant(k)).flat_map(|k| sets[k].iter().copied()).collect()
    };
    [nodes(&spec.from, 0), nodes(&spec.to, last)]
}

/// The nodes without the last one of every cell whose nodes are all among them: in such a cell the potential would have no
/// gradient.
fn free_of_whole_cells(mesh: &CellMesh, nodes: &[u32]) -> Vec<u32> {
    let mut held = vec![false; mesh.node_count()];
    nodes.iter().for_each(|node| held[*node as usize] = true);
    for (_, cell) in mesh.cells() {
        if cell.iter().all(|node| held[*node as usize]) {
            let last = cell.iter().max().copied().unwrap_or_default();
            held[last as usize] = false;
        }
    }
    (0..mesh.node_count() as u32).filter(|node| held[*node as usize]).collect()
}
