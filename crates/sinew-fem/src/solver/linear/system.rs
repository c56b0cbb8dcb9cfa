//! The linear systems of Newton's method: assembled, filtered by the pins, solved by conjugate gradients or by Cholesky.

use std::sync::Arc;

use sinew_lattice::CycleWork;
use sinew_math::Vec3;
use sinew_math::krylov::norm;

use super::super::params::{LinearSolver, SolverParams};
use super::assembly::{AssemblyScratch, TangentAt};
use super::backend::{Backend, Frame, SolveFailure, Task};
use super::contact_operator::ContactOperator;
use super::direct::Direct;
use super::free::{FreeParts, connected_parts};
use super::hinge::Hinges;
use super::iterative::Iterative;
use super::lattice::LatticeSystem;
use super::plan::{AssemblyPlan, Filter};
use super::rest_factor::RestFactor;
use crate::kinematics::Unknowns;
use crate::model::{Model, Revision};
use crate::state::History;

/// Nodes up to which `auto` factorizes every tangent, in dynamics and in quasistatics, where a factor also tells definite from indefinite
/// without doubt.
const DIRECT_DYNAMIC_NODES: usize = 200;
const DIRECT_STATIC_NODES: usize = 600;
/// Nodes up to which nearly incompressible flesh is preconditioned by a factor of its rest state, and those from which a V-cycle pays.
const REST_FACTOR_NODES: usize = 600;
const V_CYCLE_NODES: usize = 2000;
/// The same as the first for flesh that hardly changes its volume at all.
const REST_FACTOR_STIFF_NODES: usize = 1500;
/// λ/μ from which flesh counts as nearly incompressible: ν = 0.49; and as hardly compressible at all: ν = 0.497.
const STIFF_VOLUME: f64 = 48.0;
const VERY_STIFF_VOLUME: f64 = 165.0;

/// A linear system that is assembled and solved again and again.
pub(crate) struct LinearSystem {
    plan: Arc<AssemblyPlan>,
    filter: Filter,
    /// Parts that nothing holds, in quasistatics; inertia holds everything.
    free: FreeParts,
    /// Parts that pins let turn, in quasistatics.
    hinges: Hinges,
    backend: Box<dyn Backend>,
    scratch: AssemblyScratch,
    /// Blocks between unknowns that no cell connects, of the matrix last assembled.
    couplings: ContactOperator,
    /// Of the model it was made for.
    revision: Revision,
    has_values: bool,
    /// The floor at the end of the last step, until there is a matrix of this one.
    earlier_floor: f64,
    reason: String,
}

impl LinearSystem {
    pub fn new(model: &Model, params: &SolverParams) -> Self {
        let plan = AssemblyPlan::new(model);
        let (solver, reason) = match params.linear {
            LinearSolver::Multigrid if !model.lattices.is_empty() => (LinearSolver::Multigrid, "as asked".to_string()),
            _ if !model.lattices.is_empty() => (LinearSolver::Multigrid, "the one for bodies on lattices".to_string()),
            LinearSolver::Auto | LinearSolver::Multigrid => choose(model, params.regime.is_dynamic()),
            LinearSolver::RestFactor if !RestFactor::serves(model) => (
                LinearSolver::Cg,
                "a factor of the rest state serves bodies without bound nodes and rigid parts only".into(),
            ),
            solver => (solver, "as asked".to_string()),
        };
        let (backend, name): (Box<dyn Backend>, String) = match solver {
            LinearSolver::Multigrid => {
                let lattice = Box::new(LatticeSystem::new(model, &plan, params));
                let name = format!("conjugate gradients with {}", lattice.describe());
                (lattice, name)
            }
            LinearSolver::Cholesky => (Box::new(Direct::new(&plan)), "Cholesky".to_string()),
            _ => {
                let budget = params.budget.map(|budget| budget.linear);
                let iterative = Box::new(Iterative::new(model, &plan, solver, budget));
                let name = format!("conjugate gradients with {}", iterative.describe());
                (iterative, name)
            }
        };
        let (free, hinges) = match params.regime.is_dynamic() {
            false => {
                let parts = connected_parts(model, &plan.pattern);
                (FreeParts::find(model, &parts), Hinges::find(model, &parts))
            }
            true => (FreeParts::default(), Hinges::default()),
        };
        Self {
            filter: Filter::new(&model.kinematics, &plan.pattern),
            free,
            hinges,
            plan: Arc::new(plan),
            backend,
            scratch: AssemblyScratch::default(),
            couplings: ContactOperator::default(),
            revision: model.revision(),
            has_values: false,
            earlier_floor: 0.0,
            reason: format!("{name}: {reason}"),
        }
    }

    /// Which solver was chosen, and why.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Where everything goes.
    pub fn plan(&self) -> &Arc<AssemblyPlan> {
        &self.plan
    }

    /// Parts that nothing holds.
    pub fn free(&self) -> &FreeParts {
        &self.free
    }

    /// Parts that pins let turn.
    pub fn hinges(&self) -> &Hinges {
        &self.hinges
    }

    /// Prescribed rows and columns.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Whether the system was made for this model as it is.
    pub fn fits(&self, model: &Model) -> bool {
        self.revision == model.revision()
    }

