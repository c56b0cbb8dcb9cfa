//! Muscle fibers in flesh: forces and tangents against differences of the energy, linearity in activation, speed, and
//! the balance of their work.

use std::sync::atomic::AtomicU64;

use sinew_fem::elastic::{Actuation, FiberGroup};
use sinew_fem::material::closed_form::{simple_shear, uniaxial};
use sinew_fem::material::{FiberStretch, Law, MaterialSpec, StretchedFiber, Tangent, VolumeForm};
use sinew_fem::model::MuscleParams;
use sinew_fem::{Model, ModelBuilder, Regime, SolverParams};
use sinew_geometry::CellMesh;
use sinew_math::{Mat3, Vec3};
use sinew_muscle::{Curve, FiberCurves};

use crate::models::{Noise, Run, body, hexes, nodes_where, pin, tets};

/// Soft flesh, so that fibers of 300 kPa matter as much as they do in muscle.
fn flesh(law: Law) -> MaterialSpec {
    match law {
        Law::MooneyRivlin => MaterialSpec::mooney_rivlin(6e4, 2e4, 2e6),
        law => MaterialSpec::with_young(law, 2e5, 0.45),
    }
}

fn group(measure: FiberStretch, has_velocity: bool) -> FiberGroup {
    let velocity = has_velocity.then(Curve::velocity_chen);
    FiberGroup { curves: FiberCurves { velocity, ..FiberCurves::default() }, measure, ..FiberGroup::default() }
}

/// Two muscles in a body of `mesh`; the last cell has no fibers.
fn model(mesh: CellMesh, material: MaterialSpec, volume: VolumeForm, group: &FiberGroup) -> Model {
    let cells = mesh.cell_count();
    let mut params = body("flesh", mesh, material);
    params.volume = volume;
    let mut builder = ModelBuilder::new();
    let index = builder.add_body(params);
    let mut noise = Noise(3);
    for (name, range) in [("front", 0..cells / 2), ("back", cells / 2..cells - 1)] {
        let count = range.len();
        builder.muscle(MuscleParams {
            body: index,
            name: name.into(),
            cells: range.map(|cell| cell as u32).collect(),
            directions: (0..count).map(|_| (Vec3::unit(0) + noise.vector() * 0.4).normalized()).collect(),
            stress: vec![3e5; count],
            group: group.clone(),
        });
    }
    builder.build().unwrap()
}

fn models() -> impl Iterator<Item = (String, Model, bool)> {
    let laws = Law::ALL.into_iter().filter(|law| law.takes_fibers());
    laws.flat_map(|law| {
        let (tets, hexes) = (tets([0.04, 0.02, 0.02], [2, 1, 1]), hexes([0.06, 0.02, 0.02], [3, 1, 1]));
        let quadratic = tets.to_quadratic().unwrap();
        let kinds = [
            ("tet4", tets, VolumeForm::Pointwise),
            ("tet10", quadratic, VolumeForm::Mean),
            ("hex8", hexes.clone(), VolumeForm::Pointwise),
            ("hex8 mean", hexes, VolumeForm::Mean),
        ];
        kinds.into_iter().flat_map(move |(kind, mesh, volume)| {
            [(FiberStretch::Isochoric, false), (FiberStretch::Isochoric, true), (FiberStretch::Full, true)].map(
                |(measure, has_velocity)| {
                    let name = format!("{} {kind} {measure:?} {has_velocity}", law.name());
                    (name, model(mesh.clone(), flesh(law), volume, &group(measure, has_velocity)), has_velocity)
                },
            )
        })
    })
}

fn shaken(model: &Model, noise: &mut Noise, size: f64) -> Vec<Vec3> {
    let rest = model.bodies[0].mesh.positions();
    rest.iter().map(|&p| p + noise.vector() * size).collect()
}

fn gradient(model: &Model, x: &[Vec3], actuation: &Actuation<'_>) -> Vec<Vec3> {
    let mut out = vec![Vec3::zero(); x.len()];
    for block in &model.elastic {
        let packs: Vec<AtomicU64> = (0..block.pack_count()).map(|_| AtomicU64::new(0)).collect();
        block.add_gradient(x, actuation, 1.0, &mut out, &packs);
    }
    out
}

fn energy(model: &Model, x: &[Vec3], actuation: &Actuation<'_>) -> f64 {
    model.elastic.iter().map(|block| block.energy(x, actuation)).sum()
}

fn moved(x: &[Vec3], dx: &[Vec3], step: f64) -> Vec<Vec3> {
    x.iter().zip(dx).map(|(&x, &d)| x + d * step).collect()
}

