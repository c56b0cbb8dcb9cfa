//! The inversion barrier at cell corners.

use super::*;
use crate::TangentKind;

/// Fold angle, smallest and largest b₀, J₀, J₁ and κ over λ + 2μ, as docs/concepts/lattice.md gives them.
const FOLD: f64 = 1.6;
const LIMITS: [f64; 2] = [0.2, 1.0];
const LEAST: f64 = 0.3;
const HARD: f64 = 0.06;
const FIRMNESS: f64 = 2.0;

/// φ(J).
fn volume_energy(volume: f64) -> f64 {
    let phi = |j: f64| LEAST * (LEAST / j).ln() - LEAST + j;
    let (slope, curvature) = (1.0 - LEAST / HARD, LEAST / (HARD * HARD));
    match volume {
        v if v >= LEAST => 0.0,
        v if v >= HARD => phi(v),
        v => phi(HARD) + (v - HARD) * slope + 0.5 * curvature * (v - HARD).powi(2),
    }
}

/// Barrier energy of a block of cells, cell by cell and Gauss point by Gauss point.
fn energy_of_corners(cells: &HexLattice, lame: &[[f64; 2]], u: &[Vec3]) -> f64 {
    let thickness = cells.cubes.into_iter().min().unwrap();
    let limit = (FOLD / thickness as f64).clamp(LIMITS[0], LIMITS[1]);
    let mut total = 0.0;
    for (cell, [mu, lambda]) in cells.cells.iter().zip(lame) {
        let corner = |k: usize| u[cell.nodes[k] as usize];
        let mut volumes = 0.0;
        for q in 0..8 {
            let place: [f64; 3] = [0, 1, 2].map(|axis| sign(q, axis) / 3f64.sqrt());
            let mut f = sinew_math::Mat3::identity();
            for k in 0..8 {
                for axis in 0..3 {
                    // ∂N/∂X of trilinear shape functions.
                    let mut slope = 0.25 * sign(k, axis) / H;
                    for other in (0..3).filter(|other| *other != axis) {
                        slope *= 1.0 + sign(k, other) * place[other];
                    }
                    (0..3).for_each(|i| f.rows[i][axis] += corner(k)[i] * slope);
                }
            }
            volumes += volume_energy(f.determinant()) / 8.0;
        }
        let bend = |axes: &[usize]| {
            let sum = (0..8).fold(Vec3::zero(), |sum, k| sum + corner(k) * axes.iter().map(|&a| sign(k, a)).product());
            (sum * (0.25 / H)).norm_squared()
        };
        let bends = (bend(&[0, 1]) + bend(&[0, 2]) + bend(&[1, 2]) + bend(&[0, 1, 2])).sqrt();
        total += FIRMNESS * (lambda + 2.0 * mu) * H.powi(3) * (volumes + 0.5 * (bends - limit).max(0.0).powi(2));
    }
    total
}

fn params() -> MultigridParams {
    MultigridParams { inversion_barrier: true, ..MultigridParams::default() }
}

fn moved(u: &[Vec3], v: &[Vec3], by: f64) -> Vec<Vec3> {
    u.iter().zip(v).map(|(u, v)| *u + *v * by).collect()
}

/// A block with one corner pulled out, one pushed in, and a flattened layer.
fn crumpled(cells: &HexLattice) -> Vec<Vec3> {
    let mut u = vec![Vec3::zero(); cells.node_places.len()];
    for (u, place) in u.iter_mut().zip(&cells.node_places) {
        match *place {
            [0, 0, 0] => *u = Vec3::new(-1.4, -0.8, -1.1) * H,
            [4, 4, 4] => *u = Vec3::new(-1.3, -1.4, -1.2) * H,
            [_, _, z] if z >= 2 => *u = Vec3::new(0.0, 0.0, -0.85 * H),
            _ => {}
        }
    }
    u
}

