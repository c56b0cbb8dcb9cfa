//! A running simulation: model, state, control, solver, and the tracks that move the controls.

mod finishes;
mod observed;
mod removals;
mod steps;

use std::cell::{Cell, OnceCell};

use sinew_math::Vec3;
use sinew_math::parallel::in_pool;

use finishes::Finish;
use observed::Observed;
pub use removals::Removal;
use removals::Removals;

use crate::collider::collider_poses;
use crate::command::Command;
use crate::control::{ChannelId, Control, ControlError};
use crate::cover::CoverProbe;
use crate::force::{Bone, ContactForce};
use crate::interrupt::Interrupt;
use crate::model::{Model, allow_start};
use crate::pacing::Substeps;
use crate::probe::{
    BodyProbe, ColliderProbe, ContactProbe, ForceProbe, GlobalProbe, Probe, ProbeContext, ProbeGradient, RigidProbe,
};
use crate::report::{StepError, StepReport};
use crate::solver::Solver;
use crate::state::State;

/// Moves control channels in time.
pub trait Driver: Send {
    /// Writes the values at `time` \[s\].
    fn apply(&self, time: f64, control: &mut Control);
}

/// How frames are divided into steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameParams {
    /// Frames per second \[1/s\].
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

/// Number of points from which frames are computed on a thread of the pool.
const POOLED_POINTS: usize = 500;

/// Everything that runs.
pub struct Simulation {
    model: Model,
    state: State,
    control: Control,
    solver: Box<dyn Solver>,
    drivers: Vec<Box<dyn Driver>>,
    probes: Vec<Box<dyn Probe>>,
    probe_names: Vec<String>,
    /// Output of the current frame, computed on first use; and memory for the next.
    observed: OnceCell<Box<Observed>>,
    spare: Cell<Option<Box<Observed>>>,
    /// Commands at both ends of a step that is cut into increments.
    increments: (Control, Control),
    /// Ways of the unknowns in such a step.
    ways: Vec<Vec3>,
    /// Commands of the drivers within such a step.
    driver_values: Vec<f64>,
    params: FrameParams,
    frame_index: usize,
    report: StepReport,
    held: Vec<(ChannelId, f64)>,
    backup: State,
    /// The state before a step that may be rolled back because of its error.
    step_backup: State,
    /// Size of the largest body at rest \[m\].
    size: f64,
    /// Polled between steps.
    interrupt: Interrupt,
    /// Cells to remove during the run.
    removals: Option<Removals>,
    /// What removals replaced, if it is kept.
    past: Option<Vec<(Model, State)>>,
    /// What moves the visible surfaces of bodies after their nodes.
    finishes: Vec<Finish>,
    /// Notes from compiling the scene: repairs, and anything that deserves attention.
    pub notes: Vec<String>,
}

/// With more pairs of bodies that may touch, pairs have no probes: their number grows with the square of that of bodies, and
/// a table of a million columns helps nobody.
const MAX_PAIR_PROBES: usize = 10_000;

