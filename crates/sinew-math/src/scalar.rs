//! The number type of all formulas.
//!
//! A formula generic over [`Scalar`] runs on plain `f32` and `f64`, on [`ComplexStep`](crate::ComplexStep) numbers that
//! carry derivatives, and on lanes that carry 8 or 16 numbers at once ([`lanes`](crate::lanes)). Branches are written
//! with [`Scalar::select`], never with `if`, because lanes may disagree.
//!
//! # One arithmetic
//!
//! Every method gives the same bits for a plain number and for each lane, at every instruction-set level:
//!
//! * `+ - * /` and `sqrt` round once, as IEEE 754 demands, and the compiler never fuses them behind our back;
//! * [`Scalar::mul_add`] always rounds once. Processors with fused multiply-add do it in hardware; elsewhere (and in
//!   plain code compiled for a generic x86-64) it is a call into the C library: correct, but slow. Therefore the
//!   small-matrix operators use separate multiplications and additions, and only kernels that run under
//!   [`dispatch`](crate::lanes::dispatch) use fusion;
//! * `rsqrt` is `1/sqrt(x)` with both operations rounded; the rough [`Scalar::rsqrt_estimate`] is integer arithmetic,
//!   not the instruction of a particular processor;
//! * `ln`, `exp` and `atan` are our own polynomials without fusion; the errors of the first two stay below one unit in
//!   the last place, that of the third below two.
//!
//! Signs and payloads of NaN are unspecified.
//!
//! Inherent methods take precedence over trait methods: on a concrete `f64`, `x.ln()` is the C library's logarithm. In
//! generic code `x.ln()` is ours.

use std::fmt::{Debug, Display};
use std::ops::{Add, AddAssign, BitAnd, BitOr, Div, DivAssign, Mul, MulAssign, Neg, Not, Sub, SubAssign};

use crate::elementary;

/// A real number, a derivative-carrying number, or several numbers in lanes.
pub trait Scalar:
    Copy
    + Send
    + Sync
    + Debug
    + Default
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
{
    /// Result of a comparison: `bool`, or one truth value per lane.
    type Mask: Copy + BitAnd<Output = Self::Mask> + BitOr<Output = Self::Mask> + Not<Output = Self::Mask>;

    /// Distance from 1 to the next larger number in the arithmetic of the real parts.
    const PRECISION: f64;

    /// Smallest positive normal number in the arithmetic of the real parts.
    const TINY: f64;

    /// The constant `value` in every lane.
    fn splat(value: f64) -> Self;

    /// `self * b + c`, rounded once.
    fn mul_add(self, b: Self, c: Self) -> Self;

    /// Square root.
    fn sqrt(self) -> Self;

    /// Reciprocal square root `1/√self`, accurate to about one unit in the last place.
    #[inline(always)]
    fn rsqrt(self) -> Self {
        Self::one() / self.sqrt()
    }

    /// Rough `1/√self` for normalizations that a later step corrects: relative error below 0.2 % for positive normal
    /// numbers. Finite, but meaningless, at zero. Types without a cheap estimate return [`Scalar::rsqrt`].
    #[inline(always)]
    fn rsqrt_estimate(self) -> Self {
        self.rsqrt()
    }

    /// Reciprocal `1/self`.
    #[inline(always)]
    fn recip(self) -> Self {
        Self::one() / self
    }

    /// Natural logarithm; −∞ at zero, NaN below.
    fn ln(self) -> Self;

    /// Exponential function.
    fn exp(self) -> Self;

    /// Arctangent \[rad\].
    #[inline(always)]
    fn atan(self) -> Self {
        elementary::arctan(self)
    }

    /// The largest power of two that is not above |self|, for scaling without rounding. Zero for subnormal numbers;
    /// infinity for infinity and NaN. It has no derivative.
    fn binary_magnitude(self) -> Self;

    /// Absolute value, by the sign of the real part.
    fn abs(self) -> Self;

    /// Lanes where the real part of `self` is less than that of `other`; false for NaN, like all comparisons.
    fn lt(self, other: Self) -> Self::Mask;

    /// Lanes where the real part of `self` is at most that of `other`.
    fn le(self, other: Self) -> Self::Mask;

    /// Lanes where the real part of `self` is greater than that of `other`.
    #[inline(always)]
    fn gt(self, other: Self) -> Self::Mask {
        other.lt(self)
    }

    /// Lanes where the real part of `self` is at least that of `other`.
    #[inline(always)]
    fn ge(self, other: Self) -> Self::Mask {
        other.le(self)
    }

    /// `if_true` where the mask holds, else `if_false`. A true selection, not a multiplication by the mask, so a NaN in
    /// the other branch does no harm.
    fn select(mask: Self::Mask, if_true: Self, if_false: Self) -> Self;

    /// Whether the mask holds in at least one lane.
    fn any(mask: Self::Mask) -> bool;

    /// Whether the mask holds in every lane.
    fn all(mask: Self::Mask) -> bool;

    /// The smaller number; `other` if either is NaN.
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Self::select(self.lt(other), self, other)
    }

    /// The larger number; `other` if either is NaN.
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self::select(self.gt(other), self, other)
    }

    /// The constant 0.
    #[inline(always)]
    fn zero() -> Self {
        Self::splat(0.0)
    }

    /// Runs `work` on these numbers as a function of its own, compiled for the instruction set that they belong to.
    /// What many kernels use, and is some hundred operations long, is then compiled once for all of them.
    fn apart<W: Work>(work: W) -> W::Output;

    /// The constant 1.
    #[inline(always)]
    fn one() -> Self {
        Self::splat(1.0)
    }

    /// `self²`.
    #[inline(always)]
    fn square(self) -> Self {
        self * self
    }

    /// `self^exponent = exp(exponent · ln self)` for positive `self`. The relative error grows like
    /// `|exponent · ln self|` units in the last place.
    #[inline(always)]
    fn powf(self, exponent: f64) -> Self {
        (self.ln() * Self::splat(exponent)).exp()
    }

    /// `self` to an integer power, by repeated squaring.
    #[inline(always)]
    fn powi(self, exponent: i32) -> Self {
        let mut remaining = exponent.unsigned_abs();
        let mut square = self;
        let mut product = Self::one();
        while remaining > 0 {
            if remaining & 1 == 1 {
                product *= square;
            }
            square *= square;
            remaining >>= 1;
        }
        if exponent < 0 { product.recip() } else { product }
    }
}

