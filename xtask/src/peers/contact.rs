//! `cargo xtask bench peers contact`: two mats in contact, in our program, ipctk and MuJoCo, in one run.
//!
//! - ipctk detects contacts at the instant that `sinew bench contact --write` writes, so that both see the same
//!   surface; the results must agree.
//! - MuJoCo steps the same mats in the same frames by its own contact, compared with our penalty; both must bring the
//!   upper mat to rest.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};

use super::engine::{self, counted_seconds, own_report, run_script};
use super::options;
use super::others::Others;
use super::report::{short, threads_text};

/// Names of the peers, as in `--only`.
const PEERS: [&str; 2] = ["ipctk", "mujoco"];

/// Detection queries: near pairs at one position, and the free fraction of two motions.
const QUESTIONS: [&str; 3] = ["static", "swept", "ahead"];

/// Relative tolerance of free fractions: both stop before the collision, each by its own margin.
const SHARE_TOLERANCE: f64 = 0.2;

/// Tolerance of the mean height of the upper mat \[m\], a tenth of its thickness: barriers keep a gap of half of it,
/// and penalties yield.
const HEIGHT_TOLERANCE: f64 = 1e-3;

/// Relative tolerance of loads.
const LOAD_TOLERANCE: f64 = 0.03;

/// Limit on MuJoCo's stepping \[s\].
const CAP_SECONDS: f64 = 120.0;

/// Processor use of other programs, in cores, above which the report mentions it.
const QUIET_CORES: f64 = 0.1;

#[derive(Clone, Debug, PartialEq)]
struct Options {
    /// Cells along each mat.
    cells: usize,
    frames: usize,
    only: Vec<String>,
    is_json: bool,
    cap_seconds: f64,
    program: Option<PathBuf>,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options =
            Self { cells: 78, frames: 10, only: Vec::new(), is_json: false, cap_seconds: CAP_SECONDS, program: None };
        let names = ["--cells", "--frames", "--only", "--cap", "--program"];
        options.is_json = options::read(arguments, &names, |name, value| options.set(name, value))?;
        Ok(options)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let whole = |least: usize, most: usize| {
            let count = value.parse().ok().filter(|count| (least..=most).contains(count));
            count.ok_or(format!("{name} is a whole number from {least} to {most}, not \"{value}\""))
        };
        match name {
            "--cells" => self.cells = whole(8, 400)?,
            "--frames" => self.frames = whole(2, 1000)?,
            "--only" => self.only.extend(options::listed("peer", value, &PEERS)?),
            "--cap" => self.cap_seconds = options::seconds(name, value)?,
            _ => self.program = Some(value.into()),
        }
        Ok(())
    }

    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|wanted| wanted == name)
    }
}

