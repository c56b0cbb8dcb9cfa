//! A plain human skeleton, 1.75 m tall, and its animation from a script.

use sinew_math::{Quaternion, Vec3};

use super::anatomy::rotation;
use super::plant::planted;
use super::{Angles, Script};
use crate::animation::{Animation, Channel, Interpolation, Keys};
use crate::humanoid::{Finger, Role, Side, Slot};
use crate::rig::{Node, Rig, Transform};

/// Joints of the spine of the mannequin.
const SPINE: u8 = 3;

/// Why a script cannot be performed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MannequinError {
    /// It has no pose.
    #[error("the motion has no pose")]
    Empty,
}

/// A joint of the mannequin: what it is, its parent, and its place while arms hang \[m\].
pub(super) struct Bone {
    pub slot: Slot,
    pub parent: Option<usize>,
    pub place: Vec3,
}

/// All joints, parents first.
pub(super) fn bones() -> Vec<Bone> {
    let v = Vec3::new;
    let mut bones: Vec<Bone> = Vec::new();
    let mut add = |slot: Slot, parent: Option<Slot>, place: Vec3| {
        let parent = parent.and_then(|parent| bones.iter().position(|bone| bone.slot == parent));
        bones.push(Bone { slot, parent, place });
    };
    let middle = Slot::middle;
    add(middle(Role::Hips), None, v(0.0, 0.95, 0.0));
    for (k, (height, front)) in [(1.04, -0.01), (1.16, -0.015), (1.29, -0.02)].into_iter().enumerate() {
        let below = if k == 0 { Role::Hips } else { Role::Spine(k as u8 - 1) };
        add(middle(Role::Spine(k as u8)), Some(middle(below)), v(0.0, height, front));
    }
    add(middle(Role::Neck(0)), Some(middle(Role::Spine(SPINE - 1))), v(0.0, 1.47, -0.02));
    add(middle(Role::Head), Some(middle(Role::Neck(0))), v(0.0, 1.56, 0.0));
    add(middle(Role::Jaw), Some(middle(Role::Head)), v(0.0, 1.59, 0.02));
    for side in [Side::Left, Side::Right] {
        let at = |x: f64, y: f64, z: f64| v(if side == Side::Right { -x } else { x }, y, z);
        let slot = |role| Slot::new(role, side);
        add(slot(Role::Clavicle), Some(middle(Role::Spine(SPINE - 1))), at(0.025, 1.42, 0.0));
        add(slot(Role::UpperArm), Some(slot(Role::Clavicle)), at(0.18, 1.42, -0.02));
        add(slot(Role::Forearm), Some(slot(Role::UpperArm)), at(0.18, 1.13, -0.02));
        add(slot(Role::Hand), Some(slot(Role::Forearm)), at(0.18, 0.87, -0.02));
        for (finger, knuckle, front, lengths) in [
            (Finger::Index, 0.095, 0.027, [0.042, 0.025, 0.020]),
            (Finger::Middle, 0.098, 0.005, [0.046, 0.029, 0.021]),
            (Finger::Ring, 0.092, -0.016, [0.043, 0.027, 0.021]),
            (Finger::Little, 0.082, -0.036, [0.034, 0.020, 0.018]),
        ] {
            let mut place = at(0.18, 0.87 - knuckle, front - 0.02);
            let mut parent = slot(Role::Hand);
            for (k, length) in lengths.into_iter().enumerate() {
                let own = slot(Role::Finger(finger, k as u8 + 1));
                add(own, Some(parent), place);
                place -= Vec3::unit(1) * length;
                parent = own;
            }
        }
        let mut place = at(0.17, 0.845, 0.005);
        let mut parent = slot(Role::Hand);
        let along = at(-0.30, -0.72, 0.62).normalized();
        for (k, length) in [0.045, 0.034, 0.027].into_iter().enumerate() {
            let own = slot(Role::Finger(Finger::Thumb, k as u8 + 1));
            add(own, Some(parent), place);
            place += along * length;
            parent = own;
        }
        add(slot(Role::Thigh), Some(middle(Role::Hips)), at(0.09, 0.92, 0.0));
        add(slot(Role::Shin), Some(slot(Role::Thigh)), at(0.09, 0.50, 0.0));
        add(slot(Role::Foot), Some(slot(Role::Shin)), at(0.09, 0.085, -0.01));
        add(slot(Role::Toes), Some(slot(Role::Foot)), at(0.10, 0.02, 0.12));
    }
    bones
}

