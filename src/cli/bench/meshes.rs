//! `sinew bench meshes`: iteration counts on irregular meshes, relative to the beam.
//!
//! A solver tuned on a box of equal cells may be slow on other shapes. Here, bodies of the same material, size and
//! number of cells but different shape hang from one end, dynamically and quasistatically under growing weight.

use serde_json::{Value, json};
use sinew_geometry::procedural::{TetPattern, box_tets};
use sinew_math::Vec3;
use sinew_run::compile::compile;
use sinew_scene::{Override, Scene};

use super::super::console::Console;
use super::abuse::medit;
use super::{Failure, beam};

/// Frames of each run.
const FRAMES: usize = 10;
/// Length ratio of the last to the first cell of the graded beam.
const GRADING: f64 = 8.0;

/// Iteration counts on irregular meshes (torus, figure, fusiform muscle, graded cells), relative to the beam
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Cells across the beam; 6 give 5,184 tetrahedra, 13 give 52,728. The other meshes have about as many
    #[arg(long, value_name = "N", default_value_t = 13, value_parser = clap::value_parser!(u32).range(4..=40))]
    across: u32,

    /// Prints the result as one JSON object on stdout
    #[arg(long)]
    pub json: bool,

    /// Replaces a value of the scenes, for example solver.linear="cg"
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
}

/// Runs all shapes in both regimes.
pub fn measure(arguments: &Arguments, console: Console) -> Result<Value, Failure> {
    let folder = std::env::temp_dir().join(format!("sinew-bench-meshes-{}", std::process::id()));
    let failed = |source| Failure::Write { what: folder.display().to_string(), source };
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let result = run_all(arguments, &folder, console);
    std::fs::remove_dir_all(&folder).map_err(failed)?;
    result
}

fn run_all(arguments: &Arguments, folder: &std::path::Path, console: Console) -> Result<Value, Failure> {
    let across = arguments.across as usize;
    let graded = folder.join("graded.mesh");
    std::fs::write(&graded, graded_beam(across)?)
        .map_err(|source| Failure::Write { what: graded.display().to_string(), source })?;
    // Edge of the cells [m], for about as many regular tetrahedra as in the beam.
    let cell = 0.12 / across as f64;
    let meshes = [
        ("beam", format!("{{ from = \"box\", size = [0.4, 0.1, 0.1], cells = [{}, {across}, {across}] }}", 4 * across)),
        ("torus", format!("{{ from = \"torus\", radius = 0.15, tube = 0.05, cell = {cell:?} }}")),
        ("figure", format!("{{ from = \"figure\", height = 0.4, cells = {} }}", 6 * across)),
        (
            "fusiform",
            format!("{{ from = \"fusiform\", length = 0.4, radius = 0.065, end_radius = 0.03, cell = {cell:?} }}"),
        ),
        ("graded", format!("{{ from = \"file\", file = {:?} }}", graded.display().to_string())),
    ];
    let mut runs = Vec::new();
    let mut worst = serde_json::Map::new();
    for regime in ["implicit_euler", "quasistatic"] {
        let mut of_beam = 0.0;
        let mut largest = 0.0f64;
        for (name, mesh) in &meshes {
            let mut overrides = vec![
                Override::new("body.beam.mesh", mesh),
                Override::new("body.beam.pin", "[{ region = \"held\" }]"),
                Override::new("body.beam.regions", &format!("{{ held = {{ {} }} }}", held(name))),
                Override::new("probe", "[]"),
                Override::new("expect", "{}"),
                Override::new("solver.type", &format!("\"{regime}\"")),
                Override::new("control", "{ \"gravity.z\" = [[\"0 s\", 0], [\"0.2 s\", -9.81]] }"),
            ];
            overrides.extend(arguments.overrides.iter().cloned().map(Override::from));
            let scene = Scene::from_text(beam::SCENE, "beam.toml", "", &overrides)?;
            let mut simulation = compile(&scene)?;
            let body = &simulation.model().bodies[0].mesh;
            let (cells, nodes) = (body.cell_count(), body.node_count());
            let (mut newton, mut linear) = (0, 0);
            for _ in 0..FRAMES {
                let report = simulation
                    .step_frame()
                    .map_err(|error| Failure::Other(format!("the {name} cannot be computed: {error}")))?;
                newton += report.newton_iterations;
                linear += report.linear_iterations;
            }
            let per_newton = linear as f64 / newton.max(1) as f64;
            if *name == "beam" {
                of_beam = per_newton;
            }
            let ratio = per_newton / of_beam;
            largest = largest.max(ratio);
            console.note(&format!(
                "{regime}, {name}, {cells} cells: {per_newton:.1} iterations, {ratio:.2} of the beam's"
            ));
            runs.push(json!({
                "regime": regime,
                "mesh": name,
                "tets": cells,
                "nodes": nodes,
                "newton_per_frame": newton as f64 / FRAMES as f64,
                "linear_per_newton": per_newton,
                "over_beam": ratio,
            }));
        }
        worst.insert(regime.into(), json!(largest));
    }
    Ok(json!({ "worst_over_beam": worst, "runs": runs, "frames": FRAMES, "threads": rayon::current_num_threads() }))
}

/// The pinned end of a shape.
fn held(name: &str) -> &'static str {
    match name {
        "torus" => "box = [[-1, -1, -1], [-0.15, 1, 1]]",
        "figure" => "box = [[-1, -1, 0.38], [1, 1, 1]]",
        _ => "box = [[-1, -1, -1], [0.001, 1, 1]]",
    }
}

/// The beam with cells that grow along all three axes, in Medit format.
fn graded_beam(across: usize) -> Result<String, Failure> {
    let size = Vec3::new(0.4, 0.1, 0.1);
    let mesh = box_tets(size, [4 * across, across, across], TetPattern::Kuhn)
        .map_err(|error| Failure::Other(error.to_string()))?;
    let growth = GRADING.ln();
    let map = |s: f64| (growth * s).exp_m1() / growth.exp_m1();
    let positions: Vec<Vec3> = mesh
        .positions()
        .iter()
        .map(|x| Vec3::new(size.x * map(x.x / size.x), size.y * map(x.y / size.y), size.z * map(x.z / size.z)))
        .collect();
    let corners = |cell| {
        let nodes = mesh.cell_nodes(cell);
        [nodes[0], nodes[1], nodes[2], nodes[3]]
    };
    let tets: Vec<[u32; 4]> = (0..mesh.cell_count()).map(corners).collect();
    Ok(medit(&positions, &tets))
}
