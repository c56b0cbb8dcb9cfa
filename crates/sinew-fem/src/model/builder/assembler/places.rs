//! Unknowns and points: rigid bodies, free nodes, and nodes that are bound to others.

use std::collections::BTreeMap;

use sinew_geometry::embedding::Embedding;
use sinew_math::Vec3;

use super::deformation::NodeUnknowns;
use super::{Assembler, ModelError};
use crate::force::{AttachTarget, entries_of};
use crate::model::RigidBody;
use crate::model::rigid::extents;

/// Longest chain of nodes that hang on others: sizes of cells halve from one to the next.
const DEEPEST: usize = 12;

impl Assembler {
    pub(super) fn place_rigid_bodies(&mut self) -> Result<(), ModelError> {
        for params in &self.parts.rigid {
            let wrong = |reason: &str| ModelError::Rigid { name: params.name.clone(), reason: reason.into() };
            let extent =
                extents(&params.shape).ok_or_else(|| wrong("a plane has no volume and cannot be a rigid body"))?;
            if !(params.mass > 0.0 && params.mass.is_finite()) {
                return Err(wrong("mass must be positive"));
            }
            let block = self.kinematics.add_rigid_block();
            let unknowns = self.kinematics.rigid_blocks()[block as usize];
            self.initial.push((unknowns.translation, params.pose.translation));
            self.rotations.push(params.pose.rotation);
            if params.driven_about.is_some() {
                self.kinematics.fix(unknowns.translation, [true; 3]);
                self.kinematics.fix(unknowns.rotation, [true; 3]);
            }
            let first = self.kinematics.point_count();
            for axis in 0..3 {
                for sign in [-1.0, 1.0] {
                    let local = Vec3::unit(axis) * (sign * 3f64.sqrt() * extent[axis]);
                    self.kinematics.add_rigid_point(block, local);
                    self.masses.push(params.mass / 6.0);
                    let arm = params.pose.rotation.rotate(local);
                    self.velocities.push(params.velocity + params.angular_velocity.cross(arm));
                }
            }
            self.rigid.push(RigidBody {
                name: params.name.clone(),
                shape: params.shape.clone(),
                block,
                points: first..first + 6,
                surface: 0..0,
                mass: params.mass,
            });
        }
        Ok(())
    }

    /// Which target each bound node follows, per body.
    fn bindings_by_node(&self) -> Result<Vec<BTreeMap<u32, AttachTarget>>, ModelError> {
        let mut by_node = vec![BTreeMap::new(); self.parts.bodies.len()];
        for (body, nodes, target) in &self.parts.bindings {
            for &node in nodes {
                if by_node[*body].insert(node, *target).is_some() {
                    let body = self.parts.bodies[*body].name.clone();
                    return Err(ModelError::BoundTwice { body, node });
                }
            }
        }
        Ok(by_node)
    }

