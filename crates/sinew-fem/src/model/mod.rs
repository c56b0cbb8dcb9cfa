//! The constant part of a simulation: bodies, their connections, and forces.
//!
//! A [`ModelBuilder`] builds a [`Model`] once. It holds plain typed blocks, and steps never change it: one model serves
//! many states and threads.

mod body;
mod builder;
mod collisions;
mod moments;
mod muscles;
mod pace;
mod rigid;
mod skinning_predictor;
mod topology;
mod touching;

use std::any::{Any, TypeId};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use sinew_geometry::shape::Pose;
use sinew_math::{Mat3, Quaternion, Vec3};

pub use body::{Body, BodyParams, Deformation, Surface};
pub use builder::{
    ColliderParams, FollowParams, FollowedBy, ModelBuilder, ModelError, MuscleParams, PinParams, Remaining,
    RemovalError, Side,
};
pub use moments::Moments;
pub(crate) use muscles::StepDrive;
pub(crate) use pace::{increments_of_motion, parts_of_step};
pub use rigid::{RigidBody, RigidParams};
pub(crate) use skinning_predictor::Motion;
pub use skinning_predictor::{MotionSource, SkinningPredictor};
pub use topology::{BodyMap, TopologyMap};
use touching::max_touches;
pub(crate) use touching::{ContactFinder, allow_start};

use crate::collider::{Collider, collider_poses};
use crate::contact::{ContactMode, ContactModel, Contacts};
use crate::control::{ChannelId, ChannelTable, Control};
use crate::elastic::{Actuation, ElasticBlock};
use crate::force::{ActiveForce, Bone, EnergyPart, Force, StepContext, StepLimit};
use crate::kinematics::{Kinematics, Unknowns};
use crate::lattice::LatticeBlock;
use crate::muscle::Muscle;
use crate::report::{Energies, StepError};
pub use crate::revision::Revision;
use crate::state::{History, State};

/// Mechanical energies at positions `x` and velocities `v`.
pub(crate) fn energies(model: &Model, ctx: &StepContext<'_>, x: &[Vec3], v: &[Vec3]) -> Energies {
    energies_with(model, ctx, x, v, model.elastic_energy(x, ctx.control))
}

/// Like [`energies`], with a known strain energy.
pub(crate) fn energies_with(model: &Model, ctx: &StepContext<'_>, x: &[Vec3], v: &[Vec3], elastic: f64) -> Energies {
    let stored = |force: &dyn Force| force.stored(x, ctx);
    let of = |part: EnergyPart| model.forces().filter(move |force| force.energy_part() == part);
    // Each kind by itself, and then the kinds: this order is part of the results.
    let kinds = model.forces.chunk_by(|a, b| kind(a.as_ref()) == kind(b.as_ref()));
    let others = kinds.filter(|kind| kind[0].energy_part() == EnergyPart::Other);
    Energies {
        elastic,
        kinetic: sinew_math::parallel::sum(x.len(), |p| 0.5 * model.masses[p] * v[p].norm_squared()),
        gravity: of(EnergyPart::Gravity).map(stored).sum(),
        contact: of(EnergyPart::Contact).map(stored).sum(),
        other: others.map(|kind| kind.iter().map(|force| stored(force.as_ref())).sum::<f64>()).sum(),
    }
}

/// The type of a force.
fn kind(force: &dyn Force) -> TypeId {
    let force: &dyn Any = force;
    Any::type_id(force)
}

/// A group of pinned nodes.
#[derive(Clone, Debug)]
pub struct Pin {
    /// Name of the region.
    pub name: String,
    /// Body the nodes belong to.
    pub body: usize,
    /// Pinned unknowns with their position before any motion \[m\].
    pub nodes: Vec<(u32, Vec3)>,
    /// Points of `nodes`, for reactions.
    pub points: Vec<u32>,
    /// Pinned axes.
    pub axes: [bool; 3],
    /// Fixed point c of rotation and deformation \[m\].
    pub pivot: Vec3,
    /// Channels of the motion x ↦ c + R F (x − c) + t.
    pub motion: PinMotion,
}

/// Channels that move pinned nodes.
#[derive(Clone, Copy, Debug)]
pub struct PinMotion {
    /// Translation t \[m\].
    pub translation: [ChannelId; 3],
    /// Rotation vector of R \[rad\].
    pub rotation: [ChannelId; 3],
    /// Deformation F.
    pub deformation: [[ChannelId; 3]; 3],
}