/// Angles of the T-pose. Elbows are a little bent, so that it is clear how they bend.
fn rest_angles() -> Angles {
    let mut angles = Angles::new();
    for side in [Side::Left, Side::Right] {
        angles.insert(Slot::new(Role::UpperArm, side), [0.0, 90.0, 0.0]);
        angles.insert(Slot::new(Role::Forearm, side), [6.0, 0.0, 0.0]);
    }
    angles
}

/// Rotation of a bone against its parent in a pose.
pub(super) fn local(bone: &Bone, angles: &Angles) -> Quaternion {
    angles.get(&bone.slot).map_or(Quaternion::identity(), |own| rotation(bone.slot, *own))
}

/// Places and rotations of all bones in a pose, with the hips at their place.
pub(super) fn posed(bones: &[Bone], angles: &Angles) -> Vec<(Vec3, Quaternion)> {
    let mut posed: Vec<(Vec3, Quaternion)> = Vec::with_capacity(bones.len());
    for bone in bones {
        let own = local(bone, angles);
        posed.push(match bone.parent {
            Some(parent) => {
                let (place, turn) = posed[parent];
                (place + turn.rotate(bone.place - bones[parent].place), (turn * own).normalized())
            }
            None => (bone.place, own),
        });
    }
    posed
}

/// The mannequin in its T-pose, with the script as its only animation.
///
/// # Errors
/// When the script has no pose.
pub fn perform(script: &Script) -> Result<Rig, MannequinError> {
    if script.times.is_empty() || script.times.len() != script.poses.len() {
        return Err(MannequinError::Empty);
    }
    let bones = bones();
    let rest = rest_angles();
    let ways = if script.is_planted { planted(&bones, &script.poses) } else { vec![Vec3::zero(); script.poses.len()] };
    let node = |bone: &Bone| {
        let above = bone.parent.map_or(Vec3::zero(), |parent| bones[parent].place);
        let transform = Transform::Parts {
            translation: bone.place - above,
            rotation: local(bone, &rest),
            scale: Vec3::new(1.0, 1.0, 1.0),
        };
        Node {
            // Names that are understood again: `leftForearm`, `leftIndex2`.
            name: bone.slot.name(),
            parent: bone.parent,
            transform,
            surface: None,
            skin: None,
            morph_weights: None,
            is_shown: true,
        }
    };
    let channel = |node: usize, keys: Keys| Channel {
        node,
        times: script.times.clone(),
        interpolation: Interpolation::Linear,
        keys,
    };
    let mut channels = vec![channel(0, Keys::Translation(ways.iter().map(|way| bones[0].place + *way).collect()))];
    for (node, bone) in bones.iter().enumerate() {
        let keys = script.poses.iter().map(|angles| local(bone, angles)).map(|q| [q.w, q.x, q.y, q.z]).collect();
        channels.push(channel(node, Keys::Rotation(keys)));
    }
    let animation = Animation { name: script.name.clone(), channels };
    Ok(Rig { nodes: bones.iter().map(node).collect(), animations: vec![animation], ..Rig::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::humanoid::Humanoid;

    /// Its own names are understood, joint by joint.
    #[test]
    fn the_mannequin_is_a_human() {
        let script = Script { times: vec![0.0], poses: vec![Angles::new()], ..Script::default() };
        let rig = perform(&script).unwrap();
        let humanoid = Humanoid::of(&rig);
        for (node, bone) in bones().iter().enumerate() {
            assert_eq!(humanoid.slot_of(node), Some(bone.slot), "{}", rig.nodes[node].name);
        }
        let pose = rig.pose(None, 0.0);
        let hand = humanoid.node(Role::Hand, Side::Right).unwrap();
        assert!(pose[hand].translation.x < -0.7 && (pose[hand].translation.y - 1.42).abs() < 1e-6, "a T-pose");
    }
}
