//! Fascia: thin sheets on the surface of flesh that resist only stretch.
//!
//! On a triangle with the deformation gradient F (3×2, from its plane at rest), principal stretches s₁ ≥ s₂ and
//! thickness t
//!
//! ```math
//! E = A\, t\, \mu \sum_i e_i^2, \qquad e_i = \max(s_i - 1, 0), \qquad
//!    P = 2 \mu t \sum_i e_i\, u_i \otimes v_i, \quad F v_i = s_i u_i
//! ```
//!
//! the linear stress in the frame of the stretches, for elongation only. \[Teran05\] and \[Sifakis07\] add it to the
//! outermost cells of a muscle (TER-37, SIF-021). On the surface it does not depend on the size of these cells, and
//! thickness and modulus are those of the fascia. A coupling term of the elongations, λ/2 (Σ eᵢ)², would make the
//! stress jump where one stretch passes 1 while the other is above 1, so there is none.
//!
//! Because ψᵢ = 2μeᵢ is never negative and increases, the tangent is positive semi-definite: it has the eigenvalues
//! ψᵢ′, (ψ₁ − ψ₂)/(s₁ − s₂) and (ψ₁ + ψ₂)/(s₁ + s₂) in the plane, and ψᵢ/sᵢ across it.

#![allow(non_snake_case)]

use std::sync::Arc;

use sinew_math::{Mat3, Vec3};

use super::params::triangles_left;
use super::{
    Assembly, Force, ForceError, ForceParams, ForceView, Hold, Linearized, NodeMap, Renumbered, RowBounds, StepContext,
};
use crate::control::{ChannelTable, Control};
use crate::faces::contact_triangles;
use crate::material::Tangent;

/// Fascia on boundary triangles of a body; its probes are `BODY.sheath.NAME.…`.
#[derive(Clone, Debug)]
pub struct SheathParams {
    /// The body.
    pub body: usize,
    /// Name, unique among the sheaths of the body.
    pub name: String,
    /// Boundary triangles, by nodes of the body.
    pub triangles: Vec<[u32; 3]>,
    /// Shear modulus times thickness, μ t \[N/m\].
    pub stiffness: f64,
}

impl ForceParams for SheathParams {
    fn assemble(&self, assembly: &mut dyn Assembly) -> Result<Box<dyn Force>, ForceError> {
        let name = format!("{}.sheath.{}", assembly.body_name(self.body), self.name);
        let (mesh, first) = (assembly.mesh(self.body), assembly.point(self.body, 0));
        let triangles: Vec<_> = contact_triangles(mesh, &self.triangles)
            .into_iter()
            .map(|(triangle, share)| (triangle.map(|n| first + n), share))
            .collect();
        let rest = |point: u32| mesh.positions()[(point - first) as usize];
        Ok(Box::new(Sheath::new(name, self.stiffness, &triangles, rest)))
    }

    /// Faces that the removal exposes get no sheath.
    fn renumbered(&self, map: &dyn NodeMap) -> Option<Renumbered> {
        let triangles = triangles_left(&self.triangles, self.body, map);
        Some(Renumbered {
            body: self.body,
            kind: "sheath",
            name: self.name.clone(),
            things: "triangles",
            lost: self.triangles.len() - triangles.len(),
            count: self.triangles.len(),
            needs_some: true,
            params: Arc::new(Self { triangles, ..self.clone() }),
        })
    }

    fn rank(&self) -> u8 {
        6
    }
}

/// A sheet of fascia.
pub struct Sheath {
    /// `BODY.sheath.NAME`.
    pub name: String,
    /// μ t \[N/m\].
    stiffness: f64,
    triangles: Vec<Triangle>,
}

#[derive(Clone, Debug)]
struct Triangle {
    nodes: [u32; 3],
    /// Gradients of the shape functions in the plane at rest \[1/m\].
    gradients: [[f64; 2]; 3],
    /// Area at rest times its share \[m²\].
    area: f64,
}

/// Principal stretches of a triangle with their directions.
struct Stretched {
    s: [f64; 2],
    /// Directions at rest, in the plane.
    v: [[f64; 2]; 2],
    /// The same directions in the deformed shape.
    u: [Vec3; 2],
}