impl Simulation {
    /// Creates a simulation at time zero, with the standard probes and those in `probes`.
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
        collider_poses(&model.colliders, &control, &mut state.history.collider_poses);
        allow_start(&mut model, &state);
        solver.prepare(&model, &mut state);
        let size = model.rest_size();
        let step_backup = match params.substeps {
            Substeps::Adaptive(_) => state.clone(),
            _ => State::default(),
        };
        let mut all: Vec<Box<dyn Probe>> = vec![Box::new(GlobalProbe)];
        all.extend((0..model.bodies.len()).map(|body| Box::new(BodyProbe { body }) as Box<dyn Probe>));
        all.extend((0..model.forces.len()).map(|force| Box::new(ForceProbe { force }) as Box<dyn Probe>));
        all.extend((0..model.rigid_bodies.len()).map(|rigid| Box::new(RigidProbe { rigid }) as Box<dyn Probe>));
        all.extend(
            (0..model.forces_of::<ContactForce>().count())
                .map(|contact| Box::new(ColliderProbe { contact }) as Box<dyn Probe>),
        );
        all.extend(
            (0..model.forces_of::<Bone>().count())
                .map(|bone| Box::new(CoverProbe::new(&model, bone)) as Box<dyn Probe>),
        );
        let mut notes = Vec::new();
        let pair_count = model.contact.pairs().count();
        if pair_count <= MAX_PAIR_PROBES {
            let pairs: Vec<[usize; 2]> = model.contact.pairs().map(|(g, h, _)| [g, h]).collect();
            all.extend(pairs.into_iter().map(|groups| Box::new(ContactProbe { groups }) as Box<dyn Probe>));
        } else {
            notes.push(format!(
                "{pair_count} pairs may touch: contact of single pairs has no values of its own above {MAX_PAIR_PROBES} pairs"
            ));
        }
        all.extend(probes);
        let probe_names = all.iter().flat_map(|probe| probe.names(&model)).collect();
        let report = StepReport { energies: model.energies(&state, &control), ..StepReport::default() };
        state.history.work.start = report.energies.total();
        let mut simulation = Self {
            model,
            backup: state.clone(),
            state,
            increments: (control.clone(), control.clone()),
            ways: Vec::new(),
            control,
            solver,
            drivers,
            probes: all,
            probe_names,
            observed: OnceCell::new(),
            spare: Cell::new(None),
            driver_values: Vec::new(),
            params,
            frame_index: 0,
            report,
            held: Vec::new(),
            step_backup,
            size,
            interrupt: Interrupt::default(),
            removals: None,
            past: None,
            finishes: Vec::new(),
            notes,
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
            && state.history.surfaces.len() == history.surfaces.len()
    }

    /// The frame of a time.
    fn frame_of(&self, time: f64) -> usize {
        (time * self.params.frame_rate).round() as usize
    }

    /// Replaces the state, for example by a checkpoint; the next frame is the first one after its time. Overwrites the
    /// lists of the old state in place, so existing views of them show the new state.
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

    /// Restarts at the time of `state` with its positions and velocities, and discards the history of earlier steps.
    /// Bound points move with the points that carry them.
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
            if let Some(unknown) = self.model.kinematics.own_unknown(point) {
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
        self.start_finishes(&mut fresh);
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

    /// Simulated time \[s\].
    pub fn time(&self) -> f64 {
        self.state.time
    }

    /// Number of the current frame; 0 is the initial state.
    pub fn frame_index(&self) -> usize {
        self.frame_index
    }

    /// Frames per second \[1/s\].
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

    /// Closed-form derivatives of the probe with this index by everything it reads at the current frame; `None` where
    /// there are none.
    pub(crate) fn probe_gradient(&self, index: usize) -> Option<ProbeGradient> {
        let Self { model, state, control, report, .. } = self;
        let Observed { summaries, contacts, .. } = self.observed();
        let renumbered = self.renumbered();
        let ctx = ProbeContext { model, state, control, report, summaries, contacts, renumbered };
        let (probe, index) = self.find_probe(index);
        let mut out = ProbeGradient::zero(model.kinematics.point_count(), model.kinematics.unknown_count());
        probe.add_gradient(&ctx, index, &mut out).then_some(out)
    }

    /// Value of the probe with this index at another state under other commands.
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
        // Probes belong to the commands that led to this frame.
        self.observed();
        // An invalid value changes nothing, not even what was held before.
        if let Command::SetChannel { value, .. } = command {
            self.control.set_by_name(channel, *value)?;
        }
        self.held.retain(|(held, _)| *held != id);
        match command {
            Command::SetChannel { value, .. } => self.held.push((id, *value)),
            Command::ReleaseChannel { .. } => {
                // Without a track, nothing else would reset it.
                self.control.reset(id);
                self.drive(self.state.time);
            }
        }
        Ok(())
    }

    /// Sets the interrupt, polled between the iterations of a frame.
    pub fn set_interrupt(&mut self, interrupt: Interrupt) {
        self.solver.set_interrupt(interrupt.clone());
        self.interrupt = interrupt;
    }

    /// Number of points from which a frame is computed on a thread of the pool instead of the calling thread.
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

    fn drive(&mut self, time: f64) {
        for driver in &self.drivers {
            driver.apply(time, &mut self.control);
        }
        for &(channel, value) in &self.held {
            self.control.set(channel, value);
        }
    }
}
