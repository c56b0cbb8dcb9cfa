//! The stiffness of a state: products against differences of the forces, solutions against products, and derivatives of
//! the forces by channels and parameters against differences.

use sinew_fem::elastic::FiberGroup;
use sinew_fem::force::{
    Assembly, AttachTarget, AttachmentParams, ForceError, ForceParams, Linearized, LoadParams, PressureParams,
};
use sinew_fem::linearization::{Input, Kink, Parameter, Source};
use sinew_fem::material::{FiberStretch, Law, MaterialSpec, Tangent, VolumeForm};
use sinew_fem::model::MuscleParams;
use sinew_fem::{
    BodyParams, Control, Force, FrameParams, Linearization, LinearizationPlan, Model, ModelBuilder, NewtonSolver,
    Simulation, SolverParams, State, StepContext,
};
use sinew_geometry::lattice::HexLattice;
use sinew_math::{Mat3, Vec3};

use crate::forces;
use crate::models::{Noise, Run, at, body, hexes, nodes_where, pin, spec, tets};

/// A bar of tetrahedra, held at one end, with a muscle in each half and an open and a closed pressure.
fn muscle_bar(material: MaterialSpec) -> Model {
    let mesh = tets([0.06, 0.02, 0.02], [3, 1, 1]);
    let (cells, left) = (mesh.cell_count(), nodes_where(&mesh, |x| x.x < 1e-9));
    let right = nodes_where(&mesh, |x| x.x > 0.06 - 1e-9);
    let triangles = mesh.boundary_triangles();
    let mut builder = ModelBuilder::new();
    builder.gravity(Vec3::new(0.5, -9.81, 1.0));
    let bar = builder.add_body(body("bar", mesh, material));
    for (name, range) in [("front", 0..cells / 2), ("back", cells / 2..cells)] {
        let count = range.len();
        builder.muscle(MuscleParams {
            body: bar,
            name: name.into(),
            cells: range.map(|cell| cell as u32).collect(),
            directions: vec![Vec3::unit(0); count],
            stress: vec![3e4; count],
            group: FiberGroup::default(),
        });
    }
    builder.force(PressureParams { body: bar, name: "open".into(), triangles: triangles[..5].to_vec() });
    builder.force(LoadParams { body: bar, name: "weights".into(), weights: vec![(right[0], 1.0)] });
    builder.pin(pin(bar, "left", left, Vec3::zero()));
    builder.build().unwrap()
}

/// The fibers that lattices know.
fn lattice_fibers() -> FiberGroup {
    FiberGroup { measure: FiberStretch::Full, ..FiberGroup::default() }
}

/// A lattice, held at one end, and a box of tetrahedra that hangs on it by springs.
fn lattice_and_tets() -> Model {
    let mut builder = ModelBuilder::new();
    let lattice = HexLattice::dense(Vec3::zero(), 0.01, [6, 3, 3]).unwrap();
    let mesh = lattice.to_mesh().unwrap();
    let left = nodes_where(&mesh, |x| x.x < 1e-9);
    let params = BodyParams { lattice: Some(lattice), ..body("lattice", mesh, spec(Law::Corotated)) };
    let cells = params.mesh.cell_count();
    let first = builder.add_body(params);
    builder.inversion_barrier(first);
    builder.muscle(MuscleParams {
        body: first,
        name: "all".into(),
        cells: (0..cells as u32).collect(),
        directions: vec![Vec3::unit(0); cells],
        stress: vec![3e3; cells],
        group: lattice_fibers(),
    });
    let second = at(&tets([0.03, 0.03, 0.03], [2, 2, 2]), Vec3::new(0.06, 0.0, 0.0));
    let touching = nodes_where(&second, |x| x.x < 0.06 + 1e-9);
    let second = builder.add_body(body("box", second, spec(Law::NeoHookean)));
    builder.force(AttachmentParams::nodes(second, "glue", touching, AttachTarget::Body(first), 40.0));
    builder.pin(pin(first, "left", left, Vec3::zero()));
    builder.build().unwrap()
}

fn disturbed(model: Model, size: f64) -> Run {
    let mut run = Run::new(model, SolverParams::default());
    let mut noise = Noise(7);
    run.disturb(|_, x| x + noise.vector() * size);
    run
}

fn free(model: &Model, mut v: Vec<Vec3>) -> Vec<Vec3> {
    model.kinematics.filter(&mut v);
    v
}

