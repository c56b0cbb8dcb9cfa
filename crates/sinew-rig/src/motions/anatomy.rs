//! How the joints of a human turn: axes and limits.
//!
//! Left is x, up is y, front is z; the body stands upright, arms hang, palms face inward. Every joint has three angles:
//!
//! | | flex | side | twist |
//! |---|---|---|---|
//! | trunk, neck, head | forward | to the left | to the left |
//! | clavicle | forward | up | – |
//! | upper arm, thigh | forward | away from the body | inward |
//! | forearm | bends the elbow | – | turns the palm inward, then back |
//! | hand | toward the palm | toward the thumb | – |
//! | finger | toward the palm | toward the thumb | – |
//! | shin | bends the knee | – | – |
//! | foot, toes | toes up | sole inward | – |
//! | jaw | opens | – | – |
//!
//! Twist acts first, along the bone, then flex, then side. Limits are round numbers within the ranges of healthy adults
//! \[Soucie11\].

use sinew_math::{Quaternion, Vec3};

use crate::humanoid::{Finger, Role, Side, Slot};

/// Axes of flex, side and twist of a joint on the left side, or on the midline.
fn axes(role: Role) -> [Vec3; 3] {
    let (left, up, front) = (Vec3::unit(0), Vec3::unit(1), Vec3::unit(2));
    match role {
        Role::Hips | Role::Spine(_) | Role::Neck(_) | Role::Head | Role::Jaw | Role::Eye => [left, -front, up],
        Role::Clavicle => [-up, front, left],
        Role::UpperArm | Role::Thigh | Role::Forearm => [-left, front, -up],
        Role::Hand => [-front, -left, -up],
        // The thumb lies in front of the palm and bends across it.
        Role::Finger(Finger::Thumb, 1) => [Vec3::new(-0.75, 0.2, -0.62).normalized(), Vec3::new(-0.6, 0.0, 0.8), -up],
        Role::Finger(Finger::Thumb, _) => [Vec3::new(-0.90, 0.42, 0.05).normalized(), front, -up],
        Role::Finger(..) => [-front, -left, -up],
        Role::Shin => [left, front, -up],
        Role::Foot | Role::Toes => [-left, -front, up],
    }
}

/// Limits of flex, side and twist \[degrees\].
pub fn limits(role: Role) -> [[f64; 2]; 3] {
    const NONE: [f64; 2] = [0.0, 0.0];
    match role {
        Role::Hips => [[-20.0, 30.0], [-15.0, 15.0], [-30.0, 30.0]],
        // Of the whole spine, and of neck and head together.
        Role::Spine(_) => [[-20.0, 50.0], [-25.0, 25.0], [-35.0, 35.0]],
        Role::Neck(_) | Role::Head => [[-40.0, 40.0], [-30.0, 30.0], [-60.0, 60.0]],
        Role::Jaw => [[0.0, 20.0], NONE, NONE],
        Role::Eye => [[-20.0, 20.0], NONE, [-25.0, 25.0]],
        Role::Clavicle => [[-10.0, 15.0], [-5.0, 25.0], NONE],
        Role::UpperArm => [[-40.0, 150.0], [20.0, 140.0], [-50.0, 60.0]],
        Role::Forearm => [[0.0, 135.0], NONE, [-70.0, 70.0]],
        Role::Hand => [[-60.0, 70.0], [-20.0, 20.0], NONE],
        Role::Finger(_, 0) => [NONE, NONE, NONE],
        Role::Finger(Finger::Thumb, 1) => [[-10.0, 35.0], [-15.0, 15.0], NONE],
        Role::Finger(Finger::Thumb, 2) => [[0.0, 45.0], NONE, NONE],
        Role::Finger(Finger::Thumb, _) => [[0.0, 65.0], NONE, NONE],
        Role::Finger(_, 1) => [[-15.0, 85.0], [-10.0, 10.0], NONE],
        Role::Finger(_, 2) => [[0.0, 100.0], NONE, NONE],
        Role::Finger(..) => [[0.0, 65.0], NONE, NONE],
        Role::Thigh => [[-20.0, 100.0], [0.0, 40.0], [-30.0, 35.0]],
        Role::Shin => [[0.0, 130.0], NONE, NONE],
        Role::Foot => [[-40.0, 20.0], [-15.0, 15.0], NONE],
        Role::Toes => [[-15.0, 45.0], NONE, NONE],
    }
}

/// The rotation of a joint against its parent for angles \[degrees\]; the right side mirrors the left.
pub fn rotation(slot: Slot, [flex, side, twist]: [f64; 3]) -> Quaternion {
    let mirrored = |axis: Vec3| if slot.side == Side::Right { Vec3::new(axis.x, -axis.y, -axis.z) } else { axis };
    let [a, b, c] = axes(slot.role).map(mirrored);
    let turn = |axis: Vec3, degrees: f64| Quaternion::from_axis_angle(axis, degrees.to_radians());
    turn(b, side) * turn(a, flex) * turn(c, twist)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A vector of the left or right side, by what it is for the body.
    fn turned(role: Role, side: Side, angles: [f64; 3], v: Vec3) -> Vec3 {
        let mirror = |v: Vec3| if side == Side::Right { Vec3::new(-v.x, v.y, v.z) } else { v };
        mirror(rotation(Slot::new(role, side), angles).rotate(mirror(v)))
    }

    #[test]
    fn angles_turn_limbs_the_way_their_names_say() {
        let (left, up, front) = (Vec3::unit(0), Vec3::unit(1), Vec3::unit(2));
        for side in [Side::Left, Side::Right] {
            for (role, angles, from, to) in [
                (Role::UpperArm, [90.0, 0.0, 0.0], -up, front),
                (Role::UpperArm, [0.0, 90.0, 0.0], -up, left),
                (Role::UpperArm, [0.0, 0.0, 90.0], front, -left),
                (Role::Forearm, [90.0, 0.0, 0.0], -up, front),
                (Role::Hand, [90.0, 0.0, 0.0], -up, -left),
                (Role::Hand, [0.0, 90.0, 0.0], -up, front),
                (Role::Finger(Finger::Ring, 2), [90.0, 0.0, 0.0], -up, -left),
                (Role::Thigh, [90.0, 0.0, 0.0], -up, front),
                (Role::Thigh, [0.0, 90.0, 0.0], -up, left),
                (Role::Shin, [90.0, 0.0, 0.0], -up, -front),
                (Role::Foot, [90.0, 0.0, 0.0], front, up),
                (Role::Clavicle, [0.0, 90.0, 0.0], left, up),
                (Role::Clavicle, [90.0, 0.0, 0.0], left, front),
            ] {
                let found = turned(role, side, angles, from);
                assert!(found.distance(to) < 1e-12, "{role:?} {side:?}: {found:?}");
            }
        }
        for (angles, from, to) in
            [([90.0, 0.0, 0.0], up, front), ([0.0, 90.0, 0.0], up, left), ([0.0, 0.0, 90.0], front, left)]
        {
            let found = rotation(Slot::middle(Role::Spine(0)), angles).rotate(from);
            assert!(found.distance(to) < 1e-12, "{found:?}");
        }
    }
}
