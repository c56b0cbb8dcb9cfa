//! The coarsest level by a direct solve (MCA-35).

use std::fmt;
use std::sync::Arc;

use sinew_geometry::lattice::HexLattice;
use sinew_math::cholesky::{Cholesky, CholeskyError, SymbolicCholesky};
use sinew_math::sparse::{BlockCsr, BlockPattern};
use sinew_math::{Mat3, Vec3};

use crate::fibers::PULL;
use crate::kernel::{BLOCK, BULK, MOMENT, STATE};
use crate::layout::LANES;
use crate::pass::Operator;
use crate::precise::{Bent, forces};
use crate::ties::LevelTies;

/// Stiffness that is added, in largest diagonal entries: what nobody holds stays where it is.
const SHIFT: f64 = 1e-7;

/// Matrix and factor of the coarsest level.
pub(crate) struct Coarsest {
    cells: Vec<[u32; 8]>,
    /// Components that do not move.
    fixed: Vec<[bool; 3]>,
    matrix: BlockCsr<f64>,
    factor: Cholesky<f64>,
    /// Right-hand side, and solution.
    pub x: Vec<Vec3>,
}

impl fmt::Debug for Coarsest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Coarsest {{ {} cells }}", self.cells.len())
    }
}

impl Coarsest {
    /// Structure of the matrix of a lattice.
    pub fn new(lattice: &HexLattice, fixed: &[[bool; 3]]) -> Result<Self, CholeskyError> {
        let cells: Vec<[u32; 8]> = lattice.cells.iter().map(|cell| cell.nodes).collect();
        let count = lattice.node_places.len();
        let pattern = Arc::new(
            BlockPattern::from_elements(count, &cells).map_err(|_| CholeskyError::TooLarge { size: 3 * count })?,
        );
        let symbolic = SymbolicCholesky::new(&pattern)?;
        let factor = symbolic.prepare()?;
        let matrix = BlockCsr::zeros(pattern);
        Ok(Self { cells, fixed: fixed.to_vec(), matrix, factor, x: vec![Vec3::zero(); count] })
    }

    /// Factor of the tangent with this state and what is added to it.
    pub fn factorize(&mut self, operator: Operator<'_>, ties: &LevelTies) -> Result<(), CholeskyError> {
        let Operator { layout, state, modes, moments, fibers, bulk, anchors } = operator;
        self.matrix.set_zero();
        for (cell, nodes) in self.cells.iter().enumerate() {
            let (block, lane) = layout.cell_slot(cell);
            let s: [f64; STATE] = std::array::from_fn(|k| f64::from(state[block * BLOCK + k * LANES + lane]));
            let mut bent = Bent::full(modes);
            if !moments.is_empty() {
                let row = |k: usize| f64::from(moments[block * MOMENT + k * LANES + lane]);
                bent = Bent {
                    center: Some([row(0), row(1), row(2)]),
                    factors: [row(3), row(4), row(5), row(6)],
                    pull: None,
                    bulk: None,
                };
            }
            if !fibers.is_empty() {
                bent.pull = Some(std::array::from_fn(|k| f64::from(fibers[block * PULL + k * LANES + lane])));
            }
            if !bulk.is_empty() {
                bent.bulk = Some(std::array::from_fn(|k| f64::from(bulk[block * BULK + k * LANES + lane])));
            }
            for b in 0..8 {
                let mut columns = [Mat3::zero(); 8];
                for j in 0..3 {
                    let mut unit = [[0.0; 3]; 8];
                    unit[b][j] = 1.0;
                    for (column, force) in columns.iter_mut().zip(forces(&s, &unit, &bent)) {
                        for (i, value) in force.into_iter().enumerate() {
                            column.rows[i][j] = value;
                        }
                    }
                }
                for (a, block) in columns.iter_mut().enumerate() {
                    hold(&self.fixed, nodes[a], nodes[b], block);
                    self.matrix
                        .add_block(nodes[a] as usize, nodes[b] as usize, block)
                        .map_err(|_| CholeskyError::PatternMismatch)?;
                }
            }
        }
        let entries =
            self.matrix.diagonal_blocks().flat_map(|block| [block.rows[0][0], block.rows[1][1], block.rows[2][2]]);
        let largest = entries.fold(0.0, f64::max).max(f64::MIN_POSITIVE);
        for (node, fixed) in self.fixed.iter().enumerate() {
            let stiffness = |c: usize| if fixed[c] { largest } else { SHIFT * largest };
            let block = Mat3::diagonal(Vec3::new(stiffness(0), stiffness(1), stiffness(2)));
            self.matrix.add_diagonal(node, &block);
        }
        // After the shift, which is for K alone: hard anchors would make it too stiff for the rest.
        for node in 0..self.fixed.len() {
            if let Some(mut block) = anchors.block(layout.slots(node)[0]) {
                hold(&self.fixed, node as u32, node as u32, &mut block);
                self.matrix.add_diagonal(node, &block);
            }
        }
        let Self { matrix, fixed, .. } = self;
        ties.for_each_block(|a, b, mut block| {
            hold(fixed, a, b, &mut block);
            // All its nodes are corners of one cell; of one that is not only the diagonal would be known.
            let added = matrix.add_block(a as usize, b as usize, &block);
            debug_assert!(added.is_ok(), "a spring lies in one cell: {added:?}");
        });
        self.factor.refactor(&self.matrix)
    }

    /// Replaces the right-hand side by the solution; by nothing where there is no factor.
    pub fn solve(&mut self) {
        if self.factor.solve_in_place(&mut self.x).is_err() {
            self.x.fill(Vec3::zero());
        }
    }
}

/// Takes what is fixed out of a block.
fn hold(fixed: &[[bool; 3]], row: u32, column: u32, block: &mut Mat3) {
    for i in 0..3 {
        for j in 0..3 {
            if fixed[row as usize][i] || fixed[column as usize][j] {
                block.rows[i][j] = 0.0;
            }
        }
    }
}
