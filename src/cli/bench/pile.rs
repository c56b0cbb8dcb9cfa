//! `sinew bench pile`: soft bodies fall into a box, or in small groups on a floor; counts intersections.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Instant;

use serde_json::{Value, json};
use sinew_fem::surface_check::SurfaceCheck;
use sinew_math::Vec3;
use sinew_run::compile::compile;
use sinew_scene::Scene;

use super::super::console::Console;
use super::Failure;
use super::abuse::random::Random;

/// Room for one body of the pile \[m\].
const PITCH: f64 = 0.105;
/// Duration of a pile and of a drop \[s\].
const PILE_DURATION: f64 = 1.0;
const DROP_DURATION: f64 = 0.4;

/// Soft bodies fall into a box, or small groups fall on a floor, with friction; counts intersections
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Number of bodies
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=5000))]
    bodies: u32,

    /// Runs this many random drops of one to four bodies instead of the pile
    #[arg(long, value_name = "N")]
    drops: Option<u32>,

    /// Contact mode
    #[arg(long, value_name = "MODE", default_value = "barrier", value_parser = ["barrier", "penalty"])]
    mode: String,

    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Number of frames [default: all]
    #[arg(long, value_name = "N")]
    frames: Option<usize>,

    /// Writes the scenes of failed drops, or the pile, to this folder
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,

    /// Prints the result as one JSON object on stdout
    #[arg(long)]
    pub json: bool,
}

/// Result of a scene.
#[derive(Default)]
struct Outcome {
    frames: usize,
    seconds: f64,
    detection: f64,
    newton: usize,
    crossings: usize,
    penetration: f64,
    triangles: usize,
    most_contacts: usize,
    failure: Option<String>,
}

/// Runs the pile, or the drops.
pub fn measure(arguments: &Arguments, console: Console) -> Result<Value, Failure> {
    if let Some(count) = arguments.drops {
        return drops(arguments, count, console);
    }
    let text = pile_scene(arguments.bodies, &arguments.mode, arguments.seed);
    keep(arguments, "pile.toml", &text)?;
    let outcome = run(&text, arguments.frames, console)?;
    Ok(json!({
        "bodies": arguments.bodies,
        "mode": arguments.mode,
        "seed": arguments.seed,
        "surface_triangles": outcome.triangles,
        "frames": outcome.frames,
        "seconds_per_frame": outcome.seconds / outcome.frames.max(1) as f64,
        "share_of_detection": outcome.detection / outcome.seconds,
        "newton_per_frame": outcome.newton as f64 / outcome.frames.max(1) as f64,
        "crossings": outcome.crossings,
        "penetration": outcome.penetration,
        "most_contacts": outcome.most_contacts,
        "failure": outcome.failure,
        "threads": rayon::current_num_threads(),
    }))
}

fn drops(arguments: &Arguments, count: u32, console: Console) -> Result<Value, Failure> {
    let (mut failures, mut crossings, mut frames, mut seconds) = (Vec::new(), 0, 0, 0.0);
    // Print one line per drop.
    let quiet = Console { details: false, ..console };
    for k in 0..count {
        let seed = arguments.seed + u64::from(k);
        let text = drop_scene(&arguments.mode, seed);
        let outcome = run(&text, arguments.frames, quiet)?;
        crossings += outcome.crossings;
        frames += outcome.frames;
        seconds += outcome.seconds;
        if console.details {
            console.note(&format!("drop {} of {count}: seed {seed}, {:.2} s", k + 1, outcome.seconds));
        }
        if outcome.crossings > 0 || outcome.failure.is_some() {
            let cause = outcome.failure.unwrap_or_else(|| format!("{} crossings", outcome.crossings));
            console.note(&format!("seed {seed}: {cause}"));
            keep(arguments, &format!("drop-{seed}.toml"), &text)?;
            failures.push(json!({ "seed": seed, "cause": cause }));
        }
    }
    Ok(json!({
        "drops": count,
        "mode": arguments.mode,
        "first_seed": arguments.seed,
        "frames": frames,
        "seconds": seconds,
        "crossings": crossings,
        "failures": failures,
        "threads": rayon::current_num_threads(),
    }))
}

