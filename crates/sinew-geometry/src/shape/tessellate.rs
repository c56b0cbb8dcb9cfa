//! Shapes as closed surfaces of triangles.

use sinew_math::Vec3;

use super::{AnyShape, Capsule, Cuboid};
use crate::mesh::TriMesh;
use crate::procedural::icosphere;

/// Edges from one corner of the icosahedron to the next: facets of a sphere then lie within 0.4 % of its radius.
const SPHERE_PARTS: usize = 8;
/// Triangles around a capsule, and rings of each of its ends.
const AROUND: usize = 32;
const RINGS: usize = 8;
/// Squares across the shortest side of a block whose surface is sampled, and at most along any side.
const ACROSS: f64 = 4.0;
const MAX_ALONG: f64 = 32.0;

impl AnyShape {
    /// The surface as triangles in the frame of the shape, counterclockwise from outside; `None` for the half-space.
    /// Round shapes are inscribed.
    pub fn surface(&self) -> Option<TriMesh> {
        match self {
            Self::Plane(_) => None,
            Self::Sphere(sphere) => icosphere(sphere.radius, SPHERE_PARTS).ok(),
            Self::Capsule(capsule) => capsule_surface(capsule, 1),
            Self::Cuboid(cuboid) => {
                let corner = |k: usize| {
                    let side = |axis: usize| if k >> axis & 1 == 1 { 1.0 } else { -1.0 };
                    cuboid.half_size.component_mul(Vec3::new(side(0), side(1), side(2)))
                };
                let quads = [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
                let triangles = quads.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
                TriMesh::new((0..8).map(corner).collect(), triangles).ok()
            }
            Self::LevelSet(set) => Some(set.surface().clone()),
        }
    }
}

impl AnyShape {
    /// Like [`AnyShape::surface`], with flat sides in small triangles too: vertices everywhere, for contact that asks
    /// which points lie inside of others.
    pub fn sampled_surface(&self) -> Option<TriMesh> {
        match self {
            Self::Cuboid(cuboid) => sampled_block(cuboid),
            Self::Capsule(capsule) => {
                let squares = (capsule.half_length * ACROSS / capsule.radius).ceil().clamp(1.0, MAX_ALONG);
                capsule_surface(capsule, squares as usize)
            }
            _ => self.surface(),
        }
    }

    /// Smallest extent of a solid \[m\]; infinite for the half-space.
    pub fn thickness(&self) -> f64 {
        match self {
            Self::Plane(_) => f64::INFINITY,
            Self::Sphere(sphere) => 2.0 * sphere.radius,
            Self::Capsule(capsule) => 2.0 * capsule.radius,
            Self::Cuboid(cuboid) => 2.0 * cuboid.half_size.min_component(),
            Self::LevelSet(set) => set.surface().bounds().size().min_component(),
        }
    }
}

/// The surface of a block, each side as a grid of squares, two triangles each.
fn sampled_block(cuboid: &Cuboid) -> Option<TriMesh> {
    let half = cuboid.half_size;
    let spacing = (half.min_component() / ACROSS).max(half.max_component() / MAX_ALONG);
    let parts = half.map(|side| (side / spacing - 1e-9).ceil().max(1.0));
    let mut positions = Vec::new();
    let mut triangles = Vec::new();
    for axis in 0..3 {
        let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
        let (along, up) = (parts[u] as u32, parts[v] as u32);
        for side in [-1.0, 1.0] {
            let first = positions.len() as u32;
            for j in 0..=up {
                for i in 0..=along {
                    let mut p = Vec3::unit(axis) * (side * half[axis]);
                    p[u] = half[u] * (2.0 * f64::from(i) / parts[u] - 1.0);
                    p[v] = half[v] * (2.0 * f64::from(j) / parts[v] - 1.0);
                    positions.push(p);
                }
            }
            let vertex = |i: u32, j: u32| first + j * (along + 1) + i;
            for j in 0..up {
                for i in 0..along {
                    let [a, b, c, d] = [vertex(i, j), vertex(i + 1, j), vertex(i + 1, j + 1), vertex(i, j + 1)];
                    let halves = [[a, b, c], [a, c, d]];
                    triangles.extend(if side > 0.0 { halves } else { halves.map(|[a, b, c]| [a, c, b]) });
                }
            }
        }
    }
    TriMesh::new(positions, triangles).ok()?.welded().ok().map(|(surface, _)| surface)
}

/// The surface of a capsule with `along` rings of triangles between its ends.
fn capsule_surface(capsule: &Capsule, along: usize) -> Option<TriMesh> {
    let (r, h) = (capsule.radius, capsule.half_length);
    // Rings from the lower pole to the upper one; the two at the ends of the axis are both on the equator.
    let mut rings = Vec::new();
    for k in 1..=RINGS {
        let angle = std::f64::consts::FRAC_PI_2 * (k as f64 / RINGS as f64);
        rings.push((r * angle.sin(), -h - r * angle.cos()));
    }
    rings.extend((1..along).map(|k| (r, h * (2.0 * k as f64 / along as f64 - 1.0))));
    for k in (1..=RINGS).rev() {
        let angle = std::f64::consts::FRAC_PI_2 * (k as f64 / RINGS as f64);
        rings.push((r * angle.sin(), h + r * angle.cos()));
    }
    let mut positions = vec![Vec3::new(0.0, 0.0, -h - r)];
    for &(radius, z) in &rings {
        for k in 0..AROUND {
            let turn = std::f64::consts::TAU * k as f64 / AROUND as f64;
            positions.push(Vec3::new(radius * turn.cos(), radius * turn.sin(), z));
        }
    }
    positions.push(Vec3::new(0.0, 0.0, h + r));
    let vertex = |ring: usize, k: usize| (1 + ring * AROUND + k % AROUND) as u32;
    let last = positions.len() as u32 - 1;
    let mut triangles = Vec::new();
    for k in 0..AROUND {
        triangles.push([0, vertex(0, k + 1), vertex(0, k)]);
        triangles.push([last, vertex(rings.len() - 1, k), vertex(rings.len() - 1, k + 1)]);
        for ring in 0..rings.len() - 1 {
            let [a, b, c, d] = [vertex(ring, k), vertex(ring, k + 1), vertex(ring + 1, k + 1), vertex(ring + 1, k)];
            triangles.extend([[a, b, c], [a, c, d]]);
        }
    }
    TriMesh::new(positions, triangles).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::{Cuboid, Shape, Sphere};

    #[test]
    fn surfaces_are_closed_and_lie_on_their_shapes() {
        let shapes = [
            AnyShape::from(Sphere::new(0.7).unwrap()),
            AnyShape::from(Capsule::new(0.6, 0.3).unwrap()),
            AnyShape::from(Cuboid::new(Vec3::new(0.5, 0.3, 0.8)).unwrap()),
        ];
        for shape in shapes {
            let surface = shape.surface().unwrap();
            assert!(surface.is_closed());
            let volume = shape.volume().unwrap();
            assert!((surface.volume() / volume - 1.0).abs() < 0.03, "{} against {volume}", surface.volume());
            assert!(surface.positions().iter().all(|&p| shape.distance(p).abs() < 1e-12));
            let sampled = shape.sampled_surface().unwrap();
            assert!(sampled.is_closed());
            assert!((sampled.volume() / surface.volume() - 1.0).abs() < 1e-12);
            assert!(sampled.positions().iter().all(|&p| shape.distance(p).abs() < 1e-12));
        }
    }
}
