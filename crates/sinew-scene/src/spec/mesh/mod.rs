//! Sources of the cells of a body.
//!
//! Each source is one file: the keys of its table, its checks, and the call of the generator. To add one, write its
//! file and add it to [`Mesh`] and [`Mesh::source`] at the end of this file.

mod anatomy;
mod block;
mod cylinder;
mod figure;
mod file;
mod fill;
mod fusiform;
mod muscle;
mod sphere;
mod torus;

use std::collections::BTreeSet;

use sinew_geometry::CellMesh;
use sinew_geometry::procedural::ProceduralError;
use sinew_io::CellShape;

pub use self::{
    anatomy::AnatomyMesh,
    block::{BoxMesh, Pattern},
    cylinder::CylinderMesh,
    figure::FigureMesh,
    file::FileMesh,
    fill::{FillMesh, Repair},
    fusiform::FusiformMesh,
    muscle::{MuscleMesh, MuscleShape},
    sphere::SphereMesh,
    torus::TorusMesh,
};
use crate::decode::tree::{Entry, Node, Value};

words! {
    /// The kind of cells.
    pub enum Element {
        /// Tetrahedra: linear, or quadratic with `order = 2`.
        "tet4" => Tet4,
        /// Trilinear hexahedra.
        "hex8" => Hex8,
        /// Cubes of one size with one rotation each, solved by multigrid: for bodies of ten thousand to millions of
        /// cells. Supports the law `corotated` only.
        "lattice" => Lattice,
    }
}

words! {
    /// A kind of cells in a mesh file.
    pub enum Kind {
        /// A segment.
        "line" => Line2,
        /// A segment with a midpoint.
        "quadratic line" => Line3,
        /// A point.
        "vertex" => Vertex,
        /// A triangle.
        "triangle" => Tri3,
        /// A triangle with edge midpoints.
        "quadratic triangle" => Tri6,
        /// A quadrilateral.
        "quad" => Quad4,
        /// A quadrilateral with edge midpoints.
        "quadratic quad" => Quad8,
        /// A quadrilateral with edge midpoints and its center.
        "biquadratic quad" => Quad9,
        /// A polygon.
        "polygon" => Polygon,
        /// A tetrahedron.
        "tetrahedron" => Tet4,
        /// A tetrahedron with edge midpoints.
        "quadratic tetrahedron" => Tet10,
        /// A pyramid.
        "pyramid" => Pyramid5,
        /// A pyramid with edge midpoints.
        "quadratic pyramid" => Pyramid13,
        /// A triangular prism.
        "wedge" => Wedge6,
        /// A triangular prism with edge midpoints.
        "quadratic wedge" => Wedge15,
        /// A hexahedron.
        "hexahedron" => Hex8,
        /// A hexahedron with edge midpoints.
        "quadratic hexahedron" => Hex20,
        /// A hexahedron with the midpoints of its edges and faces and its center.
        "triquadratic hexahedron" => Hex27,
    }
}

/// The kinds in a list, as types of the mesh reader.
pub fn cell_shapes(kinds: &[Kind]) -> BTreeSet<CellShape> {
    let shape = |kind: &Kind| match kind {
        Kind::Line2 => CellShape::Line2,
        Kind::Line3 => CellShape::Line3,
        Kind::Vertex => CellShape::Vertex,
        Kind::Tri3 => CellShape::Tri3,
        Kind::Tri6 => CellShape::Tri6,
        Kind::Quad4 => CellShape::Quad4,
        Kind::Quad8 => CellShape::Quad8,
        Kind::Quad9 => CellShape::Quad9,
        Kind::Polygon => CellShape::Polygon,
        Kind::Tet4 => CellShape::Tet4,
        Kind::Tet10 => CellShape::Tet10,
        Kind::Pyramid5 => CellShape::Pyramid5,
        Kind::Pyramid13 => CellShape::Pyramid13,
        Kind::Wedge6 => CellShape::Wedge6,
        Kind::Wedge15 => CellShape::Wedge15,
        Kind::Hex8 => CellShape::Hex8,
        Kind::Hex20 => CellShape::Hex20,
        Kind::Hex27 => CellShape::Hex27,
    };
    kinds.iter().map(shape).collect()
}

/// Maximum number of cells along one axis; with [`MAX_CELLS`] it keeps a mistyped size from filling the memory.
pub(crate) const MAX_CELLS_PER_AXIS: i64 = 4096;

/// Maximum number of cells of a generated mesh.
pub(crate) const MAX_CELLS: f64 = 50e6;

/// A source of cells.
pub trait MeshSource {
    /// Order of the shape functions.
    fn order(&self) -> usize;

    /// The kind of cells.
    fn element(&self) -> Element {
        Element::Tet4
    }

    /// Whether the cells are a lattice that is solved by multigrid.
    fn is_lattice(&self) -> bool {
        self.element() == Element::Lattice
    }

    /// Approximate number of cells of a generated mesh; `None` for meshes from files.
    fn cell_count(&self) -> Option<f64> {
        None
    }

    /// The key that sets the number of cells.
    fn size_key(&self) -> &'static str {
        "cell"
    }

    /// Regions besides those of every mesh; `None` if they are only known after a file is read.
    fn regions(&self) -> Option<&'static [&'static str]> {
        Some(&[])
    }

    /// The file that is read, with its key.
    fn file(&self) -> Option<(&'static str, &str)> {
        None
    }

    /// Whether the cells have fiber directions.
    fn has_fibers(&self) -> bool {
        false
    }

    /// Problems that the values of several keys make together.
    fn check(&self) -> Vec<MeshProblem> {
        Vec::new()
    }

    /// The mesh in body coordinates before `scale`, which serves the note only. Meshes from files are read elsewhere.
    fn generate(&self, _scale: f64) -> Result<GeneratedMesh, MeshProblem> {
        Err(MeshProblem::new("", "this mesh is not generated but read from a file"))
    }
}

