//! Anything with an inside.

use sinew_geometry::{Aabb, Shape};
use sinew_math::Vec3;

/// A body by its signed distance φ(p) \[m\]: negative inside. Exact near the surface; farther away only the sign and a
/// lower bound of |φ| are promised.
pub trait Solid: Sync {
    /// Signed distance \[m\] at a point.
    fn distance(&self, p: Vec3) -> f64;

    /// A box that holds everything inside.
    fn bounds(&self) -> Aabb;

    /// Gradient of the distance, by central differences over `step` \[m\] unless the solid knows better.
    fn gradient(&self, p: Vec3, step: f64) -> Vec3 {
        let along = |d: Vec3| (self.distance(p + d * step) - self.distance(p - d * step)) / (2.0 * step);
        Vec3::new(along(Vec3::new(1.0, 0.0, 0.0)), along(Vec3::new(0.0, 1.0, 0.0)), along(Vec3::new(0.0, 0.0, 1.0)))
    }
}

/// A shape with its bounds, which a [`Shape`] does not know.
#[derive(Clone, Debug)]
pub struct Bounded<S> {
    /// The shape.
    pub shape: S,
    /// A box that holds everything inside.
    pub bounds: Aabb,
}

impl<S: Shape> Solid for Bounded<S> {
    fn distance(&self, p: Vec3) -> f64 {
        self.shape.distance(p)
    }

    fn bounds(&self) -> Aabb {
        self.bounds
    }
}
