//! Checks and assembles the parts of a model.

mod cells;
mod deformation;
mod forces;
mod motion;
mod muscles;
mod places;
mod surfaces;

use std::sync::Arc;

use sinew_math::{Quaternion, Vec3};

use surfaces::{flesh_surface, surface_of};

use super::super::collisions::{bones, contact_forces};
use super::super::{Body, BodyParams, Model, Revision, RigidBody};
use super::{ModelBuilder, ModelError, MuscleParams, Side};
use crate::collider::Collider;
use crate::contact::{ContactMode, ContactModel, ContactRule, FleshSurface, Parts, Party, RigidSurface, USUAL_CREEP};
use crate::control::ChannelTable;
use crate::force::{Bone, ContactForce, Force, Gravity};
use crate::kinematics::{Kinematics, Unknowns};

/// State of [`ModelBuilder::build`].
pub(super) struct Assembler {
    parts: ModelBuilder,
    kinematics: Kinematics,
    initial: Vec<(u32, Vec3)>,
    /// Initial positions of unknowns that do not start at rest.
    starts: Vec<(u32, Vec3)>,
    rotations: Vec<Quaternion>,
    first_point: Vec<usize>,
    rigid: Vec<RigidBody>,
    masses: Vec<f64>,
    velocities: Vec<Vec3>,
    channels: ChannelTable,
    forces: Vec<Box<dyn Force>>,
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
            forces: Vec::new(),
        };
        work.place_rigid_bodies()?;
        work.place_nodes()?;
        Ok(work)
    }

    pub(super) fn finish(mut self) -> Result<Model, ModelError> {
        // First, because springs to rigid bodies add points, and everything else is sized by the number of points.
        self.add_forces()?;
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
                    deformation: params.deformation,
                    mass,
                }
            })
            .collect();
        let Contact { contacts, bones, contact, surfaces } = self.contact(&bodies, &colliders, &rigid_surfaces);
        let initial = initial_unknowns(&self.kinematics, self.rotations, self.initial, self.starts);
        // One kind after the other: see `Model::forces`.
        let mut forces: Vec<Box<dyn Force>> = vec![Box::new(Gravity { masses: self.masses.clone(), acceleration })];
        forces.extend(self.forces);
        forces.extend(contacts.into_iter().map(|contact| Box::new(contact) as _));
        forces.extend(bones.into_iter().map(|bone| Box::new(bone) as _));
        Ok(Model {
            bodies,
            rigid_bodies: self.rigid,
            colliders,
            kinematics: self.kinematics,
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
            forces,
            contact,
            surfaces,
            channels: Arc::new(self.channels),
            revision: Revision::next(),
            initial,
            initial_velocities: self.velocities,
        })
    }

    /// What touches what, and how.
    fn contact(&mut self, bodies: &[Body], colliders: &[Collider], rigid: &[RigidSurface]) -> Contact {
        let creep = self.parts.creep.unwrap_or(USUAL_CREEP);
        let mut contacts = contact_forces(bodies, &self.rigid, rigid, colliders, &self.parts, creep);
        let rules = std::mem::take(&mut self.parts.contacts);
        let bones = bones(bodies, colliders, &self.parts.colliders, creep);
        let flesh: Vec<FleshSurface<'_>> = bodies.iter().map(flesh_surface).collect();
        let point_count = self.kinematics.point_count();
        let parts = Parts { point_count, bodies: &flesh, colliders, rigid };
        let outside = |contact: &&ContactForce| self.parts.colliders[contact.collider].side == Side::Outside;
        let with_colliders = contacts
            .iter()
            .filter(outside)
            .map(|contact| (contact.party, Party::Collider(contact.collider), ContactRule::default()));
        let surfaces = ContactModel::new(&parts, rules.iter().copied().chain(with_colliders), creep);
        // Penalty contact with colliders is a separate force.
        let of_surfaces = rules.iter().copied().filter(|(a, b, rule)| {
            let has_collider = matches!(a, Party::Collider(_)) || matches!(b, Party::Collider(_));
            !(has_collider && rule.mode == ContactMode::Penalty)
        });
        let contact = ContactModel::new(&parts, of_surfaces, creep);
        contacts.iter_mut().for_each(|force| force.meeting = contact.bouncing.len() + force.index);
        Contact { contacts, bones, contact, surfaces }
    }
}

/// What comes of the rules of contact.
struct Contact {
    contacts: Vec<ContactForce>,
    bones: Vec<Bone>,
    contact: ContactModel,
    surfaces: ContactModel,
}

/// Unknowns of the initial state: at rest, or where bodies start.
fn initial_unknowns(
    kinematics: &Kinematics,
    rotations: Vec<Quaternion>,
    rest: Vec<(u32, Vec3)>,
    starts: Vec<(u32, Vec3)>,
) -> Unknowns {
    let mut initial = Unknowns { vectors: vec![Vec3::zero(); kinematics.unknown_count()], rotations };
    for (unknown, value) in rest {
        initial.vectors[unknown as usize] = value;
    }
    for (unknown, place) in starts {
        let fixed = kinematics.fixed(unknown as usize);
        for axis in (0..3).filter(|&axis| !fixed[axis]) {
            initial.vectors[unknown as usize][axis] = place[axis];
        }
    }
    initial
}
