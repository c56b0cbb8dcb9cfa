//! Laws by invariants: stress and tangent against derivatives of the energy, and against laws that are written
//! otherwise.

use super::super::battery::{Random, assert_close, brute_force_projection, distance9, norm9};
use super::super::{FiberReinforced, Law, MaterialSpec, MooneyRivlin, NeoHookean, StVenantKirchhoff};
use super::*;
use sinew_math::{ComplexStep, complex_step};

/// A polynomial with every invariant, and products of them, so that each entry of jₘ, Hₘ and the factor of T̂ counts:
/// ψ = Σ cₘ (Iₘ − 1) + Σ_{m ≤ n} dₘₙ Iₘ Iₙ.
#[derive(Clone, Copy)]
struct Polynomial;

fn coefficient(m: usize, n: usize) -> f64 {
    let (low, high) = (m.min(n), m.max(n));
    [0.7, -0.3, 0.45, 0.2, -0.6, 0.35, 0.15, -0.25, 0.5, 0.1, -0.4, 0.3, 0.55, -0.15, 0.65]
        [low * 5 + high - low * (low + 1) / 2]
}

impl InvariantLaw for Polynomial {
    const NAME: &'static str = "polynomial";
    const ISOTROPIC: bool = false;

    fn energy_density<S: Scalar>(&self, invariants: &Invariants<S>, _: &MaterialPoint<S>) -> S {
        let I = invariants.values;
        let mut sum = S::zero();
        for m in 0..5 {
            sum += S::splat(0.3 + 0.2 * m as f64) * I[m];
            for n in m..5 {
                sum += S::splat(coefficient(m, n)) * I[m] * I[n];
            }
        }
        sum
    }

    fn derivatives<S: Scalar>(&self, invariants: &Invariants<S>, _: &MaterialPoint<S>) -> InvariantDerivatives<S> {
        let I = invariants.values;
        let mut out = InvariantDerivatives::zero();
        for m in 0..5 {
            out.first[m] = S::splat(0.3 + 0.2 * m as f64);
            for n in 0..5 {
                let factor = if m == n { 2.0 } else { 1.0 };
                out.second[m][n] = S::splat(factor * coefficient(m, n));
                out.first[m] += out.second[m][n] * I[n];
            }
        }
        out
    }
}

/// Mooney–Rivlin as SIF-016 prints it, with I₂ = tr C² and III = I₃.
#[derive(Clone, Copy)]
struct MooneyRivlinByInvariants;

impl InvariantLaw for MooneyRivlinByInvariants {
    const NAME: &'static str = "mooney_rivlin";
    const ISOTROPIC: bool = true;

    fn energy_density<S: Scalar>(&self, invariants: &Invariants<S>, point: &MaterialPoint<S>) -> S {
        let [i1, i2, i3, ..] = invariants.values;
        let [c01, kappa, ..] = point.extra;
        let c10 = point.mu * S::splat(0.5) - c01;
        let log = i3.ln() * S::splat(0.5);
        c10 * (i3.powf(-1.0 / 3.0) * i1 - S::splat(3.0))
            + c01 * S::splat(0.5) * ((i1 * i1 - i2) * i3.powf(-2.0 / 3.0) - S::splat(6.0))
            + kappa * S::splat(0.5) * log * log
    }

    fn derivatives<S: Scalar>(&self, invariants: &Invariants<S>, point: &MaterialPoint<S>) -> InvariantDerivatives<S> {
        let [i1, i2, i3, ..] = invariants.values;
        let [c01, kappa, ..] = point.extra;
        let c10 = point.mu * S::splat(0.5) - c01;
        let (r, q) = (i3.powf(-1.0 / 3.0), i3.powf(-2.0 / 3.0));
        let (third, two_thirds, quarter) = (S::splat(1.0 / 3.0), S::splat(2.0 / 3.0), S::splat(0.25));
        let half_c01 = c01 * S::splat(0.5);
        let square = i1 * i1 - i2;
        let log = i3.ln();
        let mut out = InvariantDerivatives::zero();
        out.first[0] = c10 * r + c01 * i1 * q;
        out.first[1] = -half_c01 * q;
        out.first[2] = (-third * c10 * i1 * r - two_thirds * half_c01 * square * q + quarter * kappa * log) / i3;
        out.second[0][0] = c01 * q;
        out.second[0][2] = (-third * c10 * r - two_thirds * c01 * i1 * q) / i3;
        out.second[1][2] = two_thirds * half_c01 * q / i3;
        out.second[2][2] = (S::splat(4.0 / 9.0) * c10 * i1 * r
            + S::splat(10.0 / 9.0) * half_c01 * square * q
            + quarter * kappa * (S::one() - log))
            / (i3 * i3);
        out.second[2][0] = out.second[0][2];
        out.second[2][1] = out.second[1][2];
        out
    }
}

