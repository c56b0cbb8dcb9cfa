//! The flesh of each joint, and what it can depend on.

use std::collections::BTreeMap;

use sinew_math::parallel::prelude::*;
use sinew_math::{Quaternion, Vec3};

use super::driver::{Driver, Place, local_rotation, turns};
use super::fit::Observation;
use crate::affine::Affine;
use crate::flesh::Flesh;
use crate::rig::Rig;

/// Joints that turn less than this in all poses drive nothing \[rad\]: about a degree.
const STILL: f64 = 0.02;
/// Joints up to so many links away can move flesh by their turning: it is pushed along a limb.
const REACH: usize = 2;
/// Vertices belong to joints with at least this weight \[1\].
const SHARE: f64 = 0.02;
/// Of flesh that can touch, at most so many nearest places count.
const PLACES: usize = 16;
/// Places that move by less, relative to the distance at which they touch, tell nothing.
const FIXED: f64 = 0.05;
/// Share of the vertices that lie within the radius of the flesh of a joint.
const WITHIN: f64 = 0.9;
/// Most centers of each driver. Twice as many lowered the error of a hand at poses that were left out by 2 %.
const CENTERS: usize = 96;
/// Centers are this far from each other, relative to the farthest from rest.
const APART: f64 = 0.02;
/// Centers are rounded to this, so that files stay small.
const ROUNDED: f64 = 1e-4;

/// The flesh of a joint.
pub(super) struct Region {
    pub driver: Driver,
    /// Vertices with their shares.
    pub vertices: Vec<(u32, f64)>,
}

/// A ball around the vertices of a joint, at rest.
#[derive(Clone, Copy)]
struct Ball {
    center: Vec3,
    radius: f64,
}

/// The regions of all joints whose surroundings move.
pub(super) fn regions(rig: &Rig, flesh: &Flesh, weights: &[Vec<(usize, f64)>], seen: &[Observation]) -> Vec<Region> {
    let rest = rig.pose(None, 0.0);
    let mut turning: BTreeMap<usize, Quaternion> = BTreeMap::new();
    for (number, joint) in flesh.joints.iter().enumerate() {
        // Flesh does not ask how the whole body stands.
        if joint.parent.is_none() || !joint.is_of_skin {
            continue;
        }
        let own = local_rotation(rig, &rest, joint.node);
        if seen.par_iter().any(|one| turns(rig, &one.pose, joint.node, own).norm() > STILL) {
            turning.insert(number, own);
        }
    }
    let mut vertices: Vec<Vec<(u32, f64)>> = vec![Vec::new(); flesh.joints.len()];
    let number_of: BTreeMap<usize, usize> = flesh.joints.iter().enumerate().map(|(k, joint)| (joint.node, k)).collect();
    for (vertex, shares) in weights.iter().enumerate() {
        for (node, share) in shares.iter().filter(|share| share.1 >= SHARE) {
            if let Some(&joint) = number_of.get(node) {
                vertices[joint].push((vertex as u32, *share));
            }
        }
    }
    let mut neighbors: Vec<Vec<usize>> = (0..flesh.joints.len()).map(|joint| vec![joint]).collect();
    for (number, joint) in flesh.joints.iter().enumerate() {
        if let Some(parent) = joint.parent {
            neighbors[number].push(parent);
            neighbors[parent].push(number);
        }
    }
    let balls = balls(flesh);
    let mut regions = Vec::new();
    for (joint, vertices) in vertices.into_iter().enumerate().filter(|(_, vertices)| !vertices.is_empty()) {
        let mut near = vec![joint];
        for _ in 0..REACH {
            near = near.iter().flat_map(|&joint| neighbors[joint].iter().copied()).collect();
            near.sort_unstable();
            near.dedup();
        }
        let turned: Vec<usize> = near.iter().copied().filter(|joint| turning.contains_key(joint)).collect();
        let mut driver = Driver {
            flesh: flesh.joints[joint].node,
            joints: turned.iter().map(|&joint| flesh.joints[joint].node).collect(),
            rest: turned.iter().map(|joint| turning[joint]).collect(),
            places: places(flesh, joint, &near, &balls, &rest, seen),
            width: 0.0,
            centers: Vec::new(),
            weights: Vec::new(),
        };
        let inputs: Vec<Vec<f64>> = seen.par_iter().map(|one| driver.inputs(rig, &one.pose)).collect();
        (driver.centers, driver.width) = far_apart(&inputs);
        if driver.width > 0.0 {
            regions.push(Region { driver, vertices });
        }
    }
    regions
}

