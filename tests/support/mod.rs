//! Shared by the tests of the root package: paths and generated pages.
#![allow(dead_code)] // each test binary uses its own part

pub mod character;
pub mod flesh;

use std::path::{Path, PathBuf};

use sinew::scene::Scene;
use sinew::scene::store::Recording;

/// Root of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Text of a file of the repository.
pub fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Compares a generated file with the current output of its source. With `SINEW_BLESS=1` (`cargo xtask docs`) writes it
/// instead.
pub fn assert_generated(path: &str, expected: &str) {
    let file = root().join(path);
    if std::env::var_os("SINEW_BLESS").is_some() {
        std::fs::create_dir_all(file.parent().expect("generated files lie in folders")).expect("folder");
        std::fs::write(&file, expected).expect("write");
        return;
    }
    let found = std::fs::read_to_string(&file).unwrap_or_default();
    if found == expected {
        return;
    }
    let line = found.lines().zip(expected.lines()).position(|(a, b)| a != b);
    let line = line.unwrap_or_else(|| found.lines().count().min(expected.lines().count()));
    panic!(
        "{path} is out of date from line {} on:\n  file: {}\n  now:  {}\nrun `cargo xtask docs`",
        line + 1,
        found.lines().nth(line).unwrap_or("(end)"),
        expected.lines().nth(line).unwrap_or("(end)"),
    );
}

/// Files of the repository that people wrote: everything except build output, results and version control.
pub fn files() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("folder of the repository").flatten() {
            let path = entry.path();
            let name = entry.file_name();
            if path.is_dir() {
                if !["target", "out", ".git"].iter().any(|skipped| name == *skipped) {
                    folders.push(path);
                }
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Scenes whose first frames take as long as those of all others, and which resume nothing that others do not; only
/// `SINEW_FULL=1` kills them.
const SLOW_SCENES: [&str; 13] = [
    "anatomy/cover.toml",
    "anatomy/flex.toml",
    "bench/cube.toml",
    "contact/bone_inside.toml",
    "contact/funnel.toml",
    "contact/funnel_penalty.toml",
    "contact/hertz_sphere.toml",
    "contact/knot_penalty.toml",
    "contact/lobes_penalty.toml",
    "lattice/contraction.toml",
    "muscle/convergence.toml",
    "muscle/convergence_step.toml",
    "validation/locking_cantilever.toml",
];

/// Maximum number of frames of each run of a scene that is killed and continued (`tests/resume.rs`): enough to be killed
/// anywhere. None for scenes that are left alone there. `SINEW_FULL=1` takes 24, and all scenes.
pub fn frames_to_resume(path: &Path, scene: &Scene) -> Option<usize> {
    let is_full = std::env::var_os("SINEW_FULL").is_some();
    let is_slow = !is_full && SLOW_SCENES.iter().any(|name| path.ends_with(name));
    let most = scene.frame_count().min(if is_full { 24 } else { 3 });
    let runs = scene.study.as_ref().map_or(1, |study| study.runs().len());
    (!is_slow && most * runs >= 3 && !path.to_string_lossy().contains("_large")).then_some(most)
}

/// A fresh, empty folder below the target folder of the test.
pub fn fresh_folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).expect("old output can be removed");
    }
    std::fs::create_dir_all(&folder).expect("new folder");
    folder
}

/// Every number of a recording except wall-clock times.
pub fn numbers(path: &Path) -> Vec<u64> {
    let recording = Recording::open(path).unwrap();
    let mut bits = Vec::new();
    for frame in recording.frames() {
        let stored = frame.unwrap();
        let view = stored.view(recording.header());
        bits.push(view.index as u64);
        bits.extend(view.probe_values.iter().map(|v| v.to_bits()));
        for body in &view.bodies {
            bits.extend(body.positions.iter().chain(body.velocities).flat_map(|v| v.to_array()).map(f64::to_bits));
        }
        for shape in &view.shapes {
            bits.extend(shape.pose.translation.to_array().map(f64::to_bits));
            let q = shape.pose.rotation;
            bits.extend([q.w, q.x, q.y, q.z].map(f64::to_bits));
        }
        bits.push(view.report.newton_iterations as u64);
        bits.push(view.report.linear_iterations as u64);
    }
    bits
}
