//! Fiber length over time: $`\dot{\tilde l} = v_m \tilde v`$, with $`\tilde v`$ such that fiber and tendon balance.
//!
//! A short tendon is stiff, and the force of an unloaded fiber does not determine its velocity, so steps are implicit:
//! the balance is solved for the length at the end of a step, with the velocity
//! $`(\tilde l_{n+1} - \tilde l_n) / (v_m \Delta t)`$ in it; velocities are never solved for. Two half steps and one
//! whole step give an error estimate and, by extrapolation, second order. The extrapolated implicit Euler method is
//! A-stable and damps stiff components \[HairerWanner96, IV.9\].

use super::{Actuator, ActuatorError, Fiber, require_activation, require_not_negative, require_positive};
use crate::root::first_root;

/// Prescribed quantity at the far end of the tendon.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Drive {
    /// Length of the path \[m\] at the end of a step, reached at constant speed.
    Path(f64),
    /// Tendon force \[N\] during a step: a hanging load.
    Load(f64),
}

/// State of an actuator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MuscleState {
    /// Fiber length in optimal lengths.
    pub fiber_length: f64,
    /// Fiber velocity at the end of the last step, in maximum shortening speeds; negative for shortening.
    pub fiber_velocity: f64,
    /// Activation.
    pub activation: f64,
    /// Length of the path \[m\]. Setting it between steps is a release or stretch too quick for the fiber.
    pub path_length: f64,
    /// Tendon force \[N\] at the end of the last step.
    pub tendon_force: f64,
}

/// Tolerated difference between one step and two halves: force in $`F_0`$ (relative, if it is larger), and tenths of
/// optimal lengths. The extrapolated result is usually better.
const STEP_TOLERANCE: f64 = 1e-4;

/// Smallest step as a fraction of the requested time: at a kink of a curve, such a step is accepted as it is.
const SHORTEST_STEP: f64 = 1e-9;

/// One implicit step: start, duration and the conditions at its end.
#[derive(Clone, Copy)]
struct Step {
    fiber_length: f64,
    duration: f64,
    drive: Drive,
    activation: f64,
}

impl Actuator {
    /// The state at rest on a path \[m\] at an activation: [`Actuator::equilibrium`].
    pub fn rest_state(&self, path_length: f64, activation: f64) -> Result<MuscleState, ActuatorError> {
        let equilibrium = self.equilibrium(path_length, activation)?;
        Ok(MuscleState {
            fiber_length: equilibrium.fiber_length,
            fiber_velocity: 0.0,
            activation,
            path_length,
            tendon_force: equilibrium.tendon_force,
        })
    }

    /// Advances a state by `dt` seconds. At the end, drive and activation have the given values; path and activation
    /// change linearly until then. Substeps are chosen by error control. On an error the state is unchanged.
    ///
    /// Without damping, a fiber loaded beyond its maximum active force yields at once, until passive force or a shorter
    /// tendon holds it; damping delays that. A relaxed fiber on a slack tendon keeps its length: nothing compresses it.
    pub fn advance(
        &self,
        state: &mut MuscleState,
        drive: Drive,
        activation: f64,
        dt: f64,
    ) -> Result<(), ActuatorError> {
        require_positive("dt", dt)?;
        require_activation(activation)?;
        require_not_negative("fiber_length", state.fiber_length)?;
        match drive {
            Drive::Path(path) => self.check_path(path).and(self.check_path(state.path_length)).map(drop)?,
            Drive::Load(force) => require_not_negative("load", force)?,
        }
        let start = *state;
        let at = |time: f64| {
            let share = time / dt;
            let between = |from: f64, to: f64| from + (to - from) * share;
            let drive = match drive {
                Drive::Path(path) => Drive::Path(between(start.path_length, path)),
                load => load,
            };
            (drive, between(start.activation, activation))
        };
        let mut next = start;
        let (mut time, mut duration) = (0.0, dt);
        while time < dt {
            // Extend a step that would leave a tiny remainder.
            let is_last = time + duration >= dt * (1.0 - SHORTEST_STEP);
            if is_last {
                duration = dt - time;
            }
            let step = |from: f64, begin: f64, duration: f64| {
                let (drive, activation) = at(begin + duration);
                self.step(Step { fiber_length: from, duration, drive, activation })
            };
            let half = 0.5 * duration;
            let whole = step(next.fiber_length, time, duration)?;
            let middle = step(next.fiber_length, time, half)?;
            let halves = step(middle, time + half, half)?;
            let (drive, activation) = at(time + duration);
            let force_of = |length: f64| match drive {
                Drive::Path(path) => {
                    self.tendon_force(path, length, (length - middle) / (half * self.params.max_speed), activation)
                }
                Drive::Load(force) => force / self.params.max_force,
            };
            let [force, whole_force] = [halves, whole].map(force_of);
            let force_error = (force - whole_force).abs() / force.max(1.0);
            let error = force_error.max(10.0 * (halves - whole).abs()) / STEP_TOLERANCE;
            if error <= 1.0 || duration <= SHORTEST_STEP * dt {
                next.fiber_velocity = (halves - middle) / (half * self.params.max_speed);
                next.fiber_length = if self.is_rigid() { halves } else { (2.0 * halves - whole).max(0.0) };
                next.tendon_force = self.params.max_force
                    * match drive {
                        Drive::Path(path) => {
                            self.tendon_force(path, next.fiber_length, next.fiber_velocity, activation)
                        }
                        Drive::Load(force) => force / self.params.max_force,
                    };
                next.activation = activation;
                time = if is_last { dt } else { time + duration };
            }
            // The error of a first-order step grows with its square.
            duration *= (0.9 / error.sqrt()).clamp(0.2, 4.0);
        }
        next.path_length = match drive {
            Drive::Path(path) => path,
            Drive::Load(force) => self.share_of(next.fiber_length) + self.tendon_length(force)?,
        };
        *state = next;
        Ok(())
    }

