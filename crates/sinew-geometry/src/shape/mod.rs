//! Bodies by their signed distance d(p): negative inside, |∇d| = 1.
//!
//! A new collider shape is one file here that implements [`Shape`]; the tests at the end of this module then check its
//! distance against sampling and its derivatives against differences.

mod capsule;
mod cuboid;
mod level_set;
mod plane;
mod pose;
mod sphere;
mod tessellate;

use std::f64::consts::PI;
use std::fmt::Debug;
use std::sync::Arc;

pub use capsule::Capsule;
pub use cuboid::Cuboid;
pub use level_set::{LevelSet, LevelSetError};
pub use plane::Plane;
pub use pose::{Pose, Posed};
use sinew_math::{Mat3, Vec3};
pub use sphere::Sphere;
use thiserror::Error;

/// Why a shape cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum ShapeError {
    /// A length is not positive and finite.
    #[error("{name} is {value}, but must be a positive length")]
    Length {
        /// Name of the length.
        name: &'static str,
        /// Its value.
        value: f64,
    },
    /// A direction has no length, or is not finite.
    #[error("{name} has no direction")]
    Direction {
        /// Name of the direction.
        name: &'static str,
    },
    /// A point is not finite.
    #[error("{name} is not finite")]
    Point {
        /// Name of the point.
        name: &'static str,
    },
}

/// A body described by its signed distance.
pub trait Shape: Debug + Send + Sync {
    /// Signed distance \[m\] from the surface: positive outside, negative inside.
    fn distance(&self, p: Vec3) -> f64;

    /// Gradient of the distance: a unit vector, on the surface its outward normal. Where the gradient jumps (the center
    /// of a sphere, the diagonals of a cuboid) always the same one of the limits.
    fn normal(&self, p: Vec3) -> Vec3;

    /// Second derivative of the distance \[1/m\], the curvature of the level set, needed for the tangent of a penalty
    /// force. Zero where the gradient jumps.
    fn curvature(&self, p: Vec3) -> Mat3;

    /// The point of the surface closest to `p`.
    fn closest(&self, p: Vec3) -> Vec3 {
        p - self.normal(p) * self.distance(p)
    }
}

/// One of the shapes, by value: a collider whose kind is known only at run time.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyShape {
    /// A half-space.
    Plane(Plane),
    /// A ball.
    Sphere(Sphere),
    /// A cylinder with round ends.
    Capsule(Capsule),
    /// A box.
    Cuboid(Cuboid),
    /// Any closed surface.
    LevelSet(Arc<LevelSet>),
}

impl AnyShape {
    /// Volume \[m³\]; `None` for the half-space.
    pub fn volume(&self) -> Option<f64> {
        match self {
            Self::Plane(_) => None,
            Self::Sphere(s) => Some(4.0 / 3.0 * PI * s.radius.powi(3)),
            Self::Capsule(c) => Some(PI * c.radius.powi(2) * (2.0 * c.half_length + 4.0 / 3.0 * c.radius)),
            Self::Cuboid(b) => Some(8.0 * b.half_size.x * b.half_size.y * b.half_size.z),
            Self::LevelSet(set) => Some(set.surface().volume()),
        }
    }

    fn as_shape(&self) -> &dyn Shape {
        match self {
            Self::Plane(shape) => shape,
            Self::Sphere(shape) => shape,
            Self::Capsule(shape) => shape,
            Self::Cuboid(shape) => shape,
            Self::LevelSet(shape) => &**shape,
        }
    }
}

impl Shape for AnyShape {
    fn distance(&self, p: Vec3) -> f64 {
        self.as_shape().distance(p)
    }

    fn normal(&self, p: Vec3) -> Vec3 {
        self.as_shape().normal(p)
    }

    fn curvature(&self, p: Vec3) -> Mat3 {
        self.as_shape().curvature(p)
    }
}

impl From<Plane> for AnyShape {
    fn from(shape: Plane) -> Self {
        Self::Plane(shape)
    }
}

impl From<Sphere> for AnyShape {
    fn from(shape: Sphere) -> Self {
        Self::Sphere(shape)
    }
}

impl From<Capsule> for AnyShape {
    fn from(shape: Capsule) -> Self {
        Self::Capsule(shape)
    }
}

