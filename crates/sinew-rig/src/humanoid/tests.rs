use super::*;
use crate::rig::{Node, Transform};

/// A rig from lines `child < parent`.
fn rig(lines: &[(&str, Option<&str>)]) -> Rig {
    let place = |name: &str| lines.iter().position(|line| line.0 == name);
    let node = |&(name, parent): &(&str, Option<&str>)| Node {
        name: name.into(),
        parent: parent.and_then(place),
        transform: Transform::from_translation(Vec3::unit(1)),
        surface: None,
        skin: None,
        morph_weights: None,
        is_shown: true,
    };
    Rig { nodes: lines.iter().map(node).collect(), ..Rig::default() }
}

fn names(rig: &Rig) -> BTreeMap<String, String> {
    let humanoid = Humanoid::of(rig);
    humanoid.nodes.iter().map(|(slot, &node)| (slot.name(), rig.nodes[node].name.clone())).collect()
}

/// A chain from `root` on, one below the other.
fn chain<'a>(list: &mut Vec<(&'a str, Option<&'a str>)>, root: Option<&'a str>, names: &[&'a str]) {
    let mut above = root;
    for name in names {
        list.push((name, above));
        above = Some(name);
    }
}

#[test]
fn shoulders_and_legs_mean_what_the_skeleton_says() {
    let mut mixamo = Vec::new();
    chain(&mut mixamo, None, &["Hips", "Spine", "Spine1", "Spine2", "Neck", "Head", "HeadTop_End"]);
    chain(&mut mixamo, Some("Spine2"), &["LeftShoulder", "LeftArm", "LeftForeArm", "LeftHand"]);
    chain(&mut mixamo, Some("Hips"), &["LeftUpLeg", "LeftLeg", "LeftFoot", "LeftToeBase"]);
    let found = names(&rig(&mixamo));
    assert_eq!(found["left_clavicle"], "LeftShoulder");
    assert_eq!(found["left_upper_arm"], "LeftArm");
    assert_eq!((&*found["left_thigh"], &*found["left_shin"]), ("LeftUpLeg", "LeftLeg"));
    assert_eq!((&*found["spine"], &*found["spine_2"], &*found["spine_3"]), ("Spine", "Spine1", "Spine2"));
    assert_eq!((&*found["neck"], &*found["head"]), ("Neck", "Head"));

    let mut bvh = Vec::new();
    chain(&mut bvh, None, &["Hips", "Chest", "Neck", "Head"]);
    chain(&mut bvh, Some("Chest"), &["LeftCollar", "LeftShoulder", "LeftElbow", "LeftWrist"]);
    chain(&mut bvh, Some("Hips"), &["LeftHip", "LeftKnee", "LeftAnkle", "LeftFoot"]);
    let found = names(&rig(&bvh));
    assert_eq!((&*found["left_clavicle"], &*found["left_upper_arm"]), ("LeftCollar", "LeftShoulder"));
    assert_eq!((&*found["left_thigh"], &*found["left_shin"]), ("LeftHip", "LeftKnee"));
    assert_eq!((&*found["left_foot"], &*found["left_toes"]), ("LeftAnkle", "LeftFoot"));
    assert_eq!(found["hips"], "Hips");
}

#[test]
fn helper_joints_are_passed_over() {
    let mut daz = Vec::new();
    chain(&mut daz, None, &["hip", "pelvis", "lThighBend", "lThighTwist", "lShin", "lFoot"]);
    chain(
        &mut daz,
        Some("hip"),
        &["abdomenLower", "abdomenUpper", "chestLower", "chestUpper", "neckLower", "neckUpper", "head"],
    );
    chain(
        &mut daz,
        Some("chestUpper"),
        &["lCollar", "lShldrBend", "lShldrTwist", "lForearmBend", "lForearmTwist", "lHand"],
    );
    chain(&mut daz, Some("chestUpper"), &["rCollar", "rShldrBend"]);
    let found = names(&rig(&daz));
    assert_eq!(found["hips"], "hip");
    assert_eq!((&*found["spine"], &*found["spine_4"]), ("abdomenLower", "chestUpper"));
    assert_eq!((&*found["neck"], &*found["neck_2"]), ("neckLower", "neckUpper"));
    assert_eq!((&*found["left_clavicle"], &*found["left_upper_arm"]), ("lCollar", "lShldrBend"));

    let mut cmu = Vec::new();
    chain(&mut cmu, None, &["Hips", "LHipJoint", "LeftUpLeg", "LeftLeg"]);
    assert_eq!(names(&rig(&cmu))["left_thigh"], "LeftUpLeg");
}

