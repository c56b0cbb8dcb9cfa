//! Nested dissection: an elimination order for sparse Cholesky factors of small size \[George73, Karypis98\].
//!
//! Eliminating vertex v of a graph connects all its remaining neighbors; each new edge is an entry of the factor that
//! the matrix does not have. If a small set S of vertices separates the graph into A and B, and S is eliminated last,
//! no edge ever joins A and B. So: find a small balanced separator, order A and B in the same way, append S. Small
//! subgraphs are ordered by minimum degree. On three-dimensional meshes with n vertices the factor then has O(n^{4/3})
//! entries.
//!
//! Nothing is random, and ties go to the lower index: the same graph always gives the same order.

use std::ops::Range;

use crate::ordering::separator::WeightedGraph;

mod elimination;
mod separator;

pub use elimination::factor_size;
pub(crate) use elimination::{elimination_tree, sort_by_postorder};

/// Largest subgraph ordered by minimum degree. Neighbor sets are the bits of a `u128`; below a hundred vertices,
/// separators do not pay.
const LEAF_SIZE: usize = 100;

/// Why an adjacency list or a permutation is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderingError {
    /// Row offsets must start at zero, never decrease, and end at the number of neighbors.
    #[error("row offsets are wrong at vertex {vertex}")]
    BadOffsets {
        /// The first vertex with a wrong offset.
        vertex: usize,
    },
    /// A neighbor that does not exist.
    #[error("vertex {vertex} has neighbor {neighbor}, but there are only {vertex_count} vertices")]
    NeighborOutOfRange {
        /// The vertex.
        vertex: usize,
        /// The missing neighbor.
        neighbor: usize,
        /// Number of vertices.
        vertex_count: usize,
    },
    /// A list that is not a permutation of 0..n.
    #[error("entry {index} is out of range or appears twice in the permutation")]
    NotAPermutation {
        /// Position of the first bad entry.
        index: usize,
    },
}

/// An undirected graph: sorted neighbors without loops or repetitions, each edge stored from both ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    offsets: Vec<u32>,
    neighbors: Vec<u32>,
}

impl Graph {
    /// The graph of A + Aᵀ for a matrix pattern in compressed rows. Loops are dropped; order and repetitions do not
    /// matter.
    ///
    /// # Errors
    /// When the offsets are invalid, or a neighbor does not exist.
    pub fn from_rows(row_offsets: &[u32], columns: &[u32]) -> Result<Self, OrderingError> {
        if row_offsets.first() != Some(&0) {
            return Err(OrderingError::BadOffsets { vertex: 0 });
        }
        let vertex_count = row_offsets.len() - 1;
        if let Some(vertex) = (0..vertex_count).find(|&v| row_offsets[v] > row_offsets[v + 1]) {
            return Err(OrderingError::BadOffsets { vertex });
        }
        if row_offsets[vertex_count] as usize != columns.len() {
            return Err(OrderingError::BadOffsets { vertex: vertex_count });
        }
        let row = |v: usize| &columns[row_offsets[v] as usize..row_offsets[v + 1] as usize];
        let mut offsets = vec![0u32; vertex_count + 1];
        for v in 0..vertex_count {
            for &u in row(v) {
                if u as usize >= vertex_count {
                    let neighbor = u as usize;
                    return Err(OrderingError::NeighborOutOfRange { vertex: v, neighbor, vertex_count });
                }
                if u as usize != v {
                    offsets[v + 1] += 1;
                    offsets[u as usize + 1] += 1;
                }
            }
        }
        for v in 0..vertex_count {
            offsets[v + 1] += offsets[v];
        }
        let mut next = offsets.clone();
        let mut neighbors = vec![0u32; offsets[vertex_count] as usize];
        for v in 0..vertex_count {
            for &u in row(v).iter().filter(|&&u| u as usize != v) {
                for (from, to) in [(v, u), (u as usize, v as u32)] {
                    neighbors[next[from] as usize] = to;
                    next[from] += 1;
                }
            }
        }
        // A symmetric pattern lists each edge twice from both ends: sort, and keep one of each.
        let mut write = 0;
        for v in 0..vertex_count {
            let range = offsets[v] as usize..offsets[v + 1] as usize;
            neighbors[range.clone()].sort_unstable();
            offsets[v] = write as u32;
            for i in range {
                if write == offsets[v] as usize || neighbors[write - 1] != neighbors[i] {
                    neighbors[write] = neighbors[i];
                    write += 1;
                }
            }
        }
        offsets[vertex_count] = write as u32;
        neighbors.truncate(write);
        Ok(Self { offsets, neighbors })
    }

    /// Number of vertices.
    pub fn vertex_count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Neighbors of a vertex, ascending.
    #[inline]
    pub fn neighbors(&self, vertex: usize) -> &[u32] {
        &self.neighbors[self.offsets[vertex] as usize..self.offsets[vertex + 1] as usize]
    }
}

/// A renumbering and its inverse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permutation {
    old_from_new: Vec<u32>,
    new_from_old: Vec<u32>,
}

impl Permutation {
    /// The permutation with `old_from_new[k]` at position k.
    ///
    /// # Errors
    /// [`OrderingError::NotAPermutation`] when an index is missing or repeated.
    pub fn new(old_from_new: Vec<u32>) -> Result<Self, OrderingError> {
        let mut new_from_old = vec![u32::MAX; old_from_new.len()];
        for (index, &old) in old_from_new.iter().enumerate() {
            match new_from_old.get_mut(old as usize) {
                Some(place) if *place == u32::MAX => *place = index as u32,
                _ => return Err(OrderingError::NotAPermutation { index }),
            }
        }
        Ok(Self { old_from_new, new_from_old })
    }

