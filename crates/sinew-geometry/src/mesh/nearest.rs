//! The point of a surface nearest to a given point.

use sinew_math::Vec3;

use super::{Aabb, TriMesh, closest_on_triangle};
use crate::bvh::Bvh;

/// A tree over the triangles of a surface.
#[derive(Debug)]
pub struct NearestPlaces<'a> {
    surface: &'a TriMesh,
    tree: Bvh,
}

/// A point on a triangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SurfacePlace {
    /// The triangle.
    pub triangle: usize,
    /// Weights of its corners.
    pub weights: [f64; 3],
    /// The point itself \[m\].
    pub position: Vec3,
}

impl<'a> NearestPlaces<'a> {
    /// Builds the tree.
    pub fn new(surface: &'a TriMesh) -> Self {
        let boxes = (0..surface.triangle_count()).map(|i| Aabb::from_points(&surface.corners(i))).collect();
        Self { surface, tree: Bvh::new(boxes) }
    }

    /// The nearest point of the surface; `None` without triangles.
    pub fn to(&self, p: Vec3) -> Option<SurfacePlace> {
        let place = |triangle: usize| {
            let [a, b, c] = self.surface.corners(triangle);
            let weights = closest_on_triangle(p, [a, b, c]);
            SurfacePlace { triangle, weights, position: a * weights[0] + b * weights[1] + c * weights[2] }
        };
        let distance = |triangle: u32| (place(triangle as usize).position - p).norm_squared();
        self.tree.nearest(p, distance).map(|(triangle, _)| place(triangle as usize))
    }
}
