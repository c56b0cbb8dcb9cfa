//! Bodies on lattices: the same mechanics as other cells, solved by multigrid.

use sinew_fem::force::{AttachTarget, Attachment, AttachmentParams};
use sinew_fem::material::{Law, VolumeForm};
use sinew_fem::model::ModelError;
use sinew_fem::solver::{LinearSolver, NonlinearSolver, Regime};
use sinew_fem::{BodyParams, ExplicitSolver, Model, ModelBuilder, SolverParams};
use sinew_geometry::lattice::HexLattice;
use sinew_math::{Quaternion, Vec3};

use crate::models::{Noise, Run, at, body, nodes_where, pin, spec, tets};

/// A block of cubes of 1 cm, rotated and moved.
fn block(name: &str, cubes: [usize; 3], place: Vec3) -> BodyParams {
    let lattice = HexLattice::dense(Vec3::zero(), 0.01, cubes).unwrap();
    let mesh = lattice.to_mesh().unwrap().mapped(|x| x + place).unwrap().0;
    BodyParams { lattice: Some(lattice), ..body(name, mesh, spec(Law::Corotated)) }
}

/// A bar, held at one end and driven at the other.
fn bar(cubes: [usize; 3]) -> Model {
    let mut builder = ModelBuilder::new();
    let params = block("bar", cubes, Vec3::zero());
    let end = params.mesh.bounds().max.x;
    let (left, right) =
        (nodes_where(&params.mesh, |x| x.x < 1e-9), nodes_where(&params.mesh, |x| (x.x - end).abs() < 1e-9));
    let bar = builder.add_body(params);
    builder.pin(pin(bar, "left", left, Vec3::zero()));
    builder.pin(pin(bar, "right", right, Vec3::new(end, 0.0, 0.0)));
    builder.build().unwrap()
}

/// A quarter turn and a stretch by a third in one step.
fn twisted(cubes: [usize; 3]) -> Run {
    let mut run = Run::new(bar(cubes), SolverParams::default());
    run.set("bar.pin.right.translation.x", 0.01);
    run.set("bar.pin.right.rotation.x", 1.5);
    run.step(1.0).unwrap();
    run
}

/// MCA-38: the end of a bar rotates by 143 degrees at once. Whole steps of nonlinear cycles would raise the energy;
/// they are cut until it falls, and get so near to equilibrium that Newton's method needs only a few iterations.
#[test]
fn cycles_that_overshoot_are_cut() {
    let params = SolverParams { nonlinear: NonlinearSolver::Fas, ..SolverParams::default() };
    let mut run = Run::new(bar([24, 6, 6]), params);
    run.set("bar.pin.right.rotation.x", 2.5);
    let report = run.step(1.0).unwrap();
    assert!(report.cuts > 0 && (1..=15).contains(&report.nonlinear_cycles), "{report:?}");
    assert!(report.newton_iterations <= 4 && report.relative_residual < 1e-6, "{report:?}");
    assert!(!run.model.has_inverted_cells(&run.state.positions));
}

#[test]
fn quasistatics_end_in_equilibrium() {
    let run = twisted([24, 6, 6]);
    let energy = |x: &[Vec3]| run.model.elastic_energy(x, &run.control);
    // The energy is minimal along any motion of free unknowns.
    let mut noise = Noise(3);
    let direction: Vec<Vec3> = (0..run.state.positions.len())
        .map(|p| if run.model.kinematics.fixed(p) == [true; 3] { Vec3::zero() } else { noise.vector() })
        .collect();
    let moved =
        |s: f64| -> Vec<Vec3> { run.state.positions.iter().zip(&direction).map(|(&x, &d)| x + d * s).collect() };
    let (h, rest) = (1e-6, energy(&run.state.positions));
    let (slope, curvature) = (
        (energy(&moved(h)) - energy(&moved(-h))) / (2.0 * h),
        (energy(&moved(h)) + energy(&moved(-h)) - 2.0 * rest) / (h * h),
    );
    assert!(curvature > 0.0 && slope.abs() < 1e-4 * curvature * h, "{slope} {curvature}");
    assert!(!run.model.has_inverted_cells(&run.state.positions));
}

