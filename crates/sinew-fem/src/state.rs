//! What changes in time: unknowns, points, velocities, history.

use sinew_geometry::shape::Pose;
use sinew_math::Vec3;

use crate::kinematics::Unknowns;

/// Everything a step reads and writes; a copy of it is a checkpoint.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Simulated time [s].
    pub time: f64,
    /// Values of the unknowns.
    pub unknowns: Unknowns,
    /// Positions of all points, x(q) [m].
    pub positions: Vec<Vec3>,
    /// Velocities of all points [m/s].
    pub velocities: Vec<Vec3>,
    /// Gradient of the step's merit function at each point, zero where in balance: on pinned points the force of the pin on the body
    /// [N].
    pub reactions: Vec<Vec3>,
    /// What forces and solver remember from earlier steps.
    pub history: History,
}

/// Memory of earlier accepted steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// Last step's change of the unknowns, per second: extrapolates the next guess [m/s].
    pub rates: Vec<Vec3>,
    /// The rates of the step before, when there was one of the same length.
    pub previous_rates: Vec<Vec3>,
    /// Number of accepted steps that `rates` and `previous_rates` describe (0, 1 or 2).
    pub depth: usize,
    /// Length of the last accepted step [s].
    pub last_dt: f64,
    /// Poses of the colliders at the time of the state.
    pub collider_poses: Vec<Pose>,
}
