//! Vertices and edges in the order of the leaves whose triangles own them, and the candidates of a pair of leaves.

use std::ops::Range;

use sinew_math::parallel::for_each_block_mut;

use super::box_tree::{Bounds, BoxTree};
use super::surface_topology::SurfaceTopology;
use super::surface_tree::Candidates;
use super::swept_box::SweptBox;

/// Largest number of triangles in a leaf. Large, because the elements of two leaves are first filtered by the box of
/// the other leaf, and the remaining pairs are tested without branches: faster than a deeper tree.
pub(super) const LEAF_SIZE: usize = 16;

/// Elements per block of parallel work: about ten microseconds.
const BLOCK: usize = 4096;

/// Elements of one kind, sorted by the slots of their owners.
#[derive(Clone, Debug)]
struct Arranged<const N: usize> {
    /// Slot k owns the elements `begin[k]..begin[k + 1]`.
    begin: Vec<u32>,
    items: Vec<u32>,
    /// Vertices of the elements.
    vertices: Vec<[u32; N]>,
    boxes: Vec<SweptBox>,
}

impl<const N: usize> Arranged<N> {
    fn new(slot_count: usize, element_count: usize) -> Self {
        Self {
            begin: Vec::with_capacity(slot_count + 1),
            items: Vec::with_capacity(element_count),
            vertices: Vec::with_capacity(element_count),
            boxes: vec![SweptBox::EMPTY; element_count],
        }
    }

    fn clear(&mut self) {
        self.begin.clear();
        self.begin.push(0);
        self.items.clear();
        self.vertices.clear();
    }

    fn push(&mut self, item: u32, vertices: [u32; N]) {
        self.items.push(item);
        self.vertices.push(vertices);
    }

    fn end_slot(&mut self) {
        self.begin.push(self.items.len() as u32);
    }

    #[inline(always)]
    fn of_slots(&self, slots: &Range<usize>) -> Elements<'_, N> {
        let range = self.begin[slots.start] as usize..self.begin[slots.end] as usize;
        Elements {
            boxes: &self.boxes[range.clone()],
            vertices: &self.vertices[range.clone()],
            items: &self.items[range],
        }
    }

    fn refit(&mut self, vertex_boxes: &[SweptBox]) {
        for_each_block_mut((&self.vertices[..], &mut self.boxes[..]), BLOCK, |_, (vertices, boxes)| {
            for (vertices, bounds) in vertices.iter().zip(boxes) {
                let first = vertex_boxes[vertices[0] as usize];
                *bounds = vertices[1..].iter().fold(first, |bounds, v| bounds.union(&vertex_boxes[*v as usize]));
            }
        });
    }
}

/// Vertices, edges and the corners of the triangles in the order of the leaves.
#[derive(Clone, Debug)]
pub(super) struct LeafElements {
    points: Arranged<1>,
    edges: Arranged<2>,
    /// The triangle in each slot, and its vertices.
    triangles: Vec<u32>,
    corners: Vec<[u32; 3]>,
}

impl LeafElements {
    pub fn new(topology: &SurfaceTopology) -> Self {
        let triangle_count = topology.triangles.len();
        Self {
            points: Arranged::new(triangle_count, topology.vertices.len()),
            edges: Arranged::new(triangle_count, topology.edges.len()),
            triangles: Vec::with_capacity(triangle_count),
            corners: Vec::with_capacity(triangle_count),
        }
    }

    /// Moves the elements to the slots of their triangles.
    pub fn arrange(&mut self, topology: &SurfaceTopology, tree: &BoxTree<SweptBox>) {
        self.points.clear();
        self.edges.clear();
        self.triangles.clear();
        self.corners.clear();
        for slot in 0..topology.triangles.len() {
            let triangle = tree.item(slot);
            self.triangles.push(triangle);
            self.corners.push(topology.triangles[triangle as usize]);
            for vertex in topology.owned_vertices(triangle) {
                self.points.push(*vertex, [*vertex]);
            }
            for edge in topology.owned_edges(triangle) {
                self.edges.push(edge, topology.edges[edge as usize]);
            }
            self.points.end_slot();
            self.edges.end_slot();
        }
    }

    /// Updates the boxes of the elements from those of the vertices.
    pub fn refit(&mut self, vertex_boxes: &[SweptBox]) {
        self.points.refit(vertex_boxes);
        self.edges.refit(vertex_boxes);
    }

