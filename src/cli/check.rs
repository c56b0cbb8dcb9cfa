//! `sinew check`: whether a scene is valid, its sizes, and what to expect of a run.

use std::path::PathBuf;
use std::time::Duration;

use sinew_fem::Simulation;
use sinew_geometry::Aabb;
use sinew_rig::retarget::{JointMatch, MatchKind};
use sinew_run::overview::{Overview, PartOverview};
use sinew_run::value_names::check_compared;
use sinew_scene::spec::body::Body;
use sinew_scene::spec::mesh::Mesh;
use sinew_scene::value_table::ValueKind;
use sinew_scene::{Character, Dimension, Scene, format_number, format_quantity, format_size};

use super::console::{self, Console};
use super::progress::duration;
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

    /// Also lists the values that can stand in `[expect]`: name, unit, meaning
    #[arg(long)]
    pub values: bool,
}

/// Runs the command. Checks all scenes, also after an error.
pub fn execute(arguments: &Arguments, console: Console) -> Result<Status, Failure> {
    let overrides: Vec<_> = arguments.overrides.iter().cloned().map(Into::into).collect();
    let mut bad = 0;
    for path in &arguments.scenes {
        let checked = Scene::load_with(path, &overrides).and_then(|scene| {
            let overview = Overview::of(&scene)?;
            check_compared(&scene)?;
            Ok((overview, scene))
        });
        match checked {
            Ok((overview, scene)) => {
                let mut text = summary(&path.display().to_string(), &scene, &overview);
                text += &motions(&scene);
                if arguments.values {
                    text += &values(&overview.simulation);
                }
                console::print(&text)?;
                let notes = overview.simulation.notes.iter().cloned().chain(advice(&scene, &overview));
                notes.for_each(|note| console.note(&format!("note: {note}")));
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

/// The parts of the scene, in a few lines each.
fn summary(name: &str, scene: &Scene, overview: &Overview) -> String {
    let simulation = &overview.simulation;
    let length = |value: f64| format_quantity(rounded(value), Dimension::LENGTH);
    let mut text = format!("{name}: ok\n");
    for part in &overview.parts {
        let kind = if part.cells > 0 { "body" } else { "rigid" };
        let size = format_size(part.size, 3);
        text += &format!("  {kind} {}: {size}, {} m³\n", part.name, format_number(rounded(part.volume)));
        if part.cells > 0 {
            text += &format!("    {} cells, {} nodes", part.cells, part.nodes);
            if let Some((thickness, cells)) = part.thinnest {
                text += &format!(", {cells:.1} cells across its thinnest part ({})", length(thickness));
            }
            text.push('\n');
        }
        for region in &part.regions {
            text += &format!("    region {}: {} cells, {} nodes\n", region.name, region.cells, region.nodes);
        }
    }
    for collider in &simulation.model().colliders {
        text += &format!("  collider {}\n", collider.name);
    }
    let expectations: usize = scene.expect.values().map(Vec::len).sum();
    let counted = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    text += &format!(
        "  {} at {}/s, {}, {}\n",
        counted(scene.frame_count(), "frame"),
        format_number(scene.frame_rate),
        counted(simulation.probe_names().len(), "value"),
        counted(expectations, "expectation"),
    );
    text += &format!("  expected: about {:.0} MiB", (overview.memory / (1024.0 * 1024.0)).max(1.0));
    let seconds = format!("{:.0e}", overview.seconds.max(1.0)).parse().unwrap_or(overview.seconds);
    text += &format!(" and roughly {} on this machine\n", duration(Duration::from_secs_f64(seconds)));
    text
}

/// Motions from elsewhere, joint by joint: who follows whom, and why.
fn motions(scene: &Scene) -> String {
    let mut text = String::new();
    for body in &scene.body {
        let (Some(rig), Mesh::Fill(mesh)) = (&body.rig, &body.mesh) else { continue };
        let character = || Character::load(scene.source.folder(), &mesh.surface, rig, mesh.repair);
        let Some((motion, character)) = rig.motion.as_ref().and_then(|motion| Some((motion, character().ok()?))) else {
            continue;
        };
        let Some(report) = &character.motion else { continue };
        text += &format!("  motion {motion} on {}, {} frames\n", body.name, report.frame_count);
        let row = |joint: &JointMatch| {
            let human = joint.role.clone().unwrap_or_default();
            let follows = if joint.sources.is_empty() { "keeps its pose".into() } else { joint.sources.join(" and ") };
            vec![format!("    {}", joint.target), human, follows, joint.kind.map_or("", MatchKind::name).into()]
        };
        let mut rows = vec![["    joint", "of a human", "follows", "by"].map(String::from).to_vec()];
        rows.extend(report.joints.iter().map(row));
        text += &table::layout(&rows, &[]);
    }
    text
}

/// Tissue is stiffer than this: λ + 2μ \[Pa\]. Brain, the softest, has about a kilopascal.
const SOFTEST: f64 = 200.0;

/// A body of fewer cells is a test of a law, or its cells are as large as itself.
const FEW_CELLS: usize = 12;

/// What is allowed but seldom meant: a unit that was forgotten, cells as large as the body, bodies that pass through each
/// other.
fn advice(scene: &Scene, overview: &Overview) -> Vec<String> {
    let model = overview.simulation.model();
    let mut notes = Vec::new();
    for body in &model.bodies {
        let modulus = body.modulus();
        if modulus < SOFTEST {
            let shown = format_quantity(rounded(modulus), Dimension::PRESSURE);
            notes.push(format!(
                "{} is softer than any tissue (λ + 2μ = {shown}): a number without a unit counts in pascals, `\"30 kPa\"` is fat",
                body.name
            ));
        }
    }
    let coarse: Vec<&PartOverview> =
        overview.parts.iter().filter(|part| (1..FEW_CELLS).contains(&part.cells)).collect();
    if let Some(PartOverview { name, cells, .. }) = coarse.first() {
        let others = match coarse.len() {
            1 => String::new(),
            2 => ", and one other body is as coarse".into(),
            count => format!(", and {} others are as coarse", count - 1),
        };
        notes.push(format!(
            "{name} has {cells} cell{}{others}: it hardly bends; a `cell` without a unit counts in meters",
            if *cells == 1 { "" } else { "s" }
        ));
    }
    if scene.contact.is_none() {
        notes.extend(overlap(scene, overview));
    }
    notes
}

/// The first two bodies whose boxes overlap, where no contact keeps them apart and nothing connects them.
fn overlap(scene: &Scene, overview: &Overview) -> Option<String> {
    let model = overview.simulation.model();
    let positions = &model.initial_state().positions;
    let boxes: Vec<Aabb> = model.bodies.iter().map(|body| Aabb::from_points(&positions[body.points.clone()])).collect();
    let is_tied = |a: usize, b: usize| {
        let (a, b) = (&scene.body[a], &scene.body[b]);
        let names = |from: &Body, to: &str| {
            from.bind.iter().any(|bind| bind.to == to) || from.over.iter().any(|layer| layer.body == to)
        };
        names(a, &b.name) || names(b, &a.name)
    };
    let mut pairs = (0..boxes.len()).flat_map(|a| (a + 1..boxes.len()).map(move |b| (a, b)));
    let (a, b) = pairs.find(|&(a, b)| boxes[a].overlaps(&boxes[b]) && !is_tied(a, b))?;
    let [a, b] = [a, b].map(|body| &model.bodies[body].name);
    Some(format!("{a} and {b} start in one place and will pass through each other: there is no `[contact]`"))
}

/// Rounds to three digits.
fn rounded(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

/// All values of a scene: name, unit, meaning.
fn values(simulation: &Simulation) -> String {
    let row = |name: &String| {
        let (unit, meaning) = ValueKind::of(name).map_or(("", ""), |kind| (kind.unit, kind.meaning));
        vec![format!("  {name}"), unit.to_string(), meaning.to_string()]
    };
    table::layout(&simulation.probe_names().iter().map(row).collect::<Vec<_>>(), &[])
}
