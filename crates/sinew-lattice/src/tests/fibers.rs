//! Muscle fibers: forces, tangents, and their effect on the cycle.

use sinew_math::{Mat3, Vec3};

use super::*;
use crate::{Fibers, Method, MultigridParams, TangentKind};

/// Fibers that fan out, in two groups; some cells have none.
fn fan(cells: &HexLattice, stress: f64) -> Fibers {
    let mut fibers = Fibers::default();
    for (k, cell) in cells.cells.iter().enumerate() {
        let [x, y, z] = cell.place.map(f64::from);
        fibers.directions.push(Vec3::new(1.0, 0.05 * (y - 2.0), 0.02 * (z - x)).normalized());
        fibers.stress.push(if k % 17 == 5 { 0.0 } else { stress });
        fibers.groups.push(u16::from(y > 3.0));
    }
    fibers
}

fn muscle(
    params: MultigridParams,
    cells: &HexLattice,
    lame: &[[f64; 2]],
    fixed: &[[bool; 3]],
    fibers: &Fibers,
) -> Multigrid {
    let params = MultigridParams { coarsest_cells: 16, ..params };
    let mut system = Multigrid::new(cells, lame, fixed, params).unwrap().with_fibers(fibers).unwrap();
    system.set_activations(&ACTIVATIONS);
    system
}

#[test]
fn forces_of_muscles_are_derivatives_and_tangents_too() {
    for cells in [carved([9, 7, 6], |[x, y, z]| x + y + z < 17), fingers()] {
        let mut noise = Noise(7);
        let (lame, u, v) = random_problem(&cells, &mut noise);
        let u: Vec<Vec3> = u.iter().map(|u| *u * 0.4).collect();
        let fibers = fan(&cells, 6.0);
        let fixed = fixed_end(&cells, 0);
        let mut system = muscle(printed_volume(), &cells, &lame, &fixed, &fibers);
        let elastic = LatticeElastic::with_fibers(&cells, &lame, system.params.modes, VolumeLaw::Trace, Some(&fibers));
        let at = |s: f64| {
            let moved: Vec<Vec3> = u.iter().zip(&v).map(|(u, v)| *u + *v * s).collect();
            let mut gradient = vec![Vec3::zero(); u.len()];
            (gradient_at(&elastic, &cells, &moved, &mut gradient), gradient)
        };
        let h = 1e-6;
        let ((minus, before), (_, gradient), (plus, after)) = (at(-h), at(0.0), at(h));
        let slope: f64 = gradient.iter().zip(&v).map(|(g, v)| g.dot(*v)).sum();
        assert!(((plus - minus) / (2.0 * h) - slope).abs() < 1e-6 * slope.abs(), "{slope}");
        system.linearize(&u, TangentKind::Exact, 1.0).unwrap();
        let mut wide = vec![Vec3::zero(); u.len()];
        system.apply_wide(&v, &mut wide);
        let product = product_of(&mut system, &v);
        let largest = product.iter().map(|p| p.norm()).fold(0.0, f64::max);
        for (k, (before, after)) in before.iter().zip(&after).enumerate() {
            assert!(((*after - *before) / (2.0 * h) - product[k]).norm() < 2e-4 * largest, "{k}");
            assert!((wide[k] - product[k]).norm() < 1e-5 * largest, "{k}");
        }
        // The diagonal is that of the cycle's operator.
        system.linearize(&u, TangentKind::Definite, 1.0).unwrap();
        let diagonal = system.diagonal();
        for node in [40, 61, 83] {
            for c in 0..3 {
                let mut unit = vec![Vec3::zero(); u.len()];
                unit[node][c] = 1.0;
                let entry = product_of(&mut system, &unit)[node][c];
                assert!(
                    fixed[node][0] || (entry / diagonal[node][c] - 1.0).abs() < 1e-4,
                    "{entry} {}",
                    diagonal[node][c]
                );
            }
        }
    }
}

