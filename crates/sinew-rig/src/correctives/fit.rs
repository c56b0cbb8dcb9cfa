//! Correctives from poses.
//!
//! 1. Every joint has the flesh that it moves, in shares of its weights, and a [`Driver`] of the turns of joints at most
//!    two links away and of the places of other flesh that can touch it ([`super::regions`]).
//! 2. Its share of the offsets is regressed on the functions of its driver (ridge regression). Blocks of frames that are
//!    left out in turn tell how strong the ridge is.
//! 3. What this explains is a matrix of low rank. Its principal components have weights that are combinations of the
//!    functions; where one is positive and where it is negative become a target each. The largest of all joints are
//!    kept.
//! 4. The targets are fitted once more to all offsets, now that the weights are known. A vertex takes part in the targets
//!    of a joint by its share, so that targets fade out where the weights do.

use sinew_math::Vec3;
use sinew_math::eigen::symmetric_eigen;
use sinew_math::parallel::prelude::*;

use super::dense::Factor;
use super::driver::{Driver, Weight};
use super::regions::{Region, regions};
use crate::affine::Affine;
use crate::flesh::Flesh;
use crate::rig::Rig;

/// Ridges of the regression, relative to the mean square of each function: the one that predicts best is taken.
const RIDGES: [f64; 4] = [3e-5, 3e-4, 3e-3, 3e-2];
/// The ridge where there are too few poses to tell.
const USUAL_RIDGE: usize = 1;
/// Blocks of frames that are left out in turn, and the fewest frames of each.
const FOLDS: usize = 5;
const FOLD: usize = 4;
/// Vertices of a region by which ridges are compared, and by which components are found.
const JUDGES: usize = 24;
const SAMPLES: usize = 512;
/// Ridge of the last fit, relative to the mean square of each weight.
const LAST_RIDGE: f64 = 1e-4;
/// Largest weight in the poses that are fitted: others may go farther before they reach 1, where sliders end.
const PEAK: f64 = 0.8;
/// A side of a component with less than this share of the other is left out.
const SLIGHT: f64 = 0.03;

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
            driver.set_weights(&driver.inputs(rig, pose), &mut weights);
        }
        weights
    }

    /// Displacement of a vertex.
    pub fn offset(&self, vertex: usize, weights: &[f64]) -> Vec3 {
        let pairs = self.targets.iter().zip(weights);
        pairs.map(|(target, weight)| Vec3::from(target[vertex].map(f64::from)) * *weight).sum()
    }
}

/// Fits at most `count` targets. `weights` are the joints of each vertex, as nodes, with their shares.
pub fn fit(rig: &Rig, flesh: &Flesh, weights: &[Vec<(usize, f64)>], seen: &[Observation], count: usize) -> Correctives {
    let mut regions = regions(rig, flesh, weights, seen);
    // Functions of each driver in each pose.
    let table = |Region { driver, .. }: &Region| -> Vec<Vec<f64>> {
        seen.par_iter().map(|one| driver.functions(&driver.inputs(rig, &one.pose))).collect()
    };
    let tables: Vec<Vec<Vec<f64>>> = regions.iter().map(table).collect();
    let mut modes: Vec<(f64, usize, Vec<f64>)> = Vec::new();
    for (number, (region, table)) in regions.iter().zip(&tables).enumerate() {
        let share = regress(region, table, seen);
        modes.extend(components(table, &share).into_iter().map(|(size, factors)| (size, number, factors)));
    }
    // Equal sizes keep the order of the regions, so the result does not depend on chance.
    modes.sort_by(|a, b| b.0.total_cmp(&a.0));
    modes.retain(|mode| mode.0 > 0.0);
    let parts = parts(&modes, &tables, count);
    let owners: Vec<usize> = parts.iter().map(|part| part.region).collect();
    let curves: Vec<Vec<f64>> = parts
        .iter()
        .map(|part| tables[part.region].iter().map(|row| dot(row, &part.coefficients).max(0.0)).collect())
        .collect();
    let targets = targets(&regions, &owners, &curves, seen, weights.len());
    for (target, Part { region, coefficients }) in parts.into_iter().enumerate() {
        regions[region].driver.weights.push(Weight { target, coefficients });
    }
    let drivers = regions.into_iter().map(|region| region.driver).filter(|driver| !driver.weights.is_empty()).collect();
    Correctives { drivers, targets }
}

/// What becomes a target: a component where its weight is positive.
struct Part {
    region: usize,
    coefficients: Vec<f64>,
}

