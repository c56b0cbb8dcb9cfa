//! Blocks of the tangent between unknowns that no cell connects: contacts come and go, and the pattern of the matrix stays.
//!
//! H = A + B with A in its fixed pattern (the diagonal blocks of contacts included) and B the blocks outside, which are few. Products add B by rows; a
//! factor takes the pattern of both together.

use std::sync::Arc;

use sinew_math::cholesky::{Cholesky, SymbolicCholesky};
use sinew_math::krylov::LinearOperator;
use sinew_math::sparse::{BlockCsr, BlockPattern};
use sinew_math::{Mat3, Real, Vec3};

use super::system::SolveFailure;
use crate::kinematics::Kinematics;

/// The blocks outside the pattern, both triangles, by rows.
#[derive(Default)]
pub(crate) struct Couplings {
    /// Rows that have blocks.
    rows: Vec<u32>,
    /// First block of each of these rows, and one past the last.
    offsets: Vec<u32>,
    columns: Vec<u32>,
    blocks: Vec<Mat3>,
    narrow: Vec<Mat3<f32>>,
    /// All blocks, before those of one place are added up.
    entries: Vec<(u32, u32, Mat3)>,
}

impl Couplings {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Takes the blocks below the diagonal, in any order, several per place allowed. Prescribed components are left out.
    pub fn fill(&mut self, lower: &[(u32, u32, Mat3)], kinematics: &Kinematics) {
        self.entries.clear();
        for &(row, column, mut block) in lower {
            let (rows, columns) = (kinematics.fixed(row as usize), kinematics.fixed(column as usize));
            for i in 0..3 {
                for j in 0..3 {
                    if rows[i] || columns[j] {
                        block.rows[i][j] = 0.0;
                    }
                }
            }
            self.entries.push((row, column, block));
            self.entries.push((column, row, block.transpose()));
        }
        // Stable, so that blocks of one place are added in the order they came.
        self.entries.sort_by_key(|&(row, column, _)| (row, column));
        self.rows.clear();
        self.offsets.clear();
        self.columns.clear();
        self.blocks.clear();
        let mut last = None;
        for &(row, column, block) in &self.entries {
            if last == Some((row, column)) {
                *self.blocks.last_mut().expect("one block per column") += block;
                continue;
            }
            if self.rows.last() != Some(&row) {
                self.rows.push(row);
                self.offsets.push(self.columns.len() as u32);
            }
            self.columns.push(column);
            self.blocks.push(block);
            last = Some((row, column));
        }
        self.offsets.push(self.columns.len() as u32);
        self.narrow.clear();
        self.narrow.extend(self.blocks.iter().map(|block| Mat3::from_f64(*block)));
    }

    /// Blocks (row, column, value) below the diagonal.
    fn lower(&self) -> impl Iterator<Item = (usize, usize, &Mat3)> {
        let rows = self.rows.iter().enumerate();
        rows.flat_map(move |(k, &row)| {
            let range = self.offsets[k] as usize..self.offsets[k + 1] as usize;
            range.map(move |slot| (row as usize, self.columns[slot] as usize, &self.blocks[slot]))
        })
        .filter(|(row, column, _)| column < row)
    }

    /// y += B x.
    fn add_product<S: Real>(&self, blocks: &[Mat3<S>], x: &[Vec3<S>], y: &mut [Vec3<S>]) {
        for (k, &row) in self.rows.iter().enumerate() {
            let mut sum = Vec3::zero();
            for slot in self.offsets[k] as usize..self.offsets[k + 1] as usize {
                sum += blocks[slot] * x[self.columns[slot] as usize];
            }
            y[row as usize] += sum;
        }
    }

    /// y += B x in f64.
    pub fn add_wide_product(&self, x: &[Vec3], y: &mut [Vec3]) {
        self.add_product(&self.blocks, x, y);
    }
}

/// A matrix together with the couplings outside of its pattern.
pub(super) struct Coupled<'a, O> {
    pub matrix: &'a O,
    pub couplings: &'a Couplings,
}

impl<O: LinearOperator<f32>> LinearOperator<f32> for Coupled<'_, O> {
    fn node_count(&self) -> usize {
        self.matrix.node_count()
    }

    fn apply(&self, x: &[Vec3<f32>], y: &mut [Vec3<f32>]) {
        self.matrix.apply(x, y);
        self.couplings.add_product(&self.couplings.narrow, x, y);
    }

    fn apply_dot(&self, x: &[Vec3<f32>], y: &mut [Vec3<f32>]) -> f64 {
        if self.couplings.is_empty() {
            return self.matrix.apply_dot(x, y);
        }
        self.apply(x, y);
        sinew_math::krylov::dot(x, y)
    }
}

/// The same in f64.
pub(super) struct WideCoupled<'a> {
    pub matrix: &'a BlockCsr<f64>,
    pub couplings: &'a Couplings,
}

