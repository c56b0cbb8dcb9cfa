//! `sinew gradient` from the user's point of view: compared with differences of whole runs, and with mistakes.

mod support;

use std::path::Path;

use serde_json::Value;
use support::character::{complaint, sinew};
use support::{fresh_folder, read};

const INPUTS: [&str; 8] = [
    "tongue.activation.upper",
    "tongue.activation.lower",
    "tongue.young",
    "tongue.poisson",
    "tongue.density",
    "gravity.z",
    "tongue.stiffness",
    "tongue.pin.x-min.rotation.y",
];
const PROBES: [&str; 6] = [
    "tip.displacement.z",
    "tongue.volume",
    "tongue.center.x",
    "tongue.fiber_stretch.upper",
    "tongue.force.x-min.z",
    "tongue.torque.x-min.y",
];

/// The JSON output of a command.
fn told(folder: &Path, arguments: &[&str]) -> Value {
    let said = sinew(folder, arguments);
    assert!(said.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&said.stderr));
    serde_json::from_slice(&said.stdout).unwrap_or_else(|error| panic!("{error}"))
}

fn write_scene(name: &str, change: impl Fn(String) -> String) -> std::path::PathBuf {
    let folder = fresh_folder(name);
    std::fs::write(folder.join("tongue.toml"), change(read("scenes/muscle/gradient.toml"))).unwrap();
    folder
}

/// Probes at the end of a whole run with one value of the scene replaced.
fn ended(folder: &Path, change: &str) -> Vec<f64> {
    let (probes, by) = (PROBES.join(","), "gravity.x");
    let said = told(folder, &["gradient", "tongue.toml", "--of", &probes, "--by", by, "--set", change, "--json"]);
    PROBES.iter().map(|probe| said["probes"][probe].as_f64().unwrap()).collect()
}

/// The value of the scene behind an input, its format, and the step for differences.
fn key(input: &str) -> Option<(String, f64, f64)> {
    let (key, value, step) = match input {
        "tongue.activation.upper" => ("body.tongue.muscle.upper.activation", 0.5, 1e-4),
        "tongue.activation.lower" => ("body.tongue.muscle.lower.activation", 0.1, 1e-4),
        "tongue.young" => ("body.tongue.material.young", 20e3, 4.0),
        "tongue.poisson" => ("body.tongue.material.poisson", 0.4, 1e-4),
        "tongue.density" => ("body.tongue.density", 1060.0, 0.2),
        _ => return None,
    };
    Some((key.into(), value, step))
}

/// Forward and adjoint derivatives agree with each other and with central differences of whole runs: steps of 1e-4 have
/// a truncation error of 1e-8, and runs that end within 1e-10 of an equilibrium have a noise of 1e-6.
#[test]
fn gradients_are_those_of_whole_runs() {
    let folder = write_scene("gradient_runs", |text| text);
    let (of, by) = (PROBES.join(","), INPUTS.join(","));
    let said = told(&folder, &["gradient", "tongue.toml", "--of", &of, "--by", &by, "--json"]);
    assert!(said["disagreement"].as_f64().unwrap() < 1e-8, "{said}");
    let gradients = said["gradients"].as_array().unwrap();
    assert_eq!(gradients.len(), PROBES.len() * INPUTS.len());
    let value = |probe: &str, input: &str| {
        let own = gradients.iter().find(|gradient| gradient["of"] == probe && gradient["by"] == input).unwrap();
        (own["forward"].as_f64().unwrap(), own["adjoint"].as_f64().unwrap())
    };
    for input in INPUTS {
        let Some((key, at, step)) = key(input) else { continue };
        let run = |s: f64| ended(&folder, &format!("{key}={}", at + s));
        let (plus, minus) = (run(step), run(-step));
        for (k, probe) in PROBES.iter().enumerate() {
            let numeric = (plus[k] - minus[k]) / (2.0 * step);
            let (forward, adjoint) = value(probe, input);
            // Exact zeros only have the rounding errors of the runs.
            let rounding = 1e-12 * plus[k].abs() / step;
            assert!(
                (forward - adjoint).abs() <= 1e-8 * forward.abs() + rounding,
                "{probe} by {input}: {forward} {adjoint}"
            );
            assert!(
                (forward - numeric).abs() < 1e-5 * forward.abs() + rounding,
                "{probe} by {input}: {forward} and {numeric}"
            );
        }
    }
    // Weight is density times gravity, so both derivatives agree.
    let (by_density, by_gravity) =
        (value("tip.displacement.z", "tongue.density").0, value("tip.displacement.z", "gravity.z").0);
    let same = by_density * 1060.0 - by_gravity * -9.81;
    assert!(same.abs() < 1e-8 * by_density.abs() * 1060.0, "{same}");
}

/// An input without effect has derivative zero and a note; activation has kinks at its ends.
#[test]
fn inputs_that_do_nothing_and_kinks_are_told() {
    let folder = write_scene("gradient_kinks", |text| text.replace("[\"1 s\", 0.5]", "[\"1 s\", 1.0]"));
    let run = |activation: &str| {
        let change = format!("body.tongue.muscle.lower.activation={activation}");
        let by = "tongue.activation.upper,tongue.activation.lower";
        told(
            &folder,
            &["gradient", "tongue.toml", "--of", "tip.displacement.z", "--by", by, "--set", &change, "--json"],
        )
    };
    let said = run("0.1");
    assert!(said["gradients"][0]["note"].as_str().unwrap().contains("kink"), "{said}");
    assert!(said["gradients"][0]["forward"].as_f64().unwrap() != 0.0, "{said}");
    assert!(said["gradients"][1]["note"].is_null(), "{said}");
}

#[test]
fn mistakes_are_told_all_at_once() {
    let folder = write_scene("gradient_wrong", |text| text);
    let wrong = ["gradient", "tongue.toml", "--of", "tip.displacment.z", "--by", "gravity.zz,tongue.c10,nobody.young"];
    complaint(&folder, &wrong, &["tip.displacement.z", "gravity.z", "its law has young", "nobody.young"]);
    let counts = ["gradient", "tongue.toml", "--of", "inverted_cells,tongue.volume", "--by", "gravity.z"];
    complaint(&folder, &counts, &["inverted_cells", "no derivative"]);
    let moves = ["gradient", "tongue.toml", "--of", "tip.displacement.z", "--by", "gravity.z", "--set"];
    let moves: Vec<&str> = moves.into_iter().chain(["solver.type=\"implicit_euler\""]).collect();
    complaint(&folder, &moves, &["equilibrium", "moves in time", "quasistatic"]);
}
