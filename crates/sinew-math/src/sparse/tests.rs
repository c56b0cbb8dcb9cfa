//! Block matrices against dense arithmetic, and the same bits for any number of threads.

use super::*;
use crate::parallel::tests::{noise, with_threads};

/// Tetrahedra of a box of n³ cells, six for each cell (Kuhn).
pub(crate) fn kuhn_tets(size: [usize; 3]) -> (usize, Vec<[u32; 4]>) {
    let [nx, ny, nz] = size.map(|n| n + 1);
    let index = |p: [usize; 3]| (p[0] + nx * (p[1] + ny * p[2])) as u32;
    let mut tets = Vec::new();
    for z in 0..size[2] {
        for y in 0..size[1] {
            for x in 0..size[0] {
                for axes in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
                    let mut corner = [x, y, z];
                    let mut tet = [index(corner); 4];
                    for (k, axis) in axes.into_iter().enumerate() {
                        corner[axis] += 1;
                        tet[k + 1] = index(corner);
                    }
                    tets.push(tet);
                }
            }
        }
    }
    (nx * ny * nz, tets)
}

/// A symmetric positive definite element matrix B Bᵀ + small diagonal, with B from a hash of the element.
pub(crate) fn element_blocks(element: usize) -> [Mat3; 16] {
    let b: [Mat3; 4] = std::array::from_fn(|k| {
        Mat3::new(std::array::from_fn(|i| std::array::from_fn(|j| noise(36 * element + 9 * k + 3 * i + j) - 0.5)))
    });
    std::array::from_fn(|p| {
        let (row, column) = (p / 4, p % 4);
        let product = b[row].mul_transpose(&b[column]);
        if row == column { product + Mat3::identity() * 0.01 } else { product }
    })
}

/// A positive definite matrix on a mesh of tetrahedra.
pub(crate) fn random_spd(size: [usize; 3]) -> BlockCsr<f64> {
    let (node_count, tets) = kuhn_tets(size);
    let pattern = Arc::new(BlockPattern::from_elements(node_count, &tets).unwrap());
    let plan = pattern.scatter_plan(&tets).unwrap();
    let mut matrix = BlockCsr::zeros(pattern);
    matrix.assemble(&plan, |elements, writer| {
        for element in elements {
            writer.add_all(element, &element_blocks(element));
        }
    });
    matrix
}

pub(crate) fn random_vector(length: usize, seed: usize) -> Vec<Vec3> {
    (0..length)
        .map(|i| Vec3::new(noise(3 * i + seed), noise(3 * i + 1 + seed), noise(3 * i + 2 + seed)) - Vec3::splat(0.5))
        .collect()
}

#[test]
fn pattern_lists_each_pair_of_an_element_once_and_sorted() {
    let pattern = BlockPattern::from_elements(5, [[3u32, 0, 2], [2, 3, 4]]).unwrap();
    assert_eq!(pattern.row_offsets(), &[0, 3, 4, 8, 12, 15]);
    assert_eq!(pattern.columns(), &[0, 2, 3, 1, 0, 2, 3, 4, 0, 2, 3, 4, 2, 3, 4]);
    assert_eq!((0..5).map(|n| pattern.diagonal_slot(n)).collect::<Vec<_>>(), [0, 3, 5, 10, 14]);
    assert_eq!(pattern.slot(3, 4), Some(11));
    assert_eq!(pattern.slot(0, 4), None);
    assert_eq!(pattern.slot(7, 0), None);
}

#[test]
fn wrong_nodes_are_reported() {
    let error = BlockPattern::from_elements(3, [[0u32, 1], [2, 3]]).unwrap_err();
    assert_eq!(error, SparseError::Plan(PlanError::IndexOutOfRange { element: 1, index: 3, length: 3 }));
    let pattern = BlockPattern::from_elements(3, [[0u32, 1]]).unwrap();
    let error = pattern.scatter_plan([[0u32, 1], [1, 2]]).unwrap_err();
    assert_eq!(error, SparseError::NotInPattern { row: 1, column: 2, node_count: 3 });
    let mut matrix = BlockCsr::<f64>::zeros(Arc::new(pattern));
    assert!(matrix.add_block(2, 0, &Mat3::identity()).is_err());
    assert!(matrix.add_block(0, 1, &Mat3::identity()).is_ok());
}

