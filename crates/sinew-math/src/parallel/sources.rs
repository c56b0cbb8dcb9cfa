//! What parallel loops run over: ranges, slices and vectors.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Range;

use super::iter::{Indexed, IntoParallel, Out, Parallel};

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
pub struct All<S>(pub(super) S);

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
