//! Muscle physiology in one dimension: the force of a fiber at a length, a speed and an activation.
//!
//! ```math
//! f(l, v, a) = a\, f_a(l)\, f_v(v) + f_p(l)
//! ```
//!
//! with lengths in optimal fiber lengths, speeds in maximum shortening speeds and forces in maximum isometric forces
//! \[Zajac89\]. A [`Curve`] is one of $`f_a`$, $`f_p`$, $`f_v`$ or the tendon's force over its strain, published or
//! through points; [`FiberCurves`] are those of a fiber. [`ActivationDynamics`] turns excitation into activation; an
//! [`Actuator`] is a fiber with a tendon in series along a path, at rest or in motion.
//!
//! ```
//! use sinew_muscle::FiberCurves;
//!
//! let curves = FiberCurves::chen();
//! let isometric = curves.tension(1.0, 1.0, 0.0).value;
//! let shortening = curves.tension(1.0, 1.0, -0.5).value;
//! assert!((isometric - 1.0).abs() < 1e-3 && shortening < 0.5 * isometric);
//! ```

mod activation;
mod actuator;
mod curve;
mod fiber;
mod root;

pub use activation::{ActivationDynamics, ActivationError, PulseTrain, Switch};
pub use actuator::{Actuator, ActuatorError, ActuatorParams, Drive, Equilibrium, MuscleState, Pennation};
pub use curve::{Curve, CurveError, CurveKind, CurveSample};
pub use fiber::{FiberCurves, FiberTension};
