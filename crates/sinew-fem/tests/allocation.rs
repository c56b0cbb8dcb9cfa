//! No step allocates after the first while the number of contacts does not grow; a counting allocator checks this. The
//! test has a program of its own, because the allocator counts everything.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use sinew_fem::contact::{ContactMode, ContactRule, Party, RestContact};
use sinew_fem::force::strand::StrandScaling;
use sinew_fem::force::{AttachTarget, AttachmentParams, FleshPlace, PressureParams, Slack, StrandParams, TendonParams};
use sinew_fem::material::{Law, MaterialSpec, VolumeForm};
use sinew_fem::model::{ColliderParams, PinParams, RigidParams};
use sinew_fem::pacing::AdaptiveParams;
use sinew_fem::solver::{LinearSolver, NewmarkParams};
use sinew_fem::{
    BodyParams, Deformation, ExplicitSolver, FrameParams, Model, ModelBuilder, NewtonSolver, Regime, Simulation,
    Solver, SolverParams, Substeps,
};
use sinew_geometry::CellMesh;
use sinew_geometry::lattice::HexLattice;
use sinew_geometry::procedural::{TetPattern, box_hexes, box_tets};
use sinew_geometry::shape::{Plane, Pose, Sphere};
use sinew_math::Vec3;
use sinew_muscle::{Curve, FiberCurves};

struct Counting;

static COUNT: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call forwards its arguments to the system allocator; counting touches no memory of the caller.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller upholds the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller upholds the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn body(name: &str, mesh: CellMesh, law: Law) -> BodyParams {
    let cells = mesh.cell_count();
    BodyParams {
        name: name.into(),
        mesh,
        materials: vec![MaterialSpec::with_young(law, 2e4, 0.3); cells],
        densities: vec![1000.0; cells],
        mass_damping: 0.1,
        stiffness_damping: 1e-3,
        tissue_damping: 1e-3,
        start: Vec::new(),
        velocities: Vec::new(),
        volume: VolumeForm::Pointwise,
        surface: None,
        lattice: None,
        deformation: Default::default(),
    }
}

/// A pinned beam pressed onto a floor, and a box bound to it and attached by springs to a ball: every kind of block and
/// force.
fn model() -> Model {
    let beam = box_tets(Vec3::new(0.6, 0.1, 0.1), [12, 4, 4], TetPattern::Kuhn).unwrap();
    let cube = box_hexes(Vec3::splat(0.1), [2, 2, 2]).unwrap().mapped(|x| x + Vec3::new(0.3, 0.09, 0.0)).unwrap().0;
    let select = |mesh: &CellMesh, is_in: &dyn Fn(Vec3) -> bool| -> Vec<u32> {
        (0..mesh.node_count() as u32).filter(|&n| is_in(mesh.positions()[n as usize])).collect()
    };
    let left = select(&beam, &|x| x.x == 0.0);
    let lower = select(&cube, &|x| x.y < 0.095);
    let triangles = beam.boundary_triangles();
    let mut builder = ModelBuilder::new();
    builder.gravity(Vec3::new(0.0, -9.81, 0.0));
    let beam = builder.add_body(body("beam", beam, Law::NeoHookean));
    let cube = builder.add_body(body("cube", cube, Law::StableNeoHookean));
    builder.pin(PinParams {
        body: beam,
        name: "left".into(),
        nodes: left,
        axes: [true; 3],
        pivot: Vec3::zero(),
        offsets: Vec::new(),
    });
    builder.bind(cube, lower, AttachTarget::Body(beam));
    let ball = builder.add_rigid(RigidParams {
        name: "ball".into(),
        shape: Sphere::new(0.05).unwrap().into(),
        mass: 0.5,
        pose: Pose::from_translation(Vec3::new(0.35, 0.25, 0.05)),
        velocity: Vec3::zero(),
        angular_velocity: Vec3::zero(),
        driven_about: None,
    });
    builder.force(AttachmentParams::nodes(cube, "spring", vec![26], AttachTarget::Rigid(ball), 100.0));
    builder.force(PressureParams { body: beam, name: "inside".into(), triangles });
    let place = |x: f64| FleshPlace::Place { body: beam, place: Vec3::new(x, 0.05, 0.05) };
    builder.force(StrandParams {
        body: beam,
        name: "strand".into(),
        columns: vec![vec![place(0.2), place(0.3), place(0.4)]],
        force: 1.0,
        passive_force: 1.0,
        scaling: StrandScaling::Physical,
        factors: Vec::new(),
        curves: FiberCurves::chen(),
        max_velocity: 10.0,
    });
    builder.force(TendonParams {
        body: beam,
        name: "tendon".into(),
        ends: vec![(place(0.4), Vec3::new(0.8, 0.05, 0.05))],
        target: AttachTarget::World,
        force: 1.0,
        curve: Curve::tendon_zajac(),
        slack: Slack::Factor(1.0),
    });
    builder.add_collider(ColliderParams {
        name: "floor".into(),
        shape: Plane::new(Vec3::zero(), Vec3::unit(1)).unwrap().into(),
        pose: Pose::from_translation(Vec3::new(0.0, 1e-3, 0.0)),
        pivot: Vec3::zero(),
        stiffness: None,
        friction: 0.3,
        restitution: 1.0,
        side: Default::default(),
    });
    builder.build().unwrap()
}

