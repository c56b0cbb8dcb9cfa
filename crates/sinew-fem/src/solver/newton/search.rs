//! Search for the step of an iteration: a direction from the tangent, and the length along it.

use std::time::Instant;

use super::super::linear::{SolveFailure, TangentAt, Task};
use super::super::params::Projection;
use super::super::problem::Merit;
use super::newton_loop::{Failure, NewtonLoop, Work};
use super::vectors::{dot, norm};
use crate::force::StepLimit;
use crate::report::StepReport;

/// Sufficient decrease: minimum share of the predicted decrease.
const ARMIJO: f64 = 1e-4;
/// Maximum work per length that forces may do against a step at its end, relative to their work for it at its start.
const WORK_SHARE: f64 = 0.9;
/// A step cut below this fraction makes the next iteration use the definite tangent.
const DISTRUST: f64 = 0.3;
/// Minimum step fraction: 2⁻³⁰ of a Newton step changes nothing any more.
const MIN_STEP: f64 = 1e-9;
/// A full step is stretched where the forces along it have fallen to no less than this share; maximum number of
/// stretches in a row, and maximum factor of each.
const STRETCH_FROM: f64 = 0.5;
const MAX_STRETCHES: usize = 8;
const MAX_STRETCH: f64 = 10.0;
/// Factor of change of the share of negative curvature to remove, and its minimum.
const SHARE_GROWTH: f64 = 4.0;
const MIN_SHARE: f64 = 1.0 / 1024.0;
/// Shifts of a definite tangent that is singular or makes no progress, relative to its diagonal: the minimum that f32
/// can resolve, the growth per try, and the maximum, where a step almost follows the gradient.
const MIN_SHIFT: f64 = 1e-5;
const SHIFT_GROWTH: f64 = 30.0;
pub(super) const MAX_SHIFT: f64 = 1.0;
/// Maximum number of checks of the path of rigid bodies.
const MAX_ARCS: usize = 12;

/// Confidence in the tangent, adapted from step to step.
pub(super) struct Caution {
    /// Whether to skip the exact tangent.
    pub is_wary: bool,
    /// Share of the negative curvature of cells to remove where the exact tangent fails. Steps that had to be stretched
    /// show that it is too large.
    share: f64,
    /// Minimum shift of the diagonal.
    pub shift: f64,
}

/// Properties of a direction.
pub(super) struct Direction {
    /// Share of the negative curvature that was removed.
    share: f64,
    /// Multiple of the diagonal that was added to the tangent.
    shift: f64,
    /// Whether the step was cut because a node would have exceeded the maximum stride.
    pub is_cut: bool,
}

impl Direction {
    /// Whether the direction is as long as the plain tangent makes it.
    pub fn is_whole(&self) -> bool {
        self.shift == 0.0 && !self.is_cut
    }
}

/// An accepted step.
pub(super) struct Step {
    /// Fraction of the direction.
    pub fraction: f64,
    /// Maximum fraction allowed.
    allowed: f64,
    /// Whether it went on beyond that.
    is_stretched: bool,
    /// Merit at its end.
    pub merit: Merit,
}

impl Caution {
    /// Initial value: the exact tangent if usable, else the definite one.
    pub fn none() -> Self {
        Self { is_wary: false, share: 1.0, shift: 0.0 }
    }

    /// The definite tangent in any case.
    pub fn full() -> Self {
        Self { is_wary: true, ..Self::none() }
    }

    /// Adapts to an accepted step.
    pub fn learn(&mut self, direction: &Direction, step: &Step) {
        self.is_wary = step.fraction < DISTRUST * step.allowed;
        self.shift = if direction.shift > MIN_SHIFT { 0.1 * direction.shift } else { 0.0 };
        if direction.share > 0.0 {
            self.share = match direction.share {
                share if step.is_stretched => (share / SHARE_GROWTH).max(MIN_SHARE),
                share if self.is_wary => (share * SHARE_GROWTH).min(1.0),
                share => share,
            };
        }
    }

