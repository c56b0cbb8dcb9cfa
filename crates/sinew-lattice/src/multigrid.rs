//! A hierarchy of lattices and its V-cycle (MCA-29..35, Algorithm 2).

use std::time::Instant;

use sinew_geometry::lattice::{Coarsening, HexLattice};
use sinew_math::cholesky::CholeskyError;
use sinew_math::{Mat3, Vec3};

use crate::aligned::Aligned;
use crate::band::Band;
use crate::coarsest::Coarsest;
use crate::embedded_springs::{EmbeddedSprings, LevelTies};
use crate::fibers::{Fibers, PullOf, linearize as linearize_pulls};
use crate::inversion_barrier::FirmCells;
use crate::kernel::{BULK, ModeStiffness, STATE};
use crate::layout::{LANES, Layout};
use crate::level::{Guess, Level};
use crate::moments::{self, Moments};
use crate::nodal_terms::NodalTermKind;
use crate::nonlinear::gradients_of;
use crate::pass::{NodalTerms, Operator, Pass};
use crate::precise;
use crate::tangent::{Role, TangentKind, TangentOf, linearize};
use crate::transfer::Transfer;
use crate::volume::VolumeLaw;

/// Nodes per cell above which a lattice counts as thin, and the factor on its direct-solve limit.
const THIN: f64 = 1.9;
const THIN_FACTOR: usize = 4;

/// Coarsening stops if a level would keep more than this fraction of the finer cells.
const MIN_COARSENING: f64 = 0.7;

/// Smoother of the cycle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Smoother {
    /// Fourth-kind Chebyshev iteration, optimal for multigrid without a lower bound of the smoothed spectrum
    /// \[Lottes23\].
    Chebyshev,
    /// Jacobi iteration with this damping factor.
    Jacobi(f64),
}

/// Model of coarse cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoarseRule {
    /// Full cells of mean stiffness (MCA-30). Ignores constraints between coarse nodes.
    Printed,
    /// Cells with the center and variance of their material, and springs for constraints between coarse nodes. Thin
    /// parts and thin bones do not slow this cycle down.
    Moments,
}

/// Parameters of the cycle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MultigridParams {
    /// Sweeps before and after each visit of the coarser level. Chebyshev takes more where flesh is nearly
    /// incompressible.
    pub sweeps: usize,
    /// Extra sweeps over nodes near boundaries and constraints, after the pre-smoothing and before the post-smoothing
    /// sweeps.
    pub band_sweeps: usize,
    /// Type of sweep.
    pub smoother: Smoother,
    /// Stiffness of the bilinear and trilinear modes.
    pub modes: ModeStiffness,
    /// Energy of volume change.
    pub volume: VolumeLaw,
    /// Whether cells have an inversion barrier, which resists small volumes at Gauss points and large bends.
    pub inversion_barrier: bool,
    /// Model of coarse cells.
    pub coarse: CoarseRule,
    /// Coarsening ends at this number of cells, which are solved directly.
    pub coarsest_cells: usize,
    /// Number of threads; 0 for the whole pool.
    pub threads: usize,
}

impl Default for MultigridParams {
    /// Five Chebyshev sweeps do the work of ten Jacobi sweeps. Thin parts bend poorly on levels where they are one cell
    /// thick: a few hundred cells are cheaper to solve than to coarsen.
    fn default() -> Self {
        Self {
            sweeps: 5,
            band_sweeps: 0,
            smoother: Smoother::Chebyshev,
            modes: ModeStiffness::EXACT,
            volume: VolumeLaw::Determinant,
            inversion_barrier: false,
            coarse: CoarseRule::Moments,
            coarsest_cells: 256,
            threads: 0,
        }
    }
}

impl MultigridParams {
    /// The scheme of the paper: staggered rule, ten Jacobi sweeps at 0.8.
    pub fn paper() -> Self {
        Self {
            sweeps: 10,
            smoother: Smoother::Jacobi(0.8),
            modes: ModeStiffness::PAPER,
            volume: VolumeLaw::Trace,
            coarse: CoarseRule::Printed,
            ..Self::default()
        }
    }
}

