//! One step as a minimisation: the sum of all potentials, and inertia where the regime has it.
//!
//! Implicit Euler minimises
//! $$\Phi(x) = E(x) + \sum_p \frac{m_p}{2h^2} |x_p - x^n_p - h v^n_p|^2 + \frac{1}{2h} (x - x^n)^T C (x - x^n), \qquad
//!   C = \alpha M + \beta K(x^n),$$
//! whose stationary point satisfies M(v − vⁿ)/h = f(x) − C v with v = (x − xⁿ)/h; quasistatics minimises E alone.

use std::sync::atomic::AtomicU64;

use sinew_math::Vec3;
use sinew_math::parallel::sum;
use sinew_math::sparse::BlockCsr;

use super::assembly::AssemblyPlan;
use crate::force::{Linearized, StepContext};
use crate::kinematics::PointMap;
use crate::material::Tangent;
use crate::model::Model;
use crate::state::State;

/// Whether inertia takes part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Regime {
    /// Equilibrium at every time, as if the motion were infinitely slow.
    #[default]
    Quasistatic,
    /// Backward Euler in time: first order, unconditionally stable, dissipative.
    ImplicitEuler,
}

/// Value of the merit function at one place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Merit {
    /// Sum of all potentials [J]; `None` when a force has none.
    pub potential: Option<f64>,
    /// Sum of the magnitudes of the parts: rounding errors scale with it [J].
    pub magnitude: f64,
}

/// Scratch of the evaluation, reused between steps.
#[derive(Default)]
pub(crate) struct ProblemScratch {
    /// xⁿ + h vⁿ.
    target: Vec<Vec3>,
    /// β K(xⁿ)/h of cells whose nodes are unknowns; `None` where no body is damped so.
    damping: Option<DampingMatrix>,
    /// Blocks of β K(xⁿ)/h of cells with bound nodes.
    bound_damping: Linearized,
    pack_energies: Vec<AtomicU64>,
    displacement: Vec<Vec3>,
    product: Vec<Vec3>,
}

/// Stiffness-proportional damping over the unknowns, in the pattern of the tangent matrix.
struct DampingMatrix {
    matrix: BlockCsr,
    /// β of each unknown [s]: rows of one body have its β, and no cell belongs to two bodies.
    times: Vec<f64>,
    displacement: Vec<Vec3>,
    product: Vec<Vec3>,
}

impl DampingMatrix {
    /// `None` when no block without bound nodes is damped.
    fn new(model: &Model, plan: &AssemblyPlan) -> Option<Self> {
        let unknowns = model.kinematics.unknown_count();
        let mut times = vec![0.0; unknowns];
        for (index, (block, &beta)) in model.elastic.iter().zip(&model.stiffness_damping).enumerate() {
            if plan.elastic(index).is_none() {
                continue;
            }
            for cell in 0..block.cell_count() {
                for a in 0..block.kind().nodes_per_cell() {
                    if let PointMap::Free(unknown) = model.kinematics.map(block.point(cell, a) as usize) {
                        times[unknown as usize] = beta;
                    }
                }
            }
        }
        times.iter().any(|&beta| beta != 0.0).then(|| Self {
            matrix: BlockCsr::zeros(plan.pattern.clone()),
            times,
            displacement: vec![Vec3::zero(); unknowns],
            product: vec![Vec3::zero(); unknowns],
        })
    }

    /// β K(x)/h with the definite K: a dissipation.
    fn fill(&mut self, model: &Model, plan: &AssemblyPlan, x: &[Vec3], dt: f64) {
        self.matrix.set_zero();
        for (index, (block, &beta)) in model.elastic.iter().zip(&model.stiffness_damping).enumerate() {
            if let (Some(plan), true) = (plan.elastic(index), beta != 0.0) {
                block.add_tangent(x, Tangent::Definite, plan, self.matrix.values_mut());
            }
        }
        for (row, &beta) in self.times.iter().enumerate() {
            for slot in plan.pattern.row(row) {
                self.matrix.values_mut()[slot] *= beta / dt;
            }
        }
    }
}

/// One step to be solved.
pub(crate) struct Problem<'a> {
    pub model: &'a Model,
    pub ctx: StepContext<'a>,
    pub regime: Regime,
    scratch: &'a mut ProblemScratch,
}

impl<'a> Problem<'a> {
    /// Prepares the step; `scratch` belongs to this model and plan.
    pub fn new(
        model: &'a Model,
        plan: &AssemblyPlan,
        ctx: StepContext<'a>,
        regime: Regime,
        scratch: &'a mut ProblemScratch,
    ) -> Self {
        let packs = model.elastic.iter().map(|b| b.pack_count()).max().unwrap_or(0);
        scratch.pack_energies.resize_with(packs, || AtomicU64::new(0));
        let points = model.kinematics.point_count();
        scratch.target.resize(points, Vec3::zero());
        scratch.displacement.resize(points, Vec3::zero());
        scratch.product.resize(points, Vec3::zero());
        let mut problem = Self { model, ctx, regime, scratch };
        problem.prepare(plan);
        problem
    }