    /// The identity permutation.
    pub fn identity(length: usize) -> Self {
        let list: Vec<u32> = (0..length as u32).collect();
        Self { old_from_new: list.clone(), new_from_old: list }
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.old_from_new.len()
    }

    /// Whether the permutation is empty.
    pub fn is_empty(&self) -> bool {
        self.old_from_new.is_empty()
    }

    /// Old index at each new position.
    pub fn old_from_new(&self) -> &[u32] {
        &self.old_from_new
    }

    /// New position of each old index.
    pub fn new_from_old(&self) -> &[u32] {
        &self.new_from_old
    }

    /// The same permutation of groups of `size` consecutive unknowns: vertices to degrees of freedom.
    pub fn expanded(&self, size: usize) -> Self {
        let expand = |list: &[u32]| {
            list.iter().flat_map(|&i| (0..size as u32).map(move |k| i * size as u32 + k)).collect::<Vec<_>>()
        };
        Self { old_from_new: expand(&self.old_from_new), new_from_old: expand(&self.new_from_old) }
    }
}

/// Nested dissection order of a graph; see the [module](self).
pub fn nested_dissection(graph: &Graph) -> Permutation {
    let vertex_count = graph.vertex_count();
    // Ranges of `order` are split in place into [A | B | S]; when no range is left, `order` is the elimination order.
    let mut order: Vec<u32> = (0..vertex_count as u32).collect();
    let mut local = vec![u32::MAX; vertex_count];
    // A list of ranges instead of recursion: no graph can exhaust the stack.
    let mut pending: Vec<Range<usize>> = Vec::new();
    pending.push(0..vertex_count);
    while let Some(range) = pending.pop() {
        let vertices = &mut order[range.clone()];
        if vertices.len() <= LEAF_SIZE {
            order_by_minimum_degree(graph, vertices, &mut local);
            continue;
        }
        let part = WeightedGraph::induced(graph, vertices, &mut local);
        let (component, component_count) = part.components();
        if component_count > 1 {
            let sizes = stable_partition(vertices, &component, component_count);
            push_ranges(&mut pending, range.start, &sizes);
            continue;
        }
        let labels = separator::find_separator(part);
        let sizes = stable_partition(vertices, &labels, 3);
        if sizes[0] > 0 && sizes[1] > 0 {
            push_ranges(&mut pending, range.start, &sizes[..2]);
        }
        // Otherwise nothing separates these vertices (a complete graph, say), and any order is as good.
    }
    elimination::sort_by_postorder(graph, &mut order);
    let mut new_from_old = local;
    for (new, &old) in order.iter().enumerate() {
        new_from_old[old as usize] = new as u32;
    }
    Permutation { old_from_new: order, new_from_old }
}

fn push_ranges(pending: &mut Vec<Range<usize>>, start: usize, sizes: &[usize]) {
    let mut begin = start;
    for &size in sizes {
        pending.push(begin..begin + size);
        begin += size;
    }
}

/// Sorts `vertices` by label, keeping the order within a label; returns the number of vertices per label.
fn stable_partition(vertices: &mut [u32], labels: &[u32], label_count: usize) -> Vec<usize> {
    let mut sizes = vec![0usize; label_count];
    for &label in labels {
        sizes[label as usize] += 1;
    }
    let mut next: Vec<usize> = sizes
        .iter()
        .scan(0, |begin, &size| {
            *begin += size;
            Some(*begin - size)
        })
        .collect();
    let unsorted = vertices.to_vec();
    for (&vertex, &label) in unsorted.iter().zip(labels) {
        let place = &mut next[label as usize];
        vertices[*place] = vertex;
        *place += 1;
    }
    sizes
}

/// Repeatedly eliminates a vertex with the fewest remaining neighbors (exact degrees; ties go to the lower position).
fn order_by_minimum_degree(graph: &Graph, vertices: &mut [u32], local: &mut [u32]) {
    let count = vertices.len();
    debug_assert!(count <= 128, "neighbor sets are 128 bits wide");
    for (k, &v) in vertices.iter().enumerate() {
        local[v as usize] = k as u32;
    }
    let mut adjacent = [0u128; 128];
    for (k, &v) in vertices.iter().enumerate() {
        let inside = graph.neighbors(v as usize).iter().map(|&u| local[u as usize]).filter(|&u| u != u32::MAX);
        adjacent[k] = inside.fold(0, |set, u| set | 1 << u);
    }
    for &v in vertices.iter() {
        local[v as usize] = u32::MAX;
    }
    let old = vertices.to_vec();
    let mut remaining: u128 = if count == 128 { u128::MAX } else { (1 << count) - 1 };
    for place in vertices.iter_mut() {
        let v = bits(remaining).min_by_key(|&k| adjacent[k].count_ones()).unwrap_or(0);
        *place = old[v];
        remaining &= !(1 << v);
        let clique = adjacent[v];
        for u in bits(clique) {
            adjacent[u] = (adjacent[u] | clique) & !(1 << u) & !(1 << v);
        }
    }
}

/// Positions of the set bits, ascending.
fn bits(mut set: u128) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (set != 0).then(|| {
            let bit = set.trailing_zeros() as usize;
            set &= set - 1;
            bit
        })
    })
}

#[cfg(test)]
mod tests;
