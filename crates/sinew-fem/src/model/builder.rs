//! Builds a [`Model`] from its parts.

mod assembler;
mod removal;

use std::collections::BTreeMap;
use std::sync::Arc;

use sinew_geometry::shape::{AnyShape, Pose};
use sinew_math::Vec3;
use thiserror::Error;

use assembler::Assembler;
pub use removal::{Remaining, RemovalError};

use super::{BodyParams, Model, RigidParams};
use crate::contact::{ContactMode, ContactRule, Party};
use crate::elastic::FiberGroup;
use crate::element::ElementError;
use crate::force::{AttachTarget, ForceError, ForceParams};
use crate::material::MaterialError;

/// Why a model cannot be built.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ModelError {
    /// A law has invalid parameters.
    #[error("body \"{body}\", cell {cell}: {source}")]
    Material {
        /// The body.
        body: String,
        /// The first invalid cell.
        cell: usize,
        /// The cause.
        source: MaterialError,
    },
    /// A cell has no volume at a quadrature point.
    #[error("body \"{body}\": {source}")]
    Element {
        /// The body.
        body: String,
        /// The cause.
        source: ElementError,
    },
    /// Density must be positive.
    #[error("body \"{body}\", cell {cell}: density must be positive, got {density} kg/m³")]
    Density {
        /// The body.
        body: String,
        /// The first invalid cell.
        cell: usize,
        /// The value.
        density: f64,
    },
    /// A node is bound or pinned twice.
    #[error("body \"{body}\": node {node} is already bound")]
    BoundTwice {
        /// The body.
        body: String,
        /// The node.
        node: u32,
    },
    /// A node hangs between nodes that do not exist, or on itself.
    #[error("body \"{body}\": node {node} cannot hang between {} and {}; ends are other nodes that in the end hang on none", ends[0], ends[1])]
    Hanging {
        /// The body.
        body: String,
        /// The node.
        node: u32,
        /// The ends of its edge.
        ends: [u32; 2],
    },
    /// A bound node cannot be pinned as well.
    #[error("body \"{body}\": node {node} is bound and cannot be pinned as well")]
    PinOnBound {
        /// The body.
        body: String,
        /// The node.
        node: u32,
    },
    /// The target of a binding is itself bound.
    #[error("body \"{body}\": cannot bind to \"{target}\" where its own nodes are bound")]
    BindToBound {
        /// The body that is bound.
        body: String,
        /// The body it is bound to.
        target: String,
    },
    /// Something that a body in few coordinates cannot have.
    #[error("body \"{body}\" deforms as a whole: {reason}")]
    Deformation {
        /// The body.
        body: String,
        /// What is wrong.
        reason: String,
    },
    /// The shape of a rigid body has no volume.
    #[error("rigid body \"{name}\": {reason}")]
    Rigid {
        /// The rigid body.
        name: String,
        /// The cause.
        reason: String,
    },
    /// A lattice supports only one law.
    #[error("body \"{body}\", cell {cell}: a lattice supports the law corotated only, not {law}")]
    LatticeLaw {
        /// The body.
        body: String,
        /// The first cell with another law.
        cell: usize,
        /// That law.
        law: String,
    },
    /// A property that a body on a lattice cannot have.
    #[error("body \"{body}\" is on a lattice: {reason}")]
    Lattice {
        /// The body.
        body: String,
        /// The cause.
        reason: String,
    },
    /// An invalid muscle.
    #[error("body \"{body}\", muscle \"{muscle}\": {reason}")]
    Muscle {
        /// The body.
        body: String,
        /// The muscle.
        muscle: String,
        /// The cause.
        reason: String,
    },
    /// A force that cannot be.
    #[error(transparent)]
    Force(#[from] ForceError),
    /// A point to bind lies too far from its target.
    #[error("body \"{body}\": {reason}")]
    Embedding {
        /// The body.
        body: String,
        /// The cause.
        reason: String,
    },
}

/// Muscle fibers in cells of a body.
#[derive(Clone, Debug)]
pub struct MuscleParams {
    /// The body.
    pub body: usize,
    /// Name, unique in the body.
    pub name: String,
    /// Its cells.
    pub cells: Vec<u32>,
    /// Unit fiber direction of each cell at rest, in coordinates of the lattice.
    pub directions: Vec<Vec3>,
    /// Fiber stress of each cell at rest length and full activation \[Pa\].
    pub stress: Vec<f64>,
    /// How tension depends on length and speed. Cells of lattices support only [`FiberGroup::default`] with the full
    /// stretch.
    pub group: FiberGroup,
}