/// Where the vertices of each joint are.
fn balls(flesh: &Flesh) -> Vec<Option<Ball>> {
    let ball = |own: &Vec<u32>| {
        let places: Vec<Vec3> = own.iter().map(|&vertex| flesh.surface.positions()[vertex as usize]).collect();
        if places.is_empty() {
            return None;
        }
        let center = places.iter().copied().sum::<Vec3>() / places.len() as f64;
        let mut distances: Vec<f64> = places.iter().map(|place| place.distance(center)).collect();
        distances.sort_by(f64::total_cmp);
        let radius = distances[((distances.len() - 1) as f64 * WITHIN) as usize];
        (radius > 0.0).then_some(Ball { center, radius })
    };
    flesh.own_vertices().iter().map(ball).collect()
}

/// Flesh of other joints that comes so near in some pose that it can touch.
fn places(
    flesh: &Flesh,
    joint: usize,
    near: &[usize],
    balls: &[Option<Ball>],
    rest: &[Affine],
    seen: &[Observation],
) -> Vec<Place> {
    let Some(own) = balls[joint] else { return Vec::new() };
    let from_rest = &flesh.joints[joint].from_rest;
    let here = from_rest.apply(own.center);
    let unit = from_rest.linear.determinant().abs().cbrt();
    let mut found: Vec<(f64, Place)> = Vec::new();
    for (other, ball) in balls.iter().enumerate().filter(|(other, _)| near.binary_search(other).is_err()) {
        let Some(ball) = ball else { continue };
        let touching = (own.radius + ball.radius) * unit;
        let mut place = Place {
            of: flesh.joints[other].node,
            from: flesh.joints[joint].node,
            point: flesh.joints[other].from_rest.apply(ball.center),
            rest: Vec3::zero(),
            scale: 1.0 / touching,
        };
        place.rest = place.seen(rest);
        let (mut nearest, mut moved) = (f64::INFINITY, 0.0f64);
        for one in seen {
            let x = place.seen(&one.pose);
            (nearest, moved) = (nearest.min(x.distance(here)), moved.max(x.distance(place.rest)));
        }
        if nearest < touching && moved > FIXED * touching {
            found.push((nearest / touching, place));
        }
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found.into_iter().take(PLACES).map(|(_, place)| place).collect()
}

/// Poses as far as possible from rest and from each other, and the largest distance from rest.
fn far_apart(poses: &[Vec<f64>]) -> (Vec<Vec<f64>>, f64) {
    let distance = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
    let mut gaps: Vec<f64> = poses.iter().map(|pose| pose.iter().map(|z| z * z).sum::<f64>().sqrt()).collect();
    let reach = gaps.iter().copied().fold(0.0, f64::max);
    let mut centers: Vec<Vec<f64>> = Vec::new();
    while centers.len() < CENTERS {
        let farthest = (0..poses.len()).fold(0, |best, pose| if gaps[pose] > gaps[best] { pose } else { best });
        if gaps.is_empty() || gaps[farthest] <= APART * reach {
            break;
        }
        let center: Vec<f64> = poses[farthest].iter().map(|z| (z / ROUNDED).round() * ROUNDED).collect();
        for (gap, pose) in gaps.iter_mut().zip(poses) {
            *gap = gap.min(distance(pose, &center));
        }
        gaps[farthest] = 0.0;
        centers.push(center);
    }
    (centers, reach)
}
