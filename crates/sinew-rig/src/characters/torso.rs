//! A body from the hips to the head with both arms half lowered; the left side mirrors the right.

use sinew_math::{Quaternion, Vec3};

use super::arm;
use super::body::{Body, BoneHint, Chart, Joint};
use super::field::{Field, Lump, frame, mirrored};
use super::mesher::Symmetry;
use super::motion::{Motion, Trial, Turns, fold_and_swing, pulses, quick, swing, turn, turn_between};
use super::weights::{Chain, Link};
use crate::affine::Affine;

const HIPS: usize = 0;
const SPINE: usize = 1;
const CHEST: usize = 2;
const NECK: usize = 3;
const HEAD: usize = 4;
/// Joints of the left and of the right side.
const CLAVICLES: [usize; 2] = [5, 8];
const UPPER_ARMS: [usize; 2] = [6, 9];
const FOREARMS: [usize; 2] = [7, 10];

/// The left shoulder, and the inner end of the clavicle \[m\].
const SHOULDER: Vec3 = Vec3::new(0.178, 1.405, -0.022);
const CLAVICLE: Vec3 = Vec3::new(0.025, 1.420, 0.010);

/// Size of the arm relative to the stand-alone arm.
const ARM_SCALE: f64 = 1.0;

/// From the stand-alone arm to the left one: down by 45 degrees, biceps to the front.
fn left_arm() -> Affine {
    let s = 0.5f64.sqrt();
    let along = Vec3::new(s, -s, 0.0);
    let biceps = Vec3::new(0.10, 0.10, 1.0).normalized();
    let columns = [along, biceps, along.cross(biceps)].map(|column| column * ARM_SCALE);
    let place = frame(Vec3::zero(), columns);
    Affine { translation: SHOULDER - place.apply(arm::SHOULDER), ..place }
}

fn joints() -> Vec<Joint> {
    let v = Vec3::new;
    let joint = |name: &str, parent, position| Joint { name: name.into(), parent, position };
    let mut joints = vec![
        joint("hips", None, v(0.0, 0.950, 0.0)),
        joint("spine", Some(HIPS), v(0.0, 1.040, -0.020)),
        joint("chest", Some(SPINE), v(0.0, 1.190, -0.020)),
        joint("neck", Some(CHEST), v(0.0, 1.465, -0.020)),
        joint("head", Some(NECK), v(0.0, 1.560, 0.000)),
    ];
    let elbow = left_arm().apply(arm::ELBOW);
    for (side, letter) in ["L", "R"].into_iter().enumerate() {
        let place = |p: Vec3| if side == 0 { p } else { mirrored(p) };
        joints.push(joint(&format!("clavicle.{letter}"), Some(CHEST), place(CLAVICLE)));
        joints.push(joint(&format!("upper_arm.{letter}"), Some(CLAVICLES[side]), place(SHOULDER)));
        joints.push(joint(&format!("forearm.{letter}"), Some(UPPER_ARMS[side]), place(elbow)));
    }
    joints
}

/// Chains of the trunk, of the shoulders, and of the arms.
const TRUNK_CHAIN: usize = 0;
const SHOULDER_CHAINS: [usize; 2] = [1, 2];
const ARM_CHAINS: [usize; 2] = [3, 4];

fn chains() -> Vec<Chain> {
    let link = |joint, at, direction: Vec3, reach| Link { joint, at, direction: direction.normalized(), reach };
    let v = Vec3::new;
    let y = Vec3::unit(1);
    let spine = vec![
        link(HIPS, Vec3::zero(), y, 1.0),
        link(SPINE, v(0.0, 1.030, 0.0), y, 0.075),
        link(CHEST, v(0.0, 1.180, 0.0), y, 0.085),
        link(NECK, v(0.0, 1.480, 0.0), v(0.0, 1.0, 0.15), 0.035),
        link(HEAD, v(0.0, 1.555, 0.020), v(0.0, 1.0, -0.55), 0.030),
    ];
    let place = left_arm();
    let of_arm = arm::limb_links([UPPER_ARMS[0], FOREARMS[0], FOREARMS[0]]);
    // The forearm has no wrist.
    let arm_links = of_arm[..2].iter().map(|l| {
        let direction = (place.linear * l.direction).normalized();
        Link { at: place.apply(l.at), direction, reach: l.reach * ARM_SCALE, ..*l }
    });
    let clavicle = link(CLAVICLES[0], v(0.085, 1.430, 0.0), v(1.0, 0.25, 0.0), 0.055);
    // Arms hang beside the waist but do not follow it.
    let shoulder = vec![spine[CHEST], clavicle];
    let mut limb = shoulder.clone();
    limb.extend(arm_links);
    let other_side = |links: &[Link]| -> Vec<Link> {
        let other = |joint| {
            [CLAVICLES, UPPER_ARMS, FOREARMS].iter().find(|pair| pair[0] == joint).map_or(joint, |pair| pair[1])
        };
        let mirror =
            |l: &Link| Link { joint: other(l.joint), at: mirrored(l.at), direction: mirrored(l.direction), ..*l };
        links.iter().map(mirror).collect()
    };
    vec![
        Chain { links: spine.clone(), limb: None },
        Chain { links: shoulder.clone(), limb: None },
        Chain { links: other_side(&shoulder), limb: None },
        Chain { links: limb.clone(), limb: Some(0) },
        Chain { links: other_side(&limb), limb: Some(1) },
    ]
}

