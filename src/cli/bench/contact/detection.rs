//! Contact detection from vertex positions only: candidates, their distances, and the collision-free fraction of a
//! motion.

use std::ops::Range;

use sinew_fem::contact::ContactModel;
use sinew_geometry::proximity::{Candidates, PairKind, SurfaceTree, edge_edge, free_fraction, point_triangle};
use sinew_math::Vec3;
use sinew_math::parallel::reduce_blocks;

/// Candidates per block of parallel work: a few hundred microseconds.
const BLOCK: usize = 1024;

/// Fraction of its distance that a pair keeps, as in the solver.
const KEEP: f64 = 0.1;

/// A tree over all surfaces, including self-contact, and the candidates of the last search.
pub struct Detection {
    tree: SurfaceTree,
    margins: Vec<f64>,
    candidates: Candidates,
}

impl Detection {
    /// Margin of each group \[m\].
    pub fn new(contact: &ContactModel, margins: Vec<f64>) -> Self {
        let groups = (0..contact.triangles.len() as u32).map(|t| contact.triangle_group(t) as u32).collect();
        let paired = vec![true; contact.groups.len() * contact.groups.len()];
        let tree = SurfaceTree::new(contact.rest.len(), contact.triangles.clone(), groups, paired);
        Self { tree, margins, candidates: Candidates::default() }
    }

    /// Candidates of the last search.
    pub fn candidates(&self) -> &Candidates {
        &self.candidates
    }

    /// Number of candidates of the last search.
    pub fn pair_count(&self) -> usize {
        self.candidates.point_triangle.len() + self.candidates.edge_edge.len()
    }

    /// Number of edges.
    pub fn edge_count(&self) -> usize {
        self.tree.edges().len()
    }

    /// Rebuilds the tree and finds all candidates of the motion.
    pub fn find(&mut self, start: &[Vec3], end: &[Vec3]) {
        self.tree.rebuild(start);
        self.tree.refit(start, end, &self.margins);
        self.tree.find(&mut self.candidates);
    }

    /// Number of candidates closer than the gap, and the minimum distance \[m\].
    pub fn near_pairs(&self, positions: &[Vec3], gap: f64) -> (usize, f64) {
        let limit = gap * gap;
        let block = |pairs: Range<usize>| {
            let distances = pairs.map(|pair| {
                let (kind, vertices) = self.pair(pair);
                let x = vertices.map(|v| positions[v as usize]);
                match kind {
                    PairKind::PointTriangle => point_triangle(x).distance_squared,
                    PairKind::EdgeEdge => edge_edge(x).distance_squared,
                }
            });
            distances.fold((0, f64::INFINITY), |(count, least), d| (count + usize::from(d < limit), least.min(d)))
        };
        let near = reduce_blocks(self.pair_count(), BLOCK, block, |a, b| (a.0 + b.0, a.1.min(b.1)));
        near.map_or((0, f64::INFINITY), |(count, least)| (count, least.sqrt()))
    }

    /// The collision-free fraction of the motion.
    pub fn free_share(&self, start: &[Vec3], end: &[Vec3]) -> f64 {
        let share = |pair| {
            let (kind, vertices) = self.pair(pair);
            free_fraction(kind, vertices.map(|v| start[v as usize]), vertices.map(|v| end[v as usize]), KEEP)
        };
        let block = |pairs: Range<usize>| pairs.map(share).fold(1.0, f64::min);
        reduce_blocks(self.pair_count(), BLOCK, block, f64::min).unwrap_or(1.0)
    }

    /// Kind and vertices of a candidate; edges follow points.
    fn pair(&self, pair: usize) -> (PairKind, [u32; 4]) {
        let Candidates { point_triangle, edge_edge } = &self.candidates;
        if let Some(&[v, t]) = point_triangle.get(pair) {
            let [a, b, c] = self.tree.triangles()[t as usize];
            (PairKind::PointTriangle, [v, a, b, c])
        } else {
            let [e, f] = edge_edge[pair - point_triangle.len()];
            let ([a, b], [c, d]) = (self.tree.edges()[e as usize], self.tree.edges()[f as usize]);
            (PairKind::EdgeEdge, [a, b, c, d])
        }
    }
}
