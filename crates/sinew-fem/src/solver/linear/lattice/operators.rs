//! Products and preconditioners of models with lattices, in f32 and in f64.

use std::sync::Mutex;

use sinew_math::Vec3;
use sinew_math::coarse_grid::CoarseGridPreconditioner;
use sinew_math::krylov::{LinearOperator, Preconditioner, norm};
use sinew_math::parallel::{SUM_BLOCK, for_each_block_mut};
use sinew_math::sparse::{BlockCsr, SlicedBlocks};

use super::part::{LatticePart, lock};

/// A in f32. Directions are zero where components are fixed, so only rows are left out.
pub(super) struct Narrow<'a> {
    pub sliced: &'a SlicedBlocks,
    pub parts: &'a Mutex<Vec<LatticePart>>,
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
pub(super) struct WideOperator<'a> {
    pub matrix: &'a BlockCsr<f64>,
    pub parts: &'a Mutex<Vec<LatticePart>>,
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
pub(super) struct Cycle<'a> {
    pub coarse_grid: Option<&'a mut CoarseGridPreconditioner>,
    pub parts: &'a Mutex<Vec<LatticePart>>,
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
pub(super) struct Widened<'a> {
    pub cycle: Cycle<'a>,
    pub residual: &'a mut [Vec3<f32>],
    pub correction: &'a mut [Vec3<f32>],
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

pub(super) fn narrow(wide: &[Vec3], size: f64, narrow: &mut [Vec3<f32>]) {
    for_each_block_mut((narrow, wide), SUM_BLOCK, |_, (narrow, wide)| {
        for (narrow, &wide) in narrow.iter_mut().zip(wide) {
            *narrow = Vec3::from_f64(wide / size);
        }
    });
}

pub(super) fn widen(narrow: &[Vec3<f32>], size: f64, wide: &mut [Vec3]) {
    for_each_block_mut((wide, narrow), SUM_BLOCK, |_, (wide, narrow)| {
        for (wide, narrow) in wide.iter_mut().zip(narrow) {
            *wide = narrow.to_f64() * size;
        }
    });
}
