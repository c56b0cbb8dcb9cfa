//! `sinew bench skin`: film-size characters in motion and self-contact (MCA X1 to X3).

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sinew_fem::model::Model;
use sinew_fem::regions::{Region, cell_states, regions_of};
use sinew_fem::state::State;
use sinew_fem::surface_check::SurfaceCheck;
use sinew_fem::{Simulation, StepError};
use sinew_io::gltf::write_rig;
use sinew_math::Vec3;
use sinew_rig::characters::{Character, CharacterParams, bone_hints, generate};
use sinew_rig::{Flesh, FleshParams, Rig};
use sinew_run::compile::compile;
use sinew_scene::{Override, Scene};

use super::super::console::{Console, message};
use super::super::skin::GAP_SHARE;
use super::{Failure, skin_files, spread};

const FRAME_RATE: f64 = 24.0;
/// Frames from rest to the start of the motion, at rest and not timed.
const PREROLL: usize = 2;
const POISSON: f64 = 0.45;
/// Tolerance of the solver: the largest force on a node, relative to the force of moved bones.
const TOLERANCE: f64 = 1e-3;
/// Edge of the skin triangles relative to the cells of the paper. Coarser cells have the same skin.
const SKIN_EDGE: f64 = 1.05;
/// Minimum number of contacts of a frame in the contact phase.
const MANY_CONTACTS: usize = 500;
/// A pose is held where no joint turns by more in a frame \[degrees\].
const HELD_DEGREES: f64 = 1e-3;

/// A moving character in self-contact: seconds per frame and quality of the result
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Character in motion: the arms of a torso press on its body, a hand closes, an arm folds, and then all of it swings.
    /// Deep contact, into a pose that is held: a whole fist, a squat, crossed arms
    #[arg(long, value_name = "NAME", default_value = "arm", value_parser = SCENES.map(|scene| scene.name))]
    scene: String,

    /// Approximate number of lattice cells [default: as in the paper]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    cells: Option<u32>,

    /// Number of frames
    #[arg(long, value_name = "N", default_value_t = 48, value_parser = clap::value_parser!(u16).range(2..=240))]
    frames: u16,

    /// Number of runs; reports the best. Checks the quality in the first run only: all runs have the same result
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    repeats: u16,

    /// Also runs `sinew skin` with its defaults: the share of files and pictures in the time, and the time to the first frame
    #[arg(long)]
    files: bool,

    /// Prints the result as one JSON object on stdout
    #[arg(long)]
    pub json: bool,

    /// Replaces a value of the scene
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
}

/// A character with a motion.
#[derive(Clone, Copy)]
struct Setting {
    name: &'static str,
    character: Character,
    animation: &'static str,
    /// Joints with rigid attachment.
    hard: &'static [&'static str],
    /// Number of cells in the paper.
    cells: usize,
    /// Whether bones leave the flesh little room, so that the bounds of deep contact apply.
    is_deep: bool,
}

const TRUNK: &[&str] = &["hips", "spine", "chest", "neck", "head"];
const PALM: &[&str] = &["forearm", "palm"];

const SCENES: [Setting; 6] = {
    use Character::{Arm, Hand, Leg, Torso};
    [
        Setting { name: "torso", character: Torso, animation: "rock", hard: TRUNK, cells: 106_567, is_deep: false },
        Setting { name: "hand", character: Hand, animation: "knock", hard: PALM, cells: 117_607, is_deep: false },
        Setting {
            name: "arm",
            character: Arm,
            animation: "punch",
            hard: &["clavicle", "shoulder"],
            cells: 30_904,
            is_deep: false,
        },
        Setting { name: "fist", character: Hand, animation: "fist", hard: PALM, cells: 117_607, is_deep: true },
        Setting { name: "squat", character: Leg, animation: "squat", hard: &["pelvis"], cells: 117_607, is_deep: true },
        Setting {
            name: "crossed-arms",
            character: Torso,
            animation: "cross",
            hard: &["hips", "spine", "chest"],
            cells: 106_567,
            is_deep: true,
        },
    ]
};

