//! Motions of joints from rest: a stretch, then a rigid motion.

use sinew_geometry::shape::Pose;
use sinew_math::svd3::{polar3_plain, svd3_plain};
use sinew_math::{Mat3, Quaternion, Vec3};

use crate::affine::Affine;

/// A linear map that differs from a rotation by less than this is one: files have single precision.
const RIGID: f64 = 1e-5;

/// The motion of a joint from rest, which takes x to $`T(p + S (x - p))`$, with the rigid motion T, the stretch S and the
/// joint at p. Bones follow T, and S where cells are held by them; what follows by skinning follows both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Motion {
    /// The rigid motion.
    pub pose: Pose,
    /// The stretch about the joint, with its place at rest \[m\]; `None` if the joint keeps all lengths.
    pub stretch: Option<(Mat3, Vec3)>,
}

impl Motion {
    /// Rest.
    pub fn identity() -> Self {
        Self { pose: Pose::identity(), stretch: None }
    }

    /// The motion that an affine map gives to a joint at `place`.
    pub(crate) fn of(map: &Affine, place: Vec3) -> Self {
        let turn = polar3_plain(&map.linear).rotation;
        let rotation = Quaternion::from_rotation_matrix(&turn);
        let stretch = turn.transpose() * map.linear;
        // The joint itself follows the animation exactly, stretched or not.
        let pose = Pose { translation: map.apply(place) - rotation.rotate(place), rotation };
        let is_rigid = (stretch - Mat3::identity()).norm() < RIGID;
        Self { pose, stretch: (!is_rigid).then_some((stretch, place)) }
    }

    /// Where a point at rest is taken.
    pub fn to_world(&self, x: Vec3) -> Vec3 {
        self.pose.to_world(self.stretched(x))
    }

    fn stretched(&self, x: Vec3) -> Vec3 {
        self.stretch.map_or(x, |(stretch, place)| place + stretch * (x - place))
    }

    /// This stretch, by a fraction, with another rigid motion.
    pub(crate) fn with_pose(&self, pose: Pose, share: f64) -> Self {
        let part = |(stretch, place): (Mat3, Vec3)| (Mat3::identity() + (stretch - Mat3::identity()) * share, place);
        Self { pose, stretch: self.stretch.map(part) }
    }
}

/// Smallest and largest length scale factor.
pub(crate) fn stretches(map: &Affine) -> [f64; 2] {
    let sigma = svd3_plain(&map.linear).sigma.map(f64::abs);
    [sigma.x.min(sigma.y).min(sigma.z), sigma.x.max(sigma.y).max(sigma.z)]
}
