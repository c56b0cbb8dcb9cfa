//! Nonlinear multigrid instead of Newton's method, while the iterate is far from the solution (MCA-37). A cycle
//! proposes a step, and the line search takes it as far as the merit function falls (MCA-38).

use std::time::Instant;

use super::super::linear::TangentAt;
use super::super::params::{NonlinearSolver, SolverParams};
use super::super::problem::Merit;
use super::newton_loop::{NewtonLoop, Work};
use super::vectors::dot;
use crate::report::StepReport;

/// Maximum number of cycles of a step before Newton's method takes over.
const MAX_CYCLES: usize = 30;
/// Share of the first residual below which Newton's method is cheaper, because it converges quadratically there.
const CLOSE: f64 = 1e-4;

/// Remaining cycles of a step.
pub(super) struct Cycles {
    left: usize,
}

impl Cycles {
    pub fn new(params: &SolverParams) -> Self {
        let left = match params.nonlinear {
            NonlinearSolver::Fas => params.budget.map_or(MAX_CYCLES, |budget| budget.newton),
            NonlinearSolver::Newton => 0,
        };
        Self { left }
    }

    /// Whether the next iteration is a cycle, given the residual relative to the first.
    pub fn go_on(&mut self, relative: f64) -> bool {
        if relative < CLOSE {
            self.left = 0;
        }
        self.left > 0
    }
}

impl NewtonLoop<'_> {
    /// Runs a nonlinear cycle on the lattices and a line search along its step. Returns `None`, and ends the cycles,
    /// where that makes no progress.
    pub(super) fn cycle(&mut self, merit: Merit, cycles: &mut Cycles, report: &mut StepReport) -> Option<Merit> {
        let left = std::mem::take(&mut cycles.left);
        let start = Instant::now();
        self.problem.linearize_contact(&self.work.x);
        let Work { q, x, point_gradient, gradient, rhs, direction, .. } = &mut *self.work;
        rhs.iter_mut().zip(&*gradient).for_each(|(r, &g)| *r = -g);
        let at = TangentAt { problem: &self.problem, q, x, point_gradient, definite: 1.0 };
        self.system.assemble(&at);
        self.timing.assembly += start.elapsed();
        let start = Instant::now();
        let found = self.system.correct(rhs, direction);
        self.timing.linear_solve += start.elapsed();
        if !matches!(found, Ok(true)) {
            return None;
        }
        report.nonlinear_cycles += 1;
        self.problem.model.kinematics.filter(&mut self.work.direction);
        self.system.free().project_step(&self.work.q.vectors, &mut self.work.direction);
        let slope = dot(&self.work.gradient, &self.work.direction);
        // This form catches NaN too.
        if !(slope < 0.0) {
            return None;
        }
        let step = self.line_search(merit, slope, report)?;
        cycles.left = left - 1;
        Some(step.merit)
    }
}
