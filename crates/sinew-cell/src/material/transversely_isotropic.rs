//! Flesh with different shear moduli along its fibers and across them.

#![allow(non_snake_case)]

use sinew_math::{Mat3, Scalar, Vec3};

use super::declaration::{DeclaredLaw, FiberRole, Parameter, Values, bulk_modulus, lame, zero_point};
use super::invariant::{ByInvariants, InvariantDerivatives, InvariantLaw, Invariants};
use super::law::MaterialPoint;
use super::spec::{Law, MaterialSpec};
use super::strain::{Volume, green_strain};
use super::volume::{VolumeTerm, pointwise_lambda};

/// The matrix of the full muscle model (SIF-020): one modulus for each mode of deformation of flesh with a direction a.
///
/// ```math
/// \psi = G_1 \Bigl( \frac{I_5}{I_4^2} - 1 \Bigr) + G_2 \operatorname{arcosh}^2 w + \frac32 \mu_3 \ln^2 \bar\lambda
///    + \frac\kappa2 \ln^2 J, \qquad w = \frac{I_1 I_4 - I_5}{2 \sqrt{I_3 I_4}}, \quad \bar\lambda^2 = I_4 I_3^{-1/3}
/// ```
///
/// The first term is the energy of shear along the fibers; it vanishes for stretches along and across them. The second
/// is that of shear across the fibers; it vanishes if the cross-section keeps its shape. The third is that of
/// stretching the fibers at constant volume, and the last that of a change of volume, on which no other term depends.
/// The paper has no third term: only the tension of the fibers ([`StretchedFiber`](super::StretchedFiber)) resists
/// stretch there, and a relaxed muscle does not resist compression along the fibers. Small shears have the moduli 2 G₁
/// and 2 G₂. If both equal μ₃, the law is isotropic at small strains. For J ≤ 0 the energy is +∞.
///
/// [`MaterialPoint::extra`] is \[G₁, G₂, κ, μ₃\] \[Pa\], [`MaterialPoint::fiber`] is a; μ = G₁ + G₂ and λ = κ − 2μ/3.
/// References: \[Sifakis07, A.2\], \[Blemker05\], \[Criscione01\].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TransverselyIsotropic;

/// Excess w − 1 below which arcosh² is summed as a series; each term is at most an eighth of the previous one.
const SERIES: f64 = 0.25;

/// arcosh²(1 + e), and its first and second derivative, for e ≥ 0.
///
/// ```math
/// \operatorname{arcosh}^2(1 + e) = 2 \sum_{n \ge 1} \frac{(-1)^{n-1} (2e)^n}{n^2 \binom{2n}{n}}
/// ```
///
/// With y = arcosh w and r = √(w² − 1): y², 2y/r and (2 − 2wy/r)/r² where the series would be slow.
#[inline(always)]
fn squared_arcosh<S: Scalar>(e: S) -> [S; 3] {
    // Horner's rule for the sum divided by e, and for its derivatives.
    let (one, two) = (S::one(), S::splat(2.0));
    let (mut value, mut slope, mut curvature) = (S::zero(), S::zero(), S::zero());
    for n in (1..=SERIES_TERMS).rev() {
        let c = S::splat(SERIES_COEFFICIENTS[n - 1]);
        curvature = curvature * e + two * slope;
        slope = slope * e + value;
        value = value * e + c;
    }
    // Times e, by the product rule.
    let series = [value * e, value + slope * e, two * slope + curvature * e];
    let is_near = e.lt(S::splat(SERIES));
    if S::all(is_near) {
        return series;
    }
    let safe = S::select(is_near, one, e);
    let w = one + safe;
    let square = safe * (safe + two);
    let root = square.sqrt();
    let y = (w + root).ln();
    let first = two * y / root;
    let far = [y * y, first, (two - w * first) / square];
    [
        S::select(is_near, series[0], far[0]),
        S::select(is_near, series[1], far[1]),
        S::select(is_near, series[2], far[2]),
    ]
}

const SERIES_TERMS: usize = 18;

