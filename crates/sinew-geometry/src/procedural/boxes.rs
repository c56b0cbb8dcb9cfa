//! Boxes and beams: Kuhn, body-centered and hexahedral.

use std::collections::HashMap;

use sinew_math::Vec3;

use super::{ProceduralError, check_count, check_length};
use crate::mesh::{CellBlock, CellMesh, TriMesh};

/// How cubes become tetrahedra.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TetPattern {
    /// Six tetrahedra around a diagonal of each cube \[Kuhn60\]; dihedral angles 45° to 90°. Stiffer along the
    /// diagonal.
    #[default]
    Kuhn,
    /// Body-centered cubic: each inner face of the grid forms four tetrahedra with the two adjacent cube centers, all
    /// congruent in a grid of cubes, dihedral angles 60° and 90° \[Labelle07\]. No preferred direction, except on the
    /// faces of the box, where alternating diagonals halve the pyramids.
    Bcc,
}

/// Corner offsets of the face with normal `axis`, counterclockwise seen from its positive side.
pub(crate) fn face_offsets(axis: usize) -> [[usize; 3]; 4] {
    let (e, f) = ((axis + 1) % 3, (axis + 2) % 3);
    [[0, 0], [1, 0], [1, 1], [0, 1]].map(|[u, v]| {
        let mut offset = [0; 3];
        offset[e] = u;
        offset[f] = v;
        offset
    })
}

/// The six tetrahedra of a cube as corner offsets, all positively oriented.
///
/// Each goes from corner (0,0,0) to (1,1,1) along the axes in one of the six orders; odd orders have their two last
/// corners exchanged.
pub(crate) fn kuhn_tets() -> [[[usize; 3]; 4]; 6] {
    // Lexicographic permutations with their parity.
    let orders = [
        ([0, 1, 2], false),
        ([0, 2, 1], true),
        ([1, 0, 2], true),
        ([1, 2, 0], false),
        ([2, 0, 1], false),
        ([2, 1, 0], true),
    ];
    orders.map(|(order, is_odd)| {
        let mut corners = [[0; 3]; 4];
        for step in 0..3 {
            corners[step + 1] = corners[step];
            corners[step + 1][order[step]] += 1;
        }
        if is_odd {
            corners.swap(2, 3);
        }
        corners
    })
}

/// A regular grid over the box.
struct Grid {
    size: Vec3,
    cells: [usize; 3],
}

impl Grid {
    fn new(size: Vec3, cells: [usize; 3], cells_per_cube: f64) -> Result<Self, ProceduralError> {
        for (axis, name) in ["size along x", "size along y", "size along z"].into_iter().enumerate() {
            check_length(name, size[axis])?;
        }
        for (axis, name) in ["cells along x", "cells along y", "cells along z"].into_iter().enumerate() {
            if cells[axis] == 0 {
                return Err(ProceduralError::Parameter { name, value: 0.0, expected: "at least 1" });
            }
        }
        check_count(cells.iter().map(|n| *n as f64).product::<f64>() * cells_per_cube)?;
        Ok(Self { size, cells })
    }

    /// Vertex (i, j, k) has the number (i (n_y + 1) + j)(n_z + 1) + k.
    fn node(&self, [i, j, k]: [usize; 3]) -> u32 {
        ((i * (self.cells[1] + 1) + j) * (self.cells[2] + 1) + k) as u32
    }

    fn position(&self, index: [usize; 3]) -> Vec3 {
        let mut x = Vec3::zero();
        for axis in 0..3 {
            let n = self.cells[axis];
            // The last plane is exactly at the size, despite rounding of the step.
            x[axis] =
                if index[axis] == n { self.size[axis] } else { index[axis] as f64 * (self.size[axis] / n as f64) };
        }
        x
    }

    fn corner_positions(&self) -> Vec<Vec3> {
        let [nx, ny, nz] = self.cells;
        let mut positions = Vec::with_capacity((nx + 1) * (ny + 1) * (nz + 1));
        for i in 0..=nx {
            for j in 0..=ny {
                for k in 0..=nz {
                    positions.push(self.position([i, j, k]));
                }
            }
        }
        positions
    }

    fn cubes(&self) -> impl Iterator<Item = [usize; 3]> + use<> {
        let [nx, ny, nz] = self.cells;
        (0..nx).flat_map(move |i| (0..ny).flat_map(move |j| (0..nz).map(move |k| [i, j, k])))
    }

    fn cube_count(&self) -> usize {
        self.cells.iter().product()
    }
}

