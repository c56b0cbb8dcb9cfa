//! A running simulation: model, state, control, solver, and the tracks that move the controls.

mod removals;

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::ops::Range;

use sinew_geometry::shape::Pose;
use sinew_math::parallel::in_pool;
use sinew_math::{Mat3, Quaternion, Vec3};

use crate::command::Command;
use crate::contact::{ContactFinder, ContactPoint, allow_start, increments_of_motion, parts_of_step};
use crate::control::{ChannelId, Control, ControlError};
use crate::cover::CoverProbe;
use crate::diagnostics::{BodySummary, summarize};
use crate::elastic::{Actuation, ElasticBlock};
use crate::force::SheathProbe;
use crate::force::strand::{StrandProbe, TendonProbe};
use crate::frame::{BodyFrame, CellSource, Frame, ShapeFrame, cauchy};
use crate::interrupt::Interrupt;
use crate::kinematics::PointMap;
use crate::lattice::LatticeBlock;
use crate::linearization::ProbeGradient;
use crate::model::Model;
use crate::pacing::{AdaptiveParams, MAX_EXPLICIT_STEPS, STEPS_PER_ESTIMATE, Substeps, even_target, next_step};
use crate::probe::{BodyProbe, ColliderProbe, ContactProbe, GlobalProbe, Probe, ProbeContext, RigidProbe};
use crate::report::{StepError, StepReport};
use crate::solver::Solver;
use crate::state::State;

pub use self::removals::Removal;
use self::removals::Removals;

/// Moves control channels in time.
pub trait Driver: Send {
    /// Writes the values at `time` [s].
    fn apply(&self, time: f64, control: &mut Control);
}

/// How frames are cut into steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameParams {
    /// Frames per second [1/s].
    pub frame_rate: f64,
    /// Steps of a frame.
    pub substeps: Substeps,
    /// How often a failed step may be halved before the frame fails.
    pub max_halvings: usize,
}

impl Default for FrameParams {
    fn default() -> Self {
        Self { frame_rate: 60.0, substeps: Substeps::Fixed(1), max_halvings: 6 }
    }
}

/// Points from which frames are computed on a thread of the pool.
const POOLED_POINTS: usize = 500;

/// Turn of a pin or bone in one quasistatic increment [rad].
const LONGEST_TURN: f64 = 1.0;
/// The same for what flesh follows, of one against another: flesh between bones that jump apart would turn inside out (MCA-49).
const LONGEST_BEND: f64 = 0.35;

/// Everything that runs.
pub struct Simulation {
    model: Model,
    state: State,
    control: Control,
    solver: Box<dyn Solver>,
    drivers: Vec<Box<dyn Driver>>,
    probes: Vec<Box<dyn Probe>>,
    probe_names: Vec<String>,
    /// What was read off the current frame, once somebody has asked; and memory for the next.
    observed: OnceCell<Box<Observed>>,
    spare: Cell<Option<Box<Observed>>>,
    /// Commands at both ends of a step that is cut into increments.
    increments: (Vec<f64>, Vec<f64>),
    /// Commands of what flesh follows, within such a step.
    leader_values: Vec<f64>,
    params: FrameParams,
    frame_index: usize,
    report: StepReport,
    held: Vec<(ChannelId, f64)>,
    backup: State,
    /// The state before a step that may be taken back for its error.
    step_backup: State,
    /// Size of the largest body at rest [m].
    size: f64,
    /// Asked between steps.
    interrupt: Interrupt,
    /// Cells that go while it runs.
    removals: Option<Removals>,
    /// What removals replaced, if it is kept.
    past: Option<Vec<(Model, State)>>,
    /// What was mended or deserves attention while the scene was compiled.
    pub notes: Vec<String>,
}

