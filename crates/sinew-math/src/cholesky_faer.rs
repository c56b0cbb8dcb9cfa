//! Sparse Cholesky factors A = L Lᵀ of block matrices.
//!
//! The elimination order is our own [nested dissection](crate::ordering) of the nodes. Factorization and triangular
//! solves use the supernodal kernels of faer (simplicial ones for very sparse factors). The symbolic part depends only
//! on the pattern and is shared; numeric factors are recomputed in place. A nonpositive pivot is an error and is never
//! corrected: it shows that the matrix is not positive definite, and Newton's method reacts to that.
//!
//! Everything runs on the calling thread. At our sizes the factorization gains little from more threads, and the bits
//! are the same for any number of threads by construction.

use std::sync::Arc;

use crate::krylov::Preconditioner;
use crate::ordering::{OrderingError, Permutation, nested_dissection};
use crate::sparse::{BlockCsr, BlockPattern};
use crate::{Real, Vec3};

mod factor;
mod symmetric;

use factor::{Factor, Symbolic};
pub use symmetric::{SymmetricCholesky, SymmetricMatrix};

/// A number type for factors: `f32` or `f64`.
pub trait FactorReal: Real + faer::traits::RealField {}

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
        // Lower triangle by columns. Column (j, b) holds rows (i, a) with i > j, and (j, a) with a ≥ b; see
        // `copy_lower_triangle`.
        let mut column_offsets = Vec::with_capacity(3 * node_count + 1);
        let mut rows = Vec::new();
        column_offsets.push(0u32);
        for node in 0..node_count {
            for axis in 0..3u32 {
                for slot in pattern.diagonal_slot(node)..pattern.row(node).end {
                    let other = pattern.columns()[slot];
                    let first = if other as usize == node { axis } else { 0 };
                    rows.extend((first..3).map(|a| 3 * other + a));
                }
                let end = i32::try_from(rows.len()).map_err(|_| CholeskyError::TooLarge { size: 3 * node_count })?;
                column_offsets.push(end as u32);
            }
        }
        let symbolic = Symbolic::new(3 * node_count, column_offsets, rows, order.expanded(3))?;
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
    factor: Factor<S>,
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
        self.factor.refactor(|values| copy_lower_triangle(matrix, values))
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
        let size = 3 * self.pattern.node_count();
        for column in columns.iter_mut() {
            let actual = 3 * column.as_mut().len();
            if actual != size {
                return Err(CholeskyError::LengthMismatch { expected: size, actual });
            }
        }
        let right_hand_sides = self.factor.right_hand_sides(columns.len())?;
        for (k, column) in columns.iter_mut().enumerate() {
            let flat = right_hand_sides[k * size..(k + 1) * size].as_chunks_mut::<3>().0;
            for (to, from) in flat.iter_mut().zip(column.as_mut().iter()) {
                *to = from.to_array();
            }
        }
        let solutions = self.factor.solve_right_hand_sides(columns.len())?;
        for (k, column) in columns.iter_mut().enumerate() {
            let flat = solutions[k * size..(k + 1) * size].as_chunks::<3>().0;
            for (to, from) in column.as_mut().iter_mut().zip(flat) {
                *to = (*from).into();
            }
        }
        Ok(())
    }
}

/// Writes the lower triangle by columns: A_ij for i ≥ j is read as A_jiᵀ from row j, so that memory is read once from
/// front to back.
///
/// Returns the first column with a nonfinite entry.
fn copy_lower_triangle<S: FactorReal>(matrix: &BlockCsr<S>, values: &mut [S]) -> Option<usize> {
    let pattern = matrix.pattern();
    let mut place = 0;
    let mut bad_column = None;
    for node in 0..pattern.node_count() {
        let diagonal = pattern.diagonal_slot(node);
        for axis in 0..3 {
            for slot in diagonal..pattern.row(node).end {
                let row = &matrix.values()[slot].rows[axis];
                let first = if slot == diagonal { axis } else { 0 };
                for &value in &row[first..] {
                    if !Real::is_finite(value) {
                        bad_column.get_or_insert(3 * node + axis);
                    }
                    values[place] = value;
                    place += 1;
                }
            }
        }
    }
    bad_column
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

