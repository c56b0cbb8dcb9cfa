//! What the files of `sinew skin` cost, and how soon its first frame is there.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sinew_rig::characters::Character;
use sinew_run::manifest::Manifest;

use super::super::console::Console;
use super::child::{seconds, start};
use super::{Failure, spread};

/// How often the manifest is read.
const PAUSE: Duration = Duration::from_millis(5);

/// Runs a sample character with the defaults of `sinew skin`, as a program; the best of some runs.
pub(super) fn measure(character: Character, repeats: u16, console: Console) -> Result<Value, Failure> {
    let folder = std::env::temp_dir().join(format!("sinew-bench-skin-files-{}", std::process::id()));
    let failed = |source| Failure::Write { what: folder.display().to_string(), source };
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let result = measure_in(&folder, character, repeats, console);
    let _ = std::fs::remove_dir_all(&folder);
    result
}

fn measure_in(folder: &Path, character: Character, repeats: u16, console: Console) -> Result<Value, Failure> {
    seconds(folder, &["character", character.name(), "-q", "-o", "character.glb"])?;
    seconds(folder, &["skin", "character.glb", "--scene", "skin.toml", "-q"])?;
    let (mut bare, mut whole, mut first) = (Vec::new(), Vec::new(), Vec::new());
    // In turn, so that a busy machine slows both.
    for number in 0..repeats {
        bare.push(seconds(folder, &["run", "skin.toml", "-q", "--no-files"])?);
        let [to_first, to_end] = with_files(folder, &format!("out{number}"))?;
        first.push(to_first);
        whole.push(to_end);
        console.note(&format!("bare run {:.1} s, with files {to_end:.1} s", bare[bare.len() - 1]));
    }
    let best = |times: &[f64]| times.iter().copied().fold(f64::INFINITY, f64::min);
    Ok(json!({
        "share_of_files": 1.0 - best(&bare) / best(&whole),
        "seconds_first_frame": best(&first),
        "bare_seconds": best(&bare),
        "seconds": best(&whole),
        "bare_spread": spread(&bare),
        "seconds_spread": spread(&whole),
    }))
}

/// Seconds to the first frame and to the end of a run with all its files.
fn with_files(folder: &Path, output: &str) -> Result<[f64; 2], Failure> {
    let begin = Instant::now();
    let mut child = start(folder, &["run", "skin.toml", "-q", "-o", output])?;
    let wait = |error: std::io::Error| Failure::Other(error.to_string());
    let mut first = None;
    let ended = loop {
        let is_there = || Manifest::read(&folder.join(output)).is_ok_and(|manifest| manifest.frames > 0);
        if first.is_none() && is_there() {
            first = Some(begin.elapsed().as_secs_f64());
        }
        if let Some(ended) = child.try_wait().map_err(wait)? {
            break ended;
        }
        std::thread::sleep(PAUSE);
    };
    let end = begin.elapsed().as_secs_f64();
    match ended.success() {
        true => Ok([first.unwrap_or(end), end]),
        false => Err(Failure::Other(format!("`sinew run` of the character ended with {ended}"))),
    }
}
