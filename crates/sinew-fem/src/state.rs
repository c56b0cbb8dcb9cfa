//! What changes in time: unknowns, points, velocities, history.

use sinew_geometry::shape::Pose;
use sinew_math::Vec3;

use crate::kinematics::Unknowns;

/// Everything a step reads and writes; a copy of it is a checkpoint.
#[derive(Debug, Default, PartialEq)]
pub struct State {
    /// Simulated time \[s\].
    pub time: f64,
    /// Values of the unknowns.
    pub unknowns: Unknowns,
    /// Positions of all points, x(q) \[m\].
    pub positions: Vec<Vec3>,
    /// Velocities of all points \[m/s\].
    pub velocities: Vec<Vec3>,
    /// Gradient of the step's merit function with respect to each node that is an unknown, zero in equilibrium \[N\].
    /// On pinned nodes it is the force of the pin on the body, including forces from bound points. On points of a rigid
    /// body it is the force they pass on to it; their sum is the force that drives the body. Zero on points bound to
    /// flesh.
    pub reactions: Vec<Vec3>,
    /// History of earlier steps, for forces and solver.
    pub history: History,
}

/// Written by hand, because the derived `clone_from` would allocate in every step.
impl Clone for State {
    fn clone(&self) -> Self {
        let mut copy = Self::default();
        copy.clone_from(self);
        copy
    }

    fn clone_from(&mut self, source: &Self) {
        let Self { time, unknowns, positions, velocities, reactions, history } = source;
        self.time = *time;
        self.unknowns.clone_from(unknowns);
        self.positions.clone_from(positions);
        self.velocities.clone_from(velocities);
        self.reactions.clone_from(reactions);
        self.history.clone_from(history);
    }
}

/// History of earlier accepted steps.
#[derive(Debug, Default, PartialEq)]
pub struct History {
    /// Last step's change of the unknowns, per second: extrapolates the next guess \[m/s\].
    pub rates: Vec<Vec3>,
    /// The rates of the step before, when there was one of the same length.
    pub previous_rates: Vec<Vec3>,
    /// Number of accepted steps that `rates` and `previous_rates` describe (0, 1 or 2).
    pub depth: usize,
    /// Length of the last accepted step \[s\].
    pub last_dt: f64,
    /// Poses of the colliders at the time of the state.
    pub collider_poses: Vec<Pose>,
    /// Residual that rounding of the positions could cause at the end of the last step \[N\]; a step that starts below
    /// it is at rest.
    pub rounding: f64,
    /// Largest eigenvalues of the levels of lattices, for their smoothers; empty without lattices.
    pub spectra: Vec<f64>,
    /// Positions one step earlier \[m\], for schemes over two steps; empty for others.
    pub previous_positions: Vec<Vec3>,
    /// Velocities one step earlier \[m/s\], like `previous_positions`.
    pub previous_velocities: Vec<Vec3>,
    /// Accelerations of all points \[m/s²\], for schemes that need them; empty for others.
    pub accelerations: Vec<Vec3>,
    /// Step length that the error of the last step allows \[s\]; 0 if unknown.
    pub next_dt: f64,
    /// Work done so far on the flesh, from outside and by damping.
    pub work: Work,
    /// Last exit triangle of each vertex of the collision surface, `u32::MAX` for none; empty without penalty contact
    /// between bodies.
    pub contact_exits: Vec<u32>,
    /// Depth of each vertex at the end of the last step \[m\]; like `contact_exits`.
    pub contact_depths: Vec<f64>,
    /// Which tangles of the collision surface have not parted, then which vertices that started at half-spaces; empty
    /// without any.
    pub contact_tangles: Vec<bool>,
    /// History of contacts, sorted by key; empty after explicit steps.
    pub contact_memory: Vec<ContactMemory>,
    /// Impact speed of each pair with restitution \[m/s\], 0 for pairs that do not touch: pairs of the collision
    /// surface, then contacts with colliders. Empty without restitution.
    pub meeting_speeds: Vec<f64>,
    /// Activation of every muscle, body by body, then of every strand, at the time of the state.
    pub activations: Vec<f64>,
    /// Positions at the start of the last step \[m\], where the force of fibers depends on their speed; empty
    /// elsewhere.
    pub fiber_start: Vec<Vec3>,
    /// What the finishes of visible surfaces remember ([`crate::frame::SurfaceFinish`]); empty without any.
    pub surfaces: Vec<Vec3>,
}

/// What a contact leaves for the next step to begin with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactMemory {
    /// Who touches: the vertices of a contact of surfaces; a vertex and the group of a half-space; or a contact with a
    /// collider and its point.
    pub key: [u32; 4],
    /// Slip that friction holds, over ε: in the world, or in the frame of the collider for penalty contact with one.
    pub slip: Vec3,
}

/// Work over all accepted steps \[J\].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Work of pins: force times path, with the mean of the forces at both ends of each step.
    pub pins: f64,
    /// Energy lost to mass, stiffness and tissue damping, not negative.
    pub damping: f64,
    /// Energy of the initial state; not a work, but the base of the balance.
    pub start: f64,
    /// Work of active muscle fibers and force generators: tension times shortening, with the mean of the active
    /// tensions at both ends of each step.
    pub muscles: f64,
}

impl Work {
    /// Energy that is neither stored nor lost to damping when the current energy is `total` \[J\]: numerical
    /// dissipation of the time integration, friction, and the work of loads without a potential.
    pub fn lost(&self, total: f64) -> f64 {
        self.start + self.pins + self.muscles - self.damping - total
    }
}

impl History {
    /// Where points were at the start of the last accepted step, and one over its length, where that matters to fibers.
    pub(crate) fn last_motion(&self) -> Option<(&[Vec3], f64)> {
        let is_known = self.last_dt > 0.0 && !self.fiber_start.is_empty();
        is_known.then(|| (self.fiber_start.as_slice(), 1.0 / self.last_dt))
    }
}

/// By hand, as for [`State`].
impl Clone for History {
    fn clone(&self) -> Self {
        let mut copy = Self::default();
        copy.clone_from(self);
        copy
    }

    fn clone_from(&mut self, source: &Self) {
        let Self {
            rates,
            previous_rates,
            depth,
            last_dt,
            collider_poses,
            rounding,
            spectra,
            previous_positions,
            previous_velocities,
            accelerations,
            next_dt,
            work,
            contact_exits,
            contact_depths,
            contact_tangles,
            contact_memory,
            meeting_speeds,
            activations,
            fiber_start,
            surfaces,
        } = source;
        self.rates.clone_from(rates);
        self.previous_rates.clone_from(previous_rates);
        self.depth = *depth;
        self.last_dt = *last_dt;
        self.collider_poses.clone_from(collider_poses);
        self.rounding = *rounding;
        self.spectra.clone_from(spectra);
        self.activations.clone_from(activations);
        self.fiber_start.clone_from(fiber_start);
        self.surfaces.clone_from(surfaces);
        self.previous_positions.clone_from(previous_positions);
        self.previous_velocities.clone_from(previous_velocities);
        self.accelerations.clone_from(accelerations);
        self.next_dt = *next_dt;
        self.work = *work;
        self.contact_exits.clone_from(contact_exits);
        self.contact_depths.clone_from(contact_depths);
        self.contact_tangles.clone_from(contact_tangles);
        // Reserve the capacity of the source, which grows at a frame with more contacts.
        self.contact_memory.clear();
        self.contact_memory.reserve(contact_memory.capacity());
        self.contact_memory.extend_from_slice(contact_memory);
        self.meeting_speeds.clone_from(meeting_speeds);
    }
}