/// Cost of cycles as preconditioners.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CycleWork {
    /// V-cycles.
    pub cycles: u64,
    /// Cells times sweeps and residuals, over all levels.
    pub cell_sweeps: f64,
    /// Wall time \[s\].
    pub seconds: f64,
}

/// A linear system on a lattice, with its coarser levels.
#[derive(Debug)]
pub struct Multigrid {
    pub(crate) params: MultigridParams,
    pub(crate) levels: Vec<Level>,
    pub(crate) coarsest: Option<Coarsest>,
    /// Factor on all of K.
    pub(crate) scale: f64,
    /// State of the finest level for products; used if it differs from that of cycles.
    product_state: Aligned,
    product_pulls: Aligned,
    product_bulk: Aligned,
    products_differ: bool,
    /// A third of the trace of K's diagonal blocks of the finest level.
    mean_diagonal: Vec<f32>,
    /// Operand in slots of the finest level; and operand and product in f64.
    input: Aligned,
    wide: [Vec<f64>; 2],
    work: CycleWork,
}

impl Multigrid {
    /// Builds the hierarchy over a lattice, with μ and λ of each cell \[Pa\] and the fixed components of nodes.
    ///
    /// # Errors
    /// If memory for the factor of the coarsest level runs out, or its matrix is not definite.
    pub fn new(
        lattice: &HexLattice,
        lame: &[[f64; 2]],
        fixed: &[[bool; 3]],
        params: MultigridParams,
    ) -> Result<Self, CholeskyError> {
        let threads = if params.threads == 0 { rayon::current_num_threads() } else { params.threads };
        let new_level = |lattice: &HexLattice, lame: &[[f64; 2]], fixed: &[[bool; 3]]| {
            let mut level = Level::new(lattice, lame, fixed, params.volume, threads);
            if params.band_sweeps > 0 {
                level.band = Some(Band::new(lattice, &level.layout, fixed, threads));
            }
            level
        };
        let mut levels = vec![new_level(lattice, lame, fixed)];
        if params.inversion_barrier {
            levels[0].corners = FirmCells::new(lattice, &levels[0].layout);
        }
        let (mut lame, mut fixed) = (lame.to_vec(), fixed.to_vec());
        let mut moments = vec![Moments::FULL; lattice.cells.len()];
        let mut coarsening = None;
        loop {
            let last = coarsening.as_ref().map_or(lattice, |coarsening: &Coarsening| &coarsening.lattice);
            if last.cells.len() <= most_to_solve(last, params.coarsest_cells) {
                break;
            }
            let next = last.coarsen();
            // Unconnected parts are never merged, so many small parts stay many cells.
            if next.lattice.cells.len() as f64 > MIN_COARSENING * last.cells.len() as f64 {
                break;
            }
            let mut coarse_lame = vec![[0.0; 2]; next.lattice.cells.len()];
            for (fine, &parent) in lame.iter().zip(&next.parent) {
                for k in 0..2 {
                    coarse_lame[parent as usize][k] += 0.125 * fine[k];
                }
            }
            moments = moments::coarsen(last, &lame, &moments, &next);
            fixed = coarse_fixed(&next, &fixed);
            lame = coarse_lame;
            let mut coarse = new_level(&next.lattice, &lame, &fixed);
            if params.coarse == CoarseRule::Moments {
                coarse.moments = moments::in_lanes(&coarse.layout, &moments, params.modes);
            }
            if let Some(fine) = levels.last_mut() {
                fine.parents.clone_from(&next.parent);
                fine.transfer = Some(Transfer::new(&fine.layout, &coarse.layout, next.prolongation.clone()));
            }
            levels.push(coarse);
            coarsening = Some(next);
        }
        let last = coarsening.as_ref().map_or(lattice, |coarsening| &coarsening.lattice);
        let coarsest = Some(Coarsest::new(last, &fixed)?);
        Self::from_levels(params, levels, coarsest).start()
    }