impl From<Cuboid> for AnyShape {
    fn from(shape: Cuboid) -> Self {
        Self::Cuboid(shape)
    }
}

impl From<LevelSet> for AnyShape {
    fn from(shape: LevelSet) -> Self {
        Self::LevelSet(Arc::new(shape))
    }
}

fn check_length(name: &'static str, value: f64) -> Result<(), ShapeError> {
    if value > 0.0 && value.is_finite() { Ok(()) } else { Err(ShapeError::Length { name, value }) }
}

fn check_point(name: &'static str, point: Vec3) -> Result<(), ShapeError> {
    if point.is_finite() { Ok(()) } else { Err(ShapeError::Point { name }) }
}

/// The unit vector along a nonzero `v` of any length.
fn check_direction(name: &'static str, v: Vec3) -> Result<Vec3, ShapeError> {
    // Scaled by the largest component first, so that squares neither underflow nor overflow.
    let largest = v.abs().max_component();
    if !(v.is_finite() && largest > 0.0) {
        return Err(ShapeError::Direction { name });
    }
    let scaled = v / largest;
    Ok(scaled / scaled.norm())
}

/// Curvature (I − n nᵀ) / r of a sphere of radius r about a center in direction −n; zero at the center.
fn round_curvature(normal: Vec3, radius: f64) -> Mat3 {
    if radius == 0.0 {
        return Mat3::zero();
    }
    (Mat3::identity() - Mat3::outer(normal, normal)) * (1.0 / radius)
}

#[cfg(test)]
mod tests {
    use sinew_math::Quaternion;

    use super::*;

    /// Each shape with points on its surface, dense enough to find distances by brute force.
    fn sampled_shapes() -> Vec<(Box<dyn Shape>, Vec<Vec3>)> {
        let pose = Pose {
            translation: Vec3::new(0.2, -0.1, 0.3),
            rotation: Quaternion::from_axis_angle(Vec3::new(1.0, 2.0, -0.5), 0.8),
        };
        let directions: Vec<Vec3> = crate::procedural::icosphere(1.0, 40).unwrap().positions().to_vec();
        let sphere: Vec<Vec3> = directions.iter().map(|d| *d * 0.7).collect();
        let capsule: Vec<Vec3> = directions
            .iter()
            .flat_map(|d| {
                let side = Vec3::new(0.0, 0.0, 0.6_f64.copysign(d.z));
                let round = Vec3::new(d.x, d.y, 0.0);
                let ring = if round.norm() > 1e-9 { round.normalized() * 0.3 } else { Vec3::new(0.0, 0.3, 0.0) };
                [side + *d * 0.3, Vec3::new(ring.x, ring.y, 0.6 * d.z)]
            })
            .collect();
        let mut cuboid = Vec::new();
        let mut plane = Vec::new();
        for i in 0..=60 {
            for j in 0..=60 {
                let (u, v) = (f64::from(i) / 30.0 - 1.0, f64::from(j) / 30.0 - 1.0);
                for side in [-1.0, 1.0] {
                    cuboid.extend([Vec3::new(side, u, v), Vec3::new(u, side, v), Vec3::new(u, v, side)]);
                }
                plane.push(Vec3::new(4.0 * u, 4.0 * v, 0.0));
            }
        }
        let half = Vec3::new(0.5, 0.3, 0.8);
        let cuboid: Vec<Vec3> = cuboid.iter().map(|p| p.component_mul(half)).collect();
        let place = |points: &[Vec3]| points.iter().map(|p| pose.to_world(*p)).collect::<Vec<_>>();
        vec![
            (Box::new(AnyShape::from(Sphere::new(0.7).unwrap())), sphere.clone()),
            (Box::new(Posed { shape: Sphere::new(0.7).unwrap(), pose }), place(&sphere)),
            (Box::new(AnyShape::from(Capsule::new(0.6, 0.3).unwrap())), capsule.clone()),
            (Box::new(Posed { shape: Capsule::new(0.6, 0.3).unwrap(), pose }), place(&capsule)),
            (Box::new(AnyShape::from(Cuboid::new(half).unwrap())), cuboid.clone()),
            (Box::new(Posed { shape: Cuboid::new(half).unwrap(), pose }), place(&cuboid)),
            (Box::new(Plane::new(Vec3::zero(), Vec3::new(0.0, 0.0, 2.0)).unwrap()), plane.clone()),
            (Box::new(Posed { shape: Plane::new(Vec3::zero(), Vec3::unit(2)).unwrap(), pose }), place(&plane)),
        ]
    }

