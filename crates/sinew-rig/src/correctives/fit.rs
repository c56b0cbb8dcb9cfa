//! Correctives from poses.
//!
//! 1. Every joint that turns gets a [`Driver`], and so does every such joint with its parent. Centers are poses far from
//!    each other and from rest.
//! 2. Offsets of each vertex are regressed on the functions of the drivers near it (ridge regression): first on those of
//!    single joints, then what is left on those of pairs. Without the limit to near ones, a finger would learn from
//!    another that happened to move with it; without the order, pairs would take the part of their joints.
//! 3. The part of one driver over all poses is a matrix of low rank. Its principal components have weights that are
//!    combinations of the functions; where one is positive and where it is negative become a target each. The largest of
//!    all drivers are kept.
//! 4. The targets are fitted once more to all offsets, now that the weights are known.

use std::collections::BTreeMap;

use rayon::prelude::*;
use sinew_math::eigen::symmetric_eigen;
use sinew_math::{Quaternion, Vec3};

use super::dense::Factor;
use super::driver::{Driver, Weight, local_rotation, turns};
use crate::affine::Affine;
use crate::flesh::Flesh;
use crate::rig::Rig;

/// Joints that turn less than this in all poses drive nothing \[rad\]: about a degree.
const STILL: f64 = 0.02;
/// Centers of each driver. More did not lower the error at poses that were left out.
const CENTERS: usize = 16;
/// Ridge of the regression, relative to the mean square of each function.
const RIDGE: f64 = 1e-4;
/// Ridge of the last fit, relative to the mean square of each weight.
const LAST_RIDGE: f64 = 1e-4;
/// Largest weight in the poses that are fitted: others may go farther before they reach 1, where sliders end.
const PEAK: f64 = 0.8;
/// A side of a component with less than this share of the other is left out.
const SLIGHT: f64 = 0.03;
/// A vertex belongs to joints with at least this weight \[1\].
const SHARE: f64 = 0.02;
/// Joints up to so many links away from those of a vertex can move it: flesh is pushed along a limb.
const REACH: usize = 2;
/// Vertices per task.
const BLOCK: usize = 64;

/// What was seen in one pose.
pub struct Observation {
    /// Transforms of all nodes.
    pub pose: Vec<Affine>,
    /// What each vertex lacks, at rest.
    pub offsets: Vec<[f32; 3]>,
}

/// Targets and what drives them.
#[derive(Clone, Debug, Default)]
pub struct Correctives {
    /// The drivers; each target has one.
    pub drivers: Vec<Driver>,
    /// Displacements of all vertices for a weight of one.
    pub targets: Vec<Vec<[f32; 3]>>,
}

impl Correctives {
    /// The weights of all targets in a pose of all nodes.
    pub fn weights(&self, rig: &Rig, pose: &[Affine]) -> Vec<f64> {
        let mut weights = vec![0.0; self.targets.len()];
        for driver in &self.drivers {
            driver.set_weights(&driver.turns(rig, pose), &mut weights);
        }
        weights
    }

    /// Displacement of a vertex.
    pub fn offset(&self, vertex: usize, weights: &[f64]) -> Vec3 {
        let pairs = self.targets.iter().zip(weights);
        pairs.map(|(target, weight)| Vec3::from(target[vertex].map(f64::from)) * *weight).sum()
    }
}

/// Vertices that the same drivers can move.
struct Group {
    drivers: Vec<usize>,
    vertices: Vec<u32>,
}

