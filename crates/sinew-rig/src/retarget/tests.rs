use std::collections::BTreeMap;

use sinew_math::{Mat3, Quaternion, Vec3};

use super::*;
use crate::affine::Affine;
use crate::animation::{Animation, Channel, Interpolation, Keys};
use crate::characters::{Character, CharacterParams, generate};
use crate::humanoid::{Humanoid, Slot};
use crate::motions::{BuiltIn, perform};
use crate::rig::{Node, Rig, Transform};

/// Rebuilds the tree of a rig with other proportions, names, axes of its joints and pose of rest. Angles turn limbs of
/// the new rest pose in the world.
struct Variant<'a> {
    /// Length of each bone relative to that of the source, by joint.
    length: &'a dyn Fn(&str) -> f64,
    name: &'a dyn Fn(&str) -> String,
    /// World rotation of the rest pose of a joint and all below it.
    bend: &'a dyn Fn(&str) -> Quaternion,
    /// Own axes of a joint in the world, as a rotation.
    axes: &'a dyn Fn(usize) -> Quaternion,
    /// Of the whole.
    placed: Affine,
}

impl Variant<'_> {
    fn of(&self, rig: &Rig) -> Rig {
        let rest = rig.pose(None, 0.0);
        let mut turns: Vec<Quaternion> = vec![Quaternion::identity(); rig.nodes.len()];
        let mut world: Vec<Affine> = vec![Affine::identity(); rig.nodes.len()];
        for node in rig.order() {
            let name = &rig.nodes[node].name;
            let above = rig.nodes[node].parent;
            let turn = above.map_or(Quaternion::identity(), |above| turns[above]);
            let place = above.map_or(rest[node].translation, |above| {
                world[above].translation
                    + turn.rotate(rest[node].translation - rest[above].translation) * (self.length)(name)
            });
            turns[node] = (self.bend)(name) * turn;
            world[node] = Affine { linear: (turns[node] * (self.axes)(node)).to_matrix(), translation: place };
        }
        let node = |node: usize| {
            let own = &rig.nodes[node];
            let local = match own.parent {
                Some(above) => world[above].inverse().unwrap().after(&world[node]),
                None => self.placed.after(&world[node]),
            };
            let scale = local.linear.column(0).norm();
            let transform = Transform::Parts {
                translation: local.translation,
                rotation: Quaternion::from_rotation_matrix(&Mat3 {
                    rows: local.linear.rows.map(|row| row.map(|x| x / scale)),
                }),
                scale: Vec3::splat(scale),
            };
            Node { name: (self.name)(&own.name), transform, ..own.clone() }
        };
        Rig { nodes: (0..rig.nodes.len()).map(node).collect(), ..Rig::default() }
    }
}

fn plain_torso() -> Rig {
    let rig = generate(&CharacterParams { edge: 0.03, ..CharacterParams::of(Character::Torso) }).unwrap();
    Rig { skins: Vec::new(), surfaces: Vec::new(), nodes: bare(&rig), ..rig }
}

fn bare(rig: &Rig) -> Vec<Node> {
    rig.nodes.iter().filter(|node| node.surface.is_none()).map(|node| Node { skin: None, ..node.clone() }).collect()
}

/// The mannequin with a built-in motion.
fn human(motion: BuiltIn) -> Rig {
    let everyone = perform(&motion.script(&Humanoid::default())).unwrap();
    let humanoid = Humanoid::of(&everyone);
    perform(&motion.script(&humanoid)).unwrap()
}

/// Degrees between two rotations.
fn angle(a: &Mat3, b: &Mat3) -> f64 {
    let turn = *a * b.transpose();
    (0.5 * (turn.trace() - 1.0)).clamp(-1.0, 1.0).acos().to_degrees()
}

fn unit(m: &Mat3) -> Mat3 {
    let scale = m.column(0).norm();
    Mat3 { rows: m.rows.map(|row| row.map(|x| x / scale)) }
}

