//! Hard conditions for characters: long paths, full turns, mirrors, jumps, held poses, and all sizes.

use std::f64::consts::TAU;
use std::path::Path;

use crate::support::flesh::{Stage, add_root, distance, skins};
use crate::support::fresh_folder;
use sinew_fem::Simulation;
use sinew_math::{Quaternion, Vec3};
use sinew_rig::characters::{Character, CharacterParams, generate};
use sinew_rig::{Animation, Channel, Interpolation, Keys, Rig, Transform};

const FRAME_RATE: f64 = 24.0;
const CELL: f64 = 0.016;

fn arm() -> Rig {
    let params =
        CharacterParams { edge: 0.016, frame_rate: FRAME_RATE, seconds: 2.0, ..CharacterParams::of(Character::Arm) };
    generate(&params).expect("an arm")
}

/// A simulation of a character.
fn simulation(folder: &Path, rig: &Rig, animation: &str, frames: usize, scale: f64) -> Simulation {
    let animation = format!("animation = \"{animation}\"");
    let stage = Stage { frame_rate: FRAME_RATE, frames, rig: &animation, scale, cell: CELL, ..Stage::default() };
    stage.simulation(folder, rig)
}

/// Largest distance from points of a skin to the nearest of another: vertices may have another order.
fn distance_to(a: &[Vec3], b: &[Vec3]) -> f64 {
    let nearest = |a: &Vec3| b.iter().map(|b| a.distance(*b)).fold(f64::INFINITY, f64::min);
    a.iter().map(nearest).fold(0.0, f64::max)
}

/// The elbow bends by an angle \[degrees\] in each of some frames, then stays.
fn bend(rig: &Rig, degrees: f64, bending: usize, frames: usize) -> Animation {
    let curl = rig.animations.iter().find(|animation| animation.name == "curl").expect("a curl");
    let elbow = curl.channels[0].node;
    let punch = rig.animation(Some("punch")).expect("animations").expect("a punch");
    // Along the hinge, as the punch rotates it.
    let Keys::Rotation(turns) = &punch.channels[0].keys else { panic!("the elbow turns") };
    let axis = Vec3::new(turns[10][1], turns[10][2], turns[10][3]).normalized();
    let turn = |frame: usize| {
        let angle = (degrees * frame.min(bending) as f64).to_radians();
        let q = Quaternion::from_axis_angle(axis, angle);
        let v = q.vector();
        [q.w, v.x, v.y, v.z]
    };
    Animation {
        name: "bend".into(),
        channels: vec![Channel {
            node: elbow,
            times: (0..=frames).map(|frame| frame as f64 / FRAME_RATE).collect(),
            interpolation: Interpolation::Linear,
            keys: Keys::Rotation((0..=frames).map(turn).collect()),
        }],
    }
}

/// The path of a character through the world is that of its flesh: a hundred meters and a full turn change nothing
/// else.
#[test]
fn roots_go_far_and_turn() {
    let folder = fresh_folder("character_root");
    let frames = 6;
    let mut rig = arm();
    rig.animations = vec![bend(&rig, 8.0, frames, frames)];
    let at_home = skins(&mut simulation(&folder, &rig, "bend", frames, 1.0), frames);
    let root = add_root(&mut rig);
    let times: Vec<f64> = (0..=frames).map(|frame| frame as f64 / FRAME_RATE).collect();
    let place = |frame: usize| Vec3::new(100.0, 3.0, -20.0) * (frame as f64 / frames as f64);
    let turn = |frame: usize| Quaternion::from_axis_angle(Vec3::unit(1), TAU * frame as f64 / frames as f64);
    let parts = |q: Quaternion| [q.w, q.vector().x, q.vector().y, q.vector().z];
    let channel = |keys: Keys| Channel { node: root, times: times.clone(), interpolation: Interpolation::Linear, keys };
    let channels = &mut rig.animations[0].channels;
    channels.push(channel(Keys::Translation((0..=frames).map(place).collect())));
    channels.push(channel(Keys::Rotation((0..=frames).map(|frame| parts(turn(frame))).collect())));
    let far = skins(&mut simulation(&folder, &rig, "bend", frames, 1.0), frames);
    for (frame, (far, home)) in far.iter().zip(&at_home).enumerate() {
        let (place, turn) = (place(frame + 1), turn(frame + 1));
        let back: Vec<Vec3> = far.iter().map(|x| turn.conjugate().rotate(*x - place)).collect();
        let off = distance(&back, home) / CELL;
        assert!(off < 1e-3, "frame {frame}: {off} cells");
    }
}

