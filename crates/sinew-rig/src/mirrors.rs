//! Joints that are mirrored against the pose in which the skin was bound: flesh cannot be turned inside out, so they
//! lose their mirroring.

use std::collections::BTreeSet;

use sinew_math::{Mat3, Vec3};

use crate::animation::{Animation, Keys};
use crate::flesh::Flesh;
use crate::rig::{Rig, Transform};

/// Joints whose motion from rest has a smaller determinant are mirrored: those of less are flat.
const MIRRORED: f64 = -1e-6;
/// Most poses that are looked at.
const LOOKS: usize = 300;

impl Rig {
    /// Makes scales positive that mirror joints against the pose in which the skin was bound, in the nodes and in all
    /// animations, and returns the names of these joints and of those that they carry.
    pub fn unmirror(&mut self, flesh: &Flesh, animation: Option<&Animation>) -> Vec<String> {
        let times: Vec<f64> =
            animation.into_iter().flat_map(|a| &a.channels).flat_map(|channel| channel.times.iter().copied()).collect();
        let step = times.len().div_ceil(LOOKS).max(1);
        let mut poses = vec![self.pose(None, 0.0)];
        poses.extend(times.iter().step_by(step).map(|&time| self.pose(animation, time)));
        let mut mirrored: BTreeSet<usize> = BTreeSet::new();
        for pose in &poses {
            let factors = flesh.volume_factors(pose);
            mirrored.extend((0..factors.len()).filter(|&joint| factors[joint] < MIRRORED));
        }
        // A joint mirrors what it carries: only the uppermost ones have the scale.
        let mut changed: BTreeSet<usize> = BTreeSet::new();
        for &joint in &mirrored {
            let above = flesh.joints[joint].parent;
            if above.is_some_and(|above| mirrored.contains(&above)) {
                continue;
            }
            let end = above.map(|above| flesh.joints[above].node);
            let mut at = Some(flesh.joints[joint].node);
            while let Some(node) = at.filter(|&node| Some(node) != end && changed.insert(node)) {
                at = self.nodes[node].parent;
            }
        }
        for &node in &changed {
            match &mut self.nodes[node].transform {
                Transform::Parts { scale, .. } => *scale = positive(*scale),
                Transform::Matrix(map) if map.linear.determinant() < 0.0 => {
                    map.linear = map.linear * Mat3::diagonal(Vec3::new(-1.0, 1.0, 1.0));
                }
                Transform::Matrix(_) => {}
            }
        }
        let channels = self.animations.iter_mut().flat_map(|animation| &mut animation.channels);
        for channel in channels.filter(|channel| changed.contains(&channel.node)) {
            if let Keys::Scale(keys) = &mut channel.keys {
                keys.iter_mut().for_each(|scale| *scale = positive(*scale));
            }
        }
        mirrored.into_iter().map(|joint| flesh.joints[joint].name.clone()).collect()
    }
}

/// A scale without its mirroring. Two negative factors are half a turn, which stays.
fn positive(scale: Vec3) -> Vec3 {
    if scale.x * scale.y * scale.z < 0.0 { scale.map(f64::abs) } else { scale }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::characters::{Character, CharacterParams, generate};
    use crate::flesh::FleshParams;

    /// A hand that is mirrored by its node, or only from some key on, moves as that of the plain arm; a whole character
    /// that was bound as a mirror image keeps its scale.
    #[test]
    fn joints_lose_what_mirrors_them_since_the_bind() {
        let plain = generate(&CharacterParams { edge: 0.04, ..CharacterParams::of(Character::Arm) }).unwrap();
        let wrist = plain.nodes.iter().position(|node| node.name == "wrist").unwrap();
        let mirror = Vec3::new(-1.0, 1.0, 1.0);
        let mut by_node = plain.clone();
        if let Transform::Parts { scale, .. } = &mut by_node.nodes[wrist].transform {
            *scale = mirror;
        }
        let mut by_key = plain.clone();
        by_key.animations[0].channels.push(crate::Channel {
            node: wrist,
            times: vec![0.0, 0.5],
            interpolation: crate::Interpolation::Step,
            keys: Keys::Scale(vec![Vec3::splat(1.0), mirror]),
        });
        for mut rig in [by_node, by_key] {
            let flesh = Flesh::new(&rig, &FleshParams::default()).unwrap();
            let animation = rig.animations[0].clone();
            assert_eq!(rig.unmirror(&flesh, Some(&animation)), ["wrist"]);
            let (was, now) = (plain.pose(plain.animations.first(), 1.0), rig.pose(rig.animations.first(), 1.0));
            assert!((was[wrist].linear - now[wrist].linear).norm() < 1e-12);
        }
        let mut whole = plain.clone();
        let flesh = Flesh::new(&whole, &FleshParams::default()).unwrap();
        assert!(whole.unmirror(&flesh, plain.animations.first()).is_empty());
        assert!((0..whole.nodes.len()).all(|node| whole.nodes[node].transform == plain.nodes[node].transform));
    }
}
