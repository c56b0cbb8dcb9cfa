//! The elimination tree: the first column of the factor that the elimination of each column affects \[Liu90\].
//!
//! The parent of column i is the row of its first entry below the diagonal. Columns in different branches are
//! independent.

use crate::ordering::{Graph, Permutation};

/// Number of entries of the Cholesky factor (diagonal included) of a matrix with this graph, eliminated in this order.
///
/// Row k of the factor has an entry in each column on the paths from its neighbors i < k up the elimination tree
/// \[Liu90\]. Time is proportional to the result.
///
/// # Panics
/// When permutation and graph have different lengths.
pub fn factor_size(graph: &Graph, permutation: &Permutation) -> u64 {
    let count = graph.vertex_count();
    assert_eq!(permutation.len(), count, "the permutation must have one entry per vertex");
    let mut parent = vec![u32::MAX; count];
    let mut visited_by = vec![u32::MAX; count];
    let mut entries = count as u64;
    for k in 0..count {
        visited_by[k] = k as u32;
        for &neighbor in graph.neighbors(permutation.old_from_new()[k] as usize) {
            let mut i = permutation.new_from_old()[neighbor as usize] as usize;
            if i > k {
                continue;
            }
            while visited_by[i] != k as u32 {
                visited_by[i] = k as u32;
                entries += 1;
                if parent[i] == u32::MAX {
                    parent[i] = k as u32;
                }
                i = parent[i] as usize;
            }
        }
    }
    entries
}

/// Parent of each position in the elimination tree; `u32::MAX` for roots.
pub(crate) fn elimination_tree(graph: &Graph, old_from_new: &[u32]) -> Vec<u32> {
    let count = old_from_new.len();
    let mut new_from_old = vec![0u32; count];
    for (new, &old) in old_from_new.iter().enumerate() {
        new_from_old[old as usize] = new as u32;
    }
    let mut parent = vec![u32::MAX; count];
    // Shortcuts toward the root of the tree built so far, so that no path is walked twice.
    let mut ancestor = vec![u32::MAX; count];
    for k in 0..count as u32 {
        for &neighbor in graph.neighbors(old_from_new[k as usize] as usize) {
            let mut i = new_from_old[neighbor as usize];
            while i < k {
                let next = std::mem::replace(&mut ancestor[i as usize], k);
                if next == u32::MAX {
                    parent[i as usize] = k;
                    break;
                }
                i = next;
            }
        }
    }
    parent
}

/// Sorts an elimination order so that each subtree of the elimination tree is contiguous and ends in its root.
///
/// The factor keeps its size, and columns of equal pattern become adjacent, where a supernodal factorization can treat
/// them as dense blocks.
pub(crate) fn sort_by_postorder(graph: &Graph, old_from_new: &mut Vec<u32>) {
    let parent = elimination_tree(graph, old_from_new);
    let count = parent.len();
    let mut first_child = vec![u32::MAX; count];
    let mut next_sibling = vec![u32::MAX; count];
    // Backward, so that each list of children is ascending.
    for k in (0..count).rev() {
        if parent[k] != u32::MAX {
            next_sibling[k] = std::mem::replace(&mut first_child[parent[k] as usize], k as u32);
        }
    }
    let mut sorted = Vec::with_capacity(count);
    let mut path = Vec::new();
    for root in (0..count).filter(|&k| parent[k] == u32::MAX) {
        path.push(root as u32);
        while let Some(&k) = path.last() {
            let child = std::mem::replace(&mut first_child[k as usize], u32::MAX);
            if child != u32::MAX {
                // Continue with the siblings of this child afterward: they take its place as first child.
                first_child[k as usize] = next_sibling[child as usize];
                path.push(child);
            } else {
                sorted.push(old_from_new[k as usize]);
                path.pop();
            }
        }
    }
    *old_from_new = sorted;
}
