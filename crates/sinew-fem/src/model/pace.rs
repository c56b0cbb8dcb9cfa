//! Limits on the motion per step, so that penalty contact does not miss a collision.

use std::ops::Range;

use sinew_geometry::Aabb;
use sinew_geometry::shape::{AnyShape, Pose, Shape};
use sinew_math::Vec3;

use super::Model;
use crate::contact::{ContactMode, Moving, Party};
use crate::control::Control;
use crate::force::ContactForce;
use crate::state::State;

/// Maximum motion per step, in cells: a point that goes further may come out on the other side.
const LONGEST_WAY: f64 = 0.5;
/// Maximum number of parts of a step: beyond that, bodies fly apart anyway.
const MAX_PARTS: f64 = 256.0;

/// Bounds of a whole body.
struct Summary {
    bounds: Aabb,
    mean: Vec3,
}

/// Points that bound a body or rigid body; colliders have none.
fn points_of(model: &Model, party: Party) -> Range<usize> {
    match party {
        Party::Body(body) => model.bodies[body].points.clone(),
        Party::Rigid(rigid) => model.rigid_bodies[rigid].surface.clone(),
        Party::Collider(_) => 0..0,
    }
}

/// Number of equal parts into which a step of length `dt` to `control` must be cut, so that no two bodies approach by
/// more than half a cell in each part. Barriers do not need this, and nothing passes through a half-space.
pub(crate) fn parts_of_step(model: &Model, state: &State, control: &Control, dt: f64) -> usize {
    if !model.has_penalties() {
        return 1;
    }
    let summary = |party: Party| {
        let points = points_of(model, party);
        let velocities = &state.velocities[points.clone()];
        Summary {
            bounds: Aabb::from_points(&state.positions[points]),
            mean: velocities.iter().copied().sum::<Vec3>() / velocities.len().max(1) as f64,
        }
    };
    let fastest = |party: Party, mean: Vec3| {
        let speeds = state.velocities[points_of(model, party)].iter().map(|v| (*v - mean).norm());
        speeds.fold(0.0, f64::max)
    };
    let mut parts = 1.0f64;
    for (g, h, _) in model.contact.pairs().filter(|(_, _, rule)| rule.mode == ContactMode::Penalty) {
        let groups = [&model.contact.groups[g], &model.contact.groups[h]];
        let [a, b] = groups.map(|group| group.party);
        let [one, other] = [summary(a), summary(b)];
        let mean = (one.mean + other.mean) * 0.5;
        // Both sides move; the sum of their speeds counts, also for a body with itself.
        let way = (fastest(a, mean) + fastest(b, mean)) * dt;
        let longest = LONGEST_WAY * groups[0].cell.min(groups[1].cell);
        if way > longest * parts && one.bounds.grown(way).overlaps(&other.bounds) {
            parts = parts.max(max_approach(model, state, [g, h], dt) / longest);
        }
    }
    for contact in model.forces_of::<ContactForce>().filter(|contact| !is_plane(contact)) {
        let now = &state.history.collider_poses[contact.collider];
        let then = &model.colliders[contact.collider].pose(control);
        let body = summary(contact.party);
        let (center, reach) = (body.bounds.center(), 0.5 * body.bounds.diagonal());
        let way = fastest(contact.party, Vec3::zero()) * dt + moved(now, then, center, reach);
        if contact.shape.shape.distance(now.to_local(center)) <= reach + way {
            parts = parts.max(way / (LONGEST_WAY * contact.cell));
        }
    }
    parts.min(MAX_PARTS).ceil() as usize
}

/// Bound on how far any vertex of two groups gets behind the other group in a time `dt`.
fn max_approach(model: &Model, state: &State, groups: [usize; 2], dt: f64) -> f64 {
    let contact = &model.contact;
    let at = |vertex: u32| {
        let carriers = contact.carriers(vertex as usize);
        let sum = |v: &[Vec3]| carriers.iter().fold(Vec3::zero(), |sum, &(p, w)| sum + v[p as usize] * w);
        (sum(&state.positions), sum(&state.velocities))
    };
    let [mine, theirs] = groups.map(|group| contact.patches.moving(group, at));
    let to_theirs = |a: &Moving| theirs.iter().filter_map(|b| a.approach(b, dt)).fold(0.0, f64::max);
    mine.iter().map(to_theirs).fold(0.0, f64::max)
}

/// How far a collider carries anything within `reach` of `center`.
fn moved(now: &Pose, then: &Pose, center: Vec3, reach: f64) -> f64 {
    let turn = (then.rotation * now.rotation.conjugate()).log_map().norm();
    (then.to_world(now.to_local(center)) - center).norm() + turn * reach
}

/// Maximum motion of a pinned node or a collider between two commands, divided by half a cell, where penalty contact
/// must not miss a collision. `ways` is scratch.
pub(crate) fn increments_of_motion(model: &Model, from: &Control, to: &Control, ways: &mut Vec<Vec3>) -> f64 {
    let bodies = model.bodies.iter().map(|body| body.cell_size());
    let rigid = model.rigid_bodies.iter().filter(|rigid| !rigid.surface.is_empty());
    let cell = bodies.chain(rigid.map(|rigid| 0.5 * rigid.shape.thickness())).fold(f64::INFINITY, f64::min);
    ways.clear();
    ways.resize(model.kinematics.unknown_count(), Vec3::zero());
    if model.contact.has(ContactMode::Penalty) {
        model.for_each_prescribed(to, |unknown, axis, value| ways[unknown][axis] += value);
        model.for_each_prescribed(from, |unknown, axis, value| ways[unknown][axis] -= value);
    }
    let pins = ways.iter().map(|way| way.norm()).fold(0.0, f64::max);
    let reach = 0.5 * model.rest_size();
    let carried = model.forces_of::<ContactForce>().filter(|contact| !is_plane(contact)).map(|contact| {
        let center = match contact.party {
            Party::Body(body) => model.bodies[body].mesh.bounds().center(),
            _ => Aabb::from_points(model.surfaces.rest_of(contact.party)).center(),
        };
        moved(&contact.shape.pose(from), &contact.shape.pose(to), center, reach)
    });
    carried.fold(pins, f64::max) / (LONGEST_WAY * cell)
}

impl Model {
    /// Whether penalty contact limits the motion of bodies.
    pub(crate) fn has_penalties(&self) -> bool {
        self.contact.has(ContactMode::Penalty) || self.forces_of::<ContactForce>().any(|contact| !is_plane(contact))
    }
}

/// Half-spaces need no limit: nothing passes through them.
fn is_plane(contact: &ContactForce) -> bool {
    matches!(contact.shape.shape, AnyShape::Plane(_))
}
