//! One thread and two give the same bits.

use sinew_fem::material::Law;
use sinew_fem::model::ColliderParams;
use sinew_fem::solver::LinearSolver;
use sinew_fem::{Model, ModelBuilder, Regime, SolverParams, State};
use sinew_geometry::shape::{Plane, Pose, Sphere};
use sinew_math::Vec3;

use crate::models::{Run, body, spec, tets};

/// A ball strikes a box that has fallen onto a rough floor; more nodes than one block of the parallel sums.
fn scene(cells: [usize; 3]) -> Model {
    let mut flesh = body("flesh", tets([0.3, 0.2, 0.2], cells), spec(Law::StableNeoHookean));
    flesh.velocities = vec![Vec3::new(0.3, -0.5, 0.0); flesh.mesh.node_count()];
    flesh.stiffness_damping = 1e-3;
    let mut builder = ModelBuilder::new();
    builder.gravity(Vec3::new(0.0, -9.81, 0.0));
    builder.add_body(flesh);
    let floor = Plane::new(Vec3::zero(), Vec3::unit(1)).unwrap();
    let ball = Sphere::new(0.1).unwrap();
    for (name, shape, place) in
        [("floor", floor.into(), Vec3::new(0.0, 1e-4, 0.0)), ("ball", ball.into(), Vec3::new(0.15, 0.295, 0.1))]
    {
        builder.add_collider(ColliderParams {
            name: name.into(),
            shape,
            pose: Pose::from_translation(place),
            pivot: Vec3::zero(),
            stiffness: None,
            friction: 0.5,
            restitution: 1.0,
            side: Default::default(),
        });
    }
    builder.build().unwrap()
}

fn frames(threads: usize, cells: [usize; 3], linear: LinearSolver, count: usize) -> (State, usize) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let params = SolverParams { regime: Regime::ImplicitEuler, tolerance: 1e-4, linear, ..SolverParams::default() };
        let mut run = Run::new(scene(cells), params);
        let mut contacts = 0;
        for frame in 0..count {
            run.set("ball.translation.y", -0.002 * frame as f64);
            contacts = run.step(1.0 / 60.0).unwrap().contacts;
        }
        (run.state, contacts)
    })
}

fn same_bits(a: &State, b: &State) -> bool {
    let bits = |state: &State| -> Vec<u64> {
        let all = state.positions.iter().chain(&state.velocities).chain(&state.reactions);
        all.flat_map(|v| v.to_array()).map(f64::to_bits).collect()
    };
    bits(a) == bits(b) && a == b
}

#[test]
fn five_frames_of_contact_have_the_same_bits_on_one_thread_and_on_two() {
    for linear in [LinearSolver::Cg, LinearSolver::Cholesky] {
        let (one, contacts) = frames(1, [9, 6, 6], linear, 5);
        assert!(contacts > 20, "{contacts}");
        let (two, _) = frames(2, [9, 6, 6], linear, 5);
        assert!(same_bits(&one, &two), "{linear:?}");
    }
}

/// More than 4096 nodes, so that the sums of the iterative solver are split.
#[test]
fn a_large_body_has_the_same_bits_on_one_thread_and_on_two() {
    let (one, _) = frames(1, [20, 14, 14], LinearSolver::Cg, 1);
    assert!(one.positions.len() > 4096);
    assert!(same_bits(&one, &frames(2, [20, 14, 14], LinearSolver::Cg, 1).0));
}
