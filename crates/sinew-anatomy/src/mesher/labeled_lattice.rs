//! The lattice with a label at each node, cut where labels change.

use std::collections::BTreeSet;

use sinew_geometry::Aabb;
use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;

use super::MeshError;
use super::bricks::{Bricks, NODES, REACH, node_at};
use super::cuts::{BrickCuts, Moved, Near, illinois, near_cut};
use super::labeled_cell::{BACKGROUND, CENTER, INTERFACE, Label, MEETING, face_nodes, labeled_pieces};
use super::lattice::{CUBE_CELLS, EDGE_DIRECTIONS, Lattice, Node, edge_owner};
use super::many::Field;
use super::quality::worst_sine_squared;
use super::stencil::{Corner, CutCell, cut_nodes};
use super::stuff::RawMesh;

/// Angles \[°\] below which a cell gives its nodes back.
const FLOOR_DEGREES: f64 = 8.0;
/// Accepted difference of two distances at a cut, in cells.
const ROOT_TOLERANCE: f64 = 1e-6;
/// Smallest barycentric weight of a point in which three labels meet: nearer to an edge angles would be small.
const MARGIN: f64 = 0.16;
/// Points that belong to faces and cells are numbered from here: nodes and cuts have 32 bits.
const EXTRA: u64 = 1 << 40;
/// Tag of points of faces.
const FACE: u64 = 1 << 62;

/// The lattice, its labels, cuts and moved nodes.
pub(crate) struct LabeledLattice<'a> {
    field: &'a Field<'a>,
    bricks: Bricks,
    /// The label of each brick that has one.
    whole: Vec<Label>,
    /// Labels that the nodes of each mixed brick may have.
    candidates: Vec<Vec<Label>>,
    /// The label of each node of a mixed brick.
    labels: Vec<[Label; NODES]>,
    /// Nodes of mixed bricks that moved to an interface, ascending.
    moved: Vec<Vec<Moved>>,
    /// Nodes that were given back, a bit each.
    given_back: Vec<u128>,
    cuts: Vec<BrickCuts>,
    first: Vec<u32>,
    /// Cells of each brick as they are now.
    cells: Vec<BrickCells>,
}

/// Cells of a brick; numbers beyond [`EXTRA`] are points of faces and cells.
#[derive(Clone, Default)]
struct BrickCells {
    tets: Vec<([u64; 4], Label)>,
    changed: Vec<u32>,
    extra: Vec<(u64, Vec3)>,
    /// Nodes of cells with bad angles.
    bad: Vec<Node>,
}

impl<'a> LabeledLattice<'a> {
    /// Labels the nodes near interfaces, cuts edges and moves nodes.
    pub fn new(lattice: Lattice, bounds: &Aabb, max_cells: usize, field: &'a Field<'a>) -> Result<Self, MeshError> {
        let reach = REACH * lattice.cell;
        let side = |p: Vec3| match field.candidates(p, reach) {
            Err(_) => f64::NAN,
            Ok(found) if found == [BACKGROUND] => f64::INFINITY,
            Ok(found) if found.len() == 1 => f64::NEG_INFINITY,
            Ok(_) => 0.0,
        };
        let bricks = Bricks::classified(lattice, bounds, max_cells, &side)?;
        let all: Vec<Vec<Label>> = bricks
            .bricks
            .par_iter()
            .map(|brick| field.candidates(bricks.center(brick.at), reach))
            .collect::<Result<_, _>>()?;
        let whole = all.iter().map(|found| found[0]).collect();
        let is_mixed = |index: &usize| bricks.bricks[*index].mixed.is_some();
        let candidates: Vec<Vec<Label>> = (0..all.len()).filter(is_mixed).map(|index| all[index].clone()).collect();
        let mut found = Self {
            field,
            whole,
            labels: Vec::new(),
            moved: vec![Vec::new(); candidates.len()],
            given_back: vec![0; candidates.len()],
            cuts: Vec::new(),
            first: Vec::new(),
            cells: Vec::new(),
            candidates,
            bricks,
        };
        found.labels = found.node_labels()?;
        found.cuts = found.mixed().into_par_iter().map(|(at, mixed)| found.brick_cuts(at, mixed)).collect();
        found.first = found.bricks.first_nodes(&found.cuts);
        found.move_nodes();
        Ok(found)
    }

