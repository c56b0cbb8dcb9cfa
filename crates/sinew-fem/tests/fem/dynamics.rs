//! Implicit Euler: conserved quantities, dissipation and order.

use sinew_fem::force::{AttachTarget, AttachmentParams};
use sinew_fem::material::Law;
use sinew_fem::model::RigidParams;
use sinew_fem::solver::LinearSolver;
use sinew_fem::{Model, ModelBuilder, Regime, SolverParams};
use sinew_geometry::shape::{Cuboid, Pose, Sphere};
use sinew_math::{Quaternion, Vec3};

use crate::models::{Noise, Run, at, body, hexes, nodes_where, pin, spec, tets};

fn exact(linear: LinearSolver) -> SolverParams {
    SolverParams { regime: Regime::ImplicitEuler, tolerance: 1e-12, linear, ..SolverParams::default() }
}

const BOTH: [LinearSolver; 2] = [LinearSolver::Cholesky, LinearSolver::Cg];

/// x = x₀ − g h² n(n + 1)/2, the sum of implicit Euler, up to rounding of positions of order one.
#[test]
fn free_fall_follows_the_discrete_parabola() {
    for linear in BOTH {
        let mut builder = ModelBuilder::new();
        builder.gravity(Vec3::new(0.0, -9.81, 0.0));
        builder.add_body(body("flesh", tets([0.2, 0.2, 0.2], [2, 2, 2]), spec(Law::NeoHookean)));
        builder.add_rigid(RigidParams {
            name: "ball".into(),
            shape: Sphere::new(0.1).unwrap().into(),
            mass: 3.0,
            pose: Pose::from_translation(Vec3::new(1.0, 0.0, 0.0)),
            velocity: Vec3::zero(),
            angular_velocity: Vec3::zero(),
            driven_about: None,
        });
        let mut run = Run::new(builder.build().unwrap(), exact(linear));
        let start = run.state.positions.clone();
        let h = 0.01;
        for n in 1..=20 {
            run.step(h).unwrap();
            let fall = 9.81 * h * h * f64::from(n * (n + 1)) / 2.0;
            for (x, x0) in run.state.positions.iter().zip(&start) {
                assert!((*x - *x0 + Vec3::unit(1) * fall).norm() < 1e-12, "{linear:?}, step {n}: {x:?} {x0:?}");
            }
        }
    }
}

/// A box bound on one side to the inside of another box, and on the other side to a rigid ball, all with random
/// velocities.
fn chain() -> Model {
    let first = tets([0.2, 0.2, 0.2], [2, 2, 2]);
    let second = at(&hexes([0.3, 0.1, 0.1], [3, 1, 1]), Vec3::new(0.15, 0.05, 0.05));
    let inside = nodes_where(&second, |x| x.x < 0.16);
    let outer = nodes_where(&second, |x| x.x > 0.44);
    let mut noise = Noise(21);
    let mut builder = ModelBuilder::new();
    let mut a = body("first", first, spec(Law::NeoHookean));
    let mut b = body("second", second, spec(Law::StableNeoHookean));
    a.velocities = (0..a.mesh.node_count()).map(|_| Vec3::new(0.3, -0.2, 0.1) + noise.vector() * 0.3).collect();
    b.velocities = (0..b.mesh.node_count()).map(|_| noise.vector() * 0.5).collect();
    let a = builder.add_body(a);
    let b = builder.add_body(b);
    let ball = builder.add_rigid(RigidParams {
        name: "ball".into(),
        shape: Sphere::new(0.08).unwrap().into(),
        mass: 1.5,
        pose: Pose::from_translation(Vec3::new(0.5, 0.1, 0.1)),
        velocity: Vec3::new(0.0, 0.4, -0.3),
        angular_velocity: Vec3::new(2.0, -1.0, 3.0),
        driven_about: None,
    });
    builder.bind(b, inside, AttachTarget::Body(a));
    builder.bind(b, outer, AttachTarget::Rigid(ball));
    builder.force(AttachmentParams::nodes(a, "spring", vec![0, 1], AttachTarget::Rigid(ball), 200.0));
    builder.build().unwrap()
}

