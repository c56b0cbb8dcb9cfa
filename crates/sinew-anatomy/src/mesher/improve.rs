//! Nodes moved until the worst angles are better.
//!
//! The nodes of cells with a dihedral angle below 22° or above 158° try steps in a few directions and keep those that
//! raise the worst sine of the cells around them; nodes on the surface step along it and return to φ = 0. Only gains are
//! kept, so a bound on the angles stays. Nodes that are off the surfaces they belong to, as where three labels meet, are
//! drawn near in between, as far as a floor of 20° lets them, and of 12° far away. Nodes that share no cell move at the same time, color by
//! color, so the result does not depend on threads.

use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;

use super::constraint::{Constraint, MAX_SHEETS, Sheets, Whole};
use super::quality::worst_sine_squared;
use super::stuff::RawMesh;
use crate::Solid;

/// Dihedral angles \[°\] that are good enough: nodes rest when all around are at least that far from 0° and 180°.
const GOAL_DEGREES: f64 = 22.0;
/// Passes over the nodes of bad cells, all together; smooth solids need about ten.
const MAX_PASSES: usize = 60;
/// Steps in cells, largest first. Longer ones seldom help, shorter ones gain less than a tenth of a degree.
const STEPS: [f64; 4] = [0.16, 0.08, 0.04, 0.02];
/// Steps of one size that a node may take in a pass.
const MAX_REPEATS: usize = 3;
/// |φ| in cells that a node may have after its return to the surface, and the one that is tried for.
const ON_SURFACE: (f64, f64) = (1e-3, 1e-5);
/// Newton steps back to the surface.
const MAX_RETURNS: usize = 4;
/// Angles \[°\] that a node keeps on its way to the surfaces it belongs to, where it is near and where it is far; they are
/// improved afterwards.
const FLOOR_DEGREES: [f64; 2] = [20.0, 12.0];
/// Farther off than this many cells is far.
const FAR: f64 = 0.3;
/// Part of that way that a node tries to go at once.
const DRAWS: [f64; 4] = [1.0, 0.6, 0.3, 0.12];
/// Times that nodes are drawn near, with improvements in between.
const MAX_DRAWS: usize = 24;
/// Newton steps on that way, each up to half a cell.
const MAX_TURNS: usize = 10;
/// Longest way in cells.
const MAX_WAY: f64 = 1.3;
/// No color: the node does not move in this pass.
const UNCOLORED: u8 = u8::MAX;

/// The squared sine of the angles that are good enough.
pub(crate) fn floor() -> f64 {
    GOAL_DEGREES.to_radians().sin().powi(2)
}

/// Moves nodes of a mesh in a solid; returns how many moved.
pub(crate) fn improve(raw: &mut RawMesh, solid: &dyn Solid, cell: f64) -> usize {
    improve_on(raw, &Whole(solid), cell)
}

/// Moves nodes of a mesh: to the surfaces they belong to, as far as angles allow, and to better angles. Returns how many
/// moved.
pub(crate) fn improve_on(raw: &mut RawMesh, constraint: &dyn Constraint, cell: f64) -> usize {
    let sine = |degrees: f64| degrees.to_radians().sin().powi(2);
    let search = Search { constraint, cell, goal: floor(), floors: FLOOR_DEGREES.map(sine) };
    let stars = Stars::new(raw);
    let mut state = State::new(raw.positions.len());
    let quality = |raw: &RawMesh, cell: u32| worst_sine_squared(raw.corners(cell));
    let is_bad = |raw: &RawMesh, cell: u32| quality(raw, cell) < search.goal;
    let mut bad: Vec<u32> = raw.changed.par_iter().copied().filter(|cell| is_bad(raw, *cell)).collect();
    let mut passes = 0;
    for _ in 0..MAX_DRAWS {
        while passes < MAX_PASSES {
            let nodes = state.nodes_of(&bad, &raw.tets);
            if nodes.is_empty() {
                break;
            }
            passes += 1;
            let moved = state.pass(raw, &stars, &nodes, |raw, node| search.better_position(raw, &stars, node));
            bad.extend(moved.iter().flat_map(|node| stars.of(*node)));
            bad.par_sort_unstable();
            bad.dedup();
            bad = bad.into_par_iter().filter(|cell| is_bad(raw, *cell)).collect();
        }
        if constraint.starts_on_surface() {
            break;
        }
        let all = 0..raw.positions.len() as u32;
        let may_gain = |node: &u32| !state.is_stuck[*node as usize] && !stars.of(*node).is_empty();
        let off: Vec<u32> = all.into_par_iter().filter(may_gain).filter(|node| search.is_off(raw, *node)).collect();
        let drawn = state.pass(raw, &stars, &off, |raw, node| search.nearer_position(raw, &stars, node));
        off.iter()
            .filter(|node| drawn.binary_search(node).is_err())
            .for_each(|node| state.is_stuck[*node as usize] = true);
        if drawn.is_empty() {
            break;
        }
        bad.extend(drawn.iter().flat_map(|node| stars.of(*node)).filter(|cell| is_bad(raw, **cell)));
        bad.par_sort_unstable();
        bad.dedup();
    }
    state.moved_count()
}

