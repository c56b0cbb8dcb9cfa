//! Cells of the body-centered cubic lattice as turned copies of one tetrahedron.
//!
//! Every cell has two long edges, perpendicular to each other. We name a cell by that long edge whose axis a is followed
//! (cyclically) by the axis of the other, a + 1; the other edge lies one half cube away along a + 2, on the side s = ±1.
//! So there are six shapes up to translation, the classes 2a + (s > 0), and with nodes listed as
//!
//! ```math
//! b, \quad b + 2 e_a, \quad b + e_a + s\,(e_{a+1} + e_{a+2}), \quad b + e_a + s\,(e_{a+2} - e_{a+1})
//! ```
//!
//! (in half cubes) a proper rotation takes each to class 0: one inverse rest matrix serves all cells \[Teran05\].

use sinew_math::{Mat3, Vec3};

use crate::mesher::lattice::{Lattice, Location, Node};

/// Number of classes: orientations of lattice cells up to translation.
pub const CLASS_COUNT: usize = 6;

/// A cell of the lattice by its first node and its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LatticeCell {
    /// Lower end of the first long edge, in half cubes.
    pub base: Node,
    /// Class of the orientation, below [`CLASS_COUNT`].
    pub class: u8,
}

impl LatticeCell {
    /// The cell with these two pairs of opposite long edges, as the lattice lists them.
    pub fn from_nodes(nodes: [Node; 4]) -> Self {
        let axis_of = |from: Node, to: Node| (0..3).find(|k| from[*k] != to[*k]).unwrap_or(0);
        let (first, second) = (axis_of(nodes[0], nodes[1]), axis_of(nodes[2], nodes[3]));
        let (edge, other, a) = if second == (first + 1) % 3 {
            ([nodes[0], nodes[1]], nodes[2], first)
        } else {
            ([nodes[2], nodes[3]], nodes[0], second)
        };
        let base = if edge[0][a] < edge[1][a] { edge[0] } else { edge[1] };
        let k = (a + 2) % 3;
        Self { base, class: (2 * a + usize::from(other[k] > base[k])) as u8 }
    }

    /// The cell of a location.
    pub fn at(location: &Location) -> Self {
        Self::from_nodes(location.nodes)
    }

    /// Axis of the first long edge, and side of the second.
    fn frame(self) -> (usize, i32) {
        (usize::from(self.class) / 2, if self.class % 2 == 1 { 1 } else { -1 })
    }

    /// Nodes in half cubes, right-handed, in the order of the rest shape.
    pub fn nodes(self) -> [Node; 4] {
        let (a, s) = self.frame();
        let (j, k) = ((a + 1) % 3, (a + 2) % 3);
        let mut nodes = [self.base; 4];
        nodes[1][a] += 2;
        for (node, side) in [(2, s), (3, -s)] {
            nodes[node][a] += 1;
            nodes[node][j] += side;
            nodes[node][k] += s;
        }
        nodes
    }

    /// Barycentric coordinates of a point given in half cubes; their sum is one.
    pub fn weights(self, p: Vec3) -> [f64; 4] {
        let (a, s) = self.frame();
        let (j, k) = ((a + 1) % 3, (a + 2) % 3);
        let from_base = |axis: usize| p[axis] - f64::from(self.base[axis]);
        let (x, y, z) = (from_base(a), f64::from(s) * from_base(j), f64::from(s) * from_base(k));
        let w1 = 0.5 * (x - z);
        [1.0 - w1 - z, w1, 0.5 * (z + y), 0.5 * (z - y)]
    }

    /// The cell across the face opposite to a node: its mirror image, as the lattice is made by reflections.
    pub fn neighbor(self, opposite: usize) -> Self {
        let (a, s) = self.frame();
        let (j, k) = ((a + 1) % 3, (a + 2) % 3);
        let mut nodes = self.nodes();
        let step = match opposite {
            0 => [2, 0, 2 * s],
            1 => [-2, 0, 2 * s],
            2 => [0, -2 * s, -2 * s],
            _ => [0, 2 * s, -2 * s],
        };
        for (axis, step) in [a, j, k].into_iter().zip(step) {
            nodes[opposite][axis] += step;
        }
        Self::from_any_order(nodes)
    }

