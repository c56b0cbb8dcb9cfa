//! Hooke's law of small strains.

#![allow(non_snake_case)]

use sinew_math::{Mat3, Scalar, Vec3};

use super::blocks::{BlockSink, Shape};
use super::declaration::{DeclaredLaw, Values, lame_of};
use super::law::{Material, MaterialPoint};
use super::strain::{add_to_diagonal, displacement_gradient};
use super::tangent::Tangent9;
use super::volume::VolumeTerm;

/// Linear elasticity in the small strain ε = (F + Fᵀ)/2 − I.
///
/// ```math
/// \psi = \mu\, \varepsilon : \varepsilon + \tfrac{\lambda}{2} \operatorname{tr}^2 \varepsilon, \qquad
///    P = 2\mu\varepsilon + \lambda \operatorname{tr}(\varepsilon) I
/// ```
///
/// The tangent is constant and positive semi-definite, so one linear solve finds the equilibrium. Not objective: a
/// rotation by θ acts like a compression by 1 − cos θ. For comparisons with linear theory, not for flesh. LUO-01.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Linear;

impl Linear {
    /// P as a linear function of the displacement gradient H.
    #[inline(always)]
    fn stress_of<S: Scalar>(H: &Mat3<S>, point: &MaterialPoint<S>) -> Mat3<S> {
        add_to_diagonal((*H + H.transpose()) * point.mu, point.lambda * H.trace())
    }
}

impl Material for Linear {
    const NAME: &'static str = "linear";
    const OBJECTIVE: bool = false;
    const VOLUME_TERM: VolumeTerm = VolumeTerm::Trace;

    #[inline(always)]
    fn energy_density<S: Scalar>(&self, F: &Mat3<S>, point: &MaterialPoint<S>) -> S {
        let strain = displacement_gradient(F).symmetric_part();
        point.mu * strain.norm_squared() + point.lambda * S::splat(0.5) * strain.trace().square()
    }

    #[inline(always)]
    fn stress<S: Scalar>(&self, F: &Mat3<S>, point: &MaterialPoint<S>) -> Mat3<S> {
        Self::stress_of(&displacement_gradient(F), point)
    }

    #[inline(always)]
    fn stress_differential<S: Scalar>(&self, _F: &Mat3<S>, dF: &Mat3<S>, point: &MaterialPoint<S>) -> Mat3<S> {
        Self::stress_of(dF, point)
    }

    /// K = μ (a·b) I + μ b aᵀ + λ a bᵀ with a, b the shape gradients.
    #[inline(always)]
    fn nodal_blocks<S: Scalar>(
        &self,
        _F: &Mat3<S>,
        point: &MaterialPoint<S>,
        shape: &mut Shape<'_, S>,
        sink: &mut impl BlockSink<S>,
    ) {
        let Shape { gradients, weight, .. } = *shape;
        let (mu, lambda) = (point.mu * weight, point.lambda * weight);
        for a in 0..gradients.len() {
            let (mu_a, lambda_a) = (gradients[a] * mu, gradients[a] * lambda);
            for b in 0..=a {
                let g = gradients[b];
                sink.add(a, b, add_to_diagonal(Mat3::outer(lambda_a, g) + Mat3::outer(g, mu_a), mu_a.dot(g)));
            }
        }
    }

    #[inline(always)]
    fn definite_tangent<S: Scalar>(&self, F: &Mat3<S>, point: &MaterialPoint<S>) -> Tangent9<S> {
        Tangent9::exact(self, F, point)
    }

    /// The second derivative of the volume measure tr(F − I) is zero.
    #[inline(always)]
    fn definite_nodal_blocks<S: Scalar>(
        &self,
        F: &Mat3<S>,
        point: &MaterialPoint<S>,
        _pressure: Option<S>,
        shape: &mut Shape<'_, S>,
        sink: &mut impl BlockSink<S>,
    ) {
        self.nodal_blocks(F, point, shape, sink);
    }
}

impl DeclaredLaw for Linear {
    const DOC: &'static str = "Linear elasticity: small rotations and strains only.";

    fn principal_stresses<S: Scalar>(values: Values, _: Vec3, stretches: [S; 3]) -> [S; 3] {
        let (mu, lambda) = lame_of::<S>(values);
        let sum = stretches[0] + stretches[1] + stretches[2] - S::splat(3.0);
        stretches.map(|s| S::splat(2.0) * mu * (s - S::one()) + lambda * sum)
    }
}
