//! Force generators and tendons between points of flesh: forces, stored energy and work \[Chen92\].

use sinew_fem::force::strand::StrandScaling;
use sinew_fem::force::{AttachTarget, FleshPlace, Slack, Strand, StrandParams, TendonParams, TendonStrand};
use sinew_fem::material::Law;
use sinew_fem::model::RigidParams;
use sinew_fem::solver::NewmarkParams;
use sinew_fem::{
    Contacts, ExplicitSolver, Force as _, Model, ModelBuilder, ModelError, Regime, Solver as _, SolverParams,
    StepContext,
};
use sinew_geometry::shape::{Pose, Sphere};
use sinew_math::Vec3;
use sinew_muscle::{Curve, FiberCurves};

use crate::forces::check;
use crate::models::{Noise, Run, at, body, hexes, nodes_where, spec, tets};

/// Isometric force of the frog's gastrocnemius \[N\].
const FROG: f64 = 2.77;

pub fn strand(body: usize, columns: Vec<Vec<FleshPlace>>) -> StrandParams {
    StrandParams {
        body,
        name: "belly".into(),
        columns,
        force: FROG,
        passive_force: FROG,
        scaling: StrandScaling::Physical,
        factors: Vec::new(),
        curves: FiberCurves { velocity: None, ..FiberCurves::chen() },
        max_velocity: 10.0,
    }
}

pub fn tendon(body: usize, name: &str, ends: Vec<(FleshPlace, Vec3)>) -> TendonParams {
    TendonParams {
        body,
        name: name.into(),
        ends,
        target: AttachTarget::World,
        force: FROG,
        curve: Curve::tendon_zajac(),
        slack: Slack::Factor(1.0),
    }
}

const LENGTH: f64 = 0.06;

/// A bar of eight cubes along x with generators on its long edges: four columns of eight, as in the frog muscle
/// (CHE-49). `more` receives the columns.
fn bar(change: impl Fn(&mut StrandParams), more: impl Fn(&mut ModelBuilder, &[Vec<FleshPlace>])) -> Model {
    let mesh = hexes([LENGTH, LENGTH / 8.0, LENGTH / 8.0], [8, 1, 1]);
    let mut columns = Vec::new();
    for (y, z) in [(false, false), (true, false), (true, true), (false, true)] {
        let is_on = |x: Vec3| (x.y > 1e-3) == y && (x.z > 1e-3) == z;
        let mut nodes = nodes_where(&mesh, is_on);
        nodes.sort_by(|&a, &b| mesh.positions()[a as usize].x.total_cmp(&mesh.positions()[b as usize].x));
        columns.push(nodes.into_iter().map(|node| FleshPlace::Node { body: 0, node }).collect::<Vec<_>>());
    }
    let mut builder = ModelBuilder::new();
    let bar = builder.add_body(body("bar", mesh, spec(Law::StableNeoHookean)));
    let mut params = strand(bar, columns.clone());
    change(&mut params);
    builder.force(params);
    more(&mut builder, &columns);
    builder.build().unwrap()
}

/// Tendons of 1 cm that extend both ends of the bar.
fn hang(builder: &mut ModelBuilder, columns: &[Vec<FleshPlace>]) {
    let edge = LENGTH / 8.0;
    let places = [(0.0, 0.0), (edge, 0.0), (edge, edge), (0.0, edge)];
    for (name, x, anchor) in [("left", 0usize, -0.01), ("right", 8, LENGTH + 0.01)] {
        let ends = columns.iter().zip(places).map(|(column, (y, z))| (column[x], Vec3::new(anchor, y, z)));
        builder.force(tendon(0, name, ends.collect()));
    }
}

