//! A muscle as a fiber and a tendon in series along a path: Zajac's dimensionless actuator \[Zajac89\], as in
//! \[Chen92\] (CHE-08).
//!
//! ```math
//! l^{MT} = l^T + l^M \cos\alpha, \qquad
//!    F^T(\varepsilon) = \bigl( a\, f_a(\tilde l)\, f_v(\tilde v) + f_p(\tilde l) + \beta \tilde v \bigr) \cos\alpha
//! ```
//!
//! with $`\tilde l = l^M / l^M_0`$, $`\tilde v = \dot{\tilde l} / v_m`$, $`\varepsilon = l^T / l^T_s - 1`$ and forces
//! in $`F_0`$. The unknown of the solves is $`s = l^M \cos\alpha`$, the part of the path that the fiber takes: both
//! kinds of pennation are smooth in it, and the tendon's length is $`l^{MT} - s`$.

mod motion;
#[cfg(test)]
mod tests;

pub use motion::{Drive, MuscleState};

use crate::curve::{Curve, CurveKind};
use crate::fiber::FiberCurves;
use crate::root::first_root;

/// Dependence of the pennation angle on the fiber length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pennation {
    /// The angle is constant \[Chen92\].
    Constant,
    /// The thickness of the muscle, $`l^M_0 \sin\alpha_0`$, is constant, so the fibers rotate as they shorten
    /// \[Zajac89, Millard13\].
    ConstantThickness,
}

/// Parameters of an [`Actuator`].
#[derive(Clone, Debug, PartialEq)]
pub struct ActuatorParams {
    /// Maximum isometric active force $`F_0`$ \[N\] > 0.
    pub max_force: f64,
    /// Optimal fiber length $`l^M_0`$ \[m\] > 0.
    pub optimal_fiber_length: f64,
    /// Slack length of the tendon $`l^T_s`$ \[m\] ≥ 0; 0 for a rigid tendon without length, for muscle paths without a
    /// tendon.
    pub tendon_slack_length: f64,
    /// Angle between fibers and tendon at optimal fiber length \[rad\], from 0 to below π/2.
    pub pennation_angle: f64,
    /// Change of that angle with fiber length.
    pub pennation: Pennation,
    /// Maximum shortening speed $`v_m`$ \[optimal lengths / s\] > 0.
    pub max_speed: f64,
    /// Viscosity of the fiber $`\beta \ge 0`$: force in $`F_0`$ at speed $`v_m`$. It bounds velocities where the active
    /// force cannot; \[Millard13\] uses 0.1.
    pub damping: f64,
    /// Curves of the fiber.
    pub fiber: FiberCurves,
    /// Tendon force over strain, in $`F_0`$.
    pub tendon: Curve,
}

impl Default for ActuatorParams {
    /// Unit force and lengths with the curves of \[Chen92\]; ten lengths per second, Zajac's usual speed (CHE-50); no
    /// pennation and no damping, as in that paper.
    fn default() -> Self {
        ActuatorParams {
            max_force: 1.0,
            optimal_fiber_length: 1.0,
            tendon_slack_length: 1.0,
            pennation_angle: 0.0,
            pennation: Pennation::Constant,
            max_speed: 10.0,
            damping: 0.0,
            fiber: FiberCurves::chen(),
            tendon: Curve::tendon_zajac(),
        }
    }
}

