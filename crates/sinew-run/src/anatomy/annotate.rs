//! Stage `annotate`: where a tissue is attached to bones, which of its cells are tendon, and where its fibers run.

use sinew_anatomy::Solid;
use sinew_anatomy::annotate::{AnnotateError, AttachRule, Boundary, Growth, attach_all};
use sinew_anatomy::field::DistanceField;
use sinew_geometry::{Aabb, CellMesh, MeshField};
use sinew_math::Vec3;
use sinew_scene::recipe::tissue::{AttachedTo, Tissue};
use sinew_scene::{Diagnostic, Recipe};

use super::build::Bench;
use super::cache::KeyBuilder;
use super::cells::{SizedMesh, told};
use super::stage::{Made, Trouble};
use super::{fibers, morph, parts};

/// Version of the stage.
const VERSION: u32 = 2;
/// Name of the field of fiber directions.
pub(super) const FIBER: &str = "fiber";

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
    key = parts::add_inputs(bench, index, smooth, key)?;
    key = morph::add_inputs(bench, fibers::add_inputs(bench, index, key)?);
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
        made = parts::with_sets(bench, index, made, smooth)?;
        if let Some(directions) = fibers::make(bench, index, mesh, sized.cell, &sets, smooth)? {
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
