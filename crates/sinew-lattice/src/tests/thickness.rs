//! Thickness of flesh in cells.

use super::*;
use crate::thickness::thickness_of;

/// Largest cube that contains each cell, by brute force.
fn by_trying(cells: &HexLattice, most: u8) -> Vec<u8> {
    let is_full = |place: [i64; 3]| cells.cells.iter().any(|cell| cell.place.map(i64::from) == place);
    let cube = |edge: i64| move |k: i64| [k % edge, k / edge % edge, k / edge / edge];
    let is_in = |place: [u32; 3], edge: i64| {
        let offsets = || (0..edge.pow(3)).map(cube(edge));
        offsets().any(|back| {
            offsets().all(|on| is_full([0, 1, 2].map(|axis| i64::from(place[axis]) - back[axis] + on[axis])))
        })
    };
    let thickness = |place| (1..=most).rev().find(|&edge| is_in(place, i64::from(edge))).unwrap_or(0);
    cells.cells.iter().map(|cell| thickness(cell.place)).collect()
}

#[test]
fn thickness_is_the_edge_of_the_largest_cube() {
    let beam = dense([9, 3, 5]);
    assert!(thickness_of(&beam, 8).iter().all(|&thickness| thickness == 3));
    assert!(thickness_of(&beam, 2).iter().all(|&thickness| thickness == 2));
    // A palm with a thick and a thin finger, a single cell on its back and a hole.
    let hand = carved([11, 8, 5], |[x, y, z]| match (x, y, z) {
        (2, 2, 2) => false,
        (0..5, _, 0..4) => true,
        (5.., 1..3, 1..3) | (5.., 6, 1) | (3, 5, 4) => true,
        _ => false,
    });
    let thickness = thickness_of(&hand, 4);
    assert_eq!(thickness, by_trying(&hand, 4));
    let at = |place: [u32; 3]| thickness[hand.cells.iter().position(|cell| cell.place == place).unwrap()];
    assert_eq!([at([4, 6, 1]), at([10, 1, 2]), at([9, 6, 1]), at([3, 5, 4])], [4, 2, 1, 1]);
}

/// Adjacent but unconnected layers each have their own thickness.
#[test]
fn separate_parts_are_thin() {
    let mut layers = dense([6, 4, 2]);
    assert!(thickness_of(&layers, 4).iter().all(|&thickness| thickness == 2));
    // The cells of every other layer get separate nodes.
    let count = layers.node_places.len() as u32;
    let copies = layers.node_places.clone();
    layers.node_places.extend(copies);
    for cell in layers.cells.iter_mut().filter(|cell| cell.place[1] % 2 == 1) {
        cell.nodes = cell.nodes.map(|node| node + count);
    }
    assert!(thickness_of(&layers, 4).iter().all(|&thickness| thickness == 1));
}
