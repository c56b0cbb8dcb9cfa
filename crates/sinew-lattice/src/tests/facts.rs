//! Facts that the paper states or implies, with the higher modes as printed, exactly integrated, and left out (MCA
//! section 7).

use sinew_geometry::lattice::HexLattice;
use sinew_math::svd3::{polar3_plain, svd3_plain};
use sinew_math::{Mat3, Quaternion, Vec3};

use super::physics::{affine, modified_newton_radius};
use super::*;
use crate::layout::{LANES, Layout};
use crate::nonlinear::{Cells, gradients_of};
use crate::tangent::GRADIENT;
use crate::{LatticeElastic, ModeStiffness, Multigrid, MultigridParams, TangentKind};

/// μ and λ of [`material`].
fn moduli() -> (f64, f64) {
    let [mu, lambda] = lame(0.3);
    (mu, lambda)
}

/// The tangent of free cells at displacements, for products.
fn tangent(cells: &HexLattice, lame: &[[f64; 2]], modes: ModeStiffness, u: &[Vec3], kind: TangentKind) -> Multigrid {
    let params = MultigridParams { modes, ..printed_volume() };
    let mut system = Multigrid::without_factor(cells, lame, &vec![[false; 3]; u.len()], params);
    system.linearize(u, kind, 1.0).unwrap();
    system
}

/// K as a dense matrix, row by row.
fn full_matrix(system: &mut Multigrid) -> Vec<Vec<f64>> {
    let nodes = system.layout().node_count();
    let mut product = vec![Vec3::zero(); nodes];
    let column = |k: usize| {
        let mut unit = vec![Vec3::zero(); nodes];
        unit[k / 3][k % 3] = 1.0;
        system.apply_wide(&unit, &mut product);
        product.iter().flat_map(|p| [p.x, p.y, p.z]).collect()
    };
    (0..3 * nodes).map(column).collect()
}

/// Eigenvalues of a symmetric matrix in ascending order, by Jacobi rotations.
fn eigenvalues(mut m: Vec<Vec<f64>>) -> Vec<f64> {
    let n = m.len();
    for _ in 0..12 {
        for p in 0..n {
            for q in p + 1..n {
                if m[p][q] == 0.0 {
                    continue;
                }
                let angle = 0.5 * (2.0 * m[p][q]).atan2(m[q][q] - m[p][p]);
                let (s, c) = angle.sin_cos();
                for k in 0..n {
                    (m[k][p], m[k][q]) = (c * m[k][p] - s * m[k][q], s * m[k][p] + c * m[k][q]);
                }
                for k in 0..n {
                    (m[p][k], m[q][k]) = (c * m[p][k] - s * m[q][k], s * m[p][k] + c * m[q][k]);
                }
            }
        }
    }
    let mut values: Vec<f64> = (0..n).map(|k| m[k][k]).collect();
    values.sort_by(f64::total_cmp);
    values
}

/// Dimension of the kernel of a semidefinite matrix, by elimination with the largest pivot first.
fn kernel_dimension(mut m: Vec<Vec<f64>>) -> usize {
    let n = m.len();
    let largest = (0..n).map(|k| m[k][k]).fold(0.0, f64::max);
    for step in 0..n {
        let pivot = (step..n).max_by(|&a, &b| m[a][a].total_cmp(&m[b][b])).unwrap();
        // Far above f32 rounding in K, and far below the softest mode of four cells.
        if m[pivot][pivot] < 1e-4 * largest {
            return n - step;
        }
        m.swap(step, pivot);
        m.iter_mut().for_each(|row| row.swap(step, pivot));
        let row = m[step].clone();
        for below in &mut m[step + 1..] {
            let factor = below[step] / row[step];
            below[step..].iter_mut().zip(&row[step..]).for_each(|(b, a)| *b -= factor * a);
        }
    }
    0
}

fn random_matrix(noise: &mut Noise) -> Mat3 {
    Mat3::from_rows(noise.vector(), noise.vector(), noise.vector()) * 3.0
}

