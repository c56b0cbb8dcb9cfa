//! Follower pressure on surface triangles.
//!
//! The force on a triangle is −p A n in its deformed shape, in equal shares on its corners. On a closed surface it is
//! the gradient of p V with the enclosed volume V = ⅙ Σ x₁·(x₂×x₃) (up to sign). On an open surface the same formula
//! leaves boundary terms, and the force has no potential \[Hughes87\].

use sinew_math::{Mat3, Vec3};

use super::{Dependence, Force, Linearized, StepContext};
use crate::control::ChannelId;
use crate::material::Tangent;

/// Pressure on a set of triangles, positive inward.
pub struct Pressure {
    /// Name in reports.
    pub name: String,
    /// Triangles, outward oriented.
    pub triangles: Vec<[u32; 3]>,
    /// Share of the pressure on each triangle: below 1 where triangles overlap, as the two ways to split the face of a
    /// hexahedron do (see [`crate::model::balanced_triangles`]).
    pub shares: Vec<f64>,
    /// Channel of the pressure \[Pa\].
    pub channel: ChannelId,
    /// Whether the triangles form a closed surface, so that p V is a potential.
    pub is_closed: bool,
}

impl Pressure {
    /// gradient += that of the pressure p \[Pa\].
    fn add_push(&self, p: f64, x: &[Vec3], gradient: &mut [Vec3]) {
        for (triangle, share) in self.triangles.iter().zip(&self.shares) {
            let [a, b, c] = triangle.map(|n| x[n as usize]);
            let third = (b - a).cross(c - a) * (p * share / 6.0);
            for &node in triangle {
                gradient[node as usize] += third;
            }
        }
    }

    /// Calls `visit(a, b, ∂gₐ/∂x_b)` for the corners of all triangles.
    fn for_each_derivative(&self, p: f64, x: &[Vec3], mut visit: impl FnMut(u32, u32, Mat3)) {
        for (triangle, share) in self.triangles.iter().zip(&self.shares) {
            let corners = triangle.map(|n| x[n as usize]);
            for k in 0..3 {
                // ∂/∂x_k of (b−a)×(c−a) is [next − previous]ₓ with the opposite edge; each corner carries a sixth.
                let opposite = corners[(k + 2) % 3] - corners[(k + 1) % 3];
                let derivative = Mat3::skew(opposite) * (p * share / 6.0);
                (0..3).for_each(|i| visit(triangle[i], triangle[k], derivative));
            }
        }
    }
}

impl Force for Pressure {
    fn name(&self) -> &str {
        &self.name
    }

    fn potential(&self, x: &[Vec3], ctx: &StepContext<'_>) -> Option<f64> {
        let p = ctx.control.get(self.channel);
        if !self.is_closed && p != 0.0 {
            return None;
        }
        let part = |&[a, b, c]: &[u32; 3]| x[a as usize].dot(x[b as usize].cross(x[c as usize])) / 6.0;
        let volume: f64 = self.triangles.iter().zip(&self.shares).map(|(triangle, share)| share * part(triangle)).sum();
        Some(p * volume)
    }

    fn add_gradient(&self, x: &[Vec3], ctx: &StepContext<'_>, gradient: &mut [Vec3]) {
        self.add_push(ctx.control.get(self.channel), x, gradient);
    }

    fn add_channel_derivative(
        &self,
        x: &[Vec3],
        _ctx: &StepContext<'_>,
        channel: ChannelId,
        out: &mut [Vec3],
    ) -> Dependence {
        if channel != self.channel {
            return Dependence::None;
        }
        self.add_push(1.0, x, out);
        Dependence::Exact
    }

    fn linearize_skew(&self, x: &[Vec3], ctx: &StepContext<'_>, out: &mut Linearized) {
        // On a closed surface the parts of neighboring triangles cancel.
        let p = ctx.control.get(self.channel);
        if p == 0.0 || self.is_closed {
            return;
        }
        self.for_each_derivative(p, x, |a, b, derivative| {
            out.add(a, b, derivative * 0.5);
            out.add(b, a, derivative.transpose() * -0.5);
        });
    }

    fn linearize(&self, x: &[Vec3], ctx: &StepContext<'_>, tangent: Tangent, out: &mut Linearized) {
        let p = ctx.control.get(self.channel);
        // The load stiffness is indefinite, so the definite tangent omits it.
        if p == 0.0 || tangent == Tangent::Definite {
            return;
        }
        self.for_each_derivative(p, x, |a, b, derivative| {
            // Half of the block and half of its transpose: the symmetric part, which is exact on a closed surface.
            out.add(a, b, derivative * 0.5);
            out.add(b, a, derivative.transpose() * 0.5);
        });
    }

    fn couplings(&self) -> Vec<(u32, u32)> {
        self.triangles.iter().flat_map(|&[a, b, c]| [(a, b), (b, c), (c, a)]).collect()
    }
}
