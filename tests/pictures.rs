//! Pictures are not the run: they change nothing in it, and it goes without them.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::support::fresh_folder;

const BLOCK: &str = r#"
duration = "1 s"
[[body]]
name = "block"
mesh = { from = "box", size = ["20 cm", "5 cm", "5 cm"], cell = "2.5 cm" }
material = { type = "stable_neo_hookean", young = "30 kPa", poisson = 0.45 }
pin = [{ region = "x-min" }]
[record]
size = [96, 64]
png = true
apng = true
"#;

fn run(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sinew"));
    command.current_dir(folder).arg("run").arg("block.toml").args(words).stdin(Stdio::null());
    let output = command.output().expect("the program starts");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

#[test]
fn pictures_change_nothing_in_the_run() {
    let folder = fresh_folder("pictures");
    std::fs::write(folder.join("block.toml"), BLOCK).expect("a scene");
    run(&folder, &["-o", "with"]);
    run(&folder, &["-o", "one", "--threads", "1"]);
    run(&folder, &["-o", "without", "--no-pictures"]);
    let read = |name: &str| std::fs::read(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    for name in ["recording.sinew", "probes.csv"] {
        assert!(read(&format!("with/{name}")) == read(&format!("without/{name}")), "{name} differs");
        assert!(read(&format!("with/{name}")) == read(&format!("one/{name}")), "{name} differs");
    }
    // Drawn on the other core or at the end.
    for name in ["animation.png", "frames/frame_00000.png", "frames/frame_00060.png"] {
        assert!(read(&format!("with/{name}")) == read(&format!("one/{name}")), "{name} differs");
    }
    let page = String::from_utf8(read("without/report.html")).expect("text");
    assert!(!folder.join("without/animation.png").exists() && !folder.join("without/frames").exists());
    // The player of animations stays, without a picture (base64 of the signature of PNG files).
    assert!(!page.contains("iVBORw0KGgo"), "the report has a picture");
    // Drawn later, from the recording.
    let mut convert = Command::new(env!("CARGO_BIN_EXE_sinew"));
    convert.current_dir(&folder).args(["convert", "without", "-q", "-o", "later.apng", "-o", "later.png"]);
    assert!(convert.status().expect("the program starts").success());
    assert!(read("later.apng") == read("with/animation.png"), "the animation differs");
    assert!(read("later_00060.png") == read("with/frames/frame_00060.png"), "a still differs");
}
