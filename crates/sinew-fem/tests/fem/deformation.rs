//! Bodies in few coordinates against closed forms, against the same bodies with free nodes, and against differences.

use sinew_fem::contact::{ContactMode, ContactRule, Party};
use sinew_fem::elastic::FiberGroup;
use sinew_fem::force::{AttachTarget, AttachmentParams, ContactForce, LoadParams, PressureParams};
use sinew_fem::material::closed_form::uniaxial;
use sinew_fem::material::{Law, MaterialSpec, Tangent};
use sinew_fem::model::{ColliderParams, MuscleParams};
use sinew_fem::solver::{ExplicitError, ExplicitSolver, NewmarkParams};
use sinew_fem::surface_check::SurfaceCheck;
use sinew_fem::{
    BodyParams, Contacts, Deformation, Linearization, LinearizationPlan, Model, ModelBuilder, ModelError, Regime,
    SolverParams, StepContext,
};
use sinew_geometry::lattice::HexLattice;
use sinew_geometry::shape::{Plane, Pose};
use sinew_math::{Mat3, Vec3};

use crate::models::{Noise, Run, at, body, hexes, nodes_where, pin, spec, tets};

fn affine(params: BodyParams) -> BodyParams {
    BodyParams { deformation: Deformation::Affine, ..params }
}

fn floor(friction: f64) -> ColliderParams {
    ColliderParams {
        name: "floor".into(),
        shape: Plane::new(Vec3::zero(), Vec3::unit(1)).unwrap().into(),
        pose: Pose::from_translation(Vec3::zero()),
        pivot: Vec3::zero(),
        stiffness: None,
        friction,
        restitution: 1.0,
        side: Default::default(),
    }
}

fn length(run: &Run, axis: usize) -> f64 {
    let along = || run.state.positions.iter().map(|x| x[axis]);
    along().fold(f64::NEG_INFINITY, f64::max) - along().fold(f64::INFINITY, f64::min)
}

/// A bar of hexahedra that nothing holds, 3 × 1 × 1 cells, pulled at both ends by the same tension.
fn pulled(law: Law, deformation: Deformation, force: f64) -> Run {
    let mesh = hexes([0.3, 0.1, 0.1], [3, 1, 1]);
    let end = |x: f64| nodes_where(&mesh, |p| (p.x - x).abs() < 1e-9).into_iter().map(|node| (node, 0.25)).collect();
    let (left, right) = (end(0.0), end(0.3));
    let mut builder = ModelBuilder::new();
    let bar = builder.add_body(BodyParams { deformation, ..body("bar", mesh, spec(law)) });
    builder.force(LoadParams { body: bar, name: "left".into(), weights: left });
    builder.force(LoadParams { body: bar, name: "right".into(), weights: right });
    let params = SolverParams { tolerance: 1e-11, ..SolverParams::default() };
    let mut run = Run::new(builder.build().unwrap(), params);
    run.set("bar.load.left.x", -force);
    run.set("bar.load.right.x", force);
    run.step(1.0).unwrap();
    run
}

/// A uniform tension stretches every cell alike, so twelve numbers are as good as all nodes, and as good as the
/// formula.
#[test]
fn a_pulled_affine_bar_follows_the_closed_form() {
    for law in [Law::NeoHookean, Law::StableNeoHookean, Law::Corotated, Law::MooneyRivlin] {
        let expected = uniaxial(&spec(law), 1.3).unwrap();
        let force = expected.nominal_stress * 0.01;
        for deformation in [Deformation::Free, Deformation::Affine] {
            let run = pulled(law, deformation.clone(), force);
            for (axis, rest, stretch) in [(0, 0.3, 1.3), (1, 0.1, expected.lateral_stretch)] {
                let error = (length(&run, axis) / rest - stretch).abs();
                assert!(error < 1e-8, "{}, {deformation:?}, axis {axis}: {error}", law.name());
            }
        }
    }
}

