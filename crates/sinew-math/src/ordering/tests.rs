//! Orders are compared by the size of their factor.

use super::*;

/// Graph of a box of nx × ny × nz vertices; `reach` 1 joins face neighbors only, 3 all 26 neighbors.
fn grid(size: [usize; 3], reach: usize) -> Graph {
    let [nx, ny, nz] = size;
    let index = |x: usize, y: usize, z: usize| (x + nx * (y + ny * z)) as u32;
    let (mut offsets, mut columns) = (vec![0u32], Vec::new());
    for z in 0..nz {
        for y in 0..ny {
            for x in 0..nx {
                for w in z.saturating_sub(1)..(z + 2).min(nz) {
                    for v in y.saturating_sub(1)..(y + 2).min(ny) {
                        for u in x.saturating_sub(1)..(x + 2).min(nx) {
                            if u.abs_diff(x) + v.abs_diff(y) + w.abs_diff(z) <= reach {
                                columns.push(index(u, v, w));
                            }
                        }
                    }
                }
                offsets.push(columns.len() as u32);
            }
        }
    }
    Graph::from_rows(&offsets, &columns).unwrap()
}

/// Nested dissection by coordinates: the middle plane of the longest edge of the box, then each half.
fn geometric(size: [usize; 3]) -> Permutation {
    fn dissect(size: [usize; 3], low: [usize; 3], high: [usize; 3], out: &mut Vec<u32>) {
        let axis = (0..3).max_by_key(|&a| high[a] - low[a]).unwrap();
        if high[axis] - low[axis] <= 2 {
            for z in low[2]..high[2] {
                for y in low[1]..high[1] {
                    out.extend((low[0]..high[0]).map(|x| (x + size[0] * (y + size[1] * z)) as u32));
                }
            }
            return;
        }
        let middle = (low[axis] + high[axis]) / 2;
        let (mut left_high, mut plane_low, mut plane_high, mut right_low) = (high, low, high, low);
        left_high[axis] = middle;
        (plane_low[axis], plane_high[axis]) = (middle, middle + 1);
        right_low[axis] = middle + 1;
        dissect(size, low, left_high, out);
        dissect(size, right_low, high, out);
        for z in plane_low[2]..plane_high[2] {
            for y in plane_low[1]..plane_high[1] {
                out.extend((plane_low[0]..plane_high[0]).map(|x| (x + size[0] * (y + size[1] * z)) as u32));
            }
        }
    }
    let mut out = Vec::new();
    dissect(size, [0; 3], size, &mut out);
    Permutation::new(out).unwrap()
}

fn assert_is_permutation(permutation: &Permutation, count: usize) {
    assert_eq!(permutation.len(), count);
    assert_eq!(Permutation::new(permutation.old_from_new().to_vec()).as_ref(), Ok(permutation));
}

#[test]
fn factor_of_a_grid_is_about_as_small_as_with_geometric_dissection() {
    for (size, reach) in [([16, 16, 16], 1), ([16, 16, 16], 3), ([40, 10, 10], 3), ([64, 64, 1], 1)] {
        let graph = grid(size, reach);
        let order = nested_dissection(&graph);
        assert_is_permutation(&order, size.iter().product());
        let ours = factor_size(&graph, &order) as f64;
        let geometric = factor_size(&graph, &geometric(size)) as f64;
        let natural = factor_size(&graph, &Permutation::identity(order.len())) as f64;
        println!("{size:?} reach {reach}: ours {ours}, geometric {geometric}, natural {natural}");
        assert!(ours <= 1.15 * geometric, "{size:?} reach {reach}: {ours} against geometric {geometric}");
        assert!(ours <= 0.9 * natural, "{size:?} reach {reach}: {ours} against natural {natural}");
    }
}

#[test]
fn factor_of_a_large_grid_is_far_below_natural_order() {
    let graph = grid([24, 24, 24], 1);
    let ours = factor_size(&graph, &nested_dissection(&graph));
    let natural = factor_size(&graph, &Permutation::identity(graph.vertex_count()));
    println!("ours {ours}, natural {natural}");
    assert!(3 * ours < natural, "{ours} against natural {natural}");
}

#[test]
fn factor_size_counts_fill_of_small_graphs() {
    // A path eliminated from one end has no fill: n diagonal and n − 1 other entries.
    let path = Graph::from_rows(&[0, 1, 2, 3, 3], &[1, 2, 3]).unwrap();
    assert_eq!(factor_size(&path, &Permutation::identity(4)), 7);
    // A star with the hub first fills completely; with the hub last not at all.
    let star = Graph::from_rows(&[0, 4, 4, 4, 4, 4], &[1, 2, 3, 4]).unwrap();
    assert_eq!(factor_size(&star, &Permutation::identity(5)), 15);
    assert_eq!(factor_size(&star, &Permutation::new(vec![4, 3, 2, 1, 0]).unwrap()), 9);
    assert_eq!(factor_size(&star, &nested_dissection(&star)), 9);
}

