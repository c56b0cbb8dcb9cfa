//! The Newton loop of one step: its vectors, and merit and gradients at iterate and trial.

use std::time::Instant;

use sinew_math::Vec3;

use super::super::linear::{LinearSystem, SolveFailure};
use super::super::params::{ResidualNorm, SolverParams};
use super::super::problem::{Merit, Problem};
use super::acceleration::Past;
use super::harmonic_guess::HarmonicGuess;
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
    /// Motions of the drivers, in this step and in the last.
    pub motions: Vec<Motion>,
    pub last_motions: Vec<Motion>,
    /// The old unknowns with prescribed values, and the correction that the last step made to blend skinning.
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

/// Whether Anderson acceleration applies among contacts. Rotations of free rigid bodies are not vectors that can be
/// combined.
pub(super) fn creeps(model: &Model) -> bool {
    !model.contact.is_empty() && model.driven.len() == model.rigid_bodies.len()
}

/// Why a Newton loop ended; becomes a [`StepError`] that names the node and cell.
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
    /// A prescribed node has run into an obstacle that does not give way.
    Blocked,
    Singular(SolveFailure),
}

/// One step being solved.
pub(super) struct NewtonLoop<'a> {
    pub problem: Problem<'a>,
    pub system: &'a mut LinearSystem,
    pub params: &'a SolverParams,
    pub work: &'a mut Work,
    pub timing: &'a mut StepTiming,
    pub unit_strain_force: f64,
    pub harmonic_guess: &'a mut Option<Option<HarmonicGuess>>,
    /// Maximum length of a believable step of a node \[m\].
    pub max_stride: f64,
    /// Whether the limit on iterations is lifted.
    pub is_patient: bool,
    /// Whether the step ends within a frame.
    pub is_passing: bool,
    /// Polled in every iteration.
    pub interrupt: &'a Interrupt,
    /// Iterations beyond ordinary ones that remain for the frame.
    pub hard_iterations_left: usize,
    /// Largest force on an unknown after the motion of prescribed unknowns alone \[N\].
    pub largest_at_start: f64,
}

impl NewtonLoop<'_> {
    /// Size of a force vector in the norm of the tolerance.
    pub(super) fn size(&self, forces: &[Vec3]) -> f64 {
        match self.params.norm {
            ResidualNorm::Euclidean => norm(forces),
            ResidualNorm::Largest => largest(forces),
        }
    }

    /// Longest motion of a node along the direction \[m\].
    pub(super) fn distance(&self) -> f64 {
        self.work.direction.iter().map(|d| d.norm()).fold(0.0, f64::max)
    }

    /// Size of the smallest cell; infinite in models without cells \[m\].
    pub(super) fn smallest_cell(&self) -> f64 {
        self.problem.model.bodies.iter().map(|body| body.cell_size()).fold(f64::INFINITY, f64::min)
    }

    /// Ends a step whose budget is spent, or that makes no progress. Keeps the iterate, whose merit is no higher than
    /// at the start, or the old state where that is not finite; returns the merit there.
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

    /// Evaluates the trial at `fraction` of `direction` from the iterate; returns its merit and updates the gradients.
    pub(super) fn evaluate_trial(&mut self, fraction: f64) -> Merit {
        self.place_trial(fraction);
        self.gradient_at_trial()
    }

    /// Sets the trial to `fraction` of `direction` from the iterate.
    pub(super) fn place_trial(&mut self, fraction: f64) {
        let kinematics = &self.problem.model.kinematics;
        kinematics.advance(&self.work.q, &self.work.direction, fraction, &mut self.work.trial);
        let Work { q, trial, direction, .. } = &mut *self.work;
        self.system.hinges().bend(&q.vectors, direction, fraction, &mut trial.vectors);
        kinematics.place(&self.work.trial, &mut self.work.trial_x);
    }

    /// Merit and gradients at the trial, whose points are up to date.
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

    /// Makes the trial the iterate, with its gradients.
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
