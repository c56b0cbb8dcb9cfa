//! A sequence of random poses within joint limits, in which bones never collide.
//!
//! Joint limits alone are not enough: a thumb does not pass through a finger. So poses are drawn until bones stay apart
//! in the pose and during the motion to it.

use sinew_math::{Quaternion, Vec3};

use super::body::{BoneHint, Joint};
use super::motion::{Turns, ease, turn};

/// Draws per pose; if all fail, the last pose is kept.
const TRIES: u64 = 500;
/// Samples of the motion from one pose to the next, including the end.
const LOOKS: usize = 8;

/// Time from one random pose to the next \[s\]: ten film frames.
pub(super) const POSE_SECONDS: f64 = 10.0 / 24.0;

/// Range of rotation of a joint about an axis.
pub(super) struct Limit {
    pub joint: usize,
    pub axis: Vec3,
    /// Angles from rest \[degrees\].
    pub range: [f64; 2],
}

/// Poses of a character, a new one every `seconds`.
pub(super) struct Poses {
    pub joints: Vec<Joint>,
    pub bones: Vec<BoneHint>,
    /// Rotations of one joint are composed in order, the first innermost.
    pub limits: Vec<Limit>,
    /// Whether bones of these two joints may touch: bones that meet at a joint, and bones that do not move relative to
    /// each other.
    pub may_touch: fn(usize, usize) -> bool,
    /// Smallest distance between the surfaces of other bones \[m\].
    pub clearance: f64,
    /// Time from one pose to the next \[s\].
    pub seconds: f64,
}

impl Poses {
    /// Rotations at increasing times \[s\]: rest at first, then from pose to pose.
    pub fn frames(&self, times: &[f64]) -> Vec<Turns> {
        let mut number = 0;
        let mut ends = [self.rest(), self.next(&self.rest(), 1)];
        let frame = |time: &f64| {
            let place = (time / self.seconds + 1e-9).max(0.0);
            while (number as f64) < place.floor() {
                number += 1;
                ends = [ends[1].clone(), self.next(&ends[1], number + 1)];
            }
            between(&ends[0], &ends[1], ease(place.fract()))
        };
        times.iter().map(frame).collect()
    }

    fn rest(&self) -> Turns {
        let mut turns: Turns = Vec::new();
        for limit in &self.limits {
            if turns.last().is_none_or(|last| last.0 != limit.joint) {
                turns.push((limit.joint, Quaternion::identity()));
            }
        }
        turns
    }

    fn next(&self, from: &Turns, number: u64) -> Turns {
        let is_possible = |to: &Turns| {
            (1..=LOOKS).all(|k| self.least_distance(&between(from, to, k as f64 / LOOKS as f64)) >= self.clearance)
        };
        let drawn = (0..TRIES).map(|attempt| self.draw(TRIES * number + attempt)).find(is_possible);
        drawn.unwrap_or_else(|| from.clone())
    }

    /// A random pose within the limits.
    fn draw(&self, seed: u64) -> Turns {
        let mut turns = self.rest();
        for (k, limit) in self.limits.iter().enumerate() {
            // Denser near the limits; in the middle of the ranges nothing touches.
            let share = ease(ease(unit_random(seed.wrapping_mul(1000).wrapping_add(k as u64))));
            let degrees = limit.range[0] + (limit.range[1] - limit.range[0]) * share;
            if let Some(entry) = turns.iter_mut().find(|entry| entry.0 == limit.joint) {
                entry.1 = turn(limit.axis, degrees) * entry.1;
            }
        }
        turns
    }

    /// Smallest distance between surfaces of bones that must not touch \[m\].
    pub fn least_distance(&self, turns: &Turns) -> f64 {
        // Joints are not rotated at rest, and parents precede their children.
        let mut placed: Vec<(Vec3, Quaternion)> = Vec::with_capacity(self.joints.len());
        for (k, joint) in self.joints.iter().enumerate() {
            let own = turns.iter().find(|entry| entry.0 == k).map_or(Quaternion::identity(), |entry| entry.1);
            placed.push(match joint.parent {
                Some(parent) => {
                    let (place, rotation) = placed[parent];
                    (place + rotation.rotate(joint.position - self.joints[parent].position), rotation * own)
                }
                None => (joint.position, own),
            });
        }
        let ends: Vec<[Vec3; 2]> = self
            .bones
            .iter()
            .map(|bone| {
                let (place, rotation) = placed[bone.joint];
                [bone.from, bone.to].map(|x| place + rotation.rotate(x - self.joints[bone.joint].position))
            })
            .collect();
        let mut least = f64::INFINITY;
        for (a, first) in self.bones.iter().enumerate() {
            for (b, second) in self.bones.iter().enumerate().skip(a + 1) {
                if !(self.may_touch)(first.joint, second.joint) {
                    least = least.min(segment_distance(ends[a], ends[b]) - first.radius - second.radius);
                }
            }
        }
        least
    }
}

fn between(from: &Turns, to: &Turns, part: f64) -> Turns {
    from.iter().zip(to).map(|(from, to)| (from.0, from.1.slerp(to.1, part))).collect()
}

/// A number in [0, 1) from an index: the mixing function of SplitMix64 \[Steele14\].
fn unit_random(number: u64) -> f64 {
    let mut z = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

/// Distance between two segments \[Ericson05, 5.1.9\].
fn segment_distance([p, p_end]: [Vec3; 2], [q, q_end]: [Vec3; 2]) -> f64 {
    let (d, e, r) = (p_end - p, q_end - q, p - q);
    let (dd, ee, de) = (d.dot(d), e.dot(e), d.dot(e));
    let (dr, er) = (d.dot(r), e.dot(r));
    let denominator = dd * ee - de * de;
    // Parallel segments have many nearest points; the first end will do, and the clamps below find the others.
    let s = if denominator > 1e-12 * dd * ee { ((de * er - dr * ee) / denominator).clamp(0.0, 1.0) } else { 0.0 };
    let t = if ee > 0.0 { ((de * s + er) / ee).clamp(0.0, 1.0) } else { 0.0 };
    let s = if dd > 0.0 { ((de * t - dr) / dd).clamp(0.0, 1.0) } else { 0.0 };
    (p + d * s).distance(q + e * t)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the smallest distance of many points on both.
    #[test]
    fn segments_are_as_far_apart_as_their_nearest_places() {
        for case in 0..200u64 {
            let end = |k: u64| {
                let number = |axis: u64| 2.0 * unit_random(1000 * case + 10 * k + axis) - 1.0;
                Vec3::new(number(0), number(1), number(2))
            };
            let (a, b) = ([end(0), end(1)], [end(2), end(3)]);
            let mut least = f64::INFINITY;
            for s in 0..=200 {
                for t in 0..=200 {
                    let (s, t) = (f64::from(s) / 200.0, f64::from(t) / 200.0);
                    least = least.min(a[0].lerp(a[1], s).distance(b[0].lerp(b[1], t)));
                }
            }
            let found = segment_distance(a, b);
            assert!(found <= least + 1e-12 && found > least - 0.02, "{case}: {found} and {least}");
        }
    }
}
