//! Factorizations and solves allocate nothing after the first, by a counting allocator. This test is alone in its
//! program, because the allocator counts everything.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sinew_math::cholesky::{FactorReal, SymbolicCholesky};
use sinew_math::sparse::{BlockCsr, BlockPattern};
use sinew_math::{Mat3, Vec3};

struct Counting;

static COUNT: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system allocator with unchanged arguments; counting touches no memory of the caller.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Hexahedra between n³ nodes.
fn box_cells(n: u32) -> Vec<[u32; 8]> {
    let cells = 0..(n - 1).pow(3);
    let node = |cell: u32, corner: u32| {
        let place = [cell % (n - 1), cell / (n - 1) % (n - 1), cell / (n - 1).pow(2)];
        let [x, y, z] = std::array::from_fn(|axis| place[axis] + (corner >> axis & 1));
        x + n * (y + n * z)
    };
    cells.map(|cell| std::array::from_fn(|corner| node(cell, corner as u32))).collect()
}

fn check<S: FactorReal>() {
    let pattern = Arc::new(BlockPattern::from_elements(10 * 10 * 10, box_cells(10)).unwrap());
    let mut matrix = BlockCsr::<S>::zeros(pattern.clone());
    for node in 0..pattern.node_count() {
        for slot in pattern.row(node) {
            matrix.values_mut()[slot] = Mat3::identity() * S::from_f64(-1.0);
        }
        matrix.values_mut()[pattern.diagonal_slot(node)] = Mat3::identity() * S::from_f64(30.0);
    }
    let mut factor = SymbolicCholesky::new(&pattern).unwrap().prepare::<S>().unwrap();
    let mut columns = vec![vec![Vec3::new(S::one(), S::zero(), -S::one()); pattern.node_count()]; 5];
    // The threads of a pool allocate now and then for their queues; a single thread does not.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        let mut step = || {
            factor.refactor(&matrix).unwrap();
            factor.solve_in_place(&mut columns[0]).unwrap();
            factor.solve_columns_in_place(&mut columns).unwrap();
        };
        step();
        let before = COUNT.load(Ordering::Relaxed);
        step();
        assert_eq!(COUNT.load(Ordering::Relaxed) - before, 0);
    });
}

#[test]
fn a_second_factorization_and_its_solves_allocate_nothing() {
    check::<f64>();
    check::<f32>();
}