/// Fibers of one direction shorten flesh alike everywhere: an affine muscle is as long as one with free nodes.
#[test]
fn an_affine_muscle_shortens_like_one_with_free_nodes() {
    let lengths = [Deformation::Free, Deformation::Affine].map(|deformation| {
        let mesh = tets([0.06, 0.02, 0.02], [3, 1, 1]);
        let cells = mesh.cell_count();
        let mut builder = ModelBuilder::new();
        let material = MaterialSpec::with_young(Law::StableNeoHookean, 2e5, 0.45);
        let muscle = builder.add_body(BodyParams { deformation, ..body("muscle", mesh, material) });
        builder.muscle(MuscleParams {
            body: muscle,
            name: "all".into(),
            cells: (0..cells as u32).collect(),
            directions: vec![Vec3::unit(0); cells],
            stress: vec![3e5; cells],
            group: FiberGroup::default(),
        });
        let params = SolverParams { tolerance: 1e-11, ..SolverParams::default() };
        let mut run = Run::new(builder.build().unwrap(), params);
        run.set("muscle.activation.all", 0.5);
        run.step(1.0).unwrap();
        [length(&run, 0), length(&run, 1)]
    });
    let [free, affine] = lengths;
    assert!(free[0] < 0.05 && free[1] > 0.021, "{free:?}");
    for axis in 0..2 {
        assert!((free[axis] - affine[axis]).abs() < 1e-7 * free[axis], "{free:?} {affine:?}");
    }
}

/// A spinning stiff body thrown upwards, for 0.2 s by the trapezoidal rule: how far from the parabola its center goes,
/// how much momentum and angular momentum about the center change.
fn flight(steps: usize) -> [f64; 3] {
    let mut cube = affine(body("cube", hexes([0.1, 0.2, 0.3], [1, 2, 2]), spec(Law::StableNeoHookean).scaled(1e3)));
    let (velocity, spin) = (Vec3::new(1.0, 2.0, -0.5), Vec3::new(1.0, 4.0, 2.0));
    let center = Vec3::new(0.05, 0.1, 0.15);
    cube.velocities = cube.mesh.positions().iter().map(|&x| velocity + spin.cross(x - center)).collect();
    let gravity = Vec3::new(0.0, -9.81, 0.0);
    let mut builder = ModelBuilder::new();
    builder.gravity(gravity);
    builder.add_body(cube);
    let regime = Regime::Newmark(NewmarkParams::default());
    let params = SolverParams { regime, tolerance: 1e-11, ..SolverParams::default() };
    let mut run = Run::new(builder.build().unwrap(), params);
    let mass: f64 = run.model.masses.iter().sum();
    let about_center = |run: &Run| {
        let points = 0..run.model.kinematics.point_count();
        let x = sinew_fem::diagnostics::center_of_mass(&run.model, &run.state.positions, points.clone());
        sinew_fem::diagnostics::angular_momentum(&run.model, &run.state, points) - x.cross(run.momentum())
    };
    let before = about_center(&run);
    let time = 0.2;
    for _ in 0..steps {
        run.step(time / steps as f64).unwrap();
    }
    let points = 0..run.model.kinematics.point_count();
    let place = sinew_fem::diagnostics::center_of_mass(&run.model, &run.state.positions, points);
    let parabola = center + velocity * time + gravity * (0.5 * time * time);
    let momentum = (velocity + gravity * time) * mass;
    [
        place.distance(parabola),
        (run.momentum() - momentum).norm() / momentum.norm(),
        (about_center(&run) - before).norm() / before.norm(),
    ]
}

/// The parabola and the momentum are exact for this rule; the angular momentum converges, slowly because no step
/// resolves the vibrations of stiff flesh.
#[test]
fn affine_bodies_fly_on_parabolas_and_keep_their_spin() {
    let (coarse, fine) = (flight(40), flight(80));
    for [place, momentum, _] in [coarse, fine] {
        assert!(place < 1e-8 && momentum < 1e-8, "{place} {momentum}");
    }
    assert!(fine[2] < 1e-4 && coarse[2] / fine[2] > 2.0, "{coarse:?} {fine:?}");
}

/// A damped block that was dropped comes to rest where the floor carries its weight.
#[test]
fn an_affine_block_rests_on_the_floor_with_its_weight() {
    let mut block = affine(body(
        "block",
        at(&tets([0.1, 0.1, 0.1], [2, 2, 2]), Vec3::new(0.0, 0.02, 0.0)),
        spec(Law::StableNeoHookean),
    ));
    block.stiffness_damping = 5e-3;
    block.mass_damping = 5.0;
    let mut builder = ModelBuilder::new();
    builder.gravity(Vec3::new(0.0, -9.81, 0.0));
    builder.add_body(block);
    builder.add_collider(floor(0.3));
    let params = SolverParams { regime: Regime::ImplicitEuler, tolerance: 1e-9, ..SolverParams::default() };
    let mut run = Run::new(builder.build().unwrap(), params);
    for _ in 0..300 {
        run.step(1e-2).unwrap();
    }
    let contacts = Contacts::default();
    let ctx = StepContext { time: 0.0, dt: 1.0, previous: &run.state, control: &run.control, contacts: &contacts };
    let force: Vec3 =
        run.model.forces_of::<ContactForce>().map(|contact| contact.total_force(&run.state.positions, &ctx)).sum();
    let weight = 9.81 * run.model.masses.iter().sum::<f64>();
    assert!((force.y - weight).abs() < 1e-6 * weight && force.x.abs() < 1e-6 * weight, "{force:?} {weight}");
}

