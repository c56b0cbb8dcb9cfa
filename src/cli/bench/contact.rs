//! `sinew bench contact`: how fast contact is found and solved, on a folded sheet in contact with itself.

use std::time::Instant;

use serde_json::{Value, json};
use sinew_geometry::proximity::{Candidates, SurfaceTree, edge_edge, point_triangle};
use sinew_math::Vec3;
use sinew_scene::compile::compile;
use sinew_scene::{Override, Scene};

use super::super::talk::Talk;
use super::{Failure, spread};

/// Two wavy mats, one on the other.
const SCENE: &str = include_str!("../../../scenes/bench/mats.toml");

/// Finds and solves contact between surfaces of some 50,000 triangles: candidates and distances per second, seconds per frame, share of detection
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Cells along each mat: 78 make 50,000 surface triangles
    #[arg(long, value_name = "N", default_value_t = 78, value_parser = clap::value_parser!(u32).range(8..=400))]
    cells: u32,

    /// Frames of the scene
    #[arg(long, value_name = "N", default_value_t = 10)]
    frames: usize,

    /// How bodies are kept apart
    #[arg(long, value_name = "MODE", default_value = "barrier", value_parser = ["barrier", "penalty"])]
    mode: String,

    /// Repeats of the search for candidates
    #[arg(long, value_name = "N", default_value_t = 5)]
    repeats: usize,

    /// Prints one JSON object
    #[arg(long)]
    pub json: bool,

    /// Replaces a value of the scene
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
}

/// Runs it.
pub fn measure(arguments: &Arguments, talk: Talk) -> Result<Value, Failure> {
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
    for frame in 0..arguments.frames {
        let begin = Instant::now();
        let step = simulation.step_frame();
        let report = step.map_err(|error| Failure::Other(format!("the mats cannot be computed: {error}")))?;
        seconds.push(begin.elapsed().as_secs_f64());
        detection += report.timing.contact.as_secs_f64();
        newton += report.newton_iterations;
        contacts = contacts.max(report.contacts);
        talk.note(&format!("frame {}: {report}, {} contacts", frame + 1, report.contacts));
    }
    let total: f64 = seconds.iter().sum();
    let search = search(&simulation, arguments.repeats.max(1));
    Ok(json!({
        "surface_triangles": simulation.model().surfaces.triangles.len(),
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
    }))
}

struct Search {
    candidates: usize,
    queries: f64,
    seconds: f64,
    finding: f64,
    spread: f64,
}

/// Candidates and their distances at the last state: each vertex and each edge is a query against all others.
fn search(simulation: &sinew_fem::Simulation, repeats: usize) -> Search {
    let (model, state) = (simulation.model(), simulation.state());
    let contact = &model.surfaces;
    let mut y = contact.rest.clone();
    contact.place(&state.positions, &mut y);
    contact.place_obstacles(&state.history.collider_poses, &mut y);
    let groups = (0..contact.triangles.len() as u32).map(|t| contact.triangle_group(t) as u32).collect();
    let paired = vec![true; contact.groups.len() * contact.groups.len()];
    let mut tree = SurfaceTree::new(y.len(), contact.triangles.clone(), groups, paired);
    let margins: Vec<f64> = contact.groups.iter().map(|group| 0.05 * group.edge.min(1.0)).collect();
    let mut candidates = Candidates::default();
    let (mut times, mut finding) = (Vec::new(), f64::INFINITY);
    for _ in 0..repeats {
        let begin = Instant::now();
        tree.rebuild(&y);
        tree.refit(&y, &y, &margins);
        tree.find(&mut candidates);
        finding = finding.min(begin.elapsed().as_secs_f64());
        std::hint::black_box(nearest(&tree, &candidates, &y));
        times.push(begin.elapsed().as_secs_f64());
    }
    Search {
        candidates: candidates.point_triangle.len() + candidates.edge_edge.len(),
        queries: (y.len() + tree.edges().len()) as f64,
        seconds: times.iter().copied().fold(f64::INFINITY, f64::min),
        finding,
        spread: spread(&times),
    }
}

/// The least distance of all candidates.
fn nearest(tree: &SurfaceTree, candidates: &Candidates, y: &[Vec3]) -> f64 {
    let points = sinew_math::parallel::reduce_blocks(
        candidates.point_triangle.len(),
        1024,
        |range| {
            let distance = |[v, t]: [u32; 2]| {
                let [a, b, c] = tree.triangles()[t as usize];
                point_triangle([v, a, b, c].map(|v| y[v as usize])).distance_squared
            };
            candidates.point_triangle[range].iter().map(|&pair| distance(pair)).fold(f64::INFINITY, f64::min)
        },
        f64::min,
    );
    let edges = sinew_math::parallel::reduce_blocks(
        candidates.edge_edge.len(),
        1024,
        |range| {
            let distance = |[e, f]: [u32; 2]| {
                let ([a, b], [c, d]) = (tree.edges()[e as usize], tree.edges()[f as usize]);
                edge_edge([a, b, c, d].map(|v| y[v as usize])).distance_squared
            };
            candidates.edge_edge[range].iter().map(|&pair| distance(pair)).fold(f64::INFINITY, f64::min)
        },
        f64::min,
    );
    points.unwrap_or(f64::INFINITY).min(edges.unwrap_or(f64::INFINITY)).sqrt()
}