/// Runs the comparison and prints it; exits with 1 if no peer could run, with 2 if our own program could not.
pub fn run(arguments: &[String]) -> ExitCode {
    let report = Options::parse(arguments).and_then(|options| {
        let report = compare(&options)?;
        super::keep("contact", &report.to_json(), &report.to_markdown())?;
        if options.is_json {
            println!("{}", report.to_json())
        } else {
            print!("{}", report.to_markdown())
        }
        Ok(report)
    });
    match report {
        Ok(report) if report.ipctk.is_err() && report.mujoco.is_err() => ExitCode::FAILURE,
        Ok(_) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

fn compare(options: &Options) -> Result<Report, String> {
    let program = super::own_program(options.program.as_deref())?;
    let version = super::version(&program)?;
    // Install first: downloads must not run during timing.
    let environments = PEERS.map(|name| {
        if !options.wants(name) {
            return Err("not asked for".to_string());
        }
        eprintln!("{name}: installing");
        engine::environment(name).map_err(|reason| format!("cannot be installed: {reason}"))
    });
    let [ipctk, mujoco] = environments;
    let moment = engine::folder().join("work/contact");
    let before = Ours::measure(&program, options, &moment)?;
    let ipctk = ipctk.and_then(|environment| {
        let threads = (before.threads as usize).to_string();
        let arguments = ["--moment".into(), moment.display().to_string(), "--threads".into(), threads];
        let json = run_script(&environment, "contact_ipctk.py", &arguments, options.cap_seconds)?;
        Peer::new(json)
    });
    let mujoco = mujoco.and_then(|environment| {
        let (cells, frames) = (options.cells.to_string(), options.frames.to_string());
        let arguments = ["--cells".into(), cells, "--frames".into(), frames];
        let json = run_script(&environment, "contact_mujoco.py", &arguments, options.cap_seconds)?;
        Peer::new(json)
    });
    let ours = before.or_faster(Ours::measure(&program, options, &moment)?);
    Ok(Report { version, cells: options.cells, frames: options.frames, ours, ipctk, mujoco })
}

/// Our program's reports: the frame by barriers, with detection at the instant, and the frame by penalty.
#[derive(Clone, Debug)]
struct Ours {
    barrier: Value,
    penalty: Value,
    threads: f64,
    /// Cores that other programs used meanwhile, if known.
    others: Option<f64>,
}

impl Ours {
    fn measure(program: &Path, options: &Options, moment: &Path) -> Result<Self, String> {
        let common = ["--cells".into(), options.cells.to_string(), "--frames".into(), options.frames.to_string()];
        let measure = |mode: &str, more: &[String]| {
            let mode_arguments = ["--mode".into(), mode.into()];
            let arguments = [&common[..], &mode_arguments, more].concat();
            let json = own_report(program, "contact", &arguments)?;
            eprintln!("sinew, {mode}: {} s per frame", short(number(&json, "seconds_per_frame")?));
            Ok::<Value, String>(json)
        };
        let watch = Others::watch();
        let barrier = measure("barrier", &["--write".into(), moment.display().to_string()])?;
        let penalty = measure("penalty", &[])?;
        Ok(Self { threads: number(&barrier, "threads")?, barrier, penalty, others: watch.cores() })
    }

    /// The shorter time of each part of two runs.
    fn or_faster(mut self, other: Self) -> Self {
        self.others = self.others.zip(other.others).map(|(a, b)| a.min(b));
        let pairs = [(&mut self.barrier, other.barrier), (&mut self.penalty, other.penalty)];
        for (mine, theirs) in pairs {
            let detection = QUESTIONS.map(|name| {
                let faster = is_faster(&theirs[name], &mine[name], "milliseconds");
                if faster { theirs.get(name) } else { mine.get(name) }.cloned()
            });
            if is_faster(&theirs, mine, "seconds_per_frame") {
                *mine = theirs;
            }
            for (name, report) in QUESTIONS.iter().zip(detection) {
                if let (Some(value), Some(report)) = (mine.get_mut(name), report) {
                    *value = report;
                }
            }
        }
        self
    }

    #[cfg(test)]
    fn milliseconds(&self, question: &str) -> Option<f64> {
        self.barrier[question]["milliseconds"].as_f64()
    }
}

fn is_faster(a: &Value, b: &Value, key: &str) -> bool {
    matches!((a[key].as_f64(), b[key].as_f64()), (Some(a), Some(b)) if a < b)
}

fn number(json: &Value, key: &str) -> Result<f64, String> {
    json[key].as_f64().ok_or(format!("the report has no \"{key}\""))
}

/// A peer's report.
#[derive(Clone, Debug)]
struct Peer {
    /// Name and version.
    title: String,
    json: Value,
}

/// One run of MuJoCo's frames.
#[derive(Clone, Copy, Debug)]
struct FrameRun<'a>(&'a Value);

impl Peer {
    fn new(json: Value) -> Result<Self, String> {
        let text = |key: &str| json[key].as_str().ok_or(format!("the report has no \"{key}\""));
        Ok(Self { title: format!("{} {}", text("engine")?, text("version")?), json })
    }

    /// Its runs, if it has several settings.
    fn runs(&self) -> impl Iterator<Item = FrameRun<'_>> {
        self.json["runs"].as_array().into_iter().flatten().map(FrameRun)
    }
}

