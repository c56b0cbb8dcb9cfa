//! Checks the assembled tangent against differences of the pulled-back gradient, with every kind of block.

use sinew_geometry::procedural::{TetPattern, box_hexes, box_tets};
use sinew_geometry::shape::{Plane, Pose, Sphere};
use sinew_math::sparse::BlockCsr;
use sinew_math::{Quaternion, Vec3};

use super::integrator::{NewmarkParams, Regime};
use super::linear::{AssemblyPlan, AssemblyScratch, TangentAt};
use super::problem::{Problem, ProblemScratch};
use crate::contact::{ContactStage, Contacts};
use crate::force::StepContext;
use crate::force::{AttachTarget, AttachmentParams, PressureParams};
use crate::kinematics::Unknowns;
use crate::material::{Law, MaterialSpec, VolumeForm};
use crate::model::{BodyParams, ColliderParams, Model, ModelBuilder, RigidParams};

fn noise(seed: &mut u64) -> Vec3 {
    let mut next = || {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    Vec3::new(next(), next(), next())
}

/// A model with flesh bound to flesh and to a rigid ball, springs to the ball, contact with friction, pressure and both
/// kinds of damping.
fn model() -> Model {
    let mut builder = ModelBuilder::new();
    builder.gravity(Vec3::new(1.0, -9.81, 0.0));
    let mut add = |name: &str, mesh: sinew_geometry::CellMesh, law: Law, beta: f64| {
        let cells = mesh.cell_count();
        builder.add_body(BodyParams {
            name: name.into(),
            mesh,
            materials: vec![MaterialSpec::with_young(law, 1e4, 0.3); cells],
            densities: vec![1000.0; cells],
            mass_damping: 0.7,
            stiffness_damping: beta,
            tissue_damping: 0.5 * beta,
            start: Vec::new(),
            velocities: Vec::new(),
            volume: VolumeForm::Pointwise,
            surface: None,
            lattice: None,
            deformation: Default::default(),
        })
    };
    let first = box_tets(Vec3::splat(0.2), [2, 1, 1], TetPattern::Kuhn).unwrap();
    let triangles = first.boundary_triangles();
    let second = box_hexes(Vec3::new(0.3, 0.1, 0.1), [3, 1, 1]).unwrap();
    let second = second.mapped(|x| x + Vec3::new(0.15, 0.05, 0.05)).unwrap().0;
    let a = add("first", first, Law::NeoHookean, 0.02);
    let b = add("second", second, Law::StableNeoHookean, 0.05);
    let ball = builder.add_rigid(RigidParams {
        name: "ball".into(),
        shape: Sphere::new(0.1).unwrap().into(),
        mass: 1.5,
        pose: Pose { translation: Vec3::new(0.5, 0.1, 0.1), rotation: Quaternion::exp_map(Vec3::new(0.3, 0.1, 0.6)) },
        velocity: Vec3::zero(),
        angular_velocity: Vec3::zero(),
        driven_about: None,
    });
    builder.bind(b, vec![0, 1, 2, 3], AttachTarget::Body(a));
    builder.bind(b, vec![12, 13, 14, 15], AttachTarget::Rigid(ball));
    builder.force(AttachmentParams::nodes(a, "spring", vec![0, 1], AttachTarget::Rigid(ball), 300.0));
    builder.force(AttachmentParams::nodes(b, "place", vec![4, 12], AttachTarget::World, 100.0));
    builder.force(PressureParams { body: a, name: "inside".into(), triangles });
    for (name, shape, place) in [
        ("floor", Plane::new(Vec3::zero(), Vec3::unit(1)).unwrap().into(), Vec3::new(0.0, 0.02, 0.0)),
        ("knob", Sphere::new(0.2).unwrap().into(), Vec3::new(0.6, 0.1, 0.1)),
    ] {
        builder.add_collider(ColliderParams {
            name: name.into(),
            shape,
            pose: Pose::from_translation(place),
            pivot: Vec3::zero(),
            stiffness: Some(1e5),
            friction: 0.3,
            restitution: 0.5,
            side: Default::default(),
        });
    }
    builder.build().unwrap()
}

struct Setup {
    model: Model,
    plan: AssemblyPlan,
    scratch: ProblemScratch,
}

impl Setup {
    /// Calls `work` with a problem that starts from a disturbed state, and with unknowns a little further on.
    fn with_problem(&mut self, regime: Regime, work: impl FnOnce(&mut Problem<'_>, &Unknowns, &mut u64)) {
        let model = &self.model;
        let mut seed = 17;
        let mut state = model.initial_state();
        let unknowns = model.kinematics.unknown_count();
        let mut moved = state.unknowns.clone();
        let shift: Vec<Vec3> = (0..unknowns).map(|_| noise(&mut seed) * 0.01).collect();
        model.kinematics.advance(&state.unknowns, &shift, 1.0, &mut moved);
        state.unknowns.clone_from(&moved);
        model.kinematics.place(&state.unknowns, &mut state.positions);
        for v in state.velocities.iter_mut() {
            *v = noise(&mut seed);
        }
        regime.prepare(model, &mut state);
        let history = &mut state.history;
        history.last_dt = 0.07;
        history.previous_positions.clone_from(&state.positions);
        // A separate seed, so that all regimes start from the same state.
        let mut past = 71;
        for v in history.previous_velocities.iter_mut().chain(&mut history.accelerations) {
            *v = noise(&mut past);
        }
        for x in history.previous_positions.iter_mut() {
            *x += noise(&mut past) * 0.01;
        }
        let mut control = model.initial_control();
        let mut contacts = Contacts::default();
        contacts.find(model, &state, &control, 0.1);
        assert!(contacts.len() > 5);
        control.set_by_name("first.pressure.inside", 500.0).unwrap();
        control.set_by_name("second.stiffness", 0.6).unwrap();
        let ctx = StepContext { time: 0.1, dt: 0.1, previous: &state, control: &control, contacts: &contacts };
        let mut stage = ContactStage::default();
        let mut problem = Problem::new(model, &self.plan, ctx, regime, &mut self.scratch, &mut stage);
        let shift: Vec<Vec3> = (0..unknowns).map(|_| noise(&mut seed) * 0.004).collect();
        model.kinematics.advance(&state.unknowns, &shift, 1.0, &mut moved);
        work(&mut problem, &moved, &mut seed);
    }
}

fn setup() -> Setup {
    let model = model();
    let plan = AssemblyPlan::new(&model);
    Setup { model, plan, scratch: ProblemScratch::default() }
}

/// Φ and g·u along q ⊕ s u.
fn along(problem: &mut Problem<'_>, q: &Unknowns, u: &[Vec3], s: f64) -> (f64, f64, f64) {
    let kinematics = &problem.model.kinematics;
    let mut moved = q.clone();
    kinematics.advance(q, u, s, &mut moved);
    let mut x = vec![Vec3::zero(); kinematics.point_count()];
    kinematics.place(&moved, &mut x);
    let mut point_gradient = x.clone();
    let merit = problem.evaluate_gradient(&x, &mut point_gradient);
    assert!((problem.evaluate(&x).magnitude - merit.magnitude).abs() < 1e-12 * merit.magnitude);
    let mut gradient = vec![Vec3::zero(); kinematics.unknown_count()];
    kinematics.pull_back(&moved, &point_gradient, &mut gradient);
    let slope = gradient.iter().zip(u).map(|(g, u)| g.dot(*u)).sum();
    let size = gradient.iter().map(|g| g.norm()).sum();
    (merit.potential.unwrap(), slope, size)
}

/// dΦ/ds = g·u and d(g·u)/ds = uᵀ H u along every direction u; directions with a rotation include the geometric term.
#[test]
fn gradient_and_tangent_over_the_unknowns_are_derivatives_of_the_merit() {
    let mut setup = setup();
    let pattern = setup.plan.pattern.clone();
    let newmark = NewmarkParams { beta: 0.3, gamma: 0.55 };
    for regime in [Regime::Quasistatic, Regime::ImplicitEuler, Regime::Bdf2, Regime::Newmark(newmark)] {
        let plan = AssemblyPlan::new(&setup.model);
        setup.scratch = ProblemScratch::default();
        setup.with_problem(regime, |problem, q, seed| {
            assert_eq!(problem.damping_matrix().is_some(), regime.is_dynamic());
            assert_eq!(problem.bound_damping().is_empty(), regime == Regime::Quasistatic);
            let kinematics = &problem.model.kinematics;
            let mut x = vec![Vec3::zero(); kinematics.point_count()];
            kinematics.place(q, &mut x);
            let mut point_gradient = x.clone();
            problem.evaluate_gradient(&x, &mut point_gradient);
            let mut matrix = BlockCsr::<f64>::zeros(pattern.clone());
            let mut scratch = AssemblyScratch::default();
            let at = TangentAt { problem, q, x: &x, point_gradient: &point_gradient, definite: 0.0 };
            plan.assemble(&at, &mut scratch, &mut matrix);
            matrix.mirror_lower();
            let largest = matrix.values().iter().map(|b| b.norm()).fold(0.0, f64::max);
            let h = 1e-6;
            for round in 0..60 {
                // Single components first, one unknown at a time, then random directions.
                let mut u = vec![Vec3::zero(); kinematics.unknown_count()];
                match u.get_mut(round) {
                    Some(u) => *u = noise(seed),
                    None => u.iter_mut().for_each(|u| *u = noise(seed)),
                }
                let (plus, minus) = (along(problem, q, &u, h), along(problem, q, &u, -h));
                let (_, slope, size) = along(problem, q, &u, 0.0);
                assert!(((plus.0 - minus.0) / (2.0 * h) - slope).abs() < 1e-6 * size, "{regime:?}, gradient {round}");
                let mut product = u.clone();
                matrix.multiply(&u, &mut product);
                let exact: f64 = product.iter().zip(&u).map(|(p, u)| p.dot(*u)).sum();
                let numeric = (plus.1 - minus.1) / (2.0 * h);
                let scale: f64 = largest * u.iter().map(|u| u.norm_squared()).sum::<f64>();
                // Differences of forces up to `size` lose ε size / h; truncation is h² of the third derivative.
                assert!((numeric - exact).abs() < 1e-6 * scale, "{regime:?}, tangent {round}: {numeric} {exact}");
            }
        });
    }
}

#[test]
fn definite_tangent_is_positive_with_rigid_blocks() {
    let mut setup = setup();
    let plan = AssemblyPlan::new(&setup.model);
    setup.with_problem(Regime::Quasistatic, |problem, q, _| {
        let kinematics = &problem.model.kinematics;
        let mut x = vec![Vec3::zero(); kinematics.point_count()];
        kinematics.place(q, &mut x);
        let mut point_gradient = x.clone();
        problem.evaluate_gradient(&x, &mut point_gradient);
        let mut matrix = BlockCsr::<f64>::zeros(plan.pattern.clone());
        let mut scratch = AssemblyScratch::default();
        let at = TangentAt { problem, q, x: &x, point_gradient: &point_gradient, definite: 1.0 };
        plan.assemble(&at, &mut scratch, &mut matrix);
        matrix.mirror_lower();
        let eigen = sinew_math::eigen::symmetric_eigen(&matrix.to_dense(), 3 * matrix.node_count());
        let largest = eigen.values[eigen.values.len() - 1];
        assert!(eigen.values[0] > -1e-9 * largest, "{} of {largest}", eigen.values[0]);
    });
}