impl RawMesh {
    /// Corners of a cell.
    #[inline]
    pub fn corners(&self, cell: u32) -> [Vec3; 4] {
        self.tets[cell as usize].map(|node| self.positions[node as usize])
    }
}

/// The cells around each node of a changed cell.
pub(super) struct Stars {
    first: Vec<u32>,
    cells: Vec<u32>,
}

impl Stars {
    pub fn new(raw: &RawMesh) -> Self {
        let mut is_near = vec![false; raw.positions.len()];
        for cell in &raw.changed {
            raw.tets[*cell as usize].iter().for_each(|node| is_near[*node as usize] = true);
        }
        let is_near_cell = |(_, tet): &(usize, &[u32; 4])| tet.iter().any(|node| is_near[*node as usize]);
        let near = raw.tets.par_iter().enumerate().filter(is_near_cell);
        let near: Vec<u32> = near.map(|(cell, _)| cell as u32).collect();
        let mut first = vec![0_u32; raw.positions.len() + 1];
        let uses = || near.iter().flat_map(|cell| raw.tets[*cell as usize].map(|node| (*cell, node as usize)));
        uses().filter(|(_, node)| is_near[*node]).for_each(|(_, node)| first[node + 1] += 1);
        for node in 1..first.len() {
            first[node] += first[node - 1];
        }
        let mut next = first.clone();
        let mut cells = vec![0; first.last().copied().unwrap_or(0) as usize];
        for (cell, node) in uses().filter(|(_, node)| is_near[*node]) {
            cells[next[node] as usize] = cell;
            next[node] += 1;
        }
        Self { first, cells }
    }

    /// Cells around a node; none if it is not near the surface.
    #[inline]
    pub fn of(&self, node: u32) -> &[u32] {
        &self.cells[self.first[node as usize] as usize..self.first[node as usize + 1] as usize]
    }
}

/// What is remembered of nodes.
pub(super) struct State {
    /// Found no gain, and nothing around moved since.
    is_stalled: Vec<bool>,
    /// Cannot go nearer to its surfaces as its neighbors stand.
    is_stuck: Vec<bool>,
    has_moved: Vec<bool>,
    colors: Vec<u8>,
}

impl State {
    pub fn new(node_count: usize) -> Self {
        Self {
            is_stalled: vec![false; node_count],
            is_stuck: vec![false; node_count],
            has_moved: vec![false; node_count],
            colors: vec![UNCOLORED; node_count],
        }
    }

    /// How many nodes have moved.
    pub fn moved_count(&self) -> usize {
        self.has_moved.iter().filter(|moved| **moved).count()
    }

    /// Those of some nodes that may gain.
    pub fn open(&self, mut nodes: Vec<u32>) -> Vec<u32> {
        nodes.retain(|node| !self.is_stalled[*node as usize]);
        nodes
    }

    /// Nodes of some cells that may gain, ascending.
    fn nodes_of(&self, cells: &[u32], tets: &[[u32; 4]]) -> Vec<u32> {
        let mut nodes = self.open(cells.iter().flat_map(|cell| tets[*cell as usize]).collect());
        nodes.par_sort_unstable();
        nodes.dedup();
        nodes
    }

