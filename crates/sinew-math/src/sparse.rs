//! Sparse symmetric matrices of 3×3 blocks: one block for each pair of nodes that share an element.
//!
//! The pattern ([`BlockPattern`]) is computed once per mesh and shared; values change with each Newton iterate. Both
//! triangles are stored, so a product needs no scattered writes: row i of y = A x is owned by one thread and summed in
//! column order, and the result has the same bits for any number of threads.
//!
//! ```
//! use std::sync::Arc;
//! use sinew_math::sparse::{BlockCsr, BlockPattern};
//! use sinew_math::{Mat3, Vec3};
//!
//! let springs = [[0u32, 1], [1, 2]];
//! let pattern = Arc::new(BlockPattern::from_elements(3, &springs)?);
//! let plan = pattern.scatter_plan(&springs)?;
//! let mut stiffness = BlockCsr::<f64>::zeros(pattern);
//! let k = Mat3::identity() * 10.0;
//! stiffness.assemble(&plan, |elements, writer| {
//!     for element in elements {
//!         writer.add_all(element, &[k, -k, -k, k]);
//!     }
//! });
//! let mut force = [Vec3::zero(); 3];
//! stiffness.multiply(&[Vec3::zero(), Vec3::unit(0), Vec3::zero()], &mut force);
//! assert_eq!(force.map(|f| f.x), [-10.0, 20.0, -10.0]);
//! # Ok::<(), sinew_math::sparse::SparseError>(())
//! ```

use std::ops::Range;
use std::sync::Arc;

use crate::krylov::LinearOperator;
use crate::parallel::{ChunkWriter, PlanError, ScatterPlan, for_each_block_mut};
use crate::{Mat3, Real, Vec3};

mod pack;
mod pattern;
mod product;
#[cfg(target_arch = "x86_64")]
mod shuffle;
mod sliced;

pub use pack::PackReal;
pub use pattern::BlockPattern;
pub use sliced::SlicedBlocks;

/// Why a pattern or a matrix cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SparseError {
    /// An element names a node that does not exist, or there are too many entries.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A block outside the pattern.
    #[error("block ({row}, {column}) is not in the pattern of {node_count} nodes")]
    NotInPattern {
        /// Row node.
        row: usize,
        /// Column node.
        column: usize,
        /// Number of nodes of the pattern.
        node_count: usize,
    },
}

/// Rows per parallel block of copies and similar loops: long enough to hide the handover to a thread.
const VALUE_BLOCK: usize = 8192;

/// A square matrix of 3×3 blocks in compressed rows, with a shared symmetric pattern.
#[derive(Clone, Debug)]
pub struct BlockCsr<S: Real = f64> {
    pattern: Arc<BlockPattern>,
    values: Vec<Mat3<S>>,
}

impl<S: Real> BlockCsr<S> {
    /// The zero matrix.
    pub fn zeros(pattern: Arc<BlockPattern>) -> Self {
        let values = vec![Mat3::zero(); pattern.block_count()];
        Self { pattern, values }
    }

    /// The pattern.
    pub fn pattern(&self) -> &Arc<BlockPattern> {
        &self.pattern
    }

    /// Number of block rows.
    pub fn node_count(&self) -> usize {
        self.pattern.node_count()
    }

    /// All blocks, row by row, columns ascending; see [`BlockPattern::row`].
    pub fn values(&self) -> &[Mat3<S>] {
        &self.values
    }

    /// All blocks, mutable.
    pub fn values_mut(&mut self) -> &mut [Mat3<S>] {
        &mut self.values
    }

    /// Sets every block to zero.
    pub fn set_zero(&mut self) {
        for_each_block_mut(&mut self.values[..], VALUE_BLOCK, |_, block| block.fill(Mat3::zero()));
    }

    /// Overwrites the values with those of a matrix of the same pattern, rounding between precisions.
    ///
    /// # Panics
    /// When the patterns have different numbers of blocks.
    pub fn copy_from<T: Real>(&mut self, other: &BlockCsr<T>) {
        assert_eq!(self.values.len(), other.values.len(), "both matrices must have the same pattern");
        for_each_block_mut((&mut self.values[..], &other.values[..]), VALUE_BLOCK, |_, (to, from)| {
            for (to, from) in to.iter_mut().zip(from) {
                *to = from.map(|entry| S::from_f64(entry.to_f64()));
            }
        });
    }

    /// `self += factor · other` for a matrix of the same pattern.
    ///
    /// # Panics
    /// When the patterns have different numbers of blocks.
    pub fn add_scaled(&mut self, other: &Self, factor: S) {
        assert_eq!(self.values.len(), other.values.len(), "both matrices must have the same pattern");
        for_each_block_mut((&mut self.values[..], &other.values[..]), VALUE_BLOCK, |_, (to, from)| {
            for (to, from) in to.iter_mut().zip(from) {
                *to += *from * factor;
            }
        });
    }

    /// Multiplies every entry by `factor`.
    pub fn scale(&mut self, factor: S) {
        for_each_block_mut(&mut self.values[..], VALUE_BLOCK, |_, block| {
            block.iter_mut().for_each(|value| *value *= factor);
        });
    }

