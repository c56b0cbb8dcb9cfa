//! Extended laws: the plain law above the threshold, an energy or a clamped stress below.

use super::super::battery::{Random, assert_close, brute_force_projection, distance9, norm9};
use super::super::{Law, MaterialSpec, MooneyRivlin, NeoHookean, StVenantKirchhoff, Tangent};
use super::*;

fn point(law: Law, threshold: f64, extension: Extension) -> MaterialPoint {
    MaterialSpec::with_young(law, 3e4, 0.4).extended(Inversion { threshold, extension }).point()
}

/// Runs a check for every law that scenes can extend.
fn for_each_law(extension: Extension, check: impl Fn(&dyn Probe, &MaterialPoint)) {
    for threshold in [0.2, 0.3, 0.5] {
        check(&Invertible(StVenantKirchhoff), &point(Law::StVenantKirchhoff, threshold, extension));
        check(&Invertible(NeoHookean), &point(Law::NeoHookean, threshold, extension));
        check(&Invertible(MooneyRivlin), &point(Law::MooneyRivlin, threshold, extension));
    }
}

/// What the checks need of a law, compiled once for each.
trait Probe {
    fn energy(&self, F: &Mat3, point: &MaterialPoint) -> f64;
    fn stress(&self, F: &Mat3, point: &MaterialPoint) -> Mat3;
    fn differential(&self, F: &Mat3, dF: &Mat3, point: &MaterialPoint) -> Mat3;
    fn tangent(&self, F: &Mat3, point: &MaterialPoint, kind: Tangent) -> Tangent9;
    /// Energy and stress of the law without extension.
    fn plain(&self, F: &Mat3, point: &MaterialPoint) -> (f64, Mat3);
}

impl<L: IsotropicLaw> Probe for Invertible<L> {
    fn energy(&self, F: &Mat3, point: &MaterialPoint) -> f64 {
        self.energy_density(F, point)
    }
    fn stress(&self, F: &Mat3, point: &MaterialPoint) -> Mat3 {
        Material::stress(self, F, point)
    }
    fn differential(&self, F: &Mat3, dF: &Mat3, point: &MaterialPoint) -> Mat3 {
        self.stress_differential(F, dF, point)
    }
    fn tangent(&self, F: &Mat3, point: &MaterialPoint, kind: Tangent) -> Tangent9 {
        Material::tangent(self, F, point, kind)
    }
    fn plain(&self, F: &Mat3, point: &MaterialPoint) -> (f64, Mat3) {
        self.0.energy_and_stress(F, point)
    }
}

/// Flat, inverted and crushed states away from σᵢ + σⱼ = 0, where the stress jumps; some with equal stretches, some at
/// depths that no body reaches.
fn extended_samples() -> Vec<Mat3> {
    let mut random = Random(21);
    let mut samples = Vec::new();
    for stretches in [
        [1.1, 0.95, 0.1],
        [1.1, 0.95, 0.0],
        [1.1, 0.95, -0.4],
        [1.0, 1.0, -0.5],
        [1.5, 0.25, 0.1],
        [0.28, 0.2, 0.1],
        [0.25, 0.25, 0.25],
        [0.9, 0.15, -0.05],
        [0.1, 0.08, -0.02],
        [3.0, 2.0, -1.2],
        [40.0, 30.0, -12.0],
        [1.2, 0.29, 0.29],
        [1.2, 0.35, 0.05],
    ] {
        for _ in 0..3 {
            samples.push(random.with_stretches(stretches));
        }
        samples.push(Mat3::diagonal(stretches.into()));
    }
    samples
}

/// P = ∂ψ/∂F by central differences: error h² ψ‴ and ε/h of the energy.
#[test]
fn stress_is_the_derivative_of_the_extended_energy() {
    for_each_law(Extension::Energy, |law, point| {
        for F in extended_samples() {
            let h = 1e-6 * F.norm();
            let mut numeric = Mat3::zero();
            for k in 0..9 {
                let step = super::super::tangent::unit_direction::<f64>(k) * h;
                numeric[(k / 3, k % 3)] = (law.energy(&(F + step), point) - law.energy(&(F - step), point)) / (2.0 * h);
            }
            assert_close(&law.stress(&F, point), &numeric, point.lambda, 2e-7, &format!("{F:?}"));
        }
    });
}

