//! The content of a mesh file, before anything is selected for simulation.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use sinew_math::Vec3;

/// Shape and node order of a cell in files. Node orders follow VTK; readers of other conventions reorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CellShape {
    /// A point.
    Vertex,
    /// A segment.
    Line2,
    /// A segment with its midpoint.
    Line3,
    /// A triangle.
    Tri3,
    /// A triangle with edge midpoints.
    Tri6,
    /// A quadrilateral.
    Quad4,
    /// A quadrilateral with edge midpoints.
    Quad8,
    /// A quadrilateral with edge midpoints and center.
    Quad9,
    /// A polygon with any number of corners.
    Polygon,
    /// A tetrahedron.
    Tet4,
    /// A tetrahedron with edge midpoints.
    Tet10,
    /// A pyramid over a quadrilateral.
    Pyramid5,
    /// A pyramid with edge midpoints.
    Pyramid13,
    /// A triangular prism.
    Wedge6,
    /// A triangular prism with edge midpoints.
    Wedge15,
    /// A hexahedron.
    Hex8,
    /// A hexahedron with edge midpoints.
    Hex20,
    /// A hexahedron with edge midpoints, face centers and center.
    Hex27,
}

/// One row per shape: shape, name, nodes (0: any number), dimension, VTK's number.
const SHAPES: [(CellShape, &str, usize, usize, u8); 18] = [
    (CellShape::Vertex, "vertex", 1, 0, 1),
    (CellShape::Line2, "line", 2, 1, 3),
    (CellShape::Line3, "quadratic line", 3, 1, 21),
    (CellShape::Tri3, "triangle", 3, 2, 5),
    (CellShape::Tri6, "quadratic triangle", 6, 2, 22),
    (CellShape::Quad4, "quad", 4, 2, 9),
    (CellShape::Quad8, "quadratic quad", 8, 2, 23),
    (CellShape::Quad9, "biquadratic quad", 9, 2, 28),
    (CellShape::Polygon, "polygon", 0, 2, 7),
    (CellShape::Tet4, "tetrahedron", 4, 3, 10),
    (CellShape::Tet10, "quadratic tetrahedron", 10, 3, 24),
    (CellShape::Pyramid5, "pyramid", 5, 3, 14),
    (CellShape::Pyramid13, "quadratic pyramid", 13, 3, 27),
    (CellShape::Wedge6, "wedge", 6, 3, 13),
    (CellShape::Wedge15, "quadratic wedge", 15, 3, 26),
    (CellShape::Hex8, "hexahedron", 8, 3, 12),
    (CellShape::Hex20, "quadratic hexahedron", 20, 3, 25),
    (CellShape::Hex27, "triquadratic hexahedron", 27, 3, 29),
];

impl CellShape {
    /// All shapes.
    pub fn all() -> impl Iterator<Item = CellShape> {
        SHAPES.iter().map(|row| row.0)
    }

    /// Name for messages and `skip` lists.
    pub fn name(self) -> &'static str {
        SHAPES[self as usize].1
    }

    /// The shape of a name.
    pub fn from_name(name: &str) -> Option<CellShape> {
        SHAPES.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    /// Nodes of one cell; `None` for polygons.
    pub fn nodes(self) -> Option<usize> {
        Some(SHAPES[self as usize].2).filter(|nodes| *nodes > 0)
    }

    /// 0 for points, 3 for volumes.
    pub fn dimension(self) -> usize {
        SHAPES[self as usize].3
    }

    /// VTK's number of the shape.
    pub fn vtk(self) -> u8 {
        SHAPES[self as usize].4
    }

    /// The shape with VTK's number. Readers handle pixels and voxels, whose node order differs.
    pub fn from_vtk(number: i64) -> Option<CellShape> {
        SHAPES.iter().find(|row| i64::from(row.4) == number).map(|row| row.0)
    }
}

/// Triangles of a face, which is cut in halves until triangles are left; a triangle and the two of a quad as in a fan.
///
/// Of n corners each is in about log n triangles. In a fan the first corner is in all of them, so that each triangle
/// lies beside every other one, and whatever looks at neighbors takes the square of n.
pub fn triangles_of(corners: &[u32]) -> impl Iterator<Item = [u32; 3]> + Clone + '_ {
    let last = corners.len().saturating_sub(1);
    // Each corner but the first and the last is the middle of one part.
    (1..last.max(1)).map(move |corner| {
        let (mut from, mut to) = (0, last);
        loop {
            let middle = (from + to).div_ceil(2);
            match corner.cmp(&middle) {
                Ordering::Less => to = middle,
                Ordering::Equal => return [corners[from], corners[middle], corners[to]],
                Ordering::Greater => from = middle,
            }
        }
    })
}

/// Consecutive cells of one shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellGroup {
    /// Their shape.
    pub shape: CellShape,
    /// Nodes of all cells, consecutively, from 0.
    pub nodes: Vec<u32>,
    /// For polygons, the end of each in `nodes`; empty for other shapes.
    pub ends: Vec<u32>,
}

impl CellGroup {
    /// An empty group.
    pub fn new(shape: CellShape) -> CellGroup {
        CellGroup { shape, nodes: Vec::new(), ends: Vec::new() }
    }

