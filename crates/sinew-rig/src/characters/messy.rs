//! Skins that are made difficult: cut, folded, doubled, and with things on them.

use std::collections::HashMap;

use sinew_geometry::proximity::RestSurface;
use sinew_math::Vec3;

use super::difficult::Dice;
use crate::rig::{Part, Weights};

/// Joints per vertex.
const WIDTH: usize = 4;

/// Joints of a vertex with weights.
type Shares = Vec<(u32, f32)>;

/// A skin that can be changed.
pub(super) struct Messy {
    pub positions: Vec<Vec3>,
    pub normals: Vec<Vec3>,
    pub triangles: Vec<[u32; 3]>,
    pub weights: Vec<Shares>,
    /// Diagonal of its box \[m\].
    pub size: f64,
    /// Mean edge \[m\].
    edge: f64,
    /// The vertex of the file that each was made of.
    sources: Vec<u32>,
}

impl Messy {
    pub fn of(part: &Part, edge: f64) -> Self {
        let count = part.positions.len();
        let shares = |v: usize| part.weights.of(v).map(|(joint, weight)| (joint as u32, weight as f32)).collect();
        let normals = smooth_normals(part);
        let low = part.positions.iter().copied().reduce(Vec3::min).unwrap_or(Vec3::zero());
        let high = part.positions.iter().copied().reduce(Vec3::max).unwrap_or(Vec3::zero());
        Self {
            positions: part.positions.clone(),
            normals,
            triangles: part.triangles.clone(),
            weights: (0..count).map(shares).collect(),
            size: (high - low).norm(),
            edge,
            sources: (0..count as u32).collect(),
        }
    }

    /// Replaces the skin of a part.
    pub fn into_part(self, part: &mut Part) {
        let old = std::mem::take(part);
        let pick = |source: &u32| *source as usize;
        let picked = |list: &[[f32; 3]]| -> Vec<[f32; 3]> {
            if list.is_empty() { Vec::new() } else { self.sources.iter().map(|s| list[pick(s)]).collect() }
        };
        *part = Part {
            normals: picked(&old.normals),
            texcoords: old.texcoords.iter().map(|uv| self.sources.iter().map(|s| uv[pick(s)]).collect()).collect(),
            material: old.material,
            ..part_of(self.positions, self.triangles, &self.weights)
        };
    }

    /// A vertex of some triangle.
    pub fn any_vertex(&self, dice: &mut Dice) -> usize {
        self.triangles[dice.below(self.triangles.len())][0] as usize
    }

