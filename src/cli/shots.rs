//! `sinew skin --sweep`: many characters through many motions.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{ArgAction, CommandFactory};
use sinew_math::parallel::prelude::*;
use sinew_run::manifest::Origin;
use sinew_run::shots::{
    CONTACT_SHEET, Heard, PAGE, Row, Shot, ShotsOptions, ShotsOutcome, TABLE, check_names, compute, strangers,
};
use sinew_scene::motion::is_built_in;
use sinew_scene::output::{MANIFEST, check_outputs};

use super::console::{self, Console};
use super::progress::Progress;
use super::status::shell_word;
use super::{Failure, Status, skin, table};

/// What stands for the name of a shot in `-o`.
pub(super) const PLACE: &str = "{}";

/// Options that belong to all shots together.
const OF_ALL: [&str; 12] = [
    "character",
    "motion",
    "animation",
    "output",
    "sweep",
    "jobs",
    "json",
    "resume",
    "force",
    "quiet",
    "verbose",
    "threads",
];

/// A character and a motion.
struct Pair {
    name: String,
    character: PathBuf,
    /// The motion as people call it.
    told: String,
    arguments: skin::Arguments,
}

/// Runs the command.
pub fn execute(arguments: &skin::Arguments, origin: Origin, console: Console) -> Result<Status, Failure> {
    let patterns = patterns(arguments);
    let mut problems = missing(arguments);
    problems.extend(patterns.as_ref().err().cloned());
    let patterns = patterns.unwrap_or_default();
    let Some(first) = patterns.first().filter(|_| problems.is_empty()) else { return Err(told(&problems)) };
    let folder = first.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_path_buf();
    let listed: Vec<Vec<Pair>> =
        arguments.characters.par_iter().map(|character| pairs(arguments, character, &patterns)).collect();
    let pairs: Vec<Pair> = listed.into_iter().flatten().collect();
    problems.extend(check_all(arguments, &pairs, &folder));
    if !problems.is_empty() {
        return Err(told(&problems));
    }
    console.note(&format!("{} shots in {}", pairs.len(), folder.display()));
    // Each reads its files and chooses its flesh.
    let shots: Vec<Shot> = pairs.into_par_iter().map(|pair| shot(pair, &origin)).collect();
    let refused = shots.iter().filter_map(|shot| Some((shot, shot.scene.as_ref().err()?)));
    for (shot, reason) in refused {
        console::message(&format!("{} is left out: {}", shot.name, reason.replace('\n', "\n  ")));
    }
    let cores = rayon::current_num_threads();
    let jobs = arguments.jobs.map_or(cores, usize::from);
    let options = ShotsOptions { folder, jobs, replace: arguments.force, origin };
    let mut progress = Progress::new(console);
    let mut has_begun = false;
    let outcome = compute(&shots, &options, &bring_up, &mut |heard| match heard {
        Heard::Frames(done, all, at_work) => {
            if !std::mem::replace(&mut has_begun, true) {
                progress.begin(0, all);
            }
            progress.update(done, all, &format!("{at_work} shots at work"));
        }
        Heard::Ended(ended, all, row) => {
            progress.clear();
            let text = format!("shot {ended} of {all}, {}: {}", row.name, row.caption());
            if row.status == "done" { console.note(&text) } else { console::message(&text) }
        }
    });
    progress.clear();
    drop(progress);
    report(outcome.map_err(|error| Failure::Other(error.to_string()))?, &options, arguments.json, console)
}

fn told(problems: &[String]) -> Failure {
    Failure::Other(problems.join("\nerror: "))
}

/// Prints the table and says how it ended.
fn report(outcome: ShotsOutcome, options: &ShotsOptions, is_json: bool, console: Console) -> Result<Status, Failure> {
    let folder = &options.folder;
    if is_json {
        let rows: Vec<_> = outcome.rows.iter().map(Row::to_json).collect();
        let files: Vec<_> = outcome.files.iter().map(|path| path.to_string_lossy()).collect();
        let json = serde_json::json!({ "folder": folder.to_string_lossy(), "shots": rows, "files": files });
        console::print(&format!("{json}\n"))?;
    } else {
        let mut rows = vec![Row::columns().map(String::from).to_vec()];
        rows.extend(outcome.rows.iter().map(|row| row.cells(false).to_vec()));
        let right = [false, false, true, true, true, true, true, false, false, false, true];
        console::print(&table::layout(&rows, &right))?;
    }
    if outcome.known > 0 {
        console.note(&format!("{} of {} shots were complete already", outcome.known, outcome.rows.len()));
    }
    outcome.files.iter().for_each(|path| console.note(&format!("wrote {}", path.display())));
    let (all, done) = (outcome.rows.len(), outcome.count("done"));
    if outcome.interrupted {
        let folder = shell_word(&folder.to_string_lossy());
        return Err(Failure::Other(format!(
            "interrupted; {done} of {all} shots are complete, and `sinew resume {folder}` continues"
        )));
    }
    if done < all {
        console::message(&format!("{} of {all} shots have no result; the table says why", all - done));
        return Ok(Status::Unexpected);
    }
    Ok(Status::Done)
}