/// μ/2 (I₁ − 3) − μ/2 ln I₃ + λ/8 ln² I₃.
#[derive(Clone, Copy)]
struct NeoHookeanByInvariants;

impl InvariantLaw for NeoHookeanByInvariants {
    const NAME: &'static str = "neo_hookean";
    const ISOTROPIC: bool = true;

    fn energy_density<S: Scalar>(&self, invariants: &Invariants<S>, point: &MaterialPoint<S>) -> S {
        let [i1, _, i3, ..] = invariants.values;
        let log = i3.ln();
        point.mu * S::splat(0.5) * (i1 - S::splat(3.0) - log) + point.lambda * S::splat(0.125) * log * log
    }

    fn derivatives<S: Scalar>(&self, invariants: &Invariants<S>, point: &MaterialPoint<S>) -> InvariantDerivatives<S> {
        let [_, _, i3, ..] = invariants.values;
        let (half, quarter) = (S::splat(0.5), S::splat(0.25));
        let log = i3.ln();
        let mut out = InvariantDerivatives::zero();
        out.first[0] = point.mu * half;
        out.first[2] = (point.lambda * quarter * log - point.mu * half) / i3;
        out.second[2][2] = (point.lambda * quarter * (S::one() - log) + point.mu * half) / (i3 * i3);
        out
    }
}

/// St. Venant–Kirchhoff: μ/4 (I₂ − 2 I₁ + 3) + λ/8 (I₁ − 3)².
#[derive(Clone, Copy)]
struct StVenantKirchhoffByInvariants;

impl InvariantLaw for StVenantKirchhoffByInvariants {
    const NAME: &'static str = "st_venant_kirchhoff";
    const ISOTROPIC: bool = true;

    fn energy_density<S: Scalar>(&self, invariants: &Invariants<S>, point: &MaterialPoint<S>) -> S {
        let [i1, i2, ..] = invariants.values;
        let three = S::splat(3.0);
        point.mu * S::splat(0.25) * (i2 - i1 - i1 + three) + point.lambda * S::splat(0.125) * (i1 - three).square()
    }

    fn derivatives<S: Scalar>(&self, invariants: &Invariants<S>, point: &MaterialPoint<S>) -> InvariantDerivatives<S> {
        let quarter = S::splat(0.25);
        let mut out = InvariantDerivatives::zero();
        out.first[0] = point.lambda * quarter * (invariants.values[0] - S::splat(3.0)) - point.mu * S::splat(0.5);
        out.first[1] = point.mu * quarter;
        out.second[0][0] = point.lambda * quarter;
        out
    }
}

fn oblique(random: &mut Random) -> Vec3 {
    random.vector().normalized()
}

/// P = F S and δP from Ŝ and T̂ against complex steps of an energy in which every invariant takes part, for regular,
/// inverted and flat F.
#[test]
fn stress_and_tangent_are_derivatives_of_any_function_of_the_invariants() {
    let mut random = Random(31);
    let law = ByInvariants(Polynomial);
    let stretches =
        [[1.3, 1.0, 0.7], [1.0, 1.0, 1.0], [1.2, 0.8, -0.4], [1.1, 0.6, 0.0], [1.4, 0.0, 0.0], [0.0, 0.0, 0.0]];
    for stretches in stretches {
        for _ in 0..5 {
            let F = random.with_stretches(stretches);
            let point = MaterialPoint { fiber: oblique(&mut random), ..MaterialPoint::default() };
            let constant = point.map(ComplexStep::constant);
            let exact = complex_step::gradient(|F| Material::energy_density(&law, F, &constant), &F);
            assert_close(&law.stress(&F, &point), &exact, 1.0, 1e-12, "stress");
            let dF = random.matrix();
            let exact = complex_step::directional_derivative_matrix(|F| law.stress(F, &constant), &F, &dF);
            assert_close(&law.stress_differential(&F, &dF, &point), &exact, 1.0, 1e-11, "differential");
        }
    }
}

