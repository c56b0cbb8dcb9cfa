//! Follower pressure on surface triangles.
//!
//! The force on a triangle is −p A n in its deformed shape, in equal shares on its corners. On a closed surface it is
//! the gradient of p V with the enclosed volume V = ⅙ Σ x₁·(x₂×x₃) (up to sign). On an open surface the same formula
//! leaves boundary terms, and the force has no potential \[Hughes87\].

use std::sync::Arc;

use sinew_math::{Mat3, Vec3};

use super::params::triangles_left;
use super::{Assembly, Dependence, Force, ForceError, ForceParams, Hold, Linearized, NodeMap, Renumbered, StepContext};
use crate::control::ChannelId;
use crate::faces::balanced_triangles;
use crate::material::Tangent;

/// Follower pressure on boundary triangles of a body, by the channel `BODY.pressure.NAME` \[Pa\].
#[derive(Clone, Debug)]
pub struct PressureParams {
    /// The body.
    pub body: usize,
    /// Name, unique among the pressures of the body.
    pub name: String,
    /// Boundary triangles, by nodes of the body, outward oriented.
    pub triangles: Vec<[u32; 3]>,
}

impl ForceParams for PressureParams {
    fn assemble(&self, assembly: &mut dyn Assembly) -> Result<Box<dyn Force>, ForceError> {
        let name = format!("{}.pressure.{}", assembly.body_name(self.body), self.name);
        let (triangles, shares) = balanced_triangles(assembly.mesh(self.body), &self.triangles)
            .into_iter()
            .map(|(triangle, share)| (triangle.map(|n| assembly.point(self.body, n)), share))
            .unzip();
        let channel = assembly.channels().add(name.clone(), 0.0);
        Ok(Box::new(Pressure { name, triangles, shares, channel, is_closed: is_closed(&self.triangles) }))
    }

    /// Faces that the removal exposes get no pressure.
    fn renumbered(&self, map: &dyn NodeMap) -> Option<Renumbered> {
        let triangles = triangles_left(&self.triangles, self.body, map);
        Some(Renumbered {
            body: self.body,
            kind: "pressure",
            name: self.name.clone(),
            things: "triangles",
            lost: self.triangles.len() - triangles.len(),
            count: self.triangles.len(),
            needs_some: false,
            params: Arc::new(Self { triangles, ..self.clone() }),
        })
    }

    fn rank(&self) -> u8 {
        1
    }
}

/// Whether each edge is used once in each direction.
fn is_closed(triangles: &[[u32; 3]]) -> bool {
    let mut edges: Vec<(u32, u32)> = triangles.iter().flat_map(|&[a, b, c]| [(a, b), (b, c), (c, a)]).collect();
    let mut reversed: Vec<(u32, u32)> = edges.iter().map(|&(a, b)| (b, a)).collect();
    edges.sort_unstable();
    reversed.sort_unstable();
    edges == reversed
}

/// Pressure on a set of triangles, positive inwards.
pub struct Pressure {
    /// Name in reports.
    pub name: String,
    /// Triangles, outward oriented.
    pub triangles: Vec<[u32; 3]>,
    /// Share of the pressure that each triangle carries: below 1 where triangles overlap, as the two ways to cut the
    /// face of a hexahedron do (see [`crate::faces::balanced_triangles`]).
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

    fn load_channels(&self) -> &[ChannelId] {
        std::slice::from_ref(&self.channel)
    }

    fn hold(&self) -> Hold {
        Hold::Nothing
    }
}