impl Triangle {
    /// Creates a triangle from its corners at rest; `None` where they lie on a line.
    fn new(nodes: [u32; 3], [a, b, c]: [Vec3; 3], share: f64) -> Option<Self> {
        let (ab, ac) = (b - a, c - a);
        let normal = ab.cross(ac);
        let twice_area = normal.norm();
        let length = ab.norm();
        if !(twice_area > 1e-12 * length * ac.norm()) {
            return None;
        }
        // In the frame of the first edge: a = 0, b = (length, 0), c = (p, q).
        let (p, q) = (ab.dot(ac) / length, twice_area / length);
        let gradient_b = [1.0 / length, -p / (length * q)];
        let gradient_c = [0.0, 1.0 / q];
        let gradient_a = [-gradient_b[0], -gradient_b[1] - gradient_c[1]];
        Some(Self { nodes, gradients: [gradient_a, gradient_b, gradient_c], area: 0.5 * twice_area * share })
    }

    /// F, by columns.
    fn deformation(&self, x: &[Vec3]) -> [Vec3; 2] {
        let mut F = [Vec3::zero(); 2];
        for (&node, gradient) in self.nodes.iter().zip(&self.gradients) {
            F[0] += x[node as usize] * gradient[0];
            F[1] += x[node as usize] * gradient[1];
        }
        F
    }

    /// Its stretches; `None` where it is not stretched in any direction.
    fn stretched(&self, x: &[Vec3]) -> Option<Stretched> {
        let F = self.deformation(x);
        let (a, b, c) = (F[0].norm_squared(), F[0].dot(F[1]), F[1].norm_squared());
        let (mean, half) = (0.5 * (a + c), 0.5 * (a - c));
        let radius = half.hypot(b);
        if !(mean + radius > 1.0) {
            return None;
        }
        let s = [(mean + radius).sqrt(), (mean - radius).max(0.0).sqrt()];
        let (sin, cos) = (0.5 * b.atan2(half)).sin_cos();
        let v = [[cos, sin], [-sin, cos]];
        let along = |v: [f64; 2]| F[0] * v[0] + F[1] * v[1];
        let first = along(v[0]) / s[0];
        // For a triangle that has nearly collapsed to a line, any direction across works: nothing is stretched along
        // it.
        let across = along(v[1]) - first * first.dot(along(v[1]));
        let second = if across.norm() > 1e-9 { across / across.norm() } else { any_normal(first) };
        Some(Stretched { s, v, u: [first, second] })
    }
}

/// A unit vector perpendicular to another.
fn any_normal(n: Vec3) -> Vec3 {
    let axis = if n.x.abs() < 0.5 { Vec3::new(1.0, 0.0, 0.0) } else { Vec3::new(0.0, 1.0, 0.0) };
    let across = axis - n * n.dot(axis);
    across / across.norm()
}

impl Stretched {
    fn elongations(&self) -> [f64; 2] {
        self.s.map(|s| (s - 1.0).max(0.0))
    }
}

fn dot([a, b]: [f64; 2], [c, d]: [f64; 2]) -> f64 {
    a * c + b * d
}

impl Sheath {
    /// Creates a sheet on triangles with the given shares of their area. `rest` returns the rest position of a point;
    /// `stiffness` is μ t \[N/m\]. Skips triangles without area.
    pub fn new(name: String, stiffness: f64, triangles: &[([u32; 3], f64)], rest: impl Fn(u32) -> Vec3) -> Self {
        let triangles =
            triangles.iter().filter_map(|&(nodes, share)| Triangle::new(nodes, nodes.map(&rest), share)).collect();
        Self { name, stiffness, triangles }
    }

    /// Area at rest \[m²\].
    pub fn area(&self) -> f64 {
        self.triangles.iter().map(|triangle| triangle.area).sum()
    }

    /// Area mean of the larger principal tension \[N/m\], and the maximum stretch.
    pub fn summarize(&self, x: &[Vec3]) -> (f64, f64) {
        let (mut tension, mut longest) = (0.0, 0.0f64);
        for triangle in &self.triangles {
            if let Some(stretched) = triangle.stretched(x) {
                tension += triangle.area * 2.0 * self.stiffness * stretched.elongations()[0];
                longest = longest.max(stretched.s[0]);
            }
        }
        (tension / self.area().max(f64::MIN_POSITIVE), longest.max(1.0))
    }
}

impl Force for Sheath {
    fn name(&self) -> &str {
        &self.name
    }

