//! Eigenvalues of small symmetric matrices by cyclic Jacobi rotations, without branches, in any scalar.
//!
//! Each rotation annihilates one off-diagonal pair; the off-diagonal norm converges quadratically. A pair below the
//! rounding error is not rotated at all, so a converged lane keeps its bits while others continue, and lanes equal
//! plain numbers bit for bit.

use sinew_math::{Scalar, Work};

/// Maximum number of sweeps. 3×3 matrices need 4 to 5, 9×9 matrices 6 to 8, in f64.
const MAX_SWEEPS: usize = 14;

/// Eigenvalues and eigenvectors of a symmetric matrix: A = Σₙ values\[n\] vₙ vₙᵀ with vₙ the n-th column of `vectors`.
pub(super) struct SymmetricEigen<S, const N: usize> {
    /// Eigenvalues in no particular order.
    pub values: [S; N],
    /// Orthonormal eigenvectors: `vectors[i][n]` is entry i of the n-th.
    pub vectors: [[S; N]; N],
}

impl<S: Scalar, const N: usize> SymmetricEigen<S, N> {
    /// Decomposes the symmetric matrix `a`.
    #[inline(always)]
    pub fn of(mut a: [[S; N]; N]) -> Self {
        let mut vectors = [[S::zero(); N]; N];
        for (i, row) in vectors.iter_mut().enumerate() {
            row[i] = S::one();
        }
        // Off-diagonal entries below the rounding error of the largest row count as zero.
        let mut square = S::zero();
        for row in &a {
            for &entry in row {
                square += entry * entry;
            }
        }
        let negligible = square.sqrt() * S::splat(1e-16);

        for _ in 0..MAX_SWEEPS {
            let mut largest = S::zero();
            for p in 0..N {
                for q in p + 1..N {
                    largest = largest.max(a[p][q].abs());
                    rotate(&mut a, &mut vectors, p, q, negligible);
                }
            }
            if S::all(largest.le(negligible)) {
                break;
            }
        }
        let mut values = [S::zero(); N];
        for (i, value) in values.iter_mut().enumerate() {
            *value = a[i][i];
        }
        Self { values, vectors }
    }

    /// Σₙ max(values\[n\], 0) vₙ vₙᵀ: the nearest positive semi-definite matrix in the Frobenius norm.
    #[inline(always)]
    pub fn positive_part(&self) -> [[S; N]; N] {
        let mut out = [[S::zero(); N]; N];
        for i in 0..N {
            for j in 0..=i {
                let mut sum = S::zero();
                for n in 0..N {
                    sum += self.values[n].max(S::zero()) * self.vectors[i][n] * self.vectors[j][n];
                }
                out[i][j] = sum;
                out[j][i] = sum;
            }
        }
        out
    }
}

/// The positive semi-definite part of a symmetric matrix. A separate function: many laws
/// contain it, but few cells need it.
#[inline(always)]
pub(super) fn positive_part_of<S: Scalar, const N: usize>(a: &[[S; N]; N]) -> [[S; N]; N] {
    S::apart(PositivePart(a))
}

struct PositivePart<'a, S, const N: usize>(&'a [[S; N]; N]);

impl<S: Scalar, const N: usize> Work for PositivePart<'_, S, N> {
    type Output = [[S; N]; N];
    #[inline(always)]
    fn run(self) -> [[S; N]; N] {
        SymmetricEigen::of(*self.0).positive_part()
    }
}

/// One rotation in the plane (p, q): t = tan θ is the smaller root of t² + 2 t cot 2θ − 1 = 0, so that |θ| ≤ π/4.
#[inline(always)]
fn rotate<S: Scalar, const N: usize>(
    a: &mut [[S; N]; N],
    vectors: &mut [[S; N]; N],
    p: usize,
    q: usize,
    negligible: S,
) {
    let off = a[p][q];
    let active = off.abs().gt(negligible);
    // A dummy divisor where there is no rotation; the tangent is then replaced by zero.
    let cotangent = (a[q][q] - a[p][p]) / (S::select(active, off, S::one()) * S::splat(2.0));
    let root = S::one() / (cotangent.abs() + (S::one() + cotangent * cotangent).sqrt());
    let tangent = S::select(cotangent.lt(S::zero()), -root, root);
    let t = S::select(active, tangent, S::zero());
    let c = (S::one() + t * t).rsqrt();
    let s = t * c;

    let shift = t * off;
    a[p][p] -= S::select(active, shift, S::zero());
    a[q][q] += S::select(active, shift, S::zero());
    let rest = S::select(active, S::zero(), off);
    a[p][q] = rest;
    a[q][p] = rest;
    for k in 0..N {
        if k != p && k != q {
            let (x, y) = (a[k][p], a[k][q]);
            a[k][p] = c * x - s * y;
            a[k][q] = s * x + c * y;
            a[p][k] = a[k][p];
            a[q][k] = a[k][q];
        }
        let (x, y) = (vectors[k][p], vectors[k][q]);
        vectors[k][p] = c * x - s * y;
        vectors[k][q] = s * x + c * y;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Symmetric test matrix with entries in \[−1, 1\] from a linear congruence.
    fn sample<const N: usize>(seed: u32) -> [[f64; N]; N] {
        let mut state = seed;
        let mut a = [[0.0; N]; N];
        for i in 0..N {
            for j in 0..=i {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                a[i][j] = f64::from(state >> 8) / f64::from(1u32 << 23) - 1.0;
                a[j][i] = a[i][j];
            }
        }
        a
    }

    fn check<const N: usize>(a: [[f64; N]; N]) {
        let eigen = SymmetricEigen::of(a);
        for i in 0..N {
            for j in 0..N {
                let (mut product, mut unit) = (0.0, 0.0);
                for n in 0..N {
                    product += eigen.values[n] * eigen.vectors[i][n] * eigen.vectors[j][n];
                    unit += eigen.vectors[n][i] * eigen.vectors[n][j];
                }
                // Some hundred roundings of rotations with entries of order one.
                assert!((product - a[i][j]).abs() < 1e-13, "reconstruction");
                assert!((unit - f64::from(u8::from(i == j))).abs() < 1e-13, "orthogonality");
            }
        }
    }

    #[test]
    fn decomposition_reconstructs_the_matrix_with_orthonormal_vectors() {
        for seed in 0..50 {
            check(sample::<3>(seed));
            check(sample::<9>(seed));
        }
        check([[0.0; 3]; 3]);
        check([[1.0; 9]; 9]);
    }

    #[test]
    fn positive_part_of_a_matrix_and_of_its_negative_differ_by_the_matrix() {
        // A = A⁺ − (−A)⁺.
        let a = sample::<9>(7);
        let negative = a.map(|row| row.map(|x| -x));
        let (plus, minus) = (SymmetricEigen::of(a).positive_part(), SymmetricEigen::of(negative).positive_part());
        for i in 0..9 {
            for j in 0..9 {
                assert!((plus[i][j] - minus[i][j] - a[i][j]).abs() < 1e-13);
            }
        }
    }
}
