//! Deformed tetrahedra that contain a point: p = Σ wᵢ xᵢ with Σ wᵢ = 1 and all wᵢ ≥ 0.

use sinew_math::Vec3;

use super::box_tree::BoxTree;
use super::box32::Box32;
use crate::mesh::Aabb;

/// Barycentric coordinates down to minus this count as inside, so that rounding never leaves a point between two
/// neighbors.
const TOLERANCE: f64 = 1e-12;

/// Largest number of tetrahedra in a leaf: below this, testing boxes one by one is as cheap as descending.
const LEAF_SIZE: usize = 4;

/// A bounding volume hierarchy over moving tetrahedra.
#[derive(Clone, Debug)]
pub struct CellTree {
    tets: Vec<[u32; 4]>,
    /// Boxes are relative to this point, so that single precision resolves the scene regardless of its position.
    origin: Vec3,
    tree: BoxTree<Box32>,
}

impl CellTree {
    /// A tree over tetrahedra, given by their nodes. Finds nothing until the first [`Self::refit`].
    pub fn new(tets: Vec<[u32; 4]>) -> Self {
        Self { tree: BoxTree::new(tets.len(), LEAF_SIZE, |_| 0), origin: Vec3::zero(), tets }
    }

    /// Nodes of the tetrahedra.
    pub fn tets(&self) -> &[[u32; 4]] {
        &self.tets
    }

    /// Rebuilds the tree for these positions (once per step, because bodies move). The boxes follow with the next
    /// [`Self::refit`].
    pub fn rebuild(&mut self, nodes: &[Vec3]) {
        let used = self.tets.as_flattened().iter();
        let center = Aabb::from_points(used.map(|node| &nodes[*node as usize])).center();
        self.origin = if center.is_finite() { center } else { Vec3::zero() };
        let (tets, origin) = (&self.tets, self.origin);
        // Four times the center sorts like the center.
        self.tree.rebuild(|tet| tets[tet as usize].iter().map(|node| nodes[*node as usize] - origin).sum());
    }

    /// Updates the boxes around the tetrahedra at these positions.
    pub fn refit(&mut self, nodes: &[Vec3]) {
        let (tets, origin) = (&self.tets, self.origin);
        self.tree.refit(|tet| {
            let [a, b, c, d] = tets[tet as usize].map(|node| nodes[node as usize]);
            let (min, max) = (a.min(b).min(c.min(d)), a.max(b).max(c.max(d)));
            // Negative coordinates within the tolerance extend the box by at most three times it.
            let reach = (max - min) * (4.0 * TOLERANCE);
            Box32::new(min - reach - origin, max + reach - origin)
        });
    }

    /// Calls `visit(tet, barycentric)` for each tetrahedron of positive volume that contains `p`, with coordinates ≥
    /// −10⁻¹².
    ///
    /// `nodes` are those of the last [`Self::refit`]. Inverted or flat tetrahedra are skipped.
    pub fn for_each_containing(&self, nodes: &[Vec3], p: Vec3, mut visit: impl FnMut(u32, [f64; 4])) {
        let query = Box32::new(p - self.origin, p - self.origin);
        self.tree.for_each_overlap(&query, |slot| {
            let tet = self.tree.item(slot);
            if let Some(weights) = barycentric(self.tets[tet as usize].map(|node| nodes[node as usize]), p) {
                visit(tet, weights);
            }
        });
    }
}

/// Coordinates of `p` if it is inside the tetrahedron, by volume ratios: wᵢ = Vᵢ / V.
fn barycentric(x: [Vec3; 4], p: Vec3) -> Option<[f64; 4]> {
    let [a, b, c] = [x[1] - x[0], x[2] - x[0], x[3] - x[0]];
    let r = p - x[0];
    let volume = a.dot(b.cross(c));
    if !(volume > 0.0) {
        return None;
    }
    let (v1, v2, v3) = (r.dot(b.cross(c)), r.dot(c.cross(a)), r.dot(a.cross(b)));
    let weights = [1.0 - (v1 + v2 + v3) / volume, v1 / volume, v2 / volume, v3 / volume];
    weights.iter().all(|w| *w >= -TOLERANCE).then_some(weights)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proximity::random::Random;

    fn containing(tree: &CellTree, nodes: &[Vec3], p: Vec3) -> Vec<(u32, [f64; 4])> {
        let mut found = Vec::new();
        tree.for_each_containing(nodes, p, |tet, weights| found.push((tet, weights)));
        found.sort_by_key(|(tet, _)| *tet);
        found
    }

    #[test]
    fn found_cells_equal_brute_force_and_give_the_point() {
        let mut random = Random::new(10);
        let mut nodes = Vec::new();
        let tets: Vec<[u32; 4]> = (0..400)
            .map(|i| {
                let center = random.point();
                nodes.extend((0..4).map(|_| center + random.point() * 0.4));
                [4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3]
            })
            .collect();
        let mut tree = CellTree::new(tets.clone());
        tree.rebuild(&nodes);
        let moved: Vec<Vec3> = nodes.iter().map(|x| *x + random.point() * 0.1).collect();
        tree.refit(&moved);
        let mut total = 0;
        for _ in 0..2_000 {
            let p = random.point();
            let found = containing(&tree, &moved, p);
            let expected: Vec<(u32, [f64; 4])> = (0..400)
                .filter_map(|t| Some((t, barycentric(tets[t as usize].map(|n| moved[n as usize]), p)?)))
                .collect();
            assert_eq!(found, expected);
            for (tet, weights) in &found {
                let q: Vec3 = (0..4).map(|i| moved[tets[*tet as usize][i] as usize] * weights[i]).sum();
                assert!((q - p).norm() < 1e-12);
            }
            total += found.len();
        }
        assert!(total > 200, "{total}");
    }

    /// Corners, edges and faces belong to the cell, despite rounding to single precision.
    #[test]
    fn border_is_inside() {
        let nodes = [Vec3::zero(), Vec3::unit(0), Vec3::unit(1), Vec3::unit(2)].map(|x| x * 0.1 + Vec3::splat(1e4));
        let mut tree = CellTree::new(vec![[0, 1, 2, 3]]);
        tree.refit(&nodes);
        for p in nodes {
            assert_eq!(containing(&tree, &nodes, p).len(), 1);
        }
        let beside = Vec3::new(-1e-14, 0.02, 0.03);
        let at_origin = nodes.map(|x| x - Vec3::splat(1e4));
        tree.refit(&at_origin);
        assert_eq!(containing(&tree, &at_origin, beside).len(), 1);
    }

    #[test]
    fn cells_inside_out_or_flat_contain_nothing() {
        let nodes = [Vec3::zero(), Vec3::unit(0), Vec3::unit(1), Vec3::unit(2), Vec3::new(1.0, 1.0, 0.0)];
        let mut tree = CellTree::new(vec![[0, 2, 1, 3], [0, 1, 2, 4]]);
        tree.rebuild(&nodes);
        tree.refit(&nodes);
        assert!(containing(&tree, &nodes, Vec3::splat(0.1)).is_empty());
        assert!(containing(&tree, &nodes, Vec3::new(0.1, 0.1, 0.0)).is_empty());
    }
}
