//! From linear to quadratic tetrahedra: a node at the midpoint of every edge.

use std::collections::BTreeMap;

use super::attributes::{Attributes, MeshField};
use super::cell::{CellBlock, CellKind};
use super::cell_mesh::CellMesh;
use super::check::{MAX_ENTRIES, MeshError};

/// The edges of a mesh of tetrahedra, each once.
struct Edges {
    /// Ends of each edge, the smaller node first, sorted.
    ends: Vec<[u32; 2]>,
    /// Number of nodes before the midpoints.
    first_middle: u32,
}

impl Edges {
    fn of(mesh: &CellMesh) -> Self {
        let mut ends = Vec::with_capacity(6 * mesh.cell_count());
        for (kind, nodes) in mesh.cells() {
            ends.extend(kind.edges().iter().map(|[a, b]| sorted(nodes[*a], nodes[*b])));
        }
        ends.sort_unstable();
        ends.dedup();
        Self { ends, first_middle: mesh.node_count() as u32 }
    }

    /// The midpoint node of an edge.
    fn middle(&self, a: u32, b: u32) -> Option<u32> {
        self.ends.binary_search(&sorted(a, b)).ok().map(|edge| self.first_middle + edge as u32)
    }
}

fn sorted(a: u32, b: u32) -> [u32; 2] {
    [a.min(b), a.max(b)]
}

impl CellMesh {
    /// The same tetrahedra with a node at the midpoint of each edge ([`CellKind::Tet10`] with straight edges), shared
    /// by all cells around it.
    ///
    /// Nodes keep their numbers; the new ones follow, sorted by the ends of their edges. Cells keep their order,
    /// labels, sets and fields. Node fields are interpolated. A node set gains the midpoints of all edges of boundary
    /// faces and cells whose corners are all in the set; if there are none (points, curves), it gains those of edges
    /// with both ends in it. Quadratic cells are unchanged; a mesh with hexahedra is an error.
    pub fn to_quadratic(&self) -> Result<CellMesh, MeshError> {
        if self.blocks().iter().all(|block| block.kind == CellKind::Tet10) {
            return Ok(self.clone());
        }
        if let Some(cell) = self.cells().position(|(kind, _)| kind != CellKind::Tet4) {
            return Err(MeshError::NotTetrahedra { cell });
        }
        let entries = 10 * self.cell_count();
        if entries > MAX_ENTRIES {
            return Err(MeshError::TooLarge { what: "node references", entries, limit: MAX_ENTRIES });
        }
        let edges = Edges::of(self);
        let mut positions = self.positions().to_vec();
        positions.extend(edges.ends.iter().map(|ends| {
            let [a, b] = ends.map(|node| self.positions()[node as usize]);
            a.lerp(b, 0.5)
        }));
        let blocks = self.blocks().iter().map(|block| quadratic_block(block, &edges)).collect();
        let (mut mesh, report) = CellMesh::new(positions, blocks)?;
        debug_assert!(
            report.flipped_cells.is_empty() && report.unused_nodes == 0,
            "straight quadratic cells are valid when the linear ones are"
        );
        mesh.attributes = Attributes {
            labels: self.attributes.labels.clone(),
            node_sets: self
                .node_sets()
                .iter()
                .map(|(name, set)| (name.clone(), self.with_middles(set, &edges)))
                .collect(),
            cell_sets: self.cell_sets().clone(),
            node_fields: interpolated(self.node_fields(), &edges),
            cell_fields: self.cell_fields().clone(),
        };
        Ok(mesh)
    }

