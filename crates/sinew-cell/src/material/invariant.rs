//! Laws given by their derivatives with respect to the invariants of C = FᵀF and a fiber direction a (SIF-014,
//! SIF-031).
//!
//! ```math
//! I_1 = \operatorname{tr} C, \quad I_2 = \operatorname{tr} C^2, \quad I_3 = \det C, \quad I_4 = a \cdot C a, \quad
//!    I_5 = a \cdot C^2 a
//! ```
//!
//! With Jₘ = ∂Iₘ/∂C the second Piola–Kirchhoff stress is S = 2 Σ ψₘ Jₘ, and P = F S. In the frame of the principal
//! stretches, F = U Σ Vᵀ, Ŝ = Vᵀ S V, δF̂ = Uᵀ δF V and δĈ = δF̂ᵀ Σ + Σ δF̂,
//!
//! ```math
//! \delta P = U \bigl[ \delta\hat F\, \hat S + \Sigma\, (\hat T : \delta\hat C) \bigr] V^T, \qquad
//!    \hat T = 2 \sum_{mn} \psi_{mn}\, j_m j_n^T + 2 \sum_m \psi_m H_m, \qquad
//!    \delta F : \delta P = \delta\hat F : (\delta\hat F \hat S) + \tfrac12\, \delta\hat C : \hat T : \delta\hat C
//! ```
//!
//! where jₘ and Hₘ are Jₘ and ∂Jₘ/∂C in orthonormal coordinates (δC₁₁, δC₂₂, δC₃₃, √2 δC₁₂, √2 δC₁₃, √2 δC₂₃). If the
//! 3×3 matrix Ŝ and the 6×6 matrix T̂ are positive semi-definite, so is the tangent; the reverse does not hold, hence
//! clamping both is safe and generous. Two misprints of the document are corrected here: the second entry of j₅ has σ₂,
//! and T̂ has the factor 2 when it acts on δĈ (4 is right for δĈ/2). References: \[Sifakis07, A.3\], \[Weiss96\].

#![allow(non_snake_case)]

use sinew_math::svd3::svd3_apart;
use sinew_math::{Mat3, Scalar, Vec3};

use super::blocks::{BlockSink, Shape};
use super::jacobi::positive_part_of;
use super::law::{Material, MaterialPoint};
use super::tangent::{Tangent9, unit_direction};
use super::volume::{VolumeTerm, pointwise_lambda};

/// The invariants of C = FᵀF and a fiber direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Invariants<S = f64> {
    /// I₁ … I₅.
    pub values: [S; 5],
    /// det F: the square root of I₃ with the sign of the volume.
    pub J: S,
}

impl<S: Scalar> Invariants<S> {
    /// Invariants at F with fibers along the unit vector `fiber`.
    #[inline(always)]
    pub fn of(F: &Mat3<S>, fiber: Vec3<S>) -> Self {
        let C = F.transpose_mul(F);
        let J = F.determinant();
        let along = C * fiber;
        Self { values: [C.trace(), C.norm_squared(), J * J, fiber.dot(along), along.norm_squared()], J }
    }
}

/// First and second derivatives of ψ(I₁ … I₅).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InvariantDerivatives<S = f64> {
    /// ψₘ = ∂ψ/∂Iₘ \[Pa\].
    pub first: [S; 5],
    /// ψₘₙ = ∂²ψ/∂Iₘ∂Iₙ \[Pa\], symmetric.
    pub second: [[S; 5]; 5],
}

impl<S: Scalar> InvariantDerivatives<S> {
    /// All zero, to be filled.
    #[inline(always)]
    pub fn zero() -> Self {
        Self { first: [S::zero(); 5], second: [[S::zero(); 5]; 5] }
    }