/// When pins stop, the reference residual is what the frame before left over, which is soon near rounding. A frame
/// without motion must not require more accuracy than there is.
#[test]
fn what_stands_still_is_solved() {
    for (place, way) in
        [0.0, 1.0, 3.0].iter().flat_map(|&place| [3e-7, 1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 1e-3].map(|way| (place, way)))
    {
        let mut builder = ModelBuilder::new();
        let params = block("bar", [24, 8, 8], Vec3::new(place, place, place));
        let (left, right) = (
            nodes_where(&params.mesh, |x| x.x - place < 1e-9),
            nodes_where(&params.mesh, |x| x.x - place > 0.24 - 1e-9),
        );
        let bar = builder.add_body(params);
        builder.pin(pin(bar, "left", left, Vec3::zero()));
        builder.pin(pin(bar, "right", right, Vec3::zero()));
        let params = SolverParams { tolerance: 1e-3, ..SolverParams::default() };
        let mut run = Run::new(builder.build().unwrap(), params);
        for frame in 1..=6 {
            let part = (f64::from(frame) / 4.0).min(1.0);
            run.set("bar.pin.right.translation.y", way * part);
            run.set("bar.pin.right.translation.z", way * part);
            if let Err(error) = run.step(0.05) {
                panic!("at {place} m by {way} m, frame {frame}: {error}");
            }
        }
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    let solve = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| twisted([40, 12, 12]).state.positions)
    };
    assert_eq!(solve(1), solve(2));
}

/// A free block that rotates and moves conserves momentum at any position. One Newton step suffices for free flight
/// (MCA section 7, item 17), up to the accuracy of the linear system.
#[test]
fn free_flight_keeps_momentum() {
    for regime in [Regime::ImplicitEuler, Regime::Bdf2] {
        let mut builder = ModelBuilder::new();
        let place = Vec3::new(30.0, -20.0, 10.0);
        let params = block("block", [4, 5, 6], place);
        let velocities = vec![Vec3::new(1.0, 2.0, 3.0); params.mesh.node_count()];
        builder.add_body(BodyParams { velocities, ..params });
        let params = SolverParams { regime, ..SolverParams::default() };
        let mut run = Run::new(builder.build().unwrap(), params);
        let before = run.momentum();
        for _ in 0..3 {
            let report = run.step(0.01).unwrap();
            assert!(report.newton_iterations <= 2, "{report:?}");
        }
        assert!((run.momentum() - before).norm() < 1e-9 * before.norm());
        let way = run.state.positions[0] - place;
        assert!((way - Vec3::new(0.03, 0.06, 0.09)).norm() < 1e-9, "{way:?}");
    }
}

/// A rigidly rotated body is at rest: a lattice need not be axis-aligned.
#[test]
fn turned_lattices_are_at_rest() {
    let turn = Quaternion::exp_map(Vec3::new(0.4, -0.7, 1.1)).to_matrix();
    let mut params = block("block", [6, 4, 4], Vec3::zero());
    params.mesh = params.mesh.mapped(|x| turn * x + Vec3::new(1.0, 2.0, 3.0)).unwrap().0;
    let held = nodes_where(&params.mesh, |x| (x - Vec3::new(1.0, 2.0, 3.0)).dot(turn * Vec3::unit(0)) < 1e-9);
    let mut builder = ModelBuilder::new();
    let block = builder.add_body(params);
    builder.pin(pin(block, "held", held, Vec3::zero()));
    builder.gravity(Vec3::new(0.0, 0.0, -1e-3));
    let mut run = Run::new(builder.build().unwrap(), SolverParams::default());
    assert!(run.model.elastic_energy(&run.state.positions, &run.control) < 1e-18);
    let before = run.state.positions.clone();
    run.step(1.0).unwrap();
    let furthest = before.iter().zip(&run.state.positions).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
    assert!(furthest > 0.0 && furthest < 1e-5, "{furthest}");
}

/// A lattice and tetrahedra, connected by springs, in one system; forces between them cancel.
#[test]
fn lattices_and_tetrahedra_share_a_system() {
    let mut builder = ModelBuilder::new();
    let lattice = block("lattice", [8, 4, 4], Vec3::zero());
    let left = nodes_where(&lattice.mesh, |x| x.x < 1e-9);
    let lattice = builder.add_body(lattice);
    builder.pin(pin(lattice, "left", left, Vec3::zero()));
    let mesh = at(&tets([0.04, 0.04, 0.04], [4, 4, 4]), Vec3::new(0.075, 0.0, 0.0));
    let overlap = nodes_where(&mesh, |x| x.x < 0.08);
    let tets = builder.add_body(body("tets", mesh, spec(Law::NeoHookean)));
    builder.force(AttachmentParams::nodes(tets, "to-lattice", overlap, AttachTarget::Body(lattice), 500.0));
    builder.gravity(Vec3::new(0.0, 0.0, -9.81));
    let mut run = Run::new(builder.build().unwrap(), SolverParams::default());
    let report = run.step(1.0).unwrap();
    assert!(report.linear_iterations < 40 * report.newton_iterations, "{report:?}");
    let weight: f64 = run.model.masses.iter().sum::<f64>() * 9.81;
    let held: Vec3 = run.model.pins[0].points.iter().map(|&p| run.state.reactions[p as usize]).sum();
    assert!((held.z - weight).abs() < 1e-4 * weight, "{held:?} for {weight}");
}

