//! The linear solver on irregular meshes: `sinew bench meshes` at a size for tests.

use std::process::Command;

use serde_json::Value;

#[test]
fn irregular_meshes_take_at_most_half_as_many_iterations_again_as_the_beam() {
    let output = Command::new(env!("CARGO_BIN_EXE_sinew"))
        .args(["bench", "meshes", "--across", "8", "--json"])
        .output()
        .expect("the program starts");
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{talk}");
    let result: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    for regime in ["implicit_euler", "quasistatic"] {
        let worst = result["worst_over_beam"][regime].as_f64().expect("a number");
        assert!((1.0..=1.5).contains(&worst), "{regime}: {talk}");
    }
    assert_eq!(result["runs"].as_array().map(Vec::len), Some(10), "five meshes in two regimes");
}
