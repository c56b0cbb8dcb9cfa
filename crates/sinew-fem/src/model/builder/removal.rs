//! The parts of a model without some cells of a body.
//!
//! Nodes that no cell uses any more go with the cells, and everything that refers to cells, nodes or places follows:
//! what stands on lost flesh goes too, each part with its share of stiffness or force. What stays keeps its order, its
//! names and its channels, so that tracks, probes and recordings go on.

mod surface;

use std::collections::BTreeSet;

use sinew_geometry::embedding::{Embedding, Outside};
use sinew_geometry::{CellMesh, MeshError, RemainingMesh};
use sinew_math::Vec3;
use thiserror::Error;

use super::{AttachPoints, AttachTarget, BodyParams, FleshPlace, ModelBuilder};
use crate::model::topology::{BodyMap, TopologyMap};

/// Distance of a place from the remaining flesh, over its size, up to which it lies in it.
const ROUNDING: f64 = 1e-9;

/// Why cells cannot be taken away.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum RemovalError {
    /// There is nothing to take away.
    #[error("body \"{body}\" has none of these cells")]
    NoCells {
        /// The body.
        body: String,
    },
    /// Some were taken away before.
    #[error("{count} of {all} cells of body \"{body}\" were removed before")]
    RemovedBefore {
        /// The body.
        body: String,
        /// Cells that are gone.
        count: usize,
        /// Cells to remove.
        all: usize,
    },
    /// Nothing would be left.
    #[error("all {count} cells of body \"{body}\" would be gone; a body keeps at least one")]
    AllCells {
        /// The body.
        body: String,
        /// Cells that were left.
        count: usize,
    },
    /// Something that would have nothing to hold or pull any more.
    #[error("{what} \"{name}\" of body \"{body}\" would lose all {count} of its {of}")]
    LosesAll {
        /// The body.
        body: String,
        /// A pin, a strand, a tendon or a sheath.
        what: &'static str,
        /// Its name.
        name: String,
        /// How many there were.
        count: usize,
        /// Nodes, generators, tendons or triangles.
        of: &'static str,
    },
    /// A probe watches what goes.
    #[error("probe \"{probe}\" watches flesh that would be gone")]
    Watched {
        /// The first of its values.
        probe: String,
    },
    /// Forces from outside the engine number its points themselves.
    #[error("custom forces cannot follow: they know points by their numbers, which change")]
    CustomForces,
    /// What is left is no mesh or no model.
    #[error("what is left cannot be simulated: {reason}")]
    Rest {
        /// What is wrong with it.
        reason: String,
    },
}

impl From<MeshError> for RemovalError {
    fn from(error: MeshError) -> Self {
        Self::Rest { reason: error.to_string() }
    }
}

impl From<super::ModelError> for RemovalError {
    fn from(error: super::ModelError) -> Self {
        Self::Rest { reason: error.to_string() }
    }
}

/// The parts of a model without some cells.
pub struct Remaining {
    /// What is left.
    pub parts: ModelBuilder,
    /// New numbers of nodes and cells.
    pub map: TopologyMap,
    /// What lost a part of itself, in words.
    pub notes: Vec<String>,
}

impl ModelBuilder {
    /// A copy of the parts, to change and build again.
    pub fn try_clone(&self) -> Result<Self, RemovalError> {
        if !self.custom.is_empty() {
            return Err(RemovalError::CustomForces);
        }
        Ok(Self {
            bodies: self.bodies.clone(),
            rigid: self.rigid.clone(),
            colliders: self.colliders.clone(),
            bindings: self.bindings.clone(),
            pins: self.pins.clone(),
            follows: self.follows.clone(),
            attachments: self.attachments.clone(),
            muscles: self.muscles.clone(),
            strands: self.strands.clone(),
            tendons: self.tendons.clone(),
            sheaths: self.sheaths.clone(),
            inversion_barrier: self.inversion_barrier.clone(),
            pressures: self.pressures.clone(),
            loads: self.loads.clone(),
            nodal_forces: self.nodal_forces.clone(),
            custom: Vec::new(),
            contacts: self.contacts.clone(),
            creep: self.creep,
            gravity: self.gravity,
        })
    }