/// The files of `-o`, with a place for the name of a shot.
fn patterns(arguments: &skin::Arguments) -> Result<Vec<PathBuf>, String> {
    let mut patterns = Vec::new();
    for path in arguments.outputs() {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let end = path.extension().map(|end| end.to_string_lossy().into_owned());
        match end.filter(|end| is_format(end) && !path.is_dir()) {
            _ if name.contains(PLACE) => patterns.push(path),
            None => patterns.push(path.join(format!("{PLACE}.usda"))),
            Some(end) => {
                let better = path.with_file_name(format!("{PLACE}.{end}"));
                return Err(format!(
                    "{} would be the file of every shot\nhint: -o '{}' names each by itself",
                    path.display(),
                    better.display()
                ));
            }
        }
    }
    Ok(patterns)
}

fn is_format(end: &str) -> bool {
    ["usda", "usdc", "usdz", "pc2", "glb"].iter().any(|known| end.eq_ignore_ascii_case(known))
}

/// Files of the command that do not exist.
fn missing(arguments: &skin::Arguments) -> Vec<String> {
    let files = arguments.motions.iter().filter(|motion| !is_built_in(motion)).map(Path::new);
    let files = files.chain(arguments.characters.iter().map(PathBuf::as_path));
    let lost = files.filter(|path| !path.exists());
    let hint = |path: &Path| match path.extension() {
        None => "\nhint: built-in motions are walk, wave, squat, fist and range-of-motion",
        Some(_) => "",
    };
    lost.map(|path| format!("{} does not exist{}", path.display(), hint(path))).collect()
}

/// The shots of a character. One that cannot be read, or has no motion, is a shot too: the table says so.
fn pairs(arguments: &skin::Arguments, character: &Path, patterns: &[PathBuf]) -> Vec<Pair> {
    let mut motions: Vec<(Option<&str>, Option<String>, String)> = Vec::new();
    for motion in &arguments.motions {
        let stem = Path::new(motion).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let name = if is_built_in(motion) { motion.clone() } else { stem };
        motions.push((Some(motion), arguments.animation.clone(), name));
    }
    if arguments.motions.is_empty() {
        let known = skin::read_rig(character).map(|rig| rig.animations).unwrap_or_default();
        let mut names: Vec<String> = known.into_iter().map(|animation| animation.name).collect();
        // Of two with one name, only the first can be chosen.
        let mut seen = BTreeSet::new();
        names.retain(|name| seen.insert(name.clone()));
        if let Some(wanted) = &arguments.animation {
            names = vec![wanted.clone()];
        }
        if names.is_empty() {
            motions.push((None, None, "none".into()));
        }
        // An animation without a name can only be chosen as the first.
        for (number, name) in names.into_iter().enumerate().filter(|(number, name)| *number == 0 || !name.is_empty()) {
            let choice = (!name.is_empty()).then(|| name.clone());
            motions.push((None, choice, if name.is_empty() { format!("animation{number}") } else { name }));
        }
    }
    let stem = character.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let pair = |(motion, animation, told): (Option<&str>, Option<String>, String)| {
        let name = format!("{}_{}", plain(&stem), plain(&told));
        let place = |pattern: &PathBuf| {
            let file = pattern.file_name().unwrap_or_default().to_string_lossy().replace(PLACE, &name);
            pattern.with_file_name(file)
        };
        let output: Vec<PathBuf> = patterns.iter().map(place).collect();
        // The folder of a run is called after its first file.
        let name = output
            .first()
            .and_then(|path| path.file_stem())
            .map_or(name.clone(), |stem| stem.to_string_lossy().into_owned());
        let arguments = skin::Arguments { animation, output, sweep: false, ..arguments.of(character, motion) };
        Pair { name, character: character.into(), told, arguments }
    };
    motions.into_iter().map(pair).collect()
}

/// A name without characters that mean something to shells, disks and browsers.
fn plain(text: &str) -> String {
    let keep = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = text.chars().map(keep).collect();
    name.trim_matches(['-', '.']).into()
}

/// Mistakes that concern all shots.
fn check_all(arguments: &skin::Arguments, pairs: &[Pair], folder: &Path) -> Vec<String> {
    let named = |pair: &Pair| (pair.name.clone(), format!("{} with {}", pair.character.display(), pair.told));
    let names: Vec<(String, String)> = pairs.iter().map(named).collect();
    let mut problems = check_names(names.iter().map(|(name, what)| (name.as_str(), what.clone())));
    // What shares a name is told once.
    if !problems.is_empty() {
        return problems;
    }
    let outputs: Vec<PathBuf> = pairs.iter().flat_map(|pair| pair.arguments.output.clone()).collect();
    let own = [TABLE, PAGE, CONTACT_SHEET, MANIFEST].map(|name| folder.join(name));
    let bones = (arguments.bones != "auto").then(|| PathBuf::from(&arguments.bones));
    let motions = arguments.motions.iter().filter(|motion| !is_built_in(motion)).map(PathBuf::from);
    let read = arguments.characters.iter().cloned().chain(motions).chain(bones);
    problems.extend(check_outputs(read, outputs.iter().chain(&own)).err().map(|clash| clash.to_string()));
    if !arguments.force {
        match strangers(folder, outputs.iter().map(PathBuf::as_path)) {
            Err(problem) => problems.push(problem),
            Ok(files) => {
                let shown = files.iter().map(|path| format!("{} exists, and no shot wrote it", path.display()));
                problems.extend(shown);
                let last = problems.last_mut().filter(|_| !files.is_empty());
                last.into_iter()
                    .for_each(|last| *last += "\nhint: choose another folder with -o, or --force replaces them");
            }
        }
    }
    problems
}

