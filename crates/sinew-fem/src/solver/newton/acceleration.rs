//! Anderson acceleration of iterations that creep along a valley \[Anderson65\].
//!
//! A sliding fold takes dozens of similar Newton steps, because the definite tangent is too stiff along the path. From
//! the last iterates qᵢ and their steps dᵢ, find the combination with the smallest combined step, and take that step
//! from the combined iterate:
//! ```math
//! d = d_0 - \sum_i \gamma_i (\Delta q_i + \Delta d_i), \qquad
//!    \gamma = \arg\min \Big| d_0 - \sum_i \gamma_i \Delta d_i \Big|, \qquad
//!    \Delta d_i = d_i - d_{i+1}.
//! ```
//! Energy and collision detection limit this step like any other.

use sinew_math::Vec3;
use sinew_math::parallel::sum;

use super::vectors::dot;

/// Number of differences to combine.
const WINDOW: usize = 4;
/// Minimum slope of a combined step, relative to the plain one.
const MIN_SLOPE: f64 = 0.1;
/// Regularization for nearly parallel steps, relative to their squares.
const RIDGE: f64 = 1e-6;

/// The last iterates with their steps, newest first.
#[derive(Default)]
pub(super) struct Past {
    count: usize,
    iterates: Vec<Vec<Vec3>>,
    steps: Vec<Vec<Vec3>>,
}

impl Past {
    /// Allocates memory, so that iterations do not.
    pub fn resize(&mut self, unknowns: usize) {
        for list in [&mut self.iterates, &mut self.steps] {
            list.resize_with(WINDOW + 1, Vec::new);
            list.iter_mut().for_each(|v| v.resize(unknowns, Vec3::zero()));
        }
    }

    /// Discards all iterates.
    pub fn forget(&mut self) {
        self.count = 0;
    }

    /// Records the step `direction` from the iterate `q`, and replaces it by the combined step where that also
    /// descends.
    pub fn accelerate(&mut self, q: &[Vec3], gradient: &[Vec3], direction: &mut [Vec3]) {
        self.remember(q, direction);
        let Some(gamma) = self.combine() else { return };
        let Self { iterates, steps, .. } = self;
        let combined = |k: usize| {
            let mut d = steps[0][k];
            for (i, &gamma) in gamma.iter().enumerate().filter(|(_, gamma)| **gamma != 0.0) {
                d -= (iterates[i][k] - iterates[i + 1][k] + steps[i][k] - steps[i + 1][k]) * gamma;
            }
            d
        };
        let slope = sum(direction.len(), |k| gradient[k].dot(combined(k)));
        // This form rejects NaN.
        if slope < MIN_SLOPE * dot(gradient, direction) {
            direction.iter_mut().enumerate().for_each(|(k, d)| *d = combined(k));
        }
    }

    fn remember(&mut self, q: &[Vec3], direction: &[Vec3]) {
        self.iterates.rotate_right(1);
        self.steps.rotate_right(1);
        self.iterates[0].copy_from_slice(q);
        self.steps[0].copy_from_slice(direction);
        self.count = (self.count + 1).min(WINDOW + 1);
    }

    /// γ; `None` where there is nothing to combine.
    fn combine(&self) -> Option<[f64; WINDOW]> {
        let size = self.count.saturating_sub(1);
        if size == 0 {
            return None;
        }
        let (steps, length) = (&self.steps, self.steps[0].len());
        let change = |i: usize, k: usize| steps[i][k] - steps[i + 1][k];
        let mut matrix = [[0.0; WINDOW]; WINDOW];
        let mut gamma = [0.0; WINDOW];
        for i in 0..size {
            for j in 0..=i {
                matrix[i][j] = sum(length, |k| change(i, k).dot(change(j, k)));
                matrix[j][i] = matrix[i][j];
            }
            gamma[i] = sum(length, |k| change(i, k).dot(steps[0][k]));
        }
        (0..size).for_each(|i| matrix[i][i] *= 1.0 + RIDGE);
        // Gaussian elimination without pivoting: the matrix is definite.
        for i in 0..size {
            if !(matrix[i][i] > 0.0) {
                return None;
            }
            for row in i + 1..size {
                let factor = matrix[row][i] / matrix[i][i];
                (i..size).for_each(|column| matrix[row][column] -= factor * matrix[i][column]);
                gamma[row] -= factor * gamma[i];
            }
        }
        for i in (0..size).rev() {
            (i + 1..size).for_each(|column| gamma[i] -= matrix[i][column] * gamma[column]);
            gamma[i] /= matrix[i][i];
        }
        Some(gamma)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Jacobi steps on ½ qᵀ A q with three eigenvalues: the combination makes the fourth step exact.
    #[test]
    fn as_many_steps_as_eigenvalues_solve_a_quadratic_energy() {
        let eigenvalues = [0.01, 0.2, 0.9];
        let gradient_at = |q: &[Vec3]| {
            let part = |x: Vec3| Vec3::new(eigenvalues[0] * x.x, eigenvalues[1] * x.y, eigenvalues[2] * x.z);
            q.iter().map(|&x| part(x)).collect::<Vec<_>>()
        };
        let mut past = Past::default();
        past.resize(2);
        let mut q = vec![Vec3::new(1.0, -2.0, 3.0), Vec3::new(0.5, 1.5, -1.0)];
        let mut sizes = Vec::new();
        for _ in 0..5 {
            let gradient = gradient_at(&q);
            let mut direction: Vec<Vec3> = gradient.iter().map(|&g| -g).collect();
            past.accelerate(&q, &gradient, &mut direction);
            q.iter_mut().zip(&direction).for_each(|(q, &d)| *q += d);
            sizes.push(dot(&q, &q).sqrt());
        }
        assert!(sizes[0] > 1.0, "{sizes:?}");
        assert!(sizes[4] < 1e-3, "{sizes:?}");
        past.forget();
        let (gradient, plain) = (gradient_at(&q), vec![Vec3::unit(0); 2]);
        let mut direction = plain.clone();
        past.accelerate(&q, &gradient, &mut direction);
        assert_eq!(direction, plain, "the first step does not change");
    }
}
