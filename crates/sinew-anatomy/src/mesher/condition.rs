//! Which cells of a lattice become the mesh, and what of them no compression could crush \[Teran05\].
//!
//! A node is enveloped when every edge that leaves it lies inside for a quarter of its length at least. The mesh is
//! every cell of an enveloped node, so each cell has a node inside. Then its boundary is made a closed manifold, and
//! inner edges between two nodes of the boundary are halved: pushed onto the surface from both ends, they would lie flat
//! in it.

use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;

use super::MeshError;
use super::soup::{Soup, Stars, boundary_faces, edge_counts, halve_edges, neighbors_into};
use super::tree::EDGES;
use crate::solid::Solid;

/// Part of an edge that must lie inside; a quarter is the rule of the document.
const ENVELOPED: f64 = 0.25;

/// The cells that become the mesh.
#[derive(Clone, Debug)]
pub(super) struct Conditioned {
    /// Nodes and cells.
    pub soup: Soup,
    /// Whether each node is on the boundary.
    pub is_boundary: Vec<bool>,
    /// Copies of nodes in which parts met that share no face.
    pub separated_nodes: usize,
    /// Cells that were given up so that the boundary is a manifold.
    pub dropped_cells: usize,
}

/// Takes the cells of enveloped nodes and conditions their boundary.
pub(super) fn condition(solid: &dyn Solid, lattice: Soup) -> Result<Conditioned, MeshError> {
    let distances: Vec<f64> = lattice.positions.par_iter().map(|x| solid.distance(*x)).collect();
    if let Some(node) = distances.iter().position(|distance| distance.is_nan()) {
        return Err(MeshError::NotFinite { at: lattice.positions[node] });
    }
    let stars = Stars::new(lattice.positions.len(), &lattice.tets);
    let mut enveloped = enveloped_nodes(solid, &lattice, &stars, &distances);
    let mut first_count = None;
    loop {
        let (deep, skin) = split_cells(&lattice.tets, &enveloped);
        let count = deep.len() + skin.len();
        let dropped_cells = *first_count.get_or_insert(count) - count;
        if deep.is_empty() && skin.is_empty() {
            return Err(MeshError::Empty);
        }
        let mut skin = Skin::cut(&lattice.positions, skin, &enveloped);
        let pinched = skin.pinched_nodes(&enveloped);
        if pinched.is_empty() {
            let is_boundary = skin.halve_inner_edges(&enveloped);
            let separated_nodes = skin.separated_nodes;
            let mut soup = skin.soup;
            soup.tets.extend(deep);
            return Ok(Conditioned { soup, is_boundary, separated_nodes, dropped_cells });
        }
        give_up(&pinched, &lattice, &stars, &distances, &mut enveloped);
    }
}

/// Whether every edge of each node is inside for [`ENVELOPED`] of its length.
fn enveloped_nodes(solid: &dyn Solid, lattice: &Soup, stars: &Stars, distances: &[f64]) -> Vec<bool> {
    let is_enveloped = |neighbors: &mut Vec<u32>, node: usize| {
        if distances[node] >= 0.0 {
            return false;
        }
        neighbors_into(node as u32, stars, &lattice.tets, neighbors);
        let x = lattice.positions[node];
        neighbors.iter().all(|other| {
            let way = (lattice.positions[*other as usize] - x) * ENVELOPED;
            distances[node] <= -way.norm() || solid.distance(x + way) <= 0.0
        })
    };
    (0..distances.len()).into_par_iter().map_init(Vec::new, is_enveloped).collect()
}

/// Cells whose four nodes are enveloped, and those with at least one, but not four.
fn split_cells(tets: &[[u32; 4]], enveloped: &[bool]) -> (Vec<[u32; 4]>, Vec<[u32; 4]>) {
    let (mut deep, mut skin) = (Vec::new(), Vec::new());
    for nodes in tets {
        match nodes.iter().filter(|node| enveloped[**node as usize]).count() {
            0 => {}
            4 => deep.push(*nodes),
            _ => skin.push(*nodes),
        }
    }
    (deep, skin)
}

/// Takes the shallowest enveloped neighbor of each pinched node back.
fn give_up(pinched: &[u32], lattice: &Soup, stars: &Stars, distances: &[f64], enveloped: &mut [bool]) {
    let mut neighbors = Vec::new();
    for node in pinched {
        neighbors_into(*node, stars, &lattice.tets, &mut neighbors);
        let shallowest = neighbors
            .iter()
            .filter(|other| enveloped[**other as usize])
            .max_by(|a, b| distances[**a as usize].total_cmp(&distances[**b as usize]).then(b.cmp(a)));
        if let Some(other) = shallowest {
            enveloped[*other as usize] = false;
        }
    }
}

