//! Penalty contact with colliders: which surface points touched which collider at the start of a step.
//!
//! Every iterate evaluates the penalty anew. This list holds what lags by one step, for friction and restitution: the
//! normal force, the normal, and the touched point of the collider.

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
    /// Its lagged response during the step, with the outward normal of the collider.
    pub response: Response,
    /// The touched point in the frame of the collider \[m\].
    pub anchor: Vec3,
}

/// All touches, per contact force of the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contacts {
    touches: Vec<Vec<Touch>>,
    /// Impact speed of body and collider, per contact force \[m/s\].
    meeting_speeds: Vec<f64>,
}

impl Contacts {
    /// Finds the touches at the positions and collider poses of `state`, where a step of length `dt` starts; reuses
    /// memory.
    pub fn find(&mut self, model: &Model, state: &State, control: &Control, dt: f64) {
        self.touches.resize_with(model.contacts.len(), Vec::new);
        self.meeting_speeds.clear();
        for (touches, force) in self.touches.iter_mut().zip(&model.contacts) {
            self.meeting_speeds.push(force.find_touches(model, state, control, dt, touches));
        }
    }

    /// Adds the held slips at the end `x` of the step to the history.
    pub(crate) fn remember(&self, model: &Model, x: &[Vec3], control: &Control, dt: f64, history: &mut History) {
        self.remember_meetings(model, history);
        for (touches, force) in self.touches.iter().zip(&model.contacts) {
            force.remember(touches, x, control, dt, &mut history.contact_memory);
        }
    }

    /// Adds the impact speeds of bodies and colliders to the history.
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
