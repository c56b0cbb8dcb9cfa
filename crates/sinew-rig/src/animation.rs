//! Keyframes, and the transforms of nodes between them.

use sinew_math::{Quaternion, Vec3};

use crate::affine::Affine;
use crate::rig::{Rig, Transform};

/// Keyframes of some nodes.
#[derive(Clone, Debug, Default)]
pub struct Animation {
    /// Name, possibly empty.
    pub name: String,
    /// The animated properties.
    pub channels: Vec<Channel>,
}

/// Keyframes of one property of a node.
#[derive(Clone, Debug)]
pub struct Channel {
    /// The node.
    pub node: usize,
    /// Times of the keys \[s\], increasing.
    pub times: Vec<f64>,
    /// Interpolation between keys.
    pub interpolation: Interpolation,
    /// Values; for cubic splines three per key: incoming slope, value, outgoing slope.
    pub keys: Keys,
}

/// Values of keys.
#[derive(Clone, Debug)]
pub enum Keys {
    /// Translations \[m\].
    Translation(Vec<Vec3>),
    /// Rotations as (w, x, y, z); those of splines need not have unit length.
    Rotation(Vec<[f64; 4]>),
    /// Scales.
    Scale(Vec<Vec3>),
    /// Weights of this many morph targets, key by key.
    Morph(usize, Vec<f64>),
}

/// Interpolation between keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interpolation {
    /// Along the straight line, or along the shorter great circle.
    #[default]
    Linear,
    /// Constant until the next key.
    Step,
    /// Along a cubic Hermite spline.
    CubicSpline,
}

impl Animation {
    /// First and last time of a key \[s\]; `None` without keys.
    pub fn span(&self) -> Option<[f64; 2]> {
        let ends = self.channels.iter().filter_map(|channel| Some([*channel.times.first()?, *channel.times.last()?]));
        ends.reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])])
    }
}

/// Position of a time between keys.
struct Place {
    /// The previous and the next key.
    keys: [usize; 2],
    /// From 0 at the previous key to 1 at the next.
    part: f64,
    /// Time between them \[s\].
    length: f64,
}

impl Channel {
    fn place(&self, time: f64) -> Place {
        let after = self.times.partition_point(|&key| key <= time);
        let last = self.times.len() - 1;
        let keys = [after.saturating_sub(1), after.min(last)];
        let length = self.times[keys[1]] - self.times[keys[0]];
        let part = if length > 0.0 { ((time - self.times[keys[0]]) / length).clamp(0.0, 1.0) } else { 0.0 };
        Place { keys, part, length }
    }

    /// Interpolates `values` of `width` numbers per key at a time, number by number.
    fn mix(&self, time: f64, width: usize, value: impl Fn(usize) -> f64, out: &mut [f64]) {
        let Place { keys: [a, b], part: t, length } = self.place(time);
        for k in 0..width {
            // Slopes surround the values of splines.
            let spline = |key: usize, which: usize| value((3 * key + which) * width + k);
            out[k] = match self.interpolation {
                Interpolation::Step => value((if t < 1.0 { a } else { b }) * width + k),
                Interpolation::Linear => (1.0 - t) * value(a * width + k) + t * value(b * width + k),
                Interpolation::CubicSpline => {
                    let (t2, t3) = (t * t, t * t * t);
                    (2.0 * t3 - 3.0 * t2 + 1.0) * spline(a, 1)
                        + length * (t3 - 2.0 * t2 + t) * spline(a, 2)
                        + (3.0 * t2 - 2.0 * t3) * spline(b, 1)
                        + length * (t3 - t2) * spline(b, 0)
                }
            };
        }
    }

    fn vector(&self, time: f64, keys: &[Vec3]) -> Vec3 {
        let mut out = [0.0; 3];
        self.mix(time, 3, |k| keys[k / 3][k % 3], &mut out);
        Vec3::from(out)
    }

    fn rotation(&self, time: f64, keys: &[[f64; 4]]) -> Quaternion {
        let unit = |[w, x, y, z]: [f64; 4]| Quaternion::from_parts(w, Vec3::new(x, y, z)).normalized();
        if self.interpolation == Interpolation::Linear {
            let Place { keys: [a, b], part, .. } = self.place(time);
            return unit(keys[a]).slerp(unit(keys[b]), part);
        }
        let mut out = [0.0; 4];
        self.mix(time, 4, |k| keys[k / 4][k % 4], &mut out);
        unit(out)
    }
}

impl Rig {
    /// World transforms of all nodes at a time \[s\] of an animation, or without animation.
    pub fn pose(&self, animation: Option<&Animation>, time: f64) -> Vec<Affine> {
        let mut transforms: Vec<Transform> = self.nodes.iter().map(|node| node.transform).collect();
        for channel in animation.into_iter().flat_map(|animation| &animation.channels) {
            if channel.times.is_empty() {
                continue;
            }
            if let Transform::Matrix(_) = transforms[channel.node] {
                transforms[channel.node] = Transform::identity();
            }
            let Transform::Parts { translation, rotation, scale } = &mut transforms[channel.node] else { continue };
            match &channel.keys {
                Keys::Translation(keys) => *translation = channel.vector(time, keys),
                Keys::Rotation(keys) => *rotation = channel.rotation(time, keys),
                Keys::Scale(keys) => *scale = channel.vector(time, keys),
                Keys::Morph(..) => {}
            }
        }
        let mut world: Vec<Affine> = transforms.iter().map(Transform::to_affine).collect();
        for node in self.order() {
            if let Some(parent) = self.nodes[node].parent {
                world[node] = world[parent].after(&world[node]);
            }
        }
        world
    }

