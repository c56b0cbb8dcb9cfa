//! Parameters of the solver.

use super::Regime;

/// When the tangent is made positive definite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Projection {
    /// Exact tangent; definite only after a sign of negative curvature. Keeps Newton's quadratic convergence: on
    /// bending beams the projected tangent needs two to four times as many iterations.
    #[default]
    OnDemand,
    /// Definite in every iteration.
    Always,
}

/// Solver of the linear systems.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinearSolver {
    /// The fastest for the number of nodes, the compressibility and the regime; the report names the choice and the
    /// reason.
    #[default]
    Auto,
    /// Conjugate gradients in f32, preconditioned by diagonal blocks plus a coarse grid, inside Newton in f64.
    Cg,
    /// Like `Cg`, but with a V-cycle of smoothing and coarse grid as preconditioner: for large, nearly incompressible
    /// bodies.
    VCycle,
    /// Like `Cg`, but preconditioned by a factor of the rest state that rotates with the flesh: for small bodies.
    RestFactor,
    /// Sparse Cholesky factor in f64.
    Cholesky,
    /// Conjugate gradients in f32, preconditioned by multigrid: for bodies on lattices, and only for those.
    Multigrid,
}

/// Solver of the nonlinear equations of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NonlinearSolver {
    /// Newton's method.
    #[default]
    Newton,
    /// Nonlinear multigrid cycles on lattices while they make progress, then Newton's method: for rotations of 90° in
    /// one step.
    Fas,
}

/// Norm of the residual.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResidualNorm {
    /// Euclidean norm over all nodes.
    #[default]
    Euclidean,
    /// Largest force on any node.
    Largest,
}

/// Limits the cost of a step, counted in iterations so that every machine gets the same result.
///
/// A step that reaches the limit is accepted: the iterate is finite and its merit is no higher than at the start, but
/// its residual exceeds the tolerance. So no step fails, and a large enough budget gives the result of the full solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Newton iterations per step, at least 1; twice as many where prescribed nodes must first be driven to their
    /// targets. As many local solves of characters and quasistatic contacts.
    pub newton: usize,
    /// Conjugate-gradient iterations per Newton iteration, at least 1; direct solves always complete.
    pub linear: usize,
}

/// Parameters of [`super::NewtonSolver`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SolverParams {
    /// Time integration scheme.
    pub regime: Regime,
    /// Residual to reach, relative to its norm at the start of the step under the new boundary data, or in dynamics to
    /// that of weight and loads if it is larger; in (0, 1). The default of 1e-6 leaves errors far below those of the
    /// mesh.
    pub tolerance: f64,
    /// Norm of the residual.
    pub norm: ResidualNorm,
    /// Maximum number of Newton iterations, after which a step fails. Steps that start with inverted cells may take
    /// four times as many. Quasistatic steps may take thirty times as many while the energy falls, when they start with
    /// inverted cells, or as a last resort where shorter steps do not help. A converging step takes fewer than 10, a
    /// hard one 30, and randomly scrambled flesh some hundreds.
    pub max_newton: usize,
    /// When the tangent is made definite.
    pub projection: Projection,
    /// Solver of the linear systems.
    pub linear: LinearSolver,
    /// Additional sweeps of multigrid over the boundaries of bodies on lattices.
    pub band_sweeps: usize,
    /// Solver of the nonlinear equations.
    pub nonlinear: NonlinearSolver,
    /// Whether a quasistatic step that starts with inverted cells may start from the harmonic guess instead; see
    /// `solver/newton/harmonic_guess.rs`.
    pub untangle: bool,
    /// Ends steps after a number of iterations instead of at the tolerance; `None` solves to the tolerance or fails.
    pub budget: Option<Budget>,
}

impl Default for SolverParams {
    fn default() -> Self {
        Self {
            regime: Regime::Quasistatic,
            tolerance: 1e-6,
            norm: ResidualNorm::Euclidean,
            max_newton: 100,
            projection: Projection::OnDemand,
            linear: LinearSolver::Auto,
            band_sweeps: 0,
            nonlinear: NonlinearSolver::Newton,
            untangle: false,
            budget: None,
        }
    }
}
