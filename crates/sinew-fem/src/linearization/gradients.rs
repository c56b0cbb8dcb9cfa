//! Gradients of probes at an equilibrium, computed twice: forward and adjoint.
//!
//! With the motion m of prescribed unknowns and the derivative $`s = \partial g/\partial c + K m`$ of the residual,
//!
//! ```math
//! \frac{dp}{dc} = w \cdot m + p_r \cdot \frac{\partial g}{\partial c} + p_c - w_f \cdot K_{ff}^{-1} s_f, \qquad
//!    w = J^T p_x + p_q + K^T p_r .
//! ```
//!
//! The forward method solves $`K_{ff} d = s_f`$ once per input, the adjoint method $`K_{ff}^T \lambda = w_f`$ once per
//! probe. Both give the same number, so a difference reveals an error of the solver.

use sinew_math::Vec3;
use sinew_math::krylov::{dot, norm};
use thiserror::Error;

use super::{Derivative, Input, Linearization, LinearizationError, LinearizationPlan, Source};
use crate::control::ChannelId;
use crate::force::ContactForce;
use crate::material::Tangent;
use crate::model::Model;
use crate::probe::ProbeGradient;
use crate::simulation::Simulation;
use crate::state::State;

/// Maximum residual of an equilibrium, relative to the forces of a unit strain.
const MAX_IMBALANCE: f64 = 1e-4;
/// Maximum relative error of products with K against differences of the forces. Contacts that are about to close and
/// bent cells of lattices stay below it.
const MAX_TANGENT_ERROR: f64 = 1e-3;
/// Step of these differences, over the size of the model.
const TRIAL: f64 = 1e-6;
/// Differences that are this small beside their parts are rounding.
const ROUNDING: f64 = 1e-6;

/// Why there are no gradients.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum GradientError {
    /// The scheme has inertia: the state depends on all steps before it.
    #[error(
        "gradients need an equilibrium, and this scene moves in time\nhint: `solver.type = \"quasistatic\"` finds equilibria instead"
    )]
    Dynamic,
    /// Forces depend on earlier steps.
    #[error("{what} depend on earlier steps, so the state is not a function of the channels and parameters alone")]
    History {
        /// The forces that do.
        what: &'static str,
    },
    /// The state is not in balance.
    #[error(
        "the state is not an equilibrium: the residual is {residual:.3e} N, {relative:.1e} of the forces of a unit strain"
    )]
    NotAtRest {
        /// The residual \[N\].
        residual: f64,
        /// The residual relative to the forces of a unit strain.
        relative: f64,
    },
    /// A probe that counts something, or measures motion or the solver.
    #[error("\"{probe}\" has no derivative: it counts something, or measures motion or the work of the solver")]
    NoDerivative {
        /// The probe.
        probe: String,
    },
    /// A probe that reads material parameters directly.
    #[error("\"{probe}\" reads the material directly, so its derivative by \"{input}\" is unknown")]
    ReadsMaterial {
        /// The probe.
        probe: String,
        /// The parameter.
        input: String,
    },
    /// The tangent is not the derivative of the forces.
    #[error(
        "along d/d\"{input}\" the stiffness differs from the change of the forces by a fraction of {error:.1e}: {culprit}"
    )]
    Tangent {
        /// The input whose response shows the error.
        input: String,
        /// The relative difference.
        error: f64,
        /// What has no exact derivative.
        culprit: String,
    },
    /// The linearization failed.
    #[error(transparent)]
    Linearization(#[from] LinearizationError),
}

/// One derivative.
#[derive(Clone, Debug, PartialEq)]
pub struct Gradient {
    /// Index into the requested probes.
    pub probe: usize,
    /// Index into the requested inputs.
    pub input: usize,
    /// dp/dc by a solve for the input.
    pub forward: f64,
    /// dp/dc by a solve for the probe; `None` where the probe has no closed-form derivative.
    pub adjoint: Option<f64>,
    /// |forward − adjoint| relative to the larger, or to the sum of the parts where these cancel.
    pub difference: f64,
}

/// Derivatives of probes by inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Gradients {
    /// Probe by probe, input by input.
    pub values: Vec<Gradient>,
    /// ∂g/∂c of each input.
    pub derivatives: Vec<Derivative>,
    /// dq/dc of each input over the unknowns.
    pub responses: Vec<Vec<Vec3>>,
    /// Residual at the state \[N\].
    pub residual: f64,
    /// Maximum relative difference between products with K and differences of the forces along the responses.
    pub tangent_error: f64,
    /// Name of the solver.
    pub method: &'static str,
}

impl Simulation {
    /// Linearizes the equations at the current state, with the exact stiffness; `plan` must belong to its model.
    ///
    /// # Errors
    /// As [`Linearization::new`].
    pub fn linearize<'a>(&'a self, plan: &'a LinearizationPlan) -> Result<Linearization<'a>, LinearizationError> {
        Linearization::new(plan, self.model(), self.state(), self.control(), Tangent::Exact)
    }

