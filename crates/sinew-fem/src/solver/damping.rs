//! Damping inside flesh: proportional to the stiffness at the start of a step, and to the rest stiffness in the rotated
//! frame.
//!
//! The second kind is the linear damping of \[Sifakis07\] (SIF-083). With F = R S and the rate of stretch Ṡ,
//! ```math
//! P_d = R\,\big(2\beta\,\dot S + \alpha\,\mathrm{tr}(\dot S)\,I\big) + \dots, \qquad
//!    \beta = \gamma\mu, \quad \alpha = \gamma\lambda.
//! ```
//! At S = I this is R (β(G + Gᵀ) + α tr(G) I) with G = RᵀḞ, the formula in the paper.
//!
//! # Derivation
//! The paper takes the symmetric part of G for all F. That vanishes under rigid motions of an unstrained body only: it
//! would brake a stretched body that rotates, which would lose angular momentum. We use the rate of S itself. From
//! RᵀR = I follows
//! ```math
//! \dot S = G - [\omega]_\times S, \qquad (\mathrm{tr}(S)\,I - S)\,\omega = \mathrm{axl}(G), \qquad
//!    [\mathrm{axl}(G)]_\times = G - G^T ,
//! ```
//! linear in Ḟ and zero for every rigid motion of every shape. The dissipation γ(μ |Ṡ|² + λ/2 tr(Ṡ)²) is a quadratic
//! form in Ḟ, positive for λ > −2μ/3. P_d is half its derivative: P_d = R (A − \[b\]ₓ) with A = 2βṠ + α tr(Ṡ) I and
//! (tr(S) I − S) b = axl(A S).
//!
//! Where two stretches nearly cancel (a flattened, inverting cell), ω is undetermined and the symmetric part of G takes
//! its place.

#![allow(non_snake_case)]

use std::ops::Range;

use sinew_math::parallel::ScatterPlan;
use sinew_math::sparse::BlockCsr;
use sinew_math::svd3::svd3_plain;
use sinew_math::{Mat3, Vec3};

use super::linear::AssemblyPlan;
use crate::control::Control;
use crate::elastic::{Actuation, ElasticBlock, PACK};
use crate::force::Linearized;
use crate::material::Tangent;
use crate::model::Model;

/// Maximum number of nodes of a cell: that of the quadratic tetrahedron.
const MAX_NODES: usize = 10;

/// (σ₂ + σ₃)/σ₁ below which the rotation of a cell is unreliable.
const UNTRUSTED: f64 = 0.1;

/// The map from Ḟ to the rate of stretch at one F.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StretchRate {
    rotation: Mat3,
    stretch: Mat3,
    /// (tr(S) I − S)⁻¹; `None` where the rotation is unreliable.
    spin: Option<Mat3>,
}

fn axial(G: &Mat3) -> Vec3 {
    Vec3::new(G[(2, 1)] - G[(1, 2)], G[(0, 2)] - G[(2, 0)], G[(1, 0)] - G[(0, 1)])
}

impl StretchRate {
    pub fn at(F: &Mat3) -> Self {
        let svd = svd3_plain(F);
        let rotation = svd.rotation();
        let stretch = rotation.transpose_mul(F).symmetric_part();
        let is_trusted = svd.sigma[1] + svd.sigma[2] > UNTRUSTED * svd.sigma[0];
        let spin = is_trusted.then(|| (Mat3::identity() * stretch.trace() - stretch).inverse());
        Self { rotation, stretch, spin }
    }

    /// Ṡ for Ḟ.
    pub fn of(&self, dF: &Mat3) -> Mat3 {
        self.of_rotated(&self.rotation.transpose_mul(dF))
    }

    /// Ṡ for G = RᵀḞ.
    fn of_rotated(&self, G: &Mat3) -> Mat3 {
        match self.spin {
            Some(spin) => (*G - Mat3::skew(spin * axial(G)) * self.stretch).symmetric_part(),
            None => G.symmetric_part(),
        }
    }

    /// P_d for Ḟ and viscous moduli (γμ, γλ).
    pub fn stress(&self, dF: &Mat3, (beta, alpha): (f64, f64)) -> Mat3 {
        let rate = self.of(dF);
        let A = rate * (2.0 * beta) + Mat3::identity() * (alpha * rate.trace());
        match self.spin {
            Some(spin) => self.rotation * (A - Mat3::skew(spin * axial(&(A * self.stretch)))),
            None => self.rotation * A,
        }
    }
}

