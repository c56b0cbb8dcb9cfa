//! Self-intersections of a surface, and overlap depth of convex bodies.

use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;

use super::{Aabb, TriMesh};
use crate::bvh::Bvh;
use crate::predicates::{orient2d, orient2d_if_certain, orient3d, orient3d_if_certain};

/// Triangles examined between two checks of the limit: large enough to feed the threads, small enough to stop early.
const BATCH: usize = 4096;

/// The first `limit` pairs of intersecting triangles in lexicographic order.
pub(super) fn self_intersections(surface: &TriMesh, limit: usize) -> Vec<[u32; 2]> {
    let bvh = Bvh::new(surface.triangle_boxes());
    let triangles: Vec<u32> = (0..surface.triangle_count() as u32).collect();
    let mut pairs = Vec::new();
    // Small batches first: where everything intersects everything, each triangle takes time in proportion to their
    // number, and a single one may already reach the limit.
    let (mut rest, mut size) = (triangles.as_slice(), 1);
    while !rest.is_empty() && pairs.len() < limit {
        let (batch, later) = rest.split_at(size.min(rest.len()));
        (rest, size) = (later, (2 * size).min(BATCH));
        let found: Vec<Vec<[u32; 2]>> = batch
            .par_iter()
            .map(|first| {
                let mut partners = Vec::new();
                let corners = surface.corners(*first as usize);
                bvh.for_each_overlap(&Aabb::from_points(&corners), |second| {
                    let (s, t) = (surface.triangles()[*first as usize], surface.triangles()[second as usize]);
                    if second > *first && triangles_intersect(s, t, corners, surface.corners(second as usize)) {
                        partners.push([*first, second]);
                    }
                    true
                });
                partners.sort_unstable();
                partners.truncate(limit);
                partners
            })
            .collect();
        pairs.extend(found.into_iter().flatten());
    }
    pairs.truncate(limit);
    pairs
}

/// Whether two triangles of a surface meet in more than the vertices or the edge they share; exact.
///
/// `s` and `t` are the vertex indices of the triangles, `x` and `y` their positions.
pub(crate) fn triangles_intersect(s: [u32; 3], t: [u32; 3], x: [Vec3; 3], y: [Vec3; 3]) -> bool {
    let mut shared = [(0, 0); 3];
    let mut shared_count = 0;
    for i in 0..3 {
        if let Some(j) = (0..3).find(|j| t[*j] == s[i]) {
            shared[shared_count] = (i, j);
            shared_count += 1;
        }
    }
    match shared[..shared_count] {
        [] => {
            !are_apart(x, None, &y)
                && !are_apart(y, None, &x)
                && (0..3).any(|i| {
                    segment_meets_triangle(x[i], x[(i + 1) % 3], y) || segment_meets_triangle(y[i], y[(i + 1) % 3], x)
                })
        }
        // With a common corner, the intersection runs from there to the opposite edge of one of the two.
        [(i, j)] => {
            let ([a, b], [c, d]) = ([x[(i + 1) % 3], x[(i + 2) % 3]], [y[(j + 1) % 3], y[(j + 2) % 3]]);
            !are_apart(x, Some(i), &[c, d])
                && !are_apart(y, Some(j), &[a, b])
                && (segment_meets_triangle(a, b, y) || segment_meets_triangle(c, d, x))
        }
        [(i, j), (k, l)] => {
            let (p, q) = (x[i], x[k]);
            let (a, b) = (x[3 - i - k], y[3 - j - l]);
            // Folded: on one side of the edge, and in one plane. The first test is rarely true, the second is
            // expensive.
            let drop = dominant_axis(x);
            let shadow = |v: Vec3| project(v, drop);
            let is_one_side =
                orient2d(shadow(p), shadow(q), shadow(a)) * orient2d(shadow(p), shadow(q), shadow(b)) > 0.0;
            is_one_side && orient3d(p, q, a, b) == 0.0
        }
        _ => true,
    }
}

/// Whether two triangles clearly meet only in the corner they share.
///
/// A cheap proof for almost all pairs with overlapping boxes: the `others`, the corners of the other triangle that are
/// not shared, lie on one side of the plane, or beyond one edge (through the shared corner) in the projection of both.
/// Without the latter test, flat parts of a surface would need exact arithmetic.
fn are_apart(triangle: [Vec3; 3], shared_corner: Option<usize>, others: &[Vec3]) -> bool {
    let [a, b, c] = triangle;
    let side = |p: &Vec3| orient3d_if_certain(a, b, c, *p);
    if others.iter().all(|p| side(p) > 0.0) || others.iter().all(|p| side(p) < 0.0) {
        return true;
    }
    let drop = dominant_axis(triangle);
    let corners = triangle.map(|v| project(v, drop));
    let turn = orient2d_if_certain(corners[0], corners[1], corners[2]);
    (0..3).filter(|i| shared_corner != Some((i + 2) % 3)).any(|i| {
        let side = |p: &Vec3| orient2d_if_certain(corners[i], corners[(i + 1) % 3], project(*p, drop));
        others.iter().all(|p| side(p) * turn < 0.0)
    })
}