/// What fibers add to products is the derivative of what they add to forces, with either volume law: products of the
/// determinant have tangents of their own. Cycles in between change nothing.
#[test]
fn products_have_the_tangents_of_fibers_with_either_volume_law() {
    let cells = fingers();
    let mut noise = Noise(11);
    let (lame, u, v) = random_problem(&cells, &mut noise);
    let u: Vec<Vec3> = u.iter().map(|u| *u * 0.4).collect();
    let fibers = fan(&cells, 6.0);
    let fixed = fixed_end(&cells, 0);
    for volume in [VolumeLaw::Trace, VolumeLaw::Determinant] {
        let params = MultigridParams { volume, ..MultigridParams::default() };
        let modes = params.modes;
        let force = |fibers: Option<&Fibers>, s: f64| {
            let moved: Vec<Vec3> = u.iter().zip(&v).map(|(u, v)| *u + *v * s).collect();
            let mut gradient = vec![Vec3::zero(); u.len()];
            let elastic = LatticeElastic::with_fibers(&cells, &lame, modes, volume, fibers);
            gradient_at(&elastic, &cells, &moved, &mut gradient);
            gradient
        };
        let pull = |s: f64| -> Vec<Vec3> {
            force(Some(&fibers), s).iter().zip(&force(None, s)).map(|(all, plain)| *all - *plain).collect()
        };
        let mut plain = Multigrid::new(&cells, &lame, &fixed, params).unwrap();
        let mut active = muscle(params, &cells, &lame, &fixed, &fibers);
        plain.linearize(&u, TangentKind::Exact, 1.0).unwrap();
        active.linearize(&u, TangentKind::Exact, 1.0).unwrap();
        let without = product_of(&mut plain, &v);
        let with = product_of(&mut active, &v);
        let narrow: Vec<Vec3<f32>> = v.iter().map(|v| Vec3::from_f64(*v)).collect();
        active.precondition(&narrow, &mut vec![Vec3::zero(); v.len()]);
        assert_eq!(with, product_of(&mut active, &v));
        let h = 1e-6;
        let (before, after) = (pull(-h), pull(h));
        let largest = with.iter().map(|p| p.norm()).fold(0.0, f64::max);
        for (k, (before, after)) in before.iter().zip(&after).enumerate() {
            let (expected, found) = ((*after - *before) / (2.0 * h), with[k] - without[k]);
            assert!((expected - found).norm() < 2e-4 * largest, "{volume:?} {k}: {expected:?} {found:?}");
        }
    }
}

/// Uniform stretch along the fibers: P = P_matrix + T(l) n ⊗ a, by hand.
#[test]
fn a_stretched_muscle_pulls_as_its_curve_says() {
    let cells = dense([3, 2, 2]);
    let lame = material(&cells);
    let count = cells.cells.len();
    let fibers = Fibers { directions: vec![Vec3::unit(0); count], stress: vec![5.0; count], groups: vec![0; count] };
    let modes = MultigridParams::default().modes;
    let plain = LatticeElastic::new(&cells, &lame, modes, VolumeLaw::Trace);
    let active = LatticeElastic::with_fibers(&cells, &lame, modes, VolumeLaw::Trace, Some(&fibers));
    for (stretch, tension) in [
        (1.0, 0.9),
        (0.8, 0.9 * (1.0 - 25.0 / 6.0 * 0.04)),
        (0.3, 0.0),
        (1.2, 0.9 * (1.0 - 25.0 / 6.0 * 0.04) + 0.05 * (1.32f64.exp() - 2.32)),
    ] {
        let u = super::physics::affine(&cells, Mat3::diagonal(Vec3::new(stretch, 1.0, 1.0)));
        let pull = |elastic: &LatticeElastic| {
            let mut gradient = vec![Vec3::zero(); u.len()];
            gradient_at(elastic, &cells, &u, &mut gradient);
            let end = cells.node_places.iter().zip(&gradient).filter(|(place, _)| place[0] == 3);
            end.map(|(_, gradient)| gradient.x).sum::<f64>()
        };
        let area = 4.0 * H * H;
        let found = (pull(&active) - pull(&plain)) / (5.0 * area);
        assert!((found - tension).abs() < 1e-6, "{stretch}: {found} {tension}");
    }
}

/// Fibers that pull with up to 26 times the μ of the matrix.
#[test]
fn active_fibers_hardly_slow_the_cycle() {
    let cells = dense([32, 12, 12]);
    let lame = material(&cells);
    let fixed = fixed_end(&cells, 0);
    let mut noise = Noise(2);
    let b: Vec<Vec3> = fixed.iter().map(|fixed| if fixed[0] { Vec3::zero() } else { noise.vector() }).collect();
    let stretch = super::physics::affine(&cells, Mat3::diagonal(Vec3::new(0.9, 1.05, 1.05)));
    let mut counts = Vec::new();
    for stress in [0.0, 3.0, 10.0] {
        let mut system = muscle(MultigridParams::default(), &cells, &lame, &fixed, &fan(&cells, stress));
        system.linearize(&stretch, TangentKind::Definite, 1.0).unwrap();
        let mut x = vec![Vec3::zero(); b.len()];
        let report = system.solve(Method::MultigridCg, &b, &mut x, 1e-6, 60);
        counts.push(report.iterations);
    }
    assert!(counts.iter().all(|&count| count <= 15), "{counts:?}");
}
