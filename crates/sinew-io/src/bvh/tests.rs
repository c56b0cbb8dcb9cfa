use sinew_math::Vec3;
use sinew_rig::characters::{Character, CharacterParams, generate};

use super::*;

/// Two joints with different orders of rotations, odd spaces, names and braces.
const SMALL: &str = "HIERARCHY
ROOT  Left Hip {
  OFFSET 0 1 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation Xrotation
  JOINT knee
  {
    OFFSET 0.0 -10.0 0.0
    CHANNELS 2 xrotation zrotation
    End Site
    {
      OFFSET 0 -5 2
    }
  }
}
MOTION
Frames: 2
Frame Time: .25
0 0 0 0 0 0 0 0
1 2 3 30 40 50 60 -20
";

/// Rotation about an axis, written out.
fn about(axis: usize, degrees: f64, v: [f64; 3]) -> [f64; 3] {
    let (s, c) = degrees.to_radians().sin_cos();
    let [x, y, z] = v;
    match axis {
        0 => [x, c * y - s * z, s * y + c * z],
        1 => [c * x + s * z, y, c * z - s * x],
        _ => [c * x - s * y, s * x + c * y, z],
    }
}

/// Forward kinematics with the angles of the second line, by hand.
#[test]
fn joints_stand_where_the_channels_put_them() {
    let rig = read(SMALL.as_bytes()).unwrap();
    assert_eq!(rig.nodes.iter().map(|node| node.name.as_str()).collect::<Vec<_>>(), ["Left Hip", "knee", "knee_end"]);
    let animation = &rig.animations[0];
    assert_eq!(animation.span(), Some([0.0, 0.25]));
    let pose = rig.pose(Some(animation), 0.25);
    let root = [1.0, 2.0, 3.0];
    let by_root = |v: [f64; 3]| {
        let turned = about(2, 30.0, about(1, 40.0, about(0, 50.0, v)));
        [0, 1, 2].map(|k| root[k] + turned[k])
    };
    let end = about(0, 60.0, about(2, -20.0, [0.0, -5.0, 2.0]));
    let expected = [root, by_root([0.0, -10.0, 0.0]), by_root([end[0], end[1] - 10.0, end[2]])];
    for (transform, expected) in pose.iter().zip(expected) {
        assert!(transform.translation.distance(Vec3::from(expected)) < 1e-12, "{transform:?} instead of {expected:?}");
    }
}

/// Every joint of a generated hand, in every frame, to the digits that are written.
#[test]
fn a_motion_survives_writing_and_reading() {
    let rig = generate(&CharacterParams { edge: 0.006, ..CharacterParams::of(Character::Hand) }).unwrap();
    let animation = rig.animation(Some("fist")).unwrap().unwrap();
    let again = read(&write(&rig, animation, 24.0).unwrap()).unwrap();
    let moved = &again.animations[0];
    let [first, last] = animation.span().unwrap();
    assert!((moved.span().unwrap()[1] - (last - first)).abs() < 1e-6);
    let mut compared = 0;
    for frame in 0..=((last - first) * 24.0).round() as usize {
        let time = frame as f64 / 24.0;
        let [ours, theirs] = [rig.pose(Some(animation), first + time), again.pose(Some(moved), time)];
        for (node, data) in again.nodes.iter().enumerate() {
            let Some(own) = rig.nodes.iter().position(|own| own.name == data.name) else { continue };
            let distance = (theirs[node].translation * 0.01).distance(ours[own].translation);
            assert!(distance < 1e-6, "{} at {time}: {distance}", data.name);
            compared += 1;
        }
    }
    assert!(compared > 15 * 60, "{compared}");
}

#[test]
fn rotations_near_the_pole_of_their_angles_survive() {
    let text = SMALL.replace("30 40 50 60 -20", "0 0 90 90 -20").replace("xrotation zrotation", "zrotation xrotation");
    let rig = read(text.as_bytes()).unwrap();
    let again = read(&write(&rig, &rig.animations[0], 4.0).unwrap()).unwrap();
    let [a, b] = [&rig, &again].map(|rig| rig.pose(Some(&rig.animations[0]), 0.25)[1]);
    assert!((b.linear - a.linear).norm() < 1e-6, "{a:?} {b:?}");
}

#[test]
fn faults_are_told_with_their_lines() {
    for (from, to, message) in [
        ("HIERARCHY", "HIERARCHIE", "HIERARCHY"),
        (
            "Frame Time: .25",
            "Frame Time: 0",
            "line 17: `Frame Time: 0` is not a time between two frames; hint: 30 frames",
        ),
        ("Frames: 2", "Frames: 3", "`Frames: 3` are promised and 2 are there"),
        ("Frames: 2", "Frames: 0", "no motion"),
        ("60 -20\n", "60\n", "line 19 has 7 numbers for 8 channels"),
        ("60 -20\n", "60 nan\n", "line 19: `nan` is not a number"),
        ("CHANNELS 2", "CHANNELS 3", "joint \"knee\" has 3 CHANNELS, but the 3. is `End`"),
        ("CHANNELS 2", "CHANNELS 1", "more than 1 CHANNELS: `zrotation`"),
        ("xrotation zrotation", "xrotation xrotation", "twice"),
        ("xrotation", "wrotation", "`wrotation`"),
        ("OFFSET 0.0", "OFFSET x", "line 7"),
        ("    }\n  }\n}", "    }\n  }\n", "MOTION begins inside joint \"Left Hip\""),
        ("ROOT  Left Hip {", "JOINT a {", "outside of the ROOT"),
        ("MOTION", "", "`Frames:` is none of"),
    ] {
        let error = read(SMALL.replacen(from, to, 1).as_bytes()).unwrap_err().to_string();
        assert!(error.contains(message), "{to}: {error}");
    }
    // Two faults, one message.
    let both = SMALL.replace("60 -20\n", "60\n").replace("0 0 0 0 0 0 0 0\n", "0 0 0 inf 0 0 0 0\n");
    let error = read(both.as_bytes()).unwrap_err().to_string();
    assert!(error.contains("line 18: `inf`") && error.contains("line 19 has 7"), "{error}");
}
