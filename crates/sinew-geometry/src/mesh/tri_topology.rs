//! Edges of a surface: holes, branches, orientation.

use super::TriMesh;

/// Topology of the edges of a surface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SurfaceTopology {
    /// Edges with one triangle, as directed in that triangle, sorted.
    pub boundary_edges: Vec<[u32; 2]>,
    /// Edges with more than two triangles, smaller vertex first, sorted.
    pub branching_edges: Vec<[u32; 2]>,
    /// Edges whose two triangles traverse them in the same direction, smaller vertex first, sorted.
    pub inconsistent_edges: Vec<[u32; 2]>,
    /// Vertices used − edges + triangles: 2 for each closed surface like a sphere, 0 for one like a torus.
    pub euler_characteristic: i64,
}

impl SurfaceTopology {
    pub(crate) fn new(surface: &TriMesh) -> Self {
        let mut edges = Vec::with_capacity(3 * surface.triangle_count());
        for [a, b, c] in surface.triangles() {
            for [from, to] in [[*a, *b], [*b, *c], [*c, *a]] {
                edges.push((from.min(to), from.max(to), from < to));
            }
        }
        edges.sort_unstable();
        let mut topology = Self {
            boundary_edges: Vec::new(),
            branching_edges: Vec::new(),
            inconsistent_edges: Vec::new(),
            euler_characteristic: 0,
        };
        let mut edge_count = 0;
        for group in edges.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            edge_count += 1;
            let (low, high, _) = group[0];
            match group {
                [(_, _, true)] => topology.boundary_edges.push([low, high]),
                [(_, _, false)] => topology.boundary_edges.push([high, low]),
                [(_, _, first), (_, _, second)] if first != second => {}
                [_, _] => topology.inconsistent_edges.push([low, high]),
                _ => topology.branching_edges.push([low, high]),
            }
        }
        topology.boundary_edges.sort_unstable();
        let mut is_used = vec![false; surface.vertex_count()];
        for vertex in surface.triangles().as_flattened() {
            is_used[*vertex as usize] = true;
        }
        let vertex_count = is_used.iter().filter(|used| **used).count();
        topology.euler_characteristic = vertex_count as i64 - edge_count + surface.triangle_count() as i64;
        topology
    }

    /// Whether the surface bounds a volume: no holes, no branches, consistent orientation.
    pub fn is_closed(&self) -> bool {
        self.boundary_edges.is_empty() && self.branching_edges.is_empty() && self.inconsistent_edges.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::procedural::{icosphere, torus_surface};

    #[test]
    fn sphere_and_torus_have_their_euler_characteristics() {
        let sphere = icosphere(1.0, 3).unwrap().topology();
        assert!(sphere.is_closed());
        assert_eq!(sphere.euler_characteristic, 2);
        let torus = torus_surface(1.0, 0.3, 0.2).unwrap().topology();
        assert!(torus.is_closed());
        assert_eq!(torus.euler_characteristic, 0);
    }

    #[test]
    fn missing_and_flipped_triangles_are_seen() {
        let sphere = icosphere(1.0, 2).unwrap();
        let mut triangles = sphere.triangles().to_vec();
        let [a, b, c] = triangles.remove(5);
        let open = TriMesh::new(sphere.positions().to_vec(), triangles.clone()).unwrap();
        let mut expected = vec![[b, a], [c, b], [a, c]];
        expected.sort_unstable();
        assert_eq!(open.boundary_edges(), expected);
        triangles.push([a, c, b]);
        let flipped = TriMesh::new(sphere.positions().to_vec(), triangles).unwrap().topology();
        assert_eq!(flipped.inconsistent_edges.len(), 3);
        assert!(!flipped.is_closed());
    }
}
