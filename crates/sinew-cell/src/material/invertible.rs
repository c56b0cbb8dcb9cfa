//! Any isotropic law, extended to flat and inverted cells by its principal stretches (SIF-015, SIF-032, TER-32).

#![allow(non_snake_case)]

use sinew_math::svd3::svd3_apart;
use sinew_math::{Mat3, Scalar, Vec3};

use super::blocks::{BlockSink, Kept, SelectBlocks, Shape};
use super::declaration::{DeclaredLaw, MaterialError, Parameter, Values};
use super::law::{Material, MaterialPoint};
use super::principal::{
    IsotropicLaw, PLANES, PrincipalHessian, PrincipalTangent, definite_by_principal_stretches, symmetric,
};
use super::tangent::Tangent9;

/// How a law continues where a principal stretch is below the threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Extension {
    /// By a twice differentiable energy, which a line search can use.
    #[default]
    Energy,
    /// By the stress at the threshold: the choice of \[Sifakis07\]. Not the derivative of an energy.
    Constant,
}

/// Extension of a law to flat and inverted cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Inversion {
    /// Stretch ε below which the law is extended, between 0 and 1 exclusive.
    pub threshold: f64,
    /// How the law continues below.
    pub extension: Extension,
}

impl Default for Inversion {
    /// 0.3: far below every stretch of living tissue, and far enough from zero that the stiffness there, which grows
    /// like 1/ε², is about ten times that at rest.
    fn default() -> Self {
        Self { threshold: 0.3, extension: Extension::Energy }
    }
}

impl Inversion {
    /// The two numbers that [`Invertible`] reads after those of its law.
    pub(super) fn parameters(self) -> [f64; 2] {
        [self.threshold, f64::from(u8::from(self.extension == Extension::Constant))]
    }
}

/// The law L where all principal stretches σᵢ are at least ε, and an extension of it below.
///
/// [`Extension::Energy`] evaluates the law at mapped stretches h, which never reach zero, and adds a convex term:
///
/// ```math
/// \tilde\psi(\sigma) = \psi(h(\sigma_1), h(\sigma_2), h(\sigma_3)) + \sum_i p(\sigma_i), \qquad
///    h = \frac{\varepsilon}{1 + t + t^2}, \quad p = \frac{\lambda + 2\mu}{2} \frac{t^3}{1 + t}, \quad
///    t = \max\Bigl(0, \frac{\varepsilon - \sigma}{\varepsilon}\Bigr)
/// ```
///
/// with h = σ for σ ≥ ε. Because 1/(1 + t + t²) = 1 − t + O(t³), h and ψ̃ are twice differentiable at the threshold.
/// Any law with first and second derivatives of ψ can be extended:
///
/// ```math
/// \tilde\psi_i = \psi_i h_i' + p_i', \qquad
///    \tilde\psi_{ij} = \psi_{ij} h_i' h_j' + \delta_{ij} (\psi_i h_i'' + p_i'') , \qquad
///    \frac{\tilde\psi_i - \tilde\psi_j}{\sigma_i - \sigma_j}
///    = \frac{\psi_i - \psi_j}{h_i - h_j}\, h[ij]\, \frac{h_i' + h_j'}{2}
///    + \frac{\psi_i + \psi_j}{2}\, h'[ij] + p'[ij]
/// ```
///
/// where f\[ij\] = (fᵢ − fⱼ)/(σᵢ − σⱼ) is written without subtraction. A logarithmic barrier of L grows almost linearly
/// in t down to the mirrored threshold, so the force that restores the cell stays constant there. Beyond, p dominates
/// as a spring of stiffness (λ + 2μ)/ε², about that of L at the threshold. For laws with ln J the force is therefore
/// finite for every F, grows at most linearly with the depth, and restores the cell unless the other two stretches
/// enlarge the area more than tenfold. The stress is discontinuous only where two stretches add up to zero, as in a
/// mirrored cell: U and V are not unique there.
///
/// [`Extension::Constant`] follows the paper: stress and differential at max(σᵢ, ε). The force is bounded, and the
/// differential keeps the stiffness of the threshold. The differential is not the derivative of the stress, and the
/// stress is not that of an energy (a clamped σ₁ still affects ψ₂, but no longer ψ₁). `energy_density` is then the work
/// ψ(σ̂) + Σ ψᵢ(σ̂)(σᵢ − σ̂ᵢ) along the clamped axes, for reports and not for line searches.
///
/// [`MaterialPoint::extra`] holds the parameters of L in its first two places, then ε and 0 (energy) or 1 (constant).
/// References: \[Irving04\], \[Teran05inv\], \[Stomakhin12\].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Invertible<L>(pub L);

