//! Motions that try what flesh can stand: fast ones, and random poses within the limits of joints.

mod support;

use sinew_math::Vec3;
use sinew_rig::characters::{Character, CharacterParams, bone_hints, generate};
use sinew_rig::{Performance, Flesh, FleshParams, Rig};
use support::flesh::{PREROLL, Stage, next_skin};
use support::fresh_folder;

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

/// Runs a trial. In no frame a step fails or skin is inside of skin, and skin is at most so many cells farther from the nearest bone than at rest.
fn stands(character: Character, rig: &Rig, stage: &Stage<'_>, most_cells: f64) {
    let folder = fresh_folder(&format!("character_{}_{}", character.name(), rig.animations[0].name));
    let mut simulation = stage.simulation(&folder, rig);
    let flesh = Flesh::new(rig, &FleshParams::default()).expect("flesh");
    let performance = Performance {
        rig,
        flesh: &flesh,
        animation: rig.animations.first(),
        start: 0.0,
        preroll: PREROLL as f64 / stage.frame_rate,
    };
    let hints = bone_hints(character);
    let ends = |frame: usize| -> Vec<[Vec3; 2]> {
        let motions = performance.motions((frame + 1) as f64 / stage.frame_rate);
        let motion = |joint: usize| flesh.joints.iter().position(|known| known.node == joint).map(|k| motions[k]);
        let moved = |hint: &sinew_rig::characters::BoneHint| {
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
        assert!(farthest < most_cells, "frame {frame}: {farthest} cells farther from bones than at rest");
    }
}

/// 200 frames in which elbow and shoulder turn by up to 39 and 26 degrees each.
#[test]
fn arms_stand_fast_motion() {
    let frames = 200;
    let params = CharacterParams {
        edge: 0.02,
        seconds: frames as f64 / 24.0,
        motion: Some("fast"),
        ..CharacterParams::of(Character::Arm)
    };
    let rig = generate(&params).expect("an arm");
    let stage = Stage { frames, cell: 0.022, tolerance: 1e-3, ..Stage::default() };
    stands(Character::Arm, &rig, &stage, 2.0);
}

/// 100 poses, one after the other, two frames for each.
#[test]
fn hands_stand_random_poses() {
    let poses = 100;
    let params = CharacterParams {
        edge: 0.006,
        seconds: 10.0 / 24.0 * poses as f64,
        motion: Some("poses"),
        ..CharacterParams::of(Character::Hand)
    };
    let rig = generate(&params).expect("a hand");
    let stage = Stage { frame_rate: 4.8, frames: 2 * poses, cell: 0.008, tolerance: 1e-3, ..Stage::default() };
    stands(Character::Hand, &rig, &stage, 2.0);
}
