//! What becomes of nodes and cells when the cells of a model change, and the state that is carried over.
//!
//! Mass belongs to cells: a node that loses some of its cells loses their share of its mass and keeps its velocity. So
//! the momentum Σ m v of what remains, summed over its own cells, is what it was.

mod contacts;

use std::collections::BTreeSet;

use sinew_math::Vec3;

use super::{Deformation, Model};
use crate::state::{History, State};

/// New numbers of the nodes and cells of one body; `None` for what is gone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BodyMap {
    /// By old node.
    pub nodes: Vec<Option<u32>>,
    /// By old cell.
    pub cells: Vec<Option<u32>>,
}

/// From the numbers before a change of cells to those after it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopologyMap {
    /// For each body; `None` where nothing has changed.
    pub bodies: Vec<Option<BodyMap>>,
}

impl TopologyMap {
    /// New number of each point of the old model; `None` for points that are gone, and for those that springs add
    /// behind the nodes, which are made anew.
    pub fn points(&self, old: &Model, new: &Model) -> Vec<Option<u32>> {
        let mut points = vec![None; old.kinematics.point_count()];
        for (before, after) in old.rigid_bodies.iter().zip(&new.rigid_bodies) {
            let masses = before.points.clone().zip(after.points.clone());
            let vertices = before.surface.clone().zip(after.surface.clone());
            masses.chain(vertices).for_each(|(from, to)| points[from] = Some(to as u32));
        }
        for ((before, after), map) in old.bodies.iter().zip(&new.bodies).zip(&self.bodies) {
            let first = after.points.start as u32;
            for (node, point) in before.points.clone().enumerate() {
                let node = map.as_ref().map_or(Some(node as u32), |map| map.nodes[node]);
                points[point] = node.map(|node| first + node);
            }
        }
        points
    }
}

/// Old numbers by new ones.
fn inverse(numbers: &[Option<u32>], count: usize) -> Vec<Option<usize>> {
    let mut old = vec![None; count];
    numbers.iter().enumerate().filter_map(|(from, to)| Some((from, (*to)? as usize))).for_each(|(from, to)| {
        old[to] = Some(from);
    });
    old
}

impl State {
    /// This state of the model `old` as one of the model `new`, whose nodes and cells are numbered by `map`.
    ///
    /// Positions, velocities, reactions and rates move along with their points, and contacts that still exist keep what
    /// they remember. What schemes over two steps remember was made by forces that are gone, and the spectra of
    /// lattices are those of other matrices: both are found anew.
    pub fn carried(&self, map: &TopologyMap, old: &Model, new: &Model) -> State {
        let points = map.points(old, new);
        let from = inverse(&points, new.kinematics.point_count());
        let mut state = new.initial_state();
        state.time = self.time;
        self.carry_unknowns(&from, old, new, &mut state);
        self.carry_shared_unknowns(old, new, &mut state);
        new.kinematics.place(&state.unknowns, &mut state.positions);
        state.velocities = self.velocities_of_points(&from, new, &state);
        carry(&self.reactions, &from, &mut state.reactions);
        let History { contact_exits, contact_depths, contact_tangles, contact_memory, .. } =
            contacts::carried(&self.history, &points, old, new);
        let History { depth, last_dt, rounding, next_dt, work, .. } = self.history;
        let (before, history) = (&self.history, &mut state.history);
        (history.depth, history.last_dt, history.rounding) = (depth, last_dt, rounding);
        (history.next_dt, history.work) = (next_dt, work);
        history.collider_poses.clone_from(&before.collider_poses);
        history.meeting_speeds.clone_from(&before.meeting_speeds);
        history.activations.clone_from(&before.activations);
        history.surfaces.clone_from(&before.surfaces);
        (history.contact_exits, history.contact_depths) = (contact_exits, contact_depths);
        history.contact_tangles = contact_tangles;
        history.contact_memory.extend(contact_memory);
        // The past of schemes over two steps was made by forces that are gone, so they begin anew.
        if !(before.previous_positions.is_empty() && before.accelerations.is_empty()) {
            history.last_dt = 0.0;
        }
        if !history.fiber_start.is_empty() {
            history.fiber_start.clone_from(&state.positions);
            carry(&before.fiber_start, &from, &mut history.fiber_start);
        }
        state
    }

