//! The rotation of the polar decomposition F = R S, and its derivative.
//!
//! R maximizes tr(RᵀF) over rotations, so it stays a rotation for flat and inverted F (MCA-42). With G = RᵀF and D =
//! tr(G) I − G, a rotation of R by the small vector w changes the skew part of G by −\[D w\]×. This gives a Newton step
//! that refines R, and the derivative δR = R \[D⁻¹ axl(RᵀδF)\]×.

#![allow(non_snake_case)]

use sinew_math::svd3::svd3_apart;
use sinew_math::{Mat3, Scalar, Vec3};

use super::strain::add_to_diagonal;

/// The rotation R, and D⁻¹ = (tr(S) I − S)⁻¹ that its derivative needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Polar<S> {
    /// R, with det R = 1.
    pub rotation: Mat3<S>,
    /// D⁻¹; large but finite where two singular values add up to zero and R is not unique.
    pub spin_compliance: Mat3<S>,
}

/// Determinant of D relative to |D|³ below which R is not refined: the step would amplify rounding errors.
const NEARLY_SINGULAR: f64 = 1e-10;

/// Relative floor of det D in the inverse: keeps derivatives finite where they do not exist.
const SINGULAR: f64 = 1e-15;

impl<S: Scalar> Polar<S> {
    /// Decomposes F.
    #[inline(always)]
    pub fn of(F: &Mat3<S>) -> Self {
        let rotation = Self::rotation_of(F);
        let stretch = rotation.transpose_mul(F).symmetric_part();
        let D = add_to_diagonal(-stretch, stretch.trace());
        let (adjugate, determinant, scale) = adjugate(&D);
        let floor = scale * S::splat(SINGULAR) + S::splat(f64::from(f32::MIN_POSITIVE));
        Self { rotation, spin_compliance: adjugate * determinant.max(floor).recip() }
    }

    /// The nearest rotation to the value of F, then one Newton step on F itself.
    ///
    /// The step makes R exact to rounding and, in complex step arithmetic, gives it its derivative: U and V are not
    /// differentiable at equal singular values, but R is, and a Newton step from the plain value is exact in first
    /// order (and, since ψ is stationary in R, in second order for the energy).
    #[inline(always)]
    pub fn rotation_of(F: &Mat3<S>) -> Mat3<S> {
        let rotation = nearest_rotation(&value_of(F));
        let G = rotation.transpose_mul(F);
        let D = add_to_diagonal(-G.symmetric_part(), G.trace());
        let (adjugate, determinant, scale) = adjugate(&D);
        let regular = determinant.gt(scale * S::splat(NEARLY_SINGULAR));
        let compliance = adjugate * S::select(regular, determinant, S::one()).recip();
        let w = Vec3::select(regular, compliance * axial(&G), Vec3::zero());
        rotation * cayley(w)
    }

    /// δR for δF.
    #[inline(always)]
    pub fn rotation_differential(&self, dF: &Mat3<S>) -> Mat3<S> {
        self.rotation * Mat3::skew(self.spin_compliance * axial(&self.rotation.transpose_mul(dF)))
    }
}

/// R from the invariants where that is accurate, else R = U Vᵀ.
///
/// Most cells take the first path, which is several times faster than singular values. The choice is made lane by lane,
/// so lanes keep the bits of plain numbers.
#[inline(always)]
fn nearest_rotation<S: Scalar>(F: &Mat3<S>) -> Mat3<S> {
    let (rotation, accurate) = rotation_from_invariants(F);
    if S::all(accurate) { rotation } else { Mat3::select(accurate, rotation, svd3_apart(F).rotation()) }
}

/// Number of Newton steps for tr S; 3 suffice for stretches between 0.5 and 2.
const TRACE_STEPS: usize = 5;

/// R as the derivative of t = tr S, the largest root of t⁴ − 2I₁t² − 8Jt + I₁² − 4I₂ = 0, where I₁ = |F|², I₂ = |cof
/// F|²:
///
/// ```math
/// R = \frac{(I_1 + s) F - F F^T F + t \operatorname{cof} F}{t s - J}, \qquad s = \tfrac12 (t^2 - I_1)
/// ```
///
/// The denominator is (σ₁ + σ₂)(σ₂ + σ₃)(σ₃ + σ₁). The mask is true where it is well above zero and Newton's method,
/// which decreases monotonically from √(3I₁) ≥ t, has converged; elsewhere the rotation is meaningless. One
/// Newton–Schulz step restores orthogonality.
#[inline(always)]
fn rotation_from_invariants<S: Scalar>(F: &Mat3<S>) -> (Mat3<S>, S::Mask) {
    let cofactor = F.cofactor();
    let J = F.row(0).dot(cofactor.row(0));
    let (i1, i2) = (F.norm_squared(), cofactor.norm_squared());
    let (one, two) = (S::one(), S::splat(2.0));
    let (twice_i1, eight_j) = (two * i1, S::splat(8.0) * J);
    let constant = i1 * i1 - S::splat(4.0) * i2;

    let norm = i1.sqrt();
    let mut t = norm * S::splat(3f64.sqrt());
    let mut step = t;
    for _ in 0..TRACE_STEPS {
        let square = t * t;
        let value = (square - twice_i1) * square - eight_j * t + constant;
        let slope = (square - i1) * t * S::splat(4.0) - eight_j;
        step = value / slope;
        t -= step;
    }
    let s = (t * t - i1) * S::splat(0.5);
    let denominator = t * s - J;
    // The comparisons are false for NaN, which a zero slope gives.
    let accurate = denominator.gt(norm * i1 * S::splat(0.01)) & step.abs().lt(t * S::splat(1e-6));
    let divisor = S::select(accurate, denominator, one);
    let gram = F.mul_transpose(F);
    let rotation = (*F * (i1 + s) - gram * *F + cofactor * t) * divisor.recip();
    let defect = add_to_diagonal(-rotation.transpose_mul(&rotation), S::splat(3.0));
    (rotation * defect * S::splat(0.5), accurate)
}

