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

/// Share of the tasks up to which a search takes up those that the last whole search has done.
const MOST_MOVED: f64 = 0.6;

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

    fn append(&mut self, other: &Self) {
        self.point_triangle.extend_from_slice(&other.point_triangle);
        self.edge_edge.extend_from_slice(&other.edge_edge);
    }
}

fn grow(batches: &mut Vec<Batch>, count: usize) {
    if batches.len() < count {
        batches.resize_with(count, Batch::default);
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

/// Results of a task, and its scratch memory.
#[derive(Clone, Debug, Default)]
struct Batch {
    stack: Vec<[u32; 2]>,
    leaves: Vec<[u32; 2]>,
    found: Candidates,
}

/// A motion of all vertices, with the margins \[m\] of each group and how much of these is room for other motions.
#[derive(Clone, Copy, Debug)]
pub struct Way<'a> {
    /// Positions at the start.
    pub start: &'a [Vec3],
    /// Positions at the end.
    pub end: &'a [Vec3],
    /// Margins \[m\] of each group, slack included.
    pub margins: &'a [f64],
    /// Pairs count as found anew where vertices begin and end within this \[m\] of an end of an earlier motion.
    pub slack: f64,
}

/// The last whole search since the tree was rebuilt, whose results serve where motions hardly differ.
#[derive(Clone, Debug, Default)]
struct Known {
    is_valid: bool,
    ends: [Vec<Vec3>; 2],
    margins: Vec<f64>,
    batches: Vec<Batch>,
    /// Pairs of subtrees, the smaller number first, with the number of their batch; sorted.
    places: Vec<([u32; 2], u32)>,
    /// For each vertex which ends of the present motion are near which known ends, as bits.
    near: Vec<u8>,
    /// The same for all vertices of a subtree, where that is known.
    near_below: Vec<Option<u8>>,
    /// For each task of the present search the batch that has its results.
    sources: Vec<Source>,
    /// Leaves that the present search looks at.
    is_wanted: Vec<bool>,
}

/// Where the results of a task are.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Source {
    /// In this batch of the known search.
    Known(u32),
    /// Nothing was near there.
    Nothing,
    /// To be searched.
    Search,
}

impl Known {
    /// Remembers a whole search, whose results are in the first batches.
    fn keep(&mut self, way: &Way<'_>, pairs: &[[u32; 2]]) {
        let [start, end] = &mut self.ends;
        for (known, now) in [(start, way.start), (end, way.end)] {
            known.clear();
            known.extend_from_slice(now);
        }
        self.margins.clear();
        self.margins.extend_from_slice(way.margins);
        self.places.clear();
        self.places.extend(pairs.iter().zip(0..).map(|(&[a, b], number)| ([a.min(b), a.max(b)], number)));
        self.places.sort_unstable();
        self.is_valid = true;
    }

    /// Finds out which ends of a motion are near which known ends.
    fn compare(&mut self, way: &Way<'_>) {
        let ([known_start, known_end], slack) = (&self.ends, way.slack * way.slack);
        self.near.resize(way.start.len(), 0);
        for_each_block_mut((&mut self.near[..], way.start, way.end), BLOCK, |from, (near, start, end)| {
            let is_near = |x: Vec3, known: Vec3| u8::from((x - known).norm_squared() <= slack);
            for (i, near) in near.iter_mut().enumerate() {
                let (first, last) = (known_start[from + i], known_end[from + i]);
                *near = is_near(start[i], first)
                    | is_near(start[i], last) << 1
                    | is_near(end[i], first) << 2
                    | is_near(end[i], last) << 3;
            }
        });
        self.near_below.iter_mut().for_each(|near| *near = None);
    }

    /// The bits that all vertices below a node have.
    fn near_below(&mut self, node: u32, tree: &BoxTree<SweptBox>, triangles: &[[u32; 3]]) -> u8 {
        let Self { near, near_below, .. } = self;
        *near_below[node as usize].get_or_insert_with(|| {
            let vertices = tree.node(node).slots().flat_map(|slot| triangles[tree.item(slot) as usize]);
            vertices.fold(u8::MAX, |all, v| all & near[v as usize])
        })
    }

