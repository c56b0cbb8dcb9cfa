//! What a factorization needs to know of a pattern: where entries of the matrix go, which rows of a supernode are which
//! rows of its parent, and which subtrees are independent.

use std::ops::Range;

use crate::cholesky::supernodes::{NONE, Supernodes};
use crate::ordering::{Graph, OrderingError, Permutation};

/// Subtrees with less work \[multiplications\] are not shared among threads: about a third of a millisecond.
const MIN_TASK_WORK: f64 = 5e6;

/// Subtrees with less than this share of the whole work are not split further.
const MIN_TASK_SHARE: f64 = 1.0 / 32.0;

/// A stored block of the matrix and its place in the columns of a supernode.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub slot: u32,
    pub row: u32,
    pub column: u32,
    /// Whether the transpose of the block is meant.
    pub is_transposed: bool,
}

/// Consecutive rows of a supernode that are consecutive in its parent; both counted in nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// First row, counted from the first row below the columns.
    pub source: u32,
    /// First row in the parent, counted from its first column.
    pub target: u32,
    pub length: u32,
}

/// A subtree, or several with one root above them: what `forks` eliminate is independent, `own` comes after it.
#[derive(Debug)]
pub(super) struct Task {
    pub forks: Vec<Task>,
    /// Supernodes, in order of elimination.
    pub own: Range<usize>,
}

/// Structure of a symmetric matrix of blocks and of its factor.
#[derive(Debug)]
pub(super) struct Symbolic {
    pub supernodes: Supernodes,
    /// Rows of a block.
    pub block: usize,
    entries: Lists<Entry>,
    runs: Lists<Run>,
    /// Number of runs of each supernode that end in columns of the parent.
    column_runs: Vec<u32>,
    children: Lists<u32>,
    pub tasks: Task,
}

/// Lists in one array.
#[derive(Debug)]
struct Lists<T> {
    offsets: Vec<usize>,
    items: Vec<T>,
}

impl<T> Lists<T> {
    fn get(&self, index: usize) -> &[T] {
        &self.items[self.offsets[index]..self.offsets[index + 1]]
    }

    /// Lists of items that are sorted by their list.
    fn from_sorted(count: usize, items: Vec<T>, list_of: impl Fn(&T) -> usize) -> Self {
        let offsets = (0..=count).map(|list| items.partition_point(|item| list_of(item) < list)).collect();
        Self { offsets, items }
    }
}

impl Symbolic {
    /// Analyzes a matrix of blocks. `graph` is that of its nodes; `stored` has (i, j, slot) for each stored block, one
    /// of (i, j) and (j, i).
    pub(super) fn new(
        graph: &Graph,
        order: &Permutation,
        block: usize,
        stored: impl Iterator<Item = (usize, usize, usize)>,
    ) -> Result<Self, OrderingError> {
        let supernodes = Supernodes::new(graph, order, block)?;
        let count = supernodes.count();
        let entries = locate(&supernodes, stored);
        let (runs, column_runs) = match_rows(&supernodes);
        let mut pairs: Vec<(u32, u32)> =
            (0..count as u32).map(|child| (supernodes.parent[child as usize], child)).collect();
        pairs.retain(|&(parent, _)| parent != NONE);
        pairs.sort_unstable();
        let offsets = (0..=count).map(|s| pairs.partition_point(|&(parent, _)| (parent as usize) < s)).collect();
        let children = Lists { offsets, items: pairs.into_iter().map(|(_, child)| child).collect() };
        let roots: Vec<u32> = (0..count as u32).filter(|&s| supernodes.parent[s as usize] == NONE).collect();
        let total: f64 = roots.iter().map(|&root| supernodes.work[root as usize]).sum();
        let starts = supernodes.subtree_starts();
        let forest = Forest {
            supernodes: &supernodes,
            children: &children,
            starts: &starts,
            grain: (total * MIN_TASK_SHARE).max(MIN_TASK_WORK),
        };
        let tasks = forest.task(&roots, 0..count);
        Ok(Self { supernodes, block, entries, runs, column_runs, children, tasks })
    }

    /// Number of unknowns.
    pub(super) fn size(&self) -> usize {
        self.block * self.supernodes.order.len()
    }

    /// Blocks of the matrix in the columns of a supernode.
    pub(super) fn entries(&self, supernode: usize) -> &[Entry] {
        self.entries.get(supernode)
    }

    /// Rows of a supernode as rows of its parent, ascending; and how many of these runs are columns there.
    pub(super) fn runs(&self, supernode: usize) -> (&[Run], usize) {
        (self.runs.get(supernode), self.column_runs[supernode] as usize)
    }