/// A group of nodes to pin.
#[derive(Clone, Debug)]
pub struct PinParams {
    /// Body index.
    pub body: usize,
    /// Name of the region; names the channels and the reaction probe.
    pub name: String,
    /// Nodes of the body.
    pub nodes: Vec<u32>,
    /// Pinned axes.
    pub axes: [bool; 3],
    /// Fixed point of prescribed rotation and deformation \[m\].
    pub pivot: Vec3,
    /// Displacement of each node from its rest position before any motion \[m\]; empty for none.
    pub offsets: Vec<Vec3>,
}

/// A driver of nodes of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FollowedBy {
    /// The pin of the body with this name.
    Pin(String),
    /// A driven rigid body, by index.
    Rigid(usize),
}

/// Blend skinning of the nodes of a body, as the initial guess of steps.
#[derive(Clone, Debug)]
pub struct FollowParams {
    /// Body index.
    pub body: usize,
    /// The drivers.
    pub drivers: Vec<FollowedBy>,
    /// Drivers and weights of each node of the body. The weights of a node sum to one; a node without weights has no
    /// driver.
    pub weights: Vec<Vec<(u32, f64)>>,
}

/// A collider and its effect on flesh.
#[derive(Clone, Debug)]
pub struct ColliderParams {
    /// Name, unique in the model.
    pub name: String,
    /// Geometry.
    pub shape: AnyShape,
    /// Initial pose.
    pub pose: Pose,
    /// Center of its prescribed rotation \[m\].
    pub pivot: Vec3,
    /// Pressure per depth \[Pa/m\]; `None` derives it from each body's stiffness and cell size.
    pub stiffness: Option<f64>,
    /// Coefficient of friction.
    pub friction: f64,
    /// Coefficient of restitution in \[0, 1\]; 1 loses no energy.
    pub restitution: f64,
    /// Side of the flesh on which it lies.
    pub side: Side,
}

/// Side of the flesh on which a collider lies.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Side {
    /// Outside flesh: an obstacle that keeps the surface of bodies out.
    #[default]
    Outside,
    /// Inside flesh that slides over it, like a bone: it keeps out the flesh that lies at its surface at rest. Flesh
    /// inside it at rest stays there.
    Inside,
    /// A bone of one body, named `BODY.bone.NAME`: like `Inside`, but it also keeps out the skin near it, and has no
    /// effect on other bodies.
    Bone {
        /// Index of the body.
        body: usize,
        /// Minimum thickness of the flesh between bone and skin, where there is that much at rest \[m\].
        cover: f64,
    },
}

/// How a collider pushes others out.
#[derive(Clone, Copy)]
pub(super) struct ColliderSettings {
    pub stiffness: Option<f64>,
    pub friction: f64,
    pub restitution: f64,
}

impl ColliderSettings {
    pub fn of(&ColliderParams { stiffness, friction, restitution, .. }: &ColliderParams) -> Self {
        Self { stiffness, friction, restitution }
    }
}

/// Collects the parts of a model. A copy of them can be changed and built again ([`ModelBuilder::without_cells`]).
#[derive(Clone, Default)]
pub struct ModelBuilder {
    bodies: Vec<BodyParams>,
    rigid: Vec<RigidParams>,
    pub(super) colliders: Vec<ColliderParams>,
    bindings: Vec<(usize, Vec<u32>, AttachTarget)>,
    /// Per body its nodes that hang, each with the ends of the edge that it halves.
    hanging: BTreeMap<usize, BTreeMap<u32, [u32; 2]>>,
    pins: Vec<PinParams>,
    follows: Vec<FollowParams>,
    muscles: Vec<MuscleParams>,
    forces: Vec<Arc<dyn ForceParams>>,
    inversion_barrier: Vec<usize>,
    contacts: Vec<(Party, Party, ContactRule)>,
    /// Parties that collide with no penalty of a collider.
    passing: Vec<(Party, usize)>,
    creep: Option<f64>,
    gravity: Vec3,
}

impl ModelBuilder {
    /// An empty model without gravity.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the default of the `gravity` channels \[m/s²\].
    pub fn gravity(&mut self, acceleration: Vec3) -> &mut Self {
        self.gravity = acceleration;
        self
    }

    /// Adds a deformable body; returns its index.
    pub fn add_body(&mut self, params: BodyParams) -> usize {
        self.bodies.push(params);
        self.bodies.len() - 1
    }

    /// Adds a rigid body; returns its index.
    pub fn add_rigid(&mut self, params: RigidParams) -> usize {
        self.rigid.push(params);
        self.rigid.len() - 1
    }

