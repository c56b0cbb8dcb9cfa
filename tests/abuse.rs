//! Thirty random scenes of `sinew bench abuse`: nearly all must converge, and none may panic, hang or give NaN.
//!
//! `docs/design/abuse.md` reports on the same generator with more seeds.

use std::process::Command;

use serde_json::Value;

#[test]
fn random_scenes_do_not_stop_the_solver() {
    let output = Command::new(env!("CARGO_BIN_EXE_sinew"))
        // Test machines are slow and busy: only hangs count as failures.
        .args(["bench", "abuse", "--count", "30", "--limit", "120", "--json"])
        .output()
        .expect("the program starts");
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{talk}");
    let result: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    assert_eq!(result["count"], 30);
    for verdict in ["panic", "nan", "hang"] {
        assert_eq!(result[verdict], 0, "{talk}");
    }
    // The generator writes valid scenes.
    assert_eq!(result["refused"], 0, "{talk}");
    let share = result["share"].as_f64().expect("a number");
    assert!(share >= 0.96, "only {share} converge:\n{talk}");
    let failures = result["failures"].as_array().expect("a list");
    assert_eq!(failures.len(), 30 - (30.0 * share).round() as usize, "every other seed is listed with its cause");
    for failure in failures {
        assert!(failure["seed"].is_u64() && failure["cause"].is_string() && failure["tags"].is_array(), "{failure}");
    }
}
