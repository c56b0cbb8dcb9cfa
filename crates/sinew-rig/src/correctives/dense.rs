//! Small dense systems.

/// The factor L of a symmetric positive definite matrix A = L Lᵀ.
pub(super) struct Factor {
    size: usize,
    /// Row by row; zero above the diagonal.
    rows: Vec<f64>,
}

impl Factor {
    /// Factors a matrix given row by row. Pivots that rounding has made tiny or negative are raised, so that columns that
    /// depend on others get no share.
    pub fn of(mut rows: Vec<f64>, size: usize) -> Self {
        let largest = (0..size).map(|i| rows[i * size + i]).fold(f64::MIN_POSITIVE, f64::max);
        for i in 0..size {
            for j in 0..=i {
                let dot: f64 = (0..j).map(|k| rows[i * size + k] * rows[j * size + k]).sum();
                let rest = rows[i * size + j] - dot;
                rows[i * size + j] = if i == j { rest.max(1e-12 * largest).sqrt() } else { rest / rows[j * size + j] };
            }
            rows[i * size + i + 1..(i + 1) * size].fill(0.0);
        }
        Self { size, rows }
    }

    /// x with A x = b.
    pub fn solve(&self, b: &mut [f64]) {
        let Self { size, rows } = self;
        for i in 0..*size {
            let dot: f64 = (0..i).map(|k| rows[i * size + k] * b[k]).sum();
            b[i] = (b[i] - dot) / rows[i * size + i];
        }
        self.solve_transposed(b);
    }

    /// x with Lᵀx = b.
    pub fn solve_transposed(&self, b: &mut [f64]) {
        let Self { size, rows } = self;
        for i in (0..*size).rev() {
            let dot: f64 = (i + 1..*size).map(|k| rows[k * size + i] * b[k]).sum();
            b[i] = (b[i] - dot) / rows[i * size + i];
        }
    }

    /// Lᵀ M L for a symmetric matrix M.
    pub fn congruent(&self, matrix: &[f64]) -> Vec<f64> {
        let Self { size, rows } = self;
        let product = |left: &dyn Fn(usize, usize) -> f64, right: &dyn Fn(usize, usize) -> f64| -> Vec<f64> {
            (0..size * size).map(|at| (0..*size).map(|k| left(at / size, k) * right(k, at % size)).sum()).collect()
        };
        let half = product(&|i, k| matrix[i * size + k], &|k, j| rows[k * size + j]);
        product(&|i, k| rows[k * size + i], &|k, j| half[k * size + j])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solutions_fulfil_their_equations() {
        let matrix = vec![4.0, 1.0, -2.0, 1.0, 3.0, 0.5, -2.0, 0.5, 5.0];
        let factor = Factor::of(matrix.clone(), 3);
        let mut x = [1.0, -2.0, 0.25];
        factor.solve(&mut x);
        let product = |i: usize| (0..3).map(|k| matrix[3 * i + k] * x[k]).sum::<f64>();
        for (i, wanted) in [1.0, -2.0, 0.25].into_iter().enumerate() {
            assert!((product(i) - wanted).abs() < 1e-12);
        }
        // Lᵀ A⁻¹ L is the identity.
        let mut inverse = vec![0.0; 9];
        for k in 0..3 {
            let mut column: Vec<f64> = (0..3).map(|i| f64::from(u8::from(i == k))).collect();
            factor.solve(&mut column);
            (0..3).for_each(|i| inverse[3 * i + k] = column[i]);
        }
        for (at, value) in factor.congruent(&inverse).into_iter().enumerate() {
            assert!((value - f64::from(u8::from(at % 4 == 0))).abs() < 1e-12);
        }
    }
}
