//! Preconditioned conjugate gradients: A x = b with A symmetric positive definite \[Hestenes52\].
//!
//! Each iteration minimizes the energy ½ xᵀA x − bᵀx over a growing space, with one product by A and one by the
//! preconditioner M⁻¹:
//!
//! ```math
//! \alpha = \frac{r^T z}{p^T A p},\quad x \mathrel{+}= \alpha p,\quad r \mathrel{-}= \alpha A p,\quad
//!    z = M^{-1} r,\quad
//!    \beta = \frac{r^T z}{(r^T z)_{old}},\quad p = z + \beta p
//! ```
//!
//! A direction with pᵀA p ≤ 0 shows that A is not positive definite. Newton's method uses that, so it is an outcome and
//! not an error: x is then the last iterate, a descent direction for the energy when the first guess was zero.

use crate::krylov::vector::dot_block;
use crate::krylov::{LinearOperator, Preconditioner, dot, norm};
use crate::parallel::{SUM_BLOCK, for_each_block_mut, sum_blocks_mut};
use crate::{Real, Vec3};

/// Stopping criteria.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CgParams {
    /// Stop when ‖b − A x‖ ≤ this · ‖b‖; in [0, 1). Relative to b and not to the first residual, so that a good first
    /// guess saves iterations. Default 1e-6: the limit of single precision.
    pub relative_tolerance: f64,
    /// Stop when ‖b − A x‖ ≤ this, in the unit of b. Default 0: only the caller knows the scale.
    pub absolute_tolerance: f64,
    /// Stop after this many iterations. Default 1000.
    pub max_iterations: usize,
}

impl Default for CgParams {
    fn default() -> Self {
        Self { relative_tolerance: 1e-6, absolute_tolerance: 0.0, max_iterations: 1000 }
    }
}

/// How the iteration ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CgOutcome {
    /// The residual met the tolerance.
    Converged,
    /// The iteration limit was reached; x is the best iterate in the energy norm.
    IterationLimit,
    /// A direction p with pᵀA p ≤ 0 was found; x is the iterate before it, p is [`CgScratch::direction`].
    NegativeCurvature {
        /// pᵀA p / pᵀp, zero or negative.
        curvature: f64,
    },
}

/// Result of a solve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CgInfo {
    /// How the iteration ended.
    pub outcome: CgOutcome,
    /// Number of updates of x.
    pub iterations: usize,
    /// ‖b − A x‖ at the first guess.
    pub initial_residual: f64,
    /// ‖b − A x‖ at the end, as updated by the recurrence.
    pub residual: f64,
}

impl CgInfo {
    /// Whether the tolerance was met.
    pub fn is_converged(&self) -> bool {
        self.outcome == CgOutcome::Converged
    }

    /// Whether the matrix turned out not to be positive definite.
    pub fn has_negative_curvature(&self) -> bool {
        matches!(self.outcome, CgOutcome::NegativeCurvature { .. })
    }
}

/// Why a solve failed.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum CgError {
    /// The sizes of vectors and operator differ.
    #[error("the operator has {operator} nodes, b has {right_hand_side}, x has {solution}")]
    LengthMismatch {
        /// Nodes of the operator.
        operator: usize,
        /// Entries of b.
        right_hand_side: usize,
        /// Entries of x.
        solution: usize,
    },
    /// Infinite or NaN values in A, M⁻¹, b or x.
    #[error("conjugate gradients met an infinite or undefined number in iteration {iteration}")]
    NotFinite {
        /// Number of completed iterations.
        iteration: usize,
    },
    /// rᵀM⁻¹r ≤ 0 for a residual that is not zero.
    #[error("the preconditioner is not positive definite: rᵀz = {value} in iteration {iteration}")]
    IndefinitePreconditioner {
        /// rᵀM⁻¹r.
        value: f64,
        /// Number of completed iterations.
        iteration: usize,
    },
}

/// Scratch memory. Keep it from solve to solve: only the first solve allocates.
#[derive(Clone, Debug, Default)]
pub struct CgScratch<S: Real = f64> {
    r: Vec<Vec3<S>>,
    z: Vec<Vec3<S>>,
    p: Vec<Vec3<S>>,
    q: Vec<Vec3<S>>,
}

