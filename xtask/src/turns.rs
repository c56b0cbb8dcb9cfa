//! Turns on the cores of the machine: steps that use one core run side by side, as many as there are cores.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

/// Who comes first when several wait: what takes longest, or what others wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// Others wait for it.
    First,
    /// Takes a minute or more.
    Long,
    /// Fills what is left.
    Short,
}

/// Cores that are free, and those who wait for one.
#[derive(Debug)]
struct Turns {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    free: usize,
    /// Rank and number of arrival.
    waiting: BTreeSet<(Rank, u64)>,
    arrived: u64,
}

impl Turns {
    fn new(cores: usize) -> Self {
        let state = State { free: cores.max(1), waiting: BTreeSet::new(), arrived: 0 };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, rank: Rank) -> Turn<'_> {
        let mut state = self.lock();
        let me = (rank, state.arrived);
        state.arrived += 1;
        state.waiting.insert(me);
        while state.free == 0 || state.waiting.first() != Some(&me) {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.waiting.remove(&me);
        state.free -= 1;
        drop(state);
        // There may be another free core for the next one.
        self.changed.notify_all();
        Turn(self)
    }
}

/// One core, until it is dropped.
#[derive(Debug)]
pub struct Turn<'a>(&'a Turns);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.lock().free += 1;
        self.0.changed.notify_all();
    }
}

/// Waits for a core. Who waits for something else, a download for example, takes its turn afterwards.
pub fn take(rank: Rank) -> Turn<'static> {
    static TURNS: OnceLock<Turns> = OnceLock::new();
    let cores = || std::thread::available_parallelism().map_or(1, |count| count.get());
    TURNS.get_or_init(|| Turns::new(cores())).take(rank)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::{Rank, Turns};

    #[test]
    fn no_more_run_than_there_are_cores() {
        let (turns, running, most) = (Turns::new(2), AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let _turn = turns.take(Rank::Short);
                        most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        std::thread::yield_now();
                        running.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert!((1..=2).contains(&most.into_inner()));
        assert_eq!(turns.lock().free, 2);
    }

    #[test]
    fn who_waits_goes_by_rank_and_then_by_arrival() {
        let (turns, order) = (Turns::new(1), Mutex::new(Vec::new()));
        std::thread::scope(|scope| {
            let first = turns.take(Rank::Short);
            for (count, (name, rank)) in
                [("c", Rank::Short), ("b", Rank::Long), ("d", Rank::Short), ("a", Rank::First)].into_iter().enumerate()
            {
                let (turns, order) = (&turns, &order);
                scope.spawn(move || {
                    let _turn = turns.take(rank);
                    order.lock().expect("no panic").push(name);
                });
                while turns.lock().waiting.len() == count {
                    std::thread::yield_now();
                }
            }
            drop(first);
        });
        assert_eq!(order.into_inner().expect("no panic"), ["a", "b", "c", "d"]);
    }
}
