//! Properties of all scene files: each is a test, each compiles (with `tests/resume.rs`), and those that validate stiffness detect a wrong
//! stiffness.

use std::path::{Path, PathBuf};

use crate::support;
use sinew::fem::material::Unit;
use sinew::prelude::*;
use sinew::scene::Override;
use sinew::scene::spec::material::material_spec;
use sinew::scene::value_table::ValueKind;

/// Scenes of `scenes/validation/` whose expectations do not depend on Young's modulus, and why.
const INDEPENDENT_OF_STIFFNESS: &[(&str, &str)] = &[
    ("scenes/validation/adaptive.toml", "how many steps an impact takes hardly depends on stiffness"),
    ("scenes/validation/convergence_hex8.toml", "the order of convergence is the same for every stiffness"),
    ("scenes/validation/convergence_tet10.toml", "the order of convergence is the same for every stiffness"),
    ("scenes/validation/convergence_tet4.toml", "the order of convergence is the same for every stiffness"),
    ("scenes/validation/crushed.toml", "the rest shape is without stress for any material"),
    ("scenes/validation/free_fall.toml", "momentum is m g t for any material"),
    ("scenes/validation/free_flight.toml", "momentum is kept for any material"),
    ("scenes/validation/friction.toml", "sliding follows from gravity and friction"),
    ("scenes/validation/hanging.toml", "momentum is kept for any material"),
    ("scenes/validation/pendulum.toml", "the center hangs below the corner for any material"),
    ("scenes/validation/reactions.toml", "the reactions carry the weight for any material"),
    ("scenes/validation/scramble.toml", "the rest shape is without stress for any material"),
    ("scenes/validation/springs.toml", "the scene gives the stiffness of the springs in N/m"),
    ("scenes/validation/torus.toml", "any flesh that soft melts, and any that stiff springs back"),
];

fn scenes() -> Vec<PathBuf> {
    let folder = support::root().join("scenes");
    let all = support::files().into_iter();
    all.filter(|path| path.starts_with(&folder) && path.extension().is_some_and(|extension| extension == "toml"))
        .collect()
}

fn short(path: &Path) -> String {
    path.strip_prefix(support::root()).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

#[test]
fn every_scene_compiles_and_expects_something() {
    let scenes = scenes();
    assert!(scenes.len() >= 3, "where have the scenes gone?");
    for path in scenes {
        let scene = Scene::load(&path).unwrap_or_else(|error| panic!("{error}"));
        let orders = scene.study.as_ref().map_or(0, |study| study.order.len());
        assert!(!scene.expect.is_empty() || orders > 0, "{}: expects nothing, so it tests nothing", short(&path));
        assert!(scene.title.is_some(), "{}: has no title", short(&path));
        // `tests/resume.rs` compiles those that it kills, and looks at their names.
        if support::frames_to_resume(&path, &scene).is_some() {
            continue;
        }
        let simulation = compile(&scene).unwrap_or_else(|error| panic!("{error}"));
        for name in simulation.probe_names() {
            assert!(
                ValueKind::of(name).is_some(),
                "{}: {name} is not in crates/sinew-scene/src/value_table.rs",
                short(&path)
            );
        }
    }
}

/// Overrides that make every body of a scene a tenth stiffer.
fn stiffer(scene: &Scene) -> Vec<Override> {
    let mut overrides = Vec::new();
    for body in &scene.body {
        let mut set = |key: &str, value: f64| {
            overrides.push(Override::new(&format!("body.{}.material.{key}", body.name), &format!("{:e}", 1.1 * value)));
        };
        let spec = material_spec(&body.material);
        for (key, &value) in spec.law().keys().iter().zip(spec.values()).filter(|(key, _)| key.unit == Unit::Pascal) {
            set(key.key, value);
        }
    }
    overrides
}

/// A test that passes with wrong physics is none: Young's modulus × 1.1 must make validation scenes fail.
#[test]
fn validation_scenes_fail_with_a_stiffness_that_is_off_by_a_tenth() {
    let mut checked = 0;
    let mut unmoved = Vec::new();
    for path in scenes() {
        let name = short(&path);
        let is_large = name.ends_with("_large.toml");
        let independent = INDEPENDENT_OF_STIFFNESS.iter().any(|(scene, _)| name == *scene);
        if !name.starts_with("scenes/validation/") || is_large || independent {
            continue;
        }
        let scene = Scene::load(&path).unwrap_or_else(|error| panic!("{error}"));
        let overrides = stiffer(&scene);
        let stiff = Scene::load_with(&path, &overrides).unwrap_or_else(|error| panic!("{error}"));
        let options = RunOptions { overrides, ..RunOptions::default() };
        checked += 1;
        // A run that cannot be completed has failed as well.
        if run(&stiff, &options, &mut ()).is_ok_and(|outcome| outcome.passed()) {
            unmoved.push(name);
        }
    }
    for (name, reason) in INDEPENDENT_OF_STIFFNESS {
        assert!(support::root().join(name).is_file(), "{name} is gone, and with it the exception \"{reason}\"");
    }
    assert!(unmoved.is_empty(), "these scenes pass with a wrong stiffness:\n{}", unmoved.join("\n"));
    assert!(checked > 0, "there is no validation scene that depends on stiffness");
}

/// MCA X10: an arm that curls within one frame takes at most half as many nonlinear cycles as Newton's method takes
/// steps.
#[test]
fn nonlinear_cycles_are_at_most_half_of_newtons_steps() {
    let path = support::root().join("scenes/lattice/curl.toml");
    let mut counts = Vec::new();
    for way in ["fas", "newton"] {
        let overrides = vec![Override::new("solver.nonlinear", &format!("\"{way}\""))];
        let scene = Scene::load_with(&path, &overrides).unwrap_or_else(|error| panic!("{error}"));
        let mut simulation = compile(&scene).unwrap_or_else(|error| panic!("{error}"));
        let report = simulation.step_frame().unwrap();
        counts.push((report.nonlinear_cycles, report.newton_iterations));
    }
    let [(cycles, _), (none, steps)] = counts[..] else { panic!("{counts:?}") };
    assert!(none == 0 && cycles > 0, "{counts:?}");
    assert!(2 * (cycles + counts[0].1) <= steps, "cycles and steps: {counts:?}");
}
