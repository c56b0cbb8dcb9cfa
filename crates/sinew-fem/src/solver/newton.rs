//! Newton's method with projection on demand and acceptance on energy.
//!
//! Find q with Jᵀ ∂Φ/∂x = 0: solve H δ = −g, go along δ as far as the merit function Φ falls enough (Armijo). The exact tangent H is
//! used until something shows that it is not positive definite (negative curvature in CG, a failed pivot, a direction that does not
//! descend, a step cut below 0.3); then that iteration uses the definite one [Teran05inv]. Accepting a step because the residual fell
//! would walk into saddles, so the residual decides only inside the rounding error of the energy. Where a force has no potential, a step is
//! accepted by the work along it, or when the residual falls.

use std::time::Instant;

use sinew_math::Vec3;
use sinew_math::parallel::sum;

use super::Solver;
use super::assembly::Linearization;
use super::guide::Guide;
use super::integrator::Regime;
use super::params::{Projection, SolverParams};
use super::problem::{Merit, Problem, ProblemScratch};
use super::system::{LinearSystem, SolveFailure};
use crate::contacts::{Contacts, collider_poses};
use crate::control::Control;
use crate::diagnostics::find_blame;
use crate::elastic::ElasticBlock;
use crate::force::StepContext;
use crate::kinematics::{PointMap, Unknowns};
use crate::material::Tangent;
use crate::model::{Model, energies};
use crate::report::{Blame, StepError, StepReport, StepTiming};
use crate::state::State;

/// Sufficient decrease: the share of the predicted decrease a step must deliver.
const ARMIJO: f64 = 1e-4;
/// Work per length that forces may do against a step at its end, over what they do for it at its start.
const WORK_SHARE: f64 = 0.9;
/// A step cut below this fraction distrusts the tangent: the next iteration uses the definite one.
const DISTRUST: f64 = 0.3;
/// Smallest step fraction tried: 2⁻³⁰ of a Newton step changes nothing any more.
const MIN_STEP: f64 = 1e-9;
/// A Newton step of quasistatics that goes this many times the size of the model is cut to that length.
const MAX_STRIDE: f64 = 10.0;
/// Residuals this many times the rounding of the positions are converged when nothing lowers them any more.
const STALLED_ROUNDINGS: f64 = 1e3;
/// Loosest linear solves. In dynamics inertia makes the first Newton step so good that a tight solve saves the third (beam L: 2.9 against 2.1
/// steps per frame); in quasistatics the first steps are far from the solution anyway.
const DYNAMIC_FORCING: f64 = 0.02;
const STATIC_FORCING: f64 = 0.1;
/// Shifts of a definite tangent that is singular or leads nowhere, over its diagonal: the least that f32 can see, the growth from try to
/// try, and the most, with which a step is nearly one along the gradient.
const LEAST_SHIFT: f64 = 1e-5;
const SHIFT_GROWTH: f64 = 30.0;
const MOST_SHIFT: f64 = 1.0;
/// How many times `max_newton` a step may take that starts with inverted cells.
const SCRAMBLED_PATIENCE: usize = 4;
/// Iterations without a lower residual after which steps are shortened where there is no potential, and by what shift at first; it grows tenfold
/// with as many again.
const CALM_AGE: usize = 10;
const CALM_SHIFT: f64 = 1e-3;
/// Iterations allowed to drive prescribed nodes to their targets before the step is called too large.
const MAX_DRIVE: usize = 60;
/// Iterations of the interior after each of them that could not go all the way.
const RELAXATIONS: usize = 2;

/// The one nonlinear solver: quasistatics and the implicit schemes of [`Regime`]. Its memory is laid out for the first model it meets; another model needs
/// another solver.
pub struct NewtonSolver {
    params: SolverParams,
    scratch: ProblemScratch,
    contacts: Contacts,
    previous: State,
    system: Option<LinearSystem>,
    /// Norm of the elastic forces of the model when every cell is strained by one [N].
    unit_strain_force: f64,
    /// The guide of `untangle`, once a step has asked for it; `Some(None)` when the model gives it nothing to hold on to.
    guide: Option<Option<Guide>>,
    work: Work,
}

