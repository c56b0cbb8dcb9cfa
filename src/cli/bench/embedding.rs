//! `sinew bench embedding`: how far surfaces that covers carry are from those of fine meshes.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use serde_json::{Map, Value, json};
use sinew_math::Vec3;
use sinew_scene::Scene;

use super::super::console::Console;
use super::super::{Failure, mesh};

/// Biceps and triceps of the arm phantom, as in `scenes/anatomy/flex.toml`.
const RECIPE: &str = include_str!("../../../scenes/anatomy/upper_arm.recipe");
const SCENE: &str = include_str!("../../../scenes/anatomy/flex.toml");
const RECIPE_NAME: &str = "upper_arm.recipe";
const MUSCLES: [&str; 2] = ["biceps", "triceps"];

/// Surfaces that covers carry against those of fine meshes: biceps and triceps of the arm phantom at half activation
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Size of the cells [default: as in the recipe]
    #[arg(long, value_name = "LENGTH", value_parser = mesh::length)]
    cell: Option<f64>,

    /// Size of the cells of the cover, the nearest of one, two, four ... cells [default: as in the recipe]
    #[arg(long, value_name = "LENGTH", value_parser = mesh::length)]
    cover: Option<f64>,

    /// Prints the result as one JSON object on stdout
    #[arg(long)]
    pub json: bool,
}

/// A surface at rest and at the end.
struct Moved {
    rest: Vec<Vec3>,
    end: Vec<Vec3>,
    cells: usize,
}

/// Runs the scene on fine meshes and on covers.
pub fn measure(arguments: &Arguments, console: Console) -> Result<Value, Failure> {
    let folder = std::env::temp_dir().join(format!("sinew-bench-embedding-{}", std::process::id()));
    let result = std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(folder.join(RECIPE_NAME), recipe(arguments)))
        .map_err(|error| Failure::Other(error.to_string()))
        .and_then(|()| compared(&folder, console));
    let _ = std::fs::remove_dir_all(&folder);
    result
}

/// The recipe with other sizes.
fn recipe(arguments: &Arguments) -> String {
    let mut table = "";
    let line = |line: &'static str| {
        if line.starts_with('[') {
            table = line;
        }
        let size = match table {
            "[mesh]" => arguments.cell,
            "[cover]" => arguments.cover,
            _ => None,
        };
        match size {
            Some(size) if line.starts_with("cell =") => format!("cell = {size}\n"),
            _ => format!("{line}\n"),
        }
    };
    RECIPE.lines().map(line).collect()
}

fn compared(folder: &Path, console: Console) -> Result<Value, Failure> {
    let mut result = Map::new();
    let mut run = |detail: &str| -> Result<Vec<Moved>, Failure> {
        console.note(detail);
        let start = Instant::now();
        let moved = moved(folder, detail)?;
        result.insert(format!("{detail}_seconds"), json!(start.elapsed().as_secs_f64()));
        Ok(moved)
    };
    let (fine, carried) = (run("fine")?, run("cover")?);
    for ((name, fine), carried) in MUSCLES.iter().zip(&fine).zip(&carried) {
        let (rms, most, peak) = differences(fine, carried)?;
        result.insert(format!("{name}_percent"), json!(100.0 * rms / peak));
        result.insert(format!("{name}_most_percent"), json!(100.0 * most / peak));
        result.insert(format!("{name}_peak"), json!(peak));
        result.insert(format!("{name}_cells"), json!([fine.cells, carried.cells]));
    }
    Ok(Value::Object(result))
}

/// The muscles at the end of the scene on meshes of a kind.
fn moved(folder: &Path, detail: &str) -> Result<Vec<Moved>, Failure> {
    let recipe = format!("recipe = \"{RECIPE_NAME}\"\n");
    let physics = SCENE.split("[expect]").next().unwrap_or_default();
    let text = physics.replace(&recipe, &format!("{recipe}detail = \"{detail}\"\n"));
    let scene = Scene::from_str(&text, "flex.toml", folder)?;
    let mut simulation = sinew_run::compile::compile(&scene)?;
    let bodies: Vec<usize> = MUSCLES
        .iter()
        .filter_map(|name| simulation.model().bodies.iter().position(|body| body.name == *name))
        .collect();
    let surfaces = |simulation: &sinew_fem::Simulation| -> Vec<Vec<Vec3>> {
        bodies.iter().map(|body| simulation.surface_positions(*body)).collect()
    };
    let rest = surfaces(&simulation);
    for _ in 0..scene.frame_count() {
        simulation.step_frame().map_err(|error| Failure::Other(error.to_string()))?;
    }
    let end = surfaces(&simulation);
    let cells = bodies.iter().map(|body| simulation.model().bodies[*body].mesh.cell_count());
    Ok(rest.into_iter().zip(end).zip(cells).map(|((rest, end), cells)| Moved { rest, end, cells }).collect())
}

/// Root mean square and largest difference of displacements, and the largest displacement \[m\].
fn differences(fine: &Moved, carried: &Moved) -> Result<(f64, f64, f64), Failure> {
    let key = |p: &Vec3| p.to_array().map(|x| (x * 1e9).round() as i64);
    let places: BTreeMap<_, usize> = carried.rest.iter().enumerate().map(|(i, p)| (key(p), i)).collect();
    let (mut peak, mut most, mut squares) = (0.0_f64, 0.0_f64, 0.0);
    for (rest, end) in fine.rest.iter().zip(&fine.end) {
        let own = *places.get(&key(rest)).ok_or_else(|| Failure::Other("the surfaces differ at rest".into()))?;
        let way = *end - *rest;
        let off = (carried.end[own] - carried.rest[own] - way).norm();
        (peak, most) = (peak.max(way.norm()), most.max(off));
        squares += off * off;
    }
    Ok(((squares / fine.rest.len() as f64).sqrt(), most, peak))
}
