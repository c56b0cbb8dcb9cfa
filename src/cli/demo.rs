//! `sinew demo`: the scene that needs no file.

use std::path::{Path, PathBuf};

use sinew_record::record::write_file;
use sinew_run::run::RunOptions;
use sinew_scene::Scene;

use super::talk::Talk;
use super::{Failure, Status, run};

/// The scene and its character, so that the program works where the repository is not.
const SCENE: &str = include_str!("../../scenes/character/fist_large.toml");
const CHARACTER: &[u8] = include_bytes!("../../scenes/character/meshes/fist.glb");
/// Where the scene looks for its character.
const CHARACTER_PATH: &str = "meshes/fist.glb";

/// Lets a hand make a fist and writes report, USD and pictures
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
    let scene = prepare(&arguments.output)?;
    let options = RunOptions { output: Some(arguments.output.clone()), ..RunOptions::default() };
    let status = run::simulate(&scene, &options, talk, arguments.json)?;
    talk.note(&format!("open {} in a browser", arguments.output.join("report.html").display()));
    Ok(status)
}

/// Scene and character lie beside the results: the first thing to change is there, so a changed one is not replaced.
fn prepare(folder: &Path) -> Result<Scene, Failure> {
    let path = folder.join("fist.toml");
    let files = [(&path, SCENE.as_bytes()), (&folder.join(CHARACTER_PATH), CHARACTER)];
    if let Some((file, _)) = files.iter().find(|(file, bytes)| std::fs::read(file).is_ok_and(|old| old != *bytes)) {
        return Err(Failure::Other(format!(
            "{} is not that of the demo any more\nhint: `sinew run {}` runs it; `sinew demo -o DIR` begins in another folder",
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
    fn the_demo_compiles_where_the_repository_is_not() {
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