/// Vectors of the iteration.
#[derive(Default)]
struct Work {
    q: Unknowns,
    trial: Unknowns,
    x: Vec<Vec3>,
    trial_x: Vec<Vec3>,
    point_gradient: Vec<Vec3>,
    trial_point_gradient: Vec<Vec3>,
    gradient: Vec<Vec3>,
    trial_gradient: Vec<Vec3>,
    direction: Vec<Vec3>,
    rhs: Vec<Vec3>,
}

impl Work {
    fn resize(&mut self, model: &Model) {
        let (points, unknowns) = (model.kinematics.point_count(), model.kinematics.unknown_count());
        for v in [&mut self.x, &mut self.trial_x, &mut self.point_gradient, &mut self.trial_point_gradient] {
            v.resize(points, Vec3::zero());
        }
        for v in [&mut self.gradient, &mut self.trial_gradient, &mut self.direction, &mut self.rhs] {
            v.resize(unknowns, Vec3::zero());
        }
    }
}

/// Why an attempt ended; becomes a [`StepError`] with the node and cell to blame.
enum Failure {
    NotConverged { iterations: usize, relative_residual: f64 },
    Stalled { relative_residual: f64 },
    NotFinite,
    Singular(SolveFailure),
}

fn norm(v: &[Vec3]) -> f64 {
    sum(v.len(), |i| v[i].norm_squared()).sqrt()
}

fn dot(a: &[Vec3], b: &[Vec3]) -> f64 {
    sum(a.len(), |i| a[i].dot(b[i]))
}

impl NewtonSolver {
    /// A solver with these choices.
    pub fn new(params: SolverParams) -> Self {
        let max_newton = params.budget.map_or(params.max_newton, |budget| budget.newton);
        Self {
            params: SolverParams { max_newton, ..params },
            scratch: ProblemScratch::default(),
            contacts: Contacts::default(),
            previous: State::default(),
            system: None,
            unit_strain_force: 0.0,
            guide: None,
            work: Work::default(),
        }
    }

    /// The choices.
    pub fn params(&self) -> &SolverParams {
        &self.params
    }

    /// Number of parts of the model that nothing holds: quasistatics decides their shape, not their place.
    pub fn free_parts(&mut self, model: &Model) -> usize {
        self.system(model).free().parts().len()
    }

    /// What `auto` chose for this model, in words.
    pub fn linear_solver_reason(&mut self, model: &Model) -> String {
        self.system(model).reason().to_string()
    }

