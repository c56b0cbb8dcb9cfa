//! Central differences: explicit steps that solve no system and have a maximum stable length.
//!
//! ```math
//! x^{n+1} = x^n + h\,v^{n+1/2}, \quad v^{n+1/2} = v^n + \tfrac h2 a^n, \quad
//!    M a^{n+1} = f(x^{n+1}) - C v^{n+1/2}, \quad v^{n+1} = v^{n+1/2} + \tfrac h2 a^{n+1}
//! ```
//!
//! Second order (first order in damping, which lags by half a step). Conserves momentum, and keeps the energy of an
//! undamped motion bounded forever. Stable for steps up to [`ExplicitSolver::stable_step`]. Masses are lumped, so every
//! node must be an unknown of its own: rigid bodies and bindings need an implicit scheme.

use std::sync::atomic::AtomicU64;
use std::time::Instant;

use sinew_math::Vec3;
use thiserror::Error;

use super::Solver;
use super::damping::add_damping;
use super::stable_step::StableStep;
use crate::collider::collider_poses;
use crate::contact::Contacts;
use crate::control::Control;
use crate::diagnostics::find_blame;
use crate::force::StepContext;
use crate::kinematics::Unknowns;
use crate::model::{Deformation, Model, StepDrive, energies_with};
use crate::report::{StepError, StepReport, StepTiming};
use crate::state::State;

/// Why explicit steps cannot move a model.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ExplicitError {
    /// Rigid bodies have no lumped mass matrix.
    #[error("explicit steps cannot move the rigid body \"{name}\"")]
    Rigid {
        /// The rigid body.
        name: String,
    },
    /// Bound nodes share their mass with others.
    #[error("explicit steps cannot move node {node} of body \"{body}\", which is bound")]
    Bound {
        /// The body.
        body: String,
        /// The node.
        node: usize,
    },
    /// The forces of its nodes act on other coordinates.
    #[error("explicit steps cannot move body \"{body}\", which deforms as a whole")]
    Deformation {
        /// The body.
        body: String,
    },
    /// A lattice tells no longest stable step.
    #[error("explicit steps cannot move body \"{body}\", which is on a lattice")]
    Lattice {
        /// The body.
        body: String,
    },
    /// Only implicit steps find and solve contact between bodies.
    #[error("explicit steps support contact with colliders only, neither contact between bodies nor barriers")]
    Contact,
    /// A force on a node without mass would move it at once.
    #[error("explicit steps cannot move node {node} of body \"{body}\", which has no mass")]
    Massless {
        /// The body.
        body: String,
        /// The node.
        node: usize,
    },
}

/// Central differences for one model.
#[derive(Default)]
pub struct ExplicitSolver {
    contacts: Contacts,
    previous: State,
    unknowns: Unknowns,
    positions: Vec<Vec3>,
    /// v^{n+1/2}.
    velocities: Vec<Vec3>,
    accelerations: Vec<Vec3>,
    gradient: Vec<Vec3>,
    damping: Vec<Vec3>,
    pack_energies: Vec<AtomicU64>,
    estimate: StableStep,
}

impl ExplicitSolver {
    /// Creates a solver for one model.
    ///
    /// # Errors
    /// When the model has rigid bodies, bodies on a lattice, contact between bodies, bound nodes or nodes without mass.
    pub fn new(model: &Model) -> Result<Self, ExplicitError> {
        if !model.contact.is_empty() {
            return Err(ExplicitError::Contact);
        }
        if let Some(rigid) = model.rigid_bodies.first() {
            return Err(ExplicitError::Rigid { name: rigid.name.clone() });
        }
        if let Some(block) = model.lattices.first() {
            return Err(ExplicitError::Lattice { body: model.bodies[block.body].name.clone() });
        }
        if let Some(body) = model.bodies.iter().find(|body| body.deformation != Deformation::Free) {
            return Err(ExplicitError::Deformation { body: body.name.clone() });
        }
        for body in &model.bodies {
            for (node, point) in body.points.clone().enumerate() {
                if model.kinematics.own_unknown(point).is_none() {
                    return Err(ExplicitError::Bound { body: body.name.clone(), node });
                }
                // This form catches NaN too.
                if !(model.masses[point] > 0.0) {
                    return Err(ExplicitError::Massless { body: body.name.clone(), node });
                }
            }
        }
        Ok(Self::default())
    }

    fn resize(&mut self, model: &Model) {
        let points = model.kinematics.point_count();
        let packs = model.elastic.iter().map(|b| b.pack_count()).max().unwrap_or(0);
        self.pack_energies.resize_with(packs, || AtomicU64::new(0));
        let vectors = [&mut self.positions, &mut self.velocities, &mut self.accelerations, &mut self.gradient];
        for v in vectors.into_iter().chain([&mut self.damping]) {
            v.resize(points, Vec3::zero());
        }
    }

    /// x^{n+1} and v^{n+1/2} under the prescribed motion.
    fn drift(&mut self, model: &Model, ctx: &StepContext<'_>) {
        let previous = ctx.previous;
        self.unknowns.clone_from(&previous.unknowns);
        let vectors = &mut self.unknowns.vectors;
        for (p, &a) in self.accelerations.iter().enumerate() {
            let half = previous.velocities[p] + a * (0.5 * ctx.dt);
            vectors[unknown_of(model, p)] = previous.positions[p] + half * ctx.dt;
        }
        model.for_each_prescribed(ctx.control, |unknown, axis, value| vectors[unknown][axis] = value);
        model.kinematics.place(&self.unknowns, &mut self.positions);
        for (p, v) in self.velocities.iter_mut().enumerate() {
            *v = (self.positions[p] - previous.positions[p]) / ctx.dt;
        }
    }

