//! The contact operator: tangent of the contact forces, beside the matrix of everything else. Contacts come and go, and
//! the pattern of the matrix stays.
//!
//! A contact k with block Bₖ acts on the combination Σ wᵢ xᵢ of a few unknowns, so its part of the tangent is Wₖᵀ Bₖ
//! Wₖ. The matrix holds the diagonal blocks of this, which preconditioners need. Products add the rest without
//! assembling it: first over contacts, then over unknowns, both in a fixed order. Only a factorization needs the blocks
//! themselves.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use sinew_lattice::EmbeddedSprings;
use sinew_math::cholesky::{Cholesky, CholeskyError, SymbolicCholesky};
use sinew_math::krylov::LinearOperator;
use sinew_math::parallel::for_each_block_mut;
use sinew_math::sparse::{BlockCsr, BlockPattern};
use sinew_math::{Mat3, Real, Vec3};

use super::backend::SolveFailure;
use super::contact_bends::ContactBends;
use crate::contact::{Bend, ContactModel, ContactTerm};
use crate::kinematics::{Jacobian, Kinematics, Unknowns};

/// Contacts or unknowns per parallel block.
const BLOCK: usize = 2048;

/// Entry of a contact (an unknown that it acts on) or of an unknown (a contact that acts on it), with ∂(Σ wᵢ xᵢ)/∂q: a
/// multiple of the identity, or a matrix.
#[derive(Clone, Copy, Debug)]
struct Entry {
    other: u32,
    /// Index of the matrix; [`SCALAR`] where the weight suffices.
    matrix: u32,
    weight: f64,
}

/// No matrix.
const SCALAR: u32 = u32::MAX;

/// Scratch memory: sums over unknowns, and forces of contacts.
#[derive(Default)]
struct Scratch {
    forces: Vec<Vec3>,
    sums: Vec<Vec3>,
}

/// Iterates over the unknowns and weights of a contact, without rotations of rigid bodies.
#[derive(Clone)]
pub(crate) struct Unturned<'a>(std::slice::Iter<'a, Entry>);

impl Iterator for Unturned<'_> {
    type Item = (u32, f64);

    fn next(&mut self) -> Option<(u32, f64)> {
        self.0.find(|entry| entry.matrix == SCALAR).map(|entry| (entry.other, entry.weight))
    }
}

/// Contacts between the nodes of one lattice, in the form its cycles need.
#[derive(Default)]
pub(crate) struct ContactsWithin {
    pub ties: EmbeddedSprings,
    /// The smallest unknown on either side, and the contact.
    order: Vec<([u32; 2], u32)>,
    /// Nodes and weights of the group being merged.
    row: Vec<(u32, f64)>,
}

/// The tangent of all contacts over the unknowns.
#[derive(Default)]
pub(crate) struct ContactOperator {
    blocks: Vec<Mat3>,
    /// Unknowns of all contacts, contact by contact.
    entries: Vec<Entry>,
    /// Jacobians that are not multiples of the identity: rotations of rigid bodies.
    matrices: Vec<Mat3>,
    /// First entry of each contact, and one past the last.
    offsets: Vec<u32>,
    /// Unknowns that have contacts, and these contacts.
    rows: Vec<u32>,
    row_offsets: Vec<u32>,
    row_entries: Vec<Entry>,
    /// Contact block on the diagonal of each of these unknowns; the matrix already contains it.
    diagonal: Vec<Mat3>,
    /// Which components of these unknowns may move.
    free: Vec<[bool; 3]>,
    /// For each unknown of the model the next place in `row_entries`.
    places: Vec<u32>,
    scratch: Mutex<Scratch>,
    /// What these terms lack.
    bends: ContactBends,
}

impl ContactOperator {
    /// What the terms lack.
    pub fn bends(&self) -> &ContactBends {
        &self.bends
    }

