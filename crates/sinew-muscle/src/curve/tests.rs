//! Curves against the tables of their papers, differences and quadrature.

use super::*;

fn all() -> Vec<Curve> {
    let mut curves = vec![
        Curve::active_teran(),
        Curve::passive_teran(),
        Curve::active_blemker(),
        Curve::passive_blemker(),
        Curve::active_delp(),
        Curve::passive_chen(),
        Curve::velocity_chen(),
        Curve::tendon_zajac(),
    ];
    let corners = [[-0.5, 0.2], [0.1, 0.0], [0.3, 1.0], [0.35, 1.0], [0.9, 0.01], [1.0, 0.02], [1.4, 0.9]];
    for kind in [CurveKind::Active, CurveKind::Passive, CurveKind::Velocity, CurveKind::Tendon] {
        curves.push(Curve::through(&corners, kind).unwrap());
        curves.push(Curve::spline_through(&corners, kind).unwrap());
        curves.push(Curve::through(&[[0.5, 1.0], [1.5, 0.25]], kind).unwrap());
    }
    curves
}

fn assert_values(curve: &Curve, tolerance: f64, expected: &[(f64, f64)]) {
    for &(x, y) in expected {
        let value = curve.value(x);
        assert!((value - y).abs() <= tolerance, "{} at {x}: {value} instead of {y}", curve.name());
    }
}

/// TER-35 A: thirds with slope ±10/3 at 0.6 and 1.4, area 2/3; the passive tangent is 4.294357 l − 5.493440.
#[test]
fn teran_curves_have_their_printed_values() {
    let active = Curve::active_teran();
    assert_values(
        &active,
        1e-14,
        &[(1.0, 1.0), (0.6, 1.0 / 3.0), (1.4, 1.0 / 3.0), (0.4, 0.0), (1.6, 0.0), (0.0, 0.0), (3.0, 0.0)],
    );
    for side in [-1e-9, 1e-9] {
        assert!((active.at(0.6 + side).slope - 10.0 / 3.0).abs() < 1e-7);
        assert!((active.at(1.4 + side).slope + 10.0 / 3.0).abs() < 1e-7);
    }
    assert!((active.at(2.0).integral - 2.0 / 3.0).abs() < 1e-15);
    let passive = Curve::passive_teran();
    assert_values(
        &passive,
        5e-6,
        &[(1.0, 0.0), (0.5, 0.0), (1.4, 0.51866), (1.6, 4.294357 * 1.6 - 5.493440), (2.0, 4.294357 * 2.0 - 5.493440)],
    );
    for side in [-1e-9, 1e-9] {
        assert!((passive.at(1.4 + side).slope - 4.294357).abs() < 1e-6);
    }
}

/// TER-35 B, SIF-019.
#[test]
fn blemker_curves_have_their_kinks() {
    let active = Curve::active_blemker();
    assert_values(
        &active,
        1e-14,
        &[(0.4, 0.0), (0.5, 0.09), (0.6, 0.36), (0.8, 0.84), (1.0, 1.0), (1.4, 0.36), (1.5, 0.09), (1.6, 0.0)],
    );
    assert!((active.at(0.6 - 1e-12).slope - 3.6).abs() < 1e-9 && (active.at(0.6 + 1e-12).slope - 3.2).abs() < 1e-9);
    let passive = Curve::passive_blemker();
    assert_values(
        &passive,
        1e-14,
        &[(1.0, 0.0), (1.2, 0.05 * (1.32f64.exp() - 1.0)), (1.4, 0.05 * (2.64f64.exp() - 1.0))],
    );
    assert!(passive.at(1.0).slope == 0.0 && (passive.at(1.0 + 1e-12).slope - 0.33).abs() < 1e-9);
    assert!((passive.at(1.4 + 1e-12).slope - passive.at(1.4).slope).abs() < 1e-9);
}

