//! Exposed nodes at which more labels meet than three surfaces keep apart, as at the pole of an orange.
//!
//! The surfaces between the solids have a line in common there, or nearly so: the line nearest to all of them in the mean
//! square. The node goes to where it leaves the solids.

use sinew_math::Vec3;
use sinew_math::eigen::symmetric_eigen;

use super::constraint::MAX_SHEETS;
use super::labeled_cell::Label;
use super::many::Field;

/// Steps of Gauss and Newton toward the line, each up to half a cell, halved up to so many times.
const MAX_STEPS: usize = 12;
const MAX_HALVINGS: usize = 4;
/// Differences for gradients, in cells: wide, since distances of corners have kinks.
const STEP: f64 = 0.1;
/// Curvature of the sum of squares, relative to the largest, below which a direction is free.
const FREE: f64 = 0.02;
/// Longest way along the line, in cells, and halvings of it.
const MAX_WAY: f64 = 1.2;
const BISECTIONS: usize = 20;
/// Distance from the line, in cells, at which points are looked at all around it: on it all distances vanish.
const ASIDE: f64 = 0.25;
const AROUND: usize = 16;

/// Where a crowded node belongs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crowd(Vec3);

impl Crowd {
    /// The point for a node at x with cells of some solids; `None` if their surfaces have no line in common that ends
    /// nearby.
    pub fn new(field: &Field<'_>, solids: &[Label], x: Vec3, cell: f64) -> Option<Self> {
        let (point, axis) = line(field, solids, x, cell)?;
        let near = field.candidates(x, 2.0 * MAX_WAY * cell).ok()?;
        let u = axis.cross(Vec3::unit(if axis.x.abs() < 0.6 { 0 } else { 1 })).normalized();
        let v = axis.cross(u);
        let turn = |k: usize| std::f64::consts::TAU * k as f64 / AROUND as f64;
        let circle: [Vec3; AROUND] = std::array::from_fn(|k| (u * turn(k).cos() + v * turn(k).sin()) * (ASIDE * cell));
        // Half of a circle around the line is inside where it leaves the solids at any angle.
        let is_inside = |t: f64| {
            let is_in = |p: Vec3| near.iter().any(|label| field.value(*label, p) < 0.0);
            2 * circle.iter().filter(|aside| is_in(point + axis * t + **aside)).count() > AROUND
        };
        let (mut inside, mut outside) = (-MAX_WAY * cell, MAX_WAY * cell);
        if is_inside(outside) {
            (inside, outside) = (outside, inside);
        }
        if !is_inside(inside) || is_inside(outside) {
            return None;
        }
        for _ in 0..BISECTIONS {
            let middle = 0.5 * (inside + outside);
            *if is_inside(middle) { &mut inside } else { &mut outside } = middle;
        }
        Some(Self(point + axis * inside))
    }

    /// The way from the point \[m\].
    pub fn distances(&self, p: Vec3) -> [f64; MAX_SHEETS] {
        (p - self.0).to_array()
    }
}

/// The line nearest to the surfaces between any two of some solids: the point on it nearest to x, and its direction.
fn line(field: &Field<'_>, solids: &[Label], x: Vec3, cell: f64) -> Option<(Vec3, Vec3)> {
    let sum = |p: Vec3| dot(&residuals(field, solids, p), &residuals(field, solids, p));
    let (mut point, mut best, mut axis) = (x, sum(x), None);
    for _ in 0..MAX_STEPS {
        let here = residuals(field, solids, point);
        let slopes = [0, 1, 2].map(|k| {
            let way = Vec3::unit(k) * (STEP * cell);
            let (ahead, behind) = (residuals(field, solids, point + way), residuals(field, solids, point - way));
            ahead.iter().zip(&behind).map(|(a, b)| (a - b) / (2.0 * STEP * cell)).collect::<Vec<f64>>()
        });
        let normal: [f64; 9] = std::array::from_fn(|k| dot(&slopes[k / 3], &slopes[k % 3]));
        let eigen = symmetric_eigen(&normal, 3);
        let [free, a, b] =
            [0, 1, 2].map(|k| Vec3::new(eigen.vectors[3 * k], eigen.vectors[3 * k + 1], eigen.vectors[3 * k + 2]));
        let least = FREE * eigen.values[2];
        axis = (eigen.values[0] <= least && eigen.values[1] > least).then_some(free);
        axis?;
        let right = Vec3::from([0, 1, 2].map(|k| dot(&slopes[k], &here)));
        let way = a * (a.dot(right) / eigen.values[1]) + b * (b.dot(right) / eigen.values[2]);
        let way = way * (0.5 * cell / way.norm()).min(1.0);
        let steps = (0..MAX_HALVINGS as i32).map(|halvings| point - way * 0.5_f64.powi(halvings));
        let Some(next) = steps.map(|p| (sum(p), p)).find(|(value, _)| *value < 0.999 * best) else { break };
        (best, point) = next;
    }
    Some((point, axis?))
}

/// How far a point is from the surfaces between any two of some solids \[m\].
fn residuals(field: &Field<'_>, solids: &[Label], p: Vec3) -> Vec<f64> {
    let values: Vec<f64> = solids.iter().map(|label| field.value(*label, p)).collect();
    values.iter().enumerate().flat_map(|(k, a)| values[..k].iter().map(move |b| 0.5 * (a - b))).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