fn norm(v: &[Vec3]) -> f64 {
    sinew_math::krylov::norm(v)
}

fn distance(a: &[Vec3], b: &[Vec3]) -> f64 {
    norm(&a.iter().zip(b).map(|(&a, &b)| a - b).collect::<Vec<_>>())
}

fn moved(model: &Model, state: &State, d: &[Vec3], s: f64) -> State {
    let mut out = state.clone();
    model.kinematics.advance(&state.unknowns, d, s, &mut out.unknowns);
    model.kinematics.place(&out.unknowns, &mut out.positions);
    out
}

/// Relative error of K v against central differences of the forces along v.
fn tangent_error(run: &Run, h: f64) -> f64 {
    let plan = LinearizationPlan::new(&run.model);
    let at = Linearization::new(&plan, &run.model, &run.state, &run.control, Tangent::Exact).unwrap();
    let v = free(&run.model, Noise(11).vectors(run.model.kinematics.unknown_count()));
    let mut product = vec![Vec3::zero(); v.len()];
    at.product(&v, &mut product).unwrap();
    let [plus, minus] = [h, -h].map(|s| at.gradient_at(&moved(&run.model, &run.state, &v, s)).unwrap());
    let numeric: Vec<Vec3> = plus.iter().zip(&minus).map(|(&p, &m)| (p - m) / (2.0 * h)).collect();
    distance(&numeric, &product) / norm(&product)
}

/// Differences with steps of 1e-6 of a cell are accurate to 1e-8; an open pressure makes K nonsymmetric.
#[test]
fn products_are_derivatives_of_the_forces() {
    for law in [Law::StableNeoHookean, Law::MooneyRivlin] {
        let mut run = disturbed(muscle_bar(spec(law)), 5e-4);
        run.set("bar.pressure.open", 800.0);
        run.set("bar.activation.front", 0.4);
        let error = tangent_error(&run, 1e-8);
        assert!(error < 1e-6, "{}: {error}", law.name());
    }
}

/// Differences of steps of 1e-6 of a cell leave 1e-8, whatever the strain, with active fibers and with cells that
/// resist inversion.
#[test]
fn products_with_lattices_are_derivatives_of_the_forces() {
    for size in [0.0, 3e-4, 2e-3] {
        let mut run = disturbed(lattice_and_tets(), size);
        run.set("lattice.activation.all", 0.4);
        run.set("lattice.stiffness", 1.7);
        let error = tangent_error(&run, 1e-8);
        assert!(error < 1e-6, "{size}: {error}");
    }
}

/// Checks the residual of solutions, and transposed solutions by y·K⁻¹b = K⁻ᵀy·b.
fn check_solves(run: &Run, tangent: Tangent, method: &str) {
    let plan = LinearizationPlan::new(&run.model);
    let mut at = Linearization::new(&plan, &run.model, &run.state, &run.control, tangent).unwrap();
    let count = run.model.kinematics.unknown_count();
    let mut noise = Noise(5);
    let columns: Vec<Vec<Vec3>> = (0..5).map(|_| free(&run.model, noise.vectors(count))).collect();
    let mut solutions = columns.clone();
    at.solve_many(&mut solutions).unwrap();
    assert!(at.method().unwrap().contains(method), "{}", at.method().unwrap());
    let mut product = vec![Vec3::zero(); count];
    for (b, x) in columns.iter().zip(&solutions) {
        at.product(x, &mut product).unwrap();
        let left = distance(&free(&run.model, product.clone()), b) / norm(b);
        assert!(left < 1e-9, "{method}: {left}");
        let mut alone = b.clone();
        at.solve(&mut alone).unwrap();
        // The condition number of these systems times rounding.
        assert!(distance(&alone, x) < 1e-9 * norm(x), "{method}");
    }
    let (y, b) = (&columns[0], &columns[1]);
    let mut transposed = y.clone();
    at.solve_transposed(&mut transposed).unwrap();
    let dot = sinew_math::krylov::dot;
    let (left, right) = (dot(y, &solutions[1]), dot(&transposed, b));
    assert!((left - right).abs() < 1e-9 * (norm(y) * norm(&solutions[1])), "{method}: {left} {right}");
}