    /// The same parts without some cells of a body.
    pub fn without_cells(&self, body: usize, cells: &[u32]) -> Result<Remaining, RemovalError> {
        let mut parts = self.try_clone()?;
        let whole = &self.bodies[body];
        let gone: BTreeSet<u32> = cells.iter().copied().filter(|&c| (c as usize) < whole.mesh.cell_count()).collect();
        let name = whole.name.clone();
        if gone.is_empty() {
            return Err(RemovalError::NoCells { body: name });
        }
        if gone.len() == whole.mesh.cell_count() {
            return Err(RemovalError::AllCells { body: name, count: gone.len() });
        }
        let rest = whole.mesh.with_cells(|cell| !gone.contains(&(cell as u32)))?;
        let mut loss = Loss::new(body, whole, rest);
        loss.cut_body(&mut parts.bodies[body]);
        loss.cut_pins(&mut parts)?;
        loss.cut_bindings(&mut parts);
        loss.cut_attachments(&mut parts);
        loss.cut_muscles(&mut parts);
        loss.cut_strands(&mut parts)?;
        loss.cut_tendons(&mut parts)?;
        loss.cut_surfaces(&mut parts)?;
        loss.cut_loads(&mut parts);
        let Loss { rest: RemainingMesh { nodes, cells, .. }, notes, .. } = loss;
        let mut bodies = vec![None; self.bodies.len()];
        bodies[body] = Some(BodyMap { nodes, cells });
        Ok(Remaining { parts, map: TopologyMap { bodies }, notes })
    }
}

/// What a body loses.
struct Loss<'a> {
    body: usize,
    whole: &'a BodyParams,
    rest: RemainingMesh,
    /// Boundary triangles of the rest, corners sorted.
    boundary: BTreeSet<[u32; 3]>,
    notes: Vec<String>,
}

impl<'a> Loss<'a> {
    fn new(body: usize, whole: &'a BodyParams, rest: RemainingMesh) -> Self {
        let boundary = rest.mesh.boundary_triangles().into_iter().map(sorted).collect();
        Self { body, whole, rest, boundary, notes: Vec::new() }
    }

    /// New number of a node of a body; `None` when it is gone.
    fn node(&self, body: usize, node: u32) -> Option<u32> {
        if body == self.body { self.rest.nodes.get(node as usize).copied().flatten() } else { Some(node) }
    }

    /// Which of some places of the flesh at rest are gone with the cells that held them.
    fn lost_places(&self, body: usize, places: &[Vec3]) -> Vec<bool> {
        if body != self.body || places.is_empty() {
            return vec![false; places.len()];
        }
        let (mesh, rest) = (&self.whole.mesh, &self.rest.mesh);
        // Places that cannot be bound are left for the assembler to refuse.
        let Ok(before) = Embedding::bind(mesh, places) else { return vec![false; places.len()] };
        let Ok(after) = Embedding::bind_with(rest, places, Outside::Clamp) else { return vec![false; places.len()] };
        let mut nearest = vec![Vec3::zero(); places.len()];
        after.positions(rest.positions(), &mut nearest);
        let near = ROUNDING * mesh.bounds().diagonal();
        // On a face between a cell that goes and one that stays a place stays.
        let is_lost =
            |k: usize| self.rest.cells[before.cells()[k] as usize].is_none() && nearest[k].distance(places[k]) > near;
        (0..places.len()).map(is_lost).collect()
    }

    fn note(&mut self, body: &str, what: &str, name: &str, lost: usize, of: usize, things: &str) {
        if lost > 0 {
            self.notes.push(format!("{what} \"{name}\" of body \"{body}\" loses {lost} of {of} {things}"));
        }
    }