    /// Coordinates and number of each mixed brick.
    fn mixed(&self) -> Vec<([i32; 3], usize)> {
        self.bricks.bricks.iter().filter_map(|brick| Some((brick.at, brick.mixed? as usize))).collect()
    }

    fn node_labels(&self) -> Result<Vec<[Label; NODES]>, MeshError> {
        let label = |at, local| self.bricks.lattice.position(node_at(at, local));
        let brick_labels = |(at, mixed): ([i32; 3], usize)| {
            let mut labels = [BACKGROUND; NODES];
            for (local, found) in labels.iter_mut().enumerate() {
                *found = self.field.label(&self.candidates[mixed], label(at, local))?;
            }
            Ok(labels)
        };
        self.mixed().into_par_iter().map(brick_labels).collect()
    }

    /// Label of a node of the lattice, moved or not.
    fn label(&self, node: Node) -> Label {
        let Some((brick, local)) = self.bricks.find_node(node) else { return BACKGROUND };
        let mixed = self.bricks.bricks[brick].mixed;
        mixed.map_or(self.whole[brick], |mixed| self.labels[mixed as usize][local])
    }

    /// The mixed brick and the number of a node there.
    fn place(&self, node: Node) -> Option<(usize, usize)> {
        let (brick, local) = self.bricks.find_node(node)?;
        Some((self.bricks.bricks[brick].mixed? as usize, local))
    }

    /// Where a node moved to.
    fn moved_to(&self, node: Node) -> Option<Vec3> {
        let (mixed, local) = self.place(node)?;
        let list = &self.moved[mixed];
        list.binary_search_by_key(&(local as u8), |moved| moved.local).ok().map(|index| list[index].position)
    }

    fn brick_cuts(&self, at: [i32; 3], mixed: usize) -> BrickCuts {
        let mut cuts = BrickCuts::default();
        for local in 0..NODES {
            cuts.start(local);
            let node = node_at(at, local);
            let own = self.labels[mixed][local];
            for (direction, d) in EDGE_DIRECTIONS.iter().enumerate() {
                let other = [0, 1, 2].map(|k| node[k] + d[k]);
                let label = self.label(other);
                if label != own {
                    cuts.push(local, direction, self.root(node, other, own, label));
                }
            }
        }
        cuts
    }

    /// Where the distances of two labels are equal on an edge.
    fn root(&self, from: Node, to: Node, a: Label, b: Label) -> f64 {
        let lattice = self.bricks.lattice;
        let (start, end) = (lattice.position(from), lattice.position(to));
        let f = |t: f64| {
            let p = start.lerp(end, t);
            self.field.value(a, p) - self.field.value(b, p)
        };
        let (low, high) = (f(0.0), f(1.0));
        // Equal distances at an end: the label there was a tie.
        if !(low < 0.0 && high > 0.0) {
            return if low >= 0.0 { 0.0 } else { 1.0 };
        }
        illinois(low, high, ROOT_TOLERANCE * lattice.cell, f)
    }

    /// Moves nodes to the nearest cut closer than α, nearest first.
    fn move_nodes(&mut self) {
        let near_cuts = |(at, mixed): ([i32; 3], usize)| -> Vec<Near> {
            let cuts = &self.cuts[mixed];
            cuts.iter().filter_map(|(local, d, index)| near_cut(node_at(at, local), d, cuts.fractions[index])).collect()
        };
        let mut near: Vec<Near> = self.mixed().into_par_iter().flat_map_iter(near_cuts).collect();
        near.par_sort_unstable_by(Near::order);
        let mut is_moved = vec![0_u128; self.labels.len()];
        for cut in near {
            let (Some(mine), Some(other)) = (self.place(cut.node), self.place(cut.other)) else { continue };
            if is_moved[mine.0] >> mine.1 & 1 == 1 || is_moved[other.0] >> other.1 & 1 == 1 {
                continue;
            }
            is_moved[mine.0] |= 1 << mine.1;
            let [p, q] = [cut.node, cut.other].map(|node| self.bricks.lattice.position(node));
            self.moved[mine.0].push(Moved { local: mine.1 as u8, position: p.lerp(q, cut.fraction) });
        }
        self.moved.par_iter_mut().for_each(|list| list.sort_unstable_by_key(|moved| moved.local));
    }

