//! Joints at rest, and which rest the vertices of each skin have.
//!
//! Files store vertices in a bind space per skin. With $`B_j^{-1}`$ the inverse bind matrix of joint j and $`J_j`$ its
//! world transform, a vertex is at
//! ```math
//! x = \sum_j w_j J_j B_j^{-1} v.
//! ```
//! Flesh needs one rest for everything. Let $`R_j`$ be the transform of joint j at rest, and $`A`$ a map from the stored
//! vertices of a skin to rest. Then
//! ```math
//! x = \sum_j w_j D_j C_j A v, \qquad D_j = J_j R_j^{-1}, \qquad C_j = R_j B_j^{-1} A^{-1}.
//! ```
//! The first skin defines rest as its bind shape, $`R_j = A B_j`$, at the size and place that it has in the scene without
//! animation: $`A = J_0 B_0^{-1}`$ of its uppermost joint, so $`C_j`$ is the identity, in whatever units matrices are.
//! Further skins share $`R_j`$ of the joints they have in common, and $`A`$ is that of the first such joint. If they were
//! bound in another pose, some $`C_j`$ differ from the identity: their rest is $`\sum_j w_j C_j A v`$.

use std::collections::BTreeMap;
use std::rc::Rc;

use sinew_math::{Mat3, Vec3};

use crate::affine::Affine;
use crate::animation::Keys;
use crate::flesh::FleshError;
use crate::motion::Motion;
use crate::rig::{Rig, Skin};

/// Skins were bound in different poses if a joint differs by more than this, in radians and in skeleton sizes. Smaller
/// differences are rounding errors of files.
const SAME_BIND: f64 = 1e-5;
/// Larger ones get a note.
const TOLD: f64 = 1e-2;
/// Joints whose scale differs from that of most by more than this factor do not define rest.
const SAME_SCALE: f64 = 1.01;

/// A joint at rest.
#[derive(Clone, Debug)]
pub struct Joint {
    /// Its node.
    pub node: usize,
    /// Its name.
    pub name: String,
    /// Index of its parent joint.
    pub parent: Option<usize>,
    /// Its rest position \[m\].
    pub place: Vec3,
    /// Whether a skin lists it; otherwise it is a node that moves on its own and carries a surface.
    pub is_of_skin: bool,
    /// R⁻¹: from rest to the joint.
    pub(crate) from_rest: Affine,
}

impl Joint {
    /// Transform from rest to a pose of all nodes.
    pub(crate) fn pose_from_rest(&self, pose: &[Affine]) -> Affine {
        pose[self.node].after(&self.from_rest)
    }

    /// Its motion from rest to a pose of all nodes.
    pub(crate) fn motion(&self, pose: &[Affine]) -> Motion {
        Motion::of(&self.pose_from_rest(pose), self.place)
    }
}

/// A skin on the joints of a character.
pub(crate) struct BoundSkin {
    /// A: from stored vertices to rest, up to the differences of its bind pose.
    pub rest_from_stored: Affine,
    /// Indices of its joints.
    pub numbers: Vec<u32>,
    /// By joint of the character C, for joints that were bound in another pose than that of rest.
    pub rebinds: BTreeMap<u32, Affine>,
}

impl BoundSkin {
    /// Rest position of a stored vertex with these joints.
    pub fn rest(&self, stored: Vec3, weights: &[(u32, f64)]) -> Vec3 {
        let x = self.rest_from_stored.apply(stored);
        if !weights.iter().any(|(joint, _)| self.rebinds.contains_key(joint)) {
            return x;
        }
        weights.iter().map(|&(joint, weight)| self.rebound(x, joint) * weight).sum()
    }

    fn rebound(&self, x: Vec3, joint: u32) -> Vec3 {
        self.rebinds.get(&joint).map_or(x, |rebind| rebind.apply(x))
    }

