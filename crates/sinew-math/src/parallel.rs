//! Deterministic parallelism: the same bits for one thread and for many.
//!
//! Floating-point addition is not associative, so how a sum is split must not depend on the threads. Everything here
//! cuts its work into blocks whose boundaries depend only on the length, and combines the results of the blocks in a
//! fixed order (a balanced binary tree, or one owner per result). Threads come from rayon's current pool; the caller
//! chooses it with `ThreadPool::install`. Work is split by `rayon::join`, which keeps its jobs on the stack, so nothing
//! allocates.
//!
//! Three patterns cover the solvers:
//!
//! * [`sum`], [`sum_blocks`], [`sum_blocks_mut`]: reductions over fixed blocks;
//! * [`GatherPlan`]: each node sums the stored contributions of its elements, in element order;
//! * [`ScatterPlan`]: elements add directly into shared results; chunks of elements that touch the same entry never run
//!   at the same time.

use std::marker::PhantomData;
use std::ops::{AddAssign, Range};

mod adapters;
mod gather;
mod iter;
#[cfg(test)]
mod iter_tests;
mod scatter;
mod sources;

pub use gather::GatherPlan;
pub use iter::{FromParallel, Indexed, IntoParallel, Parallel};
pub use scatter::{ChunkWriter, ScatterPlan};
pub use sources::ParallelSlice;

/// The traits of parallel loops, to be imported together.
pub mod prelude {
    pub use super::{FromParallel, Indexed, IntoParallel, Parallel, ParallelSlice};
}

/// Entries per block of a deterministic sum.
///
/// 4096 additions take a few microseconds, which hides the cost of handing a block to another thread (well below one
/// microsecond). Bodies of up to 4096 nodes stay on one thread, where two are no faster.
pub const SUM_BLOCK: usize = 4096;

/// Why a plan cannot be built from the connectivity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// An element names an entry that does not exist.
    #[error("element {element} refers to entry {index}, but there are only {length}")]
    IndexOutOfRange {
        /// The element.
        element: usize,
        /// The missing entry.
        index: usize,
        /// Number of entries.
        length: usize,
    },
    /// More entries than 32-bit indices can name.
    #[error("{count} entries do not fit 32-bit indices")]
    TooLarge {
        /// Number of entries.
        count: usize,
    },
}

/// A sequence that can be split at an index: slices, and tuples of slices of equal length that are split together.
pub trait Splittable: Sized + Send {
    /// Number of entries.
    fn length(&self) -> usize;
    /// The entries before `at`, and the rest.
    fn split(self, at: usize) -> (Self, Self);
}

impl<T: Sync> Splittable for &[T] {
    fn length(&self) -> usize {
        self.len()
    }
    fn split(self, at: usize) -> (Self, Self) {
        self.split_at(at)
    }
}

impl<T: Send> Splittable for &mut [T] {
    fn length(&self) -> usize {
        self.len()
    }
    fn split(self, at: usize) -> (Self, Self) {
        self.split_at_mut(at)
    }
}

macro_rules! splittable_tuple {
    ($($name:ident . $index:tt),+) => {
        impl<$($name: Splittable),+> Splittable for ($($name,)+) {
            fn length(&self) -> usize {
                let length = self.0.length();
                $(assert_eq!(self.$index.length(), length, "slices split together must have equal lengths");)+
                length
            }
            fn split(self, at: usize) -> (Self, Self) {
                let parts = ($(self.$index.split(at),)+);
                (($(parts.$index.0,)+), ($(parts.$index.1,)+))
            }
        }
    };
}
splittable_tuple!(A.0, B.1);
splittable_tuple!(A.0, B.1, C.2);
splittable_tuple!(A.0, B.1, C.2, D.3);

/// The only item whose parts are never written: lets the functions over plain ranges share the recursion over slices.
struct Indices(usize);

impl Splittable for Indices {
    fn length(&self) -> usize {
        self.0
    }
    fn split(self, at: usize) -> (Self, Self) {
        (Self(at), Self(self.0 - at))
    }
}

