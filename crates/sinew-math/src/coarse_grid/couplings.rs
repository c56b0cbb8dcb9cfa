//! Couplings between mesh nodes beside the pattern of the mesh matrix, on the grid: contacts, which come and go.
//!
//! Parts that touch move together, but their diagonal blocks alone hold each of them in place. The grid matrix therefore
//! gets the whole Galerkin product of the couplings, in a pattern that follows which pieces they connect.

use std::sync::Arc;

use super::galerkin::CoarseMatrix;
use super::precondition::Coarsest;
use super::{CORNERS, CoarseGrid, NONE};
use crate::cholesky::CholeskyError;
use crate::lanes::{Isa, LaneKernel, dispatch};
use crate::sparse::{BlockCsr, BlockPattern};
use crate::{Mat3, Vec3};

/// A block below the diagonal between two nodes of the mesh; its transpose lies above.
#[derive(Clone, Copy, Debug)]
pub struct Coupling {
    /// Row of the block.
    pub row: u32,
    /// Column of the block.
    pub column: u32,
    /// The block.
    pub block: Mat3<f32>,
}

/// Sum over couplings of two pieces: `[corner of the row][entry of the block][corner of the column]`.
type PairSum = [[[f32; CORNERS]; 9]; CORNERS];

/// The grid matrix with couplings, and its factor.
pub(super) struct CoupledGrid {
    couplings: Vec<Coupling>,
    /// Pieces of row and column of each coupling, and its index; sorted.
    order: Vec<([u32; 2], u32)>,
    /// The pairs of pieces that have couplings now, and those of the layout.
    pairs: Vec<[u32; 2]>,
    laid_out: Vec<[u32; 2]>,
    layout: Option<Layout>,
}

struct Layout {
    matrix: BlockCsr<f32>,
    coarsest: Coarsest,
}

impl CoupledGrid {
    pub fn new() -> Self {
        Self { couplings: Vec::new(), order: Vec::new(), pairs: Vec::new(), laid_out: Vec::new(), layout: None }
    }

    /// Takes the couplings between nodes on the grid; returns whether there are any.
    pub fn collect(
        &mut self,
        grid: &CoarseGrid,
        free: &[Vec3<f32>],
        couplings: impl Iterator<Item = Coupling>,
    ) -> bool {
        self.couplings.clear();
        self.order.clear();
        for Coupling { row, column, block } in couplings {
            let pieces = [row, column].map(|node| grid.piece_of[node as usize]);
            if !pieces.contains(&NONE) {
                self.order.push((pieces, self.couplings.len() as u32));
                let [rows, columns] = [row, column].map(|node| free[node as usize]);
                let block = Mat3::diagonal(rows) * block * Mat3::diagonal(columns);
                self.couplings.push(Coupling { row, column, block });
            }
        }
        self.order.sort_unstable();
        self.pairs.clear();
        self.pairs.extend(self.order.chunk_by(|a, b| a.0 == b.0).map(|group| group[0].0));
        !self.pairs.is_empty()
    }

    /// Factors the grid matrix with the couplings collected last.
    pub fn factor(&mut self, grid: &CoarseGrid, matrix: &CoarseMatrix, is_definite: bool) -> Result<(), CholeskyError> {
        // The layout depends on the present pairs alone, so that a resumed run computes the same bits.
        if self.layout.is_none() || self.laid_out != self.pairs {
            self.layout = None;
            self.layout = Some(self.lay_out(grid)?);
            self.laid_out.clone_from(&self.pairs);
        }
        let Self { couplings, order, layout, .. } = self;
        let Some(Layout { matrix: coupled, coarsest }) = layout else { return Ok(()) };
        coupled.set_zero();
        copy_into(matrix.matrix(), coupled);
        let pattern = coupled.pattern().clone();
        for group in order.chunk_by(|a, b| a.0 == b.0) {
            let mut sum: PairSum = [[[0.0; CORNERS]; 9]; CORNERS];
            dispatch(PairKernel { grid, couplings, group, sum: &mut sum });
            let [rows, columns] = group[0].0.map(|piece| &grid.corners[piece as usize]);
            for (a, &row) in rows.iter().enumerate() {
                for (b, &column) in columns.iter().enumerate() {
                    let block = Mat3::new(std::array::from_fn(|i| std::array::from_fn(|j| sum[a][3 * i + j][b])));
                    if let Some(slot) = pattern.slot(row as usize, column as usize) {
                        coupled.values_mut()[slot] += block;
                        coupled.values_mut()[pattern.mirrored_slots()[slot] as usize] += block.transpose();
                    }
                }
            }
        }
        coarsest.factor(coupled, is_definite)
    }

    fn lay_out(&self, grid: &CoarseGrid) -> Result<Layout, CholeskyError> {
        let base = grid.pattern();
        let mut elements: Vec<[u32; 2 * CORNERS]> = Vec::with_capacity(base.node_count() + self.pairs.len());
        for node in 0..base.node_count() {
            for slot in base.row(node).start..base.diagonal_slot(node) {
                let mut element = [node as u32; 2 * CORNERS];
                element[0] = base.columns()[slot];
                elements.push(element);
            }
        }
        elements.extend(self.pairs.iter().map(|&[p, q]| -> [u32; 2 * CORNERS] {
            std::array::from_fn(|k| grid.corners[if k < CORNERS { p } else { q } as usize][k % CORNERS])
        }));
        let pattern = BlockPattern::from_elements(base.node_count(), &elements).expect("nodes of the grid");
        let pattern = Arc::new(pattern);
        let coarsest = Coarsest::new(&pattern).ok_or(CholeskyError::TooLarge { size: 3 * pattern.node_count() })?;
        Ok(Layout { matrix: BlockCsr::zeros(pattern), coarsest })
    }

    /// Solves with the last factor.
    pub fn solve(&mut self, residual: &[Vec3<f32>], correction: &mut [Vec3<f32>]) {
        if let Some(layout) = &mut self.layout {
            layout.coarsest.solve(residual, correction);
        }
    }
}

/// Copies a matrix into one whose pattern contains its own.
fn copy_into(from: &BlockCsr<f32>, to: &mut BlockCsr<f32>) {
    let (inner, outer) = (from.pattern(), to.pattern().clone());
    let values = to.values_mut();
    for row in 0..inner.node_count() {
        let mut place = outer.row(row).start;
        for slot in inner.row(row) {
            while outer.columns()[place] != inner.columns()[slot] {
                place += 1;
            }
            values[place] = from.values()[slot];
        }
    }
}

/// The couplings of a pair of pieces, added up over their corners.
struct PairKernel<'a> {
    grid: &'a CoarseGrid,
    couplings: &'a [Coupling],
    group: &'a [([u32; 2], u32)],
    sum: &'a mut PairSum,
}

impl LaneKernel for PairKernel<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { grid, couplings, group, sum } = self;
        for &(_, index) in group {
            let Coupling { row, column, block } = &couplings[index as usize];
            let (rows, columns) = (&grid.weights[*row as usize], &grid.weights[*column as usize]);
            for (sum, &weight) in sum.iter_mut().zip(rows) {
                for (e, sum) in sum.iter_mut().enumerate() {
                    let entry = weight * block.rows[e / 3][e % 3];
                    for (sum, &other) in sum.iter_mut().zip(columns) {
                        *sum += entry * other;
                    }
                }
            }
        }
    }
}
