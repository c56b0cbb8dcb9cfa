//! A hierarchy of lattices, and the V-cycle on it (MCA-29..35, Algorithm 2).

use sinew_math::Vec3;

use crate::aligned::Aligned;
use crate::dense::DenseFactor;
use crate::kernel::{BLOCK, ModeStiffness, STATE};
use crate::layout::{Cell, LANES, Layout};
use crate::pass::{Pass, Slabs};
use crate::tangent::{GRADIENT, MATERIAL, TangentKind, add_diagonal, gradients_of, linearize};
use crate::transfer::{prolong, restrict};

/// Power iterations for the largest eigenvalue of D⁻¹K: from nothing, and from that of the tangent before.
const FIRST_POWERS: usize = 30;
const NEXT_POWERS: usize = 6;
/// Margin over the estimate, which comes from below.
const POWER_MARGIN: f64 = 1.05;

/// Nodes of a level that a dense factor can take: 70 MB.
const MOST_COARSE_NODES: usize = 1000;

/// Cells of a level, and the cell of the next coarser level that each belongs to (none on the coarsest).
#[derive(Clone, Debug)]
pub struct LevelCells {
    /// Size of the box in cubes.
    pub cubes: [usize; 3],
    /// The cells.
    pub cells: Vec<Cell>,
    /// How many nodes they have.
    pub node_count: usize,
    /// Coarse cell of each cell.
    pub parents: Vec<u32>,
}

impl LevelCells {
    /// A full box.
    pub fn dense(cubes: [usize; 3]) -> Self {
        let node = |[x, y, z]: [usize; 3]| ((z * (cubes[1] + 1) + y) * (cubes[0] + 1) + x) as u32;
        let mut cells = Vec::with_capacity(cubes.iter().product());
        for z in 0..cubes[2] {
            for y in 0..cubes[1] {
                for x in 0..cubes[0] {
                    let nodes = std::array::from_fn(|k| node([x + (k & 1), y + (k >> 1 & 1), z + (k >> 2)]));
                    cells.push(Cell { place: [x as u32, y as u32, z as u32], nodes });
                }
            }
        }
        Self { cubes, cells, node_count: cubes.iter().map(|n| n + 1).product(), parents: Vec::new() }
    }

    /// The cells of a box at which a shape is, with their own numbers of nodes.
    pub fn carved(cubes: [usize; 3], is_inside: impl Fn([usize; 3]) -> bool) -> Self {
        let mut level = Self::dense(cubes);
        level.cells.retain(|cell| is_inside(cell.place.map(|p| p as usize)));
        let mut numbers = vec![u32::MAX; level.node_count];
        level.node_count = 0;
        for node in level.cells.iter_mut().flat_map(|cell| &mut cell.nodes) {
            let number = &mut numbers[*node as usize];
            if *number == u32::MAX {
                *number = level.node_count as u32;
                level.node_count += 1;
            }
            *node = *number;
        }
        level
    }

    /// Cubes of twice the size, one wherever there is a cell; remembers them as parents.
    pub fn coarsen(&mut self) -> Self {
        let cubes = self.cubes.map(|n| n.div_ceil(2));
        let key = |[x, y, z]: [usize; 3]| (z * cubes[1] + y) * cubes[0] + x;
        let mut occupied = vec![false; cubes.iter().product()];
        for cell in &self.cells {
            occupied[key(cell.place.map(|p| p as usize / 2))] = true;
        }
        let coarse = Self::carved(cubes, |place| occupied[key(place)]);
        let mut numbers = vec![u32::MAX; occupied.len()];
        for (index, cell) in coarse.cells.iter().enumerate() {
            numbers[key(cell.place.map(|p| p as usize))] = index as u32;
        }
        self.parents = self.cells.iter().map(|cell| numbers[key(cell.place.map(|p| p as usize / 2))]).collect();
        coarse
    }
}

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
    /// Sweeps before and after each visit of the coarser level.
    pub sweeps: usize,
    /// What a sweep is.
    pub smoother: Smoother,
    /// Stiffness of the bilinear and trilinear modes.
    pub modes: ModeStiffness,
    /// The tangent.
    pub tangent: TangentKind,
    /// Cells along the longest side at which coarsening ends.
    pub coarsest: usize,
    /// Threads; 0 for all of the pool.
    pub threads: usize,
}

