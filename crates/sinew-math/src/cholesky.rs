//! Sparse Cholesky factors A = L Lᵀ of block matrices.
//!
//! The elimination order is our own [nested dissection](crate::ordering) of the nodes. The factorization is multifrontal
//! \[Liu92\]: columns of equal structure are dense fronts, and dense kernels on lanes do the work. The symbolic part
//! depends only on the pattern and is shared; numeric factors are recomputed in place. A nonpositive pivot is an error
//! and is never corrected: it shows that the matrix is not positive definite, and Newton's method reacts to that.
//!
//! Factorizations share independent subtrees among the threads of the pool; solves run on the calling thread. The bits
//! are the same for any number of threads and at every instruction-set level.

use std::sync::Arc;

use crate::krylov::Preconditioner;
use crate::ordering::{OrderingError, Permutation, nested_dissection};
use crate::sparse::{BlockCsr, BlockPattern};
use crate::{Mat3, Real, Vec3};

mod dense;
mod extend;
mod factor;
mod layout;
mod solve;
mod strips;
mod supernodes;
mod symbolic;
mod symmetric;

use factor::Factor;
use symbolic::Symbolic;
pub use symmetric::{SymmetricCholesky, SymmetricMatrix};

/// A number type for factors: `f32` or `f64`.
pub trait FactorReal: strips::StripReal {}

impl FactorReal for f32 {}
impl FactorReal for f64 {}

/// Why a factorization or a solve failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CholeskyError {
    /// A pivot was zero or negative: the matrix is not (numerically) positive definite.
    #[error("the matrix is not positive definite: unknown {index} has a pivot that is not positive")]
    NotPositiveDefinite {
        /// The unknown, in the numbering of the matrix: 3 · node + axis for block matrices.
        index: usize,
    },
    /// The matrix contains an infinite or undefined number.
    #[error("column {index} of the matrix contains an infinite or undefined number")]
    NotFinite {
        /// The column, in the numbering of the matrix: 3 · node + axis for block matrices.
        index: usize,
    },
    /// The pattern of the matrix differs from that of the symbolic factor.
    #[error("the matrix does not have the pattern that was analyzed")]
    PatternMismatch,
    /// A right-hand side of the wrong length.
    #[error("the factor has {expected} rows, the right-hand side {actual}")]
    LengthMismatch {
        /// Rows of the factor.
        expected: usize,
        /// Rows of the right-hand side.
        actual: usize,
    },
    /// A solve after a failed factorization.
    #[error("there is no valid factor: the last factorization failed")]
    NotFactored,
    /// A permutation or list of entries that does not match the matrix.
    #[error(transparent)]
    Ordering(#[from] OrderingError),
    /// The factor does not fit into memory or exceeds 32-bit indices.
    #[error("the factor of a matrix with {size} rows does not fit into memory")]
    TooLarge {
        /// Rows of the matrix.
        size: usize,
    },
}

/// Elimination order and structure of the factor of a block pattern. Computed once and shared; cloning is cheap.
#[derive(Clone, Debug)]
pub struct SymbolicCholesky {
    pattern: Arc<BlockPattern>,
    symbolic: Arc<Symbolic>,
}

impl SymbolicCholesky {
    /// Analyzes a pattern, ordered by nested dissection.
    ///
    /// # Errors
    /// [`CholeskyError::TooLarge`] when the factor would not fit.
    pub fn new(pattern: &Arc<BlockPattern>) -> Result<Self, CholeskyError> {
        let order = nested_dissection(&pattern.graph()?);
        Self::with_permutation(pattern, &order)
    }

    /// Analyzes a pattern with a given order of the nodes.
    ///
    /// # Errors
    /// [`CholeskyError::LengthMismatch`] when the length of the permutation is not the number of nodes;
    /// [`CholeskyError::TooLarge`].
    pub fn with_permutation(pattern: &Arc<BlockPattern>, order: &Permutation) -> Result<Self, CholeskyError> {
        let node_count = pattern.node_count();
        if order.len() != node_count {
            return Err(CholeskyError::LengthMismatch { expected: node_count, actual: order.len() });
        }
        if i32::try_from(3 * node_count).is_err() {
            return Err(CholeskyError::TooLarge { size: 3 * node_count });
        }
        let stored = (0..node_count).flat_map(|node| {
            let slots = pattern.diagonal_slot(node)..pattern.row(node).end;
            slots.map(move |slot| (node, pattern.columns()[slot] as usize, slot))
        });
        let symbolic = Symbolic::new(&pattern.graph()?, order, 3, stored)?;
        Ok(Self { pattern: pattern.clone(), symbolic: Arc::new(symbolic) })
    }

    /// Number of nodes.
    pub fn node_count(&self) -> usize {
        self.pattern.node_count()
    }

    /// Number of stored entries of the factor, including the zeros of merged supernodes.
    pub fn factor_entry_count(&self) -> usize {
        self.symbolic.factor_entry_count()
    }

    /// Allocates a factor for [`Cholesky::refactor`] to fill.
    ///
    /// # Errors
    /// [`CholeskyError::TooLarge`] when memory does not suffice.
    pub fn prepare<S: FactorReal>(&self) -> Result<Cholesky<S>, CholeskyError> {
        Ok(Cholesky { pattern: self.pattern.clone(), factor: Factor::prepare(self.symbolic.clone())? })
    }

