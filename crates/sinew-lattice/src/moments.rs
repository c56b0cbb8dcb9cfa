//! Center and variance of the material in a coarse cell, which determine its bending stiffness.
//!
//! A coarse cell over a plate one fine cell thick is half empty. As a full cell of half the stiffness it would bend
//! seven times as hard as the plate inside, since stretch and bending couple off center: with material from −1 to 0 of
//! a cell from −1 to 1, a stretch a + b z has the energy ∫ (a + b z)² = a² − ab + b²/3, not a² + b²/3. So the gradient
//! is evaluated at the center of the material, and the stiffness of the higher modes follows its variance,
//! ```math
//! \tilde m_x = m_x + s_y m_{xy} + s_z m_{xz} + s_y s_z m_{xyz}, \qquad \beta_{xy} = v_x + v_y, \qquad
//!    \beta_{xyz} = v_x v_y + v_x v_z + v_y v_z,
//! ```
//! which for a full cell (s = 0, v = 1/3) are 2/3 and 1/3.

use sinew_geometry::lattice::{Coarsening, HexLattice};

use crate::aligned::Aligned;
use crate::kernel::{MOMENT, ModeStiffness};
use crate::layout::{LANES, Layout};

/// Variance of a full cell, in half edges.
const FULL: f64 = 1.0 / 3.0;
/// Cells whose moments differ less than this from a full cell count as full.
const ROUNDING: f64 = 1e-6;

/// Center and variance of the material in a cell along each axis, in half edges from the cell's center.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Moments {
    pub center: [f64; 3],
    pub variance: [f64; 3],
}

impl Moments {
    /// A cell filled with one material.
    pub const FULL: Self = Self { center: [0.0; 3], variance: [FULL; 3] };

    fn is_full(&self) -> bool {
        let is_near = |a: f64, b: f64| (a - b).abs() < ROUNDING;
        self.center.iter().all(|&c| is_near(c, 0.0)) && self.variance.iter().all(|&v| is_near(v, FULL))
    }

    /// Factors on μ' of the modes xy, xz, yz and xyz; a full cell has the factors in `modes`.
    fn factors(&self, modes: ModeStiffness) -> [f64; 4] {
        let [x, y, z] = self.variance;
        let (bilinear, trilinear) = (modes.bilinear / (2.0 * FULL), modes.trilinear / (3.0 * FULL * FULL));
        [bilinear * (x + y), bilinear * (x + z), bilinear * (y + z), trilinear * (x * y + x * z + y * z)]
    }
}

/// Moments of coarse cells from the finer cells inside, weighted by stiffness.
pub(crate) fn coarsen(fine: &HexLattice, stiffness: &[[f64; 2]], moments: &[Moments], to: &Coarsening) -> Vec<Moments> {
    let count = to.lattice.cells.len();
    let mut weights = vec![0.0; count];
    let (mut sums, mut squares) = (vec![[0.0; 3]; count], vec![[0.0; 3]; count]);
    for (cell, &parent) in to.parent.iter().enumerate() {
        let (parent, weight) = (parent as usize, stiffness[cell][0]);
        weights[parent] += weight;
        for axis in 0..3 {
            let middle = (fine.cells[cell].place[axis] % 2) as f64 - 0.5;
            let at = middle + 0.5 * moments[cell].center[axis];
            sums[parent][axis] += weight * at;
            squares[parent][axis] += weight * (at * at + 0.25 * moments[cell].variance[axis]);
        }
    }
    let of_cell = |cell: usize| {
        if !(weights[cell] > 0.0) {
            return Moments::FULL;
        }
        let center = sums[cell].map(|sum| sum / weights[cell]);
        let variance = std::array::from_fn(|axis| squares[cell][axis] / weights[cell] - center[axis] * center[axis]);
        Moments { center, variance }
    };
    (0..count).map(of_cell).collect()
}

/// Rows of centers and factors for the blocks of a level; empty if all cells are full.
pub(crate) fn in_lanes(layout: &Layout, moments: &[Moments], modes: ModeStiffness) -> Aligned {
    if moments.iter().all(Moments::is_full) {
        return Aligned::default();
    }
    rows_of(layout, moments, modes)
}

/// The same for a level of full cells.
pub(crate) fn full(layout: &Layout, modes: ModeStiffness) -> Aligned {
    rows_of(layout, &vec![Moments::FULL; layout.cell_count()], modes)
}

fn rows_of(layout: &Layout, moments: &[Moments], modes: ModeStiffness) -> Aligned {
    let mut rows = Aligned::zeros(layout.block_count() * MOMENT);
    for (cell, moments) in moments.iter().enumerate() {
        let (block, lane) = layout.cell_slot(cell);
        for (k, value) in moments.center.into_iter().chain(moments.factors(modes)).enumerate() {
            rows[block * MOMENT + k * LANES + lane] = value as f32;
        }
    }
    rows
}
