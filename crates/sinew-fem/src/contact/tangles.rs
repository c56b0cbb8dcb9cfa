//! Tangles: places where surfaces cross or touch at rest, which barriers leave alone until they part.
//!
//! A barrier has no side for what begins on both. So each place that crosses at rest, as artists model eyes in sockets
//! and limbs in trunks, is one tangle: the triangles that cross, everything that lies inside of other flesh from there on,
//! and one ring of neighbors. Its triangles form sheets, connected across edges. As long as it is tangled, contact sees no
//! pair of two of its sheets; all other pairs, and those of one sheet, are guarded as everywhere. The ring is the border
//! of a sheet: its vertices, and the edges between them, are guarded too, since with them triangles outside of the tangle
//! would pass. Once no triangles of
//! two sheets cross and all are farther apart than the gap, it has parted, and is guarded for good. A sheet that crosses
//! itself, as a tight fold does, is left alone as a whole.
//!
//! What starts in or at a half-space is left alone vertex by vertex, until the vertex is above the gap.

use std::collections::BTreeMap;

use sinew_geometry::TriMesh;
use sinew_geometry::proximity::{Candidates, SurfaceTree, edge_edge, point_triangle};
use sinew_math::Vec3;

use super::rule::RestContact;
use super::surface::ContactModel;
use crate::collider::Collider;

/// Pairs nearer than this share of their gap touch: a barrier would push with hundreds of times its modulus.
pub(crate) const TOUCHING: f64 = 1e-3;
/// Maximum number of pairs of triangles that cross at rest to look at.
const MOST: usize = 1_000_000;
/// Distance from a vertex at which its surroundings decide whether it lies in flesh, in mean edges of its group.
const LIFT: f64 = 1e-3;
/// The tangle of vertices in none.
const NONE: u32 = u32::MAX;

/// Places that cross at rest; constant in time. Which of them have parted is part of the state, in their order: tangles
/// of surfaces, then vertices at half-spaces.
#[derive(Clone, Debug, Default)]
pub struct Tangles {
    /// Tangle and sheet of each vertex; empty without tangles.
    vertices: Vec<[u32; 2]>,
    /// For each vertex whether all triangles around it are in its tangle.
    is_inner: Vec<bool>,
    /// For each tangle whether one of its sheets crosses itself.
    folds: Vec<bool>,
    /// Vertices in or at half-spaces, each with the index of its half-space, sorted.
    planes: Vec<[u32; 2]>,
    /// Pairs of triangles that cross at rest.
    crossings: usize,
}

/// A pair within a tangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TangledPair {
    /// The tangle.
    pub tangle: u32,
    /// Whether the two belong to different sheets.
    pub is_across: bool,
}

impl Tangles {
    pub(crate) fn new(contact: &ContactModel, colliders: &[Collider]) -> Self {
        let is_left = contact.left_alone();
        if !is_left.contains(&true) {
            return Self::default();
        }
        let mut tangles = Self { planes: planes(contact, colliders), ..Self::default() };
        let count = contact.vertex_count();
        let groups = contact.groups.iter().enumerate();
        let groups = groups.flat_map(|(g, group)| group.triangles.clone().map(move |_| g as u32)).collect();
        let mut tree = SurfaceTree::new(count, contact.triangles.clone(), groups, is_left);
        let margins: Vec<f64> = contact.groups.iter().map(|group| TOUCHING * group.margin).collect();
        tree.rebuild(&contact.rest);
        tree.refit(&contact.rest, &contact.rest, &margins);
        let crossing = tree.crossings(&contact.rest, MOST);
        tangles.crossings = crossing.len();
        let mut pairs: Vec<[Vec<u32>; 2]> =
            crossing.iter().map(|pair| pair.map(|t| contact.triangles[t as usize].to_vec())).collect();
        pairs.extend(touching(contact, &mut tree));
        if !pairs.is_empty() {
            tangles.grow(contact, &pairs);
        }
        tangles
    }

