//! An independent check for surfaces that should not cross: exact predicates and winding numbers over the whole
//! deformed surfaces, with no data of the solver.

use std::collections::BTreeMap;
use std::ops::Range;

use sinew_geometry::mesh::closest_on_triangle;
use sinew_geometry::proximity::{RestSurface, SurfaceTree};
use sinew_geometry::shape::{Pose, Shape};
use sinew_geometry::{Aabb, TriMesh};
use sinew_math::Vec3;
use sinew_math::parallel::reduce_blocks;

use crate::contact::{ContactMode, ContactModel, Party};
use crate::frame::Frame;
use crate::model::Model;
use crate::probe::{Probe, ProbeContext};
use crate::state::State;

/// Maximum number of crossing pairs of triangles to count.
const MAX_CROSSINGS: usize = 100_000;
/// Triangles per parallel piece.
const PIECE: usize = 256;
/// Distance of a test point from its own surface, in mean edges, when testing whether it is inside another fold. On the
/// surface itself winding numbers jump.
const LIFT: f64 = 1e-3;
/// Triangles whose corners are within this many mean edges of a point at rest belong to its neighborhood.
const SURROUNDINGS: f64 = 3.0;

/// Crossings and penetration of all surfaces with a contact rule.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SurfaceCheck {
    /// Pairs of triangles that cross although contact guards them.
    pub crossings: usize,
    /// Pairs of triangles that cross since rest: contact leaves them alone until they part.
    pub rest_crossings: usize,
    /// Maximum depth of a surface inside another, or inside another fold of itself; what crosses since rest does not
    /// count \[m\].
    pub penetration: f64,
}

/// Numbers of pairs of triangles that cross.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Crossings {
    /// Those that contact guards.
    pub new: usize,
    /// Those that contact leaves alone, since they cross at rest.
    pub at_rest: usize,
}

impl SurfaceCheck {
    /// Checks a state.
    pub fn of(model: &Model, state: &State) -> Self {
        Self::at(model, &SurfacePlaces::of_state(model, state))
    }

    /// Checks surfaces at given positions.
    pub fn at(model: &Model, places: &SurfacePlaces) -> Self {
        let pairs = crossing_triangles(&model.surfaces, &places.vertices);
        let Crossings { new, at_rest } = places.count(model, &pairs);
        Self { crossings: new, rest_crossings: at_rest, penetration: penetration(model, places, &pairs) }
    }
}

/// Positions of all surfaces to check.
#[derive(Clone, Debug)]
pub struct SurfacePlaces {
    vertices: Vec<Vec3>,
    collider_poses: Vec<Pose>,
    /// Which tangles have not parted; empty where that is unknown, and then none has.
    tangled: Vec<bool>,
}

impl SurfacePlaces {
    /// Positions in a state.
    pub fn of_state(model: &Model, state: &State) -> Self {
        let tangled = state.history.contact_tangles.clone();
        Self { tangled, ..Self::new(model, &state.positions, state.history.collider_poses.clone()) }
    }

    /// Positions in a frame of a run, possibly a recorded one; `None` where the frame has no shapes.
    pub fn of_frame(model: &Model, frame: &Frame<'_>) -> Option<Self> {
        let poses = |is_dynamic: bool| frame.shapes.iter().filter(move |s| s.is_dynamic == is_dynamic).map(|s| s.pose);
        let collider_poses: Vec<Pose> = poses(false).collect();
        let fits = frame.bodies.len() == model.bodies.len()
            && collider_poses.len() == model.colliders.len()
            && poses(true).count() == model.rigid_bodies.len();
        if !fits {
            return None;
        }
        let mut unknowns = model.initial.clone();
        for (rigid, pose) in model.rigid_bodies.iter().zip(poses(true)) {
            let block = model.kinematics.rigid_blocks()[rigid.block as usize];
            unknowns.vectors[block.translation as usize] = pose.translation;
            unknowns.rotations[rigid.block as usize] = pose.rotation;
        }
        let mut points = vec![Vec3::zero(); model.kinematics.point_count()];
        model.kinematics.place(&unknowns, &mut points);
        for (body, shown) in model.bodies.iter().zip(&frame.bodies) {
            points
                .get_mut(body.points.clone())
                .filter(|points| points.len() == shown.positions.len())?
                .copy_from_slice(shown.positions);
        }
        Some(Self::new(model, &points, collider_poses))
    }

