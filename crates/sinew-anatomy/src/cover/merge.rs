//! Nodes that copies share, and copies that are the same.

use sinew_math::parallel::prelude::*;

use super::build::FineTets;
use super::fragments::Fragments;
use super::lattice_cell::LatticeCell;
use super::overlap::TOUCH;
use crate::mesher::lattice::Node;

/// Fine nodes or cells of one task: enough to pay for it.
const CHUNK: usize = 4096;

/// Coarse cells after merging.
pub(super) struct Merged {
    /// Lattice cell of each coarse cell.
    pub cells: Vec<LatticeCell>,
    /// Nodes of each coarse cell, numbered in order of appearance.
    pub tets: Vec<[u32; 4]>,
    /// The lattice node of each node.
    pub nodes: Vec<Node>,
    /// For each copy of the fragments, its coarse cell.
    pub cell_of_copy: Vec<u32>,
}

/// Copies of each fine cell, in compressed rows.
pub(super) struct CopiesOfFine {
    offsets: Vec<u32>,
    copies: Vec<u32>,
}

impl CopiesOfFine {
    pub fn new(fine_count: usize, fragments: &Fragments) -> Self {
        let mut offsets = vec![0_u32; fine_count + 1];
        for part in &fragments.parts {
            offsets[part.fine as usize + 1] += 1;
        }
        for i in 0..fine_count {
            offsets[i + 1] += offsets[i];
        }
        let mut next = offsets.clone();
        let mut copies = vec![0; fragments.parts.len()];
        for (part, copy) in fragments.parts.iter().zip(&fragments.copy_of_part) {
            let slot = &mut next[part.fine as usize];
            copies[*slot as usize] = *copy;
            *slot += 1;
        }
        Self { offsets, copies }
    }

    pub fn of(&self, fine: u32) -> &[u32] {
        &self.copies[self.offsets[fine as usize] as usize..self.offsets[fine as usize + 1] as usize]
    }
}

/// Root of the union-find tree, halving the path on the way.
pub(super) fn find_root(parent: &mut [u32], mut node: u32) -> u32 {
    while parent[node as usize] != node {
        parent[node as usize] = parent[parent[node as usize] as usize];
        node = parent[node as usize];
    }
    node
}

/// Gives every copy four nodes of its own, joins those across which the material goes on, and drops copies with the same
/// four nodes, which would double mass and stiffness.
pub(super) fn merge(fine: &FineTets, fragments: &Fragments, copies_of_fine: &CopiesOfFine) -> Merged {
    let mut parent: Vec<u32> = (0..4 * fragments.copies.len() as u32).collect();
    let mut unite = |pairs: Vec<Vec<[u32; 2]>>| {
        for [a, b] in pairs.into_iter().flatten() {
            let (a, b) = (find_root(&mut parent, a), find_root(&mut parent, b));
            parent[a.max(b) as usize] = a.min(b);
        }
    };
    unite(pairs_in_cells(fine, fragments, copies_of_fine));
    unite(pairs_at_nodes(fine, fragments, copies_of_fine));
    number(fragments, &mut parent)
}

/// Pairs of vertices (4 × copy + local node) of copies across a face that a fine cell crosses.
fn pairs_in_cells(fine: &FineTets, fragments: &Fragments, copies_of_fine: &CopiesOfFine) -> Vec<Vec<[u32; 2]>> {
    let of_cell = |fine: u32, pairs: &mut Vec<[u32; 2]>| {
        let copies = copies_of_fine.of(fine);
        for (i, a) in copies.iter().enumerate() {
            for b in &copies[..i] {
                let shared = shared_vertices(fragments, *a, *b);
                if shared.len() == 3 {
                    pairs.extend(shared);
                }
            }
        }
    };
    in_chunks(fine.tets.len(), of_cell)
}

/// Pairs of vertices of copies that hold the same fine node, where the node has weight: then it moves the same way in
/// both.
fn pairs_at_nodes(fine: &FineTets, fragments: &Fragments, copies_of_fine: &CopiesOfFine) -> Vec<Vec<[u32; 2]>> {
    let node_cells = &fine.node_cells;
    let of_node = |node: u32, pairs: &mut Vec<[u32; 2]>| {
        let cells = node_cells.cells(node as usize);
        let mut copies: Vec<u32> = cells.iter().flat_map(|cell| copies_of_fine.of(*cell)).copied().collect();
        copies.sort_unstable();
        copies.dedup();
        if copies.len() < 2 {
            return;
        }
        let mut vertices: Vec<(Node, u32)> = Vec::new();
        for copy in copies {
            let cell = fragments.copies[copy as usize];
            let weights = cell.weights(fine.half_cubes[node as usize]);
            if weights.iter().all(|w| *w >= -TOUCH) {
                let heavy = (0..4).filter(|i| weights[*i] > TOUCH);
                vertices.extend(heavy.map(|i| (cell.nodes()[i], 4 * copy + i as u32)));
            }
        }
        vertices.sort_unstable();
        let same = vertices.windows(2).filter(|pair| pair[0].0 == pair[1].0);
        pairs.extend(same.map(|pair| [pair[0].1, pair[1].1]));
    };
    in_chunks(fine.mesh.node_count(), of_node)
}

/// Calls `work` for 0..count in parallel and keeps the order of what it appends.
fn in_chunks<T: Send>(count: usize, work: impl Fn(u32, &mut Vec<T>) + Sync) -> Vec<Vec<T>> {
    (0..count.div_ceil(CHUNK))
        .into_par_iter()
        .map(|chunk| {
            let mut out = Vec::new();
            for i in chunk * CHUNK..count.min((chunk + 1) * CHUNK) {
                work(i as u32, &mut out);
            }
            out
        })
        .collect()
}

/// Vertices of two copies at the same lattice nodes.
fn shared_vertices(fragments: &Fragments, a: u32, b: u32) -> Vec<[u32; 2]> {
    let nodes_a = fragments.copies[a as usize].nodes();
    let nodes_b = fragments.copies[b as usize].nodes();
    let mut shared = Vec::new();
    for (i, node) in nodes_a.iter().enumerate() {
        if let Some(j) = nodes_b.iter().position(|other| other == node) {
            shared.push([4 * a + i as u32, 4 * b + j as u32]);
        }
    }
    shared
}

/// Numbers what is left.
fn number(fragments: &Fragments, parent: &mut [u32]) -> Merged {
    let copies = &fragments.copies;
    let mut merged = Merged { cells: Vec::new(), tets: Vec::new(), nodes: Vec::new(), cell_of_copy: Vec::new() };
    let mut number_of_root = vec![u32::MAX; parent.len()];
    // First coarse cell of the current lattice cell.
    let mut first = 0;
    for (copy, cell) in copies.iter().enumerate() {
        if copy > 0 && copies[copy - 1] != *cell {
            first = merged.cells.len();
        }
        let mut tet = [0; 4];
        for (i, node) in cell.nodes().into_iter().enumerate() {
            let root = find_root(parent, (4 * copy + i) as u32) as usize;
            if number_of_root[root] == u32::MAX {
                number_of_root[root] = merged.nodes.len() as u32;
                merged.nodes.push(node);
            }
            tet[i] = number_of_root[root];
        }
        let known = merged.tets[first..].iter().position(|other| *other == tet);
        merged.cell_of_copy.push(known.map_or(merged.cells.len(), |known| first + known) as u32);
        if known.is_none() {
            merged.cells.push(*cell);
            merged.tets.push(tet);
        }
    }
    merged
}
