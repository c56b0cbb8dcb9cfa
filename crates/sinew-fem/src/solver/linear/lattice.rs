//! Linear systems of models with bodies on lattices, whose stiffness is never assembled.
//!
//! ```math
//! A = B + \sum_l K_l,
//! ```
//! where the sparse matrix B holds everything else (inertia, springs, contact, the cells of other bodies) and
//! [`sinew_lattice`] applies the K of each lattice as a product. The solver is conjugate gradients in f32. The
//! preconditioner is a V-cycle on each lattice, with nodal terms from B (MCA-46), and the coarse grid
//! elsewhere. Where f32 fails with a definite tangent, vectors and products are f64, and only the preconditioner stays
//! f32.

mod operators;
mod part;

use std::sync::Mutex;

use sinew_lattice::{CycleWork, MultigridParams};
use sinew_math::coarse_grid::{CoarseGridParams, CoarseGridPreconditioner};
use sinew_math::krylov::{CgError, CgInfo, CgOutcome, CgParams, CgScratch, Preconditioner, conjugate_gradients, norm};
use sinew_math::parallel::sum;
use sinew_math::sparse::{BlockCsr, SlicedBlocks};
use sinew_math::{Mat3, Real, Vec3};

use operators::{Cycle, Narrow, WideOperator, Widened, narrow, widen};
use part::{LatticePart, get, linearize, lock, set_anchors};

use super::super::params::{NonlinearSolver, SolverParams};
use super::assembly::{AssemblyScratch, TangentAt};
use super::backend::{Backend, FREE_SPRING, Frame, SHIFT_FLOOR, SolveFailure, Task, hold_softly, rounding_floor};
use super::contact_bends::{Bent, is_within};
use super::contact_operator::{ContactOperator, Coupled};
use super::local_solve::LocalSolve;
use super::plan::AssemblyPlan;
use crate::kinematics::Unknowns;
use crate::lattice::{LatticeBlock, VOLUME_LAW};
use crate::material::Tangent;
use crate::model::Model;
use crate::state::History;

/// Tightest relative accuracy of f32 vectors.
const FINEST_FORCING: f64 = 1e-4;
/// Iterations after which f32, and after which f64, fails. Cycles that work take fewer than thirty.
const MAX_ITERATIONS: usize = 300;
const MAX_WIDE_ITERATIONS: usize = 1000;

/// Maximum number of iterations with whole second derivatives of contacts, which cycles do not know. What is reached by
/// then is as good a direction; where they are nearly singular, solves took fifty.
const MAX_BENT_ITERATIONS: usize = 6;
/// Longest motion of a node that whole second derivatives of contacts may ask for, in cells. Where they nearly cancel the
/// stiffness of the flesh, steps lead anywhere, and the search for collisions along them takes minutes.
const LONGEST_SLIDE: f64 = 2.0;

/// Maximum number of times that sweeps are shortened because a cycle was indefinite.
const MAX_CALMINGS: usize = 4;

/// The solver with its memory.
pub(crate) struct LatticeSystem {
    /// B; during a solve with a coarse grid also the mean diagonal of K.
    pub matrix: BlockCsr<f32>,
    sliced: SlicedBlocks,
    /// Preconditioner of everything that is not on a lattice; `None` where everything is.
    coarse_grid: Option<CoarseGridPreconditioner>,
    parts: Mutex<Vec<LatticePart>>,
    /// Mean of K's diagonal block of each unknown \[N/m\], at the last tangent and at rest.
    stiffness: Vec<f32>,
    rest_stiffness: Vec<f32>,
    scratch: CgScratch<f32>,
    rhs: Vec<Vec3<f32>>,
    solution: Vec<Vec3<f32>>,
    wide: Option<Box<Wide>>,
    /// Why the last assembled tangent has no cycle.
    failure: Option<SolveFailure>,
    /// Maximum number of iterations; the solver accepts the solution it has then.
    budget: Option<usize>,
    /// Whether cycles may be nonlinear. Those treat contacts as nodal terms only.
    has_nonlinear_cycles: bool,
    cell_count: usize,
    /// Edge of the smallest cell \[m\].
    smallest_cell: f64,
    /// Local solves, for models that may have contacts.
    local_solve: Option<Box<LocalSolve>>,
}

/// Memory of the f64 solve, which is rare; allocated on first use.
struct Wide {
    matrix: BlockCsr<f64>,
    scratch: CgScratch<f64>,
    residual: Vec<Vec3<f32>>,
    correction: Vec<Vec3<f32>>,
}

