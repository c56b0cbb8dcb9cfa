//! Contact and pressure inside the solver: balance of forces, friction, convergence.

use sinew_fem::force::{Bone, ContactForce, PressureParams};
use sinew_fem::material::Law;
use sinew_fem::model::{ColliderParams, Side};
use sinew_fem::{Contacts, ModelBuilder, Regime, SolverParams, StepContext};
use sinew_geometry::procedural::icosphere;
use sinew_geometry::shape::{AnyShape, Capsule, LevelSet, Plane, Pose, Shape, Sphere};
use sinew_math::Vec3;

use crate::models::{Run, body, hexes, nodes_where, pin, spec, tets};

fn collider(name: &str, shape: AnyShape, place: Vec3, friction: f64) -> ColliderParams {
    let pose = Pose::from_translation(place);
    ColliderParams {
        name: name.into(),
        shape,
        pose,
        pivot: place,
        stiffness: None,
        friction,
        restitution: 1.0,
        side: Default::default(),
    }
}

fn reaction(run: &Run) -> Vec3 {
    run.model.pins[0].points.iter().map(|&p| run.state.reactions[p as usize]).sum()
}

/// Force of all colliders at the end of a step.
fn contact_force(run: &Run) -> Vec3 {
    let contacts = Contacts::default();
    let ctx = StepContext { time: 0.0, dt: 1.0, previous: &run.state, control: &run.control, contacts: &contacts };
    run.model.forces_of::<ContactForce>().map(|contact| contact.total_force(&run.state.positions, &ctx)).sum()
}

/// Each shape presses from below on a block held from above, in one step: pins and collider balance, and Newton stays
/// fast.
#[test]
fn pressed_flesh_balances_pins_and_collider() {
    let ball = LevelSet::new(icosphere(0.1, 20).unwrap(), None).unwrap();
    let shapes: [(&str, AnyShape, Vec3); 4] = [
        ("plane", Plane::new(Vec3::zero(), Vec3::unit(1)).unwrap().into(), Vec3::new(0.0, 0.02, 0.0)),
        ("sphere", Sphere::new(0.1).unwrap().into(), Vec3::new(0.1, -0.07, 0.1)),
        ("capsule", Capsule::new(0.05, 0.06).unwrap().into(), Vec3::new(0.1, -0.03, 0.1)),
        ("surface", ball.into(), Vec3::new(0.1, -0.07, 0.1)),
    ];
    for law in [Law::NeoHookean, Law::StableNeoHookean, Law::Corotated] {
        for (name, shape, place) in &shapes {
            let mesh = tets([0.2, 0.2, 0.2], [4, 4, 4]);
            let top = nodes_where(&mesh, |x| x.y == 0.2);
            let mut builder = ModelBuilder::new();
            let flesh = builder.add_body(body("flesh", mesh, spec(law)));
            builder.pin(pin(flesh, "top", top, Vec3::zero()));
            builder.add_collider(collider("press", shape.clone(), *place, 0.0));
            let mut run =
                Run::new(builder.build().unwrap(), SolverParams { tolerance: 1e-9, ..SolverParams::default() });
            let report = run.step(1.0).unwrap_or_else(|error| panic!("{law:?}, {name}: {error}"));
            assert!(report.newton_iterations <= 20, "{law:?}, {name}: {report:?}");
            let (pins, press) = (reaction(&run), contact_force(&run));
            assert!(press.y > 0.1, "{law:?}, {name}: {press:?}");
            assert!((pins + press).norm() < 1e-7 * press.norm(), "{law:?}, {name}: {pins:?} {press:?}");
        }
    }
}