    /// Cuts all cells, and gives nodes of bad ones back until there are none; returns the number of nodes given back.
    pub fn settle(&mut self) -> usize {
        let all: Vec<usize> = (0..self.bricks.bricks.len()).collect();
        self.cells = all.par_iter().map(|brick| self.brick_cells(*brick)).collect();
        loop {
            let bad: BTreeSet<Node> = self.cells.iter().flat_map(|cells| cells.bad.iter().copied()).collect();
            let mut around = BTreeSet::new();
            for node in bad {
                if self.give_back(node) {
                    let cube = node.map(|x| (x >> 1).div_euclid(4));
                    // A cell belongs to the brick of its lowest cube: one below that of its nodes at most.
                    around.extend((0..8).filter_map(|k| self.bricks.find([0, 1, 2].map(|a| cube[a] - (k >> a & 1)))));
                }
            }
            if around.is_empty() {
                break;
            }
            let new: Vec<(usize, BrickCells)> =
                around.into_iter().collect::<Vec<_>>().into_par_iter().map(|b| (b, self.brick_cells(b))).collect();
            new.into_iter().for_each(|(brick, cells)| self.cells[brick] = cells);
        }
        self.given_back.iter().map(|bits| bits.count_ones() as usize).sum()
    }

    /// Returns a node to the lattice and cuts its edges in the middle; false if that was done before.
    fn give_back(&mut self, node: Node) -> bool {
        let Some((mixed, local)) = self.place(node) else { return false };
        if self.given_back[mixed] >> local & 1 == 1 {
            return false;
        }
        self.given_back[mixed] |= 1 << local;
        self.moved[mixed].retain(|moved| usize::from(moved.local) != local);
        for d in EDGE_DIRECTIONS {
            for sign in [-1, 1] {
                let (owner, direction, _) = edge_owner(node, [0, 1, 2].map(|k| node[k] + sign * d[k]));
                if let Some((mixed, local)) = self.place(owner) {
                    self.cuts[mixed].set(local, direction, 0.5);
                }
            }
        }
        true
    }

    fn brick_cells(&self, brick: usize) -> BrickCells {
        let mut cells = BrickCells::default();
        let at = self.bricks.bricks[brick].at;
        for cube in 0..64_i32 {
            let base = [cube & 3, cube >> 2 & 3, cube >> 4];
            let base = [0, 1, 2].map(|k| 8 * at[k] + 2 * base[k]);
            for (index, cell) in CUBE_CELLS.iter().enumerate() {
                let nodes = cell.map(|node| [0, 1, 2].map(|k| node[k] + base[k]));
                let key = EXTRA | (brick as u64) << 16 | (cube as u64) << 4 | index as u64;
                self.add_cell(nodes, key, &mut cells);
            }
        }
        cells
    }

    /// Adds the pieces of a cell that do not belong to the background.
    fn add_cell(&self, nodes: [Node; 4], key: u64, cells: &mut BrickCells) {
        let original = nodes.map(|node| self.label(node));
        if original == [original[0]; 4] && nodes.iter().all(|node| self.moved_to(*node).is_none()) {
            if original[0] != BACKGROUND {
                cells.tets.push((nodes.map(|node| self.number(node)), original[0]));
            }
            return;
        }
        let Some(cell) = CutNodes::new(self, nodes, original) else { return };
        let floor = FLOOR_DEGREES.to_radians().sin().powi(2);
        let mut is_bad = false;
        for (piece, label) in labeled_pieces(cell.labels, self.whole_label(&cell), &cell) {
            if label == BACKGROUND {
                continue;
            }
            let corners = piece.map(|corner| cell.corner(corner));
            is_bad |= !(worst_sine_squared(corners) > floor);
            let numbers = piece.map(|corner| match corner {
                CENTER => key,
                c if c >= MEETING => self.face_number(face_nodes(usize::from(c - MEETING)).map(|k| nodes[k])),
                c => cut_nodes(c).map_or_else(|| self.number(nodes[usize::from(c)]), |(i, j)| cell.numbers[i][j]),
            });
            let extra = numbers.iter().zip(corners).filter(|(number, _)| **number >= EXTRA);
            cells.extra.extend(extra.map(|(number, position)| (*number, position)));
            cells.changed.push(cells.tets.len() as u32);
            cells.tets.push((numbers, label));
        }
        if is_bad {
            cells.bad.extend(nodes);
        }
    }

