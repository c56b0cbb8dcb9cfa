//! `sinew bench python`: overhead of calls from Python relative to Rust.

#![allow(non_snake_case)]

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::{Map, Value, json};
use sinew_elastic::{Points, Response};
use sinew_fem::Simulation;
use sinew_fem::material::{Law, MaterialSpec};
use sinew_math::Mat3;
use sinew_math::parallel::in_pool;
use sinew_run::compile::compile;
use sinew_scene::Scene;

use super::super::console::Console;
use super::{Failure, spread};

/// Young's modulus \[Pa\] and Poisson's ratio of the flesh.
const ELASTIC: (f64, f64) = (30e3, 0.45);

/// Overhead of calls from Python: simulation steps, and stresses of a million deformation gradients
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Number of deformation gradients
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..))]
    points: u32,

    /// Number of measurements; reports the best
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    repeats: u16,

    /// Python with the module `sinew`
    #[arg(long, value_name = "PROGRAM", env = "SINEW_PYTHON", default_value = "python3")]
    python: String,

    /// Prints the result as one JSON object on stdout
    #[arg(long)]
    pub json: bool,
}

/// Scenes: one cell, computed on the calling thread, and some thousand cells, computed in the thread pool; with the
/// steps per measurement.
const SCENES: [(&str, &str, &str, usize); 2] = [("small", "1 m", "1 m", 2000), ("large", "10 cm", "1 cm", 50)];

fn scene_text(size: &str, cell: &str) -> String {
    format!(
        "duration = \"1000 s\"\n[[body]]\nname = \"block\"\nmesh = {{ from = \"box\", size = [\"{size}\", \"{size}\", \"{size}\"], cell = \"{cell}\" }}\n\
         material = {{ type = \"stable_neo_hookean\", young = {}, poisson = {} }}\npin = [{{ region = \"x-min\" }}]\n",
        ELASTIC.0, ELASTIC.1
    )
}

/// The deformation gradients, the same in both languages: F = I + 0.2 sin(i) over all entries i.
fn gradients(count: usize) -> Vec<Mat3> {
    let entry =
        |point: usize, k: usize| f64::from(u8::from(k.is_multiple_of(4))) + 0.2 * ((9 * point + k) as f64).sin();
    (0..count)
        .map(|point| Mat3::new(std::array::from_fn(|i| std::array::from_fn(|j| entry(point, 3 * i + j)))))
        .collect()
}

/// Measures both sides.
pub fn measure(arguments: &Arguments, console: Console) -> Result<Value, Failure> {
    console.note("in Python …");
    let theirs = in_python(arguments)?;
    console.note("in Rust …");
    let mut steps = Map::new();
    for (name, size, cell, count) in SCENES {
        let scene = Scene::from_str(&scene_text(size, cell), name, ".")?;
        let own = frame_times(&mut compile(&scene)?, count, arguments.repeats)?;
        let theirs = numbers(&theirs["steps"][name])?;
        steps.insert(
            name.into(),
            json!({
                "rust_frame_microseconds": 1e6 * best(&own.iter().map(|[frame, _]| *frame).collect::<Vec<_>>()),
                "rust_overhead_microseconds": 1e6 * best(&own.iter().map(|[_, handed]| *handed).collect::<Vec<_>>()),
                "overhead_microseconds": 1e6 * best(&theirs),
                "overhead_microseconds_spread": spread(&theirs),
            }),
        );
    }
    let mut materials = Map::new();
    for (name, own) in material_times(arguments.points as usize, arguments.repeats) {
        let theirs = numbers(&theirs["materials"][name])?;
        materials.insert(
            name.into(),
            json!({
                "ratio": best(&theirs) / best(&own),
                "python_seconds": best(&theirs),
                "python_seconds_spread": spread(&theirs),
                "rust_seconds": best(&own),
                "rust_seconds_spread": spread(&own),
            }),
        );
    }
    let worst =
        |of: &Map<String, Value>, key: &str| of.values().filter_map(|value| value[key].as_f64()).fold(0.0, f64::max);
    Ok(json!({
        "step_overhead_microseconds": worst(&steps, "overhead_microseconds"),
        "materials_ratio": worst(&materials, "ratio"),
        "steps": steps,
        "materials": materials,
        "points": arguments.points,
        "repeats": arguments.repeats,
        "threads": rayon::current_num_threads(),
        "python": theirs["python"],
        "isa": super::isa_name(),
    }))
}

