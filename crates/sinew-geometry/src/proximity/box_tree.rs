//! A refittable forest of bounding boxes: one binary tree for each group of items.
//!
//! Items are split at the median along the longest extent of their centers, so the shape of each tree depends only on
//! its number of items: `rebuild` only moves items between slots, `refit` only changes boxes, and neither allocates.
//! Nothing depends on the number of threads or on earlier builds.

use std::ops::Range;

use sinew_math::Vec3;
use sinew_math::parallel::for_each_block_mut;

/// Subtrees with fewer items than this stay on one thread: about ten microseconds of work.
const SERIAL_SIZE: u32 = 1024;

/// A bounding volume for items and subtrees.
pub(super) trait Bounds: Copy + Send + Sync {
    /// Contains nothing and overlaps nothing.
    const EMPTY: Self;

    /// The smallest around both.
    #[must_use]
    fn union(&self, other: &Self) -> Self;

    /// Whether they share a point.
    fn overlaps(&self, other: &Self) -> bool;
}

/// One node; the left child directly follows its parent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    begin: u32,
    end: u32,
    /// Right child; zero for a leaf.
    right: u32,
}

impl Node {
    /// The slots of all items below the node.
    #[inline(always)]
    pub fn slots(&self) -> Range<usize> {
        self.begin as usize..self.end as usize
    }

    /// Number of items below the node.
    #[inline(always)]
    pub fn item_count(&self) -> usize {
        (self.end - self.begin) as usize
    }

    #[inline(always)]
    pub fn is_leaf(&self) -> bool {
        self.right == 0
    }
}

/// A position in the leaf order, with its current item.
#[derive(Clone, Copy, Debug)]
struct Slot {
    center: [f32; 3],
    item: u32,
}

/// The tree of one group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Root {
    pub group: u32,
    pub node: u32,
}

/// The forest.
#[derive(Clone, Debug)]
pub(super) struct BoxTree<B> {
    nodes: Vec<Node>,
    boxes: Vec<B>,
    slots: Vec<Slot>,
    slot_boxes: Vec<B>,
    roots: Vec<Root>,
    /// Largest number of items in a leaf.
    leaf_size: usize,
}

impl<B: Bounds> BoxTree<B> {
    /// A forest over items 0‥n in the groups `group(item)` with at most `leaf_size` items per leaf; all boxes are empty
    /// until the first refit.
    pub fn new(item_count: usize, leaf_size: usize, group: impl Fn(u32) -> u32) -> Self {
        let mut items: Vec<u32> = (0..item_count as u32).collect();
        items.sort_by_key(|item| group(*item));
        let mut nodes = Vec::with_capacity(4 * item_count / leaf_size + 1);
        let mut roots = Vec::new();
        let mut begin = 0;
        for members in items.chunk_by(|a, b| group(*a) == group(*b)) {
            roots.push(Root { group: group(members[0]), node: nodes.len() as u32 });
            let end = begin + members.len() as u32;
            push_nodes(begin, end, leaf_size, &mut nodes);
            begin = end;
        }
        Self {
            boxes: vec![B::EMPTY; nodes.len()],
            nodes,
            slots: items.iter().map(|item| Slot { center: [0.0; 3], item: *item }).collect(),
            slot_boxes: vec![B::EMPTY; item_count],
            roots,
            leaf_size,
        }
    }

    /// The trees, in the order of their groups.
    pub fn roots(&self) -> &[Root] {
        &self.roots
    }

    /// All nodes; their leaves are in the order of the slots.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    #[inline(always)]
    pub fn node(&self, node: u32) -> &Node {
        &self.nodes[node as usize]
    }

    #[inline(always)]
    pub fn node_box(&self, node: u32) -> &B {
        &self.boxes[node as usize]
    }

    /// Boxes of the items, slot by slot.
    #[inline(always)]
    pub fn slot_boxes(&self) -> &[B] {
        &self.slot_boxes
    }

    /// The item in a slot.
    #[inline(always)]
    pub fn item(&self, slot: usize) -> u32 {
        self.slots[slot].item
    }

    /// Sorts the items into slots by their centers.
    pub fn rebuild(&mut self, center: impl Fn(u32) -> Vec3 + Sync) {
        for_each_block_mut(&mut self.slots[..], SERIAL_SIZE as usize, |_, slots| {
            for slot in slots {
                slot.center = center(slot.item).map(|c| c as f32).to_array();
            }
        });
        arrange_trees(&self.nodes, &self.roots, self.leaf_size, &mut self.slots);
    }

    /// Updates the boxes of the items and of all nodes.
    pub fn refit(&mut self, item_box: impl Fn(u32) -> B + Sync) {
        let parts = (&self.slots[..], &mut self.slot_boxes[..]);
        for_each_block_mut(parts, SERIAL_SIZE as usize, |_, (slots, boxes)| {
            for (slot, bounds) in slots.iter().zip(boxes) {
                *bounds = item_box(slot.item);
            }
        });
        let mut boxes = &mut self.boxes[..];
        let mut roots = &self.roots[..];
        while let [root, rest @ ..] = roots {
            let end = rest.first().map_or(self.nodes.len(), |next| next.node as usize);
            let (tree, others) = boxes.split_at_mut(end - root.node as usize);
            fit(&self.nodes, root.node, tree, &self.slot_boxes);
            (boxes, roots) = (others, rest);
        }
    }

