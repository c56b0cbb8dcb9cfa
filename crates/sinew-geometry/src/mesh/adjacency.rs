//! Adjacency: cells around a node, cells across a face, connected components.

use super::cell::{CellBlock, CellKind};

/// For each node, the cells that use it, in compressed rows, in ascending order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeCells {
    offsets: Vec<usize>,
    cells: Vec<u32>,
}

impl NodeCells {
    /// Counts, then fills: linear time and a fixed order.
    pub(crate) fn new<'a>(node_count: usize, cells: impl Iterator<Item = &'a [u32]> + Clone) -> Self {
        let mut offsets = vec![0; node_count + 1];
        for nodes in cells.clone() {
            for node in nodes {
                offsets[*node as usize + 1] += 1;
            }
        }
        for node in 0..node_count {
            offsets[node + 1] += offsets[node];
        }
        let mut next = offsets.clone();
        let mut entries = vec![0; offsets[node_count]];
        for (cell, nodes) in cells.enumerate() {
            for node in nodes {
                let slot = &mut next[*node as usize];
                entries[*slot] = cell as u32;
                *slot += 1;
            }
        }
        Self { offsets, cells: entries }
    }

    /// The cells that use the node.
    pub fn cells(&self, node: usize) -> &[u32] {
        &self.cells[self.offsets[node]..self.offsets[node + 1]]
    }

    /// Number of nodes.
    pub fn node_count(&self) -> usize {
        self.offsets.len() - 1
    }
}

/// One face of one cell, keyed by its sorted nodes so that both sides of an inner face have equal keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FaceUse {
    /// Sorted nodes; triangles are padded with `u32::MAX`.
    pub key: [u32; 4],
    pub cell: u32,
    pub local: u8,
}

/// All faces of all cells, equal keys next to each other.
pub(crate) fn sorted_faces(node_count: usize, blocks: &[CellBlock]) -> Vec<FaceUse> {
    let face_count: usize = blocks.iter().map(|b| b.cell_count() * b.kind.faces().len()).sum();
    // Bucket by the smallest node first: buckets are tiny, so sorting them takes linear time in total.
    let mut offsets = vec![0_usize; node_count + 1];
    for_each_face(blocks, |face| offsets[face.key[0] as usize + 1] += 1);
    for node in 0..node_count {
        offsets[node + 1] += offsets[node];
    }
    let mut next = offsets.clone();
    let mut faces = vec![FaceUse { key: [0; 4], cell: 0, local: 0 }; face_count];
    for_each_face(blocks, |face| {
        let slot = &mut next[face.key[0] as usize];
        faces[*slot] = face;
        *slot += 1;
    });
    for node in 0..node_count {
        faces[offsets[node]..offsets[node + 1]].sort_unstable();
    }
    faces
}

fn for_each_face(blocks: &[CellBlock], mut f: impl FnMut(FaceUse)) {
    let mut cell = 0;
    for block in blocks {
        for nodes in block.cells() {
            for (local, face) in block.kind.faces().iter().enumerate() {
                let mut key = [u32::MAX; 4];
                for (slot, node) in key.iter_mut().zip(face.iter()) {
                    *slot = nodes[*node];
                }
                key[..face.len()].sort_unstable();
                f(FaceUse { key, cell, local: local as u8 });
            }
            cell += 1;
        }
    }
}

/// The nodes of a face counterclockwise from outside, starting with the smallest; the fourth is `None` for triangles.
pub(crate) fn rotated_face(kind: CellKind, nodes: &[u32], local: u8) -> ([u32; 3], Option<u32>) {
    let face = kind.faces()[local as usize];
    let n = face.len();
    let start = (0..n).min_by_key(|i| nodes[face[*i]]).unwrap_or(0);
    let at = |i: usize| nodes[face[(start + i) % n]];
    ([at(0), at(1), at(2)], (n == 4).then(|| at(3)))
}

/// The midpoint nodes of the edges ab, bc, ca of a face with these corners; `None` for cells without such nodes.
pub(crate) fn middles_of_face(kind: CellKind, nodes: &[u32], [a, b, c]: [u32; 3]) -> Option<[u32; 3]> {
    let local = |node: u32| nodes.iter().position(|other| *other == node);
    let middle = |a: u32, b: u32| Some(nodes[kind.middle(local(a)?, local(b)?)?]);
    Some([middle(a, b)?, middle(b, c)?, middle(c, a)?])
}