    /// Whether there are no contacts.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Sets the terms of contact at the unknowns `q`, and what they lack.
    pub fn fill(
        &mut self,
        (terms, bends): (&[ContactTerm], &[Bend]),
        contact: &ContactModel,
        kinematics: &Kinematics,
        q: &Unknowns,
    ) {
        self.bends.fill(bends, contact, kinematics, q);
        self.blocks.clear();
        self.entries.clear();
        self.matrices.clear();
        self.offsets.clear();
        self.offsets.push(0);
        for term in terms {
            let first = self.entries.len();
            for (&vertex, &weight) in term.vertices.iter().zip(&term.weights).filter(|(_, w)| **w != 0.0) {
                for &(point, share) in contact.carriers(vertex as usize) {
                    self.add(kinematics, q, first, point as usize, weight * share);
                }
            }
            self.blocks.push(term.block);
            self.offsets.push(self.entries.len() as u32);
        }
        self.index_rows(kinematics);
    }

    /// Adds a point to the contact whose entries begin at `first`.
    fn add(&mut self, kinematics: &Kinematics, q: &Unknowns, first: usize, point: usize, weight: f64) {
        kinematics.for_each_jacobian(q, point, |unknown, jacobian| {
            let known = self.entries[first..].iter_mut().find(|entry| entry.other == unknown);
            match (known, jacobian) {
                (Some(entry), Jacobian::Scalar(factor)) if entry.matrix == SCALAR => entry.weight += weight * factor,
                (None, Jacobian::Scalar(factor)) => {
                    self.entries.push(Entry { other: unknown, matrix: SCALAR, weight: weight * factor });
                }
                (Some(entry), _) => self.matrices[entry.matrix as usize] += jacobian.to_matrix() * weight,
                (None, Jacobian::Matrix(jacobian)) => {
                    self.entries.push(Entry { other: unknown, matrix: self.matrices.len() as u32, weight: 0.0 });
                    self.matrices.push(jacobian * weight);
                }
            }
        });
    }

    /// ∂(Σ wᵢ xᵢ)/∂q of an entry.
    fn jacobian(&self, entry: &Entry) -> Mat3 {
        match self.matrices.get(entry.matrix as usize) {
            Some(matrix) => *matrix,
            None => Mat3::identity() * entry.weight,
        }
    }

    /// J v of an entry.
    #[inline]
    fn push(&self, entry: &Entry, v: Vec3) -> Vec3 {
        if entry.matrix == SCALAR { v * entry.weight } else { self.matrices[entry.matrix as usize] * v }
    }

    /// Jᵀ f of an entry.
    #[inline]
    fn pull(&self, entry: &Entry, f: Vec3) -> Vec3 {
        if entry.matrix == SCALAR { f * entry.weight } else { self.matrices[entry.matrix as usize].transpose() * f }
    }

    /// Sorts entries by unknown, in the order of contacts.
    fn index_rows(&mut self, kinematics: &Kinematics) {
        self.rows.clear();
        self.row_offsets.clear();
        self.diagonal.clear();
        self.free.clear();
        self.places.clear();
        self.places.resize(kinematics.unknown_count(), 0);
        for entry in &self.entries {
            self.places[entry.other as usize] += 1;
        }
        let mut total = 0;
        for (unknown, place) in self.places.iter_mut().enumerate().filter(|(_, count)| **count > 0) {
            self.rows.push(unknown as u32);
            self.row_offsets.push(total);
            self.free.push(kinematics.fixed(unknown).map(|is_fixed| !is_fixed));
            total += std::mem::replace(place, total);
        }
        self.row_offsets.push(total);
        self.row_entries.clear();
        self.row_entries.resize(total as usize, Entry { other: 0, matrix: SCALAR, weight: 0.0 });
        for contact in 0..self.blocks.len() {
            for entry in &self.entries[self.offsets[contact] as usize..self.offsets[contact + 1] as usize] {
                let place = &mut self.places[entry.other as usize];
                self.row_entries[*place as usize] = Entry { other: contact as u32, ..*entry };
                *place += 1;
            }
        }
        let mut diagonal = std::mem::take(&mut self.diagonal);
        diagonal.resize(self.rows.len(), Mat3::zero());
        for_each_block_mut(&mut diagonal[..], BLOCK, |first, block| {
            for (k, sum) in block.iter_mut().enumerate() {
                for entry in self.row_entries(first + k) {
                    let (jacobian, block) = (self.jacobian(entry), &self.blocks[entry.other as usize]);
                    *sum += match entry.matrix {
                        SCALAR => *block * (entry.weight * entry.weight),
                        _ => jacobian.transpose() * *block * jacobian,
                    };
                }
            }
        });
        self.diagonal = diagonal;
    }