    /// The joint that moves a vertex most.
    pub fn main_joint(&self, v: usize) -> u32 {
        self.weights[v].iter().max_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |share| share.0)
    }

    /// The weights of the nearest vertex.
    pub fn weights_near(&self, near: &RestSurface, x: Vec3) -> Shares {
        let Some((triangle, at, _)) = near.nearest(x) else { return vec![(0, 1.0)] };
        let corner = (0..3).max_by(|&a, &b| at[a].total_cmp(&at[b])).unwrap_or(0);
        self.weights[self.triangles[triangle as usize][corner] as usize].clone()
    }

    /// The longest axis of the box, and its middle.
    pub fn longest(&self) -> (usize, f64) {
        let low = self.positions.iter().copied().reduce(Vec3::min).unwrap_or(Vec3::zero());
        let high = self.positions.iter().copied().reduce(Vec3::max).unwrap_or(Vec3::zero());
        let axis = (0..3).max_by(|&a, &b| (high - low)[a].total_cmp(&(high - low)[b])).unwrap_or(0);
        (axis, 0.5 * (low[axis] + high[axis]))
    }

    /// A pleat: the skin around a vertex is pushed along itself and down, so that its front dives through the skin ahead.
    pub fn fold(&mut self, dice: &mut Dice) {
        let v = self.any_vertex(dice);
        let (center, normal) = (self.positions[v], self.normals[v]);
        let along = normal.cross(Vec3::new(0.53, 0.29, 0.8)).normalized();
        let radius = (0.06 * self.size).max(4.0 * self.edge);
        for x in &mut self.positions {
            let r = x.distance(center) / radius;
            if r < 1.0 {
                let push = (1.0 - r * r).powi(2);
                *x += along * (0.9 * radius * push) - normal * (0.15 * radius * push);
            }
        }
    }

    /// Cuts off one end, and cuts two holes.
    pub fn open(&mut self, dice: &mut Dice) {
        let (axis, middle) = self.longest();
        let low = self.positions.iter().map(|x| x[axis]).fold(f64::INFINITY, f64::min);
        let cut = low + dice.between(0.08, 0.16) * (middle - low);
        let holes = [self.any_vertex(dice), self.any_vertex(dice)].map(|v| self.positions[v]);
        let radius = (0.015 * self.size).max(1.5 * self.edge);
        let positions = &self.positions;
        let is_kept = |triangle: &[u32; 3]| {
            let middle = triangle.iter().map(|&v| positions[v as usize]).sum::<Vec3>() / 3.0;
            middle[axis] > cut && holes.iter().all(|hole| hole.distance(middle) > radius)
        };
        self.triangles.retain(is_kept);
    }

    /// Some triangles get a copy, most with the other side up.
    pub fn double(&mut self, dice: &mut Dice) {
        for k in 0..self.triangles.len() {
            let [a, b, c] = self.triangles[k];
            match dice.below(10) {
                0 | 1 => self.triangles.push([a, c, b]),
                2 => self.triangles.push([a, b, c]),
                _ => {}
            }
        }
    }

    /// Triangles that stand on edges of the skin.
    pub fn add_fins(&mut self, dice: &mut Dice) {
        for _ in 0..20 {
            let [a, b, _] = self.triangles[dice.below(self.triangles.len())];
            let tip =
                (self.positions[a as usize] + self.positions[b as usize]) * 0.5 + self.normals[a as usize] * self.edge;
            let new = self.positions.len() as u32;
            self.positions.push(tip);
            self.normals.push(self.normals[a as usize]);
            self.weights.push(self.weights[a as usize].clone());
            self.sources.push(self.sources[a as usize]);
            self.triangles.push([a, b, new]);
        }
    }

    /// Some triangles face the wrong way.
    pub fn turn(&mut self, dice: &mut Dice) {
        for triangle in &mut self.triangles {
            if dice.below(12) == 0 {
                triangle.swap(1, 2);
            }
        }
    }

    /// Every triangle gets vertices of its own.
    pub fn unweld(&mut self) {
        let corners: Vec<u32> = self.triangles.as_flattened().to_vec();
        let pick = |&v: &u32| v as usize;
        self.positions = corners.iter().map(|v| self.positions[pick(v)]).collect();
        self.normals = corners.iter().map(|v| self.normals[pick(v)]).collect();
        self.weights = corners.iter().map(|v| self.weights[pick(v)].clone()).collect();
        self.sources = corners.iter().map(|v| self.sources[pick(v)]).collect();
        self.triangles = (0..corners.len() as u32 / 3).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect();
    }
}

/// Normals that agree at copies of a vertex.
fn smooth_normals(part: &Part) -> Vec<Vec3> {
    let mut sums: HashMap<[u64; 3], Vec3> = HashMap::new();
    let key = |x: Vec3| x.to_array().map(|c| (c + 0.0).to_bits());
    for triangle in &part.triangles {
        let [a, b, c] = triangle.map(|v| part.positions[v as usize]);
        for x in [a, b, c] {
            *sums.entry(key(x)).or_insert(Vec3::zero()) += (b - a).cross(c - a);
        }
    }
    // Doubled faces that look both ways cancel.
    let sum = |x: &Vec3| sums.get(&key(*x)).copied().filter(|sum| *sum != Vec3::zero());
    let normal = |x: &Vec3| sum(x).map_or(Vec3::unit(1), |sum| sum.normalized());
    part.positions.iter().map(normal).collect()
}

/// Triangles with weights that are added to a character.
#[derive(Default)]
pub(super) struct Patch {
    positions: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
    weights: Vec<Shares>,
}

impl Patch {
    pub fn add(&mut self, positions: Vec<Vec3>, triangles: &[[u32; 3]], weights: Vec<Shares>) {
        let first = self.positions.len() as u32;
        self.positions.extend(positions);
        self.weights.extend(weights);
        self.triangles.extend(triangles.iter().map(|triangle| triangle.map(|v| first + v)));
    }