/// A force generator on a random set of embedded positions, tendons to the world, a rigid body and other flesh, on
/// bodies of 1 m.
fn tangle(scaling: StrandScaling, curves: FiberCurves) -> Model {
    let mesh = tets([1.0, 1.0, 1.0], [2, 1, 1]);
    let mut noise = Noise(11);
    let mut builder = ModelBuilder::new();
    let first = builder.add_body(body("first", mesh.clone(), spec(Law::NeoHookean)));
    let second = builder.add_body(body("second", at(&mesh, Vec3::new(1.5, 0.2, 0.1)), spec(Law::NeoHookean)));
    let mut inside = |body: usize, from: Vec3| {
        let place = from + (noise.vector() + Vec3::splat(1.0)) * 0.45 + Vec3::splat(0.05);
        FleshPlace::Place { body, place }
    };
    let columns = (0..3)
        .map(|k| {
            let mut column: Vec<FleshPlace> = (0..3).map(|_| inside(first, Vec3::zero())).collect();
            column.push(FleshPlace::Node { body: first, node: k });
            // From one body to the other.
            column.push(inside(second, Vec3::new(1.5, 0.2, 0.1)));
            column
        })
        .collect();
    let factors = (0..12).map(|k| 0.5 + 0.1 * f64::from(k)).collect();
    builder.force(StrandParams { scaling, curves, factors, max_velocity: 2.0, ..strand(first, columns) });
    let ball = builder.add_rigid(RigidParams {
        name: "ball".into(),
        shape: Sphere::new(0.3).unwrap().into(),
        mass: 2.0,
        pose: Pose::from_translation(Vec3::new(-1.0, 0.3, 0.2)),
        velocity: Vec3::zero(),
        angular_velocity: Vec3::zero(),
        driven_about: None,
    });
    let start = |place| (FleshPlace::Place { body: first, place: Vec3::new(0.2, 0.3, 0.4) }, place);
    let slack = Slack::Factor(0.9);
    for (name, target, place) in [
        ("world", AttachTarget::World, Vec3::new(0.3, -1.0, 0.2)),
        ("ball", AttachTarget::Rigid(ball), Vec3::new(-0.8, 0.3, 0.2)),
        ("flesh", AttachTarget::Body(second), Vec3::new(2.0, 0.5, 0.5)),
    ] {
        let ends = vec![start(place), (FleshPlace::Node { body: first, node: 3 }, place)];
        builder.force(TendonParams { target, slack, ..tendon(first, name, ends) });
    }
    // Too long to pull.
    let ends = vec![start(Vec3::new(0.3, -1.0, 0.2))];
    builder.force(TendonParams { slack: Slack::Length(3.0), ..tendon(first, "slack", ends) });
    builder.build().unwrap()
}