    /// As [`Multigrid::new`], for products only.
    #[cfg(test)]
    pub(crate) fn without_factor(
        lattice: &HexLattice,
        lame: &[[f64; 2]],
        fixed: &[[bool; 3]],
        params: MultigridParams,
    ) -> Self {
        let level = Level::new(lattice, lame, fixed, params.volume, rayon::current_num_threads());
        Self::from_levels(params, vec![level], None)
    }

    fn from_levels(params: MultigridParams, levels: Vec<Level>, coarsest: Option<Coarsest>) -> Self {
        let nodes = levels[0].layout.node_count();
        Self {
            params,
            levels,
            coarsest,
            scale: 1.0,
            product_state: Aligned::default(),
            product_pulls: Aligned::default(),
            product_bulk: Aligned::default(),
            products_differ: false,
            mean_diagonal: vec![0.0; nodes],
            input: Aligned::default(),
            wide: [Vec::new(), Vec::new()],
            work: CycleWork::default(),
        }
    }

    /// Discards everything that earlier tangents left, so that results depend only on `spectrum`, the largest
    /// eigenvalues of an earlier step. An empty one restores the state after construction.
    pub fn begin_step(&mut self, spectrum: &[f64]) {
        for (k, level) in self.levels.iter_mut().enumerate() {
            level.begin_step(spectrum.get(k).copied().unwrap_or(0.0));
        }
        if let Some(coarsest) = &mut self.coarsest {
            coarsest.begin_step();
        }
    }

    /// Sets symmetric positive semidefinite blocks at the nodes \[N/m\] (inertia, springs, contact). They are added to
    /// K in cycles, but not in products.
    ///
    /// They take effect with the next [`Multigrid::linearize`] or [`Multigrid::link_again`]. Until then cycles are
    /// invalid.
    pub fn set_anchors(&mut self, anchors: Option<&[Mat3<f32>]>) {
        let fine = &mut self.levels[0];
        match anchors {
            None if fine.fibers.is_empty() => fine.anchors.clear(),
            None => fine.anchors.set_zero(&fine.layout),
            Some(blocks) => {
                assert_eq!(blocks.len(), fine.layout.node_count(), "a block per node");
                let kind = if fine.fibers.is_empty() { NodalTermKind::of(blocks) } else { NodalTermKind::Full };
                fine.anchors.set(kind, &fine.layout, &fine.free, blocks);
            }
        }
    }

    /// Adds springs between nodes, which are part of K in cycles, but not in products. Call this at rest, before
    /// anything else.
    ///
    /// # Errors
    /// If the matrix of the coarsest level is not definite.
    pub fn with_ties(mut self, ties: EmbeddedSprings) -> Result<Self, CholeskyError> {
        self.spread_ties(&ties, |level| &mut level.ties);
        self.levels.iter_mut().for_each(|level| level.ties.merge());
        self.start()
    }

    /// Sets self-contacts, which are added to K in cycles, but not in products. They take effect with the next
    /// [`Multigrid::linearize`] or [`Multigrid::link_again`].
    pub fn set_contacts(&mut self, contacts: &EmbeddedSprings) {
        self.spread_ties(contacts, |level| &mut level.contacts);
    }

    fn spread_ties(&mut self, ties: &EmbeddedSprings, of: impl Fn(&mut Level) -> &mut LevelTies) {
        of(&mut self.levels[0]).set(ties);
        for k in 1..self.levels.len() {
            let (finer, coarser) = self.levels.split_at_mut(k);
            let finest = std::mem::take(of(&mut finer[k - 1]));
            if let Some(transfer) = &finer[k - 1].transfer {
                of(&mut coarser[0]).set_from_finer(&finest, transfer.prolongation());
            }
            *of(&mut finer[k - 1]) = finest;
        }
    }

    /// Adds muscle fibers, initially inactive. Call this at rest, before anything else.
    ///
    /// # Errors
    /// If the matrix of the coarsest level is not definite.
    pub fn with_fibers(mut self, fibers: &Fibers) -> Result<Self, CholeskyError> {
        let mut fibers = fibers.clone();
        for k in 0..self.levels.len() {
            let coarse = self.levels.get(k + 1).map(|coarse| coarse.layout.cell_count());
            let level = &mut self.levels[k];
            level.lay_fibers(&fibers, self.params.modes);
            if let Some(count) = coarse {
                fibers = fibers.coarsened(&level.parents, count);
            }
        }
        let Level { layout, anchors, .. } = &mut self.levels[0];
        anchors.set_zero(layout);
        self.start()
    }

