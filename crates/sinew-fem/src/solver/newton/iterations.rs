//! The iterations of one step: Newton's method with projection on demand and acceptance on energy.
//!
//! Find q with Jᵀ ∂Φ/∂x = 0: solve H δ = −g and go along δ as far as the merit function Φ falls enough (Armijo). The
//! exact tangent H serves until something shows that it is not positive definite: negative curvature in CG, a failed
//! pivot, a direction that does not descend, or a step cut below 0.3. That iteration then uses the definite tangent
//! \[Teran05inv\], which is stiffer than the body where it buckles or unfolds. Full steps creep there, so they are
//! stretched while the forces still pull along them, and from then on only a part of the negative curvature is removed.
//! Accepting a step because the residual fell would lead into saddles, so the residual decides only inside the rounding
//! error of the energy. Where a force has no potential, a step is accepted by the work along it, or when the residual
//! falls. Among contacts, and in characters, local solves move the few nodes far from equilibrium first
//! (`linear/local_solve.rs`).

use std::time::Instant;

use super::super::integrator::Regime;
use super::super::linear::{SolveFailure, TangentAt};
use super::super::params::ResidualNorm;
use super::super::problem::Merit;
use super::cycles::Cycles;
use super::newton_loop::{Failure, NewtonLoop, STATIC_FORCING, Work, creeps};
use super::search::{Caution, Direction, MAX_SHIFT, Step};
use super::vectors::{dot, largest, norm};
use crate::activity::count_newton_iteration;
use crate::report::StepReport;

/// Iterations of a step that count as ordinary.
pub(super) const ORDINARY_ITERATIONS: usize = 50;
/// Steps shorter than this fraction are slow, and this many slow steps in a row make no progress.
const SLOW_STEP: f64 = 1e-3;
const MAX_SLOW_STEPS: usize = 10;
/// Steps shorter than this fraction give no information about the next.
const SHORT_STEP: f64 = 0.5;
/// A residual of up to this many roundings of the positions has converged when nothing lowers it any more, or when a
/// step leaves this share of it.
const STALLED_ROUNDINGS: f64 = 1e3;
const STALLED_SHARE: f64 = 0.5;
/// So has an iterate from which a whole step would move no node by more than this share of a cell: the energy is too
/// flat to judge it. Frames without motion end this way, because their reference is the residual of the frame before.
const STALLED_STRIDE: f64 = 1e-7;
/// Loosest linear solves of dynamics: inertia makes the first Newton step so good that a tight solve saves the third
/// (beam L: 2.9 against 2.1 steps per frame).
const DYNAMIC_FORCING: f64 = 0.02;

/// Loosest linear solves among contacts, which bend the energy too much for a tighter one to pay off; and the tightest
/// there after the first iteration.
const TOUCHING_FORCING: f64 = 0.2;
const MIN_TOUCHING_FORCING: f64 = 0.1;
/// Loosest linear solves of dynamics among penalties, whose contacts change in every iteration (two mats: 890 linear
/// iterations instead of 1389, and no more of Newton's).
const PENALTY_FORCING: f64 = 0.1;
/// Loosest linear solve among contacts that can reach the goal: those of bodies that come to rest.
const LAST_FORCING: f64 = 0.2;
/// Loosest first linear solve of a step that starts from the skinning predictor, which is as good a start.
const FOLLOWED_FORCING: f64 = 0.03;
/// Linear solves go no deeper than this share of the goal.
const GOAL_SHARE: f64 = 0.3;
/// Multiples of `max_newton`: for a step that starts with inverted cells, and as a last resort while its energy falls.
const SCRAMBLED_PATIENCE: usize = 4;
const LAST_PATIENCE: usize = 30;
/// Iterations without a lower residual after which steps without a potential are shortened, and the first shift. The
/// shift grows tenfold with as many iterations again.
const CALM_AGE: usize = 10;
const CALM_SHIFT: f64 = 1e-3;

/// Iterates of a step at which penalty contact searches for exits again (MCA-28). After that the exits are fixed, so
/// that the iteration ends.
const EXIT_SEARCHES: usize = 6;
/// Minimum force on a node for a local solve, relative to the goal and to the largest force.
const SEED_SHARE: f64 = 0.5;
const LARGEST_SHARE: f64 = 0.03;
/// Share of the residual that a local solve may leave for another one to follow at once, and share of the energy that the
/// last global iteration released that it must release for that. Residuals of folds that slide go up and down.
const LOCAL_SOLVE_SHARE: f64 = 0.7;
const LOCAL_GAIN_SHARE: f64 = 0.5;
/// Least reference of forces on a character that touches itself, in forces of its limit at large strain: about twice those
/// of a cell at a strain of one. Contacts press as much. At a tolerance of a thousandth no node feels
/// more than what two thousandths of strain in its cells would change.
const TOUCHING_REFERENCE: f64 = 0.5;
/// Multiple of that goal at which a step ends that nobody sees, since the frame goes on.
const PASSING: f64 = 20.0;

