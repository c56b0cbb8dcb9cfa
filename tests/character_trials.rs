//! Hard motions for flesh: fast ones, and random poses within the limits of joints.

use crate::support::flesh::{PREROLL, Stage, next_skin};
use crate::support::fresh_folder;
use sinew_math::Vec3;
use sinew_rig::characters::{BoneHint, Character, CharacterParams, bone_hints, generate};
use sinew_rig::{Flesh, FleshParams, Performance, Rig};

/// Distance of a point to a segment.
fn segment_distance(p: Vec3, [a, b]: [Vec3; 2]) -> f64 {
    let along = b - a;
    let part = ((p - a).dot(along) / along.dot(along)).clamp(0.0, 1.0);
    p.distance(a + along * part)
}

/// Distance of each point of a skin to the nearest bone.
fn distances_to_bones(skin: &[Vec3], bones: &[[Vec3; 2]]) -> Vec<f64> {
    let nearest = |x: &Vec3| bones.iter().map(|bone| segment_distance(*x, *bone)).fold(f64::INFINITY, f64::min);
    skin.iter().map(nearest).collect()
}

/// Maximum growth of the distance of skin from the nearest bone, in cells: a bulge is a fraction of a limb, torn flesh
/// is not.
const BULGE: f64 = 2.0;

/// Runs a trial from a time of its animation on \[s\]. In no frame a step fails, skin is inside of skin, or farther
/// from bones than a bulge.
fn stands(name: &str, character: Character, rig: &Rig, stage: &Stage<'_>, start: f64) {
    let folder = fresh_folder(&format!("character_trial_{name}"));
    let begin = format!("start = \"{start} s\"");
    let mut simulation = Stage { rig: &begin, ..*stage }.simulation(&folder, rig);
    let flesh = Flesh::new(rig, &FleshParams::default()).expect("flesh");
    let performance = Performance {
        rig,
        flesh: &flesh,
        animation: rig.animations.first(),
        start,
        preroll: PREROLL as f64 / stage.frame_rate,
    };
    let hints = bone_hints(character);
    let ends = |frame: usize| -> Vec<[Vec3; 2]> {
        let motions = performance.motions((frame + 1) as f64 / stage.frame_rate);
        let motion = |joint: usize| flesh.joints.iter().position(|known| known.node == joint).map(|k| motions[k]);
        let moved = |hint: &BoneHint| {
            let motion = motion(hint.joint)?;
            Some([hint.from, hint.to].map(|x| motion.to_world(x)))
        };
        hints.iter().filter_map(moved).collect()
    };
    let rest_bones: Vec<[Vec3; 2]> = hints.iter().map(|hint| [hint.from, hint.to]).collect();
    let rest = distances_to_bones(flesh.surface.positions(), &rest_bones);
    for frame in 0..PREROLL + stage.frames {
        let skin = next_skin(&mut simulation, frame);
        let away = distances_to_bones(&skin, &ends(frame));
        let farthest = away.iter().zip(&rest).map(|(away, rest)| away - rest).fold(0.0, f64::max) / stage.cell;
        assert!(farthest < BULGE, "frame {frame}: {farthest} cells farther from bones than at rest");
    }
}

/// Large with `SINEW_FULL=1`, else small.
fn size(small: usize, large: usize) -> usize {
    if std::env::var_os("SINEW_FULL").is_some() { large } else { small }
}

/// Frames in which the elbow turns by up to 39 degrees and the shoulder by up to 26.
#[test]
fn arms_stand_fast_motion() {
    let frames = size(80, 200);
    let params = CharacterParams {
        edge: 0.02,
        seconds: frames as f64 / 24.0,
        motion: Some("fast"),
        ..CharacterParams::of(Character::Arm)
    };
    let rig = generate(&params).expect("an arm");
    let stage = Stage { frames, cell: 0.022, tolerance: 1e-3, ..Stage::default() };
    stands("fast", Character::Arm, &rig, &stage, 0.0);
}

/// A quarter of the random poses (100 with `SINEW_FULL=1`), one after the other, two frames for each. Each quarter begins
/// at rest.
fn stands_poses(quarter: usize) {
    let (poses, seconds_per_pose) = (size(10, 25), 10.0 / 24.0);
    let params = CharacterParams {
        edge: 0.008,
        seconds: seconds_per_pose * (4 * poses) as f64,
        motion: Some("poses"),
        ..CharacterParams::of(Character::Hand)
    };
    let rig = generate(&params).expect("a hand");
    let start = seconds_per_pose * (quarter * poses) as f64;
    let stage = Stage { frame_rate: 4.8, frames: 2 * poses, cell: 0.01, tolerance: 1e-3, ..Stage::default() };
    stands(&format!("poses_{quarter}"), Character::Hand, &rig, &stage, start);
}

#[test]
fn hands_stand_the_first_random_poses() {
    stands_poses(0);
}

#[test]
fn hands_stand_the_second_random_poses() {
    stands_poses(1);
}

#[test]
fn hands_stand_the_third_random_poses() {
    stands_poses(2);
}

#[test]
fn hands_stand_the_last_random_poses() {
    stands_poses(3);
}
