//! `sinew bench`: how fast this program is on this machine, in numbers that can be compared.

mod abuse;
mod beam;
mod contact;
mod gradient;
mod io;
mod meshes;
mod muscle;
mod pile;
mod python;
mod scaling;
mod scramble;
mod skin;
mod solvers;
mod svd3;
mod vcycle;

pub use svd3::{isa_name, quick_svd_check};

use serde_json::Value;

use super::talk::{self, Talk};
use super::{Failure, Status, table};

/// Measures the speed of this machine with this program
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    benchmark: Benchmark,
}

#[derive(Debug, clap::Subcommand)]
enum Benchmark {
    /// Singular value decompositions of 3×3 matrices, single precision, one core
    Svd3(svd3::Arguments),
    /// The V-cycle of a lattice: its time beside the bandwidth of memory, and how fast it converges
    Vcycle(vcycle::Arguments),
    /// Linear solvers on one lattice: time and memory of multigrid and of the others, and of a whole step beside tetrahedra
    Solvers(solvers::Arguments),
    /// A clamped beam swings under its weight: 60 frames of implicit Euler
    Beam(beam::Arguments),
    /// The beam from five thousand tetrahedra to a million: time, memory and how they grow
    Scaling(scaling::Arguments),
    /// Iteration counts on irregular meshes (torus, figure, fusiform muscle, graded cells) beside those on the beam
    Meshes(meshes::Arguments),
    /// Active muscle beside neo-Hookean flesh: seconds per Newton iteration on the beam of fifty thousand tetrahedra
    Muscle(muscle::Arguments),
    /// Gradients of a muscle of fifty thousand tetrahedra by 32 activations, beside a Newton step
    Gradient(gradient::Arguments),
    /// A scrambled figure of 384,000 tetrahedra finds its rest shape
    Scramble(scramble::Arguments),
    /// Meshes in and out, beside meshio where Python has it, and the size of recordings
    Io(io::Arguments),
    /// Two mats of 50,000 surface triangles rest on each other: how fast contact is found and solved
    Contact(contact::Arguments),
    /// Soft bodies fall into a box or on a floor, and no surfaces may cross
    Pile(pile::Arguments),
    /// A character in motion and in contact with itself: seconds per frame, and whether what comes out is sound
    Skin(skin::Arguments),
    /// Calls from Python beside the same work in Rust: steps of a simulation, and stresses of a million deformation gradients
    Python(python::Arguments),
    /// Random scenes without mercy: how many of them the solver gets through
    Abuse(abuse::Arguments),
}

/// Runs the command.
pub fn execute(arguments: &Arguments, talk: Talk) -> Result<Status, Failure> {
    let (result, json) = match &arguments.benchmark {
        Benchmark::Svd3(arguments) => (svd3::measure(arguments), arguments.json),
        Benchmark::Solvers(arguments) => (solvers::measure(arguments)?, arguments.json),
        Benchmark::Vcycle(arguments) => (vcycle::measure(arguments)?, arguments.json),
        Benchmark::Beam(arguments) => (beam::measure(arguments, talk)?, arguments.json),
        Benchmark::Scaling(arguments) => (scaling::measure(arguments, talk)?, arguments.json),
        Benchmark::Meshes(arguments) => (meshes::measure(arguments, talk)?, arguments.json),
        Benchmark::Muscle(arguments) => (muscle::measure(arguments, talk)?, arguments.json),
        Benchmark::Gradient(arguments) => (gradient::measure(arguments, talk)?, arguments.json),
        Benchmark::Scramble(arguments) => (scramble::measure(arguments, talk)?, arguments.json),
        Benchmark::Contact(arguments) => (contact::measure(arguments, talk)?, arguments.json),
        Benchmark::Pile(arguments) => (pile::measure(arguments, talk)?, arguments.json),
        Benchmark::Io(arguments) => (io::measure(arguments, talk)?, arguments.json),
        Benchmark::Skin(arguments) => (skin::measure(arguments, talk)?, arguments.json),
        Benchmark::Python(arguments) => (python::measure(arguments, talk)?, arguments.json),
        Benchmark::Abuse(arguments) => (abuse::measure(arguments, talk)?, arguments.json),
    };
    talk::print(&if json { format!("{result}\n") } else { readable(&result) })?;
    Ok(Status::Done)
}

/// The same numbers for people.
fn readable(result: &Value) -> String {
    let mut rows = Vec::new();
    add_rows(result, "", &mut rows);
    table::layout(&rows, &[])
}

/// A row for each number or word; parts of parts carry the names of both.
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

/// Median of some measurements: a single slow run (another program woke up) does not move it.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]),
    }
}

/// (max − min) / median: how much a measurement can be trusted.
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
