//! Cubes over a bounding box: those that a triangle overlaps, and those inside a surface.

use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;

use crate::mesh::{Aabb, WindingNumber, overlap_depth};

/// A surface that overlaps a cell by less than this fraction of its size only touches it. So a surface along lattice
/// planes gets no second layer of cells outside.
const TOUCH: f64 = 1e-9;

/// Largest range of cubes tested one by one: subdividing it further would cost as much as it saves.
const SMALL_RANGE: usize = 8;

/// Whether the surface separates inside from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Enclosure {
    /// One test decides for all cubes connected without crossing the surface.
    Watertight,
    /// Each cube is tested separately.
    Leaky,
}

/// A regular grid of cubes; the last axis runs fastest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CubeGrid {
    pub origin: Vec3,
    pub cell: f64,
    pub cubes: [usize; 3],
}

impl CubeGrid {
    /// Number of cubes along each axis that cover a box of this size; whole numbers, but possibly too large for an
    /// index.
    pub fn counts(size: Vec3, cell: f64, padding: f64) -> [f64; 3] {
        [0, 1, 2].map(|axis| (size[axis] / cell - TOUCH).ceil().max(1.0) + 2.0 * padding)
    }

    /// The grid centered on a box; `None` if its extent is not finite. The counts must fit an index.
    pub fn centered(bounds: &Aabb, cell: f64, counts: [f64; 3]) -> Option<Self> {
        let extent = Vec3::from(counts) * cell;
        extent.is_finite().then(|| Self {
            origin: bounds.center() - extent * 0.5,
            cell,
            cubes: counts.map(|n| n as usize),
        })
    }

    pub fn cube_count(&self) -> usize {
        self.cubes.iter().product()
    }

    pub fn index(&self, [i, j, k]: [usize; 3]) -> usize {
        (i * self.cubes[1] + j) * self.cubes[2] + k
    }

    pub fn cube(&self, index: usize) -> [usize; 3] {
        let (rest, k) = (index / self.cubes[2], index % self.cubes[2]);
        [rest / self.cubes[1], rest % self.cubes[1], k]
    }

    /// The next cube along an axis.
    pub fn next(&self, mut cube: [usize; 3], axis: usize) -> Option<[usize; 3]> {
        cube[axis] += 1;
        (cube[axis] < self.cubes[axis]).then_some(cube)
    }

    /// A point given in half cubes.
    pub fn position(&self, half: [usize; 3]) -> Vec3 {
        self.origin + Vec3::from(half.map(|h| h as f64)) * (0.5 * self.cell)
    }

    /// Cube that contains the point, or the nearest one for points outside.
    pub fn cube_of(&self, p: Vec3) -> [usize; 3] {
        let place = |axis: usize| ((p[axis] - self.origin[axis]) / self.cell).floor().max(0.0) as usize;
        [0, 1, 2].map(|axis| place(axis).min(self.cubes[axis] - 1))
    }

    /// Lowest and highest cube that overlap the box.
    pub fn range(&self, bounds: &Aabb) -> ([usize; 3], [usize; 3]) {
        (self.cube_of(bounds.min), self.cube_of(bounds.max))
    }

    /// Box of a cube.
    pub fn bounds(&self, cube: [usize; 3]) -> Aabb {
        Aabb { min: self.position(cube.map(|i| 2 * i)), max: self.position(cube.map(|i| 2 * i + 2)) }
    }

    /// Largest overlap \[m\] that counts as touching a cube.
    pub fn touch(&self) -> f64 {
        TOUCH * self.cell
    }

    /// Penetration depth of a triangle into a cube \[m\]; negative outside. Depths below `-touch` are truncated.
    pub fn depth(&self, triangle: &[Vec3; 3], cube: [usize; 3]) -> f64 {
        self.depth_in(triangle, &self.bounds(cube))
    }

