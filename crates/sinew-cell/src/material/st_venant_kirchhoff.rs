//! St. Venant–Kirchhoff: Hooke's law in the Green strain.

#![allow(non_snake_case)]

use sinew_math::{Mat3, Scalar, Vec3};

use super::blocks::{BlockSink, Shape, transform};
use super::declaration::{DeclaredLaw, Values, lame_of};
use super::law::{Material, MaterialPoint};
use super::principal::{
    IsotropicLaw, PrincipalHessian, PrincipalTangent, definite_by_principal_stretches, products_of_others, symmetric,
};
use super::strain::{add_to_diagonal, green_strain};
use super::tangent::Tangent9;

/// Hooke's law in the Green strain E = (FᵀF − I)/2.
///
/// ```math
/// \psi = \mu\, E : E + \tfrac{\lambda}{2} \operatorname{tr}^2 E, \qquad P = F S, \quad
///    S = 2\mu E + \lambda \operatorname{tr}(E) I
/// ```
///
/// A polynomial in F: fast, smooth, finite everywhere. It softens in compression (a bar under uniaxial strain becomes
/// unstable below the stretch √(1/3)) and does not resist inversion, so it suits large rotations with moderate strains.
/// LUO-01.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StVenantKirchhoff;

/// Second Piola–Kirchhoff stress S = 2μE + λ tr(E) I.
#[inline(always)]
fn second_piola<S: Scalar>(E: &Mat3<S>, point: &MaterialPoint<S>) -> Mat3<S> {
    add_to_diagonal(*E * (point.mu + point.mu), point.lambda * E.trace())
}

impl Material for StVenantKirchhoff {
    const NAME: &'static str = "stvk";

    #[inline(always)]
    fn energy_density<S: Scalar>(&self, F: &Mat3<S>, point: &MaterialPoint<S>) -> S {
        let E = green_strain(F);
        point.mu * E.norm_squared() + point.lambda * S::splat(0.5) * E.trace().square()
    }

    #[inline(always)]
    fn stress<S: Scalar>(&self, F: &Mat3<S>, point: &MaterialPoint<S>) -> Mat3<S> {
        *F * second_piola(&green_strain(F), point)
    }

    #[inline(always)]
    fn stress_differential<S: Scalar>(&self, F: &Mat3<S>, dF: &Mat3<S>, point: &MaterialPoint<S>) -> Mat3<S> {
        let dE = F.transpose_mul(dF).symmetric_part();
        *dF * second_piola(&green_strain(F), point) + *F * second_piola(&dE, point)
    }

    /// K = (a·S b) I + λ (Fa)(Fb)ᵀ + μ (Fb)(Fa)ᵀ + μ (a·b) FFᵀ with a, b the shape gradients.
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
        let (mu, lambda) = (point.mu * weight, point.lambda * weight);
        let stress = second_piola(&green_strain(F), point) * weight;
        let left = F.mul_transpose(F) * mu;
        let forward = transform(F, gradients, room);
        for a in 0..gradients.len() {
            let stress_a = stress * gradients[a];
            let (lambda_a, mu_a) = (forward[a] * lambda, forward[a] * mu);
            for b in 0..=a {
                let outer = Mat3::outer(lambda_a, forward[b]) + Mat3::outer(forward[b], mu_a);
                let block = outer + left * gradients[a].dot(gradients[b]);
                sink.add(a, b, add_to_diagonal(block, stress_a.dot(gradients[b])));
            }
        }
    }

    definite_by_principal_stretches!();
}

impl IsotropicLaw for StVenantKirchhoff {
    /// ψᵢ = σᵢ (λ tr E + μ (σᵢ² − 1)).
    #[inline(always)]
    fn principal_stress<S: Scalar>(&self, s: Vec3<S>, point: &MaterialPoint<S>) -> Vec3<S> {
        let pressure = point.lambda * (s.norm_squared() - S::splat(3.0)) * S::splat(0.5);
        s * (pressure - point.mu) + s.component_mul(s).component_mul(s) * point.mu
    }

    /// (ψᵢ ∓ ψⱼ)/(σᵢ ∓ σⱼ) = λ tr E − μ + μ (σᵢ² ± σᵢσⱼ + σⱼ²).
    #[inline(always)]
    fn principal_hessian<S: Scalar>(&self, s: Vec3<S>, point: &MaterialPoint<S>) -> PrincipalHessian<S> {
        let (mu, lambda) = (point.mu, point.lambda);
        let trace = s.norm_squared();
        let base = lambda * (trace - S::splat(3.0)) * S::splat(0.5) - mu;
        let others = products_of_others(s);
        let squares = s.component_mul(s);
        // σᵢ² + σⱼ² = tr C − σₖ²
        let even = Vec3::splat(base + mu * trace) - squares * mu;
        PrincipalHessian {
            scaling: symmetric(Vec3::splat(base) + squares * (mu * S::splat(3.0) + lambda), others * lambda),
            flip: even + others * mu,
            twist: even - others * mu,
        }
    }
}

impl DeclaredLaw for StVenantKirchhoff {
    const DOC: &'static str =
        "St. Venant–Kirchhoff: large rotations, but weak in compression; `inversion` lets collapsed cells recover.";

    fn principal_stresses<S: Scalar>(values: Values, _: Vec3, stretches: [S; 3]) -> [S; 3] {
        let (mu, lambda) = lame_of::<S>(values);
        let two = S::splat(2.0);
        let green = stretches.map(|s| (s * s - S::one()) / two);
        let sum = green[0] + green[1] + green[2];
        [0, 1, 2].map(|i| stretches[i] * (two * mu * green[i] + lambda * sum))
    }
}
