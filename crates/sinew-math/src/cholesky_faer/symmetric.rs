//! The same factorization for symmetric matrices of scalars instead of blocks: coarse grids, constraints, Laplacians.

use std::sync::Arc;

use crate::Real;
use crate::cholesky_faer::factor::{Factor, Symbolic};
use crate::cholesky_faer::{CholeskyError, FactorReal};
use crate::ordering::{Graph, OrderingError, nested_dissection};

/// A sparse symmetric matrix of scalars, stored as its lower triangle by columns.
#[derive(Clone, Debug, PartialEq)]
pub struct SymmetricMatrix<S: Real = f64> {
    column_offsets: Vec<u32>,
    rows: Vec<u32>,
    values: Vec<S>,
}

impl<S: Real> SymmetricMatrix<S> {
    /// Sums entries (row, column, value). Give each off-diagonal entry once, from either triangle; it stands for both.
    ///
    /// # Errors
    /// [`CholeskyError::Ordering`] when an index is `>= size`; [`CholeskyError::TooLarge`] beyond 32-bit indices.
    pub fn from_triplets(size: usize, triplets: &[(u32, u32, S)]) -> Result<Self, CholeskyError> {
        if i32::try_from(size).is_err() || i32::try_from(triplets.len() + size).is_err() {
            return Err(CholeskyError::TooLarge { size });
        }
        // The diagonal is always stored: a factor needs it.
        let diagonal = (0..size as u32).map(|k| (k, k, S::zero()));
        let mut entries: Vec<(u32, u32, S)> = Vec::with_capacity(triplets.len() + size);
        for (row, column, value) in diagonal.chain(triplets.iter().copied()) {
            if row.max(column) as usize >= size {
                let (vertex, neighbor) = (row.min(column) as usize, row.max(column) as usize);
                return Err(OrderingError::NeighborOutOfRange { vertex, neighbor, vertex_count: size }.into());
            }
            entries.push((row.min(column), row.max(column), value));
        }
        // A stable sort keeps repeated entries in input order, and thus the bits of their sum.
        entries.sort_by_key(|&(column, row, _)| (column, row));
        let mut matrix =
            Self { column_offsets: vec![0; size + 1], rows: Vec::with_capacity(entries.len()), values: Vec::new() };
        let mut last = None;
        for (column, row, value) in entries {
            if last == Some((column, row)) {
                if let Some(total) = matrix.values.last_mut() {
                    *total += value;
                }
            } else {
                matrix.rows.push(row);
                matrix.values.push(value);
                matrix.column_offsets[column as usize + 1] += 1;
                last = Some((column, row));
            }
        }
        for column in 0..size {
            matrix.column_offsets[column + 1] += matrix.column_offsets[column];
        }
        Ok(matrix)
    }

    /// Number of rows.
    pub fn size(&self) -> usize {
        self.column_offsets.len() - 1
    }

    /// Entries of one column of the lower triangle: rows (ascending, the diagonal first) and values.
    pub fn column(&self, column: usize) -> (&[u32], &[S]) {
        let range = self.column_offsets[column] as usize..self.column_offsets[column + 1] as usize;
        (&self.rows[range.clone()], &self.values[range])
    }

    /// y = A x, serially.
    ///
    /// # Panics
    /// When the length of a vector is not the size of the matrix.
    pub fn multiply(&self, x: &[S], y: &mut [S]) {
        assert_eq!((x.len(), y.len()), (self.size(), self.size()), "vectors must have the size of the matrix");
        y.fill(S::zero());
        for column in 0..self.size() {
            let (rows, values) = self.column(column);
            for (&row, &value) in rows.iter().zip(values) {
                y[row as usize] += value * x[column];
                if row as usize != column {
                    y[column] += value * x[row as usize];
                }
            }
        }
    }
}

/// A Cholesky factor of a [`SymmetricMatrix`].
#[derive(Debug)]
pub struct SymmetricCholesky<S: FactorReal = f64> {
    column_offsets: Vec<u32>,
    rows: Vec<u32>,
    factor: Factor<S>,
}

impl<S: FactorReal> SymmetricCholesky<S> {
    /// Orders, analyzes and factors a matrix.
    ///
    /// # Errors
    /// As [`SymbolicCholesky::factor`](crate::cholesky_faer::SymbolicCholesky::factor).
    pub fn new(matrix: &SymmetricMatrix<S>) -> Result<Self, CholeskyError> {
        let order = nested_dissection(&Graph::from_rows(&matrix.column_offsets, &matrix.rows)?);
        let (column_offsets, rows) = (matrix.column_offsets.clone(), matrix.rows.clone());
        let symbolic = Symbolic::new(matrix.size(), column_offsets.clone(), rows.clone(), order)?;
        let mut cholesky = Self { column_offsets, rows, factor: Factor::prepare(Arc::new(symbolic))? };
        cholesky.refactor(matrix)?;
        Ok(cholesky)
    }

    /// Replaces the factor by that of another matrix of the same pattern, without allocating.
    ///
    /// # Errors
    /// As [`Cholesky::refactor`](crate::cholesky_faer::Cholesky::refactor).
    pub fn refactor(&mut self, matrix: &SymmetricMatrix<S>) -> Result<(), CholeskyError> {
        if self.rows != matrix.rows || self.column_offsets != matrix.column_offsets {
            return Err(CholeskyError::PatternMismatch);
        }
        self.factor.refactor(|values| {
            values.copy_from_slice(&matrix.values);
            let bad = matrix.values.iter().position(|&value| !Real::is_finite(value))?;
            Some(matrix.column_offsets.partition_point(|&offset| offset as usize <= bad) - 1)
        })
    }

    /// Solves A x = b in place: `x` holds b on entry and the solution on return. No allocation.
    ///
    /// # Errors
    /// [`CholeskyError::LengthMismatch`] or [`CholeskyError::NotFactored`]; `x` is then unchanged.
    pub fn solve_in_place(&mut self, x: &mut [S]) -> Result<(), CholeskyError> {
        let expected = self.column_offsets.len() - 1;
        if x.len() != expected {
            return Err(CholeskyError::LengthMismatch { expected, actual: x.len() });
        }
        self.factor.right_hand_sides(1)?.copy_from_slice(x);
        x.copy_from_slice(self.factor.solve_right_hand_sides(1)?);
        Ok(())
    }
}
