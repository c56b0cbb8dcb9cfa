use std::sync::Arc;

use super::transfer::TransferScratch;
use super::*;
use crate::Mat3;
use crate::krylov::{BlockJacobi, CgParams, CgScratch, Preconditioner, conjugate_gradients, dot};
use crate::parallel::tests::with_threads;
use crate::sparse::tests::random_vector;
use crate::sparse::{BlockCsr, SlicedBlocks};

/// Springs between neighbors of a lattice, weakly attached at x = 0: the discrete Laplacian of each component.
struct Lattice {
    positions: Vec<Vec3>,
    matrix: BlockCsr<f32>,
}

fn lattice(size: [usize; 3], hold: f32, keep: impl Fn([usize; 3]) -> bool) -> Lattice {
    let [nx, ny, nz] = size;
    let index = |x: usize, y: usize, z: usize| (z * ny + y) * nx + x;
    let mut number = vec![u32::MAX; nx * ny * nz];
    let mut positions = Vec::new();
    for z in 0..nz {
        for y in 0..ny {
            for x in 0..nx {
                if keep([x, y, z]) {
                    number[index(x, y, z)] = positions.len() as u32;
                    positions.push(Vec3::new(x as f64, y as f64, z as f64));
                }
            }
        }
    }
    let mut springs: Vec<[u32; 2]> = Vec::new();
    for z in 0..nz {
        for y in 0..ny {
            for x in 0..nx {
                for (a, b, c) in [(1, 0, 0), (0, 1, 0), (0, 0, 1)] {
                    if x + a < nx && y + b < ny && z + c < nz {
                        let pair = [number[index(x, y, z)], number[index(x + a, y + b, z + c)]];
                        if !pair.contains(&u32::MAX) {
                            springs.push(pair);
                        }
                    }
                }
            }
        }
    }
    let pattern = Arc::new(BlockPattern::from_elements(positions.len(), &springs).unwrap());
    let mut matrix = BlockCsr::zeros(pattern);
    for &[a, b] in &springs {
        let (a, b) = (a as usize, b as usize);
        for (row, column, sign) in [(a, a, 1.0), (b, b, 1.0), (a, b, -1.0), (b, a, -1.0)] {
            matrix.add_block(row, column, &(Mat3::identity() * sign)).unwrap();
        }
    }
    for (node, p) in positions.iter().enumerate() {
        if p.x == 0.0 {
            matrix.add_diagonal(node, &(Mat3::identity() * hold));
        }
    }
    Lattice { positions, matrix }
}

fn narrowed(v: &[Vec3]) -> Vec<Vec3<f32>> {
    v.iter().map(|&v| narrow(v)).collect()
}

fn interpolated(coarse_grid: &CoarseGrid, coarse: &[Vec3<f32>]) -> Vec<Vec3<f32>> {
    let mut scratch = TransferScratch::new(coarse_grid);
    coarse_grid.interpolate(coarse, &mut scratch);
    (0..coarse_grid.mesh_node_count()).map(|node| scratch.at(coarse_grid, node)).collect()
}

fn restricted(coarse_grid: &CoarseGrid, fine: &[Vec3<f32>]) -> Vec<Vec3<f32>> {
    let mut out = vec![Vec3::zero(); coarse_grid.node_count()];
    coarse_grid.restrict(fine, &mut out, &mut TransferScratch::new(coarse_grid));
    out
}

#[test]
fn trilinear_weights_carry_linear_functions() {
    let lattice = lattice([9, 8, 7], 1.0, |_| true);
    let coarse_grid = CoarseGrid::new(&lattice.positions, lattice.matrix.pattern(), 3.0, |_| true).unwrap();
    let places = interpolated(&coarse_grid, &narrowed(coarse_grid.positions()));
    for (&found, &p) in places.iter().zip(&lattice.positions) {
        assert!((found.to_f64() - p).norm() < 1e-5);
    }
}

#[test]
fn restriction_is_the_transpose_of_interpolation() {
    let lattice = lattice([9, 8, 7], 1.0, |_| true);
    let coarse_grid = CoarseGrid::new(&lattice.positions, lattice.matrix.pattern(), 3.0, |_| true).unwrap();
    let fine = narrowed(&random_vector(lattice.positions.len(), 1));
    let coarse = narrowed(&random_vector(coarse_grid.node_count(), 2));
    let product = dot(&fine, &interpolated(&coarse_grid, &coarse));
    assert!((product - dot(&coarse, &restricted(&coarse_grid, &fine))).abs() < 1e-4);
}

