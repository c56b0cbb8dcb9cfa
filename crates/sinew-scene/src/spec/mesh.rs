//! Where the cells of a body come from.

use std::collections::BTreeSet;

use sinew_geometry::procedural::{self, MuscleCells, MuscleParams};
use sinew_io::CellShape;

use crate::decode::{
    codec::{length, number, quantity, text, whole, word},
    compound::{fixed, list, vector},
    tree::{Entry, Node, Value},
};
use crate::value::Dimension;

words! {
    /// The kind of cells.
    pub enum Element {
        /// Tetrahedra, linear or with `order = 2` quadratic.
        "tet4" => Tet4,
        /// Trilinear hexahedra.
        "hex8" => Hex8,
        /// Cubes of one size with one rotation each, solved by multigrid: for bodies of ten thousand to millions of cells. Of the law
        /// `corotated` only.
        "lattice" => Lattice,
    }
}

words! {
    /// How a block is divided into tetrahedra.
    pub enum Pattern {
        /// Six tetrahedra per cube around a diagonal: conforming and the simplest.
        "kuhn" => Kuhn,
        /// The body-centered cubic lattice: better angles and no preferred diagonal.
        "bcc" => Bcc,
    }
}

words! {
    /// What to do with a surface that is open or cuts itself.
    pub enum Repair {
        /// Refuse it.
        "none" => None,
        /// Decide inside and outside by the generalized winding number, and report it.
        "winding" => Winding,
    }
}

words! {
    /// A kind of cells in a mesh file.
    pub enum Kind {
        /// A segment.
        "line" => Line2,
        /// A segment with its middle.
        "quadratic line" => Line3,
        /// A point.
        "vertex" => Vertex,
        /// A triangle.
        "triangle" => Tri3,
        /// A triangle with the middles of its edges.
        "quadratic triangle" => Tri6,
        /// A quadrilateral.
        "quad" => Quad4,
        /// A quadrilateral with the middles of its edges.
        "quadratic quad" => Quad8,
        /// A quadrilateral with the middles of its edges and its own.
        "biquadratic quad" => Quad9,
        /// A polygon.
        "polygon" => Polygon,
        /// A tetrahedron.
        "tetrahedron" => Tet4,
        /// A tetrahedron with the middles of its edges.
        "quadratic tetrahedron" => Tet10,
        /// A pyramid.
        "pyramid" => Pyramid5,
        /// A pyramid with the middles of its edges.
        "quadratic pyramid" => Pyramid13,
        /// A triangular prism.
        "wedge" => Wedge6,
        /// A triangular prism with the middles of its edges.
        "quadratic wedge" => Wedge15,
        /// A hexahedron.
        "hexahedron" => Hex8,
        /// A hexahedron with the middles of its edges.
        "quadratic hexahedron" => Hex20,
        /// A hexahedron with the middles of its edges, its faces and its own.
        "triquadratic hexahedron" => Hex27,
    }
}

/// The kinds in a list, as mesh files know them.
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

/// Most cells along one axis; with [`MAX_CELLS`] it keeps a mistyped size from filling the memory.
pub(crate) const MAX_CELLS_PER_AXIS: i64 = 4096;

/// Most cells of a generated mesh.
pub(crate) const MAX_CELLS: f64 = 50e6;

table! {
    /// A block with its lowest corner at the origin.
    pub struct BoxMesh as "box mesh" {
        /// Edge lengths along x, y and z \[m\].
        size: [f64; 3] = vector(length().positive()), required, example(["40 cm", "10 cm", "10 cm"]);
        /// Edge length of a cell, rounded so that cells fill the block \[m\]. Either this or `cells`.
        cell: Option<f64> = length().positive(), optional, example("2 cm");
        /// Number of cells along x, y and z. Either this or `cell`.
        cells: Option<[usize; 3]> = fixed(whole(1, MAX_CELLS_PER_AXIS)), optional, example([24, 6, 6]);
        /// Length of the last cell over that of the first along x, y and z, with equal ratios in between: fine where something touches, coarse far away.
        grading: [f64; 3] = vector(number().positive()), default([1, 1, 1]), example([20, 20, 0.05]);
        /// The kind of cells.
        element: Element = word(), default("tet4");
        /// How cubes are divided into tetrahedra.
        pattern: Pattern = word(), default("kuhn");
        /// Order of the shape functions: 1 for linear cells, 2 for quadratic tetrahedra with a node in the middle of each edge, which bend
        /// well and, with the mean volume of `volume`, do not lock.
        order: usize = whole(1, 2), default(1), example(2);
    }
}

