//! What is no flesh follows it: eyes, hair, hats.

use super::*;

#[test]
fn eyes_and_hair_follow_by_skinning() {
    let plain = torso();
    let mirrored = rerooted(&with_followers(torso()), scaled_root(Vec3::new(-1.0, 1.0, 1.0)), 1.0, 1.0);
    for (rig, is_mirrored) in [(with_followers(torso()), false), (mirrored, true)] {
        let flesh = flesh(&rig);
        assert_eq!(flesh.surface.vertex_count(), self::flesh(&plain).surface.vertex_count());
        let roles: Vec<(&str, Role)> = flesh.decisions.iter().map(|part| (part.name.as_str(), part.role)).collect();
        let expected =
            [("torso", Role::Flesh), ("skinned eye", Role::OnBone), ("hair", Role::OnFlesh), ("eye", Role::OnBone)];
        assert_eq!(roles, expected);
        for piece in &flesh.pieces[1..] {
            assert!(piece.vertices.iter().all(|source| match source {
                Source::Flesh(_) => false,
                Source::Joints(_, weights) => !weights.is_empty(),
                Source::Ride(ride) => !ride.weights.is_empty(),
            }));
        }
        assert!(flesh.pieces.iter().all(|piece| piece.is_mirrored == is_mirrored));
        let error = worst_against_blend(&rig, &flesh);
        assert!(error < EXACT, "{error}");
    }
}

/// Hats and swords may be listed before the flesh, and may be attached to joints that move no flesh.
#[test]
fn what_hangs_on_joints_of_other_skins_follows_them() {
    let mut rig = with_followers(torso());
    // A joint on the head used only by the hair, which rotates on its own and carries the eye.
    let head = joint(&rig, "head");
    let (brow, eye, hair) = (rig.nodes.len(), joint(&rig, "eye"), joint(&rig, "hair"));
    rig.nodes.push(node("brow", Some(head), Transform::from_translation(Vec3::new(0.0, 0.1, 0.05))));
    rig.nodes[eye].parent = Some(brow);
    let bind = rig.pose(None, 0.0)[brow].inverse().unwrap();
    let (mut joints, mut inverse_binds) = (rig.skins[0].joints.clone(), rig.skins[0].inverse_binds.clone());
    joints.insert(0, brow);
    inverse_binds.insert(0, bind);
    let surface = rig.nodes[hair].surface.unwrap();
    // The joint indices of the hair are now one higher, but half of it is attached to the brow.
    let weights = &mut rig.surfaces[surface].parts[0].weights;
    weights.joints.iter_mut().enumerate().for_each(|(k, joint)| *joint = if k % 4 == 0 { 0 } else { *joint + 1 });
    rig.nodes[hair].skin = Some(rig.skins.len());
    rig.skins.push(Skin { name: "hair".into(), joints, inverse_binds });
    for animation in &mut rig.animations {
        animation.channels.push(Channel {
            node: brow,
            times: vec![0.0, 1.0],
            interpolation: Interpolation::Linear,
            keys: Keys::Rotation(vec![[1.0, 0.0, 0.0, 0.0], [0.8, 0.6, 0.0, 0.0]]),
        });
    }
    let skin = rig.surfaces[0].name.clone();
    for surfaces in [Vec::new(), vec![skin]] {
        let flesh = Flesh::new(&rig, &FleshParams { surfaces, ..FleshParams::default() }).unwrap();
        let error = worst_against_blend(&rig, &flesh);
        assert!(error < EXACT, "{error}");
    }
}

/// An eye that rotates without being a joint, and a ball in the room that no skeleton moves.
#[test]
fn nodes_that_move_by_themselves_carry_what_stands_on_them() {
    let mut rig = with_followers(torso());
    let eye = joint(&rig, "eye");
    let ball = rig.nodes.len();
    rig.nodes.push(Node { surface: rig.nodes[eye].surface, ..node("ball", None, Transform::identity()) });
    for animation in &mut rig.animations {
        animation.channels.push(Channel {
            node: eye,
            times: vec![0.0, 1.0],
            interpolation: Interpolation::Linear,
            keys: Keys::Rotation(vec![[1.0, 0.0, 0.0, 0.0], [0.8, 0.6, 0.0, 0.0]]),
        });
        animation.channels.push(Channel {
            node: ball,
            times: vec![0.0, 2.0],
            interpolation: Interpolation::Linear,
            keys: Keys::Translation(vec![Vec3::zero(), Vec3::new(1.0, 2.0, 3.0)]),
        });
    }
    let moving = flesh(&rig);
    let error = worst_against_blend(&rig, &moving);
    assert!(error < EXACT, "{error}");
    let carriers = moving.joints.iter().filter(|joint| !joint.is_of_skin).map(|joint| joint.name.as_str());
    assert_eq!(carriers.collect::<Vec<_>>(), ["eye", "ball"]);
    // They are not bones.
    assert_eq!(guess_bones(&moving), guess_bones(&flesh(&torso())));
}
