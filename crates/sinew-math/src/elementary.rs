//! Logarithm, exponential, arctangent and rough reciprocal square root, with the same bits in plain numbers and in
//! every lane.
//!
//! Written once over [`FloatBits`]: arithmetic that rounds like IEEE 754 everywhere plus integer operations on the bit
//! patterns. No fused operations, so that plain code on a generic processor is not slowed by calls into the C library.
//! Errors (measured by the tests below): ln and exp stay below 1 unit in the last place in f64 and f32.
//!
//! The polynomials are minimax fits made with the Remez exchange in 60-digit arithmetic.

use crate::scalar::Scalar;

/// Access to the bit pattern of each lane as an unsigned integer of the same width.
pub(crate) trait FloatBits: Scalar {
    /// One unsigned integer per lane.
    type Bits: Copy;

    /// The bit pattern.
    fn to_bits(self) -> Self::Bits;
    /// The number with this bit pattern.
    fn from_bits(bits: Self::Bits) -> Self;
    /// The same integer in every lane (truncated to the width of the number).
    fn bits(value: u64) -> Self::Bits;
    /// Wrapping sum.
    fn bits_add(a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// Wrapping difference.
    fn bits_sub(a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// Bitwise and.
    fn bits_and(a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// Bitwise or.
    fn bits_or(a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// Shift toward the high end by a constant.
    fn bits_shl(a: Self::Bits, count: u32) -> Self::Bits;
    /// Shift toward the low end by a constant, filling with zeros.
    fn bits_shr(a: Self::Bits, count: u32) -> Self::Bits;
}

macro_rules! impl_float_bits {
    ($float:ident, $bits:ident) => {
        impl FloatBits for $float {
            type Bits = $bits;

            #[inline(always)]
            fn to_bits(self) -> $bits {
                $float::to_bits(self)
            }
            #[inline(always)]
            fn from_bits(bits: $bits) -> Self {
                $float::from_bits(bits)
            }
            #[inline(always)]
            fn bits(value: u64) -> $bits {
                value as $bits
            }
            #[inline(always)]
            fn bits_add(a: $bits, b: $bits) -> $bits {
                a.wrapping_add(b)
            }
            #[inline(always)]
            fn bits_sub(a: $bits, b: $bits) -> $bits {
                a.wrapping_sub(b)
            }
            #[inline(always)]
            fn bits_and(a: $bits, b: $bits) -> $bits {
                a & b
            }
            #[inline(always)]
            fn bits_or(a: $bits, b: $bits) -> $bits {
                a | b
            }
            #[inline(always)]
            fn bits_shl(a: $bits, count: u32) -> $bits {
                a << count
            }
            #[inline(always)]
            fn bits_shr(a: $bits, count: u32) -> $bits {
                a >> count
            }
        }
    };
}

impl_float_bits!(f32, u32);
impl_float_bits!(f64, u64);

/// Layout of a binary floating-point format and the constants that depend on it.
struct Format {
    /// Bits of the stored fraction.
    fraction_bits: u32,
    /// Bias of the exponent.
    bias: u64,
    /// Bit pattern of √½.
    sqrt_half: u64,
    /// Smallest positive normal number.
    min_normal: f64,
    /// ln 2 rounded down to few enough bits that its product with any exponent is exact.
    ln2_high: f64,
    /// ln 2 − `ln2_high`.
    ln2_low: f64,
    /// Above this, exp overflows.
    exp_max: f64,
    /// Below this, exp rounds to zero.
    exp_min: f64,
    /// The first guess of the reciprocal square root is this minus half the bit pattern: minus half the exponent,
    /// corrected by the constant that balances the error over the fraction (Blinn 1997, Lomont 2003).
    rsqrt_magic: u64,
}

const F64: Format = Format {
    fraction_bits: 52,
    bias: 1023,
    sqrt_half: std::f64::consts::FRAC_1_SQRT_2.to_bits(),
    min_normal: f64::MIN_POSITIVE,
    ln2_high: 0.693_147_180_485_539_1,
    ln2_low: 7.440_617_110_012_397e-11,
    exp_max: 709.782_712_893_384,
    exp_min: -745.133_219_101_941_2,
    rsqrt_magic: 0x5fe6_eb50_c7b5_37a9,
};

const F32: Format = Format {
    fraction_bits: 23,
    bias: 127,
    sqrt_half: std::f32::consts::FRAC_1_SQRT_2.to_bits() as u64,
    min_normal: f32::MIN_POSITIVE as f64,
    ln2_high: 0.693_145_751_953_125,
    ln2_low: 1.428_606_820_309_417_2e-6,
    // The f32 neighbors of 128 ln 2 and −150 ln 2 toward zero.
    exp_max: 88.722_83,
    exp_min: -103.972_08,
    rsqrt_magic: 0x5f37_5a86,
};

/// Coefficients of (2 atanh(s)/s − 2)/s² in powers of s², for s² ≤ (√2−1)²/(√2+1)²; error 3.1e-16.
const LN_F64: [f64; 7] = [
    0.666_666_666_666_667,
    0.399_999_999_998_984_45,
    0.285_714_286_263_992_53,
    0.222_222_110_728_368_93,
    0.181_828_932_190_633_29,
    0.153_315_969_487_795_2,
    0.146_178_728_179_265_4,
];

/// The same for f32; error 1.1e-9.
const LN_F32: [f64; 4] =
    [0.666_666_665_526_043_3, 0.400_001_230_917_584_3, 0.285_506_989_267_360_6, 0.233_334_187_811_894];

/// Coefficients of (eʳ − 1 − r)/r² in powers of r, for |r| ≤ ½ ln 2; error 1.4e-18.
const EXP_F64: [f64; 11] = [
    0.5,
    0.166_666_666_666_666_7,
    0.041_666_666_666_666_684,
    0.008_333_333_333_326_135,
    0.001_388_888_888_887_439_4,
    0.000_198_412_698_748_222_6,
    2.480_158_734_734_719e-5,
    2.755_725_539_838_991e-6,
    2.755_725_290_651_273e-7,
    2.510_521_767_826_341e-8,
    2.092_159_100_369_895_5e-9,
];

/// The same for f32; error 1.4e-9.
const EXP_F32: [f64; 6] = [
    0.500_000_001_346_978_2,
    0.166_666_667_564_745_8,
    0.041_666_464_898_816_96,
    0.008_333_286_002_313_25,
    0.001_393_365_220_296_603,
    0.000_199_075_876_707_867,
];

/// Coefficients of (arctan(s)/s − 1)/s² in powers of s², for |s| ≤ tan π/8; error of the arctangent over s 1.5e-18.
const ATAN: [f64; 11] = [
    -0.333_333_333_333_332_8,
    0.199_999_999_999_736_6,
    -0.142_857_142_819_364_5,
    0.111_111_108_604_911_94,
    -0.090_908_997_572_652_65,
    0.076_920_927_689_807_36,
    -0.066_634_463_014_679_89,
    0.058_502_115_772_366_005,
    -0.050_491_274_045_997_84,
    0.038_300_126_000_790_85,
    -0.018_151_835_356_178_7,
];

/// Σ cₖ xᵏ by Horner's rule.
#[inline(always)]
fn polynomial<S: Scalar>(x: S, coefficients: &[f64]) -> S {
    let mut sum = S::splat(coefficients[coefficients.len() - 1]);
    for &coefficient in coefficients.iter().rev().skip(1) {
        sum = sum * x + S::splat(coefficient);
    }
    sum
}

/// ln x = k ln 2 + ln(1 + f), with x = 2ᵏ(1 + f) and √½ ≤ 1 + f < √2.
///
/// With s = f/(2 + f), ln(1 + f) = 2 atanh s = 2s + sR(s²), and 2s = f − f²/2 + s f²/2 keeps the leading term f exact.
#[inline(always)]
fn ln<S: FloatBits>(x: S, format: &Format, coefficients: &[f64]) -> S {
    let width = f64::from(format.fraction_bits + 1);
    let power = (1_u64 << (format.fraction_bits + 1)) as f64;
    // Scale subnormal numbers into the normal range first.
    let lift = x.lt(S::splat(format.min_normal));
    let lifted = S::select(lift, x * S::splat(power), x);

    // Adding bits(1) − bits(√½) makes the exponent field count powers of two with breaks at √½ and √2.
    let one = format.bias << format.fraction_bits;
    let shifted = S::bits_add(lifted.to_bits(), S::bits(one - format.sqrt_half));
    let fraction = S::bits_and(shifted, S::bits((1 << format.fraction_bits) - 1));
    let m = S::from_bits(S::bits_add(fraction, S::bits(format.sqrt_half)));
    // An integer n < 2^p in the fraction field of the number 2^p reads as 2^p + n: an integer-to-float conversion
    // without an instruction.
    let anchor_bits = (format.bias + u64::from(format.fraction_bits)) << format.fraction_bits;
    let anchor = (1_u64 << format.fraction_bits) as f64 + format.bias as f64;
    let biased = S::from_bits(S::bits_or(S::bits_shr(shifted, format.fraction_bits), S::bits(anchor_bits)));
    let k = biased - S::select(lift, S::splat(anchor + width), S::splat(anchor));

    let f = m - S::one();
    let s = f / (S::splat(2.0) + f);
    let z = s * s;
    let r = z * polynomial(z, coefficients);
    let half_square = S::splat(0.5) * f * f;
    let tail = s * (half_square + r) + k * S::splat(format.ln2_low);
    let value = k * S::splat(format.ln2_high) - ((half_square - tail) - f);

    let infinity = S::splat(f64::INFINITY);
    let finite = S::select(x.lt(infinity), value, x);
    S::select(x.gt(S::zero()), finite, S::select(x.ge(S::zero()), -infinity, S::splat(f64::NAN)))
}

/// eˣ = 2ⁿ eʳ with n = round(x/ln 2) and |r| ≤ ½ ln 2; r is carried with its rounding error.
#[inline(always)]
fn exp<S: FloatBits>(x: S, format: &Format, coefficients: &[f64]) -> S {
    // Beyond these limits the result is fixed; clamping keeps n in range. NaN passes both comparisons.
    let clamped = S::select(x.gt(S::splat(format.exp_max)), S::splat(format.exp_max), x);
    let clamped = S::select(clamped.lt(S::splat(format.exp_min)), S::splat(format.exp_min), clamped);

    // Adding 1.5 · 2^p (p = bits of the fraction) rounds the sum to an integer, which sits in the low bits.
    let anchor = S::splat(1.5 * (1_u64 << format.fraction_bits) as f64);
    let n = (clamped * S::splat(std::f64::consts::LOG2_E) + anchor) - anchor;
    let high = clamped - n * S::splat(format.ln2_high);
    let low = n * S::splat(format.ln2_low);
    let r = high - low;
    let correction = (high - r) - low;
    let value = S::one() + (r + (correction + r * r * polynomial(r, coefficients)));

    // 2ⁿ in two factors, because n reaches beyond the exponents of normal numbers at both ends.
    let first_anchored = n * S::splat(0.5) + anchor;
    let first = first_anchored - anchor;
    let second_anchored = (n - first) + anchor;
    let value = value * power_of_two(first_anchored, format) * power_of_two(second_anchored, format);

    let value = S::select(x.gt(S::splat(format.exp_max)), S::splat(f64::INFINITY), value);
    S::select(x.lt(S::splat(format.exp_min)), S::zero(), value)
}

/// 2ᵐ for an integer m given as `anchored = 1.5 · 2^p + m`. The shift moves the low bits of m into the exponent field
/// and everything else out of the number.
#[inline(always)]
fn power_of_two<S: FloatBits>(anchored: S, format: &Format) -> S {
    S::from_bits(S::bits_shl(S::bits_add(anchored.to_bits(), S::bits(format.bias)), format.fraction_bits))
}

/// arctan x by reducing |x| to the nearest of 0, π/4 or π/2: t, (t − 1)/(t + 1) or −1/t, none above tan π/8.
#[inline(always)]
pub(crate) fn arctan<S: Scalar>(x: S) -> S {
    let one = S::one();
    let size = x.abs();
    let is_middle = size.gt(S::splat(0.414_213_562_373_095));
    let is_large = size.gt(S::splat(2.414_213_562_373_095));
    let numerator = S::select(is_large, -one, S::select(is_middle, size - one, size));
    let denominator = S::select(is_large, size, S::select(is_middle, size + one, one));
    let part = S::select(is_middle, S::splat(std::f64::consts::FRAC_PI_4), S::zero());
    let base = S::select(is_large, S::splat(std::f64::consts::FRAC_PI_2), part);
    let t = numerator / denominator;
    let z = t * t;
    let value = base + (t + t * z * polynomial(z, &ATAN));
    S::select(x.lt(S::zero()), -value, value)
}

/// One Newton step for y⁻² = x from a guess made by integer arithmetic; relative error below 0.18 %.
#[inline(always)]
fn rsqrt_estimate<S: FloatBits>(x: S, format: &Format) -> S {
    let guess = S::from_bits(S::bits_sub(S::bits(format.rsqrt_magic), S::bits_shr(x.to_bits(), 1)));
    guess * (S::splat(1.5) - (S::splat(0.5) * x * guess) * guess)
}

/// Keeps the exponent and drops sign and fraction.
#[inline(always)]
fn binary_magnitude<S: FloatBits>(x: S, format: &Format) -> S {
    S::from_bits(S::bits_and(x.to_bits(), S::bits((2 * format.bias + 1) << format.fraction_bits)))
}

/// Power of two below lanes of f64.
#[inline(always)]
pub(crate) fn binary_magnitude_f64<S: FloatBits>(x: S) -> S {
    binary_magnitude(x, &F64)
}

/// Power of two below lanes of f32.
#[inline(always)]
pub(crate) fn binary_magnitude_f32<S: FloatBits>(x: S) -> S {
    binary_magnitude(x, &F32)
}

/// Natural logarithm of lanes of f64.
#[inline(always)]
pub(crate) fn ln_f64<S: FloatBits>(x: S) -> S {
    ln(x, &F64, &LN_F64)
}

/// Natural logarithm of lanes of f32.
#[inline(always)]
pub(crate) fn ln_f32<S: FloatBits>(x: S) -> S {
    ln(x, &F32, &LN_F32)
}

/// Exponential function of lanes of f64.
#[inline(always)]
pub(crate) fn exp_f64<S: FloatBits>(x: S) -> S {
    exp(x, &F64, &EXP_F64)
}

/// Exponential function of lanes of f32.
#[inline(always)]
pub(crate) fn exp_f32<S: FloatBits>(x: S) -> S {
    exp(x, &F32, &EXP_F32)
}

/// Rough reciprocal square root of lanes of f64.
#[inline(always)]
pub(crate) fn rsqrt_estimate_f64<S: FloatBits>(x: S) -> S {
    rsqrt_estimate(x, &F64)
}

/// Rough reciprocal square root of lanes of f32.
#[inline(always)]
pub(crate) fn rsqrt_estimate_f32<S: FloatBits>(x: S) -> S {
    rsqrt_estimate(x, &F32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Distance in units in the last place of `exact`, which is given with more digits than f32 has.
    fn ulps_f32(value: f32, exact: f64) -> f64 {
        let nearest = exact as f32;
        if value == nearest {
            return 0.0;
        }
        let unit = (f32::from_bits(nearest.abs().to_bits() + 1) - nearest.abs()) as f64;
        (value as f64 - exact).abs() / unit
    }

    /// Distance between two f64 of the same sign in representable numbers.
    fn steps_f64(a: f64, b: f64) -> u64 {
        if a == b || (a.is_nan() && b.is_nan()) { 0 } else { a.to_bits().abs_diff(b.to_bits()) }
    }

    /// Positive f64 of all magnitudes, without gaps in the exponent.
    fn samples() -> impl Iterator<Item = f64> {
        (0..200_000_u64).map(|k| f64::from_bits((k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 1) % (0x7ff0 << 48)))
    }

    #[test]
    fn logarithm_of_f64_is_within_one_step_of_the_library() {
        let near_one = (0..100_000).map(|k| 0.5 + 1e-5 * k as f64);
        for x in samples().chain(near_one) {
            assert!(steps_f64(ln_f64(x), x.ln()) <= 1, "ln {x:e}: {:e} and {:e}", ln_f64(x), x.ln());
        }
    }

    #[test]
    fn exponential_of_f64_is_within_one_step_of_the_library() {
        for k in 0..300_000 {
            let x = -746.0 + k as f64 * 0.004_861;
            assert!(steps_f64(exp_f64(x), x.exp()) <= 1, "exp {x}: {:e} and {:e}", exp_f64(x), x.exp());
        }
    }

    #[test]
    fn arctangent_is_within_two_steps_of_the_library() {
        let all = (0..200_000).map(|k| 1e-3 * (k as f64 - 1e5)).chain(samples());
        for x in all.chain([0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN]) {
            assert!(steps_f64(arctan(x), x.atan()) <= 2, "arctan {x:e}: {:e} and {:e}", arctan(x), x.atan());
        }
    }

    #[test]
    fn f32_functions_are_within_one_unit_of_the_exact_value() {
        let mut worst = [0.0_f64; 2];
        // A prime stride through all positive f32, subnormal ones included.
        for bits in (1..0x7f80_0000_u32).step_by(9973) {
            let x = f32::from_bits(bits);
            worst[0] = worst[0].max(ulps_f32(ln_f32(x), (x as f64).ln()));
        }
        for k in 0..400_000 {
            let x = (-87.3 + 4.4e-4 * k as f64) as f32;
            worst[1] = worst[1].max(ulps_f32(exp_f32(x), (x as f64).exp()));
        }
        assert!(worst[0] <= 1.0 && worst[1] <= 1.0, "{worst:?}");
    }

    #[test]
    fn special_values_follow_the_library() {
        let specials = [0.0, -0.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 5e-324, f64::MAX, 1.0];
        for x in specials {
            assert!(steps_f64(ln_f64(x), x.ln()) <= 1, "ln {x}");
            assert!(steps_f64(exp_f64(x), x.exp()) <= 1, "exp {x}");
            let y = x as f32;
            assert!(ln_f32(y) == y.ln() || (ln_f32(y).is_nan() && y.ln().is_nan()), "ln {y}");
            assert!(exp_f32(y) == y.exp() || (exp_f32(y).is_nan() && y.exp().is_nan()), "exp {y}");
        }
        assert_eq!(ln_f64(1.0), 0.0);
        assert_eq!(exp_f64(0.0), 1.0);
        assert_eq!(exp_f32(89.0), f32::INFINITY);
        assert_eq!(exp_f32(-104.0), 0.0);
    }

    #[test]
    fn reciprocal_square_root_estimate_is_good_to_three_digits() {
        for k in 0..100_000 {
            let x = 1.0 + 3e-5 * k as f64;
            for scale in [1.0, 1e-30, 1e30] {
                let relative = |estimate: f64| (estimate * (x * scale).sqrt() - 1.0).abs();
                assert!(relative(rsqrt_estimate_f64(x * scale)) < 1.8e-3);
                assert!(relative(rsqrt_estimate_f32((x * scale) as f32) as f64) < 1.8e-3);
            }
        }
        assert!(rsqrt_estimate_f32(0.0_f32).is_finite() && rsqrt_estimate_f64(0.0_f64).is_finite());
    }
}
