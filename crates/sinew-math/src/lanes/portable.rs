//! Lanes as arrays in plain Rust.

use std::ops::{Add, AddAssign, BitAnd, BitOr, Div, DivAssign, Mul, MulAssign, Neg, Not, Sub, SubAssign};

use crate::scalar::{LaneScalar, Real, Scalar, Work, run_apart};

/// `N` numbers, each treated as if it were alone. Runs on any processor; the reference for the others.
///
/// On x86-64, where it is the fallback for processors that are older than AVX2, its operations are function calls:
/// inlined and unrolled for each lane, this one level would take most of the time to compile a kernel.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Portable<T, const N: usize>([T; N]);

/// One truth value per lane of [`Portable`].
#[derive(Clone, Copy, Debug)]
pub struct PortableMask<const N: usize>([bool; N]);

impl<T: Real, const N: usize> Default for Portable<T, N> {
    #[inline(always)]
    fn default() -> Self {
        Self([T::default(); N])
    }
}

impl<T: Real, const N: usize> Portable<T, N> {
    #[cfg_attr(target_arch = "x86_64", inline(never))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    fn map(mut self, f: impl Fn(T) -> T) -> Self {
        for value in &mut self.0 {
            *value = f(*value);
        }
        self
    }

    #[cfg_attr(target_arch = "x86_64", inline(never))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    fn zip(mut self, other: Self, f: impl Fn(T, T) -> T) -> Self {
        for (value, other) in self.0.iter_mut().zip(other.0) {
            *value = f(*value, other);
        }
        self
    }

    #[cfg_attr(target_arch = "x86_64", inline(never))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    fn compare(self, other: Self, f: impl Fn(T, T) -> bool) -> PortableMask<N> {
        let mut mask = [false; N];
        for (out, (a, b)) in mask.iter_mut().zip(self.0.into_iter().zip(other.0)) {
            *out = f(a, b);
        }
        PortableMask(mask)
    }
}

macro_rules! impl_operator {
    ($operator:ident, $method:ident, $assign:ident, $assign_method:ident) => {
        impl<T: Real, const N: usize> $operator for Portable<T, N> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, o: Self) -> Self {
                self.zip(o, |a, b| a.$method(b))
            }
        }

        impl<T: Real, const N: usize> $assign for Portable<T, N> {
            #[inline(always)]
            fn $assign_method(&mut self, o: Self) {
                *self = self.$method(o);
            }
        }
    };
}

impl_operator!(Add, add, AddAssign, add_assign);
impl_operator!(Sub, sub, SubAssign, sub_assign);
impl_operator!(Mul, mul, MulAssign, mul_assign);
impl_operator!(Div, div, DivAssign, div_assign);

impl<T: Real, const N: usize> Neg for Portable<T, N> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        self.map(|a| -a)
    }
}

impl<const N: usize> BitAnd for PortableMask<N> {
    type Output = Self;
    #[cfg_attr(target_arch = "x86_64", inline(never))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    fn bitand(mut self, o: Self) -> Self {
        for (a, b) in self.0.iter_mut().zip(o.0) {
            *a &= b;
        }
        self
    }
}

impl<const N: usize> BitOr for PortableMask<N> {
    type Output = Self;
    #[cfg_attr(target_arch = "x86_64", inline(never))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    fn bitor(mut self, o: Self) -> Self {
        for (a, b) in self.0.iter_mut().zip(o.0) {
            *a |= b;
        }
        self
    }
}

impl<const N: usize> Not for PortableMask<N> {
    type Output = Self;
    #[cfg_attr(target_arch = "x86_64", inline(never))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    fn not(mut self) -> Self {
        for a in &mut self.0 {
            *a = !*a;
        }
        self
    }
}

impl<T: Real, const N: usize> Scalar for Portable<T, N> {
    type Mask = PortableMask<N>;
    const PRECISION: f64 = T::PRECISION;
    const TINY: f64 = T::TINY;

    #[inline(always)]
    fn apart<W: Work>(work: W) -> W::Output {
        run_apart(work)
    }
    #[inline(always)]
    fn splat(value: f64) -> Self {
        Self([T::splat(value); N])
    }
    #[cfg_attr(target_arch = "x86_64", inline(never))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    fn mul_add(mut self, b: Self, c: Self) -> Self {
        for (a, (b, c)) in self.0.iter_mut().zip(b.0.into_iter().zip(c.0)) {
            *a = a.mul_add(b, c);
        }
        self
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        self.map(T::sqrt)
    }
    #[inline(always)]
    fn rsqrt_estimate(self) -> Self {
        self.map(T::rsqrt_estimate)
    }
    #[cfg_attr(target_arch = "x86_64", inline(never))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    fn ln(self) -> Self {
        self.map(T::ln)
    }
    #[cfg_attr(target_arch = "x86_64", inline(never))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    fn exp(self) -> Self {
        self.map(T::exp)
    }
    #[inline(always)]
    fn binary_magnitude(self) -> Self {
        self.map(T::binary_magnitude)
    }
    #[inline(always)]
    fn abs(self) -> Self {
        self.map(T::abs)
    }
    #[inline(always)]
    fn lt(self, o: Self) -> PortableMask<N> {
        self.compare(o, |a, b| a < b)
    }
    #[inline(always)]
    fn le(self, o: Self) -> PortableMask<N> {
        self.compare(o, |a, b| a <= b)
    }
    #[cfg_attr(target_arch = "x86_64", inline(never))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    fn select(mask: PortableMask<N>, if_true: Self, mut if_false: Self) -> Self {
        for (out, (chosen, value)) in if_false.0.iter_mut().zip(mask.0.into_iter().zip(if_true.0)) {
            *out = if chosen { value } else { *out };
        }
        if_false
    }
    #[inline(always)]
    fn any(mask: PortableMask<N>) -> bool {
        mask.0.contains(&true)
    }
    #[inline(always)]
    fn all(mask: PortableMask<N>) -> bool {
        !mask.0.contains(&false)
    }
}

impl<T: Real, const N: usize> LaneScalar for Portable<T, N> {
    type Element = T;
    const LANES: usize = N;
    const IS_FALLBACK: bool = cfg!(target_arch = "x86_64");

    #[inline(always)]
    fn load(values: &[T]) -> Self {
        let mut lanes = [T::default(); N];
        lanes.copy_from_slice(&values[..N]);
        Self(lanes)
    }
    #[inline(always)]
    fn store(self, out: &mut [T]) {
        out[..N].copy_from_slice(&self.0);
    }
}