#[test]
fn coarse_matrix_is_the_galerkin_product() {
    let lattice = lattice([9, 8, 7], 1.0, |_| true);
    let coarse_grid = CoarseGrid::new(&lattice.positions, lattice.matrix.pattern(), 3.0, |_| true).unwrap();
    let free = vec![Vec3::splat(1.0); lattice.positions.len()];
    let mut coarse = CoarseMatrix::new(&coarse_grid);
    coarse.update(&coarse_grid, &lattice.matrix, &free);
    let c = narrowed(&random_vector(coarse_grid.node_count(), 2));
    let prolonged = interpolated(&coarse_grid, &c);
    let mut product = prolonged.clone();
    lattice.matrix.multiply(&prolonged, &mut product);
    let mut expected = c.clone();
    coarse.matrix().multiply(&c, &mut expected);
    for (found, expected) in restricted(&coarse_grid, &product).iter().zip(&expected) {
        // Some hundred products of order one, rounded to f32.
        assert!((*found - *expected).norm() < 1e-4);
    }
    assert!(coarse.matrix().asymmetry() < 1e-5);
}

/// Conjugate-gradient iterations to 1e-4 with Jacobi alone and with the coarse grid, and the grid sizes.
fn iterations(lattice: &Lattice, params: &CoarseGridParams) -> (usize, usize, Vec<usize>) {
    let pattern = lattice.matrix.pattern();
    let mut sliced = SlicedBlocks::new(pattern);
    sliced.fill_from_lower(&lattice.matrix);
    let b = narrowed(&random_vector(lattice.positions.len(), 7));
    let solve = |preconditioner: &mut dyn Preconditioner<f32>| {
        let mut x = vec![Vec3::zero(); b.len()];
        let params = CgParams { relative_tolerance: 1e-4, ..CgParams::default() };
        let info = conjugate_gradients(&sliced, preconditioner, &b, &mut x, &params, &mut CgScratch::new()).unwrap();
        assert!(info.is_converged(), "{info:?}");
        info.iterations
    };
    let mut coarse_grid = CoarseGridPreconditioner::new(&lattice.positions, pattern, params, |_| [false; 3], |_| true);
    assert_eq!(coarse_grid.update_diagonal(&lattice.matrix), None);
    coarse_grid.update_grid(&lattice.matrix, true).unwrap();
    let grids = coarse_grid.grid_nodes().collect();
    (solve(&mut BlockJacobi::new(&lattice.matrix).0), solve(&mut coarse_grid), grids)
}

#[test]
fn iterations_do_not_grow_with_the_mesh_nor_with_nested_grids() {
    let params = CoarseGridParams { ratio: 3.0, ..CoarseGridParams::default() };
    let (_, small, _) = iterations(&lattice([18, 6, 6], 1.0, |_| true), &params);
    let (jacobi, large, _) = iterations(&lattice([72, 8, 8], 1.0, |_| true), &params);
    assert!(jacobi > 4 * large, "Jacobi {jacobi}, coarse grid {large}");
    assert!(large <= small + small / 2 + 2, "{small} then {large}");
    let nested = CoarseGridParams { direct_nodes: 100, direct_entries: 0, ..params };
    let (_, three_levels, grids) = iterations(&lattice([72, 8, 8], 1.0, |_| true), &nested);
    assert_eq!(grids.len(), 2, "{grids:?}");
    assert!(three_levels <= 2 * large, "two levels {large}, three {three_levels}");
}

#[test]
fn parts_that_meet_in_one_cube_do_not_share_its_corners() {
    // Two plates one empty layer apart, joined at x = 0: a comb.
    let comb = lattice([17, 8, 3], 1.0, |[x, _, z]| x == 0 || z != 1);
    let coarse_grid = CoarseGrid::new(&comb.positions, comb.matrix.pattern(), 4.0, |_| true).unwrap();
    let mut corners_of = [std::collections::BTreeSet::new(), std::collections::BTreeSet::new()];
    for (node, p) in comb.positions.iter().enumerate().filter(|(_, p)| p.x > 9.0) {
        corners_of[usize::from(p.z > 1.0)].extend(coarse_grid.corners[coarse_grid.piece_of[node] as usize]);
    }
    assert!(corners_of[0].is_disjoint(&corners_of[1]));
}