    /// Sets the activation of each group of fibers, from 0 to 1. Takes effect with the next [`Multigrid::linearize`].
    pub fn set_activations(&mut self, activations: &[f64]) {
        for Level { fibers, active, .. } in &mut self.levels {
            if !fibers.is_empty() {
                fibers.fill_active(activations, active);
            }
        }
    }

    /// Computes the tangent at rest, the initial state of every step.
    fn start(mut self) -> Result<Self, CholeskyError> {
        self.relinearize(TangentKind::Definite, 1.0, true)?;
        Ok(self)
    }

    /// Computes `scale` times the tangent at these displacements of the nodes \[m\]. Cycles replace a possibly
    /// indefinite tangent by the definite one.
    ///
    /// # Errors
    /// If the matrix of the coarsest level is not definite.
    pub fn linearize(&mut self, displacements: &[Vec3], tangent: TangentKind, scale: f64) -> Result<(), CholeskyError> {
        let fine = &mut self.levels[0];
        fine.layout.spread(&mut fine.x, |node| {
            let u = displacements[node];
            [u.x as f32, u.y as f32, u.z as f32]
        });
        let mut gradients = std::mem::take(&mut fine.gradients);
        gradients_of(fine.cells(&self.params, scale), &[], &fine.x, &mut gradients);
        fine.gradients = gradients;
        fine.corners.find(&fine.layout, fine.h, &fine.materials, &fine.x, scale);
        for k in 1..self.levels.len() {
            let (finer, coarser) = self.levels.split_at_mut(k);
            coarser[0].average_gradients(&finer[k - 1]);
        }
        self.relinearize(tangent, scale, false)
    }

    /// Computes tangents, diagonals and factor from gradients.
    fn relinearize(&mut self, kind: TangentKind, scale: f64, is_at_rest: bool) -> Result<(), CholeskyError> {
        self.scale = scale;
        self.linearize_finest(kind, scale);
        let kind = kind.for_cycles();
        for level in &mut self.levels[1..] {
            let Level { h, volume, materials, gradients, state, bulk, .. } = &mut *level;
            let of = TangentOf { kind, h: *h, scale, materials, volume: *volume, role: Role::CoarseCycle };
            linearize(of, gradients, state, &mut [], bulk);
            level.linearize_fibers(kind, scale);
        }
        self.link(is_at_rest, true)
    }

    /// Applies blocks and contacts set after [`Multigrid::linearize`], at the same displacements. Sweeps do not change:
    /// diagonals include the row sums of contacts, so contacts do not raise the largest eigenvalue.
    ///
    /// # Errors
    /// If the matrix of the coarsest level is not definite.
    pub fn link_again(&mut self) -> Result<(), CholeskyError> {
        self.link(false, false)
    }

    /// Updates springs, blocks and contacts on all levels, then diagonals, sweeps and factor, from the tangents.
    fn link(&mut self, is_at_rest: bool, is_measured: bool) -> Result<(), CholeskyError> {
        let Self { params, levels, coarsest, mean_diagonal, scale, .. } = self;
        for k in 0..levels.len() {
            let (finer, coarser) = levels.split_at_mut(k);
            let level = &mut coarser[0];
            if let Some(finer) = finer.last_mut() {
                level.take_anchors(finer, *scale);
            }
            if is_at_rest && params.coarse == CoarseRule::Moments {
                level.find_holds(params.modes);
            }
            level.invert_diagonal(params.modes, if k == 0 { &mut *mean_diagonal } else { &mut [] });
            if is_measured {
                level.estimate_largest(params);
            }
        }
        match (levels.last(), coarsest) {
            (Some(Level { layout, state, moments, pulls, bulk, anchors, ties, contacts, .. }), Some(coarsest)) => {
                let anchors = anchors.view();
                coarsest.factorize(
                    Operator { layout, state, modes: params.modes, moments, fibers: pulls, bulk, anchors },
                    ties,
                    contacts,
                )
            }
            _ => Ok(()),
        }
    }

