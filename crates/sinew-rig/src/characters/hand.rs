//! A right hand, fingers up and palm to the front: thumb toward +x, little finger toward −x.

use sinew_math::{Quaternion, Vec3};

use super::body::{Body, BoneHint, Chart, Joint};
use super::field::{Field, Lump};
use super::mesher::Symmetry;
use super::motion::{Motion, Trial, Turns, ease, fold_and_swing, pulses, quick, swing, to_and_fro, turn, turn_between};
use super::poses::{Limit, POSE_SECONDS, Poses};
use super::weights::{Chain, Link};

const FOREARM: usize = 0;
const PALM: usize = 1;
/// First joint of the first finger; those of the others follow.
const FIRST_FINGER: usize = 2;

/// A finger other than the thumb.
struct Finger {
    name: &'static str,
    /// Its knuckle \[m\].
    knuckle: Vec3,
    /// Angle away from the middle finger \[degrees\].
    spread: f64,
    /// Lengths of the three phalanges, the last to the center of the tip \[m\].
    lengths: [f64; 3],
    /// Radii at the knuckle, at both joints and at the tip \[m\].
    radii: [f64; 4],
    /// Bend angles of its joints at rest \[degrees\].
    rest_bends: [f64; 3],
}

/// Index to little finger; lengths and widths of an adult man (middle of the usual ranges, rounded).
const FINGERS: [Finger; 4] = [
    Finger {
        name: "index",
        knuckle: Vec3::new(0.0325, 0.0900, 0.0),
        spread: 8.0,
        lengths: [0.0420, 0.0250, 0.0180],
        radii: [0.0093, 0.0085, 0.0077, 0.0069],
        rest_bends: [10.0, 14.0, 8.0],
    },
    Finger {
        name: "middle",
        knuckle: Vec3::new(0.0098, 0.0930, -0.001),
        spread: 1.0,
        lengths: [0.0460, 0.0290, 0.0195],
        radii: [0.0095, 0.0087, 0.0078, 0.0070],
        rest_bends: [12.0, 15.0, 8.0],
    },
    Finger {
        name: "ring",
        knuckle: Vec3::new(-0.0128, 0.0890, 0.0),
        spread: -6.0,
        lengths: [0.0430, 0.0265, 0.0185],
        radii: [0.0091, 0.0083, 0.0074, 0.0067],
        rest_bends: [14.0, 17.0, 9.0],
    },
    Finger {
        name: "little",
        knuckle: Vec3::new(-0.0340, 0.0795, 0.002),
        spread: -15.0,
        lengths: [0.0340, 0.0195, 0.0165],
        radii: [0.0082, 0.0074, 0.0066, 0.0059],
        rest_bends: [16.0, 18.0, 10.0],
    },
];

/// Bend angles of a fist: at the knuckle, the middle joint and the last joint \[degrees\]. With less, fingertips miss
/// the palm.
const FIST_BENDS: [f64; 3] = [84.0, 103.0, 66.0];

/// Joints of the thumb: at the wrist, the knuckle, the last joint, and the center of the tip \[m\].
const THUMB: [Vec3; 4] = [
    Vec3::new(0.0215, 0.0160, 0.0070),
    Vec3::new(0.0480, 0.0420, 0.0240),
    Vec3::new(0.0640, 0.0700, 0.0340),
    Vec3::new(0.0715, 0.0940, 0.0385),
];

/// Directions of the thumb's bones in a fist: over the index and the middle finger.
const THUMB_IN_FIST: [Vec3; 3] =
    [Vec3::new(0.44, 0.66, 0.58), Vec3::new(-0.30, 0.72, 0.60), Vec3::new(-0.95, 0.26, 0.02)];

impl Finger {
    /// Hinge axis: bending takes +y to +z.
    fn hinge(&self) -> Vec3 {
        let (sine, cosine) = self.spread.to_radians().sin_cos();
        Vec3::new(cosine, -sine, 0.0)
    }

