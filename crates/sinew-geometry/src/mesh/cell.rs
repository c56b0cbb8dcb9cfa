//! Kinds of cells, their local numbering and blocks of cells of one kind.

use sinew_math::Vec3;

use crate::shape_functions::{HEX_SIGNS, hex8_map_gradient, tet10_map_gradient};

/// Shape and node order of a cell; both follow VTK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CellKind {
    /// Tetrahedron: det\[x₁−x₀, x₂−x₀, x₃−x₀\] > 0.
    Tet4,
    /// Quadratic tetrahedron: corners 0–3 as in [`CellKind::Tet4`], then the midpoints of the edges 01, 12, 20, 03,
    /// 13, 23.
    ///
    /// Gmsh and TetGen order the last midpoints differently (Gmsh: 01, 12, 20, 03, 23, 13); readers and writers
    /// reorder.
    Tet10,
    /// Hexahedron: nodes 0–3 run counterclockwise around the bottom seen from above, 4–7 lie above them.
    Hex8,
}

/// Faces of a tetrahedron, counterclockwise seen from outside; face f lies opposite node f.
const TET_FACES: [&[usize]; 4] = [&[1, 2, 3], &[0, 3, 2], &[0, 1, 3], &[0, 2, 1]];
/// Faces of a hexahedron, counterclockwise seen from outside: −ξ, +ξ, −η, +η, −ζ, +ζ.
const HEX_FACES: [&[usize]; 6] =
    [&[0, 4, 7, 3], &[1, 2, 6, 5], &[0, 1, 5, 4], &[3, 7, 6, 2], &[0, 3, 2, 1], &[4, 5, 6, 7]];
const TET_EDGES: [[usize; 2]; 6] = [[0, 1], [1, 2], [2, 0], [0, 3], [1, 3], [2, 3]];
const HEX_EDGES: [[usize; 2]; 12] =
    [[0, 1], [1, 2], [2, 3], [3, 0], [4, 5], [5, 6], [6, 7], [7, 4], [0, 4], [1, 5], [2, 6], [3, 7]];
/// Each corner of a hexahedron with its three neighbors, in right-handed order.
pub const HEX_CORNERS: [[usize; 4]; 8] =
    [[0, 1, 3, 4], [1, 2, 0, 5], [2, 3, 1, 6], [3, 0, 2, 7], [4, 7, 5, 0], [5, 4, 6, 1], [6, 5, 7, 2], [7, 6, 4, 3]];
/// Largest number of nodes of any cell.
pub const MAX_CELL_NODES: usize = 10;

/// Points at which the Jacobian of a quadratic tetrahedron is checked: its corners and its quadrature points.
const TET10_SAMPLES: [[f64; 3]; 8] = [
    [0.0, 0.0, 0.0],
    [1.0, 0.0, 0.0],
    [0.0, 1.0, 0.0],
    [0.0, 0.0, 1.0],
    [TET_NEAR, TET_NEAR, TET_NEAR],
    [TET_FAR, TET_NEAR, TET_NEAR],
    [TET_NEAR, TET_FAR, TET_NEAR],
    [TET_NEAR, TET_NEAR, TET_FAR],
];

/// (5 − √5)/20 and (5 + 3√5)/20, the barycentric coordinates of the four-point rule.
const TET_NEAR: f64 = 0.138_196_601_125_010_5;
const TET_FAR: f64 = 0.585_410_196_624_968_5;

impl CellKind {
    /// Number of nodes per cell.
    pub const fn nodes_per_cell(self) -> usize {
        match self {
            Self::Tet4 => 4,
            Self::Tet10 => 10,
            Self::Hex8 => 8,
        }
    }

    /// Number of corners per cell; corners come first.
    pub const fn corners_per_cell(self) -> usize {
        match self {
            Self::Tet4 | Self::Tet10 => 4,
            Self::Hex8 => 8,
        }
    }

