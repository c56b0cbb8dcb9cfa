//! Penalty contact of rigid bodies: they rest on floors, on flesh and on each other, and keep momentum.

use sinew_fem::collider::collider_poses;
use sinew_fem::contact::{ContactMode, ContactRule, Party};
use sinew_fem::force::ContactForce;
use sinew_fem::material::Law;
use sinew_fem::model::{ColliderParams, RigidParams};
use sinew_fem::{Contacts, ModelBuilder, Regime, SolverParams, StepContext};
use sinew_geometry::shape::{AnyShape, Cuboid, Plane, Pose, Sphere};
use sinew_math::{Quaternion, Vec3};

use crate::models::{Noise, Run, at, body, nodes_where, pin, spec, tets};

const GRAVITY: f64 = 9.81;

fn rigid(name: &str, shape: AnyShape, mass: f64, place: Vec3) -> RigidParams {
    RigidParams {
        name: name.into(),
        shape,
        mass,
        pose: Pose::from_translation(place),
        velocity: Vec3::zero(),
        angular_velocity: Vec3::zero(),
        driven_about: None,
    }
}

fn cube(side: f64) -> AnyShape {
    Cuboid::new(Vec3::splat(0.5 * side)).unwrap().into()
}

fn floor(friction: f64, restitution: f64) -> ColliderParams {
    ColliderParams {
        name: "floor".into(),
        shape: Plane::new(Vec3::zero(), Vec3::unit(2)).unwrap().into(),
        pose: Pose::identity(),
        pivot: Vec3::zero(),
        stiffness: Some(1e7),
        friction,
        restitution,
        side: Default::default(),
    }
}

fn heavy() -> ModelBuilder {
    let mut builder = ModelBuilder::new();
    builder.gravity(Vec3::new(0.0, 0.0, -GRAVITY));
    builder
}

fn dynamic() -> SolverParams {
    SolverParams { regime: Regime::ImplicitEuler, tolerance: 1e-10, ..SolverParams::default() }
}

fn pose(run: &Run, rigid: usize) -> Pose {
    let rigid = &run.model.rigid_bodies[rigid];
    let block = run.model.kinematics.rigid_blocks()[rigid.block as usize];
    Pose {
        translation: run.state.unknowns.vectors[block.translation as usize],
        rotation: run.state.unknowns.rotations[rigid.block as usize],
    }
}

/// Depth = m g / (k A): corners and edges of the block count with its base only.
#[test]
fn a_block_sinks_into_the_floor_by_its_weight() {
    let (side, mass) = (0.06, 0.432);
    let mut builder = heavy();
    builder.add_rigid(rigid("brick", cube(side), mass, Vec3::new(0.3, 0.1, 0.031)));
    builder.add_collider(floor(0.0, 0.0));
    let mut run = Run::new(builder.build().unwrap(), dynamic());
    for _ in 0..200 {
        run.step(0.01).unwrap();
    }
    let depth = mass * GRAVITY / (1e7 * side * side);
    let found = 0.5 * side - pose(&run, 0).translation.z;
    assert!((found / depth - 1.0).abs() < 1e-3, "{found} against {depth}");
    assert!(pose(&run, 0).rotation.log_map().norm() < 1e-9, "it does not tilt");
}

/// A block that lands on a corner turns onto a face: contact has a torque.
#[test]
fn a_tilted_block_falls_onto_a_face() {
    let mut params = rigid("brick", cube(0.06), 0.4, Vec3::new(0.0, 0.0, 0.052));
    params.pose.rotation = Quaternion::from_axis_angle(Vec3::new(1.0, 0.7, 0.0).normalized(), 0.3);
    let mut builder = heavy();
    builder.add_rigid(params);
    builder.add_collider(floor(0.8, 0.2));
    let mut run = Run::new(builder.build().unwrap(), SolverParams { tolerance: 1e-7, ..dynamic() });
    for _ in 0..300 {
        run.step(1.0 / 240.0).unwrap();
    }
    let Pose { translation, rotation } = pose(&run, 0);
    assert!((translation.z - 0.03).abs() < 2e-4, "{translation:?}");
    let up = rotation.conjugate().rotate(Vec3::unit(2));
    assert!(up.abs().max_component() > 0.9999, "it lies on a face: {up:?}");
}

/// Energy, forces and tangent of a block in a ball and in a floor agree.
#[test]
fn contact_of_rigid_bodies_is_consistent() {
    let mut builder = heavy();
    builder.add_rigid(rigid("brick", cube(0.4), 1.0, Vec3::new(0.3, 0.1, 0.1)));
    builder.add_collider(floor(0.0, 1.0));
    builder.add_collider(ColliderParams { shape: Sphere::new(0.3).unwrap().into(), ..floor(0.4, 1.0) });
    let model = builder.build().unwrap();
    let mut noise = Noise(5);
    let (mut state, control) = (model.initial_state(), model.initial_control());
    collider_poses(&model.colliders, &control, &mut state.history.collider_poses);
    let mut contacts = Contacts::default();
    contacts.find(&model, &state, &control, 20.0);
    let ctx = StepContext { time: 20.0, dt: 20.0, previous: &state, control: &control, contacts: &contacts };
    let x: Vec<Vec3> = state.positions.iter().map(|x| *x + noise.vector() * 0.01).collect();
    for contact in model.forces_of::<ContactForce>() {
        let tangent = crate::forces::check(contact, &x, &ctx);
        assert!(tangent.iter().any(|v| *v != 0.0), "{} acts", contact.name);
    }
}

