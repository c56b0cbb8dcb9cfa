//! The kernel against the formulas of the paper, written out cell by cell in f64.

use sinew_geometry::lattice::HexLattice;
use sinew_math::svd3::svd3_plain;
use sinew_math::{Mat3, Vec3};

use super::*;
use crate::{LatticeElastic, ModeStiffness, Multigrid, MultigridParams, TangentKind};

/// ∫ ∇Nₐ · ∇N_b over a cube of edge h, by two Gauss points per axis.
fn gauss_laplace(a: usize, b: usize) -> f64 {
    let mut sum = 0.0;
    for q in 0..8 {
        let t: [f64; 3] = std::array::from_fn(|axis| sign(q, axis) / 3f64.sqrt());
        for axis in 0..3 {
            let gradient = |k: usize| {
                let others = (0..3).filter(|&o| o != axis).map(|o| 1.0 + sign(k, o) * t[o]).product::<f64>();
                sign(k, axis) * others / 8.0 * (2.0 / H)
            };
            sum += gradient(a) * gradient(b) * H * H * H / 8.0;
        }
    }
    sum
}

/// [`gauss_laplace`] of all pairs.
fn gauss_laplacian() -> [[f64; 8]; 8] {
    std::array::from_fn(|a| std::array::from_fn(|b| gauss_laplace(a, b)))
}

/// K x by MCA-08, cell by cell; the Laplacian over the twelve edges (paper) or integrated exactly. The second
/// derivative of μ ‖F‖² is twice the Laplacian.
fn reference(cells: &HexLattice, lame: &[[f64; 2]], u: &[Vec3], x: &[Vec3], modes: ModeStiffness) -> Vec<Vec3> {
    let laplacian = gauss_laplacian();
    let mut out = vec![Vec3::zero(); cells.node_places.len()];
    for (cell, &[mu, lambda]) in cells.cells.iter().zip(lame) {
        let gradient = |field: &[Vec3]| {
            let mut rows = [[0.0; 3]; 3];
            for (k, &node) in cell.nodes.iter().enumerate() {
                for (i, row) in rows.iter_mut().enumerate() {
                    for (j, entry) in row.iter_mut().enumerate() {
                        *entry += field[node as usize][i] * sign(k, j) / (4.0 * H);
                    }
                }
            }
            Mat3 { rows }
        };
        let svd = svd3_plain(&(Mat3::identity() + gradient(u)));
        let r = svd.rotation();
        let (sigma, trace) = (svd.sigma, svd.sigma.x + svd.sigma.y + svd.sigma.z);
        let c = lambda * (trace - 3.0) - 2.0 * mu;
        let d = Vec3::new(c / (trace - sigma.x), c / (trace - sigma.y), c / (trace - sigma.z));
        let d = Vec3::new(d.x.max(-mu), d.y.max(-mu), d.z.max(-mu));
        let l = svd.v * Mat3::diagonal(d) * svd.v.transpose();
        let a = r.transpose() * gradient(x);
        let ax = Vec3::new(a.rows[2][1] - a.rows[1][2], a.rows[0][2] - a.rows[2][0], a.rows[1][0] - a.rows[0][1]);
        let w = l * ax;
        let cross = Mat3 { rows: [[0.0, -w.z, w.y], [w.z, 0.0, -w.x], [-w.y, w.x, 0.0]] };
        let stress = r * (Mat3::identity() * (lambda * a.trace()) + cross);
        for (k, &node) in cell.nodes.iter().enumerate() {
            let g = Vec3::new(sign(k, 0), sign(k, 1), sign(k, 2)) / (4.0 * H);
            out[node as usize] += stress * g * (H * H * H);
        }
        for a in 0..8 {
            for b in 0..8 {
                let weight = if modes == ModeStiffness::EXACT {
                    2.0 * mu * laplacian[a][b]
                } else {
                    // Edges of the cube.
                    let entry = match (a ^ b).count_ones() {
                        0 => 3.0,
                        1 => -1.0,
                        _ => 0.0,
                    };
                    0.5 * mu * H * entry
                };
                out[cell.nodes[a] as usize] += x[cell.nodes[b] as usize] * weight;
            }
        }
    }
    out
}

