//! A standing figure.

use sinew_geometry::procedural;

use super::{GeneratedMesh, MeshProblem, MeshSource, tet_count};
use crate::decode::codec::{length, whole};

table! {
    /// A standing figure with spread arms, made of tetrahedra. Trunk and head get more cells as `cells` grows; limbs
    /// stay four cells thick. Its ends are the regions `left-hand`, `right-hand`, `left-foot` and `right-foot`.
    pub struct FigureMesh as "figure mesh" {
        /// Height along z \[m\].
        height: f64 = length().positive(), required, example("1.8 m");
        /// Number of cells over the height.
        cells: usize = whole(24, 1000), required, example(48);
        /// Order of the shape functions. 1: linear cells. 2: quadratic tetrahedra with a node at the midpoint of each
        /// edge. They bend well, and with `volume = "mean"` they do not lock.
        order: usize = whole(1, 2), default(1), example(2);
    }
}

impl MeshSource for FigureMesh {
    fn order(&self) -> usize {
        self.order
    }

    fn cell_count(&self) -> Option<f64> {
        Some(tet_count(0.018 * self.height.powi(3), self.height / self.cells as f64))
    }

    fn size_key(&self) -> &'static str {
        "cells"
    }

    fn regions(&self) -> Option<&'static [&'static str]> {
        Some(&procedural::FIGURE_ENDS)
    }

    fn generate(&self, _scale: f64) -> Result<GeneratedMesh, MeshProblem> {
        Ok(procedural::figure(self.height, self.cells)?.into())
    }
}
