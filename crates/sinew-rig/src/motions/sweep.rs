//! A sweep of joints that nobody knows: for characters that are no humans.

use sinew_math::{Quaternion, Vec3};

use crate::animation::{Animation, Channel, Interpolation, Keys};
use crate::rig::{Rig, Transform};

/// Samples per second.
const RATE: f64 = 30.0;
/// Angle to either side \[degrees\].
const ANGLE: f64 = 25.0;
/// Seconds of one joint about one axis.
const SECONDS: f64 = 0.6;

/// Every joint of a skin below another one turns to either side about its own x and then its own z, one after another.
/// `None` if there is no such joint.
pub fn sweep_joints(rig: &Rig, name: &str) -> Option<Animation> {
    let is_joint = |node: usize| rig.skins.iter().any(|skin| skin.joints.contains(&node));
    let joints: Vec<usize> = rig
        .order()
        .into_iter()
        .filter(|&node| is_joint(node) && rig.nodes[node].parent.is_some_and(is_joint))
        .filter(|&node| matches!(rig.nodes[node].transform, Transform::Parts { .. }))
        .collect();
    let mut channels = Vec::new();
    for (number, &node) in joints.iter().enumerate() {
        let Transform::Parts { rotation, .. } = rig.nodes[node].transform else { continue };
        let start = 2.0 * SECONDS * number as f64;
        let count = (2.0 * SECONDS * RATE).round() as usize;
        let times: Vec<f64> = (0..=count).map(|k| start + k as f64 / RATE).collect();
        let key = |time: &f64| {
            let part = (time - start) / SECONDS;
            let axis = if part < 1.0 { 0 } else { 2 };
            let degrees = ANGLE * (std::f64::consts::TAU * part).sin();
            let q = rotation * Quaternion::from_axis_angle(Vec3::unit(axis), degrees.to_radians());
            [q.w, q.x, q.y, q.z]
        };
        let keys = Keys::Rotation(times.iter().map(key).collect());
        channels.push(Channel { node, times, interpolation: Interpolation::Linear, keys });
    }
    (!channels.is_empty()).then(|| Animation { name: name.into(), channels })
}
