//! Winding numbers: how often a surface wraps around a point.
//!
//! ```math
//! w(p) = \frac{1}{4\pi} \sum_t \Omega_t(p)
//! ```
//!
//! with the solid angle Ω of each triangle \[VanOosterom83\]. One inside a closed surface, zero outside, and in between
//! near holes, which makes ½ a robust threshold \[Jacobson13\]. Distant groups of triangles act like a dipole at their
//! centroid \[Barill18\], so the cost of a query grows with the logarithm of the number of triangles.

use std::f64::consts::PI;

use sinew_math::Vec3;

use super::tri_mesh::triangle_normal;
use super::{Aabb, TriMesh};
use crate::bvh::Bvh;

/// A group acts as a dipole beyond this multiple of its radius. The error falls with the third power; at 3 it stays
/// below 0.01 for closed surfaces, far from the threshold of ½.
const FAR: f64 = 3.0;

/// Solid angle over 4π of a triangle seen from the origin.
fn triangle_winding([a, b, c]: [Vec3; 3]) -> f64 {
    let (la, lb, lc) = (a.norm(), b.norm(), c.norm());
    let numerator = a.dot(b.cross(c));
    let denominator = la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb;
    numerator.atan2(denominator) / (2.0 * PI)
}

/// The sum over all triangles.
pub(super) fn exact_winding_number(surface: &TriMesh, p: Vec3) -> f64 {
    (0..surface.triangle_count()).map(|t| triangle_winding(surface.corners(t).map(|x| x - p))).sum()
}

#[derive(Clone, Copy, Debug)]
struct Dipole {
    /// Sum of area times unit normal \[m²\].
    moment: Vec3,
    /// Centroid weighted by area.
    center: Vec3,
    /// Largest distance of a vertex of the group from the centroid, squared \[m²\].
    radius_squared: f64,
}

/// Computes many winding numbers for one surface.
#[derive(Clone, Debug)]
pub struct WindingNumber {
    bvh: Bvh,
    dipoles: Vec<Dipole>,
    /// Corner positions of the distinct triangles, in their order.
    corners: Vec<[Vec3; 3]>,
    /// 1, or −1 where most copies of a triangle face the other way, or 0 where they cancel. Copies count once: the
    /// error of the dipoles would grow with their number and reach past the threshold.
    weights: Vec<f64>,
}

impl WindingNumber {
    /// Prepares the surface.
    pub fn new(surface: &TriMesh) -> Self {
        // Copies lie in one another: no tree could tell them apart, and a query would look at all of them.
        let distinct = surface.distinct_triangles();
        let corners: Vec<[Vec3; 3]> = distinct.iter().map(|&(t, _)| surface.corners(t as usize)).collect();
        let weights: Vec<f64> = distinct.iter().map(|&(_, count)| f64::from(count.signum())).collect();
        let bvh = Bvh::new(corners.iter().map(Aabb::from_points).collect());
        let mut dipoles = Vec::with_capacity(bvh.nodes().len());
        for node in bvh.nodes() {
            let mut moment = Vec3::zero();
            let mut weighted = Vec3::zero();
            let mut area = 0.0;
            for triangle in bvh.items(node) {
                let x = corners[*triangle as usize];
                let normal = triangle_normal(x) * 0.5;
                let triangle_area = normal.norm();
                moment += normal * weights[*triangle as usize];
                weighted += (x[0] + x[1] + x[2]) * (triangle_area / 3.0);
                area += triangle_area;
            }
            let center = if area > 0.0 { weighted / area } else { node.bounds.center() };
            // The farthest corner of the box: cheap, and never too small.
            let reach = (node.bounds.max - center).max(center - node.bounds.min);
            dipoles.push(Dipole { moment, center, radius_squared: reach.norm_squared() });
        }
        Self { bvh, dipoles, corners, weights }
    }