    fn new(model: &Model, points: &[Vec3], collider_poses: Vec<Pose>) -> Self {
        let contact = &model.surfaces;
        let mut vertices = contact.rest.clone();
        contact.place(points, &mut vertices);
        contact.place_obstacles(&collider_poses, &mut vertices);
        Self { vertices, collider_poses, tangled: Vec::new() }
    }

    /// Moves the surface of a body to other positions \[m\]; returns whether there is such a surface.
    pub fn move_body(&mut self, model: &Model, body: usize, places: &[Vec3]) -> bool {
        let group = model.surfaces.groups.iter().find(|group| group.party == Party::Body(body));
        let vertices = group.and_then(|group| self.vertices.get_mut(group.vertices.clone()));
        let Some(vertices) = vertices.filter(|vertices| vertices.len() == places.len()) else { return false };
        vertices.copy_from_slice(places);
        true
    }

    /// Positions of the vertices of all groups \[m\].
    pub(crate) fn vertices(&self) -> &[Vec3] {
        &self.vertices
    }

    /// Pose of a collider.
    pub(crate) fn collider_pose(&self, index: usize) -> Pose {
        self.collider_poses[index]
    }

    /// Moves all vertices of a group.
    pub(crate) fn translate(&mut self, model: &Model, group: usize, by: Vec3) {
        self.vertices[model.surfaces.groups[group].vertices.clone()].iter_mut().for_each(|v| *v += by);
    }

    /// Number of pairs of triangles that cross; much faster than the depth.
    pub fn crossings(&self, model: &Model, finder: &mut CrossingFinder) -> Crossings {
        self.count(model, &finder.find(&model.surfaces, &self.vertices))
    }

    fn count(&self, model: &Model, pairs: &[[u32; 2]]) -> Crossings {
        let is_left = |pair: &&[u32; 2]| self.is_left(&model.surfaces, **pair);
        let at_rest = pairs.iter().filter(is_left).count();
        Crossings { new: pairs.len() - at_rest, at_rest }
    }

    /// Whether contact leaves a pair of triangles alone.
    fn is_left(&self, contact: &ContactModel, pair: [u32; 2]) -> bool {
        let tangled = contact.tangles.of_triangles(pair.map(|t| contact.triangles[t as usize]));
        tangled.is_some_and(|pair| self.tangled.get(pair.tangle as usize).copied().unwrap_or(true))
    }
}

/// Finds triangles that cross, frame after frame: its tree is built once.
pub struct CrossingFinder(SurfaceTree);

impl CrossingFinder {
    /// Prepares the surfaces of a model.
    pub fn new(model: &Model) -> Self {
        Self::of(&model.surfaces, &model.surfaces.rest)
    }

    fn of(contact: &ContactModel, y: &[Vec3]) -> Self {
        let count = contact.groups.len();
        let groups = contact.groups.iter().enumerate();
        let groups = groups.flat_map(|(g, group)| group.triangles.clone().map(move |_| g as u32)).collect();
        let is_paired = (0..count * count).map(|k| contact.rule(k / count, k % count).is_some()).collect();
        let mut tree = SurfaceTree::new(contact.vertex_count(), contact.triangles.clone(), groups, is_paired);
        tree.rebuild(y);
        Self(tree)
    }

    /// Pairs of triangles that cross although their groups have a rule.
    fn find(&mut self, contact: &ContactModel, y: &[Vec3]) -> Vec<[u32; 2]> {
        if !y.iter().all(|x| x.is_finite()) {
            return Vec::new();
        }
        self.0.refit(y, y, &vec![0.0; contact.groups.len()]);
        self.0.crossings(y, MAX_CROSSINGS)
    }
}

fn crossing_triangles(contact: &ContactModel, y: &[Vec3]) -> Vec<[u32; 2]> {
    if contact.triangles.is_empty() {
        return Vec::new();
    }
    CrossingFinder::of(contact, y).find(contact, y)
}

