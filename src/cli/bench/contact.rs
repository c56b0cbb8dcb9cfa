//! `sinew bench contact`: speed of contact detection and solution for a mat that falls on another.

mod detection;
mod moment;

use std::path::PathBuf;
use std::time::Instant;

use serde_json::{Value, json};
use sinew_math::Vec3;
use sinew_run::compile::compile;
use sinew_scene::{Override, Scene};

use super::super::console::Console;
use super::{Failure, spread};
use detection::Detection;
use moment::Moment;

/// A mat falls on another mat.
const SCENE: &str = include_str!("../../../scenes/bench/mats.toml");

/// Contact of two mats with 50,000 surface triangles: candidates and distances per second, seconds per frame, share of
/// detection
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Cells along each mat; 78 give 50,000 surface triangles
    #[arg(long, value_name = "N", default_value_t = 78, value_parser = clap::value_parser!(u32).range(8..=400))]
    cells: u32,

    /// Frames of the scene
    #[arg(long, value_name = "N", default_value_t = 10)]
    frames: usize,

    /// Contact mode
    #[arg(long, value_name = "MODE", default_value = "barrier", value_parser = ["barrier", "penalty"])]
    mode: String,

    /// Repeats of the candidate search
    #[arg(long, value_name = "N", default_value_t = 5)]
    repeats: usize,

    /// Writes the surface of the frame with the most contacts to this folder, as input for other detectors
    #[arg(long, value_name = "DIR")]
    write: Option<PathBuf>,

    /// Prints the result as one JSON object on stdout
    #[arg(long)]
    pub json: bool,

    /// Replaces a value of the scene
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
}

/// Runs the benchmark.
pub fn measure(arguments: &Arguments, console: Console) -> Result<Value, Failure> {
    let cells = format!("[{0}, {0}, 2]", arguments.cells);
    let mut overrides = vec![
        Override::new("body.lower.mesh.cells", &cells),
        Override::new("body.upper.mesh.cells", &cells),
        Override::new("contact.check", "false"),
        Override::new("expect", "{}"),
        Override::new("contact.mode", &format!("\"{}\"", arguments.mode)),
    ];
    overrides.extend(arguments.overrides.iter().cloned().map(Override::from));
    let scene = Scene::from_text(SCENE, "mats.toml", "", &overrides)?;
    let mut simulation = compile(&scene)?;
    let (mut seconds, mut detection, mut newton, mut contacts) = (Vec::new(), 0.0, 0, 0);
    let mut start = positions(&simulation);
    let mut before = start.clone();
    let (mut moment, mut heights) = (Moment::new(&start, &start, &start), Vec::new());
    for frame in 0..arguments.frames {
        let begin = Instant::now();
        let step = simulation.step_frame();
        let report = step.map_err(|error| Failure::Other(format!("the mats cannot be computed: {error}")))?;
        seconds.push(begin.elapsed().as_secs_f64());
        detection += report.timing.contact.as_secs_f64();
        newton += report.newton_iterations;
        let end = positions(&simulation);
        // The mats are at rest before the first frame.
        if frame < 2 || report.contacts > contacts {
            moment = Moment::new(&before, &start, &end);
        }
        (before, start) = (start, end);
        contacts = contacts.max(report.contacts);
        heights.extend(upper_height(&simulation));
        console.note(&format!("frame {}: {report}, {} contacts", frame + 1, report.contacts));
    }
    let total: f64 = seconds.iter().sum();
    let search = search(&simulation, arguments.repeats.max(1));
    let surfaces = &simulation.model().surfaces;
    let gap = surfaces.pairs().map(|(_, _, rule)| rule.gap).fold(0.0, f64::max);
    if let Some(folder) = &arguments.write {
        let failure = |error| Failure::Other(format!("cannot write to {}: {error}", folder.display()));
        moment.write(folder, surfaces, gap).map_err(failure)?;
    }
    let mut result = json!({
        "surface_triangles": surfaces.triangles.len(),
        "mode": arguments.mode,
        "frames": arguments.frames,
        "seconds_per_frame": total / arguments.frames.max(1) as f64,
        "newton_per_frame": newton as f64 / arguments.frames.max(1) as f64,
        "share_of_detection": detection / total,
        "contacts": contacts,
        "million_queries_per_second": search.queries / search.seconds / 1e6,
        "candidates": search.candidates,
        "milliseconds_to_find_candidates": search.finding * 1e3,
        "spread": search.spread,
        "threads": rayon::current_num_threads(),
        "upper_height": heights.last(),
        "lowest_height": heights.iter().copied().reduce(f64::min),
        "load": simulation.probe("upper.contact.lower.load"),
    });
    for (name, report) in moment::time(&moment, surfaces, gap, arguments.repeats) {
        result[name] = report;
    }
    Ok(result)
}

/// Positions of the vertices of all surfaces.
fn positions(simulation: &sinew_fem::Simulation) -> Vec<Vec3> {
    let (contact, state) = (&simulation.model().surfaces, simulation.state());
    let mut y = contact.rest.clone();
    contact.place(&state.positions, &mut y);
    contact.place_obstacles(&state.history.collider_poses, &mut y);
    y
}

/// Mean height of the nodes of the upper mat \[m\].
fn upper_height(simulation: &sinew_fem::Simulation) -> Option<f64> {
    let upper = simulation.model().bodies.iter().find(|body| body.name == "upper")?;
    let points = &simulation.state().positions[upper.points.clone()];
    Some(points.iter().map(|x| x.z).sum::<f64>() / points.len() as f64)
}

struct Search {
    candidates: usize,
    queries: f64,
    seconds: f64,
    finding: f64,
    spread: f64,
}

/// Candidates and their distances at the last state: queries each vertex and each edge against all others.
fn search(simulation: &sinew_fem::Simulation, repeats: usize) -> Search {
    let contact = &simulation.model().surfaces;
    let y = positions(simulation);
    let margins = contact.groups.iter().map(|group| 0.05 * group.edge.min(1.0)).collect();
    let mut detection = Detection::new(contact, margins);
    let (mut times, mut finding) = (Vec::new(), f64::INFINITY);
    for _ in 0..repeats {
        let begin = Instant::now();
        detection.find(&y, &y);
        finding = finding.min(begin.elapsed().as_secs_f64());
        std::hint::black_box(detection.near_pairs(&y, 0.0));
        times.push(begin.elapsed().as_secs_f64());
    }
    Search {
        candidates: detection.pair_count(),
        queries: (y.len() + detection.edge_count()) as f64,
        seconds: times.iter().copied().fold(f64::INFINITY, f64::min),
        finding,
        spread: spread(&times),
    }
}
