//! The body-centered cubic lattice, anchored to the world.
//!
//! Nodes are the corners and the centers of cubes of edge h. A cell has two adjacent centers and two adjacent corners of
//! the square between them: two opposite edges of length h, perpendicular to each other, and four of length √3/2 h. All
//! cells have the same shape: volume h³/12, dihedral angles 60° and 90°.
//!
//! Coordinates of nodes are integers that count half cubes from the origin of the world: corners are even in all three,
//! centers odd. So a mesh does not depend on the box around its solid.

use sinew_math::Vec3;

/// A node by its coordinates in half cubes: all even (a corner) or all odd (a center).
pub type Node = [i32; 3];

/// A cube by the coordinates of its lower corner in cubes.
pub type Cube = [i32; 3];

/// Cells owned by each cube: four around each of its three upper faces.
pub const CELLS_PER_CUBE: usize = 12;

/// The seven directions of the edges owned by a node, in half cubes: three long ones, then four short ones upward in z.
pub const EDGE_DIRECTIONS: [[i32; 3]; 7] =
    [[2, 0, 0], [0, 2, 0], [0, 0, 2], [-1, -1, 1], [1, -1, 1], [-1, 1, 1], [1, 1, 1]];

/// Cells of the cube at the origin.
pub const CUBE_CELLS: [[Node; 4]; CELLS_PER_CUBE] = cube_cells();

/// The lattice with cubes of one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lattice {
    /// Edge h of the cubes \[m\].
    pub cell: f64,
}

/// Where a point lies in the lattice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Location {
    /// The cube that owns the cell.
    pub cube: Cube,
    /// Number of the cell in its cube.
    pub cell: usize,
    /// Nodes of the cell, right-handed.
    pub nodes: [Node; 4],
    /// Barycentric coordinates of the point: at least zero up to rounding, with sum one.
    pub weights: [f64; 4],
}

impl Lattice {
    /// Position \[m\] of a node.
    #[inline]
    pub fn position(&self, node: Node) -> Vec3 {
        let half = 0.5 * self.cell;
        Vec3::new(f64::from(node[0]) * half, f64::from(node[1]) * half, f64::from(node[2]) * half)
    }

    /// The cube that holds a point. Coordinates beyond the range of integers are clamped.
    pub fn cube_at(&self, p: Vec3) -> Cube {
        (p / self.cell).to_array().map(|x| x.floor() as i32)
    }

    /// The cells owned by a cube, right-handed.
    pub fn cells_of(&self, cube: Cube) -> [[Node; 4]; CELLS_PER_CUBE] {
        CUBE_CELLS.map(|cell| cell.map(|node| [0, 1, 2].map(|k| node[k] + 2 * cube[k])))
    }

    /// The cell that holds a point, in constant time: the axis of the largest offset from the center of the cube names
    /// the face, the second largest names the edge of the face.
    pub fn locate(&self, p: Vec3) -> Location {
        let mut cube = self.cube_at(p);
        let scaled = p / self.cell;
        let f = [0, 1, 2].map(|k| scaled[k] - f64::from(cube[k]) - 0.5);
        let axis = (1..3).fold(0, |best, k| if f[k].abs() > f[best].abs() { k } else { best });
        let (b, d) = ((axis + 1) % 3, (axis + 2) % 3);
        let (side_axis, first) = if f[b].abs() >= f[d].abs() { (b, 0) } else { (d, 2) };
        let cell = 4 * axis + first + usize::from(f[side_axis] >= 0.0);
        if f[axis] < 0.0 {
            cube[axis] -= 1;
        }
        let nodes = CUBE_CELLS[cell].map(|node| [0, 1, 2].map(|k| node[k] + 2 * cube[k]));
        Location { cube, cell, nodes, weights: self.barycentric(nodes, p) }
    }

    /// Barycentric coordinates of a point in a cell of the lattice.
    fn barycentric(&self, nodes: [Node; 4], p: Vec3) -> [f64; 4] {
        let [a, b, c, d] = nodes.map(|node| self.position(node));
        let six = |a: Vec3, b: Vec3, c: Vec3, d: Vec3| (b - a).dot((c - a).cross(d - a));
        let total = six(a, b, c, d);
        let (wb, wc, wd) = (six(a, p, c, d) / total, six(a, b, p, d) / total, six(a, b, c, p) / total);
        [1.0 - wb - wc - wd, wb, wc, wd]
    }
}

