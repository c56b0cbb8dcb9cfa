//! `sinew demo`: the scene that needs no file.

use std::path::PathBuf;

use sinew_scene::Scene;
use sinew_scene::run::RunOptions;

use super::talk::Talk;
use super::{Failure, Status, run};

/// The scene, so that the program works where the repository is not.
const SCENE: &str = include_str!("../../scenes/basics/demo.toml");

/// Drops a soft body and writes report, USD and pictures
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Folder for the results
    #[arg(short, long, value_name = "DIR", default_value = "out/demo")]
    pub output: PathBuf,

    /// Prints the result as one JSON object on stdout
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
pub fn execute(arguments: &Arguments, talk: Talk) -> Result<Status, Failure> {
    let scene = Scene::from_str(SCENE, "demo.toml", ".")?;
    let options = RunOptions { output: Some(arguments.output.clone()), ..RunOptions::default() };
    let status = run::simulate(&scene, &options, talk, arguments.json)?;
    talk.note(&format!("open {} in a browser", arguments.output.join("report.html").display()));
    Ok(status)
}