#[test]
fn product_is_that_of_the_paper_cell_by_cell() {
    for modes in [ModeStiffness::PAPER, ModeStiffness::EXACT] {
        for (name, cells) in shapes() {
            let mut noise = Noise(7);
            let (lame, u, x) = random_problem(&cells, &mut noise);
            let fixed = vec![[false; 3]; cells.node_places.len()];
            let params = MultigridParams { modes, ..printed_volume() };
            let expected = reference(&cells, &lame, &u, &x, modes);
            // Dense factors of large levels take long, and this test needs only the product.
            let mut system = Multigrid::without_factor(&cells, &lame, &fixed, params);
            system.linearize(&u, TangentKind::Definite, 1.0).unwrap();
            let product = product_of(&mut system, &x);
            let largest = expected.iter().map(|v| v.norm()).fold(0.0, f64::max);
            let error = expected.iter().zip(&product).map(|(a, b)| (*a - *b).norm()).fold(0.0, f64::max);
            assert!(error < 2e-6 * largest, "{name}, {modes:?}: {error} of {largest}");
        }
    }
}

#[test]
fn diagonal_is_that_of_the_product() {
    let cells = carved([6, 6, 6], |[x, y, z]| x + y + z < 9);
    let mut noise = Noise(3);
    let (lame, u, _) = random_problem(&cells, &mut noise);
    let fixed = vec![[false; 3]; cells.node_places.len()];
    let mut system = Multigrid::new(&cells, &lame, &fixed, printed_volume()).unwrap();
    system.linearize(&u, TangentKind::Definite, 1.0).unwrap();
    let diagonal = system.diagonal();
    for node in (0..cells.node_places.len()).step_by(17) {
        for c in 0..3 {
            let mut unit = vec![Vec3::zero(); cells.node_places.len()];
            unit[node][c] = 1.0;
            let product = product_of(&mut system, &unit);
            assert!((product[node][c] / diagonal[node][c] - 1.0).abs() < 1e-5);
        }
    }
}

/// Degenerate cells of all kinds: forces and products stay finite, and no direction has negative stiffness.
#[test]
fn ten_thousand_miserable_cells_stay_finite_and_definite() {
    let cells = carved([43, 43, 43], |place| place.iter().all(|p| p.is_multiple_of(2)));
    assert!(cells.cells.len() > 10_000);
    let mut noise = Noise(17);
    let mut u = vec![Vec3::zero(); cells.node_places.len()];
    for (index, cell) in cells.cells.iter().enumerate() {
        let f = match index % 6 {
            0 => Mat3::identity(),
            1 => Mat3::diagonal(Vec3::new(-1.0, 1.0, 1.0)),
            2 => Mat3::diagonal(Vec3::new(1.0, 1.0, 0.0)),
            3 => Mat3::diagonal(Vec3::new(3.0, 0.0, 0.0)),
            4 => Mat3::zero(),
            _ => Mat3::identity() * -1.0,
        };
        let size = [0.0, 1e-6, 1.0, 1e4][index / 6 % 4];
        for &node in &cell.nodes {
            let place = cells.node_position(node as usize);
            u[node as usize] = f * place - place + noise.vector() * (size * H);
        }
    }
    let params = MultigridParams::default();
    let fixed = vec![[false; 3]; u.len()];
    let mut system = Multigrid::without_factor(&cells, &material(&cells), &fixed, params);
    let mut gradient = vec![Vec3::zero(); u.len()];
    let elastic = LatticeElastic::new(&cells, &material(&cells), params.modes, params.volume);
    assert!(gradient_at(&elastic, &cells, &u, &mut gradient).is_finite() && gradient.iter().all(|g| g.is_finite()));
    system.linearize(&u, TangentKind::Definite, 1.0).unwrap();
    for _ in 0..4 {
        let v: Vec<Vec3> = u.iter().map(|_| noise.vector()).collect();
        let product = product_of(&mut system, &v);
        for cell in &cells.cells {
            // Cells share no nodes here.
            let pairs = || cell.nodes.iter().map(|&node| (v[node as usize], product[node as usize]));
            let quadratic: f64 = pairs().map(|(v, p)| v.dot(p)).sum();
            let size: f64 = pairs().map(|(v, p)| v.norm() * p.norm()).sum();
            assert!(quadratic.is_finite() && quadratic >= -1e-5 * size, "{:?}: {quadratic} of {size}", cell.place);
        }
    }
}