/// Calls `visit(a, b, K_ab)` for all pairs of local nodes of a cell, with the matrix of the tissue damping for γ = 1.
fn tissue_cell(
    block: &ElasticBlock,
    cell: usize,
    x: &[Vec3],
    (mu, lambda): (f64, f64),
    mut visit: impl FnMut(usize, usize, Mat3),
) {
    let n = block.kind().nodes_per_cell();
    let mut blocks = [[Mat3::zero(); MAX_NODES]; MAX_NODES];
    block.evaluate_deformation(cell, x, |k, weight, F| {
        let map = StretchRate::at(&F);
        let mut rates = [[Mat3::zero(); 3]; MAX_NODES];
        for (a, rates) in rates[..n].iter_mut().enumerate() {
            let g = block.gradient_of(cell, k, a);
            for (i, rate) in rates.iter_mut().enumerate() {
                *rate = map.of_rotated(&Mat3::outer(map.rotation.row(i), g));
            }
        }
        for a in 0..n {
            for b in 0..=a {
                for i in 0..3 {
                    for j in 0..3 {
                        let (p, q) = (&rates[a][i], &rates[b][j]);
                        blocks[a][b].rows[i][j] +=
                            weight * (2.0 * mu * p.double_dot(q) + lambda * p.trace() * q.trace());
                    }
                }
            }
        }
    });
    for a in 0..n {
        for b in 0..=a {
            visit(a, b, blocks[a][b]);
            if a != b {
                visit(b, a, blocks[a][b].transpose());
            }
        }
    }
}

fn lame(model: &Model, block: &ElasticBlock, cell: usize) -> (f64, f64) {
    model.bodies[block.body].materials[block.cells()[cell] as usize].lame()
}

/// Adds γ `scale` times the tissue damping of all cells of a block.
fn add_tissue(model: &Model, block: &ElasticBlock, x: &[Vec3], scale: f64, plan: &ScatterPlan, values: &mut [Mat3]) {
    let pairs = block.kind().nodes_per_cell() * (block.kind().nodes_per_cell() + 1) / 2;
    plan.for_each_chunk(values, |packs, writer| {
        let mut out = [Mat3::zero(); MAX_NODES * (MAX_NODES + 1) / 2 * PACK];
        for pack in packs {
            out.fill(Mat3::zero());
            for lane in 0..PACK.min(block.cell_count() - pack * PACK) {
                let cell = pack * PACK + lane;
                tissue_cell(block, cell, x, lame(model, block, cell), |a, b, k| {
                    // In the order of `ElasticBlock::matrix_slots`: pairs on and below the diagonal.
                    if b <= a {
                        out[(a * (a + 1) / 2 + b) * PACK + lane] = k * scale;
                    }
                });
            }
            writer.add_all(pack, &out[..pairs * PACK]);
        }
    });
}

/// Calls `visit(cell, a, b, C_ab)` with the damping matrices of the cells of some packs of a block. A pair may be
/// visited more than once; the parts add up.
pub(crate) fn visit_damping(
    model: &Model,
    index: usize,
    packs: Range<usize>,
    control: &Control,
    x: &[Vec3],
    visit: &mut dyn FnMut(usize, usize, usize, Mat3),
) {
    let block = &model.elastic[index];
    let scale = model.stiffness_of(block, control);
    let (beta, gamma) = (scale * model.stiffness_damping[index], scale * model.tissue_damping[index]);
    if beta != 0.0 {
        let visit = &mut |cell, a, b, k: Mat3| visit(cell, a, b, k * beta);
        block.visit_tangents(packs.clone(), x, &Actuation::PASSIVE, Tangent::Definite, visit);
    }
    if gamma != 0.0 {
        for cell in packs.start * PACK..block.cell_count().min(packs.end * PACK) {
            tissue_cell(block, cell, x, lame(model, block, cell), |a, b, k| visit(cell, a, b, k * gamma));
        }
    }
}

/// c C of one step: the damping inside flesh times the rate c of the scheme.
#[derive(Default)]
pub(crate) struct DampingMatrix {
    /// Matrix over the unknowns, in the pattern of the tangent, of cells whose nodes are all unknowns. `None` where no
    /// such cell is damped.
    matrix: Option<BlockCsr>,
    /// Blocks between points, of cells with bound nodes.
    bound: Linearized,
    displacement: Vec<Vec3>,
    product: Vec<Vec3>,
}

