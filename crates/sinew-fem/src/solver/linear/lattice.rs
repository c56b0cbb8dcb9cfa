//! Linear systems of models with bodies on lattices, whose stiffness is never assembled.
//!
//! ```math
//! A = B + \sum_l K_l,
//! ```
//! with a sparse matrix B of everything else (inertia, springs, contact, the cells of other bodies) and the lattices' K as a product ([`sinew_lattice`]).
//! Conjugate gradients in f32, preconditioned by a V-cycle on each lattice, whose nodes are held by what B has there (MCA-46), and by the coarse grid
//! elsewhere. Where f32 gets nowhere with a tangent known to be definite, vectors and products are f64, and only the preconditioner stays f32.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sinew_lattice::{CycleWork, EmbeddedSprings, Multigrid, MultigridParams, TangentKind};
use sinew_math::coarse_grid::{CoarseGridParams, CoarseGridPreconditioner};
use sinew_math::krylov::{
    CgError, CgInfo, CgOutcome, CgParams, CgScratch, LinearOperator, Preconditioner, conjugate_gradients, norm,
};
use sinew_math::parallel::{SUM_BLOCK, for_each_block_mut, sum};
use sinew_math::sparse::{BlockCsr, SlicedBlocks};
use sinew_math::{Mat3, Real, Vec3};

use super::super::params::{NonlinearSolver, SolverParams};
use super::assembly::{AssemblyScratch, TangentAt};
use super::backend::{Backend, FREE_SPRING, Frame, SHIFT_FLOOR, SolveFailure, Task, hold_softly, rounding_floor};
use super::contact_operator::{ContactOperator, ContactsWithin, Coupled};
use super::local_solve::LocalSolve;
use super::plan::AssemblyPlan;
use crate::force::Anchor;
use crate::kinematics::{PointMap, Unknowns};
use crate::lattice::{LatticeBlock, VOLUME_LAW};
use crate::material::Tangent;
use crate::model::Model;
use crate::state::History;

/// Relative accuracy that f32 vectors can be asked for.
const FINEST_FORCING: f64 = 1e-4;
/// Iterations after which f32, and after which f64, has failed. Cycles that work take less than thirty.
const MAX_ITERATIONS: usize = 300;
const MAX_WIDE_ITERATIONS: usize = 1000;

/// How often sweeps are made shorter because a cycle was not definite.
const MAX_CALMINGS: usize = 4;

/// What is left of a block without its springs, over the block, that f32 cannot tell from nothing.
const TIED_ROUNDING: f32 = 1e-5;

/// The solver with its memory.
pub(crate) struct LatticeSystem {
    /// B, and in a solve, where there is a coarse grid, the mean diagonal of K besides.
    pub matrix: BlockCsr<f32>,
    sliced: SlicedBlocks,
    /// For what is not on a lattice; `None` where everything is.
    coarse_grid: Option<CoarseGridPreconditioner>,
    parts: Mutex<Vec<LatticePart>>,
    /// Mean of K's diagonal block of each unknown \[N/m\], of the last tangent; and at rest.
    stiffness: Vec<f32>,
    rest_stiffness: Vec<f32>,
    scratch: CgScratch<f32>,
    rhs: Vec<Vec3<f32>>,
    solution: Vec<Vec3<f32>>,
    wide: Option<Box<Wide>>,
    /// Why the tangent last assembled has no cycle.
    failure: Option<SolveFailure>,
    /// Iterations after which a solution is taken as it is.
    budget: Option<usize>,
    /// Whether cycles may be nonlinear ones, which know of contacts only by what holds the nodes.
    has_nonlinear_cycles: bool,
    cell_count: usize,
    /// Where there may be contacts.
    mending: Option<Box<LocalSolve>>,
}

/// What the rare solve in f64 needs; allocated when it is needed first.
struct Wide {
    matrix: BlockCsr<f64>,
    scratch: CgScratch<f64>,
    residual: Vec<Vec3<f32>>,
    correction: Vec<Vec3<f32>>,
}

/// One body on a lattice.
struct LatticePart {
    unknowns: Range<usize>,
    multigrid: Multigrid,
    rest: Vec<Vec3>,
    /// One for components that may move, zero for others.
    free: Vec<Vec3<f32>>,
    /// What springs between nodes add to blocks of B, by slot: the cycle has them as they are.
    tied: Vec<(u32, f32)>,
    /// Unknowns that B couples to others before them.
    coupled: Vec<u32>,
    displacements: Vec<Vec3>,
    anchors: Vec<Mat3<f32>>,
    contacts: ContactsWithin,
    product: Vec<Vec3<f32>>,
    wide_product: Vec<Vec3>,
}

