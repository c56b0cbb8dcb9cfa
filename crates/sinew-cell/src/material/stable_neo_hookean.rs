//! Stable neo-Hookean law: finite for any F, and at rest for F = I.

#![allow(non_snake_case)]

use sinew_math::{Mat3, Scalar, Vec3};

use super::blocks::{BlockSink, Shape, transform};
use super::declaration::{DeclaredLaw, Values, lame_of};
use super::law::{Material, MaterialPoint};
use super::principal::{
    IsotropicLaw, PrincipalHessian, PrincipalTangent, definite_by_principal_stretches, products_of_others, symmetric,
};
use super::strain::{Volume, add_to_diagonal, cofactor_differential, displacement_gradient, second_invariant};
use super::tangent::Tangent9;
use super::volume::VolumeTerm;

/// Neo-Hookean law with polynomial volume terms \[Smith18\], in the form
///
/// ```math
/// \psi = \tfrac{\mu}{2} (I_1 - 3) - \mu (J - 1) + \tfrac{\lambda + \mu}{2} (J - 1)^2, \qquad
///    P = \mu F + \bigl((\lambda + \mu)(J - 1) - \mu\bigr) \operatorname{cof} F
/// ```
///
/// which is μ/2 (I₁ − 3) + λ′/2 (J − α)² of the paper with λ′ = λ + μ and α = 1 + μ/λ′, less its value at rest. With
/// this λ′ small strains give exactly Hooke's law with μ, λ \[Pa\]. Smooth and finite under collapse and inversion,
/// from which it recovers. The paper's optional term −μ/2 ln(I₁ + 1), which only matters when a cell collapses to a
/// point, is left out: it would spoil the small-strain limit of these coefficients.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StableNeoHookean;

impl StableNeoHookean {
    /// ∂ψ/∂J, the coefficient of cof F.
    #[inline(always)]
    fn pressure<S: Scalar>(change: S, point: &MaterialPoint<S>) -> S {
        (point.lambda + point.mu) * change - point.mu
    }
}

impl Material for StableNeoHookean {
    const NAME: &'static str = "stable_neo_hookean";
    const TAKES_FIBERS: bool = true;
    const VOLUME_TERM: VolumeTerm = VolumeTerm::Quadratic;

    /// With H = F − I the linear terms cancel exactly: I₁ − 3 − 2(J − 1) = H:H − 2 i₂(H) − 2 det H.
    #[inline(always)]
    fn energy_density<S: Scalar>(&self, F: &Mat3<S>, point: &MaterialPoint<S>) -> S {
        let H = displacement_gradient(F);
        let half = S::splat(0.5);
        let distortion = H.norm_squared() * half - second_invariant(&H) - H.determinant();
        point.mu * distortion + (point.lambda + point.mu) * half * Volume::of(F).change.square()
    }

    #[inline(always)]
    fn stress<S: Scalar>(&self, F: &Mat3<S>, point: &MaterialPoint<S>) -> Mat3<S> {
        *F * point.mu + F.cofactor() * Self::pressure(Volume::of(F).change, point)
    }

    #[inline(always)]
    fn stress_differential<S: Scalar>(&self, F: &Mat3<S>, dF: &Mat3<S>, point: &MaterialPoint<S>) -> Mat3<S> {
        let cofactor = F.cofactor();
        *dF * point.mu
            + cofactor * ((point.lambda + point.mu) * cofactor.double_dot(dF))
            + cofactor_differential(F, dF) * Self::pressure(Volume::of(F).change, point)
    }

    /// K = μ (gₐ·g_b) I + (λ + μ) a bᵀ + ∂ψ/∂J \[F (g_b × gₐ)\]× with a = cof(F) gₐ, b = cof(F) g_b.
    #[inline(always)]
    fn nodal_blocks<S: Scalar>(
        &self,
        F: &Mat3<S>,
        point: &MaterialPoint<S>,
        shape: &mut Shape<'_, S>,
        sink: &mut impl BlockSink<S>,
    ) {
        let Shape { gradients, weight, vectors: [room, ..], .. } = shape;
        let weight = *weight;
        let cofactor = F.cofactor();
        let mu = point.mu * weight;
        let bulk = (point.lambda + point.mu) * weight;
        let pressure = Self::pressure(Volume::of(F).change, point) * weight;
        let spatial = transform(&cofactor, gradients, room);
        for a in 0..gradients.len() {
            let (mu_a, bulk_a, pressure_a) = (gradients[a] * mu, spatial[a] * bulk, gradients[a] * pressure);
            for b in 0..=a {
                let block = Mat3::outer(bulk_a, spatial[b]) + Mat3::skew(*F * gradients[b].cross(pressure_a));
                sink.add(a, b, add_to_diagonal(block, mu_a.dot(gradients[b])));
            }
        }
    }

    definite_by_principal_stretches!();
}

impl IsotropicLaw for StableNeoHookean {
    /// ψᵢ = μ σᵢ + ∂ψ/∂J · J/σᵢ.
    #[inline(always)]
    fn principal_stress<S: Scalar>(&self, s: Vec3<S>, point: &MaterialPoint<S>) -> Vec3<S> {
        let others = products_of_others(s);
        s * point.mu + others * Self::pressure(s.x * others.x - S::one(), point)
    }

    /// (ψᵢ ∓ ψⱼ)/(σᵢ ∓ σⱼ) = μ ∓ ∂ψ/∂J σₖ.
    #[inline(always)]
    fn principal_hessian<S: Scalar>(&self, s: Vec3<S>, point: &MaterialPoint<S>) -> PrincipalHessian<S> {
        let others = products_of_others(s);
        let bulk = point.lambda + point.mu;
        let pressure = Self::pressure(s.x * others.x - S::one(), point);
        let mu = Vec3::splat(point.mu);
        PrincipalHessian {
            scaling: symmetric(
                others.component_mul(others) * bulk + mu,
                products_of_others(others) * bulk + s * pressure,
            ),
            flip: mu - s * pressure,
            twist: mu + s * pressure,
        }
    }
}

impl DeclaredLaw for StableNeoHookean {
    const DOC: &'static str = "Stable neo-Hookean: large strains, finite under inversion.";

    /// With α of \[Smith18\], the volume ratio at which the volume term alone has its minimum.
    fn principal_stresses<S: Scalar>(values: Values, _: Vec3, stretches: [S; 3]) -> [S; 3] {
        let (mu, lambda) = lame_of::<S>(values);
        let alpha = S::one() + mu / (lambda + mu);
        let volume = stretches[0] * stretches[1] * stretches[2];
        stretches.map(|s| mu * s + (lambda + mu) * (volume - alpha) * volume / s)
    }
}