/// The owner of an edge and its number among [`EDGE_DIRECTIONS`], and whether `from` is the owner.
#[inline]
pub fn edge_owner(from: Node, to: Node) -> (Node, usize, bool) {
    let d = [to[0] - from[0], to[1] - from[1], to[2] - from[2]];
    for axis in 0..3 {
        match d[axis] {
            2 => return (from, axis, true),
            -2 => return (to, axis, false),
            _ => {}
        }
    }
    if d[2] > 0 {
        (from, 3 + usize::from(d[0] > 0) + 2 * usize::from(d[1] > 0), true)
    } else {
        (to, 3 + usize::from(d[0] < 0) + 2 * usize::from(d[1] < 0), false)
    }
}

/// The twelve cells of the cube at the origin: for each axis, its center, the next center along the axis and the edges
/// of the square between them, on the lower and upper side of the next axis and of the one after.
const fn cube_cells() -> [[Node; 4]; CELLS_PER_CUBE] {
    let mut cells = [[[0; 3]; 4]; CELLS_PER_CUBE];
    let mut index = 0;
    while index < CELLS_PER_CUBE {
        let axis = index / 4;
        let across = if index % 4 < 2 { (axis + 1) % 3 } else { (axis + 2) % 3 };
        let along = 3 - axis - across;
        let is_upper = index % 2 == 1;
        let mut next = [1; 3];
        next[axis] = 3;
        let mut low = [1; 3];
        low[axis] = 2;
        low[across] = if is_upper { 2 } else { 0 };
        let mut high = low;
        low[along] = 0;
        high[along] = 2;
        // (axis, across, along) is cyclic in the first half of each axis; each side flips the orientation.
        let is_right_handed = (index % 4 < 2) == is_upper;
        cells[index] = if is_right_handed { [[1; 3], next, low, high] } else { [[1; 3], next, high, low] };
        index += 1;
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Facts of the body-centered lattice: twelve cells per h³, each of volume h³/12, edges h and √3/2 h.
    #[test]
    fn every_cell_has_the_volume_and_the_edges_of_the_lattice() {
        let lattice = Lattice { cell: 0.5 };
        for cell in lattice.cells_of([-3, 2, 7]) {
            let x = cell.map(|node| lattice.position(node));
            let volume = (x[1] - x[0]).dot((x[2] - x[0]).cross(x[3] - x[0])) / 6.0;
            assert!((volume - 0.125 / 12.0).abs() < 1e-15);
            let mut lengths: Vec<f64> =
                (0..4).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| x[i].distance(x[j])).collect();
            lengths.sort_by(f64::total_cmp);
            let short = 0.75_f64.sqrt() * 0.5;
            assert!(lengths[..4].iter().all(|l| (l - short).abs() < 1e-15));
            assert!(lengths[4..].iter().all(|l| (l - 0.5).abs() < 1e-15));
        }
    }

    #[test]
    fn every_edge_of_a_cell_has_one_owner_from_both_ends() {
        for cell in CUBE_CELLS {
            for (i, j) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
                let (owner, direction, is_forward) = edge_owner(cell[i], cell[j]);
                assert_eq!(edge_owner(cell[j], cell[i]), (owner, direction, !is_forward));
                let other = if is_forward { cell[j] } else { cell[i] };
                assert_eq!([0, 1, 2].map(|k| owner[k] + EDGE_DIRECTIONS[direction][k]), other);
            }
        }
    }

    /// Location gives weights in [0, 1] whose nodes sum up to the point again.
    #[test]
    fn points_are_located_in_the_cell_that_holds_them() {
        let lattice = Lattice { cell: 0.3 };
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64 * 4.0 - 2.0
        };
        for _ in 0..2000 {
            let p = Vec3::new(random(), random(), random());
            let found = lattice.locate(p);
            assert_eq!(found.nodes, lattice.cells_of(found.cube)[found.cell]);
            // Rounding of coordinates of a few units at cells of 0.3.
            assert!(found.weights.iter().all(|w| (-1e-12..=1.0 + 1e-12).contains(w)), "{found:?}");
            let back = (0..4).map(|k| lattice.position(found.nodes[k]) * found.weights[k]).sum::<Vec3>();
            assert!(back.distance(p) < 1e-12);
        }
    }
}
