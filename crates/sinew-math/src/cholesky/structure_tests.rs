//! Factors of patterns of every shape; the same bits for any number of threads and at every instruction-set level.

use super::*;
use crate::krylov::norm;
use crate::lanes::IsaLevel;
use crate::parallel::tests::{noise, with_threads};
use crate::sparse::tests::{random_spd, random_vector};

/// A matrix of random blocks on the edges of a graph, made definite by its diagonal.
fn matrix_of_edges(node_count: usize, edges: &[[u32; 2]]) -> BlockCsr {
    let pattern = Arc::new(BlockPattern::from_elements(node_count, edges).unwrap());
    let mut matrix = BlockCsr::zeros(pattern);
    for (k, &[i, j]) in edges.iter().enumerate() {
        let (i, j) = (i as usize, j as usize);
        let block = Mat3::new(std::array::from_fn(|a| std::array::from_fn(|b| noise(9 * k + 3 * a + b) - 0.5)));
        matrix.add_block(i, j, &block).unwrap();
        matrix.add_block(j, i, &block.transpose()).unwrap();
        // Each row of the block sums to at most 1.5.
        for node in [i, j] {
            matrix.add_diagonal(node, &(Mat3::identity() * 1.5));
        }
    }
    for node in 0..node_count {
        let full = Mat3::new([[0.5, 0.1, 0.0], [0.1, 0.6, -0.2], [0.0, -0.2, 0.7]]);
        matrix.add_diagonal(node, &full);
    }
    matrix
}

/// Patterns that make long chains, wide fronts, many children, several roots, and nothing at all.
fn shapes() -> Vec<(&'static str, BlockCsr)> {
    let all_pairs = |n: u32| (0..n).flat_map(|i| (0..i).map(move |j| [j, i])).collect::<Vec<_>>();
    let near =
        |n: u32, band: u32| (0..n).flat_map(|i| (i.saturating_sub(band)..i).map(move |j| [j, i])).collect::<Vec<_>>();
    let arrow: Vec<[u32; 2]> = (1..200).map(|i| [0, i]).collect();
    let parts: Vec<[u32; 2]> =
        (0..40).flat_map(|p| all_pairs(1 + p % 7).into_iter().map(move |e| e.map(|i| i + 7 * p))).collect();
    let scattered: Vec<[u32; 2]> = (0..300usize)
        .map(|k| [noise(2 * k), noise(2 * k + 1)].map(|x| (x * 150.0) as u32))
        .filter(|[i, j]| i != j)
        .collect();
    vec![
        ("one node", matrix_of_edges(1, &[])),
        ("no edges", matrix_of_edges(9, &[])),
        ("chain", matrix_of_edges(700, &near(700, 1))),
        ("band", matrix_of_edges(250, &near(250, 9))),
        ("arrow", matrix_of_edges(200, &arrow)),
        ("dense", matrix_of_edges(110, &all_pairs(110))),
        ("parts", matrix_of_edges(280, &parts)),
        ("scattered", matrix_of_edges(150, &scattered)),
        ("box", random_spd([7, 6, 5])),
    ]
}

fn relative_residual<S: FactorReal>(matrix: &BlockCsr, x: &[Vec3<S>], b: &[Vec3]) -> f64 {
    let x: Vec<Vec3> = x.iter().map(|v| v.to_f64()).collect();
    let mut product = vec![Vec3::zero(); b.len()];
    matrix.multiply(&x, &mut product);
    let difference: Vec<Vec3> = product.iter().zip(b).map(|(p, b)| *p - *b).collect();
    norm(&difference) / norm(b)
}

fn check_residuals<S: FactorReal>(matrix: &BlockCsr, tolerance: f64, name: &str) {
    let mut rounded = BlockCsr::<S>::zeros(matrix.pattern().clone());
    rounded.copy_from(matrix);
    let node_count = matrix.node_count();
    let backward: Vec<u32> = (0..node_count as u32).rev().collect();
    let orders = [
        nested_dissection(&matrix.pattern().graph().unwrap()),
        Permutation::identity(node_count),
        Permutation::new(backward).unwrap(),
    ];
    for order in &orders {
        let symbolic = SymbolicCholesky::with_permutation(matrix.pattern(), order).unwrap();
        let mut factor = symbolic.factor(&rounded).unwrap();
        // Single vectors, full groups of them, and groups with a rest.
        for count in [1, 3, 4, 9] {
            let right: Vec<Vec<Vec3>> = (0..count).map(|k| random_vector(node_count, 100 * k)).collect();
            let mut columns: Vec<Vec<Vec3<S>>> =
                right.iter().map(|b| b.iter().map(|v| v.map(S::from_f64)).collect()).collect();
            factor.solve_columns_in_place(&mut columns).unwrap();
            for (x, b) in columns.iter().zip(&right) {
                let residual = relative_residual(matrix, x, b);
                assert!(residual < tolerance, "{name}, {count} vectors: {residual:e}");
            }
        }
    }
}

