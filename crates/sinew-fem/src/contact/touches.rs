//! Which surface points touched which collider at the start of a step.
//!
//! The penalty itself is evaluated afresh at every iterate; what is kept here is what lags by one step: the normal
//! force, the normal, and the place on the collider the point touched, for friction and restitution.

use sinew_math::Vec3;

use super::lagged::Response;

/// A point that touched a collider at the start of the step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Touch {
    /// Index of the contact point in its contact force.
    pub point: u32,
    /// What it does while the step lasts, with the outward normal of the collider.
    pub response: Response,
    /// The touched place in the frame of the collider \[m\].
    pub anchor: Vec3,
}

/// All touches, per contact force of the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contacts {
    pub(crate) touches: Vec<Vec<Touch>>,
    /// Speed at which body and collider met, per contact force \[m/s\].
    pub(crate) meeting_speeds: Vec<f64>,
}

impl Contacts {
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