    fn system(&mut self, model: &Model) -> &mut LinearSystem {
        if self.system.as_ref().is_some_and(|system| !system.fits(model)) {
            self.system = None;
            self.guide = None;
            self.scratch = ProblemScratch::default();
        }
        if self.system.is_none() {
            let mut forces = vec![0.0; model.kinematics.point_count()];
            model.elastic.iter().for_each(|block| block.add_unit_strain_forces(&mut forces));
            self.unit_strain_force = forces.iter().map(|f| f * f).sum::<f64>().sqrt();
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
        self.contacts.find(model, &self.previous);
        let mut timing = StepTiming { contact: contact_start.elapsed(), ..StepTiming::default() };
        let time = state.time + dt;
        let ctx = StepContext { time, dt, previous: &self.previous, control, contacts: &self.contacts };
        let system = self.system.as_mut().expect("created above");
        system.begin_step(state.history.rounding);
        let problem = Problem::new(model, system.plan(), ctx, self.params.regime, &mut self.scratch);
        let mut attempt = Attempt {
            problem,
            system,
            params: &self.params,
            work: &mut self.work,
            timing: &mut timing,
            unit_strain_force: self.unit_strain_force,
            guide: &mut self.guide,
        };
        let mut report = StepReport { substeps: 1, ..StepReport::default() };
        let outcome = match attempt.run(&mut report) {
            Err(_) if self.params.budget.is_some() => {
                attempt.settle(&mut report);
                Ok(())
            }
            outcome => outcome,
        };
        match outcome {
            Ok(()) => {
                let rounding = attempt.system.rounding_floor(&attempt.work.q);
                commit(model, state, attempt.work, control, dt);
                report.local_error = attempt.problem.finish(state);
                state.history.rounding = rounding;
                report.energies = energies(model, &attempt.problem.ctx, &state.positions, &state.velocities);
                report.time = time;
                report.contacts = self.contacts.len();
                timing.total = start.elapsed();
                report.timing = timing;
                Ok(report)
            }
            Err(failure) => {
                let blame = find_blame(model, &attempt.work.x, &attempt.work.gradient);
                Err(failure.into_error(time, blame))
            }
        }
    }

    fn prepare(&self, model: &Model, state: &mut State) {
        self.params.regime.prepare(model, state);
    }

    fn order(&self) -> i32 {
        if matches!(self.params.regime, Regime::Bdf2 | Regime::Newmark(_)) { 2 } else { 1 }
    }
}

impl Failure {
    fn into_error(self, time: f64, blame: Blame) -> StepError {
        match self {
            Failure::NotConverged { iterations, relative_residual } => {
                StepError::NotConverged { time, iterations, relative_residual, blame }
            }
            Failure::Stalled { relative_residual } => StepError::Stalled { time, relative_residual, blame },
            Failure::NotFinite => StepError::NotFinite { time, blame },
            Failure::Singular(cause) => StepError::Singular { time, reason: cause.to_string(), blame },
        }
    }
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
    collider_poses(model, control, &mut history.collider_poses);
    state.unknowns.clone_from(&work.q);
    state.positions.copy_from_slice(&work.x);
    // Bound points hang on the nodes that carry them: what a pin feels is the gradient over the unknowns, not over the points.
    model.kinematics.pull_back(&work.q, &work.point_gradient, &mut work.rhs);
    for (point, reaction) in state.reactions.iter_mut().enumerate() {
        *reaction = match model.kinematics.map(point) {
            PointMap::Free(unknown) => work.rhs[unknown as usize],
            PointMap::Weighted { .. } => Vec3::zero(),
            PointMap::Rigid { .. } => work.point_gradient[point],
        };
    }
    state.time += dt;
}

/// How a direction was found.
struct Direction {
    /// Multiple of the diagonal that was added to the tangent.
    shift: f64,
    /// Whether a node would have moved further than the longest stride, so that the step was cut to that.
    is_cut: bool,
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

/// The next larger shift.
fn stronger(shift: f64) -> f64 {
    (SHIFT_GROWTH * shift).max(LEAST_SHIFT)
}

struct Attempt<'a> {
    problem: Problem<'a>,
    system: &'a mut LinearSystem,
    params: &'a SolverParams,
    work: &'a mut Work,
    timing: &'a mut StepTiming,
    unit_strain_force: f64,
    guide: &'a mut Option<Option<Guide>>,
}

impl Attempt<'_> {
    fn run(&mut self, report: &mut StepReport) -> Result<(), Failure> {
        let (reference_norm, mut merit) = self.start(report)?;
        let max_stride = self.max_stride();
        let cap = if self.params.regime.is_dynamic() { DYNAMIC_FORCING } else { STATIC_FORCING };
        let mut residual = norm(&self.work.gradient);
        let mut previous_residual = f64::INFINITY;
        let mut distrust = false;
        let mut slow = 0;
        let mut is_running_away = false;
        let mut shift = 0.0f64;
        let mut most = self.params.max_newton;
        let mut best = Best { residual: f64::INFINITY, age: 0 };
        loop {
            if !residual.is_finite() || !merit.magnitude.is_finite() {
                return Err(Failure::NotFinite);
            }
            let relative = if reference_norm > 0.0 { residual / reference_norm } else { 0.0 };
            report.residual = residual;
            report.relative_residual = relative;
            let rounding = self.system.rounding_floor(&self.work.q);
            if residual <= self.params.tolerance * reference_norm || residual <= rounding {
                return Ok(());
            }
            if report.newton_iterations >= most && most == self.params.max_newton && self.starts_scrambled() {
                most *= SCRAMBLED_PATIENCE;
            }
            if report.newton_iterations >= most {
                if is_running_away {
                    return Err(Failure::Singular(SolveFailure::Unheld { distance: max_stride }));
                }
                let iterations = report.newton_iterations;
                return Err(Failure::NotConverged { iterations, relative_residual: relative });
            }
            report.newton_iterations += 1;
            let forcing = forcing_term(residual, previous_residual, self.params.tolerance * reference_norm, cap);
            let definite = distrust || self.params.projection == Projection::Always;
            if merit.potential.is_none() {
                shift = shift.max(best.calming_shift(residual));
            }
            let direction = self.find_direction(definite, shift, forcing, max_stride, report)?;
            is_running_away = direction.is_cut;
            let slope = dot(&self.work.gradient, &self.work.direction);
            let step = self.line_search(merit, slope, residual, report);
            previous_residual = residual;
            match step {
                Some((fraction, new_merit)) => {
                    distrust = fraction < DISTRUST;
                    shift = if direction.shift > LEAST_SHIFT { 0.1 * direction.shift } else { 0.0 };
                    slow = if fraction < 1e-3 { slow + 1 } else { 0 };
                    merit = new_merit;
                    residual = norm(&self.work.gradient);
                }
                None if residual <= STALLED_ROUNDINGS * self.system.rounding_floor(&self.work.q) => return Ok(()),
                // The tangent may be at fault: once more with the definite one before giving up.
                None if !definite => distrust = true,
                None if direction.shift < MOST_SHIFT => shift = stronger(direction.shift),
                None => return Err(Failure::Stalled { relative_residual: relative }),
            }
            if slow > 10 {
                return Err(Failure::Stalled { relative_residual: relative });
            }
        }
    }