/// The mirror image of a character moves like the mirror image of its motion.
#[test]
fn mirrors_show_the_same() {
    let folder = fresh_folder("character_mirror");
    let frames = 8;
    let mut rig = arm();
    rig.animations = vec![bend(&rig, 10.0, frames, frames)];
    let flip = |x: Vec3| Vec3::new(-x.x, x.y, x.z);
    let straight = skins(&mut simulation(&folder, &rig, "bend", frames, 1.0), frames);
    let mut mirrored = rig.clone();
    for node in &mut mirrored.nodes {
        let world = node.transform.to_affine();
        assert!((world.linear - sinew_math::Mat3::identity()).norm() < 1e-12, "joints of the arm are not turned");
        node.transform = Transform::from_translation(flip(world.translation));
    }
    for part in mirrored.surfaces.iter_mut().flat_map(|surface| &mut surface.parts) {
        part.positions.iter_mut().for_each(|x| *x = flip(*x));
        part.normals.iter_mut().for_each(|n| n[0] = -n[0]);
        part.triangles.iter_mut().for_each(|t| t.swap(1, 2));
    }
    for skin in &mut mirrored.skins {
        for bind in &mut skin.inverse_binds {
            bind.translation = flip(bind.translation);
        }
    }
    for channel in &mut mirrored.animations[0].channels {
        if let Keys::Rotation(keys) = &mut channel.keys {
            keys.iter_mut().for_each(|q| *q = [q[0], q[1], -q[2], -q[3]]);
        }
    }
    let seen = skins(&mut simulation(&folder, &mirrored, "bend", frames, 1.0), frames);
    for (frame, (seen, straight)) in seen.iter().zip(&straight).enumerate() {
        let back: Vec<Vec3> = seen.iter().map(|x| flip(*x)).collect();
        let off = distance_to(&back, straight) / CELL;
        assert!(off < 1e-3, "frame {frame}: {off} cells");
    }
}

/// A held pose stays the same, with or without flesh on flesh.
#[test]
fn held_poses_hold_still() {
    let folder = fresh_folder("character_held");
    let (bending, frames) = (12, 43);
    let mut rig = arm();
    rig.animations = vec![bend(&rig, 10.0, bending, frames)];
    let skins = skins(&mut simulation(&folder, &rig, "bend", frames, 1.0), frames);
    // The pose is reached in the frame in which the motion stops.
    for (frame, pair) in skins.windows(2).enumerate().skip(bending) {
        let moved = distance(&pair[0], &pair[1]) / CELL;
        assert!(moved < 1e-3, "frame {frame}: {moved} cells");
    }
}

/// One jump to a folded pose reaches the same shape as a slow motion, except for the folds of the crease.
#[test]
fn jumps_arrive() {
    let folder = fresh_folder("character_jump");
    let mut rig = arm();
    let walk = bend(&rig, 10.0, 10, 12);
    rig.animations = vec![bend(&rig, 100.0, 1, 3)];
    let jumped = skins(&mut simulation(&folder, &rig, "bend", 3, 1.0), 3);
    rig.animations = vec![walk];
    let walked = skins(&mut simulation(&folder, &rig, "bend", 12, 1.0), 12);
    let off = distance(&jumped[2], &walked[11]) / CELL;
    assert!(off < 1.0, "{off} cells");
}

/// Bones that are pulled apart, by up to half of their length, stretch the flesh between them.
#[test]
fn bones_come_apart() {
    let folder = fresh_folder("character_apart");
    let mut rig = arm();
    let elbow = bend(&rig, 1.0, 1, 1).channels[0].node;
    let rest = rig.nodes[elbow].transform.to_affine().translation;
    let frames = 10;
    rig.animations = vec![Animation {
        name: "pull".into(),
        channels: vec![Channel {
            node: elbow,
            times: (0..=frames).map(|frame| frame as f64 / FRAME_RATE).collect(),
            interpolation: Interpolation::Linear,
            keys: Keys::Translation((0..=frames).map(|frame| rest * (1.0 + 0.05 * frame as f64)).collect()),
        }],
    }];
    let skins = skins(&mut simulation(&folder, &rig, "pull", frames, 1.0), frames);
    assert!(distance(&skins[frames - 1], &skins[0]) > 0.1 * rest.norm());
}

/// An arm of a centimeter and one of a hundred meters move like one of normal size.
#[test]
fn size_does_not_matter() {
    let folder = fresh_folder("character_size");
    let frames = 6;
    let mut rig = arm();
    rig.animations = vec![bend(&rig, 12.0, frames, frames)];
    let usual = skins(&mut simulation(&folder, &rig, "bend", frames, 1.0), frames);
    for scale in [0.014, 140.0] {
        let other = skins(&mut simulation(&folder, &rig, "bend", frames, scale), frames);
        for (frame, (other, usual)) in other.iter().zip(&usual).enumerate() {
            let shrunk: Vec<Vec3> = other.iter().map(|x| *x / scale).collect();
            let off = distance(&shrunk, usual) / CELL;
            assert!(off < 1e-3, "scale {scale}, frame {frame}: {off} cells");
        }
    }
}