    /// A node set of the linear mesh on the quadratic one.
    fn with_middles(&self, set: &[u32], edges: &Edges) -> Vec<u32> {
        let mut is_member = vec![false; self.node_count()];
        for &node in set {
            is_member[node as usize] = true;
        }
        let holds = |nodes: &[u32]| nodes.iter().all(|&node| is_member[node as usize]);
        let mut middles = Vec::new();
        for [a, b, c] in self.boundary_triangles().into_iter().filter(|face| holds(face)) {
            middles.extend([(a, b), (b, c), (c, a)].into_iter().filter_map(|(a, b)| edges.middle(a, b)));
        }
        for (kind, nodes) in self.cells().filter(|(_, nodes)| holds(nodes)) {
            middles.extend(kind.edges().iter().filter_map(|[a, b]| edges.middle(nodes[*a], nodes[*b])));
        }
        if middles.is_empty() {
            let inside = edges.ends.iter().filter(|ends| holds(ends.as_slice()));
            middles.extend(inside.filter_map(|[a, b]| edges.middle(*a, *b)));
        }
        middles.extend_from_slice(set);
        middles.sort_unstable();
        middles.dedup();
        middles
    }
}

fn quadratic_block(block: &CellBlock, edges: &Edges) -> CellBlock {
    let mut nodes = Vec::with_capacity(block.cell_count() * CellKind::Tet10.nodes_per_cell());
    for corners in block.cells() {
        nodes.extend_from_slice(corners);
        let ends = CellKind::Tet10.edges().iter();
        nodes.extend(ends.filter_map(|[a, b]| edges.middle(corners[*a], corners[*b])));
    }
    CellBlock { kind: CellKind::Tet10, nodes }
}

/// Node fields, with the mean of both ends at each edge midpoint.
fn interpolated(fields: &BTreeMap<String, MeshField>, edges: &Edges) -> BTreeMap<String, MeshField> {
    let middle = |field: &MeshField| {
        let at = |node: u32, k: usize| field.values[node as usize * field.components + k];
        let mut values = field.values.clone();
        for [a, b] in &edges.ends {
            values.extend((0..field.components).map(|k| 0.5 * (at(*a, k) + at(*b, k))));
        }
        MeshField { components: field.components, values }
    };
    fields.iter().map(|(name, field)| (name.clone(), middle(field))).collect()
}

#[cfg(test)]
mod tests {
    use sinew_math::Vec3;

    use super::*;
    use crate::procedural::{TetPattern, box_hexes, box_tets};

    fn brick() -> CellMesh {
        box_tets(Vec3::new(0.4, 0.2, 0.3), [3, 2, 2], TetPattern::Kuhn).unwrap()
    }

    /// Each edge has one node, at its midpoint, and V − E + F − C = 1 counts the edges.
    #[test]
    fn every_edge_has_one_node_in_its_middle() {
        for mesh in [brick(), box_tets(Vec3::splat(1.0), [2, 2, 2], TetPattern::Bcc).unwrap()] {
            let quadratic = mesh.to_quadratic().unwrap();
            let x = quadratic.positions();
            for (kind, nodes) in quadratic.cells() {
                assert_eq!(kind, CellKind::Tet10);
                for (k, [a, b]) in kind.edges().iter().enumerate() {
                    let middle = (x[nodes[*a] as usize] + x[nodes[*b] as usize]) * 0.5;
                    assert!(x[nodes[4 + k] as usize].distance(middle) < 1e-15);
                }
            }
            let boundary = mesh.boundary_triangles().len();
            let faces = (4 * mesh.cell_count() + boundary) / 2;
            let edges = mesh.node_count() + faces - mesh.cell_count() - 1;
            assert_eq!(quadratic.node_count(), mesh.node_count() + edges);
            assert!((quadratic.volume() - mesh.volume()).abs() < 1e-14);
            // Each face becomes four triangles of the same surface.
            let (surface, _) = quadratic.boundary_surface().unwrap();
            assert_eq!(surface.triangle_count(), 4 * boundary);
            assert!(surface.is_closed() && (surface.volume() - mesh.volume()).abs() < 1e-14);
            assert_eq!(quadratic.to_quadratic().unwrap(), quadratic);
        }
    }

