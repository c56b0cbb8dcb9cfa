//! How the steps of a frame are taken: even, by their error, or as long as they are stable; and what is done when one
//! fails.

use sinew_math::Quaternion;

use super::Simulation;
use crate::control::{ChannelId, Control};
use crate::model::{increments_of_motion, parts_of_step};
use crate::pacing::{AdaptiveParams, MAX_EXPLICIT_STEPS, STEPS_PER_ESTIMATE, Substeps, even_target, next_step};
use crate::report::{StepError, StepReport};

/// Turn of a pin or bone in one quasistatic increment \[rad\].
const LONGEST_TURN: f64 = 1.0;
/// The same for what flesh follows, of one against another: flesh between bones that jump apart would turn inside out
/// (MCA-49).
const LONGEST_BEND: f64 = 0.35;

impl Simulation {
    pub(super) fn compute_frame(&mut self) -> Result<StepReport, StepError> {
        self.forget_observed();
        self.backup.clone_from(&self.state);
        self.solver.begin_frame();
        let start = self.frame_index as f64 / self.params.frame_rate;
        let end = start + 1.0 / self.params.frame_rate;
        let mut total: Option<StepReport> = None;
        let mut rollbacks = 0;
        let result = match self.params.substeps {
            Substeps::Fixed(count) => self.take_even_steps(start, count, &mut total, &mut rollbacks),
            Substeps::Adaptive(params) => self.take_adaptive_steps(end, params, &mut total, &mut rollbacks),
            Substeps::Stable { safety } => self.take_stable_steps(end, safety, &mut total, &mut rollbacks),
        };
        if let Err(error) = result {
            self.state.clone_from(&self.backup);
            let time = self.state.time;
            self.drive(time);
            return Err(error);
        }
        let mut report = total.unwrap_or_default();
        report.rollbacks = rollbacks;
        self.advance_finishes();
        self.frame_index += 1;
        self.report = report;
        self.follow_schedule();
        Ok(self.report)
    }

    fn take_even_steps(
        &mut self,
        start: f64,
        count: usize,
        total: &mut Option<StepReport>,
        rollbacks: &mut usize,
    ) -> Result<(), StepError> {
        let step = 1.0 / (self.params.frame_rate * count as f64);
        let stable = self.solver.stable_step(&self.model, &self.state, &self.control);
        if let Some(stable) = stable.filter(|&stable| step > stable) {
            return Err(StepError::Unstable { time: self.state.time, step, stable });
        }
        for substep in 0..count {
            let fraction = (substep + 1) as f64 / count as f64;
            let target = start + fraction / self.params.frame_rate;
            self.advance_with_care(target, self.params.max_halvings, total, rollbacks)?;
        }
        Ok(())
    }

    fn take_adaptive_steps(
        &mut self,
        end: f64,
        params: AdaptiveParams,
        total: &mut Option<StepReport>,
        rollbacks: &mut usize,
    ) -> Result<(), StepError> {
        let frame = 1.0 / self.params.frame_rate;
        let (wanted, shortest) = (params.tolerance * self.size, frame / params.most as f64);
        while self.state.time < end {
            let (now, proposed) = (self.state.time, self.state.history.next_dt);
            let longest = if proposed > 0.0 { proposed.clamp(shortest, frame) } else { frame };
            let target = even_target(now, end, longest);
            let dt = target - now;
            self.step_backup.clone_from(&self.state);
            let (mut step, mut failures) = (None, 0);
            self.advance_with_care(target, self.params.max_halvings, &mut step, &mut failures)?;
            *rollbacks += failures;
            let mut step = step.unwrap_or_default();
            let next = next_step(dt, step.local_error, wanted, self.solver.order()).max(shortest);
            if step.local_error > wanted && dt > shortest * (1.0 + 1e-6) {
                self.state.clone_from(&self.step_backup);
                *rollbacks += 1;
                // The work was done, but no step was taken.
                (step.substeps, step.unconverged, step.local_error, step.relative_residual) = (0, 0, 0.0, 0.0);
                self.state.history.next_dt = next.min(0.9 * dt);
            } else {
                self.state.history.next_dt = next;
            }
            add_to(total, step);
        }
        Ok(())
    }