#[test]
fn bindings_keep_momentum_and_never_add_energy() {
    for linear in BOTH {
        let mut run = Run::new(chain(), exact(linear));
        let momentum = run.momentum();
        let mut energy = run.model.energies(&run.state, &run.control).total();
        for step in 0..30 {
            let report = run.step(1.0 / 60.0).unwrap();
            let drift = (run.momentum() - momentum).norm();
            assert!(drift < 1e-10, "{linear:?}, step {step}: momentum drifts by {drift}");
            let now = report.energies.total();
            assert!(now <= energy * (1.0 + 1e-12), "{linear:?}, step {step}: energy {energy} -> {now}");
            energy = now;
        }
        assert!(energy > 0.0);
    }
}

/// Coarse tolerances must conserve momentum relative to its flow.
#[test]
fn damping_keeps_momentum_of_stiffness_and_decays_that_of_mass() {
    let h = 0.01;
    let build = |alpha: f64, beta: f64, is_moving: bool| {
        let mut noise = Noise(8);
        let mut flesh = body("flesh", tets([0.2, 0.2, 0.2], [2, 2, 2]), spec(Law::NeoHookean));
        let count = flesh.mesh.node_count();
        flesh.velocities =
            (0..count).map(|_| Vec3::unit(0) + noise.vector() * if is_moving { 0.5 } else { 0.0 }).collect();
        (flesh.mass_damping, flesh.stiffness_damping) = (alpha, beta);
        let mut builder = ModelBuilder::new();
        builder.add_body(flesh);
        Run::new(builder.build().unwrap(), exact(LinearSolver::Cholesky))
    };
    // α: v ← v/(1 + αh) for a body that only translates.
    let mut run = build(3.0, 0.0, false);
    let mut speed = 1.0;
    for _ in 0..10 {
        run.step(h).unwrap();
        speed /= 1.0 + 3.0 * h;
        assert!(run.state.velocities.iter().all(|v| (*v - Vec3::unit(0) * speed).norm() < 1e-11));
    }
    // β: internal, conserves momentum and dissipates more energy than none.
    let (mut damped, mut free) = (build(0.0, 0.05, true), build(0.0, 0.0, true));
    let momentum = damped.momentum();
    for _ in 0..5 {
        let (a, b) = (damped.step(h).unwrap(), free.step(h).unwrap());
        assert!((damped.momentum() - momentum).norm() < 1e-10);
        assert!(a.energies.total() < b.energies.total());
    }
}

/// A free body tumbling about its middle axis: the loss of angular momentum at a fixed time is proportional to the
/// step.
#[test]
fn angular_momentum_is_lost_at_first_order() {
    let loss = |h: f64| {
        let mut builder = ModelBuilder::new();
        builder.add_rigid(RigidParams {
            name: "brick".into(),
            shape: Cuboid::new(Vec3::new(0.1, 0.2, 0.3)).unwrap().into(),
            mass: 2.0,
            pose: Pose { translation: Vec3::zero(), rotation: Quaternion::exp_map(Vec3::new(0.1, 0.2, 0.3)) },
            velocity: Vec3::zero(),
            angular_velocity: Vec3::new(0.3, 2.0, -0.2),
            driven_about: None,
        });
        let mut run = Run::new(builder.build().unwrap(), exact(LinearSolver::Cholesky));
        let momentum = |run: &Run| sinew_fem::diagnostics::angular_momentum(&run.model, &run.state, 0..6);
        let start = momentum(&run);
        for _ in 0..(0.5 / h).round() as usize {
            run.step(h).unwrap();
        }
        let end = momentum(&run);
        assert!(end.norm() < start.norm());
        (end - start).norm() / start.norm()
    };
    let losses = [0.02, 0.01, 0.005].map(loss);
    assert!(losses[2] < 0.02, "{losses:?}");
    for pair in losses.windows(2) {
        let order = (pair[0] / pair[1]).log2();
        assert!((order - 1.0).abs() < 0.15, "{losses:?}");
    }
}

