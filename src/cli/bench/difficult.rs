//! `sinew bench difficult`: difficult characters through `sinew skin` without flags.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};
use sinew_fem::Interrupt;

use super::super::call::{self, Called};
use super::super::console::Console;
use super::Failure;

/// Difficult characters with a motion each: how many end with files, without new crossings, and with all decisions told
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Number of characters
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    count: u64,

    /// Seed of the first, as of `sinew character --difficult`
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    seed: u64,

    /// Lattice cells of each
    #[arg(long, value_name = "N", default_value_t = 1500, value_parser = clap::value_parser!(u32).range(100..))]
    cells: u32,

    /// Frames per second
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..))]
    frame_rate: u32,

    /// Keeps characters, scenes and runs in this folder, with the pictures of their reports
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,

    /// Prints the result as one JSON object on stdout
    #[arg(long)]
    pub json: bool,
}

/// What came of one character.
struct Outcome {
    seed: u64,
    /// What it is, in the words of its file.
    told: String,
    new_crossings: u64,
    rest_crossings: u64,
    /// Loose parts by what was decided about them.
    parts: [usize; 3],
    newton: f64,
    seconds: f64,
    /// Why it failed.
    failure: Option<String>,
}

/// Runs the characters one after the other.
pub fn measure(arguments: &Arguments, console: Console) -> Result<Value, Failure> {
    let temporary = std::env::temp_dir().join(format!("sinew-bench-difficult-{}", std::process::id()));
    let folder = arguments.keep.as_ref().unwrap_or(&temporary);
    std::fs::create_dir_all(folder).map_err(|source| Failure::Write { what: folder.display().to_string(), source })?;
    let mut outcomes = Vec::new();
    for seed in arguments.seed..arguments.seed.saturating_add(arguments.count) {
        if Interrupt::ambient().is_wanted() {
            break;
        }
        let begin = Instant::now();
        let mut outcome = run(seed, folder, arguments);
        outcome.seconds = begin.elapsed().as_secs_f64();
        let Outcome { told, new_crossings, rest_crossings, parts, seconds, failure, .. } = &outcome;
        console.note(&format!(
            "{told}: {} flesh, {} on flesh, {} on bones; crossings {new_crossings} new, {rest_crossings} since rest; {seconds:.1} s{}",
            parts[0],
            parts[1],
            parts[2],
            failure.as_ref().map_or_else(String::new, |failure| format!("; FAILED: {failure}"))
        ));
        outcomes.push(outcome);
    }
    if arguments.keep.is_none() {
        let _ = std::fs::remove_dir_all(&temporary);
    }
    let failed: Vec<Value> = outcomes
        .iter()
        .filter_map(|outcome| {
            Some(json!({ "seed": outcome.seed, "told": outcome.told, "cause": outcome.failure.as_ref()? }))
        })
        .collect();
    Ok(json!({
        "characters": outcomes.len(),
        "failed": failed.len(),
        "new_crossings": outcomes.iter().map(|outcome| outcome.new_crossings).sum::<u64>(),
        "with_crossings_since_rest": outcomes.iter().filter(|outcome| outcome.rest_crossings > 0).count(),
        "most_crossings_since_rest": outcomes.iter().map(|outcome| outcome.rest_crossings).max(),
        "parts_of_flesh": outcomes.iter().map(|outcome| outcome.parts[0]).sum::<usize>(),
        "parts_on_flesh": outcomes.iter().map(|outcome| outcome.parts[1]).sum::<usize>(),
        "parts_on_bones": outcomes.iter().map(|outcome| outcome.parts[2]).sum::<usize>(),
        "most_newton_iterations": outcomes.iter().map(|outcome| outcome.newton).fold(0.0, f64::max),
        "seconds": outcomes.iter().map(|outcome| outcome.seconds).sum::<f64>(),
        "failures": failed,
    }))
}

fn sinew(words: &[&str]) -> Called {
    call::call(words.iter().map(OsString::from), Interrupt::ambient())
}

/// Generates the character of a seed, and runs it as `sinew skin` would, with an independent check of every frame.
fn run(seed: u64, folder: &Path, arguments: &Arguments) -> Outcome {
    let mut outcome = Outcome {
        seed,
        told: seed.to_string(),
        new_crossings: 0,
        rest_crossings: 0,
        parts: [0; 3],
        newton: 0.0,
        seconds: 0.0,
        failure: None,
    };
    outcome.failure = try_run(folder, arguments, &mut outcome).err();
    outcome
}

fn try_run(folder: &Path, arguments: &Arguments, outcome: &mut Outcome) -> Result<(), String> {
    let seed = outcome.seed.to_string();
    let path = |end: &str| folder.join(format!("{seed}{end}")).to_string_lossy().into_owned();
    let [character, scene, skin, output] = [path(".glb"), path(".toml"), path(".usda"), path("")];
    outcome.told = done(sinew(&["character", "--difficult", &seed, "-q", "-o", &character]))?.trim().to_string();
    let (cells, rate) = (arguments.cells.to_string(), arguments.frame_rate.to_string());
    let skinned = ["skin", &character, "-q", "--cells", &cells, "--frame-rate", &rate, "--scene", &scene, "-o", &skin];
    done(sinew(&skinned))?;
    let pictures = format!("record.pictures={}", arguments.keep.is_some());
    let run = [
        "run",
        &scene,
        "-q",
        "--json",
        "-o",
        &output,
        "--set",
        "contact.check=true",
        "--set",
        "record.apng=false",
        "--set",
        "solver.tolerance=1e-3",
        "--set",
        &pictures,
    ];
    let result: Value = serde_json::from_str(&done(sinew(&run))?).map_err(|error| error.to_string())?;
    let facts = &result["characters"];
    let worst = |name: &str| facts["crossing"][name]["value"].as_u64();
    outcome.new_crossings = worst("triangle_pairs").ok_or("the report counts no crossings")?;
    outcome.rest_crossings = worst("triangle_pairs_since_rest").unwrap_or_default();
    outcome.newton = facts["newton_iterations"]["most"]["value"].as_f64().unwrap_or_default();
    for part in facts["bodies"][0]["parts"].as_array().into_iter().flatten() {
        let role = ["flesh", "on_flesh", "on_bone"].into_iter().position(|role| part["role"] == role);
        outcome.parts[role.ok_or("a part without a role")?] += 1;
    }
    if outcome.parts[0] == 0 {
        return Err("no decision is told".into());
    }
    let text = std::fs::read_to_string(Path::new(&output).join(format!("{seed}.usda")))
        .map_err(|error| format!("no file: {error}"))?;
    // No word of such a file has these letters but numbers that are none.
    if ["nan,", "nan)", "inf,", "inf)"].iter().any(|bad| text.contains(bad)) {
        return Err("the file has numbers that are not finite".into());
    }
    match outcome.new_crossings {
        0 => Ok(()),
        pairs => Err(format!("{pairs} pairs of triangles cross that did not at rest")),
    }
}

/// The output of a command, or its messages in one line.
fn done(called: Called) -> Result<String, String> {
    match called.status {
        0 => Ok(called.output),
        _ => Err(called.messages.split_whitespace().collect::<Vec<_>>().join(" ")),
    }
}