    /// Adds to one block.
    ///
    /// # Errors
    /// [`SparseError::NotInPattern`] when the two nodes share no element.
    pub fn add_block(&mut self, row: usize, column: usize, block: &Mat3<S>) -> Result<(), SparseError> {
        let slot = self.pattern.slot(row, column).ok_or(SparseError::NotInPattern {
            row,
            column,
            node_count: self.node_count(),
        })?;
        self.values[slot] += *block;
        Ok(())
    }

    /// Adds to the diagonal block of `node`.
    ///
    /// # Panics
    /// When there is no such node.
    pub fn add_diagonal(&mut self, node: usize, block: &Mat3<S>) {
        let slot = self.pattern.diagonal_slot(node);
        self.values[slot] += *block;
    }

    /// The block of two nodes, if it is in the pattern.
    pub fn block(&self, row: usize, column: usize) -> Option<&Mat3<S>> {
        self.pattern.slot(row, column).map(|slot| &self.values[slot])
    }

    /// The diagonal block of `node`.
    ///
    /// # Panics
    /// When there is no such node.
    pub fn diagonal_block(&self, node: usize) -> &Mat3<S> {
        &self.values[self.pattern.diagonal_slot(node)]
    }

    /// The diagonal blocks of all nodes.
    pub fn diagonal_blocks(&self) -> impl ExactSizeIterator<Item = &Mat3<S>> {
        (0..self.node_count()).map(|node| self.diagonal_block(node))
    }

    /// Adds element blocks, in parallel and in a fixed order.
    ///
    /// `work(elements, writer)` computes the elements of a chunk and adds the n × n blocks of each, row by row, with
    /// [`ChunkWriter::add_all`]. `plan` comes from [`BlockPattern::scatter_plan`].
    ///
    /// # Panics
    /// When the plan belongs to another pattern.
    pub fn assemble(&mut self, plan: &ScatterPlan, work: impl Fn(Range<usize>, &mut ChunkWriter<'_, Mat3<S>>) + Sync) {
        plan.for_each_chunk(&mut self.values, work);
    }

    /// y = A x.
    ///
    /// # Panics
    /// When the vectors do not have one entry per node.
    pub fn multiply(&self, x: &[Vec3<S>], y: &mut [Vec3<S>]) {
        product::multiply(&self.pattern, &self.values, x, y);
    }

    /// Fills the blocks above the diagonal with the transposes of those below.
    pub fn mirror_lower(&mut self) {
        let Self { pattern, values } = self;
        for row in 0..pattern.node_count() {
            for slot in pattern.row(row).start..pattern.diagonal_slot(row) {
                values[pattern.mirrored_slots()[slot] as usize] = values[slot].transpose();
            }
        }
    }

    /// y = A x from the blocks on and below the diagonal, ignoring those above; serial.
    ///
    /// # Panics
    /// When the vectors do not have one entry per node.
    pub fn multiply_lower(&self, x: &[Vec3], y: &mut [Vec3]) {
        assert_eq!((x.len(), y.len()), (self.node_count(), self.node_count()), "one entry per node");
        y.fill(Vec3::zero());
        for row in 0..self.node_count() {
            for slot in self.pattern.row(row).start..=self.pattern.diagonal_slot(row) {
                let column = self.pattern.columns()[slot] as usize;
                let block = self.values[slot].to_f64();
                y[row] += block * x[column];
                if column != row {
                    y[column] += block.transpose() * x[row];
                }
            }
        }
    }

    /// Largest |A − Aᵀ| over all entries: how far the matrix is from symmetric.
    pub fn asymmetry(&self) -> f64 {
        let mut worst = 0.0f64;
        for row in 0..self.node_count() {
            for slot in self.pattern.row(row) {
                let column = self.pattern.columns()[slot] as usize;
                let mirrored = self.block(column, row).map_or_else(Mat3::zero, Mat3::transpose);
                for i in 0..3 {
                    for j in 0..3 {
                        worst = worst.max((self.values[slot].rows[i][j] - mirrored.rows[i][j]).abs().to_f64());
                    }
                }
            }
        }
        worst
    }

    /// All entries of the 3n × 3n matrix, row by row. For tests and small systems: memory grows with n².
    pub fn to_dense(&self) -> Vec<f64> {
        let size = 3 * self.node_count();
        let mut dense = vec![0.0; size * size];
        for row in 0..self.node_count() {
            for slot in self.pattern.row(row) {
                let column = self.pattern.columns()[slot] as usize;
                for i in 0..3 {
                    for j in 0..3 {
                        dense[(3 * row + i) * size + 3 * column + j] = self.values[slot].rows[i][j].to_f64();
                    }
                }
            }
        }
        dense
    }
}

impl<S: Real> LinearOperator<S> for BlockCsr<S> {
    fn node_count(&self) -> usize {
        BlockCsr::node_count(self)
    }

    fn apply(&self, x: &[Vec3<S>], y: &mut [Vec3<S>]) {
        self.multiply(x, y);
    }
}

#[cfg(test)]
pub(crate) mod tests;
