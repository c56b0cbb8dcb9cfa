//! Nodes of the boundary moved to where the surface bends sharply.
//!
//! Nodes of the boundary lie on the surface, but a face between two sides of a sharp edge cuts it off: by 0.58 cells at
//! the rims of gyroids. The nodes of such faces step along the surface towards the edge, which brings the middles of
//! their faces and edges nearer to the surface. A step is taken only if no dihedral angle around becomes worse than a
//! floor, or than it was. Nodes that share no cell move at the same time, color by color, so the result does not depend
//! on threads.

use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;

use super::constraint::Whole;
use super::improve::{Search, Star, Stars, State, Track};
use super::separate::boundary_faces;
use super::stuff::RawMesh;
use crate::Solid;

/// Distance from the surface, in cells, above which the middle of a face or of an edge is far.
const FAR: f64 = 0.25;
/// Distance in cells that costs nothing: faces across a smooth place have it.
const FREE: f64 = 0.15;
/// Least slope of a distance that is believed: lower bounds of distances are flatter than 1.
const LEAST_SLOPE: f64 = 0.3;
/// Parts of the way to an edge that a node tries first.
const EDGE_PARTS: [f64; 3] = [1.0, 0.8, 0.5];
/// Squared sine of the angle between normals from which on there is an edge between them.
const SHARP: f64 = 0.15;
/// Steps in cells, largest first, if that was not enough.
const STEPS: [f64; 4] = [0.2, 0.1, 0.05, 0.025];
/// Steps of one size that a node may take in a round.
const MAX_REPEATS: usize = 4;
/// Rounds over the nodes of far faces.
const MAX_ROUNDS: usize = 12;
/// Angle \[°\] that nodes inside are moved to, so that those at sharp edges have room.
const RELAXED_DEGREES: f64 = 35.0;
/// |φ| in cells at the end, which is that of cuts, and Newton steps to it.
const ON_SURFACE: f64 = 1e-7;
const MAX_RETURNS: usize = 12;
/// The same for steps that are only tried.
const NEAR_SURFACE: f64 = 1e-3;
const MAX_TRIES: usize = 4;
/// A step must lower the cost by this part of it.
const GAIN: f64 = 0.05;

/// Moves nodes to sharp edges; no squared sine of an angle becomes smaller than `floor`, or than it was. Returns how
/// many moved.
pub(crate) fn sharpen(raw: &mut RawMesh, solid: &dyn Solid, cell: f64, floor: f64) -> usize {
    let faces = boundary_faces(raw);
    let shape = Shape { solid, cell };
    let mut far: Vec<[u32; 3]> = faces.par_iter().copied().filter(|face| shape.is_far(raw, face)).collect();
    if far.is_empty() {
        return 0;
    }
    let constraint = Whole(solid);
    let search = Search { constraint: &constraint, cell, goal: floor, floors: [floor; 2] };
    let stars = Stars::new(raw);
    let fans = Fans::new(faces);
    let relaxation = Search { goal: RELAXED_DEGREES.to_radians().sin().powi(2), ..search };
    let mut state = State::new(raw.positions.len());
    for _ in 0..MAX_ROUNDS {
        let nodes = nodes_of(&far, raw);
        // What found no gain is tried again when something around has moved.
        let beside = state.open(inner_neighbors(&nodes, &stars, raw));
        state.pass(raw, &stars, &beside, |raw, node| relaxation.better_position(raw, &stars, node));
        let moved = state.pass(raw, &stars, &state.open(nodes), |raw, node| {
            let fan = Fan::new(shape, fans.of(node), raw, node);
            fan.better_position(raw, &stars, &search, node)
        });
        if moved.is_empty() {
            break;
        }
        // Only faces around nodes that moved, or that were far before, have changed.
        let mut changed: Vec<[u32; 3]> = moved.iter().flat_map(|node| fans.of(*node)).copied().chain(far).collect();
        changed.par_sort_unstable();
        changed.dedup();
        far = changed.into_par_iter().filter(|face| shape.is_far(raw, face)).collect();
    }
    state.moved_count()
}

/// Whether a face cuts off a sharp edge.
pub(crate) fn has_far_faces(raw: &RawMesh, solid: &dyn Solid, cell: f64) -> bool {
    let shape = Shape { solid, cell };
    boundary_faces(raw).par_iter().any(|face| shape.is_far(raw, face))
}