table! {
    /// A ball around the origin, of tetrahedra.
    pub struct SphereMesh as "sphere mesh" {
        /// Radius \[m\].
        radius: f64 = length().positive(), required, example("10 cm");
        /// Edge length of a cell \[m\].
        cell: f64 = length().positive(), required, example("2 cm");
        /// Order of the shape functions: 1 for linear cells, 2 for quadratic tetrahedra with a node in the middle of each edge, which bend
        /// well and, with the mean volume of `volume`, do not lock.
        order: usize = whole(1, 2), default(1), example(2);
    }
}

table! {
    /// A cylinder from the origin along x, of tetrahedra.
    pub struct CylinderMesh as "cylinder mesh" {
        /// Radius \[m\].
        radius: f64 = length().positive(), required, example("5 cm");
        /// Length along x \[m\].
        length: f64 = length().positive(), required, example("30 cm");
        /// Edge length of a cell \[m\].
        cell: f64 = length().positive(), required, example("2 cm");
        /// Order of the shape functions: 1 for linear cells, 2 for quadratic tetrahedra with a node in the middle of each edge, which bend
        /// well and, with the mean volume of `volume`, do not lock.
        order: usize = whole(1, 2), default(1), example(2);
    }
}

table! {
    /// A ring around the z axis, centered at the origin, of tetrahedra.
    pub struct TorusMesh as "torus mesh" {
        /// Radius of the circle through the middle of the tube \[m\].
        radius: f64 = length().positive(), required, example("10 cm");
        /// Radius of the tube \[m\].
        tube: f64 = length().positive(), required, example("3 cm");
        /// Edge length of a cell \[m\].
        cell: f64 = length().positive(), required, example("1 cm");
        /// Order of the shape functions: 1 for linear cells, 2 for quadratic tetrahedra with a node in the middle of each edge, which bend
        /// well and, with the mean volume of `volume`, do not lock.
        order: usize = whole(1, 2), default(1), example(2);
    }
}

table! {
    /// A spindle like the belly of a muscle, from the origin along x, of tetrahedra.
    pub struct FusiformMesh as "fusiform mesh" {
        /// Length along x \[m\].
        length: f64 = length().positive(), required, example("20 cm");
        /// Radius in the middle \[m\].
        radius: f64 = length().positive(), required, example("3 cm");
        /// Radius at both ends \[m\], at least a tenth of `radius`.
        end_radius: f64 = length().positive(), required, example("8 mm");
        /// Edge length of a cell in the middle \[m\].
        cell: f64 = length().positive(), required, example("8 mm");
        /// Order of the shape functions: 1 for linear cells, 2 for quadratic tetrahedra with a node in the middle of each edge, which bend
        /// well and, with the mean volume of `volume`, do not lock.
        order: usize = whole(1, 2), default(1), example(2);
    }
}

words! {
    /// How the fibers of a muscle are arranged.
    pub enum MuscleShape {
        /// A spindle whose fibers run from tendon to tendon.
        "fusiform" => Fusiform,
        /// Fibers cross at one angle from a sheet of tendon on one side to a sheet on the other.
        "unipennate" => Unipennate,
        /// Fibers run like the barbs of a feather from two outer sheets to a central one.
        "bipennate" => Bipennate,
        /// A thin sheet whose fibers converge from a wide origin on a flat tendon.
        "fan" => Fan,
        /// Two spindles with an origin each and a common tendon.
        "two_headed" => TwoHeaded,
    }
}

table! {
    /// A muscle with its tendons along x, from its origin at x = 0. Its parts are the regions `origin`, `insertion`, `belly`, `tendon` and, in pennate muscles, `aponeurosis`; in
    /// bipennate ones `filling` is the flesh without fibers that closes the notch between the outer sheets and the tendon at the origin; with two heads there are also `origin-1`, `origin-2`, `head-1` and `head-2`. Its fibers are the field `fiber`. Sizes that are left out are those of an adult.
    pub struct MuscleMesh as "muscle mesh" {
        /// How its fibers are arranged.
        shape: MuscleShape = word(), required, example("fusiform");
        /// From origin to insertion, both tendons included \[m\].
        length: Option<f64> = length().positive(), optional, example("28 cm");
        /// Largest width of the belly, along y \[m\].
        width: Option<f64> = length().positive(), optional, example("45 mm");
        /// Largest thickness of the belly, along z \[m\].
        thickness: Option<f64> = length().positive(), optional, example("45 mm");
        /// Lengths of the tendons at origin and insertion \[m\].
        tendon: Option<[f64; 2]> = fixed(length().positive()), optional, example(["4 cm", "6 cm"]);
        /// Width of the tendons \[m\]; aponeuroses are a quarter of it thick.
        tendon_width: Option<f64> = length().positive(), optional, example("12 mm");
        /// Angle between fibers and line of action of the pennate shapes \[rad\].
        pennation: Option<f64> = quantity(Dimension::ANGLE).at_least(0.0).below(std::f64::consts::FRAC_PI_2).hinted("fibres at 90° stand across the line of action and pull nothing along it"), optional, example("20 deg");
        /// Size of the cells in the belly \[m\].
        cell: f64 = length().positive(), required, example("4 mm");
        /// The kind of cells: hexahedra that follow the fibers, or six tetrahedra in each.
        element: Element = word(), default("hex8"), example("tet4");
        /// Order of the shape functions, of tetrahedra: 1 for linear cells, 2 for quadratic ones, which bend well and, with the mean volume of `volume`, do not lock.
        order: usize = whole(1, 2), default(1), example(2);
    }
}

