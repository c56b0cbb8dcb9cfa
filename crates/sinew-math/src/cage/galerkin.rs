//! The matrix of the grid nodes, Pᵀ A P.
//!
//! A is symmetric, so half the work does: with L = (A below the diagonal) + ½ (its diagonal blocks) and G = Pᵀ L P, the coarse matrix is
//! G + Gᵀ. All nodes of a piece have the same eight corners, so the sum over a pair of pieces is an 8 × 8 matrix of blocks that stays in
//! registers and cache, eight corners to a vector.

use super::{CORNERS, Cage, NONE};
use crate::lanes::{Isa, LaneKernel, dispatch};
use crate::parallel::for_each_block_mut;
use crate::sparse::BlockCsr;
use crate::{Mat3, Vec3};

/// Σ over nodes i of one piece and j of another of wᵢ Lᵢⱼ wⱼ: `[corner of i][entry of the block][corner of j]`.
type PairSum = [[[f32; CORNERS]; 9]; CORNERS];

/// The Galerkin matrix of a [`Cage`].
#[derive(Clone, Debug)]
pub struct CoarseMatrix {
    half: BlockCsr<f32>,
    full: BlockCsr<f32>,
}

impl CoarseMatrix {
    /// The zero matrix.
    pub fn new(cage: &Cage) -> Self {
        let pattern = cage.pattern();
        Self { half: BlockCsr::zeros(pattern.clone()), full: BlockCsr::zeros(pattern.clone()) }
    }

    /// The matrix, both triangles.
    pub fn matrix(&self) -> &BlockCsr<f32> {
        &self.full
    }

    /// Computes Pᵀ A P from the blocks of `matrix` on and below the diagonal. `free` is 0 for prescribed components of a node, whose
    /// rows and columns are zero except for the diagonal, and 1 for all others.
    pub fn update(&mut self, cage: &Cage, matrix: &BlockCsr<f32>, free: &[Vec3<f32>]) {
        self.half.set_zero();
        cage.plan.for_each_chunk(self.half.values_mut(), |pieces, writer| {
            for piece in pieces {
                for neighbor in 0..cage.neighbor_counts[piece] as usize {
                    let sum = dispatch(PairKernel { cage, matrix, free, piece, neighbor });
                    for a in 0..CORNERS {
                        for b in 0..CORNERS {
                            let entry = |e: usize| sum[a][e][b];
                            let block = Mat3::new(std::array::from_fn(|i| std::array::from_fn(|j| entry(3 * i + j))));
                            writer.add(piece, (neighbor * CORNERS + a) * CORNERS + b, block);
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
        // Grid nodes that carry only prescribed components.
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

struct PairKernel<'a> {
    cage: &'a Cage,
    matrix: &'a BlockCsr<f32>,
    free: &'a [Vec3<f32>],
    piece: usize,
    neighbor: usize,
}

impl LaneKernel for PairKernel<'_> {
    type Output = PairSum;

    #[inline(always)]
    fn run<I: Isa>(self) -> PairSum {
        let Self { cage, matrix, free, piece, neighbor } = self;
        let pattern = matrix.pattern();
        let mut sum: PairSum = [[[0.0; CORNERS]; 9]; CORNERS];
        let members = cage.piece_starts[piece] as usize..cage.piece_starts[piece + 1] as usize;
        for &node in &cage.members[members] {
            let node = node as usize;
            let diagonal = pattern.diagonal_slot(node);
            let mut row = [[0.0f32; CORNERS]; 9];
            let mut is_touched = false;
            for slot in pattern.row(node).start..=diagonal {
                if cage.neighbor_of_slot[slot] as usize != neighbor {
                    continue;
                }
                let column = pattern.columns()[slot] as usize;
                debug_assert!(cage.piece_of[column] != NONE, "numbered slots lead to pieces");
                is_touched = true;
                let block = matrix.values()[slot].rows;
                let weights = &cage.weights[column];
                for e in 0..9 {
                    let mut entry = block[e / 3][e % 3];
                    if slot == diagonal {
                        entry *= 0.5;
                        if e % 4 == 0 {
                            entry *= free[node][e / 3];
                        }
                    }
                    for corner in 0..CORNERS {
                        row[e][corner] += entry * weights[corner];
                    }
                }
            }
            if is_touched {
                let weights = &cage.weights[node];
                for a in 0..CORNERS {
                    for e in 0..9 {
                        for b in 0..CORNERS {
                            sum[a][e][b] += weights[a] * row[e][b];
                        }
                    }
                }
            }
        }
        sum
    }
}
