//! Difficult characters through the built program, as a user without flags takes them.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::character::{arm, complaint, sinew, told, write};
use crate::support::fresh_folder;
use serde_json::Value;

/// Together these have every difficulty; `SINEW_FULL=1` takes the first eight besides.
fn seeds() -> Vec<u64> {
    let more = if std::env::var_os("SINEW_FULL").is_some() { 0..8 } else { 0..0 };
    [4, 5, 9, 14].into_iter().chain(more).collect()
}

/// All end with files; nothing crosses that did not at rest; every part is told.
#[test]
fn difficult_characters_go_through_without_flags() {
    let folder = fresh_folder("difficult");
    let mut seen = BTreeSet::new();
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in seeds() {
        seen.extend(
            sinew_rig::characters::difficult(seed).expect("a character").difficulties.iter().map(|kind| kind.name()),
        );
        let seed = seed.to_string();
        let sizes = ["--cells", "600", "--frame-rate", "6", "--json"];
        let output = sinew(&folder, &[&["bench", "difficult", "--seed", &seed, "--count", "1"][..], &sizes].concat());
        let result: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
        assert_eq!(result["failed"], 0, "{:#}", result["failures"]);
        assert_eq!(result["new_crossings"], 0, "{seed}");
        for key in ["with_crossings_since_rest", "parts_of_flesh", "parts_on_flesh", "parts_on_bones"] {
            *sums.entry(key).or_default() += result[key].as_u64().unwrap();
        }
    }
    assert_eq!(seen.len(), 16, "{seen:?}");
    assert!(sums.values().all(|sum| *sum > 0), "{sums:?}");
}

/// The same seed writes the same bytes, which say what they are; another one writes others.
#[test]
fn seeds_decide_about_difficult_characters() {
    let folder = fresh_folder("difficult_seeds");
    let write = |seed: &str, file: &str| {
        let output = sinew(&folder, &["character", "--difficult", seed, "-o", file]);
        (String::from_utf8(output.stdout).unwrap(), std::fs::read(folder.join(file)).expect("a file"))
    };
    let (first, again, other) = (write("3", "a.gltf"), write("3", "b.gltf"), write("4", "c.gltf"));
    assert!(first == again && first != other);
    let file: Value = serde_json::from_slice(&first.1).expect("JSON");
    assert_eq!(file["extras"]["difficult"], 3);
    let names: Vec<&str> =
        file["extras"]["difficulties"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert!(!names.is_empty() && names.iter().all(|name| first.0.contains(name)), "{names:?} {}", first.0);
}

/// An arm without a cap at its end is flesh by default, and refused by `--strict`, by `--repair none` and in scenes.
#[test]
fn strict_refuses_what_is_open() {
    let folder = fresh_folder("difficult_strict");
    let mut rig = arm();
    let part = &mut rig.surfaces[0].parts[0];
    let low = part.positions.iter().map(|x| x.x).fold(f64::INFINITY, f64::min);
    let positions = part.positions.clone();
    part.triangles.retain(|triangle| triangle.iter().all(|&v| positions[v as usize].x > low + 0.02));
    write(&rig, &folder.join("open.glb"));
    let brief = ["skin", "open.glb", "--cell", "2.5 cm", "--frame-rate", "4", "--no-pictures"];
    for strict in [&["--strict"][..], &["--repair", "none"]] {
        complaint(&folder, &[&brief[..], strict].concat(), &["open", "hint: ", "repair = \"winding\""]);
    }
    let said = told(&folder, &brief);
    assert!(said.contains("flesh: arm, ") && said.contains("(open, and encloses a volume by its winding"), "{said}");
    assert!(folder.join("out/open.usda").exists());
    let misspelled = [&brief[..], &["--part", "arn=on_bone"]].concat();
    complaint(&folder, &misspelled, &["no part \"arn\"", "known parts: \"arm\""]);
    let without = [&brief[..], &["--part", "arm=on_bone"]].concat();
    complaint(&folder, &without, &["encloses no volume"]);
}