/// Fits at most `count` targets. `weights` are the joints of each vertex, as nodes, with their shares.
pub fn fit(rig: &Rig, flesh: &Flesh, weights: &[Vec<(usize, f64)>], seen: &[Observation], count: usize) -> Correctives {
    let mut drivers = drivers(rig, flesh, seen);
    let groups = groups(flesh, weights, &drivers);
    // Functions of each driver in each pose.
    let tables: Vec<Vec<Vec<f64>>> = drivers
        .iter()
        .map(|driver| seen.par_iter().map(|one| driver.functions(&driver.turns(rig, &one.pose))).collect())
        .collect();
    let singles = drivers.iter().filter(|driver| driver.joints.len() == 1).count();
    let shares = regress(&groups, &tables, singles, seen);
    let mut modes: Vec<(f64, usize, Vec<f64>)> = Vec::new();
    for (number, (driver, share)) in drivers.iter().zip(&shares).enumerate() {
        modes.extend(components(&tables[number], share, driver.count()).map(|(size, factors)| (size, number, factors)));
    }
    // Equal sizes keep the order of the drivers, so the result does not depend on chance.
    modes.sort_by(|a, b| b.0.total_cmp(&a.0));
    modes.retain(|mode| mode.0 > 0.0);
    let parts = parts(&modes, &tables, count);
    let owners: Vec<usize> = parts.iter().map(|part| part.driver).collect();
    let curves: Vec<Vec<f64>> = parts
        .iter()
        .map(|part| tables[part.driver].iter().map(|row| dot(row, &part.coefficients).max(0.0)).collect())
        .collect();
    let targets = targets(&groups, &owners, &curves, seen, weights.len());
    for (target, Part { driver, coefficients }) in parts.into_iter().enumerate() {
        drivers[driver].weights.push(Weight { target, coefficients });
    }
    drivers.retain(|driver| !driver.weights.is_empty());
    Correctives { drivers, targets }
}

/// What becomes a target: a component where its weight is positive.
struct Part {
    driver: usize,
    coefficients: Vec<f64>,
}

/// Both sides of each component, as far as it reaches there, until there are enough. Sliders of other programs begin at
/// zero, so a weight that goes both ways becomes two, whose shapes need not be opposites.
fn parts(modes: &[(f64, usize, Vec<f64>)], tables: &[Vec<Vec<f64>>], count: usize) -> Vec<Part> {
    let mut parts = Vec::new();
    for (_, driver, factors) in modes {
        let (low, high) = tables[*driver]
            .iter()
            .map(|row| dot(row, factors))
            .fold((0.0f64, 0.0f64), |(low, high), w| (low.min(w), high.max(w)));
        let mut sides = [(1.0, high), (-1.0, -low)];
        sides.sort_by(|a, b| b.1.total_cmp(&a.1));
        let reach = sides[0].1;
        for (sign, peak) in sides.into_iter().filter(|side| side.1 > SLIGHT * reach) {
            if parts.len() < count {
                let scale = sign * PEAK / peak;
                parts.push(Part { driver: *driver, coefficients: factors.iter().map(|a| a * scale).collect() });
            }
        }
    }
    parts
}

/// Joints that turn, and pairs of them.
fn drivers(rig: &Rig, flesh: &Flesh, seen: &[Observation]) -> Vec<Driver> {
    let rest = rig.pose(None, 0.0);
    let mut moving: BTreeMap<usize, (Quaternion, Vec<Vec3>)> = BTreeMap::new();
    for (number, joint) in flesh.joints.iter().enumerate() {
        // Flesh does not ask how the whole body stands.
        if joint.parent.is_none() || !joint.is_of_skin {
            continue;
        }
        let own = local_rotation(rig, &rest, joint.node);
        let path: Vec<Vec3> = seen.par_iter().map(|one| turns(rig, &one.pose, joint.node, own)).collect();
        if path.iter().any(|turn| turn.norm() > STILL) {
            moving.insert(number, (own, path));
        }
    }
    let driver = |numbers: &[usize]| {
        let poses: Vec<Vec<f64>> = (0..seen.len())
            .map(|pose| numbers.iter().flat_map(|number| moving[number].1[pose].to_array()).collect())
            .collect();
        let (centers, width) = far_apart(&poses);
        let joints = numbers.iter().map(|&number| flesh.joints[number].node).collect();
        let rest = numbers.iter().map(|number| moving[number].0).collect();
        Driver { joints, rest, width, centers, weights: Vec::new() }
    };
    let mut drivers: Vec<Driver> = moving.keys().map(|&number| driver(&[number])).collect();
    let pair = |&number: &usize| flesh.joints[number].parent.filter(|parent| moving.contains_key(parent));
    drivers.extend(moving.keys().filter_map(|number| pair(number).map(|parent| driver(&[parent, *number]))));
    drivers
}

