//! Units, mirrors, bind poses and scales as programs write them.

use super::*;

/// The flesh of `changed` is that of `rig` under `map`, at rest and in motion, with conjugate motions:
/// $`D' = S D S^{-1}`$.
fn assert_same_under(map: &Affine, rig: &Rig, changed: &Rig, name: &str) {
    let (plain, other) = (flesh(rig), flesh(changed));
    assert_is_flesh(&other, name);
    let moved = |places: &[Vec3]| places.iter().map(|x| map.apply(*x)).collect::<Vec<_>>();
    // In file order: mirrored triangles are flipped and visit vertices in another order.
    let shown = |flesh: &Flesh, places: &[Vec3]| flesh.place_piece(&flesh.pieces[0], places, &[], |x| x);
    let error = worst(&moved(&shown(&plain, plain.surface.positions())), &shown(&other, other.surface.positions()));
    assert!(error < EXACT, "{name} at rest: {error}");
    assert!((plain.surface.volume() / other.surface.volume() - 1.0).abs() < EXACT);
    assert!(worst_against_blend(changed, &other) < EXACT);
    for (animation, changed_animation) in rig.animations.iter().zip(&changed.animations) {
        for time in TIMES {
            let [pose, changed_pose] = [rig.pose(Some(animation), time), changed.pose(Some(changed_animation), time)];
            let [motions, changed_motions] = [plain.motions(&pose), other.motions(&changed_pose)];
            assert!((other.largest_scale(&changed_pose) - 1.0).abs() < EXACT, "{name}");
            for (motion, changed_motion) in motions.iter().zip(&changed_motions) {
                for x in [Vec3::zero(), Vec3::new(0.3, -0.2, 0.5)] {
                    let error = map.apply(motion.to_world(x)).distance(changed_motion.to_world(map.apply(x)));
                    assert!(error < EXACT, "{name}: {error}");
                }
            }
            let error =
                worst(&moved(&shown(&plain, &plain.blend(&motions))), &shown(&other, &other.blend(&changed_motions)));
            assert!(error < EXACT, "{name} at {time} s: {error}");
        }
    }
}

#[test]
fn units_and_a_root_that_is_turned_and_moved_change_nothing_but_the_place() {
    let rotation = Quaternion::from_axis_angle(Vec3::new(1.0, 2.0, -0.5).normalized(), 0.9);
    let translation = Vec3::new(0.4, -1.0, 2.0);
    let map = Affine { linear: rotation.to_matrix(), translation };
    for (name, rig) in characters() {
        // Nodes in hundreds of meters under a root that scales them back; vertices likewise, or in millimeters.
        let root = Transform::Parts { translation, rotation, scale: Vec3::splat(100.0) };
        assert_same_under(&map, rig, &rerooted(rig, root, 100.0, 100.0), name);
        assert_same_under(&map, rig, &rerooted(rig, root, 100.0, 1e-3), name);
        // Nodes in centimeters, as in many programs.
        let root = Transform::Matrix(Affine { linear: map.linear * 0.01, translation });
        assert_same_under(&map, rig, &rerooted(rig, root, 0.01, 0.01), name);
    }
}

#[test]
fn mirrored_characters_have_mirrored_flesh_that_faces_outwards() {
    let mirror = Vec3::new(-1.0, 1.0, 1.0);
    let map = Affine { linear: Mat3::diagonal(mirror), translation: Vec3::zero() };
    for (name, rig) in characters() {
        assert_same_under(&map, rig, &rerooted(rig, scaled_root(mirror), 1.0, 1.0), name);
    }
}

/// Vertices quantized to 65536 steps per axis, as in `KHR_mesh_quantization`: each moves by half a step at most.
#[test]
fn vertices_of_16_bits_give_the_same_closed_flesh() {
    for (name, rig) in characters() {
        let mut rounded = rig.clone();
        let positions = &mut rounded.surfaces[0].parts[0].positions;
        let low = positions.iter().copied().reduce(Vec3::min).unwrap();
        let high = positions.iter().copied().reduce(Vec3::max).unwrap();
        let step = (high - low) / 65535.0;
        for x in positions.iter_mut() {
            *x = low + (*x - low).component_div(step).map(f64::round).component_mul(step);
        }
        let (plain, rounded) = (flesh(rig), flesh(&rounded));
        assert_is_flesh(&rounded, name);
        let error = worst(plain.surface.positions(), rounded.surface.positions());
        assert!(error < 0.51 * step.norm(), "{name}: {error}");
        assert_eq!(plain.weights, rounded.weights);
    }
}