/// A block that slides on a rough floor loses μ g of speed per second, and then rests.
#[test]
fn sliding_friction_decelerates_by_its_coefficient() {
    let (friction, gravity, h) = (0.4, 9.81, 5e-3);
    let mut builder = ModelBuilder::new();
    builder.gravity(Vec3::new(0.0, -gravity, 0.0));
    builder.add_body(body("block", hexes([0.2, 0.05, 0.2], [3, 1, 3]), spec(Law::StableNeoHookean).scaled(10.0)));
    let floor = Plane::new(Vec3::zero(), Vec3::unit(1)).unwrap();
    builder.add_collider(collider("floor", floor.into(), Vec3::zero(), friction));
    let params = SolverParams { regime: Regime::ImplicitEuler, ..SolverParams::default() };
    let mut run = Run::new(builder.build().unwrap(), params);
    for _ in 0..60 {
        run.step(h).unwrap();
    }
    let mass: f64 = run.model.masses.iter().sum();
    assert!(
        (contact_force(&run).y - mass * gravity).abs() < 1e-3 * mass * gravity,
        "at rest the floor carries the weight"
    );
    run.state.velocities.iter_mut().for_each(|v| *v += Vec3::unit(0));
    let mut speeds = Vec::new();
    for _ in 0..80 {
        run.step(h).unwrap();
        speeds.push(run.momentum().x / mass);
    }
    // After 0.1 s. The first step has no friction, because the normal force lags by one step.
    let expected = 1.0 - friction * gravity * 0.1;
    assert!((speeds[19] - expected).abs() < 0.02, "{} {expected}", speeds[19]);
    // It stops after 1/(μ g) = 0.255 s and then creeps by less than the smoothing speed.
    assert!(speeds[60..].iter().all(|v| v.abs() < 1e-3), "{:?}", &speeds[60..]);
}

/// A follower pressure on one face has no potential: the residual decides, and the pins carry −p ∫ n dA over the
/// deformed face.
#[test]
fn follower_pressure_on_an_open_surface_converges_and_balances() {
    for law in [Law::NeoHookean, Law::StableNeoHookean] {
        let mesh = tets([0.4, 0.1, 0.1], [8, 2, 2]);
        let left = nodes_where(&mesh, |x| x.x == 0.0);
        let is_top = |n: &u32| mesh.positions()[*n as usize].y == 0.1;
        let top: Vec<[u32; 3]> = mesh.boundary_triangles().into_iter().filter(|t| t.iter().all(is_top)).collect();
        let mut builder = ModelBuilder::new();
        let flesh = builder.add_body(body("beam", mesh.clone(), spec(law)));
        builder.pin(pin(flesh, "left", left, Vec3::zero()));
        builder.force(PressureParams { body: flesh, name: "top".into(), triangles: top.clone() });
        let mut run = Run::new(builder.build().unwrap(), SolverParams { tolerance: 1e-9, ..SolverParams::default() });
        run.set("beam.pressure.top", 30.0);
        let report = run.step(1.0).unwrap_or_else(|error| panic!("{law:?}: {error}"));
        assert!(report.newton_iterations <= 30, "{law:?}: {report}");
        let x = &run.state.positions;
        let area: Vec3 = top
            .iter()
            .map(|t| {
                let [a, b, c] = t.map(|n| x[n as usize]);
                (b - a).cross(c - a) * 0.5
            })
            .sum();
        let expected = area * 30.0;
        assert!(
            (reaction(&run) - expected).norm() < 1e-7 * expected.norm(),
            "{law:?}: {:?} {expected:?}",
            reaction(&run)
        );
        assert!(area.x.abs() > 0.02 * area.norm(), "the pressure follows the bent face: {area:?}");
    }
}