/// Folds the blocks of `parts` by a balanced tree whose shape depends only on the length.
///
/// One recursion serves both cases, so the serial fold equals the parallel fold by construction.
fn fold_tree<P: Splittable, T: Send>(
    parts: P,
    start: usize,
    block_size: usize,
    parallel: bool,
    map: &(impl Fn(usize, P) -> T + Sync),
    combine: &(impl Fn(T, T) -> T + Sync),
) -> T {
    let length = parts.length();
    if length <= block_size {
        return map(start, parts);
    }
    let middle = length.div_ceil(block_size) / 2 * block_size;
    let (left, right) = parts.split(middle);
    let (mut left, mut right, mut a, mut b) = (Some(left), Some(right), None, None);
    join(
        parallel,
        &mut || a = left.take().map(|part| fold_tree(part, start, block_size, parallel, map, combine)),
        &mut || b = right.take().map(|part| fold_tree(part, start + middle, block_size, parallel, map, combine)),
    );
    match (a, b) {
        (Some(a), Some(b)) => combine(a, b),
        _ => unreachable!("each half is run once"),
    }
}

/// Runs both, side by side if `parallel`. Not generic: rayon's queues are compiled once, not for each loop.
fn join(parallel: bool, left: &mut (dyn FnMut() + Send), right: &mut (dyn FnMut() + Send)) {
    if parallel {
        rayon::join(left, right);
    } else {
        left();
        right();
    }
}

/// Runs `work` on a thread of the pool.
///
/// A thread outside the pool that splits work hands all of it over and waits, which costs about ten microseconds each
/// time. Long work with many small parallel parts therefore moves into the pool once.
pub fn in_pool<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    if rayon::current_thread_index().is_some() { work() } else { rayon::join(work, || ()).0 }
}

/// Whether splitting pays: more than one block and more than one thread.
fn worth_sharing(length: usize, block_size: usize) -> bool {
    length > block_size && rayon::current_num_threads() > 1
}

/// Combines `map(range)` over the blocks of `0..length` in a fixed tree; `None` when `length` is zero.
pub fn reduce_blocks<T: Send>(
    length: usize,
    block_size: usize,
    map: impl Fn(Range<usize>) -> T + Sync,
    combine: impl Fn(T, T) -> T + Sync,
) -> Option<T> {
    let block_size = block_size.max(1);
    (length > 0).then(|| {
        let parallel = worth_sharing(length, block_size);
        let map = |start: usize, part: Indices| map(start..start + part.0);
        fold_tree(Indices(length), 0, block_size, parallel, &map, &combine)
    })
}

/// Calls `work` for each block of `0..length`, possibly in parallel.
pub fn for_each_block(length: usize, block_size: usize, work: impl Fn(Range<usize>) + Sync) {
    let _: Option<()> = reduce_blocks(length, block_size, work, |(), ()| ());
}

/// Calls `work(start, block)` for each block of one slice, or of several slices that are split together.
pub fn for_each_block_mut<P: Splittable>(parts: P, block_size: usize, work: impl Fn(usize, P) + Sync) {
    let (length, block_size) = (parts.length(), block_size.max(1));
    if length > 0 {
        fold_tree(parts, 0, block_size, worth_sharing(length, block_size), &work, &|(), ()| ());
    }
}

/// Σᵢ term(i) for i in `0..length`, in blocks of [`SUM_BLOCK`].
///
/// Four interleaved partial sums per block shorten the chain of dependent additions; their order is fixed too.
pub fn sum(length: usize, term: impl Fn(usize) -> f64 + Sync) -> f64 {
    sum_blocks(length, |block| sum_interleaved(block, &term))
}

/// Σᵢ term(i) over one range, serially, with four interleaved partial sums.
#[inline(always)]
pub fn sum_interleaved(range: Range<usize>, term: impl Fn(usize) -> f64) -> f64 {
    let mut partial = [0.0; 4];
    let mut i = range.start;
    while i + 4 <= range.end {
        for k in 0..4 {
            partial[k] += term(i + k);
        }
        i += 4;
    }
    let tail: f64 = (i..range.end).map(&term).sum();
    (partial[0] + partial[1]) + (partial[2] + partial[3]) + tail
}

/// Sum of `block_sum(range)` over blocks of [`SUM_BLOCK`] entries, combined in a fixed tree.
pub fn sum_blocks(length: usize, block_sum: impl Fn(Range<usize>) -> f64 + Sync) -> f64 {
    reduce_blocks(length, SUM_BLOCK, block_sum, |a, b| a + b).unwrap_or(0.0)
}

/// Like [`sum_blocks`], for work that writes its block and returns a sum over it: one pass over memory instead of two.
pub fn sum_blocks_mut<P: Splittable>(parts: P, block_sum: impl Fn(usize, P) -> f64 + Sync) -> f64 {
    let length = parts.length();
    if length == 0 {
        return 0.0;
    }
    fold_tree(parts, 0, SUM_BLOCK, worth_sharing(length, SUM_BLOCK), &block_sum, &|a, b| a + b)
}