impl FrameRun<'_> {
    /// The time per frame that counts \[s\].
    fn seconds(self) -> Option<f64> {
        Some(counted_seconds(self.0["seconds_per_frame"].as_f64()?, self.0["cores"].as_f64()?))
    }

    /// How many times as fast ours is.
    fn ratio(self, ours: &Value) -> Option<Ratio> {
        Some(Ratio {
            value: self.seconds()? / ours["seconds_per_frame"].as_f64()?,
            is_same_problem: rest_agrees(ours, self.0),
        })
    }

    /// The setting, and the notes.
    fn to_text(self) -> String {
        let mut text = self.0["setting"].as_str().unwrap_or_default().to_string();
        for note in self.0["notes"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            text += &format!("; {note}");
        }
        text.replace('|', "/")
    }
}

/// Whether two answers of detection tell the same: as many near pairs at the same least distance, or like free shares.
fn detection_agrees(ours: &Value, theirs: &Value) -> bool {
    let both = |key: &str| Some((ours[key].as_f64()?, theirs[key].as_f64()?));
    let is_near = |key: &str, tolerance: f64| {
        both(key).is_some_and(|(ours, theirs)| (ours - theirs).abs() <= tolerance * ours.abs())
    };
    if both("free_share").is_some() {
        is_near("free_share", SHARE_TOLERANCE)
    } else {
        // The last bits of distances decide about pairs at the edge of the gap.
        is_near("near_pairs", 1e-4) && is_near("least_distance", 1e-9)
    }
}

/// Whether both brought the upper mat to rest on the lower one, in the same number of frames, with friction as the
/// scene has it.
fn rest_agrees(ours: &Value, theirs: &Value) -> bool {
    let both = |key: &str| Some((ours[key].as_f64()?, theirs[key].as_f64()?));
    theirs["friction"] != false
        && both("frames").is_some_and(|(ours, theirs)| ours == theirs)
        && both("upper_height").is_some_and(|(ours, theirs)| (ours - theirs).abs() <= HEIGHT_TOLERANCE)
        && both("load").is_some_and(|(ours, theirs)| (ours - theirs).abs() <= LOAD_TOLERANCE * ours.abs())
}

#[derive(Clone, Debug)]
struct Report {
    version: String,
    cells: usize,
    frames: usize,
    ours: Ours,
    ipctk: Result<Peer, String>,
    mujoco: Result<Peer, String>,
}

/// Our speed relative to a peer, and whether it solved the same problem.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ratio {
    value: f64,
    is_same_problem: bool,
}

impl Ratio {
    /// Ratios of different problems are in parentheses.
    fn to_text(self) -> String {
        let text = short(self.value);
        if self.is_same_problem { text } else { format!("({text})") }
    }
}

impl Report {
    fn detection_ratio(&self, question: &str) -> Option<Ratio> {
        let (ours, theirs) = (self.ours.barrier.get(question)?, self.ipctk.as_ref().ok()?.json.get(question)?);
        Some(Ratio {
            value: theirs["milliseconds"].as_f64()? / ours["milliseconds"].as_f64()?,
            is_same_problem: detection_agrees(ours, theirs),
        })
    }

    /// Of our frame in one of our modes beside the quickest run of MuJoCo that came to the same rest, or that came to
    /// another if none did.
    fn frame_ratio(&self, ours: &Value) -> Option<Ratio> {
        let ratios: Vec<Ratio> = self.mujoco.as_ref().ok()?.runs().filter_map(|run| run.ratio(ours)).collect();
        let least = |is_same: bool| {
            let ratios = ratios.iter().filter(|ratio| ratio.is_same_problem == is_same).copied();
            ratios.min_by(|a, b| a.value.total_cmp(&b.value))
        };
        least(true).or_else(|| least(false))
    }

