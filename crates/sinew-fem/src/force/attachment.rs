//! Soft attachments: springs of zero rest length between points, or between points and moving targets.
//!
//! ```math
//! E = \tfrac{k}{2} \sum_s |x_a - y_s|^2,
//! ```
//! where y is another point, a weighted sum of points (an embedded point), or a target that control channels move.

use std::sync::Arc;

use sinew_math::{Mat3, Quaternion, Vec3};

use super::places::{add_flesh_points, anchor};
use super::{
    Assembly, AttachTarget, Force, ForceError, ForceParams, Hold, Linearized, NodeMap, Renumbered, RowBounds,
    StepContext,
};
use crate::control::{ChannelId, Control};
use crate::material::Tangent;

/// What is attached.
#[derive(Clone, Debug, PartialEq)]
pub enum AttachPoints {
    /// Nodes of the body.
    Nodes(Vec<u32>),
    /// Places in its flesh at rest \[m\].
    Places(Vec<Vec3>),
}

/// Springs from flesh to a target. Those to the world are moved by the channels `BODY.attach.NAME.translation.x`,
/// `….rotation.x`, and, if they stretch, `….deformation.xx` and so on.
#[derive(Clone, Debug)]
pub struct AttachmentParams {
    /// The body.
    pub body: usize,
    /// Name, unique among the attachments of the body.
    pub name: String,
    /// What is attached.
    pub points: AttachPoints,
    /// To what.
    pub target: AttachTarget,
    /// Stiffness of each spring \[N/m\].
    pub stiffness: Vec<f64>,
    /// Center of its rotation \[m\]; the mean of the points when `None`.
    pub pivot: Option<Vec3>,
    /// Whether channels also deform the targets in the world, before they turn them.
    pub stretches: bool,
}

impl AttachmentParams {
    /// Nodes by springs of total stiffness `stiffness` \[N/m\].
    pub fn nodes(body: usize, name: impl Into<String>, nodes: Vec<u32>, target: AttachTarget, stiffness: f64) -> Self {
        let stiffness = vec![stiffness / nodes.len().max(1) as f64; nodes.len()];
        Self {
            body,
            name: name.into(),
            points: AttachPoints::Nodes(nodes),
            target,
            stiffness,
            pivot: None,
            stretches: false,
        }
    }

    /// Points of the flesh between nodes, given by their places at rest \[m\], each by a spring of its own stiffness
    /// \[N/m\].
    pub fn places(body: usize, name: impl Into<String>, springs: Vec<(Vec3, f64)>, target: AttachTarget) -> Self {
        let (places, stiffness) = springs.into_iter().unzip();
        Self {
            body,
            name: name.into(),
            points: AttachPoints::Places(places),
            target,
            stiffness,
            pivot: None,
            stretches: false,
        }
    }
}

fn mean(places: &[Vec3]) -> Vec3 {
    places.iter().sum::<Vec3>() / places.len().max(1) as f64
}

/// The entries with a mark.
fn marked<'a, T>(list: &'a [T], marks: &'a [bool]) -> impl Iterator<Item = &'a T> {
    list.iter().zip(marks).filter_map(|(entry, &mark)| mark.then_some(entry))
}

