//! Vertices and edges in the order of the leaves whose triangles own them, and the candidates of a pair of leaves.

use sinew_math::lanes::{Isa, LaneKernel, dispatch};
use sinew_math::parallel::for_each_block_mut;

use super::box_block::{BoxBlock, WIDTH, union};
use super::box_tree::{Bounds, BoxTree};
use super::surface_topology::SurfaceTopology;
use super::surface_tree::Candidates;
use super::swept_box::SweptBox;

/// Largest number of triangles in a leaf: their boxes fill one block, which is compared at once.
pub(super) const LEAF_SIZE: usize = WIDTH;

/// Blocks of boxes per block of parallel work: about ten microseconds.
const BLOCK: usize = 128;

/// Largest number of blocks of one kind in a leaf: each triangle owns at most three vertices and three edges.
const MOST_BLOCKS: usize = 3;

/// Marks an unused lane.
const NOTHING: u32 = u32::MAX;

/// Elements of one kind, leaf by leaf, in the order of the slots of their owners. Each leaf begins with a new block.
#[derive(Clone, Debug)]
struct Arranged<const N: usize> {
    /// The k-th leaf has the blocks `begin[k]..begin[k + 1]`.
    begin: Vec<u32>,
    items: Vec<[u32; WIDTH]>,
    /// Vertices of the elements: first those in the first place.
    vertices: Vec<[[u32; WIDTH]; N]>,
    boxes: Vec<BoxBlock>,
    /// Number of elements in the last block.
    last: usize,
}

impl<const N: usize> Arranged<N> {
    fn new(leaf_count: usize, element_count: usize) -> Self {
        // Each leaf leaves at most one block that is not full.
        let blocks = element_count / WIDTH + leaf_count;
        Self {
            begin: Vec::with_capacity(leaf_count + 1),
            items: Vec::with_capacity(blocks),
            vertices: Vec::with_capacity(blocks),
            boxes: Vec::with_capacity(blocks),
            last: WIDTH,
        }
    }

    fn clear(&mut self) {
        self.begin.clear();
        self.begin.push(0);
        self.items.clear();
        self.vertices.clear();
        self.last = WIDTH;
    }

    fn push(&mut self, item: u32, vertices: [u32; N]) {
        if self.last == WIDTH {
            self.items.push([NOTHING; WIDTH]);
            self.vertices.push([[NOTHING; WIDTH]; N]);
            self.last = 0;
        }
        if let (Some(items), Some(all)) = (self.items.last_mut(), self.vertices.last_mut()) {
            items[self.last] = item;
            all.iter_mut().zip(vertices).for_each(|(row, vertex)| row[self.last] = vertex);
        }
        self.last += 1;
    }

    fn end_leaf(&mut self) {
        self.begin.push(self.items.len() as u32);
        self.last = WIDTH;
    }

    fn end(&mut self) {
        self.boxes.resize(self.items.len(), BoxBlock::EMPTY);
    }

    fn refit(&mut self, vertex_boxes: &[SweptBox]) {
        for_each_block_mut((&self.vertices[..], &mut self.boxes[..]), BLOCK, |_, (vertices, boxes)| {
            dispatch(Refit { vertex_boxes, vertices, boxes });
        });
    }

    #[inline(always)]
    fn of_leaf(&self, leaf: u32) -> Elements<'_, N> {
        let blocks = self.begin[leaf as usize] as usize..self.begin[leaf as usize + 1] as usize;
        Elements {
            boxes: &self.boxes[blocks.clone()],
            vertices: &self.vertices[blocks.clone()],
            items: &self.items[blocks],
        }
    }
}

/// Boxes of elements around those of their vertices.
struct Refit<'a, const N: usize> {
    vertex_boxes: &'a [SweptBox],
    vertices: &'a [[[u32; WIDTH]; N]],
    boxes: &'a mut [BoxBlock],
}

impl<const N: usize> LaneKernel for Refit<'_, N> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        for (vertices, boxes) in self.vertices.iter().zip(self.boxes) {
            for lane in 0..WIDTH {
                let mut bounds = SweptBox::EMPTY;
                if vertices[0][lane] != NOTHING {
                    bounds = self.vertex_boxes[vertices[0][lane] as usize];
                    for row in &vertices[1..] {
                        bounds = bounds.union(&self.vertex_boxes[row[lane] as usize]);
                    }
                }
                boxes.set(lane, &bounds);
            }
        }
    }
}

/// Vertices, edges and triangles in the order of the leaves.
#[derive(Clone, Debug)]
pub(super) struct LeafElements {
    /// Number of the leaf at each node.
    leaves: Vec<u32>,
    points: Arranged<1>,
    edges: Arranged<2>,
    triangles: Arranged<3>,
    is_fitted: bool,
}

impl LeafElements {
    pub fn new(topology: &SurfaceTopology, tree: &BoxTree<SweptBox>) -> Self {
        let mut count = 0;
        let leaves = tree.nodes().iter().map(|node| {
            count += u32::from(node.is_leaf());
            count.saturating_sub(1)
        });
        let leaves = leaves.collect();
        let count = count as usize;
        let mut elements = Self {
            leaves,
            points: Arranged::new(count, topology.vertices.len()),
            edges: Arranged::new(count, topology.edges.len()),
            triangles: Arranged::new(count, topology.triangles.len()),
            is_fitted: false,
        };
        elements.arrange(topology, tree);
        elements
    }