impl LatticePart {
    fn new(model: &Model, plan: &AssemblyPlan, block: &LatticeBlock, cycle: MultigridParams) -> Self {
        let fixed: Vec<[bool; 3]> = block.unknowns().map(|unknown| model.kinematics.fixed(unknown)).collect();
        let ties = ties_of(model, block);
        let mut tied = Vec::new();
        for (stiffness, entries) in ties.iter() {
            for &(a, weight) in entries {
                for &(b, other) in entries.iter().filter(|(b, _)| *b <= a) {
                    let [row, column] = [a, b].map(|node| block.unknowns().start + node as usize);
                    tied.extend(
                        plan.pattern.slot(row, column).map(|slot| (slot as u32, stiffness.rows[0][0] * weight * other)),
                    );
                }
            }
        }
        tied.sort_unstable_by_key(|&(slot, _)| slot);
        tied.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                kept.1 += next.1;
            }
            is_same
        });
        let multigrid = Multigrid::new(block.lattice(), block.lame(), &fixed, cycle)
            .and_then(|multigrid| if ties.is_empty() { Ok(multigrid) } else { multigrid.with_ties(ties) })
            .and_then(|multigrid| match block.fibers() {
                Some(fibers) => multigrid.with_fibers(fibers),
                None => Ok(multigrid),
            })
            .expect("flesh at rest is definite, and the coarsest level is small");
        let nodes = fixed.len();
        let is_free = |[x, y, z]: [bool; 3]| Vec3::from([x, y, z].map(|fixed| if fixed { 0.0 } else { 1.0 }));
        Self {
            unknowns: block.unknowns(),
            multigrid,
            rest: (0..nodes).map(|node| block.lattice().node_position(node)).collect(),
            free: fixed.into_iter().map(is_free).collect(),
            tied,
            coupled: block
                .unknowns()
                .filter(|&unknown| plan.pattern.row(unknown).start < plan.pattern.diagonal_slot(unknown))
                .map(|unknown| unknown as u32)
                .collect(),
            displacements: vec![Vec3::zero(); nodes],
            anchors: vec![Mat3::zero(); nodes],
            contacts: ContactsWithin::default(),
            product: vec![Vec3::zero(); nodes],
            wide_product: vec![Vec3::zero(); nodes],
        }
    }

    /// What the sparse matrix has on the nodes, besides springs that the cycle knows: its diagonal blocks, and beside the diagonal what pulls both nodes the
    /// same way, as flesh that is bound between them does. So a node is held no softer than by that itself.
    fn gather_anchors(&mut self, matrix: &BlockCsr<f32>) {
        let pattern = matrix.pattern();
        let mut anchors = std::mem::take(&mut self.anchors);
        for_each_block_mut(&mut anchors[..], SUM_BLOCK, |first, anchors: &mut [Mat3<f32>]| {
            for (k, anchor) in anchors.iter_mut().enumerate() {
                let diagonal = pattern.diagonal_slot(self.unknowns.start + first + k);
                *anchor = self.untied(matrix, diagonal).symmetric_part();
            }
        });
        for &unknown in &self.coupled {
            for slot in pattern.row(unknown as usize).start..pattern.diagonal_slot(unknown as usize) {
                let (other, block) = (pattern.columns()[slot] as usize, self.untied(matrix, slot));
                if self.unknowns.contains(&other) && block.trace() > 0.0 {
                    let block = block.symmetric_part();
                    anchors[unknown as usize - self.unknowns.start] += block;
                    anchors[other - self.unknowns.start] += block;
                }
            }
        }
        self.anchors = anchors;
    }

    /// Contacts of the lattice with itself go into its cycles, others hold its nodes; all of them where `takes_none`.
    fn gather_contacts(&mut self, couplings: &ContactOperator, takes_none: bool) {
        couplings.for_each_outer_diagonal(&self.unknowns, takes_none, |unknown, block| {
            self.anchors[unknown - self.unknowns.start] += Mat3::from_f64(block.symmetric_part());
        });
        if !takes_none {
            couplings.gather_within(&self.unknowns, &mut self.contacts);
            self.multigrid.set_contacts(&self.contacts.ties);
        }
    }

    /// A block of B without springs that the cycle knows.
    fn untied(&self, matrix: &BlockCsr<f32>, slot: usize) -> Mat3<f32> {
        let block = matrix.values()[slot];
        if self.tied.is_empty() {
            return block;
        }
        match self.tied.binary_search_by_key(&(slot as u32), |&(slot, _)| slot) {
            Ok(at) => {
                let rest = block - Mat3::identity() * self.tied[at].1;
                // Nothing but rounding, or something else besides.
                if rest.norm() > TIED_ROUNDING * block.norm() { rest } else { Mat3::zero() }
            }
            Err(_) => block,
        }
    }
}

