//! Figures for print: films, pictures that can be compared, and plots as files.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use crate::support::fresh_folder;

const BLOCK: &str = r#"
title = "A block sags"
duration = "0.5 s"
frame_rate = 20
[[body]]
name = "block"
mesh = { from = "box", size = ["20 cm", "5 cm", "5 cm"], cell = "2.5 cm" }
material = { type = "stable_neo_hookean", young = "30 kPa", poisson = 0.45 }
pin = [{ region = "x-min" }]
force = [{ region = "x-max", value = [0, 0, "-0.2 N"] }]
[record]
size = [192, 144]
color = "displacement"
report = true
plots = true
"#;

fn sinew(folder: &Path, path: Option<&Path>, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sinew"));
    command.current_dir(folder).args(words).stdin(Stdio::null());
    if let Some(path) = path {
        command.env("PATH", path);
    }
    command.output().expect("the program starts")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A folder with one run in `run`.
fn recorded() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = fresh_folder(&format!("figures_{}", std::process::id()));
        std::fs::write(folder.join("block.toml"), BLOCK).expect("a scene");
        let output = sinew(&folder, None, &["run", "-q", "block.toml", "-o", "run"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        folder
    })
}

fn converted(words: &[&str]) -> PathBuf {
    let folder = recorded();
    let output = sinew(folder, None, &[&["convert", "run", "-q"], words].concat());
    assert_eq!(output.status.code(), Some(0), "{words:?}: {}", stderr(&output));
    folder.to_path_buf()
}