    /// `gradient` = −f(x) + C v at `positions` and `velocities`, with the damping part also in `damping`; returns the
    /// strain energy.
    fn evaluate(&mut self, model: &Model, ctx: &StepContext<'_>) -> f64 {
        let (x, v) = (&self.positions, &self.velocities);
        self.gradient.fill(Vec3::zero());
        let mut elastic = 0.0;
        for block in &model.elastic {
            let scale = model.stiffness_of(block, ctx.control);
            let drive = StepDrive::new(model, block, ctx);
            elastic += block.add_gradient(x, &drive.actuation(), scale, &mut self.gradient, &self.pack_energies);
        }
        for force in model.forces() {
            force.add_gradient(x, ctx, &mut self.gradient);
        }
        self.damping.fill(Vec3::zero());
        add_damping(model, ctx.control, x, v, &mut self.damping);
        for (p, (g, d)) in self.gradient.iter_mut().zip(&mut self.damping).enumerate() {
            *d += v[p] * (model.masses[p] * model.mass_damping[p]);
            *g += *d;
        }
        elastic
    }

    /// a^{n+1}; zero in prescribed components.
    fn accelerate(&mut self, model: &Model) {
        for (p, (a, &g)) in self.accelerations.iter_mut().zip(&self.gradient).enumerate() {
            *a = -g / model.masses[p];
            let fixed = model.kinematics.fixed(unknown_of(model, p));
            for axis in (0..3).filter(|&axis| fixed[axis]) {
                a[axis] = 0.0;
            }
        }
    }

    /// Writes an accepted step into the state.
    fn commit(&self, model: &Model, ctx: &StepContext<'_>, state: &mut State) {
        let previous = ctx.previous;
        state.unknowns.clone_from(&self.unknowns);
        state.positions.copy_from_slice(&self.positions);
        state.history.accelerations.copy_from_slice(&self.accelerations);
        let mut damped = 0.0;
        for p in 0..self.positions.len() {
            let half = self.velocities[p];
            state.velocities[p] = half + self.accelerations[p] * (0.5 * ctx.dt);
            damped += half.dot(self.damping[p]) * ctx.dt;
            let fixed = model.kinematics.fixed(unknown_of(model, p));
            for axis in 0..3 {
                let inertia = model.masses[p] * (half[axis] - previous.velocities[p][axis]) / ctx.dt;
                state.reactions[p][axis] = if fixed[axis] { self.gradient[p][axis] + inertia } else { 0.0 };
            }
        }
        state.time = ctx.time;
        state.history.last_dt = ctx.dt;
        state.history.work.damping += damped;
        state.history.work.pins += model.pin_work(previous, state);
        model.finish_muscles(previous, ctx.control, ctx.dt, state);
        collider_poses(&model.colliders, ctx.control, &mut state.history.collider_poses);
    }
}

fn unknown_of(model: &Model, point: usize) -> usize {
    match model.kinematics.own_unknown(point) {
        Some(unknown) => unknown as usize,
        None => unreachable!("models with bound points are refused"),
    }
}

impl Solver for ExplicitSolver {
    fn prepare(&self, model: &Model, state: &mut State) {
        state.history.accelerations.resize(model.kinematics.point_count(), Vec3::zero());
    }

    fn stable_step(&mut self, model: &Model, state: &State, control: &Control) -> Option<f64> {
        Some(self.estimate.estimate(model, control, &state.positions))
    }

    fn step(&mut self, model: &Model, state: &mut State, control: &Control, dt: f64) -> Result<StepReport, StepError> {
        let start = Instant::now();
        let time = state.time + dt;
        model.check_control(control, time)?;
        self.resize(model);
        self.prepare(model, state);
        // Taken out of `self` during the step, because the context borrows them.
        let (mut previous, mut contacts) = (std::mem::take(&mut self.previous), std::mem::take(&mut self.contacts));
        previous.clone_from(state);
        contacts.find(model, &previous, control, dt);
        let contact = start.elapsed();
        let ctx = StepContext { time, dt, previous: &previous, control, contacts: &contacts };
        if previous.history.last_dt == 0.0 {
            self.positions.copy_from_slice(&previous.positions);
            self.velocities.copy_from_slice(&previous.velocities);
            self.evaluate(model, &ctx);
            self.accelerate(model);
        } else {
            self.accelerations.copy_from_slice(&previous.history.accelerations);
        }
        self.drift(model, &ctx);
        let elastic = self.evaluate(model, &ctx);
        self.accelerate(model);
        let is_finite = elastic.is_finite() && self.positions.iter().chain(&self.accelerations).all(|v| v.is_finite());
        let result = if is_finite {
            self.commit(model, &ctx, state);
            state.history.meeting_speeds.clear();
            contacts.remember_meetings(model, &mut state.history);
            // Stored energy does not include what active fibers could still release.
            let has_fibers = model.elastic.iter().any(|block| block.has_fibers());
            let stored = if has_fibers { model.elastic_energy(&state.positions, ctx.control) } else { elastic };
            let energies = energies_with(model, &ctx, &state.positions, &state.velocities, stored);
            let total = start.elapsed();
            let timing = StepTiming { gradient: total - contact, contact, total, ..StepTiming::default() };
            Ok(StepReport { time, substeps: 1, contacts: contacts.len(), energies, timing, ..StepReport::default() })
        } else {
            Err(StepError::NotFinite { time, blame: find_blame(model, &self.positions, &self.accelerations) })
        };
        (self.previous, self.contacts) = (previous, contacts);
        result
    }
}