    fn row_entries(&self, row: usize) -> &[Entry] {
        &self.row_entries[self.row_offsets[row] as usize..self.row_offsets[row + 1] as usize]
    }

    /// Number of unknowns that have contacts.
    pub fn row_count(&self) -> usize {
        self.rows.len()
    }

    /// One of these unknowns, and which of its components may move.
    pub fn row(&self, row: usize) -> (u32, [bool; 3]) {
        (self.rows[row], self.free[row])
    }

    /// Calls `visit` with each other unknown of each contact of a row, and with the block of this contact between them.
    pub fn for_each_coupling(&self, row: usize, mut visit: impl FnMut(u32, Mat3<f32>)) {
        for own in self.row_entries(row) {
            let contact = own.other as usize;
            let entries = &self.entries[self.offsets[contact] as usize..self.offsets[contact + 1] as usize];
            let block = match own.matrix {
                SCALAR => self.blocks[contact] * own.weight,
                _ => self.jacobian(own).transpose() * self.blocks[contact],
            };
            let narrow = Mat3::<f32>::from_f64(block);
            for entry in entries.iter().filter(|entry| entry.other != self.rows[row]) {
                visit(
                    entry.other,
                    match entry.matrix {
                        SCALAR => narrow * entry.weight as f32,
                        _ => Mat3::from_f64(block * self.jacobian(entry)),
                    },
                );
            }
        }
    }