impl Default for MultigridParams {
    /// Five sweeps of Chebyshev do what ten of Jacobi do; down to 4 cells.
    fn default() -> Self {
        Self {
            sweeps: 5,
            smoother: Smoother::Chebyshev,
            modes: ModeStiffness::EXACT,
            tangent: TangentKind::Definite,
            coarsest: 4,
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
    parents: Vec<u32>,
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
}

/// A linear system on a lattice, with its coarser versions.
#[derive(Clone, Debug)]
pub struct Multigrid {
    pub(crate) params: MultigridParams,
    pub(crate) levels: Vec<Level>,
    factor: DenseFactor,
    coarse_solution: Vec<f64>,
}

impl Multigrid {
    /// A hierarchy over the cells of the finest level: cubes of edge `h` [m], with μ and λ of each cell [Pa], and the components of nodes that do not move.
    pub fn new(cells: LevelCells, h: f64, lame: &[[f64; 2]], fixed: &[[bool; 3]], params: MultigridParams) -> Self {
        let threads = if params.threads == 0 { rayon::current_num_threads() } else { params.threads };
        let mut levels: Vec<Level> = Vec::new();
        let (mut cells, mut lame, mut fixed, mut h) = (cells, lame.to_vec(), fixed.to_vec(), h);
        loop {
            let longest = cells.cubes.into_iter().max().unwrap_or(0);
            let coarse = (longest > params.coarsest).then(|| cells.coarsen());
            let level = Level::new(&cells, h, &lame, &fixed, threads);
            levels.push(level);
            let Some(coarse) = coarse else { break };
            let mut coarse_lame = vec![[0.0; 2]; coarse.cells.len()];
            for (fine, &parent) in lame.iter().zip(&cells.parents) {
                for k in 0..2 {
                    coarse_lame[parent as usize][k] += 0.125 * fine[k];
                }
            }
            fixed = coarse_fixed(&cells, &fixed, &coarse);
            (cells, lame, h) = (coarse, coarse_lame, 2.0 * h);
        }
        let mut multigrid = Self { params, levels, factor: DenseFactor::default(), coarse_solution: Vec::new() };
        multigrid.relinearize(FIRST_POWERS);
        multigrid
    }

    /// As [`Multigrid::new`], for products only.
    #[cfg(test)]
    pub(crate) fn without_factor(
        cells: LevelCells,
        h: f64,
        lame: &[[f64; 2]],
        fixed: &[[bool; 3]],
        params: MultigridParams,
    ) -> Self {
        let level = Level::new(&cells, h, lame, fixed, rayon::current_num_threads());
        Self { params, levels: vec![level], factor: DenseFactor::default(), coarse_solution: Vec::new() }
    }

    /// The tangent at these displacements of the nodes [m].
    pub fn linearize(&mut self, displacements: &[Vec3]) {
        let fine = &mut self.levels[0];
        fine.scatter(displacements, Field::X);
        gradients_of(&fine.layout, fine.h, &fine.x, &mut fine.gradients);
        fine.x.fill(0.0);
        for k in 1..self.levels.len() {
            let (finer, coarser) = self.levels.split_at_mut(k);
            coarser[0].average_gradients(&finer[k - 1]);
        }
        self.relinearize(NEXT_POWERS);
    }

    /// Tangents, diagonals and factor from gradients.
    fn relinearize(&mut self, powers: usize) {
        let Self { params, levels, .. } = self;
        for level in levels.iter_mut() {
            linearize(params.tangent, level.h, &level.gradients, &level.materials, &mut level.state);
            level.invert_diagonal(params.modes);
            level.estimate_largest(params.modes, powers);
        }
        let coarsest = levels.last_mut().expect("there is a level");
        if coarsest.layout.node_count() > MOST_COARSE_NODES {
            return;
        }
        self.factor = coarsest.factorize(params.modes);
        self.coarse_solution.resize(3 * coarsest.layout.node_count(), 0.0);
    }

    /// Number of levels.
    pub fn level_count(&self) -> usize {
        self.levels.len()
    }

    /// Slots of the finest level.
    pub fn layout(&self) -> &Layout {
        &self.levels[0].layout
    }

    /// Largest eigenvalue of D⁻¹K on each level, with its margin.
    pub fn largest_eigenvalues(&self) -> Vec<f64> {
        self.levels.iter().map(|level| level.largest).collect()
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
            values += (2 * self.params.sweeps + 1) as f64 * pass + restrict + prolong;
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
    pub fn diagonal(&self) -> Vec<Vec3> {
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
        restrict(&fine.layout, &fine.out, &coarse.layout, &mut coarse.b);
        self.descend(k + 1, Guess::Zero);
        let (finer, coarser) = self.levels.split_at_mut(k + 1);
        let (fine, coarse) = (&mut finer[k], &coarser[0]);
        prolong(&coarse.layout, &coarse.x, &fine.layout, &fine.inverse, &mut fine.x);
        fine.smooth(&params, Guess::Kept);
    }

    fn solve_coarsest(&mut self, guess: Guess) {
        let level = self.levels.last_mut().expect("there is a level");
        if guess == Guess::Kept {
            level.pass(self.params.modes, |b, inverse, out| Pass::Residual { b, inverse, out });
        } else {
            let Level { out, b, free, .. } = &mut *level;
            for ((out, b), free) in out.iter_mut().zip(&**b).zip(&**free) {
                *out = b * free;
            }
            level.x.fill(0.0);
        }
        for node in 0..level.layout.node_count() {
            let slot = level.layout.slots(node)[0];
            for c in 0..3 {
                self.coarse_solution[3 * node + c] = f64::from(level.out[(slot.at + c as u32 * slot.stride) as usize]);
            }
        }
        self.factor.solve(&mut self.coarse_solution);
        for node in 0..level.layout.node_count() {
            for slot in level.layout.slots(node) {
                for c in 0..3 {
                    let at = (slot.at + c as u32 * slot.stride) as usize;
                    level.x[at] += self.coarse_solution[3 * node + c] as f32 * level.free[at];
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
    fn new(cells: &LevelCells, h: f64, lame: &[[f64; 2]], fixed: &[[bool; 3]], threads: usize) -> Self {
        let layout = Layout::new(cells.cubes, &cells.cells, cells.node_count);
        let (values, blocks) = (layout.value_count(), layout.block_count());
        let zeros = || Aligned::zeros(values);
        let mut level = Self {
            parents: cells.parents.clone(),
            h,
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

    fn factorize(&mut self, modes: ModeStiffness) -> DenseFactor {
        let nodes = self.layout.node_count();
        let size = 3 * nodes;
        let mut rows = vec![0.0; size * size];
        let mut unit = vec![Vec3::zero(); nodes];
        let mut column = vec![Vec3::zero(); nodes];
        for j in 0..size {
            unit[j / 3][j % 3] = 1.0;
            self.scatter(&unit, Field::X);
            unit[j / 3][j % 3] = 0.0;
            self.pass(modes, |_, _, out| Pass::Apply { out });
            self.gather(&self.out, &mut column);
            for i in 0..size {
                rows[i * size + j] = column[i / 3][i % 3];
            }
        }
        self.x.fill(0.0);
        // What is fixed moves with nobody.
        let mut free = vec![Vec3::zero(); nodes];
        self.gather(&self.free, &mut free);
        for i in 0..size {
            for j in 0..size {
                if free[i / 3][i % 3] == 0.0 || free[j / 3][j % 3] == 0.0 {
                    rows[i * size + j] = 0.0;
                }
            }
        }
        DenseFactor::new(size, rows)
    }

    fn smooth(&mut self, params: &MultigridParams, guess: Guess) {
        for k in 0..params.sweeps {
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
fn coarse_fixed(fine: &LevelCells, fixed: &[[bool; 3]], coarse: &LevelCells) -> Vec<[bool; 3]> {
    let mut coarse_fixed = vec![[false; 3]; coarse.node_count];
    for (cell, &parent) in fine.cells.iter().zip(&fine.parents) {
        for k in 0..8 {
            let place: [u32; 3] = std::array::from_fn(|axis| cell.place[axis] + (k >> axis & 1) as u32);
            if place.iter().all(|p| p % 2 == 0) {
                let parent = &coarse.cells[parent as usize];
                let corner =
                    (0..3).map(|axis| ((place[axis] / 2 - parent.place[axis]) as usize) << axis).sum::<usize>();
                coarse_fixed[parent.nodes[corner] as usize] = fixed[cell.nodes[k] as usize];
            }
        }
    }
    coarse_fixed
}