/// The table of CHE-09, fact 12: at most 1.001, never negative, maximum near 1.007.
#[test]
fn delp_spline_has_its_tabulated_values() {
    let active = Curve::active_delp();
    let tabulated = [
        (0.5, 0.1392),
        (0.6, 0.5250),
        (0.7, 0.8258),
        (0.78333, 0.9189),
        (0.8, 0.9274),
        (0.9, 0.9668),
        (1.0, 1.0002),
        (1.1, 0.9539),
        (1.2, 0.8046),
        (1.3, 0.5836),
        (1.4, 0.3375),
        (1.5, 0.1201),
        (1.6, 0.0036),
    ];
    // The table comes from the natural spline of all twelve points, which has slopes of 0.01 at its innermost zeros: a
    // difference of 2e-4 near them.
    assert_values(&active, 2e-4, &tabulated);
    assert_values(&active, 0.0, &[(0.0, 0.0), (0.3, 0.0), (1.63, 0.0), (5.0, 0.0)]);
    assert_values(&active, 1e-15, &published::DELP_ACTIVE_POINTS.map(|[x, y]| (x, y)));
    let highest = (0..=2000)
        .map(|i| 0.3 + 0.0007 * i as f64)
        .map(|x| (active.value(x), x))
        .fold((0.0, 0.0), |a: (f64, f64), b| if b.0 > a.0 { b } else { a });
    assert!((highest.0 - 1.0004).abs() < 1e-4 && (highest.1 - 1.007).abs() < 2e-3, "{highest:?}");
}

/// CHE-10 and fact 12.
#[test]
fn chen_passive_force_is_a_parabola() {
    let passive = Curve::passive_chen();
    assert_values(&passive, 1e-15, &[(0.5, 0.0), (1.0, 0.0), (1.5, 1.0), (2.0, 4.0)]);
    assert_eq!(passive.at(1.0).slope, 0.0);
}

/// CHE-12 and fact 12: f(0) = 1, zero at −0.97861 and clamped below, growing above.
#[test]
fn chen_velocity_factor_has_its_tabulated_values() {
    let velocity = Curve::velocity_chen();
    let tabulated = [
        (-2.0, 0.0),
        (-1.0, 0.0),
        (-0.97861, 0.0),
        (-0.5, 0.32573),
        (-0.25, 0.70754),
        (-0.1, 0.90620),
        (0.0, 1.0),
        (0.1, 1.06897),
        (0.25, 1.14088),
        (0.5, 1.21316),
        (1.0, 1.28316),
        (1e9, 1.40833),
    ];
    assert_values(&velocity, 6e-6, &tabulated);
    assert!((velocity.at(0.0).slope - 0.80116).abs() < 6e-6);
    assert_eq!(velocity.at(-0.98).slope, 0.0);
    assert!((0..500).all(|i| velocity.at(-0.978 + 0.01 * i as f64).slope > 0.0));
}

/// CHE-11 and fact 12: zero when slack, 1 at a strain of 0.033, close to the printed constants on both parts.
#[test]
fn zajac_tendon_is_smooth_and_slack_below_zero() {
    let tendon = Curve::tendon_zajac();
    assert_values(&tendon, 1e-15, &[(-1.0, 0.0), (0.0, 0.0), (0.033, 1.0)]);
    assert_values(
        &tendon,
        1e-5,
        &[(0.006, 1480.3 * 0.006 * 0.006), (0.012, 1480.3 * 0.012 * 0.012), (0.05, 37.5 * 0.05 - 0.2375)],
    );
}

/// Slopes against central differences of width 2e-6, away from kinks; the error is h² / 6 of the third derivative plus
/// rounding, 1e-16 / h.
#[test]
fn slopes_are_derivatives_of_values() {
    const H: f64 = 1e-6;
    for curve in all() {
        for i in 0..4000 {
            let x = -0.7 + 0.00061803 * i as f64;
            let [before, here, after] = [x - H, x, x + H].map(|x| curve.at(x));
            // If slopes on both sides differ by more than curvature explains, there is a kink or a joint in between.
            if (after.slope - before.slope).abs() > 0.05 {
                continue;
            }
            let difference = (after.value - before.value) / (2.0 * H);
            assert!(
                (here.slope - difference).abs() < 1e-6 + (after.slope - before.slope).abs(),
                "{} at {x}: {here:?} {difference}",
                curve.name()
            );
        }
    }
}

/// Gauss quadrature with three nodes on intervals of 1e-4 is exact to rounding for cubics; intervals with a kink err by
/// 1e-8.
#[test]
fn integrals_are_those_of_values_from_the_origin() {
    for curve in all() {
        let origin = curve.kind().origin();
        assert!(curve.at(origin).integral.abs() < 1e-15, "{}", curve.name());
        for direction in [-1.0, 1.0] {
            let h = 1e-4 * direction;
            let mut sum = 0.0;
            for i in 0..20_000 {
                let middle = origin + h * (i as f64 + 0.5);
                let reach = 0.5 * h * 0.6f64.sqrt();
                sum += h / 18.0
                    * (5.0 * curve.value(middle - reach)
                        + 8.0 * curve.value(middle)
                        + 5.0 * curve.value(middle + reach));
                if i % 500 == 0 {
                    let integral = curve.at(origin + h * (i as f64 + 1.0)).integral;
                    assert!(
                        (integral - sum).abs() < 2e-8,
                        "{} {:?} at {}: {integral} {sum}",
                        curve.name(),
                        curve.kind(),
                        middle
                    );
                }
            }
        }
    }
}