    /// Finds the tangles of pairs of primitives that cross or touch.
    fn grow(&mut self, contact: &ContactModel, pairs: &[[Vec<u32>; 2]]) {
        let count = contact.vertex_count();
        let both_ways = |&[a, b, c]: &[u32; 3]| [(a, b), (b, a), (b, c), (c, b), (c, a), (a, c)];
        let mut ways: Vec<(u32, u32)> = contact.triangles.iter().flat_map(both_ways).collect();
        ways.sort_unstable();
        ways.dedup();
        let neighbors = |v: u32| {
            let first = ways.partition_point(|&(from, _)| from < v);
            ways[first..].iter().take_while(move |&&(from, _)| from == v).map(|&(_, to)| to)
        };
        let buried = Buried::new(contact);
        let mut is_member = vec![false; count];
        let mut found: Vec<u32> = Vec::new();
        for &v in pairs.iter().flatten().flatten() {
            if !std::mem::replace(&mut is_member[v as usize], true) {
                found.push(v);
            }
        }
        // Everything inside of other flesh from there on.
        let mut next = 0;
        let mut is_asked = is_member.clone();
        while let Some(&v) = found.get(next) {
            next += 1;
            for other in neighbors(v) {
                if !std::mem::replace(&mut is_asked[other as usize], true) && buried.holds(other) {
                    is_member[other as usize] = true;
                    found.push(other);
                }
            }
        }
        self.is_inner = vec![false; count];
        for v in found {
            self.is_inner[v as usize] = true;
            neighbors(v).for_each(|other| is_member[other as usize] = true);
        }
        let mut sheets = Sets::new(count);
        for triangle in &contact.triangles {
            for [a, b] in [[0, 1], [1, 2], [2, 0]].map(|pair| pair.map(|k: usize| triangle[k])) {
                if is_member[a as usize] && is_member[b as usize] {
                    sheets.join(a, b);
                }
            }
        }
        let mut tangles = Sets { parent: sheets.parent.clone() };
        pairs.iter().for_each(|[a, b]| tangles.join(a[0], b[0]));
        // Numbered in the order of their first vertices.
        let mut numbers: BTreeMap<u32, u32> = BTreeMap::new();
        self.vertices = (0..count as u32)
            .map(|v| {
                if !is_member[v as usize] {
                    return [NONE; 2];
                }
                let next = numbers.len() as u32;
                [*numbers.entry(tangles.first(v)).or_insert(next), sheets.first(v)]
            })
            .collect();
        self.folds = vec![false; numbers.len()];
        for [a, b] in pairs {
            let ([tangle, one], [_, other]) = (self.vertices[a[0] as usize], self.vertices[b[0] as usize]);
            self.folds[tangle as usize] |= one == other;
        }
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.vertices.is_empty() && self.planes.is_empty()
    }

    /// Number of tangles, and of vertices at half-spaces.
    pub fn counts(&self) -> [usize; 2] {
        [self.folds.len(), self.planes.len()]
    }

    /// Pairs of triangles that cross at rest.
    pub fn rest_crossings(&self) -> usize {
        self.crossings
    }

    /// What the state of a model begins with: everything is tangled.
    pub(crate) fn at_rest(&self) -> Vec<bool> {
        vec![true; self.folds.len() + self.planes.len()]
    }

    /// The tangle that four vertices of two primitives share, the first `split` of them those of the first, unless it
    /// guards them always. A point or an edge is left alone only with all triangles around it in the tangle: they pass
    /// together.
    #[inline]
    pub(crate) fn of_pair(&self, vertices: [u32; 4], split: usize) -> Option<TangledPair> {
        if self.vertices.is_empty() {
            return None;
        }
        let [tangle, sheet] = self.vertices[vertices[0] as usize];
        if tangle == NONE || vertices[1..].iter().any(|&v| self.vertices[v as usize][0] != tangle) {
            return None;
        }
        let is_inner = |vertices: &[u32]| vertices.iter().any(|&v| self.is_inner[v as usize]);
        if !is_inner(&vertices[..split]) || (split == 2 && !is_inner(&vertices[split..])) {
            return None;
        }
        let is_across = self.vertices[vertices[split] as usize][1] != sheet;
        (is_across || self.folds[tangle as usize]).then_some(TangledPair { tangle, is_across })
    }

    /// The tangle of a pair of triangles that may pass through each other: both are in it as a whole.
    pub(crate) fn of_triangles(&self, pair: [[u32; 3]; 2]) -> Option<TangledPair> {
        if self.vertices.is_empty() {
            return None;
        }
        let [first, second] = pair.map(|triangle| self.vertices[triangle[0] as usize]);
        let tangle = first[0];
        if tangle == NONE || pair.iter().flatten().any(|&v| self.vertices[v as usize][0] != tangle) {
            return None;
        }
        let is_across = first[1] != second[1];
        (is_across || self.folds[tangle as usize]).then_some(TangledPair { tangle, is_across })
    }

    /// Whether all of a triangle is in a tangle that has not parted.
    pub(crate) fn holds(&self, triangle: [u32; 3], tangled: &[bool]) -> bool {
        let Some(&[tangle, _]) = self.vertices.get(triangle[0] as usize) else { return false };
        let is_in = |v: u32| self.vertices[v as usize][0] == tangle;
        tangle != NONE && triangle.into_iter().all(is_in) && tangled.get(tangle as usize).copied().unwrap_or(true)
    }

