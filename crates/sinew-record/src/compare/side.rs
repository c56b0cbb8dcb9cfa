//! One of two runs: its values over time, and its recording where there is one.

use std::path::{Path, PathBuf};

use sinew_store::{Recording, StoreError};

use super::CompareError;
use crate::convert::{ConvertError, open_recording};

/// A run.
pub(super) struct Side {
    pub name: String,
    pub times: Vec<f64>,
    /// Names and values of the probes.
    pub probes: Vec<(String, Vec<f64>)>,
    /// Names of its bodies, rigids, colliders and probes.
    pub objects: Vec<String>,
    pub recording: Option<Recording>,
}

/// First parts of names of values that every run has.
const COMMON: [&str; 6] = ["energy", "work", "momentum", "angular_momentum", "check", "contact"];

impl Side {
    /// Reads a recording, the folder of a run, or its table of probes.
    pub fn open(path: &Path) -> Result<Self, CompareError> {
        if !path.exists() {
            return Err(CompareError::Missing { path: path.into() });
        }
        let name = path.display().to_string();
        let is_table = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("csv"));
        let table = if is_table { path.to_path_buf() } else { path.join("probes.csv") };
        let mut side = match open_recording(path) {
            Ok(recording) if !is_table => Self::of_recording(name, recording)
                .map_err(|source| CompareError::Recording { path: path.into(), source })?,
            // Points of sweeps keep their probes only.
            Err(ConvertError::NoRecording { .. }) | Ok(_) if table.is_file() => Self::of_table(name, &table)?,
            Ok(_) => return Err(CompareError::Missing { path: table }),
            Err(_) if is_table => Self::of_table(name, &table)?,
            Err(error) => return Err(CompareError::Convert(Box::new(error))),
        };
        let first_parts = side.probes.iter().filter_map(|(name, _)| name.split_once('.').map(|(first, _)| first));
        let own: Vec<String> = first_parts.filter(|first| !COMMON.contains(first)).map(String::from).collect();
        side.objects.extend(own);
        side.objects.sort();
        side.objects.dedup();
        Ok(side)
    }

    fn of_recording(name: String, recording: Recording) -> Result<Self, StoreError> {
        let header = recording.header();
        let objects = header.bodies.iter().map(|body| &body.name).chain(header.shapes.iter().map(|shape| &shape.name));
        let objects = objects.cloned().collect();
        let mut probes: Vec<(String, Vec<f64>)> =
            header.probe_names.iter().map(|name| (name.clone(), Vec::new())).collect();
        let mut times = Vec::new();
        for frame in recording.frames() {
            let frame = frame?;
            times.push(frame.time);
            probes.iter_mut().zip(&frame.probes).for_each(|((_, values), value)| values.push(*value));
        }
        Ok(Self { name, times, probes, objects, recording: Some(recording) })
    }

    fn of_table(name: String, path: &Path) -> Result<Self, CompareError> {
        let broken = |reason: String| CompareError::Table { path: path.into(), reason };
        let text = std::fs::read_to_string(path).map_err(|error| broken(error.to_string()))?;
        let mut lines = text.lines();
        let header = lines.next().unwrap_or_default();
        let names: Vec<&str> = header.split(',').map(|name| name.trim().trim_matches('"')).collect();
        if header.contains('[') {
            let reason = "its columns have units: it is measured data, for `sinew fit` or `sinew lab --beside`";
            return Err(broken(reason.into()));
        }
        if names.first() != Some(&"time") || names.len() < 2 {
            return Err(broken("its first column is not `time`".into()));
        }
        let mut columns = vec![Vec::new(); names.len()];
        for (number, line) in lines.enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let cells: Vec<&str> = line.split(',').collect();
            if cells.len() != names.len() {
                return Err(broken(format!(
                    "line {} has {} columns in place of {}",
                    number + 2,
                    cells.len(),
                    names.len()
                )));
            }
            for (column, cell) in columns.iter_mut().zip(cells) {
                let value = cell.trim().parse();
                column.push(value.map_err(|_| broken(format!("line {}: `{cell}` is not a number", number + 2)))?);
            }
        }
        let times = columns.remove(0);
        let probes = names[1..].iter().map(ToString::to_string).zip(columns).collect();
        Ok(Self { name, times, probes, objects: Vec::new(), recording: None })
    }

    pub fn values(&self, probe: &str) -> Option<&[f64]> {
        self.probes.iter().find(|known| known.0 == probe).map(|known| known.1.as_slice())
    }

    /// A value at a time, by linear interpolation; NaN outside of the run.
    pub fn at(&self, values: &[f64], time: f64) -> f64 {
        let slack = 1e-9 * self.times.last().copied().unwrap_or(0.0).abs();
        let after = self.times.partition_point(|&known| known < time - slack);
        let (Some(&next), Some(&value)) = (self.times.get(after), values.get(after)) else { return f64::NAN };
        match after.checked_sub(1) {
            _ if (next - time).abs() <= slack => value,
            Some(before) => {
                let share = (time - self.times[before]) / (next - self.times[before]);
                values[before] + share * (value - values[before])
            }
            None => f64::NAN,
        }
    }

    /// What the run is about, in a few words.
    pub fn describe(&self) -> String {
        const SHOWN: usize = 6;
        let more = self.objects.len().saturating_sub(SHOWN);
        let names: Vec<&str> = self.objects.iter().map(String::as_str).take(SHOWN).collect();
        match (names.is_empty(), more) {
            (true, _) => format!("{} has no bodies and no probes", self.name),
            (_, 0) => format!("{} has {}", self.name, names.join(", ")),
            _ => format!("{} has {} and {more} more", self.name, names.join(", ")),
        }
    }
}

/// The file that a side is read from, so that no output replaces it.
pub(super) fn files(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.into()];
    }
    std::fs::read_dir(path)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|file| file.is_file())
        .collect()
}