/// The barrier adds the sum above, and forces are derivatives.
#[test]
fn corners_add_their_energy_and_its_derivatives() {
    let cells = dense([4, 4, 4]);
    let (material, mut noise) = (material(&cells), Noise(17));
    let elastic = LatticeElastic::new(&cells, &material, ModeStiffness::EXACT, VolumeLaw::Determinant)
        .with_inversion_barrier(&cells);
    let u = crumpled(&cells);
    let mut gradient = vec![Vec3::zero(); u.len()];
    let energy = gradient_at(&elastic, &cells, &u, &mut gradient);
    let corners = energy_of_corners(&cells, &material, &u);
    let without = LatticeElastic::new(&cells, &material, ModeStiffness::EXACT, VolumeLaw::Determinant);
    let rest = gradient_at(&without, &cells, &u, &mut gradient.clone());
    assert!(corners > 0.1 * rest && (energy / (rest + corners) - 1.0).abs() < 1e-7, "{corners} and {rest}: {energy}");
    for _ in 0..5 {
        let v: Vec<Vec3> = u.iter().map(|_| noise.vector()).collect();
        let mut scratch = gradient.clone();
        let mut at = |s: f64| gradient_at(&elastic, &cells, &moved(&u, &v, s), &mut scratch);
        let h = 1e-6 * H;
        let slope: f64 = gradient.iter().zip(&v).map(|(g, v)| g.dot(*v)).sum();
        assert!(((at(h) - at(-h)) / (2.0 * h) - slope).abs() < 1e-5 * slope.abs(), "{slope}");
    }
}

/// Where volumes are large enough, the rows give the second derivative.
#[test]
fn rows_of_bends_are_their_tangent() {
    let cells = dense([2, 2, 2]);
    let (material, mut noise) = (material(&cells), Noise(5));
    let mut u = vec![Vec3::zero(); cells.node_places.len()];
    u[cells.cells[7].nodes[7] as usize] = Vec3::new(1.8, 1.4, 2.2) * H;
    assert!(energy_of_corners(&cells, &material, &u) > 0.0);
    let fixed = vec![[false; 3]; u.len()];
    let mut system = Multigrid::new(&cells, &material, &fixed, params()).unwrap();
    system.linearize(&u, TangentKind::Definite, 1.0).unwrap();
    for _ in 0..4 {
        let v: Vec<Vec3> = u.iter().map(|_| noise.vector() * H).collect();
        let mut product = 0.0;
        let narrow = narrow(&v);
        let at = |node: u32| narrow[node as usize].to_array();
        system.levels[0].corners.add_product(at, |node, sum| {
            product += Vec3::<f32>::from(sum).to_f64().dot(v[node as usize]);
        });
        let energy = |s: f64| energy_of_corners(&cells, &material, &moved(&u, &v, s));
        let h = 1e-4;
        let second = (energy(h) - 2.0 * energy(0.0) + energy(-h)) / (h * h);
        assert!((product / second - 1.0).abs() < 1e-3, "{product} {second}");
    }
}

/// Cycles stay symmetric and positive with active barriers, and conjugate gradients preconditioned by them converge.
#[test]
fn cycles_of_crumpled_flesh_are_definite() {
    let cells = dense([12, 8, 8]);
    let material = vec![lame(0.45); cells.cells.len()];
    let (fixed, mut noise) = (fixed_end(&cells, 0), Noise(23));
    let params = MultigridParams { coarsest_cells: 16, ..params() };
    let mut system = Multigrid::new(&cells, &material, &fixed, params).unwrap();
    let crumpled: Vec<Vec3> = crumpled(&cells)
        .iter()
        .zip(&fixed)
        .map(|(&u, fixed)| if fixed[0] { Vec3::zero() } else { u + noise.vector() * (0.4 * H) })
        .collect();
    system.linearize(&crumpled, TangentKind::Definite, 1.0).unwrap();
    assert_symmetric_and_positive(&mut system, &fixed, &mut noise);
}

/// Forces pull a corner that was pushed through its cell back out.
#[test]
fn corners_inside_out_come_back() {
    let one = dense([1, 1, 1]);
    let material = [lame(0.45)];
    let elastic =
        LatticeElastic::new(&one, &material, ModeStiffness::EXACT, VolumeLaw::Determinant).with_inversion_barrier(&one);
    let corner = one.cells[0].nodes[7] as usize;
    let mut u = vec![Vec3::zero(); 8];
    u[corner] = Vec3::splat(-1.5 * H);
    let mut gradient = vec![Vec3::zero(); 8];
    for _ in 0..4000 {
        gradient_at(&elastic, &one, &u, &mut gradient);
        u[corner] -= gradient[corner] * (0.01 / (H * (material[0][1] + 2.0 * material[0][0])));
    }
    assert!(u[corner].norm() < 1e-3 * H, "{:?}", u[corner]);
}
