//! `sinew bench`: benchmarks.

mod abuse;
mod anatomy;
mod beam;
mod child;
mod contact;
mod difficult;
mod distance;
mod embedding;
mod first_hour;
mod gradient;
mod io;
mod mesher;
mod meshes;
mod muscle;
mod pile;
mod python;
mod scaling;
mod scramble;
mod skin;
mod skin_files;
mod solvers;
mod svd3;
mod vcycle;

pub use svd3::{isa_name, quick_svd_check};

use serde_json::Value;

use super::console::{self, Console};
use super::{Failure, Status, table};

/// Runs benchmarks on this machine
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    benchmark: Benchmark,
}

#[derive(Debug, clap::Subcommand)]
enum Benchmark {
    /// Singular value decompositions of 3×3 matrices, single precision, one core
    Svd3(svd3::Arguments),
    /// V-cycle of a lattice: its time relative to memory bandwidth, and its convergence
    Vcycle(vcycle::Arguments),
    /// Linear solvers on one lattice: time and memory of multigrid and other methods, and of a step on tetrahedra
    Solvers(solvers::Arguments),
    /// A clamped beam swings under its weight: 60 frames of implicit Euler
    Beam(beam::Arguments),
    /// The beam with five thousand to a million tetrahedra: growth of time and memory
    Scaling(scaling::Arguments),
    /// Iteration counts on irregular meshes (torus, figure, fusiform muscle, graded cells), relative to the beam
    Meshes(meshes::Arguments),
    /// Tetrahedra inside of trial shapes: angles, failures, distances from the surface, speed
    Mesher(mesher::Arguments),
    /// Active muscle relative to neo-Hookean flesh: seconds per Newton iteration on a beam of fifty thousand tetrahedra
    Muscle(muscle::Arguments),
    /// Gradients of a muscle of fifty thousand tetrahedra by 32 activations, relative to a Newton step
    Gradient(gradient::Arguments),
    /// A scrambled figure of 384,000 tetrahedra recovers its rest shape
    Scramble(scramble::Arguments),
    /// Reading and writing of meshes, compared with meshio if installed, and the size of recordings
    Io(io::Arguments),
    /// Contact of two mats with 50,000 surface triangles: speed of detection and solution
    Contact(contact::Arguments),
    /// Soft bodies fall into a box or on a floor; counts intersections
    Pile(pile::Arguments),
    /// A moving character in self-contact: seconds per frame and quality of the result
    Skin(skin::Arguments),
    /// Difficult characters through `sinew skin`: how many end with files and without new crossings
    Difficult(difficult::Arguments),
    /// The arm phantom from noisy labels without tendons to a model: time, memory, and errors against the truth
    Anatomy(anatomy::Arguments),
    /// Surfaces that covers carry against those of fine meshes: biceps and triceps of the arm phantom at half activation
    Embedding(embedding::Arguments),
    /// Overhead of calls from Python: simulation steps, and stresses of a million deformation gradients
    Python(python::Arguments),
    /// What a new user waits for: the first picture, files beside the bare run, and the end after Ctrl-C
    FirstHour(first_hour::Arguments),
    /// Distance fields of labelled images: seconds, error, order and memory
    Distance(distance::Arguments),
    /// Random extreme scenes: how many of them converge
    Abuse(abuse::Arguments),
}

/// Runs the command.
pub fn execute(arguments: &Arguments, console: Console) -> Result<Status, Failure> {
    let (result, json) = match &arguments.benchmark {
        Benchmark::Svd3(arguments) => (svd3::measure(arguments), arguments.json),
        Benchmark::Solvers(arguments) => (solvers::measure(arguments)?, arguments.json),
        Benchmark::Vcycle(arguments) => (vcycle::measure(arguments)?, arguments.json),
        Benchmark::Beam(arguments) => (beam::measure(arguments, console)?, arguments.json),
        Benchmark::Scaling(arguments) => (scaling::measure(arguments, console)?, arguments.json),
        Benchmark::Meshes(arguments) => (meshes::measure(arguments, console)?, arguments.json),
        Benchmark::Mesher(arguments) => (mesher::measure(arguments, console)?, arguments.json),
        Benchmark::Muscle(arguments) => (muscle::measure(arguments, console)?, arguments.json),
        Benchmark::Gradient(arguments) => (gradient::measure(arguments, console)?, arguments.json),
        Benchmark::Scramble(arguments) => (scramble::measure(arguments, console)?, arguments.json),
        Benchmark::Contact(arguments) => (contact::measure(arguments, console)?, arguments.json),
        Benchmark::Pile(arguments) => (pile::measure(arguments, console)?, arguments.json),
        Benchmark::Io(arguments) => (io::measure(arguments, console)?, arguments.json),
        Benchmark::Skin(arguments) => (skin::measure(arguments, console)?, arguments.json),
        Benchmark::Difficult(arguments) => (difficult::measure(arguments, console)?, arguments.json),
        Benchmark::Anatomy(arguments) => (anatomy::measure(arguments, console)?, arguments.json),
        Benchmark::Embedding(arguments) => (embedding::measure(arguments, console)?, arguments.json),
        Benchmark::Python(arguments) => (python::measure(arguments, console)?, arguments.json),
        Benchmark::FirstHour(arguments) => (first_hour::measure(arguments, console)?, arguments.json),
        Benchmark::Distance(arguments) => (distance::measure(arguments, console)?, arguments.json),
        Benchmark::Abuse(arguments) => (abuse::measure(arguments, console)?, arguments.json),
    };
    console::print(&if json { format!("{result}\n") } else { readable(&result) })?;
    Ok(Status::Done)
}

/// The result as text.
fn readable(result: &Value) -> String {
    let mut rows = Vec::new();
    add_rows(result, "", &mut rows);
    table::layout(&rows, &[])
}

/// Adds a row for each value; nested names are joined.
fn add_rows(result: &Value, prefix: &str, rows: &mut Vec<Vec<String>>) {
    for (key, value) in result.as_object().into_iter().flatten() {
        let name = format!("{prefix}{}", key.replace('_', " "));
        let text = match value {
            Value::Object(_) => {
                add_rows(value, &format!("{name} "), rows);
                continue;
            }
            Value::Number(number) => number.as_f64().map_or(number.to_string(), sinew_scene::format_number),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        rows.push(vec![name, text]);
    }
}

/// Median of some measurements; robust against single slow runs.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]),
    }
}

/// (max − min) / median: the relative spread of a measurement.
fn spread(values: &[f64]) -> f64 {
    let (least, most) = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &v| (a.min(v), b.max(v)));
    (most - least) / median(values)
}

#[cfg(test)]
mod tests {
    use super::{median, spread};

    #[test]
    fn median_and_spread_of_small_samples() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(spread(&[3.0, 1.0, 2.0]), 1.0);
    }
}