    fn cut_body(&self, body: &mut BodyParams) {
        let (nodes, cells) = (&self.rest.nodes, &self.rest.cells);
        retain(&mut body.materials, cells);
        retain(&mut body.densities, cells);
        retain(&mut body.start, nodes);
        retain(&mut body.velocities, nodes);
        if let Some(lattice) = &mut body.lattice {
            let mut numbers = cells.iter();
            lattice.retain(|_| numbers.next().is_some_and(Option::is_some));
        }
        body.surface = body.surface.as_ref().map(|surface| self.cut_surface(surface));
        body.mesh = self.rest.mesh.clone();
    }

    fn cut_pins(&mut self, parts: &mut ModelBuilder) -> Result<(), RemovalError> {
        let body = self.body;
        for pin in parts.pins.iter_mut().filter(|pin| pin.body == body) {
            let numbers: Vec<Option<u32>> = pin.nodes.iter().map(|&node| self.node(pin.body, node)).collect();
            let count = pin.nodes.len();
            retain(&mut pin.offsets, &numbers);
            pin.nodes = numbers.into_iter().flatten().collect();
            if pin.nodes.is_empty() && count > 0 {
                return Err(self.loses_all("pin", &pin.name, count, "nodes"));
            }
            self.note(&self.whole.name.clone(), "pin", &pin.name, count - pin.nodes.len(), count, "nodes");
        }
        for follow in parts.follows.iter_mut().filter(|follow| follow.body == body) {
            retain(&mut follow.weights, &self.rest.nodes);
        }
        Ok(())
    }

    fn loses_all(&self, what: &'static str, name: &str, count: usize, of: &'static str) -> RemovalError {
        RemovalError::LosesAll { body: self.whole.name.clone(), what, name: name.into(), count, of }
    }

    /// Nodes that were bound to lost flesh are free from now on.
    fn cut_bindings(&mut self, parts: &mut ModelBuilder) {
        let ModelBuilder { bindings, bodies, .. } = parts;
        for (body, nodes, target) in bindings {
            if *target == AttachTarget::Body(self.body) {
                let rest = bodies[*body].mesh.positions();
                let places: Vec<Vec3> = nodes.iter().map(|&node| rest[node as usize]).collect();
                let is_lost = self.lost_places(self.body, &places);
                let count = nodes.len();
                drop_marked(nodes, &is_lost);
                if nodes.len() < count {
                    let (free, name) = (count - nodes.len(), &bodies[*body].name);
                    self.notes.push(format!("{free} nodes of body \"{name}\" come free of \"{}\"", self.whole.name));
                }
            }
            *nodes = nodes.iter().filter_map(|&node| self.node(*body, node)).collect();
        }
    }

    fn cut_attachments(&mut self, parts: &mut ModelBuilder) {
        let ModelBuilder { attachments, bodies, .. } = parts;
        for attachment in attachments {
            let body = attachment.body;
            // The body itself has been cut already: places of its nodes are those of the whole.
            let mesh: &CellMesh = if body == self.body { &self.whole.mesh } else { &bodies[body].mesh };
            let (places, mut is_lost) = match &attachment.points {
                AttachPoints::Nodes(nodes) => {
                    let places: Vec<Vec3> = nodes.iter().map(|&node| mesh.positions()[node as usize]).collect();
                    (places, nodes.iter().map(|&node| self.node(body, node).is_none()).collect())
                }
                AttachPoints::Places(places) => (places.clone(), self.lost_places(body, places)),
            };
            attachment.pivot.get_or_insert(places.iter().sum::<Vec3>() / places.len().max(1) as f64);
            if let AttachTarget::Body(target) = attachment.target {
                is_lost.iter_mut().zip(self.lost_places(target, &places)).for_each(|(lost, gone)| *lost |= gone);
            }
            match &mut attachment.points {
                AttachPoints::Nodes(nodes) => {
                    drop_marked(nodes, &is_lost);
                    *nodes = nodes.iter().filter_map(|&node| self.node(body, node)).collect();
                }
                AttachPoints::Places(places) => drop_marked(places, &is_lost),
            }
            drop_marked(&mut attachment.stiffness, &is_lost);
            let lost = is_lost.iter().filter(|lost| **lost).count();
            let owner = bodies[body].name.clone();
            self.note(&owner, "attachment", &attachment.name, lost, is_lost.len(), "springs");
        }
    }

