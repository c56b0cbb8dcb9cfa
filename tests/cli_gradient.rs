//! `sinew gradient` from the user's point of view: compared with differences of whole runs, and with mistakes.

use std::path::Path;

use crate::support::character::{complaint, sinew};
use crate::support::{fresh_folder, read};
use serde_json::Value;

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

/// A muscle on a lattice, held at one end, a box of tetrahedra bound to it, and an affine muscle that hangs on the box
/// by springs.
const THREE_KINDS: &str = r#"
title = "Three kinds of flesh, one after the other"
duration = "1 s"
frame_rate = 1

[solver]
type = "quasistatic"
tolerance = 1e-10

[[body]]
name = "lattice"
mesh = { from = "box", size = ["8 cm", "2 cm", "2 cm"], cell = "1 cm", element = "lattice" }
material = { type = "corotated", young = "20 kPa", poisson = 0.4 }
muscle = [{ name = "all", fibers = { along = [1, 0, 0] }, stress = "30 kPa", activation = 0.25 }]
pin = [{ region = "x-min" }]

[[body]]
name = "box"
mesh = { from = "box", size = ["2 cm", "2 cm", "2 cm"], cells = [2, 2, 2] }
position = ["8 cm", 0, 0]
material = { type = "stable_neo_hookean", young = "20 kPa", poisson = 0.4 }
bind = [{ region = "x-min", to = "lattice" }]

[[body]]
name = "block"
deformation = "affine"
mesh = { from = "box", size = ["2 cm", "2 cm", "2 cm"], cells = [2, 2, 2] }
position = ["10 cm", 0, 0]
material = { type = "stable_neo_hookean", young = "20 kPa", poisson = 0.4 }
muscle = [{ name = "all", fibers = { along = [1, 0, 0] }, stress = "30 kPa", activation = 0.25 }]
attach = [{ region = "x-min", to = "box", stiffness = "200 N/m" }]
"#;

/// A lattice, tetrahedra and an affine body in one system: forward is adjoint, and both are differences of whole runs.
/// Parameters and activations of lattices are kept in f32, so the steps are long and the differences of fourth order.
#[test]
fn gradients_of_lattices_tetrahedra_and_affine_bodies_at_once_are_those_of_whole_runs() {
    let folder = fresh_folder("gradient_kinds");
    std::fs::write(folder.join("kinds.toml"), THREE_KINDS).unwrap();
    let probes =
        ["box.center.z", "block.center.z", "block.fiber_stretch.all", "lattice.fiber_stretch.all", "lattice.volume"];
    let inputs = [
        ("lattice.activation.all", "body.lattice.muscle.all.activation", 0.25),
        ("block.activation.all", "body.block.muscle.all.activation", 0.25),
        ("lattice.young", "body.lattice.material.young", 20e3),
        ("box.young", "body.box.material.young", 20e3),
        ("block.young", "body.block.material.young", 20e3),
        ("block.density", "body.block.density", 1000.0),
    ];
    let of = probes.join(",");
    let by = inputs.map(|(input, ..)| input).join(",");
    let said = told(&folder, &["gradient", "kinds.toml", "--of", &of, "--by", &by, "--json"]);
    assert!(said["disagreement"].as_f64().unwrap() < 1e-8, "{said}");
    let gradients = said["gradients"].as_array().unwrap();
    for (input, key, value) in inputs {
        // A power of two, so that activations have no rounding in f32.
        let step = value / 64.0;
        let run = |shift: f64| {
            let change = format!("{key}={}", value + shift);
            let said = told(
                &folder,
                &["gradient", "kinds.toml", "--of", &of, "--by", "gravity.x", "--set", &change, "--json"],
            );
            probes.map(|probe| said["probes"][probe].as_f64().unwrap())
        };
        let [far, near] = [2.0 * step, step].map(|step| (run(step), run(-step)));
        // Derivatives that nearly vanish have the rounding of the others.
        let slopes: Vec<f64> = (0..probes.len())
            .map(|k| (8.0 * (near.0[k] - near.1[k]) - (far.0[k] - far.1[k])) / (12.0 * step))
            .collect();
        for (probe, numeric) in probes.iter().zip(slopes) {
            let own = gradients.iter().find(|gradient| gradient["of"] == *probe && gradient["by"] == input).unwrap();
            let (forward, adjoint) = (own["forward"].as_f64().unwrap(), own["adjoint"].as_f64().unwrap());
            assert!(
                (forward - adjoint).abs() <= 1e-8 * forward.abs() + 1e-14 / value,
                "{probe} by {input}: {forward} {adjoint}"
            );
            assert!(
                (forward - numeric).abs() < 1e-5 * forward.abs() + 5e-9 / value,
                "{probe} by {input}: {forward} {numeric}"
            );
        }
    }
}
