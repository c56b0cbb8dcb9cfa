//! Sums and updates of nodal vectors, in `f64` and with the same bits for any number of threads.

use crate::parallel::{SUM_BLOCK, for_each_block_mut, sum_blocks};
use crate::{Real, Vec3};

/// Σ aᵢ · bᵢ, products and sums in `f64` even for `f32` vectors.
///
/// # Panics
/// When the vectors have different lengths.
pub fn dot<S: Real>(a: &[Vec3<S>], b: &[Vec3<S>]) -> f64 {
    assert_eq!(a.len(), b.len(), "vectors must have equal lengths");
    sum_blocks(a.len(), |block| dot_block(&a[block.clone()], &b[block]))
}

/// √(Σ aᵢ · aᵢ), summed as in [`dot`].
pub fn norm<S: Real>(a: &[Vec3<S>]) -> f64 {
    dot(a, a).sqrt()
}

/// y += factor · x.
///
/// # Panics
/// When the vectors have different lengths.
pub fn add_scaled<S: Real>(y: &mut [Vec3<S>], factor: S, x: &[Vec3<S>]) {
    for_each_block_mut((y, x), SUM_BLOCK, |_, (y, x)| {
        for (y, x) in y.iter_mut().zip(x) {
            *y += *x * factor;
        }
    });
}

/// Σ aᵢ · bᵢ over one block, serially.
///
/// Twelve partial sums, one per component of four consecutive nodes. They are adjacent in memory, so the compiler can
/// load, convert and add them in wide registers without changing the order of any sum.
#[inline]
pub fn dot_block<S: Real>(a: &[Vec3<S>], b: &[Vec3<S>]) -> f64 {
    let mut partial = [0.0; 12];
    let (a_fours, a_rest) = a.as_chunks::<4>();
    let (b_fours, b_rest) = b.as_chunks::<4>();
    for (a, b) in a_fours.iter().zip(b_fours) {
        let a: [S; 12] = std::array::from_fn(|lane| a[lane / 3].to_array()[lane % 3]);
        let b: [S; 12] = std::array::from_fn(|lane| b[lane / 3].to_array()[lane % 3]);
        for lane in 0..12 {
            partial[lane] += a[lane].to_f64() * b[lane].to_f64();
        }
    }
    for (node, (a, b)) in a_rest.iter().zip(b_rest).enumerate() {
        let (a, b) = (a.to_array(), b.to_array());
        for axis in 0..3 {
            partial[3 * node + axis] += a[axis].to_f64() * b[axis].to_f64();
        }
    }
    let halves: [f64; 6] = std::array::from_fn(|lane| partial[lane] + partial[lane + 6]);
    (halves[0] + halves[3]) + (halves[1] + halves[4]) + (halves[2] + halves[5])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel::tests::with_threads;
    use crate::sparse::tests::random_vector;

    #[test]
    fn single_precision_vectors_are_summed_in_double_precision() {
        // 1 + n ε₃₂ is exact in f64, while an f32 sum of such terms would stay at the first.
        let a = vec![Vec3::new(1.0f32, 0.0, 0.0); 20_000_000 / 1000];
        let b = vec![Vec3::new(1.0f32 + f32::EPSILON, 0.0, 0.0); a.len()];
        assert_eq!(dot(&a, &b), a.len() as f64 * (1.0 + f64::from(f32::EPSILON)));
    }

    #[test]
    fn dot_product_has_the_same_bits_for_any_number_of_threads() {
        let (a, b) = (random_vector(30_000, 1), random_vector(30_000, 99));
        let one = with_threads(1, || dot(&a, &b));
        assert_eq!(one.to_bits(), with_threads(2, || dot(&a, &b)).to_bits());
        let mut y = a.clone();
        with_threads(2, || add_scaled(&mut y, 2.0, &b));
        assert!((0..y.len()).all(|i| y[i] == a[i] + b[i] * 2.0));
    }
}