/// The lowest residual so far, and how many iterations ago that was.
struct Best {
    residual: f64,
    age: usize,
}

impl Best {
    /// Returns the shift that shortens steps while the residual does not fall. Without a potential, nothing else keeps
    /// iterations from going around in circles.
    fn calming_shift(&mut self, residual: f64) -> f64 {
        if residual < 0.9 * self.residual {
            *self = Self { residual, age: 0 };
        } else {
            self.age += 1;
        }
        let restless = self.age.saturating_sub(CALM_AGE) as f64;
        if restless > 0.0 { (CALM_SHIFT * 10f64.powf(restless / CALM_AGE as f64)).min(MAX_SHIFT) } else { 0.0 }
    }
}

impl NewtonLoop<'_> {
    /// Iterates until the residual is small enough, or fails; returns the merit of the last iterate.
    pub(super) fn run(&mut self, report: &mut StepReport) -> Result<Merit, Failure> {
        let (reference, mut merit) = self.start(report)?;
        self.largest_at_start = self.largest_at_start.max(self.least_reference());
        let references = [reference, reference.max(self.touching_reference())];
        let cap = if self.params.regime.is_dynamic() { DYNAMIC_FORCING } else { STATIC_FORCING };
        let mut residual = norm(&self.work.gradient);
        let mut previous_size = f64::INFINITY;
        let mut caution = Caution::none();
        let mut slow = 0;
        // A budget allows as many local solves as iterations.
        let max_local_solves = self.params.budget.map_or(usize::MAX, |budget| budget.newton);
        let mut may_solve_locally = true;
        let creeps = self.params.regime == Regime::Quasistatic && creeps(self.problem.model);
        let is_character = !self.problem.model.skinning_predictor.is_empty();
        self.work.past.forget();
        let mut is_running_away = false;
        let mut most = None;
        let mut last_gain = f64::INFINITY;
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
                let has_searched = self.problem.contact.find_exits(&self.problem.model.contact, &self.work.x);
                self.timing.contact += start.elapsed();
                if has_searched {
                    merit = self.gradient_at_iterate();
                    residual = norm(&self.work.gradient);
                }
            }
            if !residual.is_finite() || !merit.magnitude.is_finite() {
                return Err(Failure::NotFinite);
            }
            let size = self.size(&self.work.gradient);
            let is_touching = creeps && self.problem.contact.is_repelling();
            let reference = references[usize::from(is_touching)];
            let goal = self.params.tolerance * reference;
            let relative = if reference > 0.0 { size / reference } else { 0.0 };
            report.residual = residual;
            report.relative_residual = relative;
            let rounding = self.system.rounding_floor(&self.work.q);
            if size <= goal || residual <= rounding {
                if is_touching {
                    self.largest_at_start = self.largest_at_start.max(self.touching_reference());
                }
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
                && iterations >= *most.get_or_insert_with(|| self.max_iterations(merit))
            {
                if is_running_away {
                    return Err(Failure::Singular(SolveFailure::Unheld { distance: self.max_stride }));
                }
                return Err(Failure::NotConverged { iterations, relative_residual: relative });
            }
            if iterations.saturating_sub(ORDINARY_ITERATIONS) > self.hard_iterations_left {
                return Err(Failure::Exhausted);
            }
            // Also where the last contacts of a character have opened and a fold snaps back.
            if (is_touching || creeps && is_character)
                && may_solve_locally
                && report.local_solves < max_local_solves
                && let Some(solved) = self.solve_locally(merit, goal, report)
            {
                may_solve_locally = self.size(&self.work.gradient) < LOCAL_SOLVE_SHARE * size
                    || released(&merit, &solved) > LOCAL_GAIN_SHARE * last_gain;
                merit = solved;
                residual = norm(&self.work.gradient);
                self.work.past.forget();
                continue;
            }
            may_solve_locally = true;
            report.newton_iterations += 1;
            count_newton_iteration();
            let is_carried = iterations == 0 && !self.problem.model.skinning_predictor.is_empty();
            let is_pushed_out = self.problem.contact.has_exits() && self.problem.contact.is_acting();
            let cap = if is_touching { cap.max(TOUCHING_FORCING) } else { cap };
            let cap = if is_pushed_out { cap.max(PENALTY_FORCING) } else { cap };
            let cap = if is_carried { cap.min(FOLLOWED_FORCING.max(GOAL_SHARE * goal / size)) } else { cap };
            let last = if self.problem.contact.is_acting() { cap.max(LAST_FORCING) } else { cap };
            let mut forcing = forcing_term(size, previous_size, goal, cap, last);
            if is_touching && iterations > 0 {
                forcing = forcing.max(MIN_TOUCHING_FORCING);
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
                // Forces of a barrier change by orders of magnitude within a fraction of its gap. Where a whole step
                // hardly moves anything, they carry no more information.
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
                    last_gain = released(&merit, &step.merit);
                    merit = step.merit;
                    residual = norm(&self.work.gradient);
                }
                None if residual <= STALLED_ROUNDINGS * self.system.rounding_floor(&self.work.q) => return Ok(merit),
                None if self.is_flat(&direction) => return Ok(merit),
                // The tangent may be at fault: try a safer one before failing.
                None if caution.retreat(&direction) => {}
                None => return Err(Failure::Stalled { relative_residual: relative }),
            }
            if slow > MAX_SLOW_STEPS {
                return Err(Failure::Stalled { relative_residual: relative });
            }
        }
    }

    /// Least reference of the largest force on a character that touches itself.
    fn touching_reference(&self) -> f64 {
        let is_character = !self.problem.model.skinning_predictor.is_empty();
        let share = if is_character && self.params.norm == ResidualNorm::Largest { TOUCHING_REFERENCE } else { 0.0 };
        share * self.unit_strain_force * if self.is_passing { PASSING } else { 1.0 }
    }

    /// Local solve: moves only the few nodes too far from equilibrium; returns the merit there, if these are few and it
    /// is lower.
    fn solve_locally(&mut self, merit: Merit, goal: f64, report: &mut StepReport) -> Option<Merit> {
        let start = Instant::now();
        let least = match self.params.norm {
            ResidualNorm::Euclidean => SEED_SHARE * goal / (self.work.gradient.len() as f64).sqrt(),
            ResidualNorm::Largest => SEED_SHARE * goal,
        };
        let least = least.max(LARGEST_SHARE * largest(&self.work.gradient));
        self.problem.linearize_contact(&self.work.x);
        let Work { q, x, point_gradient, gradient, direction, .. } = &mut *self.work;
        let at = TangentAt { problem: &self.problem, q, x, point_gradient, definite: 1.0 };
        let is_found = self.system.solve_locally(&at, gradient, least, direction);
        self.timing.linear_solve += start.elapsed();
        if !is_found || self.distance() > self.max_stride {
            return None;
        }
        let slope = dot(&self.work.gradient, &self.work.direction);
        if !(slope < 0.0) {
            return None;
        }
        let step = self.line_search(merit, slope, report)?;
        report.local_solves += 1;
        Some(step.merit)
    }

    /// Whether a whole step moved no node by more than the tolerance times a cell.
    fn is_still(&self, step: &Step) -> bool {
        step.fraction == 1.0 && self.distance() <= self.params.tolerance * self.smallest_cell()
    }

    /// Whether a whole step would move nodes by too little for the energy to judge.
    fn is_flat(&self, direction: &Direction) -> bool {
        let cell = self.smallest_cell();
        direction.is_whole() && cell.is_finite() && self.distance() <= STALLED_STRIDE * cell
    }

    /// Whether only rounding is left after a step, given the residual before it.
    fn is_rounding(&self, before: f64) -> bool {
        let residual = norm(&self.work.gradient);
        residual > STALLED_SHARE * before && residual <= STALLED_ROUNDINGS * self.system.rounding_floor(&self.work.q)
    }

    /// Maximum number of iterations. Shorter steps do not help where quasistatics starts with inverted cells, snaps, or
    /// cannot be cut any more, and a falling energy eventually reaches its minimum. In dynamics shorter steps help
    /// sooner.
    fn max_iterations(&self, merit: Merit) -> usize {
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
}

/// Energy that a step released; 0 where forces have none.
fn released(before: &Merit, after: &Merit) -> f64 {
    before.potential.zip(after.potential).map_or(0.0, |(before, after)| before - after)
}

/// Relative accuracy of the linear solve by Eisenstat and Walker, at most `cap`, or `last` where that reaches the goal,
/// and no tighter than the goal needs \[EisenstatWalker96\].
fn forcing_term(size: f64, previous: f64, goal: f64, cap: f64, last: f64) -> f64 {
    let quadratic = if previous.is_finite() { 0.9 * (size / previous).powi(2) } else { cap };
    quadratic.clamp(1e-5, cap).max((GOAL_SHARE * goal / size).min(last))
}