    /// Label of a cell whose nodes all lie on interfaces: that of its center.
    fn whole_label(&self, cell: &CutNodes) -> Label {
        let center = cell.moved.iter().copied().sum::<Vec3>() / 4.0;
        let all = cell.nodes.iter().filter_map(|node| self.place(*node)).flat_map(|(mixed, _)| &self.candidates[mixed]);
        let candidates: BTreeSet<Label> = all.copied().collect();
        self.field.label(&candidates.into_iter().collect::<Vec<_>>(), center).unwrap_or(BACKGROUND)
    }

    fn number(&self, node: Node) -> u64 {
        // Nodes of cells that are kept belong to bricks; others get a number that no node has.
        self.bricks
            .find_node(node)
            .map_or(u64::from(u32::MAX), |(brick, local)| u64::from(self.first[brick]) + local as u64)
    }

    /// Number of the point of a face: its lowest node and the edges to the others.
    fn face_number(&self, mut nodes: [Node; 3]) -> u64 {
        nodes.sort_unstable_by_key(|node| [node[2], node[1], node[0]]);
        let code = |node: Node| {
            let d = [0, 1, 2].map(|k| (node[k] - nodes[0][k] + 2) as u64);
            d[0] + 5 * d[1] + 25 * d[2]
        };
        FACE | self.number(nodes[0]) << 16 | code(nodes[1]) << 8 | code(nodes[2])
    }

    /// The cells with their labels, nodes numbered in the order of bricks; the points of faces and cells come last.
    pub fn into_cells(self) -> (RawMesh, Vec<Label>) {
        let mut extra: Vec<(u64, Vec3)> = self.cells.iter().flat_map(|cells| cells.extra.iter().copied()).collect();
        extra.par_sort_by_key(|(number, _)| *number);
        extra.dedup_by_key(|(number, _)| *number);
        let count = self.first.last().copied().unwrap_or(0) as usize;
        let slot = |number: u64| match number {
            n if n < EXTRA => n as usize,
            n => count + extra.binary_search_by_key(&n, |(number, _)| *number).unwrap_or(0),
        };
        let mut raw = RawMesh::default();
        let mut labels = Vec::new();
        let mut tets: Vec<[usize; 4]> = Vec::new();
        for cells in &self.cells {
            raw.changed.extend(cells.changed.iter().map(|cell| cell + tets.len() as u32));
            tets.extend(cells.tets.iter().map(|(tet, _)| tet.map(slot)));
            labels.extend(cells.tets.iter().map(|(_, label)| *label));
        }
        let mut numbers = vec![u32::MAX; count + extra.len()];
        tets.as_flattened().iter().for_each(|slot| numbers[*slot] = 0);
        let positions = (0..self.bricks.bricks.len()).flat_map(|brick| self.brick_positions(brick));
        for (slot, position) in positions.chain(extra.iter().map(|(_, p)| *p)).enumerate() {
            if numbers[slot] == 0 {
                numbers[slot] = raw.positions.len() as u32;
                raw.positions.push(position);
            }
        }
        raw.tets = tets.into_par_iter().map(|tet| tet.map(|slot| numbers[slot])).collect();
        raw.on_surface = exposed(&raw);
        (raw, labels)
    }

