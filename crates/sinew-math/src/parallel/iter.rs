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
//! let squares: Vec<usize> = (0..1000).into_par_iter().map(|i| i * i).filter(|s| s % 2 == 0).collect();
//! assert_eq!(squares[3], 36);
//! ```

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Add, Range};
use std::sync::atomic::{AtomicBool, Ordering};

use super::for_each_block;

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
struct Out<T>(*mut T);

impl<T> Out<T> {
    /// # Safety
    /// The index is within the memory.
    unsafe fn at(&self, index: usize) -> *mut T {
        // SAFETY: the caller's promise.
        unsafe { self.0.add(index) }
    }
}

// SAFETY: who holds it writes only where nobody else does; what is written may be sent to other threads.
unsafe impl<T: Send> Sync for Out<T> {}

/// Where items come from: one for each index.
///
/// # Safety
/// Items of different indices may be used on different threads at the same time.
pub unsafe trait Items: Sync {
    /// What there is.
    type Item;

    /// How many there are.
    fn length(&self) -> usize;

    /// As [`Parallel::min_length`].
    fn min_length(&self) -> usize {
        1
    }

    /// The item of an index.
    ///
    /// # Safety
    /// The index is below `length()`, and is asked for once.
    unsafe fn item(&self, index: usize) -> Self::Item;
}

/// A loop over all items of a source.
#[derive(Debug)]
pub struct All<S>(S);

// SAFETY: one item for each index, by the promise of `Items`.
unsafe impl<S: Items> Parallel for All<S> {
    type Item = S::Item;
    const IS_EXACT: bool = true;
    fn length(&self) -> usize {
        self.0.length()
    }
    fn min_length(&self) -> usize {
        self.0.min_length()
    }
    unsafe fn feed(&self, range: Range<usize>, sink: &mut impl FnMut(S::Item)) {
        for index in range {
            // SAFETY: the promise of our caller.
            sink(unsafe { self.0.item(index) });
        }
    }
}

// SAFETY: as above.
unsafe impl<S: Items> Indexed for All<S> {
    unsafe fn item(&self, index: usize) -> S::Item {
        // SAFETY: the promise of our caller.
        unsafe { self.0.item(index) }
    }
}

/// Whole numbers from `start` on.
#[derive(Clone, Debug)]
pub struct Numbers<N> {
    start: N,
    length: usize,
}

macro_rules! numbers {
    ($($kind:ty),*) => {$(
        // SAFETY: numbers are copies.
        unsafe impl Items for Numbers<$kind> {
            type Item = $kind;
            fn length(&self) -> usize {
                self.length
            }
            unsafe fn item(&self, index: usize) -> $kind {
                self.start + index as $kind
            }
        }

        impl IntoParallel for Range<$kind> {
            type Loop = All<Numbers<$kind>>;
            fn into_par_iter(self) -> Self::Loop {
                All(Numbers { start: self.start, length: self.len() })
            }
        }
    )*};
}
numbers!(usize, u32, i32);

/// References to the entries of a slice.
#[derive(Debug)]
pub struct Entries<'a, T>(&'a [T]);

// SAFETY: entries are shared.
unsafe impl<'a, T: Sync> Items for Entries<'a, T> {
    type Item = &'a T;
    fn length(&self) -> usize {
        self.0.len()
    }
    unsafe fn item(&self, index: usize) -> &'a T {
        &self.0[index]
    }
}

/// Mutable references to the entries of a slice.
pub struct EntriesMut<'a, T> {
    first: Out<T>,
    length: usize,
    lifetime: PhantomData<fn() -> &'a mut [T]>,
}

// SAFETY: each entry has one index.
unsafe impl<'a, T: Send + 'a> Items for EntriesMut<'a, T> {
    type Item = &'a mut T;
    fn length(&self) -> usize {
        self.length
    }
    unsafe fn item(&self, index: usize) -> &'a mut T {
        // SAFETY: the index is within the slice, which is ours for 'a, and is asked for once.
        unsafe { &mut *self.first.at(index) }
    }
}

/// Parts of a slice with `size` entries; the last may have fewer.
#[derive(Debug)]
pub struct Chunks<'a, T> {
    all: &'a [T],
    size: usize,
}

// SAFETY: parts are shared.
unsafe impl<'a, T: Sync> Items for Chunks<'a, T> {
    type Item = &'a [T];
    fn length(&self) -> usize {
        self.all.len().div_ceil(self.size)
    }
    unsafe fn item(&self, index: usize) -> &'a [T] {
        let rest = &self.all[index * self.size..];
        &rest[..self.size.min(rest.len())]
    }
}