/// Why parameters or a state are invalid.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ActuatorError {
    /// A parameter that must be positive is not.
    #[error("{name} is {value}; it must be above zero and finite")]
    NotPositive {
        /// Field of [`ActuatorParams`], or `dt`.
        name: &'static str,
        /// Its value.
        value: f64,
    },
    /// A parameter that must not be negative is.
    #[error("{name} is {value}; it must be zero or above and finite")]
    Negative {
        /// Field of [`ActuatorParams`], or the name of an argument.
        name: &'static str,
        /// Its value.
        value: f64,
    },
    /// Fibers at a right angle to the tendon, or beyond, cannot pull.
    #[error("the pennation angle is {degrees}°; it must be from 0° to below 90°")]
    Pennation {
        /// The angle.
        degrees: f64,
    },
    /// A curve has the wrong kind.
    #[error("the {expected:?} curve has the kind {found:?}")]
    WrongCurve {
        /// Expected kind.
        expected: CurveKind,
        /// Actual kind.
        found: CurveKind,
    },
    /// Activation is a fraction.
    #[error("activation {activation} is not between 0 and 1")]
    Activation {
        /// The activation.
        activation: f64,
    },
    /// The slack tendon takes up the whole path.
    #[error(
        "the path is {path} m long and the tendon's slack length {slack} m, which leaves the fiber no length; hint: shorten the tendon below {path} m, or check the units of both"
    )]
    PathTooShort {
        /// Length of the path \[m\].
        path: f64,
        /// Slack length of the tendon \[m\].
        slack: f64,
    },
    /// The fiber pulls more than its tendon at every length.
    #[error(
        "at activation {activation} on a path of {path} m the fiber shortens to zero length; hint: let the active curve fall to zero at short lengths"
    )]
    Collapse {
        /// Length of the path \[m\], 0 where a force is prescribed.
        path: f64,
        /// Activation.
        activation: f64,
    },
    /// No velocity balances the forces.
    #[error(
        "no velocity balances the load of {load} N on a fiber with the active force {active} N; hint: add damping, such as 0.01, which bounds the velocity"
    )]
    Unbalanced {
        /// Force along the fiber that active force and damping would have to balance \[N\].
        load: f64,
        /// Active force at rest \[N\].
        active: f64,
    },
    /// The tendon's curve never reaches a force.
    #[error("the tendon reaches a force of {force} N at no strain")]
    TendonTooWeak {
        /// The force \[N\].
        force: f64,
    },
}

/// A state in which tendon and fiber forces balance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Equilibrium {
    /// Fiber length in optimal lengths.
    pub fiber_length: f64,
    /// Force along the fiber \[N\].
    pub fiber_force: f64,
    /// Force along the tendon \[N\]: `fiber_force` times `cos_pennation`.
    pub tendon_force: f64,
    /// $`\cos\alpha`$.
    pub cos_pennation: f64,
    /// $`\varepsilon`$; 0 for a rigid tendon.
    pub tendon_strain: f64,
}

/// A fiber and a tendon in series.
#[derive(Clone, Debug, PartialEq)]
pub struct Actuator {
    params: ActuatorParams,
    /// $`\cos\alpha_0`$.
    cosine: f64,
    /// $`l^M_0 \sin\alpha_0`$ \[m\].
    thickness: f64,
    /// $`f_v(0)`$: one, up to rounding for curves through points.
    rest_factor: f64,
}

/// The fiber when it takes the part $`s`$ of the path.
#[derive(Clone, Copy)]
struct Fiber {
    /// $`\tilde l`$ and its derivative with respect to $`s`$.
    length: f64,
    length_slope: f64,
    /// $`\cos\alpha`$ and its derivative with respect to $`s`$.
    cosine: f64,
    cosine_slope: f64,
}

/// Number of points over the range of the active curve at which the equilibrium is bracketed. Two roots closer than
/// their spacing, about a hundredth of the optimal length, are missed; the fiber is then where it would be pulled an
/// instant later.
const SCAN_COUNT: usize = 128;

impl Actuator {
    /// An actuator with checked parameters.
    pub fn new(params: ActuatorParams) -> Result<Actuator, ActuatorError> {
        let positive = [
            ("max_force", params.max_force),
            ("optimal_fiber_length", params.optimal_fiber_length),
            ("max_speed", params.max_speed),
        ];
        for (name, value) in positive {
            require_positive(name, value)?;
        }
        require_not_negative("tendon_slack_length", params.tendon_slack_length)?;
        require_not_negative("damping", params.damping)?;
        let angle = params.pennation_angle;
        // A cosine below 1e-6 is a right angle with a rounding error.
        let is_acute = (0.0..std::f64::consts::FRAC_PI_2).contains(&angle) && angle.cos() > 1e-6;
        if !is_acute {
            return Err(ActuatorError::Pennation { degrees: angle.to_degrees() });
        }
        let mut curves = vec![
            (CurveKind::Active, &params.fiber.active),
            (CurveKind::Passive, &params.fiber.passive),
            (CurveKind::Tendon, &params.tendon),
        ];
        curves.extend(params.fiber.velocity.as_ref().map(|curve| (CurveKind::Velocity, curve)));
        for (expected, curve) in curves {
            if curve.kind() != expected {
                return Err(ActuatorError::WrongCurve { expected, found: curve.kind() });
            }
        }
        let (sine, cosine) = angle.sin_cos();
        let rest_factor = params.fiber.velocity.as_ref().map_or(1.0, |curve| curve.value(0.0));
        Ok(Actuator { cosine, thickness: params.optimal_fiber_length * sine, rest_factor, params })
    }

