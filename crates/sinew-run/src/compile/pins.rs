//! Checks of nodes with two pins: both must move the node to the same position.

use std::collections::BTreeMap;

use sinew_math::{Mat3, Quaternion, Vec3};
use sinew_scene::spec::body::{Body, Pin};
use sinew_scene::spec::motion::Motion;
use sinew_scene::{Dimension, format_quantity};

use super::Compiler;

/// Distance between two positions that counts as zero, relative to the size of the body: an allowance for rounding.
const SAME_PLACE: f64 = 1e-9;

/// The position of a point under a motion: x(t) = through + R (about + F (x − about) − through) + translation.
fn place(motion: Option<&Motion>, x: Vec3, time: f64) -> Vec3 {
    let Some(motion) = motion else { return x };
    let about = Vec3::from(motion.about);
    let stretched = match &motion.deformation {
        Some(deformation) => about + Mat3::new(deformation.at(time)) * (x - about),
        None => x,
    };
    let turned = match &motion.rotation {
        Some(turn) => {
            let through = Vec3::from(turn.through);
            let rotation = Quaternion::exp_map(Vec3::from(turn.axis).normalized() * turn.angle.at(time));
            through + rotation.rotate(stretched - through)
        }
        None => stretched,
    };
    turned + Vec3::from(motion.translation.at(time))
}

/// Times at which two motions may begin to differ: all points of their tracks, and the midpoints between them.
fn key_times(motions: [Option<&Motion>; 2], duration: f64) -> Vec<f64> {
    let mut times = vec![0.0, duration];
    for motion in motions.into_iter().flatten() {
        times.extend(motion.translation.points().iter().map(|point| point.0));
        times.extend(motion.rotation.iter().flat_map(|turn| turn.angle.points().iter().map(|point| point.0)));
        times.extend(motion.deformation.iter().flat_map(|track| track.points().iter().map(|point| point.0)));
    }
    times.retain(|&time| (0.0..=duration).contains(&time));
    times.sort_by(f64::total_cmp);
    let halfway: Vec<f64> = times.windows(2).map(|pair| 0.5 * (pair[0] + pair[1])).collect();
    times.extend(halfway);
    times.sort_by(f64::total_cmp);
    times
}

impl Compiler<'_> {
    /// Reports for each pair of pins the first node that they move to different positions. `nodes` has the nodes of
    /// each pin by index.
    pub(super) fn check_pins(&mut self, index: usize, body: &Body, rest: &[Vec3], nodes: &[(usize, Vec<u32>)]) {
        let size = sinew_geometry::Aabb::from_points(rest).size().norm();
        let mut pins_of: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (pin, nodes) in nodes {
            for &node in nodes {
                pins_of.entry(node).or_default().push(*pin);
            }
        }
        let mut reported: Vec<(usize, usize)> = Vec::new();
        for (node, pins) in pins_of {
            for (k, &second) in pins.iter().enumerate() {
                for &first in &pins[..k] {
                    if reported.contains(&(first, second)) {
                        continue;
                    }
                    let (a, b) = (&body.pin[first], &body.pin[second]);
                    let Some((time, axis, gap)) =
                        first_difference(a, b, rest[node as usize], self.scene.duration, SAME_PLACE * size)
                    else {
                        continue;
                    };
                    reported.push((first, second));
                    let message = format!(
                        "node {node} of `{}` is pinned by `{}` and by `{}`, which move it to different positions",
                        body.name, a.region, b.region
                    );
                    let problem = self.scene.problem(&format!("body[{index}].pin[{second}].region"), message);
                    self.problems.push(
                        problem
                            .label(format!(
                                "{} apart along {axis} at t = {}",
                                format_quantity(gap, Dimension::LENGTH),
                                format_quantity(time, Dimension::TIME)
                            ))
                            .hint("leave the node out of one of the regions, or give both pins the same motion"),
                    );
                }
            }
        }
    }
}

/// The first time at which two pins move a node to different positions along an axis that both hold.
fn first_difference(a: &Pin, b: &Pin, x: Vec3, duration: f64, tolerance: f64) -> Option<(f64, &'static str, f64)> {
    let (first, second) = (a.motion.as_ref(), b.motion.as_ref());
    if first == second {
        return None;
    }
    key_times([first, second], duration).into_iter().find_map(|time| {
        let gap = place(first, x, time) - place(second, x, time);
        (0..3)
            .filter(|&axis| a.axes.xyz[axis] && b.axes.xyz[axis])
            .find(|&axis| gap[axis].abs() > tolerance)
            .map(|axis| (time, ["x", "y", "z"][axis], gap[axis].abs()))
    })
}