/// Mutable parts of a slice with `size` entries; the last may have fewer.
pub struct ChunksMut<'a, T> {
    all: EntriesMut<'a, T>,
    size: usize,
}

// SAFETY: parts do not overlap.
unsafe impl<'a, T: Send + 'a> Items for ChunksMut<'a, T> {
    type Item = &'a mut [T];
    fn length(&self) -> usize {
        self.all.length.div_ceil(self.size)
    }
    unsafe fn item(&self, index: usize) -> &'a mut [T] {
        let start = index * self.size;
        let length = self.size.min(self.all.length - start);
        // SAFETY: the part is within the slice, which is ours for 'a, and is asked for once.
        unsafe { std::slice::from_raw_parts_mut(self.all.first.at(start), length) }
    }
}

/// The items of a vector. Those that nobody asks for are not dropped, which leaks what they own.
pub struct Owned<T> {
    first: Out<T>,
    length: usize,
    /// Frees the memory.
    _memory: Memory<T>,
}

/// The memory of a vector whose items are taken out one by one.
struct Memory<T>(#[allow(dead_code)] Vec<ManuallyDrop<T>>);

// SAFETY: nobody reads it.
unsafe impl<T> Sync for Memory<T> {}

// SAFETY: each item has one index.
unsafe impl<T: Send> Items for Owned<T> {
    type Item = T;
    fn length(&self) -> usize {
        self.length
    }
    unsafe fn item(&self, index: usize) -> T {
        // SAFETY: the index is within the vector and is asked for once, so no item is read twice.
        unsafe { self.first.at(index).read() }
    }
}

impl<T: Send> IntoParallel for Vec<T> {
    type Loop = All<Owned<T>>;
    fn into_par_iter(self) -> Self::Loop {
        let mut memory: Vec<ManuallyDrop<T>> = self.into_iter().map(ManuallyDrop::new).collect();
        let (first, length) = (Out(memory.as_mut_ptr().cast()), memory.len());
        All(Owned { first, length, _memory: Memory(memory) })
    }
}

impl<T: Send, const N: usize> IntoParallel for [T; N] {
    type Loop = All<Owned<T>>;
    fn into_par_iter(self) -> Self::Loop {
        Vec::from(self).into_par_iter()
    }
}

impl<'a, T: Sync> IntoParallel for &'a [T] {
    type Loop = All<Entries<'a, T>>;
    fn into_par_iter(self) -> Self::Loop {
        All(Entries(self))
    }
}

impl<'a, T: Sync> IntoParallel for &'a Vec<T> {
    type Loop = All<Entries<'a, T>>;
    fn into_par_iter(self) -> Self::Loop {
        All(Entries(self))
    }
}

impl<'a, T: Send> IntoParallel for &'a mut [T] {
    type Loop = All<EntriesMut<'a, T>>;
    fn into_par_iter(self) -> Self::Loop {
        All(EntriesMut { first: Out(self.as_mut_ptr()), length: self.len(), lifetime: PhantomData })
    }
}

impl<'a, T: Send> IntoParallel for &'a mut Vec<T> {
    type Loop = All<EntriesMut<'a, T>>;
    fn into_par_iter(self) -> Self::Loop {
        self.as_mut_slice().into_par_iter()
    }
}

/// Loops over slices, and their sorting, for which rayon does the work.
pub trait ParallelSlice<T> {
    /// References to the entries.
    fn par_iter(&self) -> All<Entries<'_, T>>;
    /// Parts of `size` entries; the last may have fewer.
    fn par_chunks(&self, size: usize) -> All<Chunks<'_, T>>;
    /// Parts of `size` entries, without what is left at the end.
    fn par_chunks_exact(&self, size: usize) -> All<Chunks<'_, T>>;
    /// Mutable references to the entries.
    fn par_iter_mut(&mut self) -> All<EntriesMut<'_, T>>;
    /// Mutable parts of `size` entries; the last may have fewer.
    fn par_chunks_mut(&mut self, size: usize) -> All<ChunksMut<'_, T>>;
    /// Mutable parts of `size` entries, without what is left at the end.
    fn par_chunks_exact_mut(&mut self, size: usize) -> All<ChunksMut<'_, T>>;
    /// Sorts; equal entries may change places.
    fn par_sort_unstable(&mut self)
    where
        T: Ord + Send;
    /// Sorts by an order; equal entries may change places.
    fn par_sort_unstable_by(&mut self, order: impl Fn(&T, &T) -> std::cmp::Ordering + Sync)
    where
        T: Send;
    /// Sorts by a key; entries of equal key may change places.
    fn par_sort_unstable_by_key<K: Ord>(&mut self, key: impl Fn(&T) -> K + Sync)
    where
        T: Send;
    /// Sorts by a key; entries of equal key stay in their order.
    fn par_sort_by_key<K: Ord>(&mut self, key: impl Fn(&T) -> K + Sync)
    where
        T: Send;
}

impl<T> ParallelSlice<T> for [T] {
    fn par_iter(&self) -> All<Entries<'_, T>> {
        All(Entries(self))
    }
    fn par_chunks(&self, size: usize) -> All<Chunks<'_, T>> {
        assert!(size > 0, "chunks have entries");
        All(Chunks { all: self, size })
    }
    fn par_chunks_exact(&self, size: usize) -> All<Chunks<'_, T>> {
        self[..self.len() / size * size].par_chunks(size)
    }
    fn par_iter_mut(&mut self) -> All<EntriesMut<'_, T>> {
        All(EntriesMut { first: Out(self.as_mut_ptr()), length: self.len(), lifetime: PhantomData })
    }
    fn par_chunks_mut(&mut self, size: usize) -> All<ChunksMut<'_, T>> {
        assert!(size > 0, "chunks have entries");
        All(ChunksMut { all: self.par_iter_mut().0, size })
    }
    fn par_chunks_exact_mut(&mut self, size: usize) -> All<ChunksMut<'_, T>> {
        let whole = self.len() / size * size;
        self[..whole].par_chunks_mut(size)
    }
    fn par_sort_unstable(&mut self)
    where
        T: Ord + Send,
    {
        rayon::slice::ParallelSliceMut::par_sort_unstable(self);
    }
    fn par_sort_unstable_by(&mut self, order: impl Fn(&T, &T) -> std::cmp::Ordering + Sync)
    where
        T: Send,
    {
        rayon::slice::ParallelSliceMut::par_sort_unstable_by(self, order);
    }
    fn par_sort_unstable_by_key<K: Ord>(&mut self, key: impl Fn(&T) -> K + Sync)
    where
        T: Send,
    {
        rayon::slice::ParallelSliceMut::par_sort_unstable_by_key(self, key);
    }
    fn par_sort_by_key<K: Ord>(&mut self, key: impl Fn(&T) -> K + Sync)
    where
        T: Send,
    {
        rayon::slice::ParallelSliceMut::par_sort_by_key(self, key);
    }
}

