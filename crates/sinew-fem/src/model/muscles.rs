//! What one step asks of the muscles of a model.

use sinew_math::Vec3;

use super::Model;
use crate::control::Control;
use crate::elastic::{Actuation, ElasticBlock, FiberSummary};
use crate::force::{ActiveForce, StepContext};
use crate::muscle::{Activations, Muscle};
use crate::state::State;

impl Model {
    /// gradient += that of the cells of a body with relaxed fibers and without the factor on its stiffness.
    pub(crate) fn add_passive_gradient(&self, body: usize, x: &[Vec3], gradient: &mut [Vec3]) {
        for block in &self.elastic[self.bodies[body].elastic.clone()] {
            let energies: Vec<_> = (0..block.pack_count()).map(|_| Default::default()).collect();
            block.add_gradient(x, &Actuation::PASSIVE, 1.0, gradient, &energies);
        }
        if let Some(lattice) = self.lattice_of(body) {
            lattice.add_gradient(x, &Activations::none(), 1.0, gradient);
        }
    }

    /// The muscles of a body.
    pub fn muscles_of(&self, body: usize) -> &[Muscle] {
        &self.muscles[body]
    }

    /// How active the muscles of a body are.
    pub fn activations(&self, body: usize, control: &Control) -> Activations {
        Activations::of(&self.muscles[body], control, self.body_stiffness(body, control))
    }

    /// Whether force depends on the speed of fibers somewhere.
    pub fn needs_motion(&self) -> bool {
        self.elastic.iter().any(ElasticBlock::needs_motion) || self.active_forces().any(ActiveForce::needs_motion)
    }

    /// What the fibers of a muscle of a body on a mesh do in a state.
    pub fn fiber_summary(&self, body: usize, muscle: usize, state: &State, control: &Control) -> FiberSummary {
        let activations = self.activations(body, control);
        let actuation = Actuation { activations: &activations, motion: state.history.last_motion() };
        let blocks = &self.elastic[self.bodies[body].elastic.clone()];
        blocks
            .iter()
            .map(|block| block.fiber_summary(muscle, &state.positions, &actuation))
            .fold(FiberSummary::default(), FiberSummary::join)
    }

    /// Adds the work of active fibers and forces over a step to the history of its end, and remembers what the next
    /// step will ask for.
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
        for (force, before) in self.active_forces().zip(&mut state.history.activations[first..]) {
            let after = force.activation(control);
            state.history.work.muscles += force.work(&previous.positions, &state.positions, [*before, after], 1.0 / dt);
            *before = after;
        }
        if !state.history.fiber_start.is_empty() {
            state.history.fiber_start.copy_from_slice(&previous.positions);
        }
    }
}

/// What the cells of a block are driven by in a step.
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
