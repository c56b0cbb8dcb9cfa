//! Checks the parts of a model and puts them together.

mod muscles;
mod strands;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sinew_geometry::CellKind;
use sinew_geometry::embedding::{Embedding, Outside};
use sinew_geometry::lattice::HexLattice;
use sinew_math::{Quaternion, Vec3};

use super::super::collisions::{bones, contact_forces};
use super::super::faces::{balanced_triangles, contact_triangles};
use super::super::rigid::extents;
use super::super::{
    Body, BodyParams, DrivenRigid, Model, MotionSource, Pin, PinMotion, Revision, RigidBody, RigidParams,
    SkinningPredictor, Surface,
};
use super::{AttachParams, AttachPoints, AttachTarget, FollowedBy, ModelBuilder, ModelError, MuscleParams, Side};
use crate::contact::{ContactMode, ContactModel, ContactRule, Parts, Party, RigidSurface, USUAL_CREEP};
use crate::control::{ChannelId, ChannelTable};
use crate::elastic::ElasticBlock;
use crate::element::{Element, ElementError, Hex8, RestGeometry, Tet4, Tet10};
use crate::force::{
    Anchor, Attachment, Collider, ContactForce, ContactMotion, Gravity, Load, Pressure, Sheath, SpringPoint,
};
use crate::kinematics::{Kinematics, PointMap, Unknowns};
use crate::lattice::LatticeBlock;
use crate::material::{Law, MaterialSpec};
use crate::muscle::Muscle;

/// Work in progress of [`ModelBuilder::build`].
pub(super) struct Assembler {
    parts: ModelBuilder,
    kinematics: Kinematics,
    initial: Vec<(u32, Vec3)>,
    /// Places before the first step of unknowns that do not start at rest.
    starts: Vec<(u32, Vec3)>,
    rotations: Vec<Quaternion>,
    first_point: Vec<usize>,
    rigid: Vec<RigidBody>,
    masses: Vec<f64>,
    velocities: Vec<Vec3>,
    channels: ChannelTable,
}

impl Assembler {
    pub(super) fn new(parts: ModelBuilder) -> Result<Self, ModelError> {
        let mut work = Self {
            parts,
            kinematics: Kinematics::default(),
            initial: Vec::new(),
            starts: Vec::new(),
            rotations: Vec::new(),
            first_point: Vec::new(),
            rigid: Vec::new(),
            masses: Vec::new(),
            velocities: Vec::new(),
            channels: ChannelTable::default(),
        };
        work.place_rigid_bodies()?;
        work.place_nodes()?;
        Ok(work)
    }