/// Whether the segment pq and the triangle share a point; exact, touching counts.
pub(crate) fn segment_meets_triangle(p: Vec3, q: Vec3, triangle: [Vec3; 3]) -> bool {
    let [a, b, c] = triangle;
    let (side_p, side_q) = (orient3d(a, b, c, p), orient3d(a, b, c, q));
    if (side_p > 0.0 && side_q > 0.0) || (side_p < 0.0 && side_q < 0.0) {
        return false;
    }
    if side_p == 0.0 && side_q == 0.0 {
        return coplanar_segment_meets_triangle(p, q, triangle);
    }
    // The line pq passes the three edges on the same side.
    let sides = [orient3d(p, q, a, b), orient3d(p, q, b, c), orient3d(p, q, c, a)];
    sides.iter().all(|s| *s >= 0.0) || sides.iter().all(|s| *s <= 0.0)
}

fn coplanar_segment_meets_triangle(p: Vec3, q: Vec3, triangle: [Vec3; 3]) -> bool {
    let drop = dominant_axis(triangle);
    let (p, q) = (project(p, drop), project(q, drop));
    let corners = triangle.map(|v| project(v, drop));
    let contains = |point: [f64; 2]| {
        let sides = [0, 1, 2].map(|i| orient2d(corners[i], corners[(i + 1) % 3], point));
        sides.iter().all(|s| *s >= 0.0) || sides.iter().all(|s| *s <= 0.0)
    };
    contains(p) || contains(q) || (0..3).any(|i| segments_meet(p, q, corners[i], corners[(i + 1) % 3]))
}

/// Whether two segments in the plane share a point.
fn segments_meet(p: [f64; 2], q: [f64; 2], a: [f64; 2], b: [f64; 2]) -> bool {
    let (a_side, b_side) = (orient2d(p, q, a), orient2d(p, q, b));
    let (p_side, q_side) = (orient2d(a, b, p), orient2d(a, b, q));
    if a_side == 0.0 && b_side == 0.0 {
        // On one line: compare their extents.
        return (0..2).all(|i| p[i].min(q[i]) <= a[i].max(b[i]) && a[i].min(b[i]) <= p[i].max(q[i]));
    }
    let is_split = |s: f64, t: f64| (s >= 0.0 && t <= 0.0) || (s <= 0.0 && t >= 0.0);
    is_split(a_side, b_side) && is_split(p_side, q_side)
}

/// The axis along which the projection of the triangle has the largest area.
fn dominant_axis(triangle: [Vec3; 3]) -> usize {
    let n = super::tri_mesh::triangle_normal(triangle).abs();
    if n.x >= n.y && n.x >= n.z {
        0
    } else if n.y >= n.z {
        1
    } else {
        2
    }
}

/// Drops one coordinate, without rounding.
fn project(v: Vec3, drop: usize) -> [f64; 2] {
    match drop {
        0 => [v.y, v.z],
        1 => [v.z, v.x],
        _ => [v.x, v.y],
    }
}

