//! What is connected within a lattice cell: the copies of it.

use sinew_geometry::CellMesh;
use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;

use super::build::FineTets;
use super::lattice_cell::LatticeCell;
use super::merge::find_root;
use super::overlap::{Overlap, TOUCH, add_overlaps, meets};

/// Fine cells of one task: enough to pay for it.
const CHUNK: usize = 4096;

/// A part of a fine cell in a lattice cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// The lattice cell.
    pub lattice_cell: LatticeCell,
    /// The fine cell.
    pub fine: u32,
    /// Whether the fine cell lies in no other lattice cell.
    pub is_whole: bool,
    /// Volume of the part, as a fraction of the lattice cell.
    pub volume: f64,
}

/// Parts sorted by lattice cell, then by fine cell, and the copy that each belongs to.
pub(super) struct Fragments {
    /// All parts.
    pub parts: Vec<Part>,
    /// For each part its copy. Copies of one lattice cell follow each other.
    pub copy_of_part: Vec<u32>,
    /// The lattice cell of each copy.
    pub copies: Vec<LatticeCell>,
}

impl Fragments {
    /// Cuts a mesh along the lattice and joins what is connected within each lattice cell.
    pub fn new(fine: &FineTets) -> Self {
        let parts = sorted_parts(fine);
        let groups: Vec<&[Part]> = parts.chunk_by(|a, b| a.lattice_cell == b.lattice_cell).collect();
        // One piece per thread keeps the number of node tables small; the result does not depend on the pieces.
        let piece = groups.len().div_ceil(4 * rayon::current_num_threads()).max(1);
        let joined: Vec<(Vec<u32>, Vec<u32>)> = groups
            .par_chunks(piece)
            .map(|groups| {
                let mut scratch = Scratch::new(fine.mesh);
                let mut counts = Vec::with_capacity(groups.len());
                let mut fragments = Vec::new();
                for group in groups {
                    counts.push(scratch.join(fine, group, &mut fragments));
                }
                (counts, fragments)
            })
            .collect();
        let counts = joined.iter().flat_map(|(counts, _)| counts);
        let mut copies = Vec::new();
        let mut copy_of_part: Vec<u32> = joined.iter().flat_map(|(_, fragments)| fragments).copied().collect();
        let mut part = 0;
        for (group, count) in groups.iter().zip(counts) {
            let first = copies.len() as u32;
            for copy in &mut copy_of_part[part..part + group.len()] {
                *copy += first;
            }
            part += group.len();
            copies.resize(copies.len() + *count as usize, group[0].lattice_cell);
        }
        Self { copy_of_part, copies, parts }
    }
}

/// The parts of all fine cells, by lattice cell in the order of cubes.
fn sorted_parts(fine: &FineTets) -> Vec<Part> {
    let pieces: Vec<Vec<Part>> = fine
        .tets
        .par_chunks(CHUNK)
        .enumerate()
        .map(|(chunk, tets)| {
            let mut parts = Vec::with_capacity(tets.len() * 3 / 2);
            let mut overlaps: Vec<Overlap> = Vec::new();
            for (i, tet) in tets.iter().enumerate() {
                overlaps.clear();
                add_overlaps(tet.map(|node| fine.half_cubes[node as usize]), &mut overlaps);
                parts.extend(overlaps.iter().map(|overlap| Part {
                    lattice_cell: overlap.cell,
                    fine: (chunk * CHUNK + i) as u32,
                    is_whole: overlap.is_whole,
                    volume: overlap.volume,
                }));
            }
            parts
        })
        .collect();
    let mut parts = pieces.concat();
    parts.par_sort_unstable_by_key(|part| (sort_key(part.lattice_cell), part.fine));
    parts
}

/// Order of lattice cells: by cube of the base node, z slowest, so that neighbors get close numbers.
pub(super) fn sort_key(cell: LatticeCell) -> ([i32; 3], bool, u8) {
    let [x, y, z] = cell.base.map(|n| n.div_euclid(2));
    ([z, y, x], cell.base[0].rem_euclid(2) == 1, cell.class)
}

/// Which part of the current lattice cell was the first at each node of the fine mesh.
struct Scratch {
    /// (Stamp of the lattice cell, part).
    first_at_node: Vec<(u32, u32)>,
    stamp: u32,
    parent: Vec<u32>,
}