    fn brick_positions(&self, brick: usize) -> Vec<Vec3> {
        let lattice = self.bricks.lattice;
        let brick = self.bricks.bricks[brick];
        let mut positions: Vec<Vec3> = (0..NODES).map(|local| lattice.position(node_at(brick.at, local))).collect();
        let Some(mixed) = brick.mixed.map(|mixed| mixed as usize) else { return positions };
        for moved in &self.moved[mixed] {
            positions[usize::from(moved.local)] = moved.position;
        }
        for (local, direction, index) in self.cuts[mixed].iter() {
            let from = node_at(brick.at, local);
            let to = [0, 1, 2].map(|k| from[k] + EDGE_DIRECTIONS[direction][k]);
            positions.push(lattice.position(from).lerp(lattice.position(to), self.cuts[mixed].fractions[index]));
        }
        positions
    }
}

/// Nodes of faces with one cell.
fn exposed(raw: &RawMesh) -> Vec<bool> {
    let faces_of = |cell: &u32| {
        let tet = raw.tets[*cell as usize];
        [[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]].map(|face| {
            let mut face = face.map(|k: usize| tet[k]);
            face.sort_unstable();
            face
        })
    };
    let mut is_near = vec![false; raw.positions.len()];
    raw.changed.iter().flat_map(|cell| raw.tets[*cell as usize]).for_each(|node| is_near[node as usize] = true);
    let cells = 0..raw.tets.len() as u32;
    let touching = cells.into_par_iter().filter(|cell| raw.tets[*cell as usize].iter().any(|n| is_near[*n as usize]));
    let near = touching.flat_map_iter(|cell| faces_of(&cell));
    let mut faces: Vec<[u32; 3]> = near.filter(|face| face.iter().all(|node| is_near[*node as usize])).collect();
    faces.par_sort_unstable();
    let mut exposed = vec![false; raw.positions.len()];
    for group in faces.chunk_by(|a, b| a == b).filter(|group| group.len() == 1) {
        group[0].iter().for_each(|node| exposed[*node as usize] = true);
    }
    exposed
}

/// A cell with its cuts.
struct CutNodes {
    lattice: Lattice,
    nodes: [Node; 4],
    labels: [Label; 4],
    /// Positions of the nodes, moved if they are.
    moved: [Vec3; 4],
    /// Fractions from the first node.
    cuts: [[f64; 4]; 4],
    numbers: [[u64; 4]; 4],
    /// Where three labels meet in each face, if they do.
    meetings: [Option<Vec3>; 4],
}

impl CutNodes {
    /// `None` when a cut is missing: a distance broke its promise.
    fn new(all: &LabeledLattice<'_>, nodes: [Node; 4], labels: [Label; 4]) -> Option<Self> {
        let lattice = all.bricks.lattice;
        let places = nodes.map(|node| all.moved_to(node));
        let moved = [0, 1, 2, 3].map(|k| places[k].unwrap_or_else(|| lattice.position(nodes[k])));
        let labels = [0, 1, 2, 3].map(|k| if places[k].is_some() { INTERFACE } else { labels[k] });
        let mut cell =
            Self { lattice, nodes, labels, moved, cuts: [[0.5; 4]; 4], numbers: [[0; 4]; 4], meetings: [None; 4] };
        for i in 0..4 {
            for j in i + 1..4 {
                if labels[i] == labels[j] || labels[i] == INTERFACE || labels[j] == INTERFACE {
                    continue;
                }
                let (owner, direction, is_forward) = edge_owner(nodes[i], nodes[j]);
                let (brick, local) = all.bricks.find_node(owner)?;
                let cuts = &all.cuts[all.bricks.bricks[brick].mixed? as usize];
                let index = cuts.index(local, direction)?;
                let t = cuts.fractions[index];
                (cell.cuts[i][j], cell.cuts[j][i]) = if is_forward { (t, 1.0 - t) } else { (1.0 - t, t) };
                cell.numbers[i][j] = u64::from(all.first[brick]) + (NODES + index) as u64;
            }
        }
        for face in 0..4 {
            cell.meetings[face] = cell.meeting(all, face);
        }
        Some(cell)
    }