/// δP by central differences of P, in random directions.
#[test]
fn differential_is_the_derivative_of_the_extended_stress() {
    for_each_law(Extension::Energy, |law, point| {
        let mut random = Random(22);
        for F in extended_samples() {
            let dF = random.matrix();
            let h = 1e-6 * F.norm();
            let numeric = (law.stress(&(F + dF * h), point) - law.stress(&(F - dF * h), point)) * (0.5 / h);
            let scale = norm9(&law.tangent(&F, point, Tangent::Exact));
            assert_close(&law.differential(&F, &dF, point), &numeric, scale, 1e-6, &format!("{F:?}"));
        }
    });
}

#[test]
fn definite_tangent_of_the_extended_energy_equals_brute_force_projection() {
    for_each_law(Extension::Energy, |law, point| {
        for F in extended_samples() {
            let exact = law.tangent(&F, point, Tangent::Exact);
            let definite = law.tangent(&F, point, Tangent::Definite);
            let (brute, _) = brute_force_projection(&exact);
            assert!(distance9(&definite, &brute) <= 1e-10 * norm9(&exact), "{F:?}");
        }
    });
}

/// ψ(QF) = ψ(F), P(QF) = Q P(F) and P(FQ) = P(F) Q, inverted or not, for both extensions.
#[test]
fn rotations_change_nothing_in_inverted_cells() {
    for extension in [Extension::Energy, Extension::Constant] {
        for_each_law(extension, |law, point| {
            let mut random = Random(23);
            for F in extended_samples() {
                let Q = random.rotation();
                let (energy, stress) = (law.energy(&F, point), law.stress(&F, point));
                let scale = norm9(&law.tangent(&F, point, Tangent::Definite)) * F.norm();
                assert!((law.energy(&(Q * F), point) - energy).abs() <= 1e-11 * (energy.abs() + point.lambda));
                assert_close(&law.stress(&(Q * F), point), &(Q * stress), scale, 1e-11, "space");
                assert_close(&law.stress(&(F * Q), point), &(stress * Q), scale, 1e-11, "rest state");
            }
        });
    }
}

/// TER-32: along F = R diag(1.1, 0.95, t) from t = 1.2 to −0.94 the stress has no jump and pushes back to t > 0 below
/// the threshold. At t = −0.95 the inverted axis changes, which no extension in principal stretches can avoid.
#[test]
fn stress_is_continuous_and_pushes_out_of_inversion() {
    for extension in [Extension::Energy, Extension::Constant] {
        for_each_law(extension, |law, point| {
            let threshold = point.extra[2];
            let R = Random(24).rotation();
            let samples = 4281;
            let at = |k: usize| 1.2 - 2.14 * k as f64 / (samples - 1) as f64;
            let mut before: Option<Mat3> = None;
            for k in 0..samples {
                let t = at(k);
                let F = R * Mat3::diagonal(Vec3::new(1.1, 0.95, t));
                let stress = R.transpose_mul(&law.stress(&F, point));
                if let Some(before) = before {
                    // The stiffness of the steepest place, at the threshold, times the step.
                    let most = 20.0 * (point.lambda + 2.0 * point.mu) / (threshold * threshold) * 2.14 / samples as f64;
                    assert!((stress - before).norm() < most, "jump at {t}: {:e}", (stress - before).norm());
                }
                if t < threshold {
                    assert!(stress[(2, 2)] < -0.5 * point.mu, "{t}: {stress:?}");
                }
                before = Some(stress);
            }
        });
    }
}

/// How far below the threshold a cell must be pushed for the force to point outwards, when the other two stretches blow
/// up its area.
#[test]
fn the_force_opens_cells_of_tenfold_area_and_in_the_end_all() {
    for_each_law(Extension::Energy, |law, point| {
        for area in [1.0f64, 4.0, 10.0, 100.0, 1e4] {
            let side = area.sqrt();
            let force = |t: f64| law.stress(&Mat3::diagonal(Vec3::new(side, side, t)), point)[(2, 2)];
            let depths: Vec<f64> = (0..200).map(|k| -0.99 * side * f64::from(k) / 199.0).collect();
            let first = depths.iter().position(|&t| force(t) < 0.0).expect("some depth opens the cell");
            assert!(depths[first..].iter().all(|&t| force(t) < 0.0), "area {area}: falls back");
            if area <= 10.0 {
                assert_eq!(first, 0, "area {area}: a flat cell does not open");
            }
        }
    });
}