    /// Computes the tangent of the finest level, for cycles and for products.
    fn linearize_finest(&mut self, kind: TangentKind, scale: f64) {
        self.levels[0].linearize_fibers(kind.for_cycles(), scale);
        let Level { h, materials, gradients, state, volume, bulk, fibers, active, pulls, .. } = &mut self.levels[0];
        let of = TangentOf { kind, h: *h, scale, materials, volume: *volume, role: Role::Cycle };
        if *volume == VolumeLaw::Determinant {
            linearize(of, gradients, state, &mut [], bulk);
            if self.product_state.is_empty() {
                self.product_state = Aligned::zeros(state.len());
                self.product_bulk = Aligned::zeros(bulk.len());
            }
            // The first tangent at rest was computed before fibers were added.
            if self.product_pulls.len() != pulls.len() {
                self.product_pulls = Aligned::zeros(pulls.len());
            }
            let of = TangentOf { role: Role::Product, ..of };
            linearize(of, gradients, &mut self.product_state, &mut [], &mut self.product_bulk);
            if !fibers.is_empty() {
                let of = PullOf { kind, h: *h, scale, rest: &fibers.rest, active };
                linearize_pulls(of, gradients, &mut self.product_pulls);
            }
            self.products_differ = true;
            return;
        }
        if kind.missing_share() == 0.0 {
            linearize(of, gradients, state, &mut [], &mut []);
            self.products_differ = false;
            return;
        }
        let has_room = !self.product_state.is_empty();
        self.products_differ = linearize(of, gradients, state, &mut self.product_state, &mut []);
        if !fibers.is_empty() {
            if self.product_pulls.is_empty() {
                self.product_pulls = Aligned::zeros(pulls.len());
            }
            let of = PullOf { kind, h: *h, scale, rest: &fibers.rest, active };
            self.products_differ |= linearize_pulls(of, gradients, &mut self.product_pulls);
        }
        if self.products_differ && !has_room {
            self.product_state = Aligned::zeros(state.len());
            linearize(of, gradients, state, &mut self.product_state, &mut []);
        }
    }

    /// A third of the trace of each diagonal block of K \[N/m\], without added blocks and ignoring constraints.
    pub fn mean_diagonal(&self, out: &mut [f32]) {
        out.copy_from_slice(&self.mean_diagonal);
    }

    /// Accumulated cost of [`Multigrid::precondition`].
    pub fn work(&self) -> CycleWork {
        self.work
    }

    /// Sweeps on the finest level before and after each visit of the next.
    pub fn fine_sweeps(&self) -> usize {
        self.levels[0].sweeps
    }

    /// Largest eigenvalues of the levels as the smoothers use them, for the next [`Multigrid::begin_step`].
    pub fn spectrum(&self) -> impl Iterator<Item = f64> {
        self.levels.iter().map(Level::largest)
    }

    /// Number of levels.
    pub fn level_count(&self) -> usize {
        self.levels.len()
    }

    /// Slots of the finest level.
    pub fn layout(&self) -> &Layout {
        &self.levels[0].layout
    }

    /// Number of cells on each level.
    pub fn cell_counts(&self) -> Vec<usize> {
        self.levels.iter().map(|level| level.layout.cell_count()).collect()
    }

    /// Minimum memory traffic of a cycle in bytes: each sweep and residual moves the cell state and each node array
    /// once, each transfer the arrays on both sides once.
    pub fn bytes_per_cycle(&self) -> f64 {
        let size = size_of::<f32>() as f64;
        let mut values = 0.0;
        for pair in self.levels.windows(2) {
            let (cells, nodes) = (pair[0].layout.cell_count() as f64, 3.0 * pair[0].layout.node_count() as f64);
            let coarse_nodes = 3.0 * pair[1].layout.node_count() as f64;
            // x, b, D⁻¹, and d or the residual.
            let state = if pair[0].bulk.is_empty() { STATE } else { STATE + BULK / LANES };
            let pass = state as f64 * cells + 4.0 * nodes;
            let restrict = nodes + coarse_nodes;
            let prolong = coarse_nodes + 2.0 * nodes;
            values += (2 * pair[0].sweeps + 1) as f64 * pass + restrict + prolong;
        }
        size * values
    }