/// Bounds of deep contact on two quiet cores: seconds per frame in the mean and at most, change of the volume of a
/// region, and Newton iterations of a frame in which the pose is held.
const DEEP_SECONDS: [f64; 2] = [1.0, 4.0];
const DEEP_VOLUME: f64 = 0.025;
const DEEP_HELD: f64 = 0.1;
/// Share of their stiffness that springs keep in deep contact: twice that of a cell is left of thirty times.
const DEEP_SHARE: f64 = 2.0 / 30.0;

fn setting(name: &str) -> Setting {
    SCENES.into_iter().find(|scene| scene.name == name).unwrap_or(SCENES[2])
}

/// Sums over the frames.
#[derive(Default)]
struct Measured {
    seconds: Vec<f64>,
    newton: Vec<usize>,
    local_solves: usize,
    linear: usize,
    contacts: Vec<usize>,
    relative_residual: f64,
    contact: Duration,
    assembly: Duration,
    linear_solve: Duration,
    gradient: Duration,
    embedding: Duration,
}

/// A character in motion, ready to simulate.
struct Prepared {
    rig: Rig,
    simulation: Simulation,
    /// Edge of a lattice cell \[m\].
    cell: f64,
}

impl Prepared {
    /// With about `cells` cells, or as many as in the paper.
    fn new(setting: Setting, cells: Option<u32>, frames: usize, overrides: &[Override]) -> Result<Self, Failure> {
        let Setting { character, animation, cells: usual_cells, .. } = setting;
        let problem = |error: &dyn std::fmt::Display| Failure::Other(format!("{}: {error}", setting.name));
        let seconds = frames as f64 / FRAME_RATE;
        let params = |edge: f64| CharacterParams {
            edge,
            frame_rate: FRAME_RATE,
            seconds,
            motion: Some(animation),
            ..CharacterParams::of(character)
        };
        let coarse = generate(&params(character.usual_edge())).map_err(|error| problem(&error))?;
        let flesh = Flesh::new(&coarse, &FleshParams::default()).map_err(|error| problem(&error))?;
        // Cut cells count fully: there are more cells than the volume suggests.
        let cell_of = |wanted: f64| cell_for(wanted, flesh.surface.volume().abs(), flesh.surface.area());
        let usual = cell_of(usual_cells as f64);
        let cell = cells.map_or(usual, |cells| cell_of(f64::from(cells)));
        let rig =
            generate(&params(SKIN_EDGE * cell.min(usual))).or(Ok(coarse)).map_err(|error: Failure| problem(&error))?;
        let folder = std::env::temp_dir().join(format!("sinew-bench-skin-{}", std::process::id()));
        let written = write_rig(&rig, true).map_err(|error| problem(&error))?;
        let failed = |source| Failure::Write { what: folder.display().to_string(), source };
        std::fs::create_dir_all(&folder).map_err(failed)?;
        std::fs::write(folder.join("character.glb"), written).map_err(failed)?;
        let gap = GAP_SHARE * cell.min(usual);
        let text = scene_text(&rig, setting, [cell, gap], frames);
        let simulation = Scene::from_text(&text, "skin.toml", &folder, overrides)
            .map_err(Failure::from)
            .and_then(|scene| Ok(compile(&scene)?));
        std::fs::remove_dir_all(&folder).map_err(failed)?;
        Ok(Self { rig, simulation: simulation?, cell })
    }
}

/// Number of cells of a character with about `cells` cells, and mean time of its frames \[s\].
pub(super) fn seconds_per_frame(
    character: Character,
    cells: u32,
    frames: usize,
    console: Console,
) -> Result<(usize, f64), Failure> {
    let Prepared { mut simulation, .. } = Prepared::new(setting(character.name()), Some(cells), frames, &[])?;
    let measured = run(&mut simulation, frames, console, |_, _| {})
        .map_err(|error| Failure::Other(format!("{}: {error}", character.name())))?;
    Ok((simulation.model().lattices[0].cell_count(), measured.mean()))
}

