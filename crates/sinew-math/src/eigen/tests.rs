//! Chains and grids of springs, whose frequencies are known in closed form.

use std::f64::consts::PI;
use std::sync::Arc;

use super::*;
use crate::parallel::tests::with_threads;
use crate::sparse::BlockPattern;

/// Springs along the edges of a box of nodes, equally stiff in all directions of motion up to the factors in
/// `stiffness`.
///
/// `is_fixed` attaches the outer nodes to walls by the same springs (as if the next nodes outside did not move).
fn grid_of_springs(size: [usize; 3], stiffness: Vec3, is_fixed: bool) -> BlockCsr<f64> {
    let index = |p: [usize; 3]| p[0] + size[0] * (p[1] + size[1] * p[2]);
    let block = Mat3::diagonal(stiffness);
    let mut springs: Vec<[u32; 2]> = Vec::new();
    let mut walls: Vec<usize> = Vec::new();
    for z in 0..size[2] {
        for y in 0..size[1] {
            for x in 0..size[0] {
                for axis in 0..3 {
                    let here = [x, y, z];
                    let mut next = here;
                    next[axis] += 1;
                    if next[axis] < size[axis] {
                        springs.push([index(here) as u32, index(next) as u32]);
                    } else if size[axis] > 1 {
                        walls.push(index(here));
                    }
                    if here[axis] == 0 && size[axis] > 1 {
                        walls.push(index(here));
                    }
                }
            }
        }
    }
    let pattern = Arc::new(BlockPattern::from_elements(size.iter().product(), &springs).unwrap());
    let mut matrix = BlockCsr::zeros(pattern);
    for [a, b] in springs.into_iter().map(|s| s.map(|n| n as usize)) {
        for (row, column, sign) in [(a, a, 1.0), (b, b, 1.0), (a, b, -1.0), (b, a, -1.0)] {
            matrix.add_block(row, column, &(block * sign)).unwrap();
        }
    }
    if is_fixed {
        walls.into_iter().for_each(|node| matrix.add_diagonal(node, &block));
    }
    matrix
}

/// 4 sin²(j π / (2 (n + 1))): eigenvalue j = 1 … n of the second difference with fixed ends.
fn fixed_chain(j: usize, n: usize) -> f64 {
    4.0 * (j as f64 * PI / (2.0 * (n + 1) as f64)).sin().powi(2)
}

#[test]
fn chain_between_walls_has_its_known_frequencies() {
    let (n, k, m) = (60, Vec3::new(100.0, 40.0, 7.0), 0.25);
    let matrix = grid_of_springs([n, 1, 1], k, true);
    let mut expected: Vec<f64> = (1..=n).flat_map(|j| k.to_array().map(|k| k / m * fixed_chain(j, n))).collect();
    expected.sort_by(f64::total_cmp);
    let result = lowest_modes(&matrix, &vec![m; n], &EigenParams { count: 12, ..EigenParams::default() }).unwrap();
    for (value, exact) in result.eigenvalues.iter().zip(&expected) {
        // Quadratic in the tolerance of 1e-7, plus rounding times the condition number of 2e4.
        assert!((value / exact - 1.0).abs() < 1e-11, "{value} {exact}");
    }
    // The lowest mode moves along z (the softest spring) like sin(i π / (n + 1)), scaled to φᵀM φ = 1.
    let scale = (2.0 / (m * (n + 1) as f64)).sqrt();
    for (i, v) in result.modes[0].iter().enumerate() {
        let exact = scale * ((i + 1) as f64 * PI / (n + 1) as f64).sin();
        assert!((v.z - exact).abs() < 1e-6 && v.x.abs() < 1e-6 && v.y.abs() < 1e-6);
    }
}

