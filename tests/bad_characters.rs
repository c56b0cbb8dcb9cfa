//! Characters with faults: all faults are reported at once, each with its cause and a remedy. Small ones do not stop a
//! run, and a run that stops leaves no files.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::character::{arm, complaint, told, write};
use crate::support::fresh_folder;
use sinew_math::Vec3;
use sinew_rig::characters::{Character, CharacterParams, generate};
use sinew_rig::{Rig, Transform, Weights};

/// Options of a quick run.
const BRIEF: [&str; 8] = ["--cell", "2.5 cm", "--duration", "0.125 s", "--frame-rate", "8", "--contact", "none"];

/// The vertices of the only part.
fn positions(rig: &mut Rig) -> &mut Vec<Vec3> {
    &mut rig.surfaces[0].parts[0].positions
}

fn weights(rig: &mut Rig) -> &mut Weights {
    &mut rig.surfaces[0].parts[0].weights
}

/// Multiplies the weights of a vertex.
fn scale_weights(rig: &mut Rig, vertex: usize, factor: f32) {
    let weights = weights(rig);
    let width = weights.width;
    weights.weights[vertex * width..(vertex + 1) * width].iter_mut().for_each(|weight| *weight *= factor);
}

fn node(rig: &Rig, name: &str) -> usize {
    rig.nodes.iter().position(|node| node.name == name).expect("a joint")
}

/// Scales a joint, in the pose without animation and where no key sets the scale.
fn scale_joint(rig: &mut Rig, name: &str, by: Vec3) {
    let joint = node(rig, name);
    let Transform::Parts { scale, .. } = &mut rig.nodes[joint].transform else { panic!("parts") };
    *scale = by;
}

/// The output of `check` for the scene of a character, which is compiled but not run.
fn checked(folder: &Path, rig: &Rig, options: &[&str]) -> String {
    write(rig, &folder.join("character.glb"));
    told(folder, &[&["skin", "character.glb", "--scene", "scene.toml"][..], options].concat());
    told(folder, &["check", "scene.toml"])
}

/// Runs it and returns its messages; no number may be NaN or infinite.
fn skinned(folder: &Path, rig: &Rig, options: &[&str]) -> String {
    write(rig, &folder.join("character.glb"));
    let said = told(folder, &[&["skin", "character.glb", "-o", "out/character.usda"][..], options].concat());
    let usd = std::fs::read_to_string(folder.join("out/character.usda")).expect("text");
    assert!(!usd.contains("nan") && !usd.contains("inf,"), "numbers only");
    said
}

fn assert_says(said: &str, words: &[&str]) {
    for word in words {
        assert!(said.contains(word), "\"{word}\" is not in:\n{said}");
    }
}

#[test]
fn everything_that_is_missing_is_told_at_once() {
    let folder = fresh_folder("bad_character_missing");
    let mut bare = arm();
    bare.animations.clear();
    bare.skins.clear();
    bare.nodes.iter_mut().for_each(|node| node.skin = None);
    *weights(&mut bare) = Weights::default();
    write(&bare, &folder.join("bare.glb"));
    let causes = ["no animation", "nothing is moved by a skeleton", "hint: export it with its animation"];
    let options = ["skin", "bare.glb", "-o", "out/a.fbx", "--bones", "none.toml"];
    complaint(&folder, &options, &[&causes[..], &["a.fbx", "none.toml"]].concat());
    let scene = "duration = \"1 s\"\nup = \"y\"\n[[body]]\nname = \"flesh\"\n\
                 mesh = { from = \"fill\", surface = \"bare.glb\", element = \"lattice\", cell = \"2.5 cm\" }\n\
                 material = { type = \"corotated\", young = \"20 kPa\", poisson = 0.45 }\nrig = {}\n\
                 [record]\nskin = [\"a.usda\"]\n";
    std::fs::write(folder.join("scene.toml"), scene).expect("a scene");
    for command in [&["check", "scene.toml"][..], &["run", "scene.toml", "-o", "out"]] {
        complaint(&folder, command, &[&causes[..], &["scene.toml:5"]].concat());
    }
    assert!(!folder.join("out").exists(), "something was left behind");
}