/// Runs the benchmark.
pub fn measure(arguments: &Arguments, console: Console) -> Result<Value, Failure> {
    let setting = setting(&arguments.scene);
    let Setting { animation, hard, .. } = setting;
    let problem = |error: &dyn std::fmt::Display| Failure::Other(format!("{}: {error}", setting.name));
    let frames = usize::from(arguments.frames);
    let overrides: Vec<Override> = arguments.overrides.iter().cloned().map(Override::from).collect();
    let Prepared { rig, mut simulation, cell } = Prepared::new(setting, arguments.cells, frames, &overrides)?;
    let regions = regions_of(&simulation.model().bodies[0].mesh, |_| true);
    let start = simulation.state().clone();
    let mut seconds_per_frame = Vec::new();
    let mut best: Option<Measured> = None;
    let mut seen = Seen::default();
    let mut first_end = Vec::new();
    for number in 1..=arguments.repeats {
        simulation.set_state(&start);
        let is_first = number == 1;
        let look = |model: &Model, state: &State| {
            if is_first {
                seen.look(model, state, &regions, cell);
            }
        };
        let run = run(&mut simulation, frames, console, look).map_err(|error| problem(&error))?;
        console.note(&format!("run {number} of {}: {:.4} s per frame", arguments.repeats, run.mean()));
        let end = &simulation.state().positions;
        if is_first {
            first_end.clone_from(end);
        } else if *end != first_end {
            return Err(problem(&"a repeat has another result than the first run"));
        }
        seconds_per_frame.push(run.mean());
        if best.as_ref().is_none_or(|best| run.mean() < best.mean()) {
            best = Some(run);
        }
    }
    let Some(best) = best else { return Err(Failure::Other("no run was completed".into())) };
    let turns = turns(&rig, animation, frames);
    let mut result = best.to_json(&seen, simulation.model(), setting.name, cell, &turns, hard, &regions);
    if setting.is_deep {
        let bounds = [
            ("seconds_per_frame", DEEP_SECONDS[0]),
            ("seconds_per_frame_worst", DEEP_SECONDS[1]),
            ("volume_change", DEEP_VOLUME),
            ("crossing_triangles", 0.0),
            ("newton_per_held_frame", DEEP_HELD),
        ];
        let is_missed = |(name, bound): &(&str, f64)| result[*name].as_f64().is_some_and(|value| value > *bound);
        let missed: Vec<&str> = bounds.iter().filter(|bound| is_missed(bound)).map(|(name, _)| *name).collect();
        result["missed_bounds"] = missed.into();
        result["bounds"] = bounds.iter().map(|(name, bound)| ((*name).to_string(), Value::from(*bound))).collect();
    }
    result["repeats"] = arguments.repeats.into();
    result["seconds_per_frame_spread"] = spread(&seconds_per_frame).into();
    result["seconds_per_frame_all"] = seconds_per_frame.into();
    if arguments.files {
        result["files"] = skin_files::measure(setting.character, arguments.repeats, console)?;
    }
    Ok(result)
}

/// Steps and times the frames, and checks each.
fn run(
    simulation: &mut Simulation,
    frames: usize,
    console: Console,
    mut look: impl FnMut(&Model, &State),
) -> Result<Measured, StepError> {
    let mut measured = Measured::default();
    let mut skin = Vec::new();
    for frame in 0..PREROLL + frames {
        let start = Instant::now();
        let report = simulation.step_frame()?;
        let embedding_start = Instant::now();
        let (model, state) = (simulation.model(), simulation.state());
        if let Some(embedding) = &model.bodies[0].surface.embedding {
            skin.resize(embedding.len(), Vec3::zero());
            embedding.positions(&state.positions[model.bodies[0].points.clone()], &mut skin);
        }
        measured.embedding += embedding_start.elapsed();
        let taken = start.elapsed().as_secs_f64();
        if frame < PREROLL {
            continue;
        }
        if console.details {
            message(&format!(
                "frame {} of {frames}: {taken:.3} s, {} Newton, {} local solves, {} linear, {} contacts, residual {:.1e}",
                frame + 1 - PREROLL,
                report.newton_iterations,
                report.local_solves,
                report.linear_iterations,
                report.contacts,
                report.largest_residual
            ));
        }
        measured.seconds.push(taken);
        measured.newton.push(report.newton_iterations);
        measured.local_solves += report.local_solves;
        measured.linear += report.linear_iterations;
        measured.contacts.push(report.contacts);
        measured.relative_residual = measured.relative_residual.max(report.largest_residual);
        measured.contact += report.timing.contact;
        measured.assembly += report.timing.assembly;
        measured.linear_solve += report.timing.linear_solve;
        measured.gradient += report.timing.gradient;
        look(model, state);
    }
    Ok(measured)
}

