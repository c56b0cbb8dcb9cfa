//! An arm: shoulder cap, biceps and triceps, elbow, forearm and a fist.

use sinew_math::Vec3;

use super::body::{Body, BoneHint, Chart, Joint};
use super::field::{Field, Lump};
use super::mesher::Symmetry;
use super::motion::{Motion, Trial, fold_and_swing, pulses, quick, to_and_fro, turn};
use super::poses::{Limit, POSE_SECONDS, Poses};
use super::weights::{Chain, Link};

/// Bend of the elbow at rest \[degrees\].
const REST_BEND: f64 = 5.0;

/// Landmarks of an arm along x, with y toward the biceps and −z toward the thumb \[m\].
pub(super) const SHOULDER: Vec3 = Vec3::new(0.04, 0.0, 0.0);
pub(super) const ELBOW: Vec3 = Vec3::new(0.335, 0.0, 0.0);
/// The forearm is slightly bent.
pub(super) const WRIST: Vec3 = Vec3::new(0.587, 0.022, 0.0);
const CLAVICLE: Vec3 = Vec3::new(-0.035, 0.0, 0.0);

/// Elbow hinge axis: bending takes x to y.
pub(super) const HINGE: Vec3 = Vec3::new(0.0, 0.0, 1.0);

fn along_forearm(part: f64, up: f64, front: f64) -> Vec3 {
    let axis = (WRIST - ELBOW).normalized();
    ELBOW.lerp(WRIST, part) + Vec3::new(-axis.y, axis.x, 0.0) * up + Vec3::unit(2) * front
}

/// Upper arm, forearm and fist from the shoulder on, without the shoulder itself.
pub(super) fn limb_lumps() -> Vec<Lump> {
    let v = Vec3::new;
    let (x, z) = (Vec3::unit(0), Vec3::unit(2));
    let forearm = (WRIST - ELBOW).normalized();
    let up = v(-forearm.y, forearm.x, 0.0);
    let at_fist = |along: f64, up_by: f64, front: f64| WRIST + forearm * along + up * up_by + z * front;
    let mut lumps = vec![
        Lump::cone(SHOULDER, ELBOW, [0.043, 0.033]).blend(0.02),
        // Deltoid.
        Lump::ellipsoid(v(0.065, 0.020, 0.0), v(1.0, -0.10, 0.0), z, [0.086, 0.053, 0.044]).blend(0.009),
        // Biceps; triceps with its long head and, toward the elbow, its lateral head.
        Lump::ellipsoid(v(0.215, 0.028, 0.002), x, z, [0.088, 0.034, 0.033]).blend(0.010),
        Lump::ellipsoid(v(0.175, -0.027, 0.008), x, z, [0.100, 0.035, 0.031]).blend(0.016),
        Lump::ellipsoid(v(0.215, -0.020, -0.014), x, z, [0.075, 0.025, 0.026]).blend(0.016),
        // Both ends of the humerus, and the tip of the ulna.
        Lump::cone(v(0.328, -0.004, -0.022), v(0.328, -0.004, 0.024), [0.019, 0.019]).blend(0.03),
        Lump::cone(v(0.335, -0.027, 0.004), v(0.355, -0.024, 0.004), [0.0125, 0.010]).blend(0.012),
        // Forearm: bellies of the flexors and of the brachioradialis, then tendons.
        Lump::cone(ELBOW, along_forearm(0.75, 0.0, 0.0), [0.034, 0.024]).blend(0.022),
        Lump::ellipsoid(along_forearm(0.30, 0.007, 0.014), forearm, z, [0.090, 0.031, 0.033]).blend(0.016),
        Lump::ellipsoid(along_forearm(0.19, 0.004, -0.015), forearm, z, [0.112, 0.029, 0.032]).blend(0.016),
        Lump::cone(along_forearm(0.62, 0.0, 0.0), along_forearm(1.05, 0.0, 0.0), [0.0235, 0.0225])
            .flattened(z, [1.22, 0.88])
            .blend(0.02),
        // The fist: its back, curled fingers, the ball of the thumb and the thumb across them.
        Lump::ellipsoid(at_fist(0.052, -0.002, 0.0), forearm, z, [0.050, 0.040, 0.027]).blend(0.018),
        Lump::ellipsoid(at_fist(0.030, 0.012, -0.020), forearm, z, [0.032, 0.020, 0.018]).blend(0.014),
    ];
    for (k, front) in [-0.030, -0.0105, 0.0095, 0.028].into_iter().enumerate() {
        let size = [1.0, 1.05, 1.0, 0.88][k];
        let reach = [0.082, 0.086, 0.082, 0.075][k];
        // Knuckle to middle joint, and back toward the palm.
        let knuckle = at_fist(reach, -0.009, front);
        let middle = at_fist(reach + 0.002, 0.026 * size, front * 0.95);
        let tip = at_fist(reach - 0.030, 0.033 * size, front * 0.92);
        lumps.push(Lump::cone(knuckle, middle, [0.0125 * size, 0.0108 * size]).blend(0.006));
        lumps.push(Lump::cone(middle, tip, [0.0108 * size, 0.0105 * size]).blend(0.004));
    }
    let thumb = [at_fist(0.030, 0.016, -0.036), at_fist(0.060, 0.036, -0.034), at_fist(0.068, 0.046, -0.004)];
    lumps.push(Lump::cone(thumb[0], thumb[1], [0.0135, 0.0115]).blend(0.010));
    lumps.push(Lump::cone(thumb[1], thumb[2], [0.0115, 0.0095]).blend(0.004));
    lumps
}

