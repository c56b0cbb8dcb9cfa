//! Cells that are taken away while a simulation runs.
//!
//! They go at the end of the first frame at or after their time: that frame shows what is left, with the velocities it
//! had. The model is then built anew from its parts ([`ModelBuilder::without_cells`]) and the state carried over
//! ([`State::carried`]). Which cells are gone depends on the number of the frame alone, so a state of any frame can be
//! taken up again.

use super::Simulation;
use crate::collider::collider_poses;
use crate::model::{Model, ModelBuilder, RemovalError, TopologyMap, allow_start};
use crate::report::Energies;
use crate::state::State;

/// Cells of a body that go at some time.
#[derive(Clone, Debug, PartialEq)]
pub struct Removal {
    /// The body.
    pub body: usize,
    /// Its cells, by their numbers at the start.
    pub cells: Vec<u32>,
    /// When they go \[s\].
    pub at: f64,
}

impl Removal {
    /// The first frame without the cells.
    pub fn frame(&self, frame_rate: f64) -> usize {
        // A time that is that of a frame but for rounding is.
        (self.at * frame_rate - 1e-6).ceil().max(0.0) as usize
    }
}

/// What goes when, and the parts of what is left.
pub(super) struct Removals {
    /// Parts of the model at the start.
    start: ModelBuilder,
    /// In order of time.
    schedule: Vec<Removal>,
    /// Removals that have happened.
    done: usize,
    /// What they left.
    left: Left,
    /// Points and unknowns of the model after each number of removals.
    sizes: Vec<[usize; 2]>,
}

/// The parts of a model after some removals.
struct Left {
    parts: ModelBuilder,
    /// New number of each cell of each body at the start.
    cells: Vec<Vec<Option<u32>>>,
    /// New number of each point at the start.
    points: Vec<Option<u32>>,
}

impl Left {
    /// Nothing is gone yet.
    fn all(parts: &ModelBuilder, model: &Model) -> Self {
        let numbers = |count: usize| (0..count as u32).map(Some).collect();
        Self {
            parts: parts.clone(),
            cells: model.bodies.iter().map(|body| numbers(body.mesh.cell_count())).collect(),
            points: numbers(model.kinematics.point_count()),
        }
    }

    /// Takes cells away from the model `old`; returns the new one, its numbers, and what lost a part of itself.
    fn remove(&mut self, removal: &Removal, old: &Model) -> Result<(Model, TopologyMap, Vec<String>), RemovalError> {
        let numbers = &self.cells[removal.body];
        let number = |&cell: &u32| numbers.get(cell as usize).copied().flatten();
        let cells: Vec<u32> = removal.cells.iter().filter_map(number).collect();
        let (count, all) = (removal.cells.len() - cells.len(), removal.cells.len());
        if count > 0 {
            let body = old.bodies[removal.body].name.clone();
            return Err(RemovalError::RemovedBefore { body, count, all });
        }
        let remaining = self.parts.without_cells(removal.body, &cells)?;
        let new = remaining.parts.clone().build()?;
        let points = remaining.map.points(old, &new);
        compose(&mut self.points, &points);
        for (own, map) in self.cells.iter_mut().zip(&remaining.map.bodies) {
            map.iter().for_each(|map| compose(own, &map.cells));
        }
        self.parts = remaining.parts;
        Ok((new, remaining.map, remaining.notes))
    }
}

/// numbers = next ∘ numbers.
fn compose(numbers: &mut [Option<u32>], next: &[Option<u32>]) {
    numbers.iter_mut().for_each(|number| *number = number.and_then(|number| next[number as usize]));
}

impl Simulation {
    /// Takes cells away while the simulation runs. `parts` are those that its model was built from.
    ///
    /// All removals are tried at once, in order of time: what is refused is refused here, with its place in the list.
    /// Returns for each what loses a part of itself, in words.
    pub fn schedule_removals(
        &mut self,
        parts: ModelBuilder,
        removals: &[Removal],
    ) -> Result<Vec<Vec<String>>, (usize, RemovalError)> {
        let mut order: Vec<usize> = (0..removals.len()).collect();
        order.sort_by_key(|&index| removals[index].frame(self.params.frame_rate));
        let mut left = Left::all(&parts, &self.model);
        let mut notes = vec![Vec::new(); removals.len()];
        let mut sizes = vec![sizes_of(&self.model)];
        let mut last: Option<Model> = None;
        for &index in &order {
            let refused = |error| (index, error);
            let old = last.as_ref().unwrap_or(&self.model);
            let (new, _, lost) = left.remove(&removals[index], old).map_err(refused)?;
            self.check_rest(&new, &left.points).map_err(refused)?;
            notes[index] = lost;
            sizes.push(sizes_of(&new));
            last = Some(new);
        }
        let left = Left::all(&parts, &self.model);
        let schedule = order.into_iter().map(|index| removals[index].clone()).collect();
        self.removals = Some(Removals { start: parts, schedule, done: 0, left, sizes });
        self.follow_schedule();
        self.backup.clone_from(&self.state);
        Ok(notes)
    }

