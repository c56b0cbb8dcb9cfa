//! How the forces of a state change with a channel or a parameter, the unknowns staying where they are.
//!
//! ```math
//! \frac{dq}{dc} = m - K_{ff}^{-1} \Bigl( \frac{\partial g}{\partial c} + K m \Bigr)_f
//! ```
//!
//! with the motion m of the unknowns that pins and driven rigid bodies prescribe, and f for all others.

use sinew_math::{Mat3, Quaternion, Vec3};

use super::activation::add_activation_gradients;
use super::material::add_parameter_gradient;
use super::{Linearization, LinearizationError, Parameter, Place};
use crate::contacts::Contacts;
use crate::control::ChannelId;
use crate::elastic::Actuation;
use crate::force::{Dependence, StepContext};
use crate::model::Model;
use crate::muscle::Activations;

/// What derivatives are taken by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// The value of a control channel.
    Channel(ChannelId),
    /// A parameter of the material of a body.
    Parameter {
        /// Index of the body.
        body: usize,
        /// Which of its parameters.
        parameter: Parameter,
    },
}

/// How a derivative was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// In closed form; what is affine in the input is its own derivative.
    ClosedForm,
    /// By complex step: exact to rounding.
    ComplexStep,
    /// By central differences of a force that has no other derivative, extrapolated: some 1e-10 off.
    Differences,
}

impl Source {
    /// In words.
    pub fn describe(self) -> &'static str {
        match self {
            Self::ClosedForm => "closed form",
            Self::ComplexStep => "complex step",
            Self::Differences => "central differences of a force",
        }
    }
}

/// Why a derivative is another one on either side, or zero.
#[derive(Clone, Debug, PartialEq)]
pub enum Kink {
    /// An activation of 0 or 1: beyond, nothing changes. The derivative is that towards the other end.
    EndOfActivation {
        /// The activation.
        value: f64,
    },
    /// An activation outside 0 to 1, which changes nothing.
    OutsideActivation {
        /// The value of the channel.
        value: f64,
    },
    /// A force that grows differently to either side. The derivative is the mean of both.
    Force {
        /// Its name.
        name: String,
    },
}

impl Kink {
    /// In a sentence.
    pub fn describe(&self) -> String {
        match self {
            Self::EndOfActivation { value } => {
                format!(
                    "the value {value} is a kink: activation is kept between 0 and 1; this is the derivative towards the inside"
                )
            }
            Self::OutsideActivation { value } => {
                format!("activation is kept between 0 and 1, and the channel is at {value}: small changes do nothing")
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
    /// ∂g/∂c over the unknowns, which stay where they are \[N per unit of the input\].
    pub gradient: Vec<Vec3>,
    /// m: how prescribed unknowns move \[m per unit of the input\].
    pub motion: Vec<Vec3>,
    /// How it was computed.
    pub source: Source,
    /// Where the derivative is not the whole truth.
    pub kink: Option<Kink>,
}

impl Derivative {
    /// Whether neither forces nor pins answer to the input.
    pub fn is_zero(&self) -> bool {
        self.gradient.iter().chain(&self.motion).all(|v| *v == Vec3::zero())
    }
}

/// A derivative whose forces still act on points.
struct OnPoints {
    forces: Vec<Vec3>,
    motion: Vec<Vec3>,
    source: Source,
    kink: Option<Kink>,
}

impl Linearization<'_> {
    /// ∂g/∂c for each of some inputs.
    ///
    /// # Errors
    /// [`LinearizationError::NotFinite`] where a force has no finite derivative.
    pub fn derivatives(&self, inputs: &[Input]) -> Result<Vec<Derivative>, LinearizationError> {
        let Place { model, state, .. } = self.place;
        let mut found: Vec<OnPoints> = inputs.iter().map(|&input| self.on_points(input)).collect();
        // The fibers of a body answer to all of its activations in one pass over its cells.
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

    /// ∂g/∂c of one input.
    ///
    /// # Errors
    /// As [`Self::derivatives`].
    pub fn derivative(&self, input: Input) -> Result<Derivative, LinearizationError> {
        self.derivatives(&[input]).map(|mut found| found.remove(0))
    }

    /// All but what the fibers of cells do.
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

    /// The factor on the stiffness of a body multiplies all that its cells do but for active fibers.
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
        if model.strands.iter().any(|strand| strand.activation == channel) {
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
        // The pull of fibers is a multiple of their activation.
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

/// The kink at an activation, and whether it has an effect to at least one side.
fn kink_of_activation(value: f64) -> (Option<Kink>, bool) {
    match value {
        0.0 | 1.0 => (Some(Kink::EndOfActivation { value }), true),
        value if (0.0..=1.0).contains(&value) => (None, true),
        value => (Some(Kink::OutsideActivation { value }), false),
    }
}

/// motion += how pinned nodes and driven rigid bodies move with a channel.
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

/// Angular velocity of exp(\[θ\]ₓ) when one component of θ grows, if `channel` is that component.
fn spin_of(rotation: Vec3, channels: [ChannelId; 3], channel: ChannelId) -> Option<Vec3> {
    let axis = channels.iter().position(|&own| own == channel)?;
    Some(left_jacobian(rotation) * Vec3::unit(axis))
}

/// The left Jacobian of the exponential map,
/// ```math
/// J = I + \frac{1 - \cos\varphi}{\varphi^2} [\theta]_\times + \frac{\varphi - \sin\varphi}{\varphi^3} [\theta]_\times^2, \quad \varphi = |\theta| .
/// ```
fn left_jacobian(rotation: Vec3) -> Mat3 {
    let angle = rotation.norm();
    // Below, the series leave 1e-16.
    let (first, second) = if angle < 1e-4 {
        (0.5 - angle * angle / 24.0, 1.0 / 6.0 - angle * angle / 120.0)
    } else {
        ((1.0 - angle.cos()) / (angle * angle), (angle - angle.sin()) / angle.powi(3))
    };
    let cross = Mat3::skew(rotation);
    Mat3::identity() + cross * first + cross * cross * second
}

impl Model {
    /// gradient += that of the cells of a body with relaxed fibers and without the factor on its stiffness.
    pub(super) fn add_passive_gradient(&self, body: usize, x: &[Vec3], gradient: &mut [Vec3]) {
        for block in &self.elastic[self.bodies[body].elastic.clone()] {
            let energies: Vec<_> = (0..block.pack_count()).map(|_| Default::default()).collect();
            block.add_gradient(x, &Actuation::PASSIVE, 1.0, gradient, &energies);
        }
        if let Some(lattice) = self.lattice_of(body) {
            lattice.add_gradient(x, &Activations::none(), 1.0, gradient);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Central differences of the rotation itself leave 1e-9.
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
