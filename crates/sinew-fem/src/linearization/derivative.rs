//! Derivatives of the forces of a state by a channel or a parameter, at fixed unknowns.
//!
//! ```math
//! \frac{dq}{dc} = m - K_{ff}^{-1} \Bigl( \frac{\partial g}{\partial c} + K m \Bigr)_f
//! ```
//!
//! with the motion m of the unknowns that pins and driven rigid bodies prescribe, and f for all other unknowns.

use sinew_math::{Mat3, Quaternion, Vec3};

use super::material::add_parameter_gradient;
use super::{Linearization, LinearizationError, Parameter, Place};
use crate::contact::Contacts;
use crate::control::ChannelId;
use crate::force::{Dependence, StepContext};
use crate::muscle::Activations;
use crate::probe::add_activation_gradients;

/// Variable of a derivative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// The value of a control channel.
    Channel(ChannelId),
    /// A parameter of the material of a body.
    Parameter {
        /// Index of the body.
        body: usize,
        /// The parameter.
        parameter: Parameter,
    },
}

/// How a derivative was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// In closed form. An affine function of the input has a constant derivative.
    ClosedForm,
    /// By complex step: exact to rounding.
    ComplexStep,
    /// By extrapolated central differences of a force that has no other derivative: accurate to about 1e-10.
    Differences,
}

impl Source {
    /// Describes the source in words.
    pub fn describe(self) -> &'static str {
        match self {
            Self::ClosedForm => "closed form",
            Self::ComplexStep => "complex step",
            Self::Differences => "central differences of a force",
        }
    }
}

/// Why a derivative is one-sided, or zero.
#[derive(Clone, Debug, PartialEq)]
pub enum Kink {
    /// An activation of 0 or 1, beyond which nothing changes. The derivative is that towards the inside.
    EndOfActivation {
        /// The activation.
        value: f64,
    },
    /// An activation outside 0 to 1, where it has no effect.
    OutsideActivation {
        /// The value of the channel.
        value: f64,
    },
    /// A force whose one-sided derivatives differ. The derivative is their mean.
    Force {
        /// Name of the force.
        name: String,
    },
}

impl Kink {
    /// Describes the kink in a sentence.
    pub fn describe(&self) -> String {
        match self {
            Self::EndOfActivation { value } => {
                format!(
                    "the value {value} is a kink: activation is clamped to [0, 1]; this is the derivative towards the inside"
                )
            }
            Self::OutsideActivation { value } => {
                format!("activation is clamped to [0, 1], and the channel is at {value}: small changes have no effect")
            }
            Self::Force { name } => {
                format!("the force \"{name}\" has a kink at this value; this is the mean of both sides")
            }
        }
    }
}

/// ∂g/∂c of one input.
#[derive(Clone, Debug, PartialEq)]
pub struct Derivative {
    /// ∂g/∂c over the unknowns, which are fixed \[N per unit of the input\].
    pub gradient: Vec<Vec3>,
    /// Motion m of prescribed unknowns \[m per unit of the input\].
    pub motion: Vec<Vec3>,
    /// How it was computed.
    pub source: Source,
    /// Why the derivative is one-sided or zero; `None` where it is smooth.
    pub kink: Option<Kink>,
}

impl Derivative {
    /// Whether the input has no effect on forces and pins.
    pub fn is_zero(&self) -> bool {
        self.gradient.iter().chain(&self.motion).all(|v| *v == Vec3::zero())
    }
}

/// A derivative with forces on points, before the pull-back to unknowns.
struct OnPoints {
    forces: Vec<Vec3>,
    motion: Vec<Vec3>,
    source: Source,
    kink: Option<Kink>,
}

