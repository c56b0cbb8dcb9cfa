//! Time that a part of a run takes.

use std::time::{Duration, Instant};

/// Adds the time from its creation to its end to a sum.
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Begins to count.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Ends it.
    pub fn add_to(self, sum: &mut Duration) {
        *sum += self.0.elapsed();
    }
}
