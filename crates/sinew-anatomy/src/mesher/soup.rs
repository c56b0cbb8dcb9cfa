//! Tetrahedra by index, before they are a checked mesh: stars, boundary, halves.

use super::tree::{EDGES, FACES, NumberMap};
use sinew_math::Vec3;

/// Nodes and cells that conditioning and compression work on.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Soup {
    /// Positions of the nodes \[m\].
    pub positions: Vec<Vec3>,
    /// Nodes of the cells, positively oriented.
    pub tets: Vec<[u32; 4]>,
}

/// Cells around each node.
pub(super) struct Stars {
    first: Vec<u32>,
    cells: Vec<u32>,
}

impl Stars {
    /// Stars of `node_count` nodes, each in the order of the cells.
    pub fn new(node_count: usize, tets: &[[u32; 4]]) -> Self {
        let mut first = vec![0_u32; node_count + 1];
        tets.as_flattened().iter().for_each(|node| first[*node as usize + 1] += 1);
        for node in 0..node_count {
            first[node + 1] += first[node];
        }
        let mut next = first.clone();
        let mut cells = vec![0; 4 * tets.len()];
        for (cell, nodes) in tets.iter().enumerate() {
            for node in nodes {
                let slot = &mut next[*node as usize];
                cells[*slot as usize] = cell as u32;
                *slot += 1;
            }
        }
        Self { first, cells }
    }

    /// The cells of a node.
    pub fn of(&self, node: u32) -> &[u32] {
        let node = node as usize;
        &self.cells[self.first[node] as usize..self.first[node + 1] as usize]
    }
}

/// Other nodes of the cells of a node, sorted, in `found`.
pub(super) fn neighbors_into(node: u32, stars: &Stars, tets: &[[u32; 4]], found: &mut Vec<u32>) {
    found.clear();
    for cell in stars.of(node) {
        found.extend(tets[*cell as usize].iter().filter(|other| **other != node));
    }
    found.sort_unstable();
    found.dedup();
}

/// Faces of one cell only, counterclockwise from outside, sorted by their nodes; only faces whose three nodes `may`
/// lie on the boundary are looked at.
pub(super) fn boundary_faces(tets: &[[u32; 4]], may: impl Fn(u32) -> bool) -> Vec<[u32; 3]> {
    let mut faces: Vec<([u32; 3], [u32; 3])> = Vec::new();
    for nodes in tets {
        for face in FACES {
            let face = face.map(|i| nodes[i]);
            if face.iter().all(|node| may(*node)) {
                let mut key = face;
                key.sort_unstable();
                faces.push((key, face));
            }
        }
    }
    faces.sort_unstable();
    faces.chunk_by(|a, b| a.0 == b.0).filter(|group| group.len() == 1).map(|group| group[0].1).collect()
}

/// Edges of triangles with the number of their triangles, sorted.
pub(super) fn edge_counts(triangles: &[[u32; 3]]) -> Vec<([u32; 2], usize)> {
    let mut edges: Vec<[u32; 2]> = triangles
        .iter()
        .flat_map(|[a, b, c]| [[*a, *b], [*b, *c], [*c, *a]])
        .map(|[a, b]| [a.min(b), a.max(b)])
        .collect();
    edges.sort_unstable();
    edges.chunk_by(|a, b| a == b).map(|group| (group[0], group.len())).collect()
}

/// Halves edges: those first that stand first. Cells that share a face split it alike, because each takes its edges in
/// the same order. Cells of halved edges give way to their parts at the end; returns the first new node, the middles
/// of the edges follow in order.
pub(super) fn halve_edges(soup: &mut Soup, edges: &[[u32; 2]]) -> u32 {
    let first = soup.positions.len() as u32;
    let mut ranks: NumberMap<(u32, u32)> = NumberMap::default();
    for (rank, [a, b]) in edges.iter().enumerate() {
        ranks.insert((*a.min(b), *a.max(b)), rank as u32);
        let middle = (soup.positions[*a as usize] + soup.positions[*b as usize]) * 0.5;
        soup.positions.push(middle);
    }
    let mut is_end = vec![false; first as usize];
    edges.as_flattened().iter().for_each(|node| is_end[*node as usize] = true);
    let is_end = |node: u32| is_end.get(node as usize).is_some_and(|end| *end);
    let mut parts = Vec::new();
    soup.tets.retain(|nodes| {
        let may_split = nodes.iter().filter(|node| is_end(**node)).count() > 1;
        let is_whole = !may_split || next_edge(nodes, &ranks).is_none();
        if !is_whole {
            halve_cell(*nodes, &ranks, first, &mut parts);
        }
        is_whole
    });
    soup.tets.extend(parts);
    first
}

/// The edge of a cell that is halved next, with its rank.
fn next_edge(nodes: &[u32; 4], ranks: &NumberMap<(u32, u32)>) -> Option<(u32, usize)> {
    let rank = |edge: usize| {
        let [a, b] = EDGES[edge].map(|i| nodes[i]);
        ranks.get(&(a.min(b), a.max(b))).map(|rank| (*rank, edge))
    };
    (0..6).filter_map(rank).min()
}

fn halve_cell(nodes: [u32; 4], ranks: &NumberMap<(u32, u32)>, first: u32, parts: &mut Vec<[u32; 4]>) {
    let Some((rank, edge)) = next_edge(&nodes, ranks) else {
        parts.push(nodes);
        return;
    };
    for end in EDGES[edge] {
        let mut part = nodes;
        part[end] = first + rank;
        halve_cell(part, ranks, first, parts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two cells that share a face, all their edges halved in some order: the same volume, and every inner face twice.
    #[test]
    fn cells_that_share_a_face_are_halved_alike() {
        let positions = vec![
            Vec3::new(0.0, 0.0, 0.0),
            Vec3::new(1.0, 0.0, 0.0),
            Vec3::new(0.0, 1.0, 0.0),
            Vec3::new(0.0, 0.0, 1.0),
            Vec3::new(0.3, 0.2, -1.0),
        ];
        let edges = [[1, 2], [0, 1], [2, 0], [0, 3], [4, 1], [1, 3]];
        let volume = |soup: &Soup| {
            let x = |node: u32| soup.positions[node as usize];
            let six = |t: &[u32; 4]| (x(t[1]) - x(t[0])).cross(x(t[2]) - x(t[0])).dot(x(t[3]) - x(t[0]));
            assert!(soup.tets.iter().all(|t| six(t) > 0.0));
            soup.tets.iter().map(six).sum::<f64>()
        };
        for shift in 0..edges.len() {
            let mut soup = Soup { positions: positions.clone(), tets: vec![[0, 1, 2, 3], [0, 2, 1, 4]] };
            let before = volume(&soup);
            let mut order = edges;
            order.rotate_left(shift);
            halve_edges(&mut soup, &order);
            assert!((volume(&soup) - before).abs() < 1e-15);
            let faces = boundary_faces(&soup.tets, |_| true);
            assert!(edge_counts(&faces).iter().all(|(_, count)| *count == 2));
            let z = |node: u32| soup.positions[node as usize].z;
            assert!(faces.iter().all(|face| face.iter().any(|node| z(*node) != 0.0)), "the shared face stays inside");
        }
    }
}
