//! Where the cells of a body come from.

use crate::decode::{
    codec::{length, text, whole, word},
    compound::{fixed, vector},
};

words! {
    /// The kind of cells.
    pub enum Element {
        /// Linear tetrahedra.
        "tet4" => Tet4,
        /// Trilinear hexahedra.
        "hex8" => Hex8,
    }
}

words! {
    /// How a block is divided into tetrahedra.
    pub enum Pattern {
        /// Six tetrahedra per cube around a diagonal: conforming and the simplest.
        "kuhn" => Kuhn,
        /// The body-centred cubic lattice: better angles and no preferred diagonal.
        "bcc" => Bcc,
    }
}

words! {
    /// What to do with a surface that is open or cuts itself.
    pub enum Repair {
        /// Refuse it.
        "none" => None,
        /// Decide inside and outside by the generalised winding number, and report it.
        "winding" => Winding,
    }
}

/// Most cells along one axis; with [`MOST_CELLS`] it keeps a mistyped size from filling the memory.
pub(crate) const MOST_CELLS_PER_AXIS: i64 = 4096;

/// Most cells of a generated mesh.
pub(crate) const MOST_CELLS: f64 = 50e6;

table! {
    /// A block with its lowest corner at the origin.
    pub struct BoxMesh as "box mesh" {
        /// Edge lengths along x, y and z [m].
        size: [f64; 3] = vector(length().positive()), required, example(["40 cm", "10 cm", "10 cm"]);
        /// Edge length of a cell, rounded so that cells fill the block [m]. Either this or `cells`.
        cell: Option<f64> = length().positive(), optional, example("2 cm");
        /// Number of cells along x, y and z. Either this or `cell`.
        cells: Option<[usize; 3]> = fixed(whole(1, MOST_CELLS_PER_AXIS)), optional, example([24, 6, 6]);
        /// The kind of cells.
        element: Element = word(), default("tet4");
        /// How cubes are divided into tetrahedra.
        pattern: Pattern = word(), default("kuhn");
    }
}

table! {
    /// A ball around the origin, of tetrahedra.
    pub struct SphereMesh as "sphere mesh" {
        /// Radius [m].
        radius: f64 = length().positive(), required, example("10 cm");
        /// Edge length of a cell [m].
        cell: f64 = length().positive(), required, example("2 cm");
    }
}

table! {
    /// A cylinder from the origin along x, of tetrahedra.
    pub struct CylinderMesh as "cylinder mesh" {
        /// Radius [m].
        radius: f64 = length().positive(), required, example("5 cm");
        /// Length along x [m].
        length: f64 = length().positive(), required, example("30 cm");
        /// Edge length of a cell [m].
        cell: f64 = length().positive(), required, example("2 cm");
    }
}

table! {
    /// A ring around the z axis, centred at the origin, of tetrahedra.
    pub struct TorusMesh as "torus mesh" {
        /// Radius of the circle through the middle of the tube [m].
        radius: f64 = length().positive(), required, example("10 cm");
        /// Radius of the tube [m].
        tube: f64 = length().positive(), required, example("3 cm");
        /// Edge length of a cell [m].
        cell: f64 = length().positive(), required, example("1 cm");
    }
}

table! {
    /// A spindle like the belly of a muscle, from the origin along x, of tetrahedra.
    pub struct FusiformMesh as "fusiform mesh" {
        /// Length along x [m].
        length: f64 = length().positive(), required, example("20 cm");
        /// Radius in the middle [m].
        radius: f64 = length().positive(), required, example("3 cm");
        /// Radius at both ends [m], at least a tenth of `radius`.
        end_radius: f64 = length().positive(), required, example("8 mm");
        /// Edge length of a cell in the middle [m].
        cell: f64 = length().positive(), required, example("8 mm");
    }
}

table! {
    /// Cells from a file.
    pub struct FileMesh as "file mesh" {
        /// The file (.vtu), relative to the scene.
        file: String = text("path of a file"), required, example("meshes/tongue.vtu");
    }
}

table! {
    /// A lattice of tetrahedra filling a closed surface; the surface is embedded in it and moves with it.
    pub struct FillMesh as "fill mesh" {
        /// The surface (.obj), relative to the scene.
        surface: String = text("path of a file"), required, example("meshes/hand.obj");
        /// Edge length of a lattice cell [m], after `scale`.
        cell: f64 = length().positive(), required, example("1 cm");
        /// What to do with a surface that is open or cuts itself.
        repair: Repair = word(), default("none");
    }
}

tagged! {
    /// Where the cells of a body come from.
    pub enum Mesh as "mesh" by "from" {
        /// A block with its lowest corner at the origin.
        "box" => Box(BoxMesh),
        /// A ball around the origin.
        "sphere" => Sphere(SphereMesh),
        /// A cylinder from the origin along x.
        "cylinder" => Cylinder(CylinderMesh),
        /// A ring around z, centred at the origin.
        "torus" => Torus(TorusMesh),
        /// A spindle from the origin along x.
        "fusiform" => Fusiform(FusiformMesh),
        /// Cells from a file.
        "file" => File(FileMesh),
        /// A lattice that fills a closed surface.
        "fill" => Fill(FillMesh),
    }
}

impl BoxMesh {
    /// Number of cells along each axis, from `cells` or from `cell`.
    pub fn cell_counts(&self) -> [usize; 3] {
        match (self.cells, self.cell) {
            (Some(cells), _) => cells,
            (None, Some(cell)) => self.size.map(|edge| (edge / cell).round().clamp(1.0, 1e6) as usize),
            (None, None) => [1; 3],
        }
    }
}
