//! Threads after a fork.
//!
//! A forked process has none of its parent's threads: rayon's pool exists in name only, and work submitted to it never
//! runs. On Linux `multiprocessing` forks by default up to Python 3.13. So a child process gets its own pool.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use pyo3::PyResult;
use rayon::ThreadPool;

use crate::error;

/// The process that loaded the module.
static HOME: OnceLock<u32> = OnceLock::new();

/// The pool of a child process, with its process id.
static CHILD: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// Stores the process id; called when the module is loaded.
pub fn remember_process() {
    HOME.get_or_init(std::process::id);
}

/// The pool of this process, if it is not rayon's.
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
    // Leaks the parent's pool: dropping it would wait for threads that do not exist here.
    if let Some(old) = child.replace((process, Arc::clone(&pool))) {
        std::mem::forget(old);
    }
    Ok(Some(pool))
}

/// A pool of this many threads, if a scene sets it; otherwise that of the process.
pub fn pool_of(threads: Option<usize>) -> PyResult<Option<Arc<ThreadPool>>> {
    match threads {
        Some(threads) => {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(error::other)?;
            Ok(Some(Arc::new(pool)))
        }
        None => own_pool(),
    }
}

/// Runs work that the threads of this process may share.
pub fn with_threads<T: Send>(work: impl FnOnce() -> T + Send) -> PyResult<T> {
    Ok(match own_pool()? {
        Some(pool) => pool.install(work),
        None => work(),
    })
}