/// Links from the shoulder to the wrist for the given joints.
pub(super) fn limb_links(joints: [usize; 3]) -> [Link; 3] {
    let forearm = (WRIST - ELBOW).normalized();
    [
        Link { joint: joints[0], at: SHOULDER + Vec3::new(0.010, 0.0, 0.0), direction: Vec3::unit(0), reach: 0.050 },
        Link { joint: joints[1], at: ELBOW, direction: (Vec3::unit(0) + forearm).normalized(), reach: 0.042 },
        Link { joint: joints[2], at: WRIST, direction: forearm, reach: 0.026 },
    ]
}

/// Humerus, ulna and radius, moved by the given nodes.
pub(super) fn limb_bones(humerus: usize, ulna: usize) -> [BoneHint; 6] {
    let bone = |joint, from, to, radius| BoneHint { joint, from, to, radius, sliding: None };
    let (olecranon, head) = (Vec3::new(0.340, -0.024, 0.004), along_forearm(1.0, -0.004, 0.016));
    [
        bone(humerus, SHOULDER, ELBOW, 0.012),
        bone(humerus, ELBOW - HINGE * 0.024, ELBOW + HINGE * 0.024, 0.012),
        // The ulna is close to the skin at the elbow, and the skin slides over it.
        BoneHint { sliding: Some("ulna"), ..bone(ulna, olecranon, olecranon.lerp(head, 0.25), 0.008) },
        bone(ulna, olecranon.lerp(head, 0.30), head, 0.008),
        bone(ulna, along_forearm(0.06, 0.006, -0.014), along_forearm(0.98, 0.0, -0.014), 0.008),
        bone(ulna, along_forearm(0.92, 0.0, -0.012), along_forearm(0.92, 0.0, 0.014), 0.010),
    ]
}

