//! V-cycle: smoothing and coarse grid one after the other, instead of both added up.
//!
//! From z = 0, smooth, correct the rest on the grid, and smooth again,
//! ```math
//! z \leftarrow S r, \qquad z \leftarrow z + P (P^T A P)^{-1} P^T (r - A z), \qquad z \leftarrow z + S (r - A z),
//! ```
//! with a Chebyshev polynomial of D⁻¹A as smoother S \[Adams03\]. It needs only products, so it runs on all threads
//! with the same bits. The cycle is symmetric, because the same polynomial smooths before and after. It costs more
//! products per iteration than the sum, and pays off where Jacobi's method and the grid would counteract each other: in
//! nearly incompressible flesh.

use sinew_math::coarse_grid::CoarseGridPreconditioner;
use sinew_math::krylov::{LinearOperator, Preconditioner, norm};
use sinew_math::parallel::{SUM_BLOCK, for_each_block_mut};
use sinew_math::sparse::SlicedBlocks;
use sinew_math::{Mat3, Vec3};

/// Products per smoothing; the first is a product with zero.
const DEGREE: usize = 2;
/// Share of the largest eigenvalue above which the smoother works; the grid covers the rest.
const LOWEST_SHARE: f32 = 0.1;
/// Iterations of the power method, and safety factor for its estimate, which is a lower bound.
const POWER_ITERATIONS: usize = 12;
const POWER_MARGIN: f32 = 1.15;

/// Scratch memory of the cycle.
pub(super) struct VCycle {
    /// Estimated largest eigenvalue of D⁻¹A; zero before the first estimate.
    largest: f32,
    direction: Vec<Vec3<f32>>,
    product: Vec<Vec3<f32>>,
    rest: Vec<Vec3<f32>>,
}

impl VCycle {
    pub fn new(nodes: usize) -> Self {
        let zero = || vec![Vec3::zero(); nodes];
        Self { largest: 0.0, direction: zero(), product: zero(), rest: zero() }
    }

    /// Estimates the largest eigenvalue of D⁻¹A by the power method, from a fixed start vector.
    pub fn estimate(&mut self, matrix: &SlicedBlocks, inverses: &[Mat3<f32>]) {
        for (k, v) in self.direction.iter_mut().enumerate() {
            let at = |axis: usize| ((7 * k + 3 * axis) % 11) as f32 - 5.0;
            *v = Vec3::new(at(0), at(1), at(2));
        }
        self.largest = 1.0;
        for _ in 0..POWER_ITERATIONS {
            let size = norm(&self.direction) as f32;
            if !(size > 0.0) {
                return;
            }
            self.direction.iter_mut().for_each(|v| *v *= 1.0 / size);
            matrix.apply(&self.direction, &mut self.product);
            for (v, (inverse, &p)) in self.direction.iter_mut().zip(inverses.iter().zip(&self.product)) {
                *v = *inverse * p;
            }
            self.largest = norm(&self.direction) as f32;
        }
        self.largest *= POWER_MARGIN;
    }

    /// The preconditioner for one matrix and its coarse grid.
    pub fn with<'a>(
        &'a mut self,
        matrix: &'a SlicedBlocks,
        coarse_grid: &'a mut CoarseGridPreconditioner,
    ) -> Cycle<'a> {
        Cycle { memory: self, matrix, coarse_grid }
    }
}

/// The cycle for one matrix.
pub(super) struct Cycle<'a> {
    memory: &'a mut VCycle,
    matrix: &'a SlicedBlocks,
    coarse_grid: &'a mut CoarseGridPreconditioner,
}

impl Cycle<'_> {
    /// z += S (r − A z); with `from_zero`, z is assumed to be zero.
    fn smooth(&mut self, r: &[Vec3<f32>], z: &mut [Vec3<f32>], from_zero: bool) {
        let VCycle { largest, direction, product, .. } = &mut *self.memory;
        let inverses = self.coarse_grid.diagonal_inverses().inverse_blocks();
        let lowest = LOWEST_SHARE * *largest;
        let (center, half) = (0.5 * (*largest + lowest), 0.5 * (*largest - lowest));
        let sigma = center / half;
        let mut rho = 1.0 / sigma;
        for step in 0..DEGREE {
            // direction ← keep · direction + take · D⁻¹ (r − A z), z ← z + direction.
            let (keep, take) = if step == 0 {
                (0.0, 1.0 / center)
            } else {
                let next = 1.0 / (2.0 * sigma - rho);
                let factors = (next * rho, 2.0 * next / half);
                rho = next;
                factors
            };
            let starts_here = from_zero && step == 0;
            if !starts_here {
                self.matrix.apply(z, product);
            }
            let parts = ((&mut *z, &mut direction[..]), (r, &product[..]));
            for_each_block_mut(parts, SUM_BLOCK, |start, ((z, direction), (r, product))| {
                for i in 0..z.len() {
                    let residual = if starts_here { r[i] } else { r[i] - product[i] };
                    let change = inverses[start + i] * residual * take;
                    direction[i] = if step == 0 { change } else { direction[i] * keep + change };
                    z[i] = if starts_here { direction[i] } else { z[i] + direction[i] };
                }
            });
        }
    }
}

impl Preconditioner<f32> for Cycle<'_> {
    fn apply(&mut self, r: &[Vec3<f32>], z: &mut [Vec3<f32>]) {
        self.smooth(r, z, true);
        let VCycle { direction, product, rest, .. } = &mut *self.memory;
        self.matrix.apply(z, product);
        for_each_block_mut((&mut rest[..], (r, &product[..])), SUM_BLOCK, |_, (rest, (r, product))| {
            for i in 0..rest.len() {
                rest[i] = r[i] - product[i];
            }
        });
        self.coarse_grid.correct(rest, direction);
        for_each_block_mut((&mut *z, &direction[..]), SUM_BLOCK, |_, (z, correction)| {
            for i in 0..z.len() {
                z[i] += correction[i];
            }
        });
        self.smooth(r, z, false);
    }
}
