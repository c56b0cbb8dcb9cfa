//! Volume by determinants: forces and tangents, and the response of compressed flesh.

use sinew_math::svd3::svd3_plain;
use sinew_math::{Mat3, Quaternion};

use super::physics::affine;
use super::*;
use crate::level::Guess;
use crate::pass::Pass;
use crate::solve::dot;
use crate::{Method, MultigridParams, TangentKind};

fn params() -> MultigridParams {
    MultigridParams { volume: VolumeLaw::Determinant, coarsest_cells: 16, ..MultigridParams::default() }
}

fn elastic(cells: &HexLattice, lame: &[[f64; 2]]) -> LatticeElastic {
    LatticeElastic::new(cells, lame, params().modes, VolumeLaw::Determinant)
}

/// E = V \[μ |σ − 1|² + λ/2 (J − 1)²\] for any homogeneous F, inverted or not, and forces are its derivatives.
#[test]
fn forces_are_derivatives_of_the_energy() {
    let cells = carved([5, 4, 4], |[x, y, z]| x + y + z < 9);
    let (mut noise, material) = (Noise(3), material(&cells));
    let [mu, lambda] = material[0];
    let elastic = elastic(&cells, &material);
    let mut inverted = 0;
    for _ in 0..20 {
        let f = Mat3::identity() * 0.6 + Mat3::from_rows(noise.vector(), noise.vector(), noise.vector()) * 2.0;
        let sigma = svd3_plain(&f).sigma;
        if sigma.y + sigma.z < 0.1 {
            continue;
        }
        inverted += usize::from(sigma.z < 0.0);
        let shape = (sigma - Vec3::splat(1.0)).norm_squared();
        let density = mu * shape + 0.5 * lambda * (f.determinant() - 1.0).powi(2);
        let expected = density * H.powi(3) * cells.cells.len() as f64;
        let u = affine(&cells, f);
        let mut gradient = vec![Vec3::zero(); u.len()];
        let energy = gradient_at(&elastic, &cells, &u, &mut gradient);
        assert!((energy / expected - 1.0).abs() < 1e-6, "{energy} {expected}");
        let v: Vec<Vec3> = u.iter().map(|_| noise.vector()).collect();
        let mut scratch = vec![Vec3::zero(); u.len()];
        let mut at = |s: f64| {
            let moved: Vec<Vec3> = u.iter().zip(&v).map(|(u, v)| *u + *v * s).collect();
            gradient_at(&elastic, &cells, &moved, &mut scratch)
        };
        let h = 1e-6;
        let (slope, size) = gradient
            .iter()
            .zip(&v)
            .fold((0.0, 0.0), |(sum, size), (g, v)| (sum + g.dot(*v), size + g.norm() * v.norm()));
        assert!(((at(h) - at(-h)) / (2.0 * h) - slope).abs() < 1e-5 * size, "{slope}");
    }
    assert!(inverted > 3, "{inverted}");
}

/// Where volume is preserved the tangent is exact for any stretches; products in f32 and f64 agree, and so does the
/// diagonal.
#[test]
fn tangents_are_exact_where_volume_is_kept() {
    let cells = carved([9, 6, 5], |[x, y, z]| x + y + z < 14);
    let (material, mut noise) = (material(&cells), Noise(5));
    let (elastic, fixed) = (elastic(&cells, &material), vec![[false; 3]; cells.node_places.len()]);
    let turn = Quaternion::exp_map(Vec3::new(0.4, -1.0, 0.3)).to_matrix();
    let skew = Quaternion::exp_map(Vec3::new(-0.2, 0.5, 0.9)).to_matrix();
    for [a, b] in [[1.0, 1.0], [1.3, 0.9], [1.2, 1.1]] {
        let f = turn * Mat3::diagonal(Vec3::new(a, b, 1.0 / (a * b))) * skew;
        let u = affine(&cells, f);
        let v: Vec<Vec3> = u.iter().map(|_| noise.vector()).collect();
        let at = |s: f64| {
            let moved: Vec<Vec3> = u.iter().zip(&v).map(|(u, v)| *u + *v * s).collect();
            let mut gradient = vec![Vec3::zero(); u.len()];
            gradient_at(&elastic, &cells, &moved, &mut gradient);
            gradient
        };
        let mut system = Multigrid::new(&cells, &material, &fixed, params()).unwrap();
        system.linearize(&u, TangentKind::Exact, 1.0).unwrap();
        let mut wide = vec![Vec3::zero(); u.len()];
        system.apply_wide(&v, &mut wide);
        let product = product_of(&mut system, &v);
        let largest = product.iter().map(|p| p.norm()).fold(0.0, f64::max);
        let h = 1e-6;
        for (k, (before, after)) in at(-h).iter().zip(&at(h)).enumerate() {
            let expected = (*after - *before) / (2.0 * h);
            assert!((expected - product[k]).norm() < 2e-4 * largest, "{a} {b} {k}: {expected:?} {:?}", product[k]);
            assert!((wide[k] - product[k]).norm() < 1e-5 * largest, "{k}");
        }
        system.linearize(&u, TangentKind::Definite, 1.0).unwrap();
        let diagonal = system.diagonal();
        for node in [7, 40, 61] {
            for c in 0..3 {
                let mut unit = vec![Vec3::zero(); u.len()];
                unit[node][c] = 1.0;
                let entry = product_of(&mut system, &unit)[node][c];
                assert!((entry / diagonal[node][c] - 1.0).abs() < 1e-4, "{entry} {}", diagonal[node][c]);
            }
        }
    }
}

