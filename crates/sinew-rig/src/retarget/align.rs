//! Rotations that bring the rest pose of the target into that of the source.

use sinew_math::{Mat3, Quaternion, Vec3};

use super::pairs::Pair;
use super::skeleton::{Skeleton, rotation_of};
use crate::humanoid::{Role, Side, Slot};

/// Sine of the least bend at rest that tells the axis of an elbow: 4 degrees.
const BENT: f64 = 0.07;

/// The shortest rotation from one vector to another; half a turn about any axis between opposite ones.
pub(super) fn shortest(from: Vec3, to: Vec3) -> Quaternion {
    let (from, to) = (from.normalized(), to.normalized());
    let w = 1.0 + from.dot(to);
    if w > 1e-9 {
        return Quaternion::from_parts(w, from.cross(to)).normalized();
    }
    let axis = from.cross(Vec3::unit(if from.x.abs() < 0.6 { 0 } else { 1 }));
    Quaternion::from_parts(0.0, axis.normalized())
}

/// The rotation that takes one direction to another, and a second one as near as it can to its partner; `None` if they
/// are parallel.
fn framed(from: [Vec3; 2], to: [Vec3; 2]) -> Option<Quaternion> {
    let frame = |[along, side]: [Vec3; 2]| {
        let along = along.normalized();
        let across = along.cross(side);
        (across.norm() > 0.05 * side.norm()).then(|| {
            let across = across.normalized();
            Mat3::from_columns(along, across, along.cross(across))
        })
    };
    Some(rotation_of(&(frame(to)? * frame(from)?.transpose())))
}

/// The rotation of the source into the world of the target: between their bodies, or between their first limbs.
pub(super) fn between_bodies(target: &Skeleton, source: &Skeleton, pairs: &[Pair]) -> Quaternion {
    if let (Some(of_target), Some(of_source)) = (target.body_frame(), source.body_frame()) {
        return rotation_of(&(of_target * of_source.transpose()));
    }
    // glTF characters stand along y and look along z.
    let upright = source.body_frame().map_or(Quaternion::identity(), |frame| rotation_of(&frame.transpose()));
    let limb = pairs.iter().find_map(|pair| {
        let slot = pair.slot?;
        Some((slot, limb_vectors(target, slot)?, limb_vectors(source, slot)?))
    });
    let Some((_, of_target, of_source)) = limb else { return upright };
    let turned = |vector: Vec3| upright.rotate(vector);
    let exact = match (of_target.1, of_source.1) {
        (Some(a), Some(b)) => framed([turned(of_source.0), turned(b)], [of_target.0, a]),
        _ => None,
    };
    exact.unwrap_or_else(|| shortest(turned(of_source.0), of_target.0)) * upright
}

/// Direction of a limb and, if known, a second direction that turns with it.
fn limb_vectors(skeleton: &Skeleton, slot: Slot) -> Option<(Vec3, Option<Vec3>)> {
    let Slot { role, side } = slot;
    let along = skeleton.along(role, side)?;
    let second = match role {
        Role::UpperArm => skeleton.elbow_axis(side, BENT),
        // The bones of the forearm turn with the hand.
        Role::Forearm | Role::Hand => skeleton.across_palm(side),
        _ => None,
    };
    Some((along, second))
}

/// The rotation of each pair, and those whose bones have no length.
pub(super) fn rest_alignments(
    target: &Skeleton,
    source: &Skeleton,
    pairs: &[Pair],
    turned: Quaternion,
) -> Vec<Quaternion> {
    let mut of_node: Vec<Quaternion> = vec![Quaternion::identity(); target.rest.len()];
    let pair_of = |node: usize| pairs.iter().position(|pair| pair.target == node);
    let mut alignments = vec![Quaternion::identity(); pairs.len()];
    for &node in &target.order {
        let above = target.parent[node].map_or(Quaternion::identity(), |parent| of_node[parent]);
        of_node[node] = above;
        let Some(number) = pair_of(node) else { continue };
        of_node[node] = match pairs[number].slot {
            Some(slot) if is_upright(slot.role) => Quaternion::identity(),
            Some(slot) => limb_alignment(target, source, slot, turned, above).unwrap_or(above),
            None => above,
        };
        alignments[number] = of_node[node];
    }
    alignments
}

/// Joints whose directions at rest are a matter of modelling: what stands upright, and feet, which stand on the floor.
fn is_upright(role: Role) -> bool {
    matches!(
        role,
        Role::Hips
            | Role::Spine(_)
            | Role::Neck(_)
            | Role::Head
            | Role::Jaw
            | Role::Eye
            | Role::Clavicle
            | Role::Foot
            | Role::Toes
    )
}

fn limb_alignment(
    target: &Skeleton,
    source: &Skeleton,
    slot: Slot,
    turned: Quaternion,
    above: Quaternion,
) -> Option<Quaternion> {
    let Slot { role, side } = slot;
    let from = target.along(role, side)?;
    let to = turned.rotate(source.along(role, side)?);
    let second = |skeleton: &Skeleton, side: Side| match role {
        Role::UpperArm => skeleton.elbow_axis(side, BENT),
        Role::Hand => skeleton.across_palm(side),
        _ => None,
    };
    if let (Some(a), Some(b)) = (second(target, side), second(source, side))
        && let Some(exact) = framed([from, a], [to, turned.rotate(b)])
    {
        return Some(exact);
    }
    Some((shortest(above.rotate(from), to) * above).normalized())
}