/// From −1e6 to 1e6 in steps that shrink toward every corner, and at the limits of f64.
#[test]
fn no_finite_place_gives_a_negative_or_undefined_force() {
    for curve in all() {
        let mut places: Vec<f64> =
            (-240..=120).flat_map(|e| [1.0, -1.0].map(|sign: f64| sign * 10f64.powf(e as f64 / 20.0))).collect();
        let centers = [-0.97861, -0.5, 0.0, 0.012667, 0.1, 0.3, 0.4, 0.401, 0.6, 0.9, 1.0, 1.4, 1.6, 1.62];
        places.extend(places.clone().iter().flat_map(|d| centers.map(|center| center + d)));
        places.extend([f64::MAX, f64::MIN, f64::MIN_POSITIVE, 0.0, -0.0]);
        for x in places {
            let CurveSample { value, slope, integral } = curve.at(x);
            assert!(
                value >= 0.0 && !slope.is_nan() && !integral.is_nan(),
                "{} {:?} at {x}: {value} {slope} {integral}",
                curve.name(),
                curve.kind()
            );
            assert!(x.abs() > 2e6 || value.is_finite() && slope.is_finite() && integral.is_finite());
        }
    }
}

/// Values agree on both sides of every point of a fine grid: no curve jumps.
#[test]
fn curves_are_continuous() {
    for curve in all() {
        for i in 0..200_000 {
            let [before, after] = [i, i + 1].map(|i| curve.at(-0.8 + 1.5e-5 * i as f64));
            let steepest = before.slope.abs().max(after.slope.abs()) + 0.1;
            assert!((after.value - before.value).abs() < 2e-5 * steepest, "{} at {i}", curve.name());
        }
    }
}

/// 200 samples of smooth foreign curves reproduce them to 1e-5, including peak and ends.
#[test]
fn finely_sampled_curves_come_back() {
    let bell = |x: f64| (-((x - 1.003) / 0.28).powi(2)).exp();
    let toe = |x: f64| (5.0 * (x - 0.9)).exp() - 5.0 * (x - 0.9) - 0.99;
    let sigmoid = |v: f64| 0.7 + 0.7 * (2.5 * v + 0.4).tanh();
    let cases: [(&dyn Fn(f64) -> f64, [f64; 2], CurveKind); 3] = [
        (&bell, [0.4, 1.8], CurveKind::Active),
        (&toe, [0.9, 1.4], CurveKind::Passive),
        (&sigmoid, [-1.0, 1.0], CurveKind::Velocity),
    ];
    for (source, [from, to], kind) in cases {
        let place = |i: usize, count: usize| from + (to - from) * i as f64 / count as f64;
        let points: Vec<[f64; 2]> = (0..=200).map(|i| place(i, 200)).map(|x| [x, source(x)]).collect();
        let curve = Curve::through(&points, kind).unwrap();
        let error = (0..=7000).map(|i| place(i, 7000)).map(|x| (curve.value(x) - source(x)).abs()).fold(0.0, f64::max);
        assert!(error < 1e-6, "{kind:?}: {error:e}");
    }
}

/// Rising points give a rising curve; level points a level one.
#[test]
fn shape_of_points_is_preserved() {
    let points = [[0.0, 0.0], [0.1, 0.0], [0.2, 0.9], [0.21, 0.91], [0.8, 1.0], [0.9, 1.0], [1.5, 4.0]];
    let curve = Curve::through(&points, CurveKind::Passive).unwrap();
    assert_values(&curve, 1e-15, &points.map(|[x, y]| (x, y)));
    for i in 0..3000 {
        let x = -0.5 + 0.001 * i as f64;
        assert!(curve.at(x).slope >= -1e-14, "falls at {x}");
        assert!(!(0.8..=0.9).contains(&x) || (curve.value(x) - 1.0).abs() < 1e-15);
        assert!(x > 0.1 || curve.value(x) == 0.0);
    }
}

