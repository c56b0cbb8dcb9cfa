//! Springs at points between nodes.

use sinew_geometry::lattice::HexLattice;
use sinew_math::{Mat3, Vec3};

use super::{H, Noise, dense, material, narrow, widen};
use crate::pass::Pass;
use crate::{EmbeddedSprings, Multigrid, MultigridParams, TangentKind};

/// μ of [`material`], times the edge of a cell.
fn unit_stiffness(cells: &HexLattice) -> f64 {
    material(cells)[0][0] * H
}

/// Weights at a position given in cells.
fn weights(cells: &HexLattice, at: [f64; 3]) -> Vec<(u32, f64)> {
    let cell = cells.cells_at(at.map(|x| x as u32)).next().expect("the place is inside");
    let part = |corner: usize, axis: usize| {
        let local = at[axis].fract();
        if corner >> axis & 1 == 1 { local } else { 1.0 - local }
    };
    let corners = cells.cells[cell].nodes.into_iter().enumerate();
    corners.map(|(corner, node)| (node, (0..3).map(|axis| part(corner, axis)).product())).collect()
}

/// Springs of two bones along an arm, with a gap at the elbow.
fn soft_bones(cells: &HexLattice, stiffness: f64, count: usize) -> EmbeddedSprings {
    let (mut ties, mut noise) = (EmbeddedSprings::default(), Noise(11));
    let [length, width, _] = cells.cubes.map(|n| n as f64);
    for k in 0..count {
        let along = 0.01 * length + 0.42 * length * (noise.unit() + 0.5) + if k % 2 == 0 { 0.0 } else { 0.56 * length };
        let around = 6.3 * noise.unit();
        let radius = 1.2 * (noise.unit() + 0.5).sqrt();
        let middle = 0.5 * width;
        ties.add(stiffness, weights(cells, [along, middle + radius * around.cos(), middle + radius * around.sin()]));
    }
    ties
}

/// (K + Σ k w wᵀ) x.
fn product(system: &mut Multigrid, ties: &EmbeddedSprings, x: &[Vec3]) -> Vec<Vec3> {
    let mut out = vec![Vec3::zero(); x.len()];
    system.apply_wide(x, &mut out);
    for (stiffness, entries) in ties.iter() {
        let place = entries.iter().map(|&(node, w)| x[node as usize] * f64::from(w)).sum::<Vec3>();
        entries.iter().for_each(|&(node, w)| out[node as usize] += stiffness.to_f64() * place * f64::from(w));
    }
    out
}

fn dot(a: &[Vec3], b: &[Vec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.dot(*b)).sum()
}

/// Merged springs are the same matrix Σ k w wᵀ, at most one for each node of a cell. Springs with directions stay.
#[test]
fn merged_springs_pull_alike() {
    let cells = dense([2, 1, 1]);
    let (mut ties, mut noise) = (EmbeddedSprings::default(), Noise(5));
    let mut place = || weights(&cells, [2.0, 1.0, 1.0].map(|size| size * (noise.unit() + 0.5)));
    (0..200).for_each(|k| ties.add(1.0 + 0.01 * f64::from(k), place()));
    ties.add_block(Mat3::diagonal(Vec3::new(1.0, 2.0, 3.0)), place());
    let matrix = |ties: &EmbeddedSprings| {
        let count = cells.node_places.len();
        let mut sum = vec![0.0; count * count];
        for (stiffness, entries) in ties.iter() {
            for &(a, w) in entries {
                for &(b, other) in entries {
                    sum[a as usize * count + b as usize] += f64::from(stiffness.trace() * w) * f64::from(other);
                }
            }
        }
        sum
    };
    let before = matrix(&ties);
    ties.merge();
    assert_eq!(ties.iter().count(), 2 * 8 + 1);
    let largest = before.iter().copied().fold(0.0, f64::max);
    // Weights are f32.
    assert!(matrix(&ties).iter().zip(&before).all(|(a, b)| (a - b).abs() < 1e-6 * largest));
}

/// Iterations of preconditioned conjugate gradients to a millionth of a random load.
fn iterations(cells: &HexLattice, ties: &EmbeddedSprings) -> usize {
    let fixed = vec![[false; 3]; cells.node_places.len()];
    let system = Multigrid::new(cells, &material(cells), &fixed, MultigridParams::default()).unwrap();
    iterations_of(&mut system.with_ties(ties.clone()).unwrap(), &fixed, ties)
}

fn iterations_of(system: &mut Multigrid, fixed: &[[bool; 3]], ties: &EmbeddedSprings) -> usize {
    let mut noise = Noise(3);
    let free = |fixed: &[bool; 3]| if fixed[0] { 0.0 } else { 1.0 };
    let mut r: Vec<Vec3> = fixed.iter().map(|fixed| noise.vector() * free(fixed)).collect();
    let start = dot(&r, &r);
    let (mut p, mut before) = (vec![Vec3::zero(); r.len()], f64::INFINITY);
    for k in 1..200 {
        let mut z = narrow(&p);
        system.precondition(&narrow(&r), &mut z);
        let z = widen(&z);
        let rz = dot(&r, &z);
        p.iter_mut().zip(&z).for_each(|(p, &z)| *p = *p * (rz / before) + z);
        before = rz;
        let mut q = product(system, ties, &p);
        q.iter_mut().zip(fixed).for_each(|(q, fixed)| *q *= free(fixed));
        let step = rz / dot(&p, &q);
        r.iter_mut().zip(&q).for_each(|(r, &q)| *r -= q * step);
        if dot(&r, &r) < 1e-12 * start {
            return k;
        }
    }
    200
}

