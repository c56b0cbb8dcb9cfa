//! The way of all vertices in one motion: who may meet whom, and how far it is free.

use sinew_geometry::proximity::{PairKind, free_fraction};
use sinew_math::Vec3;
use sinew_math::parallel::reduce_blocks;

use super::super::surface::ContactModel;
use super::{BLOCK, ContactStage, KEEP};

impl ContactStage {
    /// Finds all candidates of the straight way of the points from `from` to `to` while colliders go on to `progress`,
    /// and the share of it that is free.
    pub fn sweep(&mut self, contact: &ContactModel, from: &[Vec3], to: &[Vec3], progress: f64) -> f64 {
        self.is_stale = false;
        if self.tree.is_none() {
            return 1.0;
        }
        self.is_current = false;
        let (mut y, mut swept) = (std::mem::take(&mut self.y), std::mem::take(&mut self.swept));
        self.place(contact, from, self.progress, &mut y);
        self.place(contact, to, progress, &mut swept);
        (self.y, self.swept) = (y, swept);
        let mut free = 1.0f64;
        if !self.knows_candidates() {
            if let Some(tree) = &mut self.tree {
                tree.find_on_way(&self.y, &self.swept, &self.margins, &mut self.candidates);
            }
            self.known = true;
            self.known_ends[0].copy_from_slice(&self.y);
            self.known_ends[1].copy_from_slice(&self.swept);
            self.leave_tangles(contact);
        }
        if from != to || progress != self.progress {
            free = self.free_way(contact);
        }
        for (k, &[v, index]) in self.plane_vertices.iter().enumerate() {
            if self.is_left_to_plane(k) {
                continue;
            }
            let (now, then) = (self.plane(index as usize, self.progress), self.plane(index as usize, progress));
            let before = now.normal.dot(self.y[v as usize]) - now.offset;
            let after = then.normal.dot(self.swept[v as usize]) - then.offset;
            if after < KEEP * before {
                free = free.min((1.0 - KEEP) * before / (before - after));
            }
        }
        free
    }

    /// Makes the candidates of one of the last two searches the present ones if they are those of the motion from `y` to
    /// `swept`, and a few more; returns whether there are any.
    ///
    /// Boxes are grown by the slack. Where a motion begins and ends within the slack of an end of the motion that was
    /// searched, the axis that separated two boxes or two primitives there separates them here: margins hold the slack of
    /// both sides besides the gap.
    fn knows_candidates(&mut self) -> bool {
        let slack = self.slack * self.slack;
        let is_known = |ends: &[Vec<Vec3>; 2]| {
            let is_near = |y: &[Vec3]| {
                let is_at = |known: &[Vec3]| y.iter().zip(known).all(|(a, b)| (*a - *b).norm_squared() <= slack);
                ends.iter().any(|known| is_at(known))
            };
            is_near(&self.y) && is_near(&self.swept)
        };
        if self.known && is_known(&self.known_ends) {
            return true;
        }
        let is_spare = self.spare_known && is_known(&self.spare_ends);
        std::mem::swap(&mut self.known, &mut self.spare_known);
        std::mem::swap(&mut self.known_ends, &mut self.spare_ends);
        std::mem::swap(&mut self.candidates, &mut self.spare_candidates);
        is_spare
    }

    /// Collision-free fraction of the motion from `y` to `swept`.
    fn free_way(&self, contact: &ContactModel) -> f64 {
        let Self { candidates, tree, y, swept, .. } = self;
        let edges = tree.as_ref().map_or(&[][..], |tree| tree.edges());
        let (points, count) =
            (candidates.point_triangle.len(), candidates.point_triangle.len() + candidates.edge_edge.len());
        let share = |pair: usize| {
            let (kind, vertices) = if pair < points {
                let [v, t] = candidates.point_triangle[pair];
                let [a, b, c] = contact.triangles[t as usize];
                (PairKind::PointTriangle, [v, a, b, c])
            } else {
                let [e, f] = candidates.edge_edge[pair - points];
                let ([a, b], [c, d]) = (edges[e as usize], edges[f as usize]);
                (PairKind::EdgeEdge, [a, b, c, d])
            };
            free_fraction(kind, vertices.map(|v| y[v as usize]), vertices.map(|v| swept[v as usize]), KEEP)
        };
        let block = |range: std::ops::Range<usize>| range.map(share).fold(1.0, f64::min);
        reduce_blocks(count, BLOCK, block, f64::min).unwrap_or(1.0)
    }
}