/// Power of active fibers for a motion `dx` of the points: Σ w (σ/λₒ) α f_a(l) f_v(v) dλ̄. Their force depends on speed
/// and so has no energy.
fn power_of_fibers(model: &Model, [start, x]: [&[Vec3]; 2], dx: &[Vec3], rate: f64, activations: &[f64]) -> f64 {
    let mut power = 0.0;
    for block in &model.elastic {
        for cell in 0..block.cell_count() {
            let fiber = block.fiber_of(cell);
            let group = &block.fiber_groups()[usize::from(fiber.group)];
            let stretches = |x: &[Vec3]| {
                let mut out = Vec::new();
                let stretch = |f: &Mat3| StretchedFiber::at(f, fiber.direction, group.measure).stretch();
                block.evaluate_deformation(cell, x, |_, w, f| out.push((w, stretch(&f))));
                out
            };
            let step = 1e-8;
            let (from, now) = (stretches(start), stretches(x));
            let (after, before) = (stretches(&moved(x, dx, step)), stretches(&moved(x, dx, -step)));
            for q in 0..now.len() {
                let [l, l0] = [now[q].1, from[q].1].map(|stretch| stretch / group.optimal_stretch);
                let speed = group.curves.velocity.as_ref().unwrap().value((l - l0) * rate / group.max_velocity);
                let tension = activations[usize::from(fiber.group)] * group.curves.active.value(l) * speed;
                let change = (after[q].1 - before[q].1) / (2.0 * step);
                power += now[q].0 * fiber.stress / group.optimal_stretch * tension * change;
            }
        }
    }
    power
}

/// Central differences with a step of 1e-6 of a cell have errors of about 1e-9; single cells give the same forces.
#[test]
fn forces_of_fibers_are_the_derivative_of_their_energy() {
    let mut noise = Noise(21);
    for (name, model, has_velocity) in models() {
        // A step in which fibers change their length by a few percent.
        let x = shaken(&model, &mut noise, 2e-3);
        let start: Vec<Vec3> = x.iter().map(|&x| x + noise.vector() * 3e-4).collect();
        let motion = has_velocity.then_some((start.as_slice(), 1.0 / 0.03));
        let actuation = Actuation { activations: &[1.0, 0.4], motion };
        let dx = noise.vectors(x.len());
        let force = gradient(&model, &x, &actuation);
        let slope: f64 = force.iter().zip(&dx).map(|(g, d)| g.dot(*d)).sum();
        let step = 1e-8;
        let mut difference = (energy(&model, &moved(&x, &dx, step), &actuation)
            - energy(&model, &moved(&x, &dx, -step), &actuation))
            / (2.0 * step);
        if let Some((start, rate)) = motion {
            difference += power_of_fibers(&model, [start, &x], &dx, rate, actuation.activations);
        }
        let scale: f64 = force.iter().map(|g| g.norm()).sum();
        // Rounding of energies of a few joules.
        assert!((slope - difference).abs() < 2e-5 * scale, "{name}: {slope} {difference} of {scale}");

        let mut by_cells = 0.0;
        for block in &model.elastic {
            for k in 0..block.cell_count() {
                let mut changes = Vec::new();
                block.evaluate_deformation(k, &dx, |_, _, df| changes.push(df));
                let mut changes = changes.into_iter();
                block.evaluate_cell(k, &x, &actuation, |w, _, p| {
                    by_cells += w * p.double_dot(&changes.next().unwrap());
                });
            }
        }
        assert!((slope - by_cells).abs() < 1e-10 * scale, "{name}: {slope} {by_cells}");
    }
}

fn dense(model: &Model, x: &[Vec3], actuation: &Actuation<'_>, tangent: Tangent) -> Vec<Vec<f64>> {
    let mut out = vec![vec![0.0; 3 * x.len()]; 3 * x.len()];
    for block in &model.elastic {
        block.visit_tangents(0..block.pack_count(), x, actuation, tangent, &mut |cell, a, b, k: Mat3| {
            let (a, b) = (3 * block.point(cell, a) as usize, 3 * block.point(cell, b) as usize);
            for i in 0..3 {
                for j in 0..3 {
                    out[a + i][b + j] += k[(i, j)];
                }
            }
        });
    }
    out
}

fn times(matrix: &[Vec<f64>], v: &[Vec3]) -> Vec<f64> {
    let flat: Vec<f64> = v.iter().flat_map(|v| v.to_array()).collect();
    matrix.iter().map(|row| row.iter().zip(&flat).map(|(a, b)| a * b).sum()).collect()
}