impl ForceParams for AttachmentParams {
    fn assemble(&self, assembly: &mut dyn Assembly) -> Result<Box<dyn Force>, ForceError> {
        let body = assembly.body_name(self.body).to_string();
        let name = format!("{body}.attach.{}", self.name);
        let wrong = |reason| ForceError { body: body.clone(), key: "attach", name: self.name.clone(), reason };
        let (points, positions): (Vec<u32>, Vec<Vec3>) = match &self.points {
            AttachPoints::Nodes(nodes) => {
                let rest = assembly.mesh(self.body).positions();
                nodes.iter().map(|&node| (assembly.point(self.body, node), rest[node as usize])).unzip()
            }
            AttachPoints::Places(places) => {
                (add_flesh_points(assembly, self.body, places).map_err(wrong)?, places.clone())
            }
        };
        let anchors = anchor(assembly, self.target, &positions).map_err(wrong)?;
        let motion = (self.target == AttachTarget::World).then(|| {
            let channels = assembly.channels();
            let mut vector = |what: &str| channels.add_vector(&format!("{name}.{what}"), [0.0; 3]);
            let (translation, rotation) = (vector("translation"), vector("rotation"));
            let deformation = self.stretches.then(|| channels.add_matrix(&format!("{name}.deformation")));
            AttachmentMotion { translation, rotation, deformation }
        });
        let pivot = self.pivot.unwrap_or_else(|| mean(&positions));
        let springs = points.iter().zip(anchors).zip(&self.stiffness).map(|((&point, to), &stiffness)| {
            let anchor = if to.entries.is_empty() { Anchor::Place(to.rest) } else { Anchor::Points(to.entries) };
            SpringPoint { point, anchor, stiffness }
        });
        let springs = springs.collect();
        Ok(Box::new(Attachment { name, springs, motion, pivot }))
    }

    /// The center of rotation stays where it was.
    fn renumbered(&self, map: &dyn NodeMap) -> Option<Renumbered> {
        let (places, mut is_left): (Vec<Vec3>, Vec<bool>) = match &self.points {
            AttachPoints::Nodes(nodes) => {
                let left = |&node: &u32| (map.rest_position(self.body, node), map.node(self.body, node).is_some());
                nodes.iter().map(left).unzip()
            }
            AttachPoints::Places(places) => (places.clone(), map.places_left(self.body, places)),
        };
        if let AttachTarget::Body(target) = self.target {
            is_left.iter_mut().zip(map.places_left(target, &places)).for_each(|(left, other)| *left &= other);
        }
        let points = match &self.points {
            AttachPoints::Nodes(nodes) => {
                let new = marked(nodes, &is_left).filter_map(|&node| map.node(self.body, node));
                AttachPoints::Nodes(new.collect())
            }
            AttachPoints::Places(places) => AttachPoints::Places(marked(places, &is_left).copied().collect()),
        };
        let stiffness: Vec<f64> = marked(&self.stiffness, &is_left).copied().collect();
        Some(Renumbered {
            body: self.body,
            kind: "attachment",
            name: self.name.clone(),
            things: "springs",
            lost: self.stiffness.len() - stiffness.len(),
            count: self.stiffness.len(),
            needs_some: false,
            params: Arc::new(Self { points, stiffness, pivot: self.pivot.or(Some(mean(&places))), ..self.clone() }),
        })
    }

    fn rank(&self) -> u8 {
        0
    }
}

/// The other end of a spring.
#[derive(Clone, Debug, PartialEq)]
pub enum Anchor {
    /// A weighted sum of points; one point with weight 1 in the simplest case.
    Points(Vec<(u32, f64)>),
    /// A position in space that moves with the attachment's channels.
    Place(Vec3),
}

/// One spring.
#[derive(Clone, Debug, PartialEq)]
pub struct SpringPoint {
    /// The attached point.
    pub point: u32,
    /// The other end.
    pub anchor: Anchor,
    /// Stiffness \[N/m\].
    pub stiffness: f64,
}

/// Channels that move targets in space, about the pivot of the attachment.
#[derive(Clone, Copy, Debug)]
pub struct AttachmentMotion {
    /// Translation \[m\].
    pub translation: [ChannelId; 3],
    /// Rotation vector \[rad\].
    pub rotation: [ChannelId; 3],
    /// Linear map before the rotation; `None` for the identity.
    pub deformation: Option<[[ChannelId; 3]; 3]>,
}

/// A group of springs that belong together.
pub struct Attachment {
    /// Name in reports.
    pub name: String,
    /// The springs.
    pub springs: Vec<SpringPoint>,
    /// What moves targets in space.
    pub motion: Option<AttachmentMotion>,
    /// Center of rotation and deformation.
    pub pivot: Vec3,
}

