//! Nodes moved until the worst angles are better.
//!
//! The nodes of cells with a dihedral angle below 22° or above 158° try steps in a few directions and keep those that
//! raise the worst sine of the cells around them; nodes on the surface step along it and return to φ = 0. Only gains are
//! kept, so a bound on the angles stays. Nodes that share no cell move at the same time, color by color, so the result
//! does not depend on threads.

use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;

use super::quality::worst_sine_squared;
use super::stuff::RawMesh;
use crate::Solid;

/// Dihedral angles \[°\] that are good enough: nodes rest when all around are at least that far from 0° and 180°.
const GOAL_DEGREES: f64 = 22.0;
/// Passes over the nodes of bad cells; smooth solids need about ten.
const MAX_PASSES: usize = 60;
/// Steps in cells, largest first. Longer ones seldom help, shorter ones gain less than a tenth of a degree.
const STEPS: [f64; 4] = [0.16, 0.08, 0.04, 0.02];
/// Steps of one size that a node may take in a pass.
const MAX_REPEATS: usize = 3;
/// |φ| in cells that a node may have after its return to the surface, and the one that is tried for.
const ON_SURFACE: (f64, f64) = (1e-3, 1e-5);
/// Newton steps back to the surface.
const MAX_RETURNS: usize = 4;
/// No color: the node does not move in this pass.
const UNCOLORED: u8 = u8::MAX;

/// Moves nodes of a mesh in a solid; returns how many moved.
pub(crate) fn improve(raw: &mut RawMesh, solid: &dyn Solid, cell: f64) -> usize {
    improve_on(raw, &Whole(solid), cell)
}

/// What nodes must keep to.
pub(crate) trait Constraint: Sync {
    /// Distance \[m\] of a point from the surface that a node lies on.
    fn distance(&self, node: u32, p: Vec3) -> f64;

    /// Its gradient.
    fn gradient(&self, node: u32, p: Vec3, step: f64) -> Vec3;

    /// Whether a node stays where it is.
    fn is_fixed(&self, node: u32) -> bool;
}

/// All nodes on the surface of one solid.
struct Whole<'a>(&'a dyn Solid);

impl Constraint for Whole<'_> {
    fn distance(&self, _: u32, p: Vec3) -> f64 {
        self.0.distance(p)
    }

    fn gradient(&self, _: u32, p: Vec3, step: f64) -> Vec3 {
        self.0.gradient(p, step)
    }

    fn is_fixed(&self, _: u32) -> bool {
        false
    }
}

/// Moves nodes of a mesh; returns how many moved.
pub(crate) fn improve_on(raw: &mut RawMesh, constraint: &dyn Constraint, cell: f64) -> usize {
    let goal = GOAL_DEGREES.to_radians().sin().powi(2);
    let stars = Stars::new(raw);
    let mut state = State {
        is_stalled: (0..raw.positions.len() as u32).map(|node| constraint.is_fixed(node)).collect(),
        is_fixed: (0..raw.positions.len() as u32).map(|node| constraint.is_fixed(node)).collect(),
        has_moved: vec![false; raw.positions.len()],
        colors: vec![UNCOLORED; raw.positions.len()],
    };
    let quality = |raw: &RawMesh, cell: u32| worst_sine_squared(raw.corners(cell));
    let mut bad: Vec<u32> = raw.changed.par_iter().copied().filter(|cell| quality(raw, *cell) < goal).collect();
    for _ in 0..MAX_PASSES {
        let nodes = state.nodes_of(&bad, &raw.tets);
        if nodes.is_empty() {
            break;
        }
        let moved = state.pass(raw, &stars, &nodes, &Search { constraint, cell, goal });
        bad.extend(moved.iter().flat_map(|node| stars.of(*node)));
        bad.par_sort_unstable();
        bad.dedup();
        bad = bad.into_par_iter().filter(|cell| quality(raw, *cell) < goal).collect();
    }
    state.has_moved.iter().filter(|moved| **moved).count()
}

impl RawMesh {
    /// Corners of a cell.
    #[inline]
    pub fn corners(&self, cell: u32) -> [Vec3; 4] {
        self.tets[cell as usize].map(|node| self.positions[node as usize])
    }
}

/// The cells around each node of a changed cell.
struct Stars {
    first: Vec<u32>,
    cells: Vec<u32>,
}

