//! Loads and stores of rows of sixteen values, unchecked in release builds.

use sinew_math::LaneScalar;

use crate::layout::LANES;

/// The three components of sixteen vectors.
pub(super) type Triple<F> = [F; 3];

/// Loads sixteen values.
///
/// # Safety
/// They are within the slice.
#[inline(always)]
pub(super) unsafe fn load<F: LaneScalar<Element = f32>>(values: &[f32], at: usize) -> F {
    debug_assert!(at + LANES <= values.len(), "{at} of {}", values.len());
    // SAFETY: the caller promises it.
    F::load(unsafe { values.get_unchecked(at..at + LANES) })
}

/// Stores sixteen values.
///
/// # Safety
/// They are within the slice.
#[inline(always)]
pub(super) unsafe fn store<F: LaneScalar<Element = f32>>(value: F, values: &mut [f32], at: usize) {
    debug_assert!(at + LANES <= values.len(), "{at} of {}", values.len());
    // SAFETY: the caller promises it.
    value.store(unsafe { values.get_unchecked_mut(at..at + LANES) });
}

/// Loads sixteen values of each component.
///
/// # Safety
/// They are within the slice.
#[inline(always)]
pub(super) unsafe fn load3<F: LaneScalar<Element = f32>>(values: &[f32], at: [usize; 3]) -> [F; 3] {
    // SAFETY: the caller promises it.
    unsafe { [load(values, at[0]), load(values, at[1]), load(values, at[2])] }
}

/// Rows of a block from `at` on.
///
/// # Safety
/// They are within `values`.
#[inline(always)]
pub(super) unsafe fn load_rows<F: LaneScalar<Element = f32>, const N: usize>(values: &[f32], at: usize) -> [F; N] {
    let mut rows = [F::zero(); N];
    for k in 0..N {
        // SAFETY: as the caller promises.
        rows[k] = unsafe { load::<F>(values, at + k * LANES) };
    }
    rows
}

/// # Safety
/// Four rows from `at` on are within `values`.
#[inline(always)]
pub(super) unsafe fn load4<F: LaneScalar<Element = f32>>(values: &[f32], at: usize) -> [F; 4] {
    // SAFETY: as the caller promises.
    unsafe { [load(values, at), load(values, at + LANES), load(values, at + 2 * LANES), load(values, at + 3 * LANES)] }
}

/// # Safety
/// Twelve rows from `at` on are within `values`.
#[inline(always)]
pub(super) unsafe fn load12<F: LaneScalar<Element = f32>>(values: &[f32], at: usize) -> [Triple<F>; 4] {
    let mut out = [[F::zero(); 3]; 4];
    for channel in 0..4 {
        for c in 0..3 {
            // SAFETY: as the caller promises.
            out[channel][c] = unsafe { load(values, at + (3 * channel + c) * LANES) };
        }
    }
    out
}

/// # Safety
/// Twelve rows from `at` on are within `out`.
#[inline(always)]
pub(super) unsafe fn store12<F: LaneScalar<Element = f32>>(sums: &[Triple<F>; 4], out: &mut [f32], at: usize) {
    for channel in 0..4 {
        for c in 0..3 {
            // SAFETY: as the caller promises.
            unsafe { store(sums[channel][c], out, at + (3 * channel + c) * LANES) };
        }
    }
}
