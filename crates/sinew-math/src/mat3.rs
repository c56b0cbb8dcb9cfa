//! Matrices with three rows and columns.

use std::ops::{Add, AddAssign, Div, DivAssign, Index, IndexMut, Mul, MulAssign, Neg, Sub, SubAssign};

use crate::scalar::{Real, Scalar};
use crate::vec3::Vec3;

/// A 3×3 matrix stored by rows; `Mat3` alone is `Mat3<f64>`. Entry of row i, column j: `m[(i, j)]`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Mat3<S = f64> {
    /// The three rows.
    pub rows: [[S; 3]; 3],
}

impl<S> Mat3<S> {
    /// The matrix with these rows.
    #[inline(always)]
    pub const fn new(rows: [[S; 3]; 3]) -> Self {
        Self { rows }
    }
}

impl<S: Scalar> Mat3<S> {
    /// The zero matrix.
    #[inline(always)]
    pub fn zero() -> Self {
        Self { rows: [[S::zero(); 3]; 3] }
    }

    /// The identity matrix.
    #[inline(always)]
    pub fn identity() -> Self {
        Self::diagonal(Vec3::splat(S::one()))
    }

    /// The diagonal matrix with these entries.
    #[inline(always)]
    pub fn diagonal(entries: Vec3<S>) -> Self {
        let o = S::zero();
        Self { rows: [[entries.x, o, o], [o, entries.y, o], [o, o, entries.z]] }
    }

    /// The matrix with these columns.
    #[inline(always)]
    pub fn from_columns(a: Vec3<S>, b: Vec3<S>, c: Vec3<S>) -> Self {
        Self { rows: [[a.x, b.x, c.x], [a.y, b.y, c.y], [a.z, b.z, c.z]] }
    }

    /// The matrix with these rows.
    #[inline(always)]
    pub fn from_rows(a: Vec3<S>, b: Vec3<S>, c: Vec3<S>) -> Self {
        Self { rows: [a.to_array(), b.to_array(), c.to_array()] }
    }

    /// The same `f64` matrix in every lane.
    #[inline(always)]
    pub fn from_f64(matrix: Mat3<f64>) -> Self {
        let [a, b, c] = matrix.rows;
        Self::from_rows(Vec3::from_f64(a.into()), Vec3::from_f64(b.into()), Vec3::from_f64(c.into()))
    }

    /// Outer product a bᵀ.
    #[inline(always)]
    pub fn outer(a: Vec3<S>, b: Vec3<S>) -> Self {
        Self::from_rows(b * a.x, b * a.y, b * a.z)
    }

    /// The skew-symmetric matrix \[v\]× that maps w to v × w.
    #[inline(always)]
    pub fn skew(v: Vec3<S>) -> Self {
        let o = S::zero();
        Self { rows: [[o, -v.z, v.y], [v.z, o, -v.x], [-v.y, v.x, o]] }
    }

    /// Row i.
    #[inline(always)]
    pub fn row(&self, i: usize) -> Vec3<S> {
        self.rows[i].into()
    }

    /// Column j.
    #[inline(always)]
    pub fn column(&self, j: usize) -> Vec3<S> {
        Vec3::new(self.rows[0][j], self.rows[1][j], self.rows[2][j])
    }

    /// Replaces column j.
    #[inline(always)]
    pub fn set_column(&mut self, j: usize, column: Vec3<S>) {
        self.rows[0][j] = column.x;
        self.rows[1][j] = column.y;
        self.rows[2][j] = column.z;
    }

    /// The entries on the diagonal.
    #[inline(always)]
    pub fn diagonal_entries(&self) -> Vec3<S> {
        Vec3::new(self.rows[0][0], self.rows[1][1], self.rows[2][2])
    }

    /// Transpose.
    #[inline(always)]
    pub fn transpose(&self) -> Self {
        Self::from_rows(self.column(0), self.column(1), self.column(2))
    }

    /// Determinant: the triple product of the rows.
    #[inline(always)]
    pub fn determinant(&self) -> S {
        self.row(0).dot(self.row(1).cross(self.row(2)))
    }

    /// Cofactor matrix ∂det/∂F = det(F) F⁻ᵀ, defined for singular matrices too.
    #[inline(always)]
    pub fn cofactor(&self) -> Self {
        let (a, b, c) = (self.row(0), self.row(1), self.row(2));
        Self::from_rows(b.cross(c), c.cross(a), a.cross(b))
    }