    /// Knuckle, both joints and the center of the tip.
    fn places(&self) -> [Vec3; 4] {
        let (sine, cosine) = self.spread.to_radians().sin_cos();
        let mut places = [self.knuckle; 4];
        let mut bend = 0.0;
        for k in 0..3 {
            bend += self.rest_bends[k];
            let direction = turn(self.hinge(), bend).rotate(Vec3::new(sine, cosine, 0.0));
            places[k + 1] = places[k] + direction * self.lengths[k];
        }
        places
    }

    /// Start of its metacarpal.
    fn root(&self) -> Vec3 {
        Vec3::new(0.42 * self.knuckle.x, 0.018, 0.0)
    }
}

/// Joint of a finger: its metacarpal is number 0.
fn finger_joint(finger: usize, number: usize) -> usize {
    FIRST_FINGER + 4 * finger + number
}

/// Joint of the thumb: its metacarpal is number 0.
fn thumb_joint(number: usize) -> usize {
    finger_joint(FINGERS.len(), number)
}

fn joints() -> Vec<Joint> {
    let joint = |name: String, parent, position| Joint { name, parent, position };
    let mut joints = vec![
        joint("forearm".into(), None, Vec3::new(0.0, -0.060, 0.0)),
        joint("wrist".into(), Some(FOREARM), Vec3::zero()),
    ];
    for finger in &FINGERS {
        let first = joints.len();
        joints.push(joint(format!("{}.metacarpal", finger.name), Some(PALM), finger.root()));
        for (k, name) in ["proximal", "middle", "distal"].into_iter().enumerate() {
            joints.push(joint(format!("{}.{name}", finger.name), Some(first + k), finger.places()[k]));
        }
    }
    let first = joints.len();
    for (k, name) in ["metacarpal", "proximal", "distal"].into_iter().enumerate() {
        let parent = if k == 0 { PALM } else { first + k - 1 };
        joints.push(joint(format!("thumb.{name}"), Some(parent), THUMB[k]));
    }
    joints
}

/// The chain of the palm comes first, then those of the metacarpals of fingers and thumb, then those of fingers and
/// thumb.
const METACARPAL_CHAINS: usize = 1;
const FINGER_CHAINS: usize = 6;

fn chains() -> Vec<Chain> {
    let y = Vec3::unit(1);
    let forearm = Link { joint: FOREARM, at: Vec3::zero(), direction: y, reach: 1.0 };
    let palm = Link { joint: PALM, at: Vec3::new(0.0, -0.002, 0.0), direction: y, reach: 0.020 };
    let mut chains = vec![Chain { links: vec![forearm, palm], limb: None }];
    let metacarpal = |finger: usize| {
        let axis = (FINGERS[finger].knuckle - FINGERS[finger].root()).normalized();
        let at = FINGERS[finger].root().lerp(FINGERS[finger].knuckle, 0.35);
        Link { joint: finger_joint(finger, 0), at, direction: axis, reach: 0.025 }
    };
    let thumb_axis = (THUMB[1] - THUMB[0]).normalized();
    let thumb_metacarpal =
        Link { joint: thumb_joint(0), at: THUMB[0].lerp(THUMB[1], 0.15), direction: thumb_axis, reach: 0.020 };
    for finger in 0..4 {
        chains.push(Chain { links: vec![forearm, palm, metacarpal(finger)], limb: None });
    }
    chains.push(Chain { links: vec![forearm, palm, thumb_metacarpal], limb: None });
    for finger in 0..4 {
        let places = FINGERS[finger].places();
        let mut links = vec![palm, metacarpal(finger)];
        for k in 0..3 {
            let before = if k == 0 { FINGERS[finger].root() } else { places[k - 1] };
            let direction = ((places[k] - before).normalized() + (places[k + 1] - places[k]).normalized()).normalized();
            let reach = FINGERS[finger].radii[k] * if k == 0 { 1.3 } else { 1.0 };
            links.push(Link { joint: finger_joint(finger, k + 1), at: places[k], direction, reach });
        }
        chains.push(Chain { links, limb: Some(finger) });
    }
    let mut links = vec![palm, thumb_metacarpal];
    for k in 1..3 {
        let direction = ((THUMB[k] - THUMB[k - 1]).normalized() + (THUMB[k + 1] - THUMB[k]).normalized()).normalized();
        links.push(Link { joint: thumb_joint(k), at: THUMB[k], direction, reach: 0.0105 });
    }
    chains.push(Chain { links, limb: Some(4) });
    chains
}