    fn take_stable_steps(
        &mut self,
        end: f64,
        safety: f64,
        total: &mut Option<StepReport>,
        rollbacks: &mut usize,
    ) -> Result<(), StepError> {
        let mut longest = f64::INFINITY;
        let (mut steps_left, mut cadence) = (0, STEPS_PER_ESTIMATE);
        while self.state.time < end {
            let now = self.state.time;
            if steps_left == 0 {
                let stable = self.solver.stable_step(&self.model, &self.state, &self.control).unwrap_or(f64::INFINITY);
                // Flesh that is being crushed stiffens from step to step, so each step gets an estimate of its own.
                cadence = if safety * stable < 0.9 * longest { 1 } else { (2 * cadence).min(STEPS_PER_ESTIMATE) };
                steps_left = cadence;
                longest = safety * stable;
                // Written so that NaN fails too.
                if !((end - now) / longest <= MAX_EXPLICIT_STEPS) {
                    return Err(StepError::Unstable { time: now, step: (end - now) / MAX_EXPLICIT_STEPS, stable });
                }
            }
            let target = even_target(now, end, longest);
            let before = *rollbacks;
            // Steps that cost so little may be cut further than others.
            self.advance(target, 2 * self.params.max_halvings, total, rollbacks)?;
            // A step that had to be halved shows that the estimate is too old.
            steps_left = if *rollbacks > before { 0 } else { steps_left - 1 };
        }
        Ok(())
    }

    /// Steps to `target` that are short enough for penalty contact: no body passes through another.
    fn advance_with_care(
        &mut self,
        target: f64,
        halvings: usize,
        total: &mut Option<StepReport>,
        rollbacks: &mut usize,
    ) -> Result<(), StepError> {
        while !self.solver.is_static() {
            let left = target - self.state.time;
            self.drive(target);
            let bones = self.model.parts_by_bones(&self.state, &self.control).ceil() as usize;
            let parts = parts_of_step(&self.model, &self.state, &self.control, left).max(bones);
            if parts <= 1 {
                break;
            }
            let next = self.state.time + left / parts as f64;
            self.advance(next, halvings, total, rollbacks)?;
        }
        self.advance(target, halvings, total, rollbacks)
    }

    /// One step to `target`, or two halves of it, and so on.
    fn advance(
        &mut self,
        target: f64,
        halvings: usize,
        total: &mut Option<StepReport>,
        rollbacks: &mut usize,
    ) -> Result<(), StepError> {
        if self.solver.is_static() && halvings > 0 && self.largest_increment(target) < 1.0 {
            return self.advance_in_increments(target, halvings, total, rollbacks);
        }
        self.drive(target);
        let dt = target - self.state.time;
        match self.take_step(dt, halvings == 0) {
            Ok(report) => {
                // Sums of steps drift by roundings; the clock does not.
                self.state.time = target;
                add_to(total, report);
                Ok(())
            }
            Err(error) if halvings == 0 || error.is_final() => Err(error),
            Err(_) if self.solver.is_static() => {
                *rollbacks += 1;
                self.advance_in_increments(target, halvings, total, rollbacks)
            }
            Err(_) => {
                *rollbacks += 1;
                let middle = target - 0.5 * dt;
                self.advance(middle, halvings - 1, total, rollbacks)?;
                self.advance(target, halvings - 1, total, rollbacks)
            }
        }
    }

