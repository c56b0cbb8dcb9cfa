//! Two scalars side by side.

use std::ops::{Add, AddAssign, BitAnd, BitOr, Div, DivAssign, Mul, MulAssign, Neg, Not, Sub, SubAssign};

use crate::scalar::{LaneScalar, Scalar, Work};

/// Twice the lanes of `S`. Two independent chains of operations hide each other's latency, and two narrow registers
/// make one wide lane type.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Pair<S>(pub S, pub S);

macro_rules! impl_operator {
    ($operator:ident, $method:ident, $assign:ident, $assign_method:ident) => {
        impl<S: Scalar> $operator for Pair<S> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, o: Self) -> Self {
                Self(self.0.$method(o.0), self.1.$method(o.1))
            }
        }

        impl<S: Scalar> $assign for Pair<S> {
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

impl<S: Scalar> Neg for Pair<S> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(-self.0, -self.1)
    }
}

impl<M: BitAnd<Output = M>> BitAnd for Pair<M> {
    type Output = Self;
    #[inline(always)]
    fn bitand(self, o: Self) -> Self {
        Self(self.0 & o.0, self.1 & o.1)
    }
}

impl<M: BitOr<Output = M>> BitOr for Pair<M> {
    type Output = Self;
    #[inline(always)]
    fn bitor(self, o: Self) -> Self {
        Self(self.0 | o.0, self.1 | o.1)
    }
}

impl<M: Not<Output = M>> Not for Pair<M> {
    type Output = Self;
    #[inline(always)]
    fn not(self) -> Self {
        Self(!self.0, !self.1)
    }
}

impl<S: Scalar> Scalar for Pair<S> {
    type Mask = Pair<S::Mask>;
    const PRECISION: f64 = S::PRECISION;
    const TINY: f64 = S::TINY;

    #[inline(always)]
    fn apart<W: Work>(work: W) -> W::Output {
        S::apart(work)
    }
    #[inline(always)]
    fn splat(value: f64) -> Self {
        let half = S::splat(value);
        Self(half, half)
    }
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        Self(self.0.mul_add(b.0, c.0), self.1.mul_add(b.1, c.1))
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Self(self.0.sqrt(), self.1.sqrt())
    }
    #[inline(always)]
    fn rsqrt_estimate(self) -> Self {
        Self(self.0.rsqrt_estimate(), self.1.rsqrt_estimate())
    }
    #[inline(always)]
    fn ln(self) -> Self {
        Self(self.0.ln(), self.1.ln())
    }
    #[inline(always)]
    fn exp(self) -> Self {
        Self(self.0.exp(), self.1.exp())
    }
    #[inline(always)]
    fn binary_magnitude(self) -> Self {
        Self(self.0.binary_magnitude(), self.1.binary_magnitude())
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Self(self.0.abs(), self.1.abs())
    }
    #[inline(always)]
    fn lt(self, o: Self) -> Self::Mask {
        Pair(self.0.lt(o.0), self.1.lt(o.1))
    }
    #[inline(always)]
    fn le(self, o: Self) -> Self::Mask {
        Pair(self.0.le(o.0), self.1.le(o.1))
    }
    #[inline(always)]
    fn select(mask: Self::Mask, if_true: Self, if_false: Self) -> Self {
        Self(S::select(mask.0, if_true.0, if_false.0), S::select(mask.1, if_true.1, if_false.1))
    }
    #[inline(always)]
    fn any(mask: Self::Mask) -> bool {
        S::any(mask.0) || S::any(mask.1)
    }
    #[inline(always)]
    fn all(mask: Self::Mask) -> bool {
        S::all(mask.0) && S::all(mask.1)
    }
}

impl<S: LaneScalar> LaneScalar for Pair<S> {
    type Element = S::Element;
    const LANES: usize = 2 * S::LANES;

    #[inline(always)]
    fn load(values: &[S::Element]) -> Self {
        Self(S::load(values), S::load(&values[S::LANES..]))
    }
    #[inline(always)]
    fn store(self, out: &mut [S::Element]) {
        self.0.store(out);
        self.1.store(&mut out[S::LANES..]);
    }
    #[inline(always)]
    unsafe fn gather(values: &[S::Element], indices: &[u32]) -> Self {
        // SAFETY: the caller guarantees the preconditions of both halves.
        unsafe { Self(S::gather(values, indices), S::gather(values, &indices[S::LANES..])) }
    }
    #[inline(always)]
    fn shift_in(self, previous: Self) -> Self {
        Self(self.0.shift_in(previous.1), self.1.shift_in(self.0))
    }
}