    /// Adds a collider that touches all bodies; returns its index.
    pub fn add_collider(&mut self, params: ColliderParams) -> usize {
        self.colliders.push(params);
        self.colliders.len() - 1
    }

    /// Pins nodes. The channels `BODY.pin.NAME.translation.x`, `….rotation.x`, `….deformation.xx` and so on set their
    /// motion.
    pub fn pin(&mut self, params: PinParams) -> &mut Self {
        self.pins.push(params);
        self
    }

    /// Uses blend skinning of the nodes of a body as the initial guess of steps.
    pub fn follow(&mut self, params: FollowParams) -> &mut Self {
        self.follows.push(params);
        self
    }

    /// Makes nodes of a body the middles of two others of it, as where cells of two sizes meet (T-junctions); those may
    /// hang themselves. A pin holds such a node by its ends.
    pub fn hang(&mut self, body: usize, nodes: BTreeMap<u32, [u32; 2]>) -> &mut Self {
        self.hanging.entry(body).or_default().extend(nodes);
        self
    }

    /// Makes nodes follow the flesh of another body or a rigid body exactly.
    pub fn bind(&mut self, body: usize, nodes: Vec<u32>, target: AttachTarget) -> &mut Self {
        self.bindings.push((body, nodes, target));
        self
    }

    /// Adds a force, by its parameters: [`crate::force`] lists the kinds, and other crates may bring their own.
    pub fn force(&mut self, params: impl ForceParams) -> &mut Self {
        self.forces.push(Arc::new(params));
        self
    }

    /// Adds muscle fibers in cells of a body, with activation from the channel `BODY.activation.NAME` from 0 to 1. In
    /// cells of several muscles, the last one counts.
    pub fn muscle(&mut self, muscle: MuscleParams) -> &mut Self {
        self.muscles.push(muscle);
        self
    }

    /// The cells of a body on a lattice resist before they turn inside out at their corners.
    pub fn inversion_barrier(&mut self, body: usize) -> &mut Self {
        self.inversion_barrier.push(body);
        self
    }

    /// Lets two bodies touch, or one touch itself; the last word on a pair counts. A body, or a rigid body that moves
    /// freely, and a collider touch in any case, by the settings of the collider where there is no rule, unless they
    /// [pass](Self::pass).
    pub fn contact(&mut self, a: Party, b: Party, rule: ContactRule) -> &mut Self {
        self.contacts.push((a, b, rule));
        self
    }

    /// Lets a body or rigid body pass through a collider.
    pub fn pass(&mut self, party: Party, collider: usize) -> &mut Self {
        self.passing.push((party, collider));
        self
    }

    /// The last rule of two parties.
    fn rule_of(&self, a: Party, b: Party) -> Option<&ContactRule> {
        let is_meant = |pair: &&(Party, Party, ContactRule)| (pair.0, pair.1) == (a, b) || (pair.0, pair.1) == (b, a);
        self.contacts.iter().rev().find(is_meant).map(|(_, _, rule)| rule)
    }

    /// Whether a collider pushes a party out by a penalty. Neither yields where the scene moves both.
    pub(super) fn has_collider_penalty(&self, party: Party, collider: usize) -> bool {
        let takes_part = match party {
            Party::Rigid(rigid) => {
                self.rigid[rigid].driven_about.is_none() && self.colliders[collider].side == Side::Outside
            }
            _ => true,
        };
        let rule = self.rule_of(party, Party::Collider(collider));
        takes_part
            && rule.is_none_or(|rule| rule.mode == ContactMode::Penalty)
            && !self.passing.contains(&(party, collider))
    }

    /// Settings of the penalty between a party and a collider: of their rule, else of the collider.
    pub(super) fn settings(&self, party: Party, collider: usize) -> ColliderSettings {
        match self.rule_of(party, Party::Collider(collider)) {
            Some(&ContactRule { stiffness, friction, restitution, .. }) => {
                ColliderSettings { stiffness, friction, restitution }
            }
            None => ColliderSettings::of(&self.colliders[collider]),
        }
    }

    /// Sets the slip at which friction reaches its maximum, per step length \[m/s\]: contacts that stick creep more
    /// slowly than this.
    pub fn creep(&mut self, speed: f64) -> &mut Self {
        self.creep = Some(speed);
        self
    }

    /// Checks everything and builds the model.
    pub fn build(self) -> Result<Model, ModelError> {
        Assembler::new(self)?.finish()
    }
}