impl Simulation {
    /// A simulation at time zero with the standard probes and those in `probes`.
    pub fn new(
        mut model: Model,
        solver: Box<dyn Solver>,
        params: FrameParams,
        drivers: Vec<Box<dyn Driver>>,
        probes: Vec<Box<dyn Probe>>,
    ) -> Self {
        let mut control = model.initial_control();
        for driver in &drivers {
            driver.apply(0.0, &mut control);
        }
        let mut state = model.initial_state();
        crate::contacts::collider_poses(&model, &control, &mut state.history.collider_poses);
        allow_start(&mut model, &state);
        solver.prepare(&model, &mut state);
        let size = model.rest_size();
        let step_backup = match params.substeps {
            Substeps::Adaptive(_) => state.clone(),
            _ => State::default(),
        };
        let mut all: Vec<Box<dyn Probe>> = vec![Box::new(GlobalProbe)];
        all.extend((0..model.bodies.len()).map(|body| Box::new(BodyProbe { body }) as Box<dyn Probe>));
        all.extend((0..model.strands.len()).map(|strand| Box::new(StrandProbe { strand }) as Box<dyn Probe>));
        all.extend((0..model.tendons.len()).map(|tendon| Box::new(TendonProbe { tendon }) as Box<dyn Probe>));
        all.extend((0..model.sheaths.len()).map(|sheath| Box::new(SheathProbe { sheath }) as Box<dyn Probe>));
        all.extend((0..model.rigid_bodies.len()).map(|rigid| Box::new(RigidProbe { rigid }) as Box<dyn Probe>));
        all.extend((0..model.contacts.len()).map(|contact| Box::new(ColliderProbe { contact }) as Box<dyn Probe>));
        all.extend((0..model.bones.len()).map(|bone| Box::new(CoverProbe::new(&model, bone)) as Box<dyn Probe>));
        let pairs: Vec<[usize; 2]> = model.contact.pairs().map(|(g, h, _)| [g, h]).collect();
        all.extend(pairs.into_iter().map(|groups| Box::new(ContactProbe { groups }) as Box<dyn Probe>));
        all.extend(probes);
        let probe_names = all.iter().flat_map(|probe| probe.names(&model)).collect();
        let report = StepReport { energies: model.energies(&state, &control), ..StepReport::default() };
        state.history.work.start = report.energies.total();
        let channels = vec![0.0; control.values().len()];
        let mut simulation = Self {
            model,
            backup: state.clone(),
            state,
            control,
            solver,
            drivers,
            probes: all,
            probe_names,
            observed: OnceCell::new(),
            spare: Cell::new(None),
            increments: (channels.clone(), channels),
            leader_values: Vec::new(),
            params,
            frame_index: 0,
            report,
            held: Vec::new(),
            step_backup,
            size,
            interrupt: Interrupt::default(),
            removals: None,
            past: None,
            notes: Vec::new(),
        };
        simulation.set_interrupt(Interrupt::ambient());
        simulation
    }

    /// The constant part.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The state at the current frame.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Channels that a command holds, with their values.
    pub fn held(&self) -> impl Iterator<Item = (&str, f64)> {
        self.held.iter().map(|&(channel, value)| (self.control.table().names()[channel.0 as usize].as_str(), value))
    }

    /// Whether a state has the sizes of this model at its time.
    pub fn accepts(&self, state: &State) -> bool {
        let (own, history) = (&self.state, &self.state.history);
        let [points, unknowns] = self.sizes_at(self.frame_of(state.time));
        let all = |own: &[Vec3]| if own.is_empty() { 0 } else { points };
        state.positions.len() == points
            && state.velocities.len() == points
            && state.unknowns.vectors.len() == unknowns
            && state.unknowns.rotations.len() == own.unknowns.rotations.len()
            && state.history.collider_poses.len() == history.collider_poses.len()
            && state.history.previous_positions.len() == all(&history.previous_positions)
            && state.history.previous_velocities.len() == all(&history.previous_velocities)
            && state.history.accelerations.len() == all(&history.accelerations)
    }

