//! A hierarchy of lattices, and the V-cycle on it (MCA-29..35, Algorithm 2).

use std::sync::atomic::AtomicU64;

use sinew_geometry::lattice::{Coarsening, HexLattice};
use sinew_math::Vec3;
use sinew_math::cholesky::CholeskyError;

use crate::aligned::Aligned;
use crate::coarsest::Coarsest;
use crate::force::{self, Elastic};
use crate::kernel::{BLOCK, ModeStiffness, STATE};
use crate::layout::{LANES, Layout};
use crate::pass::{Pass, Slabs};
use crate::tangent::{GRADIENT, MATERIAL, TangentKind, add_diagonal, gradients_of, linearize};
use crate::transfer::Transfer;

/// Power iterations for the largest eigenvalue of D⁻¹K: from nothing, and from that of the tangent before.
const FIRST_POWERS: usize = 30;
const NEXT_POWERS: usize = 6;
/// Largest eigenvalue of D⁻¹K of compressible flesh. What n sweeps of Chebyshev reach grows with n², so √ as many times as that is exceeded do the same.
const USUAL_LARGEST: f64 = 3.0;
/// Margin over the estimate, which comes from below.
const POWER_MARGIN: f64 = 1.05;

/// A level that has more than this part of the cells of the finer one is not worth it.
const LEAST_COARSENING: f64 = 0.7;

/// How corrections are smoothed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Smoother {
    /// Chebyshev's iteration of the fourth kind, optimal for multigrid without knowing where the smooth part begins [Lottes23].
    Chebyshev,
    /// Jacobi's, damped by this factor.
    Jacobi(f64),
}

/// Choices of the cycle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MultigridParams {
    /// Sweeps before and after each visit of the coarser level; Chebyshev's take more of them where flesh is nearly incompressible.
    pub sweeps: usize,
    /// What a sweep is.
    pub smoother: Smoother,
    /// Stiffness of the bilinear and trilinear modes.
    pub modes: ModeStiffness,
    /// The tangent.
    pub tangent: TangentKind,
    /// Coarsening ends at so many cells, which are solved directly.
    pub coarsest_cells: usize,
    /// Threads; 0 for all of the pool.
    pub threads: usize,
}

impl Default for MultigridParams {
    /// Five sweeps of Chebyshev do what ten of Jacobi do. Thin parts bend badly on levels where they are a cell across: some hundred cells are cheaper to solve than to coarsen.
    fn default() -> Self {
        Self {
            sweeps: 5,
            smoother: Smoother::Chebyshev,
            modes: ModeStiffness::EXACT,
            tangent: TangentKind::Definite,
            coarsest_cells: 256,
            threads: 0,
        }
    }
}

impl MultigridParams {
    /// The printed scheme: staggered rule, ten sweeps of Jacobi at 0.8.
    pub fn paper() -> Self {
        Self { sweeps: 10, smoother: Smoother::Jacobi(0.8), modes: ModeStiffness::PAPER, ..Self::default() }
    }
}

/// One level.
#[derive(Clone, Debug)]
pub(crate) struct Level {
    pub layout: Layout,
    /// Cell of the coarser level that each cell belongs to, and the way there; none on the coarsest.
    parents: Vec<u32>,
    transfer: Option<Transfer>,
    /// Edge of its cubes [m].
    h: f64,
    pub slabs: Slabs,
    gradients: Aligned,
    materials: Aligned,
    pub state: Aligned,
    /// 1/D of free components, 0 elsewhere.
    pub inverse: Aligned,
    /// 1 for free components of nodes, 0 elsewhere.
    pub free: Aligned,
    pub x: Aligned,
    pub b: Aligned,
    out: Aligned,
    /// Eigenvector of the largest eigenvalue of D⁻¹K, and the eigenvalue.
    vibration: Aligned,
    largest: f64,
    /// Sweeps of this level.
    sweeps: usize,
}

