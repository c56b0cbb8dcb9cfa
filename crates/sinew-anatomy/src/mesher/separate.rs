//! A boundary whose edges have two faces each: parts that only touch are taken apart.
//!
//! Where two parts of a solid come closer than a cell, their meshes may share a node or an edge without sharing a face.
//! A node whose cells do not hang together by faces is doubled. An edge with four faces of the boundary whose ends
//! cannot be doubled loses the smaller of the parts that meet in it.

use std::collections::BTreeSet;

use sinew_math::parallel::prelude::*;

use super::stuff::RawMesh;

/// What was changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Separation {
    pub separated_nodes: usize,
    pub dropped_cells: usize,
}

/// Rounds of separation: each takes nodes or cells away, so it ends long before.
const MAX_ROUNDS: usize = 100;

/// Local corners of the faces of a cell, outward.
pub(crate) const FACES: [[usize; 3]; 4] = [[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]];

/// Takes parts of the boundary apart that meet in a node or an edge only.
pub(crate) fn separate(raw: &mut RawMesh) -> Separation {
    let (separation, work) = Work::run(raw);
    work.finish(raw);
    separation
}

/// Triangles of the boundary with all nodes on the surface, outward.
pub(crate) fn boundary_faces(raw: &RawMesh) -> Vec<[u32; 3]> {
    Work { may_bound: raw.on_surface.clone(), cells: raw.changed.clone(), is_dropped: BTreeSet::new() }.faces(raw)
}

/// Triangles of the boundary of raw cells whose parts are taken apart, outward; `None` if cells were dropped for that.
/// Then the cells of the inside must be there, too.
pub(crate) fn separated_boundary(raw: &mut RawMesh) -> Option<Vec<[u32; 3]>> {
    let (separation, work) = Work::run(raw);
    (separation.dropped_cells == 0).then(|| work.faces(raw))
}

/// Triangles of the boundary of raw cells after parts are taken apart, outward.
pub(crate) fn boundary_after_separation(raw: &mut RawMesh) -> Vec<[u32; 3]> {
    let (_, work) = Work::run(raw);
    let faces = work.faces(raw);
    match work.finish(raw) {
        Some(numbers) => faces.into_iter().map(|face| face.map(|node| numbers[node as usize])).collect(),
        None => faces,
    }
}

struct Work {
    /// Nodes that may lie on the boundary: those on the surface, and those of dropped cells.
    may_bound: Vec<bool>,
    /// Cells that may have a face on the boundary, ascending.
    cells: Vec<u32>,
    is_dropped: BTreeSet<u32>,
}

impl Work {
    /// Separates in rounds until every node and edge of the boundary is good or nothing helps.
    fn run(raw: &mut RawMesh) -> (Separation, Self) {
        let mut separation = Separation::default();
        let mut work =
            Self { may_bound: raw.on_surface.clone(), cells: raw.changed.clone(), is_dropped: BTreeSet::new() };
        for _ in 0..MAX_ROUNDS {
            let faces = work.faces(raw);
            let bad = bad_nodes(&faces);
            if bad.is_empty() {
                break;
            }
            let doubled = work.double(raw, &bad);
            separation.separated_nodes += doubled;
            if doubled == 0 && !work.drop_fans(raw, &bad_edges(&faces)) {
                break;
            }
        }
        separation.dropped_cells = work.is_dropped.len();
        (separation, work)
    }

    /// Faces with one cell, outward, in the order of cells.
    fn faces(&self, raw: &RawMesh) -> Vec<[u32; 3]> {
        let mut faces: Vec<([u32; 3], u32, [u32; 3])> = self
            .cells
            .par_iter()
            .filter(|cell| !self.is_dropped.contains(cell))
            .flat_map_iter(|cell| {
                let tet = raw.tets[*cell as usize];
                let faces = FACES.map(|face| face.map(|k| tet[k]));
                let bounding = faces.into_iter().filter(|face| face.iter().all(|n| self.may_bound[*n as usize]));
                bounding.map(|face| (sorted(face), *cell, face))
            })
            .collect();
        faces.par_sort_unstable();
        let single = faces.chunk_by(|a, b| a.0 == b.0).filter(|group| group.len() == 1);
        let mut single: Vec<(u32, [u32; 3])> = single.map(|group| (group[0].1, group[0].2)).collect();
        single.par_sort_unstable();
        single.into_iter().map(|(_, face)| face).collect()
    }

