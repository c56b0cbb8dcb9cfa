//! One step as a minimization: the sum of all potentials, plus inertia and damping by the scheme of
//! [`super::integrator`].
//!
//! ```math
//! \Phi(x) = E(x) + \sum_p \frac{m_p \kappa}{2} |x_p - \tilde x_p|^2 + \frac{c}{2} (x - \hat x)^T C (x - \hat x),
//!    \qquad C = \alpha M + \beta K(x^n) + \gamma D(x^n),
//! ```
//! with D the damping of [`super::damping`]; quasistatics minimizes E alone.

use std::sync::atomic::AtomicU64;

use sinew_math::Vec3;
use sinew_math::parallel::sum;
use sinew_math::sparse::BlockCsr;

use super::damping::DampingMatrix;
use super::integrator::{Regime, Scheme};
use super::linear::AssemblyPlan;
use crate::contact::{Bend, ContactStage, ContactTerm};
use crate::force::{Force, StepContext};
use crate::model::{Model, StepDrive};
use crate::state::State;

/// Value of the merit function at one point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Merit {
    /// Sum of all potentials \[J\]; `None` when a force has none.
    pub potential: Option<f64>,
    /// Sum of the magnitudes of the parts; rounding errors scale with it \[J\].
    pub magnitude: f64,
    /// Strain energy, including what active fibers can still release \[J\].
    pub elastic: f64,
}

/// Scratch of the evaluation, reused between steps.
#[derive(Default)]
pub(crate) struct ProblemScratch {
    /// x̃ of the scheme.
    target: Vec<Vec3>,
    /// x̂ of the scheme.
    anchor: Vec<Vec3>,
    /// Accelerations at the start of the step, where the scheme needs them.
    accelerations: Vec<Vec3>,
    /// Damping inside flesh; `None` where no body has any.
    damping: Option<DampingMatrix>,
    pack_energies: Vec<AtomicU64>,
    displacement: Vec<Vec3>,
    product: Vec<Vec3>,
    /// Forces and masses over the unknowns, for the accelerations of the first step.
    pulled: Vec<Vec3>,
    masses: Vec<f64>,
    /// Tangent of contact at the last linearization.
    contact: Vec<ContactTerm>,
    bends: Vec<Bend>,
}

/// One step to solve.
pub(crate) struct Problem<'a> {
    pub model: &'a Model,
    pub ctx: StepContext<'a>,
    pub scheme: Scheme,
    scratch: &'a mut ProblemScratch,
    /// Contact between bodies, which every evaluation updates.
    pub contact: &'a mut ContactStage,
}

impl<'a> Problem<'a> {
    /// Prepares the step. `scratch` must belong to this model and plan.
    pub fn new(
        model: &'a Model,
        plan: &AssemblyPlan,
        ctx: StepContext<'a>,
        regime: Regime,
        scratch: &'a mut ProblemScratch,
        contact: &'a mut ContactStage,
    ) -> Self {
        let packs = model.elastic.iter().map(|b| b.pack_count()).max().unwrap_or(0);
        scratch.pack_energies.resize_with(packs, || AtomicU64::new(0));
        let points = model.kinematics.point_count();
        scratch.target.resize(points, Vec3::zero());
        scratch.anchor.resize(points, Vec3::zero());
        scratch.displacement.resize(points, Vec3::zero());
        scratch.product.resize(points, Vec3::zero());
        let scheme = Scheme::new(regime, ctx.previous, ctx.dt);
        let mut problem = Self { model, ctx, scheme, scratch, contact };
        problem.prepare(plan);
        problem
    }

    fn prepare(&mut self, plan: &AssemblyPlan) {
        self.fill_damping(plan);
        if self.scheme.needs_accelerations() {
            self.find_accelerations();
            if self.starts_flung() {
                self.scheme = Scheme::new(Regime::ImplicitEuler, self.ctx.previous, self.ctx.dt);
                self.fill_damping(plan);
            }
        }
        let scratch = &mut *self.scratch;
        self.scheme.aim(self.ctx.previous, &scratch.accelerations, &mut scratch.target, &mut scratch.anchor);
    }

