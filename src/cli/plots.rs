//! Plots of a page as files.

use std::path::{Path, PathBuf};

use sinew_record::report::{Plot, plot_files, write_plots};
use sinew_scene::output::check_outputs;

use super::Failure;
use super::console::Console;

/// Writes every plot as .svg and .csv beside the page, but never over an input.
pub fn save(
    plots: &[Plot],
    page: &Path,
    inputs: impl IntoIterator<Item = PathBuf>,
    console: Console,
) -> Result<(), Failure> {
    let other = |error: String| Failure::Other(error);
    check_outputs(inputs, plot_files(plots, page)).map_err(|error| other(error.to_string()))?;
    let files = write_plots(plots, page).map_err(|error| other(error.to_string()))?;
    files.iter().for_each(|file| console.note(&format!("wrote {}", file.display())));
    Ok(())
}