impl MuscleMesh {
    /// Cells along the sides of the box around it; there are no more.
    pub(crate) fn cells_along(&self) -> [f64; 3] {
        let params = self.params();
        [params.length, params.width, params.thickness].map(|side| side / params.cell)
    }

    /// The muscle that is asked for.
    pub fn params(&self) -> MuscleParams {
        let shape = match self.shape {
            MuscleShape::Fusiform => procedural::MuscleShape::Fusiform,
            MuscleShape::Unipennate => procedural::MuscleShape::Unipennate,
            MuscleShape::Bipennate => procedural::MuscleShape::Bipennate,
            MuscleShape::Fan => procedural::MuscleShape::Fan,
            MuscleShape::TwoHeaded => procedural::MuscleShape::TwoHeaded,
        };
        let typical = MuscleParams::typical(shape);
        let cells = if self.element == Element::Tet4 { MuscleCells::Tets } else { MuscleCells::Hexes };
        MuscleParams {
            shape,
            length: self.length.unwrap_or(typical.length),
            width: self.width.unwrap_or(typical.width),
            thickness: self.thickness.unwrap_or(typical.thickness),
            tendon: self.tendon.unwrap_or(typical.tendon),
            tendon_width: self.tendon_width.unwrap_or(typical.tendon_width),
            pennation: self.pennation.unwrap_or(typical.pennation),
            cell: self.cell,
            cells,
        }
    }
}

table! {
    /// A standing figure with spread arms, of tetrahedra: trunk and head grow with the number of cells, limbs stay four cells thick. Its ends
    /// are the regions `left-hand`, `right-hand`, `left-foot` and `right-foot`.
    pub struct FigureMesh as "figure mesh" {
        /// Height along z \[m\].
        height: f64 = length().positive(), required, example("1.8 m");
        /// Number of cells over the height.
        cells: usize = whole(24, 1000), required, example(48);
        /// Order of the shape functions: 1 for linear cells, 2 for quadratic tetrahedra with a node in the middle of each edge, which bend
        /// well and, with the mean volume of `volume`, do not lock.
        order: usize = whole(1, 2), default(1), example(2);
    }
}

table! {
    /// Cells from a file.
    pub struct FileMesh as "file mesh" {
        /// The file (.vtu, .vtk, .msh, .ele, .inp, .feb, .mesh), relative to the scene. Its groups become regions.
        file: String = text("path of a file"), required, example("meshes/tongue.vtu");
        /// Kinds of cells to leave out; only tetrahedra (linear and quadratic) and hexahedra are simulated, others are refused.
        skip: Vec<Kind> = list(word()), default([]), example(["wedge", "pyramid"]);
        /// Order of the shape functions: 1 for linear cells, 2 for quadratic tetrahedra with a node in the middle of each edge, which bend
        /// well and, with the mean volume of `volume`, do not lock. Quadratic tetrahedra of the file stay as they are.
        order: usize = whole(1, 2), default(1), example(2);
    }
}

table! {
    /// A lattice of cells filling a closed surface; the surface is embedded in it and moves with it.
    pub struct FillMesh as "fill mesh" {
        /// The surface (.obj, .ply, .stl, .glb, .gltf), relative to the scene. Its groups become regions.
        surface: String = text("path of a file"), required, example("meshes/hand.obj");
        /// Kinds of cells to leave out; a surface consists of triangles, quads and polygons.
        skip: Vec<Kind> = list(word()), default([]), example(["tetrahedron"]);
        /// Edge length of a lattice cell \[m\], after `scale`.
        cell: f64 = length().positive(), required, example("1 cm");
        /// The kind of cells. Of cubes, parts of the body that share a cube but no flesh, such as two fingers, get one each.
        element: Element = word(), default("tet4"), example("lattice");
        /// What to do with a surface that is open or cuts itself.
        repair: Repair = word(), default("none");
        /// Order of the shape functions: 1 for linear cells, 2 for quadratic tetrahedra with a node in the middle of each edge, which bend
        /// well and, with the mean volume of `volume`, do not lock.
        order: usize = whole(1, 2), default(1), example(2);
    }
}