    /// Calls `visit` with the block of each contact, and with its unknowns and weights except rotations of rigid
    /// bodies.
    pub fn for_each_contact(&self, mut visit: impl FnMut(&Mat3, Unturned<'_>)) {
        for (contact, block) in self.blocks.iter().enumerate() {
            let entries = &self.entries[self.offsets[contact] as usize..self.offsets[contact + 1] as usize];
            visit(block, Unturned(entries.iter()));
        }
    }

    /// Whether a contact acts only on nodes in a range.
    fn is_within(&self, contact: usize, unknowns: &Range<usize>) -> bool {
        let entries = &self.entries[self.offsets[contact] as usize..self.offsets[contact + 1] as usize];
        entries.iter().all(|entry| entry.matrix == SCALAR && unknowns.contains(&(entry.other as usize)))
    }

    /// Gathers the contacts that act only on nodes in a range. Contacts between the same two cells are merged at their
    /// weighted mean position, because they move nearly alike.
    pub fn gather_within(&self, unknowns: &Range<usize>, out: &mut ContactsWithin) {
        let ContactsWithin { ties, order, row } = out;
        ties.clear();
        order.clear();
        for contact in (0..self.blocks.len()).filter(|&contact| self.is_within(contact, unknowns)) {
            let mut sides = [u32::MAX; 2];
            for entry in &self.entries[self.offsets[contact] as usize..self.offsets[contact + 1] as usize] {
                let side = &mut sides[usize::from(entry.weight < 0.0)];
                *side = entry.other.min(*side);
            }
            order.push((sides, contact as u32));
        }
        order.sort_unstable();
        for group in order.chunk_by(|a, b| a.0 == b.0) {
            row.clear();
            let (mut block, mut total) = (Mat3::zero(), 0.0);
            for &(_, contact) in group {
                let contact = contact as usize;
                let stiffness = self.blocks[contact].trace();
                block += self.blocks[contact];
                total += stiffness;
                for entry in &self.entries[self.offsets[contact] as usize..self.offsets[contact + 1] as usize] {
                    let node = entry.other - unknowns.start as u32;
                    match row.iter_mut().find(|(other, _)| *other == node) {
                        Some((_, weight)) => *weight += stiffness * entry.weight,
                        None => row.push((node, stiffness * entry.weight)),
                    }
                }
            }
            if total > 0.0 {
                ties.add_block(Mat3::from_f64(block), row.iter().map(|&(node, weight)| (node, weight / total)));
            }
        }
    }

    /// Calls `visit` with unknowns in a range and their diagonal blocks, of contacts that reach outside this range; of
    /// all contacts with `takes_none`.
    pub fn for_each_outer_diagonal(
        &self,
        unknowns: &Range<usize>,
        takes_none: bool,
        mut visit: impl FnMut(usize, Mat3),
    ) {
        for contact in (0..self.blocks.len()).filter(|&contact| takes_none || !self.is_within(contact, unknowns)) {
            for entry in &self.entries[self.offsets[contact] as usize..self.offsets[contact + 1] as usize] {
                if unknowns.contains(&(entry.other as usize)) {
                    let jacobian = self.jacobian(entry);
                    visit(entry.other as usize, jacobian.transpose() * self.blocks[contact] * jacobian);
                }
            }
        }
    }

    /// Adds the diagonal blocks to a matrix.
    pub fn add_diagonal<S: Real>(&self, matrix: &mut BlockCsr<S>) {
        for (&unknown, block) in self.rows.iter().zip(&self.diagonal) {
            matrix.add_diagonal(unknown as usize, &Mat3::from_f64(*block));
        }
    }

    /// y += H x − D x, where H is the whole tangent of contact and D its diagonal blocks; with `is_filtered`,
    /// prescribed components do not change.
    fn add_product<S: Real>(&self, x: &[Vec3<S>], y: &mut [Vec3<S>], is_filtered: bool) {
        let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let Scratch { forces, sums } = &mut *scratch;
        forces.resize(self.blocks.len(), Vec3::zero());
        sums.resize(self.rows.len(), Vec3::zero());
        for_each_block_mut(&mut forces[..], BLOCK, |first, block| {
            for (k, force) in block.iter_mut().enumerate() {
                let contact = first + k;
                let entries = &self.entries[self.offsets[contact] as usize..self.offsets[contact + 1] as usize];
                let moved = entries
                    .iter()
                    .fold(Vec3::zero(), |sum, entry| sum + self.push(entry, x[entry.other as usize].to_f64()));
                *force = self.blocks[contact] * moved;
            }
        });
        for_each_block_mut(&mut sums[..], BLOCK, |first, block| {
            for (k, sum) in block.iter_mut().enumerate() {
                let row = first + k;
                let entries = &self.row_entries[self.row_offsets[row] as usize..self.row_offsets[row + 1] as usize];
                *sum =
                    entries.iter().fold(-(self.diagonal[row] * x[self.rows[row] as usize].to_f64()), |sum, entry| {
                        sum + self.pull(entry, forces[entry.other as usize])
                    });
            }
        });
        for ((&unknown, sum), free) in self.rows.iter().zip(sums).zip(&self.free) {
            for axis in (0..3).filter(|&axis| is_filtered && !free[axis]) {
                sum[axis] = 0.0;
            }
            y[unknown as usize] += Vec3::from_f64(*sum);
        }
    }

    /// y += (H − D) x, including prescribed components.
    pub fn add_unfiltered(&self, x: &[Vec3], y: &mut [Vec3]) {
        if !self.is_empty() {
            self.add_product(x, y, false);
        }
    }

    /// y += H x, including prescribed components, where H is the whole tangent of contact.
    pub fn add_whole_product(&self, x: &[Vec3], y: &mut [Vec3]) {
        self.add_unfiltered(x, y);
        for (&unknown, block) in self.rows.iter().zip(&self.diagonal) {
            y[unknown as usize] += *block * x[unknown as usize];
        }
    }

    /// All blocks below the diagonal between unknowns that can move, sorted by row and column, duplicates added up.
    fn lower_blocks(&self) -> Vec<(u32, u32, Mat3)> {
        let mut blocks = Vec::new();
        for contact in 0..self.blocks.len() {
            let entries = &self.entries[self.offsets[contact] as usize..self.offsets[contact + 1] as usize];
            for a in entries {
                for b in entries.iter().filter(|b| b.other < a.other) {
                    let block = self.jacobian(a).transpose() * self.blocks[contact] * self.jacobian(b);
                    blocks.push((a.other, b.other, block));
                }
            }
        }
        // Stable, so that duplicates are added in their original order.
        blocks.sort_by_key(|&(row, column, _)| (row, column));
        blocks.dedup_by(|next, kept| {
            let is_same = (next.0, next.1) == (kept.0, kept.1);
            if is_same {
                kept.2 += next.2;
            }
            is_same
        });
        let free = |unknown: u32| self.rows.binary_search(&unknown).map_or([true; 3], |k| self.free[k]);
        for (row, column, block) in &mut blocks {
            let (rows, columns) = (free(*row), free(*column));
            for i in 0..3 {
                for j in 0..3 {
                    if !rows[i] || !columns[j] {
                        block.rows[i][j] = 0.0;
                    }
                }
            }
        }
        blocks
    }
}

/// A matrix together with the off-diagonal tangent of contact.
pub(super) struct Coupled<'a, O> {
    pub matrix: &'a O,
    pub couplings: &'a ContactOperator,
}