/// A scalar made of `LANES` independent machine numbers that can be loaded and stored.
pub trait LaneScalar: Scalar {
    /// The number in one lane.
    type Element: Real;

    /// Number of lanes.
    const LANES: usize;

    /// Whether this is the fallback of x86-64, which hardly any processor runs: kernels then prefer one copy with
    /// conditions to a copy for each case, because this level would take half of the time to compile them.
    const IS_FALLBACK: bool = false;

    /// Reads the first `LANES` values. Panics if there are fewer.
    fn load(values: &[Self::Element]) -> Self;

    /// Writes the lanes to the first `LANES` places of `out`. Panics if there are fewer.
    fn store(self, out: &mut [Self::Element]);

    /// Reads `values[indices[lane]]` into each lane. Panics if there are fewer than `LANES` indices.
    ///
    /// # Safety
    /// The first `LANES` indices are below `values.len()`, which is below 2³¹.
    #[inline(always)]
    unsafe fn gather(values: &[Self::Element], indices: &[u32]) -> Self {
        let mut lanes = [Self::Element::default(); MAX_LANES];
        for (lane, &index) in lanes.iter_mut().zip(&indices[..Self::LANES]) {
            // SAFETY: the caller guarantees that the index is in range.
            *lane = unsafe { *values.get_unchecked(index as usize) };
        }
        Self::load(&lanes)
    }

    /// The lanes moved up by one, with the last lane of `previous` in front: the left neighbors in a row.
    #[inline(always)]
    fn shift_in(self, previous: Self) -> Self {
        let mut lanes = [Self::Element::default(); 2 * MAX_LANES];
        previous.store(&mut lanes);
        self.store(&mut lanes[Self::LANES..]);
        Self::load(&lanes[Self::LANES - 1..])
    }
}

/// Largest lane count of any lane type.
const MAX_LANES: usize = 16;

/// A single machine number: `f32` or `f64`.
pub trait Real: LaneScalar<Element = Self, Mask = bool> + PartialEq + PartialOrd + Display {
    /// Distance from 1 to the next larger number.
    const EPSILON: Self;
    /// Smallest positive normal number.
    const MIN_POSITIVE: Self;
    /// Largest finite number.
    const MAX: Self;