/// Names of files in place of the word: `from = "hand.obj"` is short for `from = "fill", surface = "hand.obj"`. The word, the key of the file, and how such files end.
pub(crate) const SHORT_FORMS: [(&str, &str, &[&str]); 2] = [
    ("fill", "surface", &["obj", "ply", "stl", "glb", "gltf"]),
    ("file", "file", &["vtu", "vtk", "msh", "ele", "inp", "feb", "mesh"]),
];

/// Writes out the short forms of the meshes of all bodies.
pub(crate) fn write_out(root: &mut Node) {
    let bodies = root.entry_mut("body").map(|entry| &mut entry.node.value);
    let Some(Value::List(bodies)) = bodies else { return };
    for mesh in bodies.iter_mut().filter_map(|body| body.entry_mut("mesh")) {
        let Some(from) = mesh.node.entry("from").cloned() else { continue };
        let Some(text) = from.node.as_text() else { continue };
        let form = match text.rsplit_once('.').map(|(_, ending)| ending.to_lowercase()) {
            // A mesh that came with the scene is filled where there is a size to fill it with.
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
    /// Where the cells of a body come from. The name of a file is short for `"fill"` or `"file"`: `from = "hand.obj"` for `from = "fill", surface = "hand.obj"`.
    pub enum Mesh as "mesh" by "from" {
        /// A block with its lowest corner at the origin.
        "box" => Box(BoxMesh),
        /// A ball around the origin.
        "sphere" => Sphere(SphereMesh),
        /// A cylinder from the origin along x.
        "cylinder" => Cylinder(CylinderMesh),
        /// A ring around z, centered at the origin.
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
    }
}

impl Mesh {
    /// Order of the shape functions that is asked for.
    pub fn order(&self) -> usize {
        match self {
            Self::Box(mesh) => mesh.order,
            Self::Sphere(mesh) => mesh.order,
            Self::Cylinder(mesh) => mesh.order,
            Self::Torus(mesh) => mesh.order,
            Self::Fusiform(mesh) => mesh.order,
            Self::Muscle(mesh) => mesh.order,
            Self::Figure(mesh) => mesh.order,
            Self::File(mesh) => mesh.order,
            Self::Fill(mesh) => mesh.order,
        }
    }
}

impl Mesh {
    /// About how many cells a generated mesh has; `None` for meshes of files.
    pub fn generated_cells(&self) -> Option<f64> {
        // A cube of edge `cell` holds six tetrahedra.
        let tets = |volume: f64, cell: f64| Some(6.0 * volume / cell.powi(3));
        match self {
            Self::Box(mesh) => Some(mesh.cell_count()),
            Self::Sphere(mesh) => tets(4.2 * mesh.radius.powi(3), mesh.cell),
            Self::Cylinder(mesh) => tets(3.2 * mesh.radius.powi(2) * mesh.length, mesh.cell),
            Self::Torus(mesh) => tets(20.0 * mesh.radius * mesh.tube.powi(2), mesh.cell),
            Self::Fusiform(mesh) => tets(3.2 * mesh.radius.powi(2) * mesh.length, mesh.cell),
            Self::Figure(mesh) => tets(0.018 * mesh.height.powi(3), mesh.height / mesh.cells as f64),
            Self::Muscle(mesh) => {
                let per_cube = if mesh.element == Element::Tet4 { 6.0 } else { 1.0 };
                Some(per_cube * mesh.cells_along().iter().product::<f64>())
            }
            Self::File(_) | Self::Fill(_) => None,
        }
    }

    /// Whether the cells are a lattice that is solved by multigrid.
    pub fn is_lattice(&self) -> bool {
        match self {
            Self::Box(mesh) => mesh.element == Element::Lattice,
            Self::Fill(mesh) => mesh.element == Element::Lattice,
            _ => false,
        }
    }
}

impl BoxMesh {
    /// Number of all cells.
    pub(crate) fn cell_count(&self) -> f64 {
        let per_cube = match (self.element, self.pattern) {
            (Element::Hex8 | Element::Lattice, _) => 1.0,
            (Element::Tet4, Pattern::Kuhn) => 6.0,
            (Element::Tet4, Pattern::Bcc) => 12.0,
        };
        per_cube * self.cell_counts().iter().map(|&count| count as f64).product::<f64>()
    }

    /// Number of cells along each axis, from `cells` or from `cell`.
    pub fn cell_counts(&self) -> [usize; 3] {
        match (self.cells, self.cell) {
            (Some(cells), _) => cells,
            (None, Some(cell)) => self.size.map(|edge| (edge / cell).round().clamp(1.0, 1e6) as usize),
            (None, None) => [1; 3],
        }
    }
}