    /// Where the results of a pair of subtrees are. One axis or plane kept two apart at both known ends; so it does at
    /// both ends of this motion if each of these is near one of those, the same for both.
    fn source(&mut self, [a, b]: [u32; 2], tree: &BoxTree<SweptBox>, triangles: &[[u32; 3]]) -> Source {
        let both = self.near_below(a, tree, triangles) & self.near_below(b, tree, triangles);
        if both & 0b11 == 0 || both & 0b1100 == 0 {
            return Source::Search;
        }
        let place = self.places.binary_search_by_key(&[a.min(b), a.max(b)], |(pair, _)| *pair);
        place.map_or(Source::Nothing, |place| Source::Known(self.places[place].1))
    }
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
    known: Known,
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
        let known = Known { near_below: vec![None; tree.nodes().len()], ..Known::default() };
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
            known,
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
        self.known.is_valid = false;
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
        let mut tasks = std::mem::take(&mut self.tasks);
        self.collect_tasks(&mut tasks);
        self.elements.refit(&self.vertex_boxes, None);
        let mut batches = std::mem::take(&mut self.batches);
        grow(&mut batches, tasks.pairs.len());
        for_each_block_mut((&mut batches[..tasks.pairs.len()], &tasks.pairs[..]), 1, |_, (batches, pairs)| {
            batches.iter_mut().zip(pairs).for_each(|(batch, pair)| self.search(*pair, None, batch));
        });
        out.clear();
        batches[..tasks.pairs.len()].iter().for_each(|batch| out.append(&batch.found));
        (self.tasks, self.batches) = (tasks, batches);
    }

    /// The candidates of a motion without those that a plane keeps farther apart than the sum of their margins on the
    /// whole way, in an order that depends only on the input since the last [`Self::rebuild`]. Returns whether all were
    /// searched.
    ///
    /// Where all vertices of two subtrees move as in an earlier motion up to the slack, the pairs found then serve again.
    /// They hold all pairs that come closer than the sum of their margins without slack.
    pub fn find_on_way(&mut self, way: &Way<'_>, out: &mut Candidates) -> bool {
        self.refit(way.start, way.end, way.margins);
        let mut tasks = std::mem::take(&mut self.tasks);
        self.collect_tasks(&mut tasks);
        let count = tasks.pairs.len();
        let (mut known, mut batches) = (std::mem::take(&mut self.known), std::mem::take(&mut self.batches));
        let is_whole = !self.takes_up(way, &tasks.pairs, &mut known);
        let searched = if is_whole { &mut known.batches } else { &mut batches };
        grow(searched, count);
        let sources = &known.sources[..];
        self.elements.refit(&self.vertex_boxes, (!is_whole).then_some(&known.is_wanted[..]));
        for_each_block_mut((&mut searched[..count], &tasks.pairs[..]), 1, |first, (batches, pairs)| {
            for (k, (batch, pair)) in batches.iter_mut().zip(pairs).enumerate() {
                if is_whole || sources[first + k] == Source::Search {
                    self.search(*pair, Some(way), batch);
                }
            }
        });
        out.clear();
        if is_whole {
            known.batches[..count].iter().for_each(|batch| out.append(&batch.found));
            known.keep(way, &tasks.pairs);
        } else {
            for (source, batch) in known.sources.iter().zip(&batches) {
                match *source {
                    Source::Search => out.append(&batch.found),
                    Source::Known(place) => out.append(&known.batches[place as usize].found),
                    Source::Nothing => {}
                }
            }
        }
        (self.tasks, self.batches, self.known) = (tasks, batches, known);
        is_whole
    }

    /// Whether most results of the known search serve this motion, too; then finds out which, and the leaves of the
    /// others.
    fn takes_up(&self, way: &Way<'_>, pairs: &[[u32; 2]], known: &mut Known) -> bool {
        if !known.is_valid || known.margins != way.margins {
            return false;
        }
        known.compare(way);
        known.sources.clear();
        known.is_wanted.clear();
        known.is_wanted.resize(self.elements.leaf_count(), false);
        let mut moved = 0;
        for &pair in pairs {
            let source = known.source(pair, &self.tree, &self.topology.triangles);
            known.sources.push(source);
            if source == Source::Search {
                moved += 1;
                for node in pair {
                    known.is_wanted[self.elements.leaves_below(node, &self.tree)].fill(true);
                }
            }
        }
        moved as f64 <= MOST_MOVED * pairs.len() as f64
    }

    /// The candidates of a pair of subtrees, without those that stay apart if the way is known.
    fn search(&self, pair: [u32; 2], way: Option<&Way<'_>>, Batch { stack, leaves, found }: &mut Batch) {
        found.clear();
        leaves.clear();
        stack.push(pair);
        self.tree.descend(stack, Node::is_leaf, |a, b| leaves.push([a, b]));
        dispatch(PairLeaves { elements: &self.elements, tree: &self.tree, pairs: leaves, found: &mut *found });
        if let Some(&Way { start, end, margins, .. }) = way {
            let (topology, vertex_groups) = (&self.topology, &self.vertex_groups[..]);
            dispatch(LeaveParted { topology, vertex_groups, ends: [start, end], margins, candidates: found });
        }
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