/// A stiff affine block thrown at soft flesh with free nodes, off center.
fn collision(mode: ContactMode) -> Model {
    let still = tets([0.1, 0.1, 0.1], [3, 3, 3]);
    let hard = spec(Law::StableNeoHookean).scaled(100.0);
    let mut thrown = affine(body("thrown", at(&still, Vec3::new(-0.105, 0.013, 0.027)), hard));
    thrown.velocities = vec![Vec3::new(1.0, 0.0, 0.0); thrown.mesh.node_count()];
    let mut builder = ModelBuilder::new();
    builder.add_body(body("still", still, spec(Law::StableNeoHookean)));
    builder.add_body(thrown);
    builder.contact(Party::Body(0), Party::Body(1), ContactRule { mode, friction: 0.3, ..ContactRule::default() });
    builder.build().unwrap()
}

/// Both modes of contact, on one thread and on two: momentum stays, nothing crosses, the bits are the same.
#[test]
fn affine_bodies_collide_with_flesh() {
    for mode in [ContactMode::Barrier, ContactMode::Penalty] {
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let params = SolverParams { regime: Regime::ImplicitEuler, tolerance: 1e-8, ..SolverParams::default() };
                let mut run = Run::new(collision(mode), params);
                let before = run.momentum();
                let mut touched = 0;
                for _ in 0..25 {
                    touched += run.step(1e-3).unwrap().contacts;
                    let check = SurfaceCheck::of(&run.model, &run.state);
                    if mode == ContactMode::Barrier {
                        assert_eq!(check, SurfaceCheck::default());
                    }
                    assert!(check.penetration < 0.0125, "{check:?}");
                }
                assert!(touched > 0, "{mode:?}");
                let after = run.momentum();
                assert!((after - before).norm() < 1e-7 * before.norm(), "{mode:?}: {before:?} {after:?}");
                run.state
            })
        };
        assert!(with(1) == with(2), "{mode:?}");
    }
}

/// Bending shapes of a bar along x, clamped at x = 0, in y and z, and its stretch: five numbers.
fn bending_modes(rest: &[Vec3]) -> Vec<Vec<Vec3>> {
    let mode = |f: &dyn Fn(Vec3) -> Vec3| rest.iter().map(|&x| f(x)).collect();
    vec![
        mode(&|x| Vec3::new(-2.0 * x.x * (x.y - 0.05), x.x * x.x, 0.0)),
        mode(&|x| Vec3::new(-2.0 * x.x * (x.z - 0.05), 0.0, x.x * x.x)),
        mode(&|x| Vec3::new(-3.0 * x.x * x.x * (x.y - 0.05), x.x.powi(3), 0.0)),
        mode(&|x| Vec3::new(x.x, 0.0, 0.0)),
        mode(&|x| Vec3::new(0.0, -0.3 * (x.y - 0.05), -0.3 * (x.z - 0.05)) * x.x),
    ]
}

/// A bar in five numbers under a small weight: q solves Φᵀ K Φ q = Φᵀ f with the stiffness of the bar with free nodes.
#[test]
fn a_bar_in_five_numbers_is_the_galerkin_solution() {
    let mesh = hexes([0.4, 0.1, 0.1], [6, 2, 2]);
    let modes = bending_modes(mesh.positions());
    let gravity = Vec3::new(2e-5, -9e-5, 4e-5);
    let build = |deformation: Deformation| {
        let mut builder = ModelBuilder::new();
        builder.gravity(gravity);
        builder.add_body(BodyParams { deformation, ..body("bar", mesh.clone(), spec(Law::StableNeoHookean)) });
        builder.build().unwrap()
    };
    let full = build(Deformation::Free);
    let plan = LinearizationPlan::new(&full);
    let (state, control) = (full.initial_state(), full.initial_control());
    let at = Linearization::new(&plan, &full, &state, &control, Tangent::Exact).unwrap();
    let dot = |a: &[Vec3], b: &[Vec3]| a.iter().zip(b).map(|(a, b)| a.dot(*b)).sum::<f64>();
    let weight: Vec<Vec3> = full.masses.iter().map(|&m| gravity * m).collect();
    let (mut stiffness, mut load) = (vec![[0.0; 5]; 5], [0.0; 5]);
    for i in 0..5 {
        let mut product = vec![Vec3::zero(); mesh.node_count()];
        at.product(&modes[i], &mut product).unwrap();
        (0..5).for_each(|j| stiffness[j][i] = dot(&modes[j], &product));
        load[i] = dot(&modes[i], &weight);
    }
    let expected = solve(stiffness, load);
    let params = SolverParams { tolerance: 1e-9, ..SolverParams::default() };
    let mut run = Run::new(build(Deformation::Modes(modes)), params);
    assert_eq!(run.model.kinematics.unknown_count(), 2);
    run.step(1.0).unwrap();
    let q: Vec<f64> = run.state.unknowns.vectors.iter().flat_map(|v| v.to_array()).collect();
    let size = expected.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    for k in 0..5 {
        // Strains of 1e-5 leave about that much of nonlinearity.
        assert!((q[k] - expected[k]).abs() < 1e-4 * size, "{k}: {q:?} {expected:?}");
    }
    assert_eq!(q[5], 0.0);
}