/// The forces of a model at positions near its start, one step of length `dt` away.
fn for_tangles(dt: f64, mut visit: impl FnMut(&Model, &[Vec3], &StepContext<'_>)) {
    let without = FiberCurves { velocity: None, ..FiberCurves::chen() };
    for curves in [FiberCurves::chen(), without, FiberCurves::default()] {
        for scaling in [StrandScaling::Physical, StrandScaling::Author] {
            let model = tangle(scaling, curves.clone());
            let mut control = model.initial_control();
            control.set_by_name("first.activation.belly", 0.7).unwrap();
            control.set_by_name("first.tendon.world.y", -0.02).unwrap();
            let (mut noise, contacts) = (Noise(5), Contacts::default());
            let mut state = model.initial_state();
            for x in state.positions.iter_mut() {
                *x += noise.vector() * 0.03;
            }
            let ctx = StepContext { time: dt, dt, previous: &state, control: &control, contacts: &contacts };
            let x: Vec<Vec3> = state.positions.iter().map(|x| *x + noise.vector() * 0.01).collect();
            visit(&model, &x, &ctx);
        }
    }
}

/// The checks of all forces: gradient of the potential, tangent of the gradient, symmetric and definite.
#[test]
fn strands_and_tendons_are_consistent() {
    for_tangles(0.1, |model, x, ctx| {
        for force in model.forces().skip(1) {
            let matrix = check(force, x, ctx);
            let is_slack = force.name() == "first.tendon.slack";
            assert_eq!(matrix.iter().all(|value| *value == 0.0), is_slack, "{}", force.name());
        }
    });
}

/// Forces within flesh have no resultant and no couple in any configuration (CHE, section 7, fact 13).
#[test]
fn generators_exert_no_force_and_no_torque_on_the_whole() {
    for_tangles(0.1, |model, x, ctx| {
        let internal = model.forces_of::<Strand>().map(|f| f as &dyn sinew_fem::Force);
        let internal = internal.chain(model.forces_of::<TendonStrand>().filter(|f| f.motion.is_none()).map(|f| f as _));
        for force in internal {
            let mut gradient = vec![Vec3::zero(); x.len()];
            force.add_gradient(x, ctx, &mut gradient);
            let size: f64 = gradient.iter().map(|g| g.norm()).sum();
            let total: Vec3 = gradient.iter().copied().sum();
            let torque: Vec3 = gradient.iter().zip(x).map(|(&g, &x)| x.cross(g)).sum();
            assert!(size > 0.1, "{} pulls", force.name());
            assert!(total.norm() < 1e-13 * size && torque.norm() < 1e-13 * size, "{}: {total:?}", force.name());
        }
    });
}

/// Straight columns of equal stretch: only their ends feel a force (fact 14), the author's 17316 dyn or the measured
/// 2.77e5 dyn (fact 15).
#[test]
fn ends_of_straight_columns_feel_the_force_of_the_muscle() {
    for (scaling, expected) in [(StrandScaling::Author, 0.17316), (StrandScaling::Physical, FROG)] {
        let model = bar(|params| params.scaling = scaling, |_, _| {});
        let (state, mut control, contacts) = (model.initial_state(), model.initial_control(), Contacts::default());
        control.set_by_name("bar.activation.belly", 1.0).unwrap();
        for stretch in [1.0, 0.8, 1.3] {
            let x: Vec<Vec3> = state.positions.iter().map(|x| Vec3::new(stretch * x.x, x.y, x.z)).collect();
            let ctx = StepContext { time: 1.0, dt: 1.0, previous: &state, control: &control, contacts: &contacts };
            let mut gradient = vec![Vec3::zero(); x.len()];
            model.forces_of::<Strand>().next().unwrap().add_gradient(&x, &ctx, &mut gradient);
            let mut ends = [0.0; 2];
            for (g, place) in gradient.iter().zip(&state.positions) {
                match place.x {
                    0.0 => ends[0] -= g.x,
                    x if x > LENGTH - 1e-9 => ends[1] += g.x,
                    _ => assert!(g.norm() < 1e-12, "{g:?} at {place:?}"),
                }
            }
            assert!((ends[0] - ends[1]).abs() < 1e-12);
            if stretch == 1.0 {
                assert!((ends[0] / expected - 1.0).abs() < 1e-3, "{scaling:?}: {} N", ends[0]);
            }
        }
    }
}

/// CHE-56: every generator pulls with its own factor, column after column. Nodes of straight columns of equal stretch
/// feel the difference of the generators on either side.
#[test]
fn factors_scale_the_forces_of_their_own_generators() {
    let (activation, stretch, curves) = (0.6, 1.1, FiberCurves::chen());
    let factor = |column: usize, segment: usize| 0.5 + 0.1 * (8 * column + segment) as f64;
    let factors: Vec<f64> = (0..32).map(|k| factor(k / 8, k % 8)).collect();
    let model = bar(|params| params.factors = factors.clone(), |_, _| {});
    let (state, mut control, contacts) = (model.initial_state(), model.initial_control(), Contacts::default());
    control.set_by_name("bar.activation.belly", activation).unwrap();
    let x: Vec<Vec3> = state.positions.iter().map(|x| Vec3::new(stretch * x.x, x.y, x.z)).collect();
    let ctx = StepContext { time: 1.0, dt: 1.0, previous: &state, control: &control, contacts: &contacts };
    let mut gradient = vec![Vec3::zero(); x.len()];
    model.forces_of::<Strand>().next().unwrap().add_gradient(&x, &ctx, &mut gradient);
    let alone = FROG / 4.0 * (curves.passive.value(stretch) + activation * curves.active.value(stretch));
    for (g, place) in gradient.iter().zip(&state.positions) {
        let column = match (place.y > 1e-3, place.z > 1e-3) {
            (false, false) => 0,
            (true, false) => 1,
            (true, true) => 2,
            (false, true) => 3,
        };
        let slice = (place.x / LENGTH * 8.0).round() as usize;
        let before = if slice > 0 { factor(column, slice - 1) } else { 0.0 };
        let after = if slice < 8 { factor(column, slice) } else { 0.0 };
        let expected = Vec3::new(alone * (before - after), 0.0, 0.0);
        assert!((*g - expected).norm() < 1e-12, "{g:?} instead of {expected:?} at {place:?}");
    }
}

/// CHE-51: the tendons of a group together pull with F₀ₜ times their curve at their strain, as the probe says (CHE-53),
/// and not at all while they are slack.
#[test]
fn tendons_share_the_force_of_their_group() {
    let model = bar(|_| {}, hang);
    let (state, mut control, contacts) = (model.initial_state(), model.initial_control(), Contacts::default());
    let tendons = model.forces_of::<TendonStrand>().nth(1).unwrap();
    for strain in [-0.1, 0.005, 0.02, 0.05] {
        control.set_by_name("bar.tendon.right.x", 0.01 * strain).unwrap();
        let ctx = StepContext { time: 1.0, dt: 1.0, previous: &state, control: &control, contacts: &contacts };
        let mut gradient = vec![Vec3::zero(); state.positions.len()];
        tendons.add_gradient(&state.positions, &ctx, &mut gradient);
        let probed = tendons.total_force(&state.positions, &control);
        let expected = if strain > 0.0 { FROG * Curve::tendon_zajac().value(strain) } else { 0.0 };
        for force in [-gradient.iter().copied().sum::<Vec3>(), probed] {
            // The strain is a difference of lengths of 1 cm, so its rounding error is 1e-15 or less.
            let apart = (force - Vec3::new(expected, 0.0, 0.0)).norm();
            assert!(apart < 1e-11 * FROG, "{force:?} instead of {expected} N at a strain of {strain}");
        }
        assert!((tendons.mean_strain(&state.positions, &control) - strain).abs() < 1e-12);
    }
}

/// A muscle between two tendons at fixed anchors. Both pull with equal force: that of the muscle at its length, minus
/// the resistance of the flesh. A clamp that comes nearer lets the tendons go slack, and shortening reduces the force.
#[test]
fn an_isometric_muscle_pulls_at_both_tendons() {
    let mut run = Run::new(bar(|_| {}, hang), SolverParams::default());
    let force = |run: &Run, k: usize| {
        run.model.forces_of::<TendonStrand>().nth(k).unwrap().total_force(&run.state.positions, &run.control)
    };
    run.step(0.1).unwrap();
    assert!(force(&run, 0).norm() < 1e-9, "nothing pulls at first");
    run.set("bar.activation.belly", 1.0);
    run.step(0.1).unwrap();
    let (left, right) = (force(&run, 0), force(&run, 1));
    assert!((left + right).norm() < 1e-5 * FROG && left.x < 0.0, "{left:?} {right:?}");
    // Tendons stretch by 3.3 % of 1 cm each: the muscle shortens by 1.1 %, and the flesh of 10 kPa · 0.56 cm² takes 6
    // mN.
    assert!((right.x / FROG - 0.995).abs() < 5e-3, "{right:?}");
    let at_length = right.x;
    run.set("bar.tendon.right.x", -0.012);
    run.step(0.1).unwrap();
    let short = force(&run, 1).x;
    assert!(short > 0.5 * at_length && short < 0.96 * at_length, "{short} N at four fifths of the length");
    run.set("bar.activation.belly", 0.0);
    run.step(0.1).unwrap();
    assert!(force(&run, 1).norm() < 1e-6, "slack");
}

/// The work of a muscle equals the energy of the flesh afterwards, in a scheme without dissipation. Activation itself
/// stores nothing.
#[test]
fn work_of_generators_becomes_energy() {
    let soft = |params: &mut StrandParams| {
        params.force = 0.02;
        params.passive_force = 0.02;
    };
    let params =
        SolverParams { regime: Regime::Newmark(NewmarkParams::default()), tolerance: 1e-9, ..SolverParams::default() };
    let mut run = Run::new(bar(soft, |_, _| {}), params);
    let start = run.model.energies(&run.state, &run.control).total();
    for step in 1..=200 {
        run.set("bar.activation.belly", (f64::from(step) / 100.0).min(1.0));
        run.step(5e-4).unwrap();
    }
    let energies = run.model.energies(&run.state, &run.control);
    let (gained, work) = (energies.total() - start, run.state.history.work.muscles);
    assert!(work > 1e-6 && (gained / work - 1.0).abs() < 5e-3, "{gained} J of {work} J");
    run.set("bar.activation.belly", 0.0);
    assert_eq!(run.model.energies(&run.state, &run.control), energies, "activation is not stored");
    assert_eq!(run.state.history.activations, [1.0]);
}

/// Stretched and relaxed, generators are springs: the report lists their energy under `other`.
#[test]
fn passive_generators_store_energy() {
    let model = bar(|_| {}, |_, _| {});
    let mut run = Run::new(model, SolverParams::default());
    run.disturb(|_, x| Vec3::new(1.2 * x.x, x.y, x.z));
    // 32 generators of 7.5 mm, a quarter of 2.77 N each, with ∫ 4 (l − 1)² dl = 4/3 · 0.2³.
    let expected = 32.0 * LENGTH / 8.0 * FROG / 4.0 * 4.0 / 3.0 * 0.008;
    let other = run.model.energies(&run.state, &run.control).other;
    assert!((other / expected - 1.0).abs() < 1e-9, "{other} J instead of {expected} J");
}

/// Force that depends on speed resists motion: a released muscle shortens more slowly with a lower maximum speed.
#[test]
fn speed_limits_shortening() {
    let shortened = |velocity: Option<f64>| {
        let model = bar(
            |params| {
                params.force = 0.5;
                params.curves.velocity = velocity.map(|_| Curve::velocity_chen());
                params.max_velocity = velocity.unwrap_or(1.0);
            },
            |_, _| {},
        );
        let mut run = Run::new(model, SolverParams { regime: Regime::ImplicitEuler, ..SolverParams::default() });
        run.set("bar.activation.belly", 1.0);
        for _ in 0..10 {
            run.step(2e-3).unwrap();
        }
        assert!(run.state.history.work.muscles > 0.0);
        let x = || run.state.positions.iter().map(|x| x.x);
        LENGTH - (x().fold(0.0, f64::max) - x().fold(LENGTH, f64::min))
    };
    let [slow, fast, free] = [Some(1.0), Some(10.0), None].map(shortened);
    // At most 2 % of the length in 20 ms, at one length per second.
    assert!(slow > 0.0 && slow < 0.02 * LENGTH, "{slow} m");
    assert!(slow < fast && fast < free, "{slow} m, {fast} m, {free} m");
}

/// CHE-50: the speed of a generator is its change of length over the step, as a fraction of the maximum shortening
/// speed. Straight columns pull with F₀ₚ f_p(l) + F₀ₐ a f_a(l) f_v(v).
#[test]
fn speed_is_the_change_of_length_over_the_step() {
    let (activation, dt, fastest, curves) = (0.6, 0.01, 8.0, FiberCurves::chen());
    let model = bar(
        |params| {
            params.curves = curves.clone();
            params.max_velocity = fastest;
        },
        |_, _| {},
    );
    let mut control = model.initial_control();
    control.set_by_name("bar.activation.belly", activation).unwrap();
    let (rest, contacts) = (model.initial_state(), Contacts::default());
    let stretched = |l: f64| rest.positions.iter().map(|x| Vec3::new(l * x.x, x.y, x.z)).collect::<Vec<_>>();
    for [from, to] in [[1.03, 0.98], [1.0, 1.0], [0.98, 1.02]] {
        let mut state = rest.clone();
        state.positions = stretched(from);
        let ctx = StepContext { time: dt, dt, previous: &state, control: &control, contacts: &contacts };
        let mut gradient = vec![Vec3::zero(); rest.positions.len()];
        model.forces_of::<Strand>().next().unwrap().add_gradient(&stretched(to), &ctx, &mut gradient);
        let end = gradient.iter().zip(&rest.positions).filter(|(_, x)| x.x > LENGTH - 1e-9);
        let force: f64 = end.map(|(g, _)| g.x).sum();
        let speed = curves.velocity.as_ref().unwrap().value((to - from) / (dt * fastest));
        let expected = FROG * (curves.passive.value(to) + activation * curves.active.value(to) * speed);
        assert!((force / expected - 1.0).abs() < 1e-9, "from {from} to {to}: {force} N instead of {expected} N");
    }
}

#[test]
fn explicit_steps_of_a_muscle_are_stable() {
    let model = bar(
        |params| {
            params.force = 0.5;
            params.curves.velocity = Some(Curve::velocity_chen());
        },
        hang,
    );
    let (mut state, mut control) = (model.initial_state(), model.initial_control());
    control.set_by_name("bar.activation.belly", 1.0).unwrap();
    let mut solver = ExplicitSolver::new(&model).unwrap();
    let mut steps = 0;
    while state.time < 0.02 {
        let dt = 0.9 * solver.stable_step(&model, &state, &control).unwrap();
        solver.step(&model, &mut state, &control, dt).unwrap();
        steps += 1;
        assert!(steps < 100_000, "{dt} s at {} s", state.time);
    }
    let force = model.forces_of::<TendonStrand>().nth(1).unwrap().total_force(&state.positions, &control).norm();
    assert!(force > 0.3 && force < 0.7, "{force} N after {steps} steps");
}

#[test]
fn threads_do_not_change_a_bit() {
    let solve = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut run = Run::new(bar(|_| {}, hang), SolverParams::default());
            run.set("bar.activation.belly", 0.8);
            run.step(0.1).unwrap();
            run.state
        })
    };
    assert_eq!(solve(1), solve(2));
}

