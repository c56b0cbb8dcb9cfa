//! What holds and solves linear systems of one kind of model, and what all of these share.

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

/// Springs that hold free parts, over the mean diagonal: above the rounding of f32, below the stiffness of any mode that matters.
pub(super) const FREE_SPRING: f64 = 1e-6;

/// Least stiffness of a node that a shift is taken of, over the mean.
pub(super) const SHIFT_FLOOR: f64 = 1e-6;

/// Why a system was not solved. Plain values: a step that projects meets one and must not allocate.
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

/// What does not change from matrix to matrix.
#[derive(Clone, Copy)]
pub(crate) struct Frame<'a> {
    pub plan: &'a AssemblyPlan,
    pub filter: &'a Filter,
    pub free: &'a FreeParts,
    pub hinges: &'a Hinges,
    pub couplings: &'a ContactOperator,
}

/// How a system is to be solved.
#[derive(Clone, Copy)]
pub(crate) struct Task {
    /// Multiple of the means of diagonal blocks that is added to them.
    pub shift: f64,
    /// Relative accuracy.
    pub forcing: f64,
    /// Whether there is a solution to begin with, for who can make use of it.
    pub has_guess: bool,
}

/// A matrix and its solver. Nothing else asks which one it is.
///
/// Contacts are beside the matrix, in the [`ContactOperator`] of the frame; a backend adds their diagonal blocks when it is filled.
pub(crate) trait Backend: Send {
    /// Fills the matrix at a place; `has_tangents` says that only contacts are others than when it was filled last. Rows and columns of prescribed components are
    /// still in place.
    fn fill(&mut self, at: &TangentAt<'_, '_>, frame: Frame<'_>, scratch: &mut AssemblyScratch, has_tangents: bool);

    /// out = H v right after [`fill`](Self::fill), without what contacts put beside the diagonal.
    fn multiply(&self, v: &[Vec3], out: &mut [Vec3]);

    /// Solves (H + s D) out = rhs as the task says; returns the iterations (1 for a direct solve).
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

    /// Forgets the last step but for what its state remembers.
    fn begin_step(&mut self, _history: &History) {}

    /// Whether [`mend`](Self::mend) may find a step.
    fn mends(&self) -> bool {
        false
    }

    /// Writes a step of the nodes with more than `least` of the gradient, and of what is around them; whether there is one.
    fn mend(
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

    /// One nonlinear cycle for the forces `rhs` from where the definite tangent was just filled in; false where there is no such thing.
    fn correct(&mut self, _rhs: &[Vec3], _out: &mut [Vec3]) -> Result<bool, SolveFailure> {
        Ok(false)
    }

    /// Appends what the next step may know of spectra.
    fn spectra(&self, _out: &mut Vec<f64>) {}

    /// Time and work of all cycles so far.
    fn work(&self) -> CycleWork {
        CycleWork::default()
    }
}

/// 4 ε ‖diag(H) |x|‖ of a matrix.
pub(super) fn rounding_floor<S: Real>(matrix: &BlockCsr<S>, q: &Unknowns) -> f64 {
    let force = |node: usize| matrix.diagonal_block(node).trace().to_f64() / 3.0 * q.vectors[node].norm();
    4.0 * f64::EPSILON * sum(q.vectors.len(), |node| force(node).powi(2)).sqrt()
}

/// Springs on free parts, and where the tangent is the definite one on hinged parts, that make their singular matrices definite. They are so weak that
/// they slow down only the softest of all shape changes. The exact tangent of a hinged part that hangs is not singular.
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

/// Adds `shift` times the mean of each diagonal block to it \[Marquardt63\]: nodes of stiff cells, which may be stiffer by many orders where they
/// are crushed, say nothing about the others.
pub(crate) fn add_shift<S: Real>(matrix: &mut BlockCsr<S>, shift: f64) {
    if shift > 0.0 {
        // What a node without any stiffness gets.
        let least = SHIFT_FLOOR * filter_scale(matrix).to_f64();
        for node in 0..matrix.node_count() {
            let own = matrix.diagonal_block(node).trace().to_f64() / 3.0;
            let spring = Mat3::identity() * S::from_f64(shift * own.max(least));
            matrix.add_diagonal(node, &spring);
        }
    }
}

/// The mean of the diagonal: what prescribed components get, so that they do not stand out.
pub(crate) fn filter_scale<S: Real>(matrix: &BlockCsr<S>) -> S {
    let nodes = matrix.node_count();
    let total = sum(nodes, |node| matrix.diagonal_block(node).trace().to_f64() / 3.0);
    S::from_f64(if total > 0.0 { total / nodes as f64 } else { 1.0 })
}
