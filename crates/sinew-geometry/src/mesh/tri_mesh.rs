//! Triangle surfaces.

use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;

use super::Aabb;
use super::adjacency::Components;
use super::check::{MAX_ENTRIES, MeshError, check_nodes, check_positions};
use super::intersection::self_intersections;
use super::nearest::NearestPlaces;
use super::tri_topology::SurfaceTopology;
use super::winding::WindingNumber;

/// A triangle surface: positions and triangles, counterclockwise seen from outside.
///
/// Checked on construction: finite positions, existing and distinct vertices. The user of the surface checks whether it
/// is closed, consistently oriented and free of self-intersections, since many scans are not.
#[derive(Clone, Debug, PartialEq)]
pub struct TriMesh {
    positions: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
}

impl TriMesh {
    /// Checks the arrays.
    pub fn new(positions: Vec<Vec3>, triangles: Vec<[u32; 3]>) -> Result<Self, MeshError> {
        if triangles.is_empty() {
            return Err(MeshError::Empty);
        }
        if triangles.len() > MAX_ENTRIES / 3 {
            return Err(MeshError::TooLarge { what: "triangles", entries: triangles.len(), limit: MAX_ENTRIES / 3 });
        }
        check_positions(&positions)?;
        for (triangle, nodes) in triangles.iter().enumerate() {
            check_nodes(triangle, nodes, positions.len())?;
        }
        Ok(Self { positions, triangles })
    }

    /// Vertex positions \[m\].
    pub fn positions(&self) -> &[Vec3] {
        &self.positions
    }

    /// Vertices of the triangles.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// Number of vertices.
    pub fn vertex_count(&self) -> usize {
        self.positions.len()
    }

    /// Number of triangles.
    pub fn triangle_count(&self) -> usize {
        self.triangles.len()
    }

    /// Corner positions of a triangle.
    #[inline]
    pub fn corners(&self, triangle: usize) -> [Vec3; 3] {
        self.triangles[triangle].map(|vertex| self.positions[vertex as usize])
    }

    /// The same triangles with every vertex moved by `f`.
    pub fn mapped(&self, f: impl Fn(Vec3) -> Vec3) -> Result<Self, MeshError> {
        Self::new(self.positions.iter().map(|x| f(*x)).collect(), self.triangles.clone())
    }

    /// The same surface with inside and outside exchanged.
    #[must_use]
    pub fn flipped(mut self) -> Self {
        for triangle in &mut self.triangles {
            triangle.swap(1, 2);
        }
        self
    }

    /// The surface with vertices at exactly equal positions merged, and the number of vertices removed. Collapsed
    /// triangles are dropped. Needed for files that store a vertex once per face or per texture corner.
    pub fn welded(&self) -> Result<(Self, usize), MeshError> {
        let (positions, new_of) = self.weld();
        let mut triangles: Vec<[u32; 3]> = self.triangles.iter().map(|t| t.map(|v| new_of[v as usize])).collect();
        triangles.retain(|t| t[0] != t[1] && t[1] != t[2] && t[2] != t[0]);
        let welded = self.vertex_count() - positions.len();
        Ok((Self::new(positions, triangles)?, welded))
    }

    /// The distinct positions in order of first appearance, and for each vertex the index of its position.
    pub(crate) fn weld(&self) -> (Vec<Vec3>, Vec<u32>) {
        let mut order: Vec<u32> = (0..self.vertex_count() as u32).collect();
        // Adding zero turns −0 into +0, so that they weld.
        let key = |v: u32| self.positions[v as usize].map(|c| c + 0.0).to_array();
        order.sort_unstable_by(|a, b| {
            let (p, q) = (key(*a), key(*b));
            p[0].total_cmp(&q[0]).then(p[1].total_cmp(&q[1])).then(p[2].total_cmp(&q[2])).then(a.cmp(b))
        });
        let mut first_of = vec![0; self.vertex_count()];
        for group in order.chunk_by(|a, b| key(*a) == key(*b)) {
            for vertex in group {
                first_of[*vertex as usize] = group[0];
            }
        }
        let mut new_of = vec![u32::MAX; self.vertex_count()];
        let mut positions = Vec::new();
        for vertex in 0..self.vertex_count() {
            let first = first_of[vertex] as usize;
            // The first of a group precedes the others, so its number is already known.
            if first == vertex {
                new_of[vertex] = positions.len() as u32;
                positions.push(self.positions[vertex]);
            }
            new_of[vertex] = new_of[first];
        }
        (positions, new_of)
    }

