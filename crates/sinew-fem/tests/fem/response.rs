//! Materials asked for ψ, P and δP at given deformation gradients.

#![allow(non_snake_case)]

use sinew_fem::elastic::{FiberGroup, Points, Response, ResponseError};
use sinew_fem::material::{Law, MaterialSpec};
use sinew_math::{Mat3, Vec3};

/// An odd number of gradients, so that the last lanes are not full.
fn deformations() -> Vec<Mat3> {
    let wave = |k: usize, i: usize| 0.15 * ((7 * k + 3 * i) as f64).sin();
    (0..13)
        .map(|k| {
            let mut F = Mat3::identity();
            (0..9).for_each(|i| F.rows[i / 3][i % 3] += wave(k, i));
            F
        })
        .collect()
}

/// Every law, without muscle and with.
fn materials() -> Vec<(Response, bool)> {
    let plain = Law::ALL.iter().map(|&law| (Response::new(MaterialSpec::with_young(law, 30e3, 0.4)), false));
    let active = Law::ALL.iter().filter(|law| law.takes_fibers()).map(|&law| {
        let group = FiberGroup { optimal_stretch: 1.1, ..FiberGroup::default() };
        (Response::new(MaterialSpec::with_young(law, 30e3, 0.4)).with_muscle(group, 300e3).unwrap(), true)
    });
    plain.chain(active).collect()
}

/// ψ, P and δP of every law, with and without muscle, are derivatives of each other.
#[test]
fn stress_is_the_derivative_of_energy_and_so_on() {
    let F = deformations();
    let dF: Vec<Mat3> = F.iter().rev().map(|F| *F - Mat3::identity()).collect();
    let fibers: Vec<Vec3> = (0..F.len()).map(|k| Vec3::new(1.0, (k as f64).cos(), 0.3)).map(|v| v / v.norm()).collect();
    let activations: Vec<f64> = (0..F.len()).map(|k| k as f64 / F.len() as f64).collect();
    const H: f64 = 1e-6;
    for (material, has_muscle) in materials() {
        let active: &[f64] = if has_muscle { &activations } else { &[] };
        let moved = |sign: f64| -> (Vec<f64>, Vec<Mat3>) {
            let F: Vec<Mat3> = F.iter().zip(&dF).map(|(F, dF)| *F + *dF * (sign * H)).collect();
            let points = Points { deformations: &F, fibers: &fibers, activations: active };
            let (mut psi, mut P) = (vec![0.0; F.len()], vec![Mat3::zero(); F.len()]);
            material.energy(&points, &mut psi).unwrap();
            material.stress(&points, &mut P).unwrap();
            (psi, P)
        };
        let points = Points { deformations: &F, fibers: &fibers, activations: active };
        let (mut P, mut dP) = (vec![Mat3::zero(); F.len()], vec![Mat3::zero(); F.len()]);
        material.stress(&points, &mut P).unwrap();
        material.stress_differential(&points, &dF, &mut dP).unwrap();
        let (plus, minus) = (moved(1.0), moved(-1.0));
        for k in 0..F.len() {
            let slope = (plus.0[k] - minus.0[k]) / (2.0 * H);
            let power: f64 = (0..9).map(|i| P[k].rows[i / 3][i % 3] * dF[k].rows[i / 3][i % 3]).sum();
            let scale = P[k].norm_squared().sqrt().max(1.0);
            assert!((slope - power).abs() < 1e-5 * scale, "{material:?}: point {k}: {slope} is not {power}");
            let change = (plus.1[k] - minus.1[k]) / (2.0 * H);
            let off = (change - dP[k]).norm_squared().sqrt();
            assert!(off < 1e-5 * dP[k].norm_squared().sqrt().max(1e3), "{material:?}: point {k}: δP is off by {off}");
        }
    }
}

#[test]
fn lists_may_have_one_entry_or_one_per_point() {
    let material = Response::new(MaterialSpec::with_young(Law::StableNeoHookean, 3e4, 0.4))
        .with_muscle(FiberGroup::default(), 3e5);
    let material = material.unwrap();
    let F = deformations();
    let x = Vec3::new(1.0, 0.0, 0.0);
    let answer = |fibers: &[Vec3], activations: &[f64]| {
        let mut P = vec![Mat3::zero(); F.len()];
        material.stress(&Points { deformations: &F, fibers, activations }, &mut P).map(|()| P)
    };
    assert_eq!(answer(&[x], &[0.5]), answer(&[x; 13], &[0.5; 13]));
    assert_ne!(answer(&[x], &[0.5]), answer(&[x], &[]));
    assert!(matches!(answer(&[x; 3], &[]), Err(ResponseError::Count { what: "fiber directions", .. })));
    assert!(matches!(answer(&[], &[]), Err(ResponseError::NoDirection { .. })));
    assert!(matches!(answer(&[x], &[1.5]), Err(ResponseError::Activation { index: 0, .. })));
    assert!(matches!(answer(&[x * 2.0], &[]), Err(ResponseError::Direction { index: 0, .. })));
}