    /// Local corners of each face, counterclockwise seen from outside.
    pub const fn faces(self) -> &'static [&'static [usize]] {
        match self {
            Self::Tet4 | Self::Tet10 => &TET_FACES,
            Self::Hex8 => &HEX_FACES,
        }
    }

    /// Local corners of each edge. Edge k of a quadratic tetrahedron has its midpoint at node 4 + k.
    pub const fn edges(self) -> &'static [[usize; 2]] {
        match self {
            Self::Tet4 | Self::Tet10 => &TET_EDGES,
            Self::Hex8 => &HEX_EDGES,
        }
    }

    /// Local midpoint node of the edge between two local corners; `None` for cells without such nodes.
    pub fn middle(self, a: usize, b: usize) -> Option<usize> {
        match self {
            Self::Tet4 | Self::Hex8 => None,
            Self::Tet10 => TET_EDGES.iter().position(|edge| *edge == [a, b] || *edge == [b, a]).map(|edge| 4 + edge),
        }
    }

    /// Reorders the nodes of an inverted cell into its mirror image, which has the right orientation.
    pub(crate) fn mirror(self, nodes: &mut [u32]) {
        match self {
            Self::Tet4 => nodes.swap(2, 3),
            Self::Tet10 => {
                nodes.swap(2, 3);
                // 12 becomes 13, and 20 becomes 03.
                nodes.swap(5, 8);
                nodes.swap(6, 7);
            }
            Self::Hex8 => {
                let (bottom, top) = nodes.split_at_mut(4);
                bottom.swap_with_slice(top);
            }
        }
    }

    /// Signed volume \[m³\] of the cell with these nodes.
    ///
    /// The trilinear hexahedron is integrated exactly: its Jacobian determinant has degree two in each coordinate, so
    /// 2×2×2 Gauss points suffice. So is the quadratic tetrahedron, whose determinant is cubic: the centroid with
    /// weight −4/5 and four points with weight 9/20, of the volume 1/6.
    pub fn volume(self, corners: &[Vec3]) -> f64 {
        match self {
            Self::Tet4 => tet_volume(corners[0], corners[1], corners[2], corners[3]),
            Self::Tet10 => {
                let (sixth, half) = (1.0 / 6.0, 0.5);
                let center = tet10_jacobian(corners, Vec3::splat(0.25));
                let around = tet10_jacobian(corners, Vec3::splat(sixth))
                    + tet10_jacobian(corners, Vec3::new(half, sixth, sixth))
                    + tet10_jacobian(corners, Vec3::new(sixth, half, sixth))
                    + tet10_jacobian(corners, Vec3::new(sixth, sixth, half));
                (0.45 * around - 0.8 * center) / 6.0
            }
            Self::Hex8 => {
                let g = 1.0 / 3.0_f64.sqrt();
                let mut volume = 0.0;
                for s in HEX_SIGNS {
                    volume += hex_jacobian(corners, Vec3::new(s[0] * g, s[1] * g, s[2] * g));
                }
                volume
            }
        }
    }
}

/// Signed volume det\[b−a, c−a, d−a\] / 6 \[m³\] of a tetrahedron.
#[inline]
pub fn tet_volume(a: Vec3, b: Vec3, c: Vec3, d: Vec3) -> f64 {
    (b - a).dot((c - a).cross(d - a)) / 6.0
}

/// det ∂x/∂ξ of the trilinear map at the local point ξ ∈ \[−1, 1\]³.
fn hex_jacobian(corners: &[Vec3], xi: Vec3) -> f64 {
    let columns = hex8_map_gradient(corners, xi);
    columns[0].dot(columns[1].cross(columns[2]))
}

/// Smallest and largest Jacobian of a quadratic tetrahedron at its corners and quadrature points \[m³\]. They have one
/// sign unless the cell is folded, and are equal when its edges are straight.
pub fn tet10_jacobians(nodes: &[Vec3]) -> [f64; 2] {
    TET10_SAMPLES.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], xi| {
        let jacobian = tet10_jacobian(nodes, Vec3::from(*xi));
        [low.min(jacobian), high.max(jacobian)]
    })
}

/// det ∂x/∂ξ of the quadratic map at the local point ξ of the unit tetrahedron.
fn tet10_jacobian(nodes: &[Vec3], xi: Vec3) -> f64 {
    let columns = tet10_map_gradient(nodes, xi);
    columns[0].dot(columns[1].cross(columns[2]))
}

/// Cells of one kind, with the nodes of one cell after another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellBlock {
    /// Kind of every cell of the block.
    pub kind: CellKind,
    /// Flat node indices, [`CellKind::nodes_per_cell`] per cell.
    pub nodes: Vec<u32>,
}

impl CellBlock {
    /// A block of tetrahedra.
    pub fn tets(cells: &[[u32; 4]]) -> Self {
        Self { kind: CellKind::Tet4, nodes: cells.as_flattened().to_vec() }
    }

    /// A block of quadratic tetrahedra.
    pub fn quadratic_tets(cells: &[[u32; 10]]) -> Self {
        Self { kind: CellKind::Tet10, nodes: cells.as_flattened().to_vec() }
    }

