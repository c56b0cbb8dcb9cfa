//! Flesh, bones and performances of characters from files.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use sinew_geometry::TriMesh;
use sinew_geometry::mesh::NearestPlaces;
use sinew_geometry::procedural::icosphere;
use sinew_geometry::shape::{AnyShape, Capsule};
use sinew_math::{Mat3, Quaternion, Vec3};

use crate::characters::{Character, CharacterParams, bone_hints, generate};
use crate::*;

/// Tolerance of vertices and joints \[m\]: rounding over a few matrices.
const EXACT: f64 = 1e-9;
/// Times at which animations are checked \[s\]: at rest, in motion, in the middle, and beyond the end.
const TIMES: [f64; 4] = [0.0, 0.4, 1.25, 3.0];

static CHARACTERS: LazyLock<Vec<Rig>> = LazyLock::new(|| {
    let coarse =
        |character: Character| CharacterParams { edge: 1.5 * character.usual_edge(), ..CharacterParams::of(character) };
    Character::ALL.into_iter().map(|character| generate(&coarse(character)).unwrap()).collect()
});

/// All generated characters by name.
fn characters() -> impl Iterator<Item = (&'static str, &'static Rig)> {
    Character::ALL.iter().map(|character| character.name()).zip(CHARACTERS.iter())
}

fn arm() -> Rig {
    CHARACTERS[0].clone()
}

fn torso() -> Rig {
    CHARACTERS[2].clone()
}

fn flesh(rig: &Rig) -> Flesh {
    Flesh::new(rig, &FleshParams::default()).unwrap()
}

fn joint(rig: &Rig, name: &str) -> usize {
    rig.nodes.iter().position(|node| node.name == name).unwrap()
}

/// The node of the skin.
fn skin_node(rig: &Rig) -> usize {
    rig.nodes.iter().position(|node| node.surface.is_some()).unwrap()
}

fn node(name: &str, parent: Option<usize>, transform: Transform) -> Node {
    Node { name: name.into(), parent, transform, surface: None, skin: None, morph_weights: None, is_shown: true }
}

/// Largest distance between corresponding points.
fn worst(a: &[Vec3], b: &[Vec3]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max)
}

/// Largest distance between pieces placed by the flesh and by blend skinning, over all animations.
fn worst_against_blend(rig: &Rig, flesh: &Flesh) -> f64 {
    let mut largest = 0.0f64;
    for animation in &rig.animations {
        for time in TIMES {
            let pose = rig.pose(Some(animation), time);
            let motions = flesh.motions(&pose);
            let skin = flesh.blend(&motions);
            for piece in &flesh.pieces {
                let part = &rig.surfaces[piece.surface].parts[piece.part];
                let expected = rig.blend(piece.node, part, &part.positions, &pose);
                largest = largest.max(worst(&flesh.place_piece(piece, &skin, &motions, |x| x), &expected));
            }
        }
    }
    largest
}

fn assert_is_flesh(flesh: &Flesh, name: &str) {
    assert!(flesh.surface.is_closed(), "{name}: {:?}", flesh.surface.topology());
    assert!(flesh.surface.volume() > 0.0, "{name}: {} m³", flesh.surface.volume());
    assert_eq!(flesh.weights.len(), flesh.surface.vertex_count(), "{name}");
}

#[test]
fn flesh_of_every_character_is_closed_and_has_all_vertices() {
    for (name, rig) in characters() {
        let flesh = flesh(rig);
        assert_is_flesh(&flesh, name);
        let bits = |x: &Vec3| x.to_array().map(|c| (c + 0.0).to_bits());
        let places: BTreeSet<_> = flesh.surface.positions().iter().map(bits).collect();
        assert_eq!(places.len(), flesh.surface.vertex_count(), "{name} has vertices twice");
        for weights in &flesh.weights {
            let sum: f64 = weights.iter().map(|share| share.1).sum();
            assert!((sum - 1.0).abs() < 1e-12 && weights.iter().all(|share| share.1 > 0.0), "{name}: {weights:?}");
        }
        let [piece] = &flesh.pieces[..] else { panic!("{name} has {} pieces", flesh.pieces.len()) };
        let positions = &rig.surfaces[0].parts[0].positions;
        assert_eq!(piece.vertices.len(), positions.len());
        for (source, x) in piece.vertices.iter().zip(positions) {
            let Source::Flesh(vertex) = source else { panic!("{name}: {source:?}") };
            assert!(flesh.surface.positions()[*vertex as usize].distance(*x) < EXACT);
        }
        assert_eq!(flesh.joints.len(), rig.skins[0].joints.len());
        assert_eq!(flesh.notes, Vec::<String>::new());
    }
}

