//! `Mesh`: points, cells and fields, from and to arrays and files.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::{PyArray2, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sinew_geometry::{CellKind, CellMesh};
use sinew_io::{CellGroup, CellShape, Field, MeshData, VolumeOptions, WriteOptions};
use sinew_record::record::write_file;

use crate::arrays::{as_vectors, floats, integers, view_rows, view_values, view_vectors};
use crate::error;
use crate::threads::with_threads;

/// Points, cells and fields of a mesh. Immutable.
///
/// Cells are grouped by shape: "triangle", "quad", "tetrahedron", "hexahedron", "quadratic tetrahedron", and so on,
/// with nodes in VTK's order.
#[pyclass(frozen, module = "sinew")]
pub struct Mesh {
    data: Arc<MeshData>,
}

impl From<Arc<MeshData>> for Mesh {
    fn from(data: Arc<MeshData>) -> Self {
        Self { data }
    }
}

#[pymethods]
impl Mesh {
    /// A mesh from arrays: points of shape (n, 3) and a dict of cells by shape, each of shape (cells, nodes per cell).
    /// `point_fields` and `cell_fields` are dicts of arrays with one entry or row per point or cell; `node_sets` and
    /// `cell_sets` are dicts of index lists.
    #[new]
    #[pyo3(signature = (points, cells, *, point_fields=None, cell_fields=None, node_sets=None, cell_sets=None))]
    fn new(
        points: &Bound<'_, PyAny>,
        cells: &Bound<'_, PyDict>,
        point_fields: Option<&Bound<'_, PyDict>>,
        cell_fields: Option<&Bound<'_, PyDict>>,
        node_sets: Option<&Bound<'_, PyDict>>,
        cell_sets: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let points = floats(points)?;
        if points.shape().len() != 2 && points.len() > 0 {
            return Err(PyValueError::new_err(format!("points must have the shape (n, 3), not {:?}", points.shape())));
        }
        let points = as_vectors(&points, "points")?.to_vec();
        if let Some(index) = points.iter().position(|point| !point.is_finite()) {
            return Err(PyValueError::new_err(format!("point {index} is not finite")));
        }
        let groups: Vec<CellGroup> = cells
            .iter()
            .map(|(name, nodes)| cell_group(&name.extract::<String>()?, &nodes, points.len()))
            .collect::<PyResult<_>>()?;
        let cell_count = groups.iter().map(CellGroup::len).sum();
        let data = MeshData {
            point_fields: fields(point_fields, points.len(), "points")?,
            cell_fields: fields(cell_fields, cell_count, "cells")?,
            node_sets: sets(node_sets, points.len())?,
            cell_sets: sets(cell_sets, cell_count)?,
            points,
            groups,
            notes: Vec::new(),
        };
        Ok(Self { data: Arc::new(data) })
    }

