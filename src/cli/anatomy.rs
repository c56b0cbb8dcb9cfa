//! `sinew anatomy`: from a recipe to a model.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use sinew_run::anatomy::{BuildOptions, Model, build, check_folder};
use sinew_scene::recipe::model::ModelTissue;
use sinew_scene::recipe::tissue::Kind;
use sinew_scene::{Recipe, format_number};

use super::console::{self, Console};
use super::progress::duration;
use super::{Failure, Status, table};

/// Makes bones, muscles, attachments, fibers and meshes of labeled images
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Builds a model from a recipe; what has not changed since the last build is not made again
    Build(BuildArguments),
}

#[derive(Debug, clap::Args)]
struct BuildArguments {
    /// Recipe (TOML); `sinew new recipe.toml --image FILE` drafts one
    #[arg(value_name = "RECIPE")]
    recipe: PathBuf,

    /// Folder of the model
    #[arg(short, long, value_name = "FOLDER", default_value = "model")]
    output: PathBuf,

    /// Only this tissue, and what it needs; may be repeated
    #[arg(long, value_name = "TISSUE")]
    only: Vec<String>,
}

/// Runs the command.
pub fn execute(arguments: &Arguments, console: Console) -> Result<Status, Failure> {
    match &arguments.command {
        Command::Build(arguments) => build_model(arguments, console),
    }
}

fn build_model(arguments: &BuildArguments, console: Console) -> Result<Status, Failure> {
    let recipe = Recipe::load(&arguments.recipe)?;
    let known: Vec<&str> = recipe.tissue.iter().map(|tissue| tissue.name.as_str()).collect();
    let unknown: Vec<String> = (arguments.only.iter().filter(|name| !known.contains(&name.as_str())))
        .map(|name| {
            let hint = sinew_scene::suggest::hint(name, known.iter().copied(), "tissues").unwrap_or_default();
            format!("the recipe has no tissue `{name}`\nhint: {hint}")
        })
        .collect();
    if !unknown.is_empty() {
        return Err(Failure::Other(unknown.join("\n")));
    }
    check_folder(&recipe, &arguments.output).map_err(|error| Failure::Other(error.to_string()))?;
    let start = Instant::now();
    let line = StageLine::new(console);
    let show = |done: usize, all: usize, name: &str| line.show(done, all, name);
    let options = BuildOptions {
        folder: Some(&arguments.output),
        only: (!arguments.only.is_empty()).then(|| arguments.only.iter().cloned().collect()),
        progress: Some(&show),
        ..BuildOptions::default()
    };
    let built = build(&recipe, &options);
    line.clear();
    let model = built?;
    console::print(&summary(&model))?;
    model.notes.iter().for_each(|note| console.note(&format!("note: {note}")));
    let made = model.stages.len();
    let what = if made == 0 { "nothing has changed".to_string() } else { format!("{made} stages ran") };
    console.note(&format!("{}: {what}, {}", arguments.output.display(), duration(start.elapsed())));
    for stage in model.stages.iter().filter(|_| console.details) {
        console.note(&format!("  {:<40} {}", stage.name, duration(stage.time)));
    }
    if model.problems.is_empty() {
        return Ok(Status::Done);
    }
    console::message(&recipe.source.error(model.problems.clone()).to_string());
    let (missing, all) = (model.problems.len(), model.file.tissue.len());
    console.note(&format!("{missing} of {all} tissues could not be made; the model has the others"));
    Err(Failure::Reported)
}

/// A line for each tissue.
fn summary(model: &Model) -> String {
    let head = ["tissue", "kind", "volume", "cells", "angles", "attached to"].map(String::from).to_vec();
    let rows = model.file.tissue.iter().map(row);
    table::layout(&std::iter::once(head).chain(rows).collect::<Vec<_>>(), &[])
}

fn row(tissue: &ModelTissue) -> Vec<String> {
    let milliliters = format!("{:.1} mL", tissue.volume * 1e6);
    let (cells, angles) = match (tissue.kind, &tissue.problem) {
        (_, Some(_)) => ("missing".to_string(), String::new()),
        (Kind::Bone, _) => (String::new(), String::new()),
        _ => (
            format_number(tissue.cells as f64),
            format!("{:.0}–{:.0}°", tissue.min_dihedral.to_degrees(), tissue.max_dihedral.to_degrees()),
        ),
    };
    let attached: Vec<String> = tissue.attach.iter().map(|at| format!("{} ({})", at.bone, at.nodes)).collect();
    vec![tissue.name.clone(), tissue.kind.word().to_string(), milliliters, cells, angles, attached.join(", ")]
}

/// One line that is redrawn on a terminal; elsewhere a line every ten seconds.
struct StageLine {
    console: Console,
    start: Instant,
    shown: Mutex<Option<Instant>>,
}

impl StageLine {
    fn new(console: Console) -> Self {
        Self { console, start: Instant::now(), shown: Mutex::default() }
    }

    fn show(&self, done: usize, all: usize, name: &str) {
        if !self.console.notes {
            return;
        }
        let pause = if self.console.terminal { Duration::from_millis(100) } else { Duration::from_secs(10) };
        let Ok(mut shown) = self.shown.lock() else { return };
        let last = shown.unwrap_or(self.start);
        if last.elapsed() < pause {
            return;
        }
        *shown = Some(Instant::now());
        let text = format!("{done} of {all} stages, {}, last: {name}", duration(self.start.elapsed()));
        match self.console.terminal {
            true => drop(write!(std::io::stderr().lock(), "\r\x1b[2K{text}")),
            false => console::message(&text),
        }
    }

    fn clear(&self) {
        if self.console.terminal && self.console.notes {
            let _ = write!(std::io::stderr().lock(), "\r\x1b[2K");
        }
    }
}
