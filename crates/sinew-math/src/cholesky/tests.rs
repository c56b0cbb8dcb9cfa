//! Factors against dense elimination, residuals and other orders; matrices that must be rejected.

use super::*;
use crate::Mat3;
use crate::krylov::norm;
use crate::parallel::tests::noise;
use crate::sparse::tests::{kuhn_tets, random_spd, random_vector};

/// Gaussian elimination with partial pivoting.
fn solve_dense(mut a: Vec<f64>, mut b: Vec<f64>) -> Vec<f64> {
    let n = b.len();
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a[i * n + k].abs().total_cmp(&a[j * n + k].abs())).unwrap();
        for j in 0..n {
            a.swap(k * n + j, pivot * n + j);
        }
        b.swap(k, pivot);
        for i in k + 1..n {
            let factor = a[i * n + k] / a[k * n + k];
            for j in k..n {
                a[i * n + j] -= factor * a[k * n + j];
            }
            b[i] -= factor * b[k];
        }
    }
    for k in (0..n).rev() {
        b[k] = (b[k] - (k + 1..n).map(|j| a[k * n + j] * b[j]).sum::<f64>()) / a[k * n + k];
    }
    b
}

fn relative_residual(matrix: &BlockCsr, x: &[Vec3], b: &[Vec3]) -> f64 {
    let mut product = vec![Vec3::zero(); x.len()];
    matrix.multiply(x, &mut product);
    let difference: Vec<Vec3> = product.iter().zip(b).map(|(p, b)| *p - *b).collect();
    norm(&difference) / norm(b)
}

#[test]
fn solution_equals_dense_elimination() {
    // One supernode, and several.
    for size in [[1, 1, 1], [3, 3, 2]] {
        let matrix = random_spd(size);
        let b = random_vector(matrix.node_count(), 21);
        let flat: Vec<f64> = b.iter().flat_map(|v| v.to_array()).collect();
        let expected = solve_dense(matrix.to_dense(), flat);
        let mut x = b.clone();
        SymbolicCholesky::new(matrix.pattern()).unwrap().factor(&matrix).unwrap().solve_in_place(&mut x).unwrap();
        let scale = expected.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        for (i, expected) in expected.iter().enumerate() {
            // Condition numbers below 1e4.
            assert!((x[i / 3][i % 3] - expected).abs() < 1e-11 * scale);
        }
    }
}

#[test]
fn residual_is_at_rounding_level_and_refactoring_reuses_the_memory() {
    let mut matrix = random_spd([8, 6, 6]);
    let symbolic = SymbolicCholesky::new(matrix.pattern()).unwrap();
    assert!(symbolic.factor_entry_count() > 3 * matrix.node_count());
    let mut cholesky = symbolic.factor(&matrix).unwrap();
    for _ in 0..2 {
        let b = random_vector(matrix.node_count(), 2);
        let mut x = b.clone();
        cholesky.solve_in_place(&mut x).unwrap();
        assert!(relative_residual(&matrix, &x, &b) < 1e-12);
        let mut columns = [b.clone(), random_vector(matrix.node_count(), 55)];
        let second = columns[1].clone();
        cholesky.solve_columns_in_place(&mut columns).unwrap();
        assert!(relative_residual(&matrix, &columns[0], &b) < 1e-12);
        assert!(relative_residual(&matrix, &columns[1], &second) < 1e-12);
        for node in 0..matrix.node_count() {
            matrix.add_diagonal(node, &(Mat3::identity() * noise(node)));
        }
        cholesky.refactor(&matrix).unwrap();
    }
}

#[test]
fn single_precision_reaches_single_precision() {
    let matrix = random_spd([6, 5, 4]);
    let mut single = BlockCsr::<f32>::zeros(matrix.pattern().clone());
    single.copy_from(&matrix);
    let b = random_vector(matrix.node_count(), 2);
    let mut x: Vec<Vec3<f32>> = b.iter().map(|v| v.map(|c| c as f32)).collect();
    SymbolicCholesky::new(matrix.pattern()).unwrap().factor(&single).unwrap().solve_in_place(&mut x).unwrap();
    let x: Vec<Vec3> = x.iter().map(|v| v.to_f64()).collect();
    assert!(relative_residual(&matrix, &x, &b) < 1e-4);
}

#[test]
fn renumbered_nodes_give_the_renumbered_solution() {
    let (node_count, tets) = kuhn_tets([4, 3, 3]);
    let matrix = random_spd([4, 3, 3]);
    let renumber = |node: usize| (node * 37 + 11) % node_count;
    let renumbered: Vec<[u32; 4]> = tets.iter().map(|t| t.map(|node| renumber(node as usize) as u32)).collect();
    let pattern = Arc::new(BlockPattern::from_elements(node_count, &renumbered).unwrap());
    let mut other = BlockCsr::zeros(pattern);
    for row in 0..node_count {
        for slot in matrix.pattern().row(row) {
            let column = matrix.pattern().columns()[slot] as usize;
            other.add_block(renumber(row), renumber(column), &matrix.values()[slot]).unwrap();
        }
    }
    let b = random_vector(node_count, 5);
    let mut x = b.clone();
    SymbolicCholesky::new(matrix.pattern()).unwrap().factor(&matrix).unwrap().solve_in_place(&mut x).unwrap();
    let mut y = b.clone();
    for (node, value) in b.iter().enumerate() {
        y[renumber(node)] = *value;
    }
    SymbolicCholesky::new(other.pattern()).unwrap().factor(&other).unwrap().solve_in_place(&mut y).unwrap();
    // The same solution in another order of elimination.
    assert!((0..node_count).all(|node| (y[renumber(node)] - x[node]).norm() < 1e-10 * norm(&x)));
    // And in no particular order.
    let identity = Permutation::identity(node_count);
    let mut z = b.clone();
    let natural = SymbolicCholesky::with_permutation(matrix.pattern(), &identity).unwrap();
    natural.factor(&matrix).unwrap().solve_in_place(&mut z).unwrap();
    assert!((0..node_count).all(|node| (z[node] - x[node]).norm() < 1e-10 * norm(&x)));
    assert!(SymbolicCholesky::with_permutation(matrix.pattern(), &Permutation::identity(3)).is_err());
}

