//! One step that is being solved: its vectors, and merit and gradients at iterate and trial.

use std::time::Instant;

use sinew_math::Vec3;

use super::super::linear::{LinearSystem, SolveFailure};
use super::super::params::{ResidualNorm, SolverParams};
use super::super::problem::{Merit, Problem};
use super::acceleration::Past;
use super::guide::Guide;
use super::vectors::{largest, norm};
use crate::interrupt::Interrupt;
use crate::kinematics::Unknowns;
use crate::model::{Model, Motion};
use crate::report::{StepReport, StepTiming};

/// Loosest linear solves of quasistatics, whose first steps are far from the solution anyway.
pub(super) const STATIC_FORCING: f64 = 0.1;

/// Vectors of the iteration.
#[derive(Default)]
pub(super) struct Work {
    pub q: Unknowns,
    pub trial: Unknowns,
    pub x: Vec<Vec3>,
    pub trial_x: Vec<Vec3>,
    pub point_gradient: Vec<Vec3>,
    pub trial_point_gradient: Vec<Vec3>,
    pub gradient: Vec<Vec3>,
    pub trial_gradient: Vec<Vec3>,
    pub direction: Vec<Vec3>,
    pub rhs: Vec<Vec3>,
    /// Motions of what flesh follows, in this step and in the last.
    pub motions: Vec<Motion>,
    pub last_motions: Vec<Motion>,
    /// The old unknowns with what is prescribed, and what the last step added to blend skinning.
    pub targets: Unknowns,
    pub correction: Vec<Vec3>,
    pub past: Past,
}

impl Work {
    pub fn resize(&mut self, model: &Model) {
        let (points, unknowns) = (model.kinematics.point_count(), model.kinematics.unknown_count());
        for v in [&mut self.x, &mut self.trial_x, &mut self.point_gradient, &mut self.trial_point_gradient] {
            v.resize(points, Vec3::zero());
        }
        for v in [&mut self.gradient, &mut self.trial_gradient, &mut self.direction, &mut self.rhs] {
            v.resize(unknowns, Vec3::zero());
        }
        if !model.skinning_predictor.is_empty() {
            self.correction.resize(unknowns, Vec3::zero());
        }
        if creeps(model) {
            self.past.resize(unknowns);
        }
    }
}

/// Whether iterations among contacts may creep: rotations of free rigid bodies are no vectors that could be combined.
pub(super) fn creeps(model: &Model) -> bool {
    !model.contact.is_empty() && model.driven.len() == model.rigid_bodies.len()
}

/// Why an attempt ended; becomes a [`StepError`](crate::StepError) with the node and cell to blame.
pub(super) enum Failure {
    NotConverged {
        iterations: usize,
        relative_residual: f64,
    },
    Exhausted,
    Interrupted,
    Stalled {
        relative_residual: f64,
    },
    NotFinite,
    /// Something prescribed has run into what does not give way.
    Blocked,
    Singular(SolveFailure),
}

/// One step that is being solved.
pub(super) struct NewtonLoop<'a> {
    pub problem: Problem<'a>,
    pub system: &'a mut LinearSystem,
    pub params: &'a SolverParams,
    pub work: &'a mut Work,
    pub timing: &'a mut StepTiming,
    pub unit_strain_force: f64,
    pub guide: &'a mut Option<Option<Guide>>,
    /// The longest believable step of a node \[m\].
    pub max_stride: f64,
    /// Whether this is the last try.
    pub is_patient: bool,
    /// Asked in every iteration.
    pub interrupt: &'a Interrupt,
    /// Iterations beyond ordinary ones after which the frame is given up.
    pub hard_iterations_left: usize,
    /// Largest force on an unknown when only what is prescribed has moved \[N\].
    pub largest_at_start: f64,
}