impl LatticeSystem {
    pub fn new(model: &Model, plan: &AssemblyPlan, params: &SolverParams) -> Self {
        let kinematics = &model.kinematics;
        let nodes = kinematics.unknown_count();
        let cycle =
            MultigridParams { band_sweeps: params.band_sweeps, volume: VOLUME_LAW, ..MultigridParams::default() };
        let part = |block: &LatticeBlock| {
            LatticePart::new(model, plan, block, MultigridParams { inversion_barrier: block.resists(), ..cycle })
        };
        let parts: Vec<LatticePart> = model.lattices.iter().map(part).collect();
        let covered: usize = parts.iter().map(|part| part.unknowns.len()).sum();
        let mut system = Self {
            matrix: BlockCsr::zeros(plan.pattern.clone()),
            sliced: SlicedBlocks::new(&plan.pattern),
            coarse_grid: (covered < nodes).then(|| coarse_grid(model, plan)),
            parts: Mutex::new(parts),
            stiffness: vec![0.0; nodes],
            rest_stiffness: Vec::new(),
            scratch: CgScratch::new(),
            rhs: vec![Vec3::zero(); nodes],
            solution: vec![Vec3::zero(); nodes],
            wide: None,
            failure: None,
            budget: params.budget.map(|budget| budget.linear),
            has_nonlinear_cycles: params.nonlinear == NonlinearSolver::Fas,
            cell_count: model.lattices.iter().map(LatticeBlock::cell_count).sum(),
            smallest_cell: model.bodies.iter().map(|body| body.cell_size()).fold(f64::INFINITY, f64::min),
            local_solve: (!model.contact.is_empty()).then(|| Box::new(LocalSolve::new(model))),
        };
        system.measure_stiffness();
        system.rest_stiffness.clone_from(&system.stiffness);
        system
    }

    /// Describes the preconditioner, for the report.
    pub fn describe(&self) -> String {
        let levels: Vec<String> =
            lock(&self.parts).iter().map(|part| part.multigrid.level_count().to_string()).collect();
        format!("a V-cycle over {} lattice cells in {} levels", self.cell_count, levels.join(" and "))
    }

    /// Fills B and the tangents of the lattices; skips the latter if they belong to this point already.
    pub fn assemble(
        &mut self,
        at: &TangentAt<'_, '_>,
        frame: Frame<'_>,
        scratch: &mut AssemblyScratch,
        has_tangents: bool,
    ) {
        let model = at.problem.model;
        frame.plan.assemble(at, scratch, &mut self.matrix);
        for part in get(&mut self.parts) {
            part.gather_anchors(&self.matrix);
            part.gather_contacts(frame.couplings, self.has_nonlinear_cycles);
        }
        frame.couplings.add_diagonal(&mut self.matrix);
        self.failure = None;
        let spring = Mat3::identity() * (self.scale() * FREE_SPRING) as f32;
        for (part, block) in get(&mut self.parts).iter_mut().zip(&model.lattices) {
            let hinged = frame.hinges.nodes().filter(|_| at.tangent() == Tangent::Definite);
            for unknown in frame.free.parts().iter().flatten().copied().chain(hinged) {
                if part.unknowns.contains(&(unknown as usize)) {
                    part.anchors[unknown as usize - part.unknowns.start] += spring;
                }
            }
            if has_tangents {
                set_anchors(part);
                let linked = part.multigrid.link_again();
                self.failure = self.failure.take().or(linked.err().map(SolveFailure::Factor));
                continue;
            }
            let vectors = &at.q.vectors[part.unknowns.clone()];
            // Subtract the common displacement: far from the origin f32 would resolve little else.
            let shift = vectors[0] - part.rest[0];
            for ((u, &x), &rest) in part.displacements.iter_mut().zip(vectors).zip(&part.rest) {
                *u = x - rest - shift;
            }
            let factor = model.body_stiffness(block.body, at.problem.ctx.control);
            part.multigrid.set_activations(&block.activations(at.problem.ctx.control, factor));
            self.failure = self.failure.take().or(linearize(part, at.definite, factor));
        }
        self.measure_stiffness();
    }

    fn measure_stiffness(&mut self) {
        for part in get(&mut self.parts) {
            part.multigrid.mean_diagonal(&mut self.stiffness[part.unknowns.clone()]);
        }
    }

    /// Mean of the diagonal of A.
    fn scale(&self) -> f64 {
        let own = |node: usize| f64::from(self.matrix.diagonal_block(node).trace()) / 3.0;
        let total = sum(self.stiffness.len(), |node| own(node) + f64::from(self.stiffness[node]));
        if total > 0.0 { total / self.stiffness.len() as f64 } else { 1.0 }
    }

