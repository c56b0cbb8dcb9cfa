//! The vector between two positions, and the effect of a tension along it on the points that carry them.

use sinew_math::{Mat3, Vec3};

use super::super::Linearized;
use crate::material::Tangent;

/// The vector from one position to another, d = Σ c_k x_k, where both are weighted sums of points.
///
/// The coefficients of a line within flesh sum to zero, so a tension along it exerts no total force. It has the
/// direction of d, so it exerts no torque either.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    entries: Vec<(u32, f64)>,
}

/// A tension along a vector, and its derivative.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pull {
    /// T = dE/d|d| \[N\].
    pub tension: f64,
    /// dT/d|d| \[N/m\].
    pub stiffness: f64,
}

impl Line {
    /// From one weighted sum of points to another.
    pub fn between(from: &[(u32, f64)], to: &[(u32, f64)]) -> Self {
        let mut line = Self { entries: Vec::with_capacity(from.len() + to.len()) };
        for (entries, sign) in [(from, -1.0), (to, 1.0)] {
            for &(point, weight) in entries {
                line.add(point, sign * weight);
            }
        }
        line
    }

    fn add(&mut self, point: u32, coefficient: f64) {
        // Ends in one cell share points. The lists are short, so a search suffices.
        match self.entries.iter_mut().find(|entry| entry.0 == point) {
            Some(entry) => entry.1 += coefficient,
            None => self.entries.push((point, coefficient)),
        }
    }

    /// Points and their coefficients c.
    pub fn entries(&self) -> &[(u32, f64)] {
        &self.entries
    }

    /// Σ c_k x_k \[m\].
    #[inline]
    pub fn vector(&self, x: &[Vec3]) -> Vec3 {
        self.entries.iter().fold(Vec3::zero(), |sum, &(point, c)| sum + x[point as usize] * c)
    }

    /// gradient += ∂(f·d)/∂x.
    #[inline]
    pub(super) fn add_gradient(&self, f: Vec3, gradient: &mut [Vec3]) {
        for &(point, c) in &self.entries {
            gradient[point as usize] += f * c;
        }
    }

    /// Appends the blocks of E(|d|): T′ n⊗n + (T/|d|) (I − n⊗n) between the ends, times c_k c_l between points. The
    /// definite form omits negative terms: T′ is negative on a falling branch of the curve.
    pub(super) fn linearize(&self, d: Vec3, pull: Pull, tangent: Tangent, out: &mut Linearized) {
        let length = d.norm();
        if length == 0.0 {
            return;
        }
        let normal = d / length;
        let (mut along, mut across) = (pull.stiffness, pull.tension / length);
        if tangent == Tangent::Definite {
            (along, across) = (along.max(0.0), across.max(0.0));
        }
        if along == 0.0 && across == 0.0 {
            return;
        }
        let block = Mat3::identity() * across + Mat3::outer(normal, normal) * (along - across);
        for &(a, c) in &self.entries {
            for &(b, e) in &self.entries {
                out.add(a, b, block * (c * e));
            }
        }
    }

    /// Pairs of points that the tangent connects.
    pub(super) fn add_couplings(&self, pairs: &mut Vec<(u32, u32)>) {
        for (k, &(a, _)) in self.entries.iter().enumerate() {
            pairs.extend(self.entries[..k].iter().map(|&(b, _)| (a, b)));
        }
    }

    /// bound += a bound of the rows of the tangent for a stiffness k between the ends: rows of c cᵀ sum to |c| Σ|c|.
    pub(crate) fn add_row_bound(&self, k: f64, bound: &mut [f64]) {
        let total: f64 = self.entries.iter().map(|entry| entry.1.abs()).sum();
        for &(point, c) in &self.entries {
            bound[point as usize] += k * c.abs() * total;
        }
    }
}
