//! The product y = A x, the inner loop of conjugate gradients.
//!
//! A block row is read once, front to back; reading the values from the cache dominates the time. Three accumulators of
//! four lanes hold the products of the three matrix rows with x, component by component, and are summed across only at
//! the end of a block row. Multiplications and additions stay separate, so wide registers change the speed but not the
//! bits.

use crate::parallel::for_each_block_mut;
use crate::sparse::BlockPattern;
use crate::{Mat3, Real, Vec3};

/// Block rows per parallel block: about sixty microseconds of work for a tetrahedral mesh. With 512, a beam of 1,225
/// nodes was 25 % slower on two threads than on one, because waking a thread cost more than its share of the product.
const ROW_BLOCK: usize = 2048;

pub(super) fn multiply<S: Real>(pattern: &BlockPattern, values: &[Mat3<S>], x: &[Vec3<S>], y: &mut [Vec3<S>]) {
    assert_eq!(x.len(), pattern.node_count(), "one entry of x per node");
    assert_eq!(y.len(), pattern.node_count(), "one entry of y per node");
    for_each_block_mut(y, ROW_BLOCK, |first_row, y| multiply_rows_dispatched(pattern, values, x, first_row, y));
}

#[cfg(target_arch = "x86_64")]
fn multiply_rows_dispatched<S: Real>(
    pattern: &BlockPattern,
    values: &[Mat3<S>],
    x: &[Vec3<S>],
    first_row: usize,
    y: &mut [Vec3<S>],
) {
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the check above showed that the processor has AVX2; the function needs nothing else.
        unsafe { multiply_rows_avx2(pattern, values, x, first_row, y) };
    } else {
        multiply_rows(pattern, values, x, first_row, y);
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn multiply_rows_dispatched<S: Real>(
    pattern: &BlockPattern,
    values: &[Mat3<S>],
    x: &[Vec3<S>],
    first_row: usize,
    y: &mut [Vec3<S>],
) {
    multiply_rows(pattern, values, x, first_row, y);
}

/// [`multiply_rows`] compiled for 256-bit registers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn multiply_rows_avx2<S: Real>(
    pattern: &BlockPattern,
    values: &[Mat3<S>],
    x: &[Vec3<S>],
    first_row: usize,
    y: &mut [Vec3<S>],
) {
    multiply_rows(pattern, values, x, first_row, y);
}

/// Rows `first_row..first_row + y.len()` of the product.
#[inline(always)]
pub(super) fn multiply_rows<S: Real>(
    pattern: &BlockPattern,
    values: &[Mat3<S>],
    x: &[Vec3<S>],
    first_row: usize,
    y: &mut [Vec3<S>],
) {
    let zero = S::zero();
    for (k, result) in y.iter_mut().enumerate() {
        let slots = pattern.row(first_row + k);
        let mut sums = [[zero; 4]; 3];
        for (block, &column) in values[slots.clone()].iter().zip(&pattern.columns()[slots]) {
            let v = x[column as usize];
            // Four consecutive entries contain each row of three; the last row sits at the end of its four.
            let [a0, a1, a2, b0, b1, b2, c0, c1, c2] = *flat(block);
            let head = [v.x, v.y, v.z, zero];
            let tail = [zero, v.x, v.y, v.z];
            let rows = [([a0, a1, a2, b0], head), ([b0, b1, b2, c0], head), ([b2, c0, c1, c2], tail)];
            for i in 0..3 {
                for lane in 0..4 {
                    sums[i][lane] += rows[i].0[lane] * rows[i].1[lane];
                }
            }
        }
        let [a, b, c] = sums;
        *result = Vec3::new((a[0] + a[1]) + a[2], (b[0] + b[1]) + b[2], (c[1] + c[2]) + c[3]);
    }
}

/// The nine entries of a block, row by row.
#[inline(always)]
fn flat<S: Real>(block: &Mat3<S>) -> &[S; 9] {
    match block.rows.as_flattened().first_chunk() {
        Some(entries) => entries,
        None => unreachable!("a 3×3 matrix has nine entries"),
    }
}
