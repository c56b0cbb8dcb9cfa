//! Quaternions as rotations.

use std::ops::{Add, Mul, Neg, Sub};

use crate::mat3::Mat3;
use crate::scalar::{Real, Scalar};
use crate::vec3::Vec3;

/// The quaternion w + x i + y j + z k with Hamilton's product (i j = k); `Quaternion` alone is `Quaternion<f64>`.
///
/// A unit quaternion (cos θ/2, n sin θ/2) rotates vectors by the angle θ about the axis n. The functions that rotate
/// expect unit length and do not enforce it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Quaternion<S = f64> {
    /// Real part, cos θ/2.
    pub w: S,
    /// Coefficient of i.
    pub x: S,
    /// Coefficient of j.
    pub y: S,
    /// Coefficient of k.
    pub z: S,
}

/// Below this angle \[rad\], sin θ/2 / θ is replaced by its series ½ − θ²/48: the next term is θ⁴/3840 < 3e-20.
const SERIES_ANGLE: f64 = 1e-4;

impl<S> Quaternion<S> {
    /// The quaternion w + x i + y j + z k.
    #[inline(always)]
    pub const fn new(w: S, x: S, y: S, z: S) -> Self {
        Self { w, x, y, z }
    }
}

impl<S: Scalar> Quaternion<S> {
    /// No rotation.
    #[inline(always)]
    pub fn identity() -> Self {
        Self::new(S::one(), S::zero(), S::zero(), S::zero())
    }

    /// Real part and vector part together.
    #[inline(always)]
    pub fn from_parts(w: S, v: Vec3<S>) -> Self {
        Self::new(w, v.x, v.y, v.z)
    }

    /// The vector part (x, y, z).
    #[inline(always)]
    pub fn vector(self) -> Vec3<S> {
        Vec3::new(self.x, self.y, self.z)
    }

    /// The inverse rotation (of a unit quaternion).
    #[inline(always)]
    pub fn conjugate(self) -> Self {
        Self::new(self.w, -self.x, -self.y, -self.z)
    }

    /// Scalar product of the four coefficients.
    #[inline(always)]
    pub fn dot(self, other: Self) -> S {
        self.w * other.w + self.x * other.x + self.y * other.y + self.z * other.z
    }

    /// Squared length.
    #[inline(always)]
    pub fn norm_squared(self) -> S {
        self.dot(self)
    }

    /// Length.
    #[inline(always)]
    pub fn norm(self) -> S {
        self.norm_squared().sqrt()
    }

    /// The unit quaternion in the same direction; NaN for zero.
    #[inline(always)]
    pub fn normalized(self) -> Self {
        self * self.norm_squared().rsqrt()
    }

    /// The rotation matrix of a unit quaternion.
    #[inline(always)]
    pub fn to_matrix(self) -> Mat3<S> {
        let two = S::splat(2.0);
        let one = S::one();
        let (x2, y2, z2) = (self.x * two, self.y * two, self.z * two);
        let (xx, yy, zz) = (self.x * x2, self.y * y2, self.z * z2);
        let (xy, yz, zx) = (self.x * y2, self.y * z2, self.z * x2);
        let (wx, wy, wz) = (self.w * x2, self.w * y2, self.w * z2);
        Mat3::new([
            [one - (yy + zz), xy - wz, zx + wy],
            [xy + wz, one - (zz + xx), yz - wx],
            [zx - wy, yz + wx, one - (xx + yy)],
        ])
    }

    /// The vector v rotated by a unit quaternion: v + 2 w (u × v) + 2 u × (u × v).
    #[inline(always)]
    pub fn rotate(self, v: Vec3<S>) -> Vec3<S> {
        let u = self.vector();
        let t = u.cross(v) * S::splat(2.0);
        v + t * self.w + u.cross(t)
    }
}

impl<S: Real> Quaternion<S> {
    /// Rotation by `angle` \[rad\] about `axis`, which need not have unit length. A zero axis gives no rotation.
    pub fn from_axis_angle(axis: Vec3<S>, angle: S) -> Self {
        let length = axis.norm();
        if length == S::zero() {
            return Self::identity();
        }
        let half = angle * S::splat(0.5);
        Self::from_parts(half.cos(), axis * (half.sin() / length))
    }

    /// Exponential map: rotation by the angle |v| \[rad\] about the direction of v.
    pub fn exp_map(v: Vec3<S>) -> Self {
        let angle = v.norm();
        let half = angle * S::splat(0.5);
        let factor = if angle < S::splat(SERIES_ANGLE) {
            S::splat(0.5) - angle * angle * S::splat(1.0 / 48.0)
        } else {
            half.sin() / angle
        };
        Self::from_parts(half.cos(), v * factor)
    }

    /// Logarithm map: the rotation vector of a unit quaternion, with length in \[0, π\].
    pub fn log_map(self) -> Vec3<S> {
        // q and −q are the same rotation; the one with w ≥ 0 has the shorter angle.
        let q = if self.w < S::zero() { -self } else { self };
        let sine = q.vector().norm();
        if sine < S::splat(0.5 * SERIES_ANGLE) {
            // 2 asin(s)/s = 2 + s²/3 + …
            return q.vector() * (S::splat(2.0) + sine * sine * S::splat(1.0 / 3.0));
        }
        q.vector() * (S::splat(2.0) * sine.atan2(q.w) / sine)
    }

