//! The nearest point of a static surface: min |p − x| over all of it, or downhill from a starting triangle.

use sinew_math::Vec3;

use super::closest::point_triangle;
use crate::bvh::Bvh;
use crate::mesh::{Aabb, NodeCells};

/// A triangle surface at rest with a tree over its triangles.
#[derive(Clone, Debug)]
pub struct RestSurface {
    vertices: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
    bvh: Bvh,
    /// Triangles at each vertex.
    around: NodeCells,
}

impl RestSurface {
    /// Builds the tree.
    pub fn new(vertices: Vec<Vec3>, triangles: Vec<[u32; 3]>) -> Self {
        let corners = |triangle: &[u32; 3]| triangle.map(|v| vertices[v as usize]);
        let bvh = Bvh::new(triangles.iter().map(|triangle| Aabb::from_points(&corners(triangle))).collect());
        let around = NodeCells::new(vertices.len(), triangles.iter().map(<[u32; 3]>::as_slice));
        Self { vertices, triangles, bvh, around }
    }

    /// The triangle nearest to `p`, the barycentric coordinates of the nearest point on it, and its distance \[m\];
    /// `None` for a surface without triangles.
    pub fn nearest(&self, p: Vec3) -> Option<(u32, [f64; 3], f64)> {
        let (triangle, _) = self.bvh.nearest(p, |triangle| self.on_triangle(p, triangle).1)?;
        Some(self.answer(p, triangle))
    }

    /// The same over the triangles within `reach` \[m\] that satisfy `is_allowed`; `None` if there is none.
    pub fn nearest_where(&self, p: Vec3, reach: f64, is_allowed: impl Fn(u32) -> bool) -> Option<(u32, [f64; 3], f64)> {
        // Excluded triangles count as out of reach, so the search ends there.
        let farthest = reach * reach;
        let distance = |triangle| if is_allowed(triangle) { self.on_triangle(p, triangle).1 } else { farthest };
        let (triangle, distance) = self.bvh.nearest(p, |triangle| distance(triangle).min(farthest))?;
        (distance < farthest).then(|| self.answer(p, triangle))
    }

    /// The nearest point found by walking from triangle `from` over triangles that share a vertex, as long as one is
    /// closer.
    ///
    /// This is a local minimum of the distance: a contact stays on the side of a thin part where it began.
    pub fn nearest_near(&self, p: Vec3, from: u32) -> (u32, [f64; 3], f64) {
        let mut best = from;
        let mut best_distance = self.on_triangle(p, from).1;
        loop {
            let center = best;
            for vertex in self.triangles[center as usize] {
                for triangle in self.around.cells(vertex as usize) {
                    let distance = self.on_triangle(p, *triangle).1;
                    if distance < best_distance {
                        (best, best_distance) = (*triangle, distance);
                    }
                }
            }
            if best == center {
                return self.answer(p, best);
            }
        }
    }

    /// Barycentric coordinates of the point of a triangle nearest to `p`, and the squared distance \[m²\].
    fn on_triangle(&self, p: Vec3, triangle: u32) -> ([f64; 3], f64) {
        let [a, b, c] = self.triangles[triangle as usize].map(|v| self.vertices[v as usize]);
        let closest = point_triangle([p, a, b, c]);
        let [_, wa, wb, wc] = closest.weights;
        ([-wa, -wb, -wc], closest.distance_squared)
    }

    fn answer(&self, p: Vec3, triangle: u32) -> (u32, [f64; 3], f64) {
        let (weights, distance_squared) = self.on_triangle(p, triangle);
        (triangle, weights, distance_squared.sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::procedural::{icosphere, torus_surface};
    use crate::proximity::random::Random;

    #[test]
    fn nearest_equals_brute_force() {
        let torus = torus_surface(1.0, 0.4, 0.15).unwrap();
        let surface = RestSurface::new(torus.positions().to_vec(), torus.triangles().to_vec());
        let mut random = Random::new(11);
        for _ in 0..500 {
            let p = random.point() * 1.5;
            let (triangle, weights, distance) = surface.nearest(p).unwrap();
            let expected =
                (0..torus.triangle_count() as u32).map(|t| surface.on_triangle(p, t).1).fold(f64::MAX, f64::min);
            assert_eq!(distance, expected.sqrt());
            let corners = torus.corners(triangle as usize);
            let q: Vec3 = (0..3).map(|i| corners[i] * weights[i]).sum();
            assert!((p.distance(q) - distance).abs() < 1e-14);
        }
        assert!(RestSurface::new(vec![], vec![]).nearest(Vec3::zero()).is_none());
        let p = random.point();
        let (triangle, _, distance) = surface.nearest_where(p, 3.0, |triangle| triangle % 3 == 1).unwrap();
        let allowed = (0..torus.triangle_count() as u32).filter(|triangle| triangle % 3 == 1);
        let expected = allowed.map(|t| surface.on_triangle(p, t).1).fold(f64::MAX, f64::min);
        assert_eq!((triangle % 3, distance), (1, expected.sqrt()));
        assert!(surface.nearest_where(p, 3.0, |_| false).is_none());
        assert!(surface.nearest_where(p, 0.99 * distance, |triangle| triangle % 3 == 1).is_none());
    }

    /// Seen from outside, a sphere has one local minimum, where every walk ends.
    #[test]
    fn walk_on_a_sphere_ends_at_the_nearest_point() {
        let sphere = icosphere(1.0, 6).unwrap();
        let surface = RestSurface::new(sphere.positions().to_vec(), sphere.triangles().to_vec());
        let mut random = Random::new(12);
        for _ in 0..300 {
            let p = random.direction() * (1.0 + random.unit());
            let from = (random.bits() % sphere.triangle_count() as u64) as u32;
            let (_, _, walked) = surface.nearest_near(p, from);
            assert_eq!(walked, surface.nearest(p).unwrap().2);
        }
    }

    /// Two sheets: the nearest point is on the near one; the walk stays on its starting sheet.
    #[test]
    fn walk_stays_on_its_side() {
        let (mut vertices, mut triangles) = (Vec::new(), Vec::new());
        for z in [0.0, 0.1] {
            let first = vertices.len() as u32;
            for i in 0..10 {
                for j in 0..10 {
                    vertices.push(Vec3::new(f64::from(i), f64::from(j), z));
                }
            }
            for i in 0..9 {
                for j in 0..9 {
                    let a = first + 10 * i + j;
                    triangles.extend([[a, a + 10, a + 11], [a, a + 11, a + 1]]);
                }
            }
        }
        let surface = RestSurface::new(vertices, triangles);
        let p = Vec3::new(6.3, 5.2, 0.08);
        assert!((surface.nearest(p).unwrap().2 - 0.02).abs() < 1e-15);
        assert!((surface.nearest_near(p, 0).2 - 0.08).abs() < 1e-15);
        assert!((surface.nearest_near(p, 170).2 - 0.02).abs() < 1e-15);
    }
}
