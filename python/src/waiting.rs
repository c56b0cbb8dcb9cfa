//! Long computations outside the interpreter lock: other Python threads continue, and Ctrl-C works.
//!
//! Python delivers signals only on its main thread, and only when that thread checks for them. So the calling thread
//! waits and checks every few milliseconds, and another thread does the work. Work too short for that runs on the
//! calling thread, which checks now and then.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use rayon::ThreadPool;
use sinew_fem::Interrupt;

use crate::threads::with_threads;

/// Longest time that Ctrl-C may go unnoticed.
const PATIENCE: Duration = Duration::from_millis(20);

/// A reason to stop: Ctrl-C, or an exception in a Python function called by Sinew.
#[derive(Default)]
pub struct Objection {
    is_raised: AtomicBool,
    error: Mutex<Option<PyErr>>,
}

impl Objection {
    /// Stores the first error.
    pub fn raise(&self, error: PyErr) {
        if let Ok(mut kept) = self.error.lock() {
            kept.get_or_insert(error);
        }
        self.is_raised.store(true, Ordering::SeqCst);
    }

    /// Whether to stop.
    pub fn is_raised(&self) -> bool {
        self.is_raised.load(Ordering::Relaxed)
    }

    /// The error, once.
    pub fn take(&self) -> Option<PyErr> {
        self.is_raised.store(false, Ordering::SeqCst);
        self.error.lock().ok().and_then(|mut kept| kept.take())
    }

    /// Checks for signals; does nothing on threads other than the main one.
    fn listen(&self) {
        if let Err(error) = Python::attach(|py| py.check_signals()) {
            self.raise(error);
        }
    }

    /// An interrupt that reacts to this.
    pub fn interrupt(self: &Arc<Self>) -> Interrupt {
        let objection = Arc::clone(self);
        Interrupt::new(move || objection.is_raised())
    }

    /// An interrupt that also checks for signals itself, when polled on the calling thread.
    pub fn listening_interrupt(self: &Arc<Self>) -> Interrupt {
        let objection = Arc::clone(self);
        let (start, heard) = (Instant::now(), AtomicU64::new(0));
        Interrupt::new(move || {
            let now = start.elapsed().as_millis() as u64;
            if now.saturating_sub(heard.load(Ordering::Relaxed)) >= PATIENCE.as_millis() as u64 {
                heard.store(now, Ordering::Relaxed);
                objection.listen();
            }
            objection.is_raised()
        })
    }
}

/// Runs long work on another thread, while Python continues and Ctrl-C works; `work` gets the interrupt to poll.
pub fn aside<T: Send>(py: Python<'_>, work: impl FnOnce(Interrupt) -> T + Send) -> PyResult<T> {
    let objection = Arc::new(Objection::default());
    let interrupt = objection.interrupt();
    let result = py.detach(|| {
        std::thread::scope(|scope| {
            let (sender, receiver) = mpsc::sync_channel(1);
            let worker = scope.spawn(move || {
                let _ = sender.send(with_threads(|| work(interrupt)));
            });
            let result = wait(&receiver, &objection);
            if result.is_none()
                && let Err(panic) = worker.join()
            {
                std::panic::resume_unwind(panic);
            }
            result
        })
    });
    match (objection.take(), result) {
        (Some(error), _) => Err(error),
        (None, Some(result)) => result,
        (None, None) => Err(crate::error::other("the work ended without a result")),
    }
}

/// Runs work in a thread pool, rayon's by default, while this thread checks for signals; for frequent work that takes
/// milliseconds.
///
/// A rayon scope would do the same without `unsafe`, but puts the calling thread to sleep twice, once for the result
/// and once for the end of the scope.
pub fn in_pool<T: Send + 'static>(
    pool: Option<&ThreadPool>,
    objection: &Objection,
    work: impl FnOnce() -> T + Send,
) -> T {
    let slot = Arc::new(Slot(Mutex::new(None)));
    let (filled, caller) = (Arc::clone(&slot), std::thread::current());
    let job: Box<dyn FnOnce() + Send + '_> = Box::new(move || {
        // The work and everything it borrows is gone when the slot is filled.
        let result = std::panic::catch_unwind(AssertUnwindSafe(work));
        *filled.lock() = Some(result);
        caller.unpark();
    });
    // SAFETY: `job` borrows what `work` borrows, and nothing else. `work` is consumed before the slot is filled, and
    // this function neither returns nor unwinds before that: `Waiting` ensures it.
    let job: Box<dyn FnOnce() + Send + 'static> = unsafe { std::mem::transmute(job) };
    match pool {
        Some(pool) => pool.spawn(job),
        None => rayon::spawn(job),
    }
    let waiting = Waiting(&slot);
    while !slot.is_filled() {
        std::thread::park_timeout(PATIENCE);
        if !slot.is_filled() {
            objection.listen();
        }
    }
    drop(waiting);
    let result = slot.lock().take();
    match result {
        Some(Ok(result)) => result,
        Some(Err(panic)) => std::panic::resume_unwind(panic),
        None => unreachable!("only taken here"),
    }
}

/// Destination of a result.
struct Slot<T>(Mutex<Option<std::thread::Result<T>>>);

impl<T> Slot<T> {
    fn lock(&self) -> MutexGuard<'_, Option<std::thread::Result<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_filled(&self) -> bool {
        self.lock().is_some()
    }
}

/// Blocks the thread until the slot is filled, even when unwinding.
struct Waiting<'a, T>(&'a Slot<T>);

impl<T> Drop for Waiting<'_, T> {
    fn drop(&mut self) {
        while !self.0.is_filled() {
            std::thread::park_timeout(PATIENCE);
        }
    }
}

/// Waits for a result; `None` if the sender is gone.
fn wait<T>(receiver: &mpsc::Receiver<T>, objection: &Objection) -> Option<T> {
    loop {
        match receiver.recv_timeout(PATIENCE) {
            Ok(result) => return Some(result),
            Err(mpsc::RecvTimeoutError::Timeout) => objection.listen(),
            Err(mpsc::RecvTimeoutError::Disconnected) => return None,
        }
    }
}