    /// Moves some nodes to where `place` says, color by color; returns those that moved, ascending.
    pub fn pass(
        &mut self,
        raw: &mut RawMesh,
        stars: &Stars,
        nodes: &[u32],
        place: impl Fn(&RawMesh, u32) -> Option<Vec3> + Sync,
    ) -> Vec<u32> {
        let mut moved = Vec::new();
        for group in self.colored(raw, stars, nodes) {
            let found: Vec<Option<Vec3>> = group.par_iter().with_min_len(16).map(|node| place(raw, *node)).collect();
            for (node, position) in group.iter().zip(found) {
                self.is_stalled[*node as usize] = true;
                if let Some(position) = position {
                    raw.positions[*node as usize] = position;
                    self.has_moved[*node as usize] = true;
                    moved.push(*node);
                }
            }
        }
        for node in &moved {
            for cell in stars.of(*node) {
                for other in raw.tets[*cell as usize] {
                    (self.is_stalled[other as usize], self.is_stuck[other as usize]) = (false, false);
                }
            }
        }
        moved.sort_unstable();
        moved
    }

    /// Groups of nodes that share no cell: each takes the first color free around it.
    fn colored(&mut self, raw: &RawMesh, stars: &Stars, nodes: &[u32]) -> Vec<Vec<u32>> {
        let mut groups: Vec<Vec<u32>> = Vec::new();
        for node in nodes {
            let mut taken = 0_u128;
            for other in stars.of(*node).iter().flat_map(|cell| raw.tets[*cell as usize]) {
                let color = self.colors[other as usize];
                taken |= if color == UNCOLORED { 0 } else { 1 << color };
            }
            // A node with more than 127 colored neighbors waits for the next pass.
            let color = taken.trailing_ones() as usize;
            if color < 127 {
                self.colors[*node as usize] = color as u8;
                groups.resize(groups.len().max(color + 1), Vec::new());
                groups[color].push(*node);
            }
        }
        nodes.iter().for_each(|node| self.colors[*node as usize] = UNCOLORED);
        groups
    }
}

/// How a node looks for a better position.
pub(super) struct Search<'a> {
    pub constraint: &'a dyn Constraint,
    pub cell: f64,
    /// Squared sine that is good enough.
    pub goal: f64,
    /// Squared sines that a node keeps on its way to its surfaces, near them and far away.
    pub floors: [f64; 2],
}

impl Search<'_> {
    /// A position with a larger worst sine around the node.
    pub fn better_position(&self, raw: &RawMesh, stars: &Stars, node: u32) -> Option<Vec3> {
        let star = Star::new(raw, stars.of(node), node);
        let start = raw.positions[node as usize];
        let mut best = (star.worst(start, -1.0), start);
        let track = raw.on_surface[node as usize].then(|| self.track(node, start));
        let directions = track.as_ref().map_or_else(all_directions, |track| track.sheets.directions());
        for step in STEPS {
            for _ in 0..MAX_REPEATS {
                let Some(next) = self.best_step(&star, best, step * self.cell, &directions, track.as_ref()) else {
                    break;
                };
                best = next;
                if best.0 >= self.goal {
                    return Some(best.1);
                }
            }
        }
        (best.1 != start).then_some(best.1)
    }

    /// The best step of one length, if any is a gain.
    fn best_step(
        &self,
        star: &Star,
        from: (f64, Vec3),
        step: f64,
        directions: &[Vec3],
        track: Option<&Track>,
    ) -> Option<(f64, Vec3)> {
        let mut best = from;
        for direction in directions {
            let mut p = from.1 + *direction * step;
            if let Some(track) = track {
                // Most steps fail before the return, which moves by the square of the step only.
                if star.worst(p, 0.8 * best.0) <= 0.8 * best.0 {
                    continue;
                }
                let Some(back) = self.returned(p, track) else { continue };
                p = back;
            }
            let worst = star.worst(p, best.0);
            if worst > best.0 {
                best = (worst, p);
            }
        }
        // Gains below a thousandth would creep.
        (best.0 > from.0 * 1.001 + 1e-9).then_some(best)
    }

    pub fn track(&self, node: u32, p: Vec3) -> Track {
        let start = largest(self.constraint.distances(node, p));
        let sheets = self.constraint.sheets(node, p, 0.05 * self.cell);
        Track { node, sheets, limit: start.max(ON_SURFACE.0 * self.cell) }
    }

    /// The point on the surfaces of a node, at a right angle to them; one that is off does not get farther away.
    fn returned(&self, mut p: Vec3, track: &Track) -> Option<Vec3> {
        let mut distances = self.constraint.distances(track.node, p);
        for _ in 0..MAX_RETURNS {
            if largest(distances) <= ON_SURFACE.1 * self.cell {
                break;
            }
            p -= track.sheets.way(distances);
            distances = self.constraint.distances(track.node, p);
        }
        (largest(distances) <= track.limit).then_some(p)
    }

    /// Whether a node should lie on surfaces and does not.
    fn is_off(&self, raw: &RawMesh, node: u32) -> bool {
        let x = raw.positions[node as usize];
        raw.on_surface[node as usize] && largest(self.constraint.distances(node, x)) > ON_SURFACE.0 * self.cell
    }

    /// A position nearer to the surfaces of a node, with no angle below the floor that was not worse before.
    fn nearer_position(&self, raw: &RawMesh, stars: &Stars, node: u32) -> Option<Vec3> {
        let start = raw.positions[node as usize];
        let off = largest(self.constraint.distances(node, start));
        let target = self.nearest(node, start, off)?;
        let star = Star::new(raw, stars.of(node), node);
        let floor = self.floors[usize::from(off > FAR * self.cell)];
        let least = floor.min(star.worst(start, -1.0));
        DRAWS.into_iter().map(|fraction| start.lerp(target, fraction)).find(|p| star.worst(*p, least) > least)
    }

    /// The point nearest to all surfaces of a node on a way of Newton steps, less than half as far as `off`.
    fn nearest(&self, node: u32, start: Vec3, off: f64) -> Option<Vec3> {
        let (mut p, mut best) = (start, (0.5 * off, None));
        for _ in 0..MAX_TURNS {
            let way = self.constraint.sheets(node, p, 0.02 * self.cell).way(self.constraint.distances(node, p));
            p -= way * (0.5 * self.cell / way.norm()).min(1.0);
            let here = largest(self.constraint.distances(node, p));
            if here < best.0 && p.distance(start) <= MAX_WAY * self.cell {
                best = (here, Some(p));
            }
            if here <= 0.1 * ON_SURFACE.0 * self.cell {
                break;
            }
        }
        best.1
    }
}