    /// Edges, holes, orientation and Euler characteristic.
    pub fn topology(&self) -> SurfaceTopology {
        SurfaceTopology::new(self)
    }

    /// Whether the surface bounds a volume: every edge has two triangles that traverse it in opposite directions.
    pub fn is_closed(&self) -> bool {
        self.topology().is_closed()
    }

    /// Edges with only one triangle, as directed in that triangle.
    pub fn boundary_edges(&self) -> Vec<[u32; 2]> {
        self.topology().boundary_edges
    }

    /// Pairs of triangles that intersect or overlap, at most `limit`, sorted.
    ///
    /// Signs are exact. Triangles that share a vertex intersect when they also meet elsewhere; triangles that share an
    /// edge intersect when one is folded onto the other.
    pub fn self_intersections(&self, limit: usize) -> Vec<[u32; 2]> {
        self_intersections(self, limit)
    }

    /// Connected components, which share no vertex.
    pub fn components(&self) -> Components {
        Components::new(self.vertex_count(), self.triangles.iter().map(<[u32; 3]>::as_slice))
    }

    /// Enclosed volume \[m³\] by the divergence theorem, V = ⅙ Σ a · (b × c); meaningful for closed surfaces, negative
    /// when the normals point inward.
    pub fn volume(&self) -> f64 {
        // Relative to the center of the surface: far from the origin the terms would cancel.
        let origin = self.bounds().center();
        let mut volume = 0.0;
        for triangle in 0..self.triangle_count() {
            let [a, b, c] = self.corners(triangle).map(|x| x - origin);
            volume += a.dot(b.cross(c));
        }
        volume / 6.0
    }

    /// Area \[m²\].
    pub fn area(&self) -> f64 {
        (0..self.triangle_count()).map(|t| 0.5 * triangle_normal(self.corners(t)).norm()).sum()
    }

    /// Unit vertex normals of the surface with its vertices moved to `positions` \[m\].
    pub fn normals(&self, positions: &[Vec3]) -> Vec<Vec3> {
        vertex_normals(positions, &self.triangles)
    }

    /// Bounding box of the vertices used by triangles.
    pub fn bounds(&self) -> Aabb {
        Aabb::from_points(self.triangles.as_flattened().iter().map(|vertex| &self.positions[*vertex as usize]))
    }

    /// Centers and areas \[m²\] of the pieces of triangles subdivided until no edge is longer than `spacing`.
    pub fn samples(&self, spacing: f64) -> Vec<(Vec3, f64)> {
        let mut samples = Vec::new();
        for triangle in 0..self.triangle_count() {
            let [a, b, c] = self.corners(triangle);
            let longest = (b - a).norm().max((c - b).norm()).max((a - c).norm());
            let parts = (longest / spacing).ceil().max(1.0);
            let area = 0.5 * (b - a).cross(c - a).norm() / (parts * parts);
            let at = |u: f64, v: f64| a + (b - a) * (u / parts) + (c - a) * (v / parts);
            for i in 0..parts as usize {
                for j in 0..parts as usize - i {
                    let (u, v) = (i as f64, j as f64);
                    samples.push((at(u + 1.0 / 3.0, v + 1.0 / 3.0), area));
                    if i + j + 1 < parts as usize {
                        samples.push((at(u + 2.0 / 3.0, v + 2.0 / 3.0), area));
                    }
                }
            }
        }
        samples
    }

    /// Depths of points below a closed surface \[m\]; negative outside.
    pub fn depths(&self, points: &[Vec3]) -> Vec<f64> {
        let (places, winding) = (NearestPlaces::new(self), self.winding_numbers());
        let depth = |p: &Vec3| {
            let distance = places.to(*p).map_or(f64::INFINITY, |place| place.position.distance(*p));
            if winding.is_inside(*p) { distance } else { -distance }
        };
        points.iter().map(depth).collect()
    }

    /// Winding number of the surface about `p`; see [`WindingNumber`] for many points at once.
    pub fn winding_number(&self, p: Vec3) -> f64 {
        super::winding::exact_winding_number(self, p)
    }

    /// Prepares the surface for many winding-number queries.
    pub fn winding_numbers(&self) -> WindingNumber {
        WindingNumber::new(self)
    }