fn plus(a: [usize; 3], b: [usize; 3]) -> [usize; 3] {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

/// A box of `cells` cubes (or bricks) split into tetrahedra.
///
/// Kuhn: the tetrahedra of the first order of axes for all cubes come first, then those of the second, and so on. BCC:
/// corners are numbered as in Kuhn, cube centers follow in the same order.
pub fn box_tets(size: Vec3, cells: [usize; 3], pattern: TetPattern) -> Result<CellMesh, ProceduralError> {
    match pattern {
        TetPattern::Kuhn => {
            let grid = Grid::new(size, cells, 6.0)?;
            let mut tets = Vec::with_capacity(6 * grid.cube_count());
            for corners in kuhn_tets() {
                for cube in grid.cubes() {
                    tets.push(corners.map(|offset| grid.node(plus(cube, offset))));
                }
            }
            Ok(CellMesh::from_tets(grid.corner_positions(), &tets)?.0)
        }
        TetPattern::Bcc => box_bcc(&Grid::new(size, cells, 12.0)?),
    }
}

fn box_bcc(grid: &Grid) -> Result<CellMesh, ProceduralError> {
    let [_, ny, nz] = grid.cells;
    let mut positions = grid.corner_positions();
    let corner_count = positions.len();
    for cube in grid.cubes() {
        positions.push((grid.position(cube) + grid.position(plus(cube, [1, 1, 1]))) * 0.5);
    }
    let center = |[i, j, k]: [usize; 3]| (corner_count + (i * ny + j) * nz + k) as u32;

    let mut tets = Vec::with_capacity(12 * grid.cube_count());
    for cube in grid.cubes() {
        for axis in 0..3 {
            let mut step = [0; 3];
            step[axis] = 1;
            let upper = plus(cube, step);
            let top = face_offsets(axis).map(|offset| grid.node(plus(upper, offset)));
            if upper[axis] < grid.cells[axis] {
                for q in 0..4 {
                    tets.push([center(cube), center(upper), top[q], top[(q + 1) % 4]]);
                }
            } else {
                tets.extend(half_pyramids(center(cube), top, cube));
            }
            if cube[axis] == 0 {
                let mut bottom = face_offsets(axis).map(|offset| grid.node(plus(cube, offset)));
                bottom.swap(1, 3);
                tets.extend(half_pyramids(center(cube), bottom, cube));
            }
        }
    }
    Ok(CellMesh::from_tets(positions, &tets)?.0)
}

/// The pyramid over a face of the box, split along a diagonal that alternates from cube to cube; the face is given
/// counterclockwise from outside.
fn half_pyramids(apex: u32, q: [u32; 4], cube: [usize; 3]) -> [[u32; 4]; 2] {
    if cube.iter().sum::<usize>().is_multiple_of(2) {
        [[q[0], q[2], q[1], apex], [q[0], q[3], q[2], apex]]
    } else {
        [[q[1], q[3], q[2], apex], [q[1], q[0], q[3], apex]]
    }
}

/// A box of hexahedra.
pub fn box_hexes(size: Vec3, cells: [usize; 3]) -> Result<CellMesh, ProceduralError> {
    const CORNERS: [[usize; 3]; 8] =
        [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]];
    let grid = Grid::new(size, cells, 1.0)?;
    let hexes: Vec<[u32; 8]> = grid.cubes().map(|cube| CORNERS.map(|offset| grid.node(plus(cube, offset)))).collect();
    Ok(CellMesh::new(grid.corner_positions(), vec![CellBlock::hexes(&hexes)])?.0)
}

