//! Vectors with three components.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Index, IndexMut, Mul, MulAssign, Neg, Sub, SubAssign};

use crate::scalar::{Real, Scalar};

/// A vector of three scalars; `Vec3` alone is `Vec3<f64>`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Vec3<S = f64> {
    /// First component.
    pub x: S,
    /// Second component.
    pub y: S,
    /// Third component.
    pub z: S,
}

impl<S> Vec3<S> {
    /// The vector (x, y, z).
    #[inline(always)]
    pub const fn new(x: S, y: S, z: S) -> Self {
        Self { x, y, z }
    }

    /// The components of all vectors, one after another.
    #[inline(always)]
    pub fn as_flattened(vectors: &[Self]) -> &[S] {
        // SAFETY: `Vec3` is `repr(C)` with three fields of type S: it has the size and alignment of [S; 3], without
        // padding.
        unsafe { std::slice::from_raw_parts(vectors.as_ptr().cast(), 3 * vectors.len()) }
    }
}

impl<S: Scalar> Vec3<S> {
    /// The vector with three equal components.
    #[inline(always)]
    pub fn splat(value: S) -> Self {
        Self::new(value, value, value)
    }

    /// The zero vector.
    #[inline(always)]
    pub fn zero() -> Self {
        Self::splat(S::zero())
    }

    /// The unit vector along axis 0, 1 or 2.
    #[inline(always)]
    pub fn unit(axis: usize) -> Self {
        let mut vector = Self::zero();
        vector[axis] = S::one();
        vector
    }

    /// The same `f64` vector in every lane.
    #[inline(always)]
    pub fn from_f64(vector: Vec3<f64>) -> Self {
        Self::new(S::splat(vector.x), S::splat(vector.y), S::splat(vector.z))
    }

    /// Dot product. Never conjugates, so that it stays analytic for [`ComplexStep`](crate::ComplexStep).
    #[inline(always)]
    pub fn dot(self, other: Self) -> S {
        self.x * other.x + self.y * other.y + self.z * other.z
    }

    /// Cross product `self × other`.
    #[inline(always)]
    pub fn cross(self, other: Self) -> Self {
        Self::new(
            self.y * other.z - self.z * other.y,
            self.z * other.x - self.x * other.z,
            self.x * other.y - self.y * other.x,
        )
    }

    /// Squared Euclidean length.
    #[inline(always)]
    pub fn norm_squared(self) -> S {
        self.dot(self)
    }

    /// Euclidean length.
    #[inline(always)]
    pub fn norm(self) -> S {
        self.norm_squared().sqrt()
    }

    /// The vector of length one in the same direction; NaN for the zero vector.
    #[inline(always)]
    pub fn normalized(self) -> Self {
        self * self.norm_squared().rsqrt()
    }

    /// Applies `f` to each component.
    #[inline(always)]
    pub fn map<T>(self, mut f: impl FnMut(S) -> T) -> Vec3<T> {
        Vec3::new(f(self.x), f(self.y), f(self.z))
    }

    /// Product component by component.
    #[inline(always)]
    pub fn component_mul(self, other: Self) -> Self {
        Self::new(self.x * other.x, self.y * other.y, self.z * other.z)
    }

    /// Quotient component by component.
    #[inline(always)]
    pub fn component_div(self, other: Self) -> Self {
        Self::new(self.x / other.x, self.y / other.y, self.z / other.z)
    }

    /// Absolute value component by component.
    #[inline(always)]
    pub fn abs(self) -> Self {
        Self::new(self.x.abs(), self.y.abs(), self.z.abs())
    }

    /// Smaller value component by component.
    #[inline(always)]
    pub fn min(self, other: Self) -> Self {
        Self::new(S::min(self.x, other.x), S::min(self.y, other.y), S::min(self.z, other.z))
    }

    /// Larger value component by component.
    #[inline(always)]
    pub fn max(self, other: Self) -> Self {
        Self::new(S::max(self.x, other.x), S::max(self.y, other.y), S::max(self.z, other.z))
    }

    /// Smallest component.
    #[inline(always)]
    pub fn min_component(self) -> S {
        S::min(S::min(self.x, self.y), self.z)
    }

    /// Largest component.
    #[inline(always)]
    pub fn max_component(self) -> S {
        S::max(S::max(self.x, self.y), self.z)
    }

    /// Sum of the components.
    #[inline(always)]
    pub fn sum(self) -> S {
        self.x + self.y + self.z
    }

    /// The components as an array.
    #[inline(always)]
    pub fn to_array(self) -> [S; 3] {
        [self.x, self.y, self.z]
    }

    /// Distance between two points.
    #[inline(always)]
    pub fn distance(self, other: Self) -> S {
        (self - other).norm()
    }

    /// `self + t (other − self)`.
    #[inline(always)]
    pub fn lerp(self, other: Self, t: S) -> Self {
        self + (other - self) * t
    }

    /// `if_true` where the mask holds, else `if_false`.
    #[inline(always)]
    pub fn select(mask: S::Mask, if_true: Self, if_false: Self) -> Self {
        Self::new(
            S::select(mask, if_true.x, if_false.x),
            S::select(mask, if_true.y, if_false.y),
            S::select(mask, if_true.z, if_false.z),
        )
    }
}

