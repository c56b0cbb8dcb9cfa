//! An independent look at surfaces that should not cross: exact predicates and winding numbers over the whole deformed surfaces, none of what the
//! solver itself looks at.

use std::collections::BTreeMap;

use sinew_geometry::mesh::closest_on_triangle;
use sinew_geometry::proximity::RestSurface;
use sinew_geometry::shape::Shape;
use sinew_geometry::{Aabb, TriMesh};
use sinew_math::Vec3;

use super::rule::{ContactMode, Party};
use super::surface::ContactModel;
use crate::model::Model;
use crate::probe::{Probe, ProbeContext};
use crate::state::State;

/// Pairs of triangles that are counted before the count ends.
const MOST_CROSSINGS: usize = 100_000;
/// How far off its surface a point is looked at to see whether it is inside of another fold, in mean edges: on the surface itself winding numbers jump.
const LIFT: f64 = 1e-3;
/// Triangles whose corners lie within so many mean edges of a point at rest are its own surroundings.
const SURROUNDINGS: f64 = 3.0;

/// Crossings and penetration of all surfaces that have a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SurfaceCheck {
    /// Pairs of triangles that cross.
    pub crossings: usize,
    /// Deepest point of a surface inside of another, or of another fold of itself [m].
    pub penetration: f64,
}

impl SurfaceCheck {
    /// Looks at a state.
    pub fn of(model: &Model, state: &State) -> Self {
        let contact = &model.surfaces;
        let mut y = contact.rest.clone();
        contact.place(&state.positions, &mut y);
        contact.place_obstacles(&state.history.collider_poses, &mut y);
        Self { crossings: crossings(contact, &y), penetration: penetration(model, contact, state, &y) }
    }
}

fn crossings(contact: &ContactModel, y: &[Vec3]) -> usize {
    crossing_triangles(contact, y).len()
}

/// Pairs of triangles that cross although their groups have a rule.
fn crossing_triangles(contact: &ContactModel, y: &[Vec3]) -> Vec<[u32; 2]> {
    let Ok(all) = TriMesh::new(y.to_vec(), contact.triangles.clone()) else { return Vec::new() };
    let mut pairs = all.self_intersections(MOST_CROSSINGS);
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
    /// The deepest point found [m], and where it is.
    pub depth: f64,
    /// Place of the deepest point, or of a crossing [m].
    pub place: [f64; 3],
}

/// Who overlaps in a state. Barriers also need a distance, which touching surfaces do not have.
pub fn find_overlaps(model: &Model, state: &State) -> Vec<StartOverlap> {
    let contact = &model.surfaces;
    let mut y = contact.rest.clone();
    contact.place(&state.positions, &mut y);
    contact.place_obstacles(&state.history.collider_poses, &mut y);
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
    for [a, b] in crossing_triangles(contact, &y) {
        let place = y[contact.triangles[a as usize][0] as usize];
        entry(contact.triangle_group(a), contact.triangle_group(b), place, 1, 0.0);
    }
    for_each_inside(model, contact, state, &y, |g, h, place, depth| entry(g, h, place, 0, depth));
    overlaps.into_values().collect()
}

fn penetration(model: &Model, contact: &ContactModel, state: &State, y: &[Vec3]) -> f64 {
    let mut deepest = 0.0f64;
    for_each_inside(model, contact, state, y, |_, _, _, depth| deepest = deepest.max(depth));
    deepest
}

/// Calls `visit(g, h, place, depth)` for samples of the surface of group g that are inside of group h.
fn for_each_inside(
    model: &Model,
    contact: &ContactModel,
    state: &State,
    y: &[Vec3],
    mut visit: impl FnMut(usize, usize, Vec3, f64),
) {
    for (h, target) in contact.groups.iter().enumerate() {
        let first = target.vertices.start as u32;
        let triangles: Vec<[u32; 3]> =
            contact.triangles[target.triangles.clone()].iter().map(|t| t.map(|v| v - first)).collect();
        let surface = TriMesh::new(y[target.vertices.clone()].to_vec(), triangles);
        let surface = surface.ok().filter(|surface| surface.triangle_count() > 0);
        let winding = surface.as_ref().map(|surface| surface.winding_numbers());
        let nearest = surface.map(|s| RestSurface::new(s.positions().to_vec(), s.triangles().to_vec()));
        let bounds = match winding {
            Some(_) => Aabb::from_points(&y[target.vertices.clone()]),
            None => Aabb { min: Vec3::splat(f64::NEG_INFINITY), max: Vec3::splat(f64::INFINITY) },
        };
        for (g, group) in contact.groups.iter().enumerate().filter(|&(g, _)| contact.rule(g, h).is_some()) {
            if !Aabb::from_points(&y[group.vertices.clone()]).overlaps(&bounds) {
                continue;
            }
            for triangle in &contact.triangles[group.triangles.clone()] {
                let [a, b, c] = triangle.map(|v| y[v as usize]);
                let normal = (b - a).cross(c - a).normalized();
                // Lifted off an edge of its own surface a point may get into the other side of a crease.
                let samples = if g == h { &INNER_SAMPLES[..] } else { &SAMPLES[..] };
                for weights in samples {
                    let at = |places: &[Vec3]| {
                        (0..3).fold(Vec3::zero(), |sum, k| sum + places[triangle[k] as usize] * weights[k])
                    };
                    let place = at(y);
                    if !bounds.contains(place) {
                        continue;
                    }
                    let depth = match (&winding, target.party) {
                        (None, Party::Collider(index)) => {
                            let collider = &model.colliders[index];
                            let pose = &state.history.collider_poses[index];
                            -collider.shape.distance(pose.to_local(place))
                        }
                        (Some(winding), _) => {
                            let lifted = if g == h { place + normal * (LIFT * group.edge) } else { place };
                            if winding.at(lifted) < 0.5 {
                                continue;
                            }
                            match &nearest {
                                Some(nearest) if g != h => {
                                    nearest.nearest(place).map_or(0.0, |(_, _, distance)| distance)
                                }
                                _ => distance(contact, h, y, place, at(&contact.rest)),
                            }
                        }
                        _ => continue,
                    };
                    if depth > 0.0 {
                        visit(g, h, place, depth);
                    }
                }
            }
        }
    }
}

/// Corners, middles of edges and centre of a triangle.
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
