//! `sinew lab`: a muscle of a scene in a virtual physiology laboratory.

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use sinew_fem::Interrupt;
use sinew_run::lab::{LabOutcome, examine};
use sinew_run::manifest::{Kind, MANIFEST, Manifest, Origin, Status as Written};
use sinew_scene::output::check_outputs;
use sinew_scene::spec::lab::Protocol;
use sinew_scene::{Override, Scene, format_number};

use super::console::Console;
use super::run::{Watch, expectation_table};
use super::{Failure, Status, console, plots, table, use_threads_of};

/// Runs a physiology protocol on a muscle of a scene
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Protocol
    #[arg(value_parser = protocols())]
    protocol: Protocol,

    /// Scene file (TOML); its table `lab` selects muscle and settings
    pub scene: PathBuf,

    /// Folder for PROTOCOL.csv and PROTOCOL.html [default: out/lab/SCENE]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,

    /// Replaces a value of the scene, for example lab.count=30
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,

    /// Also writes every plot of the page as .svg and .csv
    #[arg(long, conflicts_with = "no_files")]
    plots: bool,

    /// Writes no files; only checks the expectations
    #[arg(long, conflicts_with = "output")]
    no_files: bool,

    /// Prints the figures as one JSON object on stdout
    #[arg(long)]
    pub json: bool,
}

fn protocols() -> impl TypedValueParser<Value = Protocol> {
    let known = Protocol::words().map(|(word, _, meaning)| PossibleValue::new(word).help(meaning.trim()));
    PossibleValuesParser::new(known)
        .try_map(|word| Protocol::words().find(|known| known.0 == word).map(|known| known.1).ok_or("no such protocol"))
}

/// Runs the command.
pub fn execute(arguments: &Arguments, origin: Origin, console: Console) -> Result<Status, Failure> {
    let overrides: Vec<Override> = arguments.overrides.iter().cloned().map(Override::from).collect();
    let scene = Scene::load_with(&arguments.scene, &overrides)?;
    use_threads_of(&scene);
    let usual = || Path::new("out/lab").join(arguments.scene.file_stem().unwrap_or("scene".as_ref()));
    let folder = (!arguments.no_files).then(|| arguments.output.clone().unwrap_or_else(usual));
    if let Some(folder) = &folder {
        let results = ["csv", "html"].map(|end| folder.join(format!("{}.{end}", arguments.protocol.word())));
        check_outputs(scene.inputs(), results).map_err(|error| Failure::Other(error.to_string()))?;
        // Report a folder that cannot be written before the run, not after it.
        let failed = |source| Failure::Write { what: folder.display().to_string(), source };
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let mut manifest = Manifest { kind: Kind::Lab, ..Manifest::of(&scene, origin) };
    let folder_of_manifest = folder.as_deref().filter(|folder| may_write_manifest(folder, console));
    let write = |manifest: &mut Manifest| match folder_of_manifest {
        Some(folder) => manifest.write(folder).map_err(|error| Failure::Other(error.to_string())),
        None => Ok(()),
    };
    write(&mut manifest)?;
    let mut watch = Watch::new(console);
    let result = examine(&scene, arguments.protocol, folder.as_deref(), &mut watch);
    watch.clear();
    let is_interrupted = Interrupt::ambient().is_wanted();
    match &result {
        Ok(outcome) => {
            manifest.status = if is_interrupted { Written::Interrupted } else { Written::Done };
            manifest.passed = Some(outcome.expectations.iter().all(|check| check.passed));
            let name = |file: &PathBuf| file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            manifest.outputs = outcome.outputs.iter().map(name).collect();
        }
        Err(_) if is_interrupted => manifest.status = Written::Interrupted,
        Err(error) => (manifest.status, manifest.error) = (Written::Failed, Some(error.to_string())),
    }
    let written = write(&mut manifest);
    let outcome = result?;
    written?;
    if arguments.json {
        console::print(&format!("{}\n", outcome.to_json()))?;
    } else {
        console::print(&summary(&outcome))?;
    }
    outcome.notes.iter().for_each(|note| console.note(&format!("note: {note}")));
    outcome.outputs.iter().for_each(|file| console.note(&format!("wrote {}", file.display())));
    if let Some(folder) = folder.as_ref().filter(|_| arguments.plots) {
        let page = folder.join(arguments.protocol.word()).with_extension("html");
        plots::save(&outcome.plots, &page, scene.inputs(), console)?;
    }
    verdict(&outcome, console)
}

/// Whether the folder has no manifest of another kind of run, which must not be lost.
fn may_write_manifest(folder: &Path, console: Console) -> bool {
    let is_free = match Manifest::read(folder) {
        Ok(manifest) => manifest.kind == Kind::Lab,
        Err(_) => !folder.join(MANIFEST).exists(),
    };
    if !is_free {
        console.note(&format!(
            "note: {} keeps the manifest of another run; `sinew resume` will not know this measurement",
            folder.display()
        ));
    }
    is_free
}

/// The figures as a table.
fn summary(outcome: &LabOutcome) -> String {
    let row = |figure: &sinew_run::lab::Figure| {
        let value = if figure.value.is_finite() { format_number(figure.value) } else { "–".into() };
        vec![figure.name.to_string(), value, figure.unit.to_string(), figure.meaning.to_string()]
    };
    table::layout(&outcome.figures.iter().map(row).collect::<Vec<_>>(), &[false, true, false, false])
}

fn verdict(outcome: &LabOutcome, console: Console) -> Result<Status, Failure> {
    let failed = outcome.expectations.iter().filter(|check| !check.passed).count();
    if !outcome.expectations.is_empty() && (console.notes || failed > 0) {
        console::message(expectation_table(&outcome.expectations).trim_end());
    }
    match (failed, outcome.expectations.len()) {
        (0, 0) => {}
        (0, all) => console.note(&format!("{all} expectations hold")),
        (failed, all) => {
            console::message(&format!("{failed} of {all} expectations failed"));
            return Ok(Status::Unexpected);
        }
    }
    Ok(Status::Done)
}
