//! Rows of f32 aligned to cache lines: a load of sixteen lanes that straddles two lines costs twice as much.

use std::ops::{Deref, DerefMut};

use crate::layout::LANES;

/// One cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line([f32; LANES]);

/// A slice of f32, aligned to cache lines.
#[derive(Clone, Debug, Default)]
pub(crate) struct Aligned(Vec<Line>);

impl Aligned {
    /// Zeros, rounded up to whole cache lines.
    pub fn zeros(length: usize) -> Self {
        Self(vec![Line([0.0; LANES]); length.div_ceil(LANES)])
    }
}

impl Deref for Aligned {
    type Target = [f32];
    #[inline(always)]
    fn deref(&self) -> &[f32] {
        // SAFETY: a `Line` is sixteen f32 without padding (C layout, size 64), so `n` lines are `16 n` initialized f32.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), self.0.len() * LANES) }
    }
}

impl DerefMut for Aligned {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [f32] {
        // SAFETY: as above, and the borrow is unique.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), self.0.len() * LANES) }
    }
}
