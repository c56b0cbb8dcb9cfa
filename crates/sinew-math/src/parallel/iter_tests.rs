//! Parallel loops against the iterators of the standard library, on one thread and on several.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::prelude::*;

/// Runs `work` on one thread and on four, and returns both results.
fn on_threads<T: Send>(work: impl Fn() -> T + Sync) -> [T; 2] {
    [1, 4].map(|threads| {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a small pool").install(&work)
    })
}

/// Lengths around those at which loops are cut.
const LENGTHS: [usize; 7] = [0, 1, 2, 127, 128, 129, 5000];

#[test]
fn items_stay_in_their_order() {
    for length in LENGTHS {
        let numbers: Vec<u64> = (0..length as u64).map(|i| i * i % 1009).collect();
        let expected: Vec<u64> = numbers.iter().map(|n| n + 1).collect();
        for found in on_threads(|| numbers.par_iter().map(|n| n + 1).collect::<Vec<_>>()) {
            assert_eq!(found, expected);
        }
        let odd: Vec<(usize, u64)> = numbers.iter().copied().enumerate().filter(|(_, n)| n % 2 == 1).collect();
        let found =
            on_threads(|| numbers.par_iter().copied().enumerate().filter(|(_, n)| n % 2 == 1).collect::<Vec<_>>());
        assert_eq!(found, [odd.clone(), odd]);
        let twice: Vec<u64> = numbers.iter().flat_map(|n| [*n, *n]).collect();
        for found in on_threads(|| numbers.par_iter().flat_map_iter(|n| [*n, *n]).collect::<Vec<_>>()) {
            assert_eq!(found, twice);
        }
        let backward: Vec<usize> = (0..length).rev().collect();
        for found in on_threads(|| (0..length).into_par_iter().rev().with_min_len(3).collect::<Vec<_>>()) {
            assert_eq!(found, backward);
        }
    }
}

#[test]
fn chunks_cover_a_slice_once() {
    for length in LENGTHS {
        for size in [1, 3, 128] {
            for mut counts in on_threads(|| {
                let mut counts = vec![0; length];
                counts.par_chunks_mut(size).enumerate().for_each(|(k, part)| part.fill(k + 1));
                counts
            }) {
                assert!(counts.iter().enumerate().all(|(i, count)| *count == i / size + 1));
                let sums: Vec<usize> = counts.par_chunks(size).map(|part| part.iter().sum()).collect();
                assert_eq!(sums, counts.chunks(size).map(|part| part.iter().sum()).collect::<Vec<usize>>());
                counts.par_chunks_exact_mut(size).for_each(|part| part.fill(0));
                assert_eq!(counts.iter().filter(|count| **count > 0).count(), length % size);
                assert_eq!(counts.par_chunks_exact(size).count(), length / size);
            }
        }
    }
}

/// Sums of f64 depend on the order, so equal bits show that blocks do not depend on the threads.
#[test]
fn reductions_give_the_same_bits_on_any_number_of_threads() {
    let terms: Vec<f64> = (0..9999).map(|i| (f64::from(i) * 0.7).sin() * 10f64.powi(i % 17)).collect();
    let [one, many] = on_threads(|| terms.par_iter().copied().reduce(|| 0.0, |a, b| a + b));
    assert_eq!(one.to_bits(), many.to_bits());
    let [one, many] = on_threads(|| terms.par_iter().copied().sum::<f64>());
    assert_eq!(one.to_bits(), many.to_bits());
    assert_eq!((0..1000usize).into_par_iter().sum::<usize>(), 499_500);
    assert_eq!((3..77u32).into_par_iter().max(), Some(76));
    assert_eq!((0..0usize).into_par_iter().max(), None);
}

#[test]
fn the_first_of_several_is_found() {
    for found in on_threads(|| (0..5000usize).into_par_iter().find_map_first(|i| (i % 700 == 699).then_some(i))) {
        assert_eq!(found, Some(699));
    }
    assert!((0..300usize).into_par_iter().any(|i| i == 299) && !(0..300usize).into_par_iter().any(|i| i == 300));
    assert!((0..300usize).into_par_iter().all(|i| i < 300) && !(0..300usize).into_par_iter().all(|i| i < 299));
    let failed: Result<Vec<usize>, usize> =
        (0..5000usize).into_par_iter().map(|i| if i % 700 == 699 { Err(i) } else { Ok(i) }).collect();
    assert_eq!(failed, Err(699));
    let stopped = (0..5000usize).into_par_iter().try_for_each(|i| if i == 4000 { Err(i) } else { Ok(()) });
    assert_eq!(stopped, Err(4000));
    assert_eq!((0..9usize).into_par_iter().try_for_each(|_| Ok::<(), ()>(())), Ok(()));
}

/// Items that are taken from a vector are dropped once.
#[test]
fn what_a_vector_owned_is_dropped_once() {
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    struct Counted;
    impl Drop for Counted {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, Ordering::Relaxed);
        }
    }
    let items: Vec<Counted> = (0..1000).map(|_| Counted).collect();
    let kept: Vec<Counted> =
        items.into_par_iter().enumerate().filter(|(i, _)| i % 10 == 0).map(|(_, item)| item).collect();
    assert_eq!((kept.len(), DROPPED.load(Ordering::Relaxed)), (100, 900));
    drop(kept);
    assert_eq!(DROPPED.load(Ordering::Relaxed), 1000);
    let (left, right): (Vec<usize>, Vec<String>) = (0..200usize).into_par_iter().map(|i| (i, i.to_string())).unzip();
    assert!(left.iter().zip(&right).all(|(number, text)| number.to_string() == *text));
}

/// What is made for a block serves all its items and no other block.
#[test]
fn memory_to_work_in_is_made_once_for_a_block() {
    let made = AtomicUsize::new(0);
    let seen: Vec<usize> = (0..10_000usize)
        .into_par_iter()
        .map_init(
            || {
                made.fetch_add(1, Ordering::Relaxed);
                0
            },
            |count, _| {
                *count += 1;
                *count
            },
        )
        .collect();
    let made = made.into_inner();
    assert!((2..=super::iter::MAX_INITS).contains(&made));
    assert_eq!(seen.iter().filter(|count| **count == 1).count(), made);
}
