//! Motions from elsewhere, from the user's point of view: `sinew skin --motion`, `motion` of a rig, `sinew mesh info`.

use std::path::Path;

use crate::support::character::{arm, complaint, sinew, text, told, write};
use crate::support::fresh_folder;
use serde_json::Value;
use sinew_rig::Rig;
use sinew_rig::characters::{Character, CharacterParams, generate};

/// A torso that shrugs, and that motion as BVH.
fn torso(folder: &Path) {
    told(folder, &["character", "torso", "--edge", "3 cm", "-o", "torso.glb"]);
    told(folder, &["character", "torso", "--edge", "3 cm", "--motion", "twist", "-o", "twist.bvh"]);
}

/// What a command prints.
fn printed(folder: &Path, arguments: &[&str]) -> String {
    let output = sinew(folder, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn a_character_without_animation_gets_a_test_motion() {
    let folder = fresh_folder("motion_built_in");
    write(&Rig { animations: Vec::new(), ..arm() }, &folder.join("arm.glb"));
    complaint(&folder, &["skin", "arm.glb"], &["has no animation", "--motion range-of-motion"]);
    let options = [
        "--motion",
        "range-of-motion",
        "--cell",
        "2.5 cm",
        "--contact",
        "none",
        "--duration",
        "0.1 s",
        "--no-pictures",
    ];
    let said = told(&folder, &[&["skin", "arm.glb", "-o", "out/arm.glb"], &options[..]].concat());
    assert!(said.contains("range-of-motion: 4 of 4 joints follow the motion"), "{said}");
    assert!(said.contains("no side: taken as left"), "{said}");
    let report = std::fs::read_to_string(folder.join("out/arm/report.json")).expect("a report");
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let motion = &report["characters"]["bodies"][0]["motion"];
    assert_eq!(motion["joints"].as_array().map(Vec::len), Some(4), "{motion}");
    assert_eq!(motion["joints"][2]["human"], "left_forearm");
}

#[test]
fn a_file_of_motion_capture_moves_another_character() {
    let folder = fresh_folder("motion_bvh");
    torso(&folder);
    told(&folder, &["character", "arm", "--edge", "15 mm", "-o", "arm.glb"]);
    let listed = printed(&folder, &["mesh", "info", "twist.bvh"]);
    assert!(listed.contains("11 joints, 61 frames, 2.500 s at 24") && listed.contains("left_upper_arm"), "{listed}");
    let json: Value = serde_json::from_str(&printed(&folder, &["mesh", "info", "--json", "twist.bvh"])).expect("JSON");
    assert_eq!((json["frames"].as_u64(), json["joints"][1]["parent"].as_str()), (Some(61), Some("hips")));
    let options = ["--motion", "twist.bvh", "--keep", "hands", "--in-place", "--map", "upper_arm.R=shoulder"];
    told(&folder, &[&["skin", "arm.glb", "--scene", "arm.toml"], &options[..]].concat());
    let scene = std::fs::read_to_string(folder.join("arm.toml")).expect("a scene");
    for line in
        ["twist.bvh\"", "in_place = true", "keep = [\"hands\"]", "motion_map = { \"upper_arm.R\" = \"shoulder\" }"]
    {
        assert!(scene.contains(line), "{line} in {scene}");
    }
    let table = printed(&folder, &["check", "arm.toml", "--set", "body.flesh.mesh.cell=\"3 cm\""]);
    let row = table.lines().find(|line| line.trim_start().starts_with("shoulder")).unwrap_or_default();
    assert!(row.contains("upper_arm.R") && row.ends_with("map"), "{table}");
}

#[test]
fn poses_are_text() {
    let folder = fresh_folder("motion_poses");
    torso(&folder);
    let poses = "[pose.hello]\nright_upper_arm = { side = 80 }\nspine = { twist = 12.5 }\n\"clavicle.L\" = { z = 10 }\n\
                 [[key]]\ntime = \"0 s\"\npose = \"stand\"\n[[key]]\ntime = 0.5\npose = [\"hello\"]\n";
    std::fs::write(folder.join("hello.toml"), poses).expect("a file");
    told(&folder, &["skin", "torso.glb", "--motion", "hello.toml", "--scene", "scene.toml"]);
    let table = printed(&folder, &["check", "scene.toml", "--set", "body.flesh.mesh.cell=\"5 cm\""]);
    assert!(table.contains("motion") && table.contains("16 frames"), "{table}");
    // All mistakes at once.
    let wrong = poses
        .replace("right_upper_arm = { side = 80 }", "right_uper_arm = { side = 80 }")
        .replace("twist = 12.5", "turn = 12.5")
        .replace("time = 0.5", "time = 0")
        .replace("[\"hello\"]", "[\"helo\"]");
    std::fs::write(folder.join("wrong.toml"), wrong).expect("a file");
    complaint(
        &folder,
        &["skin", "torso.glb", "--motion", "wrong.toml"],
        &["did you mean `right_upper_arm`", "`turn` is none of `flex`, `side`, `twist`", "not after", "no pose `helo`"],
    );
}

#[test]
fn motions_that_cannot_be_used_are_refused_with_all_reasons() {
    let folder = fresh_folder("motion_refused");
    torso(&folder);
    let skin = |options: &[&str], causes: &[&str]| {
        complaint(&folder, &[&["skin", "torso.glb"], options].concat(), causes);
    };
    skin(&["--motion", "wlak"], &["no motion \"wlak\"", "did you mean \"walk\"?"]);
    skin(&["--motion", "dance.fbx"], &[".bvh", "Blender"]);
    skin(&["--motion", "none.bvh"], &["none.bvh"]);
    skin(
        &["--motion", "twist.bvh", "--map", "wing=chest", "--map", "hips=tail", "-o", "a.obj"],
        &["no joint \"wing\"", "no joint \"tail\"", "a.obj: characters are written"],
    );
    skin(&["--in-place"], &["--motion"]);
    let bvh = std::fs::read_to_string(folder.join("twist.bvh")).expect("a motion");
    for (from, to, causes) in [
        ("Frames: 61", "Frames: 62", &["`Frames: 62` are promised and 61 are there"][..]),
        ("Frame Time: 0.041666667", "Frame Time: 0", &["not a time between two frames"]),
        ("CHANNELS 3 Z", "CHANNELS 2 Z", &["more than 2 CHANNELS"]),
        ("0 95 0", "0 nan 0", &["`nan` is not a number"]),
    ] {
        assert!(bvh.contains(from), "{from}");
        std::fs::write(folder.join("broken.bvh"), bvh.replacen(from, to, 1)).expect("a file");
        skin(&["--motion", "broken.bvh"], causes);
    }
    let strange = ["hips", "spine", "chest", "neck", "head", "clavicle", "upper_arm", "forearm"]
        .iter()
        .fold(bvh.clone(), |text, name| text.replace(name, &format!("xq{}", name.len())));
    std::fs::write(folder.join("strange.bvh"), strange).expect("a file");
    skin(
        &["--motion", "strange.bvh"],
        &["no joint of the motion is one of the character", "\"xq4\"", "\"hips\"", "--map"],
    );
    // In a scene, keys without a motion, and a motion of one that is still.
    told(&folder, &["skin", "torso.glb", "--animation", "twist", "--scene", "scene.toml"]);
    let check = |set: &[&str], causes: &[&str]| {
        complaint(&folder, &[&["check", "scene.toml"], set].concat(), causes);
    };
    check(&["--set", "body.flesh.rig.in_place=true"], &["`in_place` needs a `motion`"]);
    check(
        &["--set", "body.flesh.rig.motion=\"walk\"", "--set", "body.flesh.rig.still=true"],
        &["`still` has no motion"],
    );
}

/// A motion of one that has no bones of a human, and a character without any: joints are swept, and this is told.
#[test]
fn joints_that_nobody_knows_are_swept() {
    let folder = fresh_folder("motion_unknown");
    let mut rig = generate(&CharacterParams { edge: 0.015, ..CharacterParams::of(Character::Arm) }).expect("an arm");
    rig.animations.clear();
    rig.nodes.iter_mut().enumerate().for_each(|(k, node)| node.name = format!("xq{k}"));
    write(&rig, &folder.join("worm.glb"));
    complaint(&folder, &["skin", "worm.glb", "--motion", "walk"], &["no joint of the motion", "\"xq0\""]);
    told(&folder, &["skin", "worm.glb", "--motion", "range-of-motion", "--scene", "worm.toml"]);
    let output = sinew(&folder, &["check", "worm.toml", "--set", "body.flesh.mesh.cell=\"3 cm\""]);
    assert!(text(&output.stderr).contains("turns by 25 degrees to either side"), "{}", text(&output.stderr));
}