/// $`D_j = 1`$: the pose without animation is the bind pose.
#[test]
fn joints_are_at_rest_without_animation() {
    for (name, rig) in characters() {
        let flesh = flesh(rig);
        let pose = rig.pose(None, 0.0);
        assert!((flesh.largest_scale(&pose) - 1.0).abs() < EXACT);
        for (joint, motion) in flesh.joints.iter().zip(flesh.motions(&pose)) {
            let turn = motion.pose.rotation.log_map().norm();
            assert!(turn < EXACT && motion.pose.translation.norm() < EXACT, "{name}: {} {motion:?}", joint.name);
            assert!(joint.place.distance(pose[joint.node].translation) < EXACT, "{name}: {}", joint.name);
        }
    }
}

/// $`\sum_j w_j D_j X = \sum_j w_j M_j v`$: skinning from rest and skinning from the file agree.
#[test]
fn flesh_blends_as_the_file_does() {
    for (name, rig) in characters() {
        let error = worst_against_blend(rig, &flesh(rig));
        assert!(error < EXACT, "{name}: {error}");
    }
}

/// The character under a new root, with node lengths divided by `node_unit` and vertex lengths by `vertex_unit`.
fn rerooted(rig: &Rig, root: Transform, node_unit: f64, vertex_unit: f64) -> Rig {
    let mut rig = rig.clone();
    let root_node = rig.nodes.len();
    for node in &mut rig.nodes {
        node.parent = node.parent.or(Some(root_node));
        match &mut node.transform {
            Transform::Parts { translation, .. } => *translation /= node_unit,
            Transform::Matrix(map) => map.translation /= node_unit,
        }
    }
    rig.nodes.push(node("root", None, root));
    for channel in rig.animations.iter_mut().flat_map(|animation| &mut animation.channels) {
        if let Keys::Translation(keys) = &mut channel.keys {
            keys.iter_mut().for_each(|key| *key /= node_unit);
        }
    }
    for bind in rig.skins.iter_mut().flat_map(|skin| &mut skin.inverse_binds) {
        bind.linear *= vertex_unit / node_unit;
        bind.translation /= node_unit;
    }
    for part in rig.surfaces.iter_mut().flat_map(|surface| &mut surface.parts) {
        part.positions.iter_mut().for_each(|x| *x /= vertex_unit);
    }
    rig
}

fn scaled_root(scale: Vec3) -> Transform {
    Transform::Parts { translation: Vec3::zero(), rotation: Quaternion::identity(), scale }
}

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

/// Joints listed by the skins of a split character.
#[derive(Clone, Copy, Debug)]
enum Lists {
    /// All, the second skin in reverse.
    All,
    /// Those that its vertices need.
    Needed,
}

