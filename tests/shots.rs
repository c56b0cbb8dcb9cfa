//! `sinew skin --sweep`: many characters through many motions, one table.

use std::path::Path;

use crate::support::character::{arm, complaint, sinew, text, write};
use crate::support::fresh_folder;
use serde_json::Value;

/// A coarse and short shot.
const BRIEF: [&str; 7] = ["--cells", "300", "--frame-rate", "8", "--contact", "none", "--sweep"];

fn shots(folder: &Path, words: &[&str], status: i32) -> Value {
    let output = sinew(folder, &[&["skin"][..], words, &BRIEF, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(status), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

fn started(folder: &Path, name: &str) -> f64 {
    let manifest = std::fs::read(folder.join(name).join("manifest.json")).expect("a manifest");
    serde_json::from_slice::<Value>(&manifest).expect("JSON")["started"].as_f64().expect("a time")
}

/// Two characters through two motions, and a file that is none: four results, two rows that say why there is none, and
/// nothing is computed twice.
#[test]
fn characters_times_motions_make_one_table() {
    let folder = fresh_folder("shots");
    write(&arm(), &folder.join("first.glb"));
    write(&arm(), &folder.join("second.glb"));
    std::fs::write(folder.join("broken.glb"), "no character").expect("a file");
    let all = ["first.glb", "broken.glb", "second.glb", "--motion", "range-of-motion", "--duration", "0.25 s"];
    let result = shots(&folder, &[&all[..], &["--motion", "wave"]].concat(), 1);
    let rows = result["shots"].as_array().expect("rows");
    let names: Vec<&str> = rows.iter().map(|row| row["name"].as_str().expect("a name")).collect();
    let expected = [
        "first_range-of-motion",
        "first_wave",
        "broken_range-of-motion",
        "broken_wave",
        "second_range-of-motion",
        "second_wave",
    ];
    assert_eq!(names, expected);
    let root = folder.join("out/shots");
    let mut done = 0;
    for row in rows {
        let name = row["name"].as_str().expect("a name");
        if row["character"] == "broken.glb" {
            assert!(row["status"] == "refused" && row["exit"] == 2, "{row}");
            assert!(row["faults"][0].as_str().is_some_and(|fault| fault.contains("broken.glb")), "{row}");
            assert!(!root.join(name).exists());
        } else if row["status"] == "done" {
            done += 1;
            assert!(row["exit"] == 0 && row["frames"].as_u64().is_some_and(|frames| frames > 0), "{row}");
            assert!(row["seconds_per_frame"].as_f64().is_some_and(|seconds| seconds > 0.0), "{row}");
            assert!(row["worst_volume"]["joint"].is_string() && row["crossings"].is_u64(), "{row}");
            assert!(root.join(format!("{name}.usda")).is_file() && root.join(name).join("report.html").is_file());
            assert!(root.join("pictures").join(format!("{name}.png")).is_file());
        }
    }
    assert!(done >= 2, "{result:#}");
    let page = std::fs::read_to_string(root.join("index.html")).expect("a page");
    assert!(names.iter().all(|name| page.contains(name)) && page.contains("first_range-of-motion/report.html"));
    let table = std::fs::read_to_string(root.join("table.csv")).expect("a table");
    assert_eq!(table.lines().count(), 7);
    assert!(std::fs::read(root.join("contact_sheet.png")).expect("a sheet").starts_with(b"\x89PNG"));

    // Nothing has changed but one character: only its shots are computed again.
    let before = [started(&root, "first_range-of-motion"), started(&root, "second_range-of-motion")];
    let mut other = arm();
    other.surfaces[0].parts[0].positions.iter_mut().for_each(|x| x.y *= 1.01);
    write(&other, &folder.join("second.glb"));
    shots(&folder, &[&all[..], &["--motion", "wave"]].concat(), 1);
    assert_eq!(started(&root, "first_range-of-motion"), before[0]);
    assert!(started(&root, "second_range-of-motion") > before[1]);

    // The command of a shot is that of this shot alone.
    let manifest = std::fs::read(root.join("first_range-of-motion/manifest.json")).expect("a manifest");
    let manifest: Value = serde_json::from_slice(&manifest).expect("JSON");
    let command: Vec<&str> = manifest["command"].as_array().expect("words").iter().filter_map(Value::as_str).collect();
    assert!(command.contains(&"first.glb") && !command.contains(&"second.glb") && !command.contains(&"--sweep"));
    let status = text(&sinew(&folder, &["status", "out/shots"]).stdout);
    assert!(status.contains("done, 6 of 6 shots"), "{status}");
}

/// Without a motion, every character goes through its own animations.
#[test]
fn characters_perform_their_own_animations() {
    let folder = fresh_folder("shots_own");
    let mut rig = arm();
    rig.animations.truncate(1);
    let mut second = rig.animations[0].clone();
    second.name = "The other | one".into();
    rig.animations.push(second);
    write(&rig, &folder.join("arm.glb"));
    let result = shots(&folder, &["arm.glb", "--no-pictures", "-o", "here"], 0);
    let names: Vec<&str> =
        result["shots"].as_array().expect("rows").iter().filter_map(|row| row["name"].as_str()).collect();
    assert_eq!(names.len(), rig.animations.len());
    assert_eq!(names.last(), Some(&"arm_The-other---one"));
    assert!(names.iter().all(|name| folder.join("here").join(format!("{name}.usda")).is_file()));
    assert!(!folder.join("here/contact_sheet.png").exists());
}

/// Everything is told before anything is computed, and no file of a user is touched.
#[test]
fn mistakes_are_told_at_once() {
    let folder = fresh_folder("shots_mistakes");
    std::fs::create_dir_all(folder.join("other")).expect("a folder");
    write(&arm(), &folder.join("arm.glb"));
    write(&arm(), &folder.join("other/ARM.glb"));
    let say = |words: &[&str], causes: &[&str]| complaint(&folder, &[&["skin"][..], words, &BRIEF].concat(), causes);
    say(
        &["arm.glb", "lost.glb", "--motion", "wlak", "--motion", "lost.bvh"],
        &["lost.glb does not exist", "wlak does not exist", "walk, wave", "lost.bvh does not exist"],
    );
    say(
        &["arm.glb", "other/ARM.glb", "--motion", "wave"],
        &["arm.glb with wave and other/ARM.glb with wave", "rename"],
    );
    say(&["arm.glb", "-o", "out/arm.usda"], &["out/arm.usda would be the file of every shot", "out/{}.usda"]);
    complaint(&folder, &["skin", "arm.glb", "other/ARM.glb"], &["2 characters are given", "--sweep"]);
    complaint(
        &folder,
        &["skin", "arm.glb", "--motion", "walk", "--motion", "wave"],
        &["2 motions are given", "--sweep"],
    );
    // A folder with files of a user, and the character itself among the outputs.
    std::fs::create_dir_all(folder.join("mine")).expect("a folder");
    for name in ["table.csv", "arm_wave.usda"] {
        std::fs::write(folder.join("mine").join(name), "mine").expect("a file");
    }
    let causes = ["mine/table.csv exists", "mine/arm_wave.usda exists", "--force"];
    say(&["arm.glb", "--motion", "wave", "-o", "mine"], &causes);
    assert_eq!(std::fs::read_to_string(folder.join("mine/table.csv")).expect("a file"), "mine");
    std::fs::rename(folder.join("arm.glb"), folder.join("mine/arm_wave.glb")).expect("it moves");
    write(&arm(), &folder.join("mine/arm.glb"));
    say(
        &["mine/arm.glb", "mine/arm_wave.glb", "--motion", "wave", "-o", "mine/{}.glb", "--force"],
        &["mine/arm_wave.glb is read by this command"],
    );
    assert!(!folder.join("out").exists() && !folder.join("mine/arm_wave").exists());
}