    /// Factors a matrix of this pattern.
    ///
    /// # Errors
    /// [`CholeskyError::NotPositiveDefinite`], [`CholeskyError::NotFinite`], [`CholeskyError::PatternMismatch`] or
    /// [`CholeskyError::TooLarge`].
    pub fn factor<S: FactorReal>(&self, matrix: &BlockCsr<S>) -> Result<Cholesky<S>, CholeskyError> {
        let mut cholesky = self.prepare()?;
        cholesky.refactor(matrix)?;
        Ok(cholesky)
    }
}

/// A Cholesky factor of a block matrix.
#[derive(Debug)]
pub struct Cholesky<S: FactorReal = f64> {
    pattern: Arc<BlockPattern>,
    factor: Factor<S, 3>,
}

impl<S: FactorReal> Cholesky<S> {
    /// Replaces the factor by that of `matrix`, without allocating. Reads only the upper block triangle.
    ///
    /// # Errors
    /// As [`SymbolicCholesky::factor`]; afterward there is no valid factor until another call succeeds.
    pub fn refactor(&mut self, matrix: &BlockCsr<S>) -> Result<(), CholeskyError> {
        if !Arc::ptr_eq(matrix.pattern(), &self.pattern) && **matrix.pattern() != *self.pattern {
            return Err(CholeskyError::PatternMismatch);
        }
        self.factor.invalidate();
        if let Some(index) = first_undefined_column(matrix) {
            return Err(CholeskyError::NotFinite { index });
        }
        self.factor.refactor(|slot| matrix.values()[slot].rows)
    }

    /// Whether the last factorization succeeded.
    pub fn is_factored(&self) -> bool {
        self.factor.is_factored()
    }

    /// Solves A x = b in place: `x` holds b on entry and the solution on return. No allocation.
    ///
    /// # Errors
    /// [`CholeskyError::LengthMismatch`] or [`CholeskyError::NotFactored`]; `x` is then unchanged.
    pub fn solve_in_place(&mut self, x: &mut [Vec3<S>]) -> Result<(), CholeskyError> {
        self.solve_columns_in_place(&mut [x])
    }

    /// Solves for several right-hand sides while reading the factor only once.
    ///
    /// # Errors
    /// As [`Self::solve_in_place`].
    pub fn solve_columns_in_place<C: AsMut<[Vec3<S>]>>(&mut self, columns: &mut [C]) -> Result<(), CholeskyError> {
        let node_count = self.pattern.node_count();
        for column in columns.iter_mut() {
            let actual = column.as_mut().len();
            if actual != node_count {
                return Err(CholeskyError::LengthMismatch { expected: 3 * node_count, actual: 3 * actual });
            }
        }
        let (nodes, stored) = self.factor.right_hand_sides(columns.len())?;
        for (k, column) in columns.iter_mut().enumerate() {
            let column = column.as_mut();
            for (to, &node) in stored[k * node_count..].iter_mut().zip(nodes) {
                *to = column[node as usize].to_array();
            }
        }
        self.factor.solve(columns.len());
        let (nodes, stored) = self.factor.right_hand_sides(columns.len())?;
        for (k, column) in columns.iter_mut().enumerate() {
            let column = column.as_mut();
            for (&from, &node) in stored[k * node_count..].iter().zip(nodes) {
                column[node as usize] = from.into();
            }
        }
        Ok(())
    }
}

/// The first column of the lower triangle with a nonfinite entry. Column (j, b) is read from row (j, b) of the upper
/// triangle.
fn first_undefined_column<S: FactorReal>(matrix: &BlockCsr<S>) -> Option<usize> {
    let pattern = matrix.pattern();
    (0..pattern.node_count()).find_map(|node| {
        let diagonal = pattern.diagonal_slot(node);
        let row = &matrix.values()[diagonal..pattern.row(node).end];
        // One test per row of blocks: a sum of products with zero is zero, or undefined.
        let zero: S = row.iter().fold(S::zero(), |sum, block| sum + undefined_if_any(block));
        if zero == S::zero() {
            return None;
        }
        let is_bad = |axis: usize, (k, block): (usize, &Mat3<S>)| {
            let first = if k == 0 { axis } else { 0 };
            block.rows[axis][first..].iter().any(|&value| !Real::is_finite(value))
        };
        let axis = (0..3).find(|&axis| row.iter().enumerate().any(|entry| is_bad(axis, entry)))?;
        Some(3 * node + axis)
    })
}

/// Zero if all entries are finite.
fn undefined_if_any<S: FactorReal>(block: &Mat3<S>) -> S {
    block.rows.as_flattened().iter().fold(S::zero(), |sum, &value| sum + value * S::zero())
}

/// Exact solves as a preconditioner. After a failed factorization it is the identity (z = r), which is still positive
/// definite.
impl<S: FactorReal> Preconditioner<S> for Cholesky<S> {
    fn apply(&mut self, r: &[Vec3<S>], z: &mut [Vec3<S>]) {
        z.copy_from_slice(r);
        let solved = self.solve_in_place(z);
        debug_assert!(solved.is_ok(), "the preconditioner must be factored: {solved:?}");
    }
}

#[cfg(test)]
mod structure_tests;
#[cfg(test)]
mod tests;