/// A slice that several threads may write, each to its own entries.
///
/// The borrow of the whole slice lasts as long as this value; the caller guarantees that no two threads touch one
/// entry.
struct DisjointSlice<'a, T> {
    first: *mut T,
    length: usize,
    borrow: PhantomData<&'a mut [T]>,
}

// SAFETY: sharing a `DisjointSlice` lets another thread obtain `&mut T` (needs `T: Send`) and nothing else: no `&T` of
// one entry is ever given to two threads, because `add` demands that no other thread uses the entry.
unsafe impl<T: Send> Sync for DisjointSlice<'_, T> {}

impl<'a, T: Copy + AddAssign> DisjointSlice<'a, T> {
    fn new(slice: &'a mut [T]) -> Self {
        Self { first: slice.as_mut_ptr(), length: slice.len(), borrow: PhantomData }
    }

    /// Entry `index`.
    ///
    /// # Safety
    /// `index` is below the length, and no other reference to this entry exists while the returned one lives.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    unsafe fn entry(&self, index: usize) -> &mut T {
        debug_assert!(index < self.length, "entry {index} of {}", self.length);
        // SAFETY: in bounds of the slice that `first` and `length` came from, and not aliased, as the caller
        // guarantees.
        unsafe { &mut *self.first.add(index) }
    }

    /// Adds `value` to entry `index`.
    ///
    /// # Safety
    /// `index` is below the length, and no other thread uses this entry during the call.
    #[inline(always)]
    unsafe fn add(&self, index: usize, value: T) {
        debug_assert!(index < self.length, "entry {index} of {}", self.length);
        // SAFETY: the caller guarantees that `index` is in bounds of the slice that `first` and `length` came from, and
        // that no other thread uses the entry; the borrow `'a` excludes all other access.
        unsafe { *self.first.add(index) += value };
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Runs `work` in a pool of `threads`.
    pub(crate) fn with_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a small pool").install(work)
    }

    /// A pseudorandom value in [0, 1): the low bits of a multiplicative hash.
    pub(crate) fn noise(i: usize) -> f64 {
        let mut h = (i as u64).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        h ^= h >> 29;
        h = h.wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (h >> 11) as f64 / (1u64 << 53) as f64
    }

    #[test]
    fn sum_of_integers_is_exact() {
        for length in [0, 1, 3, 4, 5, SUM_BLOCK - 1, SUM_BLOCK, SUM_BLOCK + 1, 5 * SUM_BLOCK + 17] {
            let expected = (length as f64 - 1.0) * length as f64 / 2.0;
            assert_eq!(sum(length, |i| i as f64), if length == 0 { 0.0 } else { expected });
        }
    }

    #[test]
    fn sum_has_the_same_bits_for_any_number_of_threads() {
        let length = 10 * SUM_BLOCK + 1234;
        let term = |i| (noise(i) - 0.5) * 10f64.powi((i % 17) as i32 - 8);
        let one = with_threads(1, || sum(length, term));
        for threads in [2, 3, 5] {
            assert_eq!(one.to_bits(), with_threads(threads, || sum(length, term)).to_bits());
        }
    }

    #[test]
    fn blocks_cover_each_index_once() {
        for (length, block_size) in [(0, 4), (1, 4), (4, 4), (17, 4), (1000, 7), (5, 0)] {
            let mut seen = vec![0u32; length];
            with_threads(2, || {
                for_each_block_mut(&mut seen[..], block_size, |start, block| {
                    for (k, entry) in block.iter_mut().enumerate() {
                        *entry += (start + k) as u32 + 1;
                    }
                });
            });
            assert!(seen.iter().enumerate().all(|(i, &count)| count == i as u32 + 1));
        }
    }

    #[test]
    fn slices_cut_together_stay_aligned() {
        let length = 3 * SUM_BLOCK + 5;
        let a: Vec<f64> = (0..length).map(noise).collect();
        let mut b = vec![0.0; length];
        let total = with_threads(2, || {
            sum_blocks_mut((&a[..], &mut b[..]), |start, (a, b)| {
                for k in 0..a.len() {
                    b[k] = a[k] + (start + k) as f64;
                }
                b.iter().sum()
            })
        });
        assert!((0..length).all(|i| b[i] == a[i] + i as f64));
        let expected: f64 = b.iter().sum();
        // Two orders of summation of n terms of one sign differ by at most n ε relative to the sum.
        assert!((total - expected).abs() <= length as f64 * f64::EPSILON * expected);
    }
}
