//! Candidate pairs of points and triangles and of edges that may be close, for several surfaces at once.
//!
//! One refittable tree over the triangles serves both kinds of pairs: see [`SurfaceTopology`]. Boxes are stored in
//! single precision, rounded outward, relative to the center of the scene.

use sinew_math::Vec3;
use sinew_math::lanes::dispatch;
use sinew_math::parallel::for_each_block_mut;

use super::box_tree::{Bounds, BoxTree, Node, Root};
use super::leaf_pairs::{LEAF_SIZE, LeafElements, PairLeaves};
use super::parted::LeaveParted;
use super::plain_fans::PlainFans;
use super::surface_topology::SurfaceTopology;
use super::swept_box::SweptBox;
use crate::mesh::{Aabb, triangles_intersect};

/// Vertices or elements per block of parallel work: about ten microseconds.
const BLOCK: usize = 2048;

/// Largest number of triangles on each side of one search task: enough work to hide the handover.
const TASK_SIZE: usize = 512;

/// Tasks that share one list of results.
const TASKS_PER_BATCH: usize = 4;

/// Pairs that may be close; no pair shares a vertex.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidates {
    /// Vertex and triangle.
    pub point_triangle: Vec<[u32; 2]>,
    /// Edge and edge, the smaller number first.
    pub edge_edge: Vec<[u32; 2]>,
}

impl Candidates {
    /// Removes all pairs and keeps the memory.
    pub fn clear(&mut self) {
        self.point_triangle.clear();
        self.edge_edge.clear();
    }
}

/// Whether two of some triangles cross at `vertices`, as in [`SurfaceTree::crossings`].
pub fn triangles_cross(triangles: &[[u32; 3]], [a, b]: [u32; 2], vertices: &[Vec3]) -> bool {
    let [s, t] = [a.min(b), a.max(b)].map(|triangle| triangles[triangle as usize]);
    let [x, y] = [s, t].map(|triangle| triangle.map(|v| vertices[v as usize]));
    Aabb::from_points(&x).overlaps(&Aabb::from_points(&y)) && triangles_intersect(s, t, x, y)
}

/// Pairs of subtrees to search, and scratch memory to find them.
#[derive(Clone, Debug, Default)]
struct Tasks {
    pairs: Vec<[u32; 2]>,
    stack: Vec<[u32; 2]>,
    roots: Vec<Root>,
}

/// Results of one batch of tasks, and its scratch memory.
#[derive(Clone, Debug, Default)]
struct Batch {
    stack: Vec<[u32; 2]>,
    leaves: Vec<[u32; 2]>,
    found: Candidates,
}

/// A bounding volume hierarchy over the triangles of all collision surfaces.
#[derive(Clone, Debug)]
pub struct SurfaceTree {
    topology: SurfaceTopology,
    groups: Vec<u32>,
    /// Group of each vertex, that of its owner.
    vertex_groups: Vec<u32>,
    is_paired: Vec<bool>,
    group_count: usize,
    /// Boxes are relative to this point, so that single precision resolves the scene regardless of its position.
    origin: Vec3,
    tree: BoxTree<SweptBox>,
    vertex_boxes: Vec<SweptBox>,
    elements: LeafElements,
    tasks: Tasks,
    batches: Vec<Batch>,
    /// Where triangles that share a vertex cannot cross; built by the first search for crossings.
    fans: Option<PlainFans>,
}