    pub(super) fn place_nodes(&mut self) -> Result<(), ModelError> {
        let bindings = self.bindings_by_node()?;
        let mut first = self.kinematics.point_count();
        for body in &self.parts.bodies {
            self.first_point.push(first);
            first += body.mesh.node_count();
        }
        // Unknowns of all free nodes first, so that bindings to later bodies find them.
        let mut unknowns: Vec<NodeUnknowns> = Vec::new();
        for (index, bound) in bindings.iter().enumerate() {
            let hanging = self.parts.hanging.get(&index).cloned().unwrap_or_default();
            if let Some(node) = hanging.keys().find(|node| bound.contains_key(node)) {
                let body = self.parts.bodies[index].name.clone();
                return Err(ModelError::BoundTwice { body, node: *node });
            }
            unknowns.push(self.add_unknowns(index, |node| bound.contains_key(&node) || hanging.contains_key(&node))?);
        }
        for (index, bound) in bindings.iter().enumerate() {
            let embeddings = self.embed_bound_nodes(index, bound)?;
            let hanging = self.free_ends(index)?;
            for node in 0..self.parts.bodies[index].mesh.node_count() as u32 {
                let body = &self.parts.bodies[index];
                let position = body.mesh.positions()[node as usize];
                self.masses.push(0.0);
                self.velocities.push(body.velocities.get(node as usize).copied().unwrap_or(Vec3::zero()));
                match bound.get(&node) {
                    None if hanging.contains_key(&node) => {
                        let place = |n: u32| body.mesh.positions()[n as usize];
                        let weights = unknowns[index].weights_between(&hanging[&node], place);
                        let name = || body.name.clone();
                        let weights =
                            weights.ok_or_else(|| ModelError::BindToBound { body: name(), target: name() })?;
                        self.kinematics.add_weighted_point(&weights);
                    }
                    None => self.add_node(index, node, &unknowns[index]),
                    Some(AttachTarget::Rigid(rigid)) => {
                        let pose = &self.parts.rigid[*rigid].pose;
                        self.kinematics.add_rigid_point(self.rigid[*rigid].block, pose.to_local(position));
                    }
                    Some(_) => {
                        let (target, entries) = &embeddings[&node];
                        let flesh = &self.parts.bodies[*target];
                        let place = |n: u32| flesh.mesh.positions()[n as usize];
                        let weights = unknowns[*target].weights_between(entries, place).ok_or_else(|| {
                            ModelError::BindToBound { body: body.name.clone(), target: flesh.name.clone() }
                        })?;
                        self.kinematics.add_weighted_point(&weights);
                    }
                }
            }
        }
        Ok(())
    }

    /// What the nodes of a body that hang follow: nodes that do not, with weights.
    fn free_ends(&self, index: usize) -> Result<BTreeMap<u32, Vec<(u32, f64)>>, ModelError> {
        let Some(hanging) = self.parts.hanging.get(&index) else { return Ok(BTreeMap::new()) };
        let body = &self.parts.bodies[index];
        let count = body.mesh.node_count() as u32;
        let mut found = BTreeMap::new();
        for (&node, &ends) in hanging {
            let wrong = || ModelError::Hanging { body: body.name.clone(), node, ends };
            let (mut open, mut free) = (vec![(node, 1.0, 0)], BTreeMap::<u32, f64>::new());
            while let Some((at, weight, depth)) = open.pop() {
                match hanging.get(&at) {
                    _ if at >= count || depth > DEEPEST => return Err(wrong()),
                    Some(ends) => open.extend(ends.map(|end| (end, 0.5 * weight, depth + 1))),
                    None => *free.entry(at).or_insert(0.0) += weight,
                }
            }
            found.insert(node, free.into_iter().collect());
        }
        Ok(found)
    }

    /// Weights of the nodes that are bound to other flesh: node → (target body, entries).
    fn embed_bound_nodes(
        &self,
        index: usize,
        bound: &BTreeMap<u32, AttachTarget>,
    ) -> Result<BTreeMap<u32, (usize, Vec<(u32, f64)>)>, ModelError> {
        let body = &self.parts.bodies[index];
        let mut result = BTreeMap::new();
        for target in 0..self.parts.bodies.len() {
            let nodes: Vec<u32> =
                bound.iter().filter(|(_, t)| **t == AttachTarget::Body(target)).map(|(n, _)| *n).collect();
            if nodes.is_empty() {
                continue;
            }
            let positions: Vec<Vec3> = nodes.iter().map(|&n| body.mesh.positions()[n as usize]).collect();
            let embedding = self.embed(index, target, &positions)?;
            for (k, node) in nodes.into_iter().enumerate() {
                result.insert(node, (target, entries_of(&embedding, k)));
            }
        }
        Ok(result)
    }

    fn embed(&self, body: usize, target: usize, positions: &[Vec3]) -> Result<Embedding, ModelError> {
        Embedding::bind(&self.parts.bodies[target].mesh, positions).map_err(|error| ModelError::Embedding {
            body: self.parts.bodies[body].name.clone(),
            reason: error.to_string(),
        })
    }
}