#[test]
fn indefinite_singular_and_undefined_matrices_are_refused() {
    for size in [[1, 1, 1], [6, 5, 5]] {
        let mut matrix = random_spd(size);
        let node = matrix.node_count() / 2;
        let mut cholesky = SymbolicCholesky::new(matrix.pattern()).unwrap().factor(&matrix).unwrap();
        let good = matrix.clone();
        // More than the whole row can compensate.
        matrix.add_diagonal(node, &Mat3::diagonal(Vec3::new(0.0, -1e3, 0.0)));
        let error = cholesky.refactor(&matrix).unwrap_err();
        let CholeskyError::NotPositiveDefinite { index } = error else { panic!("{error:?}") };
        assert!(index < 3 * matrix.node_count());
        assert!(!cholesky.is_factored());
        let mut x = random_vector(matrix.node_count(), 1);
        let before = x.clone();
        assert_eq!(cholesky.solve_in_place(&mut x), Err(CholeskyError::NotFactored));
        assert_eq!(x, before);

        matrix.add_diagonal(node, &Mat3::diagonal(Vec3::new(0.0, f64::NAN, 0.0)));
        assert_eq!(cholesky.refactor(&matrix), Err(CholeskyError::NotFinite { index: 3 * node + 1 }));

        matrix.set_zero();
        assert!(matches!(cholesky.refactor(&matrix), Err(CholeskyError::NotPositiveDefinite { .. })));
        cholesky.refactor(&good).unwrap();
        cholesky.solve_in_place(&mut x).unwrap();
        assert!(relative_residual(&good, &x, &before) < 1e-12);
    }
}

#[test]
fn slightly_indefinite_matrix_is_refused() {
    // Eigenvalues 1e-9 and −1e-9 of one pair of nodes differ only in a late pivot.
    let pattern = Arc::new(BlockPattern::from_elements(2, [[0u32, 1]]).unwrap());
    let symbolic = SymbolicCholesky::new(&pattern).unwrap();
    for (shift, is_definite) in [(1e-9, true), (-1e-9, false)] {
        let mut matrix = BlockCsr::zeros(pattern.clone());
        let block = Mat3::<f64>::identity();
        for (row, column) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            matrix.add_block(row, column, &block).unwrap();
        }
        matrix.add_diagonal(1, &(block * shift));
        assert_eq!(symbolic.factor(&matrix).is_ok(), is_definite);
    }
}

#[test]
fn wrong_lengths_and_patterns_are_reported() {
    let matrix = random_spd([1, 1, 1]);
    let other = random_spd([2, 1, 1]);
    let mut cholesky = SymbolicCholesky::new(matrix.pattern()).unwrap().factor(&matrix).unwrap();
    assert_eq!(cholesky.refactor(&other), Err(CholeskyError::PatternMismatch));
    let mut short = vec![Vec3::zero(); 2];
    assert_eq!(cholesky.solve_in_place(&mut short), Err(CholeskyError::LengthMismatch { expected: 24, actual: 6 }));
    let empty = Arc::new(BlockPattern::from_elements(0, Vec::<[u32; 1]>::new()).unwrap());
    let mut cholesky = SymbolicCholesky::new(&empty).unwrap().factor(&BlockCsr::<f64>::zeros(empty)).unwrap();
    assert_eq!(cholesky.solve_in_place(&mut []), Ok(()));
}

#[test]
fn scalar_matrices_are_factored_too() {
    // −u″ = 1 on n inner points with u = 0 at both ends: uᵢ = i (n + 1 − i) / 2 for unit spacing.
    let n = 500u32;
    let mut triplets: Vec<(u32, u32, f64)> = (0..n).map(|i| (i, i, 2.0)).collect();
    triplets.extend((1..n).map(|i| (i, i - 1, -0.5)));
    triplets.extend((1..n).map(|i| (i - 1, i, -0.5)));
    let matrix = SymmetricMatrix::from_triplets(n as usize, &triplets).unwrap();
    let mut cholesky = SymmetricCholesky::new(&matrix).unwrap();
    let mut x = vec![1.0; n as usize];
    cholesky.solve_in_place(&mut x).unwrap();
    for i in 1..=n {
        let exact = f64::from(i * (n + 1 - i)) / 2.0;
        // Condition number about n² / 2.5 = 1e5.
        assert!((x[i as usize - 1] - exact).abs() < 1e-10 * exact);
    }
    let mut product = vec![0.0; n as usize];
    matrix.multiply(&x, &mut product);
    assert!(product.iter().all(|p| (p - 1.0).abs() < 1e-9));

    let indefinite = SymmetricMatrix::from_triplets(2, &[(0, 0, 1.0), (1, 0, 2.0), (1, 1, 1.0)]).unwrap();
    assert!(matches!(SymmetricCholesky::new(&indefinite), Err(CholeskyError::NotPositiveDefinite { .. })));
    assert!(SymmetricMatrix::from_triplets(2, &[(0, 2, 1.0)]).is_err());
    let undefined = SymmetricMatrix::from_triplets(2, &[(0, 0, 1.0), (1, 1, f64::NAN)]).unwrap();
    assert_eq!(SymmetricCholesky::new(&undefined).unwrap_err(), CholeskyError::NotFinite { index: 1 });
}