/// Mixamo's names for those of the mannequin.
fn mixamo(name: &str) -> String {
    let (side, own) = match name.split_once('_') {
        Some(("left", own)) => ("Left", own),
        Some(("right", own)) => ("Right", own),
        _ => ("", name),
    };
    let own = match own {
        "hips" => "Hips".into(),
        "spine" => "Spine".into(),
        "spine_2" => "Spine1".into(),
        "spine_3" => "Spine2".into(),
        "neck" => "Neck".into(),
        "head" => "Head".into(),
        "jaw" => "Jaw".into(),
        "clavicle" => "Shoulder".into(),
        "upper_arm" => "Arm".into(),
        "forearm" => "ForeArm".into(),
        "hand" => "Hand".into(),
        "thigh" => "UpLeg".into(),
        "shin" => "Leg".into(),
        "foot" => "Foot".into(),
        "toes" => "ToeBase".into(),
        finger => {
            let (name, number) = finger.split_once('_').unwrap();
            let name = if name == "little" { "pinky" } else { name };
            let mut letters = name.chars();
            let first = letters.next().unwrap().to_uppercase();
            format!("Hand{first}{}{number}", letters.as_str())
        }
    };
    format!("mixamorig:{side}{own}")
}

/// Any rotation, from a number.
fn some_axes(seed: usize) -> Quaternion {
    let part = |k: usize| ((seed * 37 + k * 101) % 97) as f64 / 97.0 - 0.5;
    Quaternion::from_parts(part(1), Vec3::new(part(2), part(3), part(4))).normalized()
}

fn about_z(degrees: f64) -> Quaternion {
    Quaternion::from_axis_angle(Vec3::unit(2), degrees.to_radians())
}

/// A human of other proportions, names and axes, at rest in an A-pose, under a node that scales by 0.01 and turns by 90
/// degrees: its joints bend by the same angles as those of the mannequin in a T-pose, and hands and feet are where the
/// report says.
#[test]
fn joints_bend_alike_in_other_proportions_names_axes_and_rest_poses() {
    for motion in [BuiltIn::Walk, BuiltIn::Wave, BuiltIn::Squat, BuiltIn::Fist, BuiltIn::RangeOfMotion] {
        let source = human(motion);
        let variant = Variant {
            length: &|name| match name {
                name if name.ends_with("shin") || name.ends_with("foot") => 0.85,
                name if name.ends_with("forearm") => 1.2,
                name if name.ends_with("hand") => 0.9,
                name if name.starts_with("spine") => 1.1,
                _ => 1.0,
            },
            name: &mixamo,
            bend: &|name| match name {
                "left_upper_arm" => about_z(-45.0),
                "right_upper_arm" => about_z(45.0),
                "left_thigh" => about_z(6.0),
                "right_thigh" => about_z(-6.0),
                // Feet stand flat.
                "left_foot" => about_z(-6.0),
                "right_foot" => about_z(6.0),
                _ => Quaternion::identity(),
            },
            axes: &some_axes,
            placed: Affine {
                linear: Quaternion::from_axis_angle(Vec3::unit(0), -std::f64::consts::FRAC_PI_2).to_matrix()
                    * Mat3::diagonal(Vec3::splat(0.01)),
                translation: Vec3::zero(),
            },
        };
        // The whole stands upright in the world again.
        let upright = Quaternion::from_axis_angle(Vec3::unit(0), std::f64::consts::FRAC_PI_2);
        let mut target = variant.of(&source);
        target.nodes.push(Node {
            name: "Armature".into(),
            parent: None,
            transform: Transform::Parts { translation: Vec3::zero(), rotation: upright, scale: Vec3::splat(100.0) },
            ..target.nodes[0].clone()
        });
        target.nodes[0].parent = Some(target.nodes.len() - 1);
        let params = RetargetParams::default();
        let (animation, report) = retarget(&target, &source, &source.animations[0], &params).unwrap();
        assert_eq!(report.matched().count(), source.nodes.len(), "{report:?}");
        check_angles(&source, &target, &animation, 1.0);
        check_drift(&source, &target, &animation, &report);
    }
}