/// Item 1: G·1 = 0, X Gᵀ = I at rest and G Gᵀ = I / 2h²; forces and tangents use the same G: h³ P G.
#[test]
fn gradient_operator_is_that_of_the_center_of_a_cell() {
    let cells = dense([1, 1, 1]);
    let layout = Layout::new(&cells);
    let (block, lane) = layout.cell_slot(0);
    let gradient = |u: &[Vec3]| {
        let mut slots = vec![0.0f32; layout.value_count()];
        layout.spread(&mut slots, |node| [u[node].x as f32, u[node].y as f32, u[node].z as f32]);
        let mut gradients = vec![0.0f32; (block + 1) * GRADIENT];
        let modes = ModeStiffness::EXACT;
        let full = Cells {
            layout: &layout,
            h: H,
            modes,
            moments: &[],
            fibers: &[],
            active: &[],
            volume: VolumeLaw::Trace,
            scale: 1.0,
        };
        gradients_of(full, &[], &slots, &mut gradients);
        let entry = |k: usize| f64::from(gradients[block * GRADIENT + k * LANES + lane]);
        Mat3 { rows: [0, 3, 6].map(|k| [entry(k), entry(k + 1), entry(k + 2)]) }
    };
    let rest = gradient(&[Vec3::zero(); 8]);
    assert_eq!(rest, Mat3::identity());
    let column = |node: usize| {
        let mut u = [Vec3::zero(); 8];
        u[node].y = 1.0;
        (gradient(&u) - rest).row(1)
    };
    let columns: Vec<Vec3> = (0..8).map(column).collect();
    assert!(columns.iter().copied().sum::<Vec3>().norm() < 1e-5 / H);
    let (mut of_rest, mut square) = (Mat3::zero(), Mat3::zero());
    for (node, &g) in columns.iter().enumerate() {
        of_rest += Mat3::outer(cells.node_position(node), g);
        square += Mat3::outer(g, g);
    }
    assert!((of_rest - Mat3::identity()).norm() < 1e-6, "{of_rest:?}");
    assert!((square * (2.0 * H * H) - Mat3::identity()).norm() < 1e-6, "{square:?}");
    let (mu, lambda) = moduli();
    let elastic = LatticeElastic::new(&cells, &material(&cells), ModeStiffness::PAPER, VolumeLaw::Trace);
    let mut force = vec![Vec3::zero(); 8];
    gradient_at(&elastic, &cells, &affine(&cells, Mat3::diagonal(Vec3::new(2.0, 1.0, 1.0))), &mut force);
    let stress = Mat3::diagonal(Vec3::new(2.0 * mu + lambda, lambda, lambda));
    for (force, &g) in force.iter().zip(&columns) {
        assert!((*force - stress * g * (H * H * H)).norm() < 1e-6 * H * H, "{force:?}");
    }
}

/// Items 2 and 4 for any homogeneous F, including inverted ones: E = V Ψ(F), no force on inner nodes.
#[test]
fn any_homogeneous_deformation_passes_the_patch_test() {
    let cells = dense([3, 4, 3]);
    let (mu, lambda) = moduli();
    let mut noise = Noise(31);
    let mut inverted = 0;
    for modes in [ModeStiffness::PAPER, ModeStiffness::EXACT, ONE_POINT] {
        let elastic = LatticeElastic::new(&cells, &material(&cells), modes, VolumeLaw::Trace);
        for _ in 0..20 {
            let f = random_matrix(&mut noise);
            let sigma = svd3_plain(&f).sigma;
            // Below this, cells do not agree on their rotation.
            if sigma.y + sigma.z < 0.05 {
                continue;
            }
            inverted += usize::from(sigma.z < 0.0);
            let strain = sigma - Vec3::new(1.0, 1.0, 1.0);
            let trace = strain.x + strain.y + strain.z;
            let expected = 36.0 * H * H * H * (mu * strain.norm_squared() + 0.5 * lambda * trace * trace);
            let mut gradient = vec![Vec3::zero(); cells.node_places.len()];
            let energy = gradient_at(&elastic, &cells, &affine(&cells, f), &mut gradient);
            // μ and λ are stored in f32.
            assert!((energy / expected - 1.0).abs() < 1e-6, "{modes:?}: {energy} {expected}");
            for (place, force) in cells.node_places.iter().zip(&gradient) {
                let is_inner = (0..3).all(|axis| place[axis] > 0 && (place[axis] as usize) < cells.cubes[axis]);
                assert!(!is_inner || force.norm() < 1e-10 * H * H, "{place:?} {force:?}");
            }
        }
    }
    assert!(inverted > 10, "{inverted}");
}