/// Programs often export nodes in the pose of some frame. Rest is still the bind pose, for all skins alike.
#[test]
fn nodes_that_stand_in_another_pose_do_not_tear_rest_apart() {
    for (name, rig) in characters() {
        for lists in [Lists::All, Lists::Needed] {
            let mut halves = split(rig, lists);
            for channel in &rig.animations[0].channels {
                let key = channel.times.len() / 2;
                let Transform::Parts { translation, rotation, scale } = &mut halves.nodes[channel.node].transform
                else {
                    continue;
                };
                match &channel.keys {
                    Keys::Translation(keys) => *translation = keys[key],
                    Keys::Rotation(keys) => {
                        let [w, x, y, z] = keys[key];
                        *rotation = Quaternion::new(w, x, y, z).normalized();
                    }
                    Keys::Scale(keys) => *scale = keys[key],
                    Keys::Morph(..) => {}
                }
            }
            let (plain, sewn) = (flesh(rig), flesh(&halves));
            assert_is_flesh(&sewn, name);
            assert_eq!(sewn.surface.vertex_count(), plain.surface.vertex_count(), "{name} {lists:?}");
            assert!((sewn.surface.volume() / plain.surface.volume() - 1.0).abs() < EXACT, "{name} {lists:?}");
            // A skin with few joints has the same rest as the other one.
            let error = worst_against_blend(&halves, &sewn);
            assert!(error < EXACT, "{name} {lists:?}: {error}");
        }
    }
}

#[test]
fn scaled_joints_are_told_and_turn_as_without_scale() {
    let mut rig = arm();
    let (elbow, plain) = (joint(&rig, "elbow"), flesh(&rig));
    let bent = rig.pose(rig.animations.first(), 1.25);
    let mut animation = rig.animations[0].clone();
    animation.channels.push(Channel {
        node: elbow,
        times: vec![0.0, 1.25],
        interpolation: Interpolation::Linear,
        keys: Keys::Scale(vec![Vec3::splat(1.0), Vec3::splat(0.4)]),
    });
    rig.animations = vec![animation];
    let flesh = flesh(&rig);
    let pose = rig.pose(rig.animations.first(), 1.25);
    assert!((flesh.largest_scale(&pose) - 2.5).abs() < EXACT, "{}", flesh.largest_scale(&pose));
    assert!((flesh.largest_scale(&rig.pose(rig.animations.first(), 0.0)) - 1.0).abs() < EXACT);
    for ((joint, motion), unscaled) in flesh.joints.iter().zip(flesh.motions(&pose)).zip(plain.motions(&bent)) {
        assert!((motion.pose.rotation.norm() - 1.0).abs() < EXACT);
        let turn = (unscaled.pose.rotation.conjugate() * motion.pose.rotation).log_map().norm();
        assert!(turn < EXACT, "{}: {turn}", joint.name);
        // Joints follow the animation.
        assert!(motion.to_world(joint.place).distance(pose[joint.node].translation) < EXACT, "{}", joint.name);
    }
}

/// Clothes bound with bent arms: a note says so.
#[test]
fn skins_bound_in_another_pose_are_told() {
    let mut rig = split(&arm(), Lists::All);
    let wrist = joint(&rig, "wrist");
    let place = rig.skins[1].joints.iter().position(|&node| node == wrist).unwrap();
    let turn = Quaternion::from_axis_angle(Vec3::unit(2), 0.5).to_matrix();
    let bind = &mut rig.skins[1].inverse_binds[place];
    bind.linear = turn * bind.linear;
    let notes = flesh(&rig).notes;
    assert!(notes.iter().any(|note| note.contains("skin \"half 1\" was bound in another pose")), "{notes:?}");
}

/// Gives a skin another bind pose: its vertices are where blend skinning takes them in a pose, and so are its matrices.
fn rebind(rig: &mut Rig, skin: usize, pose: &[Affine]) {
    let at = rig.nodes.iter().position(|node| node.skin == Some(skin)).unwrap();
    let surface = rig.nodes[at].surface.unwrap();
    let part = &rig.surfaces[surface].parts[0];
    let places = rig.blend(at, part, &part.positions, pose);
    rig.surfaces[surface].parts[0].positions = places;
    let Skin { joints, inverse_binds, .. } = &mut rig.skins[skin];
    for (bind, &joint) in inverse_binds.iter_mut().zip(joints.iter()) {
        *bind = pose[joint].inverse().unwrap();
    }
}