    /// Prepares the assembled A for solves, with `shift` times its diagonal added; returns the mean of its diagonal.
    pub fn prepare(&mut self, at: &TangentAt<'_, '_>, frame: Frame<'_>, shift: f64) -> Result<f64, SolveFailure> {
        let scale = self.scale();
        frame.filter.apply(&mut self.matrix, scale as f32);
        hold_softly(frame.free, frame.hinges, at.tangent(), &mut self.matrix, scale as f32);
        if shift > 0.0 {
            for (part, block) in get(&mut self.parts).iter_mut().zip(&at.problem.model.lattices) {
                for (anchor, unknown) in part.anchors.iter_mut().zip(part.unknowns.clone()) {
                    let spring = shift_of(&self.matrix, &self.stiffness, unknown, shift, scale);
                    *anchor += Mat3::identity() * spring as f32;
                }
                let factor = at.problem.model.body_stiffness(block.body, at.problem.ctx.control);
                self.failure = linearize(part, at.definite, factor);
            }
            add_shift(&mut self.matrix, &self.stiffness, shift, scale);
        }
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        self.sliced.fill_from_lower(&self.matrix);
        if let Some(coarse_grid) = &mut self.coarse_grid {
            for part in get(&mut self.parts) {
                for unknown in part.unknowns.clone() {
                    self.matrix.add_diagonal(unknown, &(Mat3::identity() * self.stiffness[unknown]));
                }
            }
            let indefinite = coarse_grid.update_diagonal(&self.matrix);
            if let (Some(unknown), Tangent::Exact) = (indefinite, at.tangent()) {
                return Err(SolveFailure::DiagonalBlock { unknown });
            }
            if !coarse_grid.has_grid() {
                coarse_grid
                    .update_grid(&self.matrix, at.tangent() == Tangent::Definite)
                    .map_err(SolveFailure::Factor)?;
            }
        }
        Ok(scale)
    }

    /// Solves in f32, with shorter sweeps where cycles turn out to be indefinite.
    fn solve_calmly(
        &mut self,
        couplings: &ContactOperator,
        task: Task,
        rhs: &[Vec3],
        out: &mut [Vec3],
    ) -> Result<usize, SolveFailure> {
        let mut solved = self.solve_narrow(couplings, rhs, out, task);
        for _ in 0..MAX_CALMINGS {
            if !matches!(solved, Err(SolveFailure::Preconditioner { .. })) {
                break;
            }
            get(&mut self.parts).iter_mut().for_each(|part| part.multigrid.calm());
            solved = self.solve_narrow(couplings, rhs, out, task);
        }
        solved
    }

    /// Solves A out = rhs in f32 to a relative accuracy, after [`prepare`](Self::prepare).
    pub fn solve_prepared(
        &mut self,
        couplings: &ContactOperator,
        forcing: f64,
        rhs: &[Vec3],
        out: &mut [Vec3],
    ) -> Result<(), SolveFailure> {
        if norm(rhs) == 0.0 {
            out.fill(Vec3::zero());
            return Ok(());
        }
        self.solve_calmly(couplings, Task { forcing, ..Task::default() }, rhs, out).map(|_| ())
    }

    /// z = one V-cycle on each lattice, and the coarse grid elsewhere, for r; after [`prepare`](Self::prepare).
    pub fn precondition(&mut self, r: &[Vec3], z: &mut [Vec3]) {
        let Self { coarse_grid, parts, rhs, solution, .. } = self;
        let cycle = Cycle { coarse_grid: coarse_grid.as_mut(), parts };
        Widened { cycle, residual: rhs, correction: solution }.apply(r, z);
    }

    /// out += K v of all lattices, in f64.
    pub fn add_product(&self, v: &[Vec3], out: &mut [Vec3]) {
        for part in lock(&self.parts).iter_mut() {
            part.multigrid.apply_wide(&v[part.unknowns.clone()], &mut part.wide_product);
            for (out, &product) in out[part.unknowns.clone()].iter_mut().zip(&part.wide_product) {
                *out += product;
            }
        }
    }

