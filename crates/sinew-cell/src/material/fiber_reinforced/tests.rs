//! Fibers: the curve, pulls along and across in closed form, definiteness and what it costs.

use super::super::battery::{Random, assert_close, brute_force_projection, distance9, norm9};
use super::super::{InvariantTangent, Tangent, closed_form, projection_excess};
use super::*;
use sinew_math::complex_step;

fn spec(fiber: Vec3) -> MaterialSpec {
    MaterialSpec::fiber_reinforced(3e4, 0.45, 1e5, 6.6).with_fiber(fiber)
}

/// T = w′ and T′ by complex steps; the printed formula; nothing when slack; no kink at 1.4, and a straight line beyond.
#[test]
fn tension_is_the_derivative_of_the_energy_of_a_fiber() {
    let k = 250.0;
    for c in [0.0, 1e-9, 0.5, 6.6, 40.0] {
        for l in [0.0, 0.5, 0.999, 1.000_001, 1.05, 1.076, 1.2, 1.39, 1.41, 2.0, 10.0] {
            let curve = FiberCurve::at(l - 1.0, k, c);
            let step = |e: sinew_math::ComplexStep| FiberCurve::at(e, Scalar::splat(k), Scalar::splat(c));
            let scale = curve.stiffness + k;
            assert!((complex_step::derivative(|e| step(e).energy, l - 1.0) - curve.tension).abs() <= 1e-13 * scale);
            assert!((complex_step::derivative(|e| step(e).tension, l - 1.0) - curve.stiffness).abs() <= 1e-13 * scale);
            if l <= 1.0 {
                assert_eq!((curve.energy, curve.tension, curve.stiffness), (0.0, 0.0, 0.0));
            } else if l <= 1.4 && c >= 0.5 {
                let expected = k * f64::exp_m1(c * (l - 1.0)) / c;
                assert!((curve.tension - expected).abs() <= 1e-13 * expected, "{c} {l}");
                let expected = k * (f64::exp_m1(c * (l - 1.0)) / c - (l - 1.0)) / c;
                assert!((curve.energy - expected).abs() <= 1e-9 * expected, "{c} {l}");
            }
        }
        let (below, above) = (FiberCurve::at(0.4 - 1e-12, k, c), FiberCurve::at(0.4 + 1e-12, k, c));
        assert!((below.tension - above.tension).abs() < 1e-11 * above.stiffness);
        assert!((below.stiffness - above.stiffness).abs() < 1e-9 * above.stiffness);
        assert_eq!(FiberCurve::at(3.0, k, c).stiffness, above.stiffness);
    }
}

/// Along the fibers P = P_matrix + T(l); across, where they go slack, P = P_matrix.
#[test]
fn pulls_along_and_across_equal_their_closed_forms() {
    for stretch in [0.8, 1.0, 1.1, 1.3, 1.6] {
        let F = |lateral: f64| Mat3::diagonal(Vec3::new(stretch, lateral, lateral));
        let along = spec(Vec3::unit(0));
        let pulled = closed_form::uniaxial(&along, stretch).unwrap();
        let tension = 1e5 * f64::exp_m1(6.6 * (stretch.clamp(1.0, 1.4) - 1.0)) / 6.6
            + 1e5 * f64::exp(6.6 * 0.4) * (stretch - 1.4).max(0.0);
        let matrix =
            closed_form::uniaxial(&MaterialSpec::with_young(Law::StableNeoHookean, 3e4, 0.45), stretch).unwrap();
        assert!((pulled.nominal_stress - matrix.nominal_stress - tension).abs() <= 1e-9 * (tension + 3e4));
        let expected = Mat3::diagonal(Vec3::new(pulled.nominal_stress, 0.0, 0.0));
        let found = FiberReinforced.stress(&F(pulled.lateral_stretch), &along.point());
        assert_close(&found, &expected, 3e4, 1e-11, "along");

        if stretch >= 1.0 {
            let across = spec(Vec3::unit(1)).point();
            let found = FiberReinforced.stress(&F(matrix.lateral_stretch), &across);
            let expected = Mat3::diagonal(Vec3::new(matrix.nominal_stress, 0.0, 0.0));
            assert_close(&found, &expected, 3e4, 1e-11, "across");
        }
    }
}

/// Random states: near rest, stretched, crushed and inverted.
fn random_state(random: &mut Random) -> Mat3 {
    let size = 1.5 * random.next().abs();
    Mat3::identity() + random.matrix() * size
}

/// Ten thousand random states, a quarter of them inverted.
#[test]
fn definite_tangent_is_definite_and_exact_where_that_is() {
    let mut random = Random(41);
    let (mut inverted, mut exact_ones) = (0, 0);
    for _ in 0..10_000 {
        let F = random_state(&mut random);
        let point = spec(random.vector().normalized()).point();
        let exact = FiberReinforced.tangent(&F, &point, Tangent::Exact);
        let definite = FiberReinforced.tangent(&F, &point, Tangent::Definite);
        let scale = norm9(&exact);
        // A shift by a few roundings: semi-definite matrices have eigenvalues that are zero.
        let mut shifted = definite;
        for k in 0..9 {
            shifted.0[k][k] += 1e-12 * scale;
        }
        assert!(shifted.is_positive_definite(), "{F:?}");
        inverted += usize::from(F.determinant() < 0.0);
        if exact.is_positive_definite() {
            exact_ones += 1;
            assert!(distance9(&definite, &exact) <= 1e-12 * scale, "{F:?}");
        }
    }
    assert!(inverted > 1000 && (1000..9000).contains(&exact_ones), "{inverted} {exact_ones}");
}

/// What the two routes add to the exact tangent where that is not definite: the separable one about a tenth more than
/// the least possible, clamping Ŝ and T̂ several times as much, and never less. Hence the law takes the separable one.
#[test]
fn separable_route_adds_less_than_clamping_stress_and_stiffness() {
    let mut random = Random(42);
    let (mut separable, mut clamped, mut least, mut count) = (0.0, 0.0, 0.0, 0);
    for _ in 0..1500 {
        let F = random_state(&mut random);
        let point = spec(random.vector().normalized()).point();
        let exact = FiberReinforced.tangent(&F, &point, Tangent::Exact);
        let excess = projection_excess(&FiberReinforced, &F, &point);
        if exact.is_positive_definite() {
            assert!(excess.law < 1e-12, "{excess:?}");
            continue;
        }
        let (brute, _) = brute_force_projection(&exact);
        assert!((brute.distance(&exact) / exact.norm() - excess.least).abs() < 1e-10);
        let both = InvariantTangent::exact(&FiberReinforced, &F, &point).positive_part().to_tangent9();
        let by_clamping = both.distance(&exact) / exact.norm();
        assert!(excess.least <= excess.law * (1.0 + 1e-9) && excess.law <= by_clamping, "{excess:?} {by_clamping}");
        count += 1;
        separable += excess.law;
        // Nearly flat cells have a second Piola stress without bound.
        clamped += by_clamping.min(10.0);
        least += excess.least;
    }
    let [separable, clamped, least] = [separable, clamped, least].map(|sum| sum / f64::from(count));
    assert!(count > 1000 && separable < 1.15 * least && clamped > 3.0 * least, "{count} {separable} {clamped} {least}");
}
