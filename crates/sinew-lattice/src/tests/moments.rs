//! Partly filled coarse cells.

use sinew_math::Vec3;

use super::{H, Noise, carved, fixed_end, material, random_problem};
use crate::kernel::{BLOCK, MOMENT, ModeStiffness, STATE};
use crate::layout::LANES;
use crate::level::Level;
use crate::moments::{Moments, coarsen};
use crate::pass::Pass;
use crate::precise::{Bent, forces};
use crate::{Multigrid, MultigridParams, TangentKind};

/// State of a cell, and its bending properties.
fn cell_of(level: &Level, cell: usize) -> ([f64; STATE], Bent<f64>) {
    let (block, lane) = level.layout.cell_slot(cell);
    let s = std::array::from_fn(|k| f64::from(level.state[block * BLOCK + k * LANES + lane]));
    if level.moments.is_empty() {
        return (s, Bent::full(ModeStiffness::EXACT));
    }
    let row = |k: usize| f64::from(level.moments[block * MOMENT + k * LANES + lane]);
    (
        s,
        Bent {
            center: Some([row(0), row(1), row(2)]),
            factors: [row(3), row(4), row(5), row(6)],
            pull: None,
            bulk: None,
        },
    )
}

#[test]
fn a_layer_lies_below_the_middle_of_coarse_cells() {
    let plate = carved([4, 4, 1], |_| true);
    let coarse = coarsen(&plate, &material(&plate), &[Moments::FULL; 16], &plate.coarsen());
    for moments in coarse {
        let near = |a: [f64; 3], b: [f64; 3]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(near(moments.center, [0.0, 0.0, -0.5]), "{moments:?}");
        assert!(near(moments.variance, [1.0 / 3.0, 1.0 / 3.0, 1.0 / 12.0]), "{moments:?}");
    }
}

/// MCA-30: a coarse cell is as stiff as an eighth of the sum of the cells in it, however few they are. The state of the
/// cells at rest is compared with that of a lattice that has these sums.
#[test]
fn coarse_cells_have_an_eighth_of_the_sum_of_their_children() {
    let body = carved([8, 6, 5], |[x, y, z]| (x + y * z) % 3 != 0);
    let mut noise = Noise(7);
    let lame: Vec<[f64; 2]> = body.cells.iter().map(|_| [1.0 + noise.unit(), 2.0 + noise.unit()]).collect();
    let free = vec![[false; 3]; body.node_places.len()];
    let params = MultigridParams { coarsest_cells: 8, ..super::printed_volume() };
    let system = Multigrid::new(&body, &lame, &free, params).unwrap();
    let to = body.coarsen();
    let mut sums = vec![[0.0; 2]; to.lattice.cells.len()];
    for (lame, &parent) in lame.iter().zip(&to.parent) {
        (0..2).for_each(|k| sums[parent as usize][k] += lame[k] / 8.0);
    }
    let none = vec![[false; 3]; to.lattice.node_places.len()];
    let expected = Multigrid::new(&to.lattice, &sums, &none, params).unwrap();
    let mut children = std::collections::BTreeSet::new();
    for cell in 0..sums.len() {
        children.insert(to.parent.iter().filter(|&&parent| parent as usize == cell).count());
        let (found, wanted) = (cell_of(&system.levels[1], cell).0, cell_of(&expected.levels[0], cell).0);
        let apart = found.iter().zip(&wanted).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(apart < 1e-6 * wanted[0].abs().max(1.0), "cell {cell}: {found:?} {wanted:?}");
    }
    assert!(children.len() > 2 && children.contains(&4), "cells are full to different parts: {children:?}");
}