/// Values of [`AttachmentMotion`] at one time.
struct Placement {
    translation: Vec3,
    rotation: Quaternion,
    deformation: Option<Mat3>,
}

impl Attachment {
    fn pose(&self, ctx: &StepContext<'_>) -> Placement {
        match self.motion {
            Some(AttachmentMotion { translation, rotation, deformation }) => Placement {
                translation: ctx.control.vector(translation),
                rotation: Quaternion::exp_map(ctx.control.vector(rotation)),
                deformation: deformation.map(|channels| ctx.control.matrix(channels)),
            },
            None => Placement { translation: Vec3::zero(), rotation: Quaternion::identity(), deformation: None },
        }
    }

    fn gap(&self, spring: &SpringPoint, x: &[Vec3], pose: &Placement) -> Vec3 {
        let end = match &spring.anchor {
            Anchor::Points(entries) => entries.iter().fold(Vec3::zero(), |sum, &(p, w)| sum + x[p as usize] * w),
            Anchor::Place(place) => {
                let arm = *place - self.pivot;
                let arm = pose.deformation.map_or(arm, |deformation| deformation * arm);
                self.pivot + pose.rotation.rotate(arm) + pose.translation
            }
        };
        x[spring.point as usize] - end
    }
}

impl Force for Attachment {
    fn name(&self) -> &str {
        &self.name
    }

    fn potential(&self, x: &[Vec3], ctx: &StepContext<'_>) -> Option<f64> {
        let pose = self.pose(ctx);
        Some(self.springs.iter().map(|s| 0.5 * s.stiffness * self.gap(s, x, &pose).norm_squared()).sum())
    }

    fn add_gradient(&self, x: &[Vec3], ctx: &StepContext<'_>, gradient: &mut [Vec3]) {
        let pose = self.pose(ctx);
        for spring in &self.springs {
            let force = self.gap(spring, x, &pose) * spring.stiffness;
            gradient[spring.point as usize] += force;
            if let Anchor::Points(entries) = &spring.anchor {
                for &(p, w) in entries {
                    gradient[p as usize] -= force * w;
                }
            }
        }
    }

    fn linearize(&self, _x: &[Vec3], _ctx: &StepContext<'_>, _tangent: Tangent, out: &mut Linearized) {
        for spring in &self.springs {
            let k = Mat3::identity() * spring.stiffness;
            out.add(spring.point, spring.point, k);
            if let Anchor::Points(entries) = &spring.anchor {
                for &(p, w) in entries {
                    out.add(spring.point, p, k * -w);
                    out.add(p, spring.point, k * -w);
                    for &(r, v) in entries {
                        out.add(p, r, k * (w * v));
                    }
                }
            }
        }
    }

    fn couplings(&self) -> Vec<(u32, u32)> {
        let mut pairs = Vec::new();
        for spring in &self.springs {
            if let Anchor::Points(entries) = &spring.anchor {
                for &(p, _) in entries {
                    pairs.push((spring.point, p));
                    pairs.extend(entries.iter().map(|&(r, _)| (p, r)));
                }
            }
        }
        pairs
    }

    fn hold(&self) -> Hold {
        let to_places = self.springs.iter().filter(|spring| matches!(spring.anchor, Anchor::Place(_)));
        Hold::Points(to_places.map(|spring| spring.point).collect())
    }

    /// The rows of w wᵀ sum to w for weights that sum to one, and those of a spring between two such points to twice
    /// that.
    fn add_row_bounds(&self, _x: &[Vec3], _control: &Control, bounds: &mut RowBounds<'_>) {
        for spring in &self.springs {
            match &spring.anchor {
                Anchor::Place(_) => bounds.stiffness[spring.point as usize] += spring.stiffness,
                Anchor::Points(carriers) => {
                    bounds.stiffness[spring.point as usize] += 2.0 * spring.stiffness;
                    for &(point, weight) in carriers {
                        bounds.stiffness[point as usize] += 2.0 * spring.stiffness * weight.abs();
                    }
                }
            }
        }
    }
}
