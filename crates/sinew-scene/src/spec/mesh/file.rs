//! Cells from a file.

use super::{Kind, MeshSource};
use crate::decode::{
    codec::{text, whole, word},
    compound::list,
};

table! {
    /// Cells from a file.
    pub struct FileMesh as "file mesh" {
        /// The file (.vtu, .vtk, .msh, .ele, .inp, .feb, .mesh), relative to the scene. Its groups become regions.
        file: String = text("path of a file"), required, example("meshes/tongue.vtu");
        /// Kinds of cells to leave out. Sinew simulates tetrahedra (linear and quadratic) and hexahedra; other cells of
        /// a volume are an error.
        skip: Vec<Kind> = list(word()), default([]), example(["wedge", "pyramid"]);
        /// Order of the shape functions. 1: linear cells. 2: quadratic tetrahedra with a node at the midpoint of each
        /// edge. They bend well, and with `volume = "mean"` they do not lock. Quadratic tetrahedra in the file stay
        /// quadratic.
        order: usize = whole(1, 2), default(1), example(2);
    }
}

impl MeshSource for FileMesh {
    fn order(&self) -> usize {
        self.order
    }

    fn regions(&self) -> Option<&'static [&'static str]> {
        None
    }

    fn file(&self) -> Option<(&'static str, &str)> {
        Some(("file", &self.file))
    }
}
