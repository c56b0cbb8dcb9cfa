//! Checks energy, forces and tangent of contact against each other.

use sinew_geometry::mesh::CellMesh;
use sinew_geometry::procedural::{TetPattern, box_tets, sphere};
use sinew_math::Vec3;

use super::{ContactMode, ContactRule, ContactStage, Party, RestContact};
use crate::material::{Law, MaterialSpec, VolumeForm};
use crate::surface_check::SurfaceCheck;
use crate::{BodyParams, Model, ModelBuilder};

/// Reproducible numbers in [−1, 1).
struct Noise(u64);

impl Noise {
    fn vector(&mut self) -> Vec3 {
        Vec3::from(std::array::from_fn(|_| {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        }))
    }
}

/// Two blocks at a distance `apart`; negative for overlap.
fn blocks(rule: ContactRule, apart: f64) -> Model {
    let mesh = box_tets(Vec3::splat(0.1), [3, 3, 3], TetPattern::Kuhn).unwrap();
    pair(rule, [mesh.clone(), moved(&mesh, Vec3::new(0.1 + apart, 0.011, 0.017))])
}

fn moved(mesh: &CellMesh, by: Vec3) -> CellMesh {
    mesh.mapped(|x| x + by).unwrap().0
}

/// Two bodies that may touch.
fn pair(rule: ContactRule, meshes: [CellMesh; 2]) -> Model {
    let mut builder = ModelBuilder::new();
    for (name, mesh) in ["left", "right"].into_iter().zip(meshes) {
        let cells = mesh.cell_count();
        builder.add_body(BodyParams {
            name: name.into(),
            materials: vec![MaterialSpec::with_young(Law::StableNeoHookean, 1e4, 0.3); cells],
            densities: vec![1000.0; cells],
            volume: VolumeForm::Pointwise,
            mass_damping: 0.0,
            stiffness_damping: 0.0,
            tissue_damping: 0.0,
            start: Vec::new(),
            velocities: Vec::new(),
            surface: None,
            lattice: None,
            deformation: Default::default(),
            mesh,
        });
    }
    builder.contact(Party::Body(0), Party::Body(1), rule);
    builder.build().unwrap()
}

#[test]
fn forces_of_contact_are_derivatives_of_its_energy() {
    let barrier = ContactRule { mode: ContactMode::Barrier, friction: 0.4, gap: Some(4e-3), ..ContactRule::default() };
    let penalty = ContactRule { friction: 0.4, tangential: 0.3, ..ContactRule::default() };
    for (rule, apart) in [(barrier, 1e-3), (penalty, -1e-3)] {
        let model = blocks(rule, apart);
        let mut state = model.initial_state();
        let mut noise = Noise(3);
        for x in &mut state.positions {
            *x += noise.vector() * 1e-4;
        }
        let control = model.initial_control();
        let mut stage = ContactStage::default();
        stage.begin_step(&model.contact, &model.step_start(&state, &control, 0.01));
        let count = state.positions.len();
        let moved: Vec<Vec3> = state.positions.iter().map(|&x| x + noise.vector() * 2e-5).collect();
        let u: Vec<Vec3> = (0..count).map(|_| noise.vector()).collect();
        let along = |s: f64| -> Vec<Vec3> { moved.iter().zip(&u).map(|(&x, &u)| x + u * s).collect() };
        let slope_at = |stage: &mut ContactStage, s: f64| {
            let mut gradient = vec![Vec3::zero(); count];
            stage.evaluate(&model.contact, &along(s));
            stage.add_gradient(&model.contact, &mut gradient);
            let total = gradient.iter().copied().sum::<Vec3>();
            let largest = gradient.iter().map(|g| g.norm()).fold(0.0, f64::max);
            assert!(total.norm() < 1e-12 * largest, "action equals reaction: {total:?}");
            gradient.iter().zip(&u).map(|(g, u)| g.dot(*u)).sum::<f64>()
        };
        let h = 1e-8;
        let difference =
            (stage.evaluate(&model.contact, &along(h)) - stage.evaluate(&model.contact, &along(-h))) / (2.0 * h);
        let slope = slope_at(&mut stage, 0.0);
        assert!(stage.active().count() > 10);
        assert!((difference - slope).abs() < 1e-5 * slope.abs(), "{:?}: {difference} {slope}", rule.mode);
        // The tangent neglects the rotation of normals: a small part where gaps are small against triangles.
        let curvature = (slope_at(&mut stage, h) - slope_at(&mut stage, -h)) / (2.0 * h);
        let mut terms = Vec::new();
        stage.linearize(&model.contact, &moved, &mut terms);
        let quadratic: f64 = terms
            .iter()
            .map(|term| {
                let vertices = term.vertices.iter().zip(&term.weights);
                let v = vertices.fold(Vec3::zero(), |sum, (&vertex, &weight)| {
                    let carriers = model.contact.carriers(vertex as usize);
                    sum + carriers.iter().fold(Vec3::zero(), |sum, &(p, w)| sum + u[p as usize] * (w * weight))
                });
                let value = v.dot(term.block * v);
                assert!(value >= -1e-9 * term.block.norm() * v.norm_squared(), "positive semi-definite");
                value
            })
            .sum();
        // Friction is stiffer than its derivative.
        assert!((0.85..1.3).contains(&(quadratic / curvature)), "{:?}: {quadratic} {curvature}", rule.mode);
    }
}