/// [`Parallel::map`].
#[derive(Debug)]
pub struct Map<P, F> {
    items: P,
    f: F,
}

// SAFETY: one item for each item of `items`.
unsafe impl<P: Parallel, T, F: Fn(P::Item) -> T + Sync> Parallel for Map<P, F> {
    type Item = T;
    const IS_EXACT: bool = P::IS_EXACT;
    fn length(&self) -> usize {
        self.items.length()
    }
    fn min_length(&self) -> usize {
        self.items.min_length()
    }
    unsafe fn feed(&self, range: Range<usize>, sink: &mut impl FnMut(T)) {
        // SAFETY: the promise of our caller.
        unsafe { self.items.feed(range, &mut |item| sink((self.f)(item))) }
    }
}

// SAFETY: as above.
unsafe impl<P: Indexed, T, F: Fn(P::Item) -> T + Sync> Indexed for Map<P, F> {
    unsafe fn item(&self, index: usize) -> T {
        // SAFETY: the promise of our caller.
        (self.f)(unsafe { self.items.item(index) })
    }
}

/// [`Parallel::map_init`].
#[derive(Debug)]
pub struct MapInit<P, I, F> {
    items: P,
    init: I,
    f: F,
}

// SAFETY: one item for each item of `items`.
unsafe impl<P: Parallel, W, T, I: Fn() -> W + Sync, F: Fn(&mut W, P::Item) -> T + Sync> Parallel for MapInit<P, I, F> {
    type Item = T;
    const IS_EXACT: bool = P::IS_EXACT;
    fn length(&self) -> usize {
        self.items.length()
    }
    fn min_length(&self) -> usize {
        self.items.min_length().max(self.length().div_ceil(MAX_INITS))
    }
    unsafe fn feed(&self, range: Range<usize>, sink: &mut impl FnMut(T)) {
        let mut work = (self.init)();
        // SAFETY: the promise of our caller.
        unsafe { self.items.feed(range, &mut |item| sink((self.f)(&mut work, item))) }
    }
}

