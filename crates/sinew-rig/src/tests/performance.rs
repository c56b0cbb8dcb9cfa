//! The way from rest to the first pose and through an animation.

use super::*;

#[test]
fn performances_lead_from_rest_to_the_first_pose_and_through_the_animation() {
    for (name, rig) in characters() {
        let flesh = flesh(rig);
        for animation in &rig.animations {
            // Where limbs are bent most; 0.1 is not representable in binary, which must not matter.
            for (start, preroll) in [(1.2, 0.5), (0.1, 0.3), (0.7, 0.0)] {
                let performance = Performance { rig, flesh: &flesh, animation: Some(animation), start, preroll };
                let rest = vec![Motion::identity(); flesh.joints.len()];
                let animated = |time: f64| flesh.motions(&rig.pose(Some(animation), time));
                if preroll > 0.0 {
                    for time in [-1.0, 0.0] {
                        assert!(worst_motion(&performance.motions(time), &rest) < 1e-14, "{name}");
                    }
                    let before = performance.motions(preroll * (1.0 - 1e-9));
                    assert!(worst_motion(&before, &animated(start)) < EXACT, "{name} {}", animation.name);
                }
                assert!(performance.motions(preroll) == animated(start), "{name} {}", animation.name);
                for time in [0.25, 1.0, 4.0] {
                    let error = worst_motion(&performance.motions(preroll + time), &animated(start + time));
                    assert!(error < EXACT, "{name} {}: {error}", animation.name);
                }
            }
        }
    }
}

#[test]
fn limbs_stay_whole_on_the_way_from_rest() {
    for (name, rig) in characters() {
        let flesh = flesh(rig);
        for animation in &rig.animations {
            let performance = Performance { rig, flesh: &flesh, animation: Some(animation), start: 1.25, preroll: 0.5 };
            let is_still = |channel: &Channel| {
                matches!(&channel.keys, Keys::Translation(_)) && rig.nodes[channel.node].parent.is_some()
            };
            assert!(!animation.channels.iter().any(is_still), "{name}: {} stretches limbs", animation.name);
            for k in 0..=10 {
                let motions = performance.motions(0.05 * f64::from(k));
                for (joint, motion) in flesh.joints.iter().zip(&motions) {
                    let Some(parent) = joint.parent else { continue };
                    // The joint has the same position relative to its parent, seen from both.
                    let error = motions[parent].to_world(joint.place).distance(motion.to_world(joint.place));
                    assert!(error < EXACT, "{name}, {}, {}: {error}", animation.name, joint.name);
                }
            }
        }
    }
}

/// Without an animation, always at rest.
#[test]
fn without_animation_everything_rests() {
    let rig = arm();
    let flesh = flesh(&rig);
    let performance = Performance { rig: &rig, flesh: &flesh, animation: None, start: 0.0, preroll: 0.5 };
    for time in [0.0, 0.3, 0.5, 7.0] {
        assert!(worst_motion(&performance.motions(time), &vec![Motion::identity(); flesh.joints.len()]) < EXACT);
    }
}