/// A linear system on a lattice, with its coarser versions.
#[derive(Debug)]
pub struct Multigrid {
    pub(crate) params: MultigridParams,
    pub(crate) levels: Vec<Level>,
    coarsest: Option<Coarsest>,
    force: ForceWork,
}

/// Scratch of forces.
#[derive(Debug, Default)]
struct ForceWork {
    u: Vec<f64>,
    out: Vec<f64>,
    energies: Vec<AtomicU64>,
}

impl ForceWork {
    fn resize(&mut self, layout: &Layout) {
        self.u.resize(layout.value_count(), 0.0);
        self.out.resize(layout.value_count(), 0.0);
        self.energies.resize_with(layout.plane_count(), AtomicU64::default);
    }
}

impl Multigrid {
    /// A hierarchy over a lattice, with μ and λ of each cell [Pa], and the components of nodes that do not move.
    ///
    /// # Errors
    /// When there is no memory for the factor of the coarsest level, or its matrix is not definite.
    pub fn new(
        lattice: &HexLattice,
        lame: &[[f64; 2]],
        fixed: &[[bool; 3]],
        params: MultigridParams,
    ) -> Result<Self, CholeskyError> {
        let threads = if params.threads == 0 { rayon::current_num_threads() } else { params.threads };
        let mut levels = vec![Level::new(lattice, lame, fixed, threads)];
        let (mut lame, mut fixed) = (lame.to_vec(), fixed.to_vec());
        let mut coarsening = None;
        loop {
            let last = coarsening.as_ref().map_or(lattice, |coarsening: &Coarsening| &coarsening.lattice);
            if last.cells.len() <= params.coarsest_cells {
                break;
            }
            let next = last.coarsen();
            // Parts that have nothing to do with each other are never merged: many small ones stay many cells.
            if next.lattice.cells.len() as f64 > LEAST_COARSENING * last.cells.len() as f64 {
                break;
            }
            let mut coarse_lame = vec![[0.0; 2]; next.lattice.cells.len()];
            for (fine, &parent) in lame.iter().zip(&next.parent) {
                for k in 0..2 {
                    coarse_lame[parent as usize][k] += 0.125 * fine[k];
                }
            }
            fixed = coarse_fixed(&next, &fixed);
            lame = coarse_lame;
            let coarse = Level::new(&next.lattice, &lame, &fixed, threads);
            if let Some(fine) = levels.last_mut() {
                fine.parents.clone_from(&next.parent);
                fine.transfer = Some(Transfer::new(&fine.layout, &coarse.layout, next.prolongation.clone()));
            }
            levels.push(coarse);
            coarsening = Some(next);
        }
        let last = coarsening.as_ref().map_or(lattice, |coarsening| &coarsening.lattice);
        let coarsest = Some(Coarsest::new(last, &fixed)?);
        let mut multigrid = Self { params, levels, coarsest, force: ForceWork::default() };
        multigrid.relinearize(FIRST_POWERS)?;
        Ok(multigrid)
    }

    /// As [`Multigrid::new`], for products only.
    #[cfg(test)]
    pub(crate) fn without_factor(
        lattice: &HexLattice,
        lame: &[[f64; 2]],
        fixed: &[[bool; 3]],
        params: MultigridParams,
    ) -> Self {
        let level = Level::new(lattice, lame, fixed, rayon::current_num_threads());
        Self { params, levels: vec![level], coarsest: None, force: ForceWork::default() }
    }

    /// The tangent at these displacements of the nodes [m].
    ///
    /// # Errors
    /// When the matrix of the coarsest level is not definite.
    pub fn linearize(&mut self, displacements: &[Vec3]) -> Result<(), CholeskyError> {
        let fine = &mut self.levels[0];
        fine.scatter(displacements, Field::X);
        gradients_of(&fine.layout, fine.h, &fine.x, &mut fine.gradients);
        fine.x.fill(0.0);
        for k in 1..self.levels.len() {
            let (finer, coarser) = self.levels.split_at_mut(k);
            coarser[0].average_gradients(&finer[k - 1]);
        }
        self.relinearize(NEXT_POWERS)
    }