/// Parts of a surface that no other triangle crosses: all of a part is inside of another surface, or nothing of it.
///
/// The winding number of a closed surface changes only where one passes through it. So a few points tell it for a part,
/// and the triangles that cross, which belong to none, are tested one by one.
struct Uncrossed {
    /// Part of each triangle; [`CROSSED`] for those that cross.
    part: Vec<u32>,
    /// Some triangles of each part.
    examples: Vec<Vec<u32>>,
}

const CROSSED: u32 = u32::MAX;
/// Number of triangles that speak for a part: on the edge of a crease one may be wrong.
const EXAMPLES: usize = 3;

impl Uncrossed {
    /// The parts of the triangles of a group; `pairs` are all that cross.
    fn new(triangles: &[[u32; 3]], is_crossed: impl Fn(usize) -> bool) -> Self {
        let vertices = triangles.iter().flatten().map(|v| *v as usize + 1).max().unwrap_or(0);
        let mut root: Vec<u32> = (0..vertices as u32).collect();
        fn find(root: &mut [u32], mut v: u32) -> u32 {
            while root[v as usize] != v {
                root[v as usize] = root[root[v as usize] as usize];
                v = root[v as usize];
            }
            v
        }
        for (_, [a, b, c]) in triangles.iter().enumerate().filter(|(t, _)| !is_crossed(*t)) {
            let first = find(&mut root, *a);
            for other in [*b, *c] {
                let other = find(&mut root, other);
                root[other as usize] = first;
            }
        }
        let mut number = vec![CROSSED; vertices];
        let mut members: Vec<Vec<u32>> = Vec::new();
        let mut part = vec![CROSSED; triangles.len()];
        for (t, triangle) in triangles.iter().enumerate().filter(|(t, _)| !is_crossed(*t)) {
            let known = &mut number[find(&mut root, triangle[0]) as usize];
            if *known == CROSSED {
                *known = members.len() as u32;
                members.push(Vec::new());
            }
            part[t] = *known;
            members[*known as usize].push(t as u32);
        }
        let spread = |all: Vec<u32>| (0..EXAMPLES).map(|k| all[(all.len() - 1) * k / (EXAMPLES - 1)]).collect();
        Self { part, examples: members.into_iter().map(spread).collect() }
    }

    /// The triangles that may be inside, where `is_inside` tells it of one.
    fn suspects(&self, is_inside: impl Fn(u32) -> bool) -> Vec<u32> {
        let may_be: Vec<bool> = self.examples.iter().map(|some| some.iter().any(|&t| is_inside(t))).collect();
        let is_suspect = |part: u32| part == CROSSED || may_be[part as usize];
        (0..self.part.len() as u32).filter(|&t| is_suspect(self.part[t as usize])).collect()
    }
}

/// How two groups overlap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Overlap {
    /// Contact mode of the pair.
    pub mode: ContactMode,
    /// Pairs of triangles that cross.
    pub crossings: usize,
    /// Maximum depth found \[m\].
    pub depth: f64,
    /// Position of the deepest point, or of a crossing \[m\].
    pub place: [f64; 3],
}

/// Overlapping groups, the smaller first; twice the same for a body that overlaps itself.
///
/// Triangles that cross are searched for only where bodies may touch each other: what is in a collider has points in it.
pub(crate) fn overlaps_at(model: &Model, places: &SurfacePlaces) -> BTreeMap<[usize; 2], Overlap> {
    let contact = &model.surfaces;
    let y = &places.vertices;
    let mut overlaps: BTreeMap<[usize; 2], Overlap> = BTreeMap::new();
    let mut entry = |g: usize, h: usize, place: Vec3, crossings: usize, depth: f64| {
        let Some(rule) = contact.rule(g, h) else { return };
        let overlap = overlaps.entry([g.min(h), g.max(h)]).or_insert_with(|| Overlap {
            mode: rule.mode,
            crossings: 0,
            depth: 0.0,
            place: place.to_array(),
        });
        overlap.crossings += crossings;
        if depth > overlap.depth {
            (overlap.depth, overlap.place) = (depth, place.to_array());
        }
    };
    let crossing = if model.contact.is_empty() { Vec::new() } else { crossing_triangles(contact, y) };
    for &[a, b] in crossing.iter().filter(|pair| !places.is_left(contact, **pair)) {
        let place = y[contact.triangles[a as usize][0] as usize];
        entry(contact.triangle_group(a), contact.triangle_group(b), place, 1, 0.0);
    }
    let crossing = (!model.contact.is_empty()).then_some(crossing.as_slice());
    for_each_inside(model, places, crossing, |g, h, place, depth| entry(g, h, place, 0, depth));
    overlaps
}