/// Bends of each joint against its parent: rotations of both from the T-pose, in the world. The T-pose of the target is
/// that of its own motion where the source is at rest.
fn check_angles(source: &Rig, target: &Rig, animation: &Animation, tolerance: f64) {
    let of_source = Humanoid::of(source);
    let of_target = Humanoid::of(target);
    // What the retargeter makes of the rest pose of the source.
    let still = still(source);
    let (standing, _) = retarget(target, source, &still, &RetargetParams::default()).unwrap();
    let (rest_s, rest_t) = (source.pose(Some(&still), 0.0), target.pose(Some(&standing), 0.0));
    let [first, last] = animation.span().unwrap();
    let mut compared = 0;
    for k in 0..=20 {
        let time = first + (last - first) * f64::from(k) / 20.0;
        let pose_s = source.pose(Some(&source.animations[0]), time);
        let pose_t = target.pose(Some(animation), time);
        for (slot, &own) in &of_target.nodes {
            let other = of_source.nodes[slot];
            let Some((above_s, above_t)) = above(&of_source, &of_target, source, target, *slot) else { continue };
            let bend = |pose: &[Affine], rest: &[Affine], node: usize, above: usize| {
                let turn = |node: usize| unit(&pose[node].linear) * unit(&rest[node].linear).transpose();
                turn(above).transpose() * turn(node)
            };
            let difference = angle(&bend(&pose_s, &rest_s, other, above_s), &bend(&pose_t, &rest_t, own, above_t));
            assert!(difference < tolerance, "{} at {time}: {difference} degrees", slot.name());
            compared += 1;
        }
    }
    assert!(compared > 100, "{compared}");
}

/// Parents of a joint in both rigs that are the same joint of a human.
fn above(of_source: &Humanoid, of_target: &Humanoid, source: &Rig, target: &Rig, slot: Slot) -> Option<(usize, usize)> {
    let (a, b) = (source.nodes[of_source.nodes[&slot]].parent?, target.nodes[of_target.nodes[&slot]].parent?);
    (of_source.slot_of(a)? == of_target.slot_of(b)?).then_some((a, b))
}

/// An animation that holds the rest pose.
fn still(rig: &Rig) -> Animation {
    let channels = rig.nodes.iter().enumerate().filter_map(|(node, data)| match data.transform {
        Transform::Parts { rotation: q, .. } => {
            let keys = Keys::Rotation(vec![[q.w, q.x, q.y, q.z]]);
            Some(Channel { node, times: vec![0.0], interpolation: Default::default(), keys })
        }
        Transform::Matrix(_) => None,
    });
    Animation { name: "still".into(), channels: channels.collect() }
}

/// Hands and feet against the motion of the source, scaled by the lengths of the legs, by forward kinematics alone.
fn check_drift(source: &Rig, target: &Rig, animation: &Animation, report: &RetargetReport) {
    let (of_source, of_target) = (Humanoid::of(source), Humanoid::of(target));
    let still = still(source);
    let (standing, _) = retarget(target, source, &still, &RetargetParams::default()).unwrap();
    let (rest_s, rest_t) = (source.pose(Some(&still), 0.0), target.pose(Some(&standing), 0.0));
    let slots: BTreeMap<String, Slot> = of_target.nodes.keys().map(|slot| (slot.name(), *slot)).collect();
    assert_eq!(report.drift.len(), 4);
    for drift in &report.drift {
        let slot = slots[&drift.name];
        let (a, b) = (of_source.nodes[&slot], of_target.nodes[&slot]);
        let mut most = 0.0f64;
        for &time in &source.animations[0].channels[0].times {
            let pose_s = source.pose(Some(&source.animations[0]), time);
            let pose_t = target.pose(Some(animation), time);
            let wanted = rest_t[b].translation + (pose_s[a].translation - rest_s[a].translation) * report.scale;
            most = most.max(pose_t[b].translation.distance(wanted));
        }
        assert!((most - drift.max).abs() < 1e-6, "{}: {most} and {}", drift.name, drift.max);
    }
}

