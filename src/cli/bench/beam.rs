//! `sinew bench beam`: times the beam and checks its final position.

use std::time::Instant;

use serde_json::{Value, json};
use sinew_fem::{Simulation, StepError, StepTiming};
use sinew_run::compile::compile;
use sinew_scene::{Override, Scene};

use super::super::console::Console;
use super::{Failure, median, spread};

/// Block 0.4 × 0.1 × 0.1 m clamped at x = 0, log-J neo-Hookean, E = 100 kPa, ν = 0.4, ρ = 1000 kg/m³, gravity along −z.
pub(super) const SCENE: &str = include_str!("../../../scenes/bench/beam.toml");

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Size {
    /// 24 × 6 × 6 cubes, 5184 tetrahedra
    #[value(name = "S", alias = "s")]
    Small,
    /// 52 × 13 × 13 cubes, 52728 tetrahedra
    #[value(name = "L", alias = "l")]
    Large,
    /// 112 × 28 × 28 cubes, 526848 tetrahedra
    #[value(name = "XL", alias = "xl")]
    ExtraLarge,
}

/// A clamped beam swings under its weight: 60 frames of implicit Euler
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Size of the mesh
    #[arg(long, value_enum, default_value = "S", ignore_case = true)]
    size: Size,

    /// Number of runs; reports the best [default: 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    repeats: Option<u16>,

    /// Prints the result as one JSON object on stdout
    #[arg(long)]
    pub json: bool,

    /// Replaces a value of the scene, for example solver.linear="cg"
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
}

/// One run of the beam.
struct Run {
    seconds_per_frame: f64,
    tip: Vec<f64>,
    newton: usize,
    linear: usize,
    worst_residual: f64,
    timing: StepTiming,
}

/// Runs the beam several times.
pub fn measure(arguments: &Arguments, console: Console) -> Result<Value, Failure> {
    let (name, cells) = match arguments.size {
        Size::Small => ("S", "[24, 6, 6]"),
        Size::Large => ("L", "[52, 13, 13]"),
        Size::ExtraLarge => ("XL", "[112, 28, 28]"),
    };
    let repeats = arguments.repeats.unwrap_or(5);
    let mut overrides = vec![Override::new("body.beam.mesh.cells", cells)];
    overrides.extend(arguments.overrides.iter().cloned().map(Override::from));
    let scene = Scene::from_text(SCENE, "beam.toml", "", &overrides)?;
    let mut runs = Vec::new();
    let mut compile_seconds = Vec::new();
    let (mut cell_count, mut node_count) = (0, 0);
    for number in 1..=repeats {
        let start = Instant::now();
        let mut simulation = compile(&scene)?;
        compile_seconds.push(start.elapsed().as_secs_f64());
        let mesh = &simulation.model().bodies[0].mesh;
        (cell_count, node_count) = (mesh.cell_count(), mesh.node_count());
        let run = swing(&mut simulation, scene.frame_count())
            .map_err(|error| Failure::Other(format!("the beam cannot be computed: {error}")))?;
        console.note(&format!("run {number} of {repeats}: {:.4} s per frame", run.seconds_per_frame));
        runs.push(run);
    }
    let seconds: Vec<f64> = runs.iter().map(|run| run.seconds_per_frame).collect();
    let fastest = runs.iter().min_by(|a, b| a.seconds_per_frame.total_cmp(&b.seconds_per_frame));
    let Some(run) = fastest else { return Err(Failure::Other("no run was completed".into())) };
    let frames = scene.frame_count().max(1) as f64;
    Ok(json!({
        "size": name,
        "cells": cell_count,
        "nodes": node_count,
        "frames": scene.frame_count(),
        "seconds_per_frame": seconds.iter().copied().fold(f64::INFINITY, f64::min),
        "seconds_per_frame_spread": spread(&seconds),
        "compile_seconds": median(&compile_seconds),
        "tip_min": run.tip.iter().copied().fold(f64::INFINITY, f64::min),
        "tip_end": run.tip.last(),
        "newton_per_frame": run.newton as f64 / frames,
        "linear_per_frame": run.linear as f64 / frames,
        "relative_residual": run.worst_residual,
        "gradient_seconds": run.timing.gradient.as_secs_f64() / frames,
        "assembly_seconds": run.timing.assembly.as_secs_f64() / frames,
        "linear_seconds": run.timing.linear_solve.as_secs_f64() / frames,
        "step_seconds": run.timing.total.as_secs_f64() / frames,
        "repeats": repeats,
        "threads": rayon::current_num_threads(),
        "isa": super::isa_name(),
    }))
}

/// Steps the scene; times only the steps.
fn swing(simulation: &mut Simulation, frames: usize) -> Result<Run, StepError> {
    let mut run = Run {
        seconds_per_frame: 0.0,
        tip: Vec::new(),
        newton: 0,
        linear: 0,
        worst_residual: 0.0,
        timing: StepTiming::default(),
    };
    let mut seconds = 0.0;
    for _ in 0..frames {
        let start = Instant::now();
        let report = simulation.step_frame()?;
        seconds += start.elapsed().as_secs_f64();
        run.timing += report.timing;
        run.newton += report.newton_iterations;
        run.linear += report.linear_iterations;
        run.worst_residual = run.worst_residual.max(report.relative_residual);
        run.tip.push(simulation.probe("tip.displacement.z").unwrap_or(f64::NAN));
    }
    run.seconds_per_frame = seconds / frames.max(1) as f64;
    Ok(run)
}