fn penetration(model: &Model, places: &SurfacePlaces, crossing: &[[u32; 2]]) -> f64 {
    let mut deepest = 0.0f64;
    for_each_inside(model, places, Some(crossing), |_, _, _, depth| deepest = deepest.max(depth));
    deepest
}

/// Calls `visit(g, h, place, depth)` for samples of the surface of group g inside group h, in the order of the
/// triangles. `crossing` are all pairs of triangles that cross, where they are known.
fn for_each_inside(
    model: &Model,
    places: &SurfacePlaces,
    crossing: Option<&[[u32; 2]]>,
    mut visit: impl FnMut(usize, usize, Vec3, f64),
) {
    let (contact, y) = (&model.surfaces, &places.vertices);
    // A list that was cut off says nothing about what it lacks.
    let crossing = crossing.filter(|pairs| pairs.len() < MAX_CROSSINGS).map(|pairs| {
        let mut is_crossed = vec![false; contact.triangles.len()];
        pairs.iter().flatten().for_each(|&triangle| is_crossed[triangle as usize] = true);
        is_crossed
    });
    let boxes: Vec<Aabb> = contact.groups.iter().map(|group| Aabb::from_points(&y[group.vertices.clone()])).collect();
    for (h, target) in contact.groups.iter().enumerate() {
        let is_plane = target.triangles.is_empty();
        let may_enter = |&g: &usize| {
            let is_near = is_plane || boxes[g].overlaps(&boxes[h]);
            contact.rule(g, h).is_some() && is_near && !contact.groups[g].triangles.is_empty()
        };
        let entering: Vec<usize> = (0..contact.groups.len()).filter(may_enter).collect();
        if entering.is_empty() {
            continue;
        }
        let first = target.vertices.start as u32;
        let triangles: Vec<[u32; 3]> =
            contact.triangles[target.triangles.clone()].iter().map(|t| t.map(|v| v - first)).collect();
        let surface = TriMesh::new(y[target.vertices.clone()].to_vec(), triangles);
        let surface = surface.ok().filter(|surface| surface.triangle_count() > 0);
        let winding = surface.as_ref().map(|surface| surface.winding_numbers());
        // Through a hole one gets inside without crossing.
        let is_closed = crossing.is_some() && surface.as_ref().is_some_and(|surface| surface.topology().is_closed());
        let nearest = surface.map(|s| RestSurface::new(s.positions().to_vec(), s.triangles().to_vec()));
        let bounds = match winding {
            Some(_) => boxes[h],
            None => Aabb { min: Vec3::splat(f64::NEG_INFINITY), max: Vec3::splat(f64::INFINITY) },
        };
        let plane = contact.planes.iter().position(|plane| plane.group == h);
        for g in entering {
            let group = &contact.groups[g];
            // A point lifted off an edge of its own surface may end up on the other side of a crease.
            let samples = if g == h { &INNER_SAMPLES[..] } else { &SAMPLES[..] };
            let depth_of = &|triangle: &[u32; 3], weights: &[f64; 3]| {
                let is_left_to = |plane| triangle.iter().any(|&v| contact.tangles.of_plane(v, plane).is_some());
                if contact.tangles.holds(*triangle, &places.tangled) || plane.is_some_and(|k| is_left_to(k as u32)) {
                    return None;
                }
                let at = |places: &[Vec3]| {
                    (0..3).fold(Vec3::zero(), |sum, k| sum + places[triangle[k] as usize] * weights[k])
                };
                let place = at(y);
                if !bounds.contains(place) {
                    return None;
                }
                let depth = match (&winding, target.party) {
                    (None, Party::Collider(index)) => {
                        let collider = &model.colliders[index];
                        -collider.shape.distance(places.collider_poses[index].to_local(place))
                    }
                    (Some(winding), _) => {
                        let [a, b, c] = triangle.map(|v| y[v as usize]);
                        let normal = (b - a).cross(c - a).normalized();
                        let lifted = if g == h { place + normal * (LIFT * group.edge) } else { place };
                        if winding.at(lifted) < 0.5 {
                            return None;
                        }
                        match &nearest {
                            Some(nearest) if g != h => nearest.nearest(place).map_or(0.0, |(_, _, distance)| distance),
                            _ => distance(contact, h, y, place, at(&contact.rest)),
                        }
                    }
                    _ => return None,
                };
                (depth > 0.0).then_some((place, depth))
            };
            let own = &contact.triangles[group.triangles.clone()];
            let suspects = match (&crossing, &winding) {
                (Some(is_crossed), Some(winding)) if is_closed => {
                    let is_inside = |t: u32| {
                        let [a, b, c] = own[t as usize].map(|v| y[v as usize]);
                        let normal = (b - a).cross(c - a).normalized();
                        let lift = if g == h { LIFT * group.edge } else { 0.0 };
                        let place = (a + b + c) * (1.0 / 3.0) + normal * lift;
                        bounds.contains(place) && winding.at(place) >= 0.5
                    };
                    Uncrossed::new(own, |t| is_crossed[group.triangles.start + t]).suspects(is_inside)
                }
                _ => (0..own.len() as u32).collect(),
            };
            let piece = |range: Range<usize>| -> Vec<(Vec3, f64)> {
                let of_triangle = |t: &u32| {
                    samples.iter().filter_map(|weights| depth_of(&own[*t as usize], weights)).collect::<Vec<_>>()
                };
                suspects[range].iter().flat_map(of_triangle).collect()
            };
            let join = |mut first: Vec<(Vec3, f64)>, second: Vec<(Vec3, f64)>| {
                first.extend(second);
                first
            };
            let inside = reduce_blocks(suspects.len(), PIECE, piece, join).unwrap_or_default();
            inside.into_iter().for_each(|(place, depth)| visit(g, h, place, depth));
        }
    }
}