    /// Whether cells were inverted before the step: it has a long way to go, and shorter steps would be no better.
    fn starts_scrambled(&self) -> bool {
        let positions = &self.problem.ctx.previous.positions;
        let inverted = |block: &ElasticBlock| block.summarize(positions).inverted_cells > 0;
        self.params.budget.is_none() && self.problem.model.elastic.iter().any(inverted)
    }

    /// Ends a step whose budget is spent, or that found no way on: keeps the iterate, whose merit is no higher than at the start, or where
    /// that is not finite the old state.
    fn settle(&mut self, report: &mut StepReport) {
        report.unconverged = 1;
        let merit = self.gradient_at_iterate();
        if !(merit.magnitude.is_finite() && norm(&self.work.gradient).is_finite()) {
            self.work.q.clone_from(&self.problem.ctx.previous.unknowns);
            self.work.x.copy_from_slice(&self.problem.ctx.previous.positions);
            self.gradient_at_iterate();
        }
        report.residual = norm(&self.work.gradient);
    }

    /// Places the iterate: at the old unknowns with prescribed values, at a better extrapolation, or where driving the prescribed
    /// nodes leads. Returns the reference residual, ‖g‖ at (xⁿ, vⁿ) under the new boundary data, and the merit of the iterate, whose
    /// gradient is in place.
    fn start(&mut self, report: &mut StepReport) -> Result<(f64, Merit), Failure> {
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
        let merit = self.gradient_at_iterate();
        let is_valid = merit.magnitude.is_finite();
        let reference = norm(&self.work.gradient).min(self.force_scale());
        if let Some(guided) = self.untangle(merit, report) {
            return Ok((reference, guided));
        }
        if moved > 0.0 && (self.params.regime == Regime::Quasistatic || !is_valid) {
            // Moving only the pinned nodes crumples the cells at the pins: go back and let the interior follow. The reference stays
            // the residual under the new boundary data where that exists.
            self.work.q.clone_from(&previous.unknowns);
            model.kinematics.place(&self.work.q, &mut self.work.x);
            self.drive(report)?;
            let merit = self.gradient_at_iterate();
            let reference = if is_valid { reference } else { norm(&self.work.gradient).min(self.force_scale()) };
            return Ok((reference, merit));
        }
        if !is_valid {
            return Err(Failure::NotFinite);
        }
        Ok((reference, self.extrapolate(merit)))
    }