/// With feet and hands kept, they are where the report says: nowhere else than in the source, as far as limbs reach.
#[test]
fn feet_and_hands_are_kept_where_they_reach() {
    let source = human(BuiltIn::Walk);
    let variant = Variant {
        length: &|name| if name.ends_with("shin") { 0.8 } else { 1.0 },
        name: &|name| name.to_string(),
        bend: &|_| Quaternion::identity(),
        axes: &|_| Quaternion::identity(),
        placed: Affine::identity(),
    };
    let target = variant.of(&source);
    let params = |keep| RetargetParams { keep_feet: keep, keep_hands: keep, ..RetargetParams::default() };
    let run = |keep| retarget(&target, &source, &source.animations[0], &params(keep)).unwrap().1;
    let (free, kept) = (run(false), run(true));
    for (free, kept) in free.drift.iter().zip(&kept.drift) {
        assert!(kept.max < 0.02 && kept.max <= free.max + 1e-9, "{free:?} {kept:?}");
    }
    assert!(free.drift.iter().any(|drift| drift.max > 0.01), "{free:?}");
}

/// The same skeleton gets the same motion back.
#[test]
fn a_motion_comes_home_unchanged() {
    let torso = plain_torso();
    let motion = torso.animation(Some("twist")).unwrap().unwrap().clone();
    let (animation, report) = retarget(&torso, &torso, &motion, &RetargetParams::default()).unwrap();
    assert!((report.scale - 1.0).abs() < 1e-12 && report.unused.is_empty());
    let [first, last] = motion.span().unwrap();
    for k in 0..=10 {
        let time = first + (last - first) * f64::from(k) / 10.0;
        for (a, b) in torso.pose(Some(&motion), time).iter().zip(torso.pose(Some(&animation), time)) {
            assert!(a.translation.distance(b.translation) < 1e-9 && (a.linear - b.linear).norm() < 1e-9);
        }
    }
}

/// A spine of two joints from one of three, and five from three: the top turns as the top, whatever lies between.
#[test]
fn spines_share_out_what_they_turn() {
    let source = human(BuiltIn::RangeOfMotion);
    let torso = plain_torso();
    let (animation, report) = retarget(&torso, &source, &source.animations[0], &RetargetParams::default()).unwrap();
    let joint = |name: &str| report.joints.iter().find(|joint| joint.target == name).unwrap();
    assert_eq!(joint("spine").sources, ["spine", "spine_2"]);
    assert_eq!(joint("chest").sources, ["spine_3"]);
    let chest = torso.nodes.iter().position(|node| node.name == "chest").unwrap();
    let top = source.nodes.iter().position(|node| node.name == "spine_3").unwrap();
    let rest = [source.pose(None, 0.0)[top].linear, torso.pose(None, 0.0)[chest].linear];
    for &time in source.animations[0].channels[0].times.iter().step_by(20) {
        let a = source.pose(Some(&source.animations[0]), time)[top].linear * rest[0].transpose();
        let b = torso.pose(Some(&animation), time)[chest].linear * rest[1].transpose();
        assert!(angle(&a, &b) < 1e-4, "at {time}");
    }
}

/// Z up, facing −y, in inches, hips at the origin at rest: as a file of motion capture may be.
#[test]
fn up_front_unit_and_floor_of_a_file_do_not_matter() {
    let source = human(BuiltIn::Walk);
    // Left, up and front of the body along −x, z and y.
    let turned = Mat3::from_columns(-Vec3::unit(0), Vec3::unit(2), Vec3::unit(1));
    let other = {
        let mut other = source.clone();
        let root = Node {
            name: "Reference".into(),
            parent: None,
            transform: Transform::Matrix(Affine {
                linear: turned * Mat3::diagonal(Vec3::splat(1.0 / 0.0254)),
                translation: Vec3::zero(),
            }),
            ..other.nodes[0].clone()
        };
        other.nodes.push(root);
        other.nodes[0].parent = Some(other.nodes.len() - 1);
        if let Transform::Parts { translation, .. } = &mut other.nodes[0].transform {
            *translation = Vec3::zero();
        }
        other
    };
    let run = |from: &Rig| retarget(&source, from, &source.animations[0], &RetargetParams::default()).unwrap();
    let (own, there) = (run(&source), run(&other));
    for &time in source.animations[0].channels[0].times.iter().step_by(7) {
        let [a, b] = [&own.0, &there.0].map(|animation| source.pose(Some(animation), time));
        for (a, b) in a.iter().zip(&b) {
            // The floor is found by the feet, to the millimeters by which the soles of the mannequin bend.
            assert!(a.translation.distance(b.translation) < 0.03 && angle(&a.linear, &b.linear) < 1e-3, "{a:?} {b:?}");
        }
    }
}

