//! `sinew bench gradient`: cost of gradients relative to a Newton step.
//!
//! A fusiform muscle is pinned at both ends and divided into slices, each with its own activation. At equilibrium, the
//! derivatives of all node positions by all activations take one factorization and one solve with many right-hand
//! sides.
//!
//! The Newton step for comparison factors its tangent, because gradients need solutions as accurate as that.
//! `seconds_newton_step_auto` is a step that solves its system only as accurately as Newton's method needs.

use std::time::Instant;

use serde_json::{Value, json};
use sinew_fem::linearization::Input;
use sinew_fem::{Linearization, LinearizationPlan, Simulation};
use sinew_math::Vec3;
use sinew_math::krylov::norm;
use sinew_run::compile::compile;
use sinew_scene::{Override, Scene};

use super::super::console::Console;
use super::{Failure, spread};

/// Activation of all slices.
const ACTIVATION: f64 = 0.3;

/// Gradients of a muscle of fifty thousand tetrahedra by 32 activations, relative to a Newton step
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Edge of the cells in millimeters; 9.9 gives 52,920 tetrahedra
    #[arg(long, value_name = "MM", default_value_t = 9.9, value_parser = edge)]
    cell: f64,

    /// Number of activations
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=64))]
    activations: u16,

    /// Number of runs; reports the best
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    repeats: u16,

    /// Prints the result as one JSON object on stdout
    #[arg(long)]
    pub json: bool,
}

/// An edge that gives a useful mesh and fits into memory.
fn edge(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "not a number".to_string())?;
    if (4.0..=60.0).contains(&value) { Ok(value) } else { Err("must be between 4 and 60".into()) }
}

/// The scene of the muscle.
fn scene(arguments: &Arguments, linear: &str) -> Result<Scene, Failure> {
    let count = usize::from(arguments.activations);
    let (mut regions, mut muscles) = (String::new(), String::new());
    for k in 0..count {
        let [from, to] = [k, k + 1].map(|k| 0.4 * k as f64 / count as f64);
        regions += &format!("slice{k} = {{ box = [[{from:.6}, -1, -1], [{to:.6}, 1, 1]] }}\n");
        muscles += &format!(
            "    {{ name = \"slice{k}\", region = \"slice{k}\", fibers = {{ along = [1, 0, 0] }}, stress = \"300 kPa\", activation = {ACTIVATION} }},\n"
        );
    }
    let text = format!(
        r#"title = "A muscle of many slices"
duration = "1 s"
frame_rate = 1
gravity = 0

[solver]
type = "quasistatic"
tolerance = 1e-9
linear = "{linear}"

[[body]]
name = "muscle"
mesh = {{ from = "fusiform", length = 0.4, radius = 0.065, end_radius = 0.03, cell = {} }}
material = {{ type = "muscle" }}
muscle = [
{muscles}]
pin = [{{ region = "origin" }}, {{ region = "insertion" }}]

[body.regions]
origin = {{ box = [[-1, -1, -1], [0.001, 1, 1]] }}
insertion = {{ box = [[0.399, -1, -1], [1, 1, 1]] }}
{regions}"#,
        1e-3 * arguments.cell
    );
    Ok(Scene::from_text(&text, "muscle.toml", "", &[] as &[Override])?)
}

/// Contracts the muscle. Returns the simulation at equilibrium and the seconds per Newton iteration.
fn contract(arguments: &Arguments, linear: &str) -> Result<(Simulation, f64), Failure> {
    let mut simulation = compile(&scene(arguments, linear)?)?;
    let report =
        simulation.step_frame().map_err(|error| Failure::Other(format!("the muscle has no equilibrium: {error}")))?;
    let timing = report.timing;
    let spent = timing.gradient + timing.assembly + timing.linear_solve;
    Ok((simulation, spent.as_secs_f64() / report.newton_iterations.max(1) as f64))
}