/// [`Parallel::filter`].
#[derive(Debug)]
pub struct Filter<P, F> {
    items: P,
    is_wanted: F,
}

// SAFETY: the items of an index are some of those of `items`.
unsafe impl<P: Parallel, F: Fn(&P::Item) -> bool + Sync> Parallel for Filter<P, F> {
    type Item = P::Item;
    const IS_EXACT: bool = false;
    fn length(&self) -> usize {
        self.items.length()
    }
    fn min_length(&self) -> usize {
        self.items.min_length()
    }
    unsafe fn feed(&self, range: Range<usize>, sink: &mut impl FnMut(P::Item)) {
        let mut sink = |item| {
            if (self.is_wanted)(&item) {
                sink(item);
            }
        };
        // SAFETY: the promise of our caller.
        unsafe { self.items.feed(range, &mut sink) }
    }
}

/// [`Parallel::flat_map_iter`] and [`Parallel::filter_map`].
#[derive(Debug)]
pub struct FlatMap<P, F> {
    items: P,
    f: F,
}

// SAFETY: the items of an index are made of those of `items`.
unsafe impl<P: Parallel, T: IntoIterator, F: Fn(P::Item) -> T + Sync> Parallel for FlatMap<P, F> {
    type Item = T::Item;
    const IS_EXACT: bool = false;
    fn length(&self) -> usize {
        self.items.length()
    }
    fn min_length(&self) -> usize {
        self.items.min_length()
    }
    unsafe fn feed(&self, range: Range<usize>, sink: &mut impl FnMut(T::Item)) {
        // SAFETY: the promise of our caller.
        unsafe { self.items.feed(range, &mut |item| (self.f)(item).into_iter().for_each(&mut *sink)) }
    }
}

/// [`Parallel::with_min_len`].
#[derive(Debug)]
pub struct MinLength<P> {
    items: P,
    min_length: usize,
}

// SAFETY: the items are those of `items`.
unsafe impl<P: Parallel> Parallel for MinLength<P> {
    type Item = P::Item;
    const IS_EXACT: bool = P::IS_EXACT;
    fn length(&self) -> usize {
        self.items.length()
    }
    fn min_length(&self) -> usize {
        self.min_length
    }
    unsafe fn feed(&self, range: Range<usize>, sink: &mut impl FnMut(P::Item)) {
        // SAFETY: the promise of our caller.
        unsafe { self.items.feed(range, sink) }
    }
}

// SAFETY: as above.
unsafe impl<P: Indexed> Indexed for MinLength<P> {
    unsafe fn item(&self, index: usize) -> P::Item {
        // SAFETY: the promise of our caller.
        unsafe { self.items.item(index) }
    }
}

/// [`Indexed::enumerate`].
#[derive(Debug)]
pub struct Enumerate<P>(P);

// SAFETY: one item of the other for each index.
unsafe impl<P: Indexed> Items for Enumerate<P> {
    type Item = (usize, P::Item);
    fn length(&self) -> usize {
        self.0.length()
    }
    fn min_length(&self) -> usize {
        self.0.min_length()
    }
    unsafe fn item(&self, index: usize) -> Self::Item {
        // SAFETY: the promise of our caller.
        (index, unsafe { self.0.item(index) })
    }
}

/// [`Indexed::zip`].
#[derive(Debug)]
pub struct Zip<A, B>(A, B);

// SAFETY: one item of each for each index.
unsafe impl<A: Indexed, B: Indexed> Items for Zip<A, B> {
    type Item = (A::Item, B::Item);
    fn length(&self) -> usize {
        self.0.length().min(self.1.length())
    }
    fn min_length(&self) -> usize {
        self.0.min_length().max(self.1.min_length())
    }
    unsafe fn item(&self, index: usize) -> Self::Item {
        // SAFETY: the promise of our caller.
        unsafe { (self.0.item(index), self.1.item(index)) }
    }
}

/// [`Indexed::rev`].
#[derive(Debug)]
pub struct Reversed<P>(P);

// SAFETY: one item of the other for each index.
unsafe impl<P: Indexed> Items for Reversed<P> {
    type Item = P::Item;
    fn length(&self) -> usize {
        self.0.length()
    }
    fn min_length(&self) -> usize {
        self.0.min_length()
    }
    unsafe fn item(&self, index: usize) -> P::Item {
        // SAFETY: the promise of our caller; one index of the other for each of ours.
        unsafe { self.0.item(self.0.length() - 1 - index) }
    }
}
