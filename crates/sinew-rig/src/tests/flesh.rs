//! The flesh of a character: closed, whole, and as the file blends it; what is refused.

use super::*;

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
