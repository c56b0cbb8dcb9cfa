//! Dense kernels of a front: L Lᵀ of its columns, and what they subtract from the rest.
//!
//! Each number is a sum over columns in ascending order, in pieces of fixed length. Tiles differ between instruction
//! sets, sums do not, so all levels give the same bits.

use std::ops::Range;

use crate::cholesky::strips::{StripReal, Strips};
use crate::lanes::{Isa, IsaLevel, LaneKernel, run_at};
use crate::scalar::{LaneScalar, Real};

/// Columns that are factored one after another; wider panels are halved.
const NARROW: usize = 32;

/// Columns that one pass of a product sums: eight rows of them fill half of the first-level cache.
const DEPTH: usize = 256;

/// Strips of a product whose rows stay in the second-level cache: half a megabyte.
const ROW_STRIPS: usize = 30;

/// Factors the first `width` columns of a front in place. Diagonal entries are replaced by their reciprocals.
///
/// # Errors
/// The first column whose pivot is not positive.
pub(super) fn factor_panel<S: StripReal>(
    level: IsaLevel,
    panel: &mut [S::Line],
    width: usize,
    columns: Range<usize>,
) -> Result<(), usize> {
    if columns.len() <= NARROW {
        return run_at(level, Narrow::<S> { panel, width, columns });
    }
    let middle = (columns.start + columns.end).div_ceil(16) * 8;
    factor_panel::<S>(level, panel, width, columns.start..middle)?;
    let memory = Memory::Panel(&mut *panel);
    let (depth, right) = (columns.start..middle, middle..columns.end);
    run_at(level, Subtract::<S> { memory, width, strips: Strips::panel(width), columns: right, depth });
    factor_panel::<S>(level, panel, width, middle..columns.end)
}

/// Writes the update of a factored front: minus the product of the rows below its columns.
pub(super) fn compute_update<S: StripReal>(
    level: IsaLevel,
    panel: &[S::Line],
    update: &mut [S::Line],
    width: usize,
    row_count: usize,
) {
    let memory = Memory::Update { panel, update };
    let strips = Strips::update::<S>(width);
    run_at(level, Subtract::<S> { memory, width, strips, columns: width..row_count, depth: 0..width });
}

/// Sums over columns of products of `R` strips with `C` rows of the strip `b`, from `lane` on.
#[inline(always)]
fn products<S: StripReal, V: LaneScalar<Element = S>, const R: usize, const C: usize>(
    a: [&[S::Line]; R],
    b: &[S::Line],
    lane: usize,
) -> [[V; C]; R] {
    let mut sums = [[V::zero(); C]; R];
    assert!(a.iter().all(|lines| lines.len() == b.len()), "strips have equal lengths");
    assert!(lane + C <= S::STRIP, "a tile lies in one strip");
    for p in 0..b.len() {
        let mut rows = [V::zero(); R];
        for r in 0..R {
            // SAFETY: all slices have the same length. With a check that can fail, the compiler would store all sums
            // in each turn.
            rows[r] = V::load(unsafe { a[r].get_unchecked(p) }.as_ref());
        }
        for c in 0..C {
            // SAFETY: a line has `STRIP` numbers, at least `lane + C`.
            let number = V::splat(unsafe { *b[p].as_ref().get_unchecked(lane + c) }.to_f64());
            for r in 0..R {
                sums[r][c] = rows[r].mul_add(number, sums[r][c]);
            }
        }
    }
    sums
}

/// The columns of the panel, and where their product goes.
enum Memory<'a, L> {
    /// Subtract it from other columns of the panel.
    Panel(&'a mut [L]),
    /// Overwrite other memory with its negative.
    Update { panel: &'a [L], update: &'a mut [L] },
}

impl<L> Memory<'_, L> {
    #[inline(always)]
    fn panel(&self) -> &[L] {
        match self {
            Self::Panel(panel) => panel,
            Self::Update { panel, .. } => panel,
        }
    }
}

/// C −= A Aᵀ below the diagonal, for `columns` of the front and A its columns `depth`.
struct Subtract<'a, S: StripReal> {
    memory: Memory<'a, S::Line>,
    width: usize,
    /// Layout of C.
    strips: Strips,
    columns: Range<usize>,
    depth: Range<usize>,
}

