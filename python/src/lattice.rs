//! `Lattice`: cubes around a surface, as used for characters.

use numpy::{PyArray1, PyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sinew_geometry::embedding::Embedding;
use sinew_geometry::lattice::{HexLattice, LatticeOptions};
use sinew_math::Vec3;

use crate::arrays::{as_vectors, floats, rows, vectors};
use crate::error;
use crate::mesh::{Mesh, mesh_of};
use crate::threads::with_threads;

/// A lattice of cubes of one size that covers a closed surface, with the surface bound to it.
///
/// Where different parts of a body pass through one cube, each part has its own cell.
#[pyclass(frozen, module = "sinew")]
pub struct Lattice {
    lattice: HexLattice,
    embedding: Embedding,
}

#[pymethods]
impl Lattice {
    /// Covers a closed surface with cubes of edge length `cell` [m].
    #[new]
    #[pyo3(signature = (surface, *, cell))]
    fn new(py: Python<'_>, surface: &Bound<'_, Mesh>, cell: f64) -> PyResult<Self> {
        let data = surface.get().shared();
        let cover = || {
            let parts = (*data).clone().into_surface(&Default::default()).map_err(error::mesh)?;
            let size = parts.mesh.bounds().size().max_component();
            if cell > size {
                let message = format!("a cell of {cell} m is larger than the surface, which is {size} m long");
                return Err(error::mesh(message));
            }
            let filling =
                HexLattice::from_surface(&parts.mesh, cell, &LatticeOptions::default()).map_err(error::mesh)?;
            let embedding = filling.bind();
            Ok(Self { lattice: filling.lattice, embedding })
        };
        py.detach(|| with_threads(cover))?
    }

    /// Edge of a cube [m].
    #[getter]
    fn cell(&self) -> f64 {
        self.lattice.cell
    }

    /// Lower corner [m].
    #[getter]
    fn origin(&self) -> [f64; 3] {
        self.lattice.origin.to_array()
    }

    /// Number of cubes of the bounding box along each axis.
    #[getter]
    fn cubes(&self) -> [usize; 3] {
        self.lattice.cubes
    }

    /// Positions of the nodes [m], shape (n, 3).
    #[getter]
    fn positions<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        let positions: Vec<Vec3> =
            (0..self.lattice.node_places.len()).map(|node| self.lattice.node_position(node)).collect();
        vectors(py, &positions)
    }

    /// Nodes of the cells, shape (cells, 8); x fastest: corner k at the offset (k & 1, k >> 1 & 1, k >> 2 & 1).
    #[getter]
    fn cells<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<u32>> {
        let cells: Vec<[u32; 8]> = self.lattice.cells.iter().map(|cell| cell.nodes).collect();
        rows(py, &cells)
    }

    /// Grid position of the lower corner of each cell, in multiples of the edge from the origin, shape (cells, 3).
    #[getter]
    fn places<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<u32>> {
        let places: Vec<[u32; 3]> = self.lattice.cells.iter().map(|cell| cell.place).collect();
        rows(py, &places)
    }

    /// Fraction of each cell that is inside the surface.
    #[getter]
    fn fractions<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_iter(py, self.lattice.cells.iter().map(|cell| f64::from(cell.fraction)))
    }

    /// Enclosed volume [m³].
    #[getter]
    fn volume(&self) -> f64 {
        self.lattice.volume()
    }

    /// Positions of the surface vertices when the nodes are at `positions`.
    fn embed<'py>(&self, py: Python<'py>, positions: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let array = floats(positions)?;
        let nodes = as_vectors(&array, "positions")?;
        if nodes.len() != self.lattice.node_places.len() {
            let message =
                format!("positions of {} nodes are expected, not of {}", self.lattice.node_places.len(), nodes.len());
            return Err(PyValueError::new_err(message));
        }
        let mut out = vec![Vec3::zero(); self.embedding.len()];
        self.embedding.positions(nodes, &mut out);
        Ok(vectors(py, &out))
    }

    /// The cells as a mesh of hexahedra.
    fn to_mesh(&self) -> PyResult<Mesh> {
        Ok(mesh_of(&self.lattice.to_mesh().map_err(error::mesh)?))
    }

    fn __repr__(&self) -> String {
        format!(
            "<Lattice: {} cells of {} m, {} nodes>",
            self.lattice.cells.len(),
            self.lattice.cell,
            self.lattice.node_places.len()
        )
    }
}
