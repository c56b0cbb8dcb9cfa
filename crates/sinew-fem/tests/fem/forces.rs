//! Tests that every force must pass: the gradient is the derivative of the potential, the linearization that of the
//! gradient; it is symmetric, definite on request, and has blocks only at its `couplings`.

use std::collections::BTreeSet;

use sinew_fem::contact::Party;
use sinew_fem::force::{
    AttachTarget, Attachment, AttachmentParams, ContactForce, Linearized, LoadParams, NodalForceParams, Pressure,
    PressureParams,
};
use sinew_fem::material::{Law, Tangent};
use sinew_fem::model::{ColliderParams, RigidParams};
use sinew_fem::{Contacts, Force, Model, ModelBuilder, StepContext};
use sinew_geometry::embedding::Embedding;
use sinew_geometry::procedural::box_surface;
use sinew_geometry::shape::{AnyShape, Capsule, Cuboid, Plane, Pose, Sphere};
use sinew_math::eigen::symmetric_eigen;
use sinew_math::{Mat3, Quaternion, Vec3};

use crate::models::{Noise, at, body, spec, tets};

/// Difference step \[m\] on bodies of size 1 m: truncation h² and rounding ε/h are both below 1e-9 relative.
const H: f64 = 1e-6;

/// Two boxes of flesh (the second with a finer surface inside it), a rigid ball, all forces, and intersecting colliders
/// of all shapes.
pub fn model() -> Model {
    let mesh = tets([1.0, 1.0, 1.0], [2, 1, 1]);
    let second = at(&mesh, Vec3::new(0.3, 0.2, 0.4));
    let triangles = mesh.boundary_triangles();
    let open: Vec<[u32; 3]> = triangles[..5].to_vec();
    let skin = box_surface(Vec3::splat(0.8), [2, 2, 2]).unwrap().mapped(|x| x + Vec3::new(0.4, 0.3, 0.5)).unwrap();
    let embedding = Embedding::bind(&second, skin.positions()).unwrap();
    let mut second = body("second", second, spec(Law::NeoHookean));
    second.surface = Some((skin.triangles().to_vec(), embedding));

    let mut builder = ModelBuilder::new();
    builder.gravity(Vec3::new(0.5, -9.81, 1.0));
    let first = builder.add_body(body("first", mesh, spec(Law::NeoHookean)));
    let second = builder.add_body(second);
    let ball = builder.add_rigid(RigidParams {
        name: "ball".into(),
        shape: Sphere::new(0.3).unwrap().into(),
        mass: 2.0,
        pose: Pose { translation: Vec3::new(1.5, 0.0, 0.0), rotation: Quaternion::exp_map(Vec3::new(0.3, 0.2, -0.5)) },
        velocity: Vec3::zero(),
        angular_velocity: Vec3::zero(),
        driven_about: None,
    });
    builder.force(AttachmentParams::nodes(first, "world", vec![0, 3, 5], AttachTarget::World, 70.0));
    builder.force(AttachmentParams::nodes(first, "flesh", vec![10, 11], AttachTarget::Body(second), 50.0));
    builder.force(AttachmentParams::nodes(second, "ball", vec![1, 2], AttachTarget::Rigid(ball), 30.0));
    builder.force(PressureParams { body: first, name: "closed".into(), triangles });
    builder.force(PressureParams { body: first, name: "open".into(), triangles: open });
    builder.force(LoadParams { body: first, name: "weights".into(), weights: vec![(0, 0.25), (4, 0.75)] });
    builder.force(NodalForceParams {
        body: second,
        name: "given".into(),
        forces: vec![(1, Vec3::new(1.0, -2.0, 0.5)), (6, Vec3::unit(1))],
    });
    let mut collide = |name: &str, shape: AnyShape, pose: Pose| {
        let (pivot, stiffness) = (Vec3::new(0.1, -0.3, 0.2), Some(300.0));
        builder.add_collider(ColliderParams {
            name: name.into(),
            shape,
            pose,
            pivot,
            stiffness,
            friction: 0.4,
            restitution: 1.0,
            side: Default::default(),
        });
    };
    let turned = |translation| Pose { translation, rotation: Quaternion::exp_map(Vec3::new(-0.4, 0.7, 0.2)) };
    let middle = Vec3::new(0.55, 0.5, 0.6);
    collide("plane", Plane::new(Vec3::zero(), Vec3::new(0.2, 1.0, -0.3)).unwrap().into(), turned(middle));
    collide("sphere", Sphere::new(0.65).unwrap().into(), turned(middle));
    collide("capsule", Capsule::new(0.4, 0.5).unwrap().into(), turned(middle));
    collide("box", Cuboid::new(Vec3::new(0.7, 0.5, 0.6)).unwrap().into(), turned(middle));
    // The hundreds of points of its surface would make dense tangents slow; `rigid_contact` has its own test.
    for collider in 0..4 {
        builder.pass(Party::Rigid(ball), collider);
    }
    builder.build().unwrap()
}

