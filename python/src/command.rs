//! The command line as functions.

use std::ffi::OsString;

use pyo3::prelude::*;
use sinew::cli;

use crate::error;
use crate::waiting;

/// Runs a command line (a list of words without the program name) in this process. Returns its exit status, its output,
/// and its messages. Raises `SinewError` where the command line would exit with status 2.
#[pyfunction]
pub fn command(py: Python<'_>, arguments: Vec<OsString>) -> PyResult<(u8, String, String)> {
    let called = waiting::aside(py, |interrupt| cli::call(arguments, interrupt))?;
    match called.status {
        2 => Err(error::SinewError::new_err(error::plain(&called.messages))),
        status => Ok((status, called.output, called.messages)),
    }
}

/// Runs the command line of this process and returns its exit status: the program `sinew`.
#[pyfunction]
pub fn program(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    let code = py.detach(|| cli::main_with(arguments));
    // `ExitCode` does not expose its number, but the three possible codes can be compared.
    (0..=2).find(|&number| code == std::process::ExitCode::from(number)).unwrap_or(2)
}

/// Stores how to start the program again, which some benchmarks do: the executable of this process is Python.
pub fn remember_program(py: Python<'_>) -> PyResult<()> {
    let executable: OsString = py.import("sys")?.getattr("executable")?.extract()?;
    cli::set_program(vec![executable, "-m".into(), "sinew".into()]);
    Ok(())
}
