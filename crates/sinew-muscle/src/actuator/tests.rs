//! The actuator against tables, closed forms and the classic experiments of physiology.

use super::*;
use crate::activation::{ActivationDynamics, PulseTrain};

fn actuator(change: impl FnOnce(&mut ActuatorParams)) -> Actuator {
    let mut params = ActuatorParams::default();
    change(&mut params);
    Actuator::new(params).unwrap()
}

fn with_tendon(slack: f64) -> Actuator {
    actuator(|params| params.tendon_slack_length = slack)
}

/// Path on which the fiber has a given length at full activation.
fn path_for(muscle: &Actuator, fiber_length: f64) -> f64 {
    let s = muscle.share_of(fiber_length);
    let force = muscle.static_pull(s, 1.0).0;
    // The straight part of the tendon's curve.
    s + muscle.params().tendon_slack_length * (1.0 + (force + 0.2375) / 37.5)
}

/// The table of CHE-13.
#[test]
fn isometric_forces_over_the_path_are_tabulated_ones() {
    let table = [
        (0.1, [0.5166, 0.9260, 0.9999, 0.9656, 0.9750, 1.4243, 2.5133]),
        (8.0, [0.1769, 0.6053, 0.9005, 0.9843, 0.9836, 0.9494, 1.1359]),
        (16.0, [0.0851, 0.3360, 0.6342, 0.8692, 0.9615, 0.9989, 0.9437]),
    ];
    for (slack, forces) in table {
        let muscle = with_tendon(slack);
        for (i, expected) in forces.into_iter().enumerate() {
            let path = slack + 0.6 + 0.2 * i as f64;
            let force = muscle.equilibrium(path, 1.0).unwrap().tendon_force;
            println!("lsT = {slack}, lMT - lsT = {:.1}: {force:.5} (table {expected})", path - slack);
            assert!((force - expected).abs() < 2e-3, "{slack} {path}: {force} {expected}");
        }
    }
}

/// Fiber and tendon forces agree to rounding, and both kinds of pennation satisfy the geometry of CHE-08.
#[test]
fn equilibrium_balances_and_fits_the_path() {
    for pennation in [Pennation::Constant, Pennation::ConstantThickness] {
        for angle in [0.0, 0.2, 0.6] {
            for slack in [0.05, 0.5, 3.0] {
                let muscle = actuator(|params| {
                    params.pennation = pennation;
                    params.pennation_angle = angle;
                    params.optimal_fiber_length = 0.1;
                    params.tendon_slack_length = slack;
                    params.max_force = 500.0;
                });
                for (i, a) in (0..60).zip([0.0, 0.3, 1.0].into_iter().cycle()) {
                    let path = slack + 0.005 * f64::from(i + 1);
                    let found = muscle.equilibrium(path, a).unwrap();
                    let tendon = 500.0 * Curve::tendon_zajac().value(found.tendon_strain);
                    // Force that corresponds to a rounding error of the path.
                    let rounding = 500.0 * 37.5 * 1e-15 * path / slack + 1e-9;
                    assert!((tendon - found.tendon_force).abs() < rounding, "{tendon} {found:?}");
                    assert!((found.fiber_force * found.cos_pennation - found.tendon_force).abs() < 1e-12);
                    let along = found.fiber_length * 0.1 * found.cos_pennation;
                    assert!((along + slack * (1.0 + found.tendon_strain) - path).abs() < 1e-12);
                    if pennation == Pennation::ConstantThickness {
                        let sine = (1.0 - found.cos_pennation.powi(2)).sqrt();
                        assert!((found.fiber_length * sine - angle.sin()).abs() < 1e-7);
                    }
                }
            }
        }
    }
}

