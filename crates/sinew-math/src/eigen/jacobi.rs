//! Eigenvalues of small dense symmetric matrices by Jacobi rotations.

/// Eigenvalues in ascending order with their orthonormal eigenvectors.
#[derive(Clone, Debug, PartialEq)]
pub struct SymmetricEigen {
    /// Eigenvalues, ascending.
    pub values: Vec<f64>,
    /// Component j of eigenvector k at `k * size + j`.
    pub vectors: Vec<f64>,
}

/// Upper bound on sweeps; ten are rarely needed.
const MAX_SWEEPS: usize = 60;

/// Eigenvalues and eigenvectors of a symmetric matrix, given row by row; only the upper triangle is read.
///
/// Cyclic Jacobi rotations \[Golub13, §8.5\]: each zeroes one pair of off-diagonal entries, and convergence is
/// ultimately quadratic. Work per sweep is cubic, and small eigenvalues of positive definite matrices keep their
/// relative accuracy.
///
/// # Panics
/// When `matrix` does not have `size²` entries.
pub fn symmetric_eigen(matrix: &[f64], size: usize) -> SymmetricEigen {
    assert_eq!(matrix.len(), size * size, "the matrix must be square");
    let mut a = matrix.to_vec();
    for i in 0..size {
        for j in 0..i {
            a[i * size + j] = a[j * size + i];
        }
    }
    // Row k ends up as the k-th eigenvector: rotations then combine rows, which are contiguous.
    let mut v = vec![0.0; size * size];
    for i in 0..size {
        v[i * size + i] = 1.0;
    }
    for _ in 0..MAX_SWEEPS {
        let mut has_rotated = false;
        for p in 0..size {
            for q in p + 1..size {
                has_rotated |= rotate(&mut a, &mut v, size, p, q);
            }
        }
        if !has_rotated {
            break;
        }
    }
    let mut order: Vec<usize> = (0..size).collect();
    order.sort_by(|&i, &j| a[i * size + i].total_cmp(&a[j * size + j]));
    SymmetricEigen {
        values: order.iter().map(|&k| a[k * size + k]).collect(),
        vectors: order.iter().flat_map(|&k| v[k * size..(k + 1) * size].iter().copied()).collect(),
    }
}

/// Zeroes entry (p, q), unless it is negligible beside both diagonal entries.
fn rotate(a: &mut [f64], v: &mut [f64], size: usize, p: usize, q: usize) -> bool {
    let (app, aqq, apq) = (a[p * size + p], a[q * size + q], a[p * size + q]);
    if apq.abs() <= f64::EPSILON * (app.abs() * aqq.abs()).sqrt() || apq.abs() < f64::MIN_POSITIVE {
        return false;
    }
    let theta = (aqq - app) / (2.0 * apq);
    // The smaller of the two possible angles; for a huge theta the square overflows to the correct limit, t = 0.
    let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
    let c = 1.0 / (t * t + 1.0).sqrt();
    let s = t * c;
    for k in 0..size {
        if k != p && k != q {
            let (akp, akq) = (a[k * size + p], a[k * size + q]);
            let (new_p, new_q) = (c * akp - s * akq, s * akp + c * akq);
            (a[k * size + p], a[k * size + q]) = (new_p, new_q);
            (a[p * size + k], a[q * size + k]) = (new_p, new_q);
        }
    }
    a[p * size + p] = app - t * apq;
    a[q * size + q] = aqq + t * apq;
    a[p * size + q] = 0.0;
    a[q * size + p] = 0.0;
    let (head, tail) = v.split_at_mut(q * size);
    for (vp, vq) in head[p * size..(p + 1) * size].iter_mut().zip(&mut tail[..size]) {
        (*vp, *vq) = (c * *vp - s * *vq, s * *vp + c * *vq);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel::tests::noise;

    #[test]
    fn eigenpairs_of_a_random_matrix_satisfy_their_equation() {
        let n = 25;
        let entry = |i: usize, j: usize| noise(i.min(j) * n + i.max(j)) - 0.5;
        let matrix: Vec<f64> = (0..n * n).map(|p| entry(p / n, p % n)).collect();
        let eigen = symmetric_eigen(&matrix, n);
        assert!(eigen.values.is_sorted());
        for k in 0..n {
            let v = &eigen.vectors[k * n..(k + 1) * n];
            for i in 0..n {
                let product: f64 = (0..n).map(|j| matrix[i * n + j] * v[j]).sum();
                // Norm of the matrix about √n / 2, a few hundred roundings.
                assert!((product - eigen.values[k] * v[i]).abs() < 1e-13);
            }
            for l in 0..=k {
                let w = &eigen.vectors[l * n..(l + 1) * n];
                let product: f64 = v.iter().zip(w).map(|(a, b)| a * b).sum();
                assert!((product - f64::from(u8::from(k == l))).abs() < 1e-13);
            }
        }
    }

    #[test]
    fn closed_forms_and_special_matrices_are_met() {
        // 2 − 2 cos(j π / (n + 1)) for the second difference.
        let n = 12;
        let mut matrix = vec![0.0; n * n];
        for i in 0..n {
            matrix[i * n + i] = 2.0;
            if i + 1 < n {
                matrix[i * n + i + 1] = -1.0;
            }
        }
        for (j, value) in symmetric_eigen(&matrix, n).values.into_iter().enumerate() {
            let exact = 2.0 - 2.0 * (std::f64::consts::PI * (j + 1) as f64 / (n + 1) as f64).cos();
            assert!((value - exact).abs() < 1e-14);
        }
        assert_eq!(symmetric_eigen(&[0.0; 9], 3).values, [0.0; 3]);
        assert_eq!(symmetric_eigen(&[3.0, 0.0, 0.0, -1.0], 2).values, [-1.0, 3.0]);
        assert_eq!(symmetric_eigen(&[], 0).values, Vec::<f64>::new());
    }
}