#[test]
fn repeated_frequencies_of_a_cube_are_all_found() {
    let n = 6;
    let matrix = grid_of_springs([n, n, n], Vec3::splat(3.0), true);
    let mut expected = Vec::new();
    for i in 1..=n {
        for j in 1..=n {
            for k in 1..=n {
                let value = 3.0 / 2.0 * (fixed_chain(i, n) + fixed_chain(j, n) + fixed_chain(k, n));
                expected.extend([value; 3]);
            }
        }
    }
    expected.sort_by(f64::total_cmp);
    let params = EigenParams { count: 20, ..EigenParams::default() };
    let result = lowest_modes(&matrix, &vec![2.0; n * n * n], &params).unwrap();
    for (value, exact) in result.eigenvalues.iter().zip(&expected) {
        assert!((value / exact - 1.0).abs() < 1e-11, "{value} {exact}");
    }
    for (k, a) in result.modes.iter().enumerate() {
        for (l, b) in result.modes.iter().enumerate() {
            let product: f64 = a.iter().zip(b).map(|(a, b)| 2.0 * a.dot(*b)).sum();
            assert!((product - f64::from(u8::from(k == l))).abs() < 1e-11);
        }
    }
    assert!(result.residuals.iter().all(|&r| r <= params.tolerance));
}

#[test]
fn free_chain_has_rigid_modes_and_needs_a_shift() {
    let n = 40;
    let matrix = grid_of_springs([n, 1, 1], Vec3::splat(1.0), false);
    let mass = vec![1.0; n];
    let error = lowest_modes(&matrix, &mass, &EigenParams { count: 5, ..EigenParams::default() }).unwrap_err();
    assert!(matches!(error, EigenError::Factorization(CholeskyError::NotPositiveDefinite { .. })), "{error}");
    let params = EigenParams { count: 9, shift: 0.01, ..EigenParams::default() };
    let result = lowest_modes(&matrix, &mass, &params).unwrap();
    for (k, value) in result.eigenvalues.iter().enumerate() {
        // Fixed chain of n − 1 springs: 4 sin²(j π / (2 n)), three times each, from j = 0.
        let exact = if k < 3 { 0.0 } else { fixed_chain(k / 3, n - 1) };
        assert!((value - exact).abs() < 1e-12, "{value} {exact}");
    }
}

#[test]
fn all_modes_of_a_small_system_can_be_asked_for() {
    let matrix = grid_of_springs([2, 1, 1], Vec3::new(1.0, 2.0, 3.0), true);
    let result = lowest_modes(&matrix, &[1.0; 2], &EigenParams { count: 6, ..EigenParams::default() }).unwrap();
    for (value, exact) in result.eigenvalues.iter().zip([1.0, 2.0, 3.0, 3.0, 6.0, 9.0]) {
        assert!((value - exact).abs() < 1e-12);
    }
}

#[test]
fn modes_have_the_same_bits_for_any_number_of_threads() {
    let matrix = grid_of_springs([20, 4, 4], Vec3::new(1.0, 2.0, 4.0), true);
    let mass: Vec<f64> = (0..matrix.node_count()).map(|i| 1.0 + (i % 7) as f64).collect();
    let params = EigenParams { count: 4, tolerance: 1e-5, ..EigenParams::default() };
    let run = |threads| with_threads(threads, || lowest_modes(&matrix, &mass, &params).unwrap());
    let (one, two) = (run(1), run(2));
    assert_eq!(one.eigenvalues, two.eigenvalues);
    assert_eq!(one.modes, two.modes);
}

#[test]
fn wrong_input_is_reported() {
    let matrix = grid_of_springs([3, 1, 1], Vec3::splat(1.0), true);
    let params = EigenParams { count: 2, ..EigenParams::default() };
    assert_eq!(
        lowest_modes(&matrix, &[1.0, -1.0, 1.0], &params).unwrap_err(),
        EigenError::BadMass { node: 1, mass: -1.0 }
    );
    assert!(matches!(lowest_modes(&matrix, &[1.0], &params), Err(EigenError::SizeMismatch { .. })));
    let many = EigenParams { count: 10, ..params };
    assert!(matches!(lowest_modes(&matrix, &[1.0; 3], &many), Err(EigenError::SizeMismatch { .. })));
    let hopeless = EigenParams { count: 1, tolerance: 0.0, max_iterations: 2, ..params };
    assert!(matches!(lowest_modes(&matrix, &[1.0; 3], &hopeless), Err(EigenError::NotConverged { iterations: 2, .. })));
}