    /// Moves the elements to the leaves of their triangles.
    pub fn arrange(&mut self, topology: &SurfaceTopology, tree: &BoxTree<SweptBox>) {
        self.points.clear();
        self.edges.clear();
        self.triangles.clear();
        for leaf in tree.nodes().iter().filter(|node| node.is_leaf()) {
            for slot in leaf.slots() {
                let triangle = tree.item(slot);
                self.triangles.push(triangle, topology.triangles[triangle as usize]);
                for vertex in topology.owned_vertices(triangle) {
                    self.points.push(*vertex, [*vertex]);
                }
                for edge in topology.owned_edges(triangle) {
                    self.edges.push(edge, topology.edges[edge as usize]);
                }
            }
            self.points.end_leaf();
            self.edges.end_leaf();
            self.triangles.end_leaf();
        }
        self.points.end();
        self.edges.end();
        self.triangles.end();
        self.is_fitted = false;
    }

    /// Marks the boxes as those of other vertices.
    pub fn outdate(&mut self) {
        self.is_fitted = false;
    }

    /// Updates the boxes of the elements from those of the vertices, unless they are up to date.
    pub fn refit(&mut self, vertex_boxes: &[SweptBox]) {
        if !self.is_fitted {
            self.points.refit(vertex_boxes);
            self.edges.refit(vertex_boxes);
            self.triangles.refit(vertex_boxes);
            self.is_fitted = true;
        }
    }
}

/// Adds the candidates of `pairs` of leaves, of a leaf and itself among them.
pub(super) struct PairLeaves<'a> {
    pub elements: &'a LeafElements,
    pub tree: &'a BoxTree<SweptBox>,
    pub pairs: &'a [[u32; 2]],
    pub found: &'a mut Candidates,
}

impl LaneKernel for PairLeaves<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let LeafElements { leaves, points, edges, triangles, .. } = self.elements;
        let Candidates { point_triangle, edge_edge } = self.found;
        for &[a, b] in self.pairs {
            let [first, second] = [leaves[a as usize], leaves[b as usize]];
            let boxes = [a, b].map(|leaf| BoxBlock::splat(self.tree.node_box(leaf)));
            // Elements that miss the other leaf have no partner there.
            let first_edges = edges.of_leaf(first).near(&boxes[1]);
            let first_points = points.of_leaf(first).near(&boxes[1]);
            let first_triangles = triangles.of_leaf(first).near(&boxes[1]);
            if a == b {
                pair::<2, 2, true>(&first_edges, &first_edges, edge_edge);
                pair::<1, 3, false>(&first_points, &first_triangles, point_triangle);
                continue;
            }
            let second_edges = edges.of_leaf(second).near(&boxes[0]);
            let second_points = points.of_leaf(second).near(&boxes[0]);
            let second_triangles = triangles.of_leaf(second).near(&boxes[0]);
            pair::<2, 2, false>(&first_edges, &second_edges, edge_edge);
            pair::<1, 3, false>(&first_points, &second_triangles, point_triangle);
            pair::<1, 3, false>(&second_points, &first_triangles, point_triangle);
        }
    }
}

/// The elements of a leaf.
#[derive(Clone, Copy)]
struct Elements<'a, const N: usize> {
    boxes: &'a [BoxBlock],
    vertices: &'a [[[u32; WIDTH]; N]],
    items: &'a [[u32; WIDTH]],
}

/// The elements of a leaf with a bit for each that is near another leaf.
struct Near<'a, const N: usize> {
    all: Elements<'a, N>,
    bits: [u32; MOST_BLOCKS],
}

impl<'a, const N: usize> Elements<'a, N> {
    /// Which of them overlap the box of a leaf.
    #[inline(always)]
    fn near(self, leaf: &BoxBlock) -> Near<'a, N> {
        debug_assert!(self.boxes.len() <= MOST_BLOCKS, "a triangle owns at most three elements");
        let mut bits = [0; MOST_BLOCKS];
        for (bits, boxes) in bits.iter_mut().zip(self.boxes) {
            *bits = union(&boxes.near(leaf, 0));
        }
        Near { all: self, bits }
    }
}

/// Adds all pairs of an element of `first` and one of `second` that overlap and share no vertex; `WITHIN` one leaf, each
/// pair once.
#[inline(always)]
fn pair<const N: usize, const M: usize, const WITHIN: bool>(
    first: &Near<'_, N>,
    second: &Near<'_, M>,
    out: &mut Vec<[u32; 2]>,
) {
    for i in 0..first.all.boxes.len() {
        let mut left = first.bits[i];
        while left != 0 {
            let lane = left.trailing_zeros() as usize % WIDTH;
            left &= left - 1;
            let mut own = [0; N];
            for (vertex, row) in own.iter_mut().zip(&first.all.vertices[i]) {
                *vertex = row[lane];
            }
            let item = first.all.items[i][lane];
            for j in if WITHIN { i } else { 0 }..second.all.boxes.len() {
                let mut near = second.all.boxes[j].near(&first.all.boxes[i], lane);
                for row in &second.all.vertices[j] {
                    for vertex in own {
                        for k in 0..WIDTH {
                            near[k] = if row[k] == vertex { 0 } else { near[k] };
                        }
                    }
                }
                let mut hits = union(&near) & second.bits[j];
                if WITHIN && i == j {
                    hits &= !1 << lane;
                }
                while hits != 0 {
                    let with = second.all.items[j][hits.trailing_zeros() as usize % WIDTH];
                    hits &= hits - 1;
                    // Pairs of edges list the smaller number first; a vertex always precedes its triangle.
                    out.push(if N == M { [item.min(with), item.max(with)] } else { [item, with] });
                }
            }
        }
    }
}
