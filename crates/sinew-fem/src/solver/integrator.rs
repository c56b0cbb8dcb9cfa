//! Time integration: every implicit step is a minimization.
//!
//! A scheme defines how velocity and acceleration at the end of a step of length h depend on the positions x there,
//! ```math
//! v = c\,(x - \hat x), \qquad a = \kappa\,(x - \tilde x),
//! ```
//! and M a = −∂E/∂x − C v is then the stationary point of
//! ```math
//! \Phi(x) = E(x) + \tfrac{\kappa}{2}\,|x - \tilde x|_M^2 + \tfrac{c}{2}\,|x - \hat x|_C^2 .
//! ```
//!
//! | scheme | c | x̂ | κ | x̃ |
//! |---|---|---|---|---|
//! | implicit Euler | 1/h | xⁿ | c² | xⁿ + h vⁿ |
//! | BDF2 | a₀/h | (a₁ xⁿ − a₂ xⁿ⁻¹)/a₀ | c² | x̂ + (a₁ vⁿ − a₂ vⁿ⁻¹)/(a₀ c) |
//! | Newmark | γ/(βh) | x̃ − (vⁿ + h(1−γ)aⁿ)/c | 1/(βh²) | xⁿ + h vⁿ + h²(½ − β) aⁿ |
//!
//! with a₀ = (1 + 2r)/(1 + r), a₁ = 1 + r, a₂ = r²/(1 + r) for the ratio r of this step to the last \[HairerWanner96\],
//! and β, γ of \[Newmark59\]. Quasistatics is κ = c = 0.
//!
//! These formulas hold on points, so they also hold for nodes bound to flesh (a linear map). On points of rigid bodies,
//! Euler and BDF2 are the usual treatment of a constraint by backward differences. Newmark's recursion for
//! accelerations does not damp the part that the constraint adds, and would ring, so scenes with rigid bodies cannot
//! use it.

use sinew_math::Vec3;

use crate::model::Model;
use crate::state::State;

/// Time integration scheme.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Regime {
    /// Equilibrium at every time, as if the motion were infinitely slow.
    #[default]
    Quasistatic,
    /// Backward Euler in time: first order, unconditionally stable, dissipative.
    ImplicitEuler,
    /// Backward differences over two steps: second order, unconditionally stable, dissipates only fast vibrations. The
    /// first step, and any step more than twice as long as the last, uses implicit Euler.
    Bdf2,
    /// Newmark's family: with the default parameters second order, and without dissipation on linear problems. A step
    /// uses implicit Euler when it starts with inverted cells whose forces would fling them away.
    Newmark(NewmarkParams),
}

impl Regime {
    /// Whether the scheme includes inertia.
    pub fn is_dynamic(&self) -> bool {
        *self != Self::Quasistatic
    }

    /// Allocates the history of this scheme in a state, so that no later step allocates.
    pub(crate) fn prepare(&self, model: &Model, state: &mut State) {
        let points = model.kinematics.point_count();
        let history = &mut state.history;
        if matches!(self, Self::Bdf2 | Self::Newmark(_)) {
            history.previous_positions.resize(points, Vec3::zero());
            history.previous_velocities.resize(points, Vec3::zero());
        }
        if matches!(self, Self::Newmark(_)) {
            history.accelerations.resize(points, Vec3::zero());
        }
    }
}

/// β and γ of Newmark's method. Unconditionally stable for 2β ≥ γ ≥ ½; second order for γ = ½ only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewmarkParams {
    /// Share of the new acceleration in the positions.
    pub beta: f64,
    /// Share of the new acceleration in the velocities.
    pub gamma: f64,
}

impl Default for NewmarkParams {
    /// The average acceleration (β = ¼, γ = ½): keeps the energy of linear problems.
    fn default() -> Self {
        Self { beta: 0.25, gamma: 0.5 }
    }
}

/// Steps longer than this many times the last one restart BDF2: it is unstable beyond 1 + √2.
const LONGEST_RATIO: f64 = 2.0;

