//! Singular values of 3×3 matrices: F = U Σ Vᵀ with rotations U, V and σ₁ ≥ σ₂ ≥ |σ₃|, and F = R S.
//!
//! U and V are always proper rotations (det = +1), so the smallest singular value carries the sign of det F. R = U Vᵀ
//! is then a rotation for inverted and flat matrices too.
//!
//! The method has no branches, so it runs in lanes: Jacobi sweeps on FᵀF with approximate Givens rotations collected in
//! a quaternion, columns of F V sorted, Givens QR of F V. Reference: McAdams et al. 2011, section 9.2, with three
//! additions: F is scaled by a power of two; negligible off-diagonals are set to zero (they would decay into subnormal
//! numbers, which are several times slower); and one exact rotation orthogonalizes the last two columns of F V
//! themselves, because FᵀF in floating point loses singular values below σ₁√ε.

mod batch;
mod jacobi;

pub use batch::{Mat3Block, Svd3Block, svd3_batch, svd3_batch_at};

use crate::lanes::{Isa, LaneKernel, dispatch};
use crate::mat3::Mat3;
use crate::scalar::{Real, Scalar, Work};
use crate::vec3::Vec3;

/// F = U Σ Vᵀ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Svd3<S = f64> {
    /// Left singular vectors in columns: a rotation.
    pub u: Mat3<S>,
    /// Singular values, decreasing in magnitude (to rounding); the first two are not negative, the third has the sign
    /// of det F.
    pub sigma: Vec3<S>,
    /// Right singular vectors in columns: a rotation.
    pub v: Mat3<S>,
}

impl<S: Scalar> Svd3<S> {
    /// U Σ Vᵀ.
    #[inline(always)]
    pub fn recompose(&self) -> Mat3<S> {
        self.u.mul_transpose(&(self.v * Mat3::diagonal(self.sigma)))
    }

    /// The rotation R = U Vᵀ nearest to F among rotations.
    #[inline(always)]
    pub fn rotation(&self) -> Mat3<S> {
        self.u.mul_transpose(&self.v)
    }
}

/// F = R S with a rotation R and a symmetric S.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Polar3<S = f64> {
    /// Rotation; det R = +1 also for inverted and flat F.
    pub rotation: Mat3<S>,
    /// Symmetric stretch; has one negative eigenvalue if det F < 0.
    pub stretch: Mat3<S>,
}

/// Polar decomposition F = R S, R = U Vᵀ, S = V Σ Vᵀ.
#[inline(always)]
pub fn polar3<S: Scalar>(f: &Mat3<S>) -> Polar3<S> {
    polar_from_svd(&svd3(f))
}

#[inline(always)]
fn polar_from_svd<S: Scalar>(svd: &Svd3<S>) -> Polar3<S> {
    let stretch = svd.v.mul_transpose(&(svd.v * Mat3::diagonal(svd.sigma)));
    Polar3 { rotation: svd.rotation(), stretch: stretch.symmetric_part() }
}

/// Singular value decomposition.
///
/// Accurate to a few units in the last place of σ₁ in f32 and f64, for any scale and any rank. Singular vectors of
/// equal singular values are not unique. A matrix with a nonfinite entry gives NaN singular values.
///
/// Uses fused multiply-add, which in plain code for generic x86-64 is a call into the C library (about a microsecond
/// per decomposition). Use [`svd3_plain`] for single matrices, and [`svd3_batch`] or a kernel of
/// [`lanes`](crate::lanes) for many.
#[inline(always)]
pub fn svd3<S: Scalar>(f: &Mat3<S>) -> Svd3<S> {
    // Scale by a power of two so that the largest entry is in [1, 2): no rounding, and squares neither overflow nor
    // vanish.
    let mut largest = S::splat(8.0 * S::TINY);
    for row in &f.rows {
        for &entry in row {
            largest = S::max(largest, entry.abs());
        }
    }
    let scale = largest.binary_magnitude();
    let f = *f * scale.recip();

    let mut v = jacobi::eigenvectors_of_gram(&f);
    let mut b = product(&f, &v);
    sort_columns(&mut b, &mut v);
    orthogonalize_last_columns(&mut b, &mut v);
    let (u, sigma) = givens_qr(&b);
    Svd3 { u, sigma: sigma * scale, v }
}

/// [`svd3`] as a function of its own; see [`Scalar::apart`].
#[inline(always)]
pub fn svd3_apart<S: Scalar>(f: &Mat3<S>) -> Svd3<S> {
    S::apart(Decompose(f))
}

struct Decompose<'a, S>(&'a Mat3<S>);

impl<S: Scalar> Work for Decompose<'_, S> {
    type Output = Svd3<S>;
    #[inline(always)]
    fn run(self) -> Svd3<S> {
        svd3(self.0)
    }
}

/// [`svd3`] of one matrix of plain numbers, compiled for the active instruction-set level. Same bits, several times
/// faster.
pub fn svd3_plain<T: Real>(f: &Mat3<T>) -> Svd3<T> {
    dispatch(PlainKernel(f))
}

/// [`polar3`] of one matrix of plain numbers, compiled for the active instruction-set level.
pub fn polar3_plain<T: Real>(f: &Mat3<T>) -> Polar3<T> {
    polar_from_svd(&svd3_plain(f))
}

struct PlainKernel<'a, T>(&'a Mat3<T>);

impl<T: Real> LaneKernel for PlainKernel<'_, T> {
    type Output = Svd3<T>;

    #[inline(always)]
    fn run<I: Isa>(self) -> Svd3<T> {
        svd3(self.0)
    }
}

