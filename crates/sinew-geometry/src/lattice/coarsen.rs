//! Coarser lattices with cells of double size that preserve the separation of the finer ones.

use super::hex_lattice::HexLattice;
use super::nodes::{NodeMerger, Seed, corner_place};
use crate::mesh::find_root;

/// A lattice with cells of double size, and its relation to the finer one.
#[derive(Clone, Debug, PartialEq)]
pub struct Coarsening {
    /// The coarse lattice.
    pub lattice: HexLattice,
    /// The coarse cell of each fine cell.
    pub parent: Vec<u32>,
    /// Interpolation from coarse to fine nodes.
    pub prolongation: Prolongation,
}

/// Trilinear interpolation of each fine node from up to eight coarse nodes.
///
/// A fine node lies at a corner of a coarse cell, or at the middle of an edge, a face or the cell, so its weights are
/// equal: 1, ½, ¼ or ⅛, one over their number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prolongation {
    /// Start of the coarse nodes of each fine one, and the end.
    offsets: Vec<usize>,
    coarse_nodes: Vec<u32>,
}

impl Prolongation {
    /// Number of fine nodes.
    pub fn node_count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The coarse nodes of a fine one; the weight of each is one over their number.
    pub fn coarse_nodes(&self, fine_node: usize) -> &[u32] {
        &self.coarse_nodes[self.offsets[fine_node]..self.offsets[fine_node + 1]]
    }

    /// Coarse nodes and weights of a fine node.
    pub fn row(&self, fine_node: usize) -> impl Iterator<Item = (u32, f64)> + '_ {
        let nodes = self.coarse_nodes(fine_node);
        nodes.iter().map(move |node| (*node, 1.0 / nodes.len() as f64))
    }
}

/// Corners of a coarse cell with nonzero weight at a fine node, `offset` ∈ {0, 1, 2}³ fine edges from its lower corner.
fn carriers(offset: [u32; 3]) -> impl Iterator<Item = usize> {
    (0..8_usize)
        .filter(move |corner| (0..3).all(|axis| offset[axis] == 1 || offset[axis] == 2 * (*corner as u32 >> axis & 1)))
}

impl HexLattice {
    /// The lattice of cubes of double size, rounded up to even numbers of cubes.
    ///
    /// The copies in a coarse cube are the connected components of its fine cells (connected through common faces). Two
    /// corners of coarse cells become one node if a common fine node needs both. So a fine node has the same coarse
    /// nodes in all its cells, and interpolation is well defined. Fine cells with a common face then have parents with
    /// a common face, since the center of the coarse face is a node of each of its four parts. Nothing else is joined,
    /// since fine nodes are shared only through chains of faces.
    pub fn coarsen(&self) -> Coarsening {
        let coarse_place = |cell: usize| self.cells[cell].place.map(|i| i / 2);
        let mut root_of: Vec<u32> = (0..self.cells.len() as u32).collect();
        self.for_each_face_pair(|_, a, b| {
            if coarse_place(a) == coarse_place(b) {
                let (a, b) = (find_root(&mut root_of, a as u32), find_root(&mut root_of, b as u32));
                root_of[a.max(b) as usize] = a.min(b);
            }
        });
        for cell in 0..self.cells.len() as u32 {
            root_of[cell as usize] = find_root(&mut root_of, cell);
        }

        let mut roots: Vec<u32> =
            (0..self.cells.len() as u32).filter(|cell| root_of[*cell as usize] == *cell).collect();
        roots.sort_unstable_by_key(|root| (coarse_place(*root as usize), *root));
        let mut number = vec![0; self.cells.len()];
        for (coarse, root) in roots.iter().enumerate() {
            number[*root as usize] = coarse as u32;
        }
        let mut parent: Vec<u32> = root_of.iter().map(|root| number[*root as usize]).collect();
        let mut fractions = vec![0.0_f32; roots.len()];
        for (cell, parent) in self.cells.iter().zip(&parent) {
            fractions[*parent as usize] += cell.fraction / 8.0;
        }
        let seed =
            |(root, fraction): (&u32, &f32)| Seed { place: coarse_place(*root as usize), fraction: fraction.min(1.0) };
        let mut merger = NodeMerger::new(roots.iter().zip(&fractions).map(seed).collect());

        // The coarse cell through which each fine node was first reached.
        let mut first = vec![u32::MAX; self.node_places.len()];
        for (cell, parent) in self.cells.iter().zip(&parent) {
            for (corner, node) in cell.nodes.iter().enumerate() {
                let first = &mut first[*node as usize];
                if *first == u32::MAX {
                    *first = *parent;
                } else if *first != *parent {
                    let [a, b] = [*first, *parent].map(|coarse| {
                        let base = merger.seeds()[coarse as usize].place;
                        let place = corner_place(cell.place, corner);
                        let offset = [0, 1, 2].map(|axis| place[axis] - 2 * base[axis]);
                        carriers(offset).map(move |carrier| 8 * coarse + carrier as u32)
                    });
                    // Both list their coarse nodes in the same order.
                    for (a, b) in a.zip(b) {
                        merger.join(a, b);
                    }
                }
            }
        }
        let cubes = self.cubes.map(|n| n.div_ceil(2));
        let (lattice, cell_of) = merger.into_lattice(self.origin, 2.0 * self.cell, cubes);
        for parent in &mut parent {
            *parent = cell_of[*parent as usize];
        }

        let mut offsets = Vec::with_capacity(first.len() + 1);
        let mut coarse_nodes = Vec::new();
        offsets.push(0);
        for (place, coarse) in self.node_places.iter().zip(&first) {
            if let Some(coarse) = cell_of.get(*coarse as usize).map(|coarse| &lattice.cells[*coarse as usize]) {
                let offset = [0, 1, 2].map(|axis| place[axis] - 2 * coarse.place[axis]);
                coarse_nodes.extend(carriers(offset).map(|carrier| coarse.nodes[carrier]));
            }
            offsets.push(coarse_nodes.len());
        }
        Coarsening { lattice, parent, prolongation: Prolongation { offsets, coarse_nodes } }
    }
}
