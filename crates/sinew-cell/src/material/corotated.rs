//! Fixed corotated law.

#![allow(non_snake_case)]

use sinew_math::{Mat3, Scalar, Vec3};

use super::blocks::{BlockSink, Shape, transform};
use super::declaration::{DeclaredLaw, Values, lame_of};
use super::law::{Material, MaterialPoint};
use super::polar::Polar;
use super::principal::{
    IsotropicLaw, PrincipalHessian, PrincipalTangent, definite_by_principal_stretches, products_of_others,
    sums_of_others, symmetric,
};
use super::strain::{Volume, add_to_diagonal, cofactor_differential};
use super::tangent::Tangent9;
use super::volume::VolumeTerm;

/// Fixed corotated elasticity: the distance of F from the nearest rotation R, and the change of volume.
///
/// ```math
/// \psi = \mu \sum_i (\sigma_i - 1)^2 + \tfrac{\lambda}{2} (J - 1)^2, \qquad
///    P = 2\mu (F - R) + \lambda (J - 1) \operatorname{cof} F
/// ```
///
/// Finite under inversion, so no line-search guard is needed; the stress pushes an inverted cell back, and jumps only
/// where two singular values add up to zero. Small strains give Hooke's law with μ, λ \[Pa\]. Reference:
/// \[Stomakhin12\].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Corotated;

impl Corotated {
    /// ψ from F − R and J − 1.
    #[inline(always)]
    fn energy<S: Scalar>(distortion: &Mat3<S>, change: S, point: &MaterialPoint<S>) -> S {
        point.mu * distortion.norm_squared() + point.lambda * S::splat(0.5) * change.square()
    }

    /// P from F − R and J − 1.
    #[inline(always)]
    fn nominal<S: Scalar>(F: &Mat3<S>, distortion: &Mat3<S>, change: S, point: &MaterialPoint<S>) -> Mat3<S> {
        *distortion * (point.mu + point.mu) + F.cofactor() * (point.lambda * change)
    }
}

impl Material for Corotated {
    const NAME: &'static str = "corotated";
    const VOLUME_TERM: VolumeTerm = VolumeTerm::Quadratic;

    #[inline(always)]
    fn energy_density<S: Scalar>(&self, F: &Mat3<S>, point: &MaterialPoint<S>) -> S {
        Self::energy(&(*F - Polar::rotation_of(F)), Volume::of(F).change, point)
    }

    #[inline(always)]
    fn stress<S: Scalar>(&self, F: &Mat3<S>, point: &MaterialPoint<S>) -> Mat3<S> {
        Self::nominal(F, &(*F - Polar::rotation_of(F)), Volume::of(F).change, point)
    }

    #[inline(always)]
    fn energy_and_stress<S: Scalar>(&self, F: &Mat3<S>, point: &MaterialPoint<S>) -> (S, Mat3<S>) {
        let (distortion, change) = (*F - Polar::rotation_of(F), Volume::of(F).change);
        (Self::energy(&distortion, change, point), Self::nominal(F, &distortion, change, point))
    }

    #[inline(always)]
    fn stress_differential<S: Scalar>(&self, F: &Mat3<S>, dF: &Mat3<S>, point: &MaterialPoint<S>) -> Mat3<S> {
        let cofactor = F.cofactor();
        let pressure = point.lambda * Volume::of(F).change;
        (*dF - Polar::of(F).rotation_differential(dF)) * (point.mu + point.mu)
            + cofactor * (point.lambda * cofactor.double_dot(dF))
            + cofactor_differential(F, dF) * pressure
    }