fn field() -> Field {
    let v = Vec3::new;
    let (x, y) = (Vec3::unit(0), Vec3::unit(1));
    let pair = |lump: Lump| lump.moved_by(TRUNK_CHAIN).paired(TRUNK_CHAIN);
    let of_shoulder = |lump: Lump| lump.moved_by(SHOULDER_CHAINS[0]).paired(SHOULDER_CHAINS[1]);
    let trunk = vec![
        // Pelvis, buttocks and the upper end of the thighs.
        Lump::upright(v(0.0, 0.945, -0.005), [0.165, 0.125, 0.108]),
        pair(Lump::upright(v(0.080, 0.890, -0.045), [0.085, 0.092, 0.080]).blend(0.035)),
        pair(Lump::cone(v(0.086, 0.900, 0.008), v(0.090, 0.850, 0.008), [0.088, 0.082]).blend(0.045)),
        // Waist, belly and chest.
        Lump::upright(v(0.0, 1.080, -0.002), [0.138, 0.170, 0.094]).blend(0.070),
        Lump::upright(v(0.0, 1.035, 0.050), [0.090, 0.100, 0.055]).blend(0.050),
        Lump::upright(v(0.0, 1.275, -0.012), [0.160, 0.190, 0.110]).blend(0.055),
        pair(Lump::ellipsoid(v(0.112, 1.260, -0.045), v(0.25, 1.0, 0.0), x, [0.140, 0.064, 0.060]).blend(0.040)),
        // Shoulder blades.
        pair(Lump::ellipsoid(v(0.085, 1.335, -0.085), v(-0.2, 1.0, 0.1), x, [0.075, 0.055, 0.032]).blend(0.030)),
        // Shoulder girdle and trapezius.
        of_shoulder(Lump::cone(v(0.040, 1.405, -0.020), v(0.155, 1.402, -0.022), [0.054, 0.052]).blend(0.045)),
        of_shoulder(Lump::cone(v(0.032, 1.495, -0.030), v(0.140, 1.438, -0.028), [0.040, 0.030]).blend(0.040)),
        // Pectorals: each from the breastbone out and up to the arm.
        of_shoulder(
            Lump::ellipsoid(v(0.080, 1.335, 0.066), v(1.0, 0.25, -0.42), y, [0.084, 0.062, 0.034]).blend(0.015),
        ),
        // Neck and head: brain case, face, jaw, chin, nose and ears.
        Lump::cone(v(0.0, 1.440, -0.022), v(0.0, 1.580, 0.000), [0.062, 0.056]).blend(0.035),
        Lump::upright(v(0.0, 1.662, -0.004), [0.076, 0.088, 0.096]).blend(0.020),
        Lump::upright(v(0.0, 1.628, 0.034), [0.064, 0.080, 0.064]).blend(0.020),
        pair(Lump::cone(v(0.050, 1.602, 0.006), v(0.018, 1.562, 0.068), [0.019, 0.019]).blend(0.030)),
        Lump::upright(v(0.0, 1.557, 0.078), [0.022, 0.016, 0.016]).blend(0.016),
        Lump::cone(v(0.0, 1.652, 0.090), v(0.0, 1.622, 0.103), [0.008, 0.0125]).blend(0.014),
        // Brows and lips.
        Lump::cone(v(-0.030, 1.668, 0.080), v(0.030, 1.668, 0.080), [0.014, 0.014]).blend(0.018),
        Lump::upright(v(0.0, 1.592, 0.089), [0.024, 0.011, 0.010]).blend(0.010),
        pair(
            Lump::ellipsoid(v(0.077, 1.632, -0.008), v(0.0, 1.0, -0.2), Vec3::unit(2), [0.030, 0.016, 0.009])
                .blend(0.008),
        ),
    ];
    let arm_lumps = |side: usize| -> Vec<Lump> {
        let mut place = left_arm();
        if side == 1 {
            // Reflects the result.
            let rows = [place.linear.row(0) * -1.0, place.linear.row(1), place.linear.row(2)];
            place.linear = sinew_math::Mat3::from_rows(rows[0], rows[1], rows[2]);
            place.translation = mirrored(place.translation);
        }
        arm::limb_lumps().into_iter().map(|lump| lump.placed(&place).moved_by(ARM_CHAINS[side])).collect()
    };
    let branches = vec![arm_lumps(0), arm_lumps(1)];
    Field { trunk, branches, branch_blend: 0.045, web: [0.0, 0.01], chain_count: 5 }
}

