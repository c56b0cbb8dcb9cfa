//! Lattices of equal cells in several sizes, whose hanging nodes follow others (SIF-078).
//!
//! Every cell is the cell of the body-centered cubic lattice, scaled and turned; no green cells stand between the
//! sizes. A node in the middle of an edge or a face of a larger cell hangs: it moves with the ends of the edge that it
//! halves, so that the body stays closed. \[Sifakis07\]

use sinew_geometry::CellMesh;
use sinew_geometry::mesh::MeshField;
use sinew_math::Vec3;

use super::MeshError;
use super::refine::{Closure, balance};
use super::tree::{CIRCUMRADIUS, EDGES, FACES, MAX_DEPTH, Tree, TreeCell};
use crate::solid::Solid;

/// Node field of a mesh with T-junctions: the ends of the edge that a node halves, which it follows, by their numbers; of a
/// node that moves freely its own number twice.
pub const HANGING_ENDS: &str = "hanging_ends";

/// How much the sizes of touching cells may differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grading {
    /// Halves at most.
    #[default]
    OneLevel,
    /// Any: fewer cells, longer chains of hanging nodes.
    Free,
}

/// How a red lattice is built.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedOptions {
    /// Long edge of the coarsest cells \[m\].
    pub spacing: f64,
    /// How often cells near the surface are split; more than 8 counts as 8.
    pub depth: u8,
    /// Cells whose center is nearer to the surface than this many of their long edges are split; 0.56 and more reach
    /// every cell that the surface cuts.
    pub band: f64,
    /// How much the sizes of touching cells may differ.
    pub grading: Grading,
    /// Largest number of cells that is tried.
    pub max_cells: usize,
}

impl Default for RedOptions {
    /// Two levels, a band of 0.6 cells, sizes that differ by one level.
    fn default() -> Self {
        Self { spacing: 0.01, depth: 2, band: 0.6, grading: Grading::OneLevel, max_cells: 20_000_000 }
    }
}

/// A node that follows the two ends of the edge that it halves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hanging {
    /// The node.
    pub node: u32,
    /// The ends of the edge, which may hang themselves.
    pub parents: [u32; 2],
}

/// Cells of several sizes with T-junctions.
#[derive(Clone, Debug)]
pub struct RedLattice {
    /// The cells. Where sizes differ, faces of both sides count as boundary.
    pub mesh: CellMesh,
    /// How often the coarsest cell was split to give each cell.
    pub levels: Vec<u8>,
    /// Nodes that follow others, sorted by node.
    pub hanging: Vec<Hanging>,
}

impl RedLattice {
    /// Covers a solid, with small cells near its surface.
    pub fn cover(solid: &dyn Solid, options: &RedOptions) -> Result<Self, MeshError> {
        let band = options.band;
        Self::cover_where(solid, options, |center, spacing| solid.distance(center).abs() < band * spacing)
    }

    /// Covers a solid; `wants(center, long edge)` says which cells to split. Cells without any part inside are dropped.
    pub fn cover_where(
        solid: &dyn Solid,
        options: &RedOptions,
        wants: impl Fn(Vec3, f64) -> bool + Sync,
    ) -> Result<Self, MeshError> {
        let depth = options.depth.min(MAX_DEPTH);
        let mut tree = Tree::cover(solid, options.spacing, depth, options.max_cells)?;
        tree.split_where(depth, options.max_cells, |tree, cell| wants(tree.center(cell), tree.spacing_at(cell.level)))?;
        if options.grading == Grading::OneLevel {
            balance(&mut tree, Closure::Grading);
        }
        Self::of_tree(&tree, solid)
    }

    fn of_tree(tree: &Tree, solid: &dyn Solid) -> Result<Self, MeshError> {
        let touches =
            |cell: &&TreeCell| solid.distance(tree.center(cell)) <= CIRCUMRADIUS * tree.spacing_at(cell.level);
        let kept: Vec<_> = tree.leaves().filter(touches).copied().collect();
        let mut tets: Vec<[u32; 4]> = kept.iter().map(|cell| cell.nodes).collect();
        let hanging = hanging_nodes(tree, &tets);
        let (positions, number) = renumber(&tree.positions(), &mut tets);
        let hanging = with_parents(hanging, &number);
        let (mesh, _) = CellMesh::from_tets(positions, &tets)?;
        Ok(Self { mesh, levels: kept.iter().map(|cell| cell.level).collect(), hanging })
    }

    /// The mesh with a node field of the two ends of each node that hangs, which for others is the node itself, and a cell
    /// field of levels.
    pub fn described(&self) -> Result<CellMesh, MeshError> {
        let mut ends: Vec<f64> = (0..self.mesh.node_count()).flat_map(|node| [node as f64; 2]).collect();
        for Hanging { node, parents } in &self.hanging {
            ends[2 * *node as usize..][..2].copy_from_slice(&parents.map(f64::from));
        }
        let levels = self.levels.iter().map(|level| f64::from(*level)).collect();
        let mesh = self.mesh.clone().with_node_field(HANGING_ENDS, MeshField { components: 2, values: ends })?;
        Ok(mesh.with_cell_field("level", MeshField { components: 1, values: levels })?)
    }