impl DampingMatrix {
    /// Whether a model has damping inside flesh.
    pub fn is_needed(model: &Model) -> bool {
        model.stiffness_damping.iter().chain(&model.tissue_damping).any(|&time| time != 0.0)
    }

    /// Fills the matrices at the positions `x`, times `rate`. The definite stiffness ensures that they dissipate.
    pub fn fill(&mut self, model: &Model, plan: &AssemblyPlan, control: &Control, x: &[Vec3], rate: f64) {
        self.bound.clear();
        let has_plan = (0..model.elastic.len()).any(|block| plan.elastic(block).is_some());
        if self.matrix.is_none() && has_plan {
            self.matrix = Some(BlockCsr::zeros(plan.pattern.clone()));
            self.displacement.resize(model.kinematics.unknown_count(), Vec3::zero());
            self.product.resize(model.kinematics.unknown_count(), Vec3::zero());
        }
        if let Some(matrix) = &mut self.matrix {
            matrix.set_zero();
        }
        for (index, block) in model.elastic.iter().enumerate() {
            let scale = rate * model.stiffness_of(block, control);
            let (beta, gamma) = (scale * model.stiffness_damping[index], scale * model.tissue_damping[index]);
            match (plan.elastic(index), &mut self.matrix) {
                (Some(plan), Some(matrix)) => {
                    if beta != 0.0 {
                        block.add_tangent(x, &Actuation::PASSIVE, Tangent::Definite, beta, plan, matrix.values_mut());
                    }
                    if gamma != 0.0 {
                        add_tissue(model, block, x, gamma, plan, matrix.values_mut());
                    }
                }
                _ => {
                    let bound = &mut self.bound;
                    visit_damping(model, index, 0..block.pack_count(), control, x, &mut |cell, a, b, k| {
                        bound.add(block.point(cell, a), block.point(cell, b), k * rate);
                    });
                }
            }
        }
        if let Some(matrix) = &mut self.matrix {
            matrix.mirror_lower();
        }
    }

    /// The part over the unknowns.
    pub fn matrix(&self) -> Option<&BlockCsr> {
        self.matrix.as_ref()
    }

    /// The part between points.
    pub fn bound(&self) -> &Linearized {
        &self.bound
    }

    /// out = c C d over the points.
    pub fn multiply(&mut self, model: &Model, d: &[Vec3], out: &mut [Vec3]) {
        out.fill(Vec3::zero());
        self.bound.add_product(d, out);
        let Some(matrix) = &self.matrix else { return };
        for (point, &d) in d.iter().enumerate() {
            if let Some(unknown) = model.kinematics.own_unknown(point) {
                self.displacement[unknown as usize] = d;
            }
        }
        matrix.multiply(&self.displacement, &mut self.product);
        for (point, out) in out.iter_mut().enumerate() {
            if let Some(unknown) = model.kinematics.own_unknown(point) {
                *out += self.product[unknown as usize];
            }
        }
    }
}

