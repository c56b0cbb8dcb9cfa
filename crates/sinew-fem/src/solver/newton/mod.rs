//! The nonlinear solver of quasistatics and the implicit schemes, one step at a time.

mod acceleration;
mod cycles;
mod first_guess;
mod harmonic_guess;
mod iterations;
mod newton_loop;
mod search;
mod vectors;

use std::time::{Duration, Instant};

use sinew_geometry::Aabb;
use sinew_math::Vec3;

use super::Solver;
use super::integrator::Regime;
use super::linear::LinearSystem;
use super::params::{NonlinearSolver, ResidualNorm, SolverParams};
use super::problem::{Problem, ProblemScratch};
use harmonic_guess::HarmonicGuess;
use iterations::ORDINARY_ITERATIONS;
use newton_loop::{Failure, NewtonLoop, Work};
use vectors::largest;

use crate::collider::collider_poses;
use crate::contact::{ContactStage, Contacts};
use crate::control::Control;
use crate::diagnostics::find_blame;
use crate::force::StepContext;
use crate::interrupt::Interrupt;
use crate::model::{Model, energies_with};
use crate::report::{Blame, StepError, StepReport, StepTiming};
use crate::state::State;

/// A quasistatic Newton step longer than this many times the size of the model is cut to that length.
const MAX_STRIDE: f64 = 10.0;

/// Strain that limits the reference of the largest force of a step. Flesh at the end of a bone that rotates by six
/// degrees and leaves it behind has a strain of three.
const LARGEST_STRAIN: f64 = 4.0;

/// Multiple of `max_newton` that the steps of a frame may take beyond ordinary iterations. Without it, diverging flesh
/// could take hours.
const FRAME_PATIENCE: usize = 40;

/// The nonlinear solver of quasistatics and the implicit schemes of [`Regime`]. It allocates its memory for the first
/// model; another model needs another solver.
pub struct NewtonSolver {
    params: SolverParams,
    scratch: ProblemScratch,
    contacts: Contacts,
    stage: ContactStage,
    previous: State,
    system: Option<LinearSystem>,
    /// Size of the elastic forces of the model at unit strain in every cell \[N\], in the norm of the parameters.
    unit_strain_force: f64,
    /// The harmonic guess of `untangle`, after its first use; `Some(None)` when the model has no pins to start from.
    harmonic_guess: Option<Option<HarmonicGuess>>,
    /// Whether the limit on iterations is lifted.
    is_patient: bool,
    /// Whether steps end within a frame.
    is_passing: bool,
    /// Polled between iterations.
    interrupt: Interrupt,
    /// Iterations of this frame beyond ordinary ones.
    hard_iterations: usize,
    work: Work,
}

impl NewtonSolver {
    /// Creates a solver with these parameters.
    pub fn new(params: SolverParams) -> Self {
        let max_newton = params.budget.map_or(params.max_newton, |budget| budget.newton);
        Self {
            params: SolverParams { max_newton, ..params },
            scratch: ProblemScratch::default(),
            contacts: Contacts::default(),
            stage: ContactStage::default(),
            previous: State::default(),
            system: None,
            unit_strain_force: 0.0,
            harmonic_guess: None,
            is_patient: false,
            is_passing: false,
            interrupt: Interrupt::default(),
            hard_iterations: 0,
            work: Work::default(),
        }
    }

    /// The parameters.
    pub fn params(&self) -> &SolverParams {
        &self.params
    }

    /// Number of parts of the model that nothing holds: quasistatics determines their shape, not their position.
    pub fn free_parts(&mut self, model: &Model) -> usize {
        self.system(model).free().parts().len()
    }

    /// The linear solver chosen for this model, and the reason.
    pub fn linear_solver_reason(&mut self, model: &Model) -> String {
        self.system(model).reason().to_string()
    }