    /// Sets the right-hand side, and the solution to zero.
    pub fn set_right_side(&mut self, b: &[Vec3]) {
        let fine = &mut self.levels[0];
        fine.layout.spread(&mut fine.b, |node| [b[node].x as f32, b[node].y as f32, b[node].z as f32]);
        fine.x.fill(0.0);
    }

    /// Copies the current solution to x.
    pub fn solution(&self, x: &mut [Vec3]) {
        self.levels[0].gather(&self.levels[0].x, x);
    }

    /// K x on the finest level, without added blocks and ignoring constraints.
    pub fn apply(&mut self, x: &[Vec3<f32>], out: &mut [Vec3<f32>]) {
        let Self { params, levels, product_state, product_pulls, product_bulk, products_differ, input, .. } = self;
        let Level { layout, slabs, state, moments, pulls, bulk, corners, out: product, .. } = &mut levels[0];
        if input.is_empty() {
            *input = Aligned::zeros(layout.value_count());
        }
        layout.spread(input, |node| [x[node].x, x[node].y, x[node].z]);
        let (state, fibers, bulk) = match *products_differ {
            true => (product_state, product_pulls, product_bulk),
            false => (state, pulls, bulk),
        };
        let operator =
            Operator { layout, state, modes: params.modes, moments, fibers, bulk, anchors: NodalTerms::None };
        slabs.run(operator, input, Pass::Apply { out: &mut *product });
        layout.collect(product, out, |out, value| *out = Vec3::from(value));
        corners.add_product(|node| x[node as usize].to_array(), |node, sum| out[node as usize] += Vec3::from(sum));
    }

    /// [`Multigrid::apply`] in f64.
    pub fn apply_wide(&mut self, x: &[Vec3], out: &mut [Vec3]) {
        let Self { params, levels, product_state, product_pulls, product_bulk, products_differ, wide, .. } = self;
        let [input, product] = wide;
        let Level { layout, state, pulls, bulk, corners, .. } = &mut levels[0];
        input.resize(layout.value_count(), 0.0);
        product.resize(layout.value_count(), 0.0);
        layout.spread(input, |node| [x[node].x, x[node].y, x[node].z]);
        let (state, fibers, bulk) = match *products_differ {
            true => (&*product_state, &*product_pulls, &*product_bulk),
            false => (&*state, &*pulls, &*bulk),
        };
        precise::apply(layout, (state, fibers, bulk), params.modes, input, product);
        layout.collect(product, out, |out, value| *out = Vec3::from(value));
        let place = |node: u32| Vec3::<f32>::from_f64(x[node as usize]).to_array();
        corners.add_product(place, |node, sum| out[node as usize] += Vec3::<f32>::from(sum).to_f64());
    }

    /// z = M r, one V-cycle from zero for K and the added blocks: a symmetric positive definite map on free components.
    /// z is zero at fixed ones.
    pub fn precondition(&mut self, r: &[Vec3<f32>], z: &mut [Vec3<f32>]) {
        let start = Instant::now();
        let fine = &mut self.levels[0];
        fine.layout.spread(&mut fine.b, |node| [r[node].x, r[node].y, r[node].z]);
        self.cycle_from_zero();
        let fine = &self.levels[0];
        fine.layout.collect(&fine.x, z, |z, value| *z = Vec3::from(value));
        let cells: usize = self.levels.iter().map(|level| level.layout.cell_count()).sum();
        let in_bands: usize =
            self.levels.iter().filter_map(|level| level.band.as_ref()).map(|band| band.cell_count).sum();
        self.work.cycles += 1;
        self.work.cell_sweeps += (cells * (2 * self.fine_sweeps() + 1) + in_bands * 2 * self.params.band_sweeps) as f64;
        self.work.seconds += start.elapsed().as_secs_f64();
    }