/// Runs all parts several times.
pub fn measure(arguments: &Arguments, console: Console) -> Result<Value, Failure> {
    let failed = |error: sinew_fem::linearization::LinearizationError| Failure::Other(error.to_string());
    let (mut newton, mut direct, mut all, mut parts) = (Vec::new(), Vec::new(), Vec::new(), [const { Vec::new() }; 3]);
    let (mut error, mut cells, mut nodes, mut method, mut plan_seconds) = (0.0f64, 0, 0, "", f64::INFINITY);
    for run in 1..=arguments.repeats {
        direct.push(contract(arguments, "cholesky")?.1);
        let (simulation, seconds) = contract(arguments, "auto")?;
        newton.push(seconds);
        let model = simulation.model();
        (cells, nodes) = (model.bodies[0].mesh.cell_count(), model.kinematics.unknown_count());
        let inputs: Vec<Input> = model.muscles_of(0).iter().map(|muscle| Input::Channel(muscle.activation)).collect();
        let start = Instant::now();
        let plan = LinearizationPlan::new(model);
        // The elimination order belongs to the plan, as in the solver of steps.
        simulation.linearize(&plan).and_then(|mut first| first.method()).map_err(failed)?;
        plan_seconds = plan_seconds.min(start.elapsed().as_secs_f64());

        let start = Instant::now();
        let mut linearization = simulation.linearize(&plan).map_err(failed)?;
        parts[0].push(start.elapsed().as_secs_f64());
        let between = Instant::now();
        method = linearization.method().map_err(failed)?;
        parts[1].push(between.elapsed().as_secs_f64());
        let between = Instant::now();
        let derivatives = linearization.derivatives(&inputs).map_err(failed)?;
        let mut responses: Vec<Vec<Vec3>> = derivatives.into_iter().map(|derivative| derivative.gradient).collect();
        linearization.solve_many(&mut responses).map_err(failed)?;
        parts[2].push(between.elapsed().as_secs_f64());
        all.push(start.elapsed().as_secs_f64());
        if run == 1 {
            error = error_one_by_one(&mut linearization, &inputs, &responses).map_err(failed)?;
        }
        console.note(&format!(
            "run {run} of {}: {:.0} ms for all gradients, {:.0} ms for a Newton step, {:.0} ms for one with a factor",
            arguments.repeats,
            1e3 * all[all.len() - 1],
            1e3 * newton[newton.len() - 1],
            1e3 * direct[direct.len() - 1],
        ));
    }
    let best = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
    Ok(json!({
        "cells": cells,
        "nodes": nodes,
        "activations": arguments.activations,
        "seconds_newton_step": best(&direct),
        "seconds_newton_step_spread": spread(&direct),
        "seconds_newton_step_auto": best(&newton),
        "seconds_newton_step_auto_spread": spread(&newton),
        "seconds_all_gradients": best(&all),
        "seconds_all_gradients_spread": spread(&all),
        "seconds_assembly": best(&parts[0]),
        "seconds_factor": best(&parts[1]),
        "seconds_right_hand_sides": best(&parts[2]),
        "seconds_plan": plan_seconds,
        "newton_steps_for_all_gradients": best(&all) / best(&direct),
        "auto_newton_steps_for_all_gradients": best(&all) / best(&newton),
        "error": error,
        "method": method,
        "repeats": arguments.repeats,
        "threads": rayon::current_num_threads(),
        "isa": super::isa_name(),
    }))
}

/// Largest relative difference between derivatives solved together and one by one.
fn error_one_by_one(
    linearization: &mut Linearization<'_>,
    inputs: &[Input],
    together: &[Vec<Vec3>],
) -> Result<f64, sinew_fem::linearization::LinearizationError> {
    let mut largest = 0.0f64;
    for (&input, together) in inputs.iter().zip(together) {
        let mut alone = linearization.derivative(input)?.gradient;
        linearization.solve(&mut alone)?;
        let difference: Vec<Vec3> = alone.iter().zip(together).map(|(&a, &b)| a - b).collect();
        largest = largest.max(norm(&difference) / norm(&alone).max(f64::MIN_POSITIVE));
    }
    Ok(largest)
}
