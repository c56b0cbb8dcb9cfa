//! Workers that share the cores among the runs of a sweep.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use sinew_fem::Interrupt;

/// Number of threads of a run that starts while others run or wait: `left` runs have not ended, this one included.
/// The last runs of a sweep get the cores of the workers that have nothing more to do.
fn threads(cores: usize, workers: usize, left: usize) -> usize {
    (cores / workers.min(left).max(1)).max(1)
}

/// Does jobs `0..count`, `workers` at a time, each in a pool of its own share of `cores`. A job tells the calling thread
/// what happens through its second argument. After an interrupt no job begins.
pub(crate) fn share<T: Send>(
    count: usize,
    workers: usize,
    cores: usize,
    interrupt: &Interrupt,
    job: impl Fn(usize, &(dyn Fn(T) + Sync)) + Sync,
    heard: &mut dyn FnMut(T),
) {
    let workers = workers.clamp(1, count.max(1));
    let (next, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (sender, receiver) = mpsc::sync_channel::<T>(64);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            let (sender, next, ended, job) = (sender.clone(), &next, &ended, &job);
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count || interrupt.is_wanted() {
                        return;
                    }
                    let threads = threads(cores, workers, count - ended.load(Ordering::Relaxed));
                    // Nobody listens only after a panic of the calling thread.
                    let tell = |event: T| drop(sender.send(event));
                    let Ok(pool) = rayon::ThreadPoolBuilder::new().num_threads(threads).build() else { return };
                    pool.install(|| job(number, &tell));
                    ended.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        drop(sender);
        receiver.into_iter().for_each(&mut *heard);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_shared_and_the_last_run_gets_them_all() {
        let of = |left| threads(8, 4, left);
        assert_eq!([of(9), of(4), of(3), of(2), of(1)], [2, 2, 2, 4, 8]);
        assert_eq!((threads(2, 5, 9), threads(2, 5, 1)), (1, 2));
    }

    #[test]
    fn every_job_is_done_once_and_nothing_begins_after_an_interrupt() {
        let interrupt = Interrupt::default();
        let mut heard = Vec::new();
        share(20, 3, 4, &interrupt, |number, tell| tell(number), &mut |number| heard.push(number));
        heard.sort_unstable();
        assert_eq!(heard, (0..20).collect::<Vec<_>>());
        let interrupt = Interrupt::new(|| true);
        share(20, 3, 4, &interrupt, |_, _: &(dyn Fn(usize) + Sync)| panic!("a job began"), &mut |_| ());
    }
}