    /// Tangents, diagonals and factor from gradients.
    fn relinearize(&mut self, powers: usize) -> Result<(), CholeskyError> {
        let Self { params, levels, coarsest, .. } = self;
        for level in levels.iter_mut() {
            linearize(params.tangent, level.h, &level.gradients, &level.materials, &mut level.state);
            level.invert_diagonal(params.modes);
            level.estimate_largest(params.modes, powers);
            level.sweeps = match params.smoother {
                Smoother::Jacobi(_) => params.sweeps,
                Smoother::Chebyshev => {
                    (params.sweeps as f64 * (level.largest / USUAL_LARGEST).sqrt().max(1.0)).round() as usize
                }
            };
        }
        match (levels.last(), coarsest) {
            (Some(level), Some(coarsest)) => coarsest.factorize(&level.layout, &level.state, params.modes),
            _ => Ok(()),
        }
    }

    /// Elastic energy at these displacements of the nodes [J], and its derivatives [N], without regard to what is fixed.
    pub fn gradient(&mut self, displacements: &[Vec3], gradient: &mut [Vec3]) -> f64 {
        let Level { layout, h, materials, .. } = &self.levels[0];
        let work = &mut self.force;
        work.resize(layout);
        layout.spread(displacements, &mut work.u);
        let elastic = Elastic { layout, h: *h, materials, modes: self.params.modes };
        let energy = force::gradient(elastic, &work.u, &mut work.out, &work.energies);
        layout.collect(&work.out, gradient);
        energy
    }

    /// Sweeps of the finest level before and after each visit of the next.
    pub fn fine_sweeps(&self) -> usize {
        self.levels[0].sweeps
    }

    /// Number of levels.
    pub fn level_count(&self) -> usize {
        self.levels.len()
    }

    /// Slots of the finest level.
    pub fn layout(&self) -> &Layout {
        &self.levels[0].layout
    }

    /// Cells of all levels.
    pub fn cell_counts(&self) -> Vec<usize> {
        self.levels.iter().map(|level| level.layout.cell_count()).collect()
    }

    /// Bytes that a cycle has to move: of every sweep and defect the state of the cells and each array of nodes once, of every transfer the arrays on both sides once.
    pub fn bytes_per_cycle(&self) -> f64 {
        let size = size_of::<f32>() as f64;
        let mut values = 0.0;
        for pair in self.levels.windows(2) {
            let (cells, nodes) = (pair[0].layout.cell_count() as f64, 3.0 * pair[0].layout.node_count() as f64);
            let coarse_nodes = 3.0 * pair[1].layout.node_count() as f64;
            // x, b, D⁻¹ and d or the defect.
            let pass = STATE as f64 * cells + 4.0 * nodes;
            let restrict = nodes + coarse_nodes;
            let prolong = coarse_nodes + 2.0 * nodes;
            values += (2 * pair[0].sweeps + 1) as f64 * pass + restrict + prolong;
        }
        size * values
    }

    /// Sets the right-hand side, and the solution to zero.
    pub fn set_right_side(&mut self, b: &[Vec3]) {
        let fine = &mut self.levels[0];
        fine.scatter(b, Field::B);
        fine.x.fill(0.0);
    }

    /// The solution so far.
    pub fn solution(&self, x: &mut [Vec3]) {
        self.levels[0].gather(&self.levels[0].x, x);
    }

    /// K x of the finest level, without regard to what is fixed.
    pub fn apply(&mut self, x: &[Vec3], out: &mut [Vec3]) {
        let modes = self.params.modes;
        let level = &mut self.levels[0];
        let kept = level.x.clone();
        level.scatter(x, Field::X);
        level.pass(modes, |_, _, out| Pass::Apply { out });
        level.gather(&level.out, out);
        level.x = kept;
    }

