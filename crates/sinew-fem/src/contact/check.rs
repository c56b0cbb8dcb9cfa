//! An independent look at surfaces that should not cross: exact predicates and winding numbers over the whole deformed surfaces, none of what the
//! solver itself looks at.

use std::collections::BTreeMap;
use std::ops::Range;

use sinew_geometry::mesh::closest_on_triangle;
use sinew_geometry::proximity::RestSurface;
use sinew_geometry::shape::{Pose, Shape};
use sinew_geometry::{Aabb, TriMesh};
use sinew_math::Vec3;
use sinew_math::parallel::reduce_blocks;

use super::rule::{ContactMode, Party};
use super::surface::ContactModel;
use crate::frame::Frame;
use crate::model::Model;
use crate::probe::{Probe, ProbeContext};
use crate::state::State;

/// Pairs of triangles that are counted before the count ends.
const MAX_CROSSINGS: usize = 100_000;
/// Triangles per parallel piece.
const PIECE: usize = 256;
/// How far off its surface a point is looked at to see whether it is inside of another fold, in mean edges: on the surface itself winding numbers jump.
const LIFT: f64 = 1e-3;
/// Triangles whose corners lie within so many mean edges of a point at rest are its own surroundings.
const SURROUNDINGS: f64 = 3.0;

/// Crossings and penetration of all surfaces that have a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SurfaceCheck {
    /// Pairs of triangles that cross.
    pub crossings: usize,
    /// Deepest point of a surface inside of another, or of another fold of itself \[m\].
    pub penetration: f64,
}

impl SurfaceCheck {
    /// Looks at a state.
    pub fn of(model: &Model, state: &State) -> Self {
        Self::at(model, &SurfacePlaces::of_state(model, state))
    }

    /// Looks at surfaces that are anywhere.
    pub fn at(model: &Model, places: &SurfacePlaces) -> Self {
        Self { crossings: places.crossings(model), penetration: penetration(model, places) }
    }
}

/// Where everything is that can be checked.
#[derive(Clone, Debug)]
pub struct SurfacePlaces {
    vertices: Vec<Vec3>,
    collider_poses: Vec<Pose>,
}

impl SurfacePlaces {
    /// In a state.
    pub fn of_state(model: &Model, state: &State) -> Self {
        Self::new(model, &state.positions, state.history.collider_poses.clone())
    }

    /// In a frame of a run, which may be one that was recorded; `None` where the frame has no shapes.
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
        Self { vertices, collider_poses }
    }

    /// Moves the surface of a body to other places \[m\]; whether there is such a surface.
    pub fn move_body(&mut self, model: &Model, body: usize, places: &[Vec3]) -> bool {
        let group = model.surfaces.groups.iter().find(|group| group.party == Party::Body(body));
        let vertices = group.and_then(|group| self.vertices.get_mut(group.vertices.clone()));
        let Some(vertices) = vertices.filter(|vertices| vertices.len() == places.len()) else { return false };
        vertices.copy_from_slice(places);
        true
    }

    /// Pairs of triangles that cross: much sooner known than how deep.
    pub fn crossings(&self, model: &Model) -> usize {
        crossing_triangles(&model.surfaces, &self.vertices).len()
    }
}

/// Pairs of triangles that cross although their groups have a rule.
fn crossing_triangles(contact: &ContactModel, y: &[Vec3]) -> Vec<[u32; 2]> {
    let Ok(all) = TriMesh::new(y.to_vec(), contact.triangles.clone()) else { return Vec::new() };
    let mut pairs = all.self_intersections(MAX_CROSSINGS);
    pairs.retain(|[a, b]| contact.rule(contact.triangle_group(*a), contact.triangle_group(*b)).is_some());
    pairs
}

/// Two who start inside each other.
#[derive(Clone, Debug, PartialEq)]
pub struct StartOverlap {
    /// Their names; twice the same for a body that overlaps itself.
    pub names: [String; 2],
    /// How they are kept apart.
    pub mode: ContactMode,
    /// Pairs of triangles that cross.
    pub crossings: usize,
    /// The deepest point found \[m\], and where it is.
    pub depth: f64,
    /// Place of the deepest point, or of a crossing \[m\].
    pub place: [f64; 3],
}