fn agrees<L: InvariantLaw, M: Material>(by_invariants: L, law: M, name: Law, samples: &[Mat3]) {
    let mut random = Random(32);
    let law_by_invariants = ByInvariants(by_invariants);
    for F in samples {
        let mut point = MaterialSpec::with_young(name, 3e4, 0.4).point();
        if !M::ISOTROPIC {
            point.fiber = oblique(&mut random);
        }
        let energies = (Material::energy_density(&law_by_invariants, F, &point), law.energy_density(F, &point));
        assert!((energies.0 - energies.1).abs() <= 1e-11 * (energies.1.abs() + point.lambda), "{}", M::NAME);
        let scale = point.mu + law.stress_differential(F, F, &point).norm();
        assert_close(&law_by_invariants.stress(F, &point), &law.stress(F, &point), scale, 1e-11, M::NAME);
        let (found, exact) =
            (InvariantTangent::exact(&by_invariants, F, &point).to_tangent9(), Tangent9::exact(&law, F, &point));
        assert!(distance9(&found, &exact) <= 1e-10 * norm9(&exact), "{} {F:?}", M::NAME);
    }
}

/// SIF-014: the printed derivatives of known laws give the same stress and tangent as their own formulas.
#[test]
fn known_laws_by_their_derivatives_agree_with_their_own_formulas() {
    let mut random = Random(33);
    let mut samples = vec![Mat3::identity()];
    for stretches in [[1.3, 1.0, 0.7], [1.8, 1.1, 0.5], [1.2, 1.2, 0.9], [0.7, 0.6, 0.5]] {
        samples.extend((0..4).map(|_| random.with_stretches(stretches)));
    }
    agrees(MooneyRivlinByInvariants, MooneyRivlin, Law::MooneyRivlin, &samples);
    agrees(NeoHookeanByInvariants, NeoHookean, Law::NeoHookean, &samples);
    agrees(FiberReinforced, FiberReinforced, Law::FiberReinforced, &samples);
    for stretches in [[1.2, 0.8, -0.4], [1.0, 0.9, -0.7]] {
        samples.extend((0..4).map(|_| random.with_stretches(stretches)));
    }
    agrees(StVenantKirchhoffByInvariants, StVenantKirchhoff, Law::StVenantKirchhoff, &samples);
    agrees(FiberReinforced, FiberReinforced, Law::FiberReinforced, &samples);
}

/// δF : δP = δF̂ : (δF̂ Ŝ) + ½ δĈ : T̂ : δĈ, so clamping Ŝ and T̂ gives a definite tangent; a definite exact one is
/// left alone.
#[test]
fn clamped_stress_and_stiffness_give_a_definite_tangent() {
    let mut random = Random(34);
    let law = ByInvariants(Polynomial);
    for k in 0..300 {
        let F = Mat3::identity() * f64::from(k % 3 - 1) + random.matrix();
        let point = MaterialPoint { fiber: oblique(&mut random), ..MaterialPoint::default() };
        let exact = Tangent9::exact(&law, &F, &point);
        let definite = law.definite_tangent(&F, &point);
        let smallest = brute_force_projection(&definite).1;
        assert!(smallest >= -1e-11 * norm9(&definite), "{smallest:e}");
        let (_, smallest) = brute_force_projection(&exact);
        if smallest > 1e-9 * norm9(&exact) {
            assert!(distance9(&definite, &exact) <= 1e-12 * norm9(&exact));
        }
    }
}
