//! Isosurface stuffing \[Labelle07\]: the cells of the lattice inside of a solid, cut at its surface.
//!
//! Nodes near a cut move to it, the other cuts become nodes, and every cell is replaced by its pieces inside
//! ([`super::stencil`]). All angles are bounded for any solid; the boundary is that of marching tetrahedra, with nodes
//! on φ = 0.

use std::sync::atomic::{AtomicBool, Ordering};

use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;

use super::bricks::{Bricks, CELLS, NODES, node_at};
use super::cuts::Cutting;
use super::lattice::{CUBE_CELLS, Lattice, Node};
use super::stencil::{CutCell, cut_nodes, pieces};
use super::{MeshError, MeshOptions};
use crate::Solid;

/// Which cells are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All inside.
    Whole,
    /// Those in bricks at the surface and beside: all around the nodes of what the surface changes.
    Near,
    /// Only those that touch the surface or that the surface changes.
    Shell,
}

/// Cells with what is known about them, before they are a mesh.
#[derive(Clone, Debug, Default)]
pub(crate) struct RawMesh {
    pub positions: Vec<Vec3>,
    pub tets: Vec<[u32; 4]>,
    /// Whether each node lies on φ = 0.
    pub on_surface: Vec<bool>,
    /// Cells that are no cells of the lattice any more, ascending.
    pub changed: Vec<u32>,
}

/// Where a solid cuts the lattice.
pub(crate) fn cutting(solid: &dyn Solid, options: &MeshOptions) -> Result<Cutting, MeshError> {
    let lattice = Lattice { cell: options.cell };
    let bricks = Bricks::new(lattice, &solid.bounds(), options.max_cells, &|p| solid.distance(p))?;
    Ok(Cutting::new(bricks, solid))
}

/// Cells of one brick; nodes are numbered through all bricks, first the lattice's own, then the cuts of each.
struct BrickCells {
    tets: Vec<[u32; 4]>,
    /// Numbers of changed cells in this brick.
    changed: Vec<u32>,
}

impl Cutting {
    /// The cells inside.
    pub(crate) fn cells(&self, extent: Extent) -> RawMesh {
        let first = self.bricks.first_nodes(&self.cuts);
        let count = first.last().copied().unwrap_or(0) as usize;
        let is_used: Vec<AtomicBool> = (0..count).map(|_| AtomicBool::new(false)).collect();
        let lists: Vec<BrickCells> = (0..self.bricks.bricks.len())
            .into_par_iter()
            .map(|brick| {
                let cells = self.brick_cells(brick, &first, extent);
                for node in cells.tets.as_flattened() {
                    is_used[*node as usize].store(true, Ordering::Relaxed);
                }
                cells
            })
            .collect();
        let mut numbers = vec![0_u32; count];
        let mut next = 0;
        for (number, used) in numbers.iter_mut().zip(&is_used) {
            *number = next;
            next += u32::from(used.load(Ordering::Relaxed));
        }
        let mut raw = joined(lists);
        raw.tets.par_iter_mut().for_each(|tet| *tet = tet.map(|node| numbers[node as usize]));
        self.add_nodes(&mut raw, &is_used, &first);
        raw
    }

    fn brick_cells(&self, brick: usize, first: &[u32], extent: Extent) -> BrickCells {
        let mut cells = BrickCells { tets: Vec::new(), changed: Vec::new() };
        let is_inside = self.bricks.bricks[brick].mixed.is_none();
        let is_left_out = match extent {
            Extent::Whole => false,
            Extent::Near => !self.bricks.is_near_surface(brick),
            Extent::Shell => is_inside,
        };
        if is_left_out {
            return cells;
        }
        let corner = Corner::new(self, brick, first);
        cells.tets.reserve(if is_inside { CELLS } else { CELLS / 2 });
        for cube in 0..64 {
            let base = corner.index([2 * (cube & 3), 2 * (cube >> 2 & 3), 2 * (cube >> 4)]);
            for offsets in &corner.cells {
                let slots = offsets.map(|offset| base + offset);
                let signs = slots.map(|slot| corner.signs[slot]);
                if signs == [-1; 4] {
                    if extent != Extent::Shell {
                        cells.tets.push(slots.map(|slot| corner.numbers[slot]));
                    }
                } else if signs.contains(&-1) {
                    self.add_pieces(&corner, slots, signs, first, &mut cells);
                }
            }
        }
        cells
    }

    /// Adds the pieces of a cell at the surface.
    fn add_pieces(&self, corner: &Corner, slots: [usize; 4], signs: [i8; 4], first: &[u32], cells: &mut BrickCells) {
        let Some(cell) = LatticeCell::new(self, slots.map(|slot| corner.node(slot)), signs, first) else { return };
        for piece in pieces(signs, &cell).as_slice() {
            cells.changed.push(cells.tets.len() as u32);
            cells.tets.push(piece.map(|c| match cut_nodes(c) {
                None => corner.numbers[slots[usize::from(c)]],
                Some((i, j)) => cell.cuts[i][j].0,
            }));
        }
    }