fn bones() -> Vec<BoneHint> {
    let v = Vec3::new;
    let bone = |joint, from, to, radius| BoneHint { joint, from, to, radius, sliding: None };
    let mut bones = vec![
        bone(HIPS, v(-0.080, 0.935, -0.010), v(0.080, 0.935, -0.010), 0.055),
        bone(HIPS, v(0.0, 0.950, -0.055), v(0.0, 1.040, -0.045), 0.022),
        bone(SPINE, v(0.0, 1.040, -0.045), v(0.0, 1.190, -0.050), 0.022),
        bone(CHEST, v(0.0, 1.190, -0.050), v(0.0, 1.465, -0.050), 0.022),
        // Breastbone.
        bone(CHEST, v(0.0, 1.240, 0.068), v(0.0, 1.395, 0.045), 0.014),
        bone(NECK, v(0.0, 1.465, -0.035), v(0.0, 1.560, -0.020), 0.020),
        // Skull and jaw.
        bone(HEAD, v(0.0, 1.655, -0.022), v(0.0, 1.655, 0.018), 0.064),
        bone(HEAD, v(0.0, 1.600, 0.050), v(0.0, 1.572, 0.062), 0.024),
    ];
    let place = left_arm();
    let mut left = vec![
        bone(CLAVICLES[0], CLAVICLE, v(0.150, 1.425, -0.015), 0.008),
        // Shoulder blade.
        bone(CLAVICLES[0], v(0.085, 1.300, -0.080), v(0.120, 1.400, -0.060), 0.014),
    ];
    // Ribs: from the spine around the side to the breastbone.
    for height in [1.215, 1.255, 1.295, 1.335, 1.375] {
        let shrink = 1.0 - 6.0 * (height - 1.275f64).powi(2) / 0.1;
        let side = v(0.118 * shrink, height - 0.010, -0.015);
        let front = v(0.070 * shrink, height - 0.025, 0.062 * shrink);
        bones_along(
            &[
                v(0.020, height + 0.020, -0.055),
                v(0.085 * shrink, height + 0.010, -0.070),
                side,
                front,
                v(0.012, height, 0.068),
            ],
            &mut left,
        );
    }
    left.extend(arm::limb_bones(UPPER_ARMS[0], FOREARMS[0]).map(|b| BoneHint {
        from: place.apply(b.from),
        to: place.apply(b.to),
        radius: b.radius * ARM_SCALE,
        ..b
    }));
    let fist = [place.apply(arm::WRIST), place.apply(arm::WRIST + v(0.075, 0.006, 0.0))];
    left.push(bone(FOREARMS[0], fist[0], fist[1], 0.014));
    for b in left {
        let other =
            [CLAVICLES, UPPER_ARMS, FOREARMS].iter().find(|pair| pair[0] == b.joint).map_or(b.joint, |pair| pair[1]);
        bones.push(b);
        bones.push(BoneHint { joint: other, from: mirrored(b.from), to: mirrored(b.to), ..b });
    }
    bones
}

/// A rib through the given points.
fn bones_along(places: &[Vec3], bones: &mut Vec<BoneHint>) {
    bones.extend(places.windows(2).map(|ends| BoneHint {
        joint: CHEST,
        from: ends[0],
        to: ends[1],
        radius: 0.007,
        sliding: None,
    }));
}

pub(super) fn body() -> Body {
    Body {
        joints: joints(),
        chains: chains(),
        field: field(),
        symmetry: Symmetry::Mirror,
        chart: Chart::FrontAndBack,
        bones: bones(),
        motions: vec![
            Motion {
                name: "shrug",
                turns: |time, seconds| {
                    // As many as time allows for quick ones with equal rest.
                    let count = (seconds / 0.8).round().max(1.0) as usize;
                    shrug(pulses(time, seconds, count, quick(25.0)))
                },
            },
            Motion { name: "twist", turns: |time, seconds| twist(swing(time, seconds, 40.0)) },
            Motion { name: "press", turns: |time, seconds| press(pulses(time, seconds, 1, quick(75.0))) },
            Motion { name: "rock", turns: |time, _| rock(time) },
        ],
        trials: vec![Trial {
            name: "cross",
            frames: |times| times.iter().map(|&time| cross(press_and_hold(time))).collect(),
        }],
        melt: 0.018,
        skin_area: 1.165,
    }
}