    /// The same value as `f64`.
    fn to_f64(self) -> f64;

    /// The nearest number to `value`.
    fn from_f64(value: f64) -> Self;

    /// Neither infinite nor NaN.
    fn is_finite(self) -> bool;

    /// Sine of an angle \[rad\].
    fn sin(self) -> Self;

    /// Cosine of an angle \[rad\].
    fn cos(self) -> Self;

    /// Angle \[rad\] of the point with ordinate `self` and abscissa `x`.
    fn atan2(self, x: Self) -> Self;
}

/// What [`Scalar::apart`] runs. It takes and returns lanes only within structs or behind references.
pub trait Work {
    /// What comes out.
    type Output;
    /// Does it; put `#[inline(always)]` on it.
    fn run(self) -> Self::Output;
}

/// For numbers that need no instruction set.
#[inline(never)]
pub(crate) fn run_apart<W: Work>(work: W) -> W::Output {
    work.run()
}

macro_rules! impl_real {
    ($float:ident, $ln:path, $exp:path, $rsqrt_estimate:path, $binary_magnitude:path) => {
        impl Scalar for $float {
            type Mask = bool;
            const PRECISION: f64 = $float::EPSILON as f64;
            const TINY: f64 = $float::MIN_POSITIVE as f64;

            #[inline(always)]
            fn apart<W: Work>(work: W) -> W::Output {
                run_apart(work)
            }
            #[inline(always)]
            fn splat(value: f64) -> Self {
                value as $float
            }
            #[inline(always)]
            fn mul_add(self, b: Self, c: Self) -> Self {
                $float::mul_add(self, b, c)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                $float::sqrt(self)
            }
            #[inline(always)]
            fn rsqrt_estimate(self) -> Self {
                $rsqrt_estimate(self)
            }
            #[inline(always)]
            fn ln(self) -> Self {
                $ln(self)
            }
            #[inline(always)]
            fn exp(self) -> Self {
                $exp(self)
            }
            #[inline(always)]
            fn binary_magnitude(self) -> Self {
                $binary_magnitude(self)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                $float::abs(self)
            }
            #[inline(always)]
            fn lt(self, other: Self) -> bool {
                self < other
            }
            #[inline(always)]
            fn le(self, other: Self) -> bool {
                self <= other
            }
            #[inline(always)]
            fn select(mask: bool, if_true: Self, if_false: Self) -> Self {
                if mask { if_true } else { if_false }
            }
            #[inline(always)]
            fn any(mask: bool) -> bool {
                mask
            }
            #[inline(always)]
            fn all(mask: bool) -> bool {
                mask
            }
        }

        impl LaneScalar for $float {
            type Element = $float;
            const LANES: usize = 1;

            #[inline(always)]
            fn load(values: &[$float]) -> Self {
                values[0]
            }
            #[inline(always)]
            fn store(self, out: &mut [$float]) {
                out[0] = self;
            }
        }

        impl Real for $float {
            const EPSILON: Self = $float::EPSILON;
            const MIN_POSITIVE: Self = $float::MIN_POSITIVE;
            const MAX: Self = $float::MAX;

            #[inline(always)]
            #[allow(clippy::unnecessary_cast)]
            fn to_f64(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            #[allow(clippy::unnecessary_cast)]
            fn from_f64(value: f64) -> Self {
                value as $float
            }
            #[inline(always)]
            fn is_finite(self) -> bool {
                $float::is_finite(self)
            }
            #[inline(always)]
            fn sin(self) -> Self {
                $float::sin(self)
            }
            #[inline(always)]
            fn cos(self) -> Self {
                $float::cos(self)
            }
            #[inline(always)]
            fn atan2(self, x: Self) -> Self {
                $float::atan2(self, x)
            }
        }
    };
}

impl_real!(
    f32,
    elementary::ln_f32,
    elementary::exp_f32,
    elementary::rsqrt_estimate_f32,
    elementary::binary_magnitude_f32
);
impl_real!(
    f64,
    elementary::ln_f64,
    elementary::exp_f64,
    elementary::rsqrt_estimate_f64,
    elementary::binary_magnitude_f64
);