/// The residual of a level with springs is that of the full matrix, on every level, because weights nest.
#[test]
fn springs_pull_on_every_level_as_on_the_finest() {
    let cells = dense([12, 8, 8]);
    let fixed = vec![[false; 3]; cells.node_places.len()];
    let params = MultigridParams { coarsest_cells: 8, ..MultigridParams::default() };
    let ties = soft_bones(&cells, 30.0 * unit_stiffness(&cells), 20);
    let system = Multigrid::new(&cells, &material(&cells), &fixed, params).unwrap();
    let mut system = system.with_ties(ties.clone()).unwrap();
    // A field that every level represents: linear in position, so K exerts no force inside.
    for level in 0..system.levels.len() {
        let edge = H * f64::from(1u32 << level);
        let mut lattice = cells.clone();
        (0..level).for_each(|_| lattice = lattice.coarsen().lattice);
        let level = &mut system.levels[level];
        let x: Vec<Vec3> = lattice.node_places.iter().map(|p| Vec3::from(p.map(f64::from)) * edge).collect();
        level.layout.spread(&mut level.x, |node| x[node].to_array().map(|v| v as f32));
        level.b.fill(0.0);
        let modes = params.modes;
        level.pass(modes, |b, inverse, out| Pass::Residual { b, inverse, out });
        let mut defect = vec![Vec3::zero(); x.len()];
        level.gather(&level.out, &mut defect);
        // Work of the springs along x: Σ k |Σ w x|², independent of the level. K x does work only at the boundary, by
        // the stress of a dilation.
        let [mu, lambda] = material(&cells)[0];
        let volume = cells.cells.len() as f64 * H.powi(3);
        let dilation = (6.0 * mu + 9.0 * lambda) * volume;
        let springs: f64 = ties
            .iter()
            .map(|(k, entries)| {
                let place = entries.iter().map(|&(node, w)| cells.node_position(node as usize) * f64::from(w));
                f64::from(k.rows[0][0]) * place.sum::<Vec3>().norm_squared()
            })
            .sum();
        let work = -dot(&defect, &x);
        assert!((work - dilation - springs).abs() < 1e-4 * work, "{work} of {dilation} and {springs}");
    }
}

/// An arm held only by soft bones, from soft to a thousand times as stiff as its cells.
#[test]
fn soft_bones_do_not_slow_the_cycle() {
    let arm = dense([40, 8, 8]);
    for (stiffness, count) in [(2.5, 300), (25.0, 300), (1e3, 300), (1e3, 600)] {
        let taken = iterations(&arm, &soft_bones(&arm, stiffness * unit_stiffness(&arm), count));

        assert!(taken <= 15, "{count} springs of {stiffness} μh: {taken}");
    }
}

/// Two arms, each held at one end, that press on each other by contacts a hundred times as stiff as their cells.
#[test]
fn contacts_are_no_anchors() {
    let mut cells = dense([24, 9, 4]);
    cells.retain(|cell| cell.place[1] != 4);
    let fixed: Vec<[bool; 3]> = cells.node_places.iter().map(|place| [place[0] == 0; 3]).collect();
    let normal = Vec3::new(0.1, 0.99, -0.1).normalized();
    let block = Mat3::outer(normal, normal) * (100.0 * unit_stiffness(&cells));
    let mut contacts = EmbeddedSprings::default();
    for x in 4..23 {
        for z in 0..4 {
            let [below, above] = [3.9, 5.1].map(|y| weights(&cells, [f64::from(x) + 0.4, y, f64::from(z) + 0.6]));
            let pair = below.into_iter().chain(above.into_iter().map(|(node, weight)| (node, -weight)));
            contacts.add_block(Mat3::from_f64(block), pair);
        }
    }
    let rest = vec![Vec3::zero(); fixed.len()];
    let mut system = Multigrid::new(&cells, &material(&cells), &fixed, MultigridParams::default()).unwrap();
    let unaware = iterations_of(&mut system, &fixed, &contacts);
    // Uses only the diagonal of the contacts, which holds each side in place.
    let mut anchors = vec![Mat3::zero(); fixed.len()];
    for (stiffness, entries) in contacts.iter() {
        entries.iter().for_each(|&(node, weight)| anchors[node as usize] += *stiffness * (weight * weight));
    }
    system.set_anchors(Some(&anchors));
    system.linearize(&rest, TangentKind::Definite, 1.0).unwrap();
    let anchored = iterations_of(&mut system, &fixed, &contacts);
    system.set_anchors(None);
    system.set_contacts(&contacts);
    system.linearize(&rest, TangentKind::Definite, 1.0).unwrap();
    let taken = iterations_of(&mut system, &fixed, &contacts);
    assert!(2 * taken <= anchored && 2 * taken <= unaware, "{taken}, {anchored} and {unaware}");
}