/// Item 5: forces sum to zero and have zero torque for any shape; rigid motions cause no force.
#[test]
fn forces_have_neither_sum_nor_torque() {
    for modes in [ModeStiffness::PAPER, ModeStiffness::EXACT, ONE_POINT] {
        for cells in [carved([6, 5, 4], |[x, y, z]| x + y + z < 10), fingers()] {
            let (lame, u, _) = random_problem(&cells, &mut Noise(37));
            let elastic = LatticeElastic::new(&cells, &lame, modes, VolumeLaw::Trace);
            let mut gradient = vec![Vec3::zero(); u.len()];
            gradient_at(&elastic, &cells, &u, &mut gradient);
            let x = |node: usize| cells.node_position(node) + u[node];
            let sum = gradient.iter().copied().sum::<Vec3>();
            let torque = (0..u.len()).map(|node| x(node).cross(gradient[node])).sum::<Vec3>();
            let size: f64 = gradient.iter().map(|g| g.norm()).sum();
            assert!(sum.norm() < 1e-12 * size && torque.norm() < 1e-12 * size, "{sum:?} {torque:?} of {size}");
            let turn = Quaternion::exp_map(Vec3::new(2.0, -1.0, 0.3)).to_matrix();
            let moved: Vec<Vec3> = affine(&cells, turn).iter().map(|u| *u + Vec3::new(3.0, -2.0, 5.0)).collect();
            let energy = gradient_at(&elastic, &cells, &moved, &mut gradient);
            assert!(energy < 1e-18 && gradient.iter().all(|g| g.norm() < 1e-12 * H), "{energy}");
        }
    }
}

/// Item 6: a free lattice at rest has the six rigid modes; one-point quadrature has 18, 33, 45 and 57 for cubes of one
/// to four cells.
#[test]
fn only_rigid_modes_are_free_unless_one_point_is_all() {
    for (n, hourglassing) in [(1, 18), (2, 33), (3, 45), (4, 57)] {
        let cells = dense([n, n, n]);
        let u = vec![Vec3::zero(); cells.node_places.len()];
        for (modes, expected) in [(ModeStiffness::PAPER, 6), (ModeStiffness::EXACT, 6), (ONE_POINT, hourglassing)] {
            let mut system = tangent(&cells, &material(&cells), modes, &u, TangentKind::Exact);
            assert_eq!(kernel_dimension(full_matrix(&mut system)), expected, "{n} {modes:?}");
        }
    }
}

/// Item 7 and MCA-09: a checkerboard of ±a takes 12 μ h |a|² per cell as printed, a ninth of that with exact modes,
/// nothing with one point.
#[test]
fn checkerboards_cost_energy_unless_one_point_is_all() {
    let cells = dense([4, 3, 5]);
    let (mu, _) = moduli();
    let a = Vec3::new(0.3, -0.2, 0.5) * H;
    let sign_of = |p: &[u32; 3]| if (p[0] + p[1] + p[2]).is_multiple_of(2) { 1.0 } else { -1.0 };
    let u: Vec<Vec3> = cells.node_places.iter().map(|p| a * sign_of(p)).collect();
    for (modes, factor) in [(ModeStiffness::PAPER, 12.0), (ModeStiffness::EXACT, 12.0 / 9.0), (ONE_POINT, 0.0)] {
        let elastic = LatticeElastic::new(&cells, &material(&cells), modes, VolumeLaw::Trace);
        let energy = gradient_at(&elastic, &cells, &u, &mut vec![Vec3::zero(); u.len()]);
        let unit = mu * H * 60.0 * a.norm_squared();
        assert!((energy / unit - factor).abs() < 1e-6 * factor.max(1e-6), "{modes:?}: {} of {factor}", energy / unit);
    }
}