impl Scratch {
    fn new(mesh: &CellMesh) -> Self {
        Self { first_at_node: vec![(0, 0); mesh.node_count()], stamp: 0, parent: Vec::new() }
    }

    /// Appends the fragment of each part of one lattice cell, counted from zero in order of appearance, and returns how
    /// many there are.
    fn join(&mut self, fine: &FineTets, group: &[Part], out: &mut Vec<u32>) -> u32 {
        self.stamp += 1;
        self.parent.clear();
        self.parent.extend(0..group.len() as u32);
        for (i, part) in group.iter().enumerate() {
            for node in fine.tets[part.fine as usize] {
                if part.is_whole || fine.is_inside(part.lattice_cell, node) {
                    self.visit(node, i as u32);
                }
            }
        }
        self.join_across_sides(fine, group);
        let mut number = vec![u32::MAX; group.len()];
        let mut count = 0;
        for i in 0..group.len() {
            let root = find_root(&mut self.parent, i as u32) as usize;
            if number[root] == u32::MAX {
                number[root] = count;
                count += 1;
            }
            out.push(number[root]);
        }
        count
    }

    /// Joins a part to the first one at a node.
    fn visit(&mut self, node: u32, part: u32) {
        let (stamp, first) = self.first_at_node[node as usize];
        if stamp == self.stamp {
            self.unite(first, part);
        } else {
            self.first_at_node[node as usize] = (self.stamp, part);
        }
    }

    fn unite(&mut self, a: u32, b: u32) {
        let (a, b) = (find_root(&mut self.parent, a), find_root(&mut self.parent, b));
        self.parent[a.max(b) as usize] = a.min(b);
    }

    /// Joins fine cells whose common edge or face passes through the lattice cell, with all its nodes outside.
    fn join_across_sides(&mut self, fine: &FineTets, group: &[Part]) {
        let mut sides: Vec<([u32; 3], u32)> = Vec::new();
        for (i, part) in group.iter().enumerate().filter(|(_, part)| !part.is_whole) {
            let mut nodes = fine.tets[part.fine as usize];
            nodes.sort_unstable();
            let is_outside = nodes.map(|node| !fine.is_inside(part.lattice_cell, node));
            for (sides_nodes, all) in SIDES {
                if all.iter().all(|k| is_outside[*k]) {
                    sides.push((sides_nodes.map(|k| k.map_or(u32::MAX, |k| nodes[k])), i as u32));
                }
            }
        }
        sides.sort_unstable();
        for same in sides.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() > 1) {
            let cell = group[same[0].1 as usize].lattice_cell;
            let nodes = same[0].0.iter().filter(|node| **node != u32::MAX);
            let corners: Vec<[f64; 4]> = nodes.map(|node| cell.weights(fine.half_cubes[*node as usize])).collect();
            if meets(&corners) {
                same.windows(2).for_each(|pair| self.unite(pair[0].1, pair[1].1));
            }
        }
    }
}

/// Edges and faces of a tetrahedron: local nodes, and the same as a list.
const SIDES: [([Option<usize>; 3], &[usize]); 10] = [
    ([Some(0), Some(1), None], &[0, 1]),
    ([Some(0), Some(2), None], &[0, 2]),
    ([Some(0), Some(3), None], &[0, 3]),
    ([Some(1), Some(2), None], &[1, 2]),
    ([Some(1), Some(3), None], &[1, 3]),
    ([Some(2), Some(3), None], &[2, 3]),
    ([Some(0), Some(1), Some(2)], &[0, 1, 2]),
    ([Some(0), Some(1), Some(3)], &[0, 1, 3]),
    ([Some(0), Some(2), Some(3)], &[0, 2, 3]),
    ([Some(1), Some(2), Some(3)], &[1, 2, 3]),
];

impl FineTets<'_> {
    /// Whether a node lies in a closed lattice cell.
    pub(super) fn is_inside(&self, cell: LatticeCell, node: u32) -> bool {
        is_in(cell, self.half_cubes[node as usize])
    }
}

/// Whether a point in half cubes lies in a closed lattice cell.
pub(super) fn is_in(cell: LatticeCell, p: Vec3) -> bool {
    cell.weights(p).iter().all(|w| *w >= -TOUCH)
}
