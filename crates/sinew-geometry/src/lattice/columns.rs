//! Straight lines through the body along all three axes, and their crossings with its surface.
//!
//! [`LINES`]² lines per axis pass through each cube. A line starts outside, and every crossing changes its winding
//! number by one, so the parts of the line inside a closed surface are known exactly, however thin the flesh or the
//! gap. Lines that hit an edge or a vertex are shifted by an infinitesimal (ε, ε²) \[Edelsbrunner90\], so each crossing
//! counts once.

use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;

use crate::fill::{CubeGrid, Enclosure};
use crate::mesh::{Aabb, TriMesh, WindingNumber};
use crate::predicates::orient2d;

/// Lines of one direction per edge of a cube: four times as fine as the lattice, which resolves everything that matters
/// to a cell.
pub(super) const LINES: usize = 4;

/// A crossing of a line with the surface.
#[derive(Clone, Copy, Debug)]
struct Crossing {
    /// Column of cubes, and line in the column.
    column: u32,
    line: u8,
    /// Winding number beyond the crossing; before summation, its change there.
    winding: i32,
    triangle: u32,
    /// Coordinate along the line \[m\].
    at: f64,
}

/// A segment of a line in one cube, inside the body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// Coordinates along the line \[m\].
    pub from: f64,
    pub to: f64,
    /// Range of the triangles it meets, at its ends or between.
    pub triangles: (usize, usize),
}

/// The segments of one line in one cube, reused from line to line.
#[derive(Default)]
pub(super) struct Spans {
    pub spans: Vec<Span>,
    pub triangles: Vec<u32>,
    /// Ends of the segments: coordinate, and the triangle crossed there.
    cuts: Vec<(f64, Option<u32>)>,
}

/// The lines along one axis.
struct Direction {
    /// First crossing of each column of cubes, and the end.
    offsets: Vec<usize>,
    crossings: Vec<Crossing>,
}

/// All lines and their crossings.
pub(super) struct Columns<'a> {
    grid: &'a CubeGrid,
    winding: &'a WindingNumber,
    enclosure: Enclosure,
    directions: [Direction; 3],
}

/// The other two axes, in right-handed order.
fn others(axis: usize) -> (usize, usize) {
    ((axis + 1) % 3, (axis + 2) % 3)
}

/// Coordinate \[m\] along a transverse axis of a line, numbered over the whole lattice.
fn line_coordinate(grid: &CubeGrid, axis: usize, line: usize) -> f64 {
    grid.origin[axis] + grid.cell * ((line as f64 + 0.5) / LINES as f64)
}

/// Index of the column of cubes along an axis.
fn column_index(grid: &CubeGrid, axis: usize, cube: [usize; 3]) -> usize {
    let (u, v) = others(axis);
    cube[u] * grid.cubes[v] + cube[v]
}

/// Side of the directed edge from a to b on which p lies; zero only for edges without length.
fn side(a: [f64; 2], b: [f64; 2], p: [f64; 2]) -> i32 {
    let sign = |x: f64| i32::from(x > 0.0) - i32::from(x < 0.0);
    match sign(orient2d(a, b, p)) {
        // The derivatives of the determinant with respect to p, in the order of the infinitesimals.
        0 => match sign(a[1] - b[1]) {
            0 => sign(b[0] - a[0]),
            sign => sign,
        },
        sign => sign,
    }
}

impl Direction {
    fn new(grid: &CubeGrid, surface: &TriMesh, axis: usize) -> Self {
        let mut crossings: Vec<Crossing> = (0..surface.triangle_count())
            .into_par_iter()
            .by_block(|found: &mut Vec<Crossing>, triangle| {
                cross_triangle(grid, axis, triangle as u32, surface.corners(triangle), found);
            })
            .concat();
        // A total order, independent of the threads.
        crossings.par_sort_unstable_by(|a, b| {
            let key = |c: &Crossing| (c.column, c.line);
            key(a).cmp(&key(b)).then(a.at.total_cmp(&b.at)).then(a.triangle.cmp(&b.triangle))
        });
        for line in crossings.chunk_by_mut(|a, b| (a.column, a.line) == (b.column, b.line)) {
            let mut winding = 0;
            for crossing in line {
                winding += crossing.winding;
                crossing.winding = winding;
            }
        }
        let (u, v) = others(axis);
        let mut offsets = vec![0; grid.cubes[u] * grid.cubes[v] + 1];
        for crossing in &crossings {
            offsets[crossing.column as usize + 1] += 1;
        }
        for column in 1..offsets.len() {
            offsets[column] += offsets[column - 1];
        }
        Self { offsets, crossings }
    }

    /// The crossings of one line, in ascending order.
    fn line(&self, column: usize, line: usize) -> &[Crossing] {
        let column = &self.crossings[self.offsets[column]..self.offsets[column + 1]];
        let begin = column.partition_point(|crossing| usize::from(crossing.line) < line);
        let end = begin + column[begin..].partition_point(|crossing| usize::from(crossing.line) == line);
        &column[begin..end]
    }
}

