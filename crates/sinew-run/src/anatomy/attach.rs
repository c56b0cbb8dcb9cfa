//! Stage `attach`: where the surface of a tissue is attached to bones.

use sinew_anatomy::Solid;
use sinew_anatomy::annotate::{AnnotateError, AttachRule, Boundary, Growth, Outline, attach_all};
use sinew_anatomy::field::DistanceField;
use sinew_geometry::{Aabb, CellMesh, TriMesh};
use sinew_math::Vec3;
use sinew_scene::recipe::model::ModelTissue;
use sinew_scene::recipe::tissue::{AttachedTo, Tissue};
use sinew_scene::{Diagnostic, Recipe};

use super::build::Bench;
use super::cache::KeyBuilder;
use super::cells::{SizedMesh, told};
use super::morph;
use super::stage::{Made, Trouble};
use super::stored::{Reader, Stored, Writer};

/// Version of the stage.
const VERSION: u32 = 2;

/// The attachments of a tissue, in the order of the recipe.
pub(super) struct Attached {
    /// Nodes of each.
    pub sets: Vec<Vec<u32>>,
    /// Corners of the triangles of each, one after the other: within outlines they are cut.
    corners: Vec<Vec<Vec3>>,
}

impl Attached {
    /// The triangles of an attachment; `None` if it has nodes only.
    pub fn surface(&self, k: usize) -> Option<TriMesh> {
        let positions = self.corners.get(k)?.clone();
        let triangles = (0..positions.len() as u32 / 3).map(|i| [3 * i, 3 * i + 1, 3 * i + 2]).collect::<Vec<_>>();
        TriMesh::new(positions, triangles).ok().filter(|surface| surface.triangle_count() > 0)
    }

    /// Areas and files of the attachments, told with the facts of the tissue.
    pub fn describe(&self, tissue: &Tissue, facts: &mut ModelTissue) {
        for (k, attach) in tissue.attach.iter().enumerate() {
            let found = facts.attach.iter_mut().find(|found| found.name == attach.name);
            if let (Some(found), Some(surface)) = (found, self.surface(k)) {
                found.area = surface.area();
                found.surface = Some(format!("attach/{}.{}.ply", tissue.name, attach.name));
            }
        }
    }
}

impl Stored for Attached {
    fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.count(self.sets.len());
        for (nodes, corners) in self.sets.iter().zip(&self.corners) {
            out.indices(nodes);
            out.points(corners);
        }
        out.0
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut input = Reader(bytes);
        let count = input.count()?;
        let both: Vec<_> = (0..count).map(|_| Some((input.indices()?, input.points()?))).collect::<Option<_>>()?;
        let (sets, corners) = both.into_iter().unzip();
        Some(Self { sets, corners })
    }
}

/// The attachments of a tissue.
pub(super) fn make(
    bench: &Bench<'_>,
    index: usize,
    mesh: &Made<SizedMesh>,
    shapes: &[Result<Made<DistanceField>, Diagnostic>],
) -> Result<Made<Attached>, Trouble> {
    let tissue = &bench.recipe.tissue[index];
    let bones = bones_of(bench, index, shapes)?;
    let part = Tissue { name: "tissue".into(), attach: tissue.attach.clone(), ..Tissue::default() };
    let key = KeyBuilder::new("attach", VERSION).input(mesh.digest).text(&Recipe::words_of_tissue(&part));
    let key = morph::add_inputs(bench, bones.iter().fold(key, |key, bone| key.input(bone.digest)));
    bench.shop.make(&format!("attach {}", tissue.name), key.finish(), || {
        let fields = bones.iter().map(|bone| bench.shop.get(bone)).collect::<Result<Vec<_>, _>>()?;
        let fields: Vec<&DistanceField> = fields.iter().map(|field| &**field).collect();
        attached(bench, index, &bench.shop.get(mesh)?.mesh, &fields)
    })
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

/// Each attachment: on the surface, near the bone and near the points, if some are given, and within the outline, if there
/// is one. What fits several belongs to the one whose bone is nearest, so that no node is held twice.
fn attached(bench: &Bench<'_>, index: usize, mesh: &CellMesh, bones: &[&DistanceField]) -> Result<Attached, Trouble> {
    let tissue = &bench.recipe.tissue[index];
    let morph = morph::of(bench)?;
    let placed = |points: &[[f64; 3]]| points.iter().map(|p| morph::place(&morph, Vec3::from(*p))).collect();
    let near = |attach: &AttachedTo| {
        let [near, away] = [&attach.near, &attach.away].map(|points| placed(points));
        (!attach.near.is_empty()).then_some(Places { near, away, radius: attach.radius })
    };
    let places: Vec<Option<Places>> = tissue.attach.iter().map(near).collect();
    let drawn = |(attach, bone): (&AttachedTo, &&DistanceField)| {
        let curves: Vec<Vec<Vec3>> = attach.outline.iter().map(|curve| placed(curve)).collect();
        (!curves.is_empty()).then(|| outline(attach, &curves, bone))
    };
    let outlines: Vec<Option<Outline>> = tissue.attach.iter().zip(bones).map(drawn).collect();
    let rules: Vec<AttachRule<'_>> = (tissue.attach.iter().zip(bones).zip(places.iter().zip(&outlines)))
        .map(|((attach, bone), (places, outline))| AttachRule {
            muscle: &tissue.name,
            bone: &attach.bone,
            solid: *bone,
            within: attach.within,
            growth: if attach.grow > 0.0 { Growth::Distance(attach.grow) } else { Growth::None },
            only: places.as_ref().map(|balls| balls as &dyn Solid),
            outline: outline.as_ref(),
        })
        .collect();
    let found = attach_all(&Boundary::new(mesh), &rules);
    let found = found.map_err(|errors| told_first(bench, &format!("tissue[{index}].attach"), &errors))?;
    let both = found.into_iter().map(|found| (found.nodes, found.surface.into_flattened()));
    let (sets, corners) = both.unzip();
    Ok(Attached { sets, corners })
}

/// Curves of an attachment on its bone.
pub(super) fn outline(attach: &AttachedTo, curves: &[Vec<Vec3>], bone: &DistanceField) -> Outline {
    Outline::new(bone, curves, 0.5 * bone.voxel(), 2.0 * attach.within.max(bone.voxel()))
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