    /// Whether tracks and probes can go on with what is left.
    fn check_rest(&self, model: &Model, points: &[Option<u32>]) -> Result<(), RemovalError> {
        let mut watched = Vec::new();
        for probe in &self.probes {
            watched.clear();
            probe.watched_points(&mut watched);
            if watched.iter().any(|&point| points[point as usize].is_none()) {
                return Err(RemovalError::Watched { probe: probe.names(&self.model).swap_remove(0) });
            }
        }
        let names: Vec<String> = self.probes.iter().flat_map(|probe| probe.names(model)).collect();
        if let Some(gone) = self.probe_names.iter().find(|name| !names.contains(name)) {
            return Err(RemovalError::Rest { reason: format!("the value \"{gone}\" would have nothing to tell of") });
        }
        // What has a name stays, be it empty.
        debug_assert_eq!(model.channels.names(), self.model.channels.names());
        debug_assert_eq!(names, self.probe_names);
        Ok(())
    }

    /// How often cells were taken away so far.
    pub fn topology_revision(&self) -> u64 {
        self.removals.as_ref().map_or(0, |removals| removals.done as u64)
    }

    /// Keeps models and states that removals replace, for those who look into their memory.
    pub fn keep_past_models(&mut self) {
        self.past.get_or_insert_default();
    }

    /// New number of each point of the model at the start; `None` while nothing is gone.
    pub(super) fn renumbered(&self) -> Option<&[Option<u32>]> {
        self.removals.as_ref().filter(|removals| removals.done > 0).map(|removals| removals.left.points.as_slice())
    }

    /// Points and unknowns of the model at a frame.
    pub(super) fn sizes_at(&self, frame: usize) -> [usize; 2] {
        self.removals.as_ref().map_or(sizes_of(&self.model), |removals| removals.sizes[self.removals_by(frame)])
    }

    /// Removals up to a frame.
    fn removals_by(&self, frame: usize) -> usize {
        let rate = self.params.frame_rate;
        self.removals.as_ref().map_or(0, |removals| removals.schedule.partition_point(|r| r.frame(rate) <= frame))
    }

    /// Takes away what is due at the current frame.
    pub(super) fn follow_schedule(&mut self) {
        let due = self.removals_by(self.frame_index);
        while self.removals.as_ref().is_some_and(|removals| removals.done < due) {
            self.remove_next();
        }
    }

    fn remove_next(&mut self) {
        let Some((mut model, map)) = self.next_model() else { return };
        self.allow_start_of(&mut model);
        let mut state = self.state.carried(&map, &self.model, &model);
        self.solver.prepare(&model, &mut state);
        // What goes takes its energy along: nothing of it is lost.
        let before = self.model.energies(&self.state, &self.control);
        let after = model.energies(&state, &self.control);
        let energies = &mut self.report.energies;
        *energies = Energies {
            elastic: energies.elastic + after.elastic - before.elastic,
            kinetic: energies.kinetic + after.kinetic - before.kinetic,
            gravity: energies.gravity + after.gravity - before.gravity,
            contact: energies.contact + after.contact - before.contact,
            other: energies.other + after.other - before.other,
        };
        state.history.work.start += after.total() - before.total();
        self.replace(model, state);
    }

    /// The model after the next removal, and its numbers.
    fn next_model(&mut self) -> Option<(Model, TopologyMap)> {
        let Removals { schedule, done, left, .. } = self.removals.as_mut()?;
        let removal = schedule.get(*done)?;
        let (model, map, _) = left.remove(removal, &self.model).expect("tried when it was scheduled");
        *done += 1;
        Some((model, map))
    }

    /// Rebuilds the model as it is at a frame, at its initial state, unless it is the same.
    pub(super) fn go_to_topology_of(&mut self, frame: usize) {
        let due = self.removals_by(frame);
        let Some(removals) = self.removals.as_mut().filter(|removals| removals.done != due) else { return };
        let mut model = removals.start.clone().build().expect("built when it was compiled");
        let mut left = Left::all(&removals.start, &model);
        for removal in &removals.schedule[..due] {
            (model, _, _) = left.remove(removal, &model).expect("tried when it was scheduled");
        }
        (removals.left, removals.done) = (left, due);
        self.allow_start_of(&mut model);
        let mut state = model.initial_state();
        self.solver.prepare(&model, &mut state);
        self.replace(model, state);
    }

    /// What starts inside of colliders comes out slowly, whichever cells are left of it.
    fn allow_start_of(&self, model: &mut Model) {
        let mut control = model.initial_control();
        self.drivers.iter().for_each(|driver| driver.apply(0.0, &mut control));
        let mut start = model.initial_state();
        collider_poses(&model.colliders, &control, &mut start.history.collider_poses);
        allow_start(model, &start);
    }

    fn replace(&mut self, model: Model, state: State) {
        self.backup = state.clone();
        if !self.step_backup.positions.is_empty() {
            self.step_backup = state.clone();
        }
        let model = std::mem::replace(&mut self.model, model);
        let state = std::mem::replace(&mut self.state, state);
        if let Some(past) = &mut self.past {
            past.push((model, state));
        }
        self.observed.take();
        self.spare.set(None);
    }
}

fn sizes_of(model: &Model) -> [usize; 2] {
    [model.kinematics.point_count(), model.kinematics.unknown_count()]
}
