//! Nonlinear multigrid: the full approximation scheme (MCA-37, Algorithm 3), with a line search on every level
//! (MCA-38).
//!
//! Each level solves f(F₀ + G u) + A u = f(F₀) + b for a correction u. F₀ is the deformation on entry to the level, b
//! the residual, and A the blocks added to K. Smoothing relinearizes every few sweeps. The coarser level starts from
//! the mean deformation and the restricted residual, and its u is added. Unlike in a linear cycle, rotations update on
//! every level, so a limb that must turn by 90 degrees does so on the coarsest one.
//!
//! The line search finds where the force along a step vanishes, by the secant method. This needs no energies, and
//! coarse levels know only energy differences.
//!
//! Averaging rotated gradients shortens them, and a coarse cell that appears compressed buckles. So coarse levels start
//! from deformations without compression.

use sinew_math::Vec3;
use sinew_math::cholesky::CholeskyError;
use sinew_math::parallel::{SUM_BLOCK, for_each_block_mut};

use crate::aligned::Aligned;
use crate::level::{Guess, Level};
use crate::multigrid::{Multigrid, MultigridParams};
use crate::nonlinear::{Cells, decompress, forces, gradients_of};
use crate::pass::Operator;
use crate::solve::dot;
use crate::tangent::{Role, TangentKind, TangentOf, linearize};

/// Linearizations per smoothing.
const ROUNDS: usize = 4;
/// Newton iterations on the coarsest level, and the relative residual that ends them.
const MAX_COARSEST: usize = 12;
const COARSEST_GOAL: f64 = 1e-2;
/// Largest fraction of the force along a step that may remain, in either direction; and the longest extension of a
/// step.
const MAX_BACK: f64 = 0.5;
const MAX_AHEAD: f64 = 0.5;
const FURTHEST: f64 = 3.0;

/// Data that nonlinear cycles keep for a level.
#[derive(Clone, Debug, Default)]
pub(crate) struct Visit {
    /// Deformation gradients on entry to the level.
    offsets: Aligned,
    /// Correction so far.
    total: Aligned,
    /// f(F₀) + b.
    target: Aligned,
}

impl Level {
    /// Inputs of its forces.
    pub fn cells(&self, params: &MultigridParams, scale: f64) -> Cells<'_> {
        let Self { layout, h, moments, fibers, active, volume, .. } = self;
        Cells { layout, h: *h, modes: params.modes, moments, fibers: &fibers.rest, active, volume: *volume, scale }
    }

    /// Updates rotations and tangent to the current gradients.
    fn follow(&mut self, scale: f64) {
        let Self { h, volume, materials, gradients, state, bulk, .. } = self;
        let kind = TangentKind::Definite;
        let of = TangentOf { kind, h: *h, scale, materials, volume: *volume, role: Role::Cycle };
        linearize(of, gradients, state, &mut [], bulk);
        self.linearize_fibers(TangentKind::Definite, scale);
    }

    /// Begins a correction for the residual in b, from the current gradients and rotations.
    fn enter(&mut self, params: &MultigridParams, scale: f64) {
        let mut visit = std::mem::take(&mut self.visit);
        if visit.offsets.is_empty() {
            visit.offsets = Aligned::zeros(self.gradients.len());
            visit.total = Aligned::zeros(self.x.len());
            visit.target = Aligned::zeros(self.x.len());
        }
        visit.offsets.copy_from_slice(&self.gradients);
        visit.total.fill(0.0);
        let mut out = std::mem::take(&mut self.out);
        forces(self.cells(params, scale), &self.state, &self.gradients, &visit.total, &mut out);
        self.layout.sum_seams(&mut out);
        for_each_block_mut(
            (&mut *visit.target, &*self.b, &*out),
            SUM_BLOCK,
            |_, (target, b, out): (&mut [f32], &[f32], &[f32])| {
                for ((target, b), out) in target.iter_mut().zip(b).zip(out) {
                    *target = b + out;
                }
            },
        );
        self.out = out;
        self.visit = visit;
    }

    /// b = f(F₀) + b₀ − f(F₀ + G u) − A u.
    fn find_residual(&mut self, params: &MultigridParams, scale: f64) {
        let mut visit = std::mem::take(&mut self.visit);
        let mut out = std::mem::take(&mut self.out);
        forces(self.cells(params, scale), &self.state, &self.gradients, &visit.total, &mut out);
        self.anchors.add_product(&self.layout, &visit.total, &mut out);
        self.layout.sum_seams(&mut out);
        self.ties.pull(&self.layout, &visit.total, &mut visit.target);
        let parts = (&mut *self.b, &*visit.target, &*out, &*self.free);
        for_each_block_mut(parts, SUM_BLOCK, |_, (b, target, out, free): (&mut [f32], &[f32], &[f32], &[f32])| {
            for (((b, target), out), free) in b.iter_mut().zip(target).zip(out).zip(free) {
                *b = free * (target - out);
            }
        });
        self.ties.restore(&self.layout, &mut visit.target);
        self.out = out;
        self.visit = visit;
    }

    /// Moves by `factor` times x, and updates everything that depends on it.
    fn move_by(&mut self, params: &MultigridParams, factor: f64, scale: f64) {
        let factor = factor as f32;
        for_each_block_mut((&mut *self.visit.total, &*self.x), SUM_BLOCK, |_, (total, x): (&mut [f32], &[f32])| {
            total.iter_mut().zip(x).for_each(|(total, x)| *total += factor * x);
        });
        let mut gradients = std::mem::take(&mut self.gradients);
        gradients_of(self.cells(params, scale), &self.visit.offsets, &self.visit.total, &mut gradients);
        self.gradients = gradients;
        self.follow(scale);
        self.find_residual(params, scale);
    }

    /// Takes x as a step. If the force along it has reversed, the step ends where the secant puts the force at zero. If
    /// the force still pulls forward, the step is extended: a definite tangent is too stiff where flesh folds.
    fn step(&mut self, params: &MultigridParams, scale: f64) {
        let before = dot(&self.layout, &self.b, &self.x);
        self.move_by(params, 1.0, scale);
        let after = dot(&self.layout, &self.b, &self.x);
        if after < -MAX_BACK * before.abs() {
            let part = (before / (before - after)).max(0.0);
            self.move_by(params, part - 1.0, scale);
        } else if after > MAX_AHEAD * before {
            let further = if after < before { (after / (before - after)).min(FURTHEST) } else { FURTHEST };
            self.move_by(params, further, scale);
            let end = dot(&self.layout, &self.b, &self.x);
            if end < -MAX_BACK * after.abs() {
                self.move_by(params, further * end / (after - end), scale);
            }
        }
    }

    fn smooth_rounds(&mut self, params: &MultigridParams, scale: f64) {
        for _ in 0..ROUNDS {
            self.invert_diagonal(params.modes, &mut []);
            self.smooth(params, Guess::Zero);
            self.step(params, scale);
        }
    }
}

