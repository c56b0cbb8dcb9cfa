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

/// A cache line of numbers.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Line<S, const N: usize>([S; N]);

impl<S, const N: usize> AsRef<[S]> for Line<S, N> {
    #[inline(always)]
    fn as_ref(&self) -> &[S] {
        &self.0
    }
}

impl<S, const N: usize> AsMut<[S]> for Line<S, N> {
    #[inline(always)]
    fn as_mut(&mut self) -> &mut [S] {
        &mut self.0
    }
}

/// A number type with cache lines and lanes of the same length.
pub trait StripReal: Real {
    /// Rows per strip.
    const STRIP: usize;
    /// One column of a strip.
    type Line: Copy + Send + Sync + Debug + AsRef<[Self]> + AsMut<[Self]>;
    /// A line of zeros.
    const ZEROS: Self::Line;
    /// A line in registers.
    type Lanes<I: Isa>: LaneScalar<Element = Self>;
}

impl StripReal for f32 {
    const STRIP: usize = F32_LANES;
    type Line = Line<f32, F32_LANES>;
    const ZEROS: Self::Line = Line([0.0; F32_LANES]);
    type Lanes<I: Isa> = I::F32;
}

impl StripReal for f64 {
    const STRIP: usize = F64_LANES;
    type Line = Line<f64, F64_LANES>;
    const ZEROS: Self::Line = Line([0.0; F64_LANES]);
    type Lanes<I: Isa> = I::F64;
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
        Self {
            first_strip,
            first_column: width,
            length: (first_strip + 1) * S::STRIP - width,
            growth: S::STRIP,
        }
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
