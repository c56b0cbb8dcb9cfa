//! Two-level additive preconditioner: block Jacobi on the mesh plus a solve on the coarse grid.
//!
//! ```math
//! M^{-1} = D^{-1} + P\,(P^T A P)^{-1} P^T
//! ```
//!
//! Jacobi removes errors that vary from node to node, the grid removes smooth ones, so the number of conjugate-gradient
//! iterations does not grow with the mesh \[Bramble90\]. A large grid is treated like a mesh in turn: its diagonal
//! blocks plus a grid around it. The grid matrix may be out of date: that only costs iterations.

use super::couplings::{CoupledGrid, Coupling};
use super::transfer::TransferScratch;
use super::{CoarseGrid, CoarseMatrix, narrow};
use crate::cholesky::{Cholesky, CholeskyError, SymbolicCholesky};
use crate::krylov::{BlockJacobi, Preconditioner, dot_block};
use crate::parallel::{for_each_block_mut, sum_blocks_mut};
use crate::sparse::{BlockCsr, BlockPattern};
use crate::{Mat3, Real, Vec3, parallel};

/// Layout of the grids.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoarseGridParams {
    /// Width of a grid cell in mesh node spacings.
    pub ratio: f64,
    /// Largest grid solved directly by Cholesky factorization; a larger one gets a coarser grid around it.
    pub direct_nodes: usize,
    /// A larger grid is solved directly, too, if its factor has at most this many entries: grids of sheets.
    pub direct_entries: usize,
}

impl Default for CoarseGridParams {
    fn default() -> Self {
        Self { ratio: 4.2, direct_nodes: 1200, direct_entries: 1_500_000 }
    }
}

/// Cell width of a nested grid, in cells of the finer grid.
const NESTED_RATIO: f64 = 3.0;
/// Multiple of `direct_nodes` up to which the factor of a grid is tried.
const TRIED: usize = 4;
/// Initial diagonal shifts relative to the mean diagonal: about the rounding error of the entries in f32, negligible in
/// f64.
const NARROW_SHIFT: f64 = 1e-7;
const WIDE_SHIFT: f64 = 1e-9;
/// First shift that makes a singular grid matrix definite, relative to its mean diagonal, and its growth factor.
const FIRST_SHIFT: f64 = 1e-7;
const SHIFT_GROWTH: f64 = 100.0;
/// Grid nodes per parallel block of the restriction: about ten microseconds.
const GRID_BLOCK: usize = 64;

struct Level {
    coarse_grid: CoarseGrid,
    matrix: CoarseMatrix,
    /// Inverse diagonal blocks; used where a coarser level follows.
    jacobi: BlockJacobi<f32>,
    /// All 1: grid nodes are never prescribed.
    free: Vec<Vec3<f32>>,
    residual: Vec<Vec3<f32>>,
    correction: Vec<Vec3<f32>>,
    transfer: TransferScratch,
}

/// The preconditioner; see the [module](super).
pub struct CoarseGridPreconditioner {
    jacobi: BlockJacobi<f32>,
    /// 1 for free components, 0 for prescribed ones.
    free: Vec<Vec3<f32>>,
    levels: Vec<Level>,
    coarsest: Option<Coarsest>,
    coupled: CoupledGrid,
    /// Whether the grid matrix has couplings.
    is_coupled: bool,
    has_grid: bool,
}

/// The solve on the coarsest grid: in f32, which is twice as fast, unless only f64 finds the matrix definite.
pub(super) struct Coarsest {
    narrow: Cholesky<f32>,
    narrow_matrix: BlockCsr<f32>,
    wide: Cholesky<f64>,
    wide_matrix: BlockCsr<f64>,
    is_wide: bool,
    solution: Vec<Vec3>,
}

