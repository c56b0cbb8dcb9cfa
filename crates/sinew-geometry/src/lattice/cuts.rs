//! The cubes that the surface cuts, and the patches of the surface in each.

use std::sync::atomic::{AtomicBool, Ordering};

use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;

use crate::fill::CubeGrid;
use crate::mesh::{Aabb, TriMesh, find_root};

/// The triangles in each cube that the surface cuts.
pub(super) struct Cuts {
    /// The cut cubes by their index in the grid, sorted.
    pub cubes: Vec<u32>,
    /// Start of the triangles of each cut cube in `triangles`, and the end.
    pub offsets: Vec<usize>,
    /// Triangles of the cubes one after another, sorted within each.
    pub triangles: Vec<u32>,
    /// For each cube of the grid, whether the surface cuts or touches it.
    pub is_wall: Vec<bool>,
}

impl Cuts {
    pub fn new(grid: &CubeGrid, surface: &TriMesh) -> Self {
        let is_wall: Vec<AtomicBool> = (0..grid.cube_count()).map(|_| AtomicBool::new(false)).collect();
        let touch = grid.touch();
        let mut pairs: Vec<(u32, u32)> = (0..surface.triangle_count())
            .into_par_iter()
            .by_block(|pairs: &mut Vec<(u32, u32)>, triangle| {
                let corners = surface.corners(triangle);
                grid.for_each_near(&corners, |cube| {
                    let depth = grid.depth(&corners, cube);
                    if depth >= -touch {
                        // Setting flags commutes, so the result does not depend on thread order.
                        is_wall[grid.index(cube)].store(true, Ordering::Relaxed);
                    }
                    if depth > touch {
                        pairs.push((grid.index(cube) as u32, triangle as u32));
                    }
                });
            })
            .concat();
        pairs.par_sort_unstable();
        let mut cubes = Vec::new();
        let mut offsets = vec![0];
        for cube in pairs.chunk_by(|a, b| a.0 == b.0) {
            cubes.push(cube[0].0);
            offsets.push(offsets[offsets.len() - 1] + cube.len());
        }
        let triangles = pairs.into_iter().map(|(_, triangle)| triangle).collect();
        Self { cubes, offsets, triangles, is_wall: is_wall.into_iter().map(AtomicBool::into_inner).collect() }
    }

    /// Triangles of the n-th cut cube.
    pub fn triangles(&self, cut: usize) -> &[u32] {
        &self.triangles[self.offsets[cut]..self.offsets[cut + 1]]
    }

    /// Index of a cube among the cut cubes.
    pub fn cut_of(&self, cube: usize) -> Option<usize> {
        self.cubes.binary_search(&(cube as u32)).ok()
    }
}

/// For each triangle in a box, the first triangle of its patch: triangles are connected through edges that pass through
/// the box.
///
/// Exact except for edges that run within the touch tolerance along the boundary of the box.
pub(super) fn patches(surface: &TriMesh, triangles: &[u32], bounds: &Aabb, touch: f64) -> Vec<u32> {
    let mut parent: Vec<u32> = (0..triangles.len() as u32).collect();
    let mut edges: Vec<([u32; 2], u32)> = Vec::with_capacity(3 * triangles.len());
    for (local, triangle) in triangles.iter().enumerate() {
        let nodes = surface.triangles()[*triangle as usize];
        for k in 0..3 {
            let (a, b) = (nodes[k], nodes[(k + 1) % 3]);
            edges.push(([a.min(b), a.max(b)], local as u32));
        }
    }
    edges.sort_unstable();
    let inner = bounds.grown(-touch);
    for pair in edges.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
        let [a, b] = pair[0].0.map(|vertex| surface.positions()[vertex as usize]);
        if clipped_segment(a, b, &inner).is_some() {
            let roots = (find_root(&mut parent, pair[0].1), find_root(&mut parent, pair[1].1));
            parent[roots.0.max(roots.1) as usize] = roots.0.min(roots.1);
        }
    }
    (0..triangles.len() as u32).map(|local| find_root(&mut parent, local)).collect()
}