    /// Inverse. The caller guarantees a nonzero determinant; otherwise the entries are infinite or NaN.
    #[inline(always)]
    pub fn inverse(&self) -> Self {
        let cofactor = self.cofactor();
        cofactor.transpose() * self.row(0).dot(cofactor.row(0)).recip()
    }

    /// Trace.
    #[inline(always)]
    pub fn trace(&self) -> S {
        self.rows[0][0] + self.rows[1][1] + self.rows[2][2]
    }

    /// A : B, the sum of products of entries.
    #[inline(always)]
    pub fn double_dot(&self, other: &Self) -> S {
        self.row(0).dot(other.row(0)) + self.row(1).dot(other.row(1)) + self.row(2).dot(other.row(2))
    }

    /// Squared Frobenius norm A : A.
    #[inline(always)]
    pub fn norm_squared(&self) -> S {
        self.double_dot(self)
    }

    /// Frobenius norm.
    #[inline(always)]
    pub fn norm(&self) -> S {
        self.norm_squared().sqrt()
    }

    /// Symmetric part (A + Aᵀ)/2.
    #[inline(always)]
    pub fn symmetric_part(&self) -> Self {
        (*self + self.transpose()) * S::splat(0.5)
    }

    /// Skew-symmetric part (A − Aᵀ)/2.
    #[inline(always)]
    pub fn skew_part(&self) -> Self {
        (*self - self.transpose()) * S::splat(0.5)
    }

    /// Aᵀ B without forming the transpose.
    #[inline(always)]
    pub fn transpose_mul(&self, other: &Self) -> Self {
        let (a, b, c) = (self.column(0), self.column(1), self.column(2));
        let (x, y, z) = (other.row(0), other.row(1), other.row(2));
        Self::from_rows(x * a.x + y * a.y + z * a.z, x * b.x + y * b.y + z * b.z, x * c.x + y * c.y + z * c.z)
    }

    /// A Bᵀ without forming the transpose.
    #[inline(always)]
    pub fn mul_transpose(&self, other: &Self) -> Self {
        let (x, y, z) = (other.row(0), other.row(1), other.row(2));
        let (a, b, c) = (self.row(0), self.row(1), self.row(2));
        Self { rows: [[a.dot(x), a.dot(y), a.dot(z)], [b.dot(x), b.dot(y), b.dot(z)], [c.dot(x), c.dot(y), c.dot(z)]] }
    }

    /// Aᵀ v without forming the transpose.
    #[inline(always)]
    pub fn transpose_mul_vec(&self, v: Vec3<S>) -> Vec3<S> {
        self.row(0) * v.x + self.row(1) * v.y + self.row(2) * v.z
    }

    /// Applies `f` to each entry.
    #[inline(always)]
    pub fn map<T>(self, mut f: impl FnMut(S) -> T) -> Mat3<T> {
        let [[a, b, c], [d, e, g], [h, i, j]] = self.rows;
        Mat3 { rows: [[f(a), f(b), f(c)], [f(d), f(e), f(g)], [f(h), f(i), f(j)]] }
    }

    /// `if_true` where the mask holds, else `if_false`.
    #[inline(always)]
    pub fn select(mask: S::Mask, if_true: Self, if_false: Self) -> Self {
        Self::from_rows(
            Vec3::select(mask, if_true.row(0), if_false.row(0)),
            Vec3::select(mask, if_true.row(1), if_false.row(1)),
            Vec3::select(mask, if_true.row(2), if_false.row(2)),
        )
    }
}

impl<S: Real> Mat3<S> {
    /// Whether no entry is infinite or NaN.
    #[inline(always)]
    pub fn is_finite(&self) -> bool {
        self.row(0).is_finite() && self.row(1).is_finite() && self.row(2).is_finite()
    }

    /// The same matrix in `f64`.
    #[inline(always)]
    pub fn to_f64(self) -> Mat3<f64> {
        Mat3::from_rows(self.row(0).to_f64(), self.row(1).to_f64(), self.row(2).to_f64())
    }
}

impl<S> Index<(usize, usize)> for Mat3<S> {
    type Output = S;
    #[inline(always)]
    fn index(&self, (i, j): (usize, usize)) -> &S {
        &self.rows[i][j]
    }
}

impl<S> IndexMut<(usize, usize)> for Mat3<S> {
    #[inline(always)]
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut S {
        &mut self.rows[i][j]
    }
}

impl<S: Scalar> Add for Mat3<S> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self::from_rows(self.row(0) + other.row(0), self.row(1) + other.row(1), self.row(2) + other.row(2))
    }
}