/// Poses as far as possible from rest and from each other, and the largest distance from rest.
fn far_apart(poses: &[Vec<f64>]) -> (Vec<Vec<f64>>, f64) {
    let distance = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
    let mut gaps: Vec<f64> = poses.iter().map(|pose| dot(pose, pose).sqrt()).collect();
    let reach = gaps.iter().copied().fold(0.0, f64::max);
    let mut centers: Vec<Vec<f64>> = Vec::new();
    while centers.len() < CENTERS {
        let farthest = (0..poses.len()).fold(0, |best, pose| if gaps[pose] > gaps[best] { pose } else { best });
        if gaps[farthest] < 0.1 * reach {
            break;
        }
        let center = poses[farthest].clone();
        for (gap, pose) in gaps.iter_mut().zip(poses) {
            *gap = gap.min(distance(pose, &center));
        }
        centers.push(center);
    }
    (centers, reach)
}

/// Vertices by the drivers whose joints are near theirs.
fn groups(flesh: &Flesh, weights: &[Vec<(usize, f64)>], drivers: &[Driver]) -> Vec<Group> {
    let number_of: BTreeMap<usize, usize> = flesh.joints.iter().enumerate().map(|(k, joint)| (joint.node, k)).collect();
    let mut neighbors: Vec<Vec<usize>> = (0..flesh.joints.len()).map(|joint| vec![joint]).collect();
    for (number, joint) in flesh.joints.iter().enumerate() {
        if let Some(parent) = joint.parent {
            neighbors[number].push(parent);
            neighbors[parent].push(number);
        }
    }
    let mut groups: BTreeMap<Vec<usize>, Vec<u32>> = BTreeMap::new();
    let mut known: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
    for (vertex, shares) in weights.iter().enumerate() {
        let mut joints: Vec<usize> = shares
            .iter()
            .filter(|share| share.1 >= SHARE)
            .filter_map(|share| number_of.get(&share.0).copied())
            .collect();
        joints.sort_unstable();
        joints.dedup();
        let near = known.entry(joints).or_insert_with_key(|joints| {
            let mut near = joints.clone();
            for _ in 0..REACH {
                near = near.iter().flat_map(|&joint| neighbors[joint].iter().copied()).collect();
                near.sort_unstable();
                near.dedup();
            }
            let is_near = |node: &usize| number_of.get(node).is_some_and(|number| near.binary_search(number).is_ok());
            (0..drivers.len()).filter(|&driver| drivers[driver].joints.iter().all(is_near)).collect()
        });
        if !near.is_empty() {
            groups.entry(near.clone()).or_default().push(vertex as u32);
        }
    }
    groups.into_iter().map(|(drivers, vertices)| Group { drivers, vertices }).collect()
}

/// Regresses all offsets, and returns C Cᵀ of each driver: products of the coefficients of its functions, summed over
/// vertices. The coefficients themselves are not needed.
fn regress(groups: &[Group], tables: &[Vec<Vec<f64>>], singles: usize, seen: &[Observation]) -> Vec<Vec<f64>> {
    let width = |driver: usize| tables[driver].first().map_or(0, Vec::len);
    let mut shares: Vec<Vec<f64>> = (0..tables.len()).map(|driver| vec![0.0; width(driver) * width(driver)]).collect();
    for group in groups {
        // Single joints come before pairs in the list of all drivers, and so in that of the group.
        let split = group.drivers.partition_point(|&driver| driver < singles);
        let systems = [&group.drivers[..split], &group.drivers[split..]].map(|drivers| {
            let row = |pose: usize| drivers.iter().flat_map(|&driver| tables[driver][pose].iter().copied()).collect();
            Ridge::new((0..seen.len()).map(row).collect(), RIDGE)
        });
        let parts: Vec<Vec<Vec<f64>>> = group
            .vertices
            .par_chunks(BLOCK)
            .map(|vertices| {
                let mut parts: Vec<Vec<f64>> =
                    group.drivers.iter().map(|&driver| vec![0.0; width(driver) * width(driver)]).collect();
                for &vertex in vertices {
                    for axis in 0..3 {
                        let mut offsets = coordinates(seen, vertex as usize, axis);
                        let mut found = systems[0].solve(&offsets);
                        systems[0].subtract(&found, &mut offsets);
                        found.append(&mut systems[1].solve(&offsets));
                        let mut rest = &found[..];
                        for (part, &driver) in parts.iter_mut().zip(&group.drivers) {
                            let (own, others) = rest.split_at(width(driver));
                            rest = others;
                            for (row, a) in part.chunks_exact_mut(own.len().max(1)).zip(own) {
                                row.iter_mut().zip(own).for_each(|(sum, b)| *sum += a * b);
                            }
                        }
                    }
                }
                parts
            })
            .collect();
        for part in parts {
            for (sum, &driver) in part.into_iter().zip(&group.drivers) {
                shares[driver].iter_mut().zip(sum).for_each(|(all, one)| *all += one);
            }
        }
    }
    shares
}