/// Checks a shot and writes its scene.
fn shot(pair: Pair, origin: &Origin) -> Shot {
    let Pair { name, character, told, arguments } = pair;
    let scene = skin::prepared(&arguments, &arguments.output).and_then(|text| arguments.scene_of(&text));
    let reason = |failure: Failure| failure.to_string().trim_start_matches("error: ").to_string();
    Shot {
        name,
        character: character.to_string_lossy().into_owned(),
        motion: told,
        scene: scene.map_err(reason),
        origin: Origin { command: command(&origin.command, &arguments), ..origin.clone() },
        outputs: arguments.output,
    }
}

fn bring_up(shot: &Shot, outcome: &mut sinew_run::run::RunOutcome) -> Result<(), String> {
    let folder = shot.outputs.first().and_then(|path| Some(path.parent()?.join(&shot.name))).unwrap_or_default();
    let mut all = shot.outputs.iter();
    all.try_for_each(|path| skin::bring_up(&folder, path, &mut outcome.outputs)).map_err(|error| error.to_string())
}

/// The command line of one shot: the options of the whole one, with its own character, motion and files.
fn command(words: &[String], arguments: &skin::Arguments) -> Vec<String> {
    let mut program = super::Arguments::command();
    program.build();
    let all = std::iter::once("sinew".to_string()).chain(words.iter().cloned()).map(OsString::from);
    let matches = program.clone().try_get_matches_from(all).ok();
    let mut command = vec!["skin".to_string()];
    let below = program.find_subcommand("skin").zip(matches.as_ref().and_then(|all| all.subcommand_matches("skin")));
    if let Some((definition, given)) = below {
        for arg in definition.get_arguments() {
            let id = arg.get_id().as_str();
            let is_known = given.try_contains_id(id).unwrap_or(false);
            if !is_known || OF_ALL.contains(&id) || given.value_source(id) != Some(ValueSource::CommandLine) {
                continue;
            }
            let long = arg.get_long().unwrap_or(id);
            if matches!(arg.get_action(), ArgAction::SetTrue) {
                command.push(format!("--{long}"));
                continue;
            }
            let values = given.get_raw(id).into_iter().flatten();
            command.extend(values.map(|value| format!("--{long}={}", value.to_string_lossy())));
        }
    }
    command.extend(arguments.motion.iter().map(|motion| format!("--motion={motion}")));
    command.extend(arguments.animation.iter().map(|name| format!("--animation={name}")));
    command.extend(arguments.output.iter().map(|path| format!("--output={}", path.display())));
    command.extend(["--".into(), arguments.character.to_string_lossy().into_owned()]);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain() {
        assert_eq!(plain("Armature|mixamo.com|Layer 0"), "Armature-mixamo.com-Layer-0");
        assert_eq!(plain("../läuft"), "läuft");
    }

    /// The command in the manifest of a shot is that of this shot alone.
    #[test]
    fn a_shot_can_be_computed_alone() {
        let words = "skin a.glb b.glb --motion walk --motion m.bvh --sweep --jobs 2 --cells 600 --keep feet,hands --soft --json -o x/{}.glb";
        let words: Vec<String> = words.split(' ').map(String::from).collect();
        let parse = |words: &[String]| {
            use clap::Parser;
            let all = std::iter::once("sinew".to_string()).chain(words.iter().cloned());
            match super::super::Arguments::try_parse_from(all).unwrap().command {
                super::super::Command::Skin(skin) => *skin,
                _ => panic!("another command"),
            }
        };
        let all = parse(&words);
        let found = pairs(&all, Path::new("b.glb"), &patterns(&all).unwrap());
        assert_eq!(found.iter().map(|pair| pair.name.as_str()).collect::<Vec<_>>(), ["b_walk", "b_m"]);
        let alone = command(&words, &found[1].arguments);
        let text = "skin --keep=feet --keep=hands --soft --cells=600 --motion=m.bvh --output=x/b_m.glb -- b.glb";
        let (mut one, mut other): (Vec<&str>, Vec<&str>) =
            (alone.iter().map(String::as_str).collect(), text.split(' ').collect());
        one.sort_unstable();
        other.sort_unstable();
        assert_eq!(one, other);
        let again = parse(&alone);
        assert!(!again.sweep && again.characters == [Path::new("b.glb")] && again.motions == ["m.bvh"]);
    }
}