#[test]
fn symmetric_systems_are_solved_by_one_factor() {
    let run = disturbed(muscle_bar(spec(Law::StableNeoHookean)), 1e-4);
    check_solves(&run, Tangent::Exact, "Cholesky factor of the exact tangent");
    check_solves(&run, Tangent::Definite, "Cholesky factor of the definite tangent");
}

#[test]
fn systems_of_an_open_pressure_are_solved_and_so_are_their_transposes() {
    let mut run = disturbed(muscle_bar(spec(Law::StableNeoHookean)), 1e-4);
    run.set("bar.pressure.open", 3000.0);
    check_solves(&run, Tangent::Exact, "GMRES");
    let plan = LinearizationPlan::new(&run.model);
    let mut at = Linearization::new(&plan, &run.model, &run.state, &run.control, Tangent::Exact).unwrap();
    let b = free(&run.model, Noise(5).vectors(run.model.kinematics.unknown_count()));
    let (mut plain, mut transposed) = (b.clone(), b);
    at.solve(&mut plain).unwrap();
    at.solve_transposed(&mut transposed).unwrap();
    assert!(distance(&plain, &transposed) > 1e-3 * norm(&plain), "the pressure makes a difference");
}

/// A bar squeezed to half its length has negative curvature; systems with its exact tangent still have solutions.
#[test]
fn indefinite_systems_are_solved() {
    let mut run = disturbed(muscle_bar(spec(Law::StableNeoHookean)), 0.0);
    run.disturb(|_, x| Vec3::new(0.4 * x.x, x.y, x.z));
    check_solves(&run, Tangent::Exact, "factor of the definite tangent");
}

#[test]
fn systems_of_lattices_and_cells_at_once_are_solved() {
    check_solves(&disturbed(lattice_and_tets(), 1e-4), Tangent::Exact, "V-cycles");
}

/// A body that nothing holds: its stiffness does not resist rigid motions, and solutions contain none.
#[test]
fn systems_of_free_bodies_have_solutions_without_rigid_motion() {
    let mut builder = ModelBuilder::new();
    builder.add_body(body("box", tets([0.1, 0.1, 0.1], [2, 2, 2]), spec(Law::NeoHookean)));
    let run = Run::new(builder.build().unwrap(), SolverParams::default());
    let plan = LinearizationPlan::new(&run.model);
    let mut at = Linearization::new(&plan, &run.model, &run.state, &run.control, Tangent::Exact).unwrap();
    // Two opposite forces along the line between their nodes: no resultant, no couple.
    let line = (run.state.positions[26] - run.state.positions[0]).normalized();
    let mut b = vec![Vec3::zero(); 27];
    b[0] = line;
    b[26] = -line;
    let wanted = b.clone();
    at.solve(&mut b).unwrap();
    let mut product = vec![Vec3::zero(); 27];
    at.product(&b, &mut product).unwrap();
    assert!(distance(&product, &wanted) < 1e-9, "{}", distance(&product, &wanted));
    let shift = b.iter().zip(&run.model.masses).fold(Vec3::zero(), |sum, (&d, &m)| sum + d * m);
    assert!(shift.norm() < 1e-12 * norm(&b), "{shift:?}");
}

/// A solver and a plan belong to one model, and detect another one, however similar.
#[test]
fn models_have_revisions() {
    let (first, second) = (muscle_bar(spec(Law::StableNeoHookean)), muscle_bar(spec(Law::StableNeoHookean)));
    assert_ne!(first.revision(), second.revision());
    let (plan, state, control) = (LinearizationPlan::new(&first), second.initial_state(), second.initial_control());
    assert!(Linearization::new(&plan, &second, &state, &control, Tangent::Exact).is_err());
    assert!(Linearization::new(&plan, &first, &state, &control, Tangent::Exact).is_ok());
    let mut first = first;
    first.touch();
    assert!(Linearization::new(&plan, &first, &state, &control, Tangent::Exact).is_err());
}

#[test]
fn vectors_and_states_of_other_models_are_refused() {
    let run = disturbed(muscle_bar(spec(Law::StableNeoHookean)), 0.0);
    let other = disturbed(lattice_and_tets(), 0.0);
    let plan = LinearizationPlan::new(&run.model);
    assert!(Linearization::new(&plan, &run.model, &other.state, &run.control, Tangent::Exact).is_err());
    let mut at = Linearization::new(&plan, &run.model, &run.state, &run.control, Tangent::Exact).unwrap();
    assert!(at.solve(&mut [Vec3::zero(); 3]).is_err());
}