    fn depth_in(&self, triangle: &[Vec3; 3], bounds: &Aabb) -> f64 {
        let edges = [triangle[1] - triangle[0], triangle[2] - triangle[1], triangle[0] - triangle[2]];
        let normal = edges[0].cross(edges[1]);
        let axes = [Vec3::unit(0), Vec3::unit(1), Vec3::unit(2)];
        let ends = [bounds.min, bounds.max];
        let corners =
            [0, 1, 2, 3, 4, 5, 6, 7].map(|k: usize| Vec3::new(ends[k & 1].x, ends[k >> 1 & 1].y, ends[k >> 2].z));
        let products = axes.iter().flat_map(|a| edges.iter().map(|e| a.cross(*e)));
        let all = axes.into_iter().chain([normal]).chain(products);
        overlap_depth(triangle, &corners, all, -self.touch())
    }

    /// Calls `visit` with every cube that the triangle touches, and with some that it barely misses.
    pub fn for_each_near(&self, triangle: &[Vec3; 3], mut visit: impl FnMut([usize; 3])) {
        let (low, high) = self.range(&Aabb::from_points(triangle).grown(self.touch()));
        self.visit_near(triangle, low, high, &mut visit);
    }

    /// Halves the range of cubes until it is small or the triangle misses it: the cost of a large slanted triangle
    /// grows with its area, not with the volume of its box.
    fn visit_near(&self, triangle: &[Vec3; 3], low: [usize; 3], high: [usize; 3], visit: &mut impl FnMut([usize; 3])) {
        let counts = [0, 1, 2].map(|axis| high[axis] - low[axis] + 1);
        if counts.iter().product::<usize>() <= SMALL_RANGE {
            for i in low[0]..=high[0] {
                for j in low[1]..=high[1] {
                    for k in low[2]..=high[2] {
                        visit([i, j, k]);
                    }
                }
            }
            return;
        }
        let bounds = Aabb { min: self.bounds(low).min, max: self.bounds(high).max };
        if self.depth_in(triangle, &bounds) < -self.touch() {
            return;
        }
        let longest = (0..3).fold(0, |a, b| if counts[b] > counts[a] { b } else { a });
        let (mut below, mut above) = (high, low);
        below[longest] = low[longest] + counts[longest] / 2 - 1;
        above[longest] = below[longest] + 1;
        self.visit_near(triangle, low, below, visit);
        self.visit_near(triangle, above, high, visit);
    }

    /// For each cube that the surface does not touch, whether it is inside.
    pub fn inside(
        &self,
        is_wall: impl Fn(usize) -> bool + Sync,
        winding: &WindingNumber,
        enclosure: Enclosure,
    ) -> Vec<bool> {
        let count = self.cube_count();
        let center = |index: usize| self.position(self.cube(index).map(|i| 2 * i + 1));
        if enclosure == Enclosure::Leaky {
            return (0..count).into_par_iter().map(|i| !is_wall(i) && winding.is_inside(center(i))).collect();
        }
        let mut is_inside = vec![false; count];
        let mut is_visited = vec![false; count];
        let mut stack = Vec::new();
        for seed in 0..count {
            if is_visited[seed] || is_wall(seed) {
                continue;
            }
            let inside = winding.is_inside(center(seed));
            is_visited[seed] = true;
            stack.push(seed);
            while let Some(index) = stack.pop() {
                is_inside[index] = inside;
                let cube = self.cube(index);
                for axis in 0..3 {
                    for step in [-1_isize, 1] {
                        let Some(moved) = cube[axis].checked_add_signed(step).filter(|i| *i < self.cubes[axis]) else {
                            continue;
                        };
                        let mut neighbor = cube;
                        neighbor[axis] = moved;
                        let neighbor = self.index(neighbor);
                        if !is_visited[neighbor] && !is_wall(neighbor) {
                            is_visited[neighbor] = true;
                            stack.push(neighbor);
                        }
                    }
                }
            }
        }
        is_inside
    }
}