    /// Second Piola–Kirchhoff stress S = 2 Σ ψₘ ∂Iₘ/∂C \[Pa\].
    #[inline(always)]
    pub fn second_piola(&self, F: &Mat3<S>, fiber: Vec3<S>) -> Mat3<S> {
        let C = F.transpose_mul(F);
        let [p1, p2, p3, p4, p5] = self.first;
        let along = C * fiber;
        let mixed = Mat3::outer(along, fiber) + Mat3::outer(fiber, along);
        let half = Mat3::diagonal(Vec3::splat(p1))
            + C * (p2 + p2)
            + C.cofactor() * p3
            + Mat3::outer(fiber, fiber) * p4
            + mixed * p5;
        half + half
    }
}

/// A law written as a function of invariants.
pub trait InvariantLaw: Copy + Send + Sync + 'static {
    /// Name in reports.
    const NAME: &'static str;
    /// Whether ψ does not depend on I₄ and I₅.
    const ISOTROPIC: bool;
    /// Whether ψ = +∞ for det F ≤ 0; see [`Material::BARRIER`].
    const BARRIER: bool = false;
    /// How ψ depends on the volume; see [`Material::VOLUME_TERM`].
    const VOLUME_TERM: VolumeTerm = VolumeTerm::Inseparable;

    /// Energy density ψ \[J/m³\].
    fn energy_density<S: Scalar>(&self, invariants: &Invariants<S>, point: &MaterialPoint<S>) -> S;

    /// The same from F, for laws that then keep their precision near rest.
    #[inline(always)]
    fn energy_density_at<S: Scalar>(&self, F: &Mat3<S>, point: &MaterialPoint<S>) -> S {
        self.energy_density(&Invariants::of(F, point.fiber), point)
    }

    /// Derivatives of ψ \[Pa\].
    fn derivatives<S: Scalar>(&self, invariants: &Invariants<S>, point: &MaterialPoint<S>) -> InvariantDerivatives<S>;

    /// Parameters without the volume term; see [`Material::without_volume_term`].
    #[inline(always)]
    fn without_volume_term<S: Scalar>(&self, point: &MaterialPoint<S>) -> MaterialPoint<S> {
        MaterialPoint { lambda: pointwise_lambda(point), ..*point }
    }
}

/// The law L as a [`Material`]: P = F S, the tangent from Ŝ and T̂.
///
/// For laws whose derivatives are simpler in invariants, and as a reference for laws that are written otherwise. The
/// definite tangent is the exact one where that is definite; elsewhere Ŝ and T̂ are clamped.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ByInvariants<L>(pub L);

impl<L: InvariantLaw> Material for ByInvariants<L> {
    const NAME: &'static str = L::NAME;
    const ISOTROPIC: bool = L::ISOTROPIC;
    const BARRIER: bool = L::BARRIER;
    const TAKES_FIBERS: bool = !L::ISOTROPIC;
    const VOLUME_TERM: VolumeTerm = L::VOLUME_TERM;
    const PARAMETERS: usize = MaterialPoint::<f64>::LEN;

    #[inline(always)]
    fn energy_density<S: Scalar>(&self, F: &Mat3<S>, point: &MaterialPoint<S>) -> S {
        self.0.energy_density_at(F, point)
    }

    #[inline(always)]
    fn stress<S: Scalar>(&self, F: &Mat3<S>, point: &MaterialPoint<S>) -> Mat3<S> {
        let derivatives = self.0.derivatives(&Invariants::of(F, point.fiber), point);
        *F * derivatives.second_piola(F, point.fiber)
    }

    #[inline(always)]
    fn stress_differential<S: Scalar>(&self, F: &Mat3<S>, dF: &Mat3<S>, point: &MaterialPoint<S>) -> Mat3<S> {
        InvariantTangent::exact(&self.0, F, point).apply(dF)
    }

    /// One frame of principal stretches for all nine columns.
    #[inline(always)]
    fn nodal_blocks<S: Scalar>(
        &self,
        F: &Mat3<S>,
        point: &MaterialPoint<S>,
        shape: &mut Shape<'_, S>,
        sink: &mut impl BlockSink<S>,
    ) {
        InvariantTangent::exact(&self.0, F, point).to_tangent9().nodal_blocks(shape, sink);
    }