fn dense(blocks: &Linearized, points: usize) -> Vec<f64> {
    let size = 3 * points;
    let mut matrix = vec![0.0; size * size];
    for &(a, b, ref block) in blocks.blocks() {
        for i in 0..3 {
            for j in 0..3 {
                matrix[(3 * a as usize + i) * size + 3 * b as usize + j] += block.rows[i][j];
            }
        }
    }
    matrix
}

fn gradient(force: &dyn Force, x: &[Vec3], ctx: &StepContext<'_>) -> Vec<Vec3> {
    let mut out = vec![Vec3::zero(); x.len()];
    force.add_gradient(x, ctx, &mut out);
    out
}

/// Checks a force at one state; returns its exact tangent.
pub fn check(force: &dyn Force, x: &[Vec3], ctx: &StepContext<'_>) -> Vec<f64> {
    let (name, size) = (force.name(), 3 * x.len());
    let exact_gradient = gradient(force, x, ctx);
    let scale = exact_gradient.iter().map(|g| g.norm()).fold(1e-3, f64::max);
    let mut exact = Linearized::default();
    force.linearize(x, ctx, Tangent::Exact, &mut exact);
    let matrix = dense(&exact, x.len());
    let mut definite = Linearized::default();
    force.linearize(x, ctx, Tangent::Definite, &mut definite);

    let announced: BTreeSet<(u32, u32)> = force.couplings().into_iter().flat_map(|(a, b)| [(a, b), (b, a)]).collect();
    for &(a, b, _) in exact.blocks().iter().chain(definite.blocks()) {
        assert!(a == b || announced.contains(&(a, b)), "{name}: block ({a}, {b}) was not announced");
    }

    let mut moved = x.to_vec();
    let mut numeric = vec![0.0; size * size];
    for column in 0..size {
        let (point, axis) = (column / 3, column % 3);
        let place = x[point][axis];
        moved[point][axis] = place + H;
        let (plus, plus_gradient) = (force.potential(&moved, ctx), gradient(force, &moved, ctx));
        moved[point][axis] = place - H;
        let (minus, minus_gradient) = (force.potential(&moved, ctx), gradient(force, &moved, ctx));
        moved[point][axis] = place;
        if let Some((plus, minus)) = plus.zip(minus) {
            let slope = (plus - minus) / (2.0 * H);
            let error = (slope - exact_gradient[point][axis]).abs();
            // Potentials of up to 1e4 J (gravity of tons) round by 1e-12, over 2 h = 2e-6.
            assert!(error < 1e-6 * scale + 1e-6, "{name}: dE/dx {column} is {slope}, error {error}");
        }
        for row in 0..size {
            numeric[row * size + column] =
                (plus_gradient[row / 3][row % 3] - minus_gradient[row / 3][row % 3]) / (2.0 * H);
        }
    }
    let stiffness = matrix.iter().chain(&numeric).fold(1e-3, |m: f64, v| m.max(v.abs()));
    let is_symmetric = force.potential(x, ctx).is_some();
    for row in 0..size {
        for column in 0..size {
            let (a, b) = (row * size + column, column * size + row);
            assert!((matrix[a] - matrix[b]).abs() <= 1e-12 * stiffness, "{name}: not symmetric at {row}, {column}");
            // The derivative of a force without a potential is not symmetric; solvers use its symmetric part.
            let expected = if is_symmetric { numeric[a] } else { 0.5 * (numeric[a] + numeric[b]) };
            let error = (matrix[a] - expected).abs();
            assert!(error < 2e-6 * stiffness, "{name}: d²E/dx² ({row}, {column}) {} is {expected}", matrix[a]);
        }
    }
    let eigen = symmetric_eigen(&dense(&definite, x.len()), size);
    assert!(eigen.values[0] >= -1e-10 * stiffness, "{name}: definite tangent has eigenvalue {}", eigen.values[0]);
    matrix
}

