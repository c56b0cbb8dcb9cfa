//! Parallel loops in the words of iterators: `points.par_iter().map(f).collect()`.
//!
//! The words are those of rayon, and so are the threads. But a loop of rayon is compiled into a dozen functions, each
//! with a copy of its body; here all loops share one function that divides the work ([`for_each_range`]), which calls
//! the body through a pointer, once for each block. Loops took half of the machine code of a crate that has many.
//!
//! Blocks depend on the length only, results are in the order of the items, and reductions combine blocks in their
//! order: the same bits for any number of threads.
//!
//! ```
//! use sinew_math::parallel::prelude::*;
//!
//! let squares: Vec<usize> = (0..1000usize).into_par_iter().map(|i| i * i).filter(|s| s % 2 == 0).collect();
//! assert_eq!(squares[3], 36);
//! ```

use std::ops::{Add, Range};
use std::sync::atomic::{AtomicBool, Ordering};

use super::adapters::{Enumerate, Filter, FlatMap, Map, MapInit, MinLength, Reversed, Zip};
use super::for_each_block;
use super::sources::All;

/// Most blocks that a loop is cut into: eight for each of sixteen threads, so that uneven blocks even out.
const MAX_BLOCKS: usize = 128;

/// Most blocks of a loop that makes something for each of them.
pub(super) const MAX_INITS: usize = 32;

/// Calls `work` for each block of `0..length`, possibly side by side; blocks have at least `min_length` entries but for
/// the last. Not generic, so that each loop brings along nothing but its body.
fn for_each_range(length: usize, min_length: usize, work: &(dyn Fn(Range<usize>) + Sync)) {
    for_each_block(length, block_length(length, min_length), work);
}

fn block_length(length: usize, min_length: usize) -> usize {
    length.div_ceil(MAX_BLOCKS).max(min_length).max(1)
}

/// A sequence whose parts can be worked on side by side.
///
/// # Safety
/// An index of `0..length()` stands for items of its own: `feed` of ranges without a common index, on different threads
/// at the same time, is sound. If `IS_EXACT`, it feeds one item for each index.
pub unsafe trait Parallel: Sized + Sync {
    /// What the loop sees.
    type Item;

    /// Whether there is exactly one item for each index.
    const IS_EXACT: bool;

    /// Number of indices.
    fn length(&self) -> usize;

    /// Entries that are worth handing to another thread.
    fn min_length(&self) -> usize {
        1
    }

    /// Hands the items of a range to `sink`, in order.
    ///
    /// # Safety
    /// The range is within `0..length()`, and no index is fed twice.
    unsafe fn feed(&self, range: Range<usize>, sink: &mut impl FnMut(Self::Item));

    /// `f` of each item.
    fn map<T, F: Fn(Self::Item) -> T + Sync>(self, f: F) -> Map<Self, F> {
        Map { items: self, f }
    }

    /// `f` of each item and of something that is made once for each block, such as memory to work in.
    fn map_init<W, T, I: Fn() -> W + Sync, F: Fn(&mut W, Self::Item) -> T + Sync>(
        self,
        init: I,
        f: F,
    ) -> MapInit<Self, I, F> {
        MapInit { items: self, init, f }
    }

    /// The items for which `is_wanted` holds.
    fn filter<F: Fn(&Self::Item) -> bool + Sync>(self, is_wanted: F) -> Filter<Self, F> {
        Filter { items: self, is_wanted }
    }

    /// What `f` makes of the items, where it makes something.
    fn filter_map<T, F: Fn(Self::Item) -> Option<T> + Sync>(self, f: F) -> FlatMap<Self, F> {
        self.flat_map_iter(f)
    }

    /// All that `f` makes of each item, one after the other.
    fn flat_map_iter<T: IntoIterator, F: Fn(Self::Item) -> T + Sync>(self, f: F) -> FlatMap<Self, F> {
        FlatMap { items: self, f }
    }