/// A character without an animation is an error, unless it is `still`.
#[test]
fn still_characters_need_no_animation() {
    let folder = fresh_folder("still_character");
    let mut still = arm();
    still.animations.clear();
    write(&still, &folder.join("still.glb"));
    let scene = |rig: &str| {
        let text = format!(
            "duration = \"0.1 s\"\nup = \"y\"\n[solver]\ntype = \"quasistatic\"\n[[body]]\nname = \"flesh\"\n\
             mesh = {{ from = \"fill\", surface = \"still.glb\", element = \"lattice\", cell = \"2.5 cm\" }}\n\
             material = {{ type = \"corotated\", young = \"20 kPa\", poisson = 0.45 }}\nrig = {{ {rig} }}\n"
        );
        std::fs::write(folder.join("scene.toml"), text).expect("a scene");
    };
    scene("still = true");
    told(&folder, &["check", "scene.toml"]);
    scene("");
    complaint(&folder, &["check", "scene.toml"], &["no animation", "`still = true`"]);
    scene("still = true, animation = \"curl\"");
    complaint(&folder, &["check", "scene.toml"], &["`still` has no animation", "scene.toml:9"]);
}

#[test]
fn weights_that_are_no_shares_are_divided_by_their_sum() {
    let folder = fresh_folder("bad_character_weights");
    let mut rig = arm();
    for vertex in 0..10 {
        scale_weights(&mut rig, 7 * vertex, 1.005);
    }
    let said = checked(&folder, &rig, &BRIEF);
    assert!(!said.contains("sum to one"), "small deviations are nobody's business: {said}");
    scale_weights(&mut rig, 3, 2.5);
    scale_weights(&mut rig, 4, 0.2);
    for vertex in [5, 6, 900] {
        scale_weights(&mut rig, vertex, 0.0);
    }
    let said = skinned(&folder, &rig, &BRIEF);
    let count = rig.surfaces[0].parts[0].positions.len();
    assert_says(
        &said,
        &[
            &format!("weights of 2 of {count} vertices do not sum to one"),
            "the worst to 0.200",
            &format!("3 of {count} vertices have no weight (5, 6, 900)"),
            "move with the skin around them",
        ],
    );
    for vertex in 0..count {
        scale_weights(&mut rig, vertex, 0.0);
    }
    write(&rig, &folder.join("loose.glb"));
    complaint(&folder, &["skin", "loose.glb", "-o", "loose/a.usda"], &["no vertex", "has a weight", "hint: bind it"]);
    assert!(!folder.join("loose").exists());
}

#[test]
fn a_skeleton_elsewhere_is_refused_and_a_joint_elsewhere_told() {
    let folder = fresh_folder("bad_character_fit");
    // A skeleton in centimeters with a surface in meters.
    let mut rig = arm();
    rig.skins[0].inverse_binds.iter_mut().for_each(|bind| bind.translation *= 100.0);
    for joint in rig.skins[0].joints.clone() {
        let Transform::Parts { translation, .. } = &mut rig.nodes[joint].transform else { panic!("parts") };
        *translation *= 100.0;
    }
    write(&rig, &folder.join("large.glb"));
    let causes = ["does not fit the surface", "\"wrist\" by 5", "m long", "hint: apply scale"];
    complaint(&folder, &[&["skin", "large.glb", "-o", "out/a.usda"][..], &BRIEF].concat(), &causes);
    assert!(!folder.join("out").exists());

    let mut rig = arm();
    let (wrist, away) = (node(&rig, "wrist"), Vec3::new(0.0, 2.0, 0.0));
    let number = rig.skins[0].joints.iter().position(|&joint| joint == wrist).expect("a joint of the skin");
    let Transform::Parts { translation, .. } = &mut rig.nodes[wrist].transform else { panic!("parts") };
    *translation += away;
    rig.skins[0].inverse_binds[number].translation -= away;
    assert_says(&checked(&folder, &rig, &BRIEF), &["1 of 4 joints are far", "\"wrist\" by"]);

    // User-defined bones, beside the flesh.
    let bones = "bones = [{ joint = \"shoulder\", ends = [[0, 0, 0], [\"10 cm\", 0, 0]], radius = \"8 mm\" },\n  \
                 { joint = \"elbow\", ends = [[0, 3, 0], [\"10 cm\", 3, 0]], radius = \"8 mm\" }]\n";
    std::fs::write(folder.join("bones.toml"), bones).expect("bones");
    let said = checked(&folder, &arm(), &[&BRIEF[..], &["--bones", "bones.toml"]].concat());
    assert_says(&said, &["1 of 4 joints hold flesh, by 2 bones", "outside their flesh and hold none: elbow"]);
}

