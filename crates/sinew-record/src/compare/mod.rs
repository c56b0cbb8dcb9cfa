//! Compares two runs: values over each other, differences on the bodies, one page.

mod bodies;
mod side;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sinew_fem::RecordError;
use sinew_store::StoreError;
use thiserror::Error;

pub use self::bodies::BodyDifference;
use self::side::Side;
use crate::convert::ConvertError;
use crate::record::{encode_png, write_file};
use crate::report::{Line, Plot, Scale, Table, comparison, short_number, unit_of, y_label};

/// Why two runs cannot be compared.
#[derive(Debug, Error)]
pub enum CompareError {
    /// There is no such run.
    #[error("{} does not exist", path.display())]
    Missing {
        /// The path.
        path: PathBuf,
    },
    /// A folder without a run, or a broken recording.
    #[error("{0}")]
    Convert(Box<ConvertError>),
    /// A recording cannot be read.
    #[error("{}: {source}", path.display())]
    Recording {
        /// The recording.
        path: PathBuf,
        /// The reason.
        source: StoreError,
    },
    /// A table of probes cannot be read.
    #[error("{} cannot be compared: {reason}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The runs have nothing in common.
    #[error("the runs share nothing to compare: {reason}\n{first}\n{second}")]
    Nothing {
        /// In what way.
        reason: &'static str,
        /// What the first run has.
        first: String,
        /// What the second run has.
        second: String,
    },
    /// The page cannot be written.
    #[error("{0}")]
    Record(#[from] RecordError),
}

/// A value in both runs.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueDifference {
    /// Its name.
    pub name: String,
    /// Largest difference.
    pub largest: f64,
    /// Its time \[s\].
    pub time: f64,
    /// Largest difference as a part of the range of both runs.
    pub relative: f64,
    /// The value in both runs at the end of the shorter one.
    pub ends: [f64; 2],
}

/// Two runs compared.
pub struct Comparison {
    sides: [Side; 2],
    /// Shared values, the largest relative difference first.
    pub values: Vec<ValueDifference>,
    /// Values that only one run has, for each run.
    pub missing: [Vec<String>; 2],
    /// Shared bodies.
    pub bodies: Vec<BodyDifference>,
    /// What was not compared, and why.
    pub notes: Vec<String>,
    pictures: Vec<(String, Vec<u8>)>,
}

/// Values about the solver, not about the bodies.
const SOLVER: [&str; 5] = ["residual", "newton_iterations", "nonlinear_cycles", "linear_iterations", "substeps"];

/// Plots in the page; more values are in its table.
const MAX_PLOTS: usize = 24;

/// Compares two runs, each given as a recording, the folder of a run, or a table of probes.
///
/// # Errors
/// If one cannot be read, or if they share no body and no probe.
pub fn compare(first: &Path, second: &Path) -> Result<Comparison, CompareError> {
    let sides = [Side::open(first)?, Side::open(second)?];
    let nothing = |reason| CompareError::Nothing { reason, first: sides[0].describe(), second: sides[1].describe() };
    if !sides[0].objects.iter().any(|name| sides[1].objects.contains(name)) {
        return Err(nothing("no body and no probe has the same name"));
    }
    let is_shared = |name: &str| !SOLVER.contains(&name) && sides[1].values(name).is_some();
    let names: Vec<&String> = sides[0].probes.iter().map(|probe| &probe.0).filter(|name| is_shared(name)).collect();
    let mut values: Vec<ValueDifference> = names.into_iter().filter_map(|name| difference(&sides, name)).collect();
    if values.is_empty() {
        return Err(nothing("no value has the same name at the same times"));
    }
    // Stable: equal differences keep the order of the run.
    values.sort_by(|a, b| b.relative.total_cmp(&a.relative));
    let only = |own: usize| {
        let names = sides[own].probes.iter().map(|probe| &probe.0);
        names.filter(|name| sides[1 - own].values(name).is_none()).cloned().collect::<Vec<String>>()
    };
    let missing = [only(0), only(1)];
    let found = bodies::compare(&sides).map_err(|source| CompareError::Recording { path: first.into(), source })?;
    let mut notes = found.notes;
    let ends = [&sides[0], &sides[1]].map(|side| side.times.last().copied().unwrap_or(0.0));
    if ends[0] != ends[1] {
        notes.push(format!(
            "one run ends at {} s, the other at {} s: the common part is compared",
            short_number(ends[0]),
            short_number(ends[1])
        ));
    }
    let pictures = found.pictures.into_iter().map(|(label, image)| (label, encode_png(&image))).collect();
    Ok(Comparison { sides, values, missing, bodies: found.differences, notes, pictures })
}