/// 2 (−1)^(n−1) 2ⁿ/(n² (2n choose n)) for n from 1 on.
const SERIES_COEFFICIENTS: [f64; SERIES_TERMS] = {
    let mut out = [0.0; SERIES_TERMS];
    // For n = 1: 2 · 2/2; then the factor −2 (n − 1)²/n² · n²/(2n (2n − 1)) = −(n − 1)²/(n (2n − 1)).
    let mut coefficient = 2.0;
    let mut n = 1;
    while n <= SERIES_TERMS {
        out[n - 1] = coefficient;
        let next = (n + 1) as f64;
        coefficient *= -((next - 1.0) * (next - 1.0)) / (next * (2.0 * next - 1.0));
        n += 1;
    }
    out
};

/// Two unit vectors that stand on the unit vector a and on each other, without a branch \[Duff17\].
#[inline(always)]
fn across_fibers<S: Scalar>(a: Vec3<S>) -> [Vec3<S>; 2] {
    let one = S::one();
    let sign = S::select(a.z.lt(S::zero()), -one, one);
    let s = -(sign + a.z).recip();
    let t = a.x * a.y * s;
    [Vec3::new(one + sign * a.x * a.x * s, sign * t, -(sign * a.x)), Vec3::new(t, sign + a.y * a.y * s, -a.y)]
}

/// Bounds of w − 1: flat cells exceed every number, and rounding may make it slightly negative, where the series still
/// holds.
const EXCESS: [f64; 2] = [-1e-3, 1e60];

/// w − 1 of the cross-section.
#[inline(always)]
fn excess<S: Scalar>([i1, _, i3, i4, i5]: [S; 5]) -> S {
    let root = (i3 * i4).sqrt();
    ((i1 * i4 - i5 - root - root) / (root + root)).max(S::splat(EXCESS[0])).min(S::splat(EXCESS[1]))
}

/// Invariants of the rest state where the volume is not positive, so that numbers stay finite.
#[inline(always)]
fn or_rest<S: Scalar>(invariants: &Invariants<S>) -> [S; 5] {
    let [i1, i2, i3, i4, i5] = invariants.values;
    let is_positive = invariants.J.gt(S::zero());
    let (one, three) = (S::one(), S::splat(3.0));
    [
        S::select(is_positive, i1, three),
        S::select(is_positive, i2, three),
        S::select(is_positive, i3, one),
        S::select(is_positive, i4, one),
        S::select(is_positive, i5, one),
    ]
}

impl InvariantLaw for TransverselyIsotropic {
    const NAME: &'static str = "transversely_isotropic";
    const ISOTROPIC: bool = false;
    const BARRIER: bool = true;
    const VOLUME_TERM: VolumeTerm = VolumeTerm::Logarithmic;

    #[inline(always)]
    fn energy_density<S: Scalar>(&self, invariants: &Invariants<S>, point: &MaterialPoint<S>) -> S {
        let [along, across, bulk, stretch] = point.extra;
        let values = or_rest(invariants);
        let [_, _, i3, i4, i5] = values;
        let logarithm = i3.ln();
        let elongation = i4.ln() * S::splat(0.5) - logarithm * S::splat(1.0 / 6.0);
        let energy = along * (i5 / (i4 * i4) - S::one())
            + across * squared_arcosh(excess(values))[0]
            + stretch * S::splat(1.5) * elongation * elongation
            + bulk * S::splat(0.125) * logarithm * logarithm;
        S::select(invariants.J.gt(S::zero()), energy, S::splat(f64::INFINITY))
    }