    fn fill_damping(&mut self, plan: &AssemblyPlan) {
        if self.is_dynamic() && DampingMatrix::is_needed(self.model) {
            let damping = self.scratch.damping.get_or_insert_with(DampingMatrix::default);
            let positions = &self.ctx.previous.positions;
            damping.fill(self.model, plan, self.ctx.control, positions, self.scheme.rate);
        } else {
            self.scratch.damping = None;
        }
    }

    /// Whether cells are inverted and accelerations so large that nodes would fly further than the bodies are long. A
    /// randomly scrambled body has forces that no scheme without dissipation can follow \[Rannacher84\].
    fn starts_flung(&self) -> bool {
        let (model, previous) = (self.model, self.ctx.previous);
        let furthest = self.scratch.accelerations.iter().map(|a| a.norm()).fold(0.0, f64::max);
        !(0.25 * furthest * self.ctx.dt.powi(2) <= model.rest_size()) && model.has_inverted_cells(&previous.positions)
    }

    fn is_dynamic(&self) -> bool {
        self.scheme.inertia != 0.0
    }

    /// Finds accelerations at the start of the step: from the history, or M⁻¹(f − C v) at the very first step.
    ///
    /// The nodes that carry bound points share their mass. This is not exact, but the error is that of a single step.
    fn find_accelerations(&mut self) {
        let (model, previous) = (self.model, self.ctx.previous);
        let points = model.kinematics.point_count();
        let remembered = &previous.history.accelerations;
        if previous.history.last_dt > 0.0 && remembered.len() == points {
            self.scratch.accelerations.clone_from(remembered);
            return;
        }
        let mut gradient = std::mem::take(&mut self.scratch.accelerations);
        gradient.clear();
        gradient.resize(points, Vec3::zero());
        self.add_static_gradient(&previous.positions, &mut gradient);
        let scratch = &mut *self.scratch;
        if let Some(damping) = &mut scratch.damping {
            damping.multiply(model, &previous.velocities, &mut scratch.product);
            for (g, &product) in gradient.iter_mut().zip(&scratch.product) {
                *g += product / self.scheme.rate;
            }
        }
        for (p, g) in gradient.iter_mut().enumerate() {
            *g += previous.velocities[p] * (model.masses[p] * model.mass_damping[p]);
        }
        scratch.pulled.resize(model.kinematics.unknown_count(), Vec3::zero());
        model.kinematics.pull_back(&previous.unknowns, &gradient, &mut scratch.pulled);
        model.kinematics.filter(&mut scratch.pulled);
        scratch.masses.clear();
        scratch.masses.resize(model.kinematics.unknown_count(), 0.0);
        model.add_lumped_masses(&mut scratch.masses);
        for (a, &m) in scratch.pulled.iter_mut().zip(&scratch.masses) {
            *a = if m > 0.0 { -*a / m } else { Vec3::zero() };
        }
        model.kinematics.push_forward(&previous.unknowns, &scratch.pulled, &mut gradient);
        scratch.accelerations = gradient;
    }

    /// m κ + α m c of a point: its share of the diagonal \[N/m\].
    pub fn point_inertia(&self, point: usize) -> f64 {
        self.model.masses[point] * self.scheme.inertia + self.damping_factor(point)
    }

    /// Ratio of a block's stiffness with damping to that of its material alone.
    pub fn rest_scale(&self, index: usize) -> f64 {
        let model = self.model;
        let damping = model.stiffness_damping[index] + model.tissue_damping[index];
        model.stiffness_of(&model.elastic[index], self.ctx.control) * (1.0 + self.scheme.rate * damping)
    }

    /// Appends everything besides the model that the rest matrix depends on.
    pub fn rest_key(&self, key: &mut Vec<f64>) {
        key.clear();
        key.extend([self.scheme.inertia, self.scheme.rate]);
        key.extend((0..self.model.elastic.len()).map(|index| self.rest_scale(index)));
    }

    fn damping_factor(&self, point: usize) -> f64 {
        self.model.masses[point] * self.model.mass_damping[point] * self.scheme.rate
    }

    /// Damping of cells whose nodes are unknowns, over the unknowns.
    pub fn damping_matrix(&self) -> Option<&BlockCsr> {
        self.scratch.damping.as_ref().and_then(DampingMatrix::matrix)
    }