/// Constant or straight, and slopes agree on both sides of an end.
#[test]
fn ends_go_on_as_their_kind_says() {
    let points = [[0.5, 0.3], [0.8, 0.8], [1.0, 1.0], [1.3, 0.6]];
    for kind in [CurveKind::Active, CurveKind::Passive, CurveKind::Velocity, CurveKind::Tendon] {
        let curve = Curve::through(&points, kind).unwrap();
        for end in [0.5, 1.3] {
            assert!((curve.at(end - 1e-9).slope - curve.at(end + 1e-9).slope).abs() < 1e-6, "{kind:?} at {end}");
        }
        if kind.is_held_beyond_ends() {
            assert!(curve.value(9.0) == curve.value(1.7) && (curve.value(9.0) - 0.6).abs() < 0.07);
            assert_eq!(curve.at(-9.0).slope, 0.0);
        } else {
            let (slope, value) = (curve.at(1.3).slope, curve.value(1.3));
            assert!((curve.value(1.4) - (value + 0.1 * slope)).abs() < 1e-15);
            assert_eq!(curve.value(9.0), 0.0);
        }
    }
    let rising = Curve::through(&[[1.0, 0.0], [1.2, 0.3], [1.4, 0.8]], CurveKind::Passive).unwrap();
    assert!(rising.value(0.9) == 0.0 && (rising.value(11.4) - 0.8 - 10.0 * rising.at(1.4).slope).abs() < 1e-12);
}

/// A natural spline that goes below zero is clipped there, and so is its integral.
#[test]
fn splines_are_cut_at_zero() {
    let points = [[0.0, 1.0], [1.0, 0.0], [2.0, 0.05], [3.0, 2.0]];
    let curve = Curve::spline_through(&points, CurveKind::Active).unwrap();
    let zeros = (0..3000).map(|i| 0.001 * i as f64).filter(|&x| curve.value(x) == 0.0).count();
    assert!(zeros > 100, "{zeros}");
    assert_values(&curve, 1e-15, &points.map(|[x, y]| (x, y)));
}

#[test]
fn points_that_make_no_curve_are_refused() {
    let through = |points: &[[f64; 2]]| Curve::through(points, CurveKind::Active).unwrap_err();
    assert_eq!(through(&[]), CurveError::TooFewPoints { count: 0 });
    assert_eq!(through(&[[1.0, 1.0]]), CurveError::TooFewPoints { count: 1 });
    assert_eq!(
        through(&[[0.0, 1.0], [2.0, 1.0], [2.0, 3.0]]),
        CurveError::NotIncreasing { index: 2, before: 2.0, after: 2.0 }
    );
    assert_eq!(through(&[[0.0, 1.0], [-2.0, 1.0]]), CurveError::NotIncreasing { index: 1, before: 0.0, after: -2.0 });
    assert_eq!(
        through(&[[0.0, 1.0], [1.0, f64::INFINITY]]),
        CurveError::NotFinite { index: 1, x: 1.0, y: f64::INFINITY }
    );
    assert!(matches!(through(&[[f64::NAN, 1.0], [1.0, 1.0]]), CurveError::NotFinite { index: 0, .. }));
    assert_eq!(through(&[[0.0, 1.0], [1.0, -0.1]]), CurveError::NegativeForce { index: 1, x: 1.0, y: -0.1 });
    let text = CurveError::NotIncreasing { index: 2, before: 2.0, after: 1.5 }.to_string();
    assert!(text.contains("point 2") && text.contains("1.5") && text.contains("sort"), "{text}");
    assert!(Curve::spline_through(&[[0.0, 1.0]], CurveKind::Tendon).is_err());
}

#[test]
fn curves_are_values_with_names() {
    fn shareable<T: Send + Sync + Clone>(_: &T) {}
    let curve = Curve::through(&[[0.0, 0.0], [1.0, 1.0]], CurveKind::Tendon).unwrap().named("measured");
    shareable(&curve);
    assert_eq!(curve.name(), "measured");
    assert_eq!(curve.range(), [0.0, 1.0]);
    assert_eq!(curve, curve.clone());
    assert_eq!(Curve::active_delp(), Curve::active_delp());
    assert_ne!(Curve::active_delp(), Curve::active_teran());
    assert_eq!(Curve::active_teran().named("mine").name(), "Teran 2005, variant A");
}