impl Coarsest {
    pub fn new(pattern: &std::sync::Arc<BlockPattern>) -> Option<Self> {
        let symbolic = SymbolicCholesky::new(pattern).ok()?;
        Some(Self {
            narrow: symbolic.prepare().ok()?,
            narrow_matrix: BlockCsr::zeros(pattern.clone()),
            wide: symbolic.prepare().ok()?,
            wide_matrix: BlockCsr::zeros(pattern.clone()),
            is_wide: false,
            solution: vec![Vec3::zero(); pattern.node_count()],
        })
    }

    pub fn factor(&mut self, matrix: &BlockCsr<f32>, is_definite: bool) -> Result<(), CholeskyError> {
        let count = matrix.node_count().max(1) as f64;
        let mean = matrix.diagonal_blocks().map(|block| f64::from(block.trace().abs()) / 3.0).sum::<f64>() / count;
        self.narrow_matrix.copy_from(matrix);
        shift_diagonal(&mut self.narrow_matrix, NARROW_SHIFT * mean);
        self.is_wide = self.narrow.refactor(&self.narrow_matrix).is_err();
        if !self.is_wide {
            return Ok(());
        }
        self.wide_matrix.copy_from(matrix);
        // Far below the f32 rounding error of the entries, yet enough for grid nodes without stiffness.
        shift_diagonal(&mut self.wide_matrix, WIDE_SHIFT * mean);
        let mut shift = FIRST_SHIFT;
        loop {
            match self.wide.refactor(&self.wide_matrix) {
                Ok(()) => return Ok(()),
                Err(error) if !is_definite || shift > 1.0 => return Err(error),
                Err(_) => shift_diagonal(&mut self.wide_matrix, shift * mean),
            }
            shift *= SHIFT_GROWTH;
        }
    }

    pub fn solve(&mut self, residual: &[Vec3<f32>], correction: &mut [Vec3<f32>]) {
        let solved = if self.is_wide {
            for (wide, &r) in self.solution.iter_mut().zip(residual) {
                *wide = r.to_f64();
            }
            let solved = self.wide.solve_in_place(&mut self.solution);
            for (c, &wide) in correction.iter_mut().zip(&self.solution) {
                *c = narrow(wide);
            }
            solved
        } else {
            correction.copy_from_slice(residual);
            self.narrow.solve_in_place(correction)
        };
        debug_assert!(solved.is_ok(), "the coarse grid must be factored: {solved:?}");
    }
}

impl CoarseGridPreconditioner {
    /// Builds the grids of a mesh from the rest `positions` of its nodes, the `pattern` of its matrix and the
    /// prescribed components of each node. Nodes with `takes_part` false get block Jacobi only.
    pub fn new(
        positions: &[Vec3],
        pattern: &BlockPattern,
        params: &CoarseGridParams,
        fixed: impl Fn(usize) -> [bool; 3],
        takes_part: impl Fn(usize) -> bool,
    ) -> Self {
        let free: Vec<Vec3<f32>> = (0..positions.len())
            .map(|node| {
                let [x, y, z] = fixed(node).map(|fixed| if fixed { 0.0 } else { 1.0 });
                Vec3::new(x, y, z)
            })
            .collect();
        let mut levels: Vec<Level> = Vec::new();
        let first =
            CoarseGrid::new(positions, pattern, params.ratio, |node| takes_part(node) && fixed(node) != [true; 3]);
        let mut next = first;
        while let Some(coarse_grid) = next.take() {
            let nodes = coarse_grid.node_count();
            if nodes > params.direct_nodes && !has_small_factor(&coarse_grid, params) {
                // Stop when a coarser grid would not be much smaller.
                next = CoarseGrid::new(coarse_grid.positions(), coarse_grid.pattern(), NESTED_RATIO, |_| true)
                    .filter(|outer| outer.node_count() * 2 < nodes);
            }
            levels.push(Level {
                matrix: CoarseMatrix::new(&coarse_grid),
                jacobi: BlockJacobi::default(),
                free: vec![Vec3::splat(1.0); nodes],
                residual: vec![Vec3::zero(); nodes],
                correction: vec![Vec3::zero(); nodes],
                transfer: TransferScratch::new(&coarse_grid),
                coarse_grid,
            });
        }
        let coarsest = levels.last().and_then(|last| Coarsest::new(last.coarse_grid.pattern()));
        let coupled = CoupledGrid::new();
        Self { jacobi: BlockJacobi::default(), free, levels, coarsest, coupled, is_coupled: false, has_grid: false }
    }