/// The surfaces along which a node moves.
pub(super) struct Track {
    node: u32,
    pub sheets: Sheets,
    /// Distance \[m\] from them that is accepted.
    limit: f64,
}

/// The largest distance, whatever its sign; infinite for one that is no number.
fn largest(distances: [f64; MAX_SHEETS]) -> f64 {
    let largest = distances.into_iter().fold(0.0, |most: f64, d| if d.abs() <= most { most } else { d.abs() });
    if largest.is_nan() { f64::INFINITY } else { largest }
}

/// The axes and the space diagonals.
fn all_directions() -> Vec<Vec3> {
    let third = 3.0_f64.sqrt().recip();
    let axes = (0..3).flat_map(|k| [Vec3::unit(k), -Vec3::unit(k)]);
    let signs = [-third, third];
    let diagonals = signs.iter().flat_map(|x| signs.iter().map(move |y| (*x, *y)));
    axes.chain(diagonals.flat_map(|(x, y)| signs.map(|z| Vec3::new(x, y, z)))).collect()
}

/// The faces opposite to a node, worst cell first.
pub(super) struct Star {
    faces: Vec<[Vec3; 3]>,
}

impl Star {
    pub fn new(raw: &RawMesh, cells: &[u32], node: u32) -> Self {
        let at = raw.positions[node as usize];
        let mut faces: Vec<(f64, [Vec3; 3])> = cells
            .iter()
            .map(|cell| {
                let x = raw.corners(*cell);
                let k = raw.tets[*cell as usize].iter().position(|other| *other == node).unwrap_or(0);
                // Even permutations with the node first.
                let face = [[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]][k].map(|i: usize| x[i]);
                (worst_sine_squared([at, face[0], face[1], face[2]]), face)
            })
            .collect();
        faces.sort_by(|a, b| a.0.total_cmp(&b.0));
        Self { faces: faces.into_iter().map(|(_, face)| face).collect() }
    }

    /// Worst squared sine with the node at p; stops at the first that is not above `floor`.
    #[inline]
    pub fn worst(&self, p: Vec3, floor: f64) -> f64 {
        let mut worst = f64::INFINITY;
        for [a, b, c] in &self.faces {
            worst = worst.min(worst_sine_squared([p, *a, *b, *c]));
            if worst <= floor {
                break;
            }
        }
        worst
    }
}
