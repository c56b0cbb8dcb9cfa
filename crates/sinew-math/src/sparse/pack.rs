//! Element matrices of eight cells at once, from lanes into the matrix.
//!
//! Kernels hold one entry of eight cells in a register; the matrix wants the nine entries of one cell side by side. The transpose in
//! between is as long as the kernel itself when done number by number, so it is done by shuffles of registers where the processor has them.

use crate::parallel::ChunkWriter;
use crate::{Mat3, Real};

/// Cells per pack.
const PACK: usize = 8;

/// Adds `entries[9 · pair + entry][cell]` of eight cells: the block of pair p of cell c goes to slot 8 p + c of `element`, rounded to the
/// precision of the matrix.
///
/// # Panics
/// When `element` is not of the writer's chunk, or does not have eight slots for each nine entries.
pub fn add_pack<S: Real>(writer: &mut ChunkWriter<'_, Mat3<S>>, element: usize, entries: &[[f64; PACK]]) {
    let (blocks, rest) = entries.as_chunks::<9>();
    assert!(rest.is_empty(), "blocks have nine entries");
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        for (pair, block) in blocks.iter().enumerate() {
            // SAFETY: the processor has AVX2, as just asked.
            let matrices = unsafe { transpose_avx2::<S>(block) };
            writer.add_run(element, PACK * pair, &matrices);
        }
        return;
    }
    for (pair, block) in blocks.iter().enumerate() {
        writer.add_run(element, PACK * pair, &transpose(block));
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

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn transpose_avx2<S: Real>(block: &[[f64; PACK]; 9]) -> [Mat3<S>; PACK] {
    use std::arch::x86_64::*;

    if S::EPSILON.to_f64() != f64::from(f32::EPSILON) {
        return transpose(block);
    }
    let mut out: [Mat3<S>; PACK] = [Mat3::zero(); PACK];
    let row = |e: usize| {
        // SAFETY: each row holds eight f64, four at each address.
        let (low, high) = unsafe { (_mm256_loadu_pd(block[e].as_ptr()), _mm256_loadu_pd(block[e].as_ptr().add(4))) };
        _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low))
    };
    let r: [__m256; 8] = [row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7)];
    // Pairs, then fours, then eights.
    let t: [__m256; 8] = [
        _mm256_unpacklo_ps(r[0], r[1]),
        _mm256_unpackhi_ps(r[0], r[1]),
        _mm256_unpacklo_ps(r[2], r[3]),
        _mm256_unpackhi_ps(r[2], r[3]),
        _mm256_unpacklo_ps(r[4], r[5]),
        _mm256_unpackhi_ps(r[4], r[5]),
        _mm256_unpacklo_ps(r[6], r[7]),
        _mm256_unpackhi_ps(r[6], r[7]),
    ];
    let u: [__m256; 8] = [
        _mm256_shuffle_ps::<0x44>(t[0], t[2]),
        _mm256_shuffle_ps::<0xee>(t[0], t[2]),
        _mm256_shuffle_ps::<0x44>(t[1], t[3]),
        _mm256_shuffle_ps::<0xee>(t[1], t[3]),
        _mm256_shuffle_ps::<0x44>(t[4], t[6]),
        _mm256_shuffle_ps::<0xee>(t[4], t[6]),
        _mm256_shuffle_ps::<0x44>(t[5], t[7]),
        _mm256_shuffle_ps::<0xee>(t[5], t[7]),
    ];
    for k in 0..4 {
        let first = _mm256_permute2f128_ps::<0x20>(u[k], u[k + 4]);
        let second = _mm256_permute2f128_ps::<0x31>(u[k], u[k + 4]);
        for (cell, lanes) in [(k, first), (k + 4, second)] {
            let target = out[cell].rows.as_flattened_mut();
            // SAFETY: S is f32 (its precision was compared above, and there are two kinds of `Real`), and the block has nine of them.
            unsafe { _mm256_storeu_ps(target.as_mut_ptr().cast::<f32>(), lanes) };
            target[8] = S::from_f64(block[8][cell]);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel::ScatterPlan;
    use crate::parallel::tests::noise;

    fn added<S: Real>(entries: &[[f64; PACK]], slots: &[u32]) -> Vec<Mat3<S>> {
        let plan = ScatterPlan::new(30, [slots]).unwrap();
        let mut target = vec![Mat3::zero(); 30];
        plan.for_each_chunk(&mut target, |elements, writer| {
            for element in elements {
                add_pack(writer, element, entries);
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
