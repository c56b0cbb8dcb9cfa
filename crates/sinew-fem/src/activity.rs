//! A sign of life during long steps: how many Newton iterations this process has made.

use std::sync::atomic::{AtomicUsize, Ordering};

static ITERATIONS: AtomicUsize = AtomicUsize::new(0);

/// Newton iterations of all simulations of this process so far, for progress displays.
pub fn newton_iterations() -> usize {
    ITERATIONS.load(Ordering::Relaxed)
}

pub(crate) fn count_newton_iteration() {
    ITERATIONS.fetch_add(1, Ordering::Relaxed);
}
