//! The initial guess of a step.

use std::time::Instant;

use sinew_math::Vec3;
use sinew_math::parallel::{SUM_BLOCK, for_each_block_mut};

use super::super::integrator::Regime;
use super::super::linear::{TangentAt, Task};
use super::super::params::{NonlinearSolver, ResidualNorm};
use super::super::problem::Merit;
use super::harmonic_guess::HarmonicGuess;
use super::newton_loop::{Failure, NewtonLoop, STATIC_FORCING, Work};
use super::search::Caution;
use super::vectors::{dot, largest, norm};
use crate::kinematics::Unknowns;
use crate::model::SkinningPredictor;
use crate::report::StepReport;

/// Maximum number of iterations that drive prescribed nodes to their targets before the step counts as too large.
const MAX_DRIVE: usize = 60;
/// Iterations of the interior after each drive iteration that stops short of the targets.
const RELAXATIONS: usize = 2;
/// Maximum number of times that a drive iteration detects speculative contacts.
const LOOKS_AHEAD: usize = 3;
/// Relative accuracy of the linear solves of a drive, without and among contacts. Contacts bend the energy too much for
/// a tighter one to pay off.
const FREE_ACCURACY: f64 = 1e-4;
const TOUCHING_ACCURACY: f64 = 3e-2;
/// Residual relative to the goal up to which a step accepts the extrapolated motion of the flesh without trying plain
/// blend skinning.
const GOOD_START: f64 = 5.0;
/// Least reference of the largest force on a character, in forces of its limit at large strain. A pose that is held has no
/// motion to measure by, and would go on for ever to reduce what the last motion has left.
const LEAST_REFERENCE: f64 = 1e-4;
/// Minimum share of the path for which flesh moves with its drivers.
const SHORTEST_FOLLOWING: f64 = 0.05;
/// Minimum progress of prescribed nodes per iteration, as a share of their path.
const SHORTEST_DRIVE: f64 = 1e-4;