/// Nodes of some faces that lie on the surface, ascending.
fn nodes_of(faces: &[[u32; 3]], raw: &RawMesh) -> Vec<u32> {
    let mut nodes: Vec<u32> = faces.iter().flatten().copied().filter(|node| raw.on_surface[*node as usize]).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

/// Nodes inside that share a cell with some nodes, ascending.
fn inner_neighbors(nodes: &[u32], stars: &Stars, raw: &RawMesh) -> Vec<u32> {
    let cells = nodes.iter().flat_map(|node| stars.of(*node));
    let mut beside: Vec<u32> = cells.flat_map(|cell| raw.tets[*cell as usize]).collect();
    beside.retain(|node| !raw.on_surface[*node as usize]);
    beside.sort_unstable();
    beside.dedup();
    beside
}

/// The solid at the size of a cell.
#[derive(Clone, Copy)]
struct Shape<'a> {
    solid: &'a dyn Solid,
    cell: f64,
}

impl Shape<'_> {
    /// Lower bound of the distance of a point from the surface in cells.
    fn bound(&self, p: Vec3) -> f64 {
        self.solid.distance(p).abs() / self.cell
    }

    fn gradient(&self, p: Vec3) -> Vec3 {
        self.solid.gradient(p, 0.05 * self.cell)
    }

    /// How much of the distance its bound is near a point.
    fn slope(&self, p: Vec3) -> f64 {
        self.gradient(p).norm().clamp(LEAST_SLOPE, 1.0)
    }

    /// Whether one of the middles of a face is far from the surface.
    fn is_far(&self, raw: &RawMesh, face: &[u32; 3]) -> bool {
        self.middles(raw, face).any(|p| {
            let bound = self.bound(p);
            bound > FAR || bound > LEAST_SLOPE * FAR && bound > FAR * self.slope(p)
        })
    }

    /// The middles of a face and of its edges.
    fn middles(&self, raw: &RawMesh, face: &[u32; 3]) -> impl Iterator<Item = Vec3> {
        let [a, b, c] = face.map(|node| raw.positions[node as usize]);
        [(a + b + c) / 3.0, (a + b) * 0.5, (b + c) * 0.5, (c + a) * 0.5].into_iter()
    }
}

/// Faces of the boundary around nodes.
struct Fans {
    /// Faces at each of their nodes, the node first.
    corners: Vec<(u32, usize)>,
    faces: Vec<[u32; 3]>,
}

impl Fans {
    /// Faces in the order of nodes, each three times.
    fn new(faces: Vec<[u32; 3]>) -> Self {
        let mut around: Vec<[u32; 4]> = Vec::with_capacity(3 * faces.len());
        for [a, b, c] in faces {
            around.extend([[a, a, b, c], [b, a, b, c], [c, a, b, c]]);
        }
        around.par_sort_unstable();
        let mut corners: Vec<(u32, usize)> = Vec::new();
        for (index, [node, ..]) in around.iter().enumerate() {
            if corners.last().is_none_or(|(last, _)| last != node) {
                corners.push((*node, index));
            }
        }
        corners.push((u32::MAX, around.len()));
        Self { corners, faces: around.into_iter().map(|[_, a, b, c]| [a, b, c]).collect() }
    }

    fn of(&self, node: u32) -> &[[u32; 3]] {
        match self.corners.binary_search_by_key(&node, |(node, _)| *node) {
            Ok(at) => &self.faces[self.corners[at].1..self.corners[at + 1].1],
            Err(_) => &[],
        }
    }
}

/// The faces around a node.
struct Fan<'a> {
    shape: Shape<'a>,
    /// The other nodes of each face, in its order.
    spokes: Vec<[Vec3; 2]>,
    /// Normals of the surface at the first of these.
    normals: Vec<Vec3>,
    /// Slopes of the distance about the middles of each face and of its first edge.
    slopes: Vec<[f64; 2]>,
}

impl<'a> Fan<'a> {
    fn new(shape: Shape<'a>, faces: &[[u32; 3]], raw: &RawMesh, node: u32) -> Self {
        let start = raw.positions[node as usize];
        let spokes = |face: &[u32; 3]| {
            let at = face.iter().position(|other| *other == node).unwrap_or(0);
            [1, 2].map(|k| raw.positions[face[(at + k) % 3] as usize])
        };
        let spokes: Vec<[Vec3; 2]> = faces.iter().map(spokes).collect();
        let gradients: Vec<Vec3> = spokes.iter().map(|[b, _]| shape.gradient(*b)).collect();
        let slope = |gradient: Vec3| gradient.norm().clamp(LEAST_SLOPE, 1.0);
        let own = slope(shape.gradient(start));
        let slopes = gradients.iter().map(|gradient| [0.5 * (own + slope(*gradient)); 2]).collect();
        let normals = gradients.into_iter().map(Vec3::normalized).collect();
        Self { shape, spokes, normals, slopes }
    }