impl NewtonLoop<'_> {
    /// Size of some forces, as the tolerance measures them.
    pub(super) fn size(&self, forces: &[Vec3]) -> f64 {
        match self.params.norm {
            ResidualNorm::Euclidean => norm(forces),
            ResidualNorm::Largest => largest(forces),
        }
    }

    /// How far the direction takes the node that it moves most \[m\].
    pub(super) fn distance(&self) -> f64 {
        self.work.direction.iter().map(|d| d.norm()).fold(0.0, f64::max)
    }

    /// Infinite where nothing has cells \[m\].
    pub(super) fn smallest_cell(&self) -> f64 {
        self.problem.model.bodies.iter().map(|body| body.cell_size()).fold(f64::INFINITY, f64::min)
    }

    /// Ends a step whose budget is spent, or that found no way on: keeps the iterate, whose merit is no higher than at the start, or where
    /// that is not finite the old state; returns the merit there.
    pub(super) fn settle(&mut self, report: &mut StepReport) -> Merit {
        report.unconverged = 1;
        let mut merit = self.gradient_at_iterate();
        if !(merit.magnitude.is_finite() && norm(&self.work.gradient).is_finite()) {
            self.work.q.clone_from(&self.problem.ctx.previous.unknowns);
            self.work.x.copy_from_slice(&self.problem.ctx.previous.positions);
            merit = self.gradient_at_iterate();
        }
        report.residual = norm(&self.work.gradient);
        merit
    }

    /// Goes `fraction` of `direction` from the iterate; merit and gradients there.
    pub(super) fn evaluate_trial(&mut self, fraction: f64) -> Merit {
        self.place_trial(fraction);
        self.gradient_at_trial()
    }

    /// Puts the trial at `fraction` of `direction` from the iterate.
    pub(super) fn place_trial(&mut self, fraction: f64) {
        let kinematics = &self.problem.model.kinematics;
        kinematics.advance(&self.work.q, &self.work.direction, fraction, &mut self.work.trial);
        let Work { q, trial, direction, .. } = &mut *self.work;
        self.system.hinges().bend(&q.vectors, direction, fraction, &mut trial.vectors);
        kinematics.place(&self.work.trial, &mut self.work.trial_x);
    }

    /// Merit and gradients at the trial, whose points are in place.
    pub(super) fn gradient_at_trial(&mut self) -> Merit {
        let kinematics = &self.problem.model.kinematics;
        let start = Instant::now();
        let trial = self.problem.evaluate_gradient(&self.work.trial_x, &mut self.work.trial_point_gradient);
        kinematics.pull_back(&self.work.trial, &self.work.trial_point_gradient, &mut self.work.trial_gradient);
        kinematics.filter(&mut self.work.trial_gradient);
        self.system.free().project_forces(&self.work.trial.vectors, &mut self.work.trial_gradient);
        self.timing.gradient += start.elapsed();
        trial
    }

    /// The trial becomes the iterate, with its gradients.
    pub(super) fn take_trial(&mut self) {
        let work = &mut *self.work;
        std::mem::swap(&mut work.q, &mut work.trial);
        std::mem::swap(&mut work.x, &mut work.trial_x);
        std::mem::swap(&mut work.point_gradient, &mut work.trial_point_gradient);
        std::mem::swap(&mut work.gradient, &mut work.trial_gradient);
    }

    /// Merit, point gradient and filtered gradient over the unknowns at the iterate.
    pub(super) fn gradient_at_iterate(&mut self) -> Merit {
        let start = Instant::now();
        let merit = self.problem.evaluate_gradient(&self.work.x, &mut self.work.point_gradient);
        let kinematics = &self.problem.model.kinematics;
        kinematics.pull_back(&self.work.q, &self.work.point_gradient, &mut self.work.gradient);
        kinematics.filter(&mut self.work.gradient);
        self.system.free().project_forces(&self.work.q.vectors, &mut self.work.gradient);
        self.timing.gradient += start.elapsed();
        merit
    }
}