fn field() -> Field {
    let v = Vec3::new;
    let (x, y) = (Vec3::unit(0), Vec3::unit(1));
    let mut trunk = vec![
        Lump::cone(v(0.0, -0.072, 0.0), v(0.0, 0.004, 0.0), [0.0235, 0.0190]).flattened(x, [1.32, 0.96]),
        // The palm, and its pads below the thumb and the little finger.
        Lump::ellipsoid(v(0.001, 0.050, 0.0012), y, x, [0.050, 0.036, 0.0140]).blend(0.012),
        Lump::ellipsoid(v(-0.0225, 0.034, 0.0075), v(-0.25, 1.0, 0.0), x, [0.032, 0.0155, 0.0135]).blend(0.009),
    ];
    // Metacarpals blend into one slab, with low ridges to the knuckles on the back of the hand.
    for (finger, Finger { knuckle, radii, .. }) in FINGERS.iter().enumerate() {
        let chain = METACARPAL_CHAINS + finger;
        let start = v(0.45 * knuckle.x, 0.010, 0.0);
        trunk.push(Lump::cone(start, *knuckle, [0.0135, radii[0] + 0.0003]).blend(0.009).moved_by(chain));
        let bump = *knuckle + v(0.0, 0.001, -0.0048);
        trunk.push(Lump::ellipsoid(bump, y, x, [0.0095, 0.0066, 0.0062]).blend(0.004).moved_by(chain));
        // The pad below the finger.
        let pad = *knuckle + v(-0.06 * knuckle.x, -0.002, 0.0052);
        trunk.push(Lump::ellipsoid(pad, x, y, [0.0095, 0.0090, 0.0062]).blend(0.008).moved_by(chain));
    }
    let thumb_chain = METACARPAL_CHAINS + 4;
    let along_thumb = THUMB[1] - THUMB[0];
    trunk.push(Lump::cone(THUMB[0], THUMB[1], [0.0125, 0.0105]).blend(0.012).moved_by(thumb_chain));
    trunk.push(
        Lump::ellipsoid(
            THUMB[0].lerp(THUMB[1], 0.50) + v(-0.003, 0.001, 0.001),
            along_thumb,
            x,
            [0.026, 0.0145, 0.0155],
        )
        .blend(0.010)
        .moved_by(thumb_chain),
    );
    // Skin between the thumb and the index finger.
    trunk.push(
        Lump::cone(THUMB[0].lerp(THUMB[1], 0.70), v(0.026, 0.066, 0.004), [0.0075, 0.0080])
            .blend(0.016)
            .moved_by(thumb_chain),
    );
    let mut branches = Vec::new();
    for (finger, spec) in FINGERS.iter().enumerate() {
        branches.push(phalanges(&spec.places(), &spec.radii, FINGER_CHAINS + finger));
    }
    branches.push(phalanges(&THUMB[1..], &[0.0112, 0.0102, 0.0082], FINGER_CHAINS + 4));
    Field { trunk, branches, branch_blend: 0.006, web: [0.004, 0.006], chain_count: FINGER_CHAINS + 5 }
}

