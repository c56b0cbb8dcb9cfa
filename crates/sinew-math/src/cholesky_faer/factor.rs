//! The scalar core: a permuted lower triangle in, a factor out. The only file that calls faer.

use std::sync::Arc;

use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::linalg::cholesky::llt::factor::LltError;
use faer::perm::PermRef;
use faer::sparse::linalg::cholesky::{self as sparse_cholesky, LltRef, SymmetricOrdering};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMat};
use faer::{Conj, MatMut, Par, Side};

use crate::Real;
use crate::cholesky_faer::{CholeskyError, FactorReal};
use crate::ordering::Permutation;

/// Structure of a lower triangle and of its factor.
#[derive(Debug)]
pub(super) struct Symbolic {
    matrix: SymbolicSparseColMat<u32>,
    factor: sparse_cholesky::SymbolicCholesky<u32>,
    permutation: Permutation,
}

impl Symbolic {
    /// Analyzes a lower triangle given by columns with ascending rows.
    pub(super) fn new(
        size: usize,
        column_offsets: Vec<u32>,
        rows: Vec<u32>,
        permutation: Permutation,
    ) -> Result<Self, CholeskyError> {
        if i32::try_from(size).is_err() || i32::try_from(rows.len()).is_err() {
            return Err(CholeskyError::TooLarge { size });
        }
        let matrix = SymbolicSparseColMat::new_checked(size, size, column_offsets, None, rows);
        let ordering = PermRef::new_checked(permutation.old_from_new(), permutation.new_from_old(), size);
        let factor = sparse_cholesky::factorize_symbolic_cholesky(
            matrix.as_ref(),
            Side::Lower,
            SymmetricOrdering::Custom(ordering),
            Default::default(),
        )
        .map_err(|_| CholeskyError::TooLarge { size })?;
        Ok(Self { matrix, factor, permutation })
    }

    fn size(&self) -> usize {
        self.matrix.nrows()
    }

    pub(super) fn factor_entry_count(&self) -> usize {
        self.factor.len_val()
    }
}

/// A numeric factor with all its working memory.
pub(super) struct Factor<S: FactorReal> {
    symbolic: Arc<Symbolic>,
    /// Values of the lower triangle.
    matrix: Vec<S>,
    /// Values of the factor, laid out by faer.
    values: Vec<S>,
    right_hand_sides: Vec<S>,
    memory: MemBuffer,
    /// Number of right-hand sides that fit `memory`.
    column_capacity: usize,
    is_factored: bool,
}

impl<S: FactorReal> std::fmt::Debug for Factor<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Factor")
            .field("size", &self.symbolic.size())
            .field("entries", &self.values.len())
            .field("is_factored", &self.is_factored)
            .finish_non_exhaustive()
    }
}

/// A vector of zeros, or an error when memory does not suffice.
fn zeros<S: Real>(length: usize, size: usize) -> Result<Vec<S>, CholeskyError> {
    let mut vector = Vec::new();
    vector.try_reserve_exact(length).map_err(|_| CholeskyError::TooLarge { size })?;
    vector.resize(length, S::zero());
    Ok(vector)
}

impl<S: FactorReal> Factor<S> {
    pub(super) fn prepare(symbolic: Arc<Symbolic>) -> Result<Self, CholeskyError> {
        let size = symbolic.size();
        let matrix = zeros(symbolic.matrix.row_idx().len(), size)?;
        let values = zeros(symbolic.factor.len_val(), size)?;
        let right_hand_sides = zeros(size, size)?;
        let memory =
            MemBuffer::try_new(required_memory::<S>(&symbolic, 1)).map_err(|_| CholeskyError::TooLarge { size })?;
        Ok(Self { symbolic, matrix, values, right_hand_sides, memory, column_capacity: 1, is_factored: false })
    }

    pub(super) fn is_factored(&self) -> bool {
        self.is_factored
    }

    /// `fill` writes the values of the lower triangle and returns the first column with a nonfinite entry.
    pub(super) fn refactor(&mut self, fill: impl FnOnce(&mut [S]) -> Option<usize>) -> Result<(), CholeskyError> {
        self.is_factored = false;
        if let Some(index) = fill(&mut self.matrix) {
            return Err(CholeskyError::NotFinite { index });
        }
        if self.symbolic.size() == 0 {
            self.is_factored = true;
            return Ok(());
        }
        let matrix = SparseColMatRef::new(self.symbolic.matrix.as_ref(), &self.matrix[..]);
        // No regularization by default: bad pivots are reported, not clamped.
        let result = self.symbolic.factor.factorize_numeric_llt(
            &mut self.values,
            matrix,
            Side::Lower,
            Default::default(),
            Par::Seq,
            MemStack::new(&mut self.memory),
            Default::default(),
        );
        match result {
            Ok(_) => {
                self.is_factored = true;
                Ok(())
            }
            Err(LltError::NonPositivePivot { index }) => {
                let index = self.symbolic.permutation.old_from_new().get(index).map_or(index, |&old| old as usize);
                Err(CholeskyError::NotPositiveDefinite { index })
            }
        }
    }

    /// Storage for `count` right-hand sides, one after another; fill it before [`Self::solve_right_hand_sides`].
    pub(super) fn right_hand_sides(&mut self, count: usize) -> Result<&mut [S], CholeskyError> {
        if !self.is_factored {
            return Err(CholeskyError::NotFactored);
        }
        let size = self.symbolic.size();
        if count > self.column_capacity {
            self.right_hand_sides = zeros(count * size, size)?;
            self.memory = MemBuffer::try_new(required_memory::<S>(&self.symbolic, count))
                .map_err(|_| CholeskyError::TooLarge { size })?;
            self.column_capacity = count;
        }
        Ok(&mut self.right_hand_sides[..count * size])
    }

    /// Solves for the stored right-hand sides and returns the solutions in the same storage.
    pub(super) fn solve_right_hand_sides(&mut self, count: usize) -> Result<&[S], CholeskyError> {
        if !self.is_factored || count > self.column_capacity {
            return Err(CholeskyError::NotFactored);
        }
        let size = self.symbolic.size();
        let columns = &mut self.right_hand_sides[..count * size];
        if size > 0 && count > 0 {
            LltRef::new(&self.symbolic.factor, &self.values).solve_in_place_with_conj(
                Conj::No,
                MatMut::from_column_major_slice_mut(columns, size, count),
                Par::Seq,
                MemStack::new(&mut self.memory),
            );
        }
        Ok(columns)
    }
}

/// Memory for a factorization, or for a solve with `column_count` right-hand sides.
fn required_memory<S: FactorReal>(symbolic: &Symbolic, column_count: usize) -> StackReq {
    StackReq::or(
        symbolic.factor.factorize_numeric_llt_scratch::<S>(Par::Seq, Default::default()),
        symbolic.factor.solve_in_place_scratch::<S>(column_count, Par::Seq),
    )
}
