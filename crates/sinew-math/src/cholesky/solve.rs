//! Solves with a factor: L y = b down the tree, Lᵀ x = y back up.
//!
//! The panel of a supernode is read once for up to [`GROUP`] right-hand sides. Its part of the vectors is copied
//! together first, so that the kernels see dense arrays.

use crate::cholesky::FactorReal;
use crate::cholesky::layout::Layout;
use crate::cholesky::strips::StripReal;
use crate::cholesky::symbolic::Symbolic;
use crate::lanes::{Isa, IsaLevel, LaneKernel, run_at};
use crate::scalar::LaneScalar;

/// Right-hand sides that share one read of the factor.
const GROUP: usize = 4;

/// Numbers of working memory.
pub(super) fn scratch_length<S: StripReal>(layout: &Layout) -> usize {
    GROUP * S::STRIP * layout.max_strips
}

/// A factor, ready to solve.
pub(super) struct System<'a, S: FactorReal, const B: usize> {
    pub symbolic: &'a Symbolic,
    pub layout: &'a Layout,
    pub panels: &'a [S::Line],
    pub level: IsaLevel,
}

impl<S: FactorReal, const B: usize> System<'_, S, B> {
    /// Solves in place for vectors in the order of elimination, one after another.
    pub(super) fn solve(&self, vectors: &mut [S], scratch: &mut [S]) {
        let size = self.symbolic.size();
        if size == 0 {
            return;
        }
        for group in vectors.chunks_mut(GROUP * size) {
            for supernode in 0..self.symbolic.supernodes.count() {
                self.forward(supernode, group, size, scratch);
            }
            for supernode in (0..self.symbolic.supernodes.count()).rev() {
                self.backward(supernode, group, size, scratch);
            }
        }
    }

    /// Panel, width and padded number of rows of a supernode.
    fn panel(&self, supernode: usize) -> (&[S::Line], usize, usize) {
        let (width, row_count) = self.symbolic.shape(supernode);
        let panel = &self.panels[self.layout.panels[supernode]..self.layout.panels[supernode + 1]];
        (panel, width, row_count.next_multiple_of(S::STRIP))
    }

    fn forward(&self, supernode: usize, vectors: &mut [S], size: usize, scratch: &mut [S]) {
        let (panel, width, length) = self.panel(supernode);
        let first = B * self.symbolic.supernodes.first[supernode] as usize;
        let rows = &self.symbolic.supernodes.rows[supernode];
        let count = vectors.len() / size;
        let local = &mut scratch[..count * length];
        for (local, vector) in local.chunks_exact_mut(length).zip(vectors.chunks_exact(size)) {
            local[..width].copy_from_slice(&vector[first..first + width]);
            local[width..].fill(S::zero());
        }
        run_at(self.level, Forward::<S> { panel, width, length, local });
        for (local, vector) in local.chunks_exact(length).zip(vectors.chunks_exact_mut(size)) {
            vector[first..first + width].copy_from_slice(&local[..width]);
            let blocks = vector.as_chunks_mut::<B>().0;
            for (&row, change) in rows.iter().zip(local[width..].as_chunks::<B>().0) {
                let block = &mut blocks[row as usize];
                for a in 0..B {
                    block[a] += change[a];
                }
            }
        }
    }

    fn backward(&self, supernode: usize, vectors: &mut [S], size: usize, scratch: &mut [S]) {
        let (panel, width, length) = self.panel(supernode);
        let first = B * self.symbolic.supernodes.first[supernode] as usize;
        let rows = &self.symbolic.supernodes.rows[supernode];
        let count = vectors.len() / size;
        let local = &mut scratch[..count * length];
        for (local, vector) in local.chunks_exact_mut(length).zip(vectors.chunks_exact(size)) {
            local[..width].copy_from_slice(&vector[first..first + width]);
            let blocks = vector.as_chunks::<B>().0;
            for (&row, block) in rows.iter().zip(local[width..].as_chunks_mut::<B>().0) {
                *block = blocks[row as usize];
            }
            local[width + B * rows.len()..].fill(S::zero());
        }
        run_at(self.level, Backward::<S> { panel, width, length, local });
        for (local, vector) in local.chunks_exact(length).zip(vectors.chunks_exact_mut(size)) {
            vector[first..first + width].copy_from_slice(&local[..width]);
        }
    }
}