/// Round cones with bumps at the joints, a soft pad and a flattened back at the tip.
fn phalanges(places: &[Vec3], radii: &[f64], chain: usize) -> Vec<Lump> {
    let mut lumps: Vec<Lump> = Vec::new();
    let last = places.len() - 1;
    for k in 0..last {
        lumps.push(Lump::cone(places[k], places[k + 1], [radii[k], radii[k + 1]]).blend(0.0020).moved_by(chain));
        if k > 0 {
            let along = places[k + 1] - places[k - 1];
            let size = radii[k];
            let bump = [size * 1.25, size * 1.035, size * 1.00];
            lumps.push(Lump::ellipsoid(places[k], along, Vec3::unit(0), bump).blend(0.003).moved_by(chain));
        }
        // Flesh between the creases on the palm side.
        if k + 1 < last {
            let direction = (places[k + 1] - places[k]).normalized();
            let palmar = (Vec3::unit(2) - direction * direction.z).normalized();
            let size = 0.5 * (radii[k] + radii[k + 1]);
            let belly = [0.42 * (places[k + 1] - places[k]).norm(), size * 0.88, size * 0.80];
            let center = places[k].lerp(places[k + 1], 0.5) + palmar * (size * 0.34);
            lumps.push(Lump::ellipsoid(center, direction, Vec3::unit(0), belly).blend(0.004).moved_by(chain));
        }
    }
    let direction = (places[last] - places[last - 1]).normalized();
    let across = direction.cross(Vec3::unit(2)).normalized();
    let palmar = across.cross(direction);
    let size = radii[last];
    let pulp = places[last] + palmar * (0.16 * size) - direction * (0.30 * size);
    lumps.push(
        Lump::ellipsoid(pulp, direction, across, [size * 1.45, size * 1.01, size * 0.95]).blend(0.003).moved_by(chain),
    );
    lumps
}

fn bones() -> Vec<BoneHint> {
    let v = Vec3::new;
    let bone = |joint, from, to, radius| BoneHint { joint, from, to, radius, sliding: None };
    let mut bones = vec![
        bone(FOREARM, v(0.011, -0.068, 0.0), v(0.012, -0.006, 0.0), 0.008),
        bone(FOREARM, v(-0.013, -0.068, 0.0), v(-0.014, -0.006, 0.0), 0.007),
        bone(PALM, v(-0.012, 0.010, 0.0), v(0.012, 0.010, 0.0), 0.009),
    ];
    for (finger, spec) in FINGERS.iter().enumerate() {
        let places = spec.places();
        bones.push(bone(finger_joint(finger, 0), spec.root(), spec.knuckle, 0.0050));
        for k in 0..3 {
            let radius = 0.52 * spec.radii[k + 1];
            bones.push(bone(finger_joint(finger, k + 1), places[k], places[k + 1], radius));
        }
    }
    for k in 0..3 {
        bones.push(bone(thumb_joint(k), THUMB[k], THUMB[k + 1], [0.0058, 0.0050, 0.0040][k]));
    }
    bones
}

pub(super) fn body() -> Body {
    Body {
        joints: joints(),
        chains: chains(),
        field: field(),
        symmetry: Symmetry::None,
        chart: Chart::FrontAndBack,
        bones: bones(),
        motions: vec![
            Motion { name: "fist", turns: |time, seconds| fist(pulses(time, seconds, 1, quick(66.0))) },
            Motion { name: "wave", turns: wave },
            Motion { name: "knock", turns: |time, _| knock(time) },
        ],
        trials: vec![
            Trial { name: "roll", frames: |times| times.iter().map(|&time| roll(time)).collect() },
            Trial { name: "fast", frames: |times| times.iter().map(|&time| fast(time)).collect() },
            Trial { name: "poses", frames: |times| poses().frames(times) },
        ],
        melt: 0.005,
        skin_area: 0.0587,
    }
}

/// Rotations of a finger for additional bends at its joints \[degrees\], and a rotation of its metacarpal.
fn bend(finger: usize, cup: f64, closing: f64, bends: [f64; 3], turns: &mut Turns) {
    let spec = &FINGERS[finger];
    turns.push((finger_joint(finger, 0), turn(spec.hinge(), cup)));
    for k in 0..3 {
        let mut rotation = turn(spec.hinge(), bends[k]);
        if k == 0 {
            // Closing fingers come together: first the spread vanishes, then they lean on each other.
            let lean = turn(Vec3::unit(1), closing * [-7.0, -1.0, 5.5, 10.5][finger]);
            rotation = lean * turn(Vec3::unit(2), closing * spec.spread) * rotation;
        }
        turns.push((finger_joint(finger, k + 1), rotation));
    }
}

/// Fingers curl, then the thumb folds over them.
fn fist(part: f64) -> Turns {
    // The thumb closes late and opens early, to stay clear of the fingers.
    closed([part; 4], part * part, -12.0 * part)
}