    /// Descends from the pairs of nodes on the stack to pairs of `is_end` nodes with overlapping boxes, in a fixed
    /// order.
    ///
    /// A node paired with itself stands for all pairs of its items, each once.
    pub fn descend(&self, stack: &mut Vec<[u32; 2]>, is_end: impl Fn(&Node) -> bool, mut visit: impl FnMut(u32, u32)) {
        while let Some([a, b]) = stack.pop() {
            let (first, second) = (self.node(a), self.node(b));
            let (is_first_end, is_second_end) = (is_end(first), is_end(second));
            if is_first_end && is_second_end {
                visit(a, b);
                continue;
            }
            let mut push = |a: u32, b: u32| {
                if self.node_box(a).overlaps(self.node_box(b)) {
                    stack.push([a, b]);
                }
            };
            // The pair pushed last is visited first.
            if a == b {
                push(first.right, first.right);
                push(a + 1, first.right);
                push(a + 1, a + 1);
            } else if is_first_end {
                push(a, second.right);
                push(a, b + 1);
            } else if is_second_end {
                push(first.right, b);
                push(a + 1, b);
            } else {
                // Splitting both at once needs fewer tests than one after the other.
                push(first.right, second.right);
                push(first.right, b + 1);
                push(a + 1, second.right);
                push(a + 1, b + 1);
            }
        }
    }

    /// Calls `visit` for each slot whose box overlaps `query`.
    pub fn for_each_overlap(&self, query: &B, mut visit: impl FnMut(usize)) {
        for root in &self.roots {
            // Halving bounds the depth by the bits of an item number, and each level leaves one node waiting.
            let mut waiting = [0; 34];
            let mut count = 1;
            waiting[0] = root.node;
            while count > 0 {
                count -= 1;
                let index = waiting[count];
                if !self.node_box(index).overlaps(query) {
                    continue;
                }
                let node = self.node(index);
                if node.is_leaf() {
                    node.slots().filter(|slot| self.slot_boxes[*slot].overlaps(query)).for_each(&mut visit);
                } else {
                    waiting[count] = node.right;
                    waiting[count + 1] = index + 1;
                    count += 2;
                }
            }
        }
    }
}

fn push_nodes(begin: u32, end: u32, leaf_size: usize, nodes: &mut Vec<Node>) {
    let index = nodes.len();
    nodes.push(Node { begin, end, right: 0 });
    if (end - begin) as usize > leaf_size {
        let middle = begin + (end - begin) / 2;
        push_nodes(begin, middle, leaf_size, nodes);
        nodes[index].right = nodes.len() as u32;
        push_nodes(middle, end, leaf_size, nodes);
    }
}

/// Arranges the trees of several groups; `slots` holds their slots, group by group.
fn arrange_trees(nodes: &[Node], roots: &[Root], leaf_size: usize, slots: &mut [Slot]) {
    match roots {
        [] => {}
        [_] => arrange(slots, leaf_size),
        _ => {
            let (left, right) = roots.split_at(roots.len() / 2);
            let border = nodes[right[0].node as usize].begin - nodes[left[0].node as usize].begin;
            let (left_slots, right_slots) = slots.split_at_mut(border as usize);
            rayon::join(
                || arrange_trees(nodes, left, leaf_size, left_slots),
                || arrange_trees(nodes, right, leaf_size, right_slots),
            );
        }
    }
}

/// Recursively splits the slots at the median of the longest axis.
fn arrange(slots: &mut [Slot], leaf_size: usize) {
    if slots.len() <= leaf_size {
        // Selection leaves an order that depends on the previous one.
        slots.sort_unstable_by_key(|slot| slot.item);
        return;
    }
    let mut lower = [f32::INFINITY; 3];
    let mut upper = [f32::NEG_INFINITY; 3];
    for slot in slots.iter() {
        for axis in 0..3 {
            lower[axis] = lower[axis].min(slot.center[axis]);
            upper[axis] = upper[axis].max(slot.center[axis]);
        }
    }
    let size: [f32; 3] = std::array::from_fn(|axis| upper[axis] - lower[axis]);
    let axis = if size[0] >= size[1] && size[0] >= size[2] {
        0
    } else if size[1] >= size[2] {
        1
    } else {
        2
    };
    let middle = slots.len() / 2;
    // The item number breaks ties, so the halves do not depend on the selection algorithm.
    slots.select_nth_unstable_by(middle, |a, b| a.center[axis].total_cmp(&b.center[axis]).then(a.item.cmp(&b.item)));
    let is_small = slots.len() <= SERIAL_SIZE as usize;
    let (left, right) = slots.split_at_mut(middle);
    if is_small {
        arrange(left, leaf_size);
        arrange(right, leaf_size);
    } else {
        rayon::join(|| arrange(left, leaf_size), || arrange(right, leaf_size));
    }
}

/// Updates the boxes of the subtree at `index`, stored in `boxes`; returns the box of its root.
fn fit<B: Bounds>(nodes: &[Node], index: u32, boxes: &mut [B], slot_boxes: &[B]) -> B {
    let node = &nodes[index as usize];
    let bounds = if node.is_leaf() {
        slot_boxes[node.slots()].iter().fold(B::EMPTY, |bounds, item| bounds.union(item))
    } else {
        let (left, right) = boxes[1..].split_at_mut((node.right - index - 1) as usize);
        let mut fit_left = || fit(nodes, index + 1, left, slot_boxes);
        let mut fit_right = || fit(nodes, node.right, right, slot_boxes);
        let is_small = node.end - node.begin <= 4 * SERIAL_SIZE;
        let (a, b) = if is_small { (fit_left(), fit_right()) } else { rayon::join(fit_left, fit_right) };
        a.union(&b)
    };
    boxes[0] = bounds;
    bounds
}