    /// A block with edges of `size`, moved by one joint.
    pub fn add_block(&mut self, center: Vec3, size: f64, joint: u32) {
        let corner = |k: usize| Vec3::from([0, 1, 2].map(|axis| (f64::from((k >> axis & 1) as u32) - 0.5) * size));
        let positions = (0..8).map(|k| center + corner(k)).collect();
        let sides: [[u32; 4]; 6] = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        let triangles: Vec<[u32; 3]> = sides.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
        self.add(positions, &triangles, vec![vec![(joint, 1.0)]; 8]);
    }

    /// A closed shell below the skin.
    pub fn shell(messy: &Messy) -> Self {
        let depth = 0.008 * messy.size;
        let positions = messy.positions.iter().zip(&messy.normals).map(|(x, normal)| *x - *normal * depth).collect();
        Self { positions, triangles: messy.triangles.clone(), weights: messy.weights.clone() }
    }

    /// A sleeve: a layer above a part of the skin.
    pub fn sleeve(messy: &Messy, dice: &mut Dice) -> Self {
        let (axis, middle) = messy.longest();
        let half = 0.12 * messy.size;
        let center = middle + dice.between(-0.1, 0.2) * messy.size;
        let height = dice.between(0.004, 0.008) * messy.size;
        let is_in =
            |triangle: &&[u32; 3]| triangle.iter().all(|&v| (messy.positions[v as usize][axis] - center).abs() < half);
        let triangles = messy.triangles.iter().filter(is_in).copied().collect();
        let positions = messy.positions.iter().zip(&messy.normals).map(|(x, normal)| *x + *normal * height).collect();
        Self { positions, triangles, weights: messy.weights.clone() }
    }

    /// Strips of one layer that stand out of the skin around a vertex.
    pub fn strips(messy: &Messy, dice: &mut Dice) -> Self {
        let mut patch = Self::default();
        let root = messy.positions[messy.any_vertex(dice)];
        let (length, width) = (0.012 * messy.size, 0.003 * messy.size);
        let near = |&&v: &&u32| messy.positions[v as usize].distance(root) < 0.06 * messy.size;
        let roots: Vec<u32> = messy.triangles.as_flattened().iter().filter(near).copied().collect();
        for _ in 0..40 {
            let v = roots[dice.below(roots.len())] as usize;
            let (x, normal) = (messy.positions[v], messy.normals[v]);
            let across = normal.cross(Vec3::new(dice.between(-1.0, 1.0), 0.41, 0.3)).normalized() * width;
            let steps = (0..6).map(|k| {
                x + normal * (length * f64::from(k / 2))
                    + Vec3::unit(1) * (-0.1 * length * f64::from((k / 2) * (k / 2)))
                    + across * f64::from(k % 2)
            });
            let triangles = [[0, 1, 2], [1, 3, 2], [2, 3, 4], [3, 5, 4]];
            patch.add(steps.collect(), &triangles, vec![messy.weights[v].clone(); 6]);
        }
        patch
    }

    /// Little blocks all over the skin.
    pub fn buttons(messy: &Messy, dice: &mut Dice) -> Self {
        let mut patch = Self::default();
        for _ in 0..150 {
            let v = messy.any_vertex(dice);
            let size = 0.004 * messy.size;
            patch.add_block(messy.positions[v] + messy.normals[v] * (0.4 * size), size, messy.main_joint(v));
        }
        patch
    }

    pub fn into_part(self) -> Part {
        part_of(self.positions, self.triangles, &self.weights)
    }
}

/// A part without the vertices that no triangle uses.
fn part_of(positions: Vec<Vec3>, triangles: Vec<[u32; 3]>, shares: &[Shares]) -> Part {
    let mut weights = Weights { width: WIDTH, joints: Vec::new(), weights: Vec::new() };
    for shares in shares {
        let mut shares = shares.clone();
        shares.sort_by(|a, b| b.1.total_cmp(&a.1));
        shares.resize(WIDTH, (0, 0.0));
        weights.joints.extend(shares.iter().map(|share| share.0));
        weights.weights.extend(shares.iter().map(|share| share.1));
    }
    Part { positions, triangles, weights, ..Part::default() }
}
