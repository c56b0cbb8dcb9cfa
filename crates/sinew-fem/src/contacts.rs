//! The collision stage: which surface points touched which collider at the start of a step.
//!
//! The penalty itself is evaluated afresh at every iterate; what is kept here is what lags by one step: the normal force, the normal, and the place on the
//! collider the point touched, for friction and restitution.

use sinew_geometry::shape::Pose;
use sinew_math::Vec3;

use crate::contact::Response;
use crate::control::Control;
use crate::model::Model;
use crate::state::{History, State};

/// A point that touched a collider at the start of the step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Touch {
    /// Index of the contact point in its [`crate::force::ContactForce`].
    pub point: u32,
    /// What it does while the step lasts, with the outward normal of the collider.
    pub response: Response,
    /// The touched place in the frame of the collider \[m\].
    pub anchor: Vec3,
}

/// All touches, per contact force of the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contacts {
    touches: Vec<Vec<Touch>>,
    /// Speed at which body and collider met, per contact force \[m/s\].
    meeting_speeds: Vec<f64>,
}

impl Contacts {
    /// Finds the touches at the positions and collider poses of `state`, where a step of length `dt` begins; reuses memory.
    pub fn find(&mut self, model: &Model, state: &State, control: &Control, dt: f64) {
        self.touches.resize_with(model.contacts.len(), Vec::new);
        self.meeting_speeds.clear();
        for (touches, force) in self.touches.iter_mut().zip(&model.contacts) {
            self.meeting_speeds.push(force.find_touches(model, state, control, dt, touches));
        }
    }

    /// Adds what the touches remember at the end `x` of their step.
    pub(crate) fn remember(&self, model: &Model, x: &[Vec3], control: &Control, dt: f64, history: &mut History) {
        self.remember_meetings(model, history);
        for (touches, force) in self.touches.iter().zip(&model.contacts) {
            force.remember(touches, x, control, dt, &mut history.contact_memory);
        }
    }

    /// Adds the speeds at which bodies and colliders met.
    pub(crate) fn remember_meetings(&self, model: &Model, history: &mut History) {
        if model.contacts.iter().any(|force| force.bounce > 0.0) {
            history.meeting_speeds.extend(&self.meeting_speeds);
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