impl SurfaceTree {
    /// A tree over `triangles`, where `groups[t]` is the group (body) of triangle t, and
    /// `is_paired[g * group_count + h]` is whether groups g and h may touch (symmetric; the diagonal allows a group to
    /// touch itself).
    ///
    /// Triangles that share a vertex belong to one group.
    ///
    /// # Panics
    /// When the lengths are inconsistent, or a group or a vertex does not exist.
    pub fn new(vertex_count: usize, triangles: Vec<[u32; 3]>, groups: Vec<u32>, is_paired: Vec<bool>) -> Self {
        let group_count = is_paired.len().isqrt();
        assert_eq!(groups.len(), triangles.len(), "each triangle must have a group");
        assert_eq!(group_count * group_count, is_paired.len(), "the pairing table must be square");
        assert!(groups.iter().all(|group| (*group as usize) < group_count), "each group must have a row in the table");
        let topology = SurfaceTopology::new(vertex_count, triangles);
        let mut vertex_groups = vec![0; vertex_count];
        for (triangle, group) in groups.iter().enumerate() {
            for vertex in topology.owned_vertices(triangle as u32) {
                vertex_groups[*vertex as usize] = *group;
            }
        }
        debug_assert!(
            (topology.triangles.iter().zip(&groups)).all(|(t, g)| t.iter().all(|v| vertex_groups[*v as usize] == *g)),
            "triangles that share a vertex must belong to one group"
        );
        let tree = BoxTree::new(groups.len(), LEAF_SIZE, |triangle| groups[triangle as usize]);
        let elements = LeafElements::new(&topology, &tree);
        Self {
            topology,
            groups,
            vertex_groups,
            is_paired,
            group_count,
            origin: Vec3::zero(),
            tree,
            vertex_boxes: vec![SweptBox::EMPTY; vertex_count],
            elements,
            tasks: Tasks::default(),
            batches: Vec::new(),
            fans: None,
        }
    }