    /// Goes to the shape that the pins ask for when cells are inverted and the merit is lower there.
    fn untangle(&mut self, merit: Merit, report: &mut StepReport) -> Option<Merit> {
        if !self.params.untangle || self.params.regime != Regime::Quasistatic {
            return None;
        }
        let model = self.problem.model;
        let inverted = |block: &ElasticBlock| block.summarize(&self.work.x).inverted_cells > 0;
        if !model.elastic.iter().any(inverted) {
            return None;
        }
        let system = &self.system;
        let guide = self.guide.get_or_insert_with(|| Guide::new(model, system.plan(), system.filter())).as_mut()?;
        self.work.trial.clone_from(&self.work.q);
        // Each of its solves is counted like an iteration: it costs as much.
        let (solves, iterations) = guide.place(model, self.problem.ctx.control, &mut self.work.trial.vectors);
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

    /// Residual of a body strained by one everywhere, with its loads: in quasistatics a worse start (a scrambled body) does not make the goal
    /// easier.
    fn force_scale(&mut self) -> f64 {
        if self.params.regime != Regime::Quasistatic {
            return f64::INFINITY;
        }
        let work = &mut *self.work;
        self.problem.external_gradient(&work.x, &mut work.trial_point_gradient);
        let kinematics = &self.problem.model.kinematics;
        kinematics.pull_back(&work.q, &work.trial_point_gradient, &mut work.trial_gradient);
        kinematics.filter(&mut work.trial_gradient);
        norm(&work.trial_gradient) + self.unit_strain_force
    }

    /// The longest believable Newton step: any in dynamics, where inertia holds everything.
    fn max_stride(&self) -> f64 {
        if self.params.regime.is_dynamic() {
            return f64::INFINITY;
        }
        let size = |positions: &[Vec3]| {
            let first = positions.first().copied().unwrap_or_default();
            let (low, high) = positions.iter().fold((first, first), |(low, high), &x| (low.min(x), high.max(x)));
            low.distance(high)
        };
        // Bodies that were scattered, and bodies that were collapsed.
        let bodies = &self.problem.model.bodies;
        let at_rest = bodies.iter().map(|body| size(body.mesh.positions())).fold(0.0, f64::max);
        let size = at_rest.max(size(&self.problem.ctx.previous.positions));
        if size > 0.0 { MAX_STRIDE * size } else { f64::INFINITY }
    }

    /// Tries qₙ + h q̇ₙ (+ half the change of the rate): kept only when the merit is lower there.
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
        let trial = self.evaluate_trial(1.0);
        if trial.potential.is_some_and(|p| p < potential) {
            self.take_trial();
            return trial;
        }
        merit
    }

    /// Goes `fraction` of `direction` from the iterate; merit and gradients there.
    fn evaluate_trial(&mut self, fraction: f64) -> Merit {
        let kinematics = &self.problem.model.kinematics;
        kinematics.advance(&self.work.q, &self.work.direction, fraction, &mut self.work.trial);
        let Work { q, trial, direction, .. } = &mut *self.work;
        self.system.hinges().bend(&q.vectors, direction, fraction, &mut trial.vectors);
        kinematics.place(&self.work.trial, &mut self.work.trial_x);
        self.gradient_at_trial()
    }

