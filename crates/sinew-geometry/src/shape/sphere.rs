//! Spheres: d(p) = |p| − r.

use sinew_math::{Mat3, Vec3};

use super::{Shape, ShapeError, check_length, round_curvature};

/// A ball about the origin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sphere {
    /// Radius \[m\].
    pub radius: f64,
}

impl Sphere {
    /// A ball of this radius \[m\].
    pub fn new(radius: f64) -> Result<Self, ShapeError> {
        check_length("radius", radius)?;
        Ok(Self { radius })
    }
}

impl Shape for Sphere {
    fn distance(&self, p: Vec3) -> f64 {
        p.norm() - self.radius
    }

    fn normal(&self, p: Vec3) -> Vec3 {
        direction_or(p, Vec3::unit(2))
    }

    fn curvature(&self, p: Vec3) -> Mat3 {
        round_curvature(self.normal(p), p.norm())
    }
}

/// The unit vector along `v`, or the fallback if `v` vanishes.
pub(super) fn direction_or(v: Vec3, fallback: Vec3) -> Vec3 {
    let length = v.norm();
    if length > 0.0 { v / length } else { fallback }
}
