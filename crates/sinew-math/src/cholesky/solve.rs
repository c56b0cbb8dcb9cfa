//! Solves with a factor: L y = b down the tree, Lᵀ x = y back up.
//!
//! The panel of a supernode is read once for up to [`GROUP`] right-hand sides. Its part of the vectors is copied
//! together first, so that the kernels see dense arrays.

use std::ops::Range;

use crate::cholesky::FactorReal;
use crate::cholesky::layout::Layout;
use crate::cholesky::strips::StripReal;
use crate::cholesky::symbolic::Symbolic;
use crate::lanes::{F32_LANES, Isa, IsaLevel, LaneKernel, run_at};
use crate::scalar::LaneScalar;

/// Right-hand sides that share one read of the factor from memory.
const GROUP: usize = 16;

/// Right-hand sides that share one load of a line.
const SIDE_BY_SIDE: usize = 4;

/// Most rows of a strip, of any number type.
const MAX_STRIP: usize = F32_LANES;

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
    fn run<I: Isa>(mut self) {
        match I::LEVEL {
            IsaLevel::Avx512 => self.vectors::<S::Lanes<I>, 2>(),
            _ => self.vectors::<S::Lanes<I>, 1>(),
        }
    }
}

impl<S: StripReal> Forward<'_, S> {
    /// `T`: strips at once for vectors side by side, so that all sums stay in registers.
    #[inline(always)]
    fn vectors<V: LaneScalar<Element = S>, const T: usize>(&mut self) {
        let (mut start, end) = (0, self.local.len());
        while start < end {
            if end - start >= SIDE_BY_SIDE * self.length {
                self.strips::<V, 2, T, SIDE_BY_SIDE>(start);
                start += SIDE_BY_SIDE * self.length;
            } else {
                self.strips::<V, 4, 4, 1>(start);
                start += self.length;
            }
        }
    }

    /// Solves for `C` vectors from `start` on. Blocks of `R` strips determine the order of sums; `T` strips of a block
    /// are computed at once.
    #[inline(always)]
    fn strips<V: LaneScalar<Element = S>, const R: usize, const T: usize, const C: usize>(&mut self, start: usize) {
        let strip_count = self.length / S::STRIP;
        let mut strip = 0;
        while strip < strip_count {
            let known = self.width.min(strip * S::STRIP);
            let end = if strip + R <= strip_count { strip + R } else { strip + 1 };
            if end - strip == R {
                for strip in (strip..end).step_by(T) {
                    self.subtract::<V, T, C>(start, strip, 0..known);
                }
            } else {
                self.subtract::<V, 1, C>(start, strip, 0..known);
            }
            for strip in strip..end {
                let before = self.width.min(strip * S::STRIP);
                if known < before {
                    self.subtract::<V, 1, C>(start, strip, known..before);
                }
                if before < self.width {
                    for c in 0..C {
                        self.solve_diagonal::<V>(start + c * self.length, strip);
                    }
                }
            }
            strip = end;
        }
    }

    /// Subtracts the products of some columns with their solutions, for `R` strips and `C` vectors.
    #[inline(always)]
    fn subtract<V: LaneScalar<Element = S>, const R: usize, const C: usize>(
        &mut self,
        start: usize,
        strip: usize,
        columns: Range<usize>,
    ) {
        let (width, length, depth) = (self.width, self.length, columns.len());
        let mut sums = [[V::zero(); C]; R];
        let lines: [&[S::Line]; R] =
            std::array::from_fn(|r| &self.panel[(strip + r) * width + columns.start..][..depth]);
        let solved: [&[S]; C] = std::array::from_fn(|c| &self.local[start + c * length + columns.start..][..depth]);
        for p in 0..depth {
            for c in 0..C {
                // SAFETY: all slices have the length `depth`. Checks that can fail would make the compiler store all
                // sums in each turn.
                let x = V::splat(unsafe { *solved[c].get_unchecked(p) }.to_f64());
                for r in 0..R {
                    // SAFETY: as above.
                    let line = V::load(unsafe { lines[r].get_unchecked(p) }.as_ref());
                    sums[r][c] = line.mul_add(x, sums[r][c]);
                }
            }
        }
        for r in 0..R {
            for c in 0..C {
                let target = &mut self.local[start + c * length + (strip + r) * S::STRIP..][..S::STRIP];
                (V::load(target) - sums[r][c]).store(target);
            }
        }
    }

    /// Solves with the columns that have their diagonal in a strip.
    #[inline(always)]
    fn solve_diagonal<V: LaneScalar<Element = S>>(&mut self, start: usize, strip: usize) {
        let first = strip * S::STRIP;
        let count = (self.width - first).min(S::STRIP);
        let lines = &self.panel[strip * self.width + first..][..count];
        let local = &mut self.local[start + first..][..S::STRIP];
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
        local[count..].copy_from_slice(&numbers.as_ref()[count..]);
    }
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
    fn run<I: Isa>(mut self) {
        match I::LEVEL {
            IsaLevel::Avx512 => self.vectors::<S::Lanes<I>, 4>(),
            _ => self.vectors::<S::Lanes<I>, 1>(),
        }
    }
}