    /// Winding number about `p`, to about 0.01 near closed surfaces and better far away.
    pub fn at(&self, p: Vec3) -> f64 {
        let mut winding = 0.0;
        let mut stack = Vec::with_capacity(64);
        stack.push(0_u32);
        while let Some(index) = stack.pop() {
            let dipole = &self.dipoles[index as usize];
            let offset = dipole.center - p;
            let distance_squared = offset.norm_squared();
            if distance_squared > FAR * FAR * dipole.radius_squared {
                winding += dipole.moment.dot(offset) / (4.0 * PI * distance_squared * distance_squared.sqrt());
                continue;
            }
            let node = &self.bvh.nodes()[index as usize];
            if node.right == 0 {
                for triangle in self.bvh.items(node) {
                    let triangle = *triangle as usize;
                    winding += self.weights[triangle] * triangle_winding(self.corners[triangle].map(|x| x - p));
                }
            } else {
                stack.push(node.right);
                stack.push(index + 1);
            }
        }
        winding
    }

    /// Whether `p` is inside: the surface wraps around it at least half, in either direction.
    pub fn is_inside(&self, p: Vec3) -> bool {
        self.at(p).abs() > 0.5
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::procedural::{icosphere, torus_surface};

    /// The winding number of a closed surface is an integer.
    #[test]
    fn winding_of_a_torus_is_one_in_the_tube_and_zero_in_the_hole() {
        let torus = torus_surface(1.0, 0.3, 0.1).unwrap();
        let winding = torus.winding_numbers();
        for i in 0..400 {
            let t = f64::from(i);
            let p =
                Vec3::new((t * 0.618).fract() * 3.0 - 1.5, (t * 0.755).fract() * 3.0 - 1.5, (t * 0.57).fract() - 0.5);
            let ring = (p.x * p.x + p.y * p.y).sqrt() - 1.0;
            let distance = (ring * ring + p.z * p.z).sqrt() - 0.3;
            if distance.abs() < 0.02 {
                continue;
            }
            let expected = if distance < 0.0 { 1.0 } else { 0.0 };
            // Sum over a few thousand arctangents.
            assert!((torus.winding_number(p) - expected).abs() < 1e-11);
            assert!((winding.at(p) - expected).abs() < 0.05, "{} at {p:?}", winding.at(p));
            assert_eq!(winding.is_inside(p), distance < 0.0);
        }
    }

    /// Three copies of a sphere wind once around its middle; two that face each other do not at all.
    #[test]
    fn copies_of_a_surface_count_once() {
        let sphere = icosphere(1.0, 4).unwrap();
        let turned = sphere.triangles().iter().map(|&[a, b, c]| [a, c, b]);
        let winding = |triangles: Vec<[u32; 3]>| {
            TriMesh::new(sphere.positions().to_vec(), triangles).unwrap().winding_numbers().at(Vec3::new(0.1, 0.2, 0.3))
        };
        // The dipoles are good to about a hundredth.
        assert!((winding(sphere.triangles().repeat(3)) - 1.0).abs() < 0.02);
        assert!(winding(sphere.triangles().iter().copied().chain(turned).collect()).abs() < 1e-12);
    }

    /// A hemisphere seen from its center covers half of the directions, however jagged its rim.
    #[test]
    fn winding_of_half_a_sphere_is_one_half_at_its_center() {
        let sphere = icosphere(1.0, 8).unwrap();
        // A direction in no symmetry plane, so that no triangle is on the equator.
        let up = Vec3::new(0.3, 0.5, 0.83);
        let height = |t: &[u32; 3]| t.iter().map(|v| sphere.positions()[*v as usize].dot(up)).sum::<f64>();
        let upper: Vec<[u32; 3]> = sphere.triangles().iter().filter(|t| height(t) > 0.0).copied().collect();
        let half = TriMesh::new(sphere.positions().to_vec(), upper).unwrap();
        // The icosphere is point-symmetric, so exactly half of the triangles remain.
        assert!((half.winding_number(Vec3::zero()) - 0.5).abs() < 1e-12);
    }
}
