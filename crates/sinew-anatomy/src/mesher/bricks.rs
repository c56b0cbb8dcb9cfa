//! Which part of the lattice the surface passes through.
//!
//! The lattice is stored by bricks of 4³ cubes. One distance at its center tells whether a brick can touch the surface:
//! only those keep distances of their nodes, and bricks outside are not stored at all.

use sinew_geometry::Aabb;
use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;

use super::MeshError;
use super::cuts::BrickCuts;
use super::lattice::{Lattice, Node};

/// Cubes along an edge of a brick.
pub(crate) const SIDE: i32 = 4;
/// Nodes owned by a brick: a corner and a center per cube.
pub(crate) const NODES: usize = 128;
/// Cells owned by a brick.
pub(crate) const CELLS: usize = 768;
/// Beyond this distance of its center, in cubes, no edge at a node of a brick's cells meets the surface: the farthest
/// node is 2.5 √3 away, and its edges have length one.
pub(crate) const REACH: f64 = 5.4;
/// Most bricks of the box that are looked at: 256 MB for their numbers.
const MAX_TABLE: f64 = 67e6;
/// A brick outside.
const OUTSIDE: u32 = u32::MAX;

/// A brick that is inside at least in part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Brick {
    /// Coordinates in bricks from the origin of the world.
    pub at: [i32; 3],
    /// Number of its distances; `None` for a brick inside.
    pub mixed: Option<u32>,
}

/// The bricks of a solid, ordered by z, y, x, and the distances at the nodes of those near the surface.
pub(crate) struct Bricks {
    pub lattice: Lattice,
    low: [i32; 3],
    size: [usize; 3],
    table: Vec<u32>,
    /// Bricks that are not outside.
    pub bricks: Vec<Brick>,
    /// Distances \[m\] at the nodes of bricks near the surface.
    pub distances: Vec<[f64; NODES]>,
}

/// What one distance tells of a brick.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Inside,
    Mixed,
    Outside,
}

impl Bricks {
    /// Looks at all bricks that meet the bounds of a solid and measures distances where its surface is near.
    pub fn new(
        lattice: Lattice,
        bounds: &Aabb,
        max_cells: usize,
        distance: &(dyn Fn(Vec3) -> f64 + Sync),
    ) -> Result<Self, MeshError> {
        let mut found = Self::classified(lattice, bounds, max_cells, distance)?;
        found.distances = found.measure(distance)?;
        Ok(found)
    }

    /// Looks at all bricks that meet the bounds: a distance at the center of each tells on which side it is.
    pub fn classified(
        lattice: Lattice,
        bounds: &Aabb,
        max_cells: usize,
        distance: &(dyn Fn(Vec3) -> f64 + Sync),
    ) -> Result<Self, MeshError> {
        let (low, size) = extent(lattice, bounds, max_cells)?;
        let brick_at = |index: usize| {
            let at = [index % size[0], index / size[0] % size[1], index / size[0] / size[1]];
            [0, 1, 2].map(|k| low[k] + at[k] as i32)
        };
        let sides: Vec<Side> = (0..size.iter().product())
            .into_par_iter()
            .map(|index| {
                let at = center(lattice, brick_at(index));
                let d = distance(at);
                match d {
                    d if d.is_nan() => Err(MeshError::NotFinite { at }),
                    d if d > REACH * lattice.cell => Ok(Side::Outside),
                    d if d < -REACH * lattice.cell => Ok(Side::Inside),
                    _ => Ok(Side::Mixed),
                }
            })
            .collect::<Result<_, _>>()?;
        let mut bricks = Vec::new();
        let mut mixed = 0;
        let mut table = vec![OUTSIDE; sides.len()];
        for (index, side) in sides.iter().enumerate().filter(|(_, side)| **side != Side::Outside) {
            table[index] = bricks.len() as u32;
            let is_mixed = *side == Side::Mixed;
            bricks.push(Brick { at: brick_at(index), mixed: is_mixed.then_some(mixed) });
            mixed += u32::from(is_mixed);
        }
        check_count(lattice, bricks.len() as f64, max_cells)?;
        Ok(Self { lattice, low, size, table, bricks, distances: Vec::new() })
    }

    /// Center \[m\] of a brick.
    pub fn center(&self, at: [i32; 3]) -> Vec3 {
        center(self.lattice, at)
    }

    /// Distances at the nodes of the bricks near the surface.
    fn measure(&self, distance: &(dyn Fn(Vec3) -> f64 + Sync)) -> Result<Vec<[f64; NODES]>, MeshError> {
        let mixed: Vec<&Brick> = self.bricks.iter().filter(|brick| brick.mixed.is_some()).collect();
        mixed
            .into_par_iter()
            .map(|brick| {
                let mut values = [0.0; NODES];
                for (local, value) in values.iter_mut().enumerate() {
                    let at = self.lattice.position(node_at(brick.at, local));
                    *value = distance(at);
                    if !value.is_finite() {
                        return Err(MeshError::NotFinite { at });
                    }
                }
                Ok(values)
            })
            .collect()
    }

