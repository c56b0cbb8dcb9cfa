//! `sinew compare`: two runs side by side.

use std::path::PathBuf;

use sinew_record::compare::{compare, input_files};
use sinew_scene::output::check_outputs;

use super::console::Console;
use super::{Failure, Status, console, plots, table};

/// Compares two runs: values over each other, differences on the bodies, one page
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Recording (.sinew), folder of a run, or table of probes (.csv)
    #[arg(value_name = "A")]
    first: PathBuf,

    /// The same of another run
    #[arg(value_name = "B")]
    second: PathBuf,

    /// The page [default: out/compare.html]
    #[arg(short, long, value_name = "FILE.html", default_value = "out/compare.html", hide_default_value = true)]
    output: PathBuf,

    /// Also writes every plot of the page as .svg and .csv
    #[arg(long, conflicts_with = "no_files")]
    plots: bool,

    /// Writes no page
    #[arg(long, conflicts_with = "output")]
    no_files: bool,

    /// Prints all differences as one JSON object on stdout
    #[arg(long)]
    json: bool,
}

/// Rows of the table on the screen; the page has all.
const SHOWN: usize = 12;

/// Runs the command.
pub fn execute(arguments: &Arguments, console: Console) -> Result<Status, Failure> {
    let other = |error: String| Failure::Other(error);
    let output = (!arguments.no_files).then_some(&arguments.output);
    if let Some(page) = output {
        if page.extension().is_none_or(|end| !end.eq_ignore_ascii_case("html")) {
            return Err(other(format!("{}: the page is an .html file", page.display())));
        }
        let inputs = [&arguments.first, &arguments.second].into_iter().flat_map(|path| input_files(path));
        check_outputs(inputs, [page]).map_err(|error| other(error.to_string()))?;
    }
    let comparison = compare(&arguments.first, &arguments.second).map_err(|error| other(error.to_string()))?;
    if arguments.json {
        console::print(&format!("{}\n", comparison.to_json()))?;
    } else {
        let mut text = String::new();
        for list in [comparison.body_table(), comparison.value_table()].into_iter().filter(|list| !list.rows.is_empty())
        {
            let right: Vec<bool> = (0..list.columns.len()).map(|k| k > 0 && list.columns[k] != "unit").collect();
            let more = list.rows.len().saturating_sub(SHOWN);
            let rows: Vec<Vec<String>> =
                std::iter::once(list.columns).chain(list.rows.into_iter().take(SHOWN)).collect();
            text += &table::layout(&rows, &right);
            text += &if more > 0 { format!("… and {more} more\n\n") } else { "\n".into() };
        }
        console::print(&text)?;
    }
    comparison.notes.iter().for_each(|note| console.note(&format!("note: {note}")));
    if comparison.is_equal() {
        console.note("the runs are equal in all shared values and shapes");
    }
    if let Some(page) = output {
        if let Some(folder) = page.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|source| Failure::Write { what: folder.display().to_string(), source })?;
        }
        comparison.write(page).map_err(|error| other(error.to_string()))?;
        console.note(&format!("wrote {}", page.display()));
        if arguments.plots {
            let inputs = [&arguments.first, &arguments.second].into_iter().flat_map(|path| input_files(path));
            plots::save(&comparison.plots(), page, inputs, console)?;
        }
    }
    Ok(Status::Done)
}