/// Quality of the frames.
#[derive(Default)]
struct Seen {
    penetration: f64,
    crossings: usize,
    inverted: [usize; 2],
    volumes: Vec<(String, f64)>,
}

impl Seen {
    /// Checks the state of a frame, independently of the solver.
    fn look(&mut self, model: &Model, state: &State, regions: &[Region], cell: f64) {
        let check = SurfaceCheck::of(model, state);
        self.penetration = self.penetration.max(check.penetration / cell);
        self.crossings = self.crossings.max(check.crossings);
        let body = &model.bodies[0];
        let cells = cell_states(&body.mesh, &state.positions[body.points.clone()]);
        let inverted = cells.iter().filter(|cell| cell.is_inverted).count();
        let folded = cells.iter().filter(|cell| cell.is_folded).count();
        self.inverted = [self.inverted[0].max(inverted), self.inverted[1].max(folded)];
        let changes = regions.iter().map(|region| (region.name.clone(), region.state(&cells).volume_change));
        if self.volumes.is_empty() {
            self.volumes = changes.collect();
        } else {
            for (worst, (_, change)) in self.volumes.iter_mut().zip(changes) {
                if change.abs() > worst.1.abs() {
                    worst.1 = change;
                }
            }
        }
    }
}

impl Measured {
    fn mean(&self) -> f64 {
        self.seconds.iter().sum::<f64>() / self.seconds.len().max(1) as f64
    }

    fn to_json(
        &self,
        seen: &Seen,
        model: &Model,
        name: &str,
        cell: f64,
        turns: &[f64],
        hard: &[&str],
        regions: &[Region],
    ) -> Value {
        let total: f64 = self.seconds.iter().sum();
        let newton: usize = self.newton.iter().sum();
        let in_contact: Vec<usize> = (0..self.contacts.len()).filter(|&k| self.contacts[k] >= MANY_CONTACTS).collect();
        let contact_seconds: f64 = in_contact.iter().map(|&k| self.seconds[k]).sum();
        // The first frame of a pose that is held still has to arrive.
        let held: Vec<usize> = (1..self.newton.len()).filter(|&k| turns[k - 1].max(turns[k]) < HELD_DEGREES).collect();
        let worst = seen.volumes.iter().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
        let volume = |(name, change): &(String, f64)| (name.clone(), Value::from(*change));
        let share = |part: Duration| part.as_secs_f64() / total;
        json!({
            "scene": name,
            "cells": model.lattices[0].cell_count(),
            "cell_millimeters": 1e3 * cell,
            "skin_vertices": model.bodies[0].surface.vertex_count(),
            "poisson": POISSON,
            "tolerance": TOLERANCE,
            "hard_bones": hard.join(" "),
            "soft_bones": "all others",
            "inversion_barrier": true,
            "frames": self.seconds.len(),
            "least_degrees_per_frame": turns.iter().copied().fold(f64::INFINITY, f64::min),
            "held_frames": held.len(),
            "newton_per_held_frame": mean_of(&self.newton.iter().map(|&count| count as f64).collect::<Vec<_>>(), &held),
            "seconds_per_held_frame": mean_of(&self.seconds, &held),
            "contact_frames": in_contact.len(),
            "most_contacts": self.contacts.iter().max(),
            "seconds_per_frame": self.mean(),
            "seconds_per_frame_worst": self.seconds.iter().copied().fold(0.0, f64::max),
            "seconds_per_frame_in_contact": contact_seconds / in_contact.len().max(1) as f64,
            "seconds_per_newton": total / newton.max(1) as f64,
            "newton_per_frame": newton as f64 / self.seconds.len() as f64,
            "newton_per_frame_worst": self.newton.iter().max(),
            "local_solves_per_frame": self.local_solves as f64 / self.seconds.len() as f64,
            "linear_per_newton": self.linear as f64 / newton.max(1) as f64,
            "relative_residual": self.relative_residual,
            "max_penetration_cells": seen.penetration,
            "crossing_triangles": seen.crossings,
            "inverted_cells": seen.inverted[0],
            "inverted_cells_at_gauss_points": seen.inverted[1],
            "volume_change": worst.map_or(0.0, |(_, change)| change.abs()),
            "volume_change_region": worst.map_or("", |(name, _)| name),
            "volume_changes": seen.volumes.iter().map(volume).collect::<serde_json::Map<_, _>>(),
            "regions": regions.len(),
            "share_of_time": {
                "contact": share(self.contact),
                "assembly": share(self.assembly),
                "linear_solve": share(self.linear_solve),
                "gradient": share(self.gradient),
                "embedding": share(self.embedding),
            },
            "threads": rayon::current_num_threads(),
            "isa": super::isa_name(),
        })
    }
}

