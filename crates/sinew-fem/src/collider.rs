//! Rigid shapes moved by the scene.

use sinew_geometry::shape::{AnyShape, Pose};
use sinew_math::{Quaternion, Vec3};

use crate::control::{ChannelId, Control};

/// Channels that move a collider.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactMotion {
    /// Translation from the initial place \[m\].
    pub translation: [ChannelId; 3],
    /// Rotation vector about the pivot \[rad\].
    pub rotation: [ChannelId; 3],
}

/// A rigid shape moved by the scene.
#[derive(Clone, Debug)]
pub struct Collider {
    /// Name from the scene.
    pub name: String,
    /// Geometry in its own frame.
    pub shape: AnyShape,
    /// Initial place.
    pub initial: Pose,
    /// Center of the rotation \[m\].
    pub pivot: Vec3,
    /// Channels that move it.
    pub motion: ContactMotion,
}

impl Collider {
    /// World from shape under `control`.
    pub fn pose(&self, control: &Control) -> Pose {
        let turn = Quaternion::exp_map(control.vector(self.motion.rotation));
        Pose {
            translation: self.pivot
                + turn.rotate(self.initial.translation - self.pivot)
                + control.vector(self.motion.translation),
            rotation: (turn * self.initial.rotation).normalized(),
        }
    }
}

/// Writes the poses of all colliders under `control`; reuses memory.
pub fn collider_poses(colliders: &[Collider], control: &Control, poses: &mut Vec<Pose>) {
    poses.clear();
    poses.extend(colliders.iter().map(|collider| collider.pose(control)));
}