/// A ball on a stiff spring to a pinned cell: T = 2π √((I + m L²)/(m g L)) for small swings.
#[test]
fn a_rigid_pendulum_swings_with_its_period() {
    let (length, radius, mass, gravity) = (0.5, 0.1, 2.0, 9.81);
    let mesh = tets([0.01, 0.01, 0.01], [1, 1, 1]);
    let all: Vec<u32> = (0..8).collect();
    let mut builder = ModelBuilder::new();
    builder.gravity(Vec3::new(0.0, 0.0, -gravity));
    let hook = builder.add_body(body("hook", mesh, spec(Law::NeoHookean)));
    builder.pin(pin(hook, "all", all, Vec3::zero()));
    let angle = 0.05f64;
    let turn = Quaternion::exp_map(Vec3::new(0.0, angle, 0.0));
    let ball = builder.add_rigid(RigidParams {
        name: "ball".into(),
        shape: Sphere::new(radius).unwrap().into(),
        mass,
        pose: Pose { translation: turn.rotate(Vec3::new(0.0, 0.0, -length)), rotation: turn },
        velocity: Vec3::zero(),
        angular_velocity: Vec3::zero(),
        driven_about: None,
    });
    // Node 0 is the corner at the origin: the anchor sits there in the frame of the ball.
    builder.force(AttachmentParams::nodes(hook, "string", vec![0], AttachTarget::Rigid(ball), 1e6));
    let params = SolverParams { tolerance: 1e-8, ..exact(LinearSolver::Cholesky) };
    let mut run = Run::new(builder.build().unwrap(), params);
    let h = 1e-3;
    let unknown = run.model.kinematics.rigid_blocks()[0].translation as usize;
    let mut crossings = Vec::new();
    let mut previous = run.state.unknowns.vectors[unknown].x;
    while crossings.len() < 3 {
        run.step(h).unwrap();
        let now = run.state.unknowns.vectors[unknown].x;
        if previous * now < 0.0 {
            crossings.push(run.state.time - h * now / (now - previous));
        }
        previous = now;
        assert!(run.state.time < 4.0, "{crossings:?}");
    }
    let inertia = 0.4 * mass * radius * radius;
    let expected = std::f64::consts::TAU * ((inertia + mass * length * length) / (mass * gravity * length)).sqrt();
    let period = crossings[2] - crossings[0];
    // Swings of 0.05 rad lengthen the period by 1.6e-4, numerical damping (ω h)² by less.
    assert!((period / expected - 1.0).abs() < 1e-3, "{period} {expected}");
}

/// A driven rigid body carries flesh: half a turn in one quasistatic step, without strain at the end.
#[test]
fn driven_rigid_bodies_carry_flesh_with_them() {
    let mesh = tets([0.2, 0.2, 0.2], [2, 2, 2]);
    let bound = nodes_where(&mesh, |x| x.x == 0.0);
    let mut builder = ModelBuilder::new();
    let flesh = builder.add_body(body("flesh", mesh, spec(Law::NeoHookean)));
    let bone = builder.add_rigid(RigidParams {
        name: "bone".into(),
        shape: Cuboid::new(Vec3::splat(0.1)).unwrap().into(),
        mass: 1.0,
        pose: Pose::from_translation(Vec3::new(-0.1, 0.1, 0.1)),
        velocity: Vec3::zero(),
        angular_velocity: Vec3::zero(),
        driven_about: Some(Vec3::zero()),
    });
    builder.bind(flesh, bound, AttachTarget::Rigid(bone));
    let params = SolverParams { tolerance: 1e-10, ..SolverParams::default() };
    let mut run = Run::new(builder.build().unwrap(), params);
    let rest = run.state.positions.clone();
    let mut angle = 0.0;
    for _ in 0..4 {
        angle += 0.25 * std::f64::consts::PI;
        run.set("bone.rotation.z", angle);
        run.step(1.0).unwrap();
    }
    let turn = Quaternion::exp_map(Vec3::new(0.0, 0.0, angle));
    for (x, x0) in run.state.positions.iter().zip(&rest) {
        assert!((*x - turn.rotate(*x0)).norm() < 1e-6, "{x:?}");
    }
    let before = run.state.clone();
    let report = run.step(1.0).unwrap();
    assert!(report.newton_iterations <= 1, "{report}");
    assert!(before.positions.iter().zip(&run.state.positions).all(|(a, b)| (*a - *b).norm() < 1e-9));
}
