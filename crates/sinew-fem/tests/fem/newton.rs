//! Newton's method: convergence, bad initial states and impossible commands.

use sinew_fem::elastic::Actuation;
use sinew_fem::force::AttachTarget;
use sinew_fem::material::{Extension, Inversion, Law, MaterialSpec};
use sinew_fem::solver::{LinearSolver, Projection};
use sinew_fem::{
    Command, Control, Driver, FrameParams, Model, ModelBuilder, NewtonSolver, Regime, Simulation, SolverParams,
    StepError, Substeps,
};
use sinew_math::Vec3;

use crate::models::{Noise, Run, at, body, hexes, nodes_where, pin, spec, tets};

/// A beam along x under gravity, pinned at x = 0 ("left") and, with `both_ends`, at its other end ("right").
fn beam(material: MaterialSpec, cells: [usize; 3], both_ends: bool, gravity: f64) -> Model {
    let mesh = tets([0.4, 0.1, 0.1], cells);
    let mut builder = ModelBuilder::new();
    builder.gravity(Vec3::new(0.0, -gravity, 0.0));
    let left = nodes_where(&mesh, |x| x.x == 0.0);
    let right = nodes_where(&mesh, |x| x.x == 0.4);
    let index = builder.add_body(body("beam", mesh, material));
    builder.pin(pin(index, "left", left, Vec3::new(0.0, 0.05, 0.05)));
    if both_ends {
        builder.pin(pin(index, "right", right, Vec3::new(0.4, 0.05, 0.05)));
    }
    builder.build().unwrap()
}

fn quasistatic() -> SolverParams {
    SolverParams::default()
}

fn dynamic() -> SolverParams {
    SolverParams { regime: Regime::ImplicitEuler, ..SolverParams::default() }
}

