//! The term A of springs and pins, added to K node by node.

use std::ops::Range;

use sinew_math::LaneScalar;
use sinew_math::lanes::prefetch;

use super::rows::load3;

/// The symmetric term A added to K at each node. Entries use the slots of vectors. For a seam only the first slot holds
/// the entries, since the products of its slots are summed.
pub(crate) trait NodalTerm: Copy {
    /// Whether A is known to be there.
    const IS_SOME: bool = true;

    /// `product` + A x.
    ///
    /// # Safety
    /// The sixteen values from each `at` on are within `x`, which is no longer than [`NodalTerm::length`].
    unsafe fn add<F: LaneScalar<Element = f32>>(&self, x: &[f32], at: [usize; 3], product: [F; 3]) -> [F; 3];

    /// D⁻¹ r, with the diagonal of D⁻¹ from `inverse`.
    ///
    /// # Safety
    /// The sixteen values from each `at` on are within `inverse`, and no further than [`NodalTerm::length`].
    unsafe fn solve<F: LaneScalar<Element = f32>>(&self, inverse: &[f32], at: [usize; 3], residual: [F; 3]) -> [F; 3];

    /// The part for one plane.
    fn of_plane(&self, values: Range<usize>) -> Self;

    /// Length of its arrays.
    fn length(&self) -> usize;

    /// Prefetches the values at `at`.
    #[inline(always)]
    fn prefetch(&self, _at: usize) {}
}

/// A = 0.
#[derive(Clone, Copy)]
pub(crate) struct NoAnchors;

/// A is diagonal.
#[derive(Clone, Copy)]
pub(crate) struct DiagonalAnchors<'a>(pub &'a [f32]);

/// A as xx, yy, zz and yz, xz, xy; and the entries yz, xz, xy of D⁻¹.
#[derive(Clone, Copy)]
pub(crate) struct FullAnchors<'a> {
    pub diagonal: &'a [f32],
    pub cross: &'a [f32],
    pub inverse_cross: &'a [f32],
}

/// Componentwise products.
#[inline(always)]
fn scaled<F: LaneScalar<Element = f32>>(a: [F; 3], b: [F; 3]) -> [F; 3] {
    [a[0] * b[0], a[1] * b[1], a[2] * b[2]]
}

/// `sum` + S v, for the symmetric S with entries xx, yy, zz and yz, xz, xy.
#[inline(always)]
fn add_symmetric<F: LaneScalar<Element = f32>>(
    [xx, yy, zz]: [F; 3],
    [yz, xz, xy]: [F; 3],
    [x, y, z]: [F; 3],
    sum: [F; 3],
) -> [F; 3] {
    [
        xx.mul_add(x, xy.mul_add(y, xz.mul_add(z, sum[0]))),
        xy.mul_add(x, yy.mul_add(y, yz.mul_add(z, sum[1]))),
        xz.mul_add(x, yz.mul_add(y, zz.mul_add(z, sum[2]))),
    ]
}

impl NodalTerm for NoAnchors {
    const IS_SOME: bool = false;

    #[inline(always)]
    unsafe fn add<F: LaneScalar<Element = f32>>(&self, _: &[f32], _: [usize; 3], product: [F; 3]) -> [F; 3] {
        product
    }

    #[inline(always)]
    unsafe fn solve<F: LaneScalar<Element = f32>>(&self, inverse: &[f32], at: [usize; 3], residual: [F; 3]) -> [F; 3] {
        // SAFETY: within the array, as the caller promises.
        scaled(unsafe { load3(inverse, at) }, residual)
    }

    #[inline(always)]
    fn of_plane(&self, _: Range<usize>) -> Self {
        Self
    }

    #[inline(always)]
    fn length(&self) -> usize {
        usize::MAX
    }
}

impl NodalTerm for DiagonalAnchors<'_> {
    #[inline(always)]
    unsafe fn add<F: LaneScalar<Element = f32>>(&self, x: &[f32], at: [usize; 3], product: [F; 3]) -> [F; 3] {
        // SAFETY: within the arrays, as the caller promises.
        let (a, x) = unsafe { (load3::<F>(self.0, at), load3::<F>(x, at)) };
        [a[0].mul_add(x[0], product[0]), a[1].mul_add(x[1], product[1]), a[2].mul_add(x[2], product[2])]
    }

    #[inline(always)]
    unsafe fn solve<F: LaneScalar<Element = f32>>(&self, inverse: &[f32], at: [usize; 3], residual: [F; 3]) -> [F; 3] {
        // SAFETY: within the array, as the caller promises.
        scaled(unsafe { load3(inverse, at) }, residual)
    }

    #[inline(always)]
    fn of_plane(&self, values: Range<usize>) -> Self {
        Self(&self.0[values])
    }

    #[inline(always)]
    fn length(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn prefetch(&self, at: usize) {
        prefetch(self.0, at);
    }
}

impl NodalTerm for FullAnchors<'_> {
    #[inline(always)]
    unsafe fn add<F: LaneScalar<Element = f32>>(&self, x: &[f32], at: [usize; 3], product: [F; 3]) -> [F; 3] {
        // SAFETY: within the arrays, as the caller promises.
        unsafe { add_symmetric(load3(self.diagonal, at), load3(self.cross, at), load3(x, at), product) }
    }

    #[inline(always)]
    unsafe fn solve<F: LaneScalar<Element = f32>>(&self, inverse: &[f32], at: [usize; 3], residual: [F; 3]) -> [F; 3] {
        // SAFETY: within the arrays, as the caller promises.
        unsafe { add_symmetric(load3(inverse, at), load3(self.inverse_cross, at), residual, [F::zero(); 3]) }
    }

    #[inline(always)]
    fn of_plane(&self, values: Range<usize>) -> Self {
        Self {
            diagonal: &self.diagonal[values.clone()],
            cross: &self.cross[values.clone()],
            inverse_cross: &self.inverse_cross[values],
        }
    }

    #[inline(always)]
    fn length(&self) -> usize {
        self.diagonal.len().min(self.cross.len()).min(self.inverse_cross.len())
    }

    #[inline(always)]
    fn prefetch(&self, at: usize) {
        prefetch(self.diagonal, at);
        prefetch(self.cross, at);
        prefetch(self.inverse_cross, at);
    }
}