    fn system(&mut self, model: &Model) -> &mut LinearSystem {
        if self.system.as_ref().is_some_and(|system| !system.fits(model)) {
            self.system = None;
            self.harmonic_guess = None;
            self.scratch = ProblemScratch::default();
            self.stage = ContactStage::default();
        }
        if self.system.is_none() {
            let forces = model.unit_strain_forces();
            self.unit_strain_force = match self.params.norm {
                ResidualNorm::Euclidean => forces.iter().map(|f| f * f).sum::<f64>().sqrt(),
                ResidualNorm::Largest => LARGEST_STRAIN * forces.iter().copied().fold(0.0, f64::max),
            };
        }
        self.system.get_or_insert_with(|| LinearSystem::new(model, &self.params))
    }
}

impl Solver for NewtonSolver {
    fn is_static(&self) -> bool {
        !self.params.regime.is_dynamic()
    }

    fn step(&mut self, model: &Model, state: &mut State, control: &Control, dt: f64) -> Result<StepReport, StepError> {
        let start = Instant::now();
        model.check_control(control, state.time + dt)?;
        self.system(model);
        self.work.resize(model);
        self.prepare(model, state);
        self.previous.clone_from(state);
        let contact_start = Instant::now();
        self.contacts.find(model, &self.previous, control, dt);
        self.stage.begin_step(&model.contact, &model.step_start(&self.previous, control, dt));
        let mut timing = StepTiming { contact: contact_start.elapsed(), ..StepTiming::default() };
        let time = state.time + dt;
        let ctx = StepContext { time, dt, previous: &self.previous, control, contacts: &self.contacts };
        let system = self.system.as_mut().expect("created above");
        system.begin_step(&state.history);
        let work_before = system.cycle_work();
        let problem = Problem::new(model, system.plan(), ctx, self.params.regime, &mut self.scratch, &mut self.stage);
        let mut attempt = NewtonLoop {
            max_stride: longest_stride(model, self.params.regime, &self.previous),
            problem,
            system,
            params: &self.params,
            work: &mut self.work,
            timing: &mut timing,
            unit_strain_force: self.unit_strain_force,
            harmonic_guess: &mut self.harmonic_guess,
            largest_at_start: 0.0,
            is_patient: self.is_patient,
            is_passing: self.is_passing,
            interrupt: &self.interrupt,
            hard_iterations_left: match self.params.budget {
                Some(_) => usize::MAX,
                None => (FRAME_PATIENCE * self.params.max_newton).saturating_sub(self.hard_iterations),
            },
        };
        let mut report = StepReport { substeps: 1, ..StepReport::default() };
        let outcome = match attempt.run(&mut report) {
            Err(failure) if self.params.budget.is_some() && !matches!(failure, Failure::Interrupted) => {
                Ok(attempt.settle(&mut report))
            }
            outcome => outcome,
        };
        self.hard_iterations += report.newton_iterations.saturating_sub(ORDINARY_ITERATIONS);
        match outcome {
            Ok(merit) => {
                let left = largest(&attempt.work.gradient);
                report.largest_residual = if left > 0.0 { left / attempt.largest_at_start.max(left) } else { 0.0 };
                let rounding = attempt.system.rounding_floor(&attempt.work.q);
                let work = attempt.system.cycle_work();
                commit(model, state, attempt.work, control, dt);
                report.local_error = attempt.problem.finish(state);
                state.history.rounding = rounding;
                attempt.system.spectra(&mut state.history.spectra);
                // The last evaluation has the strain energy of lattices; other cells are evaluated here.
                let elastic = match model.elastic.is_empty() {
                    true => merit.elastic,
                    false => model.elastic_energy(&state.positions, control),
                };
                report.energies =
                    energies_with(model, &attempt.problem.ctx, &state.positions, &state.velocities, elastic);
                let stage = &mut *attempt.problem.contact;
                stage.evaluate(&model.contact, &state.positions);
                let history = &mut state.history;
                history.contact_memory.clear();
                history.meeting_speeds.clear();
                stage.remember(&model.contact, history);
                self.contacts.remember(model, &state.positions, control, dt, history);
                history.contact_memory.sort_unstable_by_key(|memory| memory.key);
                report.energies.contact += stage.stored_energy();
                report.time = time;
                report.contacts = self.contacts.len() + self.stage.pair_count();
                timing.cycles = Duration::from_secs_f64(work.seconds - work_before.seconds);
                timing.cell_sweeps = work.cell_sweeps - work_before.cell_sweeps;
                timing.total = start.elapsed();
                report.timing = timing;
                Ok(report)
            }
            Err(failure) => {
                let blame = find_blame(model, &attempt.work.x, &attempt.work.gradient);
                Err(failure.into_error(time, self.hard_iterations, blame))
            }
        }
    }