    /// The frame of a time.
    fn frame_of(&self, time: f64) -> usize {
        (time * self.params.frame_rate).round() as usize
    }

    /// Replaces the state, for example by a checkpoint; the next frame is the first one after its time. The lists of the old state are written over, not
    /// exchanged: who looks at them sees the new state.
    ///
    /// # Panics
    /// When the state has another number of points: see [`Simulation::accepts`].
    pub fn set_state(&mut self, state: &State) {
        self.frame_index = self.frame_of(state.time);
        self.go_to_topology_of(self.frame_index);
        assert_eq!(state.positions.len(), self.state.positions.len(), "the state of another model");
        self.state.clone_from(state);
        let time = self.state.time;
        self.drive(time);
        self.forget_observed();
    }

    /// Begins anew, at the time of `state` and with its positions and velocities: what earlier steps left behind is forgotten. Points that are bound to
    /// others go where those carry them.
    ///
    /// # Panics
    /// When the state has another number of points.
    pub fn start_from(&mut self, state: &State) {
        self.go_to_topology_of(self.frame_of(state.time));
        assert_eq!(state.positions.len(), self.state.positions.len(), "the state of another model");
        let mut fresh = self.model.initial_state();
        self.solver.prepare(&self.model, &mut fresh);
        fresh.time = state.time;
        fresh.unknowns.clone_from(&state.unknowns);
        for (point, &position) in state.positions.iter().enumerate() {
            if let PointMap::Free(unknown) = self.model.kinematics.map(point) {
                fresh.unknowns.vectors[unknown as usize] = position;
            }
        }
        self.model.kinematics.place(&fresh.unknowns, &mut fresh.positions);
        fresh.velocities.copy_from_slice(&state.velocities);
        fresh.history.collider_poses.clone_from(&state.history.collider_poses);
        fresh.history.activations.clone_from(&state.history.activations);
        fresh.history.work = state.history.work;
        if !fresh.history.fiber_start.is_empty() {
            fresh.history.fiber_start.copy_from_slice(&fresh.positions);
        }
        self.set_state(&fresh);
    }

    /// Whether steps find equilibria.
    pub fn is_static(&self) -> bool {
        self.solver.is_static()
    }

    /// The commanded channels.
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// Simulated time [s].
    pub fn time(&self) -> f64 {
        self.state.time
    }

    /// Number of the current frame; 0 is the initial state.
    pub fn frame_index(&self) -> usize {
        self.frame_index
    }

    /// Frames per second [1/s].
    pub fn frame_rate(&self) -> f64 {
        self.params.frame_rate
    }

    /// How the current frame was computed.
    pub fn report(&self) -> &StepReport {
        &self.report
    }

    /// Names of all probes.
    pub fn probe_names(&self) -> &[String] {
        &self.probe_names
    }

    /// Value of a probe at the current frame.
    pub fn probe(&self, name: &str) -> Option<f64> {
        self.probe_names.iter().position(|n| n == name).map(|i| self.observed().values[i])
    }

    /// Closed-form derivatives of a probe, by its index, by all that it reads at the current frame; `None` where it has none.
    pub(crate) fn probe_gradient(&self, index: usize) -> Option<ProbeGradient> {
        let Self { model, state, control, report, .. } = self;
        let Observed { summaries, contacts, .. } = self.observed();
        let renumbered = self.renumbered();
        let ctx = ProbeContext { model, state, control, report, summaries, contacts, renumbered };
        let (probe, index) = self.find_probe(index);
        let mut out = ProbeGradient::zero(model.kinematics.point_count(), model.kinematics.unknown_count());
        probe.add_gradient(&ctx, index, &mut out).then_some(out)
    }