    /// Positions of the nodes in use, and whether they lie on the surface.
    fn add_nodes(&self, raw: &mut RawMesh, is_used: &[AtomicBool], first: &[u32]) {
        let lists: Vec<Vec<(Vec3, bool)>> = (0..self.bricks.bricks.len())
            .into_par_iter()
            .map(|brick| {
                let range = first[brick] as usize..first[brick + 1] as usize;
                let nodes = self.brick_nodes(brick);
                let pairs = nodes.into_iter().zip(&is_used[range]);
                pairs.filter(|(_, used)| used.load(Ordering::Relaxed)).map(|(node, _)| node).collect()
            })
            .collect();
        (raw.positions, raw.on_surface) = lists.into_iter().flatten().unzip();
    }

    fn brick_nodes(&self, brick: usize) -> Vec<(Vec3, bool)> {
        let lattice = self.bricks.lattice;
        let brick = self.bricks.bricks[brick];
        let mut nodes: Vec<(Vec3, bool)> =
            (0..NODES).map(|local| (lattice.position(node_at(brick.at, local)), false)).collect();
        let Some(mixed) = brick.mixed.map(|mixed| mixed as usize) else { return nodes };
        for (local, sign) in self.signs[mixed].iter().enumerate() {
            nodes[local].1 = *sign == 0;
        }
        for moved in &self.moved[mixed] {
            nodes[usize::from(moved.local)].0 = moved.position;
        }
        let cuts = &self.cuts[mixed];
        for (local, direction, index) in cuts.iter() {
            let from = node_at(brick.at, local);
            let d = super::lattice::EDGE_DIRECTIONS[direction];
            let to = [0, 1, 2].map(|k| from[k] + d[k]);
            let position = lattice.position(from).lerp(lattice.position(to), cuts.fractions[index]);
            nodes.push((position, true));
        }
        nodes
    }
}

fn joined(lists: Vec<BrickCells>) -> RawMesh {
    let mut raw = RawMesh::default();
    raw.tets.reserve(lists.iter().map(|list| list.tets.len()).sum());
    for list in lists {
        let offset = raw.tets.len() as u32;
        raw.changed.extend(list.changed.iter().map(|cell| cell + offset));
        raw.tets.extend(list.tets);
    }
    raw
}

/// Nodes along an edge of the block of a brick: its four cubes and the next.
const WIDTH: usize = 5;

/// The nodes of all cells of a brick: its own and those of its upper neighbors.
struct Corner {
    at: [i32; 3],
    signs: [i8; 2 * WIDTH * WIDTH * WIDTH],
    numbers: [u32; 2 * WIDTH * WIDTH * WIDTH],
    /// Offsets of the nodes of the cells of a cube.
    cells: [[usize; 4]; CUBE_CELLS.len()],
}

impl Corner {
    fn new(cutting: &Cutting, brick: usize, first: &[u32]) -> Self {
        let at = cutting.bricks.bricks[brick].at;
        let mut corner = Self { at, signs: [1; 250], numbers: [u32::MAX; 250], cells: [[0; 4]; CUBE_CELLS.len()] };
        corner.cells = CUBE_CELLS.map(|cell| cell.map(|node| corner.index(node.map(|x| x as usize))));
        for slot in 0..corner.signs.len() {
            let Some((other, local)) = cutting.bricks.find_node(corner.node(slot)) else { continue };
            let mixed = cutting.bricks.bricks[other].mixed;
            corner.signs[slot] = mixed.map_or(-1, |mixed| cutting.signs[mixed as usize][local]);
            corner.numbers[slot] = first[other] + local as u32;
        }
        corner
    }

    /// Slot of a node by its half-cube coordinates in the brick.
    #[inline]
    fn index(&self, node: [usize; 3]) -> usize {
        2 * ((node[2] / 2 * WIDTH + node[1] / 2) * WIDTH + node[0] / 2) + node[0] % 2
    }

    /// The node of a slot.
    #[inline]
    fn node(&self, slot: usize) -> Node {
        let cube = slot / 2;
        let offset = [cube % WIDTH, cube / WIDTH % WIDTH, cube / WIDTH / WIDTH];
        [0, 1, 2].map(|k| 8 * self.at[k] + 2 * offset[k] as i32 + (slot % 2) as i32)
    }
}

/// A cell of the lattice with its cuts.
struct LatticeCell {
    lattice: Lattice,
    nodes: [Node; 4],
    /// For each node inside and each outside, the number of the cut and its fraction from the inside.
    cuts: [[(u32, f64); 4]; 4],
}

impl LatticeCell {
    /// `None` when a cut is missing: the distance broke its promise.
    fn new(cutting: &Cutting, nodes: [Node; 4], signs: [i8; 4], first: &[u32]) -> Option<Self> {
        let mut cuts = [[(u32::MAX, 0.5); 4]; 4];
        for i in (0..4).filter(|i| signs[*i] < 0) {
            for j in (0..4).filter(|j| signs[*j] > 0) {
                let (brick, index, t) = cutting.cut(nodes[i], nodes[j])?;
                cuts[i][j] = (first[brick] + (NODES + index) as u32, t);
            }
        }
        Some(Self { lattice: cutting.bricks.lattice, nodes, cuts })
    }
}

impl CutCell for LatticeCell {
    fn cut(&self, inside: usize, outside: usize) -> f64 {
        self.cuts[inside][outside].1
    }

    fn position(&self, node: usize) -> Vec3 {
        self.lattice.position(self.nodes[node])
    }

    fn is_before(&self, a: usize, b: usize) -> bool {
        let key = |node: usize| [self.nodes[node][2], self.nodes[node][1], self.nodes[node][0]];
        key(a) < key(b)
    }
}