/// Flesh without strength collapses to a puddle on the floor; inner nodes do not fall through it. The last of them hits
/// the floor at 1.4 m/s, and the penalty stops it within v √(m/(k A)), about 3 mm.
#[test]
fn molten_flesh_stays_on_the_floor() {
    let mut builder = ModelBuilder::new();
    builder.gravity(Vec3::new(0.0, -9.81, 0.0));
    builder.add_body(body("puddle", tets([0.1, 0.1, 0.1], [4, 4, 4]), spec(Law::StableNeoHookean)));
    let floor = Plane::new(Vec3::zero(), Vec3::unit(1)).unwrap();
    builder.add_collider(ColliderParams { stiffness: Some(2e7), ..collider("floor", floor.into(), Vec3::zero(), 0.0) });
    let params = SolverParams { regime: Regime::ImplicitEuler, tolerance: 1e-3, ..SolverParams::default() };
    let mut run = Run::new(builder.build().unwrap(), params);
    run.set("puddle.stiffness", 1e-4);
    for step in 0..40 {
        run.step(0.01).unwrap();
        let lowest = run.state.positions.iter().map(|x| x.y).fold(f64::INFINITY, f64::min);
        assert!(lowest > -3e-3, "step {step}: {lowest}");
    }
    let highest = run.state.positions.iter().map(|x| x.y).fold(0.0, f64::max);
    assert!(highest < 0.015, "{highest}");
}

/// A plate presses skin onto a bone one cell below it. The skin keeps the distance `cover`, or its rest distance where
/// that is less. The bone has no effect on other bodies.
#[test]
fn skin_keeps_off_a_bone_as_far_as_it_is_told() {
    let capsule = Capsule::between(Vec3::new(0.02, 0.07, 0.1), Vec3::new(0.18, 0.07, 0.1), 0.02).unwrap();
    let least = |cover: f64| {
        let mut builder = ModelBuilder::new();
        let mesh = hexes([0.2, 0.1, 0.2], [10, 10, 10]);
        let below = nodes_where(&mesh, |x| x.y == 0.0);
        let flesh = builder.add_body(body("flesh", mesh.clone(), spec(Law::Corotated)));
        let other = builder.add_body(body("other", mesh, spec(Law::Corotated)));
        builder.pin(pin(flesh, "below", below.clone(), Vec3::zero()));
        builder.pin(pin(other, "below", below, Vec3::zero()));
        let plate = Plane::new(Vec3::zero(), -Vec3::unit(1)).unwrap();
        let plate = collider("plate", plate.into(), Vec3::new(0.0, 0.085, 0.0), 0.0);
        builder.add_collider(ColliderParams { stiffness: Some(1e7), ..plate });
        builder.add_collider(ColliderParams {
            pose: capsule.pose,
            side: Side::Bone { body: flesh, cover },
            // A hundred times that of the plate, which yields.
            stiffness: Some(1e9),
            ..collider("flesh.bone.ulna", capsule.shape.into(), Vec3::zero(), 0.0)
        });
        let model = builder.build().unwrap();
        let names: Vec<&str> = model.forces_of::<ContactForce>().map(|contact| contact.name.as_str()).collect();
        assert_eq!(names, ["flesh.contact.plate", "other.contact.plate"]);
        let bones: Vec<&Bone> = model.forces_of().collect();
        assert_eq!((bones.len(), &*bones[0].name, bones[0].body), (1, "ulna", flesh));
        let mut run = Run::new(model, SolverParams { tolerance: 1e-9, ..SolverParams::default() });
        run.step(1.0).unwrap();
        let flesh = &run.model.bodies[0];
        let skin = flesh.surface.positions(&run.state.positions[flesh.points.clone()]);
        let top =
            flesh.surface.positions(flesh.mesh.positions()).into_iter().zip(skin).filter(|(rest, _)| rest.y > 0.0999);
        let distances = top.map(|(_, x)| capsule.shape.distance(capsule.pose.to_local(x)));
        distances.fold(f64::INFINITY, f64::min)
    };
    let (bare, covered, whole) = (least(0.0), least(0.006), least(1.0));
    assert!(bare > -5e-4 && bare < 5e-3, "{bare} {covered} {whole}");
    assert!((covered - 0.006).abs() < 5e-4, "{bare} {covered} {whole}");
    // 1 cm at rest: it need not keep more than that.
    assert!((whole - 0.01).abs() < 5e-4, "{bare} {covered} {whole}");
}