/// Above the threshold the plain law, to the last bit; at rest nothing at all.
#[test]
fn above_the_threshold_nothing_changes() {
    for extension in [Extension::Energy, Extension::Constant] {
        for_each_law(extension, |law, point| {
            let mut random = Random(25);
            for stretches in [[1.0, 1.0, 1.0], [1.3, 0.9, 0.51], [4.0, 3.0, 0.505], [0.7, 0.6, 0.55], [9.0, 0.6, 0.51]]
            {
                let F = random.with_stretches(stretches);
                let (energy, stress) = law.plain(&F, point);
                assert_eq!((law.energy(&F, point), law.stress(&F, point)), (energy, stress), "{stretches:?}");
            }
            assert_eq!(law.energy(&Mat3::identity(), point), 0.0);
            assert_eq!(law.stress(&Mat3::identity(), point), law.plain(&Mat3::identity(), point).1);
        });
    }
}

/// The document's extension: P = U diag(ψᵢ(max(σ, ε))) Vᵀ, constant below the threshold, and a definite tangent from
/// there.
#[test]
fn constant_extension_is_the_plain_law_at_clamped_stretches() {
    for_each_law(Extension::Constant, |law, point| {
        let threshold = point.extra[2];
        for F in extended_samples() {
            let svd = svd3_apart(&F);
            let clamped = svd.sigma.max(Vec3::splat(threshold));
            let expected = (svd.u * law.plain(&Mat3::diagonal(clamped), point).1).mul_transpose(&svd.v);
            assert_close(&law.stress(&F, point), &expected, point.mu, 1e-11, &format!("{F:?}"));
            let F = svd.u * Mat3::diagonal(clamped).mul_transpose(&svd.v);
            let there = law.tangent(&F, point, Tangent::Definite);
            let here =
                law.tangent(&(svd.u * Mat3::diagonal(svd.sigma).mul_transpose(&svd.v)), point, Tangent::Definite);
            // Equal stretches at the threshold leave the axes open, so compare what does not depend on them.
            let (a, b) = (norm9(&here), norm9(&there));
            assert!((a - b).abs() <= 1e-9 * b, "{a:e} {b:e}");
            assert!(brute_force_projection(&here).1 >= -1e-11 * a);
        }
    });
}

#[test]
fn collapsed_and_deeply_inverted_cells_give_finite_numbers() {
    for extension in [Extension::Energy, Extension::Constant] {
        for_each_law(extension, |law, point| {
            let mut random = Random(26);
            let mut samples = vec![Mat3::zero(), -Mat3::identity(), Mat3::diagonal(Vec3::new(1.0, 1.0, -1.0))];
            for stretches in [
                [1.0, 0.0, 0.0],
                [1.0, 1.0, 0.0],
                [1e3, 1e3, -1e3],
                [1e3, 1e3, 0.0],
                [1e3, 1e-3, -1e-3],
                [1e-200, 0.0, 0.0],
            ] {
                samples.push(Mat3::diagonal(stretches.into()));
                samples.push(random.with_stretches(stretches));
            }
            for F in samples {
                assert!(law.energy(&F, point).is_finite(), "{F:?}");
                assert!(law.stress(&F, point).is_finite(), "{F:?}");
                assert!(law.differential(&F, &random.matrix(), point).is_finite(), "{F:?}");
                let definite = law.tangent(&F, point, Tangent::Definite);
                assert!(norm9(&definite).is_finite(), "{F:?}");
                assert!(brute_force_projection(&definite).1 >= -1e-10 * norm9(&definite), "{F:?}");
            }
        });
    }
}

/// Divided differences against the quotients they stand for, and against the derivative where both stretches are equal.
#[test]
fn differences_are_quotients_and_derivatives_where_stretches_meet() {
    let point = point(Law::NeoHookean, 0.3, Extension::Energy);
    for a in [1.2, 0.31, 0.29, 0.1, -0.2, -3.0] {
        for b in [0.9, 0.305, 0.3, 0.28, 0.0, -0.5] {
            let map = Map::new(Vec3::new(a, b, 1.0), &point);
            let [h, slope, spring] = map.differences(0, 1);
            let penalty = map.penalty_slope();
            assert!((h * (a - b) - (map.h.x - map.h.y)).abs() < 1e-14);
            assert!((slope * (a - b) - (map.slope.x - map.slope.y)).abs() < 1e-13);
            assert!((spring * (a - b) - (penalty.x - penalty.y)).abs() < 1e-10 * point.lambda);
        }
        let map = Map::new(Vec3::new(a, a, 1.0), &point);
        let [h, slope, _] = map.differences(0, 1);
        assert!((h - map.slope.x).abs() < 1e-14 && (slope - map.curvature().x).abs() < 1e-12, "{a}");
    }
}