/// The six sides of a box, each with a grid of squares split in two.
pub fn box_surface(size: Vec3, cells: [usize; 3]) -> Result<TriMesh, ProceduralError> {
    // Few triangles, but every vertex of the grid is numbered: limit the number of squares.
    let grid = Grid::new(size, cells, 0.0)?;
    let n = cells.map(|n| n as f64);
    check_count(4.0 * (n[0] * n[1] + n[1] * n[2] + n[2] * n[0]))?;
    let mut positions = Vec::new();
    let mut triangles = Vec::new();
    let mut vertex_of: HashMap<[usize; 3], u32> = HashMap::new();
    let mut vertex = |index: [usize; 3]| {
        *vertex_of.entry(index).or_insert_with(|| {
            positions.push(grid.position(index));
            (positions.len() - 1) as u32
        })
    };
    for axis in 0..3 {
        let (e, f) = ((axis + 1) % 3, (axis + 2) % 3);
        for side in [0, cells[axis]] {
            for i in 0..cells[e] {
                for j in 0..cells[f] {
                    let mut lower = [0; 3];
                    (lower[axis], lower[e], lower[f]) = (side, i, j);
                    let mut q = face_offsets(axis).map(|offset| vertex(plus(lower, offset)));
                    if side == 0 {
                        q.swap(1, 3);
                    }
                    triangles.extend([[q[0], q[1], q[2]], [q[0], q[2], q[3]]]);
                }
            }
        }
    }
    Ok(TriMesh::new(positions, triangles)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbering is fixed: results are compared node by node with other programs on the same beam.
    #[test]
    fn kuhn_beam_has_the_agreed_numbering() {
        let mesh = box_tets(Vec3::new(0.4, 0.1, 0.1), [24, 6, 6], TetPattern::Kuhn).unwrap();
        assert_eq!((mesh.node_count(), mesh.cell_count()), (1225, 5184));
        assert_eq!(mesh.positions()[1], Vec3::new(0.0, 0.0, 0.1 / 6.0));
        assert_eq!(mesh.positions()[1224], Vec3::new(0.4, 0.1, 0.1));
        // First cube, six orders of the axes; 7 nodes along z, 49 per plane of x. Odd orders have their last corners
        // exchanged.
        let n = 864;
        assert_eq!(mesh.cell_nodes(0), [0, 49, 56, 57]);
        assert_eq!(mesh.cell_nodes(n), [0, 49, 57, 50]);
        assert_eq!(mesh.cell_nodes(2 * n), [0, 7, 57, 56]);
        assert_eq!(mesh.cell_nodes(3 * n), [0, 7, 8, 57]);
        assert_eq!(mesh.cell_nodes(4 * n), [0, 1, 50, 57]);
        assert_eq!(mesh.cell_nodes(5 * n), [0, 1, 57, 8]);
        assert_eq!(mesh.cell_nodes(1), [1, 50, 57, 58]);
        // Sum of five thousand rounded volumes.
        assert!((mesh.volume() - 0.004).abs() < 1e-15);
    }

    #[test]
    fn every_pattern_fills_the_box_with_well_shaped_cells() {
        let size = Vec3::new(3.0, 2.0, 4.0);
        let cells = [3, 2, 4];
        for (mesh, least, most) in [
            (box_tets(size, cells, TetPattern::Kuhn).unwrap(), 45.0, 90.0),
            // Inner cells have 60° and 90°; the half pyramids have 45°, 60°, 90° and 120°.
            (box_tets(size, cells, TetPattern::Bcc).unwrap(), 45.0, 120.0),
            (box_hexes(size, cells).unwrap(), 90.0, 90.0),
        ] {
            assert!((mesh.volume() - 24.0).abs() < 1e-12);
            let quality = mesh.quality();
            assert!((quality.min_dihedral.to_degrees() - least).abs() < 1e-9, "{quality}");
            assert!((quality.max_dihedral.to_degrees() - most).abs() < 1e-9, "{quality}");
        }
    }

    #[test]
    fn bcc_cells_have_equal_volumes() {
        let mesh = box_tets(Vec3::splat(2.0), [2, 2, 2], TetPattern::Bcc).unwrap();
        assert!(mesh.cell_volumes().iter().all(|v| (v - 1.0 / 12.0).abs() < 1e-15));
        assert_eq!(mesh.cell_count(), 96);
    }

    #[test]
    fn box_surface_is_closed_and_encloses_the_box() {
        let surface = box_surface(Vec3::new(1.0, 2.0, 3.0), [2, 3, 1]).unwrap();
        assert!(surface.is_closed());
        assert!((surface.volume() - 6.0).abs() < 1e-14);
        assert!((surface.area() - 22.0).abs() < 1e-13);
        assert!(surface.self_intersections(1).is_empty());
    }

    #[test]
    fn absurd_boxes_are_refused_before_allocation() {
        let unit = Vec3::splat(1.0);
        for cells in [[0, 1, 1], [usize::MAX, 1, 1], [1 << 40, 1 << 40, 1 << 40]] {
            assert!(box_hexes(unit, cells).is_err());
            assert!(box_tets(unit, cells, TetPattern::Bcc).is_err());
            assert!(box_surface(unit, cells).is_err());
        }
        for size in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e300, 1e-300] {
            assert!(box_hexes(Vec3::new(size, 1.0, 1.0), [1, 1, 1]).is_err());
            assert!(box_tets(Vec3::new(1.0, size, 1.0), [1, 1, 1], TetPattern::Kuhn).is_err());
        }
    }
}