    /// The unit quaternion of a rotation matrix, with w ≥ 0 unless w vanishes.
    ///
    /// Divides by the largest of the four coefficients, so no cancellation for any angle (Shepperd 1978).
    pub fn from_rotation_matrix(r: &Mat3<S>) -> Self {
        let (one, quarter) = (S::one(), S::splat(0.25));
        let [[a, b, c], [d, e, f], [g, h, i]] = r.rows;
        // Four times the squares of w, x, y, z.
        let squares = [one + a + e + i, one + a - e - i, one - a + e - i, one - a - e + i];
        let mut largest = 0;
        for k in 1..4 {
            if squares[k] > squares[largest] {
                largest = k;
            }
        }
        let root = squares[largest].sqrt();
        let t = quarter * S::splat(2.0) / root;
        let q = match largest {
            0 => Self::new(root * S::splat(0.5), (h - f) * t, (c - g) * t, (d - b) * t),
            1 => Self::new((h - f) * t, root * S::splat(0.5), (b + d) * t, (g + c) * t),
            2 => Self::new((c - g) * t, (b + d) * t, root * S::splat(0.5), (f + h) * t),
            _ => Self::new((d - b) * t, (g + c) * t, (f + h) * t, root * S::splat(0.5)),
        };
        if q.w < S::zero() { -q } else { q }
    }

    /// Rotation at the fraction `t` of the shortest rotation from `self` to `other`, at constant angular speed.
    pub fn slerp(self, other: Self, t: S) -> Self {
        let cosine = self.dot(other);
        let end = if cosine < S::zero() { -other } else { other };
        // |a + b| and |a − b| give an accurate angle for near and far quaternions.
        let angle = S::splat(2.0) * (end - self).norm().atan2((end + self).norm());
        let sine = angle.sin();
        if sine < S::splat(SERIES_ANGLE) {
            return (self * (S::one() - t) + end * t).normalized();
        }
        self * (((S::one() - t) * angle).sin() / sine) + end * ((t * angle).sin() / sine)
    }
}

impl<S: Scalar> Mul for Quaternion<S> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        Self::new(
            self.w * b.w - self.x * b.x - self.y * b.y - self.z * b.z,
            self.w * b.x + self.x * b.w + self.y * b.z - self.z * b.y,
            self.w * b.y - self.x * b.z + self.y * b.w + self.z * b.x,
            self.w * b.z + self.x * b.y - self.y * b.x + self.z * b.w,
        )
    }
}

impl<S: Scalar> Mul<S> for Quaternion<S> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, factor: S) -> Self {
        Self::new(self.w * factor, self.x * factor, self.y * factor, self.z * factor)
    }
}

impl<S: Scalar> Add for Quaternion<S> {
    type Output = Self;
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        Self::new(self.w + b.w, self.x + b.x, self.y + b.y, self.z + b.z)
    }
}

impl<S: Scalar> Sub for Quaternion<S> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        Self::new(self.w - b.w, self.x - b.x, self.y - b.y, self.z - b.z)
    }
}

impl<S: Scalar> Neg for Quaternion<S> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self::new(-self.w, -self.x, -self.y, -self.z)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rotations whose angles cover the branches of the conversion, among them half turns about each axis.
    fn rotations() -> Vec<Quaternion> {
        let mut list = Vec::new();
        for axis in [Vec3::new(1.0, 0.0, 0.0), Vec3::unit(1), Vec3::unit(2), Vec3::new(1.0, -2.0, 0.5)] {
            for angle in [0.0, 1e-9, 1e-3, 1.0, 2.5, 3.1, std::f64::consts::PI] {
                list.push(Quaternion::from_axis_angle(axis, angle));
            }
        }
        list
    }

    #[test]
    fn quaternion_and_matrix_rotate_alike() {
        let v = Vec3::new(0.3, -1.2, 2.0);
        for q in rotations() {
            assert!((q.rotate(v) - q.to_matrix() * v).norm() < 1e-14);
        }
        // A quarter turn about z takes x to y: fixes handedness.
        let quarter = Quaternion::from_axis_angle(Vec3::unit(2), std::f64::consts::FRAC_PI_2);
        assert!((quarter.rotate(Vec3::unit(0)) - Vec3::unit(1)).norm() < 1e-15);
    }

    #[test]
    fn matrix_round_trip_returns_the_same_rotation() {
        for q in rotations() {
            let back = Quaternion::from_rotation_matrix(&q.to_matrix());
            assert!((1.0 - back.dot(q).abs()).abs() < 1e-14);
            assert!((back.to_matrix() - q.to_matrix()).norm() < 1e-14);
        }
    }

    #[test]
    fn product_of_quaternions_is_product_of_matrices() {
        let list = rotations();
        for pair in list.windows(2) {
            let product = (pair[0] * pair[1]).to_matrix();
            assert!((product - pair[0].to_matrix() * pair[1].to_matrix()).norm() < 1e-14);
        }
    }

    #[test]
    fn logarithm_inverts_the_exponential() {
        let direction = Vec3::new(2.0, -1.0, 0.5).normalized();
        for angle in [0.0, 1e-12, 1e-5, 1e-4, 0.1, 2.0, 3.1] {
            let back = Quaternion::exp_map(direction * angle).log_map();
            // Near π the sine of half the angle is flat, but the arctangent keeps full accuracy.
            assert!((back - direction * angle).norm() < 1e-14 * (1.0 + angle));
        }
    }

    #[test]
    fn slerp_advances_the_angle_linearly() {
        let axis = Vec3::new(1.0, 1.0, -0.3);
        for total in [1e-6, 0.3, 3.0] {
            let a = Quaternion::from_axis_angle(axis, 0.2);
            let b = Quaternion::from_axis_angle(axis, 0.2 + total);
            for t in [0.0, 0.25, 1.0] {
                let expected = Quaternion::from_axis_angle(axis, 0.2 + t * total);
                assert!((1.0 - a.slerp(b, t).dot(expected).abs()).abs() < 1e-14);
                // The long way around must give the same short rotation.
                assert!((1.0 - a.slerp(-b, t).dot(expected).abs()).abs() < 1e-14);
            }
        }
    }
}