/// Items 8 and 9: the spectrum of a cell is h/2 times that of ∂P/∂F, 2μ (5 times), 2μ + 3λ and (pⱼ + pₖ)/(σⱼ + σₖ),
/// since G Gᵀ = I/2h²; and μh times the factors of the other modes. The definite tangent has zero for what is negative.
/// At rest the last three are zero: L = −μ.
#[test]
fn spectrum_of_a_cell_is_that_of_the_paper() {
    let cells = dense([1, 1, 1]);
    let (mu, lambda) = moduli();
    let mut noise = Noise(41);
    let mut negative = 0;
    for sigma in
        [[1.0, 1.0, 1.0], [1.6, 1.3, 1.1], [1.2, 0.9, 0.6], [0.8, 0.7, 0.4], [1.4, 0.8, -0.3], [2.5, 0.7, -0.5]]
    {
        let mut turn = || Quaternion::exp_map(noise.vector() * 3.0).to_matrix();
        let f = turn() * Mat3::diagonal(Vec3::from(sigma)) * turn();
        let p = sigma.map(|s| 2.0 * mu * (s - 1.0) + lambda * (sigma.iter().sum::<f64>() - 3.0));
        let skew = [(1, 2), (0, 2), (0, 1)].map(|(j, k)| (p[j] + p[k]) / (sigma[j] + sigma[k]));
        negative += skew.iter().filter(|&&value| value < 0.0).count();
        for modes in [ModeStiffness::PAPER, ModeStiffness::EXACT, ONE_POINT] {
            for kind in [TangentKind::Exact, TangentKind::Definite] {
                let mut expected = vec![0.0; 3];
                expected.extend([mu * H; 5]);
                expected.push((mu + 1.5 * lambda) * H);
                let least = if kind == TangentKind::Exact { f64::NEG_INFINITY } else { 0.0 };
                expected.extend(skew.map(|value| 0.5 * H * value.max(least)));
                expected.extend([mu * H * modes.bilinear; 9]);
                expected.extend([mu * H * modes.trilinear; 3]);
                expected.sort_by(f64::total_cmp);
                let mut system = tangent(&cells, &material(&cells), modes, &affine(&cells, f), kind);
                let found = eigenvalues(full_matrix(&mut system));
                let error = found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                // Tangents are in f32.
                assert!(error < 1e-5 * mu * H, "{sigma:?} {modes:?} {kind:?}: {found:?}, not {expected:?}");
            }
        }
    }
    assert!(negative >= 4, "{negative}");
}

/// MCA-14, with its sign corrected: the energy that the stable rule adds to one-point quadrature, from the differences
/// of the four parallel edges of each direction from their mean.
fn edge_spread(cells: &HexLattice, lame: &[[f64; 2]], field: &[Vec3]) -> f64 {
    let mut sum = 0.0;
    for (cell, [mu, _]) in cells.cells.iter().zip(lame) {
        for axis in 0..3 {
            let difference = |k: usize| field[cell.nodes[k | 1 << axis] as usize] - field[cell.nodes[k] as usize];
            let edges: Vec<Vec3> = (0..8).filter(|k| k >> axis & 1 == 0).map(|k| difference(k) / H).collect();
            let mean = edges.iter().copied().sum::<Vec3>() / 4.0;
            sum += 0.25 * mu * H * H * H * edges.iter().map(|edge| (*edge - mean).norm_squared()).sum::<f64>();
        }
    }
    sum
}

