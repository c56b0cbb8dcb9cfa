//! Shared test fixtures: lattices, noise, materials.

mod band;
mod cycle;
mod embedded_springs;
mod experiments;
mod facts;
mod fas;
mod fibers;
mod inversion_barrier;
mod kernel;
mod moments;
mod nodal_terms;
mod patch;
mod physics;
mod thickness;
mod volume;

use sinew_geometry::lattice::{HexLattice, LatticeCell};
use sinew_math::Vec3;

use crate::{LatticeElastic, ModeStiffness, Multigrid, MultigridParams, VolumeLaw};

struct Noise(u64);

impl Noise {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    }

    fn vector(&mut self) -> Vec3 {
        Vec3::new(self.unit(), self.unit(), self.unit())
    }
}

const H: f64 = 0.1;

/// Activations of the two groups of fibers, where there are any.
const ACTIVATIONS: [f64; 2] = [0.9, 0.4];

/// Plain one-point quadrature (MCA-09): nothing resists the bilinear and trilinear modes.
const ONE_POINT: ModeStiffness = ModeStiffness { bilinear: 0.0, trilinear: 0.0 };

/// The paper's volume law, by traces: tangents are exact, and cycles and products share one.
fn printed_volume() -> MultigridParams {
    MultigridParams { volume: VolumeLaw::Trace, ..MultigridParams::default() }
}

fn dense(cubes: [usize; 3]) -> HexLattice {
    HexLattice::dense(Vec3::zero(), H, cubes).unwrap()
}

fn carved(cubes: [usize; 3], is_inside: impl Fn([usize; 3]) -> bool) -> HexLattice {
    let mut lattice = dense(cubes);
    lattice.retain(|cell| is_inside(cell.place.map(|p| p as usize)));
    lattice
}

/// Sign of corner k along an axis.
fn sign(k: usize, axis: usize) -> f64 {
    if k >> axis & 1 == 1 { 1.0 } else { -1.0 }
}

/// A lattice with random stiffness, rotated and deformed.
fn random_problem(cells: &HexLattice, noise: &mut Noise) -> (Vec<[f64; 2]>, Vec<Vec3>, Vec<Vec3>) {
    let lame = cells.cells.iter().map(|_| [1.0 + noise.unit(), 2.0 + noise.unit()]).collect();
    let mut places = vec![Vec3::zero(); cells.node_places.len()];
    for cell in &cells.cells {
        for (k, &node) in cell.nodes.iter().enumerate() {
            places[node as usize] =
                Vec3::from(std::array::from_fn(|axis| H * f64::from(cell.place[axis] + (k >> axis & 1) as u32)));
        }
    }
    let turn = sinew_math::Quaternion::exp_map(Vec3::new(0.5, 1.1, -0.7));
    let u = places.iter().map(|&p| turn.rotate(p) - p + noise.vector() * (0.7 * H)).collect();
    let x = places.iter().map(|_| noise.vector()).collect();
    (lame, u, x)
}

/// A palm with two fingers at the same grid positions: they share the palm's last nodes, and no others.
fn fingers() -> HexLattice {
    const PALM: u32 = 8;
    let size = [20u32, 6, 6];
    let mut seeds = Vec::new();
    for x in 0..size[0] {
        for y in 0..size[1] {
            for z in 0..size[2] {
                let copies = if x < PALM { 1 } else { 2 };
                seeds.extend((0..copies).map(|copy| ([x, y, z], copy)));
            }
        }
    }
    let key = |place: [u32; 3], copy: u32| (place, if place[0] <= PALM { 0 } else { copy });
    let corner = |place: [u32; 3], k: u32| std::array::from_fn(|axis| place[axis] + (k >> axis & 1));
    let keys: std::collections::BTreeSet<([u32; 3], u32)> =
        seeds.iter().flat_map(|&(place, copy)| (0..8).map(move |k| key(corner(place, k), copy))).collect();
    let numbers: std::collections::BTreeMap<_, u32> = keys.iter().copied().zip(0..).collect();
    let cell = |&(place, copy): &([u32; 3], u32)| LatticeCell {
        place,
        nodes: std::array::from_fn(|k| numbers[&key(corner(place, k as u32), copy)]),
        fraction: 1.0,
    };
    HexLattice {
        origin: Vec3::zero(),
        cell: H,
        cubes: size.map(|n| n as usize),
        cells: seeds.iter().map(cell).collect(),
        node_places: keys.iter().map(|&(place, _)| place).collect(),
    }
}

