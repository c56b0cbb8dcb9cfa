//! `sinew bench skin` at smaller sizes: all promises except the time.

use std::process::Command;

use serde_json::Value;

/// Results of the benchmark for a character with about this many cells and a gap \[mm\]. A fifth of a cell is wider than
/// the default at these sizes, so that as many pairs touch as in the paper.
fn measured(scene: &str, cells: usize, gap: f64, repeats: usize) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_sinew"))
        .args(["bench", "skin", "--scene", scene, "--json"])
        .args(["--cells", &cells.to_string(), "--repeats", &repeats.to_string()])
        .args(["--set", &format!("contact.gap=\"{gap} mm\"")])
        .output()
        .expect("the program starts");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

fn number(told: &Value, name: &str) -> f64 {
    told[name].as_f64().unwrap_or_else(|| panic!("{name} is a number: {told}"))
}

/// 48 frames of 5 degrees or more, half of them with 500 contacts or more; nothing is inverted, penetrates, or is far
/// from equilibrium.
fn assert_sound(told: &Value) {
    assert!(number(told, "frames") >= 48.0 && number(told, "least_degrees_per_frame") >= 5.0, "{told}");
    assert!(number(told, "contact_frames") >= 24.0 && number(told, "most_contacts") >= 500.0, "{told}");
    assert!(number(told, "relative_residual") <= 1e-3, "{told}");
    for none in ["max_penetration_cells", "crossing_triangles", "inverted_cells", "inverted_cells_at_gauss_points"] {
        assert_eq!(number(told, none), 0.0, "{none}: {told}");
    }
    assert!(number(told, "volume_change") <= 0.02, "{told}");
    // Local solves move a few nodes where all of them moved before.
    assert!(number(told, "newton_per_frame") <= 2.0 && number(told, "local_solves_per_frame") > 0.2, "{told}");
}

/// The program itself checks that all runs end with the same bits.
#[test]
fn an_arm_that_folds_is_sound_and_does_it_again() {
    let told = measured("arm", 15_000, 1.4, 2);
    assert_sound(&told);
    assert_eq!(told["seconds_per_frame_all"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_hand_that_makes_a_fist_is_sound() {
    assert_sound(&measured("hand", 15_000, 0.69, 1));
}

#[test]
fn a_torso_that_rocks_is_sound() {
    assert_sound(&measured("torso", 15_000, 3.2, 1));
}