/// For each face of each cell, the cell on the other side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaceAdjacency {
    /// First face of each cell in `neighbors`.
    offsets: Vec<usize>,
    neighbors: Vec<u32>,
}

impl FaceAdjacency {
    pub(crate) fn new(node_count: usize, blocks: &[CellBlock]) -> Self {
        let mut offsets = vec![0];
        let mut total = 0;
        for block in blocks {
            for _ in 0..block.cell_count() {
                total += block.kind.faces().len();
                offsets.push(total);
            }
        }
        let mut neighbors = vec![u32::MAX; total];
        let faces = sorted_faces(node_count, blocks);
        for pair in faces.windows(2).filter(|pair| pair[0].key == pair[1].key) {
            let [a, b] = [pair[0], pair[1]];
            neighbors[offsets[a.cell as usize] + a.local as usize] = b.cell;
            neighbors[offsets[b.cell as usize] + b.local as usize] = a.cell;
        }
        Self { offsets, neighbors }
    }

    /// The cell across the local face, or `None` on the boundary.
    pub fn neighbor(&self, cell: usize, local_face: usize) -> Option<u32> {
        let neighbor = self.neighbors[self.offsets[cell] + local_face];
        (neighbor != u32::MAX).then_some(neighbor)
    }

    /// The cells across the faces of a cell, in the order of the faces; `None` on the boundary.
    pub fn neighbors(&self, cell: usize) -> impl Iterator<Item = Option<u32>> + '_ {
        self.neighbors[self.offsets[cell]..self.offsets[cell + 1]].iter().map(|n| (*n != u32::MAX).then_some(*n))
    }
}

/// Connected components: parts that share no node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Components {
    /// For each cell (or triangle), the number of its component, counted from zero in order of first appearance.
    pub component_of: Vec<u32>,
    /// Number of components.
    pub count: usize,
}

impl Components {
    /// Joins cells that share a node.
    pub(crate) fn new<'a>(node_count: usize, cells: impl Iterator<Item = &'a [u32]> + Clone) -> Self {
        let mut parent: Vec<u32> = (0..node_count as u32).collect();
        for nodes in cells.clone() {
            let root = find_root(&mut parent, nodes[0]);
            for node in &nodes[1..] {
                let other = find_root(&mut parent, *node);
                parent[other as usize] = root;
            }
        }
        let mut number_of_root = vec![u32::MAX; node_count];
        let mut count = 0;
        let mut component_of = Vec::new();
        for nodes in cells {
            let root = find_root(&mut parent, nodes[0]) as usize;
            if number_of_root[root] == u32::MAX {
                number_of_root[root] = count;
                count += 1;
            }
            component_of.push(number_of_root[root]);
        }
        Self { component_of, count: count as usize }
    }
}

/// Root of the union-find tree, halving the path on the way.
pub(crate) fn find_root(parent: &mut [u32], mut node: u32) -> u32 {
    while parent[node as usize] != node {
        parent[node as usize] = parent[parent[node as usize] as usize];
        node = parent[node as usize];
    }
    node
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two tetrahedra share the face 1-2-3; a third is separate.
    fn three_tets() -> CellBlock {
        CellBlock::tets(&[[0, 1, 2, 3], [1, 2, 3, 4], [5, 6, 7, 8]])
    }

    #[test]
    fn cells_round_a_node_are_listed_in_order() {
        let block = three_tets();
        let node_cells = NodeCells::new(9, block.cells());
        assert_eq!(node_cells.cells(0), [0]);
        assert_eq!(node_cells.cells(2), [0, 1]);
        assert_eq!(node_cells.cells(8), [2]);
    }

    #[test]
    fn shared_face_connects_both_cells() {
        let adjacency = FaceAdjacency::new(9, &[three_tets()]);
        assert_eq!(adjacency.neighbor(0, 0), Some(1));
        assert_eq!(adjacency.neighbor(1, 3), Some(0));
        assert_eq!(adjacency.neighbors(2).flatten().count(), 0);
    }

    #[test]
    fn components_are_counted_in_order_of_appearance() {
        let block = three_tets();
        let components = Components::new(9, block.cells());
        assert_eq!(components, Components { component_of: vec![0, 0, 1], count: 2 });
    }
}