    /// Two Markdown tables, and the share of detection.
    fn to_markdown(&self) -> String {
        let threads = threads_text(self.ours.threads as usize);
        let cell = |value: Option<f64>| value.map_or("–".into(), short);
        let part = |json: Option<&Value>, key: &str| cell(json.and_then(|json| json[key].as_f64()));
        let own = format!("**sinew {}**, {threads}", self.version);
        let mut rows = vec![
            "| detection | question | ms | × ours | pairs nearer than the gap | least distance [mm] | free share |"
                .into(),
            "|---|---|---|---|---|---|---|".into(),
        ];
        let detection = |title: &str, question: &str, json: Option<&Value>, ratio: String| {
            let millimeters = cell(json.and_then(|json| json["least_distance"].as_f64()).map(|d| 1e3 * d));
            let count =
                json.and_then(|json| json["near_pairs"].as_f64()).map_or("–".into(), |count| count.to_string());
            let (time, free) = (part(json, "milliseconds"), part(json, "free_share"));
            format!("| {title} | {question} | {time} | {ratio} | {count} | {millimeters} | {free} |")
        };
        for question in QUESTIONS {
            rows.push(detection(&own, question, self.ours.barrier.get(question), "1.00".into()));
            rows.push(match &self.ipctk {
                Ok(peer) => {
                    let ratio = self.detection_ratio(question).map_or("–".into(), Ratio::to_text);
                    detection(&peer.title, question, peer.json.get(question), ratio)
                }
                Err(reason) => format!("| ipctk | {question} | SKIP: {} | | | | |", reason.replace('|', "/")),
            });
        }
        rows.push(String::new());
        rows.push(
            "| frame | s/frame | × ours, penalty | × ours, barrier | lowest / last height of the upper mat [mm] | load [N] |".into(),
        );
        rows.push("|---|---|---|---|---|---|".into());
        let frame = |title: String, seconds: Option<f64>, ratios: [String; 2], json: &Value| {
            let [lowest, last] =
                ["lowest_height", "upper_height"].map(|key| cell(json[key].as_f64().map(|height| 1e3 * height)));
            let [penalty, barrier] = ratios;
            let (seconds, load) = (cell(seconds), part(Some(json), "load"));
            format!("| {title} | {seconds} | {penalty} | {barrier} | {lowest} / {last} | {load} |")
        };
        let seconds = |json: &Value| json["seconds_per_frame"].as_f64();
        let Ours { barrier, penalty, .. } = &self.ours;
        for (name, json) in [("penalty", penalty), ("barrier", barrier)] {
            let ratios = [penalty, barrier].map(|other| match (seconds(json), seconds(other)) {
                (Some(this), Some(other)) => short(this / other),
                _ => "–".into(),
            });
            rows.push(frame(format!("{own}, {name}"), seconds(json), ratios, json));
        }
        match &self.mujoco {
            Ok(peer) => rows.extend(peer.runs().map(|run| {
                let ratios = [penalty, barrier].map(|ours| run.ratio(ours).map_or("–".into(), Ratio::to_text));
                frame(format!("{}, {}", peer.title, run.to_text()), run.seconds(), ratios, run.0)
            })),
            Err(reason) => rows.push(format!("| MuJoCo | SKIP: {} | | | | |", reason.replace('|', "/"))),
        }
        let share = |json: &Value| cell(json["share_of_detection"].as_f64().map(|share| 100.0 * share));
        rows.push(format!(
            "\n{} surface triangles, {} frames. Detection takes {} % of our frame by barriers, {} % of that by penalty.\n",
            self.triangles(),
            self.frames,
            share(barrier),
            share(penalty)
        ));
        if let Some(cores) = self.ours.others.filter(|cores| *cores > QUIET_CORES) {
            rows.push(format!(
                "Other programs took {} cores while ours ran, so that our times are too long.\n",
                short(cores)
            ));
        }
        rows.join("\n")
    }