/// Weight of the brick on the slab, weight of both on the held side of the slab.
#[test]
fn flesh_carries_a_brick() {
    let mesh = tets([0.12, 0.12, 0.04], [6, 6, 2]);
    let bottom = nodes_where(&mesh, |x| x.z == 0.0);
    let mass = 0.2;
    let mut builder = heavy();
    let mut flesh = body("slab", mesh, spec(Law::StableNeoHookean));
    (flesh.mass_damping, flesh.stiffness_damping) = (5.0, 0.02);
    let slab = builder.add_body(flesh);
    builder.pin(pin(slab, "bottom", bottom, Vec3::zero()));
    builder.add_rigid(rigid("brick", cube(0.06), mass, Vec3::new(0.061, 0.058, 0.0702)));
    let rule = ContactRule { friction: 0.5, restitution: 0.1, ..ContactRule::default() };
    builder.contact(Party::Body(slab), Party::Rigid(0), rule);
    let model = builder.build().unwrap();
    let weight = (model.bodies[0].mass + mass) * GRAVITY;
    let mut run = Run::new(model, SolverParams { tolerance: 1e-8, ..dynamic() });
    for _ in 0..120 {
        run.step(1.0 / 60.0).unwrap();
    }
    let held: Vec3 = run.model.pins[0].points.iter().map(|&p| run.state.reactions[p as usize]).sum();
    assert!((held.z.abs() / weight - 1.0).abs() < 1e-3, "{held:?} against {weight}");
    let height = pose(&run, 0).translation.z;
    assert!((0.06..0.0702).contains(&height), "{height}");
}

/// Bars that cross touch with no corner of either; one lies on the other.
#[test]
fn crossing_bars_carry_each_other() {
    let bar = |half: [f64; 3]| AnyShape::from(Cuboid::new(half.into()).unwrap());
    let mut builder = heavy();
    let mut held = rigid("held", bar([0.1, 0.005, 0.005]), 1.0, Vec3::new(0.0, 0.0, 0.0));
    held.driven_about = Some(Vec3::zero());
    builder.add_rigid(held);
    builder.add_rigid(rigid("free", bar([0.005, 0.1, 0.005]), 0.1, Vec3::new(0.0, 0.0, 0.0101)));
    builder.contact(Party::Rigid(0), Party::Rigid(1), ContactRule { restitution: 0.0, ..ContactRule::default() });
    let mut run = Run::new(builder.build().unwrap(), SolverParams { tolerance: 1e-8, ..dynamic() });
    for _ in 0..100 {
        run.step(1.0 / 240.0).unwrap();
    }
    let height = pose(&run, 1).translation.z;
    assert!((0.0095..0.0102).contains(&height), "{height}");
}

/// A ball hits another off its center, and one hits flesh: the sum of momenta stays.
#[test]
fn impacts_keep_momentum() {
    let ball = || AnyShape::from(Sphere::new(0.03).unwrap());
    for hits_flesh in [false, true] {
        let mut builder = ModelBuilder::new();
        let mut thrown = rigid("thrown", ball(), 0.1, Vec3::new(-0.07, 0.008, 0.004));
        thrown.velocity = Vec3::new(1.0, 0.0, 0.0);
        builder.add_rigid(thrown);
        let other = if hits_flesh {
            let block = at(&tets([0.08, 0.08, 0.08], [4, 4, 4]), Vec3::new(-0.03, -0.04, -0.04));
            Party::Body(builder.add_body(body("flesh", block, spec(Law::StableNeoHookean))))
        } else {
            Party::Rigid(builder.add_rigid(rigid("still", ball(), 0.2, Vec3::zero())))
        };
        let rule = ContactRule { mode: ContactMode::Penalty, friction: 0.3, ..ContactRule::default() };
        builder.contact(other, Party::Rigid(0), rule);
        let mut run = Run::new(builder.build().unwrap(), SolverParams { tolerance: 1e-9, ..dynamic() });
        let before = run.momentum();
        let mut touched = 0;
        for _ in 0..30 {
            touched += run.step(1e-3).unwrap().contacts;
        }
        assert!(touched > 0, "flesh: {hits_flesh}");
        let after = run.momentum();
        assert!((after - before).norm() < 1e-7 * before.norm(), "flesh: {hits_flesh}: {before:?} {after:?}");
        let slowed = run.state.velocities[run.model.rigid_bodies[0].points.start].x;
        assert!(slowed < 0.9, "flesh: {hits_flesh}: {slowed}");
    }
}

/// Between two that touch by default, `pass` and rules have the last word; what the scene moves is never pushed.
#[test]
fn colliders_push_rigid_bodies_unless_told_otherwise() {
    let names = |change: &dyn Fn(&mut ModelBuilder)| -> Vec<(String, f64)> {
        let mut builder = heavy();
        builder.add_rigid(rigid("brick", cube(0.06), 0.4, Vec3::new(0.0, 0.0, 0.1)));
        builder.add_collider(floor(0.3, 1.0));
        change(&mut builder);
        let model = builder.build().unwrap();
        model.forces_of::<ContactForce>().map(|contact| (contact.name.clone(), contact.friction)).collect()
    };
    let (own, floor) = (Party::Rigid(0), Party::Collider(0));
    let with = |mode, friction| ContactRule { mode, friction, ..ContactRule::default() };
    assert_eq!(names(&|_| ()), [("brick.contact.floor".to_string(), 0.3)]);
    assert!(
        names(&|builder| {
            builder.pass(own, 0);
        })
        .is_empty()
    );
    assert!(
        names(&|builder| {
            builder.contact(own, floor, with(ContactMode::Barrier, 0.1));
        })
        .is_empty()
    );
    let own_friction = names(&|builder| {
        builder.contact(own, floor, with(ContactMode::Penalty, 0.1));
    });
    assert_eq!(own_friction, [("brick.contact.floor".to_string(), 0.1)]);
}
