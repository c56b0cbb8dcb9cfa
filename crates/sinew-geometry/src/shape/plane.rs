//! Planes: d(p) = n · (p − p₀). The body is the half-space below.

use sinew_math::{Mat3, Vec3};

use super::{Shape, ShapeError, check_direction, check_point};

/// The half-space on the side of a plane that its normal points away from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plane {
    /// A point of the plane \[m\].
    pub point: Vec3,
    /// Outward normal; a unit vector.
    pub normal: Vec3,
}

impl Plane {
    /// The plane through `point` \[m\] with this normal, of any length.
    pub fn new(point: Vec3, normal: Vec3) -> Result<Self, ShapeError> {
        check_point("point", point)?;
        Ok(Self { point, normal: check_direction("normal", normal)? })
    }
}

impl Shape for Plane {
    fn distance(&self, p: Vec3) -> f64 {
        self.normal.dot(p - self.point)
    }

    fn normal(&self, _: Vec3) -> Vec3 {
        self.normal
    }

    fn curvature(&self, _: Vec3) -> Mat3 {
        Mat3::zero()
    }
}
