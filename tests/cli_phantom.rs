//! `sinew phantom` from the user's point of view.

mod support;

use sinew_io::image::{Voxels, load};
use support::character::{complaint, sinew};
use support::fresh_folder;

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