/// MCA-14: the stable scheme is one-point quadrature plus a convex form that depends on no rotation. So a tangent that
/// is definite with one point is definite in the stable scheme.
#[test]
fn stable_scheme_is_one_point_quadrature_and_a_convex_form() {
    for cells in [carved([6, 5, 4], |[x, y, z]| x + y + z < 10), fingers()] {
        let mut noise = Noise(43);
        let (lame, u, v) = random_problem(&cells, &mut noise);
        let energy = |modes| {
            gradient_at(
                &LatticeElastic::new(&cells, &lame, modes, VolumeLaw::Trace),
                &cells,
                &u,
                &mut vec![Vec3::zero(); u.len()],
            )
        };
        let (stable, exact, plain) = (energy(ModeStiffness::PAPER), energy(ModeStiffness::EXACT), energy(ONE_POINT));
        let added = edge_spread(&cells, &lame, &u);
        assert!(((stable - plain) / added - 1.0).abs() < 1e-6, "{stable} - {plain}, not {added}");
        // Exact modes have a third to a ninth of it.
        assert!((added / 9.0..added / 3.0).contains(&(exact - plain)), "{exact} - {plain}");
        for kind in [TangentKind::Definite, TangentKind::Exact] {
            let quadratic = |modes| {
                let mut product = vec![Vec3::zero(); u.len()];
                tangent(&cells, &lame, modes, &u, kind).apply_wide(&v, &mut product);
                product.iter().zip(&v).map(|(p, v)| p.dot(*v)).sum::<f64>()
            };
            let (stable, plain) = (quadratic(ModeStiffness::PAPER), quadratic(ONE_POINT));
            let added = 2.0 * edge_spread(&cells, &lame, &v);
            assert!(((stable - plain) / added - 1.0).abs() < 1e-5, "{kind:?}: {stable} - {plain}, not {added}");
        }
    }
}

/// MCA-13 and MCA-14: for scrambled blocks, the smallest eigenvalue over the largest is that of rigid motions for the
/// definite tangent, and far below for the exact one.
#[test]
fn scrambled_blocks_have_no_negative_eigenvalue() {
    let cells = dense([2, 2, 1]);
    for seed in 0..5 {
        let (lame, u, _) = random_problem(&cells, &mut Noise(seed));
        for modes in [ModeStiffness::PAPER, ModeStiffness::EXACT, ONE_POINT] {
            let ratio = |kind| {
                let values = eigenvalues(full_matrix(&mut tangent(&cells, &lame, modes, &u, kind)));
                values[0] / values[values.len() - 1]
            };
            let (definite, exact) = (ratio(TangentKind::Definite), ratio(TangentKind::Exact));
            assert!(definite > -1e-6, "{seed} {modes:?}: {definite}");
            assert!(exact < -1e-3, "{seed} {modes:?}: {exact}");
        }
    }
}

/// Stencil of K at an inner node at rest: offsets of neighbors, and their blocks.
fn stencil(modes: ModeStiffness) -> Vec<(Vec3, Mat3)> {
    let cells = dense([2, 2, 2]);
    let u = vec![Vec3::zero(); 27];
    let matrix = full_matrix(&mut tangent(&cells, &material(&cells), modes, &u, TangentKind::Exact));
    let inner = cells.node_places.iter().position(|p| *p == [1, 1, 1]).unwrap();
    let block = |node: usize| {
        let rows = [0, 1, 2].map(|i| [0, 1, 2].map(|j| matrix[3 * inner + i][3 * node + j]));
        (Vec3::from(cells.node_places[node].map(|p| f64::from(p) - 1.0)), Mat3 { rows })
    };
    (0..27).map(block).collect()
}

/// K of the wave exp(i θ·x/h).
fn symbol(stencil: &[(Vec3, Mat3)], theta: Vec3) -> Mat3 {
    stencil.iter().map(|&(offset, block)| block * theta.dot(offset).cos()).fold(Mat3::zero(), |sum, term| sum + term)
}