/// A rotation of the left side, and its mirror image on the right side.
fn both_sides(joints: [usize; 2], left: Quaternion) -> [(usize, Quaternion); 2] {
    let v = left.vector();
    [(joints[0], left), (joints[1], Quaternion::from_parts(left.w, Vec3::new(v.x, -v.y, -v.z)))]
}

/// Clavicles rise; the arms keep hanging.
fn shrug(part: f64) -> Turns {
    let z = Vec3::unit(2);
    let mut turns = both_sides(CLAVICLES, turn(z, 25.0 * part)).to_vec();
    turns.extend(both_sides(UPPER_ARMS, turn(z, -35.0 * part)));
    turns.push((HEAD, turn(Vec3::unit(0), -6.0 * part)));
    turns
}

/// Spine and chest together rotate by 40 degrees to each side; arms swing with them and the head lags behind.
fn twist(part: f64) -> Turns {
    let y = Vec3::unit(1);
    let mut turns = vec![
        (SPINE, turn(y, 16.0 * part)),
        (CHEST, turn(y, 24.0 * part)),
        (NECK, turn(y, -8.0 * part)),
        (HEAD, turn(y, -14.0 * part)),
    ];
    for side in 0..2 {
        turns.push((UPPER_ARMS[side], turn(Vec3::unit(2), [-18.0, 18.0][side] * part.abs()) * turn(y, 26.0 * part)));
        turns.push((FOREARMS[side], turn(hinge(side), 30.0 * part.abs())));
    }
    turns
}

/// Hinge axis of an elbow.
fn hinge(side: usize) -> Vec3 {
    let axis = left_arm().linear * arm::HINGE;
    if side == 0 { axis } else { Vec3::new(axis.x, -axis.y, -axis.z) }
}

/// Upper arms come down against the flanks, forearms fold against the chest.
fn press(part: f64) -> Turns {
    let along = left_arm().linear * Vec3::unit(0);
    let upper = turn(Vec3::unit(2), -40.0 * part) * turn(along, 58.0 * part);
    let mut turns = both_sides(UPPER_ARMS, upper).to_vec();
    turns.extend(both_sides(FOREARMS, turn(hinge(0), 130.0 * part)));
    turns.extend(both_sides(CLAVICLES, turn(Vec3::unit(1), -4.0 * part)));
    turns.push((CHEST, turn(Vec3::unit(0), 4.0 * part)));
    turns
}

/// Two seconds of a motion that takes half a second in each direction.
fn press_and_hold(time: f64) -> f64 {
    pulses(time, 2.0, 1, 0.5)
}

/// Directions of upper arm and forearm with the arms crossed on the chest, the right forearm in front of the left one.
const CROSSED: [[Vec3; 2]; 2] = [
    [Vec3::new(0.13, -0.84, 0.52), Vec3::new(-0.95, 0.30, 0.04)],
    [Vec3::new(-0.16, -0.79, 0.59), Vec3::new(0.93, 0.28, 0.16)],
];

/// Arms cross on the chest.
fn cross(part: f64) -> Turns {
    let mut turns = Vec::new();
    for (side, targets) in CROSSED.into_iter().enumerate() {
        let place = |p: Vec3| if side == 0 { p } else { mirrored(p) };
        let rest = [(arm::SHOULDER, arm::ELBOW), (arm::ELBOW, arm::WRIST)]
            .map(|(from, to)| place(left_arm().linear * (to - from)).normalized());
        let upper = turn_between(rest[0], targets[0].normalized());
        let fore = turn_between(upper.rotate(rest[1]), targets[1].normalized()) * upper;
        let none = Quaternion::identity();
        let [upper, fore] = [none.slerp(upper, part), none.slerp(upper.conjugate() * fore, part)];
        turns.extend([(UPPER_ARMS[side], upper), (FOREARMS[side], fore)]);
    }
    turns
}

/// Fraction of a full press that the arms reach while the trunk rocks: they touch it along their length.
const ROCK: f64 = 0.79;

/// Arms come to the body, then the trunk rotates with them.
fn rock(time: f64) -> Turns {
    let (part, swing) = fold_and_swing(time, ROCK * 130.0);
    let mut turns = press(ROCK * part);
    turns.push((SPINE, turn(Vec3::unit(1), swing)));
    turns
}