impl NewtonLoop<'_> {
    /// Sets the first iterate: at the old unknowns with prescribed values, at a better extrapolation, or where driving
    /// the prescribed nodes leads. Returns the reference residual, which is the size of g at (xⁿ, vⁿ) under the new
    /// boundary data, and the merit of the iterate. The gradient of the iterate is up to date.
    pub(super) fn start(&mut self, report: &mut StepReport) -> Result<(f64, Merit), Failure> {
        let model = self.problem.model;
        let previous = self.problem.ctx.previous;
        self.work.q.clone_from(&previous.unknowns);
        self.work.trial.clone_from(&previous.unknowns);
        let mut moved = 0.0f64;
        let q = &mut self.work.q.vectors;
        model.for_each_prescribed(self.problem.ctx.control, |unknown, axis, value| {
            moved = moved.max((q[unknown][axis] - value).abs());
            q[unknown][axis] = value;
        });
        for driven in &model.driven {
            let (pose, block) =
                (driven.pose(self.problem.ctx.control), model.rigid_bodies[driven.rigid].block as usize);
            let place = &mut self.work.q.vectors[model.kinematics.rigid_blocks()[block].translation as usize];
            let turn = (pose.rotation * self.work.q.rotations[block].conjugate()).log_map();
            moved = moved.max((*place - pose.translation).norm()).max(turn.norm());
            *place = pose.translation;
            self.work.q.rotations[block] = pose.rotation;
        }
        model.kinematics.place(&self.work.q, &mut self.work.x);
        if moved > 0.0 && self.params.regime == Regime::Quasistatic && !model.skinning_predictor.is_empty() {
            return self.start_by_following(moved, report);
        }
        let stage = &mut *self.problem.contact;
        if stage.has_barriers() && (moved > 0.0 || stage.progress() < 1.0) {
            if stage.sweep(&model.contact, &previous.positions, &self.work.x, 1.0) < 1.0 {
                // What is prescribed has something in its way, which must be pushed aside.
                let reference = self.residual_without_contact();
                self.work.q.clone_from(&previous.unknowns);
                self.work.x.copy_from_slice(&previous.positions);
                self.drive(report)?;
                let merit = self.gradient_at_iterate();
                return Ok((self.reference(reference), merit));
            }
            stage.set_progress(1.0);
        }
        // A character that stands still is measured like one that hardly moves.
        let is_still = self.params.regime == Regime::Quasistatic && !model.skinning_predictor.is_empty();
        let without_contact = (is_still && moved == 0.0).then(|| self.residual_without_contact());
        let merit = self.gradient_at_iterate();
        if without_contact.is_none() {
            self.largest_at_start = largest(&self.work.gradient);
        }
        let is_valid = merit.magnitude.is_finite();
        let reference = self.reference(without_contact.unwrap_or(self.size(&self.work.gradient)));
        if let Some(guided) = self.untangle(merit, report) {
            return Ok((reference, guided));
        }
        // Nonlinear cycles spread the displacement of the pins through the flesh.
        if moved > 0.0 && is_valid && self.params.nonlinear == NonlinearSolver::Fas {
            return Ok((reference, merit));
        }
        if moved > 0.0 && (self.params.regime == Regime::Quasistatic || !is_valid) {
            // Moving only the pinned nodes crumples the cells at the pins, so go back and let the interior follow. The
            // reference stays the residual under the new boundary data where that exists.
            self.work.q.clone_from(&previous.unknowns);
            model.kinematics.place(&self.work.q, &mut self.work.x);
            self.problem.contact.refresh(&model.contact, &self.work.x);
            self.drive(report)?;
            let merit = self.gradient_at_iterate();
            let reference = if is_valid { reference } else { self.reference(self.size(&self.work.gradient)) };
            return Ok((reference, merit));
        }
        if !is_valid {
            return Err(Failure::NotFinite);
        }
        Ok((reference, self.extrapolate(merit)))
    }

    /// Starts from the skinning predictor, or from as far along its path as nothing blocks. The pins are at their
    /// targets.
    fn start_by_following(&mut self, moved: f64, report: &mut StepReport) -> Result<(f64, Merit), Failure> {
        let model = self.problem.model;
        let previous = self.problem.ctx.previous;
        let reference = self.residual_without_contact();
        let Work { q, motions, targets, .. } = &mut *self.work;
        model.skinning_predictor.find_motions(model, &previous.unknowns, q, motions);
        targets.clone_from(q);
        let goal = self.params.tolerance * reference;
        let progress = self.problem.contact.progress();
        let mut ahead = f64::INFINITY;
        // A pose that is held has no motion to go on with; what the last step did would be done again.
        let is_held = moved <= self.params.tolerance * self.smallest_cell();
        if !is_held && self.find_correction() && self.follow(true) == 1.0 {
            let merit = self.take_followed();
            if merit.magnitude.is_finite() {
                ahead = self.size(&self.work.gradient);
            }
            if ahead <= GOOD_START * goal {
                return Ok((self.reference(reference), merit));
            }
        }
        self.problem.contact.set_progress(progress);
        let free = self.follow(false);
        let mut plain = f64::INFINITY;
        if free == 1.0 {
            let merit = self.take_followed();
            if merit.magnitude.is_finite() {
                plain = self.size(&self.work.gradient);
            }
            if plain.is_finite() && plain <= ahead {
                return Ok((self.reference(reference), merit));
            }
        }
        if ahead.is_finite() {
            self.problem.contact.set_progress(progress);
            self.follow(true);
            let merit = self.take_followed();
            return Ok((self.reference(reference), merit));
        }
        let way = if free < 1.0 && free > SHORTEST_FOLLOWING { free } else { 0.0 };
        let Work { q, x, trial, direction, .. } = &mut *self.work;
        for ((d, &to), &from) in direction.iter_mut().zip(&trial.vectors).zip(&q.vectors) {
            *d = to - from;
        }
        for (block, rigid) in model.kinematics.rigid_blocks().iter().enumerate() {
            direction[rigid.rotation as usize] = (trial.rotations[block] * q.rotations[block].conjugate()).log_map();
        }
        model.kinematics.advance(q, direction, way, trial);
        std::mem::swap(q, trial);
        model.kinematics.place(q, x);
        self.problem.contact.set_progress(progress + way * (1.0 - progress));
        self.problem.contact.refresh(&model.contact, &self.work.x);
        self.drive(report)?;
        let merit = self.gradient_at_iterate();
        Ok((self.reference(reference), merit))
    }

    /// Writes the difference of the last step from blend skinning into `correction`; returns whether it is known.
    fn find_correction(&mut self) -> bool {
        let model = self.problem.model;
        let previous = self.problem.ctx.previous;
        let (history, h) = (&previous.history, self.problem.ctx.dt);
        if history.depth == 0 || (history.last_dt - h).abs() > 1e-9 * h {
            return false;
        }
        let Work { trial, last_motions, correction, .. } = &mut *self.work;
        model.kinematics.advance(&previous.unknowns, &history.rates, -h, trial);
        model.skinning_predictor.find_motions(model, trial, &previous.unknowns, last_motions);
        model.skinning_predictor.carry(model, last_motions, &mut trial.vectors, &mut *correction);
        let parts = (&mut correction[..], &trial.vectors[..], &previous.unknowns.vectors[..]);
        for_each_block_mut(parts, SUM_BLOCK, |_, (correction, carried, now): (&mut [Vec3], &[Vec3], &[Vec3])| {
            for ((correction, &carried), &now) in correction.iter_mut().zip(carried).zip(now) {
                *correction = now - carried;
            }
        });
        model.kinematics.filter(correction);
        for rigid in model.kinematics.rigid_blocks() {
            correction[rigid.translation as usize] = Vec3::zero();
            correction[rigid.rotation as usize] = Vec3::zero();
        }
        true
    }

    /// Sets the trial to the shape of blend skinning; `ahead` first adds the correction of the last step. Returns the
    /// free share of the path there from the iterate.
    fn follow(&mut self, ahead: bool) -> f64 {
        let model = self.problem.model;
        let previous = self.problem.ctx.previous;
        let Work { q, x, trial, trial_x, motions, targets, correction, direction, .. } = &mut *self.work;
        trial.clone_from(targets);
        if ahead {
            trial.vectors.iter_mut().zip(&*correction).for_each(|(x, &c)| *x += c);
        }
        model.skinning_predictor.carry(model, motions, &mut trial.vectors, direction);
        model.kinematics.place(trial, trial_x);
        // The common motion of all drivers causes no collisions, however large it is, so the path starts after it.
        q.clone_from(&previous.unknowns);
        if model.moves_as_one() {
            SkinningPredictor::carry_all(model, &model.skinning_predictor.common_motion(model, motions), q);
        }
        model.kinematics.place(q, x);
        let start = Instant::now();
        let free = self.problem.contact.sweep(&model.contact, &self.work.x, &self.work.trial_x, 1.0);
        self.timing.contact += start.elapsed();
        free
    }

    /// Makes the trial the iterate; returns its merit and updates the gradients.
    fn take_followed(&mut self) -> Merit {
        self.problem.contact.set_progress(1.0);
        self.work.q.clone_from(&self.work.trial);
        std::mem::swap(&mut self.work.x, &mut self.work.trial_x);
        self.gradient_at_iterate()
    }

    /// Moves to the harmonic guess when cells are inverted and the merit is lower there.
    fn untangle(&mut self, merit: Merit, report: &mut StepReport) -> Option<Merit> {
        let cannot_jump = self.problem.contact.has_barriers();
        if !self.params.untangle || self.params.regime != Regime::Quasistatic || cannot_jump {
            return None;
        }
        let model = self.problem.model;
        if !model.has_inverted_cells(&self.work.x) {
            return None;
        }
        let system = &self.system;
        let harmonic_guess = self
            .harmonic_guess
            .get_or_insert_with(|| HarmonicGuess::new(model, system.plan(), system.filter()))
            .as_mut()?;
        self.work.trial.clone_from(&self.work.q);
        // Each of its solves counts as an iteration, because it costs as much.
        let (solves, iterations) = harmonic_guess.place(model, self.problem.ctx.control, &mut self.work.trial.vectors);
        report.newton_iterations += solves;
        report.linear_iterations += iterations;
        model.kinematics.place(&self.work.trial, &mut self.work.trial_x);
        let trial = self.gradient_at_trial();
        let residual = norm(&self.work.trial_gradient);
        let is_better = match merit.potential.zip(trial.potential) {
            Some((old, new)) => new < old,
            None => residual < norm(&self.work.gradient),
        };
        (trial.magnitude.is_finite() && is_better).then(|| {
            self.take_trial();
            trial
        })
    }

    /// Residual of the iterate without contact, because pins may have gone through flesh.
    fn residual_without_contact(&mut self) -> f64 {
        let work = &mut *self.work;
        self.problem.gradient_without_contact(&work.x, &mut work.point_gradient);
        let kinematics = &self.problem.model.kinematics;
        kinematics.pull_back(&work.q, &work.point_gradient, &mut work.gradient);
        kinematics.filter(&mut work.gradient);
        self.largest_at_start = largest(&work.gradient);
        self.size(&self.work.gradient)
    }

    /// Reference for residuals, given that of the start.
    ///
    /// In dynamics it is at least the weight of the model and the other loads of the scene: what lies still has no other
    /// forces at the start of a step than those that the last step left, and would never be done. In quasistatics it is
    /// at most that of a body with unit strain everywhere, with its loads, so that a worse start (a scrambled body) does
    /// not make the goal easier; for characters also at least a share of that.
    fn reference(&mut self, start: f64) -> f64 {
        // This form rejects NaN.
        if self.params.regime != Regime::Quasistatic {
            return start.max(self.load());
        }
        let start = start.max(self.least_reference());
        if start <= self.unit_strain_force {
            return start;
        }
        self.problem.external_gradient(&self.work.x, &mut self.work.trial_point_gradient);
        start.min(self.pulled_size() + self.unit_strain_force)
    }

    /// Least reference of a step.
    pub(super) fn least_reference(&self) -> f64 {
        let is_character = !self.problem.model.skinning_predictor.is_empty();
        let has_least = is_character && self.params.norm == ResidualNorm::Largest;
        if has_least { LEAST_REFERENCE * self.unit_strain_force } else { 0.0 }
    }

    /// Size of the weight and the other loads of the scene.
    fn load(&mut self) -> f64 {
        if !self.problem.load_gradient(&self.work.x, &mut self.work.trial_point_gradient) {
            return 0.0;
        }
        self.pulled_size()
    }

    /// Size of the forces in `trial_point_gradient` over the unknowns.
    fn pulled_size(&mut self) -> f64 {
        let work = &mut *self.work;
        let kinematics = &self.problem.model.kinematics;
        kinematics.pull_back(&work.q, &work.trial_point_gradient, &mut work.trial_gradient);
        kinematics.filter(&mut work.trial_gradient);
        self.size(&self.work.trial_gradient)
    }

    /// Tries qₙ + h q̇ₙ (+ half the change of the rate), and keeps it only if the merit is lower there.
    fn extrapolate(&mut self, merit: Merit) -> Merit {
        let model = self.problem.model;
        let history = &self.problem.ctx.previous.history;
        let Some(potential) = merit.potential else { return merit };
        if history.depth == 0 {
            return merit;
        }
        let h = self.problem.ctx.dt;
        for (i, d) in self.work.direction.iter_mut().enumerate() {
            *d = history.rates[i] * h;
            if history.depth == 2 {
                *d += (history.rates[i] - history.previous_rates[i]) * h;
            }
        }
        model.kinematics.filter(&mut self.work.direction);
        // A pose that is held: nothing moved, and nothing will.
        if self.distance() == 0.0 {
            return merit;
        }
        let allowed = self.max_step();
        let trial = self.evaluate_trial(allowed);
        if trial.potential.is_some_and(|p| p < potential) {
            self.take_trial();
            return trial;
        }
        merit
    }

    /// Moves prescribed unknowns to their targets while the rest follows the linearized equilibrium. Each iteration
    /// goes as far as all cells stay valid and nothing passes through anything.
    fn drive(&mut self, report: &mut StepReport) -> Result<(), Failure> {
        let model = self.problem.model;
        let most = self.params.budget.map_or(MAX_DRIVE, |budget| budget.newton);
        let has_barriers = self.problem.contact.has_barriers();
        for _ in 0..most {
            let merit = self.gradient_at_iterate();
            if !merit.magnitude.is_finite() {
                return Err(Failure::NotFinite);
            }
            if !self.aim() && (!has_barriers || self.problem.contact.progress() == 1.0) {
                return Ok(());
            }
            let mut fraction = 1.0f64;
            for pass in 0..=LOOKS_AHEAD {
                self.find_drive(pass > 0, report)?;
                if !has_barriers {
                    break;
                }
                let start = Instant::now();
                self.place_trial(1.0);
                fraction = self.problem.contact.sweep(&model.contact, &self.work.x, &self.work.trial_x, 1.0);
                let is_last =
                    fraction == 1.0 || pass == LOOKS_AHEAD || !self.problem.contact.look_ahead(&model.contact);
                self.timing.contact += start.elapsed();
                if is_last {
                    break;
                }
            }
            self.problem.contact.look_nowhere();
            let progress = self.problem.contact.progress();
            loop {
                let share = if fraction == 1.0 { 1.0 } else { progress + fraction * (1.0 - progress) };
                self.problem.contact.set_progress(share);
                model.kinematics.advance(&self.work.q, &self.work.direction, fraction, &mut self.work.trial);
                if fraction == 1.0 {
                    // Set exactly to the targets, free of rounding.
                    let trial = &mut self.work.trial.vectors;
                    model.for_each_prescribed(self.problem.ctx.control, |unknown, axis, value| {
                        trial[unknown][axis] = value;
                    });
                    for driven in &model.driven {
                        let block = model.rigid_bodies[driven.rigid].block as usize;
                        let pose = driven.pose(self.problem.ctx.control);
                        trial[model.kinematics.rigid_blocks()[block].translation as usize] = pose.translation;
                        self.work.trial.rotations[block] = pose.rotation;
                    }
                }
                model.kinematics.place(&self.work.trial, &mut self.work.trial_x);
                if self.problem.evaluate(&self.work.trial_x).magnitude.is_finite() {
                    break;
                }
                fraction *= 0.5;
                if fraction < 1e-4 {
                    return Err(Failure::NotFinite);
                }
            }
            // Less progress than this means that an obstacle does not give way.
            if fraction < SHORTEST_DRIVE {
                return Err(Failure::Blocked);
            }
            std::mem::swap(&mut self.work.q, &mut self.work.trial);
            std::mem::swap(&mut self.work.x, &mut self.work.trial_x);
            if fraction == 1.0 {
                return Ok(());
            }
            if self.params.budget.is_none() {
                self.relax(report)?;
            }
        }
        Err(Failure::NotFinite)
    }

    /// Writes the remaining path of prescribed unknowns into `trial_gradient`, with zeros elsewhere; returns whether
    /// there is any.
    fn aim(&mut self) -> bool {
        let model = self.problem.model;
        let Work { q, trial_gradient: way, .. } = &mut *self.work;
        way.fill(Vec3::zero());
        let mut remaining = 0.0f64;
        model.for_each_prescribed(self.problem.ctx.control, |unknown, axis, value| {
            way[unknown][axis] = value - q.vectors[unknown][axis];
            remaining = remaining.max(way[unknown][axis].abs());
        });
        for driven in &model.driven {
            let (pose, block) =
                (driven.pose(self.problem.ctx.control), model.rigid_bodies[driven.rigid].block as usize);
            let unknowns = model.kinematics.rigid_blocks()[block];
            let shift = pose.translation - q.vectors[unknowns.translation as usize];
            let turn = (pose.rotation * q.rotations[block].conjugate()).log_map();
            remaining = remaining.max(shift.norm()).max(turn.norm());
            way[unknowns.translation as usize] = shift;
            way[unknowns.rotation as usize] = turn;
        }
        remaining > 0.0
    }

    /// Finds the direction that takes prescribed unknowns to their targets and the rest to the linearized equilibrium:
    /// with the prescribed increment δₚ, the free rows see −g − H δₚ. With `again`, only contacts have changed since
    /// the last call at this point, and the last direction is the initial guess.
    fn find_drive(&mut self, again: bool, report: &mut StepReport) -> Result<(), Failure> {
        let model = self.problem.model;
        let obstacles_left = 1.0 - self.problem.contact.progress();
        let start = Instant::now();
        self.problem.linearize_contact(&self.work.x);
        let Work { q, x, point_gradient, .. } = &*self.work;
        let at = TangentAt { problem: &self.problem, q, x, point_gradient, definite: 1.0 };
        if again {
            self.system.assemble_again(&at);
        } else {
            self.system.assemble(&at);
        }
        self.timing.assembly += start.elapsed();
        self.system.unfiltered_product(&self.work.trial_gradient, &mut self.work.rhs);
        for (r, &g) in self.work.rhs.iter_mut().zip(&self.work.gradient) {
            *r = -*r - g;
        }
        if self.problem.contact.has_barriers() {
            let Work { q, trial_point_gradient: pull, trial: Unknowns { vectors: pulled, .. }, rhs, .. } =
                &mut *self.work;
            pull.fill(Vec3::zero());
            // Approaching colliders push according to this tangent.
            if obstacles_left > 0.0 {
                self.problem.contact.add_obstacle_pull(&model.contact, obstacles_left, pull);
            }
            self.problem.contact.add_pull_ahead(&model.contact, pull);
            model.kinematics.pull_back(q, pull, pulled);
            rhs.iter_mut().zip(&*pulled).for_each(|(r, &p)| *r -= p);
        }
        model.kinematics.filter(&mut self.work.rhs);
        let start = Instant::now();
        let is_touching = self.problem.contact.is_repelling() || !model.skinning_predictor.is_empty();
        let forcing = if is_touching { TOUCHING_ACCURACY } else { FREE_ACCURACY };
        let Work { q, x, point_gradient, rhs, direction, trial_gradient: way, .. } = &mut *self.work;
        if again {
            direction.iter_mut().zip(&*way).for_each(|(d, &p)| *d -= p);
        }
        let at = TangentAt { problem: &self.problem, q, x, point_gradient, definite: 1.0 };
        let solved = self.system.solve(
            &at,
            Task { forcing, has_guess: again, is_rough: true, ..Task::default() },
            rhs,
            direction,
        );
        self.timing.linear_solve += start.elapsed();
        report.linear_iterations += solved.map_err(Failure::Singular)?;
        for (d, &p) in self.work.direction.iter_mut().zip(&self.work.trial_gradient) {
            *d += p;
        }
        Ok(())
    }

    /// Runs a few iterations with the pins fixed on the way to their targets, so that cells about to be crushed regain
    /// their volume.
    fn relax(&mut self, report: &mut StepReport) -> Result<(), Failure> {
        let mut merit = self.gradient_at_iterate();
        for _ in 0..RELAXATIONS {
            report.newton_iterations += 1;
            self.find_direction(&Caution::full(), STATIC_FORCING, report)?;
            let slope = dot(&self.work.gradient, &self.work.direction);
            match self.line_search(merit, slope, report) {
                Some(step) => merit = step.merit,
                None => break,
            }
        }
        Ok(())
    }
}
