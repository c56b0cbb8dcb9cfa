//! `Cover`: coarse cells around a fine mesh, which they carry along.

use std::sync::Arc;

use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use sinew_anatomy::cover;
use sinew_geometry::embedding::Embedding;
use sinew_io::VolumeOptions;
use sinew_math::Vec3;

use crate::arrays::{as_vectors, floats, integers, vectors};
use crate::error;
use crate::mesh::{Mesh, mesh_of};
use crate::values::length;
use crate::waiting::aside;

/// Coarse tetrahedra around a mesh of fine ones, which they carry along.
///
/// Where parts of the fine mesh pass through one cell without being connected in it, each has a copy of the cell with nodes
/// of its own, so that they can move apart.
#[pyclass(frozen, module = "sinew")]
pub struct Cover {
    cover: Arc<cover::Cover>,
    /// Where each node was in the cover before, after [`Cover::redo`].
    before: Option<Embedding>,
}

#[pymethods]
impl Cover {
    /// Covers the tetrahedra of a mesh with cells of a lattice; `cell` is their long edge, in m or a text such as "12 mm".
    #[new]
    #[pyo3(signature = (mesh, *, cell))]
    fn new(py: Python<'_>, mesh: &Bound<'_, Mesh>, cell: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (data, cell) = (mesh.get().shared(), length(cell, "cell")?);
        let cover = aside(py, |_| {
            let fine = (*data).clone().into_volume(&VolumeOptions::default()).map_err(error::mesh)?.mesh;
            cover::Cover::build(&fine, cell).map_err(error::mesh)
        })??;
        Ok(Self { cover: Arc::new(cover), before: None })
    }

    /// The coarse cells.
    fn to_mesh(&self) -> Mesh {
        mesh_of(&self.cover.mesh)
    }

    /// Positions of the coarse nodes [m], shape (n, 3).
    #[getter]
    fn positions<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        vectors(py, self.cover.mesh.positions())
    }

    /// Fraction of each coarse cell that is inside the fine mesh.
    #[getter]
    fn fractions<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_vec(py, self.cover.volume_fractions())
    }

    /// Number of connected parts, equal to that of the fine mesh.
    #[getter]
    fn parts(&self) -> usize {
        self.cover.report.components
    }

    /// Positions of the fine nodes when the coarse ones are at `positions`; also of velocities and displacements.
    fn embed<'py>(&self, py: Python<'py>, positions: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        carried(py, &self.cover.embedding, positions, self.cover.mesh.node_count())
    }

    /// The cover of a mesh whose cells were removed, separated or split: `old_cells` names for each of its cells the cell of
    /// the old mesh that it was, or was a part of. `carry` of the result leads from the old nodes to the new ones.
    fn redo(&self, py: Python<'_>, mesh: &Bound<'_, Mesh>, old_cells: &Bound<'_, PyAny>) -> PyResult<Self> {
        let array = integers(old_cells, "old_cells")?;
        let values = array.readonly();
        let values = values.as_slice().map_err(|_| PyTypeError::new_err("old_cells must be contiguous"))?;
        let number =
            |cell: &i64| u32::try_from(*cell).map_err(|_| PyValueError::new_err(format!("there is no cell {cell}")));
        let old_cells: Vec<u32> = values.iter().map(number).collect::<PyResult<_>>()?;
        let data = mesh.get().shared();
        let redone = aside(py, |_| {
            let fine = (*data).clone().into_volume(&VolumeOptions::default()).map_err(error::mesh)?.mesh;
            self.cover.redo(&fine, &old_cells).map_err(error::mesh)
        })??;
        Ok(Self { cover: Arc::new(redone.cover), before: Some(redone.old_from_new) })
    }

    /// After `redo`: values at the new nodes (positions, velocities) from those at the nodes of the cover before.
    fn carry<'py>(&self, py: Python<'py>, old: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let Some(before) = &self.before else {
            return Err(PyValueError::new_err("this cover was not made by `redo`: there is none before it"));
        };
        let nodes =
            (0..before.len()).flat_map(|node| before.entries(node).0).max().map_or(0, |node| *node as usize + 1);
        carried(py, before, old, nodes)
    }

    fn __repr__(&self) -> String {
        let report = &self.cover.report;
        format!("<Cover: {} cells of {} m around {} cells>", report.cells, self.cover.size(), report.fine_cells)
    }
}

/// Values at bound points from values at `count` nodes or more.
fn carried<'py>(
    py: Python<'py>,
    embedding: &Embedding,
    values: &Bound<'py, PyAny>,
    count: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let array = floats(values)?;
    let nodes = as_vectors(&array, "positions")?;
    if nodes.len() < count {
        let message = format!("values of {count} nodes are expected, not of {}", nodes.len());
        return Err(PyValueError::new_err(message));
    }
    let mut out = vec![Vec3::zero(); embedding.len()];
    embedding.positions(nodes, &mut out);
    Ok(vectors(py, &out))
}
