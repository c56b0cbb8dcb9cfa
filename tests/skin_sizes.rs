//! Characters of coarse cells: bones leave thin flesh its freedom, and the gap of contact does not grow with the cells.

use std::path::Path;

use crate::support::character::told;
use crate::support::fresh_folder;

/// The scene that `sinew skin` writes for a hand, with options.
fn scene(folder: &Path, options: &[&str]) -> String {
    told(folder, &[&["skin", "hand.glb", "--scene", "hand.toml"][..], options].concat());
    std::fs::read_to_string(folder.join("hand.toml")).expect("a scene")
}

/// The length \[mm\] after `key = "`.
fn millimeters(scene: &str, key: &str) -> f64 {
    let value = scene.split(&format!("{key} = \"")).nth(1).expect(key);
    let (number, unit) = value.split('"').next().and_then(|value| value.split_once(' ')).expect("a quantity");
    let factor = match unit {
        "mm" => 1.0,
        "cm" => 10.0,
        "um" => 1e-3,
        other => panic!("{other}"),
    };
    number.parse::<f64>().expect("a number") * factor
}

#[test]
fn the_gap_is_a_fifth_of_the_shorter_of_cells_and_triangles() {
    let folder = fresh_folder("skin_sizes_gap");
    told(&folder, &["character", "hand", "-o", "hand.glb"]);
    let gap = |cell: &str| millimeters(&scene(&folder, &["--cell", cell]), "gap");
    assert!((gap("1 mm") - 0.2).abs() < 1e-9);
    // The skin has triangles of about 4 mm.
    assert!((0.4..1.0).contains(&gap("12 mm")) && gap("12 mm") == gap("20 mm"), "{}", gap("12 mm"));
}

/// Fingers are about two cells of 9 mm thick. Held hard, their bones ran into one another: this frame of a fist took
/// hundreds of iterations and minutes.
#[test]
fn a_fist_of_coarse_cells_takes_few_iterations() {
    let folder = fresh_folder("skin_sizes_fist");
    told(&folder, &["character", "hand", "-o", "hand.glb", "--motion", "fist"]);
    let options = ["--cell", "9 mm", "--frames", "10..13", "--no-pictures", "-v"];
    let output = told(&folder, &[&["skin", "hand.glb", "-o", "out/hand.usda"][..], &options].concat());
    assert!(output.contains("of 25 bones hold flesh by springs, because cells of 9 mm are coarse"), "{output}");
    let iterations = output.lines().filter_map(|line| line.split("newton ").nth(1)?.split(' ').next()?.parse().ok());
    let most: usize = iterations.max().expect("frames");
    assert!((1..150).contains(&most), "{output}");
}

#[test]
fn fine_cells_are_held_hard() {
    let folder = fresh_folder("skin_sizes_fine");
    told(&folder, &["character", "arm", "-o", "arm.glb"]);
    let options = ["--cell", "8 mm", "--frames", "0..0", "--contact", "none", "--no-pictures"];
    let output = told(&folder, &[&["skin", "arm.glb", "-o", "out/arm.usda"][..], &options].concat());
    assert!(!output.contains("by springs"), "{output}");
}

#[test]
fn a_preview_is_coarse_without_contact_and_replaces_nothing() {
    let folder = fresh_folder("skin_sizes_preview");
    told(&folder, &["character", "hand", "-o", "hand.glb"]);
    let text = scene(&folder, &["--preview"]);
    assert!(text.contains("tolerance = 1e-2") && !text.contains("[contact]"), "{text}");
    assert!(millimeters(&text, "cell") > 2.0 * millimeters(&scene(&folder, &[]), "cell"));
    told(&folder, &["skin", "hand.glb", "--preview", "--frames", "0..1", "--no-pictures"]);
    assert!(folder.join("out/hand_preview.usda").is_file() && !folder.join("out/hand.usda").exists());
}
