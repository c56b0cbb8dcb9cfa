//! Soft attachments: springs of zero rest length between points, or between points and moving targets.
//!
//! $$E = \tfrac{k}{2} \sum_s |x_a - y_s|^2,$$
//! where y is another point, a weighted sum of points (an embedded point), or a target that control channels move.

use sinew_math::{Mat3, Quaternion, Vec3};

use super::{Force, Linearized, StepContext};
use crate::control::ChannelId;
use crate::material::Tangent;

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

/// A group of springs that belong together.
pub struct Attachment {
    /// Name in reports.
    pub name: String,
    /// The springs.
    pub springs: Vec<SpringPoint>,
    /// Translation \[m\] and rotation vector \[rad\] of targets in space, about `pivot`.
    pub motion: Option<([ChannelId; 3], [ChannelId; 3])>,
    /// Center of the rotation.
    pub pivot: Vec3,
}

impl Attachment {
    fn pose(&self, ctx: &StepContext<'_>) -> (Vec3, Quaternion) {
        match self.motion {
            Some((translation, rotation)) => {
                (ctx.control.vector(translation), Quaternion::exp_map(ctx.control.vector(rotation)))
            }
            None => (Vec3::zero(), Quaternion::identity()),
        }
    }

    fn gap(&self, spring: &SpringPoint, x: &[Vec3], pose: &(Vec3, Quaternion)) -> Vec3 {
        let end = match &spring.anchor {
            Anchor::Points(entries) => entries.iter().fold(Vec3::zero(), |sum, &(p, w)| sum + x[p as usize] * w),
            Anchor::Place(place) => self.pivot + pose.1.rotate(*place - self.pivot) + pose.0,
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
}
