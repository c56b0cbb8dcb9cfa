//! `sinew schema`: the JSON schema of scene files, for editors.

use super::{Failure, Status, console};

/// Prints the JSON schema of scene files
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The schema of recipes of `sinew anatomy build` instead
    #[arg(long)]
    pub recipe: bool,
}

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Result<Status, Failure> {
    console::print(&if arguments.recipe { recipe_text()? } else { text()? })?;
    Ok(Status::Done)
}

/// The schema of scenes as text.
pub(super) fn text() -> Result<String, Failure> {
    written(&sinew_scene::schema::json_schema())
}

/// The schema of recipes as text.
pub(super) fn recipe_text() -> Result<String, Failure> {
    written(&sinew_scene::schema::recipe_schema())
}

fn written(schema: &serde_json::Value) -> Result<String, Failure> {
    serde_json::to_string_pretty(schema)
        .map(|schema| schema + "\n")
        .map_err(|error| Failure::Other(format!("the schema cannot be written as JSON: {error}")))
}
