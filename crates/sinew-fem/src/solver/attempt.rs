//! The iterations of one step: Newton's method with projection on demand and acceptance on energy.
//!
//! Find q with Jᵀ ∂Φ/∂x = 0: solve H δ = −g, go along δ as far as the merit function Φ falls enough (Armijo). The exact tangent H is
//! used until something shows that it is not positive definite (negative curvature in CG, a failed pivot, a direction that does not
//! descend, a step cut below 0.3); then that iteration uses the definite one [Teran05inv]. That one is stiffer than the body where this buckles or
//! unfolds: full steps creep there, so they are stretched while the forces still pull along them, and from then on only a part of the negative
//! curvature is taken out. Accepting a step because the residual fell would walk into saddles, so the residual decides only inside the rounding error
//! of the energy. Where a force has no potential, a step is accepted by the work along it, or when the residual falls. Among contacts the few nodes
//! that are far from equilibrium move alone first ([`super::mending`]).

use std::time::Instant;

use sinew_math::Vec3;
use sinew_math::parallel::sum;

use super::acceleration::Past;
use super::assembly::TangentAt;
use super::cycles::Cycles;
use super::guide::Guide;
use super::integrator::Regime;
use super::newton::ORDINARY_ITERATIONS;
use super::params::{ResidualNorm, SolverParams};
use super::problem::{Merit, Problem};
use super::search::{Caution, Direction, MOST_SHIFT, Step};
use super::system::{LinearSystem, SolveFailure};
use crate::interrupt::Interrupt;
use crate::kinematics::Unknowns;
use crate::model::{Model, Motion};
use crate::report::{StepReport, StepTiming};

/// Steps shorter than this fraction are slow; so many of them in a row lead nowhere.
const SLOW_STEP: f64 = 1e-3;
const MAX_SLOW_STEPS: usize = 10;
/// Steps shorter than this fraction say nothing about the next.
const SHORT_STEP: f64 = 0.5;
/// Residuals this many times the rounding of the positions are converged when nothing lowers them any more, or a step leaves this share of them.
const STALLED_ROUNDINGS: f64 = 1e3;
const STALLED_SHARE: f64 = 0.5;
/// So are those of an iterate from which a whole step would move no node by more than this part of a cell: the energy is too flat to judge it. A frame
/// in which nothing moves gets there, because its yardstick is what the frame before has left over.
const STALLED_STRIDE: f64 = 1e-7;
/// Loosest linear solves. In dynamics inertia makes the first Newton step so good that a tight solve saves the third (beam L: 2.9 against 2.1
/// steps per frame); in quasistatics the first steps are far from the solution anyway.
const DYNAMIC_FORCING: f64 = 0.02;
pub(super) const STATIC_FORCING: f64 = 0.1;
/// Among contacts, which bend the energy too much for more; and the tightest there, after the first iteration.
const TOUCHING_FORCING: f64 = 0.2;
const LEAST_TOUCHING_FORCING: f64 = 0.1;
/// The first of a step that starts where bones have carried flesh, which is as good a start.
const FOLLOWED_FORCING: f64 = 0.03;
/// Share of the goal that a linear solve need not leave.
const GOAL_SHARE: f64 = 0.3;
/// How many times `max_newton` a step may take that starts with inverted cells, and one that nothing else will help while its energy falls.
const SCRAMBLED_PATIENCE: usize = 4;
const LAST_PATIENCE: usize = 30;
/// Iterations without a lower residual after which steps are shortened where there is no potential, and by what shift at first; it grows tenfold
/// with as many again.
const CALM_AGE: usize = 10;
const CALM_SHIFT: f64 = 1e-3;

/// Iterates of a step at which penalty contact looks for the way out anew (MCA-28); after that it stays, so that the iteration ends.
const EXIT_SEARCHES: usize = 6;
/// Share of the goal above which nodes are mended, and of the largest force on any.
const SEED_SHARE: f64 = 0.5;
const LARGEST_SHARE: f64 = 0.03;
/// What mending must leave of a residual at most, to be tried again before the next iteration.
const MENDED_SHARE: f64 = 0.7;

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
        if !model.following.is_empty() {
            self.correction.resize(unknowns, Vec3::zero());
        }
        if creeps(model) {
            self.past.resize(unknowns);
        }
    }
}