#[test]
fn long_path_does_not_exhaust_the_stack_and_has_little_fill() {
    let count = 100_000u32;
    let offsets: Vec<u32> = (0..=count).map(|v| v.min(count - 1)).collect();
    let columns: Vec<u32> = (1..count).collect();
    let path = Graph::from_rows(&offsets, &columns).unwrap();
    let order = nested_dissection(&path);
    assert_is_permutation(&order, count as usize);
    // Dissection of a path doubles the two entries per vertex at worst; natural order has 2 n − 1.
    assert!(factor_size(&path, &order) < 3 * u64::from(count));
}

#[test]
fn a_tree_is_ordered_without_fill_up_to_separators() {
    let count = 5000u32;
    let offsets: Vec<u32> = (0..=count).map(|v| v.saturating_sub(1)).collect();
    let columns: Vec<u32> = (1..count).map(|v| (v - 1) / 2).collect();
    let tree = Graph::from_rows(&offsets, &columns).unwrap();
    assert!(factor_size(&tree, &nested_dissection(&tree)) < 5 * u64::from(count) / 2);
}

#[test]
fn disconnected_star_complete_and_empty_graphs_are_ordered() {
    let isolated = Graph::from_rows(&vec![0; 1001], &[]).unwrap();
    assert_is_permutation(&nested_dissection(&isolated), 1000);

    let mut offsets = vec![0u32, 5000];
    offsets.extend(std::iter::repeat_n(5000, 5000));
    let star = Graph::from_rows(&offsets, &(1..=5000).collect::<Vec<_>>()).unwrap();
    let order = nested_dissection(&star);
    assert_is_permutation(&order, 5001);
    assert_eq!(factor_size(&star, &order), 10_001, "the hub must be eliminated last");

    let complete_offsets: Vec<u32> = (0..=150).map(|v| v * 150).collect();
    let complete_columns: Vec<u32> = (0..150 * 150).map(|i| i % 150).collect();
    let complete = Graph::from_rows(&complete_offsets, &complete_columns).unwrap();
    let order = nested_dissection(&complete);
    assert_is_permutation(&order, 150);
    assert_eq!(factor_size(&complete, &order), 150 * 151 / 2);

    let empty = Graph::from_rows(&[0], &[]).unwrap();
    assert!(nested_dissection(&empty).is_empty());

    // Two disconnected boxes: each is ordered as it would be alone.
    let one = grid([9, 9, 9], 1);
    let mut offsets = one.offsets.clone();
    offsets.extend(one.offsets[1..].iter().map(|&o| o + one.neighbors.len() as u32));
    let mut columns = one.neighbors.clone();
    columns.extend(one.neighbors.iter().map(|&c| c + 729));
    let two = Graph::from_rows(&offsets, &columns).unwrap();
    assert_eq!(factor_size(&two, &nested_dissection(&two)), 2 * factor_size(&one, &nested_dissection(&one)));
}

#[test]
fn separator_leaves_no_edge_between_the_sides() {
    let graph = grid([13, 11, 7], 3);
    let all: Vec<u32> = (0..graph.vertex_count() as u32).collect();
    let part = WeightedGraph::induced(&graph, &all, &mut vec![u32::MAX; all.len()]);
    let labels = separator::find_separator(part);
    let mut sizes = [0usize; 3];
    for v in 0..all.len() {
        sizes[labels[v] as usize] += 1;
        for &u in graph.neighbors(v) {
            assert!(labels[v] == 2 || labels[u as usize] == 2 || labels[v] == labels[u as usize]);
        }
    }
    // The smallest plane of the box has 77 vertices.
    assert!(sizes[2] <= 85 && sizes[0] > 300 && sizes[1] > 300, "{sizes:?}");
}

#[test]
fn wrong_adjacency_is_reported() {
    assert_eq!(Graph::from_rows(&[], &[]), Err(OrderingError::BadOffsets { vertex: 0 }));
    assert_eq!(Graph::from_rows(&[0, 2, 1], &[0]), Err(OrderingError::BadOffsets { vertex: 1 }));
    assert_eq!(Graph::from_rows(&[0, 1], &[0, 0]), Err(OrderingError::BadOffsets { vertex: 1 }));
    let error = OrderingError::NeighborOutOfRange { vertex: 0, neighbor: 7, vertex_count: 1 };
    assert_eq!(Graph::from_rows(&[0, 1], &[7]), Err(error));
    assert_eq!(Permutation::new(vec![0, 2, 2]), Err(OrderingError::NotAPermutation { index: 2 }));
}

#[test]
fn expanded_permutation_keeps_groups_together() {
    let permutation = Permutation::new(vec![2, 0, 1]).unwrap().expanded(3);
    assert_eq!(permutation.old_from_new(), &[6, 7, 8, 0, 1, 2, 3, 4, 5]);
    assert_is_permutation(&permutation, 9);
}

#[test]
fn postorder_keeps_the_size_of_the_factor() {
    let graph = grid([9, 8, 7], 3);
    let mut order: Vec<u32> = (0..graph.vertex_count() as u32).map(|v| (v * 5) % 504).collect();
    let before = factor_size(&graph, &Permutation::new(order.clone()).unwrap());
    elimination::sort_by_postorder(&graph, &mut order);
    assert_eq!(factor_size(&graph, &Permutation::new(order).unwrap()), before);
}