    fn probes() -> Vec<Vec3> {
        (1..120)
            .map(|i| {
                let t = f64::from(i);
                Vec3::new((t * 0.618_034).fract(), (t * 0.754_877).fract(), (t * 0.569_840).fract()) * 3.0
                    - Vec3::splat(1.5)
            })
            .collect()
    }

    /// |d(p)| is the distance to the nearest of many points of the surface, up to their spacing.
    #[test]
    fn distance_agrees_with_sampling() {
        for (shape, samples) in sampled_shapes() {
            for p in probes() {
                let nearest = samples.iter().map(|s| s.distance(p)).fold(f64::INFINITY, f64::min);
                let distance = shape.distance(p).abs();
                assert!(distance <= nearest + 1e-12, "{shape:?} at {p:?}: {distance} > {nearest}");
                // Half of the diagonal between samples of the plane, the coarsest of all.
                assert!(nearest - distance < 0.095, "{shape:?} at {p:?}: {distance} < {nearest}");
            }
            assert!(samples.iter().all(|s| shape.distance(*s).abs() < 1e-12), "{shape:?}");
        }
    }

    /// ∇d by central differences; h = 1e-6 leaves h² and ε/h, both below 1e-8.
    #[test]
    fn normal_is_the_unit_gradient_of_the_distance() {
        let h = 1e-6;
        for (shape, _) in sampled_shapes() {
            for p in probes() {
                let mut gradient = Vec3::zero();
                for axis in 0..3 {
                    let e = Vec3::unit(axis) * h;
                    gradient[axis] = (shape.distance(p + e) - shape.distance(p - e)) / (2.0 * h);
                }
                assert!((gradient - shape.normal(p)).norm() < 1e-7, "{shape:?} at {p:?}");
                assert!((shape.normal(p).norm() - 1.0).abs() < 1e-14);
            }
        }
    }

    #[test]
    fn curvature_is_the_gradient_of_the_normal() {
        let h = 1e-6;
        for (shape, _) in sampled_shapes() {
            for p in probes() {
                let mut gradient = Mat3::zero();
                for axis in 0..3 {
                    let e = Vec3::unit(axis) * h;
                    gradient.set_column(axis, (shape.normal(p + e) - shape.normal(p - e)) / (2.0 * h));
                }
                let curvature = shape.curvature(p);
                // Curvature grows like one over the distance from the center; so does the error of the difference.
                assert!((gradient - curvature).norm() < 1e-6 * (1.0 + curvature.norm()).powi(3), "{shape:?} at {p:?}");
            }
        }
    }

    #[test]
    fn closest_point_is_on_the_surface() {
        for (shape, _) in sampled_shapes() {
            for p in probes() {
                assert!(shape.distance(shape.closest(p)).abs() < 1e-13, "{shape:?} at {p:?}");
            }
        }
    }

    #[test]
    fn singular_points_give_finite_unit_normals() {
        for (shape, _) in sampled_shapes() {
            for p in [Vec3::zero(), Vec3::new(0.2, -0.1, 0.3), Vec3::splat(0.5), Vec3::unit(0)] {
                assert!((shape.normal(p).norm() - 1.0).abs() < 1e-12, "{shape:?} at {p:?}");
                assert!(shape.curvature(p).is_finite());
            }
        }
    }

    #[test]
    fn bad_parameters_are_rejected() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Sphere::new(bad).is_err());
            assert!(Capsule::new(0.1, bad).is_err());
            assert!(Cuboid::new(Vec3::new(1.0, bad, 1.0)).is_err());
        }
        assert!(Plane::new(Vec3::zero(), Vec3::zero()).is_err());
        assert!(Plane::new(Vec3::new(f64::NAN, 0.0, 0.0), Vec3::unit(0)).is_err());
        assert!(Capsule::between(Vec3::zero(), Vec3::zero(), 0.1).is_err());
    }
}