/// Writes a scene that checks its surfaces in every frame, like this benchmark.
fn keep(arguments: &Arguments, name: &str, text: &str) -> Result<(), Failure> {
    let Some(folder) = &arguments.keep else { return Ok(()) };
    let text = text.replacen("[contact]\n", "[contact]\ncheck = true\n", 1);
    let text = text + "\n[expect]\n\"check.crossings\" = { value = 0, over = \"all\" }\n";
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(folder.join(name), text));
    written.map_err(|source| Failure::Write { what: folder.join(name).display().to_string(), source })
}

/// Runs a scene and checks the surfaces in every frame.
fn run(text: &str, frames: Option<usize>, console: Console) -> Result<Outcome, Failure> {
    let scene = Scene::from_text(text, "pile.toml", "", &[])?;
    let mut simulation = compile(&scene)?;
    let mut outcome = Outcome { triangles: simulation.model().surfaces.triangles.len(), ..Outcome::default() };
    for _ in 0..frames.unwrap_or(usize::MAX).min(scene.frame_count()) {
        let begin = Instant::now();
        match simulation.step_frame() {
            Ok(report) => {
                outcome.seconds += begin.elapsed().as_secs_f64();
                outcome.detection += report.timing.contact.as_secs_f64();
                outcome.newton += report.newton_iterations;
                outcome.frames += 1;
                outcome.most_contacts = outcome.most_contacts.max(report.contacts);
            }
            Err(error) => {
                outcome.failure = Some(error.to_string());
                return Ok(outcome);
            }
        }
        let check = SurfaceCheck::of(simulation.model(), simulation.state());
        outcome.crossings += check.crossings;
        outcome.penetration = outcome.penetration.max(check.penetration);
        if console.details {
            let (frame, crossings, newton, seconds) =
                (outcome.frames, outcome.crossings, outcome.newton, outcome.seconds);
            console.note(&format!(
                "frame {frame}: {crossings} crossings, {newton} Newton iterations, {seconds:.1} s so far"
            ));
        }
    }
    Ok(outcome)
}

/// A random vector in a cube of this half edge.
fn vector(random: &mut Random, half: f64) -> Vec3 {
    Vec3::from(std::array::from_fn(|_| random.between(-half, half)))
}

fn body(text: &mut String, name: &str, mesh: &str, position: Vec3, young: f64, velocity: Vec3, random: &mut Random) {
    let axis = vector(random, 1.0) + Vec3::unit(2) * 1e-3;
    let angle = random.between(0.0, 3.0);
    let _ = write!(
        text,
        "\n[[body]]\nname = \"{name}\"\nmesh = {mesh}\nrotation = {{ axis = [{:.4}, {:.4}, {:.4}], angle = {angle:.4} }}\n\
         position = [{:.5}, {:.5}, {:.5}]\nvelocity = [{:.3}, {:.3}, {:.3}]\n\
         material = {{ type = \"stable_neo_hookean\", young = {young:.1}, poisson = 0.4 }}\n",
        axis.x, axis.y, axis.z, position.x, position.y, position.z, velocity.x, velocity.y, velocity.z,
    );
}

fn wall(text: &mut String, name: &str, position: [f64; 3], normal: [i32; 3]) {
    let _ = write!(
        text,
        "\n[[collider]]\nname = \"{name}\"\nshape = {{ type = \"plane\", normal = {normal:?} }}\nposition = {position:?}\nfriction = 0.4\n"
    );
}