/// A rigid body that follows channels instead of forces.
#[derive(Clone, Debug)]
pub struct DrivenRigid {
    /// Index of the rigid body.
    pub rigid: usize,
    /// Pose before any motion.
    pub initial: Pose,
    /// Center of the rotation \[m\].
    pub pivot: Vec3,
    /// Channels of the translation \[m\].
    pub translation: [ChannelId; 3],
    /// Channels of the rotation vector \[rad\].
    pub rotation: [ChannelId; 3],
}

impl DrivenRigid {
    /// World from rigid body under `control`.
    pub fn pose(&self, control: &Control) -> Pose {
        let turn = Quaternion::exp_map(control.vector(self.rotation));
        Pose {
            translation: self.pivot
                + turn.rotate(self.initial.translation - self.pivot)
                + control.vector(self.translation),
            rotation: (turn * self.initial.rotation).normalized(),
        }
    }
}

/// Everything constant in time.
pub struct Model {
    /// Deformable bodies.
    pub bodies: Vec<Body>,
    /// Dynamic rigid bodies.
    pub rigid_bodies: Vec<RigidBody>,
    /// Shapes moved by the scene.
    pub colliders: Vec<Collider>,
    /// Map from unknowns to points.
    pub kinematics: Kinematics,
    /// Mass of each point \[kg\].
    pub masses: Vec<f64>,
    /// Mass-proportional damping rate of each point, α in C = αM + βK \[1/s\].
    pub mass_damping: Vec<f64>,
    /// Stiffness-proportional damping time of each elastic block, β in C = αM + βK \[s\].
    pub stiffness_damping: Vec<f64>,
    /// Rest-state damping time of each elastic block, γ of `solver/damping.rs` \[s\].
    pub tissue_damping: Vec<f64>,
    /// Channel `BODY.stiffness` of each body: a factor on its elastic energy.
    pub stiffness: Vec<ChannelId>,
    /// Elastic cells, grouped by kind and law.
    pub elastic: Vec<ElasticBlock>,
    /// Muscles of each body.
    pub muscles: Vec<Vec<Muscle>>,
    /// Bodies on lattices, which have no elastic blocks.
    pub lattices: Vec<LatticeBlock>,
    /// Pinned nodes.
    pub pins: Vec<Pin>,
    /// Rigid bodies moved by the scene.
    pub driven: Vec<DrivenRigid>,
    /// Nodes that move with pins and driven rigid bodies in the initial guess.
    pub skinning_predictor: SkinningPredictor,
    /// Everything that acts besides elasticity and contact between bodies, one kind after the other: weight, springs,
    /// pressures, loads, strands, tendons, sheaths, contact with colliders, bones, and then forces written outside this
    /// crate.
    pub forces: Vec<Box<dyn Force>>,
    /// Contact of bodies with each other and with themselves, and of whatever is kept apart by barriers.
    pub contact: ContactModel,
    /// The same including penalty contact of bodies with colliders: everything that should not overlap, for checks.
    pub surfaces: ContactModel,
    /// Control channels.
    pub channels: Arc<ChannelTable>,
    /// Key of this model and its version.
    pub(crate) revision: Revision,
    /// Unknowns of the initial state.
    pub(crate) initial: Unknowns,
    /// Velocities of the points in the initial state \[m/s\].
    pub(crate) initial_velocities: Vec<Vec3>,
}

impl Model {
    /// Key of everything cached from the model: solvers and linearizations rebuild when it changes.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Gives the model a new revision. Call this after changing a built model; otherwise solvers use outdated caches.
    pub fn touch(&mut self) {
        self.revision = Revision::next();
        self.contact.revision = Revision::next();
    }

    /// The state at time zero.
    pub fn initial_state(&self) -> State {
        let mut positions = vec![Vec3::zero(); self.kinematics.point_count()];
        self.kinematics.place(&self.initial, &mut positions);
        // Full length from the start, so that copies of the state never allocate again.
        let rates = vec![Vec3::zero(); self.kinematics.unknown_count()];
        let mut history = History { previous_rates: rates.clone(), rates, ..History::default() };
        collider_poses(&self.colliders, &self.initial_control(), &mut history.collider_poses);
        history.contact_memory.reserve(max_touches(self));
        if self.contact.has(ContactMode::Penalty) {
            history.contact_exits = vec![u32::MAX; self.contact.vertex_count()];
            history.contact_depths = vec![0.0; self.contact.vertex_count()];
        }
        history.contact_tangles = self.contact.tangles.at_rest();
        history.activations =
            vec![0.0; self.muscles.iter().map(Vec::len).sum::<usize>() + self.active_forces().count()];
        if self.needs_motion() {
            history.fiber_start.clone_from(&positions);
        }
        State {
            time: 0.0,
            unknowns: self.initial.clone(),
            positions,
            velocities: self.initial_velocities.clone(),
            reactions: vec![Vec3::zero(); self.kinematics.point_count()],
            history,
        }
    }