    /// Computes derivatives of probes (indices into [`Simulation::probe_names`]) by some inputs, at the current state,
    /// which must be an equilibrium.
    ///
    /// # Errors
    /// All reasons why some of these derivatives do not exist.
    pub fn gradients(&self, probes: &[usize], inputs: &[Input]) -> Result<Gradients, Vec<GradientError>> {
        self.differentiation(probes, inputs).run()
    }

    /// Reasons why some of these derivatives cannot exist, as far as the current state shows; a check before a long
    /// run.
    pub fn gradient_refusals(&self, probes: &[usize], inputs: &[Input]) -> Vec<GradientError> {
        self.differentiation(probes, inputs).refusals()
    }

    fn differentiation<'a>(&'a self, probes: &'a [usize], inputs: &'a [Input]) -> Differentiation<'a> {
        let names = inputs.iter().map(|&input| self.input_name(input)).collect();
        Differentiation { simulation: self, probes, inputs, names }
    }

    /// Name of an input: that of its channel, or `BODY.PARAMETER`.
    pub fn input_name(&self, input: Input) -> String {
        match input {
            Input::Channel(channel) => self.control().table().names()[channel.0 as usize].clone(),
            Input::Parameter { body, parameter } => format!("{}.{}", self.model().bodies[body].name, parameter.name()),
        }
    }

    /// All inputs with their names: every channel, then the parameters of every body.
    pub fn inputs(&self) -> Vec<(String, Input)> {
        let model = self.model();
        let channels = (0..self.control().values().len() as u32).map(|k| Input::Channel(ChannelId(k)));
        let parameters = (0..model.bodies.len()).flat_map(|body| {
            super::Parameter::of(model, body).into_iter().map(move |parameter| Input::Parameter { body, parameter })
        });
        channels.chain(parameters).map(|input| (self.input_name(input), input)).collect()
    }
}

struct Differentiation<'a> {
    simulation: &'a Simulation,
    probes: &'a [usize],
    inputs: &'a [Input],
    names: Vec<String>,
}