    /// Copies of the items.
    fn copied<'a, T: Copy + 'a>(self) -> Map<Self, fn(&'a T) -> T>
    where
        Self: Parallel<Item = &'a T>,
    {
        self.map(|item| *item)
    }

    /// At least so many items per block.
    fn with_min_len(self, min_length: usize) -> MinLength<Self> {
        MinLength { items: self, min_length }
    }

    /// Calls `f` with each item.
    fn for_each(self, f: impl Fn(Self::Item) + Sync) {
        for_each_range(self.length(), self.min_length(), &|range| {
            // SAFETY: blocks have no index in common, and nobody else has `self`.
            unsafe { self.feed(range, &mut |item| f(item)) }
        });
    }

    /// Calls `f` with each item and with something that is made once for each block, as by [`Parallel::map_init`].
    fn for_each_init<W>(self, init: impl Fn() -> W + Sync, f: impl Fn(&mut W, Self::Item) + Sync) {
        self.map_init(init, f).for_each(|()| ());
    }

    /// Calls `f` with each item until one fails; the failure of the first block that has one.
    fn try_for_each<E: Send>(self, f: impl Fn(Self::Item) -> Result<(), E> + Sync) -> Result<(), E> {
        let is_over = AtomicBool::new(false);
        let failures = self.by_block(|found: &mut Option<E>, item| {
            if !is_over.load(Ordering::Relaxed)
                && let Err(error) = f(item)
            {
                found.get_or_insert(error);
                is_over.store(true, Ordering::Relaxed);
            }
        });
        failures.into_iter().flatten().next().map_or(Ok(()), Err)
    }

    /// All items in order.
    fn collect<C: FromParallel<Self::Item>>(self) -> C {
        C::from_parallel(self)
    }

    /// All firsts and all seconds of pairs, in order.
    fn unzip<A: Send, B: Send>(self) -> (Vec<A>, Vec<B>)
    where
        Self: Parallel<Item = (A, B)>,
    {
        self.collect::<Vec<(A, B)>>().into_iter().unzip()
    }

    /// Number of items.
    fn count(self) -> usize {
        self.by_block(|count: &mut usize, _| *count += 1).into_iter().sum()
    }

    /// Sum of the items.
    fn sum<T: Add<Output = T> + Default + Send + Copy>(self) -> T
    where
        Self: Parallel<Item = T>,
    {
        self.by_block(|sum: &mut T, item| *sum = *sum + item).into_iter().fold(T::default(), |a, b| a + b)
    }

    /// The items combined by an associative operation.
    fn reduce(
        self,
        identity: impl Fn() -> Self::Item + Sync,
        combine: impl Fn(Self::Item, Self::Item) -> Self::Item + Sync,
    ) -> Self::Item
    where
        Self::Item: Send,
    {
        let blocks = self.by_block(|sum: &mut Option<Self::Item>, item| {
            *sum = Some(match sum.take() {
                Some(sum) => combine(sum, item),
                None => combine(identity(), item),
            });
        });
        blocks.into_iter().flatten().reduce(&combine).unwrap_or_else(identity)
    }

    /// Whether `f` holds for every item.
    fn all(self, f: impl Fn(Self::Item) -> bool + Sync) -> bool {
        !self.any(|item| !f(item))
    }

    /// Whether `f` holds for some item.
    fn any(self, f: impl Fn(Self::Item) -> bool + Sync) -> bool {
        let is_found = AtomicBool::new(false);
        self.for_each(|item| {
            if !is_found.load(Ordering::Relaxed) && f(item) {
                is_found.store(true, Ordering::Relaxed);
            }
        });
        is_found.into_inner()
    }

    /// The first item for which `f` holds.
    fn find_first(self, f: impl Fn(&Self::Item) -> bool + Sync) -> Option<Self::Item>
    where
        Self::Item: Send,
    {
        self.find_map_first(|item| f(&item).then_some(item))
    }

    /// What `f` makes of the first item of which it makes something.
    fn find_map_first<T: Send>(self, f: impl Fn(Self::Item) -> Option<T> + Sync) -> Option<T> {
        let found = self.by_block(|found: &mut Option<T>, item| {
            if found.is_none() {
                *found = f(item);
            }
        });
        found.into_iter().flatten().next()
    }

    /// The largest item.
    fn max(self) -> Option<Self::Item>
    where
        Self::Item: Ord + Send,
    {
        let larger = |best: &mut Option<Self::Item>, item| {
            if best.as_ref().is_none_or(|best| *best <= item) {
                *best = Some(item);
            }
        };
        self.by_block(larger).into_iter().flatten().max()
    }

    /// What `add` gathers in each block, in the order of the blocks.
    fn by_block<A: Default + Send>(self, add: impl Fn(&mut A, Self::Item) + Sync) -> Vec<A> {
        let (length, min_length) = (self.length(), self.min_length());
        let size = block_length(length, min_length);
        let mut blocks: Vec<A> = Vec::new();
        blocks.resize_with(length.div_ceil(size), A::default);
        let out = Out(blocks.as_mut_ptr());
        for_each_range(length, min_length, &|range| {
            // SAFETY: each block has an entry of its own, and blocks have no index in common.
            unsafe {
                let block = &mut *out.at(range.start / size);
                self.feed(range, &mut |item| add(block, item));
            }
        });
        blocks
    }
}

/// A sequence in which each index has one item, which can be had by itself.
///
/// # Safety
/// As for [`Parallel`], whose `IS_EXACT` is true.
pub unsafe trait Indexed: Parallel {
    /// The item of an index.
    ///
    /// # Safety
    /// The index is below `length()`, and is asked for once.
    unsafe fn item(&self, index: usize) -> Self::Item;