/// ∂g/∂c by differences of the forces at fixed unknowns, with prescribed unknowns at their new values.
fn by_differences(run: &Run, channel: usize, h: f64) -> (Vec<Vec3>, Vec<Vec3>) {
    let model = &run.model;
    let plan = LinearizationPlan::new(model);
    let at = |s: f64| {
        let mut control: Control = run.control.clone();
        let name = control.table().names()[channel].clone();
        control.set_by_name(&name, control.values()[channel] + s).unwrap();
        let at = Linearization::new(&plan, model, &run.state, &control, Tangent::Exact).unwrap();
        let mut places = vec![Vec3::zero(); model.kinematics.unknown_count()];
        model.for_each_prescribed(&control, |unknown, axis, value| places[unknown][axis] = value);
        (at.gradient().to_vec(), places)
    };
    let ((plus, to), (minus, from)) = (at(h), at(-h));
    let slope = |a: &[Vec3], b: &[Vec3]| a.iter().zip(b).map(|(&a, &b)| (a - b) / (2.0 * h)).collect();
    (slope(&plus, &minus), slope(&to, &from))
}

fn check_channels(run: &Run, h: f64, tolerance: f64) -> usize {
    let plan = LinearizationPlan::new(&run.model);
    let at = Linearization::new(&plan, &run.model, &run.state, &run.control, Tangent::Exact).unwrap();
    let mut moving = 0;
    for (k, name) in run.control.table().names().iter().enumerate() {
        let found = at.derivative(Input::Channel(run.control.table().find(name).unwrap())).unwrap();
        let (forces, motion) = by_differences(run, k, h);
        let scale = norm(&forces).max(1e-9);
        let error = distance(&found.gradient, &forces) / scale;
        assert!(norm(&forces) < 1e-7 || error < tolerance, "{name}: {error}");
        assert!(distance(&found.motion, &motion) < h.max(1e-8) * (1.0 + norm(&motion)), "{name}");
        moving += usize::from(!found.is_zero());
    }
    moving
}

/// Every channel of a model with muscles, loads, pressures, pins and gravity. Differences of forces of 1 N with steps
/// of 1e-6 leave rounding errors of 1e-9.
#[test]
fn derivatives_by_channels_are_those_of_the_forces() {
    let mut run = disturbed(muscle_bar(spec(Law::StableNeoHookean)), 1e-4);
    run.set("bar.pressure.open", 800.0);
    run.set("bar.activation.front", 0.4);
    run.set("bar.activation.back", 0.7);
    run.set("bar.pin.left.rotation.y", 0.3);
    run.set("bar.pin.left.deformation.xy", 0.2);
    let moving = check_channels(&run, 1e-6, 1e-5);
    // Gravity 3, stiffness 1, activations 2, pressure 1, load 3, pin 3 + 3 + 6: it lies in the plane x = 0, where three
    // deformations have no effect.
    assert_eq!(moving, 22);
}

/// Springs, colliders of all shapes and rigid bodies: forces without a closed form use differences. Here the
/// differences also change the speed at which colliders appear to meet flesh, which affects their restitution.
#[test]
fn derivatives_by_channels_of_springs_and_colliders_are_those_of_the_forces() {
    let mut run = Run::new(forces::model(), SolverParams::default());
    run.set("first.pressure.open", 20.0);
    assert!(check_channels(&run, 1e-6, 5e-3) > 20);
}

#[test]
fn derivatives_by_activations_of_lattices_are_those_of_the_forces() {
    let mut builder = ModelBuilder::new();
    let lattice = HexLattice::dense(Vec3::zero(), 0.01, [4, 2, 2]).unwrap();
    let mesh = lattice.to_mesh().unwrap();
    let (cells, left) = (mesh.cell_count(), nodes_where(&mesh, |x| x.x < 1e-9));
    let params = BodyParams { lattice: Some(lattice), ..body("bar", mesh, spec(Law::Corotated)) };
    let bar = builder.add_body(params);
    builder.muscle(MuscleParams {
        body: bar,
        name: "all".into(),
        cells: (0..cells as u32).collect(),
        directions: vec![Vec3::unit(0); cells],
        stress: vec![3e3; cells],
        group: lattice_fibers(),
    });
    builder.pin(pin(bar, "left", left, Vec3::zero()));
    let mut run = disturbed(builder.build().unwrap(), 3e-4);
    run.set("bar.activation.all", 0.5);
    // Active tension is stored in f32: differences with steps of 1e-3 are accurate to 1e-4.
    assert!(check_channels(&run, 1e-3, 1e-3) > 3);
}

