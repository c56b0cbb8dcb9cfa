//! Interface of the linear solvers, and what they share.

use std::fmt;

use sinew_lattice::CycleWork;
use sinew_math::cholesky::CholeskyError;
use sinew_math::parallel::sum;
use sinew_math::sparse::BlockCsr;
use sinew_math::{Mat3, Real, Vec3};

use super::assembly::{AssemblyScratch, TangentAt};
use super::contact_operator::ContactOperator;
use super::free::FreeParts;
use super::hinge::Hinges;
use super::plan::{AssemblyPlan, Filter};
use crate::kinematics::Unknowns;
use crate::material::Tangent;
use crate::state::History;

/// Stiffness of the springs that hold free parts, relative to the mean diagonal: above the rounding of f32, below the
/// stiffness of any mode that matters.
pub(super) const FREE_SPRING: f64 = 1e-6;

/// Minimum stiffness of a node for the shift, relative to the mean.
pub(super) const SHIFT_FLOOR: f64 = 1e-6;

/// Why a solve failed. Plain values, because the failure may lead to a projected tangent and must not allocate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SolveFailure {
    /// A pivot was not positive, or the factorization failed otherwise.
    Factor(CholeskyError),
    /// The diagonal block of an unknown is not positive definite.
    DiagonalBlock { unknown: usize },
    /// Conjugate gradients met a direction of negative curvature.
    NegativeCurvature { iterations: usize },
    /// Conjugate gradients met numbers that are not finite.
    NotFinite,
    /// Conjugate gradients met a residual on which the preconditioner is not positive.
    Preconditioner { iterations: usize },
    /// Conjugate gradients used up their iterations.
    NoProgress { iterations: usize },
    /// The solution is absurdly large: the matrix is singular up to rounding.
    Unheld { distance: f64 },
    /// The solution is not a descent direction: the matrix is singular up to rounding.
    NoDescent,
}

impl fmt::Display for SolveFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Factor(error) => error.fmt(f),
            Self::DiagonalBlock { unknown } => write!(f, "the diagonal block of unknown {unknown} is not positive"),
            Self::NegativeCurvature { iterations } => write!(f, "negative curvature after {iterations} iterations"),
            Self::NotFinite => write!(f, "conjugate gradients met an infinite or undefined number"),
            Self::Preconditioner { iterations } => {
                write!(f, "the preconditioner turned out to be indefinite after {iterations} iterations")
            }
            Self::NoProgress { iterations } => write!(f, "no progress in {iterations} conjugate-gradient iterations"),
            Self::Unheld { distance } => {
                write!(f, "it would move a node by {distance:.1e} m: is every body held against every rigid motion?")
            }
            Self::NoDescent => write!(f, "its solution does not lower the energy"),
        }
    }
}

/// Parts of the system that do not change from matrix to matrix.
#[derive(Clone, Copy)]
pub(crate) struct Frame<'a> {
    pub plan: &'a AssemblyPlan,
    pub filter: &'a Filter,
    pub free: &'a FreeParts,
    pub hinges: &'a Hinges,
    pub couplings: &'a ContactOperator,
}

/// Parameters of one solve.
#[derive(Clone, Copy, Default)]
pub(crate) struct Task {
    /// Multiple of the mean of each diagonal block to add to it.
    pub shift: f64,
    /// Relative accuracy.
    pub forcing: f64,
    /// Whether `out` holds an initial guess, for solvers that can use one.
    pub has_guess: bool,
    /// Whether definite terms of contacts suffice, since barriers will change along the step anyway.
    pub is_rough: bool,
}