    /// First number of the nodes of each brick, its own and then the cuts of a mixed one, and the number of all.
    pub fn first_nodes(&self, cuts: &[BrickCuts]) -> Vec<u32> {
        let mut first = vec![0];
        let mut next = 0;
        for brick in &self.bricks {
            next += NODES + brick.mixed.map_or(0, |mixed| cuts[mixed as usize].fractions.len());
            first.push(next as u32);
        }
        first
    }

    /// Number of a brick; `None` outside.
    #[inline]
    pub fn find(&self, at: [i32; 3]) -> Option<usize> {
        let mut index = 0;
        for k in [2, 1, 0] {
            let offset = usize::try_from(at[k] - self.low[k]).ok().filter(|offset| *offset < self.size[k])?;
            index = index * self.size[k] + offset;
        }
        let found = self.table[index];
        (found != OUTSIDE).then_some(found as usize)
    }

    /// Whether the surface may pass through a brick or one that touches it.
    pub fn is_near_surface(&self, brick: usize) -> bool {
        let at = self.bricks[brick].at;
        let near = (0..27).map(|k| [at[0] + k % 3 - 1, at[1] + k / 3 % 3 - 1, at[2] + k / 9 - 1]);
        near.into_iter().filter_map(|at| self.find(at)).any(|other| self.bricks[other].mixed.is_some())
    }

    /// The brick and the local number of a node; `None` outside.
    #[inline]
    pub fn find_node(&self, node: Node) -> Option<(usize, usize)> {
        let (at, local) = split(node);
        Some((self.find(at)?, local))
    }
}

fn center(lattice: Lattice, at: [i32; 3]) -> Vec3 {
    let side = f64::from(SIDE) * lattice.cell;
    Vec3::from(at.map(|x| (f64::from(x) + 0.5) * side))
}

/// The first brick and the numbers of bricks along the axes, around the bounds and one cell more.
fn extent(lattice: Lattice, bounds: &Aabb, max_cells: usize) -> Result<([i32; 3], [usize; 3]), MeshError> {
    let cell = lattice.cell;
    if !(cell > 0.0 && cell.is_finite()) {
        return Err(MeshError::CellSize { cell });
    }
    if bounds.is_empty() {
        return Err(MeshError::Empty);
    }
    if !(bounds.min.is_finite() && bounds.max.is_finite()) {
        return Err(MeshError::Unbounded);
    }
    let grown = bounds.grown(1.01 * cell);
    let side = f64::from(SIDE) * cell;
    let low = (grown.min / side).map(f64::floor);
    let high = (grown.max / side).map(f64::floor);
    let size = high - low + Vec3::splat(1.0);
    let count = size.x * size.y * size.z;
    // Coordinates in half cubes must fit 32 bits with room for neighbors.
    let farthest = low.abs().max(high.abs()).max_component() * f64::from(2 * SIDE);
    if !(count <= MAX_TABLE && farthest < 1e9) {
        let cells = bounds.volume().max(1e-300) / cell.powi(3) * 12.0;
        let fitting = cell * (count / MAX_TABLE).cbrt().max(farthest / 1e9).max(1.0);
        return Err(MeshError::TooManyCells { cells, limit: max_cells, fitting });
    }
    Ok((low.to_array().map(|x| x as i32), size.to_array().map(|x| x as usize)))
}

fn check_count(lattice: Lattice, bricks: f64, max_cells: usize) -> Result<(), MeshError> {
    let cells = bricks * CELLS as f64;
    // 4e9: nodes and cuts of all bricks are numbered by 32 bits.
    let limit = (max_cells as f64).min(4e9 / NODES as f64 / 2.0 * CELLS as f64);
    if cells > limit {
        let fitting = lattice.cell * (cells / limit).cbrt();
        return Err(MeshError::TooManyCells { cells, limit: limit as usize, fitting });
    }
    Ok(())
}

/// The brick of a node and its number there.
#[inline]
pub(crate) fn split(node: Node) -> ([i32; 3], usize) {
    let cube = node.map(|x| x >> 1);
    let brick = cube.map(|x| x.div_euclid(SIDE));
    let local = (((cube[2] & 3) * 16 + (cube[1] & 3) * 4 + (cube[0] & 3)) * 2 + (node[0] & 1)) as usize;
    (brick, local)
}

/// A node by its brick and its number there.
#[inline]
pub(crate) fn node_at(brick: [i32; 3], local: usize) -> Node {
    let cube = local as i32 / 2;
    let offset = [cube & 3, cube >> 2 & 3, cube >> 4];
    [0, 1, 2].map(|k| 2 * (SIDE * brick[k] + offset[k]) + (local & 1) as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_found_again_by_brick_and_number() {
        for brick in [[0, 0, 0], [-1, 2, -3]] {
            for local in 0..NODES {
                assert_eq!(split(node_at(brick, local)), (brick, local));
            }
        }
    }
}