    fn cut_muscles(&mut self, parts: &mut ModelBuilder) {
        let (body, owner) = (self.body, self.whole.name.clone());
        for muscle in parts.muscles.iter_mut().filter(|muscle| muscle.body == body) {
            let numbers: Vec<Option<u32>> = muscle.cells.iter().map(|&cell| self.rest.cells[cell as usize]).collect();
            retain(&mut muscle.directions, &numbers);
            retain(&mut muscle.stress, &numbers);
            let count = numbers.len();
            muscle.cells = numbers.into_iter().flatten().collect();
            self.note(&owner, "muscle", &muscle.name, count - muscle.cells.len(), count, "cells");
        }
    }

    /// New numbers of places in flesh; `None` for those that are gone.
    fn flesh_places(&self, places: &[FleshPlace]) -> Vec<Option<FleshPlace>> {
        let inside: Vec<Vec3> = places.iter().filter_map(|place| self.own_place(place)).collect();
        let mut is_lost = self.lost_places(self.body, &inside).into_iter();
        let number = |place: &FleshPlace| match *place {
            FleshPlace::Node { body, node } => self.node(body, node).map(|node| FleshPlace::Node { body, node }),
            other if self.own_place(place).is_some() => (!is_lost.next().unwrap_or(false)).then_some(other),
            other => Some(other),
        };
        places.iter().map(number).collect()
    }

    fn own_place(&self, place: &FleshPlace) -> Option<Vec3> {
        match *place {
            FleshPlace::Place { body, place } if body == self.body => Some(place),
            _ => None,
        }
    }

    /// A generator without one of its ends is gone; the others pull as before.
    fn cut_strands(&mut self, parts: &mut ModelBuilder) -> Result<(), RemovalError> {
        let ModelBuilder { strands, bodies, .. } = parts;
        for strand in strands {
            let numbers: Vec<Vec<Option<FleshPlace>>> =
                strand.columns.iter().map(|column| self.flesh_places(column)).collect();
            let count = |columns: &[Vec<FleshPlace>]| columns.iter().map(|c| c.len().saturating_sub(1)).sum::<usize>();
            let (columns, generators) = (strand.columns.len(), count(&strand.columns));
            let pairs = || numbers.iter().flat_map(|column| column.windows(2));
            let is_lost: Vec<bool> = pairs().map(|pair| pair.iter().any(Option::is_none)).collect();
            let lost = is_lost.iter().filter(|lost| **lost).count();
            if lost == 0 {
                strand.columns = numbers.into_iter().map(|column| column.into_iter().flatten().collect()).collect();
                continue;
            }
            if lost == generators {
                return Err(self.loses_all("strand", &strand.name, generators, "generators"));
            }
            let pieces = numbers.iter().flat_map(|column| column.split(Option::is_none));
            let pieces = pieces.filter(|piece| piece.len() > 1);
            strand.columns = pieces.map(|piece| piece.iter().copied().flatten().collect()).collect();
            if !strand.factors.is_empty() {
                drop_marked(&mut strand.factors, &is_lost);
            }
            let scaling = strand.scaling;
            let kept = scaling.share(strand.columns.len(), generators - lost);
            let factor = scaling.share(columns, generators) / kept;
            strand.force *= factor;
            strand.passive_force *= factor;
            let owner = bodies[strand.body].name.clone();
            self.note(&owner, "strand", &strand.name, lost, generators, "generators");
        }
        Ok(())
    }