    /// Which nodes move freely, and for every node which free nodes it follows with which weights; a free node
    /// follows itself. Weights sum to one. Sorted by node.
    pub fn bindings(&self) -> Vec<Vec<(u32, f64)>> {
        let mut parents = vec![None; self.mesh.node_count()];
        for hanging in &self.hanging {
            parents[hanging.node as usize] = Some(hanging.parents);
        }
        (0..parents.len() as u32).map(|node| flattened(node, &parents)).collect()
    }
}

/// Free nodes behind a node with their weights. Ends: parents lie on longer edges than the node's own.
fn flattened(node: u32, parents: &[Option<[u32; 2]>]) -> Vec<(u32, f64)> {
    let mut open = vec![(node, 1.0)];
    let mut free: Vec<(u32, f64)> = Vec::new();
    while let Some((node, weight)) = open.pop() {
        match parents[node as usize] {
            Some([a, b]) => open.extend([(a, 0.5 * weight), (b, 0.5 * weight)]),
            None => match free.iter_mut().find(|entry| entry.0 == node) {
                Some(entry) => entry.1 += weight,
                None => free.push((node, weight)),
            },
        }
    }
    free.sort_unstable_by_key(|entry| entry.0);
    free
}

/// Nodes on edges and faces of leaves, each with the ends of the edge that it halves, sorted.
fn hanging_nodes(tree: &Tree, leaves: &[[u32; 4]]) -> Vec<Hanging> {
    let mut found = Vec::new();
    for nodes in leaves {
        for [i, j] in EDGES {
            nodes_on_edge(tree, nodes[i], nodes[j], &mut found);
        }
        for face in FACES {
            nodes_on_face(tree, face.map(|i| nodes[i]), &mut found);
        }
    }
    found.sort_unstable();
    // The same node may halve only one edge: lattice lines that cross do so at their ends.
    found.dedup_by_key(|hanging| hanging.node);
    found
}

fn nodes_on_edge(tree: &Tree, a: u32, b: u32, found: &mut Vec<Hanging>) {
    if let Some(node) = tree.middle(a, b) {
        found.push(Hanging { node, parents: [a.min(b), a.max(b)] });
        nodes_on_edge(tree, a, node, found);
        nodes_on_edge(tree, node, b, found);
    }
}

/// What lies inside of a face: the edges between its middles and all that halves them.
fn nodes_on_face(tree: &Tree, [a, b, c]: [u32; 3], found: &mut Vec<Hanging>) {
    let (Some(ab), Some(bc), Some(ca)) = (tree.middle(a, b), tree.middle(b, c), tree.middle(c, a)) else {
        return;
    };
    for [p, q] in [[ab, bc], [bc, ca], [ca, ab]] {
        nodes_on_edge(tree, p, q, found);
    }
    for face in [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]] {
        nodes_on_face(tree, face, found);
    }
}

/// Positions of the nodes that `tets` use, in order, and new numbers of all; `tets` get the new numbers.
pub(super) fn renumber(positions: &[Vec3], tets: &mut [[u32; 4]]) -> (Vec<Vec3>, Vec<u32>) {
    let mut number = vec![u32::MAX; positions.len()];
    tets.as_flattened().iter().for_each(|node| number[*node as usize] = 0);
    let mut kept = Vec::new();
    for (node, entry) in number.iter_mut().enumerate().filter(|(_, entry)| **entry == 0) {
        *entry = kept.len() as u32;
        kept.push(positions[node]);
    }
    tets.as_flattened_mut().iter_mut().for_each(|node| *node = number[*node as usize]);
    (kept, number)
}

