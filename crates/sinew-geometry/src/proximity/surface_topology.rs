//! Edges of a triangle surface, and the triangle that owns each vertex and each edge.
//!
//! The box of an owner contains its elements. So a vertex and a triangle, or two edges, can only be close if the boxes
//! of their owners are, and each pair occurs exactly once when all pairs of triangles occur once \[Curtis08\].

/// Triangles with their edges and owners.
#[derive(Clone, Debug)]
pub(super) struct SurfaceTopology {
    pub triangles: Vec<[u32; 3]>,
    /// Vertices, the smaller number first; in the order of their owners.
    pub edges: Vec<[u32; 2]>,
    /// The first two triangles at each edge; `u32::MAX` if there is no second.
    pub edge_triangles: Vec<[u32; 2]>,
    /// Vertices used by a triangle, in the order of their owners.
    pub vertices: Vec<u32>,
    /// Triangle t owns the edges `edge_begin[t]..edge_begin[t + 1]`.
    pub edge_begin: Vec<u32>,
    /// Triangle t owns the entries `vertex_begin[t]..vertex_begin[t + 1]` of `vertices`.
    pub vertex_begin: Vec<u32>,
}

impl SurfaceTopology {
    /// Finds edges and owners: the first triangle that uses a vertex or an edge owns it.
    pub fn new(vertex_count: usize, triangles: Vec<[u32; 3]>) -> Self {
        let mut sides: Vec<([u32; 2], u32)> = Vec::with_capacity(3 * triangles.len());
        let mut vertices = Vec::with_capacity(vertex_count);
        let mut vertex_begin = Vec::with_capacity(triangles.len() + 1);
        let mut is_owned = vec![false; vertex_count];
        for (index, triangle) in triangles.iter().enumerate() {
            vertex_begin.push(vertices.len() as u32);
            for corner in 0..3 {
                let (a, b) = (triangle[corner], triangle[(corner + 1) % 3]);
                sides.push(([a.min(b), a.max(b)], index as u32));
                if !is_owned[a as usize] {
                    is_owned[a as usize] = true;
                    vertices.push(a);
                }
            }
        }
        vertex_begin.push(vertices.len() as u32);

        sides.sort_unstable();
        let mut owned: Vec<([u32; 2], [u32; 2])> = sides
            .chunk_by(|a, b| a.0 == b.0)
            .map(|at_edge| ([at_edge[0].1, at_edge.get(1).map_or(u32::MAX, |side| side.1)], at_edge[0].0))
            .collect();
        owned.sort_unstable_by_key(|(triangles, edge)| (triangles[0], *edge));
        let edge_begin = (0..=triangles.len() as u32)
            .map(|triangle| owned.partition_point(|(owners, _)| owners[0] < triangle) as u32)
            .collect();
        Self {
            triangles,
            edges: owned.iter().map(|(_, edge)| *edge).collect(),
            edge_triangles: owned.iter().map(|(triangles, _)| *triangles).collect(),
            vertices,
            edge_begin,
            vertex_begin,
        }
    }

    /// The edges that the triangle owns.
    #[inline]
    pub fn owned_edges(&self, triangle: u32) -> std::ops::Range<u32> {
        self.edge_begin[triangle as usize]..self.edge_begin[triangle as usize + 1]
    }

    /// The vertices that the triangle owns.
    #[inline]
    pub fn owned_vertices(&self, triangle: u32) -> &[u32] {
        &self.vertices[self.vertex_begin[triangle as usize] as usize..self.vertex_begin[triangle as usize + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_vertex_and_each_edge_has_one_owner() {
        let topology = SurfaceTopology::new(6, vec![[0, 1, 2], [2, 1, 3], [3, 1, 5]]);
        assert_eq!(topology.edges.len(), 7);
        assert_eq!(topology.edges[..3], [[0, 1], [0, 2], [1, 2]]);
        assert_eq!(topology.edge_triangles[..3], [[0, u32::MAX], [0, u32::MAX], [0, 1]]);
        assert_eq!(topology.owned_edges(1), 3..5);
        assert_eq!(topology.owned_edges(2), 5..7);
        assert_eq!(topology.owned_vertices(0), [0, 1, 2]);
        assert_eq!(topology.owned_vertices(1), [3]);
        // Vertex 4 has no triangle and no owner.
        assert_eq!(topology.owned_vertices(2), [5]);
    }
}
