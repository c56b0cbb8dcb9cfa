//! Muscles of bodies: fibers with an activation from a channel, and their part in a step.

use std::ops::Deref;

use sinew_math::Vec3;

use crate::control::{ChannelId, Control};
use crate::elastic::{Actuation, ElasticBlock, FiberSummary};
use crate::force::{StepContext, Strand};
use crate::model::Model;
use crate::state::{History, State};

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

impl Model {
    /// The muscles of a body.
    pub fn muscles_of(&self, body: usize) -> &[Muscle] {
        &self.muscles[body]
    }

    /// Activations of the muscles of a body.
    pub fn activations(&self, body: usize, control: &Control) -> Activations {
        Activations::of(&self.muscles[body], control, self.body_stiffness(body, control))
    }

    /// Whether any force depends on the speed of fibers.
    pub fn needs_motion(&self) -> bool {
        self.elastic.iter().any(ElasticBlock::needs_motion) || self.strands.iter().any(Strand::needs_motion)
    }

    /// Positions at the start of the last accepted step, and one over its length, where fibers need them.
    pub(crate) fn last_motion<'a>(&self, history: &'a History) -> Option<(&'a [Vec3], f64)> {
        let is_known = history.last_dt > 0.0 && !history.fiber_start.is_empty();
        is_known.then(|| (history.fiber_start.as_slice(), 1.0 / history.last_dt))
    }

    /// Summary of the fibers of a muscle, for bodies on a mesh.
    pub fn fiber_summary(&self, body: usize, muscle: usize, state: &State, control: &Control) -> FiberSummary {
        let activations = self.activations(body, control);
        let actuation = Actuation { activations: &activations, motion: self.last_motion(&state.history) };
        let blocks = &self.elastic[self.bodies[body].elastic.clone()];
        blocks
            .iter()
            .map(|block| block.fiber_summary(muscle, &state.positions, &actuation))
            .fold(FiberSummary::default(), FiberSummary::join)
    }

    /// Adds the work of active fibers and generators over a step to the history at its end, and stores what the next
    /// step needs.
    pub(crate) fn finish_muscles(&self, previous: &State, control: &Control, dt: f64, state: &mut State) {
        let mut first = 0;
        for (body, muscles) in self.muscles.iter().enumerate() {
            let blocks = &self.elastic[self.bodies[body].elastic.clone()];
            let after = Activations::of(muscles, control, 1.0);
            let range = first..first + muscles.len();
            first = range.end;
            if blocks.iter().all(|block| !block.has_fibers()) {
                continue;
            }
            let before = &mut state.history.activations[range];
            for block in blocks {
                state.history.work.muscles +=
                    block.active_work(&previous.positions, &state.positions, before, &after, 1.0 / dt);
            }
            before.copy_from_slice(&after[..muscles.len()]);
        }
        for (strand, before) in self.strands.iter().zip(&mut state.history.activations[first..]) {
            let after = strand.activation(control);
            state.history.work.muscles +=
                strand.active_work(&previous.positions, &state.positions, [*before, after], 1.0 / dt);
            *before = after;
        }
        if !state.history.fiber_start.is_empty() {
            state.history.fiber_start.copy_from_slice(&previous.positions);
        }
    }
}

/// Inputs of the cells of a block in a step.
pub(crate) struct StepDrive<'a> {
    activations: Activations,
    motion: Option<(&'a [Vec3], f64)>,
}

impl<'a> StepDrive<'a> {
    pub fn new(model: &Model, block: &ElasticBlock, ctx: &StepContext<'a>) -> Self {
        let motion = block.needs_motion().then(|| (ctx.previous.positions.as_slice(), 1.0 / ctx.dt));
        Self { activations: model.activations(block.body, ctx.control), motion }
    }

    pub fn actuation(&self) -> Actuation<'_> {
        Actuation { activations: &self.activations, motion: self.motion }
    }
}
