//! Structure of the factor: supernodes, their rows and their tree.
//!
//! A supernode is a set of consecutive columns of the factor that have the same rows below them. The structure of a
//! column is that of its matrix column joined with those of its children in the elimination tree \[Liu90\]; a column
//! that adds nothing to its only child continues the supernode of that child (fundamental supernodes \[Liu93\]). Small
//! supernodes are then merged with their parents at the price of some stored zeros \[Ashcraft89\], because dense
//! kernels and fewer, larger updates win more than the zeros cost.

use crate::ordering::{Graph, OrderingError, Permutation, elimination_tree, sort_by_postorder};

/// No parent: a root of the tree.
pub(super) const NONE: u32 = u32::MAX;

/// Merges are allowed up to a width \[scalar columns\] if the share of zeros in the merged columns stays below a bound.
/// The last bound is for all wider ones.
const MERGES: [(usize, f64); 4] = [(6, 1.0), (24, 0.6), (60, 0.15), (usize::MAX, 0.05)];

/// Supernodes in the order of elimination: subtrees are contiguous and end in their root, and of the children of a
/// supernode the one with the most work below it comes first.
#[derive(Debug)]
pub(super) struct Supernodes {
    /// Elimination order of the nodes.
    pub order: Permutation,
    /// First node of each supernode, and the number of nodes.
    pub first: Vec<u32>,
    /// The rows below each supernode, ascending nodes.
    pub rows: Vec<Vec<u32>>,
    /// The supernode that holds the first row below; [`NONE`] for roots.
    pub parent: Vec<u32>,
    /// Multiplications to eliminate each supernode and all below it.
    pub work: Vec<f64>,
}

impl Supernodes {
    /// Analyzes the factor of a matrix with `block` unknowns per vertex of `graph`.
    pub(super) fn new(graph: &Graph, order: &Permutation, block: usize) -> Result<Self, OrderingError> {
        let mut old_from_new = order.old_from_new().to_vec();
        sort_by_postorder(graph, &mut old_from_new);
        let mut groups = fundamental(graph, &old_from_new);
        merge(&mut groups, block);
        renumber(groups, &old_from_new, block)
    }

    pub(super) fn count(&self) -> usize {
        self.rows.len()
    }

    /// Nodes that a supernode eliminates.
    pub(super) fn width(&self, supernode: usize) -> usize {
        (self.first[supernode + 1] - self.first[supernode]) as usize
    }

    /// Position of a node among the columns and rows of a supernode.
    pub(super) fn place(&self, supernode: usize, node: u32) -> Option<usize> {
        if node < self.first[supernode + 1] {
            return Some(node.checked_sub(self.first[supernode])? as usize);
        }
        Some(self.width(supernode) + self.rows[supernode].binary_search(&node).ok()?)
    }

    /// The first supernode of each subtree.
    pub(super) fn subtree_starts(&self) -> Vec<u32> {
        let mut starts: Vec<u32> = (0..self.count() as u32).collect();
        for child in 0..self.count() {
            if self.parent[child] != NONE {
                let parent = self.parent[child] as usize;
                starts[parent] = starts[parent].min(starts[child]);
            }
        }
        starts
    }
}

/// A supernode in the making.
struct Group {
    /// Ranges of columns, in order.
    columns: Vec<std::ops::Range<u32>>,
    width: usize,
    rows: Vec<u32>,
    parent: u32,
    children: Vec<u32>,
    /// Stored zeros (in pairs of nodes).
    zeros: usize,
    is_merged: bool,
}

/// Entries (pairs of nodes) of `width` columns with `row_count` rows below.
fn entry_count(width: usize, row_count: usize) -> usize {
    width * (width + 1) / 2 + width * row_count
}

fn fundamental(graph: &Graph, old_from_new: &[u32]) -> Vec<Group> {
    let count = old_from_new.len();
    let parent = elimination_tree(graph, old_from_new);
    let mut new_from_old = vec![0u32; count];
    for (new, &old) in old_from_new.iter().enumerate() {
        new_from_old[old as usize] = new as u32;
    }
    let mut child_counts = vec![0u32; count];
    for &parent in parent.iter().filter(|&&parent| parent != NONE) {
        child_counts[parent as usize] += 1;
    }
    let mut groups: Vec<Group> = Vec::new();
    // Groups that wait for the column of their first row.
    let mut waiting: Vec<Vec<u32>> = vec![Vec::new(); count];
    // The last group that has a row.
    let mut seen_by = vec![NONE; count];
    let mut start = 0;
    while start < count {
        let id = groups.len() as u32;
        let above = |column: usize| {
            let neighbors = graph.neighbors(old_from_new[column] as usize);
            neighbors.iter().map(|&old| new_from_old[old as usize]).filter(move |&row| row as usize > column)
        };
        let children = std::mem::take(&mut waiting[start]);
        let mut rows = Vec::new();
        let from_children = children.iter().flat_map(|&child| groups[child as usize].rows.iter().copied());
        for row in above(start).chain(from_children.filter(|&row| row as usize > start)) {
            if seen_by[row as usize] != id {
                seen_by[row as usize] = id;
                rows.push(row);
            }
        }
        rows.sort_unstable();
        let mut end = start + 1;
        while end < count
            && parent[end - 1] as usize == end
            && child_counts[end] == 1
            && above(end).all(|row| seen_by[row as usize] == id)
        {
            end += 1;
        }
        rows.drain(..end - start - 1);
        if let Some(&first) = rows.first() {
            waiting[first as usize].push(id);
        }
        for &child in &children {
            groups[child as usize].parent = id;
        }
        let columns = std::iter::once(start as u32..end as u32).collect();
        groups.push(Group { columns, width: end - start, rows, parent: NONE, children, zeros: 0, is_merged: false });
        start = end;
    }
    groups
}