    /// Size of the elastic force on each point at unit strain in every cell \[N\].
    pub(crate) fn unit_strain_forces(&self) -> Vec<f64> {
        let mut forces = vec![0.0; self.kinematics.point_count()];
        self.elastic.iter().for_each(|block| block.add_unit_strain_forces(&mut forces));
        self.lattices.iter().for_each(|block| block.add_unit_strain_forces(&mut forces));
        forces
    }

    /// Diagonal of the box around the largest body at rest \[m\].
    pub fn rest_size(&self) -> f64 {
        self.bodies.iter().map(|body| body.mesh.bounds().size().norm()).fold(0.0, f64::max)
    }

    /// Mechanical energies of a state under `control`.
    pub fn energies(&self, state: &State, control: &Control) -> Energies {
        let contacts = Contacts::default();
        let ctx = StepContext { time: state.time, dt: 1.0, previous: state, control, contacts: &contacts };
        energies(self, &ctx, &state.positions, &state.velocities)
    }

    /// All channels at their defaults.
    pub fn initial_control(&self) -> Control {
        Control::new(self.channels.clone())
    }

    /// Factor on the elastic energy of a block under `control`.
    #[inline]
    pub fn stiffness_of(&self, block: &ElasticBlock, control: &Control) -> f64 {
        self.body_stiffness(block.body, control)
    }

    /// Factor on the elastic energy of a body under `control`.
    #[inline]
    pub fn body_stiffness(&self, body: usize, control: &Control) -> f64 {
        control.get(self.stiffness[body])
    }

    /// Strain energy of all cells under `control` \[J\]. Fibers on meshes store the energy of their passive curve, at
    /// any activation.
    pub fn elastic_energy(&self, x: &[Vec3], control: &Control) -> f64 {
        let stored = |block: &ElasticBlock| block.summarize(x, &Actuation::PASSIVE).energy;
        let blocks: f64 = self.elastic.iter().map(|block| self.stiffness_of(block, control) * stored(block)).sum();
        blocks + self.lattice_energy(x, control)
    }

    /// out += forces of the flesh on its points \[N\], including active muscle.
    pub fn add_elastic_forces(&self, state: &State, control: &Control, out: &mut [Vec3]) {
        let mut gradient = vec![Vec3::zero(); state.positions.len()];
        let x = &state.positions;
        for block in &self.elastic {
            let activations = self.activations(block.body, control);
            let actuation = Actuation { activations: &activations, motion: state.history.last_motion() };
            let energies: Vec<_> = (0..block.pack_count()).map(|_| AtomicU64::new(0)).collect();
            block.add_gradient(x, &actuation, self.stiffness_of(block, control), &mut gradient, &energies);
        }
        for block in &self.lattices {
            let stiffness = self.body_stiffness(block.body, control);
            block.add_gradient(x, &block.activations(control, stiffness), stiffness, &mut gradient);
        }
        for (out, gradient) in out.iter_mut().zip(&gradient) {
            *out -= *gradient;
        }
    }

    /// Potential of the elastic forces of a step \[J\], up to a constant of the step; includes what active fibers can
    /// still release.
    pub(crate) fn elastic_potential(&self, x: &[Vec3], ctx: &StepContext<'_>) -> f64 {
        let potential = |block: &ElasticBlock| block.energy(x, &StepDrive::new(self, block, ctx).actuation());
        let blocks: f64 =
            self.elastic.iter().map(|block| self.stiffness_of(block, ctx.control) * potential(block)).sum();
        blocks + self.lattice_energy(x, ctx.control)
    }

    fn lattice_energy(&self, x: &[Vec3], control: &Control) -> f64 {
        let lattices = self.lattices.iter().map(|block| {
            let stiffness = self.body_stiffness(block.body, control);
            stiffness * block.energy(x, &block.activations(control, stiffness))
        });
        lattices.sum()
    }

    /// Whether any cell has a non-positive volume.
    pub fn has_inverted_cells(&self, x: &[Vec3]) -> bool {
        self.elastic.iter().any(|block| block.summarize(x, &Actuation::PASSIVE).inverted_cells > 0)
            || self.lattices.iter().any(|block| block.has_inverted_cells(x))
    }

    /// The lattice of a body, if it is on one.
    pub fn lattice_of(&self, body: usize) -> Option<&LatticeBlock> {
        self.lattices.iter().find(|block| block.body == body)
    }