/// The coefficients of one step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scheme {
    /// κ \[1/s²\].
    pub inertia: f64,
    /// c \[1/s\].
    pub rate: f64,
    dt: f64,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Static,
    Euler,
    Bdf2 { ratio: f64 },
    Newmark(NewmarkParams),
}

impl Scheme {
    /// Returns the scheme for a step of length `dt` from `previous`.
    pub fn new(regime: Regime, previous: &State, dt: f64) -> Self {
        let history = &previous.history;
        let kind = match regime {
            Regime::Quasistatic => Kind::Static,
            Regime::ImplicitEuler => Kind::Euler,
            Regime::Bdf2 => {
                let has_past = history.last_dt > 0.0 && history.previous_positions.len() == previous.positions.len();
                let ratio = dt / history.last_dt;
                if has_past && ratio <= LONGEST_RATIO { Kind::Bdf2 { ratio } } else { Kind::Euler }
            }
            Regime::Newmark(params) => Kind::Newmark(params),
        };
        let (inertia, rate) = match kind {
            Kind::Static => (0.0, 0.0),
            Kind::Euler => (1.0 / (dt * dt), 1.0 / dt),
            Kind::Bdf2 { ratio } => {
                let rate = (1.0 + 2.0 * ratio) / (1.0 + ratio) / dt;
                (rate * rate, rate)
            }
            Kind::Newmark(NewmarkParams { beta, gamma }) => (1.0 / (beta * dt * dt), gamma / (beta * dt)),
        };
        Self { inertia, rate, dt, kind }
    }

    /// Whether the scheme reads accelerations at the start of the step.
    pub fn needs_accelerations(&self) -> bool {
        matches!(self.kind, Kind::Newmark(_))
    }

    /// Writes x̃ and x̂. `accelerations` are those at the start, where the scheme needs them.
    pub fn aim(&self, previous: &State, accelerations: &[Vec3], target: &mut [Vec3], anchor: &mut [Vec3]) {
        let State { positions, velocities, history, .. } = previous;
        let dt = self.dt;
        for (p, (target, anchor)) in target.iter_mut().zip(anchor).enumerate() {
            let (x, v) = (positions[p], velocities[p]);
            (*target, *anchor) = match self.kind {
                Kind::Static => (x, x),
                Kind::Euler => (x + v * dt, x),
                Kind::Bdf2 { ratio } => {
                    let (a0, a1, a2) =
                        ((1.0 + 2.0 * ratio) / (1.0 + ratio), 1.0 + ratio, ratio * ratio / (1.0 + ratio));
                    // xⁿ + (a₂/a₀)(xⁿ − xⁿ⁻¹), because a₁ = a₀ + a₂: the difference loses no digits.
                    let anchor = x + (x - history.previous_positions[p]) * (a2 / a0);
                    let drift = (v * a1 - history.previous_velocities[p] * a2) / a0;
                    (anchor + drift / self.rate, anchor)
                }
                Kind::Newmark(NewmarkParams { beta, gamma }) => {
                    let a = accelerations[p];
                    let target = x + v * dt + a * (dt * dt * (0.5 - beta));
                    (target, target - (v + a * (dt * (1.0 - gamma))) / self.rate)
                }
            };
        }
    }