/// Solves with the columns of a supernode. `local` has the right-hand side of its columns and zeros below, one vector
/// after another; it receives the solution and what is to be added to the rows below.
struct Forward<'a, S: StripReal> {
    panel: &'a [S::Line],
    width: usize,
    /// Numbers per vector.
    length: usize,
    local: &'a mut [S],
}

impl<S: StripReal> LaneKernel for Forward<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let (panel, width, length) = (self.panel, self.width, self.length);
        let strip_count = length / S::STRIP;
        let mut groups = self.local.chunks_exact_mut(GROUP * length);
        for group in &mut groups {
            let mut strip = 0;
            while strip < strip_count {
                subtract_columns::<S, S::Lanes<I>, 1, GROUP>(panel, width, length, group, strip);
                for local in group.chunks_exact_mut(length) {
                    solve_diagonal::<S, S::Lanes<I>>(panel, width, local, strip);
                }
                strip += 1;
            }
        }
        for local in groups.into_remainder().chunks_exact_mut(length) {
            let diagonal_strips = width.div_ceil(S::STRIP);
            for strip in 0..diagonal_strips {
                subtract_columns::<S, S::Lanes<I>, 1, 1>(panel, width, length, local, strip);
                solve_diagonal::<S, S::Lanes<I>>(panel, width, local, strip);
            }
            let mut strip = diagonal_strips;
            while strip + 4 <= strip_count {
                subtract_columns::<S, S::Lanes<I>, 4, 1>(panel, width, length, local, strip);
                strip += 4;
            }
            for strip in strip..strip_count {
                subtract_columns::<S, S::Lanes<I>, 1, 1>(panel, width, length, local, strip);
            }
        }
    }
}

/// Subtracts the products of all columns before a strip with their solutions, for `R` strips and `C` vectors.
#[inline(always)]
fn subtract_columns<S: StripReal, V: LaneScalar<Element = S>, const R: usize, const C: usize>(
    panel: &[S::Line],
    width: usize,
    length: usize,
    local: &mut [S],
    strip: usize,
) {
    let depth = width.min(strip * S::STRIP);
    let mut sums = [[V::zero(); C]; R];
    let lines: [&[S::Line]; R] = std::array::from_fn(|r| &panel[(strip + r) * width..][..depth]);
    let solved: [&[S]; C] = std::array::from_fn(|c| &local[c * length..][..depth]);
    for p in 0..depth {
        for c in 0..C {
            let x = V::splat(solved[c][p].to_f64());
            for r in 0..R {
                sums[r][c] = V::load(lines[r][p].as_ref()).mul_add(x, sums[r][c]);
            }
        }
    }
    for r in 0..R {
        for c in 0..C {
            let target = &mut local[c * length + (strip + r) * S::STRIP..][..S::STRIP];
            (V::load(target) - sums[r][c]).store(target);
        }
    }
}

/// Solves with the columns that have their diagonal in a strip.
#[inline(always)]
fn solve_diagonal<S: StripReal, V: LaneScalar<Element = S>>(
    panel: &[S::Line],
    width: usize,
    local: &mut [S],
    strip: usize,
) {
    let first = strip * S::STRIP;
    let lines = match panel.get(strip * width + first..strip * width + width.min(first + S::STRIP)) {
        Some(lines) if first < width => lines,
        _ => return,
    };
    let local = &mut local[first..first + S::STRIP];
    let mut rest = V::load(local);
    let mut numbers = S::ZEROS;
    for (q, line) in lines.iter().enumerate() {
        rest.store(numbers.as_mut());
        let x = numbers.as_ref()[q] * line.as_ref()[q];
        // The diagonal holds a reciprocal, so this lane is wrong from here on; nobody reads it.
        rest = V::load(line.as_ref()).mul_add(V::splat(-x.to_f64()), rest);
        local[q] = x;
    }
    rest.store(numbers.as_mut());
    local[lines.len()..].copy_from_slice(&numbers.as_ref()[lines.len()..]);
}