/// Both sides of each component, as far as it reaches there, until there are enough. Sliders of other programs begin at
/// zero, so a weight that goes both ways becomes two, whose shapes need not be opposites.
fn parts(modes: &[(f64, usize, Vec<f64>)], tables: &[Vec<Vec<f64>>], count: usize) -> Vec<Part> {
    let mut parts = Vec::new();
    for (_, region, factors) in modes {
        let (low, high) = tables[*region]
            .iter()
            .map(|row| dot(row, factors))
            .fold((0.0f64, 0.0f64), |(low, high), w| (low.min(w), high.max(w)));
        let mut sides = [(1.0, high), (-1.0, -low)];
        sides.sort_by(|a, b| b.1.total_cmp(&a.1));
        let reach = sides[0].1;
        for (sign, peak) in sides.into_iter().filter(|side| side.1 > SLIGHT * reach) {
            if parts.len() < count {
                let scale = sign * PEAK / peak;
                parts.push(Part { region: *region, coefficients: factors.iter().map(|a| a * scale).collect() });
            }
        }
    }
    parts
}

/// At most `count` vertices of a region, spread evenly.
fn sampled(region: &Region, count: usize) -> impl Iterator<Item = &(u32, f64)> {
    region.vertices.iter().step_by(region.vertices.len().div_ceil(count).max(1))
}

/// Regresses the share of a region, and returns C Cᵀ: products of the coefficients of its functions, summed over
/// vertices and axes. The coefficients themselves are not needed.
fn regress(region: &Region, table: &[Vec<f64>], seen: &[Observation]) -> Vec<f64> {
    let size = table.first().map_or(0, Vec::len);
    let system = Ridge::new(table.iter().collect(), best_ridge(region, table, seen));
    let vertices: Vec<&(u32, f64)> = sampled(region, SAMPLES).collect();
    let found: Vec<[Vec<f64>; 3]> = vertices
        .par_iter()
        .map(|(vertex, share)| {
            [0, 1, 2].map(|axis| system.solve(seen.iter().map(|one| share * coordinate(one, *vertex, axis))))
        })
        .collect();
    let mut products = vec![0.0; size * size];
    for coefficients in found.iter().flatten() {
        for (row, a) in products.chunks_exact_mut(size.max(1)).zip(coefficients) {
            row.iter_mut().zip(coefficients).for_each(|(sum, b)| *sum += a * b);
        }
    }
    products
}

/// The ridge that predicts frames best which are left out, by blocks: neighbors in time tell too much of each other.
fn best_ridge(region: &Region, table: &[Vec<f64>], seen: &[Observation]) -> f64 {
    let count = table.len();
    if count < FOLDS * FOLD {
        return RIDGES[USUAL_RIDGE];
    }
    let judges: Vec<&(u32, f64)> = sampled(region, JUDGES).collect();
    let error = |ridge: f64| -> f64 {
        let fold = |fold: usize| -> f64 {
            let is_out = |pose: usize| pose * FOLDS / count == fold;
            let kept: Vec<usize> = (0..count).filter(|&pose| !is_out(pose)).collect();
            let system = Ridge::new(kept.iter().map(|&pose| &table[pose]).collect(), ridge);
            let mut sum = 0.0;
            for (vertex, share) in &judges {
                for axis in 0..3 {
                    let value = |pose: usize| share * coordinate(&seen[pose], *vertex, axis);
                    let found = system.solve(kept.iter().map(|&pose| value(pose)));
                    let off = |pose: usize| dot(&table[pose], &found) - value(pose);
                    sum += (0..count).filter(|&pose| is_out(pose)).map(|pose| off(pose).powi(2)).sum::<f64>();
                }
            }
            sum
        };
        // In order, so that sums do not depend on threads.
        (0..FOLDS).into_par_iter().map(fold).collect::<Vec<f64>>().into_iter().sum()
    };
    let errors = RIDGES.map(error);
    RIDGES[(0..RIDGES.len()).fold(0, |best, k| if errors[k] < errors[best] { k } else { best })]
}

/// Principal components of what a driver explains, largest first: mean squares over poses, and factors of its functions
/// that give weights with a mean square of one.
///
/// With Φ the functions in all poses, F of them, and C the coefficients, the part is ΦC. From ΦᵀΦ/F = L Lᵀ follows that
/// its components are eigenvectors u of Lᵀ(C Cᵀ)L, with factors L⁻ᵀu.
fn components(table: &[Vec<f64>], share: &[f64]) -> Vec<(f64, Vec<f64>)> {
    let size = table.first().map_or(0, Vec::len);
    let factor = Factor::of(gram(table.iter(), size), size);
    let eigen = symmetric_eigen(&factor.congruent(share), size);
    let component = |k: usize| {
        let mut factors = eigen.vectors[k * size..(k + 1) * size].to_vec();
        factor.solve_transposed(&mut factors);
        (eigen.values[k], factors)
    };
    (0..size).rev().map(component).collect()
}

