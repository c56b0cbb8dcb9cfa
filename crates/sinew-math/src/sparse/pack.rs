//! Adds the element matrices of eight cells, stored in lanes, to the matrix.
//!
//! Kernels hold one entry of eight cells in a register; the matrix needs the nine entries of one cell side by side. A
//! scalar transpose would take as long as the kernel itself, so it uses register shuffles where the processor has them.

use crate::parallel::ChunkWriter;
#[cfg(target_arch = "x86_64")]
use crate::sparse::shuffle;
use crate::{Mat3, Real};

/// Cells per pack.
const PACK: usize = 8;

/// Precision of a matrix that receives packs of cells.
pub trait PackReal: Real {
    /// Adds `entries[9 · pair + entry][cell]` of eight cells: the block of pair p of cell c goes to slot 8 p + c of
    /// `element`, rounded to this precision.
    ///
    /// # Panics
    /// When `element` is not in the writer's chunk, or does not have eight slots per nine entries.
    fn add_pack(writer: &mut ChunkWriter<'_, Mat3<Self>>, element: usize, entries: &[[f64; PACK]]) {
        let (blocks, rest) = entries.as_chunks::<9>();
        assert!(rest.is_empty(), "blocks must have nine entries");
        for (pair, block) in blocks.iter().enumerate() {
            writer.add_run(element, PACK * pair, &transpose(block));
        }
    }
}

impl PackReal for f64 {}

impl PackReal for f32 {
    #[cfg(target_arch = "x86_64")]
    fn add_pack(writer: &mut ChunkWriter<'_, Mat3<f32>>, element: usize, entries: &[[f64; PACK]]) {
        let (blocks, rest) = entries.as_chunks::<9>();
        assert!(rest.is_empty(), "blocks must have nine entries");
        let has_avx2 = std::arch::is_x86_feature_detected!("avx2");
        for (pair, block) in blocks.iter().enumerate() {
            if has_avx2 {
                // SAFETY: the check above showed that the processor has AVX2.
                unsafe { add_avx2(writer, element, PACK * pair, block) };
            } else {
                writer.add_run(element, PACK * pair, &transpose(block));
            }
        }
    }
}

/// The blocks of the eight cells.
#[inline(always)]
fn transpose<S: Real>(block: &[[f64; PACK]; 9]) -> [Mat3<S>; PACK] {
    std::array::from_fn(|cell| {
        let entry = |e: usize| S::from_f64(block[e][cell]);
        Mat3::new(std::array::from_fn(|i| std::array::from_fn(|j| entry(3 * i + j))))
    })
}

/// Adds the blocks of the eight cells to `targets` in f32, with the same sums as [`transpose`] and a plain addition.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn add_avx2(writer: &mut ChunkWriter<'_, Mat3<f32>>, element: usize, first: usize, block: &[[f64; PACK]; 9]) {
    use std::arch::x86_64::*;

    let row = |e: usize| {
        // SAFETY: each row holds eight f64, four at each address.
        let (low, high) = unsafe { (_mm256_loadu_pd(block[e].as_ptr()), _mm256_loadu_pd(block[e].as_ptr().add(4))) };
        _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low))
    };
    let cells = shuffle::transpose([row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7)]);
    for (cell, lanes) in cells.into_iter().enumerate() {
        let target = writer.entry(element, first + cell).rows.as_flattened_mut();
        let place = target.as_mut_ptr();
        // SAFETY: a block has nine entries, of which these are the first eight.
        unsafe { _mm256_storeu_ps(place, _mm256_add_ps(_mm256_loadu_ps(place), lanes)) };
        target[8] += block[8][cell] as f32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel::ScatterPlan;
    use crate::parallel::tests::noise;

    fn added<S: PackReal>(entries: &[[f64; PACK]], slots: &[u32]) -> Vec<Mat3<S>> {
        let plan = ScatterPlan::new(30, [slots]).unwrap();
        let mut target = vec![Mat3::zero(); 30];
        plan.for_each_chunk(&mut target, |elements, writer| {
            for element in elements {
                S::add_pack(writer, element, entries);
            }
        });
        target
    }

    #[test]
    fn each_entry_reaches_its_place_in_both_precisions() {
        let entries: Vec<[f64; PACK]> = (0..18).map(|e| std::array::from_fn(|cell| noise(8 * e + cell))).collect();
        // Two pairs of eight cells; slot 5 is used twice.
        let slots: Vec<u32> = (0..16).map(|k| if k == 9 { 5 } else { 29 - k }).collect();
        let (single, double) = (added::<f32>(&entries, &slots), added::<f64>(&entries, &slots));
        let mut expected = vec![Mat3::<f64>::zero(); 30];
        for (k, &slot) in slots.iter().enumerate() {
            for e in 0..9 {
                expected[slot as usize].rows[e / 3][e % 3] += entries[9 * (k / 8) + e][k % 8];
            }
        }
        for slot in 0..30 {
            assert_eq!(double[slot], expected[slot]);
            assert!((single[slot].to_f64() - expected[slot]).norm() < 1e-6);
        }
    }
}