    /// The cell with these nodes: long edges are found by their length.
    fn from_any_order([p, q, r, t]: [Node; 4]) -> Self {
        let is_long = |x: Node, y: Node| (0..3).filter(|k| x[*k] != y[*k]).count() == 1;
        if is_long(p, q) {
            Self::from_nodes([p, q, r, t])
        } else if is_long(p, r) {
            Self::from_nodes([p, r, q, t])
        } else {
            Self::from_nodes([p, t, q, r])
        }
    }

    /// Positions of the nodes \[m\].
    pub fn positions(self, lattice: &Lattice) -> [Vec3; 4] {
        self.nodes().map(|node| lattice.position(node))
    }
}

/// The proper rotation R from the rest shape (class 0) to a class: D(class) = R D(0).
///
/// A fiber f of a cell is Rᵀ f in the frame of the rest shape \[Teran05\].
pub fn rotation_of_class(class: u8) -> Mat3 {
    let (a, s) = (usize::from(class) / 2, if class % 2 == 1 { -1.0 } else { 1.0 });
    // Class 0 has its edges along x, y and lies on the lower side of z: axes 0, 1, 2 go to a, a + 1, a + 2; the other
    // side is half a turn about the first.
    Mat3::from_columns(Vec3::unit(a), Vec3::unit((a + 1) % 3) * s, Vec3::unit((a + 2) % 3) * s)
}

/// Edges D = (x₁ − x₀, x₂ − x₀, x₃ − x₀) of the rest shape \[m\], for a lattice of this size.
pub fn rest_edges(size: f64) -> Mat3 {
    let half = 0.5 * size;
    let [o, a, b, c] = LatticeCell { base: [0; 3], class: 0 }
        .nodes()
        .map(|node| Vec3::new(f64::from(node[0]), f64::from(node[1]), f64::from(node[2])) * half);
    Mat3::from_columns(a - o, b - o, c - o)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesher::lattice::CUBE_CELLS;

    fn some_cells() -> Vec<LatticeCell> {
        CUBE_CELLS.map(LatticeCell::from_nodes).to_vec()
    }

    #[test]
    fn nodes_of_a_cell_are_those_of_the_lattice_and_right_handed() {
        for nodes in CUBE_CELLS {
            let cell = LatticeCell::from_nodes(nodes);
            let sorted = |mut nodes: [Node; 4]| {
                nodes.sort_unstable();
                nodes
            };
            assert_eq!(sorted(cell.nodes()), sorted(nodes));
            let [a, b, c, d] = cell.positions(&Lattice { cell: 2.0 });
            assert!((sinew_geometry::mesh::tet_volume(a, b, c, d) - 8.0 / 12.0).abs() < 1e-14);
        }
    }

    /// Weights are one at their node and zero at the others, so they are the barycentric coordinates.
    #[test]
    fn weights_are_kronecker_at_the_nodes() {
        for cell in some_cells() {
            for (i, node) in cell.nodes().into_iter().enumerate() {
                let w = cell.weights(Vec3::from(node.map(f64::from)));
                assert!((0..4).all(|j| w[j] == f64::from(u8::from(i == j))), "{cell:?} {w:?}");
            }
        }
    }

    /// Across each face lies one other cell, with the same three nodes, and back.
    #[test]
    fn neighbors_share_three_nodes_and_are_mutual() {
        for cell in some_cells() {
            for face in 0..4 {
                let other = cell.neighbor(face);
                let shared = other.nodes().iter().filter(|node| cell.nodes().contains(node)).count();
                assert_eq!(shared, 3);
                assert!(!other.nodes().contains(&cell.nodes()[face]));
                assert!((0..4).any(|back| other.neighbor(back) == cell));
            }
        }
    }

    /// One rest tetrahedron: D = R D₀ with a proper rotation, for every class.
    #[test]
    fn every_class_is_the_rest_shape_turned() {
        let mut classes: Vec<u8> = Vec::new();
        for cell in some_cells() {
            let [o, a, b, c] = cell.positions(&Lattice { cell: 0.3 });
            let edges = Mat3::from_columns(a - o, b - o, c - o);
            let rotation = rotation_of_class(cell.class);
            assert!((edges - rotation * rest_edges(0.3)).norm() < 1e-15);
            assert_eq!(rotation.determinant(), 1.0);
            classes.push(cell.class);
        }
        classes.sort_unstable();
        classes.dedup();
        assert_eq!(classes, [0, 1, 2, 3, 4, 5]);
    }
}
