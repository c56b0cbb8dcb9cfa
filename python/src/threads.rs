//! Threads after a fork.
//!
//! A process that was forked has none of the threads of its parent: the pool of rayon is there in name only, and whoever hands it work waits forever. On Linux `multiprocessing`
//! forks by default up to Python 3.13. So a child has a pool of its own.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use pyo3::PyResult;
use rayon::ThreadPool;

use crate::error;

/// The process in which the module was loaded.
static HOME: OnceLock<u32> = OnceLock::new();

/// The pool of a child, with its process.
static CHILD: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// Remembers the process; called when the module is loaded.
pub fn remember_process() {
    HOME.get_or_init(std::process::id);
}

/// The pool of this process, where it is not that of rayon.
pub fn own_pool() -> PyResult<Option<Arc<ThreadPool>>> {
    let process = std::process::id();
    if HOME.get().is_none_or(|home| *home == process) {
        return Ok(None);
    }
    let mut child = CHILD.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, pool)) = child.as_ref().filter(|(owner, _)| *owner == process) {
        return Ok(Some(Arc::clone(pool)));
    }
    let pool = Arc::new(rayon::ThreadPoolBuilder::new().build().map_err(error::other)?);
    // That of the parent is not dropped: its threads, which are not here, would be waited for.
    if let Some(old) = child.replace((process, Arc::clone(&pool))) {
        std::mem::forget(old);
    }
    Ok(Some(pool))
}

/// A pool of so many threads, where a scene asks for it; that of the process otherwise.
pub fn pool_of(threads: Option<usize>) -> PyResult<Option<Arc<ThreadPool>>> {
    match threads {
        Some(threads) => {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(error::other)?;
            Ok(Some(Arc::new(pool)))
        }
        None => own_pool(),
    }
}

/// Does work that may be shared by the threads of this process.
pub fn with_threads<T: Send>(work: impl FnOnce() -> T + Send) -> PyResult<T> {
    Ok(match own_pool()? {
        Some(pool) => pool.install(work),
        None => work(),
    })
}