    /// The first of all triangles with the same vertices, in their order, and how many face as it does, less those that
    /// face the other way.
    pub(crate) fn distinct_triangles(&self) -> Vec<(u32, i32)> {
        let sorted = |triangle: &[u32; 3]| {
            let mut vertices = *triangle;
            vertices.sort_unstable();
            vertices
        };
        let mut order: Vec<([u32; 3], u32)> = self.triangles.iter().map(sorted).zip(0..).collect();
        order.par_sort_unstable();
        // Two orders of three vertices face alike if one is the other turned on.
        let faces_as =
            |a: [u32; 3], b: [u32; 3]| [[b[0], b[1], b[2]], [b[1], b[2], b[0]], [b[2], b[0], b[1]]].contains(&a);
        let mut distinct: Vec<(u32, i32)> = order
            .chunk_by(|a, b| a.0 == b.0)
            .map(|copies| {
                let first = self.triangles[copies[0].1 as usize];
                let sign =
                    |copy: &([u32; 3], u32)| if faces_as(self.triangles[copy.1 as usize], first) { 1 } else { -1 };
                (copies[0].1, copies.iter().map(sign).sum())
            })
            .collect();
        distinct.par_sort_unstable();
        distinct
    }

    /// Whether all triangles lie in one plane, to a billionth of the size.
    pub(crate) fn is_flat(&self) -> bool {
        let used = || self.triangles.as_flattened().iter().map(|&vertex| self.positions[vertex as usize]);
        let farthest = |distance: &dyn Fn(Vec3) -> f64| {
            used().map(|x| (x, distance(x))).fold((Vec3::zero(), 0.0), |most, x| if x.1 > most.1 { x } else { most })
        };
        let Some(a) = used().next() else { return true };
        let (b, length) = farthest(&|x| x.distance(a));
        let along = (b - a) * length.recip();
        let (c, width) = farthest(&|x| (x - a).cross(along).norm());
        let normal = along.cross(c - a) * width.recip();
        let (_, height) = farthest(&|x| (x - a).dot(normal).abs());
        const FLAT: f64 = 1e-9;
        !(width > FLAT * length && height > FLAT * length)
    }

    /// Boxes of the triangles.
    pub(crate) fn triangle_boxes(&self) -> Vec<Aabb> {
        (0..self.triangle_count()).map(|t| Aabb::from_points(&self.corners(t))).collect()
    }
}

/// Normal of a triangle, with twice its area as length.
#[inline]
pub(crate) fn triangle_normal([a, b, c]: [Vec3; 3]) -> Vec3 {
    (b - a).cross(c - a)
}

/// Unit vertex normals: the mean of the triangle normals weighted by the angle at the vertex, which does not depend on
/// the triangulation of flat parts \[Thurmer98\]. Vertices without area get zero.
pub fn vertex_normals(positions: &[Vec3], triangles: &[[u32; 3]]) -> Vec<Vec3> {
    let mut normals = vec![Vec3::zero(); positions.len()];
    for triangle in triangles {
        let x = triangle.map(|vertex| positions[vertex as usize]);
        let normal = triangle_normal(x);
        let length = normal.norm();
        if length == 0.0 {
            continue;
        }
        for corner in 0..3 {
            let (u, v) = (x[(corner + 1) % 3] - x[corner], x[(corner + 2) % 3] - x[corner]);
            let angle = length.atan2(u.dot(v));
            normals[triangle[corner] as usize] += normal * (angle / length);
        }
    }
    for normal in &mut normals {
        let length = normal.norm();
        if length > 0.0 {
            *normal /= length;
        }
    }
    normals
}

