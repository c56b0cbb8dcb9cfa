//! Converts plain Python values to TOML, and JSON to plain Python values.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PySequence, PyString};
use serde_json::Value as Json;
use sinew_io::MeshData;
use sinew_io::image::ImageData;
use sinew_scene::{Dimension, Quantity};
use toml::Value as Toml;

use crate::mesh::Mesh;
use crate::volume::Volume;

/// Deepest nesting of lists and dicts; scenes need six.
const DEEPEST: usize = 64;

/// Meshes and volumes given in place of files; named here.
#[derive(Default)]
pub struct Meshes {
    /// Meshes by name, without the `@`.
    pub named: BTreeMap<String, Arc<MeshData>>,
    /// Volumes by name, in recipes.
    pub volumes: BTreeMap<String, Arc<ImageData>>,
}

impl Meshes {
    fn name(&mut self, mesh: &Mesh) -> String {
        let data = mesh.shared();
        if let Some((name, _)) = self.named.iter().find(|(_, known)| Arc::ptr_eq(known, &data)) {
            return format!("@{name}");
        }
        let name = format!("mesh{}", self.named.len());
        self.named.insert(name.clone(), data);
        format!("@{name}")
    }

    fn name_volume(&mut self, volume: &Volume) -> String {
        let name = format!("volume{}", self.volumes.len());
        self.volumes.insert(name.clone(), volume.shared());
        format!("@{name}")
    }
}

/// A length [m] from a number or a text such as "4 mm".
pub fn length(value: &Bound<'_, PyAny>, what: &str) -> PyResult<f64> {
    if let Ok(text) = value.cast::<PyString>() {
        let quantity = Quantity::parse(&text.to_string());
        let quantity = quantity.map_err(|error| PyValueError::new_err(format!("{what}: {error}")))?;
        if !matches!(quantity.dimension, Dimension::LENGTH | Dimension::NUMBER) {
            let dimension = quantity.dimension.describe();
            return Err(PyValueError::new_err(format!("{what} must be a length such as \"4 mm\", not {dimension}")));
        }
        return Ok(quantity.value);
    }
    value.extract().map_err(|_| {
        PyTypeError::new_err(format!("{what} is a length: a number in m or a text such as \"4 mm\", not {value}"))
    })
}

/// Converts a Python value to a scene value: numbers, strings, booleans, lists, dicts, paths, arrays, and meshes in
/// place of file names.
pub fn to_toml(value: &Bound<'_, PyAny>, meshes: &mut Meshes) -> PyResult<Toml> {
    nested(value, meshes, DEEPEST)
}

/// The same, with a limit on nesting.
fn nested(value: &Bound<'_, PyAny>, meshes: &mut Meshes, room: usize) -> PyResult<Toml> {
    let Some(room) = room.checked_sub(1) else {
        return Err(PyValueError::new_err(format!("lists and dicts are nested more than {DEEPEST} deep")));
    };
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(Toml::Boolean(flag.is_true()));
    }
    if let Ok(number) = value.cast::<PyInt>() {
        return Ok(number
            .extract::<i64>()
            .map_or_else(|_| Toml::Float(number.extract().unwrap_or(f64::INFINITY)), Toml::Integer));
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        return Ok(Toml::Float(number.value()));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Toml::String(text.to_string()));
    }
    if let Ok(mesh) = value.cast::<Mesh>() {
        return Ok(Toml::String(meshes.name(mesh.get())));
    }
    if let Ok(volume) = value.cast::<Volume>() {
        return Ok(Toml::String(meshes.name_volume(volume.get())));
    }
    if let Ok(dict) = value.cast::<PyMapping>() {
        let mut table = toml::Table::new();
        for item in dict.items()? {
            let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
            let key: String =
                key.extract().map_err(|_| PyTypeError::new_err(format!("keys of a scene are texts, not {key}")))?;
            if value.is_none() {
                continue;
            }
            // `mesh = Mesh(...)` is short for `mesh = { from = Mesh(...) }`.
            let is_mesh = key == "mesh" && value.cast::<Mesh>().is_ok();
            let value = nested(&value, meshes, room)?;
            let value = match is_mesh {
                true => Toml::Table(toml::Table::from_iter([("from".to_string(), value)])),
                false => value,
            };
            table.insert(key, value);
        }
        return Ok(Toml::Table(table));
    }
    if let Ok(list) = value.cast::<PySequence>() {
        return list.try_iter()?.map(|item| nested(&item?, meshes, room)).collect::<PyResult<_>>().map(Toml::Array);
    }
    // numpy numbers and arrays, and anything else that converts to plain values.
    if value.hasattr("tolist")? {
        return nested(&value.call_method0("tolist")?, meshes, room);
    }
    if let Ok(path) = value.extract::<PathBuf>() {
        return Ok(Toml::String(path.to_string_lossy().into_owned()));
    }
    let kind = value.get_type().name()?.to_string();
    Err(PyTypeError::new_err(format!("a scene holds numbers, texts, flags, lists and dicts, not {kind}")))
}

/// Converts a TOML value to Python.
pub fn from_toml<'py>(py: Python<'py>, value: &Toml) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Toml::String(text) => text.into_pyobject(py)?.into_any(),
        Toml::Integer(number) => number.into_pyobject(py)?.into_any(),
        Toml::Float(number) => number.into_pyobject(py)?.into_any(),
        Toml::Boolean(flag) => PyBool::new(py, *flag).to_owned().into_any(),
        Toml::Datetime(time) => time.to_string().into_pyobject(py)?.into_any(),
        Toml::Array(items) => {
            let list = PyList::empty(py);
            items.iter().try_for_each(|item| list.append(from_toml(py, item)?))?;
            list.into_any()
        }
        Toml::Table(table) => {
            let dict = PyDict::new(py);
            table.iter().try_for_each(|(key, value)| dict.set_item(key, from_toml(py, value)?))?;
            dict.into_any()
        }
    })
}

/// Converts a JSON value to Python; `null` becomes `None`.
pub fn from_json<'py>(py: Python<'py>, value: &Json) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Json::Null => py.None().into_bound(py),
        Json::Bool(flag) => PyBool::new(py, *flag).to_owned().into_any(),
        Json::String(text) => text.into_pyobject(py)?.into_any(),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => number.into_pyobject(py)?.into_any(),
            (None, Some(number)) => number.into_pyobject(py)?.into_any(),
            (None, None) => return Err(PyValueError::new_err(format!("{number} is no number of Python"))),
        },
        Json::Array(items) => {
            let list = PyList::empty(py);
            items.iter().try_for_each(|item| list.append(from_json(py, item)?))?;
            list.into_any()
        }
        Json::Object(entries) => {
            let dict = PyDict::new(py);
            entries.iter().try_for_each(|(key, value)| dict.set_item(key, from_json(py, value)?))?;
            dict.into_any()
        }
    })
}
