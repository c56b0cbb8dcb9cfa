//! Cells that fill a closed surface.

use super::{Element, Kind, MeshSource};
use crate::decode::{
    codec::{length, text, whole, word},
    compound::list,
};

words! {
    /// What to do with a surface that is open or intersects itself.
    pub enum Repair {
        /// Characters: find out what of them is flesh, and fill it by winding numbers; other surfaces: as `"none"`.
        "auto" => Auto,
        /// Report an error.
        "none" => None,
        /// Distinguish inside from outside by the generalized winding number, and report it.
        "winding" => Winding,
    }
}

table! {
    /// A lattice of cells that fills a closed surface; the surface is embedded in it and moves with it.
    pub struct FillMesh as "fill mesh" {
        /// The surface (.obj, .ply, .stl, .glb, .gltf, .vrm), relative to the scene. Its groups become regions.
        surface: String = text("path of a file"), required, example("meshes/hand.obj");
        /// Kinds of cells to leave out; a surface consists of triangles, quads and polygons.
        skip: Vec<Kind> = list(word()), default([]), example(["tetrahedron"]);
        /// Edge length of a lattice cell \[m\], after `scale`.
        cell: f64 = length().positive(), required, example("1 cm");
        /// The kind of cells. On a lattice, parts of the body that share a cube but no flesh, such as two fingers, each
        /// get a copy of it.
        element: Element = word(), default("tet4"), example("lattice");
        /// What to do with a surface that is open or intersects itself.
        repair: Repair = word(), default("auto"), example("winding");
        /// Order of the shape functions. 1: linear cells. 2: quadratic tetrahedra with a node at the midpoint of each
        /// edge. They bend well, and with `volume = "mean"` they do not lock.
        order: usize = whole(1, 2), default(1), example(2);
    }
}

impl MeshSource for FillMesh {
    fn order(&self) -> usize {
        self.order
    }

    fn element(&self) -> Element {
        self.element
    }

    fn regions(&self) -> Option<&'static [&'static str]> {
        None
    }

    fn file(&self) -> Option<(&'static str, &str)> {
        Some(("surface", &self.surface))
    }
}
