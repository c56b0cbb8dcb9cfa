//! The frames of a character that are written, and the poses between them for motion blur.

use std::path::Path;

use crate::support::character::{arm, complaint, told, write};
use crate::support::fresh_folder;

/// Options of a quick run.
const BRIEF: [&str; 4] = ["--cell", "2.5 cm", "--contact", "none"];

/// Points of a USD file by time code, as written.
fn samples(path: &Path) -> Vec<(f64, String)> {
    let text = std::fs::read_to_string(path).expect("text");
    let block = text.split("points.timeSamples = {\n").nth(1).and_then(|rest| rest.split("        }\n").next());
    let lines = block.expect("points").lines().map(|line| line.trim().split_once(": ").expect("a sample"));
    lines.map(|(code, points)| (code.parse().expect("a time code"), points.to_string())).collect()
}

fn codes(samples: &[(f64, String)]) -> Vec<f64> {
    samples.iter().map(|sample| sample.0).collect()
}

/// Coordinates of a sample.
fn numbers(points: &str) -> Vec<f64> {
    let words = points.split(|c: char| !"0123456789.+-e".contains(c)).filter(|word| !word.is_empty());
    words.map(|word| word.parse().expect("a number")).collect()
}

fn distance(a: &str, b: &str) -> f64 {
    numbers(a).iter().zip(numbers(b)).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

/// Start, frames per sample and number of samples of a PC2 file.
fn point_cache(path: &Path) -> (f32, f32, i32) {
    let bytes = std::fs::read(path).expect("a point cache");
    let word = |at: usize| [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
    (f32::from_le_bytes(word(20)), f32::from_le_bytes(word(24)), i32::from_le_bytes(word(28)))
}

#[test]
fn poses_between_frames_are_those_of_a_run_at_a_higher_rate() {
    let folder = fresh_folder("skin_shutter");
    write(&arm(), &folder.join("arm.glb"));
    let skin = |name: &str, options: &[&str]| {
        let [usd, cache] = ["usda", "pc2"].map(|end| format!("{name}/arm.{end}"));
        told(&folder, &[&["skin", "arm.glb", "-o", &usd, "-o", &cache][..], &BRIEF, options].concat());
        (samples(&folder.join(&usd)), point_cache(&folder.join(&cache)))
    };
    let (blurred, cache) =
        skin("blurred", &["--frame-rate", "8", "--frames", "0..1", "--sub-frames", "2", "--shutter", "0..0.5"]);
    assert_eq!(codes(&blurred), [0.0, 0.5, 1.0, 1.5]);
    assert_eq!(cache, (0.0, 0.5, 4));
    let text = std::fs::read_to_string(folder.join("blurred/arm.usda")).expect("text");
    for line in ["startTimeCode = 0\n", "endTimeCode = 1\n", "timeCodesPerSecond = 8\n"] {
        assert!(text.contains(line), "{line}");
    }
    let (fine, cache) = skin("fine", &["--frame-rate", "16", "--frames", "0..3"]);
    assert_eq!(codes(&fine), [0.0, 1.0, 2.0, 3.0]);
    assert_eq!(cache, (0.0, 1.0, 4));
    for (blurred, fine) in blurred.iter().zip(&fine) {
        assert!(blurred.1 == fine.1, "frame {}", blurred.0);
    }
    // On the way from one to the next.
    let [first, between, next] = [0, 1, 2].map(|k| blurred[k].1.as_str());
    let (all, part, rest) = (distance(first, next), distance(first, between), distance(between, next));
    assert!(all > 0.1 && part < all && rest < all && part + rest < 1.2 * all, "{part} and {rest} of {all}");

    // Around each frame; the time before the first is simulated too.
    let (centered, _) = skin("centered", &["--frame-rate", "8", "--frames", "1..1", "--shutter", "-0.25..0.25"]);
    assert_eq!(codes(&centered), [0.75, 1.0, 1.25]);
    assert!(distance(&centered[0].1, &centered[1].1) > 1e-5);
}

#[test]
fn frames_are_chosen_by_number() {
    let folder = fresh_folder("skin_frames");
    write(&arm(), &folder.join("arm.glb"));
    let skin = |name: &str, options: &[&str]| {
        let usd = format!("{name}/arm.usda");
        told(&folder, &[&["skin", "arm.glb", "-o", &usd, "--frame-rate", "8"][..], &BRIEF, options].concat());
        samples(&folder.join(&usd))
    };
    let all = skin("all", &[]);
    assert_eq!(codes(&all), [0.0, 1.0, 2.0]);
    // The same run with fewer frames written.
    assert_eq!(skin("some", &["--frames", "1..2", "--start", "0 s"]), all[1..]);
    // Another run that begins there.
    let late = skin("late", &["--frames", "2..2"]);
    assert_eq!(codes(&late), [2.0]);
    let (off, moved) = (distance(&late[0].1, &all[2].1), distance(&all[0].1, &all[1].1));
    assert!(off < 0.02 * moved, "{off} of {moved}");
}

#[test]
fn frames_and_shutters_that_cannot_be_are_refused() {
    let folder = fresh_folder("skin_frames_refused");
    write(&arm(), &folder.join("arm.glb"));
    let cases: [(&[&str], &[&str]); 9] = [
        (&["--frames", "5..2"], &["--frames", "before the first"]),
        (&["--frames", "5"], &["--frames", "101..148"]),
        (&["--frames", "0..2", "--duration", "1 s"], &["--duration", "--frames"]),
        (&["--frames", "900..901"], &["ends at 0.25 s"]),
        (&["--frames", "1..1", "--start", "0.2 s"], &["before --start"]),
        (&["--shutter", "0.5..0"], &["--shutter", "0..0.5"]),
        (&["--shutter", "0..0"], &["--shutter", "never opens"]),
        (&["--shutter", "nan..1"], &["--shutter", "two parts"]),
        (&["--sub-frames", "1"], &["--sub-frames", "2..=64"]),
    ];
    for (options, causes) in cases {
        complaint(&folder, &[&["skin", "arm.glb"][..], options].concat(), causes);
    }
    told(&folder, &[&["skin", "arm.glb", "--scene", "scene.toml", "--frames", "1..2"][..], &BRIEF].concat());
    let scene = std::fs::read_to_string(folder.join("scene.toml")).expect("a scene");
    let cases = [
        ("skin_frames = [4, 2]", "before the first"),
        ("skin_frames = [0, 99]", "frames 1 to 2 are"),
        ("skin_shutter = [0, 0.5]", "`frame_rate = 96` and `every = 4`"),
        ("skin_shutter = [0.5, 0]", "opens before the frame"),
        ("skin_shutter = [0, 2]", "at most 1"),
    ];
    for (line, cause) in cases {
        std::fs::write(folder.join("bad.toml"), scene.replace("skin_frames = [1, 2]", line)).expect("a scene");
        complaint(&folder, &["check", "bad.toml"], &["bad.toml", cause]);
    }
    assert!(!folder.join("out").exists());
}
