//! One row of the table: what came of a shot, from the files of its run.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{PICTURES, Shot};
use crate::manifest::{Manifest, Status};

/// The parts of the time of a run that are steps, in `report.json`.
const STEPS: [&str; 5] = ["contact", "energy and forces", "assembly", "linear solve", "rest of the steps"];

/// What came of a shot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// The character.
    pub character: String,
    /// The motion.
    pub motion: String,
    /// `done`, `refused` (nothing was computed), `failed`, `interrupted` or `waiting`.
    pub status: &'static str,
    /// Computed frames.
    pub frames: usize,
    /// Mean time of the steps of a frame \[s\].
    pub seconds_per_frame: Option<f64>,
    /// Most pairs of triangles in a frame that cross and did not at rest.
    pub crossings: Option<u64>,
    /// Most pairs of triangles in a frame that cross since rest.
    pub crossings_since_rest: Option<u64>,
    /// The joint whose flesh changes its volume most, and by which fraction.
    pub volume: Option<(String, f64)>,
    /// Numbers of loose parts that are flesh, ride on flesh, and ride on bones.
    pub decided: Option<[usize; 3]>,
    /// Why it failed, or what is wrong with it.
    pub faults: Vec<String>,
    /// Exit status of this shot alone.
    pub exit: Option<u8>,
    /// Its picture.
    pub picture: Option<PathBuf>,
    /// Its report.
    pub report: Option<PathBuf>,
}

/// Names of the columns.
pub(super) const COLUMNS: [&str; 11] = [
    "character",
    "motion",
    "frames",
    "s/frame",
    "crossings",
    "since rest",
    "worst volume",
    "joint",
    "decided",
    "faults",
    "exit",
];

impl Row {
    /// Names of the columns of [`Row::cells`].
    pub fn columns() -> [&'static str; 11] {
        COLUMNS
    }

    /// Reads the files of a shot; `error` says why its run failed just now.
    pub(super) fn of(shot: &Shot, root: &Path, error: Option<&str>) -> Self {
        let mut row = Self {
            name: shot.name.clone(),
            character: shot.character.clone(),
            motion: shot.motion.clone(),
            status: "waiting",
            ..Self::default()
        };
        if let Err(reason) = &shot.scene {
            (row.status, row.faults, row.exit) = ("refused", vec![one_line(reason)], Some(2));
            return row;
        }
        let folder = root.join(&shot.name);
        let manifest = Manifest::read(&folder).ok();
        row.frames = manifest.as_ref().map_or(0, |manifest| manifest.frames);
        row.status = match (&manifest, error) {
            (Some(manifest), _) if manifest.status == Status::Interrupted => "interrupted",
            (_, Some(_)) => "failed",
            (Some(manifest), None) if manifest.status == Status::Done => "done",
            (Some(manifest), None) if manifest.status == Status::Failed => "failed",
            (Some(_), None) => "interrupted",
            (None, None) => "waiting",
        };
        if let Some(error) = error.filter(|_| row.status == "failed") {
            (row.faults, row.exit) = (vec![one_line(error)], Some(2));
        }
        if row.status == "done" {
            row.exit = Some(0);
            let text = std::fs::read(folder.join("report.json")).unwrap_or_default();
            row.take(&serde_json::from_slice(&text).unwrap_or_default());
            row.faults.extend(manifest.map(|manifest| manifest.warnings).unwrap_or_default());
            let is_there = |path: PathBuf| path.is_file().then_some(path);
            row.report = is_there(folder.join("report.html"));
            row.picture = is_there(root.join(PICTURES).join(format!("{}.png", shot.name)));
        }
        row
    }