/// The outermost cells while their boundary is made a manifold.
struct Skin {
    soup: Soup,
    /// The lattice node, or the two whose edge was halved, from which each new node came.
    origins: Vec<[u32; 2]>,
    lattice_nodes: usize,
    separated_nodes: usize,
}

impl Skin {
    /// Halves the edges with four and more boundary faces, and gives parts that meet in a node or an edge alone a node
    /// each.
    fn cut(positions: &[Vec3], tets: Vec<[u32; 4]>, enveloped: &[bool]) -> Self {
        let mut skin = Self {
            soup: Soup { positions: positions.to_vec(), tets },
            origins: Vec::new(),
            lattice_nodes: positions.len(),
            separated_nodes: 0,
        };
        let faces = boundary_faces(&skin.soup.tets, |node| may_be_boundary(enveloped, node));
        let pinched: Vec<[u32; 2]> =
            edge_counts(&faces).into_iter().filter(|(_, count)| *count != 2).map(|(edge, _)| edge).collect();
        skin.origins.extend(&pinched);
        let first = halve_edges(&mut skin.soup, &pinched);
        let mut suspects = nodes_with_many_fans(&faces);
        suspects.extend(pinched.as_flattened());
        suspects.extend(first..skin.soup.positions.len() as u32);
        suspects.sort_unstable();
        suspects.dedup();
        skin.part(&suspects);
        skin
    }

    /// Gives each part of the star of each suspect a node of its own.
    fn part(&mut self, suspects: &[u32]) {
        let stars = Stars::new(self.soup.positions.len(), &self.soup.tets);
        let old = self.soup.tets.clone();
        for node in suspects {
            let cells = stars.of(*node);
            let parts = parts_of_star(*node, cells, &old);
            for part in 1..=parts.iter().copied().max().unwrap_or(0) {
                let copy = self.soup.positions.len() as u32;
                self.soup.positions.push(self.soup.positions[*node as usize]);
                self.origins.push(self.origin(*node));
                self.separated_nodes += 1;
                for (cell, _) in cells.iter().zip(&parts).filter(|(_, p)| **p == part) {
                    let nodes = &mut self.soup.tets[*cell as usize];
                    let local = old[*cell as usize].iter().position(|other| other == node);
                    nodes[local.expect("the star of a node")] = copy;
                }
            }
        }
    }

    fn origin(&self, node: u32) -> [u32; 2] {
        match (node as usize).checked_sub(self.lattice_nodes) {
            Some(new) => self.origins[new],
            None => [node; 2],
        }
    }