    /// Number of grid nodes per level, from fine to coarse.
    pub fn grid_nodes(&self) -> impl Iterator<Item = usize> {
        self.levels.iter().map(|level| level.coarse_grid.node_count())
    }

    /// Inverts the diagonal blocks of `matrix`; returns the first node whose block is not positive definite.
    pub fn update_diagonal(&mut self, matrix: &BlockCsr<f32>) -> Option<usize> {
        self.jacobi.update(matrix).first_indefinite
    }

    /// Whether a grid is factored.
    pub fn has_grid(&self) -> bool {
        self.has_grid
    }

    /// Discards the grid matrix: until the next [`update_grid`](Self::update_grid), only the Jacobi part is applied.
    pub fn forget_grid(&mut self) {
        self.has_grid = false;
    }

    /// Computes the grid matrices from the blocks of `matrix` on and below the diagonal, and factors the coarsest.
    ///
    /// A nonpositive pivot shows that the matrix is not positive definite. With `is_definite` it can only come from
    /// rounding (a grid node with hardly any weight), and the diagonal is raised until the factorization succeeds.
    ///
    /// # Errors
    /// [`CholeskyError::NotPositiveDefinite`] when the matrix is not, and `is_definite` is false.
    pub fn update_grid(&mut self, matrix: &BlockCsr<f32>, is_definite: bool) -> Result<(), CholeskyError> {
        self.update_coupled_grid(matrix, std::iter::empty(), is_definite)
    }

    /// Like [`update_grid`](Self::update_grid), with couplings beside the pattern of the matrix. Nested grids do not
    /// know them.
    ///
    /// # Errors
    /// [`CholeskyError::NotPositiveDefinite`] when the sum is not, and `is_definite` is false.
    pub fn update_coupled_grid(
        &mut self,
        matrix: &BlockCsr<f32>,
        couplings: impl Iterator<Item = Coupling>,
        is_definite: bool,
    ) -> Result<(), CholeskyError> {
        self.has_grid = false;
        self.is_coupled = false;
        let Some(coarsest) = &mut self.coarsest else { return Ok(()) };
        for k in 0..self.levels.len() {
            let (done, rest) = self.levels.split_at_mut(k);
            let (source, free) = match done.last() {
                None => (matrix, &self.free),
                Some(level) => (level.matrix.matrix(), &level.free),
            };
            rest[0].matrix.update(&rest[0].coarse_grid, source, free);
            if rest.len() > 1 {
                rest[0].jacobi.update(rest[0].matrix.matrix());
            }
        }
        let Some(last) = self.levels.last() else { return Ok(()) };
        if let [only] = &self.levels[..]
            && self.coupled.collect(&only.coarse_grid, &self.free, couplings)
        {
            self.coupled.factor(&only.coarse_grid, &only.matrix, is_definite)?;
            self.is_coupled = true;
        } else {
            coarsest.factor(last.matrix.matrix(), is_definite)?;
        }
        self.has_grid = true;
        Ok(())
    }

