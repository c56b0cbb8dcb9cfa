//! Tangents of isotropic laws in principal stretches, F = U diag(σ) Vᵀ.
//!
//! In the frame Uᵀ · V the 9×9 matrix ∂P/∂F splits into one 3×3 block, the Hessian of ψ(σ) (scaling of the axes), and
//! three 2×2 blocks \[\[α, β\], \[β, α\]\] acting on (δFᵢⱼ, δFⱼᵢ) (SIF-029), whose eigenvalues are
//!
//! ```math
//! \alpha + \beta = \frac{\psi_i - \psi_j}{\sigma_i - \sigma_j} \ \text{(flip)}, \qquad
//!    \alpha - \beta = \frac{\psi_i + \psi_j}{\sigma_i + \sigma_j} \ \text{(twist)}, \qquad
//!    \psi_i = \partial\psi/\partial\sigma_i.
//! ```
//!
//! Each law gives both quotients in a form without the vanishing denominators, so equal stretches need no care.
//! Clamping the eigenvalues at zero is then three comparisons for each kind and one 3×3 eigenproblem (SIF-030).
//! References: \[Teran05inv\], \[Stomakhin12\], \[Smith19\].

#![allow(non_snake_case)]

use sinew_math::svd3::svd3_apart;
use sinew_math::{Mat3, Scalar, Vec3};

use super::blocks::{BlockSink, Shape, transform};
use super::jacobi::positive_part_of;
use super::law::{Material, MaterialPoint};
use super::tangent::{Tangent9, unit_direction};

/// Second derivatives of an isotropic law in the frame of its principal stretches \[Pa\].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrincipalHessian<S = f64> {
    /// ∂²ψ/∂σᵢ∂σⱼ, symmetric.
    pub scaling: Mat3<S>,
    /// (ψᵢ − ψⱼ)/(σᵢ − σⱼ) for the plane (i, j) orthogonal to axis k, at index k.
    pub flip: Vec3<S>,
    /// (ψᵢ + ψⱼ)/(σᵢ + σⱼ) for the plane (i, j) orthogonal to axis k, at index k.
    pub twist: Vec3<S>,
}

impl<S: Scalar> PrincipalHessian<S> {
    /// The same with negative eigenvalues set to zero.
    #[inline(always)]
    pub fn positive_part(&self) -> Self {
        let zero = Vec3::zero();
        Self { scaling: positive_part(&self.scaling), flip: self.flip.max(zero), twist: self.twist.max(zero) }
    }

    /// Where no eigenvalue is negative and the scaling block is definite: nothing to clamp.
    #[inline(always)]
    pub fn is_definite(&self) -> S::Mask {
        let zero = S::zero();
        is_positive(&self.scaling) & self.flip.min_component().ge(zero) & self.twist.min_component().ge(zero)
    }
}

/// A law that depends on F only through its principal stretches σ₁ ≥ σ₂ ≥ |σ₃| (σ₃ < 0 where det F < 0), symmetrically.
pub trait IsotropicLaw: Material {
    /// ∂ψ/∂σᵢ: the principal nominal stresses \[Pa\].
    fn principal_stress<S: Scalar>(&self, stretches: Vec3<S>, point: &MaterialPoint<S>) -> Vec3<S>;

    /// Second derivatives in the principal frame \[Pa\].
    fn principal_hessian<S: Scalar>(&self, stretches: Vec3<S>, point: &MaterialPoint<S>) -> PrincipalHessian<S>;
}

/// A tangent ∂P/∂F stored in its principal frame: 33 numbers instead of 81.
#[derive(Clone, Copy, Debug)]
pub struct PrincipalTangent<S = f64> {
    /// Left rotation of F = U diag(σ) Vᵀ.
    pub u: Mat3<S>,
    /// Right rotation.
    pub v: Mat3<S>,
    /// Derivatives in the frame of the stretches.
    pub hessian: PrincipalHessian<S>,
}

impl<S: Scalar> PrincipalTangent<S> {
    /// The exact tangent.
    #[inline(always)]
    pub fn exact<L: IsotropicLaw>(law: &L, F: &Mat3<S>, point: &MaterialPoint<S>) -> Self {
        Self::exact_with_stretches(law, F, point).0
    }

    /// The exact tangent, and the principal stretches.
    #[inline(always)]
    fn exact_with_stretches<L: IsotropicLaw>(law: &L, F: &Mat3<S>, point: &MaterialPoint<S>) -> (Self, Vec3<S>) {
        let svd = svd3_apart(F);
        (Self { u: svd.u, v: svd.v, hessian: law.principal_hessian(svd.sigma, point) }, svd.sigma)
    }

    /// The tangent of ψ, or of ψ + pJ with a given number p, with negative eigenvalues set to zero. J = σ₁σ₂σ₃ adds p
    /// σₖ to ψᵢⱼ and to the twist of the plane (i, j), and subtracts it from its flip.
    #[inline(always)]
    pub fn definite<L: IsotropicLaw>(law: &L, F: &Mat3<S>, point: &MaterialPoint<S>, pressure: Option<S>) -> Self {
        let mut exact = Self::exact_with_stretches(law, F, point);
        if let Some(pressure) = pressure {
            let share = exact.1 * pressure;
            let hessian = &mut exact.0.hessian;
            hessian.scaling += symmetric(Vec3::zero(), share);
            hessian.flip -= share;
            hessian.twist += share;
        }
        exact.0.positive_part()
    }

    /// The same with negative eigenvalues set to zero.
    #[inline(always)]
    pub fn positive_part(&self) -> Self {
        Self { hessian: self.hessian.positive_part(), ..*self }
    }

