//! Compressible neo-Hookean law with logarithmic volume term.

#![allow(non_snake_case)]

use sinew_math::{Mat3, Scalar, Vec3};

use super::blocks::{BlockSink, Shape, transform};
use super::declaration::{DeclaredLaw, Values, lame_of};
use super::law::{Material, MaterialPoint};
use super::principal::{
    IsotropicLaw, PrincipalHessian, PrincipalTangent, definite_by_principal_stretches, products_of_others, symmetric,
};
use super::strain::{Volume, add_to_diagonal, displacement_gradient};
use super::tangent::Tangent9;
use super::volume::VolumeTerm;

/// Neo-Hookean law with a barrier against collapse.
///
/// ```math
/// \psi = \tfrac{\mu}{2} (I_1 - 3) - \mu \ln J + \tfrac{\lambda}{2} \ln^2 J, \qquad
///    P = \mu F + (\lambda \ln J - \mu) F^{-T}
/// ```
///
/// Small strains give Hooke's law with μ, λ \[Pa\]. For J ≤ 0 the energy is +∞: a line search must shorten steps that
/// invert a cell. References: \[Bonet08, §6.4.3\], \[Irving04\]; SIF-017, LUO-01 (eq. 5.8, the same law in I₃ = J²).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NeoHookean;

/// F⁻ᵀ and ln J; finite even where the volume is not positive.
#[inline(always)]
fn inverse_transpose<S: Scalar>(F: &Mat3<S>) -> (Mat3<S>, S) {
    let volume = Volume::of(F).or_rest();
    (F.cofactor() * volume.J.recip(), volume.ln())
}

impl Material for NeoHookean {
    const NAME: &'static str = "neo_hookean";
    const BARRIER: bool = true;
    const VOLUME_TERM: VolumeTerm = VolumeTerm::Logarithmic;

    /// I₁ − 3 = 2 tr H + H:H with H = F − I.
    #[inline(always)]
    fn energy_density<S: Scalar>(&self, F: &Mat3<S>, point: &MaterialPoint<S>) -> S {
        let volume = Volume::of(F);
        let logarithm = volume.or_rest().ln();
        let H = displacement_gradient(F);
        let half = S::splat(0.5);
        let energy =
            point.mu * (H.trace() - logarithm + H.norm_squared() * half) + point.lambda * half * logarithm * logarithm;
        S::select(volume.is_positive(), energy, S::splat(f64::INFINITY))
    }

    #[inline(always)]
    fn stress<S: Scalar>(&self, F: &Mat3<S>, point: &MaterialPoint<S>) -> Mat3<S> {
        let (G, logarithm) = inverse_transpose(F);
        *F * point.mu + G * (point.lambda * logarithm - point.mu)
    }

    /// δP = μ δF + λ (G:δF) G + (μ − λ ln J) G δFᵀ G with G = F⁻ᵀ.
    #[inline(always)]
    fn stress_differential<S: Scalar>(&self, F: &Mat3<S>, dF: &Mat3<S>, point: &MaterialPoint<S>) -> Mat3<S> {
        let (G, logarithm) = inverse_transpose(F);
        *dF * point.mu
            + G * (point.lambda * G.double_dot(dF))
            + G.mul_transpose(dF) * G * (point.mu - point.lambda * logarithm)
    }

    /// K = μ (gₐ·g_b) I + λ a bᵀ + (μ − λ ln J) b aᵀ with a = F⁻ᵀgₐ, b = F⁻ᵀg_b.
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
        let (G, logarithm) = inverse_transpose(F);
        let (mu, lambda) = (point.mu * weight, point.lambda * weight);
        let swap = mu - lambda * logarithm;
        let spatial = transform(&G, gradients, room);
        for a in 0..gradients.len() {
            let (mu_a, lambda_a, swap_a) = (gradients[a] * mu, spatial[a] * lambda, spatial[a] * swap);
            for b in 0..=a {
                let block = Mat3::outer(lambda_a, spatial[b]) + Mat3::outer(spatial[b], swap_a);
                sink.add(a, b, add_to_diagonal(block, mu_a.dot(gradients[b])));
            }
        }
    }

    definite_by_principal_stretches!();
}

/// Product of the stretches, and 1/σᵢ; both are those of rest where the volume is not positive.
#[inline(always)]
pub(super) fn inverse_stretches<S: Scalar>(s: Vec3<S>) -> (S, Vec3<S>) {
    let J = s.x * s.y * s.z;
    let positive = J.gt(S::zero());
    let one = Vec3::splat(S::one());
    (S::select(positive, J, S::one()), one.component_div(Vec3::select(positive, s, one)))
}

impl IsotropicLaw for NeoHookean {
    /// ψᵢ = μ σᵢ + (λ ln J − μ)/σᵢ.
    #[inline(always)]
    fn principal_stress<S: Scalar>(&self, s: Vec3<S>, point: &MaterialPoint<S>) -> Vec3<S> {
        let (J, inverse) = inverse_stretches(s);
        s * point.mu + inverse * (point.lambda * J.ln() - point.mu)
    }

    /// (ψᵢ ∓ ψⱼ)/(σᵢ ∓ σⱼ) = μ ∓ (λ ln J − μ)/(σᵢσⱼ).
    #[inline(always)]
    fn principal_hessian<S: Scalar>(&self, s: Vec3<S>, point: &MaterialPoint<S>) -> PrincipalHessian<S> {
        let (J, r) = inverse_stretches(s);
        let swap = point.mu - point.lambda * J.ln();
        let others = products_of_others(r);
        let mu = Vec3::splat(point.mu);
        PrincipalHessian {
            scaling: symmetric(r.component_mul(r) * (point.lambda + swap) + mu, others * point.lambda),
            flip: mu + others * swap,
            twist: mu - others * swap,
        }
    }
}

impl DeclaredLaw for NeoHookean {
    const DOC: &'static str = "Neo-Hookean with ln J: large strains; cells cannot invert unless `inversion` is given.";

    fn principal_stresses<S: Scalar>(values: Values, _: Vec3, stretches: [S; 3]) -> [S; 3] {
        let (mu, lambda) = lame_of::<S>(values);
        let volume = stretches[0] * stretches[1] * stretches[2];
        stretches.map(|s| mu * (s - S::one() / s) + lambda * volume.ln() / s)
    }
}
