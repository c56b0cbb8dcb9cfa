//! The tangent matrix over the unknowns: H = Jᵀ (∂²Φ/∂x²) J + geometric term.

use sinew_math::sparse::{BlockCsr, PackReal};
use sinew_math::{Mat3, Real, Vec3};

use super::super::problem::Problem;
use super::plan::AssemblyPlan;
use crate::elastic::Actuation;
use crate::force::Linearized;
use crate::kinematics::{Kinematics, Unknowns};
use crate::material::Tangent;
use crate::model::StepDrive;

/// Point at which the equations are linearized, and how.
#[derive(Clone, Copy)]
pub(crate) struct TangentAt<'a, 'p> {
    pub problem: &'a Problem<'p>,
    pub q: &'a Unknowns,
    /// Points x(q).
    pub x: &'a [Vec3],
    /// Gradient over the points.
    pub point_gradient: &'a [Vec3],
    /// Share of the negative curvature of cells to remove: 0 gives the exact tangent, 1 the definite one.
    pub definite: f64,
}

impl TangentAt<'_, '_> {
    /// Whether the tangent is known to have no negative curvature.
    pub fn tangent(&self) -> Tangent {
        if self.definite < 1.0 { Tangent::Exact } else { Tangent::Definite }
    }
}

/// Scratch memory of the assembly, reused between iterates.
#[derive(Default)]
pub(crate) struct AssemblyScratch {
    linearized: Linearized,
    geometric: Vec<Mat3>,
}

impl AssemblyPlan {
    /// Fills the blocks of `matrix` on and below the diagonal with the tangent; blocks above the diagonal do not
    /// change.
    pub fn assemble<S: PackReal>(
        &self,
        at: &TangentAt<'_, '_>,
        scratch: &mut AssemblyScratch,
        matrix: &mut BlockCsr<S>,
    ) {
        let TangentAt { problem, q, x, point_gradient, definite } = *at;
        // Weights of the two tangents of cells. Forces have little curvature and take the definite tangent if its
        // weight is not zero.
        let shares = [(Tangent::Exact, 1.0 - definite), (Tangent::Definite, definite)];
        let shares = || shares.into_iter().filter(|&(_, share)| share > 0.0);
        let tangent = if definite > 0.0 { Tangent::Definite } else { Tangent::Exact };
        let model = problem.model;
        let kinematics = &model.kinematics;
        let AssemblyScratch { linearized, geometric } = scratch;
        match problem.damping_matrix() {
            Some(damping) => matrix.copy_from(damping),
            None => matrix.set_zero(),
        }
        for (block, plan) in model.elastic.iter().zip(&self.elastic) {
            let scale = model.stiffness_of(block, problem.ctx.control);
            let drive = StepDrive::new(model, block, &problem.ctx);
            let actuation = &drive.actuation();
            for (tangent, share) in shares() {
                match plan {
                    Some(plan) => block.add_tangent(x, actuation, tangent, share * scale, plan, matrix.values_mut()),
                    None => {
                        block.visit_tangents(0..block.pack_count(), x, actuation, tangent, &mut |cell, a, b, k| {
                            let (a, b) = (block.point(cell, a), block.point(cell, b));
                            add_point_block(kinematics, q, a, b, &(k * (share * scale)), matrix);
                        });
                    }
                }
            }
        }
        // Quasistatics has no inertia to add; skip the loop over all points.
        let has_inertia = problem.scheme.inertia != 0.0 || problem.scheme.rate != 0.0;
        for point in 0..if has_inertia { kinematics.point_count() } else { 0 } {
            let inertia = Mat3::identity() * problem.point_inertia(point);
            match kinematics.own_unknown(point) {
                Some(unknown) => matrix.add_diagonal(unknown as usize, &Mat3::from_f64(inertia)),
                None => add_point_block(kinematics, q, point as u32, point as u32, &inertia, matrix),
            }
        }
        linearized.clear();
        for force in model.forces() {
            force.linearize(x, &problem.ctx, tangent, linearized);
        }
        for &(a, b, ref block) in linearized.blocks().iter().chain(problem.bound_damping()) {
            add_point_block(kinematics, q, a, b, block, matrix);
        }
        kinematics.geometric_terms(q, point_gradient, geometric);
        for (term, rigid) in geometric.iter().zip(kinematics.rigid_blocks()) {
            let term = match tangent {
                Tangent::Exact => *term,
                Tangent::Definite => positive_part(term),
            };
            matrix.add_diagonal(rigid.rotation as usize, &Mat3::from_f64(term));
        }
    }
}

impl AssemblyPlan {
    /// Fills `matrix` with elasticity and damping at `rest`, and with inertia. For models whose points are all
    /// unknowns.
    pub fn assemble_rest(&self, problem: &Problem<'_>, rest: &[Vec3], matrix: &mut BlockCsr<f32>) {
        let model = problem.model;
        matrix.set_zero();
        for (index, (block, plan)) in model.elastic.iter().zip(&self.elastic).enumerate() {
            let Some(plan) = plan else { continue };
            let scale = problem.rest_scale(index);
            block.add_tangent(rest, &Actuation::PASSIVE, Tangent::Definite, scale, plan, matrix.values_mut());
        }
        for point in 0..model.kinematics.point_count() {
            if let Some(unknown) = model.kinematics.own_unknown(point) {
                let inertia = Mat3::identity() * problem.point_inertia(point);
                matrix.add_diagonal(unknown as usize, &Mat3::from_f64(inertia));
            }
        }
    }
}

/// Adds Jₐᵀ K J_b where it lies on or below the diagonal.
fn add_point_block<S: Real>(kinematics: &Kinematics, q: &Unknowns, a: u32, b: u32, k: &Mat3, matrix: &mut BlockCsr<S>) {
    kinematics.for_each_block(q, a as usize, b as usize, k, |row, column, block| {
        if column <= row {
            let added = matrix.add_block(row as usize, column as usize, &Mat3::from_f64(block));
            debug_assert!(added.is_ok(), "the pattern covers all couplings: {added:?}");
        }
    });
}

/// Projects a symmetric matrix to its positive eigenvalues.
///
/// The singular vectors of A itself mix the eigenvectors of +s and −s (the geometric term of a force across its arm has
/// exactly such a pair). Those of A + s I with s ≥ |λ| are the eigenvectors.
fn positive_part(matrix: &Mat3) -> Mat3 {
    let shift = matrix.norm();
    let svd = sinew_math::svd3::svd3_plain(&(matrix.symmetric_part() + Mat3::identity() * shift));
    let mut out = Mat3::zero();
    for k in 0..3 {
        let v = svd.v.column(k);
        out += Mat3::outer(v, v) * (svd.sigma[k] - shift).max(0.0);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A = A⁺ − (−A)⁺, also for pairs of eigenvalues ±s.
    #[test]
    fn positive_parts_of_a_matrix_and_its_negative_differ_by_the_matrix() {
        let pair = Mat3::outer(Vec3::unit(0), Vec3::unit(2)).symmetric_part();
        let general = Mat3::new([[1.0, -2.0, 0.3], [-2.0, -0.5, 0.7], [0.3, 0.7, 0.1]]);
        for a in [pair, general, Mat3::zero(), Mat3::identity(), -Mat3::identity()] {
            let difference = positive_part(&a) - positive_part(&-a) - a;
            // The Jacobi sweeps of the SVD leave vectors orthogonal to about 1e-7.
            assert!(difference.norm() < 1e-6 * (1.0 + a.norm()), "{a:?}: {difference:?}");
        }
    }
}