    /// From the Green strain E, without differences of numbers of order one. With h = 2 E a the first term is G₁
    /// |h − (a·h) a|²/I₄²; and with p, q and r the entries of cof C across the fibers, whose determinant is I₃ I₄,
    /// ```math
    /// w - 1 = \frac{(p - q)^2 + 4 r^2}{2 s\, (p + q + 2 s)}, \qquad s = \sqrt{I_3 I_4},
    /// ```
    /// where p − q and r are those of cof(2E) − 2E.
    #[inline(always)]
    fn energy_density_at<S: Scalar>(&self, F: &Mat3<S>, point: &MaterialPoint<S>) -> S {
        let [along, across, bulk, stretch] = point.extra;
        let (one, two) = (S::one(), S::splat(2.0));
        let volume = Volume::of(F);
        let safe = volume.or_rest();
        let a = point.fiber;
        let doubled = green_strain(F) * two;
        let h = doubled * a;
        let change = a.dot(h);
        let i4 = (one + change).max(S::splat(S::TINY));
        let sheared = (h - a * change).norm_squared() / (i4 * i4);

        let M = doubled.cofactor() - doubled;
        let [b, c] = across_fibers(a);
        let (difference, shear) = (b.dot(M * b) - c.dot(M * c), two * b.dot(M * c));
        // p + q = I₁I₄ − I₅, by the trace of cof C = I + (tr 2E) I − 2E + cof 2E over the plane.
        let sum = two * (one + doubled.trace()) + b.dot(M * b) + c.dot(M * c);
        let s = safe.J.abs() * i4.sqrt();
        let e = (difference.square() + shear.square()) / ((s + s) * (sum + s + s)).max(S::splat(S::TINY));
        let e = e.min(S::splat(EXCESS[1]));

        let logarithm = safe.ln();
        let elongation = (i4.ln() + (change - (i4 - one)) / i4) * S::splat(0.5) - logarithm * S::splat(1.0 / 3.0);
        let energy = along * sheared
            + across * squared_arcosh(e)[0]
            + stretch * S::splat(1.5) * elongation * elongation
            + bulk * S::splat(0.5) * logarithm * logarithm;
        S::select(volume.is_positive(), energy, S::splat(f64::INFINITY))
    }

    #[inline(always)]
    fn derivatives<S: Scalar>(&self, invariants: &Invariants<S>, point: &MaterialPoint<S>) -> InvariantDerivatives<S> {
        let [along, across, bulk, stretch] = point.extra;
        let values = or_rest(invariants);
        let [i1, _, i3, i4, i5] = values;
        let mut out = InvariantDerivatives::zero();
        let (one, two, half, quarter) = (S::one(), S::splat(2.0), S::splat(0.5), S::splat(0.25));

        let r4 = i4.recip();
        out.first[3] = -two * along * i5 * r4 * r4 * r4;
        out.first[4] = along * r4 * r4;
        out.second[3][3] = S::splat(6.0) * along * i5 * (r4 * r4).square();
        let mixed = -two * along * r4 * r4 * r4;
        out.second[3][4] = mixed;
        out.second[4][3] = mixed;

        let r3 = i3.recip();
        // 1/√(I₃ I₄)
        let root = (r3 * r4).sqrt();
        let w = one + excess(values);
        let sum = i1 * i4 + i5;
        let first = [half * i4 * root, -half * w * r3, quarter * sum * root * r4, -half * root];
        let at = [0, 2, 3, 4];
        let mut second = [[S::zero(); 4]; 4];
        second[0][1] = -quarter * i4 * root * r3;
        second[0][2] = quarter * root;
        second[1][1] = S::splat(0.75) * w * r3 * r3;
        second[1][2] = S::splat(-0.125) * sum * root * r3 * r4;
        second[1][3] = quarter * root * r3;
        second[2][2] = S::splat(-0.125) * (i1 * i4 + S::splat(3.0) * i5) * root * r4 * r4;
        second[2][3] = quarter * root * r4;
        let [_, slope, curvature] = squared_arcosh(w - one);
        for m in 0..4 {
            out.first[at[m]] += across * slope * first[m];
            for n in 0..4 {
                let entry = if m <= n { second[m][n] } else { second[n][m] };
                out.second[at[m]][at[n]] += across * (curvature * first[m] * first[n] + slope * entry);
            }
        }

        // y = ln λ̄ and its derivatives by I₃ and I₄.
        let logarithm = i3.ln();
        let sixth = S::splat(1.0 / 6.0);
        let y = i4.ln() * half - logarithm * sixth;
        let stretch = stretch * S::splat(3.0);
        let (y3, y4) = (-sixth * r3, half * r4);
        out.first[2] += stretch * y * y3;
        out.first[3] += stretch * y * y4;
        out.second[2][2] += stretch * (y3 * y3 + y * sixth * r3 * r3);
        out.second[2][3] += stretch * y3 * y4;
        out.second[3][2] += stretch * y3 * y4;
        out.second[3][3] += stretch * (y4 * y4 - y * half * r4 * r4);

        out.first[2] += bulk * quarter * logarithm * r3;
        out.second[2][2] += bulk * quarter * (one - logarithm) * r3 * r3;
        out
    }

