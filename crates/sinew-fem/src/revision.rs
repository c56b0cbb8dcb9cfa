//! The key of everything that is computed from a model and kept.

use std::sync::atomic::{AtomicU64, Ordering};

/// Key of a model and its version: no two models of a process share one, nor does a model before and after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Revision(u64);

/// A new one.
impl Default for Revision {
    fn default() -> Self {
        Self::next()
    }
}

impl Revision {
    /// A new, unique revision.
    pub(crate) fn next() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self(LAST.fetch_add(1, Ordering::Relaxed))
    }
}
