//! Feet that stay where they stand: how far the body sinks, and how far it goes ahead.

use sinew_math::Vec3;

use super::Angles;
use super::mannequin::{Bone, posed};
use crate::humanoid::{Role, Side, Slot};

/// Places of a sole: heel, ball and tip, from the joint that carries them while the body stands \[m\].
const SOLE: [(Role, Vec3); 3] = [
    (Role::Foot, Vec3::new(0.0, -0.085, -0.045)),
    (Role::Toes, Vec3::new(0.0, -0.020, 0.0)),
    (Role::Toes, Vec3::new(0.0, -0.020, 0.065)),
];

/// Ways of the hips that keep the lowest place of the soles on the floor, where it was a frame before.
pub(super) fn planted(bones: &[Bone], poses: &[Angles]) -> Vec<Vec3> {
    let mut carriers = Vec::new();
    for side in [Side::Left, Side::Right] {
        for (role, from) in SOLE {
            carriers.extend(bones.iter().position(|bone| bone.slot == Slot::new(role, side)).map(|bone| (bone, from)));
        }
    }
    let soles = |angles: &Angles| -> Vec<Vec3> {
        let pose = posed(bones, angles);
        carriers.iter().map(|&(bone, from)| pose[bone].0 + pose[bone].1.rotate(from)).collect()
    };
    let lowest = |soles: &[Vec3]| (0..soles.len()).min_by(|&a, &b| soles[a].y.total_cmp(&soles[b].y));
    let mut ways: Vec<Vec3> = Vec::with_capacity(poses.len());
    let mut before: Option<(Vec<Vec3>, usize)> = None;
    for angles in poses {
        let soles = soles(angles);
        let Some(contact) = lowest(&soles) else { return vec![Vec3::zero(); poses.len()] };
        let last = ways.last().copied().unwrap_or(Vec3::zero());
        let slide = before.as_ref().map_or(Vec3::zero(), |(old, contact)| old[*contact] - soles[*contact]);
        ways.push(Vec3::new(last.x + slide.x, -soles[contact].y, last.z + slide.z));
        before = Some((soles, contact));
    }
    ways
}
