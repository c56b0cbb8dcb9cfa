//! A flat bounding volume hierarchy over boxes.
//!
//! Built by splitting the longest axis at the median, so the depth is ⌈log₂ n⌉ for any input, and the same input always
//! gives the same tree.

use sinew_math::Vec3;

use crate::mesh::Aabb;

/// Largest number of items in a leaf: below this, testing boxes one by one is as cheap as descending.
const LEAF_SIZE: usize = 4;

/// One node of the tree: a leaf when `right` is zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BvhNode {
    pub bounds: Aabb,
    /// Range in the item order.
    pub begin: u32,
    pub end: u32,
    /// Right child; the left child follows its parent directly. Zero for a leaf.
    pub right: u32,
}

/// A static tree over the boxes of items.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bvh {
    nodes: Vec<BvhNode>,
    order: Vec<u32>,
    boxes: Vec<Aabb>,
}

impl Bvh {
    /// Builds the tree over items 0‥n with these boxes.
    pub fn new(boxes: Vec<Aabb>) -> Self {
        let centers: Vec<Vec3> = boxes.iter().map(Aabb::center).collect();
        let mut order: Vec<u32> = (0..boxes.len() as u32).collect();
        let mut nodes = Vec::with_capacity(2 * boxes.len() / LEAF_SIZE + 1);
        if !boxes.is_empty() {
            build(&boxes, &centers, &mut order, 0, &mut nodes);
        }
        Self { nodes, order, boxes }
    }

    /// All nodes; the root is the first.
    pub fn nodes(&self) -> &[BvhNode] {
        &self.nodes
    }

    /// The items of a node.
    pub fn items(&self, node: &BvhNode) -> &[u32] {
        &self.order[node.begin as usize..node.end as usize]
    }

    /// Calls `visit` for each item whose box overlaps `query`, until it returns `false`.
    pub fn for_each_overlap(&self, query: &Aabb, mut visit: impl FnMut(u32) -> bool) {
        let mut stack = Vec::with_capacity(64);
        if !self.nodes.is_empty() {
            stack.push(0);
        }
        while let Some(index) = stack.pop() {
            let node = &self.nodes[index as usize];
            if !node.bounds.overlaps(query) {
                continue;
            }
            if node.right == 0 {
                for item in self.items(node) {
                    if self.boxes[*item as usize].overlaps(query) && !visit(*item) {
                        return;
                    }
                }
            } else {
                stack.push(node.right);
                stack.push(index + 1);
            }
        }
    }

    /// The item nearest to `p` by the squared distance `distance_squared`; ties go to the lower item number.
    pub fn nearest(&self, p: Vec3, mut distance_squared: impl FnMut(u32) -> f64) -> Option<(u32, f64)> {
        let mut best: Option<(u32, f64)> = None;
        let mut stack = Vec::with_capacity(64);
        if let Some(root) = self.nodes.first() {
            stack.push((0_u32, root.bounds.distance_squared(p)));
        }
        while let Some((index, bound)) = stack.pop() {
            if best.is_some_and(|(_, d)| bound > d) {
                continue;
            }
            let node = &self.nodes[index as usize];
            if node.right == 0 {
                for item in self.items(node) {
                    let d = distance_squared(*item);
                    if best.is_none_or(|(i, b)| d < b || (d == b && *item < i)) {
                        best = Some((*item, d));
                    }
                }
            } else {
                let left = (index + 1, self.nodes[index as usize + 1].bounds.distance_squared(p));
                let right = (node.right, self.nodes[node.right as usize].bounds.distance_squared(p));
                // The nearer child is popped first.
                if left.1 <= right.1 {
                    stack.extend([right, left]);
                } else {
                    stack.extend([left, right]);
                }
            }
        }
        best
    }
}

fn build(boxes: &[Aabb], centers: &[Vec3], order: &mut [u32], begin: u32, nodes: &mut Vec<BvhNode>) {
    let mut bounds = Aabb::EMPTY;
    let mut center_bounds = Aabb::EMPTY;
    for item in order.iter() {
        bounds = bounds.union(&boxes[*item as usize]);
        center_bounds.include(centers[*item as usize]);
    }
    let index = nodes.len();
    nodes.push(BvhNode { bounds, begin, end: begin + order.len() as u32, right: 0 });
    if order.len() <= LEAF_SIZE {
        return;
    }
    let size = center_bounds.size();
    let axis = if size.x >= size.y && size.x >= size.z {
        0
    } else if size.y >= size.z {
        1
    } else {
        2
    };
    let middle = order.len() / 2;
    // The item number breaks ties, so that the tree does not depend on the selection algorithm.
    order.select_nth_unstable_by(middle, |a, b| {
        centers[*a as usize][axis].total_cmp(&centers[*b as usize][axis]).then(a.cmp(b))
    });
    let (left, right) = order.split_at_mut(middle);
    build(boxes, centers, left, begin, nodes);
    nodes[index].right = nodes.len() as u32;
    build(boxes, centers, right, begin + middle as u32, nodes);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scattered small boxes from a multiplicative sequence with irrational steps.
    fn scattered_boxes(n: usize) -> Vec<Aabb> {
        (0..n)
            .map(|i| {
                let t = i as f64;
                let p = Vec3::new((t * 0.618_034).fract(), (t * 0.754_877).fract(), (t * 0.569_840).fract());
                Aabb { min: p, max: p + Vec3::splat(0.03) }
            })
            .collect()
    }

    #[test]
    fn overlap_query_equals_brute_force() {
        let boxes = scattered_boxes(500);
        let bvh = Bvh::new(boxes.clone());
        let query = Aabb { min: Vec3::new(0.2, 0.3, 0.1), max: Vec3::new(0.5, 0.6, 0.9) };
        let mut found = Vec::new();
        bvh.for_each_overlap(&query, |item| {
            found.push(item);
            true
        });
        found.sort_unstable();
        let expected: Vec<u32> = (0..500).filter(|i| boxes[*i as usize].overlaps(&query)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn nearest_equals_brute_force() {
        let boxes = scattered_boxes(300);
        let bvh = Bvh::new(boxes.clone());
        for p in [Vec3::splat(0.5), Vec3::new(2.0, -1.0, 0.3), Vec3::new(0.1, 0.9, 0.4)] {
            let distance = |i: u32| boxes[i as usize].center().distance(p).powi(2);
            let (item, d) = bvh.nearest(p, distance).unwrap();
            let expected = (0..300).map(distance).fold(f64::INFINITY, f64::min);
            assert_eq!(d, expected);
            assert_eq!(d, distance(item));
        }
    }

    #[test]
    fn empty_tree_and_equal_boxes_are_fine() {
        assert!(Bvh::new(vec![]).nearest(Vec3::zero(), |_| 0.0).is_none());
        let unit = Aabb { min: Vec3::zero(), max: Vec3::splat(1.0) };
        let bvh = Bvh::new(vec![unit; 1000]);
        let mut count = 0;
        bvh.for_each_overlap(&unit, |_| {
            count += 1;
            true
        });
        assert_eq!(count, 1000);
        assert_eq!(bvh.nearest(Vec3::zero(), |_| 1.0), Some((0, 1.0)));
    }
}