    fn solve_narrow(
        &mut self,
        couplings: &ContactOperator,
        rhs: &[Vec3],
        out: &mut [Vec3],
        task: Task,
    ) -> Result<usize, SolveFailure> {
        // Right-hand sides of a nearly converged iteration underflow in f32, so scale them to unit size.
        let size = norm(rhs);
        narrow(rhs, size, &mut self.rhs);
        if task.has_guess {
            narrow(out, size, &mut self.solution);
        } else {
            self.solution.fill(Vec3::zero());
        }
        let params = CgParams {
            relative_tolerance: task.forcing.max(FINEST_FORCING),
            absolute_tolerance: 0.0,
            max_iterations: self.budget.unwrap_or(MAX_ITERATIONS),
        };
        let longest = LONGEST_SLIDE * self.smallest_cell / size;
        let Self { sliced, coarse_grid, parts, rhs, solution, scratch, .. } = self;
        let operator = Narrow { sliced, parts };
        let mut cycle = Cycle { coarse_grid: coarse_grid.as_mut(), parts };
        let coupled = Coupled { matrix: &operator, couplings };
        let mut wasted = 0;
        if !couplings.bends().is_empty() && !task.is_rough {
            let bent = Bent { matrix: &coupled, bends: couplings.bends() };
            let params = CgParams { max_iterations: params.max_iterations.min(MAX_BENT_ITERATIONS), ..params };
            let info = conjugate_gradients(&bent, &mut cycle, rhs, solution, &params, scratch).map_err(failure_of)?;
            match outcome(&info, self.budget.is_some()) {
                Ok(iterations) if is_within(solution, longest) => {
                    widen(solution, size, out);
                    return Ok(iterations);
                }
                _ => wasted = info.iterations,
            }
            solution.fill(Vec3::zero());
        }
        let info = conjugate_gradients(&coupled, &mut cycle, rhs, solution, &params, scratch).map_err(failure_of)?;
        let iterations = outcome(&info, self.budget.is_some())?;
        widen(&self.solution, size, out);
        Ok(wasted + iterations)
    }

    fn solve_wide(
        &mut self,
        at: &TangentAt<'_, '_>,
        frame: Frame<'_>,
        shift: f64,
        scale: f64,
        scratch: &mut AssemblyScratch,
        rhs: &[Vec3],
        out: &mut [Vec3],
        forcing: f64,
    ) -> Result<usize, SolveFailure> {
        let nodes = rhs.len();
        let wide = self.wide.get_or_insert_with(|| {
            Box::new(Wide {
                matrix: BlockCsr::zeros(frame.plan.pattern.clone()),
                scratch: CgScratch::new(),
                residual: vec![Vec3::zero(); nodes],
                correction: vec![Vec3::zero(); nodes],
            })
        });
        let Wide { matrix, scratch: vectors, residual, correction } = &mut **wide;
        frame.plan.assemble(at, scratch, matrix);
        frame.couplings.add_diagonal(matrix);
        frame.filter.apply(matrix, scale);
        hold_softly(frame.free, frame.hinges, at.tangent(), matrix, scale);
        if shift > 0.0 {
            add_shift(matrix, &self.stiffness, shift, scale);
        }
        matrix.mirror_lower();
        out.fill(Vec3::zero());
        let operator = WideOperator { matrix, parts: &self.parts };
        let mut cycle = Widened {
            cycle: Cycle { coarse_grid: self.coarse_grid.as_mut(), parts: &self.parts },
            residual,
            correction,
        };
        let params =
            CgParams { relative_tolerance: forcing, absolute_tolerance: 0.0, max_iterations: MAX_WIDE_ITERATIONS };
        let coupled = Coupled { matrix: &operator, couplings: frame.couplings };
        let info = conjugate_gradients(&coupled, &mut cycle, rhs, out, &params, vectors).map_err(failure_of)?;
        outcome(&info, false)
    }
}

impl Backend for LatticeSystem {
    fn fill(&mut self, at: &TangentAt<'_, '_>, frame: Frame<'_>, scratch: &mut AssemblyScratch, has_tangents: bool) {
        self.assemble(at, frame, scratch, has_tangents);
    }

    fn multiply(&self, v: &[Vec3], out: &mut [Vec3]) {
        self.matrix.multiply_lower(v, out);
        self.add_product(v, out);
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
        let scale = self.prepare(at, frame, task.shift)?;
        match self.solve_calmly(frame.couplings, task, rhs, out) {
            Err(_) if at.tangent() == Tangent::Definite => {
                self.solve_wide(at, frame, task.shift, scale, scratch, rhs, out, task.forcing)
            }
            result => result,
        }
    }

    fn rounding_floor(&self, q: &Unknowns) -> f64 {
        rounding_floor(&self.matrix, q)
    }

    fn begin_step(&mut self, history: &History) {
        if let Some(coarse_grid) = &mut self.coarse_grid {
            coarse_grid.forget_grid();
        }
        self.stiffness.copy_from_slice(&self.rest_stiffness);
        let mut left = &history.spectra[..];
        for part in get(&mut self.parts) {
            let (own, others) = left.split_at(part.multigrid.level_count().min(left.len()));
            part.multigrid.begin_step(own);
            left = others;
        }
    }

