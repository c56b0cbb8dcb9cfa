//! Eigenvectors of FᵀF by cyclic Jacobi sweeps with approximate Givens rotations.
//!
//! The angle θ that annihilates a₁₂ has tan 2θ = 2a₁₂/(a₁₁ − a₂₂). With tan 2θ ≈ 4 tan(θ/2), the half angle costs one
//! division, t = tan(θ/2) ≈ a₁₂/(2(a₁₁ − a₂₂)); beyond π/4, where this is inaccurate, θ = π/4 is used. One rotation
//! shrinks |a₁₂| at least by the factor (1 + √2)/4 ≈ 0.604, and small angles by 1.25 θ². Reference: McAdams et al.
//! 2011, algorithm 4.
//!
//! In place of the paper's normalized pair (cos θ/2, sin θ/2) we carry (1, t): the quaternion product is four fused
//! operations, and cos θ = 2/(1 + t²) − 1, sin θ = 2t/(1 + t²) are exact to rounding, so FᵀF keeps its scale. The
//! quaternion grows at most by 1/cos(π/8) per rotation and is normalized once, at the end.

use crate::mat3::Mat3;
use crate::scalar::Scalar;

/// tan(π/8): half-angle tangent of the largest rotation, θ = π/4.
const TAN_PI_8: f64 = 0.414_213_562_373_095_03;

/// Sweeps in f32. After four sweeps the worst of many random matrices still has off-diagonals of 4e-3, after six 2e-15.
const SWEEPS_F32: usize = 6;

/// Sweeps in f64: one more, because f64 is nine digits more precise.
const SWEEPS_F64: usize = 7;

/// Off-diagonals below this multiple of ε times the trace count as zero (1e-9 of the trace in f32). Otherwise they
/// would shrink cubically into subnormal numbers, which make the sweeps six times slower.
const NEGLIGIBLE: f64 = 0.01;

/// The symmetric matrix FᵀF and the rotation so far.
struct State<S> {
    /// Diagonal a₁₁, a₂₂, a₃₃.
    diagonal: [S; 3],
    /// Off-diagonals; entry k is the one outside row k: a₂₃, a₃₁, a₁₂.
    off: [S; 3],
    /// Quaternion, not normalized: real part, then vector part.
    w: S,
    vector: [S; 3],
}

/// A rotation matrix V such that VᵀFᵀFV is diagonal to rounding, in no particular order. F is scaled to order one.
#[inline(always)]
pub(super) fn eigenvectors_of_gram<S: Scalar>(f: &Mat3<S>) -> Mat3<S> {
    let mut state = State {
        diagonal: [gram(f, 0, 0), gram(f, 1, 1), gram(f, 2, 2)],
        off: [gram(f, 1, 2), gram(f, 2, 0), gram(f, 0, 1)],
        w: S::one(),
        vector: [S::zero(); 3],
    };
    let trace = state.diagonal[0] + state.diagonal[1] + state.diagonal[2];
    let negligible = trace * S::splat(NEGLIGIBLE * S::PRECISION);
    let sweeps = if S::PRECISION > 1e-10 { SWEEPS_F32 } else { SWEEPS_F64 };
    for _ in 0..sweeps {
        rotate(&mut state, 2, negligible);
        rotate(&mut state, 0, negligible);
        rotate(&mut state, 1, negligible);
    }
    rotation_matrix(state.w, state.vector)
}

/// Entry (i, j) of FᵀF.
#[inline(always)]
fn gram<S: Scalar>(f: &Mat3<S>, i: usize, j: usize) -> S {
    f.rows[2][i].mul_add(f.rows[2][j], f.rows[1][i].mul_add(f.rows[1][j], f.rows[0][i] * f.rows[0][j]))
}

/// One rotation about axis k, in the plane of the axes p, q that follow k cyclically.
#[inline(always)]
fn rotate<S: Scalar>(state: &mut State<S>, k: usize, negligible: S) {
    let (p, q) = ((k + 1) % 3, (k + 2) % 3);
    let keep = state.off[k].abs().gt(negligible);
    let a_pq = S::select(keep, state.off[k], S::zero());
    let difference = state.diagonal[p] - state.diagonal[q];

    // The quotient may be 0/0 or infinite: it is selected away, never multiplied.
    let quotient = a_pq / (difference + difference);
    let limit = S::splat(TAN_PI_8);
    let bounded = S::select(quotient.abs().lt(limit), quotient, limit);
    let t = S::select(keep, bounded, S::zero());

    let inverse = t.mul_add(t, S::one()).recip();
    let c = inverse.mul_add(S::splat(2.0), S::splat(-1.0));
    let s = (t + t) * inverse;

    // A ← QᵀAQ with column p ← c p + s q, column q ← c q − s p. Since c² + s² = 1, the change of the diagonal is one
    // number.
    let twice = a_pq + a_pq;
    let change = s.mul_add(difference, -(c * twice));
    state.diagonal[p] = (-s).mul_add(change, state.diagonal[p]);
    state.diagonal[q] = s.mul_add(change, state.diagonal[q]);
    state.off[k] = (-s).mul_add(c.mul_add(difference, s * twice), a_pq);
    let (a_pk, a_qk) = (state.off[q], state.off[p]);
    state.off[q] = s.mul_add(a_qk, c * a_pk);
    state.off[p] = c.mul_add(a_qk, -(s * a_pk));

    // Quaternion ← quaternion · (1 + t eₖ).
    let (w, v) = (state.w, state.vector);
    state.w = (-t).mul_add(v[k], w);
    state.vector[k] = t.mul_add(w, v[k]);
    state.vector[p] = t.mul_add(v[q], v[p]);
    state.vector[q] = (-t).mul_add(v[p], v[q]);
}

/// The rotation matrix of a nonzero quaternion of any length.
#[inline(always)]
fn rotation_matrix<S: Scalar>(w: S, [x, y, z]: [S; 3]) -> Mat3<S> {
    let norm_squared = z.mul_add(z, y.mul_add(y, x.mul_add(x, w * w)));
    let scale = S::splat(2.0) / norm_squared;
    let (sx, sy, sz) = (scale * x, scale * y, scale * z);
    let (wx, wy, wz) = (w * sx, w * sy, w * sz);
    let one = S::one();
    Mat3::new([
        [(-sz).mul_add(z, (-sy).mul_add(y, one)), x.mul_add(sy, -wz), z.mul_add(sx, wy)],
        [x.mul_add(sy, wz), (-sx).mul_add(x, (-sz).mul_add(z, one)), y.mul_add(sz, -wx)],
        [z.mul_add(sx, -wy), y.mul_add(sz, wx), (-sy).mul_add(y, (-sx).mul_add(x, one))],
    ])
}