impl Differentiation<'_> {
    fn run(&self) -> Result<Gradients, Vec<GradientError>> {
        let simulation = self.simulation;
        let model = simulation.model();
        let errors = self.refusals();
        if !errors.is_empty() {
            return Err(errors);
        }
        let closed: Vec<Option<ProbeGradient>> =
            self.probes.iter().map(|&probe| simulation.probe_gradient(probe)).collect();
        let plan = LinearizationPlan::new(model);
        let mut linearization = simulation.linearize(&plan).map_err(|error| vec![error.into()])?;
        self.check_balance(&linearization).map_err(|error| vec![error])?;
        self.differentiate(&mut linearization, &closed).map_err(|error| vec![error])
    }

    /// Reasons why the model has no gradients.
    fn refusals(&self) -> Vec<GradientError> {
        let simulation = self.simulation;
        let model = simulation.model();
        let mut errors = Vec::new();
        if !simulation.is_static() {
            errors.push(GradientError::Dynamic);
        }
        let rubs = model.forces_of::<ContactForce>().any(|force| force.friction > 0.0) || model.contact.has_friction();
        if rubs && !simulation.frame().contacts.is_empty() {
            errors.push(GradientError::History { what: "contacts with friction" });
        }
        if model.needs_motion() {
            errors.push(GradientError::History { what: "muscles whose force depends on their speed" });
        }
        for &probe in self.probes {
            let name = &simulation.probe_names()[probe];
            if counts(name) {
                errors.push(GradientError::NoDerivative { probe: name.clone() });
                continue;
            }
            let reads = || match simulation.probe_gradient(probe) {
                Some(gradient) => gradient.reads_materials,
                None => ["stress", "piola", "energy"].iter().any(|word| name.contains(word)),
            };
            for (input, own) in self.inputs.iter().zip(&self.names) {
                if matches!(input, Input::Parameter { .. }) && reads() {
                    errors.push(GradientError::ReadsMaterial { probe: name.clone(), input: own.clone() });
                }
            }
        }
        errors
    }

    fn check_balance(&self, linearization: &Linearization<'_>) -> Result<(), GradientError> {
        let residual = linearization.residual();
        let relative = residual / unit_strain_force(self.simulation);
        if relative > MAX_IMBALANCE { Err(GradientError::NotAtRest { residual, relative }) } else { Ok(()) }
    }

    fn differentiate(
        &self,
        linearization: &mut Linearization<'_>,
        closed: &[Option<ProbeGradient>],
    ) -> Result<Gradients, GradientError> {
        let model = self.simulation.model();
        let unknowns = model.kinematics.unknown_count();
        let derivatives = linearization.derivatives(self.inputs)?;
        // s = ∂g/∂c + K m, and forward d = K⁻¹ s.
        let mut imbalances = Vec::with_capacity(derivatives.len());
        for derivative in &derivatives {
            let mut s = vec![Vec3::zero(); unknowns];
            linearization.product(&derivative.motion, &mut s)?;
            for (s, &g) in s.iter_mut().zip(&derivative.gradient) {
                *s += g;
            }
            imbalances.push(s);
        }
        let mut responses = imbalances.clone();
        linearization.solve_many(&mut responses)?;
        for (response, derivative) in responses.iter_mut().zip(&derivatives) {
            for (d, &m) in response.iter_mut().zip(&derivative.motion) {
                *d = m - *d;
            }
        }
        let tangent_error = self.check_tangent(linearization, &derivatives, &responses)?;
        let mut values = Vec::new();
        let weights: Vec<Option<Weights>> =
            closed.iter().map(|gradient| Weights::new(linearization, gradient.as_ref()?).ok()).collect();
        let mut adjoints: Vec<Vec<Vec3>> = weights.iter().flatten().map(|weights| weights.of_motion.clone()).collect();
        linearization.solve_many_transposed(&mut adjoints)?;
        let mut adjoints = adjoints.into_iter();
        for (probe, weights) in weights.iter().enumerate() {
            let adjoint = weights.as_ref().and_then(|_| adjoints.next());
            for (input, derivative) in derivatives.iter().enumerate() {
                let (response, s) = (&responses[input], &imbalances[input]);
                let gradient = match (weights, &adjoint) {
                    (Some(weights), Some(lambda)) => {
                        let direct =
                            dot(&weights.of_reactions, &derivative.gradient) + weights.of_input(self.inputs[input]);
                        let forward = direct + dot(&weights.of_motion, response);
                        let moved = dot(&weights.of_motion, &derivative.motion);
                        let adjoint = direct + moved - dot(lambda, s);
                        let parts =
                            norm(&weights.of_motion) * norm(response) * ROUNDING + forward.abs().max(adjoint.abs());
                        let difference = if parts > 0.0 { (forward - adjoint).abs() / parts } else { 0.0 };
                        Gradient { probe, input, forward, adjoint: Some(adjoint), difference }
                    }
                    _ => {
                        let forward = self.difference_of_probe(
                            linearization,
                            self.probes[probe],
                            derivative,
                            response,
                            self.inputs[input],
                        )?;
                        Gradient { probe, input, forward, adjoint: None, difference: 0.0 }
                    }
                };
                values.push(gradient);
            }
        }
        let (residual, method) = (linearization.residual(), linearization.method()?);
        Ok(Gradients { values, derivatives, responses, residual, tangent_error, method })
    }

    /// Compares K d with differences of the forces along each response d.
    fn check_tangent(
        &self,
        linearization: &Linearization<'_>,
        derivatives: &[Derivative],
        responses: &[Vec<Vec3>],
    ) -> Result<f64, GradientError> {
        let (model, state) = (self.simulation.model(), self.simulation.state());
        let size = model.rest_size();
        let mut largest = 0.0f64;
        for ((response, derivative), name) in responses.iter().zip(derivatives).zip(&self.names) {
            let reach = response.iter().map(|d| d.norm()).fold(0.0, f64::max);
            if derivative.is_zero() || !(reach > 0.0) {
                continue;
            }
            let mut product = vec![Vec3::zero(); response.len()];
            linearization.product(response, &mut product)?;
            let h = TRIAL * size / reach;
            let at = |h: f64| linearization.gradient_at(&moved(model, state, response, h));
            let (plus, minus) = (at(h)?, at(-h)?);
            let mut difference: Vec<Vec3> =
                plus.iter().zip(&minus).zip(&product).map(|((&p, &m), &k)| (p - m) / (2.0 * h) - k).collect();
            model.kinematics.filter(&mut difference);
            model.kinematics.filter(&mut product);
            // Forces that cancel leave rounding of their own size.
            let floor = f64::EPSILON * unit_strain_force(self.simulation) / h * 10.0;
            let scale = norm(&product).max(norm(&derivative.gradient));
            let error = (norm(&difference) - floor).max(0.0) / scale.max(f64::MIN_POSITIVE);
            if error > MAX_TANGENT_ERROR {
                let culprit = culprit(linearization, response, h, 0.5 * norm(&difference))?;
                return Err(GradientError::Tangent { input: name.clone(), error, culprit });
            }
            largest = largest.max(error);
        }
        Ok(largest)
    }

    /// dp/dc of a probe without a closed form, by differences of two states along the response.
    fn difference_of_probe(
        &self,
        linearization: &Linearization<'_>,
        probe: usize,
        derivative: &Derivative,
        response: &[Vec3],
        input: Input,
    ) -> Result<f64, GradientError> {
        let simulation = self.simulation;
        let (model, state) = (simulation.model(), simulation.state());
        let reach = response.iter().map(|d| d.norm()).fold(0.0, f64::max);
        let h = if reach > 0.0 { TRIAL.sqrt() * 0.1 * model.rest_size() / reach } else { TRIAL };
        let mut reaction = vec![Vec3::zero(); response.len()];
        linearization.product(response, &mut reaction)?;
        for (r, &g) in reaction.iter_mut().zip(&derivative.gradient) {
            *r += g;
        }
        let at = |h: f64| {
            let mut state = moved(model, state, response, h);
            for (point, r) in state.reactions.iter_mut().enumerate() {
                if let Some(unknown) = model.kinematics.own_unknown(point) {
                    *r += reaction[unknown as usize] * h;
                }
            }
            let mut control = simulation.control().clone();
            if let Input::Channel(channel) = input {
                control.set(channel, control.get(channel) + h);
            }
            simulation.probe_at(probe, &state, &control)
        };
        Ok((8.0 * (at(0.5 * h) - at(-0.5 * h)) - (at(h) - at(-h))) / (6.0 * h))
    }
}