/// Activation is clamped to 0 to 1: the ends have a kink, and beyond them the derivative is zero.
#[test]
fn kinks_of_activations_are_told() {
    let mut run = disturbed(muscle_bar(spec(Law::StableNeoHookean)), 1e-4);
    let plan = LinearizationPlan::new(&run.model);
    let channel = run.control.table().find("bar.activation.front").unwrap();
    for (value, is_zero) in [(0.0, false), (0.5, false), (1.0, false), (1.2, true), (-0.1, true)] {
        run.set("bar.activation.front", value);
        let at = Linearization::new(&plan, &run.model, &run.state, &run.control, Tangent::Exact).unwrap();
        let found = at.derivative(Input::Channel(channel)).unwrap();
        assert_eq!(found.is_zero(), is_zero, "{value}");
        assert_eq!(found.kink.is_some(), value != 0.5, "{value}");
        assert_eq!(matches!(found.kink, Some(Kink::OutsideActivation { .. })), is_zero, "{value}");
    }
}

/// Compares with forces of a model with a slightly stiffer material, and of one with a softer material.
fn check_parameters(make: impl Fn(MaterialSpec) -> Model, law: Law, tolerance: f64) {
    let with = |parameter: Parameter, s: f64| {
        use sinew_fem::material::ElasticModuli;
        let plain = MaterialSpec::with_young(law, 1e4, 0.3);
        let (mu, lambda) = plain.lame();
        let two = |moduli| plain.with_moduli(moduli);
        match parameter {
            Parameter::Mu => (two(ElasticModuli::Lame { mu: mu * (1.0 + s), lambda }), mu),
            Parameter::Lambda => (two(ElasticModuli::Lame { mu, lambda: lambda * (1.0 + s) }), lambda),
            Parameter::Law(key) => {
                let value = plain.value(key).unwrap();
                (plain.with(key, value * (1.0 + s)), value)
            }
            Parameter::Density => panic!("density is not a parameter of a law"),
        }
    };
    let run = disturbed(make(MaterialSpec::with_young(law, 1e4, 0.3)), 5e-4);
    let plan = LinearizationPlan::new(&run.model);
    let at = Linearization::new(&plan, &run.model, &run.state, &run.control, Tangent::Exact).unwrap();
    let parameters = Parameter::of(&run.model, 0);
    assert!(parameters.contains(&Parameter::Density) && parameters.len() > 3, "{parameters:?}");
    for parameter in parameters.into_iter().filter(|&parameter| parameter != Parameter::Density) {
        let found = at.derivative(Input::Parameter { body: 0, parameter }).unwrap();
        let h = 1e-5;
        let forces = |s: f64| {
            let (spec, scale) = with(parameter, s);
            let other = make(spec);
            let plan = LinearizationPlan::new(&other);
            let at = Linearization::new(&plan, &other, &run.state, &run.control, Tangent::Exact).unwrap();
            (at.gradient().to_vec(), scale)
        };
        let ((plus, scale), (minus, _)) = (forces(h), forces(-h));
        let numeric: Vec<Vec3> = plus.iter().zip(&minus).map(|(&p, &m)| (p - m) / (2.0 * h * scale)).collect();
        let error = distance(&found.gradient, &numeric) / norm(&numeric);
        assert!(error < tolerance, "{} {}: {error}", law.name(), parameter.name());
        assert_ne!(found.source, Source::Differences);
    }
}

