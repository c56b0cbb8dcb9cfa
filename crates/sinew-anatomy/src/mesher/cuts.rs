//! Where the surface cuts the edges of the lattice, and which nodes move to a cut.

use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;

use super::bricks::{Bricks, NODES, node_at};
use super::lattice::{EDGE_DIRECTIONS, Node, edge_owner};
use super::stencil::{ALPHA_LONG, ALPHA_SHORT};
use crate::Solid;

/// Accepted |φ| at a cut, in cells: volumes converge with second order only if the roots do not add an error of their
/// own.
const ROOT_TOLERANCE: f64 = 1e-7;
/// Steps of the root finder: halving alone would take 23.
const MAX_ROOT_STEPS: usize = 60;

/// Cuts of the edges owned by the nodes of a brick near the surface.
#[derive(Clone, Debug)]
pub(crate) struct BrickCuts {
    /// A bit per direction of [`EDGE_DIRECTIONS`].
    mask: [u8; NODES],
    /// First cut of each node.
    first: [u16; NODES],
    /// Where the edge is cut, as a fraction from its owner.
    pub fractions: Vec<f64>,
}

impl Default for BrickCuts {
    fn default() -> Self {
        Self { mask: [0; NODES], first: [0; NODES], fractions: Vec::new() }
    }
}

impl BrickCuts {
    /// Begins with the cuts of a node; nodes come in ascending order.
    pub fn start(&mut self, local: usize) {
        self.first[local] = self.fractions.len() as u16;
    }

    /// Adds a cut of the node begun last; directions come in ascending order.
    pub fn push(&mut self, local: usize, direction: usize, fraction: f64) {
        self.mask[local] |= 1 << direction;
        self.fractions.push(fraction);
    }

    /// Moves a cut, if there is one.
    pub fn set(&mut self, local: usize, direction: usize, fraction: f64) {
        if let Some(index) = self.index(local, direction) {
            self.fractions[index] = fraction;
        }
    }

    /// Number of the cut of an edge.
    #[inline]
    pub fn index(&self, local: usize, direction: usize) -> Option<usize> {
        let mask = self.mask[local];
        let before = mask & ((1 << direction) - 1);
        (mask >> direction & 1 == 1).then(|| usize::from(self.first[local]) + before.count_ones() as usize)
    }

    /// Owner, direction and number of each cut.
    pub fn iter(&self) -> impl Iterator<Item = (usize, usize, usize)> + '_ {
        let directions = |mask: u8| (0..EDGE_DIRECTIONS.len()).filter(move |d| mask >> d & 1 == 1);
        let edges =
            self.mask.iter().enumerate().flat_map(move |(local, mask)| directions(*mask).map(move |d| (local, d)));
        edges.enumerate().map(|(index, (local, direction))| (local, direction, index))
    }
}

/// A node that moved to the surface.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moved {
    pub local: u8,
    pub position: Vec3,
}

/// The lattice as the surface cuts it.
pub(crate) struct Cutting {
    pub bricks: Bricks,
    /// Cuts of each brick near the surface.
    pub cuts: Vec<BrickCuts>,
    /// Sign of each node of these bricks: −1 inside, 0 on the surface, 1 outside.
    pub signs: Vec<[i8; NODES]>,
    /// Nodes that moved, ascending.
    pub moved: Vec<Vec<Moved>>,
}

impl Cutting {
    /// Finds all cuts and moves nodes that are near one.
    pub fn new(bricks: Bricks, solid: &dyn Solid) -> Self {
        let signs = bricks.distances.iter().map(|values| values.map(sign)).collect();
        let mut cutting = Self { bricks, cuts: Vec::new(), signs, moved: Vec::new() };
        cutting.cuts = cutting.find_cuts(solid);
        cutting.move_nodes();
        cutting
    }

    /// The brick, the number of the cut there and the fraction from `from` of the edge between two nodes; `None` if the
    /// distance broke its promise, so that a brick near the surface was taken for one outside or inside.
    #[inline]
    pub fn cut(&self, from: Node, to: Node) -> Option<(usize, usize, f64)> {
        let (owner, direction, is_forward) = edge_owner(from, to);
        let (brick, local) = self.bricks.find_node(owner)?;
        let cuts = &self.cuts[self.bricks.bricks[brick].mixed? as usize];
        let index = cuts.index(local, direction)?;
        let t = cuts.fractions[index];
        Some((brick, index, if is_forward { t } else { 1.0 - t }))
    }

    fn distance(&self, node: Node) -> Option<f64> {
        let (brick, local) = self.bricks.find_node(node)?;
        Some(self.bricks.distances[self.bricks.bricks[brick].mixed? as usize][local])
    }

    fn find_cuts(&self, solid: &dyn Solid) -> Vec<BrickCuts> {
        let mixed: Vec<[i32; 3]> = self.mixed_bricks().map(|(at, _)| at).collect();
        mixed.into_par_iter().enumerate().map(|(mixed, at)| self.brick_cuts(mixed, at, solid)).collect()
    }