/// Coincident vertices, and vertices on the opposite edge: barriers between surfaces need a distance.
#[test]
fn triangles_of_no_area_are_done_without() {
    let folder = fresh_folder("bad_character_flat");
    let mut rig = arm();
    let triangles = rig.surfaces[0].parts[0].triangles.clone();
    let x = positions(&mut rig);
    let is_whole = |x: &[Vec3], vertex: u32| {
        // Not at the seam, where vertices exist twice.
        x.iter().filter(|other| other.distance(x[vertex as usize]) < 1e-9).count() == 1
    };
    let inner: Vec<[u32; 3]> =
        triangles.iter().copied().filter(|t| t.iter().all(|&vertex| is_whole(x, vertex))).collect();
    let mut used = std::collections::BTreeSet::new();
    let mut bent = 0;
    for triangle in inner.iter().step_by(97) {
        // Neighbors of moved vertices stay in place.
        let near = triangles.iter().filter(|t| t.iter().any(|vertex| triangle.contains(vertex))).flatten();
        let near: Vec<u32> = near.copied().collect();
        if near.iter().any(|vertex| used.contains(vertex)) {
            continue;
        }
        used.extend(near);
        let [a, b, c] = triangle.map(|vertex| vertex as usize);
        x[c] = if bent % 2 == 0 { (x[a] + x[b]) * 0.5 } else { x[a] };
        bent += 1;
    }
    assert!(bent > 4, "{bent}");
    // Triangles around a moved vertex are thin, which matters to barriers.
    let barrier = ["--cell", "2.5 cm", "--duration", "0 s", "--frame-rate", "4", "--contact", "barrier"];
    let said = skinned(&folder, &rig, &barrier);
    assert_says(&said, &["triangles have no area and are ignored"]);

    let mut sheet = arm();
    positions(&mut sheet).iter_mut().for_each(|x| x.z = 0.0);
    write(&sheet, &folder.join("sheet.glb"));
    complaint(&folder, &["skin", "sheet.glb", "-o", "sheet/a.usda"], &["sheet.glb", "encloses no volume"]);
    let mut point = arm();
    positions(&mut point).iter_mut().for_each(|x| *x = Vec3::zero());
    write(&point, &folder.join("point.glb"));
    complaint(&folder, &["skin", "point.glb", "-o", "point/a.usda"], &["point.glb", "no triangle", "area"]);
}

/// A joint that is mirrored in the bind pose moves like any other; one that becomes mirrored later is taken as it was
/// bound, which is told.
#[test]
fn mirrored_joints_are_followed_as_they_were_bound() {
    let folder = fresh_folder("bad_character_mirror");
    let mut rig = arm();
    let mirror = Vec3::new(-1.0, 1.0, 1.0);
    scale_joint(&mut rig, "wrist", mirror);
    let said = checked(&folder, &rig, &BRIEF);
    assert_says(&said, &["their mirroring is ignored: wrist", "4 of 4 joints hold flesh"]);

    // Bound in this pose: B⁻¹ = M⁻¹ B₀⁻¹.
    let wrist = node(&rig, "wrist");
    let number = rig.skins[0].joints.iter().position(|&joint| joint == wrist).expect("a joint of the skin");
    let bind = &mut rig.skins[0].inverse_binds[number];
    let back =
        Transform::Parts { translation: Vec3::zero(), rotation: sinew_math::Quaternion::identity(), scale: mirror };
    *bind = back.to_affine().after(bind);
    let said = checked(&folder, &rig, &BRIEF);
    assert!(
        said.contains("4 of 4 joints hold flesh") && !said.contains("scaled") && !said.contains("ignored"),
        "{said}"
    );

    let mut rig = arm();
    scale_joint(&mut rig, "elbow", Vec3::zero());
    write(&rig, &folder.join("gone.glb"));
    let causes = ["joints are scaled to nothing from 0 s", ": elbow, wrist"];
    complaint(&folder, &[&["skin", "gone.glb", "-o", "out/a.usda"][..], &BRIEF].concat(), &causes);
    assert!(!folder.join("out").exists());
}

