//! One level of the hierarchy: its arrays, its tangent, and its smoother.

use sinew_geometry::lattice::HexLattice;
use sinew_math::Vec3;
use sinew_math::parallel::{SUM_BLOCK, for_each_block_mut};

use crate::aligned::Aligned;
use crate::band::Band;
use crate::embedded_springs::LevelTies;
use crate::fas::Visit;
use crate::fibers::{Fibers, LaneFibers, PULL, PullOf, linearize as linearize_pulls};
use crate::inversion_barrier::FirmCells;
use crate::kernel::{BLOCK, BULK, ModeStiffness};
use crate::layers::split_planes;
use crate::layout::{LANES, Layout};
use crate::moments;
use crate::multigrid::{MultigridParams, Smoother};
use crate::nodal_terms::{NodalTermKind, NodeAnchors};
use crate::pass::{NodalTerms, Operator, Pass, Slabs};
use crate::solve::{difference, dot};
use crate::spectrum::{LANCZOS_STEPS, NEXT_LANCZOS_STEPS, Ritz};
use crate::tangent::{GRADIENT, MATERIAL, TangentKind, add_diagonal};
use crate::transfer::Transfer;
use crate::volume::VolumeLaw;

/// Safety factor on the estimate of the largest eigenvalue, which is a lower bound.
const LARGEST_MARGIN: f64 = 1.1;
/// Smallest factor on the previous estimate.
const FADING: f64 = 0.99;
/// Factor on an estimate that proved too small.
const CALMING: f64 = 1.25;
/// Largest eigenvalue of D⁻¹K of compressible flesh. The range of n Chebyshev sweeps grows with n², so a level whose
/// eigenvalue is k times larger needs √k times as many sweeps.
const USUAL_LARGEST: f64 = 3.0;

/// Blocks of coarse cells per parallel chunk.
const AVERAGED: usize = 8;

/// Damping of Jacobi sweeps over a band, relative to the others: 0.4 instead of 0.8 (MCA-33).
const BAND_DAMPING: f64 = 0.5;

/// One level of the hierarchy.
#[derive(Clone, Debug)]
pub(crate) struct Level {
    pub layout: Layout,
    /// Coarser cell of each cell, and the transfer to the coarser level; none on the coarsest level.
    pub parents: Vec<u32>,
    pub transfer: Option<Transfer>,
    /// Edge of its cubes \[m\].
    pub h: f64,
    pub slabs: Slabs,
    pub gradients: Aligned,
    pub materials: Aligned,
    /// Finer cells of each cell, built on first use; empty on the finest level.
    children: Children,
    pub state: Aligned,
    /// Volume measure, and the bulk of blocks if that is the determinant.
    pub volume: VolumeLaw,
    pub bulk: Aligned,
    /// Moments of blocks; empty if all cells are full.
    pub moments: Aligned,
    /// Fibers, α σ₀ of each lane, and their tangents; empty without fibers.
    pub fibers: LaneFibers,
    pub active: Aligned,
    pub pulls: Aligned,
    /// Blocks added to K.
    pub anchors: NodeAnchors,
    /// Springs that represent fixed components for coarser nodes that may move \[N/m\], in slots. Empty if nothing is
    /// fixed.
    holds: Aligned,
    /// Springs between nodes.
    pub ties: LevelTies,
    /// Self-contacts.
    pub contacts: LevelTies,
    /// Cells with an active inversion barrier; on the finest level only.
    pub corners: FirmCells,
    /// D⁻¹ (its diagonal) of free components, 0 elsewhere.
    pub inverse: Aligned,
    /// 1 for free components of nodes, 0 elsewhere.
    pub free: Aligned,
    pub x: Aligned,
    pub b: Aligned,
    pub out: Aligned,
    /// Scratch for estimates of the largest eigenvalue of D⁻¹(K + A); and the last estimate, with its safety factor.
    step: Aligned,
    largest: f64,
    /// Smoothing sweeps on this level.
    pub sweeps: usize,
    /// Band with extra sweeps.
    pub band: Option<Band>,
    /// Data of nonlinear cycles.
    pub visit: Visit,
}

/// Finer lanes of each lane.
#[derive(Clone, Debug, Default)]
struct Children {
    /// First of each lane, and one past the last.
    offsets: Vec<u32>,
    /// Block times lanes, plus the lane.
    slots: Vec<u32>,
}