    #[inline(always)]
    fn definite_tangent<S: Scalar>(&self, F: &Mat3<S>, point: &MaterialPoint<S>) -> Tangent9<S> {
        self.definite_under_pressure(F, point, S::zero())
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
        let pressure = pressure.unwrap_or(S::zero());
        self.definite_under_pressure(F, point, pressure).nodal_blocks(shape, sink);
    }

    #[inline(always)]
    fn without_volume_term<S: Scalar>(&self, point: &MaterialPoint<S>) -> MaterialPoint<S> {
        self.0.without_volume_term(point)
    }
}

impl<L: InvariantLaw> ByInvariants<L> {
    /// The definite tangent of ψ + pJ: with J = √I₃ that adds p/(2J) to ψ₃ and −p/(4J³) to ψ₃₃; not for flat cells.
    #[inline(always)]
    fn definite_under_pressure<S: Scalar>(&self, F: &Mat3<S>, point: &MaterialPoint<S>, pressure: S) -> Tangent9<S> {
        let invariants = Invariants::of(F, point.fiber);
        let mut derivatives = self.0.derivatives(&invariants, point);
        let is_flat = invariants.J.abs().lt(S::splat(1e-12));
        let over = S::select(is_flat, S::zero(), S::select(is_flat, S::one(), invariants.J).recip());
        derivatives.first[2] += pressure * over * S::splat(0.5);
        derivatives.second[2][2] -= pressure * over * over * over * S::splat(0.25);
        let tangent = InvariantTangent::new(F, point.fiber, &derivatives);
        let exact = tangent.to_tangent9();
        let is_definite = exact.is_positive_definite();
        if S::all(is_definite) {
            exact
        } else {
            Tangent9::select(is_definite, exact, tangent.positive_part().to_tangent9())
        }
    }
}

/// A tangent ∂P/∂F, stored as Ŝ and T̂ in the frame of the principal stretches.
#[derive(Clone, Copy, Debug)]
pub struct InvariantTangent<S = f64> {
    /// Left rotation of F = U diag(σ) Vᵀ.
    pub u: Mat3<S>,
    /// Right rotation.
    pub v: Mat3<S>,
    /// Principal stretches; the last has the sign of det F.
    pub sigma: Vec3<S>,
    /// Ŝ = Vᵀ S V \[Pa\].
    pub stress: Mat3<S>,
    /// T̂ \[Pa\] over (11, 22, 33, 12, 13, 23).
    pub stiffness: [[S; 6]; 6],
}

/// The shear components after the three normal ones: plane (i, j) and its index.
const SHEARS: [(usize, usize, usize); 3] = [(0, 1, 3), (0, 2, 4), (1, 2, 5)];

/// A symmetric matrix in orthonormal coordinates: shears times √2.
#[inline(always)]
fn coordinates<S: Scalar>(A: &Mat3<S>) -> [S; 6] {
    let root = S::splat(std::f64::consts::SQRT_2);
    [A[(0, 0)], A[(1, 1)], A[(2, 2)], A[(0, 1)] * root, A[(0, 2)] * root, A[(1, 2)] * root]
}

impl<S: Scalar> InvariantTangent<S> {
    /// The exact tangent of a law.
    #[inline(always)]
    pub fn exact<L: InvariantLaw>(law: &L, F: &Mat3<S>, point: &MaterialPoint<S>) -> Self {
        Self::new(F, point.fiber, &law.derivatives(&Invariants::of(F, point.fiber), point))
    }