/// Fact 17: at one fiber length the isometric force scales with cos α, and angle zero equals no pennation of either
/// kind.
#[test]
fn pennation_scales_force_by_its_cosine() {
    let rigid = |angle: f64, pennation: Pennation| {
        actuator(|params| {
            params.tendon_slack_length = 0.0;
            params.pennation_angle = angle;
            params.pennation = pennation;
        })
    };
    for l in [0.7f64, 0.95, 1.2, 1.4] {
        let straight = rigid(0.0, Pennation::Constant).equilibrium(l, 0.8).unwrap();
        assert_eq!(straight, rigid(0.0, Pennation::ConstantThickness).equilibrium(l, 0.8).unwrap());
        for angle in [0.1f64, 0.35, 1.0] {
            let pennate = rigid(angle, Pennation::Constant).equilibrium(l * angle.cos(), 0.8).unwrap();
            assert!((pennate.fiber_length - l).abs() < 1e-14);
            assert!((pennate.tendon_force - angle.cos() * straight.tendon_force).abs() < 1e-13);
        }
    }
    let [constant, thick] = [Pennation::Constant, Pennation::ConstantThickness].map(|pennation| {
        let muscle = actuator(|params| {
            params.pennation = pennation;
            params.pennation_angle = 0.0;
        });
        muscle.equilibrium(2.1, 0.5).unwrap()
    });
    assert_eq!(constant, thick);
}

/// With a tendon softer than the descending limb three lengths balance; the shortest is stable, is found, and is
/// continuous on a path that grows from slack until it vanishes.
#[test]
fn the_stable_equilibrium_on_the_short_side_is_found() {
    // A passive force that begins late leaves the descending limb without support.
    let late = Curve::through(&[[1.3, 0.0], [1.6, 0.2], [1.9, 1.0]], CurveKind::Passive).unwrap();
    let muscle = actuator(|params| (params.tendon_slack_length, params.fiber.passive) = (40.0, late));
    let mut roots_seen = 0;
    let mut last = 0.0;
    for i in 0..350 {
        let path = 40.4 + 0.01 * f64::from(i);
        let balance = |l: f64| muscle.tendon_pull(path, l).0 - muscle.static_pull(l, 1.0).0;
        let grid = |k: usize| 0.3 + 5e-4 * k as f64;
        let roots: Vec<f64> =
            (0..5000).filter(|&k| balance(grid(k)) > 0.0 && balance(grid(k + 1)) <= 0.0).map(grid).collect();
        roots_seen = roots_seen.max(roots.len());
        let found = muscle.equilibrium(path, 1.0).unwrap().fiber_length;
        if let Some(first) = roots.first() {
            assert!((found - first).abs() < 6e-4, "{path}: {found} {roots:?}");
            assert!(muscle.tendon_pull(path, found).1 <= muscle.static_pull(found, 1.0).1 + 1e-6, "unstable at {path}");
        }
        assert!(found >= last);
        last = found;
    }
    assert_eq!(roots_seen, 2, "the case must have several stable lengths");
}

/// A fiber too short to pull is slack: forces and strain are zero.
#[test]
fn a_short_path_gives_a_loose_muscle() {
    let found = with_tendon(1.0).equilibrium(1.3, 1.0).unwrap();
    assert!((found.fiber_length - 0.3).abs() < 1e-12 && found.tendon_force == 0.0 && found.tendon_strain.abs() < 1e-12);
    let relaxed = with_tendon(1.0).equilibrium(1.9, 0.0).unwrap();
    assert!((relaxed.fiber_length - 0.9).abs() < 1e-12 && relaxed.tendon_force == 0.0);
}

/// Closed form for a fiber at its optimum: F^T sets f_v.
#[test]
fn fiber_velocity_inverts_the_force_balance() {
    let muscle = with_tendon(2.0);
    let curves = FiberCurves::chen();
    let velocity = curves.velocity.clone().unwrap();
    for v in [-0.95, -0.5, -0.1, 0.0, 0.2, 1.0] {
        let force = 0.7 * curves.active.value(1.1) * velocity.value(v) + curves.passive.value(1.1);
        let strain = if force > 0.2375 { (force + 0.2375) / 37.5 } else { (force / (37.5f64 * 37.5 / 0.95)).sqrt() };
        let found = muscle.fiber_velocity(1.1, 1.1 + 2.0 * (1.0 + strain), 0.7).unwrap();
        assert!((found - v).abs() < 1e-10, "{found} {v}");
    }
    // A slack tendon: the maximum shortening speed, where the curve reaches zero.
    let fastest = muscle.fiber_velocity(0.9, 2.8, 1.0).unwrap();
    assert!((fastest + 0.97861).abs() < 1e-5, "{fastest}");
    assert!(matches!(muscle.fiber_velocity(1.1, 3.4, 1.0), Err(ActuatorError::Unbalanced { .. })));
    assert!(matches!(muscle.fiber_velocity(1.2, 3.0, 0.0), Err(ActuatorError::Unbalanced { .. })));
    let damped = actuator(|params| (params.tendon_slack_length, params.damping) = (2.0, 0.1));
    let yielding = damped.fiber_velocity(1.1, 3.4, 1.0).unwrap();
    assert!(yielding > 1.0 && yielding.is_finite());
    assert!(damped.fiber_velocity(1.2, 3.0, 0.0).unwrap() < 0.0);
}