/// The largest difference of a value at the times of the first run; `None` without common times.
fn difference(sides: &[Side; 2], name: &str) -> Option<ValueDifference> {
    let [a, b] = [sides[0].values(name)?, sides[1].values(name)?];
    let pairs: Vec<(f64, [f64; 2])> = sides[0]
        .times
        .iter()
        .zip(a)
        .map(|(&time, &value)| (time, [value, sides[1].at(b, time)]))
        .filter(|(_, pair)| pair.iter().all(|value| value.is_finite()))
        .collect();
    let (_, ends) = *pairs.last()?;
    let distance = |pair: [f64; 2]| (pair[0] - pair[1]).abs();
    let worst =
        pairs.iter().fold(pairs[0], |worst, pair| if distance(pair.1) > distance(worst.1) { *pair } else { worst });
    let (low, high) = pairs
        .iter()
        .flat_map(|pair| pair.1)
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    let largest = distance(worst.1);
    let relative = if largest > 0.0 { largest / (high - low) } else { 0.0 };
    Some(ValueDifference { name: name.into(), largest, time: worst.0, relative, ends })
}

/// The input files of a path, for checks of outputs.
pub fn input_files(path: &Path) -> Vec<PathBuf> {
    side::files(path)
}

impl Comparison {
    /// Names of both runs.
    pub fn names(&self) -> [&str; 2] {
        [&self.sides[0].name, &self.sides[1].name]
    }

    /// Whether all shared values and shapes are equal.
    pub fn is_equal(&self) -> bool {
        self.values.iter().all(|value| value.largest == 0.0) && self.bodies.iter().all(|body| body.largest == 0.0)
    }

    /// The largest differences of values as a table.
    pub fn value_table(&self) -> Table {
        let row = |value: &ValueDifference| {
            let unit = unit_of(&value.name).unwrap_or_default();
            let percent = format!("{} %", short_number(100.0 * value.relative));
            let [a, b] = value.ends.map(short_number);
            vec![value.name.clone(), unit.into(), short_number(value.largest), percent, short_number(value.time), a, b]
        };
        let columns = ["value", "unit", "largest difference", "of range", "at [s]", "A at the end", "B at the end"];
        Table {
            title: "Values".into(),
            columns: columns.map(String::from).to_vec(),
            rows: self.values.iter().map(row).collect(),
        }
    }

    /// The distances of bodies as a table.
    pub fn body_table(&self) -> Table {
        let row = |body: &BodyDifference| {
            let millimeters = |length: f64| short_number(1e3 * length);
            let percent = format!("{} %", short_number(100.0 * body.relative));
            vec![body.name.clone(), millimeters(body.largest), percent, short_number(body.time), millimeters(body.mean)]
        };
        let columns = ["body", "largest distance [mm]", "of its size", "at [s]", "mean then [mm]"];
        Table {
            title: "Bodies".into(),
            columns: columns.map(String::from).to_vec(),
            rows: self.bodies.iter().map(row).collect(),
        }
    }

    /// Both runs over each other, for the values that differ most; equal ones only if all are equal.
    pub fn plots(&self) -> Vec<Plot> {
        let differs = self.values.iter().filter(|value| value.largest > 0.0);
        let chosen: Vec<&ValueDifference> =
            if self.is_equal() { self.values.iter().take(4).collect() } else { differs.take(MAX_PLOTS).collect() };
        let plot = |value: &ValueDifference| {
            let [a, b] = [0, 1].map(|side| self.sides[side].values(&value.name).unwrap_or_default().to_vec());
            Plot {
                title: value.name.clone(),
                x_label: "time [s]".into(),
                y_label: y_label(&value.name),
                x: self.sides[0].times.clone(),
                lines: vec![Line::new("A", a), Line::new("B", b).over(self.sides[1].times.clone()).dashed()],
                scale: Scale::Linear,
            }
        };
        chosen.into_iter().map(plot).collect()
    }

    /// The page.
    pub fn to_html(&self) -> String {
        let [a, b] = self.names();
        let pictures: Vec<(&str, &[u8])> =
            self.pictures.iter().map(|(label, png)| (label.as_str(), png.as_slice())).collect();
        let mut notes = self.notes.clone();
        for (side, names) in [a, b].into_iter().zip(&self.missing) {
            if !names.is_empty() {
                let shown: Vec<&str> = names.iter().map(String::as_str).take(12).collect();
                let more = if names.len() > 12 { format!(" and {} more", names.len() - 12) } else { String::new() };
                notes.push(format!("only {side} has {}{more}", shown.join(", ")));
            }
        }
        let bodies = (!self.bodies.is_empty()).then(|| self.body_table());
        let tables: Vec<Table> = bodies.into_iter().chain([self.value_table()]).collect();
        comparison([a, b], &pictures, &self.plots(), &tables, &notes)
    }

    /// Writes the page.
    pub fn write(&self, path: &Path) -> Result<(), RecordError> {
        write_file(path, self.to_html().as_bytes())
    }

    /// One JSON object.
    pub fn to_json(&self) -> Value {
        let value = |value: &ValueDifference| {
            json!({
                "name": value.name,
                "largest": value.largest,
                "relative": value.relative,
                "time": value.time,
                "ends": value.ends,
            })
        };
        let body = |body: &BodyDifference| {
            json!({
                "name": body.name,
                "largest": body.largest,
                "relative": body.relative,
                "time": body.time,
                "mean": body.mean,
            })
        };
        json!({
            "runs": self.names(),
            "equal": self.is_equal(),
            "values": self.values.iter().map(value).collect::<Vec<_>>(),
            "bodies": self.bodies.iter().map(body).collect::<Vec<_>>(),
            "missing": self.missing,
            "notes": self.notes,
        })
    }
}
