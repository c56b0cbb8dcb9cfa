//! Tangles in time: pairs that are left alone, and the moment at which they have parted.

use sinew_geometry::proximity::{edge_edge, point_triangle, triangles_cross};
use sinew_math::Vec3;

use super::super::surface::ContactModel;
use super::ContactStage;
use super::touch::gap_of;
use crate::state::History;

impl ContactStage {
    /// Takes over which places are still tangled.
    pub(super) fn recall_tangles(&mut self, contact: &ContactModel, history: &History) {
        if contact.tangles.is_empty() {
            return;
        }
        self.tangled.clear();
        self.tangled.extend_from_slice(&history.contact_tangles);
        self.tangled.resize(contact.tangles.counts().iter().sum(), true);
        self.is_plane_free.clear();
        let free = |&[v, plane]: &[u32; 2]| contact.tangles.of_plane(v, plane).is_some_and(|k| self.tangled[k]);
        self.is_plane_free.extend(self.plane_vertices.iter().map(free));
        let [count, _] = contact.tangles.counts();
        self.has_tangles = self.tangled[..count].contains(&true);
    }

    /// Removes the pairs of tangles from the candidates.
    pub(super) fn leave_tangles(&mut self, contact: &ContactModel) {
        if !self.has_tangles {
            return;
        }
        let Some(tree) = &self.tree else { return };
        let (tangles, tangled, edges) = (&contact.tangles, &self.tangled, tree.edges());
        let is_guarded = |vertices: [u32; 4], split: usize| {
            tangles.of_pair(vertices, split).is_none_or(|pair| !tangled[pair.tangle as usize])
        };
        self.candidates.point_triangle.retain(|&[v, t]| {
            let [a, b, c] = contact.triangles[t as usize];
            is_guarded([v, a, b, c], 1)
        });
        self.candidates.edge_edge.retain(|&[e, f]| {
            let ([a, b], [c, d]) = (edges[e as usize], edges[f as usize]);
            is_guarded([a, b, c, d], 2)
        });
    }

    /// Finds what has parted at the last evaluated positions, which are those of an accepted step, and guards it from
    /// then on.
    pub(super) fn part(&mut self, contact: &ContactModel, history: &mut History) {
        if contact.tangles.is_empty() {
            return;
        }
        for (k, [v, index]) in contact.tangles.at_planes() {
            let plane = self.plane(index as usize, self.progress);
            let groups = [contact.vertex_groups[v as usize] as usize, contact.planes[index as usize].group];
            let gap = contact.rule(groups[0], groups[1]).map_or(0.0, |rule| rule.gap);
            self.tangled[k] &= plane.normal.dot(self.y[v as usize]) - plane.offset < gap;
        }
        if self.has_tangles {
            self.part_surfaces(contact);
        }
        history.contact_tangles.clear();
        history.contact_tangles.extend_from_slice(&self.tangled);
    }

    fn part_surfaces(&mut self, contact: &ContactModel) {
        let Some(mut tree) = self.tree.take() else { return };
        tree.refit(&self.y, &self.y, &self.margins);
        let [count, _] = contact.tangles.counts();
        let mut together = std::mem::take(&mut self.together);
        together.clear();
        together.resize(count, false);
        let tangled = &self.tangled;
        let is_wanted = |t: u32| {
            let is_tangled = |v| contact.tangles.tangle_of(v).is_some_and(|tangle| tangled[tangle as usize]);
            contact.triangles[t as usize].into_iter().any(is_tangled)
        };
        tree.for_each_near(is_wanted, |a, b| {
            let pair = contact.tangles.of_triangles([a, b].map(|t| contact.triangles[t as usize]));
            if let Some(pair) = pair.filter(|pair| tangled[pair.tangle as usize]) {
                let together = &mut together[pair.tangle as usize];
                *together = *together
                    || triangles_cross(&contact.triangles, [a, b], &self.y)
                    || is_close(contact, [a, b], &self.y, pair.is_across);
            }
        });
        for (tangled, together) in self.tangled[..count].iter_mut().zip(&together) {
            *tangled &= together;
        }
        self.has_tangles = self.tangled[..count].contains(&true);
        (self.tree, self.together) = (Some(tree), together);
    }
}

/// Whether two triangles are nearer than the gap from which they will repel each other.
fn is_close(contact: &ContactModel, pair: [u32; 2], y: &[Vec3], is_across: bool) -> bool {
    let [s, t] = pair.map(|triangle| contact.triangles[triangle as usize]);
    let groups = [s[0], t[0]].map(|v| contact.vertex_groups[v as usize]);
    let Some(rule) = contact.rule(groups[0] as usize, groups[1] as usize) else { return false };
    let gap = |at_rest: f64| if is_across { rule.gap } else { gap_of(rule.gap, groups, || at_rest) };
    let (now, rest) = (|v: u32| y[v as usize], |v: u32| contact.rest[v as usize]);
    let is_distinct =
        |vertices: &[u32; 4], split: usize| vertices[..split].iter().all(|v| !vertices[split..].contains(v));
    for (s, t) in [(s, t), (t, s)] {
        for v in s {
            let vertices = [v, t[0], t[1], t[2]];
            let limit = gap(point_triangle(vertices.map(rest)).distance_squared);
            if is_distinct(&vertices, 1) && point_triangle(vertices.map(now)).distance_squared < limit * limit {
                return true;
            }
        }
    }
    for i in 0..3 {
        for j in 0..3 {
            let vertices = [s[i], s[(i + 1) % 3], t[j], t[(j + 1) % 3]];
            let limit = gap(edge_edge(vertices.map(rest)).distance_squared);
            if is_distinct(&vertices, 2) && edge_edge(vertices.map(now)).distance_squared < limit * limit {
                return true;
            }
        }
    }
    false
}
