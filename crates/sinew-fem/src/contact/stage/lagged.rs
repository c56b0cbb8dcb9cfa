//! Friction and restitution of a step, from the contacts at its start.

use sinew_math::Vec3;
use sinew_math::parallel::sum;

use super::super::lagged::{Response, recall};
use super::super::restitution::{Meeting, travel};
use super::super::rule::Party;
use super::super::surface::{ContactModel, PlaneGroup};
use super::{Active, ContactStage, StepStart, combine};
use crate::state::State;

/// A contact that acted at the start of the step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lagged {
    pub key: [u32; 4],
    pub vertices: [u32; 4],
    pub weights: [f64; 4],
    pub response: Response,
    /// Σ wᵢ yᵢ at the start of the step, carried along with a half-space \[m\].
    pub anchor: Vec3,
}

impl Active {
    /// Index of its pair among those with restitution, and the sign of the order in which the pair names the two.
    fn pair(&self, contact: &ContactModel) -> Option<(usize, f64)> {
        let [g, h] = self.groups.map(|group| group as usize);
        let key = (g.min(h), g.max(h));
        let pair = contact.bouncing.binary_search_by_key(&key, |&(g, h, _)| (g, h)).ok()?;
        Some((pair, if g <= h { 1.0 } else { -1.0 }))
    }
}

impl ContactStage {
    /// Creates the lagged contacts from those at the start of the step.
    pub(super) fn lag(&mut self, contact: &ContactModel, state: &State) {
        let mut lagged = std::mem::take(&mut self.lagged);
        for active in self.active().filter(|active| active.is_lagged()) {
            let place = combine(active.vertices, active.weights, &self.start);
            let anchor = match contact.planes.iter().find(|plane| active.is_at(plane)) {
                Some(&PlaneGroup { collider, .. }) => {
                    self.poses[collider].to_world(state.history.collider_poses[collider].to_local(place))
                }
                None => place,
            };
            lagged.push(Lagged {
                key: active.key(),
                vertices: active.vertices,
                weights: active.weights,
                response: Response {
                    normal: active.normal,
                    normal_force: -active.slope,
                    friction: active.friction,
                    held: recall(&state.history.contact_memory, active.key()) * self.epsilon,
                    push: self.push(contact, active),
                },
                anchor,
            });
        }
        self.lagged = lagged;
    }

    /// Looks at the pairs that have a restitution: who meets whom, and how fast.
    pub(super) fn meet(&mut self, contact: &ContactModel, start: &StepStart<'_>) {
        let StepStart { state, dt, .. } = *start;
        let mut meetings = std::mem::take(&mut self.meetings);
        meetings.clear();
        meetings.resize(contact.bouncing.len(), Meeting::default());
        for active in self.active().filter(|active| active.bounces) {
            if let Some((pair, sign)) = active.pair(contact) {
                meetings[pair].add(active.normal * sign, -active.slope);
            }
        }
        self.meeting_speeds.clear();
        for (k, (meeting, &(g, h, beta))) in meetings.iter_mut().zip(&contact.bouncing).enumerate() {
            let [(v, m), (w, n)] = [g, h].map(|group| self.travel(contact, start, group));
            let before = state.history.meeting_speeds.get(k).copied().unwrap_or(0.0);
            self.meeting_speeds.push(meeting.complete(v - w, before, beta, 1.0 / (1.0 / m + 1.0 / n), dt));
        }
        self.meetings = meetings;
    }

    /// Velocity of the center of a group \[m/s\], and its mass \[kg\], which is infinite where the scene moves it.
    fn travel(&self, contact: &ContactModel, start: &StepStart<'_>, group: usize) -> (Vec3, f64) {
        let StepStart { masses, state, dt, .. } = *start;
        let points = &contact.groups[group].points;
        match contact.groups[group].party {
            Party::Body(_) | Party::Rigid(_) if !points.is_empty() => travel(masses, points.clone(), &state.velocities),
            Party::Body(_) => (Vec3::zero(), f64::INFINITY),
            Party::Rigid(_) => {
                let vertices = contact.groups[group].vertices.clone();
                let points = vertices.flat_map(|v| contact.carriers(v)).map(|&(point, _)| point as usize);
                let (sum, count) = points.fold((Vec3::zero(), 0), |(sum, n), p| (sum + state.velocities[p], n + 1));
                (sum / f64::from(count.max(1)), f64::INFINITY)
            }
            Party::Collider(collider) => {
                let motion = self.poses[collider].translation - state.history.collider_poses[collider].translation;
                (motion / dt, f64::INFINITY)
            }
        }
    }

    /// Force that the restitution of a contact adds \[N\].
    fn push(&self, contact: &ContactModel, active: &Active) -> f64 {
        let pair = if active.bounces { active.pair(contact) } else { None };
        pair.map_or(0.0, |(pair, sign)| self.meetings[pair].push(active.normal * sign, -active.slope))
    }

    /// Contacts at the start of a step, with the force on the first of each \[N\].
    pub fn forces(&self) -> impl Iterator<Item = (&Active, Vec3)> {
        let mut lagged = self.lagged.iter();
        self.active().map(move |active| match active.is_lagged().then(|| lagged.next()).flatten() {
            Some(lagged) => (active, lagged.response.force_at_rest(self.epsilon)),
            None => (active, active.normal * -active.slope),
        })
    }

    /// Motion of the first of a lagged contact relative to the second since the start of the step.
    pub(super) fn moved(&self, lagged: &Lagged) -> Vec3 {
        combine(lagged.vertices, lagged.weights, &self.y) - lagged.anchor
    }

    /// Energy of friction and restitution at the last evaluated positions \[J\].
    pub(super) fn lagged_energy(&self) -> f64 {
        sum(self.lagged.len(), |k| self.lagged[k].response.energy(self.moved(&self.lagged[k]), self.epsilon))
    }
}