impl<S: StripReal> Backward<'_, S> {
    /// `C`: columns at a time for vectors side by side.
    #[inline(always)]
    fn vectors<V: LaneScalar<Element = S>, const C: usize>(&mut self) {
        let (mut start, end) = (0, self.local.len());
        while start < end {
            if end - start >= SIDE_BY_SIDE * self.length {
                self.strips::<V, C, SIDE_BY_SIDE>(start);
                start += SIDE_BY_SIDE * self.length;
            } else {
                self.strips::<V, 4, 1>(start);
                start += self.length;
            }
        }
    }

    /// Solves for `K` vectors from `start` on, `C` columns at a time.
    #[inline(always)]
    fn strips<V: LaneScalar<Element = S>, const C: usize, const K: usize>(&mut self, start: usize) {
        for strip in (0..self.width.div_ceil(S::STRIP)).rev() {
            let first = strip * S::STRIP;
            let end = self.width.min(first + S::STRIP);
            let mut column = first;
            while column < end {
                if column + C <= end {
                    self.subtract::<V, C, K>(start, strip, column);
                    column += C;
                } else {
                    self.subtract::<V, 1, K>(start, strip, column);
                    column += 1;
                }
            }
            self.solve_diagonal::<K>(start, strip);
        }
    }

    /// Solves with the columns that have their diagonal in a strip, for `K` vectors side by side.
    #[inline(always)]
    fn solve_diagonal<const K: usize>(&mut self, start: usize, strip: usize) {
        let first = strip * S::STRIP;
        let lines = &self.panel[strip * self.width + first..][..(self.width - first).min(S::STRIP)];
        let mut x = [[S::zero(); K]; MAX_STRIP];
        let x = &mut x[..lines.len()];
        for k in 0..K {
            let local = &self.local[start + k * self.length + first..];
            for (x, from) in x.iter_mut().zip(local) {
                x[k] = *from;
            }
        }
        for q in (0..lines.len()).rev() {
            let inverse = lines[q].as_ref()[q];
            let solved = x[q].map(|x| x * inverse);
            x[q] = solved;
            for (x, line) in x[..q].iter_mut().zip(lines) {
                let minus = -line.as_ref()[q];
                for k in 0..K {
                    x[k] = minus.mul_add(solved[k], x[k]);
                }
            }
        }
        for k in 0..K {
            let local = &mut self.local[start + k * self.length + first..];
            for (x, to) in x.iter().zip(local) {
                *to = x[k];
            }
        }
    }

    /// Subtracts the products of `C` columns of a strip with what is known of `K` solutions: the rows of all columns of
    /// other strips, and the rows below the columns.
    #[inline(always)]
    fn subtract<V: LaneScalar<Element = S>, const C: usize, const K: usize>(
        &mut self,
        start: usize,
        strip: usize,
        column: usize,
    ) {
        let mut sums = [[V::zero(); K]; C];
        // Rows of this strip below the columns, if it is the last one with columns.
        let known = self.width.min((strip + 1) * S::STRIP) - strip * S::STRIP;
        if known < S::STRIP {
            let lines = &self.panel[strip * self.width + column..][..C];
            for k in 0..K {
                let mut rows = S::ZEROS;
                let local = &self.local[start + k * self.length + strip * S::STRIP..][..S::STRIP];
                rows.as_mut()[known..].copy_from_slice(&local[known..]);
                let x = V::load(rows.as_ref());
                for c in 0..C {
                    sums[c][k] = V::load(lines[c].as_ref()) * x;
                }
            }
        }
        let (strip_count, width) = (self.length / S::STRIP, self.width);
        assert!(self.panel.len() >= strip_count * width && column + C <= width, "a panel has lines for all strips");
        let local: [&[S::Line]; K] =
            std::array::from_fn(|k| S::lines(&self.local[start + k * self.length..][..self.length]));
        for below in strip + 1..strip_count {
            for c in 0..C {
                // SAFETY: `below < strip_count` and `column + c < width`, so the line is before `strip_count * width`.
                let line = V::load(unsafe { self.panel.get_unchecked(below * width + column + c) }.as_ref());
                for k in 0..K {
                    // SAFETY: a vector has `strip_count` lines.
                    let x = V::load(unsafe { local[k].get_unchecked(below) }.as_ref());
                    sums[c][k] = line.mul_add(x, sums[c][k]);
                }
            }
        }
        for c in 0..C {
            for k in 0..K {
                self.local[start + k * self.length + column + c] -= sum_of_lanes(sums[c][k]);
            }
        }
    }
}

/// The sum of all lanes, by halves.
#[inline(always)]
fn sum_of_lanes<S: StripReal, V: LaneScalar<Element = S>>(sum: V) -> S {
    let mut lanes = S::ZEROS;
    let lanes = lanes.as_mut();
    sum.store(lanes);
    let mut half = S::STRIP / 2;
    while half > 0 {
        for k in 0..half {
            lanes[k] += lanes[k + half];
        }
        half /= 2;
    }
    lanes[0]
}