/// Elimination without pivots: the matrix is definite.
fn solve(mut a: Vec<[f64; 5]>, mut b: [f64; 5]) -> [f64; 5] {
    for k in 0..5 {
        for i in k + 1..5 {
            let factor = a[i][k] / a[k][k];
            (k..5).for_each(|j| a[i][j] -= factor * a[k][j]);
            b[i] -= factor * b[k];
        }
    }
    for k in (0..5).rev() {
        b[k] = (b[k] - (k + 1..5).map(|j| a[k][j] * b[j]).sum::<f64>()) / a[k][k];
    }
    b
}

/// An affine muscle sprung to a box with free nodes, to a bar in five numbers and to the world, and flesh bound to it.
fn everything() -> Model {
    let mesh = tets([0.06, 0.02, 0.02], [3, 1, 1]);
    let (cells, triangles) = (mesh.cell_count(), mesh.boundary_triangles());
    let mut builder = ModelBuilder::new();
    builder.gravity(Vec3::new(0.5, -9.81, 1.0));
    let muscle = builder.add_body(affine(body("muscle", mesh, spec(Law::StableNeoHookean))));
    builder.muscle(MuscleParams {
        body: muscle,
        name: "all".into(),
        cells: (0..cells as u32).collect(),
        directions: vec![Vec3::unit(0); cells],
        stress: vec![3e4; cells],
        group: FiberGroup::default(),
    });
    let fat = at(&hexes([0.02, 0.02, 0.02], [2, 1, 1]), Vec3::new(0.01, 0.015, 0.0));
    let inside = nodes_where(&fat, |x| x.y < 0.02);
    let fat = builder.add_body(body("fat", fat, spec(Law::NeoHookean)));
    builder.bind(fat, inside, AttachTarget::Body(muscle));
    let bar = at(&hexes([0.4, 0.1, 0.1], [3, 1, 1]), Vec3::new(0.05, 0.0, 0.0));
    let deformation = Deformation::Modes(bending_modes(bar.positions()));
    let bar = builder.add_body(BodyParams { deformation, ..body("bar", bar, spec(Law::Corotated)) });
    builder.force(AttachmentParams::nodes(muscle, "bar", vec![3, 7], AttachTarget::Body(bar), 50.0));
    builder.force(AttachmentParams::nodes(muscle, "world", vec![0, 4, 8], AttachTarget::World, 70.0));
    builder.force(PressureParams { body: muscle, name: "closed".into(), triangles });
    builder.build().unwrap()
}

/// Gradients against differences of the energy, and products against differences of the gradients, in the unknowns of
/// all of them at a random place.
#[test]
fn derivatives_by_few_coordinates_are_those_of_the_energy() {
    let mut run = Run::new(everything(), SolverParams::default());
    let mut noise = Noise(7);
    run.disturb(|_, x| x + noise.vector() * 5e-4);
    run.set("muscle.activation.all", 0.4);
    run.set("muscle.pressure.closed", 500.0);
    let (model, state) = (&run.model, &run.state);
    let plan = LinearizationPlan::new(model);
    let at = Linearization::new(&plan, model, state, &run.control, Tangent::Exact).unwrap();
    let mut v = Noise(11).vectors(model.kinematics.unknown_count());
    model.kinematics.filter(&mut v);
    let moved = |s: f64| {
        let mut out = state.clone();
        model.kinematics.advance(&state.unknowns, &v, s, &mut out.unknowns);
        model.kinematics.place(&out.unknowns, &mut out.positions);
        out
    };
    let mut product = vec![Vec3::zero(); v.len()];
    at.product(&v, &mut product).unwrap();
    let h = 1e-8;
    let [plus, minus] = [h, -h].map(|s| at.gradient_at(&moved(s)).unwrap());
    let numeric: Vec<Vec3> = plus.iter().zip(&minus).map(|(&p, &m)| (p - m) / (2.0 * h)).collect();
    let (mut off, mut size) = (0.0, 0.0);
    for (n, p) in numeric.iter().zip(&product) {
        off += (*n - *p).norm_squared();
        size += p.norm_squared();
    }
    // Rounding of forces of 1 N over h.
    assert!(off.sqrt() < 1e-6 * size.sqrt(), "{off} {size}");
    // Without activation, of which only the stored part counts as energy.
    let mut control = run.control.clone();
    control.set_by_name("muscle.activation.all", 0.0).unwrap();
    let at = Linearization::new(&plan, model, state, &control, Tangent::Exact).unwrap();
    let energy = |s: f64| {
        let energies = model.energies(&moved(s), &control);
        energies.elastic + energies.gravity + energies.other
    };
    let slope: f64 = at.gradient_at(state).unwrap().iter().zip(&v).map(|(g, v)| g.dot(*v)).sum();
    let h = 1e-6;
    let numeric = (energy(h) - energy(-h)) / (2.0 * h);
    assert!((numeric - slope).abs() < 1e-6 * slope.abs(), "{numeric} {slope}");
}

