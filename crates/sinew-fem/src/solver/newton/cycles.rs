//! Nonlinear multigrid in place of Newton's method, while the step is far from its end (MCA-37). A cycle proposes a step, which is taken as far as the merit function falls (MCA-38).

use std::time::Instant;

use super::super::linear::TangentAt;
use super::super::params::{NonlinearSolver, SolverParams};
use super::super::problem::Merit;
use super::newton_loop::{NewtonLoop, Work};
use super::vectors::dot;
use crate::report::StepReport;

/// Cycles of a step before Newton's method takes over.
const MAX_CYCLES: usize = 30;
/// Part of the first residual below which Newton's method, which converges quadratically there, is cheaper.
const CLOSE: f64 = 1e-4;

/// How many cycles a step may take yet.
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

    /// Whether the next iteration is a cycle, at this part of the first residual.
    pub fn go_on(&mut self, relative: f64) -> bool {
        if relative < CLOSE {
            self.left = 0;
        }
        self.left > 0
    }
}

impl NewtonLoop<'_> {
    /// A nonlinear cycle on the lattices, and a step along what it found. Where that leads nowhere there is none, and no more cycles.
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
        // Written so that NaN fails.
        if !(slope < 0.0) {
            return None;
        }
        let step = self.line_search(merit, slope, report)?;
        cycles.left = left - 1;
        Some(step.merit)
    }
}
