//! The linear systems of Newton's method: assembled, filtered by the pins, solved by conjugate gradients or by Cholesky.

use sinew_math::Vec3;
use sinew_math::cholesky::{Cholesky, CholeskyError, SymbolicCholesky};
use sinew_math::krylov::{BlockJacobi, CgOutcome, CgParams, CgScratch, conjugate_gradients};
use sinew_math::sparse::BlockCsr;

use super::assembly::{AssemblyPlan, filter};
use super::params::{LinearSolver, SolverParams};
use super::problem::{Problem, Regime};
use crate::force::Linearized;
use crate::kinematics::{Kinematics, Unknowns};
use crate::material::Tangent;
use crate::model::Model;

/// Unknown nodes up to which `auto` factorises in dynamics: below, a factor costs no more than the iterations it saves.
const DIRECT_DYNAMIC_NODES: usize = 600;
/// Unknown nodes up to which `auto` factorises in quasistatics, where conjugate gradients need three times the iterations.
const DIRECT_STATIC_NODES: usize = 6000;

/// Why a system was not solved.
#[derive(Clone, Debug)]
pub(crate) enum SolveFailure {
    /// The matrix is not positive definite.
    Indefinite { reason: String },
    /// Conjugate gradients used up their iterations.
    NotConverged { reason: String },
}

enum Backend {
    Cg(Box<CgBackend>),
    Direct(Box<Cholesky<f64>>),
}

struct CgBackend {
    /// The filtered matrix in single precision: half the memory traffic of every iteration.
    matrix: BlockCsr<f32>,
    preconditioner: BlockJacobi<f32>,
    scratch: CgScratch<f32>,
    rhs: Vec<Vec3<f32>>,
    solution: Vec<Vec3<f32>>,
}

/// A linear system that is assembled and solved again and again.
pub(crate) struct LinearSystem {
    plan: AssemblyPlan,
    matrix: BlockCsr,
    backend: Backend,
    linearized: Linearized,
    kinematics: Kinematics,
    is_filtered: bool,
    has_values: bool,
    reason: String,
}

impl LinearSystem {
    pub fn new(model: &Model, params: &SolverParams) -> Self {
        let plan = AssemblyPlan::new(model);
        let nodes = model.kinematics.unknown_count();
        let (is_direct, reason) = match params.linear {
            LinearSolver::Cg => (false, "conjugate gradients, as asked".to_string()),
            LinearSolver::Cholesky => (true, "Cholesky, as asked".to_string()),
            LinearSolver::Auto => {
                let (limit, regime) = match params.regime {
                    Regime::Quasistatic => (DIRECT_STATIC_NODES, "quasistatic"),
                    Regime::ImplicitEuler => (DIRECT_DYNAMIC_NODES, "dynamic"),
                };
                let is_direct = nodes <= limit;
                let name = if is_direct { "Cholesky" } else { "conjugate gradients" };
                let relation = if is_direct { "at most" } else { "more than" };
                (is_direct, format!("{name}: {nodes} nodes, {relation} {limit} ({regime})"))
            }
        };
        let backend = if is_direct {
            let factor = SymbolicCholesky::new(&plan.pattern).and_then(|symbolic| symbolic.prepare());
            Backend::Direct(Box::new(factor.expect("a pattern in memory can be analysed")))
        } else {
            Backend::Cg(Box::new(CgBackend {
                matrix: BlockCsr::zeros(plan.pattern.clone()),
                preconditioner: BlockJacobi::default(),
                scratch: CgScratch::new(),
                rhs: vec![Vec3::zero(); nodes],
                solution: vec![Vec3::zero(); nodes],
            }))
        };
        Self {
            matrix: BlockCsr::zeros(plan.pattern.clone()),
            plan,
            backend,
            linearized: Linearized::default(),
            kinematics: model.kinematics.clone(),
            is_filtered: false,
            has_values: false,
            reason,
        }
    }

    /// Which solver was chosen, and why.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Fills the matrix at (q, x).
    pub fn assemble(
        &mut self,
        problem: &Problem<'_>,
        q: &Unknowns,
        x: &[Vec3],
        point_gradient: &[Vec3],
        tangent: Tangent,
    ) {
        self.plan.assemble(problem, q, x, point_gradient, tangent, &mut self.linearized, &mut self.matrix);
        self.is_filtered = false;
        self.has_values = true;
    }

