//! The parts of a model without some cells of a body.
//!
//! Nodes that no cell uses any more go with the cells, and everything that refers to cells, nodes or places follows:
//! what stands on lost flesh goes too, each part with its share of stiffness or force. What stays keeps its order, its
//! names and its channels, so that tracks, probes and recordings go on.

mod surface;

use std::collections::BTreeSet;

use sinew_geometry::embedding::{Embedding, Outside};
use sinew_geometry::{MeshError, RemainingMesh};
use sinew_math::Vec3;
use thiserror::Error;

use super::{BodyParams, ModelBuilder};
use crate::faces::sorted_corners;
use crate::force::{AttachTarget, NodeMap};
use crate::model::Deformation;
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
    /// The coordinates of a body in few coordinates belong to all of its cells.
    #[error("body \"{body}\" deforms as a whole; leave its `deformation` out to remove cells")]
    DeformsAsWhole {
        /// The body.
        body: String,
    },
    /// A probe watches what goes.
    #[error("probe \"{probe}\" watches flesh that would be gone")]
    Watched {
        /// The first of its values.
        probe: String,
    },
    /// A force from outside the engine has no [`crate::force::ForceParams::renumbered`].
    #[error("a force of this model does not renumber its nodes, so no cells can be removed")]
    CannotFollow,
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
    /// The same parts without some cells of a body.
    pub fn without_cells(&self, body: usize, cells: &[u32]) -> Result<Remaining, RemovalError> {
        let mut parts = self.clone();
        let whole = &self.bodies[body];
        let gone: BTreeSet<u32> = cells.iter().copied().filter(|&c| (c as usize) < whole.mesh.cell_count()).collect();
        let name = whole.name.clone();
        if gone.is_empty() {
            return Err(RemovalError::NoCells { body: name });
        }
        if gone.len() == whole.mesh.cell_count() {
            return Err(RemovalError::AllCells { body: name, count: gone.len() });
        }
        if whole.deformation != Deformation::Free {
            return Err(RemovalError::DeformsAsWhole { body: name });
        }
        let rest = whole.mesh.with_cells(|cell| !gone.contains(&(cell as u32)))?;
        let mut loss = Loss::new(body, &self.bodies, rest);
        loss.cut_body(&mut parts.bodies[body]);
        loss.cut_pins(&mut parts)?;
        loss.cut_bindings(&mut parts);
        loss.cut_hanging(&mut parts);
        loss.cut_muscles(&mut parts);
        loss.cut_forces(&mut parts)?;
        let Loss { rest: RemainingMesh { nodes, cells, .. }, notes, .. } = loss;
        let mut bodies = vec![None; self.bodies.len()];
        bodies[body] = Some(BodyMap { nodes, cells });
        Ok(Remaining { parts, map: TopologyMap { bodies }, notes })
    }
}

/// What a body loses.
struct Loss<'a> {
    body: usize,
    /// All bodies, with all cells.
    bodies: &'a [BodyParams],
    whole: &'a BodyParams,
    rest: RemainingMesh,
    /// Boundary triangles of the rest, corners sorted.
    boundary: BTreeSet<[u32; 3]>,
    notes: Vec<String>,
}

impl<'a> Loss<'a> {
    fn new(body: usize, bodies: &'a [BodyParams], rest: RemainingMesh) -> Self {
        let boundary = rest.mesh.boundary_triangles().into_iter().map(sorted_corners).collect();
        Self { body, bodies, whole: &bodies[body], rest, boundary, notes: Vec::new() }
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

    /// Nodes hang on as long as both ends of their edge are there.
    fn cut_hanging(&mut self, parts: &mut ModelBuilder) {
        let Some(hanging) = parts.hanging.get_mut(&self.body) else { return };
        let all = std::mem::take(hanging).into_iter();
        let kept = all.filter_map(|(node, [a, b])| {
            let new = |node: u32| self.node(self.body, node);
            Some((new(node)?, [new(a)?, new(b)?]))
        });
        *hanging = kept.collect();
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

    /// A triangle of the body by its new numbers.
    fn triangle(&self, [a, b, c]: [u32; 3]) -> Option<[u32; 3]> {
        Some([self.node(self.body, a)?, self.node(self.body, b)?, self.node(self.body, c)?])
    }

    fn cut_forces(&mut self, parts: &mut ModelBuilder) -> Result<(), RemovalError> {
        for force in &mut parts.forces {
            let new = force.renumbered(self).ok_or(RemovalError::CannotFollow)?;
            let owner = self.bodies[new.body].name.clone();
            if new.needs_some && new.lost == new.count {
                let (what, name, count, of) = (new.kind, new.name, new.count, new.things);
                return Err(RemovalError::LosesAll { body: owner, what, name, count, of });
            }
            self.note(&owner, new.kind, &new.name, new.lost, new.count, new.things);
            *force = new.params;
        }
        Ok(())
    }
}

impl NodeMap for Loss<'_> {
    fn node(&self, body: usize, node: u32) -> Option<u32> {
        if body == self.body { self.rest.nodes.get(node as usize).copied().flatten() } else { Some(node) }
    }

    fn rest_position(&self, body: usize, node: u32) -> Vec3 {
        self.bodies[body].mesh.positions()[node as usize]
    }

    fn places_left(&self, body: usize, places: &[Vec3]) -> Vec<bool> {
        self.lost_places(body, places).into_iter().map(|is_lost| !is_lost).collect()
    }

    fn is_boundary(&self, body: usize, triangle: [u32; 3]) -> bool {
        body != self.body || self.boundary.contains(&sorted_corners(triangle))
    }
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