    /// κ = λ + 2μ/3: without λ, the law resists volume changes as much as shear.
    #[inline(always)]
    fn without_volume_term<S: Scalar>(&self, point: &MaterialPoint<S>) -> MaterialPoint<S> {
        let [along, across, bulk, stretch] = point.extra;
        let lambda = pointwise_lambda(point);
        MaterialPoint { lambda, extra: [along, across, bulk - (point.lambda - lambda), stretch], ..*point }
    }
}

impl DeclaredLaw for ByInvariants<TransverselyIsotropic> {
    const DOC: &'static str = "Different shear moduli along and across the fibers; needs `fibers` of the body, and `muscle` adds active force.";

    const KEYS: &'static [Parameter] = &[
        Parameter::stiffness(
            "along_shear",
            "Shear modulus along the fibers [Pa]; twice as large for small shears.",
            r#""500 Pa""#,
        ),
        Parameter::stiffness(
            "cross_shear",
            "Shear modulus across the fibers [Pa]; twice as large for small shears.",
            r#""500 Pa""#,
        ),
        Parameter::stiffness(
            "stretch",
            "Modulus of stretch along the fibers at constant volume, without the tension of the fibers themselves [Pa]. \
             Default: the sum of the shear moduli.",
            r#""1 kPa""#,
        )
        .derived(|[along_shear, cross_shear, ..]| along_shear + cross_shear),
        Parameter::stiffness("bulk", "Bulk modulus [Pa].", r#""1 MPa""#),
    ];

    const FIBERS: FiberRole = FiberRole::Inseparable;

    fn point<S: Scalar>([along, across, stretch, bulk]: Values<S>) -> MaterialPoint<S> {
        let mu = along + across;
        let lambda = bulk - S::splat(2.0 / 3.0) * mu;
        MaterialPoint { mu, lambda, extra: [along, across, bulk, stretch], ..zero_point() }
    }

    /// G₁ = G₂ = μ/2 and μ₃ = μ.
    fn typical(young: f64, poisson: f64) -> Values {
        let half = lame(young, poisson).0 / 2.0;
        [half, half, 2.0 * half, bulk_modulus(young, poisson)]
    }

    /// Fibers along an axis i are not sheared: ψ = G₂ ln²(s_j/s_k) + 3/2 μ₃ ln²(s_i J^(−1/3)) + κ/2 ln² J.
    fn principal_stresses<S: Scalar>([_, across, stretch, bulk]: Values, fiber: Vec3, stretches: [S; 3]) -> [S; 3] {
        let along = (0..3).max_by(|&i, &j| fiber[i].abs().total_cmp(&fiber[j].abs())).unwrap_or(0);
        let volume = stretches[0] * stretches[1] * stretches[2];
        let third = S::splat(1.0 / 3.0);
        let pull = S::splat(3.0 * stretch) * (stretches[along].ln() - volume.ln() * third);
        let pressure = S::splat(bulk) * volume.ln() - pull * third;
        [0, 1, 2].map(|i| {
            if i == along {
                return (pressure + pull) / stretches[i];
            }
            let other = 3 - along - i;
            (S::splat(2.0 * across) * (stretches[i] / stretches[other]).ln() + pressure) / stretches[i]
        })
    }
}

impl MaterialSpec {
    /// A transversely isotropic material with G₁, G₂, μ₃ and bulk modulus κ \[Pa\].
    pub fn transversely_isotropic(along_shear: f64, cross_shear: f64, stretch: f64, bulk: f64) -> Self {
        Self::new(Law::TransverselyIsotropic, [along_shear, cross_shear, stretch, bulk])
    }
}