/// F without the derivatives that complex step numbers carry; F itself for all others.
#[inline(always)]
fn value_of<S: Scalar>(F: &Mat3<S>) -> Mat3<S> {
    // Only numbers with an imaginary unit have a square root of −1. The compiler removes this for plain numbers and
    // lanes.
    if S::any(S::splat(-1.0).sqrt().ge(S::zero())) {
        let mut out = Mat3::zero();
        for i in 0..3 {
            for j in 0..3 {
                out[(i, j)] = value_by_digits(F[(i, j)]);
            }
        }
        out
    } else {
        *F
    }
}

/// The real part, collected bit by bit from powers of two, which are constants. Slow, and only for derivatives.
fn value_by_digits<S: Scalar>(x: S) -> S {
    let mut value = S::zero();
    // A double has 53 binary digits.
    for _ in 0..53 {
        let rest = x - value;
        let magnitude = rest.abs().binary_magnitude();
        let digit = S::select(rest.lt(S::zero()), -magnitude, magnitude);
        value += S::select(rest.abs().gt(S::zero()), digit, S::zero());
    }
    value
}

/// The vector a with \[a\]× = A − Aᵀ.
#[inline(always)]
fn axial<S: Scalar>(A: &Mat3<S>) -> Vec3<S> {
    Vec3::new(A[(2, 1)] - A[(1, 2)], A[(0, 2)] - A[(2, 0)], A[(1, 0)] - A[(0, 1)])
}

/// Adjugate and determinant of a symmetric matrix, and the cube of its norm.
#[inline(always)]
fn adjugate<S: Scalar>(D: &Mat3<S>) -> (Mat3<S>, S, S) {
    let cofactor = D.cofactor();
    let square = D.norm_squared();
    (cofactor, D.row(0).dot(cofactor.row(0)), square * square.sqrt())
}

/// The rotation (I − \[w\]×/2)⁻¹ (I + \[w\]×/2), equal to exp \[w\]× up to third order and exactly orthogonal.
#[inline(always)]
fn cayley<S: Scalar>(w: Vec3<S>) -> Mat3<S> {
    let q = w * S::splat(0.5);
    let factor = S::splat(2.0) / (S::one() + q.norm_squared());
    let K = Mat3::skew(q);
    add_to_diagonal((K + K * K) * factor, S::one())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinew_math::svd3::svd3;

    /// U diag(σ) Vᵀ for two fixed rotations.
    fn sample(stretches: [f64; 3], angle: f64) -> Mat3 {
        let u = cayley(Vec3::new(0.3, -1.1, 0.7) * angle);
        let v = cayley(Vec3::new(-0.9, 0.2, 1.4) * angle);
        (u * Mat3::diagonal(stretches.into())).mul_transpose(&v)
    }

    #[test]
    fn rotation_is_that_of_the_singular_value_decomposition() {
        let stretches = [
            [1.0, 1.0, 1.0],
            [1.3, 1.3, 0.6],
            [8.0, 0.5, 0.05],
            [1.2, 0.9, -0.3],
            [1.0, 0.5, -0.4],
            [1e-3, 1e-4, 1e-5],
            [3e5, 2e5, 1e5],
        ];
        for stretches in stretches {
            for angle in [0.0, 0.4, 3.0] {
                let F = sample(stretches, angle);
                let R = Polar::rotation_of(&F);
                // The condition of R is σ₁/(σ₂ + σ₃), at most 15 here; a few roundings each.
                assert!((R - svd3(&F).rotation()).norm() < 3e-14, "{stretches:?} {angle}");
                assert!((R.transpose_mul(&R) - Mat3::identity()).norm() < 2e-15, "{stretches:?} {angle}");
            }
        }
    }

    #[test]
    fn rotation_stays_a_rotation_where_it_is_not_unique() {
        for stretches in [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.5, -0.5], [1.0, 1e-9, -1e-9], [1.0, 1.0, -1.0]] {
            let R = Polar::rotation_of(&sample(stretches, 0.8));
            assert!((R.transpose_mul(&R) - Mat3::identity()).norm() < 2e-15, "{stretches:?}");
            assert!((R.determinant() - 1.0).abs() < 2e-15, "{stretches:?}");
        }
    }
}
