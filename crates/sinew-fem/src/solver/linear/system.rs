//! The linear systems of Newton's method: assembly, filtering by the pins, and solution by conjugate gradients or
//! Cholesky.

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

/// Nodes up to which `auto` factorizes every tangent: in dynamics, and in quasistatics, where a factor also detects
/// indefiniteness reliably.
const DIRECT_DYNAMIC_NODES: usize = 200;
const DIRECT_STATIC_NODES: usize = 600;
/// Nodes up to which a factor of the rest state preconditions nearly incompressible flesh, and from which a V-cycle
/// pays off.
const REST_FACTOR_NODES: usize = 600;
const V_CYCLE_NODES: usize = 2000;
/// The first of these limits for flesh that is almost exactly incompressible.
const REST_FACTOR_STIFF_NODES: usize = 1500;
/// λ/μ from which flesh counts as nearly incompressible (ν = 0.49), and as almost exactly incompressible (ν = 0.497).
const STIFF_VOLUME: f64 = 48.0;
const VERY_STIFF_VOLUME: f64 = 165.0;

/// A linear system that is assembled and solved repeatedly.
pub(crate) struct LinearSystem {
    plan: Arc<AssemblyPlan>,
    filter: Filter,
    /// Parts that nothing holds, in quasistatics; in dynamics inertia holds everything.
    free: FreeParts,
    /// Hinged parts, in quasistatics.
    hinges: Hinges,
    backend: Box<dyn Backend>,
    scratch: AssemblyScratch,
    /// Contact operator of the last assembled matrix.
    couplings: ContactOperator,
    /// Revision of the model that the system was created for.
    revision: Revision,
    has_values: bool,
    /// Rounding floor at the end of the last step, until this step has a matrix.
    earlier_floor: f64,
    reason: String,
}

impl LinearSystem {
    pub fn new(model: &Model, params: &SolverParams) -> Self {
        let plan = AssemblyPlan::new(model);
        let (solver, reason) = match params.linear {
            LinearSolver::Multigrid if !model.lattices.is_empty() => (LinearSolver::Multigrid, "as set".to_string()),
            _ if !model.lattices.is_empty() => (LinearSolver::Multigrid, "the one for bodies on lattices".to_string()),
            LinearSolver::Auto | LinearSolver::Multigrid => choose(model, params.regime.is_dynamic()),
            LinearSolver::RestFactor if !RestFactor::serves(model) => (
                LinearSolver::Cg,
                "a factor of the rest state needs bodies without bound nodes and without rigid parts".into(),
            ),
            solver => (solver, "as set".to_string()),
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

    /// The chosen solver and the reason for it.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Layout of the matrix.
    pub fn plan(&self) -> &Arc<AssemblyPlan> {
        &self.plan
    }

    /// Parts that nothing holds.
    pub fn free(&self) -> &FreeParts {
        &self.free
    }

    /// Hinged parts.
    pub fn hinges(&self) -> &Hinges {
        &self.hinges
    }

    /// Prescribed rows and columns.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Whether the system was created for the current revision of this model.
    pub fn fits(&self, model: &Model) -> bool {
        self.revision == model.revision()
    }

    /// Fills the matrix; rows and columns of prescribed components are still in place.
    pub fn assemble(&mut self, at: &TangentAt<'_, '_>) {
        self.fill(at, false);
    }

    /// Fills the matrix again at the same point, where only contacts have changed.
    pub fn assemble_again(&mut self, at: &TangentAt<'_, '_>) {
        self.fill(at, true);
    }

    /// Splits the system into its constant parts, the backend and the scratch memory.
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

    /// Solves (H + s D) out = rhs with the matrix H just assembled for `at`, where s is the shift of the task and D
    /// holds the means of its diagonal blocks; returns the number of iterations (1 for a direct solve).
    pub fn solve(
        &mut self,
        at: &TangentAt<'_, '_>,
        task: Task,
        rhs: &[Vec3],
        out: &mut [Vec3],
    ) -> Result<usize, SolveFailure> {
        // Trivial, and 0/0 in the scaling of the iterative solver.
        if norm(rhs) == 0.0 {
            out.fill(Vec3::zero());
            return Ok(0);
        }
        let (frame, backend, scratch) = self.parts();
        backend.solve(at, frame, task, scratch, rhs, out)
    }

    /// Local solve: writes a step of the nodes whose gradient exceeds `least` and of their neighborhood, with zeros
    /// elsewhere; returns false where these are too many or the backend has no local solve.
    pub fn solve_locally(&mut self, at: &TangentAt<'_, '_>, gradient: &[Vec3], least: f64, out: &mut [Vec3]) -> bool {
        if !self.backend.has_local_solves() {
            return false;
        }
        let model = at.problem.model;
        self.couplings.fill(at.problem.contact_terms(), &model.contact, &model.kinematics, at.q);
        let (frame, backend, scratch) = self.parts();
        backend.solve_locally(at, frame, scratch, gradient, least, out)
    }

    /// Runs one nonlinear cycle for the forces `rhs` at the point of the last definite tangent; returns false where
    /// there are no lattices.
    pub fn correct(&mut self, rhs: &[Vec3], out: &mut [Vec3]) -> Result<bool, SolveFailure> {
        self.backend.correct(rhs, out)
    }

    /// Discards the matrix of the last step. A step may use the past only through the state, or a resumed run would
    /// differ.
    pub fn begin_step(&mut self, history: &History) {
        self.has_values = false;
        self.earlier_floor = history.rounding;
        self.backend.begin_step(history);
    }

    /// Writes spectral estimates of the lattices for the next step.
    pub fn spectra(&self, out: &mut Vec<f64>) {
        out.clear();
        self.backend.spectra(out);
    }

    /// Time, number and cell sweeps of all cycles on lattices so far.
    pub fn cycle_work(&self) -> CycleWork {
        self.backend.work()
    }

    /// Residual that rounding of the positions alone can cause: 4 ε ‖diag(H) |x|‖. Before the first assembly of a step,
    /// the value of the last step.
    pub fn rounding_floor(&self, q: &Unknowns) -> f64 {
        if !self.has_values {
            return self.earlier_floor;
        }
        self.backend.rounding_floor(q)
    }
}

/// Choice of `auto` and the reason; the measurements are in `docs/design/linear-systems.md`.
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
