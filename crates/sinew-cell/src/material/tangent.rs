//! The tangent ∂P/∂F as a 9×9 matrix, and its contraction to blocks of the element matrix.

#![allow(non_snake_case)]

use sinew_math::{Mat3, Scalar};

use super::blocks::{BlockSink, Shape};
use super::jacobi::positive_part_of;
use super::law::{Material, MaterialPoint};

/// The derivative of the stress that a solver uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tangent {
    /// ∂P/∂F itself: quadratic convergence of Newton's method near a minimum; required for sensitivities.
    Exact,
    /// ∂P/∂F with its negative eigenvalues set to zero: always gives a direction of descent \[Teran05inv\].
    Definite,
}

/// ∂P/∂F as a symmetric 9×9 matrix; the entry Fᵢⱼ has index 3i + j.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tangent9<S = f64>(pub [[S; 9]; 9]);

impl<S: Scalar> Tangent9<S> {
    /// The exact tangent, column by column from [`Material::stress_differential`].
    #[inline(always)]
    pub fn exact<M: Material>(material: &M, F: &Mat3<S>, point: &MaterialPoint<S>) -> Self {
        let mut out = Self([[S::zero(); 9]; 9]);
        for column in 0..9 {
            out.set_column(column, material.stress_differential(F, &unit_direction(column), point));
        }
        out
    }

    /// Replaces a column by δP for the δF with a single entry.
    #[inline(always)]
    pub(super) fn set_column(&mut self, column: usize, dP: Mat3<S>) {
        for row in 0..9 {
            self.0[row][column] = dP[(row / 3, row % 3)];
        }
    }

    /// δP = (∂P/∂F) : δF.
    #[inline(always)]
    pub fn apply(&self, dF: &Mat3<S>) -> Mat3<S> {
        let mut dP = Mat3::zero();
        for row in 0..9 {
            let mut sum = S::zero();
            for column in 0..9 {
                sum += self.0[row][column] * dF[(column / 3, column % 3)];
            }
            dP[(row / 3, row % 3)] = sum;
        }
        dP
    }

    /// The nearest positive semi-definite matrix: negative eigenvalues become zero (SIF-030).
    ///
    /// A numerical eigendecomposition of the whole matrix, for laws without a form in principal stretches, and as a
    /// reference for the others.
    #[inline(always)]
    pub fn positive_part(&self) -> Self {
        Self(positive_part_of(&self.0))
    }

    /// Frobenius norm.
    #[inline(always)]
    pub fn norm(&self) -> S {
        let mut sum = S::zero();
        for row in &self.0 {
            for &entry in row {
                sum += entry * entry;
            }
        }
        sum.sqrt()
    }

    /// Frobenius norm of the difference.
    #[inline(always)]
    pub fn distance(&self, other: &Self) -> S {
        let mut difference = *self;
        for (row, others) in difference.0.iter_mut().zip(&other.0) {
            for (entry, &other) in row.iter_mut().zip(others) {
                *entry -= other;
            }
        }
        difference.norm()
    }

    /// Where all eigenvalues are positive: the pivots of LDLᵀ.
    #[inline(always)]
    pub fn is_positive_definite(&self) -> S::Mask {
        let mut a = self.0;
        let mut definite = a[0][0].gt(S::zero());
        for k in 0..8 {
            // Where a pivot has failed already, any divisor will do.
            let pivot = S::select(definite, a[k][k], S::one()).recip();
            for i in k + 1..9 {
                let factor = a[i][k] * pivot;
                for j in k + 1..=i {
                    let product = factor * a[j][k];
                    a[i][j] -= product;
                }
            }
            definite = definite & a[k + 1][k + 1].gt(S::zero());
        }
        definite
    }

    /// `if_true` where the mask holds, else `if_false`.
    #[inline(always)]
    pub fn select(mask: S::Mask, if_true: Self, if_false: Self) -> Self {
        let mut out = if_false;
        for (row, chosen) in out.0.iter_mut().zip(&if_true.0) {
            for (entry, &chosen) in row.iter_mut().zip(chosen) {
                *entry = S::select(mask, chosen, *entry);
            }
        }
        out
    }

    /// Blocks weight · Σⱼₗ gₐ\[j\] (∂Pᵢⱼ/∂Fₖₗ) g_b\[l\] for all b ≤ a; see [`Material::nodal_blocks`].
    #[inline(always)]
    pub fn nodal_blocks(&self, shape: &Shape<'_, S>, sink: &mut impl BlockSink<S>) {
        let Shape { gradients, weight, .. } = *shape;
        for b in 0..gradients.len() {
            // T[ij][k] = Σₗ (∂Pᵢⱼ/∂Fₖₗ) g_b[l], shared by all blocks of column b.
            let g = gradients[b] * weight;
            let mut column = [[S::zero(); 3]; 9];
            for row in 0..9 {
                for k in 0..3 {
                    let entries = &self.0[row];
                    column[row][k] = entries[3 * k] * g.x + entries[3 * k + 1] * g.y + entries[3 * k + 2] * g.z;
                }
            }
            for a in b..gradients.len() {
                let g = gradients[a];
                let mut block = Mat3::zero();
                for i in 0..3 {
                    for k in 0..3 {
                        block[(i, k)] =
                            column[3 * i][k] * g.x + column[3 * i + 1][k] * g.y + column[3 * i + 2][k] * g.z;
                    }
                }
                sink.add(a, b, block);
            }
        }
    }
}

/// How far a definite tangent is from the exact one, ‖T⁺ − T‖/‖T‖ in the Frobenius norm.
///
/// The difference slows Newton's method down; it is at least `least` for every definite tangent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProjectionExcess {
    /// Of the law's own definite tangent.
    pub law: f64,
    /// Of the nearest positive semi-definite matrix, by an eigendecomposition of all nine dimensions.
    pub least: f64,
}

/// The excess of a law's definite tangent at F; zero where the exact tangent is definite.
pub fn projection_excess<M: Material>(law: &M, F: &Mat3, point: &MaterialPoint) -> ProjectionExcess {
    let exact = Tangent9::exact(law, F, point);
    let norm = exact.norm();
    if !(norm > 0.0) {
        return ProjectionExcess::default();
    }
    ProjectionExcess {
        law: law.definite_tangent(F, point).distance(&exact) / norm,
        least: exact.positive_part().distance(&exact) / norm,
    }
}

/// The δF whose only entry is 1 at index 3i + j.
#[inline(always)]
pub(super) fn unit_direction<S: Scalar>(index: usize) -> Mat3<S> {
    let mut dF = Mat3::zero();
    dF[(index / 3, index % 3)] = S::one();
    dF
}
