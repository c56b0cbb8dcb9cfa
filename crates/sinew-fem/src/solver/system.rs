//! The linear systems of Newton's method: assembled, filtered by the pins, solved by conjugate gradients or by Cholesky.

use std::fmt;
use std::sync::Arc;

use sinew_math::Vec3;
use sinew_math::cholesky::{Cholesky, CholeskyError, SymbolicCholesky};
use sinew_math::krylov::norm;
use sinew_math::sparse::BlockCsr;

use super::assembly::{AssemblyPlan, AssemblyScratch, filter};
use super::iterative::CgBackend;
use super::params::{LinearSolver, SolverParams};
use super::problem::Problem;
use crate::kinematics::{Kinematics, Unknowns};
use crate::material::Tangent;
use crate::model::Model;

/// Unknown nodes up to which `auto` factorises in dynamics: below, a factor costs no more than the iterations it saves.
const DIRECT_DYNAMIC_NODES: usize = 600;
/// Unknown nodes up to which `auto` factorises in quasistatics, where conjugate gradients need three times the iterations.
const DIRECT_STATIC_NODES: usize = 6000;

/// Why a system was not solved. Plain values: a step that projects meets one and must not allocate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SolveFailure {
    /// A pivot was not positive, or the factorisation failed otherwise.
    Factor(CholeskyError),
    /// The diagonal block of an unknown is not positive definite.
    DiagonalBlock { unknown: usize },
    /// Conjugate gradients met a direction of negative curvature.
    NegativeCurvature { iterations: usize },
    /// Conjugate gradients met numbers that are not finite.
    NotFinite,
    /// Conjugate gradients used up their iterations.
    NoProgress { iterations: usize },
    /// The solution is absurdly large: the matrix is singular to rounding.
    Unheld { distance: f64 },
    /// The solution does not point downhill: the matrix is singular to rounding.
    NoDescent,
}

impl fmt::Display for SolveFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Factor(error) => error.fmt(f),
            Self::DiagonalBlock { unknown } => write!(f, "the diagonal block of unknown {unknown} is not positive"),
            Self::NegativeCurvature { iterations } => write!(f, "negative curvature after {iterations} iterations"),
            Self::NotFinite => write!(f, "conjugate gradients met an infinite or undefined number"),
            Self::NoProgress { iterations } => write!(f, "no progress in {iterations} conjugate-gradient iterations"),
            Self::Unheld { distance } => {
                write!(f, "it would move a node by {distance:.1e} m: is every body held against every rigid motion?")
            }
            Self::NoDescent => write!(f, "its solution does not lower the energy"),
        }
    }
}

enum Backend {
    Cg(Box<CgBackend>),
    Direct(Box<Cholesky<f64>>),
}

/// A linear system that is assembled and solved again and again.
pub(crate) struct LinearSystem {
    plan: Arc<AssemblyPlan>,
    matrix: BlockCsr,
    backend: Backend,
    scratch: AssemblyScratch,
    kinematics: Kinematics,
    is_filtered: bool,
    has_values: bool,
    /// The floor at the end of the last step, until there is a matrix of this one.
    earlier_floor: f64,
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
                let (limit, regime) = match params.regime.is_dynamic() {
                    false => (DIRECT_STATIC_NODES, "quasistatic"),
                    true => (DIRECT_DYNAMIC_NODES, "dynamic"),
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
            Backend::Cg(Box::new(CgBackend::new(&plan.pattern, params.budget.map(|b| b.linear))))
        };
        Self {
            matrix: BlockCsr::zeros(plan.pattern.clone()),
            plan: Arc::new(plan),
            backend,
            scratch: AssemblyScratch::default(),
            kinematics: model.kinematics.clone(),
            is_filtered: false,
            has_values: false,
            earlier_floor: 0.0,
            reason,
        }
    }

    /// Which solver was chosen, and why.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Where everything goes.
    pub fn plan(&self) -> &Arc<AssemblyPlan> {
        &self.plan
    }

    /// Whether the system was made for a model of this shape.
    pub fn fits(&self, model: &Model) -> bool {
        self.kinematics.unknown_count() == model.kinematics.unknown_count()
            && self.kinematics.point_count() == model.kinematics.point_count()
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
        self.plan.assemble(problem, q, x, point_gradient, tangent, &mut self.scratch, &mut self.matrix);
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
        // Of no interest to either solver, and 0/0 in the scaling of the iterative one.
        if norm(rhs) == 0.0 {
            out.fill(Vec3::zero());
            return Ok(0);
        }
        match &mut self.backend {
            Backend::Cg(cg) => cg.solve(&self.matrix, rhs, out, forcing),
            Backend::Direct(factor) => {
                factor.refactor(&self.matrix).map_err(SolveFailure::Factor)?;
                out.copy_from_slice(rhs);
                factor.solve_in_place(out).map_err(SolveFailure::Factor)?;
                Ok(1)
            }
        }
    }

    fn mean_diagonal(&self) -> f64 {
        let count = self.matrix.node_count().max(1) as f64;
        let sum: f64 = self.matrix.diagonal_blocks().map(|block| block.trace() / 3.0).sum();
        if sum > 0.0 { sum / count } else { 1.0 }
    }

    /// Forgets the matrix of the last step: what a step knows of the past comes with the state, or a run that was resumed would differ.
    pub fn begin_step(&mut self, earlier_floor: f64) {
        self.has_values = false;
        self.earlier_floor = earlier_floor;
    }

    /// Residual that rounding of the positions alone can cause: 4 ε ‖diag(H) |x|‖. Before the first assembly of a step that of the last.
    pub fn rounding_floor(&self, q: &Unknowns) -> f64 {
        if !self.has_values {
            return self.earlier_floor;
        }
        let squares =
            self.matrix.diagonal_blocks().zip(&q.vectors).map(|(block, v)| (block.trace() / 3.0 * v.norm()).powi(2));
        4.0 * f64::EPSILON * squares.sum::<f64>().sqrt()
    }
}
