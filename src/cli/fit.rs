//! `sinew fit`: material parameters from a measured curve.

use std::path::{Path, PathBuf};

use sinew_run::calibration::{FILES, FitError, fit};
use sinew_scene::output::check_outputs;
use sinew_scene::{Override, Scene};

use super::console::Console;
use super::run::Watch;
use super::{Failure, Status, console, plots, table, use_threads_of};

/// Fits material parameters of a quasistatic scene to a measured curve
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The first column of DATA.csv is `time` or a value of the scene, the others are values of the scene, each with its unit:\n\n  \
time [s], bar.force.x-max.x [mN]\n  0.1, 12.5\n  0.2, 26.1\n\n\
Numbers without a unit are in SI units. Intervals contain the truth with 95 %, if the law is right and errors are independent.")]
pub struct Arguments {
    /// Scene file (TOML); its values are the start of the search
    scene: PathBuf,

    /// Measured curve
    #[arg(value_name = "DATA.csv")]
    data: PathBuf,

    /// Parameters to fit, for example bar.young,bar.poisson [default: the only stiffness]
    #[arg(long, value_name = "PARAMETER", value_delimiter = ',')]
    by: Vec<String>,

    /// Folder for fit.csv and fit.html [default: out/fit/SCENE]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,

    /// Replaces a value of the scene, for example body.bar.material.young="10 kPa"
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,

    /// Also writes every plot of the page as .svg and .csv
    #[arg(long, conflicts_with = "no_files")]
    plots: bool,

    /// Writes no files
    #[arg(long, conflicts_with = "output")]
    no_files: bool,

    /// Prints the result as one JSON object on stdout
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn execute(arguments: &Arguments, console: Console) -> Result<Status, Failure> {
    let is = |path: &Path, extension: &str| path.extension().is_some_and(|found| found.eq_ignore_ascii_case(extension));
    if is(&arguments.scene, "csv") && is(&arguments.data, "toml") {
        let [scene, data] = [&arguments.data, &arguments.scene].map(|path| path.display());
        return Err(Failure::Other(format!("the scene comes first\nhint: sinew fit {scene} {data}")));
    }
    let overrides: Vec<Override> = arguments.overrides.iter().cloned().map(Override::from).collect();
    let scene = Scene::load_with(&arguments.scene, &overrides)?;
    use_threads_of(&scene);
    let file = &arguments.data;
    let data = std::fs::read_to_string(file)
        .map_err(|error| Failure::Other(format!("{} cannot be read: {error}", file.display())))?;
    let usual = || Path::new("out/fit").join(arguments.scene.file_stem().unwrap_or("scene".as_ref()));
    let folder = (!arguments.no_files).then(|| arguments.output.clone().unwrap_or_else(usual));
    if let Some(folder) = &folder {
        let inputs = scene.inputs().into_iter().chain([file.clone()]);
        check_outputs(inputs, FILES.map(|name| folder.join(name)))
            .map_err(|error| Failure::Other(error.to_string()))?;
        // Report a folder that cannot be written before the runs, not after them.
        let failed = |source| Failure::Write { what: folder.display().to_string(), source };
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let mut watch = Watch::new(console);
    let result = fit(&scene, &data, &arguments.by, &mut watch);
    watch.clear();
    let outcome = result.map_err(|error| match error {
        FitError::Scene(error) => Failure::Scene(error),
        other => Failure::Other(other.to_string().trim_start_matches("error: ").to_string()),
    })?;
    if arguments.json {
        console::print(&format!("{}\n", outcome.to_json()))?;
    } else {
        let parameters = outcome.table();
        let rows: Vec<Vec<String>> = std::iter::once(parameters.columns).chain(parameters.rows).collect();
        console::print(&table::layout(&rows, &[false, true, true, true, true]))?;
    }
    outcome.notes.iter().for_each(|note| console.note(&format!("note: {note}")));
    let ([before, after], [_, runs]) = (outcome.deviation, outcome.iterations);
    console.note(&format!("deviation {after:.2e} of the largest value ({before:.2e} before), {runs} runs"));
    if let Some(folder) = &folder {
        let title = format!("Fit of {} to {}", arguments.scene.display(), file.display());
        let files = outcome.write(folder, &title).map_err(|error| Failure::Other(error.to_string()))?;
        files.iter().for_each(|file| console.note(&format!("wrote {}", file.display())));
        if arguments.plots {
            let inputs = scene.inputs().into_iter().chain([file.clone()]);
            plots::save(&outcome.plots(), &folder.join("fit.html"), inputs, console)?;
        }
    }
    let sets: Vec<String> = outcome.overrides().iter().map(|set| format!("--set {set}")).collect();
    console.note(&format!("use it: sinew run {} {}", arguments.scene.display(), sets.join(" ")));
    Ok(Status::Done)
}