/// Cell edge for about `wanted` cells: the inside of the body and half a layer on its surface.
fn cell_for(wanted: f64, volume: f64, area: f64) -> f64 {
    let mut cell = (volume / wanted).cbrt();
    for _ in 0..50 {
        cell = ((volume + 0.5 * area * cell) / wanted).cbrt();
    }
    cell
}

fn scene_text(
    rig: &Rig,
    Setting { character, animation, hard, is_deep, .. }: Setting,
    [cell, gap]: [f64; 2],
    frames: usize,
) -> String {
    let preroll = PREROLL as f64 / FRAME_RATE;
    let mut text = format!(
        "title = \"{name}\"\nduration = \"{duration} s\"\nframe_rate = {FRAME_RATE}\nup = \"y\"\ngravity = 0\n\n\
         [solver]\ntype = \"quasistatic\"\ntolerance = {TOLERANCE}\nnorm = \"largest\"\n\n[contact]\nmode = \"barrier\"\ngap = \"{gap} m\"\n\n\
         [[body]]\nname = \"flesh\"\nmesh = {{ from = \"fill\", surface = \"character.glb\", element = \"lattice\", cell = \"{cell} m\" }}\n\
         material = {{ type = \"corotated\", young = \"20 kPa\", poisson = {POISSON} }}\n\
         [body.rig]\nanimation = \"{animation}\"\npreroll = \"{preroll} s\"\nattachment_stiffness = 30\ninversion_barrier = true\n",
        name = character.name(),
        duration = preroll + frames as f64 / FRAME_RATE,
    );
    if is_deep {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "give_way = {DEEP_SHARE}");
    }
    for bone in bone_hints(character) {
        let name = &rig.nodes[bone.joint].name;
        let hold = if hard.contains(&name.as_str()) { "hard" } else { "soft" };
        let [a, b] = [bone.from, bone.to].map(|x| format!("[{}, {}, {}]", x.x, x.y, x.z));
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "[[body.rig.bones]]\njoint = \"{name}\"\nends = [{a}, {b}]\nradius = {}\nhold = \"{hold}\"\n",
            bone.radius
        );
    }
    text
}

/// Mean of some values, or 0 without any.
fn mean_of(values: &[f64], chosen: &[usize]) -> f64 {
    chosen.iter().map(|&k| values[k]).sum::<f64>() / chosen.len().max(1) as f64 + 0.0
}

/// Largest rotation of a joint in each frame \[degrees\].
fn turns(rig: &Rig, animation: &str, frames: usize) -> Vec<f64> {
    let Ok(animation) = rig.animation(Some(animation)) else { return vec![0.0; frames] };
    let poses: Vec<_> = (0..=frames).map(|frame| rig.pose(animation, frame as f64 / FRAME_RATE)).collect();
    let local = |pose: &[sinew_rig::Affine], node: usize| match rig.nodes[node].parent {
        Some(parent) => pose[parent].linear.transpose() * pose[node].linear,
        None => pose[node].linear,
    };
    let turn = |pair: &[Vec<sinew_rig::Affine>]| {
        let angle = |node: usize| {
            let between = local(&pair[1], node) * local(&pair[0], node).transpose();
            (0.5 * (between.trace() - 1.0)).clamp(-1.0, 1.0).acos().to_degrees()
        };
        (0..rig.nodes.len()).map(angle).fold(0.0, f64::max)
    };
    poses.windows(2).map(turn).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_cover_inside_and_half_a_layer() {
        let cell = cell_for(1000.0, 1.0, 6.0);
        assert!(((1.0 + 3.0 * cell) / cell.powi(3) - 1000.0).abs() < 1e-6);
    }
}
