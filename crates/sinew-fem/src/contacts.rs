//! The collision stage: which surface points touched which collider at the start of a step.
//!
//! The penalty itself is evaluated afresh at every iterate; what is kept here is what friction needs to lag by one step: the normal
//! force, the normal, and the place on the collider the point touched.

use sinew_geometry::shape::Pose;
use sinew_math::Vec3;

use crate::control::Control;
use crate::model::Model;
use crate::state::State;

/// A point that touched a collider at the start of the step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Touch {
    /// Index of the contact point in its [`crate::force::ContactForce`].
    pub point: u32,
    /// Outward normal of the collider [1].
    pub normal: Vec3,
    /// Normal force [N], ≥ 0.
    pub normal_force: f64,
    /// The touched place in the frame of the collider [m].
    pub anchor: Vec3,
}

/// All touches, per contact force of the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contacts {
    touches: Vec<Vec<Touch>>,
}

impl Contacts {
    /// Finds the touches at the positions and collider poses of `state`; reuses memory.
    pub fn find(&mut self, model: &Model, state: &State) {
        self.touches.resize_with(model.contacts.len(), Vec::new);
        for (touches, force) in self.touches.iter_mut().zip(&model.contacts) {
            touches.clear();
            if let Some(pose) = state.history.collider_poses.get(force.collider) {
                force.find_touches(pose, &state.positions, state.time, touches);
            }
        }
    }

    /// Touches of one contact force.
    pub fn of(&self, force: usize) -> &[Touch] {
        self.touches.get(force).map_or(&[], Vec::as_slice)
    }

    /// Number of touches.
    pub fn len(&self) -> usize {
        self.touches.iter().map(Vec::len).sum()
    }

    /// Whether nothing touches.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Writes the poses of all colliders under `control`; reuses memory.
pub fn collider_poses(model: &Model, control: &Control, poses: &mut Vec<Pose>) {
    poses.clear();
    poses.extend(model.colliders.iter().map(|collider| collider.pose(control)));
}