    /// Blocks of the damping of cells with bound nodes, between points.
    pub fn bound_damping(&self) -> &[(u32, u32, sinew_math::Mat3)] {
        self.scratch.damping.as_ref().map_or(&[], |damping| damping.bound().blocks())
    }

    /// Σ m κ |x − x̃| |x|: the effect of rounding in the positions on the energy of inertia, divided by ε. It may far
    /// exceed that energy when a body moves little, far from the origin.
    fn inertia_magnitude(&self, x: &[Vec3]) -> f64 {
        if !self.is_dynamic() {
            return 0.0;
        }
        let (factor, model, target) = (self.scheme.inertia, self.model, &self.scratch.target);
        sum(x.len(), |p| model.masses[p] * factor * (x[p] - target[p]).norm() * x[p].norm())
    }

    fn inertia_energy(&self, x: &[Vec3]) -> f64 {
        if !self.is_dynamic() {
            return 0.0;
        }
        let (factor, model, scratch) = (self.scheme.inertia, self.model, &*self.scratch);
        sum(x.len(), |p| {
            0.5 * model.masses[p] * factor * (x[p] - scratch.target[p]).norm_squared()
                + 0.5 * self.damping_factor(p) * (x[p] - scratch.anchor[p]).norm_squared()
        })
    }

    /// Prepares c C (x − x̂) and returns half its product with x − x̂.
    fn damping_energy(&mut self, x: &[Vec3]) -> f64 {
        let scratch = &mut *self.scratch;
        let Some(damping) = &mut scratch.damping else { return 0.0 };
        for ((d, &x), &anchor) in scratch.displacement.iter_mut().zip(x).zip(&scratch.anchor) {
            *d = x - anchor;
        }
        damping.multiply(self.model, &scratch.displacement, &mut scratch.product);
        0.5 * sum(x.len(), |p| scratch.displacement[p].dot(scratch.product[p]))
    }

    /// Linearizes contact between bodies at `x` for the next assembly.
    pub fn linearize_contact(&mut self, x: &[Vec3]) {
        let ProblemScratch { contact, bends, .. } = &mut *self.scratch;
        self.contact.linearize(&self.model.contact, x, contact);
        bends.clear();
        // Only systems with lattices multiply by them.
        if !self.model.lattices.is_empty() {
            self.contact.bend(bends);
        }
    }

    /// Tangent of contact at the last linearization: definite terms, and what they lack.
    pub fn contact_terms(&self) -> (&[ContactTerm], &[Bend]) {
        (&self.scratch.contact, &self.scratch.bends)
    }

    /// Merit at `x`, given the energy `contact` of the contacts there.
    fn merit(&mut self, x: &[Vec3], elastic: f64, contact: f64) -> Merit {
        let dynamic = self.inertia_energy(x) + self.damping_energy(x);
        // Where force depends on speed, the energy of fibers within a step is no basis for a line search.
        let has_potential = self.model.elastic.iter().all(|block| block.has_potential() && !block.needs_motion());
        let magnitude = elastic.abs() + contact + dynamic + self.inertia_magnitude(x);
        let mut merit = Merit { potential: has_potential.then_some(elastic + contact + dynamic), magnitude, elastic };
        for force in self.model.forces() {
            let part = force.potential(x, &self.ctx);
            merit.magnitude += part.unwrap_or(0.0).abs();
            merit.potential = merit.potential.zip(part).map(|(sum, part)| sum + part);
        }
        merit
    }

    /// Merit at `x`.
    pub fn evaluate(&mut self, x: &[Vec3]) -> Merit {
        let elastic = self.model.elastic_potential(x, &self.ctx);
        let contact = self.contact.evaluate(&self.model.contact, x);
        self.merit(x, elastic, contact)
    }

    /// gradient = that of weight and other loads of the scene, which do not depend on the shape; returns whether there are
    /// any.
    pub fn load_gradient(&mut self, x: &[Vec3], gradient: &mut [Vec3]) -> bool {
        let is_load = |force: &&dyn Force| !force.load_channels().is_empty() && force.active().is_none();
        let mut has_any = false;
        for force in self.model.forces().filter(is_load) {
            if !has_any {
                gradient.fill(Vec3::zero());
                has_any = true;
            }
            force.add_gradient(x, &self.ctx, gradient);
        }
        has_any
    }