/// Hanging nodes that are used, by their new numbers.
fn with_parents(hanging: Vec<Hanging>, number: &[u32]) -> Vec<Hanging> {
    let new = |node: u32| number[node as usize];
    hanging
        .into_iter()
        .filter(|entry| new(entry.node) != u32::MAX)
        .map(|entry| Hanging { node: new(entry.node), parents: entry.parents.map(new) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesher::shapes::{Random, ball};

    const MIDDLE: Vec3 = Vec3::new(0.07, 0.02, -0.04);

    /// A ball of radius 1 with small cells around its middle.
    fn fine_inside(grading: Grading) -> RedLattice {
        let options = RedOptions { spacing: 0.4, depth: 3, grading, ..RedOptions::default() };
        RedLattice::cover_where(&ball(Vec3::zero(), 1.0), &options, |center, spacing| {
            center.distance(MIDDLE) < 0.15 + 0.2 * spacing
        })
        .unwrap()
    }

    fn signed_volume(lattice: &RedLattice, positions: &[Vec3]) -> f64 {
        let volume = |nodes: &[u32]| {
            let [a, b, c, d] = [0, 1, 2, 3].map(|i| positions[nodes[i] as usize]);
            (b - a).cross(c - a).dot(d - a) / 6.0
        };
        lattice.mesh.cells().map(|(_, nodes)| volume(nodes)).sum()
    }

    /// Every cell has the shape of the lattice: its volume is the cube of its long edge over 12 (SIF-078).
    #[test]
    fn all_cells_are_one_shape_in_several_sizes() {
        let lattice = fine_inside(Grading::Free);
        let mut counts = [0; 4];
        for (cell, volume) in lattice.mesh.cell_volumes().into_iter().enumerate() {
            let level = lattice.levels[cell];
            counts[usize::from(level)] += 1;
            let expected = (0.4 / f64::from(1 << level)).powi(3) / 12.0;
            // Rounding of coordinates.
            assert!((volume / expected - 1.0).abs() < 1e-12);
        }
        assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
        let quality = lattice.mesh.quality();
        assert!((quality.min_dihedral.to_degrees() - 60.0).abs() < 1e-9);
        assert!((quality.max_dihedral.to_degrees() - 90.0).abs() < 1e-9);
    }

    /// Weights sum to one and give back any affine motion exactly.
    #[test]
    fn hanging_nodes_follow_free_ones() {
        let lattice = fine_inside(Grading::Free);
        let x = lattice.mesh.positions();
        for hanging in &lattice.hanging {
            let [a, b] = hanging.parents.map(|node| x[node as usize]);
            assert_eq!(x[hanging.node as usize], (a + b) * 0.5);
        }
        let bindings = lattice.bindings();
        let is_hanging = |node: u32| lattice.hanging.binary_search_by_key(&node, |entry| entry.node).is_ok();
        assert!(bindings.iter().any(|binding| binding.len() > 2), "there are chains");
        for (node, binding) in bindings.iter().enumerate() {
            assert!(binding.iter().all(|(free, _)| !is_hanging(*free)));
            assert_eq!(binding.iter().map(|(_, weight)| weight).sum::<f64>(), 1.0);
            let sum = binding.iter().map(|(free, weight)| x[*free as usize] * *weight).sum::<Vec3>();
            assert!(sum.distance(x[node]) < 1e-14);
        }
    }

    /// Free nodes inside move at random, the outer ones stand still, hanging ones follow: without gaps and overlaps the
    /// total volume is what it was. If hanging nodes stay behind, it is not.
    #[test]
    fn the_body_stays_closed_where_sizes_meet() {
        for grading in [Grading::OneLevel, Grading::Free] {
            let lattice = fine_inside(grading);
            let mut random = Random::new(5);
            let mut moved: Vec<Vec3> = lattice.mesh.positions().to_vec();
            for x in moved.iter_mut().filter(|x| x.norm() < 0.7) {
                *x += random.point(0.02);
            }
            let closed: Vec<Vec3> = lattice
                .bindings()
                .iter()
                .map(|binding| binding.iter().map(|(free, weight)| moved[*free as usize] * *weight).sum())
                .collect();
            let rest = lattice.mesh.volume();
            // Rounding of some 10⁴ terms.
            assert!((signed_volume(&lattice, &closed) / rest - 1.0).abs() < 1e-13, "{grading:?}");
            assert!((signed_volume(&lattice, &moved) / rest - 1.0).abs() > 1e-6, "{grading:?}: gaps without bindings");
        }
    }

    /// SIF-078: 80 % fewer cells than with the finest cells everywhere.
    #[test]
    fn detail_at_the_surface_alone_takes_a_fifth_of_the_cells() {
        let solid = ball(Vec3::zero(), 1.0);
        let options = RedOptions { spacing: 0.4, depth: 4, grading: Grading::Free, ..RedOptions::default() };
        let lattice = RedLattice::cover(&solid, &options).unwrap();
        let finest: f64 = 0.4 / 16.0;
        let uniform = 12.0 * 4.0 / 3.0 * std::f64::consts::PI / finest.powi(3);
        let share = lattice.mesh.cell_count() as f64 / uniform;
        assert!(share < 0.2, "{share}");
        let graded = RedLattice::cover(&solid, &RedOptions { grading: Grading::OneLevel, ..options }).unwrap();
        assert!(lattice.mesh.cell_count() <= graded.mesh.cell_count());
    }

    #[test]
    fn what_cannot_be_covered_is_refused() {
        let cover = |spacing: f64, max_cells: usize| {
            let options = RedOptions { spacing, max_cells, ..RedOptions::default() };
            RedLattice::cover(&ball(Vec3::zero(), 1.0), &options)
        };
        for spacing in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(cover(spacing, 1000), Err(MeshError::CellSize { .. })));
        }
        assert!(matches!(cover(0.1, 1000), Err(MeshError::TooManyCells { .. })));
        assert!(matches!(cover(1e-12, 1000), Err(MeshError::TooManyCells { .. })));
    }
}