    fn potential(&self, x: &[Vec3], _ctx: &StepContext<'_>) -> Option<f64> {
        let energy = |triangle: &Triangle| {
            triangle.stretched(x).map_or(0.0, |stretched| {
                let e = stretched.elongations();
                triangle.area * self.stiffness * dot(e, e)
            })
        };
        Some(self.triangles.iter().map(energy).sum())
    }

    fn add_gradient(&self, x: &[Vec3], _ctx: &StepContext<'_>, gradient: &mut [Vec3]) {
        for triangle in &self.triangles {
            let Some(stretched) = triangle.stretched(x) else { continue };
            let Stretched { v, u, .. } = &stretched;
            let psi = stretched.elongations().map(|e| 2.0 * self.stiffness * triangle.area * e);
            for (&node, &g) in triangle.nodes.iter().zip(&triangle.gradients) {
                gradient[node as usize] += u[0] * (psi[0] * dot(v[0], g)) + u[1] * (psi[1] * dot(v[1], g));
            }
        }
    }

    fn linearize(&self, x: &[Vec3], _ctx: &StepContext<'_>, _tangent: Tangent, out: &mut Linearized) {
        for triangle in &self.triangles {
            let Some(stretched) = triangle.stretched(x) else { continue };
            let Stretched { s, v, u } = &stretched;
            let modulus = 2.0 * self.stiffness * triangle.area;
            let psi = stretched.elongations().map(|e| modulus * e);
            let own = s.map(|s| if s > 1.0 { modulus } else { 0.0 });
            // Two stretches above 1 give the modulus itself, where the quotient would be 0/0 for equal stretches; two
            // at 1 give zero.
            let flip = if s[1] > 1.0 { modulus } else { psi[0] / (s[0] - s[1]).max(f64::MIN_POSITIVE) };
            let twist = (psi[0] + psi[1]) / (s[0] + s[1]);
            let (alpha, beta) = (0.5 * (flip + twist), 0.5 * (flip - twist));
            let normal = u[0].cross(u[1]);
            let lift = [psi[0] / s[0], if s[1] > 1.0 { psi[1] / s[1] } else { 0.0 }];
            let [first, second, mixed, across] = [
                Mat3::outer(u[0], u[0]),
                Mat3::outer(u[1], u[1]),
                Mat3::outer(u[0], u[1]),
                Mat3::outer(normal, normal),
            ];
            let local = triangle.gradients.map(|g| [dot(v[0], g), dot(v[1], g)]);
            for (a, &[p1, p2]) in local.iter().enumerate() {
                for (b, &[q1, q2]) in local.iter().enumerate() {
                    let block = first * (own[0] * p1 * q1 + alpha * p2 * q2)
                        + second * (own[1] * p2 * q2 + alpha * p1 * q1)
                        + (mixed * (p2 * q1) + mixed.transpose() * (p1 * q2)) * beta
                        + across * (lift[0] * p1 * q1 + lift[1] * p2 * q2);
                    out.add(triangle.nodes[a], triangle.nodes[b], block);
                }
            }
        }
    }

    fn couplings(&self) -> Vec<(u32, u32)> {
        self.triangles
            .iter()
            .flat_map(|triangle| {
                let [a, b, c] = triangle.nodes;
                [(a, b), (b, c), (c, a)]
            })
            .collect()
    }

    fn hold(&self) -> Hold {
        Hold::Nothing
    }

    /// No eigenvalue of the tangent is above 2μt.
    fn add_row_bounds(&self, _x: &[Vec3], _control: &Control, bounds: &mut RowBounds<'_>) {
        for triangle in &self.triangles {
            let sizes = triangle.gradients.map(|gradient| dot(gradient, gradient).sqrt());
            let total: f64 = sizes.iter().sum();
            for (&node, size) in triangle.nodes.iter().zip(sizes) {
                bounds.stiffness[node as usize] += 2.0 * self.stiffness * triangle.area * size * total;
            }
        }
    }

    fn probe_names(&self, _channels: &ChannelTable) -> Vec<String> {
        ["tension", "stretch.max"].map(|what| format!("{}.{what}", self.name)).to_vec()
    }

    fn probe(&self, at: &ForceView<'_>, out: &mut Vec<f64>) {
        let (tension, longest) = self.summarize(&at.state.positions);
        out.extend([tension, longest]);
    }
}

#[cfg(test)]
mod tests;