/// A coarse plate bends as hard as the fine one in it: seven times as hard with full cells of half the stiffness.
#[test]
fn coarse_plates_bend_like_fine_ones() {
    let plate = carved([64, 16, 1], |_| true);
    let params = MultigridParams { coarsest_cells: 64, ..MultigridParams::default() };
    let system = Multigrid::new(&plate, &material(&plate), &fixed_end(&plate, 0), params).unwrap();
    let mut lattice = plate.clone();
    let mut energies = Vec::new();
    for level in &system.levels[..2] {
        let mut energy = 0.0;
        for (cell, placed) in lattice.cells.iter().enumerate() {
            let (s, bent) = cell_of(level, cell);
            // u = −z x, w = x²/2 about the middle of the plate.
            let nodes = placed.nodes.map(|node| {
                let p = lattice.node_position(node as usize) - Vec3::unit(2) * (0.5 * H);
                [-p.z * p.x, 0.0, 0.5 * p.x * p.x]
            });
            let pull = forces(&s, &nodes, &bent);
            energy += (0..8).map(|k| (0..3).map(|c| 0.5 * nodes[k][c] * pull[k][c]).sum::<f64>()).sum::<f64>();
        }
        energies.push(energy);
        lattice = lattice.coarsen().lattice;
    }
    // The fine energy includes the parasitic shear of trilinear cells in bending, of order h²; coarse cells, twice as
    // long, have four times that.
    let ratio = energies[1] / energies[0];
    assert!((1.0..4.0).contains(&ratio), "{energies:?}");
}

/// The kernel of coarse levels against the same cells one by one in f64, with rotated and strained cells.
#[test]
fn kernel_off_center_is_that_of_the_modes() {
    let body = carved([24, 12, 12], |[x, y, z]| x < 9 || (y + z) % 5 == 0 || z == 7);
    let (lame, u, _) = random_problem(&body, &mut Noise(5));
    let fixed = vec![[false; 3]; body.node_places.len()];
    let params = MultigridParams { coarsest_cells: 8, ..super::printed_volume() };
    let mut system = Multigrid::new(&body, &lame, &fixed, params).unwrap();
    system.linearize(&u, TangentKind::Definite, 1.0).unwrap();
    let coarse = body.coarsen().lattice;
    let level = &mut system.levels[1];
    assert!(!level.moments.is_empty(), "cells are partly full");
    let mut noise = Noise(9);
    let x: Vec<Vec3> = coarse.node_places.iter().map(|_| noise.vector()).collect();
    let mut expected = vec![Vec3::zero(); x.len()];
    for (cell, placed) in coarse.cells.iter().enumerate() {
        let (s, bent) = cell_of(level, cell);
        let pull = forces(&s, &placed.nodes.map(|node| x[node as usize].to_array()), &bent);
        for (&node, pull) in placed.nodes.iter().zip(pull) {
            expected[node as usize] += Vec3::from(pull);
        }
    }
    level.layout.spread(&mut level.x, |node| x[node].to_array().map(|v| v as f32));
    level.b.fill(0.0);
    level.pass(params.modes, |b, inverse, out| Pass::Residual { b, inverse, out });
    let mut found = vec![Vec3::zero(); x.len()];
    level.gather(&level.out, &mut found);
    let largest = expected.iter().map(|v| v.norm()).fold(0.0, f64::max);
    let apart = expected.iter().zip(&found).map(|(e, f)| (*e + *f).norm()).fold(0.0, f64::max);
    assert!(apart < 1e-5 * largest, "{apart} of {largest}");
    // The diagonal that sweeps divide by is that of the same matrix.
    let node = coarse.cells[3].nodes[5];
    let mut diagonal = 0.0;
    for (cell, placed) in coarse.cells.iter().enumerate() {
        if let Some(corner) = placed.nodes.iter().position(|&other| other == node) {
            let (s, bent) = cell_of(level, cell);
            let mut unit = [[0.0; 3]; 8];
            unit[corner][1] = 1.0;
            diagonal += forces(&s, &unit, &bent)[corner][1];
        }
    }
    let inverse = f64::from(level.inverse[level.layout.slots(node as usize)[0].component(1)]);
    assert!((inverse * diagonal - 1.0).abs() < 1e-4, "{inverse} for {diagonal}");
}