    /// Takes the figures of an artist's report.
    fn take(&mut self, report: &Value) {
        let facts = &report["characters"];
        let parts = &facts["time"]["parts"];
        let seconds: Option<f64> = STEPS.iter().map(|name| parts[*name].as_f64()).sum();
        self.seconds_per_frame = seconds.map(|seconds| seconds / self.frames.max(1) as f64);
        self.crossings = facts["crossing"]["triangle_pairs"]["value"].as_u64();
        self.crossings_since_rest = facts["crossing"]["triangle_pairs_since_rest"]["value"].as_u64();
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let bodies = list(&facts["bodies"]);
        let changes = bodies.iter().flat_map(|body| list(&body["regions"])).filter_map(|region| {
            Some((region["name"].as_str()?.to_string(), region["volume_change"]["value"].as_f64()?))
        });
        self.volume = changes.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
        let decisions: Vec<Value> = bodies.iter().flat_map(|body| list(&body["parts"])).collect();
        let count = |role: &str| decisions.iter().filter(|part| part["role"] == role).count();
        self.decided = (!decisions.is_empty()).then(|| ["flesh", "on_flesh", "on_bone"].map(count));
        self.faults = list(&facts["advice"]).iter().filter_map(|a| a["finding"].as_str().map(String::from)).collect();
    }

    /// What was decided about loose parts, in words.
    pub fn decided_text(&self) -> String {
        let Some(counts) = self.decided else { return "–".into() };
        let words = ["flesh", "on flesh", "on bones"];
        let told = counts.iter().zip(words).filter(|(count, _)| **count > 0);
        told.map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
    }

    /// The cells of the table, in words; `faults` as they are, or only the first.
    pub fn cells(&self, all_faults: bool) -> [String; 11] {
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".into());
        let count = |value: Option<u64>| or_dash(value.map(|value| value.to_string()));
        let faults = match self.faults.as_slice() {
            [] if self.status == "done" => "none".into(),
            [] => self.status.into(),
            [first, rest @ ..] if !all_faults && !rest.is_empty() => format!("{first} (and {} more)", rest.len()),
            all => all.join("; "),
        };
        [
            self.character.clone(),
            self.motion.clone(),
            self.frames.to_string(),
            or_dash(self.seconds_per_frame.map(|seconds| format!("{seconds:.3}"))),
            count(self.crossings),
            count(self.crossings_since_rest),
            or_dash(self.volume.as_ref().map(|(_, change)| format!("{:+.1} %", 100.0 * change))),
            or_dash(self.volume.as_ref().map(|(joint, _)| joint.clone())),
            self.decided_text(),
            faults,
            or_dash(self.exit.map(|exit| exit.to_string())),
        ]
    }

    /// One line below its picture.
    pub fn caption(&self) -> String {
        match (self.status, self.crossings, &self.volume) {
            ("done", crossings, Some((joint, change))) => {
                let crossings = crossings.filter(|&pairs| pairs > 0);
                let crossings = crossings.map_or_else(String::new, |pairs| format!("{pairs} CROSSINGS, "));
                format!("{crossings}{:+.1} % {joint}", 100.0 * change)
            }
            ("done", ..) => "done".into(),
            (status, ..) => format!("{status}: {}", self.faults.first().map_or("", String::as_str)),
        }
    }

    /// Whether something is wrong: it did not end, or its skin crosses.
    pub fn is_wrong(&self) -> bool {
        self.status != "done" || self.crossings.is_some_and(|pairs| pairs > 0)
    }

    /// One JSON object.
    pub fn to_json(&self) -> Value {
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.to_string_lossy().into_owned());
        json!({
            "name": self.name,
            "character": self.character,
            "motion": self.motion,
            "status": self.status,
            "frames": self.frames,
            "seconds_per_frame": self.seconds_per_frame,
            "crossings": self.crossings,
            "crossings_since_rest": self.crossings_since_rest,
            "worst_volume": self.volume.as_ref().map(|(joint, change)| json!({ "joint": joint, "change": change })),
            "decided": self.decided.map(|[flesh, on_flesh, on_bone]| {
                json!({ "flesh": flesh, "on_flesh": on_flesh, "on_bone": on_bone })
            }),
            "faults": self.faults,
            "exit": self.exit,
            "picture": path(&self.picture),
            "report": path(&self.report),
        })
    }
}

/// A message in one line, without the words that begin it.
fn one_line(text: &str) -> String {
    let lines = text.lines().map(|line| line.trim().trim_start_matches("error: ")).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("; ")
}
