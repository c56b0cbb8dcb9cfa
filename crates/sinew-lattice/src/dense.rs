//! The coarsest level by a direct solve: Cholesky's factor of a small dense matrix.

/// Pivots below this part of the largest diagonal entry are modes without stiffness, which stay where they are.
const LEAST_PIVOT: f64 = 1e-6;

/// A = L Lᵀ of a symmetric matrix, positive semi-definite.
#[derive(Clone, Debug, Default)]
pub(crate) struct DenseFactor {
    size: usize,
    /// Rows of L, one after the other, with 1/Lᵢᵢ on the diagonal; 0 where there is no stiffness.
    rows: Vec<f64>,
}

impl DenseFactor {
    /// From the matrix, row by row, of which the lower half counts.
    pub fn new(size: usize, mut rows: Vec<f64>) -> Self {
        let largest = (0..size).map(|i| rows[i * size + i]).fold(0.0, f64::max);
        for i in 0..size {
            for j in 0..=i {
                let (head, tail) = rows.split_at(i * size);
                let row_j = if i == j { &tail[..j] } else { &head[j * size..j * size + j] };
                let sum = tail[j] - tail[..j].iter().zip(row_j).map(|(a, b)| a * b).sum::<f64>();
                rows[i * size + j] = if i > j {
                    sum * rows[j * size + j]
                } else if sum > LEAST_PIVOT * largest {
                    1.0 / sum.sqrt()
                } else {
                    0.0
                };
            }
        }
        Self { size, rows }
    }

    /// A⁻¹ b, in place.
    pub fn solve(&self, b: &mut [f64]) {
        let n = self.size;
        for i in 0..n {
            let row = &self.rows[i * n..i * n + i];
            let sum = b[i] - row.iter().zip(&*b).map(|(l, b)| l * b).sum::<f64>();
            b[i] = sum * self.rows[i * n + i];
        }
        for i in (0..n).rev() {
            b[i] *= self.rows[i * n + i];
            let (before, rest) = b.split_at_mut(i);
            for (b, l) in before.iter_mut().zip(&self.rows[i * n..i * n + i]) {
                *b -= l * rest[0];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solution_fulfils_the_equation() {
        let a = [4.0, 1.0, 0.5, 1.0, 3.0, -1.0, 0.5, -1.0, 5.0];
        let mut x = [1.0, 2.0, 3.0];
        DenseFactor::new(3, a.to_vec()).solve(&mut x);
        for (i, b) in [1.0, 2.0, 3.0].into_iter().enumerate() {
            let product: f64 = (0..3).map(|j| a[3 * i + j] * x[j]).sum();
            assert!((product - b).abs() < 1e-12);
        }
    }

    #[test]
    fn what_has_no_stiffness_stays() {
        // A spring between two points that nobody holds.
        let mut x = [1.0, -1.0];
        DenseFactor::new(2, vec![1.0, -1.0, -1.0, 1.0]).solve(&mut x);
        assert!((x[0] - x[1] - 1.0).abs() < 1e-12 && x.iter().all(|x| x.is_finite()), "{x:?}");
    }
}