/// Skins bound in any pose move as glTF says, $`x = \sum w J B^{-1} v`$, be they flesh or follow it.
#[test]
fn bind_poses_may_differ_from_rest_and_from_each_other() {
    for lists in [Lists::All, Lists::Needed] {
        for (name, rig) in characters() {
            let mut bent = rig.clone();
            let pose = rig.pose(rig.animations.first(), 1.25);
            rebind(&mut bent, 0, &pose);
            assert!(worst_against_blend(&bent, &flesh(&bent)) < EXACT, "{name}");

            let mut halves = split(rig, lists);
            let pose = halves.pose(halves.animations.first(), 0.4);
            rebind(&mut halves, 1, &pose);
            let choice = FleshChoice::Closed;
            let first = FleshParams { surfaces: vec!["half 0".into()], choice, ..FleshParams::default() };
            let flesh = Flesh::new(&halves, &first).unwrap();
            let error = worst_against_blend(&halves, &flesh);
            assert!(error < EXACT, "{name}, {lists:?}: {error}");
            if let Lists::All = lists {
                // Both are at rest in the pose of the first.
                let plain = Flesh::new(&split(rig, lists), &first).unwrap();
                let rest = |flesh: &Flesh| -> Vec<Vec3> {
                    let rest = |source: &Source| match source {
                        Source::Flesh(vertex) => flesh.surface.positions()[*vertex as usize],
                        Source::Joints(rest, _) => *rest,
                        Source::Ride(ride) => ride.rest,
                    };
                    flesh.pieces[1].vertices.iter().map(rest).collect()
                };
                let [before, after] = [&plain, &flesh].map(rest);
                let size = plain.surface.bounds().size().norm();
                assert!(worst(&before, &after) < 0.1 * size, "{name}");
            }
        }
    }
}

/// Keys of scale, even or not, and translations: what follows by skinning is exact, and joints are where keys say.
#[test]
fn scaled_and_moved_joints_move_the_skin_as_the_file_does() {
    for (name, rig) in characters() {
        let mut rig = rig.clone();
        let second = rig.skins[0].joints[1];
        let keys = |node: usize, keys: Keys| Channel {
            node,
            times: vec![0.0, 1.25],
            interpolation: Interpolation::Linear,
            keys,
        };
        let apart = rig.pose(None, 0.0)[second].translation;
        let channels = &mut rig.animations[0].channels;
        channels
            .retain(|channel| channel.node != second || !matches!(channel.keys, Keys::Scale(_) | Keys::Translation(_)));
        channels.push(keys(second, Keys::Scale(vec![Vec3::splat(1.0), Vec3::new(0.6, 1.5, 1.1)])));
        channels.push(keys(second, Keys::Translation(vec![apart, apart + Vec3::new(0.0, 0.1, 0.05)])));
        let flesh = flesh(&rig);
        assert!(worst_against_blend(&rig, &flesh) < EXACT, "{name}");
        let performance =
            Performance { rig: &rig, flesh: &flesh, animation: rig.animations.first(), start: 1.25, preroll: 0.5 };
        let end = flesh.motions(&rig.pose(rig.animations.first(), 1.25));
        assert!(worst_motion(&performance.motions(0.5 - 1e-10), &end) < 1e-6, "{name}");
        assert!(worst_motion(&performance.motions(0.0), &vec![Motion::identity(); end.len()]) < EXACT, "{name}");
    }
}

/// An armature that scales unevenly, and one among the joints whose bind matrix says nothing about the others.
#[test]
fn odd_armatures_do_not_decide_what_rest_is() {
    for (name, rig) in characters() {
        let uneven = rerooted(rig, scaled_root(Vec3::new(1.0, 1.0, 1.5)), 1.0, 1.0);
        assert!(worst_against_blend(&uneven, &flesh(&uneven)) < EXACT, "{name}");

        let turn = Quaternion::from_axis_angle(Vec3::unit(0), -std::f64::consts::FRAC_PI_2);
        let root = Transform::Parts { translation: Vec3::zero(), rotation: turn, scale: Vec3::splat(0.01) };
        let mut armature = rerooted(rig, root, 0.01, 0.01);
        let size = flesh(&armature).surface.bounds().size().norm();
        armature.skins[0].joints.push(armature.nodes.len() - 1);
        for bind in [Affine::identity(), Affine { linear: Mat3::identity() * 1e4, translation: Vec3::zero() }] {
            let count = armature.skins[0].joints.len();
            armature.skins[0].inverse_binds.resize(count, bind);
            armature.skins[0].inverse_binds[count - 1] = bind;
            let flesh = flesh(&armature);
            assert!((flesh.surface.bounds().size().norm() / size - 1.0).abs() < EXACT, "{name}");
            assert!(worst_against_blend(&armature, &flesh) < EXACT, "{name}");
        }
        // A matrix of zeros, as some programs write for joints that move nothing.
        *armature.skins[0].inverse_binds.last_mut().unwrap() =
            Affine { linear: Mat3::zero(), translation: Vec3::zero() };
        assert!(worst_against_blend(&armature, &flesh(&armature)) < EXACT, "{name}");
    }
    let mut lost = arm();
    for bind in &mut lost.skins[0].inverse_binds[1..3] {
        bind.linear = Mat3::zero();
    }
    let said = Flesh::new(&lost, &FleshParams::default()).unwrap_err().to_string();
    let names = [1, 2].map(|k| &lost.nodes[lost.skins[0].joints[k]].name);
    assert!(names.iter().all(|name| said.contains(*name)) && said.contains("cannot be inverted"), "{said}");
}
