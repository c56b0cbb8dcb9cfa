//! Adds the update of a supernode to its parent.

use crate::cholesky::strips::{StripReal, Strips};
use crate::cholesky::symbolic::Run;
use crate::lanes::{Isa, LaneKernel};
use crate::scalar::LaneScalar;

/// Adds columns of an update to columns of the front of the parent.
pub(super) struct Extend<'a, S: StripReal> {
    pub source: &'a [S::Line],
    /// Columns of the supernode.
    pub source_width: usize,
    pub target: &'a mut [S::Line],
    pub target_strips: Strips,
    /// Rows as rows of the parent, from the first column to add on.
    pub runs: &'a [Run],
    /// How many of these runs are also columns to add.
    pub column_runs: usize,
    /// Unknowns per node.
    pub block: usize,
}

impl<S: StripReal> LaneKernel for Extend<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let source_strips = Strips::update::<S>(self.source_width);
        for run in self.runs {
            let (source, target) = (run.source as usize * self.block, run.target as usize * self.block);
            let length = run.length as usize * self.block;
            let mut done = 0;
            // Pieces that lie in one strip on both sides.
            while done < length {
                let (from, to) = (self.source_width + source + done, target + done);
                let (from_lane, to_lane) = (from % S::STRIP, to % S::STRIP);
                let rows = (S::STRIP - from_lane.max(to_lane)).min(length - done);
                done += rows;
                for columns in &self.runs[..self.column_runs] {
                    let first = columns.source as usize * self.block;
                    if first >= source + done {
                        break;
                    }
                    // Up to the diagonal of the last row.
                    let count = (columns.length as usize * self.block).min(source + done - first);
                    let begin = source_strips.line(from / S::STRIP, self.source_width + first);
                    let end = self.target_strips.line(to / S::STRIP, columns.target as usize * self.block);
                    let from_lines = &self.source[begin..begin + count];
                    let to_lines = &mut self.target[end..end + count];
                    add_rows::<S, S::Lanes<I>>(from_lines, from_lane, to_lines, to_lane, rows);
                }
            }
        }
    }
}

/// Adds `rows` numbers of each line, from a lane of the source to a lane of the target.
///
/// Registers are loaded from where the numbers would stand if the source had the lanes of the target; lanes outside of
/// the piece add zero. Only the first or the last line has no neighbor to load from.
#[inline(always)]
fn add_rows<S: StripReal, V: LaneScalar<Element = S>>(
    from: &[S::Line],
    from_lane: usize,
    to: &mut [S::Line],
    to_lane: usize,
    rows: usize,
) {
    let count = to.len();
    let (first, last) = (usize::from(to_lane > from_lane), count - usize::from(from_lane > to_lane));
    for line in (0..first.min(count)).chain(last.max(first)..count) {
        let numbers = &from[line].as_ref()[from_lane..from_lane + rows];
        for (to, from) in to[line].as_mut()[to_lane..].iter_mut().zip(numbers) {
            *to += *from;
        }
    }
    if first >= last {
        return;
    }
    let lanes = V::load(S::LANE_NUMBERS.as_ref());
    let (begin, end) = (V::splat(to_lane as f64), V::splat((to_lane + rows) as f64));
    let is_piece = lanes.ge(begin) & lanes.lt(end);
    let from = &S::numbers(from)[first * S::STRIP + from_lane - to_lane..];
    for (to, from) in to[first..last].iter_mut().zip(from.chunks_exact(S::STRIP)) {
        let change = V::select(is_piece, V::load(from), V::zero());
        (V::load(to.as_ref()) + change).store(to.as_mut());
    }
}
