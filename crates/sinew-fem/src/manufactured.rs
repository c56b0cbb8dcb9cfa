//! The method of manufactured solutions: a known displacement, the body force that makes it an equilibrium, and the
//! error against it.
//!
//! For a smooth u(X) with F = I + ∂u/∂X, equilibrium Div P + b = 0 requires the body force b = −Div P(F(X)). Both
//! derivatives come from nested complex steps, exact to rounding, so the test does not depend on the code under test.
//! Linear elements must then converge as ‖u_h − u‖ = O(h²) and ‖∇u_h − ∇u‖ = O(h), quadratic ones as O(h³) and O(h²)
//! \[Roache02\].

#![allow(non_snake_case)]

use sinew_geometry::{CellKind, CellMesh};
use sinew_math::complex_step::STEP;
use sinew_math::{ComplexStep, Mat3, Scalar, Vec3};

use crate::element::{Element, Hex8, Tet4, Tet10};
use crate::material::{Material, MaterialPoint, MaterialSpec, MaterialVisitor};
use crate::model::Model;
use crate::probe::{Probe, ProbeContext};

/// A cubic displacement that is curved and sheared along all axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ManufacturedField {
    /// Approximate maximum of the displacement gradient.
    pub amplitude: f64,
    /// Origin of the field \[m\].
    pub origin: Vec3,
    /// Length over which the field changes \[m\].
    pub length: f64,
}

impl ManufacturedField {
    /// u(X) \[m\].
    pub fn displacement<S: Scalar>(&self, X: Vec3<S>) -> Vec3<S> {
        let scale = S::splat(1.0 / self.length);
        let p = (X - Vec3::from_f64(self.origin)) * scale;
        let factor = S::splat(self.amplitude * self.length);
        let half = S::splat(0.5);
        let third = S::splat(1.0 / 3.0);
        Vec3::new(
            p.x * p.x * half + p.y * p.z * p.x * half + p.y * p.y * p.y * third,
            p.y * p.z * half - p.x * p.x * p.z * third + p.y * p.y * half,
            p.z * p.z * p.z * third - p.x * p.y * half + p.z * p.x * half,
        ) * factor
    }

    /// F(X) = I + ∂u/∂X.
    pub fn deformation_gradient<S: Scalar>(&self, X: Vec3<S>) -> Mat3<S> {
        let mut F = Mat3::identity();
        for j in 0..3 {
            let mut moved = X.map(|c| ComplexStep { re: c, im: S::zero() });
            moved[j].im = S::splat(STEP);
            let u = self.displacement(moved);
            for i in 0..3 {
                F.rows[i][j] += u[i].im * S::splat(1.0 / STEP);
            }
        }
        F
    }

    /// b = −Div P at X \[N/m³\].
    pub fn body_force(&self, X: Vec3, material: &MaterialSpec) -> Vec3 {
        material.visit(BodyForce { field: self, X, point: material.point() })
    }

    /// Consistent nodal forces ∫ N b dX of all nodes \[N\].
    pub fn nodal_forces(&self, mesh: &CellMesh, materials: &[MaterialSpec]) -> Vec<Vec3> {
        let mut forces = vec![Vec3::zero(); mesh.node_count()];
        for (cell, (kind, nodes)) in mesh.cells().enumerate() {
            for_each_point(kind, nodes, mesh.positions(), |X, weight, values, _| {
                let b = self.body_force(X, &materials[cell]);
                for (&node, &value) in nodes.iter().zip(values) {
                    forces[node as usize] += b * (weight * value);
                }
            });
        }
        forces
    }
}

struct BodyForce<'a> {
    field: &'a ManufacturedField,
    X: Vec3,
    point: MaterialPoint<f64>,
}

impl MaterialVisitor for BodyForce<'_> {
    type Output = Vec3;
    fn visit<M: Material>(self, law: M) -> Vec3 {
        let point = self.point.map(ComplexStep::splat);
        let mut b = Vec3::zero();
        for j in 0..3 {
            let mut moved = self.X.map(ComplexStep::splat);
            moved[j].im = STEP;
            let F = self.field.deformation_gradient(moved);
            let P = law.stress(&F, &point);
            for i in 0..3 {
                b[i] -= P.rows[i][j].im / STEP;
            }
        }
        b
    }
}

