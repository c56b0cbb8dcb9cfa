//! Conjugate gradients with a coarse grid, in single precision inside Newton's method in double precision.
//!
//! Half the memory traffic makes an f32 iteration twice as fast. Newton's method needs a step that is accurate to one
//! part in a thousand, and corrects the rounding errors. The coarse grid ([`sinew_math::coarse_grid`]) makes the number
//! of iterations independent of the size of the mesh. Where f32 fails with a definite matrix (slender bodies, huge
//! contrasts of stiffness), the system is assembled and solved again in f64: by a factor, or for large bodies with the
//! f32 coarse grid as preconditioner.
//!
//! The first solve of a step computes the grid matrix. Later solves reuse it until they take one and a half times as
//! long. It never carries over to the next step, because a resumed run would then differ.

use sinew_math::cholesky::{Cholesky, SymbolicCholesky};
use sinew_math::coarse_grid::{CoarseGridParams, CoarseGridPreconditioner};
use sinew_math::krylov::{CgOutcome, CgParams, CgScratch, Preconditioner, conjugate_gradients, norm};
use sinew_math::sparse::{BlockCsr, SlicedBlocks};
use sinew_math::{Vec3, parallel};

use super::super::params::LinearSolver;
use super::assembly::{AssemblyScratch, TangentAt};
use super::backend::{Backend, Frame, SolveFailure, Task, add_shift, filter_scale, hold_softly, rounding_floor};
use super::contact_operator::{ContactOperator, Coupled, CoupledFactor};
use super::coupled_rows::{CoupledRows, CoupledSlices};
use super::plan::AssemblyPlan;
use super::rest_factor::RestFactor;
use super::v_cycle::VCycle;
use crate::kinematics::Unknowns;
use crate::material::Tangent;
use crate::model::Model;
use crate::state::History;

/// Tightest relative accuracy of f32 vectors.
const FINEST_FORCING: f64 = 1e-4;
/// Iterations per digit, and their growth, from which a new grid matrix pays off.
const PATIENCE: f64 = 30.0;
const GROWTH: f64 = 1.5;
const MAX_ITERATIONS: usize = 2000;
const MAX_WIDE_ITERATIONS: usize = 4000;
/// Limits of the direct solve: nodes up to which a factor is no slower than the f64 iterations it replaces; f32
/// iterations after which it takes over; and solves of a step that may fail in f32 before the factor comes first.
const FACTOR_NODES: usize = 8000;
const MAX_SMALL_ITERATIONS: usize = 400;
const PATIENT_SOLVES: usize = 2;
/// Iterations of one step after which small bodies use a factor too, and the size of such bodies: each factor then
/// replaces hundreds of iterations.
const MAX_STEP_ITERATIONS: usize = 1500;
const SMALL_NODES: usize = 2000;

/// The iterative solver with its scratch memory.
pub(crate) struct Iterative {
    pub matrix: BlockCsr<f32>,
    sliced: SlicedBlocks,
    couplings: CoupledRows,
    coarse_grid: CoarseGridPreconditioner,
    scratch: CgScratch<f32>,
    rhs: Vec<Vec3<f32>>,
    solution: Vec<Vec3<f32>>,
    /// Iterations per digit of the first solve with the current grid, and of the last solve.
    first_rate: f64,
    last_rate: f64,
    kind: Kind,
    wide: Option<Box<Wide>>,
    /// Solves of this step that failed in f32.
    failures: usize,
    /// Iterations of this step.
    spent: usize,
    /// Maximum number of iterations; the solver accepts the solution it has then.
    budget: Option<usize>,
}

/// Preconditioner.
enum Kind {
    /// Diagonal blocks plus coarse grid, added up.
    Sum,
    /// V-cycle of smoothing and coarse grid.
    VCycle(VCycle),
    RestFactor(Box<RestFactor>),
}

/// Memory of the f64 solve, which is rare; allocated on first use.
struct Wide {
    matrix: BlockCsr<f64>,
    factor: Option<Box<Cholesky<f64>>>,
    coupled: CoupledFactor,
    scratch: CgScratch<f64>,
    residual: Vec<Vec3<f32>>,
    correction: Vec<Vec3<f32>>,
}

