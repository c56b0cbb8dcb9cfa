//! `sinew lab`: a muscle of a scene in a virtual physiology laboratory.

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use sinew_fem::Interrupt;
use sinew_run::lab::{LabOutcome, examine, four_digits};
use sinew_run::manifest::{Kind, MANIFEST, Manifest, Origin, Status as Written};
use sinew_scene::output::check_outputs;
use sinew_scene::spec::lab::Protocol;
use sinew_scene::{Override, Scene};

use super::console::Console;
use super::run::Watch;
use super::{Failure, Status, console, plots, table, use_threads_of};

/// Runs a physiology protocol on a muscle of a scene
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The first line is a verdict: whether the muscle behaves as an ideal one, or which points are not to be trusted. Warnings say \
where, how much and what to do; the column `doubts` of the CSV file marks the points.\n\n\
The columns of DATA.csv are columns of PROTOCOL.csv, the first one is the abscissa, each with its unit:\n\n  \
length, developed_force [N], passive_force [mN]\n  0.8, 21.3, 0\n  1.0, 29.1, 12\n\n\
Numbers without a unit are in SI units.")]
pub struct Arguments {
    /// Protocol
    #[arg(value_parser = protocols())]
    protocol: Protocol,

    /// Scene file (TOML); its table `lab` selects muscle and settings
    pub scene: PathBuf,

    /// Measured data to draw over the curves, with the root-mean-square difference
    #[arg(long, value_name = "DATA.csv")]
    beside: Option<PathBuf>,

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
    let mut scene = Scene::load_with(&arguments.scene, &overrides)?;
    if let Some(file) = &arguments.beside {
        scene.lab.beside.set(arguments.protocol, data_path(file)?);
    }
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
            manifest.passed = Some(outcome.passed());
            manifest.warnings.clone_from(&outcome.warnings);
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
    outcome.warnings.iter().for_each(|warning| console::message(&format!("warning: {warning}")));
    outcome.notes.iter().for_each(|note| console.note(&format!("note: {note}")));
    outcome.outputs.iter().for_each(|file| console.note(&format!("wrote {}", file.display())));
    if let Some(folder) = folder.as_ref().filter(|_| arguments.plots) {
        let page = folder.join(arguments.protocol.word()).with_extension("html");
        plots::save(&outcome.plots, &page, scene.inputs(), console)?;
    }
    expectations(&outcome, console)
}

/// The path of measured data as seen from the scene, which may lie in another folder.
fn data_path(file: &Path) -> Result<String, Failure> {
    let wrong = |reason: String| Failure::Other(format!("{}: {reason}", file.display()));
    let path = std::path::absolute(file).map_err(|error| wrong(error.to_string()))?;
    path.into_os_string().into_string().map_err(|_| wrong("the path is not valid Unicode".into()))
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

/// The verdict, and the figures as a table.
fn summary(outcome: &LabOutcome) -> String {
    let row = |figure: &sinew_run::lab::Figure| {
        vec![figure.name.to_string(), four_digits(figure.value), figure.unit.to_string(), figure.meaning.to_string()]
    };
    let figures = table::layout(&outcome.figures.iter().map(row).collect::<Vec<_>>(), &[false, true, false, false]);
    format!("verdict: {}\n{figures}", outcome.verdict.text)
}

fn expectations(outcome: &LabOutcome, console: Console) -> Result<Status, Failure> {
    let failed = outcome.expectations.iter().filter(|check| !check.passed).count();
    if !outcome.expectations.is_empty() && (console.notes || failed > 0) {
        let mut rows = vec![["figure", "expected", "got", "verdict"].map(String::from).to_vec()];
        rows.extend(outcome.expectation_rows());
        console::message(table::layout(&rows, &[false, false, true, false]).trim_end());
    }
    match (failed, outcome.expectations.len()) {
        (0, 0) => {}
        (0, 1) => console.note("1 expectation holds"),
        (0, all) => console.note(&format!("{all} expectations hold")),
        (failed, all) => {
            console::message(&format!("{failed} of {all} expectations failed"));
            return Ok(Status::Unexpected);
        }
    }
    Ok(Status::Done)
}