    /// Shortens the sweeps until the next tangent. A cycle is definite if sweeps remove energy from every mode. If it
    /// is not, some mode has an eigenvalue above the estimate.
    pub fn calm(&mut self) {
        let Self { levels, params, .. } = self;
        levels.iter_mut().for_each(|level| level.calm(params));
    }

    /// Diagonal of K on the finest level, at free components.
    #[cfg(test)]
    pub(crate) fn diagonal(&self) -> Vec<Vec3> {
        let level = &self.levels[0];
        let mut diagonal = vec![Vec3::zero(); level.layout.node_count()];
        level.gather(&level.inverse, &mut diagonal);
        diagonal.iter_mut().for_each(|d| *d = Vec3::new(1.0 / d.x, 1.0 / d.y, 1.0 / d.z));
        diagonal
    }

    /// One V-cycle from the current solution.
    pub fn cycle(&mut self) {
        self.descend(0, Guess::Kept);
    }

    /// One V-cycle from zero, as a preconditioner.
    pub fn cycle_from_zero(&mut self) {
        self.descend(0, Guess::Zero);
    }

    fn descend(&mut self, k: usize, guess: Guess) {
        if k + 1 == self.levels.len() {
            self.solve_coarsest(guess);
            return;
        }
        let params = self.params;
        self.levels[k].smooth(&params, guess);
        self.levels[k].smooth_band(&params);
        let (finer, coarser) = self.levels.split_at_mut(k + 1);
        let (fine, coarse) = (&mut finer[k], &mut coarser[0]);
        fine.pass(params.modes, |b, inverse, out| Pass::Residual { b, inverse, out });
        if let Some(transfer) = &fine.transfer {
            transfer.restrict(&fine.layout, &fine.out, &coarse.layout, &mut coarse.b);
        }
        self.descend(k + 1, Guess::Zero);
        let (finer, coarser) = self.levels.split_at_mut(k + 1);
        let (fine, coarse) = (&mut finer[k], &coarser[0]);
        if let Some(transfer) = &fine.transfer {
            transfer.prolong(&coarse.layout, &coarse.x, &fine.layout, &fine.inverse, &mut fine.x);
        }
        fine.smooth_band(&params);
        fine.smooth(&params, Guess::Kept);
    }

    fn solve_coarsest(&mut self, guess: Guess) {
        let (Some(level), Some(coarsest)) = (self.levels.last_mut(), &mut self.coarsest) else { return };
        if guess == Guess::Kept {
            level.pass(self.params.modes, |b, inverse, out| Pass::Residual { b, inverse, out });
        } else {
            let Level { out, b, free, .. } = &mut *level;
            for ((out, b), free) in out.iter_mut().zip(&**b).zip(&**free) {
                *out = b * free;
            }
            level.x.fill(0.0);
        }
        level.gather(&level.out, &mut coarsest.x);
        coarsest.solve();
        for (node, solution) in coarsest.x.iter().enumerate() {
            for slot in level.layout.slots(node) {
                for c in 0..3 {
                    let at = slot.component(c);
                    level.x[at] += solution[c] as f32 * level.free[at];
                }
            }
        }
    }
}

/// Direct-solve limit in cells. Thin lattices have twice as many nodes as cells: they bend poorly on coarse levels, and
/// their factors are cheap.
fn most_to_solve(lattice: &HexLattice, usual: usize) -> usize {
    let is_thin = lattice.node_places.len() as f64 > THIN * lattice.cells.len() as f64;
    if is_thin { THIN_FACTOR * usual } else { usual }
}

/// A coarse node has the constraints of the fine node at its position.
fn coarse_fixed(coarsening: &Coarsening, fixed: &[[bool; 3]]) -> Vec<[bool; 3]> {
    let mut coarse_fixed = vec![[false; 3]; coarsening.lattice.node_places.len()];
    for (node, &fixed) in fixed.iter().enumerate() {
        if let &[carrier] = coarsening.prolongation.coarse_nodes(node) {
            coarse_fixed[carrier as usize] = fixed;
        }
    }
    coarse_fixed
}