fn read(path: PathBuf) -> Vec<u8> {
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Width, height, and whether pixels have an opacity, from the head of the file.
fn png(path: PathBuf) -> (u32, u32, bool) {
    let bytes = read(path);
    assert_eq!(&bytes[..8], b"\x89PNG\r\n\x1a\n");
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    (number(16), number(20), bytes[25] == 6)
}

/// The camera and the colors fit all frames of the recording, so a picture does not depend on which others are drawn.
#[test]
fn a_picture_is_the_same_alone_and_among_others() {
    let folder = converted(&["-o", "all.png"]);
    for frame in [0, 3, 10] {
        converted(&["-o", "one.png", "--frames", &frame.to_string()]);
        let [all, one] = ["all", "one"].map(|name| read(folder.join(format!("{name}_{frame:05}.png"))));
        assert!(all == one, "frame {frame} alone differs");
    }
    assert!(read(folder.join("all_00000.png")) != read(folder.join("all_00010.png")), "the block moves");
}

#[test]
fn a_transparent_background_gives_pictures_with_opacity() {
    let folder = converted(&["-o", "clear.png", "--frames", "10", "--transparent", "--size", "160x120"]);
    assert_eq!(png(folder.join("clear_00010.png")), (160, 120, true));
    converted(&["-o", "white.png", "--frames", "10", "--set", "record.background=\"white\"", "--size", "160x120"]);
    assert_eq!(png(folder.join("white_00010.png")), (160, 120, false));
}

/// Each switch changes the picture.
#[test]
fn edges_marks_bars_and_views_are_drawn() {
    let folder = converted(&["-o", "plain.png", "--frames", "10"]);
    let plain = read(folder.join("plain_00010.png"));
    let sets = [
        "record.edges=true",
        "record.scale_bar=false",
        "record.captions=false",
        "record.show=[\"pins\"]",
        "record.show=[\"loads\"]",
        "record.camera.view=\"top\"",
        "record.range=[0, \"1 m\"]",
    ];
    let mut seen = vec![plain];
    for set in sets {
        converted(&["-o", "other.png", "--frames", "10", "--set", set]);
        let other = read(folder.join("other_00010.png"));
        assert!(!seen.contains(&other), "{set} changes nothing");
        seen.push(other);
    }
}

#[test]
fn gif_holds_the_frames_in_real_time() {
    let folder = converted(&["-o", "film.gif", "-o", "slow.gif", "--size", "96x72"]);
    let bytes = read(folder.join("film.gif"));
    assert_eq!((&bytes[..6], &bytes[6..10]), (&b"GIF89a"[..], &[96, 0, 72, 0][..]));
    let delays = |bytes: &[u8]| -> Vec<u16> {
        let blocks = bytes.windows(6).filter(|block| block[..3] == [0x21, 0xf9, 4]);
        blocks.map(|block| u16::from_le_bytes([block[4], block[5]])).collect()
    };
    assert_eq!(delays(&bytes), [5; 11], "20 frames per second");
    converted(&["-o", "slow.gif", "--size", "96x72", "--speed", "0.1"]);
    assert_eq!(delays(&read(folder.join("slow.gif"))), [50; 11]);
}

/// A program in place of `ffmpeg` that keeps its arguments and its input.
fn stand_in(folder: &Path) -> PathBuf {
    let programs = folder.join("programs");
    std::fs::create_dir_all(&programs).expect("a folder");
    let script = "#!/bin/sh\n[ \"$1\" = -version ] && exit 0\nfor last; do :; done\n\
                  echo \"$@\" > \"$KEPT/arguments\"\n/bin/cat > \"$KEPT/input\"\necho film > \"$last\"\n";
    let script = script.replace("$KEPT", programs.to_str().expect("a plain path"));
    let program = programs.join("ffmpeg");
    std::fs::write(&program, script).expect("a program");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("a program");
    programs
}

#[test]
fn videos_go_through_ffmpeg() {
    let folder = recorded();
    let programs = stand_in(folder);
    let path = std::env::join_paths([programs.clone(), "/bin".into(), "/usr/bin".into()]).expect("a path");
    for (film, size, pixel) in [("film.mp4", "97x73", 3), ("film.webm", "96x72", 4)] {
        let mut words = vec!["convert", "run", "-o", film, "--size", size];
        if pixel == 4 {
            words.push("--transparent");
        }
        let output = sinew(folder, Some(Path::new(&path)), &words);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!(read(folder.join(film)), b"film\n");
        let arguments = String::from_utf8(read(programs.join("arguments"))).expect("text");
        assert!(arguments.contains("-video_size 96x72 -framerate 20.000000 -i -"), "{arguments}");
        assert_eq!(arguments.contains("yuva420p"), pixel == 4, "{arguments}");
        assert_eq!(read(programs.join("input")).len(), 11 * 96 * 72 * pixel, "11 pictures of even size");
    }
}

#[test]
fn a_video_without_ffmpeg_says_how_to_get_it() {
    let folder = recorded();
    let empty = fresh_folder("figures_no_programs");
    let output = sinew(folder, Some(&empty), &["convert", "run", "-o", "none.mp4"]);
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(said.contains("needs the program `ffmpeg`") && said.contains("apt install ffmpeg"), "{said}");
    assert!(said.contains(".gif") && !folder.join("none.mp4").exists(), "{said}");
}

#[test]
fn all_mistakes_are_told_at_once() {
    let folder = recorded();
    let words = "convert run -o a.xyz -o b.mp4 --transparent --range 5,1 --camera sideways --size 0x99999 --speed -1 --set body.block.density=3";
    let output = sinew(folder, None, &words.split(' ').collect::<Vec<_>>());
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    for needle in [
        "unknown format of a.xyz",
        "the color range must increase",
        "\"front\", \"back\"",
        "`size` must be at least 16",
        "got 99999",
        "record.speed=-1",
        "`body.block.density=3` changes nothing",
    ] {
        assert!(said.contains(needle), "{needle} is missing: {said}");
    }
    let output =
        sinew(folder, None, &["convert", "run", "-o", "c.mp4", "--transparent", "--size", "big", "--range", "1"]);
    let said = stderr(&output);
    for needle in
        ["--size big", "--range 1: a range has the form MIN,MAX", "c.mp4 cannot have a transparent background"]
    {
        assert!(said.contains(needle), "{needle} is missing: {said}");
    }
}

/// Plots of a run beside its report, and later from its recording.
#[test]
fn plots_are_files_with_labels_and_all_values() {
    let folder = converted(&["-o", "later.svg"]);
    for start in ["run/plots/", "later_"] {
        let file = |end: &str| String::from_utf8(read(folder.join(format!("{start}energy{end}")))).expect("text");
        let (svg, csv) = (file(".svg"), file(".csv"));
        assert!(svg.starts_with("<svg xmlns=") && svg.trim_end().ends_with("</svg>"), "{svg}");
        assert!(svg.contains(">energy [J]</text>") && svg.contains(">time [s]</text>"), "{svg}");
        assert!(csv.starts_with("time [s],total [J]") && csv.lines().count() == 12, "{csv}");
    }
    let page = String::from_utf8(read(folder.join("run/report.html"))).expect("text");
    let count = |part: &str| page.matches(part).count();
    assert!(count("<figure class=\"plot\">") > 3);
    for part in ["data-file=\"svg\"", "data-file=\"csv\"", "rotate(-90)"] {
        assert_eq!(count(part), count("<figure class=\"plot\">"), "{part}");
    }
}