impl Children {
    fn new(layout: &Layout, finer: &Level) -> Self {
        let lane_of = |layout: &Layout, cell: usize| {
            let (block, lane) = layout.cell_slot(cell);
            block * LANES + lane
        };
        let mut pairs: Vec<(u32, u32, u32)> = finer
            .parents
            .iter()
            .enumerate()
            .map(|(cell, &parent)| {
                (lane_of(layout, parent as usize) as u32, cell as u32, lane_of(&finer.layout, cell) as u32)
            })
            .collect();
        pairs.sort_unstable();
        let mut offsets = vec![0; layout.block_count() * LANES + 1];
        pairs.iter().for_each(|&(parent, ..)| offsets[parent as usize + 1] += 1);
        for k in 1..offsets.len() {
            offsets[k] += offsets[k - 1];
        }
        Self { offsets, slots: pairs.into_iter().map(|(.., slot)| slot).collect() }
    }
}

/// Initial guess of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guess {
    Zero,
    Kept,
}

impl Level {
    pub fn new(
        lattice: &HexLattice,
        lame: &[[f64; 2]],
        fixed: &[[bool; 3]],
        volume: VolumeLaw,
        threads: usize,
    ) -> Self {
        let layout = Layout::new(lattice);
        let (values, blocks) = (layout.value_count(), layout.block_count());
        let zeros = || Aligned::zeros(values);
        let mut level = Self {
            parents: Vec::new(),
            transfer: None,
            h: lattice.cell,
            slabs: Slabs::new(&layout, threads),
            gradients: Aligned::zeros(blocks * GRADIENT),
            materials: materials_of(&layout, lame),
            children: Children::default(),
            state: Aligned::zeros(blocks * BLOCK),
            volume,
            bulk: Aligned::zeros(if volume == VolumeLaw::Determinant { blocks * BULK } else { 0 }),
            moments: Aligned::default(),
            fibers: LaneFibers::default(),
            active: Aligned::default(),
            pulls: Aligned::default(),
            anchors: NodeAnchors::default(),
            holds: Aligned::default(),
            ties: LevelTies::default(),
            contacts: LevelTies::default(),
            corners: FirmCells::default(),
            inverse: zeros(),
            free: zeros(),
            x: zeros(),
            b: zeros(),
            out: zeros(),
            step: zeros(),
            largest: 0.0,
            sweeps: 0,
            band: None,
            visit: Visit::default(),
            layout,
        };
        // Lanes without a cell are cubes at rest with zero stiffness.
        for block in level.gradients.chunks_exact_mut(GRADIENT) {
            for i in 0..3 {
                block[4 * i * LANES..(4 * i + 1) * LANES].fill(1.0);
            }
        }
        level.layout.spread(&mut level.free, |node| fixed[node].map(|fixed| if fixed { 0.0 } else { 1.0 }));
        level
    }

    /// Reads node values from slots.
    pub fn gather(&self, values: &[f32], out: &mut [Vec3]) {
        self.layout.collect(values, out, |out, value| *out = Vec3::from(value.map(f64::from)));
    }