/// Fingers and thumb between rest and fist, and a bend of the wrist \[degrees\].
fn closed(fingers: [f64; 4], thumb: f64, wrist: f64) -> Turns {
    let mut turns = vec![(PALM, turn(Vec3::unit(0), wrist))];
    for (finger, part) in fingers.into_iter().enumerate() {
        let bends = [0, 1, 2].map(|k| part * (FIST_BENDS[k] - FINGERS[finger].rest_bends[k]));
        bend(finger, part * [0.0, 0.0, 3.0, 7.0][finger], 0.95 * part, bends, &mut turns);
    }
    let mut parent = Quaternion::identity();
    for k in 0..3 {
        let rest = THUMB[k + 1] - THUMB[k];
        let world = Quaternion::identity().slerp(turn_between(rest, THUMB_IN_FIST[k]), thumb);
        turns.push((thumb_joint(k), parent.conjugate() * world));
        parent = world;
    }
    turns
}

/// Time for one finger of the rolling fist to close, and from one finger to the next \[s\].
const ROLL: f64 = 0.55;
const ROLL_LAG: f64 = 0.07;
/// Time until the rolling fist begins to open \[s\].
const ROLL_HOLD: f64 = 1.25;

/// One finger after another closes, the little finger first, and the thumb over them; then they open again, the thumb
/// first. It takes two seconds.
fn roll(time: f64) -> Turns {
    let way = |begin: f64, seconds: f64| ease((time - begin) / seconds);
    let fingers = [3.0, 2.0, 1.0, 0.0].map(|turn| {
        let close = way(0.04 + turn * ROLL_LAG, ROLL);
        close - way(ROLL_HOLD + 0.14 + (3.0 - turn) * 0.5 * ROLL_LAG, 0.5)
    });
    let thumb = way(0.5, 0.5) - way(ROLL_HOLD, 0.4);
    closed(fingers, thumb, -12.0 * (way(0.1, 0.8) - way(ROLL_HOLD, 0.7)))
}

/// Fraction of a full fist to which fingers close for a knock: in a full fist, bones come too close for flesh to keep
/// its volume.
const KNOCK: f64 = 0.66;

/// The fist closes, then knocks.
fn knock(time: f64) -> Turns {
    let (part, swing) = fold_and_swing(time, KNOCK * 90.0);
    let mut turns = fist(KNOCK * part);
    turns[0].1 = turn(Vec3::unit(0), swing) * turns[0].1;
    turns
}

/// The wrist swings and a wave runs through the fingers.
fn wave(time: f64, seconds: f64) -> Turns {
    let swings = swing(time, seconds, 35.0);
    let mut turns = vec![(PALM, turn(Vec3::unit(2), 28.0 * swings) * turn(Vec3::unit(0), 35.0 * swings))];
    for finger in 0..4 {
        // Neighbors follow each other; all are at rest at both ends.
        let calm = (std::f64::consts::PI * time / seconds).sin().abs().sqrt();
        let lag = 0.08 * seconds * finger as f64 / 3.0;
        let ripple = 0.5 * calm * (1.0 - (2.0 * std::f64::consts::TAU * (time - lag) / seconds).cos());
        bend(finger, 0.0, 0.3 * ripple, [38.0 * ripple, 55.0 * ripple, 30.0 * ripple], &mut turns);
    }
    turns.push((thumb_joint(1), turn(Vec3::new(0.0, -0.3, 1.0), 12.0 * swings)));
    turns
}

/// The fist closes and opens in five film frames each, while the wrist swings at its own pace.
fn fast(time: f64) -> Turns {
    let mut turns = fist(to_and_fro(time, 5.0));
    let swing = 2.0 * to_and_fro(time, 3.0) - 1.0;
    turns[0].1 = turn(Vec3::unit(0), 40.0 * (swing + 1.0)) * turns[0].1;
    turns
}

