//! Cubes, the nodes they share, and their adjacency.

use sinew_math::Vec3;

use super::nodes::{NodeMerger, Seed};
use super::{LatticeError, MAX_CUBES};

/// Cubes of one size over a body.
///
/// One cube may hold several cells (copies) when different parts of the body pass through it. Cells are connected by
/// shared nodes, never by their place. Cells are sorted by place, nodes by place with z as the primary key.
#[derive(Clone, Debug, PartialEq)]
pub struct HexLattice {
    /// Lower corner \[m\].
    pub origin: Vec3,
    /// Edge of a cube \[m\].
    pub cell: f64,
    /// Number of cubes of the bounding box along each axis.
    pub cubes: [usize; 3],
    /// The cells, sorted by place.
    pub cells: Vec<LatticeCell>,
    /// Place of each node in multiples of the edge from the origin.
    pub node_places: Vec<[u32; 3]>,
}

/// One cube of a lattice, or one of its copies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatticeCell {
    /// Place of its lower corner in multiples of the edge from the origin.
    pub place: [u32; 3],
    /// Corners, x fastest: node k at the offset (k & 1, k >> 1 & 1, k >> 2 & 1).
    pub nodes: [u32; 8],
    /// Fraction of its volume filled by the flesh of this copy, in (0, 1].
    pub fraction: f32,
}

/// A boundary face of a lattice: a quadrilateral that belongs to one cell only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SurfaceFace {
    /// The cell.
    pub cell: u32,
    /// Local face: 2 · axis, plus one for the upper side.
    pub face: u8,
    /// Corners, counterclockwise from outside.
    pub nodes: [u32; 4],
}

/// Local corners of a face, counterclockwise from outside; faces are 2 · axis, plus one for the upper side.
pub(super) fn face_corners(face: usize) -> [usize; 4] {
    let (axis, side) = (face / 2, face % 2);
    let (u, v) = (1 << ((axis + 1) % 3), 1 << ((axis + 2) % 3));
    let base = side << axis;
    if side == 1 { [base, base + u, base + u + v, base + v] } else { [base, base + v, base + u + v, base + u] }
}

impl LatticeCell {
    /// Nodes of the face in an order that the two sides of a common face agree on.
    fn face_nodes(&self, axis: usize, side: usize) -> [u32; 4] {
        let (u, v) = (1 << ((axis + 1) % 3), 1 << ((axis + 2) % 3));
        let base = side << axis;
        [base, base + u, base + v, base + u + v].map(|corner| self.nodes[corner])
    }
}

/// The next place along an axis.
pub(super) fn beside(mut place: [u32; 3], axis: usize) -> [u32; 3] {
    place[axis] += 1;
    place
}

impl HexLattice {
    /// A full box of cubes in which each corner is one node; `cell` is the edge \[m\].
    ///
    /// ```
    /// use sinew_geometry::lattice::HexLattice;
    /// use sinew_math::Vec3;
    ///
    /// let lattice = HexLattice::dense(Vec3::zero(), 0.1, [4, 3, 2])?;
    /// assert_eq!(lattice.cells.len(), 24);
    /// assert_eq!(lattice.node_places.len(), 60);
    ///
    /// let coarse = lattice.coarsen().lattice;
    /// assert_eq!(coarse.cubes, [2, 2, 1]);
    /// # Ok::<(), sinew_geometry::lattice::LatticeError>(())
    /// ```
    pub fn dense(origin: Vec3, cell: f64, cubes: [usize; 3]) -> Result<Self, LatticeError> {
        if !(cell > 0.0 && cell.is_finite()) {
            return Err(LatticeError::CellSize { cell });
        }
        let count = cubes.iter().map(|n| *n as f64).product::<f64>();
        if count > MAX_CUBES as f64 {
            let fitting = cell * (count / MAX_CUBES as f64).cbrt();
            return Err(LatticeError::TooManyCells { cells: count, limit: MAX_CUBES, fitting });
        }
        if count == 0.0 {
            return Err(LatticeError::NothingInside);
        }
        let extent = Vec3::from(cubes.map(|n| n as f64)) * cell;
        if !(origin + extent).is_finite() {
            return Err(LatticeError::CellSize { cell });
        }
        let [nx, ny, nz] = cubes.map(|n| n as u32);
        let place = |index: u32| [index / nz / ny, index / nz % ny, index % nz];
        let seeds = (0..nx * ny * nz).map(|index| Seed { place: place(index), fraction: 1.0 }).collect();
        let mut merger = NodeMerger::new(seeds);
        merger.join_places(cubes);
        Ok(merger.into_lattice(origin, cell, cubes).0)
    }