    /// gradient = that of everything but elasticity and inertia, over the points at `x`.
    pub fn external_gradient(&mut self, x: &[Vec3], gradient: &mut [Vec3]) {
        gradient.fill(Vec3::zero());
        for force in self.model.forces() {
            force.add_gradient(x, &self.ctx, gradient);
        }
        self.contact.evaluate(&self.model.contact, x);
        self.contact.add_gradient(&self.model.contact, gradient);
    }

    /// Merit and gradient over the points at `x`.
    pub fn evaluate_gradient(&mut self, x: &[Vec3], gradient: &mut [Vec3]) -> Merit {
        gradient.fill(Vec3::zero());
        let (elastic, contact) = self.add_static_gradient(x, gradient);
        let merit = self.merit(x, elastic, contact);
        if self.is_dynamic() {
            let (factor, scratch) = (self.scheme.inertia, &*self.scratch);
            for p in 0..x.len() {
                gradient[p] += (x[p] - scratch.target[p]) * (self.model.masses[p] * factor)
                    + (x[p] - scratch.anchor[p]) * self.damping_factor(p);
            }
            if scratch.damping.is_some() {
                for (g, &product) in gradient.iter_mut().zip(&scratch.product) {
                    *g += product;
                }
            }
        }
        merit
    }

    /// gradient = that of elasticity and forces, without contact, inertia and damping.
    pub fn gradient_without_contact(&mut self, x: &[Vec3], gradient: &mut [Vec3]) {
        gradient.fill(Vec3::zero());
        self.add_elastic_gradient(x, gradient);
    }

    /// gradient += ∂E/∂x without inertia and damping; returns the strain energy and the energy of contact.
    fn add_static_gradient(&mut self, x: &[Vec3], gradient: &mut [Vec3]) -> (f64, f64) {
        let elastic = self.add_elastic_gradient(x, gradient);
        let contact = self.contact.evaluate(&self.model.contact, x);
        self.contact.add_gradient(&self.model.contact, gradient);
        (elastic, contact)
    }

    fn add_elastic_gradient(&mut self, x: &[Vec3], gradient: &mut [Vec3]) -> f64 {
        let mut elastic = 0.0;
        for block in &self.model.elastic {
            let scale = self.model.stiffness_of(block, self.ctx.control);
            let drive = StepDrive::new(self.model, block, &self.ctx);
            elastic += block.add_gradient(x, &drive.actuation(), scale, gradient, &self.scratch.pack_energies);
        }
        for block in &self.model.lattices {
            let stiffness = self.model.body_stiffness(block.body, self.ctx.control);
            let activations = block.activations(self.ctx.control, stiffness);
            elastic += block.add_gradient(x, &activations, stiffness, gradient);
        }
        for force in self.model.forces() {
            force.add_gradient(x, &self.ctx, gradient);
        }
        elastic
    }

    /// Writes velocities, work and the history of the scheme into a state that holds the solution; returns the
    /// estimated error \[m\].
    pub fn finish(&mut self, state: &mut State) -> f64 {
        let previous = self.ctx.previous;
        state.history.work.pins += self.model.pin_work(previous, state);
        self.model.finish_muscles(previous, self.ctx.control, self.ctx.dt, state);
        if self.is_dynamic() {
            // Leaves c C (x − x̂) behind.
            self.damping_energy(&state.positions);
            let (x, old, scratch) = (&state.positions, &previous.positions, &*self.scratch);
            let has_matrix = scratch.damping.is_some();
            state.history.work.damping += sum(x.len(), |p| {
                let force = (x[p] - scratch.anchor[p]) * self.damping_factor(p);
                (x[p] - old[p]).dot(if has_matrix { force + scratch.product[p] } else { force })
            });
        }
        let scratch = &*self.scratch;
        self.scheme.finish(self.model, previous, &scratch.target, &scratch.anchor, state);
        self.scheme.local_error(self.model, previous, &scratch.accelerations, state)
    }
}