impl<S: Real> Vec3<S> {
    /// Whether no component is infinite or NaN.
    #[inline(always)]
    pub fn is_finite(self) -> bool {
        self.x.is_finite() && self.y.is_finite() && self.z.is_finite()
    }

    /// The same vector in `f64`.
    #[inline(always)]
    pub fn to_f64(self) -> Vec3<f64> {
        Vec3::new(self.x.to_f64(), self.y.to_f64(), self.z.to_f64())
    }
}

impl<S> From<[S; 3]> for Vec3<S> {
    #[inline(always)]
    fn from([x, y, z]: [S; 3]) -> Self {
        Self { x, y, z }
    }
}

impl<S> From<Vec3<S>> for [S; 3] {
    #[inline(always)]
    fn from(vector: Vec3<S>) -> Self {
        [vector.x, vector.y, vector.z]
    }
}

impl<S> Index<usize> for Vec3<S> {
    type Output = S;
    #[inline(always)]
    fn index(&self, axis: usize) -> &S {
        match axis {
            0 => &self.x,
            1 => &self.y,
            2 => &self.z,
            _ => panic!("a Vec3 has no component {axis}"),
        }
    }
}

impl<S> IndexMut<usize> for Vec3<S> {
    #[inline(always)]
    fn index_mut(&mut self, axis: usize) -> &mut S {
        match axis {
            0 => &mut self.x,
            1 => &mut self.y,
            2 => &mut self.z,
            _ => panic!("a Vec3 has no component {axis}"),
        }
    }
}

impl<S: Scalar> Add for Vec3<S> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self::new(self.x + other.x, self.y + other.y, self.z + other.z)
    }
}

impl<S: Scalar> Sub for Vec3<S> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self::new(self.x - other.x, self.y - other.y, self.z - other.z)
    }
}

impl<S: Scalar> Neg for Vec3<S> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self::new(-self.x, -self.y, -self.z)
    }
}

impl<S: Scalar> Mul<S> for Vec3<S> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, factor: S) -> Self {
        Self::new(self.x * factor, self.y * factor, self.z * factor)
    }
}

impl<S: Scalar> Div<S> for Vec3<S> {
    type Output = Self;
    #[inline(always)]
    fn div(self, divisor: S) -> Self {
        Self::new(self.x / divisor, self.y / divisor, self.z / divisor)
    }
}

impl Mul<Vec3<f64>> for f64 {
    type Output = Vec3<f64>;
    #[inline(always)]
    fn mul(self, vector: Vec3<f64>) -> Vec3<f64> {
        vector * self
    }
}

impl Mul<Vec3<f32>> for f32 {
    type Output = Vec3<f32>;
    #[inline(always)]
    fn mul(self, vector: Vec3<f32>) -> Vec3<f32> {
        vector * self
    }
}

impl<S: Scalar> AddAssign for Vec3<S> {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl<S: Scalar> SubAssign for Vec3<S> {
    #[inline(always)]
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl<S: Scalar> MulAssign<S> for Vec3<S> {
    #[inline(always)]
    fn mul_assign(&mut self, factor: S) {
        *self = *self * factor;
    }
}

impl<S: Scalar> DivAssign<S> for Vec3<S> {
    #[inline(always)]
    fn div_assign(&mut self, divisor: S) {
        *self = *self / divisor;
    }
}

impl<S: Scalar> Sum for Vec3<S> {
    fn sum<I: Iterator<Item = Self>>(vectors: I) -> Self {
        vectors.fold(Self::zero(), |sum, vector| sum + vector)
    }
}

impl<'a, S: Scalar> Sum<&'a Vec3<S>> for Vec3<S> {
    fn sum<I: Iterator<Item = &'a Self>>(vectors: I) -> Self {
        vectors.fold(Self::zero(), |sum, vector| sum + *vector)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cross_product_is_orthogonal_to_both_factors_and_right_handed() {
        // Small integers: every product and sum is exact.
        let (a, b) = (Vec3::new(1.0, -2.0, 3.0), Vec3::new(4.0, 5.0, -6.0));
        let c = a.cross(b);
        assert_eq!(c, Vec3::new(-3.0, 18.0, 13.0));
        assert_eq!(a.dot(c), 0.0);
        assert_eq!(b.dot(c), 0.0);
        assert_eq!(Vec3::unit(0).cross(Vec3::unit(1)), Vec3::<f64>::unit(2));
    }

    #[test]
    fn components_can_be_reached_by_name_and_by_index() {
        let mut v = Vec3::from([1.0, 2.0, 3.0]);
        v[1] += 5.0;
        assert_eq!((v.x, v[1], v.z), (1.0, 7.0, 3.0));
        assert_eq!(<[f64; 3]>::from(v), [1.0, 7.0, 3.0]);
        assert_eq!(2.0 * v, v + v);
        assert_eq!([v, v].iter().sum::<Vec3>(), v * 2.0);
    }

    #[test]
    fn normalized_vector_has_length_one() {
        let v = Vec3::new(3.0, 4.0, 12.0);
        assert_eq!(v.norm(), 13.0);
        // Two roundings in 1/sqrt and one per product.
        assert!((v.normalized().norm() - 1.0).abs() < 4.0 * f64::EPSILON);
    }
}
