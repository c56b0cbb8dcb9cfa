//! Two-bone inverse kinematics: an arm or a leg reaches a place.

use sinew_math::{Quaternion, Vec3};

use super::align::shortest;

/// Largest reach relative to the stretched limb: a fully straight one would snap.
const REACH: f64 = 0.9995;
/// Sine of the bend below which a limb has no plane of its own.
const STRAIGHT: f64 = 1e-3;

/// World rotations of the upper and of the lower bone that bring the end of a limb to a goal, or as near as it reaches.
///
/// The law of cosines gives the angle at the middle joint, in the plane in which the limb is bent; then the whole limb
/// swings toward the goal. `straight_axis` is the axis about which a straight limb bends.
pub(super) fn reach([root, middle, end]: [Vec3; 3], goal: Vec3, straight_axis: Vec3) -> Option<[Quaternion; 2]> {
    let (upper, lower) = (middle - root, end - middle);
    let lengths = [upper.norm(), lower.norm()];
    let least = 1e-9 * (lengths[0] + lengths[1]);
    if lengths[0] <= least || lengths[1] <= least {
        return None;
    }
    let limits = [(lengths[0] - lengths[1]).abs() + least, REACH * (lengths[0] + lengths[1])];
    let distance = root.distance(goal).clamp(limits[0], limits[1].max(limits[0]));
    let cosine = (lengths[0].powi(2) + lengths[1].powi(2) - distance * distance) / (2.0 * lengths[0] * lengths[1]);
    // The bend is what both bones are short of a straight line.
    let wanted = std::f64::consts::PI - cosine.clamp(-1.0, 1.0).acos();
    let across = upper.cross(lower);
    let sine = across.norm() / (lengths[0] * lengths[1]);
    let bend = across.norm().atan2(upper.dot(lower));
    let axis = if sine > STRAIGHT { across } else { straight_axis };
    if axis.norm() == 0.0 {
        return None;
    }
    let at_middle = Quaternion::from_axis_angle(axis.normalized(), wanted - bend);
    let folded = middle + at_middle.rotate(lower);
    let toward = goal - root;
    let swing = if toward.norm() > least && folded.distance(root) > least {
        shortest(folded - root, toward)
    } else {
        Quaternion::identity()
    };
    Some([swing, swing * at_middle])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limbs_reach_what_is_near_and_point_to_what_is_far() {
        let limb = [Vec3::new(0.0, 1.0, 0.0), Vec3::new(0.0, 0.55, 0.02), Vec3::new(0.0, 0.1, 0.0)];
        let stiff = [limb[0], Vec3::new(0.0, 0.55, 0.0), limb[2]];
        for limb in [limb, stiff] {
            for goal in [Vec3::new(0.2, 0.4, 0.3), Vec3::new(0.0, 0.12, 0.0), Vec3::new(0.0, 0.3, -0.4)] {
                let [upper, lower] = reach(limb, goal, Vec3::unit(0)).unwrap();
                let middle = limb[0] + upper.rotate(limb[1] - limb[0]);
                let end = middle + lower.rotate(limb[2] - limb[1]);
                assert!(end.distance(goal) < 1e-9, "{end:?} instead of {goal:?}");
            }
            let far = Vec3::new(2.0, 1.0, 0.0);
            let [upper, lower] = reach(limb, far, Vec3::unit(0)).unwrap();
            let end = limb[0] + upper.rotate(limb[1] - limb[0]) + lower.rotate(limb[2] - limb[1]);
            assert!((end - limb[0]).normalized().distance(Vec3::unit(0)) < 1e-9 && end.is_finite());
        }
        assert!(reach([limb[0]; 3], limb[2], Vec3::unit(0)).is_none());
    }
}