#[test]
fn a_numbered_spine_ends_in_a_head() {
    let mut rigify = Vec::new();
    let spine = [
        "DEF-spine",
        "DEF-spine.001",
        "DEF-spine.002",
        "DEF-spine.003",
        "DEF-spine.004",
        "DEF-spine.005",
        "DEF-spine.006",
    ];
    chain(&mut rigify, None, &spine);
    for (shoulder, arm, thigh, twist, shin) in [
        ("DEF-shoulder.L", "DEF-upper_arm.L", "DEF-thigh.L", "DEF-thigh.L.001", "DEF-shin.L"),
        ("DEF-shoulder.R", "DEF-upper_arm.R", "DEF-thigh.R", "DEF-thigh.R.001", "DEF-shin.R"),
    ] {
        chain(&mut rigify, Some("DEF-spine.003"), &[shoulder, arm]);
        chain(&mut rigify, Some("DEF-spine"), &[thigh, twist, shin]);
    }
    let found = names(&rig(&rigify));
    assert_eq!(found["hips"], "DEF-spine");
    assert_eq!(
        (&*found["spine_3"], &*found["neck"], &*found["head"]),
        ("DEF-spine.003", "DEF-spine.004", "DEF-spine.006")
    );
    assert_eq!((&*found["left_thigh"], &*found["left_shin"]), ("DEF-thigh.L", "DEF-shin.L"));
}

#[test]
fn fingers_are_counted_along_the_tree() {
    let mut hand = Vec::new();
    chain(&mut hand, None, &["RightHand", "RightHandIndex1", "RightHandIndex2", "RightHandIndex3", "RightHandIndex4"]);
    chain(&mut hand, Some("RightHand"), &["rightThumbProximal", "rightThumbIntermediate", "rightThumbDistal"]);
    chain(&mut hand, Some("RightHand"), &["ring_metacarpal_r", "ring_01_r", "ring_02_r", "ring_03_r"]);
    let found = names(&rig(&hand));
    assert_eq!((&*found["right_index_1"], &*found["right_index_3"]), ("RightHandIndex1", "RightHandIndex3"));
    assert_eq!((&*found["right_thumb_1"], &*found["right_thumb_3"]), ("rightThumbProximal", "rightThumbDistal"));
    assert_eq!((&*found["right_ring_metacarpal"], &*found["right_ring_1"]), ("ring_metacarpal_r", "ring_01_r"));
}

/// The generated hand is a right one, the generated arm a left one; neither has a side in its names.
#[test]
fn the_side_of_a_single_limb_is_seen() {
    use crate::characters::{Character, CharacterParams, generate};
    for (character, side, edge) in [(Character::Hand, Side::Right, 0.006), (Character::Arm, Side::Left, 0.02)] {
        let rig = generate(&CharacterParams { edge, ..CharacterParams::of(character) }).unwrap();
        let humanoid = Humanoid::of(&rig);
        assert_eq!(humanoid.guessed_side, Some(side), "{character:?}");
        assert!(humanoid.node(Role::Hand, side).is_some(), "{humanoid:?}");
    }
}

/// Names that the file has for its joints are better than those of its nodes.
#[test]
fn names_of_the_file_come_first() {
    let mut skeleton = Vec::new();
    chain(&mut skeleton, None, &["J0", "J1", "J2", "leftHand"]);
    let mut skeleton = rig(&skeleton);
    skeleton.humanoid =
        [("leftUpperArm", 0), ("leftLowerArm", 1), ("leftHand", 2)].map(|(name, k)| (name.into(), k)).into();
    let found = names(&skeleton);
    assert_eq!((&*found["left_upper_arm"], &*found["left_forearm"], &*found["left_hand"]), ("J0", "J1", "J2"));
}