#[test]
fn preconditioner_is_symmetric_positive_and_has_the_same_bits_on_any_number_of_threads() {
    let lattice = lattice([24, 10, 10], 1.0, |_| true);
    let pattern = lattice.matrix.pattern();
    let fixed = |node: usize| if node % 17 == 3 { [true, false, false] } else { [false; 3] };
    let mut matrix = lattice.matrix.clone();
    for node in (0..pattern.node_count()).filter(|&node| fixed(node)[0]) {
        for slot in pattern.row(node) {
            let other = pattern.columns()[slot] as usize;
            let mirrored = pattern.slot(other, node).unwrap();
            for k in [slot, mirrored] {
                matrix.values_mut()[k].rows[0][0] = if other == node { 100.0 } else { 0.0 };
            }
        }
    }
    let apply = |threads, r: &[Vec3<f32>]| {
        with_threads(threads, || {
            let params = CoarseGridParams { direct_nodes: 100, direct_entries: 0, ..CoarseGridParams::default() };
            let mut coarse_grid = CoarseGridPreconditioner::new(&lattice.positions, pattern, &params, fixed, |_| true);
            coarse_grid.update_diagonal(&matrix);
            coarse_grid.update_grid(&matrix, true).unwrap();
            let mut z = vec![Vec3::zero(); r.len()];
            let energy = coarse_grid.apply_dot(r, &mut z);
            assert!((energy - dot(r, &z)).abs() <= 1e-9 * energy && energy > 0.0);
            z
        })
    };
    let masked = |seed| {
        let mut r = narrowed(&random_vector(pattern.node_count(), seed));
        (0..r.len()).filter(|&node| fixed(node)[0]).for_each(|node| r[node].x = 0.0);
        r
    };
    let (a, b) = (masked(1), masked(2));
    let (za, zb) = (apply(1, &a), apply(1, &b));
    assert!((dot(&a, &zb) - dot(&b, &za)).abs() < 1e-4 * dot(&a, &za));
    assert!((0..a.len()).all(|node| !fixed(node)[0] || za[node].x == 0.0), "prescribed components stay");
    assert_eq!(apply(2, &a), za);
}

/// Two blocks of which only one is held, tied to each other across a gap by stiff couplings that the pattern of the
/// matrix does not contain: their diagonal blocks alone would hold each in place.
#[test]
fn the_grid_knows_couplings_beside_the_pattern() {
    let stiffness = 30.0;
    let mut lattice = lattice([41, 8, 8], 1.0, |[x, ..]| x != 20);
    let at = |place: Vec3| lattice.positions.iter().position(|&p| p == place).unwrap() as u32;
    let mut couplings = Vec::new();
    for node in (0..lattice.positions.len()).filter(|&node| lattice.positions[node].x == 21.0) {
        let other = at(lattice.positions[node] - Vec3::new(2.0, 0.0, 0.0));
        let (row, column) = ((node as u32).max(other), (node as u32).min(other));
        couplings.push(Coupling { row, column, block: Mat3::identity() * -(stiffness as f32) });
    }
    for &Coupling { row, column, .. } in &couplings {
        for node in [row, column] {
            lattice.matrix.add_diagonal(node as usize, &(Mat3::identity() * stiffness as f32));
        }
    }
    // The whole matrix, for products.
    let own = lattice.matrix.pattern();
    let mut pairs: Vec<[u32; 2]> = couplings.iter().map(|c| [c.row, c.column]).collect();
    for node in 0..own.node_count() {
        pairs.extend(own.row(node).map(|slot| [node as u32, own.columns()[slot]]));
    }
    let pattern = Arc::new(BlockPattern::from_elements(own.node_count(), &pairs).unwrap());
    let mut whole = BlockCsr::zeros(pattern.clone());
    for node in 0..own.node_count() {
        for slot in own.row(node) {
            whole.add_block(node, own.columns()[slot] as usize, &lattice.matrix.values()[slot]).unwrap();
        }
    }
    for &Coupling { row, column, block } in &couplings {
        whole.add_block(row as usize, column as usize, &block).unwrap();
        whole.add_block(column as usize, row as usize, &block).unwrap();
    }
    let mut sliced = SlicedBlocks::new(&pattern);
    sliced.fill_from_lower(&whole);
    let b = narrowed(&random_vector(own.node_count(), 5));
    let solve = |couplings: &[Coupling]| {
        let params = CoarseGridParams { ratio: 3.0, ..CoarseGridParams::default() };
        let mut coarse_grid = CoarseGridPreconditioner::new(&lattice.positions, own, &params, |_| [false; 3], |_| true);
        assert_eq!(coarse_grid.update_diagonal(&lattice.matrix), None);
        coarse_grid.update_coupled_grid(&lattice.matrix, couplings.iter().copied(), true).unwrap();
        let mut x = vec![Vec3::zero(); b.len()];
        let params = CgParams { relative_tolerance: 1e-4, ..CgParams::default() };
        conjugate_gradients(&sliced, &mut coarse_grid, &b, &mut x, &params, &mut CgScratch::new()).unwrap().iterations
    };
    let (alone, coupled) = (solve(&[]), solve(&couplings));
    assert!(4 * coupled < 3 * alone, "{alone} without, {coupled} with couplings");
}

#[test]
fn a_bad_pivot_of_the_grid_shows_an_indefinite_matrix() {
    let mut lattice = lattice([24, 6, 6], 1.0, |_| true);
    for node in 0..lattice.positions.len() {
        lattice.matrix.add_diagonal(node, &(Mat3::identity() * -0.5));
    }
    let params = CoarseGridParams::default();
    let pattern = lattice.matrix.pattern().clone();
    let mut coarse_grid =
        CoarseGridPreconditioner::new(&lattice.positions, &pattern, &params, |_| [false; 3], |_| true);
    assert!(coarse_grid.update_grid(&lattice.matrix, false).is_err() && !coarse_grid.has_grid());
}