/// The map h of the stretches and its derivatives at one point.
struct Map<S: Scalar> {
    epsilon: S,
    /// λ + 2μ.
    modulus: S,
    is_constant: S::Mask,
    sigma: Vec3<S>,
    /// Depth below the threshold t ≥ 0; zero for the constant extension, which has no map.
    t: Vec3<S>,
    /// 1 + t + t².
    D: Vec3<S>,
    /// h, or max(σ, ε).
    h: Vec3<S>,
    /// h′, or 1.
    slope: Vec3<S>,
}

impl<S: Scalar> Map<S> {
    #[inline(always)]
    fn new(sigma: Vec3<S>, point: &MaterialPoint<S>) -> Self {
        let [_, _, epsilon, mode] = point.extra;
        let is_constant = mode.gt(S::splat(0.5));
        let one = S::one();
        let depth = sigma.map(|s| ((epsilon - s) / epsilon).max(S::zero()));
        let t = Vec3::select(is_constant, Vec3::zero(), depth);
        let D = t.map(|t| one + t + t * t);
        // Above the threshold, exactly the stretch itself.
        let below = D.map(|D| epsilon / D);
        let pick = |s: S, low: S| S::select(s.lt(epsilon), low, s);
        let h = Vec3::new(pick(sigma.x, below.x), pick(sigma.y, below.y), pick(sigma.z, below.z));
        let slope = Vec3::new(Self::slope(t.x, D.x), Self::slope(t.y, D.y), Self::slope(t.z, D.z));
        Self { epsilon, modulus: point.lambda + point.mu + point.mu, is_constant, sigma, t, D, h, slope }
    }

    /// h′ = (1 + 2t)/D².
    #[inline(always)]
    fn slope(t: S, D: S) -> S {
        (S::one() + t + t) / (D * D)
    }

    /// h″ = 6t(1 + t)/(ε D³).
    #[inline(always)]
    fn curvature(&self) -> Vec3<S> {
        let of = |t: S, D: S| S::splat(6.0) * t * (S::one() + t) / (self.epsilon * D * D * D);
        Vec3::new(of(self.t.x, self.D.x), of(self.t.y, self.D.y), of(self.t.z, self.D.z))
    }

    /// Σ p.
    #[inline(always)]
    fn penalty(&self) -> S {
        self.t.map(|t| t * t * t / (S::one() + t)).sum() * self.modulus * S::splat(0.5)
    }

    /// p′ = −(λ + 2μ)/(2ε) · t²(3 + 2t)/(1 + t)².
    #[inline(always)]
    fn penalty_slope(&self) -> Vec3<S> {
        let factor = -self.modulus * S::splat(0.5) / self.epsilon;
        self.t.map(|t| factor * (t * t * (S::splat(3.0) + t + t) / (S::one() + t).square()))
    }

    /// ψ̃ᵢ from ψᵢ at h.
    #[inline(always)]
    fn stress(&self, plain: Vec3<S>) -> Vec3<S> {
        plain.component_mul(self.slope) + self.penalty_slope()
    }

    /// h\[ij\], h′\[ij\] and p′\[ij\].
    ///
    /// With θ the fraction of the interval from σⱼ to σᵢ above the threshold, and x ≥ y the two depths: h\[ij\] = θ +
    /// (1 − θ)(1 + x + y)/(DₓD_y), h′\[ij\] = (1 − θ)/ε · ((1 + 2y)(1 + x + y)(Dₓ + D_y) − 2D_y²)/(DₓD_y)², p′\[ij\] =
    /// (1 − θ)(λ + 2μ)/(2ε²) · (2 − (2 + x + y)/((1 + x)(1 + y))²).
    #[inline(always)]
    fn differences(&self, i: usize, j: usize) -> [S; 3] {
        let (one, zero, two) = (S::one(), S::zero(), S::splat(2.0));
        let above = (self.sigma[i].max(self.sigma[j]) - self.epsilon).max(zero)
            - (self.sigma[i].min(self.sigma[j]) - self.epsilon).max(zero);
        let way = (self.sigma[i] - self.sigma[j]).abs();
        let both_above = self.sigma[i].min(self.sigma[j]).ge(self.epsilon);
        let apart = way.gt(zero);
        let ratio = S::select(apart, above / S::select(apart, way, one), zero);
        let theta = S::select(both_above, one, ratio);
        let below = one - theta;

        let is_deeper = self.t[i].gt(self.t[j]);
        let pick = |v: &Vec3<S>| (S::select(is_deeper, v[i], v[j]), S::select(is_deeper, v[j], v[i]));
        let ((x, y), (Dx, Dy)) = (pick(&self.t), pick(&self.D));
        let sum = one + x + y;
        let product = Dx * Dy;
        let map = theta + below * sum / product;
        let slope = ((one + y + y) * sum * (Dx + Dy) - two * Dy * Dy) / (product * product);
        let spring = two - (one + sum) / ((one + x) * (one + y)).square();
        let stiffness = self.modulus * S::splat(0.5) / self.epsilon.square();
        [map, below * slope / self.epsilon, below * stiffness * spring]
    }
}