    fn place_rigid_bodies(&mut self) -> Result<(), ModelError> {
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

    fn place_nodes(&mut self) -> Result<(), ModelError> {
        let bindings = self.bindings_by_node()?;
        let mut first = self.kinematics.point_count();
        for body in &self.parts.bodies {
            self.first_point.push(first);
            first += body.mesh.node_count();
        }
        // Unknowns of all free nodes first, so that bindings to later bodies find them.
        let mut unknown_of: Vec<Vec<Option<u32>>> = Vec::new();
        for (body, bound) in self.parts.bodies.iter().zip(&bindings) {
            unknown_of.push(
                (0..body.mesh.node_count() as u32)
                    .map(|node| (!bound.contains_key(&node)).then(|| self.kinematics.add_unknown()))
                    .collect(),
            );
        }
        for (index, bound) in bindings.iter().enumerate() {
            let body = &self.parts.bodies[index];
            let embeddings = self.embed_bound_nodes(index, bound)?;
            for (node, &position) in body.mesh.positions().iter().enumerate() {
                let node = node as u32;
                match (unknown_of[index][node as usize], bound.get(&node)) {
                    (Some(unknown), _) => {
                        self.kinematics.add_point_of_unknown(unknown);
                        self.initial.push((unknown, position));
                        self.starts.extend(body.start.get(node as usize).map(|&place| (unknown, place)));
                    }
                    (None, Some(AttachTarget::Rigid(rigid))) => {
                        let pose = &self.parts.rigid[*rigid].pose;
                        self.kinematics.add_rigid_point(self.rigid[*rigid].block, pose.to_local(position));
                    }
                    (None, _) => {
                        let (target, entries) = &embeddings[&node];
                        let weights: Option<Vec<(u32, f64)>> = entries
                            .iter()
                            .map(|&(n, w)| unknown_of[*target][n as usize].map(|unknown| (unknown, w)))
                            .collect();
                        let weights = weights.ok_or_else(|| ModelError::BindToBound {
                            body: body.name.clone(),
                            target: self.parts.bodies[*target].name.clone(),
                        })?;
                        self.kinematics.add_weighted_point(&weights);
                    }
                }
                self.masses.push(0.0);
                self.velocities.push(body.velocities.get(node as usize).copied().unwrap_or(Vec3::zero()));
            }
        }
        Ok(())
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

    fn point(&self, body: usize, node: u32) -> u32 {
        (self.first_point[body] + node as usize) as u32
    }

    pub(super) fn finish(mut self) -> Result<Model, ModelError> {
        // First, because springs to rigid bodies add points, and everything else is sized by the number of points.
        let attachments = self.attachments()?;
        let (strands, tendons) = (self.strands()?, self.tendons()?);
        let rigid_surfaces = self.rigid_surfaces();
        let point_count = self.kinematics.point_count();
        let gravity = self.parts.gravity;
        let acceleration = self.channels.add_vector("gravity", gravity.to_array());
        let mut mass_damping = vec![0.0; point_count];
        let (mut elastic, mut lattices, mut muscles) = (Vec::new(), Vec::new(), Vec::new());
        let (mut stiffness_damping, mut tissue_damping) = (Vec::new(), Vec::new());
        let mut bodies = Vec::new();
        let body_params = std::mem::take(&mut self.parts.bodies);
        for (index, params) in body_params.iter().enumerate() {
            let first_block = elastic.len();
            let own = self.muscles(index, params)?;
            let blocks = match &params.lattice {
                Some(lattice) => {
                    lattices.push(self.lattice_block(index, params, lattice, &own)?);
                    Vec::new()
                }
                None => self.elastic_blocks(index, params, point_count)?,
            };
            muscles.push(own);
            stiffness_damping.extend(std::iter::repeat_n(params.stiffness_damping, blocks.len()));
            tissue_damping.extend(std::iter::repeat_n(params.tissue_damping, blocks.len()));
            elastic.extend(blocks);
            let points = self.first_point[index]..self.first_point[index] + params.mesh.node_count();
            mass_damping[points.clone()].fill(params.mass_damping);
            bodies.push((points, first_block..elastic.len()));
        }
        self.parts.bodies = body_params;
        let (parts, channels) = (&self.parts, &mut self.channels);
        let stiffness = parts.bodies.iter().map(|body| channels.add(format!("{}.stiffness", body.name), 1.0)).collect();
        let pins = self.pins()?;
        let driven = self.driven();
        let skinning_predictor = self.skinning_predictor(&pins, &driven);
        let (pressures, loads) = self.pressures_and_loads();
        let sheaths = self.sheaths();
        let colliders = self.colliders();
        let bodies: Vec<Body> = std::mem::take(&mut self.parts.bodies)
            .into_iter()
            .zip(bodies)
            .map(|(params, (points, blocks))| {
                let surface = surface_of(&params);
                let mass = points.clone().map(|p| self.masses[p]).sum();
                Body {
                    name: params.name,
                    rest_volume: params.mesh.volume(),
                    mesh: params.mesh,
                    points,
                    surface,
                    elastic: blocks,
                    materials: params.materials,
                    mass,
                }
            })
            .collect();
        let rules = std::mem::take(&mut self.parts.contacts);
        let creep = self.parts.creep.unwrap_or(USUAL_CREEP);
        // The last rule of a pair counts.
        let modes: BTreeMap<(usize, usize), ContactMode> = rules
            .iter()
            .filter_map(|&(a, b, rule)| match (a, b) {
                (Party::Body(body), Party::Collider(collider)) | (Party::Collider(collider), Party::Body(body)) => {
                    Some(((body, collider), rule.mode))
                }
                _ => None,
            })
            .collect();
        let has_barrier = |body: usize, collider: usize| modes.get(&(body, collider)) == Some(&ContactMode::Barrier);
        let contacts = contact_forces(&bodies, &colliders, &self.parts.colliders, creep, has_barrier);
        let bones = bones(&bodies, &colliders, &self.parts.colliders, creep);
        let parts = Parts { bodies: &bodies, colliders: &colliders, rigid: &rigid_surfaces };
        let outside = |contact: &&ContactForce| self.parts.colliders[contact.collider].side == Side::Outside;
        let mut all = rules.clone();
        all.extend(
            contacts
                .iter()
                .filter(outside)
                .map(|contact| (Party::Body(contact.body), Party::Collider(contact.collider), ContactRule::default())),
        );
        let surfaces = ContactModel::new(&parts, &all, creep);
        // Penalty contact with colliders is a force of its own.
        let rules: Vec<_> = rules
            .into_iter()
            .filter(|(a, b, rule)| {
                let has_collider = matches!(a, Party::Collider(_)) || matches!(b, Party::Collider(_));
                !(has_collider && rule.mode == ContactMode::Penalty)
            })
            .collect();
        let contact = ContactModel::new(&parts, &rules, creep);
        let mut initial =
            Unknowns { vectors: vec![Vec3::zero(); self.kinematics.unknown_count()], rotations: self.rotations };
        for (unknown, value) in self.initial {
            initial.vectors[unknown as usize] = value;
        }
        for (unknown, place) in self.starts {
            let fixed = self.kinematics.fixed(unknown as usize);
            for axis in (0..3).filter(|&axis| !fixed[axis]) {
                initial.vectors[unknown as usize][axis] = place[axis];
            }
        }
        Ok(Model {
            bodies,
            rigid_bodies: self.rigid,
            colliders,
            kinematics: self.kinematics,
            gravity: Gravity { masses: self.masses.clone(), acceleration },
            masses: self.masses,
            mass_damping,
            stiffness_damping,
            tissue_damping,
            stiffness,
            elastic,
            muscles,
            lattices,
            pins,
            driven,
            skinning_predictor,
            attachments,
            pressures,
            loads,
            strands,
            tendons,
            sheaths,
            contacts,
            bones,
            contact,
            surfaces,
            custom: self.parts.custom,
            channels: Arc::new(self.channels),
            revision: Revision::next(),
            initial,
            initial_velocities: self.velocities,
        })
    }

    /// Groups the cells of a body by kind, law and whether all their nodes are unknowns; lumps their mass.
    fn elastic_blocks(
        &mut self,
        index: usize,
        params: &BodyParams,
        point_count: usize,
    ) -> Result<Vec<ElasticBlock>, ModelError> {
        check_cells(params)?;
        let mut groups: BTreeMap<(CellKind, Law, bool), Vec<u32>> = BTreeMap::new();
        for (cell, (kind, nodes)) in params.mesh.cells().enumerate() {
            let is_bound =
                nodes.iter().any(|&n| !matches!(self.kinematics.map(self.point(index, n) as usize), PointMap::Free(_)));
            let law = params.materials[cell].law();
            groups.entry((kind, law, is_bound)).or_default().push(cell as u32);
        }
        let mut blocks = Vec::new();
        for ((kind, law, has_bound_nodes), cells) in groups {
            // Parameters differ from cell to cell, but a law with a wrong rest state has it with all of them.
            let cell = cells[0] as usize;
            law.check_rest_state(&params.materials[cell].point()).map_err(|source| ModelError::Material {
                body: params.name.clone(),
                cell,
                source,
            })?;
            let nodes: Vec<u32> = cells.iter().flat_map(|&c| params.mesh.cell_nodes(c as usize)).copied().collect();
            let densities: Vec<f64> = cells.iter().map(|&c| params.densities[c as usize]).collect();
            let specs: Vec<MaterialSpec> = cells.iter().map(|&c| params.materials[c as usize]).collect();
            let group = CellGroup { body: index, first_point: self.first_point[index], cells, nodes, densities, specs };
            let rest = params.mesh.positions();
            let mut block = match kind {
                CellKind::Tet4 => group.into_block::<Tet4, 4>(rest, &mut self.masses, point_count),
                CellKind::Tet10 => group.into_block::<Tet10, 10>(rest, &mut self.masses, point_count),
                CellKind::Hex8 => group.into_block::<Hex8, 8>(rest, &mut self.masses, point_count),
            }
            .map_err(|source| ModelError::Element { body: params.name.clone(), source })?;
            block.has_bound_nodes = has_bound_nodes;
            if law.has_volume_term() {
                block.volume = params.volume;
            }
            self.add_fibers(index, params, law, &mut block)?;
            blocks.push(block);
        }
        Ok(blocks)
    }

    /// The cells of a body on a lattice; lumps their mass.
    fn lattice_block(
        &mut self,
        index: usize,
        params: &BodyParams,
        lattice: &HexLattice,
        muscles: &[Muscle],
    ) -> Result<LatticeBlock, ModelError> {
        check_cells(params)?;
        let wrong = |reason: &str| ModelError::Lattice { body: params.name.clone(), reason: reason.into() };
        if params.mesh.cell_count() != lattice.cells.len() || params.mesh.node_count() != lattice.node_places.len() {
            return Err(wrong("its mesh is another one"));
        }
        if params.stiffness_damping != 0.0 || params.tissue_damping != 0.0 {
            return Err(wrong("it can be damped by its mass only"));
        }
        if let Some((cell, spec)) = params.materials.iter().enumerate().find(|(_, spec)| spec.law() != Law::Corotated) {
            let law = spec.law().name().to_string();
            return Err(ModelError::LatticeLaw { body: params.name.clone(), cell, law });
        }
        let points = self.first_point[index]..self.first_point[index] + params.mesh.node_count();
        let unknown = |point: usize| match self.kinematics.map(point) {
            PointMap::Free(unknown) => Some(unknown as usize),
            _ => None,
        };
        let first = unknown(points.start).unwrap_or(0);
        if points.clone().enumerate().any(|(k, point)| unknown(point) != Some(first + k)) {
            return Err(wrong("its nodes cannot be bound to others; bind the other body to it"));
        }
        let share = lattice.cell.powi(3) / 8.0;
        for (cell, density) in lattice.cells.iter().zip(&params.densities) {
            for &node in &cell.nodes {
                self.masses[points.start + node as usize] += share * density;
            }
        }
        let lame = params.materials.iter().map(|spec| spec.lame().into()).collect();
        let unknowns = first..first + points.len();
        let fibers = self.lattice_fibers(index, params)?;
        let muscles = muscles.to_vec();
        let block = LatticeBlock::new(index, points, unknowns, lattice.clone(), lame, muscles, fibers);
        Ok(if self.parts.inversion_barrier.contains(&index) { block.with_inversion_barrier() } else { block })
    }

    fn pins(&mut self) -> Result<Vec<Pin>, ModelError> {
        let mut pins = Vec::new();
        for params in std::mem::take(&mut self.parts.pins) {
            let body = &self.parts.bodies[params.body];
            let prefix = format!("{}.pin.{}", body.name, params.name);
            let mut nodes = Vec::new();
            let mut points = Vec::new();
            for (k, &node) in params.nodes.iter().enumerate() {
                let offset = params.offsets.get(k).copied().unwrap_or(Vec3::zero());
                let point = self.point(params.body, node);
                let PointMap::Free(unknown) = self.kinematics.map(point as usize) else {
                    return Err(ModelError::PinOnBound { body: body.name.clone(), node });
                };
                self.kinematics.fix(unknown, params.axes);
                nodes.push((unknown, body.mesh.positions()[node as usize] + offset));
                points.push(point);
            }
            pins.push(Pin {
                name: params.name,
                body: params.body,
                nodes,
                points,
                axes: params.axes,
                pivot: params.pivot,
                motion: PinMotion {
                    translation: self.channels.add_vector(&format!("{prefix}.translation"), [0.0; 3]),
                    rotation: self.channels.add_vector(&format!("{prefix}.rotation"), [0.0; 3]),
                    deformation: self.channels.add_matrix(&format!("{prefix}.deformation")),
                },
            });
        }
        Ok(pins)
    }

    /// Leaders that there are not, a pin without nodes for one, lead nobody.
    fn skinning_predictor(&mut self, pins: &[Pin], driven: &[DrivenRigid]) -> SkinningPredictor {
        let mut predictor = SkinningPredictor::default();
        for params in std::mem::take(&mut self.parts.follows) {
            let leader = |by: &FollowedBy| match by {
                FollowedBy::Pin(name) => {
                    pins.iter().position(|pin| pin.body == params.body && pin.name == *name).map(MotionSource::Pin)
                }
                FollowedBy::Rigid(rigid) => {
                    driven.iter().position(|driven| driven.rigid == *rigid).map(MotionSource::Driven)
                }
            };
            let first = predictor.leaders.len() as u32;
            let leaders: Vec<Option<MotionSource>> = params.leaders.iter().map(leader).collect();
            let places: Vec<Option<u32>> = leaders
                .iter()
                .scan(first, |next, leader| {
                    let place = leader.map(|_| *next);
                    *next += u32::from(leader.is_some());
                    Some(place)
                })
                .collect();
            predictor.leaders.extend(leaders.into_iter().flatten());
            for (node, weights) in params.weights.iter().enumerate() {
                let point = self.point(params.body, node as u32);
                let PointMap::Free(unknown) = self.kinematics.map(point as usize) else { continue };
                let known = || weights.iter().filter_map(|&(leader, weight)| Some((places[leader as usize]?, weight)));
                let total: f64 = known().map(|(_, weight)| weight).sum();
                if total > 0.0 {
                    predictor.entries.extend(known().map(|(leader, weight)| (leader, weight / total)));
                    predictor.unknowns.push((unknown, predictor.entries.len() as u32));
                }
            }
        }
        predictor
    }

    fn driven(&mut self) -> Vec<DrivenRigid> {
        let (rigid, channels) = (&self.parts.rigid, &mut self.channels);
        let driven = rigid.iter().enumerate().filter_map(|(index, params)| {
            params.driven_about.map(|pivot| DrivenRigid {
                rigid: index,
                initial: params.pose,
                pivot,
                translation: channels.add_vector(&format!("{}.translation", params.name), [0.0; 3]),
                rotation: channels.add_vector(&format!("{}.rotation", params.name), [0.0; 3]),
            })
        });
        driven.collect()
    }

    fn attachments(&mut self) -> Result<Vec<Attachment>, ModelError> {
        let mut attachments = Vec::new();
        for params in std::mem::take(&mut self.parts.attachments) {
            let AttachParams { body, name, points, target, stiffness, pivot } = params;
            let (points, positions) = match points {
                AttachPoints::Nodes(nodes) => {
                    let rest = self.parts.bodies[body].mesh.positions();
                    let positions = nodes.iter().map(|&n| rest[n as usize]).collect();
                    (nodes.iter().map(|&node| self.point(body, node)).collect(), positions)
                }
                AttachPoints::Places(places) => (self.add_flesh_points(body, &places)?, places),
            };
            let anchors: Vec<Anchor> = match target {
                AttachTarget::World => positions.iter().map(|&p| Anchor::Place(p)).collect(),
                AttachTarget::Body(other) => {
                    let embedding = self.embed(body, other, &positions)?;
                    (0..positions.len())
                        .map(|k| {
                            let entries = entries_of(&embedding, k);
                            Anchor::Points(entries.into_iter().map(|(n, w)| (self.point(other, n), w)).collect())
                        })
                        .collect()
                }
                AttachTarget::Rigid(rigid) => {
                    let pose = self.parts.rigid[rigid].pose;
                    positions
                        .iter()
                        .map(|&p| Anchor::Points(vec![(self.add_rigid_anchor(rigid, pose.to_local(p)), 1.0)]))
                        .collect()
                }
            };
            let prefix = format!("{}.attach.{name}", self.parts.bodies[body].name);
            let motion = (target == AttachTarget::World).then(|| {
                (
                    self.channels.add_vector(&format!("{prefix}.translation"), [0.0; 3]),
                    self.channels.add_vector(&format!("{prefix}.rotation"), [0.0; 3]),
                )
            });
            let mean = || positions.iter().sum::<Vec3>() / positions.len().max(1) as f64;
            let pivot = pivot.unwrap_or_else(mean);
            let springs: Vec<SpringPoint> = points
                .iter()
                .zip(anchors)
                .zip(stiffness)
                .map(|((&point, anchor), stiffness)| SpringPoint { point, anchor, stiffness })
                .collect();
            attachments.push(Attachment { name: prefix, springs, motion, pivot });
        }
        Ok(attachments)
    }

    /// Adds massless points that follow the flesh of a body at these places at rest.
    fn add_flesh_points(&mut self, body: usize, places: &[Vec3]) -> Result<Vec<u32>, ModelError> {
        let params = &self.parts.bodies[body];
        let embedding = Embedding::bind_with(&params.mesh, places, Outside::Reject)
            .map_err(|error| ModelError::Outside { body: params.name.clone(), reason: error.to_string() })?;
        let mut points = Vec::new();
        for k in 0..places.len() {
            let unknown = |(node, weight): (u32, f64)| match self.kinematics.map(self.point(body, node) as usize) {
                PointMap::Free(unknown) => Ok((unknown, weight)),
                _ => Err(ModelError::PinOnBound { body: self.parts.bodies[body].name.clone(), node }),
            };
            let weights = entries_of(&embedding, k).into_iter().map(unknown).collect::<Result<Vec<_>, _>>()?;
            self.masses.push(0.0);
            self.velocities.push(Vec3::zero());
            points.push(self.kinematics.add_weighted_point(&weights));
        }
        Ok(points)
    }

    /// Adds a massless point fixed to a rigid body.
    fn add_rigid_anchor(&mut self, rigid: usize, local: Vec3) -> u32 {
        self.masses.push(0.0);
        self.velocities.push(Vec3::zero());
        self.kinematics.add_rigid_point(self.rigid[rigid].block, local)
    }

    /// Surfaces of rigid bodies that take part in contact, on points fixed to them.
    fn rigid_surfaces(&mut self) -> Vec<RigidSurface> {
        let mut surfaces = Vec::new();
        let touching: BTreeSet<Party> = self.parts.contacts.iter().flat_map(|&(a, b, _)| [a, b]).collect();
        for index in 0..self.parts.rigid.len() {
            let RigidParams { name, shape, pose, .. } = &self.parts.rigid[index];
            let mut surface = RigidSurface { name: name.clone(), points: vec![], rest: vec![], triangles: vec![] };
            if let Some(mesh) = shape.surface().filter(|_| touching.contains(&Party::Rigid(index))) {
                surface.rest = mesh.positions().iter().map(|&p| pose.to_world(p)).collect();
                surface.triangles = mesh.triangles().to_vec();
                surface.points = mesh.positions().iter().map(|&p| self.add_rigid_anchor(index, p)).collect();
            }
            surfaces.push(surface);
        }
        surfaces
    }

    fn pressures_and_loads(&mut self) -> (Vec<Pressure>, Vec<Load>) {
        let mut pressures = Vec::new();
        for (body, name, triangles) in std::mem::take(&mut self.parts.pressures) {
            let name = format!("{}.pressure.{name}", self.parts.bodies[body].name);
            let is_closed = is_closed(&triangles);
            let (triangles, shares) = balanced_triangles(&self.parts.bodies[body].mesh, &triangles)
                .into_iter()
                .map(|(triangle, share)| (triangle.map(|n| self.point(body, n)), share))
                .unzip();
            let channel = self.channels.add(name.clone(), 0.0);
            pressures.push(Pressure { name, triangles, shares, channel, is_closed });
        }
        let mut loads = Vec::new();
        for (body, name, weights) in std::mem::take(&mut self.parts.loads) {
            let name = format!("{}.load.{name}", self.parts.bodies[body].name);
            let points = weights.iter().map(|&(n, w)| (self.point(body, n), Vec3::splat(w))).collect();
            let channels: [ChannelId; 3] = self.channels.add_vector(&name, [0.0; 3]);
            loads.push(Load { name, points, channels: Some(channels) });
        }
        for (body, name, forces) in std::mem::take(&mut self.parts.nodal_forces) {
            let name = format!("{}.load.{name}", self.parts.bodies[body].name);
            let points = forces.into_iter().map(|(n, f)| (self.point(body, n), f)).collect();
            loads.push(Load { name, points, channels: None });
        }
        (pressures, loads)
    }

    fn sheaths(&mut self) -> Vec<Sheath> {
        let sheaths = std::mem::take(&mut self.parts.sheaths);
        let of = |(body, name, triangles, stiffness): (usize, String, Vec<[u32; 3]>, f64)| {
            let params = &self.parts.bodies[body];
            let rest = params.mesh.positions();
            let first = self.point(body, 0);
            let triangles: Vec<_> = contact_triangles(&params.mesh, &triangles)
                .into_iter()
                .map(|(triangle, share)| (triangle.map(|n| first + n), share))
                .collect();
            let name = format!("{}.sheath.{name}", params.name);
            Sheath::new(name, stiffness, &triangles, |point| rest[(point - first) as usize])
        };
        sheaths.into_iter().map(of).collect()
    }

    fn colliders(&mut self) -> Vec<Collider> {
        let params = &self.parts.colliders;
        let channels = &mut self.channels;
        params
            .iter()
            .map(|params| Collider {
                name: params.name.clone(),
                shape: params.shape.clone(),
                initial: params.pose,
                pivot: params.pivot,
                motion: ContactMotion {
                    translation: channels.add_vector(&format!("{}.translation", params.name), [0.0; 3]),
                    rotation: channels.add_vector(&format!("{}.rotation", params.name), [0.0; 3]),
                },
            })
            .collect()
    }
}

/// Refuses laws and densities that no cell can have.
fn check_cells(params: &BodyParams) -> Result<(), ModelError> {
    for (cell, spec) in params.materials.iter().enumerate() {
        spec.validate().map_err(|source| ModelError::Material { body: params.name.clone(), cell, source })?;
    }
    for (cell, &density) in params.densities.iter().enumerate() {
        if !(density > 0.0 && density.is_finite()) {
            return Err(ModelError::Density { body: params.name.clone(), cell, density });
        }
    }
    Ok(())
}

/// Cells of one body, kind and law.
struct CellGroup {
    body: usize,
    first_point: usize,
    cells: Vec<u32>,
    nodes: Vec<u32>,
    densities: Vec<f64>,
    specs: Vec<MaterialSpec>,
}

impl CellGroup {
    /// Adds the lumped masses of the cells and packs them.
    fn into_block<E: Element<N>, const N: usize>(
        self,
        rest_positions: &[Vec3],
        masses: &mut [f64],
        point_count: usize,
    ) -> Result<ElasticBlock, ElementError> {
        let geometry = RestGeometry::<N>::new::<E>(rest_positions, &self.nodes).map_err(|error| match error {
            // Name the cell of the mesh, not of the group.
            ElementError::NotPositive { cell, point, volume } => {
                ElementError::NotPositive { cell: self.cells[cell] as usize, point, volume }
            }
            other => other,
        })?;
        geometry.add_lumped_mass(&self.nodes, &self.densities, &mut masses[self.first_point..]);
        let points: Vec<u32> = self.nodes.iter().map(|&node| self.first_point as u32 + node).collect();
        Ok(ElasticBlock::new(self.body, self.cells, &geometry, &points, &self.specs, point_count))
    }
}

fn entries_of(embedding: &Embedding, k: usize) -> Vec<(u32, f64)> {
    let (nodes, weights) = embedding.entries(k);
    nodes.iter().copied().zip(weights.iter().copied()).filter(|e| e.1 != 0.0).collect()
}

/// Whether each edge is used once in each direction.
fn is_closed(triangles: &[[u32; 3]]) -> bool {
    let mut edges: Vec<(u32, u32)> = triangles.iter().flat_map(|&[a, b, c]| [(a, b), (b, c), (c, a)]).collect();
    let mut reversed: Vec<(u32, u32)> = edges.iter().map(|&(a, b)| (b, a)).collect();
    edges.sort_unstable();
    reversed.sort_unstable();
    edges == reversed
}

/// The visible surface: the given embedded one, or the boundary of the mesh with compact vertices.
fn surface_of(params: &BodyParams) -> Surface {
    let x = params.mesh.positions();
    let (triangles, parts, nearest_nodes, embedding) = match &params.surface {
        Some((triangles, embedding)) => {
            let nearest = (0..embedding.len())
                .map(|v| {
                    let (nodes, weights) = embedding.entries(v);
                    let heaviest = (0..nodes.len()).max_by(|&a, &b| weights[a].total_cmp(&weights[b])).unwrap_or(0);
                    nodes[heaviest]
                })
                .collect();
            let parts = triangles.iter().map(|&triangle| (triangle, 1.0)).collect();
            (triangles.clone(), parts, nearest, Some(embedding.clone()))
        }
        None => {
            let mut vertex_of = vec![u32::MAX; x.len()];
            let mut nodes = Vec::new();
            let mut triangles = params.mesh.boundary_triangles();
            let mut parts = contact_triangles(&params.mesh, &triangles);
            for node in triangles.iter_mut().flatten() {
                let vertex = &mut vertex_of[*node as usize];
                if *vertex == u32::MAX {
                    *vertex = nodes.len() as u32;
                    nodes.push(*node);
                }
                *node = *vertex;
            }
            for (triangle, _) in &mut parts {
                *triangle = triangle.map(|node| vertex_of[node as usize]);
            }
            (triangles, parts, nodes, None)
        }
    };
    let mut surface = Surface { triangles, nearest_nodes, embedding, areas: Vec::new() };
    let positions = surface.positions(x);
    surface.areas = vec![0.0; positions.len()];
    for (triangle, share) in parts {
        let [a, b, c] = triangle.map(|v| positions[v as usize]);
        for v in triangle {
            surface.areas[v as usize] += share * (b - a).cross(c - a).norm() / 6.0;
        }
    }
    surface
}