    /// Adapts to a direction along which no step was accepted; returns whether there is another to try.
    pub fn retreat(&mut self, direction: &Direction) -> bool {
        let has_more = direction.share < 1.0 || direction.shift < MAX_SHIFT;
        if direction.share == 1.0 {
            self.shift = stronger(direction.shift);
        }
        (self.is_wary, self.share) = (true, 1.0);
        has_more
    }
}

/// The next larger shift.
fn stronger(shift: f64) -> f64 {
    (SHIFT_GROWTH * shift).max(MIN_SHIFT)
}

impl NewtonLoop<'_> {
    /// Solves H δ = −g into `direction`, with the exact tangent first unless the last steps advise against it. Where
    /// that gives no usable direction, removes negative curvature from the cells. Where even the definite tangent is
    /// singular, adds a part of its diagonal: a cell without volume resists only some of its motions.
    pub(super) fn find_direction(
        &mut self,
        caution: &Caution,
        forcing: f64,
        report: &mut StepReport,
    ) -> Result<Direction, Failure> {
        for (r, &g) in self.work.rhs.iter_mut().zip(&self.work.gradient) {
            *r = -g;
        }
        let mut share = match self.params.projection {
            Projection::Always => 1.0,
            // Barriers bend the energy far more than negative curvature of cells does. Cut steps would cost more than
            // the exact tangent gains.
            Projection::OnDemand if self.problem.contact.is_repelling() => 1.0,
            Projection::OnDemand if caution.is_wary || caution.shift > 0.0 => caution.share,
            Projection::OnDemand => 0.0,
        };
        let mut shift = caution.shift;
        loop {
            if share > 0.0 {
                report.projections += 1;
            }
            let start = Instant::now();
            self.problem.linearize_contact(&self.work.x);
            let Work { q, x, point_gradient, rhs, direction, .. } = &mut *self.work;
            let at = TangentAt { problem: &self.problem, q, x, point_gradient, definite: share };
            self.system.assemble(&at);
            self.timing.assembly += start.elapsed();
            let start = Instant::now();
            let solved = self.system.solve(&at, Task { shift, forcing, ..Task::default() }, rhs, direction);
            self.timing.linear_solve += start.elapsed();
            let usable = solved.and_then(|iterations| {
                report.linear_iterations += iterations;
                self.system.free().project_step(&self.work.q.vectors, &mut self.work.direction);
                self.system.hinges().limit(&self.work.q.vectors, &mut self.work.direction);
                let distance = self.work.direction.iter().map(|d| d.norm()).fold(0.0, f64::max);
                // This form catches NaN too.
                if !(distance < f64::INFINITY) {
                    return Err(SolveFailure::NotFinite);
                }
                if distance > self.max_stride && share < 1.0 {
                    return Err(SolveFailure::Unheld { distance });
                }
                let descends = dot(&self.work.gradient, &self.work.direction) < 0.0;
                if descends { Ok(distance) } else { Err(SolveFailure::NoDescent) }
            });
            match usable {
                Ok(distance) => {
                    let is_cut = distance > self.max_stride;
                    if is_cut {
                        self.work.direction.iter_mut().for_each(|d| *d *= self.max_stride / distance);
                    }
                    return Ok(Direction { share, shift, is_cut });
                }
                Err(_) if share < 1.0 => {
                    share = if share > 0.0 { (SHARE_GROWTH * share).min(1.0) } else { caution.share }
                }
                Err(cause) if shift >= MAX_SHIFT => return Err(Failure::Singular(cause)),
                Err(_) => shift = stronger(shift),
            }
        }
    }

    /// Backtracks along `direction`, or goes on along it; on success the iterate, its gradient and its merit are those
    /// of the accepted point.
    pub(super) fn line_search(&mut self, merit: Merit, slope: f64, report: &mut StepReport) -> Option<Step> {
        let residual = norm(&self.work.gradient);
        let allowed = self.max_step();
        let mut fraction = allowed;
        loop {
            let trial = self.evaluate_trial(fraction);
            if self.is_accepted(merit, trial, slope, fraction, residual) {
                self.take_trial();
                let mut step = Step { fraction, allowed, is_stretched: false, merit: trial };
                if fraction == 1.0 {
                    self.go_on(&mut step, slope);
                }
                return Some(step);
            }
            report.cuts += 1;
            fraction *= 0.5;
            if fraction < MIN_STEP {
                return None;
            }
        }
    }

    /// Goes on along `direction` while the forces still pull that way, to their zero by the secant rule. The definite
    /// tangent is too stiff wherever the exact one has negative curvature: its steps have the right direction, but
    /// creep.
    fn go_on(&mut self, step: &mut Step, mut slope: f64) {
        for _ in 0..MAX_STRETCHES {
            let ahead = dot(&self.work.gradient, &self.work.direction);
            if ahead > STRETCH_FROM * slope {
                break;
            }
            let stretch = if ahead > slope { (ahead / (slope - ahead)).min(MAX_STRETCH) } else { MAX_STRETCH };
            self.scale_direction(stretch);
            self.system.hinges().limit(&self.work.q.vectors, &mut self.work.direction);
            let distance = self.work.direction.iter().map(|d| d.norm()).fold(0.0, f64::max);
            self.scale_direction((self.max_stride / distance).min(1.0));
            let allowed = self.max_step();
            self.scale_direction(allowed);
            slope = dot(&self.work.gradient, &self.work.direction);
            let residual = norm(&self.work.gradient);
            let trial = self.evaluate_trial(1.0);
            if !self.is_accepted(step.merit, trial, slope, 1.0, residual) {
                break;
            }
            self.take_trial();
            *step = Step { is_stretched: true, merit: trial, ..*step };
        }
    }

    fn scale_direction(&mut self, factor: f64) {
        if factor != 1.0 {
            self.work.direction.iter_mut().for_each(|d| *d *= factor);
        }
    }

    fn is_accepted(&self, merit: Merit, trial: Merit, slope: f64, fraction: f64, residual: f64) -> bool {
        if !trial.magnitude.is_finite() {
            return false;
        }
        let trial_residual = norm(&self.work.trial_gradient);
        if !trial_residual.is_finite() {
            return false;
        }
        match merit.potential.zip(trial.potential) {
            Some((old, new)) => {
                // 64 roundings of the largest part: a bound for the loss from summing over the mesh.
                let rounding = 64.0 * f64::EPSILON * merit.magnitude.max(trial.magnitude);
                let expected = ARMIJO * fraction * slope;
                new <= old + expected
                    || ((new - old).abs() <= rounding
                        && fraction * slope.abs() <= 16.0 * rounding
                        && trial_residual < residual)
            }
            // Forces without a potential still do work; the trapezoidal rule along the step replaces the energy. The
            // residual alone would stop at every bend of the path.
            None => {
                let trial_slope = dot(&self.work.trial_gradient, &self.work.direction);
                trial_residual <= residual * (1.0 - ARMIJO * fraction) || trial_slope <= WORK_SHARE * slope.abs()
            }
        }
    }

    /// The largest fraction of `direction` that forces and contact allow; contact then knows all candidates of that
    /// way.
    pub(super) fn max_step(&mut self) -> f64 {
        let model = self.problem.model;
        let mut fraction = 1.0;
        if model.step_limits().next().is_some() {
            model.kinematics.push_forward(&self.work.q, &self.work.direction, &mut self.work.trial_x);
            let limit = |force: &dyn StepLimit| force.max_step(&self.work.x, &self.problem.ctx, &self.work.trial_x);
            fraction = model.step_limits().map(limit).fold(1.0, f64::min);
        }
        let start = Instant::now();
        // Points of rigid bodies that are not driven move along arcs: a shorter path is a different path, so check it
        // again.
        let is_straight = model.driven.len() == model.rigid_bodies.len();
        let most = if is_straight { 1 } else { MAX_ARCS };
        for _ in 0..most {
            if !self.problem.contact.has_barriers() {
                break;
            }
            self.place_trial(fraction);
            let progress = self.problem.contact.progress();
            let free = self.problem.contact.sweep(&model.contact, &self.work.x, &self.work.trial_x, progress);
            if free >= 1.0 {
                break;
            }
            fraction *= free;
        }
        self.timing.contact += start.elapsed();
        fraction
    }
}