    /// Diagonal of K of the finest level, where it is free.
    #[cfg(test)]
    pub(crate) fn diagonal(&self) -> Vec<Vec3> {
        let level = &self.levels[0];
        let mut diagonal = vec![Vec3::zero(); level.layout.node_count()];
        level.gather(&level.inverse, &mut diagonal);
        diagonal.iter_mut().for_each(|d| *d = Vec3::new(1.0 / d.x, 1.0 / d.y, 1.0 / d.z));
        diagonal
    }

    /// One V-cycle from the solution so far.
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

/// What a cycle begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Guess {
    Zero,
    Kept,
}

enum Field {
    X,
    B,
}

impl Level {
    fn new(lattice: &HexLattice, lame: &[[f64; 2]], fixed: &[[bool; 3]], threads: usize) -> Self {
        let layout = Layout::new(lattice);
        let (values, blocks) = (layout.value_count(), layout.block_count());
        let zeros = || Aligned::zeros(values);
        let mut level = Self {
            parents: Vec::new(),
            transfer: None,
            h: lattice.cell,
            slabs: Slabs::new(&layout, threads),
            gradients: Aligned::zeros(blocks * GRADIENT),
            materials: Aligned::zeros(blocks * MATERIAL),
            state: Aligned::zeros(blocks * BLOCK),
            inverse: zeros(),
            free: zeros(),
            x: zeros(),
            b: zeros(),
            out: zeros(),
            vibration: zeros(),
            largest: 0.0,
            sweeps: 0,
            layout,
        };
        // Lanes without a cell are cubes at rest, of nothing.
        for block in level.gradients.chunks_exact_mut(GRADIENT) {
            for i in 0..3 {
                block[4 * i * LANES..(4 * i + 1) * LANES].fill(1.0);
            }
        }
        for (cell, lame) in lame.iter().enumerate() {
            let (block, lane) = level.layout.cell_slot(cell);
            for (k, &value) in lame.iter().enumerate() {
                level.materials[block * MATERIAL + k * LANES + lane] = value as f32;
            }
        }
        for (node, fixed) in fixed.iter().enumerate() {
            for slot in level.layout.slots(node) {
                for (c, &fixed) in fixed.iter().enumerate() {
                    level.free[slot.at as usize + c * slot.stride as usize] = if fixed { 0.0 } else { 1.0 };
                }
            }
        }
        level
    }

    /// Values of nodes into slots; fixed ones are left out of a right-hand side.
    fn scatter(&mut self, values: &[Vec3], field: Field) {
        let target = match field {
            Field::X => &mut self.x,
            Field::B => &mut self.b,
        };
        for (node, value) in values.iter().enumerate() {
            for slot in self.layout.slots(node) {
                for c in 0..3 {
                    target[slot.at as usize + c * slot.stride as usize] = value[c] as f32;
                }
            }
        }
    }

    pub fn gather(&self, values: &[f32], out: &mut [Vec3]) {
        for (node, out) in out.iter_mut().enumerate() {
            let slot = self.layout.slots(node)[0];
            for c in 0..3 {
                out[c] = f64::from(values[slot.at as usize + c * slot.stride as usize]);
            }
        }
    }

    fn pass<'a>(
        &'a mut self,
        modes: ModeStiffness,
        pass: impl FnOnce(&'a [f32], &'a [f32], &'a mut [f32]) -> Pass<'a>,
    ) {
        let Self { layout, slabs, state, x, b, inverse, out, .. } = self;
        slabs.run(layout, state, modes, x, pass(b, inverse, out));
    }