/// Finds the lines along an axis that cross a triangle.
fn cross_triangle(grid: &CubeGrid, axis: usize, triangle: u32, corners: [Vec3; 3], found: &mut Vec<Crossing>) {
    let (u, v) = others(axis);
    let shadow = corners.map(|x| [x[u], x[v]]);
    let lines = |across: usize| {
        let at = |x: f64| (x - grid.origin[across]) / grid.cell * LINES as f64 - 0.5;
        let (low, high) = corners
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x[across]), high.max(x[across])));
        // One more on each side, since these bounds are rounded; the exact test decides.
        let last = LINES * grid.cubes[across] - 1;
        ((at(low).floor() - 1.0).max(0.0) as usize)..=((at(high).ceil() + 1.0).max(0.0) as usize).min(last)
    };
    for i in lines(u) {
        let x = line_coordinate(grid, u, i);
        for j in lines(v) {
            let p = [x, line_coordinate(grid, v, j)];
            let turn = side(shadow[0], shadow[1], p);
            if turn == 0 || side(shadow[1], shadow[2], p) != turn || side(shadow[2], shadow[0], p) != turn {
                continue;
            }
            // The weights are the areas opposite to the corners; a sliver may round beyond its corners.
            let area = |a: [f64; 2], b: [f64; 2]| (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]);
            let weights = [area(shadow[1], shadow[2]), area(shadow[2], shadow[0]), area(shadow[0], shadow[1])];
            let heights = corners.map(|x| x[axis]);
            let mean = (0..3).map(|k| weights[k] * heights[k]).sum::<f64>() / weights.iter().sum::<f64>();
            let (low, high) =
                heights.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), h| (a.min(*h), b.max(*h)));
            let at = if mean.is_nan() { 0.5 * (low + high) } else { mean.clamp(low, high) };
            found.push(Crossing {
                column: ((i / LINES) * grid.cubes[v] + j / LINES) as u32,
                line: ((i % LINES) * LINES + j % LINES) as u8,
                // If the normal points along the axis, the line leaves the body.
                winding: -turn,
                triangle,
                at,
            });
        }
    }
}

impl<'a> Columns<'a> {
    pub fn new(grid: &'a CubeGrid, surface: &TriMesh, winding: &'a WindingNumber, enclosure: Enclosure) -> Self {
        let directions = [0, 1, 2].map(|axis| Direction::new(grid, surface, axis));
        Self { grid, winding, enclosure, directions }
    }

    /// Whether a point is inside the body.
    pub fn is_inside(&self, p: Vec3) -> bool {
        self.winding.is_inside(p)
    }

    /// The intersection of lines of all three directions: one of [`LINES`]³ samples of a cube.
    pub fn sample(&self, cube: [usize; 3], sample: [usize; 3]) -> Vec3 {
        let at = |axis: usize| line_coordinate(self.grid, axis, cube[axis] * LINES + sample[axis]);
        Vec3::new(at(0), at(1), at(2))
    }

    /// The line along an axis through a sample, numbered within its column.
    pub fn line_through(axis: usize, sample: [usize; 3]) -> usize {
        let (u, v) = others(axis);
        sample[u] * LINES + sample[v]
    }

    /// The segments of a line in a cube that are inside and longer than the touch tolerance.
    pub fn inside(&self, cube: [usize; 3], axis: usize, line: usize, found: &mut Spans) {
        let Spans { spans, triangles, cuts } = found;
        spans.clear();
        triangles.clear();
        cuts.clear();
        let bounds: Aabb = self.grid.bounds(cube);
        let (low, high) = (bounds.min[axis], bounds.max[axis]);
        let crossings = self.directions[axis].line(column_index(self.grid, axis, cube), line);
        let begin = crossings.partition_point(|crossing| crossing.at < low);
        let end = begin + crossings[begin..].partition_point(|crossing| crossing.at <= high);
        cuts.push((low, None));
        cuts.extend(crossings[begin..end].iter().map(|crossing| (crossing.at, Some(crossing.triangle))));
        if self.enclosure == Enclosure::Leaky {
            // Flesh may end without a surface: consider each quarter of the line separately.
            cuts.extend((1..LINES).map(|k| (low + (high - low) * (k as f64 / LINES as f64), None)));
            cuts.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        }
        let mut winding = if begin > 0 { crossings[begin - 1].winding } else { 0 };
        let mut crossing = begin;
        let touch = self.grid.touch();
        let mut is_open = false;
        for piece in 0..cuts.len() {
            let (from, triangle) = cuts[piece];
            let to = cuts.get(piece + 1).map_or(high, |cut| cut.0);
            if triangle.is_some() {
                winding = crossings[crossing].winding;
                crossing += 1;
            }
            let is_inside = match self.enclosure {
                Enclosure::Watertight => winding != 0,
                Enclosure::Leaky => {
                    to - from > touch && self.winding.is_inside(self.middle(cube, axis, line, from, to))
                }
            };
            if is_inside && !is_open {
                spans.push(Span { from, to, triangles: (triangles.len(), triangles.len()) });
            }
            if let Some(span) = spans.last_mut().filter(|_| is_inside || is_open) {
                // The segment begins, continues or ends here: the triangle bounds its flesh or lies within.
                triangles.extend(triangle);
                span.triangles.1 = triangles.len();
                if is_inside {
                    span.to = to;
                }
            }
            is_open = is_inside;
        }
        spans.retain(|span| span.to - span.from > touch);
    }

    fn middle(&self, cube: [usize; 3], axis: usize, line: usize, from: f64, to: f64) -> Vec3 {
        let (u, v) = others(axis);
        let mut p = Vec3::zero();
        p[axis] = 0.5 * (from + to);
        p[u] = line_coordinate(self.grid, u, cube[u] * LINES + line / LINES);
        p[v] = line_coordinate(self.grid, v, cube[v] * LINES + line % LINES);
        p
    }
}