impl<S: StripReal> LaneKernel for Subtract<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        match I::LEVEL {
            // 24 sums of 32 registers.
            IsaLevel::Avx512 => self.passes::<S::Lanes<I>, 3, true>(),
            // Four sums of two registers each.
            _ => self.passes::<S::Lanes<I>, 1, false>(),
        }
    }
}

impl<S: StripReal> Subtract<'_, S> {
    #[inline(always)]
    fn passes<V: LaneScalar<Element = S>, const R: usize, const WIDE: bool>(mut self) {
        let strip_count = self.memory.panel().len() / self.width;
        for start in self.depth.clone().step_by(DEPTH) {
            let depth = start..(start + DEPTH).min(self.depth.end);
            for first in (self.columns.start / S::STRIP..strip_count).step_by(ROW_STRIPS) {
                let strips = first..(first + ROW_STRIPS).min(strip_count);
                let end = self.columns.end.min(strips.end * S::STRIP);
                let mut column = self.columns.start / 4 * 4;
                while column < end {
                    if WIDE && column.is_multiple_of(8) && column + 4 < self.columns.end {
                        self.column_tiles::<V, R, 8>(column, &depth, &strips);
                        column += 8;
                    } else {
                        self.column_tiles::<V, R, 4>(column, &depth, &strips);
                        column += 4;
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn column_tiles<V: LaneScalar<Element = S>, const R: usize, const C: usize>(
        &mut self,
        column: usize,
        depth: &Range<usize>,
        strips: &Range<usize>,
    ) {
        let mut strip = strips.start.max(column / S::STRIP);
        while strip < strips.end {
            let rows = R.min(strips.end - strip);
            if R >= 3 && rows == 3 {
                self.tile::<V, 3, C>(strip, column, depth);
            } else if R >= 2 && rows == 2 {
                self.tile::<V, 2, C>(strip, column, depth);
            } else {
                self.tile::<V, 1, C>(strip, column, depth);
            }
            strip += rows;
        }
    }

    #[inline(always)]
    fn tile<V: LaneScalar<Element = S>, const R: usize, const C: usize>(
        &mut self,
        strip: usize,
        column: usize,
        depth: &Range<usize>,
    ) {
        let (width, panel) = (self.width, self.memory.panel());
        let lines = |strip: usize| &panel[strip * width + depth.start..strip * width + depth.end];
        let a = std::array::from_fn(|r| lines(strip + r));
        let sums = products::<S, V, R, C>(a, lines(column / S::STRIP), column % S::STRIP);
        let first = self.columns.start.max(column) - column;
        let last = self.columns.end.min(column + C) - column;
        let is_first_pass = depth.start == self.depth.start;
        for r in 0..R {
            let start = self.strips.line(strip + r, column + first);
            let (target, overwrite) = match &mut self.memory {
                Memory::Panel(panel) => (&mut **panel, false),
                Memory::Update { update, .. } => (&mut **update, is_first_pass),
            };
            let target = &mut target[start..start + last - first];
            for c in 0..C {
                if first <= c && c < last {
                    let line = target[c - first].as_mut();
                    let value = if overwrite { -sums[r][c] } else { V::load(line) - sums[r][c] };
                    value.store(line);
                }
            }
        }
    }
}

/// Factors some columns of a panel, four at a time: subtract what the columns of this kernel before them contribute,
/// factor their 4×4 block, and solve for the rows below.
struct Narrow<'a, S: StripReal> {
    panel: &'a mut [S::Line],
    width: usize,
    columns: Range<usize>,
}

impl<S: StripReal> LaneKernel for Narrow<'_, S> {
    type Output = Result<(), usize>;

    #[inline(always)]
    fn run<I: Isa>(self) -> Result<(), usize> {
        match I::LEVEL {
            IsaLevel::Avx512 => self.blocks::<S::Lanes<I>, 4>(),
            _ => self.blocks::<S::Lanes<I>, 1>(),
        }
    }
}

impl<S: StripReal> Narrow<'_, S> {
    #[inline(always)]
    fn blocks<V: LaneScalar<Element = S>, const R: usize>(mut self) -> Result<(), usize> {
        let mut column = self.columns.start;
        while column < self.columns.end {
            let end = (column / 4 * 4 + 4).min(self.columns.end);
            match end - column {
                4 => self.block::<V, R, 4>(column)?,
                3 => self.block::<V, R, 3>(column)?,
                2 => self.block::<V, R, 2>(column)?,
                _ => self.block::<V, R, 1>(column)?,
            }
            column = end;
        }
        Ok(())
    }

    #[inline(always)]
    fn block<V: LaneScalar<Element = S>, const R: usize, const C: usize>(
        &mut self,
        column: usize,
    ) -> Result<(), usize> {
        let strip_count = self.panel.len() / self.width;
        let (own, lane) = (column / S::STRIP, column % S::STRIP);
        let line = own * self.width + column;
        let before = &self.panel[own * self.width + self.columns.start..line];
        let [sums] = products::<S, V, 1, C>([before], before, lane);
        for c in 0..C {
            let target = self.panel[line + c].as_mut();
            (V::load(target) - sums[c]).store(target);
        }
        let diagonal = DiagonalBlock::<S, C>::factor(&self.panel[line..line + C], lane).map_err(|c| column + c)?;
        self.solve::<V, 1, C>(own, column, column..column, &diagonal);
        for c in 0..C {
            let target = self.panel[line + c].as_mut();
            target[..lane + c].fill(S::zero());
            target[lane + c] = diagonal.inverse[c];
        }
        let depth = self.columns.start..column;
        let mut strip = own + 1;
        while strip < strip_count {
            let rows = match strip_count - strip {
                rest if R >= 4 && rest >= 4 => {
                    self.solve::<V, 4, C>(strip, column, depth.clone(), &diagonal);
                    4
                }
                rest if R >= 4 && rest >= 2 => {
                    self.solve::<V, 2, C>(strip, column, depth.clone(), &diagonal);
                    2
                }
                _ => {
                    self.solve::<V, 1, C>(strip, column, depth.clone(), &diagonal);
                    1
                }
            };
            strip += rows;
        }
        Ok(())
    }

    /// X = (A − Σ L Lᵀ) L⁻ᵀ for `C` columns of `R` strips.
    #[inline(always)]
    fn solve<V: LaneScalar<Element = S>, const R: usize, const C: usize>(
        &mut self,
        strip: usize,
        column: usize,
        depth: Range<usize>,
        diagonal: &DiagonalBlock<S, C>,
    ) {
        let (width, panel) = (self.width, &*self.panel);
        let lines = |strip: usize| &panel[strip * width + depth.start..strip * width + depth.end];
        let own = column / S::STRIP;
        let a = std::array::from_fn(|r| lines(strip + r));
        let sums = products::<S, V, R, C>(a, lines(own), column % S::STRIP);
        for r in 0..R {
            let start = (strip + r) * width + column;
            let target = &mut self.panel[start..start + C];
            let mut x = [V::zero(); C];
            for c in 0..C {
                x[c] = V::load(target[c].as_ref()) - sums[r][c];
                for p in 0..c {
                    x[c] = x[p].mul_add(V::splat(diagonal.negative[c][p].to_f64()), x[c]);
                }
                x[c] *= V::splat(diagonal.inverse[c].to_f64());
                x[c].store(target[c].as_mut());
            }
        }
    }
}

/// The factor of a block on the diagonal.
struct DiagonalBlock<S, const C: usize> {
    /// Minus the entries below the diagonal.
    negative: [[S; C]; C],
    /// Reciprocals of the diagonal.
    inverse: [S; C],
}

impl<S: StripReal, const C: usize> DiagonalBlock<S, C> {
    /// Factors the rows from `lane` on; fails with the first column whose pivot is not positive.
    #[inline(always)]
    fn factor(lines: &[S::Line], lane: usize) -> Result<Self, usize> {
        let mut negative = [[S::zero(); C]; C];
        let mut inverse = [S::zero(); C];
        for c in 0..C {
            let column = &lines[c].as_ref()[lane..lane + C];
            let mut pivot = column[c];
            for p in 0..c {
                pivot = negative[c][p].mul_add(-negative[c][p], pivot);
            }
            if !(pivot > S::zero() && Real::is_finite(pivot)) {
                return Err(c);
            }
            inverse[c] = pivot.rsqrt();
            for r in c + 1..C {
                let mut value = column[r];
                for p in 0..c {
                    value = negative[r][p].mul_add(-negative[c][p], value);
                }
                negative[r][c] = -(value * inverse[c]);
            }
        }
        Ok(Self { negative, inverse })
    }
}
