//! Stage `annotate`: where a tissue is attached to bones, which of its cells are tendon, and where its fibers run.

use sinew_anatomy::Solid;
use sinew_anatomy::annotate::{
    AnnotateError, AttachRule, Boundary, FiberOptions, Growth, Leaning, attach_all, end_nodes, fibers_between,
    lean_by_place,
};
use sinew_anatomy::field::DistanceField;
use sinew_geometry::fibers::Pennation;
use sinew_geometry::{Aabb, CellMesh, MeshField};
use sinew_math::Vec3;
use sinew_scene::recipe::tissue::{AttachedTo, Kind, LaplaceFibers, Tissue, TissueFibers};
use sinew_scene::{Diagnostic, Recipe};

use super::build::Bench;
use super::cache::KeyBuilder;
use super::cells::{SizedMesh, told};
use super::stage::{Made, Trouble};
use super::{field, morph};

/// Version of the stage.
const VERSION: u32 = 2;
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
    key = morph::add_inputs(bench, field::add_tendon_inputs(bench, index, key)?);
    bench.shop.make(&format!("annotate {}", tissue.name), key.finish(), || {
        let sized = bench.shop.get(mesh)?;
        let mesh = &sized.mesh;
        let fields = bones.iter().map(|bone| bench.shop.get(bone)).collect::<Result<Vec<_>, _>>()?;
        let solids: Vec<&dyn Solid> = fields.iter().map(|field| &**field as &dyn Solid).collect();
        let sets = attached(bench, index, mesh, &solids)?;
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
        if let Some(directions) = fibers(bench, index, mesh, &sets)? {
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
fn attached(bench: &Bench<'_>, index: usize, mesh: &CellMesh, bones: &[&dyn Solid]) -> Result<Vec<Vec<u32>>, Trouble> {
    let tissue = &bench.recipe.tissue[index];
    let morph = morph::of(bench)?;
    let near = |attach: &AttachedTo| {
        let places = |points: &[[f64; 3]]| points.iter().map(|p| morph::place(&morph, Vec3::from(*p))).collect();
        let [near, away] = [&attach.near, &attach.away].map(|points| places(points));
        (!attach.near.is_empty()).then_some(Places { near, away, radius: attach.radius })
    };
    let places: Vec<Option<Places>> = tissue.attach.iter().map(near).collect();
    let rules: Vec<AttachRule<'_>> = (tissue.attach.iter().zip(bones).zip(&places))
        .map(|((attach, bone), places)| AttachRule {
            muscle: &tissue.name,
            bone: &attach.bone,
            solid: *bone,
            within: attach.within,
            growth: if attach.grow > 0.0 { Growth::Distance(attach.grow) } else { Growth::None },
            only: places.as_ref().map(|balls| balls as &dyn Solid),
        })
        .collect();
    let found = attach_all(&Boundary::new(mesh), &rules);
    let found = found.map_err(|errors| told_first(bench, &format!("tissue[{index}].attach"), &errors))?;
    Ok(found.into_iter().map(|attachment| attachment.nodes).collect())
}

/// Balls of one radius around points, less what is nearer to other points.
struct Places {
    near: Vec<Vec3>,
    away: Vec<Vec3>,
    radius: f64,
}

impl Solid for Places {
    fn distance(&self, p: Vec3) -> f64 {
        let least = |points: &[Vec3]| points.iter().map(|q| (p - *q).norm()).fold(f64::INFINITY, f64::min);
        let near = least(&self.near);
        (near - self.radius).max(0.5 * (near - least(&self.away)))
    }

    fn bounds(&self) -> Aabb {
        Aabb::from_points(&self.near).grown(self.radius)
    }
}

/// The first of several problems.
fn told_first(bench: &Bench<'_>, path: &str, errors: &[AnnotateError]) -> Trouble {
    let text = errors.first().map(AnnotateError::to_string).unwrap_or_default();
    told(bench, path, &text)
}

/// Fiber directions of the cells; `None` for tissues without fibers.
fn fibers(bench: &Bench<'_>, index: usize, mesh: &CellMesh, sets: &[Vec<u32>]) -> Result<Option<Vec<Vec3>>, Trouble> {
    let tissue = &bench.recipe.tissue[index];
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
    let [mut from, mut to] = ends(tissue, &spec, sets);
    if spec.lengthwise {
        let reach = REACH * mean_edge(mesh);
        [from, to] = [end_nodes(mesh, &from, &to, reach), end_nodes(mesh, &to, &from, reach)];
    }
    let pennation = match spec.pennation {
        0.0 => Pennation::None,
        angle => Pennation::Towards { normal: Vec3::from(spec.lean), angle },
    };
    let options = FiberOptions { pennation, tolerance: TOLERANCE, ..FiberOptions::default() };
    let found = fibers_between(mesh, &from, &to, &options).map_err(|error| {
        let path = if tissue.fibers.is_some() { "fibers" } else { "attach" };
        told(bench, &format!("tissue[{index}].{path}"), &format!("{}: {error}", tissue.name))
    })?;
    let morph = morph::of(bench)?;
    let leanings = spec.leaning.iter().map(|leaning| Leaning {
        at: morph::place(&morph, Vec3::from(leaning.at)),
        toward: Vec3::from(leaning.lean),
        angle: leaning.pennation,
    });
    Ok(Some(lean_by_place(mesh, &found.directions, &leanings.collect::<Vec<_>>())))
}

/// Relative residual of potentials: directions are right to far less than a degree.
const TOLERANCE: f64 = 1e-7;

/// Around a node of an attachment the muscle is searched this far for what goes on beyond it \[mean edges\].
const REACH: f64 = 4.0;

/// Mean length of the edges of cells \[m\].
fn mean_edge(mesh: &CellMesh) -> f64 {
    // Six tetrahedra with edges of mean length l fill about 0.7 l³.
    (mesh.volume() / mesh.cell_count() as f64 * 8.5).cbrt()
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
