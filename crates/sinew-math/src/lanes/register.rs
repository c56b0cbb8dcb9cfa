//! A lane type from one vector register and a list of intrinsics.

/// Defines `$name` around one register, its mask, and their traits.
///
/// Soundness of the `unsafe` blocks: they call intrinsics whose only precondition is that the processor has the
/// instruction. The types are reachable only through an [`Isa`](super::Isa) whose implementation is private to the
/// parent module, which hands it out after checking the processor (`run_at`).
macro_rules! register_lanes {
    (
        $(#[$doc:meta])* $name:ident, $element:ident, $lanes:literal, $register:ty, $mask_name:ident($mask:ty), bits $bits:ty, of $isa:ident;
        splat $splat:ident, load $load:ident, store $store:ident, gather($ga_v:ident, $ga_i:ident) $gather:expr,
        shift($sh_a:ident, $sh_p:ident) $shift:expr;
        add $add:ident, sub $sub:ident, mul $mul:ident, div $div:ident, sqrt $sqrt:ident, fma $fma:ident;
        lt($lt_a:ident, $lt_b:ident) $lt:expr;
        le($le_a:ident, $le_b:ident) $le:expr;
        select($sel_m:ident, $sel_t:ident, $sel_f:ident) $select:expr;
        and($and_a:ident, $and_b:ident) $and:expr;
        or($or_a:ident, $or_b:ident) $or:expr;
        not($not_a:ident) $not:expr;
        movemask($mm_a:ident) $movemask:expr, full $full:expr;
        to_bits $to_bits:ident, from_bits $from_bits:ident, bits_splat $bits_splat:ident as $int:ident;
        bits_add $bits_add:ident, bits_sub $bits_sub:ident, bits_and $bits_and:ident, bits_or $bits_or:ident;
        bits_xor $bits_xor:ident, bits_shl $bits_shl:ident, bits_shr $bits_shr:ident;
        sign $sign:expr;
        ln $ln:path, exp $exp:path, rsqrt_estimate $rsqrt_estimate:path,
        binary_magnitude $binary_magnitude:path;
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        #[repr(transparent)]
        pub struct $name($register);

        /// One truth value per lane.
        #[derive(Clone, Copy, Debug)]
        #[repr(transparent)]
        pub struct $mask_name($mask);

        impl Default for $name {
            #[inline(always)]
            fn default() -> Self {
                Self::splat(0.0)
            }
        }

        register_lanes!(@operator $name, Add, add, AddAssign, add_assign, $add);
        register_lanes!(@operator $name, Sub, sub, SubAssign, sub_assign, $sub);
        register_lanes!(@operator $name, Mul, mul, MulAssign, mul_assign, $mul);
        register_lanes!(@operator $name, Div, div, DivAssign, div_assign, $div);

        impl Neg for $name {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                // SAFETY: the instruction exists, see the macro.
                unsafe { Self($from_bits($bits_xor($to_bits(self.0), $bits_splat($sign as $int)))) }
            }
        }

        impl BitAnd for $mask_name {
            type Output = Self;
            #[inline(always)]
            #[allow(unused_unsafe)]
            fn bitand(self, o: Self) -> Self {
                let ($and_a, $and_b) = (self.0, o.0);
                // SAFETY: the instruction exists, see the macro.
                Self(unsafe { $and })
            }
        }

        impl BitOr for $mask_name {
            type Output = Self;
            #[inline(always)]
            #[allow(unused_unsafe)]
            fn bitor(self, o: Self) -> Self {
                let ($or_a, $or_b) = (self.0, o.0);
                // SAFETY: the instruction exists, see the macro.
                Self(unsafe { $or })
            }
        }

        impl Not for $mask_name {
            type Output = Self;
            #[inline(always)]
            #[allow(unused_unsafe)]
            fn not(self) -> Self {
                let $not_a = self.0;
                // SAFETY: the instruction exists, see the macro.
                Self(unsafe { $not })
            }
        }

        impl $mask_name {
            #[inline(always)]
            #[allow(unused_unsafe)]
            fn bitmask(self) -> u32 {
                let $mm_a = self.0;
                // SAFETY: the instruction exists, see the macro.
                unsafe { $movemask as u32 }
            }
        }

        impl Scalar for $name {
            type Mask = $mask_name;
            const PRECISION: f64 = $element::PRECISION;
            const TINY: f64 = $element::TINY;

            #[inline(always)]
            fn apart<W: Work>(work: W) -> W::Output {
                call::<$isa, W, _>(Apart(work))
            }
            #[inline(always)]
            fn splat(value: f64) -> Self {
                // SAFETY: the instruction exists, see the macro.
                unsafe { Self($splat(value as $element)) }
            }
            #[inline(always)]
            fn mul_add(self, b: Self, c: Self) -> Self {
                // SAFETY: the instruction exists, see the macro.
                unsafe { Self($fma(self.0, b.0, c.0)) }
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                // SAFETY: the instruction exists, see the macro.
                unsafe { Self($sqrt(self.0)) }
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
                // SAFETY: the instruction exists, see the macro.
                unsafe { Self($from_bits($bits_and($to_bits(self.0), $bits_splat(!$sign as $int)))) }
            }
            #[inline(always)]
            fn lt(self, o: Self) -> $mask_name {
                let ($lt_a, $lt_b) = (self.0, o.0);
                // SAFETY: the instruction exists, see the macro.
                $mask_name(unsafe { $lt })
            }
            #[inline(always)]
            fn le(self, o: Self) -> $mask_name {
                let ($le_a, $le_b) = (self.0, o.0);
                // SAFETY: the instruction exists, see the macro.
                $mask_name(unsafe { $le })
            }
            #[inline(always)]
            fn select(mask: $mask_name, if_true: Self, if_false: Self) -> Self {
                let ($sel_m, $sel_t, $sel_f) = (mask.0, if_true.0, if_false.0);
                // SAFETY: the instruction exists, see the macro.
                Self(unsafe { $select })
            }
            #[inline(always)]
            fn any(mask: $mask_name) -> bool {
                mask.bitmask() != 0
            }
            #[inline(always)]
            fn all(mask: $mask_name) -> bool {
                mask.bitmask() == $full
            }
        }

        impl FloatBits for $name {
            type Bits = $bits;

            #[inline(always)]
            fn to_bits(self) -> $bits {
                // SAFETY: the instruction exists, see the macro.
                unsafe { $to_bits(self.0) }
            }
            #[inline(always)]
            fn from_bits(bits: $bits) -> Self {
                // SAFETY: the instruction exists, see the macro.
                unsafe { Self($from_bits(bits)) }
            }
            #[inline(always)]
            fn bits(value: u64) -> $bits {
                // SAFETY: the instruction exists, see the macro.
                unsafe { $bits_splat(value as $int) }
            }
            #[inline(always)]
            fn bits_add(a: $bits, b: $bits) -> $bits {
                // SAFETY: the instruction exists, see the macro.
                unsafe { $bits_add(a, b) }
            }
            #[inline(always)]
            fn bits_sub(a: $bits, b: $bits) -> $bits {
                // SAFETY: the instruction exists, see the macro.
                unsafe { $bits_sub(a, b) }
            }
            #[inline(always)]
            fn bits_and(a: $bits, b: $bits) -> $bits {
                // SAFETY: the instruction exists, see the macro.
                unsafe { $bits_and(a, b) }
            }
            #[inline(always)]
            fn bits_or(a: $bits, b: $bits) -> $bits {
                // SAFETY: the instruction exists, see the macro.
                unsafe { $bits_or(a, b) }
            }
            #[inline(always)]
            fn bits_shl(a: $bits, count: u32) -> $bits {
                // SAFETY: the instruction exists, see the macro.
                unsafe { $bits_shl(a, _mm_cvtsi32_si128(count as i32)) }
            }
            #[inline(always)]
            fn bits_shr(a: $bits, count: u32) -> $bits {
                // SAFETY: the instruction exists, see the macro.
                unsafe { $bits_shr(a, _mm_cvtsi32_si128(count as i32)) }
            }
        }

        impl LaneScalar for $name {
            type Element = $element;
            const LANES: usize = $lanes;

            #[inline(always)]
            fn load(values: &[$element]) -> Self {
                let values = &values[..$lanes];
                // SAFETY: the instruction exists, see the macro; the slice holds as many numbers as the register, and
                // the load needs no alignment.
                unsafe { Self($load(values.as_ptr())) }
            }
            #[inline(always)]
            fn store(self, out: &mut [$element]) {
                let out = &mut out[..$lanes];
                // SAFETY: the instruction exists, see the macro; the slice holds as many numbers as the register, and
                // the store needs no alignment.
                unsafe { $store(out.as_mut_ptr(), self.0) }
            }
            #[inline(always)]
            unsafe fn gather(values: &[$element], indices: &[u32]) -> Self {
                let ($ga_v, $ga_i) = (values.as_ptr(), indices[..$lanes].as_ptr());
                // SAFETY: the instruction exists, see the macro; there are as many indices as lanes, and the caller
                // guarantees that they are in range and fit the signed numbers of the instruction.
                unsafe { Self($gather) }
            }
            #[inline(always)]
            fn shift_in(self, previous: Self) -> Self {
                let ($sh_a, $sh_p) = (self.0, previous.0);
                // SAFETY: the instruction exists, see the macro.
                unsafe { Self($shift) }
            }
        }
    };
    (@operator $name:ident, $operator:ident, $method:ident, $assign:ident, $assign_method:ident, $intrinsic:ident) => {
        impl $operator for $name {
            type Output = Self;
            #[inline(always)]
            fn $method(self, o: Self) -> Self {
                // SAFETY: the instruction exists, see the macro.
                unsafe { Self($intrinsic(self.0, o.0)) }
            }
        }

        impl $assign for $name {
            #[inline(always)]
            fn $assign_method(&mut self, o: Self) {
                *self = self.$method(o);
            }
        }
    };
}

pub(super) use register_lanes;