/// Derivatives of a probe over the unknowns.
struct Weights {
    /// w.
    of_motion: Vec<Vec3>,
    /// p_r.
    of_reactions: Vec<Vec3>,
    channels: Vec<(ChannelId, f64)>,
}

impl Weights {
    fn new(linearization: &Linearization<'_>, gradient: &ProbeGradient) -> Result<Self, LinearizationError> {
        let (model, state) = (linearization.place.model, linearization.place.state);
        let unknowns = model.kinematics.unknown_count();
        let mut pulled = vec![Vec3::zero(); unknowns];
        model.kinematics.pull_back(&state.unknowns, &gradient.points, &mut pulled);
        let mut of_reactions = vec![Vec3::zero(); unknowns];
        for (point, &r) in gradient.reactions.iter().enumerate() {
            if let Some(unknown) = model.kinematics.own_unknown(point) {
                of_reactions[unknown as usize] += r;
            }
        }
        let mut of_motion = vec![Vec3::zero(); unknowns];
        linearization.transposed_product(&of_reactions, &mut of_motion)?;
        for (k, w) in of_motion.iter_mut().enumerate() {
            *w += pulled[k] + gradient.unknowns[k];
        }
        Ok(Self { of_motion, of_reactions, channels: gradient.channels.clone() })
    }

    /// ∂p/∂c at a fixed state.
    fn of_input(&self, input: Input) -> f64 {
        let own = |&&(channel, _): &&(ChannelId, f64)| input == Input::Channel(channel);
        self.channels.iter().filter(own).map(|&(_, slope)| slope).sum()
    }
}

/// What has no exact derivative along a response: the worst force, if its difference is more than `least`.
fn culprit(linearization: &Linearization<'_>, d: &[Vec3], h: f64, least: f64) -> Result<String, LinearizationError> {
    Ok(match linearization.worst_force(d, h)? {
        Some((force, difference)) if difference > least => {
            format!("the force \"{force}\" does not give its exact derivative")
        }
        _ => "a contact between bodies is about to open or to close".into(),
    })
}

/// Whether a probe counts something, or measures the work of the solver.
fn counts(name: &str) -> bool {
    const WORK: [&str; 8] = [
        "residual",
        "newton_iterations",
        "nonlinear_cycles",
        "linear_iterations",
        "substeps",
        "step",
        "unconverged_steps",
        "time_error",
    ];
    WORK.contains(&name)
        || name == "contacts"
        || name.starts_with("work.")
        || name.contains("momentum")
        || name.contains(".velocity.")
        || name.ends_with("energy.kinetic")
        || name.ends_with("inverted_cells")
        || name.ends_with("flattened_cells")
}

/// The state with its unknowns moved by h d.
fn moved(model: &Model, state: &State, d: &[Vec3], h: f64) -> State {
    let mut out = state.clone();
    model.kinematics.advance(&state.unknowns, d, h, &mut out.unknowns);
    model.kinematics.place(&out.unknowns, &mut out.positions);
    out
}

/// The forces of a unit strain in all cells \[N\].
fn unit_strain_force(simulation: &Simulation) -> f64 {
    simulation.model().unit_strain_forces().iter().map(|f| f * f).sum::<f64>().sqrt()
}

impl Gradients {
    /// Maximum difference between forward and adjoint.
    pub fn disagreement(&self) -> f64 {
        self.values.iter().map(|gradient| gradient.difference).fold(0.0, f64::max)
    }

    /// How the derivative by an input was computed.
    pub fn source(&self, input: usize) -> Source {
        self.derivatives[input].source
    }
}