    /// A quasistatic step to `target` that moves all commands in increments: from those of the state's time, or from no
    /// load at the very start, because a command that jumps has no values in between.
    fn advance_in_increments(
        &mut self,
        target: f64,
        halvings: usize,
        total: &mut Option<StepReport>,
        rollbacks: &mut usize,
    ) -> Result<(), StepError> {
        let begin = self.state.time;
        let largest = self.largest_increment(target).min(0.5);
        if begin == 0.0 {
            for channel in self.model.load_channels() {
                self.increments.0.set(channel, 0.0);
            }
        }
        // Increments that are still too large are halved again; the stack holds the ends of those that wait.
        let mut ends = [1.0; 32];
        let deepest = halvings.min(ends.len() - 1);
        let (mut waiting, mut done) = (1, 0.0);
        while waiting > 0 {
            while ends[waiting - 1] - done > largest && waiting <= deepest {
                ends[waiting] = 0.5 * (done + ends[waiting - 1]);
                waiting += 1;
            }
            let end = ends[waiting - 1];
            let time = if end == 1.0 { target } else { begin + end * (target - begin) };
            self.blend_commands(end, time);
            let dt = time - self.state.time;
            self.solver.pass_through(end < 1.0);
            let result = self.take_step(dt, waiting > deepest);
            self.solver.pass_through(false);
            match result {
                Ok(report) => {
                    self.state.time = time;
                    done = end;
                    waiting -= 1;
                    add_to(total, report);
                }
                Err(error) if waiting > deepest || error.is_final() => return Err(error),
                Err(_) => {
                    *rollbacks += 1;
                    ends[waiting] = 0.5 * (done + end);
                    waiting += 1;
                }
            }
        }
        Ok(())
    }

    /// Puts commands at a share of the way between those of an increment. Bones are where they are at that time: on
    /// straight ways they would come apart.
    fn blend_commands(&mut self, share: f64, time: f64) {
        self.drive(time);
        self.driver_values.clear();
        let control = &self.control;
        self.driver_values.extend(self.model.driver_channels().map(|channel| control.get(channel)));
        self.control.blend(&self.increments.0, &self.increments.1, share);
        for (channel, &value) in self.model.driver_channels().zip(&self.driver_values) {
            self.control.set(channel, value);
        }
    }

    /// Puts the commands of the state's time and of `target` in place for increments between them, and finds the
    /// largest share of the way in which nothing turns too far: nodes of a pin go straight, so what turns by half a
    /// turn at once goes through its own axis.
    fn largest_increment(&mut self, target: f64) -> f64 {
        self.drive(self.state.time);
        self.increments.0.copy_from(&self.control);
        self.drive(target);
        self.increments.1.copy_from(&self.control);
        let (from, to) = (&self.increments.0, &self.increments.1);
        let turn = |channels: [ChannelId; 3]| {
            let rotation = |control: &Control| Quaternion::exp_map(control.vector(channels));
            rotation(to) * rotation(from).conjugate()
        };
        // NaN passes here; the step refuses it.
        let furthest = if self.model.moves_as_one() {
            // Flesh follows what all of its drivers do together.
            let mut drivers = self.model.driver_rotations().map(turn);
            let first = drivers.next().unwrap_or(Quaternion::identity()).conjugate();
            let between = drivers.map(|turn| (turn * first).log_map().norm()).fold(0.0, f64::max);
            between * (LONGEST_TURN / LONGEST_BEND)
        } else {
            self.model.rotation_channels().map(|channels| turn(channels).log_map().norm()).fold(0.0, f64::max)
        };
        let by_motion =
            if self.model.has_penalties() { increments_of_motion(&self.model, from, to, &mut self.ways) } else { 0.0 };
        let increments = self.model.parts_by_bones(&self.state, &self.control).max(by_motion);
        let furthest = if self.solver.handles_large_rotations() { 0.0 } else { furthest };
        LONGEST_TURN / furthest.max(LONGEST_TURN).max(LONGEST_TURN * increments)
    }

    /// One step under the present commands. The last try is the one that has to succeed: what no shorter step can
    /// repair gets all the iterations it needs.
    fn take_step(&mut self, dt: f64, is_last_try: bool) -> Result<StepReport, StepError> {
        if self.interrupt.is_wanted() {
            return Err(StepError::Interrupted { time: self.state.time + dt });
        }
        let Self { solver, model, state, control, .. } = self;
        let result = solver.step(model, state, control, dt);
        if !matches!(result, Err(StepError::NotConverged { .. })) || !is_last_try || !solver.lift_iteration_limit(true)
        {
            return result;
        }
        let result = solver.step(model, state, control, dt);
        solver.lift_iteration_limit(false);
        result
    }
}

/// Adds the report of a step to that of its frame.
fn add_to(total: &mut Option<StepReport>, step: StepReport) {
    match total {
        Some(total) => total.absorb(&step),
        None => *total = Some(step),
    }
}