/// Fact 18: after a small release the force recovers with τ = f'(0) l_sT / (37.5 ṽ_m l_0M) = 0.0214 (l_sT / l_0M) /
/// ṽ_m. The release drops the force by 0.4 %, so f_v is straight to 1 %, and at the top of the active curve nothing
/// else changes.
#[test]
fn force_redevelops_with_the_time_constant_of_tendon_and_velocity() {
    for (slack, speed) in [(2.0, 2.0), (8.0, 10.0), (0.5, 4.0)] {
        let muscle = actuator(|params| (params.tendon_slack_length, params.max_speed) = (slack, speed));
        let path = path_for(&muscle, 1.007);
        let mut state = muscle.rest_state(path, 1.0).unwrap();
        let settled = state.tendon_force;
        let release = 1e-4 * slack;
        state.path_length -= release;
        let drop = 37.5 * release / slack;
        let expected = 0.0214 * slack / speed;
        let dt = 0.001 * expected;
        // The first step shows the drop, minus the recovery during it.
        let mut time = 0.0;
        while settled - state.tendon_force > drop / std::f64::consts::E || time == 0.0 {
            muscle.advance(&mut state, Drive::Path(path - release), 1.0, dt).unwrap();
            time += dt;
        }
        println!("lsT = {slack}, vm = {speed}: tau = {time:.6} s, estimate {expected:.6} s");
        assert!((time / expected - 1.0).abs() < 0.02, "{time} {expected}");
    }
}

/// Quick release (X-13 in one dimension): force drops at once by the tendon's recoil, rises without oscillation, and
/// ends at the isometric force of the new path.
#[test]
fn quick_release_drops_and_redevelops_monotonically() {
    let muscle = actuator(|params| (params.tendon_slack_length, params.max_speed) = (2.0, 2.0));
    let path = path_for(&muscle, 1.0);
    let mut state = muscle.rest_state(path, 1.0).unwrap();
    state.path_length -= 0.2167;
    let states = muscle.simulate(state, 1e-3, 2000, |_| Drive::Path(path - 0.2167), |_| 1.0).unwrap();
    let isometric = muscle.equilibrium(path - 0.2167, 1.0).unwrap();
    let end = states.last().unwrap();
    assert!(states[1].tendon_force < 0.1 * end.tendon_force);
    assert!(states[2..].windows(2).all(|pair| pair[1].tendon_force >= pair[0].tendon_force - 1e-9));
    assert!((end.tendon_force - isometric.tendon_force).abs() < 1e-4, "{end:?} {isometric:?}");
    // As long as the tendon is slack, the fiber shortens at its maximum speed.
    assert!((states[10].fiber_velocity + 0.97861).abs() < 1e-4, "{:?}", states[10]);
}

/// One long call and many short ones agree: the error determines the steps, not the caller.
#[test]
fn results_do_not_depend_on_the_callers_step() {
    let muscle = actuator(|params| (params.tendon_slack_length, params.max_speed) = (2.0, 4.0));
    let path = path_for(&muscle, 1.2);
    // A release, then shortening and a burst of activation, all within the time constant of the redevelopment.
    let run = |steps: usize| {
        let mut state = muscle.rest_state(path, 0.2).unwrap();
        state.path_length -= 0.02;
        let drive = |t: f64| Drive::Path(path - 0.02 - t);
        let activation = |t: f64| 0.2 + 40.0 * t;
        *muscle.simulate(state, 0.01 / steps as f64, steps, drive, activation).unwrap().last().unwrap()
    };
    let fine = run(5000);
    for steps in [1, 2, 7, 60] {
        let difference = (run(steps).tendon_force - fine.tendon_force).abs();
        println!("{steps} steps: {difference:e}");
        assert!(difference < 1e-4, "{steps}: {difference}");
    }
}