fn shapes() -> Vec<(&'static str, HexLattice)> {
    let ball = |center: f64, radius: f64| {
        move |place: [usize; 3]| place.iter().map(|&p| (p as f64 + 0.5 - center).powi(2)).sum::<f64>() < radius * radius
    };
    let capsule = |place: [usize; 3]| {
        let [x, y, z] = place.map(|p| p as f64);
        (x - y).abs() < 3.0 && (y - z).abs() < 3.0
    };
    vec![
        ("cube", dense([8, 8, 8])),
        ("odd box", dense([19, 5, 3])),
        ("wide box", dense([33, 4, 4])),
        ("ball", carved([20, 20, 20], ball(10.0, 9.0))),
        ("diagonal", carved([40, 40, 40], capsule)),
        ("fingers", fingers()),
        ("shell", carved([20, 20, 20], move |p| ball(10.0, 9.5)(p) && !ball(10.0, 6.0)(p))),
    ]
}

fn lame(poisson: f64) -> [f64; 2] {
    [1.0 / (2.0 * (1.0 + poisson)), poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson))]
}

/// Energy and its derivatives at displacements.
fn gradient_at(elastic: &LatticeElastic, cells: &HexLattice, u: &[Vec3], gradient: &mut [Vec3]) -> f64 {
    let x: Vec<Vec3> = u.iter().enumerate().map(|(node, u)| cells.node_position(node) + *u).collect();
    gradient.fill(Vec3::zero());
    let energy = elastic.add_gradient(&x, &ACTIVATIONS, 1.0, gradient);
    assert_eq!(energy, elastic.energy(&x, &ACTIVATIONS));
    energy
}

fn narrow(values: &[Vec3]) -> Vec<Vec3<f32>> {
    values.iter().map(|v| Vec3::new(v.x as f32, v.y as f32, v.z as f32)).collect()
}

fn widen(values: &[Vec3<f32>]) -> Vec<Vec3> {
    values.iter().map(|v| Vec3::new(f64::from(v.x), f64::from(v.y), f64::from(v.z))).collect()
}

/// K x in f32.
fn product_of(system: &mut Multigrid, x: &[Vec3]) -> Vec<Vec3> {
    let mut product = vec![Vec3::new(0.0f32, 0.0, 0.0); x.len()];
    system.apply(&narrow(x), &mut product);
    widen(&product)
}

/// Nodes of one end along an axis.
fn fixed_end(cells: &HexLattice, axis: usize) -> Vec<[bool; 3]> {
    cells.node_places.iter().map(|place| [place[axis] == 0; 3]).collect()
}

fn material(cells: &HexLattice) -> Vec<[f64; 2]> {
    vec![lame(0.3); cells.cells.len()]
}

/// Checks that one V-cycle from zero is a symmetric positive map of right-hand sides that vanish at fixed nodes.
fn assert_symmetric_and_positive(system: &mut Multigrid, fixed: &[[bool; 3]], noise: &mut Noise) {
    let mut cycle = |b: &[Vec3]| {
        system.set_right_side(b);
        system.cycle_from_zero();
        let mut x = vec![Vec3::zero(); b.len()];
        system.solution(&mut x);
        x
    };
    let mut vector =
        || -> Vec<Vec3> { fixed.iter().map(|f| if f[0] { Vec3::zero() } else { noise.vector() }).collect() };
    let vectors = [vector(), vector()];
    let solved: Vec<Vec<Vec3>> = vectors.iter().map(|v| cycle(v)).collect();
    let dot = |a: &[Vec3], b: &[Vec3]| a.iter().zip(b).map(|(a, b)| a.dot(*b)).sum::<f64>();
    let (uv, vu) = (dot(&vectors[0], &solved[1]), dot(&vectors[1], &solved[0]));
    let uu = dot(&vectors[0], &solved[0]);
    assert!(uu > 0.0 && (uv - vu).abs() < 1e-5 * uu, "{uv} {vu} {uu}");
}