/// Terms and bends together are the derivative of the gradient, where terms alone are definite. Blocks of several meshes
/// have all kinds of pairs.
#[test]
fn terms_and_bends_are_the_whole_second_derivative() {
    let rule = ContactRule { mode: ContactMode::Barrier, gap: Some(2e-2), ..ContactRule::default() };
    let model = blocks(rule, 8e-3);
    let (mut state, control) = (model.initial_state(), model.initial_control());
    let mut noise = Noise(11);
    for x in &mut state.positions {
        *x += noise.vector() * 3e-3;
    }
    let mut stage = ContactStage::default();
    stage.begin_step(&model.contact, &model.step_start(&state, &control, 0.01));
    let count = state.positions.len();
    for _ in 0..4 {
        let u: Vec<Vec3> = (0..count).map(|_| noise.vector()).collect();
        let mut gradient_at = |s: f64| {
            let x: Vec<Vec3> = state.positions.iter().zip(&u).map(|(&x, &u)| x + u * s).collect();
            let mut gradient = vec![Vec3::zero(); count];
            stage.evaluate(&model.contact, &x);
            stage.add_gradient(&model.contact, &mut gradient);
            gradient
        };
        let h = 1e-9;
        let [low, high] = [-h, h].map(&mut gradient_at);
        let (mut terms, mut bends) = (Vec::new(), Vec::new());
        stage.linearize(&model.contact, &state.positions, &mut terms);
        stage.bend(&mut bends);
        let at = |vertex: u32| {
            let carriers = model.contact.carriers(vertex as usize);
            carriers.iter().fold(Vec3::zero(), |sum, &(p, w)| sum + u[p as usize] * w)
        };
        let mut product = vec![Vec3::zero(); count];
        let mut add = |vertex: u32, force: Vec3| {
            for &(p, w) in model.contact.carriers(vertex as usize) {
                product[p as usize] += force * w;
            }
        };
        for term in &terms {
            let moved = term.vertices.iter().zip(&term.weights).fold(Vec3::zero(), |sum, (&v, &w)| sum + at(v) * w);
            term.vertices.iter().zip(&term.weights).for_each(|(&v, &w)| add(v, term.block * moved * w));
        }
        for bend in &bends {
            for (&v, row) in bend.vertices.iter().zip(&bend.blocks) {
                let force = bend.vertices.iter().zip(row).fold(Vec3::zero(), |sum, (&w, b)| sum + b.to_f64() * at(w));
                add(v, force);
            }
        }
        let size = product.iter().map(|p| p.norm()).fold(0.0, f64::max);
        for k in 0..count {
            let expected = (high[k] - low[k]) / (2.0 * h);
            // Bends are f32.
            assert!((product[k] - expected).norm() < 1e-4 * size, "{k}: {:?} {expected:?} of {size}", product[k]);
        }
        assert!(bends.len() > 50, "{}", bends.len());
    }
}

