//! Transposes of 8 × 8 f32 in registers, for x86-64.

use std::arch::x86_64::*;

/// Entry i of register k becomes entry k of register i.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn transpose(r: [__m256; 8]) -> [__m256; 8] {
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
    [
        _mm256_permute2f128_ps::<0x20>(u[0], u[4]),
        _mm256_permute2f128_ps::<0x20>(u[1], u[5]),
        _mm256_permute2f128_ps::<0x20>(u[2], u[6]),
        _mm256_permute2f128_ps::<0x20>(u[3], u[7]),
        _mm256_permute2f128_ps::<0x31>(u[0], u[4]),
        _mm256_permute2f128_ps::<0x31>(u[1], u[5]),
        _mm256_permute2f128_ps::<0x31>(u[2], u[6]),
        _mm256_permute2f128_ps::<0x31>(u[3], u[7]),
    ]
}

/// The first eight entries of a 3×3 matrix, or of its transpose; the ninth is the same in both.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn load_block(block: &crate::Mat3<f32>, is_transposed: bool) -> __m256 {
    let entries = block.rows.as_flattened();
    // SAFETY: the block has nine entries.
    let values = unsafe { _mm256_loadu_ps(entries.as_ptr()) };
    let order = if is_transposed {
        _mm256_setr_epi32(0, 3, 6, 1, 4, 7, 2, 5)
    } else {
        _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)
    };
    _mm256_permutevar8x32_ps(values, order)
}
