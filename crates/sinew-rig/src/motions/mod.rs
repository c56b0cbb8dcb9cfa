//! Motions for characters that have none, from the angles of joints: walk, wave, squat, fist, a sweep through the range
//! of every joint, and poses as a user writes them.
//!
//! A mannequin performs them, a plain human skeleton in a T-pose, and [`crate::retarget`] moves them onto the character.
//! Angles count from standing upright with arms that hang, palms inward, and are those of anatomy ([`anatomy`]).
//!
//! - `anatomy`: axes and limits of joints
//! - `mannequin`: the skeleton, and how a script becomes its animation
//! - `plant`: feet that stay where they stand
//! - `gait`: walk
//! - `built_in`: the motions by name

pub mod anatomy;
mod built_in;
mod gait;
mod mannequin;
mod plant;
mod sweep;

use std::collections::BTreeMap;

use crate::humanoid::Slot;

pub use built_in::{BuiltIn, stand};
pub use mannequin::{MannequinError, perform};
pub use sweep::sweep_joints;

/// Angles of joints \[degrees\]: flex, side and twist, by joint. Joints that are not named have none.
pub type Angles = BTreeMap<Slot, [f64; 3]>;

/// A motion of the mannequin.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// Its name.
    pub name: String,
    /// Times \[s\], increasing.
    pub times: Vec<f64>,
    /// Angles at these times.
    pub poses: Vec<Angles>,
    /// Whether the lowest foot stands on the floor and does not slide, so that the body sinks and goes ahead; otherwise
    /// the hips stay in place.
    pub is_planted: bool,
}

impl Script {
    /// Poses at times, with smooth ways between them, at a rate \[1/s\].
    pub fn between(name: &str, keys: &[(f64, Angles)], rate: f64, is_planted: bool) -> Self {
        let mut script = Self { name: name.into(), is_planted, ..Self::default() };
        let times: Vec<f64> = keys.iter().map(|key| key.0).collect();
        for Sample { time, keys: [from, to], part } in samples(&times, rate) {
            script.times.push(time);
            script.poses.push(mix(&keys[from].1, &keys[to].1, part));
        }
        script
    }
}

/// A time between two keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The time \[s\].
    pub time: f64,
    /// The keys before and after.
    pub keys: [usize; 2],
    /// From 0 at the first to 1 at the second, smoothly.
    pub part: f64,
}

/// Samples of keys at increasing times, at a rate \[1/s\]; the last one is at or next to the last key.
pub fn samples(times: &[f64], rate: f64) -> Vec<Sample> {
    let Some((first, last)) = times.first().zip(times.last()) else { return Vec::new() };
    let count = ((last - first) * rate).round().max(0.0) as usize;
    let sample = |k: usize| {
        let time = first + k as f64 / rate;
        let after = times.partition_point(|key| *key <= time + 1e-9).min(times.len() - 1);
        let keys = [after.saturating_sub(1), after];
        let [from, to] = keys.map(|key| times[key]);
        let part = if to > from { smooth((time - from) / (to - from)) } else { 1.0 };
        Sample { time, keys, part }
    };
    (0..=count).map(sample).collect()
}

/// From 0 to 1 with zero slope at both ends.
pub fn smooth(t: f64) -> f64 {
    let t = t.clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// Angles between two poses.
pub fn mix(from: &Angles, to: &Angles, part: f64) -> Angles {
    let zero = [0.0; 3];
    let slots = from.keys().chain(to.keys());
    let at = |slot: &Slot| {
        let [a, b] = [from, to].map(|pose| pose.get(slot).unwrap_or(&zero));
        [0, 1, 2].map(|k| a[k] + (b[k] - a[k]) * part)
    };
    slots.map(|slot| (*slot, at(slot))).collect()
}