    fn has_local_solves(&self) -> bool {
        true
    }

    fn solve_locally(
        &mut self,
        at: &TangentAt<'_, '_>,
        frame: Frame<'_>,
        scratch: &mut AssemblyScratch,
        gradient: &[Vec3],
        least: f64,
        out: &mut [Vec3],
    ) -> bool {
        let model = at.problem.model;
        let Some(local_solve) = &mut self.local_solve else { return false };
        if !local_solve.choose(model, frame.couplings, gradient, least) {
            return false;
        }
        frame.plan.assemble(at, scratch, &mut self.matrix);
        let parts = get(&mut self.parts);
        let lattices = parts.iter().map(|part| &part.multigrid);
        local_solve.fill(model, lattices, &self.matrix, frame.couplings, &at.q.vectors)
            && local_solve.solve(gradient, out, LONGEST_SLIDE * self.smallest_cell)
    }

    fn correct(&mut self, rhs: &[Vec3], out: &mut [Vec3]) -> Result<bool, SolveFailure> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        out.fill(Vec3::zero());
        narrow(rhs, 1.0, &mut self.rhs);
        for part in get(&mut self.parts) {
            let unknowns = part.unknowns.clone();
            part.multigrid.correct(&self.rhs[unknowns.clone()], &mut part.product).map_err(SolveFailure::Factor)?;
            for (out, product) in out[unknowns].iter_mut().zip(&part.product) {
                *out = product.to_f64();
            }
        }
        Ok(true)
    }

    fn spectra(&self, out: &mut Vec<f64>) {
        lock(&self.parts).iter().for_each(|part| out.extend(part.multigrid.spectrum()));
    }

    fn work(&self) -> CycleWork {
        let mut sum = CycleWork::default();
        for part in lock(&self.parts).iter() {
            let work = part.multigrid.work();
            sum.cycles += work.cycles;
            sum.cell_sweeps += work.cell_sweeps;
            sum.seconds += work.seconds;
        }
        sum
    }
}

/// Creates the coarse grid around everything that is not on a lattice, at rest.
fn coarse_grid(model: &Model, plan: &AssemblyPlan) -> CoarseGridPreconditioner {
    let kinematics = &model.kinematics;
    let mut positions = vec![Vec3::zero(); kinematics.unknown_count()];
    let mut takes_part = vec![false; positions.len()];
    let others = model.bodies.iter().enumerate().filter(|(index, _)| model.lattice_of(*index).is_none());
    for (_, body) in others {
        for (point, &place) in body.points.clone().zip(body.mesh.positions()) {
            if let Some(unknown) = kinematics.own_unknown(point) {
                positions[unknown as usize] = place;
                takes_part[unknown as usize] = true;
            }
        }
    }
    let fixed = |node| kinematics.fixed(node);
    CoarseGridPreconditioner::new(&positions, &plan.pattern, &CoarseGridParams::default(), fixed, |node| {
        takes_part[node]
    })
}

/// Adds `shift` times the mean of each diagonal block of A, `scale` being the mean over all.
fn add_shift<S: Real>(matrix: &mut BlockCsr<S>, stiffness: &[f32], shift: f64, scale: f64) {
    for node in 0..stiffness.len() {
        let spring = Mat3::identity() * S::from_f64(shift_of(matrix, stiffness, node, shift, scale));
        matrix.add_diagonal(node, &spring);
    }
}

fn shift_of<S: Real>(matrix: &BlockCsr<S>, stiffness: &[f32], node: usize, shift: f64, scale: f64) -> f64 {
    let own = matrix.diagonal_block(node).trace().to_f64() / 3.0 + f64::from(stiffness[node]);
    shift * own.max(SHIFT_FLOOR * scale)
}

/// Returns the iterations of a solve. An unfinished solution is still a descent direction; it fails only if it is
/// hardly better than zero.
fn outcome(info: &CgInfo, has_budget: bool) -> Result<usize, SolveFailure> {
    let iterations = info.iterations;
    match info.outcome {
        CgOutcome::NegativeCurvature { .. } => Err(SolveFailure::NegativeCurvature { iterations }),
        CgOutcome::IterationLimit if !has_budget && info.residual >= 0.5 * info.initial_residual => {
            Err(SolveFailure::NoProgress { iterations })
        }
        CgOutcome::Converged | CgOutcome::IterationLimit => Ok(iterations),
    }
}

fn failure_of(error: CgError) -> SolveFailure {
    match error {
        CgError::IndefinitePreconditioner { iteration, .. } => SolveFailure::Preconditioner { iterations: iteration },
        _ => SolveFailure::NotFinite,
    }
}
