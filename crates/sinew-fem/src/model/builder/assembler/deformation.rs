//! Bodies in few coordinates: their unknowns, and how their nodes follow these.

use sinew_geometry::CellMesh;
use sinew_math::Vec3;

use super::super::super::body::Deformation;
use super::{Assembler, BodyParams, ModelError};
use crate::kinematics::affine::ControlPoints;

/// Distance of a start place from the nearest affine image of the body, over its size, that is rounding.
const START_ROUNDING: f64 = 1e-9;

/// How the nodes of a body follow the unknowns.
pub(super) enum NodeUnknowns {
    /// By an unknown of their own; `None` where nodes are bound.
    Own(Vec<Option<u32>>),
    /// By four control points, the first of which is this unknown.
    Affine(u32, ControlPoints),
    /// By the numbers that begin at this unknown.
    Modes(u32),
}

impl NodeUnknowns {
    /// Unknowns and weights of a place between nodes, which are at `rest`; `None` where a node has none.
    pub fn weights_between(&self, nodes: &[(u32, f64)], rest: impl Fn(u32) -> Vec3) -> Option<Vec<(u32, f64)>> {
        match self {
            Self::Own(unknowns) => {
                nodes.iter().map(|&(n, w)| unknowns[n as usize].map(|unknown| (unknown, w))).collect()
            }
            Self::Affine(first, control) => {
                let place = nodes.iter().map(|&(n, w)| rest(n) * w).sum();
                Some((*first..).zip(control.weights(place)).collect())
            }
            Self::Modes(_) => None,
        }
    }
}

impl Assembler {
    /// Adds the unknowns of a body whose nodes in `is_bound` follow something else.
    pub(super) fn add_unknowns(
        &mut self,
        index: usize,
        is_bound: impl Fn(u32) -> bool,
    ) -> Result<NodeUnknowns, ModelError> {
        let body = &self.parts.bodies[index];
        let nodes = 0..body.mesh.node_count() as u32;
        let wrong = |reason: &str| ModelError::Deformation { body: body.name.clone(), reason: reason.into() };
        if body.deformation != Deformation::Free {
            if body.lattice.is_some() {
                return Err(wrong("it cannot be on a lattice; give it a mesh"));
            }
            if nodes.clone().any(&is_bound) {
                return Err(wrong("its nodes cannot be bound to others; attach them by springs"));
            }
        }
        match &body.deformation {
            Deformation::Free => {
                let unknowns = nodes.map(|node| (!is_bound(node)).then(|| self.kinematics.add_unknown()));
                Ok(NodeUnknowns::Own(unknowns.collect()))
            }
            Deformation::Affine => {
                let (rest, masses) = (body.mesh.positions(), shared_masses(body));
                let control = ControlPoints::new(rest, &masses);
                let (places, unknowns) = (control.places(), control.places().map(|_| self.kinematics.add_unknown()));
                self.initial.extend(unknowns.into_iter().zip(places));
                if !body.start.is_empty() {
                    let start = control.fit(rest, &masses, &body.start);
                    let size = body.mesh.bounds().size().norm();
                    let is_affine = rest.iter().zip(&body.start).all(|(&rest, &place)| {
                        let image = control.weights(rest).into_iter().zip(start).map(|(w, q)| q * w).sum::<Vec3>();
                        image.distance(place) <= START_ROUNDING * size.max(place.norm())
                    });
                    if !is_affine {
                        return Err(wrong("no A and t bring its nodes to where they start, with x = A X + t"));
                    }
                    self.starts.extend(unknowns.into_iter().zip(start));
                }
                Ok(NodeUnknowns::Affine(unknowns[0], control))
            }
            Deformation::Modes(modes) => {
                if modes.is_empty() {
                    return Err(wrong("it has no mode"));
                }
                if modes.iter().any(|mode| mode.len() != body.mesh.node_count()) {
                    return Err(wrong("a mode has one vector for each node"));
                }
                if !modes.iter().flatten().all(|vector| vector.is_finite()) {
                    return Err(wrong("its modes must be finite"));
                }
                if !body.start.is_empty() {
                    return Err(wrong("it starts at rest"));
                }
                Ok(NodeUnknowns::Modes(self.kinematics.add_coordinates(modes.len())))
            }
        }
    }

    /// Adds the point of a node that is bound to nothing.
    pub(super) fn add_node(&mut self, index: usize, node: u32, unknowns: &NodeUnknowns) {
        let body = &self.parts.bodies[index];
        let rest = body.mesh.positions()[node as usize];
        match unknowns {
            NodeUnknowns::Own(unknowns) => {
                let Some(unknown) = unknowns[node as usize] else { return };
                self.kinematics.add_point_of_unknown(unknown);
                self.initial.push((unknown, rest));
                self.starts.extend(body.start.get(node as usize).map(|&place| (unknown, place)));
            }
            NodeUnknowns::Affine(first, control) => {
                let entries: Vec<(u32, f64)> = (*first..).zip(control.weights(rest)).collect();
                self.kinematics.add_weighted_point(&entries);
            }
            NodeUnknowns::Modes(first) => {
                if let Deformation::Modes(modes) = &body.deformation {
                    let modes: Vec<Vec3> = modes.iter().map(|mode| mode[node as usize]).collect();
                    self.kinematics.add_reduced_point(rest, *first, &modes);
                }
            }
        }
    }
}

/// Masses of the nodes of a body, each cell giving all its nodes the same: exact for tetrahedra and boxes \[kg\].
fn shared_masses(body: &BodyParams) -> Vec<f64> {
    let mesh: &CellMesh = &body.mesh;
    let mut masses = vec![0.0; mesh.node_count()];
    for ((kind, nodes), &density) in mesh.cells().zip(&body.densities) {
        let places: Vec<Vec3> = nodes.iter().map(|&node| mesh.positions()[node as usize]).collect();
        let share = density * kind.volume(&places) / nodes.len() as f64;
        nodes.iter().for_each(|&node| masses[node as usize] += share);
    }
    masses
}