    /// States at times 0, dt, 2 dt, … under a drive and an activation that depend on time \[s\].
    pub fn simulate(
        &self,
        start: MuscleState,
        dt: f64,
        step_count: usize,
        drive: impl Fn(f64) -> Drive,
        activation: impl Fn(f64) -> f64,
    ) -> Result<Vec<MuscleState>, ActuatorError> {
        let mut states = Vec::with_capacity(step_count + 1);
        let mut state = start;
        states.push(state);
        for i in 1..=step_count {
            let time = dt * i as f64;
            self.advance(&mut state, drive(time), activation(time), dt)?;
            states.push(state);
        }
        Ok(states)
    }

    /// Tendon force in $`F_0`$; for a rigid tendon, the force of the fiber.
    fn tendon_force(&self, path: f64, fiber_length: f64, velocity: f64, activation: f64) -> f64 {
        if self.is_rigid() {
            let fiber = self.fiber_at(path);
            let tension = self.params.fiber.tension(fiber.length, activation, velocity).value;
            (tension + self.params.damping * velocity) * fiber.cosine
        } else {
            self.tendon_pull(path, self.share_of(fiber_length)).0
        }
    }

    /// Length of the tendon \[m\] under a force \[N\].
    fn tendon_length(&self, force: f64) -> Result<f64, ActuatorError> {
        let slack = self.params.tendon_slack_length;
        if self.is_rigid() || force == 0.0 {
            return Ok(slack);
        }
        let wanted = force / self.params.max_force;
        let balance = |strain: f64| {
            let sample = self.params.tendon.at(strain);
            (wanted - sample.value, -sample.slope)
        };
        // Double the range until the tendon holds: from strains of a thousandth to a thousand.
        let far = (0..=20).map(|k| 1e-3 * f64::from(1 << k)).find(|&strain| balance(strain).0 <= 0.0);
        let strain = first_root(0.0, far.ok_or(ActuatorError::TendonTooWeak { force })?, balance);
        Ok(slack * (1.0 + strain))
    }

    /// Fiber length at the end of an implicit Euler step.
    fn step(&self, step: Step) -> Result<f64, ActuatorError> {
        if let (Drive::Path(path), true) = (step.drive, self.is_rigid()) {
            return Ok(self.fiber_at(path).length);
        }
        // Tendon minus fiber: positive where the fiber is pulled longer.
        let balance = |s: f64| {
            let (tendon, tendon_slope) = match step.drive {
                Drive::Path(path) => self.tendon_pull(path, s),
                Drive::Load(force) => (force / self.params.max_force, 0.0),
            };
            let (fiber, fiber_slope) = self.moving_pull(self.fiber_at(s), step);
            (tendon - fiber, tendon_slope - fiber_slope)
        };
        let start = self.share_of(step.fiber_length);
        let at_start = balance(start).0;
        if at_start == 0.0 {
            return Ok(step.fiber_length);
        }
        let far = if at_start < 0.0 {
            0.0
        } else {
            match step.drive {
                // The tendon is just slack there.
                Drive::Path(path) => path - self.params.tendon_slack_length,
                // Double the range until passive force or damping holds the load; no fiber is a million optimal lengths
                // long.
                Drive::Load(_) => {
                    let reach = |k: u32| start + self.params.optimal_fiber_length * f64::from(1 << k) / 16.0;
                    (0..24).map(reach).find(|&s| balance(s).0 <= 0.0).unwrap_or(f64::NAN)
                }
            }
        };
        // A just slack tendon pulls less than any fiber, despite rounding.
        let is_slack = at_start > 0.0 && matches!(step.drive, Drive::Path(_));
        let is_bracket = is_slack || balance(far).0 * at_start <= 0.0;
        if !is_bracket {
            return Err(match step.drive {
                Drive::Load(load) if at_start > 0.0 => {
                    let active = step.activation * self.params.fiber.active.value(step.fiber_length);
                    ActuatorError::Unbalanced { load, active: active * self.params.max_force }
                }
                Drive::Load(_) => ActuatorError::Collapse { path: 0.0, activation: step.activation },
                Drive::Path(path) => ActuatorError::Collapse { path, activation: step.activation },
            });
        }
        Ok(self.fiber_at(first_root(start, far, balance)).length)
    }

    /// Force along the tendon, in $`F_0`$, of a fiber that reaches its length in a step, and its derivative with
    /// respect to $`s`$.
    fn moving_pull(&self, fiber: Fiber, step: Step) -> (f64, f64) {
        let velocity_per_length = 1.0 / (step.duration * self.params.max_speed);
        let velocity = (fiber.length - step.fiber_length) * velocity_per_length;
        let tension = self.params.fiber.tension(fiber.length, step.activation, velocity);
        let damping = self.params.damping;
        let force = tension.value + damping * velocity;
        let force_slope = tension.by_stretch + (tension.by_velocity + damping) * velocity_per_length;
        (force * fiber.cosine, force_slope * fiber.length_slope * fiber.cosine + force * fiber.cosine_slope)
    }
}