impl LinearOperator<f64> for WideCoupled<'_> {
    fn node_count(&self) -> usize {
        self.matrix.node_count()
    }

    fn apply(&self, x: &[Vec3], y: &mut [Vec3]) {
        self.matrix.multiply(x, y);
        self.couplings.add_wide_product(x, y);
    }
}

/// A factor of matrices whose pattern changes with the contacts.
#[derive(Default)]
pub(super) struct CoupledFactor {
    /// Places of the couplings the factor was laid out for.
    places: Vec<(u32, u32)>,
    layout: Option<Box<(BlockCsr<f64>, Cholesky<f64>)>>,
    wanted: Vec<(u32, u32)>,
}

impl CoupledFactor {
    /// Solves (A + B) out = rhs, A being `matrix` with both triangles.
    pub fn solve(
        &mut self,
        matrix: &BlockCsr<f64>,
        couplings: &Couplings,
        rhs: &[Vec3],
        out: &mut [Vec3],
    ) -> Result<(), SolveFailure> {
        self.wanted.clear();
        self.wanted.extend(couplings.lower().map(|(row, column, _)| (row as u32, column as u32)));
        if self.layout.is_none() || self.places != self.wanted {
            self.lay_out(matrix.pattern())?;
        }
        let (both, factor) = &mut **self.layout.as_mut().expect("laid out above");
        both.set_zero();
        let (from, to) = (matrix.pattern(), both.pattern().clone());
        let values = both.values_mut();
        for row in 0..from.node_count() {
            // Columns of both rows ascend, and those of the first are among those of the second.
            let mut place = to.row(row).start;
            for slot in from.row(row) {
                while to.columns()[place] != from.columns()[slot] {
                    place += 1;
                }
                values[place] = matrix.values()[slot];
            }
        }
        for (row, column, block) in couplings.lower() {
            let slot = to.slot(row, column).expect("laid out for these couplings");
            values[slot] = *block;
            values[to.mirrored_slots()[slot] as usize] = block.transpose();
        }
        factor.refactor(both).map_err(SolveFailure::Factor)?;
        out.copy_from_slice(rhs);
        factor.solve_in_place(out).map_err(SolveFailure::Factor)
    }

    fn lay_out(&mut self, pattern: &BlockPattern) -> Result<(), SolveFailure> {
        let mut pairs: Vec<[u32; 2]> = Vec::with_capacity(pattern.block_count() / 2 + self.wanted.len());
        for row in 0..pattern.node_count() {
            for slot in pattern.row(row).start..pattern.diagonal_slot(row) {
                pairs.push([row as u32, pattern.columns()[slot]]);
            }
        }
        pairs.extend(self.wanted.iter().map(|&(row, column)| [row, column]));
        let both = BlockPattern::from_elements(pattern.node_count(), &pairs).expect("nodes of the pattern");
        let both = Arc::new(both);
        let factor = SymbolicCholesky::new(&both).and_then(|symbolic| symbolic.prepare());
        self.layout = Some(Box::new((BlockCsr::zeros(both), factor.map_err(SolveFailure::Factor)?)));
        self.places.clone_from(&self.wanted);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chain of three nodes and a coupling between its ends, against the dense solution.
    #[test]
    fn products_and_factors_see_the_couplings() {
        let mut kinematics = Kinematics::default();
        for _ in 0..3 {
            kinematics.add_free_point();
        }
        let pattern = Arc::new(BlockPattern::from_elements(3, [[0u32, 1], [1, 2]]).unwrap());
        let mut matrix = BlockCsr::<f64>::zeros(pattern);
        for node in 0..3 {
            matrix.add_diagonal(node, &(Mat3::identity() * 5.0));
        }
        matrix.add_block(1, 0, &(Mat3::identity() * -1.0)).unwrap();
        matrix.add_block(2, 1, &(Mat3::identity() * -1.0)).unwrap();
        matrix.mirror_lower();
        let half = Mat3::outer(Vec3::new(1.0, 0.5, 0.0), Vec3::new(0.2, 0.0, -1.0));
        let mut couplings = Couplings::default();
        couplings.fill(&[(2, 0, half), (2, 0, half)], &kinematics);
        let rhs = [Vec3::new(1.0, 2.0, 3.0), Vec3::new(0.0, -1.0, 0.5), Vec3::new(2.0, 0.0, 1.0)];
        let mut solution = [Vec3::zero(); 3];
        let mut factor = CoupledFactor::default();
        for _ in 0..2 {
            factor.solve(&matrix, &couplings, &rhs, &mut solution).unwrap();
            let mut product = [Vec3::zero(); 3];
            WideCoupled { matrix: &matrix, couplings: &couplings }.apply(&solution, &mut product);
            assert!((0..3).all(|i| (product[i] - rhs[i]).norm() < 1e-12), "{product:?}");
        }
        couplings.fill(&[], &kinematics);
        factor.solve(&matrix, &couplings, &rhs, &mut solution).unwrap();
        let mut product = [Vec3::zero(); 3];
        matrix.multiply(&solution, &mut product);
        assert!((0..3).all(|i| (product[i] - rhs[i]).norm() < 1e-12));
    }
}
