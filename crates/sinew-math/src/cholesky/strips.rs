//! Storage of dense parts of a factor: strips of rows, a cache line per column.
//!
//! Rows are cut into strips of [`StripReal::STRIP`] (8 f64 or 16 f32: one cache line, one AVX-512 register). A strip
//! holds one line per column, column after column. So products of two strips read memory from front to back, without
//! packing: rows of one factor are lanes of a line, rows of the other are single numbers of a line. Rows are padded with
//! zeros to whole strips.
//!
//! Only lower triangles mean something. In the strips that the diagonal crosses, updates hold above it whatever the
//! kernels leave there; no result depends on it.

use std::fmt::Debug;

use crate::Real;
use crate::lanes::{F32_LANES, F64_LANES, Isa};
use crate::scalar::LaneScalar;

/// A number type whose lanes fill a cache line.
pub trait StripReal: Real {
    /// Rows per strip.
    const STRIP: usize;
    /// One column of a strip: a cache line.
    type Line: Copy + Send + Sync + Debug + AsRef<[Self]> + AsMut<[Self]>;
    /// A line of zeros.
    const ZEROS: Self::Line;
    /// The number of each lane.
    const LANE_NUMBERS: Self::Line;
    /// A line in registers.
    type Lanes<I: Isa>: LaneScalar<Element = Self>;
    /// Numbers as lines.
    fn lines(numbers: &[Self]) -> &[Self::Line];
    /// Numbers as lines.
    fn lines_mut(numbers: &mut [Self]) -> &mut [Self::Line];
    /// Lines as numbers.
    fn numbers(lines: &[Self::Line]) -> &[Self];
}

macro_rules! impl_strip_real {
    ($float:ident, $lanes:ident, $registers:ident) => {
        impl StripReal for $float {
            const STRIP: usize = $lanes;
            type Line = [$float; $lanes];
            const ZEROS: Self::Line = [0.0; $lanes];
            const LANE_NUMBERS: Self::Line = {
                let mut lanes = [0.0; $lanes];
                let mut lane = 0;
                while lane < $lanes {
                    lanes[lane] = lane as $float;
                    lane += 1;
                }
                lanes
            };
            type Lanes<I: Isa> = I::$registers;
            fn lines(numbers: &[Self]) -> &[Self::Line] {
                numbers.as_chunks().0
            }
            fn lines_mut(numbers: &mut [Self]) -> &mut [Self::Line] {
                numbers.as_chunks_mut().0
            }
            #[inline(always)]
            fn numbers(lines: &[Self::Line]) -> &[Self] {
                lines.as_flattened()
            }
        }
    };
}

impl_strip_real!(f32, F32_LANES, F32);
impl_strip_real!(f64, F64_LANES, F64);

/// Lines that start at cache lines: a load that straddles two of them costs twice as much.
#[derive(Debug)]
pub(super) struct AlignedLines<S> {
    numbers: Vec<S>,
    start: usize,
}

impl<S: StripReal> AlignedLines<S> {
    /// Zeros; `None` when memory does not suffice.
    pub(super) fn zeros(line_count: usize) -> Option<Self> {
        let mut numbers = Vec::new();
        let length = line_count.checked_add(1)?.checked_mul(S::STRIP)?;
        numbers.try_reserve_exact(length).ok()?;
        numbers.resize(length, S::zero());
        let start = numbers.as_ptr().align_offset(size_of::<S::Line>()).min(S::STRIP);
        Some(Self { numbers, start })
    }

    pub(super) fn get(&self) -> &[S::Line] {
        S::lines(&self.numbers[self.start..])
    }

    pub(super) fn get_mut(&mut self) -> &mut [S::Line] {
        S::lines_mut(&mut self.numbers[self.start..])
    }
}

/// Where the lines of a block of columns stand: strips one after another, each longer than the last by `growth` lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strips {
    first_strip: usize,
    first_column: usize,
    /// Lines of the first strip.
    length: usize,
    growth: usize,
}

impl Strips {
    /// The first `width` columns of a front: full strips.
    pub(super) fn panel(width: usize) -> Self {
        Self { first_strip: 0, first_column: 0, length: width, growth: 0 }
    }

    /// The lower triangle of the columns from `width` on: each strip ends at the diagonal.
    pub(super) fn update<S: StripReal>(width: usize) -> Self {
        let first_strip = width / S::STRIP;
        Self { first_strip, first_column: width, length: (first_strip + 1) * S::STRIP - width, growth: S::STRIP }
    }

    /// Position of the line of a column in a strip.
    #[inline(always)]
    pub(super) fn line(self, strip: usize, column: usize) -> usize {
        let before = strip - self.first_strip;
        let lines = before * self.length + self.growth * (before * before.saturating_sub(1) / 2);
        lines + column - self.first_column
    }

    /// Number of lines of all strips before `end`.
    pub(super) fn line_count(self, end: usize) -> usize {
        if end <= self.first_strip { 0 } else { self.line(end, self.first_column) }
    }
}
