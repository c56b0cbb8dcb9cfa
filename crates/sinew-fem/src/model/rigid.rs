//! Dynamic rigid bodies.
//!
//! A rigid body is a block of the kinematics with six point masses m/6 at ±√3 sᵢ eᵢ, where m sᵢ² is its second moment
//! along axis i. They have exactly the mass and the inertia tensor of the body, so inertia needs no code of its own.

use std::ops::Range;

use sinew_geometry::shape::{AnyShape, Pose};
use sinew_math::Vec3;

use super::moments::Moments;

/// Parameters of [`crate::ModelBuilder::add_rigid`].
#[derive(Clone, Debug)]
pub struct RigidParams {
    /// Name, unique in the model.
    pub name: String,
    /// Geometry about its center of mass.
    pub shape: AnyShape,
    /// Mass \[kg\].
    pub mass: f64,
    /// Initial pose.
    pub pose: Pose,
    /// Initial velocity of the center \[m/s\].
    pub velocity: Vec3,
    /// Initial angular velocity \[rad/s\].
    pub angular_velocity: Vec3,
    /// Center of its prescribed motion \[m\] when the scene moves (or holds) it; `None` when forces do.
    pub driven_about: Option<Vec3>,
}

/// A rigid body of a model.
#[derive(Clone, Debug)]
pub struct RigidBody {
    /// Name from the scene.
    pub name: String,
    /// Geometry about its center of mass.
    pub shape: AnyShape,
    /// Block of the kinematics.
    pub block: u32,
    /// Its six point masses.
    pub points: Range<usize>,
    /// Points of the vertices of its surface; none where it touches nothing.
    pub surface: Range<usize>,
    /// Mass \[kg\].
    pub mass: f64,
}

/// Root-mean-square extent sᵢ along each axis of a solid shape \[m\]; sᵢ² is second moment over mass. `None` for shapes
/// that cannot be rigid bodies.
pub(crate) fn extents(shape: &AnyShape) -> Option<Vec3> {
    Some(match shape {
        AnyShape::Plane(_) => return None,
        // Who makes a rigid of a surface puts it along its principal axes.
        AnyShape::LevelSet(set) => {
            let spread = Moments::of(set.surface())?.spread;
            Vec3::new(spread.row(0)[0], spread.row(1)[1], spread.row(2)[2]).map(|s| s.max(0.0).sqrt())
        }
        AnyShape::Sphere(s) => Vec3::splat(s.radius / 5f64.sqrt()),
        AnyShape::Cuboid(b) => b.half_size / 3f64.sqrt(),
        AnyShape::Capsule(c) => {
            // Cylinder of length 2h and two half-balls of radius r; the axis of the capsule is z.
            let (r, h) = (c.radius, c.half_length);
            let (cylinder, balls) = (2.0 * h, 4.0 / 3.0 * r);
            let mass = cylinder + balls;
            // The centroid of a half-ball is 3r/8 off its face, and ∫z² = m r²/5 about that face.
            let along = (cylinder * h * h / 3.0 + balls * (h * h + 0.75 * h * r + 0.2 * r * r)) / mass;
            let across = (cylinder * 0.25 * r * r + balls * 0.2 * r * r) / mass;
            Vec3::new(across.sqrt(), across.sqrt(), along.sqrt())
        }
    })
}