    #[test]
    fn labels_sets_and_fields_are_carried_over() {
        let mesh = brick();
        let on = |test: &dyn Fn(Vec3) -> bool| -> Vec<u32> {
            (0..mesh.node_count() as u32).filter(|&n| test(mesh.positions()[n as usize])).collect()
        };
        // Two opposite faces one cell apart: interior edges between them must stay out.
        let (bottom_and_middle, line) = (on(&|x| x.z < 0.16), on(&|x| x.y < 1e-9 && x.z < 1e-9));
        let faces = on(&|x| x.y < 1e-9 || x.y > 0.2 - 1e-9);
        let labels: Vec<u32> = (0..mesh.cell_count() as u32).collect();
        let field = |x: &Vec3| [3.0 * x.x - x.z, x.y + 0.5];
        let values = mesh.positions().iter().flat_map(field).collect();
        let linear = mesh
            .with_cell_labels(labels)
            .and_then(|m| m.with_node_set("slab", bottom_and_middle))
            .and_then(|m| m.with_node_set("line", line))
            .and_then(|m| m.with_node_set("faces", faces))
            .and_then(|m| m.with_cell_set("some", vec![1, 3]))
            .and_then(|m| m.with_node_field("heat", MeshField { components: 2, values }))
            .unwrap();
        let mesh = linear.to_quadratic().unwrap();
        let x = mesh.positions();
        assert_eq!((mesh.cell_labels(), mesh.cell_sets()), (linear.cell_labels(), linear.cell_sets()));
        let members = |test: &dyn Fn(Vec3) -> bool| -> Vec<u32> {
            (0..mesh.node_count() as u32).filter(|&n| test(x[n as usize])).collect()
        };
        assert_eq!(mesh.node_sets()["slab"], members(&|x| x.z < 0.16));
        assert_eq!(mesh.node_sets()["line"], members(&|x| x.y < 1e-9 && x.z < 1e-9));
        assert_eq!(mesh.node_sets()["faces"], members(&|x| x.y < 1e-9 || x.y > 0.2 - 1e-9));
        // The field is linear, so its midpoint values are exact.
        for (found, x) in mesh.node_fields()["heat"].values.chunks_exact(2).zip(x) {
            assert!(found.iter().zip(field(x)).all(|(a, b)| (a - b).abs() < 1e-14));
        }
    }

    #[test]
    fn hexahedra_are_refused() {
        let mesh = box_hexes(Vec3::splat(1.0), [1, 1, 1]).unwrap();
        assert_eq!(mesh.to_quadratic().unwrap_err(), MeshError::NotTetrahedra { cell: 0 });
    }

    #[test]
    fn folded_and_gaping_quadratic_cells_are_named() {
        let linear = CellMesh::from_tets(
            vec![Vec3::zero(), Vec3::unit(0), Vec3::unit(1), Vec3::unit(2), Vec3::splat(1.0)],
            &[[0, 1, 2, 3], [1, 2, 3, 4]],
        );
        let mesh = linear.unwrap().0.to_quadratic().unwrap();
        let block = mesh.blocks()[0].clone();
        let mut folded = mesh.positions().to_vec();
        folded[block.nodes[4] as usize] = Vec3::new(0.1, 0.0, 0.0);
        let error = CellMesh::new(folded, vec![block.clone()]).unwrap_err();
        assert!(matches!(error, MeshError::FoldedTet { cell: 0, .. }), "{error}");

        // The second cell gets a separate midpoint node on a shared edge.
        let (mut positions, mut gaping) = (mesh.positions().to_vec(), block);
        let shared = gaping.nodes[5];
        let slot = 10 + gaping.nodes[10..].iter().position(|&node| node == shared).unwrap();
        gaping.nodes[slot] = positions.len() as u32;
        positions.push(positions[shared as usize]);
        let error = CellMesh::new(positions, vec![gaping]).unwrap_err();
        assert_eq!(error, MeshError::GapingFace { first: 0, second: 1 });
    }
}
