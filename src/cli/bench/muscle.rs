//! `sinew bench muscle`: cost of active fibers relative to passive flesh.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sinew_fem::StepTiming;
use sinew_run::compile::compile;
use sinew_scene::{Override, Scene};

use super::super::console::Console;
use super::{Failure, beam, spread};

/// Material of the beam in its scene, and muscle of the same stiffness at small strains: μ = E/(2(1 + ν)) = 2 (c10 +
/// c01), κ = E/(3(1 − 2ν)).
const PLAIN: &str = "material = { type = \"neo_hookean\", young = \"100 kPa\", poisson = 0.4 }";
const MUSCLE: &str = "material = { type = \"mooney_rivlin\", c10 = \"13.39 kPa\", c01 = \"4.464 kPa\", bulk = \"166.7 kPa\" }
muscle = [{ name = \"belly\", fibers = { along = [1, 0, 0] }, stress = \"30 kPa\", max_velocity = \"10 1/s\", activation = [[\"0 s\", 0], [\"400 ms\", 1]] }]";

/// Number of conjugate gradient iterations per Newton iteration.
const LINEAR: f64 = 15.0;
/// Newton iterations of a step.
const NEWTON: usize = 3;

/// Active muscle relative to neo-Hookean flesh: seconds per Newton iteration on a beam of fifty thousand tetrahedra
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Number of runs of each; reports the best of each part
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    repeats: u16,

    /// Frames of each run
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = clap::value_parser!(u16).range(1..))]
    frames: u16,

    /// Cubes along x, y and z, of six tetrahedra each
    #[arg(long, value_name = "X,Y,Z", default_value = "52,13,13")]
    cells: String,

    /// Prints the result as one JSON object on stdout
    #[arg(long)]
    pub json: bool,
}

/// Times of a run.
struct Run {
    /// Time of one Newton iteration with 15 iterations of the linear solver \[s\].
    newton_seconds: f64,
    gradient: f64,
    assembly: f64,
    linear: f64,
    /// Iterations of conjugate gradients per Newton iteration.
    linear_iterations: f64,
    /// Projected tangents per Newton iteration.
    projections: f64,
    cells: usize,
}

/// Runs both materials alternately.
pub fn measure(arguments: &Arguments, console: Console) -> Result<Value, Failure> {
    let muscle = beam::SCENE.replace(PLAIN, MUSCLE);
    if muscle == beam::SCENE {
        return Err(Failure::Other("the material of the beam differs from the one in this benchmark".into()));
    }
    let (mut plain_runs, mut muscle_runs) = (Vec::new(), Vec::new());
    for number in 1..=arguments.repeats {
        plain_runs.push(run(beam::SCENE, arguments)?);
        muscle_runs.push(run(&muscle, arguments)?);
        let last = |runs: &[Run]| runs[runs.len() - 1].newton_seconds;
        let (plain, active) = (last(&plain_runs), last(&muscle_runs));
        console.note(&format!("run {number} of {}: {:.1} and {:.1} ms", arguments.repeats, 1e3 * plain, 1e3 * active));
    }
    let best = |runs: &[Run], part: fn(&Run) -> f64| runs.iter().map(part).fold(f64::INFINITY, f64::min);
    // Take the best of each part: other programs slow different parts in each run.
    let fastest = |runs: &[Run]| {
        best(runs, |run| run.gradient) + best(runs, |run| run.assembly) + LINEAR * best(runs, |run| run.linear)
    };
    let seconds = |runs: &[Run]| runs.iter().map(|run| run.newton_seconds).collect::<Vec<f64>>();
    Ok(json!({
        "cells": plain_runs[0].cells,
        "frames": arguments.frames,
        "cost_ratio": fastest(&muscle_runs) / fastest(&plain_runs),
        "seconds_per_newton": fastest(&muscle_runs),
        "seconds_per_newton_spread": spread(&seconds(&muscle_runs)),
        "plain_seconds_per_newton": fastest(&plain_runs),
        "plain_seconds_per_newton_spread": spread(&seconds(&plain_runs)),
        "gradient_ratio": best(&muscle_runs, |run| run.gradient) / best(&plain_runs, |run| run.gradient),
        "assembly_ratio": best(&muscle_runs, |run| run.assembly) / best(&plain_runs, |run| run.assembly),
        "linear_ratio": best(&muscle_runs, |run| run.linear) / best(&plain_runs, |run| run.linear),
        "linear_iterations_charged": LINEAR,
        "projections": [plain_runs[0].projections, muscle_runs[0].projections],
        "linear_iterations": [plain_runs[0].linear_iterations, muscle_runs[0].linear_iterations],
        "repeats": arguments.repeats,
        "threads": rayon::current_num_threads(),
        "isa": super::isa_name(),
    }))
}

fn run(text: &str, arguments: &Arguments) -> Result<Run, Failure> {
    // Conjugate gradients with a fixed number of iterations in both cases, so that the setup of a solve counts equally.
    let overrides = [
        Override::new("body.beam.mesh.cells", &format!("[{}]", arguments.cells)),
        Override::new("solver.linear", "\"cg\""),
        Override::new("solver.live", &format!("{{ newton = {NEWTON}, linear = {LINEAR} }}")),
        Override::new("solver.tolerance", "1e-12"),
    ];
    let scene = Scene::from_text(text, "beam.toml", "", &overrides)?;
    let mut simulation = compile(&scene)?;
    let (mut timing, mut newton, mut linear, mut projections) = (StepTiming::default(), 0, 0, 0);
    let start = Instant::now();
    for _ in 0..arguments.frames {
        let report =
            simulation.step_frame().map_err(|error| Failure::Other(format!("the beam cannot be computed: {error}")))?;
        timing += report.timing;
        newton += report.newton_iterations;
        linear += report.linear_iterations;
        projections += report.projections;
    }
    if newton == 0 || linear == 0 || start.elapsed() == Duration::ZERO {
        return Err(Failure::Other("the beam did not move".into()));
    }
    let per_newton = |part: Duration| part.as_secs_f64() / newton as f64;
    let (gradient, assembly) = (per_newton(timing.gradient), per_newton(timing.assembly));
    let [linear_iterations, projections] = [linear, projections].map(|count| count as f64 / newton as f64);
    let linear = timing.linear_solve.as_secs_f64() / linear as f64;
    let cells = simulation.model().bodies[0].mesh.cell_count();
    Ok(Run {
        newton_seconds: gradient + assembly + LINEAR * linear,
        gradient,
        assembly,
        linear,
        linear_iterations,
        projections,
        cells,
    })
}
