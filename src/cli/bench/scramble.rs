//! `sinew bench scramble`: a figure of many cells recovers from a scrambled shape.

use std::time::Instant;

use serde_json::{Value, json};
use sinew_run::compile::compile;
use sinew_scene::{Override, Scene};

use super::super::console::Console;
use super::Failure;

/// The figure with pinned hands and feet: the validation scene with the same initial shapes.
const SCENE: &str = include_str!("../../../scenes/validation/scramble.toml");

/// A scrambled figure recovers its rest shape: random in its box and in one ten times larger, a point, a plane,
/// mirrored
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Cells along the height of the figure; 48 give 20,000 tetrahedra, 150 give 384,000
    #[arg(long, value_name = "N", default_value_t = 150, value_parser = clap::value_parser!(u32).range(24..=400))]
    cells: u32,

    /// Starts Newton's method from the scrambled shape instead of the harmonic guess
    #[arg(long)]
    plain: bool,

    /// Seed of the random positions
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u32,

    /// Prints the result as one JSON object on stdout
    #[arg(long)]
    pub json: bool,

    /// Replaces a value of the scene, for example body.figure.material.poisson=0.3
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
}

/// Runs all initial shapes.
pub fn measure(arguments: &Arguments, console: Console) -> Result<Value, Failure> {
    let seed = arguments.seed;
    let starts = [
        ("random", format!("{{ shape = \"random\", seed = {seed} }}")),
        ("random in a box ten times larger", format!("{{ shape = \"random\", scale = 10, seed = {seed} }}")),
        ("point", format!("{{ shape = \"point\", seed = {seed} }}")),
        ("plane", format!("{{ shape = \"plane\", seed = {seed} }}")),
        ("mirror", format!("{{ shape = \"mirror\", seed = {seed} }}")),
    ];
    let mut rows = Vec::new();
    let (mut worst_newton, mut worst_error, mut worst_pace, mut inverted) = (0, 0.0f64, 0.0f64, 0.0f64);
    let (mut cells, mut material, mut failures) = (0, Value::Null, 0);
    for (name, start) in starts {
        let mut overrides = vec![
            Override::new("body.figure.mesh.cells", &arguments.cells.to_string()),
            Override::new("body.figure.start", &start),
        ];
        if arguments.plain {
            overrides.push(Override::new("solver.untangle", "false"));
        }
        overrides.extend(arguments.overrides.iter().cloned().map(Override::from));
        let scene = Scene::from_text(SCENE, "scramble.toml", "", &overrides)?;
        let mut simulation = compile(&scene)?;
        let height = simulation.model().bodies[0].mesh.bounds().size().max_component();
        cells = simulation.model().bodies[0].mesh.cell_count();
        material = describe(&simulation);
        let begin = Instant::now();
        let outcome = simulation.step_frame();
        let seconds = begin.elapsed().as_secs_f64();
        let row = match outcome {
            Ok(report) => {
                let error = simulation.probe("figure.displacement.max").unwrap_or(f64::NAN) / height;
                let bad = simulation.probe("figure.inverted_cells").unwrap_or(f64::NAN);
                let pace = seconds / report.newton_iterations.max(1) as f64;
                worst_newton = worst_newton.max(report.newton_iterations);
                worst_error = worst_error.max(error);
                worst_pace = worst_pace.max(pace);
                inverted = inverted.max(bad);
                console.note(&format!(
                    "{name}: {} Newton iterations, error {error:.1e}, {seconds:.2} s",
                    report.newton_iterations
                ));
                json!({
                    "start": name,
                    "newton_iterations": report.newton_iterations,
                    "linear_iterations": report.linear_iterations,
                    "error": error,
                    "inverted_cells": bad,
                    "seconds": seconds,
                })
            }
            Err(error) => {
                failures += 1;
                console.note(&format!("{name}: {error}"));
                json!({ "start": name, "failure": error.to_string(), "seconds": seconds })
            }
        };
        rows.push(row);
    }
    Ok(json!({
        "tets": cells,
        "material": material,
        "method": if arguments.plain { "plain" } else { "untangle" },
        "newton_iterations": worst_newton,
        "max_error": worst_error,
        "inverted_cells": inverted,
        "seconds_per_newton": worst_pace,
        "failures": failures,
        "starts": rows,
        "threads": rayon::current_num_threads(),
    }))
}

/// Law and Poisson's ratio of the first cell.
fn describe(simulation: &sinew_fem::Simulation) -> Value {
    let spec = simulation.model().bodies[0].materials[0];
    let (young, poisson) = spec.moduli().young_poisson();
    json!({ "law": spec.law().name(), "young": young, "poisson": poisson })
}