    /// Gives each part of the cells around a node, connected by faces, a node of its own; returns the number of new
    /// nodes.
    fn double(&mut self, raw: &mut RawMesh, nodes: &[u32]) -> usize {
        let before = raw.positions.len();
        for (node, cells) in self.stars(raw, nodes) {
            let parts = parts(&raw.tets, &cells, |tet| tet.iter().copied().filter(|n| *n != node).collect(), 2);
            for part in parts.iter().skip(1) {
                let copy = raw.positions.len() as u32;
                raw.positions.push(raw.positions[node as usize]);
                raw.on_surface.push(raw.on_surface[node as usize]);
                for cell in part {
                    let tet = &mut raw.tets[*cell as usize];
                    *tet = tet.map(|n| if n == node { copy } else { n });
                }
            }
        }
        self.may_bound.resize(raw.positions.len(), true);
        raw.positions.len() - before
    }

    /// The cells around each of some nodes.
    fn stars(&self, raw: &RawMesh, nodes: &[u32]) -> Vec<(u32, Vec<u32>)> {
        let mut stars: Vec<(u32, Vec<u32>)> = nodes.iter().map(|node| (*node, Vec::new())).collect();
        for cell in self.cells.iter().filter(|cell| !self.is_dropped.contains(cell)) {
            for node in raw.tets[*cell as usize] {
                if let Ok(index) = nodes.binary_search(&node) {
                    stars[index].1.push(*cell);
                }
            }
        }
        stars
    }

    /// Drops all but the largest of the fans of cells around each edge; returns whether there were any.
    fn drop_fans(&mut self, raw: &RawMesh, edges: &[[u32; 2]]) -> bool {
        let before = self.is_dropped.len();
        let nodes: Vec<u32> = edges.iter().map(|edge| edge[0]).collect::<BTreeSet<_>>().into_iter().collect();
        let stars = self.stars(raw, &nodes);
        for edge in edges {
            let Ok(index) = nodes.binary_search(&edge[0]) else { continue };
            let around = stars[index].1.iter().copied();
            let around: Vec<u32> = around.filter(|cell| raw.tets[*cell as usize].contains(&edge[1])).collect();
            let others = |tet: [u32; 4]| tet.iter().copied().filter(|n| !edge.contains(n)).collect();
            let mut fans = parts(&raw.tets, &around, others, 1);
            let size = |fan: &Vec<u32>| fan.iter().map(|cell| raw.volume(*cell)).sum::<f64>();
            fans.sort_by(|a, b| size(b).total_cmp(&size(a)).then(a.cmp(b)));
            self.is_dropped.extend(fans.iter().skip(1).flatten());
        }
        self.expose(raw);
        self.is_dropped.len() > before
    }

    /// Nodes of dropped cells may lie on the boundary now.
    fn expose(&mut self, raw: &RawMesh) {
        for cell in &self.is_dropped {
            for node in raw.tets[*cell as usize] {
                self.may_bound[node as usize] = true;
            }
        }
        let touches = |cell: &u32| raw.tets[*cell as usize].iter().any(|node| self.may_bound[*node as usize]);
        self.cells = (0..raw.tets.len() as u32).into_par_iter().filter(touches).collect();
    }

    /// Takes dropped cells and nodes without cells away; returns the new numbers of nodes if there were any.
    fn finish(self, raw: &mut RawMesh) -> Option<Vec<u32>> {
        if self.is_dropped.is_empty() {
            return None;
        }
        let mut numbers = vec![u32::MAX; raw.tets.len()];
        let mut kept = 0;
        for (cell, number) in numbers.iter_mut().enumerate() {
            if !self.is_dropped.contains(&(cell as u32)) {
                *number = kept;
                kept += 1;
            }
        }
        let old = std::mem::take(&mut raw.tets);
        raw.tets = old.into_iter().zip(&numbers).filter(|(_, n)| **n != u32::MAX).map(|(tet, _)| tet).collect();
        raw.changed = raw.changed.iter().map(|cell| numbers[*cell as usize]).filter(|n| *n != u32::MAX).collect();
        Some(raw.drop_unused_nodes())
    }
}

