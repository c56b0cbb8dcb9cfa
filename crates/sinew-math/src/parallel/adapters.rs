//! Loops over what other loops make.

use std::ops::Range;

use super::iter::{Indexed, MAX_INITS, Parallel};
use super::sources::Items;

/// [`Parallel::map`].
#[derive(Debug)]
pub struct Map<P, F> {
    pub(super) items: P,
    pub(super) f: F,
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
    pub(super) items: P,
    pub(super) init: I,
    pub(super) f: F,
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
    pub(super) items: P,
    pub(super) is_wanted: F,
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
    pub(super) items: P,
    pub(super) f: F,
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
    pub(super) items: P,
    pub(super) min_length: usize,
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
pub struct Enumerate<P>(pub(super) P);

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
pub struct Zip<A, B>(pub(super) A, pub(super) B);

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
pub struct Reversed<P>(pub(super) P);

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