#[test]
fn exact_tangents_are_the_derivative_of_forces_and_definite_ones_are_definite() {
    let mut noise = Noise(22);
    for (name, model, has_velocity) in models() {
        // A step in which fibers change their length by a few percent.
        let x = shaken(&model, &mut noise, 2e-3);
        let start: Vec<Vec3> = x.iter().map(|&x| x + noise.vector() * 3e-4).collect();
        let motion = has_velocity.then_some((start.as_slice(), 1.0 / 0.03));
        let actuation = Actuation { activations: &[1.0, 0.4], motion };
        let dx = noise.vectors(x.len());
        let product = times(&dense(&model, &x, &actuation, Tangent::Exact), &dx);
        let step = 1e-8;
        let (after, before) =
            (gradient(&model, &moved(&x, &dx, step), &actuation), gradient(&model, &moved(&x, &dx, -step), &actuation));
        let scale = product.iter().map(|p| p.abs()).fold(0.0, f64::max);
        for (k, found) in product.iter().enumerate() {
            let difference = (after[k / 3][k % 3] - before[k / 3][k % 3]) / (2.0 * step);
            assert!((found - difference).abs() < 1e-5 * scale, "{name} {k}: {found} {difference}");
        }
        let definite = dense(&model, &x, &actuation, Tangent::Definite);
        for _ in 0..20 {
            let v = noise.vectors(x.len());
            let flat: Vec<f64> = v.iter().flat_map(|v| v.to_array()).collect();
            let form: f64 = times(&definite, &v).iter().zip(&flat).map(|(a, b)| a * b).sum();
            assert!(form >= -1e-9 * scale, "{name}: {form}");
        }
    }
}

/// SIF fact 17: forces at activation a are those at rest plus a part proportional to a, up to rounding.
#[test]
fn forces_are_affine_in_activation() {
    let mut noise = Noise(23);
    for (name, model, _) in models() {
        let x = shaken(&model, &mut noise, 2e-3);
        let at = |activations: [f64; 2]| gradient(&model, &x, &Actuation { activations: &activations, motion: None });
        let (rest, full, part) = (at([0.0, 0.0]), at([1.0, 1.0]), at([0.3, 0.3]));
        let scale: f64 = full.iter().map(|g| g.norm()).fold(0.0, f64::max);
        for ((rest, full), part) in rest.iter().zip(&full).zip(&part) {
            assert!((*part - (*rest * 0.7 + *full * 0.3)).norm() < 1e-11 * scale, "{name}");
        }
    }
}

/// SIF-019: T = σ/λ₀ f(λ/λ₀), where λ₀ is the stretch of maximum force. A bar with fibers along its axis is stretched
/// by λ; the force on its end is A (T(a) − T(0)).
#[test]
fn tension_is_the_peak_stress_over_the_optimal_stretch_times_the_curve() {
    let (stress, optimal, stretch, size) = (3e5, 1.3, 1.17, [0.06, 0.02, 0.02]);
    let mesh = hexes(size, [3, 1, 1]);
    let cells = mesh.cell_count();
    let mut builder = ModelBuilder::new();
    let index = builder.add_body(body("flesh", mesh, flesh(Law::MooneyRivlin)));
    let group = FiberGroup { optimal_stretch: optimal, measure: FiberStretch::Full, ..FiberGroup::default() };
    builder.muscle(MuscleParams {
        body: index,
        name: "all".into(),
        cells: (0..cells as u32).collect(),
        directions: vec![Vec3::unit(0); cells],
        stress: vec![stress; cells],
        group: group.clone(),
    });
    let model = builder.build().unwrap();
    let rest = model.initial_state().positions;
    let x: Vec<Vec3> = rest.iter().map(|x| Vec3::new(stretch * x.x, x.y, x.z)).collect();
    let end_force = |activation: f64| -> f64 {
        let g = gradient(&model, &x, &Actuation { activations: &[activation], motion: None });
        rest.iter().zip(&g).filter(|(x, _)| x.x > size[0] - 1e-9).map(|(_, g)| g.x).sum()
    };
    let tension = stress / optimal * group.curves.active.value(stretch / optimal);
    let expected = 0.7 * tension * size[1] * size[2];
    assert!(((end_force(0.7) - end_force(0.0)) / expected - 1.0).abs() < 1e-9, "{} {expected}", end_force(0.7));
}

/// Fibers are within the flesh: their forces and torques sum to zero.
#[test]
fn fibers_push_nothing_away() {
    let mut noise = Noise(24);
    for (name, model, _) in models() {
        let x = shaken(&model, &mut noise, 2e-3);
        let g = gradient(&model, &x, &Actuation { activations: &[1.0, 1.0], motion: None });
        let (force, torque) =
            g.iter().zip(&x).fold((Vec3::zero(), Vec3::zero()), |(f, t), (&g, &x)| (f + g, t + x.cross(g)));
        let scale: f64 = g.iter().map(|g| g.norm()).sum();
        assert!(force.norm() < 1e-12 * scale && torque.norm() < 1e-12 * scale, "{name}");
    }
}

