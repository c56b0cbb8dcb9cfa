//! `sinew check`: whether a scene is valid, and its size.

use std::path::PathBuf;

use sinew_fem::Simulation;
use sinew_run::compile::compile;
use sinew_run::value_names::check_compared;
use sinew_scene::{Scene, format_number};

use super::console::{self, Console};
use super::{Failure, Status, table};

/// Reads and compiles scenes without running them
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Scene files (TOML)
    #[arg(required = true, value_name = "SCENE")]
    pub scenes: Vec<PathBuf>,

    /// Replaces a value of the scenes, for example body.flesh.material.young="10 kPa"
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub overrides: Vec<String>,
}

/// Runs the command. Checks all scenes, also after an error.
pub fn execute(arguments: &Arguments, console: Console) -> Result<Status, Failure> {
    let overrides: Vec<_> = arguments.overrides.iter().cloned().map(Into::into).collect();
    let mut bad = 0;
    for path in &arguments.scenes {
        let checked = Scene::load_with(path, &overrides).and_then(|scene| {
            let simulation = compile(&scene)?;
            check_compared(&scene)?;
            Ok((simulation, scene))
        });
        match checked {
            Ok((simulation, scene)) => {
                console::print(&summary(&path.display().to_string(), &scene, &simulation))?;
                simulation.notes.iter().for_each(|note| console.note(&format!("note: {note}")));
            }
            Err(error) => {
                bad += 1;
                console::message(&error.to_string());
            }
        }
    }
    match bad {
        0 => Ok(Status::Done),
        _ if arguments.scenes.len() == 1 => Err(Failure::Reported),
        bad => {
            console.note(&format!("{bad} of {} scenes have errors", arguments.scenes.len()));
            Err(Failure::Reported)
        }
    }
}

/// The parts of the scene, in a few lines.
fn summary(name: &str, scene: &Scene, simulation: &Simulation) -> String {
    let model = simulation.model();
    let mut rows = Vec::new();
    for body in &model.bodies {
        let (cells, nodes) = (body.mesh.cell_count(), body.mesh.node_count());
        let volume = format!("{} m³", format_number(body.mesh.volume()));
        rows.push(vec![format!("  body {}", body.name), format!("{cells} cells"), format!("{nodes} nodes"), volume]);
    }
    rows.extend(model.rigid_bodies.iter().map(|rigid| vec![format!("  rigid {}", rigid.name)]));
    rows.extend(model.colliders.iter().map(|collider| vec![format!("  collider {}", collider.name)]));
    let expectations: usize = scene.expect.values().map(Vec::len).sum();
    format!(
        "{name}: ok\n{}  {} frames at {}/s, {} probes, {expectations} expectations, about {:.0} MiB\n",
        table::layout(&rows, &[false, true, true, true]),
        scene.frame_count(),
        format_number(scene.frame_rate),
        simulation.probe_names().len(),
        memory_estimate(simulation) / (1024.0 * 1024.0),
    )
}

/// Estimated memory of a run in bytes.
///
/// Per node: about 15 neighbors in a matrix of 3×3 blocks (twice: matrix, and factor or preconditioner) and 30 vectors
/// of state and scratch. Per cell: shape gradients and linearized stress.
fn memory_estimate(simulation: &Simulation) -> f64 {
    let nodes: usize = simulation.model().bodies.iter().map(|body| body.mesh.node_count()).sum();
    let cells: usize = simulation.model().bodies.iter().map(|body| body.mesh.cell_count()).sum();
    nodes as f64 * (2.0 * 15.0 * 72.0 + 30.0 * 24.0) + cells as f64 * 1000.0
}