/// A body crushed flat and inverted recovers (MCA section 7, item 19).
#[test]
fn scrambled_blocks_recover() {
    let mut run = Run::new(bar([6, 6, 6]), SolverParams::default());
    let rest = run.state.positions.clone();
    let mut noise = Noise(7);
    run.disturb(|_, x| x + noise.vector() * 0.03);
    let report = run.step(1.0).unwrap();
    let furthest = rest.iter().zip(&run.state.positions).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
    assert!(furthest < 1e-6, "{furthest} after {report:?}");
}

#[test]
fn what_lattices_cannot_have_is_refused() {
    let build = |params: BodyParams| {
        let mut builder = ModelBuilder::new();
        builder.add_body(params);
        builder.build().err()
    };
    let good = || block("block", [2, 2, 2], Vec3::zero());
    let materials = vec![spec(Law::NeoHookean); 8];
    assert!(matches!(build(BodyParams { materials, ..good() }), Some(ModelError::LatticeLaw { cell: 0, .. })));
    assert!(matches!(build(BodyParams { tissue_damping: 0.1, ..good() }), Some(ModelError::Lattice { .. })));
    let mesh = block("other", [3, 2, 2], Vec3::zero()).mesh;
    let (materials, densities) = (vec![spec(Law::Corotated); 12], vec![1.0; 12]);
    let other = BodyParams { mesh, materials, densities, volume: VolumeForm::Pointwise, ..good() };
    assert!(matches!(build(other), Some(ModelError::Lattice { .. })));
    assert!(ExplicitSolver::new(&bar([4, 2, 2])).is_err());
}

/// Other solvers do not support lattices: for any setting, multigrid solves the system and the reason names it.
#[test]
fn multigrid_is_what_lattices_get() {
    for linear in [LinearSolver::Auto, LinearSolver::Cholesky, LinearSolver::Multigrid] {
        let params = SolverParams { linear, ..SolverParams::default() };
        let mut run = Run::new(bar([4, 2, 2]), params);
        let reason = run.solver.linear_solver_reason(&run.model);
        assert!(reason.contains("16 lattice cells"), "{reason}");
    }
}

/// Springs at points between nodes carry the weight of a block at any stiffness.
#[test]
fn springs_between_nodes_hold_a_block() {
    for stiffness in [1e2, 1e6] {
        let mut builder = ModelBuilder::new();
        let block = builder.add_body(block("block", [16, 6, 6], Vec3::zero()));
        let places = (0..20).map(|k| Vec3::new(0.004 + 0.0077 * f64::from(k), 0.033, 0.026 + 1e-3 * f64::from(k % 7)));
        let springs = places.map(|place| (place, stiffness / 20.0));
        builder.force(AttachmentParams::places(block, "bone", springs.collect(), AttachTarget::World));
        builder.gravity(Vec3::new(0.0, 0.0, -9.81));
        let mut run = Run::new(builder.build().unwrap(), SolverParams::default());
        let report = run.step(1.0).unwrap();
        assert!(report.linear_iterations <= 20 * report.newton_iterations, "{report:?}");
        let weight: f64 = run.model.masses.iter().sum::<f64>() * 9.81;
        let pull = |spring: &sinew_fem::force::SpringPoint| match spring.anchor {
            sinew_fem::force::Anchor::Place(place) => {
                (place - run.state.positions[spring.point as usize]) * spring.stiffness
            }
            sinew_fem::force::Anchor::Points(_) => Vec3::zero(),
        };
        let held: Vec3 = run.model.forces_of::<Attachment>().flat_map(|attachment| &attachment.springs).map(pull).sum();
        assert!((held - Vec3::unit(2) * weight).norm() < 1e-4 * weight, "{held:?} for {weight}");
    }
    let mut builder = ModelBuilder::new();
    let block = builder.add_body(block("block", [2, 2, 2], Vec3::zero()));
    builder.force(AttachmentParams::places(block, "bone", vec![(Vec3::splat(0.03), 1.0)], AttachTarget::World));
    assert!(matches!(builder.build().err(), Some(ModelError::Force(_))));
}