    fn handles_large_rotations(&self) -> bool {
        self.params.nonlinear == NonlinearSolver::Fas
    }

    fn prepare(&self, model: &Model, state: &mut State) {
        self.params.regime.prepare(model, state);
    }

    fn pass_through(&mut self, is_passing: bool) {
        self.is_passing = is_passing;
    }

    fn begin_frame(&mut self) {
        self.hard_iterations = 0;
    }

    fn set_interrupt(&mut self, interrupt: Interrupt) {
        self.interrupt = interrupt;
    }

    fn lift_iteration_limit(&mut self, is_patient: bool) -> bool {
        self.is_patient = is_patient;
        self.params.budget.is_none()
    }

    fn order(&self) -> i32 {
        if matches!(self.params.regime, Regime::Bdf2 | Regime::Newmark(_)) { 2 } else { 1 }
    }
}

impl Failure {
    fn into_error(self, time: f64, hard_iterations: usize, blame: Blame) -> StepError {
        match self {
            Failure::NotConverged { iterations, relative_residual } => {
                StepError::NotConverged { time, iterations, relative_residual, blame }
            }
            Failure::Exhausted => StepError::Exhausted { time, iterations: hard_iterations, blame },
            Failure::Stalled { relative_residual } => StepError::Stalled { time, relative_residual, blame },
            Failure::Interrupted => StepError::Interrupted { time },
            Failure::NotFinite => StepError::NotFinite { time, blame },
            Failure::Blocked => StepError::Blocked { time, blame },
            Failure::Singular(cause) => StepError::Singular { time, reason: cause.to_string(), blame },
        }
    }
}

/// Maximum length of a believable Newton step: infinite in dynamics, where inertia holds everything.
fn longest_stride(model: &Model, regime: Regime, previous: &State) -> f64 {
    if regime.is_dynamic() {
        return f64::INFINITY;
    }
    // The rest size covers collapsed bodies, the current size scattered ones.
    let size = model.rest_size().max(Aabb::from_points(&previous.positions).size().norm());
    if size > 0.0 { MAX_STRIDE * size } else { f64::INFINITY }
}

/// Writes an accepted step into the state; velocities are left to the scheme.
fn commit(model: &Model, state: &mut State, work: &mut Work, control: &Control, dt: f64) {
    let history = &mut state.history;
    let unknowns = model.kinematics.unknown_count();
    history.rates.resize(unknowns, Vec3::zero());
    history.previous_rates.resize(unknowns, Vec3::zero());
    std::mem::swap(&mut history.rates, &mut history.previous_rates);
    for (i, rate) in history.rates.iter_mut().enumerate() {
        *rate = (work.q.vectors[i] - state.unknowns.vectors[i]) / dt;
    }
    for (block, rigid) in model.kinematics.rigid_blocks().iter().enumerate() {
        let turn = work.q.rotations[block] * state.unknowns.rotations[block].conjugate();
        history.rates[rigid.rotation as usize] = turn.log_map() / dt;
    }
    let same_length = history.depth == 0 || (history.last_dt - dt).abs() <= 1e-9 * dt;
    history.depth = if same_length { (history.depth + 1).min(2) } else { 1 };
    history.last_dt = dt;
    collider_poses(&model.colliders, control, &mut history.collider_poses);
    state.unknowns.clone_from(&work.q);
    state.positions.copy_from_slice(&work.x);
    // Nodes carry bound points, so the force on a pin is the gradient over the unknowns, not over the points.
    model.kinematics.pull_back(&work.q, &work.point_gradient, &mut work.rhs);
    for (point, reaction) in state.reactions.iter_mut().enumerate() {
        *reaction = match model.kinematics.own_unknown(point) {
            Some(unknown) => work.rhs[unknown as usize],
            None if model.kinematics.is_on_rigid_block(point) => work.point_gradient[point],
            None => Vec3::zero(),
        };
    }
    state.time += dt;
}