/// Principal components of the part of a driver, largest first: mean squares over poses, and factors of its functions
/// that give weights with a mean square of one.
///
/// With Φ the functions in all poses, F of them, and C the coefficients, the part is ΦC. From ΦᵀΦ/F = L Lᵀ follows that
/// its components are eigenvectors u of Lᵀ(C Cᵀ)L, with factors L⁻ᵀu.
fn components(table: &[Vec<f64>], share: &[f64], size: usize) -> impl Iterator<Item = (f64, Vec<f64>)> {
    let factor = Factor::of(gram(table, size), size);
    let eigen = symmetric_eigen(&factor.congruent(share), size);
    (0..size).rev().map(move |k| {
        let mut factors = eigen.vectors[k * size..(k + 1) * size].to_vec();
        factor.solve_transposed(&mut factors);
        (eigen.values[k], factors)
    })
}

/// ΦᵀΦ/F.
fn gram(rows: &[Vec<f64>], size: usize) -> Vec<f64> {
    let mut gram = vec![0.0; size * size];
    for row in rows {
        for (line, a) in gram.chunks_exact_mut(size.max(1)).zip(row) {
            line.iter_mut().zip(row).for_each(|(sum, b)| *sum += a * b);
        }
    }
    gram.iter_mut().for_each(|sum| *sum /= rows.len().max(1) as f64);
    gram
}

/// Least squares with a ridge, for one set of functions and many right-hand sides.
struct Ridge {
    rows: Vec<Vec<f64>>,
    /// Root mean square of each function; those that vanish have zero.
    scales: Vec<f64>,
    factor: Factor,
}

impl Ridge {
    fn new(mut rows: Vec<Vec<f64>>, ridge: f64) -> Self {
        let size = rows.first().map_or(0, Vec::len);
        let square = |k: usize| rows.iter().map(|row| row[k] * row[k]).sum::<f64>() / rows.len().max(1) as f64;
        let scales: Vec<f64> = (0..size).map(|k| square(k).sqrt()).collect();
        for row in &mut rows {
            for (value, scale) in row.iter_mut().zip(&scales) {
                *value = if *scale > 1e-9 { *value / scale } else { 0.0 };
            }
        }
        let mut matrix = gram(&rows, size);
        (0..size).for_each(|k| matrix[k * size + k] += ridge);
        Self { factor: Factor::of(matrix, size), rows, scales }
    }

    /// What given coefficients explain, taken off the values.
    fn subtract(&self, coefficients: &[f64], values: &mut [f64]) {
        let scaled: Vec<f64> = coefficients.iter().zip(&self.scales).map(|(a, scale)| a * scale).collect();
        values.iter_mut().zip(&self.rows).for_each(|(value, row)| *value -= dot(row, &scaled));
    }

    /// Coefficients of the functions for values in all poses.
    fn solve(&self, values: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.scales.len()];
        for (row, value) in self.rows.iter().zip(values) {
            let share = value / values.len() as f64;
            sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value * share);
        }
        self.factor.solve(&mut sums);
        let scaled = sums.iter().zip(&self.scales);
        scaled.map(|(sum, scale)| if *scale > 1e-9 { sum / scale } else { 0.0 }).collect()
    }
}

/// The targets for known weights over all poses.
fn targets(
    groups: &[Group],
    owners: &[usize],
    curves: &[Vec<f64>],
    seen: &[Observation],
    vertex_count: usize,
) -> Vec<Vec<[f32; 3]>> {
    let mut targets = vec![vec![[0.0f32; 3]; vertex_count]; owners.len()];
    for group in groups {
        let of_group: Vec<usize> = (0..owners.len()).filter(|&k| group.drivers.contains(&owners[k])).collect();
        let rows = (0..seen.len()).map(|pose| of_group.iter().map(|&k| curves[k][pose]).collect()).collect();
        let system = Ridge::new(rows, LAST_RIDGE);
        let solve = |&vertex: &u32| [0, 1, 2].map(|axis| system.solve(&coordinates(seen, vertex as usize, axis)));
        let found: Vec<[Vec<f64>; 3]> = group.vertices.par_iter().map(solve).collect();
        for (&vertex, coordinates) in group.vertices.iter().zip(&found) {
            for (row, &k) in of_group.iter().enumerate() {
                targets[k][vertex as usize] = [0, 1, 2].map(|axis| coordinates[axis][row] as f32);
            }
        }
    }
    targets
}