/// Start places that are an affine image of the rest are taken; others are refused.
#[test]
fn affine_bodies_start_at_affine_images() {
    let mesh = tets([0.1, 0.1, 0.1], [2, 2, 2]);
    let a = Mat3::new([[1.2, 0.3, -0.1], [0.2, 0.7, 0.5], [-0.4, 0.1, 1.5]]);
    let start: Vec<Vec3> = mesh.positions().iter().map(|&x| a * x + Vec3::unit(2)).collect();
    let build = |start: Vec<Vec3>| {
        let mut builder = ModelBuilder::new();
        builder.add_body(BodyParams { start, ..affine(body("box", mesh.clone(), spec(Law::NeoHookean))) });
        builder.build()
    };
    let state = build(start.clone()).unwrap().initial_state();
    for (x, wanted) in state.positions.iter().zip(&start) {
        assert!(x.distance(*wanted) < 1e-12, "{x:?} {wanted:?}");
    }
    let mut bent = start;
    bent[3].x += 0.01;
    assert!(matches!(build(bent), Err(ModelError::Deformation { .. })));
}

#[test]
fn what_bodies_in_few_coordinates_cannot_have_is_refused() {
    let mesh = || tets([0.1, 0.1, 0.1], [1, 1, 1]);
    let reason = |params: BodyParams, more: &dyn Fn(&mut ModelBuilder)| {
        let mut builder = ModelBuilder::new();
        builder.add_body(params);
        builder.add_body(body("other", mesh(), spec(Law::NeoHookean)));
        more(&mut builder);
        match builder.build() {
            Err(ModelError::Deformation { body, reason }) => {
                assert_eq!(body, "box");
                reason
            }
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("it was built"),
        }
    };
    let cube = || affine(body("box", mesh(), spec(Law::NeoHookean)));
    let nothing = |_: &mut ModelBuilder| ();
    let pinned = reason(cube(), &|builder| {
        builder.pin(pin(0, "left", vec![0, 1], Vec3::zero()));
    });
    assert!(pinned.contains("pinned") && pinned.contains("attach"), "{pinned}");
    let bound = reason(cube(), &|builder| {
        builder.bind(0, vec![0, 1], AttachTarget::Body(1));
    });
    assert!(bound.contains("bound") && bound.contains("attach"), "{bound}");
    let lattice = HexLattice::dense(Vec3::zero(), 0.05, [2, 2, 2]).unwrap();
    let on_lattice = body("box", lattice.to_mesh().unwrap(), spec(Law::Corotated));
    let lattice = BodyParams { lattice: Some(lattice), ..affine(on_lattice) };
    assert!(reason(lattice, &nothing).contains("lattice"));
    let modes =
        |modes| BodyParams { deformation: Deformation::Modes(modes), ..body("box", mesh(), spec(Law::Corotated)) };
    assert!(reason(modes(vec![]), &nothing).contains("no mode"));
    assert!(reason(modes(vec![vec![Vec3::zero(); 3]]), &nothing).contains("each node"));
    assert!(reason(modes(vec![vec![Vec3::splat(f64::NAN); 8]]), &nothing).contains("finite"));
    let mut builder = ModelBuilder::new();
    builder.add_body(cube());
    let refused = ExplicitSolver::new(&builder.build().unwrap()).err();
    assert_eq!(refused, Some(ExplicitError::Deformation { body: "box".into() }));
}
