//! Tangents of a few cells without a layout.

use sinew_math::Mat3;

use super::*;
use crate::{Patch, PatchCell, TangentKind};

/// A patch of some cells of a lattice, with the lattice's node numbers.
fn patch_of(system: &Multigrid, cells: &HexLattice, u: &[Vec3], is_in: impl Fn(usize) -> bool) -> Patch {
    let corners = |cell: &LatticeCell| cell.nodes.map(|node| u[node as usize]);
    let chosen: Vec<PatchCell> = cells
        .cells
        .iter()
        .enumerate()
        .filter(|(k, _)| is_in(*k))
        .map(|(k, cell)| PatchCell { cell: k as u32, nodes: cell.nodes, corners: corners(cell) })
        .collect();
    let mut patch = Patch::default();
    assert!(patch.fill(system, &chosen));
    patch
}

/// Randomly crumpled, with inverted corners; carved, so that rows of cells end anywhere.
fn torn() -> (HexLattice, Vec<[f64; 2]>, Vec<Vec3>, Noise) {
    let cells = carved([7, 5, 6], |[x, y, z]| (x + 2 * y + 3 * z) % 5 != 0);
    let (material, mut noise) = (material(&cells), Noise(41));
    let u = cells.node_places.iter().map(|_| noise.vector() * (0.9 * H)).collect();
    (cells, material, u, noise)
}

/// The patch of all cells equals the lattice, with and without an inversion barrier.
#[test]
fn a_patch_of_all_cells_has_the_products_of_the_lattice() {
    let (cells, material, u, mut noise) = torn();
    let fixed = vec![[false; 3]; u.len()];
    for corners in [false, true] {
        let params = MultigridParams { inversion_barrier: corners, ..MultigridParams::default() };
        let mut system = Multigrid::new(&cells, &material, &fixed, params).unwrap();
        system.linearize(&u, TangentKind::Definite, 1.7).unwrap();
        let patch = patch_of(&system, &cells, &u, |_| true);
        for _ in 0..3 {
            let x: Vec<Vec3<f32>> = u.iter().map(|_| Vec3::from_f64(noise.vector())).collect();
            let mut whole = x.clone();
            system.apply(&x, &mut whole);
            let mut parts = vec![Vec3::zero(); x.len()];
            patch.add_product(&x, &mut parts);
            let size = whole.iter().map(|v| v.norm()).fold(0.0, f32::max);
            for (whole, parts) in whole.iter().zip(&parts) {
                assert!((*whole - *parts).norm() < 2e-4 * size, "{corners}: {whole:?} {parts:?} of {size}");
            }
        }
    }
}

/// A patch of some cells is symmetric and positive, its diagonal matches its products, and nodes past the end stay
/// fixed.
#[test]
fn a_patch_of_some_cells_is_a_stiffness() {
    let (cells, material, u, mut noise) = torn();
    let fixed = vec![[false; 3]; u.len()];
    let params = MultigridParams { inversion_barrier: true, ..MultigridParams::default() };
    let mut system = Multigrid::new(&cells, &material, &fixed, params).unwrap();
    system.linearize(&u, TangentKind::Definite, 1.0).unwrap();
    let patch = patch_of(&system, &cells, &u, |cell| cell % 3 != 1);
    let count = u.len() - 20;
    let product = |x: &[Vec3<f32>]| {
        let mut out = vec![Vec3::zero(); count];
        patch.add_product(x, &mut out);
        out
    };
    let dot = |a: &[Vec3<f32>], b: &[Vec3<f32>]| a.iter().zip(b).map(|(a, b)| a.to_f64().dot(b.to_f64())).sum::<f64>();
    for _ in 0..5 {
        let [x, y] = [0, 1].map(|_| (0..count).map(|_| Vec3::from_f64(noise.vector())).collect::<Vec<Vec3<f32>>>());
        let (kx, ky) = (product(&x), product(&y));
        let energy = dot(&x, &kx);
        assert!(energy > 0.0 && (dot(&y, &kx) - dot(&x, &ky)).abs() < 1e-4 * energy, "{energy}");
    }
    let mut diagonal = vec![Mat3::zero(); count];
    patch.add_diagonal(&mut diagonal);
    for node in [0, count / 3, count / 2, count - 1] {
        for j in 0..3 {
            let mut x = vec![Vec3::zero(); count];
            x[node][j] = 1.0;
            let column = product(&x)[node];
            let size = diagonal[node].norm();
            (0..3).for_each(|i| assert!((column[i] - diagonal[node].rows[i][j]).abs() <= 1e-4 * size));
        }
    }
}
