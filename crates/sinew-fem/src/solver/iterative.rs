//! Conjugate gradients in single precision that answer in double precision.
//!
//! Half the memory traffic makes an f32 iteration twice as fast, but rounding of the matrix alone moves the solution by ε₃₂ times the
//! condition number. So the residual is measured with the f64 matrix, what is missing is solved for again (iterative refinement
//! [Wilkinson63]), and where f32 gets nowhere (slender bodies, huge contrasts of stiffness) the solve is done once more in f64.

use std::sync::Arc;

use sinew_math::krylov::{BlockJacobi, CgOutcome, CgParams, CgScratch, conjugate_gradients, norm};
use sinew_math::sparse::{BlockCsr, BlockPattern};
use sinew_math::{Real, Vec3};

use super::system::SolveFailure;

/// Corrections of the f32 solution: each gains the digits f32 can resolve, so a second one is rarely needed.
const MAX_REFINEMENTS: usize = 3;
/// How much the true residual may exceed what was asked for: a Newton step does not mind.
const SLACK: f64 = 2.0;
/// Negative curvature smaller than this share of the mean diagonal may be a rounding of the f32 matrix (ε₃₂ = 6e-8 for each of some
/// dozens of blocks in a row): only f64 can tell.
const DOUBTFUL_CURVATURE: f64 = 1e-5;

/// Conjugate gradients of one precision with their memory.
struct Iteration<S: Real> {
    preconditioner: BlockJacobi<S>,
    scratch: CgScratch<S>,
    rhs: Vec<Vec3<S>>,
    solution: Vec<Vec3<S>>,
}

/// A solution, or why there is none.
struct Outcome {
    iterations: usize,
    failure: Option<SolveFailure>,
    /// Curvature met, when it was negative.
    curvature: f64,
}

impl<S: Real> Iteration<S> {
    fn new(nodes: usize) -> Self {
        Self {
            preconditioner: BlockJacobi::default(),
            scratch: CgScratch::new(),
            rhs: vec![Vec3::zero(); nodes],
            solution: vec![Vec3::zero(); nodes],
        }
    }

    /// out += A⁻¹ rhs to relative accuracy `forcing`; the preconditioner is that of `matrix` already.
    fn add_solution(
        &mut self,
        matrix: &BlockCsr<S>,
        rhs: &[Vec3],
        out: &mut [Vec3],
        forcing: f64,
        budget: Option<usize>,
    ) -> Outcome {
        // Right-hand sides of a nearly converged iteration underflow in f32: solve for the direction of unit size.
        let scale = norm(rhs);
        for (narrow, &wide) in self.rhs.iter_mut().zip(rhs) {
            *narrow = Vec3::from_f64(wide / scale);
        }
        self.solution.fill(Vec3::zero());
        let params = CgParams {
            relative_tolerance: forcing,
            absolute_tolerance: 0.0,
            max_iterations: budget.unwrap_or((10 * self.rhs.len()).clamp(100, 5000)),
        };
        let solved = conjugate_gradients(
            matrix,
            &mut self.preconditioner,
            &self.rhs,
            &mut self.solution,
            &params,
            &mut self.scratch,
        );
        let Ok(info) = solved else {
            return Outcome { iterations: 0, failure: Some(SolveFailure::NotFinite), curvature: 0.0 };
        };
        let iterations = info.iterations;
        match info.outcome {
            CgOutcome::NegativeCurvature { curvature } => {
                let failure = Some(SolveFailure::NegativeCurvature { iterations });
                return Outcome { iterations, failure, curvature };
            }
            // An unfinished solution still descends; only one that is no better than nothing is refused.
            CgOutcome::IterationLimit if budget.is_none() && info.residual >= 0.5 * info.initial_residual => {
                return Outcome { iterations, failure: Some(SolveFailure::NoProgress { iterations }), curvature: 0.0 };
            }
            CgOutcome::Converged | CgOutcome::IterationLimit => {}
        }
        for (wide, narrow) in out.iter_mut().zip(&self.solution) {
            *wide += narrow.to_f64() * scale;
        }
        Outcome { iterations, failure: None, curvature: 0.0 }
    }
}

/// The solver with both precisions; f64 memory is allocated when it is needed first.
pub(super) struct CgBackend {
    matrix: BlockCsr<f32>,
    narrow: Iteration<f32>,
    wide: Option<Box<Iteration<f64>>>,
    residual: Vec<Vec3>,
    /// Iterations after which a solution is taken as it is.
    budget: Option<usize>,
}

impl CgBackend {
    pub fn new(pattern: &Arc<BlockPattern>, budget: Option<usize>) -> Self {
        let nodes = pattern.node_count();
        Self {
            matrix: BlockCsr::zeros(pattern.clone()),
            narrow: Iteration::new(nodes),
            wide: None,
            residual: vec![Vec3::zero(); nodes],
            budget,
        }
    }

    /// Solves A out = rhs to relative accuracy `forcing`; returns the iterations.
    pub fn solve(
        &mut self,
        matrix: &BlockCsr,
        rhs: &[Vec3],
        out: &mut [Vec3],
        forcing: f64,
    ) -> Result<usize, SolveFailure> {
        out.fill(Vec3::zero());
        self.matrix.copy_from(matrix);
        if let Some(unknown) = self.narrow.preconditioner.update(&self.matrix).first_indefinite {
            return self.solve_wide(matrix, rhs, out, forcing).map_err(|_| SolveFailure::DiagonalBlock { unknown });
        }
        let goal = SLACK * forcing * norm(rhs);
        let mut iterations = 0;
        let mut previous = norm(rhs);
        self.residual.copy_from_slice(rhs);
        for _ in 0..=MAX_REFINEMENTS {
            let outcome = self.narrow.add_solution(&self.matrix, &self.residual, out, forcing, self.budget);
            iterations += outcome.iterations;
            if let Some(failure) = outcome.failure {
                let is_sure = outcome.curvature < -DOUBTFUL_CURVATURE * mean_diagonal(matrix);
                return if is_sure { Err(failure) } else { self.solve_wide(matrix, rhs, out, forcing) };
            }
            if self.budget.is_some_and(|budget| iterations >= budget) {
                return Ok(iterations);
            }
            matrix.multiply(out, &mut self.residual);
            for (r, &b) in self.residual.iter_mut().zip(rhs) {
                *r = b - *r;
            }
            let residual = norm(&self.residual);
            if residual <= goal {
                return Ok(iterations);
            }
            // Written so that NaN leaves as well.
            if !(residual < 0.5 * previous) {
                break;
            }
            previous = residual;
        }
        self.solve_wide(matrix, rhs, out, forcing)
    }

    fn solve_wide(
        &mut self,
        matrix: &BlockCsr,
        rhs: &[Vec3],
        out: &mut [Vec3],
        forcing: f64,
    ) -> Result<usize, SolveFailure> {
        let wide = self.wide.get_or_insert_with(|| Box::new(Iteration::new(rhs.len())));
        if let Some(unknown) = wide.preconditioner.update(matrix).first_indefinite {
            return Err(SolveFailure::DiagonalBlock { unknown });
        }
        out.fill(Vec3::zero());
        let outcome = wide.add_solution(matrix, rhs, out, forcing, self.budget);
        outcome.failure.map_or(Ok(outcome.iterations), Err)
    }
}

fn mean_diagonal(matrix: &BlockCsr) -> f64 {
    let sum: f64 = matrix.diagonal_blocks().map(|block| block.trace().abs() / 3.0).sum();
    sum / matrix.node_count().max(1) as f64
}
