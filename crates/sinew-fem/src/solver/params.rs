//! Choices of the solver.

use super::Regime;

/// When the tangent is made positive definite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Projection {
    /// Exact tangent; definite only after a sign of negative curvature. Keeps Newton's quadratic convergence: on bending beams the
    /// projected tangent needs two to four times the iterations.
    #[default]
    OnDemand,
    /// Definite in every iteration.
    Always,
}

/// How the linear systems are solved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinearSolver {
    /// Cholesky for small or static systems, conjugate gradients for large dynamic ones.
    #[default]
    Auto,
    /// Conjugate gradients in f32 with block-Jacobi preconditioner, inside Newton in f64.
    Cg,
    /// Sparse Cholesky factor in f64.
    Cholesky,
}

/// Parameters of [`super::NewtonSolver`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SolverParams {
    /// Whether inertia takes part.
    pub regime: Regime,
    /// Residual to reach, over its norm at the start of the step under the new boundary data; in (0, 1). The default of 1e-6 leaves
    /// errors far below those of the mesh.
    pub tolerance: f64,
    /// Newton iterations after which a step has failed. A converging step takes fewer than 10, a hard one 30.
    pub max_newton: usize,
    /// When the tangent is made definite.
    pub projection: Projection,
    /// How linear systems are solved.
    pub linear: LinearSolver,
    /// Whether a quasistatic step that starts with inverted cells may start from the shape that the pins ask for instead; see
    /// `solver/guide.rs`.
    pub untangle: bool,
}

impl Default for SolverParams {
    fn default() -> Self {
        Self {
            regime: Regime::Quasistatic,
            tolerance: 1e-6,
            max_newton: 60,
            projection: Projection::OnDemand,
            linear: LinearSolver::Auto,
            untangle: false,
        }
    }
}
