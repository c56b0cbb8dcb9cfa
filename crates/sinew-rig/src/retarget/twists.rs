//! Joints that share out the roll of a limb along its length.
//!
//! With a the axis of a bone at rest and R its rotation relative to the joint above it, the roll is the rotation W about
//! a in R = S W, with S about an axis across a (swing and twist \[Dobrowolski15\]); that of a hand or foot relative to its
//! bone is V. A joint at a fraction t of the bone turns as S Wᵗ Vᵗ: with the joint above at one end, with the hand at the
//! other.

use sinew_math::{Quaternion, Vec3};

use super::pairs::{Pair, is_joint};
use super::skeleton::Skeleton;
use crate::humanoid::{Role, is_twist};

/// A joint that takes a part of the roll of a limb.
pub(super) struct Twist {
    pub node: usize,
    /// The pair of the bone that it lies on.
    pub bone: usize,
    /// The pair at the end of the bone, if that can roll: a hand or a foot.
    pub end: Option<usize>,
    /// Axis of the bone at rest, in the world.
    axis: Vec3,
    /// Place on the bone, from 0 to 1.
    share: f64,
}

/// The twist joints of a target.
pub(super) fn find(target: &Skeleton, pairs: &[Pair]) -> Vec<Twist> {
    let pair_of = |node: usize| pairs.iter().position(|pair| pair.target == node);
    let twist = |node: usize| {
        let mut above = target.parent[node]?;
        while target.humanoid.slot_of(above).is_none() {
            above = target.parent[above]?;
        }
        let slot = target.humanoid.slot_of(above)?;
        let end = match slot.role {
            Role::UpperArm | Role::Thigh => None,
            Role::Forearm => Some(Role::Hand),
            Role::Shin => Some(Role::Foot),
            _ => return None,
        };
        let end = end.and_then(|role| pair_of(target.humanoid.node(role, slot.side)?));
        let along = target.along(slot.role, slot.side)?;
        let share = ((target.place(node) - target.place(above)).dot(along) / along.norm_squared()).clamp(0.0, 1.0);
        Some(Twist { node, bone: pair_of(above)?, end, axis: along.normalized(), share })
    };
    let is_one =
        |&node: &usize| is_twist(&target.rig.nodes[node].name) && is_joint(target, node) && pair_of(node).is_none();
    target.order.iter().copied().filter(is_one).filter_map(twist).collect()
}

impl Twist {
    /// Its rotation from rest in the world: `own` are those of pairs, `above` that of the joint that carries the bone.
    pub fn turn(&self, own: &[Quaternion], above: Quaternion) -> Quaternion {
        let bone = own[self.bone];
        let back = about(above.conjugate() * bone, self.axis, self.share - 1.0);
        let ahead = self.end.map(|end| about(bone.conjugate() * own[end], self.axis, self.share));
        (bone * back * ahead.unwrap_or_else(Quaternion::identity)).normalized()
    }
}

/// A part of the roll of a rotation about an axis, at most half a turn.
fn about(rotation: Quaternion, axis: Vec3, part: f64) -> Quaternion {
    let (w, along) = (rotation.w, rotation.vector().dot(axis));
    let (w, along) = if w < 0.0 { (-w, -along) } else { (w, along) };
    // Half a turn across the axis has no roll.
    if w.hypot(along) < 1e-9 {
        return Quaternion::identity();
    }
    Quaternion::from_axis_angle(axis, 2.0 * part * along.atan2(w))
}