    /// Merit and gradients at the trial, whose points are in place.
    fn gradient_at_trial(&mut self) -> Merit {
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
    fn take_trial(&mut self) {
        let work = &mut *self.work;
        std::mem::swap(&mut work.q, &mut work.trial);
        std::mem::swap(&mut work.x, &mut work.trial_x);
        std::mem::swap(&mut work.point_gradient, &mut work.trial_point_gradient);
        std::mem::swap(&mut work.gradient, &mut work.trial_gradient);
    }

    /// Moves prescribed unknowns to their targets while the rest follows by the linearised equilibrium, as far per iteration as all
    /// cells stay valid.
    fn drive(&mut self, report: &mut StepReport) -> Result<(), Failure> {
        let model = self.problem.model;
        let most = self.params.budget.map_or(MAX_DRIVE, |budget| budget.newton);
        for _ in 0..most {
            let merit = self.gradient_at_iterate();
            if !merit.magnitude.is_finite() {
                return Err(Failure::NotFinite);
            }
            let start = Instant::now();
            let Work { q, x, point_gradient, .. } = &*self.work;
            let at = Linearization { problem: &self.problem, q, x, point_gradient, tangent: Tangent::Definite };
            self.system.assemble(&at);
            self.timing.assembly += start.elapsed();
            // Prescribed increment δ_p; the free rows see −g − H δ_p.
            self.work.direction.fill(Vec3::zero());
            let (q, direction) = (&self.work.q.vectors, &mut self.work.direction);
            let mut remaining = 0.0f64;
            model.for_each_prescribed(self.problem.ctx.control, |unknown, axis, value| {
                direction[unknown][axis] = value - q[unknown][axis];
                remaining = remaining.max(direction[unknown][axis].abs());
            });
            for driven in &model.driven {
                let (pose, block) =
                    (driven.pose(self.problem.ctx.control), model.rigid_bodies[driven.rigid].block as usize);
                let unknowns = model.kinematics.rigid_blocks()[block];
                let shift = pose.translation - self.work.q.vectors[unknowns.translation as usize];
                let turn = (pose.rotation * self.work.q.rotations[block].conjugate()).log_map();
                remaining = remaining.max(shift.norm()).max(turn.norm());
                self.work.direction[unknowns.translation as usize] = shift;
                self.work.direction[unknowns.rotation as usize] = turn;
            }
            if remaining == 0.0 {
                return Ok(());
            }
            self.system.unfiltered_product(&self.work.direction, &mut self.work.rhs);
            for (r, &g) in self.work.rhs.iter_mut().zip(&self.work.gradient) {
                *r = -*r - g;
            }
            model.kinematics.filter(&mut self.work.rhs);
            self.work.trial_gradient.copy_from_slice(&self.work.direction);
            let start = Instant::now();
            let Work { q, x, point_gradient, rhs, direction, .. } = &mut *self.work;
            let at = Linearization { problem: &self.problem, q, x, point_gradient, tangent: Tangent::Definite };
            let solved = self.system.solve(&at, 0.0, rhs, direction, 1e-4);
            self.timing.linear_solve += start.elapsed();
            report.linear_iterations += solved.map_err(Failure::Singular)?;
            for (d, &p) in self.work.direction.iter_mut().zip(&self.work.trial_gradient) {
                *d += p;
            }
            let mut fraction = 1.0;
            loop {
                model.kinematics.advance(&self.work.q, &self.work.direction, fraction, &mut self.work.trial);
                if fraction == 1.0 {
                    // Exactly on target, free of rounding.
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

    /// A few iterations with the pins where they are, on the way to their targets: cells that were about to be crushed get their volume back.
    fn relax(&mut self, report: &mut StepReport) -> Result<(), Failure> {
        let mut merit = self.gradient_at_iterate();
        let max_stride = self.max_stride();
        for _ in 0..RELAXATIONS {
            report.newton_iterations += 1;
            self.find_direction(true, 0.0, STATIC_FORCING, max_stride, report)?;
            let slope = dot(&self.work.gradient, &self.work.direction);
            let residual = norm(&self.work.gradient);
            match self.line_search(merit, slope, residual, report) {
                Some((_, lower)) => merit = lower,
                None => break,
            }
        }
        Ok(())
    }

    /// Merit, point gradient and filtered gradient over the unknowns at the iterate.
    fn gradient_at_iterate(&mut self) -> Merit {
        let start = Instant::now();
        let merit = self.problem.evaluate_gradient(&self.work.x, &mut self.work.point_gradient);
        let kinematics = &self.problem.model.kinematics;
        kinematics.pull_back(&self.work.q, &self.work.point_gradient, &mut self.work.gradient);
        kinematics.filter(&mut self.work.gradient);
        self.system.free().project_forces(&self.work.q.vectors, &mut self.work.gradient);
        self.timing.gradient += start.elapsed();
        merit
    }

    /// Solves H δ = −g into `direction`, with the exact tangent first unless `definite`. Where that gives no usable direction, the definite
    /// tangent gets at least `shift` times its diagonal on top: a cell without any volume resists only some of its motions.
    fn find_direction(
        &mut self,
        definite: bool,
        shift: f64,
        forcing: f64,
        max_stride: f64,
        report: &mut StepReport,
    ) -> Result<Direction, Failure> {
        for (r, &g) in self.work.rhs.iter_mut().zip(&self.work.gradient) {
            *r = -g;
        }
        let mut tangent = if definite || shift > 0.0 { Tangent::Definite } else { Tangent::Exact };
        let mut shift = shift;
        loop {
            if tangent == Tangent::Definite {
                report.projections += 1;
            }
            let start = Instant::now();
            let Work { q, x, point_gradient, rhs, direction, .. } = &mut *self.work;
            let at = Linearization { problem: &self.problem, q, x, point_gradient, tangent };
            self.system.assemble(&at);
            self.timing.assembly += start.elapsed();
            let start = Instant::now();
            let solved = self.system.solve(&at, shift, rhs, direction, forcing);
            self.timing.linear_solve += start.elapsed();
            let usable = solved.and_then(|iterations| {
                report.linear_iterations += iterations;
                self.system.free().project_step(&self.work.q.vectors, &mut self.work.direction);
                self.system.hinges().limit(&self.work.q.vectors, &mut self.work.direction);
                let distance = self.work.direction.iter().map(|d| d.norm()).fold(0.0, f64::max);
                // Written so that NaN fails.
                if !(distance < f64::INFINITY) {
                    return Err(SolveFailure::NotFinite);
                }
                if distance > max_stride && tangent == Tangent::Exact {
                    return Err(SolveFailure::Unheld { distance });
                }
                let descends = dot(&self.work.gradient, &self.work.direction) < 0.0;
                if descends { Ok(distance) } else { Err(SolveFailure::NoDescent) }
            });
            match usable {
                Ok(distance) if distance > max_stride => {
                    self.work.direction.iter_mut().for_each(|d| *d *= max_stride / distance);
                    return Ok(Direction { shift, is_cut: true });
                }
                Ok(_) => return Ok(Direction { shift, is_cut: false }),
                Err(_) if tangent == Tangent::Exact => tangent = Tangent::Definite,
                Err(cause) if shift >= MOST_SHIFT => return Err(Failure::Singular(cause)),
                Err(_) => shift = stronger(shift),
            }
        }
    }

    /// Backtracks along `direction`; on success the iterate, its gradient and its merit are those of the accepted point.
    fn line_search(
        &mut self,
        merit: Merit,
        slope: f64,
        residual: f64,
        report: &mut StepReport,
    ) -> Option<(f64, Merit)> {
        let mut fraction = self.max_step();
        loop {
            let trial = self.evaluate_trial(fraction);
            if self.is_accepted(merit, trial, slope, fraction, residual) {
                self.take_trial();
                return Some((fraction, trial));
            }
            report.cuts += 1;
            fraction *= 0.5;
            if fraction < MIN_STEP {
                return None;
            }
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
                // 64 roundings of the largest part: what summing the parts over the mesh may lose.
                let rounding = 64.0 * f64::EPSILON * merit.magnitude.max(trial.magnitude);
                let expected = ARMIJO * fraction * slope;
                new <= old + expected
                    || ((new - old).abs() <= rounding
                        && fraction * slope.abs() <= 16.0 * rounding
                        && trial_residual < residual)
            }
            // Forces without a potential still do work: the trapezoidal rule along the step takes its place. The residual alone would
            // stop at every fold of the way.
            None => {
                let trial_slope = dot(&self.work.trial_gradient, &self.work.direction);
                trial_residual <= residual * (1.0 - ARMIJO * fraction) || trial_slope <= WORK_SHARE * slope.abs()
            }
        }
    }

    fn max_step(&mut self) -> f64 {
        let model = self.problem.model;
        if model.custom.is_empty() {
            return 1.0;
        }
        model.kinematics.push_forward(&self.work.q, &self.work.direction, &mut self.work.trial_x);
        model
            .forces()
            .map(|force| force.max_step(&self.work.x, &self.problem.ctx, &self.work.trial_x))
            .fold(1.0, f64::min)
    }
}

/// Relative accuracy of the linear solve: Eisenstat–Walker, at most `cap`, no tighter than the goal needs [EisenstatWalker96].
fn forcing_term(residual: f64, previous: f64, goal: f64, cap: f64) -> f64 {
    let quadratic = if previous.is_finite() { 0.9 * (residual / previous).powi(2) } else { cap };
    quadratic.clamp(1e-5, cap).max((0.3 * goal / residual).min(cap))
}