/// One coordinate of the offsets of a vertex, in all poses.
fn coordinates(seen: &[Observation], vertex: usize, axis: usize) -> Vec<f64> {
    seen.iter().map(|one| f64::from(one.offsets[vertex][axis])).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::characters::{Character, CharacterParams, generate};
    use crate::flesh::FleshParams;

    /// Offsets that are smooth functions of the elbow and of the wrist come back, at poses that were not seen too; the
    /// shoulder, which turns as well, gets no target, and the flesh of the shoulder cap does not move.
    #[test]
    fn smooth_functions_of_joints_are_found() {
        let rig = generate(&CharacterParams { edge: 0.04, ..CharacterParams::of(Character::Arm) }).unwrap();
        let flesh = Flesh::new(&rig, &FleshParams::default()).unwrap();
        let part = &rig.surfaces[0].parts[0];
        let skin = &rig.skins[0];
        let nodes = |vertex| part.weights.of(vertex).map(|(joint, share)| (skin.joints[joint], share)).collect();
        let weights: Vec<Vec<(usize, f64)>> = (0..part.positions.len()).map(nodes).collect();
        let node = |name: &str| rig.nodes.iter().position(|node| node.name == name).unwrap();
        let [shoulder, elbow, wrist] = ["shoulder", "elbow", "wrist"].map(node);
        let is_near =
            |vertex: usize, joint: usize| weights[vertex].iter().any(|share| share.0 == joint && share.1 > 0.1);
        let wanted = |pose: [f64; 3], vertex: usize| {
            let [_, bend, twist] = pose;
            let x = if is_near(vertex, elbow) { 0.01 * (1.0 - bend.cos()) } else { 0.0 };
            let y = if is_near(vertex, wrist) { 0.004 * twist } else { 0.0 };
            [x as f32, y as f32, 0.0]
        };
        let posed = |[swing, bend, twist]: [f64; 3]| {
            let mut rig = rig.clone();
            let turned = [(shoulder, swing, 1), (elbow, bend, 2), (wrist, twist, 0)];
            for (node, angle, axis) in turned {
                if let crate::rig::Transform::Parts { rotation, .. } = &mut rig.nodes[node].transform {
                    *rotation = *rotation * Quaternion::from_axis_angle(Vec3::unit(axis), angle);
                }
            }
            rig.pose(None, 0.0)
        };
        let pose = |k: usize| {
            let k = k as f64;
            [(0.7 * k).sin(), 1.0 + (1.3 * k).sin(), 0.6 * (2.1 * k).cos()]
        };
        let observe = |k: usize| Observation {
            pose: posed(pose(k)),
            offsets: (0..weights.len()).map(|vertex| wanted(pose(k), vertex)).collect(),
        };
        let seen: Vec<Observation> = (0..80).map(observe).collect();
        let found = fit(&rig, &flesh, &weights, &seen, 6);
        assert!(found.targets.len() <= 6);
        let mut largest = 0.0f64;
        for k in 200..220 {
            let factors = found.weights(&rig, &posed(pose(k)));
            for vertex in 0..weights.len() {
                let wanted = Vec3::from(wanted(pose(k), vertex).map(f64::from));
                largest = largest.max((found.offset(vertex, &factors) - wanted).norm());
            }
        }
        assert!(largest < 3e-4, "{largest} m of 14 mm");
        // At rest nothing is added.
        assert!(found.weights(&rig, &rig.pose(None, 0.0)).iter().all(|weight| weight.abs() < 1e-12));
        let cap = (0..weights.len()).find(|&v| weights[v].iter().all(|share| share.0 == 0)).unwrap();
        let factors = found.weights(&rig, &posed(pose(3)));
        assert!(found.offset(cap, &factors).norm() < 1e-4);
    }
}
