//! `sinew demo`: a built-in scene.

use std::path::{Path, PathBuf};

use sinew_record::record::write_file;
use sinew_run::run::RunOptions;
use sinew_scene::Scene;

use super::console::Console;
use super::{Failure, Status, run};

/// The scene and its character, so that the demo runs without the repository.
const SCENE: &str = include_str!("../../scenes/character/fist_large.toml");
const CHARACTER: &[u8] = include_bytes!("../../scenes/character/meshes/fist.glb");
/// Path of the character in the scene.
const CHARACTER_PATH: &str = "meshes/fist.glb";

/// Simulates a hand that makes a fist; writes report, USD and pictures
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Folder for the results
    #[arg(short, long, value_name = "DIR", default_value = "out/demo")]
    pub output: PathBuf,

    /// Draws no pictures, also none in the report
    #[arg(long)]
    pub no_pictures: bool,

    /// Prints the result as one JSON object on stdout
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
pub fn execute(arguments: &Arguments, console: Console) -> Result<Status, Failure> {
    let mut scene = prepare(&arguments.output)?;
    scene.record.pictures &= !arguments.no_pictures;
    let options = RunOptions { output: Some(arguments.output.clone()), ..RunOptions::default() };
    let status = run::simulate(&scene, &options, console, arguments.json)?;
    console.note(&format!("open {} in a browser", arguments.output.join("report.html").display()));
    Ok(status)
}

/// Writes scene and character beside the results, for the user to edit. Does not replace edited files.
fn prepare(folder: &Path) -> Result<Scene, Failure> {
    let path = folder.join("fist.toml");
    let files = [(&path, SCENE.as_bytes()), (&folder.join(CHARACTER_PATH), CHARACTER)];
    if let Some((file, _)) = files.iter().find(|(file, bytes)| std::fs::read(file).is_ok_and(|old| old != *bytes)) {
        return Err(Failure::Other(format!(
            "{} was edited; the demo does not replace it\nhint: `sinew run {}` runs the edited scene; `sinew demo -o DIR` uses another folder",
            file.display(),
            path.display()
        )));
    }
    for (file, bytes) in files {
        write_file(file, bytes).map_err(|error| Failure::Other(error.to_string()))?;
    }
    Ok(Scene::load(&path)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_demo_compiles_without_the_repository() {
        let folder = std::env::temp_dir().join(format!("sinew-demo-{}", std::process::id()));
        let scene = prepare(&folder);
        let compiled = scene.as_ref().map(|scene| sinew_run::compile::compile(scene).map(|_| scene.expect.len()));
        std::fs::remove_dir_all(&folder).ok();
        match compiled {
            Ok(Ok(expectations)) => assert!(expectations > 0),
            Ok(Err(error)) => panic!("{error}"),
            Err(_) => panic!("the scene of the demo cannot be read"),
        }
    }
}