    /// Fills the matrix; rows and columns of prescribed components are still in place.
    pub fn assemble(&mut self, at: &TangentAt<'_, '_>) {
        self.fill(at, false);
    }

    /// The same at the same place, where only contacts are others.
    pub fn assemble_again(&mut self, at: &TangentAt<'_, '_>) {
        self.fill(at, true);
    }

    /// What stays as it is, what holds the matrix, and memory to fill it with.
    fn parts(&mut self) -> (Frame<'_>, &mut dyn Backend, &mut AssemblyScratch) {
        let Self { plan, filter, free, hinges, couplings, backend, scratch, .. } = self;
        (Frame { plan, filter, free, hinges, couplings }, &mut **backend, scratch)
    }

    fn fill(&mut self, at: &TangentAt<'_, '_>, has_tangents: bool) {
        let model = at.problem.model;
        self.couplings.fill(at.problem.contact_terms(), &model.contact, &model.kinematics, at.q);
        let (frame, backend, scratch) = self.parts();
        backend.fill(at, frame, scratch, has_tangents);
        self.has_values = true;
    }

    /// out = H v, right after [`assemble`](Self::assemble).
    pub fn unfiltered_product(&self, v: &[Vec3], out: &mut [Vec3]) {
        self.backend.multiply(v, out);
        self.couplings.add_unfiltered(v, out);
    }

    /// Solves (H + s D) out = rhs with the matrix H just assembled for `at`, s being the shift of the task and D the means of
    /// its diagonal blocks; returns the iterations (1 for a direct solve).
    pub fn solve(
        &mut self,
        at: &TangentAt<'_, '_>,
        task: Task,
        rhs: &[Vec3],
        out: &mut [Vec3],
    ) -> Result<usize, SolveFailure> {
        // Of no interest to either solver, and 0/0 in the scaling of the iterative one.
        if norm(rhs) == 0.0 {
            out.fill(Vec3::zero());
            return Ok(0);
        }
        let (frame, backend, scratch) = self.parts();
        backend.solve(at, frame, task, scratch, rhs, out)
    }

    /// Writes a step of the nodes with more than `least` of the gradient, and of what is around them, all else staying where it is; false where these are too many, or nothing knows how.
    pub fn mend(&mut self, at: &TangentAt<'_, '_>, gradient: &[Vec3], least: f64, out: &mut [Vec3]) -> bool {
        if !self.backend.mends() {
            return false;
        }
        let model = at.problem.model;
        self.couplings.fill(at.problem.contact_terms(), &model.contact, &model.kinematics, at.q);
        let (frame, backend, scratch) = self.parts();
        backend.mend(at, frame, scratch, gradient, least, out)
    }

    /// One nonlinear cycle for the forces `rhs` from where the definite tangent was just assembled; false where there are no lattices.
    pub fn correct(&mut self, rhs: &[Vec3], out: &mut [Vec3]) -> Result<bool, SolveFailure> {
        self.backend.correct(rhs, out)
    }

    /// Forgets the matrix of the last step: what a step knows of the past comes with the state, or a run that was resumed would differ.
    pub fn begin_step(&mut self, history: &History) {
        self.has_values = false;
        self.earlier_floor = history.rounding;
        self.backend.begin_step(history);
    }

    /// Writes what the next step may know of the spectra of lattices.
    pub fn spectra(&self, out: &mut Vec<f64>) {
        out.clear();
        self.backend.spectra(out);
    }

    /// Time and work of all cycles on lattices so far.
    pub fn cycle_work(&self) -> CycleWork {
        self.backend.work()
    }

    /// Residual that rounding of the positions alone can cause: 4 ε ‖diag(H) |x|‖. Before the first assembly of a step that of the last.
    pub fn rounding_floor(&self, q: &Unknowns) -> f64 {
        if !self.has_values {
            return self.earlier_floor;
        }
        self.backend.rounding_floor(q)
    }
}

/// What `auto` takes, and why: the figures behind it are in `docs/design/linear-systems.md`.
fn choose(model: &Model, is_dynamic: bool) -> (LinearSolver, String) {
    let nodes = model.kinematics.unknown_count();
    let stiffness = model.elastic.iter().map(|block| block.largest_volume_stiffness()).fold(0.0, f64::max);
    let (direct, regime) =
        if is_dynamic { (DIRECT_DYNAMIC_NODES, "dynamic") } else { (DIRECT_STATIC_NODES, "quasistatic") };
    let factor = match stiffness {
        s if s >= VERY_STIFF_VOLUME => REST_FACTOR_STIFF_NODES,
        s if s >= STIFF_VOLUME => REST_FACTOR_NODES,
        _ => 0,
    };
    let volume = if stiffness >= STIFF_VOLUME { ", nearly incompressible" } else { "" };
    let (solver, relation, limit) = if nodes <= direct {
        (LinearSolver::Cholesky, "at most", direct)
    } else if nodes <= factor && RestFactor::serves(model) {
        (LinearSolver::RestFactor, "at most", factor)
    } else if stiffness >= STIFF_VOLUME && is_dynamic && nodes > V_CYCLE_NODES {
        (LinearSolver::VCycle, "more than", V_CYCLE_NODES)
    } else {
        (LinearSolver::Cg, "more than", direct.max(factor))
    };
    (solver, format!("{nodes} nodes, {relation} {limit} ({regime}{volume})"))
}