    /// Cells of a shape with a fixed number of nodes.
    pub fn with_nodes(shape: CellShape, nodes: Vec<u32>) -> CellGroup {
        CellGroup { shape, nodes, ends: Vec::new() }
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.shape.nodes().map_or(self.ends.len(), |nodes| self.nodes.len() / nodes)
    }

    /// Whether there are no cells.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Nodes of a cell.
    pub fn cell(&self, index: usize) -> &[u32] {
        match self.shape.nodes() {
            Some(nodes) => &self.nodes[index * nodes..(index + 1) * nodes],
            None => {
                let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
                &self.nodes[start as usize..self.ends[index] as usize]
            }
        }
    }

    /// Nodes of every cell.
    pub fn cells(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        (0..self.len()).map(|index| self.cell(index))
    }
}

/// Values at every point or cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Name of the field.
    pub name: String,
    /// Numbers per point or cell.
    pub components: usize,
    /// All values, flat.
    pub values: Vec<f64>,
}

impl Field {
    /// A field with one component.
    pub fn scalars(name: impl Into<String>, values: Vec<f64>) -> Field {
        Field { name: name.into(), components: 1, values }
    }

    /// Number of points or cells.
    pub fn len(&self) -> usize {
        self.values.len() / self.components.max(1)
    }

    /// Whether it has no entries.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

/// The cell field for a format's integer label: physical group, reference, attribute, part.
pub const LABEL: &str = "label";

/// Everything read from a mesh file, in file order.
///
/// Readers guarantee finite positions, valid nodes of cells and sets, and one field entry per point or cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeshData {
    /// Points.
    pub points: Vec<Vec3>,
    /// Cells in file order; a group ends where the shape changes. Cells are numbered through the groups, from 0.
    pub groups: Vec<CellGroup>,
    /// Fields at the points.
    pub point_fields: Vec<Field>,
    /// Fields at the cells.
    pub cell_fields: Vec<Field>,
    /// Named sets of points.
    pub node_sets: BTreeMap<String, Vec<u32>>,
    /// Named sets of cells.
    pub cell_sets: BTreeMap<String, Vec<u32>>,
    /// Notes on skipped content and other findings, as sentences.
    pub notes: Vec<String>,
}

impl MeshData {
    /// Number of cells of all shapes.
    pub fn cell_count(&self) -> usize {
        self.groups.iter().map(CellGroup::len).sum()
    }

    /// Shape and nodes of every cell, in order.
    pub fn cells(&self) -> impl Iterator<Item = (CellShape, &[u32])> {
        self.groups.iter().flat_map(|group| group.cells().map(|nodes| (group.shape, nodes)))
    }

    /// Appends a cell, to the last group if it has the same shape.
    pub fn push_cell(&mut self, shape: CellShape, nodes: &[u32]) {
        debug_assert!(shape.nodes().is_none_or(|count| count == nodes.len()));
        if self.groups.last().is_none_or(|group| group.shape != shape) {
            self.groups.push(CellGroup::new(shape));
        }
        let last = self.groups.len() - 1;
        let group = &mut self.groups[last];
        group.nodes.extend_from_slice(nodes);
        if shape == CellShape::Polygon {
            group.ends.push(group.nodes.len() as u32);
        }
    }

    /// A point field by name.
    pub fn point_field(&self, name: &str) -> Option<&Field> {
        self.point_fields.iter().find(|field| field.name == name)
    }

    /// A cell field by name.
    pub fn cell_field(&self, name: &str) -> Option<&Field> {
        self.cell_fields.iter().find(|field| field.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_faces_are_cut_as_fans_and_large_ones_in_halves() {
        let parts = |count: u32| triangles_of(&(10..10 + count).collect::<Vec<_>>()).collect::<Vec<_>>();
        assert!([parts(0), parts(1), parts(2)].iter().all(Vec::is_empty));
        assert_eq!(parts(3), [[10, 11, 12]]);
        assert_eq!(parts(4), [[10, 11, 12], [10, 12, 13]]);
        assert_eq!(parts(5), [[10, 11, 12], [10, 12, 14], [12, 13, 14]]);
    }

    /// All triangles have the sense of the face, and together its area: those of a regular polygon add up to n/2 · sin
    /// 2π/n. None of the thousand corners is in more than twenty triangles, two for each halving.
    #[test]
    fn halves_cover_the_face_once() {
        let n = 1000;
        let at = |corner: u32| {
            let angle = std::f64::consts::TAU * f64::from(corner) / f64::from(n);
            Vec3::new(angle.cos(), angle.sin(), 0.0)
        };
        let (mut area, mut uses) = (0.0, vec![0; n as usize]);
        for triangle in triangles_of(&(0..n).collect::<Vec<_>>()) {
            let [a, b, c] = triangle.map(at);
            let part = 0.5 * (b - a).cross(c - a).z;
            assert!(part > 0.0, "{triangle:?}");
            area += part;
            triangle.iter().for_each(|&corner| uses[corner as usize] += 1);
        }
        let exact = 0.5 * f64::from(n) * (std::f64::consts::TAU / f64::from(n)).sin();
        assert!((area / exact - 1.0).abs() < 1e-12);
        assert!(uses.iter().max() <= Some(&20), "{:?}", uses.iter().max());
    }
}
