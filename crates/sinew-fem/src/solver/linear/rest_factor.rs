//! A preconditioner for small bodies: a factor of the rest state, computed once and rotated with the flesh.
//!
//! To first order, the stiffness of flesh that bends and rotates is that of the rest state in rotated axes. With a
//! rotation Rᵢ for each node, z = R (K₀ + M κ)⁻¹ Rᵀ r leaves only the strain for conjugate gradients to correct. That
//! takes a few iterations, even at ν → ½, where a grid needs many and a factor of every tangent is slow. The factor
//! depends only on the model, its stiffness and the length of the step, never on the past, so resumed runs have the
//! same bits.

#![allow(non_snake_case)]

use sinew_math::cholesky::{Cholesky, SymbolicCholesky};
use sinew_math::krylov::Preconditioner;
use sinew_math::sparse::BlockCsr;
use sinew_math::svd3::svd3_plain;
use sinew_math::{Mat3, Vec3};

use super::assembly::TangentAt;
use super::backend::{Frame, SolveFailure, add_shift, filter_scale, hold_softly};
use super::plan::AssemblyPlan;
use crate::material::Tangent;
use crate::model::Model;

/// Relative shift of the diagonal: covers the rounding of f32 in factors of stiff, nearly incompressible flesh.
const SHIFT: f64 = 1e-6;

/// The factor and its rotations.
pub(super) struct RestFactor {
    factor: Cholesky<f32>,
    matrix: BlockCsr<f32>,
    rest: Vec<Vec3>,
    /// Inputs of the current factor: κ, the rate of the scheme and the stiffness of each block. Empty before the first
    /// factorization.
    key: Vec<f64>,
    wanted: Vec<f64>,
    /// Rotation of each unknown.
    rotations: Vec<Mat3<f32>>,
    sums: Vec<Mat3>,
    free: Vec<Vec3<f32>>,
}

impl RestFactor {
    /// Whether the preconditioner supports a model: all nodes are their own unknowns, and no contacts come and go
    /// between them.
    pub fn serves(model: &Model) -> bool {
        let kinematics = &model.kinematics;
        model.contact.is_empty() && kinematics.rigid_blocks().is_empty() && kinematics.has_free_points_only()
    }

    /// Creates the preconditioner for a model that it [`serves`](Self::serves).
    pub fn new(model: &Model, plan: &AssemblyPlan) -> Self {
        let nodes = model.kinematics.unknown_count();
        let factor = SymbolicCholesky::new(&plan.pattern).and_then(|symbolic| symbolic.prepare());
        let mut rest = vec![Vec3::zero(); model.kinematics.point_count()];
        for body in &model.bodies {
            rest[body.points.clone()].copy_from_slice(body.mesh.positions());
        }
        let free = (0..nodes).map(|node| {
            let [x, y, z] = model.kinematics.fixed(node).map(|fixed| if fixed { 0.0 } else { 1.0 });
            Vec3::new(x, y, z)
        });
        Self {
            factor: factor.expect("a pattern in memory can be analyzed"),
            matrix: BlockCsr::zeros(plan.pattern.clone()),
            rest,
            key: Vec::new(),
            wanted: Vec::new(),
            rotations: vec![Mat3::identity(); nodes],
            sums: vec![Mat3::zero(); nodes],
            free: free.collect(),
        }
    }

    /// Rotates the factor to the point `at`, after a new factorization where stiffness or step length have changed.
    pub fn prepare(
        &mut self,
        at: &TangentAt<'_, '_>,
        Frame { plan, filter, free, hinges, .. }: Frame<'_>,
    ) -> Result<(), SolveFailure> {
        let model = at.problem.model;
        at.problem.rest_key(&mut self.wanted);
        if self.key != self.wanted {
            self.key.clear();
            plan.assemble_rest(at.problem, &self.rest, &mut self.matrix);
            let scale = filter_scale(&self.matrix);
            filter.apply(&mut self.matrix, scale);
            hold_softly(free, hinges, Tangent::Definite, &mut self.matrix, scale);
            add_shift(&mut self.matrix, SHIFT);
            self.matrix.mirror_lower();
            self.factor.refactor(&self.matrix).map_err(SolveFailure::Factor)?;
            self.key.clone_from(&self.wanted);
        }
        self.sums.fill(Mat3::zero());
        for block in &model.elastic {
            let nodes = block.kind().nodes_per_cell();
            for cell in 0..block.cell_count() {
                let mut mean = Mat3::zero();
                block.evaluate_deformation(cell, at.x, |_, weight, F| mean += F * weight);
                for a in 0..nodes {
                    if let Some(unknown) = model.kinematics.own_unknown(block.point(cell, a) as usize) {
                        self.sums[unknown as usize] += mean;
                    }
                }
            }
        }
        for (rotation, sum) in self.rotations.iter_mut().zip(&self.sums) {
            *rotation = Mat3::from_f64(svd3_plain(sum).rotation());
        }
        Ok(())
    }
}

impl Preconditioner<f32> for RestFactor {
    fn apply(&mut self, r: &[Vec3<f32>], z: &mut [Vec3<f32>]) {
        for (z, (&r, rotation)) in z.iter_mut().zip(r.iter().zip(&self.rotations)) {
            *z = rotation.transpose_mul_vec(r);
        }
        let solved = self.factor.solve_in_place(z);
        debug_assert!(solved.is_ok(), "there is a factor: {solved:?}");
        for (z, (rotation, free)) in z.iter_mut().zip(self.rotations.iter().zip(&self.free)) {
            *z = (*rotation * *z).component_mul(*free);
        }
    }
}
