//! The linear systems of Newton's method: assembled, filtered by the pins, solved by conjugate gradients or by Cholesky.

use std::fmt;
use std::sync::Arc;

use sinew_lattice::CycleWork;
use sinew_math::cholesky::{Cholesky, CholeskyError, SymbolicCholesky};
use sinew_math::krylov::norm;
use sinew_math::parallel::sum;
use sinew_math::sparse::BlockCsr;
use sinew_math::{Mat3, Real, Vec3};

use super::assembly::{AssemblyPlan, AssemblyScratch, Filter, TangentAt};
use super::couplings::{CoupledFactor, Couplings};
use super::free::{FreeParts, connected_parts};
use super::hinge::Hinges;
use super::iterative::Iterative;
use super::lattice::LatticeSystem;
use super::params::{LinearSolver, SolverParams};
use super::rest_factor::RestFactor;
use crate::kinematics::Unknowns;
use crate::material::Tangent;
use crate::model::Model;
use crate::state::History;

/// Nodes up to which `auto` factorises every tangent, in dynamics and in quasistatics, where a factor also tells definite from indefinite
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

/// Springs that hold free parts, over the mean diagonal: above the rounding of f32, below the stiffness of any mode that matters.
pub(super) const FREE_SPRING: f64 = 1e-6;

/// Least stiffness of a node that a shift is taken of, over the mean.
pub(super) const SHIFT_FLOOR: f64 = 1e-6;

/// Why a system was not solved. Plain values: a step that projects meets one and must not allocate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SolveFailure {
    /// A pivot was not positive, or the factorisation failed otherwise.
    Factor(CholeskyError),
    /// The diagonal block of an unknown is not positive definite.
    DiagonalBlock { unknown: usize },
    /// Conjugate gradients met a direction of negative curvature.
    NegativeCurvature { iterations: usize },
    /// Conjugate gradients met numbers that are not finite.
    NotFinite,
    /// Conjugate gradients met a residual on which the preconditioner is not positive.
    Preconditioner { iterations: usize },
    /// Conjugate gradients used up their iterations.
    NoProgress { iterations: usize },
    /// The solution is absurdly large: the matrix is singular to rounding.
    Unheld { distance: f64 },
    /// The solution does not point downhill: the matrix is singular to rounding.
    NoDescent,
}

impl fmt::Display for SolveFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Factor(error) => error.fmt(f),
            Self::DiagonalBlock { unknown } => write!(f, "the diagonal block of unknown {unknown} is not positive"),
            Self::NegativeCurvature { iterations } => write!(f, "negative curvature after {iterations} iterations"),
            Self::NotFinite => write!(f, "conjugate gradients met an infinite or undefined number"),
            Self::Preconditioner { iterations } => {
                write!(f, "the preconditioner turned out to be indefinite after {iterations} iterations")
            }
            Self::NoProgress { iterations } => write!(f, "no progress in {iterations} conjugate-gradient iterations"),
            Self::Unheld { distance } => {
                write!(f, "it would move a node by {distance:.1e} m: is every body held against every rigid motion?")
            }
            Self::NoDescent => write!(f, "its solution does not lower the energy"),
        }
    }
}

enum Backend {
    Iterative(Box<Iterative>),
    Direct { matrix: BlockCsr<f64>, factor: Box<Cholesky<f64>>, coupled: CoupledFactor },
    Lattice(Box<LatticeSystem>),
}

/// What does not change from matrix to matrix.
#[derive(Clone, Copy)]
pub(crate) struct Frame<'a> {
    pub plan: &'a AssemblyPlan,
    pub filter: &'a Filter,
    pub free: &'a FreeParts,
    pub hinges: &'a Hinges,
    pub couplings: &'a Couplings,
}

/// How a system is to be solved.
#[derive(Clone, Copy)]
pub(crate) struct Task {
    /// Multiple of the means of diagonal blocks that is added to them.
    pub shift: f64,
    /// Relative accuracy.
    pub forcing: f64,
    /// Whether there is a solution to begin with, for who can make use of it.
    pub has_guess: bool,
}

