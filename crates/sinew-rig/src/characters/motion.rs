//! Timing and rotations of animations.

use sinew_math::{Quaternion, Vec3};

use crate::animation::{Animation, Channel, Interpolation, Keys};

/// Rotations of some joints at one time.
pub(super) type Turns = Vec<(usize, Quaternion)>;

/// An animation as a function of time.
pub(super) struct Motion {
    pub name: &'static str,
    /// Rotations at a time, for a duration of the animation \[s\]; always of the same joints.
    pub turns: fn(f64, f64) -> Turns,
}

impl Motion {
    /// Keys at a rate \[1/s\] for this many seconds, the last one at the end.
    pub fn animation(&self, frame_rate: f64, seconds: f64) -> Animation {
        let times = key_times(frame_rate, seconds);
        let frames: Vec<Turns> = times.iter().map(|time| (self.turns)(*time, seconds)).collect();
        animation(self.name, &times, &frames)
    }
}

/// An animation that stresses the flesh, of any duration.
pub(super) struct Trial {
    pub name: &'static str,
    /// Rotations at increasing times, always of the same joints.
    pub frames: fn(&[f64]) -> Vec<Turns>,
}

impl Trial {
    /// Keys at a rate \[1/s\] for this many seconds, the last one at the end.
    pub fn animation(&self, frame_rate: f64, seconds: f64) -> Animation {
        let times = key_times(frame_rate, seconds);
        animation(self.name, &times, &(self.frames)(&times))
    }
}

fn key_times(frame_rate: f64, seconds: f64) -> Vec<f64> {
    let frame_count = (frame_rate * seconds).round().max(1.0) as usize;
    (0..=frame_count).map(|frame| frame as f64 / frame_rate).collect()
}

fn animation(name: &str, times: &[f64], frames: &[Turns]) -> Animation {
    let channels = (0..frames[0].len()).map(|k| Channel {
        node: frames[0][k].0,
        times: times.to_vec(),
        interpolation: Interpolation::Linear,
        keys: Keys::Rotation(frames.iter().map(|turns| parts(turns[k].1)).collect()),
    });
    Animation { name: name.into(), channels: channels.collect() }
}

fn parts(q: Quaternion) -> [f64; 4] {
    let v = q.vector();
    [q.w, v.x, v.y, v.z]
}

/// A rotation about an axis by an angle \[degrees\].
pub(super) fn turn(axis: Vec3, degrees: f64) -> Quaternion {
    Quaternion::from_axis_angle(axis.normalized(), degrees.to_radians())
}

/// The shortest rotation from one direction to another.
pub(super) fn turn_between(from: Vec3, to: Vec3) -> Quaternion {
    let (from, to) = (from.normalized(), to.normalized());
    Quaternion::from_parts(1.0 + from.dot(to), from.cross(to)).normalized()
}

/// From 0 to 1 with zero slope at both ends: a cubic Hermite step.
pub(super) fn ease(t: f64) -> f64 {
    let t = t.clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// Up, hold and down again, `count` times in `seconds`; 1 during hold. Rise and fall take `ramp` seconds each, or less
/// if time is short, and the hold takes half of the time.
pub(super) fn pulses(time: f64, seconds: f64, count: usize, ramp: f64) -> f64 {
    let period = seconds / count as f64;
    let ramp = ramp.min(0.23 * period);
    let start = 0.5 * (period - 2.0 * ramp - 0.5 * period);
    let t = (time.min(seconds - 1e-9)).rem_euclid(period) - start;
    ease(t / ramp) - ease((t - ramp - 0.5 * period) / ramp)
}

/// Time for a rotation by an angle \[degrees\] at 140 degrees per second: nearly 6 degrees per film frame.
pub(super) fn quick(degrees: f64) -> f64 {
    degrees / 140.0
}

/// Back and forth between −1 and 1, from rest to rest, in whole swings of about `amplitude` degrees at a quick speed.
pub(super) fn swing(time: f64, seconds: f64, amplitude: f64) -> f64 {
    // A swing covers the amplitude four times.
    let count = (seconds / quick(4.0 * amplitude)).round().max(1.0);
    (std::f64::consts::TAU * count * time / seconds).sin()
}

/// Film frames per second.
const FILM: f64 = 24.0;
/// Degrees per film frame of a joint in [`fold_and_swing`].
const STEADY_FOLD: f64 = 5.5;
const STEADY_SWING: f64 = 6.0;

/// From 0 to 1 and back again, with this many film frames in each direction.
pub(super) fn to_and_fro(time: f64, frames: f64) -> f64 {
    0.5 - 0.5 * (std::f64::consts::PI * FILM * time / frames).cos()
}

/// Folds by an angle \[degrees\] and then swings by 30 degrees to either side, all at one speed, in whole frames: the
/// folded fraction, and the swing \[degrees\].
pub(super) fn fold_and_swing(time: f64, degrees: f64) -> (f64, f64) {
    let (frame, frames) = (FILM * time, (degrees / STEADY_FOLD).ceil());
    // Up to 30, down to −30, and up to 0 again.
    let place = (STEADY_SWING * (frame - frames)).max(0.0).rem_euclid(120.0);
    let swing = match place {
        up if up < 30.0 => up,
        down if down < 90.0 => 60.0 - down,
        up => up - 120.0,
    };
    ((frame / frames).min(1.0), swing)
}