#[test]
fn every_force_is_consistent_on_random_states() {
    let model = model();
    let mut control = model.initial_control();
    for (channel, value) in [
        ("first.pressure.closed", 40.0),
        ("first.pressure.open", -25.0),
        ("first.load.weights.x", 3.0),
        ("first.load.weights.z", -1.0),
        ("first.attach.world.translation.y", 0.2),
        ("first.attach.world.rotation.x", 0.5),
    ] {
        control.set_by_name(channel, value).unwrap();
    }
    let names: Vec<String> = model.channels.names().to_vec();
    let mut noise = Noise(7);
    let mut active = BTreeSet::new();
    for round in 0..3 {
        let mut state = model.initial_state();
        for x in state.positions.iter_mut() {
            *x += noise.vector() * 0.05;
        }
        let mut contacts = Contacts::default();
        contacts.find(&model, &state, &control, 20.0);
        assert!(contacts.len() > 40, "the colliders reach into the flesh");
        // Colliders move during the step; slips are on both sides of the smoothing length of 1 mm/s · 20 s.
        for (k, name) in ["plane", "sphere", "capsule", "box"].iter().enumerate() {
            control.set_by_name(&format!("{name}.translation.y"), 0.01 * k as f64).unwrap();
            control.set_by_name(&format!("{name}.rotation.z"), 0.02).unwrap();
        }
        let ctx = StepContext { time: 20.0, dt: 20.0, previous: &state, control: &control, contacts: &contacts };
        let x: Vec<Vec3> = state.positions.iter().map(|x| *x + noise.vector() * 0.015).collect();
        for force in model.forces() {
            let matrix = check(force, &x, &ctx);
            if matrix.iter().any(|v| *v != 0.0) {
                active.insert((force.name().to_string(), round));
            }
        }
    }
    // Gravity and dead loads have no stiffness; everything else is active: 3 attachments, 2 pressures, 2 bodies on 4
    // colliders.
    assert_eq!(active.len(), 3 * (3 + 2 + 8), "{active:?}, channels {names:?}");
}

#[test]
fn springs_act_and_react() {
    let model = model();
    let mut noise = Noise(3);
    let (state, control, contacts) = (model.initial_state(), model.initial_control(), Contacts::default());
    let ctx = StepContext { time: 0.0, dt: 1.0, previous: &state, control: &control, contacts: &contacts };
    let x: Vec<Vec3> = state.positions.iter().map(|x| *x + noise.vector() * 0.1).collect();
    for attachment in model.forces_of::<Attachment>().skip(1) {
        let total: Vec3 = gradient(attachment, &x, &ctx).into_iter().sum();
        assert!(total.norm() < 1e-12, "{}: {total:?}", attachment.name);
    }
    // Pressure on a closed surface has no resultant either: ∮ n dA = 0.
    let mut control = model.initial_control();
    control.set_by_name("first.pressure.closed", 100.0).unwrap();
    let ctx = StepContext { control: &control, ..ctx };
    let pressures: Vec<&Pressure> = model.forces_of().collect();
    let total: Vec3 = gradient(pressures[0], &x, &ctx).into_iter().sum();
    assert!(total.norm() < 1e-12, "{total:?}");
    assert!(pressures[0].is_closed && !pressures[1].is_closed);
}

/// Inside a ball of radius R at depth d the penalty has the tangential stiffness −k A d/(R − d) that Newton needs.
#[test]
fn contact_with_a_sphere_has_its_curvature() {
    let mesh = tets([1.0, 1.0, 1.0], [1, 1, 1]);
    let mut builder = ModelBuilder::new();
    builder.add_body(body("flesh", mesh, spec(Law::NeoHookean)));
    builder.add_collider(ColliderParams {
        name: "ball".into(),
        shape: Sphere::new(0.5).unwrap().into(),
        pose: Pose::from_translation(Vec3::new(-0.4, 0.0, 0.0)),
        pivot: Vec3::zero(),
        stiffness: Some(1e3),
        friction: 0.0,
        restitution: 1.0,
        side: Default::default(),
    });
    let model = builder.build().unwrap();
    let (state, control, contacts) = (model.initial_state(), model.initial_control(), Contacts::default());
    let ctx = StepContext { time: 0.0, dt: 1.0, previous: &state, control: &control, contacts: &contacts };
    let contact = model.forces_of::<ContactForce>().next().unwrap();
    let mut blocks = Linearized::default();
    contact.linearize(&state.positions, &ctx, Tangent::Exact, &mut blocks);
    let [(a, b, block)] = blocks.blocks() else { panic!("one point touches: {blocks:?}") };
    let vertex = contact.entries.iter().position(|entry| entry.0 == *a).unwrap();
    let stiffness = 1e3 * contact.areas[vertex];
    let expected = Mat3::diagonal(Vec3::new(1.0, -0.1 / 0.4, -0.1 / 0.4)) * stiffness;
    assert!(a == b && (*block - expected).norm() < 1e-12 * stiffness, "{block:?}");
}