/// The character in two surfaces, cut across its widest direction, with one skin each.
fn split(rig: &Rig, lists: Lists) -> Rig {
    let mut rig = rig.clone();
    let at = skin_node(&rig);
    let whole = rig.surfaces[0].parts[0].clone();
    let skin = rig.skins[0].clone();
    let low = whole.positions.iter().copied().reduce(Vec3::min).unwrap();
    let high = whole.positions.iter().copied().reduce(Vec3::max).unwrap();
    let axis = (0..3).max_by(|&a, &b| (high - low)[a].total_cmp(&(high - low)[b])).unwrap();
    (rig.surfaces, rig.skins) = (Vec::new(), Vec::new());
    for half in 0..2 {
        let middle = 0.5 * (low[axis] + high[axis]);
        let is_here = |triangle: &&[u32; 3]| {
            usize::from(
                triangle.iter().map(|&vertex| whole.positions[vertex as usize][axis]).sum::<f64>() > 3.0 * middle,
            ) == half
        };
        let triangles: Vec<[u32; 3]> = whole.triangles.iter().filter(is_here).copied().collect();
        let used: Vec<u32> = triangles.as_flattened().iter().copied().collect::<BTreeSet<u32>>().into_iter().collect();
        let new_of = |vertex: u32| used.binary_search(&vertex).unwrap() as u32;
        let mut listed: Vec<usize> = (0..skin.joints.len()).collect();
        if let Lists::Needed = lists {
            let needed: BTreeSet<usize> =
                used.iter().flat_map(|&vertex| whole.weights.of(vertex as usize)).map(|share| share.0).collect();
            listed.retain(|joint| needed.contains(joint));
        }
        if half == 1 {
            listed.reverse();
        }
        let place_of = |joint: u32| listed.iter().position(|&other| other == joint as usize).unwrap_or(0) as u32;
        let width = whole.weights.width;
        let of_used = |vertex: &u32| *vertex as usize * width..(*vertex as usize + 1) * width;
        let weights = Weights {
            width,
            joints: used.iter().flat_map(|v| whole.weights.joints[of_used(v)].iter().map(|&j| place_of(j))).collect(),
            weights: used.iter().flat_map(|v| whole.weights.weights[of_used(v)].iter().copied()).collect(),
        };
        let part = Part {
            positions: used.iter().map(|&vertex| whole.positions[vertex as usize]).collect(),
            triangles: triangles.iter().map(|triangle| triangle.map(new_of)).collect(),
            weights,
            ..Part::default()
        };
        let name = format!("half {half}");
        rig.surfaces.push(Surface { name: name.clone(), parts: vec![part], morph_weights: Vec::new() });
        rig.skins.push(Skin {
            name: name.clone(),
            joints: listed.iter().map(|&joint| skin.joints[joint]).collect(),
            inverse_binds: listed.iter().map(|&joint| skin.inverse_binds[joint]).collect(),
        });
        let stand = Node { surface: Some(half), skin: Some(half), ..node(&name, None, Transform::identity()) };
        if half == 0 { rig.nodes[at] = stand } else { rig.nodes.push(stand) }
    }
    rig
}

/// Points of a surface in sorted order.
fn sorted(places: &[Vec3]) -> Vec<Vec3> {
    let mut places = places.to_vec();
    // Rounding must not change the order of collinear points.
    let key = |x: &Vec3| x.to_array().map(|c| (c * 1e8).round() as i64);
    places.sort_by_key(key);
    places
}

