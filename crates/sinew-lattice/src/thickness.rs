//! Thickness of flesh, in cells.

use sinew_geometry::lattice::{HexLattice, LatticeCell};

const NONE: u32 = u32::MAX;

/// Edge of the largest cube of connected cells that contains each cell, at most `most`. Cells at the same position
/// count once for each part of the body.
pub(crate) fn thickness_of(lattice: &HexLattice, most: u8) -> Vec<u8> {
    let cells = &lattice.cells;
    // Cell that has each node as its corner k.
    let mut around = vec![[NONE; 8]; lattice.node_places.len()];
    for (cell, LatticeCell { nodes, .. }) in cells.iter().enumerate() {
        for (k, &node) in nodes.iter().enumerate() {
            around[node as usize][k] = cell as u32;
        }
    }
    // Largest cube whose uppermost cell this is: one more than the smallest of the cells next to it further down. Cells
    // are sorted by position, so those are done.
    let mut cubes = vec![0u8; cells.len()];
    for (cell, LatticeCell { nodes, .. }) in cells.iter().enumerate() {
        let below = &around[nodes[0] as usize][1..];
        let least = below.iter().map(|&cell| cubes.get(cell as usize).map_or(0, |cube| *cube)).min();
        cubes[cell] = most.min(1 + least.unwrap_or(0));
    }
    let mut thickness = vec![1; cells.len()];
    // How far down from here a cube still extends.
    let mut reach = vec![0u8; cells.len()];
    for edge in 2..=most {
        for (cell, LatticeCell { nodes, .. }) in cells.iter().enumerate().rev() {
            let above = &around[nodes[7] as usize][..7];
            let farthest = above.iter().filter_map(|&cell| reach.get(cell as usize)).max().map_or(0, |reach| *reach);
            reach[cell] = if cubes[cell] >= edge { edge } else { farthest.saturating_sub(1) };
            if reach[cell] > 0 {
                thickness[cell] = edge;
            }
        }
    }
    thickness
}