    /// Solves on the grids: from `residual` of the first level to its `correction`.
    fn solve_grids(&mut self) {
        let count = self.levels.len();
        for k in 1..count {
            let (inner, outer) = self.levels.split_at_mut(k);
            let Level { coarse_grid, residual, transfer, .. } = &mut outer[0];
            coarse_grid.restrict(&inner[k - 1].residual, residual, transfer);
        }
        let last = &mut self.levels[count - 1];
        if self.is_coupled {
            self.coupled.solve(&last.residual, &mut last.correction);
        } else if let Some(coarsest) = &mut self.coarsest {
            coarsest.solve(&last.residual, &mut last.correction);
        }
        for k in (1..count).rev() {
            let (inner, outer) = self.levels.split_at_mut(k);
            let Level { jacobi, residual, correction, .. } = &mut inner[k - 1];
            let Level { coarse_grid, correction: coarse, transfer, .. } = &mut outer[0];
            coarse_grid.interpolate(coarse, transfer);
            let (coarse_grid, transfer) = (&*coarse_grid, &*transfer);
            let inverses = jacobi.inverse_blocks();
            for_each_block_mut((&mut correction[..], &residual[..]), GRID_BLOCK, |start, (c, r)| {
                for i in 0..c.len() {
                    c[i] = inverses[start + i] * r[i] + transfer.at(coarse_grid, start + i);
                }
            });
        }
    }

    /// z = P (PᵀAP)⁻¹ Pᵀ r alone, for methods with another smoother.
    pub fn correct(&mut self, r: &[Vec3<f32>], z: &mut [Vec3<f32>]) {
        if !self.has_grid {
            z.fill(Vec3::zero());
            return;
        }
        let Level { coarse_grid, residual, transfer, .. } = &mut self.levels[0];
        coarse_grid.restrict(r, residual, transfer);
        self.solve_grids();
        let Level { coarse_grid, correction, transfer, .. } = &mut self.levels[0];
        coarse_grid.interpolate(correction, transfer);
        let (coarse_grid, transfer) = (&*coarse_grid, &*transfer);
        for_each_block_mut((z, &self.free[..]), parallel::SUM_BLOCK, |start, (z, free)| {
            for i in 0..z.len() {
                z[i] = transfer.at(coarse_grid, start + i).component_mul(free[i]);
            }
        });
    }

    /// The inverse diagonal blocks.
    pub fn diagonal_inverses(&self) -> &BlockJacobi<f32> {
        &self.jacobi
    }
}

/// Whether a grid has more nodes than are usually solved directly, but the factor of a sheet.
fn has_small_factor(grid: &CoarseGrid, params: &CoarseGridParams) -> bool {
    grid.node_count() <= TRIED * params.direct_nodes
        && SymbolicCholesky::new(grid.pattern())
            .is_ok_and(|symbolic| symbolic.factor_entry_count() <= params.direct_entries)
}

fn shift_diagonal<S: Real>(matrix: &mut BlockCsr<S>, shift: f64) {
    for node in 0..matrix.node_count() {
        matrix.add_diagonal(node, &(Mat3::identity() * S::from_f64(shift)));
    }
}

impl Preconditioner<f32> for CoarseGridPreconditioner {
    fn apply(&mut self, r: &[Vec3<f32>], z: &mut [Vec3<f32>]) {
        self.apply_dot(r, z);
    }

    fn apply_dot(&mut self, r: &[Vec3<f32>], z: &mut [Vec3<f32>]) -> f64 {
        if !self.has_grid {
            return self.jacobi.apply_dot(r, z);
        }
        let Level { coarse_grid, residual, transfer, .. } = &mut self.levels[0];
        coarse_grid.restrict(r, residual, transfer);
        self.solve_grids();
        let inverses = self.jacobi.inverse_blocks();
        let Level { coarse_grid, correction, transfer, .. } = &mut self.levels[0];
        coarse_grid.interpolate(correction, transfer);
        let (coarse_grid, transfer) = (&*coarse_grid, &*transfer);
        sum_blocks_mut((r, z, &self.free[..]), |start, (r, z, free)| {
            for i in 0..z.len() {
                let smooth = transfer.at(coarse_grid, start + i);
                z[i] = inverses[start + i] * r[i] + smooth.component_mul(free[i]);
            }
            dot_block(r, z)
        })
    }
}
