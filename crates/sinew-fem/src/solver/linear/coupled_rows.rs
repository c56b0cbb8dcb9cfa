//! The off-diagonal tangent of contact in single precision, assembled row by row: conjugate gradients multiply by it
//! dozens of times. Many contacts act on the same two nodes, so this is a fraction of the memory of the contacts.

use sinew_math::coarse_grid::Coupling;
use sinew_math::krylov::{LinearOperator, dot};
use sinew_math::parallel::{Splittable, for_each_block_mut};
use sinew_math::sparse::SlicedBlocks;
use sinew_math::{Mat3, Vec3};

use super::contact_operator::ContactOperator;

/// Rows of a chunk, the unit of work of a thread.
const ROWS: usize = 256;

/// Some rows, in ascending order.
#[derive(Default)]
struct Chunk {
    rows: Vec<u32>,
    free: Vec<[bool; 3]>,
    /// One past the last block of each row.
    ends: Vec<u32>,
    columns: Vec<u32>,
    blocks: Vec<Mat3<f32>>,
}

/// The assembled couplings.
#[derive(Default)]
pub(super) struct CoupledRows {
    /// Chunks in use, and after them those that keep their memory.
    chunks: Vec<Chunk>,
    used: usize,
}

impl CoupledRows {
    /// Assembles the couplings of contacts.
    pub fn fill(&mut self, contacts: &ContactOperator) {
        let count = contacts.row_count();
        self.used = count.div_ceil(ROWS);
        if self.chunks.len() < self.used {
            self.chunks.resize_with(self.used, Chunk::default);
        }
        for_each_block_mut(&mut self.chunks[..self.used], 1, |first, chunks| {
            for (k, chunk) in chunks.iter_mut().enumerate() {
                let start = (first + k) * ROWS;
                chunk.fill(contacts, start..(start + ROWS).min(count));
            }
        });
    }

    fn chunks(&self) -> &[Chunk] {
        &self.chunks[..self.used]
    }

    /// Blocks below the diagonal.
    pub fn lower(&self) -> impl Iterator<Item = Coupling> {
        self.chunks().iter().flat_map(|chunk| {
            chunk.rows.iter().enumerate().flat_map(|(k, &row)| {
                let range = chunk.range(k);
                let blocks = chunk.columns[range.clone()].iter().zip(&chunk.blocks[range]);
                let below = blocks.filter(move |&(&column, _)| column < row);
                below.map(move |(&column, &block)| Coupling { row, column, block })
            })
        })
    }
}

impl Chunk {
    fn range(&self, row: usize) -> std::ops::Range<usize> {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        start as usize..self.ends[row] as usize
    }

    fn fill(&mut self, contacts: &ContactOperator, rows: std::ops::Range<usize>) {
        let Self { rows: unknowns, free, ends, columns, blocks } = self;
        unknowns.clear();
        free.clear();
        ends.clear();
        columns.clear();
        blocks.clear();
        for row in rows {
            let (unknown, is_free) = contacts.row(row);
            let first = columns.len();
            contacts.for_each_coupling(row, |column, block| {
                match columns[first..].iter().position(|&known| known == column) {
                    Some(k) => blocks[first + k] += block,
                    None => {
                        columns.push(column);
                        blocks.push(block);
                    }
                }
            });
            unknowns.push(unknown);
            free.push(is_free);
            ends.push(columns.len() as u32);
        }
    }
}

/// A sliced matrix together with assembled couplings. Vectors are zero in prescribed components.
pub(super) struct CoupledSlices<'a> {
    pub matrix: &'a SlicedBlocks,
    pub couplings: &'a CoupledRows,
}

/// Chunks of rows with their part of a vector, which begins at `start`.
struct Parts<'a> {
    chunks: &'a [Chunk],
    y: &'a mut [Vec3<f32>],
    start: usize,
}

impl Splittable for Parts<'_> {
    fn length(&self) -> usize {
        self.chunks.len()
    }

    fn split(self, at: usize) -> (Self, Self) {
        let (before, after) = self.chunks.split_at(at);
        let middle =
            after.first().and_then(|chunk| chunk.rows.first()).map_or(self.y.len(), |&row| row as usize - self.start);
        let (head, tail) = self.y.split_at_mut(middle);
        let start = self.start + middle;
        (Self { chunks: before, y: head, start: self.start }, Self { chunks: after, y: tail, start })
    }
}

impl LinearOperator<f32> for CoupledSlices<'_> {
    fn node_count(&self) -> usize {
        self.matrix.node_count()
    }

    fn apply(&self, x: &[Vec3<f32>], y: &mut [Vec3<f32>]) {
        self.matrix.multiply(x, y);
        for_each_block_mut(Parts { chunks: self.couplings.chunks(), y, start: 0 }, 1, |_, part| {
            for chunk in part.chunks {
                for (k, &row) in chunk.rows.iter().enumerate() {
                    let range = chunk.range(k);
                    let columns = chunk.columns[range.clone()].iter().zip(&chunk.blocks[range]);
                    let mut sum = columns.fold(Vec3::zero(), |sum, (&column, block)| sum + *block * x[column as usize]);
                    for axis in (0..3).filter(|&axis| !chunk.free[k][axis]) {
                        sum[axis] = 0.0;
                    }
                    part.y[row as usize - part.start] += sum;
                }
            }
        });
    }

    fn apply_dot(&self, x: &[Vec3<f32>], y: &mut [Vec3<f32>]) -> f64 {
        if self.couplings.used == 0 {
            return self.matrix.multiply(x, y);
        }
        self.apply(x, y);
        dot(x, y)
    }
}