    /// Each item with its index.
    fn enumerate(self) -> All<Enumerate<Self>> {
        All(Enumerate(self))
    }

    /// Pairs, up to the end of the shorter sequence.
    fn zip<O: IntoParallel<Loop: Indexed>>(self, other: O) -> All<Zip<Self, O::Loop>> {
        All(Zip(self, other.into_par_iter()))
    }

    /// From the last item to the first.
    fn rev(self) -> All<Reversed<Self>> {
        All(Reversed(self))
    }
}

/// What a parallel loop can be over.
pub trait IntoParallel {
    /// The loop.
    type Loop: Parallel;

    /// Takes the items.
    fn into_par_iter(self) -> Self::Loop;
}

impl<P: Parallel> IntoParallel for P {
    type Loop = P;
    fn into_par_iter(self) -> P {
        self
    }
}

/// What items can be collected into.
pub trait FromParallel<T>: Sized {
    /// All items in order.
    fn from_parallel(items: impl Parallel<Item = T>) -> Self;
}

impl<T: Send> FromParallel<T> for Vec<T> {
    fn from_parallel(items: impl Parallel<Item = T>) -> Self {
        collected(items)
    }
}

fn collected<T: Send, P: Parallel<Item = T>>(items: P) -> Vec<T> {
    let length = items.length();
    if const { P::IS_EXACT } {
        let mut all: Vec<T> = Vec::with_capacity(length);
        let out = Out(all.as_mut_ptr());
        for_each_range(length, items.min_length(), &|range| {
            let mut at = range.start;
            // SAFETY: blocks have no index in common, and each index has one item and a place in `all`.
            unsafe {
                items.feed(range, &mut |item| {
                    out.at(at).write(item);
                    at += 1;
                });
            }
        });
        // SAFETY: all entries were written; if a thread had panicked, we would not be here.
        unsafe { all.set_len(length) };
        all
    } else {
        let blocks = items.by_block(|block: &mut Vec<T>, item| block.push(item));
        let mut all = Vec::with_capacity(blocks.iter().map(Vec::len).sum());
        blocks.into_iter().for_each(|mut block| all.append(&mut block));
        all
    }
}

impl<T: Send, E: Send> FromParallel<Result<T, E>> for Result<Vec<T>, E> {
    fn from_parallel(items: impl Parallel<Item = Result<T, E>>) -> Self {
        collected(items).into_iter().collect()
    }
}

impl<T: Send> FromParallel<Option<T>> for Option<Vec<T>> {
    fn from_parallel(items: impl Parallel<Item = Option<T>>) -> Self {
        collected(items).into_iter().collect()
    }
}

/// Memory that threads write at different places.
pub(super) struct Out<T>(pub(super) *mut T);

impl<T> Out<T> {
    /// # Safety
    /// The index is within the memory.
    pub(super) unsafe fn at(&self, index: usize) -> *mut T {
        // SAFETY: the caller's promise.
        unsafe { self.0.add(index) }
    }
}

// SAFETY: who holds it writes only where nobody else does; what is written may be sent to other threads.
unsafe impl<T: Send> Sync for Out<T> {}