    /// Runs a pass over x, with b, D⁻¹ and out.
    pub fn pass(
        &mut self,
        modes: ModeStiffness,
        pass: impl for<'a> FnOnce(&'a [f32], &'a [f32], &'a mut [f32]) -> Pass<'a>,
    ) {
        let Self {
            layout,
            slabs,
            state,
            moments,
            pulls,
            bulk,
            anchors,
            ties,
            contacts,
            corners,
            x,
            b,
            inverse,
            out,
            ..
        } = self;
        let operator = Operator { layout, state, modes, moments, fibers: pulls, bulk, anchors: anchors.view() };
        ties.pull(layout, x, b);
        contacts.pull(layout, x, b);
        corners.pull(layout, x, b);
        slabs.run(operator, x, pass(b, inverse, out));
        corners.restore(layout, b);
        contacts.restore(layout, b);
        ties.restore(layout, b);
    }

    /// Sets F of each coarse cell to the stiffness-weighted mean over its finer cells (MCA-31).
    pub fn average_gradients(&mut self, finer: &Self) {
        let Self { layout, gradients, children, .. } = self;
        if children.offsets.is_empty() {
            *children = Children::new(layout, finer);
        }
        let Children { offsets, slots } = &*children;
        for_each_block_mut(&mut **gradients, AVERAGED * GRADIENT, |start, gradients: &mut [f32]| {
            let first = start / GRADIENT;
            for (k, block) in gradients.chunks_exact_mut(GRADIENT).enumerate() {
                for lane in 0..LANES {
                    let at = (first + k) * LANES + lane;
                    let (mut sum, mut total) = ([0.0; 9], 0.0);
                    for &slot in &slots[offsets[at] as usize..offsets[at + 1] as usize] {
                        let (from, from_lane) = (slot as usize / LANES, slot as usize % LANES);
                        let weight = finer.materials[from * MATERIAL + from_lane];
                        total += weight;
                        for (k, sum) in sum.iter_mut().enumerate() {
                            *sum += weight * finer.gradients[from * GRADIENT + k * LANES + from_lane];
                        }
                    }
                    for (k, sum) in sum.into_iter().enumerate() {
                        block[k * LANES + lane] =
                            if total > 0.0 { sum / total } else { f32::from(u8::from(k % 4 == 0)) };
                    }
                }
            }
        });
    }

    /// Adds fibers to the cells. The kernel with fibers also needs moments: cells without any count as full.
    pub fn lay_fibers(&mut self, fibers: &Fibers, modes: ModeStiffness) {
        self.fibers = LaneFibers::new(&self.layout, fibers);
        self.active = Aligned::zeros(self.layout.block_count() * LANES);
        self.pulls = Aligned::zeros(self.layout.block_count() * PULL);
        if self.moments.is_empty() {
            self.moments = moments::full(&self.layout, modes);
        }
    }

    /// Computes the fiber tangents at the current gradients.
    pub fn linearize_fibers(&mut self, kind: TangentKind, scale: f64) {
        let Self { fibers, active, pulls, gradients, h, .. } = self;
        if !fibers.is_empty() {
            linearize_pulls(PullOf { kind, h: *h, scale, rest: &fibers.rest, active }, gradients, pulls);
        }
    }

    /// Computes springs in place of fixed components, from the current tangent. A coarse node that moves free nodes but
    /// not the fixed ones among them feels the rows of K between the fixed ones, Σ_b K_ab. Fully fixed nodes use the
    /// mean of their components, which makes the result rotation invariant.
    pub fn find_holds(&mut self, modes: ModeStiffness) {
        let count = self.layout.node_count();
        let mut is_fixed = vec![[false; 3]; count];
        self.layout.collect(&self.free, &mut is_fixed, |fixed, free| *fixed = free.map(|free| free == 0.0));
        if is_fixed.iter().all(|fixed| *fixed == [false; 3]) {
            return;
        }
        let mut springs = vec![[0.0f32; 3]; count];
        let mut rows = vec![[0.0f32; 3]; count];
        for c in 0..3 {
            let Self { layout, slabs, state, moments, pulls, bulk, anchors, inverse, step, out, x, .. } = self;
            // D⁻¹ = −1 turns the step of a sweep into the product; the blocks A are not set yet.
            layout.spread(step, |node| [0, 1, 2].map(|k| if k == c && is_fixed[node][c] { 1.0 } else { 0.0 }));
            inverse.fill(-1.0);
            x.fill(0.0);
            out.fill(0.0);
            let operator = Operator { layout, state, modes, moments, fibers: pulls, bulk, anchors: anchors.view() };
            slabs.run(operator, step, Pass::Smooth { b: x, inverse, out, a: 0.0, c: 1.0 });
            layout.collect(out, &mut rows, |row, value| *row = value);
            for node in 0..count {
                springs[node][c] = if is_fixed[node][c] { rows[node][c].max(0.0) } else { 0.0 };
            }
        }
        for (spring, fixed) in springs.iter_mut().zip(&is_fixed) {
            if *fixed == [true; 3] {
                *spring = [(spring[0] + spring[1] + spring[2]) / 3.0; 3];
            }
        }
        self.holds = Aligned::zeros(self.layout.value_count());
        self.layout.spread(&mut self.holds, |node| springs[node]);
    }

    /// Restricts the terms added to K from the finer level: its blocks, and `scale` times the springs in place of fixed
    /// components.
    pub fn take_anchors(&mut self, finer: &mut Self, scale: f64) {
        let Self { layout, moments, fibers, anchors, free, .. } = self;
        let Self { layout: fine, anchors: finer_anchors, holds, transfer, out, .. } = finer;
        let least = match (fibers.is_empty(), moments.is_empty()) {
            (false, _) => NodalTermKind::Full,
            (true, false) => NodalTermKind::Diagonal,
            (true, true) => NodalTermKind::None,
        };
        if let Some(transfer) = transfer {
            anchors.restrict(transfer, fine, finer_anchors, (holds, scale as f32), out, layout, free, least);
        }
    }

    /// Computes D⁻¹, and a third of the trace of each diagonal block of K if `means` has room.
    pub fn invert_diagonal(&mut self, modes: ModeStiffness, means: &mut [f32]) {
        let Self { layout, state, moments, pulls, bulk, anchors, ties, contacts, corners, inverse, free, band, .. } =
            self;
        for_each_block_mut(&mut **inverse, SUM_BLOCK, |_, inverse: &mut [f32]| inverse.fill(0.0));
        add_diagonal(layout, state, modes, moments, pulls, bulk, inverse);
        layout.sum_seams(inverse);
        layout.collect(inverse, means, |mean, [x, y, z]| *mean = (x + y + z) / 3.0);
        ties.add_diagonal(layout, inverse);
        contacts.add_row_sums(layout, inverse);
        corners.add_row_sums(layout, inverse);
        anchors.invert(layout, free, inverse);
        if let Some(band) = band {
            band.take_inverse(inverse, anchors.view());
        }
    }

    /// Estimates the largest eigenvalue of D⁻¹(K + A), and sets the number of sweeps from it. Overwrites x and b. The
    /// first estimate takes more Lanczos steps; later tangents change it little.
    pub fn estimate_largest(&mut self, params: &MultigridParams) {
        let steps = if self.largest == 0.0 { LANCZOS_STEPS } else { NEXT_LANCZOS_STEPS };
        // Uniform noise in D^½ x, so that stiff nodes carry as much weight as soft ones.
        let noise = |node: usize, c: u32| {
            let seed = (3 * node as u32 + c).wrapping_mul(0x9E37_79B9);
            let seed = (seed ^ seed >> 15).wrapping_mul(0x85EB_CA6B);
            (seed >> 8) as f32 / (1 << 24) as f32 - 0.5
        };
        self.layout.spread(&mut self.b, |node| [0, 1, 2].map(|c| noise(node, c)));
        for_each_block_mut((&mut *self.b, &*self.inverse), SUM_BLOCK, |_, (b, inverse): (&mut [f32], &[f32])| {
            for (b, &inverse) in b.iter_mut().zip(inverse) {
                *b = if inverse > 0.0 { *b / inverse.sqrt() } else { 0.0 };
            }
        });
        let mut ritz = Ritz::default();
        let mut before = self.precondition_by_diagonal();
        self.x.copy_from_slice(&self.step);
        for _ in 0..steps {
            // With b for r: out = r − (K + A) p.
            self.pass(params.modes, |b, inverse, out| Pass::Residual { b, inverse, out });
            let Self { layout, x, b, out, .. } = self;
            let alpha = before / difference(layout, x, b, out);
            if !(alpha > 0.0 && alpha.is_finite()) {
                break;
            }
            let part = alpha as f32;
            for_each_block_mut((&mut **b, &**out), SUM_BLOCK, |_, (b, out): (&mut [f32], &[f32])| {
                b.iter_mut().zip(out).for_each(|(b, out)| *b += part * (out - *b));
            });
            let after = self.precondition_by_diagonal();
            let beta = after / before;
            ritz.push(alpha, beta);
            if !(after > 0.0 && after.is_finite()) {
                break;
            }
            before = after;
            let part = beta as f32;
            for_each_block_mut((&mut *self.x, &*self.step), SUM_BLOCK, |_, (x, step): (&mut [f32], &[f32])| {
                x.iter_mut().zip(step).for_each(|(x, step)| *x = part * *x + *step);
            });
        }
        self.take_largest((LARGEST_MARGIN * ritz.largest()).max(FADING * self.largest), params);
    }

    /// Sets the largest eigenvalue found in an earlier step, or 0.
    pub fn begin_step(&mut self, largest: f64) {
        self.largest = largest;
    }

    /// Raises the estimate of the largest eigenvalue.
    pub fn calm(&mut self, params: &MultigridParams) {
        self.take_largest(CALMING * self.largest, params);
    }

    fn take_largest(&mut self, largest: f64, params: &MultigridParams) {
        self.largest = largest;
        self.sweeps = match params.smoother {
            Smoother::Jacobi(_) => params.sweeps,
            Smoother::Chebyshev => (params.sweeps as f64 * (largest / USUAL_LARGEST).sqrt().max(1.0)).round() as usize,
        };
    }

    /// D⁻¹ b as the step; returns b · D⁻¹ b.
    fn precondition_by_diagonal(&mut self) -> f64 {
        let Self { layout, anchors, b, inverse, out, step, .. } = self;
        divide(layout, anchors.view(), b, inverse, 1.0, step, out);
        dot(layout, b, step)
    }

    /// The largest eigenvalue of D⁻¹(K + A), with a margin.
    pub fn largest(&self) -> f64 {
        self.largest
    }

    /// Factors a and c of sweep k, see [`Pass::Smooth`].
    fn factors(&self, smoother: Smoother, k: usize) -> (f64, f64) {
        match smoother {
            Smoother::Jacobi(omega) => (0.0, omega),
            Smoother::Chebyshev => {
                let k = k as f64;
                let a = if k == 0.0 { 0.0 } else { (2.0 * k - 1.0) / (2.0 * k + 3.0) };
                (a, (8.0 * k + 4.0) / ((2.0 * k + 3.0) * self.largest))
            }
        }
    }

    pub fn smooth(&mut self, params: &MultigridParams, guess: Guess) {
        for k in 0..self.sweeps {
            let (a, c) = self.factors(params.smoother, k);
            if k == 0 && guess == Guess::Zero {
                self.first_sweep(c as f32);
            } else {
                self.pass(params.modes, |b, inverse, out| Pass::Smooth { b, inverse, out, a, c });
            }
        }
    }

    /// Runs the sweeps over the band. The largest eigenvalue of a part is at most that of the whole, so the same
    /// factors apply.
    pub fn smooth_band(&mut self, params: &MultigridParams) {
        for k in 0..params.band_sweeps {
            let smoother = match params.smoother {
                Smoother::Jacobi(omega) => Smoother::Jacobi(BAND_DAMPING * omega),
                Smoother::Chebyshev => Smoother::Chebyshev,
            };
            let (a, c) = self.factors(smoother, k);
            let Self { layout, band, state, moments, pulls, bulk, anchors, ties, contacts, corners, x, b, out, .. } =
                self;
            let Some(band) = band else { return };
            let anchors = anchors.view();
            let operator = Operator { layout, state, modes: params.modes, moments, fibers: pulls, bulk, anchors };
            ties.pull(layout, x, b);
            contacts.pull(layout, x, b);
            corners.pull(layout, x, b);
            band.smooth(operator, x, b, out, [a, c]);
            corners.restore(layout, b);
            contacts.restore(layout, b);
            ties.restore(layout, b);
        }
    }

    /// A sweep from x = 0, where (K + A) x vanishes: x = out = c D⁻¹ b.
    fn first_sweep(&mut self, c: f32) {
        let Self { layout, anchors, x, out, b, inverse, .. } = self;
        divide(layout, anchors.view(), b, inverse, c, x, out);
    }
}