/// Item 10: waves of one node see a stiffness of 24 μh as printed, a ninth of that with exact modes, none with one
/// point; long waves see that of a continuum, up to O(h²).
#[test]
fn waves_are_held_as_the_paper_says() {
    let (mu, lambda) = moduli();
    let pi = std::f64::consts::PI;
    for (modes, shortest) in [(ModeStiffness::PAPER, 24.0), (ModeStiffness::EXACT, 24.0 / 9.0), (ONE_POINT, 0.0)] {
        let stencil = stencil(modes);
        let is_near = |theta: Vec3, expected: Vec3| {
            (symbol(&stencil, theta) * (1.0 / (mu * H)) - Mat3::diagonal(expected)).norm() < 1e-5
        };
        assert!(is_near(Vec3::new(pi, pi, pi), Vec3::new(1.0, 1.0, 1.0) * shortest), "{modes:?}");
        // A wave along one axis excites only linear modes; λ = 1.5 μ.
        assert!(is_near(Vec3::new(pi, 0.0, 0.0), Vec3::new(14.0, 4.0, 4.0)), "{modes:?}");
        let direction = Vec3::new(0.8, -0.5, 0.3);
        let errors = [0.5, 0.25, 0.125, 0.0625].map(|step| {
            let theta = direction * step;
            let continuum =
                (Mat3::identity() * (mu * theta.norm_squared())) + Mat3::outer(theta, theta) * (lambda + mu);
            (symbol(&stencil, theta) * (1.0 / H) - continuum).norm() / continuum.norm()
        });
        for pair in errors.windows(2) {
            assert!((3.8..4.2).contains(&(pair[0] / pair[1])), "{modes:?}: {errors:?}");
        }
    }
}

/// Item 11, h-ellipticity: waves no longer than four nodes in some direction see a stiffness of at least 2 μh, and none
/// with one point.
#[test]
fn short_waves_are_held() {
    let (mu, _) = moduli();
    let step = std::f64::consts::PI / 8.0;
    for (modes, expected) in [(ModeStiffness::PAPER, 2.0), (ModeStiffness::EXACT, 2.0), (ONE_POINT, 0.0)] {
        let stencil = stencil(modes);
        let mut least = f64::INFINITY;
        for k in 0..729 {
            let theta = [k % 9, k / 9 % 9, k / 81];
            if theta.iter().any(|&t| t >= 4) {
                let symbol = symbol(&stencil, Vec3::from(theta.map(|t| f64::from(t) * step)));
                least = least.min(eigenvalues(symbol.rows.map(|row| row.to_vec()).to_vec())[0]);
            }
        }
        assert!((least / (mu * H) - expected).abs() < 1e-5, "{modes:?}: {}", least / (mu * H));
    }
}

/// Item 12: the diagonal of an inner node at rest is h (11 μ + λ/2) as printed, h (13/3 μ + λ/2) with exact modes;
/// opposite corners of any cell are equal.
#[test]
fn diagonal_of_inner_nodes_is_that_of_the_paper() {
    let (mu, lambda) = moduli();
    for (modes, factor) in [(ModeStiffness::PAPER, 11.0), (ModeStiffness::EXACT, 13.0 / 3.0)] {
        let cells = dense([2, 2, 2]);
        let inner = cells.node_places.iter().position(|p| *p == [1, 1, 1]).unwrap();
        let system = tangent(&cells, &material(&cells), modes, &[Vec3::zero(); 27], TangentKind::Definite);
        let expected = H * (factor * mu + 0.5 * lambda);
        for c in 0..3 {
            assert!(
                (system.diagonal()[inner][c] / expected - 1.0).abs() < 1e-6,
                "{modes:?}: {:?}",
                system.diagonal()[inner]
            );
        }
        let cell = dense([1, 1, 1]);
        let (lame, u, _) = random_problem(&cell, &mut Noise(47));
        let matrix = full_matrix(&mut tangent(&cell, &lame, modes, &u, TangentKind::Definite));
        for k in 0..12 {
            let opposite = 3 * (7 - k / 3) + k % 3;
            assert!((matrix[k][k] / matrix[opposite][opposite] - 1.0).abs() < 1e-12);
        }
    }
}