/// Differences by 1e-5 of a parameter are accurate to 1e-9.
#[test]
fn derivatives_by_parameters_are_those_of_the_forces() {
    for law in [
        Law::Corotated,
        Law::NeoHookean,
        Law::StableNeoHookean,
        Law::StVenantKirchhoff,
        Law::MooneyRivlin,
        Law::InvertibleMooneyRivlin,
        Law::TransverselyIsotropic,
    ] {
        let held = |mesh: sinew_geometry::CellMesh, spec: MaterialSpec, volume: VolumeForm| {
            let left = nodes_where(&mesh, |x| x.x < 1e-9);
            let mut builder = ModelBuilder::new();
            let bar = builder.add_body(BodyParams { volume, ..body("bar", mesh, spec) });
            builder.pin(pin(bar, "left", left, Vec3::zero()));
            builder.build().unwrap()
        };
        check_parameters(|spec| held(tets([0.06, 0.02, 0.02], [3, 1, 1]), spec, VolumeForm::Pointwise), law, 1e-7);
        check_parameters(|spec| held(hexes([0.06, 0.02, 0.02], [3, 1, 1]), spec, VolumeForm::Mean), law, 1e-7);
    }
}

/// Lattices store their parameters in f32, and differences of 1e-5 magnify the rounding.
#[test]
fn derivatives_by_parameters_of_lattices_are_those_of_the_forces() {
    let make = |spec: MaterialSpec| {
        let mut builder = ModelBuilder::new();
        let lattice = HexLattice::dense(Vec3::zero(), 0.01, [4, 2, 2]).unwrap();
        let mesh = lattice.to_mesh().unwrap();
        let left = nodes_where(&mesh, |x| x.x < 1e-9);
        let bar = builder.add_body(BodyParams { lattice: Some(lattice), ..body("bar", mesh, spec) });
        builder.pin(pin(bar, "left", left, Vec3::zero()));
        builder.build().unwrap()
    };
    check_parameters(make, Law::Corotated, 2e-2);
}

/// A spring of each node to its place at rest that claims another stiffness than it has.
#[derive(Clone, Debug)]
struct Liar {
    rest: Vec<Vec3>,
    stiffness: f64,
    claimed: f64,
}

impl ForceParams for Liar {
    fn assemble(&self, _assembly: &mut dyn Assembly) -> Result<Box<dyn Force>, ForceError> {
        Ok(Box::new(self.clone()))
    }
}

impl Force for Liar {
    fn name(&self) -> &str {
        "liar"
    }

    fn potential(&self, x: &[Vec3], _ctx: &StepContext<'_>) -> Option<f64> {
        Some(x.iter().zip(&self.rest).map(|(x, rest)| 0.5 * self.stiffness * (*x - *rest).norm_squared()).sum())
    }

    fn add_gradient(&self, x: &[Vec3], _ctx: &StepContext<'_>, gradient: &mut [Vec3]) {
        for ((g, &x), &rest) in gradient.iter_mut().zip(x).zip(&self.rest) {
            *g += (x - rest) * self.stiffness;
        }
    }

    fn linearize(&self, x: &[Vec3], _ctx: &StepContext<'_>, _tangent: Tangent, out: &mut Linearized) {
        (0..x.len() as u32).for_each(|point| out.add(point, point, Mat3::identity() * self.claimed));
    }
}

/// A force with a wrong derivative is named; one with the right derivative is not.
#[test]
fn a_force_that_lies_about_its_derivative_is_named() {
    let gradients = |claimed: f64| {
        let mesh = tets([0.3, 0.1, 0.1], [3, 1, 1]);
        let (rest, left) = (mesh.positions().to_vec(), nodes_where(&mesh, |x| x.x < 1e-9));
        let mut builder = ModelBuilder::new();
        builder.gravity(Vec3::new(0.0, -1.0, 0.0));
        let bar = builder.add_body(body("bar", mesh, spec(Law::NeoHookean)));
        builder.pin(pin(bar, "left", left, Vec3::zero()));
        builder.force(Liar { rest, stiffness: 2.0, claimed });
        let solver = NewtonSolver::new(SolverParams { tolerance: 1e-8, ..SolverParams::default() });
        let mut simulation =
            Simulation::new(builder.build().unwrap(), Box::new(solver), FrameParams::default(), vec![], vec![]);
        simulation.step_frame().unwrap();
        let probe = simulation.probe_names().iter().position(|name| name == "bar.center.y").unwrap();
        let input = simulation.inputs().into_iter().find(|(name, _)| name == "gravity.y").unwrap().1;
        simulation.gradients(&[probe], &[input])
    };
    let found = gradients(2.0).unwrap();
    assert!(found.disagreement() < 1e-8, "{}", found.disagreement());
    let errors = gradients(3.0).unwrap_err();
    let text = errors[0].to_string();
    assert!(text.contains("\"liar\"") && text.contains("derivative"), "{text}");
}
