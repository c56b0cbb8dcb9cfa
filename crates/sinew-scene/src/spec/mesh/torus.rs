//! A torus.

use sinew_geometry::procedural;

use super::{GeneratedMesh, MeshProblem, MeshSource, tet_count};
use crate::decode::codec::{length, whole};
use crate::value::{Dimension, format_quantity};

table! {
    /// A torus around the z axis, centered at the origin, made of tetrahedra.
    pub struct TorusMesh as "torus mesh" {
        /// Radius of the center line of the tube \[m\].
        radius: f64 = length().positive(), required, example("10 cm");
        /// Radius of the tube \[m\].
        tube: f64 = length().positive(), required, example("3 cm");
        /// Edge length of a cell \[m\].
        cell: f64 = length().positive(), required, example("1 cm");
        /// Order of the shape functions. 1: linear cells. 2: quadratic tetrahedra with a node at the midpoint of each
        /// edge. They bend well, and with `volume = "mean"` they do not lock.
        order: usize = whole(1, 2), default(1), example(2);
    }
}

impl MeshSource for TorusMesh {
    fn order(&self) -> usize {
        self.order
    }

    fn cell_count(&self) -> Option<f64> {
        Some(tet_count(20.0 * self.radius * self.tube.powi(2), self.cell))
    }

    fn check(&self) -> Vec<MeshProblem> {
        if self.tube < self.radius {
            return Vec::new();
        }
        let problem = MeshProblem::new("tube", "the tube of a torus must be thinner than its radius");
        vec![problem.label(format!("`radius` is {}", format_quantity(self.radius, Dimension::LENGTH)))]
    }

    fn generate(&self, _scale: f64) -> Result<GeneratedMesh, MeshProblem> {
        Ok(procedural::torus(self.radius, self.tube, self.cell)?.into())
    }
}