/// Errors against the manufactured solution: `BODY.error.l2` \[m^2.5\], `BODY.error.h1` (gradient part), each an
/// integral norm.
pub struct ErrorProbe {
    /// Index of the body.
    pub body: usize,
    /// The exact solution.
    pub field: ManufacturedField,
}

impl Probe for ErrorProbe {
    fn names(&self, model: &Model) -> Vec<String> {
        let body = &model.bodies[self.body].name;
        vec![format!("{body}.error.l2"), format!("{body}.error.h1")]
    }

    fn evaluate(&self, ctx: &ProbeContext<'_>, out: &mut Vec<f64>) {
        let body = &ctx.model.bodies[self.body];
        let rest = body.mesh.positions();
        let x = &ctx.state.positions[body.points.clone()];
        let (mut l2, mut h1) = (0.0, 0.0);
        for (kind, nodes) in body.mesh.cells() {
            for_each_point(kind, nodes, rest, |X, weight, values, gradients| {
                let mut u = Vec3::zero();
                let mut G = Mat3::identity();
                for ((&node, &value), &gradient) in nodes.iter().zip(values).zip(gradients) {
                    let displacement = x[node as usize] - rest[node as usize];
                    u += displacement * value;
                    G += Mat3::outer(displacement, gradient);
                }
                l2 += weight * (u - self.field.displacement(X)).norm_squared();
                h1 += weight * (G - self.field.deformation_gradient(X)).norm_squared();
            });
        }
        out.extend([l2.sqrt(), h1.sqrt()]);
    }
}

/// Visits the points of a quadrature rule that is exact for cubics: `visit(X, weight, shape values, shape gradients)`.
fn for_each_point(kind: CellKind, nodes: &[u32], rest: &[Vec3], visit: impl FnMut(Vec3, f64, &[f64], &[Vec3])) {
    match kind {
        CellKind::Tet4 => visit_cell::<Tet4, 4>(&tet_rule(), nodes, rest, visit),
        CellKind::Tet10 => visit_cell::<Tet10, 10>(&fine_tet_rule(), nodes, rest, visit),
        CellKind::Hex8 => visit_cell::<Hex8, 8>(&hex_rule(), nodes, rest, visit),
    }
}

fn visit_cell<E: Element<N>, const N: usize>(
    rule: &[(Vec3, f64)],
    nodes: &[u32],
    rest: &[Vec3],
    mut visit: impl FnMut(Vec3, f64, &[f64], &[Vec3]),
) {
    let corners: [Vec3; N] = std::array::from_fn(|a| rest[nodes[a] as usize]);
    for &(xi, weight) in rule {
        let values = E::shape_values(xi);
        let reference = E::shape_gradients(xi);
        let jacobian = crate::element::deformation_gradient(&corners, &reference);
        let inverse_transpose = jacobian.inverse().transpose();
        let gradients = reference.map(|g| inverse_transpose * g);
        let X = corners.iter().zip(&values).fold(Vec3::zero(), |sum, (&c, &v)| sum + c * v);
        visit(X, weight * jacobian.determinant(), &values, &gradients);
    }
}

/// Five-point rule of degree three on the reference tetrahedron (Keast).
fn tet_rule() -> [(Vec3, f64); 5] {
    let (sixth, half) = (1.0 / 6.0, 0.5);
    let weight = 9.0 / 20.0 / 6.0;
    [
        (Vec3::splat(0.25), -4.0 / 5.0 / 6.0),
        (Vec3::new(half, sixth, sixth), weight),
        (Vec3::new(sixth, half, sixth), weight),
        (Vec3::new(sixth, sixth, half), weight),
        (Vec3::new(sixth, sixth, sixth), weight),
    ]
}

