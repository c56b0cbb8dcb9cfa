//! Lanes of x86-64: AVX2 with FMA (two registers per lane type) and AVX-512 (one register).

use std::arch::x86_64::*;
use std::ops::{Add, AddAssign, BitAnd, BitOr, Div, DivAssign, Mul, MulAssign, Neg, Not, Sub, SubAssign};

use super::pair::Pair;
use super::register::register_lanes;
use super::{Apart, Isa, IsaLevel, LaneKernel, Levels, call, sealed};
use crate::elementary::{self, FloatBits};
use crate::scalar::{LaneScalar, Scalar, Work};

/// AVX2 and fused multiply-add.
#[derive(Clone, Copy)]
pub(super) struct Avx2;

/// AVX-512 F, BW, DQ and VL.
#[derive(Clone, Copy)]
pub(super) struct Avx512;

impl sealed::Sealed for Avx2 {
    #[inline(always)]
    fn call<Home: ?Sized, K: LaneKernel>(kernel: K) -> K::Output {
        // SAFETY: `dispatch` hands this type to kernels only on processors that have AVX2 and FMA.
        unsafe { <Home as Levels>::avx2(kernel) }
    }
}

impl sealed::Sealed for Avx512 {
    #[inline(always)]
    fn call<Home: ?Sized, K: LaneKernel>(kernel: K) -> K::Output {
        // SAFETY: `dispatch` hands this type to kernels only on processors that have these subsets of AVX-512.
        unsafe { <Home as Levels>::avx512(kernel) }
    }
}

impl Isa for Avx2 {
    type F32 = Pair<F32x8>;
    type F64 = Pair<F64x4>;
    type F64Register = F64x4;
    const LEVEL: IsaLevel = IsaLevel::Avx2;
}

impl Isa for Avx512 {
    type F32 = F32x16;
    type F64 = F64x8;
    type F64Register = F64x8;
    const LEVEL: IsaLevel = IsaLevel::Avx512;
}

register_lanes! {
    /// Eight f32 in an AVX register.
    F32x8, f32, 8, __m256, MaskF32x8(__m256), bits __m256i, of Avx2;
    splat _mm256_set1_ps, load _mm256_loadu_ps, store _mm256_storeu_ps,
    gather(v, i) _mm256_i32gather_ps::<4>(v, _mm256_loadu_si256(i.cast())),
    shift(a, p) {
        // The upper half of p and the lower half of a, then one lane across within each half.
        let across = _mm256_permute2f128_ps::<0x21>(p, a);
        _mm256_castsi256_ps(_mm256_alignr_epi8::<12>(_mm256_castps_si256(a), _mm256_castps_si256(across)))
    };
    add _mm256_add_ps, sub _mm256_sub_ps, mul _mm256_mul_ps, div _mm256_div_ps, sqrt _mm256_sqrt_ps, fma _mm256_fmadd_ps;
    lt(a, b) _mm256_cmp_ps::<_CMP_LT_OQ>(a, b);
    le(a, b) _mm256_cmp_ps::<_CMP_LE_OQ>(a, b);
    select(m, t, f) _mm256_blendv_ps(f, t, m);
    and(a, b) _mm256_and_ps(a, b);
    or(a, b) _mm256_or_ps(a, b);
    not(a) _mm256_xor_ps(a, _mm256_castsi256_ps(_mm256_set1_epi32(-1)));
    movemask(a) _mm256_movemask_ps(a), full 0xff;
    to_bits _mm256_castps_si256, from_bits _mm256_castsi256_ps, bits_splat _mm256_set1_epi32 as i32;
    bits_add _mm256_add_epi32, bits_sub _mm256_sub_epi32, bits_and _mm256_and_si256, bits_or _mm256_or_si256;
    bits_xor _mm256_xor_si256, bits_shl _mm256_sll_epi32, bits_shr _mm256_srl_epi32;
    sign 0x8000_0000_u32;
    ln elementary::ln_f32, exp elementary::exp_f32, rsqrt_estimate elementary::rsqrt_estimate_f32,
    binary_magnitude elementary::binary_magnitude_f32;
}