    /// The tangle of a vertex.
    pub(crate) fn tangle_of(&self, vertex: u32) -> Option<u32> {
        self.vertices.get(vertex as usize).map(|[tangle, _]| *tangle).filter(|tangle| *tangle != NONE)
    }

    /// Vertices at half-spaces, with the index of each in the state.
    pub(crate) fn at_planes(&self) -> impl Iterator<Item = (usize, [u32; 2])> {
        self.planes.iter().enumerate().map(|(k, &pair)| (self.folds.len() + k, pair))
    }

    /// Index in the state of a vertex at a half-space.
    pub(crate) fn of_plane(&self, vertex: u32, plane: u32) -> Option<usize> {
        self.planes.binary_search(&[vertex, plane]).ok().map(|k| self.folds.len() + k)
    }
}

/// Vertices in or at half-spaces at rest.
fn planes(contact: &ContactModel, colliders: &[Collider]) -> Vec<[u32; 2]> {
    let mut found = Vec::new();
    for (index, plane) in contact.planes.iter().enumerate() {
        let pose = &colliders[plane.collider].initial;
        let normal = pose.rotation.rotate(plane.plane.normal);
        let offset = normal.dot(pose.to_world(plane.plane.point));
        for (g, group) in contact.groups.iter().enumerate() {
            let Some(rule) = contact.rule(g, plane.group).filter(|rule| rule.rest == RestContact::LeftAlone) else {
                continue;
            };
            let is_at = |v: &usize| normal.dot(contact.rest[*v]) - offset <= TOUCHING * rule.gap;
            found.extend(group.vertices.clone().filter(is_at).map(|v| [v as u32, index as u32]));
        }
    }
    found.sort_unstable();
    found
}

/// Vertices and triangles, and edges, that nearly touch at rest.
fn touching(contact: &ContactModel, tree: &mut SurfaceTree) -> Vec<[Vec<u32>; 2]> {
    let mut candidates = Candidates::default();
    tree.find(&mut candidates);
    let reach = |a: u32, b: u32| {
        let [g, h] = [a, b].map(|v| contact.vertex_groups[v as usize] as usize);
        contact.rule(g, h).map_or(0.0, |rule| (TOUCHING * rule.gap).powi(2))
    };
    let at = |v: u32| contact.rest[v as usize];
    let mut found = Vec::new();
    for &[v, t] in &candidates.point_triangle {
        let [a, b, c] = contact.triangles[t as usize];
        if point_triangle([v, a, b, c].map(at)).distance_squared < reach(v, a) {
            found.push([vec![v], vec![a, b, c]]);
        }
    }
    for edges in &candidates.edge_edge {
        let [[a, b], [c, d]] = edges.map(|edge| tree.edges()[edge as usize]);
        if edge_edge([a, b, c, d].map(at)).distance_squared < reach(a, c) {
            found.push([vec![a, b], vec![c, d]]);
        }
    }
    found
}

/// Which vertices lie in flesh or in obstacles at rest.
struct Buried<'a> {
    contact: &'a ContactModel,
    normals: Vec<Vec3>,
    winding: Option<sinew_geometry::mesh::WindingNumber>,
}

impl<'a> Buried<'a> {
    fn new(contact: &'a ContactModel) -> Self {
        let surface = TriMesh::new(contact.rest.clone(), contact.triangles.clone()).ok();
        let normals = surface.as_ref().map_or_else(Vec::new, |surface| surface.normals(surface.positions()));
        Self { contact, normals, winding: surface.map(|surface| surface.winding_numbers()) }
    }

    fn holds(&self, vertex: u32) -> bool {
        let v = vertex as usize;
        let lift = LIFT * self.contact.groups[self.contact.vertex_groups[v] as usize].edge;
        self.winding.as_ref().is_some_and(|winding| winding.at(self.contact.rest[v] + self.normals[v] * lift) > 0.5)
    }
}

/// Disjoint sets, each known by its first member.
struct Sets {
    parent: Vec<u32>,
}

impl Sets {
    fn new(count: usize) -> Self {
        Self { parent: (0..count as u32).collect() }
    }

    fn first(&mut self, mut v: u32) -> u32 {
        while self.parent[v as usize] != v {
            self.parent[v as usize] = self.parent[self.parent[v as usize] as usize];
            v = self.parent[v as usize];
        }
        v
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.first(a), self.first(b));
        self.parent[a.max(b) as usize] = a.min(b);
    }
}
