//! Runs every scene of the repository through the built program: a scene file is both an example and a test.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::step::{Outcome, Verdict, binary, cargo, root, share_recipes, stream, target};
use crate::test::Options;

/// Scenes with this suffix take minutes and run with `--full` only.
const LARGE: &str = "_large.toml";

/// Scenes that take longest: they start first, so that at the end no core waits for one of them.
const LONG: [&str; 6] = [
    "contact/funnel.toml",
    "contact/funnel_penalty.toml",
    "basics/ring.toml",
    "muscle/calf.toml",
    "validation/torus.toml",
    "muscle/frog_quick_release.toml",
];

/// Runs all scenes, one per core at a time (each on one thread), and checks the exit status.
pub fn run(options: &Options) -> Outcome {
    let start = Instant::now();
    let mut scenes = files_below(&root().join("scenes"), "toml");
    scenes.retain(|path| options.full || !path.to_string_lossy().ends_with(LARGE));
    scenes.sort_by_cached_key(|path| (!LONG.iter().any(|name| path.ends_with(name)), path.clone()));
    if scenes.is_empty() {
        return Outcome::single("scenes", Verdict::Skipped("there are none".into()), 0.0);
    }
    let build = stream("scenes", &mut cargo(["build", "--quiet", "--release"]));
    if build.is_failure() {
        return build;
    }
    let (failed, found) = run_side_by_side(&scenes);
    keep_hashes(&found);
    let verdict = match failed {
        0 => Verdict::Passed,
        failed => Verdict::Failed(format!("{failed} of {}", scenes.len())),
    };
    let counts = [scenes.len() - failed, failed, 0];
    Outcome { name: "scenes".into(), verdict, counts, seconds: start.elapsed().as_secs_f64() }
}

/// Workers, one per core, take scenes from a common list. Returns the number of failed scenes, and the fingerprints of
/// the others.
fn run_side_by_side(scenes: &[PathBuf]) -> (usize, Vec<(String, String)>) {
    let workers = std::thread::available_parallelism().map_or(1, |count| count.get());
    let (next, failed, report) = (AtomicUsize::new(0), AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(scene) = scenes.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let start = Instant::now();
                    let verdict = run_one(scene);
                    let name = scene.strip_prefix(root()).unwrap_or(scene).display();
                    // One report at a time, so that the messages of a scene stay together.
                    let mut turn = report.lock();
                    match verdict {
                        Ok(hash) => {
                            eprintln!("ok     {:>6.1} s  {name}", start.elapsed().as_secs_f64());
                            if let Ok(found) = &mut turn {
                                found.push((name.to_string().replace('\\', "/"), hash));
                            }
                        }
                        Err(complaint) => {
                            failed.fetch_add(1, Ordering::Relaxed);
                            eprintln!("FAILED {:>6.1} s  {name}\n{complaint}", start.elapsed().as_secs_f64());
                        }
                    }
                }
            });
        }
    });
    (failed.into_inner(), report.into_inner().unwrap_or_default())
}

/// The fingerprints of all scenes, for other steps that run the same scenes differently.
pub fn hashes() -> PathBuf {
    target().join("scenes-out/hashes.json")
}

fn keep_hashes(found: &[(String, String)]) {
    let lines: Vec<String> = found.iter().map(|(scene, hash)| format!("  \"{scene}\": \"{hash}\"")).collect();
    let written = std::fs::create_dir_all(target().join("scenes-out"))
        .and_then(|()| std::fs::write(hashes(), format!("{{\n{}\n}}\n", lines.join(",\n"))));
    if let Err(error) = written {
        eprintln!("cannot keep the fingerprints of the scenes: {error}");
    }
}

/// Runs a scene and returns the fingerprint of its final state.
fn run_one(scene: &Path) -> Result<String, String> {
    let name = scene.strip_prefix(root().join("scenes")).unwrap_or(scene).with_extension("");
    let mut command = Command::new(binary("sinew"));
    command
        .current_dir(root())
        .args(["run", "--quiet", "--threads", "1", "--json"])
        .arg(scene.strip_prefix(root()).unwrap_or(scene));
    // Scenes to look at are written out; validation scenes only need their numbers.
    if name.starts_with("basics") {
        command.arg("-o").arg(target().join("scenes-out").join(name));
    } else {
        command.arg("--no-files");
    }
    share_recipes(&mut command);
    let result = command.stdin(Stdio::null()).output().map_err(|error| format!("cannot start sinew: {error}"))?;
    match result.status.code() {
        Some(0) => {
            let text = String::from_utf8_lossy(&result.stdout);
            let hash = text.split_once("\"hash\":\"").and_then(|(_, rest)| rest.split_once('"'));
            Ok(hash.map(|(hash, _)| hash.to_string()).unwrap_or_default())
        }
        code => Err(format!(
            "exit status {code:?}\n{}{}",
            String::from_utf8_lossy(&result.stdout),
            String::from_utf8_lossy(&result.stderr)
        )),
    }
}

/// All files with an extension in a folder and below; none if the folder does not exist.
pub fn files_below(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    found
}
