//! `sinew resume`: continues what ended early, with the command in the manifest of its folder.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Parser;
use sinew_run::manifest::{MANIFEST, Manifest, Origin, Status as Written};
use sinew_scene::motion::is_built_in;

use super::console::Console;
use super::{Command, Failure, Status, execute_from};

/// Continues a run that ended early, with the command that started it
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Folder of the run
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,

    /// Draws no pictures, also none in the report
    #[arg(long)]
    pub no_pictures: bool,

    /// Prints the result as one JSON object on stdout
    #[arg(long)]
    pub json: bool,
}

/// Runs the command; `threads` of its own command line, if there were any, have been started.
pub fn execute(arguments: &Arguments, threads: Option<u16>, console: Console) -> Result<Status, Failure> {
    let folder = run_folder(&arguments.folder);
    let manifest = Manifest::read(folder)
        .map_err(|error| Failure::Other(format!("{error}\nhint: give the folder of a run, the one with {MANIFEST}")))?;
    if manifest.status == Written::Done {
        console.note(&format!("the run in {} is complete", folder.display()));
        return Ok(if manifest.passed == Some(false) { Status::Unexpected } else { Status::Done });
    }
    let words = words(&manifest, folder);
    let mut parsed = super::Arguments::try_parse_from(program().chain(words.iter().map(OsString::from)))
        .map_err(|error| Failure::Other(format!("{}: {error}", folder.join(MANIFEST).display())))?;
    let from = |path: &mut PathBuf| *path = rebased(&manifest, path);
    match &mut parsed.command {
        Command::Run(run) => {
            from(&mut run.scene);
            (run.output, run.resume) = (Some(folder.into()), true);
            (run.json, run.no_pictures) = (arguments.json, run.no_pictures || arguments.no_pictures);
        }
        Command::Skin(skin) => {
            skin.characters.iter_mut().for_each(from);
            skin.output.iter_mut().for_each(from);
            if skin.output.is_empty() {
                skin.output = skin.outputs().iter().map(|path| rebased(&manifest, path)).collect();
            }
            for motion in skin.motions.iter_mut().filter(|motion| !is_built_in(motion)) {
                *motion = rebased(&manifest, Path::new(&*motion)).to_string_lossy().into_owned();
            }
            if skin.bones != "auto" {
                skin.bones = rebased(&manifest, Path::new(&skin.bones)).to_string_lossy().into_owned();
            }
            skin.resume = true;
            (skin.json, skin.no_pictures) = (arguments.json, skin.no_pictures || arguments.no_pictures);
        }
        Command::Lab(lab) => {
            from(&mut lab.scene);
            (lab.output, lab.json) = (Some(folder.into()), arguments.json);
        }
        _ => return Err(Failure::Other(format!("`sinew {}` cannot be resumed", words.join(" ")))),
    }
    if threads.is_some() {
        parsed.threads = None;
    }
    (parsed.quiet, parsed.verbose) = (!console.notes, console.details);
    execute_from(parsed, Origin { command: words, ..manifest.origin })
}

fn program() -> impl Iterator<Item = OsString> {
    std::iter::once("sinew".into())
}

/// The path of the manifest stands for its folder.
pub(super) fn run_folder(path: &Path) -> &Path {
    match path.file_name() {
        Some(name) if name == MANIFEST => path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new(".")),
        _ => path,
    }
}

/// The command of a run. A program that embeds Sinew leaves none; the scene and its overrides then tell it.
fn words(manifest: &Manifest, folder: &Path) -> Vec<String> {
    if !manifest.origin.command.is_empty() {
        return manifest.origin.command.clone();
    }
    let mut words = ["run", &manifest.scene, "-o"].map(String::from).to_vec();
    words.push(folder.to_string_lossy().into_owned());
    words.extend(manifest.overrides.iter().map(|set| format!("--set={set}")));
    words
}

/// A path of the command, seen from here.
fn rebased(manifest: &Manifest, path: &Path) -> PathBuf {
    let is_here = std::env::current_dir().is_ok_and(|here| here == Path::new(&manifest.origin.directory));
    if is_here { path.into() } else { Path::new(&manifest.origin.directory).join(path) }
}
