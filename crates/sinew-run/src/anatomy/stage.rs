//! Running stages: what is in the cache is not made again, and inputs are only loaded if somebody looks at them.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sinew_fem::Interrupt;
use sinew_scene::Diagnostic;

use super::cache::{Cache, Digest};
use super::stored::Stored;

/// Why a stage has no result.
#[derive(Clone, Debug)]
pub(super) enum Trouble {
    /// The tissue cannot be made; other tissues can.
    Told(Diagnostic),
    /// An input was torn in the cache: the build starts over and makes it again.
    Torn,
    /// The user wants to stop.
    Interrupted,
}

/// A result, or where it is.
#[derive(Debug)]
pub(super) struct Made<T> {
    /// Hash of its bytes: what later stages depend on. A stage that runs again with the same result wakes nobody.
    pub digest: Digest,
    key: Digest,
    value: Arc<Mutex<Option<Arc<T>>>>,
}

/// Another name for the same result.
impl<T> Clone for Made<T> {
    fn clone(&self) -> Self {
        Self { digest: self.digest, key: self.key, value: self.value.clone() }
    }
}

/// What happened to a stage.
#[derive(Clone, Debug, PartialEq)]
pub struct StageReport {
    /// The stage and what it was for, such as `mesh biceps`.
    pub name: String,
    /// How long it took.
    pub time: Duration,
}

/// Where stages run.
pub(super) struct Workshop<'a> {
    cache: Cache,
    progress: &'a (dyn Fn(usize, usize, &str) + Sync),
    planned: AtomicUsize,
    done: AtomicUsize,
    ran: Mutex<Vec<StageReport>>,
    used: Mutex<BTreeSet<Digest>>,
    /// That of the thread which builds: the threads of the stages do not inherit it.
    interrupt: Interrupt,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Workshop<'a> {
    /// `progress` hears how many of how many stages are done, and what was last.
    pub fn new(cache: Cache, progress: &'a (dyn Fn(usize, usize, &str) + Sync)) -> Self {
        let (planned, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let interrupt = Interrupt::ambient();
        Self { cache, progress, planned, done, ran: Mutex::default(), used: Mutex::default(), interrupt }
    }

    /// Announces stages.
    pub fn plan(&self, count: usize) {
        self.planned.fetch_add(count, Ordering::Relaxed);
    }

    /// Counts stages that are done, or that will never be.
    pub fn tick(&self, count: usize, name: &str) {
        let done = self.done.fetch_add(count, Ordering::Relaxed) + count;
        (self.progress)(done, self.planned.load(Ordering::Relaxed).max(done), name);
    }

    /// The result of a stage, from the cache or made now.
    pub fn make<T: Stored>(
        &self,
        name: &str,
        key: Digest,
        make: impl FnOnce() -> Result<T, Trouble>,
    ) -> Result<Made<T>, Trouble> {
        self.use_key(key);
        if let Some(digest) = self.cache.digest(key) {
            self.tick(1, name);
            return Ok(Made { digest, key, value: Arc::default() });
        }
        let value = self.run(name, make)?;
        let made = self.keep(key, value);
        self.tick(1, name);
        Ok(made)
    }

    /// A small result that is no stage of its own: it is not reported.
    pub fn quiet<T: Stored>(&self, key: Digest, make: impl FnOnce() -> Result<T, Trouble>) -> Result<Made<T>, Trouble> {
        self.use_key(key);
        match self.cache.digest(key) {
            Some(digest) => Ok(Made { digest, key, value: Arc::default() }),
            None => make().map(|value| self.keep(key, value)),
        }
    }

    /// Several results of one stage, which has them all or runs again.
    pub fn make_all<T: Stored>(
        &self,
        name: &str,
        keys: &[Digest],
        make: impl FnOnce() -> Result<Vec<T>, Trouble>,
    ) -> Result<Vec<Made<T>>, Trouble> {
        keys.iter().for_each(|key| self.use_key(*key));
        let found: Option<Vec<Digest>> = keys.iter().map(|key| self.cache.digest(*key)).collect();
        let made = match found {
            Some(digests) => {
                let missing = |(digest, key): (Digest, &Digest)| Made { digest, key: *key, value: Arc::default() };
                digests.into_iter().zip(keys).map(missing).collect()
            }
            None => {
                let values = self.run(name, make)?;
                values.into_iter().zip(keys).map(|(value, key)| self.keep(*key, value)).collect()
            }
        };
        self.tick(1, name);
        Ok(made)
    }

    fn keep<T: Stored>(&self, key: Digest, value: T) -> Made<T> {
        let digest = self.cache.keep(key, &value.to_bytes());
        Made { digest, key, value: Arc::new(Mutex::new(Some(Arc::new(value)))) }
    }

    /// Runs what is not in the cache, and notes that it did.
    pub fn run<T>(&self, name: &str, make: impl FnOnce() -> Result<T, Trouble>) -> Result<T, Trouble> {
        if self.interrupt.is_wanted() {
            return Err(Trouble::Interrupted);
        }
        let start = Instant::now();
        let value = make()?;
        locked(&self.ran).push(StageReport { name: name.to_string(), time: start.elapsed() });
        Ok(value)
    }

    /// The value of a result.
    pub fn get<T: Stored>(&self, made: &Made<T>) -> Result<Arc<T>, Trouble> {
        // Who waits here wants the same value.
        let mut kept = locked(&made.value);
        if let Some(value) = &*kept {
            return Ok(value.clone());
        }
        let bytes = self.cache.load(made.key).ok_or(Trouble::Torn)?;
        let value = Arc::new(T::from_bytes(&bytes).ok_or(Trouble::Torn)?);
        *kept = Some(value.clone());
        Ok(value)
    }

    /// Gives memory back: the value is read from the cache when somebody wants it again. Without a cache it stays.
    pub fn release<T>(&self, made: &Made<T>) {
        if self.cache.digest(made.key).is_some() {
            *locked(&made.value) = None;
        }
    }

    fn use_key(&self, key: Digest) {
        locked(&self.used).insert(key);
    }

    /// Stages that ran, by name.
    pub fn reports(&self) -> Vec<StageReport> {
        let mut reports = locked(&self.ran).clone();
        reports.sort_by(|a, b| a.name.cmp(&b.name));
        reports
    }

    /// Takes results away that this build did not use.
    pub fn sweep(&self) {
        let used: Vec<Digest> = locked(&self.used).iter().copied().collect();
        self.cache.sweep(&used);
    }
}