#[test]
fn assembled_matrix_equals_the_sum_over_elements() {
    let (node_count, tets) = kuhn_tets([3, 2, 2]);
    let matrix = random_spd([3, 2, 2]);
    let size = 3 * node_count;
    let mut dense = vec![0.0; size * size];
    for (e, tet) in tets.iter().enumerate() {
        let blocks = element_blocks(e);
        for p in 0..16 {
            for i in 0..3 {
                for j in 0..3 {
                    dense[(3 * tet[p / 4] as usize + i) * size + 3 * tet[p % 4] as usize + j] += blocks[p].rows[i][j];
                }
            }
        }
    }
    // Up to 24 terms of order one in another order.
    assert!(matrix.to_dense().iter().zip(&dense).all(|(a, b)| (a - b).abs() < 1e-13));
    assert!(matrix.asymmetry() < 1e-15);
}

#[test]
fn assembly_and_product_have_the_same_bits_for_any_number_of_threads() {
    let run = |threads| {
        with_threads(threads, || {
            let matrix = random_spd([14, 9, 9]);
            let x = random_vector(matrix.node_count(), 5);
            let mut y = vec![Vec3::zero(); x.len()];
            matrix.multiply(&x, &mut y);
            (matrix.values().to_vec(), y)
        })
    };
    let one = run(1);
    assert!(one.1.len() > 2 * 512, "the matrix must span several parallel blocks");
    assert_eq!(one, run(2));
    assert_eq!(one, run(3));
}

#[test]
fn product_equals_dense_product_in_both_precisions() {
    let matrix = random_spd([2, 3, 2]);
    let x = random_vector(matrix.node_count(), 9);
    let dense = matrix.to_dense();
    let size = 3 * x.len();
    let expected: Vec<f64> =
        (0..size).map(|i| (0..size).map(|j| dense[i * size + j] * x[j / 3][j % 3]).sum()).collect();
    let mut y = vec![Vec3::zero(); x.len()];
    matrix.multiply(&x, &mut y);
    let mut single = BlockCsr::<f32>::zeros(matrix.pattern().clone());
    single.copy_from(&matrix);
    let x32: Vec<Vec3<f32>> = x.iter().map(|v| v.map(|c| c as f32)).collect();
    let mut y32 = vec![Vec3::zero(); x.len()];
    single.multiply(&x32, &mut y32);
    for i in 0..size {
        // About 45 products of order one in each sum: 1e-14 in f64, 1e-5 in f32.
        assert!((y[i / 3][i % 3] - expected[i]).abs() < 1e-14);
        assert!((f64::from(y32[i / 3][i % 3]) - expected[i]).abs() < 1e-5);
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn wide_registers_change_no_bit_of_the_product() {
    let matrix = random_spd([4, 3, 3]);
    let x = random_vector(matrix.node_count(), 1);
    let mut wide = vec![Vec3::zero(); x.len()];
    let mut narrow = wide.clone();
    matrix.multiply(&x, &mut wide);
    product::multiply_rows(&matrix.pattern, &matrix.values, &x, 0, &mut narrow);
    assert_eq!(wide, narrow);
}

#[test]
fn scaling_and_diagonals_act_on_the_right_entries() {
    let mut matrix = random_spd([1, 1, 1]);
    let before = matrix.to_dense();
    let copy = matrix.clone();
    matrix.scale(2.0);
    matrix.add_scaled(&copy, -1.0);
    matrix.add_diagonal(3, &Mat3::identity());
    let after = matrix.to_dense();
    for i in 0..24 {
        for j in 0..24 {
            let expected = before[i * 24 + j] + f64::from(u8::from(i == j && i / 3 == 3));
            // Doubling and subtracting are exact.
            assert_eq!(after[i * 24 + j], expected);
        }
    }
    assert_eq!(matrix.diagonal_blocks().len(), 8);
    assert_eq!(matrix.block(3, 3), Some(matrix.diagonal_block(3)));
    matrix.set_zero();
    assert!(matrix.to_dense().iter().all(|&entry| entry == 0.0));
}

#[test]
fn the_lower_triangle_tells_the_whole_matrix() {
    let matrix = random_spd([4, 3, 3]);
    let mut lower = matrix.clone();
    for row in 0..matrix.node_count() {
        for slot in matrix.pattern().diagonal_slot(row) + 1..matrix.pattern().row(row).end {
            lower.values_mut()[slot] = Mat3::zero();
        }
    }
    let x = random_vector(matrix.node_count(), 3);
    let (mut expected, mut found) = (x.clone(), x.clone());
    matrix.multiply(&x, &mut expected);
    lower.multiply_lower(&x, &mut found);
    assert!(expected.iter().zip(&found).all(|(a, b)| (*a - *b).norm() < 1e-12));
    lower.mirror_lower();
    assert_eq!(lower.asymmetry(), 0.0);
    lower.multiply(&x, &mut found);
    assert!(expected.iter().zip(&found).all(|(a, b)| (*a - *b).norm() < 1e-12));
}
