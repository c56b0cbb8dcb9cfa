//! Coarse cells that are partly full.

use sinew_math::Vec3;

use super::{H, carved, fixed_end, material};
use crate::kernel::{BLOCK, MOMENT, ModeStiffness, STATE};
use crate::layout::LANES;
use crate::moments::{Moments, coarsen};
use crate::multigrid::{Multigrid, MultigridParams};
use crate::precise::{Bent, forces};

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
            let (block, lane) = level.layout.cell_slot(cell);
            let s: [f64; STATE] = std::array::from_fn(|k| f64::from(level.state[block * BLOCK + k * LANES + lane]));
            let row = |k: usize| f64::from(level.moments[block * MOMENT + k * LANES + lane]);
            let bent = match level.moments.is_empty() {
                true => Bent::full(ModeStiffness::EXACT),
                false => Bent { center: Some([row(0), row(1), row(2)]), factors: [row(3), row(4), row(5), row(6)] },
            };
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
    // The fine energy has the shear that trilinear cells feel when they bend, h²; coarse cells, twice as long, have four times that.
    let ratio = energies[1] / energies[0];
    assert!((1.0..4.0).contains(&ratio), "{energies:?}");
}
