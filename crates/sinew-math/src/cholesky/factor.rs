//! Numeric factors by the multifrontal method \[Liu92\].
//!
//! Each supernode has a front: its columns of the matrix plus the updates of its children. Eliminating its columns
//! leaves L in them and a lower triangle to be added to the parent. Updates are added in the order of the children,
//! whichever was ready first, so the bits do not depend on the number of threads.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use crate::Real;
use crate::cholesky::dense::{compute_update, factor_panel};
use crate::cholesky::extend::Extend;
use crate::cholesky::layout::Layout;
use crate::cholesky::strips::{AlignedLines, Strips};
use crate::cholesky::symbolic::{Symbolic, Task};
use crate::cholesky::{CholeskyError, FactorReal, solve};
use crate::lanes::{IsaLevel, active_isa, run_at};

/// A numeric factor of a matrix of `B` × `B` blocks, with all its working memory.
pub(super) struct Factor<S: FactorReal, const B: usize> {
    symbolic: Arc<Symbolic>,
    layout: Layout,
    /// Columns of the factor, supernode by supernode.
    panels: AlignedLines<S>,
    updates: AlignedLines<S>,
    right_hand_sides: Vec<S>,
    scratch: Vec<S>,
    is_factored: bool,
    pub(super) level: IsaLevel,
}

impl<S: FactorReal, const B: usize> std::fmt::Debug for Factor<S, B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Factor")
            .field("size", &self.symbolic.size())
            .field("entries", &self.symbolic.factor_entry_count())
            .field("is_factored", &self.is_factored)
            .finish_non_exhaustive()
    }
}

/// A vector of zeros, or an error when memory does not suffice for a matrix of `size` rows.
fn zeros<S: Real>(length: usize, size: usize) -> Result<Vec<S>, CholeskyError> {
    let mut vector = Vec::new();
    vector.try_reserve_exact(length).map_err(|_| CholeskyError::TooLarge { size })?;
    vector.resize(length, S::zero());
    Ok(vector)
}

impl<S: FactorReal, const B: usize> Factor<S, B> {
    pub(super) fn prepare(symbolic: Arc<Symbolic>) -> Result<Self, CholeskyError> {
        debug_assert_eq!(symbolic.block, B, "the pattern was analyzed for these blocks");
        let size = symbolic.size();
        let layout = Layout::new::<S>(&symbolic);
        let lines = |count| AlignedLines::zeros(count).ok_or(CholeskyError::TooLarge { size });
        let panels = lines(layout.panels.last().copied().unwrap_or(0))?;
        let updates = lines(layout.update_lines)?;
        let right_hand_sides = zeros(size, size)?;
        let scratch = zeros(solve::scratch_length::<S>(&layout), size)?;
        let level = active_isa();
        Ok(Self { symbolic, layout, panels, updates, right_hand_sides, scratch, is_factored: false, level })
    }

    pub(super) fn is_factored(&self) -> bool {
        self.is_factored
    }

    /// Forgets the factor.
    pub(super) fn invalidate(&mut self) {
        self.is_factored = false;
    }

    /// Factors the matrix with `block(slot)` in each slot of the pattern. All of them are finite.
    pub(super) fn refactor(&mut self, block: impl Fn(usize) -> [[S; B]; B] + Sync) -> Result<(), CholeskyError> {
        self.is_factored = false;
        let (symbolic, layout) = (&*self.symbolic, &self.layout);
        let numeric = Numeric { symbolic, layout, level: self.level, block: &block, number: PhantomData };
        let threads = if rayon::current_num_threads() == 1 { Threads::One } else { Threads::Many };
        let memory =
            Part { panels: self.panels.get_mut(), first_panel: 0, updates: self.updates.get_mut(), first_update: 0 };
        numeric.run(&symbolic.tasks, threads, memory).map_err(|column| {
            let node = symbolic.supernodes.order.old_from_new()[column / B] as usize;
            CholeskyError::NotPositiveDefinite { index: B * node + column % B }
        })?;
        self.is_factored = true;
        Ok(())
    }

    /// Storage for `count` right-hand sides, one after another, and the node of each block of rows: they are stored in
    /// the order of elimination.
    pub(super) fn right_hand_sides(&mut self, count: usize) -> Result<(&[u32], &mut [[S; B]]), CholeskyError> {
        if !self.is_factored {
            return Err(CholeskyError::NotFactored);
        }
        let size = self.symbolic.size();
        if count * size > self.right_hand_sides.len() {
            self.right_hand_sides = zeros(count * size, size)?;
        }
        let blocks = self.right_hand_sides[..count * size].as_chunks_mut::<B>().0;
        Ok((self.symbolic.supernodes.order.old_from_new(), blocks))
    }

    /// Replaces the first `count` stored right-hand sides by the solutions.
    pub(super) fn solve(&mut self, count: usize) {
        let size = self.symbolic.size();
        let system = solve::System::<S, B> {
            symbolic: &self.symbolic,
            layout: &self.layout,
            panels: self.panels.get(),
            level: self.level,
        };
        system.solve(&mut self.right_hand_sides[..count * size], &mut self.scratch);
    }
}

/// Memory of the supernodes of a task.
struct Part<'a, L> {
    panels: &'a mut [L],
    first_panel: usize,
    updates: &'a mut [L],
    first_update: usize,
}