/// A linear system that is assembled and solved again and again.
pub(crate) struct LinearSystem {
    plan: Arc<AssemblyPlan>,
    filter: Filter,
    /// Parts that nothing holds, in quasistatics; inertia holds everything.
    free: FreeParts,
    /// Parts that pins let turn, in quasistatics.
    hinges: Hinges,
    backend: Backend,
    scratch: AssemblyScratch,
    /// Blocks between unknowns that no cell connects, of the matrix last assembled.
    couplings: Couplings,
    point_count: usize,
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
        let (backend, name) = if solver == LinearSolver::Multigrid {
            let lattice = Box::new(LatticeSystem::new(model, &plan, params));
            let name = format!("conjugate gradients with {}", lattice.describe());
            (Backend::Lattice(lattice), name)
        } else if solver == LinearSolver::Cholesky {
            let factor = SymbolicCholesky::new(&plan.pattern).and_then(|symbolic| symbolic.prepare());
            let factor = Box::new(factor.expect("a pattern in memory can be analysed"));
            let (matrix, coupled) = (BlockCsr::zeros(plan.pattern.clone()), CoupledFactor::default());
            (Backend::Direct { matrix, factor, coupled }, "Cholesky".to_string())
        } else {
            let iterative = Box::new(Iterative::new(model, &plan, solver, params.budget.map(|budget| budget.linear)));
            let name = format!("conjugate gradients with {}", iterative.describe());
            (Backend::Iterative(iterative), name)
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
            couplings: Couplings::default(),
            point_count: model.kinematics.point_count(),
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

    /// Whether the system was made for a model of this shape.
    pub fn fits(&self, model: &Model) -> bool {
        self.plan.pattern.node_count() == model.kinematics.unknown_count()
            && self.point_count == model.kinematics.point_count()
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
    fn parts(&mut self) -> (Frame<'_>, &mut Backend, &mut AssemblyScratch) {
        let Self { plan, filter, free, hinges, couplings, backend, scratch, .. } = self;
        (Frame { plan, filter, free, hinges, couplings }, backend, scratch)
    }

    fn fill(&mut self, at: &TangentAt<'_, '_>, has_tangents: bool) {
        let model = at.problem.model;
        self.couplings.fill(at.problem.contact_terms(), &model.contact, &model.kinematics, at.q);
        let (frame, backend, scratch) = self.parts();
        match backend {
            Backend::Lattice(lattice) => lattice.assemble(at, frame, scratch, has_tangents),
            Backend::Iterative(iterative) => {
                frame.plan.assemble(at, scratch, &mut iterative.matrix);
                frame.couplings.add_diagonal(&mut iterative.matrix);
            }
            Backend::Direct { matrix, .. } => {
                frame.plan.assemble(at, scratch, matrix);
                frame.couplings.add_diagonal(matrix);
            }
        }
        self.has_values = true;
    }

    /// out = H v, right after [`assemble`](Self::assemble).
    pub fn unfiltered_product(&self, v: &[Vec3], out: &mut [Vec3]) {
        match &self.backend {
            Backend::Iterative(iterative) => iterative.matrix.multiply_lower(v, out),
            Backend::Direct { matrix, .. } => matrix.multiply_lower(v, out),
            Backend::Lattice(lattice) => lattice.unfiltered_product(v, out),
        }
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
        let Task { shift, forcing, .. } = task;
        // Of no interest to either solver, and 0/0 in the scaling of the iterative one.
        if norm(rhs) == 0.0 {
            out.fill(Vec3::zero());
            return Ok(0);
        }
        let (frame, backend, scratch) = self.parts();
        match backend {
            Backend::Lattice(lattice) => lattice.solve(at, frame, task, scratch, rhs, out),
            Backend::Iterative(iterative) => {
                let scale = filter_scale(&iterative.matrix);
                frame.filter.apply(&mut iterative.matrix, scale);
                hold_softly(frame.free, frame.hinges, at.tangent(), &mut iterative.matrix, scale);
                add_shift(&mut iterative.matrix, shift);
                if iterative.wants_factor() {
                    return iterative.solve_wide(at, frame, shift, scratch, rhs, out, forcing);
                }
                iterative.prepare(at, frame)?;
                match iterative.solve(at.tangent(), frame.couplings, rhs, out, forcing) {
                    Err(_) if at.tangent() == Tangent::Definite => {
                        iterative.solve_wide(at, frame, shift, scratch, rhs, out, forcing)
                    }
                    result => result,
                }
            }
            Backend::Direct { matrix, factor, coupled } => {
                let scale = filter_scale(matrix);
                frame.filter.apply(matrix, scale);
                hold_softly(frame.free, frame.hinges, at.tangent(), matrix, scale);
                add_shift(matrix, shift);
                matrix.mirror_lower();
                if !frame.couplings.is_empty() {
                    coupled.solve(matrix, frame.couplings, rhs, out)?;
                    return Ok(1);
                }
                factor.refactor(matrix).map_err(SolveFailure::Factor)?;
                out.copy_from_slice(rhs);
                factor.solve_in_place(out).map_err(SolveFailure::Factor)?;
                Ok(1)
            }
        }
    }

    /// Writes a step of the nodes with more than `least` of the gradient, and of what is around them, all else staying where it is; false where these are too many, or nothing knows how.
    pub fn mend(&mut self, at: &TangentAt<'_, '_>, gradient: &[Vec3], least: f64, out: &mut [Vec3]) -> bool {
        if !matches!(self.backend, Backend::Lattice(_)) {
            return false;
        }
        let model = at.problem.model;
        self.couplings.fill(at.problem.contact_terms(), &model.contact, &model.kinematics, at.q);
        let (frame, backend, scratch) = self.parts();
        let Backend::Lattice(lattice) = backend else { return false };
        lattice.mend(at, frame, scratch, gradient, least, out)
    }

    /// One nonlinear cycle for the forces `rhs` from where the definite tangent was just assembled; false where there are no lattices.
    pub fn correct(&mut self, rhs: &[Vec3], out: &mut [Vec3]) -> Result<bool, SolveFailure> {
        match &mut self.backend {
            Backend::Lattice(lattice) => lattice.correct(rhs, out).map(|()| true),
            _ => Ok(false),
        }
    }

    /// Forgets the matrix of the last step: what a step knows of the past comes with the state, or a run that was resumed would differ.
    pub fn begin_step(&mut self, history: &History) {
        self.has_values = false;
        self.earlier_floor = history.rounding;
        match &mut self.backend {
            Backend::Iterative(iterative) => iterative.begin_step(),
            Backend::Lattice(lattice) => lattice.begin_step(&history.spectra),
            Backend::Direct { .. } => {}
        }
    }

    /// Writes what the next step may know of the spectra of lattices.
    pub fn spectra(&self, out: &mut Vec<f64>) {
        out.clear();
        if let Backend::Lattice(lattice) = &self.backend {
            lattice.spectra(out);
        }
    }

    /// Time and work of all cycles on lattices so far.
    pub fn cycle_work(&self) -> CycleWork {
        match &self.backend {
            Backend::Lattice(lattice) => lattice.work(),
            _ => CycleWork::default(),
        }
    }

    /// Residual that rounding of the positions alone can cause: 4 ε ‖diag(H) |x|‖. Before the first assembly of a step that of the last.
    pub fn rounding_floor(&self, q: &Unknowns) -> f64 {
        if !self.has_values {
            return self.earlier_floor;
        }
        match &self.backend {
            Backend::Iterative(iterative) => rounding_floor(&iterative.matrix, q),
            Backend::Direct { matrix, .. } => rounding_floor(matrix, q),
            Backend::Lattice(lattice) => rounding_floor(&lattice.matrix, q),
        }
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

fn rounding_floor<S: Real>(matrix: &BlockCsr<S>, q: &Unknowns) -> f64 {
    let force = |node: usize| matrix.diagonal_block(node).trace().to_f64() / 3.0 * q.vectors[node].norm();
    4.0 * f64::EPSILON * sum(q.vectors.len(), |node| force(node).powi(2)).sqrt()
}

/// Springs on free parts, and where the tangent is the definite one on hinged parts, that make their singular matrices definite. They are so weak that
/// they slow down only the softest of all shape changes. The exact tangent of a hinged part that hangs is not singular.
pub(crate) fn hold_softly<S: Real>(
    free: &FreeParts,
    hinges: &Hinges,
    tangent: Tangent,
    matrix: &mut BlockCsr<S>,
    scale: S,
) {
    let spring = Mat3::identity() * (scale * S::from_f64(FREE_SPRING));
    for &unknown in free.parts().iter().flatten() {
        matrix.add_diagonal(unknown as usize, &spring);
    }
    if tangent == Tangent::Definite {
        hinges.nodes().for_each(|unknown| matrix.add_diagonal(unknown as usize, &spring));
    }
}

/// Adds `shift` times the mean of each diagonal block to it [Marquardt63]: nodes of stiff cells, which may be stiffer by many orders where they
/// are crushed, say nothing about the others.
pub(crate) fn add_shift<S: Real>(matrix: &mut BlockCsr<S>, shift: f64) {
    if shift > 0.0 {
        // What a node without any stiffness gets.
        let least = SHIFT_FLOOR * filter_scale(matrix).to_f64();
        for node in 0..matrix.node_count() {
            let own = matrix.diagonal_block(node).trace().to_f64() / 3.0;
            let spring = Mat3::identity() * S::from_f64(shift * own.max(least));
            matrix.add_diagonal(node, &spring);
        }
    }
}

/// The mean of the diagonal: what prescribed components get, so that they do not stand out.
pub(crate) fn filter_scale<S: Real>(matrix: &BlockCsr<S>) -> S {
    let nodes = matrix.node_count();
    let total = sum(nodes, |node| matrix.diagonal_block(node).trace().to_f64() / 3.0);
    S::from_f64(if total > 0.0 { total / nodes as f64 } else { 1.0 })
}
