//! Capsules: d(p) = |p − q| − r with q the closest point of a segment.

use sinew_math::{Mat3, Vec3};

use super::sphere::direction_or;
use super::{Pose, Posed, Shape, ShapeError, check_length, check_point, round_curvature};

/// A cylinder along z about the origin, with half balls at both ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capsule {
    /// Half of the length of the axis \[m\], without the caps.
    pub half_length: f64,
    /// Radius \[m\].
    pub radius: f64,
}

impl Capsule {
    /// A capsule whose axis extends from −`half_length` to `half_length` \[m\] on z.
    pub fn new(half_length: f64, radius: f64) -> Result<Self, ShapeError> {
        check_length("half length", half_length)?;
        check_length("radius", radius)?;
        Ok(Self { half_length, radius })
    }

    /// The capsule whose axis extends from `a` to `b`.
    pub fn between(a: Vec3, b: Vec3, radius: f64) -> Result<Posed<Self>, ShapeError> {
        check_point("end of the capsule", a)?;
        check_point("end of the capsule", b)?;
        let shape = Self::new(0.5 * a.distance(b), radius)?;
        Ok(Posed { shape, pose: Pose::along(a * 0.5 + b * 0.5, b - a)? })
    }

    /// Vector from the closest point of the axis to p.
    fn offset_from_axis(&self, p: Vec3) -> Vec3 {
        Vec3::new(p.x, p.y, p.z - p.z.clamp(-self.half_length, self.half_length))
    }
}

impl Shape for Capsule {
    fn distance(&self, p: Vec3) -> f64 {
        self.offset_from_axis(p).norm() - self.radius
    }

    fn normal(&self, p: Vec3) -> Vec3 {
        direction_or(self.offset_from_axis(p), Vec3::unit(0))
    }

    fn curvature(&self, p: Vec3) -> Mat3 {
        let mut curvature = round_curvature(self.normal(p), self.offset_from_axis(p).norm());
        if p.z.abs() < self.half_length {
            // No curvature along the cylinder.
            for i in 0..3 {
                curvature.rows[2][i] = 0.0;
                curvature.rows[i][2] = 0.0;
            }
        }
        curvature
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capsule_between_points_has_its_axis_there() {
        let (a, b) = (Vec3::new(1.0, 0.0, 2.0), Vec3::new(-1.0, 3.0, 0.0));
        let capsule = Capsule::between(a, b, 0.25).unwrap();
        for t in [0.0, 0.3, 1.0] {
            assert!((capsule.distance(a.lerp(b, t)) + 0.25).abs() < 1e-15);
        }
        let beyond = b + (b - a) / (b - a).norm();
        assert!((capsule.distance(beyond) - 0.75).abs() < 1e-14);
    }
}