/// Ten thousand flat, inverted, huge and tiny cells: all values are finite, and no motion has negative energy.
#[test]
fn tangents_of_anything_are_definite() {
    let cells = dense([25, 20, 20]);
    let (material, mut noise) = (material(&cells), Noise(11));
    let fixed = vec![[false; 3]; cells.node_places.len()];
    let mut system = Multigrid::without_factor(&cells, &material, &fixed, params());
    for size in [1e-3, 0.3, 1.0, 3.0, 1e3] {
        let u: Vec<Vec3> = fixed.iter().map(|_| noise.vector() * (size * H)).collect();
        system.linearize(&u, TangentKind::Definite, 1.0).unwrap();
        for _ in 0..3 {
            let v: Vec<Vec3> = u.iter().map(|_| noise.vector()).collect();
            let product = product_of(&mut system, &v);
            let energy: f64 = product.iter().zip(&v).map(|(p, v)| p.dot(*v)).sum();
            assert!(energy > 0.0 && energy.is_finite(), "{size}: {energy}");
        }
    }
}

/// Multigrid handles a bent and squeezed bar of ν = 0.45 as well as with the printed law.
#[test]
fn cycles_converge_for_squeezed_flesh() {
    let cells = dense([32, 8, 8]);
    let material = vec![lame(0.45); cells.cells.len()];
    let fixed = fixed_end(&cells, 0);
    let bend = |x: Vec3| {
        let (angle, radius) = (0.5 * x.x, 2.0 + x.y * 0.8 - 0.4);
        Vec3::new(radius * angle.sin(), radius * angle.cos() - 2.0, x.z * 0.9) - x
    };
    let u: Vec<Vec3> = (0..fixed.len()).map(|node| bend(cells.node_position(node))).collect();
    let b: Vec<Vec3> = fixed.iter().map(|fixed| if fixed[0] { Vec3::zero() } else { Vec3::unit(1) }).collect();
    let mut counts = [VolumeLaw::Trace, VolumeLaw::Determinant].map(|volume| {
        let params = MultigridParams { volume, ..MultigridParams::default() };
        let mut system = Multigrid::new(&cells, &material, &fixed, params).unwrap();
        system.linearize(&u, TangentKind::Definite, 1.0).unwrap();
        let mut x = vec![Vec3::zero(); b.len()];
        system.solve(Method::MultigridCg, &b, &mut x, 1e-6, 60).iterations
    });
    counts[0] += 4;
    assert!(counts[1] <= counts[0] && counts[1] <= 20, "{counts:?}");
}