/// The hand of nobody: it has no side, no body and points up; its knuckles bend as those of the mannequin.
#[test]
fn a_single_hand_makes_a_fist() {
    let hand = generate(&CharacterParams { edge: 0.006, ..CharacterParams::of(Character::Hand) }).unwrap();
    let source = human(BuiltIn::Fist);
    let (animation, report) = retarget(&hand, &source, &source.animations[0], &RetargetParams::default()).unwrap();
    assert_eq!(report.matched().count(), 17);
    let node = |name: &str| hand.nodes.iter().position(|node| node.name == name).unwrap();
    let place = |time: f64, name: &str| hand.pose(Some(&animation), time)[node(name)].translation;
    // Standing, the hand hangs as it does at rest: it does not turn by more than the arm of the mannequin.
    let [wrist, open, closed] = [place(0.0, "wrist"), place(0.0, "middle.distal"), place(1.0, "middle.distal")];
    assert!(open.distance(wrist) > 1.5 * closed.distance(wrist), "{open:?} {closed:?}");
    let along = (place(1.0, "index.middle") - place(1.0, "index.proximal")).normalized();
    let next = (place(1.0, "index.distal") - place(1.0, "index.middle")).normalized();
    assert!((along.dot(next).acos().to_degrees() - 85.0).abs() < 1.0, "the middle joint bends by 85 degrees");
}

#[test]
fn what_does_not_fit_is_told() {
    let torso = plain_torso();
    let source = human(BuiltIn::Walk);
    let params = RetargetParams {
        map: vec![("LeftWing".into(), "chest".into()), ("hips".into(), "tail".into())],
        ..RetargetParams::default()
    };
    let error = retarget(&torso, &source, &source.animations[0], &params).unwrap_err();
    assert_eq!(error.problems.len(), 2);
    assert!(
        error.problems[0].contains("no joint \"LeftWing\"") && error.problems[1].contains("no joint \"tail\""),
        "{error}"
    );
    let mut stranger = source.clone();
    stranger.nodes.iter_mut().enumerate().for_each(|(k, node)| node.name = format!("thing {k}"));
    let error = retarget(&torso, &stranger, &source.animations[0], &RetargetParams::default()).unwrap_err();
    assert!(error.to_string().contains("\"thing 0\"") && error.to_string().contains("\"hips\""), "{error}");
    let error = retarget(&torso, &source, &Animation::default(), &RetargetParams::default()).unwrap_err();
    assert!(error.to_string().contains("no keys"), "{error}");
    let mut broken = source.animations[0].clone();
    if let Keys::Rotation(keys) = &mut broken.channels[3].keys {
        keys[1][2] = f64::NAN;
    }
    let error = retarget(&torso, &source, &broken, &RetargetParams::default()).unwrap_err();
    assert!(error.to_string().contains("not finite"), "{error}");
}

/// A forearm without length has no direction: it is told, and nothing is NaN.
#[test]
fn bones_without_length_are_told() {
    let mut source = human(BuiltIn::Wave);
    let hand = source.nodes.iter().position(|node| node.name == "right_hand").unwrap();
    if let Transform::Parts { translation, .. } = &mut source.nodes[hand].transform {
        *translation = Vec3::zero();
    }
    let target = human(BuiltIn::Wave);
    let (animation, report) = retarget(&target, &source, &source.animations[0], &RetargetParams::default()).unwrap();
    assert!(report.notes.iter().any(|note| note.contains("right_forearm")), "{:?}", report.notes);
    for time in [0.0, 1.0, 2.0] {
        assert!(target.pose(Some(&animation), time).iter().all(Affine::is_finite));
    }
}