    fn prepare(&mut self, plan: &AssemblyPlan) {
        let State { positions, velocities, .. } = self.ctx.previous;
        for ((target, &x), &v) in self.scratch.target.iter_mut().zip(positions).zip(velocities) {
            *target = x + v * self.ctx.dt;
        }
        if self.regime == Regime::Quasistatic || self.model.stiffness_damping.iter().all(|&beta| beta == 0.0) {
            return;
        }
        let scratch = &mut *self.scratch;
        if scratch.damping.is_none() {
            scratch.damping = DampingMatrix::new(self.model, plan);
        }
        if let Some(damping) = &mut scratch.damping {
            damping.fill(self.model, plan, positions, self.ctx.dt);
        }
        scratch.bound_damping.clear();
        for (index, (block, &beta)) in self.model.elastic.iter().zip(&self.model.stiffness_damping).enumerate() {
            if beta == 0.0 || plan.elastic(index).is_some() {
                continue;
            }
            let factor = beta / self.ctx.dt;
            for cell in 0..block.cell_count() {
                block.cell_tangent(cell, positions, Tangent::Definite, |a, b, k| {
                    scratch.bound_damping.add(block.point(cell, a), block.point(cell, b), k * factor);
                });
            }
        }
    }

    /// 1/h² in dynamics, 0 in quasistatics.
    fn inertia_factor(&self) -> f64 {
        match self.regime {
            Regime::Quasistatic => 0.0,
            Regime::ImplicitEuler => 1.0 / (self.ctx.dt * self.ctx.dt),
        }
    }

    /// m/h² + α m/h of a point: its share of the diagonal [N/m].
    pub fn point_inertia(&self, point: usize) -> f64 {
        let m = self.model.masses[point];
        m * self.inertia_factor() + self.damping_factor(point)
    }

    fn damping_factor(&self, point: usize) -> f64 {
        match self.regime {
            Regime::Quasistatic => 0.0,
            Regime::ImplicitEuler => self.model.masses[point] * self.model.mass_damping[point] / self.ctx.dt,
        }
    }

    /// Stiffness-proportional damping of cells whose nodes are unknowns, over the unknowns.
    pub fn damping_matrix(&self) -> Option<&BlockCsr> {
        self.scratch.damping.as_ref().map(|damping| &damping.matrix)
    }

    /// Blocks of the stiffness-proportional damping of cells with bound nodes, between points.
    pub fn bound_damping(&self) -> &Linearized {
        &self.scratch.bound_damping
    }

    fn has_stiffness_damping(&self) -> bool {
        self.scratch.damping.is_some() || !self.scratch.bound_damping.blocks().is_empty()
    }

    fn inertia_energy(&self, x: &[Vec3]) -> f64 {
        if self.regime == Regime::Quasistatic {
            return 0.0;
        }
        let (factor, model, previous) = (self.inertia_factor(), self.model, &self.ctx.previous.positions);
        sum(x.len(), |p| {
            0.5 * model.masses[p] * factor * (x[p] - self.scratch.target[p]).norm_squared()
                + 0.5 * self.damping_factor(p) * (x[p] - previous[p]).norm_squared()
        })
    }

    /// Prepares (K β/h) (x − xⁿ) and returns half its product with x − xⁿ.
    fn damping_energy(&mut self, x: &[Vec3]) -> f64 {
        if !self.has_stiffness_damping() {
            return 0.0;
        }
        let scratch = &mut *self.scratch;
        for ((d, &x), &xn) in scratch.displacement.iter_mut().zip(x).zip(&self.ctx.previous.positions) {
            *d = x - xn;
        }
        scratch.product.fill(Vec3::zero());
        scratch.bound_damping.add_product(&scratch.displacement, &mut scratch.product);
        if let Some(damping) = &mut scratch.damping {
            let kinematics = &self.model.kinematics;
            for point in 0..x.len() {
                if let PointMap::Free(unknown) = kinematics.map(point) {
                    damping.displacement[unknown as usize] = scratch.displacement[point];
                }
            }
            damping.matrix.multiply(&damping.displacement, &mut damping.product);
            for point in 0..x.len() {
                if let PointMap::Free(unknown) = kinematics.map(point) {
                    scratch.product[point] += damping.product[unknown as usize];
                }
            }
        }
        0.5 * sum(x.len(), |p| scratch.displacement[p].dot(scratch.product[p]))
    }

    fn merit(&mut self, x: &[Vec3], elastic: f64) -> Merit {
        let dynamic = self.inertia_energy(x) + self.damping_energy(x);
        let has_potential = self.model.elastic.iter().all(|block| block.has_potential());
        let mut merit =
            Merit { potential: has_potential.then_some(elastic + dynamic), magnitude: elastic.abs() + dynamic };
        for force in self.model.forces() {
            let part = force.potential(x, &self.ctx);
            merit.magnitude += part.unwrap_or(0.0).abs();
            merit.potential = merit.potential.zip(part).map(|(sum, part)| sum + part);
        }
        merit
    }

    /// Merit at `x`.
    pub fn evaluate(&mut self, x: &[Vec3]) -> Merit {
        let elastic = self.model.elastic.iter().map(|block| block.energy(x)).sum();
        self.merit(x, elastic)
    }

    /// Merit and gradient over the points at `x`.
    pub fn evaluate_gradient(&mut self, x: &[Vec3], gradient: &mut [Vec3]) -> Merit {
        gradient.fill(Vec3::zero());
        let mut elastic = 0.0;
        for block in &self.model.elastic {
            elastic += block.add_gradient(x, gradient, &self.scratch.pack_energies);
        }
        for force in self.model.forces() {
            force.add_gradient(x, &self.ctx, gradient);
        }
        let merit = self.merit(x, elastic);
        if self.regime == Regime::ImplicitEuler {
            let factor = self.inertia_factor();
            for p in 0..x.len() {
                gradient[p] += (x[p] - self.scratch.target[p]) * (self.model.masses[p] * factor)
                    + (x[p] - self.ctx.previous.positions[p]) * self.damping_factor(p);
            }
            if self.has_stiffness_damping() {
                for (g, &product) in gradient.iter_mut().zip(&self.scratch.product) {
                    *g += product;
                }
            }
        }
        merit
    }
}