    /// Weights of the morph targets of a node's surface at a time \[s\] of an animation.
    pub fn morph_weights(&self, node: usize, animation: Option<&Animation>, time: f64) -> Vec<f64> {
        let of_surface = self.nodes[node].surface.map(|surface| self.surfaces[surface].morph_weights.clone());
        let mut weights = self.nodes[node].morph_weights.clone().or(of_surface).unwrap_or_default();
        for channel in animation.into_iter().flat_map(|animation| &animation.channels) {
            if let (true, Keys::Morph(width, keys)) = (channel.node == node && !channel.times.is_empty(), &channel.keys)
            {
                weights.resize(weights.len().max(*width), 0.0);
                channel.mix(time, *width, |k| keys[k], &mut weights);
            }
        }
        weights
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::Node;

    fn node(parent: Option<usize>, transform: Transform) -> Node {
        Node { name: String::new(), parent, transform, surface: None, skin: None, morph_weights: None, is_shown: true }
    }

    fn channel(times: &[f64], interpolation: Interpolation, keys: Keys) -> Animation {
        let channel = Channel { node: 0, times: times.to_vec(), interpolation, keys };
        Animation { name: "a".into(), channels: vec![channel] }
    }

    fn rig_of_two() -> Rig {
        // The child comes first.
        let nodes = vec![
            node(Some(1), Transform::from_translation(Vec3::new(1.0, 0.0, 0.0))),
            node(
                None,
                Transform::Parts {
                    translation: Vec3::new(0.0, 0.0, 5.0),
                    rotation: Quaternion::from_axis_angle(Vec3::unit(2), std::f64::consts::FRAC_PI_2),
                    scale: Vec3::new(2.0, 2.0, 2.0),
                },
            ),
        ];
        Rig { nodes, ..Rig::default() }
    }

    fn origin(animation: &Animation, time: f64) -> Vec3 {
        rig_of_two().pose(Some(animation), time)[0].translation
    }

    #[test]
    fn children_move_with_their_parents() {
        let pose = rig_of_two().pose(None, 0.0);
        assert!((pose[0].translation - Vec3::new(0.0, 2.0, 5.0)).norm() < 1e-12, "{pose:?}");
    }

    #[test]
    fn keys_are_met_and_held_beyond_their_ends() {
        let x = |x: f64| Vec3::new(x, 0.0, 0.0);
        for interpolation in [Interpolation::Linear, Interpolation::Step] {
            let keys = Keys::Translation(vec![x(1.0), x(2.0), x(4.0)]);
            let animation = channel(&[0.0, 1.0, 3.0], interpolation, keys);
            for (time, expected) in [(-1.0, 1.0), (0.0, 1.0), (1.0, 2.0), (3.0, 4.0), (9.0, 4.0)] {
                assert!((origin(&animation, time).y - 2.0 * expected).abs() < 1e-12, "{interpolation:?} at {time}");
            }
            let between = if interpolation == Interpolation::Step { 2.0 } else { 3.0 };
            assert!((origin(&animation, 2.0).y - 2.0 * between).abs() < 1e-12);
        }
    }

    /// A cubic is its own Hermite interpolant.
    #[test]
    fn splines_reproduce_cubics() {
        let cubic = |t: f64| 2.0 * t * t * t - t * t + 0.5 * t + 1.0;
        let slope = |t: f64| 6.0 * t * t - 2.0 * t + 0.5;
        let times = [0.5, 1.7, 2.0];
        let keys = times.iter().flat_map(|&t| [slope(t), cubic(t), slope(t)].map(|x| Vec3::new(x, 0.0, 0.0)));
        let animation = channel(&times, Interpolation::CubicSpline, Keys::Translation(keys.collect()));
        for time in [0.5, 0.9, 1.6, 1.7, 1.9, 2.0] {
            assert!((origin(&animation, time).y - 2.0 * cubic(time)).abs() < 1e-12, "at {time}");
        }
    }

    #[test]
    fn rotations_take_the_shorter_way_at_constant_speed() {
        // The second is the negative of a rotation by 90 degrees.
        let half = std::f64::consts::FRAC_PI_4;
        let keys = Keys::Rotation(vec![[1.0, 0.0, 0.0, 0.0], [-half.cos(), 0.0, 0.0, -half.sin()]]);
        let animation = channel(&[0.0, 1.0], Interpolation::Linear, keys);
        let pose =
            Rig { nodes: vec![node(None, Transform::identity())], ..Rig::default() }.pose(Some(&animation), 0.25);
        let angle = pose[0].linear.rows[1][0].atan2(pose[0].linear.rows[0][0]);
        assert!((angle - 0.25 * std::f64::consts::FRAC_PI_2).abs() < 1e-12, "{angle}");
    }
}