impl Iterative {
    pub fn new(model: &Model, plan: &AssemblyPlan, solver: LinearSolver, budget: Option<usize>) -> Self {
        let kinematics = &model.kinematics;
        let nodes = kinematics.unknown_count();
        // The coarse grid encloses the bodies at rest. Unknowns of rigid bodies are not positions and stay outside.
        let mut positions = vec![Vec3::zero(); nodes];
        let mut is_node = vec![false; nodes];
        for body in &model.bodies {
            for (point, &place) in body.points.clone().zip(body.mesh.positions()) {
                if let Some(unknown) = kinematics.own_unknown(point) {
                    positions[unknown as usize] = place;
                    is_node[unknown as usize] = true;
                }
            }
        }
        let coarse_grid = CoarseGridPreconditioner::new(
            &positions,
            &plan.pattern,
            &CoarseGridParams::default(),
            |node| kinematics.fixed(node),
            |node| is_node[node],
        );
        let kind = match solver {
            LinearSolver::VCycle => Kind::VCycle(VCycle::new(nodes)),
            LinearSolver::RestFactor if RestFactor::serves(model) => {
                Kind::RestFactor(Box::new(RestFactor::new(model, plan)))
            }
            _ => Kind::Sum,
        };
        Self {
            kind,
            matrix: BlockCsr::zeros(plan.pattern.clone()),
            sliced: SlicedBlocks::new(&plan.pattern),
            couplings: CoupledRows::default(),
            coarse_grid,
            scratch: CgScratch::new(),
            rhs: vec![Vec3::zero(); nodes],
            solution: vec![Vec3::zero(); nodes],
            first_rate: 0.0,
            last_rate: 0.0,
            wide: None,
            failures: 0,
            spent: 0,
            budget,
        }
    }

    /// Describes the preconditioner, for the report.
    pub fn describe(&self) -> String {
        let grids: Vec<String> = self.coarse_grid.grid_nodes().map(|nodes| nodes.to_string()).collect();
        let grids = grids.join(" and ");
        match self.kind {
            // Every node is held, or the body is too small for a grid.
            Kind::Sum if grids.is_empty() => "diagonal blocks".to_string(),
            Kind::Sum => format!("a coarse grid of {grids} nodes"),
            Kind::VCycle(_) => format!("a V-cycle over a coarse grid of {grids} nodes"),
            Kind::RestFactor(_) => "a factor of the rest state".to_string(),
        }
    }

    /// Discards the grid matrix of the last step.
    pub fn forget(&mut self) {
        self.coarse_grid.forget_grid();
        self.failures = 0;
        self.spent = 0;
    }

    /// Whether the solves of this step so far call for a factor.
    fn wants_factor(&self) -> bool {
        let nodes = self.rhs.len();
        let is_hard = self.failures >= PATIENT_SOLVES && nodes <= FACTOR_NODES;
        let is_long = self.spent >= MAX_STEP_ITERATIONS && nodes <= SMALL_NODES;
        self.budget.is_none() && (is_hard || is_long)
    }

    /// Rotates the factor of the rest state, if that is the preconditioner.
    fn prepare(&mut self, at: &TangentAt<'_, '_>, frame: Frame<'_>) -> Result<(), SolveFailure> {
        match &mut self.kind {
            Kind::RestFactor(factor) => factor.prepare(at, frame),
            Kind::Sum | Kind::VCycle(_) => Ok(()),
        }
    }