/// A B with fused multiply-add.
#[inline(always)]
fn product<S: Scalar>(a: &Mat3<S>, b: &Mat3<S>) -> Mat3<S> {
    let mut out = Mat3::zero();
    for i in 0..3 {
        for j in 0..3 {
            let [x, y, z] = a.rows[i];
            out.rows[i][j] = z.mul_add(b.rows[2][j], y.mul_add(b.rows[1][j], x * b.rows[0][j]));
        }
    }
    out
}

/// a · b with fused multiply-add.
#[inline(always)]
fn dot<S: Scalar>(a: Vec3<S>, b: Vec3<S>) -> S {
    a.z.mul_add(b.z, a.y.mul_add(b.y, a.x * b.x))
}

/// Sorts the columns of B by decreasing length and permutes V alike. A swap changes one sign, (bᵢ, bⱼ) ← (bⱼ, −bᵢ),
/// which is a quarter turn, so V stays a rotation.
#[inline(always)]
fn sort_columns<S: Scalar>(b: &mut Mat3<S>, v: &mut Mat3<S>) {
    let mut lengths = [S::zero(); 3];
    for j in 0..3 {
        lengths[j] = dot(b.column(j), b.column(j));
    }
    for (i, j) in [(0, 1), (0, 2), (1, 2)] {
        let swap = lengths[i].lt(lengths[j]);
        let (shorter, longer) = (S::min(lengths[i], lengths[j]), S::max(lengths[i], lengths[j]));
        (lengths[i], lengths[j]) = (longer, shorter);
        for matrix in [&mut *b, &mut *v] {
            for row in &mut matrix.rows {
                let (p, q) = (row[i], row[j]);
                row[i] = S::select(swap, q, p);
                row[j] = S::select(swap, -p, q);
            }
        }
    }
}

/// Rotates columns 2 and 3 of B, and of V alike, in their plane until b₂ · b₃ = 0, by an exact Jacobi rotation with an
/// angle of at most π/4. b₂ stays the longer one.
#[inline(always)]
fn orthogonalize_last_columns<S: Scalar>(b: &mut Mat3<S>, v: &mut Mat3<S>) {
    let (p, q) = (b.column(1), b.column(2));
    let difference = dot(p, p) - dot(q, q);
    let twice = S::splat(2.0) * dot(p, q);
    // tan 2θ = twice/difference; half angles by |(cos, sin)| without cancellation.
    let denominator = difference.abs() + difference.mul_add(difference, twice * twice).sqrt();
    let defined = denominator.gt(S::splat(S::TINY));
    let tangent = S::select(defined, twice / denominator, S::zero());
    let c = tangent.mul_add(tangent, S::one()).rsqrt();
    let s = tangent * c;
    for matrix in [b, v] {
        for row in &mut matrix.rows {
            let (p, q) = (row[1], row[2]);
            row[1] = s.mul_add(q, c * p);
            row[2] = (-s).mul_add(p, c * q);
        }
    }
}

/// Cosine and sine of the rotation that maps (a, b) to (√(a² + b²), 0). For a vector too short to have a direction: the
/// identity or a half turn, so that a becomes |a|.
#[inline(always)]
fn givens<S: Scalar>(a: S, b: S) -> (S, S) {
    let square = b.mul_add(b, a * a);
    // Below this the square is a subnormal number with few digits.
    let defined = square.gt(S::splat(S::TINY / S::PRECISION));
    let inverse = S::select(defined, square, S::one()).rsqrt();
    let sign = S::select(a.lt(S::zero()), S::splat(-1.0), S::one());
    (S::select(defined, a * inverse, sign), S::select(defined, b * inverse, S::zero()))
}

/// B = U R by Givens rotations in the planes (1,2), (1,3), (2,3). The columns of B are orthogonal and sorted, so R is
/// diagonal: its entries are the singular values. Rotations make the first two positive and leave the sign of det B to
/// the third.
#[inline(always)]
fn givens_qr<S: Scalar>(b: &Mat3<S>) -> (Mat3<S>, Vec3<S>) {
    let [[b11, b12, b13], [b21, b22, b23], [b31, b32, b33]] = b.rows;
    // Rows 1 and 2: column 1 loses its second entry.
    let (c1, s1) = givens(b11, b21);
    let r11 = s1.mul_add(b21, c1 * b11);
    let (r12, r22) = (s1.mul_add(b22, c1 * b12), c1.mul_add(b22, -s1 * b12));
    let (r13, r23) = (s1.mul_add(b23, c1 * b13), c1.mul_add(b23, -s1 * b13));
    // Rows 1 and 3: column 1 loses its third entry.
    let (c2, s2) = givens(r11, b31);
    let sigma1 = s2.mul_add(b31, c2 * r11);
    let r32 = c2.mul_add(b32, -s2 * r12);
    let r33 = c2.mul_add(b33, -s2 * r13);
    // Rows 2 and 3: column 2 loses its third entry.
    let (c3, s3) = givens(r22, r32);
    let sigma2 = s3.mul_add(r32, c3 * r22);
    let sigma3 = c3.mul_add(r33, -s3 * r23);
    // U = G₁ G₂ G₃, multiplied out.
    let (c1s2, s1s2) = (c1 * s2, s1 * s2);
    let u = Mat3::new([
        [c1 * c2, (-c1s2).mul_add(s3, -s1 * c3), s1.mul_add(s3, -c1s2 * c3)],
        [s1 * c2, c1.mul_add(c3, -s1s2 * s3), (-c1).mul_add(s3, -s1s2 * c3)],
        [s2, c2 * s3, c2 * c3],
    ]);
    (u, Vec3::new(sigma1, sigma2, sigma3))
}

#[cfg(test)]
mod tests;