#[test]
fn impossible_strands_and_tendons_are_refused() {
    let refused = |change: &dyn Fn(&mut StrandParams, &mut TendonParams)| {
        let mut builder = ModelBuilder::new();
        let bar = builder.add_body(body("bar", hexes([1.0, 1.0, 1.0], [1, 1, 1]), spec(Law::NeoHookean)));
        let place = |x: f64| FleshPlace::Place { body: bar, place: Vec3::new(x, 0.5, 0.5) };
        let mut strand = strand(bar, vec![vec![place(0.1), place(0.9)]]);
        let mut tendon = tendon(bar, "end", vec![(place(0.9), Vec3::new(2.0, 0.5, 0.5))]);
        change(&mut strand, &mut tendon);
        builder.force(strand).force(tendon);
        match builder.build() {
            Err(error @ ModelError::Force(_)) => error.to_string(),
            Err(other) => panic!("{other}"),
            Ok(_) => String::new(),
        }
    };
    assert_eq!(refused(&|_, _| {}), "");
    let outside = FleshPlace::Place { body: 0, place: Vec3::new(1.5, 0.5, 0.5) };
    for (message, change) in [
        (
            "force must be positive",
            &(|s: &mut StrandParams, _: &mut TendonParams| s.force = 0.0)
                as &dyn Fn(&mut StrandParams, &mut TendonParams),
        ),
        ("at least two places", &|s, _| s.columns[0].truncate(1)),
        ("has no length", &|s, _| s.columns[0][1] = s.columns[0][0]),
        ("outside", &move |s, _| s.columns[0][1] = outside),
        ("1 generators", &|s, _| s.factors = vec![1.0; 2]),
        ("force must be positive", &|_, t| t.force = -1.0),
        ("has no length", &|_, t| t.ends[0].1 = Vec3::new(0.9, 0.5, 0.5)),
        ("outside", &move |_, t| t.ends[0].0 = outside),
        ("no tendons", &|_, t| t.ends.clear()),
    ] {
        let refusal = refused(change);
        assert!(refusal.contains(message), "{refusal:?} instead of {message:?}");
    }
}