/// Balls and rings of 200 to 350 triangles each, in layers above a box.
fn pile_scene(count: u32, mode: &str, seed: u64) -> String {
    let mut random = Random::from_state(seed);
    let side = (f64::from(count) / 4.0).sqrt().round().max(2.0) as u32;
    let mut text = format!(
        "title = \"{count} soft bodies fall into a box\"\nduration = {PILE_DURATION}\nframe_rate = 60\n\n[solver]\ntolerance = 1e-3\n\n\
         [contact]\nmode = \"{mode}\"\nfriction = 0.3\nself = false\n"
    );
    for k in 0..count {
        let (i, j, layer) = (k % side, k / side % side, k / (side * side));
        let middle = |n: u32| (f64::from(n) + 0.5) * PITCH;
        let position = Vec3::new(middle(i), middle(j), 0.06 + 0.11 * f64::from(layer));
        let jitter = vector(&mut random, 0.004);
        let mesh = match k % 3 {
            0 => "{ from = \"sphere\", radius = \"4 cm\", cell = \"1.05 cm\" }",
            1 => "{ from = \"torus\", radius = \"3.2 cm\", tube = \"1.4 cm\", cell = \"1.1 cm\" }",
            _ => "{ from = \"torus\", radius = \"3 cm\", tube = \"1.5 cm\", cell = \"1.0 cm\" }",
        };
        let young = random.between(20e3, 80e3);
        body(&mut text, &format!("b{k}"), mesh, position + jitter, young, Vec3::zero(), &mut random);
    }
    let width = f64::from(side) * PITCH;
    wall(&mut text, "floor", [0.0; 3], [0, 0, 1]);
    wall(&mut text, "west", [0.0; 3], [1, 0, 0]);
    wall(&mut text, "east", [width, 0.0, 0.0], [-1, 0, 0]);
    wall(&mut text, "south", [0.0; 3], [0, 1, 0]);
    wall(&mut text, "north", [0.0, width, 0.0], [0, -1, 0]);
    text
}

/// One to four thin and thick bodies, one above the other, at up to 5 m/s.
fn drop_scene(mode: &str, seed: u64) -> String {
    let mut random = Random::from_state(seed.wrapping_mul(0x2545_F491_4F6C_DD1D));
    let friction = random.between(0.0, 0.8);
    let mut text = format!(
        "title = \"Drop {seed}\"\nduration = {DROP_DURATION}\nframe_rate = 60\n\n[solver]\ntolerance = 1e-3\n\n\
         [contact]\nmode = \"{mode}\"\nfriction = {friction:.3}\n"
    );
    let count = 1 + (random.unit() * 4.0) as u32;
    let mut height = 0.0;
    for k in 0..count {
        // Radius of a ball around each body; boxes rotate about a corner.
        let (mesh, reach) = match (random.unit() * 5.0) as u32 {
            0 => ("{ from = \"sphere\", radius = \"4 cm\", cell = \"2.2 cm\" }", 0.045),
            1 => ("{ from = \"torus\", radius = \"4 cm\", tube = \"1 cm\", cell = \"1.3 cm\" }", 0.055),
            2 => ("{ from = \"box\", size = [\"8 cm\", \"8 cm\", \"0.8 cm\"], cells = [6, 6, 1] }", 0.12),
            3 => ("{ from = \"box\", size = [\"10 cm\", \"1 cm\", \"1 cm\"], cells = [8, 1, 1] }", 0.11),
            _ => ("{ from = \"box\", size = [\"5 cm\", \"5 cm\", \"5 cm\"], cells = [3, 3, 3] }", 0.09),
        };
        height += reach + 0.005;
        let position = Vec3::new(random.between(-0.02, 0.02), random.between(-0.02, 0.02), height);
        height += reach;
        let young = 10f64.powf(random.between(4.0, 5.5));
        let velocity = Vec3::new(random.between(-0.5, 0.5), random.between(-0.5, 0.5), random.between(-5.0, 0.0));
        body(&mut text, &format!("b{k}"), mesh, position, young, velocity, &mut random);
    }
    wall(&mut text, "floor", [0.0; 3], [0, 0, 1]);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenes_are_sound_and_repeat() {
        for seed in 1..20 {
            let text = drop_scene("barrier", seed);
            assert_eq!(text, drop_scene("barrier", seed));
            let scene = Scene::from_text(&text, "drop.toml", "", &[]).unwrap();
            assert!(compile(&scene).is_ok(), "{text}");
        }
        assert_ne!(drop_scene("barrier", 1), drop_scene("barrier", 2));
        let pile = Scene::from_text(&pile_scene(9, "penalty", 1), "pile.toml", "", &[]).unwrap();
        let simulation = compile(&pile).unwrap();
        let smallest = simulation.model().surfaces.groups.iter().filter(|group| group.modulus.is_finite());
        assert!(smallest.map(|group| group.triangles.len()).min().unwrap() >= 200);
    }
}
