//! Position and orientation of a shape.

use sinew_math::{Mat3, Quaternion, Vec3};

use super::{Shape, ShapeError, check_direction};

/// A rigid placement: rotation, then translation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose {
    /// Position of the local origin in the world \[m\].
    pub translation: Vec3,
    /// Rotation from local to world; a unit quaternion.
    pub rotation: Quaternion,
}

impl Default for Pose {
    fn default() -> Self {
        Self::identity()
    }
}

impl Pose {
    /// The identity.
    pub fn identity() -> Self {
        Self { translation: Vec3::zero(), rotation: Quaternion::identity() }
    }

    /// A pure translation.
    pub fn from_translation(translation: Vec3) -> Self {
        Self { translation, rotation: Quaternion::identity() }
    }

    /// The pose that maps the local z axis to `direction` by the shortest rotation, and the origin to `translation`.
    pub fn along(translation: Vec3, direction: Vec3) -> Result<Self, ShapeError> {
        let d = check_direction("direction", direction)?;
        let axis = Vec3::<f64>::unit(2).cross(d);
        let (sine, cosine) = (axis.norm(), d.z);
        // Opposite to z, any transverse axis will do: use x.
        let axis = if sine > 0.0 { axis } else { Vec3::unit(0) };
        Ok(Self { translation, rotation: Quaternion::from_axis_angle(axis, sine.atan2(cosine)) })
    }

    /// Maps a local point to the world.
    #[inline]
    pub fn to_world(&self, p: Vec3) -> Vec3 {
        self.rotation.rotate(p) + self.translation
    }

    /// Maps a world point to local coordinates.
    #[inline]
    pub fn to_local(&self, p: Vec3) -> Vec3 {
        self.rotation.conjugate().rotate(p - self.translation)
    }
}

/// A shape with a pose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Posed<S> {
    /// The shape in local coordinates.
    pub shape: S,
    /// Its placement.
    pub pose: Pose,
}

impl<S: Shape> Shape for Posed<S> {
    fn distance(&self, p: Vec3) -> f64 {
        self.shape.distance(self.pose.to_local(p))
    }

    fn normal(&self, p: Vec3) -> Vec3 {
        self.pose.rotation.rotate(self.shape.normal(self.pose.to_local(p)))
    }

    fn curvature(&self, p: Vec3) -> Mat3 {
        let rotation = self.pose.rotation.to_matrix();
        (rotation * self.shape.curvature(self.pose.to_local(p))).mul_transpose(&rotation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pose_and_its_inverse_cancel() {
        let pose = Pose {
            translation: Vec3::new(1.0, 2.0, 3.0),
            rotation: Quaternion::from_axis_angle(Vec3::new(1.0, -1.0, 2.0), 2.0),
        };
        let p = Vec3::new(-0.3, 0.8, 0.1);
        assert!(pose.to_local(pose.to_world(p)).distance(p) < 1e-15);
    }

    #[test]
    fn pose_along_a_direction_turns_z_there() {
        for direction in [Vec3::unit(2), Vec3::new(0.0, 0.0, -2.0), Vec3::unit(0), Vec3::new(0.1, -3.0, 0.7)] {
            let pose = Pose::along(Vec3::zero(), direction).unwrap();
            assert!(pose.to_world(Vec3::unit(2)).distance(direction / direction.norm()) < 1e-15);
        }
        assert!(Pose::along(Vec3::zero(), Vec3::zero()).is_err());
    }
}
