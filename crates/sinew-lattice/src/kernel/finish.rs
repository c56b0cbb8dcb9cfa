//! What a pass does with finished values of K x: keep them, or make a residual or a smoother sweep of them.

use sinew_math::LaneScalar;
use sinew_math::lanes::prefetch;

use super::nodal_term::NodalTerm;
use super::rows::{load, store};

/// Consumer of finished values of K x. `at` holds the offsets of the three components from the start of the plane; each
/// is a multiple of sixteen.
pub(crate) trait Finish<F> {
    /// `x` is the current plane of x.
    ///
    /// # Safety
    /// The sixteen values from each `at` on are within `x`, which is no longer than [`Finish::length`].
    unsafe fn finish(&mut self, x: &mut [f32], at: [usize; 3], product: [F; 3]);

    /// Length of its arrays.
    fn length(&self) -> usize;

    /// Prefetches the values that `finish` will read at `at`.
    #[inline(always)]
    fn prefetch(&self, _at: usize) {}
}

/// y = K x.
pub(crate) struct Apply<'a>(pub &'a mut [f32]);

impl<F: LaneScalar<Element = f32>> Finish<F> for Apply<'_> {
    #[inline(always)]
    unsafe fn finish(&mut self, _: &mut [f32], at: [usize; 3], product: [F; 3]) {
        for c in 0..3 {
            // SAFETY: within the array, as the caller promises.
            unsafe { store(product[c], self.0, at[c]) };
        }
    }

    fn length(&self) -> usize {
        self.0.len()
    }
}

/// r = b − (K + A) x at free nodes, and 0 elsewhere.
pub(crate) struct Residual<'a, A> {
    pub b: &'a [f32],
    pub inverse: &'a [f32],
    pub anchors: A,
    pub r: &'a mut [f32],
}

impl<F: LaneScalar<Element = f32>, A: NodalTerm> Finish<F> for Residual<'_, A> {
    #[inline(always)]
    unsafe fn finish(&mut self, x: &mut [f32], at: [usize; 3], product: [F; 3]) {
        // SAFETY: within the arrays, as the caller promises.
        unsafe {
            let product = self.anchors.add(x, at, product);
            for c in 0..3 {
                let free = load::<F>(self.inverse, at[c]).gt(F::zero());
                store(F::select(free, load::<F>(self.b, at[c]) - product[c], F::zero()), self.r, at[c]);
            }
        }
    }

    fn length(&self) -> usize {
        self.b.len().min(self.inverse.len()).min(self.r.len()).min(self.anchors.length())
    }

    #[inline(always)]
    fn prefetch(&self, at: usize) {
        prefetch(self.b, at);
        prefetch(self.inverse, at);
        self.anchors.prefetch(at);
    }
}

/// d ← a d + c D⁻¹ (b − (K + A) x), x ← x + d: one sweep of Chebyshev, or of Jacobi with a = 0.
pub(crate) struct Smooth<'a, A> {
    pub b: &'a [f32],
    pub inverse: &'a [f32],
    pub anchors: A,
    pub d: &'a mut [f32],
    pub a: f64,
    pub c: f64,
}

impl<F: LaneScalar<Element = f32>, A: NodalTerm> Finish<F> for Smooth<'_, A> {
    #[inline(always)]
    unsafe fn finish(&mut self, x: &mut [f32], at: [usize; 3], product: [F; 3]) {
        // SAFETY: within the arrays, as the caller promises.
        unsafe {
            let product = self.anchors.add(x, at, product);
            let mut residual = [F::zero(); 3];
            for c in 0..3 {
                residual[c] = load::<F>(self.b, at[c]) - product[c];
            }
            let step = self.anchors.solve(self.inverse, at, residual);
            for c in 0..3 {
                let d = load::<F>(self.d, at[c]).mul_add(F::splat(self.a), step[c] * F::splat(self.c));
                store(d, self.d, at[c]);
                store(load::<F>(x, at[c]) + d, x, at[c]);
            }
        }
    }

    fn length(&self) -> usize {
        self.b.len().min(self.inverse.len()).min(self.d.len()).min(self.anchors.length())
    }

    #[inline(always)]
    fn prefetch(&self, at: usize) {
        prefetch(self.b, at);
        prefetch(self.inverse, at);
        prefetch(self.d, at);
        self.anchors.prefetch(at);
    }
}

/// Discards the product; only the partial sums for the next plane are needed.
pub(crate) struct Nothing;

impl<F: LaneScalar<Element = f32>> Finish<F> for Nothing {
    #[inline(always)]
    unsafe fn finish(&mut self, _: &mut [f32], _: [usize; 3], _: [F; 3]) {}

    fn length(&self) -> usize {
        usize::MAX
    }
}