/// The part of a segment in a box as parameters in \[0, 1\]; `None` when it misses the box.
fn clipped_segment(a: Vec3, b: Vec3, bounds: &Aabb) -> Option<(f64, f64)> {
    let (mut from, mut to) = (0.0_f64, 1.0_f64);
    for axis in 0..3 {
        let (start, step) = (a[axis], b[axis] - a[axis]);
        if step == 0.0 {
            if start < bounds.min[axis] || start > bounds.max[axis] {
                return None;
            }
            continue;
        }
        let (s, t) = ((bounds.min[axis] - start) / step, (bounds.max[axis] - start) / step);
        from = from.max(s.min(t));
        to = to.min(s.max(t));
    }
    (from <= to).then_some((from, to))
}

/// Centroid of the part of a triangle that lies in a box; `None` when it is negligible.
pub(super) fn middle_in_box(triangle: [Vec3; 3], bounds: &Aabb) -> Option<Vec3> {
    let mut polygon = triangle.to_vec();
    for axis in 0..3 {
        for (limit, sense) in [(bounds.min[axis], 1.0), (bounds.max[axis], -1.0)] {
            // Sutherland–Hodgman: keep the inner side and clip the edges that leave it.
            let height = |p: &Vec3| (p[axis] - limit) * sense;
            let mut kept = Vec::with_capacity(polygon.len() + 1);
            for (k, p) in polygon.iter().enumerate() {
                let q = &polygon[(k + 1) % polygon.len()];
                let (h, g) = (height(p), height(q));
                if h >= 0.0 {
                    kept.push(*p);
                }
                if (h > 0.0 && g < 0.0) || (h < 0.0 && g > 0.0) {
                    kept.push(p.lerp(*q, h / (h - g)));
                }
            }
            polygon = kept;
        }
    }
    (polygon.len() >= 3).then(|| polygon.iter().copied().sum::<Vec3>() / polygon.len() as f64)
}

/// Whether a triangle passes through the upper face of a box along an axis, by more than the touch tolerance.
pub(super) fn passes_face(triangle: [Vec3; 3], bounds: &Aabb, axis: usize, touch: f64) -> bool {
    let plane = bounds.max[axis];
    let mut ends = [Vec3::zero(); 2];
    let mut count = 0;
    for k in 0..3 {
        let (p, q) = (triangle[k], triangle[(k + 1) % 3]);
        // Half-open, so that a corner on the plane counts with one of its edges.
        if (p[axis] < plane) != (q[axis] < plane) {
            ends[count.min(1)] = p.lerp(q, (plane - p[axis]) / (q[axis] - p[axis]));
            count += 1;
        }
    }
    count == 2 && crosses_face(ends, bounds, axis, touch)
}

/// The edges of a triangle that lie in the upper face of a box along an axis: triangles that meet there do not pass
/// through it.
pub(super) fn edges_in_face(
    surface: &TriMesh,
    triangle: u32,
    bounds: &Aabb,
    axis: usize,
    touch: f64,
) -> impl Iterator<Item = [u32; 2]> {
    let nodes = surface.triangles()[triangle as usize];
    [[nodes[0], nodes[1]], [nodes[1], nodes[2]], [nodes[2], nodes[0]]].into_iter().filter(move |edge| {
        let ends = edge.map(|vertex| surface.positions()[vertex as usize]);
        ends.iter().all(|x| (x[axis] - bounds.max[axis]).abs() <= 2.0 * touch)
            && crosses_face(ends, bounds, axis, touch)
    })
}

/// Whether a segment in the plane of a face overlaps the face by more than the touch tolerance.
fn crosses_face(ends: [Vec3; 2], bounds: &Aabb, axis: usize, touch: f64) -> bool {
    let mut face = bounds.grown(-touch);
    // The ends are on the plane up to rounding, which must not matter.
    (face.min[axis], face.max[axis]) = (f64::NEG_INFINITY, f64::INFINITY);
    let length = ends[0].distance(ends[1]);
    clipped_segment(ends[0], ends[1], &face).is_some_and(|(from, to)| (to - from) * length > touch)
}
