//! `sinew schema`: the JSON schema of scene files, for editors.

use super::{Failure, Status, console};

/// Prints the JSON schema of scene files
#[derive(Debug, clap::Args)]
pub struct Arguments {}

/// Runs the command.
pub fn execute(_: &Arguments) -> Result<Status, Failure> {
    console::print(&text()?)?;
    Ok(Status::Done)
}

/// The schema as text.
pub(super) fn text() -> Result<String, Failure> {
    serde_json::to_string_pretty(&sinew_scene::schema::json_schema())
        .map(|schema| schema + "\n")
        .map_err(|error| Failure::Other(format!("the schema cannot be written as JSON: {error}")))
}