    /// Vertices of the triangles.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.topology.triangles
    }

    /// Vertices of the edges, each edge once, the smaller number first.
    pub fn edges(&self) -> &[[u32; 2]] {
        &self.topology.edges
    }

    /// The one or two triangles at each edge; the second is `u32::MAX` at a border. If there are more, the first two.
    pub fn edge_triangles(&self) -> &[[u32; 2]] {
        &self.topology.edge_triangles
    }

    /// Group of a triangle.
    pub fn group(&self, triangle: usize) -> u32 {
        self.groups[triangle]
    }

    /// Rebuilds the tree for these positions (once per step, because bodies move). The boxes follow with the next
    /// [`Self::refit`].
    pub fn rebuild(&mut self, vertices: &[Vec3]) {
        let center = Aabb::from_points(self.topology.vertices.iter().map(|v| &vertices[*v as usize])).center();
        self.origin = if center.is_finite() { center } else { Vec3::zero() };
        let (triangles, origin) = (&self.topology.triangles, self.origin);
        self.tree.rebuild(|triangle| {
            let [a, b, c] = triangles[triangle as usize].map(|v| vertices[v as usize] - origin);
            // Three times the center sorts like the center.
            a + b + c
        });
        self.elements.arrange(&self.topology, &self.tree);
    }

    /// Updates the boxes around the motion from `start` to `end`, grown by the margin \[m\] of each group.
    pub fn refit(&mut self, start: &[Vec3], end: &[Vec3], margins: &[f64]) {
        let (vertex_groups, origin) = (&self.vertex_groups, self.origin);
        for_each_block_mut((&mut self.vertex_boxes[..], start, end), BLOCK, |first, (boxes, start, end)| {
            for i in 0..boxes.len() {
                let margin = margins[vertex_groups[first + i] as usize];
                boxes[i] = SweptBox::of_point(start[i] - origin, end[i] - origin, margin);
            }
        });
        let (triangles, vertex_boxes) = (&self.topology.triangles, &self.vertex_boxes);
        self.tree.refit(|triangle| {
            let [a, b, c] = triangles[triangle as usize].map(|v| &vertex_boxes[v as usize]);
            a.union(b).union(c)
        });
        self.elements.outdate();
    }

    /// All candidates of the current boxes, in an order that depends only on the input.
    ///
    /// A pair is a candidate unless one axis separates its grown boxes throughout the motion, up to their outward
    /// rounding to single precision. So all pairs that come closer than the sum of their margins are found.
    pub fn find(&mut self, out: &mut Candidates) {
        self.search(None, out);
    }

    /// The candidates of the motion from `start` to `end` with the margins \[m\] of each group, in the order of
    /// [`Self::find`], without those that a plane keeps farther apart than the sum of their margins on the whole way.
    pub fn find_on_way(&mut self, start: &[Vec3], end: &[Vec3], margins: &[f64], out: &mut Candidates) {
        self.refit(start, end, margins);
        self.search(Some((start, end, margins)), out);
    }

    /// Without those that stay apart if the way, with its margins, is known.
    fn search(&mut self, way: Option<(&[Vec3], &[Vec3], &[f64])>, out: &mut Candidates) {
        let mut tasks = std::mem::take(&mut self.tasks);
        self.collect_tasks(&mut tasks);
        self.elements.refit(&self.vertex_boxes);
        let mut batches = std::mem::take(&mut self.batches);
        let pairs = &tasks.pairs;
        let batch_count = pairs.len().div_ceil(TASKS_PER_BATCH);
        if batches.len() < batch_count {
            batches.resize_with(batch_count, Batch::default);
        }
        let (topology, vertex_groups) = (&self.topology, &self.vertex_groups[..]);
        for_each_block_mut(&mut batches[..batch_count], 1, |first, batches| {
            for (k, Batch { stack, leaves, found }) in batches.iter_mut().enumerate() {
                found.clear();
                leaves.clear();
                let begin = (first + k) * TASKS_PER_BATCH;
                for task in &pairs[begin..pairs.len().min(begin + TASKS_PER_BATCH)] {
                    stack.push(*task);
                    self.tree.descend(stack, Node::is_leaf, |a, b| leaves.push([a, b]));
                }
                dispatch(PairLeaves { elements: &self.elements, tree: &self.tree, pairs: leaves, found: &mut *found });
                if let Some((start, end, margins)) = way {
                    dispatch(LeaveParted { topology, vertex_groups, ends: [start, end], margins, candidates: found });
                }
            }
        });
        out.clear();
        for Batch { found, .. } in &batches[..batch_count] {
            out.point_triangle.extend_from_slice(&found.point_triangle);
            out.edge_edge.extend_from_slice(&found.edge_edge);
        }
        (self.tasks, self.batches) = (tasks, batches);
    }

    /// Pairs of triangles (a < b) of paired groups that cross at `vertices`, at most `limit`, sorted; needs a refit
    /// with start = end = `vertices`.
    ///
    /// Signs are exact. Triangles that share a vertex cross when they also meet elsewhere, triangles that share an edge
    /// when one is folded onto the other. If there are more than `limit` pairs, the tree determines which are returned.
    pub fn crossings(&mut self, vertices: &[Vec3], limit: usize) -> Vec<[u32; 2]> {
        use sinew_math::parallel::prelude::*;
        let mut fans =
            self.fans.take().unwrap_or_else(|| PlainFans::new(self.vertex_boxes.len(), &self.topology.triangles));
        fans.look(vertices);
        let mut tasks = std::mem::take(&mut self.tasks);
        self.collect_tasks(&mut tasks);
        let found: Vec<Vec<[u32; 2]>> = tasks
            .pairs
            .par_iter()
            .map(|task| {
                let mut crossing = Vec::new();
                self.tree.descend(&mut vec![*task], Node::is_leaf, |a, b| {
                    self.add_leaf_crossings(vertices, &fans, [a, b], &mut crossing);
                    crossing.truncate(limit);
                });
                crossing
            })
            .collect();
        (self.tasks, self.fans) = (tasks, Some(fans));
        let mut pairs: Vec<[u32; 2]> = found.into_iter().flatten().take(limit).collect();
        pairs.sort_unstable();
        pairs
    }

    /// Calls `visit` for all pairs of triangles of paired groups whose grown boxes overlap and that `is_wanted` both,
    /// neighbors included, in an order that depends only on the input.
    pub fn for_each_near(&mut self, is_wanted: impl Fn(u32) -> bool, mut visit: impl FnMut(u32, u32)) {
        let mut tasks = std::mem::take(&mut self.tasks);
        self.collect_tasks(&mut tasks);
        let Tasks { pairs, stack, .. } = &mut tasks;
        let boxes = self.tree.slot_boxes();
        for task in &*pairs {
            stack.clear();
            stack.push(*task);
            self.tree.descend(stack, Node::is_leaf, |a, b| {
                for i in self.tree.node(a).slots() {
                    let first = self.tree.item(i);
                    if !is_wanted(first) || !boxes[i].overlaps(self.tree.node_box(b)) {
                        continue;
                    }
                    for j in self.tree.node(b).slots().filter(|&j| (a != b || j > i) && boxes[i].overlaps(&boxes[j])) {
                        let second = self.tree.item(j);
                        if is_wanted(second) {
                            visit(first, second);
                        }
                    }
                }
            });
        }
        self.tasks = tasks;
    }

    fn add_leaf_crossings(&self, vertices: &[Vec3], fans: &PlainFans, [a, b]: [u32; 2], found: &mut Vec<[u32; 2]>) {
        let boxes = self.tree.slot_boxes();
        let places = |triangle: [u32; 3]| triangle.map(|v| vertices[v as usize]);
        // Triangles of either leaf that are near the other one.
        let mut near = [[0; LEAF_SIZE]; 2];
        let counts = [(a, b), (b, a)].map(|(own, other)| {
            let list = &mut near[usize::from(own == b && a != b)];
            let mut count = 0;
            for slot in self.tree.node(own).slots() {
                list[count] = slot;
                count += usize::from(boxes[slot].overlaps(self.tree.node_box(other)));
            }
            count
        });
        let (first_near, second_near) = (&near[0][..counts[0]], &near[usize::from(a != b)][..counts[1]]);
        for (k, &i) in first_near.iter().enumerate() {
            let first = self.tree.item(i);
            let s = self.triangles()[first as usize];
            let (x, bounds) = (places(s), Aabb::from_points(&places(s)));
            let others = if a == b { &second_near[k + 1..] } else { second_near };
            for &j in others.iter().filter(|&&j| boxes[i].overlaps(&boxes[j])) {
                let second = self.tree.item(j);
                let t = self.triangles()[second as usize];
                if fans.are_plain_neighbors(s, t) {
                    continue;
                }
                let y = places(t);
                // Without the margins, most pairs are separate.
                if !bounds.overlaps(&Aabb::from_points(&y)) {
                    continue;
                }
                let is_crossing =
                    if first < second { triangles_intersect(s, t, x, y) } else { triangles_intersect(t, s, y, x) };
                if is_crossing {
                    found.push([first.min(second), first.max(second)]);
                }
            }
        }
    }

    /// Splits the search into pairs of subtrees that depend only on the boxes, not on the number of threads.
    fn collect_tasks(&self, tasks: &mut Tasks) {
        let Tasks { pairs, stack, roots } = tasks;
        self.push_group_pairs(roots, stack);
        stack.reverse();
        pairs.clear();
        self.tree.descend(stack, |node| node.item_count() <= TASK_SIZE, |a, b| pairs.push([a, b]));
    }

    /// Roots of the groups that may touch and whose boxes overlap, found by a sweep along the first axis.
    fn push_group_pairs(&self, roots: &mut Vec<Root>, pairs: &mut Vec<[u32; 2]>) {
        let bounds = |root: &Root| self.tree.node_box(root.node);
        roots.clear();
        roots.extend_from_slice(self.tree.roots());
        roots.sort_unstable_by(|a, b| bounds(a).lower_x().total_cmp(&bounds(b).lower_x()).then(a.node.cmp(&b.node)));
        for (i, first) in roots.iter().enumerate() {
            let partners = &self.is_paired[first.group as usize * self.group_count..][..self.group_count];
            for second in &roots[i..] {
                if bounds(second).lower_x() > bounds(first).upper_x() {
                    break;
                }
                if partners[second.group as usize] && bounds(first).overlaps(bounds(second)) {
                    pairs.push([first.node, second.node]);
                }
            }
        }
    }
}