    /// A block of hexahedra.
    pub fn hexes(cells: &[[u32; 8]]) -> Self {
        Self { kind: CellKind::Hex8, nodes: cells.as_flattened().to_vec() }
    }

    /// Number of cells.
    pub fn cell_count(&self) -> usize {
        self.nodes.len() / self.kind.nodes_per_cell()
    }

    /// The node lists of the cells, in order.
    pub fn cells(&self) -> std::slice::ChunksExact<'_, u32> {
        self.nodes.chunks_exact(self.kind.nodes_per_cell())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A quadratic tetrahedron with straight edges.
    fn straight_tet10() -> Vec<Vec3> {
        let mut nodes = vec![Vec3::zero(), Vec3::unit(0), Vec3::unit(1), Vec3::unit(2)];
        for [i, j] in TET_EDGES {
            nodes.push((nodes[i] + nodes[j]) * 0.5);
        }
        nodes
    }

    fn unit_cube() -> Vec<Vec3> {
        HEX_SIGNS.iter().map(|s| (Vec3::from(*s) + Vec3::splat(1.0)) * 0.5).collect()
    }

    #[test]
    fn unit_cube_and_unit_tet_have_their_volumes() {
        // Sums of eight rounded products.
        assert!((CellKind::Hex8.volume(&unit_cube()) - 1.0).abs() < 1e-15);
        let tet = [Vec3::zero(), Vec3::unit(0), Vec3::unit(1), Vec3::unit(2)];
        assert_eq!(CellKind::Tet4.volume(&tet), 1.0 / 6.0);
    }

    /// The normal of each face must point away from the center of the cell.
    #[test]
    fn local_faces_point_outwards() {
        let tet = vec![Vec3::zero(), Vec3::unit(0), Vec3::unit(1), Vec3::unit(2)];
        for (kind, corners) in
            [(CellKind::Tet4, tet), (CellKind::Tet10, straight_tet10()), (CellKind::Hex8, unit_cube())]
        {
            let center = corners.iter().sum::<Vec3>() / corners.len() as f64;
            for face in kind.faces() {
                let [a, b, c] = [corners[face[0]], corners[face[1]], corners[face[2]]];
                assert!((b - a).cross(c - a).dot(a - center) > 0.0);
            }
        }
    }

    /// The map x ↦ x + c x² e₁ on the unit tetrahedron is quadratic, so the cell has exactly the volume ∫ (1 + 2c x)
    /// dX = 1/6 + c/12.
    #[test]
    fn bent_tet_has_the_volume_of_its_map() {
        let c = 0.7;
        let straight = straight_tet10();
        assert!((CellKind::Tet10.volume(&straight) - 1.0 / 6.0).abs() < 1e-15);
        let bent: Vec<Vec3> = straight.iter().map(|x| Vec3::new(x.x + c * x.x * x.x, x.y, x.z)).collect();
        assert!((CellKind::Tet10.volume(&bent) - (1.0 / 6.0 + c / 12.0)).abs() < 1e-15);
        let [low, high] = tet10_jacobians(&bent);
        assert!((low - 1.0).abs() < 1e-15 && (high - (1.0 + 2.0 * c)).abs() < 1e-15);
    }

    #[test]
    fn corner_tripods_of_a_hex_are_right_handed() {
        let x = unit_cube();
        for [o, a, b, c] in HEX_CORNERS {
            assert_eq!((x[a] - x[o]).dot((x[b] - x[o]).cross(x[c] - x[o])), 1.0);
        }
    }

    #[test]
    fn mirroring_negates_the_volume() {
        for kind in [CellKind::Tet4, CellKind::Tet10, CellKind::Hex8] {
            let corners = match kind {
                // Curved, so that a midpoint at the wrong edge would show.
                CellKind::Tet10 => {
                    straight_tet10().iter().map(|x| *x + Vec3::new(x.y * x.z, x.z * x.x, 0.0) * 0.3).collect()
                }
                CellKind::Tet4 => vec![Vec3::zero(), Vec3::unit(0), Vec3::unit(1), Vec3::unit(2)],
                CellKind::Hex8 => unit_cube(),
            };
            let mut order: Vec<u32> = (0..corners.len() as u32).collect();
            kind.mirror(&mut order);
            let mirrored: Vec<Vec3> = order.iter().map(|i| corners[*i as usize]).collect();
            assert!((kind.volume(&mirrored) + kind.volume(&corners)).abs() < 1e-15);
        }
    }
}