    /// Solves A out = rhs to the relative accuracy `forcing`, where A is the filtered `matrix`; returns the number of
    /// iterations.
    pub fn solve_narrow(
        &mut self,
        tangent: Tangent,
        contacts: &ContactOperator,
        rhs: &[Vec3],
        out: &mut [Vec3],
        forcing: f64,
    ) -> Result<usize, SolveFailure> {
        self.couplings.fill(contacts);
        let indefinite = self.coarse_grid.update_diagonal(&self.matrix);
        if let (Some(unknown), Tangent::Exact) = (indefinite, tangent) {
            return Err(SolveFailure::DiagonalBlock { unknown });
        }
        let is_slow = self.last_rate > PATIENCE.max(GROWTH * self.first_rate);
        let is_new = !matches!(self.kind, Kind::RestFactor(_)) && (!self.coarse_grid.has_grid() || is_slow);
        if is_new {
            let is_definite = tangent == Tangent::Definite;
            let updated = self.coarse_grid.update_coupled_grid(&self.matrix, self.couplings.lower(), is_definite);
            updated.map_err(SolveFailure::Factor)?;
            self.first_rate = 0.0;
        }
        self.sliced.fill_from_lower(&self.matrix);
        if let (Kind::VCycle(cycle), true) = (&mut self.kind, is_new) {
            cycle.estimate(&self.sliced, self.coarse_grid.diagonal_inverses().inverse_blocks());
        }
        // Right-hand sides of a nearly converged iteration underflow in f32, so scale them to unit size.
        let scale = norm(rhs);
        parallel::for_each_block_mut((&mut self.rhs[..], rhs), parallel::SUM_BLOCK, |_, (narrow, wide)| {
            for (narrow, &wide) in narrow.iter_mut().zip(wide) {
                *narrow = Vec3::from_f64(wide / scale);
            }
        });
        self.solution.fill(Vec3::zero());
        let forcing = forcing.max(FINEST_FORCING);
        let most = if self.rhs.len() <= FACTOR_NODES { MAX_SMALL_ITERATIONS } else { MAX_ITERATIONS };
        let params = CgParams {
            relative_tolerance: forcing,
            absolute_tolerance: 0.0,
            max_iterations: self.budget.unwrap_or(most),
        };
        let Self { kind, sliced, couplings, coarse_grid, rhs, solution, scratch, .. } = self;
        let matrix = &CoupledSlices { matrix: sliced, couplings };
        let solved = match kind {
            Kind::Sum => conjugate_gradients(matrix, coarse_grid, rhs, solution, &params, scratch),
            Kind::VCycle(cycle) => {
                conjugate_gradients(matrix, &mut cycle.with(sliced, coarse_grid), rhs, solution, &params, scratch)
            }
            Kind::RestFactor(factor) => conjugate_gradients(matrix, &mut **factor, rhs, solution, &params, scratch),
        };
        let info = solved.map_err(|_| SolveFailure::NotFinite)?;
        let iterations = info.iterations;
        self.spent += iterations;
        self.last_rate = iterations as f64 / (1.0 / forcing).log10();
        if self.first_rate == 0.0 {
            self.first_rate = self.last_rate;
        }
        match info.outcome {
            CgOutcome::NegativeCurvature { .. } => return Err(SolveFailure::NegativeCurvature { iterations }),
            // An unfinished solution is still a descent direction. It fails only if it is hardly better than zero.
            CgOutcome::IterationLimit if self.budget.is_none() && info.residual >= 0.5 * info.initial_residual => {
                return Err(SolveFailure::NoProgress { iterations });
            }
            CgOutcome::Converged | CgOutcome::IterationLimit => {}
        }
        parallel::for_each_block_mut((out, &self.solution[..]), parallel::SUM_BLOCK, |_, (wide, narrow)| {
            for (wide, narrow) in wide.iter_mut().zip(narrow) {
                *wide = narrow.to_f64() * scale;
            }
        });
        Ok(iterations)
    }

