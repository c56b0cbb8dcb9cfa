//! Timing of a part of a run.

use std::time::{Duration, Instant};

/// Measures the time from its creation and adds it to a sum.
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts measuring.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Adds the elapsed time to a sum.
    pub fn add_to(self, sum: &mut Duration) {
        *sum += self.0.elapsed();
    }
}