    /// Checks that all channels are finite and that stiffness factors are positive.
    pub(crate) fn check_control(&self, control: &Control, time: f64) -> Result<(), StepError> {
        let wrong = control.first_not_finite().or_else(|| {
            let channel = self.stiffness.iter().find(|&&channel| control.get(channel) <= 0.0)?;
            Some((control.table().names()[channel.0 as usize].as_str(), control.get(*channel)))
        });
        match wrong {
            Some((channel, value)) => Err(StepError::Control { time, channel: channel.into(), value }),
            None => Ok(()),
        }
    }

    /// Work of the pins between two states, with the mean of their forces \[J\].
    pub(crate) fn pin_work(&self, from: &State, to: &State) -> f64 {
        let mut work = 0.0;
        for pin in &self.pins {
            for &point in &pin.points {
                let p = point as usize;
                let (path, force) = (to.positions[p] - from.positions[p], from.reactions[p] + to.reactions[p]);
                work += (0..3).filter(|&axis| pin.axes[axis]).map(|axis| 0.5 * path[axis] * force[axis]).sum::<f64>();
            }
        }
        work
    }

    /// masses += lumped mass of each unknown \[kg\]. The mass of bound points goes to the unknowns that carry them;
    /// points on rigid bodies do not count.
    pub fn add_lumped_masses(&self, masses: &mut [f64]) {
        self.kinematics.add_lumped(&self.masses, masses);
    }

    /// Channels of forces and muscles that load the bodies: with all of them zero nothing pulls.
    pub fn load_channels(&self) -> impl Iterator<Item = ChannelId> {
        let muscles = self.muscles.iter().flatten().map(|muscle| muscle.activation);
        self.forces().flat_map(|force| force.load_channels()).copied().chain(muscles)
    }

    /// Channels of all prescribed rotation vectors.
    pub(crate) fn rotation_channels(&self) -> impl Iterator<Item = [ChannelId; 3]> {
        let pins = self.pins.iter().map(|pin| pin.motion.rotation);
        pins.chain(self.driven.iter().map(|driven| driven.rotation))
    }

    /// Everything that acts besides elasticity and contact between bodies, in the order of [`Model::forces`].
    pub fn forces(&self) -> impl Iterator<Item = &dyn Force> {
        self.forces.iter().map(|force| force.as_ref())
    }

    /// The forces of one kind, in their order.
    pub fn forces_of<F: Force>(&self) -> impl Iterator<Item = &F> {
        self.forces().filter_map(|force| (force as &dyn Any).downcast_ref())
    }

    /// The same, to be changed; see [`Model::touch`].
    pub fn forces_of_mut<F: Force>(&mut self) -> impl Iterator<Item = &mut F> {
        self.forces.iter_mut().filter_map(|force| (force.as_mut() as &mut dyn Any).downcast_mut())
    }

    /// Forces that channels activate.
    pub(crate) fn active_forces(&self) -> impl Iterator<Item = &dyn ActiveForce> {
        self.forces().filter_map(|force| force.active())
    }

    /// Forces that forbid long steps.
    pub(crate) fn step_limits(&self) -> impl Iterator<Item = &dyn StepLimit> {
        self.forces().filter_map(|force| force.step_limit())
    }

    /// Number of parts into which a step to `control` must be cut, so that no bone passes the flesh that slides over
    /// it.
    pub(crate) fn parts_by_bones(&self, state: &State, control: &Control) -> f64 {
        let parts = self.forces_of::<Bone>().filter_map(|bone| {
            let from = state.history.collider_poses.get(bone.contact.collider)?;
            Some(bone.parts_of_step(from, control, self.bodies[bone.body].cell_size()))
        });
        parts.fold(0.0, f64::max)
    }

    /// Calls `set(unknown, axis, value)` with the prescribed positions of pinned nodes under `control`.
    pub fn for_each_prescribed(&self, control: &Control, mut set: impl FnMut(usize, usize, f64)) {
        for pin in &self.pins {
            let translation = control.vector(pin.motion.translation);
            let rotation = Quaternion::exp_map(control.vector(pin.motion.rotation)).to_matrix();
            let map = rotation * control.matrix(pin.motion.deformation);
            // An identity map must leave pins exactly in place, without rounding.
            let is_identity = map == Mat3::identity();
            for &(unknown, place) in &pin.nodes {
                let target = if is_identity { place } else { pin.pivot + map * (place - pin.pivot) } + translation;
                for axis in 0..3 {
                    if pin.axes[axis] {
                        set(unknown as usize, axis, target[axis]);
                    }
                }
            }
        }
    }

    /// Body by name.
    pub fn find_body(&self, name: &str) -> Option<usize> {
        self.bodies.iter().position(|b| b.name == name)
    }
}