/// ΦᵀΦ/F.
fn gram<'a>(rows: impl ExactSizeIterator<Item = &'a Vec<f64>>, size: usize) -> Vec<f64> {
    let count = rows.len();
    let mut gram = vec![0.0; size * size];
    for row in rows {
        for (line, a) in gram.chunks_exact_mut(size.max(1)).zip(row) {
            line.iter_mut().zip(row).for_each(|(sum, b)| *sum += a * b);
        }
    }
    gram.iter_mut().for_each(|sum| *sum /= count.max(1) as f64);
    gram
}

/// Least squares with a ridge, for one set of functions and many right-hand sides.
struct Ridge<'a> {
    rows: Vec<&'a Vec<f64>>,
    /// One over the root mean square of each function; those that vanish have zero.
    scales: Vec<f64>,
    factor: Factor,
}

impl<'a> Ridge<'a> {
    fn new(rows: Vec<&'a Vec<f64>>, ridge: f64) -> Self {
        let size = rows.first().map_or(0, |row| row.len());
        let mut matrix = gram(rows.iter().copied(), size);
        let scales: Vec<f64> = (0..size).map(|k| inverse(matrix[k * size + k].sqrt())).collect();
        for (at, value) in matrix.iter_mut().enumerate() {
            let (i, j) = (at / size, at % size);
            *value = *value * scales[i] * scales[j] + if i == j { ridge } else { 0.0 };
        }
        Self { factor: Factor::of(matrix, size), rows, scales }
    }

    /// Coefficients of the functions for values in all poses.
    fn solve(&self, values: impl Iterator<Item = f64>) -> Vec<f64> {
        let mut sums = vec![0.0; self.scales.len()];
        for (row, value) in self.rows.iter().zip(values) {
            let share = value / self.rows.len() as f64;
            sums.iter_mut().zip(*row).for_each(|(sum, value)| *sum += value * share);
        }
        sums.iter_mut().zip(&self.scales).for_each(|(sum, scale)| *sum *= scale);
        self.factor.solve(&mut sums);
        sums.iter_mut().zip(&self.scales).for_each(|(sum, scale)| *sum *= scale);
        sums
    }
}

/// One over a size, or zero for what vanishes.
fn inverse(size: f64) -> f64 {
    if size > 1e-9 { 1.0 / size } else { 0.0 }
}

/// The targets for known weights over all poses.
fn targets(
    regions: &[Region],
    owners: &[usize],
    curves: &[Vec<f64>],
    seen: &[Observation],
    vertex_count: usize,
) -> Vec<Vec<[f32; 3]>> {
    // Targets of each vertex with its shares in them.
    let mut shares: Vec<Vec<(usize, f64)>> = vec![Vec::new(); vertex_count];
    for (target, &owner) in owners.iter().enumerate() {
        for &(vertex, share) in &regions[owner].vertices {
            shares[vertex as usize].push((target, share));
        }
    }
    let mean = |a: &[f64], b: &[f64]| dot(a, b) / seen.len().max(1) as f64;
    let scales: Vec<f64> = curves.iter().map(|curve| inverse(mean(curve, curve).sqrt())).collect();
    let products: Vec<Vec<f64>> = curves.par_iter().map(|a| curves.iter().map(|b| mean(a, b)).collect()).collect();
    let solve = |(vertex, shares): (usize, &Vec<(usize, f64)>)| -> Vec<[f32; 3]> {
        let size = shares.len();
        let factors: Vec<f64> = shares.iter().map(|&(target, share)| share * scales[target]).collect();
        let mut matrix = vec![0.0; size * size];
        for (at, value) in matrix.iter_mut().enumerate() {
            let (i, j) = (at / size, at % size);
            let ridge = if i == j { LAST_RIDGE } else { 0.0 };
            *value = products[shares[i].0][shares[j].0] * factors[i] * factors[j] + ridge;
        }
        let factor = Factor::of(matrix, size);
        let mut found = vec![[0.0f32; 3]; size];
        for axis in 0..3 {
            let values: Vec<f64> = seen.iter().map(|one| coordinate(one, vertex as u32, axis)).collect();
            let of = |(&(target, _), factor): (&(usize, f64), &f64)| mean(&curves[target], &values) * factor;
            let mut sums: Vec<f64> = shares.iter().zip(&factors).map(of).collect();
            factor.solve(&mut sums);
            for (k, sum) in sums.into_iter().enumerate() {
                found[k][axis] = (sum * factors[k]) as f32;
            }
        }
        found
    };
    let found: Vec<Vec<[f32; 3]>> = shares.par_iter().enumerate().map(solve).collect();
    let mut targets = vec![vec![[0.0f32; 3]; vertex_count]; owners.len()];
    for (vertex, (shares, found)) in shares.iter().zip(found).enumerate() {
        shares.iter().zip(found).for_each(|(&(target, _), moved)| targets[target][vertex] = moved);
    }
    targets
}