/// Floor of σᵢ + σⱼ in the twist eigenvalue, which tends to −∞ there and is clamped to zero.
const SMALLEST_SUM: f64 = 1e-20;

impl<L: IsotropicLaw> IsotropicLaw for Invertible<L> {
    #[inline(always)]
    fn principal_stress<S: Scalar>(&self, s: Vec3<S>, point: &MaterialPoint<S>) -> Vec3<S> {
        let map = Map::new(s, point);
        map.stress(self.0.principal_stress(map.h, point))
    }

    #[inline(always)]
    fn principal_hessian<S: Scalar>(&self, s: Vec3<S>, point: &MaterialPoint<S>) -> PrincipalHessian<S> {
        let map = Map::new(s, point);
        let plain = self.0.principal_hessian(map.h, point);
        // The plain law above the threshold; for the constant extension, at the clamped stretches.
        let is_plain = map.is_constant | s.min_component().ge(map.epsilon);
        if S::all(is_plain) {
            return plain;
        }
        let (half, stiffness) = (S::splat(0.5), map.modulus * S::splat(0.5) / map.epsilon.square());
        let g = self.0.principal_stress(map.h, point);
        let stress = map.stress(g);
        let (slope, curvature) = (map.slope, map.curvature());
        let spring = map.t.map(|t| {
            let r = (S::one() + t).recip();
            stiffness * S::splat(2.0) * (S::one() - r * r * r)
        });
        let H = &plain.scaling;
        let diagonal = H.diagonal_entries().component_mul(slope).component_mul(slope);
        let (mut off, mut flip, mut twist) = (Vec3::zero(), Vec3::zero(), Vec3::zero());
        for (i, j, k) in PLANES {
            let [map_difference, slope_difference, spring_difference] = map.differences(i, j);
            off[k] = H[(i, j)] * slope[i] * slope[j];
            flip[k] = plain.flip[k] * map_difference * (slope[i] + slope[j]) * half
                + (g[i] + g[j]) * half * slope_difference
                + spring_difference;
            twist[k] = (stress[i] + stress[j]) / (s[i] + s[j]).max(S::splat(SMALLEST_SUM));
        }
        PrincipalHessian {
            scaling: Mat3::select(
                is_plain,
                plain.scaling,
                symmetric(diagonal + g.component_mul(curvature) + spring, off),
            ),
            flip: Vec3::select(is_plain, plain.flip, flip),
            twist: Vec3::select(is_plain, plain.twist, twist),
        }
    }
}

/// Where all stretches are certainly above the threshold, without computing them: σ₁σ₂ ≤ |F|²/2, so σ₃ ≥ 2J/|F|².
#[inline(always)]
fn is_surely_regular<S: Scalar>(F: &Mat3<S>, point: &MaterialPoint<S>) -> S::Mask {
    let [_, _, epsilon, _] = point.extra;
    // Slightly more than ε, for the rounding errors of both sides.
    F.determinant().gt(epsilon * S::splat(0.5 * (1.0 + 1e-12)) * F.norm_squared())
}