/// Wilkie's isotonic release (CHE-67): released onto a load, the tendon recoils at once, then the fiber shortens at the
/// speed whose f_v carries the load.
#[test]
fn isotonic_release_recoils_then_shortens_at_the_speed_of_the_load() {
    let muscle = actuator(|params| (params.tendon_slack_length, params.max_speed) = (1.0, 5.0));
    let path = path_for(&muscle, 1.007);
    let start = muscle.rest_state(path, 1.0).unwrap();
    let velocity = Curve::velocity_chen();
    for load in [0.3, 0.6, 0.9] {
        let states = muscle.simulate(start, 1e-4, 20, |_| Drive::Load(load), |_| 1.0).unwrap();
        let recoil = (start.tendon_force - load) / 37.5;
        assert!((path - states[1].path_length - recoil).abs() < 6e-4, "{load}");
        let v = states[10].fiber_velocity;
        let carried = velocity.value(v) * Curve::active_delp().value(states[10].fiber_length);
        assert!((carried - load).abs() < 2e-3, "{load}: {v} {carried}");
        assert!(states.windows(2).skip(1).all(|pair| pair[1].path_length < pair[0].path_length));
    }
    let held = muscle.simulate(start, 1e-2, 20, |_| Drive::Load(start.tendon_force), |_| 1.0).unwrap();
    assert!((held[20].path_length - path).abs() < 1e-6);
}

/// Gasser and Hill (CHE-67): the work of shortening falls with its speed.
#[test]
fn work_of_shortening_falls_with_speed() {
    let muscle = with_tendon(0.2);
    let path = path_for(&muscle, 1.2);
    let work = |speed: f64| {
        let start = muscle.rest_state(path, 1.0).unwrap();
        let dt = 0.4 / speed / 400.0;
        let states = muscle.simulate(start, dt, 400, |t| Drive::Path(path - speed * t), |_| 1.0).unwrap();
        states.windows(2).map(|pair| 0.5 * (pair[0].tendon_force + pair[1].tendon_force) * 1e-3).sum::<f64>()
    };
    let works = [0.01, 0.5, 1.0, 2.0, 4.0, 8.0].map(work);
    assert!(works.windows(2).all(|pair| pair[1] < pair[0]), "{works:?}");
    assert!(works[5] < 0.2 * works[0], "{works:?}");
}

/// Levin and Wyman (CHE-67): stretched and released at a short length, without passive force, the muscle traces a loop
/// of force over path, wider at higher speed. On a rigid tendon force jumps with the velocity, on an elastic one it
/// bends.
#[test]
fn loops_of_stretch_and_release_widen_with_speed() {
    let loop_of = |slack: f64, speed: f64| {
        let muscle = with_tendon(slack);
        let path = if slack == 0.0 { 0.75 } else { path_for(&muscle, 0.75) };
        let start = muscle.rest_state(path, 1.0).unwrap();
        let (count, span) = (200, 0.1);
        let dt = span / speed / count as f64;
        let there_and_back = |t: f64| Drive::Path(path + span - (speed * t - span).abs());
        let states = muscle.simulate(start, dt, 2 * count, there_and_back, |_| 1.0).unwrap();
        let area: f64 = states
            .windows(2)
            .map(|p| 0.5 * (p[0].tendon_force + p[1].tendon_force) * (p[1].path_length - p[0].path_length))
            .sum();
        // Progress of the force toward its value at half the stretch, after a hundredth of the motion.
        let jump = (states[count / 100].tendon_force - start.tendon_force)
            / (states[count / 2].tendon_force - start.tendon_force);
        (area, jump)
    };
    let areas = [0.1, 0.5, 2.0, 5.0].map(|speed| loop_of(1.0, speed).0);
    assert!(areas.windows(2).all(|pair| pair[1] > pair[0]) && areas[0] > 0.0, "{areas:?}");
    assert!(loop_of(0.0, 2.0).1 > 0.4 && loop_of(1.0, 2.0).1 < 0.25, "{} {}", loop_of(0.0, 2.0).1, loop_of(1.0, 2.0).1);
}