    /// Reads a mesh file; the extension gives the format.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Ok(Self { data: Arc::new(py.detach(|| with_threads(|| sinew_io::load(&path)))?.map_err(error::mesh)?) })
    }

    /// Writes a mesh file; the extension gives the format.
    #[pyo3(signature = (path, *, binary=true, compress=false))]
    fn save(&self, py: Python<'_>, path: PathBuf, binary: bool, compress: bool) -> PyResult<()> {
        let options = WriteOptions { binary, compress, version: None };
        let save = || {
            let files = sinew_io::save(&self.data, &path, &options).map_err(error::mesh)?;
            files.iter().try_for_each(|(path, bytes)| write_file(path, bytes).map_err(error::mesh))
        };
        py.detach(|| with_threads(save))?
    }

    /// Points [m], shape (n, 3): a read-only view.
    #[getter]
    fn points<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray2<f64>> {
        // SAFETY: a mesh never changes, and the array keeps it alive.
        unsafe { view_vectors(&slf.get().data.points, slf.clone().into_any()) }
    }

    /// Cells by shape: arrays of node indices of shape (cells, nodes per cell). Views if all cells of a shape are
    /// contiguous, else copies; polygons with any number of corners are lists.
    #[getter]
    fn cells<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        let (py, data) = (slf.py(), &slf.get().data);
        let dict = PyDict::new(py);
        for group in &data.groups {
            let name = group.shape.name();
            if dict.contains(name)? {
                continue;
            }
            let all: Vec<&CellGroup> = data.groups.iter().filter(|other| other.shape == group.shape).collect();
            match (group.shape.nodes(), all.as_slice()) {
                (None, all) => {
                    let polygons: Vec<&[u32]> = all.iter().flat_map(|group| group.cells()).collect();
                    dict.set_item(name, polygons.iter().map(|polygon| polygon.to_vec()).collect::<Vec<_>>())?;
                }
                (Some(count), [only]) => {
                    // SAFETY: a mesh never changes, and the array keeps it alive.
                    dict.set_item(name, unsafe { view_rows(&only.nodes, count, slf.clone().into_any()) })?;
                }
                (Some(count), all) => {
                    let nodes: Vec<Vec<u32>> =
                        all.iter().flat_map(|group| group.nodes.chunks_exact(count)).map(<[u32]>::to_vec).collect();
                    dict.set_item(name, PyArray2::from_vec2(py, &nodes).map_err(error::mesh)?)?;
                }
            }
        }
        Ok(dict)
    }

    /// Fields at the points by name: read-only views.
    #[getter]
    fn point_fields<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        fields_of(slf, &slf.get().data.point_fields)
    }

    /// Fields at the cells by name, cells in file order: read-only views.
    #[getter]
    fn cell_fields<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        fields_of(slf, &slf.get().data.cell_fields)
    }

    /// Named sets of points.
    #[getter]
    fn node_sets(&self) -> std::collections::BTreeMap<String, Vec<u32>> {
        self.data.node_sets.clone()
    }

    /// Named sets of cells.
    #[getter]
    fn cell_sets(&self) -> std::collections::BTreeMap<String, Vec<u32>> {
        self.data.cell_sets.clone()
    }

    /// Notes on content that was skipped or repaired when the file was read.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.data.notes.clone()
    }

    /// Volume of its tetrahedra and hexahedra, or volume enclosed by its surface if it has none [m³].
    #[getter]
    fn volume(&self) -> PyResult<f64> {
        match self.data.groups.iter().any(|group| group.shape.dimension() == 3) {
            true => Ok(self.cell_mesh()?.volume()),
            false => {
                let surface = (*self.data).clone().into_surface(&Default::default()).map_err(error::mesh)?;
                match surface.mesh.is_closed() {
                    true => Ok(surface.mesh.volume()),
                    false => Err(error::mesh("an open surface has no volume")),
                }
            }
        }
    }

    /// The surface of its tetrahedra and hexahedra.
    fn surface(&self) -> PyResult<Self> {
        let data = MeshData::boundary_of(&self.cell_mesh()?).map_err(error::mesh)?;
        Ok(Self { data: Arc::new(data) })
    }

    /// As a `meshio.Mesh`.
    fn to_meshio<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        bridge(slf.py(), "to_meshio", slf.as_any())
    }

    /// From a `meshio.Mesh`.
    #[staticmethod]
    fn from_meshio<'py>(mesh: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        bridge(mesh.py(), "from_meshio", mesh)
    }

    /// Its triangles as a `trimesh.Trimesh`.
    fn to_trimesh<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        bridge(slf.py(), "to_trimesh", slf.as_any())
    }

    /// From a `trimesh.Trimesh`.
    #[staticmethod]
    fn from_trimesh<'py>(mesh: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        bridge(mesh.py(), "from_trimesh", mesh)
    }

    /// As a `pyvista.UnstructuredGrid`.
    fn to_pyvista<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        bridge(slf.py(), "to_pyvista", slf.as_any())
    }

    /// From a `pyvista.UnstructuredGrid` or `pyvista.PolyData`.
    #[staticmethod]
    fn from_pyvista<'py>(mesh: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        bridge(mesh.py(), "from_pyvista", mesh)
    }

    fn __repr__(&self) -> String {
        let mut counts: Vec<(&str, usize)> = Vec::new();
        for group in &self.data.groups {
            match counts.iter_mut().find(|(name, _)| *name == group.shape.name()) {
                Some((_, count)) => *count += group.len(),
                None => counts.push((group.shape.name(), group.len())),
            }
        }
        let cells: Vec<String> = counts.iter().map(|(name, count)| format!(", {count} of {name}")).collect();
        format!("<Mesh: {} points{}>", self.data.points.len(), cells.concat())
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.data == other.data
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let py = slf.py();
        let groups: Vec<(String, Vec<u32>, Vec<u32>)> = slf
            .get()
            .data
            .groups
            .iter()
            .map(|group| (group.shape.name().to_string(), group.nodes.clone(), group.ends.clone()))
            .collect();
        let mesh = slf.get();
        let arguments = (
            Self::points(slf),
            groups,
            Self::point_fields(slf)?,
            Self::cell_fields(slf)?,
            mesh.node_sets(),
            mesh.cell_sets(),
        );
        let restore = py.import("sinew._sinew")?.getattr("Mesh")?.getattr("_restore")?;
        Ok((restore, arguments.into_pyobject(py)?.into_any()))
    }

    #[staticmethod]
    fn _restore(
        points: &Bound<'_, PyAny>,
        groups: Vec<(String, Vec<u32>, Vec<u32>)>,
        point_fields: &Bound<'_, PyDict>,
        cell_fields: &Bound<'_, PyDict>,
        node_sets: &Bound<'_, PyDict>,
        cell_sets: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let points = floats(points)?;
        let points = as_vectors(&points, "points")?.to_vec();
        let groups: Vec<CellGroup> = groups
            .into_iter()
            .map(|(name, nodes, ends)| Ok(CellGroup { shape: shape_named(&name)?, nodes, ends }))
            .collect::<PyResult<_>>()?;
        let cell_count = groups.iter().map(CellGroup::len).sum();
        let data = MeshData {
            point_fields: fields(Some(point_fields), points.len(), "points")?,
            cell_fields: fields(Some(cell_fields), cell_count, "cells")?,
            node_sets: sets(Some(node_sets), points.len())?,
            cell_sets: sets(Some(cell_sets), cell_count)?,
            points,
            groups,
            notes: Vec::new(),
        };
        Ok(Self { data: Arc::new(data) })
    }
}