    /// Removes cells, and the nodes that no remaining cell uses.
    pub fn retain(&mut self, is_kept: impl FnMut(&LatticeCell) -> bool) {
        self.cells.retain(is_kept);
        let mut numbers = vec![u32::MAX; self.node_places.len()];
        self.cells.iter().flat_map(|cell| cell.nodes).for_each(|node| numbers[node as usize] = 0);
        let mut kept = 0;
        for (number, old) in numbers.iter_mut().zip(0..).filter(|(number, _)| **number == 0) {
            *number = kept;
            self.node_places[kept as usize] = self.node_places[old];
            kept += 1;
        }
        self.node_places.truncate(kept as usize);
        self.cells.iter_mut().flat_map(|cell| &mut cell.nodes).for_each(|node| *node = numbers[*node as usize]);
    }

    /// The cells of one cube; none where the body is absent.
    pub fn cells_at(&self, place: [u32; 3]) -> impl Iterator<Item = usize> + use<> {
        let begin = self.cells.partition_point(|cell| cell.place < place);
        let end = begin + self.cells[begin..].partition_point(|cell| cell.place == place);
        begin..end
    }

    /// Position of a node \[m\].
    pub fn node_position(&self, node: usize) -> Vec3 {
        self.origin + Vec3::from(self.node_places[node].map(f64::from)) * self.cell
    }

    /// Whether two cells share a node. Such cells move together, and no contact is sought between them. A cell is its
    /// own neighbor; nonexistent cells have none.
    pub fn are_neighbors(&self, a: usize, b: usize) -> bool {
        let (Some(a), Some(b)) = (self.cells.get(a), self.cells.get(b)) else { return false };
        let is_near = (0..3).all(|axis| a.place[axis].abs_diff(b.place[axis]) <= 1);
        is_near && a.nodes.iter().any(|node| b.nodes.contains(node))
    }

    /// Calls `visit(axis, a, b)` for all cells a and b that share a face, b being the upper one, in linear time.
    pub(super) fn for_each_face_pair(&self, mut visit: impl FnMut(usize, usize, usize)) {
        for axis in 0..3 {
            // Moving all places by one keeps their order, so the neighbors are found in a single pass.
            let mut begin = 0;
            for (a, cell) in self.cells.iter().enumerate() {
                let place = beside(cell.place, axis);
                while self.cells.get(begin).is_some_and(|other| other.place < place) {
                    begin += 1;
                }
                let nodes = cell.face_nodes(axis, 1);
                for (b, other) in self.cells.iter().enumerate().skip(begin) {
                    if other.place != place {
                        break;
                    }
                    if other.face_nodes(axis, 0) == nodes {
                        visit(axis, a, b);
                    }
                }
            }
        }
    }

    /// The faces that belong to exactly one cell, in the order of the cells.
    pub fn surface_faces(&self) -> Vec<SurfaceFace> {
        let mut shared = vec![0_u8; self.cells.len()];
        self.for_each_face_pair(|axis, a, b| {
            shared[a] |= 2 << (2 * axis);
            shared[b] |= 1 << (2 * axis);
        });
        let mut faces = Vec::new();
        for (index, cell) in self.cells.iter().enumerate() {
            for face in (0..6).filter(|face| shared[index] >> face & 1 == 0) {
                // Copies of one cube may share a face even where no cell lies beyond it.
                let nodes = cell.face_nodes(face / 2, face % 2);
                let same = |other: usize| other != index && self.cells[other].face_nodes(face / 2, face % 2) == nodes;
                let has_copy = |other: usize| self.cells.get(other).is_some_and(|other| other.place == cell.place);
                let is_single = !(index > 0 && has_copy(index - 1) || has_copy(index + 1));
                if is_single || !self.cells_at(cell.place).any(same) {
                    let nodes = face_corners(face).map(|corner| cell.nodes[corner]);
                    faces.push(SurfaceFace { cell: index as u32, face: face as u8, nodes });
                }
            }
        }
        faces
    }

    /// Volume of the body \[m³\]: the inside part of each cell.
    pub fn volume(&self) -> f64 {
        self.cells.iter().map(|cell| f64::from(cell.fraction)).sum::<f64>() * self.cell.powi(3)
    }
}