impl<S: Real, O: LinearOperator<S>> LinearOperator<S> for Coupled<'_, O> {
    fn node_count(&self) -> usize {
        self.matrix.node_count()
    }

    fn apply(&self, x: &[Vec3<S>], y: &mut [Vec3<S>]) {
        self.matrix.apply(x, y);
        if !self.couplings.is_empty() {
            self.couplings.add_product(x, y, true);
        }
    }

    fn apply_dot(&self, x: &[Vec3<S>], y: &mut [Vec3<S>]) -> f64 {
        if self.couplings.is_empty() {
            return self.matrix.apply_dot(x, y);
        }
        self.apply(x, y);
        sinew_math::krylov::dot(x, y)
    }
}

/// A Cholesky factor of matrices whose pattern changes with the contacts.
#[derive(Default)]
pub(crate) struct CoupledFactor {
    /// Off-diagonal positions of the contact blocks in the current layout.
    places: Vec<(u32, u32)>,
    layout: Option<Box<(BlockCsr<f64>, Cholesky<f64>)>>,
}

impl CoupledFactor {
    /// Solves (A + B) out = rhs, where A is `matrix` with both triangles and B the off-diagonal tangent of contact.
    pub fn solve(
        &mut self,
        matrix: &BlockCsr<f64>,
        couplings: &ContactOperator,
        rhs: &[Vec3],
        out: &mut [Vec3],
    ) -> Result<(), SolveFailure> {
        self.factor(matrix, couplings)?;
        out.copy_from_slice(rhs);
        self.factored()?.solve_in_place(out).map_err(SolveFailure::Factor)
    }

    /// Returns the last factor.
    pub fn factored(&mut self) -> Result<&mut Cholesky<f64>, SolveFailure> {
        let layout = self.layout.as_mut().ok_or(SolveFailure::Factor(CholeskyError::NotFactored))?;
        Ok(&mut layout.1)
    }

    /// Factors A + B.
    pub fn factor(&mut self, matrix: &BlockCsr<f64>, couplings: &ContactOperator) -> Result<(), SolveFailure> {
        let blocks = couplings.lower_blocks();
        let outside = |&&(row, column, _): &&(u32, u32, Mat3)| matrix.block(row as usize, column as usize).is_none();
        let places: Vec<(u32, u32)> = blocks.iter().filter(outside).map(|&(row, column, _)| (row, column)).collect();
        if self.layout.is_none() || self.places != places {
            self.lay_out(matrix.pattern(), places)?;
        }
        let (both, factor) = &mut **self.layout.as_mut().expect("laid out above");
        both.set_zero();
        let (from, to) = (matrix.pattern(), both.pattern().clone());
        let values = both.values_mut();
        for row in 0..from.node_count() {
            // Columns of both rows ascend, and the second row contains all columns of the first.
            let mut place = to.row(row).start;
            for slot in from.row(row) {
                while to.columns()[place] != from.columns()[slot] {
                    place += 1;
                }
                values[place] = matrix.values()[slot];
            }
        }
        for (row, column, block) in blocks {
            let slot = to.slot(row as usize, column as usize).expect("laid out for these couplings");
            values[slot] += block;
            values[to.mirrored_slots()[slot] as usize] += block.transpose();
        }
        factor.refactor(both).map_err(SolveFailure::Factor)
    }