fn allocations(mut work: impl FnMut()) -> usize {
    let before = COUNT.load(Ordering::Relaxed);
    work();
    COUNT.load(Ordering::Relaxed) - before
}

/// Direct steps of the solver, then whole frames with their probes.
#[test]
fn steps_after_the_first_do_not_allocate() {
    check_explicit_frames();
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(check_lattice_frames);
        pool.install(check_affine_frames);
        pool.install(check_tangled_frames);
        pool.install(check_quasistatic_frames);
        let newmark = Regime::Newmark(NewmarkParams::default());
        for (linear, regime, substeps) in [
            (LinearSolver::Cg, Regime::ImplicitEuler, Substeps::Fixed(1)),
            (LinearSolver::Cholesky, Regime::ImplicitEuler, Substeps::Fixed(1)),
            (LinearSolver::Cholesky, Regime::Bdf2, Substeps::Adaptive(AdaptiveParams::default())),
            (LinearSolver::Cholesky, newmark, Substeps::Fixed(2)),
        ] {
            pool.install(|| {
                let params = SolverParams { regime, tolerance: 1e-6, linear, ..SolverParams::default() };
                let model = model();
                let (mut state, mut control) = (model.initial_state(), model.initial_control());
                control.set_by_name("beam.pressure.inside", 100.0).unwrap();
                control.set_by_name("beam.activation.strand", 0.5).unwrap();
                let mut solver = NewtonSolver::new(params);
                let mut most = 0;
                for step in 0..12 {
                    let mut contacts = 0;
                    let count = allocations(|| {
                        contacts = solver.step(&model, &mut state, &control, 1e-2).unwrap().contacts;
                    });
                    // Contacts at the start of this step appeared during the last one.
                    let has_grown = contacts > most;
                    most = most.max(contacts);
                    assert!(step == 0 || has_grown || count == 0, "{threads} threads, {linear:?}, {step}: {count}");
                }
                assert!(most > 10, "{most} contacts");

                let mut simulation = Simulation::new(
                    model,
                    Box::new(solver),
                    FrameParams { frame_rate: 100.0, substeps, ..FrameParams::default() },
                    Vec::new(),
                    Vec::new(),
                );
                simulation.step_frame().unwrap();
                let count = allocations(|| {
                    for _ in 0..3 {
                        simulation.step_frame().unwrap();
                    }
                });
                assert_eq!(count, 0, "{threads} threads, {linear:?}: frames");
            });
        }
    }
}

/// A bar on a lattice, held at one end, sags.
fn check_lattice_frames() {
    let lattice = HexLattice::dense(Vec3::zero(), 0.02, [16, 4, 4]).unwrap();
    let mesh = lattice.to_mesh().unwrap();
    let left = (0..mesh.node_count() as u32).filter(|&n| mesh.positions()[n as usize].x == 0.0).collect();
    let mut builder = ModelBuilder::new();
    builder.gravity(Vec3::new(0.0, -9.81, 0.0));
    let undamped = BodyParams { stiffness_damping: 0.0, tissue_damping: 0.0, ..body("bar", mesh, Law::Corotated) };
    let bar = builder.add_body(BodyParams { lattice: Some(lattice), ..undamped });
    let (name, axes) = ("left".into(), [true; 3]);
    builder.pin(PinParams { body: bar, name, nodes: left, axes, pivot: Vec3::zero(), offsets: Vec::new() });
    let model = builder.build().unwrap();
    let solver = NewtonSolver::new(SolverParams { regime: Regime::ImplicitEuler, ..SolverParams::default() });
    let frames = FrameParams { frame_rate: 100.0, ..FrameParams::default() };
    let mut simulation = Simulation::new(model, Box::new(solver), frames, Vec::new(), Vec::new());
    let mut run = || {
        for _ in 0..3 {
            simulation.step_frame().unwrap();
        }
    };
    run();
    let count = allocations(run);
    assert_eq!(count, 0, "on a lattice");
}