impl Mesh {
    /// The mesh, shared.
    pub fn shared(&self) -> Arc<MeshData> {
        Arc::clone(&self.data)
    }

    fn cell_mesh(&self) -> PyResult<CellMesh> {
        let parts = (*self.data).clone().into_volume(&VolumeOptions::default()).map_err(error::mesh)?;
        Ok(parts.mesh)
    }
}

/// Converts a cell mesh to a Python mesh.
pub fn mesh_of(mesh: &CellMesh) -> Mesh {
    Mesh { data: Arc::new(MeshData::from(mesh)) }
}

/// The shape of cells of a kind.
pub fn shape_of(kind: CellKind) -> CellShape {
    match kind {
        CellKind::Tet4 => CellShape::Tet4,
        CellKind::Tet10 => CellShape::Tet10,
        CellKind::Hex8 => CellShape::Hex8,
    }
}

/// Calls a converter in Python, where the other libraries live.
fn bridge<'py>(py: Python<'py>, function: &str, mesh: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    py.import("sinew.bridges")?.call_method1(function, (mesh,))
}

fn shape_named(name: &str) -> PyResult<CellShape> {
    CellShape::from_name(name).ok_or_else(|| {
        let known: Vec<&str> = CellShape::all().map(CellShape::name).collect();
        PyKeyError::new_err(format!("there is no cell shape \"{name}\"; there are {}", known.join(", ")))
    })
}

fn cell_group(name: &str, nodes: &Bound<'_, PyAny>, points: usize) -> PyResult<CellGroup> {
    let shape = shape_named(name)?;
    let Some(count) = shape.nodes() else {
        let polygons: Vec<Vec<u32>> = nodes.extract()?;
        let mut group = CellGroup::new(shape);
        for (number, polygon) in polygons.iter().enumerate() {
            if let Some(node) = polygon.iter().find(|&&node| node as usize >= points) {
                let message = format!("polygon {number} has the node {node}, but there are {points} points");
                return Err(PyValueError::new_err(message));
            }
            group.nodes.extend_from_slice(polygon);
            group.ends.push(group.nodes.len() as u32);
        }
        return Ok(group);
    };
    let array = integers(nodes, &format!("{name} cells"))?;
    if array.shape().last() != Some(&count) && array.len() > 0 {
        let message = format!("{name} cells need the shape (cells, {count}), not {:?}", array.shape());
        return Err(PyValueError::new_err(message));
    }
    let values = array.readonly();
    let values = values.as_slice().map_err(|_| PyTypeError::new_err("cells must be contiguous"))?;
    let nodes = values
        .iter()
        .enumerate()
        .map(|(k, &node)| {
            let is_known = node >= 0 && (node as u64) < points as u64;
            let wrong = || format!("{name} {} has the node {node}, but there are {points} points", k / count);
            if is_known { Ok(node as u32) } else { Err(PyValueError::new_err(wrong())) }
        })
        .collect::<PyResult<Vec<u32>>>()?;
    Ok(CellGroup::with_nodes(shape, nodes))
}

fn fields(dict: Option<&Bound<'_, PyDict>>, count: usize, of: &str) -> PyResult<Vec<Field>> {
    let mut fields = Vec::new();
    for (name, values) in dict.into_iter().flatten() {
        let name: String = name.extract()?;
        let values = floats(&values)?;
        if values.shape().first() != Some(&count) {
            let message =
                format!("field \"{name}\" has {:?} values for {count} {of}", values.shape().first().unwrap_or(&0));
            return Err(PyValueError::new_err(message));
        }
        let components = values.shape()[1..].iter().product();
        let values = values.as_slice().map_err(|_| PyTypeError::new_err("fields must be contiguous"))?.to_vec();
        fields.push(Field { name, components, values });
    }
    Ok(fields)
}

fn sets(dict: Option<&Bound<'_, PyDict>>, count: usize) -> PyResult<std::collections::BTreeMap<String, Vec<u32>>> {
    let mut sets = std::collections::BTreeMap::new();
    for (name, members) in dict.into_iter().flatten() {
        let (name, members): (String, Vec<u32>) = (name.extract()?, members.extract()?);
        if let Some(member) = members.iter().find(|&&member| member as usize >= count) {
            return Err(PyValueError::new_err(format!("set \"{name}\" has the number {member} of {count}")));
        }
        sets.insert(name, members);
    }
    Ok(sets)
}

fn fields_of<'py>(mesh: &Bound<'py, Mesh>, fields: &[Field]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(mesh.py());
    for field in fields {
        let owner = mesh.clone().into_any();
        let array = match field.components {
            // SAFETY: a mesh never changes, and the array keeps it alive.
            1 => unsafe { view_values(&field.values, owner) }.into_any(),
            // SAFETY: as above.
            count => unsafe { view_rows(&field.values, count, owner) }.into_any(),
        };
        dict.set_item(&field.name, array)?;
    }
    Ok(dict)
}
