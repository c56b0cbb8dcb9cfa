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
    /// The fastest for the number of nodes, the compressibility and the regime; the report says which and why.
    #[default]
    Auto,
    /// Conjugate gradients in f32, preconditioned by diagonal blocks plus a coarse coarse grid, inside Newton in f64.
    Cg,
    /// The same with smoothing and coarse grid one after the other, for large bodies that are nearly incompressible.
    VCycle,
    /// The same with a factor of the rest state that turns with the flesh, for small bodies.
    RestFactor,
    /// Sparse Cholesky factor in f64.
    Cholesky,
    /// Conjugate gradients in f32, preconditioned by multigrid on lattices: the one for bodies on lattices, and for no others.
    Multigrid,
}

/// How the nonlinear equations of a step are solved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NonlinearSolver {
    /// Newton's method.
    #[default]
    Newton,
    /// Nonlinear multigrid cycles on bodies that are lattices while they make headway, Newton's method for the rest: for motions of a quarter turn in one step.
    Fas,
}

/// How large forces that are left over are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResidualNorm {
    /// The root of the sum of their squares.
    #[default]
    Euclidean,
    /// The largest on any node.
    Largest,
}

/// What a step may cost, counted in iterations so that every machine gets the same result.
///
/// A step that has used it up is accepted as it is: the iterate is finite and its merit no higher than at the start, only the residual
/// is larger than asked for. So no step fails, and with a budget that is large enough the result is that of the full solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Newton iterations per step, at least 1; as many again where prescribed nodes must be driven to their targets first.
    pub newton: usize,
    /// Conjugate-gradient iterations per Newton iteration, at least 1; a direct solve is always completed.
    pub linear: usize,
}

/// Parameters of [`super::NewtonSolver`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SolverParams {
    /// How time passes.
    pub regime: Regime,
    /// Residual to reach, over its norm at the start of the step under the new boundary data; in (0, 1). The default of 1e-6 leaves
    /// errors far below those of the mesh.
    pub tolerance: f64,
    /// How that is measured.
    pub norm: ResidualNorm,
    /// Newton iterations after which a step has failed. Four times as many where it starts with inverted cells, and thirty times as many as a last
    /// resort of quasistatics, where shorter steps do not help and the energy still falls. A converging step takes fewer than 10, a hard one 30, flesh that was thrown
    /// together at random some hundreds.
    pub max_newton: usize,
    /// When the tangent is made definite.
    pub projection: Projection,
    /// How linear systems are solved.
    pub linear: LinearSolver,
    /// Sweeps of multigrid over the boundaries of bodies on lattices, besides those over all of them.
    pub band_sweeps: usize,
    /// How the equations of a step are solved.
    pub nonlinear: NonlinearSolver,
    /// Whether a quasistatic step that starts with inverted cells may start from the shape that the pins ask for instead; see
    /// `solver/newton/guide.rs`.
    pub untangle: bool,
    /// Ends steps after so many iterations instead of at the tolerance; `None` solves to the tolerance or fails.
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