/// Wall-clock time of a frame, and its part for entering and leaving the thread pool \[s\], by repeat. Small models do
/// not use the pool.
fn frame_times(simulation: &mut Simulation, count: usize, repeats: u16) -> Result<Vec<[f64; 2]>, Failure> {
    let failed = |error: sinew_fem::StepError| Failure::Other(error.to_string());
    let is_small = simulation.model().kinematics.point_count() < Simulation::POOLED_POINTS;
    simulation.step_frame().map_err(failed)?;
    (0..repeats)
        .map(|_| {
            let (start, mut inside) = (Instant::now(), 0.0);
            for _ in 0..count {
                let mut frame = || {
                    let start = Instant::now();
                    simulation.step_frame().map(|_| start.elapsed().as_secs_f64())
                };
                inside += if is_small { frame() } else { in_pool(frame) }.map_err(failed)?;
            }
            let all = start.elapsed().as_secs_f64();
            Ok([all / count as f64, (all - inside) / count as f64])
        })
        .collect()
}

/// Seconds of each material function, by repeat; with existing and with new output arrays.
fn material_times(count: usize, repeats: u16) -> Vec<(&'static str, Vec<f64>)> {
    let material = Response::new(MaterialSpec::with_young(Law::StableNeoHookean, ELASTIC.0, ELASTIC.1));
    let F = gradients(count);
    let points = Points { deformations: &F, ..Points::default() };
    let (mut psi, mut P) = (vec![0.0; count], vec![Mat3::zero(); count]);
    let mut times = vec![
        ("energy", Vec::new()),
        ("stress", Vec::new()),
        ("stress_differential", Vec::new()),
        ("stress_new_array", Vec::new()),
    ];
    // The first round allocates the memory.
    for round in 0..=repeats {
        for (name, times) in &mut times {
            let start = Instant::now();
            let answered = match *name {
                "energy" => material.energy(&points, &mut psi),
                "stress" => material.stress(&points, &mut P),
                "stress_differential" => material.stress_differential(&points, &F, &mut P),
                _ => material.stress(&points, &mut vec![Mat3::zero(); count]),
            };
            let seconds = start.elapsed().as_secs_f64();
            if round > 0 && answered.is_ok() {
                times.push(seconds);
            }
        }
    }
    times
}

/// The measurements in Python, as JSON.
fn in_python(arguments: &Arguments) -> Result<Value, Failure> {
    let failed = |reason: String| {
        Failure::Other(format!("{reason}\nhint: `pip install ./python` installs the module; --python selects a Python"))
    };
    let scenes: Map<String, Value> = SCENES
        .iter()
        .map(|(name, size, cell, count)| (name.to_string(), json!([scene_text(size, cell), count])))
        .collect();
    let (young, poisson) = ELASTIC;
    let request = json!({ "scenes": scenes, "points": arguments.points, "repeats": arguments.repeats, "young": young, "poisson": poisson });
    let mut child = Command::new(&arguments.python)
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(format!("{} cannot be started: {error}", arguments.python)))?;
    if let Some(mut input) = child.stdin.take() {
        // A script that exits early prints its own error.
        let _ = input.write_all(request.to_string().as_bytes());
    }
    let output = child.wait_with_output().map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(failed(format!("{}: {}", arguments.python, said.lines().last().unwrap_or("no reason given"))));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| failed(error.to_string()))
}

/// The same measurements in Python; for steps, the overhead of a call.
const SCRIPT: &str = r#"
import json, sys, time, platform
import numpy as np
import sinew

request = json.load(sys.stdin)
clock = time.perf_counter

def overheads(text, count):
    simulation = sinew.Simulation(sinew.Scene(text))
    simulation.step()
    times = []
    for _ in range(request["repeats"]):
        start, solver = clock(), 0.0
        for _ in range(count):
            solver += simulation.step().frame_seconds
        times.append((clock() - start - solver) / count)
    return times

def questions():
    material = sinew.Material("stable_neo_hookean", young=request["young"], poisson=request["poisson"])
    count = request["points"]
    F = np.tile(np.eye(3), (count, 1, 1)) + 0.2 * np.sin(np.arange(9.0 * count)).reshape(count, 3, 3)
    psi, P = np.zeros(count), np.zeros_like(F)
    ways = {
        "energy": lambda: material.energy(F, out=psi),
        "stress": lambda: material.stress(F, out=P),
        "stress_differential": lambda: material.stress_differential(F, F, out=P),
        "stress_new_array": lambda: material.stress(F),
    }
    times = {name: [] for name in ways}
    for round in range(request["repeats"] + 1):
        for name, ask in ways.items():
            start = clock()
            ask()
            seconds = clock() - start
            if round > 0:
                times[name].append(seconds)
    return times

steps = {name: overheads(text, count) for name, (text, count) in request["scenes"].items()}
print(json.dumps({"steps": steps, "materials": questions(), "python": platform.python_version()}))
"#;

fn numbers(value: &Value) -> Result<Vec<f64>, Failure> {
    let numbers: Vec<f64> = value.as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
    match numbers.is_empty() {
        true => Err(Failure::Other("Python reported no times".into())),
        false => Ok(numbers),
    }
}

fn best(times: &[f64]) -> f64 {
    times.iter().copied().fold(f64::INFINITY, f64::min)
}
