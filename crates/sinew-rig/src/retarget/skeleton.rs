//! A rig at rest.

use sinew_math::svd3::polar3_plain;
use sinew_math::{Mat3, Quaternion, Vec3};

use crate::affine::Affine;
use crate::humanoid::{Finger, Humanoid, Role, Side, is_below};
use crate::rig::Rig;

/// A skin whose bones differ in length from those of its nodes by more than this was not bound to them.
const SAME_LENGTH: f64 = 0.01;
/// Cosine of the angle to an axis of the file below which a body stands along that axis.
const ALONG_AXIS: f64 = 0.8;
/// Bones shorter than this, relative to the skeleton, have no direction.
const NO_LENGTH: f64 = 1e-5;

/// A rig at rest with its joints of a human.
pub(super) struct Skeleton<'a> {
    pub rig: &'a Rig,
    pub humanoid: Humanoid,
    /// World transforms of all nodes at rest.
    pub rest: Vec<Affine>,
    /// What carries each node: its parent, or in a file whose joints do not hang on each other the one of a body.
    pub parent: Vec<Option<usize>>,
    /// Nodes after what carries them.
    pub order: Vec<usize>,
    /// Largest distance between two of its coordinates \[m\].
    pub size: f64,
}

impl<'a> Skeleton<'a> {
    pub fn new(rig: &'a Rig, rest: Option<Vec<Affine>>) -> Self {
        let rest = rest.unwrap_or_else(|| rest_pose(rig));
        let places = || rest.iter().map(|transform| transform.translation);
        let extent = |c: usize| {
            let (low, high) =
                places().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x[c]), high.max(x[c])));
            high - low
        };
        let size = (0..3).map(extent).fold(0.0, f64::max);
        let humanoid = Humanoid::of(rig);
        let parent = carriers(rig, &humanoid, &rest);
        let is_tree = rig.nodes.iter().zip(&parent).all(|(node, parent)| node.parent == *parent);
        let order = if is_tree { rig.order() } else { order(rig, &parent) };
        Self { rig, humanoid, parent, order, rest, size }
    }

    /// Joints that something else carries than their parent.
    pub fn loose(&self) -> impl Iterator<Item = usize> {
        (0..self.parent.len()).filter(|&node| self.is_loose(node))
    }

    /// Whether something else carries a node than its parent.
    pub fn is_loose(&self, node: usize) -> bool {
        self.parent[node] != self.rig.nodes[node].parent
    }

    /// Rest position of a node.
    pub fn place(&self, node: usize) -> Vec3 {
        self.rest[node].translation
    }

    /// Name of a node for people.
    pub fn name(&self, node: usize) -> String {
        let name = &self.rig.nodes[node].name;
        if name.is_empty() { format!("node {node}") } else { name.clone() }
    }

    /// The vector along a bone of a limb, which has a direction.
    pub fn along(&self, role: Role, side: Side) -> Option<Vec3> {
        let from = self.humanoid.node(role, side)?;
        let next = match role {
            Role::UpperArm => Role::Forearm,
            Role::Forearm => Role::Hand,
            Role::Thigh => Role::Shin,
            Role::Shin => Role::Foot,
            Role::Finger(finger, number) => Role::Finger(finger, number + 1),
            Role::Hand => Role::Finger(Finger::Middle, 1),
            _ => return None,
        };
        let to = self.humanoid.node(next, side)?;
        let along = self.place(to) - self.place(from);
        (along.norm() > NO_LENGTH * self.size).then_some(along)
    }

    /// From the little finger to the index, across the palm.
    pub fn across_palm(&self, side: Side) -> Option<Vec3> {
        let knuckle = |finger| self.humanoid.node(Role::Finger(finger, 1), side).map(|node| self.place(node));
        let across = knuckle(Finger::Index)? - knuckle(Finger::Little).or(knuckle(Finger::Ring))?;
        (across.norm() > NO_LENGTH * self.size).then_some(across)
    }

    /// The axis about which an elbow bends further, if it is bent at rest by at least this sine.
    pub fn elbow_axis(&self, side: Side, least_sine: f64) -> Option<Vec3> {
        let [upper, lower] = [Role::UpperArm, Role::Forearm].map(|role| self.along(role, side));
        let axis = upper?.normalized().cross(lower?.normalized());
        (axis.norm() > least_sine).then(|| axis.normalized())
    }

    /// Mean length of the legs \[m\].
    pub fn leg_length(&self) -> Option<f64> {
        let leg = |side| Some(self.along(Role::Thigh, side)?.norm() + self.along(Role::Shin, side)?.norm());
        let legs: Vec<f64> = [Side::Left, Side::Right].into_iter().filter_map(leg).collect();
        (!legs.is_empty()).then(|| legs.iter().sum::<f64>() / legs.len() as f64)
    }

    /// From the hips to the head, or to the highest joint of the trunk \[m\].
    pub fn trunk(&self) -> Option<Vec3> {
        let hips = self.humanoid.node(Role::Hips, Side::Middle)?;
        let head = self.humanoid.node(Role::Head, Side::Middle);
        let top = head.or(self.humanoid.neck().last().copied()).or(self.humanoid.spine().last().copied())?;
        let trunk = self.place(top) - self.place(hips);
        (trunk.norm() > NO_LENGTH * self.size).then_some(trunk)
    }

    /// Left, up and front of the body in the world: those of the axes of the file if the body stands along them.
    pub fn body_frame(&self) -> Option<Mat3> {
        let across = [Role::Thigh, Role::UpperArm, Role::Clavicle, Role::Eye, Role::Foot, Role::Hand]
            .into_iter()
            .find_map(|role| {
                let [left, right] = [Side::Left, Side::Right].map(|side| self.humanoid.node(role, side));
                let across = self.place(left?) - self.place(right?);
                (across.norm() > NO_LENGTH * self.size).then_some(across)
            })?;
        let legs = || {
            let hips = self.place(self.humanoid.node(Role::Hips, Side::Middle)?);
            let foot = |side| self.humanoid.node(Role::Foot, side).map(|foot| self.place(foot));
            let feet = (foot(Side::Left)? + foot(Side::Right)?) * 0.5;
            (hips.distance(feet) > NO_LENGTH * self.size).then(|| hips - feet)
        };
        let up = on_axis(self.trunk().or_else(legs)?);
        let across = across - up * across.dot(up);
        let left = on_axis(across);
        let left = (left - up * left.dot(up)).normalized();
        left.is_finite().then(|| Mat3::from_columns(left, up, left.cross(up)))
    }
}

