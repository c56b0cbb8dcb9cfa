//! What moves the visible surfaces of bodies after their nodes, with its memory in the state.

use sinew_math::Vec3;

use super::Simulation;
use crate::frame::SurfaceFinish;
use crate::state::State;

/// The finish of one body.
pub(super) struct Finish {
    body: usize,
    does: Box<dyn SurfaceFinish>,
    /// Where its memory begins.
    first: usize,
    /// The surface where the nodes carry it.
    carried: Vec<Vec3>,
}

impl Simulation {
    /// Moves the visible surface of a body in all frames from now on, after one at rest.
    pub fn finish_surface(&mut self, body: usize, does: Box<dyn SurfaceFinish>) {
        let first = self.finishes.last().map_or(0, |last| last.first + last.does.memory_size());
        self.finishes.push(Finish { body, does, first, carried: Vec::new() });
        let mut state = std::mem::take(&mut self.state);
        self.start_finishes(&mut state);
        self.backup.history.surfaces.clone_from(&state.history.surfaces);
        self.state = state;
        self.forget_observed();
    }

    /// Memory for a start at rest in a state.
    pub(super) fn start_finishes(&mut self, state: &mut State) {
        let size = self.finishes.last().map_or(0, |last| last.first + last.does.memory_size());
        state.history.surfaces.clear();
        state.history.surfaces.resize(size, Vec3::zero());
        for finish in &mut self.finishes {
            let memory = &mut state.history.surfaces[finish.first..finish.first + finish.does.memory_size()];
            let body = &self.model.bodies[finish.body];
            finish.carried.clear();
            finish.carried.extend(body.surface.carried(&state.positions[body.points.clone()]));
            finish.does.start(&finish.carried, memory);
        }
    }

    /// Takes the memory over a frame.
    pub(super) fn advance_finishes(&mut self) {
        for finish in self.finishes.iter_mut().filter(|finish| finish.does.memory_size() > 0) {
            let memory = &mut self.state.history.surfaces[finish.first..finish.first + finish.does.memory_size()];
            let body = &self.model.bodies[finish.body];
            finish.carried.clear();
            finish.carried.extend(body.surface.carried(&self.state.positions[body.points.clone()]));
            finish.does.advance(1.0 / self.params.frame_rate, &finish.carried, memory);
        }
    }

    /// Whether the visible surface of a body is where its nodes carry it.
    pub(super) fn is_carried(&self, body: usize) -> bool {
        self.finishes.iter().all(|finish| finish.body != body)
    }

    /// The visible surface of a body \[m\].
    pub fn surface_positions(&self, index: usize) -> Vec<Vec3> {
        let body = &self.model.bodies[index];
        let mut surface = body.surface.positions(&self.state.positions[body.points.clone()]);
        for Finish { does, first, .. } in self.finishes.iter().filter(|finish| finish.body == index) {
            let memory = &self.state.history.surfaces[*first..first + does.memory_size()];
            does.finish(self.state.time, memory, &mut surface);
        }
        surface
    }
}