    /// K = 2μ (gₐ·g_b) I − 2μ Bₐ D⁻¹ B_bᵀ + λ a bᵀ + λ (J − 1) \[F (g_b × gₐ)\]× with a = cof(F) gₐ, where row i of Bₐ
    /// is gₐ × (row i of R).
    #[inline(always)]
    fn nodal_blocks<S: Scalar>(
        &self,
        F: &Mat3<S>,
        point: &MaterialPoint<S>,
        shape: &mut Shape<'_, S>,
        sink: &mut impl BlockSink<S>,
    ) {
        let Shape { gradients, weight, vectors: [room, ..], matrices: moments, .. } = shape;
        let weight = *weight;
        let polar = Polar::of(F);
        let cofactor = F.cofactor();
        let two_mu = (point.mu + point.mu) * weight;
        let lambda = point.lambda * weight;
        let pressure = lambda * Volume::of(F).change;
        let spin = polar.spin_compliance * (-two_mu);
        let R = polar.rotation;
        let spatial = transform(&cofactor, gradients, room);
        for (moment, g) in moments.iter_mut().zip(*gradients) {
            *moment = Mat3::from_rows(g.cross(R.row(0)), g.cross(R.row(1)), g.cross(R.row(2)));
        }
        for a in 0..gradients.len() {
            let spin_a = moments[a] * spin;
            let (lambda_a, pressure_a) = (spatial[a] * lambda, gradients[a] * pressure);
            for b in 0..=a {
                let block = spin_a.mul_transpose(&moments[b])
                    + Mat3::outer(lambda_a, spatial[b])
                    + Mat3::skew(*F * gradients[b].cross(pressure_a));
                sink.add(a, b, add_to_diagonal(block, two_mu * gradients[a].dot(gradients[b])));
            }
        }
    }

    definite_by_principal_stretches!();
}

/// Floor of σᵢ + σⱼ in the twist eigenvalue, which tends to −∞ there and is clamped to zero.
const SMALLEST_SUM: f64 = 1e-20;

impl IsotropicLaw for Corotated {
    /// ψᵢ = 2μ (σᵢ − 1) + λ (J − 1) J/σᵢ.
    #[inline(always)]
    fn principal_stress<S: Scalar>(&self, s: Vec3<S>, point: &MaterialPoint<S>) -> Vec3<S> {
        let others = products_of_others(s);
        let pressure = point.lambda * (s.x * others.x - S::one());
        (s - Vec3::splat(S::one())) * (point.mu + point.mu) + others * pressure
    }

    /// (ψᵢ − ψⱼ)/(σᵢ − σⱼ) = 2μ − λ (J − 1) σₖ and (ψᵢ + ψⱼ)/(σᵢ + σⱼ) = 2μ − 4μ/(σᵢ + σⱼ) + λ (J − 1) σₖ.
    #[inline(always)]
    fn principal_hessian<S: Scalar>(&self, s: Vec3<S>, point: &MaterialPoint<S>) -> PrincipalHessian<S> {
        let others = products_of_others(s);
        let pressure = s * (point.lambda * (s.x * others.x - S::one()));
        let two_mu = point.mu + point.mu;
        let sums = sums_of_others(s).max(Vec3::splat(S::splat(SMALLEST_SUM)));
        let rotation = Vec3::splat(two_mu) - Vec3::splat(two_mu + two_mu).component_div(sums);
        PrincipalHessian {
            scaling: symmetric(
                others.component_mul(others) * point.lambda + Vec3::splat(two_mu),
                products_of_others(others) * point.lambda + pressure,
            ),
            flip: Vec3::splat(two_mu) - pressure,
            twist: rotation + pressure,
        }
    }
}

impl DeclaredLaw for Corotated {
    const DOC: &'static str = "Fixed corotated elasticity: large rotations, finite under inversion.";

    fn principal_stresses<S: Scalar>(values: Values, _: Vec3, stretches: [S; 3]) -> [S; 3] {
        let (mu, lambda) = lame_of::<S>(values);
        let one = S::one();
        let volume = stretches[0] * stretches[1] * stretches[2];
        stretches.map(|s| S::splat(2.0) * mu * (s - one) + lambda * (volume - one) * volume / s)
    }
}