pub(super) fn body() -> Body {
    let joint = |name: &str, parent, position| Joint { name: name.into(), parent, position };
    let joints = vec![
        joint("clavicle", None, CLAVICLE),
        joint("shoulder", Some(0), SHOULDER),
        joint("elbow", Some(1), ELBOW),
        joint("wrist", Some(2), WRIST),
    ];
    let v = Vec3::new;
    let mut trunk = vec![
        // The cut end: a rounded cap with a bit of chest and trapezius.
        Lump::upright(v(-0.012, 0.004, 0.0), [0.056, 0.054, 0.050]),
        Lump::cone(v(-0.016, -0.010, 0.0), v(0.10, -0.004, 0.0), [0.047, 0.038]).blend(0.03),
    ];
    trunk.extend(limb_lumps());
    let root = Link { joint: 0, at: CLAVICLE, direction: Vec3::unit(0), reach: 1.0 };
    let links = std::iter::once(root).chain(limb_links([1, 2, 3])).collect();
    let mut bones = vec![BoneHint {
        joint: 0,
        from: v(-0.045, 0.020, 0.0),
        to: v(0.010, 0.028, 0.0),
        radius: 0.010,
        sliding: None,
    }];
    bones.extend(limb_bones(1, 2));
    bones.push(BoneHint { joint: 3, from: WRIST, to: WRIST + v(0.075, 0.004, 0.0), radius: 0.014, sliding: None });
    Body {
        joints,
        chains: vec![Chain { links, limb: None }],
        field: Field { trunk, web: [0.0, 0.01], chain_count: 1, ..Field::default() },
        symmetry: Symmetry::None,
        chart: Chart::AroundX { rise: 0.04 },
        bones,
        motions: vec![
            Motion { name: "curl", turns: |time, seconds| curl(pulses(time, seconds, 1, quick(125.0))) },
            Motion { name: "reach", turns: |time, seconds| reach(pulses(time, seconds, 1, quick(80.0))) },
            Motion { name: "punch", turns: |time, _| punch(time) },
        ],
        trials: vec![
            Trial { name: "fast", frames: |times| times.iter().map(|&time| fast(time)).collect() },
            Trial { name: "poses", frames: |times| poses().frames(times) },
        ],
        melt: 0.006,
        skin_area: 0.217,
    }
}

/// The elbow bends from 5 to 130 degrees, the wrist a little.
fn curl(part: f64) -> super::motion::Turns {
    vec![(2, turn(HINGE, (130.0 - REST_BEND) * part)), (3, turn(HINGE, 15.0 * part))]
}

/// Fraction of a full curl to which a punch folds the elbow: forearm and upper arm touch.
const PUNCH: f64 = 0.85;

/// The elbow folds, then the folded arm swings at the shoulder.
fn punch(time: f64) -> super::motion::Turns {
    let (part, swing) = fold_and_swing(time, PUNCH * (130.0 - REST_BEND));
    let mut turns = curl(PUNCH * part);
    turns.push((1, turn(Vec3::unit(1), -swing)));
    turns
}

/// Folds and unfolds in five film frames each, while the shoulder swings at its own pace.
fn fast(time: f64) -> super::motion::Turns {
    let mut turns = curl(to_and_fro(time, 5.0));
    turns.push((1, turn(Vec3::unit(1), -50.0 * to_and_fro(time, 3.0))));
    turns
}

/// Random poses within an easy range of motion: the shoulder swings and turns, the elbow bends, the hand turns.
fn poses() -> Poses {
    let [x, y, z] = [0, 1, 2].map(Vec3::unit);
    let limit = |joint, axis, range| Limit { joint, axis, range };
    let Body { joints, bones, .. } = body();
    let limits = vec![
        limit(1, x, [-30.0, 30.0]),
        limit(1, y, [-50.0, 30.0]),
        limit(1, z, [-30.0, 50.0]),
        limit(2, HINGE, [0.0, 120.0]),
        limit(3, x, [-40.0, 40.0]),
        limit(3, z, [-50.0, 50.0]),
        limit(3, y, [-15.0, 20.0]),
    ];
    Poses { joints, bones, limits, may_touch: |a, b| a.abs_diff(b) < 2, clearance: CLEARANCE, seconds: POSE_SECONDS }
}

/// Smallest distance between bones that do not meet at a joint \[m\].
const CLEARANCE: f64 = 0.01;

/// Up and to the front: clavicle and shoulder rise, the upper arm rotates, the elbow bends halfway.
fn reach(part: f64) -> super::motion::Turns {
    let (y, z) = (Vec3::unit(1), Vec3::unit(2));
    vec![
        (0, turn(z, 22.0 * part) * turn(y, -12.0 * part)),
        (1, turn(y, -45.0 * part) * turn(z, 42.0 * part) * turn(Vec3::unit(0), 20.0 * part)),
        (2, turn(HINGE, 75.0 * part)),
        (3, turn(HINGE, -20.0 * part)),
    ]
}