/// x = out = c D⁻¹ b.
fn divide(
    layout: &Layout,
    anchors: NodalTerms<'_>,
    b: &[f32],
    inverse: &[f32],
    c: f32,
    x: &mut [f32],
    out: &mut [f32],
) {
    if let NodalTerms::Full(blocks) = anchors {
        split_planes(layout, 0..layout.plane_count(), (x, out), &|plane, (x, out): (&mut [f32], &mut [f32])| {
            let range = layout.plane(plane);
            let (b, inverse) = (&b[range.clone()], &inverse[range.clone()]);
            let cross = &blocks.inverse_cross[range];
            layout.for_each_slot(plane, |at| {
                let step =
                    NodalTerms::solve_block(at.map(|at| inverse[at]), at.map(|at| cross[at]), at.map(|at| b[at]));
                for k in 0..3 {
                    out[at[k]] = c * step[k];
                    x[at[k]] = out[at[k]];
                }
            });
        });
    } else {
        let parts = (x, out, b, inverse);
        for_each_block_mut(parts, SUM_BLOCK, |_, (x, out, b, inverse): (&mut [f32], &mut [f32], &[f32], &[f32])| {
            for (((x, out), b), inverse) in x.iter_mut().zip(out.iter_mut()).zip(b).zip(inverse) {
                *out = c * inverse * b;
                *x = *out;
            }
        });
    }
}

/// μ and λ of cells in the lanes of their blocks; zero in lanes without a cell.
pub(crate) fn materials_of(layout: &Layout, lame: &[[f64; 2]]) -> Aligned {
    let mut materials = Aligned::zeros(layout.block_count() * MATERIAL);
    for (cell, lame) in lame.iter().enumerate() {
        let (block, lane) = layout.cell_slot(cell);
        for (k, &value) in lame.iter().enumerate() {
            materials[block * MATERIAL + k * LANES + lane] = value as f32;
        }
    }
    materials
}