/// Merges children into their parents where few zeros are stored for it.
fn merge(groups: &mut [Group], block: usize) {
    for id in 0..groups.len() {
        let mut candidates = std::mem::take(&mut groups[id].children);
        // The child with the longest columns wastes the least.
        candidates.sort_by_key(|&child| std::cmp::Reverse((groups[child as usize].rows.len(), child)));
        let mut columns = std::mem::take(&mut groups[id].columns);
        for candidate in candidates {
            let (parent, child) = (&groups[id], &groups[candidate as usize]);
            let width = parent.width + child.width;
            let entries = entry_count(width, parent.rows.len());
            let own = entry_count(parent.width, parent.rows.len()) + entry_count(child.width, child.rows.len());
            let zeros = entries - own + parent.zeros + child.zeros;
            let bound = MERGES.iter().find(|(limit, _)| width * block <= *limit).map_or(0.0, |&(_, bound)| bound);
            if zeros as f64 <= bound * entries as f64 {
                let child = &mut groups[candidate as usize];
                child.is_merged = true;
                let grandchildren = std::mem::take(&mut child.children);
                let mut all = std::mem::take(&mut child.columns);
                all.append(&mut columns);
                columns = all;
                for &grandchild in &grandchildren {
                    groups[grandchild as usize].parent = id as u32;
                }
                let parent = &mut groups[id];
                (parent.width, parent.zeros) = (width, zeros);
                parent.children.extend(grandchildren);
            } else {
                groups[id].children.push(candidate);
            }
        }
        groups[id].columns = columns;
    }
}

/// Multiplications to eliminate `width` columns with `row_count` rows below.
fn elimination_work(width: usize, row_count: usize) -> f64 {
    let (w, m) = (width as f64, row_count as f64);
    w * w * w / 6.0 + w * m * (w + m) / 2.0
}

/// Lists the groups subtree by subtree and numbers their columns in this order.
fn renumber(mut groups: Vec<Group>, old_from_new: &[u32], block: usize) -> Result<Supernodes, OrderingError> {
    let mut work = vec![0.0; groups.len()];
    for id in 0..groups.len() {
        let group = &groups[id];
        if !group.is_merged {
            work[id] += elimination_work(group.width * block, group.rows.len() * block);
            if group.parent != NONE {
                work[group.parent as usize] += work[id];
            }
        }
    }
    // Descending work, as a stack: the last is taken first.
    let sort =
        |list: &mut Vec<u32>| list.sort_by(|&a, &b| work[a as usize].total_cmp(&work[b as usize]).then(b.cmp(&a)));
    let mut path: Vec<u32> = (0..groups.len() as u32)
        .filter(|&id| groups[id as usize].parent == NONE && !groups[id as usize].is_merged)
        .collect();
    sort(&mut path);
    let mut is_open = vec![false; groups.len()];
    let mut sorted = Vec::with_capacity(groups.len());
    while let Some(&id) = path.last() {
        if std::mem::replace(&mut is_open[id as usize], true) {
            sorted.push(id as usize);
            path.pop();
        } else {
            let mut children = std::mem::take(&mut groups[id as usize].children);
            sort(&mut children);
            path.extend(children);
        }
    }
    let mut supernode_of_group = vec![NONE; groups.len()];
    let mut first = vec![0u32];
    let mut final_from_new = vec![0u32; old_from_new.len()];
    let mut order = Vec::with_capacity(old_from_new.len());
    for (supernode, &id) in sorted.iter().enumerate() {
        supernode_of_group[id] = supernode as u32;
        for column in groups[id].columns.iter().cloned().flatten() {
            final_from_new[column as usize] = order.len() as u32;
            order.push(old_from_new[column as usize]);
        }
        first.push(order.len() as u32);
    }
    let mut rows = Vec::with_capacity(sorted.len());
    let mut parent = Vec::with_capacity(sorted.len());
    for &id in &sorted {
        let mut list = std::mem::take(&mut groups[id].rows);
        for row in &mut list {
            *row = final_from_new[*row as usize];
        }
        list.sort_unstable();
        rows.push(list);
        let above = groups[id].parent;
        parent.push(if above == NONE { NONE } else { supernode_of_group[above as usize] });
    }
    let work = sorted.iter().map(|&id| work[id]).collect();
    Ok(Supernodes { order: Permutation::new(order)?, first, rows, parent, work })
}
