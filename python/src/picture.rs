//! `Picture`: PNG or animated PNG, shown by notebooks.

use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sinew_record::record::{ColorField, write_file};
use sinew_record::still::Portrait;

use crate::error;

/// A picture or an animation; notebooks display it.
#[pyclass(frozen, module = "sinew")]
pub struct Picture {
    pub png: Vec<u8>,
    pub size: [usize; 2],
    pub frames: usize,
}

#[pymethods]
impl Picture {
    /// The file contents, PNG or animated PNG.
    #[getter]
    fn png<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.png)
    }

    /// Width and height in pixels.
    #[getter]
    fn size(&self) -> (usize, usize) {
        (self.size[0], self.size[1])
    }

    /// Number of frames.
    #[getter]
    fn frames(&self) -> usize {
        self.frames
    }

    /// Writes the file.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        write_file(&path, &self.png).map_err(error::other)
    }

    fn _repr_png_<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        self.png(py)
    }

    fn __repr__(&self) -> String {
        let frames = if self.frames > 1 { format!(", {} frames", self.frames) } else { String::new() };
        format!("<Picture {} x {}{frames}>", self.size[0], self.size[1])
    }
}

/// A portrait colored by a field, if one is named.
pub fn colored(portrait: Portrait, color: Option<&str>) -> PyResult<Portrait> {
    match color {
        Some(name) => Ok(portrait.colored(Some(ColorField::from_name(name).map_err(error::other)?))),
        None => Ok(portrait),
    }
}

/// Checks a picture size.
pub fn checked_size((width, height): (usize, usize)) -> PyResult<[usize; 2]> {
    let is_fine = |side: usize| (2..=4096).contains(&side);
    match is_fine(width) && is_fine(height) {
        true => Ok([width, height]),
        false => Err(PyValueError::new_err("a picture is 2 to 4096 pixels wide and high")),
    }
}