#[test]
fn every_shape_of_pattern_is_solved_to_rounding() {
    for (name, matrix) in shapes() {
        check_residuals::<f64>(&matrix, 1e-13, name);
        check_residuals::<f32>(&matrix, 1e-5, name);
    }
}

/// A pivot is its diagonal entry minus squares, and depends on no later one: the first that fails is the one that was
/// made negative, whatever the order.
#[test]
fn the_unknown_of_the_first_bad_pivot_is_named() {
    for (name, good) in shapes() {
        let symbolic = SymbolicCholesky::new(good.pattern()).unwrap();
        let mut factor = symbolic.factor(&good).unwrap();
        for node in (0..good.node_count()).step_by(good.node_count().div_ceil(12)) {
            let axis = node % 3;
            let mut bad = good.clone();
            let mut pull = Vec3::zero();
            pull[axis] = -1e4;
            bad.add_diagonal(node, &Mat3::diagonal(pull));
            let expected = CholeskyError::NotPositiveDefinite { index: 3 * node + axis };
            assert_eq!(factor.refactor(&bad), Err(expected), "{name}");
        }
        assert_eq!(factor.refactor(&good), Ok(()));
    }
}

fn bits<S: FactorReal>(vectors: &[Vec<Vec3<S>>]) -> Vec<u64> {
    vectors.iter().flatten().flat_map(|v| v.to_array()).map(|x| x.to_f64().to_bits()).collect()
}

#[test]
fn one_thread_and_many_give_the_same_bits_and_the_same_error() {
    let matrix = random_spd([14, 7, 7]);
    let symbolic = SymbolicCholesky::new(matrix.pattern()).unwrap();
    assert!(symbolic.symbolic.tasks.forks.len() > 1, "large enough to be shared");
    let mut bad = matrix.clone();
    for node in [5, 200, 400, 600, 900] {
        bad.add_diagonal(node, &(Mat3::identity() * -1e4));
    }
    let results: Vec<_> = [1, 2, 5]
        .map(|threads| {
            with_threads(threads, || {
                let mut factor = symbolic.factor(&matrix).unwrap();
                let mut columns = vec![random_vector(matrix.node_count(), 3)];
                factor.solve_columns_in_place(&mut columns).unwrap();
                (bits(&columns), factor.refactor(&bad))
            })
        })
        .into();
    assert!(results[0].1.is_err());
    assert!(results[0] == results[1] && results[0] == results[2]);
}

fn check_levels<S: FactorReal>() {
    // A front of 160 columns is factored in halves, others in one go; the box has updates of all sizes.
    let dense: Vec<[u32; 2]> = (0..54).flat_map(|i| (0..i).map(move |j| [j, i])).collect();
    for matrix in [matrix_of_edges(54, &dense), random_spd([4, 4, 3])] {
        let mut rounded = BlockCsr::<S>::zeros(matrix.pattern().clone());
        rounded.copy_from(&matrix);
        let symbolic = SymbolicCholesky::new(matrix.pattern()).unwrap();
        let solve_at = |level| {
            let mut factor = symbolic.prepare::<S>().unwrap();
            factor.factor.level = level;
            factor.refactor(&rounded).unwrap();
            let column = |k| random_vector(matrix.node_count(), k).iter().map(|v| v.map(S::from_f64)).collect();
            let mut columns: Vec<Vec<Vec3<S>>> = (0..5).map(column).collect();
            factor.solve_columns_in_place(&mut columns).unwrap();
            bits(&columns)
        };
        let expected = solve_at(IsaLevel::Scalar);
        for level in IsaLevel::ALL.into_iter().filter(|level| level.is_available()) {
            assert!(solve_at(level) == expected, "{level}");
        }
    }
}

#[test]
fn every_instruction_set_gives_the_same_bits() {
    check_levels::<f64>();
    check_levels::<f32>();
}
