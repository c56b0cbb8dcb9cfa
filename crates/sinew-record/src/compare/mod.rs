//! Compares two runs: values over each other, differences on the bodies, one page.

mod bodies;
mod side;

use std::collections::BTreeMap;
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
    /// Largest difference as a part of the range of both runs. Components of one quantity share the widest of their
    /// ranges, and a range is at least a millionth of the largest value with this unit: noise is not a difference.
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
    let mut values = relate(names.into_iter().filter_map(|name| difference(&sides, name)).collect());
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

/// The largest difference of a value at the times of the first run, still without its share of the range, and the
/// lowest and highest value of both runs; `None` without common times.
fn difference(sides: &[Side; 2], name: &str) -> Option<(ValueDifference, [f64; 2])> {
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
    let found = ValueDifference { name: name.into(), largest: distance(worst.1), time: worst.0, relative: 0.0, ends };
    Some((found, [low, high]))
}

/// Ranges below this part of the largest value with the same unit are noise of the solver.
const NOISE: f64 = 1e-6;

/// Puts the differences in relation to the ranges of their quantities.
fn relate(found: Vec<(ValueDifference, [f64; 2])>) -> Vec<ValueDifference> {
    let mut ranges: BTreeMap<String, f64> = BTreeMap::new();
    let mut sizes: BTreeMap<&'static str, f64> = BTreeMap::new();
    for (value, [low, high]) in &found {
        let range = ranges.entry(quantity(&value.name).to_string()).or_insert(0.0);
        *range = range.max(high - low);
        if let Some(unit) = unit_of_size(&value.name) {
            let size = sizes.entry(unit).or_insert(0.0);
            *size = size.max(low.abs()).max(high.abs());
        }
    }
    let related = found.into_iter().map(|(mut value, _)| {
        let range = ranges.get(quantity(&value.name)).copied().unwrap_or(0.0);
        let size = unit_of_size(&value.name).and_then(|unit| sizes.get(unit)).copied().unwrap_or(0.0);
        if value.largest > 0.0 {
            value.relative = value.largest / range.max(NOISE * size);
        }
        value
    });
    related.collect()
}

/// The name of a vector or tensor without its component, such as `bar.force.x-max`; other names as they are.
fn quantity(name: &str) -> &str {
    let is_component = |last: &str| last.len() <= 2 && !last.is_empty() && last.chars().all(|c| matches!(c, 'x'..='z'));
    match name.rsplit_once('.') {
        Some((quantity, last)) if is_component(last) => quantity,
        _ => name,
    }
}

/// The unit in which values are of similar size; torques compare with energies. `None` for plain numbers, which may
/// be anything.
fn unit_of_size(name: &str) -> Option<&'static str> {
    match unit_of(name)? {
        "" => None,
        "N m" => Some("J"),
        unit => Some(unit),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_not_a_difference() {
        let found = |name: &str, low: f64, high: f64| {
            let ends = [low, high];
            let difference = ValueDifference { name: name.into(), largest: high - low, time: 0.0, relative: 0.0, ends };
            (difference, ends)
        };
        let related = relate(vec![
            found("bar.force.x-max.x", 0.0, 4.0),
            found("bar.force.x-max.y", -1e-8, 1e-8),
            found("bar.torque.x-max.z", 0.0, 1e-10),
            found("bar.energy.elastic", 0.0, 0.3),
            found("bar.energy.kinetic", 0.0, 0.0),
        ]);
        let shares: Vec<f64> = related.iter().map(|value| value.relative).collect();
        assert!(shares[0] > 0.99 && shares[3] > 0.99, "{shares:?}");
        assert!(shares[1] < 1e-7 && shares[2] < 1e-3 && shares[4] == 0.0, "{shares:?}");
    }
}
