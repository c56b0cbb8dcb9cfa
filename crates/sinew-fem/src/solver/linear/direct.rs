//! Linear systems of small models: assembled in f64 and factored by Cholesky in every iteration.

use sinew_math::Vec3;
use sinew_math::cholesky::{Cholesky, SymbolicCholesky};
use sinew_math::sparse::BlockCsr;

use super::assembly::{AssemblyScratch, TangentAt};
use super::backend::{Backend, Frame, SolveFailure, Task, add_shift, filter_scale, hold_softly, rounding_floor};
use super::contact_operator::CoupledFactor;
use super::plan::AssemblyPlan;
use crate::kinematics::Unknowns;

/// The matrix and its factor.
pub(super) struct Direct {
    matrix: BlockCsr<f64>,
    factor: Box<Cholesky<f64>>,
    /// Factor of matrices with contacts.
    coupled: CoupledFactor,
}

impl Direct {
    pub fn new(plan: &AssemblyPlan) -> Self {
        let factor = SymbolicCholesky::new(&plan.pattern).and_then(|symbolic| symbolic.prepare());
        Self {
            matrix: BlockCsr::zeros(plan.pattern.clone()),
            factor: Box::new(factor.expect("a pattern in memory can be analyzed")),
            coupled: CoupledFactor::default(),
        }
    }
}

impl Backend for Direct {
    fn fill(&mut self, at: &TangentAt<'_, '_>, frame: Frame<'_>, scratch: &mut AssemblyScratch, _has_tangents: bool) {
        frame.plan.assemble(at, scratch, &mut self.matrix);
        frame.couplings.add_diagonal(&mut self.matrix);
    }

    fn multiply(&self, v: &[Vec3], out: &mut [Vec3]) {
        self.matrix.multiply_lower(v, out);
    }

    fn solve(
        &mut self,
        at: &TangentAt<'_, '_>,
        frame: Frame<'_>,
        task: Task,
        _scratch: &mut AssemblyScratch,
        rhs: &[Vec3],
        out: &mut [Vec3],
    ) -> Result<usize, SolveFailure> {
        let Self { matrix, factor, coupled } = self;
        let scale = filter_scale(matrix);
        frame.filter.apply(matrix, scale);
        hold_softly(frame.free, frame.hinges, at.tangent(), matrix, scale);
        add_shift(matrix, task.shift);
        matrix.mirror_lower();
        if !frame.couplings.is_empty() {
            coupled.solve(matrix, frame.couplings, rhs, out)?;
            return Ok(1);
        }
        factor.refactor(matrix).map_err(SolveFailure::Factor)?;
        out.copy_from_slice(rhs);
        factor.solve_in_place(out).map_err(SolveFailure::Factor)?;
        Ok(1)
    }

    fn rounding_floor(&self, q: &Unknowns) -> f64 {
        rounding_floor(&self.matrix, q)
    }
}