/// One coordinate of the offset of a vertex in a pose.
fn coordinate(one: &Observation, vertex: u32, axis: usize) -> f64 {
    f64::from(one.offsets[vertex as usize][axis])
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use sinew_math::Quaternion;

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
        assert!(largest < 6e-4, "{largest} m of 14 mm");
        // At rest nothing is added.
        assert!(found.weights(&rig, &rig.pose(None, 0.0)).iter().all(|weight| weight.abs() < 1e-12));
        let cap = (0..weights.len()).find(|&v| weights[v].iter().all(|share| share.0 == 0)).unwrap();
        let factors = found.weights(&rig, &posed(pose(3)));
        assert!(found.offset(cap, &factors).norm() < 1e-4);
    }

    /// Flesh that gives way to the thumb follows where the thumb is, also in poses that were not seen: joints near it
    /// alone, which is how far turns count, miss four fifths of it. What one joint moves does not reach the flesh of others.
    #[test]
    fn flesh_that_touches_is_found() {
        let poses = CharacterParams {
            edge: 0.008,
            motion: Some("poses"),
            frame_rate: 2.4,
            seconds: 100.0,
            ..CharacterParams::of(Character::Hand)
        };
        let rig = generate(&poses).unwrap();
        let flesh = Flesh::new(&rig, &FleshParams::default()).unwrap();
        let (part, skin) = (&rig.surfaces[0].parts[0], &rig.skins[0]);
        let nodes = |vertex| part.weights.of(vertex).map(|(joint, share)| (skin.joints[joint], share)).collect();
        let weights: Vec<Vec<(usize, f64)>> = (0..part.positions.len()).map(nodes).collect();
        let node = |name: &str| rig.nodes.iter().position(|node| node.name == name).unwrap();
        let [finger, thumb] = ["middle.proximal", "thumb.distal"].map(node);
        let rest = rig.pose(None, 0.0);
        let near = |pose: &[Affine]| {
            let apart = |pose: &[Affine]| pose[thumb].translation.distance(pose[finger].translation) / 0.06;
            (-apart(pose).powi(2)).exp() - (-apart(&rest).powi(2)).exp()
        };
        let wanted = |pose: &[Affine], vertex: usize| -> [f32; 3] {
            let share: f64 = weights[vertex].iter().filter(|share| share.0 == finger).map(|share| share.1).sum();
            [(0.005 * share * near(pose)) as f32, 0.0, 0.0]
        };
        let observe = |k: usize| {
            let pose = rig.pose(rig.animations.first(), k as f64 / poses.frame_rate);
            Observation { offsets: (0..weights.len()).map(|vertex| wanted(&pose, vertex)).collect(), pose }
        };
        let seen: Vec<Observation> = (0..200).map(observe).collect();
        let found = fit(&rig, &flesh, &weights, &seen, 8);
        let (mut off, mut all) = (0.0f64, 0.0f64);
        for one in (202..240).map(observe) {
            let factors = found.weights(&rig, &one.pose);
            for (vertex, wanted) in one.offsets.iter().enumerate() {
                let wanted = Vec3::from(wanted.map(f64::from));
                off += (found.offset(vertex, &factors) - wanted).norm();
                all += wanted.norm();
            }
        }
        assert!(off < 0.4 * all, "{off} m of {all} m");
        let elsewhere = (0..weights.len()).filter(|&v| weights[v].iter().all(|share| share.0 != finger));
        let moved = elsewhere.flat_map(|vertex| found.targets.iter().map(move |target| target[vertex]));
        assert!(moved.flatten().all(|x| x.abs() < 1e-6));
    }
}
