//! Contact between bodies: nothing crosses, momentum is conserved, and resumed or multithreaded runs have the same
//! bits.

use sinew_fem::contact::{ContactMode, ContactRule, Party};
use sinew_fem::material::Law;
use sinew_fem::model::{ColliderParams, RigidParams};
use sinew_fem::surface_check::SurfaceCheck;
use sinew_fem::{Model, ModelBuilder, Regime, SolverParams, State};
use sinew_geometry::shape::{Cuboid, Plane, Pose};
use sinew_math::Vec3;

use crate::models::{Run, at, body, spec, tets};

fn rule(mode: ContactMode, friction: f64) -> ContactRule {
    ContactRule { mode, friction, ..ContactRule::default() }
}

/// A block thrown off-center at another one, without gravity.
fn collision(mode: ContactMode, friction: f64) -> Model {
    let mut builder = ModelBuilder::new();
    let still = tets([0.1, 0.1, 0.1], [4, 4, 4]);
    let mut thrown = body("thrown", at(&still, Vec3::new(-0.105, 0.013, 0.027)), spec(Law::StableNeoHookean));
    thrown.velocities = vec![Vec3::new(1.0, 0.0, 0.0); thrown.mesh.node_count()];
    builder.add_body(body("still", still, spec(Law::StableNeoHookean)));
    builder.add_body(thrown);
    builder.contact(Party::Body(0), Party::Body(1), rule(mode, friction));
    builder.contact(Party::Body(0), Party::Body(0), rule(mode, friction));
    builder.build().unwrap()
}

fn params() -> SolverParams {
    SolverParams { regime: Regime::ImplicitEuler, tolerance: 1e-8, ..SolverParams::default() }
}

fn momentum(model: &Model, state: &State) -> Vec3 {
    model.masses.iter().zip(&state.velocities).fold(Vec3::zero(), |sum, (&m, &v)| sum + v * m)
}

#[test]
fn colliding_blocks_keep_their_momentum_and_do_not_cross() {
    for mode in [ContactMode::Barrier, ContactMode::Penalty] {
        let mut run = Run::new(collision(mode, 0.3), params());
        let before = momentum(&run.model, &run.state);
        let mut touched = 0;
        for _ in 0..30 {
            touched += run.step(1e-3).unwrap().contacts;
            let check = SurfaceCheck::of(&run.model, &run.state);
            match mode {
                ContactMode::Barrier => assert_eq!(check, SurfaceCheck::default()),
                ContactMode::Penalty => assert!(check.penetration < 0.0125, "half a cell: {check:?}"),
            }
        }
        assert!(touched > 0, "{mode:?}");
        let after = momentum(&run.model, &run.state);
        assert!((after - before).norm() < 1e-7 * before.norm(), "{mode:?}: {before:?} {after:?}");
        let pushed: f64 = run.state.velocities[run.model.bodies[0].points.clone()].iter().map(|v| v.x).sum();
        assert!(pushed > 0.0, "{mode:?}: the other one moves on");
    }
}

/// The same bits on one thread or two, and after a restart from any state: the state holds all history of contact.
#[test]
fn threads_and_restarts_do_not_show() {
    for mode in [ContactMode::Barrier, ContactMode::Penalty] {
        let steps = |run: &mut Run, count: usize| {
            for _ in 0..count {
                run.step(2e-3).unwrap();
            }
        };
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut run = Run::new(collision(mode, 0.3), params());
                steps(&mut run, 12);
                run.state
            })
        };
        let one = with(1);
        assert!(one == with(2), "{mode:?}");
        let mut first = Run::new(collision(mode, 0.3), params());
        steps(&mut first, 7);
        let mut second = Run::new(collision(mode, 0.3), params());
        second.state = first.state.clone();
        steps(&mut second, 5);
        assert!(one == second.state, "{mode:?}");
    }
}

/// A rigid cube falls on a block that lies on the floor; barriers keep all three apart.
#[test]
fn rigid_bodies_rest_on_flesh() {
    let mut builder = ModelBuilder::new();
    builder.gravity(Vec3::new(0.0, 0.0, -9.81));
    let mesh = at(&tets([0.1, 0.1, 0.05], [4, 4, 2]), Vec3::new(0.0, 0.0, 0.001));
    builder.add_body(body("flesh", mesh, spec(Law::StableNeoHookean)));
    builder.add_rigid(RigidParams {
        name: "cube".into(),
        shape: Cuboid::new(Vec3::splat(0.015)).unwrap().into(),
        mass: 0.02,
        pose: Pose::from_translation(Vec3::new(0.05, 0.05, 0.07)),
        velocity: Vec3::new(0.0, 0.0, -0.5),
        angular_velocity: Vec3::new(0.5, 0.3, 0.0),
        driven_about: None,
    });
    let floor = Plane::new(Vec3::zero(), Vec3::unit(2)).unwrap();
    builder.add_collider(ColliderParams {
        name: "floor".into(),
        shape: floor.into(),
        pose: Pose::identity(),
        pivot: Vec3::zero(),
        stiffness: None,
        friction: 0.3,
        restitution: 1.0,
        side: Default::default(),
    });
    builder.contact(Party::Body(0), Party::Rigid(0), rule(ContactMode::Barrier, 0.3));
    builder.contact(Party::Body(0), Party::Collider(0), rule(ContactMode::Barrier, 0.3));
    let params = SolverParams { tolerance: 1e-5, ..params() };
    let mut run = Run::new(builder.build().unwrap(), params);
    for _ in 0..60 {
        run.step(1.0 / 120.0).unwrap();
        assert_eq!(SurfaceCheck::of(&run.model, &run.state).crossings, 0);
    }
    let block = run.model.kinematics.rigid_blocks()[0];
    let height = run.state.unknowns.vectors[block.translation as usize].z;
    assert!((0.055..0.075).contains(&height), "it lies on the flesh: {height}");
}
