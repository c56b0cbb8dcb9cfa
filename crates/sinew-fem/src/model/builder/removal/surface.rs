//! A finer surface bound to a body that loses cells.

use std::collections::{BTreeMap, BTreeSet};

use sinew_geometry::embedding::Embedding;

use super::Loss;
use crate::faces::sorted_corners;

/// Rows of an embedding under construction.
#[derive(Default)]
struct Rows {
    ends: Vec<u32>,
    nodes: Vec<u32>,
    weights: Vec<f64>,
    cells: Vec<u32>,
}

impl Rows {
    /// Adds a vertex and returns its number.
    fn add(&mut self, cell: u32, entries: impl Iterator<Item = (u32, f64)>) -> u32 {
        for (node, weight) in entries {
            self.nodes.push(node);
            self.weights.push(weight);
        }
        self.ends.push(self.nodes.len() as u32);
        self.cells.push(cell);
        self.cells.len() as u32 - 1
    }
}

impl Loss<'_> {
    /// Vertices in lost cells go with their triangles. The faces of cells that the removal lays bare are shown in their
    /// place.
    pub(super) fn cut_surface(
        &self,
        (triangles, embedding): &(Vec<[u32; 3]>, Embedding),
    ) -> (Vec<[u32; 3]>, Embedding) {
        let mut rows = Rows::default();
        let keep = |vertex: usize| {
            let cell = self.rest.cells[embedding.cells()[vertex] as usize]?;
            let (nodes, weights) = embedding.entries(vertex);
            // All nodes of a cell that stays do.
            let entries = nodes.iter().zip(weights).filter_map(|(&n, &w)| Some((self.rest.nodes[n as usize]?, w)));
            Some(rows.add(cell, entries))
        };
        let vertices: Vec<Option<u32>> = (0..embedding.len()).map(keep).collect();
        let vertex = |v: u32| vertices[v as usize];
        let kept = triangles.iter().filter_map(|&[a, b, c]| Some([vertex(a)?, vertex(b)?, vertex(c)?]));
        let mut kept: Vec<[u32; 3]> = kept.collect();
        let before: BTreeSet<[u32; 3]> = self.whole.mesh.boundary_triangles().into_iter().map(sorted_corners).collect();
        let was_boundary: BTreeSet<[u32; 3]> =
            before.into_iter().filter_map(|triangle| self.triangle(triangle)).collect();
        let (bare, cells) = self.rest.mesh.boundary_triangles_with_cells();
        let mut vertex_of: BTreeMap<u32, u32> = BTreeMap::new();
        for (triangle, cell) in bare.into_iter().zip(cells).filter(|(t, _)| !was_boundary.contains(&sorted_corners(*t)))
        {
            kept.push(
                triangle
                    .map(|node| *vertex_of.entry(node).or_insert_with(|| rows.add(cell, std::iter::once((node, 1.0))))),
            );
        }
        let Rows { ends, nodes, weights, cells } = rows;
        let embedding = Embedding::from_rows(&ends, nodes, weights, cells).unwrap_or_default();
        (kept, embedding)
    }
}