    /// Assembles and solves in f64.
    fn solve_wide(
        &mut self,
        at: &TangentAt<'_, '_>,
        frame: Frame<'_>,
        shift: f64,
        scratch: &mut AssemblyScratch,
        rhs: &[Vec3],
        out: &mut [Vec3],
        forcing: f64,
    ) -> Result<usize, SolveFailure> {
        self.failures += 1;
        let Frame { plan, filter, free, hinges, couplings } = frame;
        let nodes = rhs.len();
        let wide = self.wide.get_or_insert_with(|| {
            Box::new(Wide {
                matrix: BlockCsr::zeros(plan.pattern.clone()),
                factor: (nodes <= FACTOR_NODES)
                    .then(|| SymbolicCholesky::new(&plan.pattern).and_then(|symbolic| symbolic.prepare()).ok())
                    .flatten()
                    .map(Box::new),
                coupled: CoupledFactor::default(),
                scratch: CgScratch::new(),
                residual: vec![Vec3::zero(); nodes],
                correction: vec![Vec3::zero(); nodes],
            })
        });
        plan.assemble(at, scratch, &mut wide.matrix);
        couplings.add_diagonal(&mut wide.matrix);
        let scale = filter_scale(&wide.matrix);
        filter.apply(&mut wide.matrix, scale);
        hold_softly(free, hinges, at.tangent(), &mut wide.matrix, scale);
        add_shift(&mut wide.matrix, shift);
        wide.matrix.mirror_lower();
        let Wide { matrix, factor, coupled, scratch, residual, correction } = &mut **wide;
        if factor.is_some() && !couplings.is_empty() {
            coupled.solve(matrix, couplings, rhs, out)?;
            return Ok(1);
        }
        if let Some(factor) = factor {
            factor.refactor(matrix).map_err(SolveFailure::Factor)?;
            out.copy_from_slice(rhs);
            factor.solve_in_place(out).map_err(SolveFailure::Factor)?;
            return Ok(1);
        }
        out.fill(Vec3::zero());
        let mut widened = Widened { coarse_grid: &mut self.coarse_grid, residual, correction };
        let params =
            CgParams { relative_tolerance: forcing, absolute_tolerance: 0.0, max_iterations: MAX_WIDE_ITERATIONS };
        let info =
            conjugate_gradients(&Coupled { matrix: &*matrix, couplings }, &mut widened, rhs, out, &params, scratch)
                .map_err(|_| SolveFailure::NotFinite)?;
        let iterations = info.iterations;
        match info.outcome {
            CgOutcome::NegativeCurvature { .. } => Err(SolveFailure::NegativeCurvature { iterations }),
            CgOutcome::IterationLimit if info.residual >= 0.5 * info.initial_residual => {
                Err(SolveFailure::NoProgress { iterations })
            }
            CgOutcome::Converged | CgOutcome::IterationLimit => Ok(iterations),
        }
    }
}

impl Backend for Iterative {
    fn fill(&mut self, at: &TangentAt<'_, '_>, frame: Frame<'_>, scratch: &mut AssemblyScratch, _has_tangents: bool) {
        frame.plan.assemble(at, scratch, &mut self.matrix);
        frame.couplings.add_diagonal(&mut self.matrix);
    }

    fn multiply(&self, v: &[Vec3], out: &mut [Vec3]) {
        self.matrix.multiply_lower(v, out);
    }

    fn solve(
        &mut self,
        at: &TangentAt<'_, '_>,
        frame: Frame<'_>,
        task: Task,
        scratch: &mut AssemblyScratch,
        rhs: &[Vec3],
        out: &mut [Vec3],
    ) -> Result<usize, SolveFailure> {
        let Task { shift, forcing, .. } = task;
        let scale = filter_scale(&self.matrix);
        frame.filter.apply(&mut self.matrix, scale);
        hold_softly(frame.free, frame.hinges, at.tangent(), &mut self.matrix, scale);
        add_shift(&mut self.matrix, shift);
        if self.wants_factor() {
            return self.solve_wide(at, frame, shift, scratch, rhs, out, forcing);
        }
        self.prepare(at, frame)?;
        match self.solve_narrow(at.tangent(), frame.couplings, rhs, out, forcing) {
            Err(_) if at.tangent() == Tangent::Definite => {
                self.solve_wide(at, frame, shift, scratch, rhs, out, forcing)
            }
            result => result,
        }
    }

    fn rounding_floor(&self, q: &Unknowns) -> f64 {
        rounding_floor(&self.matrix, q)
    }

    fn begin_step(&mut self, _history: &History) {
        self.forget();
    }
}

/// The f32 coarse grid, applied to f64 vectors.
struct Widened<'a> {
    coarse_grid: &'a mut CoarseGridPreconditioner,
    residual: &'a mut [Vec3<f32>],
    correction: &'a mut [Vec3<f32>],
}

impl Preconditioner<f64> for Widened<'_> {
    fn apply(&mut self, r: &[Vec3], z: &mut [Vec3]) {
        let scale = norm(r);
        if scale == 0.0 {
            z.fill(Vec3::zero());
            return;
        }
        for (narrow, &wide) in self.residual.iter_mut().zip(r) {
            *narrow = Vec3::from_f64(wide / scale);
        }
        self.coarse_grid.apply(self.residual, self.correction);
        for (wide, narrow) in z.iter_mut().zip(&*self.correction) {
            *wide = narrow.to_f64() * scale;
        }
    }
}
