//! The lattice over a bounding box, and the selection of its tetrahedra.

use std::sync::atomic::{AtomicU16, Ordering};

use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;

use super::cubes::{CubeGrid, Enclosure};
use super::{FillError, FillOptions};
use crate::mesh::{Aabb, TriMesh, overlap_depth};
use crate::procedural::{TetPattern, face_offsets, kuhn_tets};

/// Bit of a cube that the surface cuts or touches and that stops the flood fill; the lower twelve bits are its
/// tetrahedra.
const WALL: u16 = 1 << 15;

/// The selected part of the lattice.
pub(super) struct Filling {
    pub positions: Vec<Vec3>,
    pub tets: Vec<[u32; 4]>,
    /// For each tetrahedron, whether the surface cuts it.
    pub is_cut: Vec<bool>,
}

/// A regular grid of cubes and the tetrahedra that belong to each.
pub(super) struct Lattice {
    grid: CubeGrid,
    pattern: TetPattern,
    /// Corners in half cubes, relative to the cube that owns the tetrahedron.
    tets: Vec<[[usize; 3]; 4]>,
}

impl Lattice {
    /// A grid centered on the bounding box, if it is not too fine.
    pub fn new(bounds: &Aabb, cell: f64, options: &FillOptions) -> Result<Self, FillError> {
        let tets = match options.pattern {
            TetPattern::Kuhn => kuhn_tets().map(|tet| tet.map(|corner| corner.map(|i| 2 * i))).to_vec(),
            TetPattern::Bcc => bcc_tets(),
        };
        // Tetrahedra of the body-centered lattice lie between two cubes, so they need cubes all around.
        let padding = if options.pattern == TetPattern::Bcc { 1.0 } else { 0.0 };
        let counts = CubeGrid::counts(bounds.size(), cell, padding);
        let cells = counts[0] * counts[1] * counts[2] * tets.len() as f64;
        // An overflowing quotient gives infinity, which is also too many.
        if cells.is_nan() || cells > options.max_cells as f64 {
            return Err(FillError::TooManyCells { cells, limit: options.max_cells });
        }
        let grid = CubeGrid::centered(bounds, cell, counts).ok_or(FillError::CellSize { cell })?;
        Ok(Self { grid, pattern: options.pattern, tets })
    }

    /// Corners of a tetrahedron in half cubes; `None` if it needs a cube beyond the grid.
    fn tet(&self, cube: [usize; 3], tet: usize) -> Option<[[usize; 3]; 4]> {
        if self.pattern == TetPattern::Bcc && cube[tet / 4] + 1 >= self.grid.cubes[tet / 4] {
            return None;
        }
        Some(self.tets[tet].map(|corner| [0, 1, 2].map(|axis| 2 * cube[axis] + corner[axis])))
    }

    /// The nodes and tetrahedra inside the surface or overlapping it.
    pub fn fill(&self, surface: &TriMesh, enclosure: Enclosure) -> Filling {
        let marks = self.marks(surface);
        let winding = surface.winding_numbers();
        let is_inside = self.grid.inside(|index| marks[index] & WALL != 0, &winding, enclosure);

        let kept: Vec<u16> = (0..self.grid.cube_count())
            .into_par_iter()
            .map(|index| {
                let cube = self.grid.cube(index);
                let mut kept = 0;
                for tet in 0..self.tets.len() {
                    let Some(corners) = self.tet(cube, tet) else { continue };
                    let is_kept = marks[index] & (1 << tet) != 0 || {
                        // The cubes that contain the tetrahedron.
                        let mut other = cube;
                        if self.pattern == TetPattern::Bcc {
                            other[tet / 4] += 1;
                        }
                        let other = self.grid.index(other);
                        if (marks[index] | marks[other]) & WALL == 0 && is_inside[index] == is_inside[other] {
                            is_inside[index]
                        } else {
                            let center = corners.iter().map(|c| self.grid.position(*c)).sum::<Vec3>() * 0.25;
                            winding.is_inside(center)
                        }
                    };
                    kept |= u16::from(is_kept) << tet;
                }
                kept
            })
            .collect();
        self.number(&kept, &marks)
    }

    /// For each cube, the tetrahedra that the surface overlaps, and whether the surface touches the cube.
    fn marks(&self, surface: &TriMesh) -> Vec<u16> {
        let marks: Vec<AtomicU16> = (0..self.grid.cube_count()).map(|_| AtomicU16::new(0)).collect();
        let touch = self.grid.touch();
        // Setting bits commutes, so the result does not depend on the order of the threads.
        surface.distinct_triangles().into_par_iter().for_each(|(t, _)| {
            let triangle = surface.corners(t as usize);
            let bounds = Aabb::from_points(&triangle).grown(touch);
            let (low, high) = self.cube_range(&bounds);
            for i in low[0]..=high[0] {
                for j in low[1]..=high[1] {
                    for k in low[2]..=high[2] {
                        let mark = &marks[self.grid.index([i, j, k])];
                        let bits = self.overlaps(triangle, &bounds, [i, j, k], mark.load(Ordering::Relaxed));
                        mark.fetch_or(bits, Ordering::Relaxed);
                    }
                }
            }
        });
        marks.into_iter().map(AtomicU16::into_inner).collect()
    }

    /// Cubes whose tetrahedra may overlap the box.
    fn cube_range(&self, bounds: &Aabb) -> ([usize; 3], [usize; 3]) {
        // Tetrahedra of the body-centered lattice extend from the lower cube that owns them into the next one.
        let reach = usize::from(self.pattern == TetPattern::Bcc);
        let (low, high) = self.grid.range(bounds);
        (low.map(|i| i.saturating_sub(reach)), high)
    }