/// Corners, middles of edges and center of a triangle.
pub(crate) const SAMPLES: [[f64; 3]; 7] = [
    [1.0, 0.0, 0.0],
    [0.0, 1.0, 0.0],
    [0.0, 0.0, 1.0],
    [0.5, 0.5, 0.0],
    [0.0, 0.5, 0.5],
    [0.5, 0.0, 0.5],
    [1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0],
];

/// Points well inside a triangle.
const INNER_SAMPLES: [[f64; 3]; 4] =
    [[1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0], [0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]];

/// Distance from `place` to the surface of its own group by brute force; the neighborhood of `rest` does not count.
fn distance(contact: &ContactModel, group: usize, y: &[Vec3], place: Vec3, rest: Vec3) -> f64 {
    let Some(group) = contact.groups.get(group) else { return 0.0 };
    let mut nearest = f64::INFINITY;
    for triangle in &contact.triangles[group.triangles.clone()] {
        if triangle.iter().any(|&v| (contact.rest[v as usize] - rest).norm() < SURROUNDINGS * group.edge) {
            continue;
        }
        let corners = triangle.map(|v| y[v as usize]);
        let weights = closest_on_triangle(place, corners);
        let closest = (0..3).fold(Vec3::zero(), |sum, k| sum + corners[k] * weights[k]);
        nearest = nearest.min((closest - place).norm());
    }
    if nearest.is_finite() { nearest } else { 0.0 }
}

/// Probe of `check.crossings`, `check.rest_crossings` and `check.penetration` in every frame.
pub struct CheckProbe;

impl Probe for CheckProbe {
    fn names(&self, _model: &Model) -> Vec<String> {
        ["check.crossings", "check.rest_crossings", "check.penetration"].map(String::from).to_vec()
    }

    fn evaluate(&self, ctx: &ProbeContext<'_>, out: &mut Vec<f64>) {
        let check = SurfaceCheck::of(ctx.model, ctx.state);
        out.extend([check.crossings as f64, check.rest_crossings as f64, check.penetration]);
    }
}