    /// Adds the candidates between two leaves, or within one.
    pub fn pair(&self, tree: &BoxTree<SweptBox>, a: u32, b: u32, scratch: &mut LeafScratch, found: &mut Candidates) {
        let LeafScratch { near, pairs } = scratch;
        // Elements that miss the other leaf have no partner there.
        for (near, (leaf, other)) in near.iter_mut().zip([(a, b), (b, a)]) {
            let (slots, other) = (tree.node(leaf).slots(), tree.node_box(other));
            near.points.collect(&self.points.of_slots(&slots), other);
            near.edges.collect(&self.edges.of_slots(&slots), other);
            near.triangles.collect(
                &Elements {
                    boxes: &tree.slot_boxes()[slots.clone()],
                    vertices: &self.corners[slots.clone()],
                    items: &self.triangles[slots],
                },
                other,
            );
            if a == b {
                break;
            }
        }
        let [first, second] = near;
        if a == b {
            first.edges.pair_within(pairs, &mut found.edge_edge);
            first.points.pair_with(&first.triangles, pairs, &mut found.point_triangle);
        } else {
            first.edges.pair_with(&second.edges, pairs, &mut found.edge_edge);
            first.points.pair_with(&second.triangles, pairs, &mut found.point_triangle);
            second.points.pair_with(&first.triangles, pairs, &mut found.point_triangle);
        }
    }
}

/// A contiguous range of elements.
struct Elements<'a, const N: usize> {
    boxes: &'a [SweptBox],
    vertices: &'a [[u32; N]],
    items: &'a [u32],
}

/// Capacity for the elements of a leaf: each triangle owns at most three; a power of two, so that indices wrap cheaply.
const ROOM: usize = (3 * LEAF_SIZE).next_power_of_two();

/// The elements of one kind in a leaf that are near another leaf.
///
/// Here and below every entry is written, and the count advances only if it is wanted: about half are, which no branch
/// predictor can foresee. Indices wrap at the capacity, which is never reached, instead of a bounds check.
#[derive(Clone, Debug)]
struct Near<const N: usize> {
    boxes: [SweptBox; ROOM],
    vertices: [[u32; N]; ROOM],
    items: [u32; ROOM],
    count: usize,
}

impl<const N: usize> Near<N> {
    const NONE: Self = Self { boxes: [SweptBox::EMPTY; ROOM], vertices: [[0; N]; ROOM], items: [0; ROOM], count: 0 };

    #[inline(always)]
    fn collect(&mut self, elements: &Elements<N>, query: &SweptBox) {
        let mut count = 0;
        for ((bounds, vertices), item) in elements.boxes.iter().zip(elements.vertices).zip(elements.items) {
            self.boxes[count % ROOM] = *bounds;
            self.vertices[count % ROOM] = *vertices;
            self.items[count % ROOM] = *item;
            count += usize::from(bounds.overlaps(query));
        }
        debug_assert!(elements.items.len() <= ROOM, "a triangle owns at most three elements");
        self.count = count;
    }

    /// Adds all pairs of an element of `self` and one of `others` that overlap and share no vertex.
    #[inline(always)]
    fn pair_with<const M: usize>(
        &self,
        others: &Near<M>,
        pairs: &mut [[u32; 2]; ROOM * ROOM],
        out: &mut Vec<[u32; 2]>,
    ) {
        let mut count = 0;
        for i in 0..self.count.min(ROOM) {
            count = self.pair_one(i, others, 0, pairs, count);
        }
        out.extend_from_slice(&pairs[..count]);
    }

    #[inline(always)]
    fn pair_one<const M: usize>(
        &self,
        i: usize,
        others: &Near<M>,
        begin: usize,
        pairs: &mut [[u32; 2]; ROOM * ROOM],
        mut count: usize,
    ) -> usize {
        for j in begin..others.count.min(ROOM) {
            let (a, b) = (self.items[i], others.items[j]);
            // Pairs of edges list the smaller number first; a vertex always precedes its triangle.
            pairs[count % (ROOM * ROOM)] = if N == M { [a.min(b), a.max(b)] } else { [a, b] };
            let mut is_neighbour = false;
            for vertex in self.vertices[i] {
                for other in others.vertices[j] {
                    is_neighbour |= vertex == other;
                }
            }
            count += usize::from(self.boxes[i].overlaps(&others.boxes[j]) & !is_neighbour);
        }
        count
    }
}

impl Near<2> {
    /// Adds all pairs of these edges that overlap and share no vertex.
    #[inline(always)]
    fn pair_within(&self, pairs: &mut [[u32; 2]; ROOM * ROOM], out: &mut Vec<[u32; 2]>) {
        let mut count = 0;
        for i in 0..self.count.min(ROOM) {
            count = self.pair_one(i, self, i + 1, pairs, count);
        }
        out.extend_from_slice(&pairs[..count]);
    }
}

/// Elements of one leaf near another.
#[derive(Clone, Debug)]
struct NearElements {
    points: Near<1>,
    edges: Near<2>,
    triangles: Near<3>,
}

/// Scratch memory for one pair of leaves.
#[derive(Clone, Debug)]
pub(super) struct LeafScratch {
    near: [NearElements; 2],
    pairs: [[u32; 2]; ROOM * ROOM],
}

impl Default for LeafScratch {
    fn default() -> Self {
        let none = NearElements { points: Near::NONE, edges: Near::NONE, triangles: Near::NONE };
        Self { near: [none.clone(), none], pairs: [[0; 2]; ROOM * ROOM] }
    }
}
