//! Muscles of bodies: fibers that are active by a channel.

use std::ops::Deref;

use crate::control::{ChannelId, Control};

/// Maximum number of muscles of a body.
pub const MAX_MUSCLES: usize = 64;

/// A group of fibers of a body.
#[derive(Clone, Debug)]
pub struct Muscle {
    /// Name, unique in the body.
    pub name: String,
    /// Channel of its activation, from 0 to 1.
    pub activation: ChannelId,
}

/// Activations of the muscles of a body, divided by its stiffness factor, because that multiplies all forces of cells.
pub struct Activations([f64; MAX_MUSCLES]);

impl Activations {
    /// All muscles relaxed.
    pub(crate) fn none() -> Self {
        Self([0.0; MAX_MUSCLES])
    }

    /// One muscle fully active, all others relaxed.
    pub(crate) fn only(muscle: usize) -> Self {
        let mut values = [0.0; MAX_MUSCLES];
        values[muscle] = 1.0;
        Self(values)
    }

    /// Activations of these muscles, clamped to 0 to 1.
    pub(crate) fn of(muscles: &[Muscle], control: &Control, stiffness: f64) -> Self {
        let mut values = [0.0; MAX_MUSCLES];
        for (value, muscle) in values.iter_mut().zip(muscles) {
            *value = control.get(muscle.activation).clamp(0.0, 1.0) / stiffness;
        }
        Self(values)
    }
}

impl Deref for Activations {
    type Target = [f64];
    fn deref(&self) -> &[f64] {
        &self.0
    }
}