    /// The middles of a face with the node at p and of its first edge: each edge at the node comes once.
    fn middles(p: Vec3, [b, c]: &[Vec3; 2]) -> [Vec3; 2] {
        [(p + *b + *c) / 3.0, (p + *b) * 0.5]
    }

    /// How far the faces and edges around the node are from the surface with the node at p; infinite once it is not below
    /// `enough`.
    fn cost(&self, p: Vec3, enough: f64) -> f64 {
        let mut sum = 0.0;
        for (spokes, slopes) in self.spokes.iter().zip(&self.slopes) {
            for (middle, slope) in Self::middles(p, spokes).into_iter().zip(slopes) {
                sum += (self.shape.bound(middle) / slope - FREE).max(0.0).powi(4);
            }
            if sum >= enough {
                return f64::INFINITY;
            }
        }
        sum
    }

    /// A position along the surface with nearer faces, if there is one that angles allow.
    fn better_position(&self, raw: &RawMesh, stars: &Stars, search: &Search<'_>, node: u32) -> Option<Vec3> {
        let star = Star::new(raw, stars.of(node), node);
        let start = raw.positions[node as usize];
        let least = search.goal.min(star.worst(start, -1.0));
        let trial = Trial { fan: self, star: &star, least };
        let mut best = (self.cost(start, f64::INFINITY), start);
        let mut track = search.track(node, start);
        let edges: Vec<Vec3> = self.ways_to_edges(start, track.sheets.normal()).collect();
        let ways = edges.iter().flat_map(|way| EDGE_PARTS.map(|part| *way * part));
        best = trial.best_step(best, ways, &track);
        for step in STEPS {
            if best.0 <= (FAR - FREE).powi(4) {
                break;
            }
            for _ in 0..MAX_REPEATS {
                if best.1 != start {
                    track = search.track(node, best.1);
                }
                let ways = track.sheets.directions().into_iter().map(|direction| direction * (step * self.shape.cell));
                let next = trial.best_step(best, ways, &track);
                if next.1 == best.1 {
                    break;
                }
                best = next;
            }
        }
        if best.1 == start {
            return None;
        }
        let p = self.returned(best.1, &search.track(node, best.1), ON_SURFACE, MAX_RETURNS)?;
        (star.worst(p, least) > least).then_some(p)
    }

    /// Ways along the tangent plane of the node to those of the nodes around it that face elsewhere.
    fn ways_to_edges(&self, start: Vec3, normal: Vec3) -> impl Iterator<Item = Vec3> {
        self.spokes.iter().zip(&self.normals).filter_map(move |([b, _], other)| {
            let across = *other - normal * normal.dot(*other);
            let square = across.norm_squared();
            let way = across * (other.dot(*b - start) / square);
            (square > SHARP && way.norm() < self.shape.cell).then_some(way)
        })
    }

    /// The point of the surface below p along the normal of the track.
    fn returned(&self, mut p: Vec3, track: &Track, near: f64, steps: usize) -> Option<Vec3> {
        for _ in 0..steps {
            let distance = self.shape.solid.distance(p);
            if distance.abs() <= near * self.shape.cell {
                return Some(p);
            }
            p -= track.sheets.way([distance, 0.0, 0.0]);
        }
        None
    }
}

/// Where a node may step.
struct Trial<'a> {
    fan: &'a Fan<'a>,
    star: &'a Star,
    /// The squared sine that no angle goes below.
    least: f64,
}

impl Trial<'_> {
    /// The best of some steps from a place with its cost, if any is a gain.
    fn best_step(&self, from: (f64, Vec3), ways: impl IntoIterator<Item = Vec3>, track: &Track) -> (f64, Vec3) {
        let mut best = ((1.0 - GAIN) * from.0, from.1);
        for way in ways {
            let p = from.1 + way;
            // Most steps that fail do so before the return, which moves by the square of the step only.
            if self.star.worst(p, 0.8 * self.least) <= 0.8 * self.least {
                continue;
            }
            let Some(p) = self.fan.returned(p, track, NEAR_SURFACE, MAX_TRIES) else { continue };
            if self.star.worst(p, self.least) <= self.least {
                continue;
            }
            let cost = self.fan.cost(p, best.0);
            if cost < best.0 {
                best = (cost, p);
            }
        }
        if best.1 == from.1 { from } else { best }
    }
}