/// Candidates that serve several motions give the same free ways and contacts as those that are searched anew.
#[test]
fn candidates_of_an_earlier_motion_miss_nothing() {
    let rule = ContactRule { mode: ContactMode::Barrier, gap: Some(4e-3), ..ContactRule::default() };
    let model = blocks(rule, 1e-3);
    let (mut state, control) = (model.initial_state(), model.initial_control());
    let mut stage = ContactStage::default();
    stage.begin_step(&model.contact, &model.step_start(&state, &control, 0.01));
    let mut noise = Noise(5);
    let (mut reused, mut blocked) = (0, 0);
    for k in 0..24 {
        let size = if k % 4 == 0 { 2e-3 } else { 2e-4 };
        let to: Vec<Vec3> = state.positions.iter().map(|&x| x + noise.vector() * size).collect();
        let mut anew = ContactStage::default();
        anew.begin_step(&model.contact, &model.step_start(&state, &control, 0.01));
        let known = stage.known_ends.clone();
        let free = stage.sweep(&model.contact, &state.positions, &to, 1.0);
        reused += usize::from(known == stage.known_ends);
        blocked += usize::from(free < 1.0);
        assert_eq!(free, anew.sweep(&model.contact, &state.positions, &to, 1.0), "motion {k}");
        for (x, to) in state.positions.iter_mut().zip(&to) {
            *x += (*to - *x) * free;
        }
        let [energy, expected] = [&mut stage, &mut anew].map(|stage| stage.evaluate(&model.contact, &state.positions));
        assert!((energy - expected).abs() <= 1e-12 * expected && expected > 0.0, "motion {k}: {energy} {expected}");
        assert_eq!(stage.active().count(), anew.active().count(), "motion {k}");
    }
    assert!(reused >= 8 && blocked >= 2, "{reused} reused, {blocked} blocked");
}

/// MCA-28: k/2 dᵀ\[(1 − α) n nᵀ + α I\] d resists a motion across the normal with α times its stiffness along it. Both
/// blocks stay undeformed, so that normals do not rotate. They overlap by more than the depth over which the spring
/// sets in.
#[test]
fn penalties_are_alpha_as_stiff_across_the_normal_as_along_it() {
    for alpha in [0.0, 0.3, 1.0] {
        let model = blocks(ContactRule { tangential: alpha, ..ContactRule::default() }, -1e-3);
        let state = model.initial_state();
        let mut stage = ContactStage::default();
        stage.begin_step(&model.contact, &model.step_start(&state, &model.initial_control(), 0.01));
        let count = state.positions.len();
        // Force on the left block after a motion of the right one.
        let mut force_after = |motion: Vec3| {
            let moved: Vec<Vec3> =
                state.positions.iter().enumerate().map(|(p, &x)| if p < count / 2 { x } else { x + motion }).collect();
            let mut gradient = vec![Vec3::zero(); count];
            stage.evaluate(&model.contact, &moved);
            stage.add_gradient(&model.contact, &mut gradient);
            gradient[..count / 2].iter().copied().sum::<Vec3>()
        };
        let h = 1e-5;
        let mut stiffness = |axis: usize| {
            let motion = Vec3::unit(axis) * h;
            (force_after(motion)[axis] - force_after(-motion)[axis]).abs() / (2.0 * h)
        };
        let [along, across] = [stiffness(0), stiffness(1)];
        assert!(along > 0.0 && (across / along - alpha).abs() < 1e-6, "{alpha}: {across} {along}");
    }
}

/// Blocks that overlap by 5 mm at rest move through each other as if there were no contact, until they are farther apart
/// than the gap; from then on they repel each other, and no motion takes one into the other.
#[test]
fn what_crosses_at_rest_is_left_alone_until_it_parts() {
    let gap = 1e-3;
    let left_alone = RestContact::LeftAlone;
    let rule = ContactRule { mode: ContactMode::Barrier, gap: Some(gap), rest: left_alone, ..ContactRule::default() };
    let model = blocks(rule, -5e-3);
    assert_eq!(model.contact.tangles.counts(), [1, 0]);
    assert!(blocks(rule, 5e-3).contact.tangles.is_empty());
    let mut state = model.initial_state();
    let check = SurfaceCheck::of(&model, &state);
    assert!(check.crossings == 0 && check.rest_crossings > 10 && check.penetration == 0.0, "{check:?}");
    let rest = state.positions.clone();
    let count = rest.len();
    let at = |by: f64| -> Vec<Vec3> {
        rest.iter().enumerate().map(|(p, &x)| if p < count / 2 { x } else { x + Vec3::unit(0) * by }).collect()
    };
    let control = model.initial_control();
    // Free part of the motion, and the energy after it where all is free.
    let mut step = |by: f64, stage: &mut ContactStage| {
        stage.begin_step(&model.contact, &model.step_start(&state, &control, 0.01));
        let to = at(by);
        let free = stage.sweep(&model.contact, &state.positions, &to, 1.0);
        if free < 1.0 {
            return (free, state.history.contact_tangles.clone(), 0.0);
        }
        state.positions = to;
        let energy = stage.evaluate(&model.contact, &state.positions);
        stage.remember(&model.contact, &mut state.history);
        (free, state.history.contact_tangles.clone(), energy)
    };
    let mut stage = ContactStage::default();
    for by in [-2e-3, 4e-3, 5.0e-3 + 0.5 * gap] {
        assert_eq!(step(by, &mut stage), (1.0, vec![true], 0.0), "at {by}");
    }
    assert_eq!(step(5e-3 + 1.5 * gap, &mut stage), (1.0, vec![false], 0.0));
    // Another solver goes on from the state alone.
    let mut other = ContactStage::default();
    for stage in [&mut stage, &mut other] {
        let (free, tangled, _) = step(3e-3, stage);
        assert!(free < 1.0 && tangled == [false], "{free}");
    }
    let (free, _, energy) = step(5e-3 + 0.5 * gap, &mut other);
    assert!(free == 1.0 && energy > 0.0, "{energy}");
}