#[cfg(test)]
mod tests {
    use super::super::Material;
    use super::super::battery::Random;
    use super::*;
    use sinew_math::{ComplexStep, complex_step};

    fn point(fiber: Vec3) -> MaterialPoint {
        MaterialSpec::transversely_isotropic(500.0, 700.0, 300.0, 1e5).with_fiber(fiber).point()
    }

    const LAW: ByInvariants<TransverselyIsotropic> = ByInvariants(TransverselyIsotropic);

    /// arcosh²(w) and its derivatives, on both sides of where the series ends; 2 G₂ and −2 G₂/3 at w = 1 (SIF fact 6).
    #[test]
    fn squared_arcosh_is_smooth() {
        let [value, slope, curvature] = squared_arcosh(0.0f64);
        assert_eq!((value, slope), (0.0, 2.0));
        assert!((curvature + 2.0 / 3.0).abs() < 1e-15);
        for e in [1e-12, 1e-6, 0.01, 0.2, 0.2499, 0.25, 0.3, 1.0, 10.0] {
            let [value, slope, curvature] = squared_arcosh(e);
            let exact = f64::acosh(1.0 + e).powi(2);
            assert!((value - exact).abs() <= 1e-9 * exact.max(1e-6), "{e}: {value} {exact}");
            let by_step = complex_step::derivative(|e: ComplexStep| squared_arcosh(e)[0], e);
            assert!((slope - by_step).abs() < 1e-13, "{e}: {slope} {by_step}");
            let by_step = complex_step::derivative(|e: ComplexStep| squared_arcosh(e)[1], e);
            assert!((curvature - by_step).abs() < 1e-12, "{e}: {curvature} {by_step}");
        }
    }

    /// Each term is blind to what the others measure (SIF fact 6).
    #[test]
    fn terms_see_their_own_deformation_only() {
        let a = Vec3::unit(0);
        let only = |along_shear, cross_shear| {
            MaterialSpec::transversely_isotropic(along_shear, cross_shear, 1e-30, 1e-30).with_fiber(a).point()
        };
        let stretched = Mat3::diagonal(Vec3::new(1.4, 0.9, 0.8));
        assert!(LAW.energy_density(&stretched, &only(1.0, 1e-30)).abs() < 1e-14);
        let round = Mat3::diagonal(Vec3::new(1.4, 0.85, 0.85));
        assert!(LAW.energy_density(&round, &only(1e-30, 1.0)).abs() < 1e-14);
        let mut random = Random(3);
        let F = random.with_stretches([1.3, 1.0, 0.7]);
        for point in [only(1.0, 1e-30), only(1e-30, 1.0)] {
            let (small, large) = (LAW.energy_density(&F, &point), LAW.energy_density(&(F * 1.3), &point));
            assert!(small > 1e-3 && (small - large).abs() < 1e-12, "{small} {large}");
        }
        // Shears of both kinds by γ cost G γ² to leading order.
        let shear = |i: usize, j: usize| {
            let mut F = Mat3::<f64>::identity();
            F[(i, j)] = 1e-3;
            F
        };
        assert!((LAW.energy_density(&shear(0, 1), &only(1.0, 1e-30)) - 1e-6).abs() < 1e-11);
        assert!((LAW.energy_density(&shear(1, 2), &only(1e-30, 1.0)) - 1e-6).abs() < 1e-11);
    }

    #[test]
    fn pure_shear_needs_the_modulus_of_its_plane() {
        let point = point(Vec3::unit(0));
        let mut F = Mat3::<f64>::identity();
        F[(0, 1)] = 1e-6;
        assert!((LAW.stress(&F, &point)[(0, 1)] / 1e-6 - 1000.0).abs() < 1e-2);
        let mut F = Mat3::<f64>::identity();
        F[(1, 2)] = 1e-6;
        assert!((LAW.stress(&F, &point)[(1, 2)] / 1e-6 - 1400.0).abs() < 1e-2);
    }
}