impl RawMesh {
    /// Volume of a cell \[m³\].
    pub fn volume(&self, cell: u32) -> f64 {
        let [a, b, c, d] = self.tets[cell as usize].map(|node| self.positions[node as usize]);
        (b - a).dot((c - a).cross(d - a)) / 6.0
    }

    /// Takes nodes without cells away; returns the new numbers of all.
    fn drop_unused_nodes(&mut self) -> Vec<u32> {
        let mut numbers = vec![u32::MAX; self.positions.len()];
        self.tets.as_flattened().iter().for_each(|node| numbers[*node as usize] = 0);
        let mut kept = 0;
        for node in 0..numbers.len() {
            if numbers[node] == 0 {
                numbers[node] = kept;
                self.positions[kept as usize] = self.positions[node];
                self.on_surface[kept as usize] = self.on_surface[node];
                kept += 1;
            }
        }
        self.positions.truncate(kept as usize);
        self.on_surface.truncate(kept as usize);
        self.tets.iter_mut().for_each(|tet| *tet = tet.map(|node| numbers[node as usize]));
        numbers
    }
}

/// Nodes around which the faces of the boundary are not one closed fan, ascending.
fn bad_nodes(faces: &[[u32; 3]]) -> Vec<u32> {
    // For each face at a node: the node, the next one and the one before.
    let mut corners: Vec<[u32; 3]> =
        faces.par_iter().flat_map_iter(|[a, b, c]| [[*a, *b, *c], [*b, *c, *a], [*c, *a, *b]]).collect();
    corners.par_sort_unstable();
    let groups = corners.chunk_by(|a, b| a[0] == b[0]);
    groups.filter(|group| !is_one_fan(group)).map(|group| group[0][0]).collect()
}

fn is_one_fan(group: &[[u32; 3]]) -> bool {
    let mut next = group[0][2];
    for step in 1..=group.len() {
        if next == group[0][1] {
            return step == group.len();
        }
        let mut following = group.iter().filter(|corner| corner[1] == next);
        match (following.next(), following.next()) {
            (Some(corner), None) => next = corner[2],
            _ => return false,
        }
    }
    false
}

/// Edges with more than two faces of the boundary, ascending.
fn bad_edges(faces: &[[u32; 3]]) -> Vec<[u32; 2]> {
    let edges_of = |[a, b, c]: &[u32; 3]| [[*a, *b], [*b, *c], [*c, *a]].map(|[a, b]| [a.min(b), a.max(b)]);
    let mut edges: Vec<[u32; 2]> = faces.par_iter().flat_map_iter(edges_of).collect();
    edges.par_sort_unstable();
    edges.chunk_by(|a, b| a == b).filter(|group| group.len() > 2).map(|group| group[0]).collect()
}

/// Cells in parts: two are of one part if they share `shared` of the nodes that `others` gives.
fn parts(tets: &[[u32; 4]], cells: &[u32], others: impl Fn([u32; 4]) -> Vec<u32>, shared: usize) -> Vec<Vec<u32>> {
    let nodes: Vec<Vec<u32>> = cells.iter().map(|cell| others(tets[*cell as usize])).collect();
    let touch = |a: usize, b: usize| nodes[a].iter().filter(|n| nodes[b].contains(n)).count() >= shared;
    let mut part = vec![usize::MAX; cells.len()];
    let mut found: Vec<Vec<u32>> = Vec::new();
    for seed in 0..cells.len() {
        if part[seed] != usize::MAX {
            continue;
        }
        let (mut stack, mut members) = (vec![seed], Vec::new());
        part[seed] = found.len();
        while let Some(at) = stack.pop() {
            members.push(cells[at]);
            for other in 0..cells.len() {
                if part[other] == usize::MAX && touch(at, other) {
                    part[other] = found.len();
                    stack.push(other);
                }
            }
        }
        members.sort_unstable();
        found.push(members);
    }
    found
}

fn sorted(mut face: [u32; 3]) -> [u32; 3] {
    face.sort_unstable();
    face
}
