//! A ball.

use sinew_geometry::procedural;

use super::{GeneratedMesh, MeshProblem, MeshSource, tet_count};
use crate::decode::codec::{length, whole};

table! {
    /// A ball around the origin, made of tetrahedra.
    pub struct SphereMesh as "sphere mesh" {
        /// Radius \[m\].
        radius: f64 = length().positive(), required, example("10 cm");
        /// Edge length of a cell \[m\].
        cell: f64 = length().positive(), required, example("2 cm");
        /// Order of the shape functions. 1: linear cells. 2: quadratic tetrahedra with a node at the midpoint of each
        /// edge. They bend well, and with `volume = "mean"` they do not lock.
        order: usize = whole(1, 2), default(1), example(2);
    }
}

impl MeshSource for SphereMesh {
    fn order(&self) -> usize {
        self.order
    }

    fn cell_count(&self) -> Option<f64> {
        // 4/3 π r³.
        Some(tet_count(4.2 * self.radius.powi(3), self.cell))
    }

    fn generate(&self, _scale: f64) -> Result<GeneratedMesh, MeshProblem> {
        Ok(procedural::sphere(self.radius, self.cell)?.into())
    }
}
