//! Merges the corners of cells into nodes.
//!
//! Every cell starts with eight separate nodes; connected cells join their common corners. The roots of the union–find
//! forest become the nodes.

use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;

use super::hex_lattice::{HexLattice, LatticeCell};
use crate::mesh::find_root;

/// A cell before its nodes are assigned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seed {
    pub place: [u32; 3],
    pub fraction: f32,
}

/// Joins corners of cells.
pub(super) struct NodeMerger {
    seeds: Vec<Seed>,
    /// Forest over 8 · cell + corner; each root is the smallest entry of its tree.
    parent: Vec<u32>,
}

impl NodeMerger {
    /// Cells sorted by place; at most 2²⁹, so that corner indices fit 32 bits.
    pub fn new(seeds: Vec<Seed>) -> Self {
        debug_assert!(seeds.is_sorted_by_key(|seed| seed.place), "cells must be sorted by place");
        let parent = (0..8 * seeds.len() as u32).collect();
        Self { seeds, parent }
    }

    pub fn seeds(&self) -> &[Seed] {
        &self.seeds
    }

    /// Joins two corners, given as 8 · cell + corner.
    pub fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (find_root(&mut self.parent, a), find_root(&mut self.parent, b));
        // The smaller index becomes the root, so the result does not depend on the order of joins.
        self.parent[a.max(b) as usize] = a.min(b);
    }

    /// Joins the upper face of `a` along the axis with the lower face of `b`.
    pub fn join_faces(&mut self, axis: usize, a: u32, b: u32) {
        let upper = 1 << axis;
        for corner in (0..8).filter(|corner| corner & upper == 0) {
            self.join(8 * a + (corner | upper), 8 * b + corner);
        }
    }

    /// Joins all corners at the same place, connected by flesh or not.
    pub fn join_places(&mut self, cubes: [usize; 3]) {
        let [_, ny, nz] = cubes.map(|n| n + 1);
        let mut first = vec![u32::MAX; cubes.iter().map(|n| n + 1).product()];
        for cell in 0..self.seeds.len() {
            for corner in 0..8 {
                let [x, y, z] = corner_place(self.seeds[cell].place, corner).map(|i| i as usize);
                let first = &mut first[(x * ny + y) * nz + z];
                let own = (8 * cell + corner) as u32;
                *first = own.min(*first);
                self.parent[own as usize] = *first;
            }
        }
    }

    /// Numbers the nodes by place, and merges copies that ended up with the same eight nodes: they cannot move apart.
    /// Also returns the lattice cell of each input cell.
    pub fn into_lattice(mut self, origin: Vec3, cell: f64, cubes: [usize; 3]) -> (HexLattice, Vec<u32>) {
        let mut roots = Vec::new();
        for own in 0..self.parent.len() as u32 {
            let root = find_root(&mut self.parent, own);
            self.parent[own as usize] = root;
            if root == own {
                roots.push((corner_place(self.seeds[own as usize / 8].place, own as usize % 8), own));
            }
        }
        // x varies fastest, as in sweeps over a lattice.
        roots.par_sort_unstable_by_key(|&([x, y, z], own)| ([z, y, x], own));
        let mut number = vec![0; self.parent.len()];
        for (node, (_, root)) in roots.iter().enumerate() {
            number[*root as usize] = node as u32;
        }

        let mut cells: Vec<LatticeCell> = Vec::with_capacity(self.seeds.len());
        let mut cell_of = Vec::with_capacity(self.seeds.len());
        // First copy in the cube of the last cell.
        let mut begin = 0;
        for (seed, parent) in self.seeds.iter().zip(self.parent.chunks_exact(8)) {
            let mut nodes = [0; 8];
            for (node, root) in nodes.iter_mut().zip(parent) {
                *node = number[*root as usize];
            }
            if cells.get(begin).is_some_and(|first| first.place != seed.place) {
                begin = cells.len();
            }
            let twin = (begin..cells.len()).find(|copy| cells[*copy].nodes == nodes);
            if let Some(twin) = twin {
                cells[twin].fraction = (cells[twin].fraction + seed.fraction).min(1.0);
            } else {
                cells.push(LatticeCell { place: seed.place, nodes, fraction: seed.fraction });
            }
            cell_of.push(twin.unwrap_or(cells.len() - 1) as u32);
        }
        let node_places = roots.into_iter().map(|(place, _)| place).collect();
        (HexLattice { origin, cell, cubes, cells, node_places }, cell_of)
    }
}

/// Place of a corner of a cell.
pub(super) fn corner_place(place: [u32; 3], corner: usize) -> [u32; 3] {
    [0, 1, 2].map(|axis| place[axis] + (corner >> axis & 1) as u32)
}
