//! Contact pairs of the model, from the `contact` table.

use std::collections::BTreeMap;

use sinew_fem::collider::collider_poses;
use sinew_fem::contact::{ContactMode, ContactRule, Group, Party, RestContact};
use sinew_fem::model::Model;
use sinew_fem::start_contact::{StartContact, StartSurfaces};
use sinew_geometry::Aabb;
use sinew_math::Vec3;
use sinew_scene::spec::contact::{Contact, ContactMode as Mode, ContactPair, ContactStart};
use sinew_scene::spec::mesh::{Mesh, Repair};
use sinew_scene::spec::{Scene, SolverKind};
use sinew_scene::{Dimension, format_quantity};

use super::Compiler;
use super::mesh::rounded_up;

/// Maximum number of bodies whose gap is reported one by one.
const TOLD_GAPS: usize = 3;

impl Compiler<'_> {
    pub(super) fn add_contacts(&mut self) {
        let scene = self.scene;
        let Some(contact) = &scene.contact else { return };
        self.builder.creep(contact.creep);
        let bodies = 0..scene.body.len();
        let mut parties: Vec<Party> = bodies.map(Party::Body).collect();
        parties.extend((0..scene.rigid.len()).map(Party::Rigid));
        parties.extend((0..scene.collider.len()).map(Party::Collider));
        for (k, &a) in parties.iter().enumerate() {
            for &b in &parties[k..] {
                match (self.contact_rule(contact, a, b), b) {
                    (Some(rule), _) => drop(self.builder.contact(a, b, rule)),
                    (None, Party::Collider(collider)) => drop(self.builder.pass(a, collider)),
                    (None, _) => {}
                }
            }
        }
    }

    /// Reports what touches or overlaps at the start: barriers cannot start like that, springs push it apart. With
    /// `start = "lift"`, returns the scene in which it is lifted.
    pub(super) fn check_start(&mut self, model: &Model) -> Option<Scene> {
        if model.surfaces.is_empty() {
            return None;
        }
        let mut state = model.initial_state();
        collider_poses(&model.colliders, &model.initial_control(), &mut state.history.collider_poses);
        let mut surfaces = StartSurfaces::new(model, &state, Vec3::from(self.scene.up.direction()));
        if self.scene.contact.as_ref().is_some_and(|contact| contact.start == ContactStart::Lift) {
            let lifts = surfaces.lifts();
            if !lifts.is_empty() {
                return Some(self.lifted(&lifts));
            }
        }
        for contact in surfaces.contacts() {
            self.report_start(contact);
        }
        self.note_tangles(model);
        None
    }

    /// The scene with bodies and rigids at greater heights.
    fn lifted(&mut self, lifts: &[(Party, f64)]) -> Scene {
        let mut scene = self.scene.clone();
        let up = Vec3::from(scene.up.direction());
        // It is compiled again, and says again what it has said.
        self.notes.clear();
        for &(party, height) in lifts {
            let position = match party {
                Party::Body(index) => &mut scene.body[index].position,
                Party::Rigid(index) => &mut scene.rigid[index].position,
                Party::Collider(_) => continue,
            };
            *position = (Vec3::from(*position) + up * height).to_array();
            let height = format_quantity(rounded_up(height), Dimension::LENGTH);
            self.notes.push(format!("{} starts {height} higher, free of others", self.party_name(party)));
        }
        if let Some(contact) = &mut scene.contact {
            contact.start = ContactStart::Keep;
        }
        scene
    }

    fn report_start(&mut self, contact: StartContact) {
        let StartContact { names: [a, b], mode, crossings, depth, place, lift, .. } = contact;
        let who = match (a == b, crossings > 0 || depth > 0.0) {
            (true, _) => format!("{a} starts inside itself"),
            (_, true) => format!("{a} and {b} start inside each other"),
            (_, false) => format!("{a} and {b} touch at the start"),
        };
        let length = |value| format_quantity(value, Dimension::LENGTH);
        let [x, y, z] = place.map(length);
        let how = match (crossings, depth > 0.0) {
            (0, false) => format!("at ({x}, {y}, {z})"),
            (0, true) => format!("{} deep at ({x}, {y}, {z})", length(depth)),
            _ => format!("{crossings} pairs of triangles intersect, {} deep at ({x}, {y}, {z})", length(depth)),
        };
        let lift = lift.map(|(which, height)| {
            format!("`{}` comes free {} higher", if which == 0 { &a } else { &b }, length(rounded_up(height)))
        });
        match mode {
            ContactMode::Penalty => {
                let lift = lift.map(|lift| format!("; {lift}")).unwrap_or_default();
                self.notes.push(format!("{who}: {how}; contact pushes them apart from the first step on{lift}"));
            }
            ContactMode::Barrier => {
                let problem = self.scene.problem("contact.mode", format!("{who}, and a barrier cannot resolve that"));
                let hint = match lift {
                    Some(lift) => format!(
                        "{lift}: move it, write `start = \"lift\"` in `[contact]`, or give this pair `mode = \"penalty\"`"
                    ),
                    None => "move them apart, write `start = \"part\"` in `[contact]`, which leaves them alone until they part, or give this pair `mode = \"penalty\"` or `\"none\"`".into(),
                };
                self.problems.push(problem.label(how).hint(hint));
            }
        }
    }

    /// Reports barriers that are wider than the bodies that they keep apart: usually a length in another unit.
    pub(super) fn check_gaps(&mut self, model: &Model) {
        let contact = &model.contact;
        let size_of = |group: &Group| match group.party {
            Party::Collider(_) => f64::INFINITY,
            _ => Aabb::from_points(&contact.rest[group.vertices.clone()]).size().max_component(),
        };
        let sizes: Vec<f64> = contact.groups.iter().map(size_of).collect();
        // Each body once, with any number of contacts.
        let mut widest: BTreeMap<usize, (usize, f64)> = BTreeMap::new();
        for (g, h, rule) in contact.pairs().filter(|(g, h, rule)| g != h && rule.mode == ContactMode::Barrier) {
            let smaller = if sizes[g] <= sizes[h] { g } else { h };
            if rule.gap > sizes[smaller] && widest.get(&smaller).is_none_or(|known| rule.gap > known.1) {
                widest.insert(smaller, (g + h - smaller, rule.gap));
            }
        }
        let length = |value| format_quantity(value, Dimension::LENGTH);
        if widest.len() > TOLD_GAPS {
            self.notes.push(format!(
                "{} bodies are smaller than the `gap` at which others repel them; the first:",
                widest.len()
            ));
        }
        for (smaller, (other, gap)) in widest.into_iter().take(TOLD_GAPS) {
            let (small, other) = (&contact.groups[smaller], &contact.groups[other]);
            let usual = length(rounded_up(0.1 * small.edge.min(other.edge)));
            self.notes.push(format!(
                "{} and {} repel each other from a `gap` of {} on, which is larger than {} itself ({}); a tenth of an edge is usual, here {usual}",
                small.name, other.name, length(gap), small.name, length(rounded_up(sizes[smaller])),
            ));
        }
    }

    /// The rule of the table for two parties; `None` if they pass through each other.
    fn contact_rule(&self, contact: &Contact, a: Party, b: Party) -> Option<ContactRule> {
        let names = [self.party_name(a), self.party_name(b)];
        let is_meant = |pair: &&ContactPair| {
            let [c, d] = [pair.between[0].as_str(), pair.between[1].as_str()];
            names == [c, d] || names == [d, c]
        };
        let pair = contact.pair.iter().rev().find(is_meant);
        let mode = match pair.and_then(|pair| pair.mode) {
            Some(mode) => mode,
            None if !self.touch_by_default(contact, a, b) => return None,
            None => contact.mode,
        };
        let mode = match mode {
            Mode::None => return None,
            Mode::Penalty => ContactMode::Penalty,
            Mode::Barrier => ContactMode::Barrier,
        };
        let (friction, restitution, stiffness) = match b {
            Party::Collider(index) => {
                let collider = &self.scene.collider[index];
                (collider.friction, collider.restitution, collider.stiffness)
            }
            _ => (contact.friction, contact.restitution, contact.stiffness),
        };
        Some(ContactRule {
            mode,
            friction: pair.and_then(|pair| pair.friction).unwrap_or(friction),
            restitution: self.restitution(pair.and_then(|pair| pair.restitution).unwrap_or(restitution)),
            stiffness: pair.and_then(|pair| pair.stiffness).or(stiffness),
            tangential: pair.and_then(|pair| pair.tangential).unwrap_or(contact.tangential),
            gap: pair.and_then(|pair| pair.gap).or(contact.gap),
            rest: self.rest_contact(contact, a, b),
        })
    }

    /// What becomes of places in which two parties cross at rest.
    fn rest_contact(&self, contact: &Contact, a: Party, b: Party) -> RestContact {
        let is_repaired = |party: Party| {
            let Party::Body(index) = party else { return false };
            let body = &self.scene.body[index];
            body.rig.is_some() && matches!(&body.mesh, Mesh::Fill(mesh) if mesh.repair == Repair::Auto)
        };
        match contact.start {
            ContactStart::Part => RestContact::LeftAlone,
            ContactStart::Auto if is_repaired(a) || is_repaired(b) => RestContact::LeftAlone,
            _ => RestContact::Guarded,
        }
    }

    /// Says how much of the surfaces contact leaves alone at the start.
    fn note_tangles(&mut self, model: &Model) {
        let tangles = &model.contact.tangles();
        let [places, vertices] = tangles.counts();
        let count = |count: usize, one: &str, many: &str| match count {
            1 => format!("one {one}"),
            count => format!("{count} {many}"),
        };
        if places > 0 {
            self.notes.push(format!(
                "{} of triangles cross at rest, in {}: contact leaves these alone until they part",
                count(tangles.rest_crossings(), "pair", "pairs"),
                count(places, "place", "places")
            ));
        }
        if vertices > 0 {
            let vertices = count(vertices, "vertex of the skin starts", "vertices of the skin start");
            self.notes.push(format!("{vertices} in or at a plane: contact leaves them alone until they are above it"));
        }
    }

    /// Restitution; in quasistatics there are no speeds.
    pub(super) fn restitution(&self, asked: f64) -> f64 {
        if self.scene.solver.kind == SolverKind::Quasistatic { 1.0 } else { asked }
    }

    /// Whether two parties collide unless a pair names them.
    fn touch_by_default(&self, contact: &Contact, a: Party, b: Party) -> bool {
        match (a, b) {
            (Party::Body(i), Party::Body(j)) if i == j => contact.with_itself,
            (Party::Body(i), Party::Body(j)) => !self.is_bound(i, j) && !self.is_bound(j, i),
            (Party::Body(i), Party::Rigid(_)) => {
                !self.scene.body[i].bind.iter().any(|bind| bind.to == self.party_name(b))
            }
            (Party::Rigid(i), Party::Rigid(j)) => i != j,
            (Party::Collider(_), _) => false,
            (_, Party::Collider(_)) => true,
            _ => false,
        }
    }

    fn is_bound(&self, body: usize, to: usize) -> bool {
        let (body, to) = (&self.scene.body[body], &self.scene.body[to].name);
        body.bind.iter().any(|bind| bind.to == *to) || body.over.iter().any(|layer| layer.body == *to)
    }

    fn party_name(&self, party: Party) -> &'_ str {
        match party {
            Party::Body(index) => &self.scene.body[index].name,
            Party::Rigid(index) => &self.scene.rigid[index].name,
            Party::Collider(index) => &self.scene.collider[index].name,
        }
    }
}