    fn lay_out(&mut self, pattern: &BlockPattern, places: Vec<(u32, u32)>) -> Result<(), SolveFailure> {
        let mut pairs: Vec<[u32; 2]> = Vec::with_capacity(pattern.block_count() / 2 + places.len());
        for row in 0..pattern.node_count() {
            for slot in pattern.row(row).start..pattern.diagonal_slot(row) {
                pairs.push([row as u32, pattern.columns()[slot]]);
            }
        }
        pairs.extend(places.iter().map(|&(row, column)| [row, column]));
        let both = BlockPattern::from_elements(pattern.node_count(), &pairs).expect("nodes of the pattern");
        let both = Arc::new(both);
        let factor = SymbolicCholesky::new(&both).and_then(|symbolic| symbolic.prepare());
        self.layout = Some(Box::new((BlockCsr::zeros(both), factor.map_err(SolveFailure::Factor)?)));
        self.places = places;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use sinew_math::sparse::SlicedBlocks;

    use super::super::coupled_rows::{CoupledRows, CoupledSlices};
    use super::*;

    /// A chain of three nodes with contacts between its ends and its middle, one component prescribed.
    #[test]
    fn products_and_factors_see_the_couplings() {
        let mut kinematics = Kinematics::default();
        for _ in 0..3 {
            kinematics.add_free_point();
        }
        kinematics.fix(1, [false, true, false]);
        let entry = |other, weight| Entry { other, matrix: SCALAR, weight };
        let normal = Vec3::new(0.6, 0.0, 0.8);
        let mut couplings = ContactOperator {
            blocks: vec![Mat3::outer(normal, normal) * 7.0, Mat3::identity() * 2.0],
            entries: vec![entry(0, 1.0), entry(2, -1.0), entry(2, 0.5), entry(1, -0.5)],
            offsets: vec![0, 2, 4],
            ..ContactOperator::default()
        };
        couplings.index_rows(&kinematics);
        let pattern = Arc::new(BlockPattern::from_elements(3, [[0u32, 1], [1, 2]]).unwrap());
        let mut matrix = BlockCsr::<f64>::zeros(pattern);
        for node in 0..3 {
            matrix.add_diagonal(node, &(Mat3::identity() * 5.0));
        }
        matrix.add_block(1, 0, &(Mat3::identity() * -1.0)).unwrap();
        matrix.add_block(2, 1, &(Mat3::identity() * -1.0)).unwrap();
        couplings.add_diagonal(&mut matrix);
        let filter = super::super::plan::Filter::new(&kinematics, matrix.pattern());
        filter.apply(&mut matrix, 3.0);
        matrix.mirror_lower();
        let rhs = [Vec3::new(1.0, 2.0, 3.0), Vec3::new(0.0, 0.0, 0.5), Vec3::new(2.0, 0.0, 1.0)];
        let mut solution = [Vec3::zero(); 3];
        let mut factor = CoupledFactor::default();
        for _ in 0..2 {
            factor.solve(&matrix, &couplings, &rhs, &mut solution).unwrap();
            let mut product = [Vec3::zero(); 3];
            Coupled { matrix: &matrix, couplings: &couplings }.apply(&solution, &mut product);
            assert!((0..3).all(|i| (product[i] - rhs[i]).norm() < 1e-12), "{product:?}");
            assert_eq!(solution[1].y, 0.0);
            // The same product in single precision, row by row.
            let mut narrow = BlockCsr::<f32>::zeros(matrix.pattern().clone());
            narrow.copy_from(&matrix);
            let mut sliced = SlicedBlocks::new(matrix.pattern());
            sliced.fill_from_lower(&narrow);
            let mut rows = CoupledRows::default();
            rows.fill(&couplings);
            let narrow_solution = solution.map(Vec3::<f32>::from_f64);
            let mut narrow_product = [Vec3::zero(); 3];
            CoupledSlices { matrix: &sliced, couplings: &rows }.apply(&narrow_solution, &mut narrow_product);
            assert!((0..3).all(|i| (narrow_product[i].to_f64() - rhs[i]).norm() < 1e-5), "{narrow_product:?}");
            assert_eq!(rows.lower().count(), 2);
        }
    }
}
