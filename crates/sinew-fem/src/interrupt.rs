//! A wish from outside to give up the step that is being computed.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

/// Asked between the iterations of a step whether to go on. Nobody interrupts by default.
#[derive(Clone, Default)]
pub struct Interrupt(Option<Arc<dyn Fn() -> bool + Send + Sync>>);

thread_local! {
    static AMBIENT: RefCell<Interrupt> = RefCell::default();
}

impl Interrupt {
    /// What simulations that are made on this thread ask, unless they are told otherwise.
    pub fn ambient() -> Self {
        AMBIENT.with_borrow(Self::clone)
    }

    /// Sets it, and returns what was there before.
    pub fn set_ambient(self) -> Self {
        AMBIENT.replace(self)
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