    /// For each joint of a vertex how far from the rest of the vertex the point lies that it moves; empty if nowhere.
    pub fn offsets(&self, stored: Vec3, weights: &[(u32, f64)]) -> Vec<Vec3> {
        let x = self.rest_from_stored.apply(stored);
        // A single joint moves the vertex itself.
        if weights.len() < 2 || !weights.iter().any(|(joint, _)| self.rebinds.contains_key(joint)) {
            return Vec::new();
        }
        let rest = self.rest(stored, weights);
        weights.iter().map(|&(joint, _)| self.rebound(x, joint) - rest).collect()
    }
}

/// Joints in order of first use.
pub(crate) struct Assembly<'a> {
    pub rig: &'a Rig,
    pub pose: &'a [Affine],
    pub joints: Vec<Joint>,
    pub number_of: BTreeMap<usize, u32>,
    /// Skins whose joints were taken.
    bound: BTreeMap<usize, Rc<BoundSkin>>,
    pub notes: Vec<String>,
}

impl<'a> Assembly<'a> {
    /// Without joints; `pose` is that without animation.
    pub fn new(rig: &'a Rig, pose: &'a [Affine]) -> Self {
        let (number_of, bound) = (BTreeMap::new(), BTreeMap::new());
        Self { rig, pose, joints: Vec::new(), number_of, bound, notes: Vec::new() }
    }

    /// A skin, whose joints are taken when it comes first.
    pub fn skin(&mut self, index: usize) -> Result<Rc<BoundSkin>, FleshError> {
        if let Some(bound) = self.bound.get(&index) {
            return Ok(bound.clone());
        }
        let bound = Rc::new(self.take(index)?);
        self.bound.insert(index, bound.clone());
        Ok(bound)
    }