    /// Its parameters.
    pub fn params(&self) -> &ActuatorParams {
        &self.params
    }

    /// Static equilibrium on a path \[m\] at an activation: $`F^T = (a f_a + f_p) \cos\alpha`$ (CHE-13).
    ///
    /// On the descending limb of the active force a long tendon may be softer than the fiber. Then there are up to
    /// three solutions, and the middle one is unstable. The one returned has the shortest fiber. It is stable (a fiber
    /// stretched from it is pulled back), and it is reached on a path that grows from slack, or by a fiber that starts
    /// too short. It is bracketed by a scan along the active curve and polished by Newton's method.
    ///
    /// If the fiber is too short to pull at all, the tendon is just slack and all forces are zero. This is not an
    /// error: muscles can be slack. A path no longer than the slack tendon is an error, because the fiber would have no
    /// length.
    pub fn equilibrium(&self, path_length: f64, activation: f64) -> Result<Equilibrium, ActuatorError> {
        require_activation(activation)?;
        let slack = self.check_path(path_length)?;
        if self.is_rigid() {
            return Ok(self.equilibrium_at(path_length, path_length, activation));
        }
        // Tendon minus fiber: positive where the fiber is pulled longer.
        let balance = |s: f64| {
            let (tendon, tendon_slope) = self.tendon_pull(path_length, s);
            let (fiber, fiber_slope) = self.static_pull(s, activation);
            (tendon - fiber, tendon_slope - fiber_slope)
        };
        let mut near = 0.0;
        if balance(near).0 <= 0.0 {
            return Err(ActuatorError::Collapse { path: path_length, activation });
        }
        let mut far = slack;
        if activation > 0.0 {
            let [from, to] = self.params.fiber.active.range();
            let places = (0..=SCAN_COUNT).map(|i| from + (to - from) * i as f64 / SCAN_COUNT as f64);
            for s in places.map(|length| self.share_of(length)).filter(|&s| s > 0.0 && s < slack) {
                if balance(s).0 <= 0.0 {
                    far = s;
                    break;
                }
                near = s;
            }
        }
        let s = first_root(near, far, balance);
        Ok(self.equilibrium_at(path_length, s, activation))
    }

    /// Velocity of a fiber in units of the maximum shortening speed, negative for shortening, at which it balances its
    /// tendon:
    ///
    /// ```math
    /// a\, f_a(\tilde l)\, f_v(\tilde v) + \beta \tilde v = F^T / \cos\alpha - f_p(\tilde l)
    /// ```
    ///
    /// An unloaded fiber shortens at maximum speed. Without damping some loads have no solution: beyond the asymptote
    /// of $`f_v`$, below zero, and any load at zero activation. These are errors. With a rigid tendon the path
    /// determines the velocity; that is also an error.
    pub fn fiber_velocity(&self, fiber_length: f64, path_length: f64, activation: f64) -> Result<f64, ActuatorError> {
        require_activation(activation)?;
        require_not_negative("fiber_length", fiber_length)?;
        self.check_path(path_length)?;
        let s = self.share_of(fiber_length);
        let tendon = self.tendon_pull(path_length, s).0;
        let curves = &self.params.fiber;
        let load = tendon / self.fiber_at(s).cosine - curves.passive.value(fiber_length);
        let balance = |v: f64| {
            let active = curves.tension(fiber_length, activation, v);
            let value = load - activation * active.by_activation - self.params.damping * v;
            (value, -active.by_velocity - self.params.damping)
        };
        let at_rest = balance(0.0).0;
        if at_rest == 0.0 {
            return Ok(0.0);
        }
        // Double the range until the sign changes; no fiber reaches 2²⁰ times the maximum speed.
        let far = (0..=20).map(|k| at_rest.signum() * f64::from(1 << k)).find(|&v| balance(v).0 * at_rest <= 0.0);
        match far {
            Some(far) if !self.is_rigid() => Ok(first_root(0.0, far, balance)),
            _ => {
                let active = activation * curves.active.value(fiber_length);
                Err(ActuatorError::Unbalanced {
                    load: load * self.params.max_force,
                    active: active * self.params.max_force,
                })
            }
        }
    }