/// Moves channels in proportion to time.
struct Ramp(Vec<(&'static str, f64)>);

impl Driver for Ramp {
    fn apply(&self, time: f64, control: &mut Control) {
        for &(channel, rate) in &self.0 {
            control.set_by_name(channel, rate * time).unwrap();
        }
    }
}

fn simulation(model: Model, params: SolverParams, ramp: Ramp, max_halvings: usize) -> Simulation {
    let frames = FrameParams { frame_rate: 1.0, substeps: Substeps::Fixed(1), max_halvings };
    Simulation::new(model, Box::new(NewtonSolver::new(params)), frames, vec![Box::new(ramp)], Vec::new())
}

/// rₖ₊₁ ≤ C rₖ² near the solution, with residuals read from runs that stop after k iterations.
#[test]
fn convergence_is_quadratic() {
    for law in Law::ALL {
        let mut residuals = Vec::new();
        for max_newton in 1..20 {
            let params = SolverParams { tolerance: 1e-13, max_newton, ..quasistatic() };
            let mut run = Run::new(beam(spec(law), [4, 1, 1], false, 3.0), params);
            match run.step(1.0) {
                Err(StepError::NotConverged { relative_residual, .. }) => residuals.push(relative_residual),
                Ok(_) => break,
                Err(other) => panic!("{law:?}: {other}"),
            }
        }
        let late: Vec<(f64, f64)> =
            residuals.windows(2).map(|w| (w[0], w[1])).filter(|w| w.0 < 1e-2 && w.0 > 1e-7).collect();
        // The linear law converges at once; the others pass through the quadratic region.
        assert!(law == Law::Linear || !late.is_empty(), "{law:?}: {residuals:?}");
        assert!(late.iter().all(|(old, new)| *new < 100.0 * old * old + 1e-12), "{law:?}: {residuals:?}");
    }
}

#[test]
fn a_failed_step_changes_nothing_and_names_the_cell() {
    for regime in [Regime::Quasistatic, Regime::ImplicitEuler] {
        let params = SolverParams { max_newton: 2, regime, ..quasistatic() };
        let mut run = Run::new(beam(spec(Law::NeoHookean), [4, 1, 1], false, 1.0), params);
        // Two valid steps, so that velocities, rates and reactions are not zero.
        run.solver = NewtonSolver::new(SolverParams { regime, ..quasistatic() });
        run.step(0.01).unwrap();
        run.set("gravity.y", -1.1);
        run.step(0.01).unwrap();
        run.solver = NewtonSolver::new(params);
        let before = run.state.clone();
        run.set("gravity.y", -1e7);
        let error = run.step(0.01).unwrap_err();
        let blame = error.blame().expect("the error names a node").clone();
        assert_eq!(run.state, before);
        assert!(run.state.positions.iter().zip(&before.positions).all(|(a, b)| a.x.to_bits() == b.x.to_bits()));
        assert_eq!(blame.body, "beam");
        let body = &run.model.bodies[0];
        assert!(body.mesh.cell_nodes(blame.cell).contains(&(blame.node as u32)), "{blame}");
        assert_eq!(blame.rest_position, body.mesh.positions()[blame.node].to_array());
        let text = error.to_string();
        assert!(text.contains("beam") && text.contains("node") && text.contains("cell"), "{text}");
        // The solver still works after the error.
        run.solver = NewtonSolver::new(SolverParams { regime, ..quasistatic() });
        run.set("gravity.y", -1.2);
        run.step(0.01).unwrap();
    }
}

#[test]
fn a_failed_frame_leaves_the_simulation_at_the_last_frame() {
    let params = SolverParams { max_newton: 3, ..quasistatic() };
    let model = beam(spec(Law::NeoHookean), [4, 1, 1], false, 0.0);
    let mut simulation = simulation(model, params, Ramp(vec![("gravity.x", -1.0)]), 2);
    simulation.step_frame().unwrap();
    let (before, frame) = (simulation.state().clone(), simulation.frame_index());
    simulation.command(&Command::SetChannel { channel: "gravity.y".into(), value: -1e9 }).unwrap();
    let error = simulation.step_frame().unwrap_err();
    assert_eq!(error.blame().unwrap().body, "beam");
    assert_eq!((simulation.state(), simulation.frame_index()), (&before, frame));
    simulation.command(&Command::SetChannel { channel: "gravity.y".into(), value: 0.0 }).unwrap();
    simulation.step_frame().unwrap();
    assert_eq!(simulation.time(), 2.0);
}

/// A motion too large for one step within the iteration limit succeeds in shorter steps, with the same result.
#[test]
fn halving_rescues_a_step_that_is_too_large() {
    let model = || beam(spec(Law::NeoHookean), [6, 1, 1], false, 0.0);
    let ramp = || Ramp(vec![("gravity.y", -25.0)]);
    let mut whole = simulation(model(), quasistatic(), ramp(), 0);
    let report = whole.step_frame().unwrap();
    assert!(report.newton_iterations >= 6, "{report}");
    let params = SolverParams { max_newton: report.newton_iterations - 1, ..quasistatic() };
    let mut halved = simulation(model(), params, ramp(), 6);
    let report = halved.step_frame().unwrap();
    assert!(report.rollbacks >= 1 && report.substeps >= 2, "{report:?}");
    assert_eq!(halved.time(), 1.0);
    for (a, b) in whole.state().positions.iter().zip(&halved.state().positions) {
        assert!((*a - *b).norm() < 1e-5 * 0.4, "{a:?} {b:?}");
    }
}

/// Weight has no equilibrium on a free body and has no effect: a pulled block takes the shape of uniaxial tension in
/// place, and a squashed one springs back.
#[test]
fn a_body_that_nothing_holds_keeps_its_place_and_finds_its_shape() {
    for linear in [LinearSolver::Cholesky, LinearSolver::Cg] {
        for law in [Law::NeoHookean, Law::StableNeoHookean] {
            let mut builder = ModelBuilder::new();
            builder.gravity(Vec3::new(0.0, -9.81, 0.0));
            let mesh = tets([0.2, 0.2, 0.2], [3, 3, 3]);
            let rest = mesh.positions().to_vec();
            builder.add_body(body("free", mesh, spec(law)));
            let mut run = Run::new(builder.build().unwrap(), SolverParams { linear, tolerance: 1e-9, ..quasistatic() });
            run.disturb(|_, x| Vec3::new(1.3 * x.x + 0.05 * x.y, x.y * 0.8, x.z));
            let center = |run: &Run| {
                let points = 0..run.state.positions.len();
                sinew_fem::diagnostics::center_of_mass(&run.model, &run.state.positions, points)
            };
            let before = center(&run);
            run.step(1.0).unwrap_or_else(|error| panic!("{law:?}, {linear:?}: {error}"));
            assert!((center(&run) - before).norm() < 1e-9, "the center stays");
            let after = &run.state.positions;
            // The rest shape, up to a rigid motion: all distances equal those at rest.
            for (i, j) in [(0, 10), (3, 40), (7, 63), (20, 21), (0, 63)] {
                let error = after[i].distance(after[j]) - rest[i].distance(rest[j]);
                assert!(error.abs() < 1e-6, "{law:?}, {linear:?}: {error:e}");
            }
        }
    }
}

/// A beam with scrambled free nodes returns to the shape that its pin determines, at any position and rotation.
#[test]
fn untangling_starts_from_what_the_pins_say() {
    let turn = Vec3::new(0.4, -0.9, 1.7);
    for linear in [LinearSolver::Cholesky, LinearSolver::Cg] {
        let params = SolverParams { linear, untangle: true, tolerance: 1e-9, ..quasistatic() };
        let mut run = Run::new(beam(spec(Law::StableNeoHookean), [12, 3, 3], false, 0.0), params);
        let rest = run.state.positions.clone();
        for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
            run.set(&format!("beam.pin.left.rotation.{name}"), turn[axis]);
            run.set(&format!("beam.pin.left.translation.{name}"), 0.3);
        }
        let mut noise = Noise(5);
        run.disturb(|_, _| noise.vector() * 0.5);
        let report = run.step(1.0).unwrap();
        assert!(report.newton_iterations < 15, "{report}");
        let pivot = Vec3::new(0.0, 0.05, 0.05);
        let rotation = sinew_math::Quaternion::exp_map(turn);
        for (x, r) in run.state.positions.iter().zip(&rest) {
            let expected = pivot + rotation.rotate(*r - pivot) + Vec3::splat(0.3);
            assert!((*x - expected).norm() < 1e-6 * 0.4, "{linear:?}: {:e}", (*x - expected).norm());
        }
    }
}

/// Without pins that hold a node there is no harmonic guess, and the plain iteration runs.
#[test]
fn untangling_without_pins_changes_nothing() {
    let run = |untangle| {
        let mut builder = ModelBuilder::new();
        builder.gravity(Vec3::zero());
        builder.add_body(body("free", tets([0.2, 0.2, 0.2], [2, 2, 2]), spec(Law::StableNeoHookean)));
        let mut run = Run::new(builder.build().unwrap(), SolverParams { untangle, ..quasistatic() });
        run.disturb(|_, x| Vec3::new(x.x, x.y, -0.5 * x.z));
        run.step(1.0).map(|_| run.state.positions).ok()
    };
    assert_eq!(run(true), run(false));
}

/// A weight that acts from the start has no smaller values in time; increments of the load reach the result of a ramp.
#[test]
fn loads_that_are_too_large_are_cut_into_increments() {
    let model = || beam(spec(Law::NeoHookean), [12, 3, 3], false, 30.0);
    // Too few iterations for the whole load at once.
    let params = SolverParams { max_newton: 4, tolerance: 1e-8, ..quasistatic() };
    assert!(Run::new(model(), params).step(1.0).is_err());
    let mut cut = simulation(model(), params, Ramp(Vec::new()), 8);
    let report = cut.step_frame().unwrap();
    assert!(report.rollbacks >= 1 && report.substeps >= 2, "{report:?}");
    let patient = SolverParams { max_newton: 100, ..params };
    let mut whole = simulation(model(), patient, Ramp(Vec::new()), 0);
    whole.step_frame().unwrap();
    for (a, b) in whole.state().positions.iter().zip(&cut.state().positions) {
        assert!((*a - *b).norm() < 1e-6 * 0.4);
    }
}

/// A body held at one node or along one edge is a pendulum: from any start, it ends with its center below its support.
#[test]
fn a_body_held_at_one_node_or_edge_turns_until_it_hangs() {
    for linear in [LinearSolver::Cholesky, LinearSolver::Cg] {
        for held in [1, 3] {
            let mesh = tets([0.2, 0.2, 0.2], [2, 2, 2]);
            let edge = nodes_where(&mesh, |x| x.x == 0.0 && x.y == 0.0);
            let mut builder = ModelBuilder::new();
            // Upward: it starts nearly upside down.
            builder.gravity(Vec3::new(0.3, 1.0, 0.1));
            let index = builder.add_body(body("flesh", mesh, spec(Law::StableNeoHookean)));
            builder.pin(pin(index, "held", edge[..held].to_vec(), Vec3::zero()));
            let mut run = Run::new(builder.build().unwrap(), SolverParams { linear, ..quasistatic() });
            let report = run.step(1.0).unwrap_or_else(|error| panic!("{linear:?}, {held}: {error}"));
            let center = sinew_fem::diagnostics::center_of_mass(&run.model, &run.state.positions, 0..27);
            let pull = Vec3::new(0.3, 1.0, if held == 1 { 0.1 } else { 0.0 });
            let arm = Vec3::new(center.x, center.y, if held == 1 { center.z } else { 0.0 });
            assert!(arm.dot(pull) > 0.0 && arm.cross(pull).norm() < 1e-4 * arm.norm(), "{linear:?}, {held}: {arm:?}");
            assert!(report.newton_iterations < 60, "{linear:?}, {held}: {report}");
        }
    }
}

/// The same pulled straight up: the start is an unstable equilibrium.
#[test]
fn a_body_held_at_one_node_does_not_run_away() {
    for linear in [LinearSolver::Cholesky, LinearSolver::Cg] {
        let mut builder = ModelBuilder::new();
        builder.gravity(Vec3::new(0.0, -1.0, 0.0));
        let index = builder.add_body(body("flesh", tets([0.2, 0.2, 0.2], [2, 2, 2]), spec(Law::StableNeoHookean)));
        builder.pin(pin(index, "corner", vec![0], Vec3::zero()));
        let mut run = Run::new(builder.build().unwrap(), SolverParams { linear, ..quasistatic() });
        let result = run.step(1.0);
        assert!(run.is_finite(), "{linear:?}");
        if result.is_ok() {
            let center = sinew_fem::diagnostics::center_of_mass(&run.model, &run.state.positions, 0..27);
            assert!(center.norm() < 0.4, "{linear:?}: {center:?}");
        }
    }
}

#[test]
fn commands_that_are_no_numbers_are_refused() {
    let mut run = Run::new(beam(spec(Law::NeoHookean), [2, 1, 1], false, 1.0), quasistatic());
    assert!(run.control.set_by_name("gravity.y", f64::NAN).is_err());
    let channel = run.control.table().find("beam.pin.left.rotation.x").unwrap();
    run.control.set(channel, f64::NAN);
    let before = run.state.clone();
    let error = run.step(1.0).unwrap_err();
    assert!(matches!(&error, StepError::Control { channel, .. } if channel == "beam.pin.left.rotation.x"), "{error}");
    assert_eq!(run.state, before);

    let model = beam(spec(Law::NeoHookean), [2, 1, 1], false, 1.0);
    let mut simulation = simulation(model, quasistatic(), Ramp(Vec::new()), 3);
    let hold = |value| Command::SetChannel { channel: "gravity.y".into(), value };
    simulation.command(&hold(-2.0)).unwrap();
    assert!(simulation.command(&hold(f64::INFINITY)).is_err());
    simulation.step_frame().unwrap();
    let gravity = simulation.control().table().find("gravity.y").unwrap();
    assert_eq!(simulation.control().get(gravity), -2.0, "an invalid command releases nothing");
    assert!(simulation.command(&Command::ReleaseChannel { channel: "gravitas".into() }).is_err());
}

#[test]
fn a_checkpoint_goes_on_at_its_own_time() {
    let model = || beam(spec(Law::NeoHookean), [2, 1, 1], false, 0.0);
    let ramp = || Ramp(vec![("gravity.y", -1.0)]);
    let mut first = simulation(model(), dynamic(), ramp(), 0);
    for _ in 0..3 {
        first.step_frame().unwrap();
    }
    let checkpoint = first.state().clone();
    first.step_frame().unwrap();
    let mut second = simulation(model(), dynamic(), ramp(), 0);
    second.set_state(&checkpoint);
    second.step_frame().unwrap();
    assert_eq!((second.time(), second.frame_index()), (4.0, 4));
    assert_eq!(first.state(), second.state());
}

/// Squashed to half, and noise of 0.9 and 3 cells: the stable law converges from all of them, and needs projections.
#[test]
fn stable_flesh_recovers_from_bad_starts() {
    let cell = 0.05;
    let mut noise = Noise(5);
    for (name, amplitude, squash) in [("squashed", 0.0, 0.5), ("noise", 0.9, 1.0), ("wild noise", 3.0, 1.0)] {
        for linear in [LinearSolver::Cholesky, LinearSolver::Cg] {
            let params = SolverParams { linear, ..dynamic() };
            let mut run = Run::new(beam(spec(Law::StableNeoHookean), [8, 2, 2], false, 9.81), params);
            run.disturb(|_, x| Vec3::new(squash * x.x, x.y, x.z) + noise.vector() * (amplitude * cell));
            let mut projections = 0;
            for frame in 0..5 {
                let report = run.step(1.0 / 60.0).unwrap_or_else(|e| panic!("{name}, {linear:?}, frame {frame}: {e}"));
                assert!(report.relative_residual <= 1e-6, "{name}: {report}");
                projections += report.projections;
            }
            assert!(run.is_finite());
            assert!(projections > 0 || amplitude == 0.0, "{name}: inverted cells have negative curvature");
        }
    }
}

#[test]
fn stable_flesh_finds_its_equilibrium_from_a_squashed_start() {
    let mut rest = Run::new(beam(spec(Law::StableNeoHookean), [8, 2, 2], false, 1.0), quasistatic());
    rest.step(1.0).unwrap();
    let mut run = Run::new(beam(spec(Law::StableNeoHookean), [8, 2, 2], false, 1.0), quasistatic());
    run.disturb(|_, x| Vec3::new(0.5 * x.x, x.y, x.z));
    run.step(1.0).unwrap();
    for (a, b) in rest.state.positions.iter().zip(&run.state.positions) {
        assert!((*a - *b).norm() < 1e-6, "{a:?} {b:?}");
    }
}

/// Laws with ln J, extended to inverted cells, find the same equilibrium from a squashed, flat or inverted body as from
/// rest.
#[test]
fn extended_flesh_comes_back_from_inside_out() {
    // St. Venant–Kirchhoff softens below a stretch of 1/√3: the threshold is above.
    let stiff = Inversion { threshold: 0.6, ..Inversion::default() };
    let stvk = spec(Law::StVenantKirchhoff).extended(stiff);
    for material in [spec(Law::InvertibleNeoHookean), spec(Law::InvertibleMooneyRivlin), stvk] {
        let law = material.law();
        let model = || beam(material, [6, 2, 2], false, 1.0);
        // The default leaves 1.3e-5 m in the softest of these beams, which bends by half its length.
        let exact = || SolverParams { tolerance: 0.1 * quasistatic().tolerance, ..quasistatic() };
        let mut rest = Run::new(model(), exact());
        rest.step(1.0).unwrap();
        let starts = [
            ("squashed", [0.2, 1.0, 1.0]),
            ("flat", [1.0, 1.0, 0.0]),
            ("a line", [1.0, 0.0, 0.0]),
            ("mirrored", [1.0, 1.0, -0.7]),
        ];
        for (name, scale) in starts {
            let mut noise = Noise(7);
            // From a line both sides are equally near: without the harmonic guess it may keep a twist.
            let mut run = Run::new(model(), SolverParams { untangle: name == "a line", ..exact() });
            run.disturb(|_, x| Vec3::new(x.x * scale[0], x.y * scale[1], x.z * scale[2]) + noise.vector() * 1e-4);
            let report = run.step(1.0).unwrap_or_else(|error| panic!("{law:?} {name}: {error}"));
            for (a, b) in rest.state.positions.iter().zip(&run.state.positions) {
                assert!((*a - *b).norm() < 1e-5, "{law:?} {name}: {a:?} {b:?} {report}");
            }
        }
    }
}

/// The constant extension has no energy: work and residual decide, and the block still recovers.
#[test]
fn clamped_stress_is_judged_by_the_residual() {
    let inversion = Inversion { extension: Extension::Constant, ..Inversion::default() };
    let model = || beam(spec(Law::NeoHookean).extended(inversion), [6, 2, 2], false, 1.0);
    assert!(model().elastic.iter().all(|block| !block.has_potential()));
    let mut rest = Run::new(model(), quasistatic());
    rest.step(1.0).unwrap();
    let mut run = Run::new(model(), quasistatic());
    run.disturb(|_, x| Vec3::new(x.x, x.y, 0.25 * x.z));
    run.step(1.0).unwrap();
    for (a, b) in rest.state.positions.iter().zip(&run.state.positions) {
        assert!((*a - *b).norm() < 1e-5, "{a:?} {b:?}");
    }
}

/// A column compressed by a third buckles: its straight state is a saddle, and the tangent there is indefinite.
#[test]
fn negative_curvature_is_projected() {
    let mut noise = Noise(6);
    let mut run = Run::new(beam(spec(Law::StableNeoHookean), [16, 2, 2], true, 0.0), quasistatic());
    run.disturb(|_, x| Vec3::new(0.66 * x.x, x.y, x.z) + noise.vector() * 1e-3);
    run.set("beam.pin.right.translation.x", -0.136);
    let report = run.step(1.0).unwrap();
    assert!(report.projections > 0, "{report:?}");
    let energy = report.energies.elastic;
    let mut straight = Run::new(beam(spec(Law::StableNeoHookean), [16, 2, 2], true, 0.0), quasistatic());
    straight.disturb(|_, x| Vec3::new(0.66 * x.x, x.y, x.z));
    straight.set("beam.pin.right.translation.x", -0.136);
    let compressed =
        straight.model.elastic.iter().map(|b| b.energy(&straight.state.positions, &Actuation::PASSIVE)).sum::<f64>();
    assert!(energy < compressed, "{energy} {compressed}");
}

/// Half a turn in one frame: the straight path of the pins crushes the section and leaves the sense of rotation open.
/// So the frame is cut, and ends where many small frames end.
#[test]
fn a_half_turn_in_one_frame_succeeds() {
    for law in [Law::NeoHookean, Law::StableNeoHookean] {
        let turn = |frames: usize| {
            let model = beam(spec(law), [8, 2, 2], true, 0.0);
            let ramp = Ramp(vec![("beam.pin.right.rotation.x", std::f64::consts::PI / frames as f64)]);
            let mut simulation = simulation(model, quasistatic(), ramp, 6);
            for _ in 0..frames {
                simulation.step_frame().unwrap_or_else(|error| panic!("{law:?}: {error}"));
            }
            simulation
        };
        let (once, slowly) = (turn(1), turn(12));
        assert_eq!(once.probe("inverted_cells"), Some(0.0), "{law:?}");
        for (a, b) in once.state().positions.iter().zip(&slowly.state().positions) {
            assert!((*a - *b).norm() < 1e-5 * 0.4, "{law:?}: {a:?} {b:?}");
        }
    }
}

/// Rotation vectors of π − ε and ε − π about one axis are nearly the same rotation: a track that changes from one to
/// the other causes no rotation.
#[test]
fn rotation_vectors_that_wrap_around_are_not_followed() {
    struct Jump;
    impl Driver for Jump {
        fn apply(&self, time: f64, control: &mut Control) {
            let almost = std::f64::consts::PI - 0.01;
            let angle = if time < 6.5 { almost * (time / 6.0).min(1.0) } else { -almost };
            control.set_by_name("beam.pin.right.rotation.x", angle).unwrap();
        }
    }
    let frames = FrameParams { frame_rate: 1.0, substeps: Substeps::Fixed(1), max_halvings: 6 };
    let model = beam(spec(Law::StableNeoHookean), [8, 2, 2], true, 0.0);
    let solver = Box::new(NewtonSolver::new(quasistatic()));
    let mut simulation = Simulation::new(model, solver, frames, vec![Box::new(Jump)], Vec::new());
    let reports: Vec<_> = (0..8).map(|_| simulation.step_frame().unwrap()).collect();
    assert_eq!(reports[6].substeps, 1);
    let energies: Vec<f64> = reports.iter().map(|report| report.energies.elastic).collect();
    assert!((energies[6] / energies[5] - 1.0).abs() < 0.05, "{energies:?}");
}

/// The definite tangent of a buckling column is far stiffer than the column. Its steps are stretched, so that it alone
/// reaches the end in tens of iterations instead of hundreds.
#[test]
fn steps_that_creep_are_stretched() {
    let mut noise = Noise(6);
    let params = SolverParams { projection: Projection::Always, ..quasistatic() };
    let mut run = Run::new(beam(spec(Law::StableNeoHookean), [16, 2, 2], true, 0.0), params);
    run.disturb(|_, x| Vec3::new(0.66 * x.x, x.y, x.z) + noise.vector() * 1e-3);
    run.set("beam.pin.right.translation.x", -0.136);
    let report = run.step(1.0).unwrap();
    // 47; without stretching, 100 do not suffice.
    assert!(report.newton_iterations <= 60, "{report:?}");
}

/// Frames of diverging flesh end in an error, not in hours of iterations.
#[test]
fn a_frame_is_given_up_when_its_steps_are_all_hard() {
    let mut noise = Noise(3);
    // Too few iterations even for a scrambled body, and so many halvings that they would take long.
    let params = SolverParams { max_newton: 2, tolerance: 1e-12, ..quasistatic() };
    let model = || beam(spec(Law::StableNeoHookean), [12, 3, 3], true, 1.0);
    let mut scrambled = Run::new(model(), params);
    scrambled.disturb(|_, _| Vec3::new(0.2, 0.05, 0.05) + noise.vector() * 4.0);
    let mut simulation = simulation(model(), params, Ramp(Vec::new()), 30);
    simulation.set_state(&scrambled.state);
    let error = simulation.step_frame().unwrap_err();
    assert!(matches!(error, StepError::Exhausted { .. }), "{error}");
}

#[test]
fn large_translations_and_stretches_succeed_in_one_step() {
    for law in Law::ALL {
        let mut run = Run::new(beam(spec(law), [8, 2, 2], true, 0.0), quasistatic());
        run.set("beam.pin.left.translation.y", 2.0);
        run.set("beam.pin.right.translation.y", 2.0);
        run.set("beam.pin.right.translation.x", 0.3);
        let report = run.step(1.0).unwrap_or_else(|error| panic!("{law:?}: {error}"));
        assert!(report.newton_iterations <= 12, "{law:?}: {report}");
        let [left, right] = ["left", "right"].map(|name| {
            let pin = run.model.pins.iter().find(|pin| pin.name == name).unwrap();
            pin.points.iter().map(|&p| run.state.reactions[p as usize]).sum::<Vec3>()
        });
        assert!((left + right).norm() < 1e-5 * right.norm(), "{law:?}: {left:?} {right:?}");
    }
}

/// Conjugate gradients in f32 inside Newton reach the result of a factor in f64, also on slender bodies of huge
/// condition number.
#[test]
fn conjugate_gradients_reach_tight_tolerances() {
    let solvers = [LinearSolver::Cg, LinearSolver::VCycle, LinearSolver::RestFactor];
    for (cells, size) in [([8, 2, 2], 1.0), ([60, 1, 1], 1e-2)] {
        for regime in [Regime::Quasistatic, Regime::ImplicitEuler] {
            let solve = |linear| {
                let params = SolverParams { regime, tolerance: 1e-10, linear, ..quasistatic() };
                let mut run = Run::new(beam(spec(Law::NeoHookean), cells, false, 2.0 * size), params);
                for step in 0..2 {
                    let report = run.step(0.02).unwrap_or_else(|e| panic!("{cells:?}, {regime:?}, {linear:?}: {e}"));
                    assert!(report.newton_iterations < 20, "{cells:?}, {regime:?}, {linear:?}, {step}: {report}");
                }
                run.state.positions
            };
            let direct = solve(LinearSolver::Cholesky);
            for linear in solvers {
                let positions = solve(linear);
                let worst = positions.iter().zip(&direct).map(|(a, b)| (*a - *b).norm()).fold(0.0, f64::max);
                assert!(worst < 1e-8, "{cells:?}, {regime:?}, {linear:?}: {worst}");
            }
        }
    }
}

/// Steel-like 1e12 Pa and 1e-6 Pa under loads of the same relative size: f32 neither overflows nor underflows.
#[test]
fn huge_and_tiny_stiffnesses_behave_alike() {
    let tip = |young: f64, linear: LinearSolver| {
        let params = SolverParams { linear, tolerance: 1e-8, ..quasistatic() };
        let material = MaterialSpec::with_young(Law::NeoHookean, young, 0.3);
        let mut run = Run::new(beam(material, [6, 2, 2], false, 1e-4 * young), params);
        run.step(1.0).unwrap_or_else(|error| panic!("{young:e} Pa, {linear:?}: {error}"));
        run.state.positions.iter().map(|x| x.y).fold(f64::INFINITY, f64::min)
    };
    let expected = tip(1e4, LinearSolver::Cholesky);
    for young in [1e-6, 1e4, 1e12] {
        for linear in [LinearSolver::Cg, LinearSolver::Cholesky] {
            let tip = tip(young, linear);
            assert!((tip - expected).abs() < 1e-7, "{young:e} Pa, {linear:?}: {tip} {expected}");
        }
    }
}

/// A constant load: the reference residual is then rounding itself, and steps must end at once.
#[test]
fn holding_still_costs_nothing_and_never_fails() {
    for linear in [LinearSolver::Cholesky, LinearSolver::Cg] {
        for regime in [Regime::Quasistatic, Regime::ImplicitEuler] {
            for law in [Law::NeoHookean, Law::Corotated] {
                let params = SolverParams { linear, regime, tolerance: 1e-8, ..quasistatic() };
                let gravity = if regime == Regime::Quasistatic { 5.0 } else { 0.0 };
                let mut run = Run::new(beam(spec(law), [4, 2, 2], false, gravity), params);
                run.step(0.1).unwrap();
                for step in 0..20 {
                    let report = run.step(0.1).unwrap_or_else(|e| panic!("{linear:?} {regime:?} {law:?} {step}: {e}"));
                    assert!(
                        step < 3 || report.newton_iterations <= 1,
                        "{linear:?} {regime:?} {law:?} {step}: {report}"
                    );
                    assert!(report.cuts == 0, "{linear:?} {regime:?} {law:?} {step}: {report:?}");
                }
            }
        }
    }
}

/// A box bound to pinned nodes: the pins carry the weight of both bodies.
#[test]
fn pins_feel_what_hangs_on_bound_points() {
    let upper = hexes([0.2, 0.2, 0.2], [1, 1, 1]);
    let lower = at(&hexes([0.2, 0.2, 0.2], [2, 2, 2]), Vec3::new(0.0, -0.1, 0.0));
    let bound = nodes_where(&lower, |x| x.y >= -1e-9);
    let mut builder = ModelBuilder::new();
    builder.gravity(Vec3::new(0.0, -9.81, 0.0));
    let pinned = nodes_where(&upper, |x| x.y == 0.2);
    let a = builder.add_body(body("upper", upper, spec(Law::NeoHookean)));
    let b = builder.add_body(body("lower", lower, spec(Law::NeoHookean)));
    builder.pin(pin(a, "top", pinned, Vec3::zero()));
    builder.bind(b, bound, AttachTarget::Body(a));
    let mut run = Run::new(builder.build().unwrap(), SolverParams { tolerance: 1e-10, ..quasistatic() });
    run.step(1.0).unwrap();
    let force: Vec3 = run.model.pins[0].points.iter().map(|&p| run.state.reactions[p as usize]).sum();
    let weight = 9.81 * run.model.masses.iter().sum::<f64>();
    assert!((force - Vec3::new(0.0, weight, 0.0)).norm() < 1e-8 * weight, "{force:?} {weight}");
}

#[test]
fn a_solver_that_meets_another_model_starts_anew() {
    let mut run = Run::new(beam(spec(Law::NeoHookean), [4, 1, 1], false, 1.0), quasistatic());
    run.step(1.0).unwrap();
    let mut other = Run::new(beam(spec(Law::NeoHookean), [5, 2, 1], false, 1.0), quasistatic());
    other.solver = run.solver;
    other.step(1.0).unwrap();
}