    /// Lattice nodes at which the boundary is no manifold, sorted.
    fn pinched_nodes(&self, enveloped: &[bool]) -> Vec<u32> {
        let faces = boundary_faces(&self.soup.tets, |node| may_be_boundary(enveloped, node));
        let mut pinched = nodes_with_many_fans(&faces);
        let edges = edge_counts(&faces);
        pinched.extend(edges.iter().filter(|(_, count)| *count != 2).flat_map(|(edge, _)| *edge));
        let mut nodes: Vec<u32> = pinched.into_iter().flat_map(|node| self.origin(node)).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// Halves inner edges between two nodes of the boundary, longest first; returns which nodes are on the boundary.
    fn halve_inner_edges(&mut self, enveloped: &[bool]) -> Vec<bool> {
        let faces = boundary_faces(&self.soup.tets, |node| may_be_boundary(enveloped, node));
        let mut is_boundary = vec![false; self.soup.positions.len()];
        faces.as_flattened().iter().for_each(|node| is_boundary[*node as usize] = true);
        let mut inner: Vec<[u32; 2]> = self
            .soup
            .tets
            .iter()
            .flat_map(|nodes| EDGES.map(|[i, j]| [nodes[i].min(nodes[j]), nodes[i].max(nodes[j])]))
            .filter(|[a, b]| is_boundary[*a as usize] && is_boundary[*b as usize])
            .collect();
        inner.sort_unstable();
        inner.dedup();
        let edges = edge_counts(&faces);
        inner.retain(|edge| edges.binary_search_by(|entry| entry.0.cmp(edge)).is_err());
        let length =
            |[a, b]: &[u32; 2]| (self.soup.positions[*a as usize] - self.soup.positions[*b as usize]).norm_squared();
        inner.sort_by(|a, b| length(b).total_cmp(&length(a)).then(a.cmp(b)));
        halve_edges(&mut self.soup, &inner);
        is_boundary.resize(self.soup.positions.len(), false);
        is_boundary
    }
}

/// Nodes that came later are never enveloped.
fn may_be_boundary(enveloped: &[bool], node: u32) -> bool {
    !enveloped.get(node as usize).is_some_and(|is_enveloped| *is_enveloped)
}

/// Part of each cell of a star: cells that share a face with the node are of one part; parts are counted from 0.
fn parts_of_star(node: u32, cells: &[u32], tets: &[[u32; 4]]) -> Vec<u32> {
    let others = |cell: u32| tets[cell as usize].iter().copied().filter(move |other| *other != node);
    joined(cells.len(), |i, j| others(cells[i]).filter(|p| others(cells[j]).any(|q| *p == q)).count() >= 2)
}

/// Nodes whose triangles form more than one fan, sorted.
pub(super) fn nodes_with_many_fans(triangles: &[[u32; 3]]) -> Vec<u32> {
    let mut corners: Vec<(u32, u32, u32)> =
        triangles.iter().flat_map(|[a, b, c]| [(*a, *b, *c), (*b, *c, *a), (*c, *a, *b)]).collect();
    corners.sort_unstable();
    let shares = |p: &(u32, u32, u32), q: &(u32, u32, u32)| p.1 == q.2 || p.2 == q.1 || p.1 == q.1 || p.2 == q.2;
    corners
        .chunk_by(|a, b| a.0 == b.0)
        .filter(|fan| joined(fan.len(), |i, j| shares(&fan[i], &fan[j])).into_iter().any(|part| part > 0))
        .map(|fan| fan[0].0)
        .collect()
}

/// Connected parts of `count` things, numbered from 0 in the order of their first.
fn joined(count: usize, touch: impl Fn(usize, usize) -> bool) -> Vec<u32> {
    let mut parts = vec![u32::MAX; count];
    let mut next = 0;
    for start in 0..count {
        if parts[start] != u32::MAX {
            continue;
        }
        parts[start] = next;
        let mut open = vec![start];
        while let Some(i) = open.pop() {
            for j in 0..count {
                if parts[j] == u32::MAX && touch(i, j) {
                    parts[j] = next;
                    open.push(j);
                }
            }
        }
        next += 1;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesher::shapes::{Formula, ball, random_field};
    use crate::mesher::tree::Tree;
    use sinew_geometry::Aabb;

    fn lattice(solid: &dyn Solid, spacing: f64) -> Soup {
        let tree = Tree::cover(solid, spacing, 0, 1_000_000).unwrap();
        Soup { positions: tree.positions(), tets: tree.leaves().map(|leaf| leaf.nodes).collect() }
    }

    fn assert_is_manifold(conditioned: &Conditioned) {
        let faces = boundary_faces(&conditioned.soup.tets, |_| true);
        assert!(edge_counts(&faces).iter().all(|(_, count)| *count == 2));
        assert_eq!(nodes_with_many_fans(&faces), []);
        let on: Vec<u32> = faces.into_flattened();
        assert!(on.iter().all(|node| conditioned.is_boundary[*node as usize]));
    }

    /// TER-11: every cell has a node inside, no inner edge joins two nodes of the boundary.
    #[test]
    fn no_cell_can_be_crushed_flat() {
        let conditioned = condition(&ball(Vec3::zero(), 1.0), lattice(&ball(Vec3::zero(), 1.0), 0.2)).unwrap();
        assert_is_manifold(&conditioned);
        let Conditioned { soup, is_boundary, .. } = &conditioned;
        let faces = boundary_faces(&soup.tets, |_| true);
        let edges = edge_counts(&faces);
        for nodes in &soup.tets {
            assert!(nodes.iter().any(|node| !is_boundary[*node as usize]));
            for [i, j] in EDGES {
                let edge = [nodes[i].min(nodes[j]), nodes[i].max(nodes[j])];
                let both = edge.iter().all(|node| is_boundary[*node as usize]);
                assert!(!both || edges.binary_search_by(|entry| entry.0.cmp(&edge)).is_ok());
            }
        }
    }

    /// Random fields at the scale of the cells pinch everywhere; the result is a manifold every time.
    #[test]
    fn rough_solids_have_a_manifold_boundary() {
        let (mut separated, mut dropped) = (0, 0);
        for seed in 0..6 {
            let solid = random_field(seed, 60.0);
            if let Ok(conditioned) = condition(&solid, lattice(&solid, 0.06)) {
                assert_is_manifold(&conditioned);
                separated += conditioned.separated_nodes;
                dropped += conditioned.dropped_cells;
            }
        }
        assert!(separated + dropped > 0, "some of these pinch");
    }

    /// Two bars that meet in an edge come apart there.
    #[test]
    fn bars_that_meet_in_an_edge_are_parted() {
        let bounds = Aabb { min: Vec3::splat(-1.0), max: Vec3::splat(1.0) };
        let bars = Formula::new("bars", bounds, |p| {
            let outer = p.abs().max_component() - 0.9;
            (0.7 * -(p.x * p.y).signum() * p.x.abs().min(p.y.abs())).max(outer)
        });
        let conditioned = condition(&bars, lattice(&bars, 0.13)).unwrap();
        assert_is_manifold(&conditioned);
    }
}