    fn is_rigid(&self) -> bool {
        self.params.tendon_slack_length == 0.0
    }

    /// Part of the path left for the fiber when the tendon is just slack.
    fn check_path(&self, path: f64) -> Result<f64, ActuatorError> {
        let slack = self.params.tendon_slack_length;
        if path > slack && path.is_finite() {
            Ok(path - slack)
        } else {
            Err(ActuatorError::PathTooShort { path, slack })
        }
    }

    fn fiber_at(&self, s: f64) -> Fiber {
        let optimal = self.params.optimal_fiber_length;
        match self.params.pennation {
            Pennation::Constant => Fiber {
                length: s / (optimal * self.cosine),
                length_slope: 1.0 / (optimal * self.cosine),
                cosine: self.cosine,
                cosine_slope: 0.0,
            },
            // Without pennation the thickness is zero, and the formula gives 0/0 at zero length.
            Pennation::ConstantThickness if self.thickness == 0.0 => {
                Fiber { length: s / optimal, length_slope: 1.0 / optimal, cosine: 1.0, cosine_slope: 0.0 }
            }
            Pennation::ConstantThickness => {
                let length = s.hypot(self.thickness);
                let (cosine, sine) = (s / length, self.thickness / length);
                Fiber {
                    length: length / optimal,
                    length_slope: cosine / optimal,
                    cosine,
                    cosine_slope: sine * sine / length,
                }
            }
        }
    }

    /// Part of the path taken by a fiber of given length; zero if it is shorter than the muscle is thick.
    fn share_of(&self, fiber_length: f64) -> f64 {
        let length = fiber_length * self.params.optimal_fiber_length;
        match self.params.pennation {
            Pennation::Constant => length * self.cosine,
            Pennation::ConstantThickness => ((length - self.thickness) * (length + self.thickness)).max(0.0).sqrt(),
        }
    }

    fn tendon_strain(&self, path: f64, s: f64) -> f64 {
        if self.is_rigid() { 0.0 } else { (path - s) / self.params.tendon_slack_length - 1.0 }
    }

    /// Tendon force in $`F_0`$ and its derivative with respect to $`s`$.
    fn tendon_pull(&self, path: f64, s: f64) -> (f64, f64) {
        let sample = self.params.tendon.at(self.tendon_strain(path, s));
        (sample.value, -sample.slope / self.params.tendon_slack_length)
    }

    /// Force of a fiber at rest along the tendon, in $`F_0`$, and its derivative with respect to $`s`$.
    fn static_pull(&self, s: f64, activation: f64) -> (f64, f64) {
        let fiber = self.fiber_at(s);
        let (active, passive) = (self.params.fiber.active.at(fiber.length), self.params.fiber.passive.at(fiber.length));
        let factor = activation * self.rest_factor;
        let tension = factor * active.value + passive.value;
        let tension_slope = factor * active.slope + passive.slope;
        let slope = tension_slope * fiber.length_slope * fiber.cosine + tension * fiber.cosine_slope;
        (tension * fiber.cosine, slope)
    }

    fn equilibrium_at(&self, path: f64, s: f64, activation: f64) -> Equilibrium {
        let fiber = self.fiber_at(s);
        let force = self.params.max_force * self.params.fiber.tension(fiber.length, activation, 0.0).value;
        Equilibrium {
            fiber_length: fiber.length,
            fiber_force: force,
            tendon_force: force * fiber.cosine,
            cos_pennation: fiber.cosine,
            tendon_strain: self.tendon_strain(path, s),
        }
    }
}

fn require_positive(name: &'static str, value: f64) -> Result<(), ActuatorError> {
    if value > 0.0 && value.is_finite() { Ok(()) } else { Err(ActuatorError::NotPositive { name, value }) }
}

fn require_not_negative(name: &'static str, value: f64) -> Result<(), ActuatorError> {
    if value >= 0.0 && value.is_finite() { Ok(()) } else { Err(ActuatorError::Negative { name, value }) }
}

fn require_activation(activation: f64) -> Result<(), ActuatorError> {
    if (0.0..=1.0).contains(&activation) { Ok(()) } else { Err(ActuatorError::Activation { activation }) }
}