/// Item 18: at rest the exact, the definite and the warped tangent are equal. Frozen rotations differ, and leave 0.93
/// of an error per step.
#[test]
fn modified_newton_methods_agree_at_rest_but_for_frozen_rotations() {
    let cells = dense([12, 4, 4]);
    let fixed: Vec<[bool; 3]> = cells.node_places.iter().map(|p| [p[0] == 0 || p[0] == 12; 3]).collect();
    let rest = vec![Vec3::zero(); fixed.len()];
    let mut noise = Noise(53);
    let v: Vec<Vec3> = rest.iter().map(|_| noise.vector()).collect();
    let product = |kind| {
        let mut product = rest.clone();
        tangent(&cells, &material(&cells), ModeStiffness::PAPER, &rest, kind).apply_wide(&v, &mut product);
        product
    };
    assert_eq!(product(TangentKind::Exact), product(TangentKind::Definite));
    let radius = |kind| modified_newton_radius(&cells, &fixed, &rest, kind);
    let [definite, warped, frozen] =
        [radius(TangentKind::Definite), radius(TangentKind::Warped), radius(TangentKind::Frozen)];
    // Linear solves converge to 1e-7.
    assert!(definite < 1e-4 && warped < 1e-4 && (0.91..0.95).contains(&frozen), "{definite} {warped} {frozen}");
}

/// MCA-43: R = F S⁻¹ with S = (FᵀF)^½ is a reflection if F is inverted, and no rotation if it is flat. With it an
/// inverted cell has no strain, so nothing restores it.
#[test]
fn naive_polar_factor_fails_where_ours_is_a_rotation() {
    let naive = |f: Mat3| {
        let square = svd3_plain(&f.transpose_mul(&f));
        let stretch =
            Mat3::diagonal(Vec3::new(square.sigma.x.sqrt(), square.sigma.y.sqrt(), square.sigma.z.abs().sqrt()));
        f * (square.v * stretch * square.v.transpose()).inverse()
    };
    let is_orthogonal = |r: Mat3| (r.transpose_mul(&r) - Mat3::identity()).norm() < 1e-6;
    let is_rotation = |r: Mat3| is_orthogonal(r) && (r.determinant() - 1.0).abs() < 1e-6;
    let mut noise = Noise(59);
    for _ in 0..50 {
        let mut turn = || Quaternion::exp_map(noise.vector() * 6.0).to_matrix();
        let (a, b) = (turn(), turn());
        let with = |x: f64, y: f64, z: f64| a * Mat3::diagonal(Vec3::new(x, y, z)) * b;
        let [upright, inverted, mirrored, flat, thread] =
            [with(1.5, 0.9, 0.6), with(1.5, 0.9, -0.6), with(1.0, 1.0, -1.0), with(1.3, 0.8, 0.0), with(1.3, 0.0, 0.0)];
        assert!(is_rotation(naive(upright)));
        assert!(is_orthogonal(naive(inverted)) && naive(inverted).determinant() < -0.99);
        assert!((mirrored - naive(mirrored)).norm() < 1e-6);
        assert!((mirrored - polar3_plain(&mirrored).rotation).norm() > 1.9);
        // S⁻¹ applied to rounding errors may be finite, but is no rotation.
        assert!(!is_orthogonal(naive(flat)) && !is_orthogonal(naive(thread)), "{:?}", naive(flat));
        for f in [upright, inverted, mirrored, flat, thread] {
            assert!(is_rotation(polar3_plain(&f).rotation), "{f:?}");
        }
    }
}