/// A cube pressed to a third of its height between frictionless plates: with ν = 0.49 it keeps 0.95 of its volume, 0.59
/// with the printed law.
#[test]
fn pressed_flesh_keeps_its_volume() {
    let [mu, lambda] = lame(0.49);
    let volume_at = |law: VolumeLaw| {
        // Sideways stretches of minimum energy, by golden section search.
        let height: f64 = 1.0 / 3.0;
        let energy = |s: f64| {
            let shape = 2.0 * (s - 1.0) * (s - 1.0) + (height - 1.0) * (height - 1.0);
            let trace = 2.0 * s + height - 3.0;
            let swelling = match law {
                VolumeLaw::Trace => 0.5 * trace * trace,
                VolumeLaw::Determinant => 0.5 * (s * s * height - 1.0).powi(2),
            };
            mu * shape + lambda * swelling
        };
        let (mut low, mut high) = (0.5, 3.0);
        for _ in 0..100 {
            let [a, b] = [low + 0.382 * (high - low), low + 0.618 * (high - low)];
            if energy(a) < energy(b) { high = b } else { low = a }
        }
        low * low * height
    };
    let cells = dense([2, 2, 2]);
    let material = vec![[mu, lambda]; 8];
    for (law, expected) in [(VolumeLaw::Trace, 0.59), (VolumeLaw::Determinant, 0.95)] {
        let volume = volume_at(law);
        assert!((volume - expected).abs() < 0.03, "{law:?}: {volume}");
        // The cells agree: no force along x and y there.
        let side = (3.0 * volume).sqrt();
        let u = affine(&cells, Mat3::diagonal(Vec3::new(side, side, 1.0 / 3.0)));
        let elastic = LatticeElastic::new(&cells, &material, params().modes, law);
        let mut gradient = vec![Vec3::zero(); u.len()];
        gradient_at(&elastic, &cells, &u, &mut gradient);
        let sideways = gradient.iter().map(|g| g.x.hypot(g.y)).fold(0.0, f64::max);
        let along = gradient.iter().map(|g| g.z.abs()).fold(0.0, f64::max);
        assert!(sideways < 1e-3 * along, "{law:?}: {sideways} {along}");
    }
}

#[test]
fn cycles_are_symmetric_and_positive() {
    for (cells, axis) in [(carved([24, 20, 12], |[x, y, _]| x + y < 36), 2), (fingers(), 0)] {
        for size in [0.3, 1.0, 2.0] {
            let mut noise = Noise(5);
            let (lame, u, _) = random_problem(&cells, &mut noise);
            let u: Vec<Vec3> = u.iter().map(|u| *u * size).collect();
            let fixed = fixed_end(&cells, axis);
            let mut system = Multigrid::new(&cells, &lame, &fixed, params()).unwrap();
            system.linearize(&u, TangentKind::Definite, 1.0).unwrap();
            assert_symmetric_and_positive(&mut system, &fixed, &mut noise);
        }
    }
}

/// Sweeps remove energy everywhere, even from a single flattened cell among thousands at rest. Its modes have the
/// largest eigenvalue by a tenth, and barely show up in the starting vectors of estimates.
#[test]
fn sweeps_calm_a_single_pressed_cell() {
    let cells = dense([40, 24, 24]);
    let material = vec![lame(0.45); cells.cells.len()];
    let fixed = fixed_end(&cells, 0);
    let mut system = Multigrid::new(&cells, &material, &fixed, MultigridParams::default()).unwrap();
    for squeeze in [0.0, 0.5, 0.8, 1.2] {
        let mut u = vec![Vec3::zero(); fixed.len()];
        let nodes = cells.cells[cells.cells.len() / 2].nodes;
        for (k, &node) in nodes.iter().enumerate() {
            u[node as usize] = Vec3::new(-0.3, -0.1, 1.0) * (-0.5 * squeeze * H * sign(k, 2));
        }
        system.linearize(&u, TangentKind::Definite, 1.0).unwrap();
        let params = system.params;
        let level = &mut system.levels[0];
        let places: Vec<f32> =
            (0..fixed.len()).map(|node| if nodes.contains(&(node as u32)) { 1.0 } else { 1e-3 }).collect();
        let mut noise = Noise(9);
        let start: Vec<[f32; 3]> =
            places.iter().map(|size| noise.vector().to_array().map(|x| x as f32 * size)).collect();
        level.layout.spread(&mut level.x, |node| start[node]);
        for (x, free) in level.x.iter_mut().zip(&*level.free) {
            *x *= free;
        }
        level.b.fill(0.0);
        let mut before = f64::INFINITY;
        for turn in 0..20 {
            level.pass(params.modes, |b, inverse, out| Pass::Residual { b, inverse, out });
            let energy = -dot(&level.layout, &level.x, &level.out);
            assert!(energy > 0.0 && energy < before, "{squeeze}, {turn}: {before} {energy}");
            before = energy;
            level.smooth(&params, Guess::Kept);
        }
    }
}
