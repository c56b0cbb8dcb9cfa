//! `sinew bench scaling`: growth of time and memory from five thousand to a million tetrahedra.

use std::time::Instant;

use serde_json::{Value, json};
use sinew_run::compile::compile;
use sinew_scene::{Override, Scene};

use super::super::console::Console;
use super::{Failure, beam};

/// Cells across the beam of each size: 24 n³ tetrahedra.
const ACROSS: [usize; 6] = [6, 9, 13, 20, 28, 35];
/// Frames of each run. The first allocates memory and does not count.
const FRAMES: usize = 4;

/// The beam with 5,184 to 1,029,000 tetrahedra, quasistatic and dynamic
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Maximum number of tetrahedra
    #[arg(long, value_name = "N", default_value_t = 1_100_000)]
    most: usize,

    /// Prints the result as one JSON object on stdout
    #[arg(long)]
    pub json: bool,
}

/// Runs all sizes in both regimes.
pub fn measure(arguments: &Arguments, console: Console) -> Result<Value, Failure> {
    let mut results = Vec::new();
    let mut exponents = serde_json::Map::new();
    let mut most_bytes = 0.0f64;
    for regime in ["quasistatic", "implicit_euler"] {
        let mut points = Vec::new();
        for n in ACROSS.into_iter().filter(|n| 24 * n.pow(3) <= arguments.most) {
            let overrides = [
                Override::new("body.beam.mesh.cells", &format!("[{}, {n}, {n}]", 4 * n)),
                Override::new("solver.type", &format!("\"{regime}\"")),
                // The weight grows, so that every quasistatic frame needs work.
                Override::new("control", "{ \"gravity.z\" = [[\"0 s\", 0], [\"0.1 s\", -9.81]] }"),
            ];
            let scene = Scene::from_text(beam::SCENE, "beam.toml", "", &overrides)?;
            let before = resident_bytes();
            let begin = Instant::now();
            let mut simulation = compile(&scene)?;
            let compile_seconds = begin.elapsed().as_secs_f64();
            let cells = simulation.model().bodies[0].mesh.cell_count();
            let (mut seconds, mut newton, mut linear) = (0.0, 0, 0);
            for frame in 0..FRAMES {
                let begin = Instant::now();
                let report = simulation
                    .step_frame()
                    .map_err(|error| Failure::Other(format!("{cells} cells cannot be computed: {error}")))?;
                if frame > 0 {
                    seconds += begin.elapsed().as_secs_f64();
                    newton += report.newton_iterations;
                    linear += report.linear_iterations;
                }
            }
            let bytes = before.zip(resident_bytes()).map(|(before, after)| after.saturating_sub(before) as f64);
            most_bytes = most_bytes.max(resident_bytes().unwrap_or(0) as f64);
            let per_frame = seconds / (FRAMES - 1) as f64;
            points.push((cells as f64, per_frame));
            console.note(&format!("{regime}, {cells} cells: {per_frame:.4} s per frame"));
            results.push(json!({
                "regime": regime,
                "tets": cells,
                "seconds_per_frame": per_frame,
                "newton_per_frame": newton as f64 / (FRAMES - 1) as f64,
                "linear_per_newton": linear as f64 / newton.max(1) as f64,
                "compile_seconds": compile_seconds,
                "bytes_per_tet": bytes.map(|bytes| bytes / cells as f64),
            }));
        }
        exponents.insert(regime.into(), json!(exponent(&points)));
    }
    Ok(json!({
        "exponent": exponents,
        "peak_gibibytes": most_bytes / f64::from(1u32 << 30),
        "runs": results,
        "threads": rayon::current_num_threads(),
    }))
}

/// Slope of log y over log x by least squares.
fn exponent(points: &[(f64, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let count = logs.len().max(1) as f64;
    let (mx, my) = logs.iter().fold((0.0, 0.0), |(a, b), (x, y)| (a + x / count, b + y / count));
    let (xy, xx) = logs.iter().fold((0.0, 0.0), |(a, b), (x, y)| (a + (x - mx) * (y - my), b + (x - mx).powi(2)));
    xy / xx
}

/// Memory of this process, if the system reports it.
fn resident_bytes() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kilobytes: usize = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(1024 * kilobytes)
}