/// An affine block that falls onto a block with free nodes and lies on it.
fn check_affine_frames() {
    let mesh = || box_tets(Vec3::splat(0.1), [3, 3, 3], TetPattern::Kuhn).unwrap();
    let upper = mesh().mapped(|x| x + Vec3::new(0.02, 0.101, 0.01)).unwrap().0;
    let mut builder = ModelBuilder::new();
    builder.gravity(Vec3::new(0.0, -9.81, 0.0));
    let lower = builder.add_body(body("lower", mesh(), Law::StableNeoHookean));
    let affine = BodyParams { deformation: Deformation::Affine, ..body("upper", upper, Law::StableNeoHookean) };
    let upper = builder.add_body(affine);
    builder.contact(Party::Body(lower), Party::Body(upper), ContactRule::default());
    let nodes = (0..64).filter(|&n| mesh().positions()[n as usize].y == 0.0).collect();
    let (name, axes) = ("bottom".into(), [true; 3]);
    builder.pin(PinParams { body: lower, name, nodes, axes, pivot: Vec3::zero(), offsets: Vec::new() });
    let model = builder.build().unwrap();
    let solver = NewtonSolver::new(SolverParams { regime: Regime::ImplicitEuler, ..SolverParams::default() });
    let frames = FrameParams { frame_rate: 100.0, ..FrameParams::default() };
    let mut simulation = Simulation::new(model, Box::new(solver), frames, Vec::new(), Vec::new());
    let mut run = |count: usize| {
        for _ in 0..count {
            simulation.step_frame().unwrap();
        }
    };
    // Until it lies still: contacts that are met for the first time need a place.
    run(150);
    let count = allocations(|| run(3));
    assert_eq!(count, 0, "with an affine body");
}

/// Two blocks that cross at rest: contact looks in every step whether they have parted.
fn check_tangled_frames() {
    let mesh = || box_tets(Vec3::splat(0.1), [3, 3, 3], TetPattern::Kuhn).unwrap();
    let upper = mesh().mapped(|x| x + Vec3::new(0.011, 0.09, 0.017)).unwrap().0;
    let mut builder = ModelBuilder::new();
    let lower = builder.add_body(body("lower", mesh(), Law::StableNeoHookean));
    let upper = builder.add_body(body("upper", upper, Law::StableNeoHookean));
    let rule = ContactRule { mode: ContactMode::Barrier, rest: RestContact::LeftAlone, ..ContactRule::default() };
    builder.contact(Party::Body(lower), Party::Body(upper), rule);
    let model = builder.build().unwrap();
    assert_eq!(model.contact.tangles().counts(), [1, 0]);
    let solver = NewtonSolver::new(SolverParams { regime: Regime::ImplicitEuler, ..SolverParams::default() });
    let frames = FrameParams { frame_rate: 100.0, ..FrameParams::default() };
    let mut simulation = Simulation::new(model, Box::new(solver), frames, Vec::new(), Vec::new());
    let mut run = |count: usize| {
        for _ in 0..count {
            simulation.step_frame().unwrap();
        }
    };
    run(3);
    let count = allocations(|| run(3));
    assert_eq!(count, 0, "with a tangle");
}

/// A block in equilibrium between its pins and a ball that presses on it.
fn check_quasistatic_frames() {
    let mesh = box_tets(Vec3::splat(0.1), [3, 3, 3], TetPattern::Kuhn).unwrap();
    let nodes = (0..mesh.node_count() as u32).filter(|&n| mesh.positions()[n as usize].y == 0.0).collect();
    let mut builder = ModelBuilder::new();
    builder.gravity(Vec3::new(0.0, -9.81, 0.0));
    let block = builder.add_body(body("block", mesh, Law::StableNeoHookean));
    let (name, axes) = ("bottom".into(), [true; 3]);
    builder.pin(PinParams { body: block, name, nodes, axes, pivot: Vec3::zero(), offsets: Vec::new() });
    builder.add_collider(ColliderParams {
        name: "ball".into(),
        shape: Sphere::new(0.05).unwrap().into(),
        pose: Pose::from_translation(Vec3::new(0.05, 0.148, 0.05)),
        pivot: Vec3::zero(),
        stiffness: None,
        friction: 0.0,
        restitution: 0.0,
        side: Default::default(),
    });
    let model = builder.build().unwrap();
    let solver = NewtonSolver::new(SolverParams { regime: Regime::Quasistatic, ..SolverParams::default() });
    let mut simulation = Simulation::new(model, Box::new(solver), FrameParams::default(), Vec::new(), Vec::new());
    let mut run = || {
        for _ in 0..3 {
            simulation.step_frame().unwrap();
        }
    };
    run();
    let count = allocations(run);
    assert_eq!(count, 0, "in quasistatics");
}

/// The only test of this program calls this: two tests in parallel would count each other.
fn check_explicit_frames() {
    let mut builder = ModelBuilder::new();
    builder.gravity(Vec3::new(0.0, -9.81, 0.0));
    builder.add_body(body("cube", box_tets(Vec3::splat(0.1), [2, 2, 2], TetPattern::Kuhn).unwrap(), Law::NeoHookean));
    let model = builder.build().unwrap();
    let solver = Box::new(ExplicitSolver::new(&model).unwrap());
    let frames = FrameParams { substeps: Substeps::Stable { safety: 0.9 }, ..FrameParams::default() };
    let mut simulation = Simulation::new(model, solver, frames, Vec::new(), Vec::new());
    simulation.step_frame().unwrap();
    let count = allocations(|| {
        for _ in 0..3 {
            simulation.step_frame().unwrap();
        }
    });
    assert_eq!(count, 0);
}