/// A mesh that was made from parameters.
pub struct GeneratedMesh {
    /// The cells.
    pub mesh: CellMesh,
    /// A fact worth a note of the run.
    pub note: Option<String>,
}

impl From<CellMesh> for GeneratedMesh {
    fn from(mesh: CellMesh) -> Self {
        Self { mesh, note: None }
    }
}

/// A problem with a mesh.
pub struct MeshProblem {
    /// The key at fault; empty for the table as a whole.
    pub key: &'static str,
    /// What is wrong.
    pub message: String,
    /// What the marked value means.
    pub label: Option<String>,
    /// What to do.
    pub hint: Option<String>,
}

impl MeshProblem {
    fn new(key: &'static str, message: impl Into<String>) -> Self {
        Self { key, message: message.into(), label: None, hint: None }
    }

    fn label(self, label: impl Into<String>) -> Self {
        Self { label: Some(label.into()), ..self }
    }

    fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl From<ProceduralError> for MeshProblem {
    fn from(error: ProceduralError) -> Self {
        Self::new("", error.to_string())
    }
}

/// Number of tetrahedra in a volume: a cube of edge `cell` holds six.
fn tet_count(volume: f64, cell: f64) -> f64 {
    6.0 * volume / cell.powi(3)
}

/// Short forms of `from`: `from = "hand.obj"` stands for `from = "fill", surface = "hand.obj"`. Each entry has the
/// value of `from`, the key of the file name, and the file extensions.
pub(crate) const SHORT_FORMS: [(&str, &str, &[&str]); 2] = [
    ("fill", "surface", &["obj", "ply", "stl", "glb", "gltf", "vrm"]),
    ("file", "file", &["vtu", "vtk", "msh", "ele", "inp", "feb", "mesh"]),
];

/// Expands the short forms of the meshes of all bodies.
pub(crate) fn write_out(root: &mut Node) {
    let bodies = root.entry_mut("body").map(|entry| &mut entry.node.value);
    let Some(Value::List(bodies)) = bodies else { return };
    for mesh in bodies.iter_mut().filter_map(|body| body.entry_mut("mesh")) {
        let Some(from) = mesh.node.entry("from").cloned() else { continue };
        let Some(text) = from.node.as_text() else { continue };
        let form = match text.rsplit_once('.').map(|(_, ending)| ending.to_lowercase()) {
            // A mesh attached to the scene is filled if a cell size is given.
            _ if text.starts_with('@') && mesh.node.entry("cell").is_some() => Some(("fill", "surface")),
            _ if text.starts_with('@') => Some(("file", "file")),
            Some(ending) => {
                let form = SHORT_FORMS.iter().find(|(_, _, endings)| endings.contains(&ending.as_str()));
                form.map(|&(word, key, _)| (word, key))
            }
            None => None,
        };
        let (Some((word, key)), Value::Table(entries)) = (form, &mut mesh.node.value) else { continue };
        if entries.iter().any(|entry| entry.key == key) {
            continue;
        }
        for entry in entries.iter_mut().filter(|entry| entry.key == "from") {
            entry.node.value = Value::Text(word.into());
        }
        entries.push(Entry { key: key.into(), ..from });
    }
}

tagged! {
    /// Where the cells of a body come from. A file name is short for `"fill"` or `"file"`: `from = "hand.obj"` stands
    /// for `from = "fill", surface = "hand.obj"`.
    pub enum Mesh as "mesh" by "from" {
        /// A block with its lowest corner at the origin.
        "box" => Box(BoxMesh),
        /// A ball around the origin.
        "sphere" => Sphere(SphereMesh),
        /// A cylinder from the origin along x.
        "cylinder" => Cylinder(CylinderMesh),
        /// A torus around z, centered at the origin.
        "torus" => Torus(TorusMesh),
        /// A spindle from the origin along x.
        "fusiform" => Fusiform(FusiformMesh),
        /// A muscle with its tendons, along x.
        "muscle" => Muscle(MuscleMesh),
        /// A standing figure with its feet at z = 0.
        "figure" => Figure(FigureMesh),
        /// Cells from a file.
        "file" => File(FileMesh),
        /// A lattice that fills a closed surface.
        "fill" => Fill(FillMesh),
        /// A tissue of a model that `sinew anatomy build` made.
        "anatomy" => Anatomy(AnatomyMesh),
    }
}

impl Mesh {
    /// The source.
    pub fn source(&self) -> &dyn MeshSource {
        match self {
            Self::Box(mesh) => mesh,
            Self::Sphere(mesh) => mesh,
            Self::Cylinder(mesh) => mesh,
            Self::Torus(mesh) => mesh,
            Self::Fusiform(mesh) => mesh,
            Self::Muscle(mesh) => mesh,
            Self::Figure(mesh) => mesh,
            Self::File(mesh) => mesh,
            Self::Fill(mesh) => mesh,
            Self::Anatomy(mesh) => mesh,
        }
    }

    /// Whether the cells are a lattice that is solved by multigrid.
    pub fn is_lattice(&self) -> bool {
        self.source().is_lattice()
    }
}