/// A strip is activated, then allowed to shorten: the work of its fibers goes into the flesh and to the pins.
#[test]
fn work_of_fibers_is_what_is_stored_and_what_pins_receive() {
    let mesh = hexes([0.04, 0.01, 0.01], [8, 2, 2]);
    let mut params = body("flesh", mesh.clone(), flesh(Law::MooneyRivlin));
    params.volume = VolumeForm::Mean;
    let mut builder = ModelBuilder::new();
    let index = builder.add_body(params);
    let cells = mesh.cell_count();
    builder.muscle(MuscleParams {
        body: index,
        name: "belly".into(),
        cells: (0..cells as u32).collect(),
        directions: vec![Vec3::unit(0); cells],
        stress: vec![3e5; cells],
        group: FiberGroup::default(),
    });
    builder.pin(pin(index, "left", nodes_where(&mesh, |p| p.x < 1e-9), Vec3::zero()));
    builder.pin(pin(index, "right", nodes_where(&mesh, |p| p.x > 0.04 - 1e-9), Vec3::zero()));
    let params = SolverParams { tolerance: 1e-8, regime: Regime::Quasistatic, ..SolverParams::default() };
    let mut run = Run::new(builder.build().unwrap(), params);
    let steps = 40;
    for k in 1..=steps {
        run.set("flesh.activation.belly", (2.0 * k as f64 / steps as f64).min(1.0));
        run.set("flesh.pin.right.translation.x", -0.008 * (2.0 * k as f64 / steps as f64 - 1.0).max(0.0));
        run.step(0.01).unwrap();
    }
    let work = run.state.history.work;
    let stored = run.model.elastic_energy(&run.state.positions, &run.control);
    assert!(work.muscles > 0.1 && work.pins < -0.1, "{work:?}");
    // 240 J/l of flesh at σ = 300 kPa over 20 %: the balance closes to one percent, the error of the trapezoidal rule.
    let error = (work.muscles + work.pins - stored).abs();
    assert!(error < 0.01 * work.muscles, "{} + {} − {stored} = {error}", work.muscles, work.pins);
}

#[test]
fn muscles_that_cannot_be_are_refused() {
    let mesh = tets([0.02, 0.01, 0.01], [1, 1, 1]);
    let build = |law: Law, direction: Vec3, change: &dyn Fn(&mut FiberGroup)| {
        let mut builder = ModelBuilder::new();
        let index = builder.add_body(body("flesh", mesh.clone(), flesh(law)));
        let mut group = FiberGroup::default();
        change(&mut group);
        builder.muscle(MuscleParams {
            body: index,
            name: "belly".into(),
            cells: vec![0],
            directions: vec![direction],
            stress: vec![3e5],
            group,
        });
        builder.build().map(|_| ()).map_err(|error| error.to_string())
    };
    let x = Vec3::unit(0);
    assert_eq!(build(Law::MooneyRivlin, x, &|_| {}), Ok(()));
    let refused = |result: Result<(), String>, words: &[&str]| {
        let message = result.unwrap_err();
        assert!(words.iter().all(|word| message.contains(word)), "{message}");
    };
    refused(build(Law::Linear, x, &|_| {}), &["belly", "linear", "takes no fibers", "mooney_rivlin"]);
    refused(build(Law::MooneyRivlin, Vec3::zero(), &|_| {}), &["cell 0", "no direction"]);
    refused(build(Law::MooneyRivlin, x, &|group| group.optimal_stretch = 0.0), &["optimal stretch", "positive"]);
    refused(build(Law::MooneyRivlin, x, &|group| group.max_velocity = f64::NAN), &["shortening speed", "positive"]);
}

/// TER facts 7 and 8: a nearly incompressible bar pulls with 2 (l − l⁻²)(c₁₀ + c₀₁/l), minus the effect of its bulk
/// modulus of 60 MPa, and the modulus of small shears is 160 kPa.
#[test]
fn flesh_of_muscle_has_the_stresses_of_the_extract() {
    let flesh = MaterialSpec::mooney_rivlin(6e4, 2e4, 6e7);
    for (stretch, stress) in [(1.2, 77_440.0), (1.5, 154_610.0), (0.8, -129_515.0)] {
        let found = uniaxial(&flesh, stretch).unwrap().nominal_stress;
        assert!((found / stress - 1.0).abs() < 1e-4, "{stretch}: {found}");
    }
    let shear = 1e-4;
    let modulus = simple_shear(&flesh, shear).unwrap().cauchy_stress[(0, 1)] / shear;
    assert!((modulus / 160e3 - 1.0).abs() < 1e-6, "{modulus}");
}