    /// Value of a probe, by its index, at another state under other commands.
    pub(crate) fn probe_at(&self, index: usize, state: &State, control: &Control) -> f64 {
        let report = StepReport { energies: self.model.energies(state, control), ..self.report };
        let mut observed = Observed::default();
        observed.look(&self.model, state, control, &report, &self.probes, self.renumbered());
        observed.values[index]
    }

    /// The probe that has a value, and the index of that value among its own.
    fn find_probe(&self, index: usize) -> (&dyn Probe, usize) {
        let mut first = 0;
        for probe in &self.probes {
            let count = probe.names(&self.model).len();
            if index < first + count {
                return (probe.as_ref(), index - first);
            }
            first += count;
        }
        panic!("{index} is none of the {first} probes");
    }

    /// Applies a command from now on.
    pub fn command(&mut self, command: &Command) -> Result<(), ControlError> {
        let (Command::SetChannel { channel, .. } | Command::ReleaseChannel { channel }) = command;
        let id =
            self.control.table().find(channel).ok_or_else(|| ControlError::UnknownChannel { name: channel.clone() })?;
        // Probes are of the commands that led to this frame.
        self.observed();
        // A refused value changes nothing, not even what was held before.
        if let Command::SetChannel { value, .. } = command {
            self.control.set_by_name(channel, *value)?;
        }
        self.held.retain(|(held, _)| *held != id);
        match command {
            Command::SetChannel { value, .. } => self.held.push((id, *value)),
            Command::ReleaseChannel { .. } => {
                // Where no track moves it, nothing else would.
                self.control.reset(id);
                self.drive(self.state.time);
            }
        }
        Ok(())
    }

    /// Whom to ask, between the iterations of a frame that is being computed, whether to go on.
    pub fn set_interrupt(&mut self, interrupt: Interrupt) {
        self.solver.set_interrupt(interrupt.clone());
        self.interrupt = interrupt;
    }

    /// Number of points from which a frame is computed on a thread of the pool, not on that of the caller.
    pub const POOLED_POINTS: usize = POOLED_POINTS;

    /// Computes the next frame. On error the simulation is at the last frame, unchanged.
    pub fn step_frame(&mut self) -> Result<StepReport, StepError> {
        // Small models are never split, and need no other thread.
        if self.model.kinematics.point_count() < POOLED_POINTS {
            self.compute_frame()
        } else {
            in_pool(|| self.compute_frame())
        }
    }