    /// The point of a face in which its three labels meet: Newton steps from amid the cuts, not nearer to an edge than
    /// [`MARGIN`]. Amid the cuts if a node of the face was given back.
    fn meeting(&self, all: &LabeledLattice<'_>, face: usize) -> Option<Vec3> {
        let mut nodes = face_nodes(face);
        nodes.sort_unstable_by_key(|k| [self.nodes[*k][2], self.nodes[*k][1], self.nodes[*k][0]]);
        let [i, j, k] = nodes;
        let [a, b, c] = nodes.map(|node| self.labels[node]);
        let is_back = |node: &usize| all.place(self.nodes[*node]).is_some_and(|(m, l)| all.given_back[m] >> l & 1 == 1);
        if [a, b, c].contains(&INTERFACE) || a == b || b == c || a == c || nodes.iter().any(is_back) {
            return None;
        }
        let middle = self.amid(face);
        let (u, v) = (self.position(j) - self.position(i), self.position(k) - self.position(i));
        let f = |p: Vec3| {
            let base = all.field.value(a, p);
            (base - all.field.value(b, p), base - all.field.value(c, p))
        };
        let mut p = middle;
        let step = 1e-3;
        for _ in 0..3 {
            let (here, along_u, along_v) = (f(p), f(p + u * step), f(p + v * step));
            let (m, n) = ((along_u.0 - here.0) / step, (along_v.0 - here.0) / step);
            let (q, r) = ((along_u.1 - here.1) / step, (along_v.1 - here.1) / step);
            let determinant = m * r - n * q;
            let s = (n * here.1 - r * here.0) / determinant;
            let t = (q * here.0 - m * here.1) / determinant;
            if !(s.abs() < 1.0 && t.abs() < 1.0) {
                return None;
            }
            p += u * s + v * t;
        }
        // Back towards the middle until all three weights keep their margin.
        let weights = |p: Vec3| {
            let (d, uu, uv, vv) = (p - self.position(i), u.dot(u), u.dot(v), v.dot(v));
            let (s, t) = (d.dot(u) * vv - d.dot(v) * uv, d.dot(v) * uu - d.dot(u) * uv);
            let scale = (uu * vv - uv * uv).recip();
            [1.0 - (s + t) * scale, s * scale, t * scale]
        };
        let (inner, outer) = (weights(middle), weights(p));
        let fraction =
            |k: usize| if outer[k] >= MARGIN { 1.0 } else { (inner[k] - MARGIN).max(0.0) / (inner[k] - outer[k]) };
        let kept = (0..3).map(fraction).fold(1.0, f64::min);
        Some(middle.lerp(p, kept))
    }

    /// Position of a corner; points of faces and cells lie amid the cuts around them, in an order that does not depend
    /// on the cell.
    fn corner(&self, corner: Corner) -> Vec3 {
        match corner {
            CENTER => (0..4).map(|face| self.face_point(face)).sum::<Vec3>() / 4.0,
            c if c >= MEETING => self.face_point(usize::from(c - MEETING)),
            c => match cut_nodes(c) {
                None => self.moved[usize::from(c)],
                Some((i, j)) => self.cut_point(i, j),
            },
        }
    }

    /// The cut of an edge, from its lower node, or its middle if it has none.
    fn cut_point(&self, i: usize, j: usize) -> Vec3 {
        let (i, j) = if self.is_before(i, j) { (i, j) } else { (j, i) };
        self.position(i).lerp(self.position(j), self.cuts[i][j])
    }

    fn face_point(&self, face: usize) -> Vec3 {
        self.meetings[face].unwrap_or_else(|| self.amid(face))
    }

    /// The mean of the cuts of a face.
    fn amid(&self, face: usize) -> Vec3 {
        let mut nodes = face_nodes(face);
        nodes.sort_unstable_by_key(|k| [self.nodes[*k][2], self.nodes[*k][1], self.nodes[*k][0]]);
        let [a, b, c] = nodes;
        (self.cut_point(a, b) + self.cut_point(a, c) + self.cut_point(b, c)) / 3.0
    }
}

impl CutCell for CutNodes {
    fn cut(&self, inside: usize, outside: usize) -> f64 {
        self.cuts[inside][outside]
    }

    fn position(&self, node: usize) -> Vec3 {
        self.lattice.position(self.nodes[node])
    }

    fn is_before(&self, a: usize, b: usize) -> bool {
        let key = |node: usize| [self.nodes[node][2], self.nodes[node][1], self.nodes[node][0]];
        key(a) < key(b)
    }
}