/// Solves with the transpose of the columns of a supernode. `local` has the right-hand side of its columns and the
/// solution below; it receives the solution of the columns.
struct Backward<'a, S: StripReal> {
    panel: &'a [S::Line],
    width: usize,
    length: usize,
    local: &'a mut [S],
}

impl<S: StripReal> LaneKernel for Backward<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        for strip in (0..self.width.div_ceil(S::STRIP)).rev() {
            let first = strip * S::STRIP;
            let columns = first..self.width.min(first + S::STRIP);
            for local in self.local.chunks_exact_mut(self.length) {
                let mut sums = S::ZEROS;
                let sums = &mut sums.as_mut()[..columns.len()];
                // Of this strip, only rows below the columns are known.
                let mut known = S::ZEROS;
                known.as_mut()[columns.len()..].copy_from_slice(&local[columns.end..first + S::STRIP]);
                let mut column = 0;
                while column < sums.len() {
                    let part = Columns::<S> { panel: self.panel, width: self.width, strip, first: first + column };
                    let sums = &mut sums[column..];
                    column += match sums.len() {
                        1 => part.sum::<S::Lanes<I>, 1>(&known, local, sums),
                        2 => part.sum::<S::Lanes<I>, 2>(&known, local, sums),
                        3 => part.sum::<S::Lanes<I>, 3>(&known, local, sums),
                        _ => part.sum::<S::Lanes<I>, 4>(&known, local, sums),
                    };
                }
                let lines = &self.panel[strip * self.width + first..][..columns.len()];
                let x = &mut local[columns.clone()];
                for q in 0..x.len() {
                    x[q] -= sums[q];
                }
                for q in (0..x.len()).rev() {
                    x[q] *= lines[q].as_ref()[q];
                    let minus = -x[q];
                    for p in 0..q {
                        x[p] = lines[p].as_ref()[q].mul_add(minus, x[p]);
                    }
                }
            }
        }
    }
}

/// Some columns with their diagonal in one strip.
struct Columns<'a, S: StripReal> {
    panel: &'a [S::Line],
    width: usize,
    strip: usize,
    first: usize,
}

impl<S: StripReal> Columns<'_, S> {
    /// Products of `C` columns with what is known of the solution.
    #[inline(always)]
    fn sum<V: LaneScalar<Element = S>, const C: usize>(&self, known: &S::Line, local: &[S], sums: &mut [S]) -> usize {
        let mut products = [V::zero(); C];
        let x = V::load(known.as_ref());
        let lines = &self.panel[self.strip * self.width + self.first..][..C];
        for c in 0..C {
            products[c] = V::load(lines[c].as_ref()) * x;
        }
        let blocks = local.chunks_exact(S::STRIP).zip(self.panel.chunks_exact(self.width)).skip(self.strip + 1);
        for (x, lines) in blocks {
            let x = V::load(x);
            let lines = &lines[self.first..self.first + C];
            for c in 0..C {
                products[c] = V::load(lines[c].as_ref()).mul_add(x, products[c]);
            }
        }
        for c in 0..C {
            let mut lanes = S::ZEROS;
            let lanes = lanes.as_mut();
            products[c].store(lanes);
            let mut half = S::STRIP / 2;
            while half > 0 {
                for k in 0..half {
                    lanes[k] += lanes[k + half];
                }
                half /= 2;
            }
            sums[c] = lanes[0];
        }
        C
    }
}