impl<L: IsotropicLaw> Invertible<L> {
    /// ψ and P below the threshold.
    #[inline(always)]
    fn extended<S: Scalar>(&self, F: &Mat3<S>, point: &MaterialPoint<S>) -> Extended<S> {
        let svd = svd3_apart(F);
        let [_, _, epsilon, _] = point.extra;
        let map = Map::new(svd.sigma, point);
        let g = self.0.principal_stress(map.h, point);
        let work = self.0.energy_density(&Mat3::diagonal(map.h), point) + map.penalty();
        let clamped = S::select(map.is_constant, g.dot(svd.sigma - map.h), S::zero());
        Extended {
            is_regular: is_surely_regular(F, point) | svd.sigma.min_component().ge(epsilon),
            energy: work + clamped,
            stress: (svd.u * Mat3::diagonal(map.stress(g))).mul_transpose(&svd.v),
        }
    }
}

/// Result of [`Invertible::extended`].
struct Extended<S: Scalar> {
    /// Where the plain law holds.
    is_regular: S::Mask,
    energy: S,
    stress: Mat3<S>,
}

impl<L: IsotropicLaw> Material for Invertible<L> {
    /// The law as scenes name it: the extension is an option of it.
    const NAME: &'static str = L::NAME;
    const TAKES_FIBERS: bool = L::TAKES_FIBERS;
    const PARAMETERS: usize = 6;

    #[inline(always)]
    fn energy_density<S: Scalar>(&self, F: &Mat3<S>, point: &MaterialPoint<S>) -> S {
        let plain = self.0.energy_density(F, point);
        if S::all(is_surely_regular(F, point)) {
            return plain;
        }
        let extended = self.extended(F, point);
        S::select(extended.is_regular, plain, extended.energy)
    }

    #[inline(always)]
    fn stress<S: Scalar>(&self, F: &Mat3<S>, point: &MaterialPoint<S>) -> Mat3<S> {
        let plain = self.0.stress(F, point);
        if S::all(is_surely_regular(F, point)) {
            return plain;
        }
        let extended = self.extended(F, point);
        Mat3::select(extended.is_regular, plain, extended.stress)
    }

    #[inline(always)]
    fn energy_and_stress<S: Scalar>(&self, F: &Mat3<S>, point: &MaterialPoint<S>) -> (S, Mat3<S>) {
        let (energy, stress) = self.0.energy_and_stress(F, point);
        if S::all(is_surely_regular(F, point)) {
            return (energy, stress);
        }
        let extended = self.extended(F, point);
        (
            S::select(extended.is_regular, energy, extended.energy),
            Mat3::select(extended.is_regular, stress, extended.stress),
        )
    }

    #[inline(always)]
    fn stress_differential<S: Scalar>(&self, F: &Mat3<S>, dF: &Mat3<S>, point: &MaterialPoint<S>) -> Mat3<S> {
        let plain = self.0.stress_differential(F, dF, point);
        if S::all(is_surely_regular(F, point)) {
            return plain;
        }
        Mat3::select(is_surely_regular(F, point), plain, PrincipalTangent::exact(self, F, point).apply(dF))
    }

    #[inline(always)]
    fn nodal_blocks<S: Scalar>(
        &self,
        F: &Mat3<S>,
        point: &MaterialPoint<S>,
        shape: &mut Shape<'_, S>,
        sink: &mut impl BlockSink<S>,
    ) {
        let is_plain = is_surely_regular(F, point);
        if S::all(is_plain) {
            self.0.nodal_blocks(F, point, shape, sink);
            return;
        }
        let (mut shape, kept) = shape.split();
        self.0.nodal_blocks(F, point, &mut shape, &mut Kept(kept));
        let mut chosen = SelectBlocks { mask: is_plain, if_true: kept, sink };
        PrincipalTangent::exact(self, F, point).nodal_blocks(&mut shape, &mut chosen);
    }

    definite_by_principal_stretches!();
}

/// Declared as the law itself: the extension is an option of it.
impl<L: IsotropicLaw + DeclaredLaw> DeclaredLaw for Invertible<L> {
    const DOC: &'static str = L::DOC;
    const KEYS: &'static [Parameter] = L::KEYS;
    const EXTENDED: bool = true;

    fn point<S: Scalar>(values: Values<S>) -> MaterialPoint<S> {
        L::point(values)
    }

    fn typical(young: f64, poisson: f64) -> Values {
        L::typical(young, poisson)
    }

    fn check(values: Values) -> Result<(), MaterialError> {
        L::check(values)
    }

    /// Stresses without the extension, which [`closed_form`](super::closed_form) adds.
    fn principal_stresses<S: Scalar>(values: Values, fiber: Vec3, stretches: [S; 3]) -> [S; 3] {
        L::principal_stresses(values, fiber, stretches)
    }
}

#[cfg(test)]
mod tests;
