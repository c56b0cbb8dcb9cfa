//! Where panels and updates of supernodes stand in memory.
//!
//! The panel of a supernode, its columns of the factor, stays; panels stand in the order of elimination. Its update,
//! the lower triangle that it adds to its parent, is needed until the parent has been eliminated. Places of updates are
//! planned ahead: an update goes to the first gap that is large enough. Independent tasks have separate memory, so that
//! they can run at the same time; what follows them reuses it.

use std::ops::Range;

use crate::cholesky::strips::{StripReal, Strips};
use crate::cholesky::symbolic::{Symbolic, Task};

/// Positions \[lines\] of all dense parts of a factor.
#[derive(Debug)]
pub(super) struct Layout {
    /// First line of each panel, and the number of lines of all.
    pub panels: Vec<usize>,
    pub updates: Vec<Range<usize>>,
    /// End of the updates of each task, at its last supernode.
    pub task_ends: Vec<usize>,
    /// Lines of all updates.
    pub update_lines: usize,
    /// Largest number of strips of a supernode.
    pub max_strips: usize,
}

impl Layout {
    pub(super) fn new<S: StripReal>(symbolic: &Symbolic) -> Self {
        let count = symbolic.supernodes.count();
        let mut panels = vec![0];
        let mut lengths = Vec::with_capacity(count);
        let (mut line_count, mut max_strips) = (0, 0);
        for supernode in 0..count {
            let (width, row_count) = symbolic.shape(supernode);
            let strip_count = row_count.div_ceil(S::STRIP);
            line_count += Strips::panel(width).line_count(strip_count);
            panels.push(line_count);
            max_strips = max_strips.max(strip_count);
            lengths.push(if row_count > width { Strips::update::<S>(width).line_count(strip_count) } else { 0 });
        }
        let mut layout =
            Self { panels, updates: vec![0..0; count], task_ends: vec![0; count], update_lines: 0, max_strips };
        layout.update_lines = layout.place(symbolic, &symbolic.tasks, &lengths, 0);
        layout
    }

    /// Places the updates of a task from line `start` on; returns the end of its memory.
    fn place(&mut self, symbolic: &Symbolic, task: &Task, lengths: &[usize], start: usize) -> usize {
        let mut gaps = Gaps { free: Vec::new(), end: start };
        for fork in &task.forks {
            // When the fork is done, only the update of its root is needed.
            let begin = gaps.end;
            gaps.end = self.place(symbolic, fork, lengths, begin);
            let root = self.updates[fork.own.end - 1].clone();
            gaps.give(begin..root.start);
            gaps.give(root.end..gaps.end);
        }
        for supernode in task.own.clone() {
            self.updates[supernode] = gaps.take(lengths[supernode]);
            for &child in symbolic.children(supernode) {
                gaps.give(self.updates[child as usize].clone());
            }
        }
        if let Some(last) = self.task_ends.get_mut(task.own.end.wrapping_sub(1)) {
            *last = gaps.end;
        }
        gaps.end
    }
}

/// Free memory before `end`, and whatever is needed behind.
struct Gaps {
    /// Ascending, never adjacent.
    free: Vec<Range<usize>>,
    end: usize,
}

impl Gaps {
    fn take(&mut self, length: usize) -> Range<usize> {
        if length == 0 {
            return self.end..self.end;
        }
        if let Some(index) = self.free.iter().position(|gap| gap.len() >= length) {
            let gap = &mut self.free[index];
            let taken = gap.start..gap.start + length;
            gap.start = taken.end;
            if gap.start == gap.end {
                self.free.remove(index);
            }
            return taken;
        }
        // A gap at the end grows.
        let start = match self.free.last() {
            Some(gap) if gap.end == self.end => gap.start,
            _ => self.end,
        };
        if start < self.end {
            self.free.pop();
        }
        self.end = start + length;
        start..self.end
    }

    fn give(&mut self, range: Range<usize>) {
        if range.start == range.end {
            return;
        }
        let index = self.free.partition_point(|gap| gap.start < range.start);
        self.free.insert(index, range);
        if index + 1 < self.free.len() && self.free[index].end == self.free[index + 1].start {
            self.free[index].end = self.free.remove(index + 1).end;
        }
        if index > 0 && self.free[index - 1].end == self.free[index].start {
            self.free[index - 1].end = self.free.remove(index).end;
        }
    }
}