    /// Writes velocities and the history of the scheme into `state`, which holds the positions at the end of the step.
    ///
    /// Prescribed components follow no equation of motion. After a jump, Newmark's recursion would make their velocity
    /// swing about the true one forever, so they use a backward difference.
    pub fn finish(&self, model: &Model, previous: &State, target: &[Vec3], anchor: &[Vec3], state: &mut State) {
        let State { positions, velocities, history, .. } = state;
        for (p, v) in velocities.iter_mut().enumerate() {
            *v = match self.kind {
                Kind::Static => Vec3::zero(),
                Kind::Euler => (positions[p] - previous.positions[p]) / self.dt,
                Kind::Bdf2 { .. } | Kind::Newmark(_) => (positions[p] - anchor[p]) * self.rate,
            };
        }
        if !history.accelerations.is_empty() {
            for (p, a) in history.accelerations.iter_mut().enumerate() {
                *a = (positions[p] - target[p]) * self.inertia;
            }
            let past = &previous.history;
            let has_past = past.last_dt > 0.0 && past.previous_positions.len() == positions.len();
            for p in 0..positions.len() {
                let fixed = model.kinematics.fixed_axes(p);
                if fixed == [false; 3] {
                    continue;
                }
                let slope = (positions[p] - previous.positions[p]) / self.dt;
                let bend = if has_past {
                    let before = (previous.positions[p] - past.previous_positions[p]) / past.last_dt;
                    (slope - before) * (2.0 / (self.dt + past.last_dt))
                } else {
                    Vec3::zero()
                };
                for axis in (0..3).filter(|&axis| fixed[axis]) {
                    velocities[p][axis] = slope[axis] + 0.5 * self.dt * bend[axis];
                    history.accelerations[p][axis] = bend[axis];
                }
            }
        }
        if !history.previous_positions.is_empty() {
            history.previous_positions.copy_from_slice(&previous.positions);
            history.previous_velocities.copy_from_slice(&previous.velocities);
        }
    }

    /// Estimates the maximum position error of this step from the leading term that the scheme neglects \[m\].
    ///
    /// | scheme | error |
    /// |---|---|
    /// | Euler | ½ h² ẍ, with ẍ = (v − vⁿ)/h |
    /// | BDF2 | 2/9 h³ x⃛, with x⃛ the second divided difference of v |
    /// | Newmark | h² |β − 1/6| |a − aⁿ| \[ZienkiewiczXie91\] |
    /// | quasistatic | deviation from a straight path: |x − xⁿ − h ẋⁿ| |
    ///
    /// Prescribed nodes have no error. `accelerations` are those at the start.
    pub fn local_error(&self, model: &Model, previous: &State, accelerations: &[Vec3], state: &State) -> f64 {
        let (dt, past) = (self.dt, &previous.history);
        if let Kind::Static = self.kind {
            return self.bend_of_path(model, previous, state);
        }
        let mut worst = 0.0f64;
        for p in 0..state.positions.len() {
            if model.kinematics.fixed_axes(p) == [true; 3] {
                continue;
            }
            let change = state.velocities[p] - previous.velocities[p];
            let error = match self.kind {
                Kind::Static | Kind::Euler => change.norm() * (0.5 * dt),
                Kind::Bdf2 { .. } => {
                    let before = (previous.velocities[p] - past.previous_velocities[p]) / past.last_dt;
                    let jerk = (change / dt - before) * (2.0 / (dt + past.last_dt));
                    jerk.norm() * (2.0 / 9.0 * dt.powi(3))
                }
                // At β = 1/6 the next term dominates; a factor of one twelfth stands in for it.
                Kind::Newmark(NewmarkParams { beta, .. }) => {
                    let share = (beta - 1.0 / 6.0).abs().max(1.0 / 12.0);
                    (state.history.accelerations[p] - accelerations[p]).norm() * (share * dt * dt)
                }
            };
            worst = worst.max(error);
        }
        worst
    }

    fn bend_of_path(&self, model: &Model, previous: &State, state: &State) -> f64 {
        if previous.history.depth == 0 {
            return 0.0;
        }
        let mut worst = 0.0f64;
        for (unknown, (new, old)) in state.history.rates.iter().zip(&previous.history.rates).enumerate() {
            let is_rotation = model.kinematics.rigid_blocks().iter().any(|block| block.rotation as usize == unknown);
            if !is_rotation && model.kinematics.fixed(unknown) != [true; 3] {
                worst = worst.max((*new - *old).norm() * self.dt);
            }
        }
        worst
    }
}