    fn take(&mut self, index: usize) -> Result<BoundSkin, FleshError> {
        let (rig, skin) = (self.rig, &self.rig.skins[index]);
        let used = used_joints(rig, index);
        let first = self.reference(skin).ok_or_else(|| self.flat(skin, &used))?;
        let standing = self.pose[skin.joints[first]].after(&skin.inverse_binds[first]);
        let rest_from_stored = match self.joint_above(skin.joints[first]) {
            Some((_, rest_from_world)) => rest_from_world.after(&standing),
            None => standing,
        };
        let stored_from_rest = rest_from_stored.inverse().ok_or_else(|| self.flat(skin, &used))?;
        // Joints whose matrix cannot be inverted have no place, which matters if they move something.
        let to_rest = |bind: &Affine| bind.after(&stored_from_rest).inverse().filter(Affine::is_finite);
        let is_lost = |k: usize| used[k] && to_rest(&skin.inverse_binds[k]).is_none();
        if (0..skin.joints.len()).any(is_lost) {
            return Err(self.flat(skin, &used));
        }
        let mut numbers = Vec::new();
        let mut rebinds = BTreeMap::new();
        let mut reach = 0.0f64;
        let mut gaps = Vec::new();
        for (&node, bind) in skin.joints.iter().zip(&skin.inverse_binds) {
            let Some(bound) = to_rest(bind) else {
                // It moves nothing, and stands where its node does.
                let number = match self.number_of.get(&node) {
                    Some(&number) => number,
                    None => self.joint(node, self.pose[node].inverse().unwrap_or(stored_from_rest), true),
                };
                numbers.push(number);
                continue;
            };
            let from_rest = bind.after(&stored_from_rest);
            let known = self.number_of.get(&node).copied();
            // A joint of this skin alone stands to the next known one as it was bound to it.
            let above = known.is_none().then(|| self.rebound_above(node, &rebinds)).flatten();
            let number = match (known, above) {
                (Some(number), _) => number,
                (None, None) => self.joint(node, from_rest, true),
                (None, Some(rebind)) => {
                    let back = rebind.inverse().unwrap_or_else(Affine::identity);
                    self.joint(node, from_rest.after(&back), true)
                }
            };
            let joint = &mut self.joints[number as usize];
            joint.is_of_skin = true;
            // C, and how far it is from the identity at the joint.
            let rest = joint.from_rest.inverse().unwrap_or(bound);
            let rebind = rest.after(&from_rest);
            let place = joint.place;
            let origin = numbers.first().map_or(place, |&first: &u32| self.joints[first as usize].place);
            reach = reach.max(place.distance(origin));
            let turn = (rebind.linear - Mat3::identity()).norm();
            gaps.push((number, rebind, turn, rebind.apply(bound.translation).distance(bound.translation)));
            if turn > SAME_BIND {
                rebinds.insert(number, rebind);
            }
            numbers.push(number);
        }
        let is_apart = |limit: f64, turn: f64, gap: f64| turn > limit || gap > limit * reach.max(f64::MIN_POSITIVE);
        rebinds.extend(
            gaps.iter().filter(|gap| is_apart(SAME_BIND, gap.2, gap.3)).map(|&(number, rebind, ..)| (number, rebind)),
        );
        if gaps.iter().any(|gap| is_apart(TOLD, gap.2, gap.3)) {
            let name = if skin.name.is_empty() { "a skin".into() } else { format!("skin \"{}\"", skin.name) };
            let note = format!("{name} was bound in another pose than the first; its rest is the pose of the first");
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        // Joints of this skin may lie between those of others.
        for joint in 0..self.joints.len() {
            self.joints[joint].parent = self.parent(self.joints[joint].node);
        }
        Ok(BoundSkin { rest_from_stored, numbers, rebinds })
    }

    /// The joint of a skin that tells where rest is: a known one, as nodes may not be in their bind pose; otherwise the
    /// uppermost one that has the scale of most.
    fn reference(&self, skin: &Skin) -> Option<usize> {
        let scale = |k: usize| {
            let map = self.pose[skin.joints[k]].after(&skin.inverse_binds[k]);
            Some(map.linear.determinant().abs().cbrt()).filter(|scale| scale.is_normal())
        };
        let mut scales: Vec<f64> = (0..skin.joints.len()).filter_map(scale).collect();
        scales.sort_by(f64::total_cmp);
        let usual = *scales.get(scales.len() / 2)?;
        let is_usual =
            |&k: &usize| scale(k).is_some_and(|scale| scale < SAME_SCALE * usual && usual < SAME_SCALE * scale);
        let known = (0..skin.joints.len()).filter(|&k| self.number_of.contains_key(&skin.joints[k])).find(is_usual);
        known.or_else(|| (0..skin.joints.len()).filter(is_usual).min_by_key(|&k| self.depth(skin.joints[k])))
    }

    fn depth(&self, mut node: usize) -> usize {
        let mut depth = 0;
        while let (Some(parent), true) = (self.rig.nodes[node].parent, depth < self.rig.nodes.len()) {
            (node, depth) = (parent, depth + 1);
        }
        depth
    }

    /// The joints of a skin whose scale or inverse bind matrix is flat: those that move something, if there are some.
    fn flat(&self, skin: &Skin, used: &[bool]) -> FleshError {
        let is_flat = |map: &Affine| map.inverse().is_none_or(|inverse| !inverse.is_finite());
        let name = |&k: &usize| match &self.rig.nodes[skin.joints[k]].name {
            name if name.is_empty() => format!("joint {}", skin.joints[k]),
            name => format!("\"{name}\""),
        };
        let list = |names: Vec<String>| names.join(", ");
        let of = |is_bad: &dyn Fn(usize) -> bool| {
            let all: Vec<usize> = (0..skin.joints.len()).filter(|&k| is_bad(k)).collect();
            let moving: Vec<usize> = all.iter().copied().filter(|&k| used[k]).collect();
            list(if moving.is_empty() { all } else { moving }.iter().map(name).collect())
        };
        let binds = of(&|k| is_flat(&skin.inverse_binds[k]));
        match binds.is_empty() {
            false => FleshError::FlatBind { joints: binds },
            true => FleshError::Flat { joints: of(&|k| is_flat(&self.pose[skin.joints[k]])) },
        }
    }

    /// C of the next joint above that has one.
    fn rebound_above(&self, mut node: usize, rebinds: &BTreeMap<u32, Affine>) -> Option<Affine> {
        for _ in 0..self.rig.nodes.len() {
            node = self.rig.nodes[node].parent?;
            if let Some(number) = self.number_of.get(&node) {
                return rebinds.get(number).copied();
            }
        }
        None
    }

    /// Index of a joint, added if new.
    fn joint(&mut self, node: usize, from_rest: Affine, is_of_skin: bool) -> u32 {
        let next = self.joints.len() as u32;
        let number = *self.number_of.entry(node).or_insert(next);
        if number == next {
            let name = self.rig.nodes[node].name.clone();
            let name = if name.is_empty() { format!("joint {node}") } else { name };
            let place = from_rest.inverse().map_or_else(Vec3::zero, |to_rest| to_rest.translation);
            self.joints.push(Joint { node, name, parent: None, place, is_of_skin, from_rest });
        }
        number
    }
    /// The next skin joint above a node.
    fn parent(&self, mut node: usize) -> Option<usize> {
        for _ in 0..self.rig.nodes.len() {
            node = self.rig.nodes[node].parent?;
            let joint = self.number_of.get(&node).map(|&joint| joint as usize);
            if joint.is_some_and(|joint| self.joints[joint].is_of_skin) {
                return joint;
            }
        }
        None
    }

    /// The joint that carries the contents of a node, and the map from there to rest. A node that moves on its own
    /// becomes a joint, such as an eye.
    pub fn carrier(&mut self, node: usize) -> Option<(u32, Affine)> {
        let above = self.joint_above(node);
        if !self.moves_by_itself(node) {
            return above;
        }
        let rest_from_world = above.map_or_else(Affine::identity, |(_, rest_from_world)| rest_from_world);
        let to_rest = rest_from_world.after(&self.pose[node]);
        let Some(from_rest) = to_rest.inverse() else { return above };
        let number = self.joint(node, from_rest, false);
        self.joints[number as usize].parent = self.parent(node);
        Some((number, rest_from_world))
    }

    /// Whether a node, or one between it and the next joint above, is animated.
    fn moves_by_itself(&self, mut node: usize) -> bool {
        let is_animated = |node: usize| {
            let mut channels = self.rig.animations.iter().flat_map(|animation| &animation.channels);
            channels.any(|channel| channel.node == node && !matches!(channel.keys, Keys::Morph(..)))
        };
        for _ in 0..self.rig.nodes.len() {
            if self.number_of.contains_key(&node) {
                return false;
            }
            if is_animated(node) {
                return true;
            }
            let Some(parent) = self.rig.nodes[node].parent else { return false };
            node = parent;
        }
        false
    }

    /// The parent joint of a node, and the map from its transform to rest.
    fn joint_above(&self, mut node: usize) -> Option<(u32, Affine)> {
        for _ in 0..self.rig.nodes.len() {
            if let Some(&joint) = self.number_of.get(&node) {
                let motion = self.pose[node].after(&self.joints[joint as usize].from_rest);
                return motion.inverse().map(|back| (joint, back));
            }
            node = self.rig.nodes[node].parent?;
        }
        None
    }
}

/// Which joints of a skin have a weight at a vertex.
fn used_joints(rig: &Rig, skin: usize) -> Vec<bool> {
    let mut used = vec![false; rig.skins[skin].joints.len()];
    let surfaces = rig.nodes.iter().filter(|node| node.skin == Some(skin)).filter_map(|node| node.surface);
    for part in surfaces.flat_map(|surface| &rig.surfaces[surface].parts) {
        for (&joint, &weight) in part.weights.joints.iter().zip(&part.weights.weights) {
            if let Some(used) = used.get_mut(joint as usize).filter(|_| weight > 0.0) {
                *used = true;
            }
        }
    }
    used
}