    /// F of a coarse cell: the mean over its cells, weighted by their stiffness (MCA-31).
    fn average_gradients(&mut self, finer: &Self) {
        let mut weights = vec![0.0f32; self.layout.block_count() * LANES];
        for block in self.gradients.chunks_exact_mut(GRADIENT) {
            block.fill(0.0);
        }
        for (cell, &parent) in finer.parents.iter().enumerate() {
            let (block, lane) = finer.layout.cell_slot(cell);
            let (to, to_lane) = self.layout.cell_slot(parent as usize);
            let weight = finer.materials[block * MATERIAL + lane];
            weights[to * LANES + to_lane] += weight;
            for k in 0..9 {
                self.gradients[to * GRADIENT + k * LANES + to_lane] +=
                    weight * finer.gradients[block * GRADIENT + k * LANES + lane];
            }
        }
        for (block, weights) in self.gradients.chunks_exact_mut(GRADIENT).zip(weights.chunks_exact(LANES)) {
            for (lane, &weight) in weights.iter().enumerate() {
                for k in 0..9 {
                    let entry = &mut block[k * LANES + lane];
                    *entry = if weight > 0.0 { *entry / weight } else { f32::from(u8::from(k % 4 == 0)) };
                }
            }
        }
    }

    fn invert_diagonal(&mut self, modes: ModeStiffness) {
        self.inverse.fill(0.0);
        add_diagonal(&self.layout, &self.state, modes, &mut self.inverse);
        self.layout.sum_seams(&mut self.inverse);
        for (entry, &free) in self.inverse.iter_mut().zip(&*self.free) {
            *entry = if *entry > 0.0 { free / *entry } else { 0.0 };
        }
    }

    /// Largest eigenvalue of D⁻¹K by power iteration.
    fn estimate_largest(&mut self, modes: ModeStiffness, powers: usize) {
        if powers == FIRST_POWERS {
            let mut seed = 1u32;
            for (value, &free) in self.vibration.iter_mut().zip(&*self.free) {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                *value = free * ((seed >> 8) as f32 / (1 << 24) as f32 - 0.5);
            }
        }
        let mut largest = 0.0;
        for _ in 0..powers {
            let Self { layout, slabs, state, vibration, out, inverse, .. } = self;
            slabs.run(layout, state, modes, vibration, Pass::Apply { out });
            let (mut norm, mut before) = (0.0, 0.0);
            for ((v, out), inverse) in vibration.iter_mut().zip(&**out).zip(&**inverse) {
                let next = out * inverse;
                before += f64::from(*v) * f64::from(*v);
                norm += f64::from(next) * f64::from(next);
                *v = next;
            }
            if !(norm > 0.0 && before > 0.0) {
                break;
            }
            largest = (norm / before).sqrt();
            let scale = (1.0 / norm.sqrt()) as f32;
            vibration.iter_mut().for_each(|v| *v *= scale);
        }
        self.largest = POWER_MARGIN * largest;
    }

    fn smooth(&mut self, params: &MultigridParams, guess: Guess) {
        for k in 0..self.sweeps {
            let (a, c) = match params.smoother {
                Smoother::Jacobi(omega) => (0.0, omega),
                Smoother::Chebyshev => {
                    let k = k as f64;
                    let a = if k == 0.0 { 0.0 } else { (2.0 * k - 1.0) / (2.0 * k + 3.0) };
                    (a, (8.0 * k + 4.0) / ((2.0 * k + 3.0) * self.largest))
                }
            };
            if k == 0 && guess == Guess::Zero {
                // K x is known: nothing.
                let Self { x, out, b, inverse, .. } = self;
                for (((x, out), b), inverse) in x.iter_mut().zip(out.iter_mut()).zip(&**b).zip(&**inverse) {
                    *out = c as f32 * inverse * b;
                    *x = *out;
                }
            } else {
                self.pass(params.modes, |b, inverse, out| Pass::Smooth { b, inverse, out, a, c });
            }
        }
    }
}

/// A coarse node moves as little as the fine one in its place.
fn coarse_fixed(coarsening: &Coarsening, fixed: &[[bool; 3]]) -> Vec<[bool; 3]> {
    let mut coarse_fixed = vec![[false; 3]; coarsening.lattice.node_places.len()];
    for (node, &fixed) in fixed.iter().enumerate() {
        if let &[carrier] = coarsening.prolongation.coarse_nodes(node) {
            coarse_fixed[carrier as usize] = fixed;
        }
    }
    coarse_fixed
}