/// Without a force–velocity curve and without damping nothing delays a fiber: every step ends at rest.
#[test]
fn without_velocity_every_step_ends_in_equilibrium() {
    let muscle = actuator(|params| params.fiber = FiberCurves::default());
    let mut state = muscle.rest_state(1.9, 0.1).unwrap();
    for (path, a) in [(1.9, 0.5), (2.0, 1.0), (2.1, 0.3), (1.8, 0.9)] {
        muscle.advance(&mut state, Drive::Path(path), a, 0.01).unwrap();
        let rest = muscle.equilibrium(path, a).unwrap();
        assert!((state.tendon_force - rest.tendon_force).abs() < 1e-9, "{state:?} {rest:?}");
    }
    // Only passive force holds a load beyond the active force.
    muscle.advance(&mut state, Drive::Load(2.0), 1.0, 0.01).unwrap();
    let passive = Curve::passive_teran().value(state.fiber_length) + Curve::active_teran().value(state.fiber_length);
    assert!((passive - 2.0).abs() < 1e-9, "{state:?}");
}

/// A single pulse gives a small late twitch; a fast train fuses near the isometric force.
#[test]
fn twitches_fuse_to_a_tetanus() {
    let muscle = actuator(|params| (params.tendon_slack_length, params.max_speed) = (1.5, 10.0));
    let path = path_for(&muscle, 1.0);
    let dynamics = ActivationDynamics::default();
    let forces = |pulses: PulseTrain| -> Vec<f64> {
        let start = muscle.rest_state(path, 0.0).unwrap();
        let activation = |t: f64| dynamics.advance_through(&pulses, 0.0, 0.0, t);
        let states = muscle.simulate(start, 1e-3, 400, |_| Drive::Path(path), activation).unwrap();
        states.iter().map(|state| state.tendon_force).collect()
    };
    let peak = |forces: &[f64]| {
        forces.iter().copied().enumerate().fold((0, 0.0), |best, (i, f)| if f > best.1 { (i, f) } else { best })
    };
    let twitch = forces(PulseTrain::twitch(0.005));
    let (when, height) = peak(&twitch);
    // Force lags behind activation, which peaks after 5 ms.
    assert!(when > 5 && height > 0.05 && height < 0.5, "{when} {height}");
    assert!((twitch[400] - twitch[0]).abs() < 1e-3 * height);
    let tetanus = forces(PulseTrain::tetanus(0.005, 120.0, 48));
    let (lowest, highest) = tetanus[200..].iter().fold((f64::MAX, 0.0f64), |(low, high), &f| (low.min(f), high.max(f)));
    assert!(lowest > 0.8 && highest - lowest < 0.05, "{lowest} {highest}");
}

/// A rigid tendon passes the path to the fiber, and the force follows its velocity.
#[test]
fn rigid_tendons_give_the_fiber_the_path() {
    let muscle = with_tendon(0.0);
    let mut state = muscle.rest_state(1.0, 1.0).unwrap();
    assert!((state.tendon_force - Curve::active_delp().value(1.0)).abs() < 1e-15);
    muscle.advance(&mut state, Drive::Path(0.99), 1.0, 0.01).unwrap();
    let expected = Curve::active_delp().value(0.99) * Curve::velocity_chen().value(-0.1);
    assert!((state.fiber_length - 0.99).abs() < 1e-15 && (state.tendon_force - expected).abs() < 1e-9, "{state:?}");
    muscle.advance(&mut state, Drive::Load(0.5), 1.0, 0.001).unwrap();
    assert!((state.path_length - state.fiber_length).abs() < 1e-15 && state.fiber_velocity < -0.2);
}

/// Stiff and loose, fast and slow, at rest and in motion: states stay finite, and a state at rest stays at rest.
#[test]
fn any_step_is_stable() {
    for slack in [1e-3, 0.1, 10.0] {
        for damping in [0.0, 0.1] {
            let muscle = actuator(|params| {
                (params.tendon_slack_length, params.damping) = (slack, damping);
                (params.pennation, params.pennation_angle) = (Pennation::ConstantThickness, 0.4);
            });
            let mut state = muscle.rest_state(slack + 1.0, 0.5).unwrap();
            let rest = state;
            muscle.advance(&mut state, Drive::Path(slack + 1.0), 0.5, 10.0).unwrap();
            assert!((state.tendon_force - rest.tendon_force).abs() < 1e-6, "{state:?} {rest:?}");
            for i in 0..150u32 {
                let path = slack + 0.5 + 0.9 * f64::from(i * 37 % 100) / 100.0;
                let a = f64::from(i * 61 % 101) / 100.0;
                muscle.advance(&mut state, Drive::Path(path), a, [1e-5, 1e-3, 0.1][i as usize % 3]).unwrap();
                assert!(
                    state.fiber_length.is_finite() && state.fiber_length > 0.0 && state.tendon_force >= 0.0,
                    "{state:?}"
                );
            }
        }
    }
}