    /// Coordinates and number of each brick near the surface.
    fn mixed_bricks(&self) -> impl Iterator<Item = ([i32; 3], usize)> + '_ {
        self.bricks.bricks.iter().filter_map(|brick| Some((brick.at, brick.mixed? as usize)))
    }

    fn brick_cuts(&self, mixed: usize, at: [i32; 3], solid: &dyn Solid) -> BrickCuts {
        let mut cuts = BrickCuts::default();
        for local in 0..NODES {
            cuts.start(local);
            let own = self.bricks.distances[mixed][local];
            if own == 0.0 {
                continue;
            }
            let node = node_at(at, local);
            for (direction, d) in EDGE_DIRECTIONS.iter().enumerate() {
                let other = [0, 1, 2].map(|k| node[k] + d[k]);
                let Some(value) = self.distance(other).filter(|value| value * own < 0.0) else { continue };
                cuts.push(local, direction, self.root(solid, node, other, own, value));
            }
        }
        cuts
    }

    /// Where φ vanishes between two nodes with distances of opposite signs.
    fn root(&self, solid: &dyn Solid, from: Node, to: Node, a: f64, b: f64) -> f64 {
        let lattice = self.bricks.lattice;
        let (start, end) = (lattice.position(from), lattice.position(to));
        illinois(a, b, ROOT_TOLERANCE * lattice.cell, |t| solid.distance(start.lerp(end, t)))
    }

    /// Moves nodes to the nearest cut closer than α, nearest first, in the order of nodes; a cut whose edge has lost an
    /// end to the surface is gone.
    fn move_nodes(&mut self) {
        let mut near: Vec<Near> = (0..self.cuts.len())
            .into_par_iter()
            .zip(self.mixed_bricks().map(|(at, _)| at).collect::<Vec<_>>())
            .flat_map_iter(|(mixed, at)| self.near_cuts(mixed, at))
            .collect();
        near.par_sort_unstable_by(Near::order);
        self.moved = vec![Vec::new(); self.cuts.len()];
        for cut in near {
            let [mine, other] = [cut.node, cut.other].map(|node| {
                let found = self.bricks.find_node(node);
                found.and_then(|(brick, local)| Some((self.bricks.bricks[brick].mixed? as usize, local)))
            });
            let (Some(mine), Some(other)) = (mine, other) else { continue };
            if self.signs[mine.0][mine.1] != 0 && self.signs[other.0][other.1] != 0 {
                self.signs[mine.0][mine.1] = 0;
                let [p, q] = [cut.node, cut.other].map(|node| self.bricks.lattice.position(node));
                self.moved[mine.0].push(Moved { local: mine.1 as u8, position: p.lerp(q, cut.fraction) });
            }
        }
        self.moved.par_iter_mut().for_each(|list| list.sort_unstable_by_key(|moved| moved.local));
    }

    /// Cuts of a brick that are close to one of their ends.
    fn near_cuts(&self, mixed: usize, at: [i32; 3]) -> Vec<Near> {
        let cuts = &self.cuts[mixed];
        cuts.iter().filter_map(|(local, d, index)| near_cut(node_at(at, local), d, cuts.fractions[index])).collect()
    }
}

/// The end of an edge that its cut is close to.
pub(crate) fn near_cut(node: Node, direction: usize, t: f64) -> Option<Near> {
    let (alpha, length) = if direction < 3 { (ALPHA_LONG, 1.0) } else { (ALPHA_SHORT, 0.75_f64.sqrt()) };
    let d = EDGE_DIRECTIONS[direction];
    let other = [0, 1, 2].map(|k| node[k] + d[k]);
    if t < alpha {
        Some(Near { distance: t * length, node, other, fraction: t })
    } else if 1.0 - t < alpha {
        Some(Near { distance: (1.0 - t) * length, node: other, other: node, fraction: 1.0 - t })
    } else {
        None
    }
}

/// A cut close to a node.
pub(crate) struct Near {
    /// Distance of the cut from the node, in cells.
    distance: f64,
    pub node: Node,
    /// The other end of the edge.
    pub other: Node,
    /// Where the cut is, from the node.
    pub fraction: f64,
}

impl Near {
    /// Nearest first, then by nodes.
    pub fn order(a: &Self, b: &Self) -> std::cmp::Ordering {
        let key = |node: Node| [node[2], node[1], node[0]];
        let nodes = key(a.node).cmp(&key(b.node)).then_with(|| key(a.other).cmp(&key(b.other)));
        a.distance.total_cmp(&b.distance).then(nodes)
    }
}

fn sign(value: f64) -> i8 {
    match value {
        v if v < 0.0 => -1,
        v if v > 0.0 => 1,
        _ => 0,
    }
}

/// The root of f between 0 and 1, where it has the values a and b of opposite signs: secants, with the value of an end
/// that stays halved (Illinois), so both ends close in.
pub(crate) fn illinois(a: f64, b: f64, tolerance: f64, f: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high, mut fl, mut fh) = (0.0, 1.0, a, b);
    let mut last = 0;
    for _ in 0..MAX_ROOT_STEPS {
        let t = (fh * low - fl * high) / (fh - fl);
        let value = f(t);
        // A distance that is no number ends the search where it is.
        if !(value.abs() > tolerance) || high - low < 1e-12 {
            return t;
        }
        if (value < 0.0) == (a < 0.0) {
            (low, fl) = (t, value);
            fh = if last == 1 { 0.5 * fh } else { fh };
            last = 1;
        } else {
            (high, fh) = (t, value);
            fl = if last == 2 { 0.5 * fl } else { fl };
            last = 2;
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_found_to_the_tolerance_on_lines_curves_and_steps() {
        assert!((illinois(-0.25, 0.75, 1e-9, |t| t - 0.25) - 0.25).abs() < 1e-9);
        let f = |t: f64| t.powi(3) - 0.2;
        assert!(f(illinois(f(0.0), f(1.0), 1e-9, f)).abs() < 1e-9);
        let step = |t: f64| if t < 0.625 { -1.0 } else { 1.0 };
        assert!((illinois(-1.0, 1.0, 1e-9, step) - 0.625).abs() < 1e-9);
    }
}