    fn triangles(&self) -> f64 {
        self.ours.barrier["surface_triangles"].as_f64().unwrap_or(f64::NAN)
    }

    /// Ratios, and everything that was reported.
    fn to_json(&self) -> Value {
        let ratio = |ratio: Option<Ratio>| ratio.map(|ratio| ratio.value);
        let is_same = |ratio: Option<Ratio>| ratio.map(|ratio| ratio.is_same_problem);
        let of_questions = |value: &dyn Fn(&str) -> Value| -> Value {
            QUESTIONS.iter().map(|name| (name.to_string(), value(name))).collect()
        };
        let Ours { barrier, penalty, threads, others } = &self.ours;
        let peer = |peer: &Result<Peer, String>| match peer {
            Ok(peer) => peer.json.clone(),
            Err(reason) => json!({ "skipped": reason }),
        };
        json!({
            "cells": self.cells,
            "frames": self.frames,
            "surface_triangles": self.triangles(),
            "threads": threads,
            "cores_of_other_programs": others,
            "version": self.version,
            "detection_over_ipctk": of_questions(&|name| json!(ratio(self.detection_ratio(name)))),
            "detection_agrees": of_questions(&|name| json!(is_same(self.detection_ratio(name)))),
            "frame_over_mujoco": ratio(self.frame_ratio(penalty)),
            "frame_agrees": is_same(self.frame_ratio(penalty)),
            "barrier_frame_over_mujoco": ratio(self.frame_ratio(barrier)),
            "share_of_detection": barrier["share_of_detection"],
            "share_of_detection_penalty": penalty["share_of_detection"],
            "barrier": barrier,
            "penalty": penalty,
            "ipctk": peer(&self.ipctk),
            "mujoco": peer(&self.mujoco),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        Options::parse(&line.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_read_with_a_space_or_an_equals_sign() {
        let options = parse("--cells 39 --frames=12 --only mujoco --cap 60 --json").expect("valid");
        assert_eq!((options.cells, options.frames, options.cap_seconds, options.is_json), (39, 12, 60.0, true));
        assert!(options.wants("mujoco") && !options.wants("ipctk"));
        assert_eq!(parse("").map(|options| (options.cells, options.wants("ipctk"))), Ok((78, true)));
    }

    #[test]
    fn bad_options_say_what_would_be_right() {
        let wrong = [
            ("--cells 3", "8 to 400"),
            ("--cells", "needs a value"),
            ("--frames 1", "2 to 1000"),
            ("--only bullet", "ipctk, mujoco"),
            ("--cap NaN", "above 0"),
            ("--size L", "--cells, --frames"),
        ];
        for (line, part) in wrong {
            let error = parse(line).expect_err(line);
            assert!(error.contains(part), "{line}: {error}");
        }
    }

    fn json(text: &str) -> Value {
        serde_json::from_str(text).expect("valid")
    }

    fn own(mode: &str, seconds: f64, milliseconds: f64) -> Value {
        json(&format!(
            r#"{{"mode": "{mode}", "surface_triangles": 51168, "frames": 10, "seconds_per_frame": {seconds}, "share_of_detection": 0.2,
            "upper_height": 0.005, "load": 15.7, "static": {{"milliseconds": {milliseconds}, "near_pairs": 50000, "least_distance": 4e-4}},
            "swept": {{"milliseconds": 40, "free_share": 1}}, "ahead": {{"milliseconds": 50, "free_share": 0.29}}}}"#
        ))
    }

    fn ours(seconds: f64, milliseconds: f64) -> Ours {
        Ours {
            barrier: own("barrier", seconds, milliseconds),
            penalty: own("penalty", seconds, 1.0),
            threads: 2.0,
            others: Some(0.5),
        }
    }

    fn report() -> Report {
        let ipctk = json(
            r#"{"engine": "ipctk", "version": "1", "static": {"milliseconds": 60, "near_pairs": 50000, "least_distance": 4e-4},
            "swept": {"milliseconds": 80, "free_share": 1}, "ahead": {"milliseconds": 75, "free_share": 0.1}}"#,
        );
        let mujoco = json(
            r#"{"engine": "MuJoCo", "version": "4", "runs": [{"setting": "CG | 1", "frames": 10, "seconds_per_frame": 4, "cores": 0.5,
            "upper_height": 0.0048, "lowest_height": 0.0036, "load": 15.5, "notes": ["3 solver warnings"]},
            {"setting": "passive", "frames": 10, "seconds_per_frame": 1, "cores": 1, "upper_height": -0.2, "load": 0.0}]}"#,
        );
        Report {
            version: "0.1.0".into(),
            cells: 78,
            frames: 10,
            ours: ours(1.0, 30.0),
            ipctk: Peer::new(ipctk),
            mujoco: Peer::new(mujoco),
        }
    }

    #[test]
    fn ratios_stand_in_brackets_where_answers_differ() {
        let report = report();
        assert_eq!(report.detection_ratio("static"), Some(Ratio { value: 2.0, is_same_problem: true }));
        assert_eq!(report.detection_ratio("ahead"), Some(Ratio { value: 1.5, is_same_problem: false }));
        // 4 s at half a core are 2 s of work; in the faster run the mat fell through.
        assert_eq!(report.frame_ratio(&report.ours.penalty), Some(Ratio { value: 2.0, is_same_problem: true }));
        let table = report.to_markdown();
        assert!(table.contains("| ipctk 1 | ahead | 75.0 | (1.50) |"), "{table}");
        assert!(
            table.contains("| MuJoCo 4, CG / 1; 3 solver warnings | 2.00 | 2.00 | 2.00 | 3.60 / 4.80 | 15.5 |"),
            "{table}"
        );
        assert!(table.contains("51168 surface triangles") && table.contains("takes 20.0 %"), "{table}");
        assert!(table.contains("Other programs took 0.500 cores"), "{table}");
    }

    #[test]
    fn a_run_that_was_cut_off_is_not_the_same_problem() {
        let report = report();
        let cut = json(r#"{"frames": 4, "upper_height": 0.005, "load": 15.7}"#);
        assert!(!rest_agrees(&report.ours.penalty, &cut));
        let smooth = json(r#"{"frames": 10, "upper_height": 0.005, "load": 15.7, "friction": false}"#);
        assert!(!rest_agrees(&report.ours.penalty, &smooth));
        let light = json(r#"{"frames": 10, "upper_height": 0.005, "load": 9.0}"#);
        assert!(!rest_agrees(&report.ours.penalty, &light));
    }

    #[test]
    fn a_missing_peer_is_named_with_its_reason() {
        let report = Report { ipctk: Err("pip: a | b".into()), mujoco: Err("no memory".into()), ..report() };
        let table = report.to_markdown();
        assert!(table.contains("| ipctk | static | SKIP: pip: a / b |"), "{table}");
        assert!(table.contains("| MuJoCo | SKIP: no memory |"), "{table}");
        let json = report.to_json();
        assert_eq!(json["frame_over_mujoco"], Value::Null);
        assert_eq!(json["ipctk"]["skipped"], "pip: a | b");
    }

    #[test]
    fn the_faster_part_of_two_runs_counts() {
        let both = ours(1.0, 30.0).or_faster(ours(2.0, 20.0));
        assert_eq!(both.barrier["seconds_per_frame"].as_f64(), Some(1.0));
        assert_eq!(both.milliseconds("static"), Some(20.0));
    }
}