#[test]
fn impossible_parameters_are_refused() {
    let refuse = |change: fn(&mut ActuatorParams)| {
        let mut params = ActuatorParams::default();
        change(&mut params);
        Actuator::new(params).unwrap_err()
    };
    let not_positive = |name, value| ActuatorError::NotPositive { name, value };
    assert_eq!(refuse(|p| p.optimal_fiber_length = 0.0), not_positive("optimal_fiber_length", 0.0));
    assert_eq!(refuse(|p| p.max_force = -3.0), not_positive("max_force", -3.0));
    assert_eq!(refuse(|p| p.max_speed = f64::INFINITY), not_positive("max_speed", f64::INFINITY));
    assert!(matches!(refuse(|p| p.max_force = f64::NAN), ActuatorError::NotPositive { name: "max_force", .. }));
    assert_eq!(
        refuse(|p| p.tendon_slack_length = -0.1),
        ActuatorError::Negative { name: "tendon_slack_length", value: -0.1 }
    );
    assert_eq!(refuse(|p| p.damping = -1.0), ActuatorError::Negative { name: "damping", value: -1.0 });
    for angle in [-0.1, std::f64::consts::FRAC_PI_2, 2.0, f64::NAN] {
        let params = ActuatorParams { pennation_angle: angle, ..Default::default() };
        assert!(matches!(Actuator::new(params), Err(ActuatorError::Pennation { .. })), "{angle}");
    }
    let wrong = ActuatorError::WrongCurve { expected: CurveKind::Tendon, found: CurveKind::Passive };
    assert_eq!(refuse(|p| p.tendon = Curve::passive_chen()), wrong);
}

#[test]
fn impossible_states_are_refused_and_leave_the_state_alone() {
    let muscle = with_tendon(1.0);
    assert_eq!(muscle.equilibrium(0.9, 1.0), Err(ActuatorError::PathTooShort { path: 0.9, slack: 1.0 }));
    assert!(matches!(muscle.equilibrium(f64::NAN, 1.0), Err(ActuatorError::PathTooShort { .. })));
    assert_eq!(muscle.equilibrium(2.0, 1.5), Err(ActuatorError::Activation { activation: 1.5 }));
    assert!(muscle.equilibrium(2.0, f64::NAN).is_err());
    let text = ActuatorError::PathTooShort { path: 0.9, slack: 1.0 }.to_string();
    assert!(text.contains("no length") && text.contains("0.9 m") && text.contains("hint:"), "{text}");
    let mut state = muscle.rest_state(2.0, 1.0).unwrap();
    let before = state;
    assert!(muscle.advance(&mut state, Drive::Path(0.5), 1.0, 0.1).is_err());
    assert!(muscle.advance(&mut state, Drive::Path(2.0), 1.0, 0.0).is_err());
    assert!(muscle.advance(&mut state, Drive::Path(2.0), -0.1, 0.1).is_err());
    assert!(muscle.advance(&mut state, Drive::Load(-1.0), 1.0, 0.1).is_err());
    assert!(matches!(muscle.fiber_velocity(-1.0, 2.0, 1.0), Err(ActuatorError::Negative { .. })));
    assert_eq!(state, before);
    // A constant active force at zero length, stronger than its tendon there.
    let level = Curve::through(&[[0.0, 1.0], [1.0, 1.0]], CurveKind::Active).unwrap();
    let collapsing = actuator(|params| (params.fiber.active, params.tendon_slack_length) = (level, 100.0));
    assert!(matches!(collapsing.equilibrium(100.5, 1.0), Err(ActuatorError::Collapse { .. })));
    // A tendon whose curve levels off carries no more.
    let weak = Curve::through(&[[0.0, 0.0], [0.1, 0.2], [0.2, 0.2]], CurveKind::Tendon).unwrap();
    let weak = actuator(|params| params.tendon = weak);
    let mut state = weak.rest_state(2.0, 0.1).unwrap();
    assert!(matches!(weak.advance(&mut state, Drive::Load(0.5), 0.1, 0.1), Err(ActuatorError::TendonTooWeak { .. })));
}
