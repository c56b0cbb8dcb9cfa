//! The matrix of the grid nodes, Pᵀ A P.
//!
//! A is symmetric, so half the work suffices: with L = (A below the diagonal) + ½ (its diagonal blocks) and G = Pᵀ L P,
//! the coarse matrix is G + Gᵀ. All nodes of a piece share the same eight corners, so the sum over a pair of pieces is
//! an 8 × 8 matrix of blocks. It stays in registers and cache, with eight corners per vector.

use super::{CORNERS, CoarseGrid};
use crate::lanes::{Isa, LaneKernel, dispatch};
use crate::parallel::for_each_block_mut;
use crate::sparse::BlockCsr;
use crate::{Mat3, Vec3};

/// Σ over nodes i of one piece and j of another of wᵢ Lᵢⱼ wⱼ: `[corner of i][entry of the block][corner of j]`.
type PairSum = [[[f32; CORNERS]; 9]; CORNERS];

/// Neighbors of a piece processed in one pass over its rows: a cube in a full grid has 27, itself included.
const AT_ONCE: usize = 27;

/// The Galerkin matrix of a [`CoarseGrid`].
#[derive(Clone, Debug)]
pub struct CoarseMatrix {
    half: BlockCsr<f32>,
    full: BlockCsr<f32>,
}

impl CoarseMatrix {
    /// The zero matrix.
    pub fn new(coarse_grid: &CoarseGrid) -> Self {
        let pattern = coarse_grid.pattern();
        Self { half: BlockCsr::zeros(pattern.clone()), full: BlockCsr::zeros(pattern.clone()) }
    }

    /// The matrix, with both triangles stored.
    pub fn matrix(&self) -> &BlockCsr<f32> {
        &self.full
    }

    /// Computes Pᵀ A P from the blocks of `matrix` on and below the diagonal. `free` is 1 for free components and 0 for
    /// prescribed ones, whose rows and columns are zero except for the diagonal.
    pub fn update(&mut self, coarse_grid: &CoarseGrid, matrix: &BlockCsr<f32>, free: &[Vec3<f32>]) {
        self.half.set_zero();
        coarse_grid.plan.for_each_chunk(self.half.values_mut(), |pieces, writer| {
            for piece in pieces {
                let count = coarse_grid.neighbor_counts[piece] as usize;
                for first in (0..count).step_by(AT_ONCE) {
                    let mut sums = [[[[0.0; CORNERS]; 9]; CORNERS]; AT_ONCE];
                    dispatch(PieceKernel { coarse_grid, matrix, free, piece, first, sums: &mut sums });
                    for (k, sum) in sums[..AT_ONCE.min(count - first)].iter().enumerate() {
                        for a in 0..CORNERS {
                            for b in 0..CORNERS {
                                let entry = |e: usize| sum[a][e][b];
                                let block =
                                    Mat3::new(std::array::from_fn(|i| std::array::from_fn(|j| entry(3 * i + j))));
                                writer.add(piece, ((first + k) * CORNERS + a) * CORNERS + b, block);
                            }
                        }
                    }
                }
            }
        });
        let half = self.half.values();
        let pattern = self.half.pattern();
        for_each_block_mut(
            (self.full.values_mut(), half, pattern.mirrored_slots()),
            4096,
            |_, (full, own, mirrored)| {
                for k in 0..full.len() {
                    full[k] = own[k] + half[mirrored[k] as usize].transpose();
                }
            },
        );
        // Unit diagonal for grid components whose mesh components are all prescribed.
        for node in 0..self.full.node_count() {
            for axis in 0..3 {
                if self.full.diagonal_block(node).rows[axis][axis] == 0.0 {
                    let mut block = Mat3::zero();
                    block.rows[axis][axis] = 1.0;
                    self.full.add_diagonal(node, &block);
                }
            }
        }
    }
}

/// The sums over the nodes of a piece for [`AT_ONCE`] of its neighbors, starting at index `first`.
struct PieceKernel<'a> {
    coarse_grid: &'a CoarseGrid,
    matrix: &'a BlockCsr<f32>,
    free: &'a [Vec3<f32>],
    piece: usize,
    first: usize,
    sums: &'a mut [PairSum; AT_ONCE],
}

impl LaneKernel for PieceKernel<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { coarse_grid, matrix, free, piece, first, sums } = self;
        let pattern = matrix.pattern();
        let members = coarse_grid.piece_starts[piece] as usize..coarse_grid.piece_starts[piece + 1] as usize;
        // Σⱼ Lᵢⱼ wⱼ of one node i, for each neighbor piece with such j.
        let mut rows = [[[0.0f32; CORNERS]; 9]; AT_ONCE];
        for &node in &coarse_grid.members[members] {
            let node = node as usize;
            let diagonal = pattern.diagonal_slot(node);
            let mut touched = 0u32;
            for slot in pattern.row(node).start..=diagonal {
                let neighbor = (coarse_grid.neighbor_of_slot[slot] as usize).wrapping_sub(first);
                if neighbor >= AT_ONCE {
                    continue;
                }
                let row = &mut rows[neighbor];
                if touched & (1 << neighbor) == 0 {
                    touched |= 1 << neighbor;
                    *row = [[0.0; CORNERS]; 9];
                }
                let mut block = matrix.values()[slot].rows;
                if slot == diagonal {
                    for e in 0..9 {
                        block[e / 3][e % 3] *= 0.5 * if e % 4 == 0 { free[node][e / 3] } else { 1.0 };
                    }
                }
                let weights = &coarse_grid.weights[pattern.columns()[slot] as usize];
                for e in 0..9 {
                    for corner in 0..CORNERS {
                        row[e][corner] += block[e / 3][e % 3] * weights[corner];
                    }
                }
            }
            let weights = &coarse_grid.weights[node];
            while touched != 0 {
                let neighbor = touched.trailing_zeros() as usize;
                touched &= touched - 1;
                let (sum, row) = (&mut sums[neighbor], &rows[neighbor]);
                for a in 0..CORNERS {
                    for e in 0..9 {
                        for b in 0..CORNERS {
                            sum[a][e][b] += weights[a] * row[e][b];
                        }
                    }
                }
            }
        }
    }
}
