//! A wish from outside to give up what is being computed.
//!
//! Long work asks [`Interrupt::ambient`] now and then and gives up in good order. Work that would lose something if the process simply ended
//! says so by a [`Hold`]: whoever ends the process on a signal waits for it.

use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Asked now and then by long work whether to go on. Nobody interrupts by default.
#[derive(Clone, Default)]
pub struct Interrupt(Option<Arc<dyn Fn() -> bool + Send + Sync>>);

thread_local! {
    static AMBIENT: RefCell<Interrupt> = RefCell::default();
}

impl Interrupt {
    /// What long work on this thread asks. Threads that it starts do not see it: they are handed a copy.
    pub fn ambient() -> Self {
        AMBIENT.with_borrow(Self::clone)
    }

    /// Makes it the one that this thread asks, until what is returned is dropped.
    pub fn enter(self) -> Entered {
        Entered { before: AMBIENT.replace(self), on_this_thread: PhantomData }
    }

    /// Gives up once `is_wanted` says so. It is asked often, possibly on another thread, and should take next to no time.
    pub fn new(is_wanted: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(is_wanted)))
    }

    /// Whether somebody wants to stop.
    pub fn is_wanted(&self) -> bool {
        self.0.as_ref().is_some_and(|is_wanted| is_wanted())
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Interrupt(asks)" } else { "Interrupt(never)" })
    }
}

/// While it lives, the thread asks another [`Interrupt`] than before.
#[must_use = "dropping it ends what it is for"]
pub struct Entered {
    before: Interrupt,
    /// It must be dropped on the thread that it was made on.
    on_this_thread: PhantomData<*const ()>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        AMBIENT.set(std::mem::take(&mut self.before));
    }
}

/// How many holds there are.
static HELD: AtomicUsize = AtomicUsize::new(0);

/// While it lives, something would be lost if the process ended: whoever ends it on a signal should wait. Its owner asks its [`Interrupt`], saves
/// what there is, and lets go.
#[derive(Debug)]
#[must_use = "dropping it ends what it is for"]
pub struct Hold(());

impl Hold {
    /// Holds the process.
    pub fn new() -> Self {
        HELD.fetch_add(1, Ordering::SeqCst);
        Self(())
    }

    /// Whether anybody holds the process.
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