    /// δP = (∂P/∂F) : δF.
    #[inline(always)]
    pub fn apply(&self, dF: &Mat3<S>) -> Mat3<S> {
        let d = self.u.transpose_mul(&(*dF * self.v));
        let mut out = Mat3::diagonal(self.hessian.scaling * d.diagonal_entries());
        for (i, j, k) in PLANES {
            let (alpha, beta) = self.shear(k);
            out[(i, j)] = alpha * d[(i, j)] + beta * d[(j, i)];
            out[(j, i)] = beta * d[(i, j)] + alpha * d[(j, i)];
        }
        (self.u * out).mul_transpose(&self.v)
    }

    /// The tangent as a full matrix.
    #[inline(always)]
    pub fn to_tangent9(&self) -> Tangent9<S> {
        let mut out = Tangent9([[S::zero(); 9]; 9]);
        for column in 0..9 {
            out.set_column(column, self.apply(&unit_direction(column)));
        }
        out
    }

    /// Blocks of the element matrix; see [`Material::nodal_blocks`]. In the frame (Vᵀg, Uᵀx) a block has the diagonal
    /// Hᵢᵢ aᵢbᵢ + Σⱼ αᵢⱼ aⱼbⱼ and the entries Hᵢₖ aᵢbₖ + βᵢₖ aₖbᵢ.
    #[inline(always)]
    pub fn nodal_blocks(&self, shape: &mut Shape<'_, S>, sink: &mut impl BlockSink<S>) {
        let Shape { gradients, weight, vectors: [room, ..], .. } = shape;
        let weight = *weight;
        let local = transform(&self.v.transpose(), gradients, room);
        let H = &self.hessian.scaling;
        for a in 0..gradients.len() {
            for b in 0..=a {
                let (p, q) = (local[a], local[b] * weight);
                let mut block =
                    Mat3::diagonal(Vec3::new(H[(0, 0)] * p.x * q.x, H[(1, 1)] * p.y * q.y, H[(2, 2)] * p.z * q.z));
                for (i, j, k) in PLANES {
                    let (alpha, beta) = self.shear(k);
                    block[(i, i)] += alpha * p[j] * q[j];
                    block[(j, j)] += alpha * p[i] * q[i];
                    block[(i, j)] = H[(i, j)] * p[i] * q[j] + beta * p[j] * q[i];
                    block[(j, i)] = H[(i, j)] * p[j] * q[i] + beta * p[i] * q[j];
                }
                sink.add(a, b, (self.u * block).mul_transpose(&self.u));
            }
        }
    }

    /// (α, β) of the plane orthogonal to axis k.
    #[inline(always)]
    fn shear(&self, k: usize) -> (S, S) {
        let (flip, twist) = (self.hessian.flip[k], self.hessian.twist[k]);
        let half = S::splat(0.5);
        ((flip + twist) * half, (flip - twist) * half)
    }
}

/// The positive semi-definite part of a symmetric matrix. Mostly the leading minors show that the matrix is definite,
/// and the eigenproblem is skipped. The choice is made lane by lane, so lanes keep the bits of plain numbers.
#[inline(always)]
fn positive_part<S: Scalar>(A: &Mat3<S>) -> Mat3<S> {
    let definite = is_positive(A);
    if S::all(definite) { *A } else { Mat3::select(definite, *A, Mat3::new(positive_part_of(&A.rows))) }
}

/// Where a symmetric matrix is positive definite: its leading minors.
#[inline(always)]
fn is_positive<S: Scalar>(A: &Mat3<S>) -> S::Mask {
    let minor = A[(0, 0)] * A[(1, 1)] - A[(0, 1)] * A[(1, 0)];
    let zero = S::zero();
    A[(0, 0)].gt(zero) & minor.gt(zero) & A.determinant().gt(zero)
}

/// The coordinate planes (i, j) and the axis k orthogonal to each.
pub(super) const PLANES: [(usize, usize, usize); 3] = [(1, 2, 0), (2, 0, 1), (0, 1, 2)];

/// For each axis k, the product of the two other stretches: ∂J/∂σₖ.
#[inline(always)]
pub(super) fn products_of_others<S: Scalar>(s: Vec3<S>) -> Vec3<S> {
    Vec3::new(s.y * s.z, s.z * s.x, s.x * s.y)
}

/// Sums of the two other components.
#[inline(always)]
pub(super) fn sums_of_others<S: Scalar>(s: Vec3<S>) -> Vec3<S> {
    Vec3::new(s.y + s.z, s.z + s.x, s.x + s.y)
}

/// The symmetric matrix with this diagonal, and `off[k]` at (i, j) and (j, i).
#[inline(always)]
pub(super) fn symmetric<S: Scalar>(diagonal: Vec3<S>, off: Vec3<S>) -> Mat3<S> {
    Mat3::new([[diagonal.x, off.z, off.y], [off.z, diagonal.y, off.x], [off.y, off.x, diagonal.z]])
}

/// Overrides of [`Material`] that every isotropic law shares: definite tangents through principal stretches.
macro_rules! definite_by_principal_stretches {
    () => {
        #[inline(always)]
        fn definite_tangent<S: Scalar>(&self, F: &Mat3<S>, point: &MaterialPoint<S>) -> Tangent9<S> {
            PrincipalTangent::definite(self, F, point, None).to_tangent9()
        }

        #[inline(always)]
        fn definite_nodal_blocks<S: Scalar>(
            &self,
            F: &Mat3<S>,
            point: &MaterialPoint<S>,
            pressure: Option<S>,
            shape: &mut Shape<'_, S>,
            sink: &mut impl BlockSink<S>,
        ) {
            PrincipalTangent::definite(self, F, point, pressure).nodal_blocks(shape, sink);
        }
    };
}
pub(super) use definite_by_principal_stretches;
