//! What can be seen of contact: where, which way, how hard.

use sinew_math::Vec3;

use super::rule::{ORDINARY_DEPTH, Party};
use super::stage::ContactStage;
use crate::contacts::Touch;
use crate::control::Control;
use crate::model::Model;
use crate::state::State;

/// One place of contact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactPoint {
    /// The one that is pushed, and the one that pushes.
    pub between: [Party; 2],
    /// Where \[m\].
    pub place: Vec3,
    /// Unit vector towards the first of the two.
    pub normal: Vec3,
    /// Force on the first, with friction \[N\].
    pub force: Vec3,
    /// Distance, below zero where they have sunk in \[m\].
    pub gap: f64,
    /// Rest area that the place stands for \[m²\]; zero where another place stands for it already.
    pub area: f64,
}

/// Lets bodies that start inside colliders come out slowly.
pub(crate) fn allow_start(model: &mut Model, state: &State) {
    let cells: Vec<f64> = model.bodies.iter().map(|body| body.cell_size()).collect();
    for contact in &mut model.contacts {
        if let Some(pose) = state.history.collider_poses.get(contact.collider) {
            contact.allow_start(pose, &state.positions, ORDINARY_DEPTH * cells[contact.body]);
        }
    }
}

/// Places of contact that memory is kept for from the start.
const MAX_RESERVED: usize = 1 << 16;

/// Contacts with colliders to keep memory for at once, so that frames in which more points touch do not allocate; not for the rare model where all could.
pub(crate) fn most_touches(model: &Model) -> usize {
    model.contacts.iter().map(|contact| contact.point_count()).sum::<usize>().min(MAX_RESERVED)
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
        points.reserve(most_touches(model));
        for contact in &model.contacts {
            let Some(pose) = state.history.collider_poses.get(contact.collider) else { continue };
            self.touches.clear();
            contact.find_touches(model, state, control, dt, &mut self.touches);
            points.extend(self.touches.iter().map(|touch| {
                let (area, response) = (contact.areas[touch.point as usize], &touch.response);
                ContactPoint {
                    between: [Party::Body(contact.body), Party::Collider(contact.collider)],
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
        self.stage.find_contacts(model, state, control, dt);
        self.seen.clear();
        self.seen.resize(model.contact.vertex_count(), false);
        for (active, force) in self.stage.forces() {
            let first = active.vertices[0] as usize;
            // An edge, or a vertex that touches several triangles, adds a force but no area.
            let is_new = active.weights[0] == 1.0 && !std::mem::replace(&mut self.seen[first], true);
            points.push(ContactPoint {
                between: active.groups.map(|group| model.contact.groups[group as usize].party),
                place: self.stage.place_of(active),
                normal: active.normal,
                force,
                gap: active.gap,
                area: if is_new { model.contact.areas[first] } else { 0.0 },
            });
        }
    }
}
