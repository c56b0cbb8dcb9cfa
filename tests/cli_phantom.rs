//! `sinew phantom` and `sinew anatomy` from the user's point of view.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::character::{complaint, sinew};
use crate::support::fresh_folder;
use sinew_io::image::{Voxels, load};

/// The same labels come back from all formats, with their names, and the truth tells of the same labels.
#[test]
fn image_and_truth_are_written_and_agree() {
    let folder = fresh_folder("phantom");
    let mut images = Vec::new();
    for file in ["calf.nii.gz", "calf.nii", "calf.nrrd"] {
        let words = ["phantom", "calf", "--voxel", "6 mm", "--noise", "0.3", "-o", file, "--truth", "truth"];
        let said = sinew(&folder, &words);
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        assert!(String::from_utf8_lossy(&said.stdout).contains(file));
        images.push(load(&folder.join(file)).expect(file));
    }
    let Voxels::Labels(first) = &images[0].voxels else { panic!("labels") };
    assert!(images.iter().all(|image| matches!(&image.voxels, Voxels::Labels(labels) if labels == first)));
    let truth = std::fs::read_to_string(folder.join("truth/truth.json")).expect("the truth");
    let truth: serde_json::Value = serde_json::from_str(&truth).expect("JSON");
    let tissues = truth["tissues"].as_array().expect("tissues");
    for tissue in tissues {
        let label = tissue["label"].as_u64().and_then(|label| u16::try_from(label).ok()).expect("a label");
        assert_eq!(images[0].table.name(label), tissue["name"].as_str().expect("a name"));
        if tissue["kind"] == "muscle" {
            // Voxels of 6 mm and noise: some per cent for bellies, which are three voxels thick.
            let counted = first.iter().filter(|found| **found == label).count() as f64 * 0.216;
            let volume = tissue["volume_cm3"].as_f64().expect("a volume");
            assert!((counted - volume).abs() < 0.15 * volume + 2.0, "{tissue}");
            assert!(tissue["fibers"].as_array().is_some_and(|fibers| fibers.len() > 10));
        }
    }
    let attachments = truth["attachments"].as_array().expect("attachments");
    assert_eq!(attachments.len(), 22, "an origin and an insertion for eleven heads");
    assert!(attachments.iter().all(|end| end["points_mm"].as_array().is_some_and(|points| !points.is_empty())));
}

#[test]
fn bad_options_are_told_and_leave_no_file() {
    let folder = fresh_folder("phantom_bad");
    for (words, what) in [
        (["calf", "--voxel", "6 mm", "-o", "calf.png"], ".nii.gz"),
        (["calf", "--voxel", "0.1 mm", "-o", "calf.nii"], "0.2 mm"),
        (["calf", "--voxel", "3 kPa", "-o", "calf.nii"], "a pressure"),
        (["calf", "--noise", "5", "-o", "calf.nii"], "from 0 to 2"),
        (["foot", "--noise", "1", "-o", "calf.nii"], "foot"),
    ] {
        complaint(&folder, &[&["phantom"][..], &words].concat(), &[what]);
    }
    assert_eq!(std::fs::read_dir(&folder).expect("the folder").count(), 0);
}

/// A bone and a muscle whose tendon has to be added: every stage has something to do.
const RECIPE: &str = r#"
voxel = "2 mm"

[mesh]
cell = "6 mm"

[cover]
cell = "12 mm"

[[tissue]]
name = "shaft"
kind = "bone"
csg = [{ add = { type = "capsule", ends = [[0, 0, 0], [0, 0, "12 cm"]], radius = "1 cm" } }]

[[tissue]]
name = "foot"
kind = "bone"
csg = [{ add = { type = "box", corners = [["1 cm", "-1 cm", "-4 cm"], ["6 cm", "1 cm", "-2 cm"]] } }]

[[tissue]]
name = "belly"
kind = "muscle"
csg = [
    { add = { type = "ellipsoid", center = ["22 mm", 0, "6 cm"], radii = ["13 mm", "13 mm", "4 cm"] } },
    { subtract = { type = "tissue", name = "shaft" } },
]
tendon = [{ to = "foot", radius = "5 mm" }]
attach = [{ name = "origin", bone = "shaft", within = "3 mm" }, { name = "insertion", bone = "foot", within = "3 mm" }]
"#;

/// Files of a model with their bytes, its cache included but for what only names folders.
fn model_files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(&next).into_iter().flatten().flatten().map(|entry| entry.path()) {
            match entry.is_dir() {
                true => open.push(entry),
                false => drop(found.insert(entry.strip_prefix(folder).unwrap().into(), std::fs::read(&entry).unwrap())),
            }
        }
    }
    found
}