/// A matrix and its solver. No other code depends on which one it is.
///
/// Contacts are stored beside the matrix, in the [`ContactOperator`] of the frame. `fill` adds their diagonal blocks to
/// the matrix.
pub(crate) trait Backend: Send {
    /// Fills the matrix at a point. `has_tangents` means that only contacts have changed since the last call. Rows and
    /// columns of prescribed components are still in place.
    fn fill(&mut self, at: &TangentAt<'_, '_>, frame: Frame<'_>, scratch: &mut AssemblyScratch, has_tangents: bool);

    /// out = H v right after [`fill`](Self::fill), without the off-diagonal blocks of contacts.
    fn multiply(&self, v: &[Vec3], out: &mut [Vec3]);

    /// Solves (H + s D) out = rhs with the parameters of the task; returns the number of iterations (1 for a direct
    /// solve).
    fn solve(
        &mut self,
        at: &TangentAt<'_, '_>,
        frame: Frame<'_>,
        task: Task,
        scratch: &mut AssemblyScratch,
        rhs: &[Vec3],
        out: &mut [Vec3],
    ) -> Result<usize, SolveFailure>;

    /// Residual that rounding of the positions alone can cause: 4 ε ‖diag(H) |x|‖.
    fn rounding_floor(&self, q: &Unknowns) -> f64;

    /// Discards everything from the last step except what its state stores.
    fn begin_step(&mut self, _history: &History) {}

    /// Whether [`solve_locally`](Self::solve_locally) may find a step.
    fn has_local_solves(&self) -> bool {
        false
    }

    /// Local solve: writes a step of the nodes whose gradient exceeds `least` and of their neighborhood; returns
    /// whether there is one.
    fn solve_locally(
        &mut self,
        _at: &TangentAt<'_, '_>,
        _frame: Frame<'_>,
        _scratch: &mut AssemblyScratch,
        _gradient: &[Vec3],
        _least: f64,
        _out: &mut [Vec3],
    ) -> bool {
        false
    }

    /// Runs one nonlinear cycle for the forces `rhs` at the point of the last definite tangent; returns false where the
    /// backend has no such cycle.
    fn correct(&mut self, _rhs: &[Vec3], _out: &mut [Vec3]) -> Result<bool, SolveFailure> {
        Ok(false)
    }

    /// Appends spectral estimates for the next step.
    fn spectra(&self, _out: &mut Vec<f64>) {}

    /// Time, number and cell sweeps of all cycles so far.
    fn work(&self) -> CycleWork {
        CycleWork::default()
    }
}

/// 4 ε ‖diag(H) |x|‖ of a matrix.
pub(super) fn rounding_floor<S: Real>(matrix: &BlockCsr<S>, q: &Unknowns) -> f64 {
    let force = |node: usize| matrix.diagonal_block(node).trace().to_f64() / 3.0 * q.vectors[node].norm();
    4.0 * f64::EPSILON * sum(q.vectors.len(), |node| force(node).powi(2)).sqrt()
}

/// Adds weak springs to free parts, and with the definite tangent to hinged parts, whose matrices are singular. The
/// springs slow down only the softest changes of shape. The exact tangent of a hinged part that hangs is not singular.
pub(crate) fn hold_softly<S: Real>(
    free: &FreeParts,
    hinges: &Hinges,
    tangent: Tangent,
    matrix: &mut BlockCsr<S>,
    scale: S,
) {
    let spring = Mat3::identity() * (scale * S::from_f64(FREE_SPRING));
    for &unknown in free.parts().iter().flatten() {
        matrix.add_diagonal(unknown as usize, &spring);
    }
    if tangent == Tangent::Definite {
        hinges.nodes().for_each(|unknown| matrix.add_diagonal(unknown as usize, &spring));
    }
}

/// Adds `shift` times the mean of each diagonal block to it \[Marquardt63\]. Each node uses its own mean, because
/// crushed cells may be stiffer than others by many orders of magnitude.
pub(crate) fn add_shift<S: Real>(matrix: &mut BlockCsr<S>, shift: f64) {
    if shift > 0.0 {
        // Minimum for nodes without any stiffness.
        let least = SHIFT_FLOOR * filter_scale(matrix).to_f64();
        for node in 0..matrix.node_count() {
            let own = matrix.diagonal_block(node).trace().to_f64() / 3.0;
            let spring = Mat3::identity() * S::from_f64(shift * own.max(least));
            matrix.add_diagonal(node, &spring);
        }
    }
}

/// Mean of the diagonal. Prescribed components get this value, so that they do not stand out.
pub(crate) fn filter_scale<S: Real>(matrix: &BlockCsr<S>) -> S {
    let nodes = matrix.node_count();
    let total = sum(nodes, |node| matrix.diagonal_block(node).trace().to_f64() / 3.0);
    S::from_f64(if total > 0.0 { total / nodes as f64 } else { 1.0 })
}