/// A map goes before names, and tells what a nameless joint is.
#[test]
fn a_map_names_what_names_do_not_tell() {
    let source = human(BuiltIn::Squat);
    let mut target = source.clone();
    target.animations.clear();
    target.nodes.iter_mut().enumerate().for_each(|(k, node)| node.name = format!("bone{k}x"));
    let wanted = ["hips", "left_thigh", "left_shin", "left_foot"];
    let map: Vec<(String, String)> = wanted
        .iter()
        .map(|name| {
            let node = source.nodes.iter().position(|node| node.name == *name).unwrap();
            (name.to_string(), target.nodes[node].name.clone())
        })
        .collect();
    let params = RetargetParams { map, ..RetargetParams::default() };
    let (animation, report) = retarget(&target, &source, &source.animations[0], &params).unwrap();
    assert_eq!(report.matched().count(), wanted.len());
    let shin = source.nodes.iter().position(|node| node.name == "left_shin").unwrap();
    let [a, b] = [source.pose(Some(&source.animations[0]), 1.2)[shin], target.pose(Some(&animation), 1.2)[shin]];
    assert!(angle(&a.linear, &b.linear) < 1e-4 && a.translation.distance(b.translation) < 1e-6);
}

/// In place: the hips stay above their place, and rise and sink as before.
#[test]
fn a_walk_in_place_stays() {
    let source = human(BuiltIn::Walk);
    let run = |in_place| {
        let params = RetargetParams { in_place, ..RetargetParams::default() };
        let (animation, report) = retarget(&source, &source, &source.animations[0], &params).unwrap();
        let way =
            |time: f64| source.pose(Some(&animation), time)[0].translation - source.pose(None, 0.0)[0].translation;
        (way(2.0), report)
    };
    let ((ahead, _), (still, report)) = (run(false), run(true));
    // Adults walk at 1.2 to 1.5 m/s.
    assert!(ahead.z > 2.4 && ahead.z < 3.0, "{ahead:?}");
    assert!(still.x.abs() < 1e-12 && still.z.abs() < 1e-12 && (still.y - ahead.y).abs() < 1e-12);
    assert!(report.drift.iter().all(|drift| drift.max < 1e-9), "{report:?}");
}

/// All nodes beside each other under one, with the same places in the world, also in motion.
fn flattened(rig: &Rig) -> Rig {
    let parts = |map: &Affine| {
        let scale = map.linear.column(0).norm();
        let rotation = Quaternion::from_rotation_matrix(&unit(&map.linear));
        (map.translation, rotation, Vec3::splat(scale))
    };
    let mut flat = rig.clone();
    for (node, place) in flat.nodes.iter_mut().zip(rig.pose(None, 0.0)) {
        let (translation, rotation, scale) = parts(&place);
        *node = Node { parent: None, transform: Transform::Parts { translation, rotation, scale }, ..node.clone() };
    }
    for animation in &mut flat.animations {
        let times = animation.channels[0].times.clone();
        let given = animation.clone();
        let poses: Vec<Vec<Affine>> = times.iter().map(|&time| rig.pose(Some(&given), time)).collect();
        let channel = |node: usize, keys: Keys| Channel {
            node,
            times: times.clone(),
            interpolation: Interpolation::Linear,
            keys,
        };
        animation.channels = (0..rig.nodes.len())
            .flat_map(|node| {
                let all: Vec<_> = poses.iter().map(|pose| parts(&pose[node])).collect();
                let rotation = |q: Quaternion| [q.w, q.vector().x, q.vector().y, q.vector().z];
                [
                    channel(node, Keys::Translation(all.iter().map(|part| part.0).collect())),
                    channel(node, Keys::Rotation(all.iter().map(|part| rotation(part.1)).collect())),
                ]
            })
            .collect();
    }
    flat
}