impl<L> Part<'_, L> {
    fn reborrow(&mut self) -> Part<'_, L> {
        Part { panels: self.panels, updates: self.updates, ..*self }
    }

    /// The memory before a panel and an update, and the rest.
    fn split(&mut self, panel: usize, update: usize) -> (Part<'_, L>, Part<'_, L>) {
        let (left_panels, right_panels) = self.panels.split_at_mut(panel - self.first_panel);
        let (left_updates, right_updates) = self.updates.split_at_mut(update - self.first_update);
        let left = Part { panels: left_panels, updates: left_updates, ..*self };
        (left, Part { panels: right_panels, first_panel: panel, updates: right_updates, first_update: update })
    }

    /// The update of a child, to be read, and that of its parent, to be written.
    fn child_and_parent(&mut self, child: &Range<usize>, parent: &Range<usize>) -> (&[L], &mut [L]) {
        let shift = |range: &Range<usize>| range.start - self.first_update..range.end - self.first_update;
        let (child, parent) = (shift(child), shift(parent));
        if child.end <= parent.start {
            let (left, right) = self.updates.split_at_mut(parent.start);
            (&left[child], &mut right[..parent.len()])
        } else {
            let (left, right) = self.updates.split_at_mut(child.start);
            (&right[..child.len()], &mut left[parent])
        }
    }
}

/// A factorization in progress.
struct Numeric<'a, S, const B: usize, F> {
    symbolic: &'a Symbolic,
    layout: &'a Layout,
    level: IsaLevel,
    /// The block in a slot of the matrix.
    block: &'a F,
    number: PhantomData<S>,
}

impl<S: FactorReal, const B: usize, F: Fn(usize) -> [[S; B]; B] + Sync> Numeric<'_, S, B, F> {
    /// Eliminates the supernodes of a task; fails with the first column whose pivot is not positive.
    fn run(&self, task: &Task, threads: Threads, mut memory: Part<'_, S::Line>) -> Result<(), usize> {
        self.run_forks(&task.forks, threads, &mut memory)?;
        task.own.clone().try_for_each(|supernode| self.eliminate(supernode, &mut memory))
    }

    fn run_forks(&self, forks: &[Task], threads: Threads, memory: &mut Part<'_, S::Line>) -> Result<(), usize> {
        if forks.len() < 2 {
            return forks.iter().try_for_each(|fork| self.run(fork, threads, memory.reborrow()));
        }
        let (left, right) = forks.split_at(forks.len() / 2);
        let boundary = left[left.len() - 1].own.end;
        let (mut left_memory, mut right_memory) =
            memory.split(self.layout.panels[boundary], self.layout.task_ends[boundary - 1]);
        let mut run_left = move || self.run_forks(left, threads, &mut left_memory);
        let mut run_right = move || self.run_forks(right, threads, &mut right_memory);
        match threads {
            Threads::One => run_left().and_then(|()| run_right()),
            Threads::Many => {
                let (left, right) = rayon::join(run_left, run_right);
                left.and(right)
            }
        }
    }

    fn eliminate(&self, supernode: usize, memory: &mut Part<'_, S::Line>) -> Result<(), usize> {
        let (width, row_count) = self.symbolic.shape(supernode);
        let range = self.layout.panels[supernode]..self.layout.panels[supernode + 1];
        let panel = &mut memory.panels[range.start - memory.first_panel..range.end - memory.first_panel];
        panel.fill(S::ZEROS);
        self.assemble(supernode, panel, width);
        for &child in self.symbolic.children(supernode) {
            let (runs, column_runs) = self.symbolic.runs(child as usize);
            let update = &self.layout.updates[child as usize];
            let extend = Extend::<S> {
                source: &memory.updates[update.start - memory.first_update..update.end - memory.first_update],
                source_width: self.symbolic.shape(child as usize).0,
                target: panel,
                target_strips: Strips::panel(width),
                runs,
                column_runs,
                block: B,
            };
            run_at(self.level, extend);
        }
        let first = B * self.symbolic.supernodes.first[supernode] as usize;
        factor_panel::<S>(self.level, panel, width, 0..width).map_err(|column| first + column)?;
        if row_count == width {
            return Ok(());
        }
        let own = &self.layout.updates[supernode];
        let update = &mut memory.updates[own.start - memory.first_update..own.end - memory.first_update];
        compute_update::<S>(self.level, panel, update, width, row_count);
        for &child in self.symbolic.children(supernode) {
            let (runs, column_runs) = self.symbolic.runs(child as usize);
            let runs = &runs[column_runs..];
            if runs.is_empty() {
                continue;
            }
            let (source, target) = memory.child_and_parent(&self.layout.updates[child as usize], own);
            let extend = Extend::<S> {
                source,
                source_width: self.symbolic.shape(child as usize).0,
                target,
                target_strips: Strips::update::<S>(width),
                runs,
                column_runs: runs.len(),
                block: B,
            };
            run_at(self.level, extend);
        }
        Ok(())
    }

    /// Writes the entries of the matrix into the columns of a supernode.
    fn assemble(&self, supernode: usize, panel: &mut [S::Line], width: usize) {
        for entry in self.symbolic.entries(supernode) {
            let block = (self.block)(entry.slot as usize);
            let (row, column) = (B * entry.row as usize, B * entry.column as usize);
            for a in 0..B {
                let start = (row + a) / S::STRIP * width + column;
                for (b, line) in panel[start..start + B].iter_mut().enumerate() {
                    line.as_mut()[(row + a) % S::STRIP] = if entry.is_transposed { block[b][a] } else { block[a][b] };
                }
            }
        }
    }
}

/// Whether independent tasks run at the same time.
#[derive(Clone, Copy)]
enum Threads {
    One,
    Many,
}