/// Smallest overlap \[m\] of the projections of two convex bodies onto the given axes; negative when one axis separates
/// them.
///
/// With all face normals and cross products of edges as axes this is the separating axis theorem: positive exactly when
/// the bodies overlap. Axes need not have unit length; zero axes (parallel edges) are skipped. Below `floor` the search
/// ends early.
pub(crate) fn overlap_depth(a: &[Vec3], b: &[Vec3], axes: impl Iterator<Item = Vec3>, floor: f64) -> f64 {
    let shadow = |points: &[Vec3], axis: Vec3| {
        points.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), p| {
            let s = p.dot(axis);
            (low.min(s), high.max(s))
        })
    };
    let mut depth = f64::INFINITY;
    for axis in axes {
        let length = axis.norm();
        if length == 0.0 {
            continue;
        }
        let (a_low, a_high) = shadow(a, axis);
        let (b_low, b_high) = shadow(b, axis);
        depth = depth.min((a_high - b_low).min(b_high - a_low) / length);
        if depth < floor {
            break;
        }
    }
    depth
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::procedural::{icosphere, torus_surface};

    fn pair(a: [[f64; 3]; 3], b: [[f64; 3]; 3]) -> TriMesh {
        let positions = a.iter().chain(&b).map(|p| Vec3::from(*p)).collect();
        TriMesh::new(positions, vec![[0, 1, 2], [3, 4, 5]]).unwrap()
    }

    #[test]
    fn piercing_touching_and_separate_triangles_are_told_apart() {
        let flat = [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 2.0, 0.0]];
        let piercing = pair(flat, [[0.5, 0.5, -1.0], [0.5, 0.5, 1.0], [5.0, 5.0, 0.0]]);
        assert_eq!(piercing.self_intersections(10), [[0, 1]]);
        let touching = pair(flat, [[0.5, 0.5, 0.0], [0.5, 0.5, 1.0], [5.0, 5.0, 1.0]]);
        assert_eq!(touching.self_intersections(10), [[0, 1]]);
        let above = pair(flat, [[0.5, 0.5, 1e-300], [0.5, 0.5, 1.0], [5.0, 5.0, 1.0]]);
        assert!(above.self_intersections(10).is_empty());
        let coplanar = pair(flat, [[0.1, 0.1, 0.0], [0.2, 0.1, 0.0], [0.1, 0.2, 0.0]]);
        assert_eq!(coplanar.self_intersections(10), [[0, 1]]);
        let beside = pair(flat, [[1.5, 1.5, 0.0], [3.0, 1.5, 0.0], [1.5, 3.0, 0.0]]);
        assert!(beside.self_intersections(10).is_empty());
    }

    #[test]
    fn neighbors_intersect_only_when_folded() {
        let points = |last: [f64; 3]| {
            [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], last].iter().map(|p| Vec3::from(*p)).collect()
        };
        let hinge = |last| TriMesh::new(points(last), vec![[0, 1, 2], [1, 0, 3]]).unwrap().self_intersections(1);
        assert!(hinge([0.5, -1.0, 0.0]).is_empty());
        assert!(hinge([0.5, 0.5, 0.1]).is_empty());
        assert_eq!(hinge([0.5, 0.5, 0.0]), [[0, 1]]);
        // Only corner 0 is shared: the second triangle passes through the first.
        let corner = |z: f64| {
            let mut x: Vec<Vec3> = points([0.5, 0.2, z]);
            x.push(Vec3::new(0.5, 0.2, 1.0));
            TriMesh::new(x, vec![[0, 1, 2], [0, 3, 4]]).unwrap().self_intersections(1)
        };
        assert!(corner(0.5).is_empty());
        assert_eq!(corner(-0.5), [[0, 1]]);
    }

    #[test]
    fn clean_surfaces_have_no_intersections_and_crossing_spheres_have() {
        let sphere = icosphere(1.0, 6).unwrap();
        assert!(sphere.self_intersections(10).is_empty());
        assert!(torus_surface(1.0, 0.4, 0.15).unwrap().self_intersections(10).is_empty());

        let mut positions = sphere.positions().to_vec();
        positions.extend(sphere.positions().iter().map(|x| *x + Vec3::new(1.0, 0.1, 0.0)));
        let n = sphere.vertex_count() as u32;
        let mut triangles = sphere.triangles().to_vec();
        triangles.extend(sphere.triangles().iter().map(|t| t.map(|v| v + n)));
        let crossing = TriMesh::new(positions, triangles).unwrap();
        let pairs = crossing.self_intersections(usize::MAX);
        // Two unit spheres at a distance of 1 meet along a circle of radius √3/2.
        assert!(pairs.len() > 20);
        assert!(
            pairs
                .iter()
                .all(|[a, b]| (*a as usize) < sphere.triangle_count() && *b as usize >= sphere.triangle_count())
        );
        assert_eq!(crossing.self_intersections(3), pairs[..3]);
    }

    /// A tetrahedron whose faces are there 20,000 times: each copy intersects all others, and the first one alone
    /// reaches any usual limit. All pairs are 8 · 10⁸, which would take minutes.
    #[test]
    fn copies_beyond_number_are_found_at_once() {
        let corners = [Vec3::zero(), Vec3::unit(0), Vec3::unit(1), Vec3::unit(2)].to_vec();
        let triangles = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]].repeat(20_000);
        let surface = TriMesh::new(corners, triangles).unwrap();
        let start = std::time::Instant::now();
        let pairs = surface.self_intersections(1000);
        assert_eq!((pairs.len(), pairs[0], pairs[999]), (1000, [0, 4], [0, 4000]));
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    }

    #[test]
    fn overlap_depth_of_cubes_is_their_penetration() {
        let cube = |x: f64| -> Vec<Vec3> {
            (0..8).map(|i| Vec3::new(x + f64::from(i & 1), f64::from(i >> 1 & 1), f64::from(i >> 2))).collect()
        };
        let axes = || (0..3).map(Vec3::unit);
        assert!((overlap_depth(&cube(0.0), &cube(0.75), axes(), 0.0) - 0.25).abs() < 1e-15);
        assert!((overlap_depth(&cube(0.0), &cube(1.5), axes(), -9.0) + 0.5).abs() < 1e-15);
    }
}
