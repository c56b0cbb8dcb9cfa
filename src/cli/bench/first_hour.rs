//! `sinew bench first-hour`: what a new user waits for.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sinew_rig::characters::Character;
use sinew_run::manifest::Manifest;

use super::super::console::Console;
use super::child::{seconds, start};
use super::{Failure, median, skin, spread};

/// The scene of the README.
const SCENE: &str = r#"# block.toml
duration = "1 s"

[[body]]
name = "block"
mesh = { from = "box", size = ["20 cm", "5 cm", "5 cm"], cell = "1 cm" }
material = { type = "stable_neo_hookean", young = "30 kPa", poisson = 0.45 }
pin = [{ region = "x-min" }]

[[probe]]
name = "tip"
region = "x-max"

[record]
apng = true

[expect]
"tip.displacement.z" = { max = "-1 cm" }
"#;

/// A stage that takes longer than this to come or to end counts as failed.
const PATIENCE: Duration = Duration::from_secs(120);

/// Cells of the characters whose sizes are compared, from coarse to fine, and frames of each.
const SIZES: [u32; 5] = [1_500, 3_000, 6_000, 12_000, 24_000];
const CHARACTER_FRAMES: usize = 48;
const CHARACTERS: [Character; 3] = [Character::Hand, Character::Arm, Character::Torso];

/// What a new user waits for: the first picture, files beside the bare run, the end after Ctrl-C, the preview of a
/// character, and coarse characters beside finer ones
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Number of runs; reports the median, and the best of runs that are compared
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    repeats: u16,

    /// Skips characters of five sizes, which take minutes
    #[arg(long)]
    no_sizes: bool,

    /// Prints the result as one JSON object on stdout
    #[arg(long)]
    pub json: bool,
}

/// Runs the scene of the README in a temporary folder, as a user would: as a program.
pub fn measure(arguments: &Arguments, console: Console) -> Result<Value, Failure> {
    let folder = std::env::temp_dir().join(format!("sinew-bench-first-hour-{}", std::process::id()));
    let failed = |source| Failure::Write { what: folder.display().to_string(), source };
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let written = std::fs::write(folder.join("block.toml"), SCENE).map_err(failed);
    let result = written.and_then(|()| {
        let mut figures = measure_in(&folder, arguments, console)?;
        figures["preview_seconds"] = preview_seconds(&folder, console)?.into();
        if !arguments.no_sizes {
            let (worst, all) = coarse_over_fine(arguments.repeats, console)?;
            figures["coarse_over_fine"] = worst.into();
            figures["seconds_per_frame_by_cells"] = all;
        }
        Ok(figures)
    });
    let _ = std::fs::remove_dir_all(&folder);
    result
}

fn measure_in(folder: &Path, arguments: &Arguments, console: Console) -> Result<Value, Failure> {
    let (mut bare, mut whole) = (Vec::new(), Vec::new());
    // In turn, so that a busy machine slows both.
    for number in 0..arguments.repeats {
        bare.push(seconds(folder, &["run", "block.toml", "-q", "--no-files"])?);
        whole.push(seconds(folder, &["run", "block.toml", "-q", "-o", &format!("out{number}")])?);
        let index = bare.len() - 1;
        console.note(&format!("bare run {:.2} s, with files and pictures {:.2} s", bare[index], whole[index]));
    }
    let (bare_seconds, seconds) = (median(&bare), median(&whole));
    let frames = seconds_after_interrupt(folder, &["--set", "duration=1000"], |manifest| manifest.frames > 0)?;
    let pictures = ["--set", "record.png=true", "--set", "record.size=[3000, 2000]"];
    let pictures = seconds_after_interrupt(folder, &pictures, |manifest| manifest.checkpoint == Some(60))?;
    Ok(json!({
        "seconds_to_first_picture": seconds,
        // Other programs only ever add time, and more to one run than to another.
        "overhead_of_files": best(&whole) / best(&bare) - 1.0,
        "seconds_after_interrupt": frames.zip(pictures).map(|(frames, pictures)| frames.max(pictures)),
        "bare_seconds": bare_seconds,
        "bare_spread": spread(&bare),
        "seconds_spread": spread(&whole),
        "threads": rayon::current_num_threads(),
    }))
}

/// Longest time until a sample character is shown in motion, with report and pictures \[s\].
fn preview_seconds(folder: &Path, console: Console) -> Result<f64, Failure> {
    let mut longest = 0.0f64;
    for character in CHARACTERS.map(|character| character.name()) {
        let file = format!("{character}.glb");
        seconds(folder, &["character", character, "-q", "-o", &file])?;
        let taken = seconds(folder, &["skin", &file, "--preview", "-q", "-o", &format!("{character}.usda")])?;
        console.note(&format!("preview of the {character}: {taken:.1} s"));
        longest = longest.max(taken);
    }
    Ok(longest)
}

/// Largest ratio of the best times of two neighboring sizes of a character, the coarse over the fine one; and all times.
fn coarse_over_fine(repeats: u16, console: Console) -> Result<(f64, Value), Failure> {
    let mut worst = 0.0f64;
    let mut all = serde_json::Map::new();
    for character in CHARACTERS {
        let mut times = [(0, f64::INFINITY); SIZES.len()];
        // All sizes in turn, so that a busy machine slows all of them.
        for _ in 0..repeats {
            for (best, wanted) in times.iter_mut().zip(SIZES) {
                let (cells, seconds) = skin::seconds_per_frame(character, wanted, CHARACTER_FRAMES, console)?;
                *best = (cells, best.1.min(seconds));
            }
        }
        for (cells, seconds) in times {
            console.note(&format!("{} of {cells} cells: {seconds:.3} s per frame", character.name()));
        }
        worst = times.windows(2).map(|pair| pair[0].1 / pair[1].1).fold(worst, f64::max);
        all.insert(character.name().into(), json!(times));
    }
    Ok((worst, all.into()))
}

fn best(seconds: &[f64]) -> f64 {
    seconds.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Seconds from Ctrl-C to the end of a run with more `options`, interrupted once `is_there`; `None` where the system has
/// no `kill`.
fn seconds_after_interrupt(
    folder: &Path,
    options: &[&str],
    is_there: impl Fn(&Manifest) -> bool,
) -> Result<Option<f64>, Failure> {
    let output = folder.join("interrupted");
    let mut child = start(folder, &[&["run", "block.toml", "-q", "-o", "interrupted"], options].concat())?;
    let begin = Instant::now();
    while !Manifest::read(&output).is_ok_and(|manifest| is_there(&manifest)) && begin.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(20));
    }
    let begin = Instant::now();
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    if !sent.is_ok_and(|status| status.success()) {
        let _ = child.kill();
        let _ = child.wait();
        return Ok(None);
    }
    let ended = child.wait().map_err(|error| Failure::Other(error.to_string()))?;
    let time = begin.elapsed().as_secs_f64();
    std::fs::remove_dir_all(&output).map_err(|source| Failure::Write { what: output.display().to_string(), source })?;
    match ended.code() {
        Some(2) => Ok(Some(time)),
        _ => Err(Failure::Other(format!("the run ended with {ended} before it was interrupted"))),
    }
}

#[cfg(test)]
mod tests {
    use super::SCENE;

    #[test]
    fn the_scene_is_that_of_the_readme() {
        assert!(include_str!("../../../README.md").contains(SCENE));
    }
}