    /// The bits that a triangle sets in a cube; bits already set are not tested again.
    fn overlaps(&self, triangle: [Vec3; 3], bounds: &Aabb, cube: [usize; 3], known: u16) -> u16 {
        let touch = self.grid.touch();
        let edges = [triangle[1] - triangle[0], triangle[2] - triangle[1], triangle[0] - triangle[2]];
        let normal = edges[0].cross(edges[1]);
        let mut bits = 0;
        if known & WALL == 0 && self.grid.depth(&triangle, cube) >= -touch {
            bits |= WALL;
        }
        for tet in 0..self.tets.len() {
            if known & (1 << tet) != 0 {
                continue;
            }
            let Some(corners) = self.tet(cube, tet) else { continue };
            let x = corners.map(|corner| self.grid.position(corner));
            if !Aabb::from_points(&x).overlaps(bounds) {
                continue;
            }
            let sides = [x[1] - x[0], x[2] - x[0], x[3] - x[0], x[2] - x[1], x[3] - x[1], x[3] - x[2]];
            let faces = [
                sides[0].cross(sides[1]),
                sides[1].cross(sides[2]),
                sides[2].cross(sides[0]),
                sides[3].cross(sides[4]),
            ];
            let products = sides.iter().flat_map(|s| edges.iter().map(|e| s.cross(*e)));
            let all = faces.into_iter().chain([normal]).chain(products);
            if overlap_depth(&triangle, &x, all, touch) > touch {
                bits |= 1 << tet;
            }
        }
        bits
    }

    /// Numbers the corners of the kept tetrahedra along the grid, so that neighbors get close numbers.
    fn number(&self, kept: &[u16], marks: &[u16]) -> Filling {
        let corner_counts = self.grid.cubes.map(|n| n + 1);
        let corner_count: usize = corner_counts.iter().product();
        // Two points per corner of the grid: itself and the center of the cube above it.
        let slot = |half: [usize; 3]| {
            let [i, j, k] = half.map(|h| h / 2);
            2 * ((i * corner_counts[1] + j) * corner_counts[2] + k) + half[0] % 2
        };
        let mut number = vec![u32::MAX; 2 * corner_count];
        let kept_tets = || {
            kept.iter().enumerate().filter(|(_, bits)| **bits != 0).flat_map(|(index, bits)| {
                let cube = self.grid.cube(index);
                (0..self.tets.len())
                    .filter(move |tet| bits & (1 << tet) != 0)
                    .filter_map(move |tet| self.tet(cube, tet))
            })
        };
        for corner in kept_tets().flatten() {
            number[slot(corner)] = 0;
        }
        let mut positions = Vec::new();
        for (slot, number) in number.iter_mut().enumerate().filter(|(_, number)| **number == 0) {
            *number = positions.len() as u32;
            let (corner, center) = (slot / 2, slot % 2);
            let (rest, k) = (corner / corner_counts[2], corner % corner_counts[2]);
            let (i, j) = (rest / corner_counts[1], rest % corner_counts[1]);
            positions.push(self.grid.position([2 * i + center, 2 * j + center, 2 * k + center]));
        }
        let tets = kept_tets().map(|tet| tet.map(|corner| number[slot(corner)])).collect();
        let mut is_cut = Vec::new();
        for (kept, mark) in kept.iter().zip(marks) {
            let bits = (0..self.tets.len()).map(|tet| 1 << tet).filter(|bit| kept & bit != 0);
            is_cut.extend(bits.map(|bit| mark & bit != 0));
        }
        Filling { positions, tets, is_cut }
    }
}

/// Barycentric coordinates of the centers of eight equal parts of a tetrahedron, split in two along each edge.
pub(super) fn tet_samples() -> Vec<[f64; 4]> {
    let mut samples = Vec::with_capacity(8);
    for base in [[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]] {
        for tet in kuhn_tets() {
            // The simplex 2 ≥ x ≥ y ≥ z ≥ 0 is a union of Kuhn tetrahedra.
            let corners = tet.map(|offset| [0, 1, 2].map(|axis| base[axis] + offset[axis]));
            if corners.iter().all(|[x, y, z]| y <= x && z <= y) {
                let [x, y, z] = [0, 1, 2].map(|axis| corners.iter().map(|c| c[axis] as f64).sum::<f64>() / 8.0);
                samples.push([1.0 - x, x - y, y - z, z]);
            }
        }
    }
    samples
}

/// The four tetrahedra around the upper face of a cube along each axis, in half cubes: both cube centers and one edge.
fn bcc_tets() -> Vec<[[usize; 3]; 4]> {
    let mut tets = Vec::with_capacity(12);
    for axis in 0..3 {
        let (lower, mut upper) = ([1; 3], [1; 3]);
        upper[axis] += 2;
        let face = face_offsets(axis).map(|mut corner| {
            corner[axis] += 1;
            corner.map(|i| 2 * i)
        });
        for q in 0..4 {
            tets.push([lower, upper, face[q], face[(q + 1) % 4]]);
        }
    }
    tets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_inside_and_balanced() {
        let samples = tet_samples();
        assert_eq!(samples.len(), 8);
        assert!(samples.iter().all(|w| w.iter().all(|w| *w > 0.0)));
        for corner in 0..4 {
            let mean = samples.iter().map(|w| w[corner]).sum::<f64>() / 8.0;
            assert!((mean - 0.25).abs() < 1e-15);
        }
    }

    #[test]
    fn body_centered_tets_are_positive_and_equal() {
        for tet in bcc_tets() {
            let [a, b, c, d] = tet.map(|corner| Vec3::from(corner.map(|h| 0.5 * h as f64)));
            assert!((crate::mesh::tet_volume(a, b, c, d) - 1.0 / 12.0).abs() < 1e-15);
        }
    }
}