/// Joints that are siblings in the file, of the character or of the motion, move as those of a tree; without names of a
/// human, too.
#[test]
fn siblings_move_as_a_body_does() {
    let human = human(BuiltIn::Walk);
    let numbered = |rig: &Rig| {
        let nodes = rig.nodes.iter().enumerate();
        let nodes = nodes.map(|(k, node)| Node { name: format!("thing {k} of it"), ..node.clone() }).collect();
        Rig { nodes, ..rig.clone() }
    };
    for source in [human.clone(), numbered(&human)] {
        let params = RetargetParams::default();
        let run = |target: &Rig, source: &Rig| {
            let (animation, report) = retarget(target, source, &source.animations[0], &params).unwrap();
            assert_eq!(report.matched().count(), human.nodes.len());
            (animation, report)
        };
        let (wanted, report) = run(&source, &source);
        assert!(report.notes.is_empty(), "{report:?}");
        let flat = flattened(&source);
        let cases = [(&flat, &source), (&source, &flat), (&flat, &flat)];
        for (case, (target, from)) in cases.into_iter().enumerate() {
            let (animation, _) = run(target, from);
            for &time in source.animations[0].channels[0].times.iter().step_by(7) {
                let poses = source.pose(Some(&wanted), time).into_iter().zip(target.pose(Some(&animation), time));
                for (node, (a, b)) in poses.enumerate() {
                    let name = &source.nodes[node].name;
                    let apart = a.translation.distance(b.translation).max((a.linear - b.linear).norm());
                    assert!(apart < 1e-6, "case {case}, {name} at {time}: {apart}");
                }
            }
        }
    }
}

/// A joint at a third of the upper arm and one in the middle of the forearm take such parts of the rolls of their bones
/// and of the hand, and point where their bones point.
#[test]
fn twist_joints_share_out_the_roll() {
    let source = human(BuiltIn::RangeOfMotion);
    let mut target = source.clone();
    let node = |name: &str| source.nodes.iter().position(|node| node.name == name).unwrap();
    let rest = source.pose(None, 0.0);
    let twists = [("left_upper_arm", "left_forearm", 1.0 / 3.0), ("left_forearm", "left_hand", 0.5)];
    for (bone, end, share) in twists {
        let [bone, end] = [bone, end].map(node);
        let place = rest[bone].inverse().unwrap().apply(rest[bone].translation.lerp(rest[end].translation, share));
        let transform = Transform::from_translation(place);
        let name = format!("{}_twist", source.nodes[bone].name);
        target.nodes.push(Node { name, parent: Some(bone), transform, ..source.nodes[bone].clone() });
    }
    let (animation, report) = retarget(&target, &source, &source.animations[0], &RetargetParams::default()).unwrap();
    let of_report = |name: &str| report.joints.iter().find(|joint| joint.target == name).unwrap();
    assert_eq!(of_report("left_forearm_twist").sources, ["left_forearm", "left_hand"]);
    assert_eq!(of_report("left_upper_arm_twist").kind, Some(MatchKind::Twist));
    let still = target.pose(None, 0.0);
    let mut most = [0.0f64; 2];
    for &time in &source.animations[0].channels[0].times {
        let pose = target.pose(Some(&animation), time);
        let turn = |node: usize| unit(&pose[node].linear) * unit(&still[node].linear).transpose();
        for (k, (bone, end, share)) in twists.into_iter().enumerate() {
            let [bone, end, own] = [node(bone), node(end), source.nodes.len() + k];
            let along = (rest[end].translation - rest[bone].translation).normalized();
            let across = along.cross(Vec3::new(0.3, 0.5, 0.8)).normalized();
            // A vector across the bone is carried along the shortest way from one joint to the other; what is left is roll.
            let roll = |from: &Mat3, to: &Mat3| {
                let [a, b] = [*from * along, *to * along];
                let carried = super::align::shortest(a, b).rotate(*from * across);
                carried.cross(*to * across).dot(b).atan2(carried.dot(*to * across))
            };
            assert!((turn(own) * along).distance(turn(bone) * along) < 1e-6);
            let above = turn(target.nodes[bone].parent.unwrap());
            let of_hand = if k == 1 { roll(&turn(bone), &turn(end)) } else { 0.0 };
            let (whole, part) = (roll(&above, &turn(bone)) + of_hand, roll(&above, &turn(own)));
            // Beyond a right angle of swing the shortest way is not unique enough for a comparison.
            if (above * along).dot(turn(bone) * along) > -0.5 {
                assert!((part - share * whole).abs() < 1e-6, "{k} at {time}: {part} of {whole}");
                most[k] = most[k].max(whole.abs());
            }
        }
    }
    assert!(most.iter().all(|roll| *roll > 0.4), "{most:?}");
}