register_lanes! {
    /// Four f64 in an AVX register.
    F64x4, f64, 4, __m256d, MaskF64x4(__m256d), bits __m256i, of Avx2;
    splat _mm256_set1_pd, load _mm256_loadu_pd, store _mm256_storeu_pd,
    gather(v, i) _mm256_i32gather_pd::<8>(v, _mm_loadu_si128(i.cast())),
    shift(a, p) {
        let across = _mm256_permute2f128_pd::<0x21>(p, a);
        _mm256_castsi256_pd(_mm256_alignr_epi8::<8>(_mm256_castpd_si256(a), _mm256_castpd_si256(across)))
    };
    add _mm256_add_pd, sub _mm256_sub_pd, mul _mm256_mul_pd, div _mm256_div_pd, sqrt _mm256_sqrt_pd, fma _mm256_fmadd_pd;
    lt(a, b) _mm256_cmp_pd::<_CMP_LT_OQ>(a, b);
    le(a, b) _mm256_cmp_pd::<_CMP_LE_OQ>(a, b);
    select(m, t, f) _mm256_blendv_pd(f, t, m);
    and(a, b) _mm256_and_pd(a, b);
    or(a, b) _mm256_or_pd(a, b);
    not(a) _mm256_xor_pd(a, _mm256_castsi256_pd(_mm256_set1_epi64x(-1)));
    movemask(a) _mm256_movemask_pd(a), full 0xf;
    to_bits _mm256_castpd_si256, from_bits _mm256_castsi256_pd, bits_splat _mm256_set1_epi64x as i64;
    bits_add _mm256_add_epi64, bits_sub _mm256_sub_epi64, bits_and _mm256_and_si256, bits_or _mm256_or_si256;
    bits_xor _mm256_xor_si256, bits_shl _mm256_sll_epi64, bits_shr _mm256_srl_epi64;
    sign 0x8000_0000_0000_0000_u64;
    ln elementary::ln_f64, exp elementary::exp_f64, rsqrt_estimate elementary::rsqrt_estimate_f64,
    binary_magnitude elementary::binary_magnitude_f64;
}

register_lanes! {
    /// Sixteen f32 in an AVX-512 register.
    F32x16, f32, 16, __m512, MaskF32x16(__mmask16), bits __m512i, of Avx512;
    splat _mm512_set1_ps, load _mm512_loadu_ps, store _mm512_storeu_ps,
    gather(v, i) _mm512_i32gather_ps::<4>(_mm512_loadu_si512(i.cast()), v),
    shift(a, p) _mm512_castsi512_ps(_mm512_alignr_epi32::<15>(_mm512_castps_si512(a), _mm512_castps_si512(p)));
    add _mm512_add_ps, sub _mm512_sub_ps, mul _mm512_mul_ps, div _mm512_div_ps, sqrt _mm512_sqrt_ps, fma _mm512_fmadd_ps;
    lt(a, b) _mm512_cmp_ps_mask::<_CMP_LT_OQ>(a, b);
    le(a, b) _mm512_cmp_ps_mask::<_CMP_LE_OQ>(a, b);
    select(m, t, f) _mm512_mask_blend_ps(m, f, t);
    and(a, b) a & b;
    or(a, b) a | b;
    not(a) !a;
    movemask(a) a, full 0xffff;
    to_bits _mm512_castps_si512, from_bits _mm512_castsi512_ps, bits_splat _mm512_set1_epi32 as i32;
    bits_add _mm512_add_epi32, bits_sub _mm512_sub_epi32, bits_and _mm512_and_si512, bits_or _mm512_or_si512;
    bits_xor _mm512_xor_si512, bits_shl _mm512_sll_epi32, bits_shr _mm512_srl_epi32;
    sign 0x8000_0000_u32;
    ln elementary::ln_f32, exp elementary::exp_f32, rsqrt_estimate elementary::rsqrt_estimate_f32,
    binary_magnitude elementary::binary_magnitude_f32;
}

register_lanes! {
    /// Eight f64 in an AVX-512 register.
    F64x8, f64, 8, __m512d, MaskF64x8(__mmask8), bits __m512i, of Avx512;
    splat _mm512_set1_pd, load _mm512_loadu_pd, store _mm512_storeu_pd,
    gather(v, i) _mm512_i32gather_pd::<8>(_mm256_loadu_si256(i.cast()), v),
    shift(a, p) _mm512_castsi512_pd(_mm512_alignr_epi64::<7>(_mm512_castpd_si512(a), _mm512_castpd_si512(p)));
    add _mm512_add_pd, sub _mm512_sub_pd, mul _mm512_mul_pd, div _mm512_div_pd, sqrt _mm512_sqrt_pd, fma _mm512_fmadd_pd;
    lt(a, b) _mm512_cmp_pd_mask::<_CMP_LT_OQ>(a, b);
    le(a, b) _mm512_cmp_pd_mask::<_CMP_LE_OQ>(a, b);
    select(m, t, f) _mm512_mask_blend_pd(m, f, t);
    and(a, b) a & b;
    or(a, b) a | b;
    not(a) !a;
    movemask(a) a, full 0xff;
    to_bits _mm512_castpd_si512, from_bits _mm512_castsi512_pd, bits_splat _mm512_set1_epi64 as i64;
    bits_add _mm512_add_epi64, bits_sub _mm512_sub_epi64, bits_and _mm512_and_si512, bits_or _mm512_or_si512;
    bits_xor _mm512_xor_si512, bits_shl _mm512_sll_epi64, bits_shr _mm512_srl_epi64;
    sign 0x8000_0000_0000_0000_u64;
    ln elementary::ln_f64, exp elementary::exp_f64, rsqrt_estimate elementary::rsqrt_estimate_f64,
    binary_magnitude elementary::binary_magnitude_f64;
}