/// Springs at points of the flesh of a lattice between its nodes.
fn ties_of(model: &Model, block: &LatticeBlock) -> EmbeddedSprings {
    let mut ties = EmbeddedSprings::default();
    let kinematics = &model.kinematics;
    let node_of =
        |unknown: u32| block.unknowns().contains(&(unknown as usize)).then(|| unknown - block.unknowns().start as u32);
    for spring in model.attachments.iter().flat_map(|attachment| &attachment.springs) {
        if let PointMap::Weighted { start, end } = kinematics.map(spring.point as usize) {
            let nodes =
                kinematics.weights(start, end).iter().map(|&(unknown, weight)| Some((node_of(unknown)?, weight)));
            if let Some(entries) = nodes.collect::<Option<Vec<_>>>() {
                ties.add(spring.stiffness, entries);
            }
        }
        if let Anchor::Points(points) = &spring.anchor {
            let nodes = points.iter().map(|&(point, weight)| match kinematics.map(point as usize) {
                PointMap::Free(unknown) => Some((node_of(unknown)?, weight)),
                _ => None,
            });
            if let Some(entries) = nodes.collect::<Option<Vec<_>>>() {
                ties.add(spring.stiffness, entries);
            }
        }
    }
    ties
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
            mending: (!model.contact.is_empty()).then(|| Box::new(LocalSolve::new(model))),
        };
        system.measure_stiffness();
        system.rest_stiffness.clone_from(&system.stiffness);
        system
    }

    /// In words, for the report.
    pub fn describe(&self) -> String {
        let levels: Vec<String> =
            lock(&self.parts).iter().map(|part| part.multigrid.level_count().to_string()).collect();
        format!("a V-cycle over {} lattice cells in {} levels", self.cell_count, levels.join(" and "))
    }

    /// Fills B and the tangents of the lattices, the latter unless they are those of this place.
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
            // Far from home f32 would see little else.
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

    /// Makes the A just assembled ready to be solved with, `shift` times its diagonal added; the mean of its diagonal.
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

    /// Solves in f32, with shorter sweeps where cycles turn out not to be definite.
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
        self.solve_calmly(couplings, Task { shift: 0.0, forcing, has_guess: false }, rhs, out).map(|_| ())
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
        // Right-hand sides of a nearly converged iteration underflow in f32: solve for the direction of unit size.
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
        let Self { sliced, coarse_grid, parts, rhs, solution, scratch, .. } = self;
        let operator = Narrow { sliced, parts };
        let mut cycle = Cycle { coarse_grid: coarse_grid.as_mut(), parts };
        let coupled = Coupled { matrix: &operator, couplings };
        let info = conjugate_gradients(&coupled, &mut cycle, rhs, solution, &params, scratch).map_err(failure_of)?;
        let iterations = outcome(&info, self.budget.is_some())?;
        widen(&self.solution, size, out);
        Ok(iterations)
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

    fn mends(&self) -> bool {
        true
    }

    fn mend(
        &mut self,
        at: &TangentAt<'_, '_>,
        frame: Frame<'_>,
        scratch: &mut AssemblyScratch,
        gradient: &[Vec3],
        least: f64,
        out: &mut [Vec3],
    ) -> bool {
        let model = at.problem.model;
        let Some(mending) = &mut self.mending else { return false };
        if !mending.choose(model, frame.couplings, gradient, least) {
            return false;
        }
        frame.plan.assemble(at, scratch, &mut self.matrix);
        let parts = get(&mut self.parts);
        let lattices = parts.iter().map(|part| &part.multigrid);
        mending.fill(model, lattices, &self.matrix, frame.couplings, &at.q.vectors) && mending.solve(gradient, out)
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

/// The coarse grid around what is not on a lattice, as it is at rest.
fn coarse_grid(model: &Model, plan: &AssemblyPlan) -> CoarseGridPreconditioner {
    let kinematics = &model.kinematics;
    let mut positions = vec![Vec3::zero(); kinematics.unknown_count()];
    let mut takes_part = vec![false; positions.len()];
    let others = model.bodies.iter().enumerate().filter(|(index, _)| model.lattice_of(*index).is_none());
    for (_, body) in others {
        for (point, &place) in body.points.clone().zip(body.mesh.positions()) {
            if let PointMap::Free(unknown) = kinematics.map(point) {
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

/// Nobody panics while holding the lock, and if somebody did the numbers are still numbers.
fn lock(parts: &Mutex<Vec<LatticePart>>) -> MutexGuard<'_, Vec<LatticePart>> {
    parts.lock().unwrap_or_else(PoisonError::into_inner)
}

fn get(parts: &mut Mutex<Vec<LatticePart>>) -> &mut Vec<LatticePart> {
    parts.get_mut().unwrap_or_else(PoisonError::into_inner)
}

/// The tangent of a lattice at its displacements, held by its anchors; why not, if so.
fn linearize(part: &mut LatticePart, definite: f64, factor: f64) -> Option<SolveFailure> {
    let tangent = match definite {
        1.0 => TangentKind::Definite,
        0.0 => TangentKind::Exact,
        share => TangentKind::Blend(share),
    };
    set_anchors(part);
    part.multigrid.linearize(&part.displacements, tangent, factor).err().map(SolveFailure::Factor)
}

/// Holds the lattice by its anchors.
fn set_anchors(part: &mut LatticePart) {
    let has_anchors = part.anchors.iter().any(|anchor| *anchor != Mat3::zero());
    part.multigrid.set_anchors(has_anchors.then_some(&part.anchors));
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

/// Iterations of a solve that led somewhere. An unfinished solution still descends; only one that is no better than nothing is refused.
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

fn narrow(wide: &[Vec3], size: f64, narrow: &mut [Vec3<f32>]) {
    for_each_block_mut((narrow, wide), SUM_BLOCK, |_, (narrow, wide)| {
        for (narrow, &wide) in narrow.iter_mut().zip(wide) {
            *narrow = Vec3::from_f64(wide / size);
        }
    });
}

fn widen(narrow: &[Vec3<f32>], size: f64, wide: &mut [Vec3]) {
    for_each_block_mut((wide, narrow), SUM_BLOCK, |_, (wide, narrow)| {
        for (wide, narrow) in wide.iter_mut().zip(narrow) {
            *wide = narrow.to_f64() * size;
        }
    });
}

/// A in f32. Directions are zero where components are fixed, so only rows are left out.
struct Narrow<'a> {
    sliced: &'a SlicedBlocks,
    parts: &'a Mutex<Vec<LatticePart>>,
}

impl LinearOperator<f32> for Narrow<'_> {
    fn node_count(&self) -> usize {
        self.sliced.node_count()
    }

    fn apply(&self, x: &[Vec3<f32>], y: &mut [Vec3<f32>]) {
        self.sliced.apply(x, y);
        for part in lock(self.parts).iter_mut() {
            part.multigrid.apply(&x[part.unknowns.clone()], &mut part.product);
            let (y, free) = (&mut y[part.unknowns.clone()], &part.free[..]);
            add_free(y, free, &part.product);
        }
    }
}

/// A in f64.
struct WideOperator<'a> {
    matrix: &'a BlockCsr<f64>,
    parts: &'a Mutex<Vec<LatticePart>>,
}

impl LinearOperator<f64> for WideOperator<'_> {
    fn node_count(&self) -> usize {
        self.matrix.node_count()
    }

    fn apply(&self, x: &[Vec3], y: &mut [Vec3]) {
        self.matrix.apply(x, y);
        for part in lock(self.parts).iter_mut() {
            part.multigrid.apply_wide(&x[part.unknowns.clone()], &mut part.wide_product);
            for ((y, &product), free) in y[part.unknowns.clone()].iter_mut().zip(&part.wide_product).zip(&part.free) {
                *y += product.component_mul(free.to_f64());
            }
        }
    }
}

fn add_free(y: &mut [Vec3<f32>], free: &[Vec3<f32>], product: &[Vec3<f32>]) {
    for_each_block_mut((y, free, product), SUM_BLOCK, |_, (y, free, p)| {
        for k in 0..y.len() {
            y[k] += p[k].component_mul(free[k]);
        }
    });
}

/// One cycle on each lattice, and the coarse grid elsewhere.
struct Cycle<'a> {
    coarse_grid: Option<&'a mut CoarseGridPreconditioner>,
    parts: &'a Mutex<Vec<LatticePart>>,
}

impl Preconditioner<f32> for Cycle<'_> {
    fn apply(&mut self, r: &[Vec3<f32>], z: &mut [Vec3<f32>]) {
        if let Some(coarse_grid) = &mut self.coarse_grid {
            coarse_grid.apply(r, z);
        }
        for part in lock(self.parts).iter_mut() {
            part.multigrid.precondition(&r[part.unknowns.clone()], &mut z[part.unknowns.clone()]);
        }
    }
}

/// The same for vectors of f64.
struct Widened<'a> {
    cycle: Cycle<'a>,
    residual: &'a mut [Vec3<f32>],
    correction: &'a mut [Vec3<f32>],
}

impl Preconditioner<f64> for Widened<'_> {
    fn apply(&mut self, r: &[Vec3], z: &mut [Vec3]) {
        let size = norm(r);
        if size == 0.0 {
            z.fill(Vec3::zero());
            return;
        }
        narrow(r, size, self.residual);
        self.cycle.apply(self.residual, self.correction);
        widen(self.correction, size, z);
    }
}