impl<S: Real> CgScratch<S> {
    /// Empty memory; it grows with the first solve.
    pub fn new() -> Self {
        Self { r: Vec::new(), z: Vec::new(), p: Vec::new(), q: Vec::new() }
    }

    /// The last search direction; after [`CgOutcome::NegativeCurvature`] the direction of negative curvature.
    pub fn direction(&self) -> &[Vec3<S>] {
        &self.p
    }

    /// The residual b − A x at the end of the last solve.
    pub fn residual(&self) -> &[Vec3<S>] {
        &self.r
    }

    fn resize(&mut self, length: usize) {
        for vector in [&mut self.r, &mut self.z, &mut self.p, &mut self.q] {
            vector.resize(length, Vec3::zero());
        }
    }
}

/// Solves A x = b from the first guess in `x`.
///
/// All sums run in `f64` over fixed blocks: the same bits for any number of threads, provided operator and
/// preconditioner do the same.
///
/// # Errors
/// When lengths differ, numbers are not finite, or the preconditioner is not positive definite. `x` is then
/// unspecified.
pub fn conjugate_gradients<S: Real>(
    operator: &(impl LinearOperator<S> + ?Sized),
    preconditioner: &mut (impl Preconditioner<S> + ?Sized),
    b: &[Vec3<S>],
    x: &mut [Vec3<S>],
    params: &CgParams,
    scratch: &mut CgScratch<S>,
) -> Result<CgInfo, CgError> {
    let count = operator.node_count();
    if b.len() != count || x.len() != count {
        return Err(CgError::LengthMismatch { operator: count, right_hand_side: b.len(), solution: x.len() });
    }
    scratch.resize(count);
    let CgScratch { r, z, p, q } = scratch;

    // Most solves start from zero: the residual is then b, which saves a product.
    if x.iter().all(|&v| v == Vec3::zero()) {
        r.copy_from_slice(b);
    } else {
        operator.apply(x, q);
        for_each_block_mut((&mut r[..], b, &q[..]), SUM_BLOCK, |_, (r, b, q)| {
            for k in 0..r.len() {
                r[k] = b[k] - q[k];
            }
        });
    }
    let initial_residual = norm(r);
    let target = (params.relative_tolerance * norm(b)).max(params.absolute_tolerance);
    let mut residual = initial_residual;
    let mut previous_rz = 0.0;
    let mut iterations = 0;
    let outcome = loop {
        if !residual.is_finite() || !target.is_finite() {
            return Err(CgError::NotFinite { iteration: iterations });
        }
        if residual <= target {
            break CgOutcome::Converged;
        }
        if iterations == params.max_iterations {
            break CgOutcome::IterationLimit;
        }
        let rz = preconditioner.apply_dot(r, z);
        if !rz.is_finite() {
            return Err(CgError::NotFinite { iteration: iterations });
        }
        if rz <= 0.0 {
            return Err(CgError::IndefinitePreconditioner { value: rz, iteration: iterations });
        }
        if iterations == 0 {
            p.copy_from_slice(z);
        } else {
            let beta = S::from_f64(rz / previous_rz);
            for_each_block_mut((&mut p[..], &z[..]), SUM_BLOCK, |_, (p, z)| {
                for k in 0..p.len() {
                    p[k] = z[k] + p[k] * beta;
                }
            });
        }
        previous_rz = rz;
        let pq = operator.apply_dot(p, q);
        if !pq.is_finite() {
            return Err(CgError::NotFinite { iteration: iterations });
        }
        if pq <= 0.0 {
            break CgOutcome::NegativeCurvature { curvature: pq / dot(p, p) };
        }
        let alpha = S::from_f64(rz / pq);
        let squared = sum_blocks_mut((&mut x[..], &mut r[..], &p[..], &q[..]), |_, (x, r, p, q)| {
            for k in 0..x.len() {
                x[k] += p[k] * alpha;
                r[k] -= q[k] * alpha;
            }
            // The block is still in the cache.
            dot_block(r, r)
        });
        residual = squared.sqrt();
        iterations += 1;
    };
    Ok(CgInfo { outcome, iterations, initial_residual, residual })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::Mat3;
    use crate::krylov::{BlockJacobi, IdentityPreconditioner};
    use crate::parallel::tests::with_threads;
    use crate::sparse::tests::{random_spd, random_vector};
    use crate::sparse::{BlockCsr, BlockPattern};

    fn params(relative_tolerance: f64) -> CgParams {
        CgParams { relative_tolerance, ..CgParams::default() }
    }

    /// A matrix with these blocks on the diagonal and nothing else.
    fn diagonal(blocks: &[Mat3]) -> BlockCsr {
        let pattern = BlockPattern::from_elements(blocks.len(), Vec::<[u32; 1]>::new()).unwrap();
        let mut matrix = BlockCsr::zeros(Arc::new(pattern));
        for (node, block) in blocks.iter().enumerate() {
            matrix.add_diagonal(node, block);
        }
        matrix
    }

    #[test]
    fn solution_has_the_residual_that_is_reported() {
        let matrix = random_spd([5, 4, 4]);
        let b = random_vector(matrix.node_count(), 17);
        let mut scratch = CgScratch::new();
        let (mut jacobi, _) = BlockJacobi::new(&matrix);
        let mut x = vec![Vec3::zero(); b.len()];
        let preconditioned =
            conjugate_gradients(&matrix, &mut jacobi, &b, &mut x, &params(1e-10), &mut scratch).unwrap();
        assert!(preconditioned.is_converged());
        let mut product = vec![Vec3::zero(); b.len()];
        matrix.multiply(&x, &mut product);
        let difference: Vec<Vec3> = b.iter().zip(&product).map(|(b, p)| *b - *p).collect();
        // Recursive and true residual differ by rounding only: ε times the condition number of a few hundred.
        assert!((norm(&difference) - preconditioned.residual).abs() < 1e-12);
        assert!(preconditioned.residual <= 1e-10 * norm(&b));
        assert_eq!(preconditioned.initial_residual, norm(&b));

        let mut x = vec![Vec3::zero(); b.len()];
        let plain = conjugate_gradients(&matrix, &mut IdentityPreconditioner, &b, &mut x, &params(1e-10), &mut scratch)
            .unwrap();
        assert!(plain.is_converged() && plain.iterations >= preconditioned.iterations);
    }

    #[test]
    fn distinct_eigenvalues_bound_the_number_of_iterations() {
        // Three distinct eigenvalues: the residual polynomial of degree three vanishes on all of them.
        let blocks = vec![Mat3::diagonal(Vec3::new(1.0, 2.0, 5.0)); 40];
        let matrix = diagonal(&blocks);
        let b = random_vector(40, 2);
        let mut x = vec![Vec3::zero(); 40];
        let info = conjugate_gradients(
            &matrix,
            &mut IdentityPreconditioner,
            &b,
            &mut x,
            &params(1e-13),
            &mut CgScratch::new(),
        )
        .unwrap();
        assert_eq!((info.outcome, info.iterations), (CgOutcome::Converged, 3));
        assert!((0..40).all(|i| (blocks[i] * x[i] - b[i]).norm() < 1e-13));
    }

    #[test]
    fn negative_curvature_is_an_outcome_with_direction_and_iterate() {
        let mut blocks = vec![Mat3::identity(); 10];
        blocks[4] = Mat3::diagonal(Vec3::new(1.0, -3.0, 1.0));
        let matrix = diagonal(&blocks);
        let b = random_vector(10, 6);
        let mut x = vec![Vec3::zero(); 10];
        let mut scratch = CgScratch::new();
        let info = conjugate_gradients(&matrix, &mut IdentityPreconditioner, &b, &mut x, &params(1e-12), &mut scratch)
            .unwrap();
        let CgOutcome::NegativeCurvature { curvature } = info.outcome else { panic!("{info:?}") };
        assert!(info.has_negative_curvature() && curvature <= 0.0);
        let p = scratch.direction();
        let mut q = vec![Vec3::zero(); 10];
        matrix.multiply(p, &mut q);
        assert!((dot(p, &q) / dot(p, p) - curvature).abs() < 1e-14);
        assert!(info.iterations == 0 || dot(&b, &x) > 0.0, "the iterate must be a descent direction");
    }

    #[test]
    fn good_guess_and_zero_right_hand_side_need_no_iteration() {
        let matrix = random_spd([2, 2, 2]);
        let x_exact = random_vector(matrix.node_count(), 8);
        let mut b = vec![Vec3::zero(); x_exact.len()];
        matrix.multiply(&x_exact, &mut b);
        let mut x = x_exact.clone();
        let mut scratch = CgScratch::new();
        let info = conjugate_gradients(&matrix, &mut IdentityPreconditioner, &b, &mut x, &params(1e-12), &mut scratch)
            .unwrap();
        assert_eq!((info.outcome, info.iterations), (CgOutcome::Converged, 0));
        assert_eq!(x, x_exact);
        b.fill(Vec3::zero());
        x.fill(Vec3::zero());
        let info =
            conjugate_gradients(&matrix, &mut IdentityPreconditioner, &b, &mut x, &params(0.0), &mut scratch).unwrap();
        assert_eq!((info.outcome, info.residual), (CgOutcome::Converged, 0.0));
    }

    #[test]
    fn iteration_limit_and_bad_numbers_are_told_apart() {
        let matrix = random_spd([3, 3, 3]);
        let mut b = random_vector(matrix.node_count(), 3);
        let mut x = vec![Vec3::zero(); b.len()];
        let mut scratch = CgScratch::new();
        let short = CgParams { relative_tolerance: 1e-12, max_iterations: 2, ..CgParams::default() };
        let info = conjugate_gradients(&matrix, &mut IdentityPreconditioner, &b, &mut x, &short, &mut scratch).unwrap();
        assert_eq!((info.outcome, info.iterations), (CgOutcome::IterationLimit, 2));
        b[1].y = f64::NAN;
        let error = conjugate_gradients(&matrix, &mut IdentityPreconditioner, &b, &mut x, &short, &mut scratch);
        assert_eq!(error, Err(CgError::NotFinite { iteration: 0 }));
        let error = conjugate_gradients(&matrix, &mut IdentityPreconditioner, &b[1..], &mut x, &short, &mut scratch);
        assert!(matches!(error, Err(CgError::LengthMismatch { .. })));
    }

    #[test]
    fn indefinite_preconditioner_is_an_error() {
        struct Negative;
        impl Preconditioner<f64> for Negative {
            fn apply(&mut self, r: &[Vec3], z: &mut [Vec3]) {
                for k in 0..r.len() {
                    z[k] = -r[k];
                }
            }
        }
        let matrix = random_spd([1, 1, 1]);
        let b = random_vector(8, 3);
        let mut x = vec![Vec3::zero(); 8];
        let error = conjugate_gradients(&matrix, &mut Negative, &b, &mut x, &params(1e-6), &mut CgScratch::new());
        assert!(matches!(error, Err(CgError::IndefinitePreconditioner { iteration: 0, .. })));
    }

    #[test]
    fn single_precision_converges_and_threads_change_no_bit() {
        let matrix = random_spd([20, 15, 15]);
        let mut single = BlockCsr::<f32>::zeros(matrix.pattern().clone());
        single.copy_from(&matrix);
        let b: Vec<Vec3<f32>> = random_vector(matrix.node_count(), 4).iter().map(|v| v.map(|c| c as f32)).collect();
        assert!(b.len() > SUM_BLOCK, "the sum must span several blocks");
        let solve = |threads| {
            with_threads(threads, || {
                let mut x = vec![Vec3::zero(); b.len()];
                let (mut jacobi, _) = BlockJacobi::new(&single);
                let info = conjugate_gradients(&single, &mut jacobi, &b, &mut x, &params(1e-4), &mut CgScratch::new())
                    .unwrap();
                (x, info)
            })
        };
        let one = solve(1);
        assert!(one.1.is_converged());
        assert_eq!(one, solve(2));
    }
}
