//! Rust errors as exceptions with attributes; the classes are in `python/sinew/errors.py`.

use pyo3::import_exception;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use sinew_run::run;

import_exception!(sinew.errors, SinewError);
import_exception!(sinew.errors, SceneError);
import_exception!(sinew.errors, StepError);
import_exception!(sinew.errors, RunError);
import_exception!(sinew.errors, BusyError);
import_exception!(sinew.errors, ResumeError);
import_exception!(sinew.errors, MeshError);
import_exception!(sinew.errors, ForceError);
import_exception!(sinew.errors, VolumeError);

/// Any error, as a sentence.
pub fn other(error: impl ToString) -> PyErr {
    SinewError::new_err(error.to_string())
}

/// An invalid mesh.
pub fn mesh(error: impl ToString) -> PyErr {
    MeshError::new_err(error.to_string())
}

/// A volume that cannot be read, written or used.
pub fn volume(error: impl ToString) -> PyErr {
    VolumeError::new_err(error.to_string())
}

/// All problems of a scene.
pub fn scene(error: &sinew_scene::SceneError) -> PyErr {
    Python::attach(|py| {
        let problems = PyList::empty(py);
        let places: Vec<Lines<'_>> = error.sources.iter().map(|source| Lines::new(&source.text)).collect();
        for problem in &error.diagnostics {
            let entry = PyDict::new(py);
            let place = problem.span.and_then(|span| Some((span, error.sources.get(span.source)?)));
            let start = place.map(|(span, _)| places[span.source].find(span.start));
            let end = place.map(|(span, _)| places[span.source].find(span.end));
            let filled = entry
                .set_item("message", &problem.message)
                .and_then(|()| entry.set_item("label", &problem.label))
                .and_then(|()| entry.set_item("hint", &problem.hint))
                .and_then(|()| entry.set_item("source", place.map(|(_, source)| source.name.to_string())))
                .and_then(|()| entry.set_item("line", start.map(|place| place.line)))
                .and_then(|()| entry.set_item("column", start.map(|place| place.column)))
                .and_then(|()| entry.set_item("start", start.map(|place| place.index)))
                .and_then(|()| entry.set_item("end", end.map(|place| place.index)))
                .and_then(|()| problems.append(entry));
            if let Err(error) = filled {
                return error;
            }
        }
        with_attributes(py, SceneError::new_err(error.to_string()), |value| value.setattr("problems", problems))
    })
}

/// A frame that could not be computed.
pub fn step(error: &sinew_fem::StepError) -> PyErr {
    let words = format!("{error:?}");
    let kind = words.split([' ', '{', '(']).next().unwrap_or_default().to_string();
    let blame = error.blame();
    Python::attach(|py| {
        with_attributes(py, StepError::new_err(error.to_string()), |value| {
            value.setattr("kind", kind)?;
            value.setattr("body", blame.map(|blame| blame.body.clone()))?;
            value.setattr("node", blame.map(|blame| blame.node))?;
            value.setattr("cell", blame.map(|blame| blame.cell))?;
            value.setattr("rest_position", blame.map(|blame| blame.rest_position))?;
            value.setattr("volume_ratio", blame.map(|blame| blame.volume_ratio))
        })
    })
}

/// A run that stopped.
pub fn run(error: &run::RunError) -> PyErr {
    let (frames, output) = match error {
        run::RunError::Scene(error) => return scene(error),
        run::RunError::Step { frames, output, .. } => (Some(*frames), output.clone()),
        run::RunError::RecordFrame { frames, output, .. } => (Some(*frames), Some(output.clone())),
        run::RunError::Busy { path } | run::RunError::Resume { path, .. } => (None, Some(path.clone())),
        _ => (None, None),
    };
    let words = plain(&error.to_string());
    let raised = match error {
        run::RunError::Busy { .. } => BusyError::new_err(words),
        run::RunError::Resume { .. } => ResumeError::new_err(words),
        _ => RunError::new_err(words),
    };
    let cause = match error {
        run::RunError::Step { source, .. } => Some(step(source)),
        _ => None,
    };
    Python::attach(|py| {
        let raised = with_attributes(py, raised, |value| {
            value.setattr("frames", frames)?;
            value.setattr("output", output)
        });
        raised.set_cause(py, cause);
        raised
    })
}

/// The text without the leading word that repeats the exception's name.
pub fn plain(text: &str) -> String {
    text.strip_prefix("error: ").unwrap_or(text).trim_end().to_string()
}

fn with_attributes(
    py: Python<'_>,
    error: PyErr,
    set: impl FnOnce(&Bound<'_, pyo3::exceptions::PyBaseException>) -> PyResult<()>,
) -> PyErr {
    match set(error.value(py)) {
        Ok(()) => error,
        Err(failed) => failed,
    }
}

/// A position in a text: line and column from 1, and the index in characters, Python's unit.
#[derive(Clone, Copy)]
struct Place {
    line: usize,
    column: usize,
    index: usize,
}

/// Line starts of a text, in bytes and in characters.
struct Lines<'a> {
    text: &'a str,
    starts: Vec<(usize, usize)>,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Self {
        let mut starts = vec![(0, 0)];
        let after_breaks = text.char_indices().enumerate().filter(|(_, (_, c))| *c == '\n');
        starts.extend(after_breaks.map(|(index, (byte, _))| (byte + 1, index + 1)));
        Self { text, starts }
    }

    fn find(&self, byte: usize) -> Place {
        let byte = byte.min(self.text.len());
        let line = self.starts.partition_point(|(start, _)| *start <= byte).max(1);
        let (start, index) = self.starts[line - 1];
        // Characters before the position.
        let before = self.text[start..].char_indices().take_while(|(at, _)| start + at < byte).count();
        Place { line, column: before + 1, index: index + before }
    }
}