    pub(super) fn children(&self, supernode: usize) -> &[u32] {
        self.children.get(supernode)
    }

    /// Scalar columns and rows (columns included) of a supernode.
    pub(super) fn shape(&self, supernode: usize) -> (usize, usize) {
        let width = self.supernodes.width(supernode);
        (self.block * width, self.block * (width + self.supernodes.rows[supernode].len()))
    }

    /// Entries of the factor, including the zeros of merged supernodes.
    pub(super) fn factor_entry_count(&self) -> usize {
        let entries = |supernode| {
            let (width, row_count) = self.shape(supernode);
            width * row_count - width * width.saturating_sub(1) / 2
        };
        (0..self.supernodes.count()).map(entries).sum()
    }
}

/// Places of stored blocks, by supernode.
fn locate(supernodes: &Supernodes, stored: impl Iterator<Item = (usize, usize, usize)>) -> Lists<Entry> {
    let supernode_of: Vec<u32> =
        (0..supernodes.count()).flat_map(|s| std::iter::repeat_n(s as u32, supernodes.width(s))).collect();
    let new_from_old = supernodes.order.new_from_old();
    let mut located: Vec<(u32, Entry)> = stored
        .filter_map(|(i, j, slot)| {
            let (row, column) = (new_from_old[i].max(new_from_old[j]), new_from_old[i].min(new_from_old[j]));
            let supernode = supernode_of[column as usize] as usize;
            let place = |node| Some(supernodes.place(supernode, node)? as u32);
            // Block (i, j) holds row i. Diagonal blocks are read above the diagonal.
            let is_transposed = row == new_from_old[j];
            let (row, column) = (place(row), place(column));
            debug_assert!(row.is_some() && column.is_some(), "the factor has a place for block ({i}, {j})");
            let entry = Entry { slot: slot as u32, row: row?, column: column?, is_transposed };
            Some((supernode as u32, entry))
        })
        .collect();
    located.sort_unstable_by_key(|(supernode, entry)| (*supernode, entry.column, entry.row));
    let lists = Lists::from_sorted(supernodes.count(), located, |(supernode, _)| *supernode as usize);
    Lists { offsets: lists.offsets, items: lists.items.into_iter().map(|(_, entry)| entry).collect() }
}

/// Runs of rows of each supernode in its parent. No run crosses the end of the columns of the parent.
fn match_rows(supernodes: &Supernodes) -> (Lists<Run>, Vec<u32>) {
    let mut runs: Vec<Run> = Vec::new();
    let mut offsets = vec![0];
    let mut column_runs = Vec::with_capacity(supernodes.count());
    for (supernode, &parent) in supernodes.parent.iter().enumerate() {
        let begin = runs.len();
        if parent != NONE {
            let (parent, mut place) = (parent as usize, 0);
            let (first, width) = (supernodes.first[parent], supernodes.width(parent) as u32);
            let above = &supernodes.rows[parent];
            for (source, &node) in supernodes.rows[supernode].iter().enumerate() {
                let target = if node < first + width {
                    node - first
                } else {
                    place += above[place..].partition_point(|&row| row < node);
                    width + place as u32
                };
                match runs[begin..].last_mut() {
                    Some(run) if run.target + run.length == target && target != width => run.length += 1,
                    _ => runs.push(Run { source: source as u32, target, length: 1 }),
                }
            }
            column_runs.push(runs[begin..].partition_point(|run| run.target < width) as u32);
        } else {
            column_runs.push(0);
        }
        offsets.push(runs.len());
    }
    (Lists { offsets, items: runs }, column_runs)
}

/// The tree of supernodes while it is cut into tasks.
struct Forest<'a> {
    supernodes: &'a Supernodes,
    children: &'a Lists<u32>,
    starts: &'a [u32],
    grain: f64,
}

impl Forest<'_> {
    /// The task of `roots` (most work first) and all below them.
    fn task(&self, roots: &[u32], range: Range<usize>) -> Task {
        let mut roots = roots;
        loop {
            // What is left besides a single heavy subtree does not pay to be shared.
            let heavy = roots.partition_point(|&root| self.supernodes.work[root as usize] >= self.grain);
            match heavy {
                0 => return Task { forks: Vec::new(), own: range },
                1 => roots = self.children.get(roots[0] as usize),
                _ => {
                    let subtree = |&root: &u32| self.starts[root as usize] as usize..root as usize + 1;
                    let forks = roots[..heavy].iter().map(|root| self.task(&[*root], subtree(root))).collect();
                    return Task { forks, own: roots[heavy - 1] as usize + 1..range.end };
                }
            }
        }
    }
}