    /// Unknowns and their rates. A node that was bound and is free now begins with the place and velocity it had.
    fn carry_unknowns(&self, from: &[Option<usize>], old: &Model, new: &Model, state: &mut State) {
        for (before, after) in old.kinematics.rigid_blocks().iter().zip(new.kinematics.rigid_blocks()) {
            for (b, a) in [(before.translation, after.translation), (before.rotation, after.rotation)] {
                self.carry_unknown(b, a, state);
            }
        }
        state.unknowns.rotations.clone_from(&self.unknowns.rotations);
        for (point, before) in from.iter().enumerate() {
            let (Some(a), Some(before)) = (new.kinematics.own_unknown(point), *before) else { continue };
            let a = a as usize;
            state.unknowns.vectors[a] = self.positions[before];
            let (rate, previous) = match old.kinematics.own_unknown(before) {
                Some(b) => (self.history.rates[b as usize], self.history.previous_rates[b as usize]),
                None => (self.velocities[before], self.velocities[before]),
            };
            (state.history.rates[a], state.history.previous_rates[a]) = (rate, previous);
        }
    }

    /// The unknown `before` of this state becomes the unknown `after` of the other.
    fn carry_unknown(&self, before: u32, after: u32, state: &mut State) {
        let (b, a) = (before as usize, after as usize);
        state.unknowns.vectors[a] = self.unknowns.vectors[b];
        state.history.rates[a] = self.history.rates[b];
        state.history.previous_rates[a] = self.history.previous_rates[b];
    }

    /// Unknowns of bodies in few coordinates, which keep all their cells.
    fn carry_shared_unknowns(&self, old: &Model, new: &Model, state: &mut State) {
        let shared = |model: &Model, body: usize| {
            let mut unknowns = Vec::new();
            model.bodies[body].points.clone().for_each(|point| model.kinematics.unknowns_of(point, &mut unknowns));
            unknowns.into_iter().collect::<BTreeSet<u32>>()
        };
        for body in (0..old.bodies.len()).filter(|&body| old.bodies[body].deformation != Deformation::Free) {
            for (before, after) in shared(old, body).into_iter().zip(shared(new, body)) {
                self.carry_unknown(before, after, state);
            }
        }
    }

    /// Velocities of all points of the new model: those of nodes as they were, of what follows them by their motion.
    fn velocities_of_points(&self, from: &[Option<usize>], new: &Model, state: &State) -> Vec<Vec3> {
        let mut motion = vec![Vec3::zero(); new.kinematics.unknown_count()];
        for (point, before) in from.iter().enumerate() {
            if let (Some(unknown), Some(before)) = (new.kinematics.own_unknown(point), *before) {
                motion[unknown as usize] = self.velocities[before];
            }
        }
        for rigid in &new.rigid_bodies {
            let block = new.kinematics.rigid_blocks()[rigid.block as usize];
            let velocity = |point: usize| from[point].map_or(Vec3::zero(), |before| self.velocities[before]);
            let points: Vec<usize> = rigid.points.clone().collect();
            // The six masses lie in pairs on three axes: ω = ½ Σ a × u / |a|² with arms a and their velocities u.
            let mut spin = Vec3::zero();
            for pair in points.chunks_exact(2) {
                let arm = (state.positions[pair[1]] - state.positions[pair[0]]) * 0.5;
                let speed = (velocity(pair[1]) - velocity(pair[0])) * 0.5;
                spin += arm.cross(speed) * (0.5 / arm.norm_squared());
            }
            motion[block.translation as usize] = points.iter().map(|&p| velocity(p)).sum::<Vec3>() / 6.0;
            motion[block.rotation as usize] = spin;
        }
        let mut velocities = vec![Vec3::zero(); new.kinematics.point_count()];
        new.kinematics.push_forward(&state.unknowns, &motion, &mut velocities);
        carry(&self.velocities, from, &mut velocities);
        velocities
    }
}

/// Values of points under their new numbers; those without an old one stay as they are.
fn carry(values: &[Vec3], from: &[Option<usize>], out: &mut [Vec3]) {
    for (out, before) in out.iter_mut().zip(from) {
        if let Some(value) = before.and_then(|before| values.get(before)) {
            *out = *value;
        }
    }
}
