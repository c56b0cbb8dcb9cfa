//! Contact pairs of the model, from the `contact` table.

use std::collections::BTreeMap;

use sinew_fem::collider::collider_poses;
use sinew_fem::contact::{ContactMode, ContactRule, Group, Party};
use sinew_fem::model::Model;
use sinew_fem::surface_check::{StartOverlap, find_overlaps};
use sinew_geometry::Aabb;
use sinew_scene::spec::SolverKind;
use sinew_scene::spec::contact::{Contact, ContactMode as Mode, ContactPair};
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
                if let Some(rule) = self.contact_rule(contact, a, b) {
                    self.builder.contact(a, b, rule);
                }
            }
        }
    }

    /// Reports bodies that start inside each other: barriers cannot start like that, springs push them apart.
    pub(super) fn check_start(&mut self, model: &Model) {
        if model.contact.is_empty() {
            return;
        }
        let mut state = model.initial_state();
        collider_poses(&model.colliders, &model.initial_control(), &mut state.history.collider_poses);
        for overlap in find_overlaps(model, &state) {
            let StartOverlap { names: [a, b], mode, crossings, depth, place } = overlap;
            let who = if a == b {
                format!("{a} starts inside itself")
            } else {
                format!("{a} and {b} start inside each other")
            };
            let length = |value| format_quantity(value, Dimension::LENGTH);
            let [x, y, z] = place.map(length);
            let how = format!("{crossings} pairs of triangles intersect, {} deep at ({x}, {y}, {z})", length(depth));
            match mode {
                ContactMode::Penalty => {
                    self.notes.push(format!("{who}: {how}; contact pushes them apart from the first step on"));
                }
                ContactMode::Barrier => {
                    let problem =
                        self.scene.problem("contact.mode", format!("{who}, and a barrier cannot resolve that"));
                    let hint = "move them apart, give this pair `mode = \"penalty\"`, or `mode = \"none\"`";
                    self.problems.push(problem.label(how).hint(hint));
                }
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

    /// The rule of the table for two parties; `None` if they pass through each other, or if the collider has all
    /// settings.
    fn contact_rule(&mut self, contact: &Contact, a: Party, b: Party) -> Option<ContactRule> {
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
        let has_body = matches!(a, Party::Body(_)) || matches!(b, Party::Body(_));
        let mode = match mode {
            Mode::None => return None,
            Mode::Penalty if !matches!((a, b), (Party::Body(_), Party::Body(_))) => {
                if pair.is_some_and(|pair| pair.mode.is_some()) || !has_body {
                    return None;
                }
                let is_rigid = |party| matches!(party, Party::Rigid(_));
                if is_rigid(a) || is_rigid(b) {
                    let [a, b] = names.map(str::to_string);
                    self.notes
                        .push(format!("{a} and {b} pass through each other: contact between rigids needs barriers"));
                }
                return None;
            }
            Mode::Penalty => ContactMode::Penalty,
            Mode::Barrier => ContactMode::Barrier,
        };
        let (friction, restitution) = match b {
            Party::Collider(index) => (self.scene.collider[index].friction, self.scene.collider[index].restitution),
            _ => (contact.friction, contact.restitution),
        };
        Some(ContactRule {
            mode,
            friction: pair.and_then(|pair| pair.friction).unwrap_or(friction),
            restitution: self.restitution(pair.and_then(|pair| pair.restitution).unwrap_or(restitution)),
            stiffness: pair.and_then(|pair| pair.stiffness).or(contact.stiffness),
            tangential: pair.and_then(|pair| pair.tangential).unwrap_or(contact.tangential),
            gap: pair.and_then(|pair| pair.gap).or(contact.gap),
        })
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