/// Barrier forces on the second body, after it has moved.
fn force_on_second(model: &Model, by: Vec3) -> Vec3 {
    let mut state = model.initial_state();
    let first = model.bodies[0].points.len();
    state.positions[first..].iter_mut().for_each(|x| *x += by);
    let mut stage = ContactStage::default();
    stage.begin_step(&model.contact, &model.step_start(&state, &model.initial_control(), 0.01));
    stage.evaluate(&model.contact, &state.positions);
    let mut gradient = vec![Vec3::zero(); state.positions.len()];
    stage.add_gradient(&model.contact, &mut gradient);
    -gradient[first..].iter().copied().sum::<Vec3>()
}

/// A plate over a larger one bears the same load wherever its triangles lie, and a similar one however its face is cut into
/// triangles of about that size. Grids that coincide edge by edge bear up to a fifth more, and are left out.
#[test]
fn pressure_does_not_depend_on_where_triangles_lie() {
    let gap = 1e-3;
    let rule = ContactRule { mode: ContactMode::Barrier, gap: Some(gap), ..ContactRule::default() };
    let large = box_tets(Vec3::new(0.2, 0.2, 0.0125), [16, 16, 1], TetPattern::Kuhn).unwrap();
    let mut loads = Vec::new();
    for (cells, pattern) in [(8, TetPattern::Kuhn), (8, TetPattern::Bcc), (7, TetPattern::Kuhn), (9, TetPattern::Bcc)] {
        let small = box_tets(Vec3::new(0.1, 0.1, 0.0125), [cells, cells, 1], pattern).unwrap();
        let of = |x: f64, y: f64| {
            let small = moved(&small, Vec3::new(0.05 + x, 0.05 + y, 0.0125 + 0.5 * gap));
            force_on_second(&pair(rule, [large.clone(), small]), Vec3::zero())
        };
        let [here, there] = [of(3.1e-3, 1.7e-3), of(5.9e-3, -4.3e-3)];
        assert!((here.z / there.z - 1.0).abs() < 0.01, "{cells} {pattern:?}: {here:?} {there:?}");
        assert!(here.x.hypot(here.y) < 0.01 * here.z, "{here:?}");
        loads.push(here.z);
    }
    let (least, most) = loads.iter().fold((f64::INFINITY, 0.0f64), |(a, b), &f| (a.min(f), b.max(f)));
    assert!(least > 0.0 && most < 1.2 * least, "{loads:?}");
}

/// A sphere that slides over a plate at the same height: its load stays the same, and hardly anything drags on it.
#[test]
fn spheres_slide_over_meshes_without_noise() {
    let gap = 4e-3;
    let rule = ContactRule { mode: ContactMode::Barrier, gap: Some(gap), ..ContactRule::default() };
    let plate = box_tets(Vec3::new(0.2, 0.2, 0.0125), [16, 16, 1], TetPattern::Kuhn).unwrap();
    let ball = sphere(0.05, 0.0125).unwrap();
    let low = ball.positions().iter().map(|x| x.z).fold(f64::INFINITY, f64::min);
    let model = pair(rule, [plate, moved(&ball, Vec3::new(0.09, 0.1, 0.0125 - low + 0.3 * gap))]);
    let forces: Vec<Vec3> =
        (0..20).map(|k| force_on_second(&model, Vec3::new(1.0, 0.37, 0.0) * (1.3e-3 * f64::from(k)))).collect();
    let mean = forces.iter().map(|f| f.z).sum::<f64>() / forces.len() as f64;
    let noise = forces.iter().map(|f| (f.z / mean - 1.0).abs()).fold(0.0, f64::max);
    let drag = forces.iter().map(|f| f.x.hypot(f.y) / mean).fold(0.0, f64::max);
    assert!(noise < 0.06 && drag < 0.08, "noise {noise}, drag {drag}");
}