impl Multigrid {
    /// Computes a correction to the displacements of the last [`Multigrid::linearize`], by one nonlinear cycle for the
    /// residual `r`, the negative energy gradient \[N\]. Afterward, cycles and products are invalid until the next
    /// [`Multigrid::linearize`].
    ///
    /// # Errors
    /// When the matrix of the coarsest level is not definite.
    pub fn correct(&mut self, r: &[Vec3<f32>], out: &mut [Vec3<f32>]) -> Result<(), CholeskyError> {
        let fine = &mut self.levels[0];
        fine.layout.spread(&mut fine.b, |node| [r[node].x, r[node].y, r[node].z]);
        let Level { b, free, .. } = fine;
        b.iter_mut().zip(&**free).for_each(|(b, free)| *b *= free);
        self.descend_nonlinear(0)?;
        let fine = &self.levels[0];
        fine.layout.collect(&fine.visit.total, out, |out, value| *out = Vec3::from(value));
        Ok(())
    }

    fn descend_nonlinear(&mut self, k: usize) -> Result<(), CholeskyError> {
        let (params, scale) = (self.params, self.scale);
        self.levels[k].enter(&params, scale);
        if k + 1 == self.levels.len() {
            return self.solve_coarsest_nonlinear();
        }
        self.levels[k].smooth_rounds(&params, scale);
        let (finer, coarser) = self.levels.split_at_mut(k + 1);
        let (fine, coarse) = (&mut finer[k], &mut coarser[0]);
        coarse.average_gradients(fine);
        decompress(&mut coarse.gradients);
        coarse.follow(scale);
        if let Some(transfer) = &fine.transfer {
            transfer.restrict(&fine.layout, &fine.b, &coarse.layout, &mut coarse.b);
        }
        let Level { b, free, .. } = coarse;
        b.iter_mut().zip(&**free).for_each(|(b, free)| *b *= free);
        self.descend_nonlinear(k + 1)?;
        let (finer, coarser) = self.levels.split_at_mut(k + 1);
        let (fine, coarse) = (&mut finer[k], &coarser[0]);
        fine.x.fill(0.0);
        if let Some(transfer) = &fine.transfer {
            transfer.prolong(&coarse.layout, &coarse.visit.total, &fine.layout, &fine.inverse, &mut fine.x);
        }
        fine.step(&params, scale);
        fine.smooth_rounds(&params, scale);
        Ok(())
    }

    /// Newton's method on the coarsest level.
    fn solve_coarsest_nonlinear(&mut self) -> Result<(), CholeskyError> {
        let (params, scale) = (self.params, self.scale);
        let (Some(level), Some(coarsest)) = (self.levels.last_mut(), &mut self.coarsest) else { return Ok(()) };
        let goal = COARSEST_GOAL * COARSEST_GOAL * dot(&level.layout, &level.b, &level.b);
        for _ in 0..MAX_COARSEST {
            if dot(&level.layout, &level.b, &level.b) <= goal {
                break;
            }
            let Level { layout, state, moments, pulls, bulk, anchors, ties, contacts, .. } = &*level;
            let anchors = anchors.view();
            coarsest.factorize(
                Operator { layout, state, modes: params.modes, moments, fibers: pulls, bulk, anchors },
                ties,
                contacts,
            )?;
            level.gather(&level.b, &mut coarsest.x);
            coarsest.solve();
            let Level { layout, x, free, .. } = &mut *level;
            layout.spread(x, |node| {
                let solution = coarsest.x[node];
                [solution.x as f32, solution.y as f32, solution.z as f32]
            });
            x.iter_mut().zip(&**free).for_each(|(x, free)| *x *= free);
            level.step(&params, scale);
        }
        Ok(())
    }
}