/// Random poses within the range of motion of a relaxed hand.
pub(super) fn poses() -> Poses {
    let (x, y, z) = (Vec3::unit(0), Vec3::unit(1), Vec3::unit(2));
    let limit = |joint, axis, range| Limit { joint, axis, range };
    let mut limits = vec![limit(PALM, x, [-50.0, 50.0]), limit(PALM, z, [-15.0, 25.0])];
    for (k, finger) in FINGERS.iter().enumerate() {
        // Clinical ranges of motion, measured from the straight finger.
        let bends = [[-15.0, 85.0], [0.0, 100.0], [0.0, 65.0]];
        for (number, range) in bends.into_iter().enumerate() {
            let joint = finger_joint(k, number + 1);
            limits.push(limit(joint, finger.hinge(), range.map(|bend| bend - finger.rest_bends[number])));
            if number == 0 {
                limits.push(limit(joint, z, [-8.0, 8.0]));
            }
        }
    }
    let [root, middle, tip] = [0, 1, 2].map(|k| (THUMB[k + 1] - THUMB[k]).normalized());
    // Across the palm, away from it, and bent toward the fingers.
    limits.push(limit(thumb_joint(0), z, [-10.0, 45.0]));
    limits.push(limit(thumb_joint(0), root.cross(z).normalized(), [-15.0, 15.0]));
    limits.push(limit(thumb_joint(1), middle.cross(y).normalized(), [-5.0, 50.0]));
    limits.push(limit(thumb_joint(2), tip.cross(y).normalized(), [-10.0, 70.0]));
    Poses { joints: joints(), bones: bones(), limits, may_touch, clearance: CLEARANCE, seconds: POSE_SECONDS }
}

/// Smallest distance between bones of different fingers, and of fingers and palm: as in the closed fist \[m\].
const CLEARANCE: f64 = 0.002;

/// Whether both are bones of one finger, or both within the palm.
fn may_touch(a: usize, b: usize) -> bool {
    let is_of_palm = |joint: usize| joint < FIRST_FINGER || (joint - FIRST_FINGER).is_multiple_of(4);
    let finger = |joint: usize| (joint >= FIRST_FINGER).then(|| (joint - FIRST_FINGER) / 4);
    (is_of_palm(a) && is_of_palm(b)) || finger(a).is_some_and(|a| finger(b) == Some(a))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rolling fist begins and ends at rest, is a fist in the middle, and starts with the little finger.
    #[test]
    fn the_rolling_fist_closes_and_opens() {
        let distance = |a: &Turns, b: &Turns| {
            let turns = a.iter().zip(b).map(|(a, b)| (a.1.conjugate() * b.1).log_map().norm());
            turns.fold(0.0, f64::max)
        };
        assert!(distance(&roll(0.0), &fist(0.0)) < 1e-9 && distance(&roll(2.0), &fist(0.0)) < 1e-9);
        assert!(distance(&roll(1.2), &fist(1.0)) < 1e-9);
        let way = roll(0.3);
        let bend = |finger: usize| {
            let joint = finger_joint(finger, 2);
            way.iter().find(|turn| turn.0 == joint).map_or(0.0, |turn| turn.1.log_map().norm())
        };
        assert!(bend(3) > bend(2) && bend(2) > bend(1) && bend(1) > bend(0), "{} to {}", bend(0), bend(3));
    }

    /// 100 poses, including the motion between them: bones stay apart, no pose repeats, and some are nearly as tight as
    /// a fist.
    #[test]
    fn random_poses_are_possible_and_differ() {
        let poses = poses();
        let times: Vec<f64> = (0..=1000).map(|frame| f64::from(frame) / 24.0).collect();
        let frames = poses.frames(&times);
        let distances: Vec<f64> = frames.iter().map(|turns| poses.least_distance(turns)).collect();
        let least = distances.iter().copied().fold(f64::INFINITY, f64::min);
        // The motion is sampled at only eight points.
        assert!(least > CLEARANCE - 0.001, "{least} m");
        assert!(distances.iter().filter(|distance| **distance < 0.005).count() > 50);
        let reached: Vec<&Turns> = frames.iter().step_by(10).collect();
        assert!(reached[0].iter().all(|(_, turn)| turn.log_map().norm() < 1e-9));
        for (k, turns) in reached.iter().enumerate() {
            assert!(reached[..k].iter().all(|other| other != turns), "pose {k} repeats an earlier one");
        }
    }
}