impl<S: Scalar> Sub for Mat3<S> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self::from_rows(self.row(0) - other.row(0), self.row(1) - other.row(1), self.row(2) - other.row(2))
    }
}

impl<S: Scalar> Neg for Mat3<S> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self::from_rows(-self.row(0), -self.row(1), -self.row(2))
    }
}

impl<S: Scalar> Mul for Mat3<S> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        let (x, y, z) = (other.row(0), other.row(1), other.row(2));
        let [a, b, c] = self.rows;
        Self::from_rows(x * a[0] + y * a[1] + z * a[2], x * b[0] + y * b[1] + z * b[2], x * c[0] + y * c[1] + z * c[2])
    }
}

impl<S: Scalar> Mul<Vec3<S>> for Mat3<S> {
    type Output = Vec3<S>;
    #[inline(always)]
    fn mul(self, v: Vec3<S>) -> Vec3<S> {
        Vec3::new(self.row(0).dot(v), self.row(1).dot(v), self.row(2).dot(v))
    }
}

impl<S: Scalar> Mul<S> for Mat3<S> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, factor: S) -> Self {
        Self::from_rows(self.row(0) * factor, self.row(1) * factor, self.row(2) * factor)
    }
}

impl<S: Scalar> Div<S> for Mat3<S> {
    type Output = Self;
    #[inline(always)]
    fn div(self, divisor: S) -> Self {
        Self::from_rows(self.row(0) / divisor, self.row(1) / divisor, self.row(2) / divisor)
    }
}

impl Mul<Mat3<f64>> for f64 {
    type Output = Mat3<f64>;
    #[inline(always)]
    fn mul(self, matrix: Mat3<f64>) -> Mat3<f64> {
        matrix * self
    }
}

impl Mul<Mat3<f32>> for f32 {
    type Output = Mat3<f32>;
    #[inline(always)]
    fn mul(self, matrix: Mat3<f32>) -> Mat3<f32> {
        matrix * self
    }
}

impl<S: Scalar> AddAssign for Mat3<S> {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl<S: Scalar> SubAssign for Mat3<S> {
    #[inline(always)]
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl<S: Scalar> MulAssign<S> for Mat3<S> {
    #[inline(always)]
    fn mul_assign(&mut self, factor: S) {
        *self = *self * factor;
    }
}

impl<S: Scalar> DivAssign<S> for Mat3<S> {
    #[inline(always)]
    fn div_assign(&mut self, divisor: S) {
        *self = *self / divisor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Mat3 = Mat3::new([[2.0, -1.0, 3.0], [0.0, 4.0, 1.0], [5.0, 2.0, -2.0]]);
    const B: Mat3 = Mat3::new([[1.0, 2.0, 0.0], [-3.0, 1.0, 2.0], [4.0, -1.0, 1.0]]);

    #[test]
    fn products_with_transposes_equal_products_of_transposes() {
        // Small integers: exact.
        assert_eq!(A.transpose_mul(&B), A.transpose() * B);
        assert_eq!(A.mul_transpose(&B), A * B.transpose());
        let v = Vec3::new(1.0, -2.0, 3.0);
        assert_eq!(A.transpose_mul_vec(v), A.transpose() * v);
        assert_eq!((A * B) * v, A * (B * v));
        assert_eq!(Mat3::skew(v) * B.column(1), v.cross(B.column(1)));
        assert_eq!(A.symmetric_part() + A.skew_part(), A);
        assert_eq!(A.double_dot(&B), (A.transpose() * B).trace());
    }

    #[test]
    fn cofactor_is_determinant_times_inverse_transpose() {
        // A cof(A)ᵀ = det(A) I, in exact integers.
        assert_eq!(A * A.cofactor().transpose(), Mat3::identity() * A.determinant());
        let residual = A * A.inverse() - Mat3::identity();
        // A few roundings of entries of order one.
        assert!(residual.norm() < 1e-15, "{}", residual.norm());
    }

    #[test]
    fn rows_and_columns_are_where_the_index_says() {
        let m = Mat3::from_columns(A.column(0), A.column(1), A.column(2));
        assert_eq!(m, A);
        assert_eq!(A[(2, 0)], 5.0);
        assert_eq!(A.row(0), Vec3::new(2.0, -1.0, 3.0));
        assert_eq!(Mat3::outer(A.row(0), A.row(1))[(2, 1)], 12.0);
    }
}