    fn compute_frame(&mut self) -> Result<StepReport, StepError> {
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
            match total {
                Some(total) => total.absorb(&step),
                None => *total = Some(step),
            }
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
                // Flesh that is being crushed stiffens from step to step: then every step is asked.
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
            // A step that had to be halved says that the estimate has aged.
            steps_left = if *rollbacks > before { 0 } else { steps_left - 1 };
        }
        Ok(())
    }

    /// Steps to `target` in which nobody goes further than penalty contact can follow.
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
                match total {
                    Some(total) => total.absorb(&report),
                    None => *total = Some(report),
                }
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

    /// A quasistatic step to `target` that moves all commands in increments: from those of the state's time, or from no load at the very
    /// start, because a command that jumps has no values in between.
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
                self.increments.0[channel.0 as usize] = 0.0;
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
            match self.take_step(dt, waiting > deepest) {
                Ok(report) => {
                    self.state.time = time;
                    done = end;
                    waiting -= 1;
                    match total {
                        Some(total) => total.absorb(&report),
                        None => *total = Some(report),
                    }
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

    /// Puts commands at a share of the way between those of an increment. Bones are where they are at that time: on straight ways they would come apart.
    fn blend_commands(&mut self, share: f64, time: f64) {
        self.drive(time);
        self.leader_values.clear();
        let control = &self.control;
        self.leader_values.extend(self.model.leader_channels().map(|channel| control.get(channel)));
        self.control.blend(&self.increments.0, &self.increments.1, share);
        for (channel, &value) in self.model.leader_channels().zip(&self.leader_values) {
            self.control.set(channel, value);
        }
    }

    /// Puts the commands of the state's time and of `target` in place for increments between them, and finds the largest share of the way in
    /// which nothing turns too far: nodes of a pin go straight, so what turns by half a turn at once goes through its own axis.
    fn largest_increment(&mut self, target: f64) -> f64 {
        self.drive(self.state.time);
        self.increments.0.copy_from_slice(self.control.values());
        self.drive(target);
        self.increments.1.copy_from_slice(self.control.values());
        let (from, to) = (&self.increments.0, &self.increments.1);
        let turn = |channels: [ChannelId; 3]| {
            let rotation = |values: &[f64]| {
                let [x, y, z] = channels.map(|channel| values[channel.0 as usize]);
                Quaternion::exp_map(Vec3::new(x, y, z))
            };
            rotation(to) * rotation(from).conjugate()
        };
        // Written so that values that are no numbers are left to the step to refuse.
        let furthest = if self.model.moves_as_one() {
            // Flesh follows what all of its leaders do together.
            let mut leaders = self.model.leader_rotations().map(turn);
            let first = leaders.next().unwrap_or(Quaternion::identity()).conjugate();
            let between = leaders.map(|turn| (turn * first).log_map().norm()).fold(0.0, f64::max);
            between * (LONGEST_TURN / LONGEST_BEND)
        } else {
            self.model.rotation_channels().map(|channels| turn(channels).log_map().norm()).fold(0.0, f64::max)
        };
        let mut increments = 0.0;
        if self.model.has_penalties() {
            self.drive(self.state.time);
            let from = self.control.clone();
            self.drive(target);
            increments = increments_of_motion(&self.model, &from, &self.control);
        }
        let increments = self.model.parts_by_bones(&self.state, &self.control).max(increments);
        let furthest = if self.solver.handles_large_rotations() { 0.0 } else { furthest };
        LONGEST_TURN / furthest.max(LONGEST_TURN).max(LONGEST_TURN * increments)
    }

    /// One step under the present commands. The last try is the one that has to succeed: what no shorter step can mend gets all the iterations it
    /// needs.
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

    fn drive(&mut self, time: f64) {
        for driver in &self.drivers {
            driver.apply(time, &mut self.control);
        }
        for &(channel, value) in &self.held {
            self.control.set(channel, value);
        }
    }

    /// What can be read off the current frame.
    fn observed(&self) -> &Observed {
        self.observed.get_or_init(|| {
            let mut observed = self.spare.take().unwrap_or_default();
            let Self { model, state, control, report, probes, .. } = self;
            observed.look(model, state, control, report, probes, self.renumbered());
            debug_assert_eq!(observed.values.len(), self.probe_names.len(), "one value per name");
            observed
        })
    }

    fn forget_observed(&mut self) {
        if let Some(observed) = self.observed.take() {
            self.spare.set(Some(observed));
        }
    }

    /// What can be seen now.
    pub fn frame(&self) -> Frame<'_> {
        let (model, observed) = (&self.model, self.observed());
        let x = &self.state.positions;
        let bodies = model
            .bodies
            .iter()
            .enumerate()
            .map(|(index, body)| {
                let positions = &x[body.points.clone()];
                BodyFrame {
                    name: &body.name,
                    mesh: &body.mesh,
                    positions,
                    velocities: &self.state.velocities[body.points.clone()],
                    surface_triangles: &body.surface.triangles,
                    surface_positions: Cow::Owned(body.surface.positions(positions)),
                    surface_nodes: &body.surface.nearest_nodes,
                    surface_embedding: body.surface.embedding.as_ref(),
                    cells: Box::new(BodyCells {
                        model,
                        control: &self.control,
                        blocks: body.elastic.clone(),
                        motion: model.last_motion(&self.state.history),
                        lattice: model.lattice_of(index),
                        x,
                        cells: body.mesh.cell_count(),
                    }),
                }
            })
            .collect();
        let rigid = model.rigid_bodies.iter().map(|rigid| {
            let block = model.kinematics.rigid_blocks()[rigid.block as usize];
            let pose = Pose {
                translation: self.state.unknowns.vectors[block.translation as usize],
                rotation: self.state.unknowns.rotations[rigid.block as usize],
            };
            ShapeFrame { name: &rigid.name, shape: &rigid.shape, pose, is_dynamic: true }
        });
        let colliders = model.colliders.iter().zip(&self.state.history.collider_poses).map(|(collider, pose)| {
            ShapeFrame { name: &collider.name, shape: &collider.shape, pose: *pose, is_dynamic: false }
        });
        Frame {
            index: self.frame_index,
            time: self.state.time,
            topology_revision: self.topology_revision(),
            bodies,
            shapes: rigid.chain(colliders).collect(),
            contacts: &observed.contacts,
            probe_names: &self.probe_names,
            probe_values: &observed.values,
            report: &self.report,
        }
    }
}