/// Whether iterations among contacts may creep: rotations of free rigid bodies are no vectors that could be combined.
fn creeps(model: &Model) -> bool {
    !model.contact.is_empty() && model.driven.len() == model.rigid_bodies.len()
}

/// Why an attempt ended; becomes a [`StepError`] with the node and cell to blame.
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

pub(super) fn norm(v: &[Vec3]) -> f64 {
    sum(v.len(), |i| v[i].norm_squared()).sqrt()
}

/// Largest of some forces.
pub(super) fn largest(v: &[Vec3]) -> f64 {
    v.iter().map(|v| v.norm_squared()).fold(0.0, f64::max).sqrt()
}

pub(super) fn dot(a: &[Vec3], b: &[Vec3]) -> f64 {
    sum(a.len(), |i| a[i].dot(b[i]))
}

/// The lowest residual so far, and how many iterations ago that was.
struct Best {
    residual: f64,
    age: usize,
}

impl Best {
    /// The shift that makes steps shorter while the residual does not fall. Without a potential nothing else keeps iterations from going around in
    /// circles.
    fn calming_shift(&mut self, residual: f64) -> f64 {
        if residual < 0.9 * self.residual {
            *self = Self { residual, age: 0 };
        } else {
            self.age += 1;
        }
        let restless = self.age.saturating_sub(CALM_AGE) as f64;
        if restless > 0.0 { (CALM_SHIFT * 10f64.powf(restless / CALM_AGE as f64)).min(MOST_SHIFT) } else { 0.0 }
    }
}

/// One step that is being solved.
pub(super) struct Attempt<'a> {
    pub problem: Problem<'a>,
    pub system: &'a mut LinearSystem,
    pub params: &'a SolverParams,
    pub work: &'a mut Work,
    pub timing: &'a mut StepTiming,
    pub unit_strain_force: f64,
    pub guide: &'a mut Option<Option<Guide>>,
    /// The longest believable step of a node [m].
    pub max_stride: f64,
    /// Whether this is the last try.
    pub is_patient: bool,
    /// Asked in every iteration.
    pub interrupt: &'a Interrupt,
    /// Iterations beyond ordinary ones after which the frame is given up.
    pub hard_iterations_left: usize,
    /// Largest force on an unknown when only what is prescribed has moved [N].
    pub largest_at_start: f64,
}