/// Closest point to `p` on the triangle `abc`, as barycentric coordinates \[Ericson05, 5.1.5\].
pub fn closest_on_triangle(p: Vec3, [a, b, c]: [Vec3; 3]) -> [f64; 3] {
    let (ab, ac, ap) = (b - a, c - a, p - a);
    let (d1, d2) = (ab.dot(ap), ac.dot(ap));
    if d1 <= 0.0 && d2 <= 0.0 {
        return [1.0, 0.0, 0.0];
    }
    let bp = p - b;
    let (d3, d4) = (ab.dot(bp), ac.dot(bp));
    if d3 >= 0.0 && d4 <= d3 {
        return [0.0, 1.0, 0.0];
    }
    let vc = d1 * d4 - d3 * d2;
    if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 && d1 > d3 {
        let t = d1 / (d1 - d3);
        return [1.0 - t, t, 0.0];
    }
    let cp = p - c;
    let (d5, d6) = (ab.dot(cp), ac.dot(cp));
    if d6 >= 0.0 && d5 <= d6 {
        return [0.0, 0.0, 1.0];
    }
    let vb = d5 * d2 - d1 * d6;
    if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 && d2 > d6 {
        let t = d2 / (d2 - d6);
        return [1.0 - t, 0.0, t];
    }
    let va = d3 * d6 - d5 * d4;
    if va <= 0.0 && d4 >= d3 && d5 >= d6 && (d4 - d3) + (d5 - d6) > 0.0 {
        let t = (d4 - d3) / ((d4 - d3) + (d5 - d6));
        return [0.0, 1.0 - t, t];
    }
    let sum = va + vb + vc;
    if sum <= 0.0 {
        // A degenerate triangle whose edges were all rejected by rounding.
        return [1.0, 0.0, 0.0];
    }
    [1.0 - (vb + vc) / sum, vb / sum, vc / sum]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::procedural::icosphere;

    #[test]
    fn bad_surfaces_are_rejected() {
        let points = vec![Vec3::zero(), Vec3::unit(0), Vec3::unit(1)];
        assert_eq!(TriMesh::new(points.clone(), vec![]).unwrap_err(), MeshError::Empty);
        assert_eq!(
            TriMesh::new(points.clone(), vec![[0, 1, 1]]).unwrap_err(),
            MeshError::RepeatedNode { cell: 0, node: 1 }
        );
        assert!(TriMesh::new(points, vec![[0, 1, 3]]).is_err());
    }

    /// A sphere's vertex normals are its radii, up to the irregularity of the triangles around a vertex.
    #[test]
    fn normals_of_a_sphere_are_radial() {
        let sphere = icosphere(2.0, 8).unwrap();
        for (normal, x) in sphere.normals(sphere.positions()).iter().zip(sphere.positions()) {
            assert!((*normal - *x * 0.5).norm() < 0.01);
        }
    }

    #[test]
    fn welding_closes_a_soup_of_triangles() {
        let sphere = icosphere(1.0, 2).unwrap();
        let soup: Vec<Vec3> = (0..sphere.triangle_count()).flat_map(|t| sphere.corners(t)).collect();
        let triangles = (0..sphere.triangle_count() as u32).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect();
        let soup = TriMesh::new(soup, triangles).unwrap();
        assert!(!soup.is_closed());
        let (welded, count) = soup.welded().unwrap();
        assert!(welded.is_closed());
        assert_eq!(count, 3 * sphere.triangle_count() - sphere.vertex_count());
    }

    /// The closest point minimizes the distance: no point of a fine sampling of the triangle is closer.
    #[test]
    fn closest_point_beats_sampling() {
        let triangle = [Vec3::new(0.1, 0.0, 0.2), Vec3::new(1.0, 0.3, 0.0), Vec3::new(0.2, 1.1, -0.4)];
        let at = |w: [f64; 3]| triangle[0] * w[0] + triangle[1] * w[1] + triangle[2] * w[2];
        for i in 0..200 {
            let t = f64::from(i);
            let p = Vec3::new((t * 0.618).fract(), (t * 0.755).fract(), (t * 0.57).fract()) * 4.0 - Vec3::splat(2.0);
            let distance = p.distance(at(closest_on_triangle(p, triangle)));
            for j in 0..=20 {
                for k in 0..=20 - j {
                    let (u, v) = (f64::from(j) / 20.0, f64::from(k) / 20.0);
                    assert!(distance <= p.distance(at([1.0 - u - v, u, v])) + 1e-12);
                }
            }
        }
    }

    /// Areas add up, and no point of the surface is farther from a sample than two thirds of the height of a piece.
    #[test]
    fn samples_cover_the_surface() {
        let ball = icosphere(1.0, 3).unwrap();
        for spacing in [10.0, 0.2] {
            let samples = ball.samples(spacing);
            let area: f64 = samples.iter().map(|sample| sample.1).sum();
            assert!((area / ball.area() - 1.0).abs() < 1e-12);
            let nearest = |x: &Vec3| samples.iter().map(|sample| sample.0.distance(*x)).fold(f64::INFINITY, f64::min);
            let worst = ball.positions().iter().map(nearest).fold(0.0, f64::max);
            assert!(worst < 0.6 * spacing.min(0.6), "{spacing}: {worst}");
        }
    }

    #[test]
    fn depths_are_distances_below_the_surface() {
        let ball = icosphere(1.0, 40).unwrap();
        let places: Vec<Vec3> = [0.0, 0.3, 0.9, 1.2, 3.0].iter().map(|r| Vec3::new(0.6, 0.0, 0.8) * *r).collect();
        for (place, depth) in places.iter().zip(ball.depths(&places)) {
            // Facets lie inside the ball by 2e-4.
            assert!((depth - (1.0 - place.norm())).abs() < 5e-4, "{place:?}: {depth}");
        }
    }
}