    /// The exact tangent at F with fibers along `fiber`, from the derivatives there.
    #[inline(always)]
    pub fn new(F: &Mat3<S>, fiber: Vec3<S>, derivatives: &InvariantDerivatives<S>) -> Self {
        let svd = svd3_apart(F);
        let w = svd.v.transpose_mul_vec(fiber);
        let c = svd.sigma.component_mul(svd.sigma);
        let two = S::splat(2.0);
        // I₃/σᵢ² without division, so that flat cells have a tangent.
        let others = Vec3::new(c.y * c.z, c.z * c.x, c.x * c.y);
        let along = c.component_mul(w);
        let J = [
            Mat3::identity(),
            Mat3::diagonal(c * two),
            Mat3::diagonal(others),
            Mat3::outer(w, w),
            Mat3::outer(along, w) + Mat3::outer(w, along),
        ];
        let mut stress = Mat3::zero();
        for (J, &first) in J.iter().zip(&derivatives.first) {
            stress += *J * (first * two);
        }

        let mut stiffness = [[S::zero(); 6]; 6];
        let j = J.map(|J| coordinates(&J));
        for m in 0..5 {
            // Σₙ ψₘₙ jₙ
            let mut sum = [S::zero(); 6];
            for n in 0..5 {
                for k in 0..6 {
                    sum[k] += derivatives.second[m][n] * j[n][k];
                }
            }
            for row in 0..6 {
                for column in 0..6 {
                    stiffness[row][column] += j[m][row] * sum[column];
                }
            }
        }
        let [_, p2, p3, _, p5] = derivatives.first;
        for k in 0..6 {
            stiffness[k][k] += two * p2;
        }
        let root = S::splat(std::f64::consts::SQRT_2);
        for (i, j, s) in SHEARS {
            // ∂²I₃: the square of the third stretch.
            let third = c[3 - i - j] * p3;
            stiffness[i][j] += third;
            stiffness[j][i] += third;
            stiffness[s][s] -= third;
            // ∂²I₅.
            let product = root * w[i] * w[j] * p5;
            for normal in [i, j] {
                stiffness[normal][s] += product;
                stiffness[s][normal] += product;
            }
            stiffness[s][s] += (w[i] * w[i] + w[j] * w[j]) * p5;
        }
        for i in 0..3 {
            stiffness[i][i] += two * w[i] * w[i] * p5;
        }
        for ((row, column), (a, b)) in [((3, 4), (1, 2)), ((3, 5), (0, 2)), ((4, 5), (0, 1))] {
            stiffness[row][column] += w[a] * w[b] * p5;
            stiffness[column][row] += w[a] * w[b] * p5;
        }
        for row in &mut stiffness {
            for entry in row {
                *entry *= two;
            }
        }
        Self { u: svd.u, v: svd.v, sigma: svd.sigma, stress, stiffness }
    }

    /// Ŝ and T̂ with their negative eigenvalues set to zero.
    #[inline(always)]
    pub fn positive_part(&self) -> Self {
        Self {
            stress: Mat3::new(positive_part_of(&self.stress.rows)),
            stiffness: positive_part_of(&self.stiffness),
            ..*self
        }
    }

    /// δP = (∂P/∂F) : δF.
    #[inline(always)]
    pub fn apply(&self, dF: &Mat3<S>) -> Mat3<S> {
        let d = self.u.transpose_mul(&(*dF * self.v));
        let stretched = Mat3::diagonal(self.sigma) * d;
        let c = coordinates(&(stretched + stretched.transpose()));
        let mut y = [S::zero(); 6];
        for (row, y) in self.stiffness.iter().zip(&mut y) {
            for k in 0..6 {
                *y += row[k] * c[k];
            }
        }
        let mut dS = Mat3::diagonal(Vec3::new(y[0], y[1], y[2]));
        for (i, j, s) in SHEARS {
            dS[(i, j)] = y[s] * S::splat(std::f64::consts::FRAC_1_SQRT_2);
            dS[(j, i)] = dS[(i, j)];
        }
        let local = d * self.stress + Mat3::diagonal(self.sigma) * dS;
        (self.u * local).mul_transpose(&self.v)
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
}

#[cfg(test)]
mod tests;