/// gradient += C v at positions `x` and velocities `v`, cell by cell, for explicit steps.
pub(crate) fn add_damping(model: &Model, control: &Control, x: &[Vec3], v: &[Vec3], gradient: &mut [Vec3]) {
    for (index, block) in model.elastic.iter().enumerate() {
        let scale = model.stiffness_of(block, control);
        let (beta, gamma) = (scale * model.stiffness_damping[index], scale * model.tissue_damping[index]);
        if beta == 0.0 && gamma == 0.0 {
            continue;
        }
        let n = block.kind().nodes_per_cell();
        block.nodal_plan().for_each_chunk(gradient, |packs, writer| {
            let mut out = [Vec3::zero(); MAX_NODES * PACK];
            for pack in packs {
                out.fill(Vec3::zero());
                if gamma != 0.0 {
                    for lane in 0..PACK.min(block.cell_count() - pack * PACK) {
                        let cell = pack * PACK + lane;
                        let (mu, lambda) = lame(model, block, cell);
                        block.evaluate_deformation(cell, x, |k, weight, F| {
                            let mut dF = Mat3::zero();
                            for a in 0..n {
                                dF += Mat3::outer(v[block.point(cell, a) as usize], block.gradient_of(cell, k, a));
                            }
                            let P = StretchRate::at(&F).stress(&dF, (gamma * mu, gamma * lambda));
                            for a in 0..n {
                                out[a * PACK + lane] += P * block.gradient_of(cell, k, a) * weight;
                            }
                        });
                    }
                }
                if beta != 0.0 {
                    block.visit_tangents(
                        pack..pack + 1,
                        x,
                        &Actuation::PASSIVE,
                        Tangent::Definite,
                        &mut |cell, a, b, K| {
                            out[a * PACK + cell % PACK] += K * v[block.point(cell, b) as usize] * beta;
                        },
                    );
                }
                writer.add_all(pack, &out[..n * PACK]);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinew_math::Quaternion;

    fn sample() -> Mat3 {
        let turn = Quaternion::exp_map(Vec3::new(0.7, -0.4, 1.1)).to_matrix();
        turn * Mat3::new([[1.3, 0.2, -0.1], [0.2, 0.8, 0.3], [-0.1, 0.3, 1.1]])
    }

    /// Ṡ is the derivative of S along F + t Ḟ; central differences leave 1e-9.
    #[test]
    fn stretch_rate_is_the_derivative_of_the_stretch() {
        let (F, dF) = (sample(), Mat3::new([[0.3, -0.2, 0.5], [0.1, 0.4, -0.6], [-0.3, 0.2, 0.1]]));
        let stretch = |t: f64| StretchRate::at(&(F + dF * t)).stretch;
        let h = 1e-5;
        let numeric = (stretch(h) - stretch(-h)) / (2.0 * h);
        assert!((StretchRate::at(&F).of(&dF) - numeric).norm() < 1e-9);
    }

    /// Ḟ = \[w\]ₓ F for any F and any w.
    #[test]
    fn rigid_motion_of_any_shape_at_any_speed_is_not_damped() {
        let moduli = (3.0, 5.0);
        for w in [Vec3::new(1.0, 2.0, -0.5), Vec3::new(1e6, 0.0, 1e6)] {
            for F in [sample(), Mat3::identity(), Mat3::diagonal(Vec3::new(2.0, 1.0, -0.5))] {
                let P = StretchRate::at(&F).stress(&(Mat3::skew(w) * F), moduli);
                assert!(P.norm() < 1e-13 * w.norm() * F.norm() * 20.0, "{P:?}");
            }
        }
    }

    /// P_d : Ḟ = 2βṠ:Ṡ + α tr² ≥ 0, and P_d Fᵀ is symmetric: no torque.
    #[test]
    fn damping_takes_energy_and_makes_no_torque() {
        let dF = Mat3::new([[0.3, -0.2, 0.5], [0.1, 0.4, -0.6], [-0.3, 0.2, 0.1]]);
        let F = sample();
        let map = StretchRate::at(&F);
        let (P, rate) = (map.stress(&dF, (3.0, 5.0)), map.of(&dF));
        let power = 2.0 * 3.0 * rate.norm_squared() + 5.0 * rate.trace().powi(2);
        assert!((P.double_dot(&dF) - power).abs() < 1e-12);
        let torque = P.mul_transpose(&F).skew_part();
        assert!(torque.norm() < 1e-12, "{torque:?}");
    }

    /// At S = I it is the formula of the paper: R (β(G + Gᵀ) + α tr(G) I).
    #[test]
    fn unstrained_flesh_has_the_damping_of_the_document() {
        let R = Quaternion::exp_map(Vec3::new(0.7, -0.4, 1.1)).to_matrix();
        let dF = Mat3::new([[0.3, -0.2, 0.5], [0.1, 0.4, -0.6], [-0.3, 0.2, 0.1]]);
        let G = R.transpose_mul(&dF);
        let printed = R * ((G + G.transpose()) * 3.0 + Mat3::identity() * (5.0 * G.trace()));
        assert!((StretchRate::at(&R).stress(&dF, (3.0, 5.0)) - printed).norm() < 1e-13);
    }

    #[test]
    fn flat_and_inverting_cells_have_finite_damping() {
        let dF = Mat3::identity();
        for sigma in [[0.0; 3], [1.0, 0.0, 0.0], [1.0, 0.5, -0.5], [1.0, 1e-9, -1e-9]] {
            let P = StretchRate::at(&Mat3::diagonal(sigma.into())).stress(&dF, (3.0, 5.0));
            assert!(P.is_finite() && P.norm() < 100.0, "{sigma:?}: {P:?}");
        }
    }
}