impl Linearization<'_> {
    /// Computes ∂g/∂c for each of some inputs.
    ///
    /// # Errors
    /// [`LinearizationError::NotFinite`] where a force has no finite derivative.
    pub fn derivatives(&self, inputs: &[Input]) -> Result<Vec<Derivative>, LinearizationError> {
        let Place { model, state, .. } = self.place;
        let mut found: Vec<OnPoints> = inputs.iter().map(|&input| self.on_points(input)).collect();
        // One pass over the cells of a body gives the derivatives by all of its activations.
        for body in 0..model.bodies.len() {
            self.add_activations(body, inputs, &mut found);
        }
        let pulled = found.into_iter().map(|OnPoints { forces, motion, source, kink }| {
            let mut gradient = vec![Vec3::zero(); model.kinematics.unknown_count()];
            model.kinematics.pull_back(&state.unknowns, &forces, &mut gradient);
            let is_finite = gradient.iter().chain(&motion).all(|v| v.is_finite());
            is_finite.then_some(Derivative { gradient, motion, source, kink }).ok_or(LinearizationError::NotFinite)
        });
        pulled.collect()
    }

    /// Computes ∂g/∂c for one input.
    ///
    /// # Errors
    /// As [`Self::derivatives`].
    pub fn derivative(&self, input: Input) -> Result<Derivative, LinearizationError> {
        self.derivatives(&[input]).map(|mut found| found.remove(0))
    }

    /// Everything but the fibers of cells.
    fn on_points(&self, input: Input) -> OnPoints {
        let Place { model, state, control, .. } = self.place;
        let mut out = OnPoints {
            forces: vec![Vec3::zero(); model.kinematics.point_count()],
            motion: vec![Vec3::zero(); model.kinematics.unknown_count()],
            source: Source::ClosedForm,
            kink: None,
        };
        match input {
            Input::Parameter { body, parameter } => {
                out.source = add_parameter_gradient(model, body, parameter, state, control, &mut out.forces);
            }
            Input::Channel(channel) => {
                add_motion(&self.place, channel, &mut out.motion);
                self.add_stiffness(channel, &mut out.forces);
                self.add_forces(channel, &mut out);
            }
        }
        out
    }

    /// The stiffness factor of a body multiplies all forces of its cells except those of active fibers.
    fn add_stiffness(&self, channel: ChannelId, forces: &mut [Vec3]) {
        let Place { model, state, .. } = self.place;
        for body in (0..model.bodies.len()).filter(|&body| model.stiffness[body] == channel) {
            model.add_passive_gradient(body, &state.positions, forces);
        }
    }

    fn add_forces(&self, channel: ChannelId, out: &mut OnPoints) {
        let Place { model, state, control, .. } = self.place;
        let dt = super::step_length(state);
        let mut contacts = Contacts::default();
        contacts.find(model, state, control, dt);
        let ctx = StepContext { time: state.time, dt, previous: state, control, contacts: &contacts };
        for force in model.forces() {
            match force.add_channel_derivative(&state.positions, &ctx, channel, &mut out.forces) {
                Dependence::None | Dependence::Exact => {}
                Dependence::Differences => out.source = Source::Differences,
                Dependence::Kink => {
                    out.source = Source::Differences;
                    out.kink = Some(Kink::Force { name: force.name().to_string() });
                }
            }
        }
        if model.active_forces().any(|force| force.channel() == channel) {
            (out.kink, _) = kink_of_activation(control.get(channel));
        }
    }

    fn add_activations(&self, body: usize, inputs: &[Input], found: &mut [OnPoints]) {
        let Place { model, state, control, .. } = self.place;
        let muscles = model.muscles_of(body);
        let mut wanted: Vec<(usize, usize)> = Vec::new();
        for (k, input) in inputs.iter().enumerate() {
            let own = |muscle: &crate::muscle::Muscle| *input == Input::Channel(muscle.activation);
            if let Some(muscle) = muscles.iter().position(own) {
                let (kink, is_active) = kink_of_activation(control.get(muscles[muscle].activation));
                found[k].kink = kink;
                if is_active {
                    wanted.push((muscle, k));
                }
            }
        }
        if wanted.is_empty() {
            return;
        }
        for block in &model.elastic[model.bodies[body].elastic.clone()] {
            add_activation_gradients(block, &state.positions, &wanted, |k, point, force| {
                found[k].forces[point as usize] += force;
            });
        }
        let Some(lattice) = model.lattice_of(body) else { return };
        // The force of fibers is proportional to their activation.
        let relaxed = {
            let mut gradient = vec![Vec3::zero(); state.positions.len()];
            lattice.add_gradient(&state.positions, &Activations::none(), 1.0, &mut gradient);
            gradient
        };
        for &(muscle, k) in &wanted {
            let forces = &mut found[k].forces;
            lattice.add_gradient(&state.positions, &Activations::only(muscle), 1.0, forces);
            for point in lattice.points() {
                forces[point] -= relaxed[point];
            }
        }
    }
}