    /// out = H v with the rows and columns of prescribed components still in place.
    pub fn unfiltered_product(&self, v: &[Vec3], out: &mut [Vec3]) {
        debug_assert!(!self.is_filtered, "the product with prescribed motion comes before the solve");
        self.matrix.multiply(v, out);
    }

    /// Solves H out = rhs to relative accuracy `forcing`; returns the iterations (1 for a direct solve).
    pub fn solve(&mut self, rhs: &[Vec3], out: &mut [Vec3], forcing: f64) -> Result<usize, SolveFailure> {
        if !self.is_filtered {
            let scale = self.mean_diagonal();
            filter(&self.kinematics, &mut self.matrix, scale);
            self.is_filtered = true;
        }
        match &mut self.backend {
            Backend::Cg(cg) => {
                cg.matrix.copy_from(&self.matrix);
                cg.solve(rhs, out, forcing)
            }
            Backend::Direct(factor) => {
                let indefinite = |error: CholeskyError| SolveFailure::Indefinite { reason: error.to_string() };
                factor.refactor(&self.matrix).map_err(indefinite)?;
                out.copy_from_slice(rhs);
                factor.solve_in_place(out).map_err(indefinite)?;
                Ok(1)
            }
        }
    }

    fn mean_diagonal(&self) -> f64 {
        let count = self.matrix.node_count().max(1) as f64;
        let sum: f64 = self.matrix.diagonal_blocks().map(|block| block.trace() / 3.0).sum();
        if sum > 0.0 { sum / count } else { 1.0 }
    }

    /// Residual that rounding of the positions alone can cause: 4 ε ‖diag(H) |x|‖. Zero before the first assembly.
    pub fn rounding_floor(&self, q: &Unknowns) -> f64 {
        if !self.has_values {
            return 0.0;
        }
        let squares =
            self.matrix.diagonal_blocks().zip(&q.vectors).map(|(block, v)| (block.trace() / 3.0 * v.norm()).powi(2));
        4.0 * f64::EPSILON * squares.sum::<f64>().sqrt()
    }
}

impl CgBackend {
    fn solve(&mut self, rhs: &[Vec3], out: &mut [Vec3], forcing: f64) -> Result<usize, SolveFailure> {
        let indefinite = self.preconditioner.update(&self.matrix);
        if let Some(node) = indefinite.first_indefinite {
            return Err(SolveFailure::Indefinite {
                reason: format!("diagonal block of unknown {node} is not positive"),
            });
        }
        // Right-hand sides of a nearly converged iteration underflow in f32: solve for the direction of unit size.
        let scale = rhs.iter().map(|r| r.norm_squared()).sum::<f64>().sqrt();
        if scale == 0.0 {
            out.fill(Vec3::zero());
            return Ok(0);
        }
        for (narrow, &wide) in self.rhs.iter_mut().zip(rhs) {
            *narrow = Vec3::from_f64(wide / scale);
        }
        self.solution.fill(Vec3::zero());
        let params = CgParams {
            relative_tolerance: forcing,
            absolute_tolerance: 0.0,
            max_iterations: (10 * self.rhs.len()).clamp(100, 5000),
        };
        let info = conjugate_gradients(
            &self.matrix,
            &mut self.preconditioner,
            &self.rhs,
            &mut self.solution,
            &params,
            &mut self.scratch,
        )
        .map_err(|error| SolveFailure::Indefinite { reason: error.to_string() })?;
        match info.outcome {
            CgOutcome::Converged => {}
            CgOutcome::NegativeCurvature { .. } => {
                let reason = format!("negative curvature after {} iterations", info.iterations);
                return Err(SolveFailure::Indefinite { reason });
            }
            // An unfinished solution still descends; only one that is no better than nothing is refused.
            CgOutcome::IterationLimit if info.residual < 0.5 * info.initial_residual => {}
            CgOutcome::IterationLimit => {
                let reason = format!("no progress in {} conjugate-gradient iterations", info.iterations);
                return Err(SolveFailure::NotConverged { reason });
            }
        }
        for (wide, narrow) in out.iter_mut().zip(&self.solution) {
            *wide = narrow.to_f64() * scale;
        }
        Ok(info.iterations)
    }
}