/// A build is killed each time that a few more results are there, on one thread and on two in turn, until it comes to its
/// end: the files are those of a build that nobody disturbed.
#[test]
fn a_build_that_is_killed_at_any_stage_ends_with_the_same_files() {
    let folder = fresh_folder("killed_builds");
    std::fs::write(folder.join("leg.toml"), RECIPE).unwrap();
    assert!(sinew(&folder, &["anatomy", "build", "leg.toml", "-o", "whole"]).status.success());
    let results = |model: &str| {
        let entries = std::fs::read_dir(folder.join(model).join("cache")).into_iter().flatten().flatten();
        entries.filter(|entry| entry.path().join("done").is_file()).count()
    };
    let all = results("whole");
    let mut kills = 0;
    loop {
        let wanted = results("killed") + 2;
        let mut build = Command::new(env!("CARGO_BIN_EXE_sinew"));
        build.current_dir(&folder).args(["anatomy", "build", "leg.toml", "-o", "killed", "-q"]);
        build.env("RAYON_NUM_THREADS", ["1", "2"][kills % 2]).stdout(Stdio::null());
        let mut build = build.spawn().expect("the program");
        let ended = loop {
            if let Some(status) = build.try_wait().unwrap() {
                break Some(status);
            }
            if results("killed") >= wanted {
                // Kill -9 on Unix.
                build.kill().unwrap();
                build.wait().unwrap();
                break None;
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        match ended {
            Some(status) => break assert!(status.success()),
            None => kills += 1,
        }
        assert!(kills <= all, "each build keeps what the one before had");
    }
    assert!(kills >= 4, "{kills} of {all} results");
    let (whole, killed) = (model_files(&folder.join("whole")), model_files(&folder.join("killed")));
    assert_eq!(whole.keys().collect::<Vec<_>>(), killed.keys().collect::<Vec<_>>());
    let differ: Vec<_> = whole.keys().filter(|file| whole[*file] != killed[*file]).collect();
    assert!(differ.is_empty(), "{differ:?}");
    // What a kill in the midst of a file leaves is gone after the next build; what others left is not.
    let [torn, strange] =
        [".shaft.ply.999999999-0.tmp", ".notes.tmp"].map(|name| folder.join("killed/bones").join(name));
    for file in [&torn, &strange] {
        std::fs::write(file, "some").unwrap();
    }
    assert!(sinew(&folder, &["anatomy", "build", "leg.toml", "-o", "killed"]).status.success());
    assert!(!torn.exists() && strange.exists());
}

/// A model is not built over the file that its recipe reads.
#[test]
fn a_model_never_replaces_what_its_recipe_reads() {
    let folder = fresh_folder("built_over");
    let bone = "[[tissue]]\nname = \"shaft\"\nkind = \"bone\"\nsurface = \"bones/shaft.ply\"\n";
    std::fs::create_dir(folder.join("bones")).unwrap();
    let corners = "0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 2 1\n3 0 1 3\n3 0 3 2\n3 1 2 3\n";
    let head = "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\nelement face 4\nproperty list uchar int vertex_indices\nend_header\n";
    std::fs::write(folder.join("bones/shaft.ply"), format!("{head}{corners}")).unwrap();
    std::fs::write(folder.join("bone.toml"), format!("[mesh]\ncell = \"10 cm\"\n{bone}")).unwrap();
    complaint(&folder, &["anatomy", "build", "bone.toml", "-o", "."], &["shaft.ply is read by this command"]);
    assert!(sinew(&folder, &["anatomy", "build", "bone.toml"]).status.success());
}

/// Some muscles of the arm phantom from noisy labels of 4 mm without tendons, compared with the truth, so that what was
/// reached is held: fibers within 10°, surfaces within a voxel, attachments that lie where they should.
#[test]
fn muscles_of_the_arm_agree_with_the_truth() {
    let folder = fresh_folder("bench_anatomy");
    let only = ["deltoid", "infraspinatus", "brachialis"];
    let mut words = vec!["bench", "anatomy", "--voxel", "4mm", "--cell", "4mm", "--cover", "16mm", "--json"];
    only.iter().for_each(|name| words.extend(["--only", name]));
    let said = sinew(&folder, &words);
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let told: serde_json::Value = serde_json::from_slice(&said.stdout).expect("JSON");
    let truth = &told["truth"];
    assert_eq!(told["missing"], 0, "{told}");
    for key in ["muscles", "in_one_piece", "surface_within_a_voxel", "fibers_within_10_degrees"] {
        assert_eq!(truth[key], only.len(), "{key}: {truth}");
    }
    assert_eq!(told["second_build_stages"], 0);
    let mean = truth["mean_jaccard"].as_f64().expect("a share");
    assert!(mean > MEAN_JACCARD, "{mean}: {truth}");
}

/// Attachments of these muscles and the truth have this share of their union in common, in voxels of 4 mm.
const MEAN_JACCARD: f64 = 0.88;
