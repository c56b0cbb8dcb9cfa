//! Probes over time as comma-separated values: one header row, one row per frame.

use std::io::Write;
use std::path::PathBuf;

use sinew_fem::{Frame, RecordError, Recorder};

use super::FileRecorder;
use super::atomic::AtomicFile;

/// Writes `time` and all probes of every frame, with enough digits to restore every bit.
pub struct CsvRecorder {
    path: PathBuf,
    file: Option<AtomicFile>,
    columns: Vec<String>,
    is_started: bool,
}

impl CsvRecorder {
    /// Starts the file; it appears when the recorder is finished.
    pub fn create(path: impl Into<PathBuf>) -> Result<CsvRecorder, RecordError> {
        let path = path.into();
        let file = Some(AtomicFile::create(&path)?);
        Ok(CsvRecorder { path, file, columns: Vec::new(), is_started: false })
    }

    /// Adds one row; the names must be the same every time.
    pub fn row(&mut self, time: f64, names: &[String], values: &[f64]) -> Result<(), RecordError> {
        let Some(file) = &mut self.file else {
            return Err(unsupported("a row after the end".into()));
        };
        let mut text = String::new();
        if !self.is_started {
            self.is_started = true;
            self.columns = names.to_vec();
            text.push_str("time");
            for name in names {
                text.push(',');
                text.push_str(&quoted(name));
            }
            text.push('\n');
        }
        if self.columns != names || names.len() != values.len() {
            return Err(unsupported(format!("{} probes in a table of {}", names.len(), self.columns.len())));
        }
        text.push_str(&number(time));
        for &value in values {
            text.push(',');
            text.push_str(&number(value));
        }
        text.push('\n');
        file.write_all(text.as_bytes()).map_err(|source| file.error(source))
    }
}

impl Recorder for CsvRecorder {
    fn frame(&mut self, frame: &Frame<'_>) -> Result<(), RecordError> {
        self.row(frame.time, frame.probe_names, frame.probe_values)
    }

    fn finish(&mut self) -> Result<(), RecordError> {
        if let (Some(file), false) = (&mut self.file, self.is_started) {
            self.is_started = true;
            file.put(b"time\n")?;
        }
        self.file.take().map_or(Ok(()), AtomicFile::commit)
    }
}

impl FileRecorder for CsvRecorder {
    fn files(&self) -> Vec<PathBuf> {
        vec![self.path.clone()]
    }
}

fn unsupported(reason: String) -> RecordError {
    RecordError::Unsupported { format: "CSV", reason }
}

/// Bytes of a row.
pub(super) fn row_size(time: f64, values: &[f64]) -> u64 {
    (number(time).len() + values.iter().map(|&value| number(value).len() + 1).sum::<usize>() + 1) as u64
}

/// Shortest decimal that reads back as the same number; `nan` and `inf` in their common spelling.
fn number(value: f64) -> String {
    if value.is_finite() {
        let magnitude = value.abs();
        if value == 0.0 || (1e-5..1e15).contains(&magnitude) { format!("{value}") } else { format!("{value:e}") }
    } else if value.is_nan() {
        "nan".into()
    } else {
        if value > 0.0 { "inf" } else { "-inf" }.into()
    }
}

fn quoted(name: &str) -> String {
    if name.contains([',', '"', '\n', '\r']) { format!("\"{}\"", name.replace('"', "\"\"")) } else { name.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::TestFolder;

    #[test]
    fn rows_read_back_as_the_same_numbers() {
        let folder = TestFolder::new("csv");
        let mut recorder = CsvRecorder::create(folder.path("probes.csv")).unwrap();
        let names = vec!["energy.total".to_string(), "odd, \"name\"".to_string()];
        let values = [[0.1 + 0.2, -1e-300], [f64::MAX, f64::NAN], [f64::NEG_INFINITY, 0.0]];
        for (i, row) in values.iter().enumerate() {
            recorder.row(i as f64 / 3.0, &names, row).unwrap();
        }
        assert!(folder.entries().iter().all(|name| name != "probes.csv"), "not before the end");
        recorder.finish().unwrap();
        recorder.finish().unwrap();
        let text = std::fs::read_to_string(folder.path("probes.csv")).unwrap();
        let mut lines = text.lines();
        assert_eq!(lines.next().unwrap(), "time,energy.total,\"odd, \"\"name\"\"\"");
        for (i, (line, row)) in lines.zip(&values).enumerate() {
            let numbers: Vec<f64> = line.split(',').map(|v| v.parse().unwrap()).collect();
            assert_eq!(numbers[0].to_bits(), (i as f64 / 3.0).to_bits());
            for (got, want) in numbers[1..].iter().zip(row) {
                assert!(got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan()));
            }
        }
    }

    #[test]
    fn run_without_frames_leaves_a_header() {
        let folder = TestFolder::new("csv-empty");
        let mut recorder = CsvRecorder::create(folder.path("p.csv")).unwrap();
        recorder.finish().unwrap();
        assert_eq!(std::fs::read(folder.path("p.csv")).unwrap(), b"time\n");
    }

    #[test]
    fn changed_columns_are_refused() {
        let folder = TestFolder::new("csv-columns");
        let mut recorder = CsvRecorder::create(folder.path("p.csv")).unwrap();
        recorder.row(0.0, &["a".into()], &[1.0]).unwrap();
        assert!(recorder.row(1.0, &["b".into()], &[1.0]).is_err());
        assert!(recorder.row(1.0, &["a".into()], &[1.0, 2.0]).is_err());
    }
}
