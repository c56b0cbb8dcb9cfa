//! Interrupts: a request to stop a computation early.
//!
//! Long computations poll [`Interrupt::ambient`] and stop in good order. A computation that would lose data if the
//! process simply ended takes a [`Hold`]; a signal handler waits for it before it ends the process.

use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Request to stop, which long computations poll. The default never interrupts.
#[derive(Clone, Default)]
pub struct Interrupt(Option<Arc<dyn Fn() -> bool + Send + Sync>>);

thread_local! {
    static AMBIENT: RefCell<Interrupt> = RefCell::default();
}

impl Interrupt {
    /// The interrupt of this thread. New threads do not inherit it; pass them a copy.
    pub fn ambient() -> Self {
        AMBIENT.with_borrow(Self::clone)
    }

    /// Makes this the interrupt of the current thread, until the returned guard is dropped.
    pub fn enter(self) -> Entered {
        Entered { before: AMBIENT.replace(self), on_this_thread: PhantomData }
    }

    /// Interrupts once `is_wanted` returns true. Called often, possibly on another thread, so it should be fast.
    pub fn new(is_wanted: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(is_wanted)))
    }

    /// Whether to stop.
    pub fn is_wanted(&self) -> bool {
        self.0.as_ref().is_some_and(|is_wanted| is_wanted())
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Interrupt(asks)" } else { "Interrupt(never)" })
    }
}

/// Guard: while it lives, the thread polls another [`Interrupt`] than before.
#[must_use = "dropping it restores the old interrupt"]
pub struct Entered {
    before: Interrupt,
    /// The guard must be dropped on the thread that created it.
    on_this_thread: PhantomData<*const ()>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        AMBIENT.set(std::mem::take(&mut self.before));
    }
}

/// Number of holds.
static HELD: AtomicUsize = AtomicUsize::new(0);

/// Guard: while it lives, data would be lost if the process ended, so a signal handler should wait. Its owner polls its
/// [`Interrupt`], saves the data, and drops the guard.
#[derive(Debug)]
#[must_use = "dropping it releases the process"]
pub struct Hold(());

impl Hold {
    /// Holds the process.
    pub fn new() -> Self {
        HELD.fetch_add(1, Ordering::SeqCst);
        Self(())
    }

    /// Whether there is any hold.
    pub fn is_any() -> bool {
        HELD.load(Ordering::SeqCst) > 0
    }
}

impl Default for Hold {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        HELD.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interrupt_of_a_thread_comes_back_when_the_inner_one_ends() {
        assert!(!Interrupt::ambient().is_wanted());
        let outer = Interrupt::new(|| true).enter();
        {
            let _inner = Interrupt::new(|| false).enter();
            assert!(!Interrupt::ambient().is_wanted());
        }
        assert!(Interrupt::ambient().is_wanted());
        drop(outer);
        assert!(!Interrupt::ambient().is_wanted());
    }

    #[test]
    fn a_hold_ends_when_it_is_dropped() {
        let (first, second) = (Hold::new(), Hold::new());
        drop(first);
        assert!(Hold::is_any());
        drop(second);
        assert!(!Hold::is_any());
    }
}
