//! Physiology of muscle in one dimension: how strong a fibre is at a length, a speed and an activation.
//!
//! $$ f(l, v, a) = a\, f_a(l)\, f_v(v) + f_p(l) $$
//!
//! with lengths in optimal fibre lengths, speeds in greatest shortening speeds and forces in greatest isometric forces [Zajac89]. A
//! [`Curve`] is one of $f_a$, $f_p$, $f_v$ or the tendon's force over its strain, published or through points; [`FiberCurves`] are those of a fibre.
//! [`ActivationDynamics`] turn excitation into activation; an [`Actuator`] is a fibre with a tendon in series along a path, at rest or in motion.

mod activation;
mod actuator;
mod curve;
mod fiber;
mod root;

pub use activation::{ActivationDynamics, ActivationError, PulseTrain, Switch};
pub use actuator::{Actuator, ActuatorError, ActuatorParams, Drive, Equilibrium, MuscleState, Pennation};
pub use curve::{Curve, CurveError, CurveKind, CurveSample};
pub use fiber::{FiberCurves, FiberTension};