#[test]
fn two_surfaces_with_two_skins_are_sewn_together() {
    for (name, rig) in characters() {
        for lists in [Lists::All, Lists::Needed] {
            let halves = split(rig, lists);
            let (plain, sewn) = (flesh(rig), flesh(&halves));
            assert_is_flesh(&sewn, name);
            assert_eq!(sewn.joints.len(), plain.joints.len());
            let error = worst(&sorted(plain.surface.positions()), &sorted(sewn.surface.positions()));
            assert!(error < EXACT, "{name} {lists:?}: {error}");
            let error = worst_against_blend(&halves, &sewn);
            assert!(error < EXACT, "{name} {lists:?}: {error}");
        }
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

#[test]
fn what_is_no_flesh_is_refused_with_the_cause() {
    let refused = |rig: &Rig, surfaces: &[&str]| {
        let surfaces = surfaces.iter().map(|name| (*name).to_string()).collect();
        Flesh::new(rig, &FleshParams { surfaces, ..FleshParams::default() }).unwrap_err()
    };
    let rig = arm();
    let flat = refused(&rerooted(&rig, scaled_root(Vec3::new(1.0, 0.0, 1.0)), 1.0, 1.0), &[]);
    assert!(matches!(flat, FleshError::Flat { .. }), "{flat:?}");

    let at = skin_node(&rig);
    let mut unskinned = rig.clone();
    unskinned.nodes[at].skin = None;
    assert_eq!(refused(&unskinned, &[]), FleshError::NoSkin);
    let mut hidden = rig.clone();
    hidden.nodes[at].is_shown = false;
    assert_eq!(refused(&hidden, &[]), FleshError::NoSkin);
    assert_eq!(refused(&Rig::default(), &[]), FleshError::NoSkin);

    let halves = split(&rig, Lists::All);
    let unknown = refused(&halves, &["half 0", "tail"]);
    let known = "\"half 0\", \"half 1\"".to_string();
    assert_eq!(unknown, FleshError::NoSurface { name: "tail".into(), known });
    assert!(unknown.to_string().contains("\"tail\"") && unknown.to_string().contains("\"half 1\""), "{unknown}");
}

#[test]
fn surfaces_that_are_asked_for_are_flesh_and_others_follow() {
    let rig = split(&arm(), Lists::All);
    let flesh = Flesh::new(&rig, &FleshParams { surfaces: vec!["half 1".into()], ..FleshParams::default() }).unwrap();
    let is_flesh = |piece: &Piece| piece.vertices.iter().all(|source| matches!(source, Source::Flesh(_)));
    assert_eq!(flesh.pieces.iter().map(is_flesh).collect::<Vec<_>>(), [false, true]);
    assert!(flesh.notes[0].starts_with("flesh: half 1, ") && flesh.notes[0].ends_with(" (as the scene says)"));
    assert!(flesh.notes[1].starts_with("rides on its bones: half 0, "), "{:?}", flesh.notes);
    let choice = FleshChoice::Closed;
    let strict = FleshParams { surfaces: vec!["half 1".into()], choice, ..FleshParams::default() };
    let strict = Flesh::new(&rig, &strict).unwrap();
    assert_eq!(strict.notes, ["follow by skinning: half 0"]);
    assert_eq!(strict.surface, flesh.surface);
    assert!(worst_against_blend(&rig, &flesh) < EXACT);
}

/// A ball attached to a joint, a skinned one, and an open strip of hair.
fn with_followers(mut rig: Rig) -> Rig {
    let (head, neck) = (joint(&rig, "head"), joint(&rig, "neck"));
    let ball = icosphere(0.012, 2).unwrap();
    let center = rig.pose(None, 0.0)[head].translation + Vec3::new(0.03, 0.08, 0.09);
    let number = |node: usize| rig.skins[0].joints.iter().position(|&joint| joint == node).unwrap() as u32;
    let (head_number, neck_number) = (number(head), number(neck));
    let part_of = |positions: Vec<Vec3>, triangles: Vec<[u32; 3]>| Part { positions, triangles, ..Part::default() };
    let weights_of = |count: usize, share: &dyn Fn(usize) -> f32| Weights {
        width: 2,
        joints: (0..count).flat_map(|_| [head_number, neck_number]).collect(),
        weights: (0..count).flat_map(|vertex| [share(vertex), 1.0 - share(vertex)]).collect(),
    };
    let eye = part_of(ball.positions().to_vec(), ball.triangles().to_vec());
    let mut skinned_eye = part_of(ball.positions().iter().map(|x| *x + center).collect(), ball.triangles().to_vec());
    skinned_eye.weights = weights_of(ball.vertex_count(), &|_| 1.0);
    let strip = (0..12).map(|k| center + Vec3::new(0.01 * f64::from(k % 2), -0.02 * f64::from(k / 2), -0.2));
    let mut hair = part_of(strip.collect(), (0..10).map(|k| [k, k + 1, k + 2]).collect());
    hair.weights = weights_of(12, &|vertex| 1.0 - (vertex / 2) as f32 / 5.0);
    for (name, part) in [("eye", eye), ("skinned eye", skinned_eye), ("hair", hair)] {
        let surface = rig.surfaces.len();
        let is_skinned = part.weights.width > 0;
        rig.surfaces.push(Surface { name: name.into(), parts: vec![part], morph_weights: Vec::new() });
        let turned = Transform::Parts {
            translation: Vec3::new(-0.03, 0.08, 0.09),
            rotation: Quaternion::from_axis_angle(Vec3::unit(1), 0.3),
            scale: Vec3::splat(1.1),
        };
        let stand = if is_skinned { node(name, None, Transform::identity()) } else { node(name, Some(head), turned) };
        rig.nodes.push(Node { surface: Some(surface), skin: is_skinned.then_some(0), ..stand });
    }
    rig
}

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

/// Joints that mainly move vertices.
fn owners(flesh: &Flesh) -> BTreeSet<usize> {
    flesh.weights.iter().flatten().filter(|share| share.1 >= 0.5).map(|share| share.0 as usize).collect()
}

#[test]
fn bones_are_guessed_within_the_flesh_for_every_joint() {
    for (name, rig) in characters() {
        let flesh = flesh(rig);
        let (winding, nearest) = (flesh.surface.winding_numbers(), NearestPlaces::new(&flesh.surface));
        let bones = guess_bones(&flesh);
        for bone in &bones {
            let joint = &flesh.joints[bone.joint].name;
            assert!(bone.radius > 0.0, "{name}: {joint} {bone:?}");
            for k in 0..=20 {
                let x = bone.ends[0].lerp(bone.ends[1], f64::from(k) / 20.0);
                let depth = x.distance(nearest.to(x).unwrap().position);
                assert!(winding.at(x) > 0.5, "{name}: {joint} {bone:?} leaves the flesh at {k}");
                assert!(bone.radius < depth, "{name}: {joint} {bone:?} at {k} is {depth} m deep");
            }
        }
        let with_bone: BTreeSet<usize> = bones.iter().map(|bone| bone.joint).collect();
        let without: Vec<&str> =
            owners(&flesh).difference(&with_bone).map(|&joint| flesh.joints[joint].name.as_str()).collect();
        assert_eq!(without, Vec::<&str>::new(), "{name}");
    }
}

/// Blend skinning of a bent elbow loses the flesh over the ulna; `scenes/character/ulna.toml` keeps 3 of 4 mm.
#[test]
fn blend_skinning_loses_the_flesh_over_the_ulna() {
    let (rig, flesh) = (arm(), flesh(&arm()));
    let ulna = bone_hints(Character::Arm).into_iter().find(|bone| bone.sliding == Some("ulna")).unwrap();
    let joint = flesh.joints.iter().position(|joint| joint.node == ulna.joint).unwrap();
    let capsule = Capsule::between(ulna.from, ulna.to, ulna.radius).unwrap();
    let bone = AnyShape::from(capsule.shape).surface().unwrap().mapped(|x| capsule.pose.to_world(x)).unwrap();
    let places: Vec<Vec3> = bone.samples(0.004).into_iter().map(|sample| sample.0).collect();
    // Angle in degrees, and the smallest depth of the bone below the skin.
    let bent = |time: f64| {
        let motions = flesh.motions(&rig.pose(rig.animation(Some("curl")).unwrap(), time));
        let skin = TriMesh::new(flesh.blend(&motions), flesh.surface.triangles().to_vec()).unwrap();
        let moved: Vec<Vec3> = places.iter().map(|x| motions[joint].to_world(*x)).collect();
        let least = skin.depths(&moved).into_iter().fold(f64::INFINITY, f64::min);
        (motions[joint].pose.rotation.log_map().norm().to_degrees(), least)
    };
    let [(_, rest), (turn, least), (_, last)] = [0.0, 0.4583, 1.25].map(bent);
    assert!((turn - 100.0).abs() < 1.0, "{turn}");
    // At 125 degrees the bone protrudes from the skin.
    assert!(rest > 0.0035 && least < 0.0005 && last < -0.003, "{rest} {least} {last}");
}

/// MCA-X11: folded by 125 degrees, blend skinning pushes the forearm more than 1 cm into the upper arm, which moves
/// rigidly there, even 8 cm away from the elbow. With flesh nothing crosses (`scenes/character/arm.toml`).
#[test]
fn blend_skinning_folds_the_forearm_into_the_upper_arm() {
    let (rig, flesh) = (arm(), flesh(&arm()));
    let motions = flesh.motions(&rig.pose(rig.animation(Some("curl")).unwrap(), 1.25));
    let [shoulder, elbow] =
        ["shoulder", "elbow"].map(|name| flesh.joints.iter().position(|j| j.node == joint(&rig, name)).unwrap());
    let turn =
        (motions[shoulder].pose.rotation.conjugate() * motions[elbow].pose.rotation).log_map().norm().to_degrees();
    assert!((turn - 125.0).abs() < 1.0, "{turn}");
    let rest = flesh.surface.positions();
    let pivot = rig.pose(None, 0.0)[joint(&rig, "elbow")].translation;
    // Far enough beyond the elbow to be forearm and nothing else.
    let beyond: Vec<usize> = (0..rest.len()).filter(|&v| rest[v].x > pivot.x + 0.08).collect();
    let blended = flesh.blend(&motions);
    // As the upper arm at rest sees them.
    let seen: Vec<Vec3> = beyond.iter().map(|&v| motions[shoulder].pose.to_local(blended[v])).collect();
    let upper = |x: &Vec3| x.x < pivot.x - 0.02;
    let deepest = flesh
        .surface
        .depths(&seen)
        .into_iter()
        .zip(&seen)
        .filter(|(_, x)| upper(x))
        .map(|(depth, _)| depth)
        .fold(0.0, f64::max);
    assert!(deepest > 0.01, "{deepest}");
}

#[test]
fn modelled_bones_are_surfaces_of_the_file_at_rest() {
    let rig = with_followers(torso());
    let own = flesh(&rig);
    let head = rig.pose(None, 0.0)[joint(&rig, "head")].translation;
    for (name, radius, side) in [("eye", 0.012 * 1.1, -0.03), ("skinned eye", 0.012, 0.03)] {
        let bone = modelled_bone(&rig, &own, name).unwrap().unwrap();
        let center = head + Vec3::new(side, 0.08, 0.09);
        let worst = bone.positions().iter().map(|x| (x.distance(center) - radius).abs()).fold(0.0, f64::max);
        assert!(worst < EXACT && bone.is_closed() && bone.volume() > 0.0, "{name}: {worst}");
    }
    assert!(modelled_bone(&rig, &own, "tail").is_none());
    // A bone is not flesh, however large.
    let halves = split(&arm(), Lists::All);
    let params = FleshParams { bones: vec!["half 1".into()], ..FleshParams::default() };
    let flesh = Flesh::new(&halves, &params).unwrap();
    assert!(flesh.pieces[1].vertices.iter().all(|source| matches!(source, Source::Joints(..))));
}

/// Bones with their mirror images, to 1e-6 m: each has a partner.
fn assert_mirrored(
    bones: &[Bone],
    images: &[Bone],
    name: impl Fn(usize) -> String,
    image_name: impl Fn(usize) -> String,
) {
    assert_eq!(bones.len(), images.len());
    let flip = |x: Vec3| Vec3::new(-x.x, x.y, x.z);
    for bone in bones {
        let is_image = |other: &&Bone| {
            image_name(other.joint) == name(bone.joint)
                && (other.radius - bone.radius).abs() < 1e-6
                && (0..2).all(|k| flip(other.ends[k]).distance(bone.ends[k]) < 1e-6)
        };
        assert_eq!(images.iter().filter(is_image).count(), 1, "{}: {bone:?} in {images:?}", name(bone.joint));
    }
}

#[test]
fn mirror_images_have_mirrored_bones() {
    let rig = torso();
    let flesh = flesh(&rig);
    let bones = guess_bones(&flesh);
    let name = |joint: usize| flesh.joints[joint].name.clone();
    let other_side = |joint: usize| match name(joint).rsplit_once('.') {
        Some((start, "L")) => format!("{start}.R"),
        Some((start, "R")) => format!("{start}.L"),
        _ => name(joint),
    };
    assert_mirrored(&bones, &bones, name, other_side);
    let mirrored = self::flesh(&rerooted(&rig, scaled_root(Vec3::new(-1.0, 1.0, 1.0)), 1.0, 1.0));
    assert_mirrored(&bones, &guess_bones(&mirrored), name, |joint| mirrored.joints[joint].name.clone());
}

/// Largest difference between motions, as distances of points one meter away.
fn worst_motion(a: &[Motion], b: &[Motion]) -> f64 {
    let places = [Vec3::zero(), Vec3::unit(0), Vec3::unit(1), Vec3::unit(2)];
    let all = a.iter().zip(b).flat_map(|(a, b)| places.map(|x| a.to_world(x).distance(b.to_world(x))));
    all.fold(0.0, f64::max)
}

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

/// An inner wall of the flesh, such as a mouth, belongs to it; its volume counts as hollow.
#[test]
fn surfaces_turned_inside_out_face_outwards() {
    let mut rig = arm();
    rig.surfaces[0].parts[0].triangles.iter_mut().for_each(|triangle| triangle.swap(0, 1));
    let (plain, turned) = (flesh(&arm()), flesh(&rig));
    assert_is_flesh(&turned, "arm");
    let of = |surface: &TriMesh| surface.volume();
    assert!((of(&plain.surface) / of(&turned.surface) - 1.0).abs() < EXACT);
}