/// 4×4×4 Gauss points collapsed to the reference tetrahedron: exact for degree five, with positive weights, as a norm
/// needs.
fn fine_tet_rule() -> Vec<(Vec3, f64)> {
    let (near, far) = ((3.0 / 7.0 - 2.0 / 7.0 * 1.2f64.sqrt()).sqrt(), (3.0 / 7.0 + 2.0 / 7.0 * 1.2f64.sqrt()).sqrt());
    let (heavy, light) = ((18.0 + 30f64.sqrt()) / 72.0, (18.0 - 30f64.sqrt()) / 72.0);
    // On [0, 1].
    let line = [(-far, light), (-near, heavy), (near, heavy), (far, light)].map(|(x, w)| (0.5 + 0.5 * x, w));
    let mut rule = Vec::with_capacity(64);
    for (r, a) in line {
        for (s, b) in line {
            for (t, c) in line {
                // ξ = r, η = s (1 − r), ζ = t (1 − r)(1 − s), with the determinant (1 − r)² (1 − s).
                let (p, q) = (1.0 - r, 1.0 - s);
                rule.push((Vec3::new(r, s * p, t * p * q), a * b * c * p * p * q));
            }
        }
    }
    rule
}

/// 3×3×3 Gauss points on \[−1, 1\]³.
fn hex_rule() -> Vec<(Vec3, f64)> {
    let g = 0.6f64.sqrt();
    let line = [(-g, 5.0 / 9.0), (0.0, 8.0 / 9.0), (g, 5.0 / 9.0)];
    let mut rule = Vec::with_capacity(27);
    for (x, a) in line {
        for (y, b) in line {
            for (z, c) in line {
                rule.push((Vec3::new(x, y, z), a * b * c));
            }
        }
    }
    rule
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::material::Law;

    const FIELD: ManufacturedField =
        ManufacturedField { amplitude: 0.1, origin: Vec3 { x: 0.1, y: -0.2, z: 0.05 }, length: 0.7 };

    /// F by complex step against central differences, error O(1e-10).
    #[test]
    fn deformation_gradient_is_the_gradient_of_the_displacement() {
        let X = Vec3::new(0.4, 0.3, -0.2);
        let F = FIELD.deformation_gradient(X);
        let h = 1e-5;
        for j in 0..3 {
            let numeric =
                (FIELD.displacement(X + Vec3::unit(j) * h) - FIELD.displacement(X - Vec3::unit(j) * h)) / (2.0 * h);
            assert!((numeric + Vec3::unit(j) - F.column(j)).norm() < 1e-9);
        }
    }

    /// For the linear law b = −μ Δu − (λ + μ) ∇(∇·u), here by central differences of the stress.
    #[test]
    fn body_force_balances_the_stress() {
        for law in Law::ALL {
            let material = MaterialSpec::with_young(law, 1e4, 0.3);
            struct Stress(Mat3, MaterialPoint<f64>);
            impl MaterialVisitor for Stress {
                type Output = Mat3;
                fn visit<M: Material>(self, law: M) -> Mat3 {
                    law.stress(&self.0, &self.1)
                }
            }
            let X = Vec3::new(0.4, 0.3, -0.2);
            let h = 1e-5;
            let mut numeric = Vec3::zero();
            for j in 0..3 {
                let stress = |X: Vec3| material.visit(Stress(FIELD.deformation_gradient(X), material.point()));
                let difference = stress(X + Vec3::unit(j) * h) - stress(X - Vec3::unit(j) * h);
                numeric -= difference.column(j) / (2.0 * h);
            }
            let exact = FIELD.body_force(X, &material);
            assert!((numeric - exact).norm() < 1e-6 * exact.norm(), "{law:?}: {numeric:?} {exact:?}");
        }
    }

    /// The rules integrate x³ + x y z exactly over a unit cell.
    #[test]
    fn quadrature_is_exact_for_cubics() {
        let cube: Vec<Vec3> = Hex8::reference_nodes().iter().map(|&c| (c + Vec3::splat(1.0)) * 0.5).collect();
        let tet: Vec<Vec3> = Tet4::reference_nodes().to_vec();
        let quadratic: Vec<Vec3> = Tet10::reference_nodes().to_vec();
        for (kind, corners, exact) in [
            (CellKind::Hex8, cube, 0.25 + 0.125),
            (CellKind::Tet4, tet, 6.0 / 720.0 + 1.0 / 720.0),
            (CellKind::Tet10, quadratic, 6.0 / 720.0 + 1.0 / 720.0),
        ] {
            let nodes: Vec<u32> = (0..corners.len() as u32).collect();
            let mut sum = 0.0;
            for_each_point(kind, &nodes, &corners, |X, w, _, _| sum += w * (X.x.powi(3) + X.x * X.y * X.z));
            assert!((sum - exact).abs() < 1e-14, "{kind:?}: {sum} {exact}");
        }
    }
}
