//! How much flesh lies between a bone and the skin over it.

use sinew_geometry::TriMesh;
use sinew_geometry::shape::Shape;
use sinew_math::Vec3;

use crate::force::Bone;
use crate::model::Model;
use crate::probe::{Probe, ProbeContext};

/// Sample points of a bone per cell, along its surface.
const PLACES_PER_CELL: f64 = 3.0;

/// Probe of the flesh over a bone \[m\]. `BODY.cover.NAME.depth` is the depth to which flesh or skin penetrates the
/// bone. Where the skin is within a cell of the bone at rest, `BODY.cover.NAME.min` is the minimum thickness of the
/// flesh over the bone (negative where the bone comes out of the skin), and `BODY.cover.NAME.growth` is the maximum
/// increase of this thickness from rest.
pub struct CoverProbe {
    /// Index among the bones of the model.
    bone: usize,
    /// Sample points on the bone, in its frame \[m\].
    places: Vec<Vec3>,
    /// Depth of each point below the skin at rest \[m\].
    rest: Vec<f64>,
}

impl CoverProbe {
    /// Creates the probe for a bone of the model.
    pub fn new(model: &Model, bone: usize) -> Self {
        let Bone { body, contact, .. } = bone_of(model, bone);
        let (owner, shape) = (&model.bodies[*body], &contact.shape.shape);
        let surfaces = skin(model, *body, owner.mesh.positions()).zip(shape.surface());
        let Some((skin, surface)) = surfaces else { return Self { bone, places: Vec::new(), rest: Vec::new() } };
        let samples = surface.samples(owner.cell_size() / PLACES_PER_CELL);
        let places: Vec<Vec3> = samples.into_iter().map(|(place, _)| shape.closest(place)).collect();
        let in_world: Vec<Vec3> = places.iter().map(|place| contact.shape.initial.to_world(*place)).collect();
        let depths = skin.depths(&in_world).into_iter().zip(places);
        let near = depths.filter(|(depth, _)| (0.0..=owner.cell_size()).contains(depth));
        let (rest, places) = near.unzip();
        Self { bone, places, rest }
    }
}

fn bone_of(model: &Model, bone: usize) -> &Bone {
    model.forces_of::<Bone>().nth(bone).expect("probes are made for bones that there are")
}

/// The skin of a body with its nodes at those positions; none where it has collapsed.
fn skin(model: &Model, body: usize, nodes: &[Vec3]) -> Option<TriMesh> {
    let surface = &model.bodies[body].surface;
    TriMesh::new(surface.positions(nodes), surface.triangles.clone()).ok()
}

impl Probe for CoverProbe {
    fn names(&self, model: &Model) -> Vec<String> {
        let bone = bone_of(model, self.bone);
        let parts = if self.places.is_empty() { &["depth"][..] } else { &["depth", "min", "growth"] };
        let body = &model.bodies[bone.body].name;
        parts.iter().map(|part| format!("{body}.cover.{}.{part}", bone.name)).collect()
    }

    fn evaluate(&self, ctx: &ProbeContext<'_>, out: &mut Vec<f64>) {
        let Bone { body, contact, .. } = bone_of(ctx.model, self.bone);
        let pose = ctx.state.history.collider_poses.get(contact.collider).copied().unwrap_or_default();
        let mut deepest = 0.0f64;
        contact.for_each_at(&pose, &ctx.state.positions, ctx.state.time, |_, distance, _, _| {
            deepest = deepest.max(-distance);
        });
        out.push(deepest);
        if self.places.is_empty() {
            return;
        }
        let nodes = &ctx.state.positions[ctx.model.bodies[*body].points.clone()];
        let Some(skin) = skin(ctx.model, *body, nodes) else {
            out.extend([f64::NAN; 2]);
            return;
        };
        let places: Vec<Vec3> = self.places.iter().map(|place| pose.to_world(*place)).collect();
        let depths = skin.depths(&places);
        let grown = depths.iter().zip(&self.rest).map(|(now, rest)| now - rest).fold(f64::NEG_INFINITY, f64::max);
        out.extend([depths.iter().copied().fold(f64::INFINITY, f64::min), grown]);
    }
}
