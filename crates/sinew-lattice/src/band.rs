//! The band of nodes near a level's boundary and near fixed nodes, which gets extra smoothing sweeps (MCA-33).
//!
//! Coarse cells approximate the body worst at its boundary. Sweeping only the blocks there costs less than sweeping
//! all.

use sinew_geometry::lattice::HexLattice;
use sinew_math::parallel::{SUM_BLOCK, for_each_block_mut};

use crate::aligned::Aligned;
use crate::kernel::FullAnchors;
use crate::layout::Layout;
use crate::pass::{NodalTerms, Operator, Pass, Slabs};

/// The boundary band of a level.
#[derive(Clone, Debug)]
pub(crate) struct Band {
    slabs: Slabs,
    /// Cells that its sweeps visit.
    pub cell_count: usize,
    /// 1 for nodes of the band, 0 for others, in slots.
    mask: Aligned,
    /// D⁻¹ of the band: the diagonal, and the entries yz, xz, xy.
    inverse: Aligned,
    inverse_cross: Aligned,
}

impl Band {
    /// Collects the nodes of all cells that touch the boundary or a fixed component.
    pub fn new(lattice: &HexLattice, layout: &Layout, fixed: &[[bool; 3]], threads: usize) -> Self {
        let mut cells_around = vec![0u8; fixed.len()];
        for &node in lattice.cells.iter().flat_map(|cell| &cell.nodes) {
            cells_around[node as usize] += 1;
        }
        let mut is_in = vec![false; fixed.len()];
        for cell in &lattice.cells {
            let touches = |&node: &u32| cells_around[node as usize] < 8 || fixed[node as usize] != [false; 3];
            if cell.nodes.iter().any(touches) {
                cell.nodes.iter().for_each(|&node| is_in[node as usize] = true);
            }
        }
        let mut blocks = vec![false; layout.block_count()];
        let mut cell_count = 0;
        for (index, cell) in lattice.cells.iter().enumerate() {
            if cell.nodes.iter().any(|&node| is_in[node as usize]) {
                blocks[layout.cell_slot(index).0] = true;
            }
        }
        for index in 0..lattice.cells.len() {
            cell_count += usize::from(blocks[layout.cell_slot(index).0]);
        }
        let mut mask = Aligned::zeros(layout.value_count());
        layout.spread(&mut mask, |node| [f32::from(u8::from(is_in[node])); 3]);
        Self {
            slabs: Slabs::of_blocks(layout, threads, &blocks),
            cell_count,
            inverse: Aligned::zeros(mask.len()),
            inverse_cross: Aligned::default(),
            mask,
        }
    }

    /// Copies the band's part of the level's D⁻¹.
    pub fn take_inverse(&mut self, inverse: &[f32], anchors: NodalTerms<'_>) {
        let Self { mask, inverse: own, inverse_cross, .. } = self;
        let masked = |out: &mut [f32], values: &[f32]| {
            for_each_block_mut(
                (out, values, &**mask),
                SUM_BLOCK,
                |_, (out, values, mask): (&mut [f32], &[f32], &[f32])| {
                    for ((out, value), mask) in out.iter_mut().zip(values).zip(mask) {
                        *out = value * mask;
                    }
                },
            );
        };
        masked(own, inverse);
        if let NodalTerms::Full(blocks) = anchors {
            if inverse_cross.is_empty() {
                *inverse_cross = Aligned::zeros(mask.len());
            }
            masked(inverse_cross, blocks.inverse_cross);
        }
    }

    /// Runs one sweep, see [`Pass::Smooth`].
    pub fn smooth(&mut self, operator: Operator<'_>, x: &mut [f32], b: &[f32], out: &mut [f32], [a, c]: [f64; 2]) {
        let Self { slabs, inverse, inverse_cross, .. } = self;
        let anchors = match operator.anchors {
            NodalTerms::Full(blocks) => NodalTerms::Full(FullAnchors { inverse_cross, ..blocks }),
            anchors => anchors,
        };
        slabs.run(Operator { anchors, ..operator }, x, Pass::Smooth { b, inverse, out, a, c });
    }
}