/// What is read off a frame: probes, and where bodies touch. Found when somebody asks, since it takes as long as an evaluation of all forces.
#[derive(Default)]
struct Observed {
    values: Vec<f64>,
    contacts: Vec<ContactPoint>,
    summaries: Vec<BodySummary>,
    finder: ContactFinder,
}

impl Observed {
    fn look(
        &mut self,
        model: &Model,
        state: &State,
        control: &Control,
        report: &StepReport,
        probes: &[Box<dyn Probe>],
        renumbered: Option<&[Option<u32>]>,
    ) {
        let Self { values, contacts, summaries, finder } = self;
        values.clear();
        summaries.clear();
        summaries.extend((0..model.bodies.len()).map(|body| summarize(model, body, state, control)));
        finder.find(model, state, control, contacts);
        let ctx = ProbeContext { model, state, control, report, summaries, contacts, renumbered };
        for probe in probes {
            probe.evaluate(&ctx, values);
        }
    }
}

/// Evaluates F and P per cell for [`BodyFrame::cell_fields`].
struct BodyCells<'a> {
    model: &'a Model,
    control: &'a Control,
    blocks: Range<usize>,
    /// Where points were before, where that matters to fibers.
    motion: Option<(&'a [Vec3], f64)>,
    lattice: Option<&'a LatticeBlock>,
    x: &'a [Vec3],
    cells: usize,
}

impl CellSource for BodyCells<'_> {
    fn evaluate(&self) -> (Vec<Mat3>, Option<Vec<Mat3>>) {
        let mut deformation = vec![Mat3::zero(); self.cells];
        let mut stress = vec![Mat3::zero(); self.cells];
        let blocks: &[ElasticBlock] = &self.model.elastic[self.blocks.clone()];
        for block in blocks {
            let activations = self.model.activations(block.body, self.control);
            let actuation = Actuation { activations: &activations, motion: self.motion };
            for (k, &cell) in block.cells().iter().enumerate() {
                let (mut f, mut p) = (Mat3::zero(), Mat3::zero());
                block.evaluate_cell(k, self.x, &actuation, |weight, deformation, stress| {
                    f += deformation * weight;
                    p += stress * weight;
                });
                let volume = block.rest_volume(k);
                let (f, p) = (f / volume, p * (self.model.stiffness_of(block, self.control) / volume));
                deformation[cell as usize] = f;
                stress[cell as usize] = cauchy(&f, &p);
            }
        }
        if let Some(block) = self.lattice {
            let scale = self.model.body_stiffness(block.body, self.control);
            let activations = block.activations(self.control, scale);
            for (cell, (deformation, stress)) in deformation.iter_mut().zip(&mut stress).enumerate() {
                *deformation = block.deformation(cell, self.x);
                *stress = cauchy(deformation, &(block.stress(cell, deformation, &activations) * scale));
            }
        }
        (deformation, Some(stress))
    }
}