/// Joints of a human hang on each other even where they are siblings in the file; other siblings of those hang on the
/// nearest bone.
fn carriers(rig: &Rig, humanoid: &Humanoid, rest: &[Affine]) -> Vec<Option<usize>> {
    let mut parent: Vec<Option<usize>> = rig.nodes.iter().map(|node| node.parent).collect();
    let place = |node: usize| rest[node].translation;
    let mut groups: Vec<Option<usize>> = Vec::new();
    let mut bones: Vec<[usize; 2]> = Vec::new();
    for (&slot, &node) in &humanoid.nodes {
        let Some(carrier) = humanoid.carrier(slot) else { continue };
        bones.push([carrier, node]);
        if !is_below(rig, node, carrier) && !is_below(rig, carrier, node) {
            groups.push(rig.nodes[node].parent);
            parent[node] = Some(carrier);
        }
    }
    let is_of_skin = |node: usize| rig.skins.iter().any(|skin| skin.joints.contains(&node));
    for node in (0..parent.len()).filter(|&node| humanoid.slot_of(node).is_none() && is_of_skin(node)) {
        if !groups.contains(&rig.nodes[node].parent) || rig.nodes.iter().any(|other| other.parent == Some(node)) {
            continue;
        }
        let distance = |&[from, to]: &[usize; 2]| {
            let (from, along) = (place(from), place(to) - place(from));
            let part = (place(node) - from).dot(along) / along.norm_squared().max(f64::MIN_POSITIVE);
            place(node).distance(from + along * part.clamp(0.0, 1.0))
        };
        let nearest = bones.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
        parent[node] = nearest.map(|bone| bone[0]).or(parent[node]);
    }
    if order(rig, &parent).len() == parent.len() { parent } else { rig.nodes.iter().map(|node| node.parent).collect() }
}

/// Nodes after what carries them; those of a circle are left out.
fn order(rig: &Rig, parent: &[Option<usize>]) -> Vec<usize> {
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); parent.len()];
    let mut order = Vec::with_capacity(parent.len());
    for node in rig.order() {
        match parent[node] {
            Some(parent) => below[parent].push(node),
            None => order.push(node),
        }
    }
    let mut next = 0;
    while let Some(&node) = order.get(next) {
        order.extend(&below[node]);
        next += 1;
    }
    order
}

/// The axis of the coordinates along which a vector points, or else its direction.
fn on_axis(vector: Vec3) -> Vec3 {
    let direction = vector.normalized();
    let axis = (0..3).find(|&c| direction[c].abs() > ALONG_AXIS);
    axis.map_or(direction, |c| Vec3::unit(c) * direction[c].signum())
}

/// The pose in which the skins were bound; nodes without a skin keep their place relative to their parents.
///
/// A skin stores its bind pose in a space of its own; its uppermost joint, as it stands in the file, says where that is.
fn rest_pose(rig: &Rig) -> Vec<Affine> {
    let pose = rig.pose(None, 0.0);
    let order = rig.order();
    let mut rest: Vec<Option<Affine>> = vec![None; pose.len()];
    for skin in &rig.skins {
        let top = order.iter().find_map(|node| skin.joints.iter().position(|joint| joint == node));
        let Some(top) = top else { continue };
        let rest_from_stored = pose[skin.joints[top]].after(&skin.inverse_binds[top]);
        let bound: Option<Vec<Affine>> =
            skin.inverse_binds.iter().map(|bind| Some(rest_from_stored.after(&bind.inverse()?))).collect();
        let Some(bound) = bound else { continue };
        // Files without bind matrices have all joints at one place.
        let size =
            skin.joints.iter().map(|&joint| pose[joint].translation.distance(pose[skin.joints[top]].translation));
        let size = size.fold(0.0, f64::max);
        let has_same_bones = skin.joints.iter().zip(&bound).all(|(&joint, own)| {
            let above =
                rig.nodes[joint].parent.and_then(|parent| skin.joints.iter().position(|&other| other == parent));
            above.is_none_or(|above| {
                let length = pose[joint].translation.distance(pose[skin.joints[above]].translation);
                (own.translation.distance(bound[above].translation) - length).abs() < SAME_LENGTH * size
            })
        });
        if has_same_bones {
            skin.joints.iter().zip(bound).for_each(|(&joint, own)| {
                rest[joint].get_or_insert(own);
            });
        }
    }
    let mut world = pose.clone();
    for node in order {
        world[node] = match (rest[node], rig.nodes[node].parent) {
            (Some(own), _) => own,
            (None, Some(parent)) => world[parent].after(&rig.nodes[node].transform.to_affine()),
            (None, None) => pose[node],
        };
    }
    world
}

/// The rotation in a linear map; none if it has no rotation.
pub(super) fn rotation_of(linear: &Mat3) -> Quaternion {
    let rotation = Quaternion::from_rotation_matrix(&polar3_plain(linear).rotation);
    if rotation.norm_squared().is_finite() { rotation.normalized() } else { Quaternion::identity() }
}
