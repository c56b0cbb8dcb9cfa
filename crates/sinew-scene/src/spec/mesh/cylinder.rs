//! A cylinder.

use sinew_geometry::procedural;

use super::{GeneratedMesh, MeshProblem, MeshSource, tet_count};
use crate::decode::codec::{length, whole};

table! {
    /// A cylinder from the origin along x, made of tetrahedra.
    pub struct CylinderMesh as "cylinder mesh" {
        /// Radius \[m\].
        radius: f64 = length().positive(), required, example("5 cm");
        /// Length along x \[m\].
        length: f64 = length().positive(), required, example("30 cm");
        /// Edge length of a cell \[m\].
        cell: f64 = length().positive(), required, example("2 cm");
        /// Order of the shape functions. 1: linear cells. 2: quadratic tetrahedra with a node at the midpoint of each
        /// edge. They bend well, and with `volume = "mean"` they do not lock.
        order: usize = whole(1, 2), default(1), example(2);
    }
}

impl MeshSource for CylinderMesh {
    fn order(&self) -> usize {
        self.order
    }

    fn cell_count(&self) -> Option<f64> {
        Some(tet_count(3.2 * self.radius.powi(2) * self.length, self.cell))
    }

    fn generate(&self, _scale: f64) -> Result<GeneratedMesh, MeshProblem> {
        Ok(procedural::cylinder(self.radius, self.length, self.cell)?.into())
    }
}
