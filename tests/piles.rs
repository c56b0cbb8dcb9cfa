//! Piles and random drops of `sinew bench pile` in barrier mode: no surfaces cross in any frame.

use std::process::Command;

use serde_json::Value;

fn bench(arguments: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_sinew"))
        .args(["bench", "pile", "--json"])
        .args(arguments)
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

#[test]
fn fifty_soft_bodies_pile_up_without_crossing() {
    let result = bench(&["--bodies", "50", "--frames", "9"]);
    assert_eq!(result["failure"], Value::Null);
    assert_eq!(result["frames"], 9);
    assert_eq!(result["crossings"], 0);
    assert_eq!(result["penetration"], 0.0);
    assert!(result["surface_triangles"].as_u64() >= Some(50 * 200));
    assert!(result["most_contacts"].as_u64() >= Some(100), "{result}");
}

#[test]
fn random_drops_of_thin_and_thick_bodies_never_cross() {
    let count = if std::env::var_os("SINEW_FULL").is_some() { 200 } else { 30 };
    let result = bench(&["--drops", &count.to_string()]);
    assert_eq!(result["crossings"], 0);
    assert_eq!(result["failures"], Value::Array(Vec::new()));
    assert_eq!(result["frames"], count * 24);
}