#[test]
fn cells_too_coarse_for_fingers_are_told_with_cells_that_are_not() {
    let folder = fresh_folder("bad_character_cells");
    let rig = generate(&CharacterParams { seconds: 0.25, ..CharacterParams::of(Character::Hand) }).expect("a hand");
    // Springs would leave flesh its freedom.
    let told_of = |cell: &str| {
        checked(&folder, &rig, &["--cell", cell, "--contact", "none"]);
        told(&folder, &["check", "scene.toml", "--set", "body.flesh.rig.hold=\"hard\""])
    };
    let size = |said: &str, before: &str, after: &str| {
        let rest = said.split(before).nth(1).expect("a size");
        rest.split(after).next().expect("a size").to_string()
    };
    let said = told_of("2 cm");
    assert_says(&said, &["too coarse between", "proximal", "cannot open there", "keep them apart"]);
    let apart = size(&said, "there; cells of ", " keep them apart");
    assert!(!told_of(&apart).contains("too coarse"), "{apart} is said to be fine enough");

    let said = told_of("3.5 cm");
    assert_says(&said, &["too coarse between", "as wide as limbs", "leave free flesh"]);
    let soft = size(&said, "deforms there; cells of ", " leave free flesh");
    let said = told_of(&soft);
    // No problems: neither of cells nor of the skeleton.
    for word in ["as wide as limbs", "too coarse", "far from", "hold no flesh"] {
        assert!(!said.contains(word), "{soft}: {said}");
    }
}

#[test]
fn cells_beyond_the_memory_are_refused_at_once_with_some_that_fit() {
    let folder = fresh_folder("bad_character_memory");
    write(&arm(), &folder.join("arm.glb"));
    for cell in ["0.01 mm", "1e-30 m", "1e-200 m"] {
        let start = Instant::now();
        let said = complaint(
            &folder,
            &["skin", "arm.glb", "--cell", cell],
            &["cells would need", "GiB", "hint: a cell size of "],
        );
        assert!(start.elapsed() < Duration::from_secs(10), "{cell}: {:?}", start.elapsed());
        let fitting = said.split("a cell size of ").nth(1).and_then(|rest| rest.split(" fits").next()).expect("a size");
        assert!(fitting.ends_with('m') && fitting.len() < 9, "{fitting}");
    }
    complaint(&folder, &["skin", "arm.glb", "--cell", "10 m"], &["contains the whole body", "0.2 m or less"]);
    assert!(!folder.join("out").exists());
}

#[test]
fn numbers_that_make_no_sense_are_refused_where_they_are_given() {
    let folder = fresh_folder("bad_character_numbers");
    write(&arm(), &folder.join("arm.glb"));
    let cases: [(&[&str], &[&str]); 9] = [
        (&["--frame-rate", "0"], &["--frame-rate", "positive"]),
        (&["--frame-rate", "-3"], &["--frame-rate", "positive"]),
        (&["--frame-rate", "nan"], &["--frame-rate", "positive"]),
        (&["--duration", "-1 s"], &["--duration", "negative"]),
        (&["--start", "9 s"], &["ends at 0.25 s"]),
        (&["--start", "soon"], &["--start", "a time"]),
        (&["--poisson", "0.5"], &["--poisson", "below 0.5"]),
        (&["--poisson", "nan"], &["--poisson", "below 0.5"]),
        (&["--young", "hard"], &["Young's modulus", "pressure"]),
    ];
    for (options, causes) in cases {
        complaint(&folder, &[&["skin", "arm.glb"][..], options].concat(), causes);
    }
    assert!(!folder.join("out").exists());
}

/// An open surface is an error with a remedy, and the remedy works.
#[test]
fn an_open_surface_can_be_taken_as_it_is() {
    let folder = fresh_folder("bad_character_open");
    let mut rig = arm();
    let triangles = &mut rig.surfaces[0].parts[0].triangles;
    triangles.truncate(triangles.len() - 2);
    write(&rig, &folder.join("open.glb"));
    let strict = ["skin", "open.glb", "--cell", "2.5 cm", "--strict"];
    complaint(&folder, &strict, &["hint: ", "repair = \"winding\""]);
    assert!(!folder.join("out").exists());
    let said = checked(&folder, &rig, &[&BRIEF[..], &["--repair", "winding"]].concat());
    assert_says(&said, &["4 of 4 joints hold flesh"]);
}
