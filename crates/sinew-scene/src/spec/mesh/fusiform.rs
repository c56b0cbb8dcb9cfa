//! A spindle.

use sinew_geometry::procedural;

use super::{GeneratedMesh, MeshProblem, MeshSource, tet_count};
use crate::decode::codec::{length, whole};
use crate::value::{Dimension, format_quantity};

table! {
    /// A spindle like the belly of a muscle, from the origin along x, made of tetrahedra.
    pub struct FusiformMesh as "fusiform mesh" {
        /// Length along x \[m\].
        length: f64 = length().positive(), required, example("20 cm");
        /// Radius in the middle \[m\].
        radius: f64 = length().positive(), required, example("3 cm");
        /// Radius at both ends \[m\], at least a tenth of `radius`.
        end_radius: f64 = length().positive(), required, example("8 mm");
        /// Edge length of a cell in the middle \[m\].
        cell: f64 = length().positive(), required, example("8 mm");
        /// Order of the shape functions. 1: linear cells. 2: quadratic tetrahedra with a node at the midpoint of each
        /// edge. They bend well, and with `volume = "mean"` they do not lock.
        order: usize = whole(1, 2), default(1), example(2);
    }
}

impl MeshSource for FusiformMesh {
    fn order(&self) -> usize {
        self.order
    }

    fn cell_count(&self) -> Option<f64> {
        Some(tet_count(3.2 * self.radius.powi(2) * self.length, self.cell))
    }

    fn check(&self) -> Vec<MeshProblem> {
        if (0.1 * self.radius..=self.radius).contains(&self.end_radius) {
            return Vec::new();
        }
        let problem = MeshProblem::new("end_radius", "`end_radius` must lie between a tenth of `radius` and `radius`");
        vec![problem.label(format!("`radius` is {}", format_quantity(self.radius, Dimension::LENGTH)))]
    }

    fn generate(&self, _scale: f64) -> Result<GeneratedMesh, MeshProblem> {
        Ok(procedural::fusiform(self.length, self.radius, self.end_radius, self.cell)?.into())
    }
}