impl Stars {
    fn new(raw: &RawMesh) -> Self {
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
    fn of(&self, node: u32) -> &[u32] {
        &self.cells[self.first[node as usize] as usize..self.first[node as usize + 1] as usize]
    }
}

/// What is remembered of nodes.
struct State {
    /// Found no gain, and nothing around moved since.
    is_stalled: Vec<bool>,
    is_fixed: Vec<bool>,
    has_moved: Vec<bool>,
    colors: Vec<u8>,
}

impl State {
    /// Nodes of some cells that may gain, ascending.
    fn nodes_of(&self, cells: &[u32], tets: &[[u32; 4]]) -> Vec<u32> {
        let mut nodes: Vec<u32> = cells.iter().flat_map(|cell| tets[*cell as usize]).collect();
        nodes.retain(|node| !self.is_stalled[*node as usize]);
        nodes.par_sort_unstable();
        nodes.dedup();
        nodes
    }

    /// Moves some nodes, color by color; returns those that moved, ascending.
    fn pass(&mut self, raw: &mut RawMesh, stars: &Stars, nodes: &[u32], search: &Search<'_>) -> Vec<u32> {
        let mut moved = Vec::new();
        for group in self.colored(raw, stars, nodes) {
            let found: Vec<Option<Vec3>> =
                group.par_iter().with_min_len(16).map(|node| search.better_position(raw, stars, *node)).collect();
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
                raw.tets[*cell as usize]
                    .iter()
                    .for_each(|other| self.is_stalled[*other as usize] = self.is_fixed[*other as usize]);
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
struct Search<'a> {
    constraint: &'a dyn Constraint,
    cell: f64,
    /// Squared sine that is good enough.
    goal: f64,
}

impl Search<'_> {
    /// A position with a larger worst sine around the node.
    fn better_position(&self, raw: &RawMesh, stars: &Stars, node: u32) -> Option<Vec3> {
        let star = Star::new(raw, stars.of(node), node);
        let start = raw.positions[node as usize];
        let mut best = (star.worst(start, -1.0), start);
        let tangent = raw.on_surface[node as usize].then(|| self.constraint.gradient(node, start, 0.05 * self.cell));
        let directions = directions(tangent);
        for step in STEPS {
            for _ in 0..MAX_REPEATS {
                let Some(next) = self.best_step(&star, node, best, step * self.cell, &directions, tangent) else {
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
        node: u32,
        from: (f64, Vec3),
        step: f64,
        directions: &[Vec3],
        tangent: Option<Vec3>,
    ) -> Option<(f64, Vec3)> {
        let mut best = from;
        for direction in directions {
            let mut p = from.1 + *direction * step;
            if let Some(gradient) = tangent {
                // Most steps fail before the return, which moves by the square of the step only.
                if star.worst(p, 0.8 * best.0) <= 0.8 * best.0 {
                    continue;
                }
                let Some(back) = self.returned(node, p, gradient) else { continue };
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

    /// The point on φ = 0 along the gradient.
    fn returned(&self, node: u32, mut p: Vec3, gradient: Vec3) -> Option<Vec3> {
        let slope = gradient.norm_squared();
        let mut distance = self.constraint.distance(node, p);
        for _ in 0..MAX_RETURNS {
            if distance.abs() <= ON_SURFACE.1 * self.cell {
                break;
            }
            p -= gradient * (distance / slope);
            distance = self.constraint.distance(node, p);
        }
        (distance.abs() <= ON_SURFACE.0 * self.cell).then_some(p)
    }
}

/// Eight directions in the tangent plane of a surface node, else the axes and the space diagonals.
fn directions(gradient: Option<Vec3>) -> Vec<Vec3> {
    let third = 3.0_f64.sqrt().recip();
    let Some(gradient) = gradient else {
        let axes = (0..3).flat_map(|k| [Vec3::unit(k), -Vec3::unit(k)]);
        let signs = [-third, third];
        let diagonals = signs.iter().flat_map(|x| signs.iter().map(move |y| (*x, *y)));
        return axes.chain(diagonals.flat_map(|(x, y)| signs.map(|z| Vec3::new(x, y, z)))).collect();
    };
    let normal = gradient.normalized();
    if !normal.is_finite() {
        return Vec::new();
    }
    let axis = (1..3).fold(0, |best, k| if normal[k].abs() < normal[best].abs() { k } else { best });
    let u = normal.cross(Vec3::unit(axis)).normalized();
    let v = normal.cross(u);
    (0..8).map(|k| std::f64::consts::FRAC_PI_4 * f64::from(k)).map(|a| u * a.cos() + v * a.sin()).collect()
}

/// The faces opposite to a node, worst cell first.
struct Star {
    faces: Vec<[Vec3; 3]>,
}

impl Star {
    fn new(raw: &RawMesh, cells: &[u32], node: u32) -> Self {
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
    fn worst(&self, p: Vec3, floor: f64) -> f64 {
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