/// Who overlaps in a state. Barriers also need a distance, which touching surfaces do not have.
pub fn find_overlaps(model: &Model, state: &State) -> Vec<StartOverlap> {
    let contact = &model.surfaces;
    let places = SurfacePlaces::of_state(model, state);
    let y = &places.vertices;
    let mut overlaps: BTreeMap<[usize; 2], StartOverlap> = BTreeMap::new();
    let mut entry = |g: usize, h: usize, place: Vec3, crossings: usize, depth: f64| {
        let Some(rule) = contact.rule(g, h) else { return };
        let overlap = overlaps.entry([g.min(h), g.max(h)]).or_insert_with(|| StartOverlap {
            names: [g.min(h), g.max(h)].map(|group| contact.groups[group].name.clone()),
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
    for [a, b] in crossing_triangles(contact, y) {
        let place = y[contact.triangles[a as usize][0] as usize];
        entry(contact.triangle_group(a), contact.triangle_group(b), place, 1, 0.0);
    }
    for_each_inside(model, &places, |g, h, place, depth| entry(g, h, place, 0, depth));
    overlaps.into_values().collect()
}

fn penetration(model: &Model, places: &SurfacePlaces) -> f64 {
    let mut deepest = 0.0f64;
    for_each_inside(model, places, |_, _, _, depth| deepest = deepest.max(depth));
    deepest
}

/// Calls `visit(g, h, place, depth)` for samples of the surface of group g that are inside of group h, in the order of the triangles.
fn for_each_inside(model: &Model, places: &SurfacePlaces, mut visit: impl FnMut(usize, usize, Vec3, f64)) {
    let (contact, y) = (&model.surfaces, &places.vertices);
    let boxes: Vec<Aabb> = contact.groups.iter().map(|group| Aabb::from_points(&y[group.vertices.clone()])).collect();
    for (h, target) in contact.groups.iter().enumerate() {
        let first = target.vertices.start as u32;
        let triangles: Vec<[u32; 3]> =
            contact.triangles[target.triangles.clone()].iter().map(|t| t.map(|v| v - first)).collect();
        let surface = TriMesh::new(y[target.vertices.clone()].to_vec(), triangles);
        let surface = surface.ok().filter(|surface| surface.triangle_count() > 0);
        let winding = surface.as_ref().map(|surface| surface.winding_numbers());
        let nearest = surface.map(|s| RestSurface::new(s.positions().to_vec(), s.triangles().to_vec()));
        let bounds = match winding {
            Some(_) => boxes[h],
            None => Aabb { min: Vec3::splat(f64::NEG_INFINITY), max: Vec3::splat(f64::INFINITY) },
        };
        for (g, group) in contact.groups.iter().enumerate().filter(|&(g, _)| contact.rule(g, h).is_some()) {
            if !boxes[g].overlaps(&bounds) {
                continue;
            }
            // Lifted off an edge of its own surface a point may get into the other side of a crease.
            let samples = if g == h { &INNER_SAMPLES[..] } else { &SAMPLES[..] };
            let depth_of = &|triangle: &[u32; 3], weights: &[f64; 3]| {
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
            let piece = |range: Range<usize>| -> Vec<(Vec3, f64)> {
                let of_triangle = |triangle| samples.iter().filter_map(move |weights| depth_of(triangle, weights));
                own[range].iter().flat_map(of_triangle).collect()
            };
            let join = |mut first: Vec<(Vec3, f64)>, second: Vec<(Vec3, f64)>| {
                first.extend(second);
                first
            };
            let inside = reduce_blocks(own.len(), PIECE, piece, join).unwrap_or_default();
            inside.into_iter().for_each(|(place, depth)| visit(g, h, place, depth));
        }
    }
}

/// Corners, middles of edges and center of a triangle.
const SAMPLES: [[f64; 3]; 7] = [
    [1.0, 0.0, 0.0],
    [0.0, 1.0, 0.0],
    [0.0, 0.0, 1.0],
    [0.5, 0.5, 0.0],
    [0.0, 0.5, 0.5],
    [0.5, 0.0, 0.5],
    [1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0],
];

/// Points well inside of a triangle.
const INNER_SAMPLES: [[f64; 3]; 4] =
    [[1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0], [0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]];

/// Distance from `place` to the surface of its own group, one triangle after the other: its surroundings at `rest` do not count.
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

/// `check.crossings` and `check.penetration` of every frame.
pub struct CheckProbe;

impl Probe for CheckProbe {
    fn names(&self, _model: &Model) -> Vec<String> {
        ["check.crossings", "check.penetration"].map(String::from).to_vec()
    }

    fn evaluate(&self, ctx: &ProbeContext<'_>, out: &mut Vec<f64>) {
        let check = SurfaceCheck::of(ctx.model, ctx.state);
        out.extend([check.crossings as f64, check.penetration]);
    }
}