    fn cut_tendons(&mut self, parts: &mut ModelBuilder) -> Result<(), RemovalError> {
        let ModelBuilder { tendons, bodies, .. } = parts;
        for tendon in tendons {
            let (places, anchors): (Vec<FleshPlace>, Vec<Vec3>) = tendon.ends.iter().copied().unzip();
            let target = if let AttachTarget::Body(body) = tendon.target { body } else { usize::MAX };
            let gone = self.lost_places(target, &anchors);
            let ends = self.flesh_places(&places).into_iter().zip(anchors).zip(gone);
            let count = places.len();
            tendon.ends = ends.filter(|(_, gone)| !gone).filter_map(|((place, at), _)| Some((place?, at))).collect();
            if tendon.ends.is_empty() {
                return Err(self.loses_all("tendon", &tendon.name, count, "strings"));
            }
            tendon.force *= tendon.ends.len() as f64 / count as f64;
            let owner = bodies[tendon.body].name.clone();
            self.note(&owner, "tendon", &tendon.name, count - tendon.ends.len(), count, "strings");
        }
        Ok(())
    }

    /// Sheaths and pressures stay on triangles that are still on the boundary; what the removal lays bare has neither.
    fn cut_surfaces(&mut self, parts: &mut ModelBuilder) -> Result<(), RemovalError> {
        let (body, owner) = (self.body, self.whole.name.clone());
        for (_, name, triangles, _) in parts.sheaths.iter_mut().filter(|sheath| sheath.0 == body) {
            let lost = self.cut_triangles(triangles);
            if triangles.is_empty() {
                return Err(self.loses_all("sheath", name, lost, "triangles"));
            }
            self.note(&owner, "sheath", name, lost, lost + triangles.len(), "triangles");
        }
        for (_, name, triangles) in parts.pressures.iter_mut().filter(|pressure| pressure.0 == body) {
            let lost = self.cut_triangles(triangles);
            self.note(&owner, "pressure", name, lost, lost + triangles.len(), "triangles");
        }
        Ok(())
    }

    /// Drops the triangles that are not on the boundary any more; returns how many.
    fn cut_triangles(&self, triangles: &mut Vec<[u32; 3]>) -> usize {
        let count = triangles.len();
        let renumbered = triangles.iter().filter_map(|&triangle| self.triangle(triangle));
        *triangles = renumbered.filter(|&triangle| self.boundary.contains(&sorted(triangle))).collect();
        count - triangles.len()
    }

    fn triangle(&self, [a, b, c]: [u32; 3]) -> Option<[u32; 3]> {
        Some([self.node(self.body, a)?, self.node(self.body, b)?, self.node(self.body, c)?])
    }

    fn cut_loads(&mut self, parts: &mut ModelBuilder) {
        let (body, owner) = (self.body, self.whole.name.clone());
        for (_, name, weights) in parts.loads.iter_mut().filter(|load| load.0 == body) {
            let count = weights.len();
            *weights = self.numbered(weights);
            self.note(&owner, "load", name, count - weights.len(), count, "nodes");
        }
        for (_, name, forces) in parts.nodal_forces.iter_mut().filter(|load| load.0 == body) {
            let count = forces.len();
            *forces = self.numbered(forces);
            self.note(&owner, "load", name, count - forces.len(), count, "nodes");
        }
    }

    fn numbered<T: Copy>(&self, entries: &[(u32, T)]) -> Vec<(u32, T)> {
        entries.iter().filter_map(|&(node, value)| Some((self.node(self.body, node)?, value))).collect()
    }
}

/// Corners in ascending order: a triangle, whichever way around.
fn sorted(mut triangle: [u32; 3]) -> [u32; 3] {
    triangle.sort_unstable();
    triangle
}

/// Keeps the entries of a list that have a new number; an empty list stays empty.
fn retain<T, N>(list: &mut Vec<T>, numbers: &[Option<N>]) {
    let mut numbers = numbers.iter();
    list.retain(|_| numbers.next().is_some_and(Option::is_some));
}

fn drop_marked<T>(list: &mut Vec<T>, is_lost: &[bool]) {
    let mut marks = is_lost.iter();
    list.retain(|_| !marks.next().copied().unwrap_or(false));
}