impl Attempt<'_> {
    /// Iterates until the residual is small enough, or gives up; the merit of the last iterate.
    pub(super) fn run(&mut self, report: &mut StepReport) -> Result<Merit, Failure> {
        let (reference, mut merit) = self.start(report)?;
        let goal = self.params.tolerance * reference;
        let cap = if self.params.regime.is_dynamic() { DYNAMIC_FORCING } else { STATIC_FORCING };
        let mut residual = norm(&self.work.gradient);
        let mut previous_size = f64::INFINITY;
        let mut caution = Caution::none();
        let mut slow = 0;
        // Who counts iterations counts time.
        let mends = self.params.budget.is_none();
        let mut may_mend = mends;
        let creeps = self.params.regime == Regime::Quasistatic && creeps(self.problem.model);
        self.work.past.forget();
        let mut is_running_away = false;
        let mut most = None;
        let mut best = Best { residual: f64::INFINITY, age: 0 };
        let mut cycles = Cycles::new(self.params);
        let mut searches = if self.problem.contact.has_exits() { EXIT_SEARCHES } else { 0 };
        loop {
            if self.interrupt.is_wanted() {
                return Err(Failure::Interrupted);
            }
            if searches > 0 {
                searches -= 1;
                let start = Instant::now();
                self.problem.contact.find_exits(self.problem.model, &self.work.x);
                self.timing.contact += start.elapsed();
                merit = self.gradient_at_iterate();
                residual = norm(&self.work.gradient);
            }
            if !residual.is_finite() || !merit.magnitude.is_finite() {
                return Err(Failure::NotFinite);
            }
            let size = self.size(&self.work.gradient);
            let relative = if reference > 0.0 { size / reference } else { 0.0 };
            report.residual = residual;
            report.relative_residual = relative;
            let rounding = self.system.rounding_floor(&self.work.q);
            if size <= goal || residual <= rounding {
                return Ok(merit);
            }
            if cycles.go_on(relative) {
                if let Some(reached) = self.cycle(merit, &mut cycles, report) {
                    merit = reached;
                    residual = norm(&self.work.gradient);
                }
                continue;
            }
            let iterations = report.newton_iterations;
            if iterations >= self.params.max_newton
                && iterations >= *most.get_or_insert_with(|| self.most_iterations(merit))
            {
                if is_running_away {
                    return Err(Failure::Singular(SolveFailure::Unheld { distance: self.max_stride }));
                }
                return Err(Failure::NotConverged { iterations, relative_residual: relative });
            }
            if iterations.saturating_sub(ORDINARY_ITERATIONS) > self.hard_iterations_left {
                return Err(Failure::Exhausted);
            }
            let is_touching = creeps && self.problem.contact.is_repelling();
            if is_touching
                && may_mend
                && let Some(mended) = self.mend(merit, goal, report)
            {
                may_mend = self.size(&self.work.gradient) < MENDED_SHARE * size;
                merit = mended;
                residual = norm(&self.work.gradient);
                self.work.past.forget();
                continue;
            }
            may_mend = mends;
            report.newton_iterations += 1;
            let is_carried = iterations == 0 && !self.problem.model.following.is_empty();
            let cap = if is_touching { cap.max(TOUCHING_FORCING) } else { cap };
            let cap = if is_carried { cap.min(FOLLOWED_FORCING.max(GOAL_SHARE * goal / size)) } else { cap };
            let mut forcing = forcing_term(size, previous_size, goal, cap);
            if is_touching && iterations > 0 {
                forcing = forcing.max(LEAST_TOUCHING_FORCING);
            }
            if merit.potential.is_none() {
                caution.shift = caution.shift.max(best.calming_shift(residual));
            }
            let direction = self.find_direction(&caution, forcing, report)?;
            is_running_away = direction.is_cut;
            if is_touching {
                let Work { q, gradient, direction, past, .. } = &mut *self.work;
                past.accelerate(&q.vectors, gradient, direction);
            }
            let slope = dot(&self.work.gradient, &self.work.direction);
            previous_size = size;
            match self.line_search(merit, slope, report) {
                // Forces of a barrier change by orders within a fraction of its gap: where a whole step moves next to nothing, they say no more.
                Some(step)
                    if self.problem.contact.has_barriers() && self.is_still(&step) || self.is_rounding(residual) =>
                {
                    report.residual = norm(&self.work.gradient);
                    let size = self.size(&self.work.gradient);
                    report.relative_residual = if reference > 0.0 { size / reference } else { 0.0 };
                    return Ok(step.merit);
                }
                Some(step) => {
                    caution.learn(&direction, &step);
                    if step.fraction < SHORT_STEP {
                        self.work.past.forget();
                    }
                    slow = if step.fraction < SLOW_STEP { slow + 1 } else { 0 };
                    merit = step.merit;
                    residual = norm(&self.work.gradient);
                }
                None if residual <= STALLED_ROUNDINGS * self.system.rounding_floor(&self.work.q) => return Ok(merit),
                None if self.is_flat(&direction) => return Ok(merit),
                // The tangent may be at fault: once more with a safer one before giving up.
                None if caution.retreat(&direction) => {}
                None => return Err(Failure::Stalled { relative_residual: relative }),
            }
            if slow > MAX_SLOW_STEPS {
                return Err(Failure::Stalled { relative_residual: relative });
            }
        }
    }

    /// Moves the few nodes that are too far from equilibrium, all others staying where they are; the merit there, if these are few and it is lower.
    fn mend(&mut self, merit: Merit, goal: f64, report: &mut StepReport) -> Option<Merit> {
        let start = Instant::now();
        let least = match self.params.norm {
            ResidualNorm::Euclidean => SEED_SHARE * goal / (self.work.gradient.len() as f64).sqrt(),
            ResidualNorm::Largest => SEED_SHARE * goal,
        };
        let least = least.max(LARGEST_SHARE * largest(&self.work.gradient));
        self.problem.linearize_contact(&self.work.x);
        let Work { q, x, point_gradient, gradient, direction, .. } = &mut *self.work;
        let at = TangentAt { problem: &self.problem, q, x, point_gradient, definite: 1.0 };
        let is_found = self.system.mend(&at, gradient, least, direction);
        self.timing.linear_solve += start.elapsed();
        if !is_found || self.distance() > self.max_stride {
            return None;
        }
        let slope = dot(&self.work.gradient, &self.work.direction);
        if !(slope < 0.0) {
            return None;
        }
        let step = self.line_search(merit, slope, report)?;
        report.mendings += 1;
        Some(step.merit)
    }

    /// Size of some forces, as the tolerance measures them.
    pub(super) fn size(&self, forces: &[Vec3]) -> f64 {
        match self.params.norm {
            ResidualNorm::Euclidean => norm(forces),
            ResidualNorm::Largest => largest(forces),
        }
    }

    /// Whether a whole step moved no node by more than the tolerance in cells.
    fn is_still(&self, step: &Step) -> bool {
        step.fraction == 1.0 && self.distance() <= self.params.tolerance * self.smallest_cell()
    }

    /// Whether a whole step would move no node by as much as the energy could tell.
    fn is_flat(&self, direction: &Direction) -> bool {
        let cell = self.smallest_cell();
        direction.is_whole() && cell.is_finite() && self.distance() <= STALLED_STRIDE * cell
    }

    /// Whether rounding is all that a step has left, given the residual before it.
    fn is_rounding(&self, before: f64) -> bool {
        let residual = norm(&self.work.gradient);
        residual > STALLED_SHARE * before && residual <= STALLED_ROUNDINGS * self.system.rounding_floor(&self.work.q)
    }

    /// How far the direction takes the node that it moves most [m].
    fn distance(&self) -> f64 {
        self.work.direction.iter().map(|d| d.norm()).fold(0.0, f64::max)
    }

    /// Infinite where nothing has cells [m].
    fn smallest_cell(&self) -> f64 {
        self.problem.model.bodies.iter().map(|body| body.cell_size()).fold(f64::INFINITY, f64::min)
    }

    /// How many iterations are worth while. Shorter steps do not help where quasistatics starts with inverted cells, snaps, or cannot be cut any more;
    /// an energy that falls gets to its minimum some day. In dynamics shorter steps help sooner.
    fn most_iterations(&self, merit: Merit) -> usize {
        let is_scrambled = self.problem.model.has_inverted_cells(&self.problem.ctx.previous.positions);
        let is_static = !self.params.regime.is_dynamic();
        let patience = match merit.potential {
            _ if self.params.budget.is_some() => 1,
            Some(_) if is_static && (is_scrambled || self.is_patient) => LAST_PATIENCE,
            Some(_) if self.is_patient => SCRAMBLED_PATIENCE,
            _ if is_scrambled => SCRAMBLED_PATIENCE,
            _ => 1,
        };
        patience * self.params.max_newton
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

/// Relative accuracy of the linear solve: Eisenstat–Walker, at most `cap`, no tighter than the goal needs [EisenstatWalker96].
fn forcing_term(size: f64, previous: f64, goal: f64, cap: f64) -> f64 {
    let quadratic = if previous.is_finite() { 0.9 * (size / previous).powi(2) } else { cap };
    quadratic.clamp(1e-5, cap).max((GOAL_SHARE * goal / size).min(cap))
}