/// The kink at an activation, and whether the activation has an effect on at least one side.
fn kink_of_activation(value: f64) -> (Option<Kink>, bool) {
    match value {
        0.0 | 1.0 => (Some(Kink::EndOfActivation { value }), true),
        value if (0.0..=1.0).contains(&value) => (None, true),
        value => (Some(Kink::OutsideActivation { value }), false),
    }
}

/// motion += motion of pinned nodes and driven rigid bodies per unit of a channel.
fn add_motion(place: &Place<'_>, channel: ChannelId, motion: &mut [Vec3]) {
    let Place { model, control, .. } = *place;
    for pin in &model.pins {
        let rotation = control.vector(pin.motion.rotation);
        let turn = Quaternion::exp_map(rotation).to_matrix();
        let deformation = control.matrix(pin.motion.deformation);
        let translated = pin.motion.translation.iter().position(|&own| own == channel);
        let spin = spin_of(rotation, pin.motion.rotation, channel);
        let deformed = (0..9).find(|k| pin.motion.deformation[k / 3][k % 3] == channel);
        if translated.is_none() && spin.is_none() && deformed.is_none() {
            continue;
        }
        for &(unknown, rest) in &pin.nodes {
            let arm = rest - pin.pivot;
            let mut speed = translated.map_or(Vec3::zero(), Vec3::unit);
            if let Some(spin) = spin {
                speed += spin.cross(turn * (deformation * arm));
            }
            if let Some(k) = deformed {
                speed += turn * (Vec3::unit(k / 3) * arm[k % 3]);
            }
            for axis in (0..3).filter(|&axis| pin.axes[axis]) {
                motion[unknown as usize][axis] = speed[axis];
            }
        }
    }
    for driven in &model.driven {
        let block = model.kinematics.rigid_blocks()[model.rigid_bodies[driven.rigid].block as usize];
        let rotation = control.vector(driven.rotation);
        if let Some(axis) = driven.translation.iter().position(|&own| own == channel) {
            motion[block.translation as usize] += Vec3::unit(axis);
        }
        if let Some(spin) = spin_of(rotation, driven.rotation, channel) {
            let arm = Quaternion::exp_map(rotation).rotate(driven.initial.translation - driven.pivot);
            motion[block.translation as usize] += spin.cross(arm);
            motion[block.rotation as usize] += spin;
        }
    }
}

/// Angular velocity of exp(\[θ\]ₓ) per unit of one component of θ, if `channel` is that component.
fn spin_of(rotation: Vec3, channels: [ChannelId; 3], channel: ChannelId) -> Option<Vec3> {
    let axis = channels.iter().position(|&own| own == channel)?;
    Some(left_jacobian(rotation) * Vec3::unit(axis))
}

/// The left Jacobian of the exponential map,
/// ```math
/// J = I + \frac{1 - \cos\varphi}{\varphi^2} [\theta]_\times +
///    \frac{\varphi - \sin\varphi}{\varphi^3} [\theta]_\times^2,
///    \quad \varphi = |\theta| .
/// ```
fn left_jacobian(rotation: Vec3) -> Mat3 {
    let angle = rotation.norm();
    // Below this angle the series are accurate to 1e-16.
    let (first, second) = if angle < 1e-4 {
        (0.5 - angle * angle / 24.0, 1.0 / 6.0 - angle * angle / 120.0)
    } else {
        ((1.0 - angle.cos()) / (angle * angle), (angle - angle.sin()) / angle.powi(3))
    };
    let cross = Mat3::skew(rotation);
    Mat3::identity() + cross * first + cross * cross * second
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Central differences of the rotation itself are accurate to 1e-9.
    #[test]
    fn spin_is_the_derivative_of_the_exponential_map() {
        let arm = Vec3::new(0.3, -1.0, 0.7);
        for rotation in [Vec3::zero(), Vec3::new(1e-5, 0.0, 2e-5), Vec3::new(0.4, -1.2, 2.0)] {
            for axis in 0..3 {
                let h = 1e-5;
                let moved = |s: f64| Quaternion::exp_map(rotation + Vec3::unit(axis) * s).rotate(arm);
                let numeric = (moved(h) - moved(-h)) / (2.0 * h);
                let spin = left_jacobian(rotation) * Vec3::unit(axis);
                let exact = spin.cross(Quaternion::exp_map(rotation).rotate(arm));
                assert!((numeric - exact).norm() < 1e-9, "{rotation:?} {axis}");
            }
        }
    }
}
