//! A walk: angles of hip, knee and ankle over one cycle, as gait laboratories measure them in healthy adults
//! \[Winter09\], rounded and tuned so that swinging toes clear the floor; arms swing
//! against the legs. Planted, it goes ahead by 1.4 m/s, and the hips rise and sink by 4 cm.

use super::Angles;
use crate::humanoid::{Role, Side, Slot};

/// Seconds of a cycle of two steps: 110 steps per minute.
pub(super) const CYCLE: f64 = 1.1;

/// Angles at every tenth of the cycle, from heel strike on \[degrees\].
const HIP: [f64; 10] = [30.0, 26.0, 19.0, 9.0, -1.0, -9.0, -5.0, 10.0, 24.0, 31.0];
const KNEE: [f64; 10] = [6.0, 15.0, 17.0, 12.0, 10.0, 22.0, 45.0, 62.0, 50.0, 18.0];
const ANKLE: [f64; 10] = [2.0, -2.0, 3.0, 7.0, 11.0, 9.0, -8.0, 0.0, 5.0, 4.0];
/// Toes bend while the heel rises, and stay up while the leg swings, or they would drag.
const TOES: [f64; 10] = [8.0, 0.0, 0.0, 0.0, 6.0, 26.0, 20.0, 15.0, 15.0, 12.0];

/// A periodic curve through ten values: Catmull-Rom.
fn periodic(values: &[f64; 10], phase: f64) -> f64 {
    let place = phase.rem_euclid(1.0) * 10.0;
    let (k, t) = (place.floor() as usize % 10, place.fract());
    let [a, b, c, d] = [9, 0, 1, 2].map(|step| values[(k + step) % 10]);
    b + 0.5 * t * (c - a + t * (2.0 * a - 5.0 * b + 4.0 * c - d + t * (3.0 * (b - c) + d - a)))
}

/// The pose at a phase of the cycle; the left heel strikes at 0, the right one at 0.5.
pub(super) fn pose(phase: f64) -> Angles {
    let mut angles = Angles::new();
    for (side, phase) in [(Side::Left, phase), (Side::Right, phase + 0.5)] {
        let mut put = |role, own: [f64; 3]| angles.insert(Slot::new(role, side), own);
        let hip = periodic(&HIP, phase);
        put(Role::Thigh, [hip, 0.0, 0.0]);
        put(Role::Shin, [periodic(&KNEE, phase), 0.0, 0.0]);
        put(Role::Foot, [periodic(&ANKLE, phase), 0.0, 0.0]);
        put(Role::Toes, [periodic(&TOES, phase), 0.0, 0.0]);
        // An arm goes with the other leg.
        let swing = -(std::f64::consts::TAU * phase).cos();
        put(Role::UpperArm, [4.0 + 20.0 * swing, 9.0, 0.0]);
        put(Role::Forearm, [24.0 + 12.0 * swing, 0.0, 0.0]);
    }
    let swing = (std::f64::consts::TAU * phase).cos();
    // The pelvis turns with the leading leg, the trunk against it.
    angles.insert(Slot::middle(Role::Hips), [3.0, 0.0, -5.0 * swing]);
    for k in 0..3 {
        angles.insert(Slot::middle(Role::Spine(k)), [0.0, 0.0, 10.0 / 3.0 * swing]);
    }
    angles.insert(Slot::middle(Role::Neck(0)), [-2.0, 0.0, -2.5 * swing]);
    angles.insert(Slot::middle(Role::Head), [0.0, 0.0, -2.5 * swing]);
    angles
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_pass_their_values_and_close() {
        for (k, value) in KNEE.iter().enumerate() {
            assert!((periodic(&KNEE, k as f64 / 10.0) - value).abs() < 1e-9);
        }
        assert!((periodic(&HIP, 0.37) - periodic(&HIP, 3.37)).abs() < 1e-9);
        assert!((periodic(&HIP, 0.999_999) - periodic(&HIP, 0.0)).abs() < 1e-3);
    }
}
