//! Where the bodies of a model touch, each other and colliders.

use sinew_math::Vec3;

use super::Model;
use crate::contact::{ContactPoint, ContactStage, Contacts, ORDINARY_DEPTH, Party, StepStart, Touch};
use crate::control::Control;
use crate::force::ContactForce;
use crate::state::{History, State};

impl Model {
    /// What contact between bodies looks at when a step begins at `state`.
    pub(crate) fn step_start<'a>(&'a self, state: &'a State, control: &'a Control, dt: f64) -> StepStart<'a> {
        StepStart { colliders: &self.colliders, masses: &self.masses, state, control, dt }
    }
}

impl Contacts {
    /// Finds the touches at the positions and collider poses of `state`, where a step of length `dt` begins; reuses
    /// memory.
    pub fn find(&mut self, model: &Model, state: &State, control: &Control, dt: f64) {
        self.touches.resize_with(model.forces_of::<ContactForce>().count(), Vec::new);
        self.meeting_speeds.clear();
        for (touches, force) in self.touches.iter_mut().zip(model.forces_of::<ContactForce>()) {
            self.meeting_speeds.push(force.find_touches(&model.masses, state, control, dt, touches));
        }
    }

    /// Adds what the touches remember at the end `x` of their step.
    pub(crate) fn remember(&self, model: &Model, x: &[Vec3], control: &Control, dt: f64, history: &mut History) {
        self.remember_meetings(model, history);
        for (touches, force) in self.touches.iter().zip(model.forces_of::<ContactForce>()) {
            force.remember(touches, x, control, dt, &mut history.contact_memory);
        }
    }

    /// Adds the speeds at which bodies and colliders met.
    pub(crate) fn remember_meetings(&self, model: &Model, history: &mut History) {
        if model.forces_of::<ContactForce>().any(|force| force.bounce > 0.0) {
            history.meeting_speeds.extend(&self.meeting_speeds);
        }
    }
}

/// Lets bodies that start inside colliders come out slowly.
pub(crate) fn allow_start(model: &mut Model, state: &State) {
    for contact in model.forces_of_mut::<ContactForce>() {
        if let Some(pose) = state.history.collider_poses.get(contact.collider) {
            contact.allow_start(pose, &state.positions, ORDINARY_DEPTH * contact.cell);
        }
    }
}

/// Places of contact that memory is kept for from the start.
const MAX_RESERVED: usize = 1 << 16;

/// Contacts with colliders to keep memory for at once, so that frames in which more points touch do not allocate; not
/// for the rare model where all could.
pub(crate) fn max_touches(model: &Model) -> usize {
    model.forces_of::<ContactForce>().map(|contact| contact.point_count()).sum::<usize>().min(MAX_RESERVED)
}

/// Finds the places of contact of a state, with its own memory.
#[derive(Default)]
pub(crate) struct ContactFinder {
    stage: ContactStage,
    touches: Vec<Touch>,
    seen: Vec<bool>,
}

impl ContactFinder {
    /// Writes all places of contact in a fixed order.
    pub fn find(&mut self, model: &Model, state: &State, control: &Control, points: &mut Vec<ContactPoint>) {
        points.clear();
        let dt = if state.history.last_dt > 0.0 { state.history.last_dt } else { 1.0 };
        points.reserve(max_touches(model));
        for contact in model.forces_of::<ContactForce>() {
            let Some(pose) = state.history.collider_poses.get(contact.collider) else { continue };
            self.touches.clear();
            contact.find_touches(&model.masses, state, control, dt, &mut self.touches);
            points.extend(self.touches.iter().map(|touch| {
                let (area, response) = (contact.areas[touch.point as usize], &touch.response);
                ContactPoint {
                    between: [contact.party, Party::Collider(contact.collider)],
                    place: pose.to_world(touch.anchor),
                    normal: response.normal,
                    force: response.force_at_rest(contact.creep * dt),
                    // Points without an area are pushed by nothing.
                    gap: if area > 0.0 { -response.normal_force / (contact.stiffness * area) } else { 0.0 },
                    area,
                }
            }));
        }
        if model.contact.is_empty() {
            return;
        }
        self.stage.find_contacts(&model.contact, &model.step_start(state, control, dt));
        self.seen.clear();
        self.seen.resize(model.contact.vertex_count(), false);
        for (active, force) in self.stage.forces() {
            // An edge, or a vertex that touches several triangles, adds a force but no area.
            let mut area = 0.0;
            for (v, _) in active.vertices.iter().zip(active.weights).filter(|(_, w)| w.abs() == 1.0) {
                let is_new = !std::mem::replace(&mut self.seen[*v as usize], true);
                area += if is_new { model.contact.areas[*v as usize] } else { 0.0 };
            }
            points.push(ContactPoint {
                between: active.groups.map(|group| model.contact.groups[group as usize].party),
                place: self.stage.place_of(active),
                normal: active.normal,
                force,
                gap: active.gap,
                area,
            });
        }
    }
}
